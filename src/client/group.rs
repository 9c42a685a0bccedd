//! Several servers used as one: joined lists, routed calls, and one stream of events.
//!
//! A [`Group`] holds connected clients. The group only chooses the client of a call. The options,
//! errors and results of the call are those of [`Client`].

pub(super) mod listing;
mod names;
mod routing;

use std::fmt;
use std::sync::Arc;
use std::thread::JoinHandle;

use crossbeam_channel::Receiver;
use serde::Serialize;

pub use self::names::GroupNames;
#[cfg(feature = "cffi")]
pub(crate) use self::names::Kind as GroupItemKind;
use self::names::{Kind, Listed};
use super::event::Event;
use super::subscription::{Subscription, into_channel};
use super::{CallOptions, Client, ClientBuilder, Config, PendingCall, ServerConfig};
use crate::error::{Error, ErrorKind, Excerpt, Result};
use crate::schema::{CallToolResult, GetPromptResult, ReadResourceResult, SubscriptionFilter};
use crate::sync::Mutex;
use crate::transport::{Stack, Threads};

/// Several servers used as one; thread-safe.
///
/// Each server has a name in the group. The group knows a tool or a prompt by the name of its
/// server and its own name: the tool `read` of the server `files` is `files__read`. See
/// [`GroupNames`] for the rule.
///
/// A failure of one server does not affect the others. Lists contain the items of the servers that
/// answered, and the failures of the others. [`ClientBuilder::restart`] restarts each server by
/// itself.
///
/// Clones are handles to the same group. Dropping the last handle drops the group's clients.
///
/// # Examples
///
/// ```
/// use mcplink::client::{Client, Group};
/// use mcplink::server::Server;
/// use mcplink::transport::memory;
/// use serde_json::json;
///
/// let group = Group::new();
/// let mut serving = Vec::new();
/// for name in ["red", "green"] {
///     let server = Server::builder(name, "1.0")
///         .tool_with(mcplink::schema::Tool::new("color"), move |_: serde_json::Value, _| name)
///         .build()?;
///     let (here, there) = memory::pair();
///     serving.push(server.open(there)?);
///     group.add(name, Client::connect(here)?)?;
/// }
/// let tools = group.list_tools();
/// let names: Vec<_> = tools.items.iter().map(|tool| tool.name.as_str()).collect();
/// assert_eq!(names, ["red__color", "green__color"]);
/// let result = group.call_tool("green__color", &json!({}))?;
/// assert_eq!(result.content[0].as_text(), Some("green"));
/// # Ok::<(), mcplink::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct Group(Arc<Inner>);

#[derive(Default)]
struct Inner {
    names: GroupNames,
    // The lock is held only to read or change the list. Clients are called and dropped without it.
    members: Mutex<Vec<Arc<Member>>>,
}

/// A server of a group.
struct Member {
    name: Arc<str>,
    /// The name as a prefix of tool and prompt names, with the separator.
    prefix: String,
    client: Client,
    /// The names that the server listed last.
    listed: Mutex<Listed>,
}

/// The failure of one server of a [`Group`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct GroupFailure {
    /// The name of the server in the group.
    pub server: Arc<str>,
    /// The error of that server's client.
    pub error: Error,
}

/// Writes the name of the server and the error. `{:#}` also writes the lines that `{:#}` of an
/// [`Error`] writes.
impl fmt::Display for GroupFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", Excerpt(&self.server))?;
        self.error.fmt(f)
    }
}

/// An event of one server of a [`Group`]: see [`Group::subscribe_channel`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GroupEvent {
    /// The name of the server in the group.
    pub server: Arc<str>,
    /// The event of that server's subscription.
    pub event: Event,
}

/// The subscriptions to the servers of a [`Group`]. Dropping the handle ends all of them.
#[must_use = "dropping it ends the subscriptions"]
#[derive(Debug)]
pub struct GroupSubscription {
    subscriptions: Vec<(Arc<str>, Subscription)>,
    failures: Vec<GroupFailure>,
}

impl GroupSubscription {
    /// Returns the subscription to a server. Returns `None` if the server was not in the group when
    /// the subscription was opened, or if the server refused.
    pub fn server(&self, name: &str) -> Option<&Subscription> {
        let found = self
            .subscriptions
            .iter()
            .find(|(server, _)| **server == *name);
        found.map(|(_, subscription)| subscription)
    }

