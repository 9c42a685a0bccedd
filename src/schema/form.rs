//! Checks that a user's answer fits the form that was shown.
//!
//! A form is flat, so the check needs no JSON Schema validator and works without the feature
//! `validation`. Keywords outside of the specification, such as `pattern`, are not checked.
//!
//! Spec: Client Features, "Elicitation", "Requested Schema" and "Response Actions" (since
//! 2025-06-18).

use std::fmt::Display;

use serde_json::Value;
use serde_json::value::RawValue;

use super::date::{is_date, is_date_time};
use super::elicitation::{ElicitRequestFormParams, ElicitResult};
use super::json::read_raw;
use super::primitive::{
    ElicitSchema, EnumOption, NumberSchema, PrimitiveSchemaDefinition, StringFormat, StringSchema,
};
use super::tree::Tree;
use super::url::{has_whole_escapes, is_scheme, is_uri_byte};
use crate::error::{Error, ErrorKind, Excerpt, Quote, Result};

impl ElicitRequestFormParams {
    /// Checks a user's answer to this elicitation. If the user accepted, the answer has to have
    /// content that fits the form. Otherwise the answer must not have content.
    ///
    /// # Errors
    ///
    /// The errors of [`ElicitSchema::check_content`]. Also [`ErrorKind::Invalid`] when
    /// [`requested_schema`](Self::requested_schema) is not the schema of a form.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::{ElicitRequestParams, ElicitResult, JsonSchema};
    /// use serde_json::json;
    ///
    /// let form = JsonSchema::parse(
    ///     r#"{"type":"object","properties":{"seats":{"type":"integer","minimum":1}}}"#,
    /// )?;
    /// let question = ElicitRequestParams::form("How many seats?", form);
    /// let ElicitRequestParams::Form(question) = question else {
    ///     unreachable!("it is a form")
    /// };
    /// question.check_answer(&ElicitResult::accept(&json!({ "seats": 2 }))?)?;
    /// let wrong = ElicitResult::accept(&json!({ "seats": 0 }))?;
    /// let error = question.check_answer(&wrong).unwrap_err();
    /// assert_eq!(error.to_string(), "field 'seats': expected at least 1, got 0");
    /// # Ok::<(), mcplink::Error>(())
    /// ```
    pub fn check_answer(&self, answer: &ElicitResult) -> Result<()> {
        match (&answer.content, answer.is_accepted()) {
            (Some(content), true) => {
                ElicitSchema::of(&self.requested_schema)?.check_content(content)
            }
            (None, true) => Err(invalid("the answer accepts, but has no content")),
            (Some(_), false) => Err(invalid("the answer has content, but does not accept")),
            (None, false) => Ok(()),
        }
    }
}

impl ElicitSchema {
    /// Checks the content of an answer: an object that has every required field, with values that
    /// are valid for their fields. An unknown field is allowed if its value has a type that fields
    /// of a form can have.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`], with the name of the field, the expected value and the received
    /// value.
    pub fn check_content(&self, content: &RawValue) -> Result<()> {
        let Tree(content) = read_raw("elicited content", content)?;
        let Value::Object(content) = content else {
            return Err(invalid("expected an object with a member for each field"));
        };
        for name in &self.required {
            if !content.contains_key(name) {
                return Err(invalid(format!("field '{}' is missing", Excerpt(name))));
            }
        }
        for (name, value) in &content {
            let field = self.properties.iter().find(|(field, _)| field == name);
            let fitting = match field {
                Some((_, schema)) => schema.check(value),
                None => check_unknown(value),
            };
            fitting.map_err(|expected| {
                let (name, came) = (Excerpt(name), Quote(value));
                invalid(format!("field '{name}': expected {expected}, got {came}"))
            })?;
        }
        Ok(())
    }
}

fn invalid(text: impl Into<String>) -> Error {
    Error::new(ErrorKind::Invalid, text)
}

/// The result of checking one value. The error describes the expected value.
type Fit = Result<(), String>;

fn expect(fits: bool, expected: impl FnOnce() -> String) -> Fit {
    if fits { Ok(()) } else { Err(expected()) }
}

impl PrimitiveSchemaDefinition {
    fn check(&self, value: &Value) -> Fit {
        match self {
            Self::String(schema) => check_text(schema, value),
            Self::Number(schema) => check_number(schema, value),
            Self::Boolean(_) => expect(value.is_boolean(), || "true or false".to_owned()),
            Self::UntitledSingleSelect(schema) => check_choice(&texts(&schema.values), value),
            Self::LegacyTitled(schema) => check_choice(&texts(&schema.values), value),
            Self::TitledSingleSelect(schema) => check_choice(&titled(&schema.one_of), value),
            Self::UntitledMultiSelect(schema) => {
                let count = (schema.min_items, schema.max_items);
                check_choices(&texts(&schema.items.values), count, value)
            }
            Self::TitledMultiSelect(schema) => {
                let count = (schema.min_items, schema.max_items);
                check_choices(&titled(&schema.items.any_of), count, value)
            }
        }
    }
}

