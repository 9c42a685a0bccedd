//! Reads, prompts and completions whose handlers keep the call, and answer later.

use std::collections::BTreeMap;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use mcplink::client::{Client, ClientBuilder};
use mcplink::schema::{
    CompleteRequestParams, CompletionReference, ElicitRequestParams, ElicitResult, ElicitSchema,
    JsonSchema, Prompt, PromptArgument, ProtocolVersion, Resource, ResourceTemplate, Tool,
};
use mcplink::server::{
    AskError, CompletionCall, Context, PromptCall, ResourceCall, Server, ToolCall,
};
use mcplink::transport::memory;
use mcplink::{ErrorCode, ErrorKind, RpcError};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::common::LONG;
use crate::scripted::{ScriptedClient, modern};

const REVISIONS: [ProtocolVersion; 2] = [ProtocolVersion::V2024_11_05, ProtocolVersion::LATEST];

/// What the handlers of a server kept.
struct Kept {
    reads: Receiver<ResourceCall>,
    prompts: Receiver<PromptCall>,
    completions: Receiver<CompletionCall>,
}

fn keep<T>(sender: &Sender<T>) -> impl Fn(T) + Send + Sync + 'static
where
    T: Send + 'static,
{
    let sender = sender.clone();
    move |call| drop(sender.send(call))
}

/// A server that keeps whatever it is asked. Half of it is described before it is made, half is added after.
fn keeping() -> (Server, Kept) {
    let (read, reads) = mpsc::channel();
    let (prompt, prompts) = mpsc::channel();
    let (complete, completions) = mpsc::channel();
    let described = |name: &str| {
        Prompt::new(name)
            .description("said of it")
            .argument(PromptArgument::new("a"))
    };
    let server = Server::builder("s", "1")
        .deferred_resource(
            Resource::new("s:one", "one").mime_type("text/x-one"),
            keep(&read),
        )
        .deferred_template(ResourceTemplate::new("t:{id}", "t"), keep(&read))
        .deferred_prompt(described("p"), keep(&prompt))
        .deferred_completer(&CompletionReference::prompt("p"), "a", keep(&complete))
        .build()
        .unwrap();
    server
        .add_deferred_resource(Resource::new("s:two", "two"), keep(&read))
        .unwrap();
    server
        .add_deferred_template(ResourceTemplate::new("u:{id}", "u"), keep(&read))
        .unwrap();
    server
        .add_deferred_prompt(described("q"), keep(&prompt))
        .unwrap();
    server
        .add_deferred_completer(&CompletionReference::prompt("q"), "a", keep(&complete))
        .unwrap();
    let kept = Kept {
        reads,
        prompts,
        completions,
    };
    (server, kept)
}

fn next<T>(calls: &Receiver<T>) -> T {
    calls.recv_timeout(LONG).expect("a call is kept")
}

fn begin(client: &mut ScriptedClient, revision: ProtocolVersion, method: &str, params: Value) {
    let params = if revision.is_modern() {
        modern(params)
    } else {
        params
    };
    client.begin(method, params);
}

fn completion_of(prompt: &str) -> Value {
    json!({
        "ref": { "type": "ref/prompt", "name": prompt },
        "argument": { "name": "a", "value": "x" },
    })
}

/// Answers on another thread, which is done when this returns.
fn elsewhere(answer: impl FnOnce() -> mcplink::Result<()> + Send + 'static) {
    thread::spawn(answer).join().unwrap().unwrap();
}

#[test]
fn reads_are_answered_from_any_thread_in_any_order() {
    let (server, kept) = keeping();
    for revision in REVISIONS {
        let mut client = ScriptedClient::speaking(&server, revision);
        for uri in ["s:one", "s:two", "t:3", "u:4"] {
            begin(
                &mut client,
                revision,
                "resources/read",
                json!({ "uri": uri }),
            );
        }
        let mut calls: Vec<_> = (0..4).map(|_| next(&kept.reads)).collect();
        calls.sort_by_key(|call| std::cmp::Reverse(call.read().uri().to_owned()));
        let mut texts = Vec::new();
        for call in calls {
            assert_eq!(call.context().method(), "resources/read");
            let params: Value = serde_json::from_str(call.context().params()).unwrap();
            assert_eq!(params["uri"], call.read().uri());
            let text = format!("{:?}", call.read().variable("id"));
            elsewhere(move || call.respond(text));
            let contents = client.receive()["result"]["contents"][0].clone();
            let mime_type = contents.get("mimeType").cloned();
            texts.push((contents["uri"].clone(), contents["text"].clone(), mime_type));
        }
        let expected = [
            (json!("u:4"), json!("Some(\"4\")"), None),
            (json!("t:3"), json!("Some(\"3\")"), None),
            (json!("s:two"), json!("None"), None),
            (json!("s:one"), json!("None"), Some(json!("text/x-one"))),
        ];
        assert_eq!(texts, expected, "{revision}");
        client.expect_silence();
    }
}

