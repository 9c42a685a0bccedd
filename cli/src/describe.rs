//! The description of a tool: parameters, result, hints, and an example of a call.

use mcplink::schema::{JsonSchema, Tool, read_json};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::args::Place;
use crate::print::Members;

/// The depth to which nested objects are shown.
const MAX_DEPTH: usize = 4;

/// Returns the description as text, and `place` is where the server of the example is.
pub(crate) fn tool(tool: &Tool, place: &Place) -> String {
    let mut text = tool.name.clone();
    let annotations = tool.annotations.as_ref();
    let title = annotations.and_then(|annotations| annotations.title.as_ref());
    if let Some(title) = tool.title.as_ref().or(title) {
        text.push_str(&format!(": {title}"));
    }
    text.push('\n');
    if let Some(description) = &tool.description {
        push_indented(&mut text, description, 2);
    }
    text.push_str("\nParameters\n");
    let input = Object::of(&tool.input_schema);
    push_members(&mut text, &input, &input, 1);
    if input.properties.0.is_empty() {
        text.push_str("  none\n");
    }
    if let Some(schema) = &tool.output_schema {
        text.push_str("\nStructured result\n");
        let output = Object::of(schema);
        push_members(&mut text, &output, &output, 1);
        if output.properties.0.is_empty() {
            text.push_str(&format!("  {}\n", about(&output.root, &output.root)));
        }
    }
    if let Some(hints) = hints(tool) {
        text.push_str(&format!(
            "\nHints of the server, which need not be true\n  {hints}\n"
        ));
    }
    text.push_str(&format!("\nExample\n  {}\n", example(tool, &input, place)));
    text
}

/// An object schema, with its members in the order of the text.
#[derive(Default)]
struct Object {
    root: Value,
    properties: Members,
    required: Vec<String>,
}

#[derive(Default, Deserialize)]
struct Parts {
    #[serde(default)]
    properties: Members,
    #[serde(default)]
    required: Vec<String>,
}

impl Object {
    fn of(schema: &JsonSchema) -> Self {
        Self::read(schema.as_str())
    }

    fn read(json: &str) -> Self {
        let parts = read_json::<Parts>(json).unwrap_or_default();
        Self {
            root: read_json(json).unwrap_or_default(),
            properties: parts.properties,
            required: parts.required,
        }
    }

    fn is_required(&self, name: &str) -> bool {
        self.required.iter().any(|required| required == name)
    }
}

fn push_indented(text: &mut String, lines: &str, depth: usize) {
    for line in lines.trim().lines() {
        text.push_str(&format!("{}{}\n", " ".repeat(depth), line.trim_end()));
    }
}

/// Adds a line for each member of an object; `document` is the schema that references are about.
fn push_members(text: &mut String, object: &Object, document: &Object, depth: usize) {
    let margin = "  ".repeat(depth);
    for (name, schema) in &object.properties.0 {
        let value: Value = read_json(schema.get()).unwrap_or_default();
        let resolved = resolve(&value, &document.root);
        let required = match object.is_required(name) {
            true => ", required",
            false => "",
        };
        let about = about(&value, &document.root);
        text.push_str(&format!("{margin}{name}: {about}{required}\n"));
        for description in [&value["description"], &resolved["description"]] {
            if let Some(description) = description.as_str() {
                push_indented(text, description, 2 * depth + 4);
                break;
            }
        }
        if depth < MAX_DEPTH {
            // The text of the schema keeps the order; a reference has none.
            let inner = match value.get("$ref") {
                None => Object::read(schema.get()),
                Some(_) => Object::read(&resolved.to_string()),
            };
            let inner = match inner.properties.0.is_empty() {
                true => Object::read(&resolve(&resolved["items"], &document.root).to_string()),
                false => inner,
            };
            push_members(text, &inner, document, depth + 1);
        }
    }
}

