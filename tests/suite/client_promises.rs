//! What the documentation of clients promises where other tests don't look: on time-outs, ends, restarts and odd servers.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use mcplink::client::CallOptions;
#[cfg(unix)]
use mcplink::client::ResponseCache;
use mcplink::client::{Client, ClientBuilder, Event, Restart};
use mcplink::protocol::CancelToken;
use mcplink::schema::{ElicitResult, ProtocolVersion, SubscriptionFilter, Tool};
use mcplink::server::{Context, Server};
#[cfg(unix)]
use mcplink::transport::{Child, Stderr, Tap};
use mcplink::transport::{Direction, Limits, Received, SessionMessage, Stream, Transport, memory};
use mcplink::validation::Validator;
use mcplink::{Error, ErrorKind};
use mcplink_testing::trace::Replay;
use mcplink_testing::{Fault, Faults};
use serde_json::{Value, json};

use crate::client_restart::Spawner;
use crate::common::Witness;
use crate::rawserver::{LONG, RawServer, connect, connect_with};

const LEGACY: ProtocolVersion = ProtocolVersion::V2025_11_25;
const MODERN: ProtocolVersion = ProtocolVersion::V2026_07_28;

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// What a child needs to be a modern server that answers the discovery.
#[cfg(unix)]
const DISCOVER: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}}"#;

/// A client whose calls a server may answer with tasks.
fn connect_with_tasks() -> (Client, RawServer) {
    let builder = Client::builder("c", "1").tasks();
    let capabilities = json!({"tools": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}});
    connect_with(builder, MODERN, &capabilities)
}

/// What a call became, to be looked at so often.
fn task(poll_ms: u64) -> Value {
    json!({
        "resultType": "task", "taskId": "x", "status": "working", "createdAt": "2026-01-01T00:00:00Z",
        "lastUpdatedAt": "2026-01-01T00:00:00Z", "ttlMs": null, "pollIntervalMs": poll_ms,
    })
}

#[test]
fn a_delay_for_ever_is_one() {
    let (here, there) = memory::pair();
    let faults = Faults::new(here).at(Direction::Incoming, 1, Fault::Delay(Duration::MAX));
    let mut here = Box::new(faults).open(&Limits::default()).unwrap();
    let mut there = Box::new(there).open(&Limits::default()).unwrap();
    let mut queue = VecDeque::from([SessionMessage::new(b"in".to_vec())]);
    there
        .sender
        .send(&mut queue, Instant::now() + LONG)
        .unwrap();
    let got = here.receiver.receive(Some(ms(200))).unwrap();
    assert!(matches!(got, Received::Nothing), "{got:?}");
}

#[test]
fn a_callback_that_panics_keeps_no_call_from_ending() {
    let (client, mut server) = connect(MODERN, &json!({"tools": {}}));
    let token = CancelToken::new();
    let _guard = token.on_trigger(|| panic!("on purpose"));
    let (calling, called) = (client.clone(), token.clone());
    let call = thread::spawn(move || {
        let options = CallOptions::new().timeout(LONG).cancel_with(&called);
        calling
            .call_tool_with("t", &json!({}), options)
            .unwrap_err()
    });
    server.asked("tools/call");
    _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| token.cancel()));
    assert_eq!(call.join().unwrap().kind(), ErrorKind::Cancelled);
}

#[test]
fn giving_up_a_task_of_a_silent_server() {
    let (client, mut server) = connect_with_tasks();
    let (tell, told) = mpsc::channel();
    let calling = client.clone();
    thread::spawn(move || {
        let options = CallOptions::new().timeout(ms(300));
        let error = calling
            .call_tool_with("t", &json!({}), options)
            .unwrap_err();
        _ = tell.send(error);
    });
    let request = server.asked("tools/call");
    server.answer(&request, task(10));
    let error = told.recv_timeout(LONG).unwrap();
    assert_eq!(error.kind(), ErrorKind::Timeout);
}

#[test]
fn cancelling_a_task_of_a_silent_server() {
    let (client, mut server) = connect_with_tasks();
    let (tell, told) = mpsc::channel();
    let token = CancelToken::new();
    let (calling, called) = (client.clone(), token.clone());
    thread::spawn(move || {
        let options = CallOptions::new().cancel_with(&called);
        let error = calling
            .call_tool_with("t", &json!({}), options)
            .unwrap_err();
        _ = tell.send(error);
    });
    let request = server.asked("tools/call");
    server.answer(&request, task(10));
    server.asked("tasks/get");
    token.cancel();
    let error = told.recv_timeout(LONG).unwrap();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
}

