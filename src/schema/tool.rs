//! Tools: their list, their calls, their results.
//!
//! Spec: Server Features, "Tools" (every revision).

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::content::{ContentBlock, TextContent};
use super::icon::Icon;
use super::input::InputResponses;
use super::json::{Extra, JsonSchema, Present, RawObject, is_object, raw, read_raw};
use super::meta::{MetaObject, RequestMetaObject, ResultMetaObject};
use super::misfit::Misfits;
use super::object::OrNothing;
use super::result::{ResultType, fit_result_type};
use super::task::TaskMetadata;
use super::version::{FitTo, ProtocolVersion, keep_since};
use crate::error::Result;

/// A tool that a server has.
///
/// # Examples
///
/// ```
/// use mcplink::schema::{JsonSchema, Tool, ToolAnnotations};
///
/// let tool = Tool::new("add")
///     .title("Addition")
///     .description("Adds two numbers.")
///     .input_schema(JsonSchema::parse(
///         r#"{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}}}"#,
///     )?)
///     .annotations(ToolAnnotations::default().read_only_hint(true));
/// tool.input_schema.check_input()?;
/// # Ok::<(), mcplink::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Tool {
    /// The name for programs.
    pub name: String,
    /// The name for people. Since 2025-06-18.
    pub title: Option<String>,
    /// What it does, for a model.
    pub description: Option<String>,
    /// What arguments it takes: a schema with `"type": "object"` at its root ([`JsonSchema::check_input`]).
    pub input_schema: JsonSchema,
    /// What its structured result looks like. Since 2025-06-18; an object up to 2025-11-25, anything later.
    pub output_schema: Option<JsonSchema>,
    /// Hints about what it does. Since 2025-03-26.
    pub annotations: Option<ToolAnnotations>,
    /// How it is run. 2025-11-25 only.
    pub execution: Option<ToolExecution>,
    /// Icons to show. Since 2025-11-25.
    pub icons: Option<Vec<Icon>>,
    /// What travels beside it. Since 2025-06-18.
    pub meta: Option<MetaObject>,
    /// Members that this library doesn't know.
    pub extra: Extra,
}

members!(Tool {
    name,
    title,
    description,
    input_schema = "inputSchema",
    output_schema = "outputSchema",
    annotations,
    execution,
    icons,
    meta = "_meta",
    ..extra
});

impl Tool {
    /// Names a tool. Its schema takes any object until it is set.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            title: None,
            description: None,
            input_schema: JsonSchema::any_object(),
            output_schema: None,
            annotations: None,
            execution: None,
            icons: None,
            meta: None,
            extra: Extra::new(),
        }
    }

    /// Says what arguments it takes. A server lists the schema as it was written; one without `properties` gets an empty object for it behind
    /// its other members, since some models' interfaces refuse a tool without.
    pub fn input_schema(mut self, schema: JsonSchema) -> Self {
        self.input_schema = schema;
        self
    }

    setters! {
        /// Sets the name for people. Since 2025-06-18.
        title: String,
        /// Says what it does.
        description: String,
        /// Says what its structured result looks like. Since 2025-06-18.
        output_schema: JsonSchema,
        /// Gives hints about what it does. Since 2025-03-26.
        annotations: ToolAnnotations,
        /// Says how it is run. 2025-11-25 only.
        execution: ToolExecution,
        /// Sets icons to show. Since 2025-11-25.
        icons: Vec<Icon>,
        /// Sets what travels beside it. Since 2025-06-18.
        meta: MetaObject,
    }

    /// The name to show: the title, or else the title among the annotations, or else the name.
    pub fn display_name(&self) -> &str {
        let annotated = || self.annotations.as_ref()?.title.as_deref();
        self.title
            .as_deref()
            .or_else(annotated)
            .unwrap_or(&self.name)
    }
}

