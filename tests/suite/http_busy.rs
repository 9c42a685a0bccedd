//! What must not wait for handlers, over HTTP, while as many of them run as may.

use std::sync::{Mutex, mpsc};
use std::thread;
use std::time::Instant;

use mcplink::ErrorKind;
use mcplink::client::CallOptions;
use mcplink::client::Client;
use mcplink::protocol::CancelToken;
use mcplink::schema::{ProtocolVersion, Tool};
use mcplink::server::http::HttpOptions;
use mcplink::server::{Context, Server};
use mcplink::transport::http::{Http, HttpLimits};
use serde_json::{Value, json};

use crate::common::LONG;

const WORKERS: usize = 2;

/// Its tool "block" ends when it is cancelled, and tells that it has begun.
fn server() -> (Server, mpsc::Receiver<()>) {
    let (begin, begun) = mpsc::channel();
    let begin = Mutex::new(begin);
    let server = Server::builder("s", "1")
        .tool_with(Tool::new("echo"), |args: Value, _: &Context| {
            args.to_string()
        })
        .tool_with(Tool::new("block"), move |_: Value, context: &Context| {
            begin.lock().unwrap().send(()).unwrap();
            context.cancel_token().wait(LONG);
            "cancelled"
        })
        .build();
    (server.unwrap(), begun)
}

// L-PING-B-01, L-CANC-B-04, M-CANC-S-04
#[test]
fn pings_openings_and_cancellations_wait_for_no_handler() {
    for revision in [ProtocolVersion::V2025_11_25, ProtocolVersion::LATEST] {
        let (server, begun) = server();
        let mut limits = HttpLimits::default();
        limits.max_workers = WORKERS;
        let options = HttpOptions::new().limits(limits);
        let http = server.listen_http("127.0.0.1:0", options).unwrap();
        let connect = || {
            let builder = Client::builder("c", "1").revisions(&[revision]);
            builder.connect(Http::new(&http.url()).unwrap()).unwrap()
        };
        let client = connect();
        let tokens = [CancelToken::new(), CancelToken::new()];
        thread::scope(|scope| {
            let blocked = tokens.each_ref().map(|token| {
                scope.spawn(|| {
                    let options = CallOptions::new().cancel_with(token);
                    let called = client.call_tool_with("block", &json!({}), options);
                    called.unwrap_err().kind()
                })
            });
            (0..WORKERS).for_each(|_| begun.recv_timeout(LONG).unwrap());
            let echo = scope.spawn(|| client.call_tool("echo", &json!({"a": 1})));
            let deadline = Instant::now() + LONG;
            while http.stats().waiting == 0 {
                assert!(Instant::now() < deadline, "{:?}", http.stats());
                thread::yield_now();
            }
            let within = || CallOptions::new().timeout(LONG);
            client.ping(within()).unwrap();
            // It needs a handler, for which there is no place.
            assert!(!echo.is_finished() && http.stats().waiting == 1);
            let other = connect();
            other.ping(within()).unwrap();
            let [first, second] = blocked;
            tokens[0].cancel();
            assert_eq!(first.join().unwrap(), ErrorKind::Cancelled);
            // Its place is free.
            let echo = echo.join().unwrap().unwrap();
            assert_eq!(echo.content[0].as_text(), Some(r#"{"a":1}"#));
            tokens[1].cancel();
            assert_eq!(second.join().unwrap(), ErrorKind::Cancelled);
        });
    }
}
