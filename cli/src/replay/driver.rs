//! Plays the client of a recorded conversation to a server, and compares the server's messages.
//!
//! **Threads.** `replay`, started by [`Driver::new`]: it reads the server's messages, also while the
//! driver sends, so that a server that writes before it reads is never blocked. It ends when the
//! connection ends. No thread joins it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};
use std::{fmt, io, thread};

use mcplink::transport::{Control, Received, Receiver, Sender, SessionMessage, TransportParts};
use mcplink::{Error, ErrorKind};
use serde_json::{Value, json};

use super::compare::{Change, MADE_ANEW, compare_messages};
use super::trace::Step;
use crate::interrupt;

/// How long the driver waits for a message of the server, unless `--timeout` says so.
const PATIENCE: Duration = Duration::from_secs(30);
/// The interval between two checks for a signal.
const LOOK: Duration = Duration::from_millis(100);

/// A message of the server that is not as recorded.
pub(super) struct Difference {
    /// The line of the recorded message.
    line: usize,
    /// The message, such as `the response to tools/call`.
    what: String,
    /// The places that differ. Empty if the message is missing.
    changes: Vec<Change>,
}

/// The outcome of a replay.
#[derive(Default)]
pub(super) struct Report {
    /// The number of messages of the server that were compared.
    pub(super) compared: usize,
    pub(super) differences: Vec<Difference>,
    /// Why the replay ended early.
    pub(super) error: Option<String>,
}

impl Report {
    pub(super) fn differing(&self) -> usize {
        self.differences.len()
    }
}

impl Difference {
    pub(super) fn to_json(&self) -> Value {
        let changes = self.changes.iter().map(|change| {
            let mut shown = json!({ "path": change.path });
            if let Some(recorded) = &change.recorded {
                shown["recorded"] = recorded.clone();
            }
            if let Some(actual) = &change.actual {
                shown["actual"] = actual.clone();
            }
            shown
        });
        let changes: Vec<Value> = changes.collect();
        json!({ "line": self.line, "message": self.what, "changes": changes })
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.changes.is_empty() {
            return writeln!(f, "line {}: {} did not come", self.line, self.what);
        }
        writeln!(f, "line {}: {} differs", self.line, self.what)?;
        for change in &self.changes {
            writeln!(f, "{change}")?;
        }
        Ok(())
    }
}

/// A client that sends what was recorded.
pub(super) struct Driver<'a> {
    sender: Box<dyn Sender>,
    control: Arc<dyn Control>,
    /// The messages of the server, and at last the error that ended the connection.
    received: mpsc::Receiver<Result<Value, Error>>,
    ignore: &'a [String],
    patience: Duration,
    /// Messages of the server that were not waited for yet.
    waiting: VecDeque<Value>,
    /// The ids of the server's requests: recorded, as JSON, and actual.
    ids: BTreeMap<String, Value>,
    /// Values that the server made anew: recorded and actual.
    anew: BTreeMap<String, String>,
}

impl<'a> Driver<'a> {
    pub(super) fn new(
        parts: TransportParts,
        ignore: &'a [String],
        timeout: Option<Duration>,
    ) -> io::Result<Self> {
        let (to_driver, received) = mpsc::channel();
        let mut receiver = parts.receiver;
        let thread = thread::Builder::new().name("replay".to_owned());
        thread.spawn(move || read(&mut *receiver, &to_driver))?;
        Ok(Self {
            sender: parts.sender,
            control: parts.control,
            received,
            ignore,
            patience: timeout.unwrap_or(PATIENCE),
            waiting: VecDeque::new(),
            ids: BTreeMap::new(),
            anew: BTreeMap::new(),
        })
    }

    /// Sends the recorded messages of the client, each after the server's responses and requests
    /// that came before it. Notifications of the server are not compared.
    pub(super) fn play(mut self, steps: &[Step]) -> Report {
        let mut report = Report::default();
        let mut methods: BTreeMap<String, String> = BTreeMap::new();
        for step in steps {
            let played = match (step.is_sent, step.method(), step.id()) {
                (true, method, id) => {
                    if let (Some(method), Some(id)) = (method, id) {
                        methods.insert(id.to_string(), method.to_owned());
                    }
                    self.send(step)
                }
                (false, Some(method), Some(id)) => {
                    let what = format!("the request {method}");
                    let expects = |message: &Value| {
                        message["method"] == *method && message.get("id").is_some()
                    };
                    self.expect(step, what, &mut report, expects).map(|actual| {
                        if let Some(actual) = actual {
                            self.ids.insert(id.to_string(), actual["id"].clone());
                        }
                    })
                }
                (false, None, Some(id)) => {
                    let method = methods.get(&id.to_string());
                    let method = method.map_or("an unknown request", |method| method);
                    let what = format!("the response to {method} (id {id})");
                    let expects =
                        |message: &Value| message["id"] == *id && message.get("method").is_none();
                    self.expect(step, what, &mut report, expects).map(drop)
                }
                // A notification of the server.
                (false, _, None) => Ok(()),
            };
            if let Err(error) = played {
                report.error = Some(format!("line {}: {error}", step.line));
                break;
            }
        }
        self.control.close();
        report
    }

