//! Notifications that wait for the same stream are written together, in order, over stdio and HTTP.

use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex};

use mcplink::schema::ProtocolVersion;
use mcplink::server::{List, Server};
use mcplink::transport::Stream;
use serde_json::{Value, json};

use crate::common::{Gate, LONG, within};
use crate::raw::Raw;

/// So many resources change while a stream takes nothing.
const MANY: usize = 20;
const LAST: &str = "last:of-all";

fn server() -> Server {
    Server::builder("s", "1")
        .declare_capability(List::Resources)
        .build()
        .unwrap()
}

fn uris() -> Vec<String> {
    (0..MANY).map(|n| format!("a:{n}")).collect()
}

/// Publishes changes of all, and waits until they were handed to their subscribers.
fn change_all(server: &Server, uris: &[String]) {
    let mut other = Raw::open(server, ProtocolVersion::V2025_11_25);
    other.check_messages(false);
    other.result("resources/subscribe", json!({ "uri": LAST }));
    for uri in uris {
        server.resource_updated(uri);
    }
    server.resource_updated(LAST);
    assert_eq!(other.next()["params"]["uri"], LAST);
}

/// The other end of a pipe: each write passes the gate once the gate was asked to hold writes up.
#[derive(Clone)]
struct Written(Arc<(Mutex<State>, Condvar)>, Gate);

#[derive(Default)]
struct State {
    pieces: Vec<Vec<u8>>,
    holds: bool,
}

impl Write for Written {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        let holds = self.0.0.lock().unwrap().holds;
        if holds {
            self.1.pass();
        }
        self.0.0.lock().unwrap().pieces.push(piece.to_vec());
        self.0.1.notify_all();
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Written {
    /// Takes everything that was written, once it has this many lines: the number of writes, and the messages.
    fn take(&self, lines: usize) -> (usize, Vec<Value>) {
        let count = |state: &State| {
            let bytes = state.pieces.iter().flatten();
            bytes.filter(|byte| **byte == b'\n').count()
        };
        let state = self.0.0.lock().unwrap();
        let (mut state, waited) = self
            .0
            .1
            .wait_timeout_while(state, LONG, |state| count(state) < lines)
            .unwrap();
        assert!(!waited.timed_out(), "{} of {lines} lines", count(&state));
        let pieces = std::mem::take(&mut state.pieces);
        let text = String::from_utf8(pieces.concat()).unwrap();
        let messages = text.lines().map(|line| serde_json::from_str(line).unwrap());
        (pieces.len(), messages.collect())
    }
}

#[test]
fn over_stdio_what_is_due_is_written_together() {
    within(LONG, || {
        for revision in [ProtocolVersion::V2025_11_25, ProtocolVersion::LATEST] {
            let server = server();
            let (reader, mut input) = io::pipe().unwrap();
            let written = Written(Arc::default(), Gate::default());
            let connection = server.open(Stream::new(reader, written.clone())).unwrap();
            let mut send = |message: Value| writeln!(input, "{message}").unwrap();
            let uris = uris();
            if revision.is_modern() {
                send(
                    json!({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": {
                        "notifications": { "resourceSubscriptions": uris },
                        "_meta": {
                            "io.modelcontextprotocol/protocolVersion": revision.as_str(),
                            "io.modelcontextprotocol/clientCapabilities": {},
                        },
                    }}),
                );
                written.take(1);
            } else {
                send(
                    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
                        "protocolVersion": revision.as_str(), "capabilities": {},
                        "clientInfo": { "name": "c", "version": "1" },
                    }}),
                );
                written.take(1);
                send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
                for (id, uri) in (1..).zip(&uris) {
                    send(json!({
                        "jsonrpc": "2.0", "id": id, "method": "resources/subscribe",
                        "params": { "uri": uri },
                    }));
                    written.take(1);
                }
            }
            written.0.0.lock().unwrap().holds = true;
            server.resource_updated(&uris[0]);
            // A thread of the connection writes, and is held up.
            written.1.wait_for(1);
            change_all(&server, &uris[1..]);
            written.1.open();
            let (writes, told) = written.take(MANY);
            let told = told.iter().map(|message| message["params"]["uri"].as_str());
            let told: Vec<_> = told.map(|uri| uri.expect("an update").to_owned()).collect();
            assert_eq!(told, uris);
            assert_eq!(writes, 2, "{revision}");
            connection.close();
        }
    });
}

