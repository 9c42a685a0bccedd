//! What the documentation of servers promises where other tests don't look: scopes, guards, sessions, what the host is told.
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use mcplink::schema::*;
use mcplink::server::http::HttpOptions;
use mcplink::server::*;
use mcplink::{Error, ErrorKind};
use serde_json::{Value, json};

use crate::common::LONG;
use crate::raw::Raw;
use crate::web::{Web, initialize};

const LEGACY: ProtocolVersion = ProtocolVersion::V2025_11_25;
const MODERN: ProtocolVersion = ProtocolVersion::V2026_07_28;
const EXTENSION: &str = "io.modelcontextprotocol/tasks";

fn form(text: &str) -> ElicitRequestParams {
    let schema = ElicitSchema::default().required("confirm", BooleanSchema::new());
    ElicitRequestParams::form(text, schema.to_schema().unwrap())
}

fn echo() -> Server {
    Server::builder("s", "1")
        .tool_with(Tool::new("echo"), |a: Value, _: &Context| a.to_string())
        .build()
        .unwrap()
}

#[test]
fn a_session_is_used_until_its_last_answer() {
    let server = Server::builder("s", "1")
        .tool_with(Tool::new("long"), |_: Value, _: &Context| {
            std::thread::sleep(Duration::from_millis(2300));
            "done"
        })
        .build()
        .unwrap();
    let web = Web::with(
        &server,
        HttpOptions::new().session_idle(Duration::from_millis(1500)),
    );
    let session = web.session(LEGACY);
    assert_eq!(
        session
            .request("tools/call", json!({"name": "long"}))
            .result()["content"][0]["text"],
        "done"
    );
    assert_eq!(
        session.request("ping", json!({})).status(),
        200,
        "right after the answer"
    );
}

#[test]
fn a_session_is_used_until_its_stream_is_lost() {
    let web = Web::with(
        &echo(),
        HttpOptions::new().session_idle(Duration::from_millis(1500)),
    );
    let session = web.session(LEGACY);
    let stream = session.get(None);
    assert_eq!(stream.status(), 200);
    std::thread::sleep(Duration::from_millis(2300));
    stream.leave();
    assert_eq!(session.get(None).status(), 200, "comes back at once");
}

#[test]
fn a_session_that_waits_for_a_person_lives_on_when_the_stream_breaks() {
    let server = Server::builder("s", "1")
        .tool_with(Tool::new("ask"), |_: Value, context: &Context| {
            let answer = context.elicit("sure", form("Sure?"))?;
            Ok::<_, HandlerError>(format!("{:?}", answer.action))
        })
        .build()
        .unwrap();
    let web = Web::with(
        &server,
        HttpOptions::new().session_idle(Duration::from_millis(1500)),
    );
    let session = web.session_with(LEGACY, json!({"elicitation": {}}), &[]);
    let call = session.request("tools/call", json!({"name": "ask"}));
    let _mark = call.event().unwrap();
    let question = call.event().unwrap();
    std::thread::sleep(Duration::from_millis(2300));
    call.leave();
    let again = session.get(question.id.as_deref());
    assert_eq!(again.status(), 200);
}

#[test]
fn pages_may_use_the_old_paths() {
    let options = HttpOptions::new()
        .allowed_origins(["https://app.example"])
        .old_paths("/sse", "/messages");
    let web = Web::with(&echo(), options);
    let asks = [
        ("Origin", "https://app.example"),
        ("Access-Control-Request-Headers", "content-type"),
        ("Access-Control-Request-Method", "POST"),
    ];
    let got: Vec<u16> = ["/mcp", "/sse", "/messages", "/messages?sessionId=x"]
        .iter()
        .map(|path| web.send("OPTIONS", path, &asks, "").status())
        .collect();
    assert_eq!(got, [204, 204, 204, 204]);
}

