//! Legacy clients over HTTP: sessions, streams that can be resumed, questions, batches, and the transport of 2024-11-05.

use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use mcplink::Result;
use mcplink::schema::{
    ElicitRequestParams, ElicitSchema, ProtocolVersion, TaskSupport, Tool, ToolExecution,
};
use mcplink::server::http::{Denied, HttpOptions};
use mcplink::server::{Context, HandlerError, Principal, Server, TaskOptions};
use mcplink::transport::http::{HttpRequest, ResponseHead, ResponseWriter, Service};
use serde_json::{Value, json};

use crate::common::LONG;
use crate::web::{LegacySession, Web, field, initialize};

const SESSIONS: [ProtocolVersion; 3] = [
    ProtocolVersion::V2025_03_26,
    ProtocolVersion::V2025_06_18,
    ProtocolVersion::V2025_11_25,
];

fn server() -> Server {
    Server::builder("s", "1")
        .tool_with(Tool::new("echo"), |args: Value, _: &Context| {
            args.to_string()
        })
        .tool_with(Tool::new("steps"), |_: Value, context: &Context| {
            for step in 1..=3 {
                context.progress(f64::from(step), Some(3.0), None);
            }
            "done"
        })
        .tool_with(Tool::new("ask"), |_: Value, context: &Context| {
            let question = ElicitRequestParams::form("Name?", ElicitSchema::default().to_schema()?);
            let answer = context.elicit("name", question)?;
            Ok::<_, HandlerError>(format!("{:?}", answer.action))
        })
        .build()
        .unwrap()
}

// L-HTTP-S-01, L-HTTP-S-12, L-SESS-S-01, L-SESS-S-02, L-SESS-S-11, L-SESS-B-10, L-SESS-S-14, L-SESS-S-15
#[test]
fn a_session_is_opened_used_and_ended() {
    let web = Web::new(&server());
    let mut ids = Vec::new();
    for revision in SESSIONS {
        let session = web.session(revision);
        assert_eq!(
            session.greeting["result"]["protocolVersion"],
            revision.as_str()
        );
        assert!(session.id.len() >= 22 && session.id.bytes().all(|byte| byte.is_ascii_graphic()));
        let answer = session.request("tools/call", json!({"name": "echo", "arguments": {"a": 1}}));
        assert_eq!(answer.result()["content"][0]["text"], r#"{"a":1}"#);
        assert_eq!(field(&answer.head(), "Mcp-Session-Id"), None);
        ids.push(session.id.clone());
    }
    ids.dedup();
    assert_eq!(ids.len(), 3);
    assert_eq!(web.service.sessions(), 3);
}

// L-SESS-S-05, L-SESS-S-06, L-PVH-S-04, AMB-63
#[test]
fn requests_without_a_session_are_told_what_to_do() {
    let web = Web::new(&server());
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let status = |fields: &[(&str, &str)]| web.post(fields, &list).status();
    assert_eq!(status(&[]), 400);
    assert_eq!(status(&[("Mcp-Session-Id", "unknown")]), 404);
    // L-HTTP-S-11: what is no request is refused with a status too.
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let unknown = [("Mcp-Session-Id", "unknown")];
    assert_eq!(web.post(&unknown, &ready).status(), 404);
    let response = json!({"jsonrpc": "2.0", "id": 1, "result": {}});
    assert_eq!(web.post(&[], &response).status(), 400);
    let session = web.session(ProtocolVersion::V2025_11_25);
    let mut fields = session.fields();
    fields.push(("MCP-Protocol-Version", "nope"));
    assert_eq!(status(&fields), 400);
    for message in [&ready, &response, &json!([ready])] {
        assert_eq!(web.post(&fields, message).status(), 400, "{message}");
    }
    assert_eq!(session.delete().status(), 200);
    assert_eq!(web.service.sessions(), 0);
    assert_eq!(session.request("tools/list", json!({})).status(), 404);
    assert_eq!(session.delete().status(), 404);
    assert_eq!(session.get(None).status(), 404);
}

// L-INIT-S-24, L-SESS-S-06: bridges send the opening of each of their clients with the id that the
// first one got.
#[test]
fn initialize_with_the_id_of_a_session_opens_another_one() {
    let web = Web::new(&server());
    let first = web.session(ProtocolVersion::V2025_11_25);
    let again = initialize(9, ProtocolVersion::V2025_06_18, json!({}));
    let answer = first.post(&again);
    assert_eq!(answer.result()["protocolVersion"], "2025-06-18");
    let id = field(&answer.head(), "Mcp-Session-Id").unwrap().to_owned();
    assert_ne!(id, first.id);
    assert_eq!(web.service.sessions(), 2);
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    assert_eq!(first.post(&list).status(), 200);
    assert_eq!(first.delete().status(), 200);
    assert_eq!(web.post(&[("Mcp-Session-Id", &id)], &list).status(), 200);
    assert_eq!(first.post(&again).status(), 404);
}

// 15.2
#[test]
fn what_is_refused_opens_no_session() {
    let web = Web::new(&server());
    let good = initialize(1, ProtocolVersion::V2025_11_25, json!({}));
    for fields in [
        [("Origin", "http://evil.example")],
        [("Content-Type", "text/plain")],
        [("Accept", "text/html")],
    ] {
        assert!(web.post(&fields, &good).status() >= 400);
    }
    let bad = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1}});
    let answer = web.post(&[], &bad);
    assert_eq!(answer.error_code(), -32602);
    assert_eq!(field(&answer.head(), "Mcp-Session-Id"), None);
    assert_eq!(web.service.sessions(), 0);
}

