//! What a call came to.

use std::ffi::c_void;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::entry::{get, let_go, value};
use super::json::{Document, mcplink_json_t, shown};
use super::status::mcplink_status;
use super::text::{Kept, Text, mcplink_str_t, view_of};
use crate::error::{Error, ErrorKind, Result};
use crate::jsonrpc::RawResult;
use crate::schema::{
    CallToolResult, CompleteResult, GetPromptResult, Misfit, ReadResourceResult, base64, method,
    tree,
};

/// What a call came to: the result of a request. The caller's to free.
///
/// It does not change, so that many threads may read it at once; what its functions show is valid as long as it.
pub struct mcplink_result_t {
    raw: Raw,
    is_tool_error: bool,
    /// What it has to be.
    model: Model,
    /// Made when it is asked for.
    tree: OnceLock<Option<Document>>,
    /// What is not as it has to be, as JSON; made when it is asked for.
    misfits: OnceLock<Option<Document>>,
    /// All texts, made when they are asked for and there are several.
    text: OnceLock<Text>,
    /// Of each content block, as far as it was asked for.
    bytes: OnceLock<Vec<Decoded>>,
}

/// What a content block is.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum mcplink_content_kind {
    /// There is no such block.
    MCPLINK_CONTENT_NONE = 0,
    /// Text, in the member "text".
    MCPLINK_CONTENT_TEXT = 1,
    /// An image: see mcplink_result_content_bytes and the member "mimeType".
    MCPLINK_CONTENT_IMAGE = 2,
    /// Sound: as an image.
    MCPLINK_CONTENT_AUDIO = 3,
    /// A link to a resource, in the member "uri".
    MCPLINK_CONTENT_RESOURCE_LINK = 4,
    /// A resource, in the member "resource".
    MCPLINK_CONTENT_RESOURCE = 5,
    /// What a resource that was read holds, as bytes.
    MCPLINK_CONTENT_BLOB = 6,
    /// Something that this library does not know: look at the member "type".
    MCPLINK_CONTENT_OTHER = 7,
}

use mcplink_content_kind as Kind;

/// What a result has to be.
enum Model {
    /// Anything.
    Any,
    /// The result of this method.
    Of(&'static str),
    /// A list, of which this was left out.
    List(Vec<Misfit>),
}

/// The bytes of a content block, if it has any that can be read.
type Decoded = OnceLock<Option<Box<[u8]>>>;

/// A result in the message that brought it, a NUL behind it.
struct Raw {
    message: String,
    span: Range<usize>,
}

impl Raw {
    fn as_str(&self) -> &str {
        &self.message[self.span.clone()]
    }

    fn view(&self) -> mcplink_str_t {
        view_of(&self.message[self.span.start..])
    }
}

impl From<RawResult> for Raw {
    fn from(result: RawResult) -> Self {
        let (mut message, span) = result.into_parts();
        // What comes behind the result is not needed any more.
        message.truncate(span.end);
        message.push('\0');
        Self { message, span }
    }
}

impl mcplink_result_t {
    /// The result of a request.
    pub(super) fn new(raw: RawResult) -> Arc<Self> {
        Self::with(raw.into(), Model::Any, OnceLock::new(), false)
    }

    /// The result of a request of ours that has nothing to give back.
    pub(super) fn empty() -> Arc<Self> {
        Self::new(RawResult::alone("{}"))
    }

    fn with(
        raw: Raw,
        model: Model,
        tree: OnceLock<Option<Document>>,
        is_tool_error: bool,
    ) -> Arc<Self> {
        Arc::new(Self {
            raw,
            is_tool_error,
            model,
            tree,
            misfits: OnceLock::new(),
            text: OnceLock::new(),
            bytes: OnceLock::new(),
        })
    }

    /// The same, read at once.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Protocol`] when no text or number can be made of something in it, such as half of a character. It would seem to be empty.
    pub(super) fn read(method: &'static str, raw: RawResult) -> Result<Arc<Self>> {
        Self::read_as(method, Model::Of(method), raw)
    }

