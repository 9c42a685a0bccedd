//! Transports of the host: the host receives and sends the bytes itself.
//!
//! **Invariant:** callbacks of the host run without a lock. `running` is incremented in the
//! critical section that checks `is_freed`. Freeing sets `is_freed` under the lock and then waits
//! until `running` is zero. So no callback runs, and none starts, after the transport was freed.

use std::collections::VecDeque;
use std::ffi::{c_char, c_void};
use std::io;
use std::sync::Arc;

use super::entry::{Outcome, ffi, value};
use super::error::{Failure, mcplink_error_t};
use super::handle::{Gate, Handled, free_handle, into_raw};
use super::status::{mcplink_status, mcplink_status_t};
use super::text::{self, missing, optional};
use super::user::{UserData, call_back, mcplink_destroy_fn, mcplink_notify_fn};
use crate::cffi::handle::entering;
use crate::error::{Error, ErrorKind};
use crate::sync::{Condvar, Mutex, MutexGuard};
use crate::transport::{Stream, Transport, memory};

/// The maximum number of bytes that were fed and are not read yet. If all fed bytes are read, one
/// feed may be longer.
const MAX_FED: usize = 16 << 20;

/// A transport of the host, for example over the host's own sockets, a web view, or a serial line.
///
/// Each message is one line. The library finds the lines in the bytes that the host feeds, however
/// the bytes are split. One transport serves one connection: pass the transport once, to
/// mcplink_client_options_set_transport or mcplink_server_attach. For a client and a server in one
/// process see mcplink_transport_pair.
pub struct mcplink_transport_t {
    gate: Gate,
    pipe: Arc<Pipe>,
}

handle!(mcplink_transport_t is Transport);

/// Sends bytes to the peer: all of them, in order. The function runs on any thread that sends, on
/// one thread at a time, and should not block for long.
///
/// bytes, len: the bytes, valid until the function returns.
/// Returns: MCPLINK_OK; any other status ends the connection: see mcplink_transport_set_close.
pub type mcplink_send_fn = Option<
    unsafe extern "C-unwind" fn(
        user: *mut c_void,
        bytes: *const c_void,
        len: usize,
    ) -> mcplink_status_t,
>;

/// The state shared by the handle of a transport and the connection of the transport.
struct Pipe {
    number: u64,
    state: Mutex<State>,
    /// Notified when bytes were fed, and when the input has ended.
    fed: Condvar,
    /// Notified when a callback of the host has returned.
    returned: Condvar,
}

struct State {
    /// The user data of the callbacks; `None` once the transport is freed.
    user: Option<UserData>,
    /// The number of callbacks of the host that run at the moment.
    running: usize,
    send: mcplink_send_fn,
    close: mcplink_notify_fn,
    room: mcplink_notify_fn,
    bytes: VecDeque<u8>,
    /// True if bytes were refused since the host was last notified that the transport accepts
    /// bytes.
    refused: bool,
    /// `None` until the input ends. The inner value is the reason if the input failed, and `None`
    /// if the peer closed the connection normally.
    end: Option<Option<String>>,
    /// The end of an in-memory connection that the transport is, until a connection takes it.
    /// `None` for a transport whose bytes the host sends.
    memory: Option<Box<dyn Transport>>,
    /// True for the ends of an in-memory connection.
    is_pair: bool,
    is_used: bool,
    is_closed: bool,
    is_freed: bool,
}

impl State {
    /// Fails for an end of an in-memory connection, whose input comes from the other end.
    fn check_fed_by_host(&self) -> Outcome<()> {
        if self.is_pair {
            let text =
                "the transport is an end of mcplink_transport_pair: its peer is the other end";
            return Err(Error::new(ErrorKind::State, text).into());
        }
        Ok(())
    }
}