#[test]
fn the_lifetime_of_tasks_is_the_hosts_when_the_client_does_not_say() {
    let day = Duration::from_secs(24 * 3600);
    let server = Server::builder("s", "1")
        .tasks(TaskOptions::default().lifetime(day * 7))
        .tool_with(
            Tool::new("t").execution(ToolExecution::default().task_support(TaskSupport::Required)),
            |_: Value, _: &Context| "x",
        )
        .build()
        .unwrap();
    let web = Web::new(&server);
    let able = json!({"extensions": {EXTENSION: {}}});
    let created = web
        .modern_as("tools/call", json!({"name": "t"}), able, &[])
        .result();
    assert_eq!(
        created["ttlMs"],
        json!(day.as_millis() as u64 * 7),
        "{created}"
    );
}

#[test]
fn scopes_of_an_address_hold_for_its_other_spellings() {
    let server = Server::builder("s", "1")
        .template(
            ResourceTemplate::new("users://{id}", "t"),
            |read: &ResourceRead, _: &Context| read.variable("id").unwrap_or("").to_owned(),
        )
        .require_scopes(Primitive::Resource("users://secret"), ["admin"])
        .build()
        .unwrap();
    let principal = Principal::new("eve").scopes(["none"]);
    let mut raw = Raw::silent_on(LEGACY, |t| server.open_for(principal, t).unwrap());
    raw.initialize();
    for uri in ["users://secret", "users://%73ecret", "users://secre%74"] {
        raw.request(json!(uri), "resources/read", json!({"uri": uri}));
        let answer = raw.answer_to(&json!(uri), None);
        assert!(
            answer["result"]["contents"][0]["text"] != "secret",
            "{answer}"
        );
    }
}

