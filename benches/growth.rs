//! Measures how the cost of a message grows with the number of requests in flight, sessions and
//! tools, and with the length of the message.
//!
//! `cargo bench --bench growth` prints the curves: the cost of one message in the fastest of
//! several rounds, since other load can only make a round slower.
//! `cargo bench --bench growth -- sessions tools` prints some of them. The benchmark passes the
//! messages to the server's HTTP service in this process, so sockets and other processes have no
//! part in the figures.
#![allow(clippy::print_stdout, reason = "a program of its own")]
#![allow(missing_docs, reason = "a program of its own")]

use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use mcplink::schema::{JsonSchema, Tool};
use mcplink::server::http::{HttpOptions, HttpService};
use mcplink::server::{Context, Server, ServerBuilder, ToolCall};
use mcplink::transport::http::{HttpRequest, ResponseHead, ResponseWriter, Service as _};
use serde::Deserialize;
use serde_json::{Value, json};

/// The number of rounds for each measurement.
const ROUNDS: usize = 15;
/// The number of messages of 100 bytes in a round.
const CALLS: usize = 2_000;
const SIZES: [usize; 5] = [1, 10, 100, 1_000, 10_000];

#[derive(Deserialize)]
struct Echo {
    message: String,
}

type Curve = fn() -> Result<(), Box<dyn Error>>;

/// Makes a tool that accepts any object.
fn any(name: &str) -> Tool {
    Tool::new(name).input_schema(JsonSchema::any_object())
}

fn main() -> Result<(), Box<dyn Error>> {
    let curves: [(&str, Curve); 4] = [
        ("flight", in_flight),
        ("sessions", sessions),
        ("tools", tools),
        ("payload", payload),
    ];
    let words: Vec<String> = std::env::args().skip(1).collect();
    // `cargo bench` adds the argument `--bench`.
    let words: Vec<&String> = words
        .iter()
        .filter(|word| !word.starts_with("--"))
        .collect();
    let wanted = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(*word));
    curves
        .iter()
        .filter(|(name, _)| wanted(name))
        .try_for_each(|(_, curve)| curve())
}

/// Collects the heads of the answers, and checks that none is an error.
#[derive(Clone, Debug, Default)]
struct Answers(Arc<Mutex<Vec<ResponseHead>>>);

impl ResponseWriter for Answers {
    fn respond(&mut self, head: &ResponseHead, body: &[u8]) -> mcplink::Result<()> {
        let text = String::from_utf8_lossy(&body[..body.len().min(200)]);
        assert!(head.status < 300 && !text.contains("\"error\""), "{text}");
        let mut heads = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        heads.push(head.clone());
        Ok(())
    }

    fn begin(&mut self, _: &ResponseHead, _: &[u8]) -> mcplink::Result<()> {
        unreachable!("the answers come whole")
    }

    fn write(&mut self, _: &[u8], _: Option<Instant>) -> mcplink::Result<bool> {
        unreachable!("the answers come whole")
    }

    fn finish(&mut self) -> mcplink::Result<()> {
        unreachable!("the answers come whole")
    }

    fn on_gone(&mut self, _: Box<dyn FnOnce() + Send>) {}
}

impl Answers {
    fn take(&self) -> Vec<ResponseHead> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn builder() -> ServerBuilder {
    Server::builder("growth", "1.0")
        .tool_with_schema(any("echo"), |args: Echo, _: &Context| args.message)
}

/// A request of the modern era; it is sent with the header fields of that era.
struct Call {
    tool: String,
    body: Vec<u8>,
}

impl Call {
    fn of(tool: &str, message: &str) -> Self {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "growth", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let params = json!({ "name": tool, "arguments": { "message": message }, "_meta": meta });
        let request =
            json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        Self {
            tool: tool.to_owned(),
            body: request.to_string().into_bytes(),
        }
    }

