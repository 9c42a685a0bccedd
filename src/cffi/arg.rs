//! What C passes: the integer types for enumeration parameters of the exported functions and of
//! callbacks, and how numbers are read.
//!
//! In the header each of these types is the C enumeration of the same name, so that compilers warn
//! when a program passes a constant of another enumeration. In Rust each type is an integer,
//! because C may pass any number, and a number that is no constant would be undefined behavior in a
//! Rust enumeration. The header generator does not read this file: the build script does not list
//! it.

use std::time::Duration;

use crate::error::{Error, ErrorKind};

pub type mcplink_connection_state = i32;
pub type mcplink_content_kind = i32;
pub type mcplink_decision = i32;
pub type mcplink_direction = i32;
pub type mcplink_dpop = i32;
pub type mcplink_era = i32;
pub type mcplink_event = i32;
pub type mcplink_http_limit = i32;
pub type mcplink_json_type = i32;
pub type mcplink_limit = i32;
pub type mcplink_list = i32;
pub type mcplink_log_level = i32;
pub type mcplink_param_flag = i32;
pub type mcplink_param_type = i32;
pub type mcplink_primitive = i32;
pub type mcplink_server_event = i32;
pub type mcplink_stderr = i32;
pub type mcplink_subject = i32;
pub type mcplink_task_support = i32;
pub type mcplink_tool_hint = i32;

/// Defines an enumeration, and a function that reads a number that C passes for it. cbindgen does
/// not expand macros, so `header/tables.rs` takes the enumeration out for the header.
macro_rules! enumeration {
    (
        $(#[$meta:meta])*
        pub enum $name:ident {
            $($(#[$variant_meta:meta])* $variant:ident = $number:literal,)+
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $($(#[$variant_meta])* $variant = $number,)+
        }

        impl $name {
            /// Reads a number that C passes. `what` says in an error what the number stands for.
            pub(in crate::cffi) fn read(number: i32, what: &str) -> $crate::error::Result<Self> {
                match number {
                    $($number => Ok(Self::$variant),)+
                    _ => Err($crate::cffi::arg::unknown(number, what, stringify!($name))),
                }
            }
        }
    };
}

pub(super) fn unknown(number: i32, what: &str, enumeration: &str) -> Error {
    invalid(format!(
        "there is no {what} {number}: use one of enum {enumeration}"
    ))
}

/// Makes the error for an argument that is invalid.
pub(super) fn invalid(text: impl Into<String>) -> Error {
    Error::new(ErrorKind::Invalid, text)
}

/// Sets a setting of a builder if C has given a value for it.
pub(super) fn set_given<B, T>(builder: B, value: Option<T>, set: impl FnOnce(B, T) -> B) -> B {
    match value {
        Some(value) => set(builder, value),
        None => builder,
    }
}

/// Converts milliseconds into a duration; MCPLINK_FOREVER means no limit.
pub(super) fn span(milliseconds: u32) -> Duration {
    match milliseconds {
        u32::MAX => Duration::MAX,
        other => Duration::from_millis(other.into()),
    }
}
