//! Transports: move session messages without parsing them.
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

mod child;
pub(crate) mod clock;
#[cfg_attr(
    not(feature = "http-client"),
    allow(dead_code, reason = "HTTP is what has one so far")
)]
pub(crate) mod exchange_transport;
mod faults;
mod framing;
pub mod http;
pub mod memory;
pub(crate) mod message;
mod stdio;
mod stream;
pub(crate) mod sys;
mod tap;
mod threads;
pub mod trace;

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

pub use child::{Child, Stderr, StderrLines, StderrTail};
pub use faults::{Fault, Faults};
pub use stdio::Stdio;
pub use stream::Stream;
pub use tap::{Direction, Tap, Tapped};
pub use threads::Threads;
pub(crate) use threads::{Stack, Started};

use self::exchange_transport::ExchangeTransport;
pub use self::message::{Received, SessionMessage};
use crate::error::{Error, ErrorKind, Result};

/// Locks a mutex, also after a panic poisoned it: the guarded value is never left half changed.
fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A way to reach one peer, not opened yet.
pub trait Transport: Send + fmt::Debug {
    /// Opens the transport: connects, or starts the peer. The connection that takes over the
    /// transport calls it once.
    ///
    /// # Errors
    ///
    /// An error when the peer can't be reached. No resource stays open then.
    fn open(self: Box<Self>, limits: &Limits) -> Result<TransportParts>;

    /// Creates another transport, to a new peer of this kind, if that is possible. For example, a
    /// child process can be started again. Defaults to `None`.
    fn again(&self) -> Option<Box<dyn Transport>> {
        None
    }

    /// Returns a name of the peer that outlasts this connection, such as a command line. Facts
    /// about the peer are cached under this name. Defaults to `None`.
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
#[derive(Debug)]
#[non_exhaustive]
pub struct TransportParts {
    /// Receives messages.
    pub receiver: Box<dyn Receiver>,
    /// Sends messages.
    pub sender: Box<dyn Sender>,
    /// Ends both.
    pub control: Arc<dyn Control>,
    /// The exchange transport, if each request has its own exchange. Then the receiver returns no
    /// messages.
    pub(crate) carrier: Option<Arc<dyn ExchangeTransport>>,
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
            carrier: None,
        }
    }
}

impl TransportParts {
    /// Creates an open exchange transport. Its receiver and sender are not used.
    pub(crate) fn over_exchanges(
        carrier: Arc<dyn ExchangeTransport>,
        control: Arc<dyn Control>,
    ) -> Self {
        Self {
            receiver: Box::new(NoStream),
            sender: Box::new(NoStream),
            control,
            carrier: Some(carrier),
        }
    }
}

/// A placeholder for the receiver and the sender of an exchange transport.
#[derive(Debug)]
struct NoStream;

impl NoStream {
    fn refuse() -> Error {
        let text = "this transport has no stream: each request has a way of its own";
        Error::new(ErrorKind::Unsupported, text)
    }
}

impl Receiver for NoStream {
    fn receive(&mut self, _: Option<Duration>) -> Result<Received> {
        Err(Self::refuse())
    }
}

impl Sender for NoStream {
    fn send(&mut self, _: &mut VecDeque<SessionMessage>, _: Instant) -> Result<()> {
        Err(Self::refuse())
    }
}
/// The incoming part of a transport.
pub trait Receiver: Send + fmt::Debug {
    /// Receives the next message. Blocks without limit, or for about `patience` if that is given.
    ///
    /// A receiver that can't limit its wait may ignore `patience` if
    /// [`is_patient`](Self::is_patient) returns false.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Closed`](crate::ErrorKind::Closed) when the peer has gone or [`Control::close`]
    /// was called, with the reason if it is known; any other kind for a failure. Each of them ends
    /// the connection.
    fn receive(&mut self, patience: Option<Duration>) -> Result<Received>;

    /// Whether [`receive`](Self::receive) can return a message without blocking.
    fn has_message(&self) -> bool {
        false
    }

    /// Whether [`receive`](Self::receive) respects `patience`. If not, waiting callers don't read
    /// for themselves.
    fn is_patient(&self) -> bool {
        false
    }

    /// Returns the buffer of a message that was processed at once, for reuse. Defaults to freeing
    /// it.
    fn reclaim(&mut self, memory: Vec<u8>) {
        drop(memory);
    }
}

