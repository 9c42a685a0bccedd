//! Helpers for the definitions of tools, resources and prompts.

use std::ffi::c_char;

use serde::de::DeserializeOwned;

use crate::cffi::entry::Outcome;
use crate::cffi::json::optional_json;
use crate::error::{Error, ErrorKind, Result};

/// Whether an argument of a tool or prompt is required.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(dead_code, reason = "constants of C")]
pub enum mcplink_param_flag {
    /// An optional argument, which calls may omit.
    MCPLINK_PARAM_OPTIONAL = 0,
    /// A required argument.
    MCPLINK_PARAM_REQUIRED = 32768,
}

/// Parses optional JSON text as a type of the protocol. Returns `None` for NULL.
///
/// # Safety
///
/// The requirements of [`optional_json`] apply.
pub(super) unsafe fn typed<T: DeserializeOwned>(
    ptr: *const c_char,
    len: usize,
    what: &str,
) -> Outcome<Option<T>> {
    // SAFETY: the safety contract of this function.
    let Some(json) = (unsafe { optional_json(ptr, len, what) })? else {
        return Ok(None);
    };
    let read = serde_json::from_str(json.get()).map_err(|error| {
        let text = format!("{what} is not what the protocol has there: {error}");
        Error::new(ErrorKind::Invalid, text)
    })?;
    Ok(Some(read))
}

/// Returns whether the flags mark an argument as required.
pub(super) fn required(flags: u32) -> Result<bool> {
    use mcplink_param_flag as Flag;
    match flags {
        _ if flags == Flag::MCPLINK_PARAM_OPTIONAL as u32 => Ok(false),
        _ if flags == Flag::MCPLINK_PARAM_REQUIRED as u32 => Ok(true),
        _ => {
            let text = format!("there are no flags {flags:#x}: use enum mcplink_param_flag");
            Err(Error::new(ErrorKind::Invalid, text))
        }
    }
}
