//! Calls with types, and what travels beside them.

use std::sync::mpsc;

use mcplink::client::CallOptions;
use mcplink::client::Client;
use mcplink::schema::{
    CompleteRequestParams, CompletionReference, LoggingLevel, ProtocolVersion, method,
};
use mcplink::{ErrorKind, Result};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::rawserver::{LONG, connect, connect_with};

const MODERN: ProtocolVersion = ProtocolVersion::V2026_07_28;
const LEGACY: ProtocolVersion = ProtocolVersion::V2025_11_25;
const FIRST: ProtocolVersion = ProtocolVersion::V2024_11_05;

fn everything() -> Value {
    json!({ "tools": {}, "resources": {}, "prompts": {}, "completions": {}, "logging": {} })
}

/// Checks what a call sends, besides `_meta`, and hands out what it gives for an answer.
fn check<T>(
    revision: ProtocolVersion,
    call: impl Fn(&Client) -> Result<T>,
    method: &str,
    params: Value,
    result: Value,
) -> Result<T> {
    let (client, mut server) = connect(revision, &everything());
    server.serve(
        || call(&client),
        |server| {
            let mut request = server.asked(method);
            request["params"].as_object_mut().unwrap().remove("_meta");
            assert_eq!(request["params"], params, "{revision}");
            server.answer(&request, result);
        },
    )
}

#[test]
fn a_resource_is_read() {
    for revision in [FIRST, LEGACY, MODERN] {
        let result = check(
            revision,
            |client| client.read_resource("a:b"),
            method::RESOURCES_READ,
            json!({ "uri": "a:b" }),
            json!({ "contents": [{ "uri": "a:b", "text": "hello" }] }),
        );
        assert_eq!(result.unwrap().contents[0].as_text(), Some("hello"));
    }
}

// M-ERR-C-08
#[test]
fn a_resource_that_is_not_there_is_told_in_both_eras() {
    fn check(code: i64, not_found: bool) {
        let (client, mut server) = connect(MODERN, &everything());
        let error = server.serve(
            || client.read_resource("a:b").unwrap_err(),
            |server| {
                let request = server.asked(method::RESOURCES_READ);
                server.refuse(&request, code, "no");
            },
        );
        assert_eq!(error.kind(), ErrorKind::Peer);
        assert_eq!(error.is_not_found(), not_found, "{code}");
    }
    check(-32002, true);
    check(-32602, true);
    check(-32603, false);
    let (client, mut server) = connect(MODERN, &everything());
    let error = server.serve(
        || client.get_prompt("p", &[]).unwrap_err(),
        |server| {
            let request = server.asked(method::PROMPTS_GET);
            server.refuse(&request, -32602, "no such argument");
        },
    );
    assert!(!error.is_not_found());
}

#[test]
fn a_prompt_is_got_with_its_arguments() {
    for revision in [FIRST, LEGACY, MODERN] {
        let result = check(
            revision,
            |client| client.get_prompt("review", &[("language", "rust"), ("code", "")]),
            method::PROMPTS_GET,
            json!({ "name": "review", "arguments": { "code": "", "language": "rust" } }),
            json!({ "messages": [{ "role": "user", "content": { "type": "text", "text": "Look" } }] }),
        );
        assert_eq!(result.unwrap().messages[0].content.as_text(), Some("Look"));
    }
}

/// Params of a request, as they are written.
fn raw(params: &str) -> Box<RawValue> {
    RawValue::from_string(params.to_owned()).unwrap()
}

