//! A server behind the proxy: its connection, and what it lists.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::{Duration, Instant};

use mcplink::client::{CallOptions, Client, Event, Subscription};
use mcplink::schema::{
    Prompt, Resource, ResourceTemplate, ServerCapabilities, SubscriptionFilter, Tool,
};
use mcplink::transport::Transport;
use mcplink::{Error, ErrorKind};

use super::gate::Gate;
use super::inputs::{Common, Inputs, with_tasks};
use super::names;
use crate::print::note;

/// The largest number of resources of one server whose changes the proxy follows.
const MAX_FOLLOWED: usize = 1024;

/// How long calls wait for a server whose connection is lost.
const LOST_FOR: Duration = Duration::from_secs(10);

/// What happens at a server.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    /// The lists may have changed.
    Lists,
    /// The server was opened anew.
    Opened,
    /// The roots of the client have changed.
    Roots,
    /// A subscription has ended.
    Ended,
    /// The connection has ended for good.
    Closed,
    /// Another instance of a published program may be in use.
    Instances,
}

/// Whether the connection to a server is lost: since when, and with which error.
#[derive(Default)]
pub(super) struct Link(Mutex<Option<(Instant, String)>>);

impl Link {
    fn state(&self) -> MutexGuard<'_, Option<(Instant, String)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that the connection is lost, or that an attempt to restore it has failed. Returns
    /// whether calls have waited long enough.
    pub(super) fn is_lost(&self, error: &Error) -> bool {
        let now = Instant::now();
        let mut state = self.state();
        let since = state.as_ref().map_or(now, |(since, _)| *since);
        *state = Some((since, error.to_string()));
        now.saturating_duration_since(since) >= LOST_FOR
    }

    pub(super) fn is_restored(&self) {
        *self.state() = None;
    }

    /// Returns the error with which the connection was lost, if calls no longer wait for it.
    pub(super) fn error(&self) -> Option<String> {
        let state = self.state();
        let (since, error) = state.as_ref()?;
        (since.elapsed() >= LOST_FOR).then(|| error.clone())
    }
}

/// A subscription that tells when it has ended.
pub(super) struct Followed {
    _subscription: Subscription,
    has_ended: Arc<AtomicBool>,
}

impl Followed {
    pub(super) fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Acquire)
    }
}

/// A connection to a server.
pub(super) struct Connection {
    pub(super) client: Client,
    pub(super) link: Arc<Link>,
    /// The inputs that the client declared when it was connected.
    pub(super) inputs: Inputs,
}

/// A server. Its connection may come and go.
pub(super) struct Upstream {
    pub(super) name: Arc<str>,
    /// The prefix of the names of its tools and prompts. Empty if it is the only server.
    pub(super) prefix: String,
    connection: Mutex<Option<Arc<Connection>>>,
    /// The transport of the next connection, if the server can be opened anew. The lock is held
    /// while it is.
    pub(super) again: Mutex<Option<Box<dyn Transport>>>,
    pub(super) common: Common,
    pub(super) gate: Gate,
    /// The items that the server listed last.
    listed: Mutex<Arc<Items>>,
    pub(super) changed: mpsc::Sender<Change>,
    /// The resources whose changes clients want. `None` while they are not followed, because the
    /// server is not connected.
    followed: Mutex<HashMap<String, Option<Followed>>>,
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
    pub(super) fn new(
        name: Arc<str>,
        prefix: String,
        connection: Option<Connection>,
        again: Option<Box<dyn Transport>>,
        expected: Inputs,
        changed: mpsc::Sender<Change>,
    ) -> Self {
        Self {
            name,
            prefix,
            connection: Mutex::new(connection.map(Arc::new)),
            again: Mutex::new(again),
            common: Common::new(expected),
            gate: Gate::default(),
            listed: Mutex::default(),
            changed,
            followed: Mutex::default(),
        }
    }