/// Follows a reference within the document.
fn resolve<'a>(schema: &'a Value, document: &'a Value) -> &'a Value {
    let mut schema = schema;
    for _ in 0..8 {
        let target = schema["$ref"]
            .as_str()
            .and_then(|name| name.strip_prefix('#'));
        let Some(target) = target.and_then(|pointer| document.pointer(pointer)) else {
            break;
        };
        schema = target;
    }
    schema
}

/// Returns the type of a value, and what restricts it.
fn about(schema: &Value, document: &Value) -> String {
    let own = schema;
    let schema = resolve(schema, document);
    let mut text = kind_of(schema, document, 0);
    let mut add = |part: String| text.push_str(&format!(", {part}"));
    if let Some(values) = schema["enum"].as_array() {
        let values: Vec<String> = values.iter().map(shown).collect();
        add(format!("one of {}", values.join(", ")));
    }
    if let Some(value) = schema.get("const") {
        add(format!("always {}", shown(value)));
    }
    if let Some(format) = schema["format"].as_str() {
        add(format.to_owned());
    }
    for (name, said) in [
        ("minimum", "at least"),
        ("exclusiveMinimum", "more than"),
        ("maximum", "at most"),
        ("exclusiveMaximum", "less than"),
        ("multipleOf", "a multiple of"),
    ] {
        if let Some(number) = schema.get(name).filter(|number| number.is_number()) {
            add(format!("{said} {number}"));
        }
    }
    for (least, most, unit) in [
        ("minLength", "maxLength", "characters"),
        ("minItems", "maxItems", "items"),
    ] {
        match (schema[least].as_u64(), schema[most].as_u64()) {
            (None, None) => {}
            (Some(least), None) => add(format!("at least {least} {unit}")),
            (None, Some(most)) => add(format!("at most {most} {unit}")),
            (Some(least), Some(most)) => add(format!("{least} to {most} {unit}")),
        }
    }
    if let Some(pattern) = schema["pattern"].as_str() {
        add(format!("matching {pattern}"));
    }
    if let Some(default) = own.get("default").or_else(|| schema.get("default")) {
        add(format!("default {}", shown(default)));
    }
    text
}

fn shown(value: &Value) -> String {
    match value.as_str() {
        Some(text) if !text.is_empty() && !text.contains(char::is_whitespace) => text.to_owned(),
        _ => value.to_string(),
    }
}

fn kind_of(schema: &Value, document: &Value, depth: usize) -> String {
    let schema = resolve(schema, document);
    let mut alternatives = ["anyOf", "oneOf"].into_iter();
    let alternatives = alternatives.find_map(|name| schema[name].as_array());
    match (&schema["type"], alternatives) {
        (Value::String(kind), _) if kind == "array" && depth < MAX_DEPTH => {
            match schema.get("items") {
                Some(items) => format!("array of {}", kind_of(items, document, depth + 1)),
                None => "array".to_owned(),
            }
        }
        (Value::String(kind), _) => kind.clone(),
        (Value::Array(kinds), _) => {
            let kinds: Vec<&str> = kinds.iter().filter_map(Value::as_str).collect();
            kinds.join(" or ")
        }
        (_, Some(alternatives)) if depth < MAX_DEPTH => {
            let mut kinds: Vec<String> = Vec::new();
            for alternative in alternatives {
                let kind = kind_of(alternative, document, depth + 1);
                if !kinds.contains(&kind) {
                    kinds.push(kind);
                }
            }
            kinds.join(" or ")
        }
        _ => "any".to_owned(),
    }
}

fn hints(tool: &Tool) -> Option<String> {
    let hints = tool.annotations.as_ref()?;
    let said = [
        (hints.read_only_hint, "read-only", "changes things"),
        (hints.destructive_hint, "may destroy", "destroys nothing"),
        (
            hints.idempotent_hint,
            "may be repeated without effect",
            "each call has an effect",
        ),
        (hints.open_world_hint, "reaches outside", "stays inside"),
    ];
    let said: Vec<&str> = said
        .into_iter()
        .filter_map(|(hint, yes, no)| Some(if hint? { yes } else { no }))
        .collect();
    (!said.is_empty()).then(|| said.join(", "))
}

