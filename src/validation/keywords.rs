//! The validator of builds without the feature `validation`: it checks the keywords that most
//! schemas of tools consist of.
//!
//! These are types, choices, bounds, lengths, required members, members and items. Other keywords
//! are not checked. Each keyword of a schema restricts values by itself, so that a check of some
//! keywords refuses no valid value.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt::{self, Display};

use serde_json::{Map, Number, Value};

use super::decimal::Decimal;
use crate::error::{Error, ErrorKind, Excerpt, Quote, Result};
use crate::jsonrpc::raw_object::{RawArray, RawObject};
use crate::jsonrpc::text::read_string;

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
    AtLeast(Limit),
    AtMost(Limit),
    MoreThan(Limit),
    LessThan(Limit),
    MinLength(u64),
    MaxLength(u64),
    MinItems(u64),
    MaxItems(u64),
    Required(Vec<String>),
    /// The schemas of the members of an object: of the known members, and of all others.
    Members {
        known: Vec<(String, Schema)>,
        others: Option<Schema>,
    },
    Items(Schema),
    /// The schema `false`.
    Nothing,
}

fn invalid(text: impl Into<String>) -> Error {
    Error::new(ErrorKind::Invalid, text)
}

impl Schema {
    /// Compiles a schema.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] when the schema is neither an object nor a boolean, or the value of a
    /// keyword is invalid.
    pub(super) fn compile(schema: &Value) -> Result<Self> {
        let keywords = match schema {
            Value::Object(keywords) => keywords,
            Value::Bool(true) => return Ok(Self(Vec::new())),
            Value::Bool(false) => return Ok(Self(vec![Rule::Nothing])),
            _ => {
                let text = format!("expected an object or a boolean, got {}", Quote(schema));
                return Err(invalid(text));
            }
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

    /// Checks a value, given as valid JSON text without white space around it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] when the value does not fit. The text has the location of the value
    /// that does not fit, and the expected value.
    pub(super) fn check(&self, json: &str) -> Result<()> {
        self.check_at(json, &Location::Root)
    }

    fn check_at(&self, json: &str, location: &Location<'_>) -> Result<()> {
        let looks_into = |rule: &Rule| matches!(rule, Rule::Required(_) | Rule::Members { .. });
        let is_searched = json.starts_with('{') && self.0.iter().any(looks_into);
        let members: Option<Vec<_>> = is_searched.then(|| RawObject::of(json).collect());
        self.0.iter().try_for_each(|rule| match (rule, &members) {
            (Rule::Required(names), Some(members)) => check_required(names, members, location),
            (Rule::Members { known, others }, Some(members)) => {
                check_members(known, others.as_ref(), members, location)
            }
            (Rule::Items(schema), _) => check_items(schema, json, location),
            _ if rule.fits(json) => Ok(()),
            _ => {
                let text = format!("expected {}{}", Expected(rule), Got(json));
                Err(location.violation(text))
            }
        })
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
            "minimum" => Self::AtLeast(Limit::read(value)?),
            "maximum" => Self::AtMost(Limit::read(value)?),
            // A boolean is right in draft-04 only.
            "exclusiveMinimum" | "exclusiveMaximum" if value.is_boolean() => return Ok(None),
            "exclusiveMinimum" => Self::MoreThan(Limit::read(value)?),
            "exclusiveMaximum" => Self::LessThan(Limit::read(value)?),
            "minLength" => Self::MinLength(count(value)?),
            "maxLength" => Self::MaxLength(count(value)?),
            "minItems" => Self::MinItems(count(value)?),
            "maxItems" => Self::MaxItems(count(value)?),
            // Up to draft-04, a property is required by a boolean in its own schema.
            "required" if value.is_boolean() => return Ok(None),
            "required" => Self::Required(names(value)?),
            "properties" => return members(schemas_of(value)?, others),
            "additionalProperties" if !others.contains_key("properties") => {
                return members(Vec::new(), others);
            }
            // Beside "prefixItems", the schema is that of the items behind the first ones. An array
            // has this meaning up to draft 2019-09.
            "items" if !value.is_array() && !others.contains_key("prefixItems") => {
                Self::Items(Schema::compile(value)?)
            }
            _ => return Ok(None),
        }))
    }

    /// Returns whether a value fits, as far as its members and items are not looked into.
    fn fits(&self, json: &str) -> bool {
        match self {
            Self::Types(types) => types.iter().any(|name| is_of_type(json, name)),
            Self::OneOf(choices) => {
                let mut choices = choices.as_array().into_iter().flatten();
                choices.any(|choice| is_same(json, choice))
            }
            Self::Exactly(value) => is_same(json, value),
            Self::AtLeast(limit) => limit.compared(json).is_none_or(Ordering::is_ge),
            Self::AtMost(limit) => limit.compared(json).is_none_or(Ordering::is_le),
            Self::MoreThan(limit) => limit.compared(json).is_none_or(Ordering::is_gt),
            Self::LessThan(limit) => limit.compared(json).is_none_or(Ordering::is_lt),
            Self::MinLength(limit) => length(json).is_none_or(|length| length >= *limit),
            Self::MaxLength(limit) => length(json).is_none_or(|length| length <= *limit),
            Self::MinItems(limit) => count_of_items(json).is_none_or(|count| count >= *limit),
            Self::MaxItems(limit) => count_of_items(json).is_none_or(|count| count <= *limit),
            Self::Nothing => false,
            Self::Required(_) | Self::Members { .. } | Self::Items(_) => true,
        }
    }
}

