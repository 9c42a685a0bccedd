//! Initialization (`initialize`, `server/discover`) and cancellation (`notifications/cancelled`).
//!
//! Spec: Base Protocol, "Lifecycle" (up to 2025-11-25), "Discovery" (2026-07-28), Utilities,
//! "Cancellation" (every revision).

use super::capabilities::{ClientCapabilities, ServerCapabilities};
use super::icon::Icon;
use super::json::{Count, Extra};
use super::meta::{NotificationMetaObject, RequestMetaObject, ResultMetaObject};
use super::misfit::{self, Misfits};
use super::object::{Form, OrUnsaid};
use super::result::{CacheScope, ResultType, fit_result_type};
use super::version::{FitTo, ProtocolVersion, keep_since};
use crate::jsonrpc::RequestId;

/// The name and version of a client or server. The peer chooses them freely: use them for display
/// and logs, not for decisions.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Implementation {
    /// The name of the client or server, for programs.
    pub name: String,
    /// The display name of the client or server. Since 2025-06-18.
    pub title: Option<String>,
    /// The version of the client or server.
    pub version: String,
    /// The description of the client or server. Since 2025-11-25.
    pub description: Option<String>,
    /// Icons to show for the client or server. Since 2025-11-25.
    pub icons: Option<Vec<Icon>>,
    /// The URL of the home page of the client or server. Since 2025-11-25.
    pub website_url: Option<String>,
    /// Members that this library doesn't know.
    pub extra: Extra,
}

members!(Implementation {
    name as OrUnsaid,
    title,
    version as OrUnsaid,
    description,
    icons,
    website_url = "websiteUrl",
    ..extra
});

impl Implementation {
    /// Makes the name and version of a client or server.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            title: None,
            version: version.into(),
            description: None,
            icons: None,
            website_url: None,
            extra: Extra::new(),
        }
    }

    setters! {
        /// Sets the display name of the client or server. Since 2025-06-18.
        title: String,
        /// Sets the description of the client or server. Since 2025-11-25.
        description: String,
        /// Sets icons to show for the client or server. Since 2025-11-25.
        icons: Vec<Icon>,
        /// Sets the URL of the home page of the client or server. Since 2025-11-25.
        website_url: String,
    }

    /// Returns the display name: the title, or the name if there is no title.
    pub fn display_name(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }
}

impl FitTo for Implementation {
    fn fit_to(&mut self, revision: ProtocolVersion) {
        use ProtocolVersion::{V2025_06_18, V2025_11_25};
        keep_since(&mut self.title, V2025_06_18, revision);
        keep_since(&mut self.description, V2025_11_25, revision);
        keep_since(&mut self.icons, V2025_11_25, revision);
        keep_since(&mut self.website_url, V2025_11_25, revision);
    }
}

/// The params of `initialize`. Up to 2025-11-25.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct InitializeRequestParams {
    /// The newest revision that the client supports. The field is text, because this library may
    /// not know the revision.
    pub protocol_version: String,
    /// The capabilities of the client.
    pub capabilities: ClientCapabilities,
    /// The name and version of the client.
    pub client_info: Implementation,
    /// Metadata of the request (`_meta`).
    pub meta: Option<RequestMetaObject>,
}

members!(InitializeRequestParams {
    protocol_version = "protocolVersion",
    capabilities,
    client_info = "clientInfo",
    meta = "_meta",
});

impl InitializeRequestParams {
    /// Makes params in which the client offers a revision.
    pub fn new(
        protocol_version: ProtocolVersion,
        capabilities: ClientCapabilities,
        client_info: Implementation,
    ) -> Self {
        Self {
            protocol_version: protocol_version.to_string(),
            capabilities,
            client_info,
            meta: None,
        }
    }
}

impl FitTo for InitializeRequestParams {
    fn fit_to(&mut self, revision: ProtocolVersion) {
        self.capabilities.fit_to(revision);
        self.client_info.fit_to(revision);
        self.meta.fit_to(revision);
    }
}

/// The result of `initialize`. Up to 2025-11-25.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct InitializeResult {
    /// The revision that the connection will use. The field is text, because this library may not
    /// know the revision.
    pub protocol_version: String,
    /// The capabilities of the server.
    pub capabilities: ServerCapabilities,
    /// The name and version of the server.
    pub server_info: Implementation,
    /// Instructions for models on how to use the server.
    pub instructions: Option<String>,
    /// Metadata of the result (`_meta`).
    pub meta: Option<ResultMetaObject>,
    /// Members that this library doesn't know.
    pub extra: Extra,
    misfits: Misfits,
}

members!(InitializeResult {
    protocol_version = "protocolVersion",
    capabilities as OrUnsaid,
    server_info = "serverInfo" as OrNobody,
    instructions,
    meta = "_meta",
    ..extra;
    misfits
});

/// The serialization of a server's name and version that may be absent. If absent, the member is
/// read as an empty name and version.
struct OrNobody;

impl Form<Implementation> for OrNobody {
    fn absent() -> Option<Implementation> {
        misfit::drops().then(|| Implementation::new("", ""))
    }
}

