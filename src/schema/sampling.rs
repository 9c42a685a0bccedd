//! Sampling: a server uses the client's model.
//!
//! Spec: Client Features, "Sampling" (every revision; tools since 2025-11-25; deprecated in 2026-07-28).

use std::fmt;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use super::content::{AudioContent, ContentBlock, ContentType, ImageContent, Role, TextContent};
use super::json::{Extra, present, raw, write_optional_number};
use super::meta::{MetaObject, RequestMetaObject};
use super::tagged::{self, Tagged, Unknown};
use super::task::TaskMetadata;
use super::tool::Tool;
use super::version::{FitTo, ProtocolVersion, keep_since};
use crate::error::Result;

/// A piece of a message to or from a model.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SamplingMessageContentBlock {
    /// Text.
    Text(TextContent),
    /// An image.
    Image(ImageContent),
    /// Sound. Since 2025-03-26.
    Audio(AudioContent),
    /// The model wants to use a tool. Since 2025-11-25.
    ToolUse(Box<ToolUseContent>),
    /// What a tool gave. Since 2025-11-25.
    ToolResult(Box<ToolResultContent>),
    /// Content of a type that this library doesn't know.
    Other(Box<Unknown>),
}

impl SamplingMessageContentBlock {
    /// Makes text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextContent::new(text))
    }

    /// The text, when it is text.
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
                *self = Self::Text(content.as_text_content());
            }
            Self::ToolUse(content) if before_tools => {
                *self = Self::text(format!(
                    "[use of tool {}: {}]",
                    content.name,
                    content.input.get()
                ));
            }
            Self::ToolResult(content) if before_tools => {
                *self = Self::text(content.summary());
            }
            Self::Image(content) => content.fit_to(revision),
            Self::Audio(content) => content.fit_to(revision),
            Self::ToolResult(content) => content.fit_to(revision),
            Self::Text(_) | Self::ToolUse(_) | Self::Other(_) => {}
        }
        if let Self::Text(content) = self {
            content.fit_to(revision);
        }
    }
}

literal!(ToolUseType = "tool_use");
literal!(ToolResultType = "tool_result");

/// The model wants to use a tool. Since 2025-11-25.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolUseContent {
    #[serde(rename = "type", default)]
    kind: ToolUseType,
    /// Ties the result to this use.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments: an object, as raw JSON.
    pub input: Box<RawValue>,
    /// What travels beside it.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<MetaObject>,
    /// Members that this library doesn't know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ToolUseContent {
    /// Wants to use a tool.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) when the arguments can't be written as JSON.
    pub fn new(
        id: impl Into<String>,
        name: impl Into<String>,
        input: &(impl Serialize + ?Sized),
    ) -> Result<Self> {
        Ok(Self {
            kind: ToolUseType,
            id: id.into(),
            name: name.into(),
            input: raw("arguments", input)?,
            meta: None,
            extra: Extra::new(),
        })
    }
}

/// Equal when the texts of the arguments are, too.
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

/// What a tool gave, told to a model. Since 2025-11-25.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolResultContent {
    #[serde(rename = "type", default)]
    kind: ToolResultType,
    /// The use that it is the result of.
    pub tool_use_id: String,
    /// What the tool gave.
    pub content: Vec<ContentBlock>,
    /// What the tool gave, for a program, as raw JSON.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub structured_content: Option<Box<RawValue>>,
    /// Whether the tool failed; no when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
    /// What travels beside it.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<MetaObject>,
    /// Members that this library doesn't know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ToolResultContent {
    /// Tells what a tool gave.
    pub fn new(tool_use_id: impl Into<String>, content: impl Into<Vec<ContentBlock>>) -> Self {
        Self {
            kind: ToolResultType,
            tool_use_id: tool_use_id.into(),
            content: content.into(),
            structured_content: None,
            is_error: None,
            meta: None,
            extra: Extra::new(),
        }
    }

    setters! {
        /// Says whether the tool failed.
        is_error: bool,
    }

    /// What peers that don't know tools in sampling are told.
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

/// Equal when the texts of the structured content are, too.
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
                .take_if(|content| !super::json::is_object(content));
        }
    }
}

/// What a message says: one block, or since 2025-11-25 several. The form that came is the form that is written.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SamplingContent {
    /// One block.
    One(SamplingMessageContentBlock),
    /// An array of blocks.
    Many(Vec<SamplingMessageContentBlock>),
}

impl SamplingContent {
    /// The blocks.
    pub fn blocks(&self) -> &[SamplingMessageContentBlock] {
        match self {
            Self::One(block) => std::slice::from_ref(block),
            Self::Many(blocks) => blocks,
        }
    }

