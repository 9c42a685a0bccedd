//! The writer: the queue of messages to write, and the choice of the thread that writes them.
//!
//! Messages are queued under a lock and written outside of the lock. A sending thread writes for
//! itself if no other thread writes, which avoids a context switch. While a thread writes, other
//! threads only queue messages. The writing thread writes these messages too, several in one write.
//!
//! Messages that can be merged are not queued. They stay with their [`Source`] until the writing
//! thread pulls them, just before the write.
//!
//! **Invariant:** the [`Sender`] is either in the state or owned by the one thread that writes. A
//! sending thread queues its message before it looks for a writing thread. Under the lock, the
//! writing thread checks the queue before it puts the [`Sender`] back. So it writes the message or
//! returns [`Flush::Unfinished`]. After [`Flush::Unfinished`] another flush must follow, so no
//! message is stranded.

use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::sync::atomic::Ordering;
use std::thread::{Thread, ThreadId};
use std::time::{Duration, Instant};

use super::activity::{Running, thread_name};
use super::cancel::CancelToken;
use crate::error::{Error, ErrorKind, Result};
use crate::sync::{AtomicBool, AtomicUsize, Condvar, Mutex, MutexGuard, fence};
use crate::transport::clock::about_now;
use crate::transport::{Sender, SessionMessage};

/// The maximum number of batches that a thread writes in a row. Then another thread continues the
/// writing.
const ROUNDS: usize = 16;
/// The number of queued answers at which the time limit [`PATIENCE`] begins. Fewer answers are held
/// back as long as more input is available.
const TOGETHER: usize = 16;
/// The number of queued answers at which all of them are written at once. [`TOGETHER_BYTES`] is the
/// corresponding limit in bytes.
const TOGETHER_MOST: usize = 64;
const TOGETHER_BYTES: usize = 64 << 10;
/// How long answers may still be held back after [`TOGETHER`] answers were queued.
const PATIENCE: Duration = Duration::from_micros(50);
/// The maximum capacity, in messages, of a queue buffer that is reused. A larger buffer is freed.
const SPARE: usize = 8;

thread_local! {
    /// The id of the current thread.
    static HERE: ThreadId = std::thread::current().id();
}

/// A source of messages that are created just before they are written. Several changes before the
/// write are merged into one message.
pub(crate) trait Source: Send + Sync {
    /// Queues messages of the source until these messages have `enough` bytes or the queue is full.
    /// Returns whether the source has more messages. The function neither blocks nor runs user
    /// code.
    fn pull(&self, enough: usize) -> bool;
}

/// The outgoing message queue of a connection.
pub(crate) struct Writer {
    // Not held while a thread writes, waits, or runs a `Source`. Lock order: a request's lock
    // before this lock.
    state: Mutex<State>,
    /// The source of merged messages; empty until the source has its first message.
    source: OnceLock<Box<dyn Source>>,
    /// The condition variable that is notified when the queue became shorter, a thread stopped
    /// writing, or the writer was closed.
    changed: Condvar,
    /// Whether the reading thread guarantees to flush the queue before it blocks.
    // Order: a sending thread queues its message, then loads the flag. The reading thread clears
    // the flag, then checks the queue once more. A fence stands between the two steps of each
    // thread. If the sending thread saw `true`, this check finds its message. Otherwise the sending
    // thread flushes itself. Without the check the message would be stranded.
    seen_to: AtomicBool,
    /// The fill level of the queue, see [`State::fill`]. The reading thread reads the level after
    /// each answer, mostly without the lock.
    // Stored under the lock. `is_due` reads it without the lock, see `seen_to`.
    fill: AtomicUsize,
    /// The number of queued messages whose write may be delayed, so that they are written together
    /// with later messages. No thread has to write them before it blocks, except a thread that
    /// waits for their answers.
    // Stored under the lock.
    soon: AtomicUsize,
    max_bytes: usize,
}

