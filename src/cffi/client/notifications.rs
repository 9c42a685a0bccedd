//! Notifications of a client, and its subscriptions to changes.

use std::ffi::{c_char, c_void};
use std::ptr;
use std::sync::{Arc, Weak};

use super::call::{mcplink_call_t, mcplink_done_fn, start};
use super::calling::{Request, act};
use super::shared::{Shared, mcplink_client_t};
use crate::cffi::arg;
use crate::cffi::arg::invalid;
use crate::cffi::error::mcplink_error_t;
use crate::cffi::json::optional_json;
use crate::cffi::log::level_of;
use crate::cffi::result::{SharedResult, mcplink_result_t};
use crate::cffi::status::mcplink_status_t;
use crate::cffi::text::name;
use crate::cffi::user::mcplink_destroy_fn;
use crate::client::{CallOptions, Client, Event};
use crate::error::Result;
use crate::jsonrpc::RawResult;
use crate::schema::{SubscriptionFilter, method};

/// Sends a notification of any method.
///
/// method: the method.
/// params, len: a JSON object; len may be MCPLINK_NUL for text that ends in NUL. NULL for no
/// params.
/// Returns: MCPLINK_OK when the notification was accepted for sending; MCPLINK_E_CLOSED when the
/// server has disconnected, MCPLINK_E_UNSUPPORTED for a modern server over HTTP, which accepts only
/// requests.
/// Blocks: only while the server does not read.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_notify(
    client: *mut mcplink_client_t,
    method: *const c_char,
    params: *const c_char,
    len: usize,
    err: *mut *mut mcplink_error_t,
) -> mcplink_status_t {
    // SAFETY: the header requires valid arguments.
    unsafe {
        act(client, err, "", |_, client| {
            let method = name(method, "method")?;
            match optional_json(params, len, "params")? {
                Some(params) if params.get().starts_with('{') => client.notify(method, &params)?,
                Some(_) => return Err(invalid("params have to be an object").into()),
                None => client.notify(method, &serde_json::Map::new())?,
            }
            Ok(())
        })
    }
}

/// Notifies the server that the roots have changed, so that the server requests them again. A
/// modern server requests the roots with each call that needs them, so it receives no notification.
///
/// client: a client with a roots function: see mcplink_client_options_on_list_roots.
/// Returns: MCPLINK_OK; MCPLINK_E_UNSUPPORTED without a roots function; otherwise see
/// mcplink_client_notify.
/// Blocks: only while the server does not read.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_roots_changed(
    client: *mut mcplink_client_t,
    err: *mut *mut mcplink_error_t,
) -> mcplink_status_t {
    // SAFETY: the header requires valid arguments.
    unsafe {
        let method = method::NOTIFICATIONS_ROOTS_LIST_CHANGED;
        act(client, err, method, |_, client| Ok(client.roots_changed()?))
    }
}

/// Notifies the server that the roots have changed, without waiting: the non-blocking form of
/// mcplink_client_roots_changed. For the order of started calls see mcplink_client_listen_start.
///
/// client: see mcplink_client_roots_changed.
/// callback, user, destroy, out: see mcplink_client_call_tool_start.
/// Returns: see mcplink_client_call_tool_start.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_roots_changed_start(
    client: *mut mcplink_client_t,
    callback: mcplink_done_fn,
    user: *mut c_void,
    destroy: mcplink_destroy_fn,
    out: *mut *mut mcplink_call_t,
    err: *mut *mut mcplink_error_t,
) -> mcplink_status_t {
    let done = (callback, user, destroy);
    let notify = |client: &Client, _: CallOptions<'_>| {
        client.roots_changed()?;
        Ok(mcplink_result_t::empty())
    };
    let method = method::NOTIFICATIONS_ROOTS_LIST_CHANGED;
    let request = |_: &mcplink_client_t| Ok(Request::in_order(method, notify));
    // SAFETY: the header requires valid arguments.
    unsafe { start(client, ptr::null(), done, out, err, request) }
}

