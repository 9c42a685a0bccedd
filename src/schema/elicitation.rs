//! Elicitation: a server asks the user.
//!
//! Spec: Client Features, "Elicitation" (since 2025-06-18; URLs since 2025-11-25).

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::Value;
use serde_json::value::RawValue;

use super::json::{Extra, JsonSchema, RawObject, raw, read_raw};
use super::meta::{MetaObject, RequestMetaObject};
use super::primitive::ElicitSchema;
use super::task::TaskMetadata;
use super::tree::{self, Tree};
use super::version::{FitTo, ProtocolVersion, keep_since};
use crate::error::{Error, ErrorKind, Excerpt, Result};

literal!(FormMode = "form");
literal!(UrlMode = "url");

/// The params of `elicitation/create`. Since 2025-06-18.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ElicitRequestParams {
    /// A form that the client shows.
    Form(ElicitRequestFormParams),
    /// A page of the server's that the client opens. Since 2025-11-25.
    Url(ElicitRequestURLParams),
}

required!(ElicitRequestParams);

impl ElicitRequestParams {
    /// Asks by a form. [`ElicitSchema`](super::ElicitSchema) helps to write its schema.
    pub fn form(message: impl Into<String>, requested_schema: JsonSchema) -> Self {
        Self::Form(ElicitRequestFormParams {
            mode: None,
            message: message.into(),
            requested_schema,
            task: None,
            meta: None,
        })
    }

    /// Asks by a page. Since 2025-11-25.
    pub fn url(message: impl Into<String>, url: impl Into<String>) -> Self {
        Self::Url(ElicitRequestURLParams::new(message, url))
    }

    /// What to show to the user.
    pub fn message(&self) -> &str {
        match self {
            Self::Form(params) => &params.message,
            Self::Url(params) => &params.message,
        }
    }
}

/// Asks by a form.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ElicitRequestFormParams {
    mode: Option<FormMode>,
    /// What to show to the user.
    pub message: String,
    /// The fields of the form: an object of plain properties, verbatim. [`ElicitSchema`](super::ElicitSchema) reads it.
    pub requested_schema: JsonSchema,
    /// Asks for the request to become a task. 2025-11-25 only.
    pub task: Option<TaskMetadata>,
    /// What travels beside the params.
    pub meta: Option<RequestMetaObject>,
}

members!(ElicitRequestFormParams {
    mode,
    message,
    requested_schema = "requestedSchema",
    task,
    meta = "_meta",
});

/// Asks by a page. Since 2025-11-25.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ElicitRequestURLParams {
    mode: UrlMode,
    /// What to show to the user.
    pub message: String,
    /// The page.
    pub url: String,
    /// Ties `notifications/elicitation/complete` to this request. 2025-11-25 only, and required there.
    pub elicitation_id: Option<String>,
    /// Asks for the request to become a task. 2025-11-25 only.
    pub task: Option<TaskMetadata>,
    /// What travels beside the params.
    pub meta: Option<RequestMetaObject>,
}

members!(ElicitRequestURLParams {
    mode,
    message,
    url,
    elicitation_id = "elicitationId",
    task,
    meta = "_meta",
});

impl ElicitRequestURLParams {
    /// Asks by a page.
    pub fn new(message: impl Into<String>, url: impl Into<String>) -> Self {
        Self {
            mode: UrlMode,
            message: message.into(),
            url: url.into(),
            elicitation_id: None,
            task: None,
            meta: None,
        }
    }

    setters! {
        /// Ties `notifications/elicitation/complete` to this request. 2025-11-25 only, where a server makes one up if there is none.
        elicitation_id: String,
    }
}

impl From<ElicitRequestFormParams> for ElicitRequestParams {
    fn from(params: ElicitRequestFormParams) -> Self {
        Self::Form(params)
    }
}

impl From<ElicitRequestURLParams> for ElicitRequestParams {
    fn from(params: ElicitRequestURLParams) -> Self {
        Self::Url(params)
    }
}