impl Pipe {
    /// Makes the shared state of the transport with this number.
    fn new(number: u64, user: UserData) -> Arc<Self> {
        let state = State {
            user: Some(user),
            running: 0,
            send: None,
            close: None,
            room: None,
            bytes: VecDeque::new(),
            refused: false,
            end: None,
            memory: None,
            is_pair: false,
            is_used: false,
            is_closed: false,
            is_freed: false,
        };
        Arc::new(Self {
            number,
            state: Mutex::new(state),
            fed: Condvar::new(),
            returned: Condvar::new(),
        })
    }

    /// Runs a callback of the host, unless the callback is `None` or the transport is freed. The
    /// caller passes the lock under which it chose the callback. The lock is released before the
    /// callback runs.
    fn call<F, R>(
        &self,
        mut state: MutexGuard<'_, State>,
        callback: Option<F>,
        run: impl FnOnce(F, *mut c_void) -> R,
    ) -> Option<R> {
        let callback = callback.filter(|_| !state.is_freed)?;
        let user = state.user.as_ref()?.ptr();
        state.running += 1;
        drop(state);
        let result = call_back(self.number, || run(callback, user));
        let mut state = self.state.lock();
        state.running -= 1;
        self.returned.notify_all();
        result
    }

    fn feed(&self, bytes: &[u8]) -> Outcome<()> {
        let mut state = self.state.lock();
        state.check_fed_by_host()?;
        if state.is_closed || state.end.is_some() {
            let text = "the transport has ended: nothing more is read";
            return Err(Error::new(ErrorKind::Closed, text).into());
        }
        if !state.bytes.is_empty() && state.bytes.len() + bytes.len() > MAX_FED {
            state.refused = true;
            let text = format!(
                "{} bytes were fed and not read yet: feed these again when there is room",
                state.bytes.len()
            );
            return Err(Error::new(ErrorKind::Limit, text).into());
        }
        state.bytes.extend(bytes);
        self.fed.notify_all();
        Ok(())
    }

    fn end(&self, reason: Option<String>) -> Outcome<()> {
        let mut state = self.state.lock();
        state.check_fed_by_host()?;
        state.end.get_or_insert(reason);
        self.fed.notify_all();
        Ok(())
    }

    /// Blocks until bytes were fed, and reads them. Returns 0 at the end of the input.
    fn read(&self, room: &mut [u8]) -> io::Result<usize> {
        let mut state = self.state.lock();
        let count = loop {
            if state.is_closed {
                return Ok(0);
            }
            if !state.bytes.is_empty() {
                let (first, _) = state.bytes.as_slices();
                let count = first.len().min(room.len());
                room[..count].copy_from_slice(&first[..count]);
                state.bytes.drain(..count);
                break count;
            }
            match &state.end {
                Some(None) => return Ok(0),
                Some(Some(reason)) => {
                    let reason = reason.clone();
                    return Err(io::Error::new(io::ErrorKind::ConnectionAborted, reason));
                }
                None => state = self.fed.wait(state),
            }
        };
        if state.bytes.is_empty() {
            // Releases the memory of a large burst.
            state.bytes.shrink_to(64 << 10);
        }
        let notifies = state.refused && state.bytes.len() <= MAX_FED / 2;
        let callback = state.room.filter(|_| notifies);
        if notifies {
            state.refused = false;
        }
        // SAFETY: the header requires valid arguments.
        self.call(state, callback, |callback, user| unsafe { callback(user) });
        Ok(count)
    }

    fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        let state = self.state.lock();
        let callback = state.send.filter(|_| !state.is_closed);
        // SAFETY: the header requires valid arguments.
        let status = self.call(state, callback, |callback, user| unsafe {
            callback(user, bytes.as_ptr().cast(), bytes.len())
        });
        match status {
            Some(status) if status == mcplink_status::MCPLINK_OK.code() => Ok(bytes.len()),
            Some(status) => {
                let text = format!("the send function of the transport returned {status}");
                Err(io::Error::other(text))
            }
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// Ends reading and writing, and notifies the host once.
    fn close(&self) {
        let mut state = self.state.lock();
        if std::mem::replace(&mut state.is_closed, true) {
            return;
        }
        let callback = state.close;
        self.fed.notify_all();
        // SAFETY: the header requires valid arguments.
        self.call(state, callback, |callback, user| unsafe { callback(user) });
    }

    /// Closes the transport and prevents further callbacks. Does not wait for running callbacks.
    fn abandon(&self) {
        self.close();
        self.state.lock().is_freed = true;
    }

    /// Closes the transport and waits until its running callbacks have returned. Must not be called
    /// in one of these callbacks, because the callback would wait for itself.
    fn leave(&self) {
        self.abandon();
        let mut state = self.state.lock();
        while state.running > 0 {
            state = self.returned.wait(state);
        }
        let user = state.user.take();
        let end = state.memory.take();
        drop(state);
        // Dropping an unused end closes the connection for the other end.
        drop(end);
        // The host's `destroy` must run without a lock of this library.
        drop(user);
    }
}

/// The reader and the writer of a connection over a transport of the host.
struct End(Arc<Pipe>);

impl io::Read for End {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        self.0.read(room)
    }
}

impl io::Write for End {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A reference to a host's transport, which makes the connection when a client or session needs it.
/// If the host has freed the transport by then, making the connection fails.
#[derive(Clone)]
pub(super) struct Connector(Arc<Pipe>);

impl mcplink_transport_t {
    pub(super) fn connector(&self) -> Connector {
        Connector(Arc::clone(&self.pipe))
    }
}

impl Connector {
    /// Returns the number of the transport's handle.
    pub(super) fn number(&self) -> u64 {
        self.0.number
    }

    /// Returns the transport for the connection. Further calls of this function fail, because a
    /// transport serves one connection.
    pub(super) fn connect(&self) -> Outcome<Box<dyn Transport>> {
        let mut state = self.0.state.lock();
        if let Some(end) = state.memory.take() {
            state.is_used = true;
            return Ok(end);
        }
        let fault = if state.send.is_none() && !state.is_pair {
            "the transport has no send function: see mcplink_transport_set_send"
        } else if state.is_freed {
            "the transport was freed"
        } else if state.is_used {
            "the transport serves another connection already: make one for each"
        } else {
            state.is_used = true;
            drop(state);
            let closing = Arc::clone(&self.0);
            let ends = (End(Arc::clone(&self.0)), End(Arc::clone(&self.0)));
            let stream = Stream::with_closer(ends.0, ends.1, move || closing.close());
            return Ok(Box::new(stream.named("the host's transport")));
        };
        Err(Error::new(ErrorKind::State, fault).into())
    }
}

impl Handled for mcplink_transport_t {
    fn begin_close(&self) {
        self.pipe.abandon();
    }

    fn close(&self) {
        self.pipe.leave();
    }
}

/// Makes a transport. The transport needs a send function: see mcplink_transport_set_send.
///
/// user, destroy: passed to the functions of the transport; destroy runs when the transport is
/// freed.
/// Returns: the transport. The caller owns it and frees it with mcplink_transport_free.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_transport_new(
    user: *mut c_void,
    destroy: mcplink_destroy_fn,
) -> *mut mcplink_transport_t {
    let user = UserData::new(user, destroy);
    value(std::ptr::null_mut(), || {
        let gate = Gate::new();
        let pipe = Pipe::new(gate.number(), user);
        into_raw(mcplink_transport_t { gate, pipe })
    })
}

/// Makes two transports, each of which is the peer of the other, for a client and a server in one
/// process: for tests, or without another process. Messages are passed in memory.
///
/// Pass one to mcplink_client_options_set_transport, and the other to mcplink_server_attach. The
/// connection ends when either side closes it. Freeing a transport that is in use does not end the
/// connection; freeing one that is not in use ends it for the other side.
///
/// first, second: receive the transports, NULL on failure. The caller owns both and frees each with
/// mcplink_transport_free.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_transport_pair(
    first: *mut *mut mcplink_transport_t,
    second: *mut *mut mcplink_transport_t,
    err: *mut *mut mcplink_error_t,
) -> mcplink_status_t {
    // SAFETY: the header requires pointers that are NULL or can be written to.
    unsafe {
        ffi(err, || {
            let outs = [first, second];
            for out in outs.iter().filter(|out| !out.is_null()) {
                out.write(std::ptr::null_mut());
            }
            if first.is_null() || second.is_null() {
                return Err(missing("out").into());
            }
            let (here, there) = memory::pair();
            first.write(end_of_pair(here));
            second.write(end_of_pair(there));
            Ok(mcplink_status::MCPLINK_OK)
        })
    }
}

