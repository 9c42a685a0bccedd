//! Sampling: a server requests answers from the client's model.
//!
//! The specification deprecates sampling in 2026-07-28. New servers should call a model provider
//! themselves.
//!
//! Spec: Client Features, "Sampling" (every revision; tools since 2025-11-25; deprecated in
//! 2026-07-28).
// M-SAMP-X-01, M-SAMP-X-02

use serde_json::value::RawValue;

use super::annotations::Role;
use super::json::{Number, RawObjectForm, Whole};
use super::meta::{MetaObject, RequestMetaObject};
use super::sampling_content::{SamplingContent, SamplingMessageContentBlock};
use super::task::TaskMetadata;
use super::tool::Tool;
use super::version::{FitTo, ProtocolVersion};

object! {
    /// A message to or from a model.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::{CreateMessageRequestParams, SamplingMessage};
    ///
    /// let conversation = [
    ///     SamplingMessage::user("Name a fruit."),
    ///     SamplingMessage::assistant("An apple."),
    ///     SamplingMessage::user("And a vegetable?"),
    /// ];
    /// let params = CreateMessageRequestParams::new(conversation, 100);
    /// params.check()?;
    /// # Ok::<(), mcplink::Error>(())
    /// ```
    #[derive(Clone, Debug, PartialEq)]
    pub struct SamplingMessage {
        /// The role of the message's sender.
        pub role: Role,
        /// The content of the message.
        pub content: SamplingContent,
        /// Metadata of the message (`_meta`). Since 2025-11-25.
        pub meta: Option<MetaObject> = "_meta",
        ..extra
    }

    /// Makes a message from the role of its sender and its content.
    pub fn new(role: Role, content: impl Into<SamplingContent>);
}

impl SamplingMessage {
    /// Makes a text message of the user.
    pub fn user(text: impl Into<String>) -> Self {
        Self::new(Role::User, SamplingMessageContentBlock::text(text))
    }

    /// Makes a text message of the model.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::new(Role::Assistant, SamplingMessageContentBlock::text(text))
    }
}

object! {
    /// The server's preferences for the choice of a model. The client may ignore them.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::{ModelHint, ModelOffer, ModelPreferences};
    ///
    /// // The server prefers a certain family of models, and among them a fast one.
    /// let wanted = ModelPreferences::default().hints([ModelHint::new("otter")]).speed_priority(1);
    /// let models = [
    ///     ModelOffer::new("otter-large").qualities(0.2, 0.3, 0.9),
    ///     ModelOffer::new("otter-small").qualities(0.9, 0.8, 0.4),
    /// ];
    /// assert_eq!(wanted.choose(&models).map(|model| &*model.name), Some("otter-small"));
    /// ```
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct ModelPreferences {
        /// Hints at the names of models. The server prefers the first hint.
        pub hints?: Vec<ModelHint>,
        /// The importance of a low price, from 0 to 1.
        pub cost_priority?: f64 = "costPriority" as Number,
        /// The importance of speed, from 0 to 1.
        pub speed_priority?: f64 = "speedPriority" as Number,
        /// The importance of the model's intelligence, from 0 to 1.
        pub intelligence_priority?: f64 = "intelligencePriority" as Number,
        ..extra
    }
}

object! {
    /// A hint at a model by its name.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::{
    ///     CreateMessageRequestParams, ModelHint, ModelPreferences, SamplingMessage,
    /// };
    ///
    /// // The first hint that fits one of the client's models counts.
    /// let hints = [ModelHint::new("otter-large"), ModelHint::new("otter")];
    /// let params = CreateMessageRequestParams::new([SamplingMessage::user("Hello!")], 100)
    ///     .model_preferences(ModelPreferences::default().hints(hints));
    /// params.check()?;
    /// # Ok::<(), mcplink::Error>(())
    /// ```
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct ModelHint {
        /// The hint: a part of the model's name.
        pub name: Option<String>,
        ..extra
    }
}

impl ModelHint {
    /// Makes a hint at all models whose names contain this text.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: Some(name.into()),
            ..Self::default()
        }
    }
}

open_enum! {
    /// The context that the client adds to the conversation. The specification deprecates all
    /// values except `none`.
    pub enum IncludeContext {
        /// No context is added.
        None = "none",
        /// The context of the requesting server is added.
        ThisServer = "thisServer",
        /// The context of all servers is added.
        AllServers = "allServers",
    }
}

object! {
    /// The rule for tool calls by the model. Since 2025-11-25.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::{
    ///     CreateMessageRequestParams, SamplingMessage, Tool, ToolChoice, ToolChoiceMode,
    /// };
    ///
    /// // The model has to call one of the tools.
    /// let params = CreateMessageRequestParams::new([SamplingMessage::user("Book a table.")], 500)
    ///     .tools([Tool::new("book")])
    ///     .tool_choice(ToolChoice::default().mode(ToolChoiceMode::Required));
    /// params.check()?;
    /// # Ok::<(), mcplink::Error>(())
    /// ```
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct ToolChoice {
        /// Whether the model may, has to, or must not call tools. If absent, the model decides.
        pub mode?: ToolChoiceMode,
        ..extra
    }
}

