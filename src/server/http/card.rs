//! The server card: a public JSON document that says where a server is and how to connect.
//!
//! **Unstable.** The proposal (SEP-2127) is final, but the repository that has the shape of the
//! card calls itself experimental. These types may change in any release.
//!
//! A card is made once, when the service is made. The title, version, icons and revisions come from
//! the server, so that the card agrees with the server's answers at run time. No other setting of
//! the server gets into the card.
//!
//! Spec: Extensions, "Server Cards" (SEP-2127).

use std::collections::BTreeMap;

use serde::Serialize;

use super::super::Inner;
use super::card_rules;
use super::options::HttpOptions;
use super::pages::HttpPage;
use crate::error::Result;
use crate::protocol::{LogLevel, tell};
use crate::schema::{Icon, Implementation, JsonObject, ProtocolVersion};

/// The media type of a card.
const MEDIA_TYPE: &str = "application/mcp-server-card+json";
/// The address of the schema that a card names.
const SCHEMA: &str = "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json";
/// The path of the card, behind the path of the endpoint.
pub(super) const PATH: &str = "/server-card";

/// The card of a server, for
/// [`HttpOptions::unstable_server_card`](super::HttpOptions::unstable_server_card).
///
/// **Unstable**: the shape of cards is experimental, and this type may change in any release.
///
/// A card is public. It must not have credentials, names of private hosts, or anything of a user.
///
/// # Examples
///
/// ```
/// use mcplink::server::Server;
/// use mcplink::server::http::{CardRemote, HttpOptions, ServerCard};
///
/// let card = ServerCard::new("com.example/weather", "Weather of today and tomorrow")
///     .remote(CardRemote::new("https://weather.example.com/mcp"));
/// let options = HttpOptions::new().unstable_server_card(card);
/// let server = Server::builder("weather", "1.0.0").build()?;
/// let listening = server.listen_http("0", options)?;
/// // The card is at {endpoint}/server-card.
/// # Ok::<(), mcplink::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ServerCard {
    name: String,
    description: String,
    repository: Option<Repository>,
    remotes: Vec<CardRemote>,
    meta: JsonObject,
    cache_control: String,
}

#[derive(Clone, Debug, Serialize)]
struct Repository {
    url: String,
    source: String,
}

/// An address at which clients reach the server.
///
/// **Unstable**: the shape of cards is experimental, and this type may change in any release.
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
    revisions: Vec<ProtocolVersion>,
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

/// The card as it is sent. Members that are `None` are left out.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    name: &'a str,
    version: &'a str,
    description: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    website_url: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    repository: Option<&'a Repository>,
    #[serde(skip_serializing_if = "Option::is_none")]
    icons: Option<&'a Vec<Icon>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    remotes: &'a [CardRemote],
    #[serde(rename = "_meta", skip_serializing_if = "JsonObject::is_empty")]
    meta: &'a JsonObject,
}

impl ServerCard {
    /// Makes a card. `name` is a reversed domain, a slash and a name, such as
    /// `com.example/weather`, of 3 to 200 characters. `description` has 1 to 100 characters.
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            repository: None,
            remotes: Vec::new(),
            meta: JsonObject::new(),
            cache_control: "public, max-age=3600".to_owned(),
        }
    }

    /// Adds an address at which clients reach the server.
    pub fn remote(mut self, remote: CardRemote) -> Self {
        self.remotes.push(remote);
        self
    }

    /// Sets the repository of the server's source, and the name of its forge, such as `github`.
    pub fn repository(mut self, url: impl Into<String>, source: impl Into<String>) -> Self {
        let (url, source) = (url.into(), source.into());
        self.repository = Some(Repository { url, source });
        self
    }

    /// Sets the metadata of the card. The keys follow the rules for `_meta`.
    pub fn meta(mut self, meta: JsonObject) -> Self {
        self.meta = meta;
        self
    }

    /// Sets the value of `Cache-Control`. Defaults to `public, max-age=3600`.
    pub fn cache_control(mut self, value: impl Into<String>) -> Self {
        self.cache_control = value.into();
        self
    }

    /// Makes the page of the card for a server. The second value has warnings for the host's log.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) with the member that breaks a rule.
    pub(super) fn page(
        &self,
        info: &Implementation,
        revisions: &[ProtocolVersion],
    ) -> Result<(HttpPage, Vec<String>)> {
        let mut remotes = self.remotes.clone();
        for remote in &mut remotes {
            remote.revisions = revisions.to_vec();
        }
        card_rules::check_texts(
            &self.name,
            &info.version,
            &self.description,
            info.title.as_deref(),
        )?;
        let mut warnings = Vec::new();
        warnings.extend(card_rules::version_warning(&info.version));
        for remote in &remotes {
            warnings.extend(card_rules::check_remote(remote)?);
        }
        card_rules::check_meta(&self.meta)?;
        if let Some(repository) = &self.repository {
            card_rules::check_url("repository.url", &repository.url)?;
        }
        if let Some(url) = &info.website_url {
            card_rules::check_url("websiteUrl", url)?;
        }
        let document = Document {
            schema: SCHEMA,
            name: &self.name,
            version: &info.version,
            description: &self.description,
            title: info.title.as_deref(),
            website_url: info.website_url.as_deref(),
            repository: self.repository.as_ref(),
            icons: info.icons.as_ref(),
            remotes: &remotes,
            meta: &self.meta,
        };
        let text = serde_json::to_vec(&document).expect("texts and objects are JSON");
        let page = HttpPage::new(MEDIA_TYPE, text).cache_control(self.cache_control.clone());
        page.check("server-card")?;
        Ok((page.readable_by_all(), warnings))
    }
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

/// Returns the path and the page of the server card. A card that breaks a rule is logged.
pub(super) fn served(server: &Inner, options: &HttpOptions) -> Option<(String, HttpPage)> {
    let log = |level, text| tell(server.log.as_ref(), level, "http", || text);
    let card = options.card.as_ref()?;
    match card.page(&server.info, &server.revisions) {
        Ok((page, warnings)) => {
            for warning in warnings {
                log(LogLevel::Warning, warning);
            }
            Some((options.card_path()?, page))
        }
        Err(error) => {
            log(
                LogLevel::Error,
                format!("no server card is served: {error}"),
            );
            None
        }
    }
}
