//! Event streams. A call has a stream of its own, and another stream is for messages that belong to
//! no call. The oldest transport (HTTP+SSE) has one stream for all messages.

use std::io::Read as _;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ureq::http::{Method, Uri};

use super::ask::{Answer, Asking, Context, Mode, Step, Wait};
use super::location::shown;
use super::location::{self, is_same_origin};
use super::pool::PoolSlot;
use super::request::Ask;
use super::transport::{ClientTransport, Released};
use crate::error::{Error, ErrorKind, Excerpt, Result};
use crate::jsonrpc::TooLong;
use crate::transport::exchange_transport::{CancelHandle, Deliver, Listening, NextCheck};
use crate::transport::http::event_reader::{EventReader, Item};
use crate::transport::message::RequestKind;
use crate::transport::{Received, SessionMessage};

/// The first and the maximum pause before a broken stream is requested again. If the server sets a
/// pause, that pause replaces the first one. If the server's pause is longer than the maximum, it
/// replaces the maximum too.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));
/// The minimum pause before a broken stream is requested again. It applies when the server sets a
/// pause of 0.
const SHORTEST: Duration = Duration::from_millis(1);

/// The maximum number of pieces of one stream that a thread reads in a row, if it has to serve
/// other streams too.
const PIECES: usize = 16;

/// The maximum length of the URL for messages that the server sends, in bytes. A longer URL is an
/// error.
const MAX_ENDPOINT: usize = 32 << 10;

/// The back-off before a stream is requested again. The pause doubles after each unsuccessful
/// attempt.
#[derive(Debug, Default)]
struct Pauses {
    in_vain: u32,
}

impl Pauses {
    /// Returns the next pause. `retry` is the last pause that the server set, if it set one.
    fn next(&self, retry: Option<Duration>) -> Duration {
        let first = retry.unwrap_or(PAUSES.0).max(SHORTEST);
        let factor = 2u32.saturating_pow(self.in_vain.saturating_sub(1).min(16));
        first.saturating_mul(factor).min(PAUSES.1.max(first))
    }

    /// Records that a stream was refused or could not be opened.
    fn refused(&mut self) {
        self.in_vain = self.in_vain.saturating_add(1);
    }

    /// Records that a stream has ended. Resets the back-off if the stream delivered something
    /// (`was_of_use`), or lived at least as long as the next pause. Otherwise counts the stream as
    /// unsuccessful.
    fn ended(&mut self, lived: Duration, was_of_use: bool, retry: Option<Duration>) {
        if was_of_use || lived >= self.next(retry) {
            self.in_vain = 0;
        } else {
            self.refused();
        }
    }
}

/// The classification of a refused stream: whether to request the stream again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Refusal {
    /// The session offers no stream of this kind. The stream is not requested again.
    NoneSuch,
    /// The stream may be available later. The stream is requested again after a pause.
    ForNow,
    ForGood,
}

impl Refusal {
    /// Classifies the server's refusal of the stream for messages that belong to no call.
    fn of(error: &Error) -> Self {
        match error.http_status() {
            // The server offers no stream, has nothing more to send, or does not know the session
            // any more.
            Some(204 | 404 | 405 | 410 | 501) => Self::NoneSuch,
            // Many servers answer 400 when they have lost the session. They answer 409 while they
            // take the previous stream to be open.
            Some(400 | 408 | 409 | 425 | 429 | 500..) | None => Self::ForNow,
            Some(_) => Self::ForGood,
        }
    }

    /// Whether an error is temporary, so that the stream can be resumed later.
    fn passes(error: &Error) -> bool {
        match error.http_status() {
            Some(status) => matches!(status, 408 | 409 | 425 | 429 | 500..),
            None => matches!(
                error.kind(),
                ErrorKind::Io | ErrorKind::Closed | ErrorKind::Timeout
            ),
        }
    }
}