#[test]
fn max_timeout_holds_for_a_task_in_all() {
    let (client, mut server) = connect_with_tasks();
    let (tell, told) = mpsc::channel();
    let calling = client.clone();
    let witness = Witness::start();
    thread::spawn(move || {
        let options = CallOptions::new().max_timeout(ms(1000));
        let error = calling
            .call_tool_with("t", &json!({}), options)
            .unwrap_err();
        _ = tell.send(error);
    });
    let request = server.asked("tools/call");
    thread::sleep(ms(800));
    let task = task(100);
    server.answer(&request, task.clone());
    let started = Instant::now();
    loop {
        let request = server.receive();
        if request["method"] != "tasks/get" || started.elapsed() > ms(900) {
            // It falls silent now, but for the cancelling.
            if request["method"] == "tasks/cancel" {
                server.answer(&request, json!({"resultType": "complete"}));
                break;
            }
            continue;
        }
        let mut task = task.clone();
        task["resultType"] = json!("complete");
        server.answer(&request, task);
    }
    let error = told.recv_timeout(LONG).unwrap();
    witness.expect_within(ms(1000));
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
}

#[test]
fn max_timeout_holds_for_rounds_without_questions() {
    let (client, mut server) = connect(MODERN, &json!({"tools": {}}));
    let (tell, told) = mpsc::channel();
    let calling = client.clone();
    thread::spawn(move || {
        let options = CallOptions::new().max_timeout(ms(400));
        _ = tell.send(calling.call_tool_with("t", &json!({}), options).map(drop));
    });
    for _ in 0..11 {
        let request = server.receive();
        if request["method"] != "tools/call" {
            break;
        }
        thread::sleep(ms(250));
        server.answer(
            &request,
            json!({"resultType": "input_required", "requestState": "s"}),
        );
    }
    let error = told.recv_timeout(LONG).unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
}

#[test]
fn no_deadline_runs_while_a_person_answers() {
    for revision in [MODERN, LEGACY] {
        let builder = Client::builder("c", "1").on_elicit(|_, _| {
            thread::sleep(ms(800));
            ElicitResult::decline()
        });
        let (client, mut server) = connect_with(builder, revision, &json!({"tools": {}}));
        let outcome = server.serve(
            || {
                let options = CallOptions::new().max_timeout(ms(400));
                client.call_tool_with("t", &json!({}), options)
            },
            |server| {
                let request = server.asked("tools/call");
                let params = json!({"mode": "form", "message": "?", "requestedSchema": {"type": "object", "properties": {}}});
                let done = json!({"resultType": "complete", "content": []});
                if revision.is_modern() {
                    let ask = json!({"method": "elicitation/create", "params": params});
                    server.answer(&request, json!({"resultType": "input_required", "inputRequests": {"k": ask}}));
                    let request = server.asked("tools/call");
                    server.answer(&request, done);
                } else {
                    server.send(&json!({"jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": params}));
                    let _answer = server.receive();
                    server.answer(&request, done);
                }
            },
        );
        outcome.unwrap_or_else(|error| panic!("{revision}: {error}"));
    }
}

#[test]
fn pages_of_another_client_of_the_same_builder() {
    let (tell, told) = mpsc::channel();
    let builder = Client::builder("c", "1")
        .on_elicit_url(|_, _| ElicitResult::new(mcplink::schema::ElicitAction::Accept))
        .on_elicitation_complete(move |id| _ = tell.send(id.to_owned()));
    let (_a, mut first) = connect_with(builder.clone(), LEGACY, &json!({"tools": {}}));
    let (b, mut second) = connect_with(builder, LEGACY, &json!({"tools": {}}));
    first.send(&json!({"jsonrpc": "2.0", "id": "q", "method": "elicitation/create",
        "params": {"mode": "url", "message": "?", "url": "https://a.example/", "elicitationId": "page"}}));
    first.receive();
    second.notify(
        "notifications/elicitation/complete",
        json!({"elicitationId": "page"}),
    );
    second.has_heard_nothing(&b);
    let heard = told.recv_timeout(ms(500));
    assert!(
        heard.is_err(),
        "told of {heard:?} by a server that never sent it"
    );
}

#[cfg(unix)] // The child is a shell.
#[test]
fn clones_of_a_child_have_their_own_stderr() {
    let script = r#"read line; printf '%s\n' "$REPLY_WITH"; read line; echo "$NAME" >&2; exit 3"#;
    let child = Child::new("sh")
        .args(["-c", script])
        .env("REPLY_WITH", DISCOVER);
    let first = Client::builder("c", "1")
        .revisions(&[MODERN])
        .connect(child.clone().env("NAME", "alpha"))
        .unwrap();
    let _second = Client::builder("c", "1")
        .revisions(&[MODERN])
        .connect(child.env("NAME", "beta"))
        .unwrap();
    let error = first.call_tool("t", &json!({})).unwrap_err();
    assert!(
        error.stderr_tail().unwrap_or_default().contains("alpha"),
        "{error:?}"
    );
    assert!(
        !error.stderr_tail().unwrap_or_default().contains("beta"),
        "{error:?}"
    );
}

