//! Text that C and Rust exchange: UTF-8 with a length, followed by a NUL for the convenience of C.

use std::ffi::{CStr, c_char, c_void};
use std::fmt;
use std::ptr::NonNull;
use std::{slice, str};

use crate::error::{Error, ErrorKind, Result};

/// A borrowed view of text: UTF-8, with its length in bytes.
///
/// ptr is never NULL, and the byte after the text is always 0. So printf("%s") works for text
/// without an embedded NUL. The comment of each function that returns a view says how long the view
/// is valid.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mcplink_str_t {
    /// The first byte of the text.
    pub ptr: *const c_char,
    /// The number of bytes of the text, without the terminating NUL.
    pub len: usize,
}

impl mcplink_str_t {
    /// Empty text.
    pub(super) const EMPTY: Self = Self {
        ptr: c"".as_ptr(),
        len: 0,
    };
}

/// Text that this library owns and C can read. The text is stored with a terminating NUL.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Text(Box<str>);

impl Text {
    pub(super) fn view(&self) -> mcplink_str_t {
        view_of(&self.0)
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0[..self.0.len() - 1]
    }

    /// Returns a pointer to the text as a C string. C reads a C string up to the first NUL.
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

/// An arena of texts. The texts are stored one after the other and freed together.
///
/// **Invariant:** the texts never exceed the capacity that was reserved at the start. Otherwise the
/// buffer would be reallocated, and every [`ArenaText`] would dangle.
pub(super) struct Texts(String);

/// One text of a [`Texts`] arena, with a terminating NUL. The text is valid as long as the arena.
/// Code that stores the text must also store the arena.
pub(super) struct ArenaText(NonNull<str>);

// SAFETY: the pointer refers to text that never changes.
unsafe impl Send for ArenaText {}
// SAFETY: the pointer refers to text that never changes.
unsafe impl Sync for ArenaText {}

impl Texts {
    /// Makes an arena of `room` bytes. Each text takes one byte more than its length, for the NUL.
    pub(super) fn with_room(room: usize) -> Self {
        Self(String::with_capacity(room))
    }