/// The reason why reading a stream has ended.
enum End {
    Enough,
    /// The stream has ended: the server ended the stream, or the stream failed with this error.
    Over(Option<Error>),
    Waits(Wait),
}

/// The progress of the stream that answers a request.
pub(super) struct Streaming {
    reader: EventReader,
    pauses: Pauses,
    /// The stream, unless it is broken.
    open: Option<OpenStream>,
    broken: Option<Box<BrokenStream>>,
}

struct OpenStream {
    answer: Answer,
    begun: Instant,
    /// Whether the stream has delivered something.
    came: bool,
}

/// A stream that has ended without the response, and the attempts to resume it.
struct BrokenStream {
    /// The error of the call, if the stream can't be resumed.
    unfinished: Error,
    /// The error of the last attempt.
    last: Option<Error>,
    /// The time of the next attempt.
    until: Instant,
    asking: Asking,
}

impl OpenStream {
    fn new(answer: Answer) -> Self {
        Self {
            answer,
            begun: Instant::now(),
            came: false,
        }
    }
}

impl Streaming {
    pub(super) fn new(answer: Answer, max_bytes: usize) -> Self {
        Self {
            reader: EventReader::new(max_bytes),
            pauses: Pauses::default(),
            open: Some(OpenStream::new(answer)),
            broken: None,
        }
    }

    /// Returns the connection of the stream, while the exchange waits for input.
    pub(super) fn lane(&mut self) -> Option<&mut PoolSlot> {
        let open = self.open.as_mut();
        open.map(|open| &mut *open.answer.lane)
            .or_else(|| self.broken.as_mut()?.asking.lane())
    }
}

