//! One HTTP request to the server until the head of its response: redirects, logins, and attempts
//! on a new connection.

use std::io::{self, Read as _};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use ureq::http::{HeaderMap, Response, StatusCode, Uri, header};

use super::content::{content_type, foreign_encoding, is_of};
use super::exchange::BUFFER;
use super::location::{self, is_same_origin};
use super::pool::{Failed, PoolSlot};
use super::request::Ask;
use super::retry_after::tell_wait;
use super::transport::ClientTransport;
use crate::error::{Error, ErrorKind, Excerpt, Result};
use crate::transport::deadlines::Watched;
use crate::transport::exchange_transport::{CancelHandle, NextCheck};
use crate::transport::http::authorizer::{Credentials, ResponseFields};

/// The limits for reading the rest of a stream after the response: the number of bytes, and the
/// time. If one limit is exceeded, the connection is closed instead of reused.
const REST: (usize, Duration) = (64 << 10, Duration::from_millis(50));
const MAX_REDIRECTS: usize = 5;

/// How an exchange may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Each wait blocks the thread.
    Blocking,
    /// An exchange that waits for the server is parked. Other waits block the thread, such as
    /// connecting.
    Parking,
    /// An exchange that has to wait for anything is parked: this thread has to serve others.
    NonBlocking,
}

/// The event that a parked exchange waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// Input of the server.
    Input,
    /// A thread that may block.
    Thread,
    /// The next turn of this exchange, after those of others.
    Turn,
    Until(Instant),
}

/// The outcome of a step of an exchange.
pub(super) enum Step<T> {
    Done(T),
    /// The exchange has to be parked. Does not occur in [`Mode::Blocking`].
    Waits(Wait),
}

/// How the wait for an exchange can end, and how the exchange may wait.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    pub(super) cancel_handle: &'a Arc<CancelHandle>,
    pub(super) watched: &'a Watched,
    pub(super) mode: Mode,
}

impl<'a> Context<'a> {
    /// Returns the context of an exchange on a thread that waits for it.
    pub(super) fn blocking(cancel_handle: &'a Arc<CancelHandle>, watched: &'a Watched) -> Self {
        Self {
            cancel_handle,
            watched,
            mode: Mode::Blocking,
        }
    }
}

/// A successful response of the server, and the connection with its unread body.
pub(super) struct Answer {
    pub(super) lane: Box<PoolSlot>,
    /// The URL that the response came from. After a redirect it differs from the requested URL.
    pub(super) uri: Uri,
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
}

impl Answer {
    pub(super) fn content_type(&self) -> &str {
        content_type(&self.headers)
    }

    /// Whether the body has the given media type. Parameters of the type are ignored.
    pub(super) fn is_of(&self, media_type: &str) -> bool {
        is_of(&self.headers, media_type)
    }
}

/// The progress of an HTTP request.
#[derive(Default)]
pub(super) struct Asking {
    /// The target of the last redirect, if there was one.
    redirected: Option<Uri>,
    redirects: usize,
    /// The number of times that the authorizer repeated the request.
    attempt: u32,
    /// The failure of the first attempt, if the server had closed the reused connection.
    lost: Option<Box<Failed>>,
    stage: Stage,
}

#[derive(Default)]
enum Stage {
    #[default]
    Unsent,
    Sent(Sent),
    /// The server has answered with another status than success.
    Refused(Box<Refused>),
}

/// A response with another status than success, and the connection with its unread body.
struct Refused {
    lane: Box<PoolSlot>,
    response: Response<()>,
    credentials: Credentials,
}

/// A request whose response has not begun.
struct Sent {
    lane: Box<PoolSlot>,
    credentials: Credentials,
    is_reused: bool,
}

impl Asking {
    /// Returns the connection that the request was sent on, while its response has not begun.
    pub(super) fn lane(&mut self) -> Option<&mut PoolSlot> {
        match &mut self.stage {
            Stage::Sent(sent) => Some(&mut sent.lane),
            Stage::Unsent | Stage::Refused(_) => None,
        }
    }
}

impl ClientTransport {
    /// Sends a request, and blocks until the head of the response has arrived. Any status except
    /// success is an error. `cancel_handle` can end the exchange as soon as the request begins.
    pub(super) fn ask(
        &self,
        ask: &Ask<'_>,
        cancel_handle: &Arc<CancelHandle>,
        watched: &Watched,
    ) -> Result<Answer> {
        let context = Context::blocking(cancel_handle, watched);
        match self.step_of_ask(ask, &mut Asking::default(), context)? {
            Step::Done(answer) => Ok(answer),
            Step::Waits(_) => unreachable!("every wait has blocked"),
        }
    }

