//! Started calls over HTTP: no thread waits for any of them, whatever the server does meanwhile.
//!
//! With MCPLINK_TEST_STARTED set, the tests of the other files make most of their calls in this
//! way, too: see `stub::call_with`.

use std::io::Cursor;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use mcplink::client::{CallEvent, CallOptions, Client, Event, PendingCall};
use mcplink::protocol::CancelToken;
use mcplink::schema::{CallToolResult, SubscriptionFilter};
use mcplink::transport::Threads;
use mcplink::transport::http::{HttpClient, HttpClientRequest, HttpClientResponse};
use mcplink::{ErrorKind, Result};
use serde_json::{Value, json};

use crate::common::{LONG, wait_until};
use crate::stub::{Out, Seen, Stub, asker, initialized, progress, text};

const REVISION: &str = "2025-11-25";
/// More calls than the threads that a client may need.
const MANY: usize = 200;
/// A bound for the threads of a client that run at once. It needs 16 that send, and those of the
/// connection.
const FEW: usize = MANY / 4;

/// Counts the threads of a client: those that run, and the most that ever ran at once.
#[derive(Clone, Default)]
struct Counted {
    most: Arc<AtomicUsize>,
    running: Arc<AtomicUsize>,
}

impl Counted {
    fn threads(&self) -> Threads {
        let (starting, stopping) = (self.clone(), self.clone());
        Threads::new()
            .on_start(move |_| {
                let running = starting.running.fetch_add(1, Ordering::SeqCst) + 1;
                starting.most.fetch_max(running, Ordering::SeqCst);
            })
            .on_stop(move |_| _ = stopping.running.fetch_sub(1, Ordering::SeqCst))
    }

    fn most(&self) -> usize {
        self.most.load(Ordering::SeqCst)
    }

    fn running(&self) -> usize {
        self.running.load(Ordering::SeqCst)
    }
}

fn start(client: &Client) -> PendingCall<CallToolResult> {
    start_with(client, CallOptions::new())
}

fn start_with(client: &Client, options: CallOptions<'_>) -> PendingCall<CallToolResult> {
    client.start_tool("x", &json!({}), options).unwrap()
}

fn said(result: Result<CallToolResult>) -> String {
    result.unwrap().content[0].as_text().unwrap().to_owned()
}

/// A server whose tool calls are answered by the test.
fn held(start: impl Fn(Box<Held>) -> Stub) -> (Stub, mpsc::Receiver<(Seen, Out)>) {
    let (kept, calls) = mpsc::channel();
    let kept = Mutex::new(kept);
    let stub = start(Box::new(move |seen, out| match &*seen.asks() {
        "tools/call" => kept
            .lock()
            .unwrap()
            .send((seen.clone(), out.keep()))
            .unwrap(),
        _ if seen.method == "GET" => out.respond("405 Method Not Allowed", &[], ""),
        _ => out.accept(),
    }));
    (stub, calls)
}

type Held = dyn Fn(&Seen, &mut Out) + Send + Sync;

fn modern() -> (Stub, mpsc::Receiver<(Seen, Out)>) {
    held(Stub::modern)
}

fn legacy() -> (Stub, mpsc::Receiver<(Seen, Out)>) {
    held(|answer| Stub::legacy(REVISION, answer))
}

fn take<T>(receiver: &mpsc::Receiver<T>) -> T {
    receiver.recv_timeout(LONG).expect("it comes in time")
}

/// The field of an answer after which a connection is not used again.
const LAST: [(&str, &str); 1] = [("connection", "close")];

/// The answer to a call.
fn answer(seen: &Seen, out: &mut Out, said: &str) {
    out.json_with(
        &LAST,
        &json!({ "jsonrpc": "2.0", "id": seen.id(), "result": text(said) }),
    );
    out.cut();
}

