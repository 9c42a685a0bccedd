//! Completion of the arguments of prompts and of the variables of templates.
//!
//! Spec: Server Features, Utilities, "Completion" (every revision; the capability since
//! 2025-03-26).

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

use super::call::Unanswered;
use super::context::Context;
use super::error_map::HandlerError;
use super::guard::GuardedResult;
use super::primitive::Primitive;
use crate::error::{Error, Excerpt, Result, RpcError};
use crate::schema::{CompleteResult, Completion, CompletionReference, FitTo};
use crate::sync::Mutex;

pub(super) type CompletionHandler = Arc<dyn Fn(CompletionCall) + Send + Sync>;

/// The key of a completer: the kind of reference, the name of the prompt or the text of the
/// template, and the argument.
type Key = (Kind, String, String);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Prompt,
    Template,
}

fn key(reference: &CompletionReference, argument: &str) -> Key {
    let (kind, name) = match reference {
        CompletionReference::Prompt(prompt) => (Kind::Prompt, &prompt.name),
        CompletionReference::Resource(template) => (Kind::Template, &template.uri),
    };
    (kind, name.clone(), argument.to_owned())
}

/// The registered completers.
#[derive(Default)]
pub(super) struct Completers {
    table: Mutex<HashMap<Key, CompletionHandler>>,
}

impl Completers {
    pub(super) fn add(
        &self,
        reference: &CompletionReference,
        argument: &str,
        handler: CompletionHandler,
    ) -> Result<()> {
        let key = key(reference, argument);
        let mut table = self.table.lock();
        if table.contains_key(&key) {
            let (name, argument) = (Excerpt(&key.1), Excerpt(argument));
            let text = format!("a completer for '{argument}' of '{name}' is there already");
            return Err(Error::invalid(text));
        }
        table.insert(key, handler);
        Ok(())
    }

    pub(super) fn find(
        &self,
        reference: &CompletionReference,
        argument: &str,
    ) -> Option<CompletionHandler> {
        self.table.lock().get(&key(reference, argument)).cloned()
    }
}

impl fmt::Debug for Completers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.table.lock().keys()).finish()
    }
}

/// A request to complete an argument.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CompletionRequest {
    pub(super) reference: CompletionReference,
    pub(super) argument: String,
    pub(super) value: String,
    pub(super) known: BTreeMap<String, String>,
}

impl CompletionRequest {
    /// Returns the prompt or template that the argument belongs to.
    pub fn reference(&self) -> &CompletionReference {
        &self.reference
    }

    /// Returns the name of the argument.
    pub fn argument(&self) -> &str {
        &self.argument
    }

    /// Returns the text that the user has typed so far.
    pub fn value(&self) -> &str {
        &self.value
    }

    /// Returns the values that match the typed text, the best first.
    ///
    /// Values that begin with the text come first, then values with a word that begins with the
    /// text. Then come values that contain the text, and last values that contain its letters in
    /// order. The comparison ignores case.
    pub fn best_of<T: Into<String>>(&self, values: impl IntoIterator<Item = T>) -> Vec<String> {
        let typed = self.value.to_lowercase();
        let values = values.into_iter().map(Into::into);
        let mut fitting: Vec<(u8, String)> = values
            .filter_map(|value| Some((rank(&value.to_lowercase(), &typed)?, value)))
            .collect();
        fitting.sort_by_key(|(rank, _)| *rank);
        fitting.into_iter().map(|(_, value)| value).collect()
    }

    /// Returns the value that the client sent for another argument, or `None` if the client sent no
    /// such value. Clients send these values since 2025-06-18.
    pub fn known(&self, name: &str) -> Option<&str> {
        self.known.get(name).map(String::as_str)
    }

    /// Returns the names and values of all other arguments that the client sent.
    pub fn all_known(&self) -> &BTreeMap<String, String> {
        &self.known
    }
}

/// Returns the rank of a value: how well the value matches the typed text. A lower rank is better.
/// `None` means no match.
fn rank(value: &str, typed: &str) -> Option<u8> {
    let mut words = value.split(|c: char| !c.is_alphanumeric());
    let mut letters = value.chars();
    if value.starts_with(typed) {
        Some(0)
    } else if words.any(|word| word.starts_with(typed)) {
        Some(1)
    } else if value.contains(typed) {
        Some(2)
    } else {
        let has_all = typed.chars().all(|wanted| letters.any(|it| it == wanted));
        has_all.then_some(3)
    }
}

/// The types that a completer may return: values with the best first, a whole [`Completion`], or a
/// `Result` of these with a [`HandlerError`].
///
/// If there are more than 100 values, only the first 100 are sent, with `hasMore`.
#[diagnostic::on_unimplemented(
    message = "a completer can't return `{Self}`",
    label = "the handler of this completer returns `{Self}`",
    note = "return a `Vec` of texts, or a `Completion`",
    note = "a handler that fails returns a `Result` with `HandlerError`: write `Ok(function()?)` for a function with another error type"
)]
pub trait CompletionOutput {
    /// Converts the value into a completion.
    ///
    /// # Errors
    ///
    /// The reason why the completer has no result.
    fn into_completion(self) -> Result<Completion, HandlerError>;
}

impl CompletionOutput for Completion {
    fn into_completion(self) -> Result<Completion, HandlerError> {
        Ok(self)
    }
}

