//! What a call knows between its rounds: who may present it, how often, and what waiting calls cost the others.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcplink::schema::{ElicitRequestParams, ElicitSchema, JsonSchema, ProtocolVersion, Tool};
use mcplink::server::{
    Context, HandlerError, MemoryStateStore, Server, ServerBuilder, StateStore, ToolCall,
};
use mcplink::transport::{Limits, memory};
use mcplink::{Error, ErrorKind};
use serde_json::{Value, json};

use crate::common::{Gate, Script, wait_until};
use crate::played::{play_client, play_on};

const LEGACY: ProtocolVersion = ProtocolVersion::V2025_11_25;
const MODERN: ProtocolVersion = ProtocolVersion::V2026_07_28;

fn form() -> ElicitRequestParams {
    let schema = ElicitSchema::default().to_schema().unwrap();
    ElicitRequestParams::form("Pay?", schema)
}

fn forms() -> Value {
    json!({ "elicitation": {} })
}

/// A server whose tool pays when it is agreed to, and the number of payments.
fn paying() -> (ServerBuilder, Arc<AtomicUsize>) {
    let payments = Arc::new(AtomicUsize::new(0));
    let paid = Arc::clone(&payments);
    let tool = move |_: Value, context: &Context| -> Result<&'static str, HandlerError> {
        if context.elicit("pay", form())?.is_accepted() {
            paid.fetch_add(1, Ordering::SeqCst);
        }
        Ok("done")
    };
    let server = Server::builder("shop", "1.0").tool_with(Tool::new("pay"), tool);
    (server, payments)
}

fn yes() -> Value {
    json!({ "pay": { "action": "accept", "content": {} } })
}

// Must not happen: a state is presented twice, and its effects happen twice.
#[test]
fn without_a_store_a_state_can_be_presented_twice() {
    let (server, payments) = paying();
    let server = server.build().unwrap();
    let mut client = play_client(&server, MODERN, forms());
    let asked = client.call("pay");
    for _ in 0..2 {
        let told = client.retry("pay", &asked, yes());
        assert_eq!(told["result"]["content"][0]["text"], "done");
    }
    assert_eq!(payments.load(Ordering::SeqCst), 2);
}

// Must not happen: a state is presented twice, and its effects happen twice.
// M-MRTR-S-14
#[test]
fn with_a_store_a_state_is_taken_once_on_all_replicas() {
    /// Shared by two servers.
    #[derive(Clone)]
    struct Shared(Arc<MemoryStateStore>);

    impl StateStore for Shared {
        fn claim(&self, id: &str, lifetime: Duration) -> mcplink::Result<bool> {
            assert_eq!(id.len(), 32, "{id}");
            assert!(lifetime <= Duration::from_secs(600), "{lifetime:?}");
            self.0.claim(id, lifetime)
        }
    }

    let (store, notes) = (Shared(Arc::default()), Arc::new(Mutex::new(Vec::new())));
    let key = mcplink::server::StateKey::new([7; 32]);
    let replica = || {
        let (server, payments) = paying();
        let noted = Arc::clone(&notes);
        let server = server
            .state_keys(std::slice::from_ref(&key))
            .state_store(store.clone())
            .on_log(move |record| noted.lock().unwrap().push(record.text.to_owned()));
        (server.build().unwrap(), payments)
    };
    let ((one, paid_here), (other, paid_there)) = (replica(), replica());
    let mut client = play_client(&one, MODERN, forms());
    let asked = client.call("pay");
    // An answer that is none does not use the state up.
    let wrong = client.retry("pay", &asked, json!({ "pay": 7 }));
    assert_eq!(wrong["error"]["code"], -32602);
    let told = client.retry("pay", &asked, yes());
    assert_eq!(told["result"]["content"][0]["text"], "done");
    let mut elsewhere = play_client(&other, MODERN, forms());
    for refused in [
        client.retry("pay", &asked, yes()),
        elsewhere.retry("pay", &asked, yes()),
    ] {
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
        let text = refused["error"]["message"].as_str().unwrap();
        assert!(text.starts_with("requestState is not valid"), "{text}");
    }
    assert_eq!(
        (
            paid_here.load(Ordering::SeqCst),
            paid_there.load(Ordering::SeqCst)
        ),
        (1, 0)
    );
    let notes = notes.lock().unwrap();
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert!(
        notes.iter().all(|note| note.contains("presented before")),
        "{notes:?}"
    );
}

