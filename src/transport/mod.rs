//! Transports, which move session messages without parsing them.
//!
//! A [`Transport`] is a way to reach one peer. [`open`](Transport::open) splits it into three
//! parts:
//!
//! ```text
//!  Receiver   owned by the thread that reads at the moment; blocks only for input
//!  Sender     owned by the thread that writes at the moment; blocks only until its deadline
//!  Control    shared; any thread can end the other two parts, and the peer, through it
//! ```
//!
//! **A custom transport** implements these traits. It has to keep messages whole and in order,
//! carry UTF-8 JSON text unchanged, and end the receiver when [`Control::close`] is called. Its
//! documentation should say how a connection is made, how messages are framed, and how a
//! cancellation reaches the peer. A byte stream needs no custom transport: [`Stream`] frames its
//! messages as lines.
//!
//! Spec: Transports, "Custom Transports" (every revision).
// M-TRAN-X-03, M-TRAN-X-04, L-STDIO-X-08

mod allowance;
mod child;
pub(crate) mod clock;
#[cfg_attr(
    not(feature = "http-client"),
    expect(dead_code, reason = "exchanges over HTTP use the rest")
)]
pub(crate) mod deadlines;
#[cfg_attr(
    not(feature = "http-client"),
    allow(dead_code, reason = "HTTP is what has one so far")
)]
pub(crate) mod exchange_transport;
mod framing;
pub mod http;
pub mod local;
pub mod memory;
#[cfg_attr(
    not(feature = "http-client"),
    allow(dead_code, reason = "HTTP is what has one so far")
)]
pub(crate) mod message;
#[cfg_attr(
    not(feature = "http-client"),
    allow(dead_code, reason = "HTTP is what has one so far")
)]
mod no_stream;
mod stdio;
mod stream;
pub(crate) mod sys;
mod tap;
mod thread_pool;
mod threads;

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub(crate) use allowance::Allowance;
pub use allowance::RaisedLimit;
pub use child::{Child, Stderr, StderrLines, StderrTail};
pub use stdio::Stdio;
pub use stream::Stream;
pub use tap::{Direction, Tap, Tapped};
pub(crate) use thread_pool::ThreadPool;
#[cfg(feature = "cffi")]
pub(crate) use thread_pool::Work as PoolWork;
pub use threads::Threads;
pub(crate) use threads::{Stack, Started};

use self::exchange_transport::ExchangeTransport;
pub use self::message::{Received, SessionMessage};
use crate::error::Result;

/// A way to reach one peer. A transport is not open until [`open`](Self::open) is called.
pub trait Transport: Send + fmt::Debug {
    /// Opens the transport: connects to the peer, or starts the peer. The connection that takes
    /// over the transport calls this method once.
    ///
    /// # Errors
    ///
    /// An error when the peer can't be reached. No resource stays open after an error.
    fn open(self: Box<Self>, limits: &Limits) -> Result<TransportParts>;

    /// Creates another transport to a new peer of the same kind, if that is possible. For example,
    /// a child process can be started again. Defaults to `None`.
    fn again(&self) -> Option<Box<dyn Transport>> {
        None
    }

    /// Returns a name of the peer that remains valid after this connection, such as a command line.
    /// Facts about the peer are cached under this name. Defaults to `None`.
    fn address(&self) -> Option<String> {
        None
    }
}

impl Transport for Box<dyn Transport> {
    fn open(self: Box<Self>, limits: &Limits) -> Result<TransportParts> {
        (*self).open(limits)
    }

    fn again(&self) -> Option<Box<dyn Transport>> {
        (**self).again()
    }

    fn address(&self) -> Option<String> {
        (**self).address()
    }
}

