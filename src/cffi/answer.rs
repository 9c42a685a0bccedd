//! Answering a request.

use std::ffi::{c_char, c_void};

use super::entry::{Outcome, need, plain};
use super::json::json_payload;
use super::request::mcplink_request_t;
use super::responder::mcplink_responder_t;
use super::served::Answer;
use super::status::mcplink_status_t;
use super::text::{bytes, missing, name, optional, payload};
use crate::error::{ErrorCode, Result, RpcError};

/// Answers a request, on a server or, for what a server asks, on a client: before it returns, or later, from any thread, if it keeps the
/// responder. Both arguments are borrowed until it returns.
pub type mcplink_handler_fn = Option<
    unsafe extern "C-unwind" fn(
        user: *mut c_void,
        request: *const mcplink_request_t,
        responder: *mut mcplink_responder_t,
    ),
>;

/// Codes of errors that the protocol defines. Codes of one's own are outside -32768 to -32000.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum mcplink_rpc_code {
    /// The user said no.
    MCPLINK_RPC_USER_REJECTED = -1,
    /// The request is not one that can be answered now.
    MCPLINK_RPC_INVALID_REQUEST = -32600,
    /// There is no such method.
    MCPLINK_RPC_METHOD_NOT_FOUND = -32601,
    /// The params, or a name in them, are wrong.
    MCPLINK_RPC_INVALID_PARAMS = -32602,
    /// Something failed in the one who answers.
    MCPLINK_RPC_INTERNAL_ERROR = -32603,
    /// A resource does not exist; mcplink_responder_not_found says it in the way of the client's revision.
    MCPLINK_RPC_RESOURCE_NOT_FOUND = -32002,
    /// Pages have to be visited first (2025-11-25 only).
    MCPLINK_RPC_URL_ELICITATION_REQUIRED = -32042,
}

fn code_of(code: i32) -> Result<ErrorCode> {
    use mcplink_rpc_code as Code;
    let known = [
        (Code::MCPLINK_RPC_USER_REJECTED, ErrorCode::USER_REJECTED),
        (
            Code::MCPLINK_RPC_INVALID_REQUEST,
            ErrorCode::INVALID_REQUEST,
        ),
        (
            Code::MCPLINK_RPC_METHOD_NOT_FOUND,
            ErrorCode::METHOD_NOT_FOUND,
        ),
        (Code::MCPLINK_RPC_INVALID_PARAMS, ErrorCode::INVALID_PARAMS),
        (Code::MCPLINK_RPC_INTERNAL_ERROR, ErrorCode::INTERNAL_ERROR),
        (
            Code::MCPLINK_RPC_RESOURCE_NOT_FOUND,
            ErrorCode::RESOURCE_NOT_FOUND,
        ),
        (
            Code::MCPLINK_RPC_URL_ELICITATION_REQUIRED,
            ErrorCode::URL_ELICITATION_REQUIRED,
        ),
    ];
    match known.into_iter().find(|(known, _)| *known as i32 == code) {
        Some((_, known)) => Ok(known),
        None => ErrorCode::application(code),
    }
}

/// Answers, as all functions here do.
///
/// # Safety
///
/// `responder` is NULL or one of ours that lives.
unsafe fn answer(
    responder: *mut mcplink_responder_t,
    answer: impl FnOnce() -> Outcome<Answer>,
) -> mcplink_status_t {
    plain(|| {
        // SAFETY: the caller promises the same.
        let responder = unsafe { need(responder, "responder") }?;
        responder.answer(answer()?)
    })
}

/// Answers with text: what a tool says, what is in a resource (of the MIME type it was added with), a prompt of one message of the user's.
///
/// All functions that answer return the same: MCPLINK_OK when the answer is on its way; MCPLINK_E_STATE when the request was answered before,
/// MCPLINK_E_CANCELLED or MCPLINK_E_CLOSED when nobody waits any more: nothing is sent then. MCPLINK_E_INVALID for what can't be the answer,
/// and MCPLINK_E_UNSUPPORTED for what such a request can't be answered with: it can still be answered then, and the log hook of the server
/// has the reason. An answer to a handler that has asked the client something is not sent: the handler is run again first.
///
/// responder: the responder.
/// text, len: the text; MCPLINK_NUL measures it.
/// Returns: see above. Threads: any. Blocks: only while a client does not read. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_responder_text(
    responder: *mut mcplink_responder_t,
    text: *const c_char,
    len: usize,
) -> mcplink_status_t {
    // SAFETY: the header says that they are a responder of ours and text with its length.
    unsafe { mcplink_responder_typed_text(responder, text, len, std::ptr::null()) }
}

/// Answers with text of a MIME type: what is in a resource.
///
/// responder: the responder.
/// text, len: the text; MCPLINK_NUL measures it.
/// mime_type: for example "text/markdown"; NULL for that which the resource was added with.
/// Returns: as mcplink_responder_text. Threads: any. Blocks: only while a client does not read. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_responder_typed_text(
    responder: *mut mcplink_responder_t,
    text: *const c_char,
    len: usize,
    mime_type: *const c_char,
) -> mcplink_status_t {
    // SAFETY: the header says that they are a responder of ours, text with its length, and text that ends in NUL.
    unsafe {
        answer(responder, || {
            Ok(Answer::Text {
                text: payload(text, len, "text")?.to_owned(),
                mime_type: optional(mime_type, "mime_type")?.map(str::to_owned),
            })
        })
    }
}

