//! Sampling: a server uses the client's model.
//!
//! The specification deprecates it in 2026-07-28: new servers had better call a provider of models themselves.
//!
//! Spec: Client Features, "Sampling" (every revision; tools since 2025-11-25; deprecated in 2026-07-28).
// M-SAMP-X-01, M-SAMP-X-02

use serde_json::value::RawValue;

use super::annotations::Role;
use super::json::{Extra, Number, RawObject, Whole};
use super::meta::{MetaObject, RequestMetaObject};
use super::sampling_content::{SamplingContent, SamplingMessageContentBlock};
use super::task::TaskMetadata;
use super::tool::Tool;
use super::version::{FitTo, ProtocolVersion, keep_since};

/// A message to or from a model.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SamplingMessage {
    /// Who it is from.
    pub role: Role,
    /// What it says.
    pub content: SamplingContent,
    /// What travels beside it. Since 2025-11-25.
    pub meta: Option<MetaObject>,
    /// Members that this library doesn't know.
    pub extra: Extra,
}

members!(SamplingMessage { role, content, meta = "_meta", ..extra });

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
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ModelPreferences {
    /// Names of models, the best first.
    pub hints: Option<Vec<ModelHint>>,
    /// How much a low price matters.
    pub cost_priority: Option<f64>,
    /// How much speed matters.
    pub speed_priority: Option<f64>,
    /// How much intelligence matters.
    pub intelligence_priority: Option<f64>,
    /// Members that this library doesn't know.
    pub extra: Extra,
}

members!(ModelPreferences {
    hints,
    cost_priority = "costPriority" as Number,
    speed_priority = "speedPriority" as Number,
    intelligence_priority = "intelligencePriority" as Number,
    ..extra
});

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
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ModelHint {
    /// A part of the model's name.
    pub name: Option<String>,
    /// Members that this library doesn't know.
    pub extra: Extra,
}

members!(ModelHint { name, ..extra });

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
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ToolChoice {
    /// Whether; the model decides when absent.
    pub mode: Option<ToolChoiceMode>,
    /// Members that this library doesn't know.
    pub extra: Extra,
}

members!(ToolChoice { mode, ..extra });

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
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CreateMessageRequestParams {
    /// The conversation so far.
    pub messages: Vec<SamplingMessage>,
    /// What the server would like of the model.
    pub model_preferences: Option<ModelPreferences>,
    /// The system prompt; the client may change it.
    pub system_prompt: Option<String>,
    /// Which context the client is to add.
    pub include_context: Option<IncludeContext>,
    /// The model's temperature.
    pub temperature: Option<f64>,
    /// How many tokens the answer may have at most.
    pub max_tokens: u64,
    /// Texts at which the model stops.
    pub stop_sequences: Option<Vec<String>>,
    /// Settings for a provider of models: an object, as raw JSON.
    pub metadata: Option<Box<RawValue>>,
    /// The tools that the model may use. Since 2025-11-25.
    pub tools: Option<Vec<Tool>>,
    /// How the model is to use them. Since 2025-11-25.
    pub tool_choice: Option<ToolChoice>,
    /// Asks for the request to become a task. 2025-11-25 only.
    pub task: Option<TaskMetadata>,
    /// What travels beside the params.
    pub meta: Option<RequestMetaObject>,
}

members!(CreateMessageRequestParams {
    messages,
    model_preferences = "modelPreferences",
    system_prompt = "systemPrompt",
    include_context = "includeContext",
    temperature as Number,
    max_tokens = "maxTokens" as Whole,
    stop_sequences = "stopSequences",
    metadata as RawObject,
    tools,
    tool_choice = "toolChoice",
    task,
    meta = "_meta",
});

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
            message.content.fit_to(revision);
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
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CreateMessageResult {
    /// Who it is from.
    pub role: Role,
    /// What it says.
    pub content: SamplingContent,
    /// The model's name.
    pub model: String,
    /// Why it stopped, when that is known.
    pub stop_reason: Option<StopReason>,
    /// What travels beside the result.
    pub meta: Option<MetaObject>,
    /// Members that this library doesn't know.
    pub extra: Extra,
}

members!(CreateMessageResult { role, content, model, stop_reason = "stopReason", meta = "_meta", ..extra });

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
        self.content.fit_to(revision);
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

    // M-SAMP-B-33
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
        // M-SAMP-S-14
        for json in [
            r#"{"role":"user","content":"a"}"#,
            r#"{"role":"user"}"#,
            r#"{"content":{"type":"text","text":"a"}}"#,
            r#"{"role":"system","content":{"type":"text","text":"a"}}"#,
        ] {
            assert!(
                serde_json::from_str::<SamplingMessage>(json).is_err(),
                "{json}"
            );
        }
    }

    // M-SAMP-B-33
    #[test]
    fn an_unknown_reason_to_stop_is_kept() {
        let json = r#"{"role":"assistant","content":{"type":"text","text":"a"},"model":"m","stopReason":"bored"}"#;
        let result: CreateMessageResult = serde_json::from_str(json).expect("decodes");
        assert_eq!(serde_json::to_string(&result).expect("JSON"), json);
    }

    // L-SAMP-B-29
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

    // L-SAMP-B-29
    #[test]
    fn older_peers_get_one_block_of_a_result() {
        let json = r#"{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"model":"m"}"#;
        let mut result: CreateMessageResult = serde_json::from_str(json).expect("decodes");
        result.fit_to(ProtocolVersion::V2025_06_18);
        assert_eq!(result.content.blocks()[0].as_text(), Some("a\nb"));
        assert!(matches!(result.content, SamplingContent::One(_)));
    }
}