#[test]
fn a_store_is_told_which_client_presents_a_state() {
    #[derive(Clone, Default)]
    struct Recording(Arc<Mutex<Vec<String>>>);

    impl StateStore for Recording {
        fn claim(&self, _: &str, _: Duration) -> mcplink::Result<bool> {
            panic!("the client is known")
        }

        fn claim_for(&self, client: &str, _: &str, _: Duration) -> mcplink::Result<bool> {
            self.0.lock().unwrap().push(client.to_owned());
            Ok(true)
        }
    }

    let (server, _) = paying();
    let store = Recording::default();
    let server = server.state_store(store.clone()).build().unwrap();
    let open = |who: Option<&str>| {
        let (ours, theirs) = memory::pair();
        let serving = match who {
            Some(who) => server.open_for(who, ours).unwrap(),
            None => server.open(ours).unwrap(),
        };
        play_on(serving, Script::open(theirs), MODERN, forms())
    };
    // The same principal is one client on all of its connections; others are one each.
    for who in [Some("ann"), Some("bob"), Some("ann"), None, None] {
        let mut client = open(who);
        for _ in 0..2 {
            let asked = client.call("pay");
            let told = client.retry("pay", &asked, yes());
            assert_eq!(told["result"]["content"][0]["text"], "done", "{told}");
        }
    }
    let clients = store.0.lock().unwrap();
    let named: Vec<&str> = clients[..6].iter().map(String::as_str).collect();
    let [ann, bob] = ["principal ann", "principal bob"];
    assert_eq!(named, [ann, ann, bob, bob, ann, ann]);
    let others = &clients[6..];
    assert!(
        others
            .iter()
            .all(|client| client.starts_with("connection "))
    );
    assert_eq!((&others[0], &others[2]), (&others[1], &others[3]));
    assert_ne!(others[0], others[2]);
}

#[test]
fn a_store_that_can_not_tell_lets_nothing_through() {
    struct Broken;

    impl StateStore for Broken {
        fn claim(&self, _: &str, _: Duration) -> mcplink::Result<bool> {
            Err(Error::new(
                ErrorKind::Io,
                "the database at db.internal is down",
            ))
        }
    }

    let (server, payments) = paying();
    let server = server.state_store(Broken).build().unwrap();
    let mut client = play_client(&server, MODERN, forms());
    let asked = client.call("pay");
    let refused = client.retry("pay", &asked, yes());
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    assert!(!refused.to_string().contains("db.internal"), "{refused}");
    assert_eq!(payments.load(Ordering::SeqCst), 0);
}

// Must not happen: an answer is used for a question that has changed.
#[test]
fn an_answer_is_not_used_for_a_question_that_has_changed_meanwhile() {
    let runs = AtomicUsize::new(0);
    let tool = move |_: Value, context: &Context| -> Result<&'static str, HandlerError> {
        let what = match runs.fetch_add(1, Ordering::SeqCst) {
            0 => "Delete the file?",
            _ => "Delete the disk?",
        };
        let schema = ElicitSchema::default().to_schema()?;
        context.elicit("pay", ElicitRequestParams::form(what, schema))?;
        Ok("deleted")
    };
    let server = Server::builder("s", "1.0").tool_with(Tool::new("t"), tool);
    let server = server.build().unwrap();
    let mut client = play_client(&server, MODERN, forms());
    let file = client.call("t");
    let disk = client.retry("t", &file, yes());
    let question = &disk["result"]["inputRequests"]["pay"]["params"]["message"];
    assert_eq!(*question, "Delete the disk?", "{disk}");
    let told = client.retry("t", &disk, yes());
    assert_eq!(told["result"]["content"][0]["text"], "deleted", "{told}");
}

// Seen in other SDKs: clients can read the state of a server.
#[test]
fn a_state_that_is_too_large_is_not_sent_and_the_host_is_told_why() {
    let notes = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&notes);
    let tool = |_: Value, context: &Context| -> Result<&'static str, HandlerError> {
        context.remember("all of it", &"x".repeat(64 << 10))?;
        context.elicit("pay", form())?;
        Ok("done")
    };
    let server = Server::builder("s", "1.0")
        .tool_with(Tool::new("t"), tool)
        .on_log(move |record| noted.lock().unwrap().push(record.text.to_owned()));
    let answer = play_client(&server.build().unwrap(), MODERN, forms()).call("t");
    let internal = json!({ "code": -32603, "message": "internal error" });
    assert_eq!(answer["error"], internal, "{answer}");
    let notes = notes.lock().unwrap();
    let why = "more than 65536: ask and remember less";
    assert!(notes.iter().any(|note| note.contains(why)), "{notes:?}");
}

// Seen in other SDKs: a `requestState` can be forged, or replayed elsewhere.
// M-MRTR-S-12
#[test]
fn a_state_has_its_time() {
    let (server, payments) = paying();
    let server = server
        .state_lifetime(Duration::from_nanos(1))
        .build()
        .unwrap();
    let mut client = play_client(&server, MODERN, forms());
    let asked = client.call("pay");
    let refused = client.retry("pay", &asked, yes());
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    assert_eq!(payments.load(Ordering::SeqCst), 0);
}

// Seen in other SDKs: code before a question runs twice, a payment too.
#[test]
fn two_threads_that_want_one_effect_get_the_same() {
    let effects = Arc::new(AtomicUsize::new(0));
    let (ran, gate) = (Arc::clone(&effects), Gate::default());
    let inside = gate.clone();
    let tool = move |_: Value, context: &Context| -> Result<String, HandlerError> {
        let effect = || {
            context.once("effect", || {
                inside.pass();
                ran.fetch_add(1, Ordering::SeqCst)
            })
        };
        let outcomes = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(effect)).collect();
            let outcomes = threads.into_iter().map(|thread| thread.join().unwrap());
            outcomes.collect::<Result<Vec<usize>, _>>()
        });
        Ok(format!("{:?}", outcomes?))
    };
    let server = Server::builder("once", "1.0").tool_with(Tool::new("t"), tool);
    let server = server.build().unwrap();
    let mut client = play_client(&server, MODERN, forms());
    client.request("tools/call", json!({ "name": "t" }));
    gate.wait_for(1);
    gate.open();
    let told = client.script.receive();
    assert_eq!(
        told["result"]["content"][0]["text"], "[0, 0, 0, 0]",
        "{told}"
    );
    assert_eq!(effects.load(Ordering::SeqCst), 1);
}

