//! What a client declares, what its handlers learn of a question, and what it answers, in both eras.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use mcplink::client::CallOptions;
use mcplink::client::{Client, ClientBuilder};
use mcplink::protocol::CancelToken;
use mcplink::schema::{
    CreateMessageResult, ElicitResult, ElicitSchema, ModelOffer, ModelPreferences, ProtocolVersion,
    Root, SamplingMessage, ToolChoiceMode,
};
use mcplink::transport::memory;
use mcplink::{ErrorCode, ErrorKind, RpcError};
use serde_json::{Value, json};

use crate::common::Script;
use crate::rawserver::{LONG, RawServer, connect_with};

const OLD: ProtocolVersion = ProtocolVersion::V2025_06_18;
const LEGACY: ProtocolVersion = ProtocolVersion::V2025_11_25;
const MODERN: ProtocolVersion = ProtocolVersion::V2026_07_28;

fn client() -> ClientBuilder {
    Client::builder("asked", "1")
}

fn connect(builder: ClientBuilder, revision: ProtocolVersion) -> (Client, RawServer) {
    connect_with(builder, revision, &json!({ "tools": {} }))
}

fn says(text: &str) -> Result<CreateMessageResult, RpcError> {
    let message = SamplingMessage::assistant(text);
    Ok(CreateMessageResult::new("a model", message.content))
}

/// Asks a client one thing, as the server of its era does, and returns what came back: an answer, or `{"error": …}`, from the wire in the
/// legacy era, from the call that failed in the modern one.
fn ask(builder: ClientBuilder, revision: ProtocolVersion, method: &str, params: &Value) -> Value {
    let (client, mut server) = connect(builder, revision);
    if revision.is_legacy() {
        return ask_legacy(&mut server, method, params);
    }
    let calling = client.clone();
    let call = thread::spawn(move || {
        let options = CallOptions::new().timeout(LONG);
        calling.call_tool_with("t", &json!({}), options)
    });
    let first = server.asked("tools/call");
    let asked = json!({ "k": { "method": method, "params": params } });
    let result =
        json!({ "resultType": "input_required", "inputRequests": asked, "requestState": "s" });
    server.answer(&first, result);
    let mut answer = Value::Null;
    // Either the call is sent again, or it ends; nothing tells which but one of the two.
    while !call.is_finished() {
        let Some(second) = server.receive_within(Duration::from_millis(10)) else {
            continue;
        };
        answer = second["params"]["inputResponses"]["k"].clone();
        server.answer(&second, json!({ "resultType": "complete", "content": [] }));
    }
    match call.join().unwrap() {
        Ok(_) => answer,
        Err(error) => {
            assert_eq!(answer, Value::Null, "{error}");
            server.has_heard_nothing(&client);
            let (text, kind) = (error.to_string(), format!("{:?}", error.kind()));
            json!({ "error": { "message": text, "kind": kind } })
        }
    }
}

fn ask_legacy(server: &mut RawServer, method: &str, params: &Value) -> Value {
    server.send(&json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }));
    let answer = server.receive();
    match answer.get("result") {
        Some(result) => result.clone(),
        None => json!({ "error": answer["error"] }),
    }
}

fn form() -> Value {
    json!({
        "message": "Whose?",
        "requestedSchema": { "type": "object", "properties": { "name": { "type": "string", "default": "Ada" } } },
    })
}

fn page() -> Value {
    json!({ "mode": "url", "message": "Sign in", "url": "https://example.com/", "elicitationId": "1" })
}

fn sampling() -> Value {
    json!({ "messages": [{ "role": "user", "content": { "type": "text", "text": "Which one?" } }], "maxTokens": 7 })
}

/// The capabilities that a client declares in its first message.
fn declared(builder: ClientBuilder, revision: ProtocolVersion) -> Value {
    let (here, there) = memory::pair();
    let mut script = Script::open(there);
    let connecting = thread::spawn(move || builder.revisions(&[revision]).connect(here));
    let first = script.receive();
    script.leave();
    assert!(connecting.join().unwrap().is_err(), "nobody answered");
    let params = &first["params"];
    match revision.is_legacy() {
        true => params["capabilities"].clone(),
        false => params["_meta"]["io.modelcontextprotocol/clientCapabilities"].clone(),
    }
}

