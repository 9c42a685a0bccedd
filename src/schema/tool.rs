//! Tools: their list, their calls and their results.
//!
//! Spec: Server Features, "Tools" (every revision).

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::content::{Blocks, ContentBlock, TextContent};
use super::finite;
use super::icon::Icon;
use super::input::InputResponses;
use super::json::{Count, Flag, JsonSchema, Present, RawObjectForm, is_object, raw, read_raw};
use super::meta::{MetaObject, RequestMetaObject, ResultMetaObject};
use super::object::OrNull;
use super::result::ResultType;
use super::task::TaskMetadata;
use super::version::{FitTo, ProtocolVersion};
use crate::error::{Error, ErrorKind, Result};

object! {
    /// A tool of a server.
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
    pub struct Tool {
        /// The name of the tool.
        pub name: String,
        /// The display name of the tool.
        pub title?: String [since V2025_06_18],
        /// The description of the tool, for models.
        pub description?: String,
        /// The schema of the tool's arguments, with `"type": "object"` at its root
        /// ([`JsonSchema::check_input`]).
        pub input_schema: JsonSchema = "inputSchema",
        /// The schema of the tool's structured result. Up to 2025-11-25 it has to be the schema of
        /// an object; in later revisions any schema is allowed.
        pub output_schema?: JsonSchema = "outputSchema" [since V2025_06_18],
        /// Hints about the behavior of the tool. To set one hint, [`read_only`](Self::read_only)
        /// and the like are shorter.
        pub annotations?: ToolAnnotations [since V2025_03_26],
        /// The way in which calls of the tool are executed.
        pub execution?: ToolExecution [only V2025_11_25],
        /// Icons to show for the tool.
        pub icons?: Vec<Icon> [since V2025_11_25],
        /// Metadata of the tool (`_meta`).
        pub meta?: MetaObject = "_meta" [since V2025_06_18],
        ..extra
    }

    fn of_fields(name: impl Into<String>, input_schema: JsonSchema);
}

impl Tool {
    /// Makes a tool with this name.
    ///
    /// Until [`input_schema`](Self::input_schema) is called, the tool has only a placeholder for
    /// the schema of its arguments. The placeholder accepts any object. A server replaces it with
    /// the schema that it derives from the handler's types, or refuses the tool.
    pub fn new(name: impl Into<String>) -> Self {
        Self::of_fields(name, JsonSchema::placeholder())
    }

    /// Sets the schema of the tool's arguments. A server lists the schema as it was written. If the
    /// schema has no `properties`, the server appends empty `properties`, since the interfaces of
    /// some models refuse a tool whose schema has no `properties`.
    pub fn input_schema(mut self, schema: JsonSchema) -> Self {
        self.input_schema = schema;
        self
    }

    /// Declares that the tool does not modify its environment. Since 2025-03-26.
    pub fn read_only(self) -> Self {
        self.hint(|hints| hints.read_only_hint = Some(true))
    }

    /// Declares that the tool may make destructive changes. Since 2025-03-26.
    pub fn destructive(self) -> Self {
        self.hint(|hints| hints.destructive_hint = Some(true))
    }

    /// Declares that a repeated call of the tool has no further effect. Since 2025-03-26.
    pub fn idempotent(self) -> Self {
        self.hint(|hints| hints.idempotent_hint = Some(true))
    }

    /// Declares whether the tool interacts with external entities, for example the web. Since
    /// 2025-03-26.
    pub fn open_world(self, open_world: bool) -> Self {
        self.hint(|hints| hints.open_world_hint = Some(open_world))
    }

    fn hint(mut self, set: impl FnOnce(&mut ToolAnnotations)) -> Self {
        set(self.annotations.get_or_insert_default());
        self
    }

    /// Returns the display name: the title, else the title in the annotations, else the name.
    pub fn display_name(&self) -> &str {
        let annotated = || self.annotations.as_ref()?.title.as_deref();
        self.title
            .as_deref()
            .or_else(annotated)
            .unwrap_or(&self.name)
    }
}

/// Adapts the tool to a revision. Removes members that older peers do not know. For revisions up to
/// 2025-11-25 also removes an output schema that is not the schema of an object.
impl FitTo for Tool {
    fn fit_to(&mut self, revision: ProtocolVersion) {
        self.fit_fields(revision);
        if revision.is_legacy() {
            self.output_schema
                .take_if(|schema| !schema.is_object_root());
        }
    }
}

