//! A client and a server of this library over HTTP.

use std::net::TcpListener;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use mcplink::ErrorKind;
use mcplink::client::CallOptions;
use mcplink::client::{Client, ClientBuilder, Event};
use mcplink::protocol::CancelToken;
use mcplink::schema::{
    ElicitRequestParams, ElicitResult, JsonSchema, ProtocolVersion, SubscriptionFilter, Tool,
};
use mcplink::server::http::{HttpOptions, HttpServer};
use mcplink::server::{Context, HandlerError, Server};
use mcplink::transport::http::Http;
use serde_json::{Value, json};

use crate::common::LONG;
use crate::stub::{asker, call, call_with};

/// Those that have this transport.
const REVISIONS: [ProtocolVersion; 4] = [
    ProtocolVersion::V2025_03_26,
    ProtocolVersion::V2025_06_18,
    ProtocolVersion::V2025_11_25,
    ProtocolVersion::V2026_07_28,
];

struct Pair {
    server: Server,
    http: HttpServer,
    /// The text with which a server listens there again.
    address: String,
    /// Tells when the handler of the tool that waits has begun, and when it was cancelled.
    waits: mpsc::Receiver<&'static str>,
}

fn ask(_: Value, context: &Context) -> Result<String, HandlerError> {
    let form = r#"{"type":"object","properties":{"a":{"type":"string"}}}"#;
    let form = JsonSchema::parse(form)?;
    let first = context.elicit("first", ElicitRequestParams::form("1?", form.clone()))?;
    let second = context.elicit("second", ElicitRequestParams::form("2?", form))?;
    Ok(format!("{} {}", first.is_accepted(), second.is_accepted()))
}

/// A pair over TCP and, where there are such, one over a Unix socket.
fn pairs() -> Vec<Pair> {
    let mut pairs = vec![serve("127.0.0.1:0")];
    if cfg!(unix) {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("mcplink-pair-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        pairs.push(serve(&format!("unix:{}", path.display())));
    }
    pairs
}

fn serve(address: &str) -> Pair {
    let (told, waits) = mpsc::channel();
    let told = Mutex::new(told);
    let region = json!({"type": "object", "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"} }});
    let server = Server::builder("s", "1")
        .tool_with(Tool::new("echo"), |args: Value, _: &Context| {
            args.to_string()
        })
        .tool_with(Tool::new("steps"), |_: Value, context: &Context| {
            for step in 1..=3 {
                context.progress(f64::from(step), Some(3.0), None);
            }
            "done"
        })
        .tool_with(Tool::new("ask"), ask)
        .tool_with(
            Tool::new("where").input_schema(JsonSchema::new(&region).unwrap()),
            |args: Value, _: &Context| args.to_string(),
        )
        .tool_with(Tool::new("wait"), move |_: Value, context: &Context| {
            let told = told.lock().unwrap();
            told.send("begun").unwrap();
            if context.cancel_token().wait(LONG) {
                told.send("cancelled").unwrap();
            }
            "late"
        })
        .build()
        .unwrap();
    let http = server.listen_http(address, HttpOptions::default()).unwrap();
    let port = http.local_addr().map(|address| address.to_string());
    Pair {
        server,
        address: port.unwrap_or_else(|| address.to_owned()),
        http,
        waits,
    }
}

impl Pair {
    fn connect(&self, builder: ClientBuilder, revision: ProtocolVersion) -> Client {
        let http = Http::new(&self.http.url()).unwrap();
        let client = builder.revisions(&[revision]).connect(http).unwrap();
        assert_eq!(client.revision(), revision);
        client
    }
}

fn filler() -> ClientBuilder {
    asker().on_elicit(|_, _| ElicitResult::accept(&json!({ "a": "b" })).unwrap())
}

#[test]
fn calls_of_every_revision_come_through() {
    for pair in pairs() {
        for revision in REVISIONS {
            let client = pair.connect(filler(), revision);
            assert_eq!(client.list_tools().unwrap().len(), 5, "{revision}");
            for _ in 0..3 {
                assert_eq!(call(&client, "echo").unwrap(), "{}", "{revision}");
            }
            let mut steps = Vec::new();
            let options = CallOptions::new().on_progress(|step| steps.push(step.progress));
            assert_eq!(call_with(&client, "steps", options).unwrap(), "done");
            assert_eq!(steps, [1.0, 2.0, 3.0], "{revision}");
            let arguments = json!({ "region": "süd" });
            let result = client.call_tool("where", &arguments).unwrap();
            assert_eq!(result.content[0].as_text(), Some(r#"{"region":"süd"}"#));
            let error = client.call_tool("none", &json!({})).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Peer, "{revision}: {error}");
            client.close();
        }
    }
}

// Seen in other SDKs: a handler must branch on the protocol revision to ask the user.
#[test]
fn questions_come_through_in_both_eras() {
    for pair in pairs() {
        for revision in &REVISIONS[1..] {
            let client = pair.connect(filler(), *revision);
            for _ in 0..2 {
                assert_eq!(call(&client, "ask").unwrap(), "true true", "{revision}");
            }
        }
    }
}

// Seen in other SDKs: a handler works on for a client that has disconnected.
// M-CANC-S-04, L-HTTP-C-23
#[test]
fn cancelling_reaches_the_handler_in_both_eras() {
    for pair in pairs() {
        for revision in REVISIONS {
            let client = pair.connect(asker(), revision);
            let token = CancelToken::new();
            std::thread::scope(|scope| {
                let call = scope
                    .spawn(|| call_with(&client, "wait", CallOptions::new().cancel_with(&token)));
                assert_eq!(pair.waits.recv_timeout(LONG), Ok("begun"));
                token.cancel();
                let error = call.join().unwrap().unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Cancelled);
                assert_eq!(pair.waits.recv_timeout(LONG), Ok("cancelled"), "{revision}");
            });
            // The connection is as good as before.
            assert_eq!(call(&client, "echo").unwrap(), "{}");
        }
    }
}

