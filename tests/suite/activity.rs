//! Who waits for whom, as it is shown, and handlers that run for long.

use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use mcplink::client::CallOptions;
use mcplink::client::Client;
use mcplink::protocol::{Activity, Connection, Handlers, LogRecord, Responder};
use mcplink::schema::{ElicitRequestParams, ElicitSchema, ProtocolVersion, Tool};
use mcplink::server::{Context, HandlerError, Server};
use serde_json::{Value, json};

use crate::common::{Gate, LONG, handlers, play, wait_until};
use crate::raw::Raw;
use crate::rawserver::connect;

// Must not happen: nobody can see which call or handler a hung program waits for.
#[test]
fn calls_that_wait_are_shown_with_method_time_and_thread() {
    let (client, mut server) = connect(ProtocolVersion::LATEST, &json!({}));
    let calling = client.clone();
    let work = move || _ = calling.request("test/hang", &(), CallOptions::new().timeout(LONG));
    let thread = thread::Builder::new()
        .name("asker".to_owned())
        .spawn(work)
        .unwrap();
    let request = server.asked("test/hang");
    let shown = client.activity();
    let [call] = shown.calls.as_slice() else {
        panic!("{shown}")
    };
    assert_eq!(
        (call.method.as_str(), json!(call.id)),
        ("test/hang", request["id"].clone())
    );
    assert!(call.thread.as_ref().unwrap().starts_with("asker ThreadId("));
    let text = shown.to_string();
    assert!(
        text.contains("waiting for the answer to test/hang (request"),
        "{text}"
    );
    assert!(
        text.contains("connection to 'the in-memory peer'"),
        "{text}"
    );
    server.answer(&request, json!({ "resultType": "complete" }));
    thread.join().unwrap();
    assert!(client.activity().calls.is_empty());
    client.close();
    assert!(client.activity().to_string().contains("which has ended"));
}

/// The active request of this method.
fn running_on<'a>(shown: &'a Activity, method: &str) -> Option<&'a str> {
    let request = shown
        .requests
        .iter()
        .find(|request| request.method == method);
    let running = request
        .unwrap_or_else(|| panic!("{method}: {shown}"))
        .running
        .as_ref();
    running.map(|running| running.thread.as_str())
}

// Must not happen: nobody can see which call or handler a hung program waits for.
#[test]
fn what_is_in_hand_is_shown_with_its_handler() {
    let gate = Gate::default();
    let kept: Arc<Mutex<Vec<Responder>>> = Arc::default();
    let keeping = Arc::clone(&kept);
    let notified = gate.clone();
    let handlers = handlers(&gate)
        .request("keep", move |_, responder| {
            keeping.lock().unwrap().push(responder)
        })
        .request("ask", |_, responder| {
            let options = mcplink::protocol::RequestOptions::new().timeout(LONG);
            let answer = responder.peer().request("question", &json!({}), options);
            _ = responder.respond(&json!({ "answered": answer.is_ok() }));
        })
        .notification("tests/notified", move |_, _| notified.pass());
    let (connection, mut script) = play(Connection::server().handlers(handlers));
    script.request(1, "block");
    script.request(2, "keep");
    script.request(3, "ask");
    script.notify("tests/notified", &json!({}));
    let question = script.receive_request("question");
    gate.wait_for(2);
    let shown = connection.activity();
    assert_eq!(shown.requests.len(), 4, "{shown}");
    for method in ["block", "ask", "tests/notified"] {
        assert!(
            running_on(&shown, method)
                .unwrap()
                .starts_with("mcplink-worker"),
            "{shown}"
        );
    }
    assert_eq!(running_on(&shown, "keep"), None);
    // The handler that asks waits for the peer, on the thread that runs it.
    let [call] = shown.calls.as_slice() else {
        panic!("{shown}")
    };
    assert_eq!(call.method, "question");
    assert_eq!(call.thread.as_deref(), running_on(&shown, "ask"));
    let text = shown.to_string();
    for part in [
        "the peer has been waiting for block (request 1)",
        "keep (request 2) for",
        "no handler runs",
        "its handler has been running on mcplink-worker",
        "the notification tests/notified came",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    script.answer(&question, &json!({}));
    gate.open();
    for responder in kept.lock().unwrap().drain(..) {
        responder.respond(&json!({})).unwrap();
    }
    wait_until("nothing is in hand", || {
        connection.activity().requests.is_empty()
    });
}

// Must not happen: nobody can see which call or handler a hung program waits for.
#[test]
fn a_call_that_waits_for_an_answer_of_a_person_is_shown_as_such() {
    fn ask(_: Value, context: &Context) -> Result<String, HandlerError> {
        let form = ElicitSchema::default().to_schema()?;
        context.elicit("name", ElicitRequestParams::form("Name?", form))?;
        Ok("asked".to_owned())
    }
    let server = Server::builder("s", "1")
        .tool_with(Tool::new("ask"), ask)
        .build()
        .unwrap();
    let mut raw = Raw::silent(&server, ProtocolVersion::V2025_11_25);
    raw.result(
        "initialize",
        json!({
            "protocolVersion": "2025-11-25",
            "capabilities": { "elicitation": {} },
            "clientInfo": { "name": "raw", "version": "1" },
        }),
    );
    raw.notify("notifications/initialized", json!({}));
    raw.request(json!("q"), "tools/call", json!({ "name": "ask" }));
    let question = raw.next();
    assert_eq!(question["method"], "elicitation/create");
    wait_until("the handler was left", || {
        running_on(&raw.connection.activity(), "tools/call").is_none()
    });
    let shown = raw.connection.activity();
    assert_eq!(shown.calls[0].method, "elicitation/create");
    assert_eq!(shown.calls[0].thread, None);
    raw.send(json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "action": "decline" } }));
    raw.answer_to(&json!("q"), Some("tools/call"));
    wait_until("it is done with", || {
        raw.connection.activity().requests.is_empty()
    });
}

