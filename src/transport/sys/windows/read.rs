//! The read end of a byte stream. Reads have timeouts, and any thread can end the stream.

use std::io;
use std::net::Shutdown;
use std::os::windows::io::{AsRawHandle as _, BorrowedHandle, OwnedHandle, OwnedSocket};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use windows_sys::Win32::Foundation::HANDLE;

use super::fd::{self, Direction, Wake};
use super::helper::Helper;
use super::overlapped::{Channel, Got, Transfer};
use crate::transport::sys::start_thread::StartThread;

/// The read end of a stream. Its methods may be called from any thread. One thread reads, and any
/// thread may call [`end`](Self::end).
#[derive(Debug)]
pub(crate) struct ReadEnd {
    source: Source,
    /// The wakeup that ends the wait of a reader.
    wake: Wake,
    /// Whether [`end`](Self::end) was called. The flag is set before the wakeup. So an interrupted
    /// reader sees the flag, and does not report that the peer ended the stream.
    ended: AtomicBool,
    /// The number of bytes that may still be read after [`end`](Self::end) was called. Such bytes
    /// arrived before the end. The limit prevents a peer that goes on writing from keeping the
    /// stream alive.
    left_after_end: AtomicUsize,
}

#[derive(Debug)]
enum Source {
    /// A pipe or socket of this process.
    Own(Transfer),
    /// A handle of the host.
    Given(Helper),
}

/// The result of a read.
#[derive(Debug)]
pub(crate) enum Read {
    Bytes(usize),
    /// The peer ended the stream, or [`ReadEnd::end`] was called.
    End,
    /// No input arrived in time.
    Nothing,
    /// The other handle that the caller watches is signaled.
    Watched,
}

impl ReadEnd {
    /// Creates a read end from a socket that no other code reads. [`end`](Self::end) shuts the
    /// socket down in both directions, even if other processes hold the other end.
    pub(crate) fn socket(socket: OwnedSocket) -> io::Result<Self> {
        Self::new(
            Source::Own(Transfer::new(Channel::Socket(socket))?),
            1 << 20,
        )
    }

    /// Creates a read end from a pipe of this process, which was opened for overlapped transfers.
    pub(super) fn own(pipe: OwnedHandle) -> io::Result<Self> {
        Self::new(Source::Own(Transfer::new(Channel::Pipe(pipe))?), 1 << 20)
    }

    /// Creates a pipe for output of a child. Returns the end that this process reads, and the end
    /// that the child writes.
    pub(crate) fn pipe() -> io::Result<(Self, OwnedHandle)> {
        let (ours, theirs) = fd::pipe(Direction::FromChild)?;
        Ok((Self::own(ours)?, theirs))
    }

    /// Creates a read end from a handle of the host, of any kind. Starts a thread with `start`.
    /// Nothing is read
    /// from the handle after [`end`](Self::end). Bytes that a read in progress has taken by then
    /// are lost.
    pub(crate) fn given(handle: OwnedHandle, start: StartThread<'_>) -> io::Result<Self> {
        Self::new(Source::Given(Helper::start(handle, true, start)?), 0)
    }

    fn new(source: Source, left_after_end: usize) -> io::Result<Self> {
        Ok(Self {
            source,
            wake: Wake::new()?,
            ended: false.into(),
            left_after_end: left_after_end.into(),
        })
    }

    /// Reads the bytes that are available. If no bytes are available, blocks for about `patience`,
    /// or without limit if `patience` is `None`. Also returns when `watch` is signaled, or when the
    /// stream has ended.
    pub(crate) fn read(
        &self,
        room: &mut [u8],
        patience: Option<Duration>,
        watch: Option<BorrowedHandle<'_>>,
    ) -> io::Result<Read> {
        let deadline = patience.and_then(|patience| Instant::now().checked_add(patience));
        let watch = watch.map(|watch| watch.as_raw_handle());
        loop {
            if self.has_ended() {
                return self.read_after_end(room);
            }
            match self.try_read(room)? {
                Got::Bytes(count) => return Ok(Read::Bytes(count)),
                Got::End => return Ok(Read::End),
                Got::Pending => {}
            }
            match self.wait(deadline, watch)? {
                None => return Ok(Read::Nothing),
                // The wakeup, or the end of the pending read.
                Some(0 | 1) => {}
                Some(_) => return Ok(Read::Watched),
            }
        }
    }

    /// Blocks until a read would not block. Returns at once if the stream has ended.
    pub(crate) fn wait_for_input(&self) -> io::Result<()> {
        // Reading nothing begins a read, if none is pending.
        if self.has_ended() || self.try_read(&mut [])? != Got::Pending {
            return Ok(());
        }
        self.wait(None, None).map(drop)
    }

