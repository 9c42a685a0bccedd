//! One subscription of the host: its filter, its state, and the wait until the subscription is
//! open.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::connection::ClientConnection;
use super::event::{Event, OnEvent};
use super::sub_resource::is_part;
use crate::error::{Error, ErrorKind, Result, Span};
use crate::protocol::{CancelToken, Peer, StartedCall};
use crate::schema::{JsonObject, SubscriptionFilter};
use crate::sync::{Condvar, Mutex};

/// A subscriber: the filter, the callback and the phase of one subscription.
pub(super) struct Subscriber {
    pub(super) filter: SubscriptionFilter,
    /// The `_meta` members of the request that opens the subscription.
    pub(super) meta: JsonObject,
    pub(super) on_event: OnEvent,
    // `wait` waits for changes of the phase or the fault. Every such change is made under this lock
    // and notifies `changed`. So no wakeup is lost. The lock is not held while the callback runs.
    pub(super) state: Mutex<State>,
    pub(super) changed: Condvar,
}

pub(super) struct State {
    pub(super) phase: Phase,
    /// The number of answers that are still needed before the subscription is open.
    pub(super) awaited: usize,
    pub(super) granted: SubscriptionFilter,
    pub(super) fault: Option<Error>,
    pub(super) opened: Option<OpenedOn>,
}

/// The connection on which a subscription was opened, and the requests that opened it.
pub(super) struct OpenedOn {
    pub(super) peer: Peer,
    pub(super) number: u64,
    /// In the modern era: the request that stays open for the whole subscription. In the legacy
    /// era: the requests that opened the subscription.
    pub(super) calls: Vec<StartedCall>,
    /// In the legacy era: the URIs of the resources to unsubscribe from at the end. In the modern
    /// era: empty.
    pub(super) uris: Vec<String>,
}