// L-ELIC-C-04, L-ELIC-C-05, M-ELIC-C-08, L-SAMP-C-03, L-SAMP-C-05, M-SAMP-C-05, L-ROOT-C-01, L-ROOT-C-02
#[test]
fn a_client_declares_what_it_has_handlers_for() {
    fn forms(builder: ClientBuilder) -> ClientBuilder {
        builder.on_elicit(|_, _| ElicitResult::decline())
    }
    fn pages(builder: ClientBuilder) -> ClientBuilder {
        builder.on_elicit_url(|_, _| ElicitResult::decline())
    }
    fn model(builder: ClientBuilder) -> ClientBuilder {
        builder.on_sample(|_, _| says("hi"))
    }
    fn roots(builder: ClientBuilder) -> ClientBuilder {
        builder.on_list_roots(|_| Ok(Vec::new()))
    }
    fn check(with: impl Fn(ClientBuilder) -> ClientBuilder, expected: [Value; 3]) {
        for (revision, expected) in [OLD, LEGACY, MODERN].into_iter().zip(expected) {
            assert_eq!(declared(with(client()), revision), expected, "{revision}");
        }
    }
    let nothing = || json!({});
    check(|it| it, [nothing(), nothing(), nothing()]);
    let form = || json!({ "elicitation": { "form": {} } });
    check(forms, [json!({ "elicitation": {} }), form(), form()]);
    let url = || json!({ "elicitation": { "url": {} } });
    check(pages, [nothing(), url(), url()]);
    let both = || json!({ "elicitation": { "form": {}, "url": {} } });
    check(
        |it| pages(forms(it)),
        [json!({ "elicitation": {} }), both(), both()],
    );
    let plain = || json!({ "sampling": {} });
    check(model, [plain(), plain(), plain()]);
    let rich = || json!({ "sampling": { "context": {}, "tools": {} } });
    check(
        |it| model(it).sampling_tools(true).sampling_context(true),
        [plain(), rich(), rich()],
    );
    check(
        |it| it.sampling_tools(true),
        [nothing(), nothing(), nothing()],
    );
    let changing = || json!({ "roots": { "listChanged": true } });
    check(roots, [changing(), changing(), json!({ "roots": {} })]);
    for revision in [ProtocolVersion::V2024_11_05, ProtocolVersion::V2025_03_26] {
        assert_eq!(declared(forms(client()), revision), json!({}), "{revision}");
        assert_eq!(declared(model(client()), revision), plain(), "{revision}");
    }
}

// M-ELIC-C-07, M-SAMP-C-07, M-ROOT-C-03
#[test]
fn every_modern_request_declares_it_again() {
    let all = client()
        .on_elicit(|_, _| ElicitResult::decline())
        .on_sample(|_, _| says("hi"))
        .on_list_roots(|_| Ok(Vec::new()));
    let (client, mut server) = connect(all, MODERN);
    let expected = json!({ "elicitation": { "form": {} }, "sampling": {}, "roots": {} });
    let declares = |request: &Value| {
        let meta = &request["params"]["_meta"];
        assert_eq!(meta["io.modelcontextprotocol/clientCapabilities"], expected);
    };
    server.serve(
        || {
            client.list_tools().unwrap();
            client.call_tool("t", &json!({})).unwrap();
        },
        |server| {
            let list = server.asked("tools/list");
            declares(&list);
            server.answer(&list, json!({ "resultType": "complete", "tools": [], "ttlMs": 0, "cacheScope": "private" }));
            let first = server.asked("tools/call");
            declares(&first);
            let asked = json!({ "k": { "method": "elicitation/create", "params": form() } });
            server.answer(&first, json!({ "resultType": "input_required", "inputRequests": asked }));
            let second = server.asked("tools/call");
            declares(&second);
            server.answer(&second, json!({ "resultType": "complete", "content": [] }));
        },
    );
}

