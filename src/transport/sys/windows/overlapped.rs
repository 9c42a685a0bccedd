//! Overlapped transfers: a read or write that goes on while no thread waits for it.
//!
//! A transfer has a buffer of its own, and is never cancelled when a deadline passes. A cancelled
//! read or write can't tell how many bytes it has moved. So the transfer stays pending, and a later
//! call finds its result. Bytes in the buffer of a write count as sent, like bytes in the send
//! buffer of a socket.
//!
//! **Invariant:** while the system may use the block of a transfer, this process neither reads,
//! writes nor frees the block. Dropping a transfer cancels it and waits for the system.

use std::io;
use std::net::Shutdown;
use std::os::windows::io::{AsRawHandle as _, AsRawSocket as _, OwnedHandle, OwnedSocket};
use std::ptr;

use windows_sys::Win32::Foundation::{
    ERROR_BROKEN_PIPE, ERROR_IO_INCOMPLETE, ERROR_IO_PENDING, ERROR_NETNAME_DELETED, HANDLE,
};
use windows_sys::Win32::Networking::WinSock::{
    SD_BOTH, SD_RECEIVE, SD_SEND, SOCKET, WSABUF, WSARecv, WSASend, shutdown,
};
use windows_sys::Win32::Storage::FileSystem::{ReadFile, WriteFile};
use windows_sys::Win32::System::IO::{CancelIoEx, GetOverlappedResult, OVERLAPPED};
use windows_sys::Win32::System::Pipes::PeekNamedPipe;

use super::fd::{self, PIPE_SIZE};
use crate::sync::Mutex;

/// The pipe or socket of a transfer. It must have been opened for overlapped transfers.
#[derive(Debug)]
pub(super) enum Channel {
    Pipe(OwnedHandle),
    Socket(OwnedSocket),
}

impl Channel {
    fn handle(&self) -> HANDLE {
        match self {
            Self::Pipe(pipe) => pipe.as_raw_handle(),
            Self::Socket(socket) => socket.as_raw_socket() as usize as HANDLE,
        }
    }

    /// Shuts a socket down in one or both directions. Has no effect on a pipe.
    pub(super) fn shut(&self, how: Shutdown) {
        let how = match how {
            Shutdown::Read => SD_RECEIVE,
            Shutdown::Write => SD_SEND,
            Shutdown::Both => SD_BOTH,
        };
        if let Self::Socket(socket) = self {
            // SAFETY: the socket is open. The call can only fail if the peer has ended the socket.
            unsafe { shutdown(socket.as_raw_socket() as SOCKET, how) };
        }
    }
}

/// The result of a read that does not block.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Got {
    Bytes(usize),
    End,
    Pending,
}

/// The memory of a transfer that the system uses while the transfer is pending.
struct Block {
    overlapped: OVERLAPPED,
    buffer: Vec<u8>,
}

/// The state of a transfer.
struct State {
    /// The block, from `Box::into_raw`. A `Box` would promise the compiler that no other pointer to
    /// the block is used, but the system uses one.
    block: *mut Block,
    phase: Phase,
}

// SAFETY: the block belongs to this value alone, and any thread may use and free it.
unsafe impl Send for State {}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.phase.fmt(f)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Idle,
    /// The system uses the block, to move this many bytes at most.
    Pending(usize),
    /// The bytes in this range of the buffer were read, but not yet copied to a caller of
    /// [`Transfer::read`].
    Full(usize, usize),
}

/// A transfer in one direction.
#[derive(Debug)]
pub(super) struct Transfer {
    channel: Channel,
    /// The event that is signaled when the transfer is complete.
    event: OwnedHandle,
    state: Mutex<State>,
}

impl Transfer {
    pub(super) fn new(channel: Channel) -> io::Result<Self> {
        let event = fd::event()?;
        // SAFETY: an `OVERLAPPED` is plain data, for which zeros are valid.
        let overlapped = unsafe { std::mem::zeroed() };
        let buffer = vec![0; PIPE_SIZE as usize];
        let block = Box::into_raw(Box::new(Block { overlapped, buffer }));
        let phase = Phase::Idle;
        Ok(Self {
            channel,
            event,
            state: Mutex::new(State { block, phase }),
        })
    }

