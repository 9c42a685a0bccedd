//! The options of one request: how long a caller waits, and how the request is cancelled.

use std::fmt;
use std::time::Duration;

use super::call_channel::Progress;
use super::cancel::CancelToken;

/// The options of one request. By default a request waits 60 s for an answer or progress, and at
/// most 10 min.
///
/// The calls of a client have further options: see
/// [`client::CallOptions`](crate::client::CallOptions).
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// use mcplink::protocol::{Peer, RequestOptions};
///
/// fn rebuild(peer: &Peer) -> mcplink::Result<()> {
///     let options = RequestOptions::new()
///         .timeout(Duration::from_secs(10)) // without progress
///         .max_timeout(Duration::from_secs(3600))
///         .on_progress(|progress| println!("{} files", progress.progress));
///     peer.request("rebuild", &serde_json::json!({}), options).map(drop)
/// }
/// ```
#[must_use]
pub struct RequestOptions<'a> {
    pub(super) timeout: Option<Duration>,
    pub(super) max_timeout: Option<Duration>,
    pub(super) cancel: Option<CancelToken>,
    pub(super) on_progress: Option<Box<dyn FnMut(Progress) + 'a>>,
    pub(super) may_cancel: bool,
}

impl Default for RequestOptions<'_> {
    fn default() -> Self {
        Self {
            timeout: Some(Self::TIMEOUT),
            max_timeout: Some(Self::MAX_TIMEOUT),
            cancel: None,
            on_progress: None,
            may_cancel: true,
        }
    }
}

impl<'a> RequestOptions<'a> {
    pub(crate) const TIMEOUT: Duration = Duration::from_secs(60);
    pub(crate) const MAX_TIMEOUT: Duration = Duration::from_secs(600);

    /// Creates the default options.
    pub fn new() -> Self {
        Self::default()
    }

    /// Limits how long to wait for the answer. Each progress message restarts the time. Defaults to
    /// 60 s. When the time is over, the request fails with `Timeout`.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Limits how long the whole request may take, even if progress arrives. Defaults to 10 min.
    /// When the time is over, the request fails with `Timeout`.
    pub fn max_timeout(mut self, max_timeout: Duration) -> Self {
        self.max_timeout = Some(max_timeout);
        self
    }

    /// Removes the timeout and the maximum timeout. The request still ends when it is cancelled or
    /// the connection closes.
    pub fn no_timeout(mut self) -> Self {
        (self.timeout, self.max_timeout) = (None, None);
        self
    }

    /// Sets a token that ends the request when the token is cancelled.
    pub fn cancel_with(mut self, token: &CancelToken) -> Self {
        self.cancel = Some(token.clone());
        self
    }

    /// Sets a callback that runs for each progress message of the request. The callback runs on the
    /// calling thread, in the order of arrival, before the request returns.
    pub fn on_progress(mut self, callback: impl FnMut(Progress) + 'a) -> Self {
        self.on_progress = Some(Box::new(callback));
        self
    }

    /// Returns the timeout without the extensions by progress and by input requests to users.
    pub(crate) fn timeout_of_call(&self) -> Option<Duration> {
        self.timeout
    }

    /// Waits for the duration `span`, or until the call is cancelled. Returns whether the call is
    /// cancelled.
    pub(crate) fn pause(&self, span: Duration) -> bool {
        self.cancel_token().wait(span)
    }

    /// Returns the token that cancels the call, or a new token if none was set.
    pub(crate) fn cancel_token(&self) -> CancelToken {
        self.cancel.clone().unwrap_or_default()
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

    /// Returns the options of one request for the rest of a call.
    ///
    /// Subtracts `waited` from the timeout, and `elapsed` from the maximum timeout of the whole
    /// call.
    pub(crate) fn after(&mut self, waited: Duration, elapsed: Duration) -> RequestOptions<'_> {
        RequestOptions {
            timeout: self.timeout.map(|span| span.saturating_sub(waited)),
            max_timeout: self.max_timeout.map(|span| span.saturating_sub(elapsed)),
            cancel: self.cancel.clone(),
            on_progress: match &mut self.on_progress {
                Some(callback) => Some(Box::new(callback)),
                None => None,
            },
            may_cancel: self.may_cancel,
        }
    }

    /// Makes the call send no cancellation. The request `initialize` needs this, because it must
    /// not be cancelled.
    pub(crate) fn without_cancelling(mut self) -> Self {
        self.may_cancel = false;
        self
    }
}

impl fmt::Debug for RequestOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestOptions")
            .field("timeout", &self.timeout)
            .field("max_timeout", &self.max_timeout)
            .field("cancel", &self.cancel)
            .field("on_progress", &self.on_progress.is_some())
            .finish_non_exhaustive()
    }
}

/// The options of a call that a thread other than the caller's may finish: all options except the
/// progress callback, which may borrow from the caller.
#[derive(Clone)]
pub(crate) struct OwnedRequestOptions {
    timeout: Option<Duration>,
    max_timeout: Option<Duration>,
    pub(crate) cancel: Option<CancelToken>,
}

impl OwnedRequestOptions {
    /// Returns options without a progress callback, for a call that began `elapsed` ago.
    pub(crate) fn after(&self, elapsed: Duration) -> RequestOptions<'static> {
        RequestOptions {
            timeout: self.timeout,
            max_timeout: self.max_timeout.map(|span| span.saturating_sub(elapsed)),
            cancel: self.cancel.clone(),
            ..RequestOptions::default()
        }
    }
}

impl RequestOptions<'_> {
    /// Returns these options without the progress callback. Returns `None` if there is a progress
    /// callback.
    pub(crate) fn to_owned_options(&self) -> Option<OwnedRequestOptions> {
        self.on_progress.is_none().then(|| OwnedRequestOptions {
            timeout: self.timeout,
            max_timeout: self.max_timeout,
            cancel: self.cancel.clone(),
        })
    }
}
