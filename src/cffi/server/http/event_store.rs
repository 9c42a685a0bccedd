//! The event store of the host: stores the events of streams, so that clients can resume them.

use std::ffi::c_void;
use std::ops::ControlFlow;
use std::sync::Arc;

use crate::cffi::arg::invalid;
use crate::cffi::entry::needing_mut;
use crate::cffi::handle::Tagged;
use crate::cffi::status::{mcplink_status, mcplink_status_t};
use crate::cffi::text::{Text, mcplink_str_t, measured};
use crate::cffi::user::{Callback, Hook, UserData, call_back};
use crate::error::{Error, ErrorKind, Result};
use crate::server::http::{EventLog, EventStore};

/// Stores an event of a stream. The number of the event is one more than that of the event before
/// it on this stream; the first number is 1. The library does not retry an event that could not be
/// stored.
///
/// The functions of an event store run on the thread that sends the event or that reads the resume
/// request, also with a pump. For one stream they run one after the other, and senders on this
/// stream wait; for different streams they run on several threads at once. So the functions must
/// not use the server.
///
/// session: a name that is unique among all sessions of all servers: 22 letters, digits, '-' and
/// '_'. It is not the secret session id. Valid until the callback returns.
/// stream: the number of the stream within the session.
/// number: the number of the event.
/// event, len: the message, as JSON text without a terminating NUL; valid until the callback
/// returns. An empty text is a mark: a position from which a client can resume.
/// Returns: MCPLINK_OK. Any other status means that the event is not stored: it is sent anyway, but
/// no client can resume the stream from before it.
pub type mcplink_event_append_fn = Option<
    unsafe extern "C-unwind" fn(
        user: *mut c_void,
        session: mcplink_str_t,
        stream: u64,
        number: u64,
        event: *const c_void,
        len: usize,
    ) -> mcplink_status_t,
>;

/// Passes the stored events of a stream to mcplink_replay_send, in order, beginning after a number.
/// Events that the store has dropped are left out: the client then gets an error that events are
/// lost. For threads see mcplink_event_append_fn.
///
/// session: the name of the session; valid until the callback returns.
/// stream: the number of the stream.
/// after: the number after which the events begin.
/// replay: receives the events by mcplink_replay_send.
/// Returns: MCPLINK_OK, also when mcplink_replay_send has returned MCPLINK_E_CLOSED. Any other
/// status means that the events can't be read now: the client gets status 503, and can retry.
pub type mcplink_event_replay_fn = Option<
    unsafe extern "C-unwind" fn(
        user: *mut c_void,
        session: mcplink_str_t,
        stream: u64,
        after: u64,
        replay: *mut mcplink_replay_t,
    ) -> mcplink_status_t,
>;

/// Forgets a stream: no client can resume it any more, because the session has ended or enough
/// newer streams of the session have ended. The function runs once for each stream for which
/// mcplink_event_append_fn was called, after all other calls for the stream. For threads see
/// mcplink_event_append_fn.
///
/// session: the name of the session; valid until the callback returns.
/// stream: the number of the stream.
pub type mcplink_event_forget_fn =
    Option<unsafe extern "C-unwind" fn(user: *mut c_void, session: mcplink_str_t, stream: u64)>;

/// The functions of an event store.
#[derive(Clone, Copy)]
pub(super) struct Functions {
    append: Callback<mcplink_event_append_fn>,
    replay: Callback<mcplink_event_replay_fn>,
    forget: Callback<mcplink_event_forget_fn>,
}

/// Makes the hook of an event store; `None` if all functions are missing. Fails if only some of
/// them are missing.
pub(super) fn hook(
    append: mcplink_event_append_fn,
    replay: mcplink_event_replay_fn,
    forget: mcplink_event_forget_fn,
    user: UserData,
) -> Result<Option<Arc<Hook<Functions>>>> {
    let functions = match (append, replay, forget) {
        (None, None, None) => None,
        (Some(append), Some(replay), Some(forget)) => Some(Functions {
            append,
            replay,
            forget,
        }),
        _ => {
            let text = "append, replay and forget go together: all of them or none";
            return Err(invalid(text));
        }
    };
    Ok(Hook::new(functions, user))
}

/// The event store of the host, for one server.
pub(super) struct HostStore {
    hook: Arc<Hook<Functions>>,
    /// The number of the server's handle.
    owner: u64,
}

impl HostStore {
    pub(super) fn new(hook: &Arc<Hook<Functions>>, owner: u64) -> Self {
        let hook = Arc::clone(hook);
        Self { hook, owner }
    }
}

