//! The HTTP transport of 2024-11-05: one path for the event stream with all messages to the client,
//! another path for the client's posts.
//!
//! Spec: Transports, "HTTP with SSE" (2024-11-05).

use super::super::expiring::bounded;
use super::super::refusal::{Refusal, check_encoding, refuse_malformed, refuse_request};
use super::super::session::check_opening;
use super::streams::show_stream;
use super::{Exchange, Handled, Served, message_of};
use crate::jsonrpc::{Message, Parsed};
use crate::protocol::Origin;
use crate::schema::method;
use crate::transport::http::event::write_typed;
use crate::transport::http::{HttpRequest, ResponseHead};

impl Served {
    /// Opens the event stream of a 2024-11-05 client. The first event tells the client the path for
    /// its posts.
    pub(super) fn open_old(
        &self,
        request: &HttpRequest<'_>,
        post_path: &str,
        exchange: &mut Exchange,
    ) -> Handled {
        if request.method == "HEAD" {
            show_stream(exchange.take());
            return Ok(());
        }
        if request.method != "GET" {
            // Clients recognize a server of 2024-11-05 by the status and the empty body.
            let head = ResponseHead::new(405).header("Allow", "GET, HEAD");
            return Err(Refusal::empty(head));
        }
        // The client sends its info later, in `initialize`.
        let session = self.open_session(request, exchange.principal.clone(), true, 0)?;
        let mut preface = Vec::new();
        let response = bounded(exchange.take(), exchange.principal.as_ref());
        let post_url = format!("{post_path}?sessionId={}", session.id);
        write_typed(&mut preface, "endpoint", &post_url);
        session.enter();
        _ = session.get_stream.read_from(None, preface, response);
        Ok(())
    }

    /// Returns the session id in the URL of a request to the 2024-11-05 path for posts. Returns
    /// `None` for other paths.
    pub(in super::super) fn old_session_id<'a>(
        &self,
        request: &HttpRequest<'a>,
    ) -> Option<&'a str> {
        let (_, post_path) = self.options.old_paths.as_ref()?;
        let (path, query) = request.target.split_once('?')?;
        let mut parts = query.split('&').filter(|_| path == post_path);
        parts.find_map(|part| part.strip_prefix("sessionId="))
    }

    /// Handles a message that a 2024-11-05 client has posted. The answer goes to the client's event
    /// stream.
    pub(super) fn post_old(
        &self,
        request: &mut HttpRequest<'_>,
        exchange: &mut Exchange,
    ) -> Handled {
        if request.method != "POST" {
            let refusal = Refusal::text(405, "allowed here: POST").header("Allow", "POST");
            return Err(refusal);
        }
        check_encoding(request)?;
        let id = self.old_session_id(request);
        let session = id.and_then(|id| self.sessions.find(id.as_bytes(), exchange.name()));
        let Some(session) = session else {
            let text = "there is no such stream (any more): open one with GET";
            return Err(Refusal::text(404, text));
        };
        match Parsed::read(message_of(request), self.server.services.limits.max_depth) {
            Parsed::Single(Ok(message)) => {
                if let Message::Request(opening) = &message
                    && opening.method() == method::INITIALIZE
                    && session.revision().is_none()
                {
                    check_opening(opening).map_err(|error| refuse_request(opening, &error))?;
                    if !self.sessions.keep(&session, opening.params().len()) {
                        return Err(self.no_room(request));
                    }
                }
                exchange.accept();
                let origin = Origin {
                    principal: exchange.principal.take(),
                    ..Origin::default()
                };
                session.connection().feed(message, &origin);
                Ok(())
            }
            Parsed::Single(Err(malformed)) => {
                self.trouble_with(&malformed, request);
                Err(refuse_malformed(&malformed))
            }
            Parsed::Batch(_) => {
                let text = "an array of messages is known to revision 2025-03-26 only";
                Err(Refusal::text(400, text))
            }
        }
    }
}
