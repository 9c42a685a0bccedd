//! Programs of the same user that have published their servers, and connections to them.
//!
//! A program that is running calls [`Server::publish`](crate::server::Server::publish). Other
//! programs of the same user find it by its name, and connect to it. No port is used, and neither
//! another user nor a web page can connect.
//!
//! **Files.** Each published server is an *instance*. It has a socket and a file `ID.json` in a
//! folder that only the user may use. The folder is `mcplink` in the folder of `XDG_RUNTIME_DIR`, or
//! in `/run/user/UID` without that variable. Without both it is `/tmp/mcplink-UID`. The file is a
//! JSON object:
//!
//! | member | value |
//! |---|---|
//! | `name` | the name under which the program is published |
//! | `title` | what the program has open at present, for a person; may be missing |
//! | `folder` | the folder that the program works in; may be missing |
//! | `pid` | the number of the process |
//! | `started` | when the server was published, in seconds since 1970-01-01 |
//! | `version` | the version of the server |
//! | `endpoint` | `unix:` and the path of the socket |
//!
//! Messages on the socket are framed as on the standard streams: each is a line of JSON.
//!
//! **A process that is killed** leaves its files. It also loses the lock that a publishing process
//! holds on its file (`flock`). The next process that lists or publishes removes such files.
//!
//! **Windows.** Functions fail with [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported).
//!
//! Spec: Transports, "Custom Transports" (every revision).

mod folder;
mod watcher;

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

pub(crate) use self::folder::{Entry, Folder, PublishedFile};
pub use self::watcher::{Watcher, watch};
use super::sys::local;
use super::{Limits, Stream, Transport, TransportParts};
use crate::error::{Error, Excerpt, Result};

/// The maximum time in which the process of an instance accepts a connection.
const CONNECT: Duration = Duration::from_secs(5);

/// A published server of a running program. It is a transport, which connects to the server.
///
/// When the program ends, the connection ends. A program that is started again is a new instance.
///
/// # Examples
///
/// ```
/// use mcplink::client::{CallOptions, Client};
/// use mcplink::server::{Publish, Server};
/// use mcplink::transport::local;
///
/// # if cfg!(windows) { return Ok(()); }
/// # let name = format!("example-{}", std::process::id());
/// # let name = &*name;
/// let server = Server::builder("editor", "4.2").build()?;
/// let publication = server.publish(name, Publish::new().title("scene.blend"))?;
///
/// // In another program:
/// let found = local::instances(name)?;
/// assert_eq!(found[0].title.as_deref(), Some("scene.blend"));
/// let client = Client::connect(found[0].clone())?;
/// client.ping(CallOptions::new())?;
/// # Ok::<(), mcplink::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Instance {
    /// An id of the instance. Two instances never have the same id, also if the system uses a
    /// process number again.
    pub id: String,
    /// The name under which the program is published.
    pub name: String,
    /// What the program has open at present, for a person.
    pub title: Option<String>,
    /// The folder that the program works in.
    pub folder: Option<String>,
    /// The number of the process.
    pub pid: u32,
    /// When the server was published.
    pub started: SystemTime,
    /// The version of the server.
    pub version: String,
    socket: PathBuf,
}

impl Transport for Instance {
    fn open(self: Box<Self>, limits: &Limits) -> Result<TransportParts> {
        let peer = format!("{} (process {})", self.name, self.pid);
        let socket = local::connect(&self.socket, CONNECT)
            .map_err(|error| Error::io(format_args!("connecting to {peer}"), error))?;
        Box::new(Stream::local(socket, peer)).open(limits)
    }

    fn again(&self) -> Option<Box<dyn Transport>> {
        Some(Box::new(self.clone()))
    }
}

/// Returns the instances that are published under a name at the moment, the oldest first. With
/// `None` instead of a name, returns the instances of all names.
///
/// A process that was killed is not in the list. The files that it has left are removed.
///
/// # Errors
///
/// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) when another user may use the folder of the
/// instances, or when the name is none that a server can be published under.
/// [`ErrorKind::Io`](crate::ErrorKind::Io) when the folder can't be read.
/// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) on Windows.
pub fn instances<'a>(name: impl Into<Option<&'a str>>) -> Result<Vec<Instance>> {
    let name = name.into();
    name.map_or(Ok(()), check_name)?;
    match Folder::existing()? {
        Some(folder) => folder.list(name),
        None => Ok(Vec::new()),
    }
}

/// Returns the instance with an id.
#[cfg(feature = "cffi")]
pub(crate) fn instance(id: &str) -> Result<Instance> {
    let found = instances(None)?.into_iter().find(|it| it.id == id);
    found.ok_or_else(|| {
        let doing = format!("connecting to the published server '{}'", Excerpt(id));
        Error::io(doing, std::io::ErrorKind::NotFound.into())
    })
}

/// Checks a name under which a server is published: 1 to 64 letters, digits, dots, dashes and
/// underscores of ASCII, of which the first is a letter or digit.
pub(crate) fn check_name(name: &str) -> Result<()> {
    let is_valid = matches!(name.len(), 1..=64)
        && name.starts_with(|first: char| first.is_ascii_alphanumeric())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte));
    if is_valid {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "'{}' is no name of a published server: expected 1 to 64 ASCII letters, digits, '.', '-' and '_', beginning with a letter or digit",
        Excerpt(name)
    )))
}