/// The value that a rule expects, for an error text.
struct Expected<'a>(&'a Rule);

impl Display for Expected<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Rule::Types(types) => f.write_str(&types.join(" or ")),
            Rule::OneOf(choices) => write!(f, "one of {}", Quote(choices)),
            Rule::Exactly(value) => Quote(value).fmt(f),
            Rule::AtLeast(limit) => write!(f, "at least {}", limit.number),
            Rule::AtMost(limit) => write!(f, "at most {}", limit.number),
            Rule::MoreThan(limit) => write!(f, "more than {}", limit.number),
            Rule::LessThan(limit) => write!(f, "less than {}", limit.number),
            Rule::MinLength(limit) => write!(f, "at least {limit} characters"),
            Rule::MaxLength(limit) => write!(f, "at most {limit} characters"),
            Rule::MinItems(limit) => write!(f, "at least {limit} items"),
            Rule::MaxItems(limit) => write!(f, "at most {limit} items"),
            Rule::Nothing => f.write_str("nothing"),
            Rule::Required(_) | Rule::Members { .. } | Rule::Items(_) => f.write_str("a value"),
        }
    }
}

/// The location of a value in the checked text.
enum Location<'a> {
    Root,
    Member(&'a Self, &'a str),
    Item(&'a Self, usize),
}

impl Location<'_> {
    fn violation(&self, what: impl Display) -> Error {
        match self {
            Self::Root => invalid(what.to_string()),
            _ => invalid(format!("{}: {what}", Excerpt(&self.to_string()))),
        }
    }
}

/// Writes the location as a JSON Pointer (RFC 6901).
impl Display for Location<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Member(parent, name) => {
                let step = name.replace('~', "~0").replace('/', "~1");
                write!(f, "{parent}/{step}")
            }
            Self::Item(parent, index) => write!(f, "{parent}/{index}"),
        }
    }
}

/// Compiles the schemas of the keyword "properties".
fn schemas_of(value: &Value) -> Result<Vec<(String, Schema)>> {
    let members = value
        .as_object()
        .ok_or_else(|| invalid("expected an object"))?;
    let known = members.iter().map(|(name, schema)| {
        let compiled = Schema::compile(schema)
            .map_err(|error| error.context(format_args!("\"{}\"", Excerpt(name))))?;
        Ok((name.clone(), compiled))
    });
    known.collect()
}

/// Returns the rule for the members of an object, or `None` if every member fits.
fn members(
    mut known: Vec<(String, Schema)>,
    keywords: &Map<String, Value>,
) -> Result<Option<Rule>> {
    let others = keywords.get("additionalProperties");
    let others = others.map(Schema::compile).transpose()?;
    // Beside "patternProperties", which is not checked, it is not known which members these are.
    let others = others.filter(|schema| {
        let is_known = !keywords.contains_key("patternProperties");
        is_known && !schema.0.is_empty()
    });
    if others.is_none() {
        known.retain(|(_, schema)| !schema.0.is_empty());
    }
    let is_checked = others.is_some() || !known.is_empty();
    Ok(is_checked.then_some(Rule::Members { known, others }))
}

fn check_items(schema: &Schema, json: &str, location: &Location<'_>) -> Result<()> {
    let mut items = RawArray::of(json).enumerate();
    items.try_for_each(|(at, item)| schema.check_at(item, &Location::Item(location, at)))
}

