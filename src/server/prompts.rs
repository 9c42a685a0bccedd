//! The prompts of a server.
//!
//! Spec: Server Features, "Prompts" (every revision).

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::call::Unanswered;
use super::catalogue::{self, Catalogue, listed};
use super::context::Context;
use super::error_map::HandlerError;
use super::guard::GuardedResult;
use super::mrtr::Rerun;
use super::prompt_arguments::parsed;
use super::raw_result;
use super::uri::{is_uri, why_no_uri};
use crate::error::{Error, Excerpt, Result, RpcError};
use crate::jsonrpc::RawResult;
use crate::schema::{
    ContentBlock, FitTo, GetPromptResult, ListPromptsResult, Prompt, PromptMessage,
    ProtocolVersion, ResourceContents,
};

pub(super) type Arguments = BTreeMap<String, String>;
pub(super) type PromptHandler = Arc<dyn Fn(PromptCall) + Send + Sync>;
pub(super) type Prompts = Catalogue<Prompt, PromptHandler>;
pub(super) type PromptEntry = catalogue::Entry<Prompt, PromptHandler>;

listed!(
    Prompt in ListPromptsResult of Prompts,
    "prompt",
    name,
    Prompt
);

/// Adds a prompt. Fails if the prompt has no name, or if two of its arguments have the same name.
pub(super) fn add(prompts: &Prompts, prompt: Prompt, handler: PromptHandler) -> Result<()> {
    let mut names: Vec<&str> = declared(&prompt).map(|argument| &*argument.name).collect();
    names.sort_unstable();
    let twice = names.windows(2).find(|pair| pair[0] == pair[1]);
    let problem = match twice {
        _ if prompt.name.is_empty() => "a prompt needs a name".to_owned(),
        Some(pair) => format!(
            "prompt '{}' has two arguments named '{}'",
            Excerpt(&prompt.name),
            Excerpt(pair[0])
        ),
        None => return prompts.add(prompt, handler),
    };
    Err(Error::invalid(problem))
}

fn declared(prompt: &Prompt) -> impl Iterator<Item = &crate::schema::PromptArgument> {
    prompt.arguments.iter().flatten()
}

/// The types that the handler of a prompt may return.
///
/// A text becomes one user message. A handler may also return one or several [`PromptMessage`], a
/// whole result, or a `Result` of any of these types with a [`HandlerError`].
///
/// A result without a description gets the description of the prompt. An embedded resource without
/// a MIME type gets a general MIME type. A result with an invalid MIME type or URI is not sent; the
/// client gets an internal error instead.
#[diagnostic::on_unimplemented(
    message = "a prompt can't return `{Self}`",
    label = "the handler of this prompt returns `{Self}`",
    note = "return a text, a `PromptMessage`, several of them, or a `GetPromptResult`",
    note = "a handler that fails returns a `Result` with `HandlerError`: write `Ok(function()?)` for a function with another error type"
)]
pub trait PromptOutput {
    /// Converts the value into the result of `prompts/get`.
    ///
    /// # Errors
    ///
    /// The reason why the handler has no result.
    fn into_result(self) -> Result<GetPromptResult, HandlerError>;
}

impl PromptOutput for GetPromptResult {
    fn into_result(self) -> Result<GetPromptResult, HandlerError> {
        Ok(self)
    }
}

impl PromptOutput for String {
    fn into_result(self) -> Result<GetPromptResult, HandlerError> {
        Ok(GetPromptResult::user(self))
    }
}

impl PromptOutput for &str {
    fn into_result(self) -> Result<GetPromptResult, HandlerError> {
        Ok(GetPromptResult::user(self))
    }
}

impl PromptOutput for PromptMessage {
    fn into_result(self) -> Result<GetPromptResult, HandlerError> {
        Ok(GetPromptResult::new([self]))
    }
}

impl PromptOutput for Vec<PromptMessage> {
    fn into_result(self) -> Result<GetPromptResult, HandlerError> {
        Ok(GetPromptResult::new(self))
    }
}

impl<T: PromptOutput> PromptOutput for Result<T, HandlerError> {
    fn into_result(self) -> Result<GetPromptResult, HandlerError> {
        self?.into_result()
    }
}

/// A pending prompt call, which can be answered from any thread.
///
/// If the call is dropped without an answer, the client gets the input requests that the handler
/// [made](Context::ask). If the handler made no input request, or panicked, the client gets an
/// internal error.
pub struct PromptCall {
    call: Unanswered,
    entry: Arc<PromptEntry>,
}

