//! The content of messages to and from a model.
//!
//! Spec: Client Features, "Sampling" (every revision; tools and several blocks since 2025-11-25).

use std::fmt;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use super::content::{AudioContent, ContentBlock, ContentType, ImageContent, TextContent};
use super::json::{Present, RawObjectForm, is_object, raw};
use super::meta::MetaObject;
use super::object::OrDefault;
use super::tagged::{self, Tagged, Unknown};
use super::version::{FitTo, ProtocolVersion};
use crate::error::Result;

/// A content block of a message to or from a model.
///
/// # Examples
///
/// ```
/// use mcplink::schema::{CreateMessageResult, ImageContent, SamplingMessageContentBlock};
///
/// let answer = CreateMessageResult::new("otter-1", ImageContent::new(b"png", "image/png"));
/// for block in answer.content.blocks() {
///     match block {
///         SamplingMessageContentBlock::Text(content) => println!("{}", content.text),
///         SamplingMessageContentBlock::Image(content) => assert_eq!(content.bytes()?, b"png"),
///         _ => {}
///     }
/// }
/// # Ok::<(), mcplink::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SamplingMessageContentBlock {
    /// A text.
    Text(TextContent),
    /// An image.
    Image(ImageContent),
    /// Audio. Since 2025-03-26.
    Audio(AudioContent),
    /// A tool call by the model. Since 2025-11-25.
    ToolUse(Box<ToolUseContent>),
    /// The result of a tool call. Since 2025-11-25.
    ToolResult(Box<ToolResultContent>),
    /// Content of a type that this library doesn't know.
    Other(Box<Unknown>),
}

impl SamplingMessageContentBlock {
    /// Makes a text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextContent::new(text))
    }

    /// Returns the text, if the block is a text.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(content) => Some(&content.text),
            _ => None,
        }
    }
}

impl From<TextContent> for SamplingMessageContentBlock {
    fn from(content: TextContent) -> Self {
        Self::Text(content)
    }
}

impl From<ImageContent> for SamplingMessageContentBlock {
    fn from(content: ImageContent) -> Self {
        Self::Image(content)
    }
}

impl From<AudioContent> for SamplingMessageContentBlock {
    fn from(content: AudioContent) -> Self {
        Self::Audio(content)
    }
}

impl From<ToolUseContent> for SamplingMessageContentBlock {
    fn from(content: ToolUseContent) -> Self {
        Self::ToolUse(Box::new(content))
    }
}

impl From<ToolResultContent> for SamplingMessageContentBlock {
    fn from(content: ToolResultContent) -> Self {
        Self::ToolResult(Box::new(content))
    }
}

impl Serialize for SamplingMessageContentBlock {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(content) => content.serialize(serializer),
            Self::Image(content) => content.serialize(serializer),
            Self::Audio(content) => content.serialize(serializer),
            Self::ToolUse(content) => content.serialize(serializer),
            Self::ToolResult(content) => content.serialize(serializer),
            Self::Other(content) => content.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for SamplingMessageContentBlock {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        tagged::deserialize(deserializer)
    }
}

impl Tagged for SamplingMessageContentBlock {
    type Kind = ContentType;

    const EXPECTED: &'static str = "a content block of a sampling message";

    fn read<'de, D: Deserializer<'de>>(kind: ContentType, rest: D) -> Result<Self, D::Error> {
        Ok(match kind {
            ContentType::Text => Self::Text(Deserialize::deserialize(rest)?),
            ContentType::Image => Self::Image(Deserialize::deserialize(rest)?),
            ContentType::Audio => Self::Audio(Deserialize::deserialize(rest)?),
            ContentType::ToolUse => Self::ToolUse(Deserialize::deserialize(rest)?),
            ContentType::ToolResult => Self::ToolResult(Deserialize::deserialize(rest)?),
            ContentType::ResourceLink | ContentType::Resource | ContentType::Other(_) => {
                Self::Other(Box::new(Unknown::read(kind.as_str().into(), rest)?))
            }
        })
    }
}

impl FitTo for SamplingMessageContentBlock {
    fn fit_to(&mut self, revision: ProtocolVersion) {
        let before_tools = revision < ProtocolVersion::V2025_11_25;
        match self {
            Self::Audio(content) if revision < ProtocolVersion::V2025_03_26 => {
                *self = Self::Text(content.to_text_content());
            }
            Self::ToolUse(content) if before_tools => *self = Self::text(content.summary()),
            Self::ToolResult(content) if before_tools => *self = Self::text(content.summary()),
            _ => {}
        }
        match self {
            Self::Text(content) => content.fit_to(revision),
            Self::Image(content) => content.fit_to(revision),
            Self::Audio(content) => content.fit_to(revision),
            Self::ToolResult(content) => content.fit_to(revision),
            Self::ToolUse(_) | Self::Other(_) => {}
        }
    }
}

