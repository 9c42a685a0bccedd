//! What many HTTP clients leave behind: nothing.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use mcplink::Result;
use mcplink::schema::{ProtocolVersion, Tool};
use mcplink::server::http::{HttpOptions, HttpService};
use mcplink::server::{Context, Server};
use mcplink::transport::http::{HttpRequest, ResponseHead, ResponseWriter, Service};
use serde_json::{Value, json};

use crate::common::{rounds, run_alone};
use crate::web::{field, initialize, modern};

type Gone = Box<dyn FnOnce() + Send>;

/// What a client sees of a response.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Response>>);

#[derive(Default)]
struct Response {
    head: Option<ResponseHead>,
    body: Vec<u8>,
    on_gone: Option<Gone>,
}

impl Seen {
    fn status(&self) -> u16 {
        self.0
            .lock()
            .unwrap()
            .head
            .as_ref()
            .map_or(0, |head| head.status)
    }

    fn session(&self) -> String {
        let response = self.0.lock().unwrap();
        let head = response.head.as_ref().unwrap();
        field(head, "Mcp-Session-Id").unwrap().to_owned()
    }

    /// The id of the first event.
    fn mark(&self) -> String {
        let response = self.0.lock().unwrap();
        let text = String::from_utf8_lossy(&response.body);
        let mark = text.lines().find_map(|line| line.strip_prefix("id: "));
        mark.unwrap().to_owned()
    }

    fn leave(&self) {
        let callback = self.0.lock().unwrap().on_gone.take();
        callback.unwrap()();
    }
}

impl std::fmt::Debug for Seen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Seen")
    }
}

impl ResponseWriter for Seen {
    fn respond(&mut self, head: &ResponseHead, body: &[u8]) -> Result<()> {
        self.begin(head, body)
    }

    fn begin(&mut self, head: &ResponseHead, first: &[u8]) -> Result<()> {
        let mut response = self.0.lock().unwrap();
        response.head = Some(head.clone());
        response.body.extend_from_slice(first);
        Ok(())
    }

    fn write(&mut self, piece: &[u8], _: Option<Instant>) -> Result<bool> {
        self.0.lock().unwrap().body.extend_from_slice(piece);
        Ok(true)
    }

    fn finish(&mut self) -> Result<()> {
        self.0.lock().unwrap().on_gone = None;
        Ok(())
    }

    fn on_gone(&mut self, callback: Gone) {
        self.0.lock().unwrap().on_gone = Some(callback);
    }
}

fn send(service: &HttpService, method: &str, fields: &[(&str, &str)], body: &Value) -> Seen {
    let usual = [
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
    ];
    let headers: Vec<(&str, &[u8])> = usual
        .iter()
        .chain(fields)
        .map(|(name, value)| (*name, value.as_bytes()))
        .collect();
    let request = HttpRequest::new(method, "/mcp")
        .headers(&headers)
        .body(body.to_string().into_bytes());
    let seen = Seen::default();
    service.serve(request, Box::new(seen.clone()));
    seen
}

fn resident_kib() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.unwrap().trim_end_matches("kB").trim().parse().unwrap()
}

// Seen in other SDKs: memory grows with every use.
#[test]
#[cfg(target_os = "linux")]
fn memory_stays_flat_over_many_clients() {
    run_alone("http_memory::many_clients");
}

#[test]
#[ignore = "looks at the memory of its process: run by the test above"]
fn many_clients() {
    let server = Server::builder("s", "1")
        .tool_with(Tool::new("steps"), |_: Value, context: &Context| {
            context.progress(1.0, None, None);
            "done"
        })
        .build()
        .unwrap();
    let kept = server.http_service(HttpOptions::new());
    let options = HttpOptions::new()
        .max_sessions(50)
        .session_idle(Duration::ZERO);
    let forgetful = server.http_service(options);
    let opening = initialize(1, ProtocolVersion::V2025_11_25, json!({}));
    let (listen, right) = modern(
        2,
        "subscriptions/listen",
        json!({"notifications": {"toolsListChanged": true}}),
        json!({}),
    );
    let right: Vec<_> = right
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    let call = json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call",
        "params": {"name": "steps", "_meta": {"progressToken": 1}}});
    let all = rounds("MCPLINK_CLIENTS", 3_000);
    let mut before = 0;
    for round in 0..all {
        // Opened, used, lost and taken up again, deleted.
        let session = send(&kept, "POST", &[], &opening).session();
        let fields = [("Mcp-Session-Id", session.as_str())];
        let mark = send(&kept, "POST", &fields, &call).mark();
        let resumed = [fields[0], ("Last-Event-ID", &mark)];
        assert_eq!(send(&kept, "GET", &resumed, &Value::Null).status(), 200);
        assert_eq!(send(&kept, "DELETE", &fields, &Value::Null).status(), 200);
        // Opened and abandoned, or refused.
        assert!([200, 503].contains(&send(&forgetful, "POST", &[], &opening).status()));
        assert_eq!(send(&kept, "POST", &fields, &call).status(), 404);
        assert_eq!(
            send(
                &kept,
                "POST",
                &[("Origin", "http://evil.example")],
                &opening
            )
            .status(),
            403
        );
        // Subscribed and gone.
        let stream = send(&kept, "POST", &right, &listen);
        assert_eq!(stream.status(), 200);
        stream.leave();
        if round == all / 5 {
            before = resident_kib();
        }
    }
    assert_eq!(kept.sessions(), 0);
    assert!(forgetful.sessions() <= 50);
    let grown = resident_kib().saturating_sub(before);
    // What the allocator keeps of its own accord is allowed for.
    assert!(
        grown < 3 << 10,
        "{grown} KiB more after {all} rounds than after {}",
        all / 5
    );
}
