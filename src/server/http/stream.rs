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
//! **Threads.** Under that lock a store of the host's may take its time, and a slow client its own. So only who speaks or begins to read waits
//! for it; whoever else comes, to close the stream or because its reader has gone, leaves word, and who holds the lock sees to it
//! ([`Stream::settle`]).
//!
//! Spec: Transports, "Streamable HTTP", "Resumability and Redelivery" (2025-03-26 to 2025-11-25).

use std::collections::BTreeSet;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError, Weak};
use std::time::{Duration, Instant};

use super::super::hub::Offered;
use super::denied::Demand;
use super::history::{self, History, Missing};
use super::reply::{legacy_status, stream_head};
use super::session::Session;
use crate::error::{Error, ErrorCode, ErrorKind, Result};
use crate::protocol::Outlet;
use crate::schema::ProtocolVersion;
use crate::spare;
use crate::transport::http::event::{write_event, write_mark};
use crate::transport::http::{ResponseHead, ResponseWriter};

/// One stream of a session.
pub(super) struct Stream {
    pub(super) number: u64,
    session: Weak<Session>,
    keep_alive: Duration,
    state: Mutex<State>,
    /// The last event has been said. Set under the lock.
    done: AtomicBool,
    /// Somebody wants the stream to be done.
    closed: AtomicBool,
    /// The last reader that has gone.
    gone: AtomicU64,
}

struct State {
    /// There while a client reads.
    writer: Option<Box<dyn ResponseWriter>>,
    /// Tells the reader of this moment from those before.
    reader: u64,
    /// Something was said, so that the response is a stream of events.
    begun: bool,
    /// How many events were handed to a reader.
    told: u64,
    history: History,
}

