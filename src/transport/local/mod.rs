//! Programs of the same user that have published their servers, and connections to them.
//!
//! A program that is running calls [`Server::publish`](crate::server::Server::publish). Other
//! programs of the same user find it by its name, and connect to it. No port is used, and neither
//! another user nor a web page can connect.
//!
//! **Files.** Each published server is an *instance*. It has a socket and a file `ID.json` in a
//! folder that only the user may use. The folder is `mcplink` in the folder of `XDG_RUNTIME_DIR`,
//! or in `/run/user/UID` without that variable. Without both it is `/tmp/mcplink-UID`. The file is
//! a JSON object:
//!
//! | member | value |
//! |---|---|
//! | `name` | the name under which the program is published |
//! | `title` | what the program has open at present, for a person; may be missing |
//! | `folder` | the folder that the program works in; may be missing |
//! | `pid` | the number of the process |
//! | `started` | when the server was published, in milliseconds since 1970-01-01 |
//! | `version` | the version of the server |
//! | `endpoint` | `unix:` and the path of the socket |
//!
//! Messages on the socket are framed as on the standard streams: each is a line of JSON.
//!
//! **A process that is killed** leaves its files. It also loses its lock (`flock`) of the file
//! `ID.lock`. The next process that lists or publishes removes such files. Before it makes or
//! removes files, a process locks the file `lock` of the folder.
//!
//! **Windows.** The folder is `mcplink` in the folder of `LOCALAPPDATA`. Access control lists take
//! the place of modes, and a named pipe that of the socket. Its `endpoint` is `pipe:` and the name
//! of the pipe.
//!
//! Spec: Transports, "Custom Transports" (every revision).

mod folder;
mod instance;
mod watcher;

pub(crate) use self::folder::{Entry, Folder, PublishedFile};
pub use self::instance::Instance;
use self::instance::check_name;
pub use self::watcher::{Watcher, watch};
use crate::error::Result;
#[cfg(feature = "cffi")]
use crate::error::{Error, Excerpt};

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