impl InitializeResult {
    /// Makes a result with the revision that the connection will use.
    pub fn new(
        protocol_version: ProtocolVersion,
        capabilities: ServerCapabilities,
        server_info: Implementation,
    ) -> Self {
        Self {
            protocol_version: protocol_version.to_string(),
            capabilities,
            server_info,
            instructions: None,
            meta: None,
            extra: Extra::new(),
            misfits: Misfits::default(),
        }
    }

    setters! {
        /// Sets instructions for models on how to use the server.
        instructions: String,
    }

    misfits!();
}

impl FitTo for InitializeResult {
    fn fit_to(&mut self, revision: ProtocolVersion) {
        self.capabilities.fit_to(revision);
        self.server_info.fit_to(revision);
        self.meta.fit_to(revision);
    }
}

/// The result of `server/discover`. Since 2026-07-28.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct DiscoverResult {
    /// The kind of result.
    pub result_type: Option<ResultType>,
    /// The revisions that the server supports. The field is text, because this library may not know
    /// some of the revisions.
    pub supported_versions: Vec<String>,
    /// The capabilities of the server.
    pub capabilities: ServerCapabilities,
    /// Instructions for models on how to use the server.
    pub instructions: Option<String>,
    /// The time for which the result stays fresh, in milliseconds.
    pub ttl_ms: Option<u64>,
    /// Whether users may share the cached result.
    pub cache_scope: Option<CacheScope>,
    /// Metadata of the result (`_meta`).
    pub meta: Option<ResultMetaObject>,
    /// Members that this library doesn't know.
    pub extra: Extra,
    misfits: Misfits,
}

members!(DiscoverResult {
    result_type = "resultType",
    supported_versions = "supportedVersions",
    capabilities as OrUnsaid,
    instructions,
    ttl_ms = "ttlMs" as Count,
    cache_scope = "cacheScope",
    meta = "_meta",
    ..extra;
    misfits
});

impl DiscoverResult {
    /// Makes a result from the revisions and capabilities of a server.
    pub fn new(versions: &[ProtocolVersion], capabilities: ServerCapabilities) -> Self {
        Self {
            result_type: Some(ResultType::Complete),
            supported_versions: versions.iter().map(ToString::to_string).collect(),
            capabilities,
            instructions: None,
            ttl_ms: None,
            cache_scope: None,
            meta: None,
            extra: Extra::new(),
            misfits: Misfits::default(),
        }
    }

    setters! {
        /// Sets instructions for models on how to use the server.
        instructions: String,
    }

    cache_hint!();

    misfits!();
}

impl FitTo for DiscoverResult {
    fn fit_to(&mut self, revision: ProtocolVersion) {
        fit_result_type(&mut self.result_type, revision);
        self.fit_cache_hint(revision);
        self.capabilities.fit_to(revision);
        self.meta.fit_to(revision);
    }
}

/// The params of `notifications/cancelled`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CancelledNotificationParams {
    /// The id of the cancelled request. Only 2025-11-25 allows the id to be absent. A notification
    /// without the id has no effect.
    pub request_id: Option<RequestId>,
    /// The reason for the cancellation, for a log.
    pub reason: Option<String>,
    /// Metadata of the notification (`_meta`).
    pub meta: Option<NotificationMetaObject>,
}

members!(CancelledNotificationParams { request_id = "requestId", reason, meta = "_meta" });

impl CancelledNotificationParams {
    /// Makes params that cancel the request with this id.
    pub fn new(request_id: RequestId) -> Self {
        Self {
            request_id: Some(request_id),
            reason: None,
            meta: None,
        }
    }

    setters! {
        /// Sets the reason for the cancellation.
        reason: String,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // L-INIT-B-23
    #[test]
    fn older_peers_see_the_members_that_their_revision_knows() {
        fn check(revision: ProtocolVersion, members: &[&str]) {
            let mut info = Implementation::new("n", "1")
                .title("N")
                .description("d")
                .icons([Icon::new("data:,")])
                .website_url("https://n.example");
            info.fit_to(revision);
            let json = serde_json::to_value(&info).expect("JSON");
            let mut keys: Vec<_> = json.as_object().expect("object").keys().collect();
            keys.sort();
            assert_eq!(keys, members, "{revision}");
        }
        let newest = [
            "description",
            "icons",
            "name",
            "title",
            "version",
            "websiteUrl",
        ];
        check(ProtocolVersion::V2024_11_05, &["name", "version"]);
        check(ProtocolVersion::V2025_03_26, &["name", "version"]);
        check(ProtocolVersion::V2025_06_18, &["name", "title", "version"]);
        check(ProtocolVersion::V2025_11_25, &newest);
        check(ProtocolVersion::V2026_07_28, &newest);
    }

    #[test]
    fn a_cancellation_may_name_no_request() {
        let params: CancelledNotificationParams =
            serde_json::from_str(r#"{"reason":"x"}"#).expect("decodes");
        assert_eq!(params.request_id, None);
    }
}
