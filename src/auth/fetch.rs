//! HTTP requests for metadata and tokens: limited in size, time and reachable addresses. Requests
//! for metadata follow redirects within one origin; requests for tokens follow no redirects.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use ureq::http::response::Parts;
use ureq::http::{HeaderMap, HeaderValue, Request, Response, header, request};
use ureq::{Agent, Body, Proxy, Timeout};
use zeroize::Zeroizing;

use super::address_policy::{AddressPolicy, Guard};
use super::http_url::HttpUrl;
use crate::error::{Error, ErrorKind, Excerpt, Result, Span};
use crate::fallible;
use crate::transport::clock::after;
use crate::transport::deadlines::Deadlines;
use crate::transport::exchange_transport::{CancelHandle, NextCheck};
use crate::transport::http::http_client::{self, HttpClient, wrapped};
use crate::transport::http::proxies::Proxies;
use crate::transport::http::shutdown::Shutdown;
use crate::transport::http::{CredentialWait, foreign_encoding, location, tls};

/// The maximum length of a response body, in bytes. A longer response is an error.
const MAX_BODY: usize = 256 << 10;

/// The value of the `User-Agent` field.
const USER_AGENT: &str = concat!(env!("CARGO_PKG_NAME"), "/", env!("CARGO_PKG_VERSION"));

/// The maximum number of consecutive redirects that are followed. A further redirect is not
/// followed.
const MAX_REDIRECTS: usize = 5;

/// An HTTP client that sends requests on behalf of one MCP server.
pub(super) struct Fetcher {
    agent: Agent,
    /// The HTTP client of the host, which sends the requests if there is one.
    client: Option<Arc<dyn HttpClient>>,
    /// Ends the requests of `client` after `timeout`.
    deadlines: Deadlines,
    proxies: Proxies,
    guard: Guard,
    timeout: Duration,
    /// The wait of the calls that need the tokens. When the wait is over, requests are aborted,
    /// except requests with [`Patience::ToTheEnd`].
    waiting: CredentialWait,
}

/// An HTTP response.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) fields: HeaderMap,
    body: Zeroizing<Vec<u8>>,
}

/// Whether a request is aborted when no call waits for its response any longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Patience {
    WhileAwaited,
    /// The request is not aborted. Its response must not be lost: it may contain a refresh token
    /// that replaces the stored one.
    ToTheEnd,
}

impl Answer {
    /// Reads the body of a response, at most one byte more than the maximum length.
    fn read(head: Parts, body: &mut impl io::Read) -> Result<Self, ureq::Error> {
        // The buffer is allocated in full, because a growing buffer would leave copies of secrets
        // that are not wiped.
        let room = fallible::with_capacity(MAX_BODY + 1).map_err(io::Error::from)?;
        let mut bytes = Zeroizing::new(room);
        fallible::read_to_end(body, &mut bytes, MAX_BODY + 1)?;
        Ok(Self {
            status: head.status.as_u16(),
            fields: head.headers,
            body: bytes,
        })
    }

    pub(super) fn field(&self, name: &str) -> Option<&str> {
        self.fields.get(name)?.to_str().ok()
    }

    /// Returns the target of a redirect of a GET request. Returns `None` if the redirect leaves the
    /// origin.
    fn moved_from(&self, place: &HttpUrl) -> Option<HttpUrl> {
        let target = self
            .field("location")
            .filter(|_| matches!(self.status, 301 | 302 | 303 | 307 | 308))?;
        let from = place.text().parse().ok()?;
        let target = location::resolve(&from, target)?;
        let is_own = location::is_same_origin(&from, &target);
        is_own.then(|| HttpUrl::read("a redirect", &target.to_string()).ok())?
    }

    pub(super) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Whether the body begins like a JSON object. An HTML page or a word such as "OK" does not.
    pub(super) fn has_object(&self) -> bool {
        self.text().trim_ascii_start().starts_with(b"{")
    }

    /// Returns the body without a byte-order mark at its beginning.
    fn text(&self) -> &[u8] {
        self.body
            .strip_prefix(b"\xef\xbb\xbf")
            .unwrap_or(&self.body)
    }

    /// Deserializes the JSON body. Error texts do not quote the body, because it may contain
    /// secrets.
    pub(super) fn json<T: DeserializeOwned>(&self, what: &str, url: &HttpUrl) -> Result<T> {
        if let Some(encoding) = foreign_encoding(&self.fields) {
            let text = format!(
                "{what} of '{}' can't be read: it has content encoding '{}', not identity",
                url.shown(),
                Excerpt(&encoding)
            );
            return Err(Error::new(ErrorKind::Auth, text));
        }
        serde_json::from_slice(self.text()).map_err(|error| {
            let why = match error.classify() {
                serde_json::error::Category::Eof => "it breaks off",
                serde_json::error::Category::Data => "a member is missing or of another type",
                _ => "it is no JSON",
            };
            let place = format!("line {}, column {}", error.line(), error.column());
            let text = format!("{what} of '{}' can't be read: {why} ({place})", url.shown());
            Error::new(ErrorKind::Auth, text)
        })
    }
}

