//! Header fields that repeat parts of a request, for a modern server over HTTP.
//!
//! Spec: Transports, Streamable HTTP, "Standard Request Headers" and "Custom Headers from Tool
//! Parameters" (2026-07-28).

use std::borrow::Cow;
use std::collections::HashMap;

use serde::Deserialize;

use super::Client;
use super::cache::Topic;
use super::call_options::CallOptions;
use super::supervisor::ClientConnection;
use crate::error::{Error, ErrorCode, ErrorKind, Excerpt, Result};
use crate::jsonrpc::raw_object::{RawObject, read_beside};
use crate::protocol::LogLevel;
use crate::schema::{ProtocolVersion, Tool, method};
use crate::sync::Mutex;
use crate::transport::http::field::{self, Mirror, Mirrored, PARAM_PREFIX};
use crate::transport::message::{Field, RequestKind};

/// The maximum number of tools whose parameters are remembered. When another tool would exceed the
/// limit, all tools are forgotten first.
const MAX_TOOLS: usize = 100_000;

/// The parameters that are repeated in header fields, for each listed tool. The key is the name of
/// the tool. Tools without such parameters are not stored.
#[derive(Debug, Default)]
pub(super) struct Mirrors(Mutex<HashMap<String, Vec<Mirrored>>>);

impl Mirrors {
    /// Remembers which parameters of a tool are repeated in header fields. If the tool cannot be
    /// used over HTTP, returns the reason as an error.
    fn learn(&self, tool: &Tool) -> Result<(), String> {
        let mirrored = Mirrored::in_schema(tool.input_schema.as_str());
        let mut tools = self.0.lock();
        match mirrored {
            Ok(mirrored) if !mirrored.is_empty() => {
                if tools.len() >= MAX_TOOLS {
                    tools.clear();
                }
                tools.insert(tool.name.clone(), mirrored);
                Ok(())
            }
            Ok(_) => {
                tools.remove(&tool.name);
                Ok(())
            }
            Err(why) => {
                tools.remove(&tool.name);
                Err(why)
            }
        }
    }

    /// Adds header fields for those parameters of a tool that have values in the arguments.
    fn write(&self, tool: &str, arguments: Option<&str>, fields: &mut Vec<Field>) -> Result<()> {
        let tools = self.0.lock();
        let (Some(mirrored), Some(arguments)) = (tools.get(tool), arguments) else {
            return Ok(());
        };
        for parameter in mirrored {
            let text = match parameter.of(arguments) {
                Mirror::Absent => continue,
                Mirror::Text(text) => text,
                Mirror::Integer(integer) => integer.to_string(),
                Mirror::Impossible(why) => {
                    let text = format!(
                        "argument '{}' of tool '{}' has to be repeated in a header field, but {why}",
                        parameter.place(),
                        Excerpt(tool)
                    );
                    return Err(Error::new(ErrorKind::Invalid, text));
                }
            };
            let name = format!("{PARAM_PREFIX}{}", parameter.field);
            fields.push((Cow::Owned(name), owned(&text)));
        }
        Ok(())
    }
}

/// Encodes a text as the value of a header field.
fn owned(text: &str) -> Cow<'static, str> {
    Cow::Owned(field::encode(text).into_owned())
}

/// Returns the header fields that every modern request has.
pub(super) fn standard(revision: ProtocolVersion, method: &str) -> Vec<Field> {
    let method = match method {
        method::TOOLS_CALL => Cow::Borrowed(method::TOOLS_CALL),
        other => owned(other),
    };
    vec![
        (
            Cow::Borrowed("mcp-protocol-version"),
            Cow::Borrowed(revision.as_str()),
        ),
        (Cow::Borrowed("mcp-method"), method),
    ]
}

impl ClientConnection {
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

impl Client {
    /// Handles a call that was refused because its header fields no longer match the tool. Lists
    /// the tools again. Returns whether the call can be repeated.
    pub(super) fn has_learned(
        &self,
        generation: &ClientConnection,
        method: &str,
        error: &Error,
        options: &mut CallOptions<'_>,
    ) -> bool {
        let mismatch = error
            .rpc()
            .is_some_and(|rpc| rpc.code == ErrorCode::HEADER_MISMATCH);
        if !mismatch || method != method::TOOLS_CALL || !generation.is_stateless() {
            return false;
        }
        // The cached list is outdated.
        self.0
            .supervisor
            .cache
            .forget(&Topic::of_list(method::TOOLS_LIST));
        self.list_tools_with(options.for_one()).is_ok()
    }
}