/// Answers with bytes: what is in a resource, or what a tool shows or plays.
///
/// responder: the responder.
/// data, len: the bytes.
/// mime_type: what they are; NULL for that which the resource was added with. For a tool image/... or audio/...
/// Returns: as mcplink_responder_text. Threads: any. Blocks: only while a client does not read. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_responder_bytes(
    responder: *mut mcplink_responder_t,
    data: *const u8,
    len: usize,
    mime_type: *const c_char,
) -> mcplink_status_t {
    // SAFETY: the header says that they are a responder of ours, bytes with their length, and text that ends in NUL.
    unsafe {
        answer(responder, || {
            Ok(Answer::Bytes {
                bytes: bytes(data.cast(), len, "data")?.to_owned(),
                mime_type: optional(mime_type, "mime_type")?.map(str::to_owned),
            })
        })
    }
}

/// Answers with a whole result, as the protocol writes it: of a tool {"content":[...]}, of a resource {"contents":[...]}, of a prompt
/// {"messages":[...]}, of a completion {"completion":{"values":[...]}}; of a method of one's own, and of what a server asks, anything.
///
/// responder: the responder.
/// result, len: the result as JSON; MCPLINK_NUL measures it.
/// Returns: as mcplink_responder_text. Threads: any. Blocks: only while a client does not read. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_responder_json(
    responder: *mut mcplink_responder_t,
    result: *const c_char,
    len: usize,
) -> mcplink_status_t {
    // SAFETY: the header says that they are a responder of ours and text with its length.
    unsafe {
        answer(responder, || {
            let result = json_payload(result, len, "result")?;
            Ok(Answer::Whole(result.to_owned()))
        })
    }
}

/// Answers for a tool with a structured value, and the same as text for clients that only read that.
///
/// responder: the responder.
/// json, len: the value, as the output schema of the tool describes it; MCPLINK_NUL measures it.
/// Returns: as mcplink_responder_text. Threads: any. Blocks: only while a client does not read. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_responder_structured(
    responder: *mut mcplink_responder_t,
    json: *const c_char,
    len: usize,
) -> mcplink_status_t {
    // SAFETY: the header says that they are a responder of ours and text with its length.
    unsafe {
        answer(responder, || {
            let json = json_payload(json, len, "json")?;
            Ok(Answer::Structured(json.to_owned()))
        })
    }
}

/// Says that the tool ran and failed, in words that the model reads: a wrong argument, a file that is not there.
///
/// responder: the responder.
/// text, len: what went wrong, and what to do; MCPLINK_NUL measures it.
/// Returns: as mcplink_responder_text. Threads: any. Blocks: only while a client does not read. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_responder_tool_error(
    responder: *mut mcplink_responder_t,
    text: *const c_char,
    len: usize,
) -> mcplink_status_t {
    // SAFETY: the header says that they are a responder of ours and text with its length.
    unsafe {
        answer(responder, || {
            let text = payload(text, len, "text")?;
            Ok(Answer::ToolError(text.to_owned()))
        })
    }
}

/// Answers a completion with values, the best first. Of more than 100 the first 100 are sent.
///
/// responder: the responder.
/// values, count: the values, texts that end in NUL.
/// fitting: whether those that don't fit what is typed are left out, and the others put in order: beginnings first, then beginnings of
/// words, then any part.
/// Returns: as mcplink_responder_text. Threads: any. Blocks: only while a client does not read. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_responder_values(
    responder: *mut mcplink_responder_t,
    values: *const *const c_char,
    count: usize,
    fitting: bool,
) -> mcplink_status_t {
    // SAFETY: the header says that they are a responder of ours and so many texts that end in NUL.
    unsafe {
        answer(responder, || {
            if values.is_null() && count > 0 {
                return Err(missing("values").into());
            }
            let values = (0..count)
                .map(|index| Ok(name(*values.add(index), "a value")?.to_owned()))
                .collect::<Result<Vec<_>>>()?;
            Ok(if fitting {
                Answer::BestOf(values)
            } else {
                Answer::Values(values)
            })
        })
    }
}

/// Says that there is no such resource, in the way of the client's revision.
///
/// responder: the responder.
/// Returns: as mcplink_responder_text. Threads: any. Blocks: only while a client does not read. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_responder_not_found(
    responder: *mut mcplink_responder_t,
) -> mcplink_status_t {
    // SAFETY: the header says that it is a responder of ours.
    unsafe { answer(responder, || Ok(Answer::NotFound)) }
}

/// Answers with an error of the protocol. That a tool failed is better said with mcplink_responder_tool_error, which models read.
///
/// responder: the responder.
/// code: one of enum mcplink_rpc_code, or one of your own outside -32768 to -32000.
/// message: one sentence.
/// data: more of it, as JSON; NULL for none.
/// Returns: as mcplink_responder_text. Threads: any. Blocks: only while a client does not read. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_responder_fail(
    responder: *mut mcplink_responder_t,
    code: i32,
    message: *const c_char,
    data: *const c_char,
) -> mcplink_status_t {
    // SAFETY: the header says that they are a responder of ours and texts that end in NUL.
    unsafe {
        answer(responder, || {
            let mut error = RpcError::new(code_of(code)?, name(message, "message")?);
            if !data.is_null() {
                error.data = Some(json_payload(data, super::text::NUL, "data")?.to_owned());
            }
            Ok(Answer::Error(error))
        })
    }
}
