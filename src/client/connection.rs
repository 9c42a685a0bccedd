//! One connection of a client: what calls need of it, and how its requests are described.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Deserialize;

use super::header_params::{Mirrors, owned, standard};
use super::input::InputHandlers;
use super::request_meta::RequestMeta;
use crate::error::{Error, ErrorKind, Excerpt, Result};
use crate::jsonrpc::raw_object::{RawObject, read_beside};
use crate::protocol::{LogLevel, Peer};
use crate::schema::{
    Implementation, InitializeRequestParams, ProtocolVersion, ServerCapabilities, Tool, method,
};
use crate::sync::{Condvar, Mutex};
use crate::transport::message::RequestKind;

/// The server's description of itself, received when the connection was opened.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ServerDescription {
    pub(super) revision: ProtocolVersion,
    pub(super) info: Option<Implementation>,
    pub(super) capabilities: ServerCapabilities,
    pub(super) instructions: Option<String>,
}

/// One connection of a client, with the data that calls need.
pub(super) struct ClientConnection {
    pub(super) number: u64,
    pub(super) peer: Peer,
    pub(super) envelope: RequestMeta,
    pub(super) inputs: InputHandlers,
    pub(super) revision: ProtocolVersion,
    pub(super) mirrors: Mirrors,
    /// The parameters for opening a new session; `None` if the server has no sessions.
    pub(super) reopening: Option<Reopening>,
}

/// The params and the timeout for opening a new session of the server.
#[derive(Debug)]
pub(super) struct Reopening {
    pub(super) params: InitializeRequestParams,
    pub(super) patience: Duration,
    pub(super) recovery: Arc<RecoveryLock>,
}

/// The lock for recovering the session. Only one caller at a time holds the lock.
#[derive(Debug, Default)]
pub(super) struct RecoveryLock {
    // Guards the right to recover, not the session, and is not held during requests. Waiters check
    // the session's number and `is_held` under this mutex.
    pub(super) state: Mutex<RecoveryState>,
    pub(super) changed: Condvar,
}

#[derive(Debug, Default)]
pub(super) struct RecoveryState {
    /// Whether a caller holds the recovery lock.
    pub(super) is_held: bool,
    /// The last time at which the server proved that it knows the session.
    pub(super) last_proved: Option<Instant>,
}

impl Reopening {
    pub(super) fn new(params: InitializeRequestParams, patience: Duration) -> Self {
        Self {
            params,
            patience,
            recovery: Arc::default(),
        }
    }
}

impl RecoveryLock {
    /// Wakes the callers that wait for the recovery lock.
    pub(super) fn wake(&self) {
        // The mutex is locked so that the wakeup cannot fall between a waiter's check and its wait.
        let _state = self.state.lock();
        self.changed.notify_all();
    }
}

impl ClientConnection {
    /// Returns the number of the session that the next request uses; `None` without sessions.
    pub(super) fn session(&self) -> Option<u64> {
        self.peer.core().exchange_transport()?.session()
    }

    /// Returns the time that users have taken for logins to this server so far.
    pub(super) fn user_time(&self) -> Duration {
        let transport = self.peer.core().exchange_transport();
        transport.map_or(Duration::ZERO, |transport| transport.user_time())
    }

    /// Returns how a request is sent: in the session, or stateless with header fields that describe
    /// the request.
    pub(super) fn request_kind(&self, method: &str, params: &str) -> Result<RequestKind> {
        if !self.is_stateless() {
            return Ok(RequestKind::InSession);
        }
        #[derive(Deserialize)]
        struct Named<'a> {
            #[serde(borrow, default)]
            name: Option<Cow<'a, str>>,
            #[serde(borrow, default)]
            uri: Option<Cow<'a, str>>,
            #[serde(borrow, default, rename = "taskId")]
            task_id: Option<Cow<'a, str>>,
        }
        let mut fields = standard(self.revision, method);
        let is_tool = method == method::TOOLS_CALL;
        let is_named = [
            method::PROMPTS_GET,
            method::RESOURCES_READ,
            method::TASKS_GET,
            method::TASKS_UPDATE,
            method::TASKS_CANCEL,
        ];
        if is_tool || is_named.contains(&method) {
            // The params are valid JSON, because this client has just serialized them.
            let read = read_beside::<Named<'_>, 1>(RawObject::of(params), ["arguments"]);
            let (named, [arguments]) = read.map_err(|error| {
                let text =
                    format!("params of {method} can't be repeated in header fields: {error}");
                Error::new(ErrorKind::Invalid, text)
            })?;
            let name = match method {
                method::RESOURCES_READ => named.uri,
                method::TOOLS_CALL | method::PROMPTS_GET => named.name,
                _ => named.task_id,
            };
            if let Some(name) = &name {
                fields.push((Cow::Borrowed("mcp-name"), owned(name)));
                if is_tool {
                    self.mirrors.write(name, arguments, &mut fields)?;
                }
            }
        }
        Ok(RequestKind::Stateless(fields))
    }

    /// Removes a tool from the list if the tool cannot be used over HTTP. For the other tools,
    /// remembers which parameters are repeated in header fields.
    pub(super) fn review(&self, tools: &mut Vec<Tool>) {
        if !self.is_stateless() {
            return;
        }
        tools.retain(|tool| match self.mirrors.learn(tool) {
            Ok(()) => true,
            Err(why) => {
                self.peer.core().log_as("client", LogLevel::Warning, || {
                    format!(
                        "tool '{}' of '{}' is left out: {why}",
                        Excerpt(&tool.name),
                        self.peer.name()
                    )
                });
                false
            }
        });
    }

    /// Whether each request is independent and described by header fields. This is so for a modern
    /// server over HTTP.
    pub(super) fn is_stateless(&self) -> bool {
        self.revision.is_modern() && self.peer.core().exchange_transport().is_some()
    }
}
