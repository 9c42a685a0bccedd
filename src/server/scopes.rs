//! OAuth scopes that a server requires for its items.
//!
//! Spec: Base Protocol, Authorization, "Scope Challenge Handling" (2025-11-25 and later).

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};

use super::primitive::Primitive;
use crate::error::Result;
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

    /// Calls `check` for every item for which scopes are required, up to the first error.
    pub(super) fn try_for_each(
        &self,
        check: impl FnMut(Primitive<'_>) -> Result<()>,
    ) -> Result<()> {
        let said = self.said.lock();
        let tools = said.tools.keys().map(|name| Primitive::Tool(name));
        let prompts = said.prompts.keys().map(|name| Primitive::Prompt(name));
        let resources = said.resources.keys().map(|uri| Primitive::Resource(uri));
        let templates = said.templates.keys();
        let templates = templates.map(|template| Primitive::ResourceTemplate(template));
        let mut all = tools.chain(prompts).chain(resources).chain(templates);
        all.try_for_each(check)
    }

    /// Returns the scopes that an item requires. `template` is the template that serves a
    /// resource, and `is_alike` tells whether another URI names the resource too.
    pub(super) fn needed(
        &self,
        primitive: Primitive<'_>,
        template: Option<&str>,
        is_alike: impl Fn(&str) -> bool,
    ) -> BTreeSet<String> {
        let mut said = self.said.lock();
        let (kind, name) = said.of(primitive);
        let mut needed = kind.get(name).cloned().unwrap_or_default();
        let of_template = template.and_then(|it| said.templates.get(it));
        if let Some(of_template) = of_template {
            needed.extend(of_template.iter().cloned());
        }
        // A URI has several spellings that reach the resource. The requirements of all of them
        // apply.
        if let Primitive::Resource(uri) = primitive {
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
