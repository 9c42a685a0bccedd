//! The options of a call.

use std::fmt;
use std::time::Duration;

use super::call_channel::Progress;
use super::cancel::CancelToken;
use crate::schema::{JsonObject, LoggingLevel, TraceContext, meta_key};
use crate::transport::message::RequestKind;

/// The options of one call. By default a call waits 60 s for an answer or progress, and at most 10
/// min.
#[must_use]
pub struct CallOptions<'a> {
    pub(super) timeout: Option<Duration>,
    pub(super) max_timeout: Option<Duration>,
    pub(super) cancel: Option<CancelToken>,
    pub(super) on_progress: Option<Box<dyn FnMut(Progress) + 'a>>,
    pub(super) may_cancel: bool,
    pub(super) bypass_cache: bool,
    pub(super) meta: JsonObject,
    pub(super) manner: RequestKind,
}

impl Default for CallOptions<'_> {
    fn default() -> Self {
        Self {
            timeout: Some(Duration::from_secs(60)),
            max_timeout: Some(Duration::from_secs(600)),
            cancel: None,
            on_progress: None,
            may_cancel: true,
            bypass_cache: false,
            meta: JsonObject::new(),
            manner: RequestKind::default(),
        }
    }
}

impl<'a> CallOptions<'a> {
    /// Creates the default options.
    pub fn new() -> Self {
        Self::default()
    }

    /// Limits how long to wait for the answer. Each progress message restarts the time. Defaults to
    /// 60 s. When the time is over, the call fails with `Timeout`.
    ///
    /// The time does not run while a handler of a [`Client`](crate::client::Client) answers an
    /// input request of the server.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Limits how long the whole call may take, even if progress arrives. Defaults to 10 min. When
    /// the time is over, the call fails with `Timeout`.
    ///
    /// The limit covers every part of the call: multi round-trip requests, a task, and the wait for
    /// a server that is restarted. The time does not run while a handler answers an input request
    /// of the server.
    pub fn max_timeout(mut self, max_timeout: Duration) -> Self {
        self.max_timeout = Some(max_timeout);
        self
    }

    /// Waits without a timeout. The call still returns when it is cancelled or the connection
    /// closes.
    pub fn no_timeout(mut self) -> Self {
        (self.timeout, self.max_timeout) = (None, None);
        self
    }

    /// Ends the call when the token is cancelled.
    pub fn cancel_with(mut self, token: &CancelToken) -> Self {
        self.cancel = Some(token.clone());
        self
    }

    /// Runs `callback` for each progress message of the call. The callback runs on the calling
    /// thread, in the order of arrival, before the call returns.
    pub fn on_progress(mut self, callback: impl FnMut(Progress) + 'a) -> Self {
        self.on_progress = Some(Box::new(callback));
        self
    }

    /// Returns the timeout without the extensions by progress and by input requests to users.
    pub(crate) fn timeout_of_call(&self) -> Option<Duration> {
        self.timeout
    }

    /// Waits for the duration `span`, or until the call is cancelled. Returns whether it is
    /// cancelled.
    pub(crate) fn pause(&self, span: Duration) -> bool {
        self.cancel_token().wait(span)
    }

    /// Returns the token that cancels the call, or a new token if none was set.
    pub(crate) fn cancel_token(&self) -> CancelToken {
        self.cancel.clone().unwrap_or_default()
    }

    /// Adds a member to `_meta`, for example a trace context.
    ///
    /// The library's own members cannot be replaced. These are the progress token and, since
    /// 2026-07-28, the protocol version, the client capabilities and the client info.
    ///
    /// Only a [`Client`](crate::client::Client) uses this option.
    /// [`Peer::request`](super::Peer::request) sends its params unchanged.
    pub fn meta(mut self, key: impl Into<String>, value: impl Into<serde_json::Value>) -> Self {
        self.meta.insert(key.into(), value.into());
        self
    }

    /// Requests log messages of at least this level while the call runs. By default no log messages
    /// are requested.
    ///
    /// Servers of revisions before 2026-07-28 do not receive this option. For them use
    /// [`Client::set_log_level`](crate::client::Client::set_log_level).
    ///
    /// Spec: Server Features, Utilities, "Logging" (2026-07-28; deprecated there).
    pub fn log_level(self, level: LoggingLevel) -> Self {
        self.meta(meta_key::LOG_LEVEL, level.as_str())
    }

    /// Sends a trace context with the call. A `_meta` member that the trace context lacks stays
    /// unchanged.
    ///
    /// Spec: Base Protocol, "`_meta`" (2026-07-28). The trace context is sent to peers of earlier
    /// revisions too.
    pub fn trace_context(mut self, trace: &TraceContext) -> Self {
        for (key, value) in trace.members() {
            self.meta.insert(key.to_owned(), value.into());
        }
        self
    }

