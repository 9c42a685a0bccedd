//! The receiver and sender of a transport with injected faults.

use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use mcplink::transport::{Control, Received, Receiver, Sender, SessionMessage, Tapped};
use mcplink::{Error, ErrorKind, Result};

use super::fault::{Fault, Rule};
use crate::sync::{Condvar, Mutex};

/// The interval at which a waiting receiver checks whether the connection was lost. The check is
/// needed because a fault does not wake the wrapped receiver.
const LOOK: Duration = Duration::from_millis(10);

/// The longest delay, so that no time overflows.
const CENTURY: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// The state that the receiver and the sender of a transport with injected faults share.
pub(super) struct FaultyLine {
    rules: Vec<Arc<Rule>>,
    control: Arc<dyn Control>,
    /// The reason why the connection is over; `None` while the connection is open. Any reason ends
    /// delays. A waiter checks the value under the lock, and `changed` is notified after a change,
    /// so no wakeup is lost.
    lost: Mutex<Option<Lost>>,
    changed: Condvar,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Lost {
    /// The connection was lost by a fault: the receiver and the sender fail.
    Fault,
    /// This side closed the connection. Delays end, and the wrapped parts report the close.
    Closed,
}

impl FaultyLine {
    pub(super) fn new(rules: Vec<Arc<Rule>>, control: Arc<dyn Control>) -> Self {
        Self {
            rules,
            control,
            lost: Mutex::new(None),
            changed: Condvar::new(),
        }
    }

    fn decide(&self, message: &Tapped<'_>) -> Fault {
        let ask = |rule: &Arc<Rule>| catch_unwind(AssertUnwindSafe(|| rule(message)));
        let mut faults = self.rules.iter().map(|rule| ask(rule).unwrap_or_default());
        faults
            .find(|fault| *fault != Fault::Pass)
            .unwrap_or_default()
    }

    /// Marks the connection as lost by a fault, and returns the error.
    fn lose(&self) -> Error {
        self.lost.lock().get_or_insert(Lost::Fault);
        self.changed.notify_all();
        self.gone()
    }

    fn gone(&self) -> Error {
        let text = format!("{} has gone (an injected fault)", self.control.peer());
        Error::new(ErrorKind::Closed, text)
    }

    fn check(&self) -> Result<()> {
        match *self.lost.lock() {
            Some(Lost::Fault) => Err(self.gone()),
            _ => Ok(()),
        }
    }

    /// Waits until `due`, but not longer than `until`. Returns true when `due` has passed, or when
    /// the connection is lost or closed.
    fn wait(&self, due: Instant, until: Option<Instant>) -> bool {
        let end = until.map_or(due, |until| until.min(due));
        let lost = self.lost.lock();
        let lost = self.changed.wait_while(lost, Some(end), Option::is_none);
        lost.is_some() || end == due
    }
}

impl Control for FaultyLine {
    fn peer(&self) -> String {
        self.control.peer()
    }

    fn close(&self) {
        self.lost.lock().get_or_insert(Lost::Closed);
        self.changed.notify_all();
        self.control.close();
    }

    fn close_at_once(&self) {
        self.lost.lock().get_or_insert(Lost::Closed);
        self.changed.notify_all();
        self.control.close_at_once();
    }

    fn note_answer(&self) {
        self.control.note_answer();
    }

    fn last_words(&self) -> Option<String> {
        self.control.last_words()
    }

    fn has_unread(&self) -> Option<bool> {
        self.control.has_unread()
    }
}

impl fmt::Debug for FaultyLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FaultyLine").field(&self.control).finish()
    }
}

#[derive(Debug)]
pub(super) struct FaultyReceiver {
    inner: Box<dyn Receiver>,
    line: Arc<FaultyLine>,
    count: u64,
    /// A delayed message, with the time of its delivery.
    held: Option<(Instant, Received)>,
    /// Whether the next receive loses the connection, because the fault of the last message is
    /// [`Fault::CloseAfter`].
    lost_next: bool,
}