impl EventStore for HostStore {
    fn open(&self, session: &str, stream: u64) -> Box<dyn EventLog> {
        Box::new(HostLog {
            hook: Arc::clone(&self.hook),
            owner: self.owner,
            session: session.into(),
            stream,
        })
    }
}

/// The events of one stream in the host's store.
struct HostLog {
    hook: Arc<Hook<Functions>>,
    owner: u64,
    session: Text,
    stream: u64,
}

impl EventLog for HostLog {
    fn append(&mut self, number: u64, event: &[u8]) -> Result<()> {
        let (hook, session, stream) = (&self.hook, self.session.view(), self.stream);
        let (ptr, len) = (event.as_ptr().cast(), event.len());
        // SAFETY: the header requires a function that accepts these arguments, which outlive the
        // call.
        let status = call_back(self.owner, || unsafe {
            (hook.callback.append)(hook.user.ptr(), session, stream, number, ptr, len)
        });
        done("stores an event", status)
    }

    fn replay_after(
        &mut self,
        number: u64,
        send: &mut dyn FnMut(u64, &[u8]) -> ControlFlow<()>,
    ) -> Result<()> {
        let (hook, session, stream) = (&self.hook, self.session.view(), self.stream);
        let mut sink: Sink<'_> = send;
        let mut replay = Tagged::new(mcplink_replay_t {
            sink: (&raw mut sink).cast(),
            is_over: false,
        });
        let out = replay.as_mut_ptr();
        // SAFETY: the header requires a function that accepts these arguments, which outlive the
        // call.
        let status = call_back(self.owner, || unsafe {
            (hook.callback.replay)(hook.user.ptr(), session, stream, number, out)
        });
        // A function may return the status with which the last event was refused.
        if replay.is_over && status == Some(mcplink_status::MCPLINK_E_CLOSED.code()) {
            return Ok(());
        }
        done("replays events", status)
    }
}

impl Drop for HostLog {
    fn drop(&mut self) {
        let (hook, session) = (&self.hook, self.session.view());
        // SAFETY: the header requires a function that accepts these arguments, which outlive the
        // call.
        let forget = || unsafe { (hook.callback.forget)(hook.user.ptr(), session, self.stream) };
        // A panic in `forget` can't be reported to a caller.
        _ = call_back(self.owner, forget);
    }
}

/// Converts the status of a callback; `None` if the callback panicked.
fn done(what: &str, status: Option<mcplink_status_t>) -> Result<()> {
    let text = match status {
        Some(status) if status == mcplink_status::MCPLINK_OK.code() => return Ok(()),
        Some(status) => format!("the function that {what} returned {status}"),
        None => format!("the function that {what} panicked"),
    };
    Err(Error::new(ErrorKind::State, text))
}

/// Receives events; breaks when no more are wanted.
type Sink<'a> = &'a mut dyn FnMut(u64, &[u8]) -> ControlFlow<()>;

/// A running replay: receives the events of a stream from mcplink_event_replay_fn. See
/// mcplink_replay_send.
pub struct mcplink_replay_t {
    /// Points to a [`Sink`]. The pointer is valid while the callback runs.
    sink: *mut c_void,
    /// Whether no more events are wanted.
    is_over: bool,
}

object!(mcplink_replay_t is Replay);

impl mcplink_replay_t {
    fn send(&mut self, number: u64, event: &[u8]) -> Result<()> {
        if !self.is_over {
            // SAFETY: the pointer was made of a `Sink`, which lives while the callback runs. The
            // header requires that the object is used only then, and only by one thread.
            let sink = unsafe { &mut *self.sink.cast::<Sink<'_>>() };
            self.is_over = (*sink)(number, event).is_break();
        }
        match self.is_over {
            true => Err(Error::new(ErrorKind::Closed, "no more events are wanted")),
            false => Ok(()),
        }
    }
}

actions! {
    needing_mut(replay: mcplink_replay_t);

    /// Passes a stored event to the client that resumes its stream.
    ///
    /// replay: the parameter of mcplink_event_replay_fn; valid until that function returns.
    /// number: the number of the event.
    /// event, len: the event as it was stored, which is copied; len may be MCPLINK_NUL for text
    /// that ends in NUL. Empty for a mark.
    /// Returns: MCPLINK_OK; MCPLINK_E_CLOSED when no more events are wanted now: the function then
    /// returns; MCPLINK_E_INVALID.
    /// Threads: the thread that runs the function.
    fn mcplink_replay_send(number: u64, event: *const c_void, len: usize) {
        replay.send(number, measured(event.cast(), len, "event")?)?;
    }
}
