//! What the library says to its host: how much it matters, and which part says it.

use std::sync::mpsc::{self, Receiver};

use mcplink::RpcError;
use mcplink::protocol::{Connection, Handlers, LogLevel, LogRecord};
use mcplink::schema::{ProtocolVersion, Resource};
use mcplink::server::{Context, HandlerError, ResourceRead, Server, ServerBuilder};
use serde_json::json;

use crate::common::{LONG, play};
use crate::raw::Raw;

type Said = (LogLevel, String, String);

fn note(record: &LogRecord<'_>) -> Said {
    assert_eq!(record.to_string(), record.text);
    (
        record.level,
        record.target.to_owned(),
        record.text.to_owned(),
    )
}

/// A server whose records come out at the other end.
fn logging(server: ServerBuilder) -> (ServerBuilder, Receiver<Said>) {
    let (log, said) = mpsc::channel();
    let server = server.on_log(move |record| _ = log.send(note(record)));
    (server, said)
}

/// The next record, which holds this text.
fn expect(said: &Receiver<Said>, level: LogLevel, target: &str, text: &str) {
    let next = said.recv_timeout(LONG).expect("something is said");
    assert_eq!((next.0, &*next.1), (level, target), "{}", next.2);
    assert!(next.2.contains(text), "{}", next.2);
}

#[test]
fn levels_are_in_order_and_have_names() {
    let levels = [
        (LogLevel::Debug, "debug"),
        (LogLevel::Info, "info"),
        (LogLevel::Warning, "warning"),
        (LogLevel::Error, "error"),
    ];
    assert!(levels.is_sorted_by_key(|(level, _)| *level));
    for (level, name) in levels {
        assert_eq!(level.to_string(), name);
    }
}

#[test]
fn what_fails_in_a_handler_is_an_error_of_the_server() {
    let server = Server::builder("s", "1").resource(
        Resource::new("a:b", "b"),
        |_: &ResourceRead, _: &Context| {
            Err::<String, _>(HandlerError::from(std::io::Error::other(
                "the disk is gone",
            )))
        },
    );
    let (server, said) = logging(server);
    let mut client = Raw::open(&server.build().unwrap(), ProtocolVersion::LATEST);
    assert_eq!(
        client.code("resources/read", json!({ "uri": "a:b" })),
        -32603
    );
    expect(&said, LogLevel::Error, "server", "the disk is gone");
}

#[test]
fn a_panic_of_the_hook_costs_the_record_only() {
    let server = Server::builder("s", "1")
        .resource(
            Resource::new("a:b", "b"),
            |_: &ResourceRead, _: &Context| {
                Err::<String, _>(HandlerError::from(std::io::Error::other("broken")))
            },
        )
        .on_log(|_| panic!("as the test wants"))
        .build()
        .unwrap();
    let mut client = Raw::open(&server, ProtocolVersion::LATEST);
    for _ in 0..2 {
        let error = client.error("resources/read", json!({ "uri": "a:b" }));
        assert_eq!(error["message"], "internal error");
    }
}

#[test]
fn what_happens_on_the_wire_is_said_by_the_protocol() {
    let (log, said) = mpsc::channel();
    let (keep, kept) = mpsc::channel();
    let handlers = Handlers::new()
        .request("panic", |_, _| panic!("as the test wants"))
        .request("keep", move |_, responder| drop(keep.send(responder)));
    let connection = Connection::server().handlers(handlers);
    let hook = move |record: &LogRecord<'_>| _ = log.send(note(record));
    let (_connection, mut script) = play(connection.log(std::sync::Arc::new(hook)));

    script.send_bytes(b"Listening on port 8080".to_vec());
    assert!(script.receive()["error"].is_object());
    expect(
        &said,
        LogLevel::Warning,
        "protocol",
        "a message that is none",
    );

    script.request(1, "keep");
    let responder = kept.recv_timeout(LONG).unwrap();
    script.cancel(1);
    expect(&said, LogLevel::Debug, "protocol", "cancelled request 1");
    _ = responder.refuse(&RpcError::internal("nobody hears it"));

    script.request(2, "panic");
    assert!(script.receive()["error"].is_object());
    let (one, other) = (said.recv_timeout(LONG), said.recv_timeout(LONG));
    for (level, target, text) in [one.unwrap(), other.unwrap()] {
        assert_eq!((level, &*target), (LogLevel::Error, "protocol"), "{text}");
        assert!(text.contains("panicked"), "{text}");
    }
}

