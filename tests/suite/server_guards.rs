//! What the host has to say about who may see and use what, and about what leaves the server.

use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcplink::client::{Client, Event};
use mcplink::schema::*;
use mcplink::server::{
    Cached, CompletionRequest, Context, Guard, GuardedRequest, GuardedResult, HandlerError, List,
    Primitive, RateLimit, ResourceRead, Server, ServerBuilder,
};
use mcplink::transport::memory;
use mcplink::{ErrorKind, RpcError};
use serde_json::{Value, json};

use crate::common::Gate;
use crate::raw::Raw;

const ERAS: [ProtocolVersion; 2] = [ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28];

/// A server with two of everything: one for everybody, and one with "secret" in its name. It counts what its handlers do.
fn house(ran: &Arc<AtomicUsize>) -> ServerBuilder {
    let count = |ran: &Arc<AtomicUsize>| {
        let ran = Arc::clone(ran);
        move || _ = ran.fetch_add(1, Ordering::SeqCst)
    };
    let mut builder = Server::builder("house", "1");
    for name in ["open", "secret"] {
        let (tool, prompt) = (count(ran), count(ran));
        let (resource, template, completer) = (count(ran), count(ran), count(ran));
        builder = builder
            .tool_with(Tool::new(name), move |_: Value, _: &Context| tool())
            .prompt(
                Prompt::new(name).argument(PromptArgument::new("who")),
                move |_: Value, _: &Context| {
                    prompt();
                    "hello"
                },
            )
            .resource(
                Resource::new(format!("{name}:one"), name),
                move |_: &ResourceRead, _: &Context| {
                    resource();
                    "one"
                },
            )
            .template(
                ResourceTemplate::new(format!("{name}:{{id}}/it"), name),
                move |_: &ResourceRead, _: &Context| {
                    template();
                    "any"
                },
            )
            .completer(
                &CompletionReference::prompt(name),
                "who",
                move |_: &CompletionRequest, _: &Context| {
                    completer();
                    vec!["a"]
                },
            );
    }
    builder
}

/// The requests that touch something, with what is to be filled in for its name.
fn requests(name: &str) -> Vec<(&'static str, Value)> {
    let complete = |reference: Value, argument: &str| {
        let argument = json!({ "name": argument, "value": "" });
        (
            "completion/complete",
            json!({ "ref": reference, "argument": argument }),
        )
    };
    vec![
        ("tools/call", json!({ "name": name })),
        ("prompts/get", json!({ "name": name })),
        ("resources/read", json!({ "uri": format!("{name}:one") })),
        ("resources/read", json!({ "uri": format!("{name}:7/it") })),
        complete(json!({ "type": "ref/prompt", "name": name }), "who"),
        complete(
            json!({ "type": "ref/resource", "uri": format!("{name}:{{id}}/it") }),
            "id",
        ),
    ]
}

/// The names on all lists.
fn listed(client: &mut Raw) -> Vec<String> {
    let lists = [
        ("tools/list", "tools"),
        ("prompts/list", "prompts"),
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
    ];
    let names = lists.into_iter().flat_map(|(method, member)| {
        let list = client.result(method, json!({}));
        let items = list[member].as_array().unwrap().clone();
        items
            .into_iter()
            .map(|item| item["name"].as_str().unwrap().to_owned())
    });
    names.collect()
}

fn is_secret(access: &GuardedRequest<'_>) -> bool {
    let name = match access.primitive() {
        Some(
            Primitive::Tool(name)
            | Primitive::Prompt(name)
            | Primitive::Resource(name)
            | Primitive::ResourceTemplate(name),
        ) => name,
        _ => "",
    };
    name.starts_with("secret")
}

fn no() -> HandlerError {
    RpcError::invalid_request("for members only").into()
}

