//! The types that tool handlers may return: texts, content, structured values, failures.

use serde::Serialize;

#[cfg(feature = "schemars")]
use super::derived;
use super::error_map::{Failure, HandlerError};
use crate::schema::finite;
use crate::schema::{CallToolResult, ContentBlock, JsonSchema};

/// The types that the handler of a tool may return.
///
/// These types are texts, numbers, `bool`, content blocks, whole results, [`Json`] for structured
/// values, `()`, an `Option` of any of these types, and a `Result` of any of these types with a
/// [`HandlerError`]. A number or a `bool` is sent as text. `None` is a result without content.
///
/// For a function with another error type, convert the error with `?`:
/// `|arguments: Query, _: &Context| Ok(run(arguments)?)`.
#[diagnostic::on_unimplemented(
    message = "a tool can't return `{Self}`",
    label = "the handler of this tool returns `{Self}`",
    note = "wrap a structured value in `Json`, or return a text, content or a `CallToolResult`",
    note = "a handler that fails returns a `Result` with `HandlerError`: write `Ok(function()?)` for a function with another error type"
)]
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
    /// The failure of the tool. [`HandlerError`] describes how the client gets each kind of
    /// failure.
    fn into_result(self) -> Result<CallToolResult, HandlerError>;
}

impl ToolOutput for CallToolResult {
    fn into_result(self) -> Result<CallToolResult, HandlerError> {
        Ok(self)
    }
}

impl ToolOutput for String {
    fn into_result(self) -> Result<CallToolResult, HandlerError> {
        Ok(CallToolResult::text(self))
    }
}

impl ToolOutput for &str {
    fn into_result(self) -> Result<CallToolResult, HandlerError> {
        Ok(CallToolResult::text(self))
    }
}

impl ToolOutput for () {
    fn into_result(self) -> Result<CallToolResult, HandlerError> {
        Ok(CallToolResult::default())
    }
}

macro_rules! text_outputs {
    ($($type:ty),+) => {
        $(impl ToolOutput for $type {
            fn into_result(self) -> Result<CallToolResult, HandlerError> {
                Ok(CallToolResult::text(self.to_string()))
            }
        })+
    };
}

text_outputs!(
    bool, i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize, f32, f64
);

impl<T: ToolOutput> ToolOutput for Option<T> {
    fn output_schema() -> Option<JsonSchema> {
        None
    }

    fn into_result(self) -> Result<CallToolResult, HandlerError> {
        self.map_or_else(|| Ok(CallToolResult::default()), T::into_result)
    }
}

impl ToolOutput for ContentBlock {
    fn into_result(self) -> Result<CallToolResult, HandlerError> {
        Ok(CallToolResult::new([self]))
    }
}

impl ToolOutput for Vec<ContentBlock> {
    fn into_result(self) -> Result<CallToolResult, HandlerError> {
        Ok(CallToolResult::new(self))
    }
}

impl<T: ToolOutput> ToolOutput for Result<T, HandlerError> {
    fn output_schema() -> Option<JsonSchema> {
        T::output_schema()
    }

    fn into_result(self) -> Result<CallToolResult, HandlerError> {
        self?.into_result()
    }
}

/// A structured value as the result of a tool or as the contents of a resource.
///
/// The JSON of a tool's result is also sent as text, for clients that read only text. The contents
/// of a resource are the JSON text, with the MIME type `application/json` if the resource was
/// registered without a MIME type.
///
/// A number that JSON can't represent (infinite or NaN) is a failure of the tool. For a resource,
/// the client gets an internal error.
///
/// # Examples
///
/// ```
/// # #[cfg(feature = "schemars")]
/// # fn main() -> mcplink::Result<()> {
/// use mcplink::server::{Json, Server};
/// # use mcplink::client::Client;
/// # use mcplink::transport::memory;
/// use serde_json::json;
///
/// #[derive(serde::Serialize, schemars::JsonSchema)]
/// struct Time { hour: u8 }
///
/// let server = Server::builder("clock", "1.0")
///     .tool("now", "Tells the time", |(), _| Json(Time { hour: 12 }))
///     .build()?;
/// # let (here, there) = memory::pair();
/// # let connection = server.open(there)?;
/// # let client = Client::connect(here)?;
/// let result = client.call_tool("now", &json!({}))?;
/// assert_eq!(result.read_structured()?, Some(json!({ "hour": 12 })));
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "schemars"))]
/// # fn main() {}
/// ```
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
        JsonSchema::new(&derived::schema_of::<T>()).ok()
    }

    fn into_result(self) -> Result<CallToolResult, HandlerError> {
        structured(&self.0)
    }
}

#[cfg(not(feature = "schemars"))]
impl<T: Serialize> ToolOutput for Json<T> {
    fn into_result(self) -> Result<CallToolResult, HandlerError> {
        structured(&self.0)
    }
}

/// Makes the result of a structured value. A number that JSON can't represent is a failure of the
/// tool, because it would be written as `null`.
fn structured(value: &impl Serialize) -> Result<CallToolResult, HandlerError> {
    CallToolResult::default()
        .structured(value)
        .map_err(|error| match finite::unrepresentable(value) {
            Some(_) => HandlerError::new(error.to_string()),
            None => HandlerError(Failure::Unwritable(error)),
        })
}
