//! What a handler is asked.

use std::ffi::c_char;
use std::sync::{Arc, OnceLock};
use std::time::UNIX_EPOCH;

use serde::Serialize;

use super::entry::{get, value};
use super::json::{Document, mcplink_json_t, shown};
use super::served::Call;
use super::text::{Text, mcplink_str_t, name, view_or_empty};
use crate::error::Error;
use crate::schema::method;
use crate::server::{Principal, Terms};

/// A request that a handler of the host answers. It is readable as long as its responder: until the handler returns, or until the last
/// mcplink_responder_free of one that was kept. Any thread may read it.
pub struct mcplink_request_t {
    method: Text,
    name: Text,
    /// Of an argument that is completed.
    typed: Text,
    /// As it came.
    params: Box<str>,
    tree: OnceLock<Option<Document>>,
    /// Of a resource: the variables in its address.
    variables: Option<Box<str>>,
    variables_tree: OnceLock<Option<Document>>,
    /// Where in the params the arguments are.
    arguments: Option<&'static [&'static str]>,
    session: u64,
    principal: Option<Text>,
    identity: Option<Principal>,
    scopes: OnceLock<Text>,
    terms: Option<Arc<Terms>>,
    revision: OnceLock<Text>,
    client_info: OnceLock<Option<Document>>,
    capabilities: OnceLock<Option<Document>>,
}

impl mcplink_request_t {
    /// A request by its method and the JSON text of its params.
    pub(super) fn new(method: &str, params: &str) -> Self {
        Self {
            method: method.into(),
            name: "".into(),
            typed: "".into(),
            params: params.into(),
            tree: OnceLock::new(),
            variables: None,
            variables_tree: OnceLock::new(),
            arguments: Some(&[]),
            session: 0,
            principal: None,
            identity: None,
            scopes: OnceLock::new(),
            terms: None,
            revision: OnceLock::new(),
            client_info: OnceLock::new(),
            capabilities: OnceLock::new(),
        }
    }

    /// A request to a server, whose own methods come with what is known of their senders.
    pub(super) fn of(call: &Call) -> Option<Self> {
        let context = call.context()?;
        let mut request = Self::new(context.method(), context.params());
        request.name = match call {
            Call::Tool(call, _) => call.name().into(),
            Call::Resource(call, _) => call.read().uri().into(),
            Call::Prompt(call, _) => call.name().into(),
            Call::Completion(call, _) => call.completing().argument().into(),
            Call::Method(_) | Call::Question(_) => "".into(),
        };
        request.arguments = match call {
            Call::Resource(..) => None,
            Call::Completion(..) => Some(&["context", "arguments"]),
            _ => Some(&["arguments"]),
        };
        if let Call::Completion(call, _) = call {
            request.typed = call.completing().value().into();
        }
        if let Call::Resource(call, _) = call {
            let variables = serde_json::to_string(call.read().variables());
            request.variables = variables.ok().map(String::into_boxed_str);
        }
        request.terms = Some(Arc::clone(context.shared_terms()));
        Some(request.from(context.connection(), context.identity().cloned()))
    }

    /// Says from which connection of a server it came, and on whose behalf.
    pub(super) fn from(mut self, connection: u64, identity: Option<Principal>) -> Self {
        self.session = connection + 1;
        self.principal = identity.as_ref().map(|who| who.name().into());
        self.identity = identity;
        self
    }

    /// Why a handler could not be shown its arguments: JSON that no text or number can be made of, such as half of a character. Without this
    /// they would seem to be left out.
    pub(super) fn fault(&self) -> Option<Error> {
        self.arguments?;
        match Document::parse(&self.params) {
            Ok(tree) => {
                // Nobody else has looked yet.
                _ = self.tree.set(Some(tree));
                None
            }
            Err(error) => Some(error.context("the params can't be read")),
        }
    }

    /// Whether a model asks, which is told what is wrong with its arguments.
    pub(super) fn is_of_tool(&self) -> bool {
        self.method.as_str() == method::TOOLS_CALL
    }

    fn tree(&self) -> Option<&mcplink_json_t> {
        parsed(&self.tree, || Some((*self.params).to_owned()))
    }

