//! Completion of arguments.
//!
//! Spec: Server Features, Utilities, "Completion" (every revision).

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::json::Count;
use super::meta::{RequestMetaObject, ResultMetaObject};
use super::object::{OrDefault, OrNull};
use super::result::ResultType;
use super::tagged::{self, Tagged};
use super::tree::Extra;
use super::version::{FitTo, ProtocolVersion};

literal!(PromptReferenceType = "ref/prompt");
literal!(ResourceReferenceType = "ref/resource");

object! {
    /// A reference to a prompt whose argument is completed.
    #[derive(Clone, Debug, PartialEq)]
    pub struct PromptReference {
        kind: PromptReferenceType = "type" as OrDefault,
        /// The name of the prompt.
        pub name: String,
        /// The display name of the prompt.
        pub title: Option<String> [since V2025_06_18],
    }

    fn new(name: impl Into<String>);
}

object! {
    /// A reference to a resource template whose argument is completed.
    #[derive(Clone, Debug, PartialEq)]
    pub struct ResourceTemplateReference {
        kind: ResourceReferenceType = "type" as OrDefault,
        /// The URI template of the resource template, or the URI of a resource.
        pub uri: String,
    }

    fn new(uri: impl Into<String>);
}

/// The name that revisions up to 2025-03-26 give to [`ResourceTemplateReference`].
pub type ResourceReference = ResourceTemplateReference;

/// The prompt or resource template whose argument is completed. The set of variants is closed.
///
/// # Examples
///
/// ```
/// use mcplink::schema::{CompletionReference, Prompt};
/// use mcplink::server::Server;
///
/// let server = Server::builder("reviewer", "1.0")
///     .prompt_with_arguments(Prompt::new("review"), |_: serde_json::Value, _| "Review this.")
///     .completer(&CompletionReference::prompt("review"), "language", |request, _| {
///         request.best_of(["C", "C++", "Rust"])
///     })
///     .build()?;
/// # Ok::<(), mcplink::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum CompletionReference {
    /// The reference to a prompt whose argument is completed.
    Prompt(PromptReference),
    /// The reference to a resource template whose argument is completed.
    Resource(ResourceTemplateReference),
}

required!(CompletionReference);

impl CompletionReference {
    /// Makes a reference to a prompt.
    pub fn prompt(name: impl Into<String>) -> Self {
        Self::Prompt(PromptReference::new(name))
    }

    /// Makes a reference to a resource template.
    pub fn resource(uri_template: impl Into<String>) -> Self {
        Self::Resource(ResourceTemplateReference::new(uri_template))
    }
}

impl Serialize for CompletionReference {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Prompt(reference) => reference.serialize(serializer),
            Self::Resource(reference) => reference.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for CompletionReference {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        tagged::deserialize(deserializer)
    }
}

open_enum! {
    /// The `type` of a completion reference.
    pub(super) enum ReferenceType {
        Prompt = "ref/prompt",
        Resource = "ref/resource",
    }
}

impl Tagged for CompletionReference {
    type Kind = ReferenceType;

    const EXPECTED: &'static str = "a reference to a prompt or a resource template";

    fn read<'de, D: Deserializer<'de>>(kind: ReferenceType, rest: D) -> Result<Self, D::Error> {
        match kind {
            ReferenceType::Prompt => Deserialize::deserialize(rest).map(Self::Prompt),
            ReferenceType::Resource => Deserialize::deserialize(rest).map(Self::Resource),
            ReferenceType::Other(kind) => Err(de::Error::unknown_variant(
                &kind,
                &["ref/prompt", "ref/resource"],
            )),
        }
    }
}

object! {
    /// The argument to complete.
    #[derive(Clone, Debug, PartialEq)]
    pub struct CompletionArgument {
        /// The name of the argument.
        pub name: String,
        /// The text that the user has typed so far for this argument.
        pub value: String,
    }

    fn new(name: impl Into<String>, value: impl Into<String>);
}

object! {
    /// The other arguments of the same prompt or template, whose values are already known. Since
    /// 2025-06-18.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::{CompleteRequestParams, CompletionContext, CompletionReference};
    ///
    /// let prompt = CompletionReference::prompt("travel");
    /// let params = CompleteRequestParams::new(prompt, "city", "Na").known("country", "Kenya");
    /// let context: CompletionContext = params.context.expect("a value is known");
    /// assert_eq!(context.arguments.unwrap_or_default()["country"], "Kenya");
    /// ```
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct CompletionContext {
        /// The known values, by the name of their argument.
        pub arguments: Option<BTreeMap<String, String>>,
    }
}

