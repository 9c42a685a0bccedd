//! Captures the standard error of a child. A thread always drains the pipe, so that the child can't
//! block on a write. The last 64 KiB are stored.

use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::fallible;
use crate::sync::{Condvar, Mutex};
use crate::transport::sys::fd::Owned;
use crate::transport::sys::read::{Read, ReadEnd};
use crate::transport::{Stack, Threads};

/// The maximum number of bytes of standard error that are stored.
const TAIL_BYTES: usize = 64 << 10;
/// The maximum number of bytes of standard error that an error quotes.
const QUOTED_BYTES: usize = 2 << 10;
const QUOTED_LINES: usize = 20;
/// The maximum length of a line, in bytes. The callback gets a longer line in pieces.
const LINE_BYTES: usize = 64 << 10;
/// The size of the pieces, in bytes, in which the callback gets a line with invalid UTF-8 if there
/// is no memory to convert the whole line.
const PIECE_BYTES: usize = 1 << 10;
/// The time after an answer within which the answered request may be the cause of the child's end.
const AT_ONCE: Duration = Duration::from_secs(1);
/// The maximum time that closing waits for a callback that does not return.
const CALLBACK_PATIENCE: Duration = Duration::from_secs(1);

/// The destination of a child's standard error.
///
/// Output on standard error is not a sign of failure: servers use it for logging.
///
/// # Examples
///
/// ```no_run
/// use mcplink::client::Client;
/// use mcplink::transport::{Child, Stderr};
///
/// let log = Stderr::lines(|line| println!("weather-server: {line}"));
/// let client = Client::connect(Child::new("weather-server").stderr(log))?;
/// # Ok::<(), mcplink::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Stderr {
    /// A thread reads standard error and stores the last 64 KiB: see [`StderrTail`] and
    /// [`Error::stderr_tail`].
    #[default]
    Capture,
    /// Standard error goes to the standard error of this process.
    Inherit,
    /// Standard error is discarded.
    Discard,
    /// A thread captures standard error, and passes it to a function line by line: see
    /// [`Stderr::lines`].
    Lines(StderrLines),
}

impl Stderr {
    /// Captures standard error and calls `each` with every line, without the newline.
    ///
    /// The callback gets the lines in order, on the thread that drains standard error
    /// (`mcplink-stderr`). A slow callback stops the draining, and so can block the child. Bytes
    /// that are not UTF-8 are replaced. A line comes in pieces if it is longer than 64 KiB, or if
    /// there is no memory for it. After a panic, the callback gets no more lines, but standard
    /// error is still drained. The callback may drop or close the connection.
    pub fn lines(each: impl FnMut(&str) + Send + 'static) -> Self {
        Self::Lines(StderrLines(Arc::new(Mutex::new(Box::new(each)))))
    }
}

/// A function that gets the lines of a child's standard error. [`Stderr::lines`] creates it.
#[derive(Clone)]
pub struct StderrLines(Arc<Mutex<Box<EachLine>>>);

type EachLine = dyn FnMut(&str) + Send;

impl fmt::Debug for StderrLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StderrLines")
    }
}

/// The last 64 KiB of a child's standard error. The text can be read while the child runs and after
/// the child has ended.
///
/// The text is empty when standard error is not captured. Clones share the content.
///
/// # Examples
///
/// ```no_run
/// use mcplink::client::Client;
/// use mcplink::transport::Child;
///
/// let child = Child::new("weather-server");
/// let stderr = child.stderr_tail();
/// let client = Client::connect(child)?;
/// println!("{}", stderr.text()); // at any time
/// # Ok::<(), mcplink::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct StderrTail(Arc<Tail>);

#[derive(Debug, Default)]
struct Tail {
    /// Guards the stored text and the counts.
    ///
    /// Invariant: the drainer reads from the pipe with the lock held. So each byte is either in the
    /// pipe or in `count`. A thread that records an answer counts no byte twice.
    state: Mutex<TailState>,
    /// The condition variable that is notified when `done` is set.
    done: Condvar,
}

