//! JSON Schema validation of tool arguments and structured results.
//!
//! A [`Validator`] compiles a [`JsonSchema`] once to a [`CompiledSchema`], which checks any number
//! of texts, from any thread. A server compiles the schemas of a tool when the tool is added. The
//! server checks arguments before the handler runs, and structured results before they are sent. A
//! client checks structured results against the output schema from `tools/list`. A server or client
//! without a validator does not use the schemas. Arguments are then checked only by their
//! deserialization into the handler's type.
//!
//! The feature `validation` adds a built-in validator, which servers and clients use by default.
//! Without the feature, clients have no validator. Servers check the keywords that most schemas
//! consist of: `type`, `enum`, `const`, `minimum`, `maximum`, `exclusiveMinimum`,
//! `exclusiveMaximum`, `minLength`, `maxLength`, `minItems`, `maxItems`, `required`, `properties`,
//! `additionalProperties` and `items`. They check no schema that was derived from a type, since the
//! deserialization into the type makes these checks.
//! [`ServerBuilder::validator`](crate::server::ServerBuilder::validator) and
//! [`ClientBuilder::validator`](crate::client::ClientBuilder::validator) replace the validator.
//!
//! **Dialects** of the built-in validator: 2020-12, 2019-09, draft-07, draft-06 and draft-04. The
//! default for a schema that names no dialect is 2020-12. A schema of another dialect is an error
//! that names the dialect. `format` is checked where the dialect requires it: up to draft-07.
//!
//! **Nothing is fetched.** A `$ref` can refer to a part of the same schema, or to the schema of a
//! dialect. Any other reference is an error when the schema is compiled. No setting changes this.
//!
//! **Cost** is bounded by `SchemaLimits`. A schema is bounded in size, depth and the number of its
//! subschemas that can apply to one value. A check is bounded in time. Patterns run in linear time,
//! except patterns with look-around or back-references. Such patterns are errors in schemas of
//! peers. In a server's own schemas, their matching stops after a bounded number of steps.
//!
//! Spec: Base Protocol, "JSON Schema Usage" (since 2025-11-25); Server Features, Tools, "Output
//! Schema" (since 2025-06-18).
// M-JSCH-B-02, L-JSCH-B-02, M-JSCH-B-08, M-JSCH-B-09

#[cfg(feature = "validation")]
mod cost;
#[cfg(feature = "validation")]
mod engine;
#[cfg(feature = "validation")]
mod limits;
#[cfg(feature = "validation")]
mod metered;
#[cfg(feature = "validation")]
mod wording;

mod compiled;
#[cfg(not(feature = "validation"))]
mod decimal;
#[cfg(not(feature = "validation"))]
mod keywords;

use std::fmt;
use std::sync::Arc;

pub use self::compiled::CompiledSchema;
use self::compiled::guarded;
#[cfg(feature = "validation")]
pub use self::limits::SchemaLimits;
use crate::error::Result;
use crate::schema::JsonSchema;

type Compile = dyn Fn(&JsonSchema) -> Result<CompiledSchema> + Send + Sync;

/// A compiler of JSON Schemas. It is cheap to clone.
///
/// # Examples
///
/// ```
/// use mcplink::client::Client;
/// use mcplink::validation::Validator;
///
/// // A validator of your own; with the feature `validation`, `Validator::json_schema` is built in.
/// let validator = Validator::custom(|_schema| Ok(|_json: &str| Ok(())));
/// let builder = Client::builder("host", "1.0").validator(validator);
/// ```
#[derive(Clone)]
pub struct Validator {
    compile: Arc<Compile>,
    /// Whether a schema that was derived from a type needs no check beside the type's own
    /// deserialization and serialization.
    leaves_types: bool,
}

