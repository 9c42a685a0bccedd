//! The status of an answer over HTTP is that of the request as such: what a handler says is in the
//! body.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use mcplink::schema::{
    CompletionReference, ElicitRequestParams, ElicitSchema, JsonSchema, Prompt, ProtocolVersion,
    Resource, Tool,
};
use mcplink::server::http::HttpOptions;
use mcplink::server::{Context, GuardedRequest, HandlerError, PromptCall, Server};
use mcplink::{ErrorCode, RpcError};
use serde_json::{Value, json};

use crate::web::{Answer, Web};

const CODES: [i64; 11] = [
    -32700, -32600, -32601, -32602, -32603, -32020, -32021, -32022, -32002, -32000, 7,
];

/// What the handlers and the guard fail with; zero for nothing.
#[derive(Clone, Default)]
struct Fault(Arc<AtomicI64>);

impl Fault {
    fn set(&self, code: i64) {
        self.0.store(code, Ordering::SeqCst);
    }

    fn error(&self) -> Option<RpcError> {
        let code = self.0.load(Ordering::SeqCst);
        let read = |code| serde_json::from_value::<ErrorCode>(json!(code)).unwrap();
        (code != 0).then(|| RpcError::new(read(code), "as the test wants it"))
    }

    fn expect(&self) -> RpcError {
        self.error().unwrap()
    }
}

fn server(handlers: &Fault, guard: &Fault) -> Server {
    let [tool, prompt, read, complete, own] = [(); 5].map(|()| handlers.clone());
    let guard = guard.clone();
    Server::builder("s", "1")
        .deferred_tool(
            Tool::new("t").input_schema(JsonSchema::any_object()),
            move |call| {
                _ = call.refuse(&tool.expect());
            },
        )
        .deferred_prompt(Prompt::new("p"), move |call: PromptCall| {
            _ = call.refuse(&prompt.expect());
        })
        .deferred_resource(Resource::new("r:x", "x"), move |call| {
            _ = call.refuse(&read.expect());
        })
        .deferred_completer(&CompletionReference::prompt("p"), "a", move |call| {
            _ = call.refuse(&complete.expect());
        })
        .method("x/own", move |_, responder| {
            _ = responder.refuse(&own.expect());
        })
        .guard(move |_: &GuardedRequest<'_>| match guard.error() {
            Some(error) => Err(HandlerError::from(error)),
            None => Ok(()),
        })
        .build()
        .unwrap()
}