#[test]
fn many_calls_in_flight_need_few_threads() {
    for (stub, calls) in [modern(), legacy()] {
        let counted = Counted::default();
        let client = stub.connect_as(asker().threads(&counted.threads()));
        let client = client.unwrap();
        let pending: Vec<_> = (0..MANY).map(|_| start(&client)).collect();
        let (streams, rest): (Vec<_>, Vec<_>) = pending
            .into_iter()
            .partition(|call| call.id().expect("a number") % 2 == 0);
        let mut held: Vec<_> = (0..MANY).map(|_| take(&calls)).collect();
        let is_stream = |seen: &Seen| seen.id().as_i64().unwrap() % 2 == 0;
        for (seen, out) in held.iter_mut().filter(|(seen, _)| is_stream(seen)) {
            out.stream_with(&LAST);
            out.event(&progress(seen, 1));
        }
        // The streams are open, and no thread waits for their ends.
        let mut streams: Vec<_> = streams.into_iter().collect();
        for call in &mut streams {
            let event = call.events().recv_timeout(LONG);
            assert!(matches!(event, Ok(CallEvent::Progress(_))), "{event:?}");
        }
        for (seen, out) in &mut held {
            if is_stream(seen) {
                out.event_result(seen, text("stream"));
                out.end();
                out.cut();
            } else {
                answer(seen, out, "json");
            }
        }
        for call in streams {
            assert_eq!(said(call.wait()), "stream");
        }
        for call in rest {
            assert_eq!(said(call.wait()), "json");
        }
        assert!(counted.most() <= FEW, "{} threads", counted.most());
        client.close();
        wait_until("all threads have ended", || counted.running() == 0);
    }
}

#[test]
fn an_answer_may_come_in_any_pieces() {
    let (stub, calls) = modern();
    let client = stub.connect();
    let mut call = start(&client);
    let (seen, mut out) = take(&calls);
    // A call that follows ends only after the pieces before were read.
    let other = |client: &Client| {
        let other = start(client);
        let (seen, mut out) = take(&calls);
        answer(&seen, &mut out, "other");
        assert_eq!(said(other.wait()), "other");
    };
    let body =
        json!({ "jsonrpc": "2.0", "id": seen.id(), "result": text("ä".repeat(300).as_str()) });
    let body = body.to_string();
    let head = format!(
        "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    for piece in [
        &head[..9],
        &head[9..40],
        &head[40..],
        &body[..1],
        &body[1..],
    ] {
        assert!(call.try_take().is_none());
        other(&client);
        out.raw(piece);
    }
    out.cut();
    assert_eq!(said(call.wait()), "ä".repeat(300));
    // A stream: the sizes of the chunks, the lines and the messages are cut anywhere.
    let mut call = start(&client);
    let (seen, mut out) = take(&calls);
    out.stream_with(&LAST);
    let result = json!({ "jsonrpc": "2.0", "id": seen.id(), "result": text("done") });
    let lines = format!("data: {}\n\ndata: {result}\n\n", progress(&seen, 7));
    let chunk = format!("{:x}\r\n{lines}\r\n0\r\n\r\n", lines.len());
    let events = call.events().clone();
    for piece in [&chunk[..1], &chunk[1..9], &chunk[9..60]] {
        out.raw(piece);
        other(&client);
    }
    out.raw(&chunk[60..]);
    let event = events.recv_timeout(LONG).unwrap();
    assert!(matches!(event, CallEvent::Progress(step) if step.progress == 7.0));
    assert_eq!(events.recv_timeout(LONG), Ok(CallEvent::Done));
    assert_eq!(said(call.try_take().unwrap()), "done");
}

