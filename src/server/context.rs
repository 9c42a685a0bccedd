//! What a handler knows of the call that it serves, and can do for it.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Inner;
use super::asking::{self, Asker};
use super::conversation::Terms;
use super::output::{ToolError, ToolOutput};
use super::progress::Pace;
use super::rounds::Rounds;
use crate::error::{Result, RpcError, without_position};
use crate::protocol::{CancelToken, Peer, Progress, Responder};
use crate::schema::{
    FitTo, ProgressNotificationParams, RequestMetaObject, ResultMetaObject, method,
};
use crate::sync::Mutex;

/// The call that a handler serves.
pub struct Context {
    responder: Responder,
    terms: Arc<Terms>,
    meta: RequestMetaObject,
    pace: Mutex<Pace>,
    server: Arc<Inner>,
    rounds: Mutex<Rounds>,
    /// `None` for a request that must not ask.
    asker: Option<Asker>,
}

impl Context {
    pub(super) fn new(
        server: Arc<Inner>,
        responder: Responder,
        terms: Arc<Terms>,
        meta: RequestMetaObject,
    ) -> Self {
        Self {
            responder,
            terms,
            meta,
            pace: Mutex::new(Pace::new(Instant::now())),
            server,
            rounds: Mutex::default(),
            asker: None,
        }
    }

    /// Lets the handler ask, and gives it the answers of earlier rounds.
    pub(super) fn asking(mut self, asker: Asker, rounds: Rounds) -> Self {
        self.asker = Some(asker);
        self.rounds = Mutex::new(rounds);
        self
    }

    pub(super) fn rounds(&self) -> &Mutex<Rounds> {
        &self.rounds
    }

    pub(super) fn asker(&self) -> Option<&Asker> {
        self.asker.as_ref()
    }

    /// Who asks, in which revision, and what the client can do.
    pub fn terms(&self) -> &Terms {
        &self.terms
    }

    /// What travels beside the params, without what [`terms`](Self::terms) says.
    pub fn meta(&self) -> &RequestMetaObject {
        &self.meta
    }

    /// Whether the client cancelled the call, or has gone. Cheap: poll it in long work, and return when it is so.
    pub fn is_cancelled(&self) -> bool {
        self.responder.is_cancelled()
    }

    /// The token that is triggered when the client cancels the call, or has gone: to wait on, or to hand on.
    pub fn cancel_token(&self) -> &CancelToken {
        self.responder.cancel_token()
    }

    /// The client's side of the connection.
    pub fn peer(&self) -> Peer {
        self.responder.peer()
    }

    /// Tells the client how far the call is, if it wants to know.
    ///
    /// `progress` has to grow from message to message; one that doesn't is dropped. Of a flood only some are sent, the last one always.
    /// Does nothing once the call is answered or cancelled.
    pub fn progress(&self, progress: f64, total: Option<f64>, message: Option<&str>) {
        if self.meta.progress_token.is_none() {
            return;
        }
        let mut progress = Progress::new(progress);
        (progress.total, progress.message) = (total, message.map(str::to_owned));
        // The lock is held while the message is sent, so that those of several threads go out in growing order.
        let mut pace = self.pace.lock();
        if let Some(progress) = pace.admit(progress, Instant::now()) {
            self.send(progress);
        }
    }

    fn send(&self, progress: Progress) {
        let Some(token) = &self.meta.progress_token else {
            return;
        };
        let mut params = ProgressNotificationParams::new(token.clone(), progress.progress);
        (params.total, params.message) = (progress.total, progress.message);
        params.fit_to(self.terms.revision);
        // It fails when nobody wants to know any more: answered, cancelled, closed.
        _ = self
            .responder
            .notify(method::NOTIFICATIONS_PROGRESS, &params);
    }

    /// What travels beside each result.
    pub(super) fn result_meta(&self) -> Option<ResultMetaObject> {
        self.server.result_meta(self.terms.revision)
    }

    /// Answers with a result, unless the handler has to be run again first.
    pub(super) fn conclude(self, answer: Result<impl Serialize, RpcError>) -> Result<()> {
        if self.rounds.lock().needs_input() {
            return asking::ask_client(self);
        }
        match answer {
            Ok(result) => self.give(&result),
            Err(error) => self.refuse(&error),
        }
    }

    pub(super) fn give(self, result: &impl Serialize) -> Result<()> {
        self.finish_progress();
        self.responder.respond(result)
    }

    pub(super) fn refuse(self, error: &RpcError) -> Result<()> {
        self.finish_progress();
        self.responder.refuse(error)
    }

    fn finish_progress(&self) {
        if let Some(progress) = self.pace.lock().finish() {
            self.send(progress);
        }
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("responder", &self.responder)
            .field("terms", &self.terms)
            .finish_non_exhaustive()
    }
}

/// A call of a tool that still has to be answered, from any thread. Dropped, it answers with an internal error.
pub struct ToolCall {
    context: Context,
}

impl ToolCall {
    pub(super) fn new(context: Context) -> Self {
        Self { context }
    }

    /// What is known of the call.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// The arguments as JSON text; `{}` when there are none.
    pub fn raw_arguments(&self) -> &str {
        self.context.asker().map_or("{}", Asker::arguments)
    }

    /// Reads the arguments.
    ///
    /// # Errors
    ///
    /// A [`ToolError`] that says which argument is wrong, to be given to the client.
    pub fn arguments<A: DeserializeOwned>(&self) -> Result<A, ToolError> {
        serde_json::from_str(self.raw_arguments()).map_err(|error| {
            ToolError::new(format!("invalid arguments: {}", without_position(&error)))
        })
    }

    /// Answers the call.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Cancelled`](crate::ErrorKind::Cancelled) or [`ErrorKind::Closed`](crate::ErrorKind::Closed) when nobody waits any
    /// more, [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) when the result can't be written as JSON.
    pub fn respond(self, output: impl ToolOutput) -> Result<()> {
        let context = self.context;
        let result = output.into_result().map(|mut result| {
            if let Some(meta) = context.result_meta() {
                result.meta.get_or_insert_default().server_info = meta.server_info;
            }
            result.fit_to(context.terms.revision);
            result
        });
        context.conclude(result)
    }

    /// Answers with a protocol error. What went wrong in the tool is better said with a [`ToolError`], for the model to read.
    ///
    /// # Errors
    ///
    /// As [`respond`](Self::respond).
    pub fn refuse(self, error: &RpcError) -> Result<()> {
        self.context.conclude(Err::<(), _>(error.clone()))
    }
}

impl fmt::Debug for ToolCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolCall")
            .field("context", &self.context)
            .finish_non_exhaustive()
    }
}