literal!(ToolUseType = "tool_use");
literal!(ToolResultType = "tool_result");

object! {
    /// A tool call by the model. Since 2025-11-25.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::{CreateMessageResult, StopReason, ToolUseContent};
    /// use serde_json::json;
    ///
    /// // The answer of a model that calls a tool of the server.
    /// let call = ToolUseContent::new("call-1", "weather", &json!({ "city": "Lagos" }))?;
    /// let answer = CreateMessageResult::new("otter-1", call).stop_reason(StopReason::ToolUse);
    /// assert_eq!(json!(answer)["content"]["input"]["city"], "Lagos");
    /// # Ok::<(), mcplink::Error>(())
    /// ```
    #[derive(Clone, Debug)]
    pub struct ToolUseContent {
        kind: ToolUseType = "type" as OrDefault,
        /// The id of the tool call, to which the tool result refers.
        pub id: String,
        /// The name of the tool.
        pub name: String,
        /// The arguments of the tool call: an object, as raw JSON.
        pub input: Box<RawValue> as RawObjectForm,
        /// Metadata of the tool call (`_meta`).
        pub meta: Option<MetaObject> = "_meta",
        ..extra
    }

    fn of_fields(id: impl Into<String>, name: impl Into<String>, input: Box<RawValue>);
}

impl ToolUseContent {
    /// Makes a block with which the model calls a tool.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) when the arguments can't be written as
    /// JSON.
    pub fn new(
        id: impl Into<String>,
        name: impl Into<String>,
        input: &(impl Serialize + ?Sized),
    ) -> Result<Self> {
        raw("arguments", input).map(|input| Self::of_fields(id, name, input))
    }

    /// Returns the text that replaces this block for peers without support for tools in sampling.
    fn summary(&self) -> String {
        format!("[use of tool {}: {}]", self.name, self.input.get())
    }
}

/// Compares the blocks; their arguments are compared as texts.
impl PartialEq for ToolUseContent {
    fn eq(&self, other: &Self) -> bool {
        let Self {
            kind: _,
            id,
            name,
            input,
            meta,
            extra,
        } = self;
        *id == other.id
            && *name == other.name
            && input.get() == other.input.get()
            && *meta == other.meta
            && *extra == other.extra
    }
}

object! {
    /// The result of a tool call, which is sent to a model. Since 2025-11-25.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::{
    ///     CreateMessageRequestParams, Role, SamplingMessage, ToolResultContent, ToolUseContent,
    /// };
    /// # use serde_json::json;
    ///
    /// # let mut conversation = vec![SamplingMessage::user("Is it hot in Lagos?")];
    /// # let call = ToolUseContent::new("call-1", "weather", &json!({ "city": "Lagos" }))?;
    /// // The model has called a tool. The next message has the result.
    /// conversation.push(SamplingMessage::new(Role::Assistant, call));
    /// let result = ToolResultContent::new("call-1", ["31 °C".into()]);
    /// conversation.push(SamplingMessage::new(Role::User, result));
    /// CreateMessageRequestParams::new(conversation, 100).check()?;
    /// # Ok::<(), mcplink::Error>(())
    /// ```
    #[derive(Clone, Debug)]
    pub struct ToolResultContent {
        kind: ToolResultType = "type" as OrDefault,
        /// The id of the tool call to which this result belongs.
        pub tool_use_id: String = "toolUseId",
        /// The content of the tool result.
        pub content: Vec<ContentBlock>,
        /// The structured result of the tool, for programs, as raw JSON.
        pub structured_content: Option<Box<RawValue>> = "structuredContent" as Present,
        /// Whether the tool failed. Absent means that it did not fail.
        pub is_error?: bool = "isError",
        /// Metadata of the tool result (`_meta`).
        pub meta: Option<MetaObject> = "_meta",
        ..extra
    }

    /// Makes a block from the result of a tool call.
    pub fn new(tool_use_id: impl Into<String>, content: impl Into<Vec<ContentBlock>>);
}

impl ToolResultContent {
    /// Returns the text that replaces this block for peers without support for tools in sampling.
    fn summary(&self) -> String {
        let texts: Vec<&str> = self
            .content
            .iter()
            .filter_map(ContentBlock::as_text)
            .collect();
        format!(
            "[result of tool use {}]\n{}",
            self.tool_use_id,
            texts.join("\n")
        )
    }
}

