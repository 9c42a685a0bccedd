//! Arbitrary JSON in typed messages: raw text, verbatim JSON Schemas, lenient numbers.

use std::fmt;
use std::time::Duration;

use serde::de::{self, DeserializeOwned};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::member::Form;
use super::misfit;
use super::tree;
use crate::error::{Error, ErrorKind, Result};
use crate::jsonrpc::is_empty_array;
use crate::jsonrpc::raw_object::RawObject;
use crate::jsonrpc::typed;

/// A JSON Schema, kept as the author wrote it. Any dialect and any keyword are allowed. The order
/// of keys and the digits of numbers are preserved.
///
/// Spec: Server Features, Tools, "Data Types" (every revision; any schema for output since
/// 2026-07-28).
///
/// # Examples
///
/// ```
/// use mcplink::schema::{JsonSchema, Tool};
/// use serde_json::json;
///
/// let schema = JsonSchema::new(&json!({
///     "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"],
/// }))?;
/// schema.check_input()?;
/// let tool = Tool::new("forecast").input_schema(schema);
/// assert!(tool.input_schema.as_str().contains("city"));
/// # Ok::<(), mcplink::Error>(())
/// ```
#[derive(Clone)]
pub struct JsonSchema {
    raw: Box<RawValue>,
    /// Whether this is only a placeholder, because no schema was set yet.
    is_placeholder: bool,
}

impl Serialize for JsonSchema {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.raw.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for JsonSchema {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        match raw.get().as_bytes().first() {
            Some(b'{' | b't' | b'f') => Ok(Self::of(raw)),
            // Peers written in PHP send an empty array for an empty object.
            Some(b'[') if is_empty_array(raw.get()) && !misfit::is_strict() => {
                Ok(Self::of(verbatim("{}")))
            }
            _ => Err(de::Error::custom("a JSON Schema is an object or a boolean")),
        }
    }
}

required!(JsonSchema);

impl JsonSchema {
    fn of(raw: Box<RawValue>) -> Self {
        Self {
            raw,
            is_placeholder: false,
        }
    }

    /// Returns a placeholder for a schema that was not set yet. The placeholder accepts any object.
    pub(super) fn placeholder() -> Self {
        Self {
            is_placeholder: true,
            ..Self::any_object()
        }
    }

    /// Whether this is only a placeholder, because no schema was set yet.
    pub(crate) fn is_placeholder(&self) -> bool {
        self.is_placeholder
    }

    /// Parses a schema from its JSON text.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] when the text is not JSON, or is neither an object nor a boolean.
    pub fn parse(text: &str) -> Result<Self> {
        let raw = RawValue::from_string(text.to_owned()).map_err(|error| not_json(&error))?;
        match raw.get().as_bytes().first() {
            Some(b'{' | b't' | b'f') => Ok(Self::of(raw)),
            _ => Err(Error::new(
                ErrorKind::Invalid,
                "a JSON Schema is an object or a boolean",
            )),
        }
    }

    /// Makes a schema from a value that serializes as a schema.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] when the value can't be written as JSON, or its JSON is neither an
    /// object nor a boolean.
    pub fn new(value: &impl Serialize) -> Result<Self> {
        let text = serde_json::to_string(value).map_err(|error| not_json(&error))?;
        Self::parse(&text)
    }

    /// Returns the schema `{"type":"object","properties":{}}`, which accepts any object.
    pub fn any_object() -> Self {
        Self::of(verbatim(r#"{"type":"object","properties":{}}"#))
    }

    /// Returns the schema as JSON text.
    pub fn as_str(&self) -> &str {
        self.raw.get()
    }

    /// Deserializes the schema as a type, for example [`serde_json::Value`].
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] when the schema does not fit the type.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T> {
        read_raw("schema", &self.raw)
    }

    /// Adds `"properties": {}` to an object schema without properties. The meaning of the schema
    /// does not change, but the interfaces of some models refuse a tool whose schema has no
    /// `properties`.
    pub(crate) fn with_properties(self) -> Self {
        let text = self.as_str().trim_ascii_end();
        if !text.starts_with('{') || RawObject::of(text).any(|(name, _)| name == "properties") {
            return self;
        }
        let open = text[..text.len() - 1].trim_ascii_end();
        let comma = if open.ends_with('{') { "" } else { "," };
        let whole = format!("{open}{comma}\"properties\":{{}}}}");
        Self::of(RawValue::from_string(whole).expect("an object takes one member more"))
    }

    /// Replaces empty arrays by empty objects where keywords such as `properties` need an object.
    /// Returns `None` if the schema has no such arrays. Servers written in PHP send an empty array
    /// for an empty object.
    pub(crate) fn with_empty_objects(&self) -> Option<Self> {
        let mut schema: Value = self.read().ok()?;
        settle(&mut schema)
            .then(|| Self::new(&schema).ok())
            .flatten()
    }

    /// Whether the root has `"type": "object"`, which is required for the schema of a tool's
    /// arguments.
    pub fn is_object_root(&self) -> bool {
        #[derive(Deserialize)]
        struct Root<'a> {
            #[serde(borrow, rename = "type", default)]
            kind: Option<&'a RawValue>,
        }
        let root = serde_json::from_str::<Root<'_>>(self.as_str());
        let Ok(Root { kind: Some(kind) }) = root else {
            return false;
        };
        self.as_str().starts_with('{')
            && serde_json::from_str::<String>(kind.get()).is_ok_and(|kind| kind == "object")
    }