/// What older peers don't know is taken out. An output schema that is not of an object is, up to 2025-11-25.
impl FitTo for Tool {
    fn fit_to(&mut self, revision: ProtocolVersion) {
        use ProtocolVersion::{V2025_03_26, V2025_06_18, V2025_11_25};
        keep_since(&mut self.title, V2025_06_18, revision);
        keep_since(&mut self.output_schema, V2025_06_18, revision);
        keep_since(&mut self.annotations, V2025_03_26, revision);
        keep_since(&mut self.icons, V2025_11_25, revision);
        keep_since(&mut self.meta, V2025_06_18, revision);
        if revision.is_legacy() {
            self.output_schema
                .take_if(|schema| !schema.is_object_root());
        }
        if !revision.has_core_tasks() {
            self.execution = None;
        }
    }
}

/// Hints about what a tool does. They come from the server and may be wrong.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ToolAnnotations {
    /// The name for people; [`Tool::title`] goes before it.
    pub title: Option<String>,
    /// Whether it changes nothing.
    pub read_only_hint: Option<bool>,
    /// Whether it may destroy something.
    pub destructive_hint: Option<bool>,
    /// Whether a second call with the same arguments changes nothing more.
    pub idempotent_hint: Option<bool>,
    /// Whether it deals with things outside.
    pub open_world_hint: Option<bool>,
    /// Members that this library doesn't know.
    pub extra: Extra,
}

members!(ToolAnnotations {
    title,
    read_only_hint = "readOnlyHint",
    destructive_hint = "destructiveHint",
    idempotent_hint = "idempotentHint",
    open_world_hint = "openWorldHint",
    ..extra
});

impl ToolAnnotations {
    setters! {
        /// Sets the name for people.
        title: String,
        /// Says whether it changes nothing.
        read_only_hint: bool,
        /// Says whether it may destroy something.
        destructive_hint: bool,
        /// Says whether a second call changes nothing more.
        idempotent_hint: bool,
        /// Says whether it deals with things outside.
        open_world_hint: bool,
    }

    /// Whether it changes nothing; false unless said.
    pub fn is_read_only(&self) -> bool {
        self.read_only_hint.unwrap_or(false)
    }

    /// Whether it may destroy something; true unless said. Means nothing for a tool that changes nothing.
    pub fn is_destructive(&self) -> bool {
        self.destructive_hint.unwrap_or(true)
    }

    /// Whether a second call with the same arguments changes nothing more; false unless said.
    pub fn is_idempotent(&self) -> bool {
        self.idempotent_hint.unwrap_or(false)
    }

    /// Whether it deals with things outside; true unless said.
    pub fn is_open_world(&self) -> bool {
        self.open_world_hint.unwrap_or(true)
    }
}

/// How a tool is run. 2025-11-25 only.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ToolExecution {
    /// Whether a call may become a task; forbidden when absent.
    pub task_support: Option<TaskSupport>,
    /// Members that this library doesn't know.
    pub extra: Extra,
}

members!(ToolExecution { task_support = "taskSupport", ..extra });

impl ToolExecution {
    setters! {
        /// Says whether a call may become a task.
        task_support: TaskSupport,
    }
}

open_enum! {
    /// Whether a call may become a task. 2025-11-25 only.
    pub enum TaskSupport {
        /// It must not.
        Forbidden = "forbidden",
        /// It may.
        Optional = "optional",
        /// It must.
        Required = "required",
    }
}

list_result! {
    /// A page of the list of tools: the result of `tools/list`.
    ListToolsResult { tools: Vec<Tool> }
}

/// The params of `tools/call`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CallToolRequestParams {
    /// The tool.
    pub name: String,
    /// The arguments: an object, as raw JSON.
    pub arguments: Option<Box<RawValue>>,
    /// The answers to what the server asked in the round before. Since 2026-07-28.
    pub input_responses: Option<InputResponses>,
    /// What the server wants back from the round before. Since 2026-07-28.
    pub request_state: Option<String>,
    /// Asks for the call to become a task. 2025-11-25 only.
    pub task: Option<TaskMetadata>,
    /// What travels beside the params. Required since 2026-07-28.
    pub meta: Option<RequestMetaObject>,
}

members!(CallToolRequestParams {
    name,
    arguments as RawObject,
    input_responses = "inputResponses",
    request_state = "requestState",
    task,
    meta = "_meta",
});