// L-ELIC-C-28, L-ELIC-C-08, M-ELIC-C-12
#[test]
fn a_mode_that_was_not_declared_is_refused_and_no_mode_means_a_form() {
    let forms = || client().on_elicit(|_, _| ElicitResult::decline());
    let pages = || client().on_elicit_url(|_, _| ElicitResult::cancel());
    for revision in [LEGACY, MODERN] {
        for (builder, params) in [(forms(), page()), (pages(), form())] {
            let answer = ask(builder, revision, "elicitation/create", &params);
            if revision.is_legacy() {
                assert_eq!(answer["error"]["code"], -32602, "{answer}");
            } else {
                assert_eq!(answer["error"]["kind"], "Unsupported", "{answer}");
            }
        }
        let mut with_mode = form();
        with_mode["mode"] = json!("form");
        for params in [form(), with_mode] {
            let answer = ask(forms(), revision, "elicitation/create", &params);
            assert_eq!(answer, json!({ "action": "decline" }));
        }
        let answer = ask(pages(), revision, "elicitation/create", &page());
        assert_eq!(answer, json!({ "action": "cancel" }));
    }
}

// M-ELIC-C-03, M-ELIC-C-04, M-ELIC-C-05, M-ELIC-C-16, M-ELIC-C-31, M-ELIC-C-33, L-ELIC-C-03, L-ELIC-C-10, L-ELIC-C-30, L-ELIC-C-33
#[test]
fn a_handler_knows_who_asks_what_and_decides_what_is_sent() {
    for revision in [LEGACY, MODERN] {
        for (action, expected) in [
            (
                "accept",
                json!({ "action": "accept", "content": { "name": "Grace" } }),
            ),
            ("decline", json!({ "action": "decline" })),
            ("cancel", json!({ "action": "cancel" })),
        ] {
            let people = client().on_elicit(move |form, by| {
                assert_eq!(by.server_name(), "raw");
                assert_eq!(by.server_info().unwrap().version, "1");
                assert!(!by.is_withdrawn());
                assert_eq!(form.message, "Whose?");
                let fields = ElicitSchema::of(&form.requested_schema).unwrap();
                // What the form is filled in with first: the user looks at it, changes it, and only then it is sent.
                let mut draft = fields.defaults();
                assert_eq!(draft["name"], "Ada");
                draft.insert("name".to_owned(), json!("Grace"));
                let mut answer = ElicitResult::accept(&draft).unwrap();
                answer.action = match action {
                    "accept" => mcplink::schema::ElicitAction::Accept,
                    "decline" => mcplink::schema::ElicitAction::Decline,
                    _ => mcplink::schema::ElicitAction::Cancel,
                };
                answer
            });
            // M-ELIC-B-53: a draft that the user did not accept stays here.
            let answer = ask(people, revision, "elicitation/create", &form());
            assert_eq!(answer, expected, "{revision}");
        }
    }
}

#[test]
fn a_server_is_shown_by_its_title() {
    let (here, there) = memory::pair();
    let mut script = Script::open(there);
    let (told, name) = mpsc::channel();
    let people = client().on_elicit(move |_, by| {
        told.send(by.server_name().to_owned()).unwrap();
        ElicitResult::decline()
    });
    let connecting = thread::spawn(move || people.revisions(&[LEGACY]).connect(here).unwrap());
    let opening = script.receive_request("initialize");
    let info = json!({ "name": "raw", "title": "The Raw Server", "version": "1" });
    let result = json!({ "protocolVersion": LEGACY, "capabilities": {}, "serverInfo": info });
    script.answer(&opening, &result);
    // It asks at the first moment at which it may.
    script.receive_request("notifications/initialized");
    script.request_with(1, "elicitation/create", &form());
    assert_eq!(name.recv_timeout(LONG).unwrap(), "The Raw Server");
    drop(connecting.join().unwrap());
}