/// The outgoing part of a transport.
pub trait Sender: Send + fmt::Debug {
    /// Sends messages from the front of the queue, in order. Blocks until all are sent or
    /// `deadline` passes. Several messages may be sent in one write.
    ///
    /// A message leaves the queue when the sender has taken ownership of it. The sender keeps a
    /// message that the deadline cut short. The next call sends its rest first, even if the queue
    /// is empty. Messages that were not taken stay at the front of the queue.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Timeout`](crate::ErrorKind::Timeout) when the deadline passed before all was
    /// sent: call again to continue. Any other kind ends the connection, which is then closed.
    fn send(&mut self, queue: &mut VecDeque<SessionMessage>, deadline: Instant) -> Result<()>;

    /// Returns how many bytes were sent so far. So a slow peer can be distinguished from one that
    /// reads nothing. Defaults to 0, for a transport that does not count bytes: then only whole
    /// messages count.
    fn sent_bytes(&self) -> u64 {
        0
    }
}

/// The part of an open transport that any thread may use.
pub trait Control: Send + Sync + fmt::Debug {
    /// Returns the name of the peer for error messages, for example
    /// `weather-server (process 4711)`.
    fn peer(&self) -> String;

    /// Ends both parts, and the peer if this side owns it. Idempotent and bounded in time.
    ///
    /// It is called when the connection is closed or given up, and when its [`Sender`] has failed.
    /// A receiver that has ended does not call it.
    ///
    /// The close is orderly: the peer learns that no more input follows, and has some time to end.
    /// Incoming messages are still to be received during that time. When this returns,
    /// [`Receiver::receive`] no longer blocks on any thread.
    fn close(&self);

    /// Like [`close`](Self::close), but gives the peer a moment at most. It is called when no
    /// conversation with the peer was established. Defaults to `close`.
    fn close_at_once(&self) {
        self.close();
    }

    /// Notes that the peer has answered a request. Its earlier output outside of the protocol then
    /// does not count as its [last words](Self::last_words). The reading thread calls it. Does
    /// nothing by default.
    fn note_answer(&self) {}

    /// Returns recent output of the peer outside of the protocol, to be quoted in an error.
    /// Defaults to `None`.
    fn last_words(&self) -> Option<String> {
        None
    }

    /// Whether the peer has not read all that was sent to it, now or when it ended. A client that
    /// opens a connection ignores the silence of a peer that has read nothing. Defaults to `None`,
    /// which means unknown.
    fn has_unread(&self) -> Option<bool> {
        None
    }
}

