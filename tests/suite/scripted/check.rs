//! Holds messages against the JSON Schema of their revision.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

use jsonschema::Validator;
use mcplink::schema::ProtocolVersion;
use serde_json::Value;

use crate::schema_examples::{problems, validator};

/// Fails when `value` is not what the revision's schema defines under `name`.
pub(crate) fn fits(revision: ProtocolVersion, name: &str, value: &Value) {
    let found = problems(&definition(revision, name), value);
    assert!(
        found.is_empty(),
        "not a {name} of {revision}: {found:?}\n{value}"
    );
}

/// Each definition's validator, built once.
fn definition(revision: ProtocolVersion, name: &str) -> Arc<Validator> {
    type Built = Mutex<HashMap<(ProtocolVersion, String), Arc<Validator>>>;
    static BUILT: OnceLock<Built> = OnceLock::new();
    let mut built = BUILT
        .get_or_init(Mutex::default)
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    let entry = built.entry((revision, name.to_owned()));
    Arc::clone(entry.or_insert_with(|| Arc::new(validator(revision, name))))
}

/// The definition of a request or a notification.
pub(crate) fn name_of(method: &str) -> Option<&'static str> {
    Some(match method {
        "initialize" => "InitializeRequest",
        "ping" => "PingRequest",
        "server/discover" => "DiscoverRequest",
        "tools/list" => "ListToolsRequest",
        "tools/call" => "CallToolRequest",
        "notifications/initialized" => "InitializedNotification",
        "notifications/cancelled" => "CancelledNotification",
        "notifications/progress" => "ProgressNotification",
        _ => return None,
    })
}

/// Checks a request or a notification.
pub(crate) fn call(revision: ProtocolVersion, message: &Value) {
    let kind = if message.get("id").is_some() {
        "JSONRPCRequest"
    } else {
        "JSONRPCNotification"
    };
    fits(revision, kind, message);
    if let Some(name) = message["method"].as_str().and_then(name_of) {
        fits(revision, name, message);
    }
    if revision == ProtocolVersion::V2024_11_05 {
        // The schema allows any member, so this one is looked for by name.
        let absent = message["params"].get("message").is_none();
        assert!(
            absent || message["method"] != "notifications/progress",
            "{message}"
        );
    }
}

/// Checks the answer to a request of `method`.
pub(crate) fn answer(revision: ProtocolVersion, method: &str, message: &Value) {
    match message.get("error") {
        Some(error) => {
            refusal(revision, message);
            // M-ERR-B-05, M-ERR-S-11
            if error["code"] == -32022 {
                let newest = ProtocolVersion::LATEST;
                fits(newest, "UnsupportedProtocolVersionError", message);
            }
        }
        None => result(revision, method, message),
    }
}

fn result(revision: ProtocolVersion, method: &str, message: &Value) {
    let envelope = if revision >= ProtocolVersion::V2025_11_25 {
        "JSONRPCResultResponse"
    } else {
        "JSONRPCResponse"
    };
    fits(revision, envelope, message);
    let result = &message["result"];
    let definition = match method {
        "initialize" => "InitializeResult",
        "ping" => "EmptyResult",
        "server/discover" => "DiscoverResult",
        "tools/list" => "ListToolsResult",
        "tools/call" => "CallToolResult",
        _ => "Result",
    };
    fits(revision, definition, result);
    if revision.is_modern() {
        // M-BASE-S-08
        assert!(result["resultType"].is_string(), "{message}");
    } else {
        // L-BASE-B-15
        for member in ["resultType", "ttlMs", "cacheScope"] {
            assert!(result.get(member).is_none(), "{member} in {message}");
        }
        assert!(!result.to_string().contains("io.modelcontextprotocol/"));
    }
}

fn refusal(revision: ProtocolVersion, message: &Value) {
    // Up to 2025-06-18 the schema has no form for an error whose request had no readable id.
    let revision = if message.get("id").is_none() {
        revision.max(ProtocolVersion::V2025_11_25)
    } else {
        revision
    };
    let envelope = if revision >= ProtocolVersion::V2025_11_25 {
        "JSONRPCErrorResponse"
    } else {
        "JSONRPCError"
    };
    fits(revision, envelope, message);
    // M-ERR-B-02, M-ERR-B-04, M-ERR-B-05, AMB-27: of what MCP reserves, only what it defines.
    let code = message["error"]["code"].as_i64().expect("an integer");
    let reserved = (-32099..=-32000).contains(&code);
    assert!(!reserved || code == -32022, "code {code} in {message}");
    // M-BASE-B-17, L-BASE-B-14
    let text = message["error"]["message"].as_str().expect("a text");
    assert!((1..=200).contains(&text.chars().count()), "{text}");
    assert!(!text.contains(char::is_control), "{text}");
}
