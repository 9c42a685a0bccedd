//! An in-memory transport: two ends in one process, for tests, and for a server that runs in the
//! same program as its client.
//!
//! [`pair`] creates a connection. Messages are passed whole, without framing and without a copy.
//! When either end is closed or dropped, the other end sees the end of the connection.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{
    Control, Limits, Received, Receiver, Sender, SessionMessage, Transport, TransportParts,
};
use crate::error::{Error, ErrorKind, Result};
use crate::jsonrpc::TooLong;
use crate::sync::{Condvar, Mutex};

/// Creates two transports, each of which is the peer of the other.
///
/// # Examples
///
/// ```
/// use mcplink::transport::memory;
///
/// let (for_the_client, for_the_server) = memory::pair();
/// ```
pub fn pair() -> (Memory, Memory) {
    let (to_first, to_second) = (Arc::default(), Arc::default());
    let first = Memory {
        ends: Arc::new(Ends {
            incoming: Arc::clone(&to_first),
            outgoing: Arc::clone(&to_second),
        }),
    };
    let second = Memory {
        ends: Arc::new(Ends {
            incoming: to_second,
            outgoing: to_first,
        }),
    };
    (first, second)
}

/// One end of an in-memory connection. [`pair`] creates both ends.
///
/// # Examples
///
/// ```
/// use mcplink::client::{CallOptions, Client};
/// use mcplink::server::Server;
/// use mcplink::transport::memory;
///
/// let (here, there) = memory::pair();
/// let connection = Server::builder("clock", "1.0").build()?.open(there)?;
/// Client::connect(here)?.ping(CallOptions::new())?;
/// # Ok::<(), mcplink::Error>(())
/// ```
#[derive(Debug)]
pub struct Memory {
    ends: Arc<Ends>,
}

impl Transport for Memory {
    /// Opens this end of the connection. Never fails.
    fn open(self: Box<Self>, limits: &Limits) -> Result<TransportParts> {
        let receiver = MemoryReceiver {
            ends: Arc::clone(&self.ends),
            limits: limits.clone(),
        };
        let sender = MemorySender {
            ends: Arc::clone(&self.ends),
            max_queued_bytes: limits.max_queued_bytes,
        };
        let control = MemoryControl { ends: self.ends };
        Ok(TransportParts::new(
            Box::new(receiver),
            Box::new(sender),
            Arc::new(control),
        ))
    }
}

/// The state that the parts of one end share. When the last part is dropped, the connection closes.
#[derive(Debug)]
struct Ends {
    incoming: Arc<Queue>,
    outgoing: Arc<Queue>,
}

impl Ends {
    fn close(&self) {
        self.incoming.close(By::Reader);
        self.outgoing.close(By::Writer);
    }
}

impl Drop for Ends {
    fn drop(&mut self) {
        self.close();
    }
}

#[derive(Debug, Default)]
struct Queue {
    /// Guards all messages in one direction. A waiter checks the state under the lock before it
    /// waits, so a notification after a change can't be lost.
    state: Mutex<State>,
    /// The condition variable that is notified after every change of the state.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    messages: VecDeque<SessionMessage>,
    bytes: usize,
    closed: Option<By>,
}

#[derive(Clone, Copy, Debug)]
enum By {
    Reader,
    Writer,
}

impl Queue {
    fn close(&self, by: By) {
        self.state.lock().closed.get_or_insert(by);
        self.changed.notify_all();
    }

    /// Removes and returns the next message. Blocks for about `patience`, or without limit if
    /// `patience` is `None`. Returns `Ok(None)` when no message arrived in time.
    fn pop(&self, patience: Option<Duration>) -> Result<Option<SessionMessage>> {
        let deadline = patience.and_then(|patience| Instant::now().checked_add(patience));
        let mut state = self.state.lock();
        loop {
            if let Some(message) = state.messages.pop_front() {
                state.bytes -= message.text.len();
                self.changed.notify_all();
                return Ok(Some(message));
            }
            if let Some(by) = state.closed {
                return Err(closed(matches!(by, By::Reader)));
            }
            if deadline.is_some_and(|deadline| deadline <= Instant::now()) {
                return Ok(None);
            }
            state = self.changed.wait_until(state, deadline);
        }
    }

    /// Moves messages from the front of `from` into this queue while there is space. Blocks for
    /// space until the deadline. An empty queue always has space for one message.
    fn push(
        &self,
        from: &mut VecDeque<SessionMessage>,
        max_bytes: usize,
        deadline: Instant,
    ) -> Result<()> {
        let mut state = self.state.lock();
        while let Some(next) = from.front() {
            if let Some(by) = state.closed {
                return Err(closed(matches!(by, By::Writer)));
            }
            let bytes = state.bytes.saturating_add(next.text.len());
            if state.messages.is_empty() || bytes <= max_bytes {
                state.bytes = bytes;
                state.messages.extend(from.pop_front());
                self.changed.notify_all();
                continue;
            }
            if deadline <= Instant::now() {
                let queued = state.bytes;
                let text = format!("{PEER} does not read: {queued} bytes wait for it");
                return Err(Error::new(ErrorKind::Timeout, text));
            }
            state = self.changed.wait_until(state, Some(deadline));
        }
        Ok(())
    }
}

const PEER: &str = "the in-memory peer";

fn closed(by_us: bool) -> Error {
    let text = if by_us {
        format!("the connection to {PEER} was closed by this side")
    } else {
        format!("{PEER} has closed the connection")
    };
    Error::new(ErrorKind::Closed, text)
}

#[derive(Debug)]
struct MemoryReceiver {
    ends: Arc<Ends>,
    limits: Limits,
}

impl Receiver for MemoryReceiver {
    fn receive(&mut self, patience: Option<Duration>) -> Result<Received> {
        Ok(match self.ends.incoming.pop(patience)? {
            Some(message) if message.text.len() > self.limits.longest_message() => {
                Received::TooLong(TooLong::of(&message.text))
            }
            Some(message) => Received::Message(message),
            None => Received::Nothing,
        })
    }

    fn has_message(&self) -> bool {
        !self.ends.incoming.state.lock().messages.is_empty()
    }

    fn is_patient(&self) -> bool {
        true
    }
}

#[derive(Debug)]
struct MemorySender {
    ends: Arc<Ends>,
    max_queued_bytes: usize,
}

impl Sender for MemorySender {
    fn send(&mut self, queue: &mut VecDeque<SessionMessage>, deadline: Instant) -> Result<()> {
        self.ends
            .outgoing
            .push(queue, self.max_queued_bytes, deadline)
    }
}

#[derive(Debug)]
struct MemoryControl {
    ends: Arc<Ends>,
}

impl Control for MemoryControl {
    fn peer(&self) -> String {
        PEER.to_owned()
    }

    fn close(&self) {
        self.ends.close();
    }
}
