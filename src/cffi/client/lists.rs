//! The list calls of a client, which read all pages.

use std::ffi::c_void;

use serde::Serialize;

use super::call::{mcplink_call_t, mcplink_done_fn, start};
use super::call_options::mcplink_call_options_t;
use super::calling::{Out, Request, call};
use super::mcplink_client_t;
use crate::cffi::entry::Outcome;
use crate::cffi::error::mcplink_error_t;
use crate::cffi::result::mcplink_result_t;
use crate::cffi::status::mcplink_status_t;
use crate::cffi::user::mcplink_destroy_fn;
use crate::client::CallOptions;
use crate::client::Client;
use crate::error::{Error, ErrorKind, Result};
use crate::jsonrpc::RawResult;
use crate::schema::{Misfit, method};

/// The entries of a list, and the invalid entries that were left out.
type Listed<T> = (Vec<T>, Vec<Misfit>);

/// Makes a request that reads all pages of a list with `read`, and returns the pages as one result.
fn list<T: Serialize + 'static>(
    method: &'static str,
    member: &'static str,
    read: fn(&Client, CallOptions<'_>) -> Result<Listed<T>>,
) -> Outcome<Request> {
    Ok(Request::new(method, move |client, options| {
        let (items, misfits) = read(client, options)?;
        let items = serde_json::to_string(&items).map_err(|error| {
            let text = format!("the list can't be written as JSON: {error}");
            Error::new(ErrorKind::Protocol, text)
        })?;
        let list = RawResult::alone(format!("{{\"{member}\":{items}}}"));
        mcplink_result_t::of_list(method, list, misfits)
    }))
}

fn tools() -> Outcome<Request> {
    let read = |client: &Client, options: CallOptions<'_>| {
        client.tool_pages(options).into_all_and_misfits()
    };
    list(method::TOOLS_LIST, "tools", read)
}

fn resources() -> Outcome<Request> {
    let read = |client: &Client, options: CallOptions<'_>| {
        client.resource_pages(options).into_all_and_misfits()
    };
    list(method::RESOURCES_LIST, "resources", read)
}

fn templates() -> Outcome<Request> {
    let read = |client: &Client, options: CallOptions<'_>| {
        client
            .resource_template_pages(options)
            .into_all_and_misfits()
    };
    list(method::RESOURCES_TEMPLATES_LIST, "resourceTemplates", read)
}

fn prompts() -> Outcome<Request> {
    let read = |client: &Client, options: CallOptions<'_>| {
        client.prompt_pages(options).into_all_and_misfits()
    };
    list(method::PROMPTS_LIST, "prompts", read)
}

/// Lists all tools of the server. The function reads all pages of the list.
///
/// If the cache contains a fresh result, the cached result is returned without a request: see
/// mcplink_call_options_set_bypass_cache.
///
/// client: the client.
/// options: the options for the request of each page; NULL for the defaults.
/// out, err: see mcplink_client_call_tool. The result is {"tools":[...]}.
/// Returns: see mcplink_client_call_tool; MCPLINK_E_LIMIT when the list has too many pages or
/// items: see mcplink_client_options_set_max_list. Threads: any. Blocks: until the call has ended.
/// Since 0.1.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_list_tools(
    client: *mut mcplink_client_t,
    options: *const mcplink_call_options_t,
    out: *mut *mut mcplink_result_t,
    err: *mut *mut mcplink_error_t,
) -> mcplink_status_t {
    // SAFETY: the header requires valid arguments.
    unsafe { call(client, options, Out::To(out), err, tools) }
}

/// Starts to list the tools without waiting: the non-blocking form of mcplink_client_list_tools.
///
/// callback, user, destroy, out: see mcplink_client_call_tool_start.
/// Returns: see mcplink_client_call_tool_start. Threads: any. Blocks: no. Since 0.1.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_list_tools_start(
    client: *mut mcplink_client_t,
    options: *const mcplink_call_options_t,
    callback: mcplink_done_fn,
    user: *mut c_void,
    destroy: mcplink_destroy_fn,
    out: *mut *mut mcplink_call_t,
    err: *mut *mut mcplink_error_t,
) -> mcplink_status_t {
    // SAFETY: the header requires valid arguments.
    unsafe { start(client, options, (callback, user, destroy), out, err, tools) }
}

