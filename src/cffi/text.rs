//! Text on its way over the border: UTF-8 with a length, and a NUL behind it as a courtesy.

use std::ffi::{CStr, c_char};
use std::fmt;
use std::ptr::NonNull;
use std::{slice, str};

use crate::error::{Error, ErrorKind, Result};

/// A view of text that belongs to somebody else: UTF-8, with its length in bytes.
///
/// ptr is never NULL, and ptr[len] is always 0, so that printf("%s") works for text without a NUL in it. How long a view is valid is said
/// by the function that gives it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mcplink_str_t {
    /// The first byte.
    pub ptr: *const c_char,
    /// How many bytes there are, without the NUL behind them.
    pub len: usize,
}

impl mcplink_str_t {
    /// Text without characters.
    pub(super) const EMPTY: Self = Self {
        ptr: c"".as_ptr(),
        len: 0,
    };
}

/// Text of ours that C can look at: what is shown ends in NUL.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Text(Box<str>);

impl Text {
    pub(super) fn view(&self) -> mcplink_str_t {
        view_of(&self.0)
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0[..self.0.len() - 1]
    }

    /// The text as C knows texts: up to its first NUL.
    pub(super) fn as_ptr(&self) -> *const c_char {
        self.0.as_ptr().cast()
    }
}

impl From<String> for Text {
    fn from(mut text: String) -> Self {
        text.reserve_exact(1);
        text.push('\0');
        Self(text.into_boxed_str())
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        let mut all = String::with_capacity(text.len() + 1);
        all.push_str(text);
        all.push('\0');
        Self(all.into_boxed_str())
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

/// Texts that live and end together, one behind the other.
///
/// **Invariant:** there are never more of them than there was room for at the start, so that none moves.
pub(super) struct Texts(String);

/// One of [`Texts`], which live as long as whatever has it, with the NUL behind it.
pub(super) struct Kept(NonNull<str>);

// SAFETY: it is text that nobody changes.
unsafe impl Send for Kept {}
// SAFETY: as above.
unsafe impl Sync for Kept {}

impl Texts {
    /// Room for so many bytes, of which a text takes one more than it has.
    pub(super) fn with_room(room: usize) -> Self {
        Self(String::with_capacity(room))
    }

    /// # Panics
    ///
    /// There is no room for it.
    pub(super) fn keep(&mut self, text: &str) -> Kept {
        let start = self.0.len();
        assert!(text.len() < self.0.capacity() - start, "there is room");
        self.0.push_str(text);
        self.0.push('\0');
        Kept(NonNull::from(&self.0[start..]))
    }
}

impl Kept {
    fn all(&self) -> &str {
        // SAFETY: the texts live, did not move, and are only read.
        unsafe { self.0.as_ref() }
    }

    pub(super) fn as_str(&self) -> &str {
        let all = self.all();
        &all[..all.len() - 1]
    }

    pub(super) fn view(&self) -> mcplink_str_t {
        view_of(self.all())
    }
}

/// A view of text that ends in NUL.
pub(super) fn view_of(text: &str) -> mcplink_str_t {
    debug_assert!(text.ends_with('\0'), "text without a NUL");
    mcplink_str_t {
        ptr: text.as_ptr().cast(),
        len: text.len() - 1,
    }
}

/// A view of text that may be missing.
pub(super) fn view_or_empty(text: Option<&Text>) -> mcplink_str_t {
    text.map_or(mcplink_str_t::EMPTY, Text::view)
}

/// "Measure it, it ends in NUL": as the length of a payload. MCPLINK_NUL in the header.
pub(super) const NUL: usize = usize::MAX;

/// Bytes that the host passes with their length. They need not end in NUL, so they are not measured: [`NUL`] is what becomes of the -1 of a
/// function that failed to read them.
///
/// # Safety
///
/// `ptr` is NULL, or has `len` bytes, if that is not [`NUL`]; nobody changes them for as long as `'a`.
pub(super) unsafe fn bytes<'a>(ptr: *const c_char, len: usize, what: &str) -> Result<&'a [u8]> {
    if len == NUL {
        let text = "bytes have a length: MCPLINK_NUL is for text";
        return Err(Error::new(ErrorKind::Invalid, text));
    }
    // SAFETY: the caller promises the same.
    unsafe { measured(ptr, len, what) }
}

/// Bytes of something that is mostly text, so that they may end in NUL instead.
///
/// # Safety
///
/// `ptr` is NULL, or has `len` bytes, or, with [`NUL`] as the length, ends in NUL; nobody changes them for as long as `'a`.
pub(super) unsafe fn measured<'a>(ptr: *const c_char, len: usize, what: &str) -> Result<&'a [u8]> {
    if len == 0 {
        return Ok(&[]);
    }
    if ptr.is_null() {
        return Err(missing(what));
    }
    if len == NUL {
        // SAFETY: the caller says that it ends in NUL.
        return Ok(unsafe { CStr::from_ptr(ptr) }.to_bytes());
    }
    if len > isize::MAX as usize {
        let text = format!("the length of {what} is larger than any memory");
        return Err(Error::new(ErrorKind::Invalid, text));
    }
    // SAFETY: the caller says that so many bytes are there; the length was checked.
    Ok(unsafe { slice::from_raw_parts(ptr.cast(), len) })
}

/// Text that the host passes with its length.
///
/// # Safety
///
/// As for [`measured`].
pub(super) unsafe fn payload<'a>(ptr: *const c_char, len: usize, what: &str) -> Result<&'a str> {
    // SAFETY: the caller promises the same.
    let bytes = unsafe { measured(ptr, len, what) }?;
    str::from_utf8(bytes).map_err(|error| not_utf8(what, error.valid_up_to()))
}

/// Text that ends in NUL and has to be there.
///
/// # Safety
///
/// `ptr` is NULL or ends in NUL; nobody changes what is there for as long as `'a`.
pub(super) unsafe fn name<'a>(ptr: *const c_char, what: &str) -> Result<&'a str> {
    // SAFETY: the caller promises the same.
    unsafe { payload(ptr, NUL, what) }
}

/// Text that ends in NUL, has to be there, and says something: where no text at all would mean that nothing is wanted.
///
/// # Safety
///
/// As for [`name`].
pub(super) unsafe fn filled<'a>(ptr: *const c_char, what: &str) -> Result<&'a str> {
    // SAFETY: the caller promises the same.
    let text = unsafe { name(ptr, what) }?;
    if text.trim().is_empty() {
        return Err(empty(what));
    }
    Ok(text)
}

/// The same, NULL for none.
///
/// # Safety
///
/// As for [`name`].
pub(super) unsafe fn optional<'a>(ptr: *const c_char, what: &str) -> Result<Option<&'a str>> {
    if ptr.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller promises the same.
    unsafe { name(ptr, what) }.map(Some)
}

/// Bytes of something that is mostly text, has to be there, and says something.
///
/// # Safety
///
/// As for [`measured`].
pub(super) unsafe fn filled_measured<'a>(
    ptr: *const c_char,
    len: usize,
    what: &str,
) -> Result<&'a [u8]> {
    if ptr.is_null() {
        return Err(missing(what));
    }
    // SAFETY: the caller promises the same.
    let bytes = unsafe { measured(ptr, len, what) }?;
    if bytes.trim_ascii().is_empty() {
        return Err(empty(what));
    }
    Ok(bytes)
}

