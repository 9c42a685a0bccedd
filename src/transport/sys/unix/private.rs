//! Files and folders that only their owner may use.

#[cfg(not(target_vendor = "apple"))]
use std::ffi::{CString, OsStr, c_int};
use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io;
#[cfg(not(target_vendor = "apple"))]
use std::os::fd::{AsRawFd, FromRawFd as _};
#[cfg(not(target_vendor = "apple"))]
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
#[cfg(not(target_vendor = "apple"))]
use std::path::Component;
use std::path::Path;

#[cfg(not(target_vendor = "apple"))]
use super::fd;

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

/// Opens a file for reading. Fails if a segment of the absolute path is a symbolic link, even if
/// another program replaces folders at the same time. Does not wait for a named pipe.
#[cfg(target_vendor = "apple")]
pub(crate) fn open_no_link(path: &Path) -> io::Result<File> {
    let flags = libc::O_NOFOLLOW_ANY | libc::O_NONBLOCK;
    File::options().read(true).custom_flags(flags).open(path)
}

/// Opens a file for reading. Fails if a segment of the absolute path is a symbolic link, even if
/// another program replaces folders at the same time. Does not wait for a named pipe.
// Each segment is opened relative to the open folder before it, so what was checked is what is
// used.
#[cfg(not(target_vendor = "apple"))]
pub(crate) fn open_no_link(path: &Path) -> io::Result<File> {
    // `O_PATH` needs no permission to list the folder.
    #[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd"))]
    const FOLDER: c_int = libc::O_PATH | libc::O_DIRECTORY | libc::O_NOFOLLOW;
    #[cfg(not(any(target_os = "linux", target_os = "android", target_os = "freebsd")))]
    const FOLDER: c_int = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW;
    const FILE: c_int = libc::O_RDONLY | libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let invalid = || io::Error::from(io::ErrorKind::InvalidInput);
    let (folders, name) = (path.parent(), path.file_name());
    let (folders, name) = folders.zip(name).ok_or_else(invalid)?;
    let mut folder = None;
    for component in folders.components() {
        folder = Some(match (component, &folder) {
            (Component::RootDir, None) => open_at(None, OsStr::new("/"), FOLDER)?,
            (Component::Normal(name), Some(folder)) => open_at(Some(folder), name, FOLDER)?,
            _ => return Err(invalid()),
        });
    }
    open_at(Some(&folder.ok_or_else(invalid)?), name, FILE)
}

/// Opens an entry of an open folder.
#[cfg(not(target_vendor = "apple"))]
fn open_at(folder: Option<&File>, name: &OsStr, flags: c_int) -> io::Result<File> {
    let name = CString::new(name.as_bytes())?;
    let folder = folder.map_or(libc::AT_FDCWD, AsRawFd::as_raw_fd);
    loop {
        // SAFETY: the name ends in NUL and lives for the call; `openat` creates no file, so it
        // reads no mode.
        let opened = unsafe { libc::openat(folder, name.as_ptr(), flags | libc::O_CLOEXEC) };
        match fd::check(opened) {
            // SAFETY: openat just made the descriptor, and no other code knows it.
            Ok(raw) => return Ok(unsafe { File::from_raw_fd(raw) }),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Flushes a folder to disk. Without this, a power failure may bring back an old or removed file.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Whether a read failed because another process has locked the file: never on this system.
pub(crate) fn is_locked(_error: &io::Error) -> bool {
    false
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::fs;

    use super::*;

    // Must not happen: a link or a pipe that takes the place of a file is followed or waited for.
    #[test]
    fn a_link_is_followed_in_no_segment_and_a_pipe_is_not_waited_for() {
        let root = std::env::temp_dir().join(format!("no links {}", std::process::id()));
        fs::create_dir_all(root.join("folder")).expect("a folder");
        let root = fs::canonicalize(root).expect("it is there");
        let link =
            |to: &str, at: &str| std::os::unix::fs::symlink(to, root.join(at)).expect("a link");
        fs::write(root.join("folder/file"), "x").expect("a file");
        link("file", "folder/alias");
        link("folder", "way");
        let pipe = std::process::Command::new("mkfifo")
            .arg(root.join("pipe"))
            .status();
        assert!(pipe.expect("mkfifo runs").success());
        let is_file = |name: &str| {
            let file = open_no_link(&root.join(name))?;
            file.metadata().map(|it| it.is_file())
        };
        assert!(is_file("folder/file").expect("it opens"));
        assert!(!is_file("pipe").expect("it opens at once"));
        for name in [
            "folder/alias",
            "way/file",
            "folder/../folder/file",
            "folder/none",
            "folder/file/x",
        ] {
            assert!(is_file(name).is_err(), "{name}");
        }
        assert!(open_no_link(Path::new("folder/file")).is_err());
        fs::remove_dir_all(&root).expect("it can be removed");
    }
}