// M-TOOL-S-28, M-RES-S-12, M-RES-S-14, L-RES-S-08, L-RES-S-10, M-COMP-S-15
#[test]
fn what_a_guard_refuses_is_seen_and_not_used() {
    let ran = Arc::default();
    let server = house(&ran)
        .guard(|access: &GuardedRequest<'_>| if is_secret(access) { Err(no()) } else { Ok(()) })
        .build()
        .unwrap();
    for revision in ERAS {
        let mut client = Raw::open(&server, revision);
        assert_eq!(listed(&mut client).len(), 8);
        ran.store(0, Ordering::SeqCst);
        for (method, params) in requests("secret") {
            let error = client.error(method, params);
            assert_eq!(error["code"], -32600, "{method}");
            assert_eq!(error["message"], "for members only");
        }
        assert_eq!(ran.load(Ordering::SeqCst), 0, "refused before any handler");
        for (method, params) in requests("open") {
            client.result(method, params);
        }
        assert_eq!(ran.load(Ordering::SeqCst), 5);
    }
}

// M-TOOL-S-28, M-COMP-S-15, M-RES-S-12, M-RES-S-14, L-RES-S-08, L-RES-S-10
#[test]
fn what_a_guard_hides_is_not_there() {
    let ran = Arc::default();
    let guard = |access: &GuardedRequest<'_>| {
        if is_secret(access) {
            return Err(HandlerError::not_found());
        }
        Ok(())
    };
    let guarded = house(&ran).guard(guard).build().unwrap();
    let without = Server::builder("house", "1")
        .declare_capability(List::Tools)
        .declare_capability(List::Prompts)
        .declare_capability(List::Resources)
        .completer(&CompletionReference::prompt("x"), "y", |_, _| vec!["z"])
        .build()
        .unwrap();
    for revision in ERAS {
        let mut client = Raw::open(&guarded, revision);
        assert_eq!(listed(&mut client), ["open"; 4]);
        ran.store(0, Ordering::SeqCst);
        let mut nothing_there = Raw::open(&without, revision);
        for (method, params) in requests("secret") {
            let hidden = client.error(method, params.clone());
            assert_eq!(hidden, nothing_there.error(method, params), "{method}");
        }
        assert_eq!(ran.load(Ordering::SeqCst), 0);
    }
    // Who does not see a template reads nothing through it, whatever is said of the address itself.
    let guard = |access: &GuardedRequest<'_>| match access.primitive() {
        Some(Primitive::ResourceTemplate("secret:{id}/it")) => Err(HandlerError::not_found()),
        _ => Ok(()),
    };
    let server = house(&ran).guard(guard).build().unwrap();
    let mut client = Raw::open(&server, ProtocolVersion::LATEST);
    client.error("resources/read", json!({ "uri": "secret:7/it" }));
    client.result("resources/read", json!({ "uri": "secret:one" }));
    client.result("resources/read", json!({ "uri": "open:7/it" }));
}

// M-PROM-B-14, L-PROM-B-10, L-TOOL-S-18: the guard sees who asks, and every argument, before the handler does.
#[test]
fn a_guard_sees_who_asks_for_what_and_with_which_arguments() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let notes = Arc::clone(&seen);
    let ran = Arc::default();
    let server = house(&ran)
        .guard(move |access: &GuardedRequest<'_>| {
            let principal = access.principal().unwrap_or("nobody");
            let key = access
                .meta()
                .and_then(|meta| meta.extra.get("com.example/key"));
            let note = format!(
                "{} {:?} {principal} {} {}",
                access.method(),
                access.primitive(),
                access.client().revision,
                key.is_some()
            );
            notes.lock().unwrap().push(note);
            if access.params().contains("<script>") {
                return Err(RpcError::invalid_params("no scripts").into());
            }
            Ok(())
        })
        .build()
        .unwrap();
    let (here, there) = memory::pair();
    let _serving = server.open_for("ada", there).unwrap();
    let client = Client::connect(here).unwrap();
    client.call_tool("open", &json!({ "a": 1 })).unwrap();
    assert_eq!(
        *seen.lock().unwrap(),
        [r#"tools/call Some(Tool("open")) ada 2026-07-28 false"#]
    );
    for attempt in [
        client.call_tool("open", &json!({ "a": "<script>" })).err(),
        client.get_prompt("open", &[("who", "<script>")]).err(),
    ] {
        let error = attempt.unwrap();
        assert!(error.to_string().contains("no scripts"), "{error}");
    }
    assert_eq!(ran.load(Ordering::SeqCst), 1);
    let options = mcplink::client::CallOptions::new().meta("com.example/key", 1);
    client.read_resource_with("open:one", options).unwrap();
    let last = seen.lock().unwrap().last().cloned().unwrap();
    assert_eq!(
        last,
        r#"resources/read Some(Resource("open:one")) ada 2026-07-28 true"#
    );
    let mut legacy = Raw::open(&server, ProtocolVersion::V2025_06_18);
    legacy.result("prompts/list", json!({}));
    let all = seen.lock().unwrap();
    assert_eq!(
        all[all.len() - 3..],
        [
            "prompts/list None nobody 2025-06-18 false",
            r#"prompts/list Some(Prompt("open")) nobody 2025-06-18 false"#,
            r#"prompts/list Some(Prompt("secret")) nobody 2025-06-18 false"#,
        ]
    );
}