#[test]
fn scopes_of_a_file_hold_for_its_other_spellings() {
    let dir = std::env::temp_dir().join(format!("mcplink-scopes-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("secret.txt"), "secret").unwrap();
    let folder = Folder::new(&dir).unwrap();
    let base = folder.uri();
    let server = Server::builder("s", "1")
        .template(
            folder.template("f"),
            move |read: &ResourceRead, _: &Context| folder.read(read),
        )
        .require_scopes(Primitive::Resource(&format!("{base}secret.txt")), ["admin"])
        .build()
        .unwrap();
    let principal = Principal::new("eve").scopes(["none"]);
    let mut raw = Raw::silent_on(LEGACY, |t| server.open_for(principal, t).unwrap());
    raw.initialize();
    for name in ["secret.txt", "%73ecret.txt", "secret%2Etxt", "secret%2etxt"] {
        let uri = format!("{base}{name}");
        raw.request(json!(uri), "resources/read", json!({"uri": uri}));
        let answer = raw.answer_to(&json!(uri), None);
        assert!(
            answer["result"]["contents"][0]["text"] != "secret",
            "{answer}"
        );
    }
}

#[test]
fn the_text_of_an_error_of_a_tool_is_for_the_host() {
    let (tell, told) = mpsc::channel::<String>();
    let (event, events) = mpsc::channel::<String>();
    let (tell, event) = (Mutex::new(tell), Mutex::new(event));
    let server = Server::builder("s", "1")
        .on_log(move |record| _ = tell.lock().unwrap().send(format!("{record:?}")))
        .on_event(move |e| {
            _ = event
                .lock()
                .unwrap()
                .send(format!("{:?} {}", e.kind, e.text))
        })
        .tool_with(Tool::new("t"), |_: Value, _: &Context| {
            Err::<(), Error>(Error::new(ErrorKind::Io, "the disk is full"))?;
            Ok::<&str, HandlerError>("x")
        })
        .resource(
            Resource::new("a:b", "r"),
            |_: &ResourceRead, _: &Context| {
                Err::<(), Error>(Error::new(ErrorKind::Io, "the tape is torn"))?;
                Ok::<&str, HandlerError>("x")
            },
        )
        .build()
        .unwrap();
    let mut raw = Raw::open(&server, LEGACY);
    raw.error("tools/call", json!({"name": "t"}));
    raw.error("resources/read", json!({"uri": "a:b"}));
    let lines: Vec<String> = told.try_iter().collect();
    let events: Vec<String> = events.try_iter().collect();
    assert!(lines.iter().any(|l| l.contains("the tape is torn")));
    assert!(
        lines.iter().any(|l| l.contains("the disk is full")),
        "{lines:?}"
    );
    assert!(
        events.iter().any(|l| l.contains("the disk is full")),
        "{events:?}"
    );
}

#[test]
fn a_value_that_is_no_json_is_told_to_who_gave_it() {
    let unwritable = || BTreeMap::from([(vec![1_u8], 2_u8)]);
    let (tell, told) = mpsc::channel();
    let tell = Mutex::new(tell);
    let server = Server::builder("s", "1")
        .deferred_tool(
            Tool::new("given").input_schema(JsonSchema::any_object()),
            move |call| {
                let answered = call.respond(Json(unwritable()));
                _ = tell.lock().unwrap().send(answered);
            },
        )
        .tool_with(Tool::new("asks"), move |_: Value, context: &Context| {
            // It is left early, and what it gives then is nobody's.
            _ = context.elicit("sure", form("Sure?"));
            Json(unwritable())
        })
        .build()
        .unwrap();
    let mut raw = Raw::open(&server, LEGACY);
    assert_eq!(
        raw.error("tools/call", json!({"name": "given"}))["code"],
        -32603
    );
    let error = told.recv_timeout(LONG).unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(
        error.to_string().contains("the result of tool 'given'"),
        "{error}"
    );

    let mut client = crate::played::play_client(&server, MODERN, json!({"elicitation": {}}));
    client.request("tools/call", json!({"name": "asks"}));
    let asked = client.script.receive();
    assert!(asked["result"]["inputRequests"].is_object(), "{asked}");
}

#[test]
fn a_hidden_tool_is_hidden_from_the_check_of_its_header_fields_too() {
    let schema = json!({
        "type": "object",
        "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
    });
    let tool = |name: &str| Tool::new(name).input_schema(JsonSchema::new(&schema).unwrap());
    let server = Server::builder("s", "1")
        .tool_with(tool("open"), |a: Value, _: &Context| a.to_string())
        .tool_with(tool("hidden"), |a: Value, _: &Context| a.to_string())
        .guard(|access: &GuardedRequest<'_>| match access.primitive() {
            Some(Primitive::Tool("hidden")) => Err(HandlerError::not_found()),
            _ => Ok(()),
        })
        .build()
        .unwrap();
    let web = Web::new(&server);
    let call = |name: &str| {
        let answer = web.modern(
            "tools/call",
            json!({"name": name, "arguments": {"region": "here"}}),
        );
        (answer.status(), answer.message()["error"].clone())
    };
    let (status, error) = call("open");
    assert_eq!((status, &error["code"]), (400, &json!(-32020)), "{error}");
    let (status, error) = call("hidden");
    let (as_status, mut as_error) = call("nowhere");
    as_error["message"] = json!("unknown tool: hidden");
    assert_eq!((status, error), (as_status, as_error));
}

#[test]
fn a_hidden_resource_is_hidden_from_completion_too() {
    let server = Server::builder("s", "1")
        .resource(
            Resource::new("secret:x", "x"),
            |_: &ResourceRead, _: &Context| "x",
        )
        .prompt(
            Prompt::new("p").argument(PromptArgument::new("a")),
            |_: BTreeMap<String, String>, _: &Context| "p",
        )
        .completer(
            &CompletionReference::prompt("p"),
            "a",
            |_: &CompletionRequest, _: &Context| vec!["a"],
        )
        .guard(|access: &GuardedRequest<'_>| match access.primitive() {
            Some(Primitive::Resource(uri)) if uri.starts_with("secret:") => {
                Err(HandlerError::not_found())
            }
            _ => Ok(()),
        })
        .build()
        .unwrap();
    let mut raw = Raw::open(&server, LEGACY);
    let mut ask = |uri: &str| {
        raw.request(json!(uri), "completion/complete", json!({"ref": {"type": "ref/resource", "uri": uri}, "argument": {"name": "a", "value": ""}}));
        raw.answer_to(&json!(uri), None)
    };
    let (hidden, missing) = (ask("secret:x"), ask("secret:y"));
    assert_eq!(
        hidden.get("error").is_some(),
        missing.get("error").is_some()
    );
}