object! {
    /// Hints about the behavior of a tool. The hints come from the server and may be wrong.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::{Tool, ToolAnnotations};
    ///
    /// let annotations = ToolAnnotations::default().destructive_hint(false).idempotent_hint(true);
    /// let tool = Tool::new("archive").annotations(annotations);
    ///
    /// // A host asks the user before a tool that may destroy something.
    /// let hints = tool.annotations.unwrap_or_default();
    /// assert!(!hints.is_destructive() && !hints.is_read_only());
    /// ```
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct ToolAnnotations {
        /// The display name of the tool. [`Tool::title`] takes precedence.
        pub title?: String,
        /// Whether the tool is read-only: it does not modify its environment.
        pub read_only_hint?: bool = "readOnlyHint",
        /// Whether the tool may make destructive changes.
        pub destructive_hint?: bool = "destructiveHint",
        /// Whether the tool is idempotent: a repeated call has no further effect.
        pub idempotent_hint?: bool = "idempotentHint",
        /// Whether the tool interacts with external entities, for example the web.
        pub open_world_hint?: bool = "openWorldHint",
        ..extra
    }
}

impl ToolAnnotations {
    /// Whether the tool is read-only. Defaults to false.
    pub fn is_read_only(&self) -> bool {
        self.read_only_hint.unwrap_or(false)
    }

    /// Whether the tool may make destructive changes. Defaults to true. If the tool is read-only,
    /// ignore this value.
    pub fn is_destructive(&self) -> bool {
        self.destructive_hint.unwrap_or(true)
    }

    /// Whether the tool is idempotent. Defaults to false.
    pub fn is_idempotent(&self) -> bool {
        self.idempotent_hint.unwrap_or(false)
    }

    /// Whether the tool interacts with external entities. Defaults to true.
    pub fn is_open_world(&self) -> bool {
        self.open_world_hint.unwrap_or(true)
    }
}

object! {
    /// The way in which calls of a tool are executed. 2025-11-25 only.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::{TaskSupport, Tool, ToolExecution};
    /// use serde_json::json;
    ///
    /// let tool = Tool::new("render")
    ///     .execution(ToolExecution::default().task_support(TaskSupport::Optional));
    /// assert_eq!(json!(tool)["execution"], json!({ "taskSupport": "optional" }));
    /// ```
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct ToolExecution {
        /// Whether a call of the tool may become a task. Absent means that a call can't become a
        /// task.
        pub task_support?: TaskSupport = "taskSupport",
        ..extra
    }
}

open_enum! {
    /// Whether a call of a tool may become a task. 2025-11-25 only.
    pub enum TaskSupport {
        /// A call can't become a task.
        Forbidden = "forbidden",
        /// A call may become a task.
        Optional = "optional",
        /// A call must become a task.
        Required = "required",
    }
}

list_result! {
    /// A page of the list of tools: the result of `tools/list`.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use mcplink::schema::{CacheHint, CacheScope, ListToolsResult, Tool};
    /// use serde_json::json;
    ///
    /// let page = ListToolsResult::new([Tool::new("add")])
    ///     .next_cursor("2")
    ///     .cached(CacheHint::new(Duration::from_secs(60), CacheScope::Public));
    /// assert_eq!(json!(page)["nextCursor"], "2");
    /// assert_eq!(json!(page)["ttlMs"], 60_000);
    /// ```
    ListToolsResult { tools: Vec<Tool> }
}

object! {
    /// The params of `tools/call`.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::client::{CallOptions, Client};
    /// use mcplink::schema::CallToolRequestParams;
    /// use serde_json::json;
    ///
    /// fn add(client: &Client) -> mcplink::Result<String> {
    ///     let params = CallToolRequestParams::new("add").arguments(&json!({ "a": 1, "b": 2 }))?;
    ///     let result = client.request("tools/call", &params, CallOptions::new())?;
    ///     Ok(result.as_str().to_owned()) // the result as raw JSON
    /// }
    /// ```
    #[derive(Clone, Debug)]
    pub struct CallToolRequestParams: FitTo {
        /// The name of the tool.
        pub name: String,
        /// The arguments of the call: an object, as raw JSON.
        pub arguments: Option<Box<RawValue>> as RawObjectForm,
        /// The client's answers to the input requests in the server's previous result.
        pub input_responses?: InputResponses = "inputResponses" [since V2026_07_28],
        /// The `requestState` of the server's previous result, unchanged.
        pub request_state?: String = "requestState" [since V2026_07_28],
        /// Present if the client requests to execute the call as a task.
        pub task?: TaskMetadata [only V2025_11_25],
        /// Metadata of the request (`_meta`). Required since 2026-07-28.
        pub meta?: RequestMetaObject = "_meta" [fit],
    }