    /// Returns the servers that did not agree to a subscription, with their errors.
    pub fn failures(&self) -> &[GroupFailure] {
        &self.failures
    }
}

impl Group {
    /// Creates a group without servers, in which every name has a prefix.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a group without servers, with a rule for names.
    pub fn with_names(names: GroupNames) -> Self {
        let members = Mutex::default();
        Self(Arc::new(Inner { names, members }))
    }

    /// Adds a connected server to the group.
    ///
    /// The name becomes the prefix of the server's tools and prompts. In the prefix, an underscore
    /// replaces each character that is not an ASCII letter, a digit, `-` or `_`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] if the name is empty, or if its prefix is the beginning of the prefix
    /// of another server or the reverse. A prefixed name would then have two meanings.
    pub fn add(&self, name: &str, client: Client) -> Result<()> {
        let prefix = names::prefix(name)?;
        let member = Arc::new(Member {
            name: name.into(),
            prefix,
            client,
            listed: Mutex::default(),
        });
        let mut members = self.0.members.lock();
        let others = members.iter().map(|other| (&*other.name, &*other.prefix));
        names::check_prefix(name, &member.prefix, others)?;
        members.push(member);
        Ok(())
    }

    /// Connects to all enabled servers of a configuration at once, and adds the connected servers.
    /// Returns the servers that could not be added, with their errors.
    ///
    /// `builder` is called on this thread, for each server. It may set what all servers have in
    /// common, such as [`ClientBuilder::restart`]. Each server is connected on a thread of its own.
    /// This function blocks until each server is connected or has failed. So it takes as long as
    /// the slowest server, at most [`ClientBuilder::connect_timeout`].
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use mcplink::client::{Client, Config, Group, Restart};
    ///
    /// # fn main() -> mcplink::Result<()> {
    /// let group = Group::new();
    /// let failures = group.connect(&Config::read(".mcp.json")?, |_server| {
    ///     Client::builder("my-host", "1.0").restart(Restart::new())
    /// });
    /// for failure in failures {
    ///     eprintln!("{failure}");
    /// }
    /// println!("{} tools", group.list_tools().items.len());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use = "the servers in the result are missing from the group"]
    pub fn connect(
        &self,
        config: &Config,
        mut builder: impl FnMut(&ServerConfig) -> ClientBuilder,
    ) -> Vec<GroupFailure> {
        let (mut failures, mut jobs) = (Vec::new(), Vec::new());
        for server in config
            .servers()
            .iter()
            .filter(|server| !server.is_disabled())
        {
            let name = Arc::from(server.name());
            // A server whose name can't be used is not started.
            if let Err(error) = self.check_name(&name) {
                failures.push(GroupFailure {
                    server: name,
                    error,
                });
                continue;
            }
            let (server, builder) = (server.clone(), builder(server));
            let threads = builder.settings.threads.clone();
            jobs.push(Job {
                server: name,
                threads,
                work: Box::new(move || server.connect(builder)),
            });
        }
        for (server, connected) in run_each(jobs) {
            let added = connected.and_then(|client| self.add(&server, client));
            if let Err(error) = added {
                failures.push(GroupFailure { server, error });
            }
        }
        failures
    }

    fn check_name(&self, name: &str) -> Result<()> {
        let prefix = names::prefix(name)?;
        let members = self.0.members.lock();
        let others = members.iter().map(|other| (&*other.name, &*other.prefix));
        names::check_prefix(name, &prefix, others)
    }

    /// Removes a server from the group, and returns its client. Calls that are in flight continue.
    /// Returns `None` if the group has no server with this name.
    pub fn remove(&self, name: &str) -> Option<Client> {
        let mut members = self.0.members.lock();
        let index = members.iter().position(|member| *member.name == *name)?;
        let member = members.remove(index);
        drop(members);
        Some(member.client.clone())
    }

    /// Returns the client of a server, for methods that the group does not have. Returns `None` if
    /// the group has no server with this name.
    pub fn client(&self, name: &str) -> Option<Client> {
        let members = self.members();
        let member = members.iter().find(|member| *member.name == *name)?;
        Some(member.client.clone())
    }