#[cfg(feature = "http-server")]
mod http {
    use super::*;
    use crate::web::{Answer, LegacySession, Web};

    fn told(stream: &Answer, count: usize) -> Vec<String> {
        let mut told = Vec::new();
        while told.len() < count {
            let event = stream.event().expect("an event");
            if !event.data.is_empty() {
                let message = event.message();
                told.push(message["params"]["uri"].as_str().unwrap().to_owned());
            }
        }
        told
    }

    fn listen(web: &Web, uris: &[String]) -> Answer {
        let filter = json!({ "resourceSubscriptions": uris });
        let params = json!({ "notifications": filter });
        let stream = web.modern("subscriptions/listen", params);
        stream.event().expect("the acknowledgement");
        stream
    }

    fn get<'w>(web: &'w Web, uris: &[String]) -> (LegacySession<'w>, Answer) {
        let session = web.session(ProtocolVersion::V2025_06_18);
        for uri in uris {
            let params = json!({ "uri": uri });
            session.request("resources/subscribe", params).result();
        }
        let stream = session.get(None);
        stream.head();
        (session, stream)
    }

    /// The sizes of the writes with which a stream is told of all changes that came while it did not read.
    fn writes(server: &Server, stream: &Answer, uris: &[String]) -> Vec<usize> {
        stream.stall();
        change_all(server, uris);
        stream.pieces();
        stream.go_on();
        assert_eq!(told(stream, uris.len()), uris);
        stream.pieces()
    }

    #[test]
    fn what_is_due_is_written_together() {
        let server = server();
        let web = Web::new(&server);
        let (short, long): (Vec<_>, Vec<_>) = uris()
            .into_iter()
            .map(|uri| (uri.clone(), uri + &"x".repeat(4 << 10)))
            .unzip();
        for uris in [&short, &long] {
            let (session, legacy) = get(&web, uris);
            let modern = listen(&web, uris);
            for stream in [&modern, &legacy] {
                const ROUNDS: usize = 3;
                for _ in 0..ROUNDS {
                    let writes = writes(&server, stream, uris);
                    let bytes: usize = writes.iter().sum();
                    // One attempt may have begun before the last change came.
                    assert!(writes.len() <= 2 + bytes / (16 << 10), "{writes:?}");
                    // A large piece ends soon after it is large, so that slow readers hold up little.
                    assert!(writes.iter().all(|bytes| *bytes < 22 << 10), "{writes:?}");
                }
                let mut others = [&modern, &legacy].into_iter();
                let other = others.find(|other| !std::ptr::eq(*other, stream));
                told(other.unwrap(), ROUNDS * uris.len());
            }
            session.delete().status();
            modern.leave();
        }
    }

    // Events of one write can be resumed from, each of them.
    #[test]
    fn events_that_were_written_together_have_their_own_ids() {
        let server = server();
        let web = Web::new(&server);
        let uris = uris();
        let (session, stream) = get(&web, &uris);
        stream.stall();
        change_all(&server, &uris);
        stream.go_on();
        let ids: Vec<_> = (0..MANY)
            .map(|_| stream.event().unwrap().id.unwrap())
            .collect();
        stream.leave();
        for (seen, id) in ids.iter().enumerate().take(MANY - 1) {
            let reader = session.get(Some(id));
            assert_eq!(told(&reader, MANY - 1 - seen), uris[seen + 1..]);
            reader.leave();
        }
    }
}
