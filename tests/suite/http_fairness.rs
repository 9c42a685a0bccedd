//! Promise 11, one test for each table: a greedy client takes as much as it can, as fast as it can,
//! and every call of an ordinary client is still answered.
//!
//! Each test fills one table. The greedy client continues until the ordinary client has made all of
//! its calls. Clients differ by address (127.0.0.1 is the greedy client) or by principal.

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Instant;

use mcplink::schema::{
    ElicitRequestParams, ElicitSchema, JsonSchema, ProtocolVersion, TaskSupport, Tool,
};
use mcplink::server::http::{Denied, HttpOptions};
use mcplink::server::{
    Context, HandlerError, MemoryStateStore, Principal, Server, ServerBuilder, TaskOptions,
    ToolCall,
};
use mcplink::transport::Limits;
use serde_json::{Value, json};

use crate::common::{LONG, wait_until};
use crate::http_shares::{Raw, from};
use crate::listening::{limits, listen_to_all, listen_with, say, service};
use crate::tasks_server::tool;
use crate::web::{Answer, LegacySession, Web};

/// The number of calls of the ordinary client, without and with the greedy one.
const CALLS: usize = 8;

/// The greedy client, as the ordinary one sees it.
#[derive(Default)]
struct Rival {
    is_there: AtomicBool,
    is_over: AtomicBool,
    steps: AtomicUsize,
}

impl Rival {
    /// Lets the greedy client take so many more steps, if it is there.
    fn goes_on(&self, steps: usize) {
        let before = self.steps.load(Ordering::SeqCst);
        wait_until("the greedy client goes on", || {
            let now = self.steps.load(Ordering::SeqCst);
            !self.is_there.load(Ordering::SeqCst) || now >= before + steps
        });
    }
}

/// Ends the greedy client, also when a call of the ordinary one has failed.
struct End<'r>(&'r Rival);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::SeqCst);
    }
}

/// Runs the calls of an ordinary client, first alone, then beside a greedy client that has filled
/// the table and repeats its step until they are done. Each call has to succeed in its time.
fn compete(
    mut ordinary: impl FnMut(&Rival),
    mut greedy: impl FnMut() + Send,
    is_full: impl Fn() -> bool,
) {
    let rival = Rival::default();
    let mut calls = || {
        for _ in 0..CALLS {
            rival.goes_on(1);
            ordinary(&rival);
        }
    };
    calls();
    rival.is_there.store(true, Ordering::SeqCst);
    thread::scope(|scope| {
        let end = End(&rival);
        let greedy = scope.spawn(|| {
            while !rival.is_over.load(Ordering::SeqCst) {
                greedy();
                rival.steps.fetch_add(1, Ordering::SeqCst);
            }
        });
        wait_until("the table is full", || greedy.is_finished() || is_full());
        calls();
        drop(end);
        greedy.join().unwrap();
    });
}

fn count(counter: &AtomicUsize) -> usize {
    counter.load(Ordering::SeqCst)
}

/// Has principals told by the names in their requests.
fn by_name() -> HttpOptions {
    HttpOptions::new().authenticate(|request| match request.value("X-Name") {
        Some(name) => Ok(Principal::new(String::from_utf8_lossy(name).into_owned())),
        None => Err(Denied::invalid_token("say who you are")),
    })
}

fn echo() -> ServerBuilder {
    Server::builder("s", "1").tool_with(Tool::new("echo"), |_: Value, _: &Context| "echo")
}

fn call(tool: &str) -> Value {
    json!({ "name": tool, "arguments": {} })
}