    /// Checks that the schema is allowed for a tool's arguments.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] when the root is not an object with `"type": "object"`.
    pub fn check_input(&self) -> Result<()> {
        if self.is_object_root() {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Invalid,
            "inputSchema needs \"type\": \"object\" at its root",
        ))
    }
}

/// Replaces empty arrays by empty objects where a schema keyword needs an object. Returns whether
/// an array was replaced.
fn settle(schema: &mut Value) -> bool {
    match schema {
        Value::Object(members) => members.iter_mut().fold(false, |settled, (name, value)| {
            let holds_schemas = matches!(
                name.as_str(),
                "properties"
                    | "patternProperties"
                    | "$defs"
                    | "definitions"
                    | "dependentSchemas"
                    | "dependentRequired"
                    | "dependencies"
            );
            let found = match value {
                Value::Array(values) if holds_schemas && values.is_empty() => {
                    *value = Value::Object(Map::new());
                    true
                }
                // These keywords contain data, not schemas.
                _ if matches!(name.as_str(), "const" | "enum" | "default" | "examples") => false,
                value => settle(value),
            };
            found || settled
        }),
        Value::Array(values) => values.iter_mut().fold(false, |settled, value| {
            let found = settle(value);
            found || settled
        }),
        _ => false,
    }
}

impl fmt::Debug for JsonSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Compares the schemas as texts. Schemas that differ only in white space are not equal.
impl PartialEq for JsonSchema {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

/// Serializes a value as raw JSON. `what` names the value in error texts.
pub(super) fn raw(what: &str, value: &(impl Serialize + ?Sized)) -> Result<Box<RawValue>> {
    serde_json::value::to_raw_value(value)
        .map_err(|error| Error::new(ErrorKind::Invalid, format!("{what} is not JSON: {error}")))
}

/// Deserializes raw JSON as a type. `what` names the JSON in error texts.
pub(super) fn read_raw<T: DeserializeOwned>(what: &str, raw: &RawValue) -> Result<T> {
    tree::read(raw.get()).map_err(|error| {
        let reason = typed::reason(raw.get(), &error);
        let text = format!("{what} is not what was asked for: {reason}");
        Error::new(ErrorKind::Invalid, text)
    })
}

/// Deserializes JSON text of a peer, as this library reads messages: `5.0` is an integer, an empty
/// array is an empty object, and half of a surrogate pair is U+FFFD.
///
/// [`RawResult`](crate::jsonrpc::RawResult) and the observers of a transport give such text.
///
/// # Errors
///
/// [`ErrorKind::Invalid`] when the text is not JSON, or does not fit the type.
pub fn read_json<T: DeserializeOwned>(text: &str) -> Result<T> {
    tree::read(text).map_err(|error| Error::new(ErrorKind::Invalid, typed::reason(text, &error)))
}

/// Deserializes JSON bytes with serde_json's deserializer for texts. Its deserializer for bytes
/// would be compiled as a second copy of the same code.
pub(crate) fn from_bytes<T: DeserializeOwned>(json: &[u8]) -> serde_json::Result<T> {
    let text = str::from_utf8(json).map_err(de::Error::custom)?;
    serde_json::from_str(text)
}

/// Makes raw JSON from a literal that is known to be valid JSON.
pub(super) fn verbatim(json: &'static str) -> Box<RawValue> {
    RawValue::from_string(json.to_owned()).expect("the literal is JSON")
}

/// The serialization of a member for which `null` is a value, different from an absent member.
pub(super) struct Present;

impl Form<Option<Box<RawValue>>> for Present {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Box<RawValue>>, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(Some)
    }
}

/// The serialization of a member that is a raw JSON object. An empty array is read as an empty
/// object. Other values are refused only in strict mode.
pub(super) struct RawObjectForm;