// 15.2
#[test]
fn sessions_are_bounded_and_idle_ones_make_room() {
    let opening = initialize(1, ProtocolVersion::V2025_11_25, json!({}));
    let options = HttpOptions::new().max_sessions(1);
    let web = Web::with(&server(), options.clone());
    let session = web.session(ProtocolVersion::V2025_11_25);
    let stream = session.get(None);
    assert_eq!(stream.status(), 200);
    let answer = web.post(&[], &opening);
    assert_eq!(answer.status(), 503);
    assert!(field(&answer.head(), "Retry-After").is_some());
    let forgetful = Web::with(&server(), options.session_idle(Duration::ZERO));
    for _ in 0..3 {
        let until = Instant::now() + LONG;
        // A session whose answer has just been read may still be busy with having sent it.
        while forgetful.post(&[], &opening).status() != 200 {
            assert!(Instant::now() < until, "an idle session makes room");
        }
        assert_eq!(forgetful.service.sessions(), 1);
    }
}

// 15.1, promise 6: what a client says of itself is kept with its session.
#[test]
fn what_clients_say_of_themselves_is_bounded_for_one_and_for_all() {
    let opening = |name: &str, bytes: usize| {
        let mut message = initialize(1, ProtocolVersion::V2025_11_25, json!({}));
        message["params"]["clientInfo"] =
            json!({"name": name, "version": "1", "x": "x".repeat(bytes)});
        message
    };
    let options = HttpOptions::new()
        .max_sessions(10)
        .old_paths("/sse", "/messages");
    let web = Web::with(&server(), options);
    let answer = web.post(&[], &opening("too much", 256 << 10));
    assert_eq!((answer.status(), answer.error_code()), (400, -32602));
    assert_eq!(web.service.sessions(), 0);
    // All of them together may have 1 MiB. Those with a stream don't give way.
    let names = ["a", "b", "c", "d", "e"];
    let answers = names.map(|name| web.post(&[], &opening(name, 200 << 10)));
    let id = answers.map(|answer| {
        assert_eq!(answer.status(), 200);
        field(&answer.head(), "Mcp-Session-Id").unwrap().to_owned()
    });
    let _streams = id.each_ref().map(|id| {
        let fields = [
            ("Mcp-Session-Id", id.as_str()),
            ("Accept", "text/event-stream"),
        ];
        let stream = web.send("GET", "/mcp", &fields, "");
        assert_eq!(stream.status(), 200);
        stream
    });
    let answer = web.post(&[], &opening("f", 200 << 10));
    assert_eq!(answer.status(), 503);
    assert!(field(&answer.head(), "Retry-After").is_some());
    assert_eq!(web.post(&[], &opening("small", 10)).status(), 200);
    // A client of 2024-11-05 says it on a session that is open already.
    let stream = web.send("GET", "/sse", &[("Accept", "text/event-stream")], "");
    let endpoint = stream.event().expect("an event").data;
    let post = |message: Value| web.send("POST", &endpoint, &[], message.to_string());
    assert_eq!(post(opening("g", 256 << 10)).status(), 400);
    assert_eq!(post(opening("g", 200 << 10)).status(), 503);
    // Who leaves makes room.
    let fields = [("Mcp-Session-Id", id[0].as_str())];
    assert_eq!(web.send("DELETE", "/mcp", &fields, "").status(), 200);
    assert_eq!(post(opening("g", 200 << 10)).status(), 202);
    assert_eq!(web.post(&[], &opening("f", 200 << 10)).status(), 503);
    stream.leave();
    let until = Instant::now() + LONG;
    while web.post(&[], &opening("f", 200 << 10)).status() != 200 {
        assert!(Instant::now() < until, "the session ends with its stream");
        std::thread::yield_now();
    }
}