    /// Returns the prefix of the tools and prompts of a server, such as `files__`. Returns `None`
    /// if the group has no server with this name.
    pub fn prefix(&self, name: &str) -> Option<String> {
        let members = self.members();
        let member = members.iter().find(|member| *member.name == *name)?;
        Some(member.prefix.clone())
    }

    /// Returns the names of the servers, in the order in which they were added.
    pub fn servers(&self) -> Vec<Arc<str>> {
        let members = self.members();
        let names = members.iter().map(|member| Arc::clone(&member.name));
        names.collect()
    }

    fn members(&self) -> Vec<Arc<Member>> {
        self.0.members.lock().clone()
    }

    /// Returns the client of a tool, and the tool's own name. With them, every method of [`Client`]
    /// can be used for the tool.
    ///
    /// With [`GroupNames::Prefixed`], this function checks only the prefix, and not whether the
    /// server has the tool. With [`GroupNames::PrefixedOnClash`], this function lists the tools if
    /// the name has no prefix and was not in a list before. Then it blocks as
    /// [`list_tools`](Self::list_tools) does.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] if the name has no prefix of a server, and is not the name of a tool
    /// of exactly one server (with [`GroupNames::PrefixedOnClash`]).
    pub fn find_tool(&self, name: &str) -> Result<(Client, String)> {
        self.find(Kind::Tool, name)
    }

    /// Returns the client of a prompt, and the prompt's own name, as
    /// [`find_tool`](Self::find_tool) does for tools.
    ///
    /// # Errors
    ///
    /// The errors of [`find_tool`](Self::find_tool).
    pub fn find_prompt(&self, name: &str) -> Result<(Client, String)> {
        self.find(Kind::Prompt, name)
    }

    /// Returns the client of the server that lists a resource. If no server lists the resource, and
    /// only one server of the group has resources, returns the client of that server.
    ///
    /// This function lists the resources if the URI was not in a list before. Then it blocks as
    /// [`list_resources`](Self::list_resources) does. A resource of a template is often in no list:
    /// then use the [client](Self::client) of the server that named the URI.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] if more than one server lists the resource, or if no server lists it
    /// and several servers have resources.
    pub fn find_resource(&self, uri: &str) -> Result<Client> {
        self.find(Kind::Resource, uri).map(|(client, _)| client)
    }

    /// Calls a tool of a server of the group, as [`Client::call_tool`] does.
    ///
    /// # Errors
    ///
    /// The errors of [`find_tool`](Self::find_tool) and of [`Client::call_tool`].
    pub fn call_tool(&self, name: &str, arguments: &impl Serialize) -> Result<CallToolResult> {
        self.call_tool_with(name, arguments, CallOptions::new())
    }

    /// Calls a tool with options, as [`Client::call_tool_with`] does.
    ///
    /// # Errors
    ///
    /// The errors of [`find_tool`](Self::find_tool) and of [`Client::call_tool_with`].
    pub fn call_tool_with(
        &self,
        name: &str,
        arguments: &impl Serialize,
        options: CallOptions<'_>,
    ) -> Result<CallToolResult> {
        let (client, own) = self.find_tool(name)?;
        client.call_tool_with(&own, arguments, options)
    }

    /// Starts a tool call without waiting for its result, as [`Client::start_tool`] does. One
    /// thread can have calls of many servers in flight.
    ///
    /// # Errors
    ///
    /// The errors of [`find_tool`](Self::find_tool) and of [`Client::start_tool`].
    pub fn start_tool(
        &self,
        name: &str,
        arguments: &impl Serialize,
        options: CallOptions<'_>,
    ) -> Result<PendingCall<CallToolResult>> {
        let (client, own) = self.find_tool(name)?;
        client.start_tool(&own, arguments, options)
    }

    /// Gets a prompt of a server of the group, as [`Client::get_prompt_with`] does.
    ///
    /// # Errors
    ///
    /// The errors of [`find_prompt`](Self::find_prompt) and of [`Client::get_prompt_with`].
    pub fn get_prompt(
        &self,
        name: &str,
        arguments: &[(&str, &str)],
        options: CallOptions<'_>,
    ) -> Result<GetPromptResult> {
        let (client, own) = self.find_prompt(name)?;
        client.get_prompt_with(&own, arguments, options)
    }

