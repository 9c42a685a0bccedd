//! A parser for YAML front matter: YAML 1.2 with the core schema. The result is a JSON object.
//!
//! Clients and servers must parse equal values from one text. So constructs on which
//! implementations of YAML differ are refused: anchors, aliases, tags, repeated keys, keys that are
//! not strings, infinite numbers and further documents. Length and depth are limited, so that a
//! hostile text costs little.
//!
//! Spec: YAML 1.2.2, section 10.3.

use saphyr_parser::{Event, Parser, ScalarStyle};
use serde_json::{Number, Value};

use crate::error::{Error, ErrorKind, Excerpt, Result};
use crate::schema::JsonObject;

/// The maximum length of front matter, in bytes.
const MAX_BYTES: usize = 64 << 10;
/// The maximum depth of mappings and sequences.
const MAX_DEPTH: usize = 64;

/// Parses front matter as a JSON object.
pub(super) fn parse(yaml: &str) -> Result<JsonObject> {
    if yaml.len() > MAX_BYTES {
        let bytes = yaml.len();
        let text = format!("the front matter has {bytes} bytes, more than {MAX_BYTES}");
        return Err(Error::new(ErrorKind::Limit, text));
    }
    let mut reader = Reader::default();
    for event in Parser::new_from_str(yaml) {
        let (event, span) = event.map_err(|error| {
            let text = format!("the front matter is no YAML: {error}");
            Error::new(ErrorKind::Invalid, text)
        })?;
        let added = reader.add(event);
        added.map_err(|fault| {
            let text = format!(
                "the front matter has {fault} in line {}",
                span.start.line() + 1
            );
            Error::new(ErrorKind::Invalid, text)
        })?;
    }
    match reader.root {
        Some(Value::Object(members)) => Ok(members),
        _ => Err(Error::new(
            ErrorKind::Invalid,
            "the front matter is no YAML mapping",
        )),
    }
}

/// A mapping or sequence whose end has not been read.
enum Open {
    List(Vec<Value>),
    /// The members so far, and the key that was read last, if its value has not been read yet.
    Map(JsonObject, Option<String>),
}

#[derive(Default)]
struct Reader {
    open: Vec<Open>,
    root: Option<Value>,
    documents: usize,
}

impl Reader {
    /// Adds an event of the YAML parser. Returns a description of the construct if it is refused.
    fn add(&mut self, event: Event<'_>) -> Result<(), String> {
        match event {
            Event::DocumentStart(_) => {
                self.documents += 1;
                refuse_if(self.documents > 1, "a second document")
            }
            Event::Alias(_) => Err("an alias".to_owned()),
            Event::Scalar(text, style, anchor, tag) => {
                refuse_if(tag.is_some(), "a tag")?;
                refuse_if(anchor != 0, "an anchor")?;
                let is_plain = style == ScalarStyle::Plain;
                let value = if is_plain {
                    resolve(&text)?
                } else {
                    Value::String(text.into())
                };
                self.add_value(value)
            }
            Event::SequenceStart(anchor, tag) => {
                refuse_if(tag.is_some(), "a tag")?;
                self.enter(Open::List(Vec::new()), anchor)
            }
            Event::MappingStart(anchor, tag) => {
                refuse_if(tag.is_some(), "a tag")?;
                self.enter(Open::Map(JsonObject::new(), None), anchor)
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let value = match self.open.pop() {
                    Some(Open::List(values)) => Value::Array(values),
                    Some(Open::Map(members, _)) => Value::Object(members),
                    None => return Err("an end without a start".to_owned()),
                };
                self.add_value(value)
            }
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => Ok(()),
        }
    }

    fn enter(&mut self, open: Open, anchor: usize) -> Result<(), String> {
        refuse_if(anchor != 0, "an anchor")?;
        refuse_if(self.open.len() >= MAX_DEPTH, "more than 64 levels")?;
        let is_key = matches!(self.open.last(), Some(Open::Map(_, None)));
        refuse_if(is_key, "a key that is no string")?;
        self.open.push(open);
        Ok(())
    }

    fn add_value(&mut self, value: Value) -> Result<(), String> {
        match self.open.last_mut() {
            None => self.root = Some(value),
            Some(Open::List(values)) => values.push(value),
            Some(Open::Map(members, next @ None)) => {
                let Value::String(key) = value else {
                    return Err("a key that is no string".to_owned());
                };
                if members.contains_key(&key) {
                    return Err(format!("the key \"{}\" twice", Excerpt(&key)));
                }
                *next = Some(key);
            }
            Some(Open::Map(members, next)) => {
                let key = next.take().expect("the arm above takes maps without a key");
                members.insert(key, value);
            }
        }
        Ok(())
    }
}