// M-ELIC-C-32, L-ELIC-C-31: what nobody wants any more can be taken from the screen.
#[test]
fn a_handler_learns_that_its_question_is_withdrawn() {
    for revision in [LEGACY, MODERN] {
        let (showing, shown) = mpsc::channel();
        let (leaving, left) = mpsc::channel();
        let people = client().on_elicit(move |_, by| {
            showing.send(()).unwrap();
            leaving
                .send(by.cancel_token().wait(LONG) && by.is_withdrawn())
                .unwrap();
            ElicitResult::cancel()
        });
        let (client, mut server) = connect(people, revision);
        if revision.is_legacy() {
            server.send(&json!({ "jsonrpc": "2.0", "id": 1, "method": "elicitation/create", "params": form() }));
            shown.recv_timeout(LONG).unwrap();
            server.notify("notifications/cancelled", json!({ "requestId": 1 }));
            assert!(left.recv_timeout(LONG).unwrap());
            server.has_heard_nothing(&client);
            continue;
        }
        let cancel = CancelToken::new();
        let triggering = cancel.clone();
        let error = server.serve(
            || {
                let options = CallOptions::new().timeout(LONG).cancel_with(&cancel);
                client.call_tool_with("t", &json!({}), options).unwrap_err()
            },
            move |server| {
                let first = server.asked("tools/call");
                let asked = json!({ "k": { "method": "elicitation/create", "params": form() } });
                server.answer(
                    &first,
                    json!({ "resultType": "input_required", "inputRequests": asked }),
                );
                shown.recv_timeout(LONG).unwrap();
                triggering.cancel();
                assert!(left.recv_timeout(LONG).unwrap());
            },
        );
        assert_eq!(error.kind(), ErrorKind::Cancelled, "{error}");
    }
}

// M-ELIC-C-19, L-ELIC-C-17: a host that wants to decide itself when to go on asks for the bare result.
#[test]
fn a_call_that_needs_input_can_be_left_or_gone_on_with_by_hand() {
    let (client, mut server) = connect(client(), MODERN);
    let asked = json!({ "k": { "method": "elicitation/create", "params": page() } });
    let asking =
        json!({ "resultType": "input_required", "inputRequests": asked, "requestState": "s" });
    let result = server.serve(
        || {
            client
                .request(
                    "tools/call",
                    &json!({ "name": "t" }),
                    CallOptions::new().timeout(LONG),
                )
                .unwrap()
        },
        |server| {
            let first = server.asked("tools/call");
            server.answer(&first, asking.clone());
        },
    );
    assert_eq!(serde_json::from_str::<Value>(&result).unwrap(), asking);
    server.has_heard_nothing(&client);
    let again = json!({ "name": "t", "requestState": "s", "inputResponses": { "k": { "action": "accept" } } });
    server.serve(
        || {
            client
                .request("tools/call", &again, CallOptions::new().timeout(LONG))
                .unwrap()
        },
        |server| {
            let second = server.asked("tools/call");
            assert_eq!(second["params"]["requestState"], "s");
            server.answer(&second, json!({ "resultType": "complete", "content": [] }));
        },
    );
}

// M-SAMP-C-24, M-SAMP-C-25, L-SAMP-C-20, L-SAMP-C-21, M-SAMP-C-05, AMB-15
#[test]
fn a_model_gets_tools_only_if_that_was_declared() {
    let model = || client().on_sample(|_, _| says("hi"));
    let (mut tools, mut choice) = (sampling(), sampling());
    tools["tools"] = json!([{ "name": "t", "inputSchema": { "type": "object" } }]);
    choice["toolChoice"] = json!({ "mode": "auto" });
    for params in [tools, choice] {
        for revision in [LEGACY, MODERN] {
            let refused = ask(model(), revision, "sampling/createMessage", &params);
            let text = refused["error"]["message"].as_str().unwrap();
            assert!(text.contains("sampling.tools"), "{refused}");
            let expected = params.get("toolChoice").is_some();
            let allowed = client().sampling_tools(true).on_sample(move |asked, _| {
                // What the model may do reaches whoever speaks to it.
                let choice = asked.tool_choice.as_ref();
                assert_eq!(
                    choice.is_some_and(|it| it.mode == Some(ToolChoiceMode::Auto)),
                    expected
                );
                says("hi")
            });
            let answer = ask(allowed, revision, "sampling/createMessage", &params);
            assert_eq!(answer["model"], "a model", "{answer}");
        }
        let refused = ask(model(), LEGACY, "sampling/createMessage", &params);
        assert_eq!(refused["error"]["code"], -32602);
    }
}