impl FaultyReceiver {
    pub(super) fn new(inner: Box<dyn Receiver>, line: Arc<FaultyLine>) -> Self {
        Self {
            inner,
            line,
            count: 0,
            held: None,
            lost_next: false,
        }
    }
}

impl Receiver for FaultyReceiver {
    fn receive(&mut self, patience: Option<Duration>) -> Result<Received> {
        let until = patience.and_then(|patience| Instant::now().checked_add(patience));
        loop {
            if self.lost_next {
                return Err(self.line.lose());
            }
            self.line.check()?;
            if let Some((due, received)) = self.held.take() {
                if self.line.wait(due, until) {
                    self.line.check()?;
                    return Ok(received);
                }
                self.held = Some((due, received));
                return Ok(Received::Nothing);
            }
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            let mut received = self
                .inner
                .receive(Some(left.map_or(LOOK, |left| left.min(LOOK))))?;
            let Some(message) = Tapped::incoming(self.count + 1, &received) else {
                if until.is_some_and(|until| Instant::now() >= until) {
                    self.line.check()?;
                    return Ok(received);
                }
                continue;
            };
            self.count += 1;
            match self.line.decide(&message) {
                Fault::Pass => return Ok(received),
                Fault::Delay(delay) => {
                    self.held = Some((Instant::now() + delay.min(CENTURY), received))
                }
                Fault::Drop => {}
                Fault::Truncate(bytes) => {
                    if let Received::Message(message) = &mut received {
                        message.text.truncate(bytes);
                    }
                    return Ok(received);
                }
                Fault::Close => return Err(self.line.lose()),
                Fault::CloseAfter => {
                    self.lost_next = true;
                    return Ok(received);
                }
            }
        }
    }

    /// Always returns false, because the next message might be delayed or dropped.
    fn has_message(&self) -> bool {
        false
    }

    fn is_patient(&self) -> bool {
        self.inner.is_patient()
    }
}

#[derive(Debug)]
pub(super) struct FaultySender {
    inner: Box<dyn Sender>,
    line: Arc<FaultyLine>,
    count: u64,
    /// The message that is being sent or delayed, after its fault was chosen. The queue has at most
    /// one message.
    held: VecDeque<SessionMessage>,
    /// The time until which the message in `held` is delayed.
    due: Option<Instant>,
    /// Whether the connection is lost after the message in `held` is sent.
    lost_next: bool,
}

impl FaultySender {
    pub(super) fn new(inner: Box<dyn Sender>, line: Arc<FaultyLine>) -> Self {
        Self {
            inner,
            line,
            count: 0,
            held: VecDeque::new(),
            due: None,
            lost_next: false,
        }
    }

    /// Sends the message in `held`, or the rest of a message that an earlier deadline cut short.
    fn finish(&mut self, deadline: Instant) -> Result<()> {
        if let Some(due) = self.due {
            if !self.line.wait(due, Some(deadline)) {
                let text = "a message is delayed (an injected fault)";
                return Err(Error::new(ErrorKind::Timeout, text));
            }
            self.due = None;
        }
        self.line.check()?;
        self.inner.send(&mut self.held, deadline)?;
        if self.lost_next {
            return Err(self.line.lose());
        }
        Ok(())
    }
}

impl Sender for FaultySender {
    fn send(&mut self, queue: &mut VecDeque<SessionMessage>, deadline: Instant) -> Result<()> {
        self.finish(deadline)?;
        while let Some(mut message) = queue.pop_front() {
            self.count += 1;
            let tapped = Tapped::outgoing(self.count, &message);
            match self.line.decide(&tapped) {
                Fault::Pass => {}
                Fault::Delay(delay) => self.due = Some(Instant::now() + delay.min(CENTURY)),
                Fault::Drop => continue,
                Fault::Truncate(bytes) => message.text.truncate(bytes),
                Fault::Close => return Err(self.line.lose()),
                Fault::CloseAfter => self.lost_next = true,
            }
            self.held.push_back(message);
            self.finish(deadline)?;
        }
        Ok(())
    }

    fn sent_bytes(&self) -> u64 {
        self.inner.sent_bytes()
    }
}