    /// Reads a resource of a server of the group, as [`Client::read_resource_with`] does.
    ///
    /// # Errors
    ///
    /// The errors of [`find_resource`](Self::find_resource) and of [`Client::read_resource_with`].
    pub fn read_resource(&self, uri: &str, options: CallOptions<'_>) -> Result<ReadResourceResult> {
        self.find_resource(uri)?.read_resource_with(uri, options)
    }

    /// Subscribes to changes on all servers of the group. The events go to one channel.
    ///
    /// Each server gets the same filter, and agrees to the part that it supports: see
    /// [`GroupSubscription::server`]. A server that is added later is not part of the subscription.
    /// Each subscription is opened on a thread of its own. This function blocks until every server
    /// has agreed or failed. The channel is bounded like the channel of
    /// [`Client::subscribe_channel`]; all servers share the bound.
    pub fn subscribe_channel(
        &self,
        filter: &SubscriptionFilter,
        options: &CallOptions<'_>,
    ) -> (GroupSubscription, Receiver<GroupEvent>) {
        let (sender, events) = crossbeam_channel::unbounded();
        let options = options.to_owned_options();
        let jobs = self.members().into_iter().map(|member| {
            let server = Arc::clone(&member.name);
            let wrap = move |event| GroupEvent {
                server: Arc::clone(&server),
                event,
            };
            let on_event = into_channel(sender.clone(), wrap);
            let (filter, options) = (filter.clone(), options.clone());
            let client = member.client.clone();
            Job {
                server: Arc::clone(&member.name),
                threads: client.0.supervisor.settings().threads.clone(),
                work: Box::new(move || {
                    let Some(options) = options else {
                        let text = "a subscription of a group has no progress callback";
                        return Err(Error::new(ErrorKind::Invalid, text));
                    };
                    client.subscribe_with(filter, options.after(Default::default()), on_event)
                }),
            }
        });
        let (mut subscriptions, mut failures) = (Vec::new(), Vec::new());
        for (server, opened) in run_each(jobs.collect()) {
            match opened {
                Ok(subscription) => subscriptions.push((server, subscription)),
                Err(error) => failures.push(GroupFailure { server, error }),
            }
        }
        let subscription = GroupSubscription {
            subscriptions,
            failures,
        };
        (subscription, events)
    }

    /// Closes the connections to all servers at once, and removes the servers from the group.
    /// Blocks until the slowest [`Client::close`] has returned.
    pub fn close(&self) {
        let members = std::mem::take(&mut *self.0.members.lock());
        let jobs = members.into_iter().map(|member| Job {
            server: Arc::clone(&member.name),
            threads: member.client.0.supervisor.settings().threads.clone(),
            work: Box::new(move || {
                member.client.close();
                Ok(())
            }),
        });
        drop(run_each(jobs.collect()));
    }
}

impl fmt::Debug for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Group")
            .field("names", &self.0.names)
            .field("servers", &self.servers())
            .finish()
    }
}

/// Blocking work for one server of a group.
struct Job<T> {
    server: Arc<str>,
    threads: Threads,
    work: Box<dyn FnOnce() -> Result<T> + Send>,
}

/// Runs each job on a thread of its own. Blocks until all jobs have ended. Returns the results in
/// the order of the jobs.
fn run_each<T: Send + 'static>(jobs: Vec<Job<T>>) -> Vec<(Arc<str>, Result<T>)> {
    type Running<T> = (JoinHandle<()>, Arc<Mutex<Option<Result<T>>>>);
    let start = |job: Job<T>| -> (Arc<str>, Result<Running<T>>) {
        let result = Arc::new(Mutex::new(None));
        let (slot, work) = (Arc::clone(&result), job.work);
        let run = move || {
            let done = work();
            *slot.lock() = Some(done);
        };
        let thread = job.threads.start("group", Stack::Large, run);
        (job.server, thread.map(|thread| (thread, result)))
    };
    // All threads are started before the first one is joined.
    let started: Vec<_> = jobs.into_iter().map(start).collect();
    let finish = |(server, running): (Arc<str>, Result<Running<T>>)| {
        let result = running.and_then(|(thread, result)| {
            // A panic was already reported, and left no result.
            _ = thread.join();
            result.lock().take().unwrap_or_else(|| {
                let text = "code of the host panicked on a thread of a group";
                Err(Error::new(ErrorKind::Io, text))
            })
        });
        (server, result)
    };
    started.into_iter().map(finish).collect()
}