open_enum! {
    /// Whether the model may, has to, or must not call tools. Since 2025-11-25.
    pub enum ToolChoiceMode {
        /// The model decides whether to call a tool.
        Auto = "auto",
        /// The model has to call a tool.
        Required = "required",
        /// The model must not call a tool.
        None = "none",
    }
}

object! {
    /// The params of `sampling/createMessage`.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::{CreateMessageRequestParams, SamplingMessage};
    /// use mcplink::server::{AskError, Context};
    ///
    /// fn summary(context: &Context, text: &str) -> Result<String, AskError> {
    ///     let params = CreateMessageRequestParams::new([SamplingMessage::user(text)], 200)
    ///         .system_prompt("Summarize the text in one sentence.");
    ///     let answer = context.sample("summary", params)?;
    ///     let texts = answer.content.blocks().iter().filter_map(|block| block.as_text());
    ///     Ok(texts.collect())
    /// }
    /// ```
    #[derive(Clone, Debug)]
    pub struct CreateMessageRequestParams {
        /// The conversation so far.
        pub messages: Vec<SamplingMessage>,
        /// The server's preferences for the choice of a model.
        pub model_preferences?: ModelPreferences = "modelPreferences",
        /// The system prompt. The client may change it.
        pub system_prompt?: String = "systemPrompt",
        /// The context that the client adds to the conversation.
        pub include_context?: IncludeContext = "includeContext",
        /// The sampling temperature of the model.
        pub temperature?: f64 as Number,
        /// The maximum number of tokens in the answer.
        pub max_tokens: u64 = "maxTokens" as Whole,
        /// The texts at which the model stops generating.
        pub stop_sequences?: Vec<String> = "stopSequences",
        /// Settings for the provider of the model: an object, as raw JSON.
        pub metadata: Option<Box<RawValue>> as RawObjectForm,
        /// The tools that the model may use.
        pub tools?: Vec<Tool> [since V2025_11_25, fit],
        /// The rule for tool calls by the model.
        pub tool_choice?: ToolChoice = "toolChoice" [since V2025_11_25],
        /// Present if the server requests to execute the sampling as a task.
        pub task: Option<TaskMetadata> [only V2025_11_25],
        /// Metadata of the request (`_meta`).
        pub meta: Option<RequestMetaObject> = "_meta" [fit],
    }

    /// Makes params that continue a conversation.
    pub fn new(messages: impl Into<Vec<SamplingMessage>>, max_tokens: u64);
}

/// Adapts the params to a revision. For older peers, a message with several blocks becomes several
/// messages with one block each.
impl FitTo for CreateMessageRequestParams {
    fn fit_to(&mut self, revision: ProtocolVersion) {
        self.fit_fields(revision);
        if revision < ProtocolVersion::V2025_11_25 {
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
    /// The reason why a model stopped generating.
    pub enum StopReason {
        /// The model finished its answer.
        EndTurn = "endTurn",
        /// The model generated a stop sequence.
        StopSequence = "stopSequence",
        /// The answer reached the maximum number of tokens.
        MaxTokens = "maxTokens",
        /// The model calls a tool. Since 2025-11-25.
        ToolUse = "toolUse",
    }
}

object! {
    /// The answer of a model: the result of `sampling/createMessage`.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::RpcError;
    /// use mcplink::client::Client;
    /// use mcplink::schema::CreateMessageResult;
    ///
    /// # fn ask_model() -> Option<String> { None }
    /// let builder = Client::builder("host", "1.0").on_sample(|_, _| match ask_model() {
    ///     Some(text) => Ok(CreateMessageResult::new("otter-1", text)),
    ///     None => Err(RpcError::user_rejected("the user does not allow it")),
    /// });
    /// ```
    #[derive(Clone, Debug, PartialEq)]
    pub struct CreateMessageResult {
        /// The role of the answer's sender.
        pub role: Role,
        /// The content of the answer.
        pub content: SamplingContent,
        /// The name of the model that answered.
        pub model: String,
        /// The reason why the model stopped, if it is known.
        pub stop_reason?: StopReason = "stopReason",
        /// Metadata of the result (`_meta`).
        pub meta: Option<MetaObject> = "_meta",
        ..extra
    }

    fn of_fields(role: Role, content: impl Into<SamplingContent>, model: impl Into<String>);
}

impl CreateMessageResult {
    /// Makes a result from the model's answer.
    pub fn new(model: impl Into<String>, content: impl Into<SamplingContent>) -> Self {
        Self::of_fields(Role::Assistant, content, model)
    }
}

/// Adapts the answer to a revision. For older peers, several blocks become one block with the
/// joined texts.
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
