//! The opening requests on a stream.
//!
//! The probe and `initialize` may be in flight at the same time, because the server may answer the
//! probe late.
//!
//! A server that starts slowly reads nothing for a while, so a missing answer proves nothing. So
//! the timeout of the probe starts when the server has read the probe, if the transport can report
//! this.
//!
//! **Threads.** The handshake has no threads of its own. The thread that reads the connection
//! passes the answers to the connecting thread, which waits for the answers.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use super::request_meta::RequestMeta;
use crate::error::{Error, ErrorKind, Result, Span};
use crate::jsonrpc::RawResult;
use crate::protocol::{CancelToken, OnCancel, Peer, StartedCall};
use crate::schema::{InitializeRequestParams, JsonObject, method};
use crate::sync::Mutex;
use crate::transport::message::RequestKind;

/// How often the handshake polls whether the server has read the sent messages. Polling is needed
/// because transports do not signal this.
const POLL: Duration = Duration::from_millis(20);

/// The answer to an opening request, or the error if there is no answer.
#[derive(Debug)]
pub(super) enum Answer {
    Probe(Result<RawResult>),
    Initialize(Result<RawResult>),
}

enum Event {
    Answer(Answer),
    Cancelled,
}

/// The handshake on one connection.
pub(super) struct Handshake {
    peer: Peer,
    /// The deadline of the connect operation. It was computed from the time limit `in_all`.
    deadline: Option<Instant>,
    in_all: Duration,
    sender: Sender<Event>,
    events: Receiver<Event>,
    calls: Vec<StartedCall>,
    /// An answer that arrived while the handshake waited for another answer.
    stored: Option<Answer>,
    /// The method of the last sent request, and when the request was sent.
    last: (&'static str, Instant),
    cancel: Option<CancelToken>,
    /// Whether the era is settled, so that a late answer to the probe has no effect.
    // The callback of the probe reads the flag and changes the connection under the lock. So no
    // callback that is already running changes the connection after `settle_legacy`.
    is_settled: Arc<Mutex<bool>>,
    _waker: Option<OnCancel>,
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
            stored: None,
            last: (method::SERVER_DISCOVER, Instant::now()),
            cancel: cancel.cloned(),
            is_settled: Arc::default(),
            _waker: on_cancel,
        }
    }

    /// Sends `server/discover`, the probe.
    pub(super) fn probe(&mut self, envelope: &RequestMeta) -> Result<()> {
        self.send(
            method::SERVER_DISCOVER,
            |id, text| envelope.write(id, "{}", &JsonObject::new(), text),
            Answer::Probe,
        )
    }

    /// Settles that the server speaks the legacy era, in which requests of the server are answered.
    /// A late answer to the probe changes nothing any more.
    pub(super) fn settle_legacy(self) {
        *self.is_settled.lock() = true;
        self.peer.core().answer_requests(true);
    }

    /// Sends `initialize`. From then on requests of the server are answered.
    pub(super) fn initialize(&mut self, params: &InitializeRequestParams) -> Result<()> {
        self.peer.core().answer_requests(true);
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
        let (sender, peer) = (self.sender.clone(), self.peer.clone());
        let settled = Arc::clone(&self.is_settled);
        let on_end = move |outcome| {
            let answer = answer(outcome);
            // The next message is read after this callback. A client of the modern era must not
            // answer it if it is a request.
            let is_settled = settled.lock();
            if !*is_settled && matches!(answer, Answer::Probe(Ok(_))) {
                peer.core().answer_requests(false);
            }
            drop(is_settled);
            // Sending fails if the handshake is already finished.
            _ = sender.send(Event::Answer(answer));
        };
        let call = self
            .peer
            .start_quick_request(method, RequestKind::default(), write, on_end)?;
        self.calls.push(call);
        self.last = (method, Instant::now());
        Ok(())
    }

    /// Waits for the answer to a probe. Returns `None` on timeout. When the server has read the
    /// probe, `patience` computes the timeout from the remaining time.
    ///
    /// # Errors
    ///
    /// `Timeout` when the server has not read the probe by the connect deadline; `Cancelled` when
    /// the connect operation was cancelled.
    pub(super) fn probe_answer(
        &mut self,
        patience: impl Fn(Duration) -> Duration,
    ) -> Result<Option<Result<RawResult>>> {
        let stored = self.stored.take();
        let answer = loop {
            match self.answer_once_read(&patience)? {
                Some(Answer::Probe(answer)) => break Some(answer),
                // This is a late answer to `initialize`, which was sent before the probe was
                // repeated.
                Some(other) => self.stored = Some(other),
                None => break None,
            }
        };
        self.stored = self.stored.take().or(stored);
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

    /// Waits for an answer until `until`, and at most until the connect deadline. Returns `None` on
    /// timeout.
    ///
    /// # Errors
    ///
    /// `Cancelled` when the connect operation was cancelled.
    pub(super) fn answer_until(&mut self, until: Option<Instant>) -> Result<Option<Answer>> {
        match self.stored.take() {
            Some(stored) => Ok(Some(stored)),
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
            // The handshake itself holds a sender, so the channel never disconnects.
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => Ok(None),
        }
    }

    /// Returns the error for a missing answer to the last request.
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
            "{what} '{}' after {} (ClientBuilder::connect_timeout is {})",
            self.peer.name(),
            Span::measured(since.elapsed()),
            Span(self.in_all)
        );
        Error::new(ErrorKind::Timeout, text).sent(true)
    }
}

fn cancelled() -> Error {
    Error::new(ErrorKind::Cancelled, "connecting was cancelled").sent(true)
}

/// Discards pending requests without notifying the server. The server might not know the requests,
/// and `initialize` must not be cancelled.
impl Drop for Handshake {
    fn drop(&mut self) {
        for call in self.calls.drain(..) {
            call.forget();
        }
    }
}
