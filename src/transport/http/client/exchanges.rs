//! The HTTP client transport as the protocol uses it: exchanges, messages without an answer, the
//! close.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ureq::http::{HeaderValue, Method, header};

use super::Http;
use super::ask::{Context, Step};
use super::parking::HttpTransport;
use super::pool::Route;
use super::proxies::Proxies;
use super::request::Ask;
use super::transport::{ClientTransport, Released};
use crate::error::{Error, ErrorKind, Result};
use crate::transport::clock::after;
use crate::transport::deadlines::Watched;
use crate::transport::exchange_transport::{
    CancelHandle, Deliver, ExchangeOutcome, ExchangeTransport, Listening, StartedExchange,
};
use crate::transport::message::RequestKind;
use crate::transport::{Control, Limits, SessionMessage, Transport, TransportParts};

impl ClientTransport {
    /// Sends a message to which the server sends no answer on the same exchange.
    pub(super) fn deposit(
        &self,
        message: &SessionMessage,
        cancel_handle: &Arc<CancelHandle>,
        watched: &Watched,
    ) -> Result<()> {
        let endpoint = self.state.lock().endpoint.clone();
        let ask = Ask {
            method: Method::POST,
            uri: endpoint.as_ref().unwrap_or(&self.http.url),
            body: &message.text,
            kind: &message.kind,
            last_event_id: None,
            id: message.related.as_ref(),
        };
        let answer = self.ask(&ask, cancel_handle, watched)?;
        let context = Context::blocking(cancel_handle, watched);
        _ = self.finish(answer.lane, context);
        Ok(())
    }
}

impl ExchangeTransport for HttpTransport {
    fn exchange(
        &self,
        request: &SessionMessage,
        cancel_handle: &Arc<CancelHandle>,
        deliver: &mut Deliver<'_>,
    ) -> Result<ExchangeOutcome> {
        let watched = self.transport.watch.add(cancel_handle, true)?;
        let _released = Released(cancel_handle);
        let context = Context::blocking(cancel_handle, &watched);
        let mut carrying = self.transport.begin_exchange();
        let step = self
            .transport
            .step_of_exchange(request, &mut carrying, context, deliver);
        self.transport.count_user_time(cancel_handle);
        match step? {
            Step::Done(outcome) => Ok(outcome),
            Step::Waits(_) => unreachable!("every wait has blocked"),
        }
    }

    fn start(self: Arc<Self>, exchange: StartedExchange) -> Result<()> {
        self.start_exchange(exchange)
    }

    fn post(&self, message: &SessionMessage, cancel_handle: &Arc<CancelHandle>) -> Result<()> {
        let watched = self.transport.watch.add(cancel_handle, false)?;
        self.transport
            .deposit(message, cancel_handle, &watched)
            .map_err(|error| match cancel_handle.is_over() {
                true if self.transport.state.lock().closed => error.with_kind(ErrorKind::Closed),
                true => error.with_kind(ErrorKind::Timeout),
                false => error,
            })
    }

    fn agree(&self, revision: Option<&str>) {
        let version = revision.and_then(|revision| HeaderValue::from_str(revision).ok());
        self.transport.state.lock().version = version;
    }

    fn listen(&self, on_event: &mut dyn FnMut(Listening), deliver: &mut Deliver<'_>) -> Result<()> {
        if self.transport.state.lock().endpoint.is_some() {
            // All messages arrive on one stream already.
            on_event(Listening::Settled);
            return Ok(());
        }
        self.transport.hear(on_event, deliver)
    }

    fn fall_back(
        &self,
        cancel_handle: &Arc<CancelHandle>,
        settled: &mut dyn FnMut(),
        deliver: &mut Deliver<'_>,
    ) -> Result<()> {
        self.transport
            .hear_everything(cancel_handle, settled, deliver)
    }

    fn session(&self) -> Option<u64> {
        self.transport.session()
    }

    fn stop(&self) {
        // The order matters: a call that fails because of the stop has to find the flag set.
        self.transport.stopped.store(true, Ordering::Release);
        self.transport.watch.end_calls();
    }

    fn has_stopped(&self) -> bool {
        self.transport.stopped.load(Ordering::Acquire)
    }

