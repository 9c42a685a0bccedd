//! Results that another server gave, which are sent to the client as they are.

use std::io::Write as _;

use serde::de::DeserializeOwned;

use crate::error::{Error, ErrorKind, Result};
use crate::jsonrpc::RawResult;
use crate::jsonrpc::raw_object::RawObject;
use crate::schema::tree;

/// Parses a result that can't be sent unparsed.
pub(super) fn parse<T: DeserializeOwned>(result: &RawResult) -> Result<T> {
    tree::read(result).map_err(|error| {
        let text = format!("the raw result can't be read: {error}");
        Error::new(ErrorKind::Invalid, text)
    })
}

/// Whether the text of a result has a `resultType`. In the result of a legacy server the member has
/// no meaning, and must get none.
pub(super) fn has_type(result: &str) -> bool {
    RawObject::of(result).any(|(key, _)| key == "resultType")
}

/// Appends the text of a result, with a `resultType` if `is_modern` is true and the text has none.
pub(super) fn append(result: &str, is_modern: bool, buffer: &mut Vec<u8>) {
    buffer.reserve(result.len() + 32);
    let members = result.trim_ascii_start().strip_prefix('{');
    match members {
        Some(members) if is_modern && !has_type(result) => {
            let is_empty = members.trim_ascii_start().starts_with('}');
            let comma = if is_empty { "" } else { "," };
            // Writing to a buffer never fails.
            _ = write!(buffer, "{{\"resultType\":\"complete\"{comma}{members}");
        }
        _ => buffer.extend_from_slice(result.as_bytes()),
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn appended(result: &str, is_modern: bool) -> String {
        let mut buffer = Vec::new();
        append(result, is_modern, &mut buffer);
        String::from_utf8(buffer).expect("UTF-8")
    }

    #[test]
    fn a_result_type_is_added_where_it_is_missing() {
        assert_eq!(appended("{}", true), r#"{"resultType":"complete"}"#);
        assert_eq!(
            appended(r#" { "content": [] }"#, true),
            r#"{"resultType":"complete", "content": [] }"#
        );
        let inner = r#"{"content":[{"resultType":"x"}]}"#;
        let whole = r#"{"resultType":"complete","content":[{"resultType":"x"}]}"#;
        assert_eq!(appended(inner, true), whole);
        assert_eq!(appended(whole, true), whole);
        assert_eq!(appended(inner, false), inner);
    }
}