    pub(super) fn event(&self) -> HANDLE {
        self.event.as_raw_handle()
    }

    pub(super) fn channel(&self) -> &Channel {
        &self.channel
    }

    /// Copies available bytes to `room`. If none are available, begins a read, unless a read is
    /// pending. Returns [`Got::End`] instead of an error when all writers have closed the pipe.
    pub(super) fn read(&self, room: &mut [u8]) -> io::Result<Got> {
        let mut state = self.state.lock();
        loop {
            match state.phase {
                Phase::Full(from, to) => {
                    let count = room.len().min(to - from);
                    // SAFETY: no transfer is pending, so the block is not in use by the system.
                    let buffer = unsafe { &(*state.block).buffer };
                    room[..count].copy_from_slice(&buffer[from..from + count]);
                    state.phase = match from + count {
                        end if end == to => Phase::Idle,
                        end => Phase::Full(end, to),
                    };
                    return Ok(Got::Bytes(count));
                }
                Phase::Idle => {
                    let begun = self.begin(&mut state, PIPE_SIZE as usize, true);
                    if is_end(&begun) {
                        return Ok(Got::End);
                    }
                    begun?;
                }
                Phase::Pending(_) => {
                    let count = self.complete(&mut state);
                    if is_end(&count) {
                        return Ok(Got::End);
                    }
                    match count? {
                        None => return Ok(Got::Pending),
                        Some(0) if matches!(self.channel, Channel::Socket(_)) => {
                            return Ok(Got::End);
                        }
                        // The peer has written 0 bytes to the pipe, which means nothing.
                        Some(0) => {}
                        Some(count) => state.phase = Phase::Full(0, count),
                    }
                }
            }
        }
    }

    /// Returns the number of bytes that can be read without blocking. Returns 0 if the number is
    /// unknown.
    pub(super) fn available(&self) -> usize {
        let mut state = self.state.lock();
        if let (Phase::Pending(_), Ok(Some(count))) = (state.phase, self.peek(&state)) {
            state.phase = Phase::Full(0, count);
        }
        let taken = match state.phase {
            Phase::Full(from, to) => to - from,
            _ => 0,
        };
        let mut left = 0;
        let (handle, null) = (self.channel.handle(), ptr::null_mut());
        // SAFETY: the handle is open; only the pointer to the number is not null. If the call
        // fails, the number stays 0.
        unsafe {
            PeekNamedPipe(
                handle,
                null,
                0,
                ptr::null_mut(),
                &raw mut left,
                ptr::null_mut(),
            )
        };
        taken + left as usize
    }

