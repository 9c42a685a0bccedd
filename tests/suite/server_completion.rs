//! Completion, for clients of every revision.

use mcplink::schema::*;
use mcplink::server::{CompletionRequest, Context, HandlerError, ResourceRead, Server};
use serde_json::{Value, json};

use crate::raw::Raw;

fn server() -> Server {
    let prompt = CompletionReference::prompt("p");
    let template = CompletionReference::resource("a://{x}/{y}");
    let declared = Prompt::new("p")
        .argument(PromptArgument::new("a"))
        .argument(PromptArgument::new("plain"))
        .argument(PromptArgument::new("broken"));
    Server::builder("s", "1")
        .prompt(declared, |_: Value, _: &Context| "")
        .resource(
            Resource::new("a:b", "b"),
            |_: &ResourceRead, _: &Context| "",
        )
        .template(
            ResourceTemplate::new("a://{x}/{y}", "t"),
            |_: &ResourceRead, _: &Context| "",
        )
        .completer(&prompt, "a", |typed: &CompletionRequest, _: &Context| {
            let words = ["one", "only", "two"].into_iter();
            words
                .filter(|word| word.starts_with(typed.value()))
                .collect::<Vec<_>>()
        })
        .completer(
            &prompt,
            "broken",
            |_: &CompletionRequest, _: &Context| -> Result<Vec<String>, HandlerError> {
                Err(std::io::Error::other("secret"))?
            },
        )
        .completer(&template, "y", |typed: &CompletionRequest, _: &Context| {
            let x = typed.known("x").unwrap_or("nothing");
            (0..150).map(|n| format!("{x}{n}")).collect::<Vec<_>>()
        })
        .build()
        .unwrap()
}

fn params(reference: Value, name: &str, value: &str) -> Value {
    json!({ "ref": reference, "argument": { "name": name, "value": value } })
}

fn prompt() -> Value {
    json!({ "type": "ref/prompt", "name": "p" })
}

// M-COMP-S-01, M-COMP-S-06, M-COMP-S-17, L-COMP-S-01, L-COMP-S-06
#[test]
fn arguments_are_completed_in_every_revision() {
    let server = server();
    for &revision in ProtocolVersion::ALL {
        let mut client = Raw::open(&server, revision);
        let declared = client.capabilities().get("completions").is_some();
        assert_eq!(
            declared,
            revision >= ProtocolVersion::V2025_03_26,
            "{revision}"
        );
        let completion =
            client.result("completion/complete", params(prompt(), "a", "on"))["completion"].clone();
        assert_eq!(completion["values"], json!(["one", "only"]));
        let template = json!({ "type": "ref/resource", "uri": "a://{x}/{y}" });
        let mut known = params(template, "y", "");
        known["context"] = json!({ "arguments": { "x": "v" } });
        let completion = client.result("completion/complete", known)["completion"].clone();
        assert_eq!(completion["values"].as_array().unwrap().len(), 100);
        assert_eq!(completion["values"][0], "v0");
        assert_eq!(
            (&completion["total"], &completion["hasMore"]),
            (&json!(150), &json!(true))
        );
    }
}

#[test]
fn an_argument_without_completer_has_no_values() {
    let mut client = Raw::open(&server(), ProtocolVersion::LATEST);
    for params in [
        params(prompt(), "plain", "x"),
        params(
            json!({ "type": "ref/resource", "uri": "a://{x}/{y}" }),
            "x",
            "",
        ),
        params(json!({ "type": "ref/resource", "uri": "a:b" }), "x", ""),
    ] {
        let result = client.result("completion/complete", params);
        assert_eq!(result["completion"]["values"], json!([]));
    }
}

// M-COMP-S-03, M-COMP-S-04, M-COMP-S-05, M-COMP-S-09, M-COMP-B-13, L-COMP-S-02
#[test]
fn what_can_not_be_completed_is_refused() {
    let server = server();
    for &revision in ProtocolVersion::ALL {
        let mut client = Raw::open(&server, revision);
        for (params, code) in [
            (
                params(json!({ "type": "ref/prompt", "name": "other" }), "a", ""),
                -32602,
            ),
            (
                params(json!({ "type": "ref/resource", "uri": "b://{x}" }), "x", ""),
                -32602,
            ),
            (
                params(json!({ "type": "ref/tool", "name": "p" }), "a", ""),
                -32602,
            ),
            (params(prompt(), "other", ""), -32602),
            (json!({ "argument": { "name": "a", "value": "" } }), -32602),
            (
                json!({ "ref": prompt(), "argument": { "name": "a" } }),
                -32602,
            ),
            (
                json!({ "ref": prompt(), "argument": { "value": "a" } }),
                -32602,
            ),
            (
                json!({ "ref": prompt(), "argument": { "name": "a", "value": "" }, "context": 1 }),
                -32602,
            ),
            (params(prompt(), "broken", ""), -32603),
        ] {
            let error = client.error("completion/complete", params);
            assert_eq!(error["code"], code, "{error}");
            assert!(!error.to_string().contains("secret"));
        }
    }
}

// M-COMP-S-02
#[test]
fn without_completers_there_is_no_completion() {
    let server = Server::builder("s", "1")
        .prompt(Prompt::new("p"), |(): (), _: &Context| "")
        .build()
        .unwrap();
    for &revision in ProtocolVersion::ALL {
        let mut client = Raw::open(&server, revision);
        assert!(client.capabilities().get("completions").is_none());
        assert_eq!(
            client.code("completion/complete", params(prompt(), "a", "")),
            -32601
        );
    }
}

// M-COMP-S-06, M-COMP-S-07, L-COMP-S-03
#[test]
fn what_is_typed_may_be_mistyped() {
    let server = Server::builder("s", "1")
        .prompt(
            Prompt::new("p").argument(PromptArgument::new("a")),
            |_: Value, _: &Context| "",
        )
        .completer(
            &CompletionReference::prompt("p"),
            "a",
            |typed: &CompletionRequest, _: &Context| {
                typed.best_of(["domain", "src/main.rs", "Mainz", "x"])
            },
        )
        .build()
        .unwrap();
    for &revision in ProtocolVersion::ALL {
        let mut client = Raw::open(&server, revision);
        for (typed, expected) in [
            ("main", json!(["Mainz", "src/main.rs", "domain"])),
            ("mrs", json!(["src/main.rs"])),
            ("?", json!([])),
        ] {
            let completed = client.result("completion/complete", params(prompt(), "a", typed));
            assert_eq!(completed["completion"]["values"], expected, "{typed}");
        }
    }
}
