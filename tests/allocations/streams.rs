//! Byte streams: servers that read long requests, and clients that read long answers of a child.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use mcplink::ErrorKind;
use mcplink::client::CallOptions;
use mcplink::client::Client;
use mcplink::protocol::Connection;
use mcplink::schema::{JsonSchema, Tool};
use mcplink::server::{Server, ToolCall};
use mcplink::transport::{Child, Limits, Received, Stderr, Stream, Transport as _, memory};
use serde_json::{Value, json};

use crate::{Alone, LONG, as_host};

/// Smaller than what a stream is read into at first.
const LARGE: usize = 12 << 10;
const LENGTH: usize = 400_000;

/// Tells how long its arguments are, without reading them.
fn server() -> Server {
    let measure = |call: ToolCall| {
        let length = call.raw_arguments().len().to_string();
        // A client that gave up is told nothing.
        _ = call.respond(length);
    };
    let builder = Server::builder("s", "1").deferred_tool(
        Tool::new("measure").input_schema(JsonSchema::any_object()),
        measure,
    );
    builder.build().unwrap()
}

/// A client that writes lines by hand.
struct Raw {
    reader: BufReader<UnixStream>,
    writer: UnixStream,
    connection: Connection,
}

impl Raw {
    fn connect(server: &Server) -> Self {
        let (here, there) = UnixStream::pair().unwrap();
        here.set_read_timeout(Some(LONG)).unwrap();
        Self {
            reader: BufReader::new(here.try_clone().unwrap()),
            writer: here,
            connection: server.open(Stream::unix(there)).unwrap(),
        }
    }

    /// Connects and opens the conversation with a legacy revision.
    fn speaking(server: &Server, revision: &str) -> Self {
        let mut this = Self::connect(server);
        let opening = json!({
            "protocolVersion": revision, "capabilities": {}, "clientInfo": { "name": "c", "version": "1" },
        });
        let opening = request(1, "initialize", &opening).to_string() + "\n";
        let opened = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        this.write(&(opening + opened + "\n"));
        assert_eq!(this.read().unwrap()["result"]["protocolVersion"], revision);
        this
    }

    fn write(&mut self, text: &str) {
        // Of a server that reads no more the answers tell.
        _ = self.writer.write_all(text.as_bytes());
    }

    /// `None` at the end.
    fn read(&mut self) -> Option<Value> {
        let mut line = String::new();
        let len = self.reader.read_line(&mut line).unwrap();
        (len > 0).then(|| serde_json::from_str(&line).unwrap())
    }
}

fn request(id: u32, method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

fn measure(id: u32, length: usize) -> Value {
    let arguments = json!({ "text": "x".repeat(length) });
    request(
        id,
        "tools/call",
        &json!({ "name": "measure", "arguments": arguments }),
    )
}

/// The answer to a call of `measure`: its result, or that there was no memory for it.
fn check_measured(answer: &Value, has_failed: bool) {
    if let Some(error) = answer.get("error") {
        assert!(has_failed, "{answer}");
        assert_eq!(error["code"], -32603, "{answer}");
        assert_eq!(error["data"]["busy"], true, "{answer}");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("no memory for a message of"), "{message}");
    } else {
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.parse::<usize>().unwrap() > LENGTH, "{answer}");
    }
}

/// Whichever allocation fails, a long request is answered, and so are the short ones around it.
#[test]
fn a_server_without_memory_for_a_request_answers_it() {
    let alone = Alone::begin(LARGE);
    let server = server();
    let ping = |id| request(id, "ping", &json!({})).to_string() + "\n";
    // In the middle of a buffer, and at its beginning.
    let behind_another = ping(2) + &measure(3, LENGTH).to_string() + "\n" + &ping(4);
    let before_another = measure(3, LENGTH).to_string() + "\n" + &ping(2) + &ping(4);
    for text in [behind_another, before_another] {
        alone.fail_each(
            "a request",
            || Raw::speaking(&server, "2025-11-25"),
            |raw| {
                raw.write(&text);
                (0..3).map(|_| raw.read().unwrap()).collect::<Vec<_>>()
            },
            |mut raw, answers, has_failed| {
                for id in [2, 4] {
                    let of = |answer: &&Value| answer["id"] == id;
                    let answer = answers.iter().find(of).unwrap();
                    assert!(answer["result"].is_object(), "{answer}");
                }
                let long = answers.iter().find(|answer| answer["id"] == 3).unwrap();
                check_measured(long, has_failed);
                raw.write(&(measure(5, LENGTH).to_string() + "\n"));
                let next = raw.read().unwrap();
                assert_eq!(next["id"], 5);
                check_measured(&next, false);
                raw.connection.close();
            },
        );
    }
}

/// Whichever allocation fails, a long request of a batch is answered, and so is the short one beside it.
#[test]
fn a_server_without_memory_for_a_request_of_a_batch_answers_it() {
    let alone = Alone::begin(LARGE);
    let server = server();
    let ping = request(2, "ping", &json!({}));
    let batch = json!([ping, measure(3, LENGTH)]).to_string() + "\n";
    let mut has_answered_one = false;
    alone.fail_each(
        "a batch",
        || Raw::speaking(&server, "2025-03-26"),
        |raw| {
            raw.write(&batch);
            raw.read().unwrap()
        },
        |mut raw, answer, has_failed| {
            if let Some(answers) = answer.as_array() {
                assert_eq!(answers.len(), 2, "{answer}");
                let pong = answers.iter().find(|answer| answer["id"] == 2).unwrap();
                assert!(pong["result"].is_object(), "{answer}");
                let long = answers.iter().find(|answer| answer["id"] == 3).unwrap();
                check_measured(long, has_failed);
                has_answered_one |= long["error"].is_object();
            } else {
                // There was no memory for the batch as a whole, whose ids nobody knows then.
                assert!(answer["error"].is_object() && answer.get("id").is_none_or(Value::is_null));
                check_measured(&answer, has_failed);
            }
            raw.write(&(ping.to_string() + "\n"));
            assert_eq!(raw.read().unwrap()["id"], 2);
            raw.connection.close();
        },
    );
    assert!(has_answered_one);
}