// L-SAMP-C-12, M-SAMP-B-10, M-SAMP-B-18, L-SAMP-B-08, L-SAMP-B-14
#[test]
fn a_conversation_that_breaks_the_rules_does_not_reach_the_model() {
    let wants = json!({ "role": "assistant", "content": { "type": "tool_use", "id": "1", "name": "t", "input": {} } });
    let text = json!({ "type": "text", "text": "and" });
    let result = json!({ "type": "tool_result", "toolUseId": "1", "content": [] });
    let missing = json!([wants, { "role": "user", "content": text }]);
    let mixed = json!([wants, { "role": "user", "content": [result, text] }]);
    let no_base64 = json!([{ "role": "user", "content": { "type": "image", "data": "?", "mimeType": "image/png" } }]);
    for messages in [missing, mixed, no_base64] {
        let params = json!({ "messages": messages, "maxTokens": 7 });
        for revision in [LEGACY, MODERN] {
            let model = client()
                .sampling_tools(true)
                .on_sample(|_, _| panic!("it was asked"));
            let refused = ask(model, revision, "sampling/createMessage", &params);
            let told = refused["error"]["message"].as_str().unwrap();
            assert!(told.contains("message "), "{refused}");
            if revision.is_legacy() {
                assert_eq!(refused["error"]["code"], -32602, "{refused}");
            }
        }
    }
}

// M-SAMP-C-16, M-SAMP-C-17, M-SAMP-C-34, L-SAMP-C-12, L-SAMP-C-13, AMB-14
#[test]
fn a_handler_sees_all_of_what_the_model_is_asked_and_may_refuse() {
    let mut params = sampling();
    params["systemPrompt"] = json!("Be brief");
    params["modelPreferences"] = json!({ "hints": [{ "name": "small" }] });
    for revision in [LEGACY, MODERN] {
        let answering = client().on_sample(|asked, by| {
            assert_eq!((asked.max_tokens, by.server_name()), (7, "raw"));
            assert_eq!(asked.system_prompt.as_deref(), Some("Be brief"));
            let offers = [ModelOffer::new("large-1"), ModelOffer::new("small-1")];
            let wanted: &ModelPreferences = asked.model_preferences.as_ref().unwrap();
            let message = SamplingMessage::assistant("that one");
            Ok(CreateMessageResult::new(
                wanted.choose(&offers).unwrap().name.clone(),
                message.content,
            ))
        });
        let answer = ask(answering, revision, "sampling/createMessage", &params);
        assert_eq!(answer["model"], "small-1", "{answer}");
        let refusing = client().on_sample(|_, _| Err(RpcError::user_rejected("the user said no")));
        let refused = ask(refusing, revision, "sampling/createMessage", &params);
        if revision.is_legacy() {
            assert_eq!(
                refused["error"],
                json!({ "code": -1, "message": "the user said no" })
            );
        } else {
            assert_eq!(refused["error"]["kind"], "Cancelled", "{refused}");
        }
    }
}

// M-ELIC-C-48, L-ELIC-C-45
#[test]
fn what_does_not_fit_the_form_is_not_sent() {
    let people = client().on_elicit(|_, _| ElicitResult::accept(&json!({ "pin": 1234 })).unwrap());
    let (_client, mut server) = connect(people, LEGACY);
    let schema = json!({ "type": "object", "properties": { "pin": { "type": "string" } } });
    let params = json!({ "message": "PIN?", "requestedSchema": schema });
    let refused = ask_legacy(&mut server, "elicitation/create", &params);
    assert_eq!(refused["error"]["code"], -32603);
    assert!(!refused.to_string().contains("1234"), "{refused}");
}