#[test]
fn connections() {
    let listener = listen_with(
        limits(|limits| limits.max_connections = 48),
        service(|request, response| say(&request, response)),
    );
    let mut kept = from(2, &listener);
    let mut open = VecDeque::new();
    compete(
        |rival| {
            let mut fresh = from(2, &listener);
            fresh.expect_service();
            rival.goes_on(60);
            kept.expect_service();
            fresh.expect_service();
        },
        || {
            let mut client = from(1, &listener);
            if open.len() % 2 == 0 {
                // It may have been displaced already.
                _ = std::io::Write::write(&mut client.stream, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n");
            }
            open.push_back(client);
            if open.len() > 100 {
                open.pop_front();
            }
        },
        || listener.stats().displaced_connections > 0,
    );
}

#[test]
fn workers() {
    let (listener, gate, _kept) = listen_to_all(limits(|limits| {
        limits.max_workers = 4;
        limits.max_waiting = 16;
    }));
    let mut clients = VecDeque::new();
    compete(
        |_| from(2, &listener).expect_service(),
        || {
            let mut client = from(1, &listener);
            client.get("/block");
            clients.push_back(client);
            // A call goes on although its client has gone.
            if clients.len() > 100 {
                clients.pop_front();
            }
        },
        || listener.stats().waiting >= 16,
    );
    assert!(listener.stats().waiting > 0, "the others still wait");
    gate.open();
}

#[test]
fn sessions() {
    let http = echo()
        .build()
        .unwrap()
        .listen_http("0", HttpOptions::new().max_sessions(8))
        .unwrap();
    let mut kept = Raw::from(2, &http, "");
    assert_eq!(kept.initialize(), 200);
    let mut greedy = Raw::from(1, &http, "");
    compete(
        |rival| {
            let mut fresh = Raw::from(2, &http, "");
            assert_eq!(fresh.initialize(), 200);
            rival.goes_on(20);
            assert_eq!((kept.call("echo"), fresh.call("echo")), echoes());
            // It has no more than two of them.
            let fields = &fresh.fields;
            let delete = format!("DELETE /mcp HTTP/1.1\r\nHost: localhost\r\n{fields}\r\n");
            fresh.client.send(delete);
            assert_eq!(fresh.client.receive().status, 200);
        },
        || {
            greedy.fields.clear();
            assert_eq!(greedy.initialize(), 200);
        },
        || http.stats().displaced_sessions > 20,
    );
    assert!(http.sessions() <= 8, "{}", http.sessions());
}

fn echoes() -> (String, String) {
    ("echo".into(), "echo".into())
}

#[test]
fn finished_tasks() {
    let options = TaskOptions::default().max_tasks(NonZeroUsize::new(16).unwrap());
    let server = echo().tasks(options).tool_with(
        tool("quick", TaskSupport::Required),
        |_: Value, _: &Context| "quick",
    );
    let server = server.build().unwrap();
    let http = server.listen_http("0", HttpOptions::new()).unwrap();
    let ask = |last, method, params| Raw::modern(last, &http, method, params).result();
    let finish = |last| {
        let id = ask(last, "tools/call", call("quick"))["taskId"].clone();
        let get = || ask(last, "tasks/get", json!({ "taskId": id }));
        wait_until("it has run", || get()["status"] == "completed");
        id
    };
    let finished = AtomicUsize::new(0);
    compete(
        |rival| {
            let id = finish(2);
            rival.goes_on(20);
            let task = ask(2, "tasks/get", json!({ "taskId": id }));
            assert_eq!(task["result"]["content"][0]["text"], "quick");
        },
        || {
            finish(1);
            finished.fetch_add(1, Ordering::SeqCst);
        },
        || count(&finished) > 16,
    );
}

#[cfg(feature = "jwt")]
#[test]
fn dpop_proofs() {
    use crate::auth_dpop::{Holder, guarded};
    use crate::auth_jwt::now;

    let web = guarded(32);
    let [ordinary, greedy] = ["bob", "eve"].map(Holder::of);
    let proofs = AtomicUsize::new(0);
    compete(
        |rival| {
            let proof = ordinary.proof(json!({}), json!({}));
            rival.goes_on(40);
            assert_eq!(ordinary.call(&web, &proof).status(), 200);
        },
        || {
            // Of the latest time that is allowed: nothing that others present is newer.
            let proof = greedy.proof(json!({}), json!({ "iat": now() + 280 }));
            greedy.call(&web, &proof).head();
            proofs.fetch_add(1, Ordering::SeqCst);
        },
        || count(&proofs) > 64,
    );
}

/// A server that asks before it is done, and the calls of one principal of the modern era.
fn asking(server: ServerBuilder) -> ServerBuilder {
    server.tool_with(
        Tool::new("ask").input_schema(JsonSchema::any_object()),
        |_: Value, context: &Context| {
            let schema = ElicitSchema::default().to_schema()?;
            context.elicit("name", ElicitRequestParams::form("Name?", schema))?;
            Ok::<_, HandlerError>("done")
        },
    )
}

#[test]
fn states_that_were_presented() {
    // A client that comes late gets half of the reserve at most, and presents this many states.
    let states = 2 * CALLS;
    let store = MemoryStateStore::new(NonZeroUsize::new(24 * states).unwrap());
    let server = asking(Server::builder("s", "1")).state_store(store);
    let web = Web::with(&server.build().unwrap(), by_name());
    let present = |who: &str| {
        let ask = |params| {
            let able = json!({ "elicitation": {} });
            web.modern_as("tools/call", params, able, &[("X-Name", who)])
        };
        let asked = ask(call("ask")).result();
        let mut again = call("ask");
        again["requestState"] = asked["requestState"].clone();
        again["inputResponses"] = json!({ "name": { "action": "accept", "content": {} } });
        ask(again).message()
    };
    let refused = AtomicUsize::new(0);
    compete(
        |_| {
            let answer = present("ordinary");
            assert_eq!(answer["result"]["content"][0]["text"], "done", "{answer}");
        },
        || {
            let answer = present("greedy");
            refused.fetch_add(usize::from(answer.get("error").is_some()), Ordering::SeqCst);
        },
        || count(&refused) > 8,
    );
}

/// A session of a principal that can be asked.
fn session<'w>(web: &'w Web, who: &str) -> LegacySession<'w> {
    let able = json!({ "elicitation": {} });
    web.session_with(ProtocolVersion::V2025_06_18, able, &[("X-Name", who)])
}

