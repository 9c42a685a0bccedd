//! Initialization (`initialize`, `server/discover`) and cancellation (`notifications/cancelled`).
//!
//! Spec: Base Protocol, "Lifecycle" (up to 2025-11-25), "Discovery" (2026-07-28), Utilities,
//! "Cancellation" (every revision).

use super::capabilities::{ClientCapabilities, ServerCapabilities};
use super::icon::Icon;
use super::json::Count;
use super::member::Form;
use super::meta::{NotificationMetaObject, RequestMetaObject, ResultMetaObject};
use super::misfit;
use super::object::OrUnsaid;
use super::result::{CacheScope, ResultType};
use super::version::ProtocolVersion;
use crate::jsonrpc::RequestId;

object! {
    /// The name and version of a client or server. The peer chooses them freely: use them for
    /// display and logs, not for decisions.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::client::Client;
    /// use mcplink::schema::Implementation;
    ///
    /// let info = Implementation::new("my-editor", "2.1")
    ///     .title("My editor")
    ///     .website_url("https://example.com");
    /// assert_eq!(info.display_name(), "My editor");
    /// let builder = Client::builder("my-editor", "2.1").info(info);
    /// ```
    #[derive(Clone, Debug, PartialEq)]
    pub struct Implementation: FitTo {
        /// The name of the client or server, for programs.
        pub name: String as OrUnsaid,
        /// The display name of the client or server.
        pub title?: String [since V2025_06_18],
        /// The version of the client or server.
        pub version: String as OrUnsaid,
        /// The description of the client or server.
        pub description?: String [since V2025_11_25],
        /// Icons to show for the client or server.
        pub icons?: Vec<Icon> [since V2025_11_25],
        /// The URL of the home page of the client or server.
        pub website_url?: String = "websiteUrl" [since V2025_11_25],
        ..extra
    }

    /// Makes the name and version of a client or server.
    pub fn new(name: impl Into<String>, version: impl Into<String>);
}

impl Implementation {
    /// Returns the display name: the title, or the name if there is no title.
    pub fn display_name(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }
}

object! {
    /// The params of `initialize`. Up to 2025-11-25.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::protocol::{Peer, RequestOptions};
    /// use mcplink::schema::{
    ///     ClientCapabilities, Implementation, InitializeRequestParams, InitializeResult,
    ///     ProtocolVersion, read_json,
    /// };
    ///
    /// // By hand. A `Client` finds out which revision the server speaks.
    /// fn initialize(peer: &Peer, me: Implementation) -> mcplink::Result<InitializeResult> {
    ///     let newest = ProtocolVersion::V2025_11_25;
    ///     let params = InitializeRequestParams::new(newest, ClientCapabilities::default(), me);
    ///     read_json(&peer.request("initialize", &params, RequestOptions::new())?)
    /// }
    /// ```
    #[derive(Clone, Debug, PartialEq)]
    pub struct InitializeRequestParams: FitTo {
        /// The newest revision that the client supports. The field is text, because this library
        /// may not know the revision.
        pub protocol_version: String = "protocolVersion",
        /// The capabilities of the client.
        pub capabilities: ClientCapabilities [fit],
        /// The name and version of the client.
        pub client_info: Implementation = "clientInfo" [fit],
        /// Metadata of the request (`_meta`).
        pub meta: Option<RequestMetaObject> = "_meta" [fit],
    }

    fn of_fields(
        protocol_version: String,
        capabilities: ClientCapabilities,
        client_info: Implementation,
    );
}

impl InitializeRequestParams {
    /// Makes params in which the client offers a revision.
    pub fn new(
        protocol_version: ProtocolVersion,
        capabilities: ClientCapabilities,
        client_info: Implementation,
    ) -> Self {
        Self::of_fields(protocol_version.to_string(), capabilities, client_info)
    }
}