// M-SAMP-C-20, L-SAMP-C-16, L-ELIC-C-32: the handler counts, and answers for the user who would not look at so many.
#[test]
fn a_handler_can_limit_how_often_it_is_asked() {
    let (asked, shown) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (counting, showing) = (Arc::clone(&asked), Arc::clone(&shown));
    let limited = client()
        .on_elicit(move |_, _| {
            if counting.fetch_add(1, Ordering::SeqCst) < 2 {
                showing.fetch_add(1, Ordering::SeqCst);
            }
            ElicitResult::decline()
        })
        .on_sample({
            let asked = Arc::clone(&asked);
            move |_, _| match asked.fetch_add(1, Ordering::SeqCst) < 6 {
                true => says("hi"),
                false => Err(RpcError::new(
                    ErrorCode::application(429).unwrap(),
                    "too often: try again in a minute",
                )),
            }
        });
    let (_client, mut server) = connect(limited, LEGACY);
    for _ in 0..5 {
        let answer = ask_legacy(&mut server, "elicitation/create", &form());
        assert_eq!(answer["action"], "decline");
    }
    assert_eq!(shown.load(Ordering::SeqCst), 2);
    assert_eq!(
        ask_legacy(&mut server, "sampling/createMessage", &sampling())["model"],
        "a model"
    );
    let refused = ask_legacy(&mut server, "sampling/createMessage", &sampling());
    assert_eq!(refused["error"]["code"], 429);
}

// M-SAMP-B-21, L-SAMP-B-17
#[test]
fn nothing_of_a_conversation_is_told_to_the_log() {
    let log = Arc::new(Mutex::new(String::new()));
    for revision in [LEGACY, MODERN] {
        let logging = || {
            let log = Arc::clone(&log);
            client().on_log(move |record| log.lock().unwrap().push_str(record.text))
        };
        let mut private = sampling();
        private["messages"][0]["content"]["text"] = json!("my diary");
        private["systemPrompt"] = json!("my diary");
        ask(
            logging().on_sample(|_, _| says("my diary")),
            revision,
            "sampling/createMessage",
            &private,
        );
        let refusing = logging().on_sample(|_, _| Err(RpcError::user_rejected("my diary")));
        ask(refusing, revision, "sampling/createMessage", &private);
        private["messages"][0]["role"] = json!("my diary");
        ask(
            logging().on_sample(|_, _| says("hi")),
            revision,
            "sampling/createMessage",
            &private,
        );
    }
    assert!(!log.lock().unwrap().contains("diary"), "{log:?}");
}

// L-SAMP-B-29
#[test]
fn an_older_server_gets_one_block_from_the_model() {
    let two = || {
        client().on_sample(|_, _| {
            let blocks = json!([{ "type": "text", "text": "a" }, { "type": "text", "text": "b" }]);
            let content =
                serde_json::from_value::<mcplink::schema::SamplingContent>(blocks).unwrap();
            Ok(CreateMessageResult::new("m", content))
        })
    };
    let answer = ask(two(), OLD, "sampling/createMessage", &sampling());
    assert_eq!(answer["content"], json!({ "type": "text", "text": "a\nb" }));
    let answer = ask(two(), LEGACY, "sampling/createMessage", &sampling());
    assert_eq!(answer["content"][1]["text"], "b");
}

/// Paths of folders, and their URIs.
#[cfg(unix)]
const HOME: (&str, &str) = ("/home/ada", "file:///home/ada");
#[cfg(unix)]
const OTHER: (&str, &str) = ("/tmp", "file:///tmp");
#[cfg(windows)]
const HOME: (&str, &str) = (r"C:\home\ada", "file:///C:/home/ada");
#[cfg(windows)]
const OTHER: (&str, &str) = (r"C:\tmp", "file:///C:/tmp");