    fn into_blocks(self) -> Vec<SamplingMessageContentBlock> {
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

/// A message to or from a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SamplingMessage {
    /// Who it is from.
    pub role: Role,
    /// What it says.
    pub content: SamplingContent,
    /// What travels beside it. Since 2025-11-25.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<MetaObject>,
    /// Members that this library doesn't know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl SamplingMessage {
    /// Makes a message.
    pub fn new(role: Role, content: impl Into<SamplingContent>) -> Self {
        Self {
            role,
            content: content.into(),
            meta: None,
            extra: Extra::new(),
        }
    }

    /// Makes a text of the user's.
    pub fn user(text: impl Into<String>) -> Self {
        Self::new(Role::User, SamplingMessageContentBlock::text(text))
    }

    /// Makes a text of the model's.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::new(Role::Assistant, SamplingMessageContentBlock::text(text))
    }
}

/// What the server would like of the model. Each is from 0 to 1, and a hint.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ModelPreferences {
    /// Names of models, the best first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hints: Option<Vec<ModelHint>>,
    /// How much a low price matters.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "write_optional_number"
    )]
    pub cost_priority: Option<f64>,
    /// How much speed matters.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "write_optional_number"
    )]
    pub speed_priority: Option<f64>,
    /// How much intelligence matters.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "write_optional_number"
    )]
    pub intelligence_priority: Option<f64>,
    /// Members that this library doesn't know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ModelPreferences {
    setters! {
        /// Names models, the best first.
        hints: Vec<ModelHint>,
        /// Says how much a low price matters.
        cost_priority: f64,
        /// Says how much speed matters.
        speed_priority: f64,
        /// Says how much intelligence matters.
        intelligence_priority: f64,
    }
}

/// A hint at a model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ModelHint {
    /// A part of the model's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Members that this library doesn't know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ModelHint {
    /// Hints at models whose name contains a text.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: Some(name.into()),
            extra: Extra::new(),
        }
    }
}

open_enum! {
    /// Which context the client is to add. Deprecated by the specification except for none.
    pub enum IncludeContext {
        /// None.
        None = "none",
        /// That of the server that asks.
        ThisServer = "thisServer",
        /// That of all servers.
        AllServers = "allServers",
    }
}

/// How the model is to use tools. Since 2025-11-25.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolChoice {
    /// Whether; the model decides when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<ToolChoiceMode>,
    /// Members that this library doesn't know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl ToolChoice {
    setters! {
        /// Says whether the model uses tools.
        mode: ToolChoiceMode,
    }
}

open_enum! {
    /// Whether the model uses tools. Since 2025-11-25.
    pub enum ToolChoiceMode {
        /// The model decides.
        Auto = "auto",
        /// It has to.
        Required = "required",
        /// It must not.
        None = "none",
    }
}

/// The params of `sampling/createMessage`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CreateMessageRequestParams {
    /// The conversation so far.
    pub messages: Vec<SamplingMessage>,
    /// What the server would like of the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_preferences: Option<ModelPreferences>,
    /// The system prompt; the client may change it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// Which context the client is to add.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub include_context: Option<IncludeContext>,
    /// The model's temperature.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "write_optional_number"
    )]
    pub temperature: Option<f64>,
    /// How many tokens the answer may have at most.
    pub max_tokens: u64,
    /// Texts at which the model stops.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_sequences: Option<Vec<String>>,
    /// Settings for a provider of models: an object, as raw JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Box<RawValue>>,
    /// The tools that the model may use. Since 2025-11-25.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<Tool>>,
    /// How the model is to use them. Since 2025-11-25.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice>,
    /// Asks for the request to become a task. 2025-11-25 only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskMetadata>,
    /// What travels beside the params.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<RequestMetaObject>,
}

impl CreateMessageRequestParams {
    /// Asks the model to go on with a conversation.
    pub fn new(messages: impl Into<Vec<SamplingMessage>>, max_tokens: u64) -> Self {
        Self {
            messages: messages.into(),
            model_preferences: None,
            system_prompt: None,
            include_context: None,
            temperature: None,
            max_tokens,
            stop_sequences: None,
            metadata: None,
            tools: None,
            tool_choice: None,
            task: None,
            meta: None,
        }
    }

    setters! {
        /// Says what the server would like of the model.
        model_preferences: ModelPreferences,
        /// Sets the system prompt.
        system_prompt: String,
        /// Says which context the client is to add.
        include_context: IncludeContext,
        /// Sets the model's temperature.
        temperature: f64,
        /// Sets texts at which the model stops.
        stop_sequences: Vec<String>,
        /// Lets the model use tools. Since 2025-11-25.
        tools: Vec<Tool>,
        /// Says how the model is to use them. Since 2025-11-25.
        tool_choice: ToolChoice,
    }
}

/// A message of several blocks becomes several messages of one for peers that know only those.
impl FitTo for CreateMessageRequestParams {
    fn fit_to(&mut self, revision: ProtocolVersion) {
        use ProtocolVersion::V2025_11_25;
        keep_since(&mut self.tools, V2025_11_25, revision);
        keep_since(&mut self.tool_choice, V2025_11_25, revision);
        self.tools.fit_to(revision);
        if !revision.has_core_tasks() {
            self.task = None;
        }
        self.meta.fit_to(revision);
        if revision < V2025_11_25 {
            let messages = std::mem::take(&mut self.messages);
            self.messages = messages.into_iter().flat_map(one_block_each).collect();
        }
        for message in &mut self.messages {
            match &mut message.content {
                SamplingContent::One(block) => block.fit_to(revision),
                SamplingContent::Many(blocks) => blocks.fit_to(revision),
            }
        }
    }
}