/// The parts of an open transport.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
///
/// use mcplink::transport::{Limits, Transport, TransportParts};
/// # use std::{collections::VecDeque, sync::mpsc, time::{Duration, Instant}};
/// # use mcplink::transport::{Control, Received, Receiver, Sender, SessionMessage};
/// # use mcplink::{Error, ErrorKind, Result};
/// # fn gone() -> Error { Error::new(ErrorKind::Closed, "the peer has gone") }
/// # #[derive(Debug)]
/// # struct Queues { incoming: mpsc::Receiver<Vec<u8>>, outgoing: mpsc::Sender<Vec<u8>> }
/// # #[derive(Debug)]
/// # struct Incoming(mpsc::Receiver<Vec<u8>>);
/// # impl Receiver for Incoming {
/// #     fn receive(&mut self, _: Option<Duration>) -> Result<Received> {
/// #         let text = self.0.recv().map_err(|_| gone())?;
/// #         Ok(Received::Message(SessionMessage::new(text)))
/// #     }
/// # }
/// # #[derive(Debug)]
/// # struct Outgoing(mpsc::Sender<Vec<u8>>);
/// # impl Sender for Outgoing {
/// #     fn send(&mut self, queue: &mut VecDeque<SessionMessage>, _: Instant) -> Result<()> {
/// #         let mut messages = queue.drain(..);
/// #         messages.try_for_each(|message| self.0.send(message.text).map_err(|_| gone()))
/// #     }
/// # }
/// # #[derive(Debug)]
/// # struct Ends;
/// # impl Control for Ends {
/// #     fn peer(&self) -> String { "queue".to_owned() }
/// #     fn close(&self) {}
/// # }
///
/// // A custom transport of two queues. `Incoming` implements `Receiver`, `Outgoing` implements
/// // `Sender`, and `Ends` implements `Control`.
/// impl Transport for Queues {
///     fn open(self: Box<Self>, _: &Limits) -> mcplink::Result<TransportParts> {
///         let receiver = Box::new(Incoming(self.incoming));
///         let sender = Box::new(Outgoing(self.outgoing));
///         Ok(TransportParts::new(receiver, sender, Arc::new(Ends)))
///     }
/// }
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct TransportParts {
    /// The part that receives messages.
    pub receiver: Box<dyn Receiver>,
    /// The part that sends messages.
    pub sender: Box<dyn Sender>,
    /// The part that ends the receiver and the sender.
    pub control: Arc<dyn Control>,
    /// The exchange transport, if each request has its own exchange. With an exchange transport the
    /// receiver returns no messages.
    pub(crate) exchange_transport: Option<Arc<dyn ExchangeTransport>>,
}

impl TransportParts {
    /// Combines the parts of a custom transport.
    pub fn new(
        receiver: Box<dyn Receiver>,
        sender: Box<dyn Sender>,
        control: Arc<dyn Control>,
    ) -> Self {
        Self {
            receiver,
            sender,
            control,
            exchange_transport: None,
        }
    }

    /// Whether each request has its own exchange, as over HTTP. The receiver and the sender then
    /// carry no messages, so a wrapper of the two sees none.
    pub fn has_exchanges(&self) -> bool {
        self.exchange_transport.is_some()
    }
}

/// The part of an open transport that receives messages.
pub trait Receiver: Send + fmt::Debug {
    /// Receives the next message. If `patience` is given, blocks for about that time; otherwise
    /// blocks without limit.
    ///
    /// A receiver that can't limit its wait may ignore `patience` if
    /// [`is_patient`](Self::is_patient) returns false.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Closed`](crate::ErrorKind::Closed) when the peer has gone or [`Control::close`]
    /// was called, with the reason if it is known. Any other kind for a failure. Every error ends
    /// the connection.
    fn receive(&mut self, patience: Option<Duration>) -> Result<Received>;

    /// Whether [`receive`](Self::receive) can return a message without blocking.
    fn has_message(&self) -> bool {
        false
    }

    /// Whether [`receive`](Self::receive) respects `patience`. If false, a thread that waits for
    /// the response to its call does not receive messages: another thread receives all messages.
    fn is_patient(&self) -> bool {
        false
    }

    /// Takes back the buffer of a processed message, for reuse. By default the buffer is freed.
    fn reclaim(&mut self, memory: Vec<u8>) {
        drop(memory);
    }
}

/// The part of an open transport that sends messages.
pub trait Sender: Send + fmt::Debug {
    /// Sends messages from the front of the queue, in order. Blocks until all are sent or
    /// `deadline` passes. Several messages may be sent in one write.
    ///
    /// A message leaves the queue when the sender has taken ownership of it. If the deadline cuts a
    /// message short, the sender keeps the message. The next call sends the rest of that message
    /// first, even if the queue is empty. Messages that the sender has not taken stay at the front
    /// of the queue.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Timeout`](crate::ErrorKind::Timeout) when the deadline passed before all
    /// messages were sent: call again to continue. Any other kind ends the connection, which is
    /// then closed.
    fn send(&mut self, queue: &mut VecDeque<SessionMessage>, deadline: Instant) -> Result<()>;

    /// Returns the number of bytes sent so far. The number distinguishes a slow peer from a peer
    /// that reads nothing. Defaults to 0, for a transport that does not count bytes. With 0, only
    /// whole messages count as progress.
    fn sent_bytes(&self) -> u64 {
        0
    }
}

/// The part of an open transport that any thread may use.
pub trait Control: Send + Sync + fmt::Debug {
    /// Returns the name of the peer for error messages, for example
    /// `weather-server (process 4711)`.
    fn peer(&self) -> String;

