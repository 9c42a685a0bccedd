//! Every example message of the specification is read as its type, written back without loss, and fits the JSON Schema of that type.

use std::collections::BTreeSet;
use std::path::PathBuf;

use mcplink::RpcError;
use mcplink::jsonrpc::{self, Message};
use mcplink::schema::*;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

/// Reads the text as the type and writes it again.
type RoundTrip = fn(&str) -> Result<String, String>;

fn plain<T: DeserializeOwned + Serialize>(text: &str) -> Result<String, String> {
    let value: T = serde_json::from_str(text).map_err(|error| error.to_string())?;
    serde_json::to_string(&value).map_err(|error| error.to_string())
}

fn message(text: &str) -> Result<Message, String> {
    Message::read(text.to_owned()).map_err(|error| format!("{error:?}"))
}

fn params<T: DeserializeOwned + Serialize>(
    text: &str,
) -> Result<Box<serde_json::value::RawValue>, String> {
    plain::<T>(text)
        .and_then(|text| serde_json::value::RawValue::from_string(text).map_err(|e| e.to_string()))
}

fn utf8(bytes: Vec<u8>) -> Result<String, String> {
    String::from_utf8(bytes).map_err(|error| error.to_string())
}

/// A whole request with params of type `P`.
fn request<P: DeserializeOwned + Serialize>(text: &str) -> Result<String, String> {
    let Message::Request(request) = message(text)? else {
        return Err("not a request".into());
    };
    let params = params::<P>(request.params())?;
    let bytes = jsonrpc::write_request(request.id(), request.method(), &params)
        .map_err(|error| error.to_string())?;
    utf8(bytes)
}

/// A whole notification with params of type `P`.
fn notification<P: DeserializeOwned + Serialize>(text: &str) -> Result<String, String> {
    let Message::Notification(notification) = message(text)? else {
        return Err("not a notification".into());
    };
    let params = params::<P>(notification.params())?;
    let bytes = jsonrpc::write_notification(notification.method(), &params)
        .map_err(|error| error.to_string())?;
    utf8(bytes)
}

/// A whole response with a result of type `R`.
fn response<R: DeserializeOwned + Serialize>(text: &str) -> Result<String, String> {
    let Message::Response(response) = message(text)? else {
        return Err("not a response".into());
    };
    let id = response.id().ok_or("no id")?;
    let result = response.outcome().map_err(|error| error.to_string())?;
    let result = params::<R>(result)?;
    utf8(jsonrpc::write_result(id, &result).map_err(|error| error.to_string())?)
}

/// A whole error response.
fn error(text: &str) -> Result<String, String> {
    let Message::Response(response) = message(text)? else {
        return Err("not a response".into());
    };
    let error = response.outcome().expect_err("an error response");
    utf8(jsonrpc::write_error(response.id(), error))
}

