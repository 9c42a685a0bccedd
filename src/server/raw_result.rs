//! Results that another server gave, which are sent to the client as they are.

use serde::de::DeserializeOwned;

use crate::error::{Error, Result};
use crate::jsonrpc::RawResult;
use crate::jsonrpc::raw_object::RawObject;
use crate::schema::{ProtocolVersion, tree};

/// Parses a result that can't be sent unparsed. `clear_modern` removes the members that have no
/// meaning in the result of a legacy server.
pub(super) fn parse<T: DeserializeOwned>(
    result: &RawResult,
    revision: ProtocolVersion,
    clear_modern: impl FnOnce(&mut T),
) -> Result<T> {
    let mut parsed = tree::read(result)
        .map_err(|error| Error::invalid(format!("the raw result can't be read: {error}")))?;
    if !revision.is_modern() {
        clear_modern(&mut parsed);
    }
    Ok(parsed)
}

/// Whether the text of a result has a `resultType`. In the result of a legacy server the member has
/// no meaning, and must get none.
pub(super) fn has_type(result: &str) -> bool {
    RawObject::of(result).any(|(key, _)| key == "resultType")
}

/// Returns the beginning of a result that gets a `resultType`, and how many bytes of the text it
/// replaces. The result gets one if `is_modern` is true and the text has none.
pub(super) fn beginning(result: &str, is_modern: bool) -> (&'static str, usize) {
    match result.trim_ascii_start().strip_prefix('{') {
        Some(members) if is_modern && !has_type(result) => {
            let beginning = match members.trim_ascii_start().starts_with('}') {
                true => "{\"resultType\":\"complete\"",
                false => "{\"resultType\":\"complete\",",
            };
            (beginning, result.len() - members.len())
        }
        _ => ("", 0),
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::jsonrpc::RequestId;

    fn appended(result: &str, is_modern: bool) -> String {
        let (beginning, replaced) = beginning(result, is_modern);
        let id = RequestId::from(7);
        let response = RawResult::alone(result).into_response(&id, beginning, replaced);
        let response = String::from_utf8(response).expect("UTF-8");
        let rest = response.strip_prefix(r#"{"jsonrpc":"2.0","id":7,"result":"#);
        let result = rest.and_then(|rest| rest.strip_suffix('}'));
        result.expect("a response").to_owned()
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