    /// The same for a list, of which this was left out.
    pub(super) fn of_list(
        method: &'static str,
        raw: RawResult,
        misfits: Vec<Misfit>,
    ) -> Result<Arc<Self>> {
        Self::read_as(method, Model::List(misfits), raw)
    }

    fn read_as(method: &str, model: Model, raw: RawResult) -> Result<Arc<Self>> {
        let raw = Raw::from(raw);
        let tree = Document::parse(raw.as_str()).map_err(|error| {
            let text = format!("the result of {method} can't be read: {error}");
            Error::new(ErrorKind::Protocol, text).sent(true)
        })?;
        let is_tool_error = method == method::TOOLS_CALL
            && tree.member("isError").is_some_and(mcplink_json_t::is_true);
        Ok(Self::with(raw, model, Some(tree).into(), is_tool_error))
    }

    pub(super) fn status(&self) -> mcplink_status {
        if self.is_tool_error {
            mcplink_status::MCPLINK_TOOL_ERROR
        } else {
            mcplink_status::MCPLINK_OK
        }
    }

    fn tree(&self) -> Option<&mcplink_json_t> {
        let tree = self.tree.get_or_init(|| {
            // Of any request: what came over a connection is JSON; if it can't be shown, there is none.
            Document::parse(self.raw.as_str()).ok()
        });
        tree.as_deref()
    }

    fn misfits(&self) -> Option<&mcplink_json_t> {
        let misfits = self.misfits.get_or_init(|| {
            let misfits = match &self.model {
                Model::Any => Vec::new(),
                Model::Of(method) => misfits_in(method, self.raw.as_str()),
                Model::List(misfits) => misfits.clone(),
            };
            let told: Vec<Value> = misfits.iter().map(to_json).collect();
            Document::parse(&Value::Array(told).to_string()).ok()
        });
        misfits.as_deref()
    }

    fn member(&self, key: &str) -> Option<&mcplink_json_t> {
        self.tree()?.member(key)
    }

    /// The blocks of a tool's result, the contents of a resource, or the messages of a prompt.
    fn blocks(&self) -> Option<(&mcplink_json_t, bool)> {
        let is_list = |node: &&mcplink_json_t| node.is_array();
        let plain = self.member("content").filter(is_list);
        let plain = plain.or_else(|| self.member("contents").filter(is_list));
        if let Some(blocks) = plain {
            return Some((blocks, false));
        }
        Some((self.member("messages").filter(is_list)?, true))
    }

    fn content_count(&self) -> usize {
        self.blocks().map_or(0, |(blocks, _)| blocks.len())
    }

    fn content(&self, index: usize) -> Option<&mcplink_json_t> {
        let (blocks, are_messages) = self.blocks()?;
        let block = blocks.item(index)?;
        if are_messages {
            block.member("content")
        } else {
            Some(block)
        }
    }

    fn texts(&self) -> impl Iterator<Item = &Kept> {
        let blocks = (0..self.content_count()).filter_map(|index| self.content(index));
        blocks.filter_map(|block| block.member("text")?.string())
    }

    fn text(&self) -> mcplink_str_t {
        let mut texts = self.texts();
        match (texts.next(), texts.next()) {
            (None, _) => mcplink_str_t::EMPTY,
            (Some(only), None) => only.view(),
            _ => {
                let joined = self.text.get_or_init(|| {
                    let all: Vec<&str> = self.texts().map(Kept::as_str).collect();
                    all.join("\n").into()
                });
                joined.view()
            }
        }
    }