#[cfg(unix)] // The child is a shell.
#[test]
fn a_line_of_64_kib_is_one_line() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&seen);
    let script = r#"head -c 65536 /dev/zero | tr '\0' x >&2; sleep 0.3; echo >&2; read line; printf '%s\n' "$REPLY_WITH"; read line"#;
    let child = Child::new("sh")
        .args(["-c", script])
        .env("REPLY_WITH", DISCOVER);
    let child = child.stderr(Stderr::lines(move |line| {
        told.lock().unwrap().push(line.len())
    }));
    let client = Client::builder("c", "1")
        .revisions(&[MODERN])
        .connect(child)
        .unwrap();
    client.close();
    assert_eq!(*seen.lock().unwrap(), [65536]);
}

struct Flushing {
    inner: io::PipeWriter,
    refusals: usize,
}
impl Write for Flushing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.inner.write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        if self.refusals > 0 {
            self.refusals -= 1;
            return Err(io::ErrorKind::WouldBlock.into());
        }
        Ok(())
    }
}

#[test]
fn a_flush_that_times_out_is_asked_again() {
    let (mut from, to) = io::pipe().unwrap();
    let stream = Stream::new(
        io::empty(),
        Flushing {
            inner: to,
            refusals: 1,
        },
    );
    let mut halves = Box::new(stream).open(&Limits::default()).unwrap();
    let mut queue = VecDeque::from([SessionMessage::new(b"out".to_vec())]);
    let sent = halves.sender.send(&mut queue, Instant::now() + LONG);
    let mut room = [0; 4];
    from.read_exact(&mut room).unwrap();
    assert_eq!(&room, b"out\n");
    sent.unwrap();
}

