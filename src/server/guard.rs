//! Guards: the host's checks of requests and of outgoing results.
//!
//! ```text
//!  request ──▶ read ──▶ admit? ──▶ looked up ──▶ handler ──▶ release ──▶ answer
//!                         ╰── no: refused, or "not found"                    ▲
//!  list request ──▶ admit? ──▶ each item: shows? ──▶ page ───────────────────╯ (not released)
//! ```
//!
//! **Threads.** Guards are code of the host. They run on the same threads as handlers, many at
//! once. Without guards, lists are served on the reading thread.

use std::sync::Arc;

use super::context::Context;
use super::conversation::Conversation;
use super::error_map::{Failure, HandlerError};
use super::primitive::Primitive;
use super::session_state::ClientContext;
use crate::protocol::principal::{Principal, scope_set};
use crate::protocol::{Peer, Responder};
use crate::schema::{
    CallToolResult, CompleteResult, GetPromptResult, LoggingMessageNotificationParams,
    ReadResourceResult, RequestMetaObject,
};
use crate::shares::Client;

/// A guard decides which clients may see and use which items, and checks outgoing results.
///
/// A server calls all its guards in the order in which
/// [`ServerBuilder::guard`](super::ServerBuilder::guard) added them. The first refusal ends the
/// request. A closure that takes a [`GuardedRequest`] is a guard that only admits or refuses
/// requests.
///
/// # Examples
///
/// ```
/// use mcplink::RpcError;
/// use mcplink::server::{GuardedRequest, HandlerError, Primitive, Server};
///
/// let server = Server::builder("files", "1.0")
///     .guard(|access: &GuardedRequest<'_>| match access.primitive() {
///         // Only the administrator can see that this tool exists.
///         Some(Primitive::Tool("erase")) if access.principal() != Some("admin") => {
///             Err(HandlerError::not_found())
///         }
///         // Every client sees this tool, but only a known principal may use it.
///         Some(Primitive::Tool("write")) if access.principal().is_none() => {
///             Err(RpcError::invalid_request("sign in to write").into())
///         }
///         _ => Ok(()),
///     })
///     .build()?;
/// # Ok::<(), mcplink::Error>(())
/// ```
pub trait Guard: Send + Sync {
    /// Decides whether a request may continue.
    ///
    /// `admit` is called for each request about a tool, prompt, resource, task, or list of items.
    /// It is called again when a client repeats a request with answers to input requests. It is
    /// called before the item is looked up and before any handler runs. By default all requests are
    /// admitted.
    ///
    /// # Errors
    ///
    /// With [`HandlerError::not_found`], the client gets the error for an item that does not exist.
    /// An [`RpcError`](crate::RpcError) is sent to the client unchanged. With
    /// [`HandlerError::insufficient_scope`], the client gets the required scopes. With
    /// [`HandlerError::new`], the client gets an internal error with the text. Any other error
    /// becomes an internal error without a text; its text is logged for the host.
    fn admit(&self, access: &GuardedRequest<'_>) -> Result<(), HandlerError> {
        _ = access;
        Ok(())
    }

    /// Decides whether an item is on a list that a client requests.
    ///
    /// If a template is hidden, resources can't be read through it either. So `shows` is called for
    /// list requests and for `resources/read`. By default an item is hidden only if
    /// [`admit`](Self::admit) returns "not found" or an internal error.
    fn shows(&self, item: &GuardedRequest<'_>) -> bool {
        matches!(
            self.admit(item),
            Ok(()) | Err(HandlerError(Failure::Protocol(_) | Failure::Scopes(_)))
        )
    }

    /// Whether [`release`](Self::release) may change results. By default it may. Results that are
    /// given as raw JSON ([`ToolCall::respond_raw`](super::ToolCall::respond_raw)) are parsed for
    /// such a guard; other guards do not see them. A guard that is a closure changes no results.
    fn changes_results(&self) -> bool {
        true
    }

    /// Checks a result or log message before it is sent. The guard may change the message, for
    /// example to remove data that the client must not get. By default nothing is changed.
    fn release(&self, outgoing: &mut GuardedResult<'_>, context: &Context) {
        _ = (outgoing, context);
    }
}

impl<F> Guard for F
where
    F: Fn(&GuardedRequest<'_>) -> Result<(), HandlerError> + Send + Sync,
{
    fn admit(&self, access: &GuardedRequest<'_>) -> Result<(), HandlerError> {
        self(access)
    }

    fn changes_results(&self) -> bool {
        false
    }
}

/// A request that guards admit or refuse.
#[derive(Clone, Copy)]
pub struct GuardedRequest<'a> {
    pub(super) method: &'a str,
    pub(super) params: &'a str,
    pub(super) primitive: Option<Primitive<'a>>,
    pub(super) terms: &'a ClientContext,
    pub(super) meta: Option<&'a RequestMetaObject>,
    pub(super) conversation: &'a Conversation,
    pub(super) responder: &'a Responder,
}

