//! The response path from the library to the host's own web server.
//!
//! **Invariants:** the host's functions of one exchange run one at a time and in order, and the
//! library holds no lock meanwhile. `running` is incremented in the critical section that checks
//! `freed` and `ended`. Freeing sets `freed` under the lock and then waits until `running` is zero.
//! So no function runs after `end`, nor after the exchange was freed. A response is aborted when
//! its client has disconnected, or when the host fails to send.

use std::ffi::c_void;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::head::mcplink_http_head_t;
use crate::cffi::callback_executor::CallbackExecutor;
use crate::cffi::handle::Tagged;
use crate::cffi::queue::Kind;
use crate::cffi::status::{mcplink_status, mcplink_status_t};
use crate::cffi::user::{Callback, UserData, call_back};
use crate::error::{Error, ErrorKind, Result};
use crate::sync::{Condvar, Mutex};
use crate::transport::http::{ResponseHead, ResponseWriter};

/// The maximum number of bytes of a streamed response that wait until the host dispatches its pump.
/// At the limit, a write with a deadline waits, and a write without a deadline reports that there
/// is no space.
const MAX_WAITING: usize = 256 << 10;

/// Begins a response.
///
/// head: status and header fields, valid until the callback returns.
/// length: the length of the whole body in bytes; -1 for a streamed body of unknown length.
/// Returns: MCPLINK_OK; any other status when the client has disconnected.
pub type mcplink_http_begin_fn = Option<
    unsafe extern "C-unwind" fn(
        user: *mut c_void,
        head: *const mcplink_http_head_t,
        length: i64,
    ) -> mcplink_status_t,
>;

/// Sends some bytes of the body of a response. The callback should flush the bytes at once, because
/// the client waits for them.
///
/// bytes, len: the bytes, valid until the callback returns.
/// Returns: MCPLINK_OK; any other status when the client has disconnected.
pub type mcplink_http_write_fn = Option<
    unsafe extern "C-unwind" fn(
        user: *mut c_void,
        bytes: *const c_void,
        len: usize,
    ) -> mcplink_status_t,
>;

/// Ends a response. The function is called once for each exchange that was served, unless the
/// exchange is freed before.
///
/// complete: true if the whole response was sent. If complete is false, abort the connection, so
/// that the client notices that the response is incomplete.
pub type mcplink_http_end_fn =
    Option<unsafe extern "C-unwind" fn(user: *mut c_void, complete: bool)>;

type BeginFn = Callback<mcplink_http_begin_fn>;
type WriteFn = Callback<mcplink_http_write_fn>;
type EndFn = Callback<mcplink_http_end_fn>;

/// The state that an exchange and its response writer share.
pub(super) struct Channel {
    number: u64,
    begin: BeginFn,
    write: WriteFn,
    end: EndFn,
    /// The user data of the host's functions; `None` once the exchange was freed.
    user: Mutex<Option<Arc<UserData>>>,
    state: Mutex<State>,
    /// Notified when a function of the host has returned, when bytes were sent, and when the client
    /// has disconnected.
    returned: Condvar,
}

#[derive(Default)]
struct State {
    /// The callback that runs when the client has disconnected.
    on_gone: Option<Box<dyn FnOnce() + Send>>,
    /// The callback that runs when the response has not begun for a long time. The callback begins
    /// the response as an event stream.
    on_silence: Option<Box<dyn FnOnce() + Send>>,
    gone: bool,
    ended: bool,
    freed: bool,
    running: usize,
    /// The number of bytes of the response that wait until the host dispatches its pump.
    waiting: usize,
}

/// A step of a response: its head, a part of its body, or its end.
enum Step {
    Begin(ResponseHead, i64),
    Write(Vec<u8>),
    End(bool),
}

impl Channel {
    pub(super) fn new(
        number: u64,
        begin: BeginFn,
        write: WriteFn,
        end: EndFn,
        user: UserData,
    ) -> Arc<Self> {
        Arc::new(Self {
            number,
            begin,
            write,
            end,
            user: Mutex::new(Some(Arc::new(user))),
            state: Mutex::default(),
            returned: Condvar::new(),
        })
    }

    /// Runs the host's function for a step of the response. Runs no function if the response has
    /// ended or the exchange was freed. If the client has disconnected, runs only the end function.
    fn run(&self, step: &Step) {
        let mut state = self.state.lock();
        let is_end = matches!(step, Step::End(_));
        if state.freed || state.ended || (state.gone && !is_end) {
            return;
        }
        state.ended = is_end;
        state.running += 1;
        drop(state);
        let user = self.user.lock().clone();
        let status = user.and_then(|user| {
            let user = user.ptr();
            // SAFETY: the header states the arguments of the functions; head and bytes outlive the
            // call.
            call_back(self.number, || unsafe {
                match step {
                    Step::Begin(head, length) => {
                        let head = Tagged::new(mcplink_http_head_t::of(head));
                        (self.begin)(user, head.as_ptr(), *length)
                    }
                    Step::Write(bytes) => (self.write)(user, bytes.as_ptr().cast(), bytes.len()),
                    Step::End(complete) => {
                        (self.end)(user, *complete);
                        mcplink_status::MCPLINK_OK.code()
                    }
                }
            })
        });
        let mut state = self.state.lock();
        state.running -= 1;
        self.returned.notify_all();
        drop(state);
        if status != Some(mcplink_status::MCPLINK_OK.code()) {
            self.lose();
        }
    }

    /// Records that the client has disconnected, and runs the callback `on_gone`.
    pub(super) fn lose(&self) {
        let mut state = self.state.lock();
        state.gone = true;
        let callback = state.on_gone.take();
        self.returned.notify_all();
        drop(state);
        if let Some(callback) = callback {
            callback();
        }
    }