    fn send(&mut self, step: &Step) -> Result<(), String> {
        let mut text = step.text.clone();
        let is_response = step.method().is_none();
        let id = step.id().filter(|_| is_response);
        let id = id.and_then(|id| self.ids.get(&id.to_string()));
        if id.is_some() || !self.anew.is_empty() {
            let mut message = step.message.clone();
            if let Some(id) = id {
                message["id"] = id.clone();
            }
            put_anew(&mut message, &self.anew);
            text = message.to_string();
        }
        let mut queue = VecDeque::from([SessionMessage::new(text.into_bytes())]);
        let sent = self.sender.send(&mut queue, Instant::now() + self.patience);
        sent.map_err(|error| error.to_string())
    }

    /// Waits for the server's message that a step records, and compares it. Returns the message, if
    /// it came.
    fn expect(
        &mut self,
        step: &Step,
        what: String,
        report: &mut Report,
        expects: impl Fn(&Value) -> bool,
    ) -> Result<Option<Value>, String> {
        report.compared += 1;
        let actual = self.wait(expects)?;
        let Some(actual) = actual else {
            report.differences.push(Difference {
                line: step.line,
                what,
                changes: Vec::new(),
            });
            return Ok(None);
        };
        self.note_anew(&step.message, &actual);
        let changes = compare_messages(&step.message, &actual, self.ignore);
        if !changes.is_empty() {
            report.differences.push(Difference {
                line: step.line,
                what,
                changes,
            });
        }
        Ok(Some(actual))
    }

    /// Waits for a message. Returns `None` if it does not come in time.
    fn wait(&mut self, expects: impl Fn(&Value) -> bool) -> Result<Option<Value>, String> {
        if let Some(at) = self.waiting.iter().position(&expects) {
            return Ok(self.waiting.remove(at));
        }
        let deadline = Instant::now() + self.patience;
        loop {
            if interrupt::has_come() {
                return Err("interrupted".to_owned());
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            match self.received.recv_timeout(left.min(LOOK)) {
                Ok(Ok(message)) => {
                    if expects(&message) {
                        return Ok(Some(message));
                    }
                    self.waiting.push_back(message);
                }
                Ok(Err(error)) if error.kind() == ErrorKind::Closed => {
                    return Err(format!("the server has closed the connection: {error}"));
                }
                Ok(Err(error)) => return Err(error.to_string()),
                Err(mpsc::RecvTimeoutError::Timeout) => {}
                Err(mpsc::RecvTimeoutError::Disconnected) => {
                    return Err("the server has closed the connection".to_owned());
                }
            }
        }
    }

    /// Notes the values that the server made anew, since the client sends them back.
    fn note_anew(&mut self, recorded: &Value, actual: &Value) {
        match (recorded, actual) {
            (Value::Object(one), Value::Object(other)) => {
                for (key, value) in one {
                    let Some(actual) = other.get(key) else {
                        continue;
                    };
                    match (value.as_str(), actual.as_str()) {
                        (Some(value), Some(actual)) if MADE_ANEW.contains(&&**key) => {
                            self.anew.insert(value.to_owned(), actual.to_owned());
                        }
                        _ => self.note_anew(value, actual),
                    }
                }
            }
            (Value::Array(one), Value::Array(other)) => {
                for (one, other) in one.iter().zip(other) {
                    self.note_anew(one, other);
                }
            }
            _ => {}
        }
    }
}

/// The body of the thread that reads the server's messages.
fn read(receiver: &mut dyn Receiver, to_driver: &mpsc::Sender<Result<Value, Error>>) {
    loop {
        let message = match receiver.receive(None) {
            // What is no JSON is the noise of a server; clients skip it too.
            Ok(Received::Message(message)) => match serde_json::from_slice(&message.text) {
                Ok(message) => Ok(message),
                Err(_) => continue,
            },
            Ok(_) => continue,
            Err(error) => Err(error),
        };
        let is_last = message.is_err();
        // The driver is gone when it has ended early.
        if to_driver.send(message).is_err() || is_last {
            return;
        }
    }
}

/// Replaces recorded values by those of this run.
fn put_anew(value: &mut Value, anew: &BTreeMap<String, String>) {
    match value {
        Value::String(text) => {
            if let Some(actual) = anew.get(text) {
                text.clone_from(actual);
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| put_anew(value, anew)),
        Value::Object(members) => members
            .iter_mut()
            .for_each(|(_, value)| put_anew(value, anew)),
        _ => {}
    }
}
