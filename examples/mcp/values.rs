//! Arguments of tools and prompts, as they are typed.

use serde_json::{Map, Value};

/// What follows the name of a tool or a prompt.
pub(crate) enum Given {
    Object(Map<String, Value>),
    Pairs(Vec<(String, String)>),
}

pub(crate) fn read(words: &[String]) -> Result<Given, String> {
    if let [only] = words
        && only.trim_start().starts_with('{')
    {
        return serde_json::from_str(only)
            .map(Given::Object)
            .map_err(|error| format!("the arguments are not a JSON object: {error}"));
    }
    pairs(words).map(Given::Pairs)
}

pub(crate) fn pairs(words: &[String]) -> Result<Vec<(String, String)>, String> {
    let mut pairs: Vec<(String, String)> = Vec::new();
    for word in words {
        let Some((key, value)) = word.split_once('=') else {
            return Err(format!("'{word}' is neither KEY=VALUE nor a JSON object"));
        };
        if pairs.iter().any(|(other, _)| other == key) {
            return Err(format!("'{key}' is given twice"));
        }
        pairs.push((key.to_owned(), value.to_owned()));
    }
    Ok(pairs)
}

/// Whether the schema matters: a value would be read as something else than text.
pub(crate) fn are_ambiguous(pairs: &[(String, String)]) -> bool {
    pairs
        .iter()
        .any(|(_, value)| !matches!(parsed(value), Value::String(_)))
}

/// The values as JSON where they are, except where the tool's schema wants text.
pub(crate) fn typed(pairs: Vec<(String, String)>, schema: Option<&Value>) -> Map<String, Value> {
    pairs
        .into_iter()
        .map(|(key, value)| {
            let wanted = schema.and_then(|schema| schema.get("properties")?.get(&key)?.get("type"));
            let value = match wanted.and_then(Value::as_str) {
                Some("string") => Value::String(value),
                _ => parsed(&value),
            };
            (key, value)
        })
        .collect()
}

fn parsed(text: &str) -> Value {
    match serde_json::from_str(text) {
        // A quoted text is JSON too.
        Ok(value) => value,
        Err(_) => Value::String(text.to_owned()),
    }
}

/// Arguments of prompts are texts.
pub(crate) fn texts(given: Given) -> Vec<(String, String)> {
    match given {
        Given::Pairs(pairs) => pairs,
        Given::Object(object) => object
            .into_iter()
            .map(|(key, value)| match value {
                Value::String(text) => (key, text),
                other => (key, other.to_string()),
            })
            .collect(),
    }
}