fn end_of_pair(end: memory::Memory) -> *mut mcplink_transport_t {
    let gate = Gate::new();
    let none = UserData::new(std::ptr::null_mut(), None);
    let pipe = Pipe::new(gate.number(), none);
    let mut state = pipe.state.lock();
    state.memory = Some(Box::new(end));
    state.is_pair = true;
    drop(state);
    into_raw(mcplink_transport_t { gate, pipe })
}

actions! {
    entering(transport: mcplink_transport_t);

    /// Feeds bytes that the peer sent, split anywhere. The bytes are queued until the connection
    /// reads them.
    ///
    /// bytes, len: the bytes, which are copied.
    /// Returns: MCPLINK_OK; MCPLINK_E_LIMIT when bytes are queued already and the total would
    /// exceed 16 MiB: then none of these bytes was accepted, so feed the same bytes again later,
    /// see mcplink_transport_set_ready; MCPLINK_E_CLOSED after mcplink_transport_feed_end and after
    /// the connection has ended; MCPLINK_E_STATE for an end of mcplink_transport_pair.
    /// Threads: any, before and after the connection is made; the caller must feed the bytes in
    /// order.
    #[must_use]
    fn mcplink_transport_feed(bytes: *const c_void, len: usize) {
        transport.pipe.feed(text::bytes(bytes, len, "bytes")?)?;
    }

    /// Ends the input: nothing more comes from the peer. Bytes that were fed before are still read.
    /// When all bytes have been read, a client fails its pending calls, and a session ends.
    ///
    /// reason: the cause of a failure, for the error of pending calls; NULL when the peer closed
    /// the connection normally.
    /// Returns: MCPLINK_OK, or MCPLINK_E_STATE for an end of mcplink_transport_pair.
    fn mcplink_transport_feed_end(reason: *const c_char) {
        let reason = optional(reason, "reason")?;
        transport.pipe.end(reason.map(str::to_owned))?;
    }

    /// Sets the function that sends bytes to the peer.
    ///
    /// callback: see mcplink_send_fn. The callback returns MCPLINK_E_USER when the peer can't be
    /// reached any more.
    /// Threads: any, before the connection is made.
    fn mcplink_transport_set_send(callback: mcplink_send_fn) {
        transport.change(|state| state.send = callback)?;
    }

    /// Sets a function that is called when the library has ended the connection: nothing more is
    /// sent or read. The connection ends when the client or session that uses it is closed, after
    /// mcplink_transport_feed_end, and soon after mcplink_send_fn has failed.
    ///
    /// callback: called once, by the thread that ends the connection, or by mcplink_transport_free.
    /// If mcplink_send_fn still runs on another thread, that function should return soon. The
    /// callback may free the session or client, the server and the transport. Release the shared
    /// user data in destroy, not in the callback. NULL for no callback.
    /// Threads: any, before the connection is made.
    fn mcplink_transport_set_close(callback: mcplink_notify_fn) {
        transport.change(|state| state.close = callback)?;
    }

    /// Sets a function that is called when the transport accepts bytes again, after
    /// mcplink_transport_feed returned MCPLINK_E_LIMIT.
    ///
    /// callback: called once after one or more refusals, when at most 8 MiB are still queued. The
    /// callback runs on the reader thread, and may feed bytes. NULL for no callback.
    /// Threads: any, before the connection is made.
    fn mcplink_transport_set_ready(callback: mcplink_notify_fn) {
        transport.change(|state| state.room = callback)?;
    }
}

