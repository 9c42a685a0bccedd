//! Reads HTTP/1.1 requests from sockets, and hands them to a [`Service`].
//!
//! A connection has one owner at each moment:
//!
//! ```text
//!             readable                  taken                request whole
//!   ╭─ poller ────────▶ queue ────────────▶ worker ─────────────────▶ worker, in the service
//!   │    ▲                ▲   others wait,╱   │  ▲        permit         │            │
//!   │    │                ╰──  no permit ╯    │  ╰───────────────────────╯            │ the service returns,
//!   │    ╰────────────────────────────────────╯    response out, it returns           ▼ its response is kept
//!   │    ▲     nothing comes for a moment, or                                      exchange
//!   │    │     the worker is slow with another one
//!   │    ╰─────────────────────────────────────────────────────────────────────────╯  │
//!   │                     response out; to the queue if the next request is here      │
//!   ▼                                                                                 ▼
//!   nobody ◀── parting ◀── refused, or told to close              nobody: the client has gone
//! ```
//!
//! **Invariant:** only the owner reads, so requests are answered in order. Who is last of the worker that comes back from the service and
//! the thread that ends the response, goes on with the connection; the lock of the connection decides.
//!
//! Sockets stay blocking. A worker reads with a time-out of a moment; nobody else reads before
//! there is something, and no write waits: what a client does not read is kept, and the poller
//! sends it when there is room. A quick request costs one read and one write, and shares the wait
//! before it with those that come at the same time. A request that is still in hand after a tick
//! has its client watched: one that resets its connection has gone. One that ends its side may only
//! have said all it had to say, and gets its response. Whether it has gone shows when something is
//! sent to it, so something is: see [`conn`].
//!
//! **Threads.** The poller's, started by [`HttpListener::bind`], ended and joined by [`HttpListener::shutdown`]; workers, called when there
//! is something to read that no idle one can take, which leave when there was nothing to do for a while, and which a shutdown waits for.
//! A connection that is idle, or whose stream is open, has none.

mod chunks;
mod conn;
mod crew;
mod fair_queue;
mod head;
mod intake;
mod limits;
mod permits;
mod poller;
mod reply;
mod round;
mod shared;
mod table;
mod wire;
mod worker;

use std::fmt;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::sync::Arc;
use std::thread::{JoinHandle, ThreadId};
use std::time::{Duration, Instant};

use polling::Poller;

pub use limits::{HttpLimits, HttpStats};

use self::poller::Loop;
use self::shared::{LISTENER, Shared};
use super::Service;
use crate::error::{Error, Result};
use crate::sync::Mutex;
use crate::transport::Stack;
use crate::transport::sys::origin::Origin;
use crate::transport::sys::tcp::{self, Registered};

/// How long a shutdown waits for threads that are still in the service after the deadline.
const LAST: Duration = Duration::from_secs(1);

/// What a longer time to drain is taken for.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// A listening socket, the connections that were made to it, and the threads that serve them. Dropping it closes it.
pub struct HttpListener {
    shared: Arc<Shared>,
    /// Taken by whoever joins it, and held meanwhile: others that shut down wait for that.
    poller: Mutex<Option<JoinHandle<()>>>,
    poller_id: ThreadId,
    origin: Origin,
}

impl fmt::Debug for HttpListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpListener")
            .field("local", &self.shared.local)
            .finish_non_exhaustive()
    }
}

impl HttpListener {
    /// Listens on `address`, and has `service` answer what comes.
    ///
    /// Whoever can reach the address can send requests: use a loopback one, such as `127.0.0.1:0`, unless others are meant to.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`](crate::ErrorKind::Io) when the address can't be had, or when the system has no descriptor or thread to spare.
    pub fn bind(
        address: impl ToSocketAddrs + fmt::Debug,
        service: Arc<dyn Service>,
        limits: HttpLimits,
    ) -> Result<Self> {
        let listener = TcpListener::bind(&address)
            .map_err(|error| Error::io(format_args!("listening on {address:?}"), error))?;
        tcp::deepen(&listener);
        Self::on(listener, service, limits)
    }

    /// The same with a socket that listens already, for example one that systemd has passed on. It is made non-blocking, also for others
    /// that share it.
    ///
    /// # Errors
    ///
    /// As [`bind`](Self::bind).
    pub fn on(
        listener: TcpListener,
        service: Arc<dyn Service>,
        limits: HttpLimits,
    ) -> Result<Self> {
        let prepared = (|| {
            let local = listener.local_addr()?;
            listener.set_nonblocking(true)?;
            let poller = Arc::new(Poller::new()?);
            let listener = Registered::new(listener, Arc::clone(&poller), LISTENER)?;
            listener.arm(true, false)?;
            Ok((local, poller, listener))
        })();
        let (local, poller, listener) =
            prepared.map_err(|error| Error::io("preparing the HTTP listener", error))?;
        let shared = Arc::new(Shared::new(service, limits, local, poller));
        let work = Loop::new(Arc::clone(&shared), listener);
        let threads = &shared.limits.threads;
        let thread = threads.start("poller", Stack::Small, move || work.run())?;
        Ok(Self {
            shared,
            poller_id: thread.thread().id(),
            poller: Mutex::new(Some(thread)),
            origin: Origin::here(),
        })
    }

    /// Where it listens, with the port that the system has chosen if none was asked for.
    pub fn local_addr(&self) -> SocketAddr {
        self.shared.local
    }

    /// What it has to do at the moment, and what it has refused.
    pub fn stats(&self) -> HttpStats {
        self.shared.stats()
    }

    /// Closes it at once: [`shutdown`](Self::shutdown) without time for requests in hand.
    pub fn close(&self) {
        self.shutdown(Duration::ZERO);
    }

    /// Begins to close it: nothing more is accepted, and idle connections are closed at once. Waits
    /// until no request is in hand any more, or `drain` has passed, and breaks nothing off: what is
    /// in hand then is to be ended before [`shutdown`](Self::shutdown).
    ///
    /// Returns at once on the listener's own poller thread.
    pub(crate) fn drain(&self, drain: Duration) {
        let now = Instant::now();
        let until = now.checked_add(drain.min(LONGEST)).unwrap_or(now);
        if std::thread::current().id() == self.poller_id {
            return;
        }
        self.shared.close_until(until + LONGEST);
        self.shared.wait_for_end(until);
    }

    /// Closes it. Nothing more is accepted, and idle connections are closed at once; requests in hand may take up to `drain`, then their
    /// connections are broken off, and who asked for it is told that the client has gone. Responses that are kept count as in hand, so
    /// end streams first.
    ///
    /// When it returns, the threads have ended and let go of the service, except for those that are still in the service one second after
    /// `drain`: they end when the service returns. May be called again, also from several threads and from within the service, whose own thread is not waited for.
    pub fn shutdown(&self, drain: Duration) {
        let now = Instant::now();
        let deadline = now.checked_add(drain.min(LONGEST)).unwrap_or(now);
        self.shared.close_until(deadline);
        let own = usize::from(worker::is_of(&self.shared));
        if std::thread::current().id() == self.poller_id {
            return;
        }
        let mut poller = self.poller.lock();
        if let Some(thread) = poller.take() {
            // It has no way to panic; if it did, nothing is left to be done.
            _ = thread.join();
        }
        drop(poller);
        let last = Instant::now() + LAST;
        if self.shared.crew.wait_for_threads(own, last) {
            self.shared.workers.join();
        }
    }
}

impl Drop for HttpListener {
    fn drop(&mut self) {
        // In a fork, the threads and connections are the other process's.
        if self.origin.is_here() {
            self.close();
        }
    }
}
