//! Capabilities of clients and servers. The presence of a key means support.
//!
//! Up to 2025-11-25 capabilities are exchanged in `initialize`. Since 2026-07-28 the client's
//! capabilities are in the `_meta` of each request, and the server's capabilities are in the result
//! of `server/discover`.
//!
//! Spec: Base Protocol, "Capabilities" (every revision).

use serde::de::{Deserialize, Deserializer, Error};
use serde_json::value::RawValue;

use super::member::{Form, Member};
use super::misfit;
use super::tree::JsonObject;
use super::version::{FitTo, ProtocolVersion};

object! {
    /// The capabilities of a client.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::client::Client;
    /// use mcplink::schema::{ClientCapabilities, ElicitationCapability, ElicitationMode};
    ///
    /// // A client that handles requests itself, instead of with `on_elicit` and the like.
    /// let elicitation = ElicitationCapability::default();
    /// let capabilities = ClientCapabilities::default().elicitation(elicitation);
    /// assert!(capabilities.supports_elicitation(ElicitationMode::Form));
    /// assert!(!capabilities.supports_elicitation(ElicitationMode::Url));
    /// let builder = Client::builder("host", "1.0").capabilities(capabilities);
    /// ```
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct ClientCapabilities {
        /// Present if the client has roots.
        pub roots?: RootsCapability,
        /// Present if the client lets servers use its model (`sampling/createMessage`).
        pub sampling?: SamplingCapability,
        /// Present if the client can ask the user for input.
        pub elicitation?: ElicitationCapability [since V2025_06_18],
        /// Present if the client supports requests that are executed as tasks.
        pub tasks: Option<TasksCapability> [only V2025_11_25],
        /// The extensions that the client supports, by id, with their settings. Since 2026-07-28;
        /// also exchanged with older peers.
        pub extensions?: JsonObject,
        /// The features outside the specification that the client supports, by name.
        pub experimental: Option<JsonObject>,
        ..extra
    }
}

/// The mode of an elicitation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ElicitationMode {
    /// A form that the client shows (form mode).
    Form,
    /// A web page of the server that the client opens (URL mode). Since 2025-11-25.
    Url,
}

impl ClientCapabilities {
    /// Whether the client supports elicitations of this mode. If the capability names no mode, the
    /// client supports form mode.
    pub fn supports_elicitation(&self, mode: ElicitationMode) -> bool {
        let Some(elicitation) = &self.elicitation else {
            return false;
        };
        match mode {
            ElicitationMode::Form => elicitation.form.is_some() || elicitation.url.is_none(),
            ElicitationMode::Url => elicitation.url.is_some(),
        }
    }

    /// Whether the client allows the model to call tools during sampling. Since 2025-11-25.
    pub fn supports_sampling_tools(&self) -> bool {
        self.sampling.as_ref().is_some_and(|it| it.tools.is_some())
    }

    /// Returns the settings of an extension, if the client declared this extension.
    pub fn extension(&self, id: &str) -> Option<&serde_json::Value> {
        self.extensions.as_ref()?.get(id)
    }
}

impl FitTo for ClientCapabilities {
    fn fit_to(&mut self, revision: ProtocolVersion) {
        self.fit_fields(revision);
        if let Some(elicitation) = &mut self.elicitation {
            let is_url_only = elicitation.form.is_none() && elicitation.url.is_some();
            elicitation.fit_fields(revision);
            if is_url_only && elicitation.url.is_none() {
                // The revision knows only form mode, which this client does not support.
                self.elicitation = None;
            }
        }
        if let Some(sampling) = &mut self.sampling {
            sampling.fit_fields(revision);
        }
        if let Some(roots) = &mut self.roots
            && revision.is_modern()
        {
            roots.list_changed = None;
        }
    }
}

object! {
    /// The capability `roots` of a client.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::{ClientCapabilities, RootsCapability};
    /// use serde_json::json;
    ///
    /// let capabilities =
    ///     ClientCapabilities::default().roots(RootsCapability::default().list_changed(true));
    /// assert_eq!(json!(capabilities), json!({ "roots": { "listChanged": true } }));
    /// ```
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct RootsCapability {
        /// Whether the client sends a notification when its roots change. Up to 2025-11-25.
        pub list_changed?: bool = "listChanged",
        ..extra
    }
}

object! {
    /// The capability `sampling` of a client.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::{ClientCapabilities, SamplingCapability};
    ///
    /// let capabilities =
    ///     ClientCapabilities::default().sampling(SamplingCapability::default().with_tools());
    /// assert!(capabilities.supports_sampling_tools());
    /// ```
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct SamplingCapability {
        /// Present if the client honors `includeContext`. Clients with an older revision are
        /// assumed to honor it.
        pub context: Option<JsonObject> [since V2025_11_25],
        /// Present if the client allows the model to call tools.
        pub tools: Option<JsonObject> [since V2025_11_25],
        ..extra
    }
}

impl SamplingCapability {
    /// Declares that the client allows the model to call tools. Since 2025-11-25.
    pub fn with_tools(mut self) -> Self {
        self.tools.get_or_insert_default();
        self
    }

