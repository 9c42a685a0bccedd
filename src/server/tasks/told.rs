//! Telling subscribers how far tasks are.
//!
//! A subscriber that follows a task is told once how far it is, and then after steps: so nothing falls between the answer that made the task
//! and the subscription. Steps in a row merge: the newest state is told, maybe twice. A task that nobody follows tells nothing.
//!
//! Spec: Extensions, "Tasks", "Task Status Notifications" (2026-07-28).

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::super::hub::{Event, Followed, notification};
use super::store::Tasks;
use super::task::Task;
use crate::jsonrpc::RequestId;
use crate::schema::{ResultMetaObject, method};

/// Has tasks told to a subscriber from now on. Leaves out of `ids` what is no task of this principal's.
pub(super) type Follow = fn(&Tasks, &mut Vec<String>, Option<&str>) -> Vec<Arc<dyn Followed>>;

pub(super) fn follow(
    tasks: &Tasks,
    ids: &mut Vec<String>,
    principal: Option<&str>,
) -> Vec<Arc<dyn Followed>> {
    ids.sort_unstable();
    ids.dedup();
    let mut followed: Vec<Arc<dyn Followed>> = Vec::new();
    ids.retain(|id| {
        let Ok(task) = tasks.find(id, principal, true) else {
            return false;
        };
        task.is_followed.store(true, Ordering::SeqCst);
        followed.push(task);
        true
    });
    followed
}

impl Task {
    /// Tells those who follow it that it is further. A step that finds nobody comes before the first look of who begins to follow.
    pub(super) fn tell(&self) {
        if self.is_followed.load(Ordering::SeqCst)
            && let Some(task) = self.this.upgrade()
        {
            self.hub.publish(Event::TaskChanged(task));
        }
    }
}

impl Followed for Task {
    fn id(&self) -> &str {
        &self.id
    }

    fn text(&self, subscription: Option<&RequestId>) -> Vec<u8> {
        let mut state = self.detailed();
        state.result_type = None;
        state.meta = subscription.map(|id| ResultMetaObject::default().subscription_id(id.clone()));
        notification(method::NOTIFICATIONS_TASKS, &state)
    }
}