    /// Sends a request, or continues with a request, until the head of the response has arrived or
    /// the exchange has to be parked. Any status except success is an error.
    pub(super) fn step_of_ask(
        &self,
        ask: &Ask<'_>,
        asking: &mut Asking,
        context: Context<'_>,
    ) -> Result<Step<Answer>> {
        let may_block = context.mode != Mode::NonBlocking;
        loop {
            if !may_block && !self.needs_no_thread(ask, asking) {
                return Ok(Step::Waits(Wait::Thread));
            }
            let redirected = asking.redirected.clone();
            let uri = redirected.as_ref().unwrap_or(ask.uri);
            match std::mem::take(&mut asking.stage) {
                Stage::Unsent => {
                    let Some(stage) = self.send(ask, uri, asking, context)? else {
                        return Ok(Step::Waits(Wait::Thread));
                    };
                    let is_sent = matches!(stage, Stage::Sent(_));
                    asking.stage = stage;
                    // The answer takes a while, so the poller waits for it at once.
                    if is_sent && context.mode != Mode::Blocking {
                        return Ok(Step::Waits(Wait::Input));
                    }
                }
                Stage::Sent(mut sent) => match sent.lane.head() {
                    Ok(None) => {
                        asking.stage = Stage::Sent(sent);
                        return Ok(Step::Waits(Wait::Input));
                    }
                    Ok(Some(response)) => {
                        self.cookies.take(uri, response.headers());
                        let Sent {
                            lane, credentials, ..
                        } = sent;
                        if !response.status().is_success() {
                            asking.stage = Stage::Refused(Box::new(Refused {
                                lane,
                                response,
                                credentials,
                            }));
                            continue;
                        }
                        let (head, ()) = response.into_parts();
                        self.was_accepted(ask, uri, &head, &credentials);
                        return Ok(Step::Done(Answer {
                            lane,
                            uri: uri.clone(),
                            status: head.status,
                            headers: head.headers,
                        }));
                    }
                    Err(failed) => self.lose(ask, asking, failed, sent.is_reused, context)?,
                },
                Stage::Refused(refused) => {
                    refused.lane.line.set_polled(false);
                    match self.redirect(uri, &refused.response) {
                        Some(next) => self.follow(asking, next, refused.lane, context)?,
                        None => self.learn_from_refusal(ask, asking, uri, *refused, context)?,
                    }
                }
            }
        }
    }

    /// Whether the next step of a request blocks at most for a moment.
    fn needs_no_thread(&self, ask: &Ask<'_>, asking: &Asking) -> bool {
        // Code of the authorizer may block, also after a success.
        self.http.authorizer.is_none()
            && match asking.stage {
                Stage::Sent(_) => true,
                // An idle connection has room for a short request.
                Stage::Unsent => asking.lost.is_none() && ask.body.len() <= BUFFER,
                Stage::Refused(_) => false,
            }
    }

    /// Sends a request once. Returns the stage that follows. Returns `None` if a new connection is
    /// necessary but nothing may block.
    fn send(
        &self,
        ask: &Ask<'_>,
        uri: &Uri,
        asking: &mut Asking,
        context: Context<'_>,
    ) -> Result<Option<Stage>> {
        if context.mode == Mode::NonBlocking && !self.lanes.has_idle() {
            return Ok(None);
        }
        let cancel_handle = context.cancel_handle;
        let credentials = self.credentials(ask, uri, asking.attempt, cancel_handle)?;
        let request = self.request(ask, uri, &credentials)?;
        let was_sent = asking.lost.as_ref().is_some_and(|lost| lost.sent);
        let deadline = match cancel_handle.look(Instant::now()) {
            NextCheck::Never => None,
            NextCheck::At(deadline) => Some(deadline),
            NextCheck::Over => return Err(self.nobody_waits().sent(was_sent)),
        };
        let mut lane = self.lanes.take();
        if asking.lost.is_some() {
            lane.line.close();
        }
        let is_reused = lane.line.is_open();
        if !is_reused && context.mode == Mode::NonBlocking {
            return Ok(None);
        }
        if !cancel_handle.engage(lane.brake()) {
            return Err(self.nobody_waits().sent(was_sent));
        }
        let sent = self
            .lanes
            .send(&mut lane, request, ask.body, deadline, is_reused);
        if let Err(failed) = sent {
            self.lose(ask, asking, failed, is_reused, context)?;
            return Ok(Some(Stage::Unsent));
        }
        lane.line.set_polled(context.mode != Mode::Blocking);
        Ok(Some(Stage::Sent(Sent {
            lane,
            credentials,
            is_reused,
        })))
    }

    /// Handles a request that got no response. Succeeds if the request has to be sent once more, on
    /// a new connection.
    fn lose(
        &self,
        ask: &Ask<'_>,
        asking: &mut Asking,
        mut failed: Failed,
        is_reused: bool,
        context: Context<'_>,
    ) -> Result<()> {
        if is_reused && failed.is_loss() && ask.may_repeat(&failed) {
            context.cancel_handle.release();
            asking.lost = Some(Box::new(failed));
            return Ok(());
        }
        failed.sent |= asking.lost.as_ref().is_some_and(|lost| lost.sent);
        Err(self.failure(failed, context.cancel_handle, context.watched))
    }