calls! {
    client: mcplink_client_t;

    /// Sets the least severe level of log messages that a server of the legacy era sends. The
    /// messages arrive as MCPLINK_EVENT_LOG_MESSAGE. For a modern server the level is set for each
    /// call: see mcplink_call_options_set_log_level.
    ///
    /// level: the least severe level to receive.
    /// options, err: see mcplink_client_call_tool.
    /// Returns: MCPLINK_OK; MCPLINK_E_UNSUPPORTED for a modern server, and for a server without
    /// logging; otherwise see mcplink_client_call_tool.
    fn mcplink_client_set_log_level(level: arg::mcplink_log_level) {
        let level = level_of(level)?;
        let set = move |client: &Client, options: CallOptions<'_>| {
            client.set_log_level_with(level, options)?;
            Ok(mcplink_result_t::empty())
        };
        Ok(Request::in_order(method::LOGGING_SET_LEVEL, set))
    }
    /// Starts to set the log level without waiting: the non-blocking form of
    /// mcplink_client_set_log_level. For the order of started calls see
    /// mcplink_client_listen_start.
    start mcplink_client_set_log_level_start;

    /// Subscribes to change notifications, which arrive as MCPLINK_EVENT_TOOLS_CHANGED and similar
    /// events. A new subscription replaces the earlier subscription that was made with this
    /// function. Subscriptions work in both eras. With mcplink_client_options_set_restart the
    /// subscription is renewed on each new connection.
    ///
    /// filter, len: a JSON object with the wanted changes:
    /// {"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,
    /// "resourceSubscriptions":["uri"],"taskIds":["id"]}; len may be MCPLINK_NUL for text that ends
    /// in NUL. NULL, or an object without any of these members, ends the subscription. For tasks,
    /// MCPLINK_EVENT_TASK_CHANGED reports the state at once and after each change. Tasks require
    /// revision 2026-07-28 or later, and a client with mcplink_client_options_set_tasks.
    /// options, err: see mcplink_client_call_tool.
    /// out: receives the filter that the server accepted, an object like the parameter filter; NULL
    /// on failure. The caller frees it with mcplink_result_free.
    /// Returns: MCPLINK_OK; MCPLINK_E_INVALID for an invalid filter; otherwise see
    /// mcplink_client_call_tool. After a failure the earlier subscription remains.
    /// Blocks: until the server has answered.
    fn mcplink_client_listen(filter: *const c_char, len: usize) -> mcplink_result_t {
        let filter = match optional_json(filter, len, "filter")? {
            Some(filter) => serde_json::from_str(filter.get())
                .map_err(|error| invalid(format!("this is no filter: {error}")))?,
            None => SubscriptionFilter::default(),
        };
        let shared = Arc::downgrade(&client.shared);
        let listen = move |client: &Client, options: CallOptions<'_>| {
            listen(client, filter, options, &shared)
        };
        Ok(Request::in_order(method::SUBSCRIPTIONS_LISTEN, listen))
    }
    /// Starts to subscribe to change notifications without waiting: the non-blocking form of
    /// mcplink_client_listen.
    ///
    /// The started calls of one client that subscribe, unsubscribe, set the log level or tell of
    /// changed roots run one after the other, in the order in which they were started. Each begins
    /// when the one before has ended, and its timeout begins then. Blocking calls do not wait for
    /// them.
    start mcplink_client_listen_start;

    /// Subscribes to changes of one resource, until mcplink_client_unsubscribe. The changes arrive
    /// as MCPLINK_EVENT_RESOURCE_UPDATED, in both eras.
    ///
    /// uri: the URI of the resource.
    /// options, err: see mcplink_client_call_tool.
    /// Returns: MCPLINK_OK, also when the resource was subscribed already; MCPLINK_E_UNSUPPORTED
    /// when the server refuses the subscription; otherwise see mcplink_client_call_tool.
    /// Blocks: until the server has answered.
    fn mcplink_client_subscribe(uri: *const c_char) {
        let uri = name(uri, "uri")?.to_owned();
        let shared = Arc::downgrade(&client.shared);
        let subscribe = move |client: &Client, options: CallOptions<'_>| {
            subscribe(client, uri, options, &shared)
        };
        Ok(Request::in_order(method::RESOURCES_SUBSCRIBE, subscribe))
    }
    /// Starts to subscribe to changes of one resource without waiting: the non-blocking form of
    /// mcplink_client_subscribe. For the order of started calls see mcplink_client_listen_start.
    start mcplink_client_subscribe_start;
}