impl RawObjectForm {
    fn check<E: de::Error>(raw: Box<RawValue>) -> Result<Box<RawValue>, E> {
        match (misfit::is_strict(), raw.get()) {
            (true, text) if !text.starts_with('{') => Err(E::custom("expected an object")),
            (false, text) if is_empty_array(text) => Ok(verbatim("{}")),
            _ => Ok(raw),
        }
    }
}

impl Form<Box<RawValue>> for RawObjectForm {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Box<RawValue>, D::Error> {
        Self::check(Box::<RawValue>::deserialize(deserializer)?)
    }
}

impl Form<Option<Box<RawValue>>> for RawObjectForm {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Box<RawValue>>, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        (raw.get() != "null").then(|| Self::check(raw)).transpose()
    }
}

/// The serialization of a count, which may be read from any number. See [`count`].
pub(super) struct Count;

impl Form<Option<u64>> for Count {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
        count(deserializer)
    }
}

/// The serialization of a count that is written as `null` if the count is absent.
pub(super) struct CountOrNull;

impl Form<Option<u64>> for CountOrNull {
    fn is_absent(_: &Option<u64>) -> bool {
        false
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
        count(deserializer)
    }
}

/// The serialization of a flag. Except in strict mode, `"true"`, `"false"`, `1` and `0` are
/// accepted too, so that a tool that failed does not look like one that succeeded.
pub(super) struct Flag;

impl Form<Option<bool>> for Flag {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<bool>, D::Error> {
        if misfit::is_strict() {
            return Option::deserialize(deserializer);
        }
        let value = Value::deserialize(deserializer)?;
        match &value {
            Value::Null => return Ok(None),
            Value::Bool(flag) => return Ok(Some(*flag)),
            Value::String(text) if text.eq_ignore_ascii_case("true") => return Ok(Some(true)),
            Value::String(text) if text.eq_ignore_ascii_case("false") => return Ok(Some(false)),
            _ => {}
        }
        match value.as_f64() {
            Some(1.0) => Ok(Some(true)),
            Some(0.0) => Ok(Some(false)),
            _ => Err(de::Error::custom(format_args!(
                "invalid value: {value}, expected a boolean"
            ))),
        }
    }
}

/// The serialization of a count that a peer requests. Negative numbers are errors.
pub(super) struct NotNegative;

impl Form<Option<u64>> for NotNegative {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
        let Some(number) = Option::<serde_json::Number>::deserialize(deserializer)? else {
            return Ok(None);
        };
        let value = number.as_f64().unwrap_or(f64::MAX);
        if value < 0.0 {
            let given = de::Unexpected::Float(value);
            return Err(de::Error::invalid_value(
                given,
                &"a number that is not negative",
            ));
        }
        // The cast of a value out of range gives the nearest `u64`.
        Ok(Some(number.as_u64().unwrap_or(value as u64)))
    }
}

/// The serialization of a number that is written without a fraction if the number is an integer.
/// See [`write_number`].
pub(super) struct Number;

impl Form<f64> for Number {
    fn write<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        write_number(*value, serializer)
    }
}

impl Form<Option<f64>> for Number {
    fn write<S: Serializer>(value: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => write_number(*value, serializer),
            None => serializer.serialize_none(),
        }
    }
}

/// Reads a count from any number. Fractions are cut off, because some peers write `1.0` for `1`.
/// Negative numbers become 0.
pub(crate) fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    struct Count;

    impl<'de> de::Visitor<'de> for Count {
        type Value = Option<u64>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a number")
        }

        fn visit_u64<E: de::Error>(self, value: u64) -> Result<Self::Value, E> {
            Ok(Some(value))
        }

        fn visit_i64<E: de::Error>(self, value: i64) -> Result<Self::Value, E> {
            Ok(Some(value.try_into().unwrap_or(0)))
        }

        fn visit_f64<E: de::Error>(self, value: f64) -> Result<Self::Value, E> {
            // The cast of a value out of range gives the nearest `u64`.
            Ok(Some(value as u64))
        }

        fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
            Ok(None)
        }
    }

    deserializer.deserialize_any(Count)
}

/// The serialization of an integer in any spelling. In JSON Schema, `100.0` is an integer too.
pub(super) struct Whole;

impl Form<u64> for Whole {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        let number = whole(deserializer)?;
        number.ok_or_else(|| de::Error::invalid_type(de::Unexpected::Unit, &"a whole number"))
    }
}

impl Form<Option<u64>> for Whole {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
        whole(deserializer)
    }
}

