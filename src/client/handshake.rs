//! The requests that open a conversation on a stream: in flight side by side, and timed by when the server has read them.
//!
//! A server that needs long to start reads nothing for that time, so its silence says nothing. Where the transport can tell, the time that
//! a probe may take begins when the server has read it.
//!
//! **Threads.** None. Answers are handed over by the thread that reads the connection; the thread that opens waits for them.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use super::envelope::Envelope;
use crate::error::{Error, ErrorKind, Result, Span};
use crate::jsonrpc::RawResult;
use crate::protocol::{CancelToken, OnTrigger, Peer, StartedCall};
use crate::schema::{InitializeRequestParams, JsonObject, method};
use crate::transport::carrier::Manner;

/// How often a transport is asked whether the server has read what was sent: nothing tells by itself.
const POLL: Duration = Duration::from_millis(20);

/// The outcome of a request.
#[derive(Debug)]
pub(super) enum Answer {
    Probe(Result<RawResult>),
    Initialize(Result<RawResult>),
}

enum Event {
    Answer(Answer),
    Cancelled,
}

/// An opening on one connection.
pub(super) struct Handshake {
    peer: Peer,
    /// When opening has to be done, and the time that it was given in all.
    deadline: Option<Instant>,
    in_all: Duration,
    sender: Sender<Event>,
    events: Receiver<Event>,
    calls: Vec<StartedCall>,
    /// An answer that came while another one was waited for.
    kept: Option<Answer>,
    /// The request that was sent last, and when.
    last: (&'static str, Instant),
    cancel: Option<CancelToken>,
    _waker: Option<OnTrigger>,
}

impl Handshake {
    pub(super) fn new(
        peer: Peer,
        deadline: Option<Instant>,
        in_all: Duration,
        cancel: Option<&CancelToken>,
    ) -> Self {
        let (sender, events) = mpsc::channel();
        let waker = sender.clone();
        let on_cancel =
            cancel.map(|token| token.on_trigger(move || _ = waker.send(Event::Cancelled)));
        Self {
            peer,
            deadline,
            in_all,
            sender,
            events,
            calls: Vec::new(),
            kept: None,
            last: (method::SERVER_DISCOVER, Instant::now()),
            cancel: cancel.cloned(),
            _waker: on_cancel,
        }
    }

    /// Sends `server/discover`.
    pub(super) fn probe(&mut self, envelope: &Envelope) -> Result<()> {
        self.send(
            method::SERVER_DISCOVER,
            |id, text| envelope.write(id, "{}", &JsonObject::new(), text),
            Answer::Probe,
        )
    }

    /// Sends `initialize`.
    pub(super) fn initialize(&mut self, params: &InitializeRequestParams) -> Result<()> {
        self.send(
            method::INITIALIZE,
            |_, text| serde_json::to_writer(text, params),
            Answer::Initialize,
        )
    }

    fn send(
        &mut self,
        method: &'static str,
        write: impl FnOnce(i64, &mut Vec<u8>) -> serde_json::Result<()>,
        answer: fn(Result<RawResult>) -> Answer,
    ) -> Result<()> {
        if self.cancel.as_ref().is_some_and(CancelToken::is_triggered) {
            return Err(cancelled().sent(false));
        }
        let sender = self.sender.clone();
        // It fails when the opening has what it needs.
        let on_end = move |outcome| _ = sender.send(Event::Answer(answer(outcome)));
        let call = self
            .peer
            .start_quick_request(method, Manner::default(), write, on_end)?;
        self.calls.push(call);
        self.last = (method, Instant::now());
        Ok(())
    }

    /// Waits for the answer to a probe. The time begins when the server has read it, and is told by `patience` from the time that is left
    /// then; `None` when it is over.
    ///
    /// # Errors
    ///
    /// `Timeout` when the server has read nothing by the end of the opening's time, `Cancelled`.
    pub(super) fn probe_answer(
        &mut self,
        patience: impl Fn(Duration) -> Duration,
    ) -> Result<Option<Result<RawResult>>> {
        let kept = self.kept.take();
        let answer = loop {
            match self.answer_once_read(&patience)? {
                Some(Answer::Probe(answer)) => break Some(answer),
                // It was sent before the probe was sent once more.
                Some(other) => self.kept = Some(other),
                None => break None,
            }
        };
        self.kept = self.kept.take().or(kept);
        Ok(answer)
    }

    fn answer_once_read(&self, patience: impl Fn(Duration) -> Duration) -> Result<Option<Answer>> {
        while self.peer.core().has_unread() == Some(true) {
            let now = Instant::now();
            if self.deadline.is_some_and(|deadline| now >= deadline) {
                return Err(self.unread());
            }
            if let Some(answer) = self.next_until(now.checked_add(POLL))? {
                return Ok(Some(answer));
            }
        }
        let now = Instant::now();
        let left = self.deadline.map_or(Duration::MAX, |deadline| {
            deadline.saturating_duration_since(now)
        });
        self.next_until(now.checked_add(patience(left)))
    }

    /// Waits for an answer until a point in time, but not past the end of the opening's time. `None` when there was none.
    ///
    /// # Errors
    ///
    /// `Cancelled`.
    pub(super) fn answer_until(&mut self, until: Option<Instant>) -> Result<Option<Answer>> {
        match self.kept.take() {
            Some(kept) => Ok(Some(kept)),
            None => self.next_until(until),
        }
    }

    fn next_until(&self, until: Option<Instant>) -> Result<Option<Answer>> {
        let event = match until.into_iter().chain(self.deadline).min() {
            None => self
                .events
                .recv()
                .map_err(|_| RecvTimeoutError::Disconnected),
            Some(until) => {
                let span = until.saturating_duration_since(Instant::now());
                self.events.recv_timeout(span)
            }
        };
        match event {
            Ok(Event::Answer(answer)) => Ok(Some(answer)),
            Ok(Event::Cancelled) => Err(cancelled()),
            // The handshake itself holds a sender: the channel never disconnects.
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => Ok(None),
        }
    }

    /// No answer came to the request that was sent last.
    pub(super) fn silence(&self) -> Error {
        let (method, sent) = self.last;
        self.late(format_args!("no answer to {method} from"), sent)
    }

    fn unread(&self) -> Error {
        let (method, sent) = self.last;
        let error = self.late(format_args!("{method} was not read by"), sent);
        error.remark("it may need more time to start")
    }

    fn late(&self, what: std::fmt::Arguments<'_>, since: Instant) -> Error {
        let text = format!(
            "{what} '{}' after {} (connect_timeout is {})",
            self.peer.name(),
            Span(since.elapsed()),
            Span(self.in_all)
        );
        Error::new(ErrorKind::Timeout, text).sent(true)
    }
}

fn cancelled() -> Error {
    Error::new(ErrorKind::Cancelled, "connecting was cancelled").sent(true)
}

/// What is still to come is nobody's business any more. The server is not told: it may not know the request, and `initialize` must not be
/// cancelled.
impl Drop for Handshake {
    fn drop(&mut self) {
        for call in self.calls.drain(..) {
            call.forget();
        }
    }
}