/// Limits of a connection. Each has a defined answer when it is reached.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// The longest accepted message, in bytes. Defaults to 16 MiB. A longer one is dropped: a
    /// request is answered with an error, a response fails its call with
    /// [`ErrorKind::Limit`](crate::ErrorKind::Limit), and the connection stays open. A message for
    /// which the system has no memory is dropped in the same way. Without memory to read anything
    /// at all, the connection ends with an error of that kind.
    ///
    /// `_meta` and members that a message's type doesn't name are kept as JSON trees. These trees
    /// may take 64 MiB and four times the length of the message. Beyond that the message can't be
    /// read: a request is answered with *invalid params*, and a call fails with
    /// [`ErrorKind::Protocol`](crate::ErrorKind::Protocol). Arguments, structured results and all
    /// raw values are not such trees.
    ///
    /// All pending calls of a server, of all its connections, share a budget of
    /// [`max_workers`](Self::max_workers) times this (at least 16 MiB). Large calls (longer than
    /// 64 KiB, or with more than 4 KiB of `_meta`) count from arrival. Others count while they wait
    /// for client input or run as tasks. `_meta` counts with the size that its trees may have. Task
    /// results longer than 64 KiB share a second budget of this size. The call that would exceed a
    /// budget fails with a "busy" error.
    pub max_message_bytes: usize,
    /// How deep arrays and objects may be nested in a message. Defaults to 128. A deeper message is
    /// answered with an error.
    pub max_depth: usize,
    /// How many bytes may wait for a peer that does not read. Defaults to 16 MiB. At the limit,
    /// callers wait until their deadline. One message is always accepted, whatever its size.
    pub max_queued_bytes: usize,
    /// How many calls of this side may be in flight. Defaults to 10 000. The next one fails at once
    /// with [`ErrorKind::Busy`](crate::ErrorKind::Busy).
    pub max_calls: usize,
    /// How many requests of the peer may be in flight, running or waiting for a worker. Defaults to
    /// 1 024. The next one is answered at once with a "busy" error.
    ///
    /// If the peer does not read its answers, though, requests are deferred instead of refused, up
    /// to [`max_queued_bytes`](Self::max_queued_bytes) more. Then no more input is read.
    pub max_requests: usize,
    /// How many calls of a legacy client may wait for input that they request from it. Defaults to
    /// 1 024. They do not count as requests in flight. The next call fails, and its input is not
    /// requested.
    pub max_questions: usize,
    /// How many handlers may run at once. Defaults to 64. Handlers that wait for an answer of the
    /// peer do not count.
    ///
    /// The clients of an HTTP server that have no session share these threads for tasks. The client
    /// with fewest running handlers gets the next free thread. One client may use all threads;
    /// others then use the reserve ([`reserve_percent`](Self::reserve_percent), rounded up), which
    /// is beyond this limit.
    pub max_workers: usize,
    /// How many notifications may wait for the one thread that delivers them in order. Defaults to
    /// 1 024. The next one is dropped and counted.
    pub max_notifications: usize,
    /// How many subscriptions one client may have: streams of change notifications and subscribed
    /// resources. Defaults to 1 024. They do not count as requests in flight.
    ///
    /// Each counts as one, and a resource once more for each KiB of its URI. The next one is
    /// refused. It is also refused when the URIs subscribed by all legacy clients of a server
    /// exceed `max_subscriptions × 256 KiB` (at least 16 MiB); each URI counts 128 bytes more.
    pub max_subscriptions: usize,
    /// How many log messages that belong to no call ([`Server::log`](crate::server::Server::log))
    /// may wait for one legacy client. Defaults to 1 024. The next one is dropped for this client.
    /// Change notifications need no such limit, since waiting ones are merged.
    pub max_backlog: usize,
    /// How many progress and log messages may wait for one call whose callback is slower than the
    /// peer. Defaults to 1 024. Beyond it, progress messages are merged and counted; the newest is
    /// kept.
    pub max_call_events: usize,
    /// How many cacheable responses a client keeps. Defaults to 1 024; 0 disables the cache. The
    /// least recently used ones are removed first. See
    /// [`ResponseCache`](crate::client::ResponseCache).
    pub max_cached_responses: usize,
    /// How many bytes the cached responses and their requests may have. Defaults to 16 MiB; 0
    /// disables the cache.
    pub max_cached_bytes: usize,
    /// The share that one client of a server may hold while others want some, in percent. Defaults
    /// to 50. A single client may hold everything but the reserve.
    ///
    /// It applies to requests in flight, subscriptions, tasks and their threads, and the memory of
    /// calls, task results and subscriptions. Idle entries of other clients give way to a client only up to its share.
    /// [`HttpLimits::part_percent`](crate::transport::http::HttpLimits::part_percent) is the
    /// setting for connections, threads and sessions.
    pub part_percent: usize,
    /// The part of each of these tables that is reserved for clients that hold little, in percent.
    /// Defaults to 12. One client may hold at most half of the reserve.
    pub reserve_percent: usize,
    /// Not a limit: the settings of the threads that an opened transport starts.
    pub(crate) threads: Threads,
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
        }
    }
}

impl Limits {
    /// The part of a bound that one client may hold while others want some.
    pub(crate) fn part_of(&self, bound: usize) -> usize {
        percent_of(self.part_percent, bound, 0)
    }

    /// What is kept beyond a bound for clients that hold little: at least 1, unless it is disabled.
    pub(crate) fn reserve_beyond(&self, bound: usize) -> usize {
        percent_of(self.reserve_percent, bound, 99)
    }

    /// What is kept free of a bound for clients that hold little.
    pub(crate) fn reserve_of(&self, bound: usize) -> usize {
        percent_of(self.reserve_percent, bound, 50)
    }
}

/// So many percent; so many hundredths, and more, are rounded up.
fn percent_of(percent: usize, bound: usize, rounding: u128) -> usize {
    let hundredths = bound as u128 * percent as u128 + rounding;
    usize::try_from(hundredths / 100).unwrap_or(usize::MAX)
}
