//! Task status notifications.
//!
//! A new subscriber of a task gets the current state once, and then each change. So no change is
//! lost between the answer that created the task and the subscription. Quick changes are merged:
//! only the newest state is sent, possibly twice. A task without subscribers sends nothing.
//!
//! Spec: Extensions, "Tasks", "Task Status Notifications" (2026-07-28).

use std::sync::atomic::Ordering;

use super::super::subscriptions::Followed;
use super::record::status_notification;
use super::task::Task;
use crate::jsonrpc::RequestId;

impl Task {
    /// Notifies the subscribers of a change of the task. A new subscription sets `is_followed`
    /// before the first state is read. So if `is_followed` is still false here, that first state
    /// contains the change.
    pub(super) fn tell(&self) {
        if self.is_followed.load(Ordering::SeqCst)
            && let Some(task) = self.this.upgrade()
        {
            self.subscriptions.task_changed(task);
        }
    }
}

impl Followed for Task {
    fn id(&self) -> &str {
        &self.id
    }

    fn text(&self, subscription: Option<&RequestId>) -> Vec<u8> {
        status_notification(self.detailed(), subscription)
    }
}
