//! The endpoints of a server, for the host to show to a person: where clients reach the server, and
//! why an address could not be opened.

use std::fmt;
use std::sync::Weak;

use crate::error::{Error, Result};
use crate::sync::Mutex;
use crate::transport::local::Instance;

/// The maximum number of failures that are remembered.
const MAX_FAILURES: usize = 16;

/// The state of a server, for example for a settings page: see
/// [`Server::state`](super::Server::state). The state is displayed with a line for each endpoint
/// and each failure.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerState {
    /// The open endpoints, in the order in which they were opened.
    pub endpoints: Vec<Endpoint>,
    /// The addresses that could not be opened, in the order in which they failed last. At most 16,
    /// the latest. A failure is forgotten when its address is opened.
    pub failures: Vec<EndpointFailure>,
}

/// A place where clients reach a server.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Endpoint {
    /// An HTTP listener, until it is closed: see
    /// [`Server::listen_http`](super::Server::listen_http).
    #[non_exhaustive]
    Http {
        /// The URL, for clients on this machine.
        url: String,
        /// The number of open connections. A client may have several or, between requests, none.
        connections: usize,
        /// The number of sessions. Only clients of revisions before 2026-07-28 have sessions.
        sessions: usize,
    },
    /// A publication, until it is closed: see [`Server::publish`](super::Server::publish).
    #[non_exhaustive]
    Published {
        /// The instance, with the name and the title.
        instance: Instance,
        /// The number of connected clients.
        clients: usize,
    },
}

/// An address that a server could not open.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EndpointFailure {
    /// The address that the host passed to
    /// [`Server::listen_http`](super::Server::listen_http), or the name that the host passed to
    /// [`Server::publish`](super::Server::publish).
    pub address: String,
    /// The reason.
    pub error: Error,
}

impl fmt::Display for ServerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for endpoint in &self.endpoints {
            writeln!(f, "{endpoint}")?;
        }
        for failure in &self.failures {
            writeln!(f, "{failure}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Http {
                url,
                connections,
                sessions,
            } => {
                let (connections, sessions) = (
                    Count(*connections, "connection"),
                    Count(*sessions, "session"),
                );
                write!(f, "{url}: {connections}, {sessions}")
            }
            Self::Published { instance, clients } => {
                write!(f, "published as {}", instance.name)?;
                if let Some(title) = &instance.title {
                    write!(f, " ({title})")?;
                }
                write!(f, ": {}", Count(*clients, "client"))
            }
        }
    }
}

impl fmt::Display for EndpointFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: failed: {}", self.address, self.error)
    }
}

/// A number of things, with their name in the singular.
struct Count(usize, &'static str);

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(count, noun) = *self;
        let ending = if count == 1 { "" } else { "s" };
        write!(f, "{count} {noun}{ending}")
    }
}

/// An object through which clients reach a server.
pub(super) trait Reachable: Send + Sync {
    /// Returns the endpoint; `None` after the object was closed.
    fn endpoint(&self) -> Option<Endpoint>;
}

/// The endpoints of a server.
#[derive(Default)]
pub(super) struct Endpoints(Mutex<State>);

#[derive(Default)]
struct State {
    /// The objects belong to the host. Those that are gone are removed when another is opened.
    opened: Vec<Weak<dyn Reachable>>,
    failures: Vec<EndpointFailure>,
}

impl Endpoints {
    /// Opens an address. Remembers the object that `open` returns with its result, or its failure.
    pub(super) fn open<T, R: Reachable + 'static>(
        &self,
        address: &str,
        open: impl FnOnce() -> Result<(T, Weak<R>)>,
    ) -> Result<T> {
        let opened = open();
        let mut state = self.0.lock();
        state.failures.retain(|failure| failure.address != address);
        match opened {
            Ok((value, object)) => {
                state.opened.retain(|object| object.strong_count() > 0);
                state.opened.push(object);
                Ok(value)
            }
            Err(error) => {
                if state.failures.len() == MAX_FAILURES {
                    state.failures.remove(0);
                }
                state.failures.push(EndpointFailure {
                    address: address.to_owned(),
                    error: error.clone(),
                });
                Err(error)
            }
        }
    }

    pub(super) fn state(&self) -> ServerState {
        let state = self.0.lock();
        let opened: Vec<_> = state.opened.iter().filter_map(Weak::upgrade).collect();
        let failures = state.failures.clone();
        // The objects have locks of their own, and dropping one may close it.
        drop(state);
        ServerState {
            endpoints: opened.iter().filter_map(|it| it.endpoint()).collect(),
            failures,
        }
    }
}
