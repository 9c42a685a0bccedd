//! OAuth scopes that a server requires for its items.
//!
//! Spec: Base Protocol, Authorization, "Scope Challenge Handling" (2025-11-25 and later).

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};

use super::dispatch::Conversation;
use super::error_map::{Failure, HandlerError};
use super::guard::{GuardedRequest, Primitive};
use super::{Inner, Server};
use crate::error::{Error, ErrorKind, Excerpt, Result};
use crate::protocol::Responder;
use crate::protocol::principal::{Principal, scope_set};
use crate::schema::url::normalized;
use crate::sync::Mutex;

/// The required scopes of all items. The required scopes are checked before the guards are called.
#[derive(Debug, Default)]
pub(super) struct Requirements {
    /// Whether any requirement was added. While the flag is false, readers skip the lock. So the
    /// flag is set only after the requirement is in the table.
    any: AtomicBool,
    said: Mutex<Said>,
}

#[derive(Debug, Default)]
struct Said {
    tools: HashMap<String, BTreeSet<String>>,
    prompts: HashMap<String, BTreeSet<String>>,
    resources: HashMap<String, BTreeSet<String>>,
    templates: HashMap<String, BTreeSet<String>>,
}

impl Server {
    /// Sets that from now on a client needs all these scopes to use an item.
    ///
    /// See [`ServerBuilder::require_scopes`](super::ServerBuilder::require_scopes). The requirement
    /// stays when the item is removed. It then applies to a new item with the same name. Requests
    /// that come between adding the item and this call are not checked. To avoid unchecked
    /// requests, call this function before the server serves clients, or let the handler check the
    /// scopes ([`Context::require_scopes`](super::Context::require_scopes)).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] when the server has no such item.
    pub fn require_scopes<S: AsRef<str>>(
        &self,
        of: Primitive<'_>,
        scopes: impl IntoIterator<Item = S>,
    ) -> Result<()> {
        check_known(&self.0, of)?;
        self.0.requirements.add(of, scope_set(scopes));
        Ok(())
    }
}

/// Checks that the server has the item for which scopes are required.
fn check_known(server: &Inner, of: Primitive<'_>) -> Result<()> {
    let (is_there, noun, name) = match of {
        Primitive::Tool(name) => (server.tools.find(name).is_some(), "tool", name),
        Primitive::Prompt(name) => (server.prompts.find(name).is_some(), "prompt", name),
        Primitive::Resource(uri) => {
            let is_there = server.find_resource(uri).is_some() || server.template_of(uri).is_some();
            (is_there, "resource", uri)
        }
        Primitive::ResourceTemplate(template) => {
            let is_there = server.templates.find(template).is_some();
            (is_there, "resource template", template)
        }
    };
    if is_there {
        return Ok(());
    }
    let text = format!(
        "scopes are required for the {noun} '{}', which is not there: add it before, or write a guard",
        Excerpt(name)
    );
    Err(Error::new(ErrorKind::Invalid, text))
}

impl Requirements {
    pub(super) fn add(&self, of: Primitive<'_>, scopes: BTreeSet<String>) {
        let mut said = self.said.lock();
        let (kind, name) = said.of(of);
        kind.entry(name.to_owned()).or_default().extend(scopes);
        self.any.store(true, Ordering::Release);
    }

    pub(super) fn is_empty(&self) -> bool {
        !self.any.load(Ordering::Acquire)
    }

    /// Checks that the server has every item for which scopes are required.
    pub(super) fn check(&self, server: &Inner) -> Result<()> {
        let said = self.said.lock();
        let tools = said.tools.keys().map(|name| Primitive::Tool(name));
        let prompts = said.prompts.keys().map(|name| Primitive::Prompt(name));
        let resources = said.resources.keys().map(|uri| Primitive::Resource(uri));
        let templates = said.templates.keys();
        let templates = templates.map(|template| Primitive::ResourceTemplate(template));
        let mut all = tools.chain(prompts).chain(resources).chain(templates);
        all.try_for_each(|of| check_known(server, of))
    }

    /// Refuses a request if its client lacks a scope that its item requires.
    pub(super) fn admit(&self, access: &GuardedRequest<'_>) -> Result<(), HandlerError> {
        let Some(primitive) = access.primitive().filter(|_| !self.is_empty()) else {
            return Ok(());
        };
        let needed = self.needed(&access.conversation.server, primitive);
        if access.conversation.grants(access.responder, &needed) {
            return Ok(());
        }
        Err(HandlerError(Failure::Scopes(needed)))
    }

    fn needed(&self, server: &Inner, primitive: Primitive<'_>) -> BTreeSet<String> {
        let found = match primitive {
            Primitive::Resource(uri) => server.find_resource(uri),
            _ => None,
        };
        let template = match primitive {
            Primitive::Resource(uri) if found.is_none() => server.template_of(uri),
            _ => None,
        };
        let mut said = self.said.lock();
        let (kind, name) = said.of(primitive);
        let mut needed = kind.get(name).cloned().unwrap_or_default();
        let of_template = template.as_ref().and_then(|it| said.templates.get(it));
        if let Some(of_template) = of_template {
            needed.extend(of_template.iter().cloned());
        }
        // A URI has several spellings that reach the resource. The requirements of all of them
        // apply.
        if let Primitive::Resource(uri) = primitive {
            let own = normalized(uri);
            let is_alike = |named: &str| match &template {
                Some(_) => server.reads_alike(named, uri),
                None => normalized(named) == own,
            };
            for (named, scopes) in &said.resources {
                if named != uri && is_alike(named) {
                    needed.extend(scopes.iter().cloned());
                }
            }
        }
        needed
    }
}

impl Said {
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
}

impl Conversation {
    /// Returns whether the client of a request has all these scopes.
    pub(super) fn grants(&self, responder: &Responder, needed: &BTreeSet<String>) -> bool {
        let granted = self.identity_of(responder).and_then(Principal::granted);
        match granted {
            Some(granted) => needed.is_subset(granted),
            None => needed.is_empty() || !self.is_over_http,
        }
    }
}
