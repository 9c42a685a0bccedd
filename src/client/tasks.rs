//! Tasks: calls whose results are fetched later.
//!
//! In 2025-11-25 the client decides for each call whether to request a task. Since 2026-07-28 the
//! server decides whether a call becomes a task, for clients that declare the extension
//! `io.modelcontextprotocol/tasks`. A [`TaskHandle`] hides the difference. The handle polls the
//! task, lets the client's handlers answer input requests, and fetches the result.
//!
//! Spec: Base Protocol, Utilities, "Tasks" (2025-11-25); Extensions, "Tasks" (2026-07-28).

use std::collections::HashSet;
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::Client;
use super::call_options::CallOptions;
use super::calls::tool_params;
use super::input::Questions;
use super::mrtr::{Answer, FirstRequest};
use super::request_meta::{params_text, with_members};
use crate::error::{Error, ErrorKind, Excerpt, Result, RpcError, Span};
use crate::jsonrpc::RawResult;
use crate::schema::json::millis;
use crate::schema::{
    CallToolResult, CreateTaskResult, EmptyResult, JsonObject, Task, TaskMetadata,
    TaskRequestParams, TaskStatus, TaskSupport, UpdateTaskRequestParams, method,
};
use crate::transport::clock::about_now;

/// The time between two polls of a task: the default, the minimum, and the maximum. The server can
/// request intervals between minimum and maximum.
const POLL: (Duration, Duration, Duration) = (
    Duration::from_millis(500),
    Duration::from_millis(10),
    Duration::from_secs(60),
);

/// The answer to a tool call, which may continue as a task.
#[derive(Debug)]
#[expect(
    clippy::exhaustive_enums,
    reason = "there is no third way to be answered"
)]
pub enum ToolAnswer {
    /// The server has answered the call at once.
    Result(Box<CallToolResult>),
    /// The call continues as a task.
    Task(TaskHandle),
}

/// How the client calls a tool: plainly or as a task.
#[derive(Clone, Copy, PartialEq)]
enum Call {
    Plain,
    /// The client requests a task, as defined in revision 2025-11-25.
    AsTask,
}

/// The answer to a tool call: an unparsed result or a task.
enum Called {
    Result(RawResult),
    Task(TaskHandle),
}

/// The answer to a tool call, which may continue as a task, with an unparsed result.
#[cfg(feature = "cffi")]
pub(crate) enum RawToolAnswer {
    Result(RawResult),
    Task(TaskHandle),
}

/// A handle to a task of a server. A task is a call that continues after its first answer.
///
/// Dropping the handle does not affect the task. With the [id](Self::id) of the task another
/// client, even in another process, can continue with [`Client::task`], as long as the server
/// stores the task. The server may remove a cancelled task at once.
// L-TASK-B-20
#[derive(Clone, Debug)]
pub struct TaskHandle {
    client: Client,
    id: String,
    /// The name of the tool that was called, if known.
    tool: Option<String>,
    /// The time at which this client created or looked up the task.
    since: Instant,
    poll: Option<Duration>,
}

/// The state of a task, as the server last reported it.
struct Seen {
    status: TaskStatus,
    message: Option<String>,
    poll: Option<Duration>,
    ttl: Option<Duration>,
    /// The details that only modern servers include in the state of a task.
    detailed: Option<Box<Detailed>>,
}

/// The members of a [`DetailedTask`](crate::schema::DetailedTask) that the client uses. The input
/// requests are unparsed.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Detailed {
    task_id: String,
    status: TaskStatus,
    status_message: Option<String>,
    #[serde(default, deserialize_with = "crate::schema::json::count")]
    ttl_ms: Option<u64>,
    #[serde(default, deserialize_with = "crate::schema::json::count")]
    poll_interval_ms: Option<u64>,
    #[serde(default, deserialize_with = "crate::schema::tree::optional")]
    input_requests: Option<Questions>,
    result: Option<Box<RawValue>>,
    error: Option<RpcError>,
}