/// Returns a call of the tool with its required arguments, for a shell of Unix.
fn example(tool: &Tool, input: &Object, place: &Place) -> String {
    let mut words = vec!["mcplink".to_owned(), "call".to_owned(), quoted(&tool.name)];
    for (name, schema) in &input.properties.0 {
        if !input.is_required(name) {
            continue;
        }
        let schema: Value = read_json(schema.get()).unwrap_or_default();
        let value = sample(&schema, &input.root, 0);
        words.push(quoted(&match value {
            Value::String(text) if !text.starts_with('@') => format!("{name}={text}"),
            Value::Number(number) => format!("{name}={number}"),
            Value::Bool(flag) => format!("{name}={flag}"),
            other => format!("{name}:={other}"),
        }));
    }
    words.push(at(place));
    words.join(" ")
}

/// Returns the words that name the server.
fn at(place: &Place) -> String {
    if let Some(name) = &place.server {
        return format!("--server {}", quoted(name));
    }
    if let Some(url) = &place.url {
        return format!("--url {}", quoted(url));
    }
    let words = place
        .command
        .iter()
        .map(|word| quoted(&word.to_string_lossy()));
    let words: Vec<String> = words.collect();
    format!("-- {}", words.join(" "))
}

/// Quotes a word for a shell, if that is necessary.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// Returns a value that a schema allows, as far as that is easy to tell.
fn sample(schema: &Value, document: &Value, depth: usize) -> Value {
    let own = schema;
    let schema = resolve(schema, document);
    let examples = &schema["examples"];
    let given = [
        own.get("default"),
        schema.get("default"),
        examples.get(0),
        schema.get("const"),
    ];
    let given = given.into_iter().flatten().chain(schema["enum"].get(0));
    if let Some(value) = given.into_iter().find(|value| !value.is_null()) {
        return value.clone();
    }
    let alternative = ["anyOf", "oneOf", "allOf"]
        .into_iter()
        .find_map(|name| schema[name].get(0));
    let kind = match &schema["type"] {
        Value::Array(kinds) => kinds.first().and_then(Value::as_str),
        kind => kind.as_str(),
    };
    let inner = |schema: &Value| match depth < MAX_DEPTH {
        true => sample(schema, document, depth + 1),
        false => Value::Null,
    };
    match (kind, alternative) {
        (Some("string"), _) => json!(sample_text(schema)),
        (Some("integer" | "number"), _) => match &schema["minimum"] {
            Value::Null => json!(1),
            least => least.clone(),
        },
        (Some("boolean"), _) => json!(true),
        (Some("array"), _) => match schema["minItems"].as_u64() {
            None | Some(0) => json!([]),
            Some(_) => json!([inner(&schema["items"])]),
        },
        (Some("object"), _) => {
            let object = Object::read(&schema.to_string());
            let required = object.required.iter();
            let members = required.map(|name| (name.clone(), inner(&schema["properties"][name])));
            Value::Object(members.collect())
        }
        (None, Some(alternative)) => inner(alternative),
        _ => json!("text"),
    }
}

fn sample_text(schema: &Value) -> String {
    let text = match schema["format"].as_str() {
        Some("date") => "2026-01-31",
        Some("date-time") => "2026-01-31T12:00:00Z",
        Some("time") => "12:00:00Z",
        Some("email") => "ada@example.com",
        Some("uri" | "url") => "https://example.com",
        Some("uuid") => "00000000-0000-4000-8000-000000000000",
        _ => "text",
    };
    let least = schema["minLength"].as_u64().unwrap_or(0).min(100);
    let missing = usize::try_from(least)
        .unwrap_or(0)
        .saturating_sub(text.len());
    format!("{text}{}", "x".repeat(missing))
}
