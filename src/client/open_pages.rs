//! Open URL elicitations. An elicitation is open until the server reports that its interaction is
//! complete. The report exists only in 2025-11-25.
//!
//! Spec: Client Features, "Elicitation", "Completion Notifications for URL Mode Elicitation"
//! (2025-11-25).

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use crate::protocol::{Handlers, LogLevel};
use crate::schema::tree;
use crate::schema::{ElicitationCompleteNotificationParams, method};
use crate::sync::Mutex;

/// The maximum number of open elicitations. Above the limit the oldest elicitation is forgotten.
const MAX_PAGES: usize = 1024;

type CompleteFn = dyn Fn(&str) + Send + Sync;

/// The open URL elicitations of a client.
#[derive(Clone, Default)]
pub(super) struct OpenPages {
    pub(super) on_complete: Option<Arc<CompleteFn>>,
    /// The ids of the open elicitations, oldest first.
    open: Arc<Mutex<VecDeque<String>>>,
}

impl OpenPages {
    /// Creates an empty tracker for another client, with the callback of this tracker. Each client
    /// tracks only its own elicitations.
    pub(super) fn for_one_client(&self) -> Self {
        Self {
            on_complete: self.on_complete.clone(),
            open: Arc::default(),
        }
    }

    /// Records that a URL elicitation is open.
    pub(super) fn add(&self, id: &str) {
        if self.on_complete.is_none() {
            return;
        }
        let mut open = self.open.lock();
        if open.iter().any(|other| other == id) {
            return;
        }
        if open.len() == MAX_PAGES {
            open.pop_front();
        }
        open.push_back(id.to_owned());
    }

    /// Removes an elicitation that is complete or was not accepted. Returns whether the elicitation
    /// was open.
    pub(super) fn remove(&self, id: &str) -> bool {
        let mut open = self.open.lock();
        let index = open.iter().position(|other| other == id);
        index.is_some_and(|index| open.remove(index).is_some())
    }

    /// Adds the handler of completion notifications. The handler ignores ids of elicitations that
    /// are not open.
    pub(super) fn listen_in(&self, handlers: Handlers) -> Handlers {
        let Some(on_complete) = self.on_complete.clone() else {
            return handlers;
        };
        let pages = self.clone();
        let name = method::NOTIFICATIONS_ELICITATION_COMPLETE;
        handlers.notification(name, move |peer, notification| {
            let params = tree::read(notification.params());
            match params {
                Ok(ElicitationCompleteNotificationParams { elicitation_id, .. }) => {
                    if pages.remove(&elicitation_id) {
                        on_complete(&elicitation_id);
                    }
                }
                Err(error) => peer.core().log_as("client", LogLevel::Warning, || {
                    format!("{name} of '{}' can't be read: {error}", peer.name())
                }),
            }
        })
    }
}

impl fmt::Debug for OpenPages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenPages")
            .field("on_complete", &self.on_complete.is_some())
            .field("open", &self.open.lock().len())
            .finish()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_pages_are_forgotten() {
        let pages = OpenPages {
            on_complete: Some(Arc::new(|_| {})),
            ..OpenPages::default()
        };
        for id in 0..=MAX_PAGES {
            pages.add(&id.to_string());
            pages.add(&id.to_string());
        }
        assert!(!pages.remove("0"));
        assert!(pages.remove("1") && !pages.remove("1"));
        assert_eq!(pages.open.lock().len(), MAX_PAGES - 1);
    }
}