// L-SESS-S-12, L-SESS-S-13, L-SESS-S-16, M-SEC-S-13, 16.5
#[test]
fn a_session_is_its_openers_alone() {
    let options = HttpOptions::new().authenticate(|request| {
        let token = request
            .value("Authorization")
            .ok_or_else(|| Denied::unauthorized("Bearer"))?;
        Ok(Principal::new(String::from_utf8_lossy(token).into_owned()))
    });
    let web = Web::with(&server(), options);
    let session = web.session_with(
        ProtocolVersion::V2025_11_25,
        json!({}),
        &[("Authorization", "a")],
    );
    let mut fields = session.fields();
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    assert_eq!(web.post(&fields, &list).status(), 200);
    fields.push(("Authorization", "b"));
    assert_eq!(web.post(&fields, &list).status(), 404);
    fields.push(("Authorization", ""));
    assert_eq!(web.post(&fields, &list).status(), 401);
}

// L-HTTP-S-20, L-HTTP-S-14, L-HTTP-S-18, L-HTTP-S-19, L-HTTP-S-21, L-SSE-S-01, L-SSE-S-02
#[test]
fn progress_comes_before_the_answer_on_its_stream() {
    let web = Web::new(&server());
    for revision in SESSIONS {
        let session = web.session(revision);
        let answer = session.request(
            "tools/call",
            json!({"name": "steps", "_meta": {"progressToken": 5}}),
        );
        assert_eq!(
            field(&answer.head(), "Content-Type"),
            Some("text/event-stream")
        );
        let mut events = Vec::new();
        while let Some(event) = answer.event() {
            events.push(event);
        }
        let marked = revision == ProtocolVersion::V2025_11_25;
        assert_eq!(events[0].data.is_empty(), marked, "{revision:?}");
        let ids: Vec<_> = events
            .iter()
            .map(|event| event.id.clone().expect("an id"))
            .collect();
        let streams: Vec<_> = ids.iter().map(|id| id.split('-').next()).collect();
        assert!(streams.windows(2).all(|pair| pair[0] == pair[1]), "{ids:?}");
        let messages: Vec<_> = events
            .iter()
            .skip(usize::from(marked))
            .map(|event| event.message())
            .collect();
        assert_eq!(messages.len(), 4);
        assert!(
            messages[..3]
                .iter()
                .all(|message| message["method"] == "notifications/progress")
        );
        assert_eq!(messages[3]["result"]["content"][0]["text"], "done");
    }
}

