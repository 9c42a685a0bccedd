//! The streams of a legacy session, and their resumption.
//!
//! Each request has its own stream. All other messages go to the GET stream, which the client opens
//! with a GET request. Events are numbered and stored for a while. A client that reconnects with
//! the number of the last event that it received gets the later events. If a client disconnects,
//! its requests are not cancelled.
//!
//! ```text
//!            begin (first event, or long silence)      disconnect, or order to retry
//!  silent ─────────────────────────────────▶ flowing ─────────────────────────────────▶ waiting
//!    │  response first: plain JSON              │  ▲                                      │
//!    ▼                                          │  ╰──────── GET with Last-Event-ID ──────╯
//!   done ◀──────────── response ────────────────╯
//! ```
//!
//! Several clients may read one stream. The newest reader gets the new events. Older readers stay
//! connected and get nothing. When the newest reader leaves, the next newest reader gets the new
//! events.
//!
//! **Threads.** The holder of a stream's lock can be blocked by the host's event store or by a slow
//! client. So only a thread that sends or begins to read waits for the lock. Other threads close
//! the stream, report a disconnected reader, or begin a silent response. Such a thread adds an
//! entry to `actions` and tries the lock. If another thread holds the lock, that thread performs
//! the action after it has released the lock ([`Stream::settle`]).
//!
//! Spec: Transports, "Streamable HTTP", "Resumability and Redelivery" (2025-03-26 to 2025-11-25).

use std::collections::BTreeSet;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use super::super::challenge::Demand;
use super::super::history::{self, History, Missing};
use super::super::reply::{end_with, stream_head, takes_no_events};
use super::{Actions, Reader, Session, Stream, StreamState};
use crate::buffer_cache;
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::{Answer, ResponseSink};
use crate::server::debug_fields::debug_fields;
use crate::server::session_stream::Offered;
use crate::sync::{Mutex, MutexGuard};
use crate::transport::http::event::{write_event, write_mark};
use crate::transport::http::{ResponseHead, ResponseWriter};

/// The maximum number of older readers of one stream. If there are more, the response to the oldest
/// reader is ended.
const MAX_OLDER: usize = 32;

impl StreamState {
    /// Ends the responses to all readers. The newest reader gets the error `last` first, if there
    /// is an error.
    fn hang_up(&mut self, last: Option<&[u8]>) {
        if let Some(reader) = self.reader.take() {
            let id = (last.is_some() && self.history.sequence() > 0).then(|| {
                self.history.mark();
                self.history.last_id().to_string()
            });
            // An error means that the client has disconnected. Then nothing is left to do.
            _ = end_with(reader.writer, self.begun, id.as_deref(), last);
        }
        for mut reader in std::mem::take(&mut self.older) {
            _ = reader.writer.finish();
        }
    }

    /// Removes a reader that has disconnected. Returns the reader, and whether this reader was the
    /// newest one.
    fn lose(&mut self, number: u64) -> (Option<Reader>, bool) {
        if let Some(reader) = self.reader.take_if(|reader| reader.number == number) {
            self.reader = self.older.pop();
            return (Some(reader), true);
        }
        let position = self.older.iter().position(|reader| reader.number == number);
        (position.map(|position| self.older.remove(position)), false)
    }
}

impl Stream {
    /// Creates the stream with this number. Number 0 is the GET stream of a session, for messages
    /// that belong to no request. It has no reader at first. The stream of a request begins with
    /// the writer of the request's response.
    pub(super) fn new(
        number: u64,
        session: Weak<Session>,
        keep_alive: Duration,
        writer: Option<Box<dyn ResponseWriter>>,
    ) -> Self {
        Self {
            number,
            session,
            keep_alive,
            is_read: AtomicBool::new(writer.is_some()),
            state: Mutex::new(StreamState {
                reader: writer.map(|writer| Reader { number: 0, writer }),
                older: Vec::new(),
                readers: 0,
                begun: false,
                last_written: 0,
                history: History::of(number),
            }),
            done: AtomicBool::new(false),
            actions: Mutex::default(),
            has_actions: AtomicBool::new(false),
        }
    }

    /// Releases the stream's lock, and then performs the actions that other threads have left.
    fn unlock(self: &Arc<Self>, state: MutexGuard<'_, StreamState>) {
        let is_read = state.reader.is_some();
        self.is_read.store(is_read, Ordering::SeqCst);
        drop(state);
        self.settle();
    }

    /// Returns whether the stream has ended.
    pub(super) fn is_done(&self) -> bool {
        self.done.load(Ordering::SeqCst)
    }