#[derive(Default)]
struct TailState {
    /// The last bytes of standard error. The buffer grows to twice [`TAIL_BYTES`], and is then cut
    /// to [`TAIL_BYTES`]. So each byte is moved once at most.
    bytes: Vec<u8>,
    /// The number of bytes that have arrived since the start.
    count: u64,
    /// The number of bytes that the child had written at its last answer, and at the answer before
    /// the last. Bytes that were still in the pipe count too.
    answered: [u64; 2],
    answered_at: Option<Instant>,
    /// Whether the end is reached: no more bytes arrive, and the callback has returned for the last
    /// time.
    done: bool,
}

impl fmt::Debug for TailState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.bytes.len().min(TAIL_BYTES))
    }
}

impl TailState {
    fn push(&mut self, bytes: &[u8]) {
        self.count += bytes.len() as u64;
        if fallible::append(&mut self.bytes, bytes).is_err() {
            return self.push_within(bytes);
        }
        if self.bytes.len() > 2 * TAIL_BYTES {
            let surplus = self.bytes.len() - TAIL_BYTES;
            self.bytes.drain(..surplus);
        }
    }

    /// Appends bytes without allocating memory. Older bytes are removed to make space.
    #[cold]
    fn push_within(&mut self, bytes: &[u8]) {
        let bytes = last(bytes, self.bytes.capacity());
        let most = self.bytes.capacity() - bytes.len();
        let surplus = self.bytes.len().saturating_sub(most);
        self.bytes.drain(..surplus);
        self.bytes.extend_from_slice(bytes);
    }
}

impl StderrTail {
    /// Returns the stored text. Bytes that are not UTF-8 are replaced.
    pub fn text(&self) -> String {
        let state = self.0.state.lock();
        String::from_utf8_lossy(last(&state.bytes, TAIL_BYTES)).into_owned()
    }

    /// Records that the child has answered. Output that the child wrote before may still be in the
    /// pipe.
    fn note_answer(&self, end: &ReadEnd) {
        let mut state = self.0.state.lock();
        let arriving = end.available() as u64;
        state.answered = [state.count + arriving, state.answered[0]];
        state.answered_at = Some(Instant::now());
    }

    /// Returns the lines of standard error since the last answer, cut to fit into an error.
    ///
    /// If output arrives while an answer is read, its order relative to the answer is unknown. Such
    /// output counts as earlier than the answer, except in one case: the child ended soon after the
    /// answer, and did not go on reading its input (`read_on` is false). Then the quote begins at
    /// the answer before the last.
    pub(super) fn quote(&self, read_on: bool) -> Option<String> {
        let state = self.0.state.lock();
        let died_at_once = state.answered_at.is_some_and(|at| at.elapsed() < AT_ONCE);
        let from = state.answered[usize::from(!read_on && died_at_once)];
        let since = usize::try_from(state.count.saturating_sub(from)).unwrap_or(usize::MAX);
        let text = last(&state.bytes, since.min(QUOTED_BYTES)).trim_ascii_end();
        let newlines = text
            .iter()
            .enumerate()
            .rev()
            .filter(|(_, byte)| **byte == b'\n');
        let start = newlines.skip(QUOTED_LINES - 1).map(|(at, _)| at + 1).next();
        let quote = String::from_utf8_lossy(&text[start.unwrap_or(0)..]);
        // The first character may have been cut.
        let quote = quote.trim_start_matches(char::REPLACEMENT_CHARACTER);
        (!quote.is_empty()).then(|| quote.to_owned())
    }

    fn push(&self, bytes: &[u8]) {
        self.0.state.lock().push(bytes);
    }

    /// Clears the output of an earlier child when a new child starts to write.
    fn begin(&self) {
        *self.0.state.lock() = TailState::default();
    }

    fn finish(&self) {
        self.0.state.lock().done = true;
        self.0.done.notify_all();
    }

    /// Blocks until no more output can arrive, or until `deadline`. Returns false when the deadline
    /// passed.
    fn wait(&self, deadline: Instant) -> bool {
        let state = self.0.state.lock();
        let is_open = |state: &TailState| !state.done;
        self.0.done.wait_while(state, Some(deadline), is_open).done
    }
}

fn last(bytes: &[u8], count: usize) -> &[u8] {
    &bytes[bytes.len().saturating_sub(count)..]
}

