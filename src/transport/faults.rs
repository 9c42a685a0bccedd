//! Lets a connection go wrong on purpose.

use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::{
    Control, Direction, Halves, Limits, Received, Receiver, Sender, SessionMessage, Tapped,
    Transport, lock,
};
use crate::error::{Error, ErrorKind, Result};

/// What happens to a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// Nothing: it passes.
    #[default]
    Pass,
    /// It is held back so long, and what comes behind it in its direction too, the end of the connection included.
    Delay(Duration),
    /// It is lost, and nobody is told.
    Drop,
    /// It is cut after so many bytes.
    Truncate(usize),
    /// It is lost, and the connection with it, as if the peer had gone.
    Close,
    /// It passes, and then the connection is lost.
    CloseAfter,
}

/// How often one who waits for a message looks whether the connection was lost meanwhile: the wrapped receiver is not told.
const LOOK: Duration = Duration::from_millis(10);

type Rule = dyn Fn(&Tapped<'_>) -> Fault + Send + Sync;

/// Wraps a transport and lets it go wrong as told: to test how an application bears it.
///
/// Nothing is random: what happens is said by count, or decided by a function that is shown each message. Of several rules the first one
/// that does not let a message pass is followed. Messages are counted from 1 in each direction, as of the opening of the transport; a
/// transport made [`again`](Transport::again) has the same rules and counts anew.
///
/// The message framing below stays whole: a cut message is a message with half of its text. A lost connection fails on this side; the
/// far side sees its end when this one closes it.
///
/// **Threads.** A delayed message is waited for on the thread that receives or sends, within the time that it has; closing ends the wait.
/// Rules run there too.
///
/// # Examples
///
/// ```
/// use mcplink::ErrorKind;
/// use mcplink::client::Client;
/// use mcplink::server::Server;
/// use mcplink::transport::{Direction, Fault, Faults, memory};
///
/// let server = Server::builder("frail", "1.0").build()?;
/// let (here, there) = memory::pair();
/// let serving = server.open(there)?;
///
/// // The server crashes when it should answer for the second time.
/// let frail = Faults::new(here).at(Direction::Incoming, 2, Fault::Close);
/// let client = Client::connect(frail)?;
/// let error = client.request("tests/anything", &serde_json::json!({}), Default::default());
/// assert_eq!(error.unwrap_err().kind(), ErrorKind::Closed);
/// # Ok::<(), mcplink::Error>(())
/// ```
#[must_use = "it does nothing before it is opened"]
pub struct Faults {
    inner: Box<dyn Transport>,
    rules: Vec<Arc<Rule>>,
}

impl Faults {
    /// Wraps a transport, without any fault yet.
    pub fn new(inner: impl Transport + 'static) -> Self {
        Self {
            inner: Box::new(inner),
            rules: Vec::new(),
        }
    }

    /// Does something to one message of a direction, counted from 1.
    pub fn at(self, direction: Direction, number: u64, fault: Fault) -> Self {
        self.decide(move |message| {
            let meant = message.direction == direction && message.number == number;
            if meant { fault } else { Fault::Pass }
        })
    }

    /// Does something to one message of a direction and all behind it.
    pub fn since(self, direction: Direction, number: u64, fault: Fault) -> Self {
        self.decide(move |message| {
            let meant = message.direction == direction && message.number >= number;
            if meant { fault } else { Fault::Pass }
        })
    }

    /// Does something to every so manieth message of a direction. 0 means none.
    pub fn every(self, direction: Direction, interval: u64, fault: Fault) -> Self {
        self.decide(move |message| {
            let meant = message.direction == direction
                && interval != 0
                && message.number.is_multiple_of(interval);
            if meant { fault } else { Fault::Pass }
        })
    }

    /// Asks a function what happens to each message. When it panics, the message passes.
    pub fn decide(mut self, rule: impl Fn(&Tapped<'_>) -> Fault + Send + Sync + 'static) -> Self {
        self.rules.push(Arc::new(rule));
        self
    }
}

impl fmt::Debug for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Faults")
            .field("inner", &self.inner)
            .field("rules", &self.rules.len())
            .finish()
    }
}

