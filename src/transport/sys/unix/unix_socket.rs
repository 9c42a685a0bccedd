//! Unix sockets: connecting, listening, and the file of a socket.

#[cfg(feature = "http-server")]
use std::fs::File;
use std::fs::{self, Permissions};
use std::io;
use std::mem;
use std::net::TcpStream;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
#[cfg(feature = "http-server")]
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::os::unix::net::UnixListener;
use std::path::Path;
#[cfg(feature = "http-server")]
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::fd;
#[cfg(feature = "http-server")]
use crate::transport::sys::file_lock;

/// The maximum wait for other processes that create or replace a socket in the same folder.
#[cfg(feature = "http-server")]
const LOCK_WAIT: Duration = Duration::from_secs(2);
/// The maximum wait for an answer of the process that listens at a path.
#[cfg(feature = "http-server")]
const PROBE: Duration = Duration::from_secs(1);

/// Connects to the socket at a path. Fails with `TimedOut` if the connection is not made within
/// `span`, because the server accepts no connections.
///
/// The stream has the type of a TCP stream. The standard library's functions for a TCP stream work
/// with every connected socket, except those that read an address or set an option of TCP.
pub(crate) fn connect(path: &Path, span: Duration) -> io::Result<TcpStream> {
    let (address, len) = address(path)?;
    let stream = TcpStream::from(socket()?);
    let deadline = Instant::now().checked_add(span);
    loop {
        let now = Instant::now();
        let left = deadline.map_or(span, |deadline| deadline.saturating_duration_since(now));
        // This time also applies to the connect call.
        stream.set_write_timeout(Some(left.max(Duration::from_millis(1))))?;
        // SAFETY: the descriptor is open, and the length is that of the address.
        let connected =
            unsafe { libc::connect(stream.as_raw_fd(), (&raw const address).cast(), len) };
        match fd::check(connected) {
            Ok(_) => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                return Err(io::ErrorKind::TimedOut.into());
            }
            Err(error) => return Err(error),
        }
    }
    stream.set_write_timeout(None)?;
    Ok(stream)
}

fn socket() -> io::Result<OwnedFd> {
    #[cfg(not(target_vendor = "apple"))]
    const KIND: libc::c_int = libc::SOCK_STREAM | libc::SOCK_CLOEXEC;
    #[cfg(target_vendor = "apple")]
    const KIND: libc::c_int = libc::SOCK_STREAM;
    // SAFETY: the call has no further conditions.
    let raw = fd::check(unsafe { libc::socket(libc::AF_UNIX, KIND, 0) })?;
    // SAFETY: the call just made the descriptor, and no other code knows it.
    let socket = unsafe { OwnedFd::from_raw_fd(raw) };
    #[cfg(target_vendor = "apple")]
    // SAFETY: the descriptor is open.
    fd::check(unsafe { libc::fcntl(raw, libc::F_SETFD, libc::FD_CLOEXEC) })?;
    fd::private(socket)
}

/// Returns the address of the socket at a path, with its length.
fn address(path: &Path) -> io::Result<(libc::sockaddr_un, libc::socklen_t)> {
    // SAFETY: an address is plain data, for which zeros are valid.
    let mut address: libc::sockaddr_un = unsafe { mem::zeroed() };
    let bytes = path.as_os_str().as_bytes();
    // A zero byte ends the path.
    let max = address.sun_path.len() - 1;
    if bytes.is_empty() || bytes.contains(&0) || bytes.len() > max {
        let text = format!("the path of a socket has 1 to {max} bytes and no zero byte");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    for (to, from) in address.sun_path.iter_mut().zip(bytes) {
        *to = *from as libc::c_char;
    }
    let len = mem::offset_of!(libc::sockaddr_un, sun_path) + bytes.len() + 1;
    Ok((address, len as libc::socklen_t))
}

/// The file of a socket that listens.
#[cfg(feature = "http-server")]
#[derive(Debug)]
pub(crate) struct SocketFile {
    path: PathBuf,
    device: u64,
    inode: u64,
}

#[cfg(feature = "http-server")]
impl SocketFile {
    /// Returns the file at the path of a new socket.
    fn new(path: &Path) -> io::Result<Self> {
        let file = fs::symlink_metadata(path)?;
        Ok(Self {
            path: path.to_owned(),
            device: file.dev(),
            inode: file.ino(),
        })
    }

    /// Removes the file, unless another file has replaced it.
    pub(crate) fn remove(self) {
        let is_ours = |file: &fs::Metadata| (file.dev(), file.ino()) == (self.device, self.inode);
        if fs::symlink_metadata(&self.path).is_ok_and(|file| is_ours(&file)) {
            // If the file can't be removed, the next server at this path replaces it.
            _ = fs::remove_file(&self.path);
        }
    }
}

/// Listens on a new socket at a path. Only the user may connect to the socket: its mode is 600
/// before it accepts the first connection.
///
/// Replaces a socket on which no process listens. Fails with `AddrInUse` if a process listens
/// on it, and with `AlreadyExists` if the file at the path is no socket.
#[cfg(feature = "http-server")]
pub(crate) fn listen(path: &Path) -> io::Result<(super::tcp::Listener, SocketFile)> {
    // Between the check and the replacement, no other process may replace the socket.
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    let folder = folder.unwrap_or_else(|| Path::new("."));
    let folder = File::open(folder)?;
    file_lock::lock(&folder, LOCK_WAIT)?;
    let listener = match bind(path) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            match remove_unused(path) {
                // A server that closes has removed its socket meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                removed => removed?,
            }
            bind(path)?
        }
        bound => bound?,
    };
    let file = SocketFile::new(path)?;
    Ok((super::tcp::Listener::Unix(listener), file))
}

/// Removes the socket at a path. Fails if the file is no socket, or if a process listens on it.
#[cfg(feature = "http-server")]
fn remove_unused(path: &Path) -> io::Result<()> {
    if !fs::symlink_metadata(path)?.file_type().is_socket() {
        let text = "the file exists and is no socket";
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, text));
    }
    match connect(path, PROBE) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path),
        Err(error) if error.kind() != io::ErrorKind::TimedOut => Err(error),
        _ => Err(io::ErrorKind::AddrInUse.into()),
    }
}

/// Listens on a new socket at a path, as [`listen`] does. Fails with `AddrInUse` if the path
/// exists.
pub(crate) fn bind(path: &Path) -> io::Result<UnixListener> {
    let (address, len) = address(path)?;
    let socket = socket()?;
    // SAFETY: the descriptor is open, and the length is that of the address.
    fd::check(unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), len) })?;
    let listening = fs::set_permissions(path, Permissions::from_mode(0o600)).and_then(|()| {
        // SAFETY: the descriptor is open.
        fd::check(unsafe { libc::listen(socket.as_raw_fd(), 4096) })
    });
    if let Err(error) = listening {
        _ = fs::remove_file(path);
        return Err(error);
    }
    Ok(UnixListener::from(socket))
}
