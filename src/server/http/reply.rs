//! The HTTP response to a modern request, or to a legacy request without a session. The response is
//! plain JSON, or an event stream if other messages or a long silence precede the answer.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use super::challenge::Demand;
use super::refusal::json_head;
use crate::buffer_cache;
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::{Answer, ExchangeHandle, ResponseSink};
use crate::server::debug_fields::debug_fields;
use crate::sync::Mutex;
use crate::transport::http::event::{EVENT_STREAM, QUIET, write_event};
use crate::transport::http::{ResponseHead, ResponseWriter};

/// The HTTP response to one request without a session, with all messages that belong to the
/// request. Such a response can't be resumed: if the client disconnects, its request is cancelled.
///
/// **Invariant:** only the thread that holds the lock uses the writer. A thread that must not block
/// sets a flag (`closed` or `silent`) and then tries the lock. The holder releases the lock and
/// then checks the flags ([`settle`](Self::settle)). So one of the two threads always acts on the
/// flag, and no close is lost.
pub(super) struct Reply {
    state: Mutex<State>,
    closed: AtomicBool,
    /// Whether nothing was sent for the keep-alive interval. If so, the response has to begin as an
    /// event stream.
    silent: AtomicBool,
    /// The error that is sent instead of the answer when the response is closed. If `last` is
    /// unset, the closed response gets no error.
    #[expect(
        clippy::box_collection,
        reason = "one pointer for the many that have none"
    )]
    last: OnceLock<Box<Vec<u8>>>,
    demand: Demand,
    keep_alive: Duration,
    /// Whether the client accepts event streams.
    takes_events: bool,
}

struct State {
    /// The writer of the response. `None` once the response has ended.
    writer: Option<Box<dyn ResponseWriter>>,
    /// Whether the response has begun as an event stream.
    begun: bool,
}

impl Reply {
    /// Creates a response to a client. If the client accepts event streams, the response begins as
    /// one after a long silence.
    pub(super) fn new(
        writer: Box<dyn ResponseWriter>,
        demand: Demand,
        keep_alive: Duration,
        takes_events: bool,
    ) -> Arc<Self> {
        let state = State {
            writer: Some(writer),
            begun: false,
        };
        let reply = Arc::new(Self {
            state: Mutex::new(state),
            closed: AtomicBool::new(false),
            silent: AtomicBool::new(false),
            last: OnceLock::new(),
            demand,
            keep_alive,
            takes_events,
        });
        if takes_events {
            reply.begin_when_silent();
        }
        reply
    }

    /// Registers a callback that begins the response as an event stream if nothing was sent for the
    /// keep-alive interval.
    fn begin_when_silent(self: &Arc<Self>) {
        let reply = Arc::downgrade(self);
        if let Some(writer) = &mut self.state.lock().writer {
            let begin = move || {
                if let Some(reply) = reply.upgrade() {
                    reply.silent.store(true, Ordering::SeqCst);
                    reply.settle();
                }
            };
            writer.on_silence(self.keep_alive, Box::new(begin));
        }
        self.settle();
    }

    /// Writes events, and first begins the response if it has not begun. Returns `false` if there
    /// is no room for the events.
    fn write(&self, events: &[u8], deadline: Option<Instant>) -> Result<bool> {
        let mut state = self.state.lock();
        let begun = state.begun;
        let Some(writer) = &mut state.writer else {
            return Err(gone());
        };
        let sent = if begun {
            writer.write(events, deadline)
        } else {
            let head = stream_head(Some(self.keep_alive));
            writer.begin(&head, events).map(|()| true)
        };
        state.begun = true;
        drop(state);
        self.settle();
        sent
    }

    /// Acts on the flags `closed` and `silent`, unless another thread holds the lock. Every thread
    /// calls this function on two occasions: when it has set a flag, and when it has released the
    /// lock. So a flag that is set while another thread holds the lock is acted on when that thread
    /// releases the lock, and no thread blocks.
    fn settle(&self) {
        while self.closed.load(Ordering::SeqCst) || self.silent.load(Ordering::SeqCst) {
            let Some(mut state) = self.state.try_lock() else {
                return;
            };
            if self.closed.swap(false, Ordering::SeqCst) {
                state.end(self.last.get().map(|last| last.as_slice()));
            }
            if self.silent.swap(false, Ordering::SeqCst) {
                state.begin(&stream_head(Some(self.keep_alive)));
            }
        }
    }
}

