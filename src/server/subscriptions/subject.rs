//! The subjects of notifications: a list, a resource, a task or the log.

use std::sync::Arc;

use serde::Serialize;

use crate::jsonrpc::{self, RequestId};

/// A task to which clients can subscribe.
pub(in crate::server) trait Followed: Send + Sync {
    fn id(&self) -> &str;

    /// Returns the text of the notification with the task's current state. `subscription` is the id
    /// of the subscriber's stream, if the subscriber is a stream.
    fn text(&self, subscription: Option<&RequestId>) -> Vec<u8>;
}

/// The subject of a topic: a list, a resource, a task, or the log messages.
pub(super) enum Subject {
    Tools,
    Prompts,
    Resources,
    Resource(Arc<str>),
    Task(Arc<str>),
    Logs,
}

pub(in crate::server) fn notification(method: &str, params: &impl Serialize) -> Vec<u8> {
    jsonrpc::write_notification(method, params).expect("texts and ids are JSON")
}
