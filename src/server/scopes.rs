//! Which scopes have to be granted for what.
//!
//! Spec: Base Protocol, Authorization, "Scope Challenge Handling" (2025-11-25 and later).

use std::collections::{BTreeSet, HashMap};

use super::Inner;
use super::builder::ServerBuilder;
use super::dispatch::Link;
use super::failure::{Failure, HandlerError};
use super::guard::{Access, Guard, Primitive};
use crate::error::{Error, ErrorKind, Excerpt, Result, RpcError};
use crate::protocol::Responder;
use crate::protocol::principal::{Principal, scope_set};

/// What was said beforehand of what needs which scopes: a guard that is asked before all others.
#[derive(Clone, Debug, Default)]
pub(super) struct Requirements {
    tools: HashMap<String, BTreeSet<String>>,
    prompts: HashMap<String, BTreeSet<String>>,
    resources: HashMap<String, BTreeSet<String>>,
    templates: HashMap<String, BTreeSet<String>>,
}

impl ServerBuilder {
    /// Lets only those use something who were granted all these scopes; it stands on lists all the same, so that clients know what more they
    /// could have. What is needed for a template is needed for each resource that is read through it. Said twice, all of them are needed.
    ///
    /// The scopes are checked before the handler runs. Over HTTP a client that lacks one is told with status 403, and can have its user grant
    /// all that the operation needs (M-AUTH-S-50); one whose scopes nobody has found out has none. Elsewhere scopes count only for who was said
    /// to have some: see [`Server::open_for`](super::Server::open_for). For what is added later, or decided by arguments, write a guard with
    /// [`Access::need_scopes`](super::Access::need_scopes).
    ///
    /// What is named has to be there when the server is built, so that nothing stays open for a slip of the pen.
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
    pub fn require_scopes<S: AsRef<str>>(
        mut self,
        of: Primitive<'_>,
        scopes: impl IntoIterator<Item = S>,
    ) -> Self {
        let (kind, name) = self.requirements.of(of);
        kind.entry(name.to_owned())
            .or_default()
            .extend(scope_set(scopes));
        self
    }
}

impl Requirements {
    fn of<'a>(
        &mut self,
        primitive: Primitive<'a>,
    ) -> (&mut HashMap<String, BTreeSet<String>>, &'a str) {
        match primitive {
            Primitive::Tool(name) => (&mut self.tools, name),
            Primitive::Prompt(name) => (&mut self.prompts, name),
            Primitive::Resource(uri) => (&mut self.resources, uri),
            Primitive::ResourceTemplate(template) => (&mut self.templates, template),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        let all = [&self.tools, &self.prompts, &self.resources, &self.templates];
        all.into_iter().all(HashMap::is_empty)
    }

    /// Checks that the server has what is named.
    pub(super) fn check(&self, server: &Inner) -> Result<()> {
        let unknown = |noun: &str, name: &String| {
            let text = format!(
                "scopes are required for the {noun} '{}', which is not there: add it before the server is built, or write a guard",
                Excerpt(name)
            );
            Err(Error::new(ErrorKind::Invalid, text))
        };
        for name in self.tools.keys() {
            if server.tools.find(name).is_none() {
                return unknown("tool", name);
            }
        }
        for name in self.prompts.keys() {
            if server.prompts.find(name).is_none() {
                return unknown("prompt", name);
            }
        }
        for uri in self.resources.keys() {
            if server.resources.find(uri).is_none() && server.template_of(uri).is_none() {
                return unknown("resource", uri);
            }
        }
        for template in self.templates.keys() {
            if server.templates.find(template).is_none() {
                return unknown("resource template", template);
            }
        }
        Ok(())
    }

    fn needed(&self, server: &Inner, primitive: Primitive<'_>) -> BTreeSet<String> {
        let own = match primitive {
            Primitive::Tool(name) => self.tools.get(name),
            Primitive::Prompt(name) => self.prompts.get(name),
            Primitive::Resource(uri) => self.resources.get(uri),
            Primitive::ResourceTemplate(template) => self.templates.get(template),
        };
        let mut needed = own.cloned().unwrap_or_default();
        if let Primitive::Resource(uri) = primitive
            && !self.templates.is_empty()
            && server.resources.find(uri).is_none()
            && let Some(template) = server.template_of(uri)
            && let Some(of_template) = self.templates.get(&template)
        {
            needed.extend(of_template.iter().cloned());
        }
        needed
    }
}

impl Guard for Requirements {
    fn admit(&self, access: &Access<'_>) -> Result<(), HandlerError> {
        let Some(primitive) = access.primitive() else {
            return Ok(());
        };
        let needed = self.needed(&access.link.server, primitive);
        if access.link.grants(access.responder, &needed) {
            return Ok(());
        }
        Err(HandlerError(Failure::Scopes(needed)))
    }

    fn shows(&self, _: &Access<'_>) -> bool {
        true
    }
}

impl Link {
    /// Whether who asks has all these scopes.
    pub(super) fn grants(&self, responder: &Responder, needed: &BTreeSet<String>) -> bool {
        let granted = self.identity_of(responder).and_then(Principal::granted);
        match granted {
            Some(granted) => needed.is_subset(granted),
            None => needed.is_empty() || !self.is_over_http,
        }
    }
}

/// What a client is told that lacks one of these scopes.
pub(super) fn missing(scopes: &BTreeSet<String>) -> RpcError {
    let names: Vec<&str> = scopes.iter().map(String::as_str).collect();
    let text = format!("these scopes have to be granted first: {}", names.join(" "));
    RpcError::invalid_request(text)
}
