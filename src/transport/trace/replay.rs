//! A transport that plays the peer of a trace.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::super::{
    Control, Limits, Received, Receiver, Sender, SessionMessage, Transport, TransportParts, lock,
};
use super::script::Script;
use crate::error::{Error, ErrorKind, Result};

/// A transport whose peer is a recording, for tests without the real peer.
///
/// Messages that were recorded as sent have to be sent again. A message that was recorded as
/// received arrives as soon as everything before it was sent; recorded times don't matter. After
/// the end of the trace, the peer is silent.
///
/// A request or notification is identified by its method. A response is identified by the id of the
/// peer's request. Params and results are not compared. Adjacent messages of this side may be sent
/// in any order. Requests may have other ids than in the trace: the ids in the peer's messages are
/// replaced. Everything else in the peer's messages, such as a cursor, is returned as recorded.
///
/// **Mismatch.** When an unexpected message is sent, the connection ends with [`ErrorKind::State`].
/// The error names the line of the trace, the expected and the sent message. Concurrent calls may
/// have another order in each run, so record a trace for replay with one call at a time.
#[derive(Debug)]
pub struct Replay(Arc<Shared>);

/// The progress of a [`Replay`]: which part of the trace was played.
#[derive(Clone, Debug)]
pub struct Played(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// The state of the replay: the script and its end. A waiter checks both under the lock, so no
    /// wakeup is lost.
    state: Mutex<State>,
    /// The condition variable that is notified when a message was sent or given, and at the end.
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    script: Script,
    closed: bool,
}

impl Replay {
    /// Reads a trace: lines of JSON, see the [module](super). Empty lines are skipped.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] for a line that does not belong to a trace.
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

    /// Returns the progress of the replay. It can be checked after a connection has taken over the
    /// replay.
    pub fn played(&self) -> Played {
        Played(Arc::clone(&self.0))
    }
}

impl Played {
    /// Returns whether the whole trace was played. Does not block.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::State`] with the first mismatch, or with the line of the first message that was
    /// not sent or not received.
    pub fn finish(&self) -> Result<()> {
        lock(&self.0.state).script.finish()
    }

    /// Blocks until the whole trace was played. For a server that answers after a delay. A
    /// mismatch, the end of the connection or `timeout` end the wait.
    ///
    /// # Errors
    ///
    /// As for [`finish`](Self::finish).
    pub fn wait(&self, timeout: Duration) -> Result<()> {
        let state = lock(&self.0.state);
        let goes_on = |state: &mut State| !state.closed && !state.script.is_over();
        let waited = self.0.changed.wait_timeout_while(state, timeout, goes_on);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.script.finish()
    }
}

impl Transport for Replay {
    /// Opens the replay. Never fails.
    fn open(self: Box<Self>, _: &Limits) -> Result<TransportParts> {
        let receiver = Box::new(Half(Arc::clone(&self.0)));
        let sender = Box::new(Half(Arc::clone(&self.0)));
        Ok(TransportParts::new(
            receiver,
            sender,
            Arc::new(Half(self.0)),
        ))
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
