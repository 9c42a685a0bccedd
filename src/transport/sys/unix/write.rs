//! The write end of a byte stream. Writes have deadlines and raise no SIGPIPE, and any thread can
//! end the stream.

use std::io;
use std::net::Shutdown;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::fd::{self, Kind, Wake};
use super::{signal, thread};
use crate::sync::Mutex;
use crate::transport::sys::start_thread::StartThread;

#[cfg(target_vendor = "apple")]
const NO_SIGNAL: libc::c_int = 0;
#[cfg(not(target_vendor = "apple"))]
const NO_SIGNAL: libc::c_int = libc::MSG_NOSIGNAL;
/// The flags with which a send neither blocks nor raises SIGPIPE.
const SEND_FLAGS: libc::c_int = NO_SIGNAL | libc::MSG_DONTWAIT;

/// The write end of a stream. Its methods may be called from any thread. One thread writes, and any
/// thread may call [`end`](Self::end).
#[derive(Debug)]
pub(crate) struct WriteEnd {
    target: Target,
    /// Whether [`end`](Self::end) was called. The flag is set before the wakeup or the shutdown, so
    /// an interrupted writer sees the flag.
    ended: AtomicBool,
    /// Whether the reader closed its end although unread bytes were left.
    refused: AtomicBool,
}

#[derive(Debug)]
enum Target {
    /// A socket to which no other code writes. A shutdown of the socket ends the stream.
    Socket(OwnedFd),
    Other {
        /// The descriptor, until the stream is ended. When it is dropped, the reader sees the end.
        ///
        /// The lock is held while writing. [`WriteEnd::end`] sets `ended` and fires `wake` before
        /// it takes the lock. So a writer that waits with the lock held stops waiting, and does not
        /// block `end`.
        fd: Mutex<Option<OwnedFd>>,
        wake: Wake,
        how: How,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    /// The descriptor is a socket. Each send has flags that prevent blocking and SIGPIPE.
    Send,
    /// The descriptor never blocks: this side has made the open file description non-blocking, or
    /// the descriptor is a regular file.
    Write,
    /// The descriptor may block. Each write is short enough for the space that `poll` guarantees,
    /// so the write does not block.
    WriteLittle,
}

impl WriteEnd {
    /// Creates a write end from a socket to which no other code writes. [`end`](Self::end) shuts
    /// the socket down for writing.
    pub(crate) fn socket(fd: OwnedFd) -> io::Result<Self> {
        Self::new(Target::Socket(quiet(fd)?))
    }

    /// Creates a write end from a pipe that this process has created for a child.
    pub(crate) fn own_pipe(fd: OwnedFd) -> io::Result<Self> {
        fd::set_nonblocking(fd.as_fd())?;
        Self::other(fd, How::Write)
    }

    /// Creates a write end from a descriptor of the host, of any kind. The descriptor's flags are
    /// not changed. Starts no thread.
    pub(crate) fn given(fd: OwnedFd, _start: StartThread<'_>) -> io::Result<Self> {
        match fd::kind(fd.as_fd())? {
            Kind::Socket => Self::other(quiet(fd)?, How::Send),
            Kind::File => Self::other(fd, How::Write),
            Kind::Device => Self::other(fd, How::WriteLittle),
            Kind::Pipe => match fd::reopen_pipe(fd.as_fd(), libc::O_WRONLY) {
                Ok(own) => Self::other(own, How::Write),
                Err(_) => Self::other(fd, How::WriteLittle),
            },
        }
    }

    fn other(fd: OwnedFd, how: How) -> io::Result<Self> {
        Self::new(Target::Other {
            fd: Mutex::new(Some(fd)),
            wake: Wake::new()?,
            how,
        })
    }

    fn new(target: Target) -> io::Result<Self> {
        Ok(Self {
            target,
            ended: AtomicBool::new(false),
            refused: AtomicBool::new(false),
        })
    }

    /// Writes until all bytes are written or the deadline passes. Returns the number of bytes
    /// written. Makes one attempt even if the deadline has passed already.
    pub(crate) fn write(&self, bytes: &[u8], deadline: Instant) -> io::Result<usize> {
        let held;
        let (fd, wake, how) = match &self.target {
            Target::Socket(fd) => (fd, None, How::Send),
            Target::Other { fd, wake, how } => {
                held = fd.lock();
                let fd = held.as_ref().ok_or(io::ErrorKind::BrokenPipe)?;
                (fd, Some(wake), *how)
            }
        };
        // The library's own threads block SIGPIPE always.
        let may_signal = how != How::Send && !thread::is_ours();
        let _no_sigpipe = may_signal.then(signal::block_sigpipe);
        let raw = fd.as_raw_fd();
        let mut sent = 0;
        while sent < bytes.len() {
            if self.has_ended() {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            let rest = &bytes[sent..];
            let count = match how {
                How::WriteLittle if !is_writable(fd)? => Err(io::ErrorKind::WouldBlock.into()),
                // SAFETY: the descriptor is open, and the buffer has at least that many bytes.
                _ => usize::try_from(unsafe {
                    let start = rest.as_ptr().cast();
                    match how {
                        How::Send => libc::send(raw, start, rest.len(), SEND_FLAGS),
                        How::Write => libc::write(raw, start, rest.len()),
                        How::WriteLittle => libc::write(raw, start, rest.len().min(libc::PIPE_BUF)),
                    }
                })
                .map_err(|_negative| io::Error::last_os_error()),
            };
            match count {
                Ok(count) => sent += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if !wait_for_space(raw, wake, deadline)? {
                        break;
                    }
                }
                Err(error) => {
                    if matches!(
                        error.kind(),
                        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset
                    ) {
                        self.refused.store(true, Ordering::SeqCst);
                    }
                    return Err(error);
                }
            }
        }
        Ok(sent)
    }

