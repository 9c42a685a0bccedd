//! The JSON writer: builds arguments, results and schemas without another JSON library.

use std::ffi::{c_char, c_void};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;

use super::entry::{Outcome, ffi, free, need_mut, own, plain};
use super::error::mcplink_error_t;
use super::json::json_payload;
use super::status::{mcplink_status, mcplink_status_t};
use super::text::{bytes, mcplink_str_t, missing, name, payload};
use crate::error::{Error, ErrorKind, Result};

/// A JSON writer: builds one JSON value step by step.
///
/// Errors are remembered: after the first error further calls do nothing, and mcplink_writer_finish
/// returns the first error. So a host needs to check only mcplink_writer_finish.
#[derive(Default)]
pub struct mcplink_writer_t {
    text: Vec<u8>,
    open: Vec<Open>,
    /// True once the JSON value is complete.
    whole: bool,
    /// The error of the first step that failed.
    fault: Option<Error>,
}

object!(mcplink_writer_t is Writer);

use mcplink_writer_t as Writer;

/// An object or array that was begun and has not ended.
struct Open {
    is_object: bool,
    is_empty: bool,
    /// Whether a key was written, so that its value must come next.
    has_key: bool,
}

impl Writer {
    /// Runs a step of the writer, unless an earlier step failed.
    fn step(&mut self, step: impl FnOnce(&mut Self) -> Result<()>) -> Outcome {
        if self.fault.is_none()
            && let Err(error) = step(self)
        {
            let at = self.text.len();
            self.fault = Some(error.context(format_args!("writing JSON, at byte {at}")));
        }
        match &self.fault {
            None => Ok(mcplink_status::MCPLINK_OK),
            Some(fault) => Err(fault.clone().into()),
        }
    }

    /// Prepares to write a value: checks that a value is allowed next, and writes the comma.
    fn begin_value(&mut self) -> Result<()> {
        match self.open.last_mut() {
            None if self.whole => return Err(wrong("the value is whole already")),
            None => {}
            Some(open) if open.is_object => {
                let has_key = std::mem::take(&mut open.has_key);
                if !has_key {
                    return Err(wrong("a member of an object needs a key first"));
                }
            }
            Some(open) => {
                let is_first = std::mem::replace(&mut open.is_empty, false);
                if !is_first {
                    self.text.push(b',');
                }
            }
        }
        // A nested value does not complete the outermost value.
        self.whole = self.open.is_empty();
        Ok(())
    }

    fn write(&mut self, value: &(impl Serialize + ?Sized)) -> Result<()> {
        self.begin_value()?;
        serde_json::to_writer(&mut self.text, value).map_err(|error| wrong(&error.to_string()))
    }

    fn begin(&mut self, is_object: bool) -> Result<()> {
        self.begin_value()?;
        self.whole = false;
        self.text.push(if is_object { b'{' } else { b'[' });
        self.open.push(Open {
            is_object,
            is_empty: true,
            has_key: false,
        });
        Ok(())
    }

    fn end(&mut self) -> Result<()> {
        let Some(open) = self.open.pop() else {
            return Err(wrong("there is nothing to end"));
        };
        if open.has_key {
            return Err(wrong("the last key has no value"));
        }
        self.text.push(if open.is_object { b'}' } else { b']' });
        self.whole = self.open.is_empty();
        Ok(())
    }

    fn key(&mut self, key: &str) -> Result<()> {
        let Some(open) = self.open.last_mut().filter(|open| open.is_object) else {
            return Err(wrong("a key belongs into an object"));
        };
        if std::mem::replace(&mut open.has_key, true) {
            return Err(wrong("the key before has no value"));
        }
        if !std::mem::replace(&mut open.is_empty, false) {
            self.text.push(b',');
        }
        serde_json::to_writer(&mut self.text, key).map_err(|error| wrong(&error.to_string()))?;
        self.text.push(b':');
        Ok(())
    }

    fn finish(&mut self) -> Result<mcplink_str_t> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        if !self.whole {
            let what = match self.open.len() {
                0 => "nothing was written".to_owned(),
                open => format!("{open} objects and arrays have not ended"),
            };
            return Err(wrong(&what).context("writing JSON"));
        }
        // A terminating NUL that is not part of the text.
        if self.text.last() != Some(&0) {
            self.text.push(0);
        }
        Ok(mcplink_str_t {
            ptr: self.text.as_ptr().cast(),
            len: self.text.len() - 1,
        })
    }
}

fn wrong(what: &str) -> Error {
    Error::new(ErrorKind::Invalid, what)
}

/// Runs one step of a writer.
///
/// # Safety
///
/// `writer` is NULL or a live writer that nothing else uses.
unsafe fn write(
    writer: *mut mcplink_writer_t,
    what: &str,
    _function: &str,
    step: impl FnOnce(&mut Writer) -> Result<()>,
) -> mcplink_status_t {
    // SAFETY: the safety contract of this function.
    plain(|| unsafe { need_mut(writer, what) }?.step(step))
}

/// Makes a writer.
///
/// Returns: an empty writer. The caller owns it and frees it with mcplink_writer_free.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn mcplink_writer_new() -> *mut mcplink_writer_t {
    own(Default::default())
}

/// Frees a writer and the text that mcplink_writer_finish returned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_writer_free(writer: *mut mcplink_writer_t) {
    // SAFETY: the header requires a writer of this library, freed once.
    unsafe { free(writer) }
}

/// Resets a writer: clears its text and its error, and keeps the allocated memory for the next
/// value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_writer_reset(writer: *mut mcplink_writer_t) -> mcplink_status_t {
    plain(|| {
        // SAFETY: the header requires a writer of this library.
        let writer = unsafe { need_mut(writer, "writer") }?;
        writer.text.clear();
        writer.open.clear();
        (writer.whole, writer.fault) = (false, None);
        Ok(mcplink_status::MCPLINK_OK)
    })
}