fn refuse_if(is_bad: bool, fault: &str) -> Result<(), String> {
    if is_bad {
        Err(fault.to_owned())
    } else {
        Ok(())
    }
}

/// Returns the value of a plain scalar in the core schema.
fn resolve(text: &str) -> Result<Value, String> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Ok(Value::Null),
        "true" | "True" | "TRUE" => return Ok(Value::Bool(true)),
        "false" | "False" | "FALSE" => return Ok(Value::Bool(false)),
        ".nan" | ".NaN" | ".NAN" => return Err("a number that is not finite".to_owned()),
        _ => {}
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") {
        return Err("a number that is not finite".to_owned());
    }
    let number = if let Some(digits) = text.strip_prefix("0o") {
        of_radix(digits, 8)
    } else if let Some(digits) = text.strip_prefix("0x") {
        of_radix(digits, 16)
    } else if is_digits(unsigned) {
        integer(text)
    } else if is_float(unsigned) {
        text.parse().ok().map(Decimal::Float)
    } else {
        None
    };
    match number {
        Some(Decimal::Exact(number)) => Ok(Value::Number(number)),
        Some(Decimal::Float(number)) => Number::from_f64(number)
            .map(Value::Number)
            .ok_or_else(|| "a number that is not finite".to_owned()),
        None => Ok(Value::String(text.to_owned())),
    }
}

enum Decimal {
    Exact(Number),
    Float(f64),
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Parses decimal digits with an optional sign. A number beyond 64 bits becomes the nearest double.
fn integer(text: &str) -> Option<Decimal> {
    // JSON has no plus sign, and Rust's parser accepts it.
    if let Ok(number) = text.parse::<u64>() {
        return Some(Decimal::Exact(number.into()));
    }
    match text.parse::<i64>() {
        Ok(number) => Some(Decimal::Exact(number.into())),
        Err(_) => text.parse().ok().map(Decimal::Float),
    }
}

fn of_radix(digits: &str, radix: u32) -> Option<Decimal> {
    let mut value: f64 = 0.0;
    for digit in digits.chars() {
        value = value * f64::from(radix) + f64::from(digit.to_digit(radix)?);
    }
    if digits.is_empty() {
        return None;
    }
    match u64::from_str_radix(digits, radix) {
        Ok(number) => Some(Decimal::Exact(number.into())),
        Err(_) => Some(Decimal::Float(value)),
    }
}

/// Returns whether a text without sign is a finite float of the core schema.
fn is_float(unsigned: &str) -> bool {
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let is_exponent = |text: &str| is_digits(text.strip_prefix(['+', '-']).unwrap_or(text));
    let is_mantissa = match mantissa.split_once('.') {
        Some(("", fraction)) => is_digits(fraction),
        Some((whole, fraction)) => is_digits(whole) && (fraction.is_empty() || is_digits(fraction)),
        None => is_digits(mantissa),
    };
    is_mantissa && exponent.is_none_or(is_exponent)
}

#[cfg(test)]
mod tests {

    use serde_json::json;

    use super::*;

    fn check(yaml: &str, expected: Value) {
        let read = parse(yaml).map(Value::Object);
        assert_eq!(read.expect(yaml), expected, "{yaml}");
    }

    // AMB-97
    #[test]
    fn scalars_are_read_with_the_core_schema() {
        for text in [
            "yes",
            "no",
            "on",
            "off",
            "y",
            "n",
            "Yes",
            "tRue",
            "nUll",
            "2026-11-26",
            "1:30",
            "0b1",
            "1_000",
            "0o8",
            "0xg",
            "+0x1",
            "-0o7",
            "0x",
            "1.2.3",
            "1e",
            "e1",
            ".",
            "+",
            "-.",
            "+.",
            "1.5e+",
            "<<",
            "=",
            ".infinity",
            "nan",
            "inf",
            "NaN",
            "infinity",
            "a b",
            "v1.0",
        ] {
            check(&format!("a: {text}"), json!({"a": text}));
        }
        for null in ["", "~", "null", "Null", "NULL", " # comment"] {
            check(&format!("a: {null}"), json!({"a": null}));
        }
        check("a: true\nb: FALSE", json!({"a": true, "b": false}));
        check(
            "a: 010\nb: +5\nc: -0\nd: 0o17\ne: 0xfF",
            json!({"a": 10, "b": 5, "c": 0, "d": 15, "e": 255}),
        );
        check(
            "a: 1.10\nb: 1.\nc: .5\nd: -1e3\ne: 1.5E-2",
            json!({"a": 1.1, "b": 1.0, "c": 0.5, "d": -1000.0, "e": 0.015}),
        );
        check(
            "a: 18446744073709551615\nb: -9223372036854775808",
            json!({"a": u64::MAX, "b": i64::MIN}),
        );
        check(
            "a: 123456789012345678901234567890",
            json!({"a": 123456789012345678901234567890_f64}),
        );
        check(
            "a: 0x10000000000000000",
            json!({"a": 18446744073709551616_f64}),
        );
        check(
            "a: \"1\"\nb: 'true'\nc: |\n  1\nd: >-\n  x\n  y",
            json!({"a": "1", "b": "true", "c": "1\n", "d": "x y"}),
        );
    }