fn empty(what: &str) -> Error {
    Error::new(ErrorKind::Invalid, format!("{what} must not be empty"))
}

pub(super) fn missing(what: &str) -> Error {
    Error::new(ErrorKind::Invalid, format!("{what} must not be NULL"))
}

fn not_utf8(what: &str, at: usize) -> Error {
    Error::new(
        ErrorKind::Invalid,
        format!("{what} is not UTF-8: byte {at} does not belong to a character"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_has_a_nul_behind_it() {
        let text = Text::from("a\0b".to_owned());
        let view = text.view();
        assert_eq!(view.len, 3);
        // SAFETY: a view has its length and one byte more.
        let seen = unsafe { slice::from_raw_parts(view.ptr.cast::<u8>(), view.len + 1) };
        assert_eq!(seen, b"a\0b\0");
        assert_eq!(Text::from("").view().len, 0);
    }

    #[test]
    fn what_the_host_passes_is_looked_at() {
        // SAFETY: what is passed is as its length says, or is not read.
        unsafe {
            assert_eq!(payload(c"abc".as_ptr(), 2, "it").expect("text"), "ab");
            assert_eq!(payload(c"abc".as_ptr(), NUL, "it").expect("text"), "abc");
            assert_eq!(payload(std::ptr::dangling(), 0, "it").expect("text"), "");
            assert_eq!(payload(std::ptr::null(), 0, "it").expect("text"), "");
            assert_eq!(bytes(c"abc".as_ptr(), 2, "it").expect("bytes"), b"ab");
            assert_eq!(measured(c"abc".as_ptr(), NUL, "it").expect("bytes"), b"abc");
            assert!(bytes(c"abc".as_ptr(), NUL, "it").is_err());
            assert_eq!(filled(c" a ".as_ptr(), "it").expect("text"), " a ");
            assert_eq!(
                filled_measured(c"a".as_ptr(), 1, "it").expect("bytes"),
                b"a"
            );
            let blank = filled(c" \t".as_ptr(), "the scopes").expect_err("blank");
            assert_eq!(blank.to_string(), "the scopes must not be empty");
            assert!(filled(c"".as_ptr(), "it").is_err() && filled(std::ptr::null(), "it").is_err());
            assert!(filled_measured(c"a".as_ptr(), 0, "it").is_err());
            assert!(filled_measured(std::ptr::null(), 0, "it").is_err());
            assert_eq!(optional(std::ptr::null(), "it").expect("none"), None);
            let missing = payload(std::ptr::null(), 1, "the name").expect_err("NULL");
            assert_eq!(missing.to_string(), "the name must not be NULL");
            let odd = payload(c"ab\xff".as_ptr(), NUL, "the name").expect_err("no text");
            assert!(odd.to_string().contains("byte 2"), "{odd}");
            assert_eq!(odd.kind(), ErrorKind::Invalid);
        }
    }
}