#[derive(Debug)]
struct State {
    queue: VecDeque<SessionMessage>,
    /// An empty queue whose memory is reused.
    spare: VecDeque<SessionMessage>,
    /// The number of bytes of all messages that are queued and not yet written. Messages that the
    /// writer has taken out of the queue are included.
    bytes: usize,
    // The writing thread takes the sender out of the state. So there is only one writer.
    /// The sender of the transport; `None` while a thread writes.
    sender: Option<Box<dyn Sender>>,
    /// The thread that is writing or was the last to write, and the time at which it began to
    /// write.
    writer: Option<(Thread, Instant)>,
    /// The number of threads that wait for room in the queue.
    waiting: usize,
    /// When the queue first had [`TOGETHER`] answers since the last write.
    held_since: Option<Instant>,
    /// Whether the sender holds the rest of a message whose write was interrupted by a deadline.
    cut: bool,
    /// Whether the source of merged messages has messages to pull.
    pulls: bool,
    /// The time since which the peer has read nothing.
    unread_since: Option<Instant>,
    /// The last result of [`Sender::sent_bytes`].
    sent_bytes: u64,
    closed: Option<Error>,
}

/// The thread that writes a message, and the time at which it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    /// The sending thread writes the message at once, unless another thread is about to. The
    /// sending thread waits for room in the queue.
    Now,
    /// The message is written together with later messages: by the next thread that waits for a
    /// call, or by a thread of the connection after about a millisecond. The sending thread waits
    /// for room in the queue.
    Soon,
    /// A thread of the connection writes the message. The sending thread does not block.
    Elsewhere,
}

/// How long a sending thread waits for room in the queue, and for the peer to read.
#[derive(Clone, Copy)]
pub(super) enum SendDeadline<'a> {
    /// The write timeout of the connection, beginning now.
    WriteTimeout,
    Until(Option<Instant>),
    /// The deadline and the token of a call. The thread of a call writes only for a moment.
    OfCall(Option<Instant>, Option<&'a CancelToken>),
}

/// The result of a flush of the writer.
#[derive(Debug)]
pub(crate) enum Flush {
    /// Nothing is left to write, or another thread is writing and will write the rest.
    Done,
    /// Messages are left in the queue. Another thread has to continue the writing.
    Unfinished,
    /// Writing failed, so the connection has ended.
    Failed(Error),
}

impl Writer {
    pub(crate) fn new(sender: Box<dyn Sender>, max_bytes: usize) -> Self {
        let state = State {
            queue: VecDeque::new(),
            spare: VecDeque::new(),
            bytes: 0,
            sender: Some(sender),
            writer: None,
            waiting: 0,
            held_since: None,
            cut: false,
            pulls: false,
            unread_since: None,
            sent_bytes: 0,
            closed: None,
        };
        Self {
            state: Mutex::new(state),
            source: OnceLock::new(),
            changed: Condvar::new(),
            seen_to: AtomicBool::new(false),
            fill: AtomicUsize::new(0),
            soon: AtomicUsize::new(0),
            max_bytes,
        }
    }

    /// Takes the message out of the `Option` and queues it, if the queue has room. The next
    /// [`flush`](Self::flush) writes the message.
    ///
    /// With [`When::Elsewhere`] up to twice the limit may be queued, because the sending thread
    /// cannot wait for room.
    ///
    /// # Errors
    ///
    /// The reason why the writer is closed, if it is closed. `Limit` if there is no room for a
    /// message with [`When::Elsewhere`].
    pub(crate) fn push(&self, message: &mut Option<SessionMessage>, when: When) -> Result<()> {
        let mut state = self.state.lock();
        if let Some(error) = &state.closed {
            return Err(error.clone());
        }
        let len = message.as_ref().map_or(0, |message| message.text.len());
        let max_bytes = match when {
            When::Elsewhere => self.max_bytes.saturating_mul(2),
            When::Now | When::Soon => self.max_bytes,
        };
        if !state.has_room(len, max_bytes) {
            return match when {
                When::Elsewhere => Err(Error::new(ErrorKind::Limit, stuck(state.bytes))),
                When::Now | When::Soon => Ok(()),
            };
        }
        if let Some(message) = message.take() {
            state.bytes += len;
            state.queue.push_back(message);
            if when == When::Soon {
                self.soon.fetch_add(1, Ordering::Release);
            }
            self.store_fill(&state);
        }
        Ok(())
    }

    /// Records that the source of merged messages has messages to pull. If there is no source yet,
    /// `make` creates it.
    pub(crate) fn want_pull(&self, make: impl FnOnce() -> Box<dyn Source>) {
        self.source.get_or_init(make);
        let mut state = self.state.lock();
        // Nothing is written any more after the writer was closed.
        state.pulls = state.closed.is_none();
        self.store_fill(&state);
    }

