//! Tasks of other processes, as this process knows them from their records.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::super::subscriptions::Followed;
use super::notifications::status_notification;
use super::record::TaskRecord;
use super::records::Versioned;
use super::sharing::{Sharing, key_of};
use crate::error::RpcError;
use crate::jsonrpc::RequestId;
use crate::schema::{DetailedTask, InputResponses};
use crate::sync::Mutex;

/// A task of another process that clients of this process follow.
pub(super) struct FollowedTask {
    id: String,
    state: Mutex<FollowedState>,
}

struct FollowedState {
    /// The version of the record. Zero before the record was read.
    version: u64,
    task: Option<DetailedTask>,
    /// When the last client began to follow the task.
    since: Instant,
}

impl FollowedTask {
    pub(super) fn new(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            state: Mutex::new(FollowedState {
                version: 0,
                task: None,
                since: Instant::now(),
            }),
        }
    }

    /// Records that another client follows the task.
    pub(super) fn follow(&self) {
        self.state.lock().since = Instant::now();
    }

    /// Whether a client began to follow the task within this time.
    pub(super) fn is_recent(&self, time: Duration) -> bool {
        self.state.lock().since.elapsed() < time
    }

    /// Takes a record of the task. Returns whether it is newer than what was known.
    pub(super) fn take(&self, (version, record): Versioned<TaskRecord>) -> bool {
        let mut state = self.state.lock();
        if version <= state.version {
            return false;
        }
        state.version = version;
        state.task = Some(record.shown());
        true
    }
}

impl Followed for FollowedTask {
    fn id(&self) -> &str {
        &self.id
    }

    fn text(&self, subscription: Option<&RequestId>) -> Vec<u8> {
        let state = self.state.lock();
        let task = state.task.clone();
        drop(state);
        status_notification(task.expect("it is followed with its state"), subscription)
    }
}

impl Sharing {
    /// Changes the record of a task, if there is one and it belongs to this principal.
    fn change_of(
        &self,
        id: &str,
        principal: Option<&str>,
        mut edit: impl FnMut(&mut TaskRecord) -> Result<bool, RpcError>,
    ) -> Result<Option<Versioned<TaskRecord>>, RpcError> {
        let mut is_theirs = false;
        let record = self.change(&key_of(id), |record| {
            is_theirs = record.principal.as_deref() == principal;
            Ok(is_theirs && edit(record)?)
        })?;
        Ok(record.filter(|_| is_theirs))
    }

    /// Returns the state of a task.
    pub(super) fn get(
        &self,
        id: &str,
        principal: Option<&str>,
    ) -> Result<Option<DetailedTask>, RpcError> {
        let record = self.change_of(id, principal, |_| Ok(false))?;
        Ok(record.map(|(_, record)| record.shown()))
    }

    /// Cancels a task, unless it has ended. Returns `None` if there is no such task.
    pub(super) fn cancel(&self, id: &str, principal: Option<&str>) -> Result<Option<()>, RpcError> {
        let record = self.change_of(id, principal, |record| {
            let goes_on = !record.is_over();
            if goes_on {
                record.end(None);
            }
            Ok(goes_on)
        })?;
        Ok(record.map(drop))
    }

    /// Passes a client's answers to a task. Returns `None` if there is no such task.
    pub(super) fn answer(
        &self,
        id: &str,
        principal: Option<&str>,
        responses: &InputResponses,
    ) -> Result<Option<()>, RpcError> {
        let record = self.change_of(id, principal, |record| record.answer(responses))?;
        Ok(record.map(drop))
    }

    /// Follows a task of another process, if there is one and it belongs to this principal.
    pub(super) fn follow(
        self: &Arc<Self>,
        id: &str,
        principal: Option<&str>,
    ) -> Option<Arc<dyn Followed>> {
        let read = self.change_of(id, principal, |_| Ok(false)).ok()??;
        let task = self.watch_followed(&key_of(id), id, read);
        Some(task.ok()?)
    }
}
