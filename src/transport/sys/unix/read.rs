//! The end of a byte stream that is read: with patience, and endable from another thread.

use std::io;
use std::net::Shutdown;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

#[cfg(target_os = "linux")]
use super::epoll::Epoll;
use super::fd::{self, Kind, Wake};

/// How long a read of a socket waits by itself before it goes to `poll`. An answer that comes within it costs one system call.
const QUICK: Duration = Duration::from_millis(10);

/// A descriptor to read from. Its methods may be called from any thread; one reads, any [`end`](Self::end)s.
#[derive(Debug)]
pub(crate) struct ReadEnd {
    /// Waits for the descriptor and its wake, where it can.
    #[cfg(target_os = "linux")]
    epoll: Option<Epoll>,
    fd: OwnedFd,
    /// Sockets are read with flags, so that no read blocks by surprise.
    is_socket: bool,
    /// Ends the wait where shutting the socket is not ours to do. A socket that is ours has none: it is ended by shutting it down, and a read of
    /// it waits [`QUICK`] at most, so that it may come before the poll.
    wake: Option<Wake>,
    ended: AtomicBool,
    /// How much of what had arrived may still be taken after the end. Bounded: a peer that goes on writing must not keep it alive.
    left_after_end: AtomicUsize,
}

/// What a read came back with.
#[derive(Debug)]
pub(crate) enum Read {
    Bytes(usize),
    /// Of the stream, or by [`ReadEnd::end`].
    End,
    /// Nothing came within the patience.
    Nothing,
    /// The watched descriptor is ready.
    Watched,
}

impl ReadEnd {
    /// A socket that nobody else reads. Ending it shuts it down in both directions, whoever else may hold the other end.
    pub(crate) fn socket(fd: OwnedFd) -> io::Result<Self> {
        set_receive_timeout(fd.as_fd(), QUICK)?;
        Ok(Self::new(fd, true, None, 1 << 20))
    }

    /// The pipe of a child of ours.
    pub(crate) fn own_pipe(fd: OwnedFd) -> io::Result<Self> {
        fd::set_nonblocking(fd.as_fd())?;
        Ok(Self::new(fd, false, Some(Wake::new()?), 1 << 20))
    }

    /// A descriptor of the host, of any kind. Nothing about it is changed, and nothing more is taken from it after the end.
    pub(crate) fn given(fd: OwnedFd) -> io::Result<Self> {
        let kind = fd::kind(fd.as_fd())?;
        let fd = match kind {
            // Should somebody else read what poll has promised us, we find nothing instead of waiting.
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

    /// Reads what is there, or waits for it: without end, or for about `patience`; or until `watch` is ready; or until the end.
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

    /// Waits until a read would not wait, also since the stream is over.
    pub(crate) fn wait_for_input(&self) -> io::Result<()> {
        self.wait(None, None).map(drop)
    }

    /// How many bytes can be read without waiting; 0 where the system can't tell.
    pub(crate) fn available(&self) -> usize {
        let mut count: libc::c_int = 0;
        // SAFETY: the descriptor is open, and the request stores one int.
        let result = unsafe { libc::ioctl(self.fd.as_raw_fd(), libc::FIONREAD, &raw mut count) };
        usize::try_from(count).map_or(0, |count| if result == 0 { count } else { 0 })
    }

    /// Ends it: a read in progress returns, later ones never wait.
    pub(crate) fn end(&self) {
        // The flag first: an early end of the stream looks the same either way.
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

    /// `None` when there is nothing to read now.
    fn try_read(&self, room: &mut [u8], flags: libc::c_int) -> io::Result<Option<Read>> {
        let (fd, len) = (self.fd.as_raw_fd(), room.len());
        loop {
            // SAFETY: the descriptor is open and the room is as long as said.
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

/// What a wait ended with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ready {
    Input,
    Woken,
    Watched,
    /// The deadline has passed.
    Nothing,
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