// L-HTTP-S-22, L-SSE-S-04, L-SSE-S-05, L-HTTP-S-27
#[test]
fn a_client_that_lost_its_stream_gets_the_rest() {
    let (go, gone) = mpsc::channel();
    let gone = Mutex::new(gone);
    let (cancelled, was_cancelled) = mpsc::channel();
    let server = Server::builder("s", "1")
        .tool_with(Tool::new("long"), move |_: Value, context: &Context| {
            context.progress(1.0, None, None);
            gone.lock().unwrap().recv_timeout(LONG).unwrap();
            context.progress(2.0, None, None);
            cancelled.send(context.is_cancelled()).unwrap();
            "done"
        })
        .build()
        .unwrap();
    let web = Web::new(&server);
    let session = web.session(ProtocolVersion::V2025_11_25);
    let answer = session.request(
        "tools/call",
        json!({"name": "long", "_meta": {"progressToken": 5}}),
    );
    let mark = answer.event().expect("a mark");
    let first = answer.event().expect("progress");
    answer.leave();
    go.send(()).unwrap();
    assert!(
        !was_cancelled.recv_timeout(LONG).unwrap(),
        "leaving is not cancelling"
    );
    let rest = session.get(first.id.as_deref()).messages();
    assert_eq!(rest.len(), 2, "{rest:?}");
    assert_eq!(rest[0]["params"]["progress"], 2.0);
    assert_eq!(rest[1]["result"]["content"][0]["text"], "done");
    let all = session.get(mark.id.as_deref()).messages();
    assert_eq!(all.len(), 3, "{all:?}");
}

// L-SSE-S-06
#[test]
fn events_that_are_not_kept_are_refused() {
    let options = HttpOptions::new().kept_events(2, 1 << 20);
    let web = Web::with(&server(), options);
    let session = web.session(ProtocolVersion::V2025_06_18);
    let answer = session.request(
        "tools/call",
        json!({"name": "steps", "_meta": {"progressToken": 5}}),
    );
    let first = answer.event().expect("progress");
    answer.messages();
    for odd in [first.id.as_deref().unwrap(), "x", "77-1", "1-99"] {
        assert_eq!(session.get(Some(odd)).status(), 400, "{odd}");
    }
}

// L-SSE-S-06, L-HTTP-S-21: a client that is told that nothing more comes does not ask again.
#[test]
fn a_finished_stream_that_was_read_is_answered_with_204() {
    let web = Web::new(&server());
    for revision in SESSIONS {
        let session = web.session(revision);
        let answer = session.request(
            "tools/call",
            json!({"name": "steps", "_meta": {"progressToken": 5}}),
        );
        let mut ids = Vec::new();
        while let Some(event) = answer.event() {
            ids.push(event.id.expect("an id"));
        }
        let [.., before, last] = &*ids else {
            panic!("{ids:?}")
        };
        assert_eq!(session.get(Some(before)).messages().len(), 1);
        for _ in 0..2 {
            let again = session.get(Some(last));
            assert_eq!((again.status(), again.body()), (204, String::new()));
            assert_eq!(field(&again.head(), "Content-Type"), None);
        }
    }
}

// L-HTTP-S-29, L-HTTP-S-30
#[test]
fn many_standing_streams_of_one_session_stay_open() {
    let server = server();
    let web = Web::new(&server);
    let session = web.session(ProtocolVersion::V2025_11_25);
    let open = |_| {
        let stream = session.get(None);
        // In this order: the next one is newer.
        assert_eq!(stream.status(), 200);
        stream
    };
    let streams: Vec<_> = (0..10).map(open).collect();
    for (count, stream) in streams.iter().enumerate().rev() {
        let tool = Tool::new(format!("new{count}"));
        server.add_tool(tool, |_: Value, _: &Context| "").unwrap();
        assert!(stream.event().is_some(), "{count}");
        stream.leave();
    }
    // What was said while nobody read waits for the next one.
    let tool = Tool::new("alone");
    server.add_tool(tool, |_: Value, _: &Context| "").unwrap();
    assert!(session.get(None).event().is_some());
}

// L-SSE-S-06
#[test]
fn beyond_the_memory_for_all_streams_those_of_who_has_most_are_refused() {
    let server = Server::builder("s", "1")
        .tool_with(Tool::new("say"), |args: Value, context: &Context| {
            context.progress(1.0, None, None);
            "x".repeat(usize::try_from(args["bytes"].as_u64().unwrap()).unwrap())
        })
        .build()
        .unwrap();
    let web = Web::with(&server, HttpOptions::new().max_kept_bytes(8 << 10));
    let [modest, greedy] = [(); 2].map(|()| web.session(ProtocolVersion::V2025_06_18));
    let call = |session: &LegacySession<'_>, bytes: usize| {
        let answer = session.request(
            "tools/call",
            json!({"name": "say", "arguments": {"bytes": bytes}, "_meta": {"progressToken": 5}}),
        );
        let first = answer.event().expect("progress");
        assert_eq!(answer.messages().len(), 1);
        first.id.unwrap()
    };
    let few = call(&modest, 100);
    let many: Vec<_> = (0..4).map(|_| call(&greedy, 3000)).collect();
    let too_many = call(&greedy, 10_000);
    // The first ones had to go for the others.
    assert_eq!(greedy.get(Some(&many[0])).status(), 400);
    assert_eq!(greedy.get(Some(&many[3])).messages().len(), 1);
    assert_eq!(greedy.get(Some(&too_many)).status(), 400);
    assert_eq!(modest.get(Some(&few)).messages().len(), 1);
}