// M-ROOT-C-04, M-ROOT-C-06, L-ROOT-C-03, L-ROOT-C-04, M-ROOT-C-15
#[test]
fn roots_that_are_none_are_not_told() {
    for revision in [ProtocolVersion::V2024_11_05, LEGACY, MODERN] {
        let good = client().on_list_roots(|_| Ok(vec![Root::of_path(HOME.0).unwrap().name("Ada")]));
        let answer = ask(good, revision, "roots/list", &json!({}));
        let expected = json!({ "roots": [{ "uri": HOME.1, "name": "Ada" }] });
        assert_eq!(answer, expected, "{revision}");
        for bad in [
            "https://example.com/",
            "file:///a/../b",
            "file:///a/%2e%2e/b",
            "/home/ada",
        ] {
            let log = Arc::new(Mutex::new(String::new()));
            let noted = Arc::clone(&log);
            let roots = client()
                .on_log(move |record| noted.lock().unwrap().push_str(record.text))
                .on_list_roots(move |_| Ok(vec![Root::new(OTHER.1), Root::new(bad)]));
            let refused = ask(roots, revision, "roots/list", &json!({}));
            assert!(
                refused["error"].is_object() && !refused.to_string().contains(bad),
                "{refused}"
            );
            if revision.is_legacy() {
                assert_eq!(refused["error"]["code"], -32603, "{refused}");
            }
            assert!(log.lock().unwrap().contains(bad), "{log:?}");
        }
        let failing = client().on_list_roots(|_| Err(RpcError::internal("no disk")));
        let refused = ask(failing, revision, "roots/list", &json!({}));
        assert!(
            refused["error"]["message"]
                .as_str()
                .unwrap()
                .contains("no disk"),
            "{refused}"
        );
        let refused = ask(client(), revision, "roots/list", &json!({}));
        if revision.is_legacy() {
            assert_eq!(refused["error"]["code"], -32601, "{refused}");
        } else {
            assert_eq!(refused["error"]["kind"], "Unsupported", "{refused}");
        }
    }
}

// M-ROOT-C-05, M-ROOT-C-07, M-ROOT-C-08, M-ROOT-C-11, M-ROOT-C-12, L-ROOT-C-05, L-ROOT-C-07
#[test]
fn the_handler_says_each_time_what_the_user_shares_at_the_moment() {
    let shared = Arc::new(Mutex::new(vec![HOME.0]));
    let sharing = Arc::clone(&shared);
    let roots = client().on_list_roots(move |by| {
        if by.server_name() != "raw" {
            return Err(RpcError::user_rejected("not for this server"));
        }
        let shared = sharing.lock().unwrap();
        shared
            .iter()
            .map(|path| Root::of_path(path).map_err(|_| RpcError::internal("a bad path")))
            .collect()
    });
    let (_client, mut server) = connect(roots, LEGACY);
    let mut list = || ask_legacy(&mut server, "roots/list", &json!({}))["roots"].clone();
    assert_eq!(list(), json!([{ "uri": HOME.1 }]));
    shared.lock().unwrap().push(OTHER.0);
    assert_eq!(list(), json!([{ "uri": HOME.1 }, { "uri": OTHER.1 }]));
    shared.lock().unwrap().clear();
    assert_eq!(list(), json!([]));
}

// L-ROOT-C-02
#[test]
fn a_legacy_server_is_told_of_changed_roots_and_a_modern_one_is_not() {
    let roots = || client().on_list_roots(|_| Ok(Vec::new()));
    for &revision in ProtocolVersion::ALL {
        let (client, mut server) = connect(roots(), revision);
        client.roots_changed().unwrap();
        if revision.is_legacy() {
            let told = server.receive();
            assert_eq!(
                told["method"], "notifications/roots/list_changed",
                "{revision}"
            );
            assert!(told.get("id").is_none(), "{told}");
        }
        server.has_heard_nothing(&client);
        let (without, mut server) = connect(Client::builder("rootless", "1"), revision);
        let error = without.roots_changed().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        server.has_heard_nothing(&without);
    }
}

