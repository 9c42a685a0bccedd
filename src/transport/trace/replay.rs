//! Plays the peer's side of a trace.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::super::{
    Control, Halves, Limits, Received, Receiver, Sender, SessionMessage, Transport, lock,
};
use super::script::Script;
use crate::error::{Error, ErrorKind, Result};

/// A transport whose peer is a recording: for tests without the real peer.
///
/// What was recorded as sent has to be sent again, and what was recorded as received comes as soon as everything before it was sent:
/// recorded times don't matter. When the trace is over, the peer is silent.
///
/// A request or notification is recognized by its method, a response by the id of the peer's request; params and results are not
/// compared. Messages of ours that stand next to each other in the trace may be sent in any order. Requests may have other ids than in
/// the trace: the peer's messages refer to the new ones. All else in these messages, such as an opaque cursor, comes as it was recorded.
///
/// **Mismatch.** When something else is sent, the connection ends with [`ErrorKind::State`], and the text tells the line of the trace,
/// what stands there and what was sent. Calls that run concurrently can come in another order with each run: record one at a
/// time what is to be replayed.
#[derive(Debug)]
pub struct Replay(Arc<Shared>);

/// Tells how much of a [`Replay`] was played.
#[derive(Clone, Debug)]
pub struct Played(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// Something was sent, or the end was reached.
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    script: Script,
    closed: bool,
}

impl Replay {
    /// Reads a trace: lines of JSON, see the [module](super). Empty lines are left out.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] for a line that is none of a trace.
    pub fn read(trace: &str) -> Result<Self> {
        let state = State {
            script: Script::read(trace)?,
            closed: false,
        };
        Ok(Self(Arc::new(Shared {
            state: Mutex::new(state),
            changed: Condvar::new(),
        })))
    }

    /// Keeps an eye on the replay after a connection took it over.
    pub fn played(&self) -> Played {
        Played(Arc::clone(&self.0))
    }
}

impl Played {
    /// Tells whether the whole trace was played, without waiting.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::State`] with the first mismatch, or with the line of the first message that was not sent or not received.
    pub fn finish(&self) -> Result<()> {
        lock(&self.0.state).script.finish()
    }

    /// Waits until the whole trace was played: for a server, which answers in its own time. A mismatch, the end of the connection or
    /// `timeout` end the wait.
    ///
    /// # Errors
    ///
    /// As [`finish`](Self::finish).
    pub fn wait(&self, timeout: Duration) -> Result<()> {
        let state = lock(&self.0.state);
        let goes_on = |state: &mut State| !state.closed && !state.script.is_over();
        let waited = self.0.changed.wait_timeout_while(state, timeout, goes_on);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.script.finish()
    }
}

impl Transport for Replay {
    /// Never fails.
    fn open(self: Box<Self>, _: &Limits) -> Result<Halves> {
        let receiver = Box::new(Half(Arc::clone(&self.0)));
        let sender = Box::new(Half(Arc::clone(&self.0)));
        Ok(Halves::new(receiver, sender, Arc::new(Half(self.0))))
    }
}

#[derive(Debug)]
struct Half(Arc<Shared>);

impl Receiver for Half {
    fn receive(&mut self, patience: Option<Duration>) -> Result<Received> {
        let deadline = patience.and_then(|patience| Instant::now().checked_add(patience));
        let mut state = lock(&self.0.state);
        loop {
            if state.closed {
                return Err(closed());
            }
            if let Some(received) = state.script.give()? {
                self.0.changed.notify_all();
                return Ok(received);
            }
            let Some(deadline) = deadline else {
                let changed = self.0.changed.wait(state);
                state = changed.unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(Received::Nothing);
            }
            let changed = self.0.changed.wait_timeout(state, left);
            state = changed.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn has_message(&self) -> bool {
        lock(&self.0.state).script.can_give()
    }

    fn is_patient(&self) -> bool {
        true
    }
}

impl Sender for Half {
    fn send(&mut self, queue: &mut VecDeque<SessionMessage>, _: Instant) -> Result<()> {
        let mut state = lock(&self.0.state);
        while let Some(message) = queue.pop_front() {
            if state.closed {
                return Err(closed());
            }
            let taken = state.script.send(&message.text);
            self.0.changed.notify_all();
            taken?;
        }
        Ok(())
    }
}

impl Control for Half {
    fn peer(&self) -> String {
        "the replayed peer".to_owned()
    }

    fn close(&self) {
        lock(&self.0.state).closed = true;
        self.0.changed.notify_all();
    }
}

fn closed() -> Error {
    let text = "the connection to the replayed peer was closed by this side";
    Error::new(ErrorKind::Closed, text)
}
