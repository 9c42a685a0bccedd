//! HTTP requests in the form in which the host authenticates them.

use std::ffi::{c_char, c_void};
use std::mem;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::cffi::callback_executor::CallbackExecutor;
use crate::cffi::entry::{Outcome, find, need, plain};
use crate::cffi::failure::Failure;
use crate::cffi::handle::{Fault, Lent};
use crate::cffi::log;
use crate::cffi::queue::Kind;
use crate::cffi::refusal::{Refusal, Settings, refused};
use crate::cffi::status::mcplink_status_t;
use crate::cffi::text::{self, Text, mcplink_str_t};
use crate::cffi::user::{Callback, Hook, call_back};
use crate::error::{Error, ErrorKind};
use crate::server::Principal;
use crate::server::http::{Denied, Grant};
use crate::sync::Mutex;
use crate::transport::http::HttpRequest;

use super::super::mcplink_server_t;
use super::super::serving::Serving;

/// An HTTP request that has to be authenticated. The request is borrowed until the callback that
/// receives it returns. After that, a function that changes the request fails with MCPLINK_E_STATE.
pub struct mcplink_http_request_t {
    method: Text,
    target: Text,
    headers: Vec<(Text, Text)>,
    remote: Option<Text>,
    token: Option<Text>,
    /// The decision of the host; `None` once the callback has returned. So a later decision is
    /// refused.
    decision: Mutex<Option<Decision>>,
    /// The log hook of the server.
    log: Option<Arc<log::Hook>>,
    refusal: Refusal,
}

/// The decision of the host about a request.
struct Decision {
    /// Whether the callback verifies an access token. If so, the library then checks the audience
    /// and the expiry of the token.
    is_of_token: bool,
    verdict: Option<Result<String, Denied>>,
    /// The granted scopes; `None` if they are unknown.
    scopes: Option<String>,
    expires_at: Option<SystemTime>,
    audience: Vec<String>,
    /// The thumbprint of the key to which the token is bound; `None` for an unbound token.
    key: Option<String>,
}

object!(mcplink_http_request_t is HttpRequest);

/// Authenticates a request. The callback calls mcplink_http_request_admit or one of the functions
/// that refuse; the last call counts. If the callback calls none of these functions, the request is
/// refused: with status 401 if the callback verifies tokens, otherwise with status 403.
///
/// Authentication fails closed. If any setter of the request fails, the request is refused with
/// status 403, even if mcplink_http_request_admit succeeds. So a request is never admitted while a
/// restriction is missing. The log names the setter that failed.
///
/// request: the request, valid until the function returns.
pub type mcplink_authenticate_fn =
    Option<unsafe extern "C-unwind" fn(user: *mut c_void, request: *mut mcplink_http_request_t)>;

pub(super) type AuthenticateFn = Callback<mcplink_authenticate_fn>;

/// How often a thread that waits for the host's callback checks whether the server was stopped.
const STOP_CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// The host's callback that authenticates requests or verifies tokens, and the server that uses the
/// callback.
pub(super) struct Check {
    hook: Arc<Hook<AuthenticateFn>>,
    owner: u64,
    stage: Arc<CallbackExecutor>,
    serving: Weak<Serving>,
    log: Option<Arc<log::Hook>>,
}

impl Check {
    pub(super) fn new(hook: &Arc<Hook<AuthenticateFn>>, server: &mcplink_server_t) -> Self {
        Self {
            hook: Arc::clone(hook),
            owner: server.gate.number(),
            stage: Arc::clone(&server.stage),
            serving: Arc::downgrade(&server.serving),
            log: server.log.clone(),
        }
    }

    /// Authenticates a request through the host's callback.
    pub(super) fn ask(&self, request: &HttpRequest<'_>) -> Result<Principal, Denied> {
        let decision = self.judge(mcplink_http_request_t::of(request))?;
        decision.principal(Denied::forbidden)
    }

