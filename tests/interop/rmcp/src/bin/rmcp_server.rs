//! A server of the crate rmcp over stdio; it speaks both eras by itself. What it has is written in `../../../README.md`.

#![expect(
    deprecated,
    reason = "log messages, sampling and roots are on their way out of the protocol"
)]

use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rmcp::handler::server::ServerHandler;
use rmcp::model::*;
use rmcp::service::{
    Peer, RequestContext, RoleServer, ServiceExt, SubscriptionContext, SubscriptionSink,
};
use serde_json::{Value, from_value, json};

type Served<T> = Result<T, ErrorData>;

/// Sent one at a time, so that clients have pages to follow.
const RESOURCES: [(&str, &str); 2] = [
    ("demo://text", "text/plain"),
    ("demo://bytes", "application/octet-stream"),
];

#[derive(Clone, Default)]
struct Demo {
    wants_logs: Arc<Mutex<bool>>,
    cancelled: Arc<AtomicUsize>,
    /// What legacy clients subscribed to, and the streams of modern ones.
    watched: Arc<Mutex<Vec<String>>>,
    streams: Arc<Mutex<Vec<SubscriptionSink>>>,
}

/// A result, as it stands on the wire; rmcp leaves `resultType` away where it is not known.
fn result<T: serde::de::DeserializeOwned>(mut wire: Value) -> Served<T> {
    wire["resultType"] = json!("complete");
    model(wire)
}

/// A value of the model, as it stands on the wire.
fn model<T: serde::de::DeserializeOwned>(wire: Value) -> Served<T> {
    from_value(wire).map_err(internal)
}

fn internal(error: impl std::fmt::Display) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}

fn text(text: impl Into<String>) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(text)])
}

fn tools() -> Value {
    let tool = |name: &str, properties: Value| {
        let required: Vec<&String> = properties
            .as_object()
            .into_iter()
            .flatten()
            .map(|it| it.0)
            .collect();
        let schema = json!({ "type": "object", "properties": properties, "required": required });
        json!({ "name": name, "description": format!("The tool {name}"), "inputSchema": schema })
    };
    let number = json!({ "type": "number" });
    let string = json!({ "type": "string" });
    let mut add = tool("add", json!({ "a": number, "b": number }));
    add["outputSchema"] =
        json!({ "type": "object", "properties": { "sum": number }, "required": ["sum"] });
    json!([
        tool("greet", json!({ "name": string })),
        add,
        tool("fail", json!({})),
        tool("slow", json!({ "steps": number, "delay_ms": number })),
        tool("cancelled", json!({})),
        tool("ask", json!({})),
        tool("sample", json!({})),
        tool("roots", json!({})),
        tool("log", json!({})),
        tool("touch", json!({ "uri": string })),
        tool("media", json!({})),
    ])
}

/// What a tool asks the client: the wire is the same in both eras, the way there is not.
fn question(tool: &str) -> Option<Value> {
    let form = json!({ "type": "object", "properties": { "name": { "type": "string" } }, "required": ["name"] });
    let message =
        json!({ "role": "user", "content": { "type": "text", "text": "The capital of France?" } });
    Some(match tool {
        "ask" => json!({ "method": "elicitation/create",
            "params": { "mode": "form", "message": "Who are you?", "requestedSchema": form } }),
        "sample" => {
            json!({ "method": "sampling/createMessage", "params": { "messages": [message], "maxTokens": 100 } })
        }
        "roots" => json!({ "method": "roots/list" }),
        _ => return None,
    })
}

fn answered(tool: &str, answer: &Value) -> CallToolResult {
    match tool {
        "ask" => text(format!(
            "It is {}.",
            answer["content"]["name"].as_str().unwrap_or("?")
        )),
        "sample" => text(format!(
            "The model says {}.",
            answer["content"]["text"].as_str().unwrap_or("?")
        )),
        _ => text(format!(
            "Roots: {}",
            answer["roots"][0]["uri"].as_str().unwrap_or("?")
        )),
    }
}

