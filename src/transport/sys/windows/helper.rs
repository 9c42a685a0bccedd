//! Transfers on handles of the host. Calls on such a handle may block, so a thread makes the calls.
//!
//! A handle that was not opened for overlapped transfers has no read or write with a timeout. Such
//! a handle can't be opened again either. So each end of such a stream has a thread
//! (`mcplink-stream`). The thread makes one call at a time, when a reader or writer requests it.
//!
//! **Threads.** [`Helper::stop`] cancels the call in progress and joins the thread. A call that the
//! system can't cancel, such as a read from some consoles, keeps its thread until it returns.

use std::io;
use std::os::windows::io::{AsRawHandle as _, OwnedHandle};
use std::ptr;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use windows_sys::Win32::Foundation::{
    ERROR_BROKEN_PIPE, ERROR_HANDLE_EOF, ERROR_IO_PENDING, HANDLE,
};
use windows_sys::Win32::Storage::FileSystem::{FILE_TYPE_PIPE, GetFileType, ReadFile, WriteFile};
use windows_sys::Win32::System::IO::{
    CancelIoEx, CancelSynchronousIo, GetOverlappedResult, OVERLAPPED,
};

use super::fd;
use super::overlapped::Got;
use crate::sync::{Condvar, Mutex};
use crate::transport::sys::start_thread::StartThread;

/// The size of the buffer, in bytes.
const SIZE: usize = 64 << 10;
/// The maximum time that [`Helper::stop`] waits for the thread.
const PATIENCE: Duration = Duration::from_secs(1);

/// The thread of one end of a stream.
#[derive(Debug)]
pub(super) struct Helper {
    shared: Arc<Shared>,
    /// The handle of the thread, until the thread is joined.
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug)]
struct Shared {
    handle: OwnedHandle,
    is_read: bool,
    /// The event that is signaled when no call is requested or in progress.
    event: OwnedHandle,
    /// Invariant: while `call` is [`Call::Running`], the thread has the buffer.
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    buffer: Vec<u8>,
    call: Call,
    stopped: bool,
}

#[derive(Debug)]
enum Call {
    Idle,
    /// A call that moves at most this many bytes was requested.
    Wanted(usize),
    Running,
    Done(io::Result<usize>),
    /// The bytes in this range of the buffer were read, but not yet copied to a caller of
    /// [`Helper::read`].
    Full(usize, usize),
}

