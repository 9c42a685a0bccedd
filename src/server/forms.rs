//! Typed elicitations: questions to the user whose forms are derived from Rust types.

#[cfg(feature = "schemars")]
use serde::de::DeserializeOwned;
#[cfg(feature = "schemars")]
use serde_json::{Value, json};

use super::ask_error::AskError;
use super::context::Context;
#[cfg(feature = "schemars")]
use super::derived;
#[cfg(feature = "schemars")]
use super::input_rules;
#[cfg(feature = "schemars")]
use crate::error::{Error, Result};
#[cfg(feature = "schemars")]
use crate::schema::{ElicitAction, InputRequest, JsonObject, JsonSchema, ProtocolVersion};
use crate::schema::{ElicitRequestParams, ElicitSchema};

/// The user's response to an elicitation.
///
/// Spec: Client Features, Elicitation, "Response Actions" (2025-06-18 and later).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "the specification has these three actions, and handlers have to treat each"
)]
pub enum Elicited<T> {
    /// The user submitted the form with this content.
    Accepted(T),
    /// The user explicitly declined.
    Declined,
    /// The user dismissed the form without a choice.
    Cancelled,
}

impl<T> Elicited<T> {
    /// Returns the content of the form if the user submitted the form.
    pub fn accepted(self) -> Option<T> {
        match self {
            Self::Accepted(content) => Some(content),
            Self::Declined | Self::Cancelled => None,
        }
    }
}

/// Typed questions to the user.
impl Context {
    /// Asks the user to confirm an action. Returns whether the user accepted. The form that the
    /// user sees has no fields. See [`ask`](Self::ask) for `key`.
    ///
    /// # Errors
    ///
    /// See [`AskError`].
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::server::{Context, HandlerError};
    ///
    /// fn drop_table(context: &Context) -> Result<&'static str, HandlerError> {
    ///     if !context.confirm("sure", "Delete all rows?")? {
    ///         return Ok("nothing was deleted");
    ///     }
    ///     Ok("deleted")
    /// }
    /// ```
    pub fn confirm(&self, key: &str, message: impl Into<String>) -> Result<bool, AskError> {
        let form = ElicitSchema::default().to_schema()?;
        let answer = self.elicit(key, ElicitRequestParams::form(message, form))?;
        Ok(answer.is_accepted())
    }

    /// Asks the user to fill in a form, whose fields are derived from the struct `T`. See
    /// [`ask`](Self::ask) for `key`.
    ///
    /// The fields of `T` are texts, numbers, `bool`, enums without data, lists of such enums, or an
    /// `Option` of one of these types. The documentation of a field becomes its description. A
    /// field with the attribute `#[serde(default)]` or of type `Option` may be left empty. The
    /// fields that must be filled in come first, in the order in which `T` declares them.
    /// [`ServerBuilder::form`](super::ServerBuilder::form) checks the type when the server is
    /// built.
    ///
    /// # Errors
    ///
    /// See [`AskError`]. An [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) failure when `T` is
    /// not a form, or when `T` refuses content that fits the form. If the content does not fit the
    /// form, the user is asked again.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::server::{Context, Elicited, HandlerError};
    /// use schemars::JsonSchema;
    /// use serde::Deserialize;
    ///
    /// #[derive(Deserialize, JsonSchema)]
    /// struct Booking {
    ///     /// The number of seats.
    ///     seats: u8,
    ///     row: Option<String>,
    /// }
    ///
    /// fn book(context: &Context) -> Result<String, HandlerError> {
    ///     match context.elicit_as::<Booking>("booking", "Which seats?")? {
    ///         Elicited::Accepted(booking) => Ok(format!("{} seats", booking.seats)),
    ///         Elicited::Declined | Elicited::Cancelled => Ok("no seats".to_owned()),
    ///     }
    /// }
    /// ```
    #[cfg(feature = "schemars")]
    pub fn elicit_as<T: DeserializeOwned + schemars::JsonSchema>(
        &self,
        key: &str,
        message: impl Into<String>,
    ) -> Result<Elicited<T>, AskError> {
        let form = form_of::<T>().map_err(|error| self.unable(key, error))?;
        let answer = self.elicit(key, ElicitRequestParams::form(message, form))?;
        match answer.action {
            ElicitAction::Accept => {}
            ElicitAction::Decline => return Ok(Elicited::Declined),
            _ => return Ok(Elicited::Cancelled),
        }
        // Some clients leave out the content of a form without required fields.
        let content = answer.read().and_then(|content| match content {
            Some(content) => Ok(content),
            None => JsonSchema::parse("{}")?.read(),
        });
        let content = content.map_err(|error| self.unable(key, error))?;
        Ok(Elicited::Accepted(content))
    }
}

