//! Client events outside of calls: connection state, changes on the server, log messages.
//!
//! **Order.** Events are delivered in the order in which they happen. Connection events are never
//! dropped.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use serde_json::json;

use super::shared::{LineFn, Phase, Shared};
use crate::cffi::event::post_event;
use crate::cffi::log;
use crate::cffi::queue::Kind;
use crate::cffi::status::mcplink_status;
use crate::cffi::text::Text;
use crate::cffi::user::{Hook, call_back};
use crate::cffi::wording::for_c;
use crate::client::{Client, ClientBuilder, ConnectionEvent, Event};
use crate::error::{Error, ErrorKind, Result};
use crate::schema::method;
use crate::sync::Mutex;

/// The kind of an event. Ignore unknown kinds: later versions may add more.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum mcplink_event {
    /// A client that was started with mcplink_client_start is connected. The event has no params.
    MCPLINK_EVENT_CONNECTED = 601,
    /// A client that was started with mcplink_client_start could not be connected. The params are
    /// {"status":-9,"message":"..."}. Free the client.
    MCPLINK_EVENT_FAILED = 602,
    /// The connection to the server was lost, and the server will be restarted. The params are
    /// {"status":-3,"message":"...","attempt":1,"delayMs":250}.
    MCPLINK_EVENT_LOST = 603,
    /// The client has connected to the server again, after the connection was lost. The new
    /// connection has none of the state of the lost connection. The params are {"attempt":1}.
    MCPLINK_EVENT_RESTORED = 604,
    /// The connection has ended for good. The params are {"status":-3,"message":"..."} when the
    /// connection was lost. There are no params when the client was closed.
    MCPLINK_EVENT_CLOSED = 605,
    /// The list of tools has changed; see mcplink_client_listen. The event has no params.
    MCPLINK_EVENT_TOOLS_CHANGED = 606,
    /// The list of prompts has changed; see mcplink_client_listen. The event has no params.
    MCPLINK_EVENT_PROMPTS_CHANGED = 607,
    /// The list of resources has changed; see mcplink_client_listen. The event has no params.
    MCPLINK_EVENT_RESOURCES_CHANGED = 608,
    /// The contents of a resource have changed; see mcplink_client_subscribe. The params are
    /// {"uri":"..."}.
    MCPLINK_EVENT_RESOURCE_UPDATED = 609,
    /// The server was unreachable, so change notifications may have been missed: assume that
    /// everything has changed. The event has no params.
    MCPLINK_EVENT_EVERYTHING_CHANGED = 610,
    /// Change notifications have ended, though the connection is open. The params are
    /// {"clean":true} when the server ended the subscription regularly, and otherwise
    /// {"clean":false}.
    MCPLINK_EVENT_CHANGES_ENDED = 611,
    /// The server has sent a log message. The params are
    /// {"level":"info","logger":"...","data":...}.
    MCPLINK_EVENT_LOG_MESSAGE = 612,
    /// The user has completed a URL elicitation. The params are {"elicitationId":"..."}. Only
    /// revision 2025-11-25 has this event.
    MCPLINK_EVENT_ELICITATION_COMPLETE = 613,
    /// The server has sent a notification for which the host has set a function. The params are the
    /// params of the notification.
    MCPLINK_EVENT_NOTIFICATION = 614,
    /// The state of a task has changed; see mcplink_client_listen. The params are the complete
    /// task, as returned by tasks/get, for example
    /// {"taskId":"...","status":"completed","result":{...},...}.
    MCPLINK_EVENT_TASK_CHANGED = 615,
}

use mcplink_event as Number;

impl Shared {
    /// Posts an event to the host, if the host has set an event function.
    fn tell(&self, kind: Kind, event: Number, params: Option<String>) {
        if let Some(hook) = self.hooks.event.clone() {
            post_event(&self.stage, self.number, kind, hook, event as i32, params);
        }
    }

