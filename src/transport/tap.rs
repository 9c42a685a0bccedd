//! A wrapper of a transport that shows every incoming and outgoing message to a hook.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::exchange_transport::{
    CancelHandle, Deliver, ExchangeOutcome, ExchangeTransport, Listening, StartedExchange,
};
use super::{Limits, Received, Receiver, Sender, SessionMessage, Transport, TransportParts};
use crate::error::Result;
use crate::jsonrpc::TooLong;
use crate::sync::Mutex;

/// The direction of a message, as seen from this side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "there is no third way")]
pub enum Direction {
    /// The message comes from the peer.
    Incoming,
    /// The message goes to the peer.
    Outgoing,
}

/// A message that a [`Tap`] shows to its hook.
///
/// # Examples
///
/// ```
/// use mcplink::transport::{Direction, SessionMessage, Tapped};
///
/// // A custom transport can show its own messages to the hook of a `Tap`.
/// fn show(message: &Tapped<'_>) -> String {
///     let sign = if message.direction == Direction::Outgoing { '>' } else { '<' };
///     format!("{sign} {} {}", message.number, message.text_lossy())
/// }
/// let message = SessionMessage::new(b"{}".to_vec());
/// assert_eq!(show(&Tapped::outgoing(7, &message)), "> 7 {}");
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Tapped<'a> {
    /// The direction of the message.
    pub direction: Direction,
    /// The number of the message in its direction, counted from 1 since the transport was opened.
    pub number: u64,
    /// The time when the message was received, or passed to the transport for sending.
    pub at: Instant,
    /// The text of the message, unchanged. Empty when the message was dropped. A correct peer sends
    /// UTF-8 JSON.
    pub text: &'a [u8],
    /// The known facts about an incoming message that was dropped. A message is dropped if it
    /// exceeds [`Limits::max_message_bytes`], or if there is no memory for it.
    pub too_long: Option<&'a TooLong>,
}

impl<'a> Tapped<'a> {
    /// Returns the text for display. Bytes that are not UTF-8 are replaced.
    pub fn text_lossy(&self) -> Cow<'a, str> {
        String::from_utf8_lossy(self.text)
    }

    /// Creates the view of a message that this side sends.
    pub fn outgoing(number: u64, message: &'a SessionMessage) -> Self {
        Self {
            direction: Direction::Outgoing,
            number,
            at: Instant::now(),
            text: &message.text,
            too_long: None,
        }
    }

    /// Creates the view of a received message. Returns `None` when no message was received.
    pub fn incoming(number: u64, received: &'a Received) -> Option<Self> {
        let (text, too_long): (&[u8], _) = match received {
            Received::Message(message) => (&message.text, None),
            Received::TooLong(long) => (&[], Some(long)),
            Received::Nothing => return None,
        };
        Some(Self {
            direction: Direction::Incoming,
            number,
            at: Instant::now(),
            text,
            too_long,
        })
    }
}

type Hook = Arc<dyn Fn(&Tapped<'_>) + Send + Sync>;

/// Wraps a transport and shows each message to a hook, for example for logs and counts. The crate
/// `mcplink-testing` records and replays the messages.
///
/// Messages and timeouts of the transport do not change. Its [`address`](Transport::address) does
/// not change either. A transport made by [`again`](Transport::again) has the same hook.
///
/// **Order.** Each direction is shown in its order on the wire. An outgoing message is shown just
/// before it is passed to the wrapped transport. So a request is always shown before its answer,
/// but the peer might not receive a message that was shown. A message that waits because the peer
/// doesn't read is shown once.
///
/// **Threads.** The hook runs on the thread that sends or receives. This is a thread of the
/// connection, or a thread that waits for an answer of the peer. The hook may run for an incoming
/// and an outgoing message at once, but never for two messages of one direction. While the hook
/// runs, no other message is sent or read in that direction. So a hook should take microseconds,
/// must not block, and must never use its own connection. A panic in the hook is ignored, and the
/// message passes.
///
/// **Cost.** Each message costs one reading of the clock and one call of the hook, but no copy.
///
/// # Examples
///
/// ```
/// use mcplink::client::Client;
/// use mcplink::server::Server;
/// use mcplink::transport::{Direction, Tap, memory};
///
/// let server = Server::builder("quiet", "1.0").build()?;
/// let (here, there) = memory::pair();
/// let serving = server.open(there)?;
///
/// let (seen, shown) = std::sync::mpsc::channel();
/// let client = Client::connect(Tap::new(here, move |message| {
///     _ = seen.send((message.direction, message.text_lossy().into_owned()));
/// }))?;
///
/// let (direction, text) = shown.recv()?;
/// assert_eq!(direction, Direction::Outgoing);
/// assert!(text.contains("server/discover"));
/// # drop(client);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Tap {
    inner: Box<dyn Transport>,
    hook: Hook,
}