    /// Declares that the client honors `includeContext`. Since 2025-11-25.
    pub fn with_context(mut self) -> Self {
        self.context.get_or_insert_default();
        self
    }
}

object! {
    /// The capability `elicitation` of a client. A client that names no mode supports form mode.
    /// Since 2025-06-18.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::{ClientCapabilities, ElicitationCapability, ElicitationMode};
    ///
    /// let elicitation = ElicitationCapability::default()
    ///     .with(ElicitationMode::Form)
    ///     .with(ElicitationMode::Url);
    /// let capabilities = ClientCapabilities::default().elicitation(elicitation);
    /// assert!(capabilities.supports_elicitation(ElicitationMode::Url));
    /// ```
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct ElicitationCapability {
        /// Present if the client shows forms (form mode).
        pub form: Option<JsonObject> [since V2025_11_25],
        /// Present if the client opens web pages (URL mode).
        pub url: Option<JsonObject> [since V2025_11_25],
        ..extra
    }
}

impl ElicitationCapability {
    /// Declares that the client supports a mode of elicitation.
    pub fn with(mut self, mode: ElicitationMode) -> Self {
        match mode {
            ElicitationMode::Form => self.form.get_or_insert_default(),
            ElicitationMode::Url => self.url.get_or_insert_default(),
        };
        self
    }
}

object! {
    /// The capabilities of a server.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::{PromptsCapability, ServerCapabilities, ToolsCapability};
    /// use serde_json::json;
    ///
    /// let capabilities = ServerCapabilities::default()
    ///     .tools(ToolsCapability::default().list_changed(true))
    ///     .prompts(PromptsCapability::default());
    /// assert_eq!(json!(capabilities), json!({ "prompts": {}, "tools": { "listChanged": true } }));
    /// ```
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct ServerCapabilities: FitTo {
        /// Present if the server sends log messages.
        pub logging?: JsonObject as Declared,
        /// Present if the server completes arguments.
        pub completions?: JsonObject as Declared [since V2025_03_26],
        /// Present if the server has prompts.
        pub prompts?: PromptsCapability as Declared,
        /// Present if the server has resources.
        pub resources?: ResourcesCapability as Declared,
        /// Present if the server has tools.
        pub tools?: ToolsCapability as Declared,
        /// Present if the server supports requests that are executed as tasks.
        pub tasks: Option<TasksCapability> as Declared [only V2025_11_25],
        /// The extensions that the server supports, by id, with their settings. Since 2026-07-28;
        /// also exchanged with older peers.
        pub extensions?: JsonObject,
        /// The features outside the specification that the server supports, by name.
        pub experimental: Option<JsonObject>,
        ..extra
    }
}

/// The serialization of a capability whose presence means support. Some servers send `true` instead
/// of an object, which lenient reading accepts.
struct Declared;

impl<T: Member + Default> Form<Option<T>> for Declared {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
        if !misfit::drops() {
            return Option::<T>::read(deserializer);
        }
        let text = Box::<RawValue>::deserialize(deserializer)?;
        match text.get() {
            "true" => Ok(Some(T::default())),
            "false" | "null" => Ok(None),
            text => {
                let read = T::read(&mut serde_json::Deserializer::from_str(text));
                read.map(Some).map_err(D::Error::custom)
            }
        }
    }
}

impl ServerCapabilities {
    /// Returns the settings of an extension, if the server declared this extension.
    pub fn extension(&self, id: &str) -> Option<&serde_json::Value> {
        self.extensions.as_ref()?.get(id)
    }
}

object! {
    /// The capability `prompts` of a server.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::{PromptsCapability, ServerCapabilities};
    ///
    /// let prompts = PromptsCapability::default().list_changed(true);
    /// let capabilities = ServerCapabilities::default().prompts(prompts);
    ///
    /// // A client that subscribes only if the server sends notifications.
    /// let notifies = capabilities.prompts.and_then(|prompts| prompts.list_changed);
    /// assert_eq!(notifies, Some(true));
    /// ```
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct PromptsCapability {
        /// Whether the server sends a notification when its list of prompts changes.
        pub list_changed?: bool = "listChanged",
        ..extra
    }
}

object! {
    /// The capability `resources` of a server.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::{ResourcesCapability, ServerCapabilities};
    /// use serde_json::json;
    ///
    /// let resources = ResourcesCapability::default().subscribe(true).list_changed(true);
    /// let capabilities = ServerCapabilities::default().resources(resources);
    /// assert_eq!(
    ///     json!(capabilities)["resources"],
    ///     json!({ "subscribe": true, "listChanged": true }),
    /// );
    /// ```
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct ResourcesCapability {
        /// Whether clients can subscribe to changes of a resource.
        pub subscribe?: bool,
        /// Whether the server sends a notification when its list of resources changes.
        pub list_changed?: bool = "listChanged",
        ..extra
    }
}