/// Lists all resources of the server. The function reads all pages of the list.
///
/// client: the client.
/// options: the options for the request of each page; NULL for the defaults.
/// out, err: see mcplink_client_call_tool. The result is {"resources":[...]}.
/// Returns: see mcplink_client_call_tool; MCPLINK_E_LIMIT when the list has too many pages or
/// items. Threads: any. Blocks: until the call has ended. Since 0.1.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_list_resources(
    client: *mut mcplink_client_t,
    options: *const mcplink_call_options_t,
    out: *mut *mut mcplink_result_t,
    err: *mut *mut mcplink_error_t,
) -> mcplink_status_t {
    // SAFETY: the header requires valid arguments.
    unsafe { call(client, options, Out::To(out), err, resources) }
}

/// Starts to list the resources without waiting: the non-blocking form of
/// mcplink_client_list_resources.
///
/// callback, user, destroy, out: see mcplink_client_call_tool_start.
/// Returns: see mcplink_client_call_tool_start. Threads: any. Blocks: no. Since 0.1.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_list_resources_start(
    client: *mut mcplink_client_t,
    options: *const mcplink_call_options_t,
    callback: mcplink_done_fn,
    user: *mut c_void,
    destroy: mcplink_destroy_fn,
    out: *mut *mut mcplink_call_t,
    err: *mut *mut mcplink_error_t,
) -> mcplink_status_t {
    // SAFETY: the header requires valid arguments.
    unsafe {
        start(
            client,
            options,
            (callback, user, destroy),
            out,
            err,
            resources,
        )
    }
}

/// Lists all resource templates of the server. The function reads all pages of the list.
///
/// client: the client.
/// options: the options for the request of each page; NULL for the defaults.
/// out, err: see mcplink_client_call_tool. The result is {"resourceTemplates":[...]}.
/// Returns: see mcplink_client_call_tool; MCPLINK_E_LIMIT when the list has too many pages or
/// items. Threads: any. Blocks: until the call has ended. Since 0.1.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_list_templates(
    client: *mut mcplink_client_t,
    options: *const mcplink_call_options_t,
    out: *mut *mut mcplink_result_t,
    err: *mut *mut mcplink_error_t,
) -> mcplink_status_t {
    // SAFETY: the header requires valid arguments.
    unsafe { call(client, options, Out::To(out), err, templates) }
}

/// Starts to list the resource templates without waiting: the non-blocking form of
/// mcplink_client_list_templates.
///
/// callback, user, destroy, out: see mcplink_client_call_tool_start.
/// Returns: see mcplink_client_call_tool_start. Threads: any. Blocks: no. Since 0.1.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_list_templates_start(
    client: *mut mcplink_client_t,
    options: *const mcplink_call_options_t,
    callback: mcplink_done_fn,
    user: *mut c_void,
    destroy: mcplink_destroy_fn,
    out: *mut *mut mcplink_call_t,
    err: *mut *mut mcplink_error_t,
) -> mcplink_status_t {
    // SAFETY: the header requires valid arguments.
    unsafe {
        start(
            client,
            options,
            (callback, user, destroy),
            out,
            err,
            templates,
        )
    }
}

/// Lists all prompts of the server. The function reads all pages of the list.
///
/// client: the client.
/// options: the options for the request of each page; NULL for the defaults.
/// out, err: see mcplink_client_call_tool. The result is {"prompts":[...]}.
/// Returns: see mcplink_client_call_tool; MCPLINK_E_LIMIT when the list has too many pages or
/// items. Threads: any. Blocks: until the call has ended. Since 0.1.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_list_prompts(
    client: *mut mcplink_client_t,
    options: *const mcplink_call_options_t,
    out: *mut *mut mcplink_result_t,
    err: *mut *mut mcplink_error_t,
) -> mcplink_status_t {
    // SAFETY: the header requires valid arguments.
    unsafe { call(client, options, Out::To(out), err, prompts) }
}

/// Starts to list the prompts without waiting: the non-blocking form of
/// mcplink_client_list_prompts.
///
/// callback, user, destroy, out: see mcplink_client_call_tool_start.
/// Returns: see mcplink_client_call_tool_start. Threads: any. Blocks: no. Since 0.1.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_list_prompts_start(
    client: *mut mcplink_client_t,
    options: *const mcplink_call_options_t,
    callback: mcplink_done_fn,
    user: *mut c_void,
    destroy: mcplink_destroy_fn,
    out: *mut *mut mcplink_call_t,
    err: *mut *mut mcplink_error_t,
) -> mcplink_status_t {
    // SAFETY: the header requires valid arguments.
    unsafe {
        start(
            client,
            options,
            (callback, user, destroy),
            out,
            err,
            prompts,
        )
    }
}
