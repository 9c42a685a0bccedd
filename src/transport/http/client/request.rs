//! One HTTP request to the server: its description, and its header fields.

use std::borrow::Cow;
use std::fmt;

use ureq::http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri, header};

use super::pool::{Failed, USER_AGENT};
use super::transport::{ClientTransport, SESSION};
use crate::error::{Error, ErrorKind, Result};
use crate::jsonrpc::RequestId;
use crate::jsonrpc::raw_object::RawObject;
use crate::schema::method;
use crate::transport::http::authorizer::Credentials;
use crate::transport::message::RequestKind;

static VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
static METHOD: HeaderName = HeaderName::from_static("mcp-method");
static NAME: HeaderName = HeaderName::from_static("mcp-name");
/// The initial capacity for header fields of a request: enough for the fields of the library and a
/// few more.
const FIELDS: usize = 12;

/// The description of one HTTP request to the server.
pub(super) struct Ask<'a> {
    pub(super) method: Method,
    pub(super) uri: &'a Uri,
    pub(super) body: &'a [u8],
    pub(super) kind: &'a RequestKind,
    pub(super) last_event_id: Option<&'a str>,
    /// The id of the JSON-RPC request in the body, if there is one.
    pub(super) id: Option<&'a RequestId>,
}

impl Ask<'_> {
    /// Returns the JSON-RPC method of the message in the body. `None` for a response, a batch, and
    /// a request without a body.
    pub(super) fn method_name(&self) -> Option<&str> {
        let text = std::str::from_utf8(self.body).ok()?;
        let (_, value) = RawObject::of(text).find(|(name, _)| name == "method")?;
        serde_json::from_str(value).ok()
    }

    /// Whether the request may be sent once more after a failure: the server can't have received
    /// it, or a repetition has no further effect.
    pub(super) fn may_repeat(&self, failed: &Failed) -> bool {
        let is_harmless = |name: &str| {
            method::IDEMPOTENT.contains(&name)
                || [method::INITIALIZE, method::NOTIFICATIONS_INITIALIZED].contains(&name)
        };
        !failed.sent || self.method != Method::POST || self.method_name().is_some_and(is_harmless)
    }
}

fn refused(error: impl fmt::Display) -> Error {
    let text = format!("a header field of the request can't be sent: {error}");
    Error::new(ErrorKind::Invalid, text)
}

fn value_of(text: &str) -> Result<HeaderValue> {
    HeaderValue::from_str(text).map_err(refused)
}

fn add_field(fields: &mut HeaderMap, name: &str, value: HeaderValue) -> Result<()> {
    // The names of the usual fields are not parsed for each request.
    let known = [&VERSION, &METHOD, &NAME];
    let name = match known.into_iter().find(|known| *known == name) {
        Some(known) => known.clone(),
        None => HeaderName::from_bytes(name.as_bytes()).map_err(refused)?,
    };
    fields.append(name, value);
    Ok(())
}

impl ClientTransport {
    /// Makes the HTTP request with the header fields of the protocol, the host and the authorizer.
    pub(super) fn request(
        &self,
        ask: &Ask<'_>,
        uri: &Uri,
        credentials: &Credentials,
    ) -> Result<Request<()>> {
        let accept = match ask.method {
            Method::GET => "text/event-stream",
            _ => "application/json, text/event-stream",
        };
        let mut request = Request::new(());
        *request.method_mut() = ask.method.clone();
        *request.uri_mut() = uri.clone();
        let fields = request.headers_mut();
        fields.reserve(FIELDS);
        fields.insert(header::ACCEPT, HeaderValue::from_static(accept));
        if ask.method == Method::POST {
            let json = HeaderValue::from_static("application/json");
            fields.insert(header::CONTENT_TYPE, json);
        }
        for (name, value) in self.http.headers.iter().chain(&credentials.fields) {
            fields.append(name, value.clone());
        }
        self.cookies.give(uri, fields);
        // The library decodes no content encoding.
        let encoding = fields.entry(header::ACCEPT_ENCODING);
        encoding.or_insert(HeaderValue::from_static("identity"));
        let agent = fields.entry(header::USER_AGENT);
        agent.or_insert(HeaderValue::from_static(USER_AGENT));
        match ask.kind {
            RequestKind::OpensSession => {}
            RequestKind::InSession => {
                let state = self.state.lock();
                if let Some(session) = &state.session {
                    fields.append(&SESSION, session.clone());
                }
                if let Some(version) = &state.version {
                    fields.append(&VERSION, version.clone());
                }
            }
            RequestKind::Stateless(own) => {
                for (name, value) in own {
                    let value = match value {
                        // The text is one of the library's own texts.
                        Cow::Borrowed(text) => HeaderValue::from_static(text),
                        Cow::Owned(text) => value_of(text)?,
                    };
                    add_field(fields, name, value)?;
                }
            }
        }
        if let Some(id) = ask.last_event_id {
            add_field(fields, "last-event-id", value_of(id)?)?;
        }
        if ask.method == Method::POST {
            fields.insert(header::CONTENT_LENGTH, HeaderValue::from(ask.body.len()));
        }
        Ok(request)
    }
}
