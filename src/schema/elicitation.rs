//! Elicitation: a server asks the user for input.
//!
//! Spec: Client Features, "Elicitation" (since 2025-06-18; URLs since 2025-11-25).

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::Value;
use serde_json::value::RawValue;

use super::json::{JsonSchema, RawObjectForm, raw, read_raw};
use super::meta::{MetaObject, RequestMetaObject};
use super::primitive::ElicitSchema;
use super::task::TaskMetadata;
use super::tree::{self, Tree};
use super::version::{FitTo, ProtocolVersion};
use crate::error::{Error, ErrorKind, Excerpt, Result};

literal!(FormMode = "form");
literal!(UrlMode = "url");

/// The params of `elicitation/create`. Since 2025-06-18.
///
/// # Examples
///
/// ```
/// use mcplink::schema::ElicitRequestParams;
/// use mcplink::server::{AskError, Context};
///
/// // Sends the user to a page, where secrets may be entered.
/// fn sign_in(context: &Context) -> Result<bool, AskError> {
///     let page = ElicitRequestParams::url("Sign in to continue", "https://example.com/sign-in");
///     assert_eq!(page.message(), "Sign in to continue");
///     Ok(context.elicit("sign-in", page)?.is_accepted())
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ElicitRequestParams {
    /// The params of an elicitation by form: the user fills in a form that the client shows (form
    /// mode).
    Form(ElicitRequestFormParams),
    /// The params of an elicitation by URL: the user visits a web page of the server, which the
    /// client opens (URL mode). Since 2025-11-25.
    Url(ElicitRequestURLParams),
}

required!(ElicitRequestParams);

impl ElicitRequestParams {
    /// Makes params with a form (form mode). [`ElicitSchema`](super::ElicitSchema) helps to write
    /// the schema of the form.
    pub fn form(message: impl Into<String>, requested_schema: JsonSchema) -> Self {
        Self::Form(ElicitRequestFormParams::of_fields(
            message,
            requested_schema,
        ))
    }

    /// Makes params with the URL of a web page (URL mode). Since 2025-11-25.
    pub fn url(message: impl Into<String>, url: impl Into<String>) -> Self {
        Self::Url(ElicitRequestURLParams::new(message, url))
    }

    /// Returns the message that is shown to the user.
    pub fn message(&self) -> &str {
        match self {
            Self::Form(params) => &params.message,
            Self::Url(params) => &params.message,
        }
    }
}

object! {
    /// The params of an elicitation with a form (form mode).
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::{ElicitRequestFormParams, ElicitResult, ElicitSchema};
    ///
    /// // For `ClientBuilder::on_elicit`: shows the form, and returns the values of the user.
    /// fn fill_in(question: &ElicitRequestFormParams) -> mcplink::Result<ElicitResult> {
    ///     let form = ElicitSchema::of(&question.requested_schema)?;
    ///     println!("{}: {} fields", question.message, form.properties.len());
    ///     let answer = ElicitResult::accept(&form.defaults())?;
    ///     question.check_answer(&answer)?;
    ///     Ok(answer)
    /// }
    /// ```
    #[derive(Clone, Debug, PartialEq)]
    pub struct ElicitRequestFormParams {
        mode: Option<FormMode> [since V2025_11_25],
        /// The message that is shown to the user.
        pub message: String,
        /// The schema of the form, verbatim: an object whose properties are the fields.
        /// [`ElicitSchema`](super::ElicitSchema) parses this schema.
        pub requested_schema: JsonSchema = "requestedSchema",
        /// Present if the server requests to execute the elicitation as a task.
        pub task: Option<TaskMetadata> [only V2025_11_25],
        /// Metadata of the message (`_meta`).
        pub meta: Option<RequestMetaObject> = "_meta" [fit],
    }

    fn of_fields(message: impl Into<String>, requested_schema: JsonSchema);
}

object! {
    /// The params of an elicitation with a web page (URL mode). Since 2025-11-25.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::{ElicitRequestURLParams, UrlDoubt};
    ///
    /// // A host shows the host name, and warns the user of addresses that may deceive.
    /// let page = ElicitRequestURLParams::new("Sign in", "http://ada@example.com/sign-in");
    /// assert_eq!(page.host(), Some("example.com"));
    /// assert_eq!(page.doubts(), [UrlDoubt::NotEncrypted, UrlDoubt::UserInfo]);
    /// ```
    #[derive(Clone, Debug, PartialEq)]
    pub struct ElicitRequestURLParams {
        mode: UrlMode,
        /// The message that is shown to the user.
        pub message: String,
        /// The URL of the web page.
        pub url: String,
        /// The id by which `notifications/elicitation/complete` refers to this elicitation. Exists
        /// only in 2025-11-25, where it is required. If no id is set, a server generates one.
        pub elicitation_id?: String = "elicitationId",
        /// Present if the server requests to execute the elicitation as a task.
        pub task: Option<TaskMetadata> [only V2025_11_25],
        /// Metadata of the message (`_meta`).
        pub meta: Option<RequestMetaObject> = "_meta" [fit],
    }