    /// Blocks until the queue has room for a message of `len` bytes.
    ///
    /// # Errors
    ///
    /// `Timeout` at the deadline, or the reason why the writer is closed.
    pub(crate) fn wait_for_room(&self, len: usize, deadline: Option<Instant>) -> Result<()> {
        let mut state = self.state.lock();
        loop {
            if let Some(error) = &state.closed {
                return Err(error.clone());
            }
            if state.has_room(len, self.max_bytes) {
                return Ok(());
            }
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Err(Error::new(ErrorKind::Timeout, stuck(state.bytes)));
            }
            state.waiting += 1;
            state = self.changed.wait_until(state, deadline);
            state.waiting -= 1;
        }
    }

    /// Writes the queued messages until the queue is empty or the deadline passes. If another
    /// thread is already writing, waits for that thread.
    pub(crate) fn drain(&self, deadline: Instant) {
        while let Flush::Done | Flush::Unfinished = self.flush(deadline) {
            let mut state = self.state.lock();
            while state.is_writing() && Instant::now() < deadline {
                state = self.changed.wait_until(state, Some(deadline));
            }
            if !state.has_more() || Instant::now() >= deadline {
                return;
            }
        }
    }

    /// Writes the queued messages, unless another thread is already writing.
    pub(crate) fn flush(&self, deadline: Instant) -> Flush {
        let mut state = self.state.lock();
        if !state.has_more() {
            return Flush::Done;
        }
        let Some(mut sender) = state.sender.take() else {
            return Flush::Done;
        };
        state.held_since = None;
        state.now_written_here();
        let mut batch = std::mem::take(&mut state.spare);
        let began = about_now();
        for round in 1.. {
            state = self.pull(state);
            let taken = self.take_queue(&mut state, &mut batch);
            drop(state);
            // The transport may belong to the host. A panic in it ends the connection like any
            // other failure.
            let send = AssertUnwindSafe(|| {
                let sent = sender.send(&mut batch, deadline);
                (sent, sender.sent_bytes())
            });
            let (sent, bytes) = catch_unwind(send).unwrap_or_else(|_| {
                let text = "the transport panicked";
                (Err(Error::new(ErrorKind::Io, text)), 0)
            });
            state = self.state.lock();
            state.bytes = state.bytes.saturating_sub(taken - bytes_of(&batch));
            self.changed.notify_all();
            let sent_before = std::mem::replace(&mut state.sent_bytes, bytes);
            let is_read = sent_before != bytes || bytes_of(&batch) < taken;
            match sent {
                Ok(()) => (state.cut, state.unread_since) = (false, None),
                Err(error) if error.kind() == ErrorKind::Timeout && state.closed.is_none() => {
                    // Messages that were queued meanwhile follow the rest of this batch.
                    batch.append(&mut state.queue);
                    state.queue = batch;
                    state.cut = true;
                    self.store_fill(&state);
                    if is_read {
                        state.unread_since = None;
                    } else {
                        state.unread_since.get_or_insert(began);
                    }
                    state.sender = Some(sender);
                    drop(state);
                    self.changed.notify_all();
                    return Flush::Unfinished;
                }
                Err(_) if state.closed.is_some() => {}
                Err(error) => {
                    let forgotten = state.close(&error);
                    drop(state);
                    drop((forgotten, sender));
                    self.changed.notify_all();
                    return Flush::Failed(error);
                }
            }
            if state.closed.is_some() {
                drop(state);
                drop(sender);
                return Flush::Done;
            }
            if !state.has_more() || round == ROUNDS {
                break;
            }
        }
        state.sender = Some(sender);
        if batch.capacity() <= SPARE {
            state.spare = batch;
        }
        let has_more = state.has_more();
        self.store_fill(&state);
        drop(state);
        self.changed.notify_all();
        if has_more {
            Flush::Unfinished
        } else {
            Flush::Done
        }
    }

    /// Takes all queued messages. Returns their number of bytes.
    fn take_queue(&self, state: &mut State, batch: &mut VecDeque<SessionMessage>) -> usize {
        std::mem::swap(&mut state.queue, batch);
        self.soon.store(0, Ordering::Release);
        bytes_of(batch)
    }

    /// Asks the connection's [`Source`] to put its messages into the queue, before the current
    /// thread writes. The messages go through the queue to keep their order.
    fn pull<'a>(&'a self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        if !std::mem::take(&mut state.pulls) {
            return state;
        }
        drop(state);
        let source = self.source.get();
        let is_left = source.is_some_and(|source| source.pull(TOGETHER_BYTES));
        state = self.state.lock();
        state.pulls |= is_left;
        state
    }

    /// Whether the source of merged messages has messages, and the peer has read nothing for the
    /// duration `span`.
    pub(crate) fn is_unread_for(&self, span: Duration) -> bool {
        let state = self.state.lock();
        let is_long = |since: Instant| since.elapsed() >= span;
        state.pulls && state.unread_since.is_some_and(is_long)
    }

    /// Whether no message is queued, being written, or waiting in the source of merged messages.
    pub(crate) fn is_empty(&self) -> bool {
        let state = self.state.lock();
        state.bytes == 0 && !state.pulls
    }

    /// Whether the reading thread has to flush the queue now. If another thread is writing, no
    /// flush is due.
    ///
    /// If `more_input` is false, the reading thread blocks for input next. So any queued message
    /// must be written, except messages whose write may be delayed. If `more_input` is true, a
    /// flush is due only if enough answers are queued. So several answers are written together.
    pub(crate) fn is_due(&self, more_input: bool) -> bool {
        if self.fill.load(Ordering::Acquire) < if more_input { TOGETHER } else { 1 } {
            return false;
        }
        let mut state = self.state.lock();
        let has_due =
            state.cut || state.pulls || state.queue.len() > self.soon.load(Ordering::Relaxed);
        let waits = state.sender.is_some() && has_due;
        waits && (!more_input || state.is_enough())
    }

    fn store_fill(&self, state: &State) {
        self.fill.store(state.fill(), Ordering::Release);
    }

    /// Whether messages are queued whose write may be delayed.
    pub(crate) fn has_soon(&self) -> bool {
        self.soon.load(Ordering::Acquire) > 0
    }

    /// Sets whether the reading thread, which calls this function, will flush before it blocks.
    /// After `false` the caller must check [`is_due`](Self::is_due).
    pub(crate) fn will_flush(&self, will_flush: bool) {
        self.seen_to.store(will_flush, Ordering::Relaxed);
        if !will_flush {
            fence(Ordering::SeqCst);
        }
    }

    /// Whether the reading thread will write the messages that were queued before this call. If
    /// many messages are queued, the result is false, so that the sending thread writes them.
    pub(crate) fn is_seen_to(&self) -> bool {
        fence(Ordering::SeqCst);
        self.seen_to.load(Ordering::Relaxed) && self.fill.load(Ordering::Relaxed) < TOGETHER_MOST
    }

    /// Returns true if the queue is full, or if senders already wait for room in the queue.
    pub(crate) fn is_full(&self) -> bool {
        let state = self.state.lock();
        state.waiting > 0 || state.bytes >= self.max_bytes
    }

    /// Whether few messages are queued, so that writing them can wait.
    pub(crate) fn is_short(&self) -> bool {
        self.fill.load(Ordering::Relaxed) < TOGETHER
    }

    /// Refuses new messages and discards the queued ones.
    pub(crate) fn close(&self, error: &Error) {
        let mut state = self.state.lock();
        let forgotten = state.close(error);
        drop(state);
        self.changed.notify_all();
        // The sender may belong to the host, and may use the connection in its `drop`.
        drop(forgotten);
    }

    /// Returns the thread that is writing, and the number of threads that wait for room in the
    /// queue.
    pub(crate) fn who_writes(&self, now: Instant) -> (Option<Running>, usize) {
        let state = self.state.lock();
        let writer = state.writer.as_ref().filter(|_| state.is_writing());
        let writer = writer.map(|(thread, since)| Running {
            span: now.saturating_duration_since(*since),
            thread: thread_name(thread),
        });
        (writer, state.waiting)
    }

    pub(crate) fn queued_bytes(&self) -> usize {
        self.state.lock().bytes
    }
}