// Must not happen: nobody can see which call or handler a hung program waits for.
#[test]
fn a_handler_that_runs_long_is_told_to_the_log() {
    for inline in [true, false] {
        let gate = Gate::default();
        let (log, logged) = mpsc::channel();
        let builder = if inline {
            Connection::server()
        } else {
            Connection::client()
        };
        let builder = builder
            .handlers(handlers(&gate))
            .slow_handler(Duration::from_millis(20))
            .log(Arc::new(move |record: &LogRecord<'_>| {
                _ = log.send(record.text.to_owned())
            }));
        let (_connection, mut script) = play(builder);
        script.request(7, "block");
        let line = logged.recv_timeout(LONG).unwrap();
        assert!(line.contains("handler of request 7 (block)"), "{line}");
        assert!(line.contains("has been running for"), "{line}");
        assert!(line.contains("slow_handler is 20 ms"), "{line}");
        gate.open();
        let line = logged.recv_timeout(LONG).unwrap();
        assert!(
            line.contains("request 7 (block)") && line.contains(" took "),
            "{line}"
        );
    }
}

#[test]
fn a_quick_handler_is_not_told_of() {
    let (log, logged) = mpsc::channel();
    let handlers = Handlers::new().request("echo", |_, responder| {
        _ = responder.respond(&json!({}));
    });
    let builder = Connection::server()
        .handlers(handlers)
        .slow_handler(LONG)
        .log(Arc::new(move |record: &LogRecord<'_>| {
            _ = log.send(record.text.to_owned())
        }));
    let (connection, mut script) = play(builder);
    script.expect_service(1);
    connection.close();
    assert_eq!(logged.try_iter().collect::<Vec<_>>(), Vec::<String>::new());
}

#[test]
fn a_client_can_be_asked_while_it_hangs_in_its_own_callback() {
    let (client, mut server) = connect(ProtocolVersion::LATEST, &json!({}));
    let (asking, inside) = (client.clone(), client.clone());
    let (told, shown) = mpsc::channel();
    let call = thread::spawn(move || {
        let on_progress = move |_| told.send(inside.activity().calls.len()).unwrap();
        let options = CallOptions::new().timeout(LONG).on_progress(on_progress);
        asking.request("test/progress", &(), options).map(drop)
    });
    let request = server.asked("test/progress");
    let token = &request["params"]["_meta"]["progressToken"];
    server.notify(
        "notifications/progress",
        json!({ "progressToken": token, "progress": 1 }),
    );
    assert_eq!(shown.recv_timeout(LONG).unwrap(), 1);
    server.answer(&request, json!({ "resultType": "complete" }));
    call.join().unwrap().unwrap();
    assert!(Client::activity(&client).calls.is_empty());
}
