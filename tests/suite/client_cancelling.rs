//! Connecting that is given up, whatever the server is waited for. No bound on time but the test's own could end these waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mcplink::client::{Client, ClientBuilder};
use mcplink::protocol::CancelToken;
use mcplink::schema::ProtocolVersion;
use mcplink::transport::memory::{self, Memory};
use mcplink::transport::{Limits, Transport, TransportParts};
use mcplink::{Error, ErrorKind, Result};
use serde_json::json;

use crate::common::Gate;
use crate::scripted::{Wire, asker, connect, in_time, script};

const FOREVER: Duration = Duration::from_secs(3600);
const LEGACY: &[ProtocolVersion] = &[ProtocolVersion::V2025_11_25];

/// A client that nothing but its token keeps from waiting.
fn patient(cancel: &CancelToken) -> ClientBuilder {
    asker()
        .probe_timeout(FOREVER)
        .connect_timeout(FOREVER)
        .cancel_connecting_with(cancel)
}

fn failure_of(client: ClientBuilder, transport: impl Transport + 'static) -> Error {
    let error = connect(client, transport).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled, "{error}");
    error
}

#[test]
fn a_silent_peer_in_memory_is_given_up_in_each_phase() {
    for revisions in [ProtocolVersion::ALL, LEGACY] {
        let cancel = CancelToken::new();
        let (here, there) = memory::pair();
        let escape = cancel.clone();
        let peer = std::thread::spawn(move || {
            let mut wire = Wire::open(there);
            let first = wire.receive().expect("a request");
            escape.cancel();
            assert_eq!(wire.receive(), None, "the connection is closed");
            first
        });
        failure_of(patient(&cancel).revisions(revisions), here);
        let first = in_time(move || peer.join().unwrap());
        let method = match revisions {
            LEGACY => "initialize",
            _ => "server/discover",
        };
        assert!(first.contains(method), "{first}");
    }
}

#[test]
fn what_answers_the_probe_and_falls_silent_then_is_given_up() {
    let cancel = CancelToken::new();
    let escape = cancel.clone();
    let (transport, script) = script(move |server| {
        let probe = server.next().expect("a probe");
        server.refuse(&probe, json!({ "code": -32601, "message": "no" }));
        let initialize = server.next().expect("the other era");
        assert_eq!(initialize["method"], "initialize");
        escape.cancel();
        server.expect_end();
    });
    failure_of(patient(&cancel), transport);
    script.end();
}

/// Notes that it was opened, and takes its time.
#[derive(Debug)]
struct Slow {
    inner: Memory,
    gate: Gate,
    opened: Arc<AtomicBool>,
}

impl Transport for Slow {
    fn open(self: Box<Self>, limits: &Limits) -> Result<TransportParts> {
        self.opened.store(true, Ordering::SeqCst);
        self.gate.pass();
        Box::new(self.inner).open(limits)
    }
}

fn slow() -> (Slow, Memory) {
    let (inner, there) = memory::pair();
    let slow = Slow {
        inner,
        gate: Gate::default(),
        opened: Arc::default(),
    };
    (slow, there)
}

#[test]
fn a_token_that_is_triggered_already_opens_nothing() {
    let cancel = CancelToken::new();
    cancel.cancel();
    let (slow, _there) = slow();
    let opened = Arc::clone(&slow.opened);
    failure_of(patient(&cancel), slow);
    assert!(!opened.load(Ordering::SeqCst));
}

#[test]
fn a_transport_that_does_not_open_is_left_behind_and_closed_when_it_does() {
    let cancel = CancelToken::new();
    let (slow, there) = slow();
    let (gate, escape) = (slow.gate.clone(), cancel.clone());
    let waiting = gate.clone();
    let user = std::thread::spawn(move || {
        waiting.wait_for(1);
        escape.cancel();
    });
    failure_of(patient(&cancel), slow);
    user.join().unwrap();
    gate.open();
    in_time(move || {
        let mut wire = Wire::open(there);
        assert_eq!(wire.receive(), None, "nothing is said, and it is closed");
    });
}

#[test]
fn a_token_means_nothing_to_a_client_that_is_there() {
    let cancel = CancelToken::new();
    let server = crate::scripted::greeter().build().unwrap();
    let (here, there) = memory::pair();
    let _serving = server.open(there).unwrap();
    let client: Client = connect(patient(&cancel), here).unwrap();
    cancel.cancel();
    let result = client
        .call_tool("greet", &json!({ "name": "Ada" }))
        .unwrap();
    assert_eq!(result.content[0].as_text(), Some("Hello, Ada!"));
    assert!(!client.is_closed());
}