impl Validator {
    /// Returns the built-in validator with the default limits. Needs the feature `validation`.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::JsonSchema;
    /// use mcplink::validation::Validator;
    ///
    /// let schema = r#"{"type":"object","properties":{"n":{"type":"integer"}}}"#;
    /// let compiled = Validator::json_schema().compile(&JsonSchema::parse(schema)?)?;
    /// compiled.check(r#"{"n":1}"#)?;
    /// let error = compiled.check(r#"{"n":"one"}"#).unwrap_err();
    /// assert_eq!(error.to_string(), r#"/n: expected integer, got "one""#);
    /// # Ok::<(), mcplink::Error>(())
    /// ```
    #[cfg(feature = "validation")]
    pub fn json_schema() -> Self {
        Self::json_schema_within(SchemaLimits::default())
    }

    /// Returns the built-in validator with these limits. Needs the feature `validation`.
    #[cfg(feature = "validation")]
    pub fn json_schema_within(limits: SchemaLimits) -> Self {
        Self::new(move |schema| engine::compile(schema, &limits))
    }

    /// Makes a custom validator from a function that compiles a schema. The function returns
    /// another function, which checks a JSON text.
    ///
    /// The error text of both functions is one sentence. The compiling function fails if the schema
    /// can't be used, with the kind [`Invalid`](crate::ErrorKind::Invalid) or
    /// [`Unsupported`](crate::ErrorKind::Unsupported). The checking function fails with the kind
    /// [`Invalid`](crate::ErrorKind::Invalid). Its error text has the location in the JSON text
    /// and the expected value. The peer, and a model behind it, may read this error text. Checks
    /// run on the thread that serves or makes the call, many at once. The functions have to bound
    /// their own cost.
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
        Self::new(move |schema| {
            let check = compile(schema)?;
            Ok(CompiledSchema::new(move |json, _| check(json)))
        })
    }

    fn new(
        compile: impl Fn(&JsonSchema) -> Result<CompiledSchema> + Send + Sync + 'static,
    ) -> Self {
        Self {
            compile: Arc::new(compile),
            leaves_types: false,
        }
    }

    /// Compiles a schema.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) when the text is not a schema of its
    /// dialect, or refers to something outside of itself.
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) when its dialect is unknown.
    /// [`ErrorKind::Limit`](crate::ErrorKind::Limit) when the schema exceeds a limit.
    pub fn compile(&self, schema: &JsonSchema) -> Result<CompiledSchema> {
        (self.compile)(schema)
    }

    /// Compiles a schema that was derived from a type. Returns `None` if the validator leaves the
    /// checks to the type.
    pub(crate) fn compile_derived(&self, schema: &JsonSchema) -> Result<Option<CompiledSchema>> {
        match self.leaves_types {
            true => Ok(None),
            false => self.compile(schema).map(Some),
        }
    }

    /// Compiles a schema from a peer. Turns a panic of the validator into an error.
    pub(crate) fn compile_of_peer(&self, schema: &JsonSchema) -> Result<CompiledSchema> {
        guarded("the schema", || self.compile(schema))
    }

    /// Returns the default validator of clients, which is used for the schemas of servers.
    pub(crate) fn for_schemas_of_peers() -> Option<Self> {
        #[cfg(feature = "validation")]
        return Some(Self::json_schema());
        #[cfg(not(feature = "validation"))]
        None
    }

    /// Returns the default validator of servers, which is used for the server's own schemas.
    #[cfg(feature = "validation")]
    pub(crate) fn for_own_schemas() -> Self {
        Self::json_schema_within(SchemaLimits {
            backtracking_patterns: true,
            ..SchemaLimits::default()
        })
    }

    /// Returns the default validator of servers, which is used for the server's own schemas. It
    /// checks the keywords that most schemas consist of.
    #[cfg(not(feature = "validation"))]
    pub(crate) fn for_own_schemas() -> Self {
        let validator = Self::custom(|schema| {
            let schema = keywords::Schema::compile(&schema.read()?)?;
            Ok(move |json: &str| schema.check(json))
        });
        Self {
            leaves_types: true,
            ..validator
        }
    }
}

impl fmt::Debug for Validator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Validator").finish_non_exhaustive()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

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