#[cfg(feature = "http-server")]
#[test]
fn what_is_refused_over_http_is_said_by_http() {
    use std::io::{Read, Write};
    use std::net::TcpStream;

    let (server, said) = logging(Server::builder("s", "1"));
    let server = server.build().unwrap();
    let http = server.listen_http("0", Default::default()).unwrap();
    let address = http.url();
    let address = address.strip_prefix("http://").unwrap();
    let (address, path) = address.split_once('/').unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    let head = format!(
        "POST /{path} HTTP/1.1\r\nHost: evil.example\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{{}}"
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
    expect(&said, LogLevel::Warning, "http", "a request was refused");
}

#[cfg(feature = "log")]
mod forwarded {
    use std::sync::{Mutex, PoisonError};

    use super::*;
    use crate::common::run_alone;

    struct Logger(Mutex<Vec<String>>);

    static LOGGER: Logger = Logger(Mutex::new(Vec::new()));

    impl log::Log for Logger {
        fn enabled(&self, _: &log::Metadata<'_>) -> bool {
            true
        }

        fn log(&self, record: &log::Record<'_>) {
            let line = format!("{} {}: {}", record.level(), record.target(), record.args());
            let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            lines.push(line.clone());
            assert!(!line.contains("logger panics"), "as the test wants");
        }

        fn flush(&self) {}
    }

    impl Logger {
        fn take(&self) -> Vec<String> {
            let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *lines)
        }
    }

    /// A client of a server with a resource that can't be read.
    fn failing(server: ServerBuilder, why: &'static str) -> Raw {
        let server = server.resource(
            Resource::new("a:b", "b"),
            move |_: &ResourceRead, _: &Context| {
                Err::<String, _>(HandlerError::from(std::io::Error::other(why)))
            },
        );
        Raw::open(&server.build().unwrap(), ProtocolVersion::LATEST)
    }

    fn read(client: &mut Raw) {
        let code = client.code("resources/read", json!({ "uri": "a:b" }));
        assert_eq!(code, -32603);
    }

    #[test]
    #[ignore = "runs in a process of its own"]
    fn with_a_logger() {
        log::set_logger(&LOGGER).unwrap();
        log::set_max_level(log::LevelFilter::Warn);
        let mut client = failing(Server::builder("s", "1"), "the disk is gone");
        read(&mut client);
        let lines = LOGGER.take();
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].starts_with("ERROR mcplink::server: "), "{lines:?}");
        assert!(lines[0].contains("the disk is gone"), "{lines:?}");
        // A hook takes the place of the logger.
        let (server, said) = logging(Server::builder("s", "1"));
        read(&mut failing(server, "the disk is gone"));
        expect(&said, LogLevel::Error, "server", "the disk is gone");
        assert_eq!(LOGGER.take(), [] as [String; 0]);
        // The level of the logger holds, and a panic in it costs the record only.
        log::set_max_level(log::LevelFilter::Off);
        read(&mut client);
        assert_eq!(LOGGER.take(), [] as [String; 0]);
        log::set_max_level(log::LevelFilter::Error);
        let mut client = failing(Server::builder("s", "1"), "the logger panics");
        read(&mut client);
        read(&mut client);
        assert_eq!(LOGGER.take().len(), 2);
    }

    #[test]
    fn records_without_a_hook_go_to_the_logger_of_the_program() {
        run_alone("log_records::forwarded::with_a_logger");
    }
}
