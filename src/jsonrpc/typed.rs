//! Reading JSON as the types of a host: whole numbers that are written with a fraction, and the
//! place of what does not fit.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde::de::{DeserializeOwned, IgnoredAny};

use super::tokens::Tokens;
use crate::error::without_position;
use crate::fallible;

/// The longest whole number that is rewritten, in digits. An `i128` has 39.
const MAX_DIGITS: usize = 39;

/// By how many bytes a text may grow when its numbers are rewritten. A text of many short numbers
/// such as `1e38` would become eight times as long.
const MAX_GROWTH: usize = 4096;

/// Reads a text as `T`. A number that is written with a fraction of zero or with an exponent, such
/// as `5.0`, is also read as an integer.
///
/// Spec: JSON Schema 2020-12 (core), section 4.2.3 and (validation) section 6.1.1: a number without
/// fraction is an integer, whatever its spelling.
///
/// # Errors
///
/// The place of the member that does not fit, as a JSON Pointer (RFC 6901), and the reason.
pub(crate) fn read<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let read = match serde_json::from_str(text) {
        // For a fraction where a number of 128 bits is expected, `serde_json` reports the syntax.
        Err(error) if error.is_data() || error.is_syntax() => match with_whole_numbers(text) {
            Cow::Owned(other) => serde_json::from_str(&other).map_err(|_| error),
            Cow::Borrowed(_) => Err(error),
        },
        read => read,
    };
    read.map_err(|error| reason(text, &error))
}

/// Describes why a text does not fit a type: the place of the member and the reason.
pub(crate) fn reason(text: &str, error: &serde_json::Error) -> String {
    let what = match is_fraction(text, error) {
        true => "invalid type: floating point, expected an integer".to_owned(),
        false => without_position(error),
    };
    match place(text, error) {
        Some(place) if !place.is_empty() => format!("{place}: {what}"),
        _ => what,
    }
}

/// Whether a text was refused because it has a fraction where an integer of 128 bits is expected.
/// Of such an integer `serde_json` reads the digits, and refuses what follows them as bad syntax.
fn is_fraction(text: &str, error: &serde_json::Error) -> bool {
    error.is_syntax() && serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// Returns the JSON Pointer of the value at whose end an error was found.
fn place(text: &str, error: &serde_json::Error) -> Option<String> {
    if !(error.is_data() || is_fraction(text, error)) || error.line() == 0 {
        return None;
    }
    let lines = text.split_inclusive('\n').take(error.line() - 1);
    let before: usize = lines.map(str::len).sum();
    // The column counts the bytes that were read, and the last of them belongs to the value.
    Some(pointer(text, (before + error.column()).checked_sub(1)?))
}

/// A level of nesting: the index of the current element, or the key of the current member, as it is
/// spelled in the text.
enum Level<'a> {
    Element(usize),
    Member(Option<&'a str>),
}

/// Returns the JSON Pointer (RFC 6901) of the value that the byte at `end` belongs to. The text is
/// valid JSON up to there.
pub(crate) fn pointer(text: &str, end: usize) -> String {
    let mut levels: Vec<Level<'_>> = Vec::new();
    for (first, token) in Tokens::of(text).take_while(|(_, token)| token.start <= end) {
        match (first, levels.last_mut()) {
            (b'"', Some(Level::Member(key @ None))) => *key = Some(&text[token]),
            (b'{', _) => levels.push(Level::Member(None)),
            (b'[', _) => levels.push(Level::Element(0)),
            (b'}' | b']', _) => _ = levels.pop(),
            (b',', Some(Level::Element(index))) => *index += 1,
            (b',', Some(Level::Member(key))) => *key = None,
            _ => {}
        }
    }
    let mut pointer = String::new();
    for level in levels {
        // Writing into a `String` does not fail.
        _ = match level {
            Level::Element(index) => write!(pointer, "/{index}"),
            Level::Member(None) => Ok(()),
            Level::Member(Some(key)) => {
                let key: String = serde_json::from_str(key).unwrap_or_else(|_| key.to_owned());
                write!(pointer, "/{}", key.replace('~', "~0").replace('/', "~1"))
            }
        };
    }
    pointer
}

/// Returns the text in which each number without fraction is written as an integer. A text that
/// would grow by more than [`MAX_GROWTH`] bytes stays as it is. So does a text for whose copy there
/// is no memory.
pub(crate) fn with_whole_numbers(text: &str) -> Cow<'_, str> {
    rewritten(text).map_or(Cow::Borrowed(text), Cow::Owned)
}

fn rewritten(text: &str) -> Option<String> {
    let mut out: Option<String> = None;
    let mut copied = 0;
    for (first, token) in Tokens::of(text) {
        let is_number = matches!(first, b'-' | b'0'..=b'9');
        let Some(whole) = is_number.then(|| whole(&text[token.clone()])).flatten() else {
            continue;
        };
        let most = text.len() + MAX_GROWTH;
        let out = match &mut out {
            Some(out) => out,
            none => none.insert(fallible::text_with_capacity(most).ok()?),
        };
        out.push_str(&text[copied..token.start]);
        if out.len() + whole.len() + (text.len() - token.end) > most {
            return None;
        }
        out.push_str(&whole);
        copied = token.end;
    }
    let mut out = out?;
    out.push_str(&text[copied..]);
    Some(out)
}