    fn arguments(&self) -> Option<&mcplink_json_t> {
        match self.arguments {
            Some(path) => path
                .iter()
                .try_fold(self.tree()?, |node, step| node.member(step)),
            None => parsed(&self.variables_tree, || {
                self.variables.as_deref().map(str::to_owned)
            }),
        }
    }

    /// What was granted, if that is known.
    fn scopes(&self) -> Option<&Text> {
        let granted = self.identity.as_ref()?.granted()?;
        Some(self.scopes.get_or_init(|| {
            let all: Vec<&str> = granted.iter().map(String::as_str).collect();
            all.join(" ").into()
        }))
    }

    fn revision(&self) -> Option<&Text> {
        let terms = self.terms.as_ref()?;
        let revision = self.revision.get_or_init(|| terms.revision.as_str().into());
        Some(revision)
    }
}

/// A tree that is made when somebody looks at it.
fn parsed(
    tree: &OnceLock<Option<Document>>,
    text: impl FnOnce() -> Option<String>,
) -> Option<&mcplink_json_t> {
    // What came in a message is JSON; if it can't be shown, there is none.
    tree.get_or_init(|| Document::parse(&text()?).ok())
        .as_deref()
}

fn written(value: &impl Serialize) -> Option<String> {
    serde_json::to_string(value).ok()
}

/// The arguments: those of a tool or prompt, the variables of a template in the address of a resource, what is known already of the other
/// arguments in a completion, and the params of a method of one's own.
///
/// request: NULL for none.
/// Returns: a node that is valid as long as the request; NULL when there are none. Threads: any. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_request_args(
    request: *const mcplink_request_t,
) -> *const mcplink_json_t {
    value(std::ptr::null(), || {
        // SAFETY: the header says that it is a request of ours.
        shown(unsafe { get(request) }.and_then(mcplink_request_t::arguments))
    })
}

/// All params of the request, as they came.
///
/// request: NULL for none.
/// Returns: a node that is valid as long as the request; NULL when they can't be shown, which is only so for resources: other requests are
/// refused then, and no handler is run. Threads: any. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_request_params(
    request: *const mcplink_request_t,
) -> *const mcplink_json_t {
    value(std::ptr::null(), || {
        // SAFETY: the header says that it is a request of ours.
        shown(unsafe { get(request) }.and_then(mcplink_request_t::tree))
    })
}

/// What travels beside the params: their member "_meta".
///
/// request: NULL for none.
/// Returns: a node that is valid as long as the request; NULL when there is none. Threads: any. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_request_meta(
    request: *const mcplink_request_t,
) -> *const mcplink_json_t {
    value(std::ptr::null(), || {
        // SAFETY: the header says that it is a request of ours.
        let tree = unsafe { get(request) }.and_then(mcplink_request_t::tree);
        shown(tree.and_then(|tree| tree.member("_meta")))
    })
}

/// What is asked for: the name of the tool or prompt, the address of the resource, the name of the argument that is completed.
///
/// request: NULL for "".
/// Returns: valid as long as the request; empty for other requests. Threads: any. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_request_name(request: *const mcplink_request_t) -> mcplink_str_t {
    // SAFETY: the header says that it is a request of ours.
    view_or_empty(unsafe { get(request) }.map(|request| &request.name))
}

/// What is typed so far of the argument that is completed.
///
/// request: NULL for "".
/// Returns: valid as long as the request; empty for other requests. Threads: any. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_request_typed(request: *const mcplink_request_t) -> mcplink_str_t {
    // SAFETY: the header says that it is a request of ours.
    view_or_empty(unsafe { get(request) }.map(|request| &request.typed))
}

/// The method, for example "tools/call".
///
/// request: NULL for "".
/// Returns: valid as long as the request. Threads: any. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_request_method(
    request: *const mcplink_request_t,
) -> mcplink_str_t {
    // SAFETY: the header says that it is a request of ours.
    view_or_empty(unsafe { get(request) }.map(|request| &request.method))
}

