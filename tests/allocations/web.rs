//! An HTTP server played by hand, on threads of the test's own.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use serde_json::{Value, json};

use crate::start_own;

/// A request as it came.
pub(crate) struct Asked {
    pub(crate) path: String,
    /// In lower case.
    pub(crate) head: String,
    pub(crate) body: Value,
}

/// A response: status, header fields and body.
pub(crate) type Answer = (u16, String, String);

pub(crate) struct Web {
    address: SocketAddr,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Web {
    /// `answer` is given the address of the server, too.
    pub(crate) fn start(answer: impl Fn(&str, &Asked) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (is_over, answer) = (Arc::new(AtomicBool::new(false)), Arc::new(answer));
        let ends = Arc::clone(&is_over);
        let thread = start_own(move || {
            for stream in listener.incoming() {
                if ends.load(Ordering::SeqCst) {
                    break;
                }
                let (stream, answer) = (stream.unwrap(), Arc::clone(&answer));
                let origin = format!("http://{address}");
                start_own(move || serve(stream, &origin, &*answer));
            }
        });
        Self {
            address,
            is_over,
            thread: Some(thread),
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    pub(crate) fn origin(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        drop(TcpStream::connect(self.address));
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

/// Serves a connection until its client ends it.
fn serve(mut stream: TcpStream, origin: &str, answer: &dyn Fn(&str, &Asked) -> Answer) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if !matches!(reader.read_line(&mut head), Ok(1..)) {
                return;
            }
        }
        let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
        let head = head.to_ascii_lowercase();
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "));
        let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
        if reader.read_exact(&mut body).is_err() {
            return;
        }
        let body = serde_json::from_slice(&body).unwrap_or_default();
        let (status, fields, body) = answer(origin, &Asked { path, head, body });
        let length = body.len();
        let head = format!("HTTP/1.1 {status} x\r\ncontent-length: {length}\r\n{fields}\r\n");
        // A client that drops an answer may not read on.
        if stream.write_all((head + &body).as_bytes()).is_err() {
            return;
        }
    }
}

pub(crate) fn json_answer(body: String) -> Answer {
    (200, "content-type: application/json\r\n".to_owned(), body)
}

/// What a server of revision 2026-07-28 answers that has tools, but for their results.
pub(crate) fn opening(request: &Value) -> Option<Value> {
    let result = match request["method"].as_str()? {
        "server/discover" => json!({
            "resultType": "complete", "supportedVersions": ["2026-07-28"],
            "ttlMs": 0, "cacheScope": "private", "capabilities": { "tools": {} },
        }),
        "tools/list" => json!({
            "resultType": "complete", "tools": [], "ttlMs": 0, "cacheScope": "private",
        }),
        _ => return None,
    };
    Some(json!({ "jsonrpc": "2.0", "id": request["id"], "result": result }))
}