    /// Returns the target of a redirect. Returns `None` if the client must not follow the redirect.
    fn redirect(&self, from: &Uri, response: &Response<()>) -> Option<Uri> {
        let keeps_method = matches!(response.status().as_u16(), 307 | 308);
        if !(self.http.follows && keeps_method) {
            return None;
        }
        let target = response.headers().get(header::LOCATION)?.to_str().ok()?;
        let target = location::resolve(from, target)?;
        is_same_origin(from, &target).then_some(target)
    }

    /// Prepares the request to the target of a redirect.
    fn follow(
        &self,
        asking: &mut Asking,
        target: Uri,
        mut lane: Box<PoolSlot>,
        context: Context<'_>,
    ) -> Result<()> {
        let ends = matches!(ends_within(REST.0, &mut lane), Rest::Ended);
        if context.cancel_handle.release() && ends {
            self.lanes.put(lane);
        }
        asking.redirects += 1;
        if asking.redirects > MAX_REDIRECTS {
            let text = format!(
                "'{}' redirects without end: more than {MAX_REDIRECTS} times",
                self.peer()
            );
            return Err(Error::new(ErrorKind::Http, text).sent(true));
        }
        asking.redirected = Some(target);
        Ok(())
    }

    /// Passes the refusal of a request to the authorizer. Succeeds if the request has to be sent
    /// again with other credentials.
    fn learn_from_refusal(
        &self,
        ask: &Ask<'_>,
        asking: &mut Asking,
        uri: &Uri,
        refused: Refused,
        context: Context<'_>,
    ) -> Result<()> {
        let Refused {
            lane,
            response,
            credentials,
        } = refused;
        let (cancel_handle, status) = (context.cancel_handle, response.status().as_u16());
        let (error, fields) = self.refusal(ask, lane, cancel_handle, response, &credentials);
        let error = tell_wait(error, &fields);
        let response = ResponseFields {
            status,
            fields: &fields,
            mark: credentials.mark(),
        };
        if !self.tries_again(ask, uri, asking.attempt, &response, &error, cancel_handle)? {
            return Err(error);
        }
        asking.attempt += 1;
        Ok(())
    }

    /// Fails if the response body has a content encoding, because the client decodes none.
    pub(super) fn check_encoding(&self, answer: &Answer) -> Result<()> {
        let Some(encoding) = foreign_encoding(&answer.headers) else {
            return Ok(());
        };
        let text = format!(
            "'{}' answered with content encoding '{}', which was not asked for: expected identity",
            self.peer(),
            Excerpt(&encoding)
        );
        Err(Error::new(ErrorKind::Protocol, text)
            .sent(true)
            .with_http(answer.status.as_u16(), None))
    }

    /// Reads the rest of the body after a response, so that the connection can be reused. Closes
    /// the connection if the rest is too long or takes too long. If the connection is polled and
    /// the rest has not arrived, returns the connection: [`finish_now`](Self::finish_now) reads the
    /// rest.
    pub(super) fn finish(
        &self,
        mut lane: Box<PoolSlot>,
        context: Context<'_>,
    ) -> Option<Box<PoolSlot>> {
        if !context.cancel_handle.release() {
            return None;
        }
        if context.mode == Mode::Blocking {
            self.finish_now(lane);
            return None;
        }
        match ends_within(REST.0, &mut lane) {
            Rest::Ended => self.lanes.put(lane),
            Rest::Waits => return Some(lane),
            Rest::TooLong => {}
        }
        None
    }

    /// Reads the rest of the body after a response, as [`finish`](Self::finish) does. Blocks.
    pub(super) fn finish_now(&self, mut lane: Box<PoolSlot>) {
        if self.ends_late.load(Ordering::Relaxed) {
            return;
        }
        lane.line.set_polled(false);
        let rest = CancelHandle::until(Some(Instant::now() + REST.1));
        let Ok(_watched) = self.watch.add(&rest, false) else {
            return;
        };
        if !rest.engage(lane.brake()) {
            return;
        }
        let ends = matches!(ends_within(REST.0, &mut lane), Rest::Ended);
        let pulled = !rest.release();
        if ends && !pulled {
            self.lanes.put(lane);
        } else {
            self.ends_late.store(pulled, Ordering::Relaxed);
        }
    }
}

/// The rest of a response body.
enum Rest {
    Ended,
    /// The rest is too long, or the connection is lost.
    TooLong,
    /// More has not arrived, and the connection is polled.
    Waits,
}

/// Reads and discards the rest of a response body, at most `most` bytes.
fn ends_within(most: usize, lane: &mut PoolSlot) -> Rest {
    let mut len = 0;
    while len < most {
        match lane.line.read(&mut lane.buffer) {
            Ok(0) => return Rest::Ended,
            Ok(more) => len += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if lane.line.has_to_wait(&error) => return Rest::Waits,
            Err(_) => return Rest::TooLong,
        }
    }
    Rest::TooLong
}