// M-RES-S-08, L-RES-S-06
#[test]
fn a_kept_read_may_find_nothing() {
    let (server, kept) = keeping();
    for revision in REVISIONS {
        let mut client = ScriptedClient::speaking(&server, revision);
        let code = if revision.is_modern() { -32602 } else { -32002 };
        begin(
            &mut client,
            revision,
            "resources/read",
            json!({ "uri": "t:x" }),
        );
        next(&kept.reads).not_found().unwrap();
        let error = client.receive_unchecked()["error"].clone();
        assert_eq!(
            (&error["code"], &error["data"]),
            (&json!(code), &json!({ "uri": "t:x" }))
        );
        begin(
            &mut client,
            revision,
            "resources/read",
            json!({ "uri": "t:x" }),
        );
        next(&kept.reads).respond(None::<String>).unwrap();
        assert_eq!(client.receive_unchecked()["error"], error);
    }
}

#[test]
fn prompts_are_given_from_any_thread() {
    #[derive(Deserialize)]
    struct Arguments {
        a: String,
    }
    let (server, kept) = keeping();
    for revision in REVISIONS {
        let mut client = ScriptedClient::speaking(&server, revision);
        for name in ["p", "q"] {
            let params = json!({ "name": name, "arguments": { "a": "\u{e4}\n" } });
            begin(&mut client, revision, "prompts/get", params);
            let call = next(&kept.prompts);
            assert_eq!(
                (call.name(), call.context().method()),
                (name, "prompts/get")
            );
            let raw: Value = serde_json::from_str(call.raw_arguments()).unwrap();
            assert_eq!(raw, json!({ "a": "\u{e4}\n" }));
            let Arguments { a } = call.arguments().unwrap();
            let map: BTreeMap<String, String> = call.arguments().unwrap();
            assert_eq!(map["a"], a);
            assert_eq!(
                call.arguments::<()>().unwrap_err().code,
                ErrorCode::INVALID_PARAMS,
                "it has arguments"
            );
            elsewhere(move || call.respond(a));
            let result = client.receive()["result"].clone();
            assert_eq!(result["messages"][0]["content"]["text"], "\u{e4}\n");
            assert_eq!(result["description"], "said of it");
        }
        begin(&mut client, revision, "prompts/get", json!({ "name": "p" }));
        let call = next(&kept.prompts);
        assert_eq!(call.raw_arguments(), "{}");
        call.arguments::<()>().unwrap();
        call.respond("none").unwrap();
        assert!(client.receive()["result"].is_object());
        client.expect_silence();
    }
}

#[test]
fn completions_are_given_from_any_thread() {
    let (server, kept) = keeping();
    for revision in REVISIONS {
        let mut client = ScriptedClient::speaking(&server, revision);
        for name in ["p", "q"] {
            begin(
                &mut client,
                revision,
                "completion/complete",
                completion_of(name),
            );
            let call = next(&kept.completions);
            assert_eq!(call.context().method(), "completion/complete");
            let completing = call.completing();
            assert_eq!((completing.argument(), completing.value()), ("a", "x"));
            assert_eq!(completing.reference(), &CompletionReference::prompt(name));
            elsewhere(move || {
                let values = call.completing().best_of(["xy", "z"]);
                call.respond(values)
            });
            assert_eq!(
                client.receive()["result"]["completion"]["values"],
                json!(["xy"])
            );
        }
        client.expect_silence();
    }
}