impl From<Task> for Seen {
    fn from(task: Task) -> Self {
        Self {
            poll: task.poll_interval.map(Duration::from_millis),
            ttl: task.ttl.map(Duration::from_millis),
            status: task.status,
            message: task.status_message,
            detailed: None,
        }
    }
}

impl From<Detailed> for Seen {
    fn from(task: Detailed) -> Self {
        Self {
            poll: task.poll_interval_ms.map(Duration::from_millis),
            ttl: task.ttl_ms.map(Duration::from_millis),
            status: task.status.clone(),
            message: task.status_message.clone(),
            detailed: Some(Box::new(task)),
        }
    }
}

impl Client {
    /// Calls a tool as a task, so that the result can be fetched later. `ttl` is how long the
    /// server should store the task. Since 2026-07-28 the server chooses this time.
    ///
    /// Since 2026-07-28 the server also decides whether the call becomes a task. The client must
    /// have declared [`ClientBuilder::tasks`](super::ClientBuilder::tasks). In 2025-11-25 the
    /// client lists the tools first, because only some tools support tasks.
    ///
    /// # Errors
    ///
    /// As [`call_tool`](Self::call_tool); [`ErrorKind::Unsupported`] when the server or the tool
    /// does not support tasks. In this case the tool is not called.
    pub fn call_tool_as_task(
        &self,
        name: &str,
        arguments: &impl Serialize,
        ttl: Option<Duration>,
    ) -> Result<ToolAnswer> {
        self.call_tool_as_task_with(name, arguments, ttl, CallOptions::new())
    }

    /// Calls a tool as a task, with options. [`CallOptions::timeout`] applies to each request, and
    /// [`CallOptions::max_timeout`] to all of them together. A timeout or a cancel token ends the
    /// call, but not a task that the server has created.
    ///
    /// # Errors
    ///
    /// As [`call_tool_as_task`](Self::call_tool_as_task).
    pub fn call_tool_as_task_with(
        &self,
        name: &str,
        arguments: &impl Serialize,
        ttl: Option<Duration>,
        options: CallOptions<'_>,
    ) -> Result<ToolAnswer> {
        Ok(
            match self.call_as_task(name, tool_params(name, arguments), ttl, options)? {
                Called::Result(result) => {
                    let result = self.decode(method::TOOLS_CALL, &result)?;
                    ToolAnswer::Result(Box::new(result))
                }
                Called::Task(task) => ToolAnswer::Task(task),
            },
        )
    }

    /// Calls a tool as a task with params that [`tool_params`] has serialized. Returns the result
    /// as raw JSON.
    #[cfg(feature = "cffi")]
    pub(crate) fn call_tool_as_task_written(
        &self,
        name: &str,
        params: Result<String>,
        ttl: Option<Duration>,
        options: CallOptions<'_>,
    ) -> Result<RawToolAnswer> {
        Ok(match self.call_as_task(name, params, ttl, options)? {
            Called::Result(result) => RawToolAnswer::Result(result),
            Called::Task(task) => RawToolAnswer::Task(task),
        })
    }

    fn call_as_task(
        &self,
        name: &str,
        params: Result<String>,
        ttl: Option<Duration>,
        mut options: CallOptions<'_>,
    ) -> Result<Called> {
        self.need_tools()?;
        options.apply_defaults(self.0.supervisor.settings().timeouts);
        let mut params = params?;
        let mut kind = Call::Plain;
        let started = about_now();
        if self.revision().is_legacy() {
            if !self.task_support(name, options.for_one())? {
                let text = format!(
                    "tool '{}' of '{}' can't be called as a task",
                    Excerpt(name),
                    self.server_name()
                );
                return Err(Error::new(ErrorKind::Unsupported, text));
            }
            params = with_task(&params, task_metadata(ttl))?;
            kind = Call::AsTask;
        } else {
            self.require_extension(crate::schema::TASKS_EXTENSION)?;
        }
        let options = &mut options.after(Duration::ZERO, started.elapsed());
        let first = FirstRequest::Unsent;
        let answer = self.call_round_trips(method::TOOLS_CALL, params, options, first)?;
        self.called(name, kind, answer)
    }

