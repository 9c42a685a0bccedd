//! Typed calls.

use std::time::Instant;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::cache::{self, Fetched, Looked, Topic};
use super::envelope::params_text;
use super::link::ping_method;
use super::outputs::{self, Promised};
use super::paging::Pages;
use super::{Client, Inner, harmless};
use crate::error::{Error, ErrorKind, Excerpt, Result};
use crate::jsonrpc::RawResult;
use crate::protocol::CallOptions;
use crate::schema::tree;
use crate::schema::{
    CallToolResult, CompleteRequestParams, CompleteResult, EmptyResult, FitTo,
    GetPromptRequestParams, GetPromptResult, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, LoggingLevel, NotificationParams, Prompt,
    ProtocolVersion, ReadResourceRequestParams, ReadResourceResult, Resource, ResourceTemplate,
    SetLevelRequestParams, Tool, method,
};

/// The params of a call of a tool, written in one go.
#[derive(Serialize)]
struct ToolParams<'a, A> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<&'a A>,
}

/// Where the arguments begin in such params.
fn arguments_in(params: &str) -> usize {
    let mut at = r#"{"name":""#.len();
    loop {
        match params.as_bytes().get(at) {
            Some(b'\\') => at += 2,
            Some(b'"') | None => break,
            Some(_) => at += 1,
        }
    }
    at + r#"","arguments":"#.len()
}

/// The params of a call of a tool as JSON text.
pub(crate) fn tool_params(name: &str, arguments: &impl Serialize) -> Result<String> {
    let written = ToolParams {
        name,
        arguments: Some(arguments),
    };
    // Room for most of them, so that they seldom grow.
    let mut text = Vec::with_capacity(512);
    serde_json::to_writer(&mut text, &written).map_err(|error| {
        let text = format!("arguments is not JSON: {error}");
        Error::new(ErrorKind::Invalid, text)
    })?;
    let text = String::from_utf8(text).expect("serde_json writes UTF-8");
    let arguments = &text[arguments_in(&text)..];
    if arguments.starts_with('{') {
        return Ok(text);
    }
    if arguments == "null}" {
        let nothing = ToolParams::<()> {
            name,
            arguments: None,
        };
        return params_text(method::TOOLS_CALL, &nothing);
    }
    let text = format!("arguments of tool '{}' have to be an object", Excerpt(name));
    Err(Error::new(ErrorKind::Invalid, text))
}

impl Client {
    pub(super) fn new(link: std::sync::Arc<super::link::Link>) -> Self {
        Self(std::sync::Arc::new(Inner { link }))
    }

    /// Lists the tools, all pages of them.
    ///
    /// Blocks for each page at most as long as a call does by default. Pages that the server let be kept, and that are still fresh, are not
    /// asked for again: see [`ResponseCache`](super::ResponseCache) and [`CallOptions::bypass_cache`]. An entry that is not what the
    /// specification says is left out, and told to the log: see [`Misfit`](crate::schema::Misfit).
    ///
    /// # Errors
    ///
    /// As [`call_tool`](Self::call_tool), [`ErrorKind::Unsupported`] without the capability `tools`; [`ErrorKind::Protocol`] when a cursor
    /// comes again; [`ErrorKind::Limit`] above [`max_list_pages`](super::ClientBuilder::max_list_pages) or
    /// [`max_list_items`](super::ClientBuilder::max_list_items).
    pub fn list_tools(&self) -> Result<Vec<Tool>> {
        self.list_tools_with(CallOptions::new())
    }

    /// The same with options of one's own, which hold for each page.
    ///
    /// # Errors
    ///
    /// As [`list_tools`](Self::list_tools).
    pub fn list_tools_with(&self, options: CallOptions<'_>) -> Result<Vec<Tool>> {
        self.tool_pages(options).into_all()
    }