#[test]
fn kept_calls_are_refused_and_forgotten_ones_fail() {
    let (server, kept) = keeping();
    let no = RpcError::invalid_params("not today");
    for revision in REVISIONS {
        let mut client = ScriptedClient::speaking(&server, revision);
        for refused in [true, false] {
            begin(
                &mut client,
                revision,
                "resources/read",
                json!({ "uri": "s:one" }),
            );
            let read = next(&kept.reads);
            begin(&mut client, revision, "prompts/get", json!({ "name": "p" }));
            let prompt = next(&kept.prompts);
            begin(
                &mut client,
                revision,
                "completion/complete",
                completion_of("p"),
            );
            let completion = next(&kept.completions);
            if refused {
                read.refuse(&no).unwrap();
                prompt.refuse(&no).unwrap();
                completion.refuse(&no).unwrap();
            } else {
                drop((read, prompt, completion));
            }
            let expected = if refused {
                (json!(-32602), json!("not today"))
            } else {
                (json!(-32603), json!("internal error"))
            };
            for _ in 0..3 {
                let error = client.receive()["error"].clone();
                let told = (error["code"].clone(), error["message"].clone());
                assert_eq!(told, expected, "{revision}");
            }
        }
        client.expect_silence();
    }
}

#[test]
fn a_kept_call_outlives_its_connection() {
    let (server, kept) = keeping();
    let mut client = ScriptedClient::of(&server);
    for (method, params) in [
        ("resources/read", json!({ "uri": "s:one" })),
        ("prompts/get", json!({ "name": "p" })),
        ("completion/complete", completion_of("p")),
    ] {
        client.begin(method, modern(params));
    }
    let read = next(&kept.reads);
    let prompt = next(&kept.prompts);
    let completion = next(&kept.completions);
    client.connection.close();
    assert!(read.context().is_cancelled());
    for sent in [
        read.respond("late"),
        prompt.respond("late"),
        completion.respond(vec!["late"]),
    ] {
        assert_eq!(sent.unwrap_err().kind(), ErrorKind::Closed);
    }
}

fn ask(context: &Context) -> Result<ElicitResult, AskError> {
    let form = ElicitRequestParams::form("name?", ElicitSchema::default().to_schema().unwrap());
    context.elicit("name", form)
}

fn asked() -> ClientBuilder {
    Client::builder("asked", "1.0").on_elicit(|_, _| ElicitResult::decline())
}

// Seen in other SDKs: a handler that wraps the error of a question loses the question.
#[test]
fn reads_and_prompts_that_are_dropped_still_ask() {
    let server = Server::builder("s", "1")
        .deferred_template(ResourceTemplate::new("t:{id}", "t"), |call| {
            if let Ok(answer) = ask(call.context()) {
                let text = format!("{} {:?}", call.read().uri(), answer.action);
                _ = call.respond(text);
            }
        })
        .deferred_prompt(Prompt::new("p"), |call: PromptCall| {
            if let Ok(answer) = ask(call.context()) {
                let text = format!("{} {:?}", call.raw_arguments(), answer.action);
                _ = call.respond(text);
            }
        })
        .deferred_completer(&CompletionReference::prompt("p"), "a", |call| {
            // A completion can't ask: that is a fault of the server's.
            assert!(ask(call.context()).is_err());
        })
        .build()
        .unwrap();
    for revision in [ProtocolVersion::V2025_11_25, ProtocolVersion::LATEST] {
        let (here, there) = memory::pair();
        let _serving = server.open(there).unwrap();
        let client = asked().revisions(&[revision]).connect(here).unwrap();
        let read = client.read_resource("t:1").unwrap();
        assert_eq!(
            read.contents[0].as_text(),
            Some("t:1 Decline"),
            "{revision}"
        );
        let prompt = client.get_prompt("p", &[("a", "b")]).unwrap();
        let text = prompt.messages[0].content.as_text();
        assert_eq!(text, Some(r#"{"a":"b"} Decline"#), "{revision}");
        let params = CompleteRequestParams::new(CompletionReference::prompt("p"), "a", "");
        let error = client.complete(params).unwrap_err();
        let code = error.rpc().map(|rpc| rpc.code);
        assert_eq!(code, Some(ErrorCode::INTERNAL_ERROR), "{revision}");
    }
}

#[test]
fn a_kept_tool_call_knows_its_request() {
    let (sender, calls) = mpsc::channel::<ToolCall>();
    let server = Server::builder("s", "1")
        .deferred_tool(
            Tool::new("t").input_schema(JsonSchema::any_object()),
            keep(&sender),
        )
        .build()
        .unwrap();
    let mut client = ScriptedClient::of(&server);
    let params = modern(json!({ "name": "t", "arguments": { "n": 1 }, "beyond": [1, 2] }));
    client.begin("tools/call", params.clone());
    let call = next(&calls);
    assert_eq!((call.name(), call.context().method()), ("t", "tools/call"));
    let seen: Value = serde_json::from_str(call.context().params()).unwrap();
    assert_eq!(seen, params);
    call.respond("done").unwrap();
    assert!(client.receive()["result"].is_object());
}
