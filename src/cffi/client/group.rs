//! Groups: several servers used as one.

use std::ffi::c_char;
use std::sync::{Arc, Weak};

use serde::Serialize;
use serde_json::{Value, json};

use super::call_options::{copied, mcplink_call_options_t};
use super::shared::{Shared, mcplink_client_t};
use crate::cffi::arg;
use crate::cffi::arg::invalid;
use crate::cffi::entry::{Outcome, ffi, value};
use crate::cffi::error::mcplink_error_t;
use crate::cffi::failure::Failure;
use crate::cffi::handle::{Gate, Handled, enter, entering, free_handle, into_raw, slots, visit};
use crate::cffi::json::{Document, mcplink_json_t};
use crate::cffi::server::{list_of, mcplink_primitive};
use crate::cffi::status::{mcplink_status, mcplink_status_t};
use crate::cffi::text::{Text, mcplink_str_t, missing, name};
use crate::client::{CallOptions, Group, GroupItemKind, GroupList};
use crate::error::{Error, ErrorKind, Excerpt, Result};
use crate::server::List;
use crate::sync::Mutex;

/// Several servers used as one: joined lists, and names that tell the servers apart. Thread-safe.
///
/// Each server has a name in the group. The group knows a tool or a prompt by the name of its
/// server and its own name: the tool "read" of the server "files" is "files__read". Resources keep
/// their URIs. A call is made with the client that mcplink_group_find returns.
///
/// The clients remain the caller's. Their callbacks receive events and requests as before.
pub struct mcplink_group_t {
    gate: Gate,
    group: Group,
    /// The servers of `group`. Both change under this lock, so they never differ.
    servers: Mutex<Vec<Server>>,
}

/// A server of a group.
struct Server {
    name: String,
    /// The prefix of the server's names, as C reads it.
    prefix: Text,
    /// The handle of the client. It is stale once the host has freed the client.
    client: *mut mcplink_client_t,
    shared: Weak<Shared>,
}

// SAFETY: the handle of a client may be used by any thread. Functions that receive a stale handle
// fail.
unsafe impl Send for Server {}

handle!(mcplink_group_t is Group);

impl Handled for mcplink_group_t {
    /// Does nothing: the clients remain the caller's.
    fn close(&self) {}
}

impl mcplink_group_t {
    /// Fails if this thread runs the handlers of a client for requests from its server. Waiting
    /// here for a server could then wait for this thread.
    fn check_thread(&self) -> Result<()> {
        let servers = self.servers.lock();
        let clients = servers.iter().filter_map(|server| server.shared.upgrade());
        let clients: Vec<_> = clients.collect();
        drop(servers);
        let mut clients = clients.iter();
        if clients.any(|shared| shared.hooks.has_questions() && shared.stage.is_home()) {
            let text =
                "this thread runs the handlers of a client, which waiting would keep from running";
            return Err(Error::new(ErrorKind::State, text));
        }
        Ok(())
    }

    fn list(&self, list: List, options: CallOptions<'_>) -> Outcome<Document> {
        let group = &self.group;
        let list = match list {
            List::Tools => written(group.list_tools_with(options)),
            List::Prompts => written(group.list_prompts_with(options)),
            List::Resources => written(group.list_resources_with(options)),
            _ => written(group.list_resource_templates_with(options)),
        };
        Ok(Document::parse(&list.to_string())?)
    }

    fn find(&self, kind: GroupItemKind, name: &str) -> Outcome<(*mut mcplink_client_t, usize)> {
        if kind == GroupItemKind::Resource {
            self.check_thread()?;
        }
        let (server, own) = self.group.find_server(kind, name)?;
        let servers = self.servers.lock();
        let known = servers.iter().find(|known| *known.name == *server);
        // SAFETY: the handle is one of this library, perhaps a stale one.
        let known = known.filter(|known| unsafe { slots::peek(known.client, |_| ()) }.is_ok());
        match known {
            Some(known) => Ok((known.client, name.len() - own.len())),
            None => {
                let text = format!("the client of the server '{}' was freed", Excerpt(&server));
                Err(Error::new(ErrorKind::Closed, text).into())
            }
        }
    }
}

fn written<T: Serialize>(list: GroupList<T>) -> Value {
    let items = list.items.into_iter();
    let items = items.map(|it| json!({ "server": &*it.server, "name": it.name, "item": it.item }));
    let failures = list.failures.into_iter().map(|it| {
        let failure = Failure::from(it.error);
        json!({ "server": &*it.server, "status": failure.code(), "message": failure.to_string() })
    });
    json!({ "items": items.collect::<Vec<_>>(), "failures": failures.collect::<Vec<_>>() })
}

/// Makes a group without servers.
///
/// Returns: the group. The caller owns it and frees it with mcplink_group_free. NULL after an
/// internal error.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn mcplink_group_new() -> *mut mcplink_group_t {
    value(std::ptr::null_mut(), || {
        into_raw(mcplink_group_t {
            gate: Gate::new(),
            group: Group::new(),
            servers: Mutex::default(),
        })
    })
}