    /// Verifies a token through the host's callback.
    pub(super) fn verify(&self, token: &str) -> Result<Grant, Denied> {
        let mut decision = self.judge(mcplink_http_request_t::of_token(token))?;
        let (audience, key) = (mem::take(&mut decision.audience), decision.key.take());
        let unknown = || Denied::invalid_token("it is unknown");
        let grant = Grant::new(decision.principal(unknown)?, audience);
        Ok(match key {
            Some(key) => grant.bound_to(key),
            None => grant,
        })
    }

    /// Runs the host's callback, and returns the host's decision. With a pump, the callback runs on
    /// the thread that dispatches the pump. Without a pump, it runs on this thread.
    fn judge(&self, mut request: mcplink_http_request_t) -> Result<Decision, Denied> {
        let (hook, owner) = (Arc::clone(&self.hook), self.owner);
        request.log.clone_from(&self.log);
        if !self.stage.is_pumped() {
            return request.judged(&hook, owner);
        }
        let (sender, verdict) = mpsc::sync_channel(1);
        self.stage.post(Kind::Question, move || {
            // Sending fails if the waiting thread has given up.
            _ = sender.send(request.judged(&hook, owner));
        });
        loop {
            match verdict.recv_timeout(STOP_CHECK_INTERVAL) {
                Ok(decision) => return decision,
                Err(RecvTimeoutError::Timeout)
                    if self.serving.upgrade().is_some_and(|it| !it.is_stopped()) => {}
                Err(_) => return Err(Denied::unavailable("the server is being closed")),
            }
        }
    }
}

impl Settings for mcplink_http_request_t {
    const TARGET: &'static str = "http";

    fn refusal(&self) -> &Refusal {
        &self.refusal
    }

    fn log(&self) -> Option<Arc<log::Hook>> {
        self.log.clone()
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
            token: bearer_of(request).map(Text::from),
            decision: Mutex::new(Some(Decision {
                is_of_token: false,
                verdict: None,
                scopes: None,
                expires_at: None,
                audience: Vec::new(),
                key: None,
            })),
            log: None,
            refusal: Refusal::default(),
        }
    }

    /// Makes a request that contains only an access token.
    fn of_token(token: &str) -> Self {
        let mut request = Self {
            token: Some(token.into()),
            ..Self::of(&HttpRequest::new("", ""))
        };
        if let Some(decision) = request.decision.get_mut() {
            decision.is_of_token = true;
        }
        request
    }

    /// Runs the host's callback, and returns the host's decision. If a setter of the request
    /// failed, the request may lack a restriction, so it is refused.
    fn judged(self, hook: &Hook<AuthenticateFn>, owner: u64) -> Result<Decision, Denied> {
        let request = Arc::new(self);
        let lent = Lent::new(Arc::clone(&request));
        let handle = lent.handle();
        // SAFETY: the callback gets valid arguments: the user data of its registration, and a
        // request that is lent to it.
        _ = call_back(owner, || unsafe {
            (hook.callback)(hook.user.ptr(), handle)
        });
        drop(lent);
        let decision = request.decision.lock().take();
        // The failure is in the log already.
        request.refusal.check().map_err(|_| Denied::forbidden())?;
        decision.ok_or_else(Denied::forbidden)
    }
}

impl Decision {
    /// Fails unless the callback verifies tokens. In a callback that authenticates requests, the
    /// library would ignore the audience and the key of a token.
    fn need_token(&self) -> Result<(), Error> {
        if self.is_of_token {
            return Ok(());
        }
        let text = "this is looked at in a function of mcplink_resource_server_set_verifier only";
        Err(Error::new(ErrorKind::State, text))
    }

    /// Returns the principal if the host admitted the request; otherwise returns the refusal. If
    /// the host neither admitted nor refused the request, `unknown` makes the refusal.
    fn principal(self, unknown: fn() -> Denied) -> Result<Principal, Denied> {
        let name = self.verdict.unwrap_or_else(|| Err(unknown()))?;
        let mut principal = Principal::new(name);
        if let Some(scopes) = self.scopes {
            principal = principal.scopes([scopes]);
        }
        Ok(match self.expires_at {
            Some(when) => principal.expires_at(when),
            None => principal,
        })
    }
}