#[test]
fn there_are_never_more_sessions_than_allowed() {
    let mut worst = 0;
    for _ in 0..20 {
        let web = Arc::new(Web::with(&echo(), HttpOptions::new().max_sessions(1)));
        let answers: Vec<_> = (0..16)
            .map(|_| web.post(&[], &initialize(1, LEGACY, json!({}))))
            .collect();
        answers.iter().for_each(|a| _ = a.status());
        worst = worst.max(web.service.sessions());
    }
    assert_eq!(worst, 1);
}

#[test]
fn a_path_may_be_given_without_its_slash() {
    let listening = echo()
        .listen_http("0", HttpOptions::new().path("mcp"))
        .unwrap();
    assert!(listening.url().ends_with("/mcp"));
}

#[test]
fn a_prompt_that_declares_no_arguments_takes_any() {
    let mut prompt = Prompt::new("p");
    prompt.arguments = Some(Vec::new());
    let server = Server::builder("s", "1")
        .prompt(prompt, |_: BTreeMap<String, String>, _: &Context| "p")
        .build()
        .unwrap();
    let mut raw = Raw::open(&server, LEGACY);
    raw.request(
        json!("x"),
        "prompts/get",
        json!({"name": "p", "arguments": {"a": "b"}}),
    );
    let answer = raw.answer_to(&json!("x"), None);
    assert!(answer.get("result").is_some(), "{answer}");
}

#[test]
fn clients_without_a_session_have_no_level_to_set() {
    let server = Server::builder("s", "1")
        .logging(true)
        .tool_with(Tool::new("t"), |_: Value, context: &Context| {
            context.log(LoggingLevel::Info, None, "told");
            "x"
        })
        .build()
        .unwrap();
    let web = Web::with(&server, HttpOptions::new().sessions(false));
    let version = [("MCP-Protocol-Version", LEGACY.as_str())];
    let call = || {
        let answer = web.post(
            &version,
            &json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "t"}}),
        );
        answer.body().contains("notifications/message")
    };
    assert!(call(), "info is told when nobody set a level");
    let level = json!({"jsonrpc": "2.0", "id": 7, "method": "logging/setLevel", "params": {"level": "emergency"}});
    web.post(&version, &level).result();
    assert!(call(), "another client has set its own level");
}

#[test]
fn clients_without_a_session_are_promised_no_changes() {
    let server = Server::builder("s", "1")
        .resource(
            Resource::new("a:b", "r"),
            |_: &ResourceRead, _: &Context| "x",
        )
        .build()
        .unwrap();
    let web = Web::with(&server, HttpOptions::new().sessions(false));
    let version = [("MCP-Protocol-Version", LEGACY.as_str())];
    let opened = web
        .post(&version, &initialize(1, LEGACY, json!({})))
        .result();
    assert_eq!(
        opened["capabilities"]["resources"],
        json!({"listChanged": false})
    );
    // A subscription that is accepted takes a place from others, and is a promise.
    for method in ["resources/subscribe", "resources/unsubscribe"] {
        let subscribe =
            json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": {"uri": "a:b"}});
        let answer = web.post(&version, &subscribe);
        assert_eq!(answer.message()["error"]["code"], -32601, "{method}");
    }
}

#[test]
fn events_say_the_method() {
    let (event, events) = mpsc::channel();
    let event = Mutex::new(event);
    let server = Server::builder("s", "1")
        .on_event(move |e| _ = event.lock().unwrap().send((e.kind, e.method.clone())))
        .resource(
            Resource::new("a:b", "r"),
            |_: &ResourceRead, _: &Context| {
                Err::<(), Error>(Error::new(ErrorKind::Io, "torn"))?;
                Ok::<&str, HandlerError>("x")
            },
        )
        .tool_with(Tool::new("p"), |_: Value, _: &Context| -> String {
            panic!("on purpose")
        })
        .build()
        .unwrap();
    let mut raw = Raw::open(&server, LEGACY);
    raw.error("resources/read", json!({"uri": "a:b"}));
    raw.error("tools/call", json!({"name": "p"}));
    let all: Vec<_> = (0..2).map(|_| events.recv_timeout(LONG).unwrap()).collect();
    assert!(all.iter().all(|(_, method)| method.is_some()), "{all:?}");
}

