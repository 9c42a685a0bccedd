//! The schemas of a form's fields.
//!
//! Spec: Client Features, "Elicitation", "Requested Schema" (since 2025-06-18; defaults and more
//! kinds of choices since 2025-11-25).

use serde::de::Error as _;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use super::json::{JsonSchema, Number, Whole};
use crate::error::{Excerpt, Result};

/// The schema of a form: the form's fields, in display order. [`of`](Self::of) makes this type from
/// a JSON Schema, and [`to_schema`](Self::to_schema) makes the JSON Schema.
///
/// # Examples
///
/// ```
/// use mcplink::schema::{BooleanSchema, ElicitRequestParams, ElicitSchema, NumberSchema};
/// use mcplink::server::{AskError, Context};
///
/// fn seats(context: &Context) -> Result<Option<serde_json::Value>, AskError> {
///     let form = ElicitSchema::default()
///         .required("seats", NumberSchema::integer().minimum(1).maximum(9))
///         .optional("window", BooleanSchema::new().title("By the window"));
///     let question = ElicitRequestParams::form("Which seats?", form.to_schema()?);
///     Ok(context.elicit("seats", question)?.read()?)
/// }
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ElicitSchema {
    /// The names and schemas of the form's fields, in display order.
    pub properties: Vec<(String, PrimitiveSchemaDefinition)>,
    /// The names of the fields that the user has to fill in.
    pub required: Vec<String>,
}

impl ElicitSchema {
    /// Parses the fields of a form from the form's schema.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) when the schema is not the schema of a
    /// form.
    pub fn of(schema: &JsonSchema) -> Result<Self> {
        schema.read()
    }

    /// Adds an optional field to the form.
    pub fn optional(
        mut self,
        name: impl Into<String>,
        schema: impl Into<PrimitiveSchemaDefinition>,
    ) -> Self {
        self.properties.push((name.into(), schema.into()));
        self
    }

    /// Adds a required field to the form.
    pub fn required(
        mut self,
        name: impl Into<String>,
        schema: impl Into<PrimitiveSchemaDefinition>,
    ) -> Self {
        let name = name.into();
        self.required.push(name.clone());
        self.optional(name, schema)
    }

    /// Serializes the form as a JSON Schema.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) when a number in the form is not finite.
    pub fn to_schema(&self) -> Result<JsonSchema> {
        JsonSchema::new(self)
    }
}

impl Serialize for ElicitSchema {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct Properties<'a>(&'a [(String, PrimitiveSchemaDefinition)]);

        impl Serialize for Properties<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_map(self.0.iter().map(|(name, schema)| (name, schema)))
            }
        }

        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", "object")?;
        map.serialize_entry("properties", &Properties(&self.properties))?;
        if !self.required.is_empty() {
            map.serialize_entry("required", &self.required)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for ElicitSchema {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Form {
            properties: Fields,
            #[serde(default)]
            required: Vec<String>,
        }

        struct Fields(Vec<(String, PrimitiveSchemaDefinition)>);

        impl<'de> Deserialize<'de> for Fields {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct InOrder;

                impl<'de> serde::de::Visitor<'de> for InOrder {
                    type Value = Fields;

                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str("the fields of a form")
                    }

                    fn visit_map<A: serde::de::MapAccess<'de>>(
                        self,
                        mut map: A,
                    ) -> Result<Fields, A::Error> {
                        let mut fields = Vec::new();
                        while let Some(field) = map.next_entry()? {
                            fields.push(field);
                        }
                        Ok(Fields(fields))
                    }
                }

                deserializer.deserialize_map(InOrder)
            }
        }

        let Form {
            properties: Fields(properties),
            required,
        } = Form::deserialize(deserializer)?;
        Ok(Self {
            properties,
            required,
        })
    }
}

