//! Tasks of other processes that clients of this process follow.

use std::time::{Duration, Instant};

use super::super::subscriptions::Followed;
use super::record::{TaskRecord, status_notification};
use super::records::Versioned;
use crate::jsonrpc::RequestId;
use crate::schema::DetailedTask;
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
