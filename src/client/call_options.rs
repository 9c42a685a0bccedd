//! The options of a call of a client.

use std::fmt;
use std::time::Duration;

use crate::protocol::{CancelToken, OwnedRequestOptions, Progress, RequestOptions};
use crate::schema::{
    ClientCapabilities, FitTo as _, JsonObject, LoggingLevel, ProtocolVersion, TraceContext,
    meta_key,
};

/// The options of one call. By default a call waits 60 s for an answer or progress, and at most 10
/// min. A client can have other defaults: see
/// [`ClientBuilder::call_timeout`](super::ClientBuilder::call_timeout).
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// use mcplink::client::{CallOptions, CancelToken};
///
/// let cancel = CancelToken::new();
/// let options = CallOptions::new()
///     .timeout(Duration::from_secs(5))
///     .cancel_with(&cancel)
///     .on_progress(|progress| eprintln!("{}", progress.progress));
/// ```
#[derive(Default)]
#[must_use]
pub struct CallOptions<'a> {
    /// The options that apply to each request of the call.
    pub(super) request: RequestOptions<'a>,
    /// The timeouts of `request` that were set. The defaults of the client don't replace them.
    set: SetTimeouts,
    /// The members of `_meta` that were set with [`meta`](Self::meta).
    pub(super) meta: JsonObject,
    pub(super) bypass_cache: bool,
    pub(super) tag: Option<u64>,
}

/// The timeouts of a call that were set by its caller.
#[derive(Clone, Copy, Debug, Default)]
struct SetTimeouts {
    timeout: bool,
    max_timeout: bool,
}

/// The default timeouts of a client's calls. `None` stands for the default of [`CallOptions`].
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DefaultTimeouts {
    pub(super) timeout: Option<Duration>,
    pub(super) max_timeout: Option<Duration>,
}

impl<'a> CallOptions<'a> {
    /// Creates the default options.
    pub fn new() -> Self {
        Self::default()
    }