// M-COMP-S-16, L-COMP-B-05
#[test]
fn handlers_know_on_whose_behalf_they_are_asked() {
    let server = Server::builder("s", "1")
        .prompt(
            Prompt::new("p").argument(PromptArgument::new("file")),
            |(): (), _: &Context| "text",
        )
        .completer(
            &CompletionReference::prompt("p"),
            "file",
            |_: &CompletionRequest, context: &Context| match context.principal() {
                Some(owner) => vec![format!("{owner}'s file")],
                None => Vec::new(),
            },
        )
        .build()
        .unwrap();
    let complete = |principal: Option<&str>| {
        let (here, there) = memory::pair();
        let _serving = match principal {
            Some(principal) => server.open_for(principal, there),
            None => server.open(there),
        };
        let client = Client::connect(here).unwrap();
        let prompt = CompletionReference::prompt("p");
        let asked = CompleteRequestParams::new(prompt, "file", "");
        client.complete(asked).unwrap().completion.values
    };
    assert_eq!(complete(Some("ada")), ["ada's file"]);
    assert_eq!(complete(Some("bob")), ["bob's file"]);
    assert!(complete(None).is_empty());
}

#[test]
fn pages_of_what_somebody_sees_are_full() {
    let mut builder = Server::builder("s", "1");
    for number in 0..30 {
        let tool = Tool::new(format!("t{number}"));
        builder = builder.tool_with(tool, |_: Value, _: &Context| ());
    }
    // Every third is shown: 0, 3, …, 27.
    let server = builder
        .page_size(NonZeroUsize::new(4).unwrap())
        .guard(|access: &GuardedRequest<'_>| match access.primitive() {
            Some(Primitive::Tool(name)) if name[1..].parse::<u32>().unwrap() % 3 > 0 => {
                Err(HandlerError::not_found())
            }
            _ => Ok(()),
        })
        .build()
        .unwrap();
    for revision in ERAS {
        let mut client = Raw::open(&server, revision);
        let mut cursor = Value::Null;
        let mut sizes = Vec::new();
        let mut names = Vec::new();
        while sizes.is_empty() || !cursor.is_null() {
            let params = if cursor.is_null() {
                json!({})
            } else {
                json!({ "cursor": cursor })
            };
            let page = client.result("tools/list", params);
            let tools = page["tools"].as_array().unwrap();
            sizes.push(tools.len());
            names.extend(tools.iter().map(|tool| tool["name"].clone()));
            cursor = page["nextCursor"].clone();
        }
        assert_eq!(sizes, [4, 4, 2]);
        let expected: Vec<String> = (0..10).map(|number| format!("t{}", number * 3)).collect();
        assert_eq!(names, expected);
        assert_eq!(
            client.code("tools/list", json!({ "cursor": "made up" })),
            -32602
        );
    }
}

