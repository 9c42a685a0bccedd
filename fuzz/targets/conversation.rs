//! Whole conversations: a server over the in-memory transport whose client sends anything.
#![no_main]

use std::collections::{BTreeMap, VecDeque};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use libfuzzer_sys::fuzz_target;
use mcplink::jsonrpc::{Message, Parsed};
use mcplink::server::Server;
use mcplink::transport::{Limits, Received, SessionMessage, Transport, memory};
use serde_json::{Map, Value, json};

/// No wait of a conversation takes longer. A longer one is a hang.
const LONG: Duration = Duration::from_secs(8);
/// The id of the last request, as JSON.
const LAST: &str = "\"the last\"";

static SERVER: LazyLock<Server> = LazyLock::new(|| {
    Server::builder("fuzzed", "1.0")
        .tool(
            "echo",
            "Returns its arguments",
            |arguments: Map<String, Value>, _| Value::Object(arguments).to_string(),
        )
        .tool("panic", "Panics", |_: Map<String, Value>, _| -> String {
            panic!("as asked")
        })
        .build()
        .expect("the server is valid")
});

fuzz_target!(
    init: {
        // A panic of a handler is answered. It is no finding.
        let report = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if panic.payload_as_str() != Some("as asked") {
                report(panic);
                std::process::abort();
            }
        }));
    },
    |data: &[u8]| converse(data)
);

/// Sends each line as a message, then a request that has to be answered. Each request gets one
/// response, and nothing else is answered.
fn converse(data: &[u8]) {
    let (ours, theirs) = memory::pair();
    let connection = SERVER.open(theirs).expect("it opens");
    let mut ours = Box::new(ours).open(&Limits::default()).expect("it opens");
    let mut owed: BTreeMap<String, usize> = BTreeMap::new();
    let last = json!({"jsonrpc": "2.0", "id": "the last", "method": "ping"}).to_string();
    let is_sent = |line: &&[u8]| {
        !line.trim_ascii().is_empty() && !line.windows(8).any(|it| it == b"the last")
    };
    let lines = data.split(|byte| *byte == b'\n').filter(is_sent);
    for line in lines.take(20).chain([last.as_bytes()]) {
        match Parsed::read(line.to_vec(), Limits::default().max_depth) {
            Parsed::Single(message) => note(message, &mut owed),
            Parsed::Batch(messages) => messages.into_iter().for_each(|it| note(it, &mut owed)),
        }
        let mut queue = VecDeque::from([SessionMessage::new(line.to_vec())]);
        ours.sender
            .send(&mut queue, Instant::now() + LONG)
            .expect("the connection lives on");
    }
    let end = Instant::now() + LONG;
    while owed.contains_key(LAST) {
        let left = end.saturating_duration_since(Instant::now());
        match ours
            .receiver
            .receive(Some(left))
            .expect("the connection lives on")
        {
            Received::Message(message) => heed(&message.text, &mut owed),
            other => panic!("no answer to the last request: {other:?}"),
        }
    }
    let start = Instant::now();
    connection.close();
    assert!(start.elapsed() < LONG, "closing hangs");
}

/// Counts the responses that a message is owed.
fn note<E>(message: Result<Message, E>, owed: &mut BTreeMap<String, usize>) {
    if let Ok(Message::Request(request)) = message {
        *owed.entry(request.id().to_string()).or_default() += 1;
    }
}

/// Checks what the server sends.
fn heed(text: &[u8], owed: &mut BTreeMap<String, usize>) {
    let mut answered = |message: Message| {
        let Message::Response(response) = message else {
            return;
        };
        let Some(id) = response.id().map(ToString::to_string) else {
            return;
        };
        // An error may answer a broken message that has the id of a request.
        if response.outcome().is_err() && id != LAST {
            return;
        }
        let count = owed.get_mut(&id);
        let count = count.unwrap_or_else(|| panic!("a response that nobody asked for: {id}"));
        *count -= 1;
        if *count == 0 {
            owed.remove(&id);
        }
    };
    match Parsed::read_strictly(text.to_vec(), usize::MAX) {
        Parsed::Single(message) => answered(message.expect("what we send is valid")),
        Parsed::Batch(messages) => {
            for message in messages {
                answered(message.expect("what we send is valid"));
            }
        }
    }
}