#[test]
fn a_call_that_ends_early_closes_its_connection() {
    type Ends = fn(PendingCall<CallToolResult>, &CancelToken) -> Option<ErrorKind>;
    let ways: [Ends; 4] = [
        |mut call, _| {
            call.cancel();
            Some(call.wait().unwrap_err().kind())
        },
        |call, token| {
            token.cancel();
            Some(call.wait().unwrap_err().kind())
        },
        |call, _| {
            drop(call);
            None
        },
        |call, _| Some(call.wait().unwrap_err().kind()),
    ];
    for (index, ends) in ways.into_iter().enumerate() {
        for is_legacy in [false, true] {
            let (stub, calls) = if is_legacy { legacy() } else { modern() };
            let client = stub.connect();
            let token = CancelToken::new();
            let span = if index == 3 {
                Duration::from_millis(50)
            } else {
                LONG
            };
            let options = CallOptions::new().cancel_with(&token).timeout(span);
            let call = start_with(&client, options);
            let (_, mut out) = take(&calls);
            if index % 2 == 0 {
                out.stream_with(&LAST);
            }
            let kind = ends(call, &token);
            let expected = [
                Some(ErrorKind::Cancelled),
                Some(ErrorKind::Cancelled),
                None,
                Some(ErrorKind::Timeout),
            ];
            assert_eq!(kind, expected[index]);
            out.expect_close();
            // M-CANC-C-06: ending the exchange says it all in the modern era.
            let notices = || stub.seen_asking("notifications/cancelled").len();
            if is_legacy {
                wait_until("the server is notified", || notices() == 1);
            }
            client.close();
            assert_eq!(notices(), usize::from(is_legacy));
        }
    }
}

#[test]
fn closing_the_client_ends_the_calls() {
    for (stub, calls) in [modern(), legacy()] {
        let counted = Counted::default();
        let client = stub
            .connect_as(asker().threads(&counted.threads()))
            .unwrap();
        let pending: Vec<_> = (0..40).map(|_| start(&client)).collect();
        let mut held: Vec<_> = (0..40).map(|_| take(&calls)).collect();
        for (_, out) in held.iter_mut().step_by(2) {
            out.stream_with(&LAST);
        }
        client.close();
        for call in pending {
            assert_eq!(call.wait().unwrap_err().kind(), ErrorKind::Closed);
        }
        for (_, out) in &mut held {
            out.expect_close();
        }
        wait_until("all threads have ended", || counted.running() == 0);
    }
}

#[test]
fn a_lost_connection_fails_its_call_only() {
    let (stub, calls) = modern();
    let client = stub.connect();
    let (first, second) = (start(&client), start(&client));
    let mut held = [take(&calls), take(&calls)];
    held.sort_by_key(|(seen, _)| seen.id().as_i64());
    let [(_, lost), (seen, out)] = &mut held;
    lost.cut();
    let error = first.wait().unwrap_err();
    assert_eq!((error.kind(), error.was_sent()), (ErrorKind::Closed, true));
    answer(seen, out, "done");
    assert_eq!(said(second.wait()), "done");
}

#[test]
fn a_stream_without_a_pause_does_not_delay_other_calls() {
    let (stub, calls) = modern();
    let client = stub.connect();
    let flooded = start(&client);
    let (seen, mut out) = take(&calls);
    let is_over = Arc::new(AtomicBool::new(false));
    let (stops, step) = (Arc::clone(&is_over), progress(&seen, 1));
    let flood = thread::spawn(move || {
        out.stream_with(&LAST);
        let steps = format!("data: {step}\n\n").repeat(500);
        while !stops.load(Ordering::SeqCst) {
            out.piece(&steps);
        }
        out.event_result(&seen, text("flooded"));
        out.end();
        out.cut();
    });
    for _ in 0..20 {
        let other = start(&client);
        let (seen, mut out) = take(&calls);
        answer(&seen, &mut out, "other");
        assert_eq!(said(other.wait()), "other");
    }
    is_over.store(true, Ordering::SeqCst);
    assert_eq!(said(flooded.wait()), "flooded");
    flood.join().unwrap();
}

