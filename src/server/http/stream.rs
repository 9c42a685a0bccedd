//! What a legacy session says on one of its streams, and how a client that lost it goes on.
//!
//! A stream belongs to one request, or is the one for everything else that a client opens with GET. What is sent on it is numbered and
//! kept for a while: a client that comes back with the number it saw last gets the rest. A client that goes away cancels nothing.
//!
//! ```text
//!            begin (first event)           the client goes, or is sent away
//!  silent ─────────────────────▶ flowing ─────────────────────────────────▶ waiting
//!    │  response first: plain JSON  │  ▲                                      │
//!    ▼                              │  ╰──────── GET with Last-Event-ID ──────╯
//!   done ◀──────── response ────────╯
//! ```
//!
//! **Invariant:** an event is numbered, kept and written under the stream's lock, so that no reader misses one or sees one twice.
//!
//! Spec: Transports, "Streamable HTTP", "Resumability and Redelivery" (2025-03-26 to 2025-11-25).

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError, Weak};
use std::time::{Duration, Instant};

use super::reply::{json_head, legacy_status, stream_head};
use super::session::Session;
use crate::error::{Error, ErrorCode, ErrorKind, Result};
use crate::protocol::Outlet;
use crate::schema::ProtocolVersion;
use crate::transport::http::event::{write_event, write_mark};
use crate::transport::http::{ResponseHead, ResponseWriter};

/// Which stream an event was on, and which one of it it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EventId {
    pub(super) stream: u64,
    pub(super) sequence: u64,
}

impl EventId {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (stream, sequence) = text.split_once('-')?;
        Some(Self {
            stream: stream.parse().ok()?,
            sequence: sequence.parse().ok()?,
        })
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.stream, self.sequence)
    }
}

/// One stream of a session.
pub(super) struct Stream {
    pub(super) number: u64,
    session: Weak<Session>,
    keep_alive: Duration,
    state: Mutex<State>,
    closed: AtomicBool,
}

#[derive(Default)]
struct State {
    /// There while a client reads.
    writer: Option<Box<dyn ResponseWriter>>,
    /// Tells the reader of this moment from those before.
    reader: u64,
    /// Something was said, so that the response is a stream of events.
    begun: bool,
    /// The last event has been said.
    done: bool,
    /// The number of the last event.
    sequence: u64,
    /// How many events were handed to a reader.
    told: u64,
    /// The last events: the front one has the number `sequence + 1 - events.len()`.
    events: VecDeque<Box<[u8]>>,
    bytes: usize,
}

impl State {
    /// Numbers and keeps an event; gives it as it goes out.
    fn keep(&mut self, stream: u64, text: &[u8], max_events: usize, max_bytes: usize) -> Vec<u8> {
        self.sequence += 1;
        self.events.push_back(text.into());
        self.bytes += text.len();
        while self.events.len() > max_events.max(1) || self.bytes > max_bytes.max(text.len()) {
            let dropped = self.events.pop_front();
            self.bytes -= dropped.map_or(0, |event| event.len());
        }
        let mut out = Vec::with_capacity(text.len() + 32);
        self.write_kept(stream, self.sequence, &mut out);
        out
    }

    /// The number of the last event that is not kept any more.
    fn dropped(&self) -> u64 {
        self.sequence - self.events.len() as u64
    }

    fn write_kept(&self, stream: u64, sequence: u64, out: &mut Vec<u8>) {
        let index = usize::try_from(sequence - self.dropped() - 1).unwrap_or(usize::MAX);
        if let Some(text) = self.events.get(index) {
            let id = EventId { stream, sequence }.to_string();
            // An event without text marks a place only.
            if text.is_empty() {
                write_mark(out, &id, None);
            } else {
                write_event(out, Some(&id), text);
            }
        }
    }