const SUBSCRIBED: &str = r#"
{"t":0,"dir":"out","message":{"jsonrpc":"2.0","id":1,"method":"server/discover"}}
{"t":1,"dir":"in","message":{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}},"ttlMs":0,"cacheScope":"private"}}}
{"t":2,"dir":"out","message":{"jsonrpc":"2.0","id":40,"method":"subscriptions/listen"}}
{"t":3,"dir":"in","message":{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":40},"notifications":{"toolsListChanged":true}}}}
{"t":4,"dir":"in","message":{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":40}}}
"#;

#[test]
fn a_replayed_cancellation_refers_to_the_new_id() {
    let replay = Replay::read(SUBSCRIBED).unwrap();
    let client = Client::builder("c", "1")
        .revisions(&[MODERN])
        .connect(replay)
        .unwrap();
    let (tell, told) = mpsc::channel();
    let filter = SubscriptionFilter::default().tools_list_changed(true);
    let _kept = client
        .subscribe(filter, move |event| _ = tell.send(event))
        .unwrap();
    let event = told.recv_timeout(LONG);
    event.expect("the recorded server ended the subscription");
}

#[test]
fn a_replayed_key_may_be_escaped() {
    let trace = SUBSCRIBED.replace(
        "io.modelcontextprotocol/subscriptionId",
        r"io.modelcontextprotocol\/subscriptionId",
    );
    let replay = Replay::read(&trace).unwrap();
    let client = Client::builder("c", "1")
        .revisions(&[MODERN])
        .connect(replay)
        .unwrap();
    let filter = SubscriptionFilter::default().tools_list_changed(true);
    let options = CallOptions::new().timeout(Duration::from_secs(3));
    _ = client.subscribe_with(filter, options, |_| {}).unwrap();
}

#[cfg(unix)] // The child is a shell.
#[test]
fn connecting_through_faults_ends_in_time() {
    fn fails(transport: impl Transport + 'static) -> Duration {
        let started = Instant::now();
        let builder = Client::builder("c", "1")
            .revisions(&[MODERN])
            .connect_timeout(ms(500));
        let error = builder.connect(transport).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
        started.elapsed()
    }
    let script = r#"trap '' TERM; while :; do sleep 1; done"#;
    let child = || Child::new("sh").args(["-c", script]);
    let plain = fails(child());
    let faulty = fails(Faults::new(child()));
    assert!(
        faulty < plain + Duration::from_secs(1),
        "{plain:?}, with faults {faulty:?}"
    );
}

#[cfg(unix)] // The child is a shell.
#[test]
fn children_in_different_directories_are_different_servers() {
    let script = r#"read line; printf '%s\n' "$REPLY_WITH"; read line; printf '{"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","ttlMs":60000,"cacheScope":"public","tools":[{"name":"%s","inputSchema":{"type":"object"}}]}}\n' "$(basename "$PWD")"; read line"#;
    let cache = ResponseCache::new(&Limits::default());
    let place = std::env::temp_dir().join(format!("mcplink-directories-{}", std::process::id()));
    let mut names = Vec::new();
    for name in ["one", "two"] {
        let directory = place.join(name);
        std::fs::create_dir_all(&directory).unwrap();
        let child = Child::new("sh")
            .args(["-c", script])
            .env("REPLY_WITH", DISCOVER)
            .current_dir(directory);
        let client = Client::builder("c", "1")
            .revisions(&[MODERN])
            .cache(&cache)
            .connect(child)
            .unwrap();
        names.push(client.list_tools().unwrap()[0].name.clone());
        client.close();
    }
    std::fs::remove_dir_all(&place).unwrap();
    assert_eq!(names, ["one", "two"]);
}

#[cfg(unix)] // The child is a shell.
#[test]
fn cancelled_when_it_has_just_come_about() {
    let reply = r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}"#;
    let script =
        r#"trap '' TERM; read line; printf '%s\n' "$REPLY_WITH"; while :; do sleep 1; done"#;
    let child = Child::new("sh")
        .args(["-c", script])
        .env("REPLY_WITH", reply);
    let token = CancelToken::new();
    let trigger = token.clone();
    let witness = Arc::new(Mutex::new(None));
    let started = Arc::clone(&witness);
    let tap = Tap::new(child, move |message| {
        if message.text_lossy().contains("notifications/initialized") {
            *started.lock().unwrap() = Some(Witness::start());
            trigger.cancel();
        }
    });
    let builder = Client::builder("c", "1")
        .revisions(&[LEGACY])
        .cancel_connecting_with(&token);
    let error = builder.connect(tap).unwrap_err();
    witness.lock().unwrap().take().unwrap().expect_at_once();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
}

fn is_not_held_against(revision: ProtocolVersion) {
    let validator = Validator::custom(|_| {
        Ok(|json: &str| match json.contains("text") {
            false => Ok(()),
            true => Err(Error::new(ErrorKind::Invalid, "no integer")),
        })
    });
    let builder = Client::builder("c", "1").validator(validator);
    let (client, mut server) =
        connect_with(builder, revision, &json!({"tools": {"listChanged": true}}));
    server.serve(
        || client.list_tools().unwrap(),
        |server| {
            let request = server.asked("tools/list");
            let schema = json!({"type": "object"});
            server.answer(&request, json!({"resultType": "complete", "ttlMs": 0, "cacheScope": "private",
                "tools": [{"name": "t", "inputSchema": {"type": "object"}, "outputSchema": schema}]}));
        },
    );
    let result = server.serve(
        || client.call_tool("t", &json!({})),
        |server| {
            let request = server.asked("tools/call");
            server.notify("notifications/tools/list_changed", json!({}));
            server.answer(&request, json!({"resultType": "complete", "content": [], "structuredContent": {"x": "text"}}));
        },
    );
    result.unwrap();
}

#[test]
fn a_schema_is_known_until_the_tools_have_changed() {
    is_not_held_against(MODERN);
    is_not_held_against(LEGACY);
}

#[test]
fn each_callback_of_a_request_that_the_peer_cancelled_runs() {
    let (tell, told) = mpsc::channel();
    let (entered, inside) = mpsc::channel();
    let server = Server::builder("s", "1")
        .tool_with(Tool::new("t"), move |_: Value, context: &Context| {
            let tell = tell.clone();
            let token = context.cancel_token();
            let _first = token.on_trigger(|| panic!("on purpose"));
            let _second = token.on_trigger(move || _ = tell.send(()));
            entered.send(()).unwrap();
            token.wait(LONG);
            thread::sleep(ms(500));
            ""
        })
        .build()
        .unwrap();
    let (here, there) = memory::pair();
    let _serving = server.open(there).unwrap();
    let client = Client::connect(here).unwrap();
    let token = CancelToken::new();
    let called = token.clone();
    let call = thread::spawn(move || {
        client
            .call_tool_with("t", &json!({}), CallOptions::new().cancel_with(&called))
            .map(drop)
    });
    inside.recv_timeout(LONG).unwrap();
    token.cancel();
    call.join().unwrap().unwrap_err();
    told.recv_timeout(LONG).expect("the second callback");
}

fn restarting(
    builder: ClientBuilder,
    restart: Restart,
    revision: ProtocolVersion,
) -> (Client, RawServer, mpsc::Receiver<memory::Memory>) {
    let (spawned, servers) = mpsc::channel();
    let builder = builder.revisions(&[revision]).restart(restart);
    let connecting = thread::spawn(move || builder.connect(Spawner(spawned)).unwrap());
    let mut server = RawServer::open(servers.recv_timeout(LONG).unwrap());
    server.open_as(revision, &json!({"tools": {"listChanged": true}}));
    (connecting.join().unwrap(), server, servers)
}

#[test]
fn max_timeout_bounds_the_wait_for_a_restart() {
    let restart = Restart::new().first_delay(Duration::from_secs(3600));
    let (client, server, _servers) = restarting(Client::builder("c", "1"), restart, MODERN);
    drop(server);
    thread::sleep(ms(200));
    let (tell, told) = mpsc::channel();
    let calling = client.clone();
    thread::spawn(move || {
        let options = CallOptions::new().max_timeout(ms(300));
        let error = calling
            .call_tool_with("t", &json!({}), options)
            .unwrap_err();
        _ = tell.send(error);
    });
    let error = told.recv_timeout(LONG).unwrap();
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
}

#[test]
fn a_new_server_has_not_said_that_its_tools_are_harmless() {
    let restart = Restart::new()
        .first_delay(ms(1))
        .retry_idempotent_calls(true);
    let (client, mut server, servers) = restarting(Client::builder("c", "1"), restart, LEGACY);
    server.serve(
        || client.list_tools().unwrap(),
        |server| {
            let request = server.asked("tools/list");
            server.answer(&request, json!({"tools": [{"name": "t", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true}}]}));
        },
    );
    drop(server);
    let next = || {
        let mut server = RawServer::open(servers.recv_timeout(LONG).unwrap());
        server.open_as(LEGACY, &json!({"tools": {"listChanged": true}}));
        server
    };
    // Another version, whose tool `t` says nothing of itself.
    let mut server = next();
    let calling = client.clone();
    let call = thread::spawn(move || calling.call_tool("t", &json!({})));
    server.asked("tools/call");
    drop(server);
    let mut server = next();
    let again = server.receive_within(Duration::from_secs(2));
    client.close();
    _ = call.join().unwrap();
    assert!(again.is_none(), "sent twice: {again:?}");
}

#[test]
fn a_subscription_takes_its_timeout_at_most() {
    let restart = Restart::new().first_delay(ms(1600));
    let (client, server, servers) = restarting(Client::builder("c", "1"), restart, MODERN);
    drop(server);
    thread::sleep(ms(100));
    let witness = Witness::start();
    let (tell, told) = mpsc::channel();
    let subscribing = client.clone();
    thread::spawn(move || {
        let filter = SubscriptionFilter::default().tools_list_changed(true);
        let options = CallOptions::new().timeout(ms(2000));
        let error = subscribing
            .subscribe_with(filter, options, |_| {})
            .unwrap_err();
        _ = tell.send(error);
    });
    let mut server = RawServer::open(servers.recv_timeout(LONG).unwrap());
    server.open_as(MODERN, &json!({"tools": {"listChanged": true}}));
    let error = told.recv_timeout(LONG).unwrap();
    witness.expect_within(ms(2000));
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
}

#[test]
fn closing_from_callbacks_ends_the_call() {
    for revision in [LEGACY, MODERN] {
        let place: Arc<Mutex<Option<Client>>> = Arc::default();
        let close = {
            let place = Arc::clone(&place);
            move || {
                let client = place.lock().unwrap().take();
                client.unwrap().close();
            }
        };
        let again = close.clone();
        let builder = Client::builder("c", "1").on_elicit(move |_, _| {
            close();
            ElicitResult::decline()
        });
        let (client, mut server) = connect_with(builder, revision, &json!({"tools": {}}));
        *place.lock().unwrap() = Some(client.clone());
        let error = server.serve(
            || {
                client
                    .call_tool_with("t", &json!({}), CallOptions::new().on_progress(|_| again()))
                    .unwrap_err()
            },
            |server| {
                let request = server.asked("tools/call");
                let token = &request["params"]["_meta"]["progressToken"];
                server.notify(
                    "notifications/progress",
                    json!({"progressToken": token, "progress": 1}),
                );
            },
        );
        assert_eq!(error.kind(), ErrorKind::Closed, "{error}");
    }
    for revision in [LEGACY, MODERN] {
        let place: Arc<Mutex<Option<Client>>> = Arc::default();
        let taken = Arc::clone(&place);
        let builder = Client::builder("c", "1").on_elicit(move |_, _| {
            let client = taken.lock().unwrap().take();
            client.unwrap().close();
            ElicitResult::decline()
        });
        let (client, mut server) = connect_with(builder, revision, &json!({"tools": {}}));
        *place.lock().unwrap() = Some(client.clone());
        let error = server.serve(
            || client.call_tool("t", &json!({})).unwrap_err(),
            |server| {
                let request = server.asked("tools/call");
                let params = json!({"mode": "form", "message": "?", "requestedSchema": {"type": "object", "properties": {}}});
                if revision.is_modern() {
                    let ask = json!({"method": "elicitation/create", "params": params});
                    server.answer(&request, json!({"resultType": "input_required", "inputRequests": {"k": ask}}));
                } else {
                    server.send(&json!({"jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": params}));
                }
            },
        );
        assert_eq!(error.kind(), ErrorKind::Closed, "{error}");
    }
}

#[cfg(unix)] // The child is a shell.
#[test]
fn clients_of_one_principal_share_what_is_private() {
    let script = r#"read line; printf '%s\n' "$REPLY_WITH"; read line; printf '{"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","ttlMs":60000,"cacheScope":"private","tools":[]}}\n'; read line"#;
    let cache = ResponseCache::new(&Limits::default()).for_principal("alice");
    let mut hits = Vec::new();
    for version in ["1", "2"] {
        let child = Child::new("sh")
            .args(["-c", script])
            .env("REPLY_WITH", DISCOVER);
        let client = Client::builder("c", version)
            .revisions(&[MODERN])
            .cache(&cache)
            .connect(child)
            .unwrap();
        client.list_tools().unwrap();
        hits.push(client.stats().cache_hits);
        client.close();
    }
    assert_eq!(hits, [0, 1]);
}

#[test]
fn a_replayed_batch_refers_to_the_new_id() {
    let trace = r#"
{"t":0,"dir":"out","message":{"jsonrpc":"2.0","id":1,"method":"initialize"}}
{"t":1,"dir":"in","message":{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-03-26","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}}
{"t":2,"dir":"out","message":{"jsonrpc":"2.0","method":"notifications/initialized"}}
{"t":3,"dir":"out","message":{"jsonrpc":"2.0","id":40,"method":"tools/call"}}
{"t":4,"dir":"in","message":[{"jsonrpc":"2.0","id":40,"result":{"content":[]}}]}
"#;
    let replay = Replay::read(trace).unwrap();
    let client = Client::builder("c", "1")
        .revisions(&[ProtocolVersion::V2025_03_26])
        .connect(replay)
        .unwrap();
    client
        .call_tool_with(
            "t",
            &json!({}),
            CallOptions::new().timeout(Duration::from_secs(2)),
        )
        .unwrap();
}

#[test]
fn handles_may_be_dropped_in_any_order() {
    let (client, mut server) = connect(MODERN, &json!({"tools": {"listChanged": true}}));
    let filter = SubscriptionFilter::default().tools_list_changed(true);
    let place: Arc<Mutex<Option<mcplink::client::Subscription>>> = Arc::default();
    let taken = Arc::clone(&place);
    let (tell, told) = mpsc::channel();
    let subscription = server.serve(
        || client.subscribe(filter, move |event| { drop(taken.lock().unwrap().take()); _ = tell.send(event); }).unwrap(),
        |server| {
            let request = server.asked("subscriptions/listen");
            server.notify("notifications/subscriptions/acknowledged", json!({"_meta": {"io.modelcontextprotocol/subscriptionId": request["id"]}, "notifications": {"toolsListChanged": true}}));
        },
    );
    let pages = client.tool_pages(CallOptions::new());
    let task = client.task("x");
    *place.lock().unwrap() = Some(subscription);
    server.notify(
        "notifications/tools/list_changed",
        json!({"_meta": {"io.modelcontextprotocol/subscriptionId": 2}}),
    );
    assert_eq!(told.recv_timeout(LONG).unwrap(), Event::ToolsChanged);
    assert_eq!(server.receive()["method"], "notifications/cancelled");
    server.notify(
        "notifications/tools/list_changed",
        json!({"_meta": {"io.modelcontextprotocol/subscriptionId": 2}}),
    );
    assert!(told.recv_timeout(ms(200)).is_err());
    drop(client);
    drop(task);
    assert!(server.receive_within(ms(50)).is_none());
    drop(pages);
    assert!(server.next().is_none());
}

#[cfg(unix)] // The child is a shell.
#[test]
fn long_lines_come_in_pieces_that_are_whole_characters() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&seen);
    let file = std::env::temp_dir().join(format!("mcplink-long-line-{}", std::process::id()));
    std::fs::write(&file, format!("x{}\n", "ö".repeat(100_000))).unwrap();
    let script = r#"cat "$1" >&2; read line; printf '%s\n' "$REPLY_WITH"; read line"#;
    let child = Child::new("sh")
        .args(["-c", script, "sh"])
        .arg(&file)
        .env("REPLY_WITH", DISCOVER);
    let child = child.stderr(Stderr::lines(move |line| {
        told.lock().unwrap().push(line.to_owned())
    }));
    let client = Client::builder("c", "1")
        .revisions(&[MODERN])
        .connect(child)
        .unwrap();
    client.close();
    let seen = seen.lock().unwrap();
    let replaced = seen.concat().matches('\u{fffd}').count();
    std::fs::remove_file(&file).unwrap();
    assert_eq!(replaced, 0, "in {} pieces", seen.len());
}