impl CallToolRequestParams {
    /// Calls a tool without arguments.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            arguments: None,
            input_responses: None,
            request_state: None,
            task: None,
            meta: None,
        }
    }

    /// Sets the arguments.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) when they can't be written as JSON.
    pub fn arguments(mut self, arguments: &(impl Serialize + ?Sized)) -> Result<Self> {
        self.arguments = Some(raw("arguments", arguments)?);
        Ok(self)
    }

    setters! {
        /// Answers what the server asked. Since 2026-07-28.
        input_responses: InputResponses,
        /// Gives the server's state back. Since 2026-07-28.
        request_state: String,
        /// Asks for the call to become a task. 2025-11-25 only.
        task: TaskMetadata,
        /// Sets what travels beside the params.
        meta: RequestMetaObject,
    }
}

impl FitTo for CallToolRequestParams {
    fn fit_to(&mut self, revision: ProtocolVersion) {
        use ProtocolVersion::V2026_07_28;
        keep_since(&mut self.input_responses, V2026_07_28, revision);
        keep_since(&mut self.request_state, V2026_07_28, revision);
        if !revision.has_core_tasks() {
            self.task = None;
        }
        self.meta.fit_to(revision);
    }
}

/// What a tool gave: the result of `tools/call`.
///
/// # Examples
///
/// ```
/// use mcplink::schema::CallToolResult;
///
/// let sum = CallToolResult::text("1 + 2 = 3");
/// let failed = CallToolResult::error("division by zero");
/// assert!(failed.is_error() && !sum.is_error());
///
/// // For programs, with the same JSON as a text beside it:
/// let structured = CallToolResult::default().structured(&[("sum", 3)])?;
/// assert_eq!(structured.content[0].as_text(), Some(r#"[["sum",3]]"#));
/// # Ok::<(), mcplink::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct CallToolResult {
    /// Which kind of result it is. Since 2026-07-28.
    pub result_type: Option<ResultType>,
    /// What the tool gave, for a model. Some servers leave it out, which reads as nothing.
    pub content: Vec<ContentBlock>,
    /// What the tool gave, for a program, as raw JSON. Since 2025-06-18; an object up to 2025-11-25, anything later, and there `null` is
    /// not the same as nothing.
    pub structured_content: Option<Box<RawValue>>,
    /// Whether the tool failed; no when absent.
    pub is_error: Option<bool>,
    /// What travels beside the result.
    pub meta: Option<ResultMetaObject>,
    /// Members that this library doesn't know.
    pub extra: Extra,
    misfits: Misfits,
}

members!(CallToolResult {
    result_type = "resultType",
    content as OrNothing,
    structured_content = "structuredContent" as Present,
    is_error = "isError",
    meta = "_meta",
    ..extra;
    misfits
});

impl CallToolResult {
    /// Gives blocks of content.
    pub fn new(content: impl Into<Vec<ContentBlock>>) -> Self {
        Self {
            content: content.into(),
            ..Self::default()
        }
    }

