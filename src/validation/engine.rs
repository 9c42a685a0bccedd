//! The built-in validator: the crate `jsonschema`, with limits.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use jsonschema::error::ValidationErrorKind;
use jsonschema::{Draft, PatternOptions};
use serde_json::Value;

use super::compiled::CompiledSchema;
use super::limits::SchemaLimits;
use super::metered::{Bound, Counted, Metered};
use super::{cost, metered, wording};
use crate::error::{Error, ErrorKind, Result, Span};
use crate::jsonrpc::nesting;
use crate::schema::JsonSchema;

/// The maximum number of accesses to a value during the search for the location of an error. A
/// schema with many alternatives can need very many accesses.
const ACCESSES_FOR_LOCATION: usize = 100_000;
/// The maximum number of backtracking steps of a pattern with look-around or back-references.
const PATTERN_BACKTRACKS: usize = 10_000;
/// The maximum length of a text that is matched with a backtracking pattern, in bytes. Each
/// backtracking step may read the whole text.
const BACKTRACKED_BYTES: usize = 16 << 10;
/// The maximum compiled size of one pattern, in bytes.
const PATTERN_BYTES: usize = 1 << 20;
const ALL_PATTERNS_BYTES: usize = 16 << 20;
/// The minimum size limit of a pattern, in bytes. The patterns of a schema share a total size
/// limit. If the share of each pattern would be smaller than this minimum, the schema is an error.
const LEAST_PATTERN_BYTES: usize = 8 << 10;

pub(super) fn compile(schema: &JsonSchema, limits: &SchemaLimits) -> Result<CompiledSchema> {
    let text = schema.as_str();
    if text.len() > limits.max_schema_bytes {
        let text = format!(
            "a schema of {} bytes exceeds SchemaLimits::max_schema_bytes ({})",
            text.len(),
            limits.max_schema_bytes
        );
        return Err(Error::new(ErrorKind::Limit, text));
    }
    check_depth("the schema", text, limits)?;
    let schema: Value = schema.read()?;
    let patterns = cost::check(&schema, limits, is_known)?;
    let pattern_bytes = (ALL_PATTERNS_BYTES / patterns.max(1)).min(PATTERN_BYTES);
    if pattern_bytes < LEAST_PATTERN_BYTES {
        let max = ALL_PATTERNS_BYTES / LEAST_PATTERN_BYTES;
        let text = format!("the schema has {patterns} patterns, more than {max}");
        return Err(Error::new(ErrorKind::Limit, text));
    }
    let linear = PatternOptions::regex()
        .size_limit(pattern_bytes)
        .dfa_size_limit(pattern_bytes);
    let compiled = match build(&schema, linear) {
        Ok(compiled) => Compiled {
            validator: compiled,
            max_text: usize::MAX,
        },
        // The second attempt accepts more patterns. All other errors occur again.
        Err(_) if limits.backtracking_patterns => {
            let backtracking = PatternOptions::fancy_regex()
                .backtrack_limit(PATTERN_BACKTRACKS)
                .size_limit(pattern_bytes)
                .dfa_size_limit(pattern_bytes);
            Compiled {
                validator: build(&schema, backtracking)?,
                max_text: BACKTRACKED_BYTES,
            }
        }
        Err(error) => return Err(error),
    };
    let limits = limits.clone();
    Ok(CompiledSchema::new(move |json, deadline| {
        check(&compiled, json, &limits, deadline)
    }))
}

/// A compiled schema, and the maximum length of a text that is matched with its patterns.
struct Compiled {
    validator: jsonschema::Validator<Metered>,
    max_text: usize,
}

fn build<R>(schema: &Value, patterns: PatternOptions<R>) -> Result<jsonschema::Validator<Metered>> {
    let build = || {
        jsonschema::options_for::<Metered>()
            .offline()
            .with_pattern_options(patterns)
            .build(schema)
            .map_err(|error| Error::new(ErrorKind::Invalid, wording::refusal(&error, schema)))
    };
    // The schema may come from a peer: a panic of the validator must not unwind into the calling
    // thread.
    catch_unwind(AssertUnwindSafe(build)).unwrap_or_else(|_| {
        let text = "the schema can't be used: the validator failed on it";
        Err(Error::new(ErrorKind::Unsupported, text))
    })
}

fn is_known(dialect: &str) -> bool {
    use Draft::{Draft4, Draft6, Draft7, Draft201909, Draft202012};
    let dialect = Draft::from_schema_uri(dialect);
    [Draft4, Draft6, Draft7, Draft201909, Draft202012].contains(&dialect)
}

fn check(
    compiled: &Compiled,
    json: &str,
    limits: &SchemaLimits,
    deadline: Option<Instant>,
) -> Result<()> {
    let Compiled {
        validator,
        max_text,
    } = compiled;
    check_depth("the value", json, limits)?;
    let value: Value = serde_json::from_str(json)
        .map_err(|error| Error::new(ErrorKind::Invalid, format!("not usable as JSON: {error}")))?;
    // If the time overflows `Instant`, the check has no time limit.
    let until = Instant::now().checked_add(limits.max_time);
    let until = until.into_iter().chain(deadline).min();
    let bound = until.map_or(Bound::Accesses(usize::MAX), Bound::Until);
    match metered::run(bound, *max_text, || validator.is_valid(Counted(&value))) {
        Some(true) => return Ok(()),
        Some(false) => {}
        None if deadline.is_some_and(|deadline| Instant::now() >= deadline) => {
            let text = "whether the value fits its schema can't be told within the call's timeout";
            return Err(Error::new(ErrorKind::Timeout, text));
        }
        None => {
            let time = Span(limits.max_time);
            let text = match *max_text {
                usize::MAX => {
                    format!("whether the value fits its schema can't be told within {time}")
                }
                bytes => format!(
                    "whether the value fits its schema can't be told within {time}, or \
                     it has a text of more than {bytes} bytes, which a pattern that looks around \
                     or refers back is not tried on"
                ),
            };
            return Err(Error::new(ErrorKind::Limit, text));
        }
    }
    let found = metered::run(Bound::Accesses(ACCESSES_FOR_LOCATION), *max_text, || {
        let error = validator.validate(Counted(&value)).err()?;
        let undecided = matches!(
            error.kind(),
            ValidationErrorKind::BacktrackLimitExceeded { .. }
        );
        Some((undecided, wording::violation(&error, &value)))
    });
    match found.flatten() {
        Some((true, _)) => {
            let text = format!(
                "whether a text matches its pattern can't be told in {PATTERN_BACKTRACKS} steps"
            );
            Err(Error::new(ErrorKind::Limit, text))
        }
        Some((false, text)) => Err(Error::new(ErrorKind::Invalid, text)),
        None => {
            let text = "the value does not fit its schema";
            Err(Error::new(ErrorKind::Invalid, text))
        }
    }
}

fn check_depth(what: &str, text: &str, limits: &SchemaLimits) -> Result<()> {
    if !nesting::exceeds(text, limits.max_depth) {
        return Ok(());
    }
    let text = format!("{what} is nested deeper than {} levels", limits.max_depth);
    Err(Error::new(ErrorKind::Limit, text))
}
