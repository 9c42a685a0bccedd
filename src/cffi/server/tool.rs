//! Definitions of tools.

use std::ffi::c_char;

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::definition::required;
use crate::cffi::arg;
use crate::cffi::entry::{Outcome, free, own};
use crate::cffi::json::json_payload;
use crate::cffi::json::typed;
use crate::cffi::refusal::{Refusal, Settings, constructed, set};
use crate::cffi::text::{self, optional};
use crate::error::{Error, ErrorKind, Excerpt, Result};
use crate::schema::{JsonSchema, TaskSupport, Tool, ToolExecution};
use crate::validation::Validator;

/// The definition of a tool that a model can call. One thread at a time may use a definition. A
/// server copies the definitions that are added to it.
pub struct mcplink_tool_t(pub(super) Tool, Params, Refusal);

object!(mcplink_tool_t is Tool);

impl Settings for mcplink_tool_t {
    const TARGET: &'static str = "server";
    const CONSTRUCTOR: Option<&'static str> = Some("mcplink_tool_new");

    fn refusal(&self) -> &Refusal {
        &self.2
    }

    fn label(&self) -> Option<String> {
        Some(format!("tool '{}'", self.0.name))
    }
}

/// The arguments of a tool that were added with mcplink_tool_add_param or
/// mcplink_tool_add_param_schema.
#[derive(Default)]
struct Params {
    properties: Map<String, Value>,
    required: Vec<String>,
}

enumeration! {
    /// The type of an argument of a tool, or of a field of a form.
    #[repr(C)]
    pub enum mcplink_param_type {
        /// A string.
        MCPLINK_PARAM_STRING = 1201,
        /// An integer.
        MCPLINK_PARAM_INTEGER = 1202,
        /// Any number.
        MCPLINK_PARAM_NUMBER = 1203,
        /// A Boolean: true or false.
        MCPLINK_PARAM_BOOLEAN = 1204,
        /// An array of any values.
        MCPLINK_PARAM_ARRAY = 1205,
        /// An object with any members.
        MCPLINK_PARAM_OBJECT = 1206,
    }
}

enumeration! {
    /// A hint for the user about the effects of a tool. A hint is not a guarantee.
    #[repr(C)]
    pub enum mcplink_tool_hint {
        /// The hint that the tool changes nothing. Default: false.
        MCPLINK_HINT_READ_ONLY = 1801,
        /// The hint that the tool may destroy something. Default: true.
        MCPLINK_HINT_DESTRUCTIVE = 1802,
        /// The hint that the tool is idempotent: a repeated call has no further effect. Default:
        /// false.
        MCPLINK_HINT_IDEMPOTENT = 1803,
        /// The hint that the tool interacts with an open world, such as the web. Default: true.
        MCPLINK_HINT_OPEN_WORLD = 1804,
    }
}

enumeration! {
    /// Whether calls of a tool may become tasks.
    #[repr(C)]
    pub enum mcplink_task_support {
        /// The tool does not support tasks: calls of the tool never become tasks.
        MCPLINK_TASK_FORBIDDEN = 1700,
        /// The tool supports tasks: calls of the tool can become tasks.
        MCPLINK_TASK_OPTIONAL = 1701,
        /// The tool requires tasks: calls of the tool must become tasks.
        MCPLINK_TASK_REQUIRED = 1702,
    }
}

impl mcplink_tool_t {
    pub(super) fn add(&mut self, param: &str, flag: i32, schema: Value) -> Outcome<()> {
        let required = required(flag)?;
        check_schema(&schema)
            .map_err(|error| error.context(format_args!("argument '{}'", Excerpt(param))))?;
        let params = &mut self.1;
        if params.properties.contains_key(param) {
            let text = format!("the tool has an argument '{param}' already");
            return Err(Error::new(ErrorKind::Invalid, text).into());
        }
        params.properties.insert(param.to_owned(), schema);
        params.required.extend(required.then(|| param.to_owned()));
        self.update_schema()
    }

    /// Sets the default of an optional argument that was added before.
    pub(super) fn set_default(&mut self, param: &str, default: Value) -> Outcome<()> {
        let Some(schema) = self.1.properties.get_mut(param) else {
            let text = format!("the tool has no argument '{}'", Excerpt(param));
            return Err(Error::new(ErrorKind::Invalid, text).into());
        };
        if self.1.required.iter().any(|name| name == param) {
            let text = format!(
                "argument '{}' is required: it needs no default",
                Excerpt(param)
            );
            return Err(Error::new(ErrorKind::Invalid, text).into());
        }
        let Value::Object(members) = &*schema else {
            let text = format!("the schema of argument '{}' is no object", Excerpt(param));
            return Err(Error::new(ErrorKind::Invalid, text).into());
        };
        let mut members = members.clone();
        members.insert("default".to_owned(), default);
        let changed = Value::Object(members);
        check_schema(&changed)
            .map_err(|error| error.context(format_args!("argument '{}'", Excerpt(param))))?;
        *schema = changed;
        self.update_schema()
    }

