//! Checks of values against the JSON Schemas that tools in C usually have.
//!
//! A server checks the arguments of its tools in every build. In a build with the feature
//! `validation`, the built-in validator checks the complete schemas. In other builds, the checks of
//! this module are the validator: types, choices, bounds, lengths, required members, members and
//! items. Other keywords are not checked. Each keyword of a schema restricts values by itself, so
//! that a check of some keywords refuses no valid value.

use std::cmp::Ordering;
use std::fmt::{self, Display};

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Number, Value};

use crate::error::{Error, ErrorKind, Excerpt, Quote, Result};
#[cfg(not(feature = "validation"))]
use crate::validation::Validator;

/// Longer values are not repeated in error texts.
const MAX_REPEATED: usize = 4096;

/// The names of the types in a JSON Schema.
const TYPES: [&str; 7] = [
    "array", "boolean", "integer", "null", "number", "object", "string",
];

/// A JSON Schema, as far as it is checked.
pub(super) struct Schema(Vec<Rule>);

enum Rule {
    Types(Vec<&'static str>),
    OneOf(Value),
    Exactly(Value),
    AtLeast(Number),
    AtMost(Number),
    MoreThan(Number),
    LessThan(Number),
    MinLength(u64),
    MaxLength(u64),
    MinItems(u64),
    MaxItems(u64),
    Required(Vec<String>),
    Members {
        known: Vec<(String, Schema)>,
        is_closed: bool,
    },
    Items(Schema),
}

/// Returns a validator that makes the checks of this module.
#[cfg(not(feature = "validation"))]
pub(super) fn validator() -> Validator {
    Validator::custom(|schema| {
        let schema = Schema::compile(&schema.read()?)?;
        Ok(move |json: &str| schema.check(json))
    })
}

fn invalid(text: impl Into<String>) -> Error {
    Error::new(ErrorKind::Invalid, text)
}

impl Schema {
    /// Compiles a schema.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] when the value of a keyword is invalid.
    pub(super) fn compile(schema: &Value) -> Result<Self> {
        let Value::Object(keywords) = schema else {
            return Ok(Self(Vec::new()));
        };
        // Up to draft-07, the other keywords beside a reference have no meaning.
        if keywords.contains_key("$ref") {
            return Ok(Self(Vec::new()));
        }
        let mut rules = Vec::new();
        for (keyword, value) in keywords {
            let rule = Rule::compile(keyword, value, keywords)
                .map_err(|error| error.context(format_args!("\"{}\"", Excerpt(keyword))))?;
            rules.extend(rule);
        }
        Ok(Self(rules))
    }

    /// Checks a value.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] when the value does not fit. The text has the location of the value
    /// that does not fit, and the expected value.
    pub(super) fn check(&self, json: &str) -> Result<()> {
        self.check_at(json, "")
    }

    fn check_at(&self, json: &str, location: &str) -> Result<()> {
        self.0
            .iter()
            .try_for_each(|rule| rule.check(json, location))
    }
}

impl Rule {
    /// Compiles a keyword of a schema; returns `None` for a keyword that is not checked.
    fn compile(keyword: &str, value: &Value, others: &Map<String, Value>) -> Result<Option<Self>> {
        Ok(Some(match keyword {
            "type" => Self::Types(types(value)?),
            "enum" if value.is_array() => Self::OneOf(value.clone()),
            "enum" => return Err(invalid("expected an array")),
            "const" => Self::Exactly(value.clone()),
            "minimum" => Self::AtLeast(number(value)?),
            "maximum" => Self::AtMost(number(value)?),
            // A boolean is right in draft-04 only.
            "exclusiveMinimum" | "exclusiveMaximum" if value.is_boolean() => return Ok(None),
            "exclusiveMinimum" => Self::MoreThan(number(value)?),
            "exclusiveMaximum" => Self::LessThan(number(value)?),
            "minLength" => Self::MinLength(count(value)?),
            "maxLength" => Self::MaxLength(count(value)?),
            "minItems" => Self::MinItems(count(value)?),
            "maxItems" => Self::MaxItems(count(value)?),
            // Up to draft-04, a property is required by a boolean in its own schema.
            "required" if value.is_boolean() => return Ok(None),
            "required" => Self::Required(names(value)?),
            "properties" => {
                let members = value
                    .as_object()
                    .ok_or_else(|| invalid("expected an object"))?;
                let known = members.iter().map(|(name, schema)| {
                    let compiled = Schema::compile(schema);
                    let compiled = compiled
                        .map_err(|error| error.context(format_args!("\"{}\"", Excerpt(name))))?;
                    Ok((name.clone(), compiled))
                });
                let is_open = |value: &Value| *value != Value::Bool(false);
                Self::Members {
                    known: known.collect::<Result<_>>()?,
                    is_closed: !others.get("additionalProperties").is_none_or(is_open)
                        && !others.contains_key("patternProperties"),
                }
            }
            // Beside "prefixItems", the schema is that of the items behind the first ones.
            "items" if value.is_object() && !others.contains_key("prefixItems") => {
                Self::Items(Schema::compile(value)?)
            }
            _ => return Ok(None),
        }))
    }