impl Tap {
    /// Wraps a transport, and calls `hook` for each message.
    pub fn new(
        inner: impl Transport + 'static,
        hook: impl Fn(&Tapped<'_>) + Send + Sync + 'static,
    ) -> Self {
        Self {
            inner: Box::new(inner),
            hook: Arc::new(hook),
        }
    }
}

impl fmt::Debug for Tap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tap").field(&self.inner).finish()
    }
}

impl Transport for Tap {
    fn open(self: Box<Self>, limits: &Limits) -> Result<TransportParts> {
        let TransportParts {
            receiver,
            sender,
            control,
            exchange_transport,
        } = self.inner.open(limits)?;
        let exchange_transport = exchange_transport.map(|inner| -> Arc<dyn ExchangeTransport> {
            Arc::new(TapCarrier {
                inner,
                hook: Arc::clone(&self.hook),
                sent: Mutex::new(0),
                received: Mutex::new(0),
            })
        });
        let receiver = TapReceiver {
            inner: receiver,
            hook: Arc::clone(&self.hook),
            count: 0,
        };
        let sender = TapSender {
            inner: sender,
            hook: self.hook,
            count: 0,
            shown: 0,
        };
        let halves = TransportParts::new(Box::new(receiver), Box::new(sender), control);
        Ok(TransportParts {
            exchange_transport,
            ..halves
        })
    }

    fn again(&self) -> Option<Box<dyn Transport>> {
        let inner = self.inner.again()?;
        let hook = Arc::clone(&self.hook);
        Some(Box::new(Self { inner, hook }))
    }

    fn address(&self) -> Option<String> {
        self.inner.address()
    }
}

/// Calls the hook. A panic in the hook must neither end the connection nor lose the message.
fn show(hook: &Hook, message: &Tapped<'_>) {
    _ = catch_unwind(AssertUnwindSafe(|| hook(message)));
}

struct TapReceiver {
    inner: Box<dyn Receiver>,
    hook: Hook,
    count: u64,
}

impl Receiver for TapReceiver {
    fn receive(&mut self, patience: Option<Duration>) -> Result<Received> {
        let received = self.inner.receive(patience)?;
        if let Some(message) = Tapped::incoming(self.count + 1, &received) {
            self.count += 1;
            show(&self.hook, &message);
        }
        Ok(received)
    }

    fn has_message(&self) -> bool {
        self.inner.has_message()
    }

    fn is_patient(&self) -> bool {
        self.inner.is_patient()
    }
}

impl fmt::Debug for TapReceiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TapReceiver").field(&self.inner).finish()
    }
}

struct TapSender {
    inner: Box<dyn Sender>,
    hook: Hook,
    count: u64,
    /// The number of messages at the front of the queue that were already shown to the hook. These
    /// messages are still queued, because the deadline of an earlier send has passed.
    shown: usize,
}

impl Sender for TapSender {
    fn send(&mut self, queue: &mut VecDeque<SessionMessage>, deadline: Instant) -> Result<()> {
        for message in queue.iter().skip(self.shown) {
            self.count += 1;
            show(&self.hook, &Tapped::outgoing(self.count, message));
        }
        let sent = self.inner.send(queue, deadline);
        self.shown = queue.len();
        sent
    }

    fn sent_bytes(&self) -> u64 {
        self.inner.sent_bytes()
    }
}

impl fmt::Debug for TapSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TapSender").field(&self.inner).finish()
    }
}

/// A tapped exchange transport. Its exchanges run on many threads at once. For each direction, a
/// lock guards the number of messages. The lock is held while the hook runs, so that messages of
/// one direction are shown one after the other.
struct TapCarrier {
    inner: Arc<dyn ExchangeTransport>,
    hook: Hook,
    sent: Mutex<u64>,
    received: Mutex<u64>,
}

impl TapCarrier {
    fn show_sent(&self, message: &SessionMessage) {
        let mut count = self.sent.lock();
        *count += 1;
        show(&self.hook, &Tapped::outgoing(*count, message));
    }

    fn show_received(&self, received: &Received) {
        let mut count = self.received.lock();
        if let Some(message) = Tapped::incoming(*count + 1, received) {
            *count += 1;
            show(&self.hook, &message);
        }
    }
}

impl ExchangeTransport for TapCarrier {
    fn exchange(
        &self,
        request: &SessionMessage,
        cancel_handle: &Arc<CancelHandle>,
        deliver: &mut Deliver<'_>,
    ) -> Result<ExchangeOutcome> {
        self.show_sent(request);
        self.inner
            .exchange(request, cancel_handle, &mut |received| {
                self.show_received(&received);
                deliver(received)
            })
    }

    fn start(self: Arc<Self>, exchange: StartedExchange) -> Result<()> {
        self.show_sent(&exchange.request);
        let (inner, mut deliver) = (Arc::clone(&self.inner), exchange.deliver);
        inner.start(StartedExchange {
            deliver: Box::new(move |received| {
                self.show_received(&received);
                deliver(received)
            }),
            ..exchange
        })
    }

