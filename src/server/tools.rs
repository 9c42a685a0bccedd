//! The tools of a server.

use std::sync::Arc;

use super::call::ToolCall;
use super::catalogue::{self, Catalogue, listed};
use super::context::Context;
#[cfg(feature = "schemars")]
use super::derived;
use super::output::ToolOutput;
use super::output_check::OutputCheck;
use crate::error::{Error, Excerpt, Result};
use crate::schema::{JsonSchema, ListToolsResult, Tool};
#[cfg(feature = "http-server")]
use crate::transport::http::field::Mirrored;
use crate::validation::{CompiledSchema, Validator};
use serde::de::DeserializeOwned;
#[cfg(feature = "schemars")]
use serde_json::json;

pub(super) type ToolHandler = Arc<dyn Fn(ToolCall) + Send + Sync>;
pub(super) type Tools = Catalogue<Tool, Work>;
/// A tool and its handler.
pub(super) type Entry = catalogue::Entry<Tool, Work>;

listed!(Tool in ListToolsResult of Tools, "tool", name, Tool);

/// A tool that is to be added.
pub(super) struct NewTool {
    pub(super) tool: Tool,
    pub(super) handler: ToolHandler,
    /// Whether the input schema was derived from the type of the arguments.
    pub(super) derived_input: bool,
    /// Whether the output schema was derived from the type of the result.
    pub(super) derived_output: bool,
}

impl NewTool {
    /// Returns a tool whose schemas were not derived.
    pub(super) fn new(tool: Tool, handler: ToolHandler) -> Self {
        Self {
            tool,
            handler,
            derived_input: false,
            derived_output: false,
        }
    }
}

/// The handler of a tool, and the checks of its arguments and results.
pub(super) struct Work {
    pub(super) handler: ToolHandler,
    /// The compiled input schema, which checks arguments before the handler runs. `None` if the
    /// server has no validator, or if the handler's type makes the checks.
    arguments: Option<CompiledSchema>,
    pub(super) output_check: OutputCheck,
}

impl Work {
    /// Checks arguments against the tool's input schema. Arguments without a compiled schema are
    /// only checked when they are parsed as the handler's type.
    pub(super) fn check_arguments(&self, arguments: &str) -> Result<()> {
        match &self.arguments {
            Some(schema) => schema.check(arguments),
            None => Ok(()),
        }
    }
}

/// Adds a tool after checking its name and schemas.
pub(super) fn add(tools: &Tools, new: NewTool, validator: Option<&Validator>) -> Result<()> {
    check_name(&new.tool.name)?;
    let checks = compile(&new, validator)
        .map_err(|error| error.context(format_args!("tool '{}'", new.tool.name)))?;
    let (arguments, output_check) = checks;
    let NewTool {
        mut tool, handler, ..
    } = new;
    #[cfg(feature = "http-server")]
    Mirrored::in_schema(tool.input_schema.as_str()).map_err(|why| {
        Error::invalid(format!(
            "tool '{}': its input schema can't be used: {why}",
            tool.name
        ))
    })?;
    tool.input_schema = tool.input_schema.with_properties();
    let work = Work {
        handler,
        arguments,
        output_check,
    };
    tools.add(tool, work)
}

/// Compiles the schemas of a tool: the checks of its arguments, and of its results.
fn compile(
    new: &NewTool,
    validator: Option<&Validator>,
) -> Result<(Option<CompiledSchema>, OutputCheck)> {
    let tool = &new.tool;
    if tool.input_schema.is_placeholder() {
        let text = "it has no input schema: set one with Tool::input_schema, or any object with \
                    JsonSchema::any_object";
        return Err(Error::invalid(text));
    }
    tool.input_schema.check_input()?;
    let compile = |name: &str, schema: &JsonSchema, is_derived: bool| {
        let Some(validator) = validator else {
            return Ok(None);
        };
        let compiled = match is_derived {
            true => validator.compile_derived(schema),
            false => validator.compile(schema).map(Some),
        };
        compiled.map_err(|error| error.context(name.to_owned()))
    };
    let arguments = compile("inputSchema", &tool.input_schema, new.derived_input)?;
    let output_check = match &tool.output_schema {
        None => OutputCheck::Nothing,
        Some(schema) => compile("outputSchema", schema, new.derived_output)?
            .map_or(OutputCheck::Structured, OutputCheck::Fitting),
    };
    Ok((arguments, output_check))
}

