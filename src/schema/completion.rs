//! Completion of arguments.
//!
//! Spec: Server Features, Utilities, "Completion" (every revision).

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::json::{Count, Extra};
use super::meta::{RequestMetaObject, ResultMetaObject};
use super::misfit::Misfits;
use super::object::{OrDefault, OrNull};
use super::result::{ResultType, fit_result_type};
use super::tagged::{self, Tagged};
use super::version::{FitTo, ProtocolVersion, keep_since};

literal!(PromptReferenceType = "ref/prompt");
literal!(ResourceReferenceType = "ref/resource");

/// A reference to a prompt whose argument is completed.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PromptReference {
    kind: PromptReferenceType,
    /// The name of the prompt.
    pub name: String,
    /// The display name of the prompt. Since 2025-06-18.
    pub title: Option<String>,
}

members!(PromptReference { kind = "type" as OrDefault, name, title });

/// A reference to a resource template whose argument is completed.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ResourceTemplateReference {
    kind: ResourceReferenceType,
    /// The URI template of the resource template, or the URI of a resource.
    pub uri: String,
}

members!(ResourceTemplateReference { kind = "type" as OrDefault, uri });

/// The name that revisions up to 2025-03-26 give to [`ResourceTemplateReference`].
pub type ResourceReference = ResourceTemplateReference;

/// The prompt or resource template whose argument is completed. The set of variants is closed.
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
        Self::Prompt(PromptReference {
            kind: PromptReferenceType,
            name: name.into(),
            title: None,
        })
    }

    /// Makes a reference to a resource template.
    pub fn resource(uri_template: impl Into<String>) -> Self {
        Self::Resource(ResourceTemplateReference {
            kind: ResourceReferenceType,
            uri: uri_template.into(),
        })
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

/// The argument to complete.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CompletionArgument {
    /// The name of the argument.
    pub name: String,
    /// The text that the user has typed so far for this argument.
    pub value: String,
}

members!(CompletionArgument { name, value });

/// The other arguments of the same prompt or template, whose values are already known. Since
/// 2025-06-18.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct CompletionContext {
    /// The known values, by the name of their argument.
    pub arguments: Option<BTreeMap<String, String>>,
}

members!(CompletionContext { arguments });

/// The params of `completion/complete`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CompleteRequestParams {
    /// The prompt or resource template whose argument is completed.
    pub reference: CompletionReference,
    /// The argument to complete, with the text typed so far.
    pub argument: CompletionArgument,
    /// The other arguments of the same prompt or template, whose values are already known. Since
    /// 2025-06-18.
    pub context: Option<CompletionContext>,
    /// Metadata of the request (`_meta`). Required since 2026-07-28.
    pub meta: Option<RequestMetaObject>,
}

members!(CompleteRequestParams { reference = "ref", argument, context, meta = "_meta" });

impl CompleteRequestParams {
    /// Makes params to complete the argument `name`. `value` is the text typed so far.
    pub fn new(
        reference: CompletionReference,
        name: impl Into<String>,
        value: impl Into<String>,
    ) -> Self {
        Self {
            reference,
            argument: CompletionArgument {
                name: name.into(),
                value: value.into(),
            },
            context: None,
            meta: None,
        }
    }

    /// Adds the known value of another argument of the same prompt or template. Since 2025-06-18.
    pub fn known(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        let context = self.context.get_or_insert_default();
        let arguments = context.arguments.get_or_insert_default();
        arguments.insert(name.into(), value.into());
        self
    }

    setters! {
        /// Sets the metadata of the request (`_meta`).
        meta: RequestMetaObject,
    }
}

impl FitTo for CompleteRequestParams {
    fn fit_to(&mut self, revision: ProtocolVersion) {
        use ProtocolVersion::V2025_06_18;
        keep_since(&mut self.context, V2025_06_18, revision);
        if let CompletionReference::Prompt(reference) = &mut self.reference {
            keep_since(&mut reference.title, V2025_06_18, revision);
        }
        self.meta.fit_to(revision);
    }
}

/// The completion of an argument: its possible values.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Completion {
    /// The best values for the argument, at most 100.
    pub values: Vec<String>,
    /// The total number of possible values, if it is known.
    pub total: Option<u64>,
    /// Whether there are more values than those in `values`.
    pub has_more: Option<bool>,
    /// Members that this library doesn't know.
    pub extra: Extra,
}

members!(Completion { values as OrNull, total as Count, has_more = "hasMore", ..extra });

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

    setters! {
        /// Sets the total number of possible values.
        total: u64,
        /// Sets whether there are more values than those in `values`.
        has_more: bool,
    }
}

/// The result of `completion/complete`.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct CompleteResult {
    /// The kind of result. Since 2026-07-28.
    pub result_type: Option<ResultType>,
    /// The completion of the argument.
    pub completion: Completion,
    /// Metadata of the result (`_meta`).
    pub meta: Option<ResultMetaObject>,
    /// Members that this library doesn't know.
    pub extra: Extra,
    misfits: Misfits,
}

members!(CompleteResult { result_type = "resultType", completion, meta = "_meta", ..extra;
    misfits
});

impl CompleteResult {
    /// Makes a result from a completion.
    pub fn new(completion: Completion) -> Self {
        Self {
            completion,
            ..Self::default()
        }
    }

    misfits!();
}

impl FitTo for CompleteResult {
    fn fit_to(&mut self, revision: ProtocolVersion) {
        fit_result_type(&mut self.result_type, revision);
        self.meta.fit_to(revision);
    }
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
