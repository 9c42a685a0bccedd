//! Moves session messages; opens none of them.
//!
//! A [`Transport`] is a way to reach one peer. [`open`](Transport::open)ed, it comes apart into three halves with one owner each:
//!
//! ```text
//!  Receiver   owned by whoever reads at the moment; blocks only for input
//!  Sender     owned by whoever writes at the moment; blocks only until the deadline it is given
//!  Control    shared; ends the other two from any thread, and ends the peer
//! ```
//!
//! **A transport of one's own** implements these traits. It has to keep messages whole and in order, carry UTF-8 JSON text unchanged, and
//! end the receiver when [`Control::close`] is called; its documentation should say how a connection is made, how messages are framed
//! and what tells the peer that a request was cancelled (M-TRAN-X-03, M-TRAN-X-04, L-STDIO-X-08). A byte stream needs none of that: see
//! [`Stream`], which frames messages as lines.
//!
//! Spec: Transports, "Custom Transports" (every revision).

#[cfg_attr(
    not(feature = "http-client"),
    allow(dead_code, reason = "HTTP is what has one so far")
)]
pub(crate) mod carrier;
mod child;
pub(crate) mod clock;
mod faults;
mod framing;
pub mod http;
pub mod memory;
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

use self::carrier::{Carrier, Manner};
use crate::error::Result;
use crate::jsonrpc::{RequestId, TooLong};

/// A lock that a panic elsewhere does not make unusable: what it guards is never left half changed.
fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A message on its way, with what only the transport needs to know about it.
#[derive(Debug)]
#[non_exhaustive]
pub struct SessionMessage {
    /// The JSON text: one message, or one batch.
    pub text: Vec<u8>,
    /// The request that it belongs to: the one it answers, or during which it is sent. Transports with a stream for each request
    /// choose the stream by it; others ignore it.
    pub related: Option<RequestId>,
    /// What a transport with header fields puts there.
    pub(crate) manner: Manner,
}

impl SessionMessage {
    /// A message that belongs to no request.
    pub fn new(text: Vec<u8>) -> Self {
        Self {
            text,
            related: None,
            manner: Manner::default(),
        }
    }

    /// Ties the message to the request that it belongs to.
    pub fn related_to(mut self, id: RequestId) -> Self {
        self.related = Some(id);
        self
    }
}

/// What [`Receiver::receive`] comes back with.
#[derive(Debug)]
#[non_exhaustive]
pub enum Received {
    /// A message.
    Message(SessionMessage),
    /// A message that was dropped: it exceeded [`Limits::max_message_bytes`], or the system had no memory for it.
    TooLong(TooLong),
    /// Nothing came within the time given.
    Nothing,
}

/// A way to reach one peer, not yet used.
pub trait Transport: Send + fmt::Debug {
    /// Connects, or starts what there is to start. Called once, by the connection that takes the transport over.
    ///
    /// # Errors
    ///
    /// When the peer can't be reached. Nothing is left behind then.
    fn open(self: Box<Self>, limits: &Limits) -> Result<Halves>;

    /// Another transport to a fresh peer of the same kind, where one can be made: a child process can be started once more. Defaults to
    /// none.
    fn again(&self) -> Option<Box<dyn Transport>> {
        None
    }

    /// What names the peer beyond this connection, such as a command line: what was found out about it is remembered under this name.
    /// Defaults to none.
    fn address(&self) -> Option<String> {
        None
    }
}

impl Transport for Box<dyn Transport> {
    fn open(self: Box<Self>, limits: &Limits) -> Result<Halves> {
        (*self).open(limits)
    }

    fn again(&self) -> Option<Box<dyn Transport>> {
        (**self).again()
    }

    fn address(&self) -> Option<String> {
        (**self).address()
    }
}