    fn bytes(&self, index: usize) -> Option<&[u8]> {
        let all = self.bytes.get_or_init(|| {
            let count = self.content_count();
            (0..count).map(|_| OnceLock::new()).collect()
        });
        let bytes = all.get(index)?.get_or_init(|| {
            let block = self.content(index)?;
            let resource = block.member("resource");
            let data = block
                .member("data")
                .or_else(|| block.member("blob"))
                .or_else(|| resource?.member("blob"));
            let mut bytes = base64::decode_text(data?.as_str()?).ok()?;
            // As a courtesy, like behind text.
            bytes.push(0);
            Some(bytes.into())
        });
        let bytes = bytes.as_deref()?;
        Some(&bytes[..bytes.len() - 1])
    }
}

/// What in the result of a method is not what it has to be. When the result as a whole is none, that is its only misfit.
fn misfits_in(method: &str, text: &str) -> Vec<Misfit> {
    fn of<T: DeserializeOwned>(text: &str) -> Vec<Misfit> {
        match tree::read_entries::<T>(text) {
            Ok((_, misfits)) => misfits,
            Err(error) => vec![Misfit::of_all(&error)],
        }
    }
    match method {
        method::TOOLS_CALL => of::<CallToolResult>(text),
        method::RESOURCES_READ => of::<ReadResourceResult>(text),
        method::PROMPTS_GET => of::<GetPromptResult>(text),
        method::COMPLETION_COMPLETE => of::<CompleteResult>(text),
        _ => Vec::new(),
    }
}

fn to_json(misfit: &Misfit) -> Value {
    json!({
        "index": misfit.index,
        "name": misfit.name,
        "path": misfit.path,
        "reason": misfit.reason,
    })
}

fn kind_of(block: Option<&mcplink_json_t>) -> Kind {
    let Some(block) = block else {
        return Kind::MCPLINK_CONTENT_NONE;
    };
    match block.member("type").and_then(mcplink_json_t::as_str) {
        Some("text") => Kind::MCPLINK_CONTENT_TEXT,
        Some("image") => Kind::MCPLINK_CONTENT_IMAGE,
        Some("audio") => Kind::MCPLINK_CONTENT_AUDIO,
        Some("resource_link") => Kind::MCPLINK_CONTENT_RESOURCE_LINK,
        Some("resource") => Kind::MCPLINK_CONTENT_RESOURCE,
        None if block.member("text").is_some() => Kind::MCPLINK_CONTENT_TEXT,
        None if block.member("blob").is_some() => Kind::MCPLINK_CONTENT_BLOB,
        _ => Kind::MCPLINK_CONTENT_OTHER,
    }
}

/// Frees a result. All that was shown of it ends here.
///
/// result: NULL is fine. Never one that a callback was given. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_result_free(result: *mut mcplink_result_t) {
    // SAFETY: the header says that it is a result of ours, freed once.
    unsafe { let_go(result) }
}

/// The result as a JSON value.
///
/// result: NULL for none.
/// Returns: a node that is valid as long as the result; NULL for none, and for one of mcplink_client_request that holds what no text or number
/// can be made of, such as half of a character. Other calls fail with MCPLINK_E_PROTOCOL then. Threads: any. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_result_json(
    result: *const mcplink_result_t,
) -> *const mcplink_json_t {
    // SAFETY: the header says that it is a result of ours.
    value(std::ptr::null(), || unsafe {
        shown(get(result).and_then(mcplink_result_t::tree))
    })
}

/// The result as JSON text, as it was received; of a list that came in pages, all of it.
///
/// result: NULL for none.
/// Returns: valid as long as the result. Threads: any. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_result_raw(result: *const mcplink_result_t) -> mcplink_str_t {
    // SAFETY: the header says that it is a result of ours.
    unsafe { get(result) }.map_or(mcplink_str_t::EMPTY, |result| result.raw.view())
}

/// The text of all content blocks that are text, a newline between two of them.
///
/// result: of a tool, a resource that was read, or a prompt; NULL for none.
/// Returns: valid as long as the result; empty when there is none. Threads: any. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_result_text(result: *const mcplink_result_t) -> mcplink_str_t {
    value(mcplink_str_t::EMPTY, || {
        // SAFETY: the header says that it is a result of ours.
        unsafe { get(result) }.map_or(mcplink_str_t::EMPTY, mcplink_result_t::text)
    })
}

/// Whether it is the result of a tool that ran and failed: then it says why, for the model to read.
///
/// result: NULL for false.
/// Returns: true if so. Threads: any. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_result_is_tool_error(result: *const mcplink_result_t) -> bool {
    // SAFETY: the header says that it is a result of ours.
    unsafe { get(result) }.is_some_and(|result| result.is_tool_error)
}