// M-CACHE-S-20, M-CACHE-S-21
#[test]
fn a_guard_is_asked_about_what_is_public_too() {
    let public = CacheHint::new(Duration::from_secs(60), CacheScope::Public);
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&asked);
    let hint = public.clone();
    let server = Server::builder("s", "1")
        .resource(
            Resource::new("a:b", "b"),
            move |_: &ResourceRead, _: &Context| Cached("for all", hint.clone()),
        )
        .cache_list(List::Resources, public)
        .guard(move |access: &GuardedRequest<'_>| {
            let last = counter.fetch_add(1, Ordering::SeqCst) >= 6;
            if last && access.method() == "resources/read" {
                Err(no())
            } else {
                Ok(())
            }
        })
        .build()
        .unwrap();
    let mut client = Raw::open(&server, ProtocolVersion::LATEST);
    for _ in 0..2 {
        let read = client.result("resources/read", json!({ "uri": "a:b" }));
        assert_eq!(read["cacheScope"], "public");
        let list = client.result("resources/list", json!({}));
        assert_eq!(list["ttlMs"], 60_000);
        assert_eq!(
            list["cacheScope"], "private",
            "it may differ from user to user"
        );
    }
    // Each read, each list, each item.
    assert_eq!(asked.load(Ordering::SeqCst), 6);
    client.error("resources/read", json!({ "uri": "a:b" }));
}

// M-TOOL-S-29, M-COMP-S-14, M-COMP-S-08, L-TOOL-S-18, L-COMP-B-05, L-COMP-S-03
#[test]
fn who_asks_too_often_is_refused() {
    let three = NonZeroU32::new(3).unwrap();
    // Nothing comes back while the test runs.
    let day = Duration::from_secs(24 * 60 * 60);
    let ran = Arc::default();
    let server = house(&ran)
        .guard(RateLimit::new(three, day).on(&[method::TOOLS_CALL]))
        .guard(RateLimit::new(three, day).on(&[method::COMPLETION_COMPLETE]))
        .build()
        .unwrap();
    let all = requests("open");
    let (call, complete) = (&all[0], &all[4]);
    for revision in ERAS {
        let mut client = Raw::open(&server, revision);
        for (method, params) in [call, complete] {
            ran.store(0, Ordering::SeqCst);
            for _ in 0..3 {
                client.result(method, params.clone());
            }
            let error = client.error(method, params.clone());
            assert_eq!(error["code"], -32603);
            assert_eq!(error["data"]["busy"], true);
            assert!(error["data"]["retryAfterMs"].as_u64() > Some(0), "{error}");
            assert_eq!(ran.load(Ordering::SeqCst), 3);
        }
        for _ in 0..10 {
            client.result("tools/list", json!({}));
            client.result("prompts/get", json!({ "name": "open" }));
        }
        // Nobody else is kept waiting.
        let mut other = Raw::open(&server, revision);
        other.result(call.0, call.1.clone());
    }
    // A principal is one caller, on however many connections.
    let connect = || {
        let (here, there) = memory::pair();
        let serving = server.open_for("ada", there).unwrap();
        (Client::connect(here).unwrap(), serving)
    };
    let ((first, _one), (second, _two)) = (connect(), connect());
    let call = |client: &Client| client.call_tool("open", &json!({})).map(drop);
    call(&first).unwrap();
    call(&second).unwrap();
    call(&first).unwrap();
    let error = call(&second).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Peer);
    assert!(
        error.to_string().contains("too many requests: 3"),
        "{error}"
    );
}

/// Takes a card's number out of everything.
struct Redactor;

fn redact(text: &mut String) {
    *text = text.replace("4111-1111", "****");
}

impl Guard for Redactor {
    fn release(&self, outgoing: &mut GuardedResult<'_>, context: &Context) {
        if context.principal() == Some("auditor") {
            return;
        }
        match outgoing {
            GuardedResult::Tool(result) => {
                for block in &mut result.content {
                    if let ContentBlock::Text(block) = block {
                        redact(&mut block.text);
                    }
                }
            }
            GuardedResult::Prompt(result) => {
                for message in &mut result.messages {
                    if let ContentBlock::Text(block) = &mut message.content {
                        redact(&mut block.text);
                    }
                }
            }
            GuardedResult::Resource(result) => {
                for contents in &mut result.contents {
                    if let ResourceContents::Text(contents) = contents {
                        redact(&mut contents.text);
                    }
                }
            }
            GuardedResult::Completion(result) => {
                result.completion.values.iter_mut().for_each(redact);
            }
            GuardedResult::Log(message) => {
                let mut text = message.data.get().to_owned();
                redact(&mut text);
                message.data = serde_json::value::RawValue::from_string(text).unwrap();
            }
            _ => {}
        }
    }
}