#[test]
fn changes_are_told_in_both_eras() {
    for pair in pairs() {
        for revision in REVISIONS {
            let client = pair.connect(asker(), revision);
            let (told, events) = mpsc::channel();
            let told = Mutex::new(told);
            let subscription = client
                .subscribe(
                    SubscriptionFilter::default().tools_list_changed(true),
                    move |event| _ = told.lock().unwrap().send(event),
                )
                .unwrap();
            pair.server
                .add_tool(Tool::new("more"), |_: Value, _: &Context| "more")
                .unwrap();
            assert_eq!(
                events.recv_timeout(LONG),
                Ok(Event::ToolsChanged),
                "{revision}"
            );
            assert_eq!(call(&client, "more").unwrap(), "more");
            pair.server.remove_tool("more");
            drop(subscription);
            client.close();
        }
    }
}

#[test]
fn many_threads_call_at_once() {
    for pair in pairs() {
        for revision in [REVISIONS[2], REVISIONS[3]] {
            let client = pair.connect(asker(), revision);
            std::thread::scope(|scope| {
                for thread in 0..8 {
                    let client = &client;
                    scope.spawn(move || {
                        for number in 0..50 {
                            let arguments = json!({ "thread": thread, "number": number });
                            let result = client.call_tool("echo", &arguments).unwrap();
                            assert_eq!(result.content[0].as_text(), Some(&*arguments.to_string()));
                        }
                    });
                }
            });
            let stats = client.stats();
            assert_eq!((stats.calls_in_flight, stats.late_responses), (0, 0));
        }
    }
}

// Seen in other SDKs: clients are stranded once a restarted server forgets their session.
#[test]
fn a_server_that_was_started_anew_is_gone_on_with() {
    for pair in pairs() {
        let clients: Vec<Client> = REVISIONS[2..]
            .iter()
            .map(|revision| pair.connect(asker(), *revision))
            .collect();
        let waiting = Arc::new(pair.server.clone());
        pair.http.close();
        drop(pair.http);
        let again = waiting
            .listen_http(&pair.address, HttpOptions::default())
            .unwrap();
        for client in clients {
            assert_eq!(
                call(&client, "echo").unwrap(),
                "{}",
                "{}",
                client.revision()
            );
        }
        again.close();
    }
}

#[test]
fn a_socket_that_listens_already_is_served() {
    let pair = serve("127.0.0.1:0");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let http = pair.server.listen_http_on(listener, HttpOptions::new());
    let http = http.unwrap();
    assert_eq!(http.local_addr().unwrap(), address);
    let client = Client::connect(Http::new(&http.url()).unwrap()).unwrap();
    assert_eq!(call(&client, "echo").unwrap(), "{}");
}

// L-OLD-S-01, L-OLD-S-02, L-OLD-C-03, L-OLD-S-04, M-HTTP-C-30: found by itself, from the address of the stream.
#[test]
fn the_endpoints_of_the_first_transport_are_reached() {
    let server = Server::builder("s", "1")
        .tool_with(Tool::new("echo"), |args: Value, _: &Context| {
            args.to_string()
        })
        .build()
        .unwrap();
    let options = HttpOptions::new().old_paths("/sse", "/messages");
    let http = server.listen_http("0", options).unwrap();
    let url = http.url().replace("/mcp", "/sse");
    let client = Client::connect(Http::new(&url).unwrap()).unwrap();
    let arguments = json!({"a": 1});
    let result = client.call_tool("echo", &arguments).unwrap();
    assert_eq!(result.content[0].as_text(), Some(r#"{"a":1}"#));
    client.close();
    let until = Instant::now() + LONG;
    while http.sessions() > 0 {
        assert!(Instant::now() < until, "the session ends with its stream");
        std::thread::yield_now();
    }
}

// A change right after the acknowledgement reaches the client, also the first subscriber of a server.
#[test]
fn a_change_right_behind_the_acknowledgement_is_told() {
    for round in 0..40 {
        let pair = serve("127.0.0.1:0");
        let client = pair.connect(asker(), ProtocolVersion::LATEST);
        let (told, events) = mpsc::channel();
        let told = Mutex::new(told);
        let filter = SubscriptionFilter::default().tools_list_changed(true);
        let on_event = move |event| _ = told.lock().unwrap().send(event);
        let _subscription = client.subscribe(filter, on_event).unwrap();
        pair.server
            .add_tool(Tool::new("more"), |_: Value, _: &Context| "more")
            .unwrap();
        let event = events.recv_timeout(LONG);
        assert_eq!(event, Ok(Event::ToolsChanged), "round {round}");
    }
}
