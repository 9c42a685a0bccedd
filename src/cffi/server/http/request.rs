//! HTTP requests as the host sees them when it says who sends them.

use std::ffi::{c_char, c_void};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::cffi::entry::get;
use crate::cffi::log;
use crate::cffi::queue::Kind;
use crate::cffi::refusal::{Refusal, Settings, set};
use crate::cffi::stage::Stage;
use crate::cffi::status::mcplink_status_t;
use crate::cffi::text::{self, Text, mcplink_str_t, view_or_empty};
use crate::cffi::user::{Hook, call_back};
use crate::error::{Error, ErrorKind};
use crate::server::Principal;
use crate::server::http::{Denied, Grant};
use crate::transport::http::HttpRequest;

use super::super::mcplink_server_t;
use super::super::serving::Serving;

/// An HTTP request, as far as it can say who sends it. It is borrowed until the callback that got it returns.
pub struct mcplink_http_request_t {
    method: Text,
    target: Text,
    headers: Vec<(Text, Text)>,
    remote: Option<Text>,
    token: Option<Text>,
    /// Whether all that is asked is what the token is good for, which is checked besides.
    is_of_token: bool,
    verdict: Option<Result<String, Denied>>,
    /// Of who is let in.
    scopes: Option<String>,
    expires_at: Option<SystemTime>,
    audience: Vec<String>,
    /// The thumbprint of the key that the token is bound to.
    key: Option<String>,
    /// What takes what there is to say of it.
    log: Option<Arc<log::Hook>>,
    refusal: Refusal,
}

/// Finds out who sends a request: ends with mcplink_http_request_admit or one of the functions that refuse, of which the last one counts; without
/// any the request is refused with status 403. So it is when one of these functions fails and mcplink_http_request_admit is called all the same,
/// before or after: nobody is let in under a condition that could not be taken down. The log says which one.
pub type mcplink_authenticate_fn =
    Option<unsafe extern "C-unwind" fn(user: *mut c_void, request: *mut mcplink_http_request_t)>;

pub(super) type AuthenticateFn =
    unsafe extern "C-unwind" fn(user: *mut c_void, request: *mut mcplink_http_request_t);

/// How often one who waits for the host looks whether the server is still there.
const LOOK: Duration = Duration::from_millis(100);

/// What asks the host who sends a request.
pub(super) struct Check {
    hook: Arc<Hook<AuthenticateFn>>,
    owner: u64,
    stage: Arc<Stage>,
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

    /// Asks who sends a request.
    pub(super) fn ask(&self, request: &HttpRequest<'_>) -> Result<Principal, Denied> {
        let judged = self.judge(mcplink_http_request_t::of(request))?;
        judged.principal(Denied::forbidden)
    }

    /// Asks what a token is good for.
    pub(super) fn verify(&self, token: &str) -> Result<Grant, Denied> {
        let judged = self.judge(mcplink_http_request_t::of_token(token))?;
        let (audience, key) = (judged.audience.clone(), judged.key.clone());
        let unknown = || Denied::invalid_token("it is unknown");
        let grant = Grant::new(judged.principal(unknown)?, audience);
        Ok(match key {
            Some(key) => grant.bound_to(key),
            None => grant,
        })
    }

    /// Asks, here or where the host dispatches.
    fn judge(&self, mut request: mcplink_http_request_t) -> Result<mcplink_http_request_t, Denied> {
        let (hook, owner) = (Arc::clone(&self.hook), self.owner);
        request.log.clone_from(&self.log);
        if !self.stage.is_pumped() {
            return Ok(request.judged(&hook, owner));
        }
        let (sender, verdict) = mpsc::sync_channel(1);
        self.stage.post(Kind::Question, move || {
            // It fails when the one who asked has given up.
            _ = sender.send(request.judged(&hook, owner));
        });
        loop {
            match verdict.recv_timeout(LOOK) {
                Ok(judged) => return Ok(judged),
                Err(RecvTimeoutError::Timeout)
                    if self.serving.upgrade().is_some_and(|it| !it.is_stopped()) => {}
                Err(_) => return Err(Denied::unavailable("the server is being closed")),
            }
        }
    }
}

