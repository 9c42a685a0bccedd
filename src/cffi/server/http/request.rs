//! HTTP requests as the host sees them when it says who sends them.

use std::ffi::{c_char, c_void};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Weak};
use std::time::Duration;

use crate::cffi::entry::{get, need_mut, plain};
use crate::cffi::queue::Kind;
use crate::cffi::stage::Stage;
use crate::cffi::status::{mcplink_status, mcplink_status_t};
use crate::cffi::text::{self, Text, mcplink_str_t, view_or_empty};
use crate::cffi::user::{Hook, call_back};
use crate::server::http::{Denied, Principal};
use crate::transport::http::HttpRequest;

use super::super::serving::Serving;

/// An HTTP request, as far as it can say who sends it. It is borrowed until the callback that got it returns.
pub struct mcplink_http_request_t {
    method: Text,
    target: Text,
    headers: Vec<(Text, Text)>,
    remote: Option<Text>,
    verdict: Option<Result<Principal, Denied>>,
}

/// Finds out who sends a request: ends with mcplink_http_request_admit or mcplink_http_request_challenge; without either the request is
/// refused with status 403.
pub type mcplink_authenticate_fn =
    Option<unsafe extern "C-unwind" fn(user: *mut c_void, request: *mut mcplink_http_request_t)>;

pub(super) type AuthenticateFn =
    unsafe extern "C-unwind" fn(user: *mut c_void, request: *mut mcplink_http_request_t);

/// How often one who waits for the host looks whether the server is still there.
const LOOK: Duration = Duration::from_millis(100);

/// What asks the host who sends a request.
pub(super) struct Check {
    pub(super) hook: Arc<Hook<AuthenticateFn>>,
    pub(super) owner: u64,
    pub(super) stage: Arc<Stage>,
    pub(super) serving: Weak<Serving>,
}

impl Check {
    /// Asks, here or where the host dispatches.
    pub(super) fn ask(&self, request: &HttpRequest<'_>) -> Result<Principal, Denied> {
        let request = mcplink_http_request_t::of(request);
        let (hook, owner) = (Arc::clone(&self.hook), self.owner);
        if !self.stage.is_pumped() {
            return request.judged(&hook, owner);
        }
        let (sender, verdict) = mpsc::sync_channel(1);
        self.stage.post(Kind::Question, move || {
            // It fails when the one who asked has given up.
            _ = sender.send(request.judged(&hook, owner));
        });
        loop {
            match verdict.recv_timeout(LOOK) {
                Ok(verdict) => return verdict,
                Err(RecvTimeoutError::Timeout)
                    if self.serving.upgrade().is_some_and(|it| !it.is_stopped()) => {}
                Err(_) => return Err(Denied::forbidden()),
            }
        }
    }
}

impl mcplink_http_request_t {
    fn of(request: &HttpRequest<'_>) -> Self {
        let text = |bytes: &[u8]| Text::from(String::from_utf8_lossy(bytes).into_owned());
        let headers = request.headers.iter();
        Self {
            method: request.method.into(),
            target: request.target.into(),
            headers: headers
                .map(|(name, value)| (Text::from(*name), text(value)))
                .collect(),
            remote: request.remote.map(|remote| remote.to_string().into()),
            verdict: None,
        }
    }

    fn judged(mut self, hook: &Hook<AuthenticateFn>, owner: u64) -> Result<Principal, Denied> {
        let this = &raw mut self;
        // SAFETY: the header says what it is given: what it was registered with, and a request that lives.
        _ = call_back(owner, || unsafe { (hook.callback)(hook.user.ptr(), this) });
        self.verdict.unwrap_or_else(|| Err(Denied::forbidden()))
    }
}

/// The method of an HTTP request.
///
/// request: NULL for "".
/// Returns: valid as long as the request. Threads: one at a time. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_request_method(
    request: *const mcplink_http_request_t,
) -> mcplink_str_t {
    // SAFETY: the header says that it is a request of ours.
    view_or_empty(unsafe { get(request) }.map(|request| &request.method))
}

/// The target of an HTTP request: path and query, as they were sent.
///
/// request: NULL for "".
/// Returns: valid as long as the request. Threads: one at a time. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_request_target(
    request: *const mcplink_http_request_t,
) -> mcplink_str_t {
    // SAFETY: the header says that it is a request of ours.
    view_or_empty(unsafe { get(request) }.map(|request| &request.target))
}

/// The value of a header field of an HTTP request.
///
/// request: NULL for none.
/// field: the name of the field, in any case.
/// Returns: the first value, valid as long as the request; empty when there is no such field. Bytes that are no UTF-8 are shown as U+FFFD. Threads:
/// one at a time. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_request_header(
    request: *const mcplink_http_request_t,
    field: *const c_char,
) -> mcplink_str_t {
    // SAFETY: the header says that they are a request of ours and text that ends in NUL.
    let (request, field) = unsafe { (get(request), text::name(field, "field")) };
    let (Some(request), Ok(field)) = (request, field) else {
        return mcplink_str_t::EMPTY;
    };
    let mut headers = request.headers.iter();
    let found = headers.find(|(name, _)| name.as_str().eq_ignore_ascii_case(field));
    view_or_empty(found.map(|(_, value)| value))
}

/// Where an HTTP request came from, as address and port.
///
/// request: NULL for none.
/// Returns: valid as long as the request; empty when that is not known. Threads: one at a time. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_request_remote(
    request: *const mcplink_http_request_t,
) -> mcplink_str_t {
    // SAFETY: the header says that it is a request of ours.
    view_or_empty(unsafe { get(request) }.and_then(|request| request.remote.as_ref()))
}

/// Lets a request in.
///
/// request: the request.
/// principal: who sends it, for mcplink_request_principal. Sessions and what calls keep between their rounds are good for whom they were made.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: that of the callback. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_request_admit(
    request: *mut mcplink_http_request_t,
    principal: *const c_char,
) -> mcplink_status_t {
    plain(|| {
        // SAFETY: the header says that they are a request of ours and text that ends in NUL.
        let (request, principal) = unsafe {
            let request = need_mut(request, "request")?;
            (request, text::name(principal, "principal")?)
        };
        request.verdict = Some(Ok(Principal::new(principal)));
        Ok(mcplink_status::MCPLINK_OK)
    })
}

/// Refuses a request of nobody known, with status 401.
///
/// request: the request.
/// challenge: what the sender has to show, for the field WWW-Authenticate (RFC 9110), for example "Bearer".
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: that of the callback. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_request_challenge(
    request: *mut mcplink_http_request_t,
    challenge: *const c_char,
) -> mcplink_status_t {
    plain(|| {
        // SAFETY: the header says that they are a request of ours and text that ends in NUL.
        let (request, challenge) = unsafe {
            let request = need_mut(request, "request")?;
            (request, text::name(challenge, "challenge")?)
        };
        if challenge.contains(char::is_control) {
            let text = "a challenge is one line of a header field";
            let error = crate::error::Error::new(crate::error::ErrorKind::Invalid, text);
            return Err(error.into());
        }
        request.verdict = Some(Err(Denied::unauthorized(challenge)));
        Ok(mcplink_status::MCPLINK_OK)
    })
}
