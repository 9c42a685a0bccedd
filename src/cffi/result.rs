//! Results of calls, as C reads them.

use std::ffi::c_void;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::arg;
use super::entry::{disown, get, value};
use super::handle::Tagged;
use super::json::{Document, JsonNode, mcplink_json_t};
use super::status::mcplink_status;
use super::text::{ArenaText, Text, mcplink_str_t, view_of};
use crate::error::{Error, ErrorKind, Result};
use crate::jsonrpc::{RawResult, surrogates};
use crate::schema::{
    CallToolResult, CompleteResult, GetPromptResult, Misfit, ReadResourceResult, base64, method,
    tree,
};

/// The result of a call. The caller owns it and frees it with mcplink_result_free.
///
/// A result is immutable, so many threads may read it at once. Text and nodes that belong to a
/// result are valid as long as the result.
pub struct mcplink_result_t {
    raw: Raw,
    is_tool_error: bool,
    /// The expected shape of the result.
    model: Model,
    /// The result as a JSON tree. The result is parsed on first use.
    tree: OnceLock<Option<Document>>,
    /// The parts of the result that violate the specification, as JSON. The parts are collected on
    /// first use.
    misfits: OnceLock<Option<Document>>,
    /// The text of all text blocks, joined. The text is made on first use, if the result has
    /// several text blocks.
    text: OnceLock<Text>,
    /// The bytes of each content block. The bytes are decoded on first use.
    bytes: OnceLock<Vec<Decoded>>,
    /// The id of the task that the call has become.
    task: Option<Text>,
}

object!(mcplink_result_t is Result);

/// The kind of a content block.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum mcplink_content_kind {
    /// No content block: the index is out of range.
    #[allow(dead_code, reason = "getters return 0")]
    MCPLINK_CONTENT_NONE = 0,
    /// Text, in the member "text".
    MCPLINK_CONTENT_TEXT = 301,
    /// An image: see mcplink_result_content_bytes and the member "mimeType".
    MCPLINK_CONTENT_IMAGE = 302,
    /// Audio: see mcplink_result_content_bytes and the member "mimeType".
    MCPLINK_CONTENT_AUDIO = 303,
    /// A resource link, in the member "uri".
    MCPLINK_CONTENT_RESOURCE_LINK = 304,
    /// An embedded resource, in the member "resource".
    MCPLINK_CONTENT_RESOURCE = 305,
    /// The binary contents of a resource that was read.
    MCPLINK_CONTENT_BLOB = 306,
    /// A content block of a kind that this library does not know: see the member "type".
    MCPLINK_CONTENT_OTHER = 307,
}

use mcplink_content_kind as Kind;

/// The expected shape of a result.
enum Model {
    /// Any JSON: the result is not checked.
    Any,
    /// The result type of the method with this name.
    Of(&'static str),
    /// A list, with a description of each invalid entry that was left out of the list.
    List(Vec<Misfit>),
}

/// The decoded bytes of a content block; `None` if the block has no bytes or invalid bytes.
type Decoded = OnceLock<Option<Box<[u8]>>>;

/// The JSON text of a result, with a terminating NUL. The text is a part of the received message.
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
        // The rest of the message is not needed any more.
        message.truncate(span.end);
        message.push('\0');
        Self { message, span }
    }
}

/// A result that several owners share: C and a call.
pub(super) type SharedResult = Arc<Tagged<mcplink_result_t>>;

/// Converts a result into a reference that C owns.
pub(super) fn owned(result: SharedResult) -> *mut mcplink_result_t {
    result.own();
    Arc::into_raw(result).cast_mut().cast()
}

impl mcplink_result_t {
    /// Makes the result of a request, without checking the result.
    pub(super) fn new(raw: RawResult) -> SharedResult {
        Self::with(raw.into(), Model::Any, OnceLock::new(), false)
    }

    /// Makes the answer to a call that has become a task.
    pub(super) fn of_task(raw: RawResult, id: &str) -> SharedResult {
        Arc::new(Tagged::new(Self {
            task: Some(id.into()),
            ..Self::plain(raw.into(), Model::Any, OnceLock::new(), false)
        }))
    }

    /// Makes an empty result, for a request that returns nothing.
    pub(super) fn empty() -> SharedResult {
        Self::new(RawResult::alone("{}"))
    }

    fn with(
        raw: Raw,
        model: Model,
        tree: OnceLock<Option<Document>>,
        is_tool_error: bool,
    ) -> SharedResult {
        Arc::new(Tagged::new(Self::plain(raw, model, tree, is_tool_error)))
    }