/// A number that tells the connection that a request came on from all others of the server, see mcplink_session_number. Over HTTP, all clients of
/// revisions since 2026-07-28 share one.
///
/// request: NULL for 0.
/// Returns: at least 1 on a server, 0 on a client. Threads: any. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_request_session(request: *const mcplink_request_t) -> u64 {
    // SAFETY: the header says that it is a request of ours.
    unsafe { get(request) }.map_or(0, |request| request.session)
}

/// On whose behalf the client acts: over HTTP, what the host's check of the request said; elsewhere what the session was made with.
///
/// request: NULL for none.
/// Returns: valid as long as the request; empty when nobody knows. Threads: any. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_request_principal(
    request: *const mcplink_request_t,
) -> mcplink_str_t {
    // SAFETY: the header says that it is a request of ours.
    view_or_empty(unsafe { get(request) }.and_then(|request| request.principal.as_ref()))
}

/// What was granted to the one on whose behalf the client acts, with what that implies: names of scopes, a blank between two.
///
/// request: NULL for none.
/// Returns: valid as long as the request; empty when nothing was granted, or nothing is known of scopes. Threads: any. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_request_scopes(
    request: *const mcplink_request_t,
) -> mcplink_str_t {
    // SAFETY: the header says that it is a request of ours.
    view_or_empty(unsafe { get(request) }.and_then(mcplink_request_t::scopes))
}

/// Whether a scope was granted to the one on whose behalf the client acts: to do more or less. To refuse, see mcplink_responder_need_scopes.
///
/// request: NULL for false.
/// scope: its name.
/// Returns: true if so; false also when nothing is known of scopes. Threads: any. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_request_has_scope(
    request: *const mcplink_request_t,
    scope: *const c_char,
) -> bool {
    // SAFETY: the header says that they are a request of ours and text that ends in NUL.
    let (request, scope) = unsafe { (get(request), name(scope, "scope")) };
    let identity = request.and_then(|request| request.identity.as_ref());
    identity.is_some_and(|who| scope.is_ok_and(|scope| who.has_scope(scope)))
}

/// Until when what is known of the one on whose behalf the client acts is good: of an access token, when it expires.
///
/// request: NULL for 0.
/// Returns: seconds since 1970-01-01 UTC; 0 when there is no such time. Threads: any. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_request_expiry(request: *const mcplink_request_t) -> i64 {
    // SAFETY: the header says that it is a request of ours.
    let identity = unsafe { get(request) }.and_then(|request| request.identity.as_ref());
    let when = identity.and_then(Principal::expiry);
    let since = when.and_then(|when| when.duration_since(UNIX_EPOCH).ok());
    since.map_or(0, |since| {
        i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
    })
}

/// In which revision of the protocol the client asks, for example "2026-07-28".
///
/// request: NULL for none.
/// Returns: valid as long as the request; empty for methods of one's own, and on a client. Threads: any. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_request_revision(
    request: *const mcplink_request_t,
) -> mcplink_str_t {
    // SAFETY: the header says that it is a request of ours.
    view_or_empty(unsafe { get(request) }.and_then(mcplink_request_t::revision))
}

/// Who the client says it is, with "name" and "version": for showing and logging, not for decisions.
///
/// request: NULL for none.
/// Returns: a node that is valid as long as the request; NULL when it did not say. Threads: any. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_request_client_info(
    request: *const mcplink_request_t,
) -> *const mcplink_json_t {
    value(std::ptr::null(), || {
        // SAFETY: the header says that it is a request of ours.
        let request = unsafe { get(request) };
        shown(request.and_then(|request| {
            let info = request.terms.as_ref()?.client_info.as_ref()?;
            parsed(&request.client_info, || written(info))
        }))
    })
}

/// What the client can do, for example "elicitation".
///
/// request: NULL for none.
/// Returns: a node that is valid as long as the request; NULL for methods of one's own, and on a client. Threads: any. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_request_capabilities(
    request: *const mcplink_request_t,
) -> *const mcplink_json_t {
    value(std::ptr::null(), || {
        // SAFETY: the header says that it is a request of ours.
        let request = unsafe { get(request) };
        shown(request.and_then(|request| {
            let terms = request.terms.as_ref()?;
            parsed(&request.capabilities, || written(&terms.capabilities))
        }))
    })
}
