//! The fields of a form, which are prompted for and read line by line.

use std::fmt;

use mcplink::schema::{ElicitSchema, JsonSchema};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::input::{self, NoLine};
use crate::interrupt;
use crate::print::{beside, clean, note};
use crate::values::{Argument, Arguments};

/// One choice of a field.
#[derive(Debug)]
pub(crate) struct Choice {
    value: String,
    title: Option<String>,
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.title {
            Some(title) if *title != self.value => write!(f, "{title} ({})", self.value),
            _ => f.write_str(&self.value),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) options: Vec<Choice>,
    is_required: bool,
    schema: Value,
}

/// Returns the fields of a form, in their order.
pub(crate) fn fields(schema: &JsonSchema) -> mcplink::Result<Vec<Field>> {
    let form = ElicitSchema::of(schema)?;
    let mut fields = Vec::new();
    for (name, field) in &form.properties {
        let schema: Value = JsonSchema::new(field)?.read()?;
        fields.push(Field {
            name: name.clone(),
            options: choices(&schema),
            is_required: form.required.contains(name),
            schema,
        });
    }
    Ok(fields)
}

/// Asks for each argument of a tool that is not given.
pub(crate) fn complete(arguments: &mut Arguments, schema: Option<&Value>) -> Result<(), Failure> {
    let given = arguments.names();
    let (Arguments::Pairs(pairs), Some(schema)) = (arguments, schema) else {
        return Ok(());
    };
    let required = schema["required"].as_array();
    let is_required = |name: &str| {
        let mut required = required.into_iter().flatten();
        required.any(|required| required == name)
    };
    // Required ones first.
    let mut members: Vec<(&String, &Value)> = schema["properties"]
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(name, _)| !given.contains(name))
        .collect();
    members.sort_by_key(|(name, _)| !is_required(name));
    note("(an empty line takes what stands in brackets; Ctrl-D cancels)");
    for (name, schema) in members {
        let field = Field {
            name: name.clone(),
            options: choices(schema),
            is_required: is_required(name),
            schema: schema.clone(),
        };
        if let Some(value) = ask(&field)? {
            let value = serde_json::value::to_raw_value(&value);
            let value = value.map_err(|error| Failure::usage(error.to_string()))?;
            pairs.push((field.name, Argument::Json(value)));
        }
    }
    Ok(())
}

/// Asks until the answer is valid; `None` means that the argument is left out.
fn ask(field: &Field) -> Result<Option<Value>, Failure> {
    for (number, option) in (1..).zip(&field.options) {
        note(&format!("    {number:2}  {option}"));
    }
    loop {
        beside(&clean(&field.prompt()));
        match input::line(&[&interrupt::token()]) {
            Ok(line) => match field.read(line.trim()) {
                Ok(value) => return Ok(value),
                Err(why) => note(&format!("  {why}")),
            },
            Err(NoLine::NotText) => note("  that is no UTF-8"),
            Err(NoLine::Ended | NoLine::Cancelled) => {
                beside("\n");
                return Err(Failure::usage("the form was not filled in".to_owned()));
            }
        }
    }
}

fn choices(schema: &Value) -> Vec<Choice> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let titled = [&schema["oneOf"], &schema["items"]["anyOf"]];
    if let Some(titled) = titled.into_iter().find_map(Value::as_array) {
        let choice = |option: &Value| {
            let value = text(&option["const"])?;
            let title = text(&option["title"]);
            Some(Choice { value, title })
        };
        return titled.iter().filter_map(choice).collect();
    }
    let plain = [&schema["enum"], &schema["items"]["enum"]];
    let plain = plain.into_iter().find_map(Value::as_array);
    let choice = |(at, value): (usize, &Value)| {
        let value = text(value)?;
        let title = text(&schema["enumNames"][at]);
        Some(Choice { value, title })
    };
    let plain = plain.into_iter().flatten().enumerate();
    plain.filter_map(choice).collect()
}

