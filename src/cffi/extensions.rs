//! Functions for handlers that use extensions of the protocol.

use std::ffi::c_char;

use serde_json::value::RawValue;

use super::entry::{need, plain, told};
use super::error::Failure;
use super::json::optional_json;
use super::pending_request::{Answer, Call};
use super::responder::{mcplink_responder_t, unsupported};
use super::status::{mcplink_status, mcplink_status_t};
use super::text::filled;
use crate::cffi::entry::needing;
use crate::error::{Error, ErrorKind, Result};

/// Refuses the request unless the client declared an extension. If possible, work without the
/// extension instead: see mcplink_request_capabilities.
///
/// id: the id of the extension, for example "com.example/reports".
/// Returns: MCPLINK_OK when the client declared the extension. MCPLINK_E_UNSUPPORTED when it did
/// not. Then the request was answered with the refusal: return. For custom methods and on a client
/// the status is MCPLINK_E_UNSUPPORTED too, and the request stays unanswered. MCPLINK_E_STATE after
/// the answer.
/// Blocks: only while a client does not read.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_responder_require_extension(
    responder: *mut mcplink_responder_t,
    id: *const c_char,
) -> mcplink_status_t {
    const NAME: &str = "mcplink_responder_require_extension";
    // SAFETY: the header requires a responder of this library and text that ends in NUL.
    let arguments = unsafe {
        need(responder, "responder").and_then(|responder| Ok((responder, filled(id, "id")?)))
    };
    let (responder, id) = match arguments {
        Ok(arguments) => arguments,
        Err(failure) => return told(NAME, || Err(failure)),
    };
    plain(|| {
        let declared = responder.look(|call| Some(call.context()?.require_extension(id)))?;
        let declared = declared.ok_or_else(unsupported);
        let Err(refusal) = declared.inspect_err(|failure| responder.report(NAME, failure))? else {
            return Ok(mcplink_status::MCPLINK_OK);
        };
        let text = refusal.message.clone();
        responder.answer(Answer::Error(refusal))?;
        Err(Error::new(ErrorKind::Unsupported, text).into())
    })
}

actions! {
    needing(responder: mcplink_responder_t);

    /// Sends the client a notification of the host's own method, which belongs to the request:
    /// before the answer, and over HTTP on the stream of the answer. For notifications that belong
    /// to no request see mcplink_session_notify.
    ///
    /// method: the method, for example "notifications/com.example/moved".
    /// params, len: a JSON object; len may be MCPLINK_NUL for text that ends in NUL. NULL for none.
    /// Returns: MCPLINK_OK; MCPLINK_E_INVALID; MCPLINK_E_CANCELLED or MCPLINK_E_CLOSED when the
    /// client no longer waits for the answer; MCPLINK_E_STATE after the answer;
    /// MCPLINK_E_UNSUPPORTED on a client.
    /// Blocks: only while a client does not read.
    fn mcplink_responder_notify(method: *const c_char, params: *const c_char, len: usize) {
        let method = filled(method, "method")?;
        let params = object(params, len)?;
        let sent = responder.look(|call| notify(call, method, &params))?;
        sent.ok_or_else(unsupported)??;
    }
}

/// Returns `None` for requests to a client.
fn notify(call: &Call, method: &str, params: &RawValue) -> Option<Result<()>> {
    match call {
        Call::Method(responder) => Some(responder.notify(method, &params)),
        call => Some(call.context()?.notify(method, &params)),
    }
}

/// Reads the params of a notification: an object, which is empty for NULL.
///
/// # Safety
///
/// `params` is NULL or has the given length.
pub(super) unsafe fn object(params: *const c_char, len: usize) -> Result<Box<RawValue>, Failure> {
    // SAFETY: the safety contract of this function.
    match unsafe { optional_json(params, len, "params") }? {
        Some(params) if params.get().starts_with('{') => Ok(params.to_owned()),
        Some(_) => Err(Error::new(ErrorKind::Invalid, "params have to be an object").into()),
        None => Ok(RawValue::from_string("{}".to_owned()).expect("this is JSON")),
    }
}
