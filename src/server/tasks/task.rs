//! One task: its state, its input requests, its outcome, and the requests that wait for it.
//!
//! **Locks:** while the state is locked, nothing is sent, dropped or run, because that could block
//! or take the lock again.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant, SystemTime};

use super::super::call_task::CallTask;
use super::super::context::Context;
use super::super::input_requests::{Gained, run_again};
use super::super::memory_budget::LARGE;
use super::super::subscriptions::Subscriptions;
use super::record::{TaskRecord, check_response};
use super::share::Share;
use super::state::{Outcome, Stage, iso_8601};
use super::table::{Expire, TaskStore};
use crate::error::{Error, ErrorCode, ErrorKind, Result, RpcError};
use crate::protocol::{Answer, Asking, ExchangeHandle, Peer, Responder, ResponseSink};
use crate::schema::{
    DetailedTask, FitTo, InputRequest, InputRequests, InputResponses, ProtocolVersion, ResultType,
    Task as LegacyTask,
};
use crate::server::debug_fields::debug_fields;
use crate::sync::Mutex;

/// The maximum number of requests that wait for the result of one task.
const MAX_WAITERS: usize = 16;

/// A task: a call that continues after its request was answered.
pub(in crate::server) struct Task {
    pub(super) id: String,
    /// The key of the task in the table of tasks.
    pub(super) number: u64,
    pub(super) store: Weak<TaskStore<Self>>,
    /// The principal on whose behalf the task runs. Only this principal can see the task.
    pub(super) principal: Option<Arc<str>>,
    /// The revision in which the task was created. The task is visible only to clients of the same
    /// era.
    pub(super) revision: ProtocolVersion,
    pub(super) created: SystemTime,
    pub(super) until: Instant,
    pub(super) ttl_ms: u64,
    pub(super) poll_interval_ms: u64,
    /// The server's subscriptions, to which changes of the task are published. `is_followed` is set
    /// once a client has subscribed to the task.
    pub(super) subscriptions: Arc<Subscriptions>,
    pub(super) is_followed: AtomicBool,
    /// The record of the task for other processes. `None` if tasks are not shared.
    pub(super) share: Option<Share>,
    /// A reference to the task itself, for notifications that are sent later.
    pub(super) this: Weak<Self>,
    pub(super) state: Mutex<State>,
}

pub(super) struct State {
    stage: Stage,
    changed: SystemTime,
    /// The exchange in which the handler runs. `None` once the exchange has ended.
    work: Option<ExchangeHandle>,
    /// The call that became the task, while this call waits for input in the modern era.
    asking: Option<Gathered>,
    /// The input requests that are not answered yet, by the key that the client sees.
    outstanding: BTreeMap<String, Question>,
    /// All keys that the client has seen. No key is used for two input requests.
    used: HashSet<String>,
    /// The input requests of the legacy era that are not sent yet. They are sent when a client
    /// requests the task's result.
    held: Vec<Vec<u8>>,
    /// The pending `tasks/result` requests, which wait for the result of the task.
    waiters: Vec<Waiter>,
}

struct Gathered {
    context: Context,
    answers: Vec<Gained>,
}

struct Question {
    /// The key under which the handler made the input request.
    key: String,
    question: InputRequest,
}

struct Waiter {
    responder: Responder,
    asking: Arc<Asking>,
}

impl State {
    pub(super) fn new(now: SystemTime) -> Self {
        Self {
            stage: Stage::Working,
            changed: now,
            work: None,
            asking: None,
            outstanding: BTreeMap::new(),
            used: HashSet::new(),
            held: Vec::new(),
            waiters: Vec::new(),
        }
    }

    fn step(&mut self, to: Stage) -> bool {
        let stepped = self.stage.step(to);
        if stepped {
            self.changed = SystemTime::now();
        }
        stepped
    }