    /// Returns whether a client reads the stream, or is about to read it.
    pub(super) fn is_read(&self) -> bool {
        self.is_read.load(Ordering::SeqCst)
    }

    fn head(&self) -> ResponseHead {
        stream_head(Some(self.keep_alive))
    }

    /// Sends an event on the stream. An event that can't be written now is stored until the client
    /// reconnects.
    fn say(self: &Arc<Self>, text: &[u8], deadline: Option<Instant>) -> Result<bool> {
        let session = self.session()?;
        let mut state = self.state.lock();
        if self.is_done() {
            return Err(gone());
        }
        let begins = !state.begun && state.reader.is_some();
        if begins && self.number > 0 {
            // The stream is registered before the first write, because the client may lose the
            // stream and reconnect right after the write.
            session.remember(self);
        }
        let mut event = Vec::with_capacity(text.len() + 32);
        let mut complaint = None;
        let before = state.history.sequence();
        match &session.keeper {
            None => write_event(&mut event, None, text),
            Some(keeper) => {
                let mark = (begins && session.marks_beginnings()).then_some(&b""[..]);
                for text in mark.into_iter().chain([text]) {
                    let failed = state.history.keep(keeper, text);
                    complaint = complaint.or(failed);
                    state.history.write_last(text, &mut event);
                }
            }
        }
        let is_behind = state.last_written < before && session.keeper.is_some();
        let reader = state.reader.as_ref().map(|reader| reader.number);
        let written = match &mut state.reader {
            None => Ok(true),
            Some(reader) if begins => reader.writer.begin(&self.head(), &event).map(|()| true),
            // The previous reader disconnected before it had got all events.
            Some(_) if is_behind => self.write_rest(&mut state),
            Some(reader) => reader.writer.write(&event, deadline),
        };
        state.begun |= begins;
        match (written, reader) {
            (_, None) => {}
            (Ok(true), Some(_)) => state.last_written = state.history.sequence(),
            // The reader is too slow or has disconnected. It gets the stored event when it
            // reconnects.
            (Ok(false) | Err(_), Some(number)) => {
                self.leave_action(|actions| actions.gone.push(number))
            }
        }
        self.unlock(state);
        if let (Some(keeper), Some(error)) = (&session.keeper, complaint) {
            keeper.report(&error);
        }
        Ok(true)
    }

    /// Writes the events that no reader has received yet, until a write would block. Returns
    /// whether all events were written.
    fn write_rest(&self, state: &mut StreamState) -> Result<bool> {
        let StreamState {
            reader: Some(reader),
            last_written,
            history,
            ..
        } = state
        else {
            return Ok(true);
        };
        let mut piece = Vec::new();
        while *last_written < history.sequence() {
            piece.clear();
            let reached = history.read(*last_written, true, &mut piece);
            let reached = reached.map_err(|missing| match missing {
                Missing::Failed(error) => error,
                Missing::Gone => gone(),
            })?;
            if !piece.is_empty() && !reader.writer.write(&piece, None)? {
                return Ok(false);
            }
            *last_written = reached;
        }
        Ok(true)
    }

    /// Writes the events that no reader has received yet to the newest reader.
    fn catch_up(self: &Arc<Self>) {
        let mut state = self.state.lock();
        let number = state.reader.as_ref().map(|reader| reader.number);
        if let (false, Some(number)) = (self.write_rest(&mut state).unwrap_or(false), number) {
            self.leave_action(|actions| actions.gone.push(number));
        }
        self.unlock(state);
    }

