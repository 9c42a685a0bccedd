//! Questions to the user: forms, and the functions with which a handler asks.

use std::ffi::c_char;

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::definition::required;
use super::params::{choice, described, integer, number, sized};
use super::tool::type_of;
use crate::cffi::arg;
use crate::cffi::entry::{Outcome, ffi, free, need, own};
use crate::cffi::error::mcplink_error_t;
use crate::cffi::json::{json_value, mcplink_json_t};
use crate::cffi::refusal::{Refusal, Settings, constructed, set, taken};
use crate::cffi::responder::mcplink_responder_t;
use crate::cffi::status::{mcplink_status, mcplink_status_t};
use crate::cffi::text::{missing, name};
use crate::error::{Error, ErrorKind, Excerpt, Result};
use crate::schema::{
    ElicitRequestParams, ElicitSchema, JsonSchema, PrimitiveSchemaDefinition, ProtocolVersion,
    method,
};

/// A form: a question to the user, with fields to fill in. mcplink_responder_elicit shows it.
///
/// One thread at a time may change a form. Handlers on many threads may show a form that does not
/// change any more.
pub struct mcplink_form_t {
    message: String,
    form: ElicitSchema,
    refusal: Refusal,
}

object!(mcplink_form_t is Form);

impl Settings for mcplink_form_t {
    const TARGET: &'static str = "server";
    const CONSTRUCTOR: Option<&'static str> = Some("mcplink_form_new");

    fn refusal(&self) -> &Refusal {
        &self.refusal
    }

    fn label(&self) -> Option<String> {
        Some(format!("form '{}'", Excerpt(&self.message)))
    }
}

impl mcplink_form_t {
    fn position(&self, field: &str) -> Option<usize> {
        let mut fields = self.form.properties.iter();
        fields.position(|(name, _)| name == field)
    }

    fn add(&mut self, field: &str, flag: i32, schema: &Value) -> Outcome<()> {
        let required = required(flag)?;
        if self.position(field).is_some() {
            let text = format!("the form has a field '{}' already", Excerpt(field));
            return Err(Error::new(ErrorKind::Invalid, text).into());
        }
        self.form.properties.extend(read(field, schema)?);
        self.form
            .required
            .extend(required.then(|| field.to_owned()));
        Ok(())
    }

    fn set_default(&mut self, field: &str, default: Value) -> Outcome<()> {
        let Some(at) = self.position(field) else {
            let text = format!("the form has no field '{}'", Excerpt(field));
            return Err(Error::new(ErrorKind::Invalid, text).into());
        };
        let mut schema = json!(self.form.properties[at].1);
        schema["default"] = default;
        self.form.properties.splice(at..=at, read(field, &schema)?);
        Ok(())
    }
}

/// Reads and checks the schema of a field, and that its default fits. Returns the field.
fn read(field: &str, schema: &Value) -> Result<Vec<(String, PrimitiveSchemaDefinition)>> {
    let schema_of_form = json!({ "type": "object", "properties": { field: schema } });
    let schema_of_form = JsonSchema::new(&schema_of_form)?;
    ElicitSchema::check(&schema_of_form, ProtocolVersion::LATEST)?;
    let form = ElicitSchema::of(&schema_of_form)?;
    if let Some(default) = schema.get("default") {
        let content = serde_json::value::to_raw_value(&json!({ field: default }));
        form.check_content(&content.expect("JSON is JSON"))
            .map_err(|error| error.context("its default does not fit"))?;
    }
    Ok(form.properties)
}

/// Makes a form without fields.
///
/// message: the question, for the user.
/// Returns: the form. The caller owns it and frees it with mcplink_form_free. NULL for an invalid
/// argument; functions that take a form refuse NULL.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_form_new(message: *const c_char) -> *mut mcplink_form_t {
    constructed("mcplink_form_new", "server", || {
        // SAFETY: the header requires text that ends in NUL.
        let message = unsafe { name(message, "message") }?;
        Ok(own(mcplink_form_t {
            message: message.to_owned(),
            form: ElicitSchema::default(),
            refusal: Refusal::default(),
        }))
    })
}

