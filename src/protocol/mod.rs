//! One live conversation, the same for both sides.
//!
//! A [`Connection`] takes a transport over and keeps the promises that the protocol needs below every method: each request sent has one
//! outcome, each request received one response, no call hangs, reading never waits.
//!
//! **Threads.** See `crew`: threads are started when the first message has to be read or handled, and end with the connection.
//!
//! **The end.** A connection ends when its peer goes or when it is closed, by name or by dropping its last handle. In this order: calls of
//! ours fail; requests in hand are cancelled and their handlers get a moment; what is queued is written; the transport is closed, which
//! ends the peer if it is ours to end; the threads are joined. Each step is bounded in time. A handler that doesn't return keeps its
//! thread, and nothing else. Closing from one of the connection's own threads waits for everything but itself.

mod activity;
mod bell;
mod call;
mod cancel;
mod core;
mod crew;
mod deadline;
mod handlers;
mod held_back;
mod in_hand;
mod incoming;
mod keepalive;
mod log;
mod outbox;
mod outgoing;
mod outlet;
mod peer;
pub(crate) mod principal;
mod responder;
mod stats;
pub(crate) mod trouble;

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

pub use self::activity::{Activity, OpenRequest, PendingCall, Running};
pub use self::call::CallOptions;
pub(crate) use self::call::StartedCall;
pub use self::cancel::{CancelToken, OnTrigger};
use self::core::{Core, Ending, Reading, Settings};
pub use self::handlers::Handlers;
pub(crate) use self::incoming::Watcher;
pub use self::keepalive::KeepAlive;
pub(crate) use self::log::tell;
pub use self::log::{LogHook, LogLevel, LogRecord};
pub(crate) use self::outbox::Source;
pub use self::outgoing::Progress;
#[cfg(feature = "http-server")]
pub(crate) use self::outlet::Origin;
pub(crate) use self::outlet::{Answer, ExchangeHandle, Outlet};
pub use self::peer::Peer;
pub(crate) use self::responder::Asking;
pub use self::responder::Responder;
pub use self::stats::Stats;
use self::trouble::TroubleHook;
use crate::error::{Error, ErrorKind, Result};
#[cfg(feature = "http-server")]
use crate::jsonrpc::{Malformed, Message};
use crate::transport::carrier::Carrier;
use crate::transport::{Control, Halves, Limits, Sender, Threads, Transport};

/// From when on a handler runs long.
const SLOW_HANDLER: Duration = Duration::from_secs(30);

/// A conversation with one peer over one transport.
///
/// Clones share it; dropping the last one closes it.
#[derive(Clone)]
pub struct Connection(Arc<Owner>);

struct Owner(Arc<Core>);

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.close(Ending::InOrder);
    }
}

/// How a connection is made.
#[derive(Clone)]
pub struct ConnectionBuilder {
    handlers: Arc<Handlers>,
    local: Option<Arc<dyn Any + Send + Sync>>,
    settings: Arc<Settings>,
    trouble: Option<TroubleHook>,
}

impl Connection {
    /// Starts with the settings of a side that mostly asks: a client.
    pub fn asking() -> ConnectionBuilder {
        ConnectionBuilder::new(Settings {
            inline: false,
            serving: false,
            drain: Duration::from_secs(1),
            write_timeout: Duration::from_secs(30),
            asks: true,
            slow_handler: SLOW_HANDLER,
            keep_alive: None,
            strict: false,
            log: None,
            threads: Threads::default(),
            limits: Limits::default(),
        })
    }

    /// Starts with the settings of a side that mostly answers: a server. Its handlers run on the thread that read the request while they
    /// are quick, messages that are none are answered, and requests in hand may finish when the peer's input ends.
    pub fn serving() -> ConnectionBuilder {
        ConnectionBuilder::new(Settings {
            inline: true,
            serving: true,
            drain: Duration::from_secs(5),
            write_timeout: Duration::from_secs(30),
            asks: true,
            slow_handler: SLOW_HANDLER,
            keep_alive: None,
            strict: false,
            log: None,
            threads: Threads::default(),
            limits: Limits::default(),
        })
    }

    #[cfg(feature = "http-server")]
    /// Takes a message in that the peer did not send on the stream of the connection. Its handler runs on this thread.
    pub(crate) fn feed(&self, message: Message, origin: &Origin) {
        self.0.0.feed(message, origin);
    }

    #[cfg(feature = "http-server")]
    /// The same for a batch, whose handlers run side by side on threads of the connection.
    pub(crate) fn feed_batch(&self, members: Vec<Result<Message, Malformed>>, origin: &Origin) {
        self.0.0.take_batch(members, origin);
    }

    /// The other side.
    pub fn peer(&self) -> Peer {
        Peer::new(Arc::clone(&self.0.0))
    }

    /// Who waits for whom at the moment.
    pub fn activity(&self) -> Activity {
        self.0.0.activity()
    }

    /// Waits until the peer has gone or the connection was closed elsewhere, gives requests in hand their time, closes, and returns what
    /// ended it. Returns at once on a thread that is closing it, which is where a transport of your own is told to close.
    pub fn wait(&self) -> Error {
        self.0.0.wait_and_close()
    }

    /// Closes the connection; idempotent. When this returns, every call has returned or is about to with
    /// [`ErrorKind::Closed`], and every thread of the connection has ended, except one whose handler does not
    /// return, and the thread that closes. Where a transport of your own is told to close it returns at once, and what called that goes on.
    pub fn close(&self) {
        self.0.0.close(Ending::InOrder);
    }