// Must not happen: a client with very many small streams makes the larger stream of another client lose its events.
#[test]
fn many_small_streams_of_one_client_cost_no_other_one_its_events() {
    let server = Server::builder("s", "1")
        .tool_with(Tool::new("say"), |args: Value, context: &Context| {
            context.progress(1.0, None, None);
            "x".repeat(usize::try_from(args["bytes"].as_u64().unwrap()).unwrap())
        })
        .build()
        .unwrap();
    let options = HttpOptions::new()
        .max_kept_bytes(32 << 10)
        .authenticate(|request| {
            let token = request.value("Authorization").unwrap_or_default();
            Ok(Principal::new(String::from_utf8_lossy(token).into_owned()))
        });
    let web = Web::with(&server, options);
    let call = |session: &LegacySession<'_>, bytes: usize| {
        let answer = session.request(
            "tools/call",
            json!({"name": "say", "arguments": {"bytes": bytes}, "_meta": {"progressToken": 5}}),
        );
        let first = answer.event().expect("progress");
        assert_eq!(answer.messages().len(), 1);
        first.id.unwrap()
    };
    let open = |name| {
        let fields = [("Authorization", name)];
        web.session_with(ProtocolVersion::V2025_06_18, json!({}), &fields)
    };
    let ordinary = open("ordinary");
    let large = call(&ordinary, 8_000);
    let mut small = Vec::new();
    for _ in 0..30 {
        let session = open("greedy");
        let ids: Vec<_> = (0..10).map(|_| call(&session, 100)).collect();
        small.push((session, ids));
    }
    assert_eq!(ordinary.get(Some(&large)).messages().len(), 1);
    let is_kept = |session: &LegacySession<'_>, id: &String| {
        let status = session.get(Some(id)).status();
        assert!([200, 400].contains(&status), "{status}");
        status == 200
    };
    let kept = small.iter().flat_map(|(session, ids)| {
        let kept = ids.iter().filter(|id| is_kept(session, id));
        kept.collect::<Vec<_>>()
    });
    let kept = kept.count();
    assert!(
        (20..150).contains(&kept),
        "{kept}: what the other one leaves"
    );
}

// L-HTTP-S-16, L-HTTP-S-28
#[test]
fn a_client_can_be_sent_away_during_long_work() {
    let server = Server::builder("s", "1")
        .tool_with(Tool::new("long"), |_: Value, context: &Context| {
            context
                .close_stream_and_retry(Duration::from_millis(500))
                .unwrap();
            "done"
        })
        .build()
        .unwrap();
    let web = Web::new(&server);
    let session = web.session(ProtocolVersion::V2025_11_25);
    let answer = session.request("tools/call", json!({"name": "long"}));
    let mark = answer.event().expect("a mark");
    assert_eq!((mark.retry, mark.data.as_str()), (Some(500), ""));
    assert_eq!(answer.event(), None);
    let rest = session.get(mark.id.as_deref()).messages();
    assert_eq!(rest[0]["result"]["content"][0]["text"], "done");
    let older = web.session(ProtocolVersion::V2025_06_18);
    assert_eq!(
        older
            .request("tools/call", json!({"name": "long"}))
            .result()["content"][0]["text"],
        "done"
    );
}

