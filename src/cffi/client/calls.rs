//! The calls of a client, each in a blocking and a non-blocking form.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::{c_char, c_void};

use serde_json::value::RawValue;

use super::call::{mcplink_call_t, mcplink_done_fn, start};
use super::call_options::mcplink_call_options_t;
use super::calling::{Out, Request, Work, call};
use super::mcplink_client_t;
use super::options::invalid;
use crate::cffi::arg;
use crate::cffi::entry::Outcome;
use crate::cffi::error::mcplink_error_t;
use crate::cffi::json::optional_json;
use crate::cffi::result::mcplink_result_t;
use crate::cffi::server::mcplink_completion_of;
use crate::cffi::status::mcplink_status_t;
use crate::cffi::text::name;
use crate::cffi::user::mcplink_destroy_fn;
use crate::client::tool_params;
use crate::schema::{CompleteRequestParams, CompletionReference, method};

/// Makes a tools/call request.
///
/// # Safety
///
/// The texts are NULL, or end in NUL, or have the given length.
unsafe fn tool(tool: *const c_char, arguments: *const c_char, len: usize) -> Outcome<Request> {
    // SAFETY: the safety contract of this function.
    let (tool, arguments) = unsafe {
        (
            name(tool, "tool")?,
            optional_json(arguments, len, "arguments")?,
        )
    };
    let (tool, params) = (tool.to_owned(), tool_params(tool, &arguments));
    Ok(Request::new(method::TOOLS_CALL, move |client, options| {
        let result = client.call_tool_written(&tool, params, options)?;
        mcplink_result_t::read(method::TOOLS_CALL, result)
    }))
}

/// Makes a resources/read request.
///
/// # Safety
///
/// The text is NULL or ends in NUL.
unsafe fn resource(uri: *const c_char) -> Outcome<Request> {
    // SAFETY: the safety contract of this function.
    let uri = unsafe { name(uri, "uri") }?.to_owned();
    Ok(Request::new(
        method::RESOURCES_READ,
        move |client, options| {
            let result = client.read_resource_raw(&uri, options)?;
            mcplink_result_t::read(method::RESOURCES_READ, result)
        },
    ))
}

/// Makes a prompts/get request.
///
/// # Safety
///
/// The texts are NULL, or end in NUL, or have the given length.
unsafe fn prompt(prompt: *const c_char, arguments: *const c_char, len: usize) -> Outcome<Request> {
    // SAFETY: the safety contract of this function.
    let (prompt, arguments) = unsafe {
        (
            name(prompt, "prompt")?.to_owned(),
            texts(arguments, len, "arguments")?,
        )
    };
    Ok(Request::new(method::PROMPTS_GET, move |client, options| {
        let arguments: Vec<(&str, &str)> = arguments
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        let result = client.get_prompt_raw(&prompt, &arguments, options)?;
        mcplink_result_t::read(method::PROMPTS_GET, result)
    }))
}

/// Reads a JSON object whose members are strings.
///
/// # Safety
///
/// The text is NULL or has the given length.
unsafe fn texts(json: *const c_char, len: usize, what: &str) -> Outcome<BTreeMap<String, String>> {
    // SAFETY: the safety contract of this function.
    let Some(json) = unsafe { optional_json(json, len, what) }? else {
        return Ok(BTreeMap::new());
    };
    let texts = serde_json::from_str(json.get());
    let what = |error| invalid(format!("{what} have to be an object of strings: {error}"));
    Ok(texts.map_err(what)?)
}

/// Makes a completion/complete request.
///
/// # Safety
///
/// The texts are NULL, or end in NUL, or have the given length.
unsafe fn completion(
    of: i32,
    target: *const c_char,
    argument: *const c_char,
    typed: *const c_char,
    known: (*const c_char, usize),
) -> Outcome<Request> {
    use mcplink_completion_of as Of;
    // SAFETY: the safety contract of this function.
    let (target, argument, typed, known) = unsafe {
        (
            name(target, "target")?,
            name(argument, "argument")?,
            name(typed, "typed")?,
            texts(known.0, known.1, "known")?,
        )
    };
    let reference = match of {
        _ if of == Of::MCPLINK_COMPLETION_OF_PROMPT as i32 => CompletionReference::prompt(target),
        _ if of == Of::MCPLINK_COMPLETION_OF_TEMPLATE as i32 => {
            CompletionReference::resource(target)
        }
        _ => return Err(invalid(format!("there is no kind {of} of completion")).into()),
    };
    let params = CompleteRequestParams::new(reference, argument, typed);
    let params = known
        .into_iter()
        .fold(params, |params, (name, value)| params.known(name, value));
    Ok(Request::new(
        method::COMPLETION_COMPLETE,
        move |client, options| {
            let result = client.complete_raw(params, options)?;
            mcplink_result_t::read(method::COMPLETION_COMPLETE, result)
        },
    ))
}