#[test]
fn closing_during_a_restart_is_not_told() {
    let (tell, told) = mpsc::channel();
    let builder = Client::builder("c", "1")
        .on_connection_event(move |event| _ = tell.send(event.to_string()));
    let restart = Restart::new().first_delay(ms(1));
    let (client, mut server, servers) = restarting(builder, restart, MODERN);
    let filter = SubscriptionFilter::default().tools_list_changed(true);
    let _kept = server.serve(
        || client.subscribe(filter, |_| {}).unwrap(),
        |server| {
            let request = server.asked("subscriptions/listen");
            server.notify("notifications/subscriptions/acknowledged", json!({"_meta": {"io.modelcontextprotocol/subscriptionId": request["id"]}, "notifications": {"toolsListChanged": true}}));
        },
    );
    drop(server);
    assert!(told.recv_timeout(LONG).unwrap().contains("was lost"));
    let mut server = RawServer::open(servers.recv_timeout(LONG).unwrap());
    server.open_as(MODERN, &json!({"tools": {"listChanged": true}}));
    server.asked("subscriptions/listen");
    client.close();
    let next = told.recv_timeout(ms(500));
    assert!(next.is_err(), "told after close: {next:?}");
}

#[test]
fn an_answer_that_came_is_not_late() {
    let (client, mut server) = connect(MODERN, &json!({"tools": {}}));
    let result = server.serve(
        || {
            let slow = |_| thread::sleep(ms(700));
            let options = CallOptions::new().timeout(ms(400)).on_progress(slow);
            client.call_tool_with("t", &json!({}), options)
        },
        |server| {
            let request = server.asked("tools/call");
            let token = &request["params"]["_meta"]["progressToken"];
            server.notify(
                "notifications/progress",
                json!({"progressToken": token, "progress": 1}),
            );
            server.answer(&request, json!({"resultType": "complete", "content": []}));
        },
    );
    result.unwrap();
}

