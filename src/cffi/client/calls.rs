//! The calls of a client, each in a form that waits and one that does not.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::{c_char, c_void};

use serde_json::value::RawValue;

use super::call::{mcplink_call_t, mcplink_done_fn, start};
use super::call_options::mcplink_call_options_t;
use super::calling::{Out, Request, Work, call};
use super::mcplink_client_t;
use super::options::invalid;
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

/// # Safety
///
/// The texts are NULL, or end in NUL, or have their length.
unsafe fn tool(tool: *const c_char, arguments: *const c_char, len: usize) -> Outcome<Request> {
    // SAFETY: the caller promises the same.
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

/// # Safety
///
/// The text is NULL or ends in NUL.
unsafe fn resource(uri: *const c_char) -> Outcome<Request> {
    // SAFETY: the caller promises the same.
    let uri = unsafe { name(uri, "uri") }?.to_owned();
    Ok(Request::new(
        method::RESOURCES_READ,
        move |client, options| {
            let result = client.read_resource_raw(&uri, options)?;
            mcplink_result_t::read(method::RESOURCES_READ, result)
        },
    ))
}

/// # Safety
///
/// The texts are NULL, or end in NUL, or have their length.
unsafe fn prompt(prompt: *const c_char, arguments: *const c_char, len: usize) -> Outcome<Request> {
    // SAFETY: the caller promises the same.
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

/// Texts by name, as a JSON object.
///
/// # Safety
///
/// The text is NULL or has its length.
unsafe fn texts(json: *const c_char, len: usize, what: &str) -> Outcome<BTreeMap<String, String>> {
    // SAFETY: the caller promises the same.
    let Some(json) = unsafe { optional_json(json, len, what) }? else {
        return Ok(BTreeMap::new());
    };
    let texts = serde_json::from_str(json.get());
    let what = |error| invalid(format!("{what} have to be an object of strings: {error}"));
    Ok(texts.map_err(what)?)
}

/// # Safety
///
/// The texts are NULL, or end in NUL, or have their length.
unsafe fn completion(
    of: i32,
    target: *const c_char,
    argument: *const c_char,
    typed: *const c_char,
    known: (*const c_char, usize),
) -> Outcome<Request> {
    use mcplink_completion_of as Of;
    // SAFETY: the caller promises the same.
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

/// # Safety
///
/// The texts are NULL, or end in NUL, or have their length.
unsafe fn any(method: *const c_char, params: *const c_char, len: usize) -> Outcome<Request> {
    // SAFETY: the caller promises the same.
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
    })
}

/// Calls a tool, and waits for its result.
///
/// That the tool ran and failed is no failure of the call: the status is MCPLINK_TOOL_ERROR then, and the result says why.
///
/// client: the client.
/// tool_name: the name of the tool.
/// arguments, len: a JSON object, copied; MCPLINK_NUL measures it. NULL for none.
/// options: how to wait; NULL for the defaults.
/// out: receives the result, NULL without one. The caller's to free.
/// err: receives what went wrong; NULL is fine.
/// Returns: MCPLINK_OK or MCPLINK_TOOL_ERROR with a result; MCPLINK_E_INVALID for wrong arguments of this function, MCPLINK_E_UNSUPPORTED when the
/// server has no tools, MCPLINK_E_PEER when it refuses, MCPLINK_E_TIMEOUT and MCPLINK_E_CANCELLED (the server is told), MCPLINK_E_CLOSED when it has
/// gone, MCPLINK_E_PROTOCOL when its answer is none. Threads: any; in callbacks too. Blocks: until there is an outcome. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
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
    // SAFETY: the header says what they are.
    unsafe {
        call(client, options, Out::To(out), err, || {
            tool(tool_name, arguments, len)
        })
    }
}

/// Starts to call a tool: as mcplink_client_call_tool, without waiting.
///
/// All functions whose names end in _start are alike in this:
///
/// callback: gets the outcome, exactly once, where the callbacks of the client run, behind the progress of the call. NULL is fine.
/// user, destroy: passed to callback, and ended behind it, or at once when the call can't be started.
/// out: receives a handle to wait with or to cancel with, the caller's to free. NULL is fine.
/// Returns: MCPLINK_OK when the call was started; MCPLINK_E_INVALID for wrong arguments, MCPLINK_E_STATE while the client is being connected,
/// MCPLINK_E_BUSY when as many calls go on as may (mcplink_client_options_set_max_started). All else comes as the outcome. Threads: any. Blocks:
/// no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
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
    // SAFETY: the header says what they are.
    unsafe {
        start(client, options, (callback, user, destroy), out, err, || {
            tool(tool_name, arguments, len)
        })
    }
}

/// Reads a resource.
///
/// client: the client.
/// uri: of the resource.
/// options, out, err: as mcplink_client_call_tool. The result is {"contents":[...]}: see mcplink_result_text and mcplink_result_content_bytes.
/// Returns: as mcplink_client_call_tool; MCPLINK_E_PEER too when there is no such resource. Threads: any. Blocks: until there is an outcome. Since
/// 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_read_resource(
    client: *mut mcplink_client_t,
    uri: *const c_char,
    options: *const mcplink_call_options_t,
    out: *mut *mut mcplink_result_t,
    err: *mut *mut mcplink_error_t,
) -> mcplink_status_t {
    // SAFETY: the header says what they are.
    unsafe { call(client, options, Out::To(out), err, || resource(uri)) }
}