/// Checks that the name of a tool has a valid length and only valid characters.
///
/// Spec: Server Features, Tools, "Tool Names" (2025-11-25 and later).
fn check_name(name: &str) -> Result<()> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    if (1..=128).contains(&name.len()) && name.bytes().all(allowed) {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "'{}' is not a tool name: use 1 to 128 of the characters A-Z a-z 0-9 _ - .",
        Excerpt(name)
    )))
}

/// Returns the JSON Schema of a type that is used as a tool's arguments. Arguments are always an
/// object. So for `()`, returns the schema of an object without members. For a type that accepts
/// any JSON, returns the schema of any object.
///
/// Spec: Server Features, Tools, "Tool" (2025-11-25, 2026-07-28).
#[cfg(feature = "schemars")]
pub(super) fn schema_of_arguments<T: schemars::JsonSchema>() -> Result<JsonSchema> {
    let schema = derived::schema_of::<T>();
    if schema.get("type") == Some(&json!("null")) {
        return JsonSchema::new(&json!({"type": "object", "additionalProperties": false}));
    }
    if derived::accepts_anything(&schema) {
        return Ok(JsonSchema::any_object());
    }
    JsonSchema::new(&schema)
}

/// Returns `tool` with both schemas and its handler: a missing schema is derived from the type `A`
/// or `R`.
#[cfg(feature = "schemars")]
pub(super) fn typed_tool<A, R>(
    tool: Tool,
    handler: impl Fn(A, &Context) -> R + Send + Sync + 'static,
) -> Result<NewTool>
where
    A: DeserializeOwned + schemars::JsonSchema,
    R: ToolOutput,
{
    let mut new = NewTool::new(tool, answering(handler));
    let tool = &mut new.tool;
    if tool.input_schema.is_placeholder() {
        let schema = schema_of_arguments::<A>();
        tool.input_schema =
            schema.map_err(|error| error.context(format_args!("tool '{}'", tool.name)))?;
        new.derived_input = true;
    }
    if tool.output_schema.is_none() {
        tool.output_schema = R::output_schema();
        new.derived_output = true;
    }
    Ok(new)
}