impl PromptCall {
    /// Returns the context of the call.
    pub fn context(&self) -> &Context {
        self.call.context()
    }

    /// Returns the name of the prompt.
    pub fn name(&self) -> &str {
        &self.entry.item.name
    }

    /// Returns the arguments as JSON text: an object whose members are strings. The text is `{}`
    /// when the call has no arguments.
    pub fn raw_arguments(&self) -> &str {
        self.call.arguments()
    }

    /// Parses the arguments as `A`: a struct, a map, or `()`. All arguments are texts. A field of
    /// the struct that is a number, a `bool` or an enum without data is parsed from its text.
    ///
    /// # Errors
    ///
    /// An error for the client, which names the wrong argument.
    pub fn arguments<A: DeserializeOwned>(&self) -> Result<A, RpcError> {
        parsed(self.raw_arguments())
    }

    /// Answers the call.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Cancelled`](crate::ErrorKind::Cancelled) or
    /// [`ErrorKind::Closed`](crate::ErrorKind::Closed) when the client no longer waits.
    pub fn respond(self, output: impl PromptOutput) -> Result<()> {
        let Self { call, entry } = self;
        let context = call.into_context();
        let result = output.into_result().and_then(|mut result| {
            for message in &mut result.messages {
                complete(&mut message.content)?;
            }
            if result.description.is_none() {
                result.description.clone_from(&entry.item.description);
            }
            context.release(GuardedResult::Prompt(&mut result));
            context.mark(&mut result.meta);
            result.fit_to(context.client().revision);
            Ok(result)
        });
        let answer = result.map_err(|error| context.reveal(error, "prompt", &entry.item.name));
        context.conclude(answer)
    }

    /// Answers the call with a result that another server gave, as
    /// [`ToolCall::respond_raw`](super::ToolCall::respond_raw) does for tools.
    ///
    /// # Errors
    ///
    /// The errors of [`respond`](Self::respond).
    pub fn respond_raw(self, result: RawResult, revision: ProtocolVersion) -> Result<()> {
        if !self.context().may_stay_raw(&result, revision, false) {
            let clear = |result: &mut GetPromptResult| result.result_type = None;
            let result = raw_result::parse(&result, revision, clear);
            return self.respond(result.map_err(HandlerError::from));
        }
        self.call.into_context().conclude_raw(result)
    }

    /// Answers the call with an error.
    ///
    /// # Errors
    ///
    /// The errors of [`respond`](Self::respond).
    pub fn refuse(self, error: &RpcError) -> Result<()> {
        self.call.refuse(error)
    }
}

impl fmt::Debug for PromptCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PromptCall")
            .field("context", self.context())
            .field("name", &self.name())
            .finish()
    }
}

/// Returns a prompt handler that parses the arguments as `A`, runs `handler`, and answers the call
/// with the return value.
pub(super) fn prompting<A: DeserializeOwned, R: PromptOutput>(
    handler: impl Fn(A, &Context) -> R + Send + Sync + 'static,
) -> PromptHandler {
    Arc::new(move |call: PromptCall| {
        let answered = match call.arguments::<A>() {
            Ok(arguments) => {
                let output = handler(arguments, call.context());
                call.respond(output)
            }
            Err(error) => call.refuse(&error),
        };
        // Answering fails when the client no longer waits, which is not the handler's fault.
        drop(answered);
    })
}

/// Checks that a call has all required arguments of the prompt, and no undeclared arguments. A
/// prompt that declares no arguments accepts any arguments.
pub(super) fn check(prompt: &Prompt, arguments: &Arguments) -> Result<(), RpcError> {
    let missing = declared(prompt)
        .find(|argument| argument.is_required() && !arguments.contains_key(&argument.name));
    if let Some(argument) = missing {
        let text = format!("argument '{}' is required", Excerpt(&argument.name));
        return Err(RpcError::invalid_params(text));
    }
    let is_known = |name: &str| declared(prompt).any(|argument| argument.name == name);
    let unknown = arguments.keys().find(|name| !is_known(name));
    match unknown.filter(|_| declared(prompt).next().is_some()) {
        Some(name) => Err(RpcError::invalid_params(format!(
            "there is no argument '{}'",
            Excerpt(name)
        ))),
        None => Ok(()),
    }
}