    /// Adds a reader, whose response is `writer`.
    ///
    /// The reader first gets `preface`. If `seen` is set, the reader then gets the events after
    /// that event, otherwise the events that no reader has received yet. Earlier readers stay
    /// connected, but get nothing while the new reader reads. If the client has seen all events and
    /// the stream has ended, the response is status 204.
    ///
    /// If the events after `seen` are not available, returns the reason and `writer`.
    pub(in super::super) fn read_from(
        self: &Arc<Self>,
        seen: Option<u64>,
        preface: Vec<u8>,
        mut writer: Box<dyn ResponseWriter>,
    ) -> std::result::Result<(), (Missing, Box<dyn ResponseWriter>)> {
        let mut state = self.state.lock();
        self.is_read.store(true, Ordering::SeqCst);
        let (may_skip, mut piece, mut complaint) = (seen.is_none(), preface, None);
        let from = seen.unwrap_or(state.last_written);
        let mut reached = match state.history.read(from, may_skip, &mut piece) {
            Ok(reached) => reached,
            Err(missing) if !may_skip => {
                self.unlock(state);
                return Err((missing, writer));
            }
            // A client without a position gets the events from now on.
            Err(missing) => {
                complaint = Some(missing);
                state.history.sequence()
            }
        };
        if seen.is_some() && self.is_done() && piece.is_empty() {
            self.unlock(state);
            _ = writer.respond(&ResponseHead::new(204), b"");
            return Ok(());
        }
        state.begun = true;
        let mut accepted = writer.begin(&self.head(), &piece).map(|()| true);
        // Writes only as long as the client accepts data without blocking. A slower client must
        // reconnect for the remaining events.
        while let Ok(true) = accepted {
            state.last_written = reached;
            if reached == state.history.sequence() {
                break;
            }
            piece.clear();
            accepted = match state.history.read(reached, may_skip, &mut piece) {
                Ok(next) => {
                    reached = next;
                    if piece.is_empty() {
                        continue;
                    }
                    writer.write(&piece, None)
                }
                Err(missing) => {
                    complaint = Some(missing);
                    Ok(false)
                }
            };
        }
        match accepted {
            Ok(true) if self.is_done() => _ = writer.finish(),
            Ok(true) => self.watch(&mut state, writer),
            Ok(false) | Err(_) => drop(writer),
        }
        self.unlock(state);
        if let Some(Missing::Failed(error)) = complaint
            && let Ok(session) = self.session()
            && let Some(keeper) = &session.keeper
        {
            keeper.report(&error.context("the events of a stream can't be read"));
        }
        if self.number == 0
            && let Ok(session) = self.session()
        {
            session.has_its_stream();
        }
        Ok(())
    }

    /// Returns whether a client that has seen the event `seen` can get more events, now or later.
    /// Fails if the events after `seen` are not available.
    pub(in super::super) fn look(
        self: &Arc<Self>,
        seen: Option<u64>,
    ) -> std::result::Result<bool, Missing> {
        let Some(seen) = seen else { return Ok(true) };
        let mut state = self.state.lock();
        let mut piece = Vec::new();
        let read = state.history.read(seen, false, &mut piece);
        let is_done = self.is_done();
        self.unlock(state);
        read.map(|_| !is_done || !piece.is_empty())
    }

    /// Adds the newest reader, whose response is `writer`. Registers a callback that runs when this
    /// reader disconnects.
    fn watch(self: &Arc<Self>, state: &mut StreamState, mut writer: Box<dyn ResponseWriter>) {
        state.readers += 1;
        let (number, stream) = (state.readers, Arc::downgrade(self));
        writer.on_gone(Box::new(move || {
            if let Some(stream) = stream.upgrade() {
                stream.leave_action(|actions| actions.gone.push(number));
                stream.settle();
            }
        }));
        let before = state.reader.replace(Reader { number, writer });
        state.older.extend(before);
        if state.older.len() > MAX_OLDER {
            _ = state.older.remove(0).writer.finish();
        }
    }

    /// Registers a callback that begins the response if nothing was sent for the keep-alive
    /// interval.
    fn begin_when_silent(self: &Arc<Self>, state: &mut StreamState) {
        let Some(reader) = &mut state.reader else {
            return;
        };
        let stream = Arc::downgrade(self);
        let begin = move || {
            if let Some(stream) = stream.upgrade() {
                stream.leave_action(|actions| actions.silent = true);
                stream.settle();
            }
        };
        reader.writer.on_silence(self.keep_alive, Box::new(begin));
    }

    /// Begins the response as an event stream without a message. Since revision 2025-11-25 the
    /// client gets a mark, from which it can resume. Runs no code of the host.
    fn begin_silently(self: &Arc<Self>, state: &mut StreamState) {
        let (Ok(session), Some(reader)) = (self.session(), &mut state.reader) else {
            return;
        };
        if state.begun || self.is_done() {
            return;
        }
        let mut mark = Vec::new();
        if session.keeper.is_some() {
            session.remember(self);
            if session.marks_beginnings() {
                state.history.mark();
                state.history.write_last(b"", &mut mark);
                state.last_written = state.history.sequence();
            }
        }
        state.begun = true;
        // An error means that the client has disconnected, which the writer also reports by itself.
        _ = reader.writer.begin(&self.head(), &mark);
    }