fn whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    struct WholeOrNull;

    impl de::Visitor<'_> for WholeOrNull {
        type Value = Option<u64>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a whole number")
        }

        fn visit_u64<E: de::Error>(self, value: u64) -> Result<Self::Value, E> {
            Ok(Some(value))
        }

        fn visit_f64<E: de::Error>(self, value: f64) -> Result<Self::Value, E> {
            if value.fract() == 0.0 && (0.0..=MAX_INTEGER as f64).contains(&value) {
                Ok(Some(value as u64))
            } else {
                Err(E::invalid_value(de::Unexpected::Float(value), &self))
            }
        }

        fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
            Ok(None)
        }
    }

    deserializer.deserialize_any(WholeOrNull)
}

/// The largest integer that every JSON parser can represent exactly (RFC 8259, section 6).
pub(crate) const MAX_INTEGER: u64 = (1 << 53) - 1;

/// Converts a duration to milliseconds for a message. The result is at most [`MAX_INTEGER`].
pub(crate) fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).map_or(MAX_INTEGER, |millis| millis.min(MAX_INTEGER))
}

/// Writes a number. An integer is written without a fraction, as most peers do: `50`, not `50.0`.
pub(super) fn write_number<S: Serializer>(value: f64, serializer: S) -> Result<S::Ok, S::Error> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() < EXACT {
        serializer.serialize_i64(value as i64)
    } else {
        serializer.serialize_f64(value)
    }
}

/// Whether a raw JSON value is an object.
pub(super) fn is_object(raw: &RawValue) -> bool {
    raw.get().starts_with('{')
}

fn not_json(error: &serde_json::Error) -> Error {
    Error::new(ErrorKind::Invalid, format!("schema is not JSON: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    // M-TOOL-S-09
    #[test]
    fn arguments_are_described_by_an_object_schema() {
        fn check(schema: &str, fits: bool) {
            let schema = JsonSchema::parse(schema).expect("JSON");
            assert_eq!(schema.check_input().is_ok(), fits, "{schema:?}");
        }
        check(r#"{"type":"object"}"#, true);
        check(
            r#"{"$schema":"x","properties":{"a":{"minimum":1e400}},"type":"object"}"#,
            true,
        );
        check(r#"{"typ\u0065":"obj\u0065ct"}"#, true);
        check(r#"{"type":["object","null"]}"#, false);
        check(r#"{"type":"array"}"#, false);
        check("{}", false);
        check("true", false);
    }

    #[test]
    fn schemas_are_kept_letter_by_letter() {
        let text =
            r#"{ "type": "object", "z": 1.0, "a": 1e400, "n": 123456789012345678901234567890 }"#;
        let schema: JsonSchema = serde_json::from_str(text).expect("JSON");
        assert_eq!(schema.as_str(), text);
        assert_eq!(serde_json::to_string(&schema).expect("JSON"), text);
        for refused in ["[1]", "\"x\"", "{", "null", ""] {
            assert!(JsonSchema::parse(refused).is_err(), "{refused}");
        }
    }

    #[test]
    fn json_of_peers_is_read_leniently() {
        assert_eq!(read_json::<u8>("5.0").expect("an integer"), 5);
        assert_eq!(read_json::<Vec<i128>>("[-0, 1e2]").expect("two"), [0, 100]);
        let half: String = read_json(r#""a\ud83d""#).expect("a text");
        assert_eq!(half, "a\u{fffd}");
        let result = r#"{"content":[],"structuredContent":{},"_meta":[]}"#;
        let result: crate::schema::CallToolResult = read_json(result).expect("a result");
        assert!(result.content.is_empty());
    }

    #[test]
    fn text_that_is_no_json_or_does_not_fit_is_refused() {
        fn check<T: DeserializeOwned>(text: &str) {
            let error = read_json::<T>(text).err().expect(text);
            assert_eq!(error.kind(), ErrorKind::Invalid, "{text}: {error}");
        }
        for number in [
            "5.", "05.0", "-.0", "1.e1", "5.0x", "0x5", "5.0 5", "", "+5.0",
        ] {
            check::<i64>(number);
            check::<Value>(number);
            check::<Value>(&format!(r#"{{"a":[{number}]}}"#).replace("[]", "[,]"));
        }
        check::<Vec<u8>>("[5.,2]");
        check::<Vec<u8>>("[5.0,2");
        check::<(u8, String)>(r#"[5., "\ud83d"]"#);
        check::<u8>("5.5");
        check::<u8>("256.0");
        let error = read_json::<(u8, u8)>(r#"[1,"x"]"#).expect_err("a text");
        assert!(error.to_string().starts_with("/1: "), "{error}");
    }
}