impl State {
    pub(super) fn is_on(&self, number: u64) -> bool {
        self.opened
            .as_ref()
            .is_some_and(|opened| opened.number == number)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Phase {
    Opening,
    Open,
    /// The connection ended unexpectedly. The subscription waits for the next connection.
    Waiting,
    /// The subscription has ended. The end will be reported after the earlier events.
    Ending,
    Over,
}

/// The time limits and the cancel token for opening a subscription.
pub(super) struct Wait {
    started: Instant,
    timeout: Option<Duration>,
    deadline: Option<Instant>,
    cancel: Option<CancelToken>,
}

impl Wait {
    pub(super) fn new(timeout: Option<Duration>, cancel: Option<CancelToken>) -> Self {
        let started = Instant::now();
        Self {
            started,
            timeout,
            deadline: timeout.and_then(|timeout| started.checked_add(timeout)),
            cancel,
        }
    }
}

impl Subscriber {
    pub(super) fn new(filter: SubscriptionFilter, meta: JsonObject, on_event: OnEvent) -> Self {
        let state = State {
            phase: Phase::Opening,
            awaited: 0,
            granted: SubscriptionFilter::default(),
            fault: None,
            opened: None,
        };
        Self {
            filter,
            meta,
            on_event,
            state: Mutex::new(state),
            changed: Condvar::new(),
        }
    }

    pub(super) fn granted(&self) -> SubscriptionFilter {
        self.state.lock().granted.clone()
    }

    pub(super) fn has_ended(&self) -> bool {
        self.state.lock().phase == Phase::Over
    }

    /// Begins to open the subscription on a connection. Returns `false` if the subscription was
    /// dropped.
    pub(super) fn begin(
        &self,
        connection: &ClientConnection,
        granted: SubscriptionFilter,
        awaited: usize,
    ) -> bool {
        let mut state = self.state.lock();
        if state.phase == Phase::Over {
            return false;
        }
        state.phase = if awaited == 0 {
            Phase::Open
        } else {
            Phase::Opening
        };
        state.awaited = awaited;
        state.granted = granted;
        state.fault = None;
        state.opened = Some(OpenedOn {
            peer: connection.peer.clone(),
            number: connection.number,
            calls: Vec::new(),
            uris: Vec::new(),
        });
        true
    }

    /// Stores a request that opens the subscription. If the subscription was dropped in the
    /// meantime, cancels the request and returns `false`.
    pub(super) fn keep(&self, call: StartedCall, uri: Option<&str>) -> bool {
        let mut state = self.state.lock();
        if let Some(opened) = &mut state.opened {
            opened.calls.push(call);
            opened.uris.extend(uri.map(str::to_owned));
            return true;
        }
        drop(state);
        call.cancel("the subscription is no longer wanted");
        false
    }

    /// Whether the subscription covers an event. `listens` is true if the subscription has an open
    /// `subscriptions/listen` request, whose id is in every event of the subscription. `named` is
    /// true if `event` has the id of this request.
    pub(super) fn concerns(&self, event: &Event, listens: bool, named: bool) -> bool {
        let filter = &self.filter;
        let uris = filter.resource_subscriptions.as_deref();
        let asked = match event {
            Event::ToolsChanged => filter.tools_list_changed == Some(true),
            Event::PromptsChanged => filter.prompts_list_changed == Some(true),
            Event::ResourcesChanged => filter.resources_list_changed == Some(true),
            // Only the server knows which resource is part of another resource.
            Event::ResourceUpdated(_) if listens => uris.is_some_and(|uris| !uris.is_empty()),
            Event::ResourceUpdated(uri) => {
                uris.is_some_and(|uris| uris.iter().any(|whole| is_part(uri, whole)))
            }
            Event::TaskChanged { id, .. } => {
                let ids = filter.task_ids.as_deref().unwrap_or_default();
                listens && ids.contains(id)
            }
            Event::EverythingChanged | Event::Ended { .. } => true,
        };
        asked && (named || !listens)
    }

    pub(super) fn tell(&self, event: Event) {
        if self.state.lock().phase != Phase::Over {
            (self.on_event)(event);
        }
    }

    /// Handles the server's agreement to open the subscription, or the server's refusal. Runs on
    /// the reading thread.
    pub(super) fn agree(
        &self,
        number: u64,
        granted: Option<SubscriptionFilter>,
        fault: Option<Error>,
    ) {
        let mut state = self.state.lock();
        if !state.is_on(number) {
            return;
        }
        state.awaited = state.awaited.saturating_sub(1);
        if let Some(granted) = granted.filter(|_| state.phase == Phase::Opening) {
            state.granted = granted;
        }
        if let Some(fault) = fault {
            state.fault.get_or_insert(fault);
        } else if state.awaited == 0 && state.phase == Phase::Opening && state.fault.is_none() {
            state.phase = Phase::Open;
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Blocks until the server has agreed to the subscription.
    pub(super) fn wait(self: &Arc<Self>, wait: &Wait, server: &str) -> Result<()> {
        let subscriber = Arc::clone(self);
        let _nudge = wait.cancel.as_ref().map(|token| {
            token.on_trigger(move || {
                // The lock is taken so that the wakeup cannot fall between the check and the wait.
                let _state = subscriber.state.lock();
                subscriber.changed.notify_all();
            })
        });
        let mut state = self.state.lock();
        loop {
            if let Some(fault) = state.fault.take() {
                return Err(fault);
            }
            if state.phase != Phase::Opening {
                return Ok(());
            }
            let is_triggered = wait.cancel.as_ref().is_some_and(CancelToken::is_triggered);
            if is_triggered {
                let text = format!("the subscription to changes of '{server}' was cancelled");
                return Err(Error::new(ErrorKind::Cancelled, text).sent(true));
            }
            if wait.deadline.is_some_and(|at| Instant::now() >= at) {
                let text = format!(
                    "'{server}' did not agree to a subscription after {} (timeout is {})",
                    Span::measured(wait.started.elapsed()),
                    Span(wait.timeout.unwrap_or_default())
                );
                return Err(Error::new(ErrorKind::Timeout, text).sent(true));
            }
            state = self.changed.wait_until(state, wait.deadline);
        }
    }
}
