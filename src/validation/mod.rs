//! Checks JSON against JSON Schemas: what tools are called with, and what they give.
//!
//! A [`Validator`] turns a [`JsonSchema`] into a [`CompiledSchema`] once, and that checks any number of texts, from any thread. Servers
//! compile the schemas of a tool when it is added and check arguments before the handler runs and structured results before they are sent;
//! clients check structured results against the output schema that `tools/list` gave. Without a validator neither looks at schemas, and
//! arguments are checked by being read as the type that the handler takes.
//!
//! With the feature `validation` a validator is built in, and is what servers and clients use unless told otherwise
//! ([`ServerBuilder::validator`](crate::server::ServerBuilder::validator), [`ClientBuilder::validator`](crate::client::ClientBuilder::validator)).
//!
//! **Dialects** of the one that is built in: 2020-12, which is meant where a schema names none, and 2019-09, draft-07, draft-06 and draft-04.
//! Another one is an error that names it. `format` says something about a text where its dialect says so: up to
//! draft-07.
//!
//! **Nothing is fetched.** A `$ref` leads to a place in the same schema, or to the schema of a dialect. Another one is an error when the schema
//! is compiled; there is no setting that has it looked up.
//!
//! **Cost** is bounded by `SchemaLimits`: a schema by size, depth and how many of its parts can apply to one value; a check by time.
//! Patterns run in linear time. Those with look-around or references back, which can't, are refused in schemas of peers, and stop after a
//! bounded number of steps in a server's own.
//!
//! Spec: Base Protocol, "JSON Schema Usage" (since 2025-11-25); Server Features, Tools, "Output Schema" (since 2025-06-18).
// M-JSCH-B-02, L-JSCH-B-02, M-JSCH-B-08, M-JSCH-B-09

#[cfg(feature = "validation")]
mod cost;
#[cfg(feature = "validation")]
mod engine;
#[cfg(feature = "validation")]
mod metered;
#[cfg(feature = "validation")]
mod wording;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

#[cfg(feature = "validation")]
pub use self::engine::SchemaLimits;
use crate::error::{Error, ErrorKind, Result};
use crate::schema::JsonSchema;

type Compile = dyn Fn(&JsonSchema) -> Result<CompiledSchema> + Send + Sync;
type Check = dyn Fn(&str, Option<Instant>) -> Result<()> + Send + Sync;

/// Knows what JSON Schemas mean. Cheap to clone.
#[derive(Clone)]
pub struct Validator(Arc<Compile>);

impl Validator {
    /// The validator that is built in, with the default limits. Needs the feature `validation`.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::JsonSchema;
    /// use mcplink::validation::Validator;
    ///
    /// let schema = JsonSchema::parse(r#"{"type":"object","properties":{"n":{"type":"integer"}}}"#)?;
    /// let compiled = Validator::json_schema().compile(&schema)?;
    /// compiled.check(r#"{"n":1}"#)?;
    /// let error = compiled.check(r#"{"n":"one"}"#).unwrap_err();
    /// assert_eq!(error.to_string(), r#"/n: expected integer, got "one""#);
    /// # Ok::<(), mcplink::Error>(())
    /// ```
    #[cfg(feature = "validation")]
    pub fn json_schema() -> Self {
        Self::json_schema_within(SchemaLimits::default())
    }

    /// The validator that is built in, with limits of one's own. Needs the feature `validation`.
    #[cfg(feature = "validation")]
    pub fn json_schema_within(limits: SchemaLimits) -> Self {
        Self(Arc::new(move |schema| engine::compile(schema, &limits)))
    }