#[test]
fn an_effect_that_asks_for_itself_is_told_so_and_one_that_panics_keeps_nobody_waiting() {
    let tool = |_: Value, context: &Context| -> Result<String, HandlerError> {
        let inner = context.once("a", || context.once("a", || 1).is_err())?;
        let panicking = || {
            context.once("b", || -> u32 {
                panic!("in an effect (expected by a test)")
            })
        };
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(panicking)).is_err();
        Ok(format!("{inner} {panicked} {}", context.once("b", || 7)?))
    };
    let server = Server::builder("once", "1.0").tool_with(Tool::new("t"), tool);
    let told = play_client(&server.build().unwrap(), MODERN, forms()).call("t");
    assert_eq!(
        told["result"]["content"][0]["text"], "true true 7",
        "{told}"
    );
}

// The memory of a call is sealed, or does not travel at all: clients must not read the state of a server.
// M-ELIC-S-21, L-ELIC-S-23
#[test]
fn what_is_remembered_can_not_be_read_by_the_client() {
    let tool = |_: Value, context: &Context| -> Result<&'static str, HandlerError> {
        context.remember("secret", &"hunter2")?;
        context.elicit("pay", form())?;
        Ok("done")
    };
    let server = Server::builder("s", "1.0").tool_with(Tool::new("t"), tool);
    let server = server.build().unwrap();
    for revision in [LEGACY, MODERN] {
        let mut client = play_client(&server, revision, forms());
        let asked = client.call("t");
        assert!(!asked.to_string().contains("hunter2"), "{asked}");
        if revision.is_modern() {
            use base64::Engine as _;
            let state = asked["result"]["requestState"].as_str().unwrap();
            let engine = base64::engine::general_purpose::URL_SAFE_NO_PAD;
            let bytes = engine.decode(state).unwrap();
            assert!(!bytes.windows(7).any(|bytes| bytes == b"hunter2"));
        }
    }
}

// Must not happen: handlers that wait for people occupy all workers.
#[test]
fn calls_that_wait_for_people_keep_no_other_call_out() {
    let mut limits = Limits::default();
    (limits.max_requests, limits.max_questions) = (1, 10);
    let (server, payments) = paying();
    let server = server
        .limits(limits)
        .tool_with(Tool::new("quick"), |_: Value, _: &Context| "quick")
        .build()
        .unwrap();
    let mut client = play_client(&server, LEGACY, forms());
    let questions: Vec<Value> = (0..10).map(|_| client.call("pay")).collect();
    assert!(
        questions
            .iter()
            .all(|it| it["method"] == "elicitation/create"),
        "{questions:?}"
    );
    assert_eq!(client.serving.peer().stats().requests_in_flight, 0);
    assert_eq!(
        client.call("quick")["result"]["content"][0]["text"],
        "quick"
    );
    // They are bounded all the same.
    let refused = client.call("pay");
    let text = refused["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("calls wait for answers already"), "{refused}");
    for question in &questions {
        client
            .script
            .answer(question, &json!({ "action": "accept", "content": {} }));
    }
    for _ in &questions {
        assert_eq!(
            client.script.receive()["result"]["content"][0]["text"],
            "done"
        );
    }
    assert_eq!(payments.load(Ordering::SeqCst), 10);
    wait_until("nothing is in hand", || {
        client.serving.peer().stats().requests_in_flight == 0
    });
    // The places are free again.
    assert_eq!(client.call("pay")["method"], "elicitation/create");
}

#[test]
fn a_call_that_came_back_is_in_hand() {
    let gate = Gate::default();
    let inside = gate.clone();
    let server = Server::builder("s", "1.0").deferred_tool(
        Tool::new("t").input_schema(JsonSchema::any_object()),
        move |call: ToolCall| {
            if call.context().elicit("pay", form()).is_ok() {
                inside.pass();
                // It fails when the test has failed.
                _ = call.respond("done");
            }
        },
    );
    let server = server.build().unwrap();
    let mut client = play_client(&server, LEGACY, forms());
    let question = client.call("t");
    assert_eq!(client.serving.peer().stats().requests_in_flight, 0);
    client
        .script
        .answer(&question, &json!({ "action": "decline" }));
    gate.wait_for(1);
    assert_eq!(client.serving.peer().stats().requests_in_flight, 1);
    gate.open();
    assert_eq!(
        client.script.receive()["result"]["content"][0]["text"],
        "done"
    );
    wait_until("nothing is in hand", || {
        client.serving.peer().stats().requests_in_flight == 0
    });
}