/// The thread that reads a child's standard error.
///
/// Opening a [`Child`](super::Child) starts the thread. The thread ends at the end of the stream,
/// or when [`finish`](Self::finish) is called, which also joins it.
#[derive(Debug)]
pub(super) struct Drainer {
    end: Arc<ReadEnd>,
    tail: StderrTail,
    /// The handle of the thread, until the thread is joined. The lock is held while joining. So if
    /// several threads close the connection, none returns before this thread has ended. If the
    /// callback closes the connection, it does not wait, because it runs on this thread.
    thread: Mutex<Option<JoinHandle<()>>>,
    id: thread::ThreadId,
}

impl Drainer {
    /// Starts the thread that reads the child's standard error. Also returns the child's end of the
    /// pipe.
    pub(super) fn start(
        tail: StderrTail,
        shown: StderrTail,
        lines: Option<StderrLines>,
        threads: &Threads,
    ) -> Result<(Self, Owned)> {
        let (ours, theirs) = ReadEnd::pipe()
            .map_err(|error| Error::io("making a pipe for standard error", error))?;
        let end = Arc::new(ours);
        let stack = match lines {
            Some(_) => Stack::Large,
            None => Stack::Small,
        };
        let (reader, captured) = (Arc::clone(&end), tail.clone());
        shown.begin();
        let thread = threads.start("stderr", stack, move || {
            drain(&reader, &captured, &shown, lines.map(Splitter::new));
            captured.finish();
        })?;
        let drainer = Self {
            end,
            tail,
            id: thread.thread().id(),
            thread: Mutex::new(Some(thread)),
        };
        Ok((drainer, theirs))
    }

    /// Records that the child has answered. An error quotes only output after the last answer.
    pub(super) fn note_answer(&self) {
        self.tail.note_answer(&self.end);
    }

    /// Blocks until all processes that share the standard error have closed it, or until
    /// `deadline`.
    pub(super) fn wait(&self, deadline: Instant) {
        if thread::current().id() != self.id {
            self.tail.wait(deadline);
        }
    }

    /// Ends and joins the thread, even if another process holds the other end of the pipe. If the
    /// callback does not return, the thread is left running.
    pub(super) fn finish(&self) {
        self.end.end();
        if thread::current().id() == self.id {
            return;
        }
        let mut thread = self.thread.lock();
        if self.tail.wait(Instant::now() + CALLBACK_PATIENCE)
            && let Some(thread) = thread.take()
        {
            // The thread does not panic: panics of the callback are caught.
            drop(thread.join());
        }
    }
}

/// Ends the thread if the child could not be started.
impl Drop for Drainer {
    fn drop(&mut self) {
        self.end.end();
    }
}

