//! Server events: sessions that begin and end, and incidents with clients.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::cffi::callback_executor::CallbackExecutor;
use crate::cffi::event::{EventFn, post_event};
use crate::cffi::queue::Kind;
use crate::cffi::status::mcplink_status;
use crate::cffi::user::Hook;
use crate::cffi::wording::for_c;
use crate::error::Error;
use crate::server::{
    ServerBuilder, ServerEvent, ServerEventKind, Session, SessionEvent, SessionTransport,
};

/// The kind of a server event. Ignore unknown kinds: later versions may add more.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum mcplink_server_event {
    /// A session began: a client has identified itself. The params are
    /// {"session":1,"transport":"stream","peer":"...","revision":"2025-11-25",
    /// "client":{"name":"...","version":"..."},"principal":"..."}. The transport is "stream" or
    /// "http". The members client and principal are omitted if they are unknown. See
    /// mcplink_session_number.
    MCPLINK_SERVER_SESSION_BEGAN = 1401,
    /// A session has ended. The params are those of MCPLINK_SERVER_SESSION_BEGAN. They also contain
    /// "status":-3,"message":"...", unless the host closed the session.
    MCPLINK_SERVER_SESSION_ENDED = 1402,
    /// A malformed message was refused. The params are {"session":1,"peer":"...","message":"..."}.
    /// The member session is omitted for a malformed HTTP request.
    MCPLINK_SERVER_MALFORMED = 1403,
    /// A message was refused because it was longer than MCPLINK_LIMIT_MESSAGE_BYTES, or because the
    /// system had no memory for it. The params are those of MCPLINK_SERVER_MALFORMED. The event
    /// does not occur over HTTP.
    MCPLINK_SERVER_TOO_LONG = 1404,
    /// A request was refused because too many requests are in flight, or a session was refused
    /// because too many sessions are open. The params are those of MCPLINK_SERVER_MALFORMED. For a
    /// request they also contain its method, such as "method":"tools/call".
    MCPLINK_SERVER_BUSY = 1405,
    /// A handler gave no answer or an invalid answer, and the client received an internal error.
    /// The params are those of MCPLINK_SERVER_MALFORMED. If the method is known, they also contain
    /// "method".
    MCPLINK_SERVER_HANDLER_FAILED = 1406,
    /// A request over HTTP was denied because of its header field Host, its origin or its
    /// credentials. The params are those of MCPLINK_SERVER_MALFORMED.
    MCPLINK_SERVER_DENIED = 1407,
}

use mcplink_server_event as Number;

/// The event callbacks of a server. Copies share the callbacks.
#[derive(Clone, Default)]
pub(super) struct EventHooks {
    pub(super) session: Option<Arc<Hook<EventFn>>>,
    pub(super) event: Option<Arc<Hook<EventFn>>>,
}

impl EventHooks {
    /// Registers the event callbacks with a server. `owner` is the number of the server's handle.
    pub(super) fn attach(
        &self,
        mut builder: ServerBuilder,
        owner: u64,
        stage: &Arc<CallbackExecutor>,
    ) -> ServerBuilder {
        if let Some(hook) = self.session.clone() {
            let stage = Arc::clone(stage);
            builder = builder.on_session(move |event| {
                let (number, params) = became(&event);
                let (hook, params) = (Arc::clone(&hook), Some(params.to_string()));
                post_event(&stage, owner, Kind::Call, hook, number as i32, params);
            });
        }
        if let Some(hook) = self.event.clone() {
            let stage = Arc::clone(stage);
            builder = builder.on_event(move |event| {
                let (number, params) = trouble(event);
                let (hook, params) = (Arc::clone(&hook), Some(params.to_string()));
                post_event(&stage, owner, Kind::Event, hook, number as i32, params);
            });
        }
        builder
    }
}

/// Converts the number of a connection into the session number for C. Session numbers begin at 1,
/// because 0 means that the number is unknown.
pub(super) fn session_number(connection: u64) -> u64 {
    connection + 1
}

fn became(event: &SessionEvent) -> (Number, Value) {
    match event {
        SessionEvent::Began { session } => {
            (Number::MCPLINK_SERVER_SESSION_BEGAN, described(session))
        }
        SessionEvent::Ended { session, error } => {
            let mut params = described(session);
            if let Some(error) = error {
                params["status"] = status(error).into();
                params["message"] = for_c(&error.to_string()).into();
            }
            (Number::MCPLINK_SERVER_SESSION_ENDED, params)
        }
    }
}

fn status(error: &Error) -> i32 {
    mcplink_status::from(error.kind()).code()
}

fn described(session: &Session) -> Value {
    let mut params = json!({
        "session": session_number(session.connection),
        "transport": match session.transport {
            SessionTransport::Stream => "stream",
            SessionTransport::Http => "http",
        },
        "peer": session.peer,
        "revision": session.revision.as_str(),
    });
    if let Some(client) = &session.client {
        params["client"] = json!(client);
    }
    if let Some(principal) = &session.principal {
        params["principal"] = principal.name().into();
    }
    params
}

fn trouble(event: &ServerEvent) -> (Number, Value) {
    let number = match event.kind {
        ServerEventKind::Malformed => Number::MCPLINK_SERVER_MALFORMED,
        ServerEventKind::TooLong => Number::MCPLINK_SERVER_TOO_LONG,
        ServerEventKind::Busy => Number::MCPLINK_SERVER_BUSY,
        ServerEventKind::HandlerFailed => Number::MCPLINK_SERVER_HANDLER_FAILED,
        ServerEventKind::Denied => Number::MCPLINK_SERVER_DENIED,
    };
    let mut params = json!({ "peer": event.peer, "message": for_c(&event.text) });
    if let Some(connection) = event.connection {
        params["session"] = session_number(connection).into();
    }
    if let Some(method) = &event.method {
        params["method"] = method.as_str().into();
    }
    (number, params)
}