actions! {
    write(writer: mcplink_writer_t);

    /// Begins an object. Write each member with mcplink_writer_key and a value, then call
    /// mcplink_writer_end.
    fn mcplink_writer_begin_object() {
        writer.begin(true)?;
    }

    /// Begins an array. Write the items of the array, then call mcplink_writer_end.
    fn mcplink_writer_begin_array() {
        writer.begin(false)?;
    }

    /// Ends the innermost open object or array.
    fn mcplink_writer_end() {
        writer.end()?;
    }

    /// Writes the key of a member. The value of the member must come next.
    ///
    /// writer: the writer, inside an object.
    /// key: the key.
    fn mcplink_writer_key(key: *const c_char) {
        writer.key(name(key, "key")?)?;
    }

    /// Writes a string.
    ///
    /// text, len: UTF-8; len may be MCPLINK_NUL for text that ends in NUL.
    fn mcplink_writer_str(text: *const c_char, len: usize) {
        writer.write(payload(text, len, "text")?)?;
    }

    /// Writes an integer.
    ///
    /// number: the integer.
    fn mcplink_writer_i64(number: i64) {
        writer.write(&number)?;
    }

    /// Writes an unsigned integer.
    ///
    /// number: the integer.
    fn mcplink_writer_u64(number: u64) {
        writer.write(&number)?;
    }

    /// Writes a double with enough digits that reading the text gives the identical double. The
    /// decimal separator is always a point, regardless of the locale.
    ///
    /// number: the number; NaN and infinities are errors, because JSON can't represent them.
    fn mcplink_writer_f64(number: f64) {
        if !number.is_finite() {
            return Err(wrong("JSON has no NaN and no infinities"));
        }
        writer.write(&number)?;
    }

    /// Writes true or false.
    ///
    /// boolean: the value.
    fn mcplink_writer_boolean(boolean: bool) {
        writer.write(&boolean)?;
    }

    /// Writes null.
    fn mcplink_writer_null() {
        writer.write(&())?;
    }

    /// Writes bytes as a string in base64 (RFC 4648, section 4).
    ///
    /// data, len: the bytes.
    fn mcplink_writer_bytes(data: *const c_void, len: usize) {
        let data = bytes(data, len, "data")?;
        writer.write(&STANDARD.encode(data))?;
    }

    /// Writes a value that is already JSON text.
    ///
    /// json, len: one JSON value; len may be MCPLINK_NUL for text that ends in NUL. Invalid JSON is
    /// an error.
    fn mcplink_writer_raw(json: *const c_char, len: usize) {
        let json = json_payload(json, len, "json").map_err(|failure| failure.into_error())?;
        writer.write(json)?;
    }
}

/// Finishes the value and returns its text.
///
/// out: receives the text, which ends in NUL. The text is valid until the writer is used again or
/// freed. Empty on failure.
/// err: receives the first error, with the byte offset where it occurred; the caller frees it. May
/// be NULL.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID, for example for an open object, a key without a
/// value, NaN, or text that is not UTF-8.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_writer_finish(
    writer: *mut mcplink_writer_t,
    out: *mut mcplink_str_t,
    err: *mut *mut mcplink_error_t,
) -> mcplink_status_t {
    // SAFETY: the header requires a writer of this library, and that `out` and `err` are NULL or
    // can be written to.
    unsafe {
        ffi(err, || {
            if out.is_null() {
                return Err(missing("out").into());
            }
            out.write(mcplink_str_t::EMPTY);
            out.write(need_mut(writer, "writer")?.finish()?);
            Ok(mcplink_status::MCPLINK_OK)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finished(steps: impl FnOnce(&mut Writer) -> Result<()>) -> Result<String> {
        let mut writer = Writer::default();
        _ = writer.step(steps);
        writer.finish()?;
        writer.text.pop();
        Ok(String::from_utf8(writer.text).expect("text"))
    }

    #[test]
    fn values_nest() {
        let text = finished(|w| {
            w.begin(true)?;
            w.key("a\n")?;
            w.begin(false)?;
            w.write(&1)?;
            w.write("ü")?;
            w.begin(true)?;
            w.end()?;
            w.end()?;
            w.key("b")?;
            w.write(&1.5)?;
            w.end()
        });
        assert_eq!(text.expect("JSON"), r#"{"a\n":[1,"ü",{}],"b":1.5}"#);
        assert_eq!(finished(|w| w.write(&())).expect("JSON"), "null");
    }

    #[test]
    fn the_first_fault_is_told_with_its_place() {
        type Steps = fn(&mut Writer) -> Result<()>;
        let cases: [(Steps, &str); 7] = [
            (|_| Ok(()), "nothing was written"),
            (|w| w.begin(true), "1 objects and arrays have not ended"),
            (
                |w| {
                    w.begin(true)?;
                    w.write(&1)
                },
                "needs a key",
            ),
            (|w| w.key("a"), "belongs into an object"),
            (
                |w| {
                    w.begin(true)?;
                    w.key("a")?;
                    w.end()
                },
                "has no value",
            ),
            (Writer::end, "nothing to end"),
            (
                |w| {
                    w.write(&1)?;
                    w.write(&2)
                },
                "at byte 1: the value is whole",
            ),
        ];
        for (steps, expected) in cases {
            let error = finished(steps).expect_err(expected);
            assert!(error.to_string().contains(expected), "{error}");
            assert_eq!(error.kind(), ErrorKind::Invalid);
        }
    }
}