impl State {
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
        Self::new(0, session, keep_alive, None)
    }

    /// The stream of one request.
    pub(super) fn of_request(
        number: u64,
        session: Weak<Session>,
        keep_alive: Duration,
        writer: Box<dyn ResponseWriter>,
    ) -> Self {
        Self::new(number, session, keep_alive, Some(writer))
    }

    fn new(
        number: u64,
        session: Weak<Session>,
        keep_alive: Duration,
        writer: Option<Box<dyn ResponseWriter>>,
    ) -> Self {
        Self {
            number,
            session,
            keep_alive,
            state: Mutex::new(State {
                writer,
                reader: 0,
                begun: false,
                told: 0,
                history: History::of(number),
            }),
            done: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            gone: AtomicU64::new(0),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether nothing more comes.
    pub(super) fn is_done(&self) -> bool {
        self.done.load(Ordering::SeqCst)
    }

    /// Whether somebody reads, or something is being said.
    pub(super) fn is_read(&self) -> bool {
        match self.state.try_lock() {
            Ok(state) => state.writer.is_some(),
            Err(TryLockError::Poisoned(state)) => state.into_inner().writer.is_some(),
            Err(TryLockError::WouldBlock) => true,
        }
    }

    fn head(&self) -> ResponseHead {
        stream_head(Some(self.keep_alive))
    }

    /// Says something. What can't be written now is kept for the client to come back for.
    fn say(self: &Arc<Self>, text: &[u8], deadline: Option<Instant>) -> Result<bool> {
        let session = self.session()?;
        let mut state = self.lock();
        if self.is_done() {
            return Err(gone());
        }
        let begins = !state.begun && state.writer.is_some();
        if begins && self.number > 0 {
            // A client may lose the stream, and come back, as soon as it has read something.
            session.remember(self);
        }
        let mut event = Vec::with_capacity(text.len() + 32);
        let mut complaint = None;
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
                    state.told = state.history.sequence();
                }
            }
            // It reads too slowly, or has gone: the event is kept for when it comes back.
            Ok(false) | Err(_) => _ = self.gone.fetch_max(state.reader, Ordering::SeqCst),
        }
        drop(state);
        if let (Some(keeper), Some(error)) = (&session.keeper, complaint) {
            keeper.report(&error);
        }
        self.settle();
        Ok(true)
    }

    /// Lets a client read from behind the event that it saw last, or, on a standing stream, what no other one was told. `preface` is
    /// what it reads first.
    ///
    /// Gives the writer back if what it asks for can't be had.
    pub(super) fn read_from(
        self: &Arc<Self>,
        seen: Option<u64>,
        preface: Vec<u8>,
        mut writer: Box<dyn ResponseWriter>,
    ) -> std::result::Result<(), (Missing, Box<dyn ResponseWriter>)> {
        let mut state = self.lock();
        let (may_skip, mut piece, mut complaint) = (seen.is_none(), preface, None);
        let from = seen.unwrap_or(state.told);
        let mut reached = match state.history.read(from, may_skip, &mut piece) {
            Ok(reached) => reached,
            Err(missing) if !may_skip => return Err((missing, writer)),
            // Who asks for nothing in particular gets what comes from now on.
            Err(missing) => {
                complaint = Some(missing);
                state.history.sequence()
            }
        };
        // A reader that was there before is one that the client has given up.
        state.hang_up();
        state.begun = true;
        let mut taken = writer.begin(&self.head(), &piece).map(|()| true);
        // As much as the client takes without being waited for: it comes back for the rest.
        while let Ok(true) = taken {
            state.told = reached;
            if reached == state.history.sequence() {
                break;
            }
            piece.clear();
            taken = match state.history.read(reached, may_skip, &mut piece) {
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
        match taken {
            Ok(true) if self.is_done() => _ = writer.finish(),
            Ok(true) => self.watch(&mut state, writer),
            Ok(false) | Err(_) => drop(writer),
        }
        drop(state);
        if let Some(Missing::Failed(error)) = complaint
            && let Ok(session) = self.session()
            && let Some(keeper) = &session.keeper
        {
            keeper.report(&error.context("the events of a stream can't be read"));
        }
        self.settle();
        if self.number == 0
            && let Ok(session) = self.session()
        {
            session.has_its_stream();
        }
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

    /// A reader has gone. Never waits.
    fn lose(&self, reader: u64) {
        self.gone.fetch_max(reader, Ordering::SeqCst);
        self.settle();
    }

    /// Sends the reader away for a while: it comes back for what is said meanwhile.
    pub(super) fn send_away(self: &Arc<Self>, retry: Duration) -> Result<()> {
        let session = self.session()?;
        if !session.marks_beginnings() {
            return Ok(());
        }
        let Some(keeper) = &session.keeper else {
            return Ok(());
        };
        let mut state = self.lock();
        let Some(mut writer) = state.writer.take() else {
            return Ok(());
        };
        let complaint = state.history.keep(keeper, b"");
        state.told = state.history.sequence();
        let mut mark = Vec::new();
        write_mark(&mut mark, &state.history.last_id().to_string(), Some(retry));
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
        if let Some(error) = complaint {
            keeper.report(&error);
        }
        self.settle();
        if sent? {
            writer.finish()?;
        }
        Ok(())
    }

    fn session(&self) -> Result<Arc<Session>> {
        self.session.upgrade().ok_or_else(gone)
    }

    /// Nothing more is said. Never waits.
    pub(super) fn close_now(&self) {
        self.closed.store(true, Ordering::SeqCst);
        self.settle();
    }

    /// Does what somebody wanted while the lock was held: called by whoever leaves such a word, and by whoever has just let go of the lock. So
    /// one of them does it, and nobody waits.
    fn settle(&self) {
        let words = || {
            let closed = self.closed.load(Ordering::SeqCst);
            (closed, self.gone.load(Ordering::SeqCst))
        };
        while words() != (false, 0) {
            let mut state = match self.state.try_lock() {
                Ok(state) => state,
                Err(TryLockError::Poisoned(state)) => state.into_inner(),
                Err(TryLockError::WouldBlock) => return,
            };
            let heard = words();
            let (closed, gone) = heard;
            let is_lost = gone > 0 && gone == state.reader;
            let lost = if is_lost { state.writer.take() } else { None };
            if closed {
                self.done.store(true, Ordering::SeqCst);
                state.hang_up();
            }
            drop(state);
            if lost.is_some()
                && let Some(session) = self.session.upgrade()
            {
                // From now on nobody uses it.
                session.touch();
                if self.number == 0 {
                    session.lost_its_stream();
                }
            }
            // A word that was left meanwhile found the lock held.
            if heard == words() {
                return;
            }
        }
    }

    /// Says something on a standing stream if there is a reader with room. Nothing is kept for who comes back unless it was said.
    pub(super) fn offer(self: &Arc<Self>, text: &[u8]) -> Offered {
        let Ok(session) = self.session() else {
            return Offered::Over;
        };
        let mut state = self.lock();
        if self.is_done() {
            return Offered::Over;
        }
        let mut event = Vec::with_capacity(text.len() + 32);
        match &session.keeper {
            None => write_event(&mut event, None, text),
            Some(_) => history::write(&mut event, state.history.next_id(), text),
        }
        let Some(writer) = &mut state.writer else {
            return Offered::Unread;
        };
        let written = writer.write(&event, None);
        let (mut complaint, is_written) = (None, matches!(written, Ok(true)));
        // A reader that goes may have seen it: it is kept, and the client comes back.
        if is_written || written.is_err() {
            complaint = session
                .keeper
                .as_ref()
                .and_then(|keeper| state.history.keep(keeper, text));
        }
        if is_written {
            state.told = state.history.sequence();
        }
        if written.is_err() {
            self.gone.fetch_max(state.reader, Ordering::SeqCst);
        }
        drop(state);
        if let (Some(keeper), Some(error)) = (&session.keeper, complaint) {
            keeper.report(&error);
        }
        self.settle();
        match written {
            Ok(false) => Offered::Full,
            Ok(true) | Err(_) => Offered::Taken,
        }
    }

    /// Says something on a standing stream.
    pub(super) fn announce(self: &Arc<Self>, text: &[u8]) {
        // It fails when the session is over.
        _ = self.say(text, None);
    }
}

/// The outlet of a request on a legacy session.
pub(super) struct RequestStream {
    stream: Arc<Stream>,
    demand: Demand,
}

impl RequestStream {
    /// Watches the reader from the beginning.
    pub(super) fn new(stream: Arc<Stream>, demand: Demand) -> Self {
        let mut state = stream.lock();
        if let Some(writer) = state.writer.take() {
            stream.watch(&mut state, writer);
        }
        drop(state);
        stream.settle();
        Self { stream, demand }
    }
}

impl Outlet for RequestStream {
    fn send(&self, text: &[u8], deadline: Option<Instant>) -> Result<bool> {
        self.stream.say(text, deadline)
    }

    fn respond(
        &self,
        text: Vec<u8>,
        error: Option<ErrorCode>,
        deadline: Option<Instant>,
    ) -> Result<()> {
        let session = self.stream.session()?;
        session.touch();
        let mut state = self.stream.lock();
        if self.stream.is_done() {
            return Err(gone());
        }
        if !state.begun {
            self.stream.done.store(true, Ordering::SeqCst);
            let writer = state.writer.take();
            drop(state);
            let head = session.head_of_answer(self.demand.head(error, legacy_status), error);
            let sent = match writer {
                Some(mut writer) => writer.respond(&head, &text),
                None => Err(gone()),
            };
            spare::give(text);
            return sent;
        }
        drop(state);
        self.stream.say(&text, deadline)?;
        let mut state = self.stream.lock();
        self.stream.done.store(true, Ordering::SeqCst);
        state.hang_up();
        Ok(())
    }

    fn demand(&self, scopes: &BTreeSet<String>) {
        self.demand.note(scopes);
    }

    fn send_away(&self, retry: Duration) -> Result<()> {
        self.stream.send_away(retry)
    }

    fn close(&self) {
        self.stream.close_now();
    }
}

impl Drop for RequestStream {
    fn drop(&mut self) {
        if !self.stream.is_done() {
            self.stream.close_now();
        }
    }
}

impl fmt::Debug for RequestStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RequestStream").field(&self.stream).finish()
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
