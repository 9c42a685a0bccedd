//! Tasks: calls whose results are fetched later.

use std::ffi::c_char;
use std::time::Duration;

use serde_json::json;

use super::calling::{Request, act};
use super::shared::mcplink_client_t;
use crate::cffi::arg::span;
use crate::cffi::error::mcplink_error_t;
use crate::cffi::json::optional_json;
use crate::cffi::result::mcplink_result_t;
use crate::cffi::status::mcplink_status_t;
use crate::cffi::text::{self, filled, optional};
use crate::client::{RawToolAnswer, tool_params};
use crate::jsonrpc::RawResult;
use crate::schema::{EmptyResult, TaskRequestParams, method};

calls! {
    client: mcplink_client_t;

    /// Calls a tool as a task, so that the result can be fetched later, also by another client or
    /// another process that has stored the id. A task may end with the connection that created it:
    /// for servers made with this library this is so over streams, and not over HTTP.
    ///
    /// Servers of revision 2025-11-25 create a task if the tool allows it. Since 2026-07-28 the
    /// server decides whether the call becomes a task. It makes tasks only for clients with
    /// mcplink_client_options_set_tasks: for others, the call is a plain one.
    ///
    /// name: the name of the tool.
    /// arguments, len: a JSON object, which is copied; len may be MCPLINK_NUL for text that ends in
    /// NUL. NULL for no arguments.
    /// ttl_ms: how long a server of revision 2025-11-25 should store the task, in milliseconds; 0
    /// or MCPLINK_FOREVER if the server decides. Since 2026-07-28 the server always decides.
    /// options: timeouts and other options of the call; NULL for the defaults. A timeout or a
    /// cancel token ends the call, but not a task that the server has created.
    /// out: receives the answer, or NULL without an answer: a task if mcplink_result_task_id is not
    /// empty, otherwise the result of the tool. The caller owns it and frees it with
    /// mcplink_result_free.
    /// Returns: see mcplink_client_call_tool; MCPLINK_E_UNSUPPORTED when the server or the tool
    /// does not support tasks: then the tool is not called.
    /// Blocks: until the call has become a task or has ended.
    fn mcplink_client_call_tool_as_task(
        name: *const c_char,
        arguments: *const c_char,
        len: usize,
        ttl_ms: u32,
    ) -> mcplink_result_t {
        let tool = text::name(name, "name")?.to_owned();
        let arguments = optional_json(arguments, len, "arguments")?;
        let params = tool_params(&tool, &arguments);
        let ttl = Some(span(ttl_ms)).filter(|ttl| *ttl > Duration::ZERO && *ttl < Duration::MAX);
        Ok(Request::blocking(
            method::TOOLS_CALL,
            move |client, options| match client
                .call_tool_as_task_written(&tool, params, ttl, options)?
            {
                RawToolAnswer::Result(result) => mcplink_result_t::read(method::TOOLS_CALL, result),
                RawToolAnswer::Task(task) => {
                    let created = RawResult::alone(json!({ "taskId": task.id() }).to_string());
                    Ok(mcplink_result_t::of_task(created, task.id()))
                }
            },
        ))
    }
    /// Starts to call a tool as a task without waiting: the non-blocking form of
    /// mcplink_client_call_tool_as_task.
    start mcplink_client_call_tool_as_task_start;

    /// Requests the state of a task. Any client of the server that may see the task can do so: also
    /// one that has only stored the id.
    ///
    /// task_id: the id of the task: see mcplink_result_task_id.
    /// options, out, err: see mcplink_client_call_tool. The result is {"taskId":"...",
    /// "status":"working", ...}. Other statuses are "input_required", "completed", "failed" and
    /// "cancelled".
    /// Returns: see mcplink_client_call_tool; MCPLINK_E_PEER when the server does not know the task
    /// or has removed it.
    fn mcplink_client_task_status(task_id: *const c_char) -> mcplink_result_t {
        let id = filled(task_id, "task_id")?.to_owned();
        Ok(Request::new(method::TASKS_GET, move |client, _| {
            let params = TaskRequestParams::new(id);
            client.prepare_request(method::TASKS_GET, &params, |_, state| {
                mcplink_result_t::read(method::TASKS_GET, state)
            })
        }))
    }
    /// Starts to request the state of a task without waiting: the non-blocking form of
    /// mcplink_client_task_status.
    start mcplink_client_task_status_start;

    /// Waits for the result of a task. The client polls the task at the server's interval, and its
    /// handlers answer the input requests of the task.
    ///
    /// The timeout of the options applies to each request, and the maximum timeout to the whole
    /// wait. If a timeout or a cancel token ends the wait, the task continues: wait again, or
    /// cancel it.
    ///
    /// task_id: the id of the task.
    /// tool: the name of the tool, so that the result is checked against the output schema of the
    /// tool. NULL for no check.
    /// options, out, err: see mcplink_client_call_tool. The result is that of the tool.
    /// Returns: MCPLINK_OK or MCPLINK_TOOL_ERROR with a result; MCPLINK_E_PEER when the task failed
    /// or the server does not know it, MCPLINK_E_CANCELLED when the task or the token was
    /// cancelled, MCPLINK_E_TIMEOUT; otherwise see mcplink_client_call_tool.
    /// Blocks: until the task has ended.
    fn mcplink_client_task_wait(task_id: *const c_char, tool: *const c_char) -> mcplink_result_t {
        let id = filled(task_id, "task_id")?.to_owned();
        let tool = optional(tool, "tool")?.map(str::to_owned);
        Ok(Request::blocking(
            method::TASKS_RESULT,
            move |client, options| {
                let result = client.task_of(id, tool).wait_raw(options)?;
                mcplink_result_t::read(method::TOOLS_CALL, result)
            },
        ))
    }
    /// Starts to wait for the result of a task: the non-blocking form of mcplink_client_task_wait.
    ///
    /// callback, user, destroy, out: see mcplink_client_call_tool_start. Cancelling the call ends
    /// the wait; the task continues.
    start mcplink_client_task_wait_start;

    /// Cancels a task: the server stops the task as soon as it can.
    ///
    /// task_id: the id of the task.
    /// options: see mcplink_client_call_tool.
    /// Returns: see mcplink_client_call_tool; MCPLINK_E_PEER when the server does not know the
    /// task. When the task has ended already, the status is MCPLINK_E_PEER in revision 2025-11-25,
    /// and MCPLINK_OK later.
    fn mcplink_client_task_cancel(task_id: *const c_char) {
        let id = filled(task_id, "task_id")?.to_owned();
        Ok(Request::new(method::TASKS_CANCEL, move |client, _| {
            let params = TaskRequestParams::new(id);
            client.prepare_request(method::TASKS_CANCEL, &params, |client, result| {
                client.decode::<EmptyResult>(method::TASKS_CANCEL, &result)?;
                Ok(mcplink_result_t::empty())
            })
        }))
    }
    /// Starts to cancel a task without waiting: the non-blocking form of
    /// mcplink_client_task_cancel.
    start mcplink_client_task_cancel_start;
}

/// Checks that the server declared an extension. No message is sent. To ask without an error see
/// mcplink_client_server_info.
///
/// id: the id of the extension, for example "com.example/reports".
/// Returns: MCPLINK_OK; MCPLINK_E_UNSUPPORTED when the server did not declare the extension;
/// MCPLINK_E_INVALID.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_require_extension(
    client: *mut mcplink_client_t,
    id: *const c_char,
    err: *mut *mut mcplink_error_t,
) -> mcplink_status_t {
    // SAFETY: the header requires valid arguments.
    unsafe {
        act(client, err, "", |_, client| {
            Ok(client.require_extension(filled(id, "id")?)?)
        })
    }
}
