//! The types that tool handlers may return: texts, content, structured values, failures.

use std::any::Any;
use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
#[cfg(feature = "schemars")]
use serde_json::json;

use super::asking::AskError;
use super::call::ToolCall;
use super::context::Context;
use super::tools::ToolHandler;
use crate::error::{Error, RpcError};
use crate::schema::{CallToolResult, ContentBlock, JsonSchema};

/// The types that the handler of a tool may return.
///
/// These types are texts, content blocks, whole results, [`Json`] for structured values, `()`, and
/// a `Result` of any of these types with a [`ToolError`].
pub trait ToolOutput {
    /// Returns the JSON Schema of the structured value. Returns `None` if the type has no
    /// structured value.
    fn output_schema() -> Option<JsonSchema>
    where
        Self: Sized,
    {
        None
    }

    /// Converts the value into the result of the tool call.
    ///
    /// # Errors
    ///
    /// The failure of the tool. [`ToolError`] describes how the client gets each kind of failure.
    fn into_result(self) -> Result<CallToolResult, ToolError>;
}

impl ToolOutput for CallToolResult {
    fn into_result(self) -> Result<CallToolResult, ToolError> {
        Ok(self)
    }
}

impl ToolOutput for String {
    fn into_result(self) -> Result<CallToolResult, ToolError> {
        Ok(CallToolResult::text(self))
    }
}

impl ToolOutput for &str {
    fn into_result(self) -> Result<CallToolResult, ToolError> {
        Ok(CallToolResult::text(self))
    }
}

impl ToolOutput for () {
    fn into_result(self) -> Result<CallToolResult, ToolError> {
        Ok(CallToolResult::default())
    }
}

impl ToolOutput for ContentBlock {
    fn into_result(self) -> Result<CallToolResult, ToolError> {
        Ok(CallToolResult::new([self]))
    }
}

impl ToolOutput for Vec<ContentBlock> {
    fn into_result(self) -> Result<CallToolResult, ToolError> {
        Ok(CallToolResult::new(self))
    }
}

impl<T: ToolOutput> ToolOutput for Result<T, ToolError> {
    fn output_schema() -> Option<JsonSchema> {
        T::output_schema()
    }

    fn into_result(self) -> Result<CallToolResult, ToolError> {
        self?.into_result()
    }
}

/// A structured value as the result of a tool. The JSON of the value is also sent as text, for
/// clients that read only text.
// M-TOOL-S-20
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "it wraps one value and never anything else"
)]
pub struct Json<T>(pub T);

#[cfg(feature = "schemars")]
impl<T: Serialize + schemars::JsonSchema> ToolOutput for Json<T> {
    fn output_schema() -> Option<JsonSchema> {
        schema_of::<T>().ok()
    }

    fn into_result(self) -> Result<CallToolResult, ToolError> {
        structured(&self.0)
    }
}

#[cfg(not(feature = "schemars"))]
impl<T: Serialize> ToolOutput for Json<T> {
    fn into_result(self) -> Result<CallToolResult, ToolError> {
        structured(&self.0)
    }
}

fn structured(value: &impl Serialize) -> Result<CallToolResult, ToolError> {
    CallToolResult::default()
        .structured(value)
        .map_err(|error| ToolError(Failure::Unwritable(error)))
}

/// Returns the JSON Schema (2020-12) of a type.
#[cfg(feature = "schemars")]
pub(super) fn schema_of<T: schemars::JsonSchema>() -> crate::error::Result<JsonSchema> {
    JsonSchema::new(&schemars::schema_for!(T))
}

/// Returns the JSON Schema of a type that is used as a tool's arguments. For `()`, returns the
/// schema of an object without members, since arguments are always an object.
///
/// Spec: Server Features, Tools, "Tool" (2025-11-25, 2026-07-28).
#[cfg(feature = "schemars")]
pub(super) fn schema_of_arguments<T: schemars::JsonSchema>() -> crate::error::Result<JsonSchema> {
    let schema = schemars::schema_for!(T);
    if schema.get("type") == Some(&json!("null")) {
        return JsonSchema::new(&json!({"type": "object", "additionalProperties": false}));
    }
    JsonSchema::new(&schema)
}

/// The reason why a tool failed.
///
/// A failure *of the tool* becomes a result with `isError`, for the model to read and react to. A
/// `ToolError` that is made from a text, or from most errors with `?`, is a failure of the tool.
/// Three kinds of errors are different:
///
/// - An [`RpcError`] that is converted with `?` stays an error *of the protocol*.
/// - An [`Error`] of this library becomes an internal error. Its text is for the host only.
/// - An [`AskError`] for which [`is_failure`](AskError::is_failure) returns true becomes an
///   internal error too.
#[derive(Debug)]
pub struct ToolError(pub(super) Failure);

#[derive(Debug)]
pub(super) enum Failure {
    Tool(Box<CallToolResult>),
    Protocol(RpcError),
    /// A failure of the server. The text is logged for the host only.
    Inner(String),
    /// The handler returned a value that can't be written as JSON. `respond` returns this error to
    /// the handler.
    Unwritable(Error),
}

impl ToolError {
    /// Creates a failure of the tool with a text for the model.
    pub fn new(text: impl Into<String>) -> Self {
        Self(Failure::Tool(Box::new(CallToolResult::error(text))))
    }
}

impl<E: StdError + 'static> From<E> for ToolError {
    fn from(error: E) -> Self {
        let any: &dyn Any = &error;
        if let Some(error) = any.downcast_ref::<RpcError>() {
            Self(Failure::Protocol(error.clone()))
        } else if let Some(error) = any.downcast_ref::<Error>() {
            Self(Failure::Inner(error.to_string()))
        } else if any
            .downcast_ref::<AskError>()
            .is_some_and(AskError::is_failure)
        {
            // The error was logged when the handler made the input request.
            Self(Failure::Protocol(RpcError::internal("internal error")))
        } else {
            Self::new(error.to_string())
        }
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Failure::Tool(result) => f.write_str(
                result
                    .content
                    .iter()
                    .find_map(ContentBlock::as_text)
                    .unwrap_or("the tool failed"),
            ),
            Failure::Protocol(error) => write!(f, "{error}"),
            Failure::Inner(_) | Failure::Unwritable(_) => f.write_str("internal error"),
        }
    }
}

/// Returns a tool handler that runs `handler` and answers the call before it returns. Invalid
/// arguments are reported as a failure of the tool, so that the model can correct them.
// AMB-16
pub(super) fn answering<A, R>(
    handler: impl Fn(A, &Context) -> R + Send + Sync + 'static,
) -> ToolHandler
where
    A: DeserializeOwned,
    R: ToolOutput,
{
    Arc::new(move |call: ToolCall| {
        let answered = match call.arguments::<A>() {
            Ok(arguments) => {
                let output = handler(arguments, call.context());
                call.respond(output)
            }
            Err(error) => call.respond(Err::<(), _>(error)),
        };
        // Answering fails when the client no longer waits, which is not the handler's fault.
        drop(answered);
    })
}
