//! Typed arguments of prompts: declarations that are derived from a struct, and structs that are
//! parsed from texts.
//!
//! The arguments of a prompt are texts. A field that is a number, a `bool` or an enum without data
//! is parsed from its text.
//!
//! Spec: Server Features, Prompts, "Data Types" (every revision).

use std::collections::BTreeMap;

use serde::de::value::{Error, MapDeserializer, StrDeserializer};
use serde::de::{
    DeserializeOwned, Deserializer, Error as _, IntoDeserializer, Unexpected, Visitor,
};
use serde::forward_to_deserialize_any;
#[cfg(feature = "schemars")]
use serde_json::Value;

#[cfg(feature = "schemars")]
use super::derived;
#[cfg(feature = "schemars")]
use crate::error::{self};
use crate::error::{Excerpt, RpcError};
use crate::jsonrpc::typed;
#[cfg(feature = "schemars")]
use crate::schema::{Prompt, PromptArgument};

/// Returns the prompt with the arguments that the struct `A` declares. Arguments that the prompt
/// declares itself are kept. They must include the arguments that `A` declares.
#[cfg(feature = "schemars")]
pub(super) fn typed_prompt<A: schemars::JsonSchema>(mut prompt: Prompt) -> error::Result<Prompt> {
    let result = arguments_of::<A>().and_then(|derived| match &mut prompt.arguments {
        Some(declared) if !declared.is_empty() => compare(declared, &derived),
        _ if derived.is_empty() => Ok(()),
        arguments => {
            *arguments = Some(derived);
            Ok(())
        }
    });
    match result {
        Ok(()) => Ok(prompt),
        Err(error) => Err(error.context(format_args!("prompt '{}'", Excerpt(&prompt.name)))),
    }
}

/// Checks that a prompt declares each argument of its handler's type.
#[cfg(feature = "schemars")]
fn compare(declared: &[PromptArgument], derived: &[PromptArgument]) -> error::Result<()> {
    for argument in derived {
        let found = declared.iter().find(|it| it.name == argument.name);
        let problem = match found {
            None => "which the prompt does not declare",
            Some(found) if argument.is_required() && !found.is_required() => {
                "which the prompt does not declare as required"
            }
            Some(_) => continue,
        };
        return Err(error::Error::invalid(format!(
            "its handler takes the argument '{}', {problem}",
            Excerpt(&argument.name)
        )));
    }
    Ok(())
}

/// Returns the arguments that the fields of `A` declare: first the required ones, in the order of
/// the fields. A type without fields, such as a map, declares no arguments.
#[cfg(feature = "schemars")]
fn arguments_of<A: schemars::JsonSchema>() -> error::Result<Vec<PromptArgument>> {
    let schema = derived::schema_of::<A>();
    if schema["type"] == "null" || derived::accepts_anything(&schema) {
        return Ok(Vec::new());
    }
    let is_combined = ["$ref", "allOf", "anyOf", "oneOf"]
        .iter()
        .any(|keyword| schema.get(keyword).is_some());
    if schema["type"] != "object" || is_combined {
        let text = format!("'{}' is not a struct with fields", A::schema_name());
        return Err(error::Error::invalid(text));
    }
    let required = schema["required"].as_array();
    let place = |name: &str| required?.iter().position(|field| field == name);
    let mut arguments = Vec::new();
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        if !is_text(field) {
            return Err(error::Error::invalid(format!(
                "the argument '{}' can't be parsed from a text: use a String, a number, a bool, \
                 an enum without data, or an Option of these",
                Excerpt(name)
            )));
        }
        let text = |member: &str| field[member].as_str().map(str::to_owned);
        let mut argument = PromptArgument::new(name);
        argument.title = text("title");
        argument.description = text("description");
        argument.required = place(name).map(|_| true);
        arguments.push(argument);
    }
    arguments.sort_by_key(|argument| place(&argument.name).unwrap_or(usize::MAX));
    Ok(arguments)
}