    #[test]
    fn collections_of_any_kind_are_read() {
        check(
            "a: {b: [1, x, {c: }], d: 'e'}",
            json!({"a": {"b": [1, "x", {"c": null}], "d": "e"}}),
        );
        check(
            "a:\n- 1\n-\n- b: c\n  d: e\n",
            json!({"a": [1, null, {"b": "c", "d": "e"}]}),
        );
        check(
            "{\"a\": \"\\u00e9\\n\", \"1\": 2}",
            json!({"a": "é\n", "1": 2}),
        );
        check(
            "a: é\r\n'b c': x\r\n\r\nd: |\r\n  1\r\n  2\r\n",
            json!({"a": "é", "b c": "x", "d": "1\n2\n"}),
        );
        check("# only\na: 1 # and\n", json!({"a": 1}));
        check("yes: 1\n2026-01-01: 2", json!({"yes": 1, "2026-01-01": 2}));
        check("a: 1\n...\n", json!({"a": 1}));
    }

    // AMB-97
    #[test]
    fn constructs_that_programs_read_differently_are_refused() {
        for (bad, part) in [
            ("a: &x 1", "anchor"),
            ("a: &x [1]", "anchor"),
            ("a: &x {b: 1}", "anchor"),
            ("a: &x 1\nb: *x", "anchor"),
            ("a: *x", "YAML"),
            ("a: !!str 1", "tag"),
            ("a: !x 1", "tag"),
            ("a: ! 1", "tag"),
            ("a: !!map {}", "tag"),
            ("a: 1\na: 2", "\"a\" twice"),
            ("a: 1\n\"a\": 2", "\"a\" twice"),
            ("b: {a: 1, a: 2}", "\"a\" twice"),
            ("1: a", "no string"),
            ("true: a", "no string"),
            ("~: a", "no string"),
            (": a", "no string"),
            ("1.5: a", "no string"),
            ("[a]: b", "no string"),
            ("? {a: b}\n: c", "no string"),
            ("a: .inf", "finite"),
            ("a: -.INF", "finite"),
            ("a: .nan", "finite"),
            ("a: 1e400", "finite"),
            ("a: 1\n...\n---\nb: 2", "second document"),
            ("a: 1\n...\nb: 2", "second document"),
            ("", "no YAML mapping"),
            ("# nothing", "no YAML mapping"),
            ("- a", "no YAML mapping"),
            ("a", "no YAML mapping"),
            ("a: [1", "no YAML"),
            ("a: 'x", "no YAML"),
            ("a: b: c", "no YAML"),
            ("a:\n\tb: 1", "no YAML"),
            ("a: \"\\q\"", "no YAML"),
            ("a: @x", "no YAML"),
        ] {
            let error = parse(bad).expect_err(bad);
            assert_eq!(error.kind(), ErrorKind::Invalid, "{bad}: {error}");
            assert!(error.to_string().contains(part), "{bad}: {error}");
        }
    }

    // AMB-97: a bomb is refused.
    #[test]
    fn hostile_texts_cost_little() {
        let full = |unit: &str| format!("a: {}", unit.repeat((MAX_BYTES - 8) / unit.len()));
        let lines = |line: &str| line.repeat(MAX_BYTES / line.len());
        let deep: String = (0..200)
            .map(|depth| format!("{}a:\n", " ".repeat(depth)))
            .collect();
        for (number, bomb) in [
            full("["),
            full("{"),
            full("{a: "),
            full("- "),
            full("? "),
            full("[a, "),
            full("\n\n["),
            full("\"\\"),
            full("!a"),
            full("&a "),
            lines("? "),
            lines("-\n "),
            lines("a\n"),
            lines("#\n"),
            lines("%a\n"),
            lines("\n"),
            lines("|\n"),
            lines("a: &a [*a]\n"),
            deep,
        ]
        .iter()
        .enumerate()
        {
            assert!(parse(bomb).is_err(), "{number}");
        }
        let long = format!("a: {}", "x".repeat(MAX_BYTES));
        assert_eq!(parse(&long).expect_err("long").kind(), ErrorKind::Limit);
        let nested = format!("a: {}{}", "[".repeat(63), "]".repeat(63));
        assert!(parse(&nested).is_ok());
        let nested = format!("a: {}{}", "[".repeat(64), "]".repeat(64));
        assert!(parse(&nested).is_err());
    }
}
