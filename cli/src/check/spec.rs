//! The schemas of results in each revision, and their validation.
//!
//! The files in `spec` are the parts of the specification's own schemas that describe results,
//! without their texts.

use mcplink::schema::ProtocolVersion;
use serde_json::Value;

use super::excerpt_of;

/// The depth to which a value is validated.
const MAX_DEPTH: usize = 64;

/// The schemas of one revision, by the names of types.
pub(super) struct Types(Value);

impl Types {
    pub(super) fn of(revision: ProtocolVersion) -> Self {
        let text = match revision {
            ProtocolVersion::V2024_11_05 => include_str!("spec/2024-11-05.json"),
            ProtocolVersion::V2025_03_26 => include_str!("spec/2025-03-26.json"),
            ProtocolVersion::V2025_06_18 => include_str!("spec/2025-06-18.json"),
            ProtocolVersion::V2025_11_25 => include_str!("spec/2025-11-25.json"),
            _ => include_str!("spec/2026-07-28.json"),
        };
        // A test reads each file.
        Self(serde_json::from_str(text).unwrap_or_default())
    }

    /// Returns what is wrong with a value of a type.
    pub(super) fn faults(&self, name: &str, value: &Value) -> Vec<String> {
        let mut faults = Vec::new();
        match self.0.get(name) {
            Some(schema) => self.validate(schema, value, "", 0, &mut faults),
            None => faults.push(format!("the revision has no {name}")),
        }
        faults
    }

    fn resolve<'a>(&'a self, schema: &'a Value) -> &'a Value {
        let name = schema["$ref"]
            .as_str()
            .and_then(|path| path.rsplit('/').next());
        name.map_or(schema, |name| self.resolve(&self.0[name]))
    }

    fn validate(
        &self,
        schema: &Value,
        value: &Value,
        path: &str,
        depth: usize,
        faults: &mut Vec<String>,
    ) {
        let schema = self.resolve(schema);
        if depth > MAX_DEPTH {
            return;
        }
        if let Some(branches) = schema["anyOf"].as_array() {
            return self.validate_any(branches, value, path, depth, faults);
        }
        if let Some(wanted) = wanted(schema, value) {
            let place = if path.is_empty() { "the result" } else { path };
            return faults.push(format!("{place} is {}, not {wanted}", excerpt_of(value)));
        }
        if let Some(items) = value.as_array() {
            for (at, item) in items.iter().enumerate() {
                let path = format!("{path}[{at}]");
                self.validate(&schema["items"], item, &path, depth + 1, faults);
            }
        }
        let Some(members) = value.as_object() else {
            return;
        };
        let below = |name: &str| match path.is_empty() {
            true => name.to_owned(),
            false => format!("{path}.{name}"),
        };
        for name in schema["required"].as_array().into_iter().flatten() {
            let name = name.as_str().unwrap_or_default();
            if !members.contains_key(name) {
                faults.push(format!("{} is missing", below(name)));
            }
        }
        for (name, member) in members {
            let known = schema["properties"].get(name);
            let schema = known.unwrap_or_else(|| &schema["additionalProperties"]);
            self.validate(schema, member, &below(name), depth + 1, faults);
        }
    }

    /// Validates a value of one of several types. The faults are those of the type that fits best.
    fn validate_any(
        &self,
        branches: &[Value],
        value: &Value,
        path: &str,
        depth: usize,
        faults: &mut Vec<String>,
    ) {
        let kinds = branches.iter().filter(|branch| self.is_kind(branch, value));
        let tried = kinds.map(|branch| {
            let mut faults = Vec::new();
            self.validate(branch, value, path, depth + 1, &mut faults);
            faults
        });
        match tried.min_by_key(Vec::len) {
            Some(best) => faults.extend(best),
            None => faults.push(format!("{path} is of no known kind: {}", excerpt_of(value))),
        }
    }

    /// Whether the constant members of a type, such as `type`, are those of the value.
    fn is_kind(&self, branch: &Value, value: &Value) -> bool {
        let branch = self.resolve(branch);
        let members = branch["properties"].as_object();
        let mut members = members.into_iter().flatten();
        members.all(|(name, schema)| {
            schema
                .get("const")
                .is_none_or(|it| value.get(name) == Some(it))
        })
    }
}

