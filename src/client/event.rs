//! The events of a subscription.

use std::sync::Arc;

use crate::schema::TaskStatus;

/// An event of a [`Subscription`](super::Subscription).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The list of tools has changed.
    ToolsChanged,
    /// The list of prompts has changed.
    PromptsChanged,
    /// The list of resources has changed.
    ResourcesChanged,
    /// The content of the resource with this URI has changed. The resource may be a part of a
    /// resource in the filter.
    ResourceUpdated(String),
    /// The state of a task has changed. The event contains the complete state of the task. The
    /// server sends the event for each change. Most servers also send the event at the start of the
    /// subscription.
    #[non_exhaustive]
    TaskChanged {
        /// The task id, for [`Client::task`](super::Client::task).
        id: String,
        /// The status of the task.
        status: TaskStatus,
        /// The task as JSON, a [`DetailedTask`](crate::schema::DetailedTask). The task includes its
        /// input requests, its result or its error, if any.
        json: String,
    },
    /// The subscription was renewed and continues. Changes may have been missed, so the host should
    /// assume that everything has changed.
    ///
    /// The event is reported after the connection was lost and restored by a
    /// [restart](super::ClientBuilder::restart). In the legacy era over HTTP there are two more
    /// causes: a new session was opened, or the stream of changes was interrupted.
    EverythingChanged,
    /// The subscription has ended. No further event follows.
    #[non_exhaustive]
    Ended {
        /// Whether the server ended the subscription normally. If false, the connection was lost or
        /// closed, or the server failed. Changes may then have been missed.
        clean: bool,
    },
}

/// The callback that receives the events of a subscription.
pub(super) type OnEvent = Arc<dyn Fn(Event) + Send + Sync>;