/// The schema of one field of a form.
///
/// # Examples
///
/// ```
/// use mcplink::schema::{ElicitSchema, JsonSchema, PrimitiveSchemaDefinition};
///
/// // A client shows a form: each field has a schema of one of these kinds.
/// let text = r#"{"type":"object","properties":{"age":{"type":"integer","minimum":0}}}"#;
/// let form = ElicitSchema::of(&JsonSchema::parse(text)?)?;
/// let (name, field) = &form.properties[0];
/// let PrimitiveSchemaDefinition::Number(number) = field else { panic!("{name} is no number") };
/// assert!(number.is_integer() && number.minimum == Some(0.0));
/// # Ok::<(), mcplink::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum PrimitiveSchemaDefinition {
    /// A text field.
    String(StringSchema),
    /// A number field.
    Number(NumberSchema),
    /// A boolean field: yes or no.
    Boolean(BooleanSchema),
    /// A single choice from texts.
    UntitledSingleSelect(UntitledSingleSelectEnumSchema),
    /// A single choice from texts that have titles.
    TitledSingleSelect(TitledSingleSelectEnumSchema),
    /// A multiple choice from texts. Since 2025-11-25.
    UntitledMultiSelect(UntitledMultiSelectEnumSchema),
    /// A multiple choice from texts that have titles. Since 2025-11-25.
    TitledMultiSelect(TitledMultiSelectEnumSchema),
    /// A single choice from texts that have titles, in the format of 2025-06-18.
    LegacyTitled(LegacyTitledEnumSchema),
}

impl Serialize for PrimitiveSchemaDefinition {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::String(schema) => schema.serialize(serializer),
            Self::Number(schema) => schema.serialize(serializer),
            Self::Boolean(schema) => schema.serialize(serializer),
            Self::UntitledSingleSelect(schema) => schema.serialize(serializer),
            Self::TitledSingleSelect(schema) => schema.serialize(serializer),
            Self::UntitledMultiSelect(schema) => schema.serialize(serializer),
            Self::TitledMultiSelect(schema) => schema.serialize(serializer),
            Self::LegacyTitled(schema) => schema.serialize(serializer),
        }
    }
}

/// Deserializes the schema of a field. Every enum schema is also a valid string schema, so members
/// that only enums have are checked first.
impl<'de> Deserialize<'de> for PrimitiveSchemaDefinition {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Hints<'a> {
            #[serde(rename = "type")]
            kind: String,
            #[serde(borrow)]
            one_of: Option<&'a RawValue>,
            #[serde(borrow)]
            enum_names: Option<&'a RawValue>,
            #[serde(borrow, rename = "enum")]
            values: Option<&'a RawValue>,
            #[serde(borrow)]
            items: Option<Items<'a>>,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Items<'a> {
            #[serde(borrow)]
            any_of: Option<&'a RawValue>,
        }
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        let text = raw.get();
        let hints: Hints<'_> = serde_json::from_str(text).map_err(D::Error::custom)?;
        let titled_items = hints.items.is_some_and(|items| items.any_of.is_some());
        match hints.kind.as_str() {
            "boolean" => serde_json::from_str(text).map(Self::Boolean),
            "number" | "integer" => serde_json::from_str(text).map(Self::Number),
            "array" if titled_items => serde_json::from_str(text).map(Self::TitledMultiSelect),
            "array" => serde_json::from_str(text).map(Self::UntitledMultiSelect),
            "string" if hints.one_of.is_some() => {
                serde_json::from_str(text).map(Self::TitledSingleSelect)
            }
            "string" if hints.enum_names.is_some() => {
                serde_json::from_str(text).map(Self::LegacyTitled)
            }
            "string" if hints.values.is_some() => {
                serde_json::from_str(text).map(Self::UntitledSingleSelect)
            }
            "string" => serde_json::from_str(text).map(Self::String),
            other => {
                return Err(D::Error::custom(format_args!(
                    "a field of type \"{}\" is not one of a form",
                    Excerpt(other)
                )));
            }
        }
        .map_err(D::Error::custom)
    }
}

