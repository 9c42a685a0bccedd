//! Publishing a server to other programs of the same user.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Server;
use super::debug_fields::debug_fields;
use super::endpoints::{Endpoint, Reachable};
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::{Connection, LogLevel, tell};
use crate::sync::{Condvar, Mutex};
use crate::transport::local::{Entry, Folder, Instance, PublishedFile};
use crate::transport::sys::fd::Wake;
use crate::transport::sys::local::{LocalListener, Socket};
use crate::transport::sys::origin::Origin;
use crate::transport::{Stack, Started, Stream, Transport};

/// The pause after a connection could not be accepted, for example without a free descriptor.
const PAUSE: Duration = Duration::from_millis(100);
/// How often the file of an instance is marked as used. Systems remove temporary files that have
/// not been used for days.
const REFRESH: Duration = Duration::from_secs(3600);

/// The settings of a published server: see [`Server::publish`].
#[derive(Clone)]
pub struct Publish {
    title: Option<String>,
    folder: Option<String>,
    max_clients: usize,
    wrap: Option<Wrap>,
}

/// Wraps the transport of each client.
type Wrap = Arc<dyn Fn(Box<dyn Transport>) -> Box<dyn Transport> + Send + Sync>;

impl Publish {
    /// Creates the default settings.
    pub fn new() -> Self {
        Self {
            title: None,
            folder: None,
            max_clients: 64,
            wrap: None,
        }
    }

    /// Sets what the program has open, such as the name of a document. A person tells instances of
    /// one program apart by it. At most 4 KiB. Defaults to no title. See
    /// [`Publication::set_title`].
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Sets the folder that the program works in, such as the folder of a project. At most 4 KiB.
    /// Defaults to no folder.
    pub fn folder(mut self, folder: impl Into<String>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// Sets the maximum number of clients that are connected at once. Defaults to 64. The
    /// connection of a further client is closed.
    pub fn max_clients(mut self, max_clients: usize) -> Self {
        self.max_clients = max_clients;
        self
    }

    #[cfg(feature = "cffi")]
    pub(crate) fn wrap(mut self, wrap: Wrap) -> Self {
        self.wrap = Some(wrap);
        self
    }
}

impl Default for Publish {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Publish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Publish")
            .field("title", &self.title)
            .field("folder", &self.folder)
            .field("max_clients", &self.max_clients)
            .finish_non_exhaustive()
    }
}

/// A server that other programs of the same user can connect to. Dropping the `Publication` calls
/// [`close`](Self::close). See [`Server::publish`].
pub struct Publication {
    shared: Arc<Shared>,
    origin: Origin,
}

struct Shared {
    server: Server,
    max_clients: usize,
    wrap: Option<Wrap>,
    file: Mutex<PublishedFile>,
    /// Wakes the accepting thread when the publication closes.
    wake: Wake,
    /// The thread that accepts connections, and the threads that wait for their ends.
    threads: Started,
    /// Invariant: a connection that is added after `is_closing` was set is ended by the thread that
    /// adds it. So closing ends all connections.
    state: Mutex<State>,
    /// Notified under the lock when the publication has closed.
    closed: Condvar,
}

#[derive(Default)]
struct State {
    /// The connections of the clients, by numbers. `None` until a connection is open.
    clients: HashMap<u64, Option<Connection>>,
    next: u64,
    /// Whether closing has begun.
    is_closing: bool,
    has_closed: bool,
}