fn check_required(
    names: &[String],
    members: &[(Cow<'_, str>, &str)],
    location: &Location<'_>,
) -> Result<()> {
    let is_there = |name: &&String| members.iter().any(|(known, _)| known == *name);
    match names.iter().find(|name| !is_there(name)) {
        Some(name) => {
            let name = Value::from(name.as_str());
            let text = format!("property {} is missing", Quote(&name));
            Err(location.violation(text))
        }
        None => Ok(()),
    }
}

fn check_members(
    known: &[(String, Schema)],
    others: Option<&Schema>,
    members: &[(Cow<'_, str>, &str)],
    location: &Location<'_>,
) -> Result<()> {
    // An object may repeat a name: all of its values have to fit.
    for (name, value) in members {
        let known = known.iter().find(|(known, _)| known == name);
        let known = known.map(|(_, schema)| schema);
        let is_refused = |others: &Schema| matches!(others.0[..], [Rule::Nothing]);
        if known.is_none() && others.is_some_and(is_refused) {
            let name = Value::from(&**name);
            let text = format!("property {} is not expected", Quote(&name));
            return Err(location.violation(text));
        }
        if let Some(schema) = known.or(others) {
            schema.check_at(value, &Location::Member(location, name))?;
        }
    }
    Ok(())
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

/// A number with which numbers are compared.
struct Limit {
    number: Number,
    exact: Option<Decimal>,
}

impl Limit {
    fn read(value: &Value) -> Result<Self> {
        match value {
            Value::Number(number) => Ok(Self::of(number)),
            _ => Err(invalid(format!("expected a number, got {}", Quote(value)))),
        }
    }

    fn of(number: &Number) -> Self {
        let exact = (!number.is_f64()).then(|| number.to_string());
        Self {
            number: number.clone(),
            exact: exact.and_then(|text| Decimal::read(&text)),
        }
    }

    /// Compares a number with the limit; returns `None` if the JSON text is no number.
    ///
    /// The comparison is exact for limits that fit 64 bits. The parser has rounded all other limits
    /// to a double, so the number is rounded in the same way: otherwise a number could be outside a
    /// limit to which it is equal.
    fn compared(&self, json: &str) -> Option<Ordering> {
        let number = Decimal::read(json)?;
        match &self.exact {
            Some(limit) => Some(number.cmp(limit)),
            None => json
                .parse::<f64>()
                .ok()?
                .partial_cmp(&self.number.as_f64()?),
        }
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
        _ => name == "integer" && Decimal::read(json).is_some_and(|number| number.is_integer()),
    }
}

/// Returns whether the JSON text is this value. Numbers are compared as numbers: 1 is 1.0.
fn is_same(json: &str, value: &Value) -> bool {
    match value {
        Value::Number(number) => Limit::of(number).compared(json) == Some(Ordering::Equal),
        Value::String(wanted) => read_string(json).is_some_and(|given| given == *wanted),
        Value::Array(wanted) if json.starts_with('[') => {
            let given: Vec<_> = RawArray::of(json).collect();
            let mut pairs = given.iter().zip(wanted);
            given.len() == wanted.len() && pairs.all(|(given, wanted)| is_same(given, wanted))
        }
        Value::Object(wanted) if json.starts_with('{') => {
            // Of a repeated name, the last value counts, as everywhere in this library.
            let given: BTreeMap<_, _> = RawObject::of(json).collect();
            let is_there = |(name, wanted): (&String, &Value)| {
                let given = given.get(name.as_str());
                given.is_some_and(|given| is_same(given, wanted))
            };
            given.len() == wanted.len() && wanted.iter().all(is_there)
        }
        Value::Array(_) | Value::Object(_) => false,
        Value::Null => json == "null",
        Value::Bool(true) => json == "true",
        Value::Bool(false) => json == "false",
    }
}

/// Returns the number of characters of a string; `None` if the JSON text is no string.
fn length(json: &str) -> Option<u64> {
    read_string(json).map(|text| text.chars().count() as u64)
}

/// Returns the number of items of an array; `None` if the JSON text is no array.
fn count_of_items(json: &str) -> Option<u64> {
    json.starts_with('[')
        .then(|| RawArray::of(json).count() as u64)
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
                r#"{"additionalProperties":false}"#,
                r#"{"o":1}"#,
                r#"property "o" is not expected"#,
            ),
            (
                r#"{"properties":{"n":{}},"additionalProperties":{"type":"string"}}"#,
                r#"{"n":1,"o":"p","q":1}"#,
                "/q: expected string, got 1",
            ),
            (
                r#"{"properties":{"n":false}}"#,
                r#"{"n":1}"#,
                "/n: expected nothing, got 1",
            ),
            ("false", "1", "expected nothing, got 1"),
            (r#"{"items":false}"#, "[1]", "/0: expected nothing, got 1"),
            (
                r#"{"properties":{"o":{"items":{"required":["n"]}}}}"#,
                r#"{"\ud800":1,"o":[{"\u006e":1},{"m":1}]}"#,
                r#"/o/1: property "n" is missing"#,
            ),
            (
                r#"{"properties":{},"required":["n"],"additionalProperties":false}"#,
                "{}",
                r#"property "n" is missing"#,
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
            (r#"{"additionalProperties":true}"#, r#"{"n":1}"#),
            (r#"{"additionalProperties":false}"#, "1"),
            (
                r#"{"patternProperties":{"^x":{}},"additionalProperties":{"type":"string"}}"#,
                r#"{"xy":1}"#,
            ),
            (r#"{"items":[false]}"#, "[1]"),
            ("true", "1"),
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

    /// Each number, and whether it is an integer, and whether it fits the other keywords.
    #[test]
    fn numbers_are_compared_by_their_value() {
        let integer = r#"{"type":"integer"}"#;
        let most = r#"{"maximum":9007199254740992}"#;
        let least = r#"{"minimum":18446744073709551615}"#;
        let negative = r#"{"minimum":-9223372036854775808}"#;
        let beyond = r#"{"minimum":18446744073709551616}"#;
        let same = r#"{"const":[1,{"a":2.0,"b":[9007199254740993]}]}"#;
        let cases = [
            (integer, "1", true),
            (integer, "-0", true),
            (integer, "1.0", true),
            (integer, "1e3", true),
            (integer, "10e-1", true),
            (integer, "0.0e-9", true),
            (integer, "18446744073709551615.0", true),
            (integer, "123456789012345678901234567890", true),
            (integer, "1e400", true),
            (integer, "1e99999999999999999999", true),
            (integer, "1.5", false),
            (integer, "1e-1", false),
            (integer, "9007199254740992.5", false),
            (integer, "18446744073709551615.5", false),
            (integer, "1e-400", false),
            (integer, "1e-99999999999999999999", false),
            (most, "9007199254740992.0", true),
            (most, "9007199254740992.5", false),
            (most, "9007199254740993", false),
            (most, "9.007199254740993e15", false),
            (most, "1e400", false),
            (most, "-1e400", true),
            (least, "18446744073709551615", true),
            (least, "18446744073709551615.0", true),
            (least, "1844674407370955161.5e1", true),
            (least, "18446744073709551614", false),
            (least, "18446744073709551614.9", false),
            (least, "18446744073709551616", true),
            (negative, "-9223372036854775808.0", true),
            (negative, "-9223372036854775809", false),
            (beyond, "18446744073709551616", true),
            (beyond, "1e19", false),
            (beyond, "1e400", true),
            (r#"{"exclusiveMinimum":0}"#, "1e-400", true),
            (r#"{"exclusiveMinimum":0}"#, "-0.0", false),
            (r#"{"enum":[1]}"#, "1.0", true),
            (r#"{"enum":[1.0]}"#, "1", true),
            (r#"{"enum":[1]}"#, "true", false),
            (same, r#"[1.0,{"b":[9007199254740993],"a":2}]"#, true),
            (same, r#"[10e-1,{"a":2,"b":[9007199254740993.0]}]"#, true),
            (same, r#"[1,{"a":3,"a":2,"b":[9007199254740993]}]"#, true),
            (same, r#"[1,{"a":2,"b":[9007199254740992]}]"#, false),
            (same, r#"[1,{"a":2}]"#, false),
            (same, r#"[1,{"a":2,"c":[9007199254740993]}]"#, false),
            (same, "[1]", false),
            (r#"{"const":{"a":null}}"#, r#"{"a":null}"#, true),
            (r#"{"const":{"a":null}}"#, r#"{"a":false}"#, false),
            (r#"{"const":["é"]}"#, r#"["\u00e9"]"#, true),
        ];
        for (schema, json, fits) in cases {
            assert_eq!(refused(schema, json).is_empty(), fits, "{schema} {json}");
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
            ("[]", "expected an object or a boolean, got []"),
            (
                r#"{"items":"string"}"#,
                "\"items\": expected an object or a boolean, got \"string\"",
            ),
            (
                r#"{"additionalProperties":1}"#,
                "\"additionalProperties\": expected an object or a boolean, got 1",
            ),
            (
                r#"{"properties":{"n":null}}"#,
                "\"properties\": \"n\": expected an object or a boolean, got null",
            ),
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