object! {
    /// The result of `initialize`. Up to 2025-11-25.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::{
    ///     Implementation, InitializeResult, ProtocolVersion, ServerCapabilities, ToolsCapability,
    /// };
    /// use serde_json::json;
    ///
    /// let capabilities = ServerCapabilities::default().tools(ToolsCapability::default());
    /// let server = Implementation::new("clock", "1.0");
    /// let result = InitializeResult::new(ProtocolVersion::V2025_11_25, capabilities, server)
    ///     .instructions("Times are in UTC.");
    /// assert_eq!(json!(result)["protocolVersion"], "2025-11-25");
    /// ```
    #[derive(Clone, Debug, PartialEq)]
    pub struct InitializeResult: FitTo {
        /// The revision that the connection will use. The field is text, because this library may
        /// not know the revision.
        pub protocol_version: String = "protocolVersion",
        /// The capabilities of the server.
        pub capabilities: ServerCapabilities as OrUnsaid [fit],
        /// The name and version of the server.
        pub server_info: Implementation = "serverInfo" as OrNobody [fit],
        /// Instructions for models on how to use the server.
        pub instructions?: String,
        /// Metadata of the result (`_meta`).
        pub meta: Option<ResultMetaObject> = "_meta" [fit],
        ..extra; misfits
    }

    fn of_fields(
        protocol_version: String,
        capabilities: ServerCapabilities,
        server_info: Implementation,
    );
}

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
        Self::of_fields(protocol_version.to_string(), capabilities, server_info)
    }
}

object! {
    /// The result of `server/discover`. Since 2026-07-28.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::{DiscoverResult, ProtocolVersion, ServerCapabilities, ToolsCapability};
    /// use serde_json::json;
    ///
    /// let capabilities = ServerCapabilities::default().tools(ToolsCapability::default());
    /// let result = DiscoverResult::new(&[ProtocolVersion::V2026_07_28], capabilities);
    /// assert_eq!(json!(result)["supportedVersions"], json!(["2026-07-28"]));
    /// assert_eq!(json!(result)["capabilities"], json!({ "tools": {} }));
    /// ```
    #[derive(Clone, Debug, PartialEq)]
    pub struct DiscoverResult: FitTo {
        /// The kind of result.
        pub result_type: Option<ResultType>
            = "resultType" [since V2026_07_28 or ResultType::Complete],
        /// The revisions that the server supports. The field is text, because this library may not
        /// know some of the revisions.
        pub supported_versions: Vec<String> = "supportedVersions",
        /// The capabilities of the server.
        pub capabilities: ServerCapabilities as OrUnsaid [fit],
        /// Instructions for models on how to use the server.
        pub instructions?: String,
        /// The time for which the result stays fresh, in milliseconds.
        pub ttl_ms: Option<u64> = "ttlMs" as Count [since V2026_07_28 or 0],
        /// Whether users may share the cached result.
        pub cache_scope: Option<CacheScope>
            = "cacheScope" [since V2026_07_28 or CacheScope::Private],
        /// Metadata of the result (`_meta`).
        pub meta: Option<ResultMetaObject> = "_meta" [fit],
        ..extra; misfits
    }

    fn of_fields(
        result_type: ResultType,
        supported_versions: Vec<String>,
        capabilities: ServerCapabilities,
    );
}

impl DiscoverResult {
    /// Makes a result from the revisions and capabilities of a server.
    pub fn new(versions: &[ProtocolVersion], capabilities: ServerCapabilities) -> Self {
        let versions: Vec<_> = versions.iter().map(ToString::to_string).collect();
        Self::of_fields(ResultType::Complete, versions, capabilities)
    }

    cache_hint!();
}

object! {
    /// The params of `notifications/cancelled`.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::jsonrpc::RequestId;
    /// use mcplink::protocol::Peer;
    /// use mcplink::schema::CancelledNotificationParams;
    ///
    /// // By hand. A `CancelToken` cancels calls of this library.
    /// fn cancel(peer: &Peer, id: RequestId) -> mcplink::Result<()> {
    ///     let params = CancelledNotificationParams::new(id).reason("the user pressed Escape");
    ///     peer.notify("notifications/cancelled", &params)
    /// }
    /// ```
    #[derive(Clone, Debug, PartialEq)]
    pub struct CancelledNotificationParams {
        /// The id of the cancelled request. Only 2025-11-25 allows the id to be absent. A
        /// notification without the id has no effect.
        pub request_id: Option<RequestId> = "requestId",
        /// The reason for the cancellation, for a log.
        pub reason?: String,
        /// Metadata of the notification (`_meta`).
        pub meta: Option<NotificationMetaObject> = "_meta",
    }

    /// Makes params that cancel the request with this id.
    pub fn new(request_id: RequestId);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::FitTo;

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
