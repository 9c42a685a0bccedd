//! The read end of a byte stream. Reads have timeouts, and any thread can end the stream.

use std::io;
use std::net::Shutdown;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

#[cfg(target_os = "linux")]
use super::epoll::Epoll;
use super::fd::{self, Kind, Ready, Wake};
use crate::transport::sys::start_thread::StartThread;

/// The maximum time that a read of a socket blocks before the reader uses `poll`. An answer within
/// this time costs one system call.
const QUICK: Duration = Duration::from_millis(10);

/// The read end of a stream. Its methods may be called from any thread. One thread reads, and any
/// thread may call [`end`](Self::end).
#[derive(Debug)]
pub(crate) struct ReadEnd {
    /// The registration of the descriptor and the wakeup for `epoll`, where that is possible.
    #[cfg(target_os = "linux")]
    epoll: Option<Epoll>,
    fd: OwnedFd,
    /// Whether the descriptor is a socket. Sockets are read with flags, so that no read blocks
    /// unexpectedly.
    is_socket: bool,
    /// The wakeup that ends the wait of a reader. `None` for a socket that this side owns, because
    /// a shutdown ends its reader. A read of such a socket blocks for [`QUICK`] at most, so the
    /// read is tried before `poll`.
    wake: Option<Wake>,
    /// Whether [`end`](Self::end) was called. The flag is set before the wakeup or the shutdown. So
    /// an interrupted reader sees the flag, and does not report that the peer ended the stream.
    ended: AtomicBool,
    /// The number of bytes that may still be read after [`end`](Self::end) was called. Such bytes
    /// arrived before the end. The limit prevents a peer that goes on writing from keeping the
    /// stream alive.
    left_after_end: AtomicUsize,
}

/// The result of a read.
#[derive(Debug)]
pub(crate) enum Read {
    Bytes(usize),
    /// The peer ended the stream, or [`ReadEnd::end`] was called.
    End,
    /// No input arrived in time.
    Nothing,
    /// The other descriptor that the caller watches is ready.
    Watched,
}

impl ReadEnd {
    /// Creates a read end from a socket that no other code reads. [`end`](Self::end) shuts the
    /// socket down in both directions, even if other processes hold the other end.
    pub(crate) fn socket(fd: OwnedFd) -> io::Result<Self> {
        set_receive_timeout(fd.as_fd(), QUICK)?;
        Ok(Self::new(fd, true, None, 1 << 20))
    }

    /// Creates a read end from a pipe that this process has created for a child.
    pub(crate) fn own_pipe(fd: OwnedFd) -> io::Result<Self> {
        fd::set_nonblocking(fd.as_fd())?;
        Ok(Self::new(fd, false, Some(Wake::new()?), 1 << 20))
    }

    /// Creates a pipe for output of a child. Returns the end that this process reads, and the end
    /// that the child writes.
    pub(crate) fn pipe() -> io::Result<(Self, OwnedFd)> {
        let (ours, theirs) = fd::pipe()?;
        Ok((Self::own_pipe(ours)?, theirs))
    }

    /// Creates a read end from a descriptor of the host, of any kind. The descriptor's flags are
    /// not changed, and nothing is read from the descriptor after [`end`](Self::end). Starts no
    /// thread.
    pub(crate) fn given(fd: OwnedFd, _start: StartThread<'_>) -> io::Result<Self> {
        let kind = fd::kind(fd.as_fd())?;
        let fd = match kind {
            // Another process may read the input that `poll` has reported. Then a read by this
            // process must not block.
            Kind::Pipe => fd::reopen_pipe(fd.as_fd(), libc::O_RDONLY).unwrap_or(fd),
            _ => fd,
        };
        Ok(Self::new(fd, kind == Kind::Socket, Some(Wake::new()?), 0))
    }

    fn new(fd: OwnedFd, is_socket: bool, wake: Option<Wake>, left_after_end: usize) -> Self {
        Self {
            #[cfg(target_os = "linux")]
            epoll: wake
                .as_ref()
                .and_then(|wake| Epoll::new(fd.as_fd(), wake).ok()),
            fd,
            is_socket,
            wake,
            ended: false.into(),
            left_after_end: left_after_end.into(),
        }
    }

    /// Reads the bytes that are available. If no bytes are available, blocks for about `patience`,
    /// or without limit if `patience` is `None`. Also returns when `watch` is ready, or when the
    /// stream has ended.
    pub(crate) fn read(
        &self,
        room: &mut [u8],
        patience: Option<Duration>,
        watch: Option<BorrowedFd<'_>>,
    ) -> io::Result<Read> {
        if self.has_ended() {
            return self.read_after_end(room);
        }
        let deadline = patience.and_then(|patience| Instant::now().checked_add(patience));
        if self.wake.is_none() {
            let flags = match patience {
                Some(patience) if patience < QUICK => libc::MSG_DONTWAIT,
                _ => 0,
            };
            if let Some(read) = self.try_read(room, flags)? {
                return Ok(read);
            }
        }
        loop {
            match self.wait(deadline, watch)? {
                Ready::Input => {
                    if let Some(read) = self.try_read(room, libc::MSG_DONTWAIT)? {
                        return Ok(read);
                    }
                }
                Ready::Woken => return self.read_after_end(room),
                Ready::Watched => return Ok(Read::Watched),
                Ready::Nothing => return Ok(Read::Nothing),
            }
        }
    }