// L-HTTP-S-10, L-HTTP-S-19, L-HTTP-S-26, 6.1
#[test]
fn questions_go_on_the_stream_of_the_call() {
    let web = Web::new(&server());
    for revision in [ProtocolVersion::V2025_06_18, ProtocolVersion::V2025_11_25] {
        let session = web.session_with(revision, json!({"elicitation": {}}), &[]);
        let answer = session.request("tools/call", json!({"name": "ask"}));
        let question = loop {
            let event = answer.event().expect("a question");
            if !event.data.is_empty() {
                break event.message();
            }
        };
        assert_eq!(question["method"], "elicitation/create");
        let reply =
            json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}});
        let accepted = session.post(&reply);
        assert_eq!((accepted.status(), accepted.body()), (202, String::new()));
        let rest = answer.messages();
        assert_eq!(rest[0]["result"]["content"][0]["text"], "Decline");
    }
    let stateless = Web::with(&server(), HttpOptions::new().sessions(false));
    let fields = [("MCP-Protocol-Version", "2025-11-25")];
    let call =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "ask"}});
    let result = stateless.post(&fields, &call).result();
    assert_eq!(result["isError"], true, "{result}");
    // An error explains why this client can't be asked, with the remedy.
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(
        text.contains("served with sessions") && text.contains("2026-07-28"),
        "{text}"
    );
}

// L-HTTP-S-25, L-HTTP-S-26, L-HTTP-S-29, L-HTTP-S-30, 17.3
#[test]
fn changes_are_told_on_the_newest_standing_stream() {
    let server = server();
    let web = Web::new(&server);
    let session = web.session(ProtocolVersion::V2025_11_25);
    server
        .add_tool(Tool::new("early"), |_: Value, _: &Context| "")
        .unwrap();
    let stream = session.get(None);
    assert_eq!(
        field(&stream.head(), "Content-Type"),
        Some("text/event-stream")
    );
    let told = stream.event().expect("an event");
    assert_eq!(told.message()["method"], "notifications/tools/list_changed");
    let other = session.get(None);
    assert_eq!(other.status(), 200);
    server
        .add_tool(Tool::new("later"), |_: Value, _: &Context| "")
        .unwrap();
    let later = other.event().expect("an event");
    assert_eq!(
        later.message()["method"],
        "notifications/tools/list_changed"
    );
    // The older one stayed open, was told nothing, and takes over.
    other.leave();
    server
        .add_tool(Tool::new("last"), |_: Value, _: &Context| "")
        .unwrap();
    let last = stream.event().expect("an event");
    assert_eq!(last.message()["method"], "notifications/tools/list_changed");
    assert!(last.id != told.id && last.id != later.id);
    stream.leave();
    let resumed = session.get(told.id.as_deref());
    let ids = [(); 2].map(|()| resumed.event().expect("an event").id);
    assert_eq!(ids, [later.id, last.id]);
    let mut fields = session.fields();
    fields.push(("Accept", "application/json"));
    assert_eq!(web.send("GET", "/mcp", &fields, "").status(), 406);
}

// A client cancels by saying so.
#[test]
fn a_call_is_cancelled_by_a_notification() {
    let (entered, has_entered) = mpsc::channel();
    let server = Server::builder("s", "1")
        .tool_with(Tool::new("wait"), move |_: Value, context: &Context| {
            entered.send(()).unwrap();
            assert!(context.cancel_token().wait(LONG));
            "late"
        })
        .build()
        .unwrap();
    let web = Web::new(&server);
    let session = web.session(ProtocolVersion::V2025_11_25);
    let call =
        json!({"jsonrpc": "2.0", "id": "c", "method": "tools/call", "params": {"name": "wait"}});
    let answer = session.post(&call);
    has_entered.recv_timeout(LONG).unwrap();
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "c"}});
    assert_eq!(session.post(&cancel).status(), 202);
    assert_eq!(answer.messages(), Vec::<Value>::new());
}

