//! Rules for forms: the fields that a revision allows, and the default values of fields.
//!
//! Spec: Client Features, "Elicitation", "Requested Schema" (since 2025-06-18; defaults and more
//! kinds of choices since 2025-11-25).

use serde_json::Value;

use super::json::JsonSchema;
use super::primitive::{
    ElicitSchema, LegacyTitledEnumSchema, PrimitiveSchemaDefinition, StringFormat, StringSchema,
};
use super::tree::JsonObject;
use super::version::ProtocolVersion;
use crate::error::{Error, ErrorKind, Excerpt, Result};

impl ElicitSchema {
    /// Returns the default values of the form's fields. Let the user see and change these values.
    /// Do not send them as an answer without the user's consent.
    ///
    /// A field without a default value is omitted from the result.
    pub fn defaults(&self) -> JsonObject {
        let defaults = self.properties.iter().filter_map(|(name, schema)| {
            let default = schema.default_value()?;
            Some((name.clone(), default))
        });
        defaults.collect()
    }

    /// Checks that a form may have this schema in `revision`: an object of primitive fields, with
    /// formats that the specification knows.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) when a field is an object or a list of
    /// objects, a format is unknown, a required field does not exist, or a field is a multiple
    /// choice before 2025-11-25.
    pub fn check(schema: &JsonSchema, revision: ProtocolVersion) -> Result<()> {
        let invalid = |text: String| {
            Err(Error::new(
                ErrorKind::Invalid,
                format!("requestedSchema: {text}"),
            ))
        };
        if !schema.is_object_root() {
            return invalid("its root has to be of type \"object\"".to_owned());
        }
        let form = Self::of(schema).map_err(|error| error.context("requestedSchema"))?;
        for (name, field) in &form.properties {
            let name = Excerpt(name);
            match field {
                PrimitiveSchemaDefinition::String(StringSchema {
                    format: Some(StringFormat::Other(format)),
                    ..
                }) => {
                    let format = Excerpt(format);
                    return invalid(format!(
                        "'{name}' has the format \"{format}\", which forms don't know"
                    ));
                }
                PrimitiveSchemaDefinition::UntitledMultiSelect(_)
                | PrimitiveSchemaDefinition::TitledMultiSelect(_)
                    if revision < ProtocolVersion::V2025_11_25 =>
                {
                    return invalid(format!(
                        "'{name}' is a choice of several, which {revision} does not know"
                    ));
                }
                _ => {}
            }
        }
        let missing = |name: &&String| form.properties.iter().all(|(field, _)| field != *name);
        match form.required.iter().find(missing) {
            Some(name) => invalid(format!("'{}' is required, but not a field", Excerpt(name))),
            None => Ok(()),
        }
    }

    /// Adapts the schema of a form to an older revision: choices with titles are written in the
    /// format of 2025-06-18. Returns `None` if the schema does not change.
    pub(super) fn fitted(schema: &JsonSchema, revision: ProtocolVersion) -> Option<JsonSchema> {
        if revision >= ProtocolVersion::V2025_11_25 {
            return None;
        }
        let mut form = Self::of(schema).ok()?;
        let mut changed = false;
        for (_, field) in &mut form.properties {
            if let PrimitiveSchemaDefinition::TitledSingleSelect(titled) = field {
                let mut older = LegacyTitledEnumSchema::new(std::mem::take(&mut titled.one_of));
                older.title = titled.title.take();
                older.description = titled.description.take();
                older.default = titled.default.take();
                *field = older.into();
                changed = true;
            }
        }
        changed.then(|| form.to_schema().ok()).flatten()
    }
}

impl PrimitiveSchemaDefinition {
    /// Returns the display name of the field.
    pub fn title(&self) -> Option<&str> {
        let title = match self {
            Self::String(schema) => &schema.title,
            Self::Number(schema) => &schema.title,
            Self::Boolean(schema) => &schema.title,
            Self::UntitledSingleSelect(schema) => &schema.title,
            Self::TitledSingleSelect(schema) => &schema.title,
            Self::UntitledMultiSelect(schema) => &schema.title,
            Self::TitledMultiSelect(schema) => &schema.title,
            Self::LegacyTitled(schema) => &schema.title,
        };
        title.as_deref()
    }

