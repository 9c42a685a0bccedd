//! The exchange of one JSON-RPC request: the request, and its answer as JSON or as a stream.

use std::ops::ControlFlow;

use ureq::http::{Method, StatusCode, Uri, header};

use super::ask::{Answer, Asking, Context, Step, Wait};
use super::pool::PoolSlot;
use super::request::Ask;
use super::stream::Streaming;
use super::transport::ClientTransport;
use crate::error::{Error, ErrorKind, Excerpt, Result};
use crate::fallible;
use crate::jsonrpc::{Message, TooLong};
use crate::transport::exchange_transport::{Deliver, ExchangeOutcome};
use crate::transport::message::RequestKind;
use crate::transport::{Received, SessionMessage};

/// The progress of an exchange.
pub(super) enum Carrying {
    /// The request is sent, or its response is awaited. If there is an endpoint (HTTP+SSE), the
    /// answer arrives on another stream.
    Asking(Asking, Option<Uri>),
    /// The body of the answer is JSON, of which a part was read.
    Json(Answer, Vec<u8>),
    Stream(Box<Streaming>),
    /// The exchange has ended. The rest of the body has to be read from the connection, if there is
    /// one.
    Over(Option<Box<PoolSlot>>),
}

impl Carrying {
    /// Returns the connection of the exchange, while the exchange waits for input.
    pub(super) fn lane(&mut self) -> Option<&mut PoolSlot> {
        match self {
            Self::Asking(asking, _) => asking.lane(),
            Self::Json(answer, _) => Some(&mut answer.lane),
            Self::Stream(streaming) => streaming.lane(),
            Self::Over(_) => None,
        }
    }
}

impl Carrying {
    /// Returns the connection from which the rest of a body has to be read, if there is one.
    pub(super) fn take_rest(&mut self) -> Option<Box<PoolSlot>> {
        match self {
            Self::Over(rest) => rest.take(),
            _ => None,
        }
    }
}

impl ClientTransport {
    /// Returns the state of an exchange that has not begun.
    pub(super) fn begin_exchange(&self) -> Carrying {
        let endpoint = self.state.lock().endpoint.clone();
        Carrying::Asking(Asking::default(), endpoint)
    }

    /// Continues an exchange, and delivers the messages of the server's answer, until the answer is
    /// complete or the exchange has to be parked.
    pub(super) fn step_of_exchange(
        &self,
        request: &SessionMessage,
        carrying: &mut Carrying,
        context: Context<'_>,
        deliver: &mut Deliver<'_>,
    ) -> Result<Step<ExchangeOutcome>> {
        loop {
            match std::mem::replace(carrying, Carrying::Over(None)) {
                Carrying::Asking(mut asking, endpoint) => {
                    let ask = Ask {
                        method: Method::POST,
                        uri: endpoint.as_ref().unwrap_or(&self.http.url),
                        body: &request.text,
                        kind: &request.kind,
                        last_event_id: None,
                        id: request.related.as_ref(),
                    };
                    let answer = match self.step_of_ask(&ask, &mut asking, context)? {
                        Step::Done(answer) => answer,
                        Step::Waits(wait) => {
                            *carrying = Carrying::Asking(asking, endpoint);
                            return Ok(Step::Waits(wait));
                        }
                    };
                    if endpoint.is_some() {
                        *carrying = Carrying::Over(self.finish(answer.lane, context));
                        return Ok(Step::Done(ExchangeOutcome::Elsewhere));
                    }
                    *carrying = self.begin_answer(request, answer)?;
                }
                Carrying::Json(mut answer, mut text) => {
                    if !self.read_body(&mut answer, &mut text, context)? {
                        *carrying = Carrying::Json(answer, text);
                        return Ok(Step::Waits(Wait::Input));
                    }
                    return self.take_json(request, answer, text, context, deliver);
                }
                Carrying::Stream(mut streaming) => {
                    match self.step_of_stream(request, &mut streaming, context, deliver)? {
                        Step::Done(lane) => {
                            *carrying = Carrying::Over(self.finish(lane, context));
                            return Ok(Step::Done(ExchangeOutcome::Answered));
                        }
                        Step::Waits(wait) => {
                            *carrying = Carrying::Stream(streaming);
                            return Ok(Step::Waits(wait));
                        }
                    }
                }
                Carrying::Over(_) => return Err(self.nobody_waits()),
            }
        }
    }