    /// Blocks until a read would not block. Returns at once if the stream has ended.
    pub(crate) fn wait_for_input(&self) -> io::Result<()> {
        self.wait(None, None).map(drop)
    }

    /// Returns the number of bytes that can be read without blocking. Returns 0 if the number is
    /// unknown.
    pub(crate) fn available(&self) -> usize {
        let mut count: libc::c_int = 0;
        // SAFETY: the descriptor is open, and the request stores one int.
        let result = unsafe { libc::ioctl(self.fd.as_raw_fd(), libc::FIONREAD, &raw mut count) };
        usize::try_from(count).map_or(0, |count| if result == 0 { count } else { 0 })
    }

    /// Ends the stream: a read in progress returns, and later reads never block.
    pub(crate) fn end(&self) {
        // The flag is set first. Otherwise a reader would report that the peer ended the stream.
        self.ended.store(true, Ordering::SeqCst);
        match &self.wake {
            Some(wake) => wake.fire(),
            None => fd::shut(self.fd.as_fd(), Shutdown::Both),
        }
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::SeqCst)
    }

    fn read_after_end(&self, room: &mut [u8]) -> io::Result<Read> {
        let left = self.left_after_end.load(Ordering::Relaxed);
        let wanted = room.len().min(left);
        let mut input = [fd::entry(self.fd.as_raw_fd(), libc::POLLIN)];
        if wanted == 0 || !fd::poll(&mut input, Some(Instant::now()))? {
            return Ok(Read::End);
        }
        let read = self.try_read(&mut room[..wanted], libc::MSG_DONTWAIT);
        match read.unwrap_or(None) {
            Some(Read::Bytes(count)) => {
                self.left_after_end.store(left - count, Ordering::Relaxed);
                Ok(Read::Bytes(count))
            }
            _ => Ok(Read::End),
        }
    }

    fn wait(&self, deadline: Option<Instant>, watch: Option<BorrowedFd<'_>>) -> io::Result<Ready> {
        #[cfg(target_os = "linux")]
        if let (Some(epoll), None) = (&self.epoll, watch) {
            return epoll.wait(deadline);
        }
        // poll skips negative descriptors.
        let mut fds = [
            fd::entry(self.fd.as_raw_fd(), libc::POLLIN),
            fd::entry(self.wake.as_ref().map_or(-1, Wake::raw), libc::POLLIN),
            fd::entry(watch.map_or(-1, |watch| watch.as_raw_fd()), libc::POLLIN),
        ];
        if !fd::poll(&mut fds, deadline)? {
            return Ok(Ready::Nothing);
        }
        let [input, wake, _] = fds.map(|fd| fd.revents);
        Ok(if wake != 0 {
            Ready::Woken
        } else if input & libc::POLLNVAL != 0 {
            return Err(io::Error::from_raw_os_error(libc::EBADF));
        } else if input != 0 {
            Ready::Input
        } else {
            Ready::Watched
        })
    }

    /// Reads once without waiting. Returns `None` when there is nothing to read.
    fn try_read(&self, room: &mut [u8], flags: libc::c_int) -> io::Result<Option<Read>> {
        let (fd, len) = (self.fd.as_raw_fd(), room.len());
        loop {
            // SAFETY: the descriptor is open and the buffer is valid for `len` bytes.
            let count = unsafe {
                if self.is_socket {
                    libc::recv(fd, room.as_mut_ptr().cast(), len, flags)
                } else {
                    libc::read(fd, room.as_mut_ptr().cast(), len)
                }
            };
            if let Ok(count) = usize::try_from(count) {
                return Ok(Some(if count == 0 {
                    Read::End
                } else {
                    Read::Bytes(count)
                }));
            }
            let error = io::Error::last_os_error();
            match error.kind() {
                io::ErrorKind::Interrupted => {}
                io::ErrorKind::WouldBlock => return Ok(None),
                _ => return Err(error),
            }
        }
    }
}

fn set_receive_timeout(fd: BorrowedFd<'_>, timeout: Duration) -> io::Result<()> {
    let value = libc::timeval {
        tv_sec: 0,
        // The type's name is deprecated on musl; the value is under a million.
        tv_usec: timeout.subsec_micros() as _,
    };
    // SAFETY: the descriptor is open; the value is a timeval and its length is given.
    fd::check(unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_RCVTIMEO,
            (&raw const value).cast(),
            size_of::<libc::timeval>() as libc::socklen_t,
        )
    })?;
    Ok(())
}
