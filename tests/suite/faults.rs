//! A client and a server whose connection goes wrong: every call ends in time, with the kind that says what happened.

use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use mcplink::client::CallOptions;
use mcplink::client::Client;
use mcplink::protocol::Connection;
use mcplink::schema::{JsonSchema, ProtocolVersion, Tool};
use mcplink::server::Server;
use mcplink::transport::Direction::{self, Incoming, Outgoing};
use mcplink::transport::memory;
use mcplink::{ErrorKind, Result};
use mcplink_testing::{Fault, Faults};
use serde_json::{Value, json};

use crate::common::{LONG, within};

const TIMEOUT: Duration = Duration::from_millis(250);
const HOUR: Duration = Duration::from_secs(3600);

const LEGACY: ProtocolVersion = ProtocolVersion::V2025_11_25;
const MODERN: ProtocolVersion = ProtocolVersion::V2026_07_28;

/// A connected pair, with faults on the client's or on the server's side, where directions are the other way round.
fn connect(
    revisions: &[ProtocolVersion],
    timeout: Duration,
    on_the_server: bool,
    faults: impl FnOnce(Faults) -> Faults,
) -> Result<(Client, Connection)> {
    let tool = |_: Value, _: &_| "done";
    let builder = Server::builder("frail", "1.0").drain(TIMEOUT);
    let server = builder.tool_with(Tool::new("work"), tool).build()?;
    let builder = Client::builder("test", "1.0")
        .revisions(revisions)
        .connect_timeout(timeout);
    let (here, there) = memory::pair();
    Ok(if on_the_server {
        let serving = server.open(faults(Faults::new(there)))?;
        (builder.connect(here)?, serving)
    } else {
        let serving = server.open(there)?;
        (builder.connect(faults(Faults::new(here)))?, serving)
    })
}

fn call(client: &Client, timeout: Duration) -> Result<()> {
    let options = CallOptions::new().timeout(timeout);
    let result = client.call_tool_with("work", &json!({}), options)?;
    assert_eq!(result.content[0].as_text(), Some("done"));
    Ok(())
}

/// The call after the opening meets a fault on its way there or back. Gives the client, when its connection should go on.
#[track_caller]
fn check(way: Direction, fault: Fault, expected: Option<ErrorKind>) {
    for (revision, opening) in [(MODERN, (1, 1)), (LEGACY, (2, 1))] {
        for on_the_server in [false, true] {
            let number = 1 + match way {
                Outgoing => opening.0,
                Incoming => opening.1,
            };
            let seen = match (way, on_the_server) {
                (way, false) => way,
                (Outgoing, true) => Incoming,
                (Incoming, true) => Outgoing,
            };
            let what = format!("{way:?} {fault:?} {revision} on_the_server: {on_the_server}");
            let (client, serving) = connect(&[revision], LONG, on_the_server, |faults| {
                faults.at(seen, number, fault)
            })
            .unwrap();
            // A server that has lost its connection ends it.
            let waiting = serving.clone();
            let waiting = thread::spawn(move || waiting.wait());
            let times_out = expected == Some(ErrorKind::Timeout);
            let done = call(&client, if times_out { TIMEOUT } else { LONG });
            let kind = done.as_ref().err().map(mcplink::Error::kind);
            assert_eq!(kind, expected, "{what}: {done:?}");
            if matches!(fault, Fault::Drop | Fault::Truncate(_)) {
                call(&client, LONG).expect(&what);
            }
            if fault == Fault::CloseAfter {
                assert_eq!(
                    call(&client, LONG).unwrap_err().kind(),
                    ErrorKind::Closed,
                    "{what}"
                );
            }
            within(LONG, move || {
                client.close();
                serving.close();
                waiting.join().unwrap();
            });
        }
    }
}

#[test]
fn a_lost_message_times_its_call_out_and_no_other() {
    check(Outgoing, Fault::Drop, Some(ErrorKind::Timeout));
    check(Incoming, Fault::Drop, Some(ErrorKind::Timeout));
}

#[test]
fn a_message_that_is_late_is_waited_for_until_the_deadline() {
    let short = Duration::from_millis(20);
    check(Outgoing, Fault::Delay(short), None);
    check(Incoming, Fault::Delay(short), None);
    check(Outgoing, Fault::Delay(HOUR), Some(ErrorKind::Timeout));
    check(Incoming, Fault::Delay(HOUR), Some(ErrorKind::Timeout));
}

#[test]
fn a_message_that_was_cut_fails_its_call_at_once_if_its_id_is_left() {
    check(Outgoing, Fault::Truncate(40), Some(ErrorKind::Peer));
    check(Incoming, Fault::Truncate(40), Some(ErrorKind::Protocol));
    check(Outgoing, Fault::Truncate(8), Some(ErrorKind::Timeout));
    check(Incoming, Fault::Truncate(8), Some(ErrorKind::Timeout));
}

#[test]
fn a_lost_connection_fails_its_calls_at_once() {
    check(Outgoing, Fault::Close, Some(ErrorKind::Closed));
    check(Incoming, Fault::Close, Some(ErrorKind::Closed));
    check(Incoming, Fault::CloseAfter, None);
}

#[test]
fn a_connection_that_is_lost_behind_a_request_leaves_no_call_waiting() {
    // The request arrives, and is not answered before the connection is lost.
    let kept = Mutex::new(Vec::new());
    let server = Server::builder("frail", "1.0")
        .drain(TIMEOUT)
        .deferred_tool(
            Tool::new("work").input_schema(JsonSchema::any_object()),
            move |call| {
                kept.lock().unwrap().push(call);
            },
        )
        .build()
        .unwrap();
    let (here, there) = memory::pair();
    let _serving = server.open(there).unwrap();
    let client = Client::builder("test", "1.0").revisions(&[MODERN]);
    let client = client
        .connect(Faults::new(here).at(Outgoing, 2, Fault::CloseAfter))
        .unwrap();
    let options = CallOptions::new().timeout(LONG);
    let error = client
        .call_tool_with("work", &json!({}), options)
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Closed);
    assert!(error.to_string().contains("an injected fault"), "{error}");
    // It may have had an effect.
    assert!(error.was_sent());
}

#[test]
fn connecting_ends_in_time_too() {
    for revisions in [&[LEGACY][..], ProtocolVersion::ALL] {
        for (fault, expected) in [
            (Fault::Drop, ErrorKind::Timeout),
            (Fault::Delay(HOUR), ErrorKind::Timeout),
            (Fault::Close, ErrorKind::Closed),
        ] {
            for way in [Outgoing, Incoming] {
                let done = connect(revisions, TIMEOUT, false, |faults| {
                    faults.since(way, 1, fault)
                });
                let error = done.map(drop).unwrap_err();
                assert_eq!(error.kind(), expected, "{revisions:?} {way:?}: {error}");
            }
        }
    }
}