    /// Makes params that call the tool with this name, without arguments.
    pub fn new(name: impl Into<String>);
}

impl CallToolRequestParams {
    /// Sets the arguments of the call.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) when the arguments can't be written as
    /// JSON.
    pub fn arguments(mut self, arguments: &(impl Serialize + ?Sized)) -> Result<Self> {
        self.arguments = Some(raw("arguments", arguments)?);
        Ok(self)
    }
}

object! {
    /// The result of `tools/call`.
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
    pub struct CallToolResult {
        /// The kind of result.
        pub result_type: Option<ResultType>
            = "resultType" [since V2026_07_28 or ResultType::Complete],
        /// The content of the result, for models. Some servers omit it, which is read as an empty
        /// list.
        pub content: Vec<ContentBlock> as Blocks [fit],
        /// The structured result for programs, as raw JSON. Since 2025-06-18. Up to 2025-11-25 it
        /// has to be an object. In later revisions any value is allowed, and `null` differs from an
        /// absent value.
        pub structured_content: Option<Box<RawValue>> = "structuredContent" as Present,
        /// Whether the tool failed. Absent means that it did not fail.
        pub is_error: Option<bool> = "isError" as Flag,
        /// Metadata of the result (`_meta`).
        pub meta?: ResultMetaObject = "_meta" [fit],
        ..extra; misfits
    }

    /// Makes a result from content blocks.
    pub fn new(content: impl Into<Vec<ContentBlock>>);
}

impl CallToolResult {
    /// Makes a result with one text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new([ContentBlock::text(text)])
    }

    /// Makes a result for a tool that failed. The text describes the reason to the model.
    pub fn error(text: impl Into<String>) -> Self {
        Self {
            is_error: Some(true),
            ..Self::text(text)
        }
    }

    /// Adds a content block to the result.
    pub fn with(mut self, block: impl Into<ContentBlock>) -> Self {
        self.content.push(block.into());
        self
    }

    /// Sets the structured content of the result. Also adds its JSON as a text block, for peers
    /// that read only `content`. Since 2025-06-18.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) when the value can't be written as JSON,
    /// for example because it has an infinite number or NaN.
    pub fn structured(mut self, value: &(impl Serialize + ?Sized)) -> Result<Self> {
        let written = raw("structured content", value)?;
        // What JSON can't represent is written as `null`.
        if written.get().contains("null")
            && let Some(found) = finite::unrepresentable(value)
        {
            let text = format!("the result has a number that JSON can't represent: {found}");
            return Err(Error::new(ErrorKind::Invalid, text));
        }
        self.content.push(TextContent::new(written.get()).into());
        self.structured_content = Some(written);
        Ok(self)
    }

    /// Whether the tool failed.
    pub fn is_error(&self) -> bool {
        self.is_error.unwrap_or(false)
    }

    /// Appends the JSON text of the result, equal to the output of `Serialize`. `written_meta` is
    /// the JSON text of `_meta`, which is used if the result has no `_meta`.
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

    /// Deserializes the structured content as a type. Returns `None` if the result has no
    /// structured content.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) when the structured content does not fit
    /// the type.
    pub fn read_structured<T: DeserializeOwned>(&self) -> Result<Option<T>> {
        let content = self.structured_content.as_deref();
        content
            .map(|content| read_raw("structured content", content))
            .transpose()
    }
}

/// Adapts the result to a revision. If the revision does not support the structured content, the
/// structured content is removed, or becomes a text block if the result has no content blocks.
impl FitTo for CallToolResult {
    fn fit_to(&mut self, revision: ProtocolVersion) {
        self.fit_fields(revision);
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