#[test]
fn asking_is_no_failure() {
    for revision in [LEGACY, MODERN] {
        let (event, events) = mpsc::channel();
        let (tell, told) = mpsc::channel();
        let (event, tell) = (Mutex::new(event), Mutex::new(tell));
        let server = Server::builder("s", "1")
            .on_event(move |e| {
                _ = event
                    .lock()
                    .unwrap()
                    .send(format!("{:?} {}", e.kind, e.text))
            })
            .on_log(move |r| _ = tell.lock().unwrap().send(format!("{r:?}")))
            .prompt(
                Prompt::new("p"),
                |_: BTreeMap<String, String>, context: &Context| {
                    let answer = context.elicit("sure", form("Sure?"))?;
                    Ok::<_, HandlerError>(format!("{:?}", answer.action))
                },
            )
            .resource(
                Resource::new("a:b", "r"),
                |_: &ResourceRead, context: &Context| {
                    let answer = context.elicit("sure", form("Sure?"))?;
                    Ok::<_, HandlerError>(format!("{:?}", answer.action))
                },
            )
            .build()
            .unwrap();
        let mut client = crate::played::play_client(&server, revision, json!({"elicitation": {}}));
        for (method, params) in [
            ("prompts/get", json!({"name": "p"})),
            ("resources/read", json!({"uri": "a:b"})),
        ] {
            let id = client.request(method, params.clone());
            let asked = client.script.receive();
            let answer = if revision.is_legacy() {
                client.script.answer(&asked, &json!({"action": "decline"}));
                client.script.receive()
            } else {
                let mut params = params;
                params["requestState"] = asked["result"]["requestState"].clone();
                params["inputResponses"] = json!({"sure": {"action": "decline"}});
                client.request(method, params);
                client.script.receive()
            };
            assert!(answer["result"].is_object(), "{id} {answer}");
        }
        let lines: Vec<String> = told.try_iter().collect();
        let events: Vec<String> = events.try_iter().collect();
        assert!(events.is_empty(), "{revision}: {events:?}");
        assert!(lines.iter().all(|l| !l.contains("failed")), "{lines:?}");
    }
}

#[test]
fn a_server_on_all_addresses_is_reached_at_its_url() {
    use mcplink::transport::http::Http;
    for address in ["0.0.0.0:0", "[::]:0"] {
        let Ok(listening) = echo().listen_http(address, HttpOptions::new()) else {
            continue;
        };
        let client = mcplink::client::Client::builder("c", "1")
            .connect(Http::new(&listening.url()).unwrap());
        assert!(client.is_ok(), "{}", listening.url());
    }
}

#[test]
fn keys_without_an_id_confirm_any_token() {
    use crate::auth_jwt::{Signer, now};
    use mcplink::server::http::{JwtVerifier, TokenVerifier};
    let signer = Signer::p256();
    let mut jwk = signer.jwk("k");
    jwk.as_object_mut().unwrap().remove("kid");
    let keys = json!({"keys": [jwk]}).to_string();
    let verifier = JwtVerifier::with_keys("https://login.example", move || Ok(keys.clone()));
    let claims = json!({"iss": "https://login.example", "sub": "ada", "exp": now() + 600});
    let without = signer.token(&json!({"alg": "ES256"}), &claims);
    let with = signer.token(&json!({"alg": "ES256", "kid": "k"}), &claims);
    assert!(verifier.verify(&without).is_ok());
    assert!(verifier.verify(&with).is_ok());
}

#[test]
fn a_total_that_is_no_number_is_left_out() {
    let server = Server::builder("s", "1")
        .tool_with(Tool::new("t"), |_: Value, context: &Context| {
            context.progress(1.0, Some(f64::NAN), None);
            context.progress(2.0, Some(f64::INFINITY), None);
            "x"
        })
        .build()
        .unwrap();
    let mut raw = Raw::open(&server, LEGACY);
    raw.check_messages(false);
    raw.request(
        json!("a"),
        "tools/call",
        json!({"name": "t", "_meta": {"progressToken": 1}}),
    );
    for message in [raw.next(), raw.next()] {
        let total = message["params"].get("total");
        assert!(total.is_none_or(Value::is_number), "{message}");
    }
}
