//! Event streams that clients open with GET, and sessions that clients end with DELETE.
//!
//! Spec: Transports, "Streamable HTTP", "Listening for Messages from the Server" and "Session
//! Management" (2025-03-26 to 2025-11-25).

use std::sync::Arc;

use super::super::expiring::bounded;
use super::super::fields::text;
use super::super::history::{EventId, Missing};
use super::super::refusal::{Refusal, accepts};
use super::super::reply::stream_head;
use super::super::session::Stream;
use super::{Exchange, Handled, Served};
use crate::error::{Error, ErrorKind, Excerpt};
use crate::protocol::LogLevel;
use crate::transport::http::event::EVENT_STREAM;
use crate::transport::http::{HttpRequest, ResponseHead, ResponseWriter};

/// The stream that a client wants to read, and the last event that the client has received. `seen`
/// is the number of that event, and `last` is its id as the client has sent it.
struct Wanted {
    stream: Arc<Stream>,
    seen: Option<u64>,
    last: String,
}

impl Served {
    pub(super) fn get(&self, request: &HttpRequest<'_>, exchange: &mut Exchange) -> Handled {
        let Wanted { stream, seen, last } = self.wanted_stream(request, exchange)?;
        let response = bounded(exchange.take(), exchange.principal.as_ref());
        let given_back = stream.read_from(seen, Vec::new(), response);
        given_back.map_err(|(missing, response)| {
            exchange.response = Some(response);
            self.missing(&last, missing)
        })
    }

    /// Answers a HEAD request: sends the head of the response to GET, without opening a stream.
    pub(super) fn head(&self, request: &HttpRequest<'_>, exchange: &mut Exchange) -> Handled {
        let Wanted { stream, seen, last } = self.wanted_stream(request, exchange)?;
        let has_more = stream.look(seen);
        if !has_more.map_err(|missing| self.missing(&last, missing))? {
            return Err(Refusal::empty(ResponseHead::new(204)));
        }
        show_stream(exchange.take());
        Ok(())
    }

    /// Returns the stream that a client wants to read with a GET or HEAD request.
    fn wanted_stream(
        &self,
        request: &HttpRequest<'_>,
        exchange: &Exchange,
    ) -> Result<Wanted, Refusal> {
        if !self.options.sessions || !self.serves_legacy() {
            return Err(self.not_allowed());
        }
        if !accepts(request, EVENT_STREAM) {
            let text = "GET opens a stream: Accept has to name text/event-stream";
            return Err(Refusal::text(406, text));
        }
        let session = self.named_session(request, exchange.name())?;
        let Some(last) = text(request, "Last-Event-ID") else {
            let (stream, last) = (Arc::clone(&session.get_stream), String::new());
            let seen = None;
            return Ok(Wanted { stream, seen, last });
        };
        let id = EventId::parse(&last);
        let found = id.and_then(|id| Some((session.find_stream(id.stream)?, Some(id.sequence))));
        match found {
            Some((stream, seen)) => Ok(Wanted { stream, seen, last }),
            None => Err(self.missing(&last, Missing::Gone)),
        }
    }

    /// Answers a DELETE request: ends the session.
    pub(super) fn delete(
        &self,
        request: &HttpRequest<'_>,
        principal: Option<&str>,
    ) -> Result<Refusal, Refusal> {
        if !self.options.sessions || !self.serves_legacy() {
            return Err(self.not_allowed());
        }
        let session = self.named_session(request, principal)?;
        self.sessions.remove(&session);
        let why = Error::new(ErrorKind::Closed, "the client has ended its session");
        session.end(&why);
        Ok(Refusal::empty(ResponseHead::new(200)))
    }

    /// Returns the refusal for a client whose stream can't be resumed.
    fn missing(&self, last: &str, missing: Missing) -> Refusal {
        let last = Excerpt(last);
        match missing {
            Missing::Gone => {
                let text = format!(
                    "the events behind '{last}' are not kept (any more): send the request anew"
                );
                Refusal::text(400, text)
            }
            Missing::Failed(error) => {
                self.log(LogLevel::Error, || {
                    format!("the events of a stream can't be read: {error}")
                });
                let text = format!("the events behind '{last}' can't be had now; try again later");
                Refusal::text(503, text).header("Retry-After", "1")
            }
        }
    }
}

/// Answers a HEAD request with the response head of a stream.
pub(super) fn show_stream(mut response: Box<dyn ResponseWriter>) {
    // An error means that the client has disconnected.
    _ = response
        .begin(&stream_head(None), b"")
        .and_then(|()| response.finish());
}
