//! The remote endpoints in a server card, and the values that a user gives for them.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::schema::ProtocolVersion;

/// An address at which clients reach the server.
///
/// **Unstable**: the shape of cards is experimental, and this type may change in any release.
///
/// # Examples
///
/// ```
/// use mcplink::server::http::{CardInput, CardRemote, ServerCard};
/// use serde_json::json;
///
/// let tenant = CardInput::new().description("The name of your company").required();
/// let remote = CardRemote::new("https://{tenant}.example.com/mcp").variable("tenant", tenant);
/// assert_eq!(json!(remote)["variables"]["tenant"]["isRequired"], true);
/// let card = ServerCard::new("com.example/shop", "Orders of a shop").remote(remote);
/// ```
#[derive(Clone, Debug, Serialize)]
pub struct CardRemote {
    #[serde(rename = "type")]
    kind: &'static str,
    pub(super) url: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) headers: Vec<CardHeader>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) variables: BTreeMap<String, CardInput>,
    #[serde(rename = "supportedProtocolVersions")]
    pub(super) revisions: Vec<ProtocolVersion>,
}

/// A header field of a [`CardRemote`]: its name and its value.
#[derive(Clone, Debug, Serialize)]
pub(super) struct CardHeader {
    pub(super) name: String,
    #[serde(flatten)]
    pub(super) input: CardInput,
}

/// A value that the user gives before connecting: a variable in a URL, or a header field.
///
/// **Unstable**: the shape of cards is experimental, and this type may change in any release.
///
/// # Examples
///
/// ```
/// use mcplink::server::http::{CardInput, CardRemote};
/// use serde_json::json;
///
/// let region = CardInput::new().choices(["eu", "us"]).default_value("eu");
/// let key = CardInput::new().description("The key of your account").required().secret();
/// let remote = CardRemote::new("https://{region}.example.com/mcp")
///     .variable("region", region)
///     .header("X-Api-Key", key);
/// assert_eq!(json!(remote)["variables"]["region"]["default"], "eu");
/// ```
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CardInput {
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_required: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_secret: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) format: Option<CardFormat>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) default: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) value: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) choices: Vec<String>,
}

/// The format of a [`CardInput`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum CardFormat {
    /// Any text.
    String,
    /// A number.
    Number,
    /// `true` or `false`.
    Boolean,
    /// The path of a file on the machine of the client.
    FilePath,
}

impl CardRemote {
    /// Makes a remote for Streamable HTTP. `url` is the URL of the endpoint. It may have variables
    /// in braces, such as `https://{tenant}.example.com/mcp`.
    ///
    /// The card says that the remote supports the revisions that the server supports.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            kind: "streamable-http",
            url: url.into(),
            headers: Vec::new(),
            variables: BTreeMap::new(),
            revisions: Vec::new(),
        }
    }

    /// Describes a variable of the URL.
    pub fn variable(mut self, name: impl Into<String>, input: CardInput) -> Self {
        self.variables.insert(name.into(), input);
        self
    }

    /// Describes a header field that clients send.
    pub fn header(mut self, name: impl Into<String>, input: CardInput) -> Self {
        let name = name.into();
        self.headers.push(CardHeader { name, input });
        self
    }
}

impl CardInput {
    /// Makes an input that is neither required nor secret.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the description for the user.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Makes the input required.
    pub fn required(mut self) -> Self {
        self.is_required = true;
        self
    }

    /// Makes the input secret, as tokens are. A secret input has neither a default nor a value.
    pub fn secret(mut self) -> Self {
        self.is_secret = true;
        self
    }

    /// Sets the format. Clients take a text by default.
    pub fn format(mut self, format: CardFormat) -> Self {
        self.format = Some(format);
        self
    }

    /// Sets the value that is used if the user gives none. It has to fit format and choices.
    pub fn default_value(mut self, default: impl Into<String>) -> Self {
        self.default = Some(default.into());
        self
    }

    /// Sets the value, which the user can't change.
    pub fn value(mut self, value: impl Into<String>) -> Self {
        self.value = Some(value.into());
        self
    }

    /// Sets the values of which the user chooses one.
    pub fn choices<S: Into<String>>(mut self, choices: impl IntoIterator<Item = S>) -> Self {
        self.choices = choices.into_iter().map(Into::into).collect();
        self
    }
}