impl Server {
    /// Publishes the server under a name, so that other programs of the same user find it with
    /// [`local::instances`](crate::transport::local::instances) and connect to it. The tool
    /// `mcplink` connects hosts of MCP servers to it.
    ///
    /// The name is that of the program, such as `blender`: 1 to 64 ASCII letters, digits, `.`, `-`
    /// and `_`, beginning with a letter or digit. Any number of programs, and of servers of one
    /// program, can be published under one name. No port is opened: neither another user nor a web
    /// page can connect.
    ///
    /// Each client has a connection as with [`open`](Self::open), which also says on which threads
    /// handlers run. [`local`](crate::transport::local) describes the files by which other programs
    /// find the server.
    ///
    /// **Threads.** A thread accepts connections, and one for each client waits for the end of its
    /// connection.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] for another name, for a text that is too long, and when other users
    /// may use the folder for the files. [`ErrorKind::Io`] when the files can't be made, or when
    /// the system has no descriptor or thread left.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use mcplink::server::{Publish, Server};
    ///
    /// let server = Server::builder("editor", "4.2").build()?;
    /// let publication = server.publish("editor", Publish::new().title("notes.txt"))?;
    /// // The program runs. When the user opens another file:
    /// publication.set_title("other.txt")?;
    /// # Ok::<(), mcplink::Error>(())
    /// ```
    pub fn publish(&self, name: &str, options: Publish) -> Result<Publication> {
        self.0.endpoints.open(name, || {
            let publication = self.try_publish(name, options)?;
            let shared = Arc::downgrade(&publication.shared);
            Ok((publication, shared))
        })
    }

    fn try_publish(&self, name: &str, options: Publish) -> Result<Publication> {
        let mut entry = Entry::new(name, &self.0.services.info.version);
        (entry.title, entry.folder) = (options.title, options.folder);
        entry.check()?;
        let wake = Wake::new().map_err(|error| Error::io("preparing to publish", error))?;
        let (listener, file) = Folder::make()?.publish(entry, LocalListener::bind)?;
        let publication = Publication {
            shared: Arc::new(Shared {
                server: self.clone(),
                max_clients: options.max_clients,
                wrap: options.wrap,
                file: Mutex::new(file),
                wake,
                threads: Started::default(),
                state: Mutex::default(),
                closed: Condvar::new(),
            }),
            origin: Origin::here(),
        };
        // If the thread can't be started, dropping the publication removes the files.
        let shared = Arc::clone(&publication.shared);
        publication
            .shared
            .start("publish", move || shared.accept(&listener))?;
        Ok(publication)
    }
}

impl Publication {
    /// Replaces the title. See [`Publish::title`].
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] for a title that is too long. [`ErrorKind::Io`] when the file can't
    /// be written. [`ErrorKind::Closed`] after [`close`](Self::close).
    pub fn set_title(&self, title: impl Into<String>) -> Result<()> {
        let mut file = self.shared.file.lock();
        if self.shared.state.lock().is_closing {
            return Err(Error::new(ErrorKind::Closed, "the publication is closed"));
        }
        file.set_title(Some(title.into()))
    }

    /// Returns what other programs see of this server.
    pub fn instance(&self) -> Instance {
        self.shared.file.lock().instance()
    }

    /// Returns the number of connected clients.
    pub fn clients(&self) -> usize {
        self.shared.state.lock().clients.len()
    }

    /// Blocks until another thread has closed the publication.
    pub fn wait(&self) {
        let mut state = self.shared.state.lock();
        while !state.has_closed {
            state = self.shared.closed.wait(state);
        }
    }

    /// Closes the publication; idempotent.
    ///
    /// Other programs no longer find the server. Active calls may finish within
    /// [`ServerBuilder::drain`](super::ServerBuilder::drain), then the connections end.
    ///
    /// Blocks for at most the drain time and a few seconds. A handler that has not returned
    /// continues to occupy its thread, but nothing else.
    pub fn close(&self) {
        self.shared.close();
    }
}

debug_fields!(
    Publication,
    instance = |it| it.instance(),
    clients = |it| it.clients()
);

impl Drop for Publication {
    fn drop(&mut self) {
        // In a forked child, the files and connections belong to the parent process.
        if self.origin.is_here() {
            self.close();
        }
    }
}