    /// Stores the new connection. If `posts_event` is true, the host receives the event
    /// `CONNECTED`.
    pub(super) fn connected(&self, client: Client, posts_event: bool) -> Result<()> {
        let mut phase = self.phase.lock();
        let Phase::Connecting(early) = &mut *phase else {
            drop(phase);
            client.close();
            return Err(Error::new(ErrorKind::Cancelled, "connecting was cancelled"));
        };
        let early = early.take();
        *phase = Phase::Ready;
        let first = self.client.set(client);
        drop(phase);
        self.settled.notify_all();
        debug_assert!(first.is_ok(), "a client is connected once");
        if posts_event {
            self.tell(Kind::Call, Number::MCPLINK_EVENT_CONNECTED, None);
        }
        if early.is_some() {
            self.gone(early);
        }
        Ok(())
    }

    /// Records that connecting has failed. If `posts_event` is true, the host receives the event
    /// `FAILED`.
    pub(super) fn failed(&self, error: &Error, posts_event: bool) {
        let mut phase = self.phase.lock();
        if let Phase::Connecting(_) = &*phase {
            *phase = Phase::Failed(error.clone());
        }
        drop(phase);
        self.settled.notify_all();
        if posts_event {
            let params = Some(error_params(error).to_string());
            self.tell(Kind::Call, Number::MCPLINK_EVENT_FAILED, params);
        }
    }

    /// Records that the connection has ended for good. `error` is the reason, or `None` if the
    /// client was closed.
    pub(super) fn gone(&self, error: Option<Error>) {
        let mut phase = self.phase.lock();
        match &mut *phase {
            Phase::Connecting(early) if error.is_some() => {
                *early = error;
                return;
            }
            Phase::Closed | Phase::Failed(_) => return,
            _ => {}
        }
        let was_connected = !matches!(*phase, Phase::Connecting(_));
        *phase = Phase::Closed;
        drop(phase);
        self.settled.notify_all();
        if was_connected {
            let params = error.map(|error| error_params(&error).to_string());
            self.tell(Kind::Call, Number::MCPLINK_EVENT_CLOSED, params);
        }
    }

    fn connection_event(&self, event: ConnectionEvent) {
        let (phase, number, params) = match event {
            ConnectionEvent::GivenUp { error } => return self.gone(Some(error)),
            ConnectionEvent::Lost {
                error,
                attempt,
                delay,
            } => {
                let mut params = error_params(&error);
                params["attempt"] = attempt.into();
                params["delayMs"] = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX).into();
                (Phase::Lost, Number::MCPLINK_EVENT_LOST, params)
            }
            ConnectionEvent::Restored { attempt } => (
                Phase::Ready,
                Number::MCPLINK_EVENT_RESTORED,
                json!({ "attempt": attempt }),
            ),
        };
        let mut current = self.phase.lock();
        if let Phase::Ready | Phase::Lost = &*current {
            *current = phase;
        }
        drop(current);
        self.tell(Kind::Call, number, Some(params.to_string()));
    }

    /// Posts a change notification of the server as an event.
    pub(super) fn changed(&self, event: Event) {
        let (number, params) = match event {
            Event::ToolsChanged => (Number::MCPLINK_EVENT_TOOLS_CHANGED, None),
            Event::PromptsChanged => (Number::MCPLINK_EVENT_PROMPTS_CHANGED, None),
            Event::ResourcesChanged => (Number::MCPLINK_EVENT_RESOURCES_CHANGED, None),
            Event::ResourceUpdated(uri) => (
                Number::MCPLINK_EVENT_RESOURCE_UPDATED,
                Some(json!({ "uri": uri }).to_string()),
            ),
            Event::TaskChanged { json, .. } => (Number::MCPLINK_EVENT_TASK_CHANGED, Some(json)),
            Event::EverythingChanged => (Number::MCPLINK_EVENT_EVERYTHING_CHANGED, None),
            // The end of the connection has an event of its own.
            Event::Ended { .. } if self.closing.is_triggered() => return,
            Event::Ended { clean, .. } => (
                Number::MCPLINK_EVENT_CHANGES_ENDED,
                Some(json!({ "clean": clean }).to_string()),
            ),
        };
        self.tell(Kind::Event, number, params);
    }
}

