//! Whether a text or the JSON in it is meant by an argument: the schema of the tool says which.

use std::cell::Cell;

use serde_json::Value;
use serde_json::value::RawValue;

/// So deep are references and combinations of schemas followed. What is deeper allows everything.
const MAX_DEPTH: u32 = 32;
/// So many schemas are looked at in all. After that everything is allowed: schemas may refer to
/// themselves many times over.
const MAX_LOOKS: u32 = 100_000;

/// A word of the command line that is JSON.
pub(crate) struct Candidate {
    raw: Box<RawValue>,
    value: Value,
}

impl Candidate {
    pub(crate) fn read(text: &str) -> Option<Self> {
        let raw: Box<RawValue> = serde_json::from_str(text).ok()?;
        // What is JSON and can't be read is a number that is too large for a double.
        let value = serde_json::from_str(raw.get());
        let value = value.unwrap_or_else(|_| Value::from(f64::MAX));
        Some(Self { raw, value })
    }

    /// The JSON as it was typed.
    pub(crate) fn into_raw(self) -> Box<RawValue> {
        self.raw
    }
}

/// The arguments that a tool's schema wants.
pub(crate) struct Wanted<'a> {
    root: &'a Value,
    looks: Cell<u32>,
}

/// How closely a value is held against a schema.
#[derive(Clone, Copy, PartialEq)]
enum Look {
    /// By `type`, `enum` and `const`.
    Value,
    /// By its type only.
    Kind,
}

impl<'a> Wanted<'a> {
    pub(crate) fn of(root: &'a Value) -> Self {
        let looks = Cell::new(0);
        Self { root, looks }
    }

    /// Whether the text itself is meant for an argument, and not the JSON in it. Where the schema
    /// allows both, JSON is.
    pub(crate) fn is_text(&self, key: &str, text: &str, json: &Candidate) -> bool {
        let text = Value::String(text.to_owned());
        for look in [Look::Value, Look::Kind] {
            let allows = |value| self.allows_argument(self.root, key, value, look, 0);
            match (allows(&text), allows(&json.value)) {
                (true, false) => return true,
                (false, true) => return false,
                // Where only texts can be, quotes are part of the text.
                (true, true) => return json.value.is_string() && self.wants_only_texts(key),
                // The server will say what is wrong. It gets the type that it wants, if one of the
                // two has that.
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

    /// Whether a schema of objects allows a value for one member.
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

    /// Whether a schema allows a value, as far as its type and the values that it names go.
    fn allows(&self, schema: &Value, value: &Value, look: Look, depth: u32) -> bool {
        let kinds = match &schema["type"] {
            Value::String(kind) => vec![&**kind],
            Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        // "nullable" is of OpenAPI, and found in schemas that come from there.
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

    /// Whether what a schema refers to and combines allows something, as `allows` finds out of
    /// each.
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

    /// The schema that a reference within the document leads to.
    fn resolve(&self, reference: &str) -> Option<&'a Value> {
        let pointer = unescaped(reference.strip_prefix('#')?)?;
        self.root.pointer(&pointer)
    }
}

/// A fragment of a URI with its escapes read.
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

/// JSON Schema takes 1 and 1.0 for the same number.
fn is_equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            one == other || one.as_f64() == other.as_f64()
        }
        (one, other) => one == other,
    }
}
