//! Lenient reading: a deviation from the specification is accepted if its meaning is unambiguous.

use serde::Deserialize;
use serde::de::Error as _;
use serde_json::value::RawValue;

use super::id::RequestId;
use crate::error::{ErrorCode, Excerpt, RpcError};

/// The mode of reading: whether deviations from the specification are accepted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Reading {
    /// Deviations are accepted if their meaning is unambiguous.
    Lenient,
    /// All deviations are errors.
    Strict,
}

impl Reading {
    /// Reads the `error` object of a response.
    pub(super) fn error(self, text: &str) -> serde_json::Result<RpcError> {
        match serde_json::from_str(text) {
            Err(_) if self == Self::Lenient => read_odd_error(text),
            read => read,
        }
    }
}

/// Reads an error object with an accepted deviation: the message is missing or not a string, or the
/// code is written with a fraction of zero (`-32601.0`) or as a text (`"-32601"`).
fn read_odd_error(text: &str) -> serde_json::Result<RpcError> {
    #[derive(Deserialize)]
    struct Odd {
        code: RequestId,
        message: Option<Box<RawValue>>,
        data: Option<Box<RawValue>>,
    }
    let Odd {
        code,
        message,
        data,
    } = serde_json::from_str(text)?;
    let code = code
        .as_own_number()
        .map(ErrorCode::of)
        .ok_or_else(|| serde_json::Error::custom(format_args!("code {code} is not an integer")))?;
    let message = match message {
        Some(message) => serde_json::from_str(message.get())
            .unwrap_or_else(|_| Excerpt(message.get()).to_string()),
        None => match &data {
            Some(data) => format!("no message; data: {}", Excerpt(data.get())),
            None => "no message".to_owned(),
        },
    };
    let mut error = RpcError::new(code, message);
    error.data = data;
    Ok(error)
}

/// Whether a JSON text is an empty array. Peers written in PHP send an empty array for an empty
/// object.
pub(crate) fn is_empty_array(text: &str) -> bool {
    let inside = text
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'));
    inside.is_some_and(|inside| inside.trim_ascii().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jsonrpc::{Malformed, Message, Parsed};

    /// Reads a response leniently, and returns its result or its error object. Checks that strict
    /// reading refuses the response.
    fn odd_response(text: &str) -> Result<String, RpcError> {
        assert!(strictly(text).is_err(), "{text}");
        match Message::read(text.to_owned()) {
            Ok(Message::Response(response)) => response.into_result().map(|it| it.to_string()),
            other => panic!("{text} was read as {other:?}"),
        }
    }

    fn strictly(text: &str) -> Result<Message, Malformed> {
        match Parsed::read_strictly(text.as_bytes().to_vec(), 128) {
            Parsed::Single(read) => read,
            other => panic!("{text} was read as {other:?}"),
        }
    }

    #[test]
    fn null_beside_an_outcome_is_absent() {
        fn result(text: &str, expected: &str) {
            assert_eq!(odd_response(text).expect(text), expected);
        }
        fn error(text: &str, code: i64) {
            let error = odd_response(text).expect_err(text);
            assert_eq!(error.code.value(), code, "{text}");
        }
        result(
            r#"{"jsonrpc":"2.0","id":1,"result":{"a":1},"error":null}"#,
            r#"{"a":1}"#,
        );
        result(
            r#"{"jsonrpc":"2.0","id":1,"error":null,"result":null}"#,
            "null",
        );
        result(
            r#"{"jsonrpc":"2.0","id":1,"method":null,"params":null,"result":{}}"#,
            "{}",
        );
        error(
            r#"{"jsonrpc":"2.0","id":1,"result":null,"error":{"code":-5,"message":"m"}}"#,
            -5,
        );
        error(
            r#"{"jsonrpc":"2.0","id":null,"result":null,"error":{"code":-5,"message":"m"}}"#,
            -5,
        );
    }

    #[test]
    fn an_error_shows_what_it_has() {
        fn check(error: &str, code: i64, message: &str, data: Option<&str>) {
            let text = format!(r#"{{"jsonrpc":"2.0","id":1,"error":{error}}}"#);
            let read = odd_response(&text).expect_err("an error");
            let read_data = read.data.as_ref().map(|data| data.get());
            assert_eq!(
                (read.code.value(), &*read.message, read_data),
                (code, message, data),
                "{error}"
            );
        }
        check(r#"{"code":-3}"#, -3, "no message", None);
        check(
            r#"{"code":-3,"data":{"why":"x"}}"#,
            -3,
            r#"no message; data: {"why":"x"}"#,
            Some(r#"{"why":"x"}"#),
        );
        check(r#"{"code":-3,"message":null}"#, -3, "no message", None);
        check(r#"{"code":-3,"message":{"a":1}}"#, -3, r#"{"a":1}"#, None);
        check(r#"{"code":-32601.0,"message":"m"}"#, -32601, "m", None);
        check(r#"{"code":"-32601","message":"m"}"#, -32601, "m", None);
        // The error text of an unreadable error shows an excerpt of it.
        let text = r#"{"jsonrpc":"2.0","id":1,"error":"the disk is full"}"#;
        let refused = Message::read(text.to_owned()).expect_err("no error object");
        let refused = refused.error.message;
        assert!(refused.contains("the disk is full"), "{refused}");
    }

    #[test]
    fn params_that_say_nothing_are_absent() {
        for params in ["null", "[]", "[ \n]"] {
            let text = format!(
                r#"{{"jsonrpc":"2.0","id":1.0,"method":"m","params":{params},"result":null,"error":null}}"#
            );
            let Ok(Message::Request(request)) = Message::read(text.clone()) else {
                panic!("a request: {text}")
            };
            assert_eq!((request.method(), request.params()), ("m", "{}"));
            assert_eq!(request.members().count(), 0);
            assert_eq!(request.id().to_string(), "1.0");
            let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{params}}}"#);
            let refused = strictly(&text).expect_err(&text);
            assert_eq!(refused.error.code, ErrorCode::INVALID_PARAMS);
        }
        let text = r#"{"jsonrpc":"2.0","id":1.0,"method":"m"}"#;
        assert!(strictly(text).is_err());
        let text = r#"{"jsonrpc":"2.0","id":-0,"method":"m"}"#;
        assert!(strictly(text).is_ok());
        let empty = odd_response(r#"{"jsonrpc":"2.0","id":2.0,"result":[]}"#);
        assert_eq!(empty.expect("a result"), "{}");
    }
}