    /// Returns a handle to the task with this id. No message is sent, and the task is not checked.
    pub fn task(&self, id: impl Into<String>) -> TaskHandle {
        TaskHandle {
            client: self.clone(),
            id: id.into(),
            tool: None,
            since: Instant::now(),
            poll: None,
        }
    }

    /// Returns a handle to the task with this id, of a call of this tool. With the tool's name, the
    /// result is checked against the output schema of the tool.
    #[cfg(feature = "cffi")]
    pub(crate) fn task_of(&self, id: impl Into<String>, tool: Option<String>) -> TaskHandle {
        TaskHandle {
            tool,
            ..self.task(id)
        }
    }

    /// Whether a tool of a 2025-11-25 server may be called as a task.
    fn task_support(&self, name: &str, options: CallOptions<'_>) -> Result<bool> {
        Ok(self.runs_tasks()
            && self
                .find_tool(name, options)?
                .is_some_and(|support| support != TaskSupport::Forbidden))
    }

    /// Whether the server supports tool calls as tasks of revision 2025-11-25.
    fn runs_tasks(&self) -> bool {
        let tasks = self.capabilities().tasks.as_ref();
        self.revision().has_core_tasks()
            && tasks.is_some_and(|tasks| tasks.supports(method::TOOLS_CALL))
    }

    fn find_tool(&self, name: &str, options: CallOptions<'_>) -> Result<Option<TaskSupport>> {
        let tool = self
            .list_tools_with(options)?
            .into_iter()
            .find(|tool| tool.name == name);
        Ok(tool.and_then(|tool| tool.execution?.task_support))
    }

    /// Returns what the answer to a tool call is. In 2025-11-25 it is a task if the client has
    /// requested a task. Since 2026-07-28 the result type shows whether it is a task.
    fn called(&self, name: &str, kind: Call, answer: Answer) -> Result<Called> {
        let seen = if kind == Call::AsTask {
            let created: CreateTaskResult = self.decode(method::TOOLS_CALL, &answer.result)?;
            (created.task.task_id.clone(), Seen::from(created.task))
        } else if answer.is_task {
            let created: Detailed = self.decode(method::TOOLS_CALL, &answer.result)?;
            (created.task_id.clone(), Seen::from(created))
        } else {
            return Ok(Called::Result(answer.result));
        };
        let (id, seen) = seen;
        let mut task = self.task(id);
        task.tool = Some(name.to_owned());
        task.poll = seen.poll;
        Ok(Called::Task(task))
    }

    /// Whether a plain call of a tool has to be made as a task, as revision 2025-11-25 defines it.
    pub(super) fn calls_as_task(&self, name: &str) -> bool {
        self.runs_tasks() && self.0.supervisor.server.outputs.needs_task(name)
    }

    /// Calls a tool and waits for its result. If the tool requires a task, the call is made as a
    /// task.
    pub(super) fn call_tool_to_its_end(
        &self,
        name: &str,
        mut params: String,
        mut options: CallOptions<'_>,
        first: FirstRequest,
    ) -> Result<RawResult> {
        let mut kind = Call::Plain;
        if self.calls_as_task(name) {
            params = with_task(&params, TaskMetadata::default())?;
            kind = Call::AsTask;
        }
        let started = about_now();
        let answer = self.call_round_trips(method::TOOLS_CALL, params, &mut options, first)?;
        match self.called(name, kind, answer)? {
            Called::Result(result) => Ok(result),
            Called::Task(task) => task.wait_since(started, options).inspect_err(|error| {
                // No other code has the id of this task.
                if matches!(error.kind(), ErrorKind::Timeout | ErrorKind::Cancelled) {
                    task.cancel_without_waiting();
                }
            }),
        }
    }
}

/// Adds the request for a task to the params of a call.
fn with_task(params: &str, task: TaskMetadata) -> Result<String> {
    #[derive(Serialize)]
    struct Added {
        task: TaskMetadata,
    }
    with_members(params, &Added { task }).map_err(|error| {
        let text = format!("what is asked of the task is not JSON: {error}");
        Error::new(ErrorKind::Invalid, text)
    })
}

