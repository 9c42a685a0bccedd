//! Guards: functions of the host that decide which requests a server handles, and rate limits.

use std::ffi::{c_char, c_void};
use std::num::NonZeroU32;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::events::session_number;
use super::registry::mcplink_primitive;
use super::settings::mcplink_server_options_t;
use crate::cffi::answer::code_of;
use crate::cffi::arg;
use crate::cffi::entry::{Outcome, find, needing};
use crate::cffi::handle::Lent;
use crate::cffi::json::{Document, mcplink_json_t};
use crate::cffi::refusal::set;
use crate::cffi::text::{Text, filled, mcplink_str_t, missing, name, optional_filled};
use crate::cffi::user::{Callback, Hook, call_back};
use crate::error::{Error, ErrorCode, ErrorKind, Excerpt, RpcError};
use crate::schema::method;
use crate::server::{
    Guard, GuardedRequest, HandlerError, Primitive, Principal, RateLimit, ServerBuilder,
};
use crate::sync::Mutex;

/// The decision of a guard.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum mcplink_decision {
    /// The request may continue.
    MCPLINK_DECISION_ADMIT = 1901,
    /// The request is refused as if the entry did not exist. Lists do not contain the entry.
    MCPLINK_DECISION_HIDE = 1902,
    /// The request is refused: see mcplink_guarded_request_refuse. Lists still contain the entry.
    /// Every other number means the same.
    MCPLINK_DECISION_REFUSE = 1903,
}

/// A request about which a guard decides. It is valid until the function of the guard returns.
pub struct mcplink_guarded_request_t {
    method: Text,
    params: Text,
    tree: OnceLock<Option<Document>>,
    /// The kind of the entry as a number of the C enumeration, and its key.
    entry: Option<(mcplink_primitive, Text)>,
    principal: Option<Text>,
    identity: Option<Principal>,
    session: u64,
    /// Guards the refusals that the function of the guard has asked for.
    verdict: Mutex<Verdict>,
}

object!(mcplink_guarded_request_t is GuardedRequest);

/// The refusals that the function of a guard has asked for.
#[derive(Default)]
struct Verdict {
    scopes: Vec<String>,
    error: Option<RpcError>,
    /// Whether a restriction was refused, for example a scope without a name. Then the request is
    /// refused too.
    is_broken: bool,
}

/// Decides about a request: a function of the host.
///
/// The function runs for each request about a tool, prompt, resource, resource template or task,
/// for each list request, and for each entry of the list. It runs before the entry is looked up and
/// before any handler. It runs on the threads of the server, on several at once, also with a pump,
/// because the request waits for the decision.
///
/// request: the request, valid until the function returns.
/// Returns: the decision.
pub type mcplink_guard_fn = Option<
    unsafe extern "C-unwind" fn(
        user: *mut c_void,
        request: *mut mcplink_guarded_request_t,
    ) -> arg::mcplink_decision,
>;

type GuardFn = Callback<mcplink_guard_fn>;

/// A guard of the host, for one server.
struct HostGuard {
    hook: Arc<Hook<GuardFn>>,
    /// The number of the server's handle.
    owner: u64,
}

impl mcplink_guarded_request_t {
    fn new(request: &GuardedRequest<'_>) -> Self {
        use mcplink_primitive as Of;
        let entry = request.primitive().map(|primitive| match primitive {
            Primitive::Tool(key) => (Of::MCPLINK_PRIMITIVE_TOOL, Text::from(key)),
            Primitive::Prompt(key) => (Of::MCPLINK_PRIMITIVE_PROMPT, Text::from(key)),
            Primitive::Resource(key) => (Of::MCPLINK_PRIMITIVE_RESOURCE, Text::from(key)),
            Primitive::ResourceTemplate(key) => (Of::MCPLINK_PRIMITIVE_TEMPLATE, Text::from(key)),
        });
        Self {
            method: request.method().into(),
            params: request.params().into(),
            tree: OnceLock::new(),
            entry,
            principal: request.principal().map(Text::from),
            identity: request.identity().cloned(),
            session: session_number(request.connection()),
            verdict: Mutex::default(),
        }
    }

    /// Runs a function that asks for a refusal. If it fails, the request is refused.
    fn restrict(&self, restrict: impl FnOnce(&mut Verdict) -> Outcome<()>) -> Outcome<()> {
        let mut verdict = self.verdict.lock();
        let done = restrict(&mut verdict);
        verdict.is_broken |= done.is_err();
        done
    }
}