    /// Returns the number of bytes that can be read without blocking. Returns 0 if the number is
    /// unknown.
    pub(crate) fn available(&self) -> usize {
        match &self.source {
            Source::Own(transfer) => transfer.available(),
            Source::Given(_) => 0,
        }
    }

    /// Ends the stream: a read in progress returns, and later reads never block.
    pub(crate) fn end(&self) {
        // The flag is set first. Otherwise a reader would report that the peer ended the stream.
        self.ended.store(true, Ordering::SeqCst);
        self.wake.fire();
        match &self.source {
            Source::Own(transfer) => transfer.channel().shut(Shutdown::Both),
            Source::Given(helper) => helper.stop(),
        }
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::SeqCst)
    }

    fn read_after_end(&self, room: &mut [u8]) -> io::Result<Read> {
        let left = self.left_after_end.load(Ordering::Relaxed);
        let wanted = room.len().min(left);
        if wanted == 0 {
            return Ok(Read::End);
        }
        match self.try_read(&mut room[..wanted]) {
            Ok(Got::Bytes(count)) if count > 0 => {
                self.left_after_end.store(left - count, Ordering::Relaxed);
                Ok(Read::Bytes(count))
            }
            _ => Ok(Read::End),
        }
    }

    /// Waits for the wakeup (0), the pending read (1), or the watched handle (2).
    fn wait(&self, deadline: Option<Instant>, watch: Option<HANDLE>) -> io::Result<Option<usize>> {
        let event = match &self.source {
            Source::Own(transfer) => transfer.event(),
            Source::Given(helper) => helper.event(),
        };
        let all = [self.wake.raw(), event, watch.unwrap_or_default()];
        let count = if watch.is_some() { 3 } else { 2 };
        fd::wait(&all[..count], deadline)
    }

    fn try_read(&self, room: &mut [u8]) -> io::Result<Got> {
        match &self.source {
            Source::Own(transfer) => transfer.read(room),
            Source::Given(helper) => helper.read(room),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write as _;
    use std::sync::Arc;

    use super::*;

    const SOON: Option<Duration> = Some(Duration::from_millis(20));

    fn text(end: &ReadEnd) -> String {
        let mut room = [0; 100];
        match end.read(&mut room, None, None).expect("a pipe can be read") {
            Read::Bytes(count) => String::from_utf8_lossy(&room[..count]).into_owned(),
            other => format!("{other:?}"),
        }
    }

    /// Returns read ends of two kinds, each with the file that writes to it.
    fn ends() -> [(ReadEnd, File); 2] {
        let (own, writer) = ReadEnd::pipe().expect("handles");
        let (reader, other) = io::pipe().expect("handles");
        let given =
            ReadEnd::given(reader.into(), &|work| Ok(std::thread::spawn(work))).expect("a thread");
        [
            (own, writer.into()),
            (given, OwnedHandle::from(other).into()),
        ]
    }

    #[test]
    fn nothing_is_lost_when_a_patience_runs_out_and_the_end_is_seen() {
        for (end, mut writer) in ends() {
            let nothing = end.read(&mut [0; 9], SOON, None).expect("a wait");
            assert!(matches!(nothing, Read::Nothing), "{nothing:?}");
            writer.write_all(b"late").expect("there is room");
            assert_eq!(text(&end), "late");
            drop(writer);
            assert_eq!(text(&end), "End");
            assert_eq!(text(&end), "End");
        }
    }

    #[test]
    fn a_watched_handle_ends_the_wait() {
        for (end, mut writer) in ends() {
            let watched = fd::event().expect("a handle");
            fd::set(&watched);
            use std::os::windows::io::AsHandle as _;
            let read = end.read(&mut [0; 9], None, Some(watched.as_handle()));
            assert!(matches!(read.expect("a wait"), Read::Watched));
            writer.write_all(b"later").expect("there is room");
            assert_eq!(text(&end), "later");
        }
    }

    #[test]
    fn an_end_from_another_thread_wakes_the_reader() {
        for round in 0..20 {
            for (end, _writer) in ends() {
                let end = Arc::new(end);
                let reader = Arc::clone(&end);
                let reader = std::thread::spawn(move || text(&reader));
                if round % 2 == 0 {
                    std::thread::yield_now();
                }
                end.end();
                assert_eq!(reader.join().expect("it ends"), "End");
            }
        }
    }

    #[test]
    fn what_arrived_before_the_end_can_be_read_from_an_own_pipe() {
        let [(own, mut writer), (given, mut other)] = ends();
        assert_eq!(own.available(), 0);
        own.read(&mut [0; 9], SOON, None).expect("a read begins");
        for writer in [&mut writer, &mut other] {
            writer.write_all(b"early").expect("there is room");
        }
        assert_eq!(own.available(), 5);
        own.wait_for_input().expect("a wait");
        own.end();
        given.end();
        assert_eq!((text(&own), text(&given)), ("early".into(), "End".into()));
        assert_eq!(text(&own), "End");
    }
}