    /// Returns a key that was never used in this task and that begins with `key`.
    fn fresh(&mut self, key: &str) -> String {
        let mut fresh = key.to_owned();
        let mut count = 1;
        while !self.used.insert(fresh.clone()) {
            count += 1;
            fresh = format!("{key}-{count}");
        }
        fresh
    }

    /// Returns a pending `tasks/result` request, on which messages of the task can be sent. Returns
    /// `None` if there is no such request.
    fn listener(&self) -> Option<Arc<Asking>> {
        let mut waiters = self.waiters.iter();
        let listener = waiters.rfind(|waiter| !waiter.responder.is_cancelled());
        listener.map(|waiter| Arc::clone(&waiter.asking))
    }
}

impl Task {
    #[cfg(all(test, not(loom)))]
    pub(super) fn is_terminal(&self) -> bool {
        self.state.lock().stage.is_terminal()
    }

    /// Returns the state of the task in the form of the legacy era.
    pub(super) fn legacy(&self) -> LegacyTask {
        let state = self.state.lock();
        let mut task = LegacyTask::new(&*self.id, iso_8601(self.created));
        task.status = state.stage.status(false);
        task.status_message = state.stage.message(false);
        task.last_updated_at = iso_8601(state.changed);
        task.ttl = Some(self.ttl_ms);
        task.poll_interval = Some(self.poll_interval_ms);
        task
    }

    /// Returns the answer to the call that became the task.
    pub(super) fn created(&self) -> DetailedTask {
        let state = self.state.lock();
        let mut task = DetailedTask::new(&*self.id, iso_8601(self.created));
        task.result_type = Some(ResultType::Task);
        task.status = state.stage.status(true);
        task.last_updated_at = iso_8601(state.changed);
        task.ttl_ms = Some(self.ttl_ms);
        task.poll_interval_ms = Some(self.poll_interval_ms);
        task
    }

    /// Returns the state of the task in the form of the extension (modern era).
    pub(super) fn detailed(&self) -> DetailedTask {
        let task = self.created();
        let state = self.state.lock();
        self.in_stage(task, &state, &state.stage, state.changed)
    }

    fn in_stage(
        &self,
        mut task: DetailedTask,
        state: &State,
        stage: &Stage,
        changed: SystemTime,
    ) -> DetailedTask {
        task.result_type = Some(ResultType::Complete);
        task.status = stage.status(true);
        task.status_message = stage.message(true);
        task.last_updated_at = iso_8601(changed);
        match stage {
            Stage::Working | Stage::Ended(Outcome::Cancelled) => {}
            Stage::InputRequired => {
                let questions = state.outstanding.iter().map(|(key, outstanding)| {
                    let mut question = outstanding.question.clone();
                    question.fit_to(self.revision);
                    (key.clone(), question)
                });
                task.input_requests = Some(questions.collect());
            }
            Stage::Ended(Outcome::Result { text, .. }) => task.result = Some(text.clone()),
            Stage::Ended(Outcome::Error(error)) => task.error = Some(error.clone()),
        }
        task
    }

    /// Returns the record of the task for other processes, or the record with this outcome.
    pub(super) fn record(&self, outcome: Option<&Outcome>) -> TaskRecord {
        let created = self.created();
        let state = self.state.lock();
        let task = match outcome {
            Some(outcome) => {
                let ended = Stage::Ended(outcome.clone());
                self.in_stage(created, &state, &ended, SystemTime::now())
            }
            None => self.in_stage(created, &state, &state.stage, state.changed),
        };
        drop(state);
        let process = self.share.as_ref().map_or("", Share::process);
        TaskRecord {
            process: process.to_owned(),
            principal: self.principal.as_deref().map(str::to_owned),
            task,
            answers: InputResponses::new(),
        }
    }

    /// Returns the rest of the task's lifetime.
    pub(super) fn remaining(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }

    /// Tells other processes and the task's subscribers of a change.
    fn changed(&self) {
        if let Some(share) = &self.share {
            self.write_record(share);
        }
        self.tell();
    }