impl State {
    /// Whether the queue has room for a message. An empty queue accepts one message of any size.
    fn has_room(&self, len: usize, max: usize) -> bool {
        self.bytes == 0 || self.bytes.saturating_add(len) <= max
    }

    fn has_more(&self) -> bool {
        self.cut || self.pulls || !self.queue.is_empty()
    }

    /// Returns a measure of how full the queue is: 0 if nothing is left to write, and at least
    /// [`TOGETHER`] if the queue has that many messages or [`TOGETHER_BYTES`] bytes.
    fn fill(&self) -> usize {
        let messages = self.queue.len() + self.bytes / (TOGETHER_BYTES / TOGETHER);
        messages.max(usize::from(self.has_more()))
    }

    /// Whether to write the queued messages now, although more input is available: because there
    /// are many, or because they have waited for some time.
    ///
    /// The time is checked only at every fourth answer, to read the clock rarely. So answers that
    /// have waited long enough wait for at most three more handlers.
    fn is_enough(&mut self) -> bool {
        if self.queue.len() >= TOGETHER_MOST || self.bytes >= TOGETHER_BYTES {
            return true;
        }
        if self.queue.len() < TOGETHER || !self.queue.len().is_multiple_of(4) {
            return false;
        }
        let now = Instant::now();
        now >= *self.held_since.get_or_insert(now) + PATIENCE
    }