    /// Makes params with the URL of a web page (URL mode).
    pub fn new(message: impl Into<String>, url: impl Into<String>);
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

/// Adapts the params to a revision. Removes members that the revision does not know, with two
/// exceptions. URL mode requests and fields with multiple choice stay, although revisions before
/// 2025-11-25 lack them. The caller has to check the client's capability for URL mode, and the form
/// with [`ElicitSchema::check`].
impl FitTo for ElicitRequestParams {
    fn fit_to(&mut self, revision: ProtocolVersion) {
        match self {
            Self::Form(params) => {
                params.fit_fields(revision);
                if let Some(fitted) = ElicitSchema::fitted(&params.requested_schema, revision) {
                    params.requested_schema = fitted;
                }
            }
            Self::Url(params) => {
                params.fit_fields(revision);
                if revision.is_modern() {
                    params.elicitation_id = None;
                }
            }
        }
    }
}

/// The user's action on an elicitation. The set of actions is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ElicitAction {
    /// The user submitted the form, or agreed to open the web page.
    Accept,
    /// The user explicitly refused.
    Decline,
    /// The user dismissed the elicitation without a choice.
    Cancel,
}

required!(ElicitAction);

object! {
    /// The user's answer: the result of `elicitation/create`.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::{ElicitRequestParams, ElicitResult};
    /// use mcplink::server::{AskError, Context};
    ///
    /// #[derive(serde::Deserialize)]
    /// struct Seat { row: u8 }
    ///
    /// fn row(context: &Context, question: ElicitRequestParams) -> Result<Option<u8>, AskError> {
    ///     let answer: ElicitResult = context.elicit("seat", question)?;
    ///     let seat: Option<Seat> = answer.read()?; // `None` if the user did not accept
    ///     Ok(seat.map(|seat| seat.row))
    /// }
    /// ```
    #[derive(Clone, Debug)]
    pub struct ElicitResult {
        /// The action of the user.
        pub action: ElicitAction,
        /// The values that the user entered, as raw JSON: an object of texts, numbers, booleans and
        /// lists of texts. Absent unless the user accepted a form.
        pub content: Option<Box<RawValue>> as RawObjectForm,
        /// Metadata of the result (`_meta`).
        pub meta: Option<MetaObject> = "_meta",
        ..extra
    }

    /// Makes a result without content: for an accepted URL, a refusal or a cancellation.
    pub fn new(action: ElicitAction);
}

impl ElicitResult {
    /// Makes the result for an accepted form, from the values that the user entered.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) when the values can't be written as JSON.
    pub fn accept(content: &(impl Serialize + ?Sized)) -> Result<Self> {
        Ok(Self {
            content: Some(raw("elicited content", content)?),
            ..Self::new(ElicitAction::Accept)
        })
    }

    /// Makes the result of a form that the user accepted without entering a value. A form without
    /// fields asks for a confirmation in this way.
    ///
    /// The content is an empty object. The answer to an elicitation by URL has no content: use
    /// [`new`](Self::new) with [`ElicitAction::Accept`].
    ///
    /// Spec: Client Features, Elicitation, "Response Actions" (2025-06-18 and later).
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::client::Client;
    /// use mcplink::schema::ElicitResult;
    ///
    /// let builder = Client::builder("host", "1.0").on_elicit(|question, _| {
    ///     println!("{} [y/n]", question.message);
    ///     let mut answer = String::new();
    ///     match std::io::stdin().read_line(&mut answer) {
    ///         Ok(_) if answer.trim() == "y" => ElicitResult::confirm(),
    ///         _ => ElicitResult::decline(),
    ///     }
    /// });
    /// ```
    pub fn confirm() -> Self {
        Self {
            content: RawValue::from_string("{}".to_owned()).ok(),
            ..Self::new(ElicitAction::Accept)
        }
    }

    /// Makes the result of an elicitation that the user explicitly refused.
    pub fn decline() -> Self {
        Self::new(ElicitAction::Decline)
    }

    /// Makes the result of an elicitation that the user dismissed without a choice.
    pub fn cancel() -> Self {
        Self::new(ElicitAction::Cancel)
    }

    /// Whether the user accepted the elicitation.
    pub fn is_accepted(&self) -> bool {
        self.action == ElicitAction::Accept
    }

    /// Checks that the content is an object of texts, numbers, booleans and lists of texts. Does
    /// not compare the content with the form: see [`ElicitRequestFormParams::check_answer`].
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid), with the name of the first field that has
    /// another type.
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

    /// Deserializes the content. Returns `None` if the result has no content.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) when the content does not fit the type.
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

object! {
    /// The params of `notifications/elicitation/complete`. 2025-11-25 only.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::protocol::Peer;
    /// use mcplink::schema::ElicitationCompleteNotificationParams;
    ///
    /// // By hand. `Server::elicitation_complete` notifies the client concerned.
    /// fn completed(peer: &Peer, elicitation_id: &str) -> mcplink::Result<()> {
    ///     let params = ElicitationCompleteNotificationParams::new(elicitation_id);
    ///     peer.notify("notifications/elicitation/complete", &params)
    /// }
    /// ```
    #[derive(Clone, Debug, PartialEq)]
    pub struct ElicitationCompleteNotificationParams {
        /// The id of the elicitation that has been completed.
        pub elicitation_id: String = "elicitationId",
    }

    /// Makes params for the elicitation that has been completed.
    pub fn new(elicitation_id: impl Into<String>);
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
