//! The calls of a client, each in a blocking and a non-blocking form.

use std::collections::BTreeMap;
use std::ffi::c_char;

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::calling::Request;
use super::shared::mcplink_client_t;
use crate::cffi::arg;
use crate::cffi::arg::invalid;
use crate::cffi::entry::Outcome;
use crate::cffi::json::optional_json;
use crate::cffi::result::{SharedResult, mcplink_result_t};
use crate::cffi::server::mcplink_primitive;
use crate::cffi::text::{self, name};
use crate::client::{CallOptions, Client, tool_params};
use crate::error::Result;
use crate::jsonrpc::RawResult;
use crate::schema::{CompleteRequestParams, CompleteResult, GetPromptResult, method};

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

/// Returns a function that reads the result of a method.
fn read(method: &'static str) -> impl FnOnce(RawResult) -> Result<SharedResult> + Send {
    move |result| mcplink_result_t::read(method, result)
}

/// Returns a function that reads the result of a method. In strict mode, it refuses a result that
/// violates the specification.
fn checked<R: DeserializeOwned>(
    method: &'static str,
) -> impl FnOnce(&Client, RawResult) -> Result<SharedResult> + Send {
    move |client, result| {
        client.check_strictly::<R>(method, &result)?;
        mcplink_result_t::read(method, result)
    }
}