    /// The pages of the list of tools, each asked for when it is come to.
    pub fn tool_pages<'a>(&self, options: CallOptions<'a>) -> Pages<'a, ListToolsResult> {
        Pages::new(self.clone(), options)
    }

    /// Calls a tool and waits for its result.
    ///
    /// Blocks the calling thread until the result arrives, 60 s pass without a sign of life, or the connection closes. That the tool ran
    /// and failed is no error: see [`CallToolResult::is_error`].
    ///
    /// Spec: Server Features, Tools, "Calling Tools" (every revision).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`] when the server has no tools (nothing is sent), [`ErrorKind::Peer`] when it refuses,
    /// [`ErrorKind::Timeout`] (the server is told), [`ErrorKind::Closed`] when it has gone, [`ErrorKind::Protocol`] when its answer is no
    /// result of a tool, [`ErrorKind::Invalid`] when the arguments are written neither as a JSON object nor as nothing. With a
    /// [`validator`](super::ClientBuilder::validator) also when the result, or the output schema itself, is not what it has to be.
    pub fn call_tool(&self, name: &str, arguments: &impl Serialize) -> Result<CallToolResult> {
        self.call_tool_with(name, arguments, CallOptions::new())
    }

    /// The same with a timeout, progress or a cancel token of one's own.
    ///
    /// # Errors
    ///
    /// As [`call_tool`](Self::call_tool); [`ErrorKind::Cancelled`] when its token was triggered (the server is told).
    pub fn call_tool_with(
        &self,
        name: &str,
        arguments: &impl Serialize,
        options: CallOptions<'_>,
    ) -> Result<CallToolResult> {
        self.need_tools()?;
        let params = tool_params(name, arguments)?;
        let promised = self.promise_of(name, &options)?;
        let result = self.call_tool_to_its_end(name, params, options)?;
        self.read_tool_result(name, promised, &result)
    }

    /// The same, but gives the result as raw JSON: for whoever passes it on, so that nothing is read only to be written again.
    ///
    /// What the server asks is answered, tasks are followed up, and a server is restarted as ever. The result is read here only if it has to
    /// be [checked](super::ClientBuilder::validator): otherwise whether it is one of a tool at all, and whether the tool failed, is for the
    /// caller to find out.
    ///
    /// # Errors
    ///
    /// As [`call_tool_with`](Self::call_tool_with).
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::client::Client;
    /// use mcplink::protocol::CallOptions;
    /// # use mcplink::server::Server;
    /// # use mcplink::transport::memory;
    /// # let server = Server::builder("hello", "1.0")
    /// #     .tool_with(mcplink::schema::Tool::new("greet"), |_: serde_json::Value, _| "Hello!")
    /// #     .build()?;
    /// # let (here, there) = memory::pair();
    /// # let serving = server.open(there)?;
    /// # let client = Client::connect(here)?;
    /// let result = client.call_tool_raw("greet", &(), CallOptions::new())?;
    /// assert!(result.as_str().contains(r#""text":"Hello!""#));
    /// # Ok::<(), mcplink::Error>(())
    /// ```
    pub fn call_tool_raw(
        &self,
        name: &str,
        arguments: &impl Serialize,
        options: CallOptions<'_>,
    ) -> Result<RawResult> {
        self.call_tool_written(name, tool_params(name, arguments), options)
    }

    /// The same with params that [`tool_params`] has written.
    pub(crate) fn call_tool_written(
        &self,
        name: &str,
        params: Result<String>,
        options: CallOptions<'_>,
    ) -> Result<RawResult> {
        self.need_tools()?;
        let params = params?;
        let promised = self.promise_of(name, &options)?;
        let result = self.call_tool_to_its_end(name, params, options)?;
        self.check_tool_result(name, promised, &result)?;
        Ok(result)
    }

    /// What results of a tool are checked with, made ready before it is called; and what else was known then.
    pub(super) fn promise_of(&self, name: &str, options: &CallOptions<'_>) -> Result<Promised> {
        let link = &self.0.link;
        let age = link.outputs.age();
        let schema = link.outputs.check_of(name).map_err(|error| {
            let (name, server) = (Excerpt(name), self.server_name());
            error.context(format_args!(
                "the output schema of tool '{name}' of '{server}' can't be used"
            ))
        })?;
        Ok(Promised {
            schema,
            age,
            began: Instant::now(),
            timeout: options.timeout_of_call(),
        })
    }

    /// Reads what a tool gave, and holds it against what was promised.
    pub(super) fn read_tool_result(
        &self,
        name: &str,
        promised: Promised,
        text: &str,
    ) -> Result<CallToolResult> {
        // Results are large: one stays where it is.
        let mut read = self.decode(method::TOOLS_CALL, text);
        // A server that was started meanwhile has promised nothing, and one whose tools have changed promised something else.
        let is_valid = self.0.link.outputs.age() == promised.age;
        let schema = promised.schema.as_ref().filter(|_| is_valid);
        if let Ok(result) = &mut read
            && !self.0.link.settings().strict
        {
            outputs::settle_empty(schema, self.revision(), result);
        }
        let (Ok(result), Some(schema)) = (&read, schema) else {
            return read;
        };
        if let Err(error) = outputs::check(schema, result, promised.deadline()) {
            let error = error.with_result(text);
            let (name, server) = (Excerpt(name), self.server_name());
            return Err(error.context(format_args!(
                "the structured content of tool '{name}' of '{server}' does not fit its output schema"
            )));
        }
        read
    }

    /// The same for what nobody here wants to have read: it is only if something was promised.
    pub(super) fn check_tool_result(
        &self,
        name: &str,
        promised: Promised,
        text: &str,
    ) -> Result<()> {
        if promised.schema.is_some() || self.0.link.settings().strict {
            self.read_tool_result(name, promised, text)?;
        }
        Ok(())
    }

    /// Fails when the server has no tools.
    pub(super) fn need_tools(&self) -> Result<()> {
        self.need(
            self.capabilities().tools.is_some(),
            "tools",
            method::TOOLS_CALL,
        )
    }

    /// Lists the resources, all pages of them.
    ///
    /// Blocks for each page at most as long as a call does by default. Pages that the server let be kept, and that are still fresh, are not
    /// asked for again: see [`ResponseCache`](super::ResponseCache) and [`CallOptions::bypass_cache`]. An entry that is not what the
    /// specification says is left out, and told to the log: see [`Misfit`](crate::schema::Misfit).
    ///
    /// # Errors
    ///
    /// As [`call_tool`](Self::call_tool), [`ErrorKind::Unsupported`] without the capability `resources`; [`ErrorKind::Protocol`] when a cursor
    /// comes again; [`ErrorKind::Limit`] above [`max_list_pages`](super::ClientBuilder::max_list_pages) or
    /// [`max_list_items`](super::ClientBuilder::max_list_items).
    pub fn list_resources(&self) -> Result<Vec<Resource>> {
        self.list_resources_with(CallOptions::new())
    }

    /// The same with options of one's own, which hold for each page.
    ///
    /// # Errors
    ///
    /// As [`list_resources`](Self::list_resources).
    pub fn list_resources_with(&self, options: CallOptions<'_>) -> Result<Vec<Resource>> {
        self.resource_pages(options).into_all()
    }

    /// The pages of the list of resources, each asked for when it is come to.
    pub fn resource_pages<'a>(&self, options: CallOptions<'a>) -> Pages<'a, ListResourcesResult> {
        Pages::new(self.clone(), options)
    }

    /// Lists the resource templates, all pages of them.
    ///
    /// Blocks for each page at most as long as a call does by default. Pages that the server let be kept, and that are still fresh, are not
    /// asked for again: see [`ResponseCache`](super::ResponseCache) and [`CallOptions::bypass_cache`]. An entry that is not what the
    /// specification says is left out, and told to the log: see [`Misfit`](crate::schema::Misfit).
    ///
    /// # Errors
    ///
    /// As [`call_tool`](Self::call_tool), [`ErrorKind::Unsupported`] without the capability `resources`; [`ErrorKind::Protocol`] when a cursor
    /// comes again; [`ErrorKind::Limit`] above [`max_list_pages`](super::ClientBuilder::max_list_pages) or
    /// [`max_list_items`](super::ClientBuilder::max_list_items).
    pub fn list_resource_templates(&self) -> Result<Vec<ResourceTemplate>> {
        self.list_resource_templates_with(CallOptions::new())
    }

    /// The same with options of one's own, which hold for each page.
    ///
    /// # Errors
    ///
    /// As [`list_resource_templates`](Self::list_resource_templates).
    pub fn list_resource_templates_with(
        &self,
        options: CallOptions<'_>,
    ) -> Result<Vec<ResourceTemplate>> {
        self.resource_template_pages(options).into_all()
    }

    /// The pages of the list of resource templates, each asked for when it is come to.
    pub fn resource_template_pages<'a>(
        &self,
        options: CallOptions<'a>,
    ) -> Pages<'a, ListResourceTemplatesResult> {
        Pages::new(self.clone(), options)
    }

    /// Reads a resource.
    ///
    /// Blocks as [`call_tool`](Self::call_tool) does. Asks the server unless it let an earlier response be kept that is still fresh: see
    /// [`ResponseCache`](super::ResponseCache) and [`CallOptions::bypass_cache`].
    ///
    /// Spec: Server Features, Resources, "Reading Resources" (every revision).
    ///
    /// # Errors
    ///
    /// As [`call_tool`](Self::call_tool). [`Error::is_not_found`] tells that there is no such resource, in each revision's way.
    pub fn read_resource(&self, uri: &str) -> Result<ReadResourceResult> {
        self.read_resource_with(uri, CallOptions::new())
    }

    /// The same with options of one's own.
    ///
    /// # Errors
    ///
    /// As [`read_resource`](Self::read_resource).
    pub fn read_resource_with(
        &self,
        uri: &str,
        options: CallOptions<'_>,
    ) -> Result<ReadResourceResult> {
        let answer = self.fetch_resource(uri, options)?;
        self.decode_and_keep(method::RESOURCES_READ, answer)
    }

    /// The same, but gives the result as raw JSON, which is not read here.
    ///
    /// # Errors
    ///
    /// As [`read_resource`](Self::read_resource).
    pub fn read_resource_raw(&self, uri: &str, options: CallOptions<'_>) -> Result<RawResult> {
        let answer = self.fetch_resource(uri, options)?;
        self.check_strictly::<ReadResourceResult>(method::RESOURCES_READ, answer.as_str())?;
        Ok(answer.into_raw())
    }

    fn fetch_resource(&self, uri: &str, options: CallOptions<'_>) -> Result<Fetched> {
        self.need(
            self.capabilities().resources.is_some(),
            "resources",
            method::RESOURCES_READ,
        )?;
        let params = ReadResourceRequestParams::new(uri);
        let topic = Topic::resource(uri);
        self.fetch(method::RESOURCES_READ, topic, &params, options)
    }

    /// Lists the prompts, all pages of them.
    ///
    /// Blocks for each page at most as long as a call does by default. Pages that the server let be kept, and that are still fresh, are not
    /// asked for again: see [`ResponseCache`](super::ResponseCache) and [`CallOptions::bypass_cache`]. An entry that is not what the
    /// specification says is left out, and told to the log: see [`Misfit`](crate::schema::Misfit).
    ///
    /// # Errors
    ///
    /// As [`call_tool`](Self::call_tool), [`ErrorKind::Unsupported`] without the capability `prompts`; [`ErrorKind::Protocol`] when a cursor
    /// comes again; [`ErrorKind::Limit`] above [`max_list_pages`](super::ClientBuilder::max_list_pages) or
    /// [`max_list_items`](super::ClientBuilder::max_list_items).
    pub fn list_prompts(&self) -> Result<Vec<Prompt>> {
        self.list_prompts_with(CallOptions::new())
    }

    /// The same with options of one's own, which hold for each page.
    ///
    /// # Errors
    ///
    /// As [`list_prompts`](Self::list_prompts).
    pub fn list_prompts_with(&self, options: CallOptions<'_>) -> Result<Vec<Prompt>> {
        self.prompt_pages(options).into_all()
    }

    /// The pages of the list of prompts, each asked for when it is come to.
    pub fn prompt_pages<'a>(&self, options: CallOptions<'a>) -> Pages<'a, ListPromptsResult> {
        Pages::new(self.clone(), options)
    }

    /// Gets a prompt, with the values of its arguments.
    ///
    /// Blocks as [`call_tool`](Self::call_tool) does.
    ///
    /// Spec: Server Features, Prompts, "Getting a Prompt" (every revision).
    ///
    /// # Errors
    ///
    /// As [`call_tool`](Self::call_tool).
    pub fn get_prompt(&self, name: &str, arguments: &[(&str, &str)]) -> Result<GetPromptResult> {
        self.get_prompt_with(name, arguments, CallOptions::new())
    }

    /// The same with options of one's own.
    ///
    /// # Errors
    ///
    /// As [`get_prompt`](Self::get_prompt).
    pub fn get_prompt_with(
        &self,
        name: &str,
        arguments: &[(&str, &str)],
        options: CallOptions<'_>,
    ) -> Result<GetPromptResult> {
        let result = self.get_prompt_raw(name, arguments, options)?;
        self.decode(method::PROMPTS_GET, &result)
    }

    /// The same, but gives the result as raw JSON, which is not read here.
    ///
    /// # Errors
    ///
    /// As [`get_prompt`](Self::get_prompt).
    pub fn get_prompt_raw(
        &self,
        name: &str,
        arguments: &[(&str, &str)],
        options: CallOptions<'_>,
    ) -> Result<RawResult> {
        self.need(
            self.capabilities().prompts.is_some(),
            "prompts",
            method::PROMPTS_GET,
        )?;
        let params = arguments
            .iter()
            .fold(GetPromptRequestParams::new(name), |params, (key, value)| {
                params.argument(*key, *value)
            });
        let result = self.call_raw(method::PROMPTS_GET, &params, options)?;
        self.check_strictly::<GetPromptResult>(method::PROMPTS_GET, &result)?;
        Ok(result)
    }

    /// Asks how an argument of a prompt or of a resource template can be completed.
    ///
    /// Blocks as [`call_tool`](Self::call_tool) does. What is sent while a user types is better sent when the typing pauses, and kept:
    /// the library asks each time.
    ///
    /// Spec: Server Features, Utilities, "Completion" (every revision; the capability since 2025-03-26).
    ///
    /// # Errors
    ///
    /// As [`call_tool`](Self::call_tool).
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # fn f(client: &mcplink::client::Client) -> mcplink::Result<()> {
    /// use mcplink::schema::{CompleteRequestParams, CompletionReference};
    ///
    /// let prompt = CompletionReference::prompt("review");
    /// let result = client.complete(CompleteRequestParams::new(prompt, "language", "ru"))?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn complete(&self, params: CompleteRequestParams) -> Result<CompleteResult> {
        self.complete_with(params, CallOptions::new())
    }

    /// The same with options of one's own.
    ///
    /// # Errors
    ///
    /// As [`complete`](Self::complete).
    pub fn complete_with(
        &self,
        params: CompleteRequestParams,
        options: CallOptions<'_>,
    ) -> Result<CompleteResult> {
        let result = self.complete_raw(params, options)?;
        self.decode(method::COMPLETION_COMPLETE, &result)
    }

    /// The same, but gives the result as raw JSON, which is not read here.
    ///
    /// # Errors
    ///
    /// As [`complete`](Self::complete).
    pub fn complete_raw(
        &self,
        mut params: CompleteRequestParams,
        options: CallOptions<'_>,
    ) -> Result<RawResult> {
        // The first revision has completion and no word for it.
        let may_try = self.revision() == ProtocolVersion::V2024_11_05;
        self.need(
            may_try || self.capabilities().completions.is_some(),
            "completions",
            method::COMPLETION_COMPLETE,
        )?;
        params.fit_to(self.revision());
        let result = self.call_raw(method::COMPLETION_COMPLETE, &params, options)?;
        self.check_strictly::<CompleteResult>(method::COMPLETION_COMPLETE, &result)?;
        Ok(result)
    }

    /// Sets the least severe level of log messages that the server sends. Only the legacy era knows this; since 2026-07-28 each call asks
    /// for itself, with [`CallOptions::log_level`].
    ///
    /// Spec: Server Features, Utilities, "Logging" (up to 2025-11-25).
    ///
    /// # Errors
    ///
    /// As [`call_tool`](Self::call_tool); [`ErrorKind::Unsupported`] in the modern era.
    pub fn set_log_level(&self, level: LoggingLevel) -> Result<()> {
        self.set_log_level_with(level, CallOptions::new())
    }

    /// The same with options of one's own.
    ///
    /// # Errors
    ///
    /// As [`set_log_level`](Self::set_log_level).
    pub fn set_log_level_with(&self, level: LoggingLevel, options: CallOptions<'_>) -> Result<()> {
        if self.revision().is_modern() {
            let text = format!(
                "'{}' speaks {}, which has no {}: each call asks for log messages with CallOptions::log_level",
                self.server_name(),
                self.revision(),
                method::LOGGING_SET_LEVEL
            );
            return Err(Error::new(ErrorKind::Unsupported, text));
        }
        self.need(
            self.capabilities().logging.is_some(),
            "logging",
            method::LOGGING_SET_LEVEL,
        )?;
        let params = SetLevelRequestParams::new(level.clone());
        self.call::<EmptyResult>(method::LOGGING_SET_LEVEL, &params, options)?;
        *self.0.link.log_level.lock() = Some(level);
        Ok(())
    }

    /// Asks whether the server is there. Only the legacy era knows this; a modern server is asked with `server/discover`.
    ///
    /// # Errors
    ///
    /// As other calls.
    pub fn ping(&self, options: CallOptions<'_>) -> Result<()> {
        let method = ping_method(self.revision());
        self.call::<EmptyResult>(method, &(), options).map(drop)
    }

    /// Sends a request of any method, with what every request carries, and gives its result as raw JSON.
    ///
    /// `params` has to be written as an object, or as nothing.
    ///
    /// # Errors
    ///
    /// As [`call_tool`](Self::call_tool), but for capabilities: those are the caller's business.
    pub fn request(
        &self,
        method: &str,
        params: &impl Serialize,
        mut options: CallOptions<'_>,
    ) -> Result<RawResult> {
        let text = params_text(method, params)?;
        self.request_text(method, &text, &mut options, |number| {
            harmless::is_harmless(self, number, method, &text)
        })
    }

    /// Tells the server that the [roots](super::ClientBuilder::on_list_roots) are others now. Since 2026-07-28 there is nothing to tell, and
    /// nothing is sent: a server asks anew for each call that needs them.
    ///
    /// Spec: Client Features, "Roots", "Root List Changes" (up to 2025-11-25).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`] when the client has no roots; as [`notify`](Self::notify).
    pub fn roots_changed(&self) -> Result<()> {
        if !self.0.link.settings().inputs.has_roots() {
            let text = "the client did not declare roots (on_list_roots)";
            return Err(Error::new(ErrorKind::Unsupported, text));
        }
        if self.revision().is_modern() {
            return Ok(());
        }
        self.notify(
            method::NOTIFICATIONS_ROOTS_LIST_CHANGED,
            &NotificationParams::default(),
        )
    }

    /// Sends a notification of any method.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Closed`] when the server has gone, [`ErrorKind::Timeout`] when it does not read; [`ErrorKind::Unsupported`] for a modern
    /// server over HTTP, which takes requests only.
    pub fn notify(&self, method: &str, params: &impl Serialize) -> Result<()> {
        let generation = self.0.link.generation();
        if generation.is_stateless() {
            let text = format!("'{}' takes no notifications over HTTP", self.server_name());
            return Err(Error::new(ErrorKind::Unsupported, text));
        }
        let session = generation.session();
        let Err(refusal) = generation.peer.notify(method, params) else {
            return Ok(());
        };
        let (options, link) = (CallOptions::new(), &self.0.link);
        if generation.has_recovered(session, &refusal, &options, link)? {
            return generation.peer.notify(method, params);
        }
        Err(refusal)
    }

    /// A call whose result is decoded as that of its method, never by its shape.
    pub(super) fn call<R: DeserializeOwned>(
        &self,
        method: &str,
        params: &impl Serialize,
        options: CallOptions<'_>,
    ) -> Result<R> {
        let result = self.call_raw(method, params, options)?;
        self.decode(method, &result)
    }

    fn call_raw(
        &self,
        method: &str,
        params: &impl Serialize,
        mut options: CallOptions<'_>,
    ) -> Result<RawResult> {
        let answer = self.call_in_rounds(method, params_text(method, params)?, &mut options)?;
        Ok(answer.result)
    }

    /// The same for a call whose result may be kept, and may have been.
    pub(super) fn call_or_recall<R: DeserializeOwned>(
        &self,
        method: &str,
        topic: Topic,
        params: &impl Serialize,
        options: CallOptions<'_>,
    ) -> Result<R> {
        let answer = self.fetch(method, topic, params, options)?;
        self.decode_and_keep(method, answer)
    }

    /// What can't be read is not kept.
    fn decode_and_keep<R: DeserializeOwned>(&self, method: &str, answer: Fetched) -> Result<R> {
        let result = self.decode(method, answer.as_str())?;
        answer.keep();
        Ok(result)
    }

    fn fetch(
        &self,
        method: &str,
        topic: Topic,
        params: &impl Serialize,
        mut options: CallOptions<'_>,
    ) -> Result<Fetched> {
        let params = params_text(method, params)?;
        let request = cache::request_text(method, &params, options.own_meta());
        // What a server said before it left is no answer.
        let link = &self.0.link;
        let bypass = options.bypasses_cache() || link.generation().peer.is_closed();
        let fetch = match link.cache.look_up(request, topic, bypass) {
            Looked::Found(text) => return Ok(Fetched::Kept(text)),
            Looked::Missing(fetch) => fetch,
        };
        let answer = self.call_in_rounds(method, params, &mut options)?;
        // What a person answered is no part of the key.
        if answer.asked {
            fetch.replace_by_nothing();
            return Ok(Fetched::New(answer.result, None));
        }
        Ok(Fetched::New(answer.result, Some(fetch)))
    }

    pub(super) fn decode<R: DeserializeOwned>(&self, method: &str, text: &str) -> Result<R> {
        let link = &self.0.link;
        let read = if link.settings().strict {
            tree::read_strictly(text).map(|read| (read, Vec::new()))
        } else {
            tree::read_entries(text)
        };
        let (read, misfits) = read.map_err(|error| {
            let what = format!(
                "the result of {method} of '{}' can't be read: {error}",
                self.server_name()
            );
            let error = Error::new(ErrorKind::Protocol, what).sent(true);
            error.with_result(text)
        })?;
        if !misfits.is_empty() {
            let peer = &link.generation().peer;
            let server = self.server_name();
            link.told_misfits.tell(peer, &server, method, &misfits);
        }
        Ok(read)
    }

    /// Reads what nobody here wants to have read, where it is refused if it differs from the letter of the specification.
    fn check_strictly<R: DeserializeOwned>(&self, method: &str, text: &str) -> Result<()> {
        if self.0.link.settings().strict {
            self.decode::<R>(method, text)?;
        }
        Ok(())
    }

    /// Fails when the server did not declare an extension of the protocol, without sending anything. Look at
    /// [`ServerCapabilities::extension`](crate::schema::ServerCapabilities::extension) where it can be done without.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`], with the id.
    pub fn need_extension(&self, id: &str) -> Result<()> {
        if self.capabilities().extension(id).is_some() {
            return Ok(());
        }
        let text = format!(
            "'{}' did not declare the extension '{}'",
            self.server_name(),
            Excerpt(id)
        );
        Err(Error::new(ErrorKind::Unsupported, text))
    }

    /// Fails at once when the server did not advertise what a method needs, unless that is assumed.
    pub(super) fn need(&self, has: bool, capability: &str, method: &str) -> Result<()> {
        if has || self.0.link.settings().assumes_capabilities {
            return Ok(());
        }
        let text = format!(
            "'{}' did not advertise the capability '{capability}', which {method} needs (assume_capabilities)",
            self.server_name()
        );
        Err(Error::new(ErrorKind::Unsupported, text))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_found_behind_any_name() {
        for name in [
            "",
            "echo",
            "a\"b",
            "\\",
            "\\\"",
            "é\u{7}\u{1f980}",
            "\",\"arguments\":",
        ] {
            let params = ToolParams {
                name,
                arguments: Some(&[1]),
            };
            let text = serde_json::to_string(&params).expect("JSON");
            assert_eq!(&text[arguments_in(&text)..], "[1]}", "{text}");
        }
    }
}