/// What a tool answered beside its content: the member "structuredContent".
///
/// result: NULL for none.
/// Returns: a node that is valid as long as the result; NULL when there is none. Threads: any. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_result_structured(
    result: *const mcplink_result_t,
) -> *const mcplink_json_t {
    // SAFETY: the header says that it is a result of ours.
    value(std::ptr::null(), || unsafe {
        shown(get(result).and_then(|result| result.member("structuredContent")))
    })
}

/// What travels beside the result: the member "_meta".
///
/// result: NULL for none.
/// Returns: a node that is valid as long as the result; NULL when there is none. Threads: any. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_result_meta(
    result: *const mcplink_result_t,
) -> *const mcplink_json_t {
    // SAFETY: the header says that it is a result of ours.
    value(std::ptr::null(), || unsafe {
        shown(get(result).and_then(|result| result.member("_meta")))
    })
}

/// What of a result does not fit: the entries of a list that were left out, and the parts of a result of a call that are not what the
/// specification says. The rest of the result can be used.
///
/// Lists don't have what is told here. Results of calls do: they are shown as they came, so that a content block which is told here may lack a
/// member.
///
/// result: NULL for none.
/// Returns: an array, valid as long as the result, empty when all fits; NULL for no result. Each entry is an object: "index" is the place of the
/// entry in its list, or in its page of a list, from 0, or null; "name" the name or URI of the entry, or null; "path" a JSON Pointer to what does
/// not fit; "reason" says why. At most 1000 are told. Threads: any. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_result_misfits(
    result: *const mcplink_result_t,
) -> *const mcplink_json_t {
    // SAFETY: the header says that it is a result of ours.
    value(std::ptr::null(), || unsafe {
        shown(get(result).and_then(mcplink_result_t::misfits))
    })
}

/// How many content blocks there are: of a tool's result, of a resource that was read, or messages of a prompt.
///
/// result: NULL for 0.
/// Returns: the number. Threads: any. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_result_content_count(result: *const mcplink_result_t) -> usize {
    value(0, || {
        // SAFETY: the header says that it is a result of ours.
        unsafe { get(result) }.map_or(0, mcplink_result_t::content_count)
    })
}

/// One content block. Of a prompt, what one message holds; who speaks is at "/messages/INDEX/role" of mcplink_result_json.
///
/// result: NULL for none.
/// index: from 0.
/// Returns: a node that is valid as long as the result; NULL when there is none. Threads: any. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_result_content(
    result: *const mcplink_result_t,
    index: usize,
) -> *const mcplink_json_t {
    // SAFETY: the header says that it is a result of ours.
    value(std::ptr::null(), || unsafe {
        shown(get(result).and_then(|result| result.content(index)))
    })
}

/// What a content block is.
///
/// result: NULL for MCPLINK_CONTENT_NONE.
/// index: from 0.
/// Returns: one of enum mcplink_content_kind. Threads: any. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_result_content_kind(
    result: *const mcplink_result_t,
    index: usize,
) -> i32 {
    value(Kind::MCPLINK_CONTENT_NONE, || {
        // SAFETY: the header says that it is a result of ours.
        kind_of(unsafe { get(result) }.and_then(|result| result.content(index)))
    }) as i32
}

/// The bytes of an image, of sound, or of a resource that is no text: decoded from base64 when they are first asked for.
///
/// result: NULL for none.
/// index: of the content block, from 0.
/// len: receives how many bytes there are, 0 when there are none; NULL is fine.
/// Returns: the bytes, and a 0 behind them, valid as long as the result; NULL when there are none or they can't be decoded. Threads: any.
/// Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_result_content_bytes(
    result: *const mcplink_result_t,
    index: usize,
    len: *mut usize,
) -> *const c_void {
    let bytes = value(None, || {
        // SAFETY: the header says that it is a result of ours.
        unsafe { get(result) }.and_then(|result| result.bytes(index))
    });
    if !len.is_null() {
        // SAFETY: the header says that it can be written to.
        unsafe { len.write(bytes.map_or(0, <[u8]>::len)) };
    }
    bytes.map_or(std::ptr::null(), |bytes| bytes.as_ptr().cast())
}