    /// Ends the receiver and the sender, and also the peer if this side owns it. The method is
    /// idempotent, and takes a limited time.
    ///
    /// The method is called when the connection is closed or given up, and when its [`Sender`] has
    /// failed. If only the receiver has ended, the method is not called.
    ///
    /// The close is orderly: the peer sees the end of its input, and has some time to end. Incoming
    /// messages still have to be received during that time. After this method has returned, no
    /// thread blocks in [`Receiver::receive`].
    fn close(&self);

    /// Ends the receiver, the sender and the peer as [`close`](Self::close) does, but gives the
    /// peer only a moment to end. The method is called when no conversation with the peer was
    /// established. Defaults to `close`.
    fn close_at_once(&self) {
        self.close();
    }

    /// Records that the peer has answered a request. After this call,
    /// [`last_words`](Self::last_words) omits the peer's earlier output. The receiving thread calls
    /// this method. Does nothing by default.
    fn note_answer(&self) {}

    /// Returns the peer's recent output outside of the protocol, such as its standard error. An
    /// error quotes this output. Defaults to `None`.
    fn last_words(&self) -> Option<String> {
        None
    }

    /// Whether the peer has not yet read all sent bytes, or had not read all of them when it ended.
    /// `None`, the default, means unknown. A connecting client waits for an answer while this
    /// method returns true.
    fn has_unread(&self) -> Option<bool> {
        None
    }
}