fn spilling(builder: ServerBuilder) -> Server {
    builder
        .tool_with(Tool::new("t"), |_: Value, context: &Context| {
            context.log(LoggingLevel::Error, None, json!({ "card": "4111-1111" }));
            "card 4111-1111"
        })
        .tool_with(Tool::new("fails"), |_: Value, _: &Context| {
            Err::<(), _>(HandlerError::new("card 4111-1111"))
        })
        .prompt(
            Prompt::new("p").argument(PromptArgument::new("card")),
            |_: Value, _: &Context| "card 4111-1111",
        )
        .resource(
            Resource::new("a:b", "b"),
            |_: &ResourceRead, _: &Context| "card 4111-1111",
        )
        .completer(
            &CompletionReference::prompt("p"),
            "card",
            |_: &CompletionRequest, _: &Context| vec!["4111-1111"],
        )
        .logging(true)
        .build()
        .unwrap()
}

// M-LOG-B-13, L-LOG-B-05: the guard sees each message, and who would get it.
#[test]
fn who_may_read_the_log_is_a_matter_of_the_host() {
    let server = spilling(Server::builder("s", "1").guard(Redactor));
    for (principal, expected) in [("auditor", 6), ("stranger", 0)] {
        let mut client = Raw::silent_on(ProtocolVersion::LATEST, |there| {
            server.open_for(principal, there).unwrap()
        });
        let said = everything_said(&mut client);
        assert_eq!(said.matches("4111-1111").count(), expected, "{principal}");
    }
}

/// All that a client gets from [`spilling`].
fn everything_said(client: &mut Raw) -> String {
    let meta = json!({ "io.modelcontextprotocol/logLevel": "debug" });
    let complete = json!({ "ref": { "type": "ref/prompt", "name": "p" }, "argument": { "name": "card", "value": "" } });
    let results = [
        client.result("tools/call", json!({ "name": "t", "_meta": meta })),
        client.result("tools/call", json!({ "name": "fails" })),
        client.result("prompts/get", json!({ "name": "p" })),
        client.result("resources/read", json!({ "uri": "a:b" })),
        client.result("completion/complete", complete),
        client.next(),
    ];
    assert_eq!(results[5]["method"], "notifications/message");
    json!(results).to_string()
}

// M-TOOL-S-30, M-PROM-B-14, L-PROM-B-10, L-TOOL-S-18, M-LOG-S-08, M-LOG-S-09, M-LOG-S-10, L-LOG-S-04
#[test]
fn what_leaves_the_server_can_be_cleaned() {
    let open = spilling(Server::builder("s", "1"));
    let clean = spilling(Server::builder("s", "1").guard(Redactor));
    for revision in ERAS {
        let said = everything_said(&mut Raw::open(&open, revision));
        assert_eq!(said.matches("4111-1111").count(), 6, "{said}");
        let said = everything_said(&mut Raw::open(&clean, revision));
        assert_eq!(said.matches("4111-1111").count(), 0, "{said}");
        assert_eq!(said.matches("****").count(), 6, "{said}");
    }
}