object! {
    /// The params of `completion/complete`.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::client::Client;
    /// use mcplink::schema::{CompleteRequestParams, CompletionReference};
    ///
    /// // Completes the city that the user types, in the country that the user has chosen.
    /// fn cities(client: &Client, typed: &str) -> mcplink::Result<Vec<String>> {
    ///     let city = CompletionReference::resource("cities://{country}/{city}");
    ///     let params = CompleteRequestParams::new(city, "city", typed).known("country", "Kenya");
    ///     Ok(client.complete(params)?.completion.values)
    /// }
    /// ```
    #[derive(Clone, Debug, PartialEq)]
    pub struct CompleteRequestParams {
        /// The prompt or resource template whose argument is completed.
        pub reference: CompletionReference = "ref",
        /// The argument to complete, with the text typed so far.
        pub argument: CompletionArgument,
        /// The other arguments of the same prompt or template, whose values are already known.
        pub context: Option<CompletionContext> [since V2025_06_18],
        /// Metadata of the request (`_meta`). Required since 2026-07-28.
        pub meta?: RequestMetaObject = "_meta" [fit],
    }

    fn of_fields(reference: CompletionReference, argument: CompletionArgument);
}

impl CompleteRequestParams {
    /// Makes params to complete the argument `name`. `value` is the text typed so far.
    pub fn new(
        reference: CompletionReference,
        name: impl Into<String>,
        value: impl Into<String>,
    ) -> Self {
        Self::of_fields(reference, CompletionArgument::new(name, value))
    }

    /// Adds the known value of another argument of the same prompt or template. Since 2025-06-18.
    pub fn known(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        let context = self.context.get_or_insert_default();
        let arguments = context.arguments.get_or_insert_default();
        arguments.insert(name.into(), value.into());
        self
    }
}

impl FitTo for CompleteRequestParams {
    fn fit_to(&mut self, revision: ProtocolVersion) {
        self.fit_fields(revision);
        if let CompletionReference::Prompt(reference) = &mut self.reference {
            reference.fit_fields(revision);
        }
    }
}

object! {
    /// The completion of an argument: its possible values.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::Completion;
    ///
    /// // A server that asks a database for the first values, and for the number of all values.
    /// let completion = Completion::new(["Nairobi", "Naivasha"]).total(17).has_more(true);
    /// assert_eq!(completion.values.len(), 2);
    ///
    /// // Longer lists are cut.
    /// let all = Completion::new((0..500).map(|number| number.to_string()));
    /// assert_eq!((all.values.len(), all.total), (Completion::MAX_VALUES, Some(500)));
    /// ```
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct Completion {
        /// The best values for the argument, at most 100.
        pub values: Vec<String> as OrNull,
        /// The total number of possible values, if it is known.
        pub total?: u64 as Count,
        /// Whether there are more values than those in `values`.
        pub has_more?: bool = "hasMore",
        ..extra
    }
}

impl Completion {
    /// The maximum number of values in a completion.
    pub const MAX_VALUES: usize = 100;

    /// Makes a completion from values. If there are more than 100 values, keeps the first 100, and
    /// sets [`total`](Self::total) and [`has_more`](Self::has_more) accordingly.
    pub fn new<T: Into<String>>(values: impl IntoIterator<Item = T>) -> Self {
        let mut values: Vec<String> = values.into_iter().map(Into::into).collect();
        let total = values.len();
        values.truncate(Self::MAX_VALUES);
        let cut = total > values.len();
        Self {
            values,
            total: cut.then_some(total as u64),
            has_more: cut.then_some(true),
            extra: Extra::new(),
        }
    }
}

object! {
    /// The result of `completion/complete`.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::protocol::Handlers;
    /// use mcplink::schema::{CompleteResult, Completion};
    ///
    /// // By hand. `ServerBuilder::completer` takes a `Completion`.
    /// let handlers = Handlers::new().request("completion/complete", |_, responder| {
    ///     let result = CompleteResult::new(Completion::new(["Rust"]));
    ///     _ = responder.respond(&result);
    /// });
    /// ```
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct CompleteResult: FitTo {
        /// The kind of result.
        pub result_type: Option<ResultType>
            = "resultType" [since V2026_07_28 or ResultType::Complete],
        /// The completion of the argument.
        pub completion: Completion,
        /// Metadata of the result (`_meta`).
        pub meta: Option<ResultMetaObject> = "_meta" [fit],
        ..extra; misfits
    }

    /// Makes a result from a completion.
    pub fn new(completion: Completion);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_told_apart_by_type() {
        fn check(json: &str, expected: Option<CompletionReference>) {
            let read = serde_json::from_str::<CompletionReference>(json).ok();
            assert_eq!(read, expected, "{json}");
        }
        check(
            r#"{"type":"ref/prompt","name":"p"}"#,
            Some(CompletionReference::prompt("p")),
        );
        check(
            r#"{"uri":"a:{b}","type":"ref/resource"}"#,
            Some(CompletionReference::resource("a:{b}")),
        );
        check(r#"{"type":"ref/tool","name":"p"}"#, None);
        check(r#"{"name":"p"}"#, None);
    }

    #[test]
    fn a_completion_holds_a_hundred_values() {
        let few = Completion::new(["a"]);
        assert_eq!((few.total, few.has_more), (None, None));
        let many = Completion::new((0..101).map(|n| n.to_string()));
        assert_eq!(many.values.len(), 100);
        assert_eq!((many.total, many.has_more), (Some(101), Some(true)));
    }
}