    /// The same in a hurry, when no conversation came about: the peer gets a moment instead of its time to leave.
    pub(crate) fn close_at_once(&self) {
        self.0.0.close(Ending::AtOnce);
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Connection").field(&self.0.0).finish()
    }
}

impl ConnectionBuilder {
    fn new(settings: Settings) -> Self {
        Self {
            handlers: Arc::default(),
            local: None,
            settings: Arc::new(settings),
            trouble: None,
        }
    }

    fn set(&mut self) -> &mut Settings {
        Arc::make_mut(&mut self.settings)
    }

    /// What to do with what the peer sends. Defaults to nothing.
    pub fn handlers(mut self, handlers: Handlers) -> Self {
        self.handlers = Arc::new(handlers);
        self
    }

    /// What handlers, which may be those of many connections, know of this one: they find it with [`Core::local`].
    pub(crate) fn local(mut self, local: Arc<dyn Any + Send + Sync>) -> Self {
        self.local = Some(local);
        self
    }

    /// Upper bounds.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.set().limits = limits;
        self
    }

    /// How long requests in hand may go on when the connection ends. Defaults to 5 s when serving, 1 s when asking.
    pub fn drain(mut self, drain: Duration) -> Self {
        self.set().drain = drain;
        self
    }

    /// How long answers wait for a peer that does not read, and has
    /// [`max_queued_bytes`](crate::transport::Limits::max_queued_bytes) waiting, before the connection is given up. Defaults to 30 s.
    pub fn write_timeout(mut self, write_timeout: Duration) -> Self {
        self.set().write_timeout = write_timeout;
        self
    }

    /// From when on a handler runs long, which is told to the [`log`](Self::log): once while it runs, and when it ends. Defaults to 30 s.
    ///
    /// Handlers of requests and notifications count; time during which none runs, since an answer is waited for, does not. On a transport
    /// that can't wait with a bound ([`Receiver::is_patient`](crate::transport::Receiver::is_patient)) it is told when it ends.
    pub fn slow_handler(mut self, slow_handler: Duration) -> Self {
        self.set().slow_handler = slow_handler;
        self
    }

    /// Pings the peer, once the conversation is open and it is known how.
    pub(crate) fn keep_alive(mut self, keep_alive: Option<KeepAlive>) -> Self {
        self.set().keep_alive = keep_alive;
        self
    }

    /// Whether messages that differ from the letter of the specification are refused. Defaults to no.
    pub(crate) fn strict(mut self, strict: bool) -> Self {
        self.set().strict = strict;
        self
    }

    /// Takes what the library has to say to its host. Defaults to nobody.
    pub fn log(mut self, log: LogHook) -> Self {
        self.set().log = Some(log);
        self
    }

    /// Takes trouble with the peer, by kind.
    pub(crate) fn on_trouble(mut self, hook: TroubleHook) -> Self {
        self.trouble = Some(hook);
        self
    }

    /// What the threads of the connection are like, and of its transport.
    pub fn threads(mut self, threads: &Threads) -> Self {
        self.set().threads = threads.clone();
        self
    }

    /// Opens the transport and starts to read.
    ///
    /// # Errors
    ///
    /// What [`Transport::open`] says.
    pub fn open(self, transport: impl Transport + 'static) -> Result<Connection> {
        self.open_boxed(Box::new(transport))
    }

    /// The same for a transport whose type is not known.
    ///
    /// # Errors
    ///
    /// What [`Transport::open`] says.
    pub fn open_boxed(mut self, transport: Box<dyn Transport>) -> Result<Connection> {
        let settings = self.set();
        settings.limits.threads = settings.threads.clone();
        let halves = transport.open(&self.settings.limits)?;
        if self.settings.keep_alive.is_some() && !halves.receiver.is_patient() {
            halves.control.close_at_once();
            let text =
                "keep_alive needs a transport that can wait with a bound: see Receiver::is_patient";
            return Err(Error::new(ErrorKind::Invalid, text));
        }
        let Halves {
            receiver,
            sender,
            control,
            carrier,
        } = halves;
        let reads = carrier.is_none();
        let reading = match reads && receiver.is_patient() {
            true => Reading::Shared,
            false => Reading::Alone,
        };
        let core = self.core(sender, control, carrier, reading);
        let connection = Connection(Arc::new(Owner(Arc::clone(&core))));
        if reads {
            let hands = core.engine().crew.hand_over(receiver);
            core.provide(hands);
        }
        Ok(connection)
    }

    #[cfg(feature = "http-server")]
    /// Opens a connection that reads nothing itself: what the peer sends is given to [`Connection::feed`].
    pub(crate) fn open_fed(self, sender: Box<dyn Sender>, control: Arc<dyn Control>) -> Connection {
        let core = self.core(sender, control, None, Reading::Fed);
        Connection(Arc::new(Owner(core)))
    }

    #[cfg(feature = "http-server")]
    /// Says that the peer can't be sent requests on its own account.
    pub(crate) fn never_asking(mut self) -> Self {
        self.set().asks = false;
        self
    }

    fn core(
        self,
        sender: Box<dyn Sender>,
        control: Arc<dyn Control>,
        carrier: Option<Arc<dyn Carrier>>,
        reading: Reading,
    ) -> Arc<Core> {
        Core::new(
            sender,
            control,
            carrier,
            reading,
            self.handlers,
            self.local,
            self.settings,
            self.trouble,
        )
    }
}

impl fmt::Debug for ConnectionBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConnectionBuilder")
            .field("handlers", &self.handlers)
            .field("limits", &self.settings.limits)
            .finish_non_exhaustive()
    }
}