actions! {
    set(form: mcplink_form_t);

    /// Adds a field to the form. Users see the fields in the order in which they were added.
    ///
    /// field: the name of the field, by which the content has its value.
    /// kind: MCPLINK_PARAM_STRING, MCPLINK_PARAM_INTEGER, MCPLINK_PARAM_NUMBER or
    /// MCPLINK_PARAM_BOOLEAN.
    /// flag: MCPLINK_PARAM_REQUIRED if the user has to fill in the field, or
    /// MCPLINK_PARAM_OPTIONAL.
    /// description: the meaning of the field, for the user; NULL for no description.
    /// Returns: MCPLINK_OK, or MCPLINK_E_INVALID, also when the name is in use already, or a form
    /// can't have a field of this type.
    fn mcplink_form_add_field(
        field: *const c_char,
        kind: arg::mcplink_param_type,
        flag: arg::mcplink_param_flag,
        description: *const c_char,
    ) {
        let schema = described(json!({ "type": type_of(kind)? }), description)?;
        form.add(name(field, "field")?, flag, &schema)?;
    }

    /// Adds a field with a JSON Schema, for example with a title, a format or a default. The
    /// protocol defines the schemas that fields can have.
    ///
    /// field: the name of the field.
    /// flag: MCPLINK_PARAM_REQUIRED or MCPLINK_PARAM_OPTIONAL.
    /// schema, len: the JSON Schema of the field, for example {"type":"string","format":"email"};
    /// len may be MCPLINK_NUL for text that ends in NUL.
    /// Returns: MCPLINK_OK, or MCPLINK_E_INVALID, also when the protocol does not allow the schema
    /// for a field, or the default does not fit the schema.
    fn mcplink_form_add_field_schema(
        field: *const c_char,
        flag: arg::mcplink_param_flag,
        schema: *const c_char,
        len: usize,
    ) {
        let (field, schema) = (name(field, "field")?, json_value(schema, len, "schema")?);
        form.add(field, flag, &schema)?;
    }

    /// Adds an integer field with bounds.
    ///
    /// field: the name of the field.
    /// flag: MCPLINK_PARAM_REQUIRED or MCPLINK_PARAM_OPTIONAL.
    /// min, max: the smallest and the largest valid value; INT64_MIN and INT64_MAX for no bound.
    /// description: the meaning of the field, for the user; NULL for no description.
    /// Returns: MCPLINK_OK, or MCPLINK_E_INVALID, also when the name is in use already, or min is
    /// greater than max.
    fn mcplink_form_add_integer(
        field: *const c_char,
        flag: arg::mcplink_param_flag,
        min: i64,
        max: i64,
        description: *const c_char,
    ) {
        let schema = described(integer(min, max)?, description)?;
        form.add(name(field, "field")?, flag, &schema)?;
    }

    /// Adds a number field with bounds.
    ///
    /// field: the name of the field.
    /// flag: MCPLINK_PARAM_REQUIRED or MCPLINK_PARAM_OPTIONAL.
    /// min, max: the smallest and the largest valid value; -INFINITY and INFINITY for no bound.
    /// description: the meaning of the field, for the user; NULL for no description.
    /// Returns: MCPLINK_OK, or MCPLINK_E_INVALID, also when the name is in use already, min is
    /// greater than max, or a bound is NaN.
    fn mcplink_form_add_number(
        field: *const c_char,
        flag: arg::mcplink_param_flag,
        min: f64,
        max: f64,
        description: *const c_char,
    ) {
        let schema = described(number(min, max)?, description)?;
        form.add(name(field, "field")?, flag, &schema)?;
    }

    /// Adds a field in which the user chooses one of several values.
    ///
    /// field: the name of the field.
    /// flag: MCPLINK_PARAM_REQUIRED or MCPLINK_PARAM_OPTIONAL.
    /// values, count: the values, texts that end in NUL; at least one.
    /// description: the meaning of the field, for the user; NULL for no description.
    /// Returns: MCPLINK_OK, or MCPLINK_E_INVALID, also when the name is in use already.
    fn mcplink_form_add_choice(
        field: *const c_char,
        flag: arg::mcplink_param_flag,
        values: *const *const c_char,
        count: usize,
        description: *const c_char,
    ) {
        let schema = described(choice(values, count)?, description)?;
        form.add(name(field, "field")?, flag, &schema)?;
    }

    /// Adds a field in which the user chooses any number of values. The content has them as an
    /// array. Clients of revisions before 2025-11-25 don't know such fields: then asking fails with
    /// MCPLINK_E_INVALID.
    ///
    /// field: the name of the field.
    /// flag: MCPLINK_PARAM_REQUIRED or MCPLINK_PARAM_OPTIONAL.
    /// values, count: the values, texts that end in NUL; at least one.
    /// min_items, max_items: the smallest and the largest valid number of choices; SIZE_MAX as
    /// max_items for no bound.
    /// description: the meaning of the field, for the user; NULL for no description.
    /// Returns: MCPLINK_OK, or MCPLINK_E_INVALID, also when the name is in use already, or
    /// min_items is greater than max_items.
    fn mcplink_form_add_choices(
        field: *const c_char,
        flag: arg::mcplink_param_flag,
        values: *const *const c_char,
        count: usize,
        min_items: usize,
        max_items: usize,
        description: *const c_char,
    ) {
        let schema = json!({ "type": "array", "items": choice(values, count)? });
        let schema = described(sized(schema, min_items, max_items)?, description)?;
        form.add(name(field, "field")?, flag, &schema)?;
    }

    /// Sets the default of a field that was added before: the value that the user sees first.
    ///
    /// field: the name of the field.
    /// value, len: the default as JSON, for example 10 or "name" with its quotes; len may be
    /// MCPLINK_NUL for text that ends in NUL.
    /// Returns: MCPLINK_OK, or MCPLINK_E_INVALID, also when there is no such field, or the default
    /// does not fit its schema.
    fn mcplink_form_set_default_value(field: *const c_char, value: *const c_char, len: usize) {
        let (field, value) = (name(field, "field")?, json_value(value, len, "value")?);
        form.set_default(field, value)?;
    }
}

