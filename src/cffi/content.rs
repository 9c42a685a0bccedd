//! Functions that answer a tool call with several content blocks.

use std::ffi::{c_char, c_void};

use super::entry::{Outcome, need, told};
use super::json::json_payload;
use super::pending_request::{Answer, media};
use super::responder::mcplink_responder_t;
use super::status::{mcplink_status, mcplink_status_t};
use super::text::{bytes, optional, payload};
use crate::cffi::answer::answering;
use crate::error::{Error, ErrorKind};
use crate::schema::ContentBlock;

/// Adds a content block to the answer.
///
/// # Safety
///
/// `responder` is NULL or an object of this library.
unsafe fn add(
    function: &str,
    responder: *mut mcplink_responder_t,
    block: impl FnOnce() -> Outcome<ContentBlock>,
) -> mcplink_status_t {
    told(function, || {
        // SAFETY: the safety contract of this function.
        let responder = unsafe { need(responder, "responder") }?;
        responder.add_block(block())?;
        Ok(mcplink_status::MCPLINK_OK)
    })
}

/// Adds text to the answer of a tool call. An answer of several content blocks is made of
/// mcplink_responder_add_text, mcplink_responder_add_bytes and mcplink_responder_add_json, in the
/// order of the blocks, and sent by mcplink_responder_send.
///
/// text, len: the text; len may be MCPLINK_NUL for text that ends in NUL.
/// Returns: MCPLINK_OK; MCPLINK_E_INVALID; MCPLINK_E_STATE after the answer; MCPLINK_E_UNSUPPORTED
/// for requests of other kinds. mcplink_responder_send fails after a block that was refused, so the
/// status may be ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_responder_add_text(
    responder: *mut mcplink_responder_t,
    text: *const c_char,
    len: usize,
) -> mcplink_status_t {
    // SAFETY: the header requires a responder of this library and text with its length.
    unsafe {
        add("mcplink_responder_add_text", responder, || {
            Ok(ContentBlock::text(payload(text, len, "text")?))
        })
    }
}

/// Adds an image or audio to the answer of a tool call: see mcplink_responder_add_text.
///
/// data, len: the bytes.
/// mime_type: image/... or audio/...
/// Returns: see mcplink_responder_add_text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_responder_add_bytes(
    responder: *mut mcplink_responder_t,
    data: *const c_void,
    len: usize,
    mime_type: *const c_char,
) -> mcplink_status_t {
    // SAFETY: the header requires a responder of this library, bytes with their length, and text
    // that ends in NUL.
    unsafe {
        add("mcplink_responder_add_bytes", responder, || {
            let mime_type = optional(mime_type, "mime_type")?.map(str::to_owned);
            Ok(media(bytes(data, len, "data")?, mime_type)?)
        })
    }
}

/// Adds a content block of any type to the answer of a tool call, in the format of the protocol.
/// See mcplink_responder_add_text.
///
/// block, len: the block as JSON, for example
/// {"type":"resource_link","uri":"file:///a","name":"a"}; len may be MCPLINK_NUL for text that ends
/// in NUL.
/// Returns: see mcplink_responder_add_text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_responder_add_json(
    responder: *mut mcplink_responder_t,
    block: *const c_char,
    len: usize,
) -> mcplink_status_t {
    // SAFETY: the header requires a responder of this library and text with its length.
    unsafe {
        add("mcplink_responder_add_json", responder, || {
            let block = json_payload(block, len, "block")?;
            let block = serde_json::from_str(block.get()).map_err(|error| {
                let text = format!("block is no content block: {error}");
                Error::new(ErrorKind::Invalid, text)
            })?;
            Ok(block)
        })
    }
}

actions! {
    answering(responder: mcplink_responder_t);

    /// Answers a tool call with the content blocks that were added: see mcplink_responder_add_text.
    /// Other functions that answer ignore these blocks.
    ///
    /// Returns: see mcplink_responder_text; MCPLINK_E_INVALID also when a block was refused: the
    /// request can still be answered.
    /// Blocks: only while a client does not read.
    fn mcplink_responder_send() {
        responder.answer(Answer::Blocks(responder.blocks()?))?;
    }
}