/// Checks that a form can be derived from `T`, and that servers may ask for its fields.
#[cfg(feature = "schemars")]
pub(super) fn check<T: schemars::JsonSchema>() -> Result<()> {
    let question = InputRequest::from(ElicitRequestParams::form("", form_of::<T>()?));
    let checked = input_rules::check(&question, ProtocolVersion::LATEST);
    checked.map_err(|error| error.context(format_args!("form '{}'", T::schema_name())))
}

/// Returns the schema of a form that is derived from `T`. The schema has only keywords that forms
/// may have.
///
/// Spec: Client Features, Elicitation, "Requested Schema" (2025-06-18 and later).
#[cfg(feature = "schemars")]
fn form_of<T: schemars::JsonSchema>() -> Result<JsonSchema> {
    let mut schema = derived::schema_of::<T>();
    if schema["type"] != "object" || !schema["properties"].is_object() {
        let text = format!("'{}' is not a struct with fields", T::schema_name());
        return Err(Error::invalid(text));
    }
    let mut form = json!({ "type": "object", "properties": schema["properties"].take() });
    if let Some(fields) = form["properties"].as_object_mut() {
        fields.values_mut().for_each(simplify);
    }
    if schema["required"].is_array() {
        form["required"] = schema["required"].take();
    }
    let mut form = ElicitSchema::of(&JsonSchema::new(&form)?)?;
    // The members of a JSON object are sorted by name here, but `required` has the declared order.
    let required = &form.required;
    let place = |name: &String| required.iter().position(|field| field == name);
    form.properties
        .sort_by_key(|(name, _)| place(name).unwrap_or(usize::MAX));
    form.to_schema()
}

/// Rewrites the schema of a field with the keywords that forms have: no `null`, no formats that
/// only Rust types have, and enums as one list.
#[cfg(feature = "schemars")]
fn simplify(field: &mut Value) {
    let Some(members) = field.as_object_mut() else {
        return;
    };
    without_null(members);
    let is_known = |format: &Value| {
        ["email", "uri", "date", "date-time"].contains(&format.as_str().unwrap_or(""))
    };
    if members
        .get("format")
        .is_some_and(|format| !is_known(format))
    {
        members.remove("format");
    }
    // Enums whose values have descriptions.
    if let Some(Value::Array(choices)) = members.remove("oneOf") {
        let choices = choices.iter().flat_map(titled);
        members.insert("oneOf".to_owned(), choices.collect());
        members.insert("type".to_owned(), json!("string"));
    }
    if let Some(items) = members.get_mut("items") {
        simplify(items);
        if let Some(choices) = items
            .as_object_mut()
            .and_then(|items| items.remove("oneOf"))
        {
            *items = json!({ "anyOf": choices });
        }
    }
}

/// Removes `null` from the values that a schema allows. In a form, a field without a value is left
/// out instead.
#[cfg(feature = "schemars")]
fn without_null(members: &mut JsonObject) {
    let is_null = |schema: &Value| schema["type"] == "null";
    if let Some(Value::Array(mut schemas)) = members.remove("anyOf") {
        schemas.retain(|schema| !is_null(schema));
        match (schemas.pop(), schemas.is_empty()) {
            (Some(Value::Object(only)), true) => {
                for (name, value) in only {
                    members.entry(name).or_insert(value);
                }
            }
            (Some(last), _) => {
                schemas.push(last);
                members.insert("anyOf".to_owned(), schemas.into());
            }
            (None, _) => {}
        }
    }
    if let Some(Value::Array(types)) = members.get_mut("type") {
        types.retain(|kind| kind != "null");
        if let [kind] = &types[..] {
            let kind = kind.clone();
            members.insert("type".to_owned(), kind);
        }
    }
    if let Some(Value::Array(values)) = members.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if members.get("default").is_some_and(Value::is_null) {
        members.remove("default");
    }
}

/// Returns the values of one alternative of an enum, each with a title.
#[cfg(feature = "schemars")]
fn titled(choice: &Value) -> Vec<Value> {
    let values = match (&choice["const"], &choice["enum"]) {
        (Value::Null, Value::Array(values)) => values.clone(),
        (value, _) => vec![value.clone()],
    };
    let title = [&choice["title"], &choice["description"]];
    let title = title.into_iter().find(|title| title.is_string());
    let choices = values.into_iter().map(|value| {
        let title = title.unwrap_or(&value).clone();
        json!({ "const": value, "title": title })
    });
    choices.collect()
}

#[cfg(all(test, feature = "schemars", not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn required_fields_come_first_in_their_order() {
        #[derive(schemars::JsonSchema)]
        #[expect(dead_code, reason = "only its schema is used")]
        struct Form {
            z: String,
            b: Option<u8>,
            m: bool,
            a: Option<f64>,
        }
        let form = form_of::<Form>().expect("a form");
        let fields = ElicitSchema::of(&form).expect("fields").properties;
        let names: Vec<&str> = fields.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["z", "m", "a", "b"]);
    }
}