// M-META-C-07
#[test]
fn params_with_an_odd_meta_are_sent_with_that_of_the_library() {
    for revision in [LEGACY, MODERN] {
        let check = |params: &str, own: Value| {
            let (client, mut server) = connect(revision, &everything());
            let params = raw(params);
            server.serve(
                || {
                    client
                        .request("test/any", &params, CallOptions::new())
                        .unwrap();
                    client.notify("test/told", &params).unwrap();
                },
                |server| {
                    let request = server.asked("test/any");
                    server.answer(&request, json!({ "resultType": "complete" }));
                    let mut sent = vec![request];
                    if revision.is_modern() {
                        sent.push(server.receive());
                    }
                    for message in sent {
                        let meta = &message["params"]["_meta"];
                        assert_eq!(meta["a.example/b"], own, "{message}");
                        let named = &meta["io.modelcontextprotocol/protocolVersion"];
                        assert_eq!(named.is_string(), revision.is_modern(), "{message}");
                        let is_request = message["method"] == "test/any";
                        assert_eq!(meta["progressToken"].is_number(), is_request, "{message}");
                        assert_eq!(message["params"]["x"], 1, "{message}");
                    }
                },
            );
        };
        check(r#"{"x":1,"_meta":null}"#, Value::Null);
        check(r#"{"x":1,"_meta":{"a.example/b":1},"_meta":{}}"#, json!(1));
        check(r#"{"\u005fmeta":{"a.example/b":1},"x":1}"#, json!(1));
    }
}

#[test]
fn params_whose_meta_is_no_object_are_refused_before_they_are_sent() {
    for revision in [LEGACY, MODERN] {
        let (client, mut server) = connect(revision, &everything());
        for params in [r#"{"_meta":[]}"#, r#"{"_meta":{},"_meta":"x"}"#] {
            let params = raw(params);
            let refused = client.request("test/any", &params, CallOptions::new());
            let error = refused.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
            assert!(error.to_string().contains("_meta"), "{error}");
            if revision.is_modern() {
                let error = client.notify("test/told", &params).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
            }
        }
        server.has_heard_nothing(&client);
    }
}

// M-COMP-C-18, M-COMP-C-12
#[test]
fn an_argument_is_completed_as_the_revision_knows_it() {
    let ask = |client: &Client| {
        let prompt = CompletionReference::prompt("review");
        let params = CompleteRequestParams::new(prompt, "framework", "fl");
        client.complete(params.known("language", "python"))
    };
    let mut params = json!({
        "ref": { "type": "ref/prompt", "name": "review" },
        "argument": { "name": "framework", "value": "fl" },
        "context": { "arguments": { "language": "python" } },
    });
    let result = json!({ "completion": { "values": ["flask"] } });
    let modern = check(
        MODERN,
        ask,
        method::COMPLETION_COMPLETE,
        params.clone(),
        result.clone(),
    );
    let completion = modern.unwrap().completion;
    assert_eq!(completion.values, ["flask"]);
    assert_eq!((completion.total, completion.has_more), (None, None));
    params.as_object_mut().unwrap().remove("context");
    check(FIRST, ask, method::COMPLETION_COMPLETE, params, result).unwrap();
    check(
        MODERN,
        |client| {
            let template = CompletionReference::resource("file:///{path}");
            client.complete(CompleteRequestParams::new(template, "path", ""))
        },
        method::COMPLETION_COMPLETE,
        json!({
            "ref": { "type": "ref/resource", "uri": "file:///{path}" },
            "argument": { "name": "path", "value": "" },
        }),
        json!({ "completion": { "values": [], "total": 0, "hasMore": false } }),
    )
    .unwrap();
}

// L-PROM-B-09; data model, section 1 (capability gates)
#[test]
fn what_was_not_advertised_is_not_sent() {
    let ask = || CompleteRequestParams::new(CompletionReference::prompt("p"), "a", "");
    for revision in [LEGACY, MODERN] {
        let (client, mut server) = connect(revision, &json!({}));
        for (error, capability) in [
            (client.read_resource("a:b").unwrap_err(), "'resources'"),
            (client.get_prompt("p", &[]).unwrap_err(), "'prompts'"),
            (client.complete(ask()).unwrap_err(), "'completions'"),
        ] {
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
            assert!(error.to_string().contains(capability), "{error}");
            assert!(!error.was_sent());
        }
        server.has_heard_nothing(&client);
    }
    // The first revision has no word for completions, so they are tried.
    let (client, mut server) = connect(FIRST, &json!({}));
    let error = server.serve(
        || client.complete(ask()).unwrap_err(),
        |server| {
            let request = server.asked(method::COMPLETION_COMPLETE);
            server.refuse(&request, -32601, "method not found");
        },
    );
    assert_eq!(error.kind(), ErrorKind::Peer);
}

#[test]
fn the_log_level_is_set_in_the_legacy_era_only() {
    check(
        LEGACY,
        |client| client.set_log_level(LoggingLevel::Warning),
        method::LOGGING_SET_LEVEL,
        json!({ "level": "warning" }),
        json!({}),
    )
    .unwrap();
    let (client, mut server) = connect(MODERN, &everything());
    let error = client.set_log_level(LoggingLevel::Warning).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(
        error.to_string().contains("CallOptions::log_level"),
        "{error}"
    );
    server.has_heard_nothing(&client);
    let (client, mut server) = connect(LEGACY, &json!({}));
    let error = client.set_log_level(LoggingLevel::Warning).unwrap_err();
    assert!(error.to_string().contains("'logging'"), "{error}");
    server.has_heard_nothing(&client);
}

// M-META-C-07
#[test]
fn a_call_brings_members_of_meta_along() {
    fn check(revision: ProtocolVersion, level: Option<&str>) {
        let (client, mut server) = connect(revision, &everything());
        let options = CallOptions::new()
            .meta(
                "traceparent",
                "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            )
            .meta("progressToken", "not mine to choose")
            .log_level(LoggingLevel::Debug);
        server.serve(
            || client.call_tool_with("t", &json!({}), options).unwrap(),
            |server| {
                let request = server.asked(method::TOOLS_CALL);
                let meta = &request["params"]["_meta"];
                assert!(meta["traceparent"].as_str().unwrap().starts_with("00-"));
                assert_eq!(meta["progressToken"], request["id"]);
                assert_eq!(
                    meta.get("io.modelcontextprotocol/logLevel")
                        .and_then(Value::as_str),
                    level
                );
                server.answer(&request, json!({ "content": [] }));
            },
        );
    }
    check(MODERN, Some("debug"));
    check(LEGACY, None);
}

// M-LOG-B-12
#[test]
fn log_messages_come_with_their_type() {
    for revision in [LEGACY, MODERN] {
        let (told, messages) = mpsc::channel();
        let (noted, notes) = mpsc::channel();
        let builder = Client::builder("test", "1")
            .on_log_message(move |message| {
                let data = message.data.get().to_owned();
                told.send((message.level.clone(), message.logger.clone(), data))
                    .unwrap();
            })
            .on_log(move |record| _ = noted.send(record.text.to_owned()));
        let (_client, mut server) = connect_with(builder, revision, &everything());
        server.notify("notifications/message", json!({ "level": 7, "data": "?" }));
        for params in [
            json!({ "level": "info", "logger": "db", "data": { "rows": 3 } }),
            json!({ "level": "loud", "data": null }),
        ] {
            server.notify("notifications/message", params);
        }
        let (level, logger, data) = messages.recv_timeout(LONG).unwrap();
        assert_eq!(
            (level, logger.as_deref(), &*data),
            (LoggingLevel::Info, Some("db"), r#"{"rows":3}"#)
        );
        let (level, _, data) = messages.recv_timeout(LONG).unwrap();
        assert_eq!((level.as_str(), &*data), ("loud", "null"));
        let note = notes.recv_timeout(LONG).unwrap();
        assert!(note.contains("a log message of"), "{note}");
    }
}