    /// Ends what the client reads, if it reads.
    fn hang_up(&mut self) {
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

impl Stream {
    /// The stream for what belongs to no request. Nobody reads it yet.
    pub(super) fn standing(session: Weak<Session>, keep_alive: Duration) -> Self {
        Self::new(0, session, keep_alive, State::default())
    }

    /// The stream of one request.
    pub(super) fn of_request(
        number: u64,
        session: Weak<Session>,
        keep_alive: Duration,
        writer: Box<dyn ResponseWriter>,
    ) -> Self {
        let state = State {
            writer: Some(writer),
            ..State::default()
        };
        Self::new(number, session, keep_alive, state)
    }

    fn new(number: u64, session: Weak<Session>, keep_alive: Duration, state: State) -> Self {
        Self {
            number,
            session,
            keep_alive,
            state: Mutex::new(state),
            closed: AtomicBool::new(false),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether nothing more comes, and whether somebody reads.
    pub(super) fn is_done(&self) -> bool {
        self.lock().done
    }

    pub(super) fn is_read(&self) -> bool {
        self.lock().writer.is_some()
    }

    fn head(&self) -> ResponseHead {
        stream_head(Some(self.keep_alive))
    }

    /// Says something. What can't be written now is kept for the client to come back for.
    fn say(self: &Arc<Self>, text: &[u8], deadline: Option<Instant>) -> Result<bool> {
        let session = self.session()?;
        let mut state = self.lock();
        if state.done {
            return Err(gone());
        }
        let (max_events, max_bytes) = (session.max_events, session.max_event_bytes);
        let begins = !state.begun && state.writer.is_some();
        let mut event = Vec::new();
        if begins && session.marks_beginnings() {
            event = state.keep(self.number, b"", max_events, max_bytes);
        }
        event.extend(state.keep(self.number, text, max_events, max_bytes));
        let written = match &mut state.writer {
            None => Ok(true),
            Some(writer) if begins => writer.begin(&self.head(), &event).map(|()| true),
            Some(writer) => writer.write(&event, deadline),
        };
        if begins {
            state.begun = true;
        }
        match written {
            Ok(true) => {
                if state.writer.is_some() {
                    state.told = state.sequence;
                }
            }
            // It reads too slowly, or has gone: the event is kept for when it comes back.
            Ok(false) | Err(_) => drop(state.writer.take()),
        }
        drop(state);
        if begins && self.number > 0 {
            session.remember(self);
        }
        self.close_if_told();
        Ok(true)
    }

    /// Lets a client read from behind the event that it saw last, or, on a standing stream, what no other one was told. `preface` is
    /// what it reads first.
    ///
    /// Gives the writer back if what it asks for is not kept any more.
    pub(super) fn read_from(
        self: &Arc<Self>,
        seen: Option<u64>,
        preface: Vec<u8>,
        mut writer: Box<dyn ResponseWriter>,
    ) -> std::result::Result<(), Box<dyn ResponseWriter>> {
        let mut state = self.lock();
        let after = seen.unwrap_or_else(|| state.told.max(state.dropped()));
        if after < state.dropped() || after > state.sequence {
            return Err(writer);
        }
        // A reader that was there before is one that the client has given up.
        state.hang_up();
        let mut out = preface;
        for sequence in after + 1..=state.sequence {
            state.write_kept(self.number, sequence, &mut out);
        }
        state.begun = true;
        if writer.begin(&self.head(), &out).is_err() {
            return Ok(());
        }
        state.told = state.sequence;
        if state.done {
            _ = writer.finish();
            return Ok(());
        }
        self.watch(&mut state, writer);
        drop(state);
        self.close_if_told();
        Ok(())
    }

    /// Notices when the reader goes.
    fn watch(self: &Arc<Self>, state: &mut State, mut writer: Box<dyn ResponseWriter>) {
        state.reader += 1;
        let (reader, stream) = (state.reader, Arc::downgrade(self));
        writer.on_gone(Box::new(move || {
            if let Some(stream) = stream.upgrade() {
                stream.lose(reader);
            }
        }));
        state.writer = Some(writer);
    }

    /// A reader has gone. One who writes at the moment finds that out as well.
    fn lose(&self, reader: u64) {
        if let Ok(mut state) = self.state.try_lock()
            && state.reader == reader
        {
            let writer = state.writer.take();
            drop(state);
            drop(writer);
            if self.number == 0
                && let Some(session) = self.session.upgrade()
            {
                session.lost_its_stream();
            }
        }
    }

    /// Sends the reader away for a while: it comes back for what is said meanwhile.
    pub(super) fn send_away(self: &Arc<Self>, retry: Duration) -> Result<()> {
        let session = self.session()?;
        if !session.marks_beginnings() {
            return Ok(());
        }
        let mut state = self.lock();
        let Some(mut writer) = state.writer.take() else {
            return Ok(());
        };
        _ = state.keep(
            self.number,
            b"",
            session.max_events,
            session.max_event_bytes,
        );
        state.told = state.sequence;
        let id = EventId {
            stream: self.number,
            sequence: state.sequence,
        };
        let mut mark = Vec::new();
        write_mark(&mut mark, &id.to_string(), Some(retry));
        let begins = !std::mem::replace(&mut state.begun, true);
        let sent = if begins {
            writer.begin(&self.head(), &mark).map(|()| true)
        } else {
            writer.write(&mark, None)
        };
        drop(state);
        // The client is remembered before it can come back.
        if self.number > 0 {
            session.remember(self);
        }
        if sent? {
            writer.finish()?;
        }
        Ok(())
    }

    fn session(&self) -> Result<Arc<Session>> {
        self.session.upgrade().ok_or_else(gone)
    }

    fn close_if_told(&self) {
        if self.closed.load(Ordering::SeqCst) {
            self.close_now();
        }
    }

    /// Nothing more is said. Never waits.
    pub(super) fn close_now(&self) {
        self.closed.store(true, Ordering::SeqCst);
        let mut state = match self.state.try_lock() {
            Ok(state) => state,
            Err(TryLockError::Poisoned(state)) => state.into_inner(),
            // Who writes at the moment sees to it.
            Err(TryLockError::WouldBlock) => return,
        };
        state.done = true;
        state.hang_up();
    }

    /// Says something on a standing stream.
    pub(super) fn announce(self: &Arc<Self>, text: &[u8]) {
        // It fails when the session is over.
        _ = self.say(text, None);
    }
}

/// The outlet of a request on a legacy session.
#[derive(Debug)]
pub(super) struct RequestStream(pub(super) Arc<Stream>);

impl RequestStream {
    /// Watches the reader from the beginning.
    pub(super) fn new(stream: Arc<Stream>) -> Self {
        let mut state = stream.lock();
        if let Some(writer) = state.writer.take() {
            stream.watch(&mut state, writer);
        }
        drop(state);
        Self(stream)
    }
}

impl Outlet for RequestStream {
    fn send(&self, text: &[u8], deadline: Option<Instant>) -> Result<bool> {
        self.0.say(text, deadline)
    }

    fn respond(
        &self,
        text: Vec<u8>,
        error: Option<ErrorCode>,
        deadline: Option<Instant>,
    ) -> Result<()> {
        let session = self.0.session()?;
        let mut state = self.0.lock();
        if state.done {
            return Err(gone());
        }
        if !state.begun {
            state.done = true;
            let writer = state.writer.take();
            drop(state);
            let head = session.head_of_answer(json_head(error.map_or(200, legacy_status)), error);
            return match writer {
                Some(mut writer) => writer.respond(&head, &text),
                None => Err(gone()),
            };
        }
        drop(state);
        self.0.say(&text, deadline)?;
        let mut state = self.0.lock();
        state.done = true;
        state.hang_up();
        Ok(())
    }

    fn send_away(&self, retry: Duration) -> Result<()> {
        self.0.send_away(retry)
    }

    fn close(&self) {
        self.0.close_now();
    }
}

impl Drop for RequestStream {
    fn drop(&mut self) {
        if !self.0.is_done() {
            self.0.close_now();
        }
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream")
            .field("number", &self.number)
            .finish_non_exhaustive()
    }
}

fn gone() -> Error {
    Error::new(ErrorKind::Closed, "the stream has ended")
}

/// Whether streams of a revision begin with an event that marks the place.
pub(super) fn marks_beginnings(revision: ProtocolVersion) -> bool {
    revision >= ProtocolVersion::V2025_11_25
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn event_ids_are_read_as_they_were_written() {
        let id = EventId {
            stream: 3,
            sequence: 17,
        };
        assert_eq!(id.to_string(), "3-17");
        assert_eq!(EventId::parse("3-17"), Some(id));
        for odd in [
            "",
            "3",
            "3-",
            "-1",
            "a-b",
            "3-17-1",
            "3--1",
            "99999999999999999999-1",
        ] {
            assert_eq!(EventId::parse(odd), None, "{odd}");
        }
    }
}