// M-LOG-S-11, L-LOG-S-04: what the library itself says of a failure tells nothing of the inside.
#[test]
fn a_guard_that_fails_lets_nothing_through_and_tells_nothing() {
    let told = Arc::new(Mutex::new(Vec::<String>::new()));
    let lines = Arc::clone(&told);
    let ran = Arc::default();
    let server = house(&ran)
        .guard(|access: &GuardedRequest<'_>| {
            assert!(!access.params().contains("panic"), "on purpose");
            if is_secret(access) {
                std::fs::read("/nowhere/policy.db")?;
            }
            Ok(())
        })
        .on_log(move |record| lines.lock().unwrap().push(record.text.to_owned()))
        .build()
        .unwrap();
    for revision in ERAS {
        let mut client = Raw::open(&server, revision);
        assert_eq!(listed(&mut client), ["open"; 4], "in doubt it is not shown");
        ran.store(0, Ordering::SeqCst);
        let failing = requests("secret").into_iter();
        let panicking = [(
            "tools/call",
            json!({ "name": "open", "arguments": { "panic": 1 } }),
        )];
        for (method, params) in failing.chain(panicking) {
            let error = client.error(method, params);
            assert_eq!(
                error,
                json!({ "code": -32603, "message": "internal error" })
            );
        }
        assert_eq!(ran.load(Ordering::SeqCst), 0);
        client.result("tools/call", json!({ "name": "open" }));
    }
    let told = told.lock().unwrap();
    assert!(
        told.iter().any(|line| line.contains("os error")),
        "{told:?}"
    );
}

#[test]
fn nobody_is_told_of_changes_of_what_is_kept_from_him() {
    let ran = Arc::default();
    let server = house(&ran)
        .guard(|access: &GuardedRequest<'_>| if is_secret(access) { Err(no()) } else { Ok(()) })
        .guard(
            RateLimit::new(NonZeroU32::MIN, Duration::from_secs(3600))
                .on(&[method::SUBSCRIPTIONS_LISTEN]),
        )
        .build()
        .unwrap();
    let (here, there) = memory::pair();
    let _serving = server.open(there).unwrap();
    let client = Client::connect(here).unwrap();
    let uris = ["secret:one", "open:one", "open:7/it"];
    let filter =
        SubscriptionFilter::default().resource_subscriptions(uris.map(str::to_owned).to_vec());
    let (told, events) = std::sync::mpsc::channel();
    let subscription = client
        .subscribe(filter.clone(), move |event| _ = told.send(event))
        .unwrap();
    let granted = subscription.granted().resource_subscriptions.clone();
    assert_eq!(granted.unwrap(), ["open:one", "open:7/it"]);
    server.resource_updated("secret:one");
    server.resource_updated("open:one");
    let event = events.recv_timeout(crate::common::LONG).unwrap();
    assert_eq!(event, Event::ResourceUpdated("open:one".to_owned()));
    let error = client.subscribe(filter, |_| {}).unwrap_err();
    assert!(error.to_string().contains("too many requests"), "{error}");

    let mut legacy = Raw::open(&server, ProtocolVersion::V2025_11_25);
    let uri = |uri: &str| json!({ "uri": uri });
    assert_eq!(
        legacy.code("resources/subscribe", uri("secret:one")),
        -32600
    );
    legacy.result("resources/subscribe", uri("open:one"));
    server.resource_updated("secret:one");
    server.resource_updated("open:one");
    assert_eq!(legacy.next()["params"]["uri"], "open:one");
    legacy.result("resources/unsubscribe", uri("open:one"));
    server.resource_updated("open:one");
    legacy.expect_silence();
}

#[test]
fn a_subscription_does_not_betray_what_is_hidden() {
    let ran = Arc::default();
    let server = house(&ran)
        .guard(|access: &GuardedRequest<'_>| {
            if is_secret(access) {
                return Err(HandlerError::not_found());
            }
            Ok(())
        })
        .build()
        .unwrap();
    let mut legacy = Raw::open(&server, ProtocolVersion::V2025_11_25);
    for uri in ["secret:one", "unknown:one"] {
        legacy.result("resources/subscribe", json!({ "uri": uri }));
    }
    server.resource_updated("secret:one");
    legacy.expect_silence();

    let mut modern = Raw::open(&server, ProtocolVersion::LATEST);
    let uris = ["secret:one", "unknown:one", "open:one"];
    let asked = json!({ "notifications": { "resourceSubscriptions": uris } });
    modern.request(json!("s"), "subscriptions/listen", asked);
    let granted = modern.next()["params"]["notifications"]["resourceSubscriptions"].clone();
    assert_eq!(granted, json!(uris));
    server.resource_updated("secret:one");
    server.resource_updated("open:one");
    assert_eq!(modern.next()["params"]["uri"], "open:one");
}