impl ClientTransport {
    /// Reads events from a stream, and passes them to `take`. Blocks until the stream ends or
    /// `take` returns `Break`. If the connection is polled, returns when nothing more has arrived,
    /// or when it is the turn of other streams.
    fn read_events(
        &self,
        answer: &mut Answer,
        reader: &mut EventReader,
        context: Context<'_>,
        take: &mut dyn FnMut(Item) -> ControlFlow<()>,
    ) -> End {
        let mut pieces = 0;
        loop {
            if context.mode == Mode::NonBlocking && pieces == PIECES {
                return End::Waits(Wait::Turn);
            }
            pieces += 1;
            reader.set_max_bytes(self.longest_message());
            let lane = &mut answer.lane;
            let piece = match lane.line.read(&mut lane.buffer) {
                Ok(0) => return End::Over(None),
                Ok(len) => &lane.buffer[..len],
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) if lane.line.has_to_wait(&error) => return End::Waits(Wait::Input),
                Err(error) => {
                    let (cancel_handle, watched) = (context.cancel_handle, context.watched);
                    return End::Over(Some(self.broken_off(error, cancel_handle, watched)));
                }
            };
            let comments = reader.comments();
            if reader.push(piece, take).is_break() {
                return End::Enough;
            }
            if (reader.comments() > comments || context.watched.expects_life())
                && let Err(error) = context.watched.is_alive()
            {
                return End::Over(Some(error));
            }
        }
    }

    /// Delivers the messages of the stream that answers a request, until the response has arrived
    /// or the exchange has to be parked. Resumes the stream if it breaks. Returns the connection
    /// with the rest of the stream.
    pub(super) fn step_of_stream(
        &self,
        request: &SessionMessage,
        streaming: &mut Streaming,
        context: Context<'_>,
        deliver: &mut Deliver<'_>,
    ) -> Result<Step<Box<PoolSlot>>> {
        loop {
            let Some(mut open) = streaming.open.take() else {
                match self.step_of_resuming(streaming, context)? {
                    Step::Done(answer) => streaming.open = Some(OpenStream::new(answer)),
                    Step::Waits(wait) => return Ok(Step::Waits(wait)),
                }
                continue;
            };
            let (reader, came) = (&mut streaming.reader, &mut open.came);
            let end = self.read_events(&mut open.answer, reader, context, &mut |item| {
                *came = true;
                deliver(received(item, Some(request)))
            });
            match end {
                End::Waits(wait) => {
                    streaming.open = Some(open);
                    return Ok(Step::Waits(wait));
                }
                End::Enough => return Ok(Step::Done(open.answer.lane)),
                End::Over(why) => {
                    let unfinished =
                        why.unwrap_or_else(|| self.unanswered(open.answer.status.as_u16()));
                    let can_resume = !matches!(request.kind, RequestKind::Stateless(_))
                        && !streaming.reader.last_id().is_empty();
                    let (begun, came) = (open.begun, open.came);
                    drop(open);
                    context.cancel_handle.release();
                    if !can_resume {
                        return Err(unfinished);
                    }
                    let retry = streaming.reader.retry();
                    streaming.pauses.ended(begun.elapsed(), came, retry);
                    streaming.broken = Some(Box::new(BrokenStream {
                        unfinished,
                        last: None,
                        until: Instant::now() + streaming.pauses.next(retry),
                        asking: Asking::default(),
                    }));
                    context.watched.begin_anew();
                }
            }
        }
    }

    /// Requests a broken stream again until the server provides it, or the exchange has to be
    /// parked. Fails if the server refuses the stream for good, or nobody waits for it any more.
    fn step_of_resuming(
        &self,
        streaming: &mut Streaming,
        context: Context<'_>,
    ) -> Result<Step<Answer>> {
        let Streaming {
            reader,
            pauses,
            broken,
            ..
        } = streaming;
        loop {
            let Some(mut here) = broken.take() else {
                return Err(self.nobody_waits());
            };
            // The pause lasts at most until the deadline of the call.
            if context.mode == Mode::Blocking {
                context.cancel_handle.pause(here.until);
            }
            let now = Instant::now();
            if context.cancel_handle.look(now) == NextCheck::Over {
                return Err(going_on_failed(here.unfinished, here.last));
            }
            if now < here.until {
                let until = here.until;
                *broken = Some(here);
                return Ok(Step::Waits(Wait::Until(until)));
            }
            let (url, last_id) = (&self.http.url, reader.last_id());
            match self.step_of_opening(url, last_id, &mut here.asking, context) {
                Ok(Step::Done(answer)) => {
                    reader.start_anew();
                    return Ok(Step::Done(answer));
                }
                Ok(Step::Waits(wait)) => {
                    *broken = Some(here);
                    return Ok(Step::Waits(wait));
                }
                Err(error) if Refusal::passes(&error) => {
                    pauses.refused();
                    here.last = Some(error);
                    here.until = Instant::now() + pauses.next(reader.retry());
                    here.asking = Asking::default();
                    *broken = Some(here);
                    context.watched.begin_anew();
                }
                Err(error) => return Err(going_on_failed(here.unfinished, Some(error))),
            }
        }
    }

    /// Returns the error for a stream that the server ended without the response.
    fn unanswered(&self, status: u16) -> Error {
        let text = format!(
            "'{}' ended the stream without the response; outcome unknown",
            self.peer()
        );
        let error = Error::new(ErrorKind::Closed, text).sent(true);
        error.with_http(status, None)
    }

    /// Requests an event stream from the server with GET. Blocks until the stream has begun. An
    /// empty `last_event_id` asks for a new stream.
    fn open_stream(&self, uri: &Uri, last_event_id: &str, context: Context<'_>) -> Result<Answer> {
        context.watched.begin_anew();
        match self.step_of_opening(uri, last_event_id, &mut Asking::default(), context)? {
            Step::Done(answer) => Ok(answer),
            Step::Waits(_) => unreachable!("every wait has blocked"),
        }
    }

    /// Requests an event stream from the server with GET, or continues with the request, until the
    /// stream has begun or the exchange has to be parked.
    fn step_of_opening(
        &self,
        uri: &Uri,
        last_event_id: &str,
        asking: &mut Asking,
        context: Context<'_>,
    ) -> Result<Step<Answer>> {
        let ask = Ask {
            method: Method::GET,
            uri,
            body: &[],
            kind: &RequestKind::InSession,
            last_event_id: Some(last_event_id).filter(|id| !id.is_empty()),
            id: None,
        };
        let answer = match self.step_of_ask(&ask, asking, context)? {
            Step::Done(answer) => answer,
            waits => return Ok(waits),
        };
        self.check_encoding(&answer)?;
        if answer.is_of("text/event-stream") {
            return Ok(Step::Done(answer));
        }
        let kind = Excerpt(answer.content_type()).to_string();
        let text = format!(
            "'{}' answered a request for a stream with content type '{kind}'",
            self.peer()
        );
        // The caller treats this error like a refusal.
        Err(Error::new(ErrorKind::Http, text)
            .sent(true)
            .with_http(answer.status.as_u16(), None))
    }

    /// Delivers messages that belong to no call, from a stream that is requested with GET. When the
    /// stream ends, requests it again.
    pub(super) fn hear(
        &self,
        on_event: &mut dyn FnMut(Listening),
        deliver: &mut Deliver<'_>,
    ) -> Result<()> {
        let cancel_handle = CancelHandle::until(None);
        let watched = self.watch.add(&cancel_handle, false)?;
        let _released = Released(&cancel_handle);
        let context = Context::blocking(&cancel_handle, &watched);
        let session = self.session();
        self.state.lock().listening = Some(Arc::clone(&cancel_handle));
        let mut reader = EventReader::new(self.longest_message());
        let (mut pauses, mut was_open, mut is_lost) = (Pauses::default(), false, false);
        loop {
            let opened = self.open_stream(&self.http.url, reader.last_id(), context);
            on_event(Listening::Settled);
            match opened {
                Ok(mut answer) => {
                    if std::mem::take(&mut is_lost) {
                        on_event(Listening::Back);
                    }
                    was_open = true;
                    let (mut came, begun) = (false, Instant::now());
                    reader.start_anew();
                    let end = self.read_events(&mut answer, &mut reader, context, &mut |item| {
                        came = true;
                        deliver(received(item, None))
                    });
                    if let End::Enough = end {
                        return Ok(());
                    }
                    pauses.ended(begun.elapsed(), came, reader.retry());
                }
                Err(_) if cancel_handle.is_over() => return Ok(()),
                Err(error) => {
                    let refusal = Refusal::of(&error);
                    if refusal == Refusal::ForGood {
                        return Err(error);
                    }
                    if refusal == Refusal::ForNow || was_open {
                        on_event(Listening::Refused {
                            error,
                            is_new: !std::mem::replace(&mut is_lost, true),
                            was_open,
                        });
                    }
                    if refusal == Refusal::NoneSuch {
                        return Ok(());
                    }
                    pauses.refused();
                }
            }
            cancel_handle.release();
            let pause = pauses.next(reader.retry());
            if !cancel_handle.pause(Instant::now() + pause) || self.session() != session {
                return Ok(());
            }
        }
    }

    /// Delivers the messages of the oldest transport (HTTP+SSE). All messages of the server arrive
    /// on one stream. The first event of the stream contains the URL to which the client posts its
    /// messages.
    pub(super) fn hear_everything(
        &self,
        cancel_handle: &Arc<CancelHandle>,
        settled: &mut dyn FnMut(),
        deliver: &mut Deliver<'_>,
    ) -> Result<()> {
        let watched = self.watch.add(cancel_handle, false)?;
        let _released = Released(cancel_handle);
        let context = Context::blocking(cancel_handle, &watched);
        let mut answer = self.open_stream(&self.http.url, "", context)?;
        let base = answer.uri.clone();
        let mut reader = EventReader::new(self.longest_message());
        let mut fault = None;
        let end = self.read_events(&mut answer, &mut reader, context, &mut |item| match item {
            Item::Event { name, data } if name == "endpoint" => {
                match self.endpoint(&base, &data) {
                    Ok(endpoint) => self.state.lock().endpoint = Some(endpoint),
                    Err(error) => {
                        fault = Some(error);
                        return ControlFlow::Break(());
                    }
                }
                settled();
                ControlFlow::Continue(())
            }
            item if self.state.lock().endpoint.is_some() => deliver(received(item, None)),
            _ => {
                let text = format!(
                    "'{}' began its stream with another event than 'endpoint'",
                    self.peer()
                );
                fault = Some(Error::new(ErrorKind::Protocol, text).sent(true));
                ControlFlow::Break(())
            }
        });
        let why = match end {
            End::Enough | End::Waits(_) => fault,
            End::Over(why) => why,
        };
        Err(why.unwrap_or_else(|| {
            let text = format!("'{}' ended its stream", self.peer());
            Error::new(ErrorKind::Closed, text).sent(true)
        }))
    }

    /// Resolves the URL to which the client has to post its messages. The server has sent the URL.
    /// Fails if the URL has another origin than the server.
    fn endpoint(&self, url: &Uri, data: &[u8]) -> Result<Uri> {
        let text = str::from_utf8(data)
            .ok()
            .filter(|text| text.len() <= MAX_ENDPOINT);
        let Some(endpoint) = text.and_then(|text| location::resolve(url, text.trim())) else {
            let text = format!("'{}' names an endpoint that is no URL", self.peer());
            return Err(Error::new(ErrorKind::Protocol, text).sent(true));
        };
        if is_same_origin(url, &endpoint) {
            return Ok(endpoint);
        }
        let text = format!(
            "'{}' names an endpoint of another origin: {}",
            self.peer(),
            Excerpt(&shown(&endpoint))
        );
        Err(Error::new(ErrorKind::Protocol, text).sent(true))
    }
}

