//! Typed calls of a client: tools, resources, prompts, completion and log level.

use std::time::Instant;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Client;
use super::cache::Fetched;
use super::call_options::CallOptions;
use super::mrtr::FirstRequest;
use super::output_schemas::{self, ResultCheck};
use super::paging::Pages;
use super::request_meta::params_text;
use crate::error::{Error, ErrorKind, Excerpt, Result};
use crate::jsonrpc::RawResult;
use crate::jsonrpc::tokens::end_of_string;
use crate::schema::tree;
use crate::schema::{
    CallToolResult, CompleteRequestParams, CompleteResult, EmptyResult, GetPromptResult,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    LoggingLevel, Misfit, Prompt, ReadResourceResult, Resource, ResourceTemplate,
    SetLevelRequestParams, Tool, method,
};

/// The params of a tool call, serialized in one pass.
#[derive(Serialize)]
struct ToolParams<'a, A> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<&'a A>,
}

/// Returns the offset of the arguments in the JSON text of a tool call's params.
fn arguments_in(params: &str) -> usize {
    let name = r#"{"name":"#.len();
    let end = end_of_string(params.as_bytes(), name).unwrap_or(params.len());
    end + r#","arguments":"#.len()
}

/// Serializes the params of a tool call as JSON text.
pub(crate) fn tool_params(name: &str, arguments: &impl Serialize) -> Result<String> {
    let written = ToolParams {
        name,
        arguments: Some(arguments),
    };
    // Large enough for most params, so that the buffer seldom grows.
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
    /// Lists all tools, over all pages.
    ///
    /// Each page blocks at most as long as a call with default options. Fresh pages are taken from
    /// the cache: see [`ResponseCache`](super::ResponseCache) and [`CallOptions::bypass_cache`]. An
    /// entry that violates the specification is left out and logged: see
    /// [`Misfit`].
    ///
    /// # Errors
    ///
    /// As [`call_tool`](Self::call_tool); [`ErrorKind::Unsupported`] without the capability
    /// `tools`; [`ErrorKind::Protocol`] when a cursor repeats; [`ErrorKind::Limit`] above
    /// [`max_list_pages`](super::ClientBuilder::max_list_pages) or
    /// [`max_list_items`](super::ClientBuilder::max_list_items).
    pub fn list_tools(&self) -> Result<Vec<Tool>> {
        self.list_tools_with(CallOptions::new())
    }

    /// Lists all tools. The options apply to the request of each page.
    ///
    /// # Errors
    ///
    /// As [`list_tools`](Self::list_tools).
    pub fn list_tools_with(&self, options: CallOptions<'_>) -> Result<Vec<Tool>> {
        Ok(self.tool_pages(options).read_all()?.0)
    }

    /// Returns an iterator over the pages of the tool list. A page is requested when the iterator
    /// reaches it.
    pub fn tool_pages<'a>(&self, options: CallOptions<'a>) -> Pages<'a, ListToolsResult> {
        Pages::new(self.clone(), options, None)
    }

    /// Calls a tool and waits for its result.
    ///
    /// Blocks the calling thread until the result arrives, 60 s pass without an answer or progress,
    /// or the connection closes. If a tool ran and failed, the call still succeeds: see
    /// [`CallToolResult::is_error`].
    ///
    /// Spec: Server Features, Tools, "Calling Tools" (every revision).
    ///
    /// # Errors
    ///
    /// - [`ErrorKind::Unsupported`]: the server has no tools; nothing is sent.
    /// - [`ErrorKind::Peer`]: the server refuses the call.
    /// - [`ErrorKind::Timeout`]: no answer in time; the server is notified.
    /// - [`ErrorKind::Closed`]: the server has gone.
    /// - [`ErrorKind::Protocol`]: the answer is not a tool result. With a
    ///   [`validator`](super::ClientBuilder::validator) also: the result or the output schema is
    ///   invalid.
    /// - [`ErrorKind::Invalid`]: the arguments serialize to neither a JSON object nor `null`.
    pub fn call_tool(&self, name: &str, arguments: &impl Serialize) -> Result<CallToolResult> {
        self.call_tool_with(name, arguments, CallOptions::new())
    }

    /// Calls a tool with options such as a timeout, progress or a cancel token.
    ///
    /// # Errors
    ///
    /// As [`call_tool`](Self::call_tool); [`ErrorKind::Cancelled`] when the token was cancelled
    /// (the server is notified).
    pub fn call_tool_with(
        &self,
        name: &str,
        arguments: &impl Serialize,
        mut options: CallOptions<'_>,
    ) -> Result<CallToolResult> {
        self.need_tools()?;
        let params = tool_params(name, arguments)?;
        let check = self.prepare_check(name, &mut options)?;
        let result = self.call_tool_to_its_end(name, params, options, FirstRequest::Unsent)?;
        self.read_tool_result(name, check, &result)
    }

    /// Calls a tool and returns its result as raw JSON. Intended for relays, which need not parse
    /// the result.
    ///
    /// Input requests are answered, tasks are polled, and a server is restarted as for
    /// [`call_tool`](Self::call_tool). The result is parsed only if it has to be
    /// [validated](super::ClientBuilder::validator). Otherwise the caller has to check whether the
    /// JSON is a tool result, and whether the tool failed.
    ///
    /// # Errors
    ///
    /// As [`call_tool_with`](Self::call_tool_with).
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::client::Client;
    /// use mcplink::client::CallOptions;
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
        mut options: CallOptions<'_>,
    ) -> Result<RawResult> {
        let params = tool_params(name, arguments);
        let prepared = self.prepare_tool(name, params, &mut options, Ok)?;
        prepared.make(self, options)
    }

    /// Prepares the validation of a tool's result before the call. Returns the output schema and
    /// the time limits of the validation.
    pub(super) fn prepare_check(
        &self,
        name: &str,
        options: &mut CallOptions<'_>,
    ) -> Result<ResultCheck> {
        let supervisor = &self.0.supervisor;
        options.apply_defaults(supervisor.settings().timeouts);
        let age = supervisor.server.outputs.age();
        let schema = supervisor.server.outputs.check_of(name).map_err(|error| {
            let (name, server) = (Excerpt(name), self.server_name());
            error.context(format_args!(
                "the output schema of tool '{name}' of '{server}' can't be used"
            ))
        })?;
        Ok(ResultCheck {
            schema,
            age,
            began: Instant::now(),
            timeout: options.request.timeout_of_call(),
        })
    }

    /// Parses the result of a tool call, and validates the result against the output schema.
    pub(super) fn read_tool_result(
        &self,
        name: &str,
        check: ResultCheck,
        text: &str,
    ) -> Result<CallToolResult> {
        // Results are large, so the value is checked in place.
        let mut read = self.decode(method::TOOLS_CALL, text);
        // After a restart no schemas are known. After a change of the tools other schemas are
        // known.
        let is_valid = self.0.supervisor.server.outputs.age() == check.age;
        let schema = check.schema.as_ref().filter(|_| is_valid);
        if let Ok(result) = &mut read
            && !self.0.supervisor.settings().strict
        {
            output_schemas::settle_empty(schema, self.revision(), result, check.deadline());
        }
        let (Ok(result), Some(schema)) = (&read, schema) else {
            return read;
        };
        if let Err(error) = output_schemas::check(schema, result, check.deadline()) {
            let error = error.with_result(text);
            let (name, server) = (Excerpt(name), self.server_name());
            return Err(error.context(format_args!(
                "the structured content of tool '{name}' of '{server}' does not fit its output schema"
            )));
        }
        read
    }

    /// Validates a tool's result that is returned as raw JSON. The result is parsed only if the
    /// tool has an output schema, or in strict mode.
    pub(super) fn check_tool_result(
        &self,
        name: &str,
        check: ResultCheck,
        text: &str,
    ) -> Result<()> {
        if check.schema.is_some() || self.0.supervisor.settings().strict {
            self.read_tool_result(name, check, text)?;
        }
        Ok(())
    }

    /// Returns an error if the server did not declare the capability `tools`.
    pub(super) fn need_tools(&self) -> Result<()> {
        self.need(
            self.capabilities().tools.is_some(),
            "tools",
            method::TOOLS_CALL,
        )
    }

    /// Lists all resources, over all pages.
    ///
    /// Each page blocks at most as long as a call with default options. Fresh pages are taken from
    /// the cache: see [`ResponseCache`](super::ResponseCache) and [`CallOptions::bypass_cache`]. An
    /// entry that violates the specification is left out and logged: see
    /// [`Misfit`].
    ///
    /// # Errors
    ///
    /// As [`call_tool`](Self::call_tool); [`ErrorKind::Unsupported`] without the capability
    /// `resources`; [`ErrorKind::Protocol`] when a cursor repeats; [`ErrorKind::Limit`] above
    /// [`max_list_pages`](super::ClientBuilder::max_list_pages) or
    /// [`max_list_items`](super::ClientBuilder::max_list_items).
    pub fn list_resources(&self) -> Result<Vec<Resource>> {
        self.list_resources_with(CallOptions::new())
    }

    /// Lists all resources. The options apply to the request of each page.
    ///
    /// # Errors
    ///
    /// As [`list_resources`](Self::list_resources).
    pub fn list_resources_with(&self, options: CallOptions<'_>) -> Result<Vec<Resource>> {
        Ok(self.resource_pages(options).read_all()?.0)
    }

    /// Returns an iterator over the pages of the resource list. A page is requested when the
    /// iterator reaches it.
    pub fn resource_pages<'a>(&self, options: CallOptions<'a>) -> Pages<'a, ListResourcesResult> {
        Pages::new(self.clone(), options, None)
    }

    /// Lists all resource templates, over all pages.
    ///
    /// Each page blocks at most as long as a call with default options. Fresh pages are taken from
    /// the cache: see [`ResponseCache`](super::ResponseCache) and [`CallOptions::bypass_cache`]. An
    /// entry that violates the specification is left out and logged: see
    /// [`Misfit`].
    ///
    /// # Errors
    ///
    /// As [`call_tool`](Self::call_tool); [`ErrorKind::Unsupported`] without the capability
    /// `resources`; [`ErrorKind::Protocol`] when a cursor repeats; [`ErrorKind::Limit`] above
    /// [`max_list_pages`](super::ClientBuilder::max_list_pages) or
    /// [`max_list_items`](super::ClientBuilder::max_list_items).
    pub fn list_resource_templates(&self) -> Result<Vec<ResourceTemplate>> {
        self.list_resource_templates_with(CallOptions::new())
    }

    /// Lists all resource templates. The options apply to the request of each page.
    ///
    /// # Errors
    ///
    /// As [`list_resource_templates`](Self::list_resource_templates).
    pub fn list_resource_templates_with(
        &self,
        options: CallOptions<'_>,
    ) -> Result<Vec<ResourceTemplate>> {
        Ok(self.resource_template_pages(options).read_all()?.0)
    }

    /// Returns an iterator over the pages of the list of resource templates. A page is requested
    /// when the iterator reaches it.
    pub fn resource_template_pages<'a>(
        &self,
        options: CallOptions<'a>,
    ) -> Pages<'a, ListResourceTemplatesResult> {
        Pages::new(self.clone(), options, None)
    }

    /// Reads a resource.
    ///
    /// Blocks as [`call_tool`](Self::call_tool) does. A fresh response is taken from the cache: see
    /// [`ResponseCache`](super::ResponseCache) and [`CallOptions::bypass_cache`].
    ///
    /// Spec: Server Features, Resources, "Reading Resources" (every revision).
    ///
    /// # Errors
    ///
    /// As [`call_tool`](Self::call_tool). [`Error::is_not_found`] shows that the resource does not
    /// exist, for every revision.
    pub fn read_resource(&self, uri: &str) -> Result<ReadResourceResult> {
        self.read_resource_with(uri, CallOptions::new())
    }

    /// Reads a resource. The options apply to the request.
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

    /// Reads a resource, and returns the result as unparsed JSON.
    ///
    /// # Errors
    ///
    /// As [`read_resource`](Self::read_resource).
    pub fn read_resource_raw(&self, uri: &str, options: CallOptions<'_>) -> Result<RawResult> {
        self.prepare_resource(uri, &options, Ok)?
            .make(self, options)
    }

    pub(super) fn fetch_resource(&self, uri: &str, options: CallOptions<'_>) -> Result<Fetched> {
        self.prepare_resource_with(uri, &options, |_, answer| Ok(answer))?
            .make(self, options)
    }

    /// Lists all prompts, over all pages.
    ///
    /// Each page blocks at most as long as a call with default options. Fresh pages are taken from
    /// the cache: see [`ResponseCache`](super::ResponseCache) and [`CallOptions::bypass_cache`]. An
    /// entry that violates the specification is left out and logged: see
    /// [`Misfit`].
    ///
    /// # Errors
    ///
    /// As [`call_tool`](Self::call_tool); [`ErrorKind::Unsupported`] without the capability
    /// `prompts`; [`ErrorKind::Protocol`] when a cursor repeats; [`ErrorKind::Limit`] above
    /// [`max_list_pages`](super::ClientBuilder::max_list_pages) or
    /// [`max_list_items`](super::ClientBuilder::max_list_items).
    pub fn list_prompts(&self) -> Result<Vec<Prompt>> {
        self.list_prompts_with(CallOptions::new())
    }

    /// Lists all prompts. The options apply to the request of each page.
    ///
    /// # Errors
    ///
    /// As [`list_prompts`](Self::list_prompts).
    pub fn list_prompts_with(&self, options: CallOptions<'_>) -> Result<Vec<Prompt>> {
        Ok(self.prompt_pages(options).read_all()?.0)
    }

    /// Returns an iterator over the pages of the prompt list. A page is requested when the iterator
    /// reaches it.
    pub fn prompt_pages<'a>(&self, options: CallOptions<'a>) -> Pages<'a, ListPromptsResult> {
        Pages::new(self.clone(), options, None)
    }

    /// Gets a prompt with these argument values.
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

    /// Gets a prompt. The options apply to the request.
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

    /// Gets a prompt, and returns the result as unparsed JSON.
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
        let check = |client: &Self, result: RawResult| {
            client.check_strictly::<GetPromptResult>(method::PROMPTS_GET, &result)?;
            Ok(result)
        };
        self.prepare_prompt(name, arguments, check)?
            .make(self, options)
    }

    /// Requests completions for an argument of a prompt or of a resource template.
    ///
    /// Blocks as [`call_tool`](Self::call_tool) does. Every call sends a request, and no result is
    /// cached. While a user types, wait for a pause.
    ///
    /// Spec: Server Features, Utilities, "Completion" (every revision; the capability since
    /// 2025-03-26).
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

    /// Requests completions. The options apply to the request.
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

    /// Requests completions, and returns the result as unparsed JSON.
    ///
    /// # Errors
    ///
    /// As [`complete`](Self::complete).
    pub fn complete_raw(
        &self,
        params: CompleteRequestParams,
        options: CallOptions<'_>,
    ) -> Result<RawResult> {
        let check = |client: &Self, result: RawResult| {
            client.check_strictly::<CompleteResult>(method::COMPLETION_COMPLETE, &result)?;
            Ok(result)
        };
        self.prepare_complete(params, check)?.make(self, options)
    }

    /// Sets the minimum level of log messages that the server sends.
    ///
    /// The function works only in the legacy era. Since 2026-07-28 each call sets its own level
    /// with [`CallOptions::log_level`].
    ///
    /// Spec: Server Features, Utilities, "Logging" (up to 2025-11-25).
    ///
    /// # Errors
    ///
    /// As [`call_tool`](Self::call_tool); [`ErrorKind::Unsupported`] in the modern era.
    pub fn set_log_level(&self, level: LoggingLevel) -> Result<()> {
        self.set_log_level_with(level, CallOptions::new())
    }

    /// Sets the minimum level of log messages that the server sends. The options apply to the
    /// request.
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
        self.prepare(method::LOGGING_SET_LEVEL, &params, |client, result| {
            client.decode::<EmptyResult>(method::LOGGING_SET_LEVEL, &result)
        })?
        .make(self, options)?;
        *self.0.supervisor.server.log_level.lock() = Some(level);
        Ok(())
    }

    /// Checks that the server responds. Sends `ping` in the legacy era and `server/discover` in the
    /// modern era.
    ///
    /// # Errors
    ///
    /// As [`call_tool`](Self::call_tool), except that no capability is required.
    pub fn ping(&self, options: CallOptions<'_>) -> Result<()> {
        self.prepare_ping(|| Ok(()))?.make(self, options)
    }

    /// Sends a request of any method, with the `_meta` members of the library. Returns the result
    /// as raw JSON.
    ///
    /// `params` must serialize to an object or to `null`. So must the member `_meta` of the params,
    /// if they have one. Its members are sent with those of the library.
    ///
    /// # Errors
    ///
    /// As [`call_tool`](Self::call_tool), except that capabilities are not checked.
    /// [`ErrorKind::Invalid`] when the params, or their `_meta`, are of another type.
    pub fn request(
        &self,
        method: &str,
        params: &impl Serialize,
        options: CallOptions<'_>,
    ) -> Result<RawResult> {
        self.prepare_request(method, params, |_, result| Ok(result))?
            .make(self, options)
    }

    pub(crate) fn decode<R: DeserializeOwned>(&self, method: &str, text: &str) -> Result<R> {
        let supervisor = &self.0.supervisor;
        let read = if supervisor.settings().strict {
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
        self.tell_misfits(method, &misfits);
        Ok(read)
    }

    /// Logs the parts of a result that were dropped as invalid, each kind once.
    pub(super) fn tell_misfits(&self, method: &str, misfits: &[Misfit]) {
        if !misfits.is_empty() {
            let supervisor = &self.0.supervisor;
            let peer = &supervisor.connection().peer;
            let server = self.server_name();
            supervisor
                .server
                .reported_misfits
                .tell(peer, &server, method, misfits);
        }
    }

    /// Parses a raw result in strict mode, so that deviations from the specification are refused.
    /// Otherwise does nothing.
    pub(crate) fn check_strictly<R: DeserializeOwned>(
        &self,
        method: &str,
        text: &str,
    ) -> Result<()> {
        if self.0.supervisor.settings().strict {
            self.decode::<R>(method, text)?;
        }
        Ok(())
    }

    /// Returns an error if the server did not declare a protocol extension. No message is sent. For
    /// an optional extension check
    /// [`ServerCapabilities::extension`](crate::schema::ServerCapabilities::extension) instead.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`], with the id of the extension.
    pub fn require_extension(&self, id: &str) -> Result<()> {
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

    /// Returns an error if `has` is false: the server did not declare the capability that a method
    /// needs. Returns no error if the host lets the client assume capabilities.
    pub(super) fn need(&self, has: bool, capability: &str, method: &str) -> Result<()> {
        if has || self.0.supervisor.settings().assumes_capabilities {
            return Ok(());
        }
        let text = format!(
            "'{}' did not advertise the capability '{capability}', which {method} needs (ClientBuilder::assume_capabilities)",
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