impl Guard for HostGuard {
    fn admit(&self, request: &GuardedRequest<'_>) -> Result<(), HandlerError> {
        use mcplink_decision as Decision;
        let shared = Arc::new(mcplink_guarded_request_t::new(request));
        let lent = Lent::new(Arc::clone(&shared));
        // SAFETY: the header requires a function that accepts these arguments.
        let decision = call_back(self.owner, || unsafe {
            (self.hook.callback)(self.hook.user.ptr(), lent.handle())
        });
        drop(lent);
        // A panic of a guard in Rust is no decision.
        let decision = decision.unwrap_or(Decision::MCPLINK_DECISION_REFUSE as i32);
        let verdict = std::mem::take(&mut *shared.verdict.lock());
        if verdict.is_broken {
            return Err(refused("the guard could not find out whether this is allowed").into());
        }
        let scopes: Vec<&str> = verdict.scopes.iter().map(String::as_str).collect();
        let hides = decision == Decision::MCPLINK_DECISION_HIDE as i32;
        if !scopes.is_empty() && !hides {
            request.require_scopes(&scopes)?;
        }
        if hides {
            return Err(HandlerError::not_found());
        }
        let admits = decision == Decision::MCPLINK_DECISION_ADMIT as i32;
        match verdict.error {
            Some(error) => Err(error.into()),
            None if admits => Ok(()),
            None => Err(refused("this is not allowed").into()),
        }
    }
}

/// Checks the name of a method whose requests are limited. A limit on a mistyped name would limit
/// nothing.
fn guarded_method(name: &str) -> crate::error::Result<String> {
    // The methods whose requests guards see.
    const GUARDED: [&str; 19] = [
        method::COMPLETION_COMPLETE,
        method::PROMPTS_GET,
        method::PROMPTS_LIST,
        method::RESOURCES_DIRECTORY_READ,
        method::RESOURCES_LIST,
        method::RESOURCES_READ,
        method::RESOURCES_SUBSCRIBE,
        method::RESOURCES_TEMPLATES_LIST,
        method::RESOURCES_UNSUBSCRIBE,
        method::SKILLS_GET,
        method::SKILLS_LIST,
        method::SUBSCRIPTIONS_LISTEN,
        method::TASKS_CANCEL,
        method::TASKS_GET,
        method::TASKS_LIST,
        method::TASKS_RESULT,
        method::TASKS_UPDATE,
        method::TOOLS_CALL,
        method::TOOLS_LIST,
    ];
    if !GUARDED.contains(&name) {
        let name = Excerpt(name);
        let text = format!("methods: '{name}' is no method whose requests can be limited");
        return Err(Error::new(ErrorKind::Invalid, text));
    }
    Ok(name.to_owned())
}

fn refused(text: &str) -> RpcError {
    RpcError::new(ErrorCode::INVALID_REQUEST, text)
}

actions! {
    set(options: mcplink_server_options_t);

    /// Limits how many requests a caller may make in a period, so that no caller crowds out the
    /// others. A caller is a principal, on all its connections together. Without a principal it is
    /// a connection, and over HTTP a session or a network address. A request beyond the limit is
    /// refused, and the client is told when to try again. Each call of this function adds a limit
    /// of its own. Default: no limit.
    ///
    /// requests: the number of requests, at least 1. A caller may make that many at once; later
    /// ones are admitted evenly within the period.
    /// period_ms: the period, in milliseconds, at least 1.
    /// methods: the methods that count, separated by spaces, for example "tools/call". All of them
    /// share the limit. NULL for all methods about tools, prompts, resources and tasks.
    /// Returns: MCPLINK_OK, or MCPLINK_E_INVALID, also for a method whose requests are not limited.
    fn mcplink_server_options_add_rate_limit(
        requests: u32,
        period_ms: u32,
        methods: *const c_char,
    ) {
        let positive = |number: u32, what: &str| {
            NonZeroU32::new(number).ok_or_else(|| {
                Error::new(ErrorKind::Invalid, format!("{what} has to be at least 1"))
            })
        };
        let requests = positive(requests, "requests")?;
        let period = positive(period_ms, "period_ms")?.get();
        let period = Duration::from_millis(period.into());
        let methods = optional_filled(methods, "methods")?.unwrap_or_default();
        let methods = methods.split_ascii_whitespace().map(guarded_method);
        let methods = methods.collect::<Result<Vec<String>, _>>()?;
        let setting = move |builder: ServerBuilder| {
            let methods: Vec<&str> = methods.iter().map(String::as_str).collect();
            builder.guard(RateLimit::new(requests, period).on(&methods))
        };
        options.add("rate limit", setting);
    }

    /// Adds a guard: a function that admits, refuses or hides each request. Guards run in the order
    /// in which they were added, and the first refusal counts. Default: no guard.
    ///
    /// callback: see mcplink_guard_fn.
    /// user, destroy: passed to callback; destroy runs when the options and all servers made with
    /// them are freed.
    /// Returns: MCPLINK_OK, or MCPLINK_E_INVALID also when callback is NULL.
    fn mcplink_server_options_add_guard(callback: mcplink_guard_fn; user) {
        let hook = Hook::new(callback, user).ok_or_else(|| missing("callback"))?;
        options.add_for("guard", move |builder, owner| {
            let hook = Arc::clone(&hook);
            builder.guard(HostGuard { hook, owner })
        });
    }
}

