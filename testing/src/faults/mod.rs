//! Fault injection: makes a connection fail on purpose.

mod fault;
mod halves;

use std::fmt;
use std::sync::Arc;

pub use self::fault::Fault;
use self::fault::Rule;
use self::halves::{FaultyLine, FaultyReceiver, FaultySender};
use mcplink::transport::{Direction, Limits, Tapped, Transport, TransportParts};
use mcplink::{Error, ErrorKind, Result};

/// Wraps a transport and injects faults, to test how an application handles them.
///
/// Nothing is random. A fault applies to messages with given numbers, or a function chooses the
/// fault of each message. The first rule that returns a fault other than [`Fault::Pass`] applies.
/// Messages are counted from 1 in each direction since the transport was opened. A transport made
/// by [`again`](Transport::again) has the same rules and new counters.
///
/// Faults do not damage the framing: a cut message is a whole frame with a part of its text. A lost
/// connection fails on this side. The peer sees the end when this side closes the connection.
///
/// **Threads.** The thread that receives or sends waits for a delayed message, within its timeout
/// or deadline. Closing ends the wait. Rules run on that thread, too.
///
/// # Examples
///
/// ```
/// use mcplink::ErrorKind;
/// use mcplink::client::Client;
/// use mcplink::server::Server;
/// use mcplink::transport::{Direction, memory};
/// use mcplink_testing::{Fault, Faults};
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
    /// Wraps a transport. Until a fault is added, all messages pass.
    pub fn new(inner: impl Transport + 'static) -> Self {
        Self {
            inner: Box::new(inner),
            rules: Vec::new(),
        }
    }

    /// Adds a fault for message `number` of a direction, counted from 1.
    pub fn at(self, direction: Direction, number: u64, fault: Fault) -> Self {
        self.decide(move |message| {
            let meant = message.direction == direction && message.number == number;
            if meant { fault } else { Fault::Pass }
        })
    }

    /// Adds a fault for message `number` of a direction, counted from 1, and for all later messages
    /// of the direction.
    pub fn since(self, direction: Direction, number: u64, fault: Fault) -> Self {
        self.decide(move |message| {
            let meant = message.direction == direction && message.number >= number;
            if meant { fault } else { Fault::Pass }
        })
    }

    /// Adds a fault for every `interval`-th message of a direction. With an `interval` of 0, the
    /// fault applies to no message.
    pub fn every(self, direction: Direction, interval: u64, fault: Fault) -> Self {
        self.decide(move |message| {
            let meant = message.direction == direction
                && interval != 0
                && message.number.is_multiple_of(interval);
            if meant { fault } else { Fault::Pass }
        })
    }

    /// Adds a function that returns the fault of each message. If the function panics, the message
    /// passes.
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
    fn open(self: Box<Self>, limits: &Limits) -> Result<TransportParts> {
        let parts = self.inner.open(limits)?;
        if parts.has_exchanges() {
            parts.control.close_at_once();
            let text = "faults need a transport with one stream each way, which HTTP has not";
            return Err(Error::new(ErrorKind::Unsupported, text));
        }
        let line = Arc::new(FaultyLine::new(self.rules, parts.control));
        let receiver = FaultyReceiver::new(parts.receiver, Arc::clone(&line));
        let sender = FaultySender::new(parts.sender, Arc::clone(&line));
        Ok(TransportParts::new(
            Box::new(receiver),
            Box::new(sender),
            line,
        ))
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

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::time::{Duration, Instant};

    use mcplink::ErrorKind;
    use mcplink::transport::{Received, SessionMessage, memory};

    use super::Direction::{Incoming, Outgoing};
    use super::*;

    const NOW: Duration = Duration::ZERO;
    const SHORT: Duration = Duration::from_millis(20);
    const LONG: Duration = Duration::from_secs(3600);

    fn open(faults: impl FnOnce(Faults) -> Faults) -> (TransportParts, TransportParts) {
        let (here, there) = memory::pair();
        let open = |transport: Box<dyn Transport>| transport.open(&Limits::default());
        let here = open(Box::new(faults(Faults::new(here)))).expect("opens");
        (here, open(Box::new(there)).expect("opens"))
    }

    fn send(halves: &mut TransportParts, texts: &[&str]) -> Result<()> {
        let message = |text: &&str| SessionMessage::new(text.as_bytes().to_vec());
        let mut queue = texts.iter().map(message).collect();
        halves.sender.send(&mut queue, Instant::now() + SHORT)
    }

    /// Receives messages until no more arrive or the connection ends, and returns them.
    fn received(halves: &mut TransportParts) -> Vec<String> {
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
            // Sending fails when the connection is lost on the way.
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