    /// Makes a validator of a function that compiles a schema to a function that checks a JSON text.
    ///
    /// Both fail in one sentence: the first when the schema can't be used, of the kind [`Invalid`](ErrorKind::Invalid) or
    /// [`Unsupported`](ErrorKind::Unsupported); the second, of the kind [`Invalid`](ErrorKind::Invalid), with the place in the
    /// text and what was expected there. The peer, and a model behind it, may get to read the second sentence. Checks run on the thread that
    /// serves or makes the call, many at once; what they cost is theirs to bound.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::validation::Validator;
    /// use mcplink::{Error, ErrorKind};
    ///
    /// let short_texts_only = Validator::custom(|_schema| {
    ///     Ok(|json: &str| match json.len() {
    ///         ..=1000 => Ok(()),
    ///         _ => Err(Error::new(ErrorKind::Invalid, "expected at most 1000 bytes")),
    ///     })
    /// });
    /// ```
    pub fn custom<C>(compile: impl Fn(&JsonSchema) -> Result<C> + Send + Sync + 'static) -> Self
    where
        C: Fn(&str) -> Result<()> + Send + Sync + 'static,
    {
        Self(Arc::new(move |schema| {
            let check = compile(schema)?;
            Ok(CompiledSchema::new(move |json, _| check(json)))
        }))
    }

    /// Makes a schema ready to check with.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] when it is not a schema of its dialect, or refers to something outside of itself;
    /// [`ErrorKind::Unsupported`] when its dialect is not known;
    /// [`ErrorKind::Limit`] when it exceeds a limit.
    pub fn compile(&self, schema: &JsonSchema) -> Result<CompiledSchema> {
        (self.0)(schema)
    }

    /// The same for a schema of a peer, whose data must not make the caller panic.
    pub(crate) fn compile_of_peer(&self, schema: &JsonSchema) -> Result<CompiledSchema> {
        guarded("the schema", || self.compile(schema))
    }

    /// What clients use unless told otherwise, for the schemas of servers.
    pub(crate) fn for_schemas_of_peers() -> Option<Self> {
        #[cfg(feature = "validation")]
        return Some(Self::json_schema());
        #[cfg(not(feature = "validation"))]
        None
    }

    /// What servers use unless told otherwise, for schemas of their own.
    pub(crate) fn for_own_schemas() -> Option<Self> {
        #[cfg(feature = "validation")]
        return Some(Self::json_schema_within(SchemaLimits {
            backtracking_patterns: true,
            ..SchemaLimits::default()
        }));
        #[cfg(not(feature = "validation"))]
        None
    }
}

impl fmt::Debug for Validator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Validator").finish_non_exhaustive()
    }
}

/// A schema that is ready to check with. Cheap to clone.
#[derive(Clone)]
pub struct CompiledSchema(Arc<Check>);

impl CompiledSchema {
    fn new(check: impl Fn(&str, Option<Instant>) -> Result<()> + Send + Sync + 'static) -> Self {
        Self(Arc::new(check))
    }

    /// Checks a JSON text.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] with the place, as a JSON Pointer, what was expected there and what came, when the text
    /// doesn't fit the schema; [`ErrorKind::Limit`] when that can't be told within the limits.
    pub fn check(&self, json: &str) -> Result<()> {
        (self.0)(json, None)
    }

    /// The same for a text of a peer, whose data must not make the caller panic. It ends at the
    /// deadline, of which a validator of one's own does not know.
    pub(crate) fn check_of_peer(&self, json: &str, deadline: Option<Instant>) -> Result<()> {
        guarded("the value", || (self.0)(json, deadline))
    }
}

/// Runs a validator on what may be a peer's data: a panic of it is an error.
fn guarded<T>(what: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        let text = format!("{what} can't be checked: the validator panicked");
        Err(Error::new(ErrorKind::Unsupported, text))
    })
}

impl fmt::Debug for CompiledSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompiledSchema").finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_validator_that_panics_on_data_of_a_peer_is_an_error() {
        type Checks = fn(&str) -> Result<()>;
        let schema = JsonSchema::parse("{}").expect("JSON");
        let of_schemas = Validator::custom(|_| -> Result<Checks> { panic!("a test panics") });
        let error = of_schemas.compile_of_peer(&schema).expect_err("it panics");
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        let of_values = Validator::custom(|_| Ok(|_: &str| panic!("a test panics")));
        let compiled = of_values.compile(&schema).expect("a function");
        let error = compiled.check_of_peer("1", None).expect_err("it panics");
        assert_eq!(error.kind(), ErrorKind::Unsupported);
    }
}