    /// Makes the input schema of the arguments that were added.
    fn update_schema(&mut self) -> Outcome<()> {
        let params = &self.1;
        let mut schema = json!({ "type": "object", "properties": params.properties });
        if !params.required.is_empty() {
            schema["required"] = json!(params.required);
        }
        self.0.input_schema = JsonSchema::new(&schema)?;
        Ok(())
    }
}

/// Checks the schema of an argument, and its default.
fn check_schema(schema: &Value) -> Result<()> {
    let compiled = Validator::for_own_schemas().compile(&JsonSchema::new(schema)?)?;
    match schema.get("default") {
        Some(default) => compiled
            .check(&default.to_string())
            .map_err(|error| error.context("its default does not fit")),
        None => Ok(()),
    }
}

pub(super) fn type_of(kind: i32) -> Result<&'static str> {
    use mcplink_param_type as Type;
    Ok(match Type::read(kind, "type")? {
        Type::MCPLINK_PARAM_STRING => "string",
        Type::MCPLINK_PARAM_INTEGER => "integer",
        Type::MCPLINK_PARAM_NUMBER => "number",
        Type::MCPLINK_PARAM_BOOLEAN => "boolean",
        Type::MCPLINK_PARAM_ARRAY => "array",
        Type::MCPLINK_PARAM_OBJECT => "object",
    })
}

/// Makes the definition of a tool.
///
/// name: the name of the tool, for programs: letters, digits, "_", "-" and ".".
/// description: the purpose of the tool, for models; NULL for no description.
/// Returns: the definition. The caller owns it and frees it with mcplink_tool_free. NULL for an
/// invalid argument; functions that take a definition refuse NULL.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_tool_new(
    name: *const c_char,
    description: *const c_char,
) -> *mut mcplink_tool_t {
    constructed("mcplink_tool_new", "server", || {
        // SAFETY: the header requires texts that end in NUL.
        let (name, description) = unsafe {
            (
                text::name(name, "name")?,
                optional(description, "description")?,
            )
        };
        let mut tool = Tool::new(name).input_schema(JsonSchema::any_object());
        tool.description = description.map(str::to_owned);
        let tool = mcplink_tool_t(tool, Params::default(), Refusal::default());
        Ok(own(tool))
    })
}

actions! {
    set(tool: mcplink_tool_t);

    /// Adds an argument to the tool. The input schema of the tool is made of all added arguments.
    ///
    /// A call with invalid arguments is refused before the callback runs: a required argument is
    /// missing, or an argument has another type. The model gets a result with isError, whose text
    /// names the argument and the expected value. mcplink_server_options_clear_validation turns
    /// these checks off.
    ///
    /// param: the name of the argument.
    /// kind: the type of the argument.
    /// flag: MCPLINK_PARAM_REQUIRED or MCPLINK_PARAM_OPTIONAL.
    /// description: the meaning of the argument, for models; NULL for no description.
    /// Returns: MCPLINK_OK, or MCPLINK_E_INVALID, also when the name is in use already.
    fn mcplink_tool_add_param(
        param: *const c_char,
        kind: arg::mcplink_param_type,
        flag: arg::mcplink_param_flag,
        description: *const c_char,
    ) {
        let (param, description) = (
            text::name(param, "param")?,
            optional(description, "description")?,
        );
        let mut schema = json!({ "type": type_of(kind)? });
        if let Some(description) = description {
            schema["description"] = json!(description);
        }
        tool.add(param, flag, schema)?;
    }

    /// Adds an argument with a JSON Schema, for example with choices, bounds, items or a default.
    ///
    /// Calls are checked as for mcplink_tool_add_param. Every build checks the keywords type, enum,
    /// const, minimum, maximum, exclusiveMinimum, exclusiveMaximum, minLength, maxLength, minItems,
    /// maxItems, required, properties with additionalProperties, and items. A build with
    /// "validation" (mcplink_has_feature) checks the complete schema. The functions that read one
    /// argument, such as mcplink_request_string, return the default for a call without the
    /// argument. mcplink_request_args contains the arguments of the call only.
    ///
    /// param: the name of the argument.
    /// flag: MCPLINK_PARAM_REQUIRED or MCPLINK_PARAM_OPTIONAL.
    /// schema, len: the JSON Schema of the argument, for example {"enum":["red","green"]}; len may
    /// be MCPLINK_NUL for text that ends in NUL.
    /// Returns: MCPLINK_OK, or MCPLINK_E_INVALID, also when a keyword of the schema is invalid, or
    /// the default does not fit the schema.
    fn mcplink_tool_add_param_schema(
        param: *const c_char,
        flag: arg::mcplink_param_flag,
        schema: *const c_char,
        len: usize,
    ) {
        let (param, schema) = (
            text::name(param, "param")?,
            json_payload(schema, len, "schema")?,
        );
        let schema: Value = JsonSchema::parse(schema.get())?.read()?;
        tool.add(param, flag, schema)?;
    }

    /// Sets the complete input schema of the tool. The schema replaces all arguments that were
    /// added before. An argument that is added later replaces the schema. Clients receive the
    /// schema unchanged, with one exception: if "properties" is missing, an empty "properties"
    /// object is added, which some models need.
    ///
    /// schema, len: a JSON Schema of an object; len may be MCPLINK_NUL for text that ends in NUL.
    fn mcplink_tool_set_input_schema(schema: *const c_char, len: usize) {
        let schema = json_payload(schema, len, "schema")?;
        let schema = JsonSchema::parse(schema.get())?;
        schema.check_input()?;
        (tool.0.input_schema, tool.1) = (schema, Params::default());
    }

    /// Sets the output schema of the tool. Values that handlers pass to
    /// mcplink_responder_structured must match the schema.
    ///
    /// schema, len: a JSON Schema, which is sent to clients unchanged; len may be MCPLINK_NUL for
    /// text that ends in NUL. NULL for no schema.
    fn mcplink_tool_set_output_schema(schema: *const c_char, len: usize) {
        let schema = typed::<Box<RawValue>>(schema, len, "schema")?;
        let schema = schema.map(|schema| JsonSchema::parse(schema.get()));
        tool.0.output_schema = schema.transpose()?;
    }
}

