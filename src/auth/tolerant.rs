//! Lenient deserialization of members whose type differs from the specification: a text instead of
//! a list, or a number as text. Some servers send such members.
//!
//! A member that can't be read even leniently counts as missing. The rest of the document is still
//! used.

use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// Reads a list of texts, or one text whose words are separated by spaces. Items that are not texts
/// are ignored.
pub(super) fn words<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Vec<String>>, D::Error> {
    let split = |text: &str| -> Vec<String> {
        let words = text.split_ascii_whitespace();
        words.map(str::to_owned).collect()
    };
    Ok(match Value::deserialize(deserializer)? {
        Value::String(text) => Some(split(&text)),
        Value::Array(items) => {
            let texts = items.iter().filter_map(Value::as_str);
            Some(texts.flat_map(split).collect())
        }
        _ => None,
    })
}

/// Reads a text. Values of other types count as missing.
pub(super) fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::String(text) => Some(text),
        _ => None,
    })
}

/// Reads a boolean: `true` or `false`, or one of these words as text.
pub(super) fn flag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<bool>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::Bool(flag) => Some(flag),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    })
}

/// Reads a number of seconds, which may be given as text. Negative numbers become zero.
pub(super) fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let number = match Value::deserialize(deserializer)? {
        Value::String(text) => text.trim().parse::<f64>().ok(),
        number => number.as_f64(),
    };
    Ok(number
        .filter(|number| !number.is_nan())
        .map(|number| number as u64))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn members_are_read_in_the_ways_in_which_servers_write_them() {
        let list = |value: Value| words(value).expect("any value is read");
        let some = |texts: &[&str]| Some(texts.iter().map(|text| (*text).to_owned()).collect());
        assert_eq!(list(json!(["a", "b c"])), some(&["a", "b", "c"]));
        assert_eq!(list(json!(" a  b")), some(&["a", "b"]));
        assert_eq!(list(json!(["a", 7, null, ["b"]])), some(&["a"]));
        assert_eq!(list(json!("")), some(&[]));
        for odd in [json!(null), json!(7), json!({ "a": 1 }), json!(true)] {
            assert_eq!(list(odd), None);
        }
        let read = |value: Value| seconds(value).expect("any value is read");
        for (value, expected) in [
            (json!(3600), Some(3600)),
            (json!("3600"), Some(3600)),
            (json!(" 3600.5 "), Some(3600)),
            (json!(-1), Some(0)),
            (json!("0"), Some(0)),
            (json!(1e300), Some(u64::MAX)),
            (json!("NaN"), None),
            (json!("soon"), None),
            (json!(null), None),
            (json!([3600]), None),
        ] {
            assert_eq!(read(value.clone()), expected, "{value}");
        }
        let read = |value: Value| flag(value).expect("any value is read");
        assert_eq!(read(json!("true")), Some(true));
        assert_eq!(read(json!(false)), Some(false));
        assert_eq!(read(json!(1)), None);
        assert_eq!(text(json!("x")).expect("a text"), Some("x".to_owned()));
        assert_eq!(text(json!(7)).expect("no text"), None);
    }
}