impl<'a> GuardedRequest<'a> {
    /// Returns the method of the request.
    pub fn method(&self) -> &'a str {
        self.method
    }

    /// Returns the params of the request as JSON text, with the arguments.
    pub fn params(&self) -> &'a str {
        self.params
    }

    /// Returns the item that the request is about, or `None` for a list as a whole.
    ///
    /// The item is the called tool, the prompt, the resource to read or subscribe to, or the
    /// template of a completed variable. For a list request, [`Guard::shows`] gets each item of the
    /// list.
    ///
    /// A `subscriptions/listen` request is first checked as a whole, with `None`, and then for each
    /// resource. If the guard returns "not found" for a resource, the client gets the same answer
    /// as for an unknown URI: the resource is accepted, but no notification is sent for the
    /// resource. If the guard returns another error, the resource is left out of the accepted
    /// subscription.
    pub fn primitive(&self) -> Option<Primitive<'a>> {
        self.primitive
    }

    /// Returns the client that the request counts for in shared limits.
    pub(super) fn accounted_client(&self) -> Client {
        self.conversation.client_of(self.responder)
    }

    /// Returns the principal's name, if known: see [`Context::principal`].
    pub fn principal(&self) -> Option<&'a str> {
        self.conversation.principal_of(self.responder)
    }

    /// Returns the principal with its granted scopes, if known.
    pub fn identity(&self) -> Option<&'a Principal> {
        self.conversation.identity_of(self.responder)
    }

    /// Returns an error unless all these scopes were granted. For scopes that are known in advance,
    /// see [`ServerBuilder::require_scopes`](super::ServerBuilder::require_scopes).
    ///
    /// If the granted scopes are not known, they count as no scopes over HTTP. On other transports,
    /// the function then returns no error.
    ///
    /// # Errors
    ///
    /// [`HandlerError::insufficient_scope`]. Return the error with `?`.
    pub fn require_scopes(&self, scopes: &[&str]) -> Result<(), HandlerError> {
        let needed = scope_set(scopes);
        if self.conversation.grants(self.responder, &needed) {
            return Ok(());
        }
        Err(HandlerError(Failure::Scopes(needed)))
    }

    /// Returns the number of the connection, which is unique within this server. Over HTTP, all
    /// clients of the modern era share one number.
    pub fn connection(&self) -> u64 {
        self.conversation.number
    }

    /// Returns the client info of the request: its revision, and the client's capabilities and
    /// name.
    pub fn client(&self) -> &'a ClientContext {
        self.terms
    }

    /// Returns the `_meta` of the params, without the members that are part of
    /// [`client`](Self::client).
    pub fn meta(&self) -> Option<&'a RequestMetaObject> {
        self.meta
    }

    /// Returns the peer of the connection: the client.
    pub fn peer(&self) -> Peer {
        self.responder.peer()
    }

    /// Returns a copy of this request that is about the item `primitive`.
    pub(super) fn about(&self, primitive: Primitive<'a>) -> Self {
        Self {
            primitive: Some(primitive),
            ..*self
        }
    }
}

impl std::fmt::Debug for GuardedRequest<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GuardedRequest")
            .field("method", &self.method)
            .field("primitive", &self.primitive)
            .field("principal", &self.principal())
            .field("connection", &self.connection())
            .finish_non_exhaustive()
    }
}

/// A result or log message that is about to be sent.
#[derive(Debug)]
#[non_exhaustive]
pub enum GuardedResult<'a> {
    /// The result of a tool, possibly a failure.
    Tool(&'a mut CallToolResult),
    /// The messages of a prompt.
    Prompt(&'a mut GetPromptResult),
    /// The contents of a resource.
    Resource(&'a mut ReadResourceResult),
    /// The completion of an argument.
    Completion(&'a mut CompleteResult),
    /// A log message that a handler sends with [`Context::log`].
    Log(&'a mut LoggingMessageNotificationParams),
}

/// All guards of a server, in order.
pub(super) type Guards = Vec<Arc<dyn Guard>>;

impl Context {
    /// Passes a result or log message to the guards before it is sent.
    pub(super) fn release(&self, mut outgoing: GuardedResult<'_>) {
        let guards = &self.services().guards;
        // A result is not sent if the handler still needs input.
        let is_log = matches!(outgoing, GuardedResult::Log(_));
        if guards.is_empty() || (!is_log && self.mrtr().lock().needs_input()) {
            return;
        }
        for guard in guards {
            guard.release(&mut outgoing, self);
        }
    }
}
