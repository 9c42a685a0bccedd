//! The fields of a form, which are prompted for and read line by line.

use std::fmt;

use mcplink::schema::{ElicitSchema, JsonSchema};
use serde_json::{Value, json};

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
            "array" => ", some of them with commas between",
            "boolean" => ", yes or no",
            "integer" => ", a whole number",
            "number" => ", a number",
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