fn texts(values: &[String]) -> Vec<&str> {
    values.iter().map(String::as_str).collect()
}

fn titled(options: &[EnumOption]) -> Vec<&str> {
    options.iter().map(|option| option.value.as_str()).collect()
}

/// Checks the value of an unknown field: a text, a number, a boolean or a list of texts.
fn check_unknown(value: &Value) -> Fit {
    let fits = match value {
        Value::Array(items) => items.iter().all(Value::is_string),
        value => value.is_string() || value.is_number() || value.is_boolean(),
    };
    expect(fits, || {
        "a text, a number, true, false or a list of texts".to_owned()
    })
}

fn check_text(schema: &StringSchema, value: &Value) -> Fit {
    let text = value.as_str().ok_or("a text")?;
    let length = text.chars().count() as u64;
    check_count(length, (schema.min_length, schema.max_length), "characters")?;
    match &schema.format {
        Some(StringFormat::Email) => expect(is_email(text), || "an address of mail".to_owned()),
        Some(StringFormat::Uri) => expect(is_uri(text), || "a URI".to_owned()),
        Some(StringFormat::Date) => expect(is_date(text), || "a date like 2026-07-28".to_owned()),
        Some(StringFormat::DateTime) => expect(is_date_time(text), || {
            "a date and time like 2026-07-28T12:00:00Z".to_owned()
        }),
        // Other formats are unknown to this library; the server has to check them.
        Some(StringFormat::Other(_)) | None => Ok(()),
    }
}

fn check_number(schema: &NumberSchema, value: &Value) -> Fit {
    let number = value.as_f64().ok_or("a number")?;
    expect(!schema.is_integer() || number.fract() == 0.0, || {
        "a number without a fraction".to_owned()
    })?;
    let at_least = schema.minimum.filter(|minimum| number < *minimum);
    let at_most = schema.maximum.filter(|maximum| number > *maximum);
    expect(at_least.is_none(), || bound("at least", at_least))?;
    expect(at_most.is_none(), || bound("at most", at_most))
}

fn bound(side: &str, limit: Option<impl Display>) -> String {
    limit.map_or_else(String::new, |limit| format!("{side} {limit}"))
}

fn check_choice(options: &[&str], value: &Value) -> Fit {
    let fits = value.as_str().is_some_and(|text| options.contains(&text));
    expect(fits, || one_of(options))
}

fn check_choices(options: &[&str], count: (Option<u64>, Option<u64>), value: &Value) -> Fit {
    let chosen = value.as_array().ok_or("a list of texts")?;
    check_count(chosen.len() as u64, count, "choices")?;
    chosen.iter().try_for_each(|text| {
        check_choice(options, text).map_err(|expected| format!("each choice to be {expected}"))
    })
}

fn check_count(count: u64, (least, most): (Option<u64>, Option<u64>), of_what: &str) -> Fit {
    let at_least = least.filter(|least| count < *least);
    let at_most = most.filter(|most| count > *most);
    expect(at_least.is_none(), || {
        format!("{} {of_what}", bound("at least", at_least))
    })?;
    expect(at_most.is_none(), || {
        format!("{} {of_what}", bound("at most", at_most))
    })
}

fn one_of(options: &[&str]) -> String {
    let options = options.iter().map(|option| Value::from(*option)).collect();
    format!("one of {}", Quote(&Value::Array(options)))
}

/// Whether a text can be an email address. The parts before and after the last `@` are hardly
/// checked, since only a delivered message proves that an address exists.
fn is_email(text: &str) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else {
        return false;
    };
    let plain = |part: &str| {
        !part.is_empty() && !part.contains(|c: char| c.is_whitespace() || c.is_control())
    };
    let labels = domain.split('.').all(|label| !label.is_empty());
    plain(local) && plain(domain) && labels && !domain.contains('@')
}

/// Whether a text is a URI of RFC 3986: a scheme, a colon, and only characters that a URI may
/// contain.
fn is_uri(text: &str) -> bool {
    let (scheme, rest) = text.split_once(':').unwrap_or_default();
    is_scheme(scheme) && rest.bytes().all(is_uri_byte) && has_whole_escapes(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_told() {
        fn check(format: fn(&str) -> bool, good: &[&str], bad: &[&str]) {
            for text in good {
                assert!(format(text), "{text}");
            }
            for text in bad {
                assert!(!format(text), "{text}");
            }
        }
        check(
            is_email,
            &["a@b", "first.last+tag@example.com", "ä@exämple.org"],
            &["", "a", "@b", "a@", "a b@c", "a@b..c", "a@b c", "a@.b"],
        );
        check(
            is_uri,
            &[
                "https://example.com/a?b=%20#c",
                "urn:x:y",
                "file:///a",
                "a:",
            ],
            &[
                "",
                "example.com",
                "/a",
                "http://a b",
                "http://ä",
                "a:%2",
                "1a:b",
                ":a",
            ],
        );
    }
}