impl Serialize for ElicitRequestParams {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Form(params) => params.serialize(serializer),
            Self::Url(params) => params.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for ElicitRequestParams {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct FormOrUrlElicitation {
            mode: Option<String>,
            message: String,
            requested_schema: Option<JsonSchema>,
            url: Option<String>,
            elicitation_id: Option<String>,
            #[serde(default, deserialize_with = "tree::optional")]
            task: Option<TaskMetadata>,
            #[serde(rename = "_meta", default, deserialize_with = "tree::optional")]
            meta: Option<RequestMetaObject>,
        }
        let FormOrUrlElicitation {
            mode,
            message,
            requested_schema,
            url,
            elicitation_id,
            task,
            meta,
        } = FormOrUrlElicitation::deserialize(deserializer)?;
        match mode.as_deref() {
            None | Some("form") => Ok(Self::Form(ElicitRequestFormParams {
                mode: mode.map(|_| FormMode),
                message,
                requested_schema: requested_schema
                    .ok_or_else(|| de::Error::missing_field("requestedSchema"))?,
                task,
                meta,
            })),
            Some("url") => Ok(Self::Url(ElicitRequestURLParams {
                mode: UrlMode,
                message,
                url: url.ok_or_else(|| de::Error::missing_field("url"))?,
                elicitation_id,
                task,
                meta,
            })),
            Some(other) => Err(de::Error::custom(format_args!(
                "elicitation mode \"{}\" is not known",
                Excerpt(other)
            ))),
        }
    }
}

/// A page can't be asked for before 2025-11-25: that is for the caller to see, by the client's capabilities; and a choice of several neither,
/// which [`ElicitSchema::check`] sees.
impl FitTo for ElicitRequestParams {
    fn fit_to(&mut self, revision: ProtocolVersion) {
        let (task, meta) = match self {
            Self::Form(params) => {
                keep_since(&mut params.mode, ProtocolVersion::V2025_11_25, revision);
                if let Some(fitted) = ElicitSchema::fitted(&params.requested_schema, revision) {
                    params.requested_schema = fitted;
                }
                (&mut params.task, &mut params.meta)
            }
            Self::Url(params) => {
                if revision.is_modern() {
                    params.elicitation_id = None;
                }
                (&mut params.task, &mut params.meta)
            }
        };
        if !revision.has_core_tasks() {
            *task = None;
        }
        meta.fit_to(revision);
    }
}

/// What the user did with a question. The set is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ElicitAction {
    /// Answered it, or agreed to open the page.
    Accept,
    /// Said no.
    Decline,
    /// Left without a choice.
    Cancel,
}

required!(ElicitAction);

/// What the user answered: the result of `elicitation/create`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ElicitResult {
    /// What the user did.
    pub action: ElicitAction,
    /// What the user filled in: an object of texts, numbers, booleans and lists of texts, as raw JSON. Absent unless a form was accepted.
    pub content: Option<Box<RawValue>>,
    /// What travels beside the result.
    pub meta: Option<MetaObject>,
    /// Members that this library doesn't know.
    pub extra: Extra,
}

members!(ElicitResult { action, content as RawObject, meta = "_meta", ..extra });

impl ElicitResult {
    /// Answers without content: the way to accept a page, to decline and to cancel.
    pub fn new(action: ElicitAction) -> Self {
        Self {
            action,
            content: None,
            meta: None,
            extra: Extra::new(),
        }
    }

    /// Answers with what the user filled in.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) when it can't be written as JSON.
    pub fn accept(content: &(impl Serialize + ?Sized)) -> Result<Self> {
        Ok(Self {
            content: Some(raw("elicited content", content)?),
            ..Self::new(ElicitAction::Accept)
        })
    }

    /// Says that the user said no.
    pub fn decline() -> Self {
        Self::new(ElicitAction::Decline)
    }

    /// Says that the user left without a choice.
    pub fn cancel() -> Self {
        Self::new(ElicitAction::Cancel)
    }

    /// Whether the user accepted.
    pub fn is_accepted(&self) -> bool {
        self.action == ElicitAction::Accept
    }

