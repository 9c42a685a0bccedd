//! Compares the header fields of a modern request with its body. The fields must agree with the
//! body.
//!
//! Spec: Transports, "Streamable HTTP", "Server Validation" (2026-07-28).
// AMB-01

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::inner::Inner;
use super::super::session_state::unsupported_version;
use super::refusal::{one_value, token};
use crate::error::{ErrorCode, Excerpt, RpcError};
use crate::jsonrpc::Request;
use crate::jsonrpc::raw_object::RawObject;
use crate::jsonrpc::text::read_string;
use crate::schema::method;
use crate::transport::http::HttpRequest;
use crate::transport::http::field::{self, Mirror, Mirrored};

/// The members of a request's params that are compared with header fields, as JSON text. A member
/// of the wrong type counts as missing.
#[derive(Clone, Copy, Default)]
pub(super) struct ParamMembers<'a> {
    meta: Option<&'a str>,
    name: Option<&'a str>,
    uri: Option<&'a str>,
    task_id: Option<&'a str>,
    arguments: Option<&'a str>,
}

#[derive(Default, Deserialize)]
pub(super) struct Meta<'a> {
    #[serde(borrow, default, rename = "io.modelcontextprotocol/protocolVersion")]
    version: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "io.modelcontextprotocol/clientCapabilities")]
    capabilities: Option<&'a RawValue>,
}

impl<'a> ParamMembers<'a> {
    /// Reads the members from a request's params. If a member is duplicated, all members count as
    /// missing; the parser refuses these params later.
    pub(super) fn of(params: RawObject<'a>) -> Self {
        let mut envelope = Self::default();
        for (key, value) in params {
            let member = match &*key {
                "_meta" => &mut envelope.meta,
                "name" => &mut envelope.name,
                "uri" => &mut envelope.uri,
                "taskId" => &mut envelope.task_id,
                "arguments" => &mut envelope.arguments,
                _ => continue,
            };
            if member.replace(value).is_some() {
                return Self::default();
            }
        }
        envelope
    }

    pub(super) fn meta(&self) -> Meta<'a> {
        self.meta
            .and_then(|meta| serde_json::from_str(meta).ok())
            .unwrap_or_default()
    }
}

impl<'a> Meta<'a> {
    /// Returns the protocol revision that the body of the request names.
    pub(super) fn version(&self) -> Option<Cow<'a, str>> {
        self.version.map(RawValue::get).and_then(read_string)
    }
}

/// Compares the header fields of a modern request with its body, in the order of the
/// specification's rules. Also checks the revision.
///
/// A mismatch in the header fields of a tool's parameters is returned as `Ok(Some(error))`. The
/// caller reports this error only after the guards have admitted the client, because the error
/// reveals that the tool exists.
pub(super) fn check(
    server: &Inner,
    http: &HttpRequest<'_>,
    request: &Request,
    envelope: &ParamMembers<'_>,
    meta: &Meta<'_>,
) -> Result<Option<Box<RpcError>>, RpcError> {
    let version = meta.version();
    let is_known = |version: &str| {
        let mut modern = server.revisions.iter().filter(|known| known.is_modern());
        modern.any(|known| known.as_str() == version)
    };
    if let (None, Some(header)) = (&version, token(http, "MCP-Protocol-Version")) {
        // A client of another revision does not know what else is missing.
        let header = String::from_utf8_lossy(header);
        if !is_known(&header) {
            return Err(unsupported_version(&header, &server.revisions));
        }
    }
    if let Some(version) = &version {
        compare(http, "MCP-Protocol-Version", version)?;
    }
    compare(http, "Mcp-Method", request.method())?;
    let named = match request.method() {
        method::TOOLS_CALL | method::PROMPTS_GET => envelope.name,
        method::RESOURCES_READ => envelope.uri,
        "tasks/get" | "tasks/update" | "tasks/cancel" => envelope.task_id,
        _ => None,
    };
    let name = named.and_then(read_string);
    if let Some(name) = &name {
        compare(http, "Mcp-Name", name)?;
    }
    let Some(version) = version else {
        return Err(missing("protocolVersion"));
    };
    if !is_known(&version) {
        return Err(unsupported_version(&version, &server.revisions));
    }
    if meta.capabilities.is_none() {
        return Err(missing("clientCapabilities"));
    }
    let tool = name.filter(|_| request.method() == method::TOOLS_CALL);
    let compared = tool.map(|tool| compare_parameters(server, http, &tool, envelope.arguments));
    Ok(compared.and_then(Result::err).map(Box::new))
}

/// Compares header fields with the arguments of a tool call, for the parameters that the tool's
/// schema maps to header fields.
fn compare_parameters(
    server: &Inner,
    http: &HttpRequest<'_>,
    tool: &str,
    arguments: Option<&str>,
) -> Result<(), RpcError> {
    let Some(entry) = server.tools.find(tool) else {
        return Ok(());
    };
    // The schema was checked when the tool was added.
    let mirrored = Mirrored::in_schema(entry.item.input_schema.as_str()).unwrap_or_default();
    if mirrored.is_empty() {
        return Ok(());
    }
    let arguments = arguments.unwrap_or_default();
    for parameter in mirrored {
        let name = format!("{}{}", field::PARAM_PREFIX, parameter.field);
        let value = said(http, &name);
        let expected = parameter.of(arguments);
        let agrees = match (&expected, &value) {
            (Mirror::Absent, None) => true,
            (_, Some(Some(value))) => expected.is_said_by(value),
            _ => false,
        };
        if !agrees {
            let why = match (&expected, &value) {
                (Mirror::Impossible(why), _) => why,
                (_, None) => "it is missing",
                (_, Some(None)) => UNREADABLE,
                (Mirror::Absent, _) => "there is no such argument",
                _ => "it says something else",
            };
            return Err(mismatch(&format!(
                "header {} has to repeat argument {}: {why}",
                Excerpt(&name),
                Excerpt(&parameter.place())
            )));
        }
    }
    Ok(())
}

/// Returns the value of a header field, or `None` if the request lacks the field. Returns
/// `Some(None)` if the value can't be decoded, or if the field occurs several times with different
/// values. In the latter case an intermediary may have read another value.
fn said<'a>(http: &HttpRequest<'a>, name: &str) -> Option<Option<Cow<'a, str>>> {
    let mut values = http.values(name).map(|value| one_value(name, value));
    let value = values.next()?;
    let is_one = values.all(|other| other == value);
    Some(value.filter(|_| is_one).and_then(field::decode))
}

/// The error text for a header field that is present but has no usable value.
const UNREADABLE: &str = "it can't be decoded, or is there more than once with different values";

fn compare(http: &HttpRequest<'_>, name: &str, body: &str) -> Result<(), RpcError> {
    match said(http, name) {
        Some(Some(value)) if value == body => Ok(()),
        None => Err(mismatch(&format!(
            "header {name} is missing: it has to say '{}'",
            Excerpt(body)
        ))),
        Some(None) => Err(mismatch(&format!(
            "header {name} says nothing: {UNREADABLE}"
        ))),
        Some(Some(value)) => Err(mismatch(&format!(
            "header {name} says '{}', the body '{}'",
            Excerpt(&value),
            Excerpt(body)
        ))),
    }
}

fn mismatch(text: &str) -> RpcError {
    RpcError::new(ErrorCode::HEADER_MISMATCH, text)
}

fn missing(member: &str) -> RpcError {
    RpcError::invalid_params(format!(
        "params._meta lacks io.modelcontextprotocol/{member}"
    ))
}
