//! The write end of a byte stream. Writes have deadlines, and any thread can end the stream.

use std::io;
use std::net::Shutdown;
use std::os::windows::io::{OwnedHandle, OwnedSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use windows_sys::Win32::Foundation::{ERROR_BROKEN_PIPE, ERROR_NO_DATA, HANDLE};

use super::fd::{self, Direction, Wake};
use super::helper::Helper;
use super::overlapped::{Channel, Transfer};
use crate::sync::Mutex;
use crate::transport::sys::start_thread::StartThread;

/// The maximum time that [`WriteEnd::end`] waits until the system has taken bytes that already
/// count as sent. The wait occurs only if the reader has not read for a while.
const LINGER: Duration = Duration::from_millis(200);

/// The write end of a stream. Its methods may be called from any thread. One thread writes, and any
/// thread may call [`end`](Self::end).
#[derive(Debug)]
pub(crate) struct WriteEnd {
    /// The target, until the stream is ended. When it is dropped, the reader sees the end.
    ///
    /// The lock is held while writing. [`end`](Self::end) sets `ended` and fires `wake` before it
    /// takes the lock. So a writer that waits with the lock held stops waiting, and does not block
    /// `end`.
    target: Mutex<Option<Target>>,
    wake: Wake,
    /// Whether [`end`](Self::end) was called. The flag is set before the wakeup, so an interrupted
    /// writer sees the flag.
    ended: AtomicBool,
}

#[derive(Debug)]
enum Target {
    /// A pipe or socket of this process.
    Own(Transfer),
    /// A handle of the host.
    Given(Helper),
}

impl WriteEnd {
    /// Creates a write end from a socket to which no other code writes. [`end`](Self::end) shuts
    /// the socket down for writing.
    pub(crate) fn socket(socket: OwnedSocket) -> io::Result<Self> {
        Self::new(Target::Own(Transfer::new(Channel::Socket(socket))?))
    }

    /// Creates a write end from a pipe of this process, which was opened for overlapped transfers.
    pub(super) fn own(pipe: OwnedHandle) -> io::Result<Self> {
        Self::new(Target::Own(Transfer::new(Channel::Pipe(pipe))?))
    }

    /// Creates a pipe for input of a child. Returns the end that this process writes, and the end
    /// that the child reads.
    pub(super) fn pipe() -> io::Result<(Self, OwnedHandle)> {
        let (ours, theirs) = fd::pipe(Direction::ToChild)?;
        Ok((Self::own(ours)?, theirs))
    }

    /// Creates a write end from a handle of the host, of any kind. Starts a thread with `start`.
    pub(crate) fn given(handle: OwnedHandle, start: StartThread<'_>) -> io::Result<Self> {
        Self::new(Target::Given(Helper::start(handle, false, start)?))
    }

    fn new(target: Target) -> io::Result<Self> {
        Ok(Self {
            target: Mutex::new(Some(target)),
            wake: Wake::new()?,
            ended: AtomicBool::new(false),
        })
    }

    /// Writes until all bytes are written or the deadline passes. Returns the number of bytes
    /// written. Makes one attempt even if the deadline has passed already.
    ///
    /// A write is not cancelled at the deadline. Its bytes, at most 64 KiB, count as written, and a
    /// later call waits for them first.
    pub(crate) fn write(&self, bytes: &[u8], deadline: Instant) -> io::Result<usize> {
        let target = self.target.lock();
        let target = target.as_ref().ok_or(io::ErrorKind::BrokenPipe)?;
        let mut sent = 0;
        loop {
            if self.has_ended() {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            if target.is_idle()? {
                if sent == bytes.len() {
                    return Ok(sent);
                }
                sent += target.begin(&bytes[sent..])?;
            } else if fd::wait(&[self.wake.raw(), target.event()], Some(deadline))?.is_none() {
                return Ok(sent);
            }
        }
    }

    /// Ends the stream. A write in progress fails, later writes fail at once, and the peer sees the
    /// end. Waits a moment until the system has taken the bytes that count as written.
    pub(crate) fn end(&self) {
        self.ended.store(true, Ordering::SeqCst);
        // Fire before taking the lock, because a waiting writer holds the lock.
        self.wake.fire();
        let Some(target) = self.target.lock().take() else {
            return;
        };
        let deadline = Instant::now() + LINGER;
        while let Ok(false) = target.is_idle() {
            if !matches!(fd::wait(&[target.event()], Some(deadline)), Ok(Some(_))) {
                break;
            }
        }
        if let Target::Own(transfer) = &target {
            transfer.channel().shut(Shutdown::Write);
        }
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::SeqCst)
    }

    /// Whether the reader has left a part of the bytes unread. Always returns `None`: this system
    /// does not report it.
    #[allow(clippy::unused_self, reason = "the same method knows it on Unix")]
    pub(crate) fn has_unread(&self) -> Option<bool> {
        None
    }
}

impl Target {
    fn is_idle(&self) -> io::Result<bool> {
        let is_idle = match self {
            Self::Own(transfer) => transfer.is_idle(),
            Self::Given(helper) => helper.is_idle(),
        };
        is_idle.map_err(broken)
    }

    fn begin(&self, bytes: &[u8]) -> io::Result<usize> {
        let begun = match self {
            Self::Own(transfer) => transfer.write(bytes),
            Self::Given(helper) => helper.write(bytes),
        };
        begun.map_err(broken)
    }

    fn event(&self) -> HANDLE {
        match self {
            Self::Own(transfer) => transfer.event(),
            Self::Given(helper) => helper.event(),
        }
    }
}

/// Returns an error of the kind `BrokenPipe` if the reader has closed the pipe.
fn broken(error: io::Error) -> io::Error {
    const GONE: [u32; 2] = [ERROR_BROKEN_PIPE, ERROR_NO_DATA];
    match error.raw_os_error() {
        Some(code) if GONE.contains(&(code as u32)) => {
            io::Error::new(io::ErrorKind::BrokenPipe, error)
        }
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Read as _;

    use super::*;

    fn ends() -> [(WriteEnd, File); 2] {
        let (own, reader) = WriteEnd::pipe().expect("handles");
        let (other, writer) = io::pipe().expect("handles");
        let given =
            WriteEnd::given(writer.into(), &|work| Ok(std::thread::spawn(work))).expect("a thread");
        [
            (own, reader.into()),
            (given, OwnedHandle::from(other).into()),
        ]
    }

    #[test]
    fn a_deadline_leaves_the_write_pending_and_nothing_is_lost_or_doubled() {
        for (end, mut reader) in ends() {
            let bytes: Vec<u8> = (0..1_000_000u32).map(|at| (at % 251) as u8).collect();
            let deadline = Instant::now() + Duration::from_millis(50);
            let sent = end.write(&bytes, deadline).expect("there is a reader");
            assert!(sent > 0 && sent < bytes.len() && Instant::now() >= deadline);
            let reading = std::thread::spawn(move || {
                let mut read = Vec::new();
                reader.read_to_end(&mut read).map(|_| read)
            });
            let later = Instant::now() + Duration::from_secs(20);
            let rest = end.write(&bytes[sent..], later).expect("there is a reader");
            assert_eq!(sent + rest, bytes.len());
            end.end();
            let read = reading.join().expect("it ends").expect("it reads");
            assert!(read == bytes, "{} of {}", read.len(), bytes.len());
        }
    }

    #[test]
    fn a_reader_that_has_gone_and_an_end_are_told() {
        let late = Instant::now() + Duration::from_secs(20);
        for (end, reader) in ends() {
            drop(reader);
            let mut result = end.write(b"one", late);
            // The system may report it with the second write.
            if result.is_ok() {
                result = end.write(b"two", late);
            }
            let error = result.expect_err("there is no reader");
            assert_eq!(error.kind(), io::ErrorKind::BrokenPipe, "{error:?}");
        }
        for (end, _reader) in ends() {
            let end = std::sync::Arc::new(end);
            let writer = std::sync::Arc::clone(&end);
            let writing = std::thread::spawn(move || writer.write(&vec![0; 1 << 20], late));
            end.end();
            let error = writing.join().expect("it ends").expect_err("it has ended");
            assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
            let error = end.write(b"more", late).expect_err("it has ended");
            assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
        }
    }
}