    /// Begins to write as many bytes as the buffer holds, and returns their number. Call it only
    /// when [`is_idle`](Self::is_idle) has returned true.
    pub(super) fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.state.lock();
        let count = bytes.len().min(PIPE_SIZE as usize);
        debug_assert_eq!(state.phase, Phase::Idle);
        // SAFETY: no transfer is pending, so the block is not in use by the system.
        let buffer = unsafe { &mut (*state.block).buffer };
        buffer[..count].copy_from_slice(&bytes[..count]);
        self.begin(&mut state, count, false)?;
        Ok(count)
    }

    /// Whether no write is pending. Fails when the last write has failed.
    pub(super) fn is_idle(&self) -> io::Result<bool> {
        let mut state = self.state.lock();
        let Phase::Pending(wanted) = state.phase else {
            return Ok(true);
        };
        match self.complete(&mut state)? {
            None => Ok(false),
            Some(count) if count == wanted => Ok(true),
            Some(_) => Err(io::ErrorKind::WriteZero.into()),
        }
    }

    /// Begins a transfer of `len` bytes of the buffer. The transfer becomes pending even if the
    /// system completes it at once.
    fn begin(&self, state: &mut State, len: usize, is_read: bool) -> io::Result<()> {
        let len = len as u32;
        // SAFETY: no transfer is pending, so the block is not in use by the system.
        let (overlapped, buffer) = unsafe {
            let block = state.block;
            (*block).overlapped = std::mem::zeroed();
            (*block).overlapped.hEvent = self.event.as_raw_handle();
            (&raw mut (*block).overlapped, (*block).buffer.as_mut_ptr())
        };
        let done = ptr::null_mut();
        let is_begun = match &self.channel {
            Channel::Pipe(pipe) => {
                let pipe = pipe.as_raw_handle();
                // SAFETY: the handle is open; the buffer has that many bytes. It and `overlapped`
                // stay in place until the transfer is complete.
                unsafe {
                    match is_read {
                        true => ReadFile(pipe, buffer, len, done, overlapped) != 0,
                        false => WriteFile(pipe, buffer, len, done, overlapped) != 0,
                    }
                }
            }
            Channel::Socket(socket) => {
                let socket = socket.as_raw_socket() as SOCKET;
                let (part, mut flags) = (WSABUF { len, buf: buffer }, 0);
                // SAFETY: the socket is open; the system copies `part` and `flags`. The buffer has
                // that many bytes. It and `overlapped` stay in place until the transfer is
                // complete.
                unsafe {
                    match is_read {
                        true => WSARecv(socket, &part, 1, done, &mut flags, overlapped, None) == 0,
                        false => WSASend(socket, &part, 1, done, 0, overlapped, None) == 0,
                    }
                }
            }
        };
        if !is_begun {
            let error = io::Error::last_os_error();
            if error.raw_os_error() != Some(ERROR_IO_PENDING as i32) {
                return Err(error);
            }
        }
        state.phase = Phase::Pending(len as usize);
        Ok(())
    }

    /// Returns the number of bytes that a pending transfer has moved, and makes the transfer idle.
    /// Returns `None` while the system still moves bytes.
    fn complete(&self, state: &mut State) -> io::Result<Option<usize>> {
        let result = self.peek(state);
        if !matches!(result, Ok(None)) {
            state.phase = Phase::Idle;
        }
        result
    }

    fn peek(&self, state: &State) -> io::Result<Option<usize>> {
        // SAFETY: the address of the field is computed without reading the block.
        let overlapped = unsafe { &raw const (*state.block).overlapped };
        let mut count = 0;
        // SAFETY: the handle is open, and the transfer was begun with this `overlapped`.
        let result =
            unsafe { GetOverlappedResult(self.channel.handle(), overlapped, &raw mut count, 0) };
        match fd::check(result) {
            Ok(()) => Ok(Some(count as usize)),
            Err(error) => match error.raw_os_error().map(|code| code as u32) {
                Some(ERROR_IO_INCOMPLETE) => Ok(None),
                // The peer has reset the socket.
                Some(ERROR_NETNAME_DELETED) => {
                    Err(io::Error::new(io::ErrorKind::ConnectionReset, error))
                }
                _ => Err(error),
            },
        }
    }
}

/// Whether a read has failed because all writers have closed the pipe.
fn is_end<T>(result: &io::Result<T>) -> bool {
    let code = result.as_ref().err().and_then(io::Error::raw_os_error);
    code == Some(ERROR_BROKEN_PIPE as i32)
}

impl Drop for Transfer {
    fn drop(&mut self) {
        let state = self.state.lock();
        if let Phase::Pending(_) = state.phase {
            let (handle, mut count) = (self.channel.handle(), 0);
            // SAFETY: the handle is open, and the transfer was begun with this `overlapped`. The
            // second call returns when the system no longer uses the block. If the first call finds
            // no transfer, then the transfer is complete.
            unsafe {
                let overlapped = &raw const (*state.block).overlapped;
                CancelIoEx(handle, overlapped);
                GetOverlappedResult(handle, overlapped, &raw mut count, 1);
            }
        }
        // SAFETY: the block comes from `Box::into_raw`, is freed once, and no transfer is pending.
        drop(unsafe { Box::from_raw(state.block) });
    }
}
