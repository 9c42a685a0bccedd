//! Options of a single call: timeouts, cancellation, progress.

use std::ffi::{c_char, c_void};
use std::sync::Arc;
use std::time::Duration;

use super::shared::Timeouts;
use crate::cffi::arg;
use crate::cffi::arg::{set_given, span};
use crate::cffi::cancel::{mcplink_cancel_t, optional_token};
use crate::cffi::entry::{Outcome, free, own, value};
use crate::cffi::json::json_value;
use crate::cffi::log::level_of;
use crate::cffi::refusal::{Refusal, Settings, set, taken};
use crate::cffi::text::{Text, mcplink_str_t, name, view_or_empty};
use crate::cffi::user::{Callback, Hook, call_back};
use crate::client::CallOptions;
use crate::protocol::{CancelToken, Progress};
use crate::schema::{JsonObject, LoggingLevel};

/// Options of a call. NULL means the defaults. The call copies the options, which remain the
/// caller's.
#[derive(Clone, Default)]
pub struct mcplink_call_options_t {
    timeout: Option<Duration>,
    max_timeout: Option<Duration>,
    pub(super) cancel: Option<CancelToken>,
    pub(super) progress: Option<Arc<Hook<ProgressFn>>>,
    meta: JsonObject,
    log_level: Option<LoggingLevel>,
    bypasses_cache: bool,
    tag: Option<u64>,
    refusal: Refusal,
}

object!(mcplink_call_options_t is CallOptions);

/// Receives the progress of a call.
///
/// progress, total: the progress so far, and its value when the call is complete; total is 0 when
/// unknown.
/// message: a text for users; may be empty; valid until the callback returns.
pub type mcplink_progress_fn = Option<
    unsafe extern "C-unwind" fn(
        user: *mut c_void,
        progress: f64,
        total: f64,
        message: mcplink_str_t,
    ),
>;

pub(super) type ProgressFn = Callback<mcplink_progress_fn>;

impl Settings for mcplink_call_options_t {
    const TARGET: &'static str = "client";

    fn refusal(&self) -> &Refusal {
        &self.refusal
    }
}

impl mcplink_call_options_t {
    /// Returns the timeouts of the call.
    pub(super) fn timeouts(&self, defaults: Timeouts) -> Timeouts {
        Timeouts {
            timeout: self.timeout.unwrap_or(defaults.timeout),
            max_timeout: self.max_timeout.unwrap_or(defaults.max_timeout),
        }
    }

    /// Builds the call options of the Rust API. `rest` replaces the timeouts. Timeouts that are not
    /// set are those of the client that makes the call.
    pub(super) fn build<'a>(
        &self,
        rest: Option<Timeouts>,
        cancel: Option<&CancelToken>,
        on_progress: Option<impl FnMut(Progress) + 'a>,
    ) -> CallOptions<'a> {
        let mut options = CallOptions::new();
        let timeout = rest.map(|rest| rest.timeout).or(self.timeout);
        options = set_given(options, timeout, CallOptions::timeout);
        let timeout = rest.map(|rest| rest.max_timeout).or(self.max_timeout);
        options = set_given(options, timeout, CallOptions::max_timeout);
        options = set_given(options, cancel, CallOptions::cancel_with);
        options = set_given(options, on_progress, CallOptions::on_progress);
        options = set_given(options, self.log_level.clone(), CallOptions::log_level);
        if self.bypasses_cache {
            options = options.bypass_cache();
        }
        options = set_given(options, self.tag, CallOptions::tag);
        for (key, value) in &self.meta {
            options = options.meta(key, value.clone());
        }
        options
    }
}

/// Calls the host's progress function.
pub(super) fn tell(number: u64, hook: &Hook<ProgressFn>, progress: Progress) {
    let message = progress.message.map(Text::from);
    let total = progress.total.unwrap_or_default();
    // SAFETY: the header requires valid arguments.
    call_back(number, || unsafe {
        let message = view_or_empty(message.as_ref());
        (hook.callback)(hook.user.ptr(), progress.progress, total, message);
    });
}

