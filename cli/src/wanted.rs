//! Decides by the tool's schema whether an argument means the typed text or the JSON in it.

use std::cell::Cell;

use serde_json::Value;
use serde_json::value::RawValue;

/// The depth to which references and combinations of schemas are followed. A deeper schema allows
/// every value.
const MAX_DEPTH: u32 = 32;
/// The total number of schemas to inspect; after that every value is allowed. Schemas may be
/// recursive, so the depth alone is not a sufficient bound.
const MAX_LOOKS: u32 = 100_000;

/// A word of the command line that is JSON.
pub(crate) struct Candidate {
    raw: Box<RawValue>,
    value: Value,
}

impl Candidate {
    pub(crate) fn read(text: &str) -> Option<Self> {
        let raw: Box<RawValue> = serde_json::from_str(text).ok()?;
        // Valid JSON that fails to parse here is a number that is too large for a double.
        let value = serde_json::from_str(raw.get());
        let value = value.unwrap_or_else(|_| Value::from(f64::MAX));
        Some(Self { raw, value })
    }

    /// Returns the JSON, unchanged.
    pub(crate) fn into_raw(self) -> Box<RawValue> {
        self.raw
    }
}

/// The parameters in a tool's schema.
pub(crate) struct Wanted<'a> {
    root: &'a Value,
    looks: Cell<u32>,
}

/// How strictly a value is compared with a schema.
#[derive(Clone, Copy, PartialEq)]
enum Look {
    /// By `type`, `enum` and `const`.
    Value,
    /// By `type` only.
    Kind,
}

impl<'a> Wanted<'a> {
    pub(crate) fn of(root: &'a Value) -> Self {
        let looks = Cell::new(0);
        Self { root, looks }
    }

    /// Whether an argument means the text itself, not the JSON in it. If the schema allows both, it
    /// means the JSON.
    pub(crate) fn is_text(&self, key: &str, text: &str, json: &Candidate) -> bool {
        let text = Value::String(text.to_owned());
        for look in [Look::Value, Look::Kind] {
            let allows = |value| self.allows_argument(self.root, key, value, look, 0);
            match (allows(&text), allows(&json.value)) {
                (true, false) => return true,
                (false, true) => return false,
                // If only strings are allowed, quotes are part of the text.
                (true, true) => return json.value.is_string() && self.wants_only_texts(key),
                // Neither fits, and the server will report the error. Prefer the one of the right
                // type.
                (false, false) => {}
            }
        }
        false
    }

    fn wants_only_texts(&self, key: &str) -> bool {
        let others = [
            Value::Null,
            Value::Bool(true),
            Value::from(0),
            Value::Array(Vec::new()),
            Value::Object(serde_json::Map::new()),
        ];
        let allows = |other: &Value| self.allows_argument(self.root, key, other, Look::Kind, 0);
        !others.iter().any(allows)
    }

    /// Whether an object schema allows a value for one member.
    fn allows_argument(
        &self,
        schema: &Value,
        key: &str,
        value: &Value,
        look: Look,
        depth: u32,
    ) -> bool {
        let own = match (&schema["properties"][key], &schema["additionalProperties"]) {
            (Value::Null, other) if schema["patternProperties"].is_null() => other,
            (own, _) => own,
        };
        let combined = |inner: &Value| self.allows_argument(inner, key, value, look, depth + 1);
        self.allows(own, value, look, depth + 1) && self.combines(schema, depth, &combined)
    }

    /// Whether a schema allows a value, as far as `type`, `enum` and `const` tell.
    fn allows(&self, schema: &Value, value: &Value, look: Look, depth: u32) -> bool {
        let kinds = match &schema["type"] {
            Value::String(kind) => vec![&**kind],
            Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        // `nullable` comes from OpenAPI, and is found in schemas that were converted from it.
        let is_null = value.is_null() && schema["nullable"] == Value::Bool(true);
        let has_kind = kinds.is_empty() || kinds.iter().any(|kind| is_of_kind(value, kind));
        let is_same = |other: &Value| match look {
            Look::Value => is_equal(value, other),
            Look::Kind => kind_of(value) == kind_of(other),
        };
        let is_named = match &schema["enum"] {
            Value::Array(all) => all.iter().any(is_same),
            _ => true,
        };
        let is_const = schema.get("const").is_none_or(is_same);
        let combined = |inner: &Value| self.allows(inner, value, look, depth + 1);
        schema != &Value::Bool(false)
            && (is_null || (has_kind && is_named && is_const))
            && self.combines(schema, depth, &combined)
    }

    /// Whether the schemas that a schema refers to and combines allow a value; `allows` checks each
    /// of them.
    fn combines(&self, schema: &Value, depth: u32, allows: &dyn Fn(&Value) -> bool) -> bool {
        self.looks.set(self.looks.get() + 1);
        if depth >= MAX_DEPTH || self.looks.get() > MAX_LOOKS {
            return true;
        }
        let target = schema["$ref"].as_str().and_then(|name| self.resolve(name));
        let all = schema["allOf"].as_array();
        let mut any = ["anyOf", "oneOf"].into_iter();
        target.is_none_or(allows)
            && all.is_none_or(|all| all.iter().all(allows))
            && any.all(|name| {
                schema[name]
                    .as_array()
                    .is_none_or(|any| any.iter().any(allows))
            })
    }

    /// Returns the target of a reference within the document.
    fn resolve(&self, reference: &str) -> Option<&'a Value> {
        let pointer = unescaped(reference.strip_prefix('#')?)?;
        self.root.pointer(&pointer)
    }
}

/// Decodes the percent escapes of a URI fragment.
fn unescaped(fragment: &str) -> Option<String> {
    let mut parts = fragment.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        bytes.push(u8::from_str_radix(part.get(..2)?, 16).ok()?);
        bytes.extend_from_slice(&part.as_bytes()[2..]);
    }
    String::from_utf8(bytes).ok()
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn is_of_kind(value: &Value, kind: &str) -> bool {
    let is_whole = || value.as_f64().is_some_and(|number| number.fract() == 0.0);
    kind_of(value) == kind || (kind == "integer" && is_whole())
}

/// Compares two values as JSON Schema does: 1 equals 1.0.
fn is_equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            one == other || one.as_f64() == other.as_f64()
        }
        (one, other) => one == other,
    }
}