actions! {
    set(tool: mcplink_tool_t);

    /// Sets the display name of the tool.
    ///
    /// title: the title; NULL for no title.
    fn mcplink_tool_set_title(title: *const c_char) {
        tool.0.title = optional(title, "title")?.map(str::to_owned);
    }

    /// Sets the icons of the tool: an array of objects with "src".
    ///
    /// icons, len: the icons, as JSON; len may be MCPLINK_NUL for text that ends in NUL. NULL for
    /// no icons.
    /// Returns: MCPLINK_OK, or MCPLINK_E_INVALID when the JSON is invalid for the protocol.
    fn mcplink_tool_set_icons(icons: *const c_char, len: usize) {
        tool.0.icons = typed(icons, len, "icons")?;
    }

    /// Sets the metadata ("_meta") of the tool: an object.
    ///
    /// meta, len: the metadata, as JSON; len may be MCPLINK_NUL for text that ends in NUL. NULL for
    /// no metadata.
    /// Returns: MCPLINK_OK, or MCPLINK_E_INVALID when the JSON is invalid for the protocol.
    fn mcplink_tool_set_meta(meta: *const c_char, len: usize) {
        tool.0.meta = typed(meta, len, "meta")?;
    }

    /// Sets a hint about the effects of the tool.
    ///
    /// hint: the hint.
    /// enabled: true if the hint applies to the tool.
    fn mcplink_tool_set_hint(hint: arg::mcplink_tool_hint, enabled: bool) {
        use mcplink_tool_hint as Hint;
        let annotations = tool.0.annotations.get_or_insert_default();
        let field = match Hint::read(hint, "hint")? {
            Hint::MCPLINK_HINT_READ_ONLY => &mut annotations.read_only_hint,
            Hint::MCPLINK_HINT_DESTRUCTIVE => &mut annotations.destructive_hint,
            Hint::MCPLINK_HINT_IDEMPOTENT => &mut annotations.idempotent_hint,
            Hint::MCPLINK_HINT_OPEN_WORLD => &mut annotations.open_world_hint,
        };
        *field = Some(enabled);
    }

    /// Sets whether calls of the tool may become tasks. The setting has an effect only on servers
    /// with mcplink_server_options_set_tasks.
    ///
    /// support: whether calls may or must become tasks. Default: MCPLINK_TASK_FORBIDDEN.
    fn mcplink_tool_set_task_support(support: arg::mcplink_task_support) {
        use mcplink_task_support as Support;
        let support = match Support::read(support, "task support")? {
            Support::MCPLINK_TASK_FORBIDDEN => TaskSupport::Forbidden,
            Support::MCPLINK_TASK_OPTIONAL => TaskSupport::Optional,
            Support::MCPLINK_TASK_REQUIRED => TaskSupport::Required,
        };
        tool.0.execution = Some(ToolExecution::default().task_support(support));
    }
}

/// Frees the definition of a tool. Servers to which it was added keep a copy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_tool_free(tool: *mut mcplink_tool_t) {
    // SAFETY: the header requires a tool of this library, freed once.
    unsafe { free(tool) }
}