/// Defines the schema types of fields. Each is a struct with `type`, `title`, `description` and
/// `default`.
macro_rules! field_schema {
    (
        $(#[$meta:meta])* $name:ident as $variant:ident: $default:ty $(, as $default_form:ident)?;
        $kind:ident: $kind_type:ty;
        required { $($(#[$required_meta:meta])* $required:ident $(= $required_wire:literal)?: $required_type:ty,)* }
        optional { $($(#[$optional_meta:meta])* $optional:ident $(= $wire:literal)?: $optional_type:ty $(, as $form:ident)?;)* }
    ) => {
        object! {
            $(#[$meta])*
            #[derive(Clone, Debug, PartialEq)]
            pub struct $name {
                $kind: $kind_type = "type",
                /// The display name of the field.
                pub title?: String,
                /// The description of the field.
                pub description?: String,
                $($(#[$required_meta])* pub $required: $required_type $(= $required_wire)?,)*
                $($(#[$optional_meta])* pub $optional?: $optional_type $(= $wire)? $(as $form)?,)*
                /// The default value of the field. Since 2025-11-25; for boolean fields since
                /// 2025-06-18.
                pub default?: $default $(as $default_form)?,
                ..extra
            }

            fn make($kind: $kind_type $(, $required: $required_type)*);
        }

        impl From<$name> for PrimitiveSchemaDefinition {
            fn from(schema: $name) -> Self {
                Self::$variant(schema)
            }
        }
    };
}

literal!(StringType = "string");
literal!(BooleanType = "boolean");
literal!(ArrayType = "array");

/// The type of the values of a number field: any number, or only integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum NumberType {
    Number,
    Integer,
}

required!(NumberType);

field_schema! {
    /// A text field.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::{ElicitSchema, StringFormat, StringSchema};
    /// use serde_json::json;
    ///
    /// let email = StringSchema::new().title("Your address").format(StringFormat::Email);
    /// let form = ElicitSchema::default().required("email", email);
    /// assert_eq!(
    ///     json!(form)["properties"]["email"],
    ///     json!({ "type": "string", "title": "Your address", "format": "email" }),
    /// );
    /// ```
    StringSchema as String: String;
    kind: StringType;
    required {}
    optional {
        /// The minimum number of characters in the text.
        min_length = "minLength": u64, as Whole;
        /// The maximum number of characters in the text.
        max_length = "maxLength": u64, as Whole;
        /// The format of the text.
        format: StringFormat;
    }
}

field_schema! {
    /// A number field.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::{ElicitSchema, NumberSchema};
    /// use serde_json::json;
    ///
    /// let nights = NumberSchema::integer().title("Nights").minimum(1).default(2);
    /// let form = ElicitSchema::default().required("nights", nights);
    /// assert_eq!(form.defaults()["nights"], 2);
    /// ```
    NumberSchema as Number: f64, as Number;
    kind: NumberType;
    required {}
    optional {
        /// The minimum value of the number.
        minimum: f64, as Number;
        /// The maximum value of the number.
        maximum: f64, as Number;
    }
}

field_schema! {
    /// A boolean field: yes or no.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::{BooleanSchema, ElicitSchema};
    ///
    /// let form = ElicitSchema::default()
    ///     .optional("breakfast", BooleanSchema::new().title("With breakfast").default(true));
    /// assert_eq!(form.defaults()["breakfast"], true);
    /// ```
    BooleanSchema as Boolean: bool;
    kind: BooleanType;
    required {}
    optional {}
}

field_schema! {
    /// A single choice from texts.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::{ElicitSchema, UntitledSingleSelectEnumSchema};
    /// use serde_json::json;
    ///
    /// let color = UntitledSingleSelectEnumSchema::new(["red", "blue"]).default("blue");
    /// let form = ElicitSchema::default().required("color", color);
    /// assert_eq!(json!(form)["properties"]["color"]["enum"], json!(["red", "blue"]));
    /// ```
    UntitledSingleSelectEnumSchema as UntitledSingleSelect: String;
    kind: StringType;
    required {
        /// The allowed values.
        values = "enum": Vec<String>,
    }
    optional {}
}

field_schema! {
    /// A single choice from texts that have titles. Since 2025-11-25.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::{ElicitSchema, EnumOption, TitledSingleSelectEnumSchema};
    /// use serde_json::json;
    ///
    /// let options = [EnumOption::new("s", "Small"), EnumOption::new("l", "Large")];
    /// let size = TitledSingleSelectEnumSchema::new(options).default("l");
    /// let form = ElicitSchema::default().required("size", size);
    /// let first = &json!(form)["properties"]["size"]["oneOf"][0];
    /// assert_eq!(*first, json!({ "const": "s", "title": "Small" }));
    /// ```
    TitledSingleSelectEnumSchema as TitledSingleSelect: String;
    kind: StringType;
    required {
        /// The allowed values, with their titles.
        one_of = "oneOf": Vec<EnumOption>,
    }
    optional {}
}

field_schema! {
    /// A multiple choice from texts. Since 2025-11-25.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::{ElicitSchema, UntitledMultiSelectEnumSchema};
    /// use serde_json::json;
    ///
    /// let days = UntitledMultiSelectEnumSchema::new(["Sat", "Sun"]).min_items(1);
    /// let form = ElicitSchema::default().required("days", days);
    /// assert_eq!(json!(form)["properties"]["days"]["items"]["enum"], json!(["Sat", "Sun"]));
    /// ```
    UntitledMultiSelectEnumSchema as UntitledMultiSelect: Vec<String>;
    kind: ArrayType;
    required {
        /// The allowed values.
        items: UntitledItems,
    }
    optional {
        /// The minimum number of values that the user has to choose.
        min_items = "minItems": u64, as Whole;
        /// The maximum number of values that the user can choose.
        max_items = "maxItems": u64, as Whole;
    }
}

field_schema! {
    /// A multiple choice from texts that have titles. Since 2025-11-25.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::{ElicitSchema, EnumOption, TitledMultiSelectEnumSchema};
    /// use serde_json::json;
    ///
    /// let options = [EnumOption::new("ch", "Cheese"), EnumOption::new("ol", "Olives")];
    /// let toppings = TitledMultiSelectEnumSchema::new(options).max_items(2);
    /// let form = ElicitSchema::default().optional("toppings", toppings);
    /// assert_eq!(json!(form)["properties"]["toppings"]["items"]["anyOf"][1]["const"], "ol");
    /// ```
    TitledMultiSelectEnumSchema as TitledMultiSelect: Vec<String>;
    kind: ArrayType;
    required {
        /// The allowed values, with their titles.
        items: TitledItems,
    }
    optional {
        /// The minimum number of values that the user has to choose.
        min_items = "minItems": u64, as Whole;
        /// The maximum number of values that the user can choose.
        max_items = "maxItems": u64, as Whole;
    }
}

field_schema! {
    /// A single choice from texts that have titles, in the format of 2025-06-18. Later revisions
    /// know this format but advise against it.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::{EnumOption, LegacyTitledEnumSchema};
    /// use serde_json::json;
    ///
    /// let options = [EnumOption::new("s", "Small"), EnumOption::new("l", "Large")];
    /// assert_eq!(
    ///     json!(LegacyTitledEnumSchema::new(options)),
    ///     json!({ "type": "string", "enum": ["s", "l"], "enumNames": ["Small", "Large"] }),
    /// );
    /// ```
    LegacyTitledEnumSchema as LegacyTitled: String;
    kind: StringType;
    required {
        /// The allowed values.
        values = "enum": Vec<String>,
    }
    optional {
        /// The titles of the allowed values, in the order of the values.
        enum_names = "enumNames": Vec<String>;
    }
}

impl StringSchema {
    /// Makes a text field.
    pub fn new() -> Self {
        Self::make(StringType)
    }
}

impl Default for StringSchema {
    fn default() -> Self {
        Self::new()
    }
}

impl NumberSchema {
    /// Makes a number field.
    pub fn number() -> Self {
        Self::make(NumberType::Number)
    }

    /// Makes an integer field.
    pub fn integer() -> Self {
        Self::make(NumberType::Integer)
    }

    /// Whether the value of the field has to be an integer.
    pub fn is_integer(&self) -> bool {
        self.kind == NumberType::Integer
    }
}

impl BooleanSchema {
    /// Makes a boolean field.
    pub fn new() -> Self {
        Self::make(BooleanType)
    }
}

impl Default for BooleanSchema {
    fn default() -> Self {
        Self::new()
    }
}

impl UntitledSingleSelectEnumSchema {
    /// Makes a single choice from these texts.
    pub fn new<T: Into<String>>(values: impl IntoIterator<Item = T>) -> Self {
        Self::make(StringType, values.into_iter().map(Into::into).collect())
    }
}

impl TitledSingleSelectEnumSchema {
    /// Makes a single choice from these texts with titles. Since 2025-11-25.
    pub fn new(options: impl Into<Vec<EnumOption>>) -> Self {
        Self::make(StringType, options.into())
    }
}

impl UntitledMultiSelectEnumSchema {
    /// Makes a multiple choice from these texts. Since 2025-11-25.
    pub fn new<T: Into<String>>(values: impl IntoIterator<Item = T>) -> Self {
        let values = values.into_iter().map(Into::into).collect();
        Self::make(
            ArrayType,
            UntitledItems {
                kind: StringType,
                values,
            },
        )
    }
}

impl TitledMultiSelectEnumSchema {
    /// Makes a multiple choice from these texts with titles. Since 2025-11-25.
    pub fn new(options: impl Into<Vec<EnumOption>>) -> Self {
        let any_of = options.into();
        Self::make(ArrayType, TitledItems { any_of })
    }
}

impl LegacyTitledEnumSchema {
    /// Makes a single choice from these texts with titles, in the only format that 2025-06-18
    /// knows.
    pub fn new(options: impl Into<Vec<EnumOption>>) -> Self {
        let (values, titles): (_, Vec<String>) = options
            .into()
            .into_iter()
            .map(|option| (option.value, option.title))
            .unzip();
        Self::make(StringType, values).enum_names(titles)
    }
}

object! {
    /// An allowed value of a choice, with its title.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::{EnumOption, TitledSingleSelectEnumSchema};
    ///
    /// let countries = [("IT", "Italy"), ("KR", "South Korea")];
    /// let options: Vec<_> =
    ///     countries.into_iter().map(|(code, name)| EnumOption::new(code, name)).collect();
    /// let country = TitledSingleSelectEnumSchema::new(options).title("Country");
    /// assert_eq!(country.one_of[1].title, "South Korea");
    /// ```
    #[derive(Clone, Debug, PartialEq)]
    pub struct EnumOption {
        /// The text that the answer contains if the user chooses this option.
        pub value: String = "const",
        /// The title of the option, which is shown to the user.
        pub title: String,
    }

    /// Makes an option from a value and its title.
    pub fn new(value: impl Into<String>, title: impl Into<String>);
}

object! {
    /// The allowed values of a multiple choice.
    #[derive(Clone, Debug, PartialEq)]
    pub struct UntitledItems {
        kind: StringType = "type",
        /// The allowed values.
        pub values: Vec<String> = "enum",
    }
}

object! {
    /// The allowed values of a multiple choice, with their titles.
    #[derive(Clone, Debug, PartialEq)]
    pub struct TitledItems {
        /// The allowed values, with their titles.
        pub any_of: Vec<EnumOption> = "anyOf",
    }
}

open_enum! {
    /// The format of the text in a text field.
    pub enum StringFormat {
        /// An email address.
        Email = "email",
        /// A URI.
        Uri = "uri",
        /// A date.
        Date = "date",
        /// A date and time.
        DateTime = "date-time",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_told_apart_by_what_only_they_have() {
        fn check(json: &str, kind: &str) {
            let read = serde_json::from_str::<PrimitiveSchemaDefinition>(json).ok();
            let debug = read.as_ref().map(|schema| format!("{schema:?}"));
            let name = debug.as_deref().and_then(|text| text.split('(').next());
            assert_eq!(name.unwrap_or("none"), kind, "{json}");
            if let Some(schema) = read {
                let again: serde_json::Value = serde_json::to_value(&schema).expect("JSON");
                let value: serde_json::Value = serde_json::from_str(json).expect("JSON");
                assert_eq!(again, value);
            }
        }
        check(r#"{"type":"string"}"#, "String");
        check(
            r#"{"type":"string","format":"phone","pattern":"x"}"#,
            "String",
        );
        check(r#"{"type":"string","enum":["a"]}"#, "UntitledSingleSelect");
        check(
            r#"{"type":"string","enum":["a"],"enumNames":["A"]}"#,
            "LegacyTitled",
        );
        check(
            r#"{"type":"string","oneOf":[{"const":"a","title":"A"}],"enum":["a"]}"#,
            "TitledSingleSelect",
        );
        check(
            r#"{"type":"array","items":{"type":"string","enum":["a"]}}"#,
            "UntitledMultiSelect",
        );
        check(
            r#"{"type":"array","items":{"anyOf":[{"const":"a","title":"A"}]}}"#,
            "TitledMultiSelect",
        );
        check(r#"{"type":"integer","minimum":1}"#, "Number");
        check(r#"{"type":"boolean","default":false}"#, "Boolean");
        check(r#"{"type":"object"}"#, "none");
        check(r#"{"title":"a"}"#, "none");
    }

    #[test]
    fn forms_keep_the_order_of_their_fields() {
        let form = ElicitSchema::default()
            .required("z", StringSchema::new().format("email"))
            .optional("a", NumberSchema::integer().minimum(1.0))
            .optional(
                "m",
                LegacyTitledEnumSchema::new([EnumOption::new("x", "X")]),
            );
        let schema = form.to_schema().expect("finite");
        assert_eq!(
            schema.as_str(),
            r#"{"type":"object","properties":{"z":{"type":"string","format":"email"},"a":{"type":"integer","minimum":1},"m":{"type":"string","enum":["x"],"enumNames":["X"]}},"required":["z"]}"#
        );
        assert_eq!(ElicitSchema::of(&schema).expect("a form"), form);
    }
}
