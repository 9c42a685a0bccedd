//! `_meta`: metadata of a request, a notification or a result.
//!
//! Spec: Base Protocol, "`_meta`" (every revision; the `io.modelcontextprotocol/` keys since
//! 2026-07-28).

use serde::Deserialize;

use super::capabilities::ClientCapabilities;
use super::lifecycle::Implementation;
use super::logging::{KnownLevel, LoggingLevel};
use super::progress::ProgressToken;
use super::task::RelatedTaskMetadata;
use super::tree::JsonObject;
use super::version::ProtocolVersion;
use crate::jsonrpc::RequestId;

/// The `_meta` of content, tools, resources and other objects: an open object.
pub type MetaObject = JsonObject;

/// The keys of `_meta` that the specification reserves.
pub mod meta_key {
    /// The token with which a request asks for progress notifications.
    pub const PROGRESS_TOKEN: &str = "progressToken";
    /// The revision in which a request is made. Since 2026-07-28.
    pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
    /// The capabilities of the client. Since 2026-07-28.
    pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
    /// The name and version of the client. Since 2026-07-28.
    pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
    /// The minimum severity of log messages that a request asks for. Since 2026-07-28.
    pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
    /// The name and version of the server. Since 2026-07-28.
    pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
    /// The id of the `subscriptions/listen` request that a notification belongs to. Since
    /// 2026-07-28.
    pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
    /// The id of the task that a message belongs to. 2025-11-25 only.
    pub const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";
    /// A result that the model gets while a task runs. 2025-11-25 only.
    pub const MODEL_IMMEDIATE_RESPONSE: &str = "io.modelcontextprotocol/model-immediate-response";
    /// The parent in the W3C trace context. Since 2026-07-28.
    pub const TRACEPARENT: &str = "traceparent";
    /// The data of vendors in the W3C trace context. Since 2026-07-28.
    pub const TRACESTATE: &str = "tracestate";
    /// The key-value pairs of W3C Baggage. Since 2026-07-28.
    pub const BAGGAGE: &str = "baggage";
}

object! {
    /// The `_meta` of a request. A legacy peer gets the client's revision, capabilities, name and
    /// version in `initialize`, and the log level in `logging/setLevel`.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::{
    ///     CallToolRequestParams, ClientCapabilities, ProtocolVersion, RequestMetaObject, meta_key,
    /// };
    /// use serde_json::json;
    ///
    /// // By hand. A `Client` adds these members.
    /// let revision = ProtocolVersion::V2026_07_28;
    /// let meta = RequestMetaObject::new(revision, ClientCapabilities::default());
    /// let params = CallToolRequestParams::new("now").meta(meta.progress_token(7));
    /// assert_eq!(json!(params)["_meta"][meta_key::PROTOCOL_VERSION], "2026-07-28");
    /// ```
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct RequestMetaObject: FitTo {
        /// The token by which progress notifications refer to the request. If the token is present,
        /// the request asks for progress notifications.
        pub progress_token?: ProgressToken = "progressToken",
        /// The revision in which the request is made. The field is text, because this library may
        /// not know the revision. Every request has it.
        pub protocol_version: Option<String>
            = "io.modelcontextprotocol/protocolVersion" [since V2026_07_28],
        /// The capabilities of the client during this request. Every request has them.
        pub client_capabilities: Option<ClientCapabilities>
            = "io.modelcontextprotocol/clientCapabilities" [since V2026_07_28, fit],
        /// The name and version of the client, which must not be trusted.
        pub client_info?: Implementation = "io.modelcontextprotocol/clientInfo" [since V2026_07_28],
        /// The minimum severity of the log messages that are sent during this request. If absent,
        /// no log messages are sent.
        pub log_level?: LoggingLevel
            = "io.modelcontextprotocol/logLevel" as KnownLevel [since V2026_07_28],
        ..extra
    }
}

impl RequestMetaObject {
    /// Makes the `_meta` of a request with the members that are required since 2026-07-28.
    pub fn new(protocol_version: ProtocolVersion, capabilities: ClientCapabilities) -> Self {
        Self {
            protocol_version: Some(protocol_version.to_string()),
            client_capabilities: Some(capabilities),
            ..Self::default()
        }
    }

    /// Returns the task that the request belongs to. 2025-11-25 only.
    pub fn related_task(&self) -> Option<RelatedTaskMetadata> {
        let value = self.extra.get(meta_key::RELATED_TASK)?;
        RelatedTaskMetadata::deserialize(value).ok()
    }

    /// Whether the `_meta` has no members, so that it can be omitted.
    pub fn is_empty(&self) -> bool {
        let Self {
            progress_token,
            protocol_version,
            client_capabilities,
            client_info,
            log_level,
            extra,
        } = self;
        progress_token.is_none()
            && protocol_version.is_none()
            && client_capabilities.is_none()
            && client_info.is_none()
            && log_level.is_none()
            && extra.is_empty()
    }
}

object! {
    /// The `_meta` of a notification.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::jsonrpc::RequestId;
    /// use mcplink::schema::{NotificationMetaObject, NotificationParams, meta_key};
    /// use serde_json::json;
    ///
    /// // By hand: a notification on the stream of the client's request 4.
    /// let meta = NotificationMetaObject::of_subscription(RequestId::from(4));
    /// let params = NotificationParams::default().meta(meta);
    /// assert_eq!(json!(params)["_meta"][meta_key::SUBSCRIPTION_ID], 4);
    /// ```
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct NotificationMetaObject {
        /// The id of the `subscriptions/listen` request on whose stream the notification is sent.
        /// Since 2026-07-28.
        pub subscription_id: Option<RequestId> = "io.modelcontextprotocol/subscriptionId",
        ..extra
    }