    fn check(&self, json: &str, location: &str) -> Result<()> {
        let expected = |fits: bool, what: &dyn Display| {
            if fits {
                return Ok(());
            }
            Err(violation(
                location,
                format_args!("expected {what}{}", Got(json)),
            ))
        };
        match self {
            Self::Types(types) => {
                let fits = types.iter().any(|name| is_of_type(json, name));
                expected(fits, &types.join(" or "))
            }
            Self::OneOf(choices) => {
                let all = choices.as_array().map(Vec::as_slice).unwrap_or_default();
                let fits = all.iter().any(|choice| is_same(json, choice));
                expected(fits, &format_args!("one of {}", Quote(choices)))
            }
            Self::Exactly(value) => expected(is_same(json, value), &Quote(value)),
            Self::AtLeast(limit) => {
                let fits = compared(json, limit).is_none_or(Ordering::is_ge);
                expected(fits, &format_args!("at least {limit}"))
            }
            Self::AtMost(limit) => {
                let fits = compared(json, limit).is_none_or(Ordering::is_le);
                expected(fits, &format_args!("at most {limit}"))
            }
            Self::MoreThan(limit) => {
                let fits = compared(json, limit).is_none_or(Ordering::is_gt);
                expected(fits, &format_args!("more than {limit}"))
            }
            Self::LessThan(limit) => {
                let fits = compared(json, limit).is_none_or(Ordering::is_lt);
                expected(fits, &format_args!("less than {limit}"))
            }
            Self::MinLength(limit) => {
                let fits = length(json).is_none_or(|length| length >= *limit);
                expected(fits, &format_args!("at least {limit} characters"))
            }
            Self::MaxLength(limit) => {
                let fits = length(json).is_none_or(|length| length <= *limit);
                expected(fits, &format_args!("at most {limit} characters"))
            }
            Self::MinItems(limit) => {
                let fits = items(json)?.is_none_or(|items| items.len() as u64 >= *limit);
                expected(fits, &format_args!("at least {limit} items"))
            }
            Self::MaxItems(limit) => {
                let fits = items(json)?.is_none_or(|items| items.len() as u64 <= *limit);
                expected(fits, &format_args!("at most {limit} items"))
            }
            Self::Required(names) => check_required(names, json, location),
            Self::Members { known, is_closed } => check_members(known, *is_closed, json, location),
            Self::Items(schema) => check_items(schema, json, location),
        }
    }
}

fn check_items(schema: &Schema, json: &str, location: &str) -> Result<()> {
    let mut items = items(json)?.unwrap_or_default().into_iter().enumerate();
    items.try_for_each(|(at, item)| schema.check_at(item.get(), &format!("{location}/{at}")))
}

fn check_required(names: &[String], json: &str, location: &str) -> Result<()> {
    let Some(members) = members(json)? else {
        return Ok(());
    };
    let is_there = |name: &&String| members.iter().any(|(known, _)| known == *name);
    match names.iter().find(|name| !is_there(name)) {
        Some(name) => {
            let name = Value::from(name.as_str());
            Err(violation(
                location,
                format_args!("property {} is missing", Quote(&name)),
            ))
        }
        None => Ok(()),
    }
}

fn check_members(
    known: &[(String, Schema)],
    is_closed: bool,
    json: &str,
    location: &str,
) -> Result<()> {
    // An object may repeat a name: all of its values have to fit.
    for (name, value) in members(json)?.unwrap_or_default() {
        match known.iter().find(|(known, _)| *known == name) {
            Some((_, schema)) => {
                let step = name.replace('~', "~0").replace('/', "~1");
                schema.check_at(value.get(), &format!("{location}/{step}"))?;
            }
            None if is_closed => {
                let name = Value::from(name);
                let text = format_args!("property {} is not expected", Quote(&name)).to_string();
                return Err(violation(location, text));
            }
            None => {}
        }
    }
    Ok(())
}

fn violation(location: &str, what: impl Display) -> Error {
    if location.is_empty() {
        return invalid(what.to_string());
    }
    invalid(format!("{}: {what}", Excerpt(location)))
}

/// The received value, for the end of an error text.
struct Got<'a>(&'a str);

impl Display for Got<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.len() <= MAX_REPEATED
            && let Ok(value) = serde_json::from_str::<Value>(self.0)
        {
            write!(f, ", got {}", Quote(&value))?;
        }
        Ok(())
    }
}