#[test]
fn progress_that_came_starts_the_time_anew() {
    let (client, mut server) = connect(MODERN, &json!({"tools": {}}));
    let result = server.serve(
        || {
            let slow = |_| thread::sleep(ms(500));
            let options = CallOptions::new().timeout(ms(400)).on_progress(slow);
            client.call_tool_with("t", &json!({}), options)
        },
        |server| {
            let request = server.asked("tools/call");
            let token = &request["params"]["_meta"]["progressToken"];
            for number in 1..10 {
                server.notify(
                    "notifications/progress",
                    json!({"progressToken": token, "progress": number}),
                );
                thread::sleep(ms(100));
            }
            server.answer(&request, json!({"resultType": "complete", "content": []}));
        },
    );
    result.unwrap();
}

fn relists(by_subscription: bool) {
    let validator = Validator::custom(|_| {
        Ok(|json: &str| match json.contains("text") {
            false => Ok(()),
            true => Err(Error::new(ErrorKind::Invalid, "no integer")),
        })
    });
    let place: Arc<Mutex<Option<Client>>> = Arc::default();
    let (tell, told) = mpsc::channel();
    let relist = {
        let place = Arc::clone(&place);
        move || {
            let client = place.lock().unwrap().take().unwrap();
            client.list_tools().unwrap();
            _ = tell.send(());
        }
    };
    let mut builder = Client::builder("c", "1").validator(validator);
    let again = relist.clone();
    if !by_subscription {
        builder = builder.on_notification("notifications/tools/list_changed", move |_, _| again());
    }
    let (client, mut server) =
        connect_with(builder, LEGACY, &json!({"tools": {"listChanged": true}}));
    *place.lock().unwrap() = Some(client.clone());
    let filter = SubscriptionFilter::default().tools_list_changed(true);
    let _kept = by_subscription.then(|| client.subscribe(filter, move |_| relist()).unwrap());
    server.notify("notifications/tools/list_changed", json!({}));
    let request = server.asked("tools/list");
    let tool =
        json!({"name": "t", "inputSchema": {"type": "object"}, "outputSchema": {"type": "object"}});
    server.answer(&request, json!({"tools": [tool]}));
    told.recv_timeout(LONG).unwrap();
    thread::sleep(ms(100));
    let result = server.serve(
        || client.call_tool("t", &json!({})),
        |server| {
            let request = server.asked("tools/call");
            server.answer(
                &request,
                json!({"content": [], "structuredContent": {"x": "text"}}),
            );
        },
    );
    assert!(result.is_err(), "not checked: {result:?}");
}