impl Fetcher {
    pub(super) fn new(
        reach: AddressPolicy,
        proxies: Proxies,
        roots: &tls::Roots,
        client: Option<Arc<dyn HttpClient>>,
        timeout: Duration,
        waiting: CredentialWait,
    ) -> Self {
        let timeout = timeout.min(Duration::from_secs(86_400));
        let guard = Guard {
            reach: Arc::new(reach),
            proxy: Arc::default(),
            refused: Arc::default(),
        };
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(None)
            .tls_config(roots.config())
            .accept_encoding("identity")
            .user_agent(USER_AGENT)
            .max_response_header_size(64 << 10)
            .timeout_global(Some(timeout))
            .build();
        Self {
            agent: Agent::with_parts(
                config,
                ureq::unversioned::transport::DefaultConnector::default(),
                guard.clone(),
            ),
            client,
            deadlines: Deadlines::new(timeout, waiting.threads()),
            proxies,
            guard,
            timeout,
            waiting,
        }
    }

    /// Checks that the address policy allows a URL, if its host is an address literal or
    /// `localhost`.
    pub(super) fn check_reach(&self, what: &str, url: &HttpUrl) -> Result<()> {
        if self.guard.reach.allows_literal(url) {
            return Ok(());
        }
        Err(refused(what, url))
    }

    pub(super) fn waiting(&self) -> &CredentialWait {
        &self.waiting
    }

    /// Fetches a document with a GET request that has the header fields `fields`. Follows redirects
    /// within the URL's origin.
    pub(super) fn get(&self, what: &str, url: &HttpUrl, fields: &[(&str, &str)]) -> Result<Answer> {
        let mut place = url.clone();
        let mut redirects = 0;
        loop {
            let mut request = Request::get(place.text()).header("accept", "application/json");
            for (name, value) in fields {
                request = request.header(*name, *value);
            }
            let answer = self.send(what, &place, request, None, Patience::WhileAwaited)?;
            match answer.moved_from(&place) {
                Some(next) if redirects < MAX_REDIRECTS => place = next,
                _ => return Ok(answer),
            }
            redirects += 1;
        }
    }

    /// Sends a POST request with a body of the given media type.
    pub(super) fn post(
        &self,
        what: &str,
        url: &HttpUrl,
        media_type: &str,
        fields: &[(&str, Zeroizing<String>)],
        body: &[u8],
        patience: Patience,
    ) -> Result<Answer> {
        let mut request = Request::post(url.text())
            .header("accept", "application/json")
            .header("content-type", media_type);
        for (name, value) in fields {
            let value = HeaderValue::from_str(value).map(|mut value| {
                value.set_sensitive(true);
                value
            });
            let Ok(value) = value else {
                let text = format!("credentials for {what} can't be sent in a header field");
                return Err(Error::new(ErrorKind::Invalid, text));
            };
            request = request.header(*name, value);
        }
        self.send(what, url, request, Some(body), patience)
    }

    fn send(
        &self,
        what: &str,
        url: &HttpUrl,
        request: request::Builder,
        body: Option<&[u8]>,
        patience: Patience,
    ) -> Result<Answer> {
        self.check_reach(what, url)?;
        let request = request.body(()).map_err(|_| {
            let text = format!("{what} can't be asked for at '{}'", url.shown());
            Error::new(ErrorKind::Auth, text)
        })?;
        let answer = match &self.client {
            Some(client) => {
                let request = request.map(|()| body.unwrap_or_default());
                self.send_with(&**client, url, request, patience)
            }
            None => self.send_by_agent(request, body, patience),
        };
        answer
            .map_err(|error| self.explain(what, url, error, patience))
            .and_then(|answer| {
                if answer.body.len() <= MAX_BODY {
                    return Ok(answer);
                }
                let text = format!("{what} of '{}' exceeds {MAX_BODY} bytes", url.shown());
                Err(Error::new(ErrorKind::Limit, text))
            })
    }