calls! {
    client: mcplink_client_t;

    /// Calls a tool, and waits for its result.
    ///
    /// A tool that ran and failed is not a failure of the call: the status is MCPLINK_TOOL_ERROR,
    /// and the result contains the reason.
    ///
    /// name: the name of the tool.
    /// arguments, len: a JSON object, which is copied; len may be MCPLINK_NUL for text that ends in
    /// NUL. NULL for no arguments.
    /// options: timeouts and other options of the call; NULL for the defaults.
    /// out: receives the result, or NULL without a result. The caller owns it and frees it with
    /// mcplink_result_free.
    /// Returns: MCPLINK_OK or MCPLINK_TOOL_ERROR with a result; MCPLINK_E_INVALID for invalid
    /// arguments of this function, MCPLINK_E_UNSUPPORTED when the server has no tools,
    /// MCPLINK_E_PEER when the server refuses, MCPLINK_E_TIMEOUT and MCPLINK_E_CANCELLED (the
    /// server is notified), MCPLINK_E_CLOSED when the server has disconnected, MCPLINK_E_PROTOCOL
    /// when the server's answer is invalid.
    fn mcplink_client_call_tool(
        name: *const c_char,
        arguments: *const c_char,
        len: usize,
    ) -> mcplink_result_t {
        let tool = text::name(name, "name")?.to_owned();
        let arguments = optional_json(arguments, len, "arguments")?;
        let params = tool_params(&tool, &arguments);
        let own = tool.clone();
        let prepare = move |client: &Client, options: &mut CallOptions<'_>| {
            client.prepare_tool(&own, params, options, read(method::TOOLS_CALL))
        };
        Ok(Request::new(method::TOOLS_CALL, prepare).of_tool(tool))
    }
    /// Starts a tool call without waiting: the non-blocking form of mcplink_client_call_tool.
    ///
    /// All functions whose names end in _start have these parameters in common:
    ///
    /// callback: receives the outcome, exactly once, after the progress of the call. The callback
    /// runs on the thread that runs the client's callbacks. May be NULL.
    /// user, destroy: passed to callback; destroy runs after callback, or at once when the call
    /// can't be started.
    /// out: receives a handle to wait for the call or to cancel it; the caller frees it with
    /// mcplink_call_free. May be NULL.
    /// Returns: MCPLINK_OK when the call was started; MCPLINK_E_INVALID for invalid arguments,
    /// MCPLINK_E_BUSY when the limit of started calls is reached
    /// (mcplink_client_options_set_max_started). Other errors are the outcome of the call.
    start mcplink_client_call_tool_start;

    /// Reads a resource.
    ///
    /// uri: the URI of the resource.
    /// options, out, err: see mcplink_client_call_tool. The result is {"contents":[...]}: see
    /// mcplink_result_text and mcplink_result_content_bytes.
    /// Returns: see mcplink_client_call_tool; also MCPLINK_E_PEER when the resource does not exist.
    fn mcplink_client_read_resource(uri: *const c_char) -> mcplink_result_t {
        let uri = name(uri, "uri")?.to_owned();
        Ok(Request::new(
            method::RESOURCES_READ,
            move |client, options| {
                client.prepare_resource(&uri, options, read(method::RESOURCES_READ))
            },
        ))
    }
    /// Starts to read a resource without waiting: the non-blocking form of
    /// mcplink_client_read_resource.
    start mcplink_client_read_resource_start;

    /// Gets a prompt, with the given arguments.
    ///
    /// name: the name of the prompt.
    /// arguments, len: a JSON object of strings, which is copied; len may be MCPLINK_NUL for text
    /// that ends in NUL. NULL for no arguments.
    /// options, out, err: see mcplink_client_call_tool. The result is {"messages":[...]}.
    fn mcplink_client_get_prompt(
        name: *const c_char,
        arguments: *const c_char,
        len: usize,
    ) -> mcplink_result_t {
        let prompt = text::name(name, "name")?.to_owned();
        let arguments = texts(arguments, len, "arguments")?;
        Ok(Request::new(method::PROMPTS_GET, move |client, _| {
            let arguments: Vec<(&str, &str)> = arguments
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_str()))
                .collect();
            let read = checked::<GetPromptResult>(method::PROMPTS_GET);
            client.prepare_prompt(&prompt, &arguments, read)
        }))
    }
    /// Starts to get a prompt without waiting: the non-blocking form of mcplink_client_get_prompt.
    start mcplink_client_get_prompt_start;

    /// Requests completions for an argument of a prompt or of a resource template.
    ///
    /// primitive: MCPLINK_PRIMITIVE_PROMPT or MCPLINK_PRIMITIVE_TEMPLATE.
    /// target: the name of the prompt, or the URI template.
    /// argument: the name of the argument.
    /// value: the text that the user has typed so far; "" for no text.
    /// known, len: the known values of other arguments, a JSON object of strings; NULL for no
    /// values. len may be MCPLINK_NUL for text that ends in NUL.
    /// options, out, err: see mcplink_client_call_tool. The result is
    /// {"completion":{"values":[...]}}.
    fn mcplink_client_complete(
        primitive: arg::mcplink_primitive,
        target: *const c_char,
        argument: *const c_char,
        value: *const c_char,
        known: *const c_char,
        len: usize,
    ) -> mcplink_result_t {
        let reference = mcplink_primitive::reference(primitive, name(target, "target")?)?;
        let params = CompleteRequestParams::new(
            reference,
            name(argument, "argument")?,
            name(value, "value")?,
        );
        let known = texts(known, len, "known")?.into_iter();
        let params = known.fold(params, |params, (name, value)| params.known(name, value));
        Ok(Request::new(
            method::COMPLETION_COMPLETE,
            move |client, _| {
                let read = checked::<CompleteResult>(method::COMPLETION_COMPLETE);
                client.prepare_complete(params, read)
            },
        ))
    }
    /// Starts to request completions without waiting: the non-blocking form of
    /// mcplink_client_complete.
    start mcplink_client_complete_start;

    /// Pings the server.
    ///
    /// options, err: see mcplink_client_call_tool.
    /// Returns: MCPLINK_OK if the server answers, otherwise see mcplink_client_call_tool.
    fn mcplink_client_ping() {
        Ok(Request::new(method::PING, |client, _| {
            client.prepare_ping(|| Ok(mcplink_result_t::empty()))
        }))
    }
    /// Starts to ping the server without waiting: the non-blocking form of mcplink_client_ping. The
    /// result is {}.
    start mcplink_client_ping_start;

    /// Sends a request of any method, for extensions of the protocol. Input requests of a modern
    /// server are not handled: they are returned as the result.
    ///
    /// method: the method.
    /// params, len: a JSON object, which is copied; len may be MCPLINK_NUL for text that ends in
    /// NUL. NULL for no params.
    /// options, out, err: see mcplink_client_call_tool. The status is never MCPLINK_TOOL_ERROR.
    fn mcplink_client_request(
        method: *const c_char,
        params: *const c_char,
        len: usize,
    ) -> mcplink_result_t {
        let method = name(method, "method")?.to_owned();
        let params = optional_json(params, len, "params")?.map(RawValue::to_owned);
        let own = method.clone();
        Ok(Request::new(method, move |client, _| {
            client.prepare_request(&own, &params, |_, result| Ok(mcplink_result_t::new(result)))
        }))
    }
    /// Starts a request of any method without waiting: the non-blocking form of
    /// mcplink_client_request.
    start mcplink_client_request_start;
}
