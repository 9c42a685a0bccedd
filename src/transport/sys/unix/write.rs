//! The end of a byte stream that is written: with a deadline, without SIGPIPE, and endable from another thread.

use std::io;
use std::net::Shutdown;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::fd::{self, Kind, Wake};
use super::{signal, thread};
use crate::transport::lock;

#[cfg(target_vendor = "apple")]
const NO_SIGNAL: libc::c_int = 0;
#[cfg(not(target_vendor = "apple"))]
const NO_SIGNAL: libc::c_int = libc::MSG_NOSIGNAL;

/// A descriptor to write to. Its methods may be called from any thread; one writes, any [`end`](Self::end)s.
#[derive(Debug)]
pub(crate) struct WriteEnd {
    target: Target,
    ended: AtomicBool,
}

#[derive(Debug)]
enum Target {
    Socket {
        fd: OwnedFd,
        /// Whether the end tells the peer.
        is_own: bool,
    },
    Other {
        /// Held while writing; a writer that waits inside leaves when woken. Taken out at the end, which is what tells a reader of it.
        fd: Mutex<Option<OwnedFd>>,
        wake: Wake,
        /// The most that one write may take, so that it does not block after `poll` has found room.
        chunk: usize,
    },
}

impl WriteEnd {
    /// A socket that nobody else writes. Ending it tells the peer that nothing more comes.
    pub(crate) fn socket(fd: OwnedFd) -> io::Result<Self> {
        Self::new(Target::Socket {
            fd: quiet(fd)?,
            is_own: true,
        })
    }

    /// The pipe of a child of ours.
    pub(crate) fn own_pipe(fd: OwnedFd) -> io::Result<Self> {
        fd::set_nonblocking(fd.as_fd())?;
        Self::other(fd, usize::MAX)
    }

    /// A descriptor of the host, of any kind. Its flags stay as they are.
    pub(crate) fn given(fd: OwnedFd) -> io::Result<Self> {
        match fd::kind(fd.as_fd())? {
            Kind::Socket => Self::new(Target::Socket {
                fd: quiet(fd)?,
                is_own: false,
            }),
            Kind::File => Self::other(fd, usize::MAX),
            Kind::Device => Self::other(fd, libc::PIPE_BUF),
            Kind::Pipe => match fd::reopen_pipe(fd.as_fd(), libc::O_WRONLY) {
                Ok(own) => Self::other(own, usize::MAX),
                // Room for this much is what POLLOUT promises.
                Err(_) => Self::other(fd, libc::PIPE_BUF),
            },
        }
    }

    fn other(fd: OwnedFd, chunk: usize) -> io::Result<Self> {
        Self::new(Target::Other {
            fd: Mutex::new(Some(fd)),
            wake: Wake::new()?,
            chunk,
        })
    }

    fn new(target: Target) -> io::Result<Self> {
        Ok(Self {
            target,
            ended: AtomicBool::new(false),
        })
    }

    /// Writes until everything is written or the deadline passes, and returns how much went out. Tries once even after the deadline.
    pub(crate) fn write(&self, bytes: &[u8], deadline: Instant) -> io::Result<usize> {
        match &self.target {
            Target::Socket { fd, .. } => write_all(fd, bytes, deadline, None, |fd, rest| {
                self.check_end()?;
                let flags = NO_SIGNAL | libc::MSG_DONTWAIT;
                // SAFETY: the descriptor is open and the bytes are as many as said.
                Ok(unsafe { libc::send(fd.as_raw_fd(), rest.as_ptr().cast(), rest.len(), flags) })
            }),
            Target::Other { fd, wake, chunk } => {
                let fd = lock(fd);
                let fd = fd.as_ref().ok_or(io::ErrorKind::BrokenPipe)?;
                let write = || self.write_other(fd, wake, *chunk, bytes, deadline);
                if thread::is_ours() {
                    write()
                } else {
                    signal::without_sigpipe(write)
                }
            }
        }
    }

    fn write_other(
        &self,
        fd: &OwnedFd,
        wake: &Wake,
        chunk: usize,
        bytes: &[u8],
        deadline: Instant,
    ) -> io::Result<usize> {
        let may_block = chunk != usize::MAX;
        write_all(fd, bytes, deadline, Some(wake), |fd, rest| {
            self.check_end()?;
            if may_block && !is_writable(fd)? {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            let len = rest.len().min(chunk);
            // SAFETY: the descriptor is open and at least that many bytes are there.
            Ok(unsafe { libc::write(fd.as_raw_fd(), rest.as_ptr().cast(), len) })
        })
    }

    fn check_end(&self) -> io::Result<()> {
        if self.has_ended() {
            Err(io::ErrorKind::BrokenPipe.into())
        } else {
            Ok(())
        }
    }

    /// Ends it: a write in progress fails, later ones fail at once, and the peer finds the end of the stream.
    pub(crate) fn end(&self) {
        self.ended.store(true, Ordering::SeqCst);
        match &self.target {
            Target::Socket { is_own: false, .. } => {}
            Target::Socket { fd, .. } => fd::shut(fd.as_fd(), Shutdown::Write),
            Target::Other { fd, wake, .. } => {
                wake.fire();
                drop(lock(fd).take());
            }
        }
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::SeqCst)
    }
}

fn write_all(
    fd: &OwnedFd,
    bytes: &[u8],
    deadline: Instant,
    wake: Option<&Wake>,
    mut write: impl FnMut(&OwnedFd, &[u8]) -> io::Result<isize>,
) -> io::Result<usize> {
    let mut sent = 0;
    while sent < bytes.len() {
        let result = write(fd, &bytes[sent..]).and_then(|count| {
            usize::try_from(count).map_err(|_negative| io::Error::last_os_error())
        });
        match result {
            Ok(count) => sent += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let mut fds = [
                    fd::entry(fd.as_raw_fd(), libc::POLLOUT),
                    fd::entry(wake.map_or(-1, Wake::raw), libc::POLLIN),
                ];
                if Instant::now() >= deadline || !fd::poll(&mut fds, Some(deadline))? {
                    break;
                }
            }
            Err(error) => return Err(error),
        }
    }
    Ok(sent)
}

fn is_writable(fd: &OwnedFd) -> io::Result<bool> {
    let mut output = [fd::entry(fd.as_raw_fd(), libc::POLLOUT)];
    fd::poll(&mut output, Some(Instant::now()))
}

#[cfg(not(target_vendor = "apple"))]
fn quiet(fd: OwnedFd) -> io::Result<OwnedFd> {
    Ok(fd)
}

/// Here there is no flag for a single send.
#[cfg(target_vendor = "apple")]
fn quiet(fd: OwnedFd) -> io::Result<OwnedFd> {
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
    Ok(fd)
}
