//! The check of a tool's results against its output schema.

use crate::error::{Error, Result};
use crate::schema::CallToolResult;
use crate::validation::CompiledSchema;

/// The requirements that a tool's output schema makes on the results of the tool.
#[derive(Clone, Debug)]
pub(super) enum OutputCheck {
    /// The tool has no output schema, so all results are valid.
    Nothing,
    /// Results must be structured. Results are not checked against the schema, since the server has
    /// no validator, or since the schema was derived from the type of the results.
    Structured,
    /// Results must be structured, and are checked against this schema.
    Fitting(CompiledSchema),
}

impl OutputCheck {
    /// Checks a result against the output schema. A result with `isError` needs no structured
    /// content.
    pub(super) fn check(&self, result: &CallToolResult) -> Result<()> {
        if result.is_error() || matches!(self, Self::Nothing) {
            return Ok(());
        }
        let Some(content) = &result.structured_content else {
            let text = "it has no structured content, which its output schema promises";
            return Err(Error::invalid(text));
        };
        match self {
            Self::Fitting(schema) => schema
                .check(content.get())
                .map_err(|error| error.context("it does not fit its output schema")),
            _ => Ok(()),
        }
    }
}