/// Runs a setter of a request. `setter` is the name of the C function.
///
/// # Safety
///
/// `request` is NULL, or an object of this library, of any kind.
unsafe fn set(
    request: *mut mcplink_http_request_t,
    what: &str,
    setter: &str,
    change: impl FnOnce(&mut Decision) -> Outcome<()>,
) -> mcplink_status_t {
    // SAFETY: the safety contract of this function.
    let request = match unsafe { need(request, what) } {
        Ok(request) => request,
        Err(failure) => return refused(mcplink_http_request_t::TARGET, setter, failure),
    };
    let change = || match &mut *request.decision.lock() {
        Some(decision) => change(decision),
        None => Err(Failure::object::<mcplink_http_request_t>(
            Fault::Stale,
            what,
        )),
    };
    plain(|| request.attempt(setter, change))
}

/// Returns the bearer token of a request. Returns `None` unless the request has exactly one header
/// field Authorization and this field contains a token.
fn bearer_of<'a>(request: &HttpRequest<'a>) -> Option<&'a str> {
    let mut fields = request.values("Authorization");
    let (field, None) = (fields.next()?, fields.next()) else {
        return None;
    };
    let (scheme, token) = std::str::from_utf8(field).ok()?.split_once(' ')?;
    let is_bearer = scheme.eq_ignore_ascii_case("Bearer");
    Some(token.trim_ascii()).filter(|token| is_bearer && !token.is_empty())
}

getters! {
    find(request: mcplink_http_request_t);

    /// Returns the method of an HTTP request.
    ///
    /// Returns: text that is valid as long as the request.
    fn mcplink_http_request_method() -> mcplink_str_t {
        request.method.view()
    }

    /// Returns the target of an HTTP request: the path and query, as received.
    ///
    /// Returns: text that is valid as long as the request.
    fn mcplink_http_request_target() -> mcplink_str_t {
        request.target.view()
    }

    /// Returns the value of a header field of an HTTP request.
    ///
    /// field: the name of the field; case-insensitive.
    /// Returns: the first value, valid as long as the request; empty when there is no such field.
    /// Bytes that are not UTF-8 are replaced by U+FFFD.
    fn mcplink_http_request_header(field: *const c_char) -> mcplink_str_t {
        let field = text::name(field, "field").ok()?;
        let mut headers = request.headers.iter();
        let (_, value) = headers.find(|(name, _)| name.as_str().eq_ignore_ascii_case(field))?;
        value.view()
    }

    /// Returns the address and port of the sender of an HTTP request.
    ///
    /// Returns: text that is valid as long as the request; empty when the address is unknown.
    fn mcplink_http_request_remote() -> mcplink_str_t {
        request.remote.as_ref()?.view()
    }

    /// Returns the access token of an HTTP request: the text after Bearer in its header field
    /// Authorization.
    ///
    /// Returns: text that is valid as long as the request; empty without a token. Never pass the
    /// token on, nor log it.
    fn mcplink_http_request_token() -> mcplink_str_t {
        request.token.as_ref()?.view()
    }
}