    fn plain(
        raw: Raw,
        model: Model,
        tree: OnceLock<Option<Document>>,
        is_tool_error: bool,
    ) -> Self {
        Self {
            raw,
            is_tool_error,
            model,
            tree,
            misfits: OnceLock::new(),
            text: OnceLock::new(),
            bytes: OnceLock::new(),
            task: None,
        }
    }

    /// Makes the result of a method, and parses the result at once.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Protocol`] when a value has no C representation, such as the number 1e400.
    /// Without this check the value would look empty.
    pub(super) fn read(method: &'static str, raw: RawResult) -> Result<SharedResult> {
        Self::read_as(method, Model::Of(method), raw)
    }

    /// Makes the result of a list, and parses the result at once. `misfits` describes the entries
    /// that were left out.
    pub(super) fn of_list(
        method: &'static str,
        raw: RawResult,
        misfits: Vec<Misfit>,
    ) -> Result<SharedResult> {
        Self::read_as(method, Model::List(misfits), raw)
    }

    fn read_as(method: &str, model: Model, raw: RawResult) -> Result<SharedResult> {
        let raw = Raw::from(raw);
        let parsed = Document::parse(raw.as_str());
        let parsed = parsed.or_else(|error| match surrogates::replaced(raw.as_str()) {
            Some((text, ..)) => Document::parse(&text),
            None => Err(error),
        });
        let tree = parsed.map_err(|error| {
            let text = format!("the result of {method} can't be read: {error}");
            Error::new(ErrorKind::Protocol, text).sent(true)
        })?;
        let is_tool_error =
            method == method::TOOLS_CALL && tree.member("isError").is_some_and(|it| it.is_true());
        Ok(Self::with(raw, model, Some(tree).into(), is_tool_error))
    }

    pub(super) fn status(&self) -> mcplink_status {
        if self.is_tool_error {
            mcplink_status::MCPLINK_TOOL_ERROR
        } else {
            mcplink_status::MCPLINK_OK
        }
    }

    fn tree(&self) -> Option<&JsonNode> {
        let tree = self.tree.get_or_init(|| {
            // A result of `mcplink_client_request` is valid JSON, but may contain a value that C
            // can't represent. Then the result has no tree.
            Document::parse(self.raw.as_str()).ok()
        });
        tree.as_deref()
    }

    fn misfits(&self) -> Option<&JsonNode> {
        let misfits = self.misfits.get_or_init(|| {
            let misfits = match &self.model {
                Model::Any => Vec::new(),
                Model::Of(method) => misfits_in(method, self.raw.as_str()),
                Model::List(misfits) => misfits.clone(),
            };
            let described: Vec<Value> = misfits.iter().map(to_json).collect();
            Document::parse(&Value::Array(described).to_string()).ok()
        });
        misfits.as_deref()
    }

    fn member(&self, key: &str) -> Option<&JsonNode> {
        self.tree()?.member(key)
    }

    /// Returns the array with the content of a tool result, the contents of a resource, or the
    /// messages of a prompt. The returned flag is true for the messages of a prompt.
    fn blocks(&self) -> Option<(&mcplink_json_t, bool)> {
        let is_list = |node: &&JsonNode| node.is_array();
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

    fn content(&self, index: usize) -> Option<&JsonNode> {
        let (blocks, are_messages) = self.blocks()?;
        let block = blocks.item(index)?;
        if are_messages {
            block.member("content")
        } else {
            Some(block)
        }
    }

    fn texts(&self) -> impl Iterator<Item = &ArenaText> {
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
                    let all: Vec<&str> = self.texts().map(ArenaText::as_str).collect();
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
            // A terminating NUL as a courtesy, as for text.
            bytes.push(0);
            Some(bytes.into())
        });
        let bytes = bytes.as_deref()?;
        Some(&bytes[..bytes.len() - 1])
    }
}

/// Returns the parts of a result that violate the specification. If the result can't be read at
/// all, returns one entry for the whole result.
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

