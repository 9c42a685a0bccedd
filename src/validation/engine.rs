//! The validator that is built in: the crate `jsonschema` within bounds.

use std::time::{Duration, Instant};

use jsonschema::{Draft, PatternOptions};
use serde_json::Value;

use super::metered::{Bound, Counted, Metered};
use super::{CompiledSchema, cost, metered, wording};
use crate::error::{Error, ErrorKind, Result, Span};
use crate::jsonrpc::nesting;
use crate::schema::JsonSchema;

/// Looking for the place of an error may take so many looks at the value. Where schemas have many alternatives it can take very many.
const LOOKS_FOR_THE_PLACE: usize = 100_000;
/// How often a pattern with look-around or references back may try another way.
const PATTERN_BACKTRACKS: usize = 10_000;
/// How large a pattern may be when compiled.
const PATTERN_BYTES: usize = 1 << 20;

/// Upper bounds of schemas and of checks with them.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SchemaLimits {
    /// How long a schema may be, in bytes. Defaults to 256 KiB.
    pub max_schema_bytes: usize,
    /// How deep a schema, or a text that is checked, may be nested. Defaults to 64, with which a check takes up to 0.5 MiB
    /// of the stack of its thread, or 1.5 MiB in a debug build; more takes more in proportion.
    pub max_depth: usize,
    /// How many parts of a schema may apply to one and the same value, references followed. Defaults to 5000.
    pub max_schemas_per_value: usize,
    /// How long one check may take. Defaults to 1 s. The usual one takes microseconds.
    pub max_time: Duration,
}

impl Default for SchemaLimits {
    fn default() -> Self {
        Self {
            max_schema_bytes: 256 << 10,
            max_depth: 64,
            max_schemas_per_value: 5000,
            max_time: Duration::from_secs(1),
        }
    }
}

pub(super) fn compile(schema: &JsonSchema, limits: &SchemaLimits) -> Result<CompiledSchema> {
    let text = schema.as_str();
    if text.len() > limits.max_schema_bytes {
        let text = format!(
            "a schema of {} bytes exceeds max_schema_bytes ({})",
            text.len(),
            limits.max_schema_bytes
        );
        return Err(Error::new(ErrorKind::Limit, text));
    }
    check_depth("the schema", text, limits)?;
    let schema: Value = schema.read()?;
    cost::check(&schema, limits, is_known)?;
    let patterns = PatternOptions::fancy_regex()
        .backtrack_limit(PATTERN_BACKTRACKS)
        .size_limit(PATTERN_BYTES)
        .dfa_size_limit(PATTERN_BYTES);
    let compiled = jsonschema::options_for::<Metered>()
        .offline()
        .with_pattern_options(patterns)
        .build(&schema)
        .map_err(|error| Error::new(ErrorKind::Invalid, wording::refusal(&error, &schema)))?;
    let limits = limits.clone();
    Ok(CompiledSchema::new(move |json| {
        check(&compiled, json, &limits)
    }))
}

fn is_known(dialect: &str) -> bool {
    use Draft::{Draft4, Draft6, Draft7, Draft201909, Draft202012};
    let dialect = Draft::from_schema_uri(dialect);
    [Draft4, Draft6, Draft7, Draft201909, Draft202012].contains(&dialect)
}

fn check(
    compiled: &jsonschema::Validator<Metered>,
    json: &str,
    limits: &SchemaLimits,
) -> Result<()> {
    check_depth("the value", json, limits)?;
    let value: Value = serde_json::from_str(json)
        .map_err(|error| Error::new(ErrorKind::Invalid, format!("not usable as JSON: {error}")))?;
    // A time that can't be expressed is longer than anyone waits.
    let until = Instant::now().checked_add(limits.max_time);
    let bound = until.map_or(Bound::Looks(usize::MAX), Bound::Until);
    match metered::run(bound, || compiled.is_valid(Counted(&value))) {
        Some(true) => return Ok(()),
        Some(false) => {}
        None => {
            let text = format!(
                "whether the value fits its schema can't be told within max_time ({})",
                Span(limits.max_time)
            );
            return Err(Error::new(ErrorKind::Limit, text));
        }
    }
    let found = metered::run(Bound::Looks(LOOKS_FOR_THE_PLACE), || {
        let error = compiled.validate(Counted(&value)).err()?;
        Some(wording::violation(&error, &value))
    });
    let text = found
        .flatten()
        .unwrap_or_else(|| "the value does not fit its schema".to_owned());
    Err(Error::new(ErrorKind::Invalid, text))
}

fn check_depth(what: &str, text: &str, limits: &SchemaLimits) -> Result<()> {
    if !nesting::exceeds(text.as_bytes(), limits.max_depth) {
        return Ok(());
    }
    let text = format!(
        "{what} is nested deeper than max_depth ({})",
        limits.max_depth
    );
    Err(Error::new(ErrorKind::Limit, text))
}