impl Settings for mcplink_http_request_t {
    const NAME: &'static str = "request";
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
            is_of_token: false,
            verdict: None,
            scopes: None,
            expires_at: None,
            audience: Vec::new(),
            key: None,
            log: None,
            refusal: Refusal::default(),
        }
    }

    /// Of which nothing but the token is known.
    fn of_token(token: &str) -> Self {
        Self {
            token: Some(token.into()),
            is_of_token: true,
            ..Self::of(&HttpRequest::new("", ""))
        }
    }

    /// What is said of a token holds where somebody looks at it.
    fn need_token(&self) -> Result<(), Error> {
        if self.is_of_token {
            return Ok(());
        }
        let text = "this is looked at in a function of mcplink_resource_server_set_verifier only";
        Err(Error::new(ErrorKind::State, text))
    }

    fn judged(mut self, hook: &Hook<AuthenticateFn>, owner: u64) -> Self {
        let this = &raw mut self;
        // SAFETY: the header says what it is given: what it was registered with, and a request that lives.
        _ = call_back(owner, || unsafe { (hook.callback)(hook.user.ptr(), this) });
        self
    }

    /// Who is let in, if the host said so; else `unknown` says why not.
    fn principal(self, unknown: fn() -> Denied) -> Result<Principal, Denied> {
        let name = self.verdict.unwrap_or_else(|| Err(unknown()))?;
        // It was let in under a condition that was refused, of which the log knows.
        self.refusal.check().map_err(|_| Denied::forbidden())?;
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

/// The token of a request, if there is one: in the one field where it may be.
fn bearer_of<'a>(request: &HttpRequest<'a>) -> Option<&'a str> {
    let mut fields = request.values("Authorization");
    let (field, None) = (fields.next()?, fields.next()) else {
        return None;
    };
    let (scheme, token) = std::str::from_utf8(field).ok()?.split_once(' ')?;
    let is_bearer = scheme.eq_ignore_ascii_case("Bearer");
    Some(token.trim_ascii()).filter(|token| is_bearer && !token.is_empty())
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

/// The access token of an HTTP request: what follows Bearer in its field Authorization.
///
/// request: NULL for none.
/// Returns: valid as long as the request; empty when there is none. Never hand it on, nor log it. Threads: one at a time. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_request_token(
    request: *const mcplink_http_request_t,
) -> mcplink_str_t {
    // SAFETY: the header says that it is a request of ours.
    view_or_empty(unsafe { get(request) }.and_then(|request| request.token.as_ref()))
}

/// Lets a request in.
///
/// request: the request.
/// principal: who sends it, for mcplink_request_principal; not empty. Sessions and what calls keep between their rounds are good for whom they were made.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: that of the callback. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_request_admit(
    request: *mut mcplink_http_request_t,
    principal: *const c_char,
) -> mcplink_status_t {
    // SAFETY: the header says that they are a request of ours and text that ends in NUL.
    unsafe {
        set(request, "mcplink_http_request_admit", |request| {
            let principal = text::filled(principal, "principal")?;
            request.verdict = Some(Ok(principal.to_owned()));
            Ok(())
        })
    }
}

/// Says what was granted to the one who is let in: for mcplink_server_require_scopes, mcplink_responder_need_scopes and
/// mcplink_request_has_scope. Without this nothing is known of scopes, and what needs one can't be used.
///
/// request: the request.
/// scopes: their names, a blank between two; "" for none. NULL when nothing is known.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: that of the callback. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_request_set_scopes(
    request: *mut mcplink_http_request_t,
    scopes: *const c_char,
) -> mcplink_status_t {
    // SAFETY: the header says that they are a request of ours and text that ends in NUL.
    unsafe {
        set(request, "mcplink_http_request_set_scopes", |request| {
            request.scopes = text::optional(scopes, "scopes")?.map(str::to_owned);
            Ok(())
        })
    }
}

/// Says until when what was found out is good: streams that stay open tell nothing after it. For ever without this.
///
/// request: the request.
/// seconds: since 1970-01-01 UTC.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID for a negative number. Threads: that of the callback. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_request_set_expiry(
    request: *mut mcplink_http_request_t,
    seconds: i64,
) -> mcplink_status_t {
    // SAFETY: the header says that it is a request of ours.
    unsafe {
        set(request, "mcplink_http_request_set_expiry", |request| {
            let since = u64::try_from(seconds).ok().map(Duration::from_secs);
            let when = since.and_then(|since| UNIX_EPOCH.checked_add(since));
            let when = when.ok_or_else(|| {
                let text = format!("{seconds} seconds since 1970 are no time of an end");
                Error::new(ErrorKind::Invalid, text)
            })?;
            request.expires_at = Some(when);
            Ok(())
        })
    }
}

