//! What the host has to say about who may see and use what, and about what leaves the server.
//!
//! ```text
//!  request ──▶ read ──▶ admit? ──▶ looked up ──▶ handler ──▶ release ──▶ answer
//!                         ╰── no: refused, or as if it were not there        ▲
//!  list request ──▶ admit? ──▶ each item: shows? ──▶ page ───────────────────╯ (not released)
//! ```
//!
//! **Threads.** Guards are user code: they run where handlers do, many at once. A server without guards lists without leaving the reading
//! thread, and pays nothing for them.

use std::sync::Arc;

use super::context::Context;
use super::conversation::Terms;
use super::dispatch::Link;
use super::failure::{Failure, HandlerError, resource_not_found};
use crate::error::{Excerpt, RpcError};
use crate::protocol::principal::{Principal, scope_set};
use crate::protocol::{Peer, Responder};
use crate::schema::{
    CallToolResult, CompleteResult, GetPromptResult, LoggingMessageNotificationParams,
    ReadResourceResult, RequestMetaObject,
};

/// Decides who may see and use what, and looks at what leaves the server.
///
/// A server asks all its guards, in the order in which [`ServerBuilder::guard`](super::ServerBuilder::guard) added them; the first one
/// that says no ends the request. A closure that takes an [`Access`] is a guard that only admits.
///
/// # Examples
///
/// ```
/// use mcplink::RpcError;
/// use mcplink::server::{Access, HandlerError, Primitive, Server};
///
/// let server = Server::builder("files", "1.0")
///     .guard(|access: &Access<'_>| match access.primitive() {
///         // Nobody but the administrator learns that there is such a tool.
///         Some(Primitive::Tool("erase")) if access.principal() != Some("admin") => Err(HandlerError::not_found()),
///         // Everybody sees it, and not everybody may use it.
///         Some(Primitive::Tool("write")) if access.principal().is_none() => {
///             Err(RpcError::invalid_request("sign in to write").into())
///         }
///         _ => Ok(()),
///     })
///     .build()?;
/// # Ok::<(), mcplink::Error>(())
/// ```
pub trait Guard: Send + Sync {
    /// Whether a request for a tool, prompt, resource, list of these, or about a task may go on. Runs before each such request, and each time
    /// that it is sent again with answers, before anything is looked up and before any handler. Defaults to yes.
    ///
    /// # Errors
    ///
    /// [`HandlerError::not_found`] has the client told exactly what it would be told if there were no such thing, an [`RpcError`] is the
    /// client's answer as it is, and any other error becomes an internal error whose text is for the host.
    fn admit(&self, access: &Access<'_>) -> Result<(), HandlerError> {
        _ = access;
        Ok(())
    }

    /// Whether an item stands on a list, which is asked for with [`Access::method`]. What is not shown as a template is not read through
    /// it either. Defaults to what [`admit`](Self::admit) says: all but what is not there, or what it could not decide.
    fn shows(&self, item: &Access<'_>) -> bool {
        matches!(
            self.admit(item),
            Ok(()) | Err(HandlerError(Failure::Protocol(_) | Failure::Scopes(_)))
        )
    }

    /// Looks at a result or log message before it leaves, and may change it: to take out what the client must not get. Defaults to
    /// leaving it as it is.
    fn release(&self, outgoing: &mut Outgoing<'_>, context: &Context) {
        _ = (outgoing, context);
    }
}

