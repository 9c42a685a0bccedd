//! What is fitted to an older revision fits the JSON Schema of that revision.

use mcplink::schema::*;
use serde::Serialize;
use serde_json::{Value, json};

use crate::schema_examples::{problems, validator};

fn fitted<T: FitTo + Serialize + Clone>(value: &T, revision: ProtocolVersion) -> Value {
    let mut value = value.clone();
    value.fit_to(revision);
    serde_json::to_value(&value).unwrap()
}

/// Checks the value in every revision from `since` on.
fn check<T: FitTo + Serialize + Clone>(name: &str, value: &T, since: ProtocolVersion) {
    for &revision in ProtocolVersion::ALL.iter().filter(|it| **it >= since) {
        let fitted = fitted(value, revision);
        let problems = problems(&validator(revision, name), &fitted);
        assert!(
            problems.is_empty(),
            "{name} in {revision}: {problems:?}\n{fitted}"
        );
        assert_known(name, &fitted, revision);
    }
}

/// Members that a revision doesn't name would be allowed by its schema, so they are looked for by name.
fn assert_known(name: &str, value: &Value, revision: ProtocolVersion) {
    use ProtocolVersion::*;
    let since = [
        ("title", V2025_06_18),
        ("_meta", V2025_06_18),
        ("outputSchema", V2025_06_18),
        ("structuredContent", V2025_06_18),
        ("lastModified", V2025_06_18),
        ("icons", V2025_11_25),
        ("websiteUrl", V2025_11_25),
        ("resultType", V2026_07_28),
        ("ttlMs", V2026_07_28),
        ("cacheScope", V2026_07_28),
        ("inputResponses", V2026_07_28),
        ("requestState", V2026_07_28),
    ];
    match value {
        Value::Object(members) => {
            for (member, value) in members {
                let known = since
                    .iter()
                    .find(|(name, _)| name == member)
                    .is_none_or(|(_, since)| revision >= *since);
                // Annotations of tools had a title before tools had, and results always had `_meta`.
                let exempt = (member == "title" && members.contains_key("readOnlyHint"))
                    || (member == "_meta" && name.ends_with("Result"));
                assert!(known || exempt, "{member} in {revision}: {name}");
                assert_known(name, value, revision);
            }
        }
        Value::Array(items) => {
            for item in items {
                assert_known(name, item, revision);
            }
        }
        _ => {}
    }
}

fn meta() -> MetaObject {
    json!({"com.example/a": 1}).as_object().unwrap().clone()
}

fn blocks() -> Vec<ContentBlock> {
    let annotations = Annotations::default()
        .audience([Role::User])
        .priority(1.0)
        .last_modified("2025-01-01T00:00:00Z");
    vec![
        TextContent::new("t")
            .annotations(annotations.clone())
            .meta(meta())
            .into(),
        ImageContent::new(b"i", "image/png").meta(meta()).into(),
        AudioContent::new(b"a", "audio/wav")
            .annotations(annotations.clone())
            .into(),
        ResourceLink::new("file:///a", "a")
            .title("A")
            .size(3)
            .icons([Icon::new("data:,")])
            .annotations(annotations)
            .into(),
        EmbeddedResource::new(TextResourceContents::new("file:///a", "t").meta(meta())).into(),
        ContentBlock::embedded(ResourceContents::blob("file:///a", b"b").mime_type("a/b")),
    ]
}

fn tool() -> Tool {
    Tool::new("n")
        .title("N")
        .description("d")
        .output_schema(JsonSchema::any_object())
        .annotations(ToolAnnotations::default().title("T").read_only_hint(true))
        .execution(ToolExecution::default().task_support("optional"))
        .icons([Icon::new("data:,").theme("dark").sizes(["any".to_owned()])])
        .meta(meta())
}

// L-TOOL-S-21, L-TOOL-S-22
#[test]
fn results_of_tools_fit_every_revision() {
    let oldest = ProtocolVersion::V2024_11_05;
    let result = CallToolResult::new(blocks());
    check("CallToolResult", &result, oldest);
    for structured in [json!({"a": 1}), json!([1]), Value::Null] {
        let result = CallToolResult::default().structured(&structured).unwrap();
        check("CallToolResult", &result, oldest);
    }
    check("CallToolResult", &CallToolResult::error("no"), oldest);
}