object! {
    /// The capability `tools` of a server.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::{DiscoverResult, ProtocolVersion, ServerCapabilities, ToolsCapability};
    ///
    /// let tools = ToolsCapability::default().list_changed(true);
    /// let capabilities = ServerCapabilities::default().tools(tools);
    /// let result = DiscoverResult::new(&[ProtocolVersion::V2026_07_28], capabilities);
    /// assert!(result.capabilities.tools.is_some());
    /// ```
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct ToolsCapability {
        /// Whether the server sends a notification when its list of tools changes.
        pub list_changed?: bool = "listChanged",
        ..extra
    }
}

object! {
    /// The capability `tasks` of a peer. 2025-11-25 only.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::TasksCapability;
    /// use serde_json::json;
    ///
    /// let tasks = TasksCapability::default().with_request("tools/call");
    /// assert!(tasks.supports("tools/call") && !tasks.supports("sampling/createMessage"));
    /// assert_eq!(json!(tasks), json!({ "requests": { "tools": { "call": {} } } }));
    /// ```
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct TasksCapability {
        /// Present if the peer answers `tasks/list`.
        pub list: Option<JsonObject>,
        /// Present if the peer answers `tasks/cancel`.
        pub cancel: Option<JsonObject>,
        /// The requests that can become tasks, as a tree of method parts: `{"tools":{"call":{}}}`.
        pub requests: Option<JsonObject>,
        ..extra
    }
}

impl TasksCapability {
    /// Declares that requests of the method `method` can become tasks.
    pub fn with_request(mut self, method: &str) -> Self {
        if let Some((group, name)) = method.split_once('/') {
            let requests = self.requests.get_or_insert_default();
            let group = requests
                .entry(group)
                .or_insert_with(|| JsonObject::new().into());
            if let Some(group) = group.as_object_mut() {
                group.insert(name.to_owned(), JsonObject::new().into());
            }
        }
        self
    }

    /// Whether a request of the method `method` can become a task.
    pub fn supports(&self, method: &str) -> bool {
        let Some((group, name)) = method.split_once('/') else {
            return false;
        };
        let requests = self.requests.as_ref();
        requests
            .and_then(|requests| requests.get(group)?.get(name))
            .is_some_and(serde_json::Value::is_object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // M-ELIC-B-09
    #[test]
    fn elicitation_without_modes_means_forms() {
        fn check(json: &str, form: bool, url: bool) {
            let caps: ClientCapabilities = serde_json::from_str(json).expect("decodes");
            assert_eq!(
                caps.supports_elicitation(ElicitationMode::Form),
                form,
                "{json}"
            );
            assert_eq!(
                caps.supports_elicitation(ElicitationMode::Url),
                url,
                "{json}"
            );
        }
        check("{}", false, false);
        check(r#"{"elicitation":{}}"#, true, false);
        check(r#"{"elicitation":{"form":{}}}"#, true, false);
        check(r#"{"elicitation":{"url":{}}}"#, false, true);
        check(r#"{"elicitation":{"form":{},"url":{}}}"#, true, true);
    }

    #[test]
    fn older_peers_are_told_what_their_revision_knows() {
        fn check(revision: ProtocolVersion, expected: &str) {
            let mut caps: ClientCapabilities = serde_json::from_str(
                r#"{"roots":{"listChanged":true},"sampling":{"tools":{}},"elicitation":{"form":{},"url":{}},"tasks":{},"extensions":{"a/b":{}}}"#,
            )
            .expect("decodes");
            caps.fit_to(revision);
            assert_eq!(serde_json::to_string(&caps).expect("JSON"), expected);
        }
        check(
            ProtocolVersion::V2025_03_26,
            r#"{"roots":{"listChanged":true},"sampling":{},"extensions":{"a/b":{}}}"#,
        );
        check(
            ProtocolVersion::V2025_06_18,
            r#"{"roots":{"listChanged":true},"sampling":{},"elicitation":{},"extensions":{"a/b":{}}}"#,
        );
        check(
            ProtocolVersion::V2025_11_25,
            r#"{"roots":{"listChanged":true},"sampling":{"tools":{}},"elicitation":{"form":{},"url":{}},"tasks":{},"extensions":{"a/b":{}}}"#,
        );
        check(
            ProtocolVersion::V2026_07_28,
            r#"{"roots":{},"sampling":{"tools":{}},"elicitation":{"form":{},"url":{}},"extensions":{"a/b":{}}}"#,
        );
    }

    #[test]
    fn a_client_without_forms_has_no_elicitation_before_modes() {
        let mut caps = ClientCapabilities::default()
            .elicitation(ElicitationCapability::default().with(ElicitationMode::Url));
        caps.fit_to(ProtocolVersion::V2025_06_18);
        assert!(!caps.supports_elicitation(ElicitationMode::Form));
    }

    #[test]
    fn requests_that_can_become_tasks_are_found_in_the_tree() {
        let tasks: TasksCapability =
            serde_json::from_str(r#"{"requests":{"tools":{"call":{}}}}"#).expect("decodes");
        assert!(tasks.supports("tools/call"));
        assert!(!tasks.supports("tools/list"));
        assert!(!tasks.supports("sampling/createMessage"));
    }
}