    fn post(&self, message: &SessionMessage, cancel_handle: &Arc<CancelHandle>) -> Result<()> {
        self.show_sent(message);
        self.inner.post(message, cancel_handle)
    }

    fn agree(&self, revision: Option<&str>) {
        self.inner.agree(revision);
    }

    fn listen(&self, on_event: &mut dyn FnMut(Listening), deliver: &mut Deliver<'_>) -> Result<()> {
        self.inner.listen(on_event, &mut |received| {
            self.show_received(&received);
            deliver(received)
        })
    }

    fn fall_back(
        &self,
        cancel_handle: &Arc<CancelHandle>,
        settled: &mut dyn FnMut(),
        deliver: &mut Deliver<'_>,
    ) -> Result<()> {
        self.inner
            .fall_back(cancel_handle, settled, &mut |received| {
                self.show_received(&received);
                deliver(received)
            })
    }

    fn session(&self) -> Option<u64> {
        self.inner.session()
    }

    fn stop(&self) {
        self.inner.stop();
    }

    fn has_stopped(&self) -> bool {
        self.inner.has_stopped()
    }

    fn authorization(&self) -> u64 {
        self.inner.authorization()
    }

    fn user_time(&self) -> Duration {
        self.inner.user_time()
    }
}

impl fmt::Debug for TapCarrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TapCarrier").field(&self.inner).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::super::memory;
    use super::*;

    const SOON: Duration = Duration::from_millis(1);

    fn queue(texts: &[&str]) -> VecDeque<SessionMessage> {
        let message = |text: &&str| SessionMessage::new(text.as_bytes().to_vec());
        texts.iter().map(message).collect()
    }

    /// The messages that were shown to the hook, as `number direction text`.
    #[derive(Clone, Default)]
    struct Seen(Arc<Mutex<Vec<String>>>);

    impl Seen {
        fn tap(&self, inner: impl Transport + 'static) -> Tap {
            let seen = self.clone();
            Tap::new(inner, move |message| {
                let way = match message.direction {
                    Direction::Incoming => "in",
                    Direction::Outgoing => "out",
                };
                let what = match message.too_long {
                    Some(long) => format!("{} bytes", long.bytes),
                    None => message.text_lossy().into_owned(),
                };
                seen.0
                    .lock()
                    .push(format!("{} {way} {what}", message.number));
            })
        }

        fn take(&self) -> Vec<String> {
            std::mem::take(&mut *self.0.lock())
        }
    }

    #[test]
    fn both_directions_are_shown_in_order() {
        let (here, there) = memory::pair();
        let limits = Limits {
            max_message_bytes: 3,
            ..Limits::default()
        };
        let seen = Seen::default();
        let mut here = Box::new(seen.tap(here)).open(&limits).expect("opens");
        let mut there = Box::new(there).open(&limits).expect("opens");
        here.sender
            .send(&mut queue(&["a", "b"]), Instant::now())
            .expect("room");
        there
            .sender
            .send(&mut queue(&["c", "long"]), Instant::now())
            .expect("room");
        assert!(here.receiver.has_message() && here.receiver.is_patient());
        for _ in 0..3 {
            here.receiver.receive(Some(SOON)).expect("goes on");
        }
        let expected = ["1 out a", "2 out b", "1 in c", "2 in 4 bytes"];
        assert_eq!(seen.take(), expected);
    }

    #[test]
    fn what_a_deadline_left_is_shown_once() {
        let (here, there) = memory::pair();
        let limits = Limits {
            max_queued_bytes: 1,
            ..Limits::default()
        };
        let seen = Seen::default();
        let mut here = Box::new(seen.tap(here)).open(&limits).expect("opens");
        let mut there = Box::new(there).open(&limits).expect("opens");
        let mut waiting = queue(&["a", "b"]);
        let cut = here.sender.send(&mut waiting, Instant::now());
        assert!(cut.is_err() && waiting.len() == 1);
        waiting.extend(queue(&["c"]));
        there.receiver.receive(None).expect("a");
        here.sender
            .send(&mut waiting, Instant::now())
            .expect_err("c");
        there.receiver.receive(None).expect("b");
        here.sender.send(&mut waiting, Instant::now()).expect("c");
        assert_eq!(seen.take(), ["1 out a", "2 out b", "3 out c"]);
    }

    #[test]
    fn a_hook_that_panics_loses_no_message() {
        let (here, there) = memory::pair();
        let tap = Tap::new(here, |_| {
            std::panic::resume_unwind(Box::new("of the hook"));
        });
        let mut here = Box::new(tap).open(&Limits::default()).expect("opens");
        let mut there = Box::new(there).open(&Limits::default()).expect("opens");
        here.sender
            .send(&mut queue(&["a"]), Instant::now())
            .expect("sent");
        assert!(matches!(
            there.receiver.receive(Some(SOON)),
            Ok(Received::Message(_))
        ));
    }
}