/// Adds missing MIME types to the content of a prompt, and refuses content that violates the
/// specification.
///
/// Images, audio and embedded resources need a MIME type. An embedded resource also needs a URI. An
/// embedded resource without a MIME type gets the general MIME type of text or of bytes.
fn complete(content: &mut ContentBlock) -> Result<(), HandlerError> {
    let mime_type = match content {
        ContentBlock::Image(image) => &image.mime_type,
        ContentBlock::Audio(audio) => &audio.mime_type,
        ContentBlock::Resource(embedded) => {
            let uri = embedded.resource.uri();
            if !is_uri(uri) {
                let (uri, why) = (Excerpt(uri), why_no_uri(uri));
                let text = format!("'{uri}' is not the address of a resource: {why}");
                return Err(Error::invalid(text).into());
            }
            let (mime_type, usual) = match &mut embedded.resource {
                ResourceContents::Text(contents) => (&mut contents.mime_type, "text/plain"),
                ResourceContents::Blob(contents) => {
                    (&mut contents.mime_type, "application/octet-stream")
                }
            };
            mime_type.get_or_insert_with(|| usual.to_owned())
        }
        _ => return Ok(()),
    };
    if is_mime_type(mime_type) {
        return Ok(());
    }
    let text = format!(
        "'{}' is not a MIME type: use type/subtype",
        Excerpt(mime_type)
    );
    Err(Error::invalid(text).into())
}

/// Returns whether a text has the form of a MIME type (RFC 6838). Parameters are not checked.
fn is_mime_type(text: &str) -> bool {
    let name = text.split(';').next().unwrap_or_default().trim_ascii_end();
    let is_name = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphanumeric())
            && part
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte))
    };
    name.split_once('/')
        .is_some_and(|(kind, subtype)| is_name(kind) && is_name(subtype))
}

impl Rerun for PromptEntry {
    fn run(self: Arc<Self>, context: Context) {
        let entry = Arc::clone(&self);
        let call = Unanswered::new(context);
        (self.handler)(PromptCall { call, entry });
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use serde::Deserialize;

    use super::*;
    use crate::schema::PromptArgument;

    fn arguments(pairs: &[(&str, &str)]) -> Arguments {
        let owned = pairs
            .iter()
            .map(|(name, value)| (name.to_string(), value.to_string()));
        owned.collect()
    }

    // M-PROM-S-09, M-PROM-S-11, L-PROM-S-06, L-PROM-S-07
    #[test]
    fn arguments_are_held_against_what_the_prompt_declares() {
        let prompt = Prompt::new("p")
            .argument(PromptArgument::new("a").required(true))
            .argument(PromptArgument::new("b"));
        let problem = |pairs: &[(&str, &str)]| {
            let checked = check(&prompt, &arguments(pairs));
            checked.err().map(|error| error.message)
        };
        assert_eq!(problem(&[("a", "1")]), None);
        assert_eq!(problem(&[("a", "1"), ("b", "")]), None);
        assert!(problem(&[("b", "1")]).expect("missing").contains("'a'"));
        assert!(
            problem(&[("a", "1"), ("c", "1")])
                .expect("unknown")
                .contains("'c'")
        );
        assert!(check(&Prompt::new("p"), &arguments(&[("x", "1")])).is_ok());
    }

    #[test]
    fn arguments_are_read_as_the_handler_wants_them() {
        #[derive(Debug, Deserialize, PartialEq)]
        struct Args {
            a: String,
            b: Option<String>,
        }
        let one = r#"{"a":"1"}"#;
        let args: Args = parsed(one).expect("an argument");
        assert_eq!((args.a.as_str(), args.b), ("1", None));
        assert!(parsed::<Args>("{}").is_err());
        parsed::<()>("{}").expect("none wanted");
        parsed::<Arguments>("{}").expect("any wanted");
        assert!(parsed::<()>(one).is_err());
    }

    #[test]
    fn a_prompt_has_a_name_and_its_arguments_different_ones() {
        let prompts = Prompts::default();
        let handler = || prompting(|(): (), _: &Context| "text");
        let twice = Prompt::new("p")
            .argument(PromptArgument::new("a"))
            .argument(PromptArgument::new("a"));
        assert!(add(&prompts, twice, handler()).is_err());
        assert!(add(&prompts, Prompt::new(""), handler()).is_err());
        add(&prompts, Prompt::new("p"), handler()).expect("free");
        assert!(add(&prompts, Prompt::new("p"), handler()).is_err(), "taken");
    }
}