impl Demo {
    /// Asks in the way of the era: by a request of its own, or by a result that wants input.
    async fn ask(
        &self,
        params: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Served<CallToolResponse> {
        let tool = &*params.name;
        let question = question(tool).ok_or_else(|| internal("no question"))?;
        if let Some(answer) = params
            .input_responses
            .as_ref()
            .and_then(|all| all.get("who"))
        {
            if params.request_state.as_deref() != Some("a state") {
                return Err(internal(format!(
                    "the state came back as {:?}",
                    params.request_state
                )));
            }
            return Ok(answered(tool, answer).into());
        }
        let is_modern = context
            .protocol_version()
            .is_some_and(|it| it.as_str() >= "2026");
        if is_modern {
            let wanted = [("who".to_owned(), model(question)?)].into();
            return Ok(InputRequiredResult::new(Some(wanted), Some("a state".to_owned())).into());
        }
        let answer = context
            .peer
            .send_request(model(question)?)
            .await
            .map_err(internal)?;
        Ok(answered(tool, &serde_json::to_value(answer).map_err(internal)?).into())
    }

    async fn slow(
        &self,
        arguments: &Value,
        context: &RequestContext<RoleServer>,
    ) -> Served<CallToolResult> {
        let steps = arguments["steps"].as_f64().unwrap_or(0.0) as u64;
        let delay = Duration::from_millis(arguments["delay_ms"].as_f64().unwrap_or(0.0) as u64);
        for step in 1..=steps {
            tokio::select! {
                () = tokio::time::sleep(delay) => {}
                () = context.ct.cancelled() => {
                    self.cancelled.fetch_add(1, Ordering::Relaxed);
                    return Ok(text("cancelled"));
                }
            }
            if let Some(token) = context.meta.get_progress_token() {
                let progress =
                    ProgressNotificationParam::new(token, step as f64).with_total(steps as f64);
                context
                    .peer
                    .notify_progress(progress)
                    .await
                    .map_err(internal)?;
            }
        }
        Ok(text(format!("done {steps}")))
    }

    /// Says that a resource has changed, and the list of tools, to whom it may concern.
    async fn touch(&self, uri: &str, peer: &Peer<RoleServer>) -> Served<()> {
        if self
            .watched
            .lock()
            .map_err(internal)?
            .iter()
            .any(|it| it == uri)
        {
            let updated = ResourceUpdatedNotificationParam::new(uri);
            peer.notify_resource_updated(updated)
                .await
                .map_err(internal)?;
            peer.notify_tool_list_changed().await.map_err(internal)?;
        }
        let streams = self.open_streams().await?;
        for stream in streams {
            stream
                .notify_resource_updated(uri)
                .await
                .map_err(internal)?;
            stream.notify_tool_list_changed().await.map_err(internal)?;
        }
        Ok(())
    }

    /// rmcp acknowledges a stream before its handler is told of it: a client that has one may be a little ahead.
    async fn open_streams(&self) -> Served<Vec<SubscriptionSink>> {
        for _ in 0..50 {
            let streams = self.streams.lock().map_err(internal)?.clone();
            let has_watchers = !self.watched.lock().map_err(internal)?.is_empty();
            if has_watchers || !streams.is_empty() {
                return Ok(streams);
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Ok(Vec::new())
    }

    async fn log(&self, context: &RequestContext<RoleServer>) -> Served<()> {
        if *self.wants_logs.lock().map_err(internal)? || context.meta.log_level().is_some() {
            let message = LoggingMessageNotificationParam::new(
                LoggingLevel::Info,
                json!("a message of the log"),
            );
            let message = message.with_logger("demo");
            context
                .peer
                .notify_logging_message(message)
                .await
                .map_err(internal)?;
        }
        Ok(())
    }
}

/// Content of every kind.
fn media() -> Served<CallToolResult> {
    let resource = json!({ "uri": "demo://text", "mimeType": "text/plain", "text": "embedded" });
    result(json!({ "content": [
        { "type": "text", "text": "a text" },
        { "type": "image", "data": "AAEC", "mimeType": "image/png" },
        { "type": "audio", "data": "AwQF", "mimeType": "audio/wav" },
        { "type": "resource_link", "uri": "demo://text", "name": "text" },
        { "type": "resource", "resource": resource },
    ] }))
}

impl ServerHandler for Demo {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_prompts()
            .enable_completions()
            .enable_logging();
        ServerConfig::new(capabilities.build())
            .with_server_info(Implementation::new("rmcp-server", "3.9.0"))
            .with_instructions("Everything here is for trying out clients.")
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Served<ListToolsResult> {
        result(json!({ "tools": tools() }))
    }

    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Served<CallToolResponse> {
        let arguments = json!(params.arguments.clone().unwrap_or_default());
        let result = match &*params.name {
            "greet" => match arguments["name"].as_str() {
                Some(name) => text(format!("Hello, {name}!")),
                None => return Err(ErrorData::invalid_params("greet needs a name", None)),
            },
            "add" => {
                let sum = arguments["a"].as_f64().unwrap_or(f64::NAN)
                    + arguments["b"].as_f64().unwrap_or(f64::NAN);
                result(
                    json!({ "content": [{ "type": "text", "text": sum.to_string() }], "structuredContent": { "sum": sum } }),
                )?
            }
            "fail" => CallToolResult::error(vec![ContentBlock::text("it failed on purpose")]),
            "slow" => self.slow(&arguments, &context).await?,
            "cancelled" => text(self.cancelled.load(Ordering::Relaxed).to_string()),
            "ask" | "sample" | "roots" => return self.ask(&params, &context).await,
            "log" => {
                self.log(&context).await?;
                text("logged")
            }
            "touch" => {
                let uri = arguments["uri"].as_str().unwrap_or_default();
                self.touch(uri, &context.peer).await?;
                text(format!("touched {uri}"))
            }
            "media" => media()?,
            other => {
                return Err(ErrorData::invalid_params(
                    format!("there is no tool {other}"),
                    None,
                ));
            }
        };
        Ok(result.into())
    }

    async fn list_resources(
        &self,
        params: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Served<ListResourcesResult> {
        let cursor = params.and_then(|params| params.cursor);
        let at: usize = cursor
            .map_or(Ok(0), |cursor| cursor.parse())
            .map_err(internal)?;
        let Some((uri, kind)) = RESOURCES.get(at) else {
            return Err(ErrorData::invalid_params("there is no such page", None));
        };
        let next = (at + 1 < RESOURCES.len()).then(|| (at + 1).to_string());
        let mut page = json!({ "resources": [{ "uri": uri, "name": uri, "mimeType": kind }] });
        if let Some(next) = next {
            page["nextCursor"] = json!(next);
        }
        result(page)
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Served<ListResourceTemplatesResult> {
        let item =
            json!({ "uriTemplate": "demo://item/{id}", "name": "item", "mimeType": "text/plain" });
        result(json!({ "resourceTemplates": [item] }))
    }

    async fn read_resource(
        &self,
        params: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Served<ReadResourceResponse> {
        let uri = &*params.uri;
        let mut contents = json!({ "uri": uri, "mimeType": "text/plain" });
        match (uri, uri.strip_prefix("demo://item/")) {
            ("demo://text", _) => contents["text"] = json!("a text: é 😀"),
            ("demo://bytes", _) => {
                contents["mimeType"] = json!("application/octet-stream");
                contents["blob"] = json!("AAH+/w==");
            }
            (_, Some(id)) => contents["text"] = json!(format!("item {id}")),
            _ => {
                return Err(ErrorData::resource_not_found(
                    format!("there is no {uri}"),
                    None,
                ));
            }
        }
        let read: ReadResourceResult = result(json!({ "contents": [contents] }))?;
        Ok(read.into())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Served<ListPromptsResult> {
        let praise = json!({ "name": "praise", "description": "Praises somebody", "arguments": [{ "name": "name", "required": true }] });
        result(json!({ "prompts": [praise] }))
    }

    async fn get_prompt(
        &self,
        params: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Served<GetPromptResponse> {
        let arguments = json!(params.arguments.unwrap_or_default());
        let (true, Some(name)) = (params.name == "praise", arguments["name"].as_str()) else {
            return Err(ErrorData::invalid_params("praise needs a name", None));
        };
        let content = json!({ "type": "text", "text": format!("Please praise {name}.") });
        let read: GetPromptResult =
            result(json!({ "messages": [{ "role": "user", "content": content }] }))?;
        Ok(read.into())
    }

    async fn complete(
        &self,
        params: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Served<CompleteResult> {
        let known: &[&str] = match params.r#ref {
            Reference::Prompt(_) => &["alice", "albert", "bob"],
            _ => &["7", "42", "70"],
        };
        let typed = &*params.argument.value;
        let fit = known.iter().filter(|it| it.starts_with(typed));
        let values = fit.map(|it| (*it).to_owned()).collect();
        Ok(CompleteResult::new(
            CompletionInfo::new(values).map_err(internal)?,
        ))
    }

    async fn set_level(
        &self,
        _: SetLevelRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Served<()> {
        *self.wants_logs.lock().map_err(internal)? = true;
        Ok(())
    }

    async fn subscribe(
        &self,
        params: SubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Served<()> {
        self.watched.lock().map_err(internal)?.push(params.uri);
        Ok(())
    }

    async fn unsubscribe(
        &self,
        params: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Served<()> {
        self.watched
            .lock()
            .map_err(internal)?
            .retain(|it| *it != params.uri);
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(requested.supported_by(&self.get_info().capabilities))
    }

    fn listen(&self, context: SubscriptionContext) -> impl Future<Output = Served<()>> + Send + '_ {
        if let Ok(mut streams) = self.streams.lock() {
            streams.push(context.sink().clone());
        }
        async move {
            context.cancelled().await;
            let id = context.sink().id().clone();
            self.streams
                .lock()
                .map_err(internal)?
                .retain(|it| *it.id() != id);
            Ok(())
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    eprintln!("rmcp-server: a line on stderr is no sign of failure");
    let running = Demo::default().serve(rmcp::transport::stdio()).await?;
    running.waiting().await?;
    Ok(())
}
