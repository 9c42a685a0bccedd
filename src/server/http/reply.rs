//! The response to one modern request: plain JSON, or a stream of events when something has to be said before it.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use super::denied::Demand;
use crate::error::{Error, ErrorCode, ErrorKind, Result};
use crate::protocol::{ExchangeHandle, Outlet};
use crate::spare;
use crate::transport::http::event::{EVENT_STREAM, QUIET, write_event};
use crate::transport::http::{ResponseHead, ResponseWriter};

/// Where what belongs to a modern request goes. Streams of the modern era can't be resumed: a client that goes away cancels its request.
///
/// **Invariant:** whoever holds the lock may write; who closes without it leaves that to the one who does.
pub(super) struct Reply {
    state: Mutex<State>,
    closed: AtomicBool,
    demand: Demand,
    status: fn(ErrorCode) -> u16,
    keep_alive: Duration,
}

struct State {
    /// There until the response has ended.
    writer: Option<Box<dyn ResponseWriter>>,
    /// The response is a stream of events.
    begun: bool,
}

impl Reply {
    pub(super) fn new(
        writer: Box<dyn ResponseWriter>,
        demand: Demand,
        status: fn(ErrorCode) -> u16,
        keep_alive: Duration,
    ) -> Self {
        let state = State {
            writer: Some(writer),
            begun: false,
        };
        Self {
            state: Mutex::new(state),
            closed: AtomicBool::new(false),
            demand,
            status,
            keep_alive,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the response if somebody wanted to while this thread held the lock, which it no longer does.
    fn close_if_told(&self) {
        if self.closed.load(Ordering::SeqCst) {
            self.close();
        }
    }
}

impl State {
    /// Ends the response without an answer.
    fn end_empty(&mut self) {
        let Some(mut writer) = self.writer.take() else {
            return;
        };
        // It fails when nobody reads, and then there is nothing left to do.
        _ = if self.begun {
            writer.finish()
        } else {
            writer.respond(&stream_head(None), b"")
        };
    }
}

impl Outlet for Reply {
    fn attach(&self, exchange: ExchangeHandle) {
        if let Some(writer) = &mut self.lock().writer {
            writer.on_gone(Box::new(move || {
                exchange.cancel("the client closed the response");
            }));
        }
        self.close_if_told();
    }

    fn send(&self, text: &[u8], deadline: Option<Instant>) -> Result<bool> {
        let mut state = self.lock();
        let begun = state.begun;
        let Some(writer) = &mut state.writer else {
            return Err(gone());
        };
        let mut event = Vec::with_capacity(text.len() + 16);
        write_event(&mut event, None, text);
        let sent = if begun {
            writer.write(&event, deadline)
        } else {
            let head = stream_head(Some(self.keep_alive));
            writer.begin(&head, &event).map(|()| true)
        };
        state.begun = true;
        drop(state);
        self.close_if_told();
        sent
    }

    fn respond(
        &self,
        text: Vec<u8>,
        error: Option<ErrorCode>,
        deadline: Option<Instant>,
    ) -> Result<()> {
        let mut state = self.lock();
        let begun = state.begun;
        let Some(mut writer) = state.writer.take() else {
            return Err(gone());
        };
        drop(state);
        if !begun {
            let head = self.demand.head(error, self.status);
            let sent = writer.respond(&head, &text);
            spare::give(text);
            return sent;
        }
        let mut event = Vec::with_capacity(text.len() + 16);
        write_event(&mut event, None, &text);
        if !writer.write(&event, deadline)? {
            return Err(Error::new(ErrorKind::Timeout, "the client does not read"));
        }
        writer.finish()
    }

    fn demand(&self, scopes: &BTreeSet<String>) {
        self.demand.note(scopes);
    }

    fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        match self.state.try_lock() {
            Ok(mut state) => state.end_empty(),
            Err(TryLockError::Poisoned(state)) => state.into_inner().end_empty(),
            // Who writes at the moment sees to it.
            Err(TryLockError::WouldBlock) => {}
        }
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        self.lock().end_empty();
    }
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reply").finish_non_exhaustive()
    }
}

/// The head of a response that is one message.
pub(super) fn json_head(status: u16) -> ResponseHead {
    ResponseHead::new(status).header("Content-Type", "application/json")
}

/// The head of a response that is a stream of events.
pub(super) fn stream_head(keep_alive: Option<Duration>) -> ResponseHead {
    let mut head = ResponseHead::new(200)
        .header("Content-Type", EVENT_STREAM)
        .header("Cache-Control", "no-cache")
        .header("X-Accel-Buffering", "no");
    head.while_quiet = keep_alive.map(|interval| (interval, QUIET));
    head
}

/// The status that goes with an error of a modern request.
///
/// Spec: Transports, "Streamable HTTP" (2026-07-28); AMB-05.
pub(super) fn modern_status(code: ErrorCode) -> u16 {
    match code {
        ErrorCode::METHOD_NOT_FOUND => 404,
        ErrorCode::HEADER_MISMATCH
        | ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY
        | ErrorCode::UNSUPPORTED_PROTOCOL_VERSION => 400,
        _ => legacy_status(code),
    }
}

/// The status that goes with an error of a legacy request: it is an answer, but to what is no request at all.
pub(super) fn legacy_status(code: ErrorCode) -> u16 {
    match code {
        ErrorCode::PARSE_ERROR | ErrorCode::INVALID_REQUEST => 400,
        _ => 200,
    }
}

fn gone() -> Error {
    Error::new(ErrorKind::Closed, "the response has ended")
}