    /// Records the current thread as the writer. Usually this thread already is the writer. So the
    /// ids are compared first, which avoids cloning the handle of `thread::current()`.
    fn now_written_here(&mut self) {
        let now = about_now();
        match &mut self.writer {
            Some((thread, since)) if thread.id() == HERE.with(|id| *id) => *since = now,
            writer => *writer = Some((std::thread::current(), now)),
        }
    }

    fn is_writing(&self) -> bool {
        self.sender.is_none() && self.closed.is_none()
    }

    /// Closes the writer. Returns the queued messages and the sender, which the caller drops
    /// outside of the lock.
    #[must_use]
    fn close(&mut self, error: &Error) -> (VecDeque<SessionMessage>, Option<Box<dyn Sender>>) {
        if self.closed.is_none() {
            self.closed = Some(error.clone());
        }
        (self.cut, self.pulls) = (false, false);
        self.bytes = 0;
        (std::mem::take(&mut self.queue), self.sender.take())
    }
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer")
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

fn stuck(bytes: usize) -> String {
    format!("the peer does not read: {bytes} bytes wait to be written (Limits::max_queued_bytes)")
}

fn bytes_of(messages: &VecDeque<SessionMessage>) -> usize {
    messages.iter().map(|message| message.text.len()).sum()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::{Arc, mpsc};
    use std::time::Duration;

    use super::*;

    /// A sender that follows a script: for each call, the script has the number of messages to send
    /// or the kind of error.
    #[derive(Debug)]
    struct Script {
        turns: VecDeque<Result<usize, ErrorKind>>,
        sent: mpsc::Sender<Vec<String>>,
    }

    impl Sender for Script {
        fn send(&mut self, queue: &mut VecDeque<SessionMessage>, _deadline: Instant) -> Result<()> {
            let turn = self.turns.pop_front().unwrap_or(Ok(usize::MAX));
            let count = turn.unwrap_or(0).min(queue.len());
            let texts = queue
                .drain(..count)
                .map(|message| String::from_utf8_lossy(&message.text).into_owned());
            self.sent.send(texts.collect()).expect("the test listens");
            match turn {
                Err(kind) => Err(Error::new(kind, "scripted")),
                Ok(_) if !queue.is_empty() => Err(Error::new(ErrorKind::Timeout, "scripted")),
                Ok(_) => Ok(()),
            }
        }
    }

    fn writer(
        turns: &[Result<usize, ErrorKind>],
        max: usize,
    ) -> (Writer, mpsc::Receiver<Vec<String>>) {
        let (sent, received) = mpsc::channel();
        (
            Writer::new(
                Box::new(Script {
                    turns: turns.iter().copied().collect(),
                    sent,
                }),
                max,
            ),
            received,
        )
    }

    fn push(writer: &Writer, text: &str) {
        let mut message = Some(SessionMessage::new(text.into()));
        writer.push(&mut message, When::Elsewhere).expect("room");
    }

    #[test]
    fn queued_messages_leave_together_and_in_order() {
        let (writer, sent) = writer(&[], 100);
        for text in ["a", "b", "c"] {
            push(&writer, text);
        }
        assert!(matches!(writer.flush(Instant::now()), Flush::Done));
        assert_eq!(sent.try_iter().collect::<Vec<_>>(), [["a", "b", "c"]]);
        assert_eq!(writer.queued_bytes(), 0);
    }

    #[test]
    fn answers_wait_for_the_next_ones_while_those_come_quickly() {
        let (writer, _sent) = writer(&[], 1 << 20);
        push(&writer, "a");
        assert!(writer.is_due(false), "nothing comes next");
        assert!(!writer.is_due(true));
        for _ in 1..TOGETHER {
            push(&writer, "a");
        }
        writer.state.lock().held_since = Instant::now().checked_sub(PATIENCE);
        assert!(writer.is_due(true), "the next ones take their time");
        writer.state.lock().held_since = Instant::now().checked_add(Duration::from_secs(3600));
        assert!(!writer.is_due(true), "they come quickly");
        for _ in TOGETHER..TOGETHER_MOST {
            push(&writer, "a");
        }
        assert!(writer.is_due(true), "there are enough");
        assert!(matches!(writer.flush(Instant::now()), Flush::Done));
        assert!(writer.state.lock().held_since.is_none());
        push(&writer, &"a".repeat(TOGETHER_BYTES));
        assert!(writer.is_due(true), "it is large");
    }

    #[test]
    fn what_a_deadline_left_goes_first_next_time() {
        let (writer, sent) = writer(&[Ok(1)], 100);
        push(&writer, "a");
        push(&writer, "b");
        assert!(matches!(writer.flush(Instant::now()), Flush::Unfinished));
        push(&writer, "c");
        assert!(matches!(writer.flush(Instant::now()), Flush::Done));
        assert_eq!(
            sent.try_iter().flatten().collect::<Vec<_>>(),
            ["a", "b", "c"]
        );
    }

    #[test]
    fn a_full_outbox_makes_callers_wait_and_tells_the_reader() {
        let (writer, _sent) = writer(&[], 4);
        push(&writer, "abc");
        let soon = Instant::now() + Duration::from_millis(5);
        let mut waiting = Some(SessionMessage::new("de".into()));
        writer.push(&mut waiting, When::Now).expect("open");
        assert!(waiting.is_some(), "full");
        let error = writer.wait_for_room(2, Some(soon)).expect_err("full");
        assert_eq!(error.kind(), ErrorKind::Timeout);
        push(&writer, "de");
        push(&writer, "fgh");
        let pushed = writer.push(&mut waiting, When::Elsewhere);
        let error = pushed.expect_err("full");
        assert_eq!(error.kind(), ErrorKind::Limit);
    }

    #[test]
    fn one_message_of_any_size_is_taken() {
        let (writer, sent) = writer(&[], 4);
        push(&writer, "larger than the limit");
        assert!(matches!(writer.flush(Instant::now()), Flush::Done));
        assert_eq!(sent.try_iter().count(), 1);
    }

    /// A source that always has more messages.
    struct Endless;

    impl Source for Endless {
        fn pull(&self, _enough: usize) -> bool {
            true
        }
    }

    #[test]
    fn a_peer_that_reads_nothing_is_told_from_one_that_is_slow() {
        let hour = Duration::from_secs(3600);
        let nothing = Err(ErrorKind::Timeout);
        let (writer, _sent) = writer(&[nothing, nothing, Ok(1), nothing], 100);
        push(&writer, "a");
        push(&writer, "b");
        assert!(matches!(writer.flush(Instant::now()), Flush::Unfinished));
        assert!(!writer.is_unread_for(Duration::ZERO), "nobody waits");
        writer.want_pull(|| Box::new(Endless));
        assert!(writer.is_unread_for(Duration::ZERO) && !writer.is_unread_for(hour));
        assert!(matches!(writer.flush(Instant::now()), Flush::Unfinished));
        assert!(writer.is_unread_for(Duration::ZERO));
        assert!(matches!(writer.flush(Instant::now()), Flush::Unfinished));
        assert!(!writer.is_unread_for(Duration::ZERO), "it took a message");
        assert!(matches!(writer.flush(Instant::now()), Flush::Unfinished));
        assert!(writer.is_unread_for(Duration::ZERO));
        assert!(!writer.is_empty() && writer.is_due(false));
    }

    #[test]
    fn a_failure_closes_and_wakes_who_waits_for_room() {
        let (writer, _sent) = writer(&[Err(ErrorKind::Io)], 1);
        let writer = Arc::new(writer);
        push(&writer, "a");
        let waiting = {
            let writer = Arc::clone(&writer);
            std::thread::spawn(move || writer.wait_for_room(1, None))
        };
        assert!(matches!(writer.flush(Instant::now()), Flush::Failed(_)));
        // The thread either waited for room and was woken, or started after the end.
        assert_eq!(
            waiting
                .join()
                .expect("no panic")
                .expect_err("closed")
                .kind(),
            ErrorKind::Io
        );
    }
}

#[cfg(all(test, loom))]
mod loom_tests;
