//! The limits of the built-in validator.

use std::time::Duration;

/// Limits of the built-in validator on schemas, and on checks with these schemas.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// use mcplink::client::Client;
/// use mcplink::validation::{SchemaLimits, Validator};
///
/// let mut limits = SchemaLimits::default();
/// limits.max_time = Duration::from_millis(100);
/// let builder = Client::builder("host", "1.0").validator(Validator::json_schema_within(limits));
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SchemaLimits {
    /// The maximum length of a schema, in bytes. Defaults to 256 KiB. A longer schema is an error.
    pub max_schema_bytes: usize,
    /// The maximum nesting of a schema or of a checked text. Defaults to 64. With 64 levels a check
    /// uses up to 0.5 MiB of its thread's stack, or 1.5 MiB in a debug build. Greater values need
    /// more stack in proportion.
    pub max_depth: usize,
    /// The maximum number of subschemas that may apply to one value, including referenced
    /// subschemas. Defaults to 5000. A schema that exceeds this limit is an error.
    pub max_schemas_per_value: usize,
    /// The maximum time of one check. Defaults to 1 s. A usual check takes microseconds.
    pub max_time: Duration,
    /// Whether patterns may have look-around or back-references, which need more than linear time.
    /// Defaults to false: a schema with such a pattern is an error.
    ///
    /// The built-in validator of a server allows these patterns, since the server's author wrote
    /// the schemas. The validator stops a match after 10 000 steps, and does not match texts of
    /// more than 16 KiB.
    pub backtracking_patterns: bool,
}

impl Default for SchemaLimits {
    fn default() -> Self {
        Self {
            max_schema_bytes: 256 << 10,
            max_depth: 64,
            max_schemas_per_value: 5000,
            max_time: Duration::from_secs(1),
            backtracking_patterns: false,
        }
    }
}