    /// Begins the response as an event stream, at the request of the host, when the response has
    /// not begun for a long time.
    pub(super) fn break_silence(&self) {
        let callback = self.state.lock().on_silence.take();
        if let Some(callback) = callback {
            callback();
        }
    }

    /// Marks the exchange as freed, without waiting for a running function of the host. Afterwards
    /// no function of the host starts.
    pub(super) fn abandon(&self) {
        self.state.lock().freed = true;
        self.lose();
    }

    /// Marks the exchange as freed, waits until no function of the host runs, and releases the user
    /// data. A function of the host must not call this method, because the method would wait for
    /// that function.
    pub(super) fn leave(&self) {
        self.abandon();
        let mut state = self.state.lock();
        while state.running > 0 {
            state = self.returned.wait(state);
        }
        drop(state);
        let user = self.user.lock().take();
        drop(user);
    }

    fn is_lost(&self) -> bool {
        let state = self.state.lock();
        state.gone || state.freed
    }
}

/// The response writer that calls the functions of an exchange.
pub(super) struct Writer {
    channel: Arc<Channel>,
    /// The callback executor; `None` if the host dispatches no pump.
    stage: Option<Arc<CallbackExecutor>>,
    ended: bool,
}

impl Writer {
    pub(super) fn new(channel: Arc<Channel>, stage: Option<Arc<CallbackExecutor>>) -> Self {
        Self {
            channel,
            stage,
            ended: false,
        }
    }

    fn step(&self, step: Step) -> Result<()> {
        if self.channel.is_lost() {
            return Err(gone());
        }
        match &self.stage {
            None => {
                self.channel.run(&step);
                if self.channel.is_lost() {
                    return Err(gone());
                }
            }
            Some(stage) => self.post(stage, step),
        }
        Ok(())
    }

    fn post(&self, stage: &CallbackExecutor, step: Step) {
        let channel = Arc::clone(&self.channel);
        let bytes = match &step {
            Step::Write(bytes) => bytes.len(),
            Step::Begin(..) | Step::End(_) => 0,
        };
        channel.state.lock().waiting += bytes;
        stage.post(Kind::Call, move || {
            channel.run(&step);
            let mut state = channel.state.lock();
            state.waiting -= bytes;
            channel.returned.notify_all();
        });
    }

    /// Returns whether another part of the body may be queued. Without a deadline, returns at once.
    /// With a deadline, waits until there is space, and fails at the deadline.
    fn has_room(&self, bytes: usize, deadline: Option<Instant>) -> Result<bool> {
        let mut state = self.channel.state.lock();
        while state.waiting > 0 && state.waiting + bytes > MAX_WAITING {
            if state.gone || state.freed {
                return Err(gone());
            }
            match deadline {
                None => return Ok(false),
                Some(deadline) if Instant::now() >= deadline => {
                    let text = "the host has not dispatched its pump for long";
                    return Err(Error::new(ErrorKind::Timeout, text));
                }
                Some(deadline) => {
                    state = self.channel.returned.wait_until(state, Some(deadline));
                }
            }
        }
        Ok(true)
    }

    fn end(&mut self, complete: bool) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        let mut state = self.channel.state.lock();
        let unused = (state.on_gone.take(), state.on_silence.take());
        drop(state);
        drop(unused);
        match &self.stage {
            None => self.channel.run(&Step::End(complete)),
            Some(stage) => self.post(stage, Step::End(complete)),
        }
    }
}

fn gone() -> Error {
    Error::new(ErrorKind::Closed, "the HTTP client has gone")
}

impl ResponseWriter for Writer {
    fn respond(&mut self, head: &ResponseHead, body: &[u8]) -> Result<()> {
        let length = i64::try_from(body.len()).unwrap_or(i64::MAX);
        self.step(Step::Begin(head.clone(), length))?;
        if !body.is_empty() {
            self.step(Step::Write(body.to_owned()))?;
        }
        self.finish()
    }

    fn begin(&mut self, head: &ResponseHead, first: &[u8]) -> Result<()> {
        self.step(Step::Begin(head.clone(), -1))?;
        if first.is_empty() {
            return Ok(());
        }
        self.step(Step::Write(first.to_owned()))
    }

    fn write(&mut self, piece: &[u8], deadline: Option<Instant>) -> Result<bool> {
        if !self.has_room(piece.len(), deadline)? {
            return Ok(false);
        }
        self.step(Step::Write(piece.to_owned()))?;
        Ok(true)
    }

    fn finish(&mut self) -> Result<()> {
        let lost = self.channel.is_lost();
        self.end(!lost);
        if lost { Err(gone()) } else { Ok(()) }
    }

    fn on_gone(&mut self, callback: Box<dyn FnOnce() + Send>) {
        let mut state = self.channel.state.lock();
        if state.gone || state.freed {
            drop(state);
            return callback();
        }
        let before = state.on_gone.replace(callback);
        drop(state);
        drop(before);
    }

    /// Stores the callback that begins the response as an event stream. The duration is unused,
    /// because the host measures the time.
    fn on_silence(&mut self, _: Duration, callback: Box<dyn FnOnce() + Send>) {
        let before = self.channel.state.lock().on_silence.replace(callback);
        drop(before);
    }
}

impl Drop for Writer {
    /// Aborts the response if it has not ended.
    fn drop(&mut self) {
        self.end(false);
    }
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer")
            .field("ended", &self.ended)
            .finish_non_exhaustive()
    }
}