impl Reachable for Shared {
    fn endpoint(&self) -> Option<Endpoint> {
        let instance = self.file.lock().instance();
        let state = self.state.lock();
        (!state.is_closing).then(|| Endpoint::Published {
            instance,
            clients: state.clients.len(),
        })
    }
}

impl Shared {
    fn log(&self, text: impl FnOnce() -> String) {
        let log = self.server.0.log.as_ref();
        tell(log, LogLevel::Warning, "publish", text);
    }

    fn is_closing(&self) -> bool {
        self.state.lock().is_closing
    }

    /// Accepts connections until the publication closes.
    fn accept(self: &Arc<Self>, listener: &LocalListener) {
        while !self.is_closing() {
            match listener.accept(&self.wake, Instant::now() + REFRESH) {
                Ok(Some(socket)) => self.take(socket),
                Ok(None) => self.refresh(),
                Err(error) => {
                    self.log(|| format!("accepting a connection failed: {error}"));
                    // Fails only if the system can't wait.
                    _ = self.wake.wait(Some(Instant::now() + PAUSE));
                }
            }
        }
    }

    fn refresh(&self) {
        let mut file = self.file.lock();
        // Closing removes the file under this lock.
        let refreshed = match self.is_closing() {
            true => Ok(()),
            false => file.refresh(),
        };
        drop(file);
        if let Err(error) = refreshed {
            self.log(|| format!("the server may not be found any more: {error}"));
        }
    }

    /// Starts a thread that serves a client.
    fn take(self: &Arc<Self>, socket: Socket) {
        let mut state = self.state.lock();
        if state.clients.len() >= self.max_clients {
            drop(state);
            let max = self.max_clients;
            return self.log(|| format!("a client was refused: Publish::max_clients is {max}"));
        }
        let number = state.next;
        state.next += 1;
        state.clients.insert(number, None);
        drop(state);
        let shared = Arc::clone(self);
        let started = self.start("client", move || {
            if let Err(error) = shared.serve(number, socket) {
                shared.log(|| format!("a client could not be served: {error}"));
            }
            // Dropped without the lock, because dropping closes the connection.
            let connection = shared.state.lock().clients.remove(&number);
            drop(connection);
        });
        if let Err(error) = started {
            self.state.lock().clients.remove(&number);
            self.log(|| format!("a client could not be served: {error}"));
        }
    }

    /// Serves a client until its connection ends.
    fn serve(&self, number: u64, socket: Socket) -> Result<()> {
        let mut transport: Box<dyn Transport> =
            Box::new(Stream::local(socket, "published client".to_owned()));
        if let Some(wrap) = &self.wrap {
            transport = wrap(transport);
        }
        let connection = self.server.open(transport)?;
        let mut state = self.state.lock();
        state.clients.insert(number, Some(connection.clone()));
        let is_closing = state.is_closing;
        drop(state);
        if is_closing {
            end(&connection);
        }
        connection.wait();
        Ok(())
    }

    /// Removes the files, so that no more clients connect, and ends the connections.
    fn close(&self) {
        let mut file = self.file.lock();
        let mut state = self.state.lock();
        let was_closing = std::mem::replace(&mut state.is_closing, true);
        let clients: Vec<Connection> = state.clients.values().flatten().cloned().collect();
        drop(state);
        if !was_closing {
            file.remove();
        }
        drop(file);
        self.wake.fire();
        for client in &clients {
            end(client);
        }
        self.threads.join();
        self.state.lock().has_closed = true;
        self.closed.notify_all();
    }

    fn start(&self, role: &str, work: impl FnOnce() + Send + 'static) -> Result<()> {
        let threads = &self.server.0.threads;
        self.threads.start(threads, role, Stack::Large, work)
    }
}

/// Lets active calls finish, and then ends a connection.
fn end(connection: &Connection) {
    let error = Error::new(ErrorKind::Closed, "the publication is closed");
    connection.peer().core().end(&error);
}
