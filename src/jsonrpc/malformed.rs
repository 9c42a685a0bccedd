//! Messages that can't be read, with the parts that could be extracted from them.

use super::id::RequestId;
use super::partial::PartialScanner;
use crate::error::{ErrorCode, Excerpt, RpcError};

/// A message that can't be read, with the error that is sent as the answer.
#[derive(Clone, Debug)]
pub struct Malformed {
    /// The error that is sent as the answer. Its text describes the problem.
    pub error: RpcError,
    /// The id of the message, if the id could be read.
    pub id: Option<RequestId>,
    /// The kind of message that the malformed message seems to be.
    pub form: Form,
    /// The beginning of the received text, if the text is not JSON at all.
    pub excerpt: Option<Box<str>>,
}

/// The kind of message that a malformed message seems to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Form {
    /// A text that is not JSON at all, for example a banner or a stray print.
    NotJson,
    /// A request, or a message that may be a request.
    Request,
    /// A notification, which is never answered.
    Notification,
    /// A response. The call that waits for the response fails.
    Response,
}

impl Malformed {
    pub(super) fn unreadable(bytes: &[u8], code: ErrorCode, message: String) -> Self {
        let scanner = PartialScanner::of(bytes);
        let form = match bytes.trim_ascii_start().first() {
            Some(b'{' | b'[') if scanner.looks_like_response() => Form::Response,
            Some(b'{' | b'[') => Form::Request,
            _ => Form::NotJson,
        };
        Self {
            error: RpcError::new(code, message),
            id: scanner.id(),
            form,
            excerpt: (form == Form::NotJson).then(|| excerpt_of(bytes)),
        }
    }

    /// Returns the error for a member of a batch that was not read because the system has no memory
    /// for the member.
    pub(super) fn no_memory(text: &str) -> Self {
        let message = format!(
            "the system has no memory for a message of {} bytes",
            text.len()
        );
        let scanner = PartialScanner::of(text.as_bytes());
        Self {
            error: RpcError::no_memory(message),
            id: scanner.id(),
            form: match (
                scanner.looks_like_notification(),
                scanner.looks_like_response(),
            ) {
                (true, _) => Form::Notification,
                (_, true) => Form::Response,
                _ => Form::Request,
            },
            excerpt: None,
        }
    }

    /// Whether the message was not read because the system had no memory. All malformed messages
    /// whose error is an internal error have this cause.
    pub(crate) fn is_no_memory(&self) -> bool {
        self.error.code == ErrorCode::INTERNAL_ERROR
    }

    pub(super) fn from_serde(text: &str, error: &serde_json::Error) -> Self {
        // serde's category "data" means that the text is JSON, but not an object whose members are
        // unique.
        let is_json =
            error.is_data() && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
        if !is_json {
            return Self::unreadable(text.as_bytes(), ErrorCode::PARSE_ERROR, not_json(error));
        }
        let mut malformed = Self::unreadable(
            text.as_bytes(),
            ErrorCode::INVALID_REQUEST,
            format!("message is not a valid request: {error}"),
        );
        if malformed.form == Form::NotJson {
            malformed.form = Form::Request;
        }
        malformed
    }
}

fn excerpt_of(bytes: &[u8]) -> Box<str> {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(512)]);
    Excerpt(&head).to_string().into()
}

pub(super) fn not_json(error: &serde_json::Error) -> String {
    format!("message is not valid JSON: {error}")
}
