//! Subscriptions to change notifications.
//!
//! Spec: Base Protocol, Patterns, "Subscriptions" (2026-07-28).

use super::meta::{NotificationMetaObject, RequestMetaObject, ResultMetaObject};
use super::result::ResultType;
use super::tree::Extra;
use crate::jsonrpc::RequestId;

object! {
    /// The filter of a subscription: the changes that the server reports to the client. Since
    /// 2026-07-28.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::client::{Client, Subscription};
    /// use mcplink::schema::SubscriptionFilter;
    ///
    /// fn watch(client: &Client) -> mcplink::Result<Subscription> {
    ///     let filter = SubscriptionFilter::default()
    ///         .tools_list_changed(true)
    ///         .resource_subscriptions(["docs://readme".to_owned()]);
    ///     assert!(!filter.is_empty());
    ///     client.subscribe(filter, |event| println!("{event:?}"))
    /// }
    /// ```
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct SubscriptionFilter {
        /// Whether changes of the list of tools are reported.
        pub tools_list_changed?: bool = "toolsListChanged",
        /// Whether changes of the list of prompts are reported.
        pub prompts_list_changed?: bool = "promptsListChanged",
        /// Whether changes of the list of resources are reported.
        pub resources_list_changed?: bool = "resourcesListChanged",
        /// The URIs of the resources whose changes are reported.
        pub resource_subscriptions?: Vec<String> = "resourceSubscriptions",
        /// The ids of the tasks whose status is reported. Needs the extension
        /// [`TASKS_EXTENSION`](super::TASKS_EXTENSION).
        pub task_ids?: Vec<String> = "taskIds",
        ..extra
    }
}

impl SubscriptionFilter {
    /// Whether the filter selects no changes.
    pub fn is_empty(&self) -> bool {
        let named = [&self.resource_subscriptions, &self.task_ids];
        ![
            self.tools_list_changed,
            self.prompts_list_changed,
            self.resources_list_changed,
        ]
        .contains(&Some(true))
            && named.into_iter().flatten().all(Vec::is_empty)
    }
}

object! {
    /// The params of `subscriptions/listen`. Since 2026-07-28.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::{SubscriptionFilter, SubscriptionsListenRequestParams};
    /// use serde_json::json;
    ///
    /// // By hand. `Client::subscribe` does this in every revision.
    /// let filter = SubscriptionFilter::default().tools_list_changed(true);
    /// let params = SubscriptionsListenRequestParams::new(filter);
    /// assert_eq!(json!(params), json!({ "notifications": { "toolsListChanged": true } }));
    /// ```
    #[derive(Clone, Debug, PartialEq)]
    pub struct SubscriptionsListenRequestParams {
        /// The filter: the changes that the client subscribes to.
        pub notifications: SubscriptionFilter,
        /// Metadata of the request (`_meta`). Required; a client of this library adds the metadata.
        pub meta?: RequestMetaObject = "_meta",
    }

    /// Makes params that subscribe to these changes.
    pub fn new(notifications: SubscriptionFilter);
}

object! {
    /// The params of `notifications/subscriptions/acknowledged`. Since 2026-07-28.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::protocol::Responder;
    /// use mcplink::schema::{SubscriptionFilter, SubscriptionsAcknowledgedNotificationParams};
    ///
    /// // By hand, for a server that reports changes of its tools only.
    /// fn acknowledge(responder: &Responder) -> mcplink::Result<()> {
    ///     let id = responder.id().clone();
    ///     let filter = SubscriptionFilter::default().tools_list_changed(true);
    ///     let params = SubscriptionsAcknowledgedNotificationParams::new(id, filter);
    ///     responder.notify("notifications/subscriptions/acknowledged", &params)
    /// }
    /// ```
    #[derive(Clone, Debug, PartialEq)]
    pub struct SubscriptionsAcknowledgedNotificationParams {
        /// The filter that the server applies: the requested changes that the server supports.
        pub notifications: SubscriptionFilter,
        /// Metadata of the notification (`_meta`), which has the subscription's id.
        pub meta: Option<NotificationMetaObject> = "_meta",
    }
}

impl SubscriptionsAcknowledgedNotificationParams {
    /// Makes params with the changes that are reported on the stream of the request `id`.
    pub fn new(id: RequestId, notifications: SubscriptionFilter) -> Self {
        Self {
            notifications,
            meta: Some(NotificationMetaObject::of_subscription(id)),
        }
    }
}

object! {
    /// The result that ends a subscription. Since 2026-07-28.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::protocol::Responder;
    /// use mcplink::schema::SubscriptionsListenResult;
    ///
    /// // By hand. `Server::end_subscriptions` ends all subscriptions.
    /// fn end(responder: Responder) -> mcplink::Result<()> {
    ///     let result = SubscriptionsListenResult::new(responder.id().clone());
    ///     responder.respond(&result)
    /// }
    /// ```
    #[derive(Clone, Debug, PartialEq)]
    pub struct SubscriptionsListenResult {
        /// The kind of result.
        pub result_type: Option<ResultType> = "resultType",
        /// Metadata of the result (`_meta`), which has the subscription's id.
        pub meta: Option<ResultMetaObject> = "_meta",
        ..extra
    }
}

impl SubscriptionsListenResult {
    /// Makes the result that ends the subscription which the request `id` opened.
    pub fn new(id: RequestId) -> Self {
        Self {
            result_type: Some(ResultType::Complete),
            meta: Some(ResultMetaObject::default().subscription_id(id)),
            extra: Extra::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_that_asks_for_nothing_is_empty() {
        fn check(json: &str, empty: bool) {
            let filter: SubscriptionFilter = serde_json::from_str(json).expect("decodes");
            assert_eq!(filter.is_empty(), empty, "{json}");
        }
        check("{}", true);
        check(
            r#"{"toolsListChanged":false,"resourceSubscriptions":[]}"#,
            true,
        );
        check(r#"{"promptsListChanged":true}"#, false);
        check(r#"{"resourceSubscriptions":["a:b"]}"#, false);
    }
}
