//! Header fields that repeat parts of a request, for a modern server over HTTP.
//!
//! Spec: Transports, Streamable HTTP, "Standard Request Headers" and "Custom Headers from Tool
//! Parameters" (2026-07-28).

use std::borrow::Cow;
use std::collections::HashMap;

use crate::error::{Error, ErrorKind, Excerpt, Result};
use crate::schema::{ProtocolVersion, Tool, method};
use crate::sync::Mutex;
use crate::transport::http::field::{self, Mirror, Mirrored, PARAM_PREFIX};
use crate::transport::message::Field;

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
    pub(super) fn learn(&self, tool: &Tool) -> Result<(), String> {
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
    pub(super) fn write(
        &self,
        tool: &str,
        arguments: Option<&str>,
        fields: &mut Vec<Field>,
    ) -> Result<()> {
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
pub(super) fn owned(text: &str) -> Cow<'static, str> {
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