    /// Limits how long to wait for the answer. Each progress message restarts the time. Defaults to
    /// 60 s. When the time is over, the call fails with `Timeout`.
    ///
    /// The time does not run while a handler of the client answers an input request of the server.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.request = self.request.timeout(timeout);
        self.set.timeout = true;
        self
    }

    /// Limits how long the whole call may take, even if progress arrives. Defaults to 10 min. When
    /// the time is over, the call fails with `Timeout`.
    ///
    /// The limit covers every part of the call: multi round-trip requests, a task, and the wait for
    /// a server that is restarted. The time does not run while a handler answers an input request
    /// of the server.
    pub fn max_timeout(mut self, max_timeout: Duration) -> Self {
        self.request = self.request.max_timeout(max_timeout);
        self.set.max_timeout = true;
        self
    }

    /// Removes both timeouts of the call. The call still returns when it is cancelled or the
    /// connection closes.
    pub fn no_timeout(mut self) -> Self {
        self.request = self.request.no_timeout();
        self.set = SetTimeouts {
            timeout: true,
            max_timeout: true,
        };
        self
    }

    /// Sets the token with which any thread can cancel the call.
    pub fn cancel_with(mut self, token: &CancelToken) -> Self {
        self.request = self.request.cancel_with(token);
        self
    }

    /// Sets a callback for the progress messages of the call. The callback runs once for each
    /// message, on the calling thread, in the order of arrival, before the call returns.
    pub fn on_progress(mut self, callback: impl FnMut(Progress) + 'a) -> Self {
        self.request = self.request.on_progress(callback);
        self
    }

    /// Adds a member to `_meta`, for example a trace context.
    ///
    /// The library's own members cannot be replaced. These are the progress token and, since
    /// 2026-07-28, the protocol version, the client capabilities and the client info. For the
    /// capabilities see [`client_capabilities`](Self::client_capabilities).
    pub fn meta(mut self, key: impl Into<String>, value: impl Into<serde_json::Value>) -> Self {
        let key = key.into();
        if key != meta_key::CLIENT_CAPABILITIES {
            self.meta.insert(key, value.into());
        }
        self
    }

    /// Sets the capabilities that the server sees for this call, for example those of another
    /// client on whose behalf the call is made. Defaults to the capabilities of the client.
    ///
    /// Servers of revisions before 2026-07-28 see the capabilities of the connection.
    pub fn client_capabilities(mut self, mut capabilities: ClientCapabilities) -> Self {
        capabilities.fit_to(ProtocolVersion::LATEST);
        // Capabilities are JSON, so this never fails.
        if let Ok(value) = serde_json::to_value(capabilities) {
            let key = meta_key::CLIENT_CAPABILITIES;
            self.meta.insert(key.to_owned(), value);
        }
        self
    }

    /// Sets the minimum level of the log messages that the server sends while the call runs. By
    /// default no log messages are requested.
    ///
    /// Servers of revisions before 2026-07-28 do not receive this option. For them use
    /// [`Client::set_log_level`](super::Client::set_log_level).
    ///
    /// Spec: Server Features, Utilities, "Logging" (2026-07-28; deprecated there).
    pub fn log_level(self, level: LoggingLevel) -> Self {
        self.meta(meta_key::LOG_LEVEL, level.as_str())
    }

    /// Sets the trace context that is sent with the call. A `_meta` member that the trace context
    /// lacks stays unchanged.
    ///
    /// Spec: Base Protocol, "`_meta`" (2026-07-28). The trace context is sent to peers of earlier
    /// revisions too.
    pub fn trace_context(mut self, trace: &TraceContext) -> Self {
        for (key, value) in trace.members() {
            self.meta.insert(key.to_owned(), value.into());
        }
        self
    }

    /// Sets that the request is sent even if a fresh response is cached. The new response replaces
    /// the cached one. By default the cache is used: see [`ResponseCache`](super::ResponseCache).
    ///
    /// For a list, the option applies to every page. So no page of the list is older than the call.
    pub fn bypass_cache(mut self) -> Self {
        self.bypass_cache = true;
        self
    }

    /// Sets an application-defined number that identifies the call. The handlers of the call's
    /// input requests get it as [`Requester::tag`](super::Requester::tag), so that a host with
    /// several calls in flight can tell which of them needs the input. The number is not sent to
    /// the server.
    pub fn tag(mut self, tag: u64) -> Self {
        self.tag = Some(tag);
        self
    }

    /// Applies the defaults of a client to the timeouts that were not set. Idempotent.
    pub(super) fn apply_defaults(&mut self, defaults: DefaultTimeouts) {
        let mut request = std::mem::take(&mut self.request);
        if let (false, Some(timeout)) = (self.set.timeout, defaults.timeout) {
            request = request.timeout(timeout);
        }
        if let (false, Some(max_timeout)) = (self.set.max_timeout, defaults.max_timeout) {
            request = request.max_timeout(max_timeout);
        }
        self.request = request;
        // The maximum timeout shrinks in the course of the call, so the default must not be applied
        // again.
        self.set = SetTimeouts {
            timeout: true,
            max_timeout: true,
        };
    }

    /// Returns a copy of these options for one of several requests of the call. Each request then
    /// has the full timeout.
    pub(super) fn for_one(&mut self) -> CallOptions<'_> {
        self.after(Duration::ZERO, Duration::ZERO)
    }

    /// Returns the options for the rest of a call.
    ///
    /// Subtracts `waited` from the timeout, and `elapsed` from the maximum timeout of the whole
    /// call.
    pub(super) fn after(&mut self, waited: Duration, elapsed: Duration) -> CallOptions<'_> {
        CallOptions {
            request: self.request.after(waited, elapsed),
            set: self.set,
            meta: self.meta.clone(),
            bypass_cache: self.bypass_cache,
            tag: self.tag,
        }
    }

    /// Returns these options without the progress callback. Returns `None` if there is a progress
    /// callback.
    pub(super) fn to_owned_options(&self) -> Option<OwnedCallOptions> {
        Some(OwnedCallOptions {
            request: self.request.to_owned_options()?,
            set: self.set,
            meta: self.meta.clone(),
            bypass_cache: self.bypass_cache,
            tag: self.tag,
        })
    }
}

impl fmt::Debug for CallOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallOptions")
            .field("request", &self.request)
            .field("meta", &self.meta)
            .field("bypass_cache", &self.bypass_cache)
            .finish()
    }
}

/// The options of a call that a thread other than the caller's may finish: all options except the
/// progress callback, which may borrow from the caller.
#[derive(Clone)]
pub(super) struct OwnedCallOptions {
    pub(super) request: OwnedRequestOptions,
    set: SetTimeouts,
    meta: JsonObject,
    bypass_cache: bool,
    tag: Option<u64>,
}

impl OwnedCallOptions {
    /// Returns options without a progress callback, for a call that began `elapsed` ago.
    pub(super) fn after(&self, elapsed: Duration) -> CallOptions<'static> {
        CallOptions {
            request: self.request.after(elapsed),
            set: self.set,
            meta: self.meta.clone(),
            bypass_cache: self.bypass_cache,
            tag: self.tag,
        }
    }
}