fn types(value: &Value) -> Result<Vec<&'static str>> {
    let one = |value: &Value| {
        let known = TYPES.into_iter().find(|name| value.as_str() == Some(*name));
        known.ok_or_else(|| {
            let text = format!("expected one of {}, got {}", TYPES.join(", "), Quote(value));
            invalid(text)
        })
    };
    match value {
        Value::Array(several) if !several.is_empty() => several.iter().map(one).collect(),
        value => Ok(vec![one(value)?]),
    }
}

fn number(value: &Value) -> Result<Number> {
    match value {
        Value::Number(number) => Ok(number.clone()),
        _ => Err(invalid(format!("expected a number, got {}", Quote(value)))),
    }
}

fn count(value: &Value) -> Result<u64> {
    // A count may be written as 1.0.
    let whole = value.as_f64().filter(|it| it.fract() == 0.0 && *it >= 0.0);
    let count = value.as_u64().or_else(|| whole.map(|it| it as u64));
    count.ok_or_else(|| {
        let text = format!("expected a number of at least 0, got {}", Quote(value));
        invalid(text)
    })
}

fn names(value: &Value) -> Result<Vec<String>> {
    let all = value.as_array().map(|all| all.iter().map(Value::as_str));
    let names = all.and_then(|all| all.map(|name| name.map(str::to_owned)).collect());
    names.ok_or_else(|| invalid("expected an array of names"))
}

/// Returns whether the JSON text is a value of the type.
fn is_of_type(json: &str, name: &str) -> bool {
    match json.as_bytes().first() {
        Some(b'{') => name == "object",
        Some(b'[') => name == "array",
        Some(b'"') => name == "string",
        Some(b't' | b'f') => name == "boolean",
        Some(b'n') => name == "null",
        _ if name == "number" => true,
        _ => name == "integer" && is_whole(json),
    }
}

/// Returns whether a number is an integer: 1 and 1.0 are.
fn is_whole(json: &str) -> bool {
    let number = serde_json::from_str::<Number>(json);
    number.is_ok_and(|number| {
        let fraction = number.as_f64().map(f64::fract);
        whole(&number).is_some() || fraction == Some(0.0)
    })
}

fn whole(number: &Number) -> Option<i128> {
    let signed = number.as_i64().map(i128::from);
    signed.or_else(|| number.as_u64().map(i128::from))
}

/// Compares a number with a limit; returns `None` if the JSON text is no number that can be read.
fn compared(json: &str, limit: &Number) -> Option<Ordering> {
    let number = serde_json::from_str::<Number>(json).ok()?;
    match (whole(&number), whole(limit)) {
        (Some(number), Some(limit)) => Some(number.cmp(&limit)),
        _ => number.as_f64()?.partial_cmp(&limit.as_f64()?),
    }
}

/// Returns whether the JSON text is this value.
fn is_same(json: &str, value: &Value) -> bool {
    match value {
        Value::Number(number) => compared(json, number) == Some(Ordering::Equal),
        _ => serde_json::from_str::<Value>(json).is_ok_and(|given| given == *value),
    }
}

/// Returns the number of characters of a string; `None` if the JSON text is no string.
fn length(json: &str) -> Option<u64> {
    let text = serde_json::from_str::<String>(json).ok()?;
    Some(text.chars().count() as u64)
}

/// Returns the items of an array; `None` if the JSON text is no array.
fn items(json: &str) -> Result<Option<Vec<&RawValue>>> {
    read(json, '[')
}

