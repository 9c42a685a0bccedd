//! An event bus between the processes of one machine, over Unix sockets in a folder.
//!
//! Each process has a datagram socket in the folder. To publish an event, a process sends it to the
//! sockets of all others. An empty datagram means that events may have been lost.
//!
//! **Loss:** a process whose queue is full misses the event. The publisher remembers this process,
//! and sends it an empty datagram as soon as there is room: before the next event, and every
//! [`RETRY`] until then. So no loss goes unnoticed.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::debug_fields::debug_fields;
use super::event_bus::{Deliver, EventBus};
use crate::error::{Error, ErrorKind, Result};
use crate::private_files;
use crate::sync::Mutex;
use crate::transport::sys::origin::Origin;
use crate::transport::sys::random;
use crate::transport::{Stack, Threads};

/// The end of the names of sockets in the folder.
const ENDING: &str = ".events";

/// The maximum size of an event in bytes. In place of a larger event, an empty datagram is sent.
const MAX_EVENT: usize = 64 << 10;

/// A datagram with which a process wakes its own thread.
const WAKE: &[u8] = &[0];

/// How long the thread waits before it tries again to tell another process of a loss.
const RETRY: Duration = Duration::from_millis(100);

/// The maximum time for which the thread waits for a datagram. It bounds the end of the delivery if
/// somebody has removed the socket, so that the thread can't be woken.
const PATIENCE: Duration = Duration::from_secs(2);

/// An [`EventBus`] between processes of the same user on this machine, for example pre-forked
/// servers. No service is needed. Unix only.
///
/// All processes name the same folder, which only their user may write to. Each process creates its
/// bus itself: a bus from before a fork belongs to the parent process. Each bus is for one server.
///
/// **Threads.** One thread waits for the events of other processes.
///
/// # Examples
///
/// ```
/// use mcplink::server::{LocalEventBus, Server};
///
/// # let folder = std::env::temp_dir().join(format!("mcplink-bus-doc-{}", std::process::id()));
/// let server = Server::builder("shop", "1.0")
///     .event_bus(LocalEventBus::new(&folder)?)
///     .build()?;
/// // The clients of all processes that have subscribed to the resource are notified.
/// server.resource_updated("stock://apples");
/// # drop(server);
/// # std::fs::remove_dir(folder).unwrap();
/// # Ok::<(), mcplink::Error>(())
/// ```
pub struct LocalEventBus {
    shared: Arc<Shared>,
}

struct Shared {
    /// Only the process that made the bus removes the socket.
    origin: Origin,
    folder: PathBuf,
    /// The path of the own socket.
    path: PathBuf,
    own: UnixDatagram,
    /// Sends without waiting.
    sender: UnixDatagram,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The sockets of processes that have missed an event.
    behind: BTreeSet<PathBuf>,
    /// Whether the delivery is to end.
    ends: bool,
}

impl LocalEventBus {
    /// Creates the bus of this process, and the folder if it is missing. From now on, events of
    /// other processes are queued.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] when other users may write to the folder, or its path is too long for
    /// sockets (more than about 70 bytes). [`ErrorKind::Io`] when the folder or the socket can't be
    /// made.
    pub fn new(folder: impl AsRef<Path>) -> Result<Self> {
        let folder = folder.as_ref();
        let shown = folder.display();
        let failed = |error| Error::io(format_args!("making an event bus in '{shown}'"), error);
        private_files::create_folder_all(folder).map_err(failed)?;
        private_files::check_folder(folder)?;
        let mut id = [0; 16];
        random::fill(&mut id)?;
        let name = format!("{}{ENDING}", URL_SAFE_NO_PAD.encode(id));
        let path = folder.join(name);
        let own = UnixDatagram::bind(&path).map_err(|error| match error.kind() {
            io::ErrorKind::InvalidInput => {
                let text = format!("the path '{shown}' is too long for sockets in it");
                Error::new(ErrorKind::Invalid, text)
            }
            _ => failed(error),
        })?;
        let sender = UnixDatagram::unbound().map_err(failed)?;
        sender.set_nonblocking(true).map_err(failed)?;
        Ok(Self {
            shared: Arc::new(Shared {
                origin: Origin::here(),
                folder: folder.to_owned(),
                path,
                own,
                sender,
                state: Mutex::default(),
            }),
        })
    }
}