/// Returns what a value should be instead, apart from the values in it.
fn wanted(schema: &Value, value: &Value) -> Option<String> {
    let is_a = |kind: &str| match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "number" => value.is_number(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "null" => value.is_null(),
        _ => true,
    };
    let fits = match &schema["type"] {
        Value::String(kind) => is_a(kind),
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).any(is_a),
        _ => true,
    };
    if !fits {
        return Some(format!("of type {}", schema["type"]));
    }
    if let Some(wanted) = schema.get("const").filter(|wanted| *wanted != value) {
        return Some(wanted.to_string());
    }
    let allowed = schema["enum"].as_array();
    if let Some(allowed) = allowed.filter(|allowed| !allowed.contains(value)) {
        let allowed: Vec<String> = allowed.iter().map(Value::to_string).collect();
        return Some(allowed.join(" or "));
    }
    let number = value.as_f64();
    let (least, most) = (schema["minimum"].as_f64(), schema["maximum"].as_f64());
    if let (Some(number), Some(least)) = (number, least)
        && number < least
    {
        return Some(format!("at least {least}"));
    }
    if let (Some(number), Some(most)) = (number, most)
        && number > most
    {
        return Some(format!("at most {most}"));
    }
    let count = value.as_array().map_or(0, Vec::len) as u64;
    if let Some(most) = schema["maxItems"].as_u64().filter(|most| count > *most) {
        return Some(format!("of at most {most} items"));
    }
    let text = value.as_str()?;
    match schema["format"].as_str()? {
        "byte" if !is_base64(text) => Some("base64".to_owned()),
        "uri" if !has_scheme(text) => Some("a URI".to_owned()),
        _ => None,
    }
}

fn is_base64(text: &str) -> bool {
    let digits = text.trim_end_matches('=');
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    text.len().is_multiple_of(4) && text.len() - digits.len() <= 2 && digits.bytes().all(is_digit)
}

fn has_scheme(text: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    text.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|letter: char| letter.is_ascii_alphabetic())
            && scheme.bytes().all(is_letter)
    })
}

#[cfg(test)]
#[allow(
    clippy::unwrap_used,
    reason = "a test that can't go on is a test that fails"
)]
mod tests {
    use super::*;

    /// Removes the texts of a schema.
    fn without_texts(schema: &Value) -> Value {
        const TEXTS: [&str; 3] = ["description", "title", "default"];
        let Value::Object(members) = schema else {
            return schema.clone();
        };
        let members = members
            .iter()
            .filter(|(name, _)| !TEXTS.contains(&&***name));
        let members = members.map(|(name, value)| {
            let value = match (name.as_str(), value) {
                ("properties", Value::Object(all)) => {
                    let all = all.iter();
                    all.map(|(name, one)| (name.clone(), without_texts(one)))
                        .collect()
                }
                ("anyOf", Value::Array(all)) => all.iter().map(without_texts).collect(),
                ("items" | "additionalProperties", one) => without_texts(one),
                (_, other) => other.clone(),
            };
            (name.clone(), value)
        });
        Value::Object(members.collect())
    }

    #[test]
    fn the_schemas_are_those_of_the_specification() {
        for revision in ProtocolVersion::ALL {
            let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/spec/schema");
            let text = std::fs::read_to_string(format!("{folder}/{revision}.json")).unwrap();
            let whole: Value = serde_json::from_str(&text).unwrap();
            let whole = whole.get("$defs").unwrap_or_else(|| &whole["definitions"]);
            let Types(own) = Types::of(*revision);
            let own = own.as_object().unwrap();
            for (name, schema) in own {
                assert_eq!(*schema, without_texts(&whole[name]), "{revision} {name}");
            }
            for name in ["CallToolResult", "ListToolsResult", "Tool", "Resource"] {
                assert!(own.contains_key(name), "{revision} {name}");
            }
        }
    }
}