impl<F> Guard for F
where
    F: Fn(&Access<'_>) -> Result<(), HandlerError> + Send + Sync,
{
    fn admit(&self, access: &Access<'_>) -> Result<(), HandlerError> {
        self(access)
    }
}

/// A thing that a server has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Primitive<'a> {
    /// The tool of this name.
    Tool(&'a str),
    /// The prompt of this name.
    Prompt(&'a str),
    /// The resource at this address, registered there or given by a template. It is what the client wrote: through a template it may have
    /// other spellings (`%61` for `a`), so compare what the template reads of it, or allow what is known instead of forbidding it.
    Resource(&'a str),
    /// The template written like this.
    ResourceTemplate(&'a str),
}

impl Primitive<'_> {
    /// What is said when there is no such thing.
    pub(super) fn unknown(self) -> RpcError {
        let (noun, name) = match self {
            Self::Tool(name) => ("tool", name),
            Self::Prompt(name) => ("prompt", name),
            Self::ResourceTemplate(template) => ("resource template", template),
            Self::Resource(uri) => return resource_not_found(uri),
        };
        RpcError::invalid_params(format!("unknown {noun}: {}", Excerpt(name)))
    }
}

/// Who wants what.
#[derive(Clone, Copy)]
pub struct Access<'a> {
    pub(super) method: &'a str,
    pub(super) params: &'a str,
    pub(super) primitive: Option<Primitive<'a>>,
    pub(super) terms: &'a Terms,
    pub(super) meta: Option<&'a RequestMetaObject>,
    pub(super) link: &'a Link,
    pub(super) responder: &'a Responder,
}

impl<'a> Access<'a> {
    /// The method of the request.
    pub fn method(&self) -> &'a str {
        self.method
    }

    /// The params of the request, as JSON text: arguments too.
    pub fn params(&self) -> &'a str {
        self.params
    }

    /// What the request is about: the tool that is called, the prompt that is wanted or completed, the resource that is read or
    /// subscribed to, the template whose variable is completed, or the item that may stand on a list. `None` for a list as a whole, and
    /// for `subscriptions/listen` as a whole: each resource in it is asked about too, and left out when it is refused. A subscription to
    /// what is not there is accepted, as that to any unknown address is, and nothing is ever told on it.
    pub fn primitive(&self) -> Option<Primitive<'a>> {
        self.primitive
    }

    /// Who asks, if that was found out: see [`Context::principal`].
    pub fn principal(&self) -> Option<&'a str> {
        self.link.principal_of(self.responder)
    }

    /// Who asks and what that one may do, if that was found out.
    pub fn identity(&self) -> Option<&'a Principal> {
        self.link.identity_of(self.responder)
    }

    /// Admits only who was granted all these scopes; see [`ServerBuilder::require_scopes`](super::ServerBuilder::require_scopes) for what is known
    /// beforehand.
    ///
    /// Where nothing is known of scopes everybody is let through, except over HTTP, where that is to have none.
    ///
    /// # Errors
    ///
    /// [`HandlerError::insufficient_scope`], to be given on with `?`.
    pub fn need_scopes(&self, scopes: &[&str]) -> Result<(), HandlerError> {
        let needed = scope_set(scopes);
        if self.link.grants(self.responder, &needed) {
            return Ok(());
        }
        Err(HandlerError(Failure::Scopes(needed)))
    }

    /// A number that no other connection of this server has. Over HTTP, all clients of the modern era share one.
    pub fn connection(&self) -> u64 {
        self.link.number
    }

    /// In which revision the client asks, what it can do, and who it says it is.
    pub fn terms(&self) -> &'a Terms {
        self.terms
    }

    /// What travels beside the params, without what [`terms`](Self::terms) says.
    pub fn meta(&self) -> Option<&'a RequestMetaObject> {
        self.meta
    }

    /// The client's side of the connection.
    pub fn peer(&self) -> Peer {
        self.responder.peer()
    }

    /// The same request, about one thing.
    pub(super) fn about(&self, primitive: Primitive<'a>) -> Self {
        Self {
            primitive: Some(primitive),
            ..*self
        }
    }
}

impl std::fmt::Debug for Access<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Access")
            .field("method", &self.method)
            .field("primitive", &self.primitive)
            .field("principal", &self.principal())
            .field("connection", &self.connection())
            .finish_non_exhaustive()
    }
}

/// What is about to leave the server.
#[derive(Debug)]
#[non_exhaustive]
pub enum Outgoing<'a> {
    /// What a tool gave, be it a failure of the tool.
    Tool(&'a mut CallToolResult),
    /// What a prompt became.
    Prompt(&'a mut GetPromptResult),
    /// What is in a resource.
    Resource(&'a mut ReadResourceResult),
    /// How an argument can be completed.
    Completion(&'a mut CompleteResult),
    /// What a handler tells with [`Context::log`].
    Log(&'a mut LoggingMessageNotificationParams),
}

/// All guards of a server.
pub(super) type Guards = Vec<Arc<dyn Guard>>;

impl Link {
    /// Looks at the scopes that are required, and asks the guards, until one says no.
    pub(super) fn ask_guards(&self, access: &Access<'_>) -> Result<(), HandlerError> {
        let mut guards = self.server.guards.iter();
        let admitted = self.server.requirements.admit(access);
        let admitted = admitted.and_then(|()| guards.try_for_each(|guard| guard.admit(access)));
        match &admitted {
            Err(HandlerError(Failure::Scopes(scopes))) => access.responder.demand(scopes),
            Err(HandlerError(Failure::Protocol(_))) => access.responder.refused_by_guard(),
            _ => {}
        }
        admitted
    }

    /// Asks the guards whether a request may go on; if not, what the client is told.
    pub(super) fn admit(&self, access: &Access<'_>) -> Result<(), RpcError> {
        self.admit_as(access, access.primitive)
    }

    /// The same; what is not there is told as if `named` were not.
    pub(super) fn admit_as(
        &self,
        access: &Access<'_>,
        named: Option<Primitive<'_>>,
    ) -> Result<(), RpcError> {
        self.ask_guards(access)
            .map_err(|error| match (error.0, named) {
                (Failure::NotFound, Some(primitive)) => primitive.unknown(),
                (Failure::NotFound, None) => RpcError::method_not_found(access.method),
                (other, _) => {
                    let peer = access.responder.peer();
                    self.reveal(&peer, access.method, other, "guard of", access.method)
                }
            })
    }

    /// Asks the guards whether an item can be seen.
    pub(super) fn shows(&self, item: &Access<'_>) -> bool {
        let mut guards = self.server.guards.iter();
        guards.all(|guard| guard.shows(item))
    }
}

impl Context {
    /// Has the guards look at what is about to leave.
    pub(super) fn release(&self, mut outgoing: Outgoing<'_>) {
        let guards = &self.server().guards;
        // What a handler gives that has yet to ask is not sent.
        let is_log = matches!(outgoing, Outgoing::Log(_));
        if guards.is_empty() || (!is_log && self.rounds().lock().needs_input()) {
            return;
        }
        for guard in guards {
            guard.release(&mut outgoing, self);
        }
    }
}