    /// Gives one text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new([ContentBlock::text(text)])
    }

    /// Tells the model that the tool failed, and how.
    pub fn error(text: impl Into<String>) -> Self {
        Self {
            is_error: Some(true),
            ..Self::text(text)
        }
    }

    /// Adds a block of content.
    pub fn with(mut self, block: impl Into<ContentBlock>) -> Self {
        self.content.push(block.into());
        self
    }

    /// Sets the structured content, and adds its JSON as a text for peers that only look at that. Since 2025-06-18.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) when it can't be written as JSON.
    pub fn structured(mut self, value: &(impl Serialize + ?Sized)) -> Result<Self> {
        let value = raw("structured content", value)?;
        self.content.push(TextContent::new(value.get()).into());
        self.structured_content = Some(value);
        Ok(self)
    }

    setters! {
        /// Sets what travels beside the result.
        meta: ResultMetaObject,
    }

    /// Whether the tool failed.
    pub fn is_error(&self) -> bool {
        self.is_error.unwrap_or(false)
    }

    /// Appends the JSON text, as it is serialised. `written_meta` is the text of `_meta` for a result that has none.
    pub(crate) fn append_to(
        &self,
        written_meta: Option<&str>,
        buffer: &mut Vec<u8>,
    ) -> serde_json::Result<()> {
        let Self {
            result_type,
            content,
            structured_content,
            is_error,
            meta,
            extra,
            misfits: _,
        } = self;
        buffer.push(b'{');
        if let Some(result_type) = result_type {
            buffer.extend_from_slice(b"\"resultType\":");
            serde_json::to_writer(&mut *buffer, result_type)?;
            buffer.push(b',');
        }
        buffer.extend_from_slice(b"\"content\":[");
        for (number, block) in content.iter().enumerate() {
            if number > 0 {
                buffer.push(b',');
            }
            block.append_to(buffer)?;
        }
        buffer.push(b']');
        if let Some(structured_content) = structured_content {
            buffer.extend_from_slice(b",\"structuredContent\":");
            buffer.extend_from_slice(structured_content.get().as_bytes());
        }
        if let Some(is_error) = is_error {
            buffer.extend_from_slice(b",\"isError\":");
            serde_json::to_writer(&mut *buffer, is_error)?;
        }
        match (meta, written_meta) {
            (Some(meta), _) => {
                buffer.extend_from_slice(b",\"_meta\":");
                serde_json::to_writer(&mut *buffer, meta)?;
            }
            (None, Some(written)) => {
                buffer.extend_from_slice(b",\"_meta\":");
                buffer.extend_from_slice(written.as_bytes());
            }
            (None, None) => {}
        }
        for (key, value) in extra {
            buffer.push(b',');
            serde_json::to_writer(&mut *buffer, key)?;
            buffer.push(b':');
            serde_json::to_writer(&mut *buffer, value)?;
        }
        buffer.push(b'}');
        Ok(())
    }

    /// Reads the structured content as a type; `None` when there is none.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) when it doesn't have that form.
    pub fn read_structured<T: DeserializeOwned>(&self) -> Result<Option<T>> {
        let content = self.structured_content.as_deref();
        content
            .map(|content| read_raw("structured content", content))
            .transpose()
    }

    misfits!();
}