// L-TOOL-S-22, M-CACHE-S-01
#[test]
fn lists_fit_every_revision() {
    let oldest = ProtocolVersion::V2024_11_05;
    let array = JsonSchema::parse(r#"{"type":"array"}"#).unwrap();
    check(
        "ListToolsResult",
        &ListToolsResult::new([tool(), tool().output_schema(array)]).next_cursor("n"),
        oldest,
    );
    let prompt = Prompt::new("p")
        .title("P")
        .argument(PromptArgument::new("a").title("A").required(true))
        .icons([Icon::new("data:,")])
        .meta(meta());
    check(
        "ListPromptsResult",
        &ListPromptsResult::new([prompt]),
        oldest,
    );
    let resource = Resource::new("file:///a", "a")
        .title("A")
        .icons([Icon::new("data:,")])
        .annotations(Annotations::default().last_modified("2025-01-01"))
        .meta(meta());
    check(
        "ListResourcesResult",
        &ListResourcesResult::new([resource]),
        oldest,
    );
    let template = ResourceTemplate::new("file:///{a}", "a")
        .title("A")
        .icons([Icon::new("data:,")])
        .meta(meta());
    check(
        "ListResourceTemplatesResult",
        &ListResourceTemplatesResult::new([template]),
        oldest,
    );
}

#[test]
fn other_results_fit_every_revision() {
    let oldest = ProtocolVersion::V2024_11_05;
    let messages: Vec<_> = blocks()
        .into_iter()
        .map(|block| PromptMessage::new(Role::Assistant, block))
        .collect();
    check("GetPromptResult", &GetPromptResult::new(messages), oldest);
    let contents = TextResourceContents::new("file:///a", "t").meta(meta());
    check(
        "ReadResourceResult",
        &ReadResourceResult::new([contents.into()]),
        oldest,
    );
    let completion = Completion::new(["a", "b"]).total(7);
    check("CompleteResult", &CompleteResult::new(completion), oldest);
    check("Result", &EmptyResult::default(), oldest);
    let root = Root::new("file:///a").name("a").meta(meta());
    check("ListRootsResult", &ListRootsResult::new([root]), oldest);
    let said = CreateMessageResult::new("m", "hello").stop_reason("endTurn");
    check("CreateMessageResult", &said, oldest);
}

// L-INIT-B-23
#[test]
fn openings_fit_every_legacy_revision() {
    let info = Implementation::new("n", "1")
        .title("N")
        .description("d")
        .icons([Icon::new("data:,")])
        .website_url("https://n.example");
    let client = ClientCapabilities::default()
        .roots(RootsCapability::default().list_changed(true))
        .sampling(SamplingCapability::default().with_tools().with_context())
        .elicitation(
            ElicitationCapability::default()
                .with(ElicitationMode::Form)
                .with(ElicitationMode::Url),
        );
    let server = ServerCapabilities::default()
        .completions(JsonObject::new())
        .tools(ToolsCapability::default().list_changed(true));
    for &revision in ProtocolVersion::LEGACY {
        let params = InitializeRequestParams::new(revision, client.clone(), info.clone());
        let request = json!({
            "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": fitted(&params, revision),
        });
        let found = problems(&validator(revision, "InitializeRequest"), &request);
        assert!(found.is_empty(), "{revision}: {found:?}");
        assert_known("InitializeRequest", &request, revision);

        let result = InitializeResult::new(revision, server.clone(), info.clone());
        let result = fitted(&result, revision);
        let found = problems(&validator(revision, "InitializeResult"), &result);
        assert!(found.is_empty(), "{revision}: {found:?}");
        assert_known("InitializeResult", &result, revision);
    }
}

/// Checks the params inside a request, in every revision from `since` to `until`.
fn check_request<T: FitTo + Serialize + Clone>(
    name: &str,
    method: &str,
    params: &T,
    since: ProtocolVersion,
    until: ProtocolVersion,
) {
    let revisions = ProtocolVersion::ALL.iter().copied();
    for revision in revisions.filter(|it| (since..=until).contains(it)) {
        let request = json!({
            "jsonrpc": "2.0", "id": 1, "method": method, "params": fitted(params, revision),
        });
        let problems = problems(&validator(revision, name), &request);
        assert!(
            problems.is_empty(),
            "{name} in {revision}: {problems:?}\n{request}"
        );
        // Since 2024-11-05 every request may carry `_meta`, so it is none of the members to look for.
        let mut request = request;
        request["params"].as_object_mut().unwrap().remove("_meta");
        assert_known(name, &request, revision);
    }
}

#[test]
fn requests_fit_every_revision() {
    use ProtocolVersion::*;
    let meta = RequestMetaObject::new(ProtocolVersion::LATEST, ClientCapabilities::default())
        .progress_token("t")
        .client_info(Implementation::new("n", "1"))
        .log_level("info");
    let answers = InputResponses::from([(
        "k".to_owned(),
        InputResponse::new(&ElicitResult::decline()).unwrap(),
    )]);
    let call = CallToolRequestParams::new("n")
        .arguments(&json!({"a": 1}))
        .unwrap()
        .input_responses(answers.clone())
        .request_state("s")
        .task(TaskMetadata::default().ttl(1))
        .meta(meta.clone());
    let oldest = V2024_11_05;
    check_request(
        "CallToolRequest",
        method::TOOLS_CALL,
        &call,
        oldest,
        V2026_07_28,
    );
    let get = GetPromptRequestParams::new("p")
        .argument("a", "b")
        .input_responses(answers.clone())
        .meta(meta.clone());
    check_request(
        "GetPromptRequest",
        method::PROMPTS_GET,
        &get,
        oldest,
        V2026_07_28,
    );
    let read = ReadResourceRequestParams::new("file:///a")
        .input_responses(answers)
        .meta(meta.clone());
    check_request(
        "ReadResourceRequest",
        method::RESOURCES_READ,
        &read,
        oldest,
        V2026_07_28,
    );
    let complete = CompleteRequestParams::new(CompletionReference::prompt("p"), "a", "b")
        .known("c", "d")
        .meta(meta.clone());
    check_request(
        "CompleteRequest",
        method::COMPLETION_COMPLETE,
        &complete,
        oldest,
        V2026_07_28,
    );
    let page = PaginatedRequestParams::default().cursor("c").meta(meta);
    check_request(
        "ListToolsRequest",
        method::TOOLS_LIST,
        &page,
        oldest,
        V2026_07_28,
    );

    let sample = CreateMessageRequestParams::new([SamplingMessage::user("a")], 7)
        .model_preferences(ModelPreferences::default().hints([ModelHint::new("m")]))
        .tools([tool()])
        .tool_choice(ToolChoice::default().mode("auto"));
    check_request(
        "CreateMessageRequest",
        method::SAMPLING_CREATE_MESSAGE,
        &sample,
        oldest,
        V2026_07_28,
    );
    let form = ElicitSchema::default()
        .required("a", StringSchema::new().format("email"))
        .optional("b", BooleanSchema::new().default(true))
        .to_schema()
        .unwrap();
    let ask = ElicitRequestParams::form("m", form);
    check_request(
        "ElicitRequest",
        method::ELICITATION_CREATE,
        &ask,
        V2025_06_18,
        V2026_07_28,
    );
    let ElicitRequestParams::Url(open) = ElicitRequestParams::url("m", "https://n.example") else {
        panic!("not a page");
    };
    let open = ElicitRequestParams::from(open.elicitation_id("e"));
    check_request(
        "ElicitRequest",
        method::ELICITATION_CREATE,
        &open,
        V2025_11_25,
        V2026_07_28,
    );
}

#[test]
fn the_newest_revision_takes_values_as_they_are() {
    let mut tool = tool();
    tool.execution = None;
    let before = serde_json::to_value(&tool).unwrap();
    assert_eq!(fitted(&tool, ProtocolVersion::LATEST), before);
    for block in blocks() {
        let before = serde_json::to_value(&block).unwrap();
        assert_eq!(fitted(&block, ProtocolVersion::LATEST), before);
    }
}