    /// Checks that what the user filled in is an object of texts, numbers, booleans and lists of texts. Whether it fits the form that was
    /// shown is another question.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) with the first field that is none of these.
    pub fn check(&self) -> Result<()> {
        let Some(Tree(content)) = self.read()?.filter(|_| self.is_accepted()) else {
            return Ok(());
        };
        let invalid = |text: String| Err(Error::new(ErrorKind::Invalid, text));
        let Value::Object(fields) = content else {
            return invalid("elicited content has to be an object".to_owned());
        };
        let is_plain = |value: &Value| match value {
            Value::String(_) | Value::Number(_) | Value::Bool(_) => true,
            Value::Array(texts) => texts.iter().all(Value::is_string),
            Value::Null | Value::Object(_) => false,
        };
        match fields.iter().find(|(_, value)| !is_plain(value)) {
            Some((name, _)) => invalid(format!(
                "elicited content: '{}' is neither text, number, boolean nor a list of texts",
                Excerpt(name)
            )),
            None => Ok(()),
        }
    }

    /// Reads what the user filled in; `None` when there is nothing.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) when it doesn't have that form.
    pub fn read<T: DeserializeOwned>(&self) -> Result<Option<T>> {
        let content = self.content.as_deref();
        content
            .map(|content| read_raw("elicited content", content))
            .transpose()
    }
}

impl FitTo for ElicitResult {
    fn fit_to(&mut self, _: ProtocolVersion) {}
}

/// The params of `notifications/elicitation/complete`. 2025-11-25 only.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ElicitationCompleteNotificationParams {
    /// The elicitation that has been completed.
    pub elicitation_id: String,
}

members!(ElicitationCompleteNotificationParams { elicitation_id = "elicitationId" });

impl ElicitationCompleteNotificationParams {
    /// Names the elicitation that has been completed.
    pub fn new(elicitation_id: impl Into<String>) -> Self {
        Self {
            elicitation_id: elicitation_id.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // M-ELIC-C-12, M-ELIC-S-11, M-ELIC-S-13, M-ELIC-S-17, L-ELIC-C-08, L-ELIC-S-07, L-ELIC-S-09
    #[test]
    fn modes_are_told_apart() {
        fn check(json: &str, is_form: Option<bool>) {
            let params = serde_json::from_str::<ElicitRequestParams>(json).ok();
            let kind = params
                .as_ref()
                .map(|it| matches!(it, ElicitRequestParams::Form(_)));
            assert_eq!(kind, is_form, "{json}");
            if let Some(params) = params {
                assert_eq!(serde_json::to_string(&params).expect("JSON"), json);
            }
        }
        check(
            r#"{"message":"m","requestedSchema":{"z":1.0,"a":{}}}"#,
            Some(true),
        );
        check(
            r#"{"mode":"form","message":"m","requestedSchema":{}}"#,
            Some(true),
        );
        check(r#"{"mode":"url","message":"m","url":"u"}"#, Some(false));
        check(r#"{"mode":"url","message":"m"}"#, None);
        check(r#"{"message":"m"}"#, None);
        check(r#"{"requestedSchema":{}}"#, None);
        check(r#"{"mode":"url","url":"u"}"#, None);
        check(r#"{"mode":"smell","message":"m"}"#, None);
    }

    #[test]
    fn answers_may_hold_any_number() {
        let json = r#"{"action":"accept","content":{"n":1.5}}"#;
        let result: ElicitResult = serde_json::from_str(json).expect("decodes");
        assert_eq!(serde_json::to_string(&result).expect("JSON"), json);
        let read: Value = result.read().expect("JSON").expect("set");
        assert_eq!(read["n"], 1.5);
        assert!(serde_json::from_str::<ElicitResult>(r#"{"action":"shrug"}"#).is_err());
    }

    #[test]
    fn older_peers_know_no_modes() {
        let json = r#"{"mode":"form","message":"m","requestedSchema":{}}"#;
        let mut params: ElicitRequestParams = serde_json::from_str(json).expect("decodes");
        params.fit_to(ProtocolVersion::V2025_06_18);
        assert_eq!(
            serde_json::to_string(&params).expect("JSON"),
            r#"{"message":"m","requestedSchema":{}}"#
        );
    }
}