    fn authorization(&self) -> u64 {
        let http = &self.transport.http;
        let authorizer = http.authorizer.as_ref();
        authorizer.map_or(0, |authorizer| {
            authorizer.generation(&http.url_text(&http.url))
        })
    }

    fn user_time(&self) -> Duration {
        Duration::from_millis(self.transport.user_time.load(Ordering::Relaxed))
    }
}

impl HttpTransport {
    /// Ends the session at the server, and then ends all exchanges. Ending the session takes at
    /// most `patience`.
    fn leave(&self, patience: Duration) {
        let mut state = self.transport.state.lock();
        if std::mem::replace(&mut state.closed, true) {
            return;
        }
        let has_session = state.session.is_some();
        drop(state);
        self.transport.watch.end_calls();
        if has_session && !patience.is_zero() {
            let cancel_handle = CancelHandle::until(Some(after(patience)));
            let ask = Ask {
                method: Method::DELETE,
                uri: &self.transport.http.url,
                body: &[],
                kind: &RequestKind::InSession,
                last_event_id: None,
                id: None,
            };
            if let Ok(watched) = self.transport.watch.add(&cancel_handle, false) {
                // A server may refuse the request (405). A server that is gone needs no notice.
                drop(self.transport.ask(&ask, &cancel_handle, &watched));
            }
        }
        self.transport.watch.stop();
        self.stop_parking();
        self.transport.lanes.clear();
    }
}

impl Control for HttpTransport {
    fn peer(&self) -> String {
        self.transport.peer()
    }

    fn close(&self) {
        self.leave(self.transport.http.close_timeout);
    }

    fn close_at_once(&self) {
        self.leave(
            self.transport
                .http
                .close_timeout
                .min(Duration::from_millis(200)),
        );
    }
}

impl Transport for Http {
    fn open(self: Box<Self>, limits: &Limits) -> Result<TransportParts> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        if self.authorizer.is_some()
            && self
                .headers
                .iter()
                .any(|(name, _)| name == header::AUTHORIZATION)
        {
            let text = "header(\"Authorization\", …) contradicts bearer(…) or authorizer(…)";
            return Err(Error::new(ErrorKind::Invalid, text));
        }
        if let (Some(_), Some(setting)) = (&self.client, self.connection_setting()) {
            let text = format!("{setting} contradicts Http::http_client: set it in that client");
            return Err(Error::new(ErrorKind::Invalid, text));
        }
        if self.socket.is_some() && cfg!(windows) {
            let text = "http+unix URLs are not supported on Windows";
            return Err(Error::new(ErrorKind::Unsupported, text));
        }
        if self.client.is_some() && self.socket.is_some() {
            let text = "Http::http_client contradicts an http+unix URL";
            return Err(Error::new(ErrorKind::Invalid, text));
        }
        let is_https = self.url.scheme_str() == Some("https");
        if is_https && self.client.is_none() && cfg!(not(feature = "tls")) {
            let text = "https needs the feature 'tls', which this build was made without";
            return Err(Error::new(ErrorKind::Unsupported, text));
        }
        let proxy = match (&self.socket, &self.proxy) {
            (None, proxy) => proxy.of(&self.url),
            (Some(_), Proxies::One(_)) => {
                Err("Http::proxy contradicts an http+unix URL".to_owned())
            }
            (Some(_), _) => Ok(None),
        };
        let route = Route {
            connect_timeout: self.connect_timeout,
            socket: self.socket.clone(),
            proxy: proxy.map_err(|why| Error::new(ErrorKind::Invalid, why))?,
            #[cfg(feature = "tls")]
            tls: self.tls.config(),
        };
        let wire = Arc::new(HttpTransport::new(ClientTransport::new(
            *self, route, limits,
        )));
        Ok(TransportParts::over_exchanges(Arc::clone(&wire) as _, wire))
    }

    /// Creates another transport with the same settings. The new transport makes its own
    /// connections.
    fn again(&self) -> Option<Box<dyn Transport>> {
        Some(Box::new(self.clone()))
    }

    /// Returns the server's URL. A query may contain secrets, so the URL contains only a hash of
    /// the query.
    fn address(&self) -> Option<String> {
        let Some(query) = self.url.query() else {
            return Some(self.shown());
        };
        let mut hasher = DefaultHasher::new();
        query.hash(&mut hasher);
        Some(format!("{}?{:x}", self.shown(), hasher.finish()))
    }
}
