//! Functions that answer a request.

use std::ffi::{c_char, c_void};

use super::entry::{Outcome, need, plain, told};
use super::json::json_payload;
use super::pending_request::Answer;
use super::request::mcplink_request_t;
use super::responder::mcplink_responder_t;
use super::status::{mcplink_status, mcplink_status_t};
use super::text::{bytes, missing, name, optional, payload};
use crate::error::{ErrorCode, Result, RpcError};

/// Handles a request from the peer: from the client on a server, or from the server on a client.
/// The handler answers the request before it returns. A handler that keeps the responder may answer
/// later, from any thread.
///
/// request: the request, valid until the handler returns, or as long as a responder that was kept.
/// responder: answers the request; valid until the handler returns: see mcplink_responder_keep.
pub type mcplink_handler_fn = Option<
    unsafe extern "C-unwind" fn(
        user: *mut c_void,
        request: *const mcplink_request_t,
        responder: *mut mcplink_responder_t,
    ),
>;

/// A JSON-RPC error code that the protocol defines. A host's own codes must be outside the range
/// -32768 to -32000.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum mcplink_rpc_code {
    /// The user rejected the request.
    MCPLINK_RPC_USER_REJECTED = -1,
    /// The request is invalid in the current state.
    MCPLINK_RPC_INVALID_REQUEST = -32600,
    /// The method does not exist.
    MCPLINK_RPC_METHOD_NOT_FOUND = -32601,
    /// The params of the request, or a name in the params, are invalid.
    MCPLINK_RPC_INVALID_PARAMS = -32602,
    /// The peer that answers the request has an internal error.
    MCPLINK_RPC_INTERNAL_ERROR = -32603,
    /// A resource does not exist. Newer protocol revisions use another code, so answer with
    /// mcplink_responder_not_found.
    MCPLINK_RPC_RESOURCE_NOT_FOUND = -32002,
    /// The user must visit web pages before the request can succeed. Only revision 2025-11-25 has
    /// this code.
    MCPLINK_RPC_URL_ELICITATION_REQUIRED = -32042,
}

pub(super) fn code_of(code: i32) -> Result<ErrorCode> {
    use mcplink_rpc_code as Code;
    let known = [
        Code::MCPLINK_RPC_USER_REJECTED,
        Code::MCPLINK_RPC_INVALID_REQUEST,
        Code::MCPLINK_RPC_METHOD_NOT_FOUND,
        Code::MCPLINK_RPC_INVALID_PARAMS,
        Code::MCPLINK_RPC_INTERNAL_ERROR,
        Code::MCPLINK_RPC_RESOURCE_NOT_FOUND,
        Code::MCPLINK_RPC_URL_ELICITATION_REQUIRED,
    ];
    match known.iter().any(|known| *known as i32 == code) {
        true => Ok(ErrorCode::of(code.into())),
        false => ErrorCode::application(code),
    }
}

/// Runs the body of an action that answers a request. `what` is the name of the parameter, and
/// `function` the name of the C function, for the log.
///
/// # Safety
///
/// `responder` is NULL or a live responder.
pub(super) unsafe fn answering(
    responder: *mut mcplink_responder_t,
    what: &str,
    function: &str,
    answer: impl FnOnce(&mcplink_responder_t) -> Outcome<()>,
) -> mcplink_status_t {
    // SAFETY: the safety contract of this function.
    let responder = match unsafe { need(responder, what) } {
        Ok(responder) => responder,
        Err(failure) => return told(function, || Err(failure)),
    };
    plain(|| {
        let answered = answer(&responder);
        answered.inspect_err(|failure| responder.report(function, failure))?;
        Ok(mcplink_status::MCPLINK_OK)
    })
}

