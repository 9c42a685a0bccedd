//! Request ids: strings or integers, which are echoed exactly as received.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::value::RawValue;

/// The id of a request: a string or an integer, never `null` or a fraction.
///
/// A received id is sent back byte for byte. `1` and `"1"` are different ids, and integers of any
/// size keep their digits. JSON allows other spellings of an integer, for example `1.0` or `1e0`.
/// Ids in these spellings are equal to the id `1`, and are also echoed as received.
///
/// Spec: Base Protocol, "Requests" (every revision).
///
/// # Examples
///
/// ```
/// use mcplink::jsonrpc::RequestId;
///
/// // A number is not equal to a string, but to another spelling of the number.
/// let id = RequestId::from_json("1.0").expect("it is an integer");
/// assert_ne!(RequestId::from(1), RequestId::from("1"));
/// assert_eq!(RequestId::from(1), id);
/// assert_eq!(serde_json::to_string(&id)?, "1.0");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct RequestId(Repr);

#[derive(Clone, Debug)]
enum Repr {
    Integer(i64),
    /// An integer id that `i64` can't hold, or whose spelling `i64` would change (`-0`, `1.0`).
    Spelled(Box<Spelled>),
    Text(Box<str>),
}

#[derive(Clone, Debug)]
struct Spelled {
    value: Whole,
    /// The JSON text of the id, as received.
    text: Box<str>,
}

/// The value of an integer id.
#[derive(Clone, Debug)]
enum Whole {
    Small(i64),
    /// An integer outside the range of `i64`: its digits, with a sign if it is negative.
    Large(Box<str>),
}

/// The key by which ids are compared and hashed.
#[derive(PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Key<'a> {
    Integer(i64),
    Large(&'a str),
    Text(&'a str),
}

/// The maximum number of digits of an integer id. A longer number is not a valid id.
const MAX_DIGITS: usize = 1024;
/// The maximum number of digits of an integer id with an exponent or a point. Many peers read such
/// a number as a double, which can't hold more digits. Without this limit, the id `1e999999999`
/// would need a gigabyte.
const MAX_DIGITS_OF_DOUBLES: usize = 308;

impl RequestId {
    /// Reads an id from its JSON text. Returns `None` if the text is neither a string nor an
    /// integer.
    pub fn from_json(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        if bytes.first() == Some(&b'"') {
            return serde_json::from_str::<String>(text)
                .ok()
                .map(|text| Self(Repr::Text(text.into())));
        }
        // Fast path: nearly all peers send short integers.
        if let Some(value) = short_number(bytes) {
            return Some(Self(Repr::Integer(value)));
        }
        Some(Self(match Whole::read(text)? {
            Whole::Small(value) if value.to_string() == text => Repr::Integer(value),
            value => Repr::Spelled(Box::new(Spelled {
                value,
                text: text.into(),
            })),
        }))
    }

    /// Returns the id as an `i64`, if the id is an integer in the range of `i64`.
    pub fn as_i64(&self) -> Option<i64> {
        match self.key() {
            Key::Integer(value) => Some(value),
            _ => None,
        }
    }

    /// Returns the id as the number of a request of this side. The peer should repeat the number as
    /// an integer; its decimal text, such as `"7"`, is accepted too. All ids of this side are
    /// integers, so the text has only one meaning.
    pub(crate) fn as_own_number(&self) -> Option<i64> {
        let Some(text) = self.as_str() else {
            return self.as_i64();
        };
        let number: i64 = text.parse().ok()?;
        (number.to_string() == text).then_some(number)
    }

    /// Returns the text of the id, if the id is a string.
    pub fn as_str(&self) -> Option<&str> {
        match &self.0 {
            Repr::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Whether the id is a string, or an integer without point and exponent.
    pub(super) fn is_plain(&self) -> bool {
        match &self.0 {
            Repr::Spelled(id) => !id.text.contains(['.', 'e', 'E']),
            _ => true,
        }
    }

    fn key(&self) -> Key<'_> {
        match &self.0 {
            Repr::Integer(value) => Key::Integer(*value),
            Repr::Spelled(id) => match &id.value {
                Whole::Small(value) => Key::Integer(*value),
                Whole::Large(digits) => Key::Large(digits),
            },
            Repr::Text(text) => Key::Text(text),
        }
    }
}

impl Whole {
    /// Reads a JSON number. Returns `None` if the number is not an integer, or too long for an id.
    fn read(text: &str) -> Option<Self> {
        let (sign, rest) = match text.strip_prefix('-') {
            Some(rest) => ("-", rest),
            None => ("", text),
        };
        let (mantissa, exponent) = match rest.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, read_exponent(exponent)?),
            None => (rest, 0),
        };
        let (whole, fraction) = match mantissa.split_once('.') {
            Some((whole, fraction)) => (whole, are_digits(fraction).then_some(fraction)?),
            None => (mantissa, ""),
        };
        if !are_digits(whole) || (whole.starts_with('0') && whole.len() > 1) {
            return None;
        }
        let digits = format!("{whole}{fraction}");
        let digits = digits.trim_end_matches('0');
        if digits.trim_start_matches('0').is_empty() {
            return Some(Self::Small(0));
        }
        // The number of digits before the decimal point.
        let before = exponent.checked_add(i64::try_from(whole.len()).ok()?)?;
        let before = usize::try_from(before).ok()?;
        let is_plain = whole.len() == rest.len();
        let max = if is_plain {
            MAX_DIGITS
        } else {
            MAX_DIGITS_OF_DOUBLES
        };
        if !(digits.len()..=max).contains(&before) {
            return None;
        }
        let digits = format!("{digits:0<before$}");
        let number = format!("{sign}{}", digits.trim_start_matches('0'));
        Some(match number.parse() {
            Ok(value) => Self::Small(value),
            Err(_) => Self::Large(number.into()),
        })
    }
}