/// Frees a transport and ends its connection. No function of the transport runs afterwards. If the
/// function is called inside a function of the transport, it returns at once: no other function of
/// the transport starts, and the transport is freed when the running function returns.
///
/// Blocks: until running functions of the transport have returned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_transport_free(transport: *mut mcplink_transport_t) {
    // SAFETY: the header requires a transport of this library, freed once.
    unsafe { free_handle(transport) }
}

impl mcplink_transport_t {
    /// Changes the functions of the transport. Fails if the transport needs none, or is used.
    fn change(&self, change: impl FnOnce(&mut State)) -> Outcome<()> {
        let mut state = self.pipe.state.lock();
        let fault = if state.is_pair {
            "the transport is an end of mcplink_transport_pair, which needs no functions"
        } else if state.is_used {
            "the transport serves a connection already: set its functions before"
        } else {
            change(&mut state);
            return Ok(());
        };
        Err(Failure::new(mcplink_status::MCPLINK_E_STATE, fault))
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use loom::thread;

    use super::*;

    /// The user data of the callbacks in these tests. Records the calls of the callbacks.
    #[derive(Default)]
    struct Host {
        freed: AtomicBool,
        /// True if a callback ran after the transport was freed.
        late: AtomicBool,
        closes: AtomicUsize,
        destroys: AtomicUsize,
    }

    impl Host {
        /// Returns the `Host` behind the user data of a callback. No callback may run after the
        /// transport was freed. If one does, this function sets `late`.
        ///
        /// # Safety
        ///
        /// `user` points to a live `Host`.
        unsafe fn seen<'a>(user: *mut c_void) -> &'a Self {
            // SAFETY: the safety contract of this function.
            let host = unsafe { &*user.cast::<Self>() };
            let is_late = host.freed.load(Ordering::SeqCst);
            host.late.fetch_or(is_late, Ordering::SeqCst);
            host
        }
    }

    unsafe extern "C-unwind" fn send(
        user: *mut c_void,
        _: *const c_void,
        _: usize,
    ) -> mcplink_status_t {
        // SAFETY: the host outlives the model's threads.
        unsafe { Host::seen(user) };
        mcplink_status::MCPLINK_OK.code()
    }

    unsafe extern "C-unwind" fn close(user: *mut c_void) {
        // SAFETY: the host outlives the model's threads.
        let host = unsafe { Host::seen(user) };
        host.closes.fetch_add(1, Ordering::SeqCst);
    }

    unsafe extern "C-unwind" fn destroy(user: *mut c_void) {
        // SAFETY: the host outlives the model's threads.
        let host = unsafe { Host::seen(user) };
        host.destroys.fetch_add(1, Ordering::SeqCst);
    }

    /// Frees a transport while another thread runs `meanwhile` on the transport.
    fn race(meanwhile: fn(&Pipe)) {
        loom::model(move || {
            let host = Box::new(Host::default());
            let user = std::ptr::from_ref(&*host).cast_mut().cast();
            let pipe = Pipe::new(1, UserData::new(user, Some(destroy)));
            pipe.state.lock().send = Some(send);
            pipe.state.lock().close = Some(close);
            let other = {
                let pipe = Arc::clone(&pipe);
                thread::spawn(move || meanwhile(&pipe))
            };
            pipe.leave();
            host.freed.store(true, Ordering::SeqCst);
            assert_eq!(host.closes.load(Ordering::SeqCst), 1, "told of the end");
            assert_eq!(host.destroys.load(Ordering::SeqCst), 1, "and ended");
            other.join().expect("no panic");
            drop(pipe);
            assert!(
                !host.late.load(Ordering::SeqCst),
                "nothing is called behind"
            );
            assert_eq!(host.closes.load(Ordering::SeqCst), 1);
            assert_eq!(host.destroys.load(Ordering::SeqCst), 1);
        });
    }

    #[test]
    fn loom_a_transport_is_freed_while_it_sends() {
        race(|pipe| _ = pipe.write(b"x"));
    }

    #[test]
    fn loom_a_transport_is_freed_while_it_is_closed() {
        race(Pipe::close);
    }
}