// L-BATCH-B-01, L-BATCH-C-03, L-BATCH-S-04, L-BATCH-S-05, L-BATCH-S-06, L-BATCH-S-07, L-BATCH-B-09, L-BATCH-B-10
#[test]
fn batches_are_answered_together_in_the_one_revision_that_has_them() {
    let web = Web::new(&server());
    let session = web.session(ProtocolVersion::V2025_03_26);
    let request = |id: i64| json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
    let note = json!({"jsonrpc": "2.0", "method": "notifications/x"});
    let answer = session.post(&json!([request(1), note, request(2)]));
    let responses = answer.message();
    assert_eq!(responses.as_array().map(Vec::len), Some(2), "{responses}");
    assert_eq!(session.post(&json!([note, note])).status(), 202);
    let response = json!({"jsonrpc": "2.0", "id": 9, "result": {}});
    assert_eq!(session.post(&json!([request(1), response])).status(), 400);
    // L-HTTP-S-11: what can't be read is not accepted, unless it stands beside something that can.
    let bad = json!({"jsonrpc": "2.0", "method": "notifications/x", "params": [1]});
    let no_response = json!({"jsonrpc": "2.0", "result": {}});
    for batch in [json!([bad]), json!([bad, bad]), json!([no_response])] {
        let answer = session.post(&batch);
        assert_eq!(answer.status(), 400, "{batch}");
        assert!(answer.message()["error"]["code"].is_i64(), "{batch}");
    }
    assert_eq!(session.post(&json!([bad, note])).status(), 202);
    let answer = session.post(&json!([bad, request(3)]));
    assert_eq!(answer.message()[0]["id"], 3);
    assert_eq!(session.post(&json!([])).status(), 400);
    let newer = web.session(ProtocolVersion::V2025_11_25);
    assert_eq!(newer.post(&json!([request(1)])).status(), 400);
}

// L-PVH-S-03
#[test]
fn without_sessions_each_request_stands_alone() {
    let web = Web::with(&server(), HttpOptions::new().sessions(false));
    let answer = web.post(&[], &initialize(1, ProtocolVersion::V2025_06_18, json!({})));
    assert_eq!(answer.result()["protocolVersion"], "2025-06-18");
    assert_eq!(field(&answer.head(), "Mcp-Session-Id"), None);
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(
        web.post(&[("MCP-Protocol-Version", "2025-06-18")], &ready)
            .status(),
        202
    );
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    for fields in [vec![], vec![("MCP-Protocol-Version", "2025-11-25")]] {
        assert_eq!(
            web.post(&fields, &list).result()["tools"]
                .as_array()
                .map(Vec::len),
            Some(3)
        );
    }
    for method in ["GET", "DELETE"] {
        assert_eq!(web.send(method, "/mcp", &[], "").status(), 405);
    }
}

// L-OLD-S-01, L-OLD-S-02, L-OLD-S-04, L-HTTP-S-33
#[test]
fn clients_of_the_first_transport_are_served_on_request() {
    let server = server();
    let web = Web::with(&server, HttpOptions::new().old_paths("/sse", "/messages"));
    let stream = web.send("GET", "/sse", &[("Accept", "text/event-stream")], "");
    let endpoint = stream.event().expect("an event");
    assert_eq!(endpoint.event.as_deref(), Some("endpoint"));
    let post = |message: &Value| web.send("POST", &endpoint.data, &[], message.to_string());
    assert_eq!(
        post(&initialize(1, ProtocolVersion::V2024_11_05, json!({}))).status(),
        202
    );
    assert_eq!(
        stream.event().expect("an answer").message()["result"]["protocolVersion"],
        "2024-11-05"
    );
    post(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).head();
    post(&json!({"jsonrpc": "2.0", "id": 2, "method": "ping"})).head();
    assert_eq!(stream.event().expect("an answer").message()["id"], 2);
    assert_eq!(
        web.send("POST", "/messages?sessionId=other", &[], "{}")
            .status(),
        404
    );
    let evil = [("Origin", "http://evil.example")];
    assert_eq!(web.send("GET", "/sse", &evil, "").status(), 403);
    stream.leave();
    let until = Instant::now() + LONG;
    while web.service.sessions() > 0 {
        assert!(Instant::now() < until, "the session ends with its stream");
        std::thread::yield_now();
    }
    let off = Web::new(&server);
    assert_eq!(off.send("GET", "/sse", &[], "").status(), 404);
}

/// A client whose writes take until they are let through, and which goes when it is told to.
#[derive(Debug)]
struct Lagging {
    begun: Sender<String>,
    writing: Sender<()>,
    go: Receiver<()>,
    gone: Arc<Gone>,
}