    /// Returns the state in which the body of an answer is read.
    fn begin_answer(&self, request: &SessionMessage, answer: Answer) -> Result<Carrying> {
        self.check_encoding(&answer)?;
        if let RequestKind::OpensSession = request.kind {
            self.enter_session(&answer.headers)?;
        }
        // Some servers leave out the content type of their JSON.
        let is_untyped = answer.content_type().is_empty() && answer.status == StatusCode::OK;
        if is_untyped || answer.is_of("application/json") {
            let length = content_length(&answer);
            let room = length
                .unwrap_or(1024)
                .min(self.longest_message().min(1 << 20));
            let text = fallible::with_capacity(room).map_err(|_| self.no_memory(room))?;
            return Ok(Carrying::Json(answer, text));
        }
        if answer.is_of("text/event-stream") {
            let streaming = Streaming::new(answer, self.longest_message());
            return Ok(Carrying::Stream(Box::new(streaming)));
        }
        let kind = answer.content_type();
        if kind.is_empty() {
            return Err(self.empty(answer.status.as_u16()));
        }
        let text = format!(
            "'{}' answered a request with content type '{}': expected application/json or text/event-stream",
            self.peer(),
            Excerpt(kind)
        );
        Err(Error::new(ErrorKind::Protocol, text).sent(true))
    }

    /// Reads a response body, at most one byte more than the maximum length of a message. Returns
    /// false if more may arrive and the connection is polled.
    fn read_body(
        &self,
        answer: &mut Answer,
        text: &mut Vec<u8>,
        context: Context<'_>,
    ) -> Result<bool> {
        let most = self.longest_message().saturating_add(1);
        let line = &mut answer.lane.line;
        let read = fallible::read_to_end(line, text, most.saturating_sub(text.len()));
        match read {
            Ok(()) => Ok(true),
            Err(error) if line.has_to_wait(&error) => Ok(false),
            Err(error) if error.kind() == std::io::ErrorKind::OutOfMemory => {
                let length = content_length(answer).unwrap_or(0);
                Err(self.no_memory(text.len().max(length)))
            }
            Err(error) => Err(self.broken_off(error, context.cancel_handle, context.watched)),
        }
    }

    /// Delivers an answer whose body is JSON.
    fn take_json(
        &self,
        request: &SessionMessage,
        answer: Answer,
        mut text: Vec<u8>,
        context: Context<'_>,
        deliver: &mut Deliver<'_>,
    ) -> Result<Step<ExchangeOutcome>> {
        let status = answer.status.as_u16();
        if text.len() > self.longest_message() {
            _ = deliver(self.too_long(request));
            return Ok(Step::Done(ExchangeOutcome::Answered));
        }
        if context.cancel_handle.release() {
            self.lanes.put(answer.lane);
        }
        if text.trim_ascii().is_empty() {
            return Err(self.empty(status));
        }
        // RFC 8259, section 8.1: a reader may ignore a byte order mark.
        if text.starts_with(b"\xef\xbb\xbf") {
            text.drain(..3);
        }
        // An error without an id can only be about this request.
        if let Ok(text) = std::str::from_utf8(&text)
            && text.contains("\"error\"")
        {
            let copy = fallible::copy_text(text).map_err(|_| self.no_memory(text.len()))?;
            if let Ok(Message::Response(response)) = Message::read(copy)
                && response.id().is_none()
                && let Err(rpc) = response.outcome()
            {
                let error = Error::new(ErrorKind::Peer, rpc.message.clone());
                return Err(error.sent(true).with_rpc(rpc.clone()));
            }
        }
        match deliver(Received::Message(SessionMessage::new(text))) {
            ControlFlow::Break(()) => Ok(Step::Done(ExchangeOutcome::Answered)),
            ControlFlow::Continue(()) => {
                let text = format!(
                    "'{}' answered with JSON that is not the response to the request",
                    self.peer()
                );
                Err(Error::new(ErrorKind::Protocol, text).sent(true))
            }
        }
    }

    /// Returns the error for an answer of at least `bytes` bytes for which there is no memory.
    fn no_memory(&self, bytes: usize) -> Error {
        let peer = self.peer();
        let what = format_args!("the answer of '{peer}', of at least {bytes} bytes");
        fallible::no_memory(what).sent(true)
    }

    fn empty(&self, status: u16) -> Error {
        let peer = self.peer();
        let text = format!("'{peer}' answered a request with {status} and nothing else");
        Error::new(ErrorKind::Protocol, text).sent(true)
    }

    fn too_long(&self, request: &SessionMessage) -> Received {
        Received::TooLong(TooLong {
            bytes: self.longest_message() + 1,
            id: request.related.clone(),
            is_response: true,
            no_memory: false,
        })
    }
}

fn content_length(answer: &Answer) -> Option<usize> {
    let value = answer.headers.get(header::CONTENT_LENGTH)?;
    value.to_str().ok()?.parse().ok()
}