/// An open transport.
#[derive(Debug)]
#[non_exhaustive]
pub struct Halves {
    /// What comes in.
    pub receiver: Box<dyn Receiver>,
    /// What goes out.
    pub sender: Box<dyn Sender>,
    /// Ends both.
    pub control: Arc<dyn Control>,
    /// Where each request has a way of its own, it goes by this; nothing comes by the receiver then.
    pub(crate) carrier: Option<Arc<dyn Carrier>>,
}

impl Halves {
    /// Puts the halves of a transport of one's own together.
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

/// The incoming half of a transport.
pub trait Receiver: Send + fmt::Debug {
    /// Waits for the next message: without end, or for about `patience` when that is given.
    ///
    /// A receiver that can't wait with a bound may ignore `patience` if [`is_patient`](Self::is_patient) says so.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Closed`](crate::ErrorKind::Closed) when the peer has gone or [`Control::close`] was called, with what is known of
    /// why; any other kind for a failure. Either way the connection is over.
    fn receive(&mut self, patience: Option<Duration>) -> Result<Received>;

    /// Whether a message is there that [`receive`](Self::receive) will return without waiting.
    fn has_message(&self) -> bool {
        false
    }

    /// Whether [`receive`](Self::receive) heeds `patience`. Only then do waiting callers read for themselves.
    fn is_patient(&self) -> bool {
        false
    }

    /// Takes back the memory of a message that was read at once, for the next one. Defaults to freeing it.
    fn reuse(&mut self, memory: Vec<u8>) {
        drop(memory);
    }
}

/// The outgoing half of a transport.
pub trait Sender: Send + fmt::Debug {
    /// Sends messages from the front of the queue, in order, together where the transport can, until none is left or `deadline` passes.
    ///
    /// A message is taken off the queue when it is this half's business alone. One that was cut by the deadline stays with the sender,
    /// which finishes it first when it is called again, with an empty queue too. What was left in the queue stands at its front then.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Timeout`](crate::ErrorKind::Timeout) when the deadline passed with something unsent: call again to go on. Any other
    /// kind ends the connection, and has it closed.
    fn send(&mut self, queue: &mut VecDeque<SessionMessage>, deadline: Instant) -> Result<()>;

    /// How many bytes have left so far, so that a peer that reads slowly is told from one that reads nothing. A transport that does not count
    /// them, as by default, says 0: then a message that has left counts alone.
    fn sent_bytes(&self) -> u64 {
        0
    }
}

/// What any thread can ask of an open transport.
pub trait Control: Send + Sync + fmt::Debug {
    /// Names the peer for error messages, for example `weather-server (process 4711)`.
    fn peer(&self) -> String;

    /// Ends both halves and the peer, if it is ours to end; idempotent and bounded in time. Called when the connection is closed or given up,
    /// and when its [`Sender`] has failed; a receiver that has ended leaves it to who closes.
    ///
    /// Politely first: the peer is told that nothing more comes, and gets its time to leave, during which incoming messages have still to
    /// be received. When this returns, [`Receiver::receive`] no longer blocks on any thread.
    fn close(&self);

    /// The same in a hurry, for a peer with which no conversation came about: what [`close`](Self::close) gives it time for takes a
    /// moment at most. Defaults to `close`.
    fn close_at_once(&self) {
        self.close();
    }

    /// A request of this side was answered: what the peer said outside of the protocol before that are not its
    /// [last words](Self::last_words). Called by the thread that reads. Defaults to nothing.
    fn note_answer(&self) {}

    /// What the peer said outside of the protocol of late, to be quoted in an error. Defaults to nothing.
    fn last_words(&self) -> Option<String> {
        None
    }