/// The events of one call, of which its client has seen the first one.
#[test]
fn kept_events() {
    let server = Server::builder("s", "1").tool_with(
        Tool::new("say").input_schema(JsonSchema::any_object()),
        |args: Value, context: &Context| {
            context.progress(1.0, None, None);
            "x".repeat(usize::try_from(args["bytes"].as_u64().unwrap_or_default()).unwrap())
        },
    );
    let options = by_name().max_kept_bytes(32 << 10);
    let web = Web::with(&server.build().unwrap(), options);
    let mark = |session: &LegacySession<'_>, bytes: usize| {
        let params = json!({
            "name": "say", "arguments": { "bytes": bytes }, "_meta": { "progressToken": 5 },
        });
        let answer = session.request("tools/call", params);
        let first = answer.event().expect("progress");
        assert_eq!(answer.messages().len(), 1);
        first.id.expect("an id")
    };
    let ordinary = session(&web, "ordinary");
    let greedy = session(&web, "greedy");
    let calls = AtomicUsize::new(0);
    compete(
        |rival| {
            let mark = mark(&ordinary, 100);
            rival.goes_on(20);
            assert_eq!(ordinary.get(Some(&mark)).messages().len(), 1);
        },
        || {
            mark(&greedy, 3000);
            calls.fetch_add(1, Ordering::SeqCst);
        },
        || count(&calls) > 20,
    );
}