#[test]
fn a_schema_is_known_when_it_was_listed_after_a_change_by_a_handler() {
    relists(false);
}

#[test]
fn a_schema_is_known_when_it_was_listed_after_a_change_by_a_subscription() {
    relists(true);
}

#[test]
fn a_bypassing_answer_takes_the_place_of_the_older_one() {
    let builder = Client::builder("c", "1").on_elicit(|_, _| ElicitResult::decline());
    let (client, mut server) = connect_with(builder, MODERN, &json!({"resources": {}}));
    let contents = |text: &str| json!({"resultType": "complete", "ttlMs": 60000, "cacheScope": "private", "contents": [{"uri": "a:b", "text": text}]});
    server.serve(
        || client.read_resource("a:b").unwrap(),
        |server| {
            let request = server.asked("resources/read");
            server.answer(&request, contents("old"));
        },
    );
    server.serve(
        || client.read_resource_with("a:b", CallOptions::new().bypass_cache()).unwrap(),
        |server| {
            let request = server.asked("resources/read");
            let params = json!({"mode": "form", "message": "?", "requestedSchema": {"type": "object", "properties": {}}});
            let ask = json!({"method": "elicitation/create", "params": params});
            server.answer(&request, json!({"resultType": "input_required", "inputRequests": {"k": ask}}));
            let request = server.asked("resources/read");
            server.answer(&request, contents("new"));
        },
    );
    let (tell, told) = mpsc::channel();
    let reading = client.clone();
    thread::spawn(move || _ = tell.send(format!("{:?}", reading.read_resource("a:b"))));
    if let Some(request) = server.receive_within(ms(500)) {
        server.answer(&request, contents("newest"));
    }
    let seen = told.recv_timeout(LONG).unwrap();
    assert!(!seen.contains("old"), "{seen}");
}