    /// Returns the latest connection.
    pub(super) fn connection(&self) -> Option<Arc<Connection>> {
        let connection = self.connection.lock();
        connection.unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn client(&self) -> Option<Client> {
        Some(self.connection()?.client.clone())
    }

    /// Whether there is no connection, or it has ended for good.
    pub(super) fn has_ended(&self) -> bool {
        self.client().is_none_or(|client| client.is_closed())
    }

    /// Returns the capabilities of the server, if it is connected.
    pub(super) fn capabilities(&self) -> Option<ServerCapabilities> {
        Some(self.client()?.capabilities().clone())
    }

    /// Replaces the connection. The earlier one ends with its last call.
    pub(super) fn replace(&self, connection: Option<Arc<Connection>>) {
        let current = self.connection.lock();
        let mut current = current.unwrap_or_else(PoisonError::into_inner);
        let earlier = std::mem::replace(&mut *current, connection);
        // It is dropped without the lock.
        drop(current);
        drop(earlier);
    }

    /// Reports a change to the thread of the server.
    pub(super) fn note(&self, change: Change) {
        // The thread has ended if the server can't be used any more.
        _ = self.changed.send(change);
    }

    /// Returns the items that the server listed last.
    pub(super) fn listed(&self) -> Arc<Items> {
        Arc::clone(&self.listed.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn set_listed(&self, items: Items) {
        *self.listed.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(items);
    }

    /// Reads the lists of the server. `is_shown` decides about tools by the names that the proxy
    /// gives them. A list that can't be read stays as it was, and is noted. Returns whether all
    /// lists were read. Without a connection nothing is read.
    pub(super) fn read(&self, inputs: Inputs, is_shown: impl Fn(&str) -> bool) -> bool {
        let (before, Some(client)) = (self.listed(), self.client()) else {
            return true;
        };
        let capabilities = client.capabilities();
        let (has_tools, has_prompts) =
            (capabilities.tools.is_some(), capabilities.prompts.is_some());
        let has_resources = capabilities.resources.is_some();
        let prefixed = |own: &str| names::prefixed(&self.prefix, own);
        let options = || {
            let options = CallOptions::new().bypass_cache();
            options.client_capabilities(with_tasks(inputs.capabilities()))
        };
        let tools = self.list(has_tools, "tools", || client.list_tools_with(options()));
        let prompts = self.list(has_prompts, "prompts", || {
            client.list_prompts_with(options())
        });
        let resources = self.list(has_resources, "resources", || {
            client.list_resources_with(options())
        });
        let templates = self.list(has_resources, "resource templates", || {
            client.list_resource_templates_with(options())
        });
        let are_all_read =
            tools.is_some() && prompts.is_some() && resources.is_some() && templates.is_some();
        let named_tool = |mut tool: Tool| {
            // The proxy waits for tasks itself.
            tool.execution = None;
            let name = names::of_tool(&self.prefix, &tool.name);
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
        self.set_listed(items);
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

    /// Subscribes, and reports the end of the subscription.
    fn open(
        &self,
        client: &Client,
        filter: SubscriptionFilter,
        on_event: impl Fn(Event) + Send + Sync + 'static,
    ) -> mcplink::Result<Followed> {
        let (has_ended, changed) = (Arc::new(AtomicBool::new(false)), self.changed.clone());
        let ended = Arc::clone(&has_ended);
        let subscription = client.subscribe(filter, move |event| match event {
            Event::Ended { .. } => {
                ended.store(true, Ordering::Release);
                // The receiver is there as long as the thread of the server is.
                _ = changed.send(Change::Ended);
            }
            event => on_event(event),
        })?;
        Ok(Followed {
            _subscription: subscription,
            has_ended,
        })
    }

    /// Subscribes to changes of the lists. Returns `None` if the server reports none.
    pub(super) fn subscribe(&self) -> mcplink::Result<Option<Followed>> {
        let Some(client) = self.client() else {
            return Ok(None);
        };
        let filter = SubscriptionFilter::default()
            .tools_list_changed(true)
            .prompts_list_changed(true)
            .resources_list_changed(true);
        let changed = self.changed.clone();
        let opened = self.open(&client, filter, move |_| {
            // The receiver is there as long as the thread of the server is.
            _ = changed.send(Change::Lists);
        });
        let error = match opened {
            Ok(followed) => return Ok(Some(followed)),
            Err(error) => error,
        };
        if error.kind() != ErrorKind::Unsupported && !client.is_closed() {
            let name = &self.name;
            note(&format!(
                "mcplink: {name}: its changes are not seen: {error}"
            ));
        }
        match error.kind() {
            // Further attempts have the same outcome.
            ErrorKind::Unsupported | ErrorKind::Peer => Ok(None),
            _ => Err(error),
        }
    }

    /// Follows the changes of a resource, from now on.
    pub(super) fn follow(&self, uri: &str, on_update: impl Fn(&str) + Send + Sync + 'static) {
        let Some(client) = self.client() else {
            if self.has_place_for(uri) {
                // It is followed when the server is connected.
                self.followed().insert(uri.to_owned(), None);
            }
            return;
        };
        let resources = client.capabilities().resources.as_ref();
        let can_subscribe = resources.is_some_and(|resources| resources.subscribe == Some(true));
        if !can_subscribe || !self.has_place_for(uri) {
            return;
        }
        let filter = SubscriptionFilter::default().resource_subscriptions(vec![uri.to_owned()]);
        let asked = uri.to_owned();
        let followed = self.open(&client, filter, move |event| match event {
            Event::ResourceUpdated(uri) => on_update(&uri),
            // Changes may have been missed.
            Event::EverythingChanged => on_update(&asked),
            _ => {}
        });
        match followed {
            Ok(new) => {
                let earlier = self.followed().insert(uri.to_owned(), Some(new));
                // It is dropped without the lock.
                drop(earlier);
            }
            Err(error) => {
                let name = &self.name;
                note(&format!("mcplink: {name}: {uri} is not followed: {error}"));
            }
        }
    }

    fn followed(&self) -> MutexGuard<'_, HashMap<String, Option<Followed>>> {
        self.followed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a resource is not followed yet, and can be followed.
    fn has_place_for(&self, uri: &str) -> bool {
        let followed = self.followed();
        if let Some(known) = followed.get(uri) {
            return known.as_ref().is_none_or(Followed::has_ended);
        }
        let is_full = followed.len() >= MAX_FOLLOWED;
        if is_full {
            let name = &self.name;
            note(&format!(
                "mcplink: {name}: {uri} is not followed: {MAX_FOLLOWED} resources are"
            ));
        }
        !is_full
    }

    /// Returns the URIs of the resources whose subscription has ended.
    pub(super) fn all_ended(&self) -> Vec<String> {
        let followed = self.followed();
        let has_ended = |followed: &Option<_>| followed.as_ref().is_some_and(Followed::has_ended);
        let ended = followed.iter().filter(|(_, followed)| has_ended(followed));
        ended.map(|(uri, _)| uri.clone()).collect()
    }

    /// Returns the URIs of the resources whose changes the proxy follows.
    pub(super) fn all_followed(&self) -> Vec<String> {
        self.followed().keys().cloned().collect()
    }

    /// Ends the subscriptions to resources until the server is connected again.
    pub(super) fn pause_followed(&self) {
        let mut followed = self.followed();
        let ended: Vec<Option<Followed>> = followed.values_mut().map(Option::take).collect();
        drop(followed);
        // The subscriptions end without the lock.
        drop(ended);
    }

    /// Follows a resource no longer.
    pub(super) fn unfollow(&self, uri: &str) {
        let followed = self.followed().remove(uri);
        // The subscription ends without the lock.
        drop(followed);
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
