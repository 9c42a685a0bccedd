//! The functions of the server builder that add prompts and completers.

use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::ServerBuilder;
use crate::schema::{CompletionReference, Prompt};
use crate::server::completion::{self, CompletionCall, CompletionOutput, CompletionRequest};
use crate::server::context::Context;
use crate::server::prompts::{self, PromptCall, PromptOutput};

impl ServerBuilder {
    /// Adds a prompt whose handler takes its arguments as `A`. All arguments are strings, so `A` is
    /// a struct of strings, a map, or `()`.
    ///
    /// A request without a required argument, or with an undeclared argument, is refused before the
    /// handler runs. A prompt that declares no arguments accepts any arguments.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::{Prompt, PromptArgument};
    /// use mcplink::server::Server;
    /// use serde::Deserialize;
    ///
    /// #[derive(Deserialize)]
    /// struct Review {
    ///     code: String,
    /// }
    ///
    /// let prompt = Prompt::new("review").argument(PromptArgument::new("code").required(true));
    /// let server = Server::builder("review", "1.0")
    ///     .prompt(prompt, |args: Review, _| format!("Please review:\n{}", args.code))
    ///     .build()?;
    /// # Ok::<(), mcplink::Error>(())
    /// ```
    pub fn prompt<A: DeserializeOwned, R: PromptOutput>(
        self,
        prompt: Prompt,
        handler: impl Fn(A, &Context) -> R + Send + Sync + 'static,
    ) -> Self {
        let added = self.inner.add_prompt(prompt, prompts::prompting(handler));
        self.noting(added)
    }

    /// Adds a prompt whose handler may keep the call and answer later, from any thread. See
    /// [`Server::add_deferred_prompt`](crate::server::Server::add_deferred_prompt).
    pub fn deferred_prompt(
        self,
        prompt: Prompt,
        handler: impl Fn(PromptCall) + Send + Sync + 'static,
    ) -> Self {
        let added = self.inner.add_prompt(prompt, Arc::new(handler));
        self.noting(added)
    }

    /// Adds a completer: a function that suggests values for a prompt's argument or a template's
    /// variable.
    ///
    /// The prompt or template may be added later. The values must be in order, the best first; at
    /// most 100 are sent. [`CompletionRequest::best_of`] does approximate matching, which tolerates
    /// typing errors.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::collections::BTreeMap;
    ///
    /// use mcplink::schema::{CompletionReference, Prompt, PromptArgument};
    /// use mcplink::server::Server;
    ///
    /// let prompt = Prompt::new("review").argument(PromptArgument::new("language"));
    /// let server = Server::builder("review", "1.0")
    ///     .prompt(prompt, |_: BTreeMap<String, String>, _| "Please review.")
    ///     .completer(&CompletionReference::prompt("review"), "language", |typed, _| {
    ///         typed.best_of(["c", "c++", "rust"])
    ///     })
    ///     .build()?;
    /// # Ok::<(), mcplink::Error>(())
    /// ```
    pub fn completer<R: CompletionOutput>(
        self,
        reference: &CompletionReference,
        argument: &str,
        handler: impl Fn(&CompletionRequest, &Context) -> R + Send + Sync + 'static,
    ) -> Self {
        let handler = completion::completing(handler);
        let added = self.inner.add_completer(reference, argument, handler);
        self.noting(added)
    }

    /// Adds a completer that may keep the call and answer later, from any thread. See
    /// [`Server::add_deferred_completer`](crate::server::Server::add_deferred_completer).
    pub fn deferred_completer(
        self,
        reference: &CompletionReference,
        argument: &str,
        handler: impl Fn(CompletionCall) + Send + Sync + 'static,
    ) -> Self {
        let handler = Arc::new(handler);
        let added = self.inner.add_completer(reference, argument, handler);
        self.noting(added)
    }
}