/// Returns whether the values of a field can be parsed from texts. An optional field may also be
/// null, which no text stands for.
#[cfg(feature = "schemars")]
fn is_text(schema: &Value) -> bool {
    const SCALARS: [&str; 4] = ["boolean", "integer", "number", "string"];
    let is_scalar = |kind: &Value| kind.as_str().is_some_and(|kind| SCALARS.contains(&kind));
    if let Some(alternatives) = schema["anyOf"].as_array() {
        let mut values = alternatives.iter().filter(|it| it["type"] != "null");
        return values.next().is_some_and(is_text) && values.next().is_none();
    }
    // An enum whose variants have descriptions.
    if let Some(variants) = schema["oneOf"].as_array() {
        return variants.iter().all(is_text);
    }
    match &schema["type"] {
        Value::Array(kinds) => {
            let mut kinds = kinds.iter().filter(|kind| *kind != "null");
            kinds.next().is_some_and(is_scalar) && kinds.next().is_none()
        }
        Value::Null => derived::accepts_anything(schema),
        kind => is_scalar(kind),
    }
}

/// Parses the arguments of a call as `A`. An empty object can also be parsed as `()`.
pub(super) fn parsed<A: DeserializeOwned>(arguments: &str) -> Result<A, RpcError> {
    let error = match typed::read(arguments) {
        Ok(read) => return Ok(read),
        Err(error) => error,
    };
    if arguments == "{}"
        && let Ok(unit) = serde_json::from_str("null")
    {
        return Ok(unit);
    }
    let read = match serde_json::from_str(arguments) {
        Ok(texts) => from_texts(&texts).map_err(|error| error.to_string()),
        Err(_) => Err(error),
    };
    read.map_err(|error| RpcError::invalid_params(format!("arguments: {}", Excerpt(&error))))
}

fn from_texts<A: DeserializeOwned>(arguments: &BTreeMap<String, String>) -> Result<A, Error> {
    let fields = arguments.iter().map(|(name, value)| {
        let (name, value) = (name.as_str(), value.as_str());
        (name, Text { name, value })
    });
    A::deserialize(MapDeserializer::new(fields))
}

/// A deserializer of one argument: numbers, booleans and enums are parsed from the text.
#[derive(Clone, Copy)]
struct Text<'a> {
    /// The name of the argument, for errors.
    name: &'a str,
    value: &'a str,
}

impl Text<'_> {
    fn at(self, error: Error) -> Error {
        Error::custom(format_args!("/{}: {error}", self.name))
    }
}

macro_rules! parse {
    ($($function:ident as $type:ty: $visit:ident),+) => {
        $(fn $function<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            let read = match self.value.parse::<$type>() {
                Ok(value) => visitor.$visit(value),
                Err(_) => Err(Error::invalid_value(Unexpected::Str(self.value), &visitor)),
            };
            read.map_err(|error| self.at(error))
        })+
    };
}

impl<'de> Deserializer<'de> for Text<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let read = visitor.visit_str(self.value);
        read.map_err(|error| self.at(error))
    }

    parse!(
        deserialize_bool as bool: visit_bool,
        deserialize_i8 as i8: visit_i8,
        deserialize_i16 as i16: visit_i16,
        deserialize_i32 as i32: visit_i32,
        deserialize_i64 as i64: visit_i64,
        deserialize_i128 as i128: visit_i128,
        deserialize_u8 as u8: visit_u8,
        deserialize_u16 as u16: visit_u16,
        deserialize_u32 as u32: visit_u32,
        deserialize_u64 as u64: visit_u64,
        deserialize_u128 as u128: visit_u128
    );

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_f64(visitor)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        // Rust parses "inf" and "NaN" too, which are not numbers of JSON.
        let number = self
            .value
            .parse()
            .ok()
            .filter(|number: &f64| number.is_finite());
        let read = match number {
            Some(number) => visitor.visit_f64(number),
            None => Err(Error::invalid_value(Unexpected::Str(self.value), &visitor)),
        };
        read.map_err(|error| self.at(error))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let read = visitor.visit_enum(StrDeserializer::new(self.value));
        read.map_err(|error| self.at(error))
    }

    forward_to_deserialize_any! {
        char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct
        identifier ignored_any
    }
}

impl<'de> IntoDeserializer<'de, Error> for Text<'_> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}