/// Params that a strict client refuses, and what stands in them that the specification does not have.
fn beside_the_letter() -> [(&'static str, Value); 8] {
    let mut without_members = form();
    without_members["requestedSchema"] = json!([]);
    let mut meta_of_php = form();
    meta_of_php["_meta"] = json!([]);
    let sampled = |content: Value| json!({ "messages": [{ "role": "user", "content": content }], "maxTokens": 7 });
    let mut settings_of_php = sampling();
    settings_of_php["metadata"] = json!([]);
    let mut used_by_php = sampling();
    used_by_php["messages"] = json!([
        { "role": "assistant", "content": { "type": "tool_use", "id": "1", "name": "t", "input": [] } },
        { "role": "user", "content": { "type": "tool_result", "toolUseId": "1", "content": [] } },
    ]);
    [
        ("sampling/createMessage", used_by_php),
        ("elicitation/create", without_members),
        ("elicitation/create", meta_of_php),
        (
            "sampling/createMessage",
            sampled(
                json!({ "type": "text", "text": "?", "annotations": { "audience": ["nobody"] } }),
            ),
        ),
        (
            "sampling/createMessage",
            sampled(json!({ "type": "image", "data": "--__\nPg", "mimeType": "a/b" })),
        ),
        ("sampling/createMessage", settings_of_php),
        ("roots/list", json!({ "_meta": [] })),
        ("roots/list", json!([])),
    ]
}

// What a server asks is read as its answers are: leniently, or to the letter when the client is strict.
#[test]
fn questions_beside_the_letter_are_answered_unless_the_client_is_strict() {
    fn answering(strict: bool, asked: &Arc<AtomicUsize>) -> ClientBuilder {
        let count = || {
            let asked = Arc::clone(asked);
            move || asked.fetch_add(1, Ordering::SeqCst)
        };
        let (form, model, roots) = (count(), count(), count());
        client()
            .strict(strict)
            .on_elicit(move |_, _| {
                form();
                ElicitResult::decline()
            })
            .on_sample(move |_, _| {
                model();
                says("hi")
            })
            .on_list_roots(move |_| {
                roots();
                Ok(Vec::new())
            })
    }
    for revision in [LEGACY, MODERN] {
        for (method, params) in beside_the_letter() {
            let asked = Arc::default();
            let answer = ask(answering(false, &asked), revision, method, &params);
            assert_eq!(answer["error"], Value::Null, "{revision} {method} {params}");
            assert_eq!(asked.load(Ordering::SeqCst), 1, "{method} {params}");

            let asked = Arc::default();
            let answer = ask(answering(true, &asked), revision, method, &params);
            let error = &answer["error"];
            match revision.is_legacy() {
                true => assert_eq!(error["code"], -32602, "{answer}"),
                false => {
                    assert_eq!(error["kind"], "Protocol", "{answer}");
                    let text = error["message"].as_str().unwrap();
                    assert!(
                        text.contains(method) && text.contains("can't be read"),
                        "{text}"
                    );
                }
            }
            assert_eq!(asked.load(Ordering::SeqCst), 0, "{method} {params}");
        }
        // What is to the letter is answered by a strict client, too.
        for (method, params) in [
            ("elicitation/create", form()),
            ("sampling/createMessage", sampling()),
            ("roots/list", json!({ "_meta": {} })),
        ] {
            let asked = Arc::default();
            let answer = ask(answering(true, &asked), revision, method, &params);
            assert_eq!(answer["error"], Value::Null, "{revision} {method}");
            assert_eq!(asked.load(Ordering::SeqCst), 1, "{revision} {method}");
        }
    }
}

// In the modern era questions come in a result, whose list of them is read to the letter as well.
#[test]
fn a_strict_client_wants_questions_in_an_object() {
    for (strict, is_refused) in [(false, false), (true, true)] {
        let (client, mut server) = connect(client().strict(strict), MODERN);
        let result = server.serve(
            || client.call_tool_with("t", &json!({}), CallOptions::new().timeout(LONG)),
            |server| {
                let first = server.asked("tools/call");
                let result = json!({ "resultType": "input_required", "inputRequests": [], "requestState": "s" });
                server.answer(&first, result);
                if !strict {
                    let second = server.asked("tools/call");
                    server.answer(&second, json!({ "resultType": "complete", "content": [] }));
                }
            },
        );
        match result {
            Ok(_) => assert!(!is_refused),
            Err(error) => {
                assert!(is_refused, "{error}");
                assert_eq!(error.kind(), ErrorKind::Protocol, "{error}");
            }
        }
    }
}
