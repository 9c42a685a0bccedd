//! The message format: JSON-RPC 2.0 messages, ids and newline framing.
//!
//! Pure functions of bytes: this module does no I/O, never blocks and starts no threads.
//!
//! # Examples
//!
//! ```
//! use mcplink::jsonrpc::{Message, Parsed};
//!
//! let text = br#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"2"}}"#;
//! let Parsed::Single(Ok(message)) = Parsed::read(text.to_vec(), 64) else {
//!     panic!("the text is a batch, or no message")
//! };
//! let Message::Request(request) = message else { panic!("the message is no request") };
//! assert_eq!(request.id().as_i64(), Some(1));
//! assert_eq!((request.method(), request.params()), ("tools/list", r#"{"cursor":"2"}"#));
//! ```

#[cfg(fuzzing)]
pub mod fuzzing;
mod id;
mod lenient;
mod line;
mod malformed;
pub(crate) mod memchr;
mod message;
mod message_members;
pub(crate) mod nesting;
mod partial;
pub(crate) mod raw_object;
pub(crate) mod surrogates;
pub(crate) mod text;
pub(crate) mod tokens;
pub(crate) mod typed;
mod write;

pub use id::RequestId;
pub(crate) use id::short_number;
pub(crate) use lenient::is_empty_array;
pub(crate) use line::append_line;
pub use line::{Line, LineBuffer, TooLong, end_line};
pub use malformed::{Form, Malformed};
#[cfg(feature = "http-server")]
pub(crate) use message::asks_for_more_than;
pub use message::{Message, Notification, Parsed, RawResult, Request, Response};
pub(crate) use message_members::find_params;
#[cfg(test)]
pub(crate) use message_members::variants;
pub(crate) use write::write_result_with;
pub use write::{write_error, write_notification, write_request, write_result};