actions! {
    answering(responder: mcplink_responder_t);

    /// Answers with text: the output of a tool, the contents of a resource, or a prompt of one user
    /// message. The contents of a resource get the MIME type with which the resource was added.
    ///
    /// All functions that answer return the same codes. MCPLINK_OK: the answer was accepted for
    /// sending. MCPLINK_E_STATE: the request was answered before. MCPLINK_E_CANCELLED or
    /// MCPLINK_E_CLOSED: the peer no longer waits, and nothing is sent.
    ///
    /// MCPLINK_E_INVALID: the answer is invalid. MCPLINK_E_UNSUPPORTED: this function can't answer
    /// a request of this kind. In both cases the request can still be answered, and the reason is
    /// logged. If the handler has requested input from the client, the answer is not sent. The
    /// handler is run again when the input has arrived.
    ///
    /// text, len: the text; len may be MCPLINK_NUL for text that ends in NUL.
    /// Returns: one of the codes above.
    /// Blocks: only while a client does not read.
    fn mcplink_responder_text(text: *const c_char, len: usize) {
        let text = payload(text, len, "text")?.to_owned();
        responder.answer(Answer::Text(text, None))?;
    }

    /// Answers with the contents of a resource, as text of the given MIME type.
    ///
    /// text, len: the text; len may be MCPLINK_NUL for text that ends in NUL.
    /// mime_type: for example "text/markdown"; NULL for the MIME type with which the resource was
    /// added.
    /// Returns: see mcplink_responder_text.
    /// Blocks: only while a client does not read.
    fn mcplink_responder_typed_text(text: *const c_char, len: usize, mime_type: *const c_char) {
        let text = payload(text, len, "text")?.to_owned();
        let mime_type = optional(mime_type, "mime_type")?.map(str::to_owned);
        responder.answer(Answer::Text(text, mime_type))?;
    }

    /// Answers with bytes: the contents of a resource, or an image or audio that a tool returns.
    ///
    /// data, len: the bytes.
    /// mime_type: the MIME type of the bytes; NULL for the type with which the resource was added.
    /// For a tool the type is image/... or audio/...
    /// Returns: see mcplink_responder_text.
    /// Blocks: only while a client does not read.
    fn mcplink_responder_bytes(data: *const c_void, len: usize, mime_type: *const c_char) {
        let bytes = bytes(data, len, "data")?.to_owned();
        let mime_type = optional(mime_type, "mime_type")?.map(str::to_owned);
        responder.answer(Answer::Bytes(bytes, mime_type))?;
    }

    /// Answers with a complete result in the format of the protocol. A tool result is
    /// {"content":[...]}, a resource {"contents":[...]}, a prompt {"messages":[...]}, a completion
    /// {"completion":{"values":[...]}}. For a custom method, and for a request from a server, the
    /// result may be any JSON.
    ///
    /// result, len: the result as JSON; len may be MCPLINK_NUL for text that ends in NUL.
    /// Returns: see mcplink_responder_text.
    /// Blocks: only while a client does not read.
    fn mcplink_responder_json(result: *const c_char, len: usize) {
        let result = json_payload(result, len, "result")?;
        responder.answer(Answer::Whole(result.to_owned()))?;
    }

    /// Answers a tool call with structured content. The JSON text of the value is sent too, for
    /// clients that only read text.
    ///
    /// json, len: the value, as the output schema of the tool describes it; len may be MCPLINK_NUL
    /// for text that ends in NUL.
    /// Returns: see mcplink_responder_text.
    /// Blocks: only while a client does not read.
    fn mcplink_responder_structured(json: *const c_char, len: usize) {
        let json = json_payload(json, len, "json")?;
        responder.answer(Answer::Structured(json.to_owned()))?;
    }

    /// Answers that the tool ran and failed. The text explains the failure to the model, for
    /// example a wrong argument or a missing file.
    ///
    /// text, len: what failed, and what to do; len may be MCPLINK_NUL for text that ends in NUL.
    /// Returns: see mcplink_responder_text.
    /// Blocks: only while a client does not read.
    fn mcplink_responder_tool_error(text: *const c_char, len: usize) {
        let text = payload(text, len, "text")?;
        responder.answer(Answer::ToolError(text.to_owned()))?;
    }

    /// Answers a completion with values, the best value first. Only the first 100 values are sent.
    ///
    /// values, count: the values, texts that end in NUL.
    /// fitting: true to remove values that do not match the typed text, and to sort the remaining
    /// values. Values that begin with the typed text come first. Then come values with a word that
    /// begins with the text, and values that contain the text. Values that contain the letters of
    /// the text in order come last.
    /// Returns: see mcplink_responder_text.
    /// Blocks: only while a client does not read.
    fn mcplink_responder_values(values: *const *const c_char, count: usize, fitting: bool) {
        if values.is_null() && count > 0 {
            return Err(missing("values").into());
        }
        let values = (0..count)
            .map(|index| Ok(name(*values.add(index), "a value")?.to_owned()))
            .collect::<Result<Vec<_>>>()?;
        responder.answer(match fitting {
            true => Answer::BestOf(values),
            false => Answer::Values(values),
        })?;
    }

    /// Answers that the resource does not exist, with the error code of the client's revision.
    ///
    /// Returns: see mcplink_responder_text.
    /// Blocks: only while a client does not read.
    fn mcplink_responder_not_found() {
        responder.answer(Answer::NotFound)?;
    }

    /// Answers that the request failed inside of the host. The peer gets "internal error" without
    /// the reason, since the reason may have names, paths or secrets of the host.
    ///
    /// The reason is logged as an error, and reported as an event of kind
    /// MCPLINK_SERVER_HANDLER_FAILED. An error that no log hook gets is written to standard error,
    /// once for each text.
    ///
    /// reason, len: the reason; len may be MCPLINK_NUL for text that ends in NUL.
    /// Returns: see mcplink_responder_text.
    /// Blocks: only while a client does not read.
    fn mcplink_responder_internal_error(reason: *const c_char, len: usize) {
        let reason = payload(reason, len, "reason")?;
        responder.answer(Answer::Failure(reason.to_owned()))?;
    }

    /// Answers with a JSON-RPC error. For a tool that failed, use mcplink_responder_tool_error
    /// instead, because models read tool errors.
    ///
    /// code: an mcplink_rpc_code, or a code of your own outside -32768 to -32000.
    /// message: one sentence.
    /// data: details as JSON; NULL for no details.
    /// Returns: see mcplink_responder_text.
    /// Blocks: only while a client does not read.
    fn mcplink_responder_fail(code: i32, message: *const c_char, data: *const c_char) {
        let mut error = RpcError::new(code_of(code)?, name(message, "message")?);
        if !data.is_null() {
            error.data = Some(json_payload(data, super::text::NUL, "data")?.to_owned());
        }
        responder.answer(Answer::Error(error))?;
    }
}
