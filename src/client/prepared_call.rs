//! Calls that are ready to be sent: with or without a thread that waits for their results.

use std::borrow::Cow;

use serde::Serialize;

use super::Client;
use super::cache::{Fetched, Looked, Topic};
use super::call_options::CallOptions;
use super::mrtr::FirstRequest;
use super::output_schemas::ResultCheck;
use super::paging::{FirstPage, ListPage, Pages};
use super::request_meta::params_text;
use super::supervisor::ping_method;
use crate::error::{Error, ErrorKind, Excerpt, Result};
use crate::jsonrpc::RawResult;
use crate::schema::{
    CompleteRequestParams, EmptyResult, FitTo, GetPromptRequestParams, GetSkillRequestParams,
    GetSkillResult, Misfit, ProtocolVersion, ReadResourceRequestParams, ReadResourceResult, Skill,
    method,
};
use crate::skills::{SkillUri, normalized_uri};

/// A function that completes a call: sends the first request if it was not sent yet, waits for the
/// outcome of the call, and reads the result.
pub(super) type Finish<T> =
    Box<dyn FnOnce(&Client, String, CallOptions<'_>, FirstRequest) -> Result<T> + Send>;

/// A call that is ready to be sent.
pub(crate) struct PreparedCall<T> {
    pub(super) method: Cow<'static, str>,
    pub(super) params: String,
    pub(super) first: FirstStep,
    /// Whether `finish` may block after the first response, or run code of the host such as a
    /// validator.
    pub(super) may_block: bool,
    pub(super) finish: Finish<T>,
}

/// The first step of a call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum FirstStep {
    /// A request with the method and the params of the call.
    Request,
    /// A request with other params, which starts a task. The task is polled.
    Task,
    /// No request: the response is cached.
    Cached,
}

impl FirstStep {
    /// Returns the first step of a call whose response was looked up.
    fn of(looked: &Looked) -> Self {
        match looked {
            Looked::Found(_) => Self::Cached,
            Looked::Missing(_) => Self::Request,
        }
    }
}

impl<T> PreparedCall<T> {
    pub(super) fn new(
        method: impl Into<Cow<'static, str>>,
        params: String,
        finish: impl FnOnce(&Client, String, CallOptions<'_>, FirstRequest) -> Result<T>
        + Send
        + 'static,
    ) -> Self {
        Self {
            method: method.into(),
            params,
            first: FirstStep::Request,
            may_block: false,
            finish: Box::new(finish),
        }
    }

    /// Makes the call, and waits for its result. `options` are those with which the call was
    /// prepared.
    pub(crate) fn make(self, client: &Client, options: CallOptions<'_>) -> Result<T> {
        (self.finish)(client, self.params, options, FirstRequest::Unsent)
    }
}

impl Client {
    /// Whether preparing a call of a tool may block, because the output schema of the tool has to
    /// be compiled.
    #[cfg(feature = "cffi")]
    pub(crate) fn needs_compiling(&self, tool: &str) -> bool {
        self.0.supervisor.server.outputs.needs_compiling(tool)
    }

    /// Prepares a tool call with params that [`tool_params`](super::calls::tool_params) has
    /// serialized. `read` converts the result, after the result was validated.
    pub(crate) fn prepare_tool<T>(
        &self,
        name: &str,
        params: Result<String>,
        options: &mut CallOptions<'_>,
        read: impl FnOnce(RawResult) -> Result<T> + Send + 'static,
    ) -> Result<PreparedCall<T>> {
        self.need_tools()?;
        self.prepare_tool_with(name, params?, options, |client, name, check, result| {
            client.check_tool_result(name, check, &result)?;
            read(result)
        })
    }