fn one_block_each(message: SamplingMessage) -> Vec<SamplingMessage> {
    let SamplingMessage {
        role,
        content,
        meta: _,
        extra,
    } = message;
    let blocks = content.into_blocks().into_iter();
    blocks
        .map(|block| SamplingMessage {
            role,
            content: SamplingContent::One(block),
            meta: None,
            extra: extra.clone(),
        })
        .collect()
}

open_enum! {
    /// Why a model stopped.
    pub enum StopReason {
        /// It had said everything.
        EndTurn = "endTurn",
        /// It came to a stop sequence.
        StopSequence = "stopSequence",
        /// It came to the largest number of tokens.
        MaxTokens = "maxTokens",
        /// It wants to use a tool. Since 2025-11-25.
        ToolUse = "toolUse",
    }
}

/// What a model said: the result of `sampling/createMessage`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CreateMessageResult {
    /// Who it is from.
    pub role: Role,
    /// What it says.
    pub content: SamplingContent,
    /// The model's name.
    pub model: String,
    /// Why it stopped, when that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<StopReason>,
    /// What travels beside the result.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<MetaObject>,
    /// Members that this library doesn't know.
    #[serde(flatten)]
    pub extra: Extra,
}

impl CreateMessageResult {
    /// Answers with what the model said.
    pub fn new(model: impl Into<String>, content: impl Into<SamplingContent>) -> Self {
        Self {
            role: Role::Assistant,
            content: content.into(),
            model: model.into(),
            stop_reason: None,
            meta: None,
            extra: Extra::new(),
        }
    }

    setters! {
        /// Says why it stopped.
        stop_reason: StopReason,
    }
}

/// Several blocks become one text for peers that know only one block.
impl FitTo for CreateMessageResult {
    fn fit_to(&mut self, revision: ProtocolVersion) {
        match &mut self.content {
            SamplingContent::One(block) => block.fit_to(revision),
            SamplingContent::Many(blocks) => blocks.fit_to(revision),
        }
        if revision >= ProtocolVersion::V2025_11_25 {
            return;
        }
        if let SamplingContent::Many(blocks) = &mut self.content {
            self.content = match blocks.as_mut_slice() {
                [_] => SamplingContent::One(blocks.remove(0)),
                blocks => {
                    let texts = blocks.iter().filter_map(|block| block.as_text());
                    SamplingMessageContentBlock::text(texts.collect::<Vec<_>>().join("\n")).into()
                }
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn one_block_and_an_array_of_one_keep_their_form() {
        for json in [
            r#"{"role":"user","content":{"type":"text","text":"a"}}"#,
            r#"{"role":"user","content":[{"type":"text","text":"a"}]}"#,
            r#"{"role":"user","content":[]}"#,
            r#"{"role":"user","content":{"type":"smell","x":1e400}}"#,
        ] {
            let message: SamplingMessage = serde_json::from_str(json).expect(json);
            assert_eq!(serde_json::to_string(&message).expect("JSON"), json);
        }
        let json = r#"{"role":"user","content":"a"}"#;
        assert!(serde_json::from_str::<SamplingMessage>(json).is_err());
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

    #[test]
    fn an_unknown_reason_to_stop_is_kept() {
        let json = r#"{"role":"assistant","content":{"type":"text","text":"a"},"model":"m","stopReason":"bored"}"#;
        let result: CreateMessageResult = serde_json::from_str(json).expect("decodes");
        assert_eq!(serde_json::to_string(&result).expect("JSON"), json);
    }

    #[test]
    fn older_peers_get_one_block_a_message() {
        let mut params: CreateMessageRequestParams = serde_json::from_value::<Value>(json!({
            "messages": [{"role": "user", "content": [
                {"type": "text", "text": "a"},
                {"type": "tool_use", "id": "i", "name": "n", "input": {}},
            ]}],
            "maxTokens": 1, "tools": [{"name": "n", "inputSchema": {"type": "object"}}],
            "toolChoice": {"mode": "auto"},
        }))
        .and_then(|value| serde_json::from_str(&value.to_string()))
        .expect("decodes");
        params.fit_to(ProtocolVersion::V2025_06_18);
        assert_eq!(
            serde_json::to_value(&params).expect("JSON"),
            json!({
                "messages": [
                    {"role": "user", "content": {"type": "text", "text": "a"}},
                    {"role": "user", "content": {"type": "text", "text": "[use of tool n: {}]"}},
                ],
                "maxTokens": 1,
            })
        );
    }

    #[test]
    fn older_peers_get_one_block_of_a_result() {
        let json = r#"{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"model":"m"}"#;
        let mut result: CreateMessageResult = serde_json::from_str(json).expect("decodes");
        result.fit_to(ProtocolVersion::V2025_06_18);
        assert_eq!(result.content.blocks()[0].as_text(), Some("a\nb"));
        assert!(matches!(result.content, SamplingContent::One(_)));
    }
}