/// The limits of a connection. Each field documents its default, and the effect at the limit.
///
/// # Examples
///
/// ```
/// use mcplink::client::Client;
/// use mcplink::transport::Limits;
///
/// let mut limits = Limits::default();
/// limits.max_message_bytes = 64 << 20;
/// let builder = Client::builder("host", "1.0").limits(limits);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// The maximum length of an accepted message, in bytes. Defaults to 16 MiB. A longer message is
    /// dropped: a request is answered with an error, a response fails its call with
    /// [`ErrorKind::Limit`](crate::ErrorKind::Limit), and the connection stays open. A message for
    /// which the system has no memory is dropped in the same way. If there is no memory to read at
    /// all, the connection ends with [`ErrorKind::Limit`](crate::ErrorKind::Limit).
    ///
    /// `_meta` and unknown members of a message are stored as JSON trees. The trees of a message
    /// may use 64 MiB plus four times the length of the message. If the trees would be larger, the
    /// message can't be read: a request is answered with *invalid params*, and a call fails with
    /// [`ErrorKind::Protocol`](crate::ErrorKind::Protocol). Arguments, structured results and all
    /// raw values are not stored as trees.
    ///
    /// All pending calls on all connections of a server share one memory budget. The budget is
    /// [`max_workers`](Self::max_workers) times this limit, and at least 16 MiB. Large calls
    /// (longer than 64 KiB, or with more than 4 KiB of `_meta`) count from arrival. Other calls
    /// count while they wait for client input or run as tasks. `_meta` counts with the maximum size
    /// of its trees. Task results longer than 64 KiB share a second budget of the same size. A call
    /// that would exceed a budget fails with a "busy" error.
    pub max_message_bytes: usize,
    /// The maximum nesting depth of arrays and objects in a message. Defaults to 128. A message
    /// that is nested deeper is answered with an error.
    pub max_depth: usize,
    /// The maximum number of bytes that may be queued for sending while the peer does not read.
    /// Defaults to 16 MiB. At the limit, callers wait until their deadline. An empty queue accepts
    /// one message of any size.
    pub max_queued_bytes: usize,
    /// The maximum number of calls from this side that may be in flight. Defaults to
    /// 10 000. The next call fails at once with [`ErrorKind::Busy`](crate::ErrorKind::Busy).
    pub max_calls: usize,
    /// The maximum number of requests from the peer that may be in flight: running, or waiting for
    /// a worker. Defaults to 1 024. The next request is answered at once with a "busy" error.
    ///
    /// If the peer does not read its answers, however, further requests are deferred instead of
    /// refused. Up to [`max_queued_bytes`](Self::max_queued_bytes) of requests are deferred. At
    /// that limit, no more input is read.
    pub max_requests: usize,
    /// The maximum number of calls of one legacy client that may wait for input from the client.
    /// Defaults to 1 024. Such waiting calls do not count as requests in flight. The next call that
    /// needs input fails, and its input is not requested.
    pub max_questions: usize,
    /// The maximum number of handlers that may run at once. Defaults to 64. Handlers that wait for
    /// an answer of the peer do not count.
    ///
    /// HTTP clients without a session share these threads, which run the tasks of the clients. The
    /// client with the fewest running handlers gets the next free thread. One client may use all
    /// threads. Other clients then use the reserve ([`reserve_percent`](Self::reserve_percent),
    /// rounded up), which is beyond this limit.
    pub max_workers: usize,
    /// The maximum number of received notifications that may wait for delivery. One thread at a
    /// time delivers them, in order. Defaults to 1 024. The next notification is dropped and
    /// counted.
    pub max_notifications: usize,
    /// The maximum number of subscriptions of one client. A stream of change notifications is a
    /// subscription, and so is a subscribed resource. Defaults to 1 024. Subscriptions do not count
    /// as requests in flight.
    ///
    /// Each subscription counts as one, and a resource counts once more for each KiB of its URI. A
    /// subscription beyond the limit is refused. A second limit applies to the subscribed URIs of
    /// all legacy clients of a server together: `max_subscriptions × 256 KiB`, and at least 16 MiB.
    /// Each URI counts 128 bytes more than its length.
    pub max_subscriptions: usize,
    /// The maximum number of log messages without a call
    /// ([`Server::log`](crate::server::Server::log)) that may wait for one legacy client. Defaults
    /// to 1 024. The next message is dropped for this client. Change notifications need no limit,
    /// because waiting change notifications are merged.
    pub max_backlog: usize,
    /// The maximum number of progress and log messages of one call that may wait for the call's
    /// callback. Defaults to 1 024. At the limit, progress messages are merged and counted, and the
    /// newest one is kept.
    pub max_call_events: usize,
    /// The maximum number of cacheable responses that a client keeps. Defaults to 1 024; 0 disables
    /// the cache. The least recently used responses are removed first. See
    /// [`ResponseCache`](crate::client::ResponseCache).
    pub max_cached_responses: usize,
    /// The maximum size of the cached responses and their requests together, in bytes. Defaults to
    /// 16 MiB; 0 disables the cache.
    pub max_cached_bytes: usize,
    /// The share of each server resource that one client may use while other clients need it, in
    /// percent. Defaults to 50. A client that is alone may use everything except the reserve.
    ///
    /// The resources are requests in flight, subscriptions, tasks and their threads, and the memory
    /// of calls, task results and subscriptions. Idle entries of other clients are removed for a
    /// client only up to its share.
    /// [`HttpLimits::part_percent`](crate::transport::http::HttpLimits::part_percent) is the
    /// setting for connections, threads and sessions.
    pub part_percent: usize,
    /// The part of each limited capacity of a server that is reserved for clients that use little,
    /// in percent. Defaults to 12. One client may use at most half of the reserve.
    /// [`part_percent`](Self::part_percent) lists the resources.
    pub reserve_percent: usize,
    /// The settings of the threads that an opened transport starts. They are not a limit.
    pub(crate) threads: Threads,
    /// The number of bytes by which a message may exceed `max_message_bytes` at present. Each
    /// client has an allowance of its own.
    pub(crate) allowance: Allowance,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_message_bytes: 16 << 20,
            max_depth: 128,
            max_queued_bytes: 16 << 20,
            max_calls: 10_000,
            max_requests: 1024,
            max_questions: 1024,
            max_workers: 64,
            max_notifications: 1024,
            max_subscriptions: 1024,
            max_backlog: 1024,
            max_call_events: 1024,
            max_cached_responses: 1024,
            max_cached_bytes: 16 << 20,
            part_percent: 50,
            reserve_percent: 12,
            threads: Threads::default(),
            allowance: Allowance::default(),
        }
    }
}

impl Limits {
    /// Returns the maximum length of a message that is accepted at the moment, in bytes.
    pub(crate) fn longest_message(&self) -> usize {
        self.allowance.above(self.max_message_bytes)
    }

    /// Returns the share of the limit `bound` that one client may use while other clients need
    /// space.
    pub(crate) fn part_of(&self, bound: usize) -> usize {
        percent_of(self.part_percent, bound, 0)
    }

    /// Returns the number of slots beyond the limit `bound` that are reserved for clients that use
    /// little. The number is at least 1, unless the reserve is disabled.
    pub(crate) fn reserve_beyond(&self, bound: usize) -> usize {
        percent_of(self.reserve_percent, bound, 99)
    }

    /// Returns the part of the limit `bound` that is reserved for clients that use little.
    pub(crate) fn reserve_of(&self, bound: usize) -> usize {
        percent_of(self.reserve_percent, bound, 50)
    }
}

/// Returns `percent` percent of `bound`. `rounding` hundredths are added before the result is
/// rounded down.
fn percent_of(percent: usize, bound: usize, rounding: u128) -> usize {
    let hundredths = bound as u128 * percent as u128 + rounding;
    usize::try_from(hundredths / 100).unwrap_or(usize::MAX)
}