impl Field {
    /// Returns the prompt of the field.
    pub(crate) fn prompt(&self) -> String {
        let mut text = format!("  {}", self.name);
        let about = [&self.schema["description"], &self.schema["title"]];
        if let Some(about) = about.into_iter().find_map(Value::as_str) {
            text.push_str(&format!(" ({about})"));
        }
        text.push_str(match &*self.kind() {
            "array" if !self.is_json() => ", some of them with commas between",
            "boolean" => ", yes or no",
            "integer" => ", a whole number",
            "number" => ", a number",
            "string" if self.options.is_empty() => "",
            _ if self.is_json() => ", as JSON",
            _ if !self.options.is_empty() => ", one of them",
            _ => "",
        });
        if let Some(format) = self.schema["format"].as_str() {
            text.push_str(&format!(", {format}"));
        }
        match &self.schema["default"] {
            Value::Null if self.is_required => {}
            Value::Null => text.push_str(" [nothing]"),
            Value::String(default) => text.push_str(&format!(" [{default}]")),
            default => text.push_str(&format!(" [{default}]")),
        }
        text + ": "
    }

    /// Whether the value has to be typed as JSON: only a tool has such arguments.
    fn is_json(&self) -> bool {
        match &*self.kind() {
            "array" => self.options.is_empty(),
            "string" | "integer" | "number" | "boolean" => false,
            _ => self.options.is_empty(),
        }
    }

    fn kind(&self) -> String {
        self.schema["type"].as_str().unwrap_or_default().to_owned()
    }

    /// Parses an answer: returns a value, nothing, or the reason why it is invalid.
    pub(crate) fn read(&self, text: &str) -> Result<Option<Value>, String> {
        if text.is_empty() {
            return match &self.schema["default"] {
                Value::Null if self.is_required => Err("it has to be filled in".to_owned()),
                Value::Null => Ok(None),
                default => Ok(Some(default.clone())),
            };
        }
        if self.is_json() {
            let value = serde_json::from_str(text);
            return value
                .map(Some)
                .map_err(|error| format!("that is no JSON: {error}"));
        }
        let value = match &*self.kind() {
            "boolean" => match &*text.to_lowercase() {
                "y" | "yes" | "true" => json!(true),
                "n" | "no" | "false" => json!(false),
                _ => return Err("say yes or no".to_owned()),
            },
            "integer" => match text.parse::<i64>() {
                Ok(number) => self.within("minimum", "maximum", number as f64, json!(number))?,
                Err(_) => return Err("that is no whole number".to_owned()),
            },
            "number" => match text.parse::<f64>() {
                Ok(number) if number.is_finite() => {
                    self.within("minimum", "maximum", number, json!(number))?
                }
                _ => return Err("that is no number".to_owned()),
            },
            "array" => {
                let words = text.split(',').map(|word| self.choose(word.trim()));
                let chosen: Vec<String> = words.collect::<Result<_, _>>()?;
                let length = chosen.len() as f64;
                self.within("minItems", "maxItems", length, json!(chosen))?
            }
            _ if !self.options.is_empty() => json!(self.choose(text)?),
            _ => {
                let length = text.chars().count() as f64;
                self.within("minLength", "maxLength", length, json!(text))?
            }
        };
        Ok(Some(value))
    }

    /// Finds a choice by its number, its value or its title.
    fn choose(&self, text: &str) -> Result<String, String> {
        let by_name =
            |choice: &&Choice| choice.value == text || choice.title.as_deref() == Some(text);
        let by_number = || {
            let number = text.parse::<usize>().ok()?;
            self.options.get(number.checked_sub(1)?)
        };
        let found = self.options.iter().find(by_name).or_else(by_number);
        found
            .map(|choice| choice.value.clone())
            .ok_or_else(|| format!("'{text}' is none of them"))
    }

    fn within(&self, least: &str, most: &str, measure: f64, value: Value) -> Result<Value, String> {
        for (bound, is_broken, word) in [
            (
                &self.schema[least],
                f64::lt as fn(&f64, &f64) -> bool,
                "least",
            ),
            (&self.schema[most], f64::gt, "most"),
        ] {
            if let Some(number) = bound.as_f64()
                && is_broken(&measure, &number)
            {
                let what = match least {
                    "minLength" => " characters",
                    "minItems" => " of them",
                    _ => "",
                };
                return Err(format!("at {word} {bound}{what}, please"));
            }
        }
        Ok(value)
    }
}