fn ends_while_a_task_runs(end: impl FnOnce(&Client, RawServer)) {
    let capabilities = json!({"tools": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}});
    let (client, mut server) =
        connect_with(Client::builder("c", "1").tasks(), MODERN, &capabilities);
    let (tell, told) = mpsc::channel();
    let calling = client.clone();
    thread::spawn(move || _ = tell.send(calling.call_tool("t", &json!({})).map(drop)));
    let request = server.asked("tools/call");
    server.answer(&request, task(3_600_000));
    end(&client, server);
    let outcome = told.recv_timeout(LONG).unwrap();
    assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Closed);
}

#[test]
fn waiting_for_a_task_ends_when_the_client_closes() {
    ends_while_a_task_runs(|client, _server| client.close());
}

#[test]
fn waiting_for_a_task_ends_when_the_server_leaves() {
    ends_while_a_task_runs(|_, server| drop(server));
}

#[cfg(feature = "http-client")]
#[test]
fn an_answer_over_http_that_came_is_not_late() {
    use crate::stub::{Stub, progress, text};
    let stub = Stub::modern(|seen, out| {
        out.stream();
        for done in 1..5 {
            out.event(&progress(seen, done));
            thread::sleep(ms(100));
        }
        out.event_result(seen, text("done"));
        out.end();
    });
    let client = stub.connect();
    let slow = |_| thread::sleep(ms(600));
    let options = CallOptions::new().timeout(ms(400)).on_progress(slow);
    client.call_tool_with("t", &json!({}), options).unwrap();
}

#[cfg(unix)] // The child is a shell.
#[test]
fn children_that_can_not_be_started() {
    let kind = |child: Child| Client::connect(child).unwrap_err().kind();
    assert_eq!(kind(Child::new("")), ErrorKind::Spawn);
    assert_eq!(
        kind(Child::new("no-such-program-anywhere")),
        ErrorKind::Spawn
    );
    assert_eq!(
        kind(Child::new("sh").current_dir("/no/such/place")),
        ErrorKind::Spawn
    );
    assert_eq!(kind(Child::new("/tmp")), ErrorKind::Spawn);
    assert_eq!(kind(Child::new("sh").arg("a\0b")), ErrorKind::Invalid);
    assert_eq!(kind(Child::new("sh").env("A", "a\0b")), ErrorKind::Invalid);
    assert_eq!(kind(Child::new("sh").env("A\0", "b")), ErrorKind::Invalid);
    assert_eq!(
        kind(Child::new("sh").env("PATH", "/no/such/place")),
        ErrorKind::Spawn
    );
}

#[cfg(unix)] // The child is a shell.
#[test]
fn a_taker_of_lines_may_close_the_client() {
    let place: Arc<Mutex<Option<Client>>> = Arc::default();
    let taken = Arc::clone(&place);
    let (tell, told) = mpsc::channel();
    let script = r#"read line; printf '%s\n' "$REPLY_WITH"; read line; echo now >&2; read line"#;
    let child = Child::new("sh")
        .args(["-c", script])
        .env("REPLY_WITH", DISCOVER);
    let child = child.stderr(Stderr::lines(move |_| {
        let client = taken.lock().unwrap().take().unwrap();
        client.close();
        drop(client);
        _ = tell.send(());
    }));
    let client = Client::builder("c", "1")
        .revisions(&[MODERN])
        .connect(child)
        .unwrap();
    *place.lock().unwrap() = Some(client.clone());
    let error = client.call_tool("t", &json!({})).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Closed, "{error}");
    told.recv_timeout(LONG).unwrap();
    client.close();
}

#[test]
fn one_token_ends_many_calls() {
    let (client, mut server) = connect(MODERN, &json!({"tools": {"listChanged": true}}));
    let token = CancelToken::new();
    let calls: Vec<_> = (0..8)
        .map(|number| {
            let (client, token) = (client.clone(), token.clone());
            thread::spawn(move || {
                let trigger = token.clone();
                let options = CallOptions::new()
                    .timeout(LONG)
                    .cancel_with(&token)
                    .on_progress(move |_| {
                        if number == 3 {
                            trigger.trigger_because("enough");
                        }
                    });
                client
                    .call_tool_with("t", &json!({}), options)
                    .map(drop)
                    .unwrap_err()
                    .kind()
            })
        })
        .collect();
    let requests: Vec<Value> = (0..8).map(|_| server.asked("tools/call")).collect();
    for request in &requests {
        server.notify(
            "notifications/progress",
            json!({"progressToken": request["params"]["_meta"]["progressToken"], "progress": 1}),
        );
    }
    for _ in 0..8 {
        let told = server.asked("notifications/cancelled");
        assert_eq!(told["params"]["reason"], "enough");
    }
    for call in calls {
        assert_eq!(call.join().unwrap(), ErrorKind::Cancelled);
    }
}