impl<T: Into<String>> CompletionOutput for Vec<T> {
    fn into_completion(self) -> Result<Completion, HandlerError> {
        Ok(Completion::new(self))
    }
}

impl<T: CompletionOutput> CompletionOutput for Result<T, HandlerError> {
    fn into_completion(self) -> Result<Completion, HandlerError> {
        self?.into_completion()
    }
}

/// A pending completion call, which can be answered from any thread.
///
/// If the call is dropped without an answer, the client gets an internal error. Completions can't
/// make input requests ([`Context::ask`]).
pub struct CompletionCall {
    pub(super) call: Unanswered,
    pub(super) completing: CompletionRequest,
}

impl CompletionCall {
    /// Returns the context of the call.
    pub fn context(&self) -> &Context {
        self.call.context()
    }

    /// Returns the completion request: the argument to complete and the typed text.
    pub fn completing(&self) -> &CompletionRequest {
        &self.completing
    }

    /// Answers the call.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Cancelled`](crate::ErrorKind::Cancelled) or
    /// [`ErrorKind::Closed`](crate::ErrorKind::Closed) when the client no longer waits.
    pub fn respond(self, output: impl CompletionOutput) -> Result<()> {
        let Self { call, completing } = self;
        let context = call.into_context();
        let answer = output
            .into_completion()
            .map_err(|error| context.reveal(error, "completion", completing.argument()));
        give(context, answer)
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

impl fmt::Debug for CompletionCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompletionCall")
            .field("context", self.context())
            .field("completing", &self.completing)
            .finish()
    }
}

/// Answers a call with a completion or an error.
pub(super) fn give(context: Context, completion: Result<Completion, RpcError>) -> Result<()> {
    let answer = completion.map(|completion| {
        let mut result = CompleteResult::new(cut(completion));
        context.release(GuardedResult::Completion(&mut result));
        context.mark(&mut result.meta);
        result.fit_to(context.client().revision);
        result
    });
    context.conclude(answer)
}

/// Returns a completion handler that runs `handler` and answers the call with the return value.
pub(super) fn completing<R: CompletionOutput>(
    handler: impl Fn(&CompletionRequest, &Context) -> R + Send + Sync + 'static,
) -> CompletionHandler {
    Arc::new(move |call: CompletionCall| {
        let output = handler(call.completing(), call.context());
        // Answering fails when the client no longer waits, which is not the completer's fault.
        _ = call.respond(output);
    })
}

/// Returns the prompt or template that a reference names.
pub(super) fn target(reference: &CompletionReference) -> Primitive<'_> {
    match reference {
        CompletionReference::Prompt(prompt) => Primitive::Prompt(&prompt.name),
        CompletionReference::Resource(template) => Primitive::ResourceTemplate(&template.uri),
    }
}

/// Cuts a completion to the maximum number of values.
fn cut(mut completion: Completion) -> Completion {
    let given = completion.values.len();
    if given > Completion::MAX_VALUES {
        completion.values.truncate(Completion::MAX_VALUES);
        completion.has_more = Some(true);
        let total = completion.total.unwrap_or(0).max(given as u64);
        completion.total = Some(total);
    }
    completion
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    // M-COMP-S-17, L-COMP-S-06
    #[test]
    fn a_hundred_values_are_sent_and_the_rest_counted() {
        let many = Completion {
            values: (0..150).map(|n| n.to_string()).collect(),
            ..Completion::default()
        };
        let sent = cut(many.clone().has_more(false).total(10));
        assert_eq!(sent.values.len(), 100);
        assert_eq!((sent.has_more, sent.total), (Some(true), Some(150)));
        assert_eq!(cut(many.total(1000)).total, Some(1000));
        assert_eq!(cut(Completion::new(["a"])), Completion::new(["a"]));
    }

    // M-COMP-S-06, M-COMP-S-07, L-COMP-S-03
    #[test]
    fn what_is_typed_may_be_mistyped() {
        fn check(typed: &str, expected: &[&str]) {
            let completing = CompletionRequest {
                argument: "a".to_owned(),
                reference: CompletionReference::prompt("p"),
                value: typed.to_owned(),
                known: BTreeMap::new(),
            };
            let values = ["lib/main.rs", "Maintenance", "domain", "mandarin", "zebra"];
            assert_eq!(completing.best_of(values), expected, "{typed}");
        }
        check(
            "main",
            &["Maintenance", "lib/main.rs", "domain", "mandarin"],
        );
        check(
            "MAIN",
            &["Maintenance", "lib/main.rs", "domain", "mandarin"],
        );
        check("mdn", &["mandarin"]);
        check("rs", &["lib/main.rs"]);
        check("x", &[]);
        check(
            "",
            &["lib/main.rs", "Maintenance", "domain", "mandarin", "zebra"],
        );
    }

    #[test]
    fn an_argument_has_one_completer() {
        let completers = Completers::default();
        let handler = || completing(|_: &CompletionRequest, _: &Context| vec!["a"]);
        let prompt = CompletionReference::prompt("x");
        completers.add(&prompt, "a", handler()).expect("free");
        assert!(completers.add(&prompt, "a", handler()).is_err());
        let template = CompletionReference::resource("x");
        completers
            .add(&template, "a", handler())
            .expect("another kind");
    }
}
