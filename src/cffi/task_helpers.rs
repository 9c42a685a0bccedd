//! Functions for long-running handlers: tasks, and closing the SSE stream of a long call.

use super::entry::{ffi, need};
use super::error::mcplink_error_t;
use super::responder::{mcplink_responder_t, refused, unsupported};
use super::status::{mcplink_status, mcplink_status_t};
use crate::cffi::entry::needing;

/// Turns a tool call into a task, if the client supports tasks. The client receives the task at
/// once. Then the handler is run again from its start, as after an answer to an input request. If
/// the task needs input from the client before it begins, request the input before calling this
/// function.
///
/// Tasks require revision 2026-07-28 or later, and a server with mcplink_server_options_set_tasks.
/// Otherwise, and in a call that is a task already, the function does nothing.
///
/// Returns: MCPLINK_OK to continue; MCPLINK_PENDING when the call becomes a task: return without
/// answering. MCPLINK_E_STATE after the answer.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_responder_become_task(
    responder: *mut mcplink_responder_t,
    err: *mut *mut mcplink_error_t,
) -> mcplink_status_t {
    // SAFETY: the header requires valid arguments: a responder of this library, a pointer that can
    // be written to.
    unsafe {
        ffi(err, || {
            let responder = need(responder, "responder")?;
            let become_one = responder.look(|call| Some(call.context()?.become_task()))?;
            match become_one.ok_or_else(unsupported)? {
                Ok(()) => Ok(mcplink_status::MCPLINK_OK),
                Err(error) if error.is_pending() => Ok(mcplink_status::MCPLINK_PENDING),
                Err(error) => Err(refused(&error, "tools/call")),
            }
        })
    }
}

actions! {
    needing(responder: mcplink_responder_t);

    /// Closes the SSE stream on which the call is answered, and makes the client reconnect for the
    /// answer. So a long call needs no open connection. Messages that are sent before the client
    /// reconnects are stored, up to the limits of mcplink_http_options_set_kept_events.
    ///
    /// The function does nothing if a client can't reconnect: on other transports, and in revisions
    /// other than 2025-11-25.
    ///
    /// retry_ms: the delay after which the client should reconnect, in milliseconds.
    /// Returns: MCPLINK_OK; MCPLINK_E_CLOSED or MCPLINK_E_CANCELLED when the client no longer waits
    /// for the answer; MCPLINK_E_STATE after the answer; MCPLINK_E_UNSUPPORTED for custom methods,
    /// and on a client.
    /// Blocks: only while a client does not read.
    fn mcplink_responder_close_stream_and_retry(retry_ms: u32) {
        let sent =
            responder.look(|call| Some(close_stream_and_retry(call.context()?, retry_ms)))?;
        sent.ok_or_else(unsupported)??;
    }
}

fn close_stream_and_retry(context: &crate::server::Context, retry_ms: u32) -> crate::Result<()> {
    context.close_stream_and_retry(std::time::Duration::from_millis(retry_ms.into()))
}
