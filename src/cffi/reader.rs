//! Functions that read one argument of a request, and answer the request if the argument is wrong.

use std::ffi::c_char;

use super::entry::{Outcome, need, plain, told};
use super::handle::slots;
use super::json::JsonNode;
use super::pending_request::Answer;
use super::request::{Argument, mcplink_request_t};
use super::responder::mcplink_responder_t;
use super::status::{mcplink_status, mcplink_status_t};
use super::text::{ArenaText, mcplink_str_t, missing, name};
use crate::error::{Error, ErrorCode, ErrorKind, Excerpt, Quote, RpcError};

/// Reads one argument. All functions of this module call this function. `function` is the name of
/// the C function, for the log; `expected` is the type of the argument in JSON Schema.
///
/// # Safety
///
/// The pointers are NULL, or meet the requirements of the C header.
unsafe fn read<T>(
    (function, expected): (&str, &str),
    (request, responder): (*const mcplink_request_t, *mut mcplink_responder_t),
    param: *const c_char,
    out: *mut T,
    convert: impl FnOnce(&JsonNode) -> Option<T>,
) -> mcplink_status_t {
    // SAFETY: the safety contract of this function.
    let lent = match unsafe { need(responder, "responder") } {
        Ok(lent) => lent,
        Err(failure) => return told(function, || Err(failure)),
    };
    plain(|| {
        // SAFETY: the safety contract of this function.
        let param = unsafe { name(param, "param") };
        let param = match param {
            _ if out.is_null() => Err(missing("out")),
            _ if request != slots::view_of(responder) => {
                let text = "request must be the request of the responder";
                Err(Error::new(ErrorKind::Invalid, text))
            }
            param => param,
        };
        let found = param.and_then(|param| match lent.request().argument(param) {
            Argument::Undeclared => {
                let text = format!(
                    "{} '{}' declares no argument '{}'",
                    match lent.request().is_of_tool() {
                        true => "tool",
                        false => "prompt",
                    },
                    lent.request().name(),
                    Excerpt(param)
                );
                Err(Error::new(ErrorKind::Invalid, text))
            }
            found => Ok((param, found)),
        });
        let (param, found) = match found {
            Ok(found) => found,
            // Only the host can correct this mistake, so the client gets an internal error.
            Err(error) => {
                let failure = error.into();
                lent.report(function, &failure);
                lent.answer(Answer::Error(RpcError::internal("internal error")))?;
                return Err(failure);
            }
        };
        let wrong = match found {
            Argument::Given(node) => match convert(node) {
                Some(value) => {
                    // SAFETY: the header requires that `out` can be written to.
                    unsafe { out.write(value) };
                    return Ok(mcplink_status::MCPLINK_OK);
                }
                None => wrong_type(param, expected, node),
            },
            Argument::Optional => return Ok(mcplink_status::MCPLINK_OK),
            Argument::Missing | Argument::Undeclared => {
                format!("property {} is missing", Quote(&param.into()))
            }
        };
        refuse(&lent, wrong)
    })
}

fn wrong_type(param: &str, expected: &str, node: &JsonNode) -> String {
    let got = serde_json::from_str(node.text().as_str());
    let got = got.map_or_else(|_| String::new(), |got| format!(", got {}", Quote(&got)));
    format!("/{}: expected {expected}{got}", Excerpt(param))
}

/// Answers the request with an error about a wrong argument.
fn refuse(responder: &mcplink_responder_t, wrong: String) -> Outcome {
    let text = format!("invalid arguments: {wrong}");
    responder.answer(match responder.request().is_of_tool() {
        true => Answer::ToolError(text.clone()),
        false => Answer::Error(RpcError::new(ErrorCode::INVALID_PARAMS, text.clone())),
    })?;
    Err(Error::new(ErrorKind::Invalid, text).into())
}

/// Reads an argument that is a string. The four functions that read one argument behave alike:
///
/// If the argument is missing although the tool requires it, or has another type, the function
/// answers the request with an error that names the argument, and returns MCPLINK_E_INVALID: the
/// handler then returns. If the call omits an optional argument, *out receives the default of the
/// tool's definition; without a default, *out stays unchanged, so initialize it. The argument of a
/// tool or prompt must be declared by its definition; otherwise the request is answered with an
/// internal error, the mistake is logged, and the function returns MCPLINK_E_INVALID. The schema
/// of a tool also declares arguments by additionalProperties, patternProperties, $ref or a
/// combination such as allOf.
///
/// request, responder: those of the handler.
/// param: the name of the argument.
/// out: receives the text, which is valid as long as the request.
/// Returns: MCPLINK_OK; MCPLINK_E_INVALID: the request was answered; MCPLINK_E_STATE when it was
/// answered before; MCPLINK_E_CANCELLED or MCPLINK_E_CLOSED when the peer no longer waits.
/// Blocks: only while a client does not read.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_request_string(
    request: *const mcplink_request_t,
    responder: *mut mcplink_responder_t,
    param: *const c_char,
    out: *mut mcplink_str_t,
) -> mcplink_status_t {
    let this = ("mcplink_request_string", "string");
    let convert = |node: &JsonNode| node.string().map(ArenaText::view);
    // SAFETY: the header requires valid arguments.
    unsafe { read(this, (request, responder), param, out, convert) }
}

/// Reads an argument that is an integer. See mcplink_request_string.
///
/// request, responder: those of the handler.
/// param: the name of the argument.
/// out: receives an integer from -2^63 to 2^63-1; 1.0 counts as an integer.
/// Returns: see mcplink_request_string.
/// Blocks: only while a client does not read.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_request_integer(
    request: *const mcplink_request_t,
    responder: *mut mcplink_responder_t,
    param: *const c_char,
    out: *mut i64,
) -> mcplink_status_t {
    let this = ("mcplink_request_integer", "integer");
    let convert = |node: &JsonNode| node.as_i64();
    // SAFETY: the header requires valid arguments.
    unsafe { read(this, (request, responder), param, out, convert) }
}

/// Reads an argument that is a number. See mcplink_request_string.
///
/// request, responder: those of the handler.
/// param: the name of the argument.
/// out: receives the number, rounded to a double.
/// Returns: see mcplink_request_string.
/// Blocks: only while a client does not read.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_request_number(
    request: *const mcplink_request_t,
    responder: *mut mcplink_responder_t,
    param: *const c_char,
    out: *mut f64,
) -> mcplink_status_t {
    let this = ("mcplink_request_number", "number");
    let convert = |node: &JsonNode| node.as_f64();
    // SAFETY: the header requires valid arguments.
    unsafe { read(this, (request, responder), param, out, convert) }
}

/// Reads an argument that is true or false. See mcplink_request_string.
///
/// request, responder: those of the handler.
/// param: the name of the argument.
/// out: receives the value.
/// Returns: see mcplink_request_string.
/// Blocks: only while a client does not read.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_request_boolean(
    request: *const mcplink_request_t,
    responder: *mut mcplink_responder_t,
    param: *const c_char,
    out: *mut bool,
) -> mcplink_status_t {
    let this = ("mcplink_request_boolean", "boolean");
    let convert = |node: &JsonNode| node.as_bool();
    // SAFETY: the header requires valid arguments.
    unsafe { read(this, (request, responder), param, out, convert) }
}