#[test]
fn subscriptions() {
    let server = echo().build().unwrap();
    let options = HttpOptions::new().max_streams(32);
    let http = server.listen_http("0", options).unwrap();
    let (mut open, refused) = (Vec::new(), AtomicUsize::new(0));
    let mut names = (0..).map(|number| format!("new{number}"));
    compete(
        |_| {
            // The place of its last stream is free when the server has seen that stream's end.
            let mut stream = None;
            wait_until("it has a place", || {
                stream = Raw::subscribe(2, &http);
                stream.is_some()
            });
            server
                .add_tool(Tool::new(names.next().unwrap()), |_: Value, _: &Context| "")
                .unwrap();
            let mut stream = stream.expect("a stream");
            stream.hear("notifications/tools/list_changed");
        },
        || match Raw::subscribe(1, &http) {
            Some(stream) => open.push(stream),
            None => _ = refused.fetch_add(1, Ordering::SeqCst),
        },
        || count(&refused) > 8,
    );
}

#[test]
fn waiting_questions() {
    let mut limits = Limits::default();
    limits.max_workers = 1;
    let server = asking(Server::builder("s", "1")).limits(limits);
    let web = Web::with(&server.build().unwrap(), by_name());
    let ask = |session: &LegacySession<'_>, pad: usize| {
        let params = json!({ "name": "ask", "arguments": { "pad": "x".repeat(pad) } });
        session.request("tools/call", params)
    };
    // The question on the stream of the call; a refusal is no stream.
    let question = |answer: &Answer| {
        let head = answer.head();
        let is_stream = crate::web::field(&head, "Content-Type") == Some("text/event-stream");
        is_stream.then(|| answer.event().expect("an event").message())
    };
    let (ordinary, greedy) = (session(&web, "ordinary"), session(&web, "greedy"));
    let (pad, refused) = (AtomicUsize::new(1 << 20), AtomicUsize::new(0));
    compete(
        |_| {
            let answer = ask(&ordinary, 10);
            let question = question(&answer).unwrap_or_else(|| panic!("{}", answer.body()));
            assert_eq!(question["method"], "elicitation/create", "{question}");
            let accepted = json!({ "action": "accept", "content": {} });
            ordinary.post(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": accepted }));
            let messages = answer.messages();
            assert_eq!(messages[0]["result"]["content"][0]["text"], "done");
        },
        || {
            let size = count(&pad);
            if question(&ask(&greedy, size)).is_none() {
                // There may be room for a smaller one.
                pad.store(size / 2, Ordering::SeqCst);
                refused.fetch_add(1, Ordering::SeqCst);
            }
        },
        || count(&refused) > 20,
    );
}

#[test]
fn requests_in_flight() {
    let kept: Arc<Mutex<Vec<ToolCall>>> = Arc::default();
    let server = echo().build().unwrap();
    let keep = Arc::clone(&kept);
    server
        .add_deferred_tool(
            Tool::new("keep").input_schema(JsonSchema::any_object()),
            move |call: ToolCall| keep.lock().unwrap().push(call),
        )
        .unwrap();
    let http = server
        .listen_http("0", HttpOptions::new().max_requests(16))
        .unwrap();
    let (mut waiting, refused) = (Vec::new(), AtomicUsize::new(0));
    compete(
        |_| {
            let mut client = Raw::modern(2, &http, "tools/call", call("echo"));
            assert_eq!(client.answer(), "echo");
        },
        || {
            let client = Raw::modern(1, &http, "tools/call", call("keep"));
            let deadline = Instant::now() + LONG;
            client.client.stream.set_nonblocking(true).unwrap();
            // It is kept, or it has an answer at once.
            let begun = waiting.len();
            while kept.lock().unwrap().len() == begun {
                if client.client.stream.peek(&mut [0]).is_ok() {
                    refused.fetch_add(1, Ordering::SeqCst);
                    return;
                }
                assert!(Instant::now() < deadline, "neither kept nor refused");
                thread::yield_now();
            }
            waiting.push(client);
        },
        || count(&refused) > 8,
    );
    assert!(waiting.len() >= 14, "{}", waiting.len());
}