/// Compares the blocks; their structured content is compared as text.
impl PartialEq for ToolResultContent {
    fn eq(&self, other: &Self) -> bool {
        let Self {
            kind: _,
            tool_use_id,
            content,
            structured_content,
            is_error,
            meta,
            extra,
        } = self;
        *tool_use_id == other.tool_use_id
            && *content == other.content
            && structured_content.as_deref().map(RawValue::get)
                == other.structured_content.as_deref().map(RawValue::get)
            && *is_error == other.is_error
            && *meta == other.meta
            && *extra == other.extra
    }
}

impl FitTo for ToolResultContent {
    fn fit_to(&mut self, revision: ProtocolVersion) {
        self.content.fit_to(revision);
        if revision.is_legacy() {
            self.structured_content
                .take_if(|content| !is_object(content));
        }
    }
}

/// The content of a message: one block, or several blocks since 2025-11-25. A received array of one
/// block is also written as an array.
///
/// # Examples
///
/// ```
/// use mcplink::schema::{ImageContent, Role, SamplingContent, SamplingMessage};
///
/// // One block converts by itself; several blocks are a list.
/// let question = SamplingMessage::new(Role::User, "What is in the picture?");
/// assert_eq!(question.content.blocks().len(), 1);
///
/// let blocks = vec!["Describe:".into(), ImageContent::new(b"png", "image/png").into()];
/// let both = SamplingMessage::new(Role::User, SamplingContent::Many(blocks));
/// assert_eq!(both.content.blocks().len(), 2);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SamplingContent {
    /// One block, not in an array.
    One(SamplingMessageContentBlock),
    /// An array of blocks.
    Many(Vec<SamplingMessageContentBlock>),
}

required!(SamplingContent);

impl SamplingContent {
    /// Returns the blocks of the content.
    pub fn blocks(&self) -> &[SamplingMessageContentBlock] {
        match self {
            Self::One(block) => std::slice::from_ref(block),
            Self::Many(blocks) => blocks,
        }
    }

    pub(super) fn into_blocks(self) -> Vec<SamplingMessageContentBlock> {
        match self {
            Self::One(block) => vec![block],
            Self::Many(blocks) => blocks,
        }
    }
}

impl<T: Into<SamplingMessageContentBlock>> From<T> for SamplingContent {
    fn from(block: T) -> Self {
        Self::One(block.into())
    }
}

impl From<&str> for SamplingMessageContentBlock {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for SamplingMessageContentBlock {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl Serialize for SamplingContent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::One(block) => block.serialize(serializer),
            Self::Many(blocks) => blocks.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for SamplingContent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = SamplingContent;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a content block or an array of them")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                Deserialize::deserialize(MapAccessDeserializer::new(map)).map(SamplingContent::One)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
                Deserialize::deserialize(SeqAccessDeserializer::new(seq)).map(SamplingContent::Many)
            }
        }

        deserializer.deserialize_any(Either)
    }
}

impl FitTo for SamplingContent {
    fn fit_to(&mut self, revision: ProtocolVersion) {
        match self {
            Self::One(block) => block.fit_to(revision),
            Self::Many(blocks) => blocks.fit_to(revision),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // M-SAMP-C-26, M-SAMP-C-29, L-SAMP-C-22, L-SAMP-C-25
    #[test]
    fn what_travels_beside_uses_and_results_of_tools_is_kept() {
        for json in [
            r#"{"type":"tool_use","id":"i","name":"n","input":{},"_meta":{"a.example/b":[1]}}"#,
            r#"{"type":"tool_result","toolUseId":"i","content":[],"_meta":{"a.example/b":[1]}}"#,
        ] {
            let block: SamplingMessageContentBlock = serde_json::from_str(json).expect(json);
            assert_eq!(serde_json::to_string(&block).expect("JSON"), json);
            let mut block = SamplingContent::Many(vec![block]);
            block.fit_to(ProtocolVersion::LATEST);
            assert_eq!(
                serde_json::to_string(&block).expect("JSON"),
                format!("[{json}]")
            );
        }
    }

    #[test]
    fn the_input_of_a_tool_is_kept_wherever_the_type_stands() {
        for json in [
            r#"{"type":"tool_use","id":"i","name":"n","input":{"z":1.0,"a":1e400}}"#,
            r#"{"input":{"z":1.0,"a":1e400},"name":"n","type":"tool_use","id":"i"}"#,
        ] {
            let block: SamplingMessageContentBlock = serde_json::from_str(json).expect(json);
            let SamplingMessageContentBlock::ToolUse(block) = block else {
                panic!("not a tool use: {block:?}");
            };
            assert_eq!(block.input.get(), r#"{"z":1.0,"a":1e400}"#);
        }
    }
}