impl Transport for Faults {
    fn open(self: Box<Self>, limits: &Limits) -> Result<Halves> {
        let Halves {
            receiver,
            sender,
            control,
        } = self.inner.open(limits)?;
        let line = Arc::new(FaultyLine {
            rules: self.rules,
            control,
            lost: Mutex::new(None),
            changed: Condvar::new(),
        });
        let receiver = FaultyReceiver {
            inner: receiver,
            line: Arc::clone(&line),
            count: 0,
            held: None,
            lost_next: false,
        };
        let sender = FaultySender {
            inner: sender,
            line: Arc::clone(&line),
            count: 0,
            held: VecDeque::new(),
            due: None,
            lost_next: false,
        };
        Ok(Halves::new(Box::new(receiver), Box::new(sender), line))
    }

    fn again(&self) -> Option<Box<dyn Transport>> {
        Some(Box::new(Self {
            inner: self.inner.again()?,
            rules: self.rules.clone(),
        }))
    }

    fn address(&self) -> Option<String> {
        self.inner.address()
    }
}

/// What both halves share.
struct FaultyLine {
    rules: Vec<Arc<Rule>>,
    control: Arc<dyn Control>,
    /// Guards why nothing passes any more, and whether delays are over.
    lost: Mutex<Option<Lost>>,
    changed: Condvar,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Lost {
    /// By a fault: both halves fail.
    Fault,
    /// By us: the wrapped halves know, and delays end.
    Closed,
}

impl FaultyLine {
    fn decide(&self, message: &Tapped<'_>) -> Fault {
        let ask = |rule: &Arc<Rule>| catch_unwind(AssertUnwindSafe(|| rule(message)));
        let mut faults = self.rules.iter().map(|rule| ask(rule).unwrap_or_default());
        faults
            .find(|fault| *fault != Fault::Pass)
            .unwrap_or_default()
    }

    /// The connection is lost by a fault.
    fn lose(&self) -> Error {
        lock(&self.lost).get_or_insert(Lost::Fault);
        self.changed.notify_all();
        self.gone()
    }

    fn gone(&self) -> Error {
        let text = format!("{} has gone (an injected fault)", self.control.peer());
        Error::new(ErrorKind::Closed, text)
    }

    fn check(&self) -> Result<()> {
        match *lock(&self.lost) {
            Some(Lost::Fault) => Err(self.gone()),
            _ => Ok(()),
        }
    }

    /// Waits until `due`, but not past `until`. Returns whether `due` has come, or waiting makes no sense any more.
    fn wait(&self, due: Instant, until: Option<Instant>) -> bool {
        let end = until.map_or(due, |until| until.min(due));
        let left = end.saturating_duration_since(Instant::now());
        let lost = lock(&self.lost);
        let waited = self
            .changed
            .wait_timeout_while(lost, left, |lost| lost.is_none());
        let (lost, _) = waited.unwrap_or_else(PoisonError::into_inner);
        lost.is_some() || end == due
    }
}

impl Control for FaultyLine {
    fn peer(&self) -> String {
        self.control.peer()
    }

    fn close(&self) {
        lock(&self.lost).get_or_insert(Lost::Closed);
        self.changed.notify_all();
        self.control.close();
    }

    fn last_words(&self) -> Option<String> {
        self.control.last_words()
    }
}

impl fmt::Debug for FaultyLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FaultyLine").field(&self.control).finish()
    }
}

#[derive(Debug)]
struct FaultyReceiver {
    inner: Box<dyn Receiver>,
    line: Arc<FaultyLine>,
    count: u64,
    /// A message that is delayed until then.
    held: Option<(Instant, Received)>,
    /// The last message was the last one.
    lost_next: bool,
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
                Fault::Delay(delay) => match Instant::now().checked_add(delay) {
                    Some(due) => self.held = Some((due, received)),
                    None => return Ok(received),
                },
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

    /// Not while a message is held, nor before it is known what becomes of the next one.
    fn has_message(&self) -> bool {
        false
    }

    fn is_patient(&self) -> bool {
        self.inner.is_patient()
    }
}

#[derive(Debug)]
struct FaultySender {
    inner: Box<dyn Sender>,
    line: Arc<FaultyLine>,
    count: u64,
    /// At most one message, whose fate is decided.
    held: VecDeque<SessionMessage>,
    /// When it may go.
    due: Option<Instant>,
    /// It is the last one.
    lost_next: bool,
}

impl FaultySender {
    /// Sends what is held, or what a deadline cut.
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
                Fault::Delay(delay) => self.due = Instant::now().checked_add(delay),
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
}