fn ping() -> Outcome<Request> {
    Ok(Request::new(method::PING, |client, options| {
        client.ping(options)?;
        Ok(mcplink_result_t::empty())
    }))
}

/// Makes a request of any method.
///
/// # Safety
///
/// The texts are NULL, or end in NUL, or have the given length.
unsafe fn any(method: *const c_char, params: *const c_char, len: usize) -> Outcome<Request> {
    // SAFETY: the safety contract of this function.
    let (method, params) = unsafe {
        (
            name(method, "method")?,
            optional_json(params, len, "params")?,
        )
    };
    let (own, params) = (method.to_owned(), params.map(RawValue::to_owned));
    let work: Work = Box::new(move |client, options| {
        let result = client.request(&own, &params, options)?;
        Ok(mcplink_result_t::new(result))
    });
    Ok(Request {
        method: Cow::Owned(method.to_owned()),
        work,
        is_ordered: false,
    })
}

/// Calls a tool, and waits for its result.
///
/// A tool that ran and failed is not a failure of the call: the status is MCPLINK_TOOL_ERROR, and
/// the result contains the reason.
///
/// client: the client.
/// tool_name: the name of the tool.
/// arguments, len: a JSON object, which is copied; len may be MCPLINK_NUL for text that ends in
/// NUL. NULL for no arguments.
/// options: timeouts and other options of the call; NULL for the defaults.
/// out: receives the result, or NULL without a result. The caller owns it and frees it with
/// mcplink_result_free.
/// err: receives the error on failure; the caller frees it. May be NULL.
/// Returns: MCPLINK_OK or MCPLINK_TOOL_ERROR with a result; MCPLINK_E_INVALID for invalid arguments
/// of this function, MCPLINK_E_UNSUPPORTED when the server has no tools, MCPLINK_E_PEER when the
/// server refuses, MCPLINK_E_TIMEOUT and MCPLINK_E_CANCELLED (the server is notified),
/// MCPLINK_E_CLOSED when the server has disconnected, MCPLINK_E_PROTOCOL when the server's answer
/// is invalid. Threads: any; also in callbacks. Blocks: until the call has ended. Since 0.1.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_call_tool(
    client: *mut mcplink_client_t,
    tool_name: *const c_char,
    arguments: *const c_char,
    len: usize,
    options: *const mcplink_call_options_t,
    out: *mut *mut mcplink_result_t,
    err: *mut *mut mcplink_error_t,
) -> mcplink_status_t {
    // SAFETY: the header requires valid arguments.
    unsafe {
        call(client, options, Out::To(out), err, || {
            tool(tool_name, arguments, len)
        })
    }
}

/// Starts a tool call without waiting: the non-blocking form of mcplink_client_call_tool.
///
/// All functions whose names end in _start have these parameters in common:
///
/// callback: receives the outcome, exactly once, after the progress of the call. The callback runs
/// on the thread that runs the client's callbacks. May be NULL.
/// user, destroy: passed to callback; destroy runs after callback, or at once when the call can't
/// be started.
/// out: receives a handle to wait for the call or to cancel it; the caller frees it with
/// mcplink_call_free. May be NULL.
/// Returns: MCPLINK_OK when the call was started; MCPLINK_E_INVALID for invalid arguments,
/// MCPLINK_E_STATE while the client is being connected, MCPLINK_E_BUSY when the limit of started
/// calls is reached (mcplink_client_options_set_max_started). Other errors are the outcome of the
/// call. Threads: any. Blocks: no. Since 0.1.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_call_tool_start(
    client: *mut mcplink_client_t,
    tool_name: *const c_char,
    arguments: *const c_char,
    len: usize,
    options: *const mcplink_call_options_t,
    callback: mcplink_done_fn,
    user: *mut c_void,
    destroy: mcplink_destroy_fn,
    out: *mut *mut mcplink_call_t,
    err: *mut *mut mcplink_error_t,
) -> mcplink_status_t {
    // SAFETY: the header requires valid arguments.
    unsafe {
        start(client, options, (callback, user, destroy), out, err, || {
            tool(tool_name, arguments, len)
        })
    }
}