/// Returns an error as the params of an event.
fn error_params(error: &Error) -> serde_json::Value {
    let status = mcplink_status::from(error.kind()).code();
    json!({ "status": status, "message": for_c(&error.to_string()) })
}

/// Registers callbacks with the builder of the client. The callbacks post the events of the
/// connection to the host.
pub(super) fn attach(mut builder: ClientBuilder, shared: &Arc<Shared>) -> ClientBuilder {
    let weak = || Arc::downgrade(shared);
    let me = weak();
    builder = builder.on_connection_event(move |event| {
        with(&me, |shared| shared.connection_event(event));
    });
    if shared.hooks.event.is_none() {
        builder = builder.log_connection_events();
    }
    if shared.hooks.event.is_some() {
        let me = weak();
        builder = builder.on_notification(method::NOTIFICATIONS_MESSAGE, move |_, message| {
            let params = Some(message.params().to_owned());
            with(&me, |shared| {
                shared.tell(Kind::Event, Number::MCPLINK_EVENT_LOG_MESSAGE, params);
            });
        });
        let me = weak();
        builder = builder.on_elicitation_complete(move |id| {
            let params = Some(json!({ "elicitationId": id }).to_string());
            with(&me, |shared| {
                shared.tell(
                    Kind::Event,
                    Number::MCPLINK_EVENT_ELICITATION_COMPLETE,
                    params,
                );
            });
        });
    }
    for (method, _) in &shared.hooks.notifications {
        let (me, name) = (weak(), method.clone());
        builder = builder.on_notification(method.clone(), move |_, notification| {
            let params = Some(notification.params().to_owned());
            with(&me, |shared| {
                let mut hooks = shared.hooks.notifications.iter();
                if let Some((_, hook)) = hooks.find(|(known, _)| *known == name) {
                    let hook = Arc::clone(hook);
                    let event = Number::MCPLINK_EVENT_NOTIFICATION as i32;
                    let (stage, number) = (&shared.stage, shared.number);
                    post_event(stage, number, Kind::Event, hook, event, params);
                }
            });
        });
    }
    let me = weak();
    builder = builder.on_log(move |record| {
        with(&me, |shared| {
            log::tell(shared.hooks.log.as_ref(), shared.number, record)
        });
    });
    builder
}

fn with(shared: &Weak<Shared>, run: impl FnOnce(&Shared)) {
    // Once the handle is freed, events have no receiver.
    if let Some(shared) = shared.upgrade() {
        run(&shared);
    }
}

/// The maximum number of standard error lines that wait for the host's callback. Further lines are
/// not passed to the callback; mcplink_client_stderr_tail still returns them.
const MAX_LINES: usize = 1024;

/// Lines of a child's standard error that wait for the host's callback.
#[derive(Default)]
pub(super) struct Lines(Mutex<VecDeque<String>>);

impl Lines {
    /// Returns a function that receives the standard error lines of the child process.
    pub(super) fn taker(shared: Weak<Shared>) -> impl FnMut(&str) + Send + 'static {
        let lines = Arc::new(Self::default());
        move |line| {
            let mut waiting = lines.0.lock();
            if waiting.len() >= MAX_LINES {
                return;
            }
            waiting.push_back(line.to_owned());
            let is_first = waiting.len() == 1;
            drop(waiting);
            if is_first {
                with(&shared, |shared| lines.hand_on(shared));
            }
        }
    }

    fn hand_on(self: &Arc<Self>, shared: &Shared) {
        let Some(hook) = shared.hooks.stderr.clone() else {
            return;
        };
        let (number, me) = (shared.number, Arc::clone(self));
        shared.stage.post(Kind::Call, move || {
            let lines = std::mem::take(&mut *me.0.lock());
            lines.iter().for_each(|line| one_line(number, &hook, line));
        });
    }
}

fn one_line(number: u64, hook: &Hook<LineFn>, line: &str) {
    let line = Text::from(line);
    // SAFETY: the header requires valid arguments.
    call_back(number, || unsafe {
        (hook.callback)(hook.user.ptr(), line.view());
    });
}
