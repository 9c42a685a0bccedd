//! A transport that plays the peer of a trace.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mcplink::transport::{
    Control, Limits, Received, Receiver, Sender, SessionMessage, Transport, TransportParts,
};
use mcplink::{Error, ErrorKind, Result};

use super::script::Script;
use crate::sync::{Condvar, Mutex};

/// A transport whose peer is a recording, for tests without the real peer.
///
/// Messages that were recorded as sent have to be sent again. A message that was recorded as
/// received arrives once this side has sent all of its own messages that precede that message in
/// the trace. The recorded times don't matter. After the end of the trace, the peer is silent.
///
/// A request or notification is identified by its method. A response is identified by the id of the
/// peer's request. Params and results are not compared, unless [`compare`](Self::compare) is set.
/// Adjacent messages of this side may be sent in any order. Requests may have other ids than in the
/// trace: the ids in the peer's messages are replaced. Everything else in the peer's messages, such
/// as a cursor, is returned as recorded.
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
    /// The trace with its progress, and whether the connection was closed. A waiter checks both
    /// under the lock, so no wakeup is lost.
    state: Mutex<State>,
    /// The condition variable that is notified when a message was sent or received, and when the
    /// connection is closed.
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

    /// Sets a further comparison of sent messages with recorded ones. By default only the kind and
    /// the method of messages are compared.
    ///
    /// `difference` gets the texts of a recorded and of a sent message that have the same kind and
    /// method, and returns their difference, if there is one. A sent message is matched with the
    /// first recorded one without a difference. If each of them differs, the replay fails, and the
    /// error contains the difference.
    pub fn compare(
        self,
        difference: impl Fn(&str, &str) -> Option<String> + Send + 'static,
    ) -> Self {
        self.0
            .state
            .lock()
            .script
            .compare_with(Box::new(difference));
        self
    }

    /// Returns a handle to the progress of the replay. The handle stays valid after a connection
    /// has taken over the replay.
    pub fn played(&self) -> Played {
        Played(Arc::clone(&self.0))
    }
}

impl Played {
    /// Checks that the whole trace was played. Does not block.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::State`] if the replay is not complete. The error names the first mismatch, or
    /// the line of the first message that was not sent or not received.
    pub fn finish(&self) -> Result<()> {
        self.0.state.lock().script.finish()
    }

    /// Blocks until the whole trace was played. Use this method if messages of this side are sent
    /// after a delay. A mismatch, the end of the connection or `timeout` ends the wait.
    ///
    /// # Errors
    ///
    /// The errors of [`finish`](Self::finish).
    pub fn wait(&self, timeout: Duration) -> Result<()> {
        let deadline = Instant::now().checked_add(timeout);
        let state = self.0.state.lock();
        let goes_on = |state: &State| !state.closed && !state.script.is_over();
        let state = self.0.changed.wait_while(state, deadline, goes_on);
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
        let mut state = self.0.state.lock();
        loop {
            if state.closed {
                return Err(closed());
            }
            if let Some(received) = state.script.give()? {
                self.0.changed.notify_all();
                return Ok(received);
            }
            if deadline.is_some_and(|deadline| deadline <= Instant::now()) {
                return Ok(Received::Nothing);
            }
            state = self.0.changed.wait_until(state, deadline);
        }
    }

    fn has_message(&self) -> bool {
        self.0.state.lock().script.can_give()
    }

    fn is_patient(&self) -> bool {
        true
    }
}

impl Sender for Half {
    fn send(&mut self, queue: &mut VecDeque<SessionMessage>, _: Instant) -> Result<()> {
        let mut state = self.0.state.lock();
        while let Some(message) = queue.pop_front() {
            if state.closed {
                return Err(closed());
            }
            let matched = state.script.send(&message.text);
            self.0.changed.notify_all();
            matched?;
        }
        Ok(())
    }
}

impl Control for Half {
    fn peer(&self) -> String {
        "the replayed peer".to_owned()
    }

    fn close(&self) {
        self.0.state.lock().closed = true;
        self.0.changed.notify_all();
    }
}

fn closed() -> Error {
    let text = "the connection to the replayed peer was closed by this side";
    Error::new(ErrorKind::Closed, text)
}
