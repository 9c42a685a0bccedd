//! Prompts: their list and their messages.
//!
//! Spec: Server Features, "Prompts" (every revision).

use std::collections::BTreeMap;

use super::annotations::Role;
use super::content::ContentBlock;
use super::icon::Icon;
use super::input::InputResponses;
use super::json::Extra;
use super::meta::{MetaObject, RequestMetaObject, ResultMetaObject};
use super::misfit::Misfits;
use super::object::OrNull;
use super::result::{ResultType, fit_result_type};
use super::version::{FitTo, ProtocolVersion, keep_since};

/// A prompt template of a server.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Prompt {
    /// The name of the prompt, for programs.
    pub name: String,
    /// The display name of the prompt. Since 2025-06-18.
    pub title: Option<String>,
    /// The description of the prompt.
    pub description: Option<String>,
    /// The arguments that the prompt takes.
    pub arguments: Option<Vec<PromptArgument>>,
    /// Icons to show for the prompt. Since 2025-11-25.
    pub icons: Option<Vec<Icon>>,
    /// Metadata of the prompt (`_meta`). Since 2025-06-18.
    pub meta: Option<MetaObject>,
    /// Members that this library doesn't know.
    pub extra: Extra,
}

members!(Prompt { name, title, description, arguments, icons, meta = "_meta", ..extra });

impl Prompt {
    /// Makes a prompt with this name.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            title: None,
            description: None,
            arguments: None,
            icons: None,
            meta: None,
            extra: Extra::new(),
        }
    }

    setters! {
        /// Sets the display name of the prompt. Since 2025-06-18.
        title: String,
        /// Sets the description of the prompt.
        description: String,
        /// Sets the arguments that the prompt takes.
        arguments: Vec<PromptArgument>,
        /// Sets icons to show for the prompt. Since 2025-11-25.
        icons: Vec<Icon>,
        /// Sets the metadata of the prompt (`_meta`). Since 2025-06-18.
        meta: MetaObject,
    }

    /// Adds an argument that the prompt takes.
    pub fn argument(mut self, argument: PromptArgument) -> Self {
        self.arguments.get_or_insert_default().push(argument);
        self
    }

    /// Returns the display name: the title, or the name if there is no title.
    pub fn display_name(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }
}

impl FitTo for Prompt {
    fn fit_to(&mut self, revision: ProtocolVersion) {
        use ProtocolVersion::{V2025_06_18, V2025_11_25};
        keep_since(&mut self.title, V2025_06_18, revision);
        keep_since(&mut self.icons, V2025_11_25, revision);
        keep_since(&mut self.meta, V2025_06_18, revision);
        self.arguments.fit_to(revision);
    }
}

/// An argument of a prompt.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PromptArgument {
    /// The name of the argument, for programs.
    pub name: String,
    /// The display name of the argument. Since 2025-06-18.
    pub title: Option<String>,
    /// The description of the argument.
    pub description: Option<String>,
    /// Whether the argument is required. If the member is absent, the argument is optional.
    pub required: Option<bool>,
    /// Members that this library doesn't know.
    pub extra: Extra,
}

members!(PromptArgument {
    name,
    title,
    description,
    required,
    ..extra
});

impl PromptArgument {
    /// Makes an optional argument.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            title: None,
            description: None,
            required: None,
            extra: Extra::new(),
        }
    }

    setters! {
        /// Sets the display name of the argument. Since 2025-06-18.
        title: String,
        /// Sets the description of the argument.
        description: String,
        /// Sets whether the argument is required.
        required: bool,
    }

    /// Whether the argument is required.
    pub fn is_required(&self) -> bool {
        self.required.unwrap_or(false)
    }
}

impl FitTo for PromptArgument {
    fn fit_to(&mut self, revision: ProtocolVersion) {
        keep_since(&mut self.title, ProtocolVersion::V2025_06_18, revision);
    }
}

/// A message of a prompt.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PromptMessage {
    /// The role of the message's sender.
    pub role: Role,
    /// The content of the message.
    pub content: ContentBlock,
    /// Members that this library doesn't know.
    pub extra: Extra,
}

members!(PromptMessage {
    role,
    content,
    ..extra
});

impl PromptMessage {
    /// Makes a message from the role of its sender and its content.
    pub fn new(role: Role, content: impl Into<ContentBlock>) -> Self {
        Self {
            role,
            content: content.into(),
            extra: Extra::new(),
        }
    }
}