/// Starts to read a resource: as mcplink_client_read_resource, without waiting.
///
/// callback, user, destroy, out: as mcplink_client_call_tool_start.
/// Returns: as mcplink_client_call_tool_start. Threads: any. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
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
    // SAFETY: the header says what they are.
    unsafe {
        start(client, options, (callback, user, destroy), out, err, || {
            resource(uri)
        })
    }
}

/// Gets a prompt, with the values of its arguments.
///
/// client: the client.
/// prompt_name: the name of the prompt.
/// arguments, len: a JSON object of strings, copied; MCPLINK_NUL measures it. NULL for none.
/// options, out, err: as mcplink_client_call_tool. The result is {"messages":[...]}.
/// Returns: as mcplink_client_call_tool. Threads: any. Blocks: until there is an outcome. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
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
    // SAFETY: the header says what they are.
    unsafe {
        call(client, options, Out::To(out), err, || {
            prompt(prompt_name, arguments, len)
        })
    }
}

/// Starts to get a prompt: as mcplink_client_get_prompt, without waiting.
///
/// callback, user, destroy, out: as mcplink_client_call_tool_start.
/// Returns: as mcplink_client_call_tool_start. Threads: any. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
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
    // SAFETY: the header says what they are.
    unsafe {
        start(client, options, (callback, user, destroy), out, err, || {
            prompt(prompt_name, arguments, len)
        })
    }
}

/// Asks how an argument of a prompt or of a resource template can be completed.
///
/// client: the client.
/// of: one of enum mcplink_completion_of.
/// target: the name of the prompt, or the URI template.
/// argument: which argument.
/// typed: what is typed so far; "" for nothing.
/// known, len: the other arguments that are known, a JSON object of strings; NULL for none. MCPLINK_NUL measures it.
/// options, out, err: as mcplink_client_call_tool. The result is {"completion":{"values":[...]}}.
/// Returns: as mcplink_client_call_tool. Threads: any. Blocks: until there is an outcome. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_complete(
    client: *mut mcplink_client_t,
    of: i32,
    target: *const c_char,
    argument: *const c_char,
    typed: *const c_char,
    known: *const c_char,
    len: usize,
    options: *const mcplink_call_options_t,
    out: *mut *mut mcplink_result_t,
    err: *mut *mut mcplink_error_t,
) -> mcplink_status_t {
    // SAFETY: the header says what they are.
    unsafe {
        call(client, options, Out::To(out), err, || {
            completion(of, target, argument, typed, (known, len))
        })
    }
}

/// Starts to ask how an argument can be completed: as mcplink_client_complete, without waiting.
///
/// callback, user, destroy, out: as mcplink_client_call_tool_start.
/// Returns: as mcplink_client_call_tool_start. Threads: any. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_complete_start(
    client: *mut mcplink_client_t,
    of: i32,
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
    // SAFETY: the header says what they are.
    unsafe {
        start(client, options, (callback, user, destroy), out, err, || {
            completion(of, target, argument, typed, (known, len))
        })
    }
}

/// Asks whether the server is there.
///
/// client: the client.
/// options, err: as mcplink_client_call_tool.
/// Returns: MCPLINK_OK if it is, else as mcplink_client_call_tool. Threads: any. Blocks: until there is an outcome. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_ping(
    client: *mut mcplink_client_t,
    options: *const mcplink_call_options_t,
    err: *mut *mut mcplink_error_t,
) -> mcplink_status_t {
    // SAFETY: the header says what they are.
    unsafe { call(client, options, Out::Nowhere, err, ping) }
}

/// Starts to ask whether the server is there: as mcplink_client_ping, without waiting. The result is {}.
///
/// callback, user, destroy, out: as mcplink_client_call_tool_start.
/// Returns: as mcplink_client_call_tool_start. Threads: any. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
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
    // SAFETY: the header says what they are.
    unsafe { start(client, options, (callback, user, destroy), out, err, ping) }
}

/// Sends a request of any method, for extensions of the protocol. What a modern server asks first is not answered: the result says so then.
///
/// client: the client.
/// request: the method.
/// params, len: a JSON object, copied; MCPLINK_NUL measures it. NULL for none.
/// options, out, err: as mcplink_client_call_tool. The result is never MCPLINK_TOOL_ERROR.
/// Returns: as mcplink_client_call_tool. Threads: any. Blocks: until there is an outcome. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
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
    // SAFETY: the header says what they are.
    unsafe {
        call(client, options, Out::To(out), err, || {
            any(request, params, len)
        })
    }
}

/// Starts to send a request of any method: as mcplink_client_request, without waiting.
///
/// callback, user, destroy, out: as mcplink_client_call_tool_start.
/// Returns: as mcplink_client_call_tool_start. Threads: any. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
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
    // SAFETY: the header says what they are.
    unsafe {
        start(client, options, (callback, user, destroy), out, err, || {
            any(request, params, len)
        })
    }
}
