//! Prompts: their list and their messages.
//!
//! Spec: Server Features, "Prompts" (every revision).

use std::collections::BTreeMap;

use super::annotations::Role;
use super::content::ContentBlock;
use super::icon::Icon;
use super::input::InputResponses;
use super::json::Count;
use super::meta::{MetaObject, RequestMetaObject, ResultMetaObject};
use super::object::OrNull;
use super::result::ResultType;

object! {
    /// A prompt template of a server.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::{Prompt, PromptArgument};
    /// use mcplink::server::Server;
    ///
    /// let prompt = Prompt::new("review")
    ///     .title("Review code")
    ///     .argument(PromptArgument::new("code").required(true));
    /// let server = Server::builder("reviewer", "1.0")
    ///     .prompt_with_arguments(prompt, |args: serde_json::Value, _| format!("Review {args}"))
    ///     .build()?;
    /// # Ok::<(), mcplink::Error>(())
    /// ```
    #[derive(Clone, Debug, PartialEq)]
    pub struct Prompt: FitTo {
        /// The name of the prompt, for programs.
        pub name: String,
        /// The display name of the prompt.
        pub title?: String [since V2025_06_18],
        /// The description of the prompt.
        pub description?: String,
        /// The arguments that the prompt takes.
        pub arguments?: Vec<PromptArgument> [fit],
        /// Icons to show for the prompt.
        pub icons?: Vec<Icon> [since V2025_11_25],
        /// Metadata of the prompt (`_meta`).
        pub meta?: MetaObject = "_meta" [since V2025_06_18],
        ..extra
    }

    /// Makes a prompt with this name.
    pub fn new(name: impl Into<String>);
}

impl Prompt {
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

object! {
    /// An argument of a prompt.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::{Prompt, PromptArgument};
    ///
    /// let language = PromptArgument::new("language").description("The language of the code");
    /// let code = PromptArgument::new("code").required(true);
    /// let prompt = Prompt::new("review").arguments([code, language]);
    ///
    /// // A client asks the user for the required arguments.
    /// let arguments = prompt.arguments.iter().flatten();
    /// assert_eq!(arguments.filter(|argument| argument.is_required()).count(), 1);
    /// ```
    #[derive(Clone, Debug, PartialEq)]
    pub struct PromptArgument: FitTo {
        /// The name of the argument, for programs.
        pub name: String,
        /// The display name of the argument.
        pub title?: String [since V2025_06_18],
        /// The description of the argument.
        pub description?: String,
        /// Whether the argument is required. If the member is absent, the argument is optional.
        pub required?: bool,
        ..extra
    }

    /// Makes an optional argument.
    pub fn new(name: impl Into<String>);
}

impl PromptArgument {
    /// Whether the argument is required.
    pub fn is_required(&self) -> bool {
        self.required.unwrap_or(false)
    }
}

object! {
    /// A message of a prompt.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::{Prompt, PromptMessage, Role};
    /// use mcplink::server::Server;
    ///
    /// let server = Server::builder("teacher", "1.0")
    ///     .prompt_with_arguments(Prompt::new("quiz"), |_: serde_json::Value, _| {
    ///         let question = PromptMessage::new(Role::Assistant, "Which planet is the largest?");
    ///         vec![question, PromptMessage::new(Role::User, "Jupiter.")]
    ///     })
    ///     .build()?;
    /// # Ok::<(), mcplink::Error>(())
    /// ```
    #[derive(Clone, Debug, PartialEq)]
    pub struct PromptMessage: FitTo {
        /// The role of the message's sender.
        pub role: Role,
        /// The content of the message.
        pub content: ContentBlock [fit],
        ..extra
    }

    /// Makes a message from the role of its sender and its content.
    pub fn new(role: Role, content: impl Into<ContentBlock>);
}

list_result! {
    /// A page of the list of prompts: the result of `prompts/list`.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::{ListPromptsResult, read_json};
    ///
    /// let page: ListPromptsResult =
    ///     read_json(r#"{"prompts":[{"name":"review","title":"Review code"}],"nextCursor":"2"}"#)?;
    /// assert_eq!(page.prompts[0].display_name(), "Review code");
    /// assert_eq!(page.next_cursor.as_deref(), Some("2"));
    /// # Ok::<(), mcplink::Error>(())
    /// ```
    ListPromptsResult { prompts: Vec<Prompt> }
}

object! {
    /// The params of `prompts/get`.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::client::{CallOptions, Client};
    /// use mcplink::schema::GetPromptRequestParams;
    ///
    /// fn review(client: &Client, code: &str) -> mcplink::Result<String> {
    ///     let params = GetPromptRequestParams::new("review").argument("code", code);
    ///     let result = client.request("prompts/get", &params, CallOptions::new())?;
    ///     Ok(result.as_str().to_owned()) // the result as raw JSON
    /// }
    /// ```
    #[derive(Clone, Debug)]
    pub struct GetPromptRequestParams: FitTo {
        /// The name of the prompt.
        pub name: String,
        /// The values of the prompt's arguments, by name.
        pub arguments?: BTreeMap<String, String>,
        /// The client's answers to the input requests in the server's previous result.
        pub input_responses?: InputResponses = "inputResponses" [since V2026_07_28],
        /// The `requestState` of the server's previous result, unchanged.
        pub request_state?: String = "requestState" [since V2026_07_28],
        /// Metadata of the request (`_meta`). Required since 2026-07-28.
        pub meta?: RequestMetaObject = "_meta" [fit],
    }

    /// Makes params that get the prompt with this name, without arguments.
    pub fn new(name: impl Into<String>);
}

impl GetPromptRequestParams {
    /// Adds the value of an argument.
    pub fn argument(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        let arguments = self.arguments.get_or_insert_default();
        arguments.insert(name.into(), value.into());
        self
    }
}

object! {
    /// The messages of a prompt: the result of `prompts/get`.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::{GetPromptResult, Prompt};
    /// use mcplink::server::Server;
    ///
    /// let server = Server::builder("reviewer", "1.0")
    ///     .prompt_with_arguments(Prompt::new("review"), |_: serde_json::Value, _| {
    ///         GetPromptResult::user("Review the open file.").description("A review of a file")
    ///     })
    ///     .build()?;
    /// # Ok::<(), mcplink::Error>(())
    /// ```
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct GetPromptResult: FitTo {
        /// The kind of result.
        pub result_type: Option<ResultType>
            = "resultType" [since V2026_07_28 or ResultType::Complete],
        /// The description of the prompt.
        pub description?: String,
        /// The messages of the prompt.
        pub messages: Vec<PromptMessage> as OrNull [fit],
        /// Metadata of the result (`_meta`).
        pub meta?: ResultMetaObject = "_meta" [fit],
        ..extra; misfits
    }

    /// Makes a result from the messages of a prompt.
    pub fn new(messages: impl Into<Vec<PromptMessage>>);
}

impl GetPromptResult {
    /// Makes a result with one text message of the user.
    pub fn user(text: impl Into<String>) -> Self {
        Self::new([PromptMessage::new(Role::User, ContentBlock::text(text))])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{FitTo, ProtocolVersion};

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