fn task_metadata(ttl: Option<Duration>) -> TaskMetadata {
    ttl.map_or_else(TaskMetadata::default, |ttl| {
        TaskMetadata::default().ttl(millis(ttl))
    })
}

impl TaskHandle {
    /// Returns the id of the task. A host can store the id and pass it to [`Client::task`].
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Requests the status of the task from the server.
    ///
    /// # Errors
    ///
    /// As [`Client::call_tool`]; [`ErrorKind::Peer`] when the server does not know the task or has
    /// removed the task.
    pub fn status(&self) -> Result<TaskStatus> {
        self.status_with(CallOptions::new())
    }

    /// Requests the status of the task from the server, with options.
    ///
    /// # Errors
    ///
    /// As [`status`](Self::status).
    pub fn status_with(&self, mut options: CallOptions<'_>) -> Result<TaskStatus> {
        Ok(self.look(&mut options)?.status)
    }

    /// Cancels the task: the server stops the task as soon as it can. Since 2026-07-28 the server
    /// acknowledges the cancellation even if the task has already ended.
    ///
    /// # Errors
    ///
    /// As [`status`](Self::status); in 2025-11-25 also [`ErrorKind::Peer`] when the task has ended.
    pub fn cancel(&self) -> Result<()> {
        self.cancel_with(CallOptions::new())
    }

    /// Cancels the task, with options. The options apply to the request that cancels the task.
    ///
    /// # Errors
    ///
    /// As [`cancel`](Self::cancel).
    pub fn cancel_with(&self, mut options: CallOptions<'_>) -> Result<()> {
        self.request::<EmptyResult>(method::TASKS_CANCEL, &mut options)
            .map(drop)
    }

    /// Cancels the task without waiting for the server's answer, because the time of the call is
    /// over.
    fn cancel_without_waiting(&self) {
        let connection = self.client.0.supervisor.connection();
        let sent = params_text(method::TASKS_CANCEL, &TaskRequestParams::new(&self.id))
            .and_then(|text| Ok((connection.request_kind(method::TASKS_CANCEL, &text)?, text)))
            .and_then(|(request_kind, text)| {
                connection.peer.start_quick_request(
                    method::TASKS_CANCEL,
                    request_kind,
                    |id, out| {
                        connection
                            .envelope
                            .write(id, &text, &JsonObject::new(), out)
                    },
                    drop,
                )
            });
        // Sending fails only if the server has gone.
        if let Ok(call) = sent {
            call.forget();
        }
    }

    /// Waits for the result of the task with the default options. See
    /// [`wait_with`](Self::wait_with).
    ///
    /// # Errors
    ///
    /// As [`wait_with`](Self::wait_with).
    pub fn wait(&self) -> Result<CallToolResult> {
        self.wait_with(CallOptions::new())
    }

    /// Waits for the result of the task. Polls the task at the server's interval. The client's
    /// handlers answer input requests. Since 2026-07-28 the handlers run on this thread.
    ///
    /// [`CallOptions::timeout`] applies to each request, and [`CallOptions::max_timeout`] to the
    /// whole wait. If a timeout or a token ends the wait, the task continues. The host can wait
    /// again, or [cancel](Self::cancel) the task.
    ///
    /// # Errors
    ///
    /// As [`Client::call_tool`]; [`ErrorKind::Peer`] when the task failed or the server does not
    /// know the task; [`ErrorKind::Cancelled`] when the task or the token was cancelled;
    /// [`ErrorKind::Timeout`] when the server's `ttl` or the time of the options is over.
    pub fn wait_with(&self, mut options: CallOptions<'_>) -> Result<CallToolResult> {
        let Some(tool) = &self.tool else {
            let result = self.wait_unchecked(options)?;
            return self.client.decode(method::TOOLS_CALL, &result);
        };
        let check = self.client.prepare_check(tool, &mut options)?;
        let result = self.wait_unchecked(options)?;
        self.client.read_tool_result(tool, check, &result)
    }

