//! What a handler of long work can do with its call before it goes on.

use super::entry::{ffi, need, plain};
use super::error::mcplink_error_t;
use super::responder::{mcplink_responder_t, refused, unsupported};
use super::status::{mcplink_status, mcplink_status_t};

/// Has the call of a tool become a task here, if the client takes tasks: it gets the task at once, and the handler is run again from its start,
/// as after an answer. To be called behind the questions that have to be answered before.
///
/// Since 2026-07-28, on a server with mcplink_server_options_set_tasks. Elsewhere, and in a call that is a task already, it does nothing.
///
/// responder: the responder, of a call of a tool.
/// err: receives what went wrong; NULL is fine.
/// Returns: MCPLINK_OK to go on; MCPLINK_PENDING when it becomes a task: return without answering. MCPLINK_E_STATE after the answer. Threads:
/// any. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_responder_become_task(
    responder: *mut mcplink_responder_t,
    err: *mut *mut mcplink_error_t,
) -> mcplink_status_t {
    // SAFETY: the header says what they are: a responder of ours, a place that can be written to.
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

/// Ends the HTTP response that the call is being answered with, and has the client come back for the rest of it: in long work, so that no
/// connection is kept open meanwhile. What is sent before it comes back is kept for it, up to mcplink_http_options_set_kept_events.
///
/// Does nothing where a client can't come back: on other transports, and in revisions other than 2025-11-25.
///
/// responder: the responder.
/// retry_ms: after how many milliseconds it should come back.
/// Returns: MCPLINK_OK; MCPLINK_E_CLOSED or MCPLINK_E_CANCELLED when nobody waits any more; MCPLINK_E_STATE after the answer;
/// MCPLINK_E_UNSUPPORTED for methods of one's own, and on a client. Threads: any. Blocks: only while a client does not read. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_responder_send_away(
    responder: *mut mcplink_responder_t,
    retry_ms: u32,
) -> mcplink_status_t {
    plain(|| {
        // SAFETY: the header says that it is a responder of ours.
        let responder = unsafe { need(responder, "responder")? };
        let sent = responder.look(|call| Some(send_away(call.context()?, retry_ms)))?;
        sent.ok_or_else(unsupported)??;
        Ok(mcplink_status::MCPLINK_OK)
    })
}

#[cfg(feature = "http-server")]
fn send_away(context: &crate::server::Context, retry_ms: u32) -> crate::Result<()> {
    context.send_away(std::time::Duration::from_millis(retry_ms.into()))
}

/// Without HTTP there is nobody who could come back.
#[cfg(not(feature = "http-server"))]
fn send_away(_: &crate::server::Context, _: u32) -> crate::Result<()> {
    Ok(())
}