/// Returns the digits of a number without fraction whose spelling has a point or an exponent, or is
/// `-0`. Returns `None` for a spelling that is not JSON, such as `5.` or `05.0`: rewriting it would
/// repair the text.
fn whole(number: &str) -> Option<String> {
    let (mantissa, exponent) = match number.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None if number.contains('.') || number == "-0" => (number, 0),
        None => return None,
    };
    // RFC 8259, section 6.
    serde_json::from_str::<IgnoredAny>(number).ok()?;
    let (sign, digits) = match mantissa.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", mantissa),
    };
    let (integer, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let fraction = fraction.trim_end_matches('0');
    if integer.len() + fraction.len() > 4 * MAX_DIGITS {
        return None;
    }
    let all = format!("{integer}{fraction}");
    let significant = all.trim_start_matches('0');
    if significant.is_empty() {
        return Some("0".to_owned());
    }
    // How many zeros follow the digits; less than zero: how many of them are behind the point.
    let zeros = i64::from(exponent) - fraction.len() as i64;
    if zeros < 0 {
        let (kept, gone) = significant.split_at_checked(
            significant
                .len()
                .checked_sub(usize::try_from(-zeros).ok()?)?,
        )?;
        return (!kept.is_empty() && gone.bytes().all(|digit| digit == b'0'))
            .then(|| format!("{sign}{kept}"));
    }
    let zeros = usize::try_from(zeros).ok()?;
    (significant.len().saturating_add(zeros) <= MAX_DIGITS)
        .then(|| format!("{sign}{significant}{}", "0".repeat(zeros)))
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn whole_numbers_are_integers_however_they_are_spelled() {
        fn check(spelled: &str, expected: Option<&str>) {
            assert_eq!(whole(spelled).as_deref(), expected, "{spelled}");
        }
        check("5.0", Some("5"));
        check("-5.000", Some("-5"));
        check("0.0", Some("0"));
        check("-0.0", Some("0"));
        check("-0", Some("0"));
        check("1e3", Some("1000"));
        check("1.5E+1", Some("15"));
        check("120e-1", Some("12"));
        check("9007199254740993.0", Some("9007199254740993"));
        check("18446744073709551615.0", Some("18446744073709551615"));
        check("1e38", Some("100000000000000000000000000000000000000"));
        check("5", None);
        check("5.5", None);
        check("0.05e1", None);
        check("15e-1", None);
        check("1e-400", None);
        check("1e400", None);
        check("1e2147483648", None);
        for broken in [
            "5.", "01.0", "-01e1", "-.0", "1.e5", "1e", "1e+", "1.0.0", "-e1", "1.0x",
        ] {
            check(broken, None);
        }
    }

    #[test]
    fn integers_are_read_from_whole_numbers() {
        let read = |text: &str| read::<u32>(text);
        assert_eq!(read("5.0"), Ok(5));
        assert_eq!(read("5"), Ok(5));
        for refused in ["5.5", "-1", "-1.0", "4294967296", "4294967296.0"] {
            assert!(read(refused).is_err(), "{refused}");
        }
        assert_eq!(super::read::<i128>("-5.0"), Ok(-5));
        assert_eq!(super::read::<Vec<u128>>("[5.0, 1e2]"), Ok(vec![5, 100]));
        assert!(super::read::<u128>("5.0x").is_err());
        assert!(super::read::<i64>("0-5.0").is_err());
        assert!(super::read::<bool>("0true.0").is_err());
        for broken in ["5.", "05.0", "1.e1"] {
            assert!(read(broken).is_err(), "{broken}");
        }
        type Mixed = HashMap<String, (i64, f64, String)>;
        let mixed: Mixed = super::read(r#"{"1.0":[1e2,2.5,"3.0 \" 4.0"]}"#).expect("it fits");
        assert_eq!(mixed["1.0"], (100, 2.5, "3.0 \" 4.0".to_owned()));
    }

    #[test]
    fn a_text_does_not_grow_without_bound() {
        let numbers = |count: usize, number: &str| format!("[{}]", vec![number; count].join(","));
        let few = numbers(100, "1e38");
        assert_eq!(read::<Vec<i128>>(&few).map(|read| read.len()), Ok(100));
        let many = numbers(100_000, "1e38");
        assert!(matches!(with_whole_numbers(&many), Cow::Borrowed(_)));
        // Numbers with a fraction of zero become shorter.
        let plain = numbers(100_000, "5.0");
        assert_eq!(read::<Vec<u8>>(&plain).map(|read| read.len()), Ok(100_000));
    }

    #[test]
    fn what_does_not_fit_is_named_by_its_place() {
        fn check<T: DeserializeOwned>(text: &str, expected: &str) {
            let error = read::<T>(text).err().expect(text);
            assert_eq!(error, expected, "{text}");
        }
        type Numbers = HashMap<String, Vec<i64>>;
        let expected = "invalid type: string \"x\", expected i64";
        check::<HashMap<String, i64>>(r#"{"item":"x"}"#, &format!("/item: {expected}"));
        check::<Numbers>(
            "{\n \"a\": [1],\n \"b/~\\n\": [1, 2, \"x\"]}",
            &format!("/b~1~0\n/2: {expected}"),
        );
        check::<i64>("\"x\"", expected);
        let expected = "invalid type: floating point, expected an integer";
        check::<HashMap<String, Vec<i128>>>(r#"{"a":[1,5.5]}"#, &format!("/a/1: {expected}"));
        check::<HashMap<String, u8>>(
            r#"{"a":1,"b":300}"#,
            "/b: invalid value: integer `300`, expected u8",
        );
        check::<Vec<(i64, i64)>>(
            "[[1,2],[3]]",
            "/1: invalid length 1, expected a tuple of size 2",
        );
    }
}
