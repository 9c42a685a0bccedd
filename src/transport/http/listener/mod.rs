//! An HTTP/1.1 server: reads requests from sockets and passes them to a [`Service`].
//!
//! A connection has one owner at each moment:
//!
//! ```text
//!             readable              taken             request complete
//!   ╭─ poller ───────▶ queue ─────────▶ worker ───────────────▶ worker, in the service
//!   │    ▲               ▲               │   ▲      permit         │           │
//!   │    │               ╰─ no permit ───┤   ╰─────────────────────╯           │ the service
//!   │    ╰───────────────────────────────╯        response sent                │ returns; its
//!   │    ▲    no request for a moment, or                                      ▼ response is open
//!   │    │    the worker is busy with another one                           exchange
//!   │    ╰─────────────────────────────────────────────────────────────────────╯ │
//!   │              response sent; to the queue if the next request is here       │
//!   ▼                                                                            ▼
//!   closed ◀── lingering close ◀── refused, or response closes    closed: the client has gone
//! ```
//!
//! **Invariant:** only the owner reads from the socket, so requests are answered in order. Two
//! threads finish with a request: the worker that returns from [`Service::serve`], and the thread
//! that ends the response. The thread that finishes last continues with the connection. The
//! connection's lock decides which thread that is.
//!
//! Sockets stay in blocking mode. A worker reads with a short timeout; other threads read only when
//! the socket is readable. No write blocks: unsent output is buffered, and the poller sends it when
//! the socket is writable. A quick request costs one read and one write. Requests that arrive at
//! the same time share one wait.
//!
//! When a request is still in flight after a tick, the poller watches its client. A reset means
//! that the client has disconnected. A half-close (`shutdown(SHUT_WR)`) does not mean that: the
//! client may still read its response. Only a send shows whether such a client has disconnected, so
//! the listener sends probes: see [`connection`].
//!
//! **Threads.** [`HttpListener::bind`] starts the poller thread; [`HttpListener::shutdown`] ends
//! and joins it. Workers are started on demand, when input is ready and no worker is idle. They end
//! after some idle time, and a shutdown waits for them. An idle connection or an open stream needs
//! no thread.

mod chunks;
mod connection;
#[cfg(fuzzing)]
pub(super) mod fuzzing;
mod head;
mod limits;
mod moment;
mod permits;
mod poller;
mod ready_set;
mod reply;
mod request_parser;
mod shared;
mod table;
mod unsent;
mod wire;
mod worker;
mod workers;

use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::path::{self, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{JoinHandle, ThreadId};
use std::time::{Duration, Instant};

pub use limits::{HttpLimits, HttpStats};

use self::connection::{Connection, Doing};
use self::poller::Loop;
use self::shared::{LISTENER, Shared};
use super::Service;
use crate::error::{Error, ErrorKind, Result};
use crate::sync::Mutex;
use crate::transport::Stack;
use crate::transport::sys::origin::Origin;
use crate::transport::sys::poller::{Poller, Registered};
use crate::transport::sys::tcp;
use crate::transport::sys::unix_socket::{self, SocketFile};

/// The time that a shutdown waits after its drain time for workers that are still in the service.
const LAST: Duration = Duration::from_secs(1);

/// The maximum drain time of a shutdown. A longer drain time is shortened to the maximum.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// An HTTP server: a listening socket, its connections, and the threads that serve them. Dropping
/// the listener closes it.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
///
/// use mcplink::server::Server;
/// use mcplink::server::http::HttpOptions;
/// use mcplink::transport::http::{HttpLimits, HttpListener};
///
/// // `Server::listen_http` does this. A custom service can also serve other paths.
/// let service = Server::builder("clock", "1.0").build()?.http_service(HttpOptions::new());
/// let listener = HttpListener::bind("127.0.0.1:0", Arc::new(service), HttpLimits::default())?;
/// assert!(listener.local_addr().is_some_and(|address| address.port() > 0));
/// listener.shutdown(Duration::from_secs(5));
/// # Ok::<(), mcplink::Error>(())
/// ```
pub struct HttpListener {
    shared: Arc<Shared<Connection>>,
    /// The handle of the poller thread, until the thread is joined. A shutdown holds the lock while
    /// it joins the thread. So a concurrent shutdown does not return before the thread has ended.
    poller: Mutex<Option<JoinHandle<()>>>,
    poller_id: ThreadId,
    origin: Origin,
    /// The path of the socket, if it is a Unix socket.
    path: Option<PathBuf>,
    /// The file of a Unix socket that this listener made, until it closes.
    file: Mutex<Option<SocketFile>>,
}

impl fmt::Debug for HttpListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpListener")
            .field("local", &self.shared.local)
            .finish_non_exhaustive()
    }
}

