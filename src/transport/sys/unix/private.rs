//! Files and folders that only their owner may use.

use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

/// The advice in the error about a folder that other users may access.
pub(crate) const FOLDER_ADVICE: &str = "chmod 700";
/// The advice in the error about a file that other users may access.
pub(crate) const FILE_ADVICE: &str = "chmod 600, or remove it";

/// The owner of a file: a user id.
pub(crate) type User = u32;

/// The access rights of a file or folder.
#[derive(Debug)]
pub(crate) struct Access {
    pub(crate) owner: User,
    mode: u32,
}

impl Access {
    /// Returns the access rights of the file or folder at `path`, whose metadata is `metadata`.
    pub(crate) fn of(_path: &Path, metadata: &Metadata) -> io::Result<Self> {
        Ok(Self {
            owner: metadata.uid(),
            mode: metadata.mode() & 0o777,
        })
    }

    /// Returns the access rights of an open file.
    pub(crate) fn of_file(file: &File) -> io::Result<Self> {
        Self::of(Path::new(""), &file.metadata()?)
    }

    /// Returns the reason why other users may write, or `None` if they may not.
    pub(crate) fn others_may_write(&self) -> Option<String> {
        (self.mode & 0o022 != 0).then(|| format!("mode {:o}", self.mode))
    }

    /// Returns the reason why other users may read or write, or `None` if they may do neither.
    pub(crate) fn others_may_read(&self) -> Option<String> {
        (self.mode & 0o077 != 0).then(|| format!("mode {:o}", self.mode))
    }
}

/// Creates a folder that only the user may use.
pub(crate) fn create_folder(path: &Path, recursive: bool) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(recursive).mode(0o700).create(path)
}

fn options() -> OpenOptions {
    let mut options = File::options();
    options.write(true).mode(0o600);
    options
}

/// Creates a file that only the user may use, and opens it for writing.
pub(crate) fn create_new(path: &Path) -> io::Result<File> {
    options().create_new(true).open(path)
}

/// Opens a file for writing. Creates the file if it does not exist; then only the user may use it.
pub(crate) fn open_or_create(path: &Path) -> io::Result<File> {
    options().create(true).open(path)
}

/// Opens an existing file for writing.
pub(crate) fn open_existing(path: &Path) -> io::Result<File> {
    options().open(path)
}

/// Opens a file for reading. Does not follow a link in the last segment of the path, and does not
/// wait for a named pipe.
pub(crate) fn open_no_link(path: &Path) -> io::Result<File> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    File::options().read(true).custom_flags(flags).open(path)
}

/// Flushes a folder to disk. Without this, a power failure may bring back an old or removed file.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Whether a read failed because another process has locked the file: never on this system.
pub(crate) fn is_locked(_error: &io::Error) -> bool {
    false
}