    /// Waits for the result of the task, and returns the result as raw JSON: see
    /// [`Client::call_tool_raw`].
    ///
    /// # Errors
    ///
    /// As [`wait_with`](Self::wait_with).
    pub fn wait_raw(&self, mut options: CallOptions<'_>) -> Result<RawResult> {
        let Some(tool) = &self.tool else {
            return self.wait_unchecked(options);
        };
        let check = self.client.prepare_check(tool, &mut options)?;
        let result = self.wait_unchecked(options)?;
        self.client.check_tool_result(tool, check, &result)?;
        Ok(result)
    }

    fn wait_unchecked(&self, options: CallOptions<'_>) -> Result<RawResult> {
        self.wait_since(Instant::now(), options)
    }

    /// Waits for the result of the task. The time limit of the options counts from `started`.
    fn wait_since(&self, started: Instant, mut options: CallOptions<'_>) -> Result<RawResult> {
        options.apply_defaults(self.client.0.supervisor.settings().timeouts);
        let in_all = options.request.in_all();
        let mut answered = HashSet::new();
        let mut poll = self.poll;
        // The state of a resumed task is unknown, so it is polled at once.
        let mut pauses = self.poll.is_some();
        loop {
            let cancel = options.request.cancel_token();
            let supervisor = &self.client.0.supervisor;
            if std::mem::replace(&mut pauses, true) {
                supervisor.pause(interval(poll, in_all, started), &cancel);
            }
            if cancel.is_triggered() {
                let text = format!("waiting for {} was cancelled", self.named());
                return Err(Error::new(ErrorKind::Cancelled, text).sent(true));
            }
            self.check_in_all(started, in_all)?;
            let seen = self.look(&mut options.after(Duration::ZERO, started.elapsed()))?;
            poll = seen.poll;
            match &seen.status {
                TaskStatus::Completed | TaskStatus::Failed => {
                    return self
                        .take_result(seen, &mut options.after(Duration::ZERO, started.elapsed()));
                }
                TaskStatus::Cancelled => {
                    let text = format!("{} was cancelled", self.named());
                    return Err(Error::new(ErrorKind::Cancelled, text).sent(true));
                }
                TaskStatus::InputRequired => {
                    let mut options = options.after(Duration::ZERO, started.elapsed());
                    if let Some(result) = self.give_input(&seen, &mut answered, &mut options)? {
                        return Ok(result);
                    }
                }
                _ => {}
            }
            self.check_time(&seen)?;
            self.check_in_all(started, in_all)?;
        }
    }

    /// Returns an error if the `ttl` that the server gave the task is over.
    fn check_time(&self, seen: &Seen) -> Result<()> {
        if let Some(ttl) = seen.ttl.filter(|ttl| self.since.elapsed() > *ttl) {
            let named = self.named();
            let text = format!(
                "{named} is not over though the server keeps it for {} only",
                Span(ttl)
            );
            return Err(Error::new(ErrorKind::Timeout, text).sent(true));
        }
        Ok(())
    }

    fn check_in_all(&self, started: Instant, in_all: Option<Duration>) -> Result<()> {
        match in_all.filter(|in_all| started.elapsed() >= *in_all) {
            Some(in_all) => {
                let (named, in_all) = (self.named(), Span(in_all));
                let text = format!("{named} is not over after {in_all} (max_timeout)");
                Err(Error::new(ErrorKind::Timeout, text).sent(true))
            }
            None => Ok(()),
        }
    }