    /// Makes the `_meta` of a notification that is sent on the stream of this
    /// `subscriptions/listen` request.
    pub fn of_subscription(subscription_id: RequestId);
}

object! {
    /// The `_meta` of a result. It is also the specification's
    /// `SubscriptionsListenResultMetaObject`. A legacy peer gets the server's name and version in
    /// the result of `initialize`.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::{CallToolResult, ResultMetaObject};
    /// use serde_json::json;
    ///
    /// let mut meta = ResultMetaObject::default();
    /// meta.extra.insert("com.example/cost".to_owned(), json!(0.02));
    /// let result = CallToolResult::text("done").meta(meta);
    /// assert_eq!(json!(result)["_meta"], json!({ "com.example/cost": 0.02 }));
    /// ```
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct ResultMetaObject: FitTo {
        /// The name and version of the server, which must not be trusted.
        pub server_info?: Implementation = "io.modelcontextprotocol/serverInfo" [since V2026_07_28],
        /// Present only in the result that ends a subscription: the id of the
        /// `subscriptions/listen` request that opened the subscription.
        pub subscription_id?: RequestId
            = "io.modelcontextprotocol/subscriptionId" [since V2026_07_28],
        ..extra
    }
}

/// The `_meta` of the result that ends a subscription.
pub type SubscriptionsListenResultMetaObject = ResultMetaObject;

object! {
    /// The params of a request that defines no other params than `_meta`: `ping`,
    /// `server/discover`.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::protocol::{Peer, RequestOptions};
    /// use mcplink::schema::{DiscoverResult, RequestMetaObject, RequestParams, read_json};
    ///
    /// // By hand. A `Client` sends this request when it connects.
    /// fn discover(peer: &Peer, meta: RequestMetaObject) -> mcplink::Result<DiscoverResult> {
    ///     let params = RequestParams::default().meta(meta);
    ///     read_json(&peer.request("server/discover", &params, RequestOptions::new())?)
    /// }
    /// ```
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct RequestParams: FitTo {
        /// Metadata of the request (`_meta`). Required since 2026-07-28.
        pub meta?: RequestMetaObject = "_meta" [fit],
    }
}

object! {
    /// The params of a request for a page of a list.
    ///
    /// Spec: Server Features, Utilities, "Pagination" (every revision).
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::client::{CallOptions, Client};
    /// use mcplink::schema::{ListToolsResult, PaginatedRequestParams, read_json};
    ///
    /// // One page, for a host that pages itself: `Client::tool_pages` requests all pages.
    /// fn page(client: &Client, cursor: &str) -> mcplink::Result<ListToolsResult> {
    ///     let params = PaginatedRequestParams::default().cursor(cursor);
    ///     read_json(&client.request("tools/list", &params, CallOptions::new())?)
    /// }
    /// ```
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct PaginatedRequestParams: FitTo {
        /// The cursor of the page, as returned with the previous page. Absent for the first page.
        pub cursor?: String,
        /// Metadata of the request (`_meta`). Required since 2026-07-28.
        pub meta?: RequestMetaObject = "_meta" [fit],
    }
}

object! {
    /// The params of a notification that defines no other params than `_meta`:
    /// `notifications/initialized` and `…/list_changed`.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::protocol::Peer;
    /// use mcplink::schema::NotificationParams;
    ///
    /// // By hand. A `Server` notifies clients when its tools change.
    /// fn tools_changed(peer: &Peer) -> mcplink::Result<()> {
    ///     peer.notify("notifications/tools/list_changed", &NotificationParams::default())
    /// }
    /// ```
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct NotificationParams {
        /// Metadata of the notification (`_meta`).
        pub meta?: NotificationMetaObject = "_meta",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::FitTo;

    // M-META-B-01, L-META-B-01
    #[test]
    fn unknown_keys_are_kept_whatever_their_type() {
        let text = r#"{"progressToken":18446744073709551616,"io.modelcontextprotocol/x":[1,{"a":null}],"a":false}"#;
        let meta: RequestMetaObject = serde_json::from_str(text).expect("JSON");
        assert_eq!(meta.extra.len(), 2);
        let written = serde_json::to_string(&meta).expect("JSON");
        assert!(written.contains("18446744073709551616"), "{written}");
        let again: RequestMetaObject = serde_json::from_str(&written).expect("JSON");
        assert_eq!(again, meta);
    }

    #[test]
    fn legacy_peers_get_no_modern_keys() {
        let mut meta =
            RequestMetaObject::new(ProtocolVersion::LATEST, ClientCapabilities::default())
                .progress_token(1)
                .log_level("info");
        meta.fit_to(ProtocolVersion::V2025_11_25);
        assert_eq!(
            serde_json::to_string(&meta).expect("JSON"),
            r#"{"progressToken":1}"#
        );
    }

    #[test]
    fn a_log_level_that_does_not_exist_is_refused() {
        let text = r#"{"io.modelcontextprotocol/logLevel":"loud"}"#;
        assert!(serde_json::from_str::<RequestMetaObject>(text).is_err());
    }

    #[test]
    fn a_related_task_is_found() {
        let text = r#"{"io.modelcontextprotocol/related-task":{"taskId":"t1"}}"#;
        let meta: RequestMetaObject = serde_json::from_str(text).expect("JSON");
        assert_eq!(meta.related_task().expect("task").task_id, "t1");
        assert!(!meta.is_empty());
        assert!(RequestMetaObject::default().is_empty());
    }
}