/// Reads a resource.
///
/// client: the client.
/// uri: the URI of the resource.
/// options, out, err: see mcplink_client_call_tool. The result is {"contents":[...]}: see
/// mcplink_result_text and mcplink_result_content_bytes.
/// Returns: see mcplink_client_call_tool; also MCPLINK_E_PEER when the resource does not exist.
/// Threads: any. Blocks: until the call has ended. Since 0.1.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_read_resource(
    client: *mut mcplink_client_t,
    uri: *const c_char,
    options: *const mcplink_call_options_t,
    out: *mut *mut mcplink_result_t,
    err: *mut *mut mcplink_error_t,
) -> mcplink_status_t {
    // SAFETY: the header requires valid arguments.
    unsafe { call(client, options, Out::To(out), err, || resource(uri)) }
}

/// Starts to read a resource without waiting: the non-blocking form of
/// mcplink_client_read_resource.
///
/// callback, user, destroy, out: see mcplink_client_call_tool_start.
/// Returns: see mcplink_client_call_tool_start. Threads: any. Blocks: no. Since 0.1.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_read_resource_start(
    client: *mut mcplink_client_t,
    uri: *const c_char,
    options: *const mcplink_call_options_t,
    callback: mcplink_done_fn,
    user: *mut c_void,
    destroy: mcplink_destroy_fn,
    out: *mut *mut mcplink_call_t,
    err: *mut *mut mcplink_error_t,
) -> mcplink_status_t {
    // SAFETY: the header requires valid arguments.
    unsafe {
        start(client, options, (callback, user, destroy), out, err, || {
            resource(uri)
        })
    }
}

/// Gets a prompt, with the given arguments.
///
/// client: the client.
/// prompt_name: the name of the prompt.
/// arguments, len: a JSON object of strings, which is copied; len may be MCPLINK_NUL for text that
/// ends in NUL. NULL for no arguments.
/// options, out, err: see mcplink_client_call_tool. The result is {"messages":[...]}.
/// Returns: see mcplink_client_call_tool. Threads: any. Blocks: until the call has ended. Since
/// 0.1.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_get_prompt(
    client: *mut mcplink_client_t,
    prompt_name: *const c_char,
    arguments: *const c_char,
    len: usize,
    options: *const mcplink_call_options_t,
    out: *mut *mut mcplink_result_t,
    err: *mut *mut mcplink_error_t,
) -> mcplink_status_t {
    // SAFETY: the header requires valid arguments.
    unsafe {
        call(client, options, Out::To(out), err, || {
            prompt(prompt_name, arguments, len)
        })
    }
}

/// Starts to get a prompt without waiting: the non-blocking form of mcplink_client_get_prompt.
///
/// callback, user, destroy, out: see mcplink_client_call_tool_start.
/// Returns: see mcplink_client_call_tool_start. Threads: any. Blocks: no. Since 0.1.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_get_prompt_start(
    client: *mut mcplink_client_t,
    prompt_name: *const c_char,
    arguments: *const c_char,
    len: usize,
    options: *const mcplink_call_options_t,
    callback: mcplink_done_fn,
    user: *mut c_void,
    destroy: mcplink_destroy_fn,
    out: *mut *mut mcplink_call_t,
    err: *mut *mut mcplink_error_t,
) -> mcplink_status_t {
    // SAFETY: the header requires valid arguments.
    unsafe {
        start(client, options, (callback, user, destroy), out, err, || {
            prompt(prompt_name, arguments, len)
        })
    }
}

/// Requests completions for an argument of a prompt or of a resource template.
///
/// client: the client.
/// of: one of enum mcplink_completion_of.
/// target: the name of the prompt, or the URI template.
/// argument: the name of the argument.
/// typed: the text typed so far; "" for no text.
/// known, len: the known values of other arguments, a JSON object of strings; NULL for no values.
/// len may be MCPLINK_NUL for text that ends in NUL.
/// options, out, err: see mcplink_client_call_tool. The result is {"completion":{"values":[...]}}.
/// Returns: see mcplink_client_call_tool. Threads: any. Blocks: until the call has ended. Since
/// 0.1.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_complete(
    client: *mut mcplink_client_t,
    of: arg::mcplink_completion_of,
    target: *const c_char,
    argument: *const c_char,
    typed: *const c_char,
    known: *const c_char,
    len: usize,
    options: *const mcplink_call_options_t,
    out: *mut *mut mcplink_result_t,
    err: *mut *mut mcplink_error_t,
) -> mcplink_status_t {
    // SAFETY: the header requires valid arguments.
    unsafe {
        call(client, options, Out::To(out), err, || {
            completion(of, target, argument, typed, (known, len))
        })
    }
}