fn round_trip(folder: &str) -> Option<RoundTrip> {
    Some(match folder {
        "AudioContent" => plain::<AudioContent>,
        "BlobResourceContents" => plain::<BlobResourceContents>,
        "BooleanSchema" => plain::<BooleanSchema>,
        "CallToolRequest" => request::<CallToolRequestParams>,
        "CallToolRequestParams" => plain::<CallToolRequestParams>,
        "CallToolResult" => plain::<CallToolResult>,
        "CallToolResultResponse" => response::<CallToolResult>,
        "CancelledNotification" => notification::<CancelledNotificationParams>,
        "CancelledNotificationParams" => plain::<CancelledNotificationParams>,
        "ClientCapabilities" => plain::<ClientCapabilities>,
        "CompleteRequest" => request::<CompleteRequestParams>,
        "CompleteRequestParams" => plain::<CompleteRequestParams>,
        "CompleteResult" => plain::<CompleteResult>,
        "CompleteResultResponse" => response::<CompleteResult>,
        "CreateMessageRequest" => plain::<CreateMessageRequest>,
        "CreateMessageRequestParams" => plain::<CreateMessageRequestParams>,
        "CreateMessageResult" => plain::<CreateMessageResult>,
        "DiscoverRequest" => request::<RequestParams>,
        "DiscoverResult" => plain::<DiscoverResult>,
        "DiscoverResultResponse" => response::<DiscoverResult>,
        "ElicitRequest" => plain::<ElicitRequest>,
        "ElicitRequestFormParams" => plain::<ElicitRequestFormParams>,
        "ElicitRequestURLParams" => plain::<ElicitRequestURLParams>,
        "ElicitResult" => plain::<ElicitResult>,
        "EmbeddedResource" => plain::<EmbeddedResource>,
        "GetPromptRequest" => request::<GetPromptRequestParams>,
        "GetPromptRequestParams" => plain::<GetPromptRequestParams>,
        "GetPromptResult" => plain::<GetPromptResult>,
        "GetPromptResultResponse" => response::<GetPromptResult>,
        "HeaderMismatchError" => error,
        "ImageContent" => plain::<ImageContent>,
        "InputRequests" => plain::<InputRequests>,
        "InputRequiredResult" => plain::<InputRequiredResult>,
        "InputResponses" => plain::<InputResponses>,
        "InternalError" => plain::<RpcError>,
        "InvalidParamsError" => plain::<RpcError>,
        "ListPromptsRequest" => request::<PaginatedRequestParams>,
        "ListPromptsResult" => plain::<ListPromptsResult>,
        "ListPromptsResultResponse" => response::<ListPromptsResult>,
        "ListResourceTemplatesRequest" => request::<PaginatedRequestParams>,
        "ListResourceTemplatesResult" => plain::<ListResourceTemplatesResult>,
        "ListResourceTemplatesResultResponse" => response::<ListResourceTemplatesResult>,
        "ListResourcesRequest" => request::<PaginatedRequestParams>,
        "ListResourcesResult" => plain::<ListResourcesResult>,
        "ListResourcesResultResponse" => response::<ListResourcesResult>,
        "ListRootsRequest" => plain::<ListRootsRequest>,
        "ListRootsResult" => plain::<ListRootsResult>,
        "ListToolsRequest" => request::<PaginatedRequestParams>,
        "ListToolsResult" => plain::<ListToolsResult>,
        "ListToolsResultResponse" => response::<ListToolsResult>,
        "LoggingMessageNotification" => notification::<LoggingMessageNotificationParams>,
        "LoggingMessageNotificationParams" => plain::<LoggingMessageNotificationParams>,
        "MethodNotFoundError" => plain::<RpcError>,
        "MissingRequiredClientCapabilityError" => error,
        "ModelPreferences" => plain::<ModelPreferences>,
        "NumberSchema" => plain::<NumberSchema>,
        "PaginatedRequestParams" => plain::<PaginatedRequestParams>,
        "ParseError" => plain::<RpcError>,
        "ProgressNotification" => notification::<ProgressNotificationParams>,
        "ProgressNotificationParams" => plain::<ProgressNotificationParams>,
        "PromptListChangedNotification" => notification::<NotificationParams>,
        "ReadResourceRequest" => request::<ReadResourceRequestParams>,
        "ReadResourceResult" => plain::<ReadResourceResult>,
        "ReadResourceResultResponse" => response::<ReadResourceResult>,
        "Resource" => plain::<Resource>,
        "ResourceLink" => plain::<ResourceLink>,
        "ResourceListChangedNotification" => notification::<NotificationParams>,
        "ResourceUpdatedNotification" => notification::<ResourceUpdatedNotificationParams>,
        "ResourceUpdatedNotificationParams" => plain::<ResourceUpdatedNotificationParams>,
        "Root" => plain::<Root>,
        "SamplingMessage" => plain::<SamplingMessage>,
        "ServerCapabilities" => plain::<ServerCapabilities>,
        "StringSchema" => plain::<StringSchema>,
        "SubscriptionsAcknowledgedNotification" => {
            notification::<SubscriptionsAcknowledgedNotificationParams>
        }
        "SubscriptionsListenRequest" => request::<SubscriptionsListenRequestParams>,
        "SubscriptionsListenResult" => plain::<SubscriptionsListenResult>,
        "SubscriptionsListenResultResponse" => response::<SubscriptionsListenResult>,
        "TextContent" => plain::<TextContent>,
        "TextResourceContents" => plain::<TextResourceContents>,
        "TitledMultiSelectEnumSchema" => plain::<TitledMultiSelectEnumSchema>,
        "TitledSingleSelectEnumSchema" => plain::<TitledSingleSelectEnumSchema>,
        "Tool" => plain::<Tool>,
        "ToolListChangedNotification" => notification::<NotificationParams>,
        "ToolResultContent" => plain::<ToolResultContent>,
        "ToolUseContent" => plain::<ToolUseContent>,
        "UnsupportedProtocolVersionError" => error,
        "UntitledMultiSelectEnumSchema" => plain::<UntitledMultiSelectEnumSchema>,
        "UntitledSingleSelectEnumSchema" => plain::<UntitledSingleSelectEnumSchema>,
        _ => return None,
    })
}