fn are_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Reads an exponent. If `i64` can't hold the exponent, returns a very large exponent of the
/// same sign.
fn read_exponent(text: &str) -> Option<i64> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    are_digits(digits).then(|| sign * digits.parse().unwrap_or(i64::MAX / 2))
}

impl PartialEq for RequestId {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for RequestId {}

impl Hash for RequestId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

impl PartialOrd for RequestId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for RequestId {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

/// Reads a number of one to eighteen digits, without sign and without leading zeros.
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

/// Writes the JSON text of the id.
impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::Integer(value) => write!(f, "{value}"),
            Repr::Spelled(id) => f.write_str(&id.text),
            Repr::Text(text) => f.write_str(&serde_json::to_string(text).map_err(|_| fmt::Error)?),
        }
    }
}

impl Serialize for RequestId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Repr::Integer(value) => serializer.serialize_i64(*value),
            Repr::Text(text) => serializer.serialize_str(text),
            Repr::Spelled(id) => RawValue::from_string(id.text.to_string())
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
    use std::hash::{BuildHasher, RandomState};

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
            "1.0",
            "1e0",
            "10e-1",
            "-5.00",
            "1E+3",
            "12345678901234567890.0",
            "0.5e1",
            "0e99999999999999999999",
            "\"a\\\"b\"",
        ] {
            let id = RequestId::from_json(text).expect(text);
            assert_eq!(id.to_string(), text);
            assert_eq!(serde_json::to_string(&id).expect("ids are JSON"), text);
            assert_eq!(serde_json::from_str::<RequestId>(text).expect(text), id);
        }
        assert_ne!(RequestId::from_json("1"), RequestId::from_json("\"1\""));
    }

    // M-BASE-S-06, L-BASE-B-06: JSON can't tell `1.0` from `1`.
    #[test]
    fn an_integer_is_the_same_in_every_spelling() {
        fn check(spelled: &str, plain: &str) {
            let id = RequestId::from_json(spelled).expect(spelled);
            let same = RequestId::from_json(plain).expect(plain);
            assert_eq!(id, same, "{spelled}");
            assert_eq!(id.as_i64(), same.as_i64(), "{spelled}");
            let hash = RandomState::new();
            assert_eq!(hash.hash_one(&id), hash.hash_one(&same), "{spelled}");
            assert_eq!(id.to_string(), spelled);
        }
        check("1.0", "1");
        check("1e0", "1");
        check("10e-1", "1");
        check("0.001e3", "1");
        check("-0", "0");
        check("-0.0e-7", "0");
        check("-15E+1", "-150");
        check("9007199254740993.00", "9007199254740993");
        check("-9223372036854775808.0", "-9223372036854775808");
        check("18446744073709551616.0", "18446744073709551616");
        check("1e30", "1000000000000000000000000000000");
    }

    // M-BASE-C-03, M-BASE-C-04, L-BASE-B-04
    #[test]
    fn nothing_else_is_an_id() {
        for text in [
            "null",
            "1.5",
            "1.50",
            "15e-1",
            "1e-400",
            "1e1025",
            "1e99999999999999999999",
            "1.",
            ".5",
            "1e",
            "1e+",
            "1.e1",
            "0x1",
            "1_0",
            "1.0.0",
            "1e1e1",
            "1e1.0",
            "--1",
            "00.0",
            "NaN",
            "true",
            "{}",
            "[]",
            "",
            "-",
            "01",
            "+1",
            " 1",
            "1 ",
            "\"open",
        ] {
            assert_eq!(RequestId::from_json(text), None, "{text}");
        }
    }
}