    /// Prepares a tool call. `read` validates and converts the result.
    pub(super) fn prepare_tool_with<T>(
        &self,
        name: &str,
        params: String,
        options: &mut CallOptions<'_>,
        read: impl FnOnce(&Self, &str, ResultCheck, RawResult) -> Result<T> + Send + 'static,
    ) -> Result<PreparedCall<T>> {
        let check = self.prepare_check(name, options)?;
        let may_block = check.schema.is_some();
        let first = match self.calls_as_task(name) {
            true => FirstStep::Task,
            false => FirstStep::Request,
        };
        let tool = name.to_owned();
        let finish = move |client: &Self, params, options: CallOptions<'_>, answer| {
            let result = client.call_tool_to_its_end(&tool, params, options, answer)?;
            read(client, &tool, check, result)
        };
        Ok(PreparedCall {
            first,
            may_block,
            ..PreparedCall::new(method::TOOLS_CALL, params, finish)
        })
    }

    /// Prepares to read a resource. `read` converts the result.
    pub(crate) fn prepare_resource<T>(
        &self,
        uri: &str,
        options: &CallOptions<'_>,
        read: impl FnOnce(RawResult) -> Result<T> + Send + 'static,
    ) -> Result<PreparedCall<T>> {
        self.prepare_resource_with(uri, options, |client, fetched| {
            let text = fetched.as_str();
            client.check_strictly::<ReadResourceResult>(method::RESOURCES_READ, text)?;
            read(fetched.into_raw())
        })
    }

    /// Prepares to read a resource. `read` converts the response, and may cache it.
    pub(super) fn prepare_resource_with<T>(
        &self,
        uri: &str,
        options: &CallOptions<'_>,
        read: impl FnOnce(&Self, Fetched) -> Result<T> + Send + 'static,
    ) -> Result<PreparedCall<T>> {
        let has = self.capabilities().resources.is_some();
        self.need(has, "resources", method::RESOURCES_READ)?;
        let params = ReadResourceRequestParams::new(uri);
        let request = (method::RESOURCES_READ, Topic::resource(uri));
        self.prepare_fetch(request, &params, options, read)
    }

    /// Prepares to get the entry of a skill. `read` converts the entry.
    // E-SKILL-C-27, E-SKILL-C-28
    pub(crate) fn prepare_skill<T>(
        &self,
        uri: &str,
        options: &CallOptions<'_>,
        read: impl FnOnce(Skill) -> Result<T> + Send + 'static,
    ) -> Result<PreparedCall<T>> {
        self.need_skills(method::SKILLS_GET)?;
        let asked = SkillUri::parse(uri)?;
        let params = GetSkillRequestParams::new(uri);
        let request = (method::SKILLS_GET, Topic::of_list(method::SKILLS_GET));
        let uri = uri.to_owned();
        self.prepare_fetch(request, &params, options, move |client, fetched| {
            let result: GetSkillResult = client.decode_and_keep(method::SKILLS_GET, fetched)?;
            let skill = result.skill;
            if normalized_uri(&skill.uri).is_ok_and(|uri| uri == asked.normalized()) {
                return read(skill);
            }
            let text = format!(
                "'{}' answered {} for '{}' with the skill '{}'",
                client.server_name(),
                method::SKILLS_GET,
                Excerpt(&uri),
                Excerpt(&skill.uri)
            );
            Err(Error::new(ErrorKind::Protocol, text).sent(true))
        })
    }

    /// Prepares a request whose response may be cached. `read` converts the response, and may cache
    /// it.
    fn prepare_fetch<T>(
        &self,
        (method, topic): (&'static str, Topic),
        params: &impl Serialize,
        options: &CallOptions<'_>,
        read: impl FnOnce(&Self, Fetched) -> Result<T> + Send + 'static,
    ) -> Result<PreparedCall<T>> {
        let params = params_text(method, params)?;
        let looked = self.look_up(method, topic, &params, options);
        let first = FirstStep::of(&looked);
        let finish = move |client: &Self, params, options: CallOptions<'_>, answer| {
            let fetched = client.fetch_looked_up(method, params, options, looked, answer)?;
            read(client, fetched)
        };
        Ok(PreparedCall {
            first,
            ..PreparedCall::new(method, params, finish)
        })
    }