    /// Ends the stream. A write in progress fails, later writes fail at once, and the peer sees the
    /// end.
    pub(crate) fn end(&self) {
        self.ended.store(true, Ordering::SeqCst);
        match &self.target {
            Target::Socket(fd) => fd::shut(fd.as_fd(), Shutdown::Write),
            Target::Other { fd, wake, .. } => {
                // Fire before taking the lock, because a waiting writer holds the lock.
                wake.fire();
                drop(fd.lock().take());
            }
        }
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::SeqCst)
    }

    /// Whether the reader has left a part of the bytes unread, even if the reader has closed its
    /// end meanwhile. Returns `None` if this is unknown.
    pub(crate) fn has_unread(&self) -> Option<bool> {
        let unread = match &self.target {
            Target::Socket(fd) => self.unread_in_socket(fd)?,
            Target::Other { fd, .. } => {
                let fd = fd.lock();
                let fd = fd.as_ref()?;
                match fd::kind(fd.as_fd()).ok()? {
                    Kind::Socket => self.unread_in_socket(fd)?,
                    Kind::Pipe => unread::in_pipe(fd)?,
                    Kind::Device | Kind::File => return None,
                }
            }
        };
        Some(unread > 0 || self.refused.load(Ordering::SeqCst))
    }

    /// Returns the number of unread bytes in a socket. A Unix socket that is closed with unread
    /// input resets the connection and drops the input. So a reset sets `refused`.
    fn unread_in_socket(&self, fd: &OwnedFd) -> Option<libc::c_int> {
        let unread = unread::in_socket(fd)?;
        if unread::was_reset(fd) {
            self.refused.store(true, Ordering::SeqCst);
        }
        Some(unread)
    }
}

/// Functions that return how much of the written data the reader has not read yet.
#[cfg(target_os = "linux")]
mod unread {
    use std::os::fd::{AsRawFd, OwnedFd};

    use super::option;

    /// Returns the memory that unread data occupies in the socket, in bytes. Only a Unix socket
    /// knows this number; a TCP socket counts unacknowledged bytes.
    pub(super) fn in_socket(fd: &OwnedFd) -> Option<libc::c_int> {
        (option(fd, libc::SO_DOMAIN)? == libc::AF_UNIX).then_some(())?;
        asked(fd, libc::TIOCOUTQ)
    }

    /// Returns the number of unread bytes in a pipe. Either end of the pipe can be passed.
    pub(super) fn in_pipe(fd: &OwnedFd) -> Option<libc::c_int> {
        asked(fd, libc::FIONREAD)
    }

    /// Whether the connection was reset. Returns true only once, because the query clears the
    /// error.
    pub(super) fn was_reset(fd: &OwnedFd) -> bool {
        option(fd, libc::SO_ERROR) == Some(libc::ECONNRESET)
    }

    fn asked(fd: &OwnedFd, request: libc::Ioctl) -> Option<libc::c_int> {
        let mut count: libc::c_int = 0;
        // SAFETY: the descriptor is open, and the request stores one int.
        let result = unsafe { libc::ioctl(fd.as_raw_fd(), request, &raw mut count) };
        (result == 0).then_some(count)
    }
}

/// Functions that return how much of the written data the reader has not read yet.
#[cfg(target_vendor = "apple")]
mod unread {
    use std::os::fd::OwnedFd;

    use super::option;

    pub(super) fn in_socket(fd: &OwnedFd) -> Option<libc::c_int> {
        option(fd, libc::SO_NWRITE)
    }

    pub(super) fn in_pipe(_: &OwnedFd) -> Option<libc::c_int> {
        None
    }

    /// Whether the connection was reset. Returns true only once, because the query clears the
    /// error.
    pub(super) fn was_reset(fd: &OwnedFd) -> bool {
        option(fd, libc::SO_ERROR) == Some(libc::ECONNRESET)
    }
}

/// Placeholders for systems that do not tell how much data is unread. The amount is always unknown.
#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
mod unread {
    use std::os::fd::OwnedFd;

    pub(super) fn in_socket(_: &OwnedFd) -> Option<libc::c_int> {
        None
    }

    pub(super) fn in_pipe(_: &OwnedFd) -> Option<libc::c_int> {
        None
    }

    pub(super) fn was_reset(_: &OwnedFd) -> bool {
        false
    }
}

