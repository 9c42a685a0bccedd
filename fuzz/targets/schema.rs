//! Types of the schema: what is decoded, encoded and decoded again stays the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mcplink::schema::*;
use mcplink_fuzz::choice;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

fn round_trip<T: DeserializeOwned + Serialize>(data: &[u8]) {
    let Ok(read) = serde_json::from_slice::<T>(data) else {
        return;
    };
    let written = serde_json::to_string(&read).expect("it can be written");
    let again: T = serde_json::from_str(&written)
        .unwrap_or_else(|error| panic!("{written} can't be read: {error}"));
    let rewritten = serde_json::to_string(&again).expect("it can be written");
    // The order of unknown members has no meaning.
    let value = |text: &str| serde_json::from_str::<Value>(text).expect("it is JSON");
    assert_eq!(value(&written), value(&rewritten));
}

macro_rules! types {
    ($($name:ident),+ $(,)?) => {
        const TYPES: &[fn(&[u8])] = &[$(round_trip::<$name>),+];
    };
}

// A new type stands at the end, since the first byte of an input is an index.
types![
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    Tool,
    ContentBlock,
    InitializeRequestParams,
    InitializeResult,
    DiscoverResult,
    ClientCapabilities,
    ServerCapabilities,
    CompleteRequestParams,
    CompleteResult,
    ElicitRequestParams,
    ElicitResult,
    PrimitiveSchemaDefinition,
    InputRequiredResult,
    InputRequests,
    InputResponses,
    CreateMessageRequestParams,
    CreateMessageResult,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ReadResourceRequestParams,
    ReadResourceResult,
    ListRootsResult,
    ProgressNotificationParams,
    CancelledNotificationParams,
    LoggingMessageNotificationParams,
    SubscriptionsListenRequestParams,
    SubscriptionsAcknowledgedNotificationParams,
    Task,
    DetailedTask,
    CreateTaskResult,
    GetTaskResult,
    ListTasksResult,
    UpdateTaskRequestParams,
    TaskStatusNotificationParams,
    Skill,
    ListSkillsResult,
    GetSkillResult,
    ReadResourceDirectoryResult,
    RequestMetaObject,
    URLElicitationRequiredError,
    Icon,
    Annotations,
    JsonSchema,
    EmptyResult,
];

fuzz_target!(|data: &[u8]| {
    let (first, data) = choice(data);
    TYPES[usize::from(first) % TYPES.len()](data);
    if let Ok(text) = std::str::from_utf8(data) {
        check_texts(text);
    }
});

/// Texts with a syntax of their own.
fn check_texts(text: &str) {
    is_valid_traceparent(text);
    is_valid_tracestate(text);
    is_valid_baggage(text);
    let _ = check_meta_key(text);
    let _ = check_extension_id(text);
    if let Ok(schema) = JsonSchema::parse(text) {
        let _ = schema.check_input();
        assert_eq!(schema.as_str().trim(), text.trim());
    }
}
