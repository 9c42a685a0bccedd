//! The joined lists of a group.

use std::sync::Arc;

use super::names::Kind;
use super::{Group, GroupFailure, Member};
use crate::client::call_options::CallOptions;
use crate::client::paging::ListPage;
use crate::client::prepared_call::{FirstStep, PreparedCall};
use crate::client::{Client, PendingCall};
use crate::error::{Error, ErrorKind, Result};
use crate::schema::{
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, Prompt,
    Resource, ResourceTemplate, Tool,
};

/// The joined list of a [`Group`]: the items of all servers that answered.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct GroupList<T> {
    /// The items, in the order of the servers. The items of one server have the order of its list.
    pub items: Vec<GroupItem<T>>,
    /// The servers that could not be listed, with their errors. A server without the capability for
    /// the list is no failure.
    pub failures: Vec<GroupFailure>,
}

/// An item of a [`GroupList`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct GroupItem<T> {
    /// The name of the server in the group.
    pub server: Arc<str>,
    /// The name of the item in the group: the name of a tool or a prompt, the URI of a resource, or
    /// the URI template of a resource template.
    pub name: String,
    /// The item as the server described it, with its own name.
    pub item: T,
}

/// A list that was requested from one server.
enum Started<P: ListPage> {
    Pending(PendingCall<Vec<P::Item>>),
    /// The first page is in the client's cache.
    Cached(Client, PreparedCall<Vec<P::Item>>),
}

impl<P: ListPage + 'static> Started<P>
where
    P::Item: Send,
{
    /// Requests the first page of a list.
    fn new(client: &Client, options: CallOptions<'_>) -> Result<Self> {
        if options.to_owned_options().is_none() {
            let text = "a list of a group has no progress callback";
            return Err(Error::new(ErrorKind::Invalid, text));
        }
        let prepared = client.prepare_list::<P, _>(None, &options, |items, _| Ok(items))?;
        Ok(match prepared.first {
            FirstStep::Cached => Self::Cached(client.clone(), prepared),
            _ => Self::Pending(client.start(prepared, options)?),
        })
    }

    /// Waits for the first page, and reads the other pages.
    fn finish(self, options: CallOptions<'_>) -> Result<Vec<P::Item>> {
        match self {
            Self::Pending(call) => call.wait(),
            Self::Cached(client, prepared) => prepared.make(&client, options),
        }
    }
}

impl Group {
    /// Lists the tools of all servers.
    ///
    /// The requests for the first pages are sent to all servers before this function waits for an
    /// answer. So one slow server does not delay the others. This function blocks until every
    /// server has answered or failed. For the cache and for invalid entries see
    /// [`Client::list_tools`].
    pub fn list_tools(&self) -> GroupList<Tool> {
        self.list_tools_with(CallOptions::new())
    }

    /// Lists the tools of all servers. The options apply to each request. A progress callback is
    /// not supported: each request fails with [`ErrorKind::Invalid`].
    pub fn list_tools_with(&self, options: CallOptions<'_>) -> GroupList<Tool> {
        self.list::<ListToolsResult>(Some(Kind::Tool), options, |tool| &tool.name)
    }

    /// Lists the prompts of all servers, as [`list_tools`](Self::list_tools) does for tools.
    pub fn list_prompts(&self) -> GroupList<Prompt> {
        self.list_prompts_with(CallOptions::new())
    }

    /// Lists the prompts of all servers, as [`list_tools_with`](Self::list_tools_with) does for
    /// tools.
    pub fn list_prompts_with(&self, options: CallOptions<'_>) -> GroupList<Prompt> {
        self.list::<ListPromptsResult>(Some(Kind::Prompt), options, |prompt| &prompt.name)
    }

    /// Lists the resources of all servers, as [`list_tools`](Self::list_tools) does for tools.
    pub fn list_resources(&self) -> GroupList<Resource> {
        self.list_resources_with(CallOptions::new())
    }

    /// Lists the resources of all servers, as [`list_tools_with`](Self::list_tools_with) does for
    /// tools.
    pub fn list_resources_with(&self, options: CallOptions<'_>) -> GroupList<Resource> {
        self.list::<ListResourcesResult>(Some(Kind::Resource), options, |resource| &resource.uri)
    }

    /// Lists the resource templates of all servers, as [`list_tools`](Self::list_tools) does for
    /// tools.
    pub fn list_resource_templates(&self) -> GroupList<ResourceTemplate> {
        self.list_resource_templates_with(CallOptions::new())
    }

    /// Lists the resource templates of all servers, as [`list_tools_with`](Self::list_tools_with)
    /// does for tools.
    pub fn list_resource_templates_with(
        &self,
        options: CallOptions<'_>,
    ) -> GroupList<ResourceTemplate> {
        self.list::<ListResourceTemplatesResult>(None, options, |template| &template.uri_template)
    }

    /// Lists the items of all servers. `kind` is the kind of the items, or `None` if no calls are
    /// routed by their names.
    fn list<P: ListPage + 'static>(
        &self,
        kind: Option<Kind>,
        mut options: CallOptions<'_>,
        own_name: impl Fn(&P::Item) -> &str,
    ) -> GroupList<P::Item>
    where
        P::Item: Send,
    {
        let members = self.members();
        let start = |member: &Arc<Member>| Started::<P>::new(&member.client, options.for_one());
        // Collected, so that every request is sent before the first answer is waited for.
        let started: Vec<_> = members.iter().map(start).collect();
        let (mut lists, mut failures) = (Vec::new(), Vec::new());
        for (member, list) in members.iter().zip(started) {
            match list.and_then(|list| list.finish(options.for_one())) {
                Ok(items) => {
                    if let Some(kind) = kind {
                        let names = items.iter().map(|item| own_name(item).to_owned());
                        member.note(kind, names.collect());
                    }
                    lists.push((member, items));
                }
                Err(error) if error.kind() == ErrorKind::Unsupported => {}
                Err(error) => failures.push(GroupFailure {
                    server: Arc::clone(&member.name),
                    error,
                }),
            }
        }
        // The names of all servers are known now, so clashes can be found.
        let mut items = Vec::new();
        for (member, list) in lists {
            items.extend(list.into_iter().map(|item| {
                let own = own_name(&item);
                let name = match kind {
                    Some(kind) => self.name_of(&members, member, kind, own),
                    None => own.to_owned(),
                };
                GroupItem {
                    server: Arc::clone(&member.name),
                    name,
                    item,
                }
            }));
        }
        GroupList { items, failures }
    }
}
