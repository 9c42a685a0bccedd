//! The protocol engine: one connection to one peer, used by clients and servers alike.
//!
//! A [`Connection`] takes over a transport and guarantees properties that every method needs. Each
//! sent request has exactly one outcome. Each received request gets exactly one response. No call
//! hangs. The reading thread waits only for input.
//!
//! **Threads.** See `worker_pool`. The pool's threads start when the first message has to be read
//! or handled. They end with the connection.
//!
//! **Close.** A connection ends when the peer goes, when this side closes the connection, or when
//! the last handle is dropped. A close has these steps, in this order:
//!
//! 1. Pending calls of this side fail.
//! 2. Active requests of the peer are cancelled, and their handlers get a moment to return.
//! 3. Queued messages are written.
//! 4. The transport is closed. A peer process that the transport started is ended.
//! 5. The threads are joined.
//!
//! Each step is bounded in time. A handler that does not return blocks only its own thread. If a
//! thread of the connection closes the connection, the close waits for all threads except this
//! thread.

mod active_requests;
mod activity;
mod call;
mod call_channel;
mod cancel;
mod core;
mod deadline;
mod handlers;
mod held_back;
pub(crate) mod incident;
mod keepalive;
mod log;
mod outgoing;
mod peer;
pub(crate) mod principal;
mod request_options;
mod responder;
mod response_sink;
mod stats;
mod watched_call;
mod work_queue;
mod worker_pool;
mod writer;

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

pub(crate) use self::active_requests::Watcher;
pub use self::activity::{Activity, OpenCall, OpenRequest, Running};
pub(crate) use self::call::{Call, StartedCall};
pub use self::call_channel::Progress;
pub use self::cancel::{CancelToken, OnCancel};
#[cfg(feature = "http-server")]
use self::core::Routed;
use self::core::{Core, Ending, Posting, Reading, Settings};
pub use self::handlers::Handlers;
use self::incident::IncidentHook;
pub use self::keepalive::KeepAlive;
pub(crate) use self::log::tell;
#[cfg(feature = "cffi")]
pub(crate) use self::log::tell_once;
pub use self::log::{LogHook, LogLevel, LogRecord};

pub use self::peer::Peer;
pub(crate) use self::request_options::OwnedRequestOptions;
pub use self::request_options::RequestOptions;
pub(crate) use self::responder::Asking;
pub use self::responder::Responder;
#[cfg(feature = "http-server")]
pub(crate) use self::response_sink::Origin;
pub(crate) use self::response_sink::{Answer, ExchangeHandle, ResponseSink};
pub use self::stats::Stats;
pub(crate) use self::watched_call::WatchedCall;
pub(crate) use self::writer::{Source, When};
use crate::error::{Error, ErrorKind, Result};
#[cfg(feature = "http-server")]
use crate::jsonrpc::{Malformed, Message};
use crate::transport::exchange_transport::ExchangeTransport;
use crate::transport::{Control, Limits, Sender, Threads, Transport, TransportParts};

/// The default of [`ConnectionBuilder::slow_handler`].
const SLOW_HANDLER: Duration = Duration::from_secs(30);

/// A connection to one peer over one transport.
///
/// Clones are handles to the same connection. Dropping the last handle closes the connection.
///
/// # Examples
///
/// ```
/// use mcplink::protocol::{Connection, Handlers, RequestOptions};
/// use mcplink::transport::memory;
/// use serde_json::json;
///
/// let (here, there) = memory::pair();
/// let served = Handlers::new().request("now", |_, responder| _ = responder.respond(&json!(12)));
/// let server = Connection::server().handlers(served).open(there)?;
/// let client = Connection::client().open(here)?;
/// let result = client.peer().request("now", &json!({}), RequestOptions::new())?;
/// assert_eq!(result.as_str(), "12");
/// # Ok::<(), mcplink::Error>(())
/// ```
#[derive(Clone)]
pub struct Connection(Arc<Owner>);

struct Owner(Arc<Core>);

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.close(Ending::InOrder);
    }
}

/// The builder of a [`Connection`].
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// use mcplink::protocol::{Connection, Handlers};
/// use mcplink::transport::memory;
///
/// let (_here, there) = memory::pair();
/// let connection = Connection::server()
///     .handlers(Handlers::new().notification("stop", |peer, _| println!("{} stops", peer.name())))
///     .write_timeout(Duration::from_secs(10))
///     .open(there)?;
/// # Ok::<(), mcplink::Error>(())
/// ```
#[derive(Clone)]
pub struct ConnectionBuilder {
    handlers: Arc<Handlers>,
    local: Option<Arc<dyn Any + Send + Sync>>,
    settings: Arc<Settings>,
    trouble: Option<IncidentHook>,
}