    /// Sends the request even if a fresh response is cached. The new response replaces the cached
    /// one. By default the cache is used.
    ///
    /// For a list, the option applies to every page. So no page of the list is older than the call.
    /// Only a [`Client`](crate::client::Client) has a cache: see
    /// [`ResponseCache`](crate::client::ResponseCache).
    pub fn bypass_cache(mut self) -> Self {
        self.bypass_cache = true;
        self
    }

    /// Whether the call bypasses the response cache.
    pub(crate) fn bypasses_cache(&self) -> bool {
        self.bypass_cache
    }

    /// Returns the `_meta` members that were set with [`meta`](Self::meta).
    pub(crate) fn own_meta(&self) -> &JsonObject {
        &self.meta
    }

    /// Returns the timeout of the call and the token that cancels the call.
    pub(crate) fn patience(&self) -> (Option<Duration>, Option<CancelToken>) {
        (self.timeout, self.cancel.clone())
    }

    /// Returns the shorter of timeout and maximum timeout. A call without progress ends after this
    /// time.
    pub(crate) fn shorter_bound(&self) -> Option<Duration> {
        self.timeout.into_iter().chain(self.max_timeout).min()
    }

    /// Returns the maximum timeout of the whole call.
    pub(crate) fn in_all(&self) -> Option<Duration> {
        self.max_timeout
    }

    /// Returns a copy of these options for one request, if the call needs several requests.
    pub(crate) fn for_one(&mut self) -> CallOptions<'_> {
        CallOptions {
            timeout: self.timeout,
            max_timeout: self.max_timeout,
            cancel: self.cancel.clone(),
            on_progress: match &mut self.on_progress {
                Some(callback) => Some(Box::new(callback)),
                None => None,
            },
            may_cancel: self.may_cancel,
            bypass_cache: self.bypass_cache,
            meta: self.meta.clone(),
            manner: self.manner.clone(),
        }
    }

    /// Returns the options for the rest of a call.
    ///
    /// Subtracts `waited` from the timeout, and `elapsed` from the maximum timeout of the whole
    /// call.
    pub(crate) fn after(&mut self, waited: Duration, elapsed: Duration) -> CallOptions<'_> {
        let mut options = self.for_one();
        options.timeout = options.timeout.map(|span| span.saturating_sub(waited));
        options.max_timeout = options.max_timeout.map(|span| span.saturating_sub(elapsed));
        options
    }

    /// Sets the request kind of the next request. The kind includes header fields, for transports
    /// that have header fields.
    pub(crate) fn set_manner(&mut self, manner: RequestKind) {
        self.manner = manner;
    }

    /// Makes the call send no cancellation. The request `initialize` needs this, because it must
    /// not be cancelled.
    pub(crate) fn without_cancelling(mut self) -> Self {
        self.may_cancel = false;
        self
    }
}

impl fmt::Debug for CallOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallOptions")
            .field("timeout", &self.timeout)
            .field("max_timeout", &self.max_timeout)
            .field("cancel", &self.cancel)
            .field("on_progress", &self.on_progress.is_some())
            .field("meta", &self.meta)
            .finish_non_exhaustive()
    }
}

/// The options of a call that a thread other than the caller's may finish: all options except the
/// progress callback, which may borrow from the caller.
#[derive(Clone)]
pub(crate) struct OwnedOptions {
    timeout: Option<Duration>,
    max_timeout: Option<Duration>,
    pub(crate) cancel: Option<CancelToken>,
    bypass_cache: bool,
    meta: JsonObject,
}

impl OwnedOptions {
    /// Returns options without a progress callback, for a call that began `elapsed` ago.
    pub(crate) fn after(&self, elapsed: Duration) -> CallOptions<'static> {
        CallOptions {
            timeout: self.timeout,
            max_timeout: self.max_timeout.map(|span| span.saturating_sub(elapsed)),
            cancel: self.cancel.clone(),
            bypass_cache: self.bypass_cache,
            meta: self.meta.clone(),
            ..CallOptions::default()
        }
    }
}

impl CallOptions<'_> {
    /// Returns these options without the progress callback. Returns `None` if there is a progress
    /// callback.
    pub(crate) fn to_owned_options(&self) -> Option<OwnedOptions> {
        self.on_progress.is_none().then(|| OwnedOptions {
            timeout: self.timeout,
            max_timeout: self.max_timeout,
            cancel: self.cancel.clone(),
            bypass_cache: self.bypass_cache,
            meta: self.meta.clone(),
        })
    }
}
