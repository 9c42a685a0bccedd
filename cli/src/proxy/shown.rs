//! What the proxy shows: the items of all servers. An item that several servers list is that of the
//! first one, in the order of the command line.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mcplink::schema::{Prompt, Resource, ResourceTemplate, Tool};

use super::upstream::{Items, Upstream};

/// The connected servers, and what is shown of them.
#[derive(Default)]
pub(super) struct Shown {
    /// The servers in the order of the command line, with their positions in it.
    upstreams: Vec<(usize, Arc<Upstream>)>,
    pub(super) tools: Owned<Tool>,
    pub(super) prompts: Owned<Prompt>,
    pub(super) resources: Owned<Resource>,
    pub(super) templates: Owned<ResourceTemplate>,
    /// The names of the tools of the proxy itself.
    pub(super) own: BTreeSet<String>,
}

/// Shown items by their names or URIs, each with the position of its server.
pub(super) type Owned<T> = BTreeMap<String, (usize, T)>;

/// The list of a server that is connected, with its position.
type List<'a> = (usize, &'a Arc<Upstream>, Arc<Items>);

impl Shown {
    pub(super) fn add(&mut self, position: usize, upstream: Arc<Upstream>) {
        self.upstreams.push((position, upstream));
        self.upstreams.sort_by_key(|(position, _)| *position);
    }

    pub(super) fn upstreams(&self) -> Vec<Arc<Upstream>> {
        let upstreams = self.upstreams.iter();
        upstreams
            .map(|(_, upstream)| Arc::clone(upstream))
            .collect()
    }

    /// Makes what is shown equal to what the servers list. Each function removes an item from the
    /// server for the clients, and then adds the new one of an upstream, if there is one.
    pub(super) fn update(
        &mut self,
        tool: impl Fn(&str, Option<(&Arc<Upstream>, &Tool)>),
        prompt: impl Fn(&str, Option<(&Arc<Upstream>, &Prompt)>),
        resource: impl Fn(&str, Option<(&Arc<Upstream>, &Resource)>),
        template: impl Fn(&str, Option<(&Arc<Upstream>, &ResourceTemplate)>),
    ) {
        let upstreams = self.upstreams.iter();
        let lists: Vec<List<'_>> = upstreams
            .map(|(position, upstream)| (*position, upstream, upstream.listed()))
            .collect();
        replace(&mut self.tools, &lists, |items| &items.tools, tool);
        replace(&mut self.prompts, &lists, |items| &items.prompts, prompt);
        replace(
            &mut self.resources,
            &lists,
            |items| &items.resources,
            resource,
        );
        replace(
            &mut self.templates,
            &lists,
            |items| &items.templates,
            template,
        );
    }
}

/// Makes `shown` equal to the items of the lists. `change` gets each name that differs, with its
/// new item if there is one. An item that can't be shown is not tried again until it changes.
fn replace<T: PartialEq + Clone>(
    shown: &mut Owned<T>,
    lists: &[List<'_>],
    of: impl Fn(&Items) -> &BTreeMap<String, T>,
    change: impl Fn(&str, Option<(&Arc<Upstream>, &T)>),
) {
    let names: BTreeSet<&str> = lists
        .iter()
        .flat_map(|(_, _, items)| of(items).keys().map(|name| &**name))
        .collect();
    shown.retain(|name, _| {
        let stays = names.contains(&**name);
        if !stays {
            change(name, None);
        }
        stays
    });
    let mut seen = BTreeSet::new();
    for (position, upstream, items) in lists {
        for (name, item) in of(items) {
            let is_first = seen.insert(&**name);
            let is_shown = || {
                let known = shown.get(name);
                known.is_some_and(|(owner, known)| owner == position && known == item)
            };
            if is_first && !is_shown() {
                change(name, Some((upstream, item)));
                shown.insert(name.clone(), (*position, item.clone()));
            }
        }
    }
}
