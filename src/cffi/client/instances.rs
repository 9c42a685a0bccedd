//! Servers that other programs of the same user have published.

use std::ffi::c_char;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use serde_json::{Value, json};

use super::endpoint::{Endpoint, Ready};
use super::options::mcplink_client_options_t;
use super::shared::Shared;
use crate::cffi::entry::{free, giving, own};
use crate::cffi::error::mcplink_error_t;
use crate::cffi::json::{Document, mcplink_json_t};
use crate::cffi::refusal::set;
use crate::cffi::status::mcplink_status_t;
use crate::cffi::text::{missing, optional, optional_filled};
use crate::cffi::user::{Hook, UserData, call_back, mcplink_destroy_fn, mcplink_notify_fn};
use crate::transport::local::{self, Instance, Watcher};

/// A watcher of published servers. See mcplink_watcher_new.
pub struct mcplink_watcher_t {
    _watcher: Watcher,
}

object!(mcplink_watcher_t is Watcher);

fn described(instance: &Instance) -> Value {
    let started = instance.started.duration_since(UNIX_EPOCH);
    json!({
        "id": instance.id,
        "name": instance.name,
        "title": instance.title,
        "folder": instance.folder,
        "pid": instance.pid,
        "started": u64::try_from(started.unwrap_or_default().as_millis()).unwrap_or(u64::MAX),
        "version": instance.version,
    })
}

/// Lists the servers that programs of the same user have published at the moment: see
/// mcplink_server_publish. Each published server is an instance. A client connects to an instance
/// with mcplink_client_options_set_instance.
///
/// name: the name under which the servers are published; NULL for all.
/// out: receives an array, the oldest instance first: [{"id":"...","name":"...","title":"...",
/// "folder":"...","pid":1,"started":1764530000000,"version":"..."}]. "title" and "folder" may be
/// null. "started" is in milliseconds since 1970-01-01. NULL on failure. The caller owns the
/// document and frees it with mcplink_json_free.
/// Returns: MCPLINK_OK; MCPLINK_E_INVALID for an invalid name, or when other users may use the
/// folder of the published servers; MCPLINK_E_IO when it can't be read.
/// Blocks: for the file system.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_instances(
    name: *const c_char,
    out: *mut *mut mcplink_json_t,
    err: *mut *mut mcplink_error_t,
) -> mcplink_status_t {
    // SAFETY: the header requires text that ends in NUL and pointers that can be written to.
    unsafe {
        giving(out, err, || {
            let instances = local::instances(optional(name, "name")?)?;
            let shown: Vec<Value> = instances.iter().map(described).collect();
            Ok(Document::of(&shown.into())?)
        })
    }
}

/// Watches which servers programs of the same user publish.
///
/// name: the name under which the servers are published; NULL for all.
/// callback: called whenever the list of mcplink_instances may have changed, and once at the
/// beginning. It runs on a thread of the watcher, one call at a time, so it wakes the host's event
/// loop best, for example with mcplink_pump_wakeup. Not NULL.
/// user, destroy: passed to callback; destroy runs when the watcher is freed.
/// out: receives the watcher, NULL on failure. The caller owns it and frees it with
/// mcplink_watcher_free.
/// Returns: as mcplink_instances.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_watcher_new(
    name: *const c_char,
    callback: mcplink_notify_fn,
    user: *mut std::ffi::c_void,
    destroy: mcplink_destroy_fn,
    out: *mut *mut mcplink_watcher_t,
    err: *mut *mut mcplink_error_t,
) -> mcplink_status_t {
    let user = UserData::new(user, destroy);
    // SAFETY: the header requires text that ends in NUL and pointers that can be written to.
    unsafe {
        giving(out, err, || {
            let hook = Hook::new(callback, user).ok_or_else(|| missing("callback"))?;
            let tell = move |_: &[Instance]| {
                // The function of the host is called inside the unsafe block of this function.
                _ = call_back(0, || (hook.callback)(hook.user.ptr()));
            };
            let watcher = local::watch(optional(name, "name")?, tell)?;
            Ok(own(mcplink_watcher_t { _watcher: watcher }))
        })
    }
}

/// Frees a watcher. Its callback does not run any more, unless the callback itself frees the
/// watcher.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_watcher_free(watcher: *mut mcplink_watcher_t) {
    // SAFETY: the header requires a watcher of this library, freed once.
    unsafe { free(watcher) }
}

actions! {
    set(options: mcplink_client_options_t);

    /// Sets the server to which the client connects: one that another program has published.
    ///
    /// id: the "id" of an instance: see mcplink_instances. NULL for none. When the instance has
    /// ended, mcplink_client_open fails with MCPLINK_E_IO.
    fn mcplink_client_options_set_instance(id: *const c_char) {
        let id = optional_filled(id, "id")?.map(str::to_owned);
        let way = id
            .map(|id| move |_: &Endpoint, _: &Arc<Shared>| Ok(Ready::from(local::instance(&id)?)));
        options.endpoint.reach("instance", way);
    }
}
