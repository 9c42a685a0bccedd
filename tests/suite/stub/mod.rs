//! An HTTP server played by hand: it shows what it was sent, and answers with what the test says.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use mcplink::client::CallOptions;
use mcplink::client::{Client, ClientBuilder};
use mcplink::transport::http::Http;
use serde_json::{Value, json};

use crate::common::LONG;

/// A request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) method: String,
    pub(crate) target: String,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) text: String,
    /// The how manieth connection it came by.
    pub(crate) connection: usize,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(other, _)| other == name);
        let value = found.next().map(|(_, value)| &**value);
        assert!(found.next().is_none(), "{name} came twice: {self:?}");
        value
    }

    pub(crate) fn body(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_default()
    }

    /// The JSON-RPC method.
    pub(crate) fn asks(&self) -> String {
        let body = self.body();
        body["method"].as_str().unwrap_or_default().to_owned()
    }

    pub(crate) fn id(&self) -> Value {
        self.body()["id"].clone()
    }
}

/// What a response goes out by.
pub(crate) struct Out {
    stream: TcpStream,
    is_over: bool,
}

impl Out {
    /// A whole response.
    pub(crate) fn respond(&mut self, status: &str, headers: &[(&str, &str)], body: &str) {
        let mut text = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n", body.len());
        for (name, value) in headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        self.raw(&format!("{text}\r\n{body}"));
    }

    pub(crate) fn json(&mut self, body: &Value) {
        self.json_with(&[], body);
    }

    pub(crate) fn json_with(&mut self, headers: &[(&str, &str)], body: &Value) {
        let mut all = vec![("content-type", "application/json")];
        all.extend(headers);
        self.respond("200 OK", &all, &body.to_string());
    }

    /// The result of a request.
    pub(crate) fn result(&mut self, seen: &Seen, result: Value) {
        self.json(&json!({ "jsonrpc": "2.0", "id": seen.id(), "result": result }));
    }

    pub(crate) fn accept(&mut self) {
        self.respond("202 Accepted", &[], "");
    }

    /// Begins an event stream.
    pub(crate) fn stream(&mut self) {
        self.stream_with(&[]);
    }

    pub(crate) fn stream_with(&mut self, headers: &[(&str, &str)]) {
        let mut text = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n".to_owned();
        text.push_str("content-type: text/event-stream; charset=utf-8\r\n");
        for (name, value) in headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        self.raw(&format!("{text}\r\n"));
    }

    /// A piece of the stream.
    pub(crate) fn piece(&mut self, text: &str) {
        self.raw(&format!("{:x}\r\n{text}\r\n", text.len()));
    }

    pub(crate) fn event(&mut self, message: &Value) {
        self.piece(&format!("data: {message}\n\n"));
    }

    pub(crate) fn event_result(&mut self, seen: &Seen, result: Value) {
        self.event(&json!({ "jsonrpc": "2.0", "id": seen.id(), "result": result }));
    }

    /// Ends the stream in order.
    pub(crate) fn end(&mut self) {
        self.raw("0\r\n\r\n");
    }

    pub(crate) fn raw(&mut self, text: &str) {
        // A client that has gone is what some tests are about.
        self.is_over |= self.stream.write_all(text.as_bytes()).is_err();
    }

    /// Takes the response over, to go on with it elsewhere.
    pub(crate) fn keep(&mut self) -> Self {
        self.is_over = true;
        let stream = self.stream.try_clone().unwrap();
        let is_over = false;
        Self { stream, is_over }
    }

    /// Closes the connection without a word.
    pub(crate) fn cut(&mut self) {
        self.is_over = true;
        _ = self.stream.shutdown(Shutdown::Both);
    }

    /// Waits until the client closes the connection.
    pub(crate) fn expect_close(&mut self) {
        self.is_over = true;
        self.stream.set_read_timeout(Some(LONG)).unwrap();
        match self.stream.read(&mut [0; 64]) {
            Ok(0) => {}
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => {}
            other => panic!("the connection is not closed: {other:?}"),
        }
    }
}

type Answer = dyn Fn(&Seen, &mut Out) + Send + Sync;

/// The server. It ends when this is dropped.
pub(crate) struct Stub {
    address: SocketAddr,
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
}