    /// Appends a text to the arena.
    ///
    /// # Panics
    ///
    /// Panics if the arena has no room for the text.
    pub(super) fn keep(&mut self, text: &str) -> ArenaText {
        let start = self.0.len();
        assert!(text.len() < self.0.capacity() - start, "there is room");
        self.0.push_str(text);
        self.0.push('\0');
        ArenaText(NonNull::from(&self.0[start..]))
    }
}

impl ArenaText {
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

/// Returns a view of text that ends in NUL.
pub(super) fn view_of(text: &str) -> mcplink_str_t {
    debug_assert!(text.ends_with('\0'), "text without a NUL");
    mcplink_str_t {
        ptr: text.as_ptr().cast(),
        len: text.len() - 1,
    }
}

/// Returns a view of optional text; empty for `None`.
pub(super) fn view_or_empty(text: Option<&Text>) -> mcplink_str_t {
    text.map_or(mcplink_str_t::EMPTY, Text::view)
}

/// The value of a length parameter for text that ends in NUL: the library then measures the text.
/// The header calls this value MCPLINK_NUL.
pub(super) const NUL: usize = usize::MAX;

/// Reads bytes that the host passes with their length. The length [`NUL`] is refused: binary data
/// may contain NUL bytes, and the length may be the -1 of a failed read.
///
/// # Safety
///
/// `ptr` is NULL, or points to `len` bytes. If `len` is [`NUL`], nothing is read. The bytes do not
/// change during `'a`.
pub(super) unsafe fn bytes<'a>(ptr: *const c_void, len: usize, what: &str) -> Result<&'a [u8]> {
    if len == NUL {
        let text = "bytes have a length: MCPLINK_NUL is for text";
        return Err(Error::new(ErrorKind::Invalid, text));
    }
    // SAFETY: the safety contract of this function.
    unsafe { measured(ptr.cast(), len, what) }
}

/// Reads bytes that the host passes with their length. The bytes are usually text, so the length
/// [`NUL`] is allowed.
///
/// # Safety
///
/// `ptr` is NULL, or points to `len` bytes. If `len` is [`NUL`], the bytes end in NUL. The bytes do
/// not change during `'a`.
pub(super) unsafe fn measured<'a>(ptr: *const c_char, len: usize, what: &str) -> Result<&'a [u8]> {
    if len == 0 {
        return Ok(&[]);
    }
    if ptr.is_null() {
        return Err(missing(what));
    }
    if len == NUL {
        // SAFETY: the caller guarantees that `ptr` ends in NUL.
        return Ok(unsafe { CStr::from_ptr(ptr) }.to_bytes());
    }
    if len > isize::MAX as usize {
        let text = format!("the length of {what} is larger than any memory");
        return Err(Error::new(ErrorKind::Invalid, text));
    }
    // SAFETY: the caller guarantees that `ptr` points to `len` bytes; the length was checked.
    Ok(unsafe { slice::from_raw_parts(ptr.cast(), len) })
}

/// Reads text that the host passes with its length. Fails if the text is not UTF-8.
///
/// # Safety
///
/// The requirements of [`measured`] apply.
pub(super) unsafe fn payload<'a>(ptr: *const c_char, len: usize, what: &str) -> Result<&'a str> {
    // SAFETY: the safety contract of this function.
    let bytes = unsafe { measured(ptr, len, what) }?;
    str::from_utf8(bytes).map_err(|error| not_utf8(what, error.valid_up_to()))
}

/// Reads required text that ends in NUL.
///
/// # Safety
///
/// `ptr` is NULL or ends in NUL. The text does not change during `'a`.
pub(super) unsafe fn name<'a>(ptr: *const c_char, what: &str) -> Result<&'a str> {
    // SAFETY: the safety contract of this function.
    unsafe { payload(ptr, NUL, what) }
}

/// Reads required text that ends in NUL. Fails if the text is blank. Used for settings where an
/// empty text would switch a restriction off.
///
/// # Safety
///
/// The requirements of [`name`] apply.
pub(super) unsafe fn filled<'a>(ptr: *const c_char, what: &str) -> Result<&'a str> {
    // SAFETY: the safety contract of this function.
    let text = unsafe { name(ptr, what) }?;
    if text.trim().is_empty() {
        return Err(empty(what));
    }
    Ok(text)
}

/// Reads optional text that ends in NUL; `None` for NULL.
///
/// # Safety
///
/// The requirements of [`name`] apply.
pub(super) unsafe fn optional<'a>(ptr: *const c_char, what: &str) -> Result<Option<&'a str>> {
    if ptr.is_null() {
        return Ok(None);
    }
    // SAFETY: the safety contract of this function.
    unsafe { name(ptr, what) }.map(Some)
}

/// Reads text of C that may be NULL, and that must otherwise have more than white space.
///
/// # Safety
///
/// `ptr` is NULL, or points to text that ends in NUL and does not change during `'a`.
pub(super) unsafe fn optional_filled<'a>(
    ptr: *const c_char,
    what: &str,
) -> Result<Option<&'a str>> {
    if ptr.is_null() {
        return Ok(None);
    }
    // SAFETY: the safety contract of this function.
    unsafe { filled(ptr, what) }.map(Some)
}

/// Reads required bytes that are usually text. Fails if the bytes are blank text.
///
/// # Safety
///
/// The requirements of [`measured`] apply.
pub(super) unsafe fn filled_measured<'a>(
    ptr: *const c_char,
    len: usize,
    what: &str,
) -> Result<&'a [u8]> {
    if ptr.is_null() {
        return Err(missing(what));
    }
    // SAFETY: the safety contract of this function.
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
        // SAFETY: each text has the given length, or is not read.
        unsafe {
            assert_eq!(payload(c"abc".as_ptr(), 2, "it").expect("text"), "ab");
            assert_eq!(payload(c"abc".as_ptr(), NUL, "it").expect("text"), "abc");
            assert_eq!(payload(std::ptr::dangling(), 0, "it").expect("text"), "");
            assert_eq!(payload(std::ptr::null(), 0, "it").expect("text"), "");
            assert_eq!(
                bytes(c"abc".as_ptr().cast(), 2, "it").expect("bytes"),
                b"ab"
            );
            assert_eq!(measured(c"abc".as_ptr(), NUL, "it").expect("bytes"), b"abc");
            assert!(bytes(c"abc".as_ptr().cast(), NUL, "it").is_err());
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