struct Example {
    folder: String,
    name: String,
    text: String,
}

fn data(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/spec")
        .join(path)
}

fn examples() -> Vec<Example> {
    let mut examples = Vec::new();
    for folder in std::fs::read_dir(data("examples-2026-07-28")).unwrap() {
        let folder = folder.unwrap();
        for file in std::fs::read_dir(folder.path()).unwrap() {
            let file = file.unwrap();
            examples.push(Example {
                folder: folder.file_name().into_string().unwrap(),
                name: file.file_name().into_string().unwrap(),
                text: std::fs::read_to_string(file.path()).unwrap(),
            });
        }
    }
    examples.sort_by(|a, b| (&a.folder, &a.name).cmp(&(&b.folder, &b.name)));
    examples
}

/// A validator of one type of one revision.
pub(crate) fn validator(revision: ProtocolVersion, name: &str) -> jsonschema::Validator {
    let text = std::fs::read_to_string(data(&format!("schema/{revision}.json"))).unwrap();
    let mut schema: Value = serde_json::from_str(&text).unwrap();
    let definitions = if schema.get("$defs").is_some() {
        "$defs"
    } else {
        "definitions"
    };
    assert!(
        schema[definitions].get(name).is_some(),
        "{revision} has no {name}"
    );
    schema["$ref"] = json!(format!("#/{definitions}/{name}"));
    if definitions == "definitions" {
        // Draft 7 looks at nothing beside a reference.
        let reference = schema.as_object_mut().unwrap().remove("$ref").unwrap();
        schema["allOf"] = json!([{ "$ref": reference }]);
    }
    jsonschema::validator_for(&schema).unwrap()
}

/// What the value breaks, one line each.
pub(crate) fn problems(validator: &jsonschema::Validator, value: &Value) -> Vec<String> {
    let errors = validator.iter_errors(value);
    errors
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect()
}

#[test]
fn every_example_of_the_specification_has_a_type() {
    let examples = examples();
    let folders: BTreeSet<&str> = examples.iter().map(|it| it.folder.as_str()).collect();
    let missing: Vec<_> = folders
        .iter()
        .filter(|folder| round_trip(folder).is_none())
        .collect();
    assert!(missing.is_empty(), "no type for {missing:?}");
    assert_eq!(folders.len(), 88);
    assert_eq!(examples.len(), 129);
}

#[test]
fn every_example_of_the_specification_comes_back_without_loss() {
    for Example { folder, name, text } in examples() {
        let round_trip = round_trip(&folder).expect("checked above");
        let written = round_trip(&text).unwrap_or_else(|error| panic!("{folder}/{name}: {error}"));
        let written: Value = serde_json::from_str(&written).unwrap();
        let original: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(written, original, "{folder}/{name}");
    }
}

#[test]
fn every_example_is_written_as_its_schema_says() {
    let mut checked: Option<(String, jsonschema::Validator)> = None;
    for Example { folder, name, text } in examples() {
        let written = round_trip(&folder).expect("checked above")(&text).unwrap();
        let written: Value = serde_json::from_str(&written).unwrap();
        let original: Value = serde_json::from_str(&text).unwrap();
        if checked.as_ref().is_none_or(|(last, _)| *last != folder) {
            checked = Some((folder.clone(), validator(ProtocolVersion::LATEST, &folder)));
        }
        let (_, validator) = checked.as_ref().unwrap();
        let problems = problems(validator, &written);
        // Some examples of the specification break its own schema; ours is to break nothing more.
        if !problems.is_empty() && validator.is_valid(&original) {
            panic!("{folder}/{name}: {problems:?}");
        }
        if !problems.is_empty() {
            assert_eq!(written, original, "{folder}/{name}: {problems:?}");
        }
    }
}