struct Shared {
    answer: Box<Answer>,
    seen: Mutex<Vec<Seen>>,
    open: Mutex<Vec<TcpStream>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    connections: AtomicUsize,
    over: AtomicBool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Stub {
    /// Answers each request on a thread of its connection.
    pub(crate) fn start(answer: impl Fn(&Seen, &mut Out) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            answer: Box::new(answer),
            seen: Mutex::default(),
            open: Mutex::default(),
            threads: Mutex::default(),
            connections: AtomicUsize::new(0),
            over: AtomicBool::new(false),
        });
        let own = Arc::clone(&shared);
        let acceptor = std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if own.over.load(Ordering::SeqCst) {
                    break;
                }
                let number = own.connections.fetch_add(1, Ordering::SeqCst);
                lock(&own.open).push(stream.try_clone().unwrap());
                let shared = Arc::clone(&own);
                let thread = std::thread::spawn(move || shared.serve(stream, number));
                lock(&own.threads).push(thread);
            }
        });
        Self {
            address,
            shared,
            acceptor: Some(acceptor),
        }
    }

    /// A modern server, which answers `server/discover` by itself.
    pub(crate) fn modern(answer: impl Fn(&Seen, &mut Out) + Send + Sync + 'static) -> Self {
        Self::start(move |seen, out| match &*seen.asks() {
            "server/discover" => out.result(seen, discovered()),
            _ => answer(seen, out),
        })
    }

    /// A legacy server with a session, which opens it by itself; `answer` gets the rest.
    pub(crate) fn legacy(
        revision: &'static str,
        answer: impl Fn(&Seen, &mut Out) + Send + Sync + 'static,
    ) -> Self {
        Self::start(move |seen, out| match (&*seen.method, &*seen.asks()) {
            ("POST", "initialize") => out.json_with(
                &[("mcp-session-id", "session-1")],
                &json!({ "jsonrpc": "2.0", "id": seen.id(), "result": initialized(revision) }),
            ),
            ("POST", "notifications/initialized") => out.accept(),
            ("POST", "server/discover") => out.respond("400 Bad Request", &[], "no"),
            _ => answer(seen, out),
        })
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn http(&self) -> Http {
        Http::new(&self.url()).unwrap()
    }

    pub(crate) fn connect(&self) -> Client {
        self.connect_as(asker()).unwrap()
    }

    pub(crate) fn connect_as(&self, builder: ClientBuilder) -> mcplink::Result<Client> {
        builder.connect(self.http())
    }

    /// All requests so far.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        lock(&self.shared.seen).clone()
    }

    /// The requests so far that ask for a JSON-RPC method.
    pub(crate) fn seen_asking(&self, method: &str) -> Vec<Seen> {
        let mut seen = self.seen();
        seen.retain(|seen| seen.asks() == method);
        seen
    }

    /// What came by this HTTP method.
    pub(crate) fn seen_by(&self, method: &str) -> Vec<Seen> {
        let mut seen = self.seen();
        seen.retain(|seen| seen.method == method);
        seen
    }
}

impl Drop for Stub {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::SeqCst);
        _ = TcpStream::connect(self.address);
        if let Some(acceptor) = self.acceptor.take() {
            _ = acceptor.join();
        }
        for stream in lock(&self.shared.open).drain(..) {
            _ = stream.shutdown(Shutdown::Both);
        }
        let threads = std::mem::take(&mut *lock(&self.shared.threads));
        for thread in threads {
            let ended = thread.join();
            if !std::thread::panicking() {
                ended.unwrap();
            }
        }
    }
}

impl Shared {
    fn serve(&self, stream: TcpStream, connection: usize) {
        stream.set_nodelay(true).unwrap();
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        while let Some(seen) = read_request(&mut reader, connection) {
            lock(&self.seen).push(seen.clone());
            let mut out = Out {
                stream: stream.try_clone().unwrap(),
                is_over: false,
            };
            (self.answer)(&seen, &mut out);
            if out.is_over {
                return;
            }
        }
    }
}

fn read_request(reader: &mut impl BufRead, connection: usize) -> Option<Seen> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split(' ');
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.map_or(0, |(_, value)| value.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Seen {
        method,
        target,
        headers,
        text: String::from_utf8(body).unwrap(),
        connection,
    })
}

pub(crate) fn asker() -> ClientBuilder {
    Client::builder("asker", "1.0")
}

pub(crate) fn discovered() -> Value {
    json!({
        "resultType": "complete", "supportedVersions": ["2026-07-28"], "ttlMs": 0, "cacheScope": "private",
        "capabilities": { "tools": {}, "prompts": {}, "resources": {} },
    })
}

pub(crate) fn initialized(revision: &str) -> Value {
    json!({
        "protocolVersion": revision, "serverInfo": { "name": "stub", "version": "1" },
        "capabilities": { "tools": {}, "resources": { "subscribe": true }, "logging": {} },
    })
}

pub(crate) fn text(text: &str) -> Value {
    json!({ "resultType": "complete", "content": [{ "type": "text", "text": text }] })
}

/// Calls a tool without arguments; gives the text of its result.
pub(crate) fn call(client: &Client, tool: &str) -> mcplink::Result<String> {
    call_with(client, tool, CallOptions::new())
}

/// Calls a tool and waits. With MCPLINK_TEST_STARTED set, starts the call if its options allow that.
pub(crate) fn call_with(
    client: &Client,
    tool: &str,
    options: CallOptions<'_>,
) -> mcplink::Result<String> {
    let is_started = std::env::var_os("MCPLINK_TEST_STARTED").is_some()
        && format!("{options:?}").contains("on_progress: false");
    let result = match is_started {
        true => client.start_tool(tool, &json!({}), options)?.wait()?,
        false => client.call_tool_with(tool, &json!({}), options)?,
    };
    Ok(result.content[0].as_text().unwrap().to_owned())
}

pub(crate) fn progress(seen: &Seen, done: u32) -> Value {
    let token = &seen.body()["params"]["_meta"]["progressToken"];
    let params = json!({ "progressToken": token, "progress": done });
    json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params })
}
