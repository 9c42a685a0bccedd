//! The functions of the server builder that add resources and resource templates.

use std::sync::Arc;

use super::ServerBuilder;
use crate::schema::{Resource, ResourceTemplate};
use crate::server::context::Context;
use crate::server::resources::{self, ResourceCall, ResourceOutput, ResourceRead};

impl ServerBuilder {
    /// Adds a resource: data to read, with a URI of its own. [`ResourceOutput`] lists the types
    /// that the handler may return.
    ///
    /// Choose a URI scheme that describes the kind of data, if necessary a new one. Use `https:`
    /// only for data that the client can also fetch by itself.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::Resource;
    /// use mcplink::server::Server;
    ///
    /// let manual = Resource::new("manual:///start", "start").mime_type("text/markdown");
    /// let server = Server::builder("manual", "1.0")
    ///     .resource(manual, |_, _| "# First steps")
    ///     .build()?;
    /// # Ok::<(), mcplink::Error>(())
    /// ```
    // M-RES-S-05, M-RES-S-06, L-RES-S-03, L-RES-S-04
    pub fn resource<R: ResourceOutput>(
        self,
        resource: Resource,
        handler: impl Fn(&ResourceRead, &Context) -> R + Send + Sync + 'static,
    ) -> Self {
        let added = self
            .inner
            .add_resource(resource, resources::reading(handler));
        self.noting(added)
    }

    /// Adds a resource whose handler may keep the call and answer later, from any thread. See
    /// [`Server::add_deferred_resource`](crate::server::Server::add_deferred_resource).
    pub fn deferred_resource(
        self,
        resource: Resource,
        handler: impl Fn(ResourceCall) + Send + Sync + 'static,
    ) -> Self {
        let added = self.inner.add_resource(resource, Arc::new(handler));
        self.noting(added)
    }

    /// Adds resources whose URIs follow a template (RFC 6570).
    ///
    /// The supported expressions are `{var}`, `{+path}`, `{/var}`, `{.ext}` and, at the end,
    /// `{?a,b}`. A resource with exactly the requested URI is preferred to templates. Templates are
    /// tried in the order of registration.
    ///
    /// The template matches every URI of its form. If there is no resource with the requested URI,
    /// the handler returns [`HandlerError::not_found`](crate::server::HandlerError::not_found), or
    /// `None`. [`ResourceRead::get`] returns this error for a variable that does not parse.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::ResourceTemplate;
    /// use mcplink::server::{HandlerError, Json, Server};
    ///
    /// let names = ["Ada", "Charles"];
    /// let server = Server::builder("users", "1.0")
    ///     .template(ResourceTemplate::new("users://{id}", "user"), move |read, _| {
    ///         let id: usize = read.get("id")?;
    ///         let name = names.get(id).ok_or_else(HandlerError::not_found)?;
    ///         Ok(Json(serde_json::json!({ "id": id, "name": name })))
    ///     })
    ///     .build()?;
    /// # Ok::<(), mcplink::Error>(())
    /// ```
    pub fn template<R: ResourceOutput>(
        self,
        template: ResourceTemplate,
        handler: impl Fn(&ResourceRead, &Context) -> R + Send + Sync + 'static,
    ) -> Self {
        let added = self
            .inner
            .add_template(template, resources::reading(handler));
        self.noting(added)
    }

    /// Adds resources whose URIs follow a template. The handler may keep the call and answer later,
    /// from any thread. See
    /// [`Server::add_deferred_template`](crate::server::Server::add_deferred_template).
    pub fn deferred_template(
        self,
        template: ResourceTemplate,
        handler: impl Fn(ResourceCall) + Send + Sync + 'static,
    ) -> Self {
        let added = self.inner.add_template(template, Arc::new(handler));
        self.noting(added)
    }

    /// Sets the handler for reads of resources that are not listed and match no template. Without
    /// it, the client gets the error that such a resource does not exist. Declare the capability
    /// with [`declare_capability`](Self::declare_capability) if the server lists no resource at its
    /// start.
    pub fn deferred_unlisted_resources(
        mut self,
        handler: impl Fn(ResourceCall) + Send + Sync + 'static,
    ) -> Self {
        self.inner.unlisted_resources = Some(Arc::new(handler));
        self
    }
}