/// Structured content that an older peer can't take is left out; when there is no content beside it, its JSON becomes a text.
impl FitTo for CallToolResult {
    fn fit_to(&mut self, revision: ProtocolVersion) {
        fit_result_type(&mut self.result_type, revision);
        self.content.fit_to(revision);
        self.meta.fit_to(revision);
        let unfit = |content: &mut Box<RawValue>| {
            revision < ProtocolVersion::V2025_06_18 || (revision.is_legacy() && !is_object(content))
        };
        if let Some(removed) = self.structured_content.take_if(unfit)
            && self.content.is_empty()
        {
            self.content.push(TextContent::new(removed.get()).into());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    // M-TOOL-B-37
    #[test]
    fn titles_go_before_annotations_before_names() {
        let annotated = ToolAnnotations::default().title("annotated");
        assert_eq!(Tool::new("n").display_name(), "n");
        let tool = Tool::new("n").annotations(annotated);
        assert_eq!(tool.display_name(), "annotated");
        assert_eq!(tool.title("titled").display_name(), "titled");
    }

    // M-TOOL-B-38
    #[test]
    fn annotations_have_careful_defaults() {
        let hints: ToolAnnotations = serde_json::from_str("{}").expect("decodes");
        assert!(!hints.is_read_only());
        assert!(hints.is_destructive());
        assert!(!hints.is_idempotent());
        assert!(hints.is_open_world());
        let hints = hints.destructive_hint(false).open_world_hint(false);
        assert!(!hints.is_destructive() && !hints.is_open_world());
    }

    // M-TOOL-S-20
    #[test]
    fn structured_content_comes_with_its_text() {
        let result = CallToolResult::default()
            .structured(&json!({"a": [1, 2]}))
            .expect("JSON");
        let text = result.content[0].as_text().expect("text");
        assert_eq!(text, result.structured_content.as_ref().expect("set").get());
        let read: Option<serde_json::Value> = result.read_structured().expect("JSON");
        assert_eq!(read, Some(json!({"a": [1, 2]})));
    }

    #[test]
    fn structured_null_is_not_nothing() {
        fn check(json: &str) {
            let result: CallToolResult = serde_json::from_str(json).expect("decodes");
            assert_eq!(serde_json::to_string(&result).expect("JSON"), json);
        }
        check(r#"{"content":[],"structuredContent":null}"#);
        check(r#"{"content":[]}"#);
        check(r#"{"content":[],"structuredContent":{"z":1.0,"a":1e400}}"#);
    }

    #[test]
    fn content_may_be_missing_and_is_always_written() {
        let result: CallToolResult =
            serde_json::from_str(r#"{"structuredContent":{}}"#).expect("decodes");
        assert!(result.content.is_empty());
        assert_eq!(
            serde_json::to_string(&result).expect("JSON"),
            r#"{"content":[],"structuredContent":{}}"#
        );
    }

    // L-TOOL-S-21
    #[test]
    fn older_peers_get_structured_content_that_they_can_take() {
        fn check(structured: &str, revision: ProtocolVersion, kept: bool) {
            let value: Box<RawValue> = serde_json::from_str(structured).expect("JSON");
            let mut result = CallToolResult::default().structured(&value).expect("JSON");
            result.fit_to(revision);
            assert_eq!(
                result.structured_content.is_some(),
                kept,
                "{structured} in {revision}"
            );
            assert_eq!(result.content.len(), 1);
            assert_eq!(result.result_type.is_some(), revision.is_modern());
        }
        use ProtocolVersion::*;
        for revision in [V2024_11_05, V2025_03_26] {
            check("{}", revision, false);
        }
        for revision in [V2025_06_18, V2025_11_25] {
            check("{}", revision, true);
            check("[1]", revision, false);
            check("null", revision, false);
        }
        check("[1]", V2026_07_28, true);

        let mut bare: CallToolResult =
            serde_json::from_str(r#"{"structuredContent":[1]}"#).expect("decodes");
        bare.fit_to(V2025_11_25);
        assert_eq!(bare.content[0].as_text(), Some("[1]"));
    }

    // L-TOOL-S-22
    #[test]
    fn older_peers_see_the_members_that_their_revision_knows() {
        fn check(revision: ProtocolVersion, output: &str, members: &[&str]) {
            let mut tool = Tool::new("n")
                .title("N")
                .description("d")
                .output_schema(JsonSchema::parse(output).expect("schema"))
                .annotations(ToolAnnotations::default())
                .execution(ToolExecution::default())
                .icons([Icon::new("data:,")])
                .meta(MetaObject::new());
            tool.fit_to(revision);
            let json = serde_json::to_value(&tool).expect("JSON");
            let keys: Vec<_> = json.as_object().expect("object").keys().collect();
            let mut members = members.to_vec();
            members.extend(["description", "inputSchema", "name"]);
            members.sort_unstable();
            assert_eq!(keys, members, "{revision} {output}");
        }
        use ProtocolVersion::*;
        let object = r#"{"type":"object"}"#;
        let array = r#"{"type":"array"}"#;
        check(V2024_11_05, object, &[]);
        check(V2025_03_26, object, &["annotations"]);
        check(
            V2025_06_18,
            object,
            &["_meta", "annotations", "outputSchema", "title"],
        );
        check(V2025_06_18, array, &["_meta", "annotations", "title"]);
        let newest = ["_meta", "annotations", "icons", "title"];
        check(
            V2025_11_25,
            object,
            &[&newest[..], &["execution", "outputSchema"]].concat(),
        );
        check(V2025_11_25, array, &[&newest[..], &["execution"]].concat());
        check(
            V2026_07_28,
            array,
            &[&newest[..], &["outputSchema"]].concat(),
        );
    }

    // Seen in other SDKs: unknown members vanish in a round trip.
    #[test]
    fn schemas_and_unknown_members_are_passed_on_as_they_came() {
        let text = r#"{"name":"n","inputSchema":{"type":"object","z":1.0,"a":1e400},"outputSchema":true,"x":{"y":[1]}}"#;
        let tool: Tool = serde_json::from_str(text).expect("decodes");
        assert_eq!(serde_json::to_string(&tool).expect("JSON"), text);
    }

    #[test]
    fn arguments_keep_their_text() {
        let text = r#"{"name":"n","arguments":{"z":1.0,"a":123456789012345678901234567890}}"#;
        let params: CallToolRequestParams = serde_json::from_str(text).expect("decodes");
        assert_eq!(serde_json::to_string(&params).expect("JSON"), text);
    }
}