// L-HTTP-C-15
#[test]
fn a_broken_stream_is_resumed_without_a_thread() {
    let (kept, resumed) = mpsc::channel();
    let kept = Mutex::new(kept);
    let stub = Stub::legacy(REVISION, move |seen, out| match &*seen.asks() {
        "tools/call" => {
            out.stream_with(&LAST);
            out.piece(&format!("id: {}\nretry: 20\ndata:\n\n", seen.id()));
            out.cut();
        }
        _ if seen.header("last-event-id").is_some() => {
            let kept = kept.lock().unwrap();
            kept.send((seen.clone(), out.keep())).unwrap();
        }
        _ if seen.method == "GET" => out.respond("405 Method Not Allowed", &[], ""),
        _ => out.accept(),
    });
    let counted = Counted::default();
    let client = stub
        .connect_as(asker().threads(&counted.threads()))
        .unwrap();
    let pending: Vec<_> = (0..MANY).map(|_| start(&client)).collect();
    let mut held: Vec<_> = (0..MANY).map(|_| take(&resumed)).collect();
    for (seen, out) in &mut held {
        let id: i64 = seen.header("last-event-id").unwrap().parse().unwrap();
        out.stream_with(&LAST);
        out.event(&json!({ "jsonrpc": "2.0", "id": id, "result": text("resumed") }));
        out.end();
        out.cut();
    }
    for call in pending {
        assert_eq!(said(call.wait()), "resumed");
    }
    assert!(counted.most() <= FEW, "{} threads", counted.most());
    // A call that waits for its next attempt is cancelled at once.
    drop(held);
    let stub = Stub::legacy(REVISION, move |seen, out| match &*seen.asks() {
        "tools/call" => {
            out.stream_with(&LAST);
            out.piece("id: e\nretry: 3600000\ndata:\n\n");
            out.event(&progress(seen, 1));
            out.cut();
        }
        _ if seen.method == "GET" => out.respond("405 Method Not Allowed", &[], ""),
        _ => out.accept(),
    });
    let client = stub.connect();
    let mut call = start(&client);
    assert!(call.events().recv_timeout(LONG).is_ok());
    call.cancel();
    assert_eq!(call.wait().unwrap_err().kind(), ErrorKind::Cancelled);
}

#[test]
fn calls_that_block_their_threads_do_not_delay_others() {
    // The function that returns the token blocks for the first calls.
    const BLOCKED: usize = 20;
    let (stub, calls) = modern();
    let (asked, gate) = (
        Arc::new(AtomicUsize::new(0)),
        Arc::new(Barrier::new(BLOCKED + 1)),
    );
    let (counting, waiting) = (Arc::clone(&asked), Arc::clone(&gate));
    let begun = Arc::new(AtomicUsize::new(usize::MAX));
    let from = Arc::clone(&begun);
    let http = stub.http().bearer_with(move || {
        let number = counting.fetch_add(1, Ordering::SeqCst);
        let first = from.load(Ordering::SeqCst);
        if (first..first.saturating_add(BLOCKED)).contains(&number) {
            waiting.wait();
        }
        Ok("token".to_owned())
    });
    let client = asker().connect(http).unwrap();
    begun.store(asked.load(Ordering::SeqCst), Ordering::SeqCst);
    let blocked: Vec<_> = (0..BLOCKED).map(|_| start(&client)).collect();
    wait_until("the calls are blocked", || {
        asked.load(Ordering::SeqCst) == begun.load(Ordering::SeqCst) + BLOCKED
    });
    let free = start(&client);
    let (seen, mut out) = take(&calls);
    answer(&seen, &mut out, "free");
    assert_eq!(said(free.wait()), "free");
    gate.wait();
    for _ in 0..BLOCKED {
        let (seen, mut out) = take(&calls);
        answer(&seen, &mut out, "blocked");
    }
    for call in blocked {
        assert_eq!(said(call.wait()), "blocked");
    }
}

/// An HTTP client of the host that answers calls only when many are under way.
struct Together(Barrier);

impl HttpClient for Together {
    fn send(&self, request: &HttpClientRequest<'_>) -> Result<HttpClientResponse> {
        let body: Value = serde_json::from_slice(request.body()).unwrap();
        let result = match body["method"].as_str().unwrap() {
            "tools/call" => {
                self.0.wait();
                text("done")
            }
            _ => crate::stub::discovered(),
        };
        let text = json!({ "jsonrpc": "2.0", "id": body["id"], "result": result }).to_string();
        let response = HttpClientResponse::new(200, Cursor::new(text));
        response.header("content-type", "application/json")
    }
}