    /// Ends the task, unless it has ended already. Returns whether this call has ended it. May be
    /// called from any thread. Other threads answer the requests that wait for the result.
    pub(super) fn end(&self, outcome: Outcome) -> bool {
        let Some((waiters, outcome)) = self.finish(outcome, true) else {
            return false;
        };
        self.answer_later(waiters, &outcome);
        true
    }

    /// Ends the task as another process has decided.
    pub(super) fn end_as(&self, outcome: Outcome) {
        if let Some((waiters, outcome)) = self.finish(outcome, false) {
            self.answer_later(waiters, &outcome);
        }
    }

    fn answer_later(&self, waiters: Vec<Waiter>, outcome: &Outcome) {
        for Waiter { responder, .. } in waiters {
            let (core, outcome) = (Arc::clone(responder.core()), outcome.clone());
            let (sharer, task) = (responder.sharer(), Weak::clone(&self.this));
            let answer = move || hand_over(responder, &outcome, &task);
            core.run_later(sharer, None, Box::new(answer));
        }
    }

    /// Ends the task, unless it has ended already. Also answers the requests that wait for the
    /// result, so this method may block while a client does not read. The thread that has done the
    /// work calls this method. Returns whether this call has ended the task.
    pub(super) fn conclude(&self, outcome: Outcome) -> bool {
        let Some((waiters, outcome)) = self.finish(outcome, true) else {
            return false;
        };
        for waiter in waiters {
            hand_over(waiter.responder, &outcome, &self.this);
        }
        true
    }

    /// Reserves memory for a large result of the task. Returns `false` when there is not enough
    /// memory.
    pub(super) fn hold_result(&self, bytes: usize, max: usize) -> bool {
        let store = self.store.upgrade();
        store.is_none_or(|store| store.hold_result(self.number, bytes, max))
    }

    /// Records that a client has fetched the result of the task. The task is then evicted before
    /// tasks whose result was not fetched.
    pub(super) fn is_fetched(&self) {
        if let Some(store) = self.store.upgrade() {
            store.is_fetched(self.number);
        }
    }

    /// Ends the task. Returns the requests that wait for its result, and the outcome: another
    /// process may have ended a task that is shared. Returns `None` if the task has ended already.
    fn finish(&self, mut outcome: Outcome, is_shared: bool) -> Option<(Vec<Waiter>, Outcome)> {
        if self.state.lock().stage.is_terminal() {
            return None;
        }
        if let Some(share) = self.share.as_ref().filter(|_| is_shared) {
            outcome = self.conclude_record(share, outcome)?;
        }
        // A client that sees the end may start another task at once. So the table learns of the end
        // before clients can see it: the task can be evicted then, in the order of the ends.
        if let Some(store) = self.store.upgrade() {
            store.is_over(self.number);
        }
        let mut state = self.state.lock();
        if !state.step(Stage::Ended(outcome.clone())) {
            return None;
        }
        let waiters = std::mem::take(&mut state.waiters);
        let (work, asking) = (state.work.take(), state.asking.take());
        state.outstanding.clear();
        state.held.clear();
        drop(state);
        if let Some(work) = work {
            work.cancel("the task is over");
        }
        drop(asking);
        self.tell();
        Some((waiters, outcome))
    }

