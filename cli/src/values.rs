//! Arguments of tools and prompts, as the user types them.

use std::collections::BTreeMap;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::wanted::{Candidate, Wanted};

/// The words after the name of a tool or a prompt.
pub(crate) enum Given {
    /// A JSON object, unchanged.
    Object(Box<RawValue>),
    Pairs(Vec<(String, String)>),
}

/// The arguments of a tool, as they are sent.
pub(crate) enum Arguments {
    Object(Box<RawValue>),
    Pairs(Vec<(String, Argument)>),
}

/// One argument: a string, or JSON, digit for digit.
pub(crate) enum Argument {
    Text(String),
    Json(Box<RawValue>),
}

impl Serialize for Arguments {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Object(object) => object.serialize(serializer),
            Self::Pairs(pairs) => {
                let mut map = serializer.serialize_map(Some(pairs.len()))?;
                for (key, value) in pairs {
                    match value {
                        Argument::Text(text) => map.serialize_entry(key, text)?,
                        Argument::Json(json) => map.serialize_entry(key, json)?,
                    }
                }
                map.end()
            }
        }
    }
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

/// Whether a value can be read both as a string and as JSON, so that the schema must decide.
pub(crate) fn are_ambiguous(pairs: &[(String, String)]) -> bool {
    let is_json = |text: &str| serde_json::from_str::<&RawValue>(text).is_ok();
    pairs.iter().any(|(_, value)| is_json(value))
}

/// Converts values to JSON where they are JSON, unless the tool's schema requires a string.
pub(crate) fn typed(pairs: Vec<(String, String)>, schema: Option<&Value>) -> Arguments {
    let wanted = schema.map(Wanted::of);
    let typed = |(key, text): (String, String)| {
        let is_text = |json: &Candidate| {
            let wanted = wanted.as_ref();
            wanted.is_some_and(|wanted| wanted.is_text(&key, &text, json))
        };
        let json = Candidate::read(&text).filter(|json| !is_text(json));
        let argument = match json {
            Some(json) => Argument::Json(json.into_raw()),
            None => Argument::Text(text),
        };
        (key, argument)
    };
    Arguments::Pairs(pairs.into_iter().map(typed).collect())
}

/// Returns arguments of a prompt, which are always strings.
pub(crate) fn texts(given: Given) -> Result<Vec<(String, String)>, String> {
    let object = match given {
        Given::Pairs(pairs) => return Ok(pairs),
        Given::Object(object) => object,
    };
    let members: BTreeMap<String, Box<RawValue>> = serde_json::from_str(object.get())
        .map_err(|error| format!("the arguments are not a JSON object: {error}"))?;
    let text = |(key, value): (String, Box<RawValue>)| {
        let text = serde_json::from_str::<String>(value.get());
        (key, text.unwrap_or_else(|_| value.get().to_owned()))
    };
    Ok(members.into_iter().map(text).collect())
}
