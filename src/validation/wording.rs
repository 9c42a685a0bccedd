//! Error texts of the validator: the location, the expected value and the received value, in one
//! sentence.

use std::fmt::{self, Display};

use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind};
use serde_json::Value;

use crate::error::{Excerpt, Quote};

/// The maximum number of names or alternatives that an error text lists.
const MAX_LISTED: usize = 4;

/// Describes why a value does not fit its schema.
pub(super) fn violation(error: &ValidationError<'_>, value: &Value) -> String {
    let location = error.instance_path().as_str();
    let expected = expected(error.kind(), location, value.pointer(location));
    if location.is_empty() {
        expected
    } else {
        format!("{}: {expected}", Excerpt(location))
    }
}

/// Describes why a schema can't be used.
pub(super) fn refusal(error: &ValidationError<'_>, schema: &Value) -> String {
    match error.kind() {
        ValidationErrorKind::Referencing(jsonschema::ReferencingError::Unretrievable {
            uri,
            ..
        }) => format!(
            "it refers to \"{}\", and nothing is ever fetched: put that schema into $defs",
            Excerpt(uri)
        ),
        ValidationErrorKind::Referencing(error) => {
            format!("a reference leads nowhere: {}", Excerpt(&error.to_string()))
        }
        _ => format!(
            "it is not a schema of its dialect: {}",
            violation(error, schema)
        ),
    }
}

fn expected(kind: &ValidationErrorKind, location: &str, came: Option<&Value>) -> String {
    use ValidationErrorKind as Kind;
    let text = match kind {
        Kind::Required { property } => format!("property {} is missing", Quote(property)),
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            format!("property {} is not expected", Names(unexpected))
        }
        Kind::Type { kind } => format!("expected {}", types(kind)),
        Kind::Enum { options } => format!("expected one of {}", Quote(options)),
        Kind::Constant { expected_value } => format!("expected {}", Quote(expected_value)),
        Kind::Minimum { limit } => format!("expected at least {limit}"),
        Kind::Maximum { limit } => format!("expected at most {limit}"),
        Kind::ExclusiveMinimum { limit } => format!("expected more than {limit}"),
        Kind::ExclusiveMaximum { limit } => format!("expected less than {limit}"),
        Kind::MultipleOf { multiple_of } => format!("expected a multiple of {multiple_of}"),
        Kind::MinLength { limit } => format!("expected at least {limit} characters"),
        Kind::MaxLength { limit } => format!("expected at most {limit} characters"),
        Kind::MinItems { limit } => format!("expected at least {limit} items"),
        Kind::MaxItems { limit } => format!("expected at most {limit} items"),
        Kind::AdditionalItems { limit } => format!("expected at most {limit} items"),
        Kind::MinProperties { limit } => format!("expected at least {limit} properties"),
        Kind::MaxProperties { limit } => format!("expected at most {limit} properties"),
        Kind::UniqueItems => "expected items that differ from each other".to_owned(),
        Kind::Contains => "expected an item of another kind among these".to_owned(),
        Kind::Pattern { pattern } => format!("expected a text that matches {}", Excerpt(pattern)),
        Kind::Format { format } => format!("expected the format {}", Excerpt(format)),
        Kind::FalseSchema => "expected nothing".to_owned(),
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
            format!("fits no alternative ({})", Branches(context, location))
        }
        Kind::OneOfMultipleValid { .. } => "fits more than one alternative of oneOf".to_owned(),
        Kind::BacktrackLimitExceeded { .. } | Kind::RegexEngineFailure { .. } => {
            "the pattern takes too many steps to be matched".to_owned()
        }
        Kind::PropertyNames { error } => {
            format!(
                "a property name: {}",
                expected(error.kind(), location, None)
            )
        }
        other => format!("expected what \"{}\" says", Excerpt(other.keyword())),
    };
    let names_property = matches!(
        kind,
        Kind::Required { .. }
            | Kind::AdditionalProperties { .. }
            | Kind::UnevaluatedProperties { .. }
            | Kind::PropertyNames { .. }
    );
    match came {
        Some(came) if !names_property => format!("{text}, got {}", Quote(came)),
        _ => text,
    }
}

fn types(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(one) => one.to_string(),
        TypeKind::Multiple(several) => {
            let names: Vec<_> = several.iter().map(|one| one.to_string()).collect();
            names.join(" or ")
        }
    }
}

struct Names<'a>(&'a [String]);

impl Display for Names<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, name) in self.0.iter().take(MAX_LISTED).enumerate() {
            let comma = if number == 0 { "" } else { ", " };
            write!(f, "{comma}{}", Quote(&Value::from(name.as_str())))?;
        }
        if self.0.len() > MAX_LISTED {
            f.write_str(", …")
        } else {
            Ok(())
        }
    }
}

/// The errors of a schema's alternatives, and the location of the value that fits none of them. The
/// error text describes the first alternatives, with locations relative to this value.
struct Branches<'a>(&'a [Vec<ValidationError<'static>>], &'a str);

impl Display for Branches<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, errors) in self.0.iter().take(MAX_LISTED).enumerate() {
            let semicolon = if number == 0 { "" } else { "; " };
            let Some(error) = errors.first() else {
                continue;
            };
            let location = error.instance_path().as_str();
            let what = match error.kind() {
                // Nested alternatives are not described, so that the text stays one sentence.
                ValidationErrorKind::AnyOf { .. } | ValidationErrorKind::OneOfNotValid { .. } => {
                    "fits no alternative".to_owned()
                }
                kind => expected(kind, location, None),
            };
            match location.strip_prefix(self.1).unwrap_or(location) {
                "" => write!(f, "{semicolon}{what}")?,
                below => write!(f, "{semicolon}{}: {what}", Excerpt(below))?,
            }
        }
        if self.0.len() > MAX_LISTED {
            f.write_str("; …")
        } else {
            Ok(())
        }
    }
}
