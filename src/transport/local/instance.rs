//! A published server, as a transport.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use crate::error::{Error, Excerpt, Result};
use crate::transport::sys::local;
use crate::transport::{Limits, Stream, Transport, TransportParts};

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
    /// The name of what the program has open at present, for a person.
    pub title: Option<String>,
    /// The folder that the program works in.
    pub folder: Option<String>,
    /// The number of the process.
    pub pid: u32,
    /// When the server was published.
    pub started: SystemTime,
    /// The version of the server.
    pub version: String,
    pub(super) socket: PathBuf,
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

/// Checks a name under which a server is published: 1 to 64 letters, digits, dots, dashes and
/// underscores of ASCII, of which the first is a letter or digit.
pub(super) fn check_name(name: &str) -> Result<()> {
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