fallible! {
    enter(group: *mut mcplink_group_t);

    /// Adds a server to the group.
    ///
    /// server: the name of the server in the group, which becomes the prefix of its tools and
    /// prompts. In the prefix, "_" replaces each character that is not an ASCII letter, a digit,
    /// "-" or "_".
    /// client: the client, which is connected. It remains the caller's. If it is freed before it is
    /// removed from the group, the group reports MCPLINK_E_CLOSED for its names.
    /// Returns: MCPLINK_OK; MCPLINK_E_INVALID also when the prefix is the beginning of the prefix
    /// of another server or the reverse; MCPLINK_E_STATE while the client is being connected.
    fn mcplink_group_add(server: *const c_char, client: *mut mcplink_client_t) {
        let (name, handle) = (name(server, "server")?, client);
        let client = enter(client, "client")?;
        let connected = client.client()?.clone();
        let mut servers = group.servers.lock();
        group.group.add(name, connected)?;
        servers.push(Server {
            name: name.to_owned(),
            prefix: group.group.prefix(name).unwrap_or_default().into(),
            client: handle,
            shared: Arc::downgrade(&client.shared),
        });
    }

    /// Lists the tools, prompts, resources or resource templates of all servers. A server that
    /// fails does not affect the others. A server without such a list is no failure.
    ///
    /// The requests are sent to all servers before the function waits for an answer. For a list
    /// that does not block, use mcplink_client_list_tools_start of each client, and
    /// mcplink_group_prefix.
    ///
    /// list: the list.
    /// options: the options of each request; NULL for the defaults of each client. Progress is not
    /// reported.
    /// out: receives {"items":[{"server":...,"name":...,"item":{...}}],
    /// "failures":[{"server":...,"status":...,"message":...}]}; NULL on failure. The member name is
    /// the name in the group, and item is as the server listed it. The caller frees out with
    /// mcplink_json_free.
    /// Returns: MCPLINK_OK, also when a server has failed; MCPLINK_E_STATE on a thread that runs
    /// the handlers of one of the clients for requests from its server.
    /// Blocks: until each server has answered or failed.
    fn mcplink_group_list(
        list: arg::mcplink_list,
        options: *const mcplink_call_options_t,
    ) -> out: mcplink_json_t {
        let (list, options) = (list_of(list)?, copied(options)?);
        group.check_thread()?;
        let options = options.build(None, options.cancel.as_ref(), None::<fn(_)>);
        group.list(list, options)?.into_raw()
    }
}

/// Finds the server for a name in the group, for a call such as mcplink_client_call_tool.
///
/// For a tool or a prompt, only the prefix of the name counts, and not whether the server has the
/// item. A resource is found if exactly one server lists its URI, or if only one server has
/// resources.
///
/// primitive: MCPLINK_PRIMITIVE_TOOL, MCPLINK_PRIMITIVE_PROMPT or MCPLINK_PRIMITIVE_RESOURCE.
/// name: the name in the group, or the URI of a resource.
/// found: receives the client of the server, which remains the caller's; NULL on failure.
/// own: receives the name that the server knows: the end of name. NULL on failure. May be NULL.
/// Returns: MCPLINK_OK; MCPLINK_E_INVALID when no server, or more than one, is meant;
/// MCPLINK_E_CLOSED when the client was freed; MCPLINK_E_STATE for a resource on a thread that runs
/// the handlers of one of the clients for requests from its server.
/// Blocks: only for a resource that was in no list: until each server has answered or failed.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_group_find(
    group: *mut mcplink_group_t,
    primitive: arg::mcplink_primitive,
    name: *const c_char,
    found: *mut *mut mcplink_client_t,
    own: *mut *const c_char,
    err: *mut *mut mcplink_error_t,
) -> mcplink_status_t {
    // SAFETY: the header requires a group of this library, text that ends in NUL, and pointers that
    // can be written to.
    unsafe {
        ffi(err, || {
            if !own.is_null() {
                own.write(std::ptr::null());
            }
            if !found.is_null() {
                found.write(std::ptr::null_mut());
            }
            let group = enter(group, "group")?;
            if found.is_null() {
                return Err(missing("found").into());
            }
            let kind = match mcplink_primitive::read(primitive, "primitive")? {
                mcplink_primitive::MCPLINK_PRIMITIVE_TOOL => GroupItemKind::Tool,
                mcplink_primitive::MCPLINK_PRIMITIVE_PROMPT => GroupItemKind::Prompt,
                mcplink_primitive::MCPLINK_PRIMITIVE_RESOURCE => GroupItemKind::Resource,
                _ => return Err(invalid("primitive must be a tool, a prompt or a resource").into()),
            };
            let (client, prefix) = group.find(kind, crate::cffi::text::name(name, "name")?)?;
            found.write(client);
            if !own.is_null() {
                own.write(name.add(prefix));
            }
            Ok(mcplink_status::MCPLINK_OK)
        })
    }
}

actions! {
    entering(group: mcplink_group_t);

    /// Removes a server from the group. Its client stays open, and calls continue.
    ///
    /// server: the name of the server in the group.
    /// Returns: MCPLINK_OK, or MCPLINK_E_INVALID when the group has no such server.
    fn mcplink_group_remove(server: *const c_char) {
        let name = name(server, "server")?;
        let mut servers = group.servers.lock();
        let removed = group.group.remove(name);
        servers.retain(|server| server.name != name);
        drop(servers);
        if removed.is_none() {
            return Err(invalid(format!("the group has no server '{}'", Excerpt(name))).into());
        }
    }
}

getters! {
    visit(group: mcplink_group_t);

    /// Returns the prefix of the tools and prompts of a server, such as "files__".
    ///
    /// server: the name of the server in the group.
    /// Returns: the prefix, valid until the server is removed or the group is freed; empty when the
    /// group has no such server.
    fn mcplink_group_prefix(server: *const c_char) -> mcplink_str_t {
        let name = name(server, "server").ok()?;
        let servers = group.servers.lock();
        servers
            .iter()
            .find(|server| server.name == name)?
            .prefix
            .view()
    }
}

/// Frees a group. Its clients stay open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_group_free(group: *mut mcplink_group_t) {
    // SAFETY: the header requires a group of this library, freed once.
    unsafe { free_handle(group) }
}
