//! Pending calls, which handlers may keep and answer later. This file has the code that all kinds
//! of calls share, and the calls of tools.

use std::fmt;
use std::sync::atomic::Ordering;

use serde::de::DeserializeOwned;

use super::context::Context;
use super::debug_fields::debug_fields;
use super::error_map::{Failure, HandlerError};
use super::events::ServerEventKind;
use super::guard::GuardedResult;
use super::output::ToolOutput;
use super::output_check::OutputCheck;
use super::raw_result;
use crate::error::{Error, Result, RpcError};
use crate::jsonrpc::{RawResult, typed};
use crate::protocol::LogLevel;
use crate::schema::{CallToolResult, ContentBlock, FitTo, ProtocolVersion};

/// The right to answer a call once.
///
/// If the right is dropped without an answer, the client gets the input requests that the handler
/// made. If the handler made no input request, or panicked, the client gets an internal error.
#[derive(Debug)]
pub(super) struct Unanswered {
    /// The context of the call. `None` once the call is answered.
    context: Option<Context>,
}

impl Unanswered {
    pub(super) fn new(context: Context) -> Self {
        Self {
            context: Some(context),
        }
    }

    pub(super) fn context(&self) -> &Context {
        self.context.as_ref().expect("answering takes the right")
    }

    fn context_mut(&mut self) -> &mut Context {
        self.context.as_mut().expect("answering takes the right")
    }

    pub(super) fn into_context(mut self) -> Context {
        self.context.take().expect("answering takes the right")
    }

    /// Returns the target of the call: the name of a tool or prompt, or the URI of a resource.
    pub(super) fn target(&self) -> &str {
        let context = self.context();
        let asker = context.asker();
        asker.map_or("", |asker| asker.target(context.request()))
    }

    /// Returns the arguments of the call as JSON text.
    pub(super) fn arguments(&self) -> &str {
        let context = self.context();
        let asker = context.asker();
        asker.map_or("{}", |asker| asker.arguments(context.request()))
    }

    /// Answers the call with an error. If the handler has to be run again, sends the handler's
    /// input requests instead.
    pub(super) fn refuse(self, error: &RpcError) -> Result<()> {
        self.into_context().conclude(Err::<(), _>(error.clone()))
    }
}

impl Drop for Unanswered {
    fn drop(&mut self) {
        let Some(context) = self.context.take() else {
            return;
        };
        let inquiry = context.mrtr().lock().inquiry();
        if let Some(inquire) = inquiry.filter(|_| !std::thread::panicking()) {
            // Answering fails when the client no longer waits. Then nothing is left to do.
            _ = inquire(context);
        }
    }
}

/// A pending tool call, which can be answered from any thread.
///
/// If the call is dropped without an answer, the client gets the input requests that the handler
/// [made](Context::ask). If the handler made no input request, or panicked, the client gets an
/// internal error.
pub struct ToolCall {
    call: Unanswered,
    output_check: OutputCheck,
}

impl ToolCall {
    pub(super) fn new(context: Context, output_check: OutputCheck) -> Self {
        let call = Unanswered::new(context);
        Self { call, output_check }
    }

    /// Returns the context of the call.
    pub fn context(&self) -> &Context {
        self.call.context()
    }

    /// Returns the name of the tool.
    pub fn name(&self) -> &str {
        self.call.target()
    }

    /// Returns the arguments as JSON text. The text is `{}` when the call has no arguments.
    pub fn raw_arguments(&self) -> &str {
        self.call.arguments()
    }

    /// Parses the arguments as `A`. A type without content, such as `()`, accepts any arguments.
    ///
    /// # Errors
    ///
    /// A [`HandlerError`] for the client, which names the wrong argument.
    pub fn arguments<A: DeserializeOwned>(&self) -> Result<A, HandlerError> {
        let read = match typed::read(self.raw_arguments()) {
            // serde reads a type without content from `null`, not from an object.
            Err(error) if size_of::<A>() == 0 => serde_json::from_str("null").map_err(|_| error),
            read => read,
        };
        read.map_err(invalid_arguments)
    }

    /// Answers the call with a failure of the tool, because the arguments of the call are invalid.
    /// The handler does not run.
    pub(super) fn fail_arguments(self, error: &Error) {
        // Answering fails when the client no longer waits. Then nothing is left to do.
        _ = self.respond(Err::<(), _>(invalid_arguments(error)));
    }

