//! A server behind the proxy: its connection, and what it lists.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use mcplink::client::{CallOptions, Client, Event, Subscription};
use mcplink::schema::{Prompt, Resource, ResourceTemplate, SubscriptionFilter, Tool};
use mcplink::{Error, ErrorKind};

use super::gate::Gate;
use crate::print::note;

/// The largest number of resources of one server whose changes the proxy follows.
const MAX_FOLLOWED: usize = 1024;

/// A connected server.
pub(super) struct Upstream {
    pub(super) name: Arc<str>,
    /// The prefix of the names of its tools and prompts. Empty if it is the only server.
    pub(super) prefix: String,
    pub(super) client: Client,
    pub(super) gate: Gate,
    /// The items that the server listed last.
    listed: Mutex<Arc<Items>>,
    followed: Mutex<HashMap<String, Subscription>>,
}

/// The items of a server, by the names that the proxy gives them.
#[derive(Clone, Debug, Default)]
pub(super) struct Items {
    pub(super) tools: BTreeMap<String, Tool>,
    pub(super) prompts: BTreeMap<String, Prompt>,
    pub(super) resources: BTreeMap<String, Resource>,
    pub(super) templates: BTreeMap<String, ResourceTemplate>,
}

impl Upstream {
    pub(super) fn new(name: Arc<str>, prefix: String, client: Client) -> Self {
        Self {
            name,
            prefix,
            client,
            gate: Gate::default(),
            listed: Mutex::default(),
            followed: Mutex::default(),
        }
    }