actions! {
    set(request: mcplink_http_request_t);

    /// Admits a request that the host has authenticated.
    ///
    /// principal: the authenticated sender, for mcplink_request_principal; not empty. Sessions and
    /// request states are bound to the principal that made them.
    fn mcplink_http_request_admit(principal: *const c_char) {
        let principal = text::filled(principal, "principal")?;
        request.verdict = Some(Ok(principal.to_owned()));
    }

    /// Sets the granted scopes of the principal, for mcplink_server_require_scopes,
    /// mcplink_responder_require_scopes and mcplink_request_has_scope. Default: the scopes are
    /// unknown, so requests that require a scope are refused.
    ///
    /// scopes: the names of the scopes, separated by spaces; "" for no scopes. NULL for unknown
    /// scopes.
    fn mcplink_http_request_set_scopes(scopes: *const c_char) {
        request.scopes = text::optional(scopes, "scopes")?.map(str::to_owned);
    }

    /// Sets the time at which the authentication expires. Open streams send nothing after this
    /// time. Default: the authentication does not expire.
    ///
    /// seconds: the time in seconds since 1970-01-01 UTC.
    /// Returns: MCPLINK_OK, or MCPLINK_E_INVALID for a negative number.
    fn mcplink_http_request_set_expiry(seconds: i64) {
        let since = u64::try_from(seconds).ok().map(Duration::from_secs);
        let when = since.and_then(|since| UNIX_EPOCH.checked_add(since));
        let when = when.ok_or_else(|| {
            let text = format!("{seconds} seconds since 1970 are no time of an end");
            Error::new(ErrorKind::Invalid, text)
        })?;
        request.expires_at = Some(when);
    }

    /// Adds an audience of the token: see mcplink_resource_server_set_verifier. A token without
    /// this server in its audience is refused. A host that checks the audience itself adds the
    /// server's own URL.
    ///
    /// audience: the audience, as in the token (aud).
    /// Returns: MCPLINK_OK, MCPLINK_E_INVALID, or MCPLINK_E_STATE in a callback that was set with
    /// mcplink_http_options_on_authenticate.
    fn mcplink_http_request_add_audience(audience: *const c_char) {
        let audience = text::filled(audience, "audience")?;
        request.need_token()?;
        request.audience.push(audience.to_owned());
    }

    /// Declares that a token is bound to a key of the client (DPoP, RFC 9449): see
    /// mcplink_resource_server_set_verifier. The token is then valid only with a proof of the key,
    /// on a server with mcplink_resource_server_set_dpop. Other servers refuse the token. Without
    /// this call a stolen bound token would be accepted.
    ///
    /// thumbprint: the thumbprint of the key, as the token or the authorization server contains it
    /// (cnf.jkt; RFC 7638).
    /// Returns: MCPLINK_OK, MCPLINK_E_INVALID, or MCPLINK_E_STATE in a callback that was set with
    /// mcplink_http_options_on_authenticate.
    fn mcplink_http_request_bind_key(thumbprint: *const c_char) {
        let thumbprint = text::filled(thumbprint, "thumbprint")?;
        request.need_token()?;
        request.key = Some(thumbprint.to_owned());
    }

    /// Refuses an invalid access token with status 401, so that the client obtains a new token.
    ///
    /// reason: the reason, for the client and the log, for example "it was revoked". It must not
    /// quote the token.
    fn mcplink_http_request_invalid_token(reason: *const c_char) {
        let reason = text::name(reason, "reason")?;
        request.verdict = Some(Err(Denied::invalid_token(reason)));
    }

    /// Refuses a request with status 403, because the request requires more scopes. The client can
    /// then ask its user to grant the scopes.
    ///
    /// scopes: all required scopes, separated by spaces.
    fn mcplink_http_request_insufficient_scope(scopes: *const c_char) {
        let scopes = text::filled(scopes, "scopes")?;
        request.verdict = Some(Err(Denied::insufficient_scope([scopes])));
    }

    /// Answers a request with status 503, because authorization cannot be checked at the moment.
    /// Unlike status 401, the answer does not make the client discard its token.
    ///
    /// reason: the reason, for the host's log.
    fn mcplink_http_request_unavailable(reason: *const c_char) {
        let reason = text::name(reason, "reason")?;
        request.verdict = Some(Err(Denied::unavailable(reason)));
    }

    /// Refuses an unauthenticated request with status 401 and a challenge.
    ///
    /// challenge: the required credentials, for the header field WWW-Authenticate (RFC 9110), for
    /// example "Bearer".
    fn mcplink_http_request_challenge(challenge: *const c_char) {
        let challenge = text::name(challenge, "challenge")?;
        if challenge.contains(char::is_control) {
            let text = "a challenge is one line of a header field";
            return Err(Error::new(ErrorKind::Invalid, text).into());
        }
        request.verdict = Some(Err(Denied::unauthorized(challenge)));
    }
}