#[test]
fn a_panic_of_the_transport_is_the_callers() {
    #[derive(Debug)]
    struct Panics;
    impl Transport for Panics {
        fn open(self: Box<Self>, _: &Limits) -> Result<TransportParts> {
            panic!("on purpose")
        }
    }
    let cancel = CancelToken::new();
    let panic = std::panic::catch_unwind(|| patient(&cancel).connect(Panics)).unwrap_err();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"on purpose"));
}

// A child that ignores what it is asked, be it by a signal.
#[cfg(unix)]
#[test]
fn a_silent_child_is_given_up_and_reaped() {
    use mcplink::transport::Child;

    let name = format!("mcplink-cancelled-{}", std::process::id());
    let noted = std::env::temp_dir().join(name);
    let script = "trap '' TERM; echo $$ >> \"$NOTED\"; while :; do read line || sleep 1; done";
    let child = Child::new("sh").args(["-c", script]).env("NOTED", &noted);
    let cancel = CancelToken::new();
    let (escape, seen) = (cancel.clone(), noted.clone());
    let user = std::thread::spawn(move || {
        crate::common::wait_until("the child has started", || {
            std::fs::read_to_string(&seen).is_ok_and(|text| text.ends_with('\n'))
        });
        escape.cancel();
    });
    failure_of(patient(&cancel), child);
    user.join().unwrap();
    let text = std::fs::read_to_string(&noted).unwrap();
    std::fs::remove_file(&noted).unwrap();
    let pids: Vec<&str> = text.lines().collect();
    assert_eq!(pids.len(), 1, "it is not started once more");
    let there = std::process::Command::new("sh")
        .args(["-c", "kill -0 \"$0\" 2>/dev/null", pids[0]])
        .status()
        .unwrap();
    assert!(!there.success(), "the child is gone");
}

#[cfg(feature = "http-client")]
mod http {
    use super::*;
    use crate::stub::{Out, Seen, Stub, initialized};

    /// A server that answers some requests and then has the client give up, after which it sees its connection closed.
    fn check(revisions: &[ProtocolVersion], answers: fn(&Seen, &mut Out) -> bool) {
        let error = outcome(revisions, answers).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled, "{error}");
    }

    fn outcome(revisions: &[ProtocolVersion], answers: fn(&Seen, &mut Out) -> bool) -> Result<()> {
        let cancel = CancelToken::new();
        let (escape, closed) = (cancel.clone(), Arc::new(AtomicBool::new(false)));
        let saw = Arc::clone(&closed);
        let stub = Stub::start(move |seen, out| {
            if !answers(seen, out) {
                escape.cancel();
                out.expect_close();
                saw.store(true, Ordering::SeqCst);
            }
        });
        let client = patient(&cancel).revisions(revisions);
        let outcome = connect(client, stub.http()).map(drop);
        crate::common::wait_until("the connection is closed", || closed.load(Ordering::SeqCst));
        outcome
    }

    #[test]
    fn a_silent_server_is_given_up_in_each_phase() {
        // The probe, and what the legacy era begins with.
        check(ProtocolVersion::ALL, |_, _| false);
        check(LEGACY, |_, _| false);
        check(ProtocolVersion::ALL, |seen, out| {
            let probes = seen.asks() == "server/discover";
            if probes {
                out.respond("400 Bad Request", &[], "no");
            }
            probes
        });
        // The stream of the first transport.
        check(LEGACY, |seen, out| {
            let posts = seen.method == "POST";
            if posts {
                out.respond("404 Not Found", &[], "no");
            }
            posts
        });
    }

    #[test]
    fn a_server_that_never_begins_the_stream_beside_calls_is_given_up() {
        let outcome = outcome(LEGACY, |seen, out| match (&*seen.method, &*seen.asks()) {
            ("POST", "initialize") => {
                out.result(seen, initialized("2025-11-25"));
                true
            }
            ("POST", _) => {
                out.accept();
                true
            }
            _ => false,
        });
        // Nobody waits for that stream for ever: on a busy machine there is a client before the server gives the word.
        if let Err(error) = outcome {
            assert_eq!(error.kind(), ErrorKind::Cancelled, "{error}");
        }
    }
}