impl HttpListener {
    /// Listens on `address` and serves requests with `service`.
    ///
    /// Every machine that can reach the address can send requests. Use a loopback address, such as
    /// `127.0.0.1:0`, unless other machines are meant to connect.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`](crate::ErrorKind::Io) when the address is not available, or when the
    /// system has no descriptor or thread left.
    pub fn bind(
        address: impl ToSocketAddrs + fmt::Debug,
        service: Arc<dyn Service>,
        limits: HttpLimits,
    ) -> Result<Self> {
        let listener = tcp::listen(&address)
            .map_err(|error| Error::io(format_args!("listening on {address:?}"), error))?;
        Self::on(listener, service, limits)
    }

    /// Listens on a Unix socket at `path` and serves requests with `service`. No other machine can
    /// send requests, and no web page.
    ///
    /// The socket gets mode 600 before it accepts connections: only processes of the same user can
    /// connect. Choose a folder in which other users can't replace files. A socket on which no
    /// process listens is replaced, such as one that a killed process has left. Closing the
    /// listener removes the file. A relative path is one in the working directory.
    ///
    /// In requests, [`HttpRequest::remote`](super::HttpRequest::remote) is the loopback address
    /// with port 0, and [`HttpRequest::local`](super::HttpRequest::local) is `None`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`](crate::ErrorKind::Io) when a process listens on the socket, when the file
    /// at `path` is no socket, when the path is longer than the system allows (about 100 bytes), or
    /// when the system has no descriptor or thread left.
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) on Windows.
    pub fn bind_unix(
        path: impl AsRef<Path>,
        service: Arc<dyn Service>,
        limits: HttpLimits,
    ) -> Result<Self> {
        let path = path.as_ref();
        if cfg!(windows) {
            let text = "Unix sockets are not supported on Windows";
            return Err(Error::new(ErrorKind::Unsupported, text));
        }
        // The URL has an absolute path, and the working directory may change before the close.
        let bound = path::absolute(path).and_then(|path| unix_socket::listen(&path));
        let (listener, file) = bound
            .map_err(|error| Error::io(format_args!("listening on '{}'", path.display()), error))?;
        match Self::with(listener, service, limits) {
            Ok(mut listener) => {
                *listener.file.get_mut() = Some(file);
                Ok(listener)
            }
            Err(error) => {
                file.remove();
                Err(error)
            }
        }
    }

    /// Serves requests on a socket that already listens, for example a socket passed by systemd. On
    /// Unix systems it may be a Unix socket: `TcpListener::from(OwnedFd::from(unix_listener))`. The
    /// file of such a socket stays when the listener closes.
    ///
    /// The socket becomes non-blocking, also for other processes that share it.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`bind`](Self::bind).
    pub fn on(
        listener: TcpListener,
        service: Arc<dyn Service>,
        limits: HttpLimits,
    ) -> Result<Self> {
        let listener = tcp::Listener::try_from(listener).map_err(unprepared)?;
        Self::with(listener, service, limits)
    }

    fn with(
        listener: tcp::Listener,
        service: Arc<dyn Service>,
        limits: HttpLimits,
    ) -> Result<Self> {
        let prepared = (|| {
            let (local, path) = (listener.local(), listener.path());
            listener.set_nonblocking()?;
            let poller = Arc::new(Poller::new()?);
            let listener = Registered::new(listener, Arc::clone(&poller), LISTENER)?;
            listener.arm(true, false)?;
            Ok((local, path, poller, listener))
        })();
        let (local, path, poller, listener) = prepared.map_err(unprepared)?;
        let shared = Arc::new(Shared::new(service, limits, local, poller));
        let work = Loop::new(Arc::clone(&shared), listener);
        let threads = &shared.limits.threads;
        let thread = threads.start("poller", Stack::Small, move || work.run())?;
        Ok(Self {
            shared,
            poller_id: thread.thread().id(),
            poller: Mutex::new(Some(thread)),
            origin: Origin::here(),
            path,
            file: Mutex::default(),
        })
    }

    /// Returns the address that the listener is bound to. If the requested port was 0, the address
    /// contains the port that the system chose. Returns `None` for a Unix socket.
    pub fn local_addr(&self) -> Option<SocketAddr> {
        self.shared.local
    }

    /// Returns the path of the Unix socket that the listener is bound to. Returns `None` for a TCP
    /// socket, and for a Unix socket without a path.
    pub fn socket_path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Returns the current counts of connections, requests and refusals.
    pub fn stats(&self) -> HttpStats {
        let shared = &self.shared;
        let mut stats = HttpStats {
            unsent: shared.unsent.load(Ordering::Relaxed),
            waiting: shared.workers.waiting(),
            workers: shared.workers.threads(),
            accepted: shared.accepted.load(Ordering::Relaxed),
            refused: shared.refused.load(Ordering::Relaxed),
            displaced_connections: shared.displaced_connections.load(Ordering::Relaxed),
            displaced_requests: shared.displaced_requests.load(Ordering::Relaxed),
            ..HttpStats::default()
        };
        for conn in shared.table.all() {
            stats.connections += 1;
            match conn.doing() {
                Doing::Nothing => stats.idle += 1,
                Doing::Request => stats.in_hand += 1,
                Doing::Stream => {
                    stats.in_hand += 1;
                    stats.streams += 1;
                }
                Doing::Parting => {}
            }
        }
        stats
    }

    /// Closes the listener at once, like [`shutdown`](Self::shutdown) with a drain time of zero.
    pub fn close(&self) {
        self.shutdown(Duration::ZERO);
    }

    /// Closes each connection after its next response, from now on. So a client, such as a proxy,
    /// does not send a request on a connection that the listener closes meanwhile.
    pub(crate) fn end_keep_alive(&self) {
        self.shared.keeps_alive.store(false, Ordering::Relaxed);
    }

    /// Begins to close: accepts no more connections and closes idle connections at once.
    ///
    /// Blocks until no request is in flight or `drain` has passed. No request is aborted. The
    /// caller has to end the requests that are still in flight before it calls
    /// [`shutdown`](Self::shutdown).
    ///
    /// On the listener's own poller thread, the method returns at once.
    pub(crate) fn drain(&self, drain: Duration) {
        let now = Instant::now();
        let until = now.checked_add(drain.min(LONGEST)).unwrap_or(now);
        if std::thread::current().id() == self.poller_id {
            return;
        }
        self.begin_to_close(until + LONGEST);
        self.shared.wait_for_end(until);
    }

    fn begin_to_close(&self, deadline: Instant) {
        // From here on, a new server can take the path. In a forked child, the file belongs to the
        // parent process.
        if self.origin.is_here()
            && let Some(file) = self.file.lock().take()
        {
            file.remove();
        }
        self.shared.close_until(deadline);
    }

    /// Closes the listener: it accepts no more connections and closes idle connections at once.
    ///
    /// Requests in flight may take up to `drain`. After that their connections are reset, and the
    /// callbacks for disconnected clients run. An open response counts as a request in flight, so
    /// end streams before the shutdown.
    ///
    /// Blocks until the threads have ended and have released the service. If workers are still in
    /// the service one second after `drain`, the shutdown no longer waits for them. Such workers
    /// end when the service returns. The method may be called repeatedly and from any thread. A
    /// call from within the service does not wait for the calling thread.
    pub fn shutdown(&self, drain: Duration) {
        let now = Instant::now();
        let deadline = now.checked_add(drain.min(LONGEST)).unwrap_or(now);
        self.begin_to_close(deadline);
        let own = usize::from(worker::is_of(&self.shared));
        if std::thread::current().id() == self.poller_id {
            return;
        }
        let mut poller = self.poller.lock();
        if let Some(thread) = poller.take() {
            // The poller does not panic. After a panic, nothing would be left to do.
            _ = thread.join();
        }
        drop(poller);
        let last = Instant::now() + LAST;
        if self.shared.workers.wait_for_threads(own, last) {
            self.shared.worker_threads.join();
        }
    }
}

fn unprepared(error: io::Error) -> Error {
    Error::io("preparing the HTTP listener", error)
}

impl Drop for HttpListener {
    fn drop(&mut self) {
        // In a forked child, the threads and connections belong to the parent process.
        if self.origin.is_here() {
            self.close();
        }
    }
}
