//! The limits of the built-in validator.

use std::time::Duration;

/// Limits on schemas and on checks with them.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SchemaLimits {
    /// The longest schema, in bytes. Defaults to 256 KiB.
    pub max_schema_bytes: usize,
    /// The deepest nesting of a schema or of a checked text. Defaults to 64. With that a check uses
    /// up to 0.5 MiB of the stack of its thread, or 1.5 MiB in a debug build; greater values need
    /// more in proportion.
    pub max_depth: usize,
    /// The most parts of a schema that may apply to one value, including referenced ones. Defaults
    /// to 5000.
    pub max_schemas_per_value: usize,
    /// The longest time of one check. Defaults to 1 s. A usual check takes microseconds.
    pub max_time: Duration,
    /// Whether patterns may have look-around or back-references, which need more than linear time.
    /// Defaults to false: a schema with such a pattern is an error. The built-in validator of a
    /// server allows them, since the server's author wrote the schemas. A match stops after 10 000
    /// steps, and texts of more than 16 KiB are not matched.
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