// A slow guard delays no other request.
#[test]
fn a_guard_may_take_its_time() {
    let gate = Gate::default();
    let waiting = gate.clone();
    let ran = Arc::default();
    let server = house(&ran)
        .guard(move |access: &GuardedRequest<'_>| {
            if access.method() == "tools/list" && access.primitive().is_none() {
                waiting.pass();
            }
            Ok(())
        })
        .build()
        .unwrap();
    let mut client = Raw::open(&server, ProtocolVersion::LATEST);
    client.request(json!("slow"), "tools/list", json!({}));
    gate.wait_for(1);
    client.settle();
    client.result("tools/call", json!({ "name": "open" }));
    gate.open();
    let list = client.answer_to(&json!("slow"), Some("tools/list"));
    assert_eq!(list["result"]["tools"].as_array().unwrap().len(), 2);
}

// Seen in other SDKs: a `requestState` can be forged, or replayed elsewhere.
#[test]
fn what_was_sealed_for_one_principal_is_worth_nothing_to_another() {
    let server = Server::builder("s", "1")
        .tool_with(
            Tool::new("t"),
            |_: Value, context: &Context| -> Result<String, HandlerError> {
                Ok(context.list_roots("roots")?.roots.len().to_string())
            },
        )
        .build()
        .unwrap();
    let call = |principal: Option<&str>, state: Option<&Value>| {
        let mut client = Raw::silent_on(ProtocolVersion::LATEST, |there| match principal {
            Some(principal) => server.open_for(principal, there).unwrap(),
            None => server.open(there).unwrap(),
        });
        let mut params = json!({
            "name": "t",
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": { "roots": {} },
            },
        });
        if let Some(state) = state {
            params["requestState"] = state.clone();
            params["inputResponses"] = json!({ "roots": { "roots": [] } });
        }
        client.send(json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }));
        client.answer_to(&json!(1), None)
    };
    let asked = call(Some("ada"), None);
    let state = &asked["result"]["requestState"];
    assert!(state.is_string(), "{asked}");
    for stranger in [Some("bob"), Some(""), None] {
        let refused = call(stranger, Some(state));
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
    }
    let done = call(Some("ada"), Some(state));
    assert_eq!(done["result"]["content"][0]["text"], "0", "{done}");
}

/// Over HTTP each request says on whose behalf it is sent, on one connection that modern clients share.
#[cfg(feature = "http-server")]
#[test]
fn over_http_each_request_has_its_own_principal() {
    use mcplink::server::Principal;
    use mcplink::server::http::HttpOptions;
    let options = HttpOptions::new().authenticate(|request| {
        let token = request.value("Authorization").unwrap_or(b"nobody");
        Ok(Principal::new(String::from_utf8_lossy(token)))
    });
    let ran = Arc::default();
    let two = NonZeroU32::new(2).unwrap();
    let server = house(&ran)
        .guard(|access: &GuardedRequest<'_>| {
            if is_secret(access) && access.principal() != Some("ada") {
                return Err(HandlerError::not_found());
            }
            Ok(())
        })
        .guard(RateLimit::new(two, Duration::from_secs(3600)).on(&[method::TOOLS_CALL]))
        .build()
        .unwrap();
    let web = crate::web::Web::with(&server, options);
    let ask = |who: &str, method: &str, params: Value| {
        web.modern_as(method, params, json!({}), &[("Authorization", who)])
    };
    for (who, expected) in [("ada", 2), ("bob", 1)] {
        let list = ask(who, "tools/list", json!({})).result();
        assert_eq!(list["tools"].as_array().unwrap().len(), expected, "{who}");
    }
    let call = |who: &str, name: &str| ask(who, "tools/call", json!({ "name": name }));
    assert_eq!(call("bob", "secret").error_code(), -32602);
    for name in ["secret", "open"] {
        call("ada", name).result();
    }
    assert_eq!(call("ada", "open").error_code(), -32603, "too many");
    call("bob", "open").result();
}