impl Helper {
    /// Starts, with `start`, the thread that reads from the handle, or writes to it.
    pub(super) fn start(
        handle: OwnedHandle,
        is_read: bool,
        start: StartThread<'_>,
    ) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            handle,
            is_read,
            event: fd::event()?,
            state: Mutex::new(State {
                buffer: vec![0; SIZE],
                call: Call::Idle,
                stopped: false,
            }),
            changed: Condvar::new(),
        });
        let (of_thread, event) = (Arc::clone(&shared), fd::event()?);
        let thread = start(Box::new(move || of_thread.run(&event)));
        let thread = thread.map_err(|error| io::Error::other(error.to_string()))?;
        Ok(Self {
            shared,
            thread: Mutex::new(Some(thread)),
        })
    }

    pub(super) fn event(&self) -> HANDLE {
        self.shared.event.as_raw_handle()
    }

    /// Copies available bytes to `room`. If none are available, requests a read, unless a read was
    /// requested already.
    pub(super) fn read(&self, room: &mut [u8]) -> io::Result<Got> {
        let mut state = self.shared.state.lock();
        match std::mem::replace(&mut state.call, Call::Idle) {
            Call::Done(Ok(0)) => return Ok(Got::End),
            Call::Done(Ok(count)) => state.call = Call::Full(0, count),
            Call::Done(Err(error)) => return Err(error),
            other => state.call = other,
        }
        match state.call {
            Call::Full(from, to) => {
                let count = room.len().min(to - from);
                room[..count].copy_from_slice(&state.buffer[from..from + count]);
                state.call = match from + count {
                    end if end == to => Call::Idle,
                    end => Call::Full(end, to),
                };
                return Ok(Got::Bytes(count));
            }
            Call::Idle if state.stopped => return Ok(Got::End),
            Call::Idle => self.request(&mut state, SIZE),
            _ => {}
        }
        Ok(Got::Pending)
    }

    /// Requests a write of as many bytes as the buffer holds, and returns their number. Call it
    /// only when [`is_idle`](Self::is_idle) has returned true.
    pub(super) fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.shared.state.lock();
        if state.stopped {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let count = bytes.len().min(SIZE);
        state.buffer[..count].copy_from_slice(&bytes[..count]);
        self.request(&mut state, count);
        Ok(count)
    }

    /// Whether no write is pending. Fails when the last write has failed.
    pub(super) fn is_idle(&self) -> io::Result<bool> {
        let mut state = self.shared.state.lock();
        match std::mem::replace(&mut state.call, Call::Idle) {
            Call::Done(result) => result.map(|_| true),
            Call::Idle => Ok(true),
            other => {
                state.call = other;
                Ok(false)
            }
        }
    }

    fn request(&self, state: &mut State, len: usize) {
        fd::reset(&self.shared.event);
        state.call = Call::Wanted(len);
        self.shared.changed.notify_all();
    }

    /// Ends the thread, and cancels a call in progress. If that call is a write, an unknown part of
    /// its bytes was written.
    pub(super) fn stop(&self) {
        self.shared.state.lock().stopped = true;
        self.shared.changed.notify_all();
        let Some(thread) = self.thread.lock().take() else {
            return;
        };
        let deadline = Instant::now() + PATIENCE;
        loop {
            // A call that has not begun yet can't be cancelled, so the attempt is repeated.
            // SAFETY: both handles are open. The calls affect only this thread and this handle.
            unsafe {
                CancelSynchronousIo(thread.as_raw_handle());
                CancelIoEx(self.shared.handle.as_raw_handle(), ptr::null());
            }
            let soon = Some(Instant::now() + Duration::from_millis(1));
            if let Ok(Some(_)) = fd::wait(&[thread.as_raw_handle()], soon) {
                // The thread does not panic.
                _ = thread.join();
                return;
            }
            if Instant::now() >= deadline {
                // The thread is not joined: the system can't cancel its call. It ends when the call
                // returns, and owns all that it uses.
                return;
            }
        }
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    /// Makes the requested calls until the helper is stopped. The system signals `event` when a
    /// call on an overlapped handle is complete.
    fn run(&self, event: &OwnedHandle) {
        loop {
            let mut state = self.state.lock();
            let len = loop {
                if state.stopped {
                    return;
                }
                if let Call::Wanted(len) = state.call {
                    break len;
                }
                state = self.changed.wait(state);
            };
            state.call = Call::Running;
            let mut buffer = std::mem::take(&mut state.buffer);
            drop(state);
            let mut result = Ok(0);
            let mut done = 0;
            while done < len {
                result = self.call(&mut buffer[done..len], event);
                match result {
                    // A write may move a part of the bytes.
                    Ok(count) if count > 0 && !self.is_read => done += count,
                    _ => break,
                }
            }
            let mut state = self.state.lock();
            state.buffer = buffer;
            state.call = Call::Done(result);
            fd::set(&self.event);
        }
    }

    /// Makes one blocking call. Returns 0 at the end of the input.
    fn call(&self, buffer: &mut [u8], event: &OwnedHandle) -> io::Result<usize> {
        let handle = self.handle.as_raw_handle();
        // SAFETY: an `OVERLAPPED` is plain data, for which zeros are valid.
        let mut overlapped: OVERLAPPED = unsafe { std::mem::zeroed() };
        overlapped.hEvent = event.as_raw_handle();
        // SAFETY: the handle is open.
        let is_pipe = unsafe { GetFileType(handle) } == FILE_TYPE_PIPE;
        // The parent of this process may have opened the pipe for overlapped transfers. For a file,
        // the system would take the offset from `overlapped`.
        let with = match is_pipe {
            true => &raw mut overlapped,
            false => ptr::null_mut(),
        };
        let (len, mut count) = (buffer.len() as u32, 0);
        // SAFETY: the handle is open and the buffer is valid for `len` bytes. The function does not
        // return before the transfer is complete.
        let mut result = fd::check(unsafe {
            match self.is_read {
                true => ReadFile(handle, buffer.as_mut_ptr(), len, &raw mut count, with),
                false => WriteFile(handle, buffer.as_ptr(), len, &raw mut count, with),
            }
        });
        if result
            .as_ref()
            .is_err_and(|error| is(error, ERROR_IO_PENDING))
        {
            // SAFETY: the transfer was begun with this `overlapped`. The call waits for its end.
            result = fd::check(unsafe { GetOverlappedResult(handle, with, &raw mut count, 1) });
        }
        match result {
            Ok(()) => Ok(count as usize),
            Err(error)
                if self.is_read
                    && (is(&error, ERROR_BROKEN_PIPE) || is(&error, ERROR_HANDLE_EOF)) =>
            {
                Ok(0)
            }
            Err(error) => Err(error),
        }
    }
}

fn is(error: &io::Error, code: u32) -> bool {
    error.raw_os_error() == Some(code as i32)
}