/// Returns the members of an object, in their order; `None` if the JSON text is no object.
fn members(json: &str) -> Result<Option<Vec<(String, &RawValue)>>> {
    let members: Option<Members<'_>> = read(json, '{')?;
    Ok(members.map(|members| members.0))
}

fn read<'a, T: Deserialize<'a>>(json: &'a str, begins: char) -> Result<Option<T>> {
    if !json.starts_with(begins) {
        return Ok(None);
    }
    let read = serde_json::from_str(json);
    read.map(Some).map_err(|error| invalid(error.to_string()))
}

struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct All;
        impl<'de> Visitor<'de> for All {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut all = Vec::new();
                while let Some(member) = map.next_entry()? {
                    all.push(member);
                }
                Ok(Members(all))
            }
        }
        deserializer.deserialize_map(All)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn refused(schema: &str, json: &str) -> String {
        let schema = serde_json::from_str(schema).expect("JSON");
        let schema = Schema::compile(&schema).expect("a schema");
        let refused = schema.check(json).err();
        refused.map_or_else(String::new, |error| error.to_string())
    }

    #[test]
    fn a_value_that_does_not_fit_is_refused_with_its_location() {
        let cases = [
            (
                r#"{"type":"object","required":["n"]}"#,
                r#"{"m":1}"#,
                r#"property "n" is missing"#,
            ),
            (r#"{"type":"object"}"#, "[1]", "expected object, got [1]"),
            (
                r#"{"properties":{"n":{"type":"integer"}}}"#,
                r#"{"n":1.5}"#,
                "/n: expected integer, got 1.5",
            ),
            (
                r#"{"properties":{"a/b":{"type":["string","null"]}}}"#,
                r#"{"a/b":true}"#,
                "/a~1b: expected string or null, got true",
            ),
            (
                r#"{"properties":{"n":{"type":"integer"}}}"#,
                r#"{"n":1,"n":"x"}"#,
                r#"/n: expected integer, got "x""#,
            ),
            (
                r#"{"properties":{"n":{}},"additionalProperties":false}"#,
                r#"{"n":1,"o":1}"#,
                r#"property "o" is not expected"#,
            ),
            (
                r#"{"enum":["red",1]}"#,
                r#""blue""#,
                r#"expected one of ["red",1], got "blue""#,
            ),
            (r#"{"const":"a"}"#, "null", r#"expected "a", got null"#),
            (r#"{"minimum":1}"#, "0", "expected at least 1, got 0"),
            (
                r#"{"maximum":9007199254740992}"#,
                "9007199254740993",
                "expected at most 9007199254740992, got 9007199254740993",
            ),
            (
                r#"{"exclusiveMinimum":0}"#,
                "0",
                "expected more than 0, got 0",
            ),
            (
                r#"{"exclusiveMaximum":0.5}"#,
                "0.5",
                "expected less than 0.5, got 0.5",
            ),
            (
                r#"{"minLength":2}"#,
                r#""\u00e9""#,
                "expected at least 2 characters, got \"é\"",
            ),
            (
                r#"{"maxLength":1}"#,
                r#""ab""#,
                "expected at most 1 characters, got \"ab\"",
            ),
            (
                r#"{"minItems":1}"#,
                "[]",
                "expected at least 1 items, got []",
            ),
            (
                r#"{"maxItems":1}"#,
                "[1,2]",
                "expected at most 1 items, got [1,2]",
            ),
            (
                r#"{"items":{"type":"string"}}"#,
                r#"["a",2]"#,
                "/1: expected string, got 2",
            ),
        ];
        for (schema, json, text) in cases {
            assert_eq!(refused(schema, json), text, "{schema} {json}");
        }
    }

    #[test]
    fn what_fits_and_what_is_not_checked_is_accepted() {
        let cases = [
            (r#"{"type":"integer"}"#, "1.0"),
            (r#"{"type":"number","minimum":1}"#, "1e3"),
            (r#"{"enum":[1]}"#, "1.0"),
            (
                r#"{"minimum":1,"minLength":1,"minItems":1,"required":["a"]}"#,
                "true",
            ),
            (r#"{"maxLength":1}"#, r#""\ud83d\ude00""#),
            (r#"{"$ref":"\#/$defs/a","type":"string"}"#, "1"),
            (r#"{"properties":{"n":true}}"#, r#"{"n":1}"#),
            (
                r#"{"properties":{},"patternProperties":{"^x":{}},"additionalProperties":false}"#,
                r#"{"xy":1}"#,
            ),
            (r#"{"prefixItems":[{}],"items":{"type":"string"}}"#, "[1]"),
            (
                r#"{"exclusiveMinimum":true,"required":true,"pattern":"x","unknown":1}"#,
                "1",
            ),
        ];
        for (schema, json) in cases {
            let schema = schema.replace("\\#", "#");
            assert_eq!(refused(&schema, json), "", "{schema} {json}");
        }
    }

    #[test]
    fn a_schema_that_says_nothing_is_refused() {
        let cases = [
            (
                r#"{"type":"strng"}"#,
                "\"type\": expected one of array, boolean, integer, null, number, object, string, got \"strng\"",
            ),
            (
                r#"{"type":[]}"#,
                "\"type\": expected one of array, boolean, integer, null, number, object, string, got []",
            ),
            (r#"{"enum":"a"}"#, "\"enum\": expected an array"),
            (
                r#"{"minimum":"1"}"#,
                "\"minimum\": expected a number, got \"1\"",
            ),
            (
                r#"{"minLength":-1}"#,
                "\"minLength\": expected a number of at least 0, got -1",
            ),
            (
                r#"{"required":[1]}"#,
                "\"required\": expected an array of names",
            ),
            (r#"{"properties":[]}"#, "\"properties\": expected an object"),
            (
                r#"{"properties":{"n":{"maximum":{}}}}"#,
                "\"properties\": \"n\": \"maximum\": expected a number, got {}",
            ),
        ];
        for (schema, text) in cases {
            let schema = serde_json::from_str(schema).expect("JSON");
            let error = Schema::compile(&schema)
                .err()
                .map(|error| error.to_string());
            assert_eq!(error.as_deref(), Some(text), "{schema}");
        }
    }
}