// Seen in other SDKs: unknown members vanish in a round trip.
#[test]
fn unknown_members_survive_in_every_result_and_block() {
    let keeping = [
        "Content",
        "Result",
        "Resource",
        "ResourceLink",
        "Tool",
        "Root",
        "SamplingMessage",
        "ClientCapabilities",
        "ServerCapabilities",
        "ModelPreferences",
        "EmbeddedResource",
        "TextResourceContents",
        "BlobResourceContents",
    ];
    for Example { folder, name, text } in examples() {
        if !keeping.iter().any(|suffix| folder.ends_with(suffix)) {
            continue;
        }
        let mut value: Value = serde_json::from_str(&text).unwrap();
        value["x-later"] = json!({"type": ["text", 1.5, null]});
        if folder.ends_with("Result") {
            value["_meta"]["com.example/later"] = json!([{"deep": true}]);
        }
        let written = round_trip(&folder).expect("checked above")(&value.to_string())
            .unwrap_or_else(|error| panic!("{folder}/{name}: {error}"));
        let written: Value = serde_json::from_str(&written).unwrap();
        assert_eq!(written, value, "{folder}/{name}");
    }
}

// Seen in other SDKs: a result is read as the wrong type because its shape fits.
#[test]
fn a_result_with_the_members_of_another_is_still_read_as_its_own() {
    let results: Vec<Example> = examples()
        .into_iter()
        .filter(|it| it.folder.ends_with("Result") && it.folder != "InputRequiredResult")
        .collect();
    for own in &results {
        for other in &results {
            let own_value: Value = serde_json::from_str(&own.text).unwrap();
            let mut value: Value = serde_json::from_str(&other.text).unwrap();
            let members = value.as_object_mut().unwrap();
            if own.folder == other.folder {
                continue;
            }
            // The members of its own win: `content` is not the same everywhere.
            members.extend(own_value.as_object().unwrap().clone());
            let written =
                round_trip(&own.folder).unwrap()(&value.to_string()).unwrap_or_else(|error| {
                    panic!("{}/{} with {}: {error}", own.folder, own.name, other.folder)
                });
            let written: Value = serde_json::from_str(&written).unwrap();
            for (name, expected) in own_value.as_object().unwrap() {
                assert_eq!(&written[name], expected, "{} {name}", own.folder);
            }
        }
    }
}

// What is written in Go has null for a list in which there is nothing.
#[test]
fn a_list_of_a_result_may_be_null() {
    fn check<T: DeserializeOwned + Serialize>(result: Value, list: &str) {
        let null = result.to_string();
        let read: T = serde_json::from_str(&null).expect(&null);
        let read = serde_json::to_value(&read).unwrap();
        assert_eq!(read.pointer(list), Some(&json!([])), "{null}");
        let other = null.replace("null", "{}");
        assert!(serde_json::from_str::<T>(&other).is_err(), "{other}");
        let missing = null.replacen('"', "\"x-", 1);
        let may_be_missing = list == "/content";
        let read = serde_json::from_str::<T>(&missing);
        assert_eq!(read.is_ok(), may_be_missing, "{missing}");
    }
    check::<ListToolsResult>(json!({ "tools": null }), "/tools");
    check::<ListPromptsResult>(json!({ "prompts": null }), "/prompts");
    check::<ListResourcesResult>(json!({ "resources": null }), "/resources");
    check::<ListResourceTemplatesResult>(
        json!({ "resourceTemplates": null }),
        "/resourceTemplates",
    );
    check::<ListTasksResult>(json!({ "tasks": null }), "/tasks");
    check::<ListRootsResult>(json!({ "roots": null }), "/roots");
    check::<CallToolResult>(json!({ "content": null }), "/content");
    check::<GetPromptResult>(json!({ "messages": null }), "/messages");
    check::<ReadResourceResult>(json!({ "contents": null }), "/contents");
    check::<CompleteResult>(
        json!({ "completion": { "values": null } }),
        "/completion/values",
    );
}