impl EventBus for LocalEventBus {
    fn publish(&self, event: &str) -> Result<()> {
        self.shared.publish(event)
    }

    fn subscribe(&self, deliver: Deliver) -> Result<Box<dyn Send + Sync>> {
        let shared = Arc::clone(&self.shared);
        let serve = move || shared.serve(&deliver);
        let thread = Threads::default().start("events", Stack::Large, serve)?;
        Ok(Box::new(Delivery {
            shared: Arc::clone(&self.shared),
            thread: Some(thread),
            origin: Origin::here(),
        }))
    }
}

debug_fields!(LocalEventBus, folder = |it| it.shared.folder.clone());

/// Implements `Drop`: removes the socket. The thread has ended, since it owns the object too.
impl Drop for Shared {
    fn drop(&mut self) {
        if self.origin.is_here() {
            // Another process may have removed the folder.
            _ = fs::remove_file(&self.path);
        }
    }
}

/// The delivery of events to one server. Dropping the value ends it.
struct Delivery {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    /// A forked child process does not have the thread.
    origin: Origin,
}

impl Drop for Delivery {
    fn drop(&mut self) {
        if !self.origin.is_here() {
            return;
        }
        self.shared.state.lock().ends = true;
        self.shared.wake();
        if let Some(thread) = self.thread.take()
            && thread.thread().id() != std::thread::current().id()
        {
            // A panic was already reported.
            _ = thread.join();
        }
    }
}

impl Shared {
    /// Sends an event to all other processes.
    fn publish(&self, event: &str) -> Result<()> {
        let failed = |error| {
            let folder = self.folder.display();
            Error::io(format_args!("the event bus in '{folder}'"), error)
        };
        let event = match event.len() {
            0..=MAX_EVENT => event.as_bytes(),
            _ => b"",
        };
        let mut fault = None;
        let mut state = self.state.lock();
        for entry in fs::read_dir(&self.folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            let is_socket = path.to_str().is_some_and(|path| path.ends_with(ENDING));
            if is_socket && path != self.path {
                let was_behind = state.behind.remove(&path);
                let text = if was_behind { b"" } else { event };
                if let Err(error) = self.send(text, &path, &mut state) {
                    fault.get_or_insert(error);
                }
            }
        }
        let is_behind = !state.behind.is_empty();
        drop(state);
        if is_behind {
            self.wake();
        }
        fault.map_or(Ok(()), |error| Err(failed(error)))
    }

    /// Wakes the thread.
    fn wake(&self) {
        // A full queue wakes the thread too.
        _ = self.sender.send_to(WAKE, &self.path);
    }

    /// Sends a datagram to one process. If it can't take it now, the process is behind.
    fn send(&self, text: &[u8], path: &Path, state: &mut State) -> io::Result<()> {
        let Err(error) = self.sender.send_to(text, path) else {
            return Ok(());
        };
        match error.kind() {
            // The process has ended.
            io::ErrorKind::ConnectionRefused => _ = fs::remove_file(path),
            io::ErrorKind::NotFound => {}
            io::ErrorKind::PermissionDenied => return Err(error),
            // The queue is full, or the event is too long for the system.
            _ => _ = state.behind.insert(path.to_owned()),
        }
        Ok(())
    }

    /// Delivers events until the delivery ends.
    fn serve(&self, deliver: &Deliver) {
        let mut buffer = vec![0; MAX_EVENT];
        loop {
            let mut state = self.state.lock();
            if state.ends {
                return;
            }
            for path in std::mem::take(&mut state.behind) {
                // A failure was reported to the publisher.
                _ = self.send(b"", &path, &mut state);
            }
            let patience = match state.behind.is_empty() {
                true => PATIENCE,
                false => RETRY,
            };
            drop(state);
            // Fails only for a time of nothing.
            _ = self.own.set_read_timeout(Some(patience));
            match self.own.recv(&mut buffer) {
                Ok(0) => deliver(None),
                Ok(len) if &buffer[..len] == WAKE => {}
                Ok(len) => deliver(std::str::from_utf8(&buffer[..len]).ok()),
                Err(error) => match error.kind() {
                    io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {}
                    io::ErrorKind::Interrupted => {}
                    // Nothing can be received any more, and nobody can be told.
                    _ => return deliver(None),
                },
            }
        }
    }
}