/// Returns a tool handler that runs `handler` and answers the call with the return value. Invalid
/// arguments are reported as a failure of the tool, so that the model can correct them.
// AMB-16
pub(super) fn answering<A, R>(
    handler: impl Fn(A, &Context) -> R + Send + Sync + 'static,
) -> ToolHandler
where
    A: DeserializeOwned,
    R: ToolOutput,
{
    Arc::new(move |call: ToolCall| {
        let answered = match call.arguments::<A>() {
            Ok(arguments) => {
                let output = handler(arguments, call.context());
                call.respond(output)
            }
            Err(error) => call.respond(Err::<(), _>(error)),
        };
        // Answering fails when the client no longer waits, which is not the handler's fault.
        drop(answered);
    })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::num::NonZeroUsize;

    use serde_json::value::RawValue;

    use super::*;
    use crate::error::ErrorKind;
    use crate::schema::{CacheHint, JsonSchema, ProtocolVersion};
    use crate::server::catalogue::Paging;
    use crate::server::paging::{Cursor, Paged};

    fn add(tools: &Tools, name: &str) -> Result<()> {
        let tool = Tool::new(name).input_schema(JsonSchema::any_object());
        super::add(tools, NewTool::new(tool, Arc::new(|_| {})), None)
    }

    // M-TOOL-S-12, M-TOOL-S-14, M-TOOL-S-15, L-TOOL-S-07, L-TOOL-S-09, L-TOOL-S-10
    #[test]
    fn odd_names_are_refused() {
        let tools = Tools::default();
        for name in ["a", "get_User-2.x", &"x".repeat(128)] {
            add(&tools, name).expect(name);
        }
        for name in ["", "a b", "a,b", "ä", "a/b", &"x".repeat(129)] {
            assert_eq!(
                add(&tools, name).expect_err(name).kind(),
                ErrorKind::Invalid
            );
        }
    }

    // M-TOOL-S-16, L-TOOL-S-11, M-TOOL-B-13, L-TOOL-B-08
    #[test]
    fn names_are_unique_and_case_sensitive() {
        let tools = Tools::default();
        add(&tools, "get").expect("free");
        add(&tools, "Get").expect("another one");
        assert!(add(&tools, "get").is_err());
        assert!(tools.remove("get"));
        assert!(!tools.remove("get"));
        add(&tools, "get").expect("free again");
    }

    // M-TOOL-S-08, M-TOOL-S-09, L-TOOL-S-05
    #[test]
    fn arguments_are_objects() {
        let tools = Tools::default();
        for schema in [r#"{"type":"array"}"#, "{}", "true"] {
            let tool = Tool::new("t").input_schema(JsonSchema::parse(schema).expect("a schema"));
            let new = NewTool::new(tool, Arc::new(|_| {}));
            let error = super::add(&tools, new, None).expect_err(schema);
            assert!(error.to_string().starts_with("tool 't': "), "{error}");
        }
    }

    fn read(cursor: Option<&str>) -> Option<Cursor> {
        Cursor::read(Paged::Tools, cursor).expect("a cursor")
    }

    fn page(tools: &Tools, cursor: Option<&str>, size: usize) -> Arc<RawValue> {
        let paging = Paging {
            size: NonZeroUsize::new(size),
            hint: &CacheHint::default(),
            server_info: None,
        };
        tools
            .page(ProtocolVersion::LATEST, read(cursor), &paging)
            .expect("a page")
    }

    // M-TOOL-S-06
    #[test]
    fn the_list_is_made_once_and_anew_after_a_change() {
        let tools = Tools::default();
        add(&tools, "b").expect("free");
        add(&tools, "a").expect("free");
        let first = page(&tools, None, 0);
        assert!(Arc::ptr_eq(&first, &page(&tools, None, 0)));
        assert!(
            first.get().find("\"b\"") < first.get().find("\"a\""),
            "{first}"
        );
        tools.remove("b");
        assert!(!page(&tools, None, 0).get().contains("\"b\""));
    }

    /// Returns the names of the tools on a page, and the cursor of the next page.
    fn names(page: &RawValue) -> (Vec<String>, Option<String>) {
        let page: ListToolsResult = serde_json::from_str(page.get()).expect("a page");
        let names = page.tools.into_iter().map(|tool| tool.name).collect();
        (names, page.next_cursor)
    }

    // M-PAGE-S-02, M-PAGE-S-09, L-PAGE-S-02
    #[test]
    fn changes_between_pages_neither_lose_nor_double_what_stays() {
        let tools = Tools::default();
        for name in ["a", "b", "c", "d", "e"] {
            add(&tools, name).expect("free");
        }
        let (shown, next) = names(&page(&tools, None, 2));
        assert_eq!(shown, ["a", "b"]);
        // Both tools of the first page are removed, and one tool is added at the end.
        tools.remove("b");
        tools.remove("a");
        add(&tools, "a").expect("free again");
        let (shown, next) = names(&page(&tools, next.as_deref(), 2));
        assert_eq!(shown, ["c", "d"]);
        let (shown, next) = names(&page(&tools, next.as_deref(), 2));
        assert_eq!(shown, ["e", "a"]);
        assert_eq!(next, None);
    }

    // M-PAGE-S-03
    #[test]
    fn a_cursor_past_the_end_is_refused_and_made_up_ones_fill_no_memory() {
        let tools = Tools::default();
        for number in 0..100 {
            add(&tools, &format!("t{number}")).expect("free");
        }
        let paging = Paging {
            size: NonZeroUsize::new(50),
            hint: &CacheHint::default(),
            server_info: None,
        };
        for number in 0..100 {
            let cursor = Some(Cursor::after(Paged::Tools, number));
            let page = tools.page(ProtocolVersion::LATEST, cursor, &paging);
            assert!(page.is_ok(), "{number}");
        }
        assert!(tools.cached_pages() <= 10);
        let past = Some(Cursor::after(Paged::Tools, 100));
        assert!(tools.page(ProtocolVersion::LATEST, past, &paging).is_err());
    }
}