fn requests() -> [(&'static str, Value); 5] {
    let complete = json!({
        "ref": {"type": "ref/prompt", "name": "p"},
        "argument": {"name": "a", "value": ""},
    });
    [
        ("tools/call", json!({"name": "t"})),
        ("prompts/get", json!({"name": "p"})),
        ("resources/read", json!({"uri": "r:x"})),
        ("completion/complete", complete),
        ("x/own", json!({})),
    ]
}

fn status_and_error(answer: &Answer) -> (u16, Value) {
    let message = answer.message();
    assert!(message["id"].is_i64(), "{message}");
    (answer.status(), message["error"]["code"].clone())
}

// L-HTTP-S-12: clients end their sessions when a request is answered with 400.
#[test]
fn in_legacy_eras_a_request_is_answered_with_200_whatever_is_said() {
    let [fault, guard] = [(); 2].map(|()| Fault::default());
    let server = server(&fault, &guard);
    let web = Web::new(&server);
    let stateless = Web::with(&server, HttpOptions::new().sessions(false));
    let session = web.session(ProtocolVersion::V2025_11_25);
    for code in CODES {
        for (method, params) in requests() {
            fault.set(code);
            let (status, error) = status_and_error(&session.request(method, params.clone()));
            assert_eq!(status, 200, "{method} {code}");
            assert!(error.is_i64(), "{method} {code}");
            let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
            let fields = [("MCP-Protocol-Version", "2025-11-25")];
            let (status, error) = status_and_error(&stateless.post(&fields, &request));
            assert_eq!(status, 200, "{method} {code} without a session");
            assert!(error.is_i64(), "{method} {code}");
        }
        guard.set(code);
        for method in ["tools/list", "tools/call", "resources/subscribe"] {
            let params = json!({"name": "t", "uri": "r:x"});
            let (status, error) = status_and_error(&session.request(method, params));
            assert_eq!((status, error), (200, json!(code)), "guard {method}");
        }
        guard.set(0);
    }
    for method in ["foo/bar", "server/discover"] {
        let answer = session.request(method, json!({}));
        assert_eq!(status_and_error(&answer), (200, json!(-32601)), "{method}");
    }
}

// M-HTTP-S-24, M-HTTP-S-33, M-META-S-14, AMB-05
#[test]
fn in_the_modern_era_one_error_of_handlers_has_a_status_of_its_own() {
    let [fault, guard] = [(); 2].map(|()| Fault::default());
    let web = Web::new(&server(&fault, &guard));
    for code in CODES {
        let expected = if code == -32021 { 400 } else { 200 };
        for (method, params) in requests() {
            fault.set(code);
            let (status, error) = status_and_error(&web.modern(method, params));
            assert_eq!(status, expected, "{method} {code}");
            assert!(error.is_i64(), "{method} {code}");
        }
        guard.set(code);
        for method in ["tools/list", "tools/call"] {
            let (status, error) = status_and_error(&web.modern(method, json!({"name": "t"})));
            assert_eq!((status, error), (expected, json!(code)), "guard {method}");
        }
        guard.set(0);
    }
}

// M-HTTP-S-24: what a guard hides is answered as what is not there.
#[test]
fn a_method_that_a_guard_hides_looks_like_an_unknown_one() {
    let server = Server::builder("s", "1")
        .tool_with(Tool::new("t"), |_: Value, _: &Context| "")
        .guard(|_: &GuardedRequest<'_>| Err(HandlerError::not_found()))
        .build()
        .unwrap();
    let web = Web::new(&server);
    let answer = web.modern("tools/list", json!({}));
    assert_eq!(status_and_error(&answer), (404, json!(-32601)));
    let answer = web.modern("foo/bar", json!({}));
    assert_eq!(status_and_error(&answer), (404, json!(-32601)));
}

// L-HTTP-S-12: an official client ends its whole session on any other status.
#[test]
fn a_prompt_that_asks_a_client_that_answers_nothing_costs_one_error() {
    let server = Server::builder("s", "1")
        .prompt(Prompt::new("ask"), |_: Value, context: &Context| {
            let question = ElicitRequestParams::form("Name?", ElicitSchema::default().to_schema()?);
            context.elicit("name", question)?;
            Ok::<_, HandlerError>("done")
        })
        .build()
        .unwrap();
    let web = Web::new(&server);
    let session = web.session(ProtocolVersion::V2025_11_25);
    let answer = session.request("prompts/get", json!({"name": "ask"}));
    assert_eq!(status_and_error(&answer), (200, json!(-32600)));
    assert_eq!(session.request("ping", json!({})).status(), 200);
}

// L-HTTP-S-12
#[test]
fn what_is_said_of_tasks_is_answered_with_200_in_legacy_eras() {
    let (server, _gate) = crate::tasks_server::described();
    let web = Web::new(&server.build().unwrap());
    let session = web.session(ProtocolVersion::V2025_11_25);
    for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
        for params in [json!({"taskId": "unknown"}), json!({})] {
            let answer = session.request(method, params);
            assert_eq!(status_and_error(&answer), (200, json!(-32602)), "{method}");
        }
    }
    for (tool, code) in [("refuse", json!(7)), ("panic", json!(-32603))] {
        let created = session.request("tools/call", json!({"name": tool, "task": {}}));
        let id = created.result()["task"]["taskId"].clone();
        // It waits for the end of the task.
        let answer = session.request("tasks/result", json!({"taskId": id}));
        assert_eq!(status_and_error(&answer), (200, code), "{tool}");
        let answer = session.request("tasks/cancel", json!({"taskId": id}));
        assert_eq!(status_and_error(&answer), (200, json!(-32602)), "{tool}");
    }
    assert_eq!(session.request("ping", json!({})).status(), 200);
}