/// Returns the error for a broken stream. `last` is the error of the last attempt to resume the
/// stream, and is added to the text.
fn going_on_failed(unfinished: Error, last: Option<Error>) -> Error {
    match last {
        Some(error) => unfinished.remark(format_args!("going on failed: {error}")),
        None => unfinished,
    }
}

fn received(item: Item, request: Option<&SessionMessage>) -> Received {
    match item {
        Item::Event { data, .. } => Received::Message(SessionMessage::new(data)),
        Item::Dropped { bytes, no_memory } => Received::TooLong(TooLong {
            bytes,
            id: request.and_then(|request| request.related.clone()),
            is_response: true,
            no_memory,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_while_asking_is_in_vain() {
        let (second, millis) = (Duration::from_secs(1), Duration::from_millis);
        let mut pauses = Pauses::default();
        let seconds = |pauses: &Pauses| pauses.next(None).as_secs();
        let mut shown = Vec::new();
        for _ in 0..8 {
            pauses.refused();
            shown.push(seconds(&pauses));
        }
        assert_eq!(shown, [1, 2, 4, 8, 16, 30, 30, 30]);
        // The first stream lived shorter than the pause, the second one longer.
        pauses.ended(29 * second, false, None);
        assert_eq!(seconds(&pauses), 30);
        pauses.ended(30 * second, false, None);
        assert_eq!(seconds(&pauses), 1);
        // L-HTTP-C-17: what the server says is where they begin.
        for (retry, expected) in [(0, 1), (50, 50), (60_000, 60_000)] {
            let retry = Some(millis(retry));
            assert_eq!(pauses.next(retry), millis(expected));
            pauses.ended(60 * second, false, retry);
            assert_eq!(pauses.next(retry), millis(expected));
        }
        for _ in 0..40 {
            pauses.refused();
        }
        assert_eq!(pauses.next(Some(millis(1))), 30 * second);
        pauses.ended(Duration::ZERO, true, None);
        assert_eq!(seconds(&pauses), 1);
    }
}
