//! Request ids: strings or integers, echoed exactly as they came.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::value::RawValue;

/// The id of a request: a string or an integer, never `null` or a fraction.
///
/// What was received is sent back byte for byte: `1` and `"1"` are different ids, and integers of any size keep their digits.
///
/// Spec: Base Protocol, "Requests" (every revision).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestId(Repr);

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Repr {
    Integer(i64),
    /// An integer that `i64` can't hold or would write differently (`-0`).
    Digits(Box<str>),
    Text(Box<str>),
}

impl RequestId {
    /// Reads an id from its JSON text; `None` when it is not a string or an integer.
    pub fn from_json(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        if bytes.first() == Some(&b'"') {
            return serde_json::from_str::<String>(text)
                .ok()
                .map(|text| Self(Repr::Text(text.into())));
        }
        // The ids of nearly everybody.
        if let Some(value) = short_number(bytes) {
            return Some(Self(Repr::Integer(value)));
        }
        let digits = bytes.strip_prefix(b"-").unwrap_or(bytes);
        let is_integer = digits.iter().all(u8::is_ascii_digit)
            && (digits == b"0" || digits.first().is_some_and(|&first| first != b'0'));
        if !is_integer {
            return None;
        }
        match text.parse::<i64>() {
            Ok(value) if text != "-0" => Some(Self(Repr::Integer(value))),
            _ => Some(Self(Repr::Digits(text.into()))),
        }
    }

    /// The id as an `i64`, when it is an integer that fits.
    pub fn as_i64(&self) -> Option<i64> {
        match self.0 {
            Repr::Integer(value) => Some(value),
            _ => None,
        }
    }

    /// The id as text, when it is a string.
    pub fn as_str(&self) -> Option<&str> {
        match &self.0 {
            Repr::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// A number of one to eighteen digits that is written as `i64` would be.
pub(crate) fn short_number(digits: &[u8]) -> Option<i64> {
    if !(1..=18).contains(&digits.len()) || (digits[0] == b'0' && digits.len() > 1) {
        return None;
    }
    digits.iter().try_fold(0, |value, digit| {
        let digit = digit.wrapping_sub(b'0');
        (digit < 10).then(|| value * 10 + i64::from(digit))
    })
}

impl From<i64> for RequestId {
    fn from(value: i64) -> Self {
        Self(Repr::Integer(value))
    }
}

impl From<&str> for RequestId {
    fn from(text: &str) -> Self {
        Self(Repr::Text(text.into()))
    }
}

impl From<String> for RequestId {
    fn from(text: String) -> Self {
        Self(Repr::Text(text.into()))
    }
}

/// The JSON text of the id.
impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::Integer(value) => write!(f, "{value}"),
            Repr::Digits(digits) => f.write_str(digits),
            Repr::Text(text) => f.write_str(&serde_json::to_string(text).map_err(|_| fmt::Error)?),
        }
    }
}

impl Serialize for RequestId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Repr::Integer(value) => serializer.serialize_i64(*value),
            Repr::Text(text) => serializer.serialize_str(text),
            Repr::Digits(digits) => RawValue::from_string(digits.to_string())
                .map_err(serde::ser::Error::custom)?
                .serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for RequestId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        Self::from_json(raw.get()).ok_or_else(|| {
            de::Error::custom(format_args!("{} is not a string or an integer", raw.get()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // M-BASE-S-06, L-BASE-B-06, M-BASE-C-03, L-BASE-B-03
    #[test]
    fn ids_come_back_byte_for_byte() {
        for text in [
            "1",
            "0",
            "-5",
            "\"1\"",
            "\"\"",
            "9007199254740993",
            "18446744073709551616",
            "-0",
            "\"a\\\"b\"",
        ] {
            let id = RequestId::from_json(text).expect(text);
            assert_eq!(id.to_string(), text);
            assert_eq!(serde_json::to_string(&id).expect("ids are JSON"), text);
            assert_eq!(serde_json::from_str::<RequestId>(text).expect(text), id);
        }
        assert_ne!(RequestId::from_json("1"), RequestId::from_json("\"1\""));
    }

    // M-BASE-C-03, M-BASE-C-04, L-BASE-B-04
    #[test]
    fn nothing_else_is_an_id() {
        for text in [
            "null", "1.5", "1.0", "1e3", "true", "{}", "[]", "", "-", "01", "+1", " 1", "\"open",
        ] {
            assert_eq!(RequestId::from_json(text), None, "{text}");
        }
    }
}