    /// Ends the response and tells the reader to reconnect after `retry`. Events that are sent
    /// meanwhile are stored for the reader. Does nothing if the reader can't resume the stream.
    fn close_stream_and_retry(self: &Arc<Self>, retry: Duration) -> Result<()> {
        let session = self.session()?;
        if !session.marks_beginnings() {
            return Ok(());
        }
        let Some(keeper) = &session.keeper else {
            return Ok(());
        };
        let mut state = self.state.lock();
        let Some(Reader { mut writer, .. }) = state.reader.take() else {
            return Ok(());
        };
        let complaint = state.history.keep(keeper, b"");
        state.last_written = state.history.sequence();
        let mut mark = Vec::new();
        write_mark(&mut mark, &state.history.last_id().to_string(), Some(retry));
        let begins = !std::mem::replace(&mut state.begun, true);
        let sent = if begins {
            writer.begin(&self.head(), &mark).map(|()| true)
        } else {
            writer.write(&mark, None)
        };
        self.unlock(state);
        // The stream is registered before the response ends, since the client can reconnect after
        // that.
        if self.number > 0 {
            session.remember(self);
        }
        if let Some(error) = complaint {
            keeper.report(&error);
        }
        if sent? {
            writer.finish()?;
        }
        Ok(())
    }

    fn session(&self) -> Result<Arc<Session>> {
        self.session.upgrade().ok_or_else(gone)
    }

    /// Ends the stream. The newest reader gets the error `last` first, if there is an error. Never
    /// blocks.
    pub(super) fn close_now(self: &Arc<Self>, last: Option<Vec<u8>>) {
        self.leave_action(|actions| {
            actions.closed = true;
            actions.last = actions.last.take().or(last);
        });
        self.settle();
    }

    fn leave_action(&self, leave: impl FnOnce(&mut Actions)) {
        let mut actions = self.actions.lock();
        leave(actions.get_or_insert_default());
        drop(actions);
        self.has_actions.store(true, Ordering::SeqCst);
    }

    /// Performs the actions that any thread has left in `actions`.
    ///
    /// A thread calls this function after it has left an action, and after it has released the
    /// stream's lock. If another thread holds the lock, this function returns, because the holder
    /// checks `has_actions` after releasing the lock. So no action is lost, and no thread blocks.
    fn settle(self: &Arc<Self>) {
        while self.has_actions.load(Ordering::SeqCst) {
            let Some(mut state) = self.state.try_lock() else {
                return;
            };
            // The flag is cleared before the actions are removed: a later action sets the flag
            // again.
            self.has_actions.store(false, Ordering::SeqCst);
            let actions = self.actions.lock().take();
            let actions = actions.map(|actions| *actions).unwrap_or_default();
            let mut lost = Vec::new();
            let mut has_new_reader = false;
            for number in actions.gone {
                let (reader, was_newest) = state.lose(number);
                lost.extend(reader);
                has_new_reader |= was_newest;
            }
            if actions.closed {
                self.done.store(true, Ordering::SeqCst);
                state.hang_up(actions.last.as_deref());
            } else if actions.silent {
                self.begin_silently(&mut state);
            }
            let is_read = state.reader.is_some();
            let is_behind =
                has_new_reader && is_read && state.last_written < state.history.sequence();
            self.is_read.store(is_read, Ordering::SeqCst);
            drop(state);
            if !lost.is_empty()
                && let Some(session) = self.session.upgrade()
            {
                // The idle time of the session begins now, unless another stream of the session has
                // a reader.
                session.touch();
                if is_behind {
                    let stream = Arc::clone(self);
                    let catch_up = move || stream.catch_up();
                    session.connection().peer().run_in_order(catch_up);
                }
                if self.number == 0 && !is_read {
                    session.lost_its_stream();
                }
            }
        }
    }

    /// Sends events on the GET stream in one write, if they can be written without blocking. Sends
    /// all events or none. Events that were not sent are not stored.
    pub(super) fn offer(self: &Arc<Self>, texts: &[Vec<u8>]) -> Offered {
        let Ok(session) = self.session() else {
            return Offered::Over;
        };
        let mut state = self.state.lock();
        if self.is_done() {
            return Offered::Over;
        }
        let Some(number) = state.reader.as_ref().map(|reader| reader.number) else {
            return Offered::Unread;
        };
        // A reader that has just become the newest one first gets the events that the previous
        // reader missed.
        let has_written_rest = match session.keeper {
            Some(_) => self.write_rest(&mut state),
            None => Ok(true),
        };
        let mut events = Vec::with_capacity(texts.iter().map(|text| text.len() + 32).sum());
        for (place, text) in (1..).zip(texts) {
            match &session.keeper {
                None => write_event(&mut events, None, text),
                Some(_) => history::write(&mut events, state.history.next_id(place), text),
            }
        }
        let written = match (has_written_rest, &mut state.reader) {
            (Ok(true), Some(reader)) => reader.writer.write(&events, None),
            (rest, _) => rest,
        };
        let (mut complaint, is_written) = (None, matches!(written, Ok(true)));
        // A reader that has disconnected may have got the events. So the events are stored, and
        // count as sent.
        if let Some(keeper) = &session.keeper
            && (is_written || written.is_err())
        {
            for text in texts {
                let failed = state.history.keep(keeper, text);
                complaint = complaint.or(failed);
            }
        }
        if is_written {
            state.last_written = state.history.sequence();
        }
        if written.is_err() {
            self.leave_action(|actions| actions.gone.push(number));
        }
        self.unlock(state);
        if let (Some(keeper), Some(error)) = (&session.keeper, complaint) {
            keeper.report(&error);
        }
        match written {
            Ok(false) => Offered::Full,
            Ok(true) | Err(_) => Offered::Accepted,
        }
    }

