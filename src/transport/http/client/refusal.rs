//! Makes the errors of failed requests. Their texts never contain a secret of the client.

use std::io::{self, Read as _};
use std::ops::ControlFlow;
use std::sync::Arc;

use ureq::http::{HeaderMap, Response};

use super::challenge::Demand;
use super::content::{foreign_encoding, is_of};
use super::pool::{Failed, PoolSlot};
use super::request::Ask;
#[cfg(feature = "tls")]
use super::tls;
use super::transport::ClientTransport;
use crate::error::{Error, ErrorKind, Excerpt, RpcError, Span};
use crate::jsonrpc::{Message, RequestId};
use crate::transport::deadlines::Watched;
use crate::transport::exchange_transport::CancelHandle;
use crate::transport::http::authorizer::Credentials;
use crate::transport::http::event_reader::{EventReader, Item};
use crate::transport::http::http_client::unwrapped;

/// The maximum number of bytes of an error response that are read. The rest is ignored.
const MAX_REFUSAL: u64 = 64 << 10;

/// The error codes for an unknown session. Servers of the official SDKs send these codes when they
/// do not know the session of a request.
const ABOUT_SESSION: [i64; 2] = [-32000, -32001];

/// Returns the part of an error text that tells what a server demands with its challenge.
fn demand_of(ask: &Ask<'_>, challenge: Option<&str>) -> String {
    let Some(challenge) = challenge else {
        return String::new();
    };
    let method = ask.method_name().unwrap_or("the request");
    match Demand::read([challenge].into_iter()).needed_scopes(method) {
        Some(needed) => format!(": {}", Excerpt(&needed)),
        None => format!("; WWW-Authenticate: {challenge}"),
    }
}

impl ClientTransport {
    /// Returns the error for an unsuccessful response, and the header fields of the response.
    pub(super) fn refusal(
        &self,
        ask: &Ask<'_>,
        lane: Box<PoolSlot>,
        cancel_handle: &Arc<CancelHandle>,
        response: Response<()>,
        credentials: &Credentials,
    ) -> (Error, HeaderMap) {
        let (head, ()) = response.into_parts();
        let status = head.status.as_u16();
        let field = |name: &str| {
            let value = head.headers.get(name).and_then(|value| value.to_str().ok());
            value.map(|value| self.redact(value, credentials))
        };
        let encoding = foreign_encoding(&head.headers);
        let is_stream = is_of(&head.headers, "text/event-stream");
        let text = self.refusal_text(lane, cancel_handle, is_stream && encoding.is_none());
        let text = match &encoding {
            None => String::from_utf8_lossy(&text).into_owned(),
            Some(encoding) => format!("[content encoding {}]", Excerpt(encoding)),
        };
        let (rpc, is_named) = match Message::read(text.clone()) {
            Ok(Message::Response(response)) => {
                let number = |id: Option<&RequestId>| id.and_then(RequestId::as_i64);
                let is_named = number(ask.id).is_some_and(|id| number(response.id()) == Some(id));
                (response.outcome().err().cloned(), is_named)
            }
            _ => (None, false),
        };
        let reason = head.status.canonical_reason().unwrap_or("no reason given");
        let mut message = format!("'{}' answered {status} {reason}", self.peer());
        let challenges = head.headers.get_all("www-authenticate").into_iter();
        let challenges = challenges.filter_map(|value| value.to_str().ok());
        let challenges: Vec<String> = challenges
            .map(|value| self.redact(value, credentials))
            .collect();
        // Several fields have the meaning of one list.
        let challenge = (!challenges.is_empty()).then(|| challenges.join(", "));
        let kind = match (status, &rpc) {
            (401 | 403, _) => {
                message.push_str(&demand_of(ask, challenge.as_deref()));
                ErrorKind::Auth
            }
            (_, Some(_)) => ErrorKind::Peer,
            (300..=399, _) => {
                let target = field("location").unwrap_or_default();
                let target = target.split('?').next().unwrap_or_default();
                message = format!(
                    "{message}: it redirects to '{}', where credentials are not sent \
                     (followed are 307 and 308 to the same origin, if Http::follow_redirects allows it)",
                    Excerpt(target)
                );
                ErrorKind::Http
            }
            _ => ErrorKind::Http,
        };
        if let (ErrorKind::Http | ErrorKind::Auth, false) = (kind, text.trim().is_empty()) {
            message = format!(
                "{message}: {}",
                Excerpt(self.redact(&text, credentials).trim())
            );
        }
        let mut error = Error::new(kind, message)
            .sent(true)
            .with_http(status, challenge)
            .vague(!is_named || rpc.as_ref().is_some_and(is_about_session));
        if let (ErrorKind::Peer, Some(rpc)) = (kind, rpc) {
            error = error.with_rpc(rpc);
        }
        (error, head.headers)
    }

    /// Returns the text of an error response: its body, or the first response on an event stream.
    fn refusal_text(
        &self,
        mut lane: Box<PoolSlot>,
        cancel_handle: &CancelHandle,
        is_stream: bool,
    ) -> Vec<u8> {
        let mut text = Vec::new();
        let ended = if is_stream {
            text = first_response(&mut lane);
            false
        } else {
            let read = (&mut lane.line).take(MAX_REFUSAL).read_to_end(&mut text);
            read.is_ok() && (text.len() as u64) < MAX_REFUSAL
        };
        if cancel_handle.release() && ended {
            self.lanes.put(lane);
        }
        text
    }