    /// Whether the peer has left something unread of what was sent to it, now or when it went. A client that opens a connection draws no
    /// conclusion from the silence of a peer that has not read anything. Defaults to `None`: it is not known.
    fn has_unread(&self) -> Option<bool> {
        None
    }
}

/// Upper bounds of a connection. Each has a defined answer when it is hit.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// Longest message that is accepted, in bytes. Defaults to 16 MiB. A longer one is dropped: a request is answered with an error, a
    /// response fails its call with [`ErrorKind::Limit`](crate::ErrorKind::Limit), and the connection lives on. A message that
    /// the system has no memory for is dropped in the same way. Without memory to read anything at all, the connection ends with that kind of error.
    ///
    /// What is kept of a message as JSON trees, `_meta` and members that its type doesn't name, may take up to 64 MiB and four times its
    /// length of memory. Beyond that it can't be read: a request gets *invalid params*, and a call fails with
    /// [`ErrorKind::Protocol`](crate::ErrorKind::Protocol). Arguments, structured results and all that is given raw are no such trees.
    ///
    /// Calls that a server keeps take so much for each of [`max_workers`](Self::max_workers) together, of all its connections, or 16 MiB if that is
    /// more: those whose messages are longer than 64 KiB, or have more than 4 KiB of `_meta`, from when they come, others while they wait for
    /// answers of the client or run as tasks. `_meta` counts as the trees that it may be. The results of tasks, those of more than 64 KiB, may take
    /// so much once more. The next one fails with a "busy" error.
    pub max_message_bytes: usize,
    /// How deep arrays and objects may be nested in a message. Defaults to 128. A deeper message is answered with an error.
    pub max_depth: usize,
    /// How many bytes may wait for a peer that does not read. Defaults to 16 MiB. Callers that would exceed it wait until their
    /// deadline; one message is always taken, whatever its size.
    pub max_queued_bytes: usize,
    /// How many calls of ours may be in flight. Defaults to 10 000. The next one fails at once with
    /// [`ErrorKind::Busy`](crate::ErrorKind::Busy).
    pub max_calls: usize,
    /// How many requests of the peer may be in flight, running or waiting for a worker. Defaults to
    /// 1 024. The next one is answered at once with a "busy" error. While it is the peer that does
    /// not read its answers ([`max_queued_bytes`](Self::max_queued_bytes)), requests are held back
    /// instead, up to as many bytes again; then no more input is taken.
    pub max_requests: usize,
    /// How many calls of a legacy client may wait for it to answer what they ask; they do not count as requests in hand. Defaults to 1 024. The
    /// next one fails, and nothing is asked for it.
    pub max_questions: usize,
    /// How many handlers may run at once; handlers that wait for an answer of the peer do not count. Defaults to 64.
    pub max_workers: usize,
    /// How many notifications may wait for the one thread that hands them out in order. Defaults to 1 024. The next one is dropped and
    /// counted.
    pub max_notifications: usize,
    /// How many streams of change notifications and resources subscribed to one client may have, each counted as one, and a resource once
    /// more for each KiB of its address. They do not count as requests in hand. Defaults to 1 024. The next one is refused. So is one when
    /// those of all legacy clients of a server have so many times 256 KiB of addresses, with 128 bytes more for each, or 16 MiB if that is more.
    pub max_subscriptions: usize,
    /// How many log messages that belong to no call ([`Server::log`](crate::server::Server::log)) may wait for one legacy client. Defaults to
    /// 1 024. The next one is dropped for this client. Change notifications need no such limit: those that wait merge.
    pub max_backlog: usize,
    /// How many progress and log messages may wait for one call whose callback is slower than the peer. Defaults to 1 024. Past it,
    /// progress is merged, newest wins, and counted.
    pub max_call_events: usize,
    /// How many responses a client keeps, of those that servers let be kept. Defaults to 1 024; 0 keeps none. The longest unused give way
    /// to the next ones. See [`ResponseCache`](crate::client::ResponseCache).
    pub max_cached_responses: usize,
    /// How many bytes the kept responses and their requests may have. Defaults to 16 MiB; 0 keeps none.
    pub max_cached_bytes: usize,
    /// No bound, but it goes the same way: whoever opens a transport says what its threads are to be like.
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
            threads: Threads::default(),
        }
    }
}