fn listen(
    client: &Client,
    filter: SubscriptionFilter,
    options: CallOptions<'_>,
    shared: &Weak<Shared>,
) -> Result<SharedResult> {
    let mut subscription = None;
    if !filter.is_empty() {
        subscription = Some(client.subscribe_with(filter, options, event_poster(shared))?);
    }
    let granted = subscription
        .as_ref()
        .map(|subscription| subscription.granted());
    let granted = serde_json::to_string(&granted.unwrap_or_default());
    let granted = granted.map_err(|error| invalid(error.to_string()))?;
    if let Some(shared) = shared.upgrade() {
        let former = std::mem::replace(&mut shared.subscriptions.lock().changes, subscription);
        drop(former);
    }
    Ok(mcplink_result_t::new(RawResult::alone(granted)))
}

/// Returns a function that posts change notifications as events of the client.
fn event_poster(shared: &Weak<Shared>) -> impl Fn(Event) + Send + Sync + 'static {
    let shared = Weak::clone(shared);
    move |event| {
        if let Some(shared) = shared.upgrade() {
            shared.changed(event);
        }
    }
}

fn subscribe(
    client: &Client,
    uri: String,
    options: CallOptions<'_>,
    shared: &Weak<Shared>,
) -> Result<SharedResult> {
    let done = Ok(mcplink_result_t::empty());
    let Some(here) = shared.upgrade() else {
        return done;
    };
    let known = here.subscriptions.lock();
    let is_told = known.resources.get(&uri);
    if is_told.is_some_and(|known| !known.has_ended()) {
        return done;
    }
    drop(known);
    let filter = SubscriptionFilter::default().resource_subscriptions(vec![uri.clone()]);
    let subscription = client.subscribe_with(filter, options, event_poster(shared))?;
    let granted = subscription.granted().resource_subscriptions;
    if granted.is_none_or(|granted| granted.is_empty()) {
        let text = format!("the server does not tell changes of '{uri}'");
        return Err(crate::Error::new(crate::ErrorKind::Unsupported, text).sent(true));
    }
    let former = here
        .subscriptions
        .lock()
        .resources
        .insert(uri, subscription);
    drop(former);
    done
}

/// Ends a subscription that was made with mcplink_client_subscribe.
///
/// uri: the URI of the resource.
/// Returns: MCPLINK_OK, also when the resource was not subscribed.
/// Blocks: only while the server does not read.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_unsubscribe(
    client: *mut mcplink_client_t,
    uri: *const c_char,
    err: *mut *mut mcplink_error_t,
) -> mcplink_status_t {
    // SAFETY: the header requires valid arguments.
    unsafe {
        act(client, err, method::RESOURCES_UNSUBSCRIBE, |client, _| {
            unsubscribe(&client.shared, name(uri, "uri")?);
            Ok(())
        })
    }
}

/// Starts to end a subscription without waiting: the non-blocking form of
/// mcplink_client_unsubscribe. For the order of started calls see mcplink_client_listen_start.
///
/// callback, user, destroy, out: see mcplink_client_call_tool_start.
/// Returns: see mcplink_client_call_tool_start.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_unsubscribe_start(
    client: *mut mcplink_client_t,
    uri: *const c_char,
    callback: mcplink_done_fn,
    user: *mut c_void,
    destroy: mcplink_destroy_fn,
    out: *mut *mut mcplink_call_t,
    err: *mut *mut mcplink_error_t,
) -> mcplink_status_t {
    let done = (callback, user, destroy);
    // SAFETY: the header requires valid arguments.
    unsafe {
        start(client, ptr::null(), done, out, err, |client| {
            let shared = Arc::downgrade(&client.shared);
            let uri = name(uri, "uri")?.to_owned();
            let end = move |_: &Client, _: CallOptions<'_>| {
                if let Some(shared) = shared.upgrade() {
                    unsubscribe(&shared, &uri);
                }
                Ok(mcplink_result_t::empty())
            };
            Ok(Request::in_order(method::RESOURCES_UNSUBSCRIBE, end))
        })
    }
}

fn unsubscribe(shared: &Shared, uri: &str) {
    let former = shared.subscriptions.lock().resources.remove(uri);
    // The server is notified without the lock.
    drop(former);
}

/// Clears the client's cache of results, so that later calls request the results from the server
/// again.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_clear_cache(
    client: *mut mcplink_client_t,
    err: *mut *mut mcplink_error_t,
) -> mcplink_status_t {
    // SAFETY: the header requires valid arguments.
    unsafe {
        act(client, err, "", |_, client| {
            client.clear_cache();
            Ok(())
        })
    }
}