    /// Answers the input requests of a task. In 2025-11-25 the input requests arrive during the
    /// request for the result. That request may also return the result.
    fn give_input(
        &self,
        seen: &Seen,
        answered: &mut HashSet<String>,
        options: &mut CallOptions<'_>,
    ) -> Result<Option<RawResult>> {
        let client = &self.client;
        let Some(task) = &seen.detailed else {
            return match self.request_raw(method::TASKS_RESULT, options) {
                Ok(result) => Ok(Some(result)),
                // The next poll reveals more than the timeout.
                Err(error) if error.kind() == ErrorKind::Timeout => Ok(None),
                Err(error) => Err(error),
            };
        };
        // The server may list answered requests until it has processed the answers.
        let asked = task.input_requests.iter().flatten();
        let asked: Vec<_> = asked.filter(|(key, _)| !answered.contains(*key)).collect();
        if asked.is_empty() {
            return Ok(None);
        }
        let connection = client.0.supervisor.connection();
        let answers = client.answer_inputs(&connection, &asked, options)?;
        answered.extend(asked.into_iter().map(|(key, _)| key.clone()));
        let params = UpdateTaskRequestParams::new(&self.id, answers);
        let text = params_text(method::TASKS_UPDATE, &params)?;
        let first = FirstRequest::Unsent;
        client.request_text(method::TASKS_UPDATE, &text, options, first, false)?;
        Ok(None)
    }

    fn take_result(&self, seen: Seen, options: &mut CallOptions<'_>) -> Result<RawResult> {
        let Some(task) = seen.detailed else {
            return self.request_raw(method::TASKS_RESULT, options);
        };
        match (task.result, task.error) {
            (Some(result), _) => Ok(RawResult::alone(Box::<str>::from(result))),
            (None, Some(error)) => {
                let peer = self.client.server_name();
                Err(Error::peer(peer, method::TOOLS_CALL, error).sent(true))
            }
            (None, None) => {
                let text = format!(
                    "{} is over ({}), but the server tells no result{}",
                    self.named(),
                    Excerpt(seen.status.as_str()),
                    seen.message
                        .map(|text| format!(": {}", Excerpt(&text)))
                        .unwrap_or_default()
                );
                Err(Error::new(ErrorKind::Protocol, text).sent(true))
            }
        }
    }

    fn look(&self, options: &mut CallOptions<'_>) -> Result<Seen> {
        if self.client.revision().is_modern() {
            self.request::<Detailed>(method::TASKS_GET, options)
                .map(Seen::from)
        } else {
            self.request::<Task>(method::TASKS_GET, options)
                .map(Seen::from)
        }
    }

    fn request<R: DeserializeOwned>(
        &self,
        method: &str,
        options: &mut CallOptions<'_>,
    ) -> Result<R> {
        let result = self.request_raw(method, options)?;
        self.client.decode(method, &result)
    }

    fn request_raw(&self, method: &str, options: &mut CallOptions<'_>) -> Result<RawResult> {
        let text = params_text(method, &TaskRequestParams::new(&self.id))?;
        self.client
            .request_text(method, &text, options, FirstRequest::Unsent, true)
    }

    fn named(&self) -> String {
        let of = self.client.server_name();
        match &self.tool {
            Some(tool) => format!("the task of tool '{}' of '{of}'", Excerpt(tool)),
            None => format!("task '{}' of '{of}'", Excerpt(&self.id)),
        }
    }
}

/// Returns the time until the next poll of a task. This time does not exceed the remaining time of
/// the wait.
fn interval(asked: Option<Duration>, in_all: Option<Duration>, started: Instant) -> Duration {
    let (usual, shortest, longest) = POLL;
    let interval = asked.unwrap_or(usual).clamp(shortest, longest);
    match in_all {
        Some(in_all) => interval.min(in_all.saturating_sub(started.elapsed())),
        None => interval,
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    // E-TASK-C-13, L-TASK-B-06
    #[test]
    fn looks_are_as_far_apart_as_the_server_wants_within_reason() {
        let now = Instant::now();
        let check = |asked: Option<u64>, expected: u64| {
            let found = interval(asked.map(Duration::from_millis), None, now);
            assert_eq!(found, Duration::from_millis(expected));
        };
        check(None, 500);
        check(Some(2000), 2000);
        check(Some(0), 10);
        check(Some(u64::MAX), 60_000);
        let short = interval(None, Some(Duration::ZERO), now);
        assert_eq!(short, Duration::ZERO);
    }
}
