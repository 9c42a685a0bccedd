//! What header fields repeat of a request, for a modern server that is reached over HTTP.
//!
//! Spec: Transports, Streamable HTTP, "Standard Request Headers" and "Custom Headers from Tool Parameters" (2026-07-28).

use std::borrow::Cow;
use std::collections::HashMap;

use serde::Deserialize;

use super::Client;
use super::cache::Topic;
use super::link::Generation;
use crate::error::{Error, ErrorCode, ErrorKind, Excerpt, Result};
use crate::jsonrpc::members::{Members, read_beside};
use crate::protocol::{CallOptions, LogLevel};
use crate::schema::{ProtocolVersion, Tool, method};
use crate::sync::Mutex;
use crate::transport::carrier::{Field, Manner};
use crate::transport::http::field::{self, Mirror, Mirrored, PARAM_PREFIX};

/// So many tools are remembered; a server with more begins anew.
const MAX_TOOLS: usize = 100_000;

/// The parameters of a server's tools that header fields repeat, as far as the tools were listed.
#[derive(Debug, Default)]
pub(super) struct Mirrors(Mutex<HashMap<String, Vec<Mirrored>>>);

impl Mirrors {
    /// Remembers a tool. What is wrong with it, if it can't be used over HTTP.
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

    /// Adds the fields of a tool's parameters that have values.
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

/// Any text as the value of a field.
fn owned(text: &str) -> Cow<'static, str> {
    Cow::Owned(field::encode(text).into_owned())
}

/// The fields that every request of the modern era has.
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

impl Generation {
    /// What a transport with header fields needs to know of a request.
    pub(super) fn manner(&self, method: &str, params: &str) -> Result<Manner> {
        if !self.is_stateless() {
            return Ok(Manner::InSession);
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
            // They were just written as JSON.
            let read = read_beside::<Named<'_>, 1>(Members::of(params), ["arguments"]);
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
        Ok(Manner::Stateless(fields))
    }

    /// Leaves out the tools that can't be used over HTTP, and remembers how the others are called.
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

    /// Whether each request stands alone, with header fields that say what it is: to a modern server over HTTP.
    pub(super) fn is_stateless(&self) -> bool {
        self.revision.is_modern() && self.peer.core().carrier().is_some()
    }
}

impl Client {
    /// Whether a call was refused because its header fields don't fit the tool as it is now, and the tools were listed again since.
    pub(super) fn has_learned(
        &self,
        generation: &Generation,
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
        // What is kept of the list is what no longer holds.
        self.0
            .link
            .cache
            .forget(&Topic::of_list(method::TOOLS_LIST));
        self.list_tools_with(options.for_one()).is_ok()
    }
}