    /// Prepares to read a whole list: requests its first page. `directory` is the URI of the
    /// directory whose children are listed. `read` converts the items, and the entries that were
    /// left out because they are invalid.
    pub(crate) fn prepare_list<P: ListPage + 'static, T>(
        &self,
        directory: Option<String>,
        options: &CallOptions<'_>,
        read: impl FnOnce(Vec<P::Item>, Vec<Misfit>) -> Result<T> + Send + 'static,
    ) -> Result<PreparedCall<T>> {
        let (params, page) = FirstPage::look_up::<P>(self, directory.as_deref(), options)?;
        let first = FirstStep::of(&page.looked);
        let finish = move |client: &Self, _params, options: CallOptions<'_>, answer| {
            let pages = Pages::<P>::new(client.clone(), options, directory);
            let (items, misfits) = pages.begun(page, answer).read_all()?;
            read(items, misfits)
        };
        Ok(PreparedCall {
            first,
            may_block: true,
            ..PreparedCall::new(P::METHOD, params, finish)
        })
    }

    /// Prepares to get a prompt.
    pub(crate) fn prepare_prompt<T>(
        &self,
        name: &str,
        arguments: &[(&str, &str)],
        read: impl FnOnce(&Self, RawResult) -> Result<T> + Send + 'static,
    ) -> Result<PreparedCall<T>> {
        let has = self.capabilities().prompts.is_some();
        self.need(has, "prompts", method::PROMPTS_GET)?;
        let params = arguments
            .iter()
            .fold(GetPromptRequestParams::new(name), |params, (key, value)| {
                params.argument(*key, *value)
            });
        self.prepare(method::PROMPTS_GET, &params, read)
    }

    /// Prepares to request completions.
    pub(crate) fn prepare_complete<T>(
        &self,
        mut params: CompleteRequestParams,
        read: impl FnOnce(&Self, RawResult) -> Result<T> + Send + 'static,
    ) -> Result<PreparedCall<T>> {
        // Revision 2024-11-05 has completion, but no capability for it.
        let may_try = self.revision() == ProtocolVersion::V2024_11_05;
        let has = may_try || self.capabilities().completions.is_some();
        self.need(has, "completions", method::COMPLETION_COMPLETE)?;
        params.fit_to(self.revision());
        self.prepare(method::COMPLETION_COMPLETE, &params, read)
    }

    /// Prepares to ping the server.
    pub(crate) fn prepare_ping<T>(
        &self,
        read: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<PreparedCall<T>> {
        let method = ping_method(self.revision());
        self.prepare(method, &(), move |client, result| {
            client.decode::<EmptyResult>(method, &result)?;
            read()
        })
    }

    /// Prepares a call of the library. The client's handlers answer input requests of the server.
    pub(super) fn prepare<T>(
        &self,
        method: &'static str,
        params: &impl Serialize,
        read: impl FnOnce(&Self, RawResult) -> Result<T> + Send + 'static,
    ) -> Result<PreparedCall<T>> {
        let finish = move |client: &Self, params, mut options: CallOptions<'_>, first| {
            let answer = client.call_round_trips(method, params, &mut options, first)?;
            read(client, answer.result)
        };
        let params = params_text(method, params)?;
        Ok(PreparedCall::new(method, params, finish))
    }

    /// Prepares a request of any method. Input requests of the server are returned as the result.
    pub(crate) fn prepare_request<T>(
        &self,
        method: &str,
        params: &impl Serialize,
        read: impl FnOnce(&Self, RawResult) -> Result<T> + Send + 'static,
    ) -> Result<PreparedCall<T>> {
        let name = method.to_owned();
        let finish = move |client: &Self, params: String, mut options: CallOptions<'_>, first| {
            let result = client.request_text(&name, &params, &mut options, first, true)?;
            read(client, result)
        };
        let params = params_text(method, params)?;
        Ok(PreparedCall::new(method.to_owned(), params, finish))
    }
}