#[derive(Default)]
struct Gone(Mutex<Option<Box<dyn FnOnce() + Send>>>);

impl std::fmt::Debug for Gone {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Gone")
    }
}

impl ResponseWriter for Lagging {
    fn respond(&mut self, _: &ResponseHead, _: &[u8]) -> Result<()> {
        panic!("a stream was asked for")
    }

    fn begin(&mut self, _: &ResponseHead, first: &[u8]) -> Result<()> {
        let first = String::from_utf8_lossy(first).into_owned();
        self.begun.send(first).unwrap();
        Ok(())
    }

    fn write(&mut self, _: &[u8], _: Option<Instant>) -> Result<bool> {
        self.writing.send(()).unwrap();
        self.go.recv_timeout(LONG).unwrap();
        Ok(true)
    }

    fn finish(&mut self) -> Result<()> {
        Ok(())
    }

    fn on_gone(&mut self, callback: Box<dyn FnOnce() + Send>) {
        *self.gone.0.lock().unwrap() = Some(callback);
    }
}

// Seen in other SDKs: memory grows with every use.
#[test]
fn a_reader_that_goes_while_something_is_written_is_not_overlooked() {
    let web = Web::with(&server(), HttpOptions::new().old_paths("/sse", "/messages"));
    let (begun, first) = mpsc::channel();
    let (writing, is_writing) = mpsc::channel();
    let (let_through, go) = mpsc::channel();
    let gone = Arc::new(Gone::default());
    let writer = Lagging {
        begun,
        writing,
        go,
        gone: Arc::clone(&gone),
    };
    let accept = [("Accept", &b"text/event-stream"[..])];
    let request = HttpRequest::new("GET", "/sse").headers(&accept);
    web.service.serve(request, Box::new(writer));
    let first = first.recv_timeout(LONG).unwrap();
    let endpoint = first.split("data: ").nth(1).unwrap().trim();
    let opening = initialize(1, ProtocolVersion::V2024_11_05, json!({}));
    let posted = web.send("POST", endpoint, &[], opening.to_string());
    assert_eq!(posted.status(), 202);
    is_writing.recv_timeout(LONG).unwrap();
    let callback = gone.0.lock().unwrap().take();
    callback.unwrap()();
    let_through.send(()).unwrap();
    let until = Instant::now() + LONG;
    while web.service.sessions() > 0 {
        assert!(Instant::now() < until, "the session ends with its stream");
        std::thread::yield_now();
    }
}

// 15.1
#[test]
fn sessions_leave_nothing_behind() {
    let server = Server::builder("s", "1").build().unwrap();
    let web = Arc::new(Web::new(&server));
    for _ in 0..200 {
        let session = web.session(ProtocolVersion::V2025_11_25);
        assert_eq!(session.delete().status(), 200);
    }
    assert_eq!(web.service.sessions(), 0);
}

// L-TASK-B-05, L-TASK-B-11
#[test]
fn a_task_is_asked_for_with_plain_requests_and_its_result_waits() {
    let (open, opened) = mpsc::channel::<()>();
    let opened = Mutex::new(opened);
    let execution = ToolExecution::default().task_support(TaskSupport::Optional);
    let server = Server::builder("s", "1").tasks(TaskOptions::default());
    let server = server.tool_with(
        Tool::new("wait").execution(execution),
        move |_: Value, _: &Context| {
            opened.lock().unwrap().recv_timeout(LONG).unwrap();
            "done"
        },
    );
    let web = Web::new(&server.build().unwrap());
    let session = web.session(ProtocolVersion::V2025_11_25);
    let ask = |method: &str, params: Value| {
        let id = web.id();
        session.post(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
    };
    let created = ask("tools/call", json!({"name": "wait", "task": {}})).result();
    let task = json!({"taskId": created["task"]["taskId"]});
    let looked = ask("tasks/get", task.clone());
    assert_eq!(
        field(&looked.head(), "Content-Type"),
        Some("application/json")
    );
    assert_eq!(looked.result()["status"], "working");
    let waiting = ask("tasks/result", task.clone());
    assert_eq!(ask("tasks/get", task).result()["status"], "working");
    open.send(()).unwrap();
    assert_eq!(waiting.result()["content"][0]["text"], "done");
}