/// Starts to request completions without waiting: the non-blocking form of mcplink_client_complete.
///
/// callback, user, destroy, out: see mcplink_client_call_tool_start.
/// Returns: see mcplink_client_call_tool_start. Threads: any. Blocks: no. Since 0.1.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_complete_start(
    client: *mut mcplink_client_t,
    of: arg::mcplink_completion_of,
    target: *const c_char,
    argument: *const c_char,
    typed: *const c_char,
    known: *const c_char,
    len: usize,
    options: *const mcplink_call_options_t,
    callback: mcplink_done_fn,
    user: *mut c_void,
    destroy: mcplink_destroy_fn,
    out: *mut *mut mcplink_call_t,
    err: *mut *mut mcplink_error_t,
) -> mcplink_status_t {
    // SAFETY: the header requires valid arguments.
    unsafe {
        start(client, options, (callback, user, destroy), out, err, || {
            completion(of, target, argument, typed, (known, len))
        })
    }
}

/// Pings the server.
///
/// client: the client.
/// options, err: see mcplink_client_call_tool.
/// Returns: MCPLINK_OK if the server answers, otherwise see mcplink_client_call_tool. Threads: any.
/// Blocks: until the call has ended. Since 0.1.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_ping(
    client: *mut mcplink_client_t,
    options: *const mcplink_call_options_t,
    err: *mut *mut mcplink_error_t,
) -> mcplink_status_t {
    // SAFETY: the header requires valid arguments.
    unsafe { call(client, options, Out::Nowhere, err, ping) }
}

/// Starts to ping the server without waiting: the non-blocking form of mcplink_client_ping. The
/// result is {}.
///
/// callback, user, destroy, out: see mcplink_client_call_tool_start.
/// Returns: see mcplink_client_call_tool_start. Threads: any. Blocks: no. Since 0.1.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_ping_start(
    client: *mut mcplink_client_t,
    options: *const mcplink_call_options_t,
    callback: mcplink_done_fn,
    user: *mut c_void,
    destroy: mcplink_destroy_fn,
    out: *mut *mut mcplink_call_t,
    err: *mut *mut mcplink_error_t,
) -> mcplink_status_t {
    // SAFETY: the header requires valid arguments.
    unsafe { start(client, options, (callback, user, destroy), out, err, ping) }
}

/// Sends a request of any method, for extensions of the protocol. Input requests of a modern server
/// are not handled: they are returned as the result.
///
/// client: the client.
/// request: the method.
/// params, len: a JSON object, which is copied; len may be MCPLINK_NUL for text that ends in NUL.
/// NULL for no params.
/// options, out, err: see mcplink_client_call_tool. The status is never MCPLINK_TOOL_ERROR.
/// Returns: see mcplink_client_call_tool. Threads: any. Blocks: until the call has ended. Since
/// 0.1.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_request(
    client: *mut mcplink_client_t,
    request: *const c_char,
    params: *const c_char,
    len: usize,
    options: *const mcplink_call_options_t,
    out: *mut *mut mcplink_result_t,
    err: *mut *mut mcplink_error_t,
) -> mcplink_status_t {
    // SAFETY: the header requires valid arguments.
    unsafe {
        call(client, options, Out::To(out), err, || {
            any(request, params, len)
        })
    }
}

/// Starts a request of any method without waiting: the non-blocking form of mcplink_client_request.
///
/// callback, user, destroy, out: see mcplink_client_call_tool_start.
/// Returns: see mcplink_client_call_tool_start. Threads: any. Blocks: no. Since 0.1.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_request_start(
    client: *mut mcplink_client_t,
    request: *const c_char,
    params: *const c_char,
    len: usize,
    options: *const mcplink_call_options_t,
    callback: mcplink_done_fn,
    user: *mut c_void,
    destroy: mcplink_destroy_fn,
    out: *mut *mut mcplink_call_t,
    err: *mut *mut mcplink_error_t,
) -> mcplink_status_t {
    // SAFETY: the header requires valid arguments.
    unsafe {
        start(client, options, (callback, user, destroy), out, err, || {
            any(request, params, len)
        })
    }
}
