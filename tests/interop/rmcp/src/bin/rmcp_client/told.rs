//! What the server tells and asks by itself.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use rmcp::handler::client::ClientHandler;
use rmcp::model::*;
use rmcp::service::{NotificationContext, RequestContext, RoleClient};
use serde_json::{Value, json};
use tokio::time::sleep;

const HOME: &str = "file:///home/ada";

/// What the server told and asked by itself; the user fills in every field with his name.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) progress: Vec<f64>,
    pub(crate) logs: Vec<Value>,
    pub(crate) events: Vec<String>,
}

#[derive(Clone, Default)]
pub(crate) struct Told {
    pub(crate) seen: Arc<Mutex<Seen>>,
    pub(crate) answers: bool,
}

impl Told {
    pub(crate) fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().expect("nobody panics with it")
    }

    /// Waits for notifications; the check's own deadline ends it.
    pub(crate) async fn until(&self, there: impl Fn(&Seen) -> bool) {
        while !there(&self.seen()) {
            sleep(Duration::from_millis(5)).await;
        }
    }
}

impl ClientHandler for Told {
    fn get_info(&self) -> ClientConfig {
        let all = ClientCapabilities::builder()
            .enable_elicitation()
            .enable_roots()
            .enable_sampling();
        let capabilities = if self.answers {
            all.build()
        } else {
            ClientCapabilities::default()
        };
        ClientConfig::new(capabilities, Implementation::new("interop-rmcp", "3.9.0"))
    }

    async fn create_elicitation(
        &self,
        asked: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let asked = json!(asked);
        let fields = asked["requestedSchema"]["properties"]
            .as_object()
            .into_iter()
            .flatten();
        let filled: Value = fields
            .map(|(name, _)| (name.clone(), json!("Ada")))
            .collect();
        Ok(ElicitResult::new(ElicitationAction::Accept).with_content(filled))
    }

    async fn create_message(
        &self,
        _: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        Ok(CreateMessageResult::new(
            SamplingMessage::assistant_text("Paris"),
            "parrot".to_owned(),
        ))
    }

    async fn list_roots(
        &self,
        _: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        Ok(ListRootsResult::new(vec![Root::new(HOME)]))
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.seen().progress.push(params.progress);
    }

    async fn on_logging_message(
        &self,
        params: LoggingMessageNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.seen().logs.push(params.data);
    }

    async fn on_resource_updated(
        &self,
        params: ResourceUpdatedNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.seen().events.push(params.uri);
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.seen().events.push("tools".to_owned());
    }
}