/// Says for which server a token was issued, as often as there are several: see mcplink_resource_server_set_verifier. A token that was issued for
/// others only is refused. A host that makes sure of it in another way names the server's own address.
///
/// request: the request.
/// audience: as the token has it (aud).
/// Returns: MCPLINK_OK, MCPLINK_E_INVALID, or MCPLINK_E_STATE in a function of mcplink_http_options_on_authenticate. Threads: that of the callback. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_request_add_audience(
    request: *mut mcplink_http_request_t,
    audience: *const c_char,
) -> mcplink_status_t {
    // SAFETY: the header says that they are a request of ours and text that ends in NUL.
    unsafe {
        set(request, "mcplink_http_request_add_audience", |request| {
            let audience = text::filled(audience, "audience")?;
            request.need_token()?;
            request.audience.push(audience.to_owned());
            Ok(())
        })
    }
}

/// Says that a token is bound to a key of the client (DPoP, RFC 9449): see mcplink_resource_server_set_verifier. It is good only with a proof of that
/// key, for a server of mcplink_resource_server_set_dpop, and refused by others. Who leaves this out lets whoever stole such a token use it.
///
/// request: the request.
/// thumbprint: of the key, as the token or the authorization server gives it (cnf.jkt; RFC 7638).
/// Returns: MCPLINK_OK, MCPLINK_E_INVALID, or MCPLINK_E_STATE in a function of mcplink_http_options_on_authenticate. Threads: that of the callback. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_request_bind_key(
    request: *mut mcplink_http_request_t,
    thumbprint: *const c_char,
) -> mcplink_status_t {
    // SAFETY: the header says that they are a request of ours and text that ends in NUL.
    unsafe {
        set(request, "mcplink_http_request_bind_key", |request| {
            let thumbprint = text::filled(thumbprint, "thumbprint")?;
            request.need_token()?;
            request.key = Some(thumbprint.to_owned());
            Ok(())
        })
    }
}

/// Refuses a request whose access token is not good, with status 401, on which clients come by another one.
///
/// request: the request.
/// why: for the client and the log, so that it never quotes the token: "it was revoked".
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: that of the callback. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_request_refuse_token(
    request: *mut mcplink_http_request_t,
    why: *const c_char,
) -> mcplink_status_t {
    // SAFETY: the header says that they are a request of ours and text that ends in NUL.
    unsafe {
        set(request, "mcplink_http_request_refuse_token", |request| {
            let why = text::name(why, "why")?;
            request.verdict = Some(Err(Denied::invalid_token(why)));
            Ok(())
        })
    }
}

/// Refuses a request whose sender needs more scopes, with status 403, on which clients have their users grant more.
///
/// request: the request.
/// scopes: all that it needs, a blank between two.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: that of the callback. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_request_need_scopes(
    request: *mut mcplink_http_request_t,
    scopes: *const c_char,
) -> mcplink_status_t {
    // SAFETY: the header says that they are a request of ours and text that ends in NUL.
    unsafe {
        set(request, "mcplink_http_request_need_scopes", |request| {
            let scopes = text::filled(scopes, "scopes")?;
            request.verdict = Some(Err(Denied::insufficient_scope([scopes])));
            Ok(())
        })
    }
}

/// Puts a request off, with status 503, as whether it may be served can't be found out at the moment: no client throws a good token away for it.
///
/// request: the request.
/// why: for the host's log.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: that of the callback. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_request_put_off(
    request: *mut mcplink_http_request_t,
    why: *const c_char,
) -> mcplink_status_t {
    // SAFETY: the header says that they are a request of ours and text that ends in NUL.
    unsafe {
        set(request, "mcplink_http_request_put_off", |request| {
            let why = text::name(why, "why")?;
            request.verdict = Some(Err(Denied::unavailable(why)));
            Ok(())
        })
    }
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
    // SAFETY: the header says that they are a request of ours and text that ends in NUL.
    unsafe {
        set(request, "mcplink_http_request_challenge", |request| {
            let challenge = text::name(challenge, "challenge")?;
            if challenge.contains(char::is_control) {
                let text = "a challenge is one line of a header field";
                return Err(Error::new(ErrorKind::Invalid, text).into());
            }
            request.verdict = Some(Err(Denied::unauthorized(challenge)));
            Ok(())
        })
    }
}