impl State {
    /// Ends the response with the error `error`, or without an answer if there is no error.
    fn end(&mut self, error: Option<&[u8]>) {
        let Some(writer) = self.writer.take() else {
            return;
        };
        // An error means that the client has disconnected. Then nothing is left to do.
        _ = end_with(writer, self.begun, None, error);
    }

    /// Begins the response as an event stream, without an event.
    fn begin(&mut self, head: &ResponseHead) {
        if let Some(writer) = &mut self.writer
            && !self.begun
        {
            self.begun = true;
            // An error means that the client has disconnected, which the writer also reports by
            // itself.
            _ = writer.begin(head, b"");
        }
    }
}

/// Ends a response without its answer. If there is an error, the client gets the error instead. On
/// an event stream, this function does not wait for the client to read the error.
pub(super) fn end_with(
    mut writer: Box<dyn ResponseWriter>,
    begun: bool,
    id: Option<&str>,
    error: Option<&[u8]>,
) -> Result<()> {
    match (begun, error) {
        (true, Some(error)) => {
            let mut event = Vec::with_capacity(error.len() + 32);
            write_event(&mut event, id, error);
            if writer.write(&event, None)? {
                writer.finish()?;
            }
            Ok(())
        }
        (true, None) => writer.finish(),
        (false, Some(error)) => writer.respond(&json_head(200), error),
        (false, None) => writer.respond(&stream_head(None), b""),
    }
}

impl ResponseSink for Reply {
    fn attach(&self, exchange: ExchangeHandle) {
        if let Some(writer) = &mut self.state.lock().writer {
            writer.on_gone(Box::new(move || {
                exchange.cancel("the client closed the response");
            }));
        }
        self.settle();
    }

    fn takes_messages(&self) -> bool {
        self.takes_events
    }

    fn send(&self, text: &[u8], deadline: Option<Instant>) -> Result<bool> {
        if !self.takes_events {
            return Ok(true);
        }
        let mut event = Vec::with_capacity(text.len() + 16);
        write_event(&mut event, None, text);
        self.write(&event, deadline)
    }

    fn ask(&self, text: &[u8], deadline: Option<Instant>) -> Result<()> {
        if !self.takes_events {
            return Err(takes_no_events());
        }
        self.send(text, deadline).map(drop)
    }

    fn send_all(&self, texts: &[Vec<u8>]) -> Result<usize> {
        if !self.takes_events {
            return Ok(texts.len());
        }
        let size = texts.iter().map(|text| text.len() + 16).sum();
        let mut events = Vec::with_capacity(size);
        for text in texts {
            write_event(&mut events, None, text);
        }
        let has_room = self.write(&events, None)?;
        Ok(if has_room { texts.len() } else { 0 })
    }

    fn respond(&self, text: Vec<u8>, answer: Answer, deadline: Option<Instant>) -> Result<()> {
        let mut state = self.state.lock();
        let begun = state.begun;
        let Some(mut writer) = state.writer.take() else {
            return Err(gone());
        };
        drop(state);
        if !begun {
            let head = self.demand.head(answer);
            let sent = writer.respond(&head, &text);
            buffer_cache::give(text);
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
        self.demand.note_scopes(scopes);
    }

    fn refused_by_guard(&self) {
        self.demand.note_guard();
    }

    fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        self.settle();
    }

    fn cut_off(&self, error: Vec<u8>) {
        _ = self.last.set(Box::new(error));
        self.close();
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        self.state.lock().end(None);
    }
}

debug_fields!(Reply);

/// Returns the head of a response that is an event stream.
pub(super) fn stream_head(keep_alive: Option<Duration>) -> ResponseHead {
    let mut head = ResponseHead::new(200)
        .header("Content-Type", EVENT_STREAM)
        .header("Cache-Control", "no-cache")
        .header("X-Accel-Buffering", "no");
    head.while_quiet = keep_alive.map(|interval| (interval, QUIET));
    head
}

/// Returns the error of a request to a client that could not read it.
pub(super) fn takes_no_events() -> Error {
    let text = "the client can't be asked: it does not accept text/event-stream";
    Error::new(ErrorKind::Unsupported, text)
}

fn gone() -> Error {
    Error::new(ErrorKind::Closed, "the response has ended")
}

#[cfg(all(test, not(loom), target_os = "linux", target_pointer_width = "64"))]
mod tests {
    use super::*;

    // Each idle modern stream has one. See "Memory" in docs/performance.md.
    #[test]
    fn a_response_is_small() {
        let size = size_of::<Reply>();
        assert!(size <= 104, "{size} bytes");
    }
}
