//! The JSON Schemas of Rust types.
//!
//! Hosts pass the list of tools through strict validators and on to language models, which know
//! only a part of JSON Schema. One schema that they do not take makes some of them drop the whole
//! list. So derived schemas use the part that all of them take:
//!
//! - Each type is written in place. Only recursive types are under `$defs`.
//! - `format` has only words of the JSON Schema specification.
//! - A schema that accepts anything is `{}`, and one that accepts nothing is `{"not":{}}`, where
//!   older readers expect an object.
//! - A tuple has `items` beside `prefixItems`, for readers of draft 7, where `items` describes all
//!   elements.
//! - There is no `$schema`, because 2020-12 is the default of MCP.
//!
//! Spec: Basic, "JSON Schema Usage" (2025-11-25, 2026-07-28).

use schemars::Schema;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use serde_json::{Map, Value, json};

/// The values of `format` that JSON Schema defines. `schemars` also uses words of its own, such as
/// `uint8` and `partial-time`.
///
/// Spec: JSON Schema 2020-12 (validation), section 7.3.
const FORMATS: [&str; 19] = [
    "date-time",
    "date",
    "time",
    "duration",
    "email",
    "idn-email",
    "hostname",
    "idn-hostname",
    "ipv4",
    "ipv6",
    "uri",
    "uri-reference",
    "iri",
    "iri-reference",
    "uuid",
    "uri-template",
    "json-pointer",
    "relative-json-pointer",
    "regex",
];

/// The keywords whose value is data, in which `$ref` is a member like any other.
const DATA: [&str; 4] = ["const", "default", "enum", "examples"];

/// The keywords whose value is an object of schemas, and those whose value is a list of schemas.
const OBJECTS: [&str; 3] = ["$defs", "patternProperties", "properties"];
const LISTS: [&str; 4] = ["allOf", "anyOf", "oneOf", "prefixItems"];

/// Returns the JSON Schema (2020-12) of a type.
pub(super) fn schema_of<T: schemars::JsonSchema + ?Sized>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let settings = settings.with_transform(RecursiveTransform(simplify));
    let mut schema = Value::from(settings.into_generator().into_root_schema_for::<T>());
    anchor(&mut schema, &T::schema_name());
    schema
}

/// Returns whether a derived schema accepts any JSON. `serde_json::Value` has such a schema.
pub(super) fn accepts_anything(schema: &Value) -> bool {
    let names_only = |name: &String| matches!(name.as_str(), "title" | "description");
    let members = schema.as_object();
    members.is_none_or(|members| members.keys().all(names_only))
}

/// Rewrites one schema, without the schemas in it.
fn simplify(schema: &mut Schema) {
    let Some(members) = schema.as_object_mut() else {
        return;
    };
    without_own_format(members);
    for keyword in OBJECTS {
        let schemas = members.get_mut(keyword).and_then(Value::as_object_mut);
        schemas
            .into_iter()
            .flat_map(Map::values_mut)
            .for_each(as_object);
    }
    for keyword in LISTS {
        let schemas = members.get_mut(keyword).and_then(Value::as_array_mut);
        schemas.into_iter().flatten().for_each(as_object);
    }
    if let Some(Value::Array(elements)) = members.get("prefixItems")
        && !members.get("items").is_some_and(Value::is_object)
    {
        let items = one_of(elements);
        members.insert("items".to_owned(), items);
    }
}

/// Removes a format that no standard defines. The bounds of numbers with 32 bits, which only the
/// format tells, are written as bounds.
fn without_own_format(members: &mut Map<String, Value>) {
    let Some(Value::String(format)) = members.get("format") else {
        return;
    };
    if FORMATS.contains(&&**format) {
        return;
    }
    let format = members.remove("format");
    let (least, most) = match format.as_ref().and_then(Value::as_str).unwrap_or_default() {
        "int32" => (i64::from(i32::MIN), i64::from(i32::MAX)),
        "uint32" => (0, i64::from(u32::MAX)),
        _ => return,
    };
    members.entry("minimum").or_insert_with(|| json!(least));
    members.entry("maximum").or_insert_with(|| json!(most));
}

/// Writes a schema that is `true` or `false` as an object.
fn as_object(schema: &mut Value) {
    match schema {
        Value::Bool(true) => *schema = json!({}),
        Value::Bool(false) => *schema = json!({ "not": {} }),
        _ => {}
    }
}

/// Returns a schema that accepts what any of these schemas accepts.
fn one_of(schemas: &[Value]) -> Value {
    let mut different: Vec<&Value> = Vec::new();
    for schema in schemas {
        if !different.contains(&schema) {
            different.push(schema);
        }
    }
    match different[..] {
        [only] => only.clone(),
        _ => json!({ "anyOf": different }),
    }
}

/// Puts the type of a recursive schema under `$defs`, where readers look for it, and lets
/// references to the whole schema point there.
fn anchor(schema: &mut Value, name: &str) {
    if !is_recursive(schema) {
        return;
    }
    let is_plain = |character: char| character.is_ascii_alphanumeric() || character == '_';
    let mut name = name.replace(|character| !is_plain(character), "_");
    let Some(members) = schema.as_object_mut() else {
        return;
    };
    let mut definitions = match members.remove("$defs") {
        Some(Value::Object(definitions)) => definitions,
        _ => Map::new(),
    };
    while definitions.contains_key(&name) {
        name.push('_');
    }
    definitions.insert(name.clone(), Value::Object(members.clone()));
    members.insert("$defs".to_owned(), Value::Object(definitions));
    redirect(schema, &format!("#/$defs/{name}"));
}

/// Whether a schema refers to the whole schema.
fn is_recursive(schema: &Value) -> bool {
    let mut is_recursive = false;
    each_reference(&mut schema.clone(), &mut |target| {
        is_recursive |= target == "#";
    });
    is_recursive
}

/// Replaces the references to the whole schema by `target`.
fn redirect(schema: &mut Value, target: &str) {
    each_reference(schema, &mut |reference| {
        if reference == "#" {
            *reference = json!(target);
        }
    });
}

/// Calls `visit` for the value of each `$ref` of a schema and of the schemas in it.
fn each_reference(schema: &mut Value, visit: &mut impl FnMut(&mut Value)) {
    let Some(members) = schema.as_object_mut() else {
        let schemas = schema.as_array_mut().into_iter().flatten();
        schemas.for_each(|schema| each_reference(schema, visit));
        return;
    };
    for (keyword, value) in members {
        match keyword.as_str() {
            "$ref" => visit(value),
            keyword if DATA.contains(&keyword) => {}
            keyword if OBJECTS.contains(&keyword) => {
                let schemas = value.as_object_mut().into_iter();
                let schemas = schemas.flat_map(Map::values_mut);
                schemas.for_each(|schema| each_reference(schema, visit));
            }
            _ => each_reference(value, visit),
        }
    }
}