    /// Answers a request with the result of the task. If the task has not ended yet, answers the
    /// request when the task ends.
    pub(super) fn wait_for_end(self: Arc<Self>, mut responder: Responder) {
        let mut state = self.state.lock();
        if let Stage::Ended(outcome) = &state.stage {
            let outcome = outcome.clone();
            drop(state);
            return hand_over(responder, &outcome, &self.this);
        }
        let gone: Vec<Waiter> = state
            .waiters
            .extract_if(.., |waiter| waiter.responder.is_cancelled())
            .collect();
        if state.waiters.len() >= MAX_WAITERS {
            drop(state);
            drop(gone);
            let text = format!("{MAX_WAITERS} requests wait for the result of this task already");
            // This fails when the client no longer waits. Then nothing is left to do.
            _ = responder.refuse(&RpcError::new(ErrorCode::INTERNAL_ERROR, text));
            return;
        }
        // While the request waits, it does not count as a request in flight.
        responder.stand_aside();
        responder.answer_from_worker();
        let asking = Arc::new(responder.asking());
        let (core, sharer) = (Arc::clone(responder.core()), responder.sharer());
        let held = std::mem::take(&mut state.held);
        state.waiters.push(Waiter {
            responder,
            asking: Arc::clone(&asking),
        });
        drop(state);
        drop(gone);
        if !held.is_empty() {
            // The current thread may be the reading thread. It must not block on a client that does
            // not read.
            let show = move || held.iter().for_each(|it| self.show_on(&asking, it));
            core.run_later(sharer, None, Box::new(show));
        }
    }

    /// Sends an input request of the legacy era on a pending `tasks/result` request. If there is no
    /// such request, stores the input request.
    pub(super) fn show(&self, question: &[u8]) {
        let mut state = self.state.lock();
        if state.stage.is_terminal() {
            return;
        }
        let Some(listener) = state.listener() else {
            state.held.push(question.to_vec());
            return;
        };
        drop(state);
        self.show_on(&listener, question);
    }

    fn show_on(&self, listener: &Asking, question: &[u8]) {
        if listener.forward(question.to_vec()).is_err() {
            self.state.lock().held.push(question.to_vec());
        }
    }

    /// Returns a pending `tasks/result` request, on which messages of the task can be sent. Returns
    /// `None` if there is no such request.
    pub(super) fn listener(&self) -> Option<Arc<Asking>> {
        self.state.lock().listener()
    }

    /// Accepts a client's answers to input requests. When all input requests are answered, runs the
    /// call again. Answers to unknown input requests are ignored. If one answer does not fit its
    /// input request, all answers are refused.
    pub(super) fn answer(&self, responses: InputResponses) -> Result<(), RpcError> {
        let mut state = self.state.lock();
        for (key, response) in &responses {
            let Some(Question { question, .. }) = state.outstanding.get(key) else {
                continue;
            };
            check_response(key, question, response)?;
        }
        let outstanding = &state.outstanding;
        let accepted = responses
            .iter()
            .filter(|(key, _)| outstanding.contains_key(*key));
        let bytes = accepted.map(|(_, response)| response.as_str().len()).sum();
        if let Some(asking) = &mut state.asking {
            asking.context.hold_more(bytes)?;
        }
        for (shown, response) in responses {
            if let Some(Question { key, question }) = state.outstanding.remove(&shown)
                && let Some(asking) = &mut state.asking
            {
                asking.answers.push((key, question, Ok(response)));
            }
        }
        if !state.outstanding.is_empty() {
            return Ok(());
        }
        let asking = state.asking.take();
        drop(state);
        if let Some(Gathered { context, answers }) = asking {
            run_again(context, answers);
        }
        Ok(())
    }
}

impl CallTask for Task {
    fn id(&self) -> &str {
        &self.id
    }

    fn is_modern(&self) -> bool {
        self.revision.is_modern()
    }

    fn hold(&self, work: ExchangeHandle) {
        let mut state = self.state.lock();
        if !state.stage.is_terminal() {
            state.work = Some(work);
            return;
        }
        drop(state);
        work.cancel("the task is over");
    }

    fn needs_input(&self) {
        let stepped = self.state.lock().step(Stage::InputRequired);
        if stepped {
            self.changed();
        }
    }

    fn goes_on(&self) {
        let mut state = self.state.lock();
        state.held.clear();
        let stepped = state.step(Stage::Working);
        drop(state);
        if stepped {
            self.changed();
        }
    }

    fn ask(&self, mut context: Context, asked: InputRequests) {
        context.responder_mut().stand_aside();
        let mut state = self.state.lock();
        if !state.step(Stage::InputRequired) {
            drop(state);
            drop(context);
            return;
        }
        for (key, question) in asked {
            let shown = state.fresh(&key);
            state.outstanding.insert(shown, Question { key, question });
        }
        state.asking = Some(Gathered {
            context,
            answers: Vec::new(),
        });
        drop(state);
        self.changed();
    }

