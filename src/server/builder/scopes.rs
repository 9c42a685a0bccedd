//! The setting of a server builder that requires OAuth scopes for single items.

use super::ServerBuilder;
use crate::protocol::principal::scope_set;
use crate::server::primitive::Primitive;

impl ServerBuilder {
    /// Sets that a client needs all these scopes to use an item.
    ///
    /// Clients that lack the scopes still see the item on lists, so that they know which scopes
    /// they could request. The scopes of a template apply to each resource that is read through it.
    /// Repeated calls for one item add scopes.
    ///
    /// The scopes are checked before the handler runs. Over HTTP, a client that lacks a scope gets
    /// status 403. The client can then ask its user to grant all required scopes. A client whose
    /// scopes are unknown counts as a client without scopes. On other transports, scopes are
    /// checked only if the principal lists its scopes: see
    /// [`Server::open_for`](crate::server::Server::open_for).
    ///
    /// For items that are added later, use
    /// [`Server::require_scopes`](crate::server::Server::require_scopes). For decisions that depend
    /// on arguments, write a guard with
    /// [`GuardedRequest::require_scopes`](crate::server::GuardedRequest::require_scopes).
    ///
    /// The item must exist when the server is built, so that a misspelled name can't leave an item
    /// unprotected.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::Tool;
    /// use mcplink::server::{Primitive, Server};
    ///
    /// let server = Server::builder("files", "1.0")
    ///     .tool_with(Tool::new("write"), |_: serde_json::Value, _| "written")
    ///     .require_scopes(Primitive::Tool("write"), ["files:write"])
    ///     .build()?;
    /// # Ok::<(), mcplink::Error>(())
    /// ```
    // M-AUTH-S-50
    pub fn require_scopes<S: AsRef<str>>(
        self,
        of: Primitive<'_>,
        scopes: impl IntoIterator<Item = S>,
    ) -> Self {
        self.inner.requirements.add(of, scope_set(scopes));
        self
    }
}