    /// Answers the call.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Cancelled`](crate::ErrorKind::Cancelled) or
    /// [`ErrorKind::Closed`](crate::ErrorKind::Closed) when the client no longer waits.
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) when the result can't be written as JSON
    /// or violates the tool's output schema. If the result is invalid, the client gets an internal
    /// error.
    pub fn respond(mut self, output: impl ToolOutput) -> Result<()> {
        // If input is missing, this answer is not sent, so it is not checked either.
        let needs_input = self.call.context_mut().mrtr_mut().needs_input();
        let mut answer = match output.into_result() {
            Ok(result) => Ok(result),
            Err(HandlerError(Failure::Message(text) | Failure::Foreign(text))) => {
                Ok(CallToolResult::error(text))
            }
            Err(HandlerError(Failure::Unwritable(error))) if !needs_input => {
                return self.refuse_output(error);
            }
            Err(error) => Err(self.context().reveal(error, "tool", self.name())),
        };
        if let Ok(result) = &mut answer {
            self.context().release(GuardedResult::Tool(result));
            // The check runs after the guards' changes, so it checks the result that is sent.
            if !needs_input {
                if let Err(error) = self.output_check.check(result) {
                    return self.refuse_output(error);
                }
                self.notice_embedded(result);
            }
        }
        let context = self.call.into_context();
        if let Ok(result) = &mut answer {
            // The server's `_meta` is appended as text when the result is written. Here it is
            // merged only if the result or its task has a `_meta` too.
            if result.meta.is_some() || context.task().is_some() {
                context.mark(&mut result.meta);
            }
            result.fit_to(context.client().revision);
        }
        context.conclude_with(answer, CallToolResult::append_to)
    }

    /// Answers the call with a result that another server gave, for example in a proxy. `revision`
    /// is the revision of the connection to that server.
    ///
    /// The text is sent as it is, except that a missing `resultType` is added. It is parsed and
    /// sent as [`respond`](Self::respond) does only if the client's revision is older than
    /// `revision`, if a guard [changes results](super::Guard::changes_results), or if the text has
    /// a `resultType` that `revision` does not define. That `resultType` is not sent. An unparsed
    /// result is not checked against the tool's output schema.
    ///
    /// # Errors
    ///
    /// The errors of [`respond`](Self::respond).
    pub fn respond_raw(self, result: RawResult, revision: ProtocolVersion) -> Result<()> {
        if !self.context().may_stay_raw(&result, revision, false) {
            let clear = |result: &mut CallToolResult| result.result_type = None;
            return match raw_result::parse(&result, revision, clear) {
                Ok(result) => self.respond(result),
                Err(error) => self.refuse_output(error),
            };
        }
        self.call.into_context().conclude_raw(result)
    }

    /// Answers the call with a protocol error. Prefer [`HandlerError::new`] for failures of the
    /// tool, so that the model can read them.
    ///
    /// # Errors
    ///
    /// The errors of [`respond`](Self::respond).
    pub fn refuse(self, error: &RpcError) -> Result<()> {
        self.call.refuse(error)
    }

    /// Answers the call with an internal error, because the result violates the output schema or
    /// can't be written as JSON. The details are reported to the host only.
    fn refuse_output(self, error: Error) -> Result<()> {
        let error = error.context(format_args!("the result of tool '{}'", self.name()));
        let context = self.call.into_context();
        let peer = context.peer();
        let text = || error.to_string();
        peer.core().log_as("server", LogLevel::Error, text);
        let (kind, method) = (ServerEventKind::HandlerFailed, Some(context.method()));
        peer.core().trouble(kind, method, text);
        context.refuse(RpcError::internal("internal error"))?;
        Err(error)
    }

    /// Warns the host if a tool's result embeds a resource but the server does not declare
    /// `resources`. The warning is logged only once.
    fn notice_embedded(&self, result: &CallToolResult) {
        let embeds = |block: &ContentBlock| matches!(block, ContentBlock::Resource(_));
        let server = self.context().services();
        if result.content.iter().any(embeds) && !server.may_embed.swap(true, Ordering::Relaxed) {
            self.context().peer().core().log_as("server", LogLevel::Warning, || {
                format!(
                    "tool '{}' embeds a resource, which needs the capability 'resources': add one, or declare it with ServerBuilder::declare_capability",
                    self.name()
                )
            });
        }
    }
}

fn invalid_arguments(what: impl fmt::Display) -> HandlerError {
    HandlerError::new(format!("invalid arguments: {what}"))
}

debug_fields!(ToolCall, context = |it| it.context());