/// Without memory to read anything at all, the connection ends, and the server says why.
#[test]
fn a_server_without_memory_to_read_ends_the_connection() {
    let alone = Alone::begin(LARGE);
    let server = server();
    alone.fail_each(
        "an opening",
        || UnixStream::pair().unwrap(),
        |(here, there)| {
            let there = Stream::unix(there.try_clone().unwrap());
            std::thread::scope(|scope| {
                let serving = scope.spawn(|| server.serve(there));
                here.set_read_timeout(Some(LONG)).unwrap();
                let ping = request(1, "ping", &json!({})).to_string() + "\n";
                here.write_all(ping.as_bytes()).unwrap();
                let mut line = String::new();
                // An answer, or the end, which a reset is where something was left unread.
                let read = BufReader::new(&mut *here).read_line(&mut line);
                let is_answered = matches!(read, Ok(1..));
                here.shutdown(Shutdown::Both).unwrap();
                (is_answered, serving.join().unwrap())
            })
        },
        |_, (is_answered, served), has_failed| {
            assert_eq!(is_answered, !has_failed);
            match served {
                Ok(()) => assert!(!has_failed),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
                    assert!(error.to_string().contains("no memory"), "{error}");
                }
            }
        },
    );
}

/// Answers calls of the tool `long` at length, and with as long a line on standard error.
const SCRIPT: &str = r#"
x=$(head -c 400000 /dev/zero | tr '\0' x)
while read -r l; do
  case $l in *'"id":'*) ;; *) continue;; esac
  id=${l#*\"id\":}; id=${id%%[,\}]*}
  r='{"resultType":"complete","content":[]}'
  case $l in
    *server/discover*)
      r='{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}';;
    *tools/list*) r='{"resultType":"complete","tools":[],"ttlMs":0,"cacheScope":"private"}';;
    *'"long"'*)
      printf '%s\n' "$x" >&2
      r="{\"resultType\":\"complete\",\"content\":[{\"type\":\"text\",\"text\":\"$x\"}]}";;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$r"
done
"#;

/// Whichever allocation fails, a call has its result or an error that says for what there was no
/// memory; and the next one has its result. Nothing of standard error is lost.
#[test]
fn a_client_without_memory_for_an_answer_of_a_child_says_so() {
    let alone = Alone::begin(LARGE);
    let call = |client: &Client, tool: &str| {
        let options = CallOptions::new().timeout(LONG);
        let result = client.call_tool_raw(tool, &json!({}), options)?;
        Ok::<_, mcplink::Error>(result.as_str().len())
    };
    alone.fail_each(
        "an answer",
        || {
            let said = Arc::new(AtomicUsize::new(0));
            let sum = Arc::clone(&said);
            let lines = Stderr::lines(move |line| {
                _ = sum.fetch_add(line.len(), Ordering::SeqCst);
            });
            let child = Child::new("/bin/sh").args(["-c", SCRIPT]).stderr(lines);
            (as_host(|| Client::connect(child)).unwrap(), said)
        },
        |(client, said)| {
            let outcome = as_host(|| call(client, "long"));
            let deadline = Instant::now() + LONG;
            while said.load(Ordering::SeqCst) < LENGTH {
                assert!(Instant::now() < deadline, "{said:?}");
                std::thread::yield_now();
            }
            outcome
        },
        |(client, said), outcome, has_failed| {
            match outcome {
                Ok(length) => assert!(length > LENGTH),
                Err(error) => {
                    assert!(has_failed, "{error}");
                    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
                    assert!(
                        error.to_string().contains("no memory for a message"),
                        "{error}"
                    );
                }
            }
            assert!(as_host(|| call(&client, "short")).unwrap() < 1000);
            assert_eq!(said.load(Ordering::SeqCst), LENGTH);
            client.close();
        },
    );
}

/// A message that is too long is told of though there is no memory for any part of it.
#[test]
fn a_message_in_memory_that_is_too_long_needs_no_memory() {
    let alone = Alone::begin(LARGE);
    let mut limits = Limits::default();
    limits.max_message_bytes = 1000;
    let text = measure(7, LENGTH).to_string().into_bytes();
    let (here, there) = memory::pair();
    let mut sender = Box::new(here).open(&limits).unwrap();
    let mut receiver = Box::new(there).open(&limits).unwrap();
    let message = mcplink::transport::SessionMessage::new(text.clone());
    let mut queue = std::collections::VecDeque::from([message]);
    sender
        .sender
        .send(&mut queue, Instant::now() + LONG)
        .unwrap();
    crate::COUNTDOWN.store(1, Ordering::SeqCst);
    let received = as_host(|| receiver.receiver.receive(Some(LONG)));
    crate::COUNTDOWN.store(usize::MAX, Ordering::SeqCst);
    let Ok(Received::TooLong(long)) = received else {
        panic!("{received:?}");
    };
    assert_eq!((long.bytes, long.no_memory), (text.len(), false));
    assert_eq!(long.id.unwrap().to_string(), "7");
    drop(alone);
}