    /// Removes the client's secrets from a text that the server sent.
    fn redact(&self, text: &str, credentials: &Credentials) -> String {
        let mut text = self.cookies.redact(text);
        let session = self.state.lock().session.clone();
        let fields = self.http.headers.iter().chain(&credentials.fields);
        let values = fields.map(|(_, value)| value).chain(session.as_ref());
        for secret in values.filter_map(|value| value.to_str().ok()) {
            // The name of an authentication scheme is not a secret. The server may repeat the
            // credentials without the scheme.
            let is_scheme = |part: &str| {
                let names = ["basic", "bearer", "digest", "dpop", "negotiate"];
                names.iter().any(|name| part.eq_ignore_ascii_case(name))
            };
            let parts = secret.split(' ');
            for part in parts.filter(|part| part.len() > 3 && !is_scheme(part)) {
                text = text.replace(part, "[…]");
            }
        }
        text
    }

    /// Returns the error for a response that ended before it was complete.
    pub(super) fn broken_off(
        &self,
        error: io::Error,
        cancel_handle: &CancelHandle,
        watched: &Watched,
    ) -> Error {
        let error = error.into();
        self.failure(Failed { error, sent: true }, cancel_handle, watched)
    }

    /// Returns the error for a request whose response is missing or incomplete.
    pub(super) fn failure(
        &self,
        failed: Failed,
        cancel_handle: &CancelHandle,
        watched: &Watched,
    ) -> Error {
        let peer = self.peer();
        let Failed { error, sent } = failed;
        if cancel_handle.is_over() {
            return self.nobody_waits().sent(sent);
        }
        if watched.has_stalled() {
            let span = Span(self.http.stall_timeout);
            let text = format!(
                "the stream of '{peer}' has stalled: nothing came for {span} (Http::stall_timeout), not even a keep-alive; outcome unknown"
            );
            return Error::new(ErrorKind::Closed, text).sent(true);
        }
        let error = match unwrapped(error) {
            Ok(error) => return error.context(format_args!("'{peer}'")).sent(sent),
            Err(error) => error,
        };
        match error {
            ureq::Error::Timeout(_) => {
                let span = Span(self.http.connect_timeout);
                let text =
                    format!("'{peer}' can't be reached within {span} (Http::connect_timeout)");
                Error::new(ErrorKind::Timeout, text)
            }
            #[cfg(feature = "tls")]
            ureq::Error::Io(error) if !sent && tls::fault(&error).is_some() => {
                let (kind, why) = match tls::fault(&error) {
                    Some(tls::Fault::Refused(why)) => (ErrorKind::Auth, why),
                    Some(tls::Fault::NoneSuch(why)) => (ErrorKind::Io, why),
                    None => (ErrorKind::Io, error.to_string()),
                };
                Error::new(kind, format!("'{peer}' can't be reached: {why}")).with_source(error)
            }
            ureq::Error::Io(error) if !sent => {
                Error::io(format_args!("'{peer}' can't be reached"), error)
            }
            error if !sent => {
                let text = format!("'{peer}' can't be reached: {error}");
                Error::new(ErrorKind::Io, text)
            }
            ureq::Error::Protocol(error) => {
                let text = format!("the answer of '{peer}' is not HTTP: {error}");
                Error::new(ErrorKind::Protocol, text).sent(true)
            }
            ureq::Error::LargeResponseHeader(_, max) => {
                let text = format!("'{peer}' answers with a head of more than {max} bytes");
                Error::new(ErrorKind::Limit, text).sent(true)
            }
            error => {
                let text = format!("'{peer}' broke off: {error}; outcome unknown");
                Error::new(ErrorKind::Closed, text).sent(true)
            }
        }
    }

    pub(super) fn nobody_waits(&self) -> Error {
        let text = format!("the wait for '{}' was ended", self.peer());
        Error::new(ErrorKind::Cancelled, text)
    }
}

/// Returns the first response on an event stream. Does not wait for the end of the stream.
fn first_response(lane: &mut PoolSlot) -> Vec<u8> {
    let mut reader = EventReader::new(MAX_REFUSAL as usize);
    let (mut found, mut left) = (Vec::new(), MAX_REFUSAL as usize);
    while left > 0 {
        let len = match lane.line.read(&mut lane.buffer) {
            Ok(0) => break,
            Ok(len) => len,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => break,
        };
        left = left.saturating_sub(len);
        let taken = reader.push(&lane.buffer[..len], &mut |item| {
            let Item::Event { data, .. } = item else {
                return ControlFlow::Continue(());
            };
            found = data;
            let text = String::from_utf8_lossy(&found).into_owned();
            match Message::read(text) {
                Ok(Message::Request(_) | Message::Notification(_)) => ControlFlow::Continue(()),
                _ => ControlFlow::Break(()),
            }
        });
        if taken.is_break() {
            break;
        }
    }
    found
}

/// Whether an error response means that the server does not know the session. The id in the error
/// does not matter.
fn is_about_session(rpc: &RpcError) -> bool {
    ABOUT_SESSION.contains(&rpc.code.value())
}
