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

use serde::Serialize;

use super::card_input::CardRemote;
use super::card_rules;
use super::pages::HttpPage;
use crate::error::Result;
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