fn kind_of(block: &JsonNode) -> Kind {
    match block.member("type").and_then(|it| it.as_str()) {
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

getters! {
    get(result: mcplink_result_t);

    /// Returns the id of the task that a call has become: see mcplink_client_call_tool_as_task.
    ///
    /// Returns: the id, valid as long as the result; empty when the result is no task.
    fn mcplink_result_task_id() -> mcplink_str_t {
        result.task.as_ref()?.view()
    }

    /// Returns the result as a JSON value.
    ///
    /// Returns: a node that is valid as long as the result. NULL if the result comes from
    /// mcplink_client_request and contains text or a number without a C representation, such as
    /// half of a surrogate pair or 1e400. In results of other calls U+FFFD stands for such a half,
    /// and a call fails with MCPLINK_E_PROTOCOL when the server sends such a number.
    fn mcplink_result_json() -> *const mcplink_json_t {
        result.tree()?.as_ptr()
    }

    /// Returns the result as the JSON text that was received. For a list, the text contains all
    /// pages of the list.
    ///
    /// Returns: text that is valid as long as the result.
    fn mcplink_result_raw() -> mcplink_str_t {
        result.raw.view()
    }

    /// Returns the text of all text blocks, joined with newlines.
    ///
    /// result: the result of a tool call, of reading a resource, or of getting a prompt; for NULL
    /// the function returns empty text.
    /// Returns: text that is valid as long as the result; empty when there is no text.
    fn mcplink_result_text() -> mcplink_str_t {
        result.text()
    }

    /// Checks whether a result belongs to a tool that ran and failed. The content of the result
    /// then contains the reason, for the model to read.
    ///
    /// Returns: true if the tool failed.
    fn mcplink_result_is_tool_error() -> bool {
        result.is_tool_error
    }

    /// Returns the structured content of a tool result: the member "structuredContent".
    ///
    /// Returns: a node that is valid as long as the result; NULL when the member is missing.
    fn mcplink_result_structured() -> *const mcplink_json_t {
        result.member("structuredContent")?.as_ptr()
    }

    /// Returns the metadata of the result: the member "_meta".
    ///
    /// Returns: a node that is valid as long as the result; NULL when the member is missing.
    fn mcplink_result_meta() -> *const mcplink_json_t {
        result.member("_meta")?.as_ptr()
    }

    /// Returns the parts of a result that violate the specification: list entries that were left
    /// out, and invalid parts of other results. The other parts of the result can be used.
    ///
    /// Invalid entries are removed from lists. Other results are shown as they were received, so an
    /// invalid content block may lack a member.
    ///
    /// Returns: an array, valid as long as the result; empty when all parts are valid; NULL if
    /// result is NULL. Each entry is an object: "index" is the position of the entry in its list or
    /// page, from 0, or null; "name" the name or URI of the entry, or null; "path" a JSON Pointer
    /// to the invalid part; "reason" the reason. At most 1000 entries.
    fn mcplink_result_misfits() -> *const mcplink_json_t {
        result.misfits()?.as_ptr()
    }

    /// Returns the number of content blocks of a tool or resource result, or the number of messages
    /// of a prompt.
    ///
    /// Returns: the number.
    fn mcplink_result_content_count() -> usize {
        result.content_count()
    }

    /// Returns one content block; for a prompt, the content of one message. The role of a message
    /// is at "/messages/INDEX/role" of mcplink_result_json.
    ///
    /// index: from 0.
    /// Returns: a node that is valid as long as the result; NULL when index is out of range.
    fn mcplink_result_content(index: usize) -> *const mcplink_json_t {
        result.content(index)?.as_ptr()
    }

    /// Returns the kind of a content block.
    ///
    /// index: from 0.
    /// Returns: the kind; MCPLINK_CONTENT_NONE when the index is out of range.
    fn mcplink_result_content_kind(index: usize) -> arg::mcplink_content_kind {
        kind_of(result.content(index)?) as i32
    }
}

/// Frees a result. All text and nodes that belong to the result are invalid afterwards.
///
/// result: the result; may be NULL. A result that was passed to a callback must not be freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_result_free(result: *mut mcplink_result_t) {
    // SAFETY: the header requires a result of this library, freed once. A reference that C owned
    // was made of an `Arc` by `owned`.
    unsafe { disown(result, || drop(SharedResult::from_raw(result.cast()))) }
}

/// Returns the bytes of an image, of audio, or of a binary resource. The bytes are decoded from
/// base64 on first use.
///
/// index: the index of the content block, from 0.
/// len: receives the number of bytes, or 0 when NULL is returned; may be NULL.
/// Returns: the bytes, followed by a 0, valid as long as the result. NULL when the block has no
/// bytes or they can't be decoded.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_result_content_bytes(
    result: *const mcplink_result_t,
    index: usize,
    len: *mut usize,
) -> *const c_void {
    let bytes = value(None, || {
        // SAFETY: the header requires a result of this library.
        let result = unsafe { get(result, "mcplink_result_content_bytes") };
        result.and_then(|result| result.bytes(index))
    });
    if !len.is_null() {
        // SAFETY: the header requires that `len` can be written to.
        unsafe { len.write(bytes.map_or(0, <[u8]>::len)) };
    }
    bytes.map_or(std::ptr::null(), |bytes| bytes.as_ptr().cast())
}
