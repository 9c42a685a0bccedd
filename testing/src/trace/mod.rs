//! Records the messages of a connection, and replays them in a test.
//!
//! A [`Recorder`] writes each message of a [`Tap`](mcplink::transport::Tap) as a line of JSON:
//!
//! ```text
//! {"t":0,"dir":"out","message":{"jsonrpc":"2.0","id":1,"method":"tools/list"}}
//! {"t":3,"dir":"in","message":{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}}
//! {"t":4,"dir":"in","text":"a line that is not JSON"}
//! {"t":9,"dir":"in","too_long":{"bytes":20000000,"id":2,"response":true}}
//! ```
//!
//! `t` is the time in milliseconds since the recorder was made. `dir` is `in` or `out`, as seen
//! from the recording side. A [`Replay`] is a transport that reads such lines and plays the peer.
//! The replay waits for the messages that were recorded as sent, and returns the messages that were
//! recorded as received.
//!
//! A line of a [named peer](Recorder::for_peer) also has `peer`. A replay skips these lines.
//!
//! A trace contains all messages unchanged, and so also their secrets.
//!
//! # Examples
//!
//! ```
//! use mcplink::client::Client;
//! use mcplink::server::Server;
//! use mcplink::transport::memory;
//! use mcplink_testing::trace::{Recorder, Replay};
//! use serde_json::json;
//!
//! // Once: the real server.
//! let server = Server::builder("hello", "1.0")
//!     .tool_with(mcplink::schema::Tool::new("greet"), |_: serde_json::Value, _| "Hello!")
//!     .build()?;
//! let (here, there) = memory::pair();
//! let serving = server.open(there)?;
//! let file = std::env::temp_dir().join(format!("greeting-{}.jsonl", std::process::id()));
//! let recorder = Recorder::new(std::fs::File::create(&file)?);
//! let client = Client::connect(recorder.tap(here))?;
//! client.call_tool("greet", &json!({}))?;
//! client.close();
//! recorder.finish()?;
//!
//! // In each test: its recording.
//! let replay = Replay::read(&std::fs::read_to_string(&file)?)?;
//! let played = replay.played();
//! let client = Client::connect(replay)?;
//! let result = client.call_tool("greet", &json!({}))?;
//! assert_eq!(result.content[0].as_text(), Some("Hello!"));
//! played.finish()?;
//! # std::fs::remove_file(&file)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod recorder;
mod replay;
mod script;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

pub use recorder::Recorder;
pub use replay::{Played, Replay};

use mcplink::jsonrpc::{RequestId, TooLong};
use mcplink::transport::{Direction, Tapped};

/// A line of a trace.
#[derive(Debug, Serialize, Deserialize)]
struct Entry<'a> {
    t: u64,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    peer: Option<Cow<'a, str>>,
    dir: Dir,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    message: Option<&'a RawValue>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    text: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    too_long: Option<Long>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Dir {
    In,
    Out,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Long {
    bytes: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<RequestId>,
    response: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    no_memory: bool,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

impl<'a> Entry<'a> {
    fn of(t: u64, peer: Option<&'a str>, message: &'a Tapped<'_>) -> Self {
        let json = match message.too_long {
            None => serde_json::from_slice::<&RawValue>(message.text).ok(),
            Some(_) => None,
        };
        let is_text = json.is_none() && message.too_long.is_none();
        Self {
            t,
            peer: peer.map(Cow::Borrowed),
            dir: match message.direction {
                Direction::Incoming => Dir::In,
                Direction::Outgoing => Dir::Out,
            },
            message: json,
            text: is_text.then(|| message.text_lossy()),
            too_long: message.too_long.map(Long::of),
        }
    }
}

impl Long {
    fn of(long: &TooLong) -> Self {
        Self {
            bytes: long.bytes,
            id: long.id.clone(),
            response: long.is_response,
            no_memory: long.no_memory,
        }
    }

    fn into_too_long(self) -> TooLong {
        TooLong {
            bytes: self.bytes,
            id: self.id,
            is_response: self.response,
            no_memory: self.no_memory,
        }
    }
}