#[cfg(test)]
mod tests {
    use super::super::memory;
    use super::Direction::{Incoming, Outgoing};
    use super::*;

    const NOW: Duration = Duration::ZERO;
    const SHORT: Duration = Duration::from_millis(20);
    const LONG: Duration = Duration::from_secs(3600);

    fn open(faults: impl FnOnce(Faults) -> Faults) -> (Halves, Halves) {
        let (here, there) = memory::pair();
        let open = |transport: Box<dyn Transport>| transport.open(&Limits::default());
        let here = open(Box::new(faults(Faults::new(here)))).expect("opens");
        (here, open(Box::new(there)).expect("opens"))
    }

    fn send(halves: &mut Halves, texts: &[&str]) -> Result<()> {
        let message = |text: &&str| SessionMessage::new(text.as_bytes().to_vec());
        let mut queue = texts.iter().map(message).collect();
        halves.sender.send(&mut queue, Instant::now() + SHORT)
    }

    /// What has come, up to nothing or the end.
    fn received(halves: &mut Halves) -> Vec<String> {
        std::iter::from_fn(|| match halves.receiver.receive(Some(NOW)) {
            Ok(Received::Message(message)) => Some(String::from_utf8(message.text).expect("UTF-8")),
            Ok(_) => None,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Closed);
                None
            }
        })
        .collect()
    }

    fn check(faults: impl Fn(Faults, Direction) -> Faults, expected: &[&str]) {
        for direction in [Incoming, Outgoing] {
            let (mut here, mut there) = open(|inner| faults(inner, direction));
            let (from, to) = match direction {
                Incoming => (&mut there, &mut here),
                Outgoing => (&mut here, &mut there),
            };
            // It fails when the connection is lost on the way.
            drop(send(from, &["one", "two", "three", "four"]));
            assert_eq!(received(to), expected, "{direction:?}");
        }
    }

    #[test]
    fn messages_meet_their_fault_in_either_direction() {
        check(|inner, _| inner, &["one", "two", "three", "four"]);
        check(
            |inner, way| inner.at(way, 2, Fault::Drop),
            &["one", "three", "four"],
        );
        check(
            |inner, way| inner.since(way, 3, Fault::Drop),
            &["one", "two"],
        );
        check(
            |inner, way| inner.every(way, 2, Fault::Truncate(1)),
            &["one", "t", "three", "f"],
        );
        check(|inner, way| inner.at(way, 3, Fault::Close), &["one", "two"]);
        check(
            |inner, way| inner.at(way, 2, Fault::CloseAfter),
            &["one", "two"],
        );
        check(|inner, way| inner.at(way, 2, Fault::Delay(LONG)), &["one"]);
        check(
            |inner, _| inner.decide(|_| std::panic::resume_unwind(Box::new("of the rule"))),
            &["one", "two", "three", "four"],
        );
    }

    #[test]
    fn a_delay_ends() {
        let (mut here, mut there) = open(|inner| {
            let inner = inner.at(Incoming, 1, Fault::Delay(SHORT));
            inner.at(Outgoing, 1, Fault::Delay(SHORT * 3))
        });
        let start = Instant::now();
        send(&mut there, &["in"]).expect("sent");
        assert!(received(&mut here).is_empty());
        let came = here.receiver.receive(None).expect("comes");
        assert!(matches!(came, Received::Message(_)) && start.elapsed() >= SHORT);
        let error = send(&mut here, &["out", "left in the queue"]).expect_err("delayed");
        assert_eq!(error.kind(), ErrorKind::Timeout);
        assert!(received(&mut there).is_empty());
        let again = here
            .sender
            .send(&mut VecDeque::new(), Instant::now() + LONG);
        again.expect("its time has come");
        assert_eq!(received(&mut there), ["out"]);
    }

    #[test]
    fn closing_ends_a_delay() {
        let (mut here, mut there) = open(|inner| inner.at(Incoming, 1, Fault::Delay(LONG)));
        send(&mut there, &["in"]).expect("sent");
        assert!(received(&mut here).is_empty());
        let control = Arc::clone(&here.control);
        let waiting = std::thread::spawn(move || while here.receiver.receive(None).is_ok() {});
        control.close();
        waiting.join().expect("it ends");
    }
}