impl Connection {
    /// Returns a builder with the settings of a client: a side that mostly sends requests.
    pub fn client() -> ConnectionBuilder {
        ConnectionBuilder::new(Settings {
            serving: false,
            drain: Duration::from_secs(1),
            write_timeout: Duration::from_secs(30),
            asks: true,
            is_shared: false,
            slow_handler: SLOW_HANDLER,
            keep_alive: None,
            strict: false,
            log: None,
            threads: Threads::default(),
            limits: Limits::default(),
        })
    }

    /// Returns a builder with the settings of a server: a side that mostly answers requests.
    ///
    /// A quick handler runs on the thread that read the request. A malformed message is answered
    /// with an error. Active requests may finish when the peer's input ends.
    pub fn server() -> ConnectionBuilder {
        ConnectionBuilder::new(Settings {
            serving: true,
            drain: Duration::from_secs(5),
            write_timeout: Duration::from_secs(30),
            asks: true,
            is_shared: false,
            slow_handler: SLOW_HANDLER,
            keep_alive: None,
            strict: false,
            log: None,
            threads: Threads::default(),
            limits: Limits::default(),
        })
    }

    #[cfg(feature = "http-server")]
    /// Routes a message that did not arrive on the connection's own stream. The handler of the
    /// message runs on this thread.
    pub(crate) fn feed(&self, message: Message, origin: &Origin) {
        let core = &self.0.0;
        match core.route(message, origin) {
            Routed::Work(work) => core.run(work),
            taken => core.dispatch(taken, None),
        }
    }

    #[cfg(feature = "http-server")]
    /// Routes the messages of a batch, as [`feed`](Self::feed) routes one message. The handlers run
    /// in parallel on threads of the connection.
    pub(crate) fn feed_batch(&self, members: Vec<Result<Message, Malformed>>, origin: &Origin) {
        self.0.0.take_batch(members, origin);
    }

    /// Returns a handle to the peer, for sending messages to it.
    pub fn peer(&self) -> Peer {
        Peer::new(Arc::clone(&self.0.0))
    }

    /// Returns a snapshot of pending calls and active requests. The snapshot shows which thread
    /// waits for which request.
    pub fn activity(&self) -> Activity {
        self.0.0.activity()
    }

    /// Blocks until the connection has ended, lets active requests finish, and closes the
    /// connection. Returns the reason why the connection ended.
    ///
    /// The connection ends when the peer goes or another thread closes the connection. Active
    /// requests may finish within the time of [`drain`](ConnectionBuilder::drain). If called from
    /// inside your own `Control::close`, this function returns immediately.
    pub fn wait(&self) -> Error {
        self.0.0.wait_and_close()
    }

    /// Closes the connection; idempotent and bounded in time.
    ///
    /// When this function returns, every call has returned or is about to return with
    /// [`ErrorKind::Closed`]. Every thread of the connection has ended, with two exceptions: the
    /// calling thread, and threads whose handlers do not return. If called from inside your own
    /// `Control::close`, this function returns immediately and the outer close continues.
    pub fn close(&self) {
        self.0.0.close(Ending::InOrder);
    }

    /// Closes the connection fast, because connecting failed. The peer gets only a moment to exit.
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

    /// Sets the handlers of the peer's messages. By default there are no handlers, and requests are
    /// answered with "method not found".
    pub fn handlers(mut self, handlers: Handlers) -> Self {
        self.handlers = Arc::new(handlers);
        self
    }

    /// Sets the data of this connection. Many connections may share one set of handlers, which get
    /// the data of the current connection with [`Core::local`].
    pub(crate) fn local(mut self, local: Arc<dyn Any + Send + Sync>) -> Self {
        self.local = Some(local);
        self
    }