/// Returns the value of a socket option that is an int.
#[cfg(any(target_os = "linux", target_vendor = "apple"))]
fn option(fd: &OwnedFd, name: libc::c_int) -> Option<libc::c_int> {
    let mut value: libc::c_int = 0;
    let mut len = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the descriptor is open; there is room for an int, and its length is given.
    let result = unsafe {
        libc::getsockopt(
            fd.as_raw_fd(),
            libc::SOL_SOCKET,
            name,
            (&raw mut value).cast(),
            &raw mut len,
        )
    };
    (result == 0).then_some(value)
}

/// Waits until bytes can be written or `wake` fires. Returns false when the deadline passes.
fn wait_for_space(fd: RawFd, wake: Option<&Wake>, deadline: Instant) -> io::Result<bool> {
    let mut fds = [
        fd::entry(fd, libc::POLLOUT),
        // poll skips negative descriptors.
        fd::entry(wake.map_or(-1, Wake::raw), libc::POLLIN),
    ];
    Ok(Instant::now() < deadline && fd::poll(&mut fds, Some(deadline))?)
}

fn is_writable(fd: &OwnedFd) -> io::Result<bool> {
    let mut output = [fd::entry(fd.as_raw_fd(), libc::POLLOUT)];
    fd::poll(&mut output, Some(Instant::now()))
}

#[cfg(not(target_vendor = "apple"))]
fn quiet(fd: OwnedFd) -> io::Result<OwnedFd> {
    Ok(fd)
}

/// Prepares a socket so that no send raises SIGPIPE. Apple systems have no flag for a single send.
#[cfg(target_vendor = "apple")]
fn quiet(fd: OwnedFd) -> io::Result<OwnedFd> {
    no_sigpipe(fd.as_fd())?;
    Ok(fd)
}

/// Sets SO_NOSIGPIPE. Writes to the socket then fail with an error instead of raising a signal.
#[cfg(target_vendor = "apple")]
pub(super) fn no_sigpipe(fd: std::os::fd::BorrowedFd<'_>) -> io::Result<()> {
    let on: libc::c_int = 1;
    // SAFETY: the descriptor is open; the value is an int and its length is given.
    fd::check(unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_NOSIGPIPE,
            (&raw const on).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::time::Duration;

    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn what_the_reader_has_not_read_can_be_told_also_after_it_has_left() {
        let deadline = Instant::now();
        for pipes in [false, true] {
            let pair = || -> (WriteEnd, std::fs::File) {
                let (reader, end) = if pipes {
                    let (reader, writer) = fd::pipe().expect("there are descriptors");
                    (reader, WriteEnd::own_pipe(writer))
                } else {
                    let (reader, writer) = fd::socket_pair().expect("there are descriptors");
                    (reader, WriteEnd::socket(writer))
                };
                (end.expect("there are descriptors"), reader.into())
            };
            let (end, mut reader) = pair();
            assert_eq!(end.has_unread(), Some(false));
            end.write(b"one", deadline).expect("it is open");
            end.write(b"two", deadline).expect("it is open");
            assert_eq!(end.has_unread(), Some(true));
            let mut room = [0; 3];
            reader.read_exact(&mut room).expect("it is there");
            assert_eq!(end.has_unread(), Some(true), "the second one");
            reader.read_exact(&mut room).expect("it is there");
            assert_eq!(end.has_unread(), Some(false));
            drop(reader);
            assert_eq!(end.has_unread(), Some(false));
            let (end, reader) = pair();
            end.write(b"three", deadline).expect("it is open");
            drop(reader);
            for _ in 0..2 {
                assert_eq!(end.has_unread(), Some(true), "it left without reading");
            }
            let (end, reader) = pair();
            drop(reader);
            let _no_sigpipe = signal::block_sigpipe();
            end.write(b"four", deadline)
                .expect_err("nobody can read it");
            assert_eq!(end.has_unread(), Some(true), "it was gone before");
        }
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("there is a port");
        let address = listener.local_addr().expect("it has one");
        let tcp = std::net::TcpStream::connect(address).expect("it listens");
        let end = WriteEnd::socket(tcp.into()).expect("there are descriptors");
        assert_eq!(end.has_unread(), None);
    }

    // This is how pipes are written that can't be opened again.
    #[test]
    fn a_shared_blocking_pipe_heeds_the_deadline_and_the_end() {
        let (mut reader, writer) = io::pipe().expect("there are descriptors");
        let end = WriteEnd::other(writer.into(), How::WriteLittle).expect("there are descriptors");
        let bytes = vec![b'x'; 1 << 20];
        let deadline = Instant::now() + Duration::from_millis(20);
        let sent = end.write(&bytes, deadline).expect("the reader is there");
        assert!(sent > 0 && sent < bytes.len());
        end.end();
        let mut read = Vec::new();
        reader.read_to_end(&mut read).expect("a pipe can be read");
        assert_eq!(read.len(), sent);
        let refused = end.write(&bytes, deadline).expect_err("it has ended");
        assert_eq!(refused.kind(), io::ErrorKind::BrokenPipe);
    }
}
