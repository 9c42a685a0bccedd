//! Connections between the processes of one user, which this library does not make on Windows.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::fd::{OwnedSocket, Wake};
use super::private::User;

/// The file name extension of a socket.
pub(crate) const EXTENSION: &str = "sock";

/// A connection between two processes of one user.
pub(crate) type Socket = OwnedSocket;

fn unsupported<T>() -> io::Result<T> {
    let text = "published servers are not supported on Windows";
    Err(io::Error::new(io::ErrorKind::Unsupported, text))
}

pub(crate) fn user() -> User {
    User::default()
}

pub(crate) fn runtime_folder() -> PathBuf {
    PathBuf::new()
}

/// Fails with `Unsupported`.
pub(crate) fn open_own(_: &Path) -> io::Result<File> {
    unsupported()
}

/// A listener for processes of the same user. On this system there is none.
#[derive(Debug)]
pub(crate) enum LocalListener {}

impl LocalListener {
    /// Fails with `Unsupported`.
    pub(crate) fn bind(_: &Path) -> io::Result<Self> {
        unsupported()
    }

    pub(crate) fn accept(&self, _: &Wake, _: Instant) -> io::Result<Option<Socket>> {
        match *self {}
    }
}

/// Fails with `Unsupported`.
pub(crate) fn connect(_: &Path, _: Duration) -> io::Result<Socket> {
    unsupported()
}

pub(crate) fn is_unused(_: &Path) -> bool {
    false
}

/// A watch of a folder. On this system there is none.
#[derive(Debug)]
pub(crate) enum FolderWatch {}

impl FolderWatch {
    /// The maximum time in which a change is noticed without an event of the system.
    pub(crate) const INTERVAL: Duration = Duration::from_secs(60);

    /// Fails with `Unsupported`.
    pub(crate) fn new(_: &Path) -> io::Result<Self> {
        unsupported()
    }

    pub(crate) fn wait(&self, _: &Wake, _: Instant, _: &str) -> io::Result<bool> {
        match *self {}
    }
}