    /// Returns the default value of the field.
    fn default_value(&self) -> Option<Value> {
        let text = |default: &Option<String>| default.clone().map(Value::from);
        let texts = |default: &Option<Vec<String>>| default.clone().map(Value::from);
        match self {
            Self::String(schema) => text(&schema.default),
            Self::Number(schema) => {
                let number = serde_json::to_value(schema).ok()?;
                number.get("default").cloned()
            }
            Self::Boolean(schema) => schema.default.map(Value::from),
            Self::UntitledSingleSelect(schema) => text(&schema.default),
            Self::TitledSingleSelect(schema) => text(&schema.default),
            Self::UntitledMultiSelect(schema) => texts(&schema.default),
            Self::TitledMultiSelect(schema) => texts(&schema.default),
            Self::LegacyTitled(schema) => text(&schema.default),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{
        BooleanSchema, EnumOption, NumberSchema, TitledMultiSelectEnumSchema,
        TitledSingleSelectEnumSchema, UntitledMultiSelectEnumSchema,
        UntitledSingleSelectEnumSchema,
    };

    // M-ELIC-S-14, M-ELIC-S-15
    #[test]
    fn a_form_has_plain_fields_only() {
        fn check(properties: &str, wrong: Option<&str>) {
            let schema =
                format!(r#"{{"type":"object","properties":{properties},"required":["a"]}}"#);
            let schema = JsonSchema::parse(&schema).expect("JSON");
            let checked = ElicitSchema::check(&schema, ProtocolVersion::V2026_07_28);
            match wrong {
                None => checked.expect(properties),
                Some(wrong) => {
                    let error = checked.expect_err(properties).to_string();
                    assert!(error.contains(wrong), "{error}");
                }
            }
        }
        for format in ["email", "uri", "date", "date-time"] {
            check(
                &format!(r#"{{"a":{{"type":"string","format":"{format}"}}}}"#),
                None,
            );
        }
        for plain in ["number", "integer", "boolean"] {
            check(&format!(r#"{{"a":{{"type":"{plain}"}}}}"#), None);
        }
        check(
            r#"{"a":{"type":"array","items":{"type":"string","enum":["x"]}}}"#,
            None,
        );
        check(
            r#"{"a":{"type":"string","format":"password"}}"#,
            Some("\"password\""),
        );
        check(r#"{"a":{"type":"object","properties":{}}}"#, Some("object"));
        check(
            r#"{"a":{"type":"array","items":{"type":"object"}}}"#,
            Some("requestedSchema"),
        );
        check(
            r#"{"a":{"type":"array","items":{"type":"string"}}}"#,
            Some("requestedSchema"),
        );
        check(r#"{"b":{"type":"string"}}"#, Some("'a' is required"));
        for no_form in ["true", r#"{"type":"string"}"#, r#"{"type":"object"}"#] {
            let schema = JsonSchema::parse(no_form).expect("JSON");
            let checked = ElicitSchema::check(&schema, ProtocolVersion::V2026_07_28);
            assert!(checked.is_err(), "{no_form}");
        }
    }

    // L-ELIC-B-48
    #[test]
    fn an_older_peer_gets_titles_in_its_own_words_or_not_at_all() {
        let old = ProtocolVersion::V2025_06_18;
        let one_of = TitledSingleSelectEnumSchema::new([EnumOption::new("x", "X")]).default("x");
        let schema = ElicitSchema::default()
            .required("a", one_of)
            .to_schema()
            .expect("JSON");
        ElicitSchema::check(&schema, old).expect("it can be said");
        assert_eq!(
            ElicitSchema::fitted(&schema, old)
                .expect("changed")
                .as_str(),
            r#"{"type":"object","properties":{"a":{"type":"string","enum":["x"],"enumNames":["X"],"default":"x"}},"required":["a"]}"#
        );
        assert_eq!(
            ElicitSchema::fitted(&schema, ProtocolVersion::V2025_11_25),
            None
        );
        let several = UntitledMultiSelectEnumSchema::new(["x"]);
        let schema = ElicitSchema::default()
            .optional("a", several)
            .to_schema()
            .expect("JSON");
        let error = ElicitSchema::check(&schema, old).expect_err("it can't be said");
        assert!(error.to_string().contains("2025-06-18"), "{error}");
        ElicitSchema::check(&schema, ProtocolVersion::V2025_11_25).expect("it can be said");
    }

    // M-ELIC-C-16, L-ELIC-C-10
    #[test]
    fn defaults_of_every_kind_are_gathered() {
        let options = || [EnumOption::new("x", "X")];
        let form = ElicitSchema::default()
            .optional("text", StringSchema::new().default("t"))
            .optional("whole", NumberSchema::integer().default(3.0))
            .optional("broken", NumberSchema::number().default(0.5))
            .optional("yes", BooleanSchema::new().default(true))
            .optional(
                "one",
                UntitledSingleSelectEnumSchema::new(["x"]).default("x"),
            )
            .optional(
                "titled",
                TitledSingleSelectEnumSchema::new(options()).default("x"),
            )
            .optional(
                "some",
                UntitledMultiSelectEnumSchema::new(["x"]).default(vec!["x".to_owned()]),
            )
            .optional(
                "titles",
                TitledMultiSelectEnumSchema::new(options()).default(vec!["x".to_owned()]),
            )
            .optional("older", LegacyTitledEnumSchema::new(options()).default("x"))
            .required("none", StringSchema::new());
        assert_eq!(
            Value::Object(form.defaults()),
            serde_json::json!({
                "text": "t", "whole": 3, "broken": 0.5, "yes": true, "one": "x", "titled": "x",
                "some": ["x"], "titles": ["x"], "older": "x",
            })
        );
    }
}