    /// Sets the limits of the connection and its transport.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.set().limits = limits;
        self
    }

    /// Limits how long active requests may continue when the connection ends. Defaults to 5 s for a
    /// server, 1 s for a client.
    ///
    /// When the peer has gone, a server cancels active requests after this time, and a client
    /// cancels active requests at once. An explicit close cancels active requests at once. A server
    /// answers the cancelled requests with an error (-32603), because a peer that has only closed
    /// its sending side still reads. The close then waits for the handlers during this time, but at
    /// most 1 s.
    pub fn drain(mut self, drain: Duration) -> Self {
        self.set().drain = drain;
        self
    }

    /// Limits how long an answer waits for room in the outgoing queue. Defaults to 30 s.
    ///
    /// The queue has no room when the peer does not read and
    /// [`max_queued_bytes`](crate::transport::Limits::max_queued_bytes) are queued. If an answer
    /// gets no room within this time, the connection is closed.
    pub fn write_timeout(mut self, write_timeout: Duration) -> Self {
        self.set().write_timeout = write_timeout;
        self
    }

    /// Sets the run time after which a handler counts as slow. Defaults to 30 s.
    ///
    /// A slow handler is reported to the [`log`](Self::log) once while it runs, and again when it
    /// returns. This applies to handlers of requests and notifications. Time in which a request
    /// waits without a running handler does not count. If the transport's receiver cannot wait with
    /// a time limit ([`Receiver::is_patient`](crate::transport::Receiver::is_patient)), a slow
    /// handler is reported only when it returns.
    pub fn slow_handler(mut self, slow_handler: Duration) -> Self {
        self.set().slow_handler = slow_handler;
        self
    }

    /// Sets the keep-alive settings. A silent peer is not pinged before the connection is
    /// initialized, because the method of a ping is only known then.
    pub(crate) fn keep_alive(mut self, keep_alive: Option<KeepAlive>) -> Self {
        self.set().keep_alive = keep_alive;
        self
    }

    /// Sets whether this side refuses messages that deviate from the exact wording of the
    /// specification. Defaults to no.
    pub(crate) fn strict(mut self, strict: bool) -> Self {
        self.set().strict = strict;
        self
    }

    /// Sets the hook that receives the library's log records. Defaults to no hook.
    pub fn log(mut self, log: LogHook) -> Self {
        self.set().log = Some(log);
        self
    }

    /// Sets the hook that receives server events, which are incidents with the peer.
    pub(crate) fn on_incident(mut self, hook: IncidentHook) -> Self {
        self.trouble = Some(hook);
        self
    }

    /// Sets properties of the threads that the connection and its transport start.
    pub fn threads(mut self, threads: &Threads) -> Self {
        self.set().threads = threads.clone();
        self
    }

    /// Opens the transport and starts to read.
    ///
    /// # Errors
    ///
    /// The errors of [`Transport::open`].
    pub fn open(self, transport: impl Transport + 'static) -> Result<Connection> {
        self.open_boxed(Box::new(transport))
    }

    /// Opens a boxed transport, as [`open`](Self::open) does.
    ///
    /// # Errors
    ///
    /// The errors of [`open`](Self::open).
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
        let TransportParts {
            receiver,
            sender,
            control,
            exchange_transport,
        } = halves;
        let reads = exchange_transport.is_none();
        let reading = match reads && receiver.is_patient() {
            true => Reading::Shared,
            false => Reading::Alone,
        };
        let core = self.core(sender, control, exchange_transport, reading);
        let connection = Connection(Arc::new(Owner(Arc::clone(&core))));
        if reads {
            let spawn = core.engine().pool.hand_over(receiver);
            core.spawn_if_needed(spawn);
        }
        Ok(connection)
    }

    #[cfg(feature = "http-server")]
    /// Opens a connection that has no input stream. Messages are passed to [`Connection::feed`].
    pub(crate) fn open_fed(self, sender: Box<dyn Sender>, control: Arc<dyn Control>) -> Connection {
        let core = self.core(sender, control, None, Reading::Fed);
        Connection(Arc::new(Owner(core)))
    }

    #[cfg(feature = "http-server")]
    /// Declares that several clients share the connection. The worker permits are then divided
    /// among the clients.
    pub(crate) fn shared_by_clients(mut self) -> Self {
        self.set().is_shared = true;
        self
    }

    #[cfg(feature = "http-server")]
    /// Declares that each request of this side must belong to a request of the peer.
    pub(crate) fn never_asking(mut self) -> Self {
        self.set().asks = false;
        self
    }

    fn core(
        self,
        sender: Box<dyn Sender>,
        control: Arc<dyn Control>,
        exchange_transport: Option<Arc<dyn ExchangeTransport>>,
        reading: Reading,
    ) -> Arc<Core> {
        let sender = match &exchange_transport {
            Some(exchange_transport) => Box::new(Posting {
                exchange_transport: Arc::clone(exchange_transport),
                patience: self.settings.write_timeout,
                log: self.settings.log.clone(),
            }),
            None => sender,
        };
        Core::new(
            sender,
            control,
            exchange_transport,
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
