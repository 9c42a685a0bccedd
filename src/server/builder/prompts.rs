//! The functions of the server builder that add prompts and completers.

use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::ServerBuilder;
use crate::schema::{CompletionReference, Prompt};
use crate::server::completion::{self, CompletionCall, CompletionOutput, CompletionRequest};
use crate::server::context::Context;
#[cfg(feature = "schemars")]
use crate::server::prompt_arguments;
use crate::server::prompts::{self, PromptCall, PromptOutput};

impl ServerBuilder {
    /// Adds a prompt whose handler takes its arguments as `A`. The arguments are derived from the
    /// fields of the struct `A`, unless `prompt` declares arguments.
    ///
    /// The arguments of a prompt are texts. The fields of `A` are texts, numbers, `bool`, enums
    /// without data, or an `Option` of one of these types, and are parsed from the texts. The
    /// documentation of a field becomes the description of its argument. An argument is optional if
    /// its field is an `Option` or has the attribute `#[serde(default)]`. The handler of a prompt
    /// without arguments takes `()`. A handler that takes a map or a `serde_json::Value` accepts
    /// any arguments, unless `prompt` declares arguments.
    ///
    /// The client gets an error, and the handler does not run, if a request lacks a required
    /// argument, has an undeclared argument, or has a text that can't be parsed.
    ///
    /// [`build`](Self::build) fails if a field of `A` has another type, if `A` is not a struct, or
    /// if `prompt` declares arguments, but not each argument that `A` takes.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::Prompt;
    /// use mcplink::server::Server;
    /// use schemars::JsonSchema;
    /// use serde::Deserialize;
    ///
    /// #[derive(Deserialize, JsonSchema)]
    /// struct Review {
    ///     /// The code to review.
    ///     code: String,
    ///     /// The largest number of remarks.
    ///     remarks: Option<u32>,
    /// }
    ///
    /// let server = Server::builder("review", "1.0")
    ///     .prompt(Prompt::new("review"), |args: Review, _| {
    ///         let most = args.remarks.unwrap_or(10);
    ///         format!("Make at most {most} remarks about this code:\n{}", args.code)
    ///     })
    ///     .build()?;
    /// # Ok::<(), mcplink::Error>(())
    /// ```
    #[cfg(feature = "schemars")]
    pub fn prompt<A, R>(
        self,
        prompt: Prompt,
        handler: impl Fn(A, &Context) -> R + Send + Sync + 'static,
    ) -> Self
    where
        A: DeserializeOwned + schemars::JsonSchema,
        R: PromptOutput,
    {
        match prompt_arguments::typed_prompt::<A>(prompt) {
            Ok(prompt) => self.prompt_with_arguments(prompt, handler),
            Err(error) => self.noting(Err(error)),
        }
    }

    /// Adds a prompt whose arguments are given, because the type `A` derives none. See
    /// [`Server::add_prompt_with_arguments`](crate::server::Server::add_prompt_with_arguments).
    pub fn prompt_with_arguments<A: DeserializeOwned, R: PromptOutput>(
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