    /// Sends an event on the GET stream.
    pub(super) fn announce(self: &Arc<Self>, text: &[u8]) {
        // An error means that the session is over.
        _ = self.say(text, None);
    }
}

/// The response sink of a request in a legacy session: all messages go to the request's stream.
pub(in super::super) struct RequestStream {
    stream: Arc<Stream>,
    demand: Demand,
    /// Whether the client accepts event streams.
    takes_events: bool,
}

impl RequestStream {
    /// Creates the response sink of a request, and registers a callback for the reader's
    /// disconnect. If the client accepts events, the response begins as an event stream after a
    /// long silence.
    pub(in super::super) fn new(stream: Arc<Stream>, demand: Demand, takes_events: bool) -> Self {
        let mut state = stream.state.lock();
        if let Some(Reader { writer, .. }) = state.reader.take() {
            stream.watch(&mut state, writer);
        }
        if takes_events {
            stream.begin_when_silent(&mut state);
        }
        stream.unlock(state);
        Self {
            stream,
            demand,
            takes_events,
        }
    }
}

impl ResponseSink for RequestStream {
    fn takes_messages(&self) -> bool {
        self.takes_events
    }

    fn send(&self, text: &[u8], deadline: Option<Instant>) -> Result<bool> {
        if !self.takes_events {
            return Ok(true);
        }
        self.stream.say(text, deadline)
    }

    fn ask(&self, text: &[u8], deadline: Option<Instant>) -> Result<()> {
        if !self.takes_events {
            return Err(takes_no_events());
        }
        self.send(text, deadline).map(drop)
    }

    fn respond(&self, text: Vec<u8>, answer: Answer, deadline: Option<Instant>) -> Result<()> {
        let session = self.stream.session()?;
        session.touch();
        let mut state = self.stream.state.lock();
        if self.stream.is_done() {
            return Err(gone());
        }
        if !state.begun {
            self.stream.done.store(true, Ordering::SeqCst);
            let reader = state.reader.take();
            self.stream.unlock(state);
            let head = session.head_of_answer(self.demand.head(answer), answer);
            let sent = match reader {
                Some(mut reader) => reader.writer.respond(&head, &text),
                None => Err(gone()),
            };
            buffer_cache::give(text);
            return sent;
        }
        drop(state);
        self.stream.say(&text, deadline)?;
        let mut state = self.stream.state.lock();
        self.stream.done.store(true, Ordering::SeqCst);
        state.hang_up(None);
        self.stream.unlock(state);
        session.forget_done();
        Ok(())
    }

    fn demand(&self, scopes: &BTreeSet<String>) {
        self.demand.note_scopes(scopes);
    }

    fn refused_by_guard(&self) {
        self.demand.note_guard();
    }

    fn close_stream_and_retry(&self, retry: Duration) -> Result<()> {
        match self.takes_events {
            true => self.stream.close_stream_and_retry(retry),
            false => Ok(()),
        }
    }

    fn close(&self) {
        self.stream.close_now(None);
    }

    fn cut_off(&self, error: Vec<u8>) {
        self.stream.close_now(Some(error));
    }
}

impl Drop for RequestStream {
    fn drop(&mut self) {
        if !self.stream.is_done() {
            self.stream.close_now(None);
        }
    }
}

impl fmt::Debug for RequestStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RequestStream").field(&self.stream).finish()
    }
}

debug_fields!(Stream, number);

fn gone() -> Error {
    Error::new(ErrorKind::Closed, "the stream has ended")
}

#[cfg(all(test, not(loom), target_os = "linux", target_pointer_width = "64"))]
mod tests {
    use super::*;

    // Each session has a stream. See "Memory" in docs/performance.md.
    #[test]
    fn a_stream_is_small() {
        let size = size_of::<Stream>();
        assert!(size <= 184, "{size} bytes");
    }
}