    /// Sends a request on a connection of the library.
    fn send_by_agent(
        &self,
        request: Request<()>,
        body: Option<&[u8]>,
        patience: Patience,
    ) -> Result<Answer, ureq::Error> {
        let proxy = self.proxies.of(request.uri());
        let proxy = proxy.map_err(|why| wrapped(Error::new(ErrorKind::Invalid, why)))?;
        // The host application chose the proxy, so its address is not checked.
        *self.guard.proxy.lock() = proxy
            .as_ref()
            .and_then(|proxy| Some(proxy.uri().authority()?.to_string()));
        let agent = self.agent.clone();
        let _brake = match patience {
            Patience::WhileAwaited => Some(self.waiting.on_over(move || agent.shutdown())),
            Patience::ToTheEnd => None,
        };
        let response = match body {
            Some(body) => self.run(request.map(|()| body), proxy)?,
            None => self.run(request, proxy)?,
        };
        let (head, body) = response.into_parts();
        Answer::read(head, &mut body.into_reader())
    }

    fn run(
        &self,
        request: Request<impl ureq::AsSendBody>,
        proxy: Option<Proxy>,
    ) -> Result<Response<Body>, ureq::Error> {
        let request = self.agent.configure_request(request).proxy(proxy).build();
        self.agent.run(request)
    }

    /// Sends a request with the HTTP client of the host.
    fn send_with(
        &self,
        client: &dyn HttpClient,
        url: &HttpUrl,
        mut request: Request<&[u8]>,
        patience: Patience,
    ) -> Result<Answer, ureq::Error> {
        let fields = request.headers_mut();
        fields.insert(
            header::ACCEPT_ENCODING,
            HeaderValue::from_static("identity"),
        );
        fields.insert(header::USER_AGENT, HeaderValue::from_static(USER_AGENT));
        let deadline = after(self.timeout);
        let cancel_handle = CancelHandle::until(Some(deadline));
        let shutdown = Arc::<Shutdown>::default();
        let brake = Arc::clone(&shutdown);
        cancel_handle.engage(move || brake.pull());
        let watched = self.deadlines.add(&cancel_handle, false);
        let _watched = watched.map_err(wrapped)?;
        let end = Arc::clone(&cancel_handle);
        let _brake = match patience {
            Patience::WhileAwaited => Some(self.waiting.on_over(move || end.end())),
            Patience::ToTheEnd => None,
        };
        // An address that an earlier request was refused says nothing about this one.
        self.guard.refused.lock().take();
        let (guard, host) = (self.guard.clone(), url.host());
        let filter = Arc::new(move |address| guard.allows(&host, address));
        let sent = http_client::send(client, request, Some(deadline), &shutdown, Some(filter));
        let answer = sent.map_err(wrapped).and_then(|response| {
            let (head, mut body) = response.into_parts();
            Answer::read(head, &mut body)
        });
        answer.map_err(|error| match cancel_handle.look(Instant::now()) {
            NextCheck::Over => ureq::Error::Timeout(Timeout::Global),
            _ => error,
        })
    }

    fn explain(&self, what: &str, url: &HttpUrl, error: ureq::Error, patience: Patience) -> Error {
        let shown = url.shown();
        if self.guard.refused.lock().take().is_some() {
            return refused(what, url);
        }
        if patience == Patience::WhileAwaited && self.waiting.is_over() {
            return nobody_waits();
        }
        let error = match http_client::unwrapped(error) {
            Ok(error) => return error.context(format_args!("{what} of '{shown}'")),
            Err(error) => error,
        };
        match error {
            ureq::Error::Timeout(_) => {
                let span = Span(self.timeout);
                let text = format!(
                    "{what} did not come from '{shown}' within {span} (OAuthBuilder::step_timeout)"
                );
                Error::new(ErrorKind::Timeout, text)
            }
            ureq::Error::Io(error) if error.kind() == io::ErrorKind::OutOfMemory => {
                fallible::no_memory(format_args!("{what} of '{shown}'"))
            }
            ureq::Error::Io(error) => {
                let untrusted = tls::untrusted(&error, "OAuthBuilder::root_certificates");
                let error = Error::io(format_args!("{what} of '{shown}'"), error);
                match untrusted {
                    Some(why) => error.remark(&why),
                    None => error,
                }
            }
            error => {
                let text = format!("{what} can't be had from '{shown}': {error}");
                Error::new(ErrorKind::Io, text)
            }
        }
    }
}

impl Drop for Fetcher {
    fn drop(&mut self) {
        self.deadlines.stop();
    }
}

fn refused(what: &str, url: &HttpUrl) -> Error {
    let text = format!(
        "{what} is not asked for at '{}': the server names an address on this machine or in a private network, \
         where it is not itself (OAuthBuilder::allow_private_addresses)",
        url.shown()
    );
    Error::new(ErrorKind::Auth, text)
}

pub(super) fn nobody_waits() -> Error {
    Error::new(
        ErrorKind::Cancelled,
        "nobody waits for the authorization any more",
    )
}