    fn sink(self: Arc<Self>, peer: Peer, max_held: usize) -> Arc<dyn ResponseSink> {
        let task = self;
        Arc::new(TaskResponseSink {
            task,
            peer,
            max_held,
        })
    }
}

/// Answers a request for the result of a task, and records that the result was fetched.
fn hand_over(responder: Responder, outcome: &Outcome, task: &Weak<Task>) {
    let sent = match outcome {
        Outcome::Result { text, .. } => responder.respond(text),
        Outcome::Error(error) => responder.refuse(error),
        Outcome::Cancelled => responder.refuse(&RpcError::invalid_request(
            "the task was cancelled: it has no result",
        )),
    };
    // This fails when the client no longer waits. Then the result is still not fetched.
    if sent.is_ok()
        && let Some(task) = task.upgrade()
    {
        task.is_fetched();
    }
}

impl Expire for Task {
    fn id(&self) -> &str {
        &self.id
    }

    fn until(&self) -> Instant {
        self.until
    }

    fn expire(&self) {
        let error = RpcError::internal("the task was not over within its time to live");
        self.end(Outcome::Error(error));
    }

    fn forget(&self) {
        if let Some(share) = &self.share {
            share.forget();
        }
    }
}

/// The response sink of a call that is a task. Stores the answer of the call in the task, and
/// forwards the call's other messages.
struct TaskResponseSink {
    task: Arc<Task>,
    /// The client that made the call.
    peer: Peer,
    /// The size of the memory budget for the results of all tasks, in bytes.
    max_held: usize,
}

impl TaskResponseSink {
    /// Parses a response into an outcome of the task. If the memory budget has no space for a large
    /// response, the outcome is an error.
    fn keep(&self, response: &[u8]) -> Outcome {
        // The number of small responses is limited by the number of tasks.
        if response.len() <= LARGE {
            return Outcome::of(response);
        }
        let max = self.max_held;
        if self.task.hold_result(response.len(), max) {
            return Outcome::of(response);
        }
        let text = format!(
            "the result has {} bytes, and the results of tasks take as much memory as they may ({max} bytes: max_workers times \
             max_message_bytes, or 16 MiB); call again later",
            response.len()
        );
        Outcome::Error(RpcError::new(ErrorCode::INTERNAL_ERROR, text))
    }
}

impl ResponseSink for TaskResponseSink {
    /// Forwards a progress or log message of the call. In the modern era the message is dropped,
    /// because tasks have no such messages. In the legacy era, the message is sent on a request
    /// that waits for the task's result. If no request waits, the message is sent on the client's
    /// connection.
    fn send(&self, text: &[u8], _: Option<Instant>) -> Result<bool> {
        if self.task.is_modern() {
            return Ok(true);
        }
        match self.task.listener() {
            Some(listener) => listener.forward(text.to_vec())?,
            None => {
                let core = self.peer.core();
                core.send_notification(text.to_vec(), None, None)?;
            }
        }
        Ok(true)
    }

    fn ask(&self, text: &[u8], _: Option<Instant>) -> Result<()> {
        self.task.show(text);
        Ok(())
    }

    fn respond(&self, text: Vec<u8>, _: Answer, _: Option<Instant>) -> Result<()> {
        let outcome = self.keep(&text);
        drop(text);
        if self.task.conclude(outcome) {
            Ok(())
        } else {
            Err(Error::new(ErrorKind::Closed, "the task is over"))
        }
    }

    fn close(&self) {
        let error = RpcError::internal("the connection on which the task ran is closed");
        self.task.end(Outcome::Error(error));
    }
}

impl fmt::Debug for TaskResponseSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TaskResponseSink").field(&self.task).finish()
    }
}

debug_fields!(Task, created);