impl FitTo for PromptMessage {
    fn fit_to(&mut self, revision: ProtocolVersion) {
        self.content.fit_to(revision);
    }
}

list_result! {
    /// A page of the list of prompts: the result of `prompts/list`.
    ListPromptsResult { prompts: Vec<Prompt> }
}

/// The params of `prompts/get`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct GetPromptRequestParams {
    /// The name of the prompt.
    pub name: String,
    /// The values of the prompt's arguments, by name.
    pub arguments: Option<BTreeMap<String, String>>,
    /// The client's answers to the input requests in the server's previous result. Since
    /// 2026-07-28.
    pub input_responses: Option<InputResponses>,
    /// The `requestState` of the server's previous result, unchanged. Since 2026-07-28.
    pub request_state: Option<String>,
    /// Metadata of the request (`_meta`). Required since 2026-07-28.
    pub meta: Option<RequestMetaObject>,
}

members!(GetPromptRequestParams {
    name,
    arguments,
    input_responses = "inputResponses",
    request_state = "requestState",
    meta = "_meta",
});

impl GetPromptRequestParams {
    /// Makes params that get the prompt with this name, without arguments.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            arguments: None,
            input_responses: None,
            request_state: None,
            meta: None,
        }
    }

    /// Adds the value of an argument.
    pub fn argument(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        let arguments = self.arguments.get_or_insert_default();
        arguments.insert(name.into(), value.into());
        self
    }

    setters! {
        /// Sets the values of all arguments.
        arguments: BTreeMap<String, String>,
        /// Sets the answers to the server's input requests. Since 2026-07-28.
        input_responses: InputResponses,
        /// Sets the `requestState`, copied unchanged from the server's previous result. Since
        /// 2026-07-28.
        request_state: String,
        /// Sets the metadata of the request (`_meta`).
        meta: RequestMetaObject,
    }
}

impl FitTo for GetPromptRequestParams {
    fn fit_to(&mut self, revision: ProtocolVersion) {
        use ProtocolVersion::V2026_07_28;
        keep_since(&mut self.input_responses, V2026_07_28, revision);
        keep_since(&mut self.request_state, V2026_07_28, revision);
        self.meta.fit_to(revision);
    }
}

/// The messages of a prompt: the result of `prompts/get`.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct GetPromptResult {
    /// The kind of result. Since 2026-07-28.
    pub result_type: Option<ResultType>,
    /// The description of the prompt.
    pub description: Option<String>,
    /// The messages of the prompt.
    pub messages: Vec<PromptMessage>,
    /// Metadata of the result (`_meta`).
    pub meta: Option<ResultMetaObject>,
    /// Members that this library doesn't know.
    pub extra: Extra,
    misfits: Misfits,
}

members!(GetPromptResult { result_type = "resultType", description, messages as OrNull, meta = "_meta", ..extra;
    misfits
});

impl GetPromptResult {
    /// Makes a result from the messages of a prompt.
    pub fn new(messages: impl Into<Vec<PromptMessage>>) -> Self {
        Self {
            messages: messages.into(),
            ..Self::default()
        }
    }

    /// Makes a result with one text message of the user.
    pub fn user(text: impl Into<String>) -> Self {
        Self::new([PromptMessage::new(Role::User, ContentBlock::text(text))])
    }

    setters! {
        /// Sets the description of the prompt.
        description: String,
        /// Sets the metadata of the result (`_meta`).
        meta: ResultMetaObject,
    }

    misfits!();
}

impl FitTo for GetPromptResult {
    fn fit_to(&mut self, revision: ProtocolVersion) {
        fit_result_type(&mut self.result_type, revision);
        self.messages.fit_to(revision);
        self.meta.fit_to(revision);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_role_is_refused() {
        let text = r#"{"role":"system","content":{"type":"text","text":"a"}}"#;
        assert!(serde_json::from_str::<PromptMessage>(text).is_err());
    }

    #[test]
    fn older_peers_see_the_members_that_their_revision_knows() {
        let mut prompt = Prompt::new("p")
            .title("P")
            .argument(PromptArgument::new("a").title("A").required(true))
            .icons([Icon::new("data:,")]);
        prompt.fit_to(ProtocolVersion::V2025_06_18);
        assert!(prompt.icons.is_none() && prompt.title.is_some());
        prompt.fit_to(ProtocolVersion::V2025_03_26);
        assert_eq!(
            serde_json::to_string(&prompt).expect("JSON"),
            r#"{"name":"p","arguments":[{"name":"a","required":true}]}"#
        );
    }
}