    fn send(&self, service: &HttpService, answers: &Answers) {
        let headers: [(&str, &[u8]); 6] = [
            ("Host", b"localhost"),
            ("Content-Type", b"application/json"),
            ("Accept", b"application/json, text/event-stream"),
            ("MCP-Protocol-Version", b"2026-07-28"),
            ("Mcp-Method", b"tools/call"),
            ("Mcp-Name", self.tool.as_bytes()),
        ];
        let request = HttpRequest::new("POST", "/mcp")
            .headers(&headers)
            .body(self.body.clone());
        service.serve(request, Box::new(answers.clone()));
    }
}

/// Returns the time per message in the fastest round. A warm-up round is not counted.
fn each(
    messages: usize,
    mut round: impl FnMut() -> Result<Duration, Box<dyn Error>>,
) -> Result<f64, Box<dyn Error>> {
    round()?;
    let mut quickest = Duration::MAX;
    for _ in 0..ROUNDS {
        quickest = quickest.min(round()?);
    }
    Ok(quickest.as_secs_f64() / messages as f64)
}

/// Prints one point of a curve, and its ratio to the first point.
fn show(what: &str, number: usize, cost: f64, unit: &str, first: &mut Option<f64>) {
    let ratio = cost / *first.get_or_insert(cost);
    println!("{what:<24} {number:>9} {cost:>10.2} {unit}  {ratio:>5.2}x");
}

/// Starts many calls, and then answers them in the order of their start.
fn in_flight() -> Result<(), Box<dyn Error>> {
    let mut first = None;
    for count in SIZES {
        let kept: Arc<Mutex<Vec<ToolCall>>> = Arc::default();
        let keeper = Arc::clone(&kept);
        let keep = move |call: ToolCall| {
            keeper
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(call);
        };
        let server = builder()
            .deferred_tool(
                Tool::new("wait").input_schema(JsonSchema::any_object()),
                keep,
            )
            .build()?;
        let service = server.http_service(HttpOptions::new().max_requests(20_000));
        let (call, answers) = (Call::of("wait", ""), Answers::default());
        // Small numbers are repeated, so that a round is long enough for the clock.
        let times = (CALLS / count).max(1);
        let cost = each(times * count, || {
            let began = Instant::now();
            for _ in 0..times {
                (0..count).for_each(|_| call.send(&service, &answers));
                let calls =
                    std::mem::take(&mut *kept.lock().unwrap_or_else(PoisonError::into_inner));
                assert_eq!(calls.len(), count);
                calls
                    .into_iter()
                    .try_for_each(|call| call.respond("done"))?;
                assert_eq!(answers.take().len(), count);
            }
            Ok(began.elapsed())
        })?;
        show(
            "calls in flight",
            count,
            cost * 1e6,
            "µs a call",
            &mut first,
        );
        service.close();
    }
    Ok(())
}

/// Makes calls on many sessions, in turn.
fn sessions() -> Result<(), Box<dyn Error>> {
    let mut first = None;
    for count in SIZES {
        let service = builder()
            .build()?
            .http_service(HttpOptions::new().max_sessions(20_000));
        let answers = Answers::default();
        let post = |message: &Value, session: Option<&str>| {
            let mut headers: Vec<(&str, &[u8])> = vec![
                ("Host", b"localhost"),
                ("Content-Type", b"application/json"),
                ("Accept", b"application/json, text/event-stream"),
                ("MCP-Protocol-Version", b"2025-11-25"),
            ];
            headers.extend(session.map(|id| ("Mcp-Session-Id", id.as_bytes())));
            let request = HttpRequest::new("POST", "/mcp")
                .headers(&headers)
                .body(message.to_string().into_bytes());
            service.serve(request, Box::new(answers.clone()));
        };
        let open = || -> Result<String, Box<dyn Error>> {
            let client = json!({ "name": "growth", "version": "1" });
            let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
            let request =
                json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
            post(&request, None);
            let heads = answers.take();
            let fields = heads.iter().flat_map(|head| &head.headers);
            let mut ids = fields.filter(|(name, _)| *name == "Mcp-Session-Id");
            Ok(ids.next().ok_or("no session was opened")?.1.to_string())
        };
        let ids = (0..count).map(|_| open()).collect::<Result<Vec<_>, _>>()?;
        let params = json!({ "name": "echo", "arguments": { "message": "x".repeat(100) } });
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let calls = CALLS.max(count);
        let cost = each(calls, || {
            let began = Instant::now();
            let in_turn = ids.iter().cycle().take(calls);
            in_turn.for_each(|id| post(&call, Some(id)));
            let took = began.elapsed();
            assert_eq!(answers.take().len(), calls);
            Ok(took)
        })?;
        show("sessions", count, cost * 1e6, "µs a call", &mut first);
        service.close();
    }
    Ok(())
}

/// Calls one tool of a server with many tools.
fn tools() -> Result<(), Box<dyn Error>> {
    let mut first = None;
    for count in SIZES {
        let server = builder().build()?;
        for number in 1..count {
            let tool = Tool::new(format!("tool_{number}"));
            server.add_tool(tool, |_: Value, _: &Context| "nothing")?;
        }
        let service = server.http_service(HttpOptions::new());
        let cost = each(CALLS, || {
            calls(&service, &Call::of("echo", &"x".repeat(100)), CALLS)
        })?;
        show("tools", count, cost * 1e6, "µs a call", &mut first);
        service.close();
    }
    Ok(())
}

/// Calls a tool with a long text, which it returns.
fn payload() -> Result<(), Box<dyn Error>> {
    let mut first = None;
    let service = builder().build()?.http_service(HttpOptions::new());
    for bytes in [1 << 10, 16 << 10, 256 << 10, 4 << 20, 64 << 20] {
        let message =
            "A line of a text, as most of them are: with \"quotes\" in it.\n".repeat(bytes / 60);
        let call = Call::of("echo", &message);
        let count = (CALLS * 1024 / bytes).max(1);
        let cost = each(count, || calls(&service, &call, count))?;
        let nanos = cost * 1e9 / bytes as f64;
        show("bytes of a text", bytes, nanos, "ns a byte", &mut first);
    }
    service.close();
    Ok(())
}

fn calls(service: &HttpService, call: &Call, count: usize) -> Result<Duration, Box<dyn Error>> {
    let answers = Answers::default();
    let began = Instant::now();
    (0..count).for_each(|_| call.send(service, &answers));
    let took = began.elapsed();
    assert_eq!(answers.take().len(), count);
    Ok(took)
}