    /// Returns the items that the server listed last.
    pub(super) fn listed(&self) -> Arc<Items> {
        Arc::clone(&self.listed.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads the lists of the server. `is_shown` decides about tools by the names that the proxy
    /// gives them. A list that can't be read stays as it was, and is noted. Returns whether all
    /// lists were read.
    pub(super) fn read(&self, is_shown: impl Fn(&str) -> bool) -> bool {
        let before = self.listed();
        let capabilities = self.client.capabilities();
        let (has_tools, has_prompts) =
            (capabilities.tools.is_some(), capabilities.prompts.is_some());
        let has_resources = capabilities.resources.is_some();
        let prefixed = |own: &str| format!("{}{own}", self.prefix);
        let options = || CallOptions::new().bypass_cache();
        let tools = self.list(has_tools, "tools", || {
            self.client.list_tools_with(options())
        });
        let prompts = self.list(has_prompts, "prompts", || {
            self.client.list_prompts_with(options())
        });
        let resources = self.list(has_resources, "resources", || {
            self.client.list_resources_with(options())
        });
        let templates = self.list(has_resources, "resource templates", || {
            self.client.list_resource_templates_with(options())
        });
        let are_all_read =
            tools.is_some() && prompts.is_some() && resources.is_some() && templates.is_some();
        let named_tool = |mut tool: Tool| {
            // The proxy waits for tasks itself.
            tool.execution = None;
            let name = prefixed(&tool.name);
            is_shown(&name).then_some((name, tool))
        };
        let named_prompt = |prompt: Prompt| (prefixed(&prompt.name), prompt);
        let items = Items {
            tools: match tools {
                Some(tools) => tools.into_iter().filter_map(named_tool).collect(),
                None => before.tools.clone(),
            },
            prompts: match prompts {
                Some(prompts) => prompts.into_iter().map(named_prompt).collect(),
                None => before.prompts.clone(),
            },
            resources: match resources {
                Some(resources) => resources
                    .into_iter()
                    .map(|resource| (resource.uri.clone(), resource))
                    .collect(),
                None => before.resources.clone(),
            },
            templates: match templates {
                Some(templates) => templates
                    .into_iter()
                    .map(|template| (template.uri_template.clone(), template))
                    .collect(),
                None => before.templates.clone(),
            },
        };
        *self.listed.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(items);
        are_all_read
    }

    /// Reads a list. Returns `None` if it can't be read now.
    fn list<T>(
        &self,
        is_declared: bool,
        what: &str,
        read: impl FnOnce() -> mcplink::Result<Vec<T>>,
    ) -> Option<Vec<T>> {
        if !is_declared {
            return Some(Vec::new());
        }
        // Few servers have templates, and many refuse to list them.
        let is_missing = |error: &Error| {
            let rpc = error.rpc();
            rpc.is_some_and(|rpc| rpc.code == mcplink::ErrorCode::METHOD_NOT_FOUND)
        };
        match read() {
            Ok(list) => Some(list),
            Err(error) if is_missing(&error) => Some(Vec::new()),
            Err(error) => {
                let name = &self.name;
                note(&format!(
                    "mcplink: {name}: its {what} can't be listed: {error}"
                ));
                None
            }
        }
    }

    /// Subscribes to changes of the lists. Returns `None` if the server reports none.
    pub(super) fn subscribe(
        &self,
        on_event: impl Fn(Event) + Send + Sync + 'static,
    ) -> Option<Subscription> {
        let filter = SubscriptionFilter::default()
            .tools_list_changed(true)
            .prompts_list_changed(true)
            .resources_list_changed(true);
        match self.client.subscribe(filter, on_event) {
            Ok(subscription) => Some(subscription),
            Err(error) => {
                if error.kind() != ErrorKind::Unsupported && !self.client.is_closed() {
                    let name = &self.name;
                    note(&format!(
                        "mcplink: {name}: its changes are not seen: {error}"
                    ));
                }
                None
            }
        }
    }

    /// Follows the changes of a resource, from now to the end of the proxy.
    pub(super) fn follow(&self, uri: &str, on_update: impl Fn(&str) + Send + Sync + 'static) {
        let resources = self.client.capabilities().resources.as_ref();
        let can_subscribe = resources.is_some_and(|resources| resources.subscribe == Some(true));
        let is_full = || {
            let followed = self.followed.lock().unwrap_or_else(PoisonError::into_inner);
            followed.contains_key(uri) || followed.len() >= MAX_FOLLOWED
        };
        if !can_subscribe || is_full() {
            return;
        }
        let filter = SubscriptionFilter::default().resource_subscriptions(vec![uri.to_owned()]);
        let asked = uri.to_owned();
        let subscription = self.client.subscribe(filter, move |event| match event {
            Event::ResourceUpdated(uri) => on_update(&uri),
            // Changes may have been missed.
            Event::EverythingChanged => on_update(&asked),
            _ => {}
        });
        match subscription {
            Ok(subscription) => {
                let mut followed = self.followed.lock().unwrap_or_else(PoisonError::into_inner);
                followed.insert(uri.to_owned(), subscription);
            }
            Err(error) => {
                let name = &self.name;
                note(&format!("mcplink: {name}: {uri} is not followed: {error}"));
            }
        }
    }

    /// Returns the URIs of the resources whose changes the proxy follows.
    pub(super) fn all_followed(&self) -> Vec<String> {
        let followed = self.followed.lock().unwrap_or_else(PoisonError::into_inner);
        followed.keys().cloned().collect()
    }

    /// Follows a resource no longer.
    pub(super) fn unfollow(&self, uri: &str) {
        let mut followed = self.followed.lock().unwrap_or_else(PoisonError::into_inner);
        let subscription = followed.remove(uri);
        // The subscription ends without the lock.
        drop(followed);
        drop(subscription);
    }

    /// Whether the server lists this resource.
    pub(super) fn lists(&self, uri: &str) -> bool {
        self.listed().resources.contains_key(uri)
    }

    /// Whether the server may have this resource: it lists a resource or a template with the scheme
    /// of the URI.
    pub(super) fn may_have(&self, uri: &str) -> bool {
        let scheme = |uri: &str| uri.split(':').next().unwrap_or_default().to_owned();
        let (wanted, listed) = (scheme(uri), self.listed());
        let mut known = listed.resources.keys().chain(listed.templates.keys());
        known.any(|own| scheme(own) == wanted)
    }
}