getters! {
    find(request: mcplink_guarded_request_t);

    /// Returns the method of a request.
    ///
    /// Returns: the method, valid until the guard returns.
    fn mcplink_guarded_request_method() -> mcplink_str_t {
        request.method.view()
    }

    /// Returns the params of a request, with the arguments.
    ///
    /// Returns: the params, valid until the guard returns; NULL when the request has none that can
    /// be read.
    fn mcplink_guarded_request_params() -> *const mcplink_json_t {
        let parsed = || Document::parse(request.params.as_str()).ok();
        request.tree.get_or_init(parsed).as_ref()?.as_ptr()
    }

    /// Returns the kind of the entry that a request is about.
    ///
    /// Returns: the kind; MCPLINK_PRIMITIVE_NONE for a list as a whole, a task, and a subscription
    /// as a whole.
    fn mcplink_guarded_request_primitive() -> arg::mcplink_primitive {
        request.entry.as_ref()?.0 as i32
    }

    /// Returns the entry that a request is about: the called tool, the prompt, the resource to read
    /// or to subscribe to, the resource template of a completed variable, or an entry of a
    /// requested list.
    ///
    /// A resource that is read through a template has the URI that the client wrote, and one URI
    /// may be written in several ways ("%61" for "a"). So list the allowed URIs instead of the
    /// forbidden ones.
    ///
    /// Returns: the name, URI or URI template, valid until the guard returns; empty if
    /// mcplink_guarded_request_primitive returns MCPLINK_PRIMITIVE_NONE.
    fn mcplink_guarded_request_target() -> mcplink_str_t {
        request.entry.as_ref()?.1.view()
    }

    /// Returns the principal on whose behalf the client acts.
    ///
    /// Returns: the name of the principal, valid until the guard returns; empty when it is unknown.
    fn mcplink_guarded_request_principal() -> mcplink_str_t {
        request.principal.as_ref()?.view()
    }

    /// Checks whether a scope was granted to the principal.
    ///
    /// scope: the name of the scope.
    /// Returns: true if the scope was granted.
    fn mcplink_guarded_request_has_scope(scope: *const c_char) -> bool {
        let identity = request.identity.as_ref()?;
        identity.has_scope(name(scope, "scope").ok()?)
    }

    /// Returns the number of the session to which a request belongs: see mcplink_request_session.
    ///
    /// Returns: the number, from 1.
    fn mcplink_guarded_request_session() -> u64 {
        request.session
    }
}

actions! {
    needing(request: mcplink_guarded_request_t);

    /// Refuses a request unless these scopes were granted to its principal, whatever the guard
    /// returns afterwards, except MCPLINK_DECISION_HIDE. Over HTTP the client gets status 403, and
    /// can ask its user to grant the scopes. If the scopes of the principal are unknown, the
    /// request is refused over HTTP only. Scopes that are known beforehand are set with
    /// mcplink_server_require_scopes.
    ///
    /// scopes: all required scopes, separated by spaces. Repeated calls add scopes.
    /// Returns: MCPLINK_OK; MCPLINK_E_INVALID when scopes contains no name: the request is refused
    /// then; MCPLINK_E_STATE when the guard has returned.
    fn mcplink_guarded_request_require_scopes(scopes: *const c_char) {
        request.restrict(|verdict| {
            let scopes = filled(scopes, "scopes")?.split_ascii_whitespace();
            verdict.scopes.extend(scopes.map(str::to_owned));
            Ok(())
        })?;
    }

    /// Refuses the request with this error, whatever the guard returns afterwards; only
    /// MCPLINK_DECISION_HIDE goes before. Without this call a refusal has the code
    /// MCPLINK_RPC_INVALID_REQUEST and the message "this is not allowed".
    ///
    /// code: the JSON-RPC error code: see enum mcplink_rpc_code.
    /// message: the message, for the client.
    /// Returns: MCPLINK_OK; MCPLINK_E_INVALID; MCPLINK_E_STATE when the guard has returned.
    fn mcplink_guarded_request_refuse(code: i32, message: *const c_char) {
        request.restrict(|verdict| {
            let message = name(message, "message")?;
            verdict.error = Some(RpcError::new(code_of(code)?, message));
            Ok(())
        })?;
    }
}