/// Returns a copy of the call options; the defaults for NULL.
///
/// # Safety
///
/// `options` is NULL or live options that do not change meanwhile.
pub(super) unsafe fn copied(
    options: *const mcplink_call_options_t,
) -> Outcome<mcplink_call_options_t> {
    if options.is_null() {
        return Ok(mcplink_call_options_t::default());
    }
    // SAFETY: the safety contract of this function.
    unsafe { taken(options, "options") }.cloned()
}

/// Makes call options with the default values.
///
/// Returns: the options. The caller owns them and frees them with mcplink_call_options_free. They
/// may be used for many calls.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn mcplink_call_options_new() -> *mut mcplink_call_options_t {
    value(std::ptr::null_mut(), || {
        own(mcplink_call_options_t::default())
    })
}

/// Frees call options. Calls that were made with them continue.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_call_options_free(options: *mut mcplink_call_options_t) {
    // SAFETY: the header requires options of this library, freed once.
    unsafe { free(options) }
}

actions! {
    set(options: mcplink_call_options_t);

    /// Sets how long a call waits for its result. Progress restarts the timeout. The timeout does
    /// not run while a person answers an input request of the server. Default: the timeout of the
    /// client.
    ///
    /// milliseconds: the timeout; MCPLINK_FOREVER for no timeout.
    fn mcplink_call_options_set_timeout_ms(milliseconds: u32) {
        options.timeout = Some(span(milliseconds));
    }

    /// Sets how long a call waits in total. Progress does not restart the timeout. The timeout does
    /// not run while a person answers an input request of the server. Default: the total timeout of
    /// the client.
    ///
    /// milliseconds: the timeout; MCPLINK_FOREVER for no timeout.
    fn mcplink_call_options_set_max_timeout_ms(milliseconds: u32) {
        options.max_timeout = Some(span(milliseconds));
    }

    /// Sets a token that can cancel the call, for example when the user presses a key.
    ///
    /// cancel: the token. The token may be freed before the options. NULL for no token.
    fn mcplink_call_options_set_cancel(cancel: *mut mcplink_cancel_t) {
        options.cancel = optional_token(cancel)?;
    }
}

actions! {
    set(options: mcplink_call_options_t);

    /// Adds a member of "_meta" to the request, for example a trace context.
    ///
    /// key: the name of the member.
    /// json, len: the value of the member; len may be MCPLINK_NUL for text that ends in NUL.
    fn mcplink_call_options_set_meta(key: *const c_char, json: *const c_char, len: usize) {
        let (key, json) = (name(key, "key")?, json_value(json, len, "json")?);
        options.meta.insert(key.to_owned(), json);
    }

    /// Sets the least severe level of the log messages that the call requests from a modern server.
    /// The messages arrive as MCPLINK_EVENT_LOG_MESSAGE. For servers of the legacy era use
    /// mcplink_client_set_log_level.
    ///
    /// level: the least severe level to receive.
    fn mcplink_call_options_set_log_level(level: arg::mcplink_log_level) {
        options.log_level = Some(level_of(level)?);
    }

    /// Sets whether the call bypasses the cache: the call asks the server even if a fresh result is
    /// cached, for example because the user wants to see the newest state. Default: false.
    ///
    /// enabled: true to bypass the cache.
    fn mcplink_call_options_set_bypass_cache(enabled: bool) {
        options.bypasses_cache = enabled
    }

    /// Sets a number by which the host knows the call, for example a pointer of the host's. A
    /// handler of the client gets the number from mcplink_request_tag, so that a host with several
    /// calls knows which of them needs input of the user. The number is not sent to the server.
    /// Default: 0.
    ///
    /// tag: the number; 0 for no tag.
    fn mcplink_call_options_set_tag(tag: u64) {
        options.tag = (tag != 0).then_some(tag);
    }

    /// Sets the function that receives the progress of the call.
    ///
    /// callback: the function; NULL for no function. For a blocking call the function runs on the
    /// calling thread, in order, before the call returns. For a started call the function runs on
    /// the thread that runs the client's callbacks, and progress that still waits is replaced by
    /// newer progress.
    /// user, destroy: passed to callback; destroy runs when another function is set. Otherwise it
    /// runs when the options are freed and all calls that use them have ended.
    fn mcplink_call_options_on_progress(callback: mcplink_progress_fn; user) {
        options.progress = Hook::new(callback, user);
    }
}