#[test]
fn each_call_by_a_client_of_the_host_has_a_thread() {
    const CALLS: usize = 40;
    let client = mcplink::transport::http::Http::new("http://a.test/mcp").unwrap();
    let client = client.http_client(Together(Barrier::new(CALLS)));
    let client = asker().connect(client).unwrap();
    let pending: Vec<_> = (0..CALLS).map(|_| start(&client)).collect();
    for call in pending {
        assert_eq!(said(call.wait()), "done");
    }
}

#[test]
fn calls_of_the_oldest_transport_keep_their_limits() {
    let (kept, streams) = mpsc::channel();
    let kept = Mutex::new(kept);
    let stub = Stub::start(move |seen, out| match (&*seen.method, &*seen.asks()) {
        ("GET", _) => {
            out.stream_with(&LAST);
            out.piece("event: endpoint\ndata: /post\n\n");
            kept.lock().unwrap().send(out.keep()).unwrap();
        }
        ("POST", _) if seen.target == "/post" => out.accept(),
        _ => out.respond("405 Method Not Allowed", &[], ""),
    });
    let (sent, client) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(|| sent.send(stub.connect()).unwrap());
        let mut stream = take(&streams);
        let posted = || {
            let mut seen = stub.seen_asking("initialize");
            seen.retain(|seen| seen.target == "/post");
            seen
        };
        wait_until("the client asks", || !posted().is_empty());
        let id = posted()[0].id();
        stream.event(&json!({ "jsonrpc": "2.0", "id": id, "result": initialized("2024-11-05") }));
        let client = take(&client);
        let timeout = CallOptions::new().timeout(Duration::from_millis(50));
        let error = start_with(&client, timeout).wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Timeout);
        let mut call = start(&client);
        let calls = || stub.seen_asking("tools/call");
        wait_until("the call is posted", || calls().len() == 2);
        call.cancel();
        assert_eq!(call.wait().unwrap_err().kind(), ErrorKind::Cancelled);
        let call = start(&client);
        wait_until("the call is posted", || calls().len() == 3);
        let id = calls().last().unwrap().id();
        stream.event(&json!({ "jsonrpc": "2.0", "id": id, "result": text("done") }));
        assert_eq!(said(call.wait()), "done");
        wait_until("the server is notified", || {
            stub.seen_asking("notifications/cancelled").len() == 2
        });
        stream.cut();
    });
}

#[test]
fn subscriptions_need_few_threads() {
    const SUBSCRIPTIONS: usize = 40;
    let (kept, streams) = mpsc::channel();
    let kept = Mutex::new(kept);
    let stub = Stub::modern(move |seen, out| {
        let told = subscribed(seen, "notifications/subscriptions/acknowledged");
        out.stream_with(&LAST);
        out.event(&told);
        let kept = kept.lock().unwrap();
        kept.send((seen.clone(), out.keep())).unwrap();
    });
    let counted = Counted::default();
    let client = stub
        .connect_as(asker().threads(&counted.threads()))
        .unwrap();
    let (told, events) = mpsc::channel();
    let subscriptions: Vec<_> = (0..SUBSCRIPTIONS)
        .map(|_| {
            let told = told.clone();
            let filter = SubscriptionFilter::default().tools_list_changed(true);
            client
                .subscribe(filter, move |event| _ = told.send(event))
                .unwrap()
        })
        .collect();
    let mut streams: Vec<_> = (0..SUBSCRIPTIONS).map(|_| take(&streams)).collect();
    for (seen, out) in &mut streams {
        out.event(&subscribed(seen, "notifications/tools/list_changed"));
    }
    for _ in 0..SUBSCRIPTIONS {
        assert_eq!(take(&events), Event::ToolsChanged);
    }
    assert!(counted.most() <= FEW, "{} threads", counted.most());
    drop(subscriptions);
    for (_, out) in &mut streams {
        out.expect_close();
    }
}

/// A notification on the stream of a subscription.
fn subscribed(seen: &Seen, method: &str) -> Value {
    let filter = seen.body()["params"]["notifications"].clone();
    let meta = json!({ "io.modelcontextprotocol/subscriptionId": seen.id() });
    let params = json!({ "_meta": meta, "notifications": filter });
    json!({ "jsonrpc": "2.0", "method": method, "params": params })
}
