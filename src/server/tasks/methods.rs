//! The request methods of tasks, in the legacy and the modern era.
//!
//! Spec: Base Protocol, Utilities, "Tasks" (2025-11-25); Extensions, "Tasks" (2026-07-28).

use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::super::call_task::CallTask;
use super::super::dispatch::{read, send};
use super::super::inner::{Row, ServerConnection};
use super::super::session_state::ClientContext;
use super::start::need_tasks;
use super::state::Outcome;
use super::task::Task;
use super::{Sharing, Tasks};
use crate::error::RpcError;
use crate::jsonrpc::Request;
use crate::protocol::Responder;
use crate::schema::{
    EmptyResult, FitTo, ListTasksResult, PaginatedRequestParams, RequestParams, TaskRequestParams,
    UpdateTaskRequestParams, method,
};

/// The handlers of the task methods.
pub(in crate::server) const METHODS: [Row; 5] = [
    (method::TASKS_GET, ServerConnection::get_task),
    (
        method::TASKS_RESULT,
        |conversation, request, responder| match conversation.task_to_wait_for(&request, &responder)
        {
            Ok(task) => task.wait_for_end(responder),
            Err(error) => send::<()>(Err(error), responder),
        },
    ),
    (method::TASKS_CANCEL, ServerConnection::cancel_task),
    (method::TASKS_LIST, |conversation, request, responder| {
        send(conversation.list_tasks(&request, &responder), responder)
    }),
    (method::TASKS_UPDATE, |conversation, request, responder| {
        send(conversation.update_task(&request, &responder), responder)
    }),
];

impl ServerConnection {
    /// Reads the params of a request about tasks, and asks the guards to admit the request.
    fn about_tasks<T: DeserializeOwned>(
        &self,
        request: &Request,
        responder: &Responder,
        in_era: impl FnOnce(&ClientContext) -> bool,
    ) -> Result<(T, Arc<ClientContext>), RpcError> {
        // "Method not found" comes before errors in the params.
        let RequestParams { mut meta } = read(request)?;
        let terms = self.terms(responder, meta.as_mut())?;
        if !in_era(&terms) {
            return Err(RpcError::method_not_found(request.method()));
        }
        if terms.revision.is_modern() {
            need_tasks(&terms)?;
        }
        self.admit(&self.access(request, responder, None, &terms, meta.as_ref()))?;
        Ok((read(request)?, terms))
    }

    fn tasks(&self) -> Result<&Tasks, RpcError> {
        let tasks = self.server.tasks.as_ref();
        tasks.ok_or_else(|| RpcError::internal("internal error"))
    }

    fn find_task(
        &self,
        id: &str,
        terms: &ClientContext,
        responder: &Responder,
    ) -> Result<Arc<Task>, RpcError> {
        let principal = self.conversation().principal_of(responder);
        self.tasks()?
            .find(id, principal, terms.revision.is_modern())
    }

    /// Asks the other processes of the server about a task that this process does not have.
    fn ask_elsewhere<T>(
        &self,
        terms: &ClientContext,
        responder: &Responder,
        ask: impl FnOnce(&Sharing, Option<&str>) -> Result<Option<T>, RpcError>,
    ) -> Result<T, RpcError> {
        let principal = self.conversation().principal_of(responder);
        let is_modern = terms.revision.is_modern();
        self.tasks()?
            .elsewhere(is_modern, |sharing| ask(sharing, principal))
    }

    fn get_task(self: Arc<Self>, request: Request, responder: Responder) {
        let asked = self.about_tasks::<TaskRequestParams>(&request, &responder, knows);
        let (TaskRequestParams { task_id: id, .. }, terms) = match asked {
            Ok(asked) => asked,
            Err(error) => return send::<()>(Err(error), responder),
        };
        let task = self.find_task(&id, &terms, &responder).ok();
        if let Some(task) = task.as_ref().filter(|task| !task.is_modern()) {
            return send(Ok(task.legacy()), responder);
        }
        let state = match &task {
            Some(task) => Ok(task.detailed()),
            None => self.ask_elsewhere(&terms, &responder, |tasks, who| tasks.get(&id, who)),
        };
        let is_over = state.as_ref().is_ok_and(|it| it.status.is_terminal());
        let state = state.map(|mut state| {
            self.server.services.finish(&mut state.meta, &terms);
            state
        });
        send(state, responder);
        if let Some(task) = task.filter(|_| is_over) {
            task.is_fetched();
        }
    }

    fn task_to_wait_for(
        &self,
        request: &Request,
        responder: &Responder,
    ) -> Result<Arc<Task>, RpcError> {
        let legacy = |terms: &ClientContext| terms.revision.has_core_tasks();
        let (params, terms) = self.about_tasks::<TaskRequestParams>(request, responder, legacy)?;
        self.find_task(&params.task_id, &terms, responder)
    }

    fn cancel_task(self: Arc<Self>, request: Request, responder: Responder) {
        let asked = self.about_tasks::<TaskRequestParams>(&request, &responder, knows);
        let (TaskRequestParams { task_id: id, .. }, terms) = match asked {
            Ok(asked) => asked,
            Err(error) => return send::<()>(Err(error), responder),
        };
        let cancelled = match self.find_task(&id, &terms, &responder) {
            Ok(task) if task.is_modern() => {
                task.end(Outcome::Cancelled);
                Ok(())
            }
            Ok(task) => {
                let cancelled = task.end(Outcome::Cancelled);
                let over = || RpcError::invalid_params("taskId: the task is over already");
                return send(cancelled.then(|| task.legacy()).ok_or_else(over), responder);
            }
            Err(_) => self.ask_elsewhere(&terms, &responder, |tasks, who| tasks.cancel(&id, who)),
        };
        send(cancelled.map(|()| self.done(&terms)), responder);
    }

    fn update_task(
        &self,
        request: &Request,
        responder: &Responder,
    ) -> Result<EmptyResult, RpcError> {
        let modern = |terms: &ClientContext| terms.revision.is_modern();
        let (params, terms) =
            self.about_tasks::<UpdateTaskRequestParams>(request, responder, modern)?;
        let (id, responses) = (&params.task_id, params.input_responses);
        match self.find_task(id, &terms, responder) {
            Ok(task) => task.answer(responses)?,
            Err(_) => self.ask_elsewhere(&terms, responder, |tasks, who| {
                tasks.answer(id, who, &responses)
            })?,
        }
        Ok(self.done(&terms))
    }

    /// Lists the tasks of a principal. A client without a principal can't list tasks, because it
    /// would see the tasks of all other clients without a principal.
    fn list_tasks(
        &self,
        request: &Request,
        responder: &Responder,
    ) -> Result<ListTasksResult, RpcError> {
        let principal = self.conversation().principal_of(responder);
        let has_list =
            |terms: &ClientContext| terms.revision.has_core_tasks() && principal.is_some();
        let (params, _) =
            self.about_tasks::<PaginatedRequestParams>(request, responder, has_list)?;
        let (page, next) = self
            .tasks()?
            .page(principal.unwrap_or_default(), params.cursor.as_deref())?;
        Ok(ListTasksResult {
            tasks: page.iter().map(|task| task.legacy()).collect(),
            next_cursor: next,
            ..ListTasksResult::default()
        })
    }

    fn done(&self, terms: &ClientContext) -> EmptyResult {
        let mut result = EmptyResult::default();
        self.server.services.finish(&mut result.meta, terms);
        result.fit_to(terms.revision);
        result
    }
}

fn knows(terms: &ClientContext) -> bool {
    terms.revision.is_modern() || terms.revision.has_core_tasks()
}