fn drain(end: &ReadEnd, tail: &StderrTail, shown: &StderrTail, mut lines: Option<Splitter>) {
    let mut room = vec![0; 8 << 10];
    loop {
        let read = end.wait_for_input().and_then(|()| {
            // Read under the lock, so that a byte is always in the pipe or in `count`.
            let mut state = tail.0.state.lock();
            let read = end.read(&mut room, Some(Duration::ZERO), None)?;
            if let Read::Bytes(count) = read {
                state.push(&room[..count]);
            }
            Ok(read)
        });
        match read {
            Ok(Read::Bytes(count)) => {
                shown.push(&room[..count]);
                if let Some(lines) = &mut lines {
                    lines.push(&room[..count]);
                }
            }
            Ok(Read::Nothing | Read::Watched) => {}
            Ok(Read::End) => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    if let Some(lines) = &mut lines {
        lines.flush();
    }
}

struct Splitter {
    each: Option<StderrLines>,
    line: Vec<u8>,
}

impl Splitter {
    fn new(each: StderrLines) -> Self {
        Self {
            each: Some(each),
            line: Vec::new(),
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            if fallible::append(&mut self.line, piece).is_err() {
                self.push_within(piece);
                continue;
            }
            let ends = piece.ends_with(b"\n");
            if ends {
                self.line.pop();
            }
            while self.line.len() > LINE_BYTES {
                let rest = self.line.split_off(whole(&self.line, LINE_BYTES));
                self.call();
                self.line = rest;
            }
            if ends {
                if self.line.ends_with(b"\r") {
                    self.line.pop();
                }
                self.call();
            }
        }
    }

    /// Passes the stored part of a line to the callback, and then the next piece of the line.
    /// Called when there is no memory to join the two parts.
    #[cold]
    fn push_within(&mut self, piece: &[u8]) {
        self.flush();
        let line = piece.strip_suffix(b"\n").unwrap_or(piece);
        self.say(line.strip_suffix(b"\r").unwrap_or(line));
    }

    fn flush(&mut self) {
        if !self.line.is_empty() {
            self.call();
        }
    }

    fn call(&mut self) {
        let line = std::mem::take(&mut self.line);
        self.say(&line);
        self.line = line;
        self.line.clear();
    }

    fn say(&mut self, line: &[u8]) {
        match fallible::lossy(line) {
            Ok(line) => self.say_text(&line),
            Err(_) => line
                .chunks(PIECE_BYTES)
                .for_each(|piece| self.say_text(&String::from_utf8_lossy(piece))),
        }
    }

    fn say_text(&mut self, line: &str) {
        let called = self
            .each
            .as_mut()
            .map(|each| catch_unwind(AssertUnwindSafe(|| each.0.lock()(line))));
        if called.is_some_and(|result| result.is_err()) {
            self.each = None;
        }
    }
}

/// Returns the position at which to cut `bytes`: at most `end`, and not inside a character.
fn whole(bytes: &[u8], end: usize) -> usize {
    let starts = |at: &usize| bytes[*at] & 0xc0 != 0x80;
    (end - 3..=end).rev().find(starts).unwrap_or(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_quotes_the_last_lines_only() {
        let tail = StderrTail::default();
        assert_eq!(tail.quote(true), None);
        for number in 0..100_000 {
            tail.push(format!("line {number}\n").as_bytes());
        }
        assert_eq!(tail.text().len(), TAIL_BYTES);
        let quote = tail.quote(true).expect("there is something");
        assert!(quote.starts_with("line 99980\n") && quote.ends_with("line 99999"));
        tail.push("ö".repeat(5000).as_bytes());
        let quote = tail.quote(true).expect("there is something");
        assert!(quote.len() <= QUOTED_BYTES && quote.chars().all(|c| c == 'ö'));
    }

    #[test]
    fn what_was_said_before_the_last_answer_is_not_quoted() {
        let (end, writer) = ReadEnd::pipe().expect("there are descriptors");
        let mut writer = std::fs::File::from(writer);
        let mut say = |text: &str| io::Write::write_all(&mut writer, text.as_bytes());
        let tail = StderrTail::default();
        tail.push(b"ready\n");
        tail.note_answer(&end);
        assert_eq!(tail.quote(true), None);
        say("working\n").expect("there is room");
        tail.note_answer(&end);
        tail.push(b"working\n");
        assert_eq!(tail.quote(true), None);
        // The child has read nothing after the answer. So the answered request may have killed it.
        assert_eq!(tail.quote(false).as_deref(), Some("working"));
        tail.push(b"no memory\n");
        assert_eq!(tail.quote(true).as_deref(), Some("no memory"));
        assert_eq!(tail.quote(false).as_deref(), Some("working\nno memory"));
        // If the answer is older, the quote does not begin before the answer.
        tail.0.state.lock().answered_at = Instant::now().checked_sub(2 * AT_ONCE);
        assert_eq!(tail.quote(false).as_deref(), Some("no memory"));
        assert_eq!(tail.text(), "ready\nworking\nno memory\n");
    }

    #[test]
    fn lines_are_handed_out_whole_and_a_panic_ends_the_calls() {
        let (sender, lines) = crossbeam_channel::unbounded();
        let Stderr::Lines(each) = Stderr::lines(move |line| {
            assert_ne!(line, "panic");
            sender.send(line.to_owned()).expect("the test listens");
        }) else {
            unreachable!("that is what it makes");
        };
        let mut splitter = Splitter::new(each);
        for piece in ["on", "e\r\ntwo\n\nthr", "ee\npanic\nfour\n"] {
            splitter.push(piece.as_bytes());
        }
        splitter.flush();
        assert_eq!(
            lines.try_iter().collect::<Vec<_>>(),
            ["one", "two", "", "three"]
        );
    }
}