/// Frees a form. Questions that were sent with it are not affected.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_form_free(form: *mut mcplink_form_t) {
    // SAFETY: the header requires a form of this library, freed once.
    unsafe { free(form) }
}

fallible! {
    need(responder: *mut mcplink_responder_t);

    /// Asks the user to confirm an action. The user sees the message, and no fields. See
    /// mcplink_responder_ask: the handler is run again when the user has answered.
    ///
    /// responder: the responder, of a call of a tool, resource or prompt.
    /// key: identifies this question within the call.
    /// message: the question, for the user.
    /// accepted: receives true if the user agreed; false if the user declined or dismissed the
    /// question, and without an answer.
    /// Returns: the codes of mcplink_responder_ask. For all but MCPLINK_OK, the handler may simply
    /// return.
    fn mcplink_responder_confirm(key: *const c_char, message: *const c_char, accepted: *mut bool) {
        if accepted.is_null() {
            return Err(missing("accepted").into());
        }
        accepted.write(false);
        let (key, message) = (name(key, "key")?, name(message, "message")?);
        let asked = responder.ask(method::ELICITATION_CREATE, |it| it.confirm(key, message))?;
        let Some(agreed) = asked else {
            return Ok(mcplink_status::MCPLINK_PENDING);
        };
        accepted.write(agreed);
    }
}

/// Asks the user to fill in a form. See mcplink_responder_ask: the handler is run again when the
/// user has answered. Content that does not fit the form is not accepted: the user is asked again.
///
/// responder: the responder, of a call of a tool, resource or prompt.
/// key: identifies this question within the call.
/// form: the form, the same in each run of the handler. It remains the caller's.
/// content: receives the content of the form, an object with a member for each field that was
/// filled in, valid as long as the responder; NULL if the user declined or dismissed the form, and
/// without an answer.
/// Returns: the codes of mcplink_responder_ask. For all but MCPLINK_OK, the handler may simply
/// return.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_responder_elicit(
    responder: *mut mcplink_responder_t,
    key: *const c_char,
    form: *const mcplink_form_t,
    content: *mut *const mcplink_json_t,
    err: *mut *mut mcplink_error_t,
) -> mcplink_status_t {
    // SAFETY: the header requires valid arguments: text that ends in NUL, a pointer that can be
    // written to, objects of this library.
    unsafe {
        ffi(err, || {
            let responder = need(responder, "responder")?;
            if content.is_null() {
                return Err(missing("content").into());
            }
            content.write(std::ptr::null());
            let (key, form) = (name(key, "key")?, taken(form, "form")?);
            let params = ElicitRequestParams::form(&form.message, form.form.to_schema()?);
            let answer = responder.ask(method::ELICITATION_CREATE, |it| it.elicit(key, params))?;
            if let Some(answer) = &answer
                && answer.is_accepted()
            {
                // Some clients leave out the content of a form without required fields.
                let filled = answer.content.as_deref().map_or("{}", RawValue::get);
                content.write(responder.show(key, filled)?);
            }
            match answer {
                Some(_) => Ok(mcplink_status::MCPLINK_OK),
                None => Ok(mcplink_status::MCPLINK_PENDING),
            }
        })
    }
}
