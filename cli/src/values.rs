//! Arguments of tools and prompts, as the user types them.

use std::collections::BTreeMap;
use std::fs;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::input;
use crate::interrupt;
use crate::wanted::{Candidate, Wanted};

/// The words after the name of a tool or a prompt.
pub(crate) enum Given {
    /// A JSON object, unchanged.
    Object(Box<RawValue>),
    Pairs(Vec<(String, Word)>),
}

/// One argument on the command line.
pub(crate) enum Word {
    /// `KEY=VALUE`: JSON or text.
    Typed(String),
    /// `KEY=@FILE`: text.
    Text(String),
    /// `KEY:=JSON`.
    Json(Box<RawValue>),
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

impl Arguments {
    /// Returns the names of the arguments.
    pub(crate) fn names(&self) -> Vec<String> {
        match self {
            Self::Object(object) => {
                let members = serde_json::from_str::<BTreeMap<String, &RawValue>>(object.get());
                members.unwrap_or_default().into_keys().collect()
            }
            Self::Pairs(pairs) => pairs.iter().map(|(key, _)| key.clone()).collect(),
        }
    }
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

/// Reads the words after a name. `stdin_is_free` is whether `@-` may read standard input.
pub(crate) fn read(words: &[String], stdin_is_free: bool) -> Result<Given, String> {
    if let [only] = words
        && (only.trim_start().starts_with('{') || only.starts_with('@'))
    {
        let object = match only.strip_prefix('@') {
            Some(file) => contents(file, stdin_is_free)?,
            None => only.clone(),
        };
        let object: Box<RawValue> = serde_json::from_str(&object)
            .map_err(|error| format!("the arguments are not a JSON object: {error}"))?;
        if !object.get().starts_with('{') {
            return Err("the arguments are not a JSON object".to_owned());
        }
        return Ok(Given::Object(object));
    }
    let mut pairs: Vec<(String, Word)> = Vec::new();
    for (key, value) in split(words)? {
        let (key, is_json) = match key.strip_suffix(':') {
            Some(key) => (key, true),
            None => (key, false),
        };
        let file = value.strip_prefix('@');
        let text = file.map(|file| contents(file, stdin_is_free)).transpose()?;
        let word = match (is_json, text) {
            (true, text) => {
                let json = serde_json::from_str(text.as_deref().unwrap_or(value));
                Word::Json(json.map_err(|error| format!("'{key}' is not JSON: {error}"))?)
            }
            (false, Some(text)) => Word::Text(text),
            (false, None) => Word::Typed(value.to_owned()),
        };
        if pairs.iter().any(|(other, _)| other == key) {
            return Err(format!("'{key}' is given twice"));
        }
        pairs.push((key.to_owned(), word));
    }
    Ok(Given::Pairs(pairs))
}

fn split(words: &[String]) -> Result<Vec<(&str, &str)>, String> {
    let pairs = words.iter().map(|word| {
        let pair = word.split_once('=').filter(|(key, _)| !key.is_empty());
        pair.ok_or_else(|| format!("'{word}' is neither KEY=VALUE nor a JSON object"))
    });
    pairs.collect()
}

/// Returns the text of a file; `-` is standard input.
fn contents(file: &str, stdin_is_free: bool) -> Result<String, String> {
    if file != "-" {
        return fs::read_to_string(file).map_err(|error| format!("@{file}: {error}"));
    }
    if !stdin_is_free {
        return Err("@-: standard input has the lines of the shell".to_owned());
    }
    let mut text = String::new();
    loop {
        match input::line(&[&interrupt::token()]) {
            Ok(line) => text.push_str(&line),
            Err(input::NoLine::Ended) => return Ok(text),
            Err(input::NoLine::Cancelled) => return Err("@-: interrupted".to_owned()),
            Err(input::NoLine::NotText) => return Err("@-: standard input is no UTF-8".to_owned()),
        }
    }
}

/// Reads pairs whose values are texts.
pub(crate) fn pairs(words: &[String]) -> Result<Vec<(String, String)>, String> {
    let mut pairs: Vec<(String, String)> = Vec::new();
    for (key, value) in split(words)? {
        if pairs.iter().any(|(other, _)| other == key) {
            return Err(format!("'{key}' is given twice"));
        }
        pairs.push((key.to_owned(), value.to_owned()));
    }
    Ok(pairs)
}

/// Whether a value can be read both as a string and as JSON, so that the schema must decide.
pub(crate) fn are_ambiguous(pairs: &[(String, Word)]) -> bool {
    let is_json = |text: &str| serde_json::from_str::<&RawValue>(text).is_ok();
    pairs
        .iter()
        .any(|(_, word)| matches!(word, Word::Typed(text) if is_json(text)))
}

/// Converts values to JSON where they are JSON, unless the tool's schema requires a string.
pub(crate) fn typed(pairs: Vec<(String, Word)>, schema: Option<&Value>) -> Arguments {
    let wanted = schema.map(Wanted::of);
    let typed = |(key, word): (String, Word)| {
        let text = match word {
            Word::Typed(text) => text,
            Word::Text(text) => return (key, Argument::Text(text)),
            Word::Json(json) => return (key, Argument::Json(json)),
        };
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
    let as_text = |json: &RawValue| {
        let text = serde_json::from_str::<String>(json.get());
        text.unwrap_or_else(|_| json.get().to_owned())
    };
    let object = match given {
        Given::Object(object) => object,
        Given::Pairs(pairs) => {
            let pairs = pairs.into_iter().map(|(key, word)| match word {
                Word::Typed(text) | Word::Text(text) => (key, text),
                Word::Json(json) => (key, as_text(&json)),
            });
            return Ok(pairs.collect());
        }
    };
    let members: BTreeMap<String, Box<RawValue>> = serde_json::from_str(object.get())
        .map_err(|error| format!("the arguments are not a JSON object: {error}"))?;
    let members = members.into_iter();
    Ok(members.map(|(key, value)| (key, as_text(&value))).collect())
}
