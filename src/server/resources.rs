//! The resources of a server: single resources, and templates for URIs that follow a pattern.
//!
//! A read request is served by the resource with the requested URI. If there is no such resource,
//! the request is served by the first template that matches, in the order of registration. A match
//! of the exact spelling is preferred to a match of the normalized URIs (RFC 3986, section 6.2).
//!
//! Spec: Server Features, "Resources" (every revision).

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::Serialize;

use super::call::Unanswered;
use super::catalogue::{Catalogue, Listed, listed};
use super::context::Context;
use super::error_map::{Failure, HandlerError, resource_not_found};
use super::guard::GuardedResult;
use super::mrtr::Rerun;
use super::output::Json;
use super::raw_result;
use super::uri::{UriTemplate, is_uri, why_no_uri};
use crate::error::{Error, Excerpt, Result, RpcError};
use crate::jsonrpc::RawResult;
use crate::schema::finite;
use crate::schema::url::normalized;
use crate::schema::{
    Annotations, CacheHint, FitTo, ListResourceTemplatesResult, ListResourcesResult,
    ProtocolVersion, ReadResourceResult, Resource, ResourceContents, ResourceTemplate,
};

pub(super) type ReadHandler = Arc<dyn Fn(ResourceCall) + Send + Sync>;
pub(super) type Resources = Catalogue<Resource, ReadHandler>;
pub(super) type Templates = Catalogue<ResourceTemplate, Pattern>;

/// The parsed URI pattern of a template, and the template's handler.
pub(super) struct Pattern {
    pub(super) addresses: UriTemplate,
    pub(super) handler: ReadHandler,
}

listed!(
    Resource in ListResourcesResult of Resources,
    "resource",
    uri,
    Resource,
    normalized by normalized
);
listed!(
    ResourceTemplate in ListResourceTemplatesResult of ResourceTemplates,
    "resource template",
    uri_template,
    ResourceTemplate
);

/// Adds a resource after checking its URI and annotations.
pub(super) fn add(resources: &Resources, resource: Resource, handler: ReadHandler) -> Result<()> {
    if !is_uri(&resource.uri) {
        let (uri, why) = (Excerpt(&resource.uri), why_no_uri(&resource.uri));
        let text = format!("'{uri}' is not the address of a resource: {why}");
        return Err(Error::invalid(text));
    }
    check_annotations(&resource, resource.annotations.as_ref())?;
    resources.add(resource, handler)
}

pub(super) fn add_template(
    templates: &Templates,
    template: ResourceTemplate,
    handler: ReadHandler,
) -> Result<()> {
    let addresses = UriTemplate::parse(&template.uri_template)?;
    check_annotations(&template, template.annotations.as_ref())?;
    templates.add(template, Pattern { addresses, handler })
}

fn check_annotations<T: Listed>(item: &T, annotations: Option<&Annotations>) -> Result<()> {
    annotations.map_or(Ok(()), |annotations| {
        let context = format_args!("{} '{}'", T::NOUN, Excerpt(item.key()));
        annotations.check().map_err(|error| error.context(context))
    })
}

/// A request to read a resource, as the handler of the resource gets it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ResourceRead {
    pub(super) uri: String,
    pub(super) mime_type: Option<String>,
    /// The names of the template's variables. `None` for a resource without a template.
    pub(super) declared: Option<Arc<[String]>>,
    pub(super) variables: BTreeMap<String, String>,
}

impl ResourceRead {
    /// Returns the URI in the client's spelling.
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// Returns the MIME type that the resource or its template was registered with.
    pub fn mime_type(&self) -> Option<&str> {
        self.mime_type.as_deref()
    }

    /// Parses the value of a template variable as `T`, for example as a number. Return the error
    /// with `?`.
    ///
    /// For a variable that the URI may omit, check first with [`variable`](Self::variable) whether
    /// it has a value.
    ///
    /// # Errors
    ///
    /// [`HandlerError::not_found`] when the URI has no value for the variable, or when the value
    /// can't be parsed: there is no resource with such a URI.
    ///
    /// If the template declares no variable of this name, the handler has a mistake: the client
    /// gets an internal error, and the text is for the host. See
    /// [`ServerBuilder::on_log`](super::ServerBuilder::on_log).
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::server::{HandlerError, ResourceRead};
    ///
    /// // The handler of the template `notes://{id}{?lines}`.
    /// fn note(read: &ResourceRead) -> Result<String, HandlerError> {
    ///     let id: u32 = read.get("id")?;
    ///     let lines = match read.variable("lines") {
    ///         Some(_) => read.get("lines")?,
    ///         None => 100,
    ///     };
    ///     Ok(format!("the first {lines} lines of note {id}"))
    /// }
    /// ```
    pub fn get<T: FromStr>(&self, name: &str) -> Result<T, HandlerError> {
        let is_declared = |names: &Arc<[String]>| names.iter().any(|declared| declared == name);
        if !self.declared.as_ref().is_some_and(is_declared) {
            let name = Excerpt(name);
            let text = match &self.declared {
                Some(_) => format!("its template declares no variable '{name}'"),
                None => format!("it belongs to no template, so it has no variable '{name}'"),
            };
            return Err(HandlerError(Failure::Inner(text)));
        }
        let value = self.variable(name).and_then(|value| value.parse().ok());
        value.ok_or_else(HandlerError::not_found)
    }

    /// Returns the value of a template variable, or `None` when the URI has no value for the
    /// variable. [`get`](Self::get) parses the value.
    ///
    /// Values come from the client. The values of `{var}` are percent-decoded, so they may contain
    /// `/` and `..` too. Check a value before using it in a path.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }

    /// Returns the values of all template variables, by name.
    pub fn variables(&self) -> &BTreeMap<String, String> {
        &self.variables
    }

    fn typed(&self, contents: ResourceContents) -> ReadResourceResult {
        ReadResourceResult::new([match &self.mime_type {
            Some(mime_type) => contents.mime_type(mime_type),
            None => contents,
        }])
    }
}

/// The types that the handler of a resource may return.
///
/// A `String` is the text of the resource and a `Vec<u8>` its bytes. Text and bytes are sent with
/// the requested URI and the registered MIME type. [`Json`] is sent as JSON text, with the MIME
/// type `application/json` if none is registered. One or several [`ResourceContents`] have a URI
/// and MIME type of their own.
///
/// A `Result` may hold a [`HandlerError`]. Both [`HandlerError::not_found`] and `None` mean that
/// the resource does not exist. [`Cached`] lets clients cache the wrapped value.
#[diagnostic::on_unimplemented(
    message = "a resource can't return `{Self}`",
    label = "the handler of this resource returns `{Self}`",
    note = "return a `String`, a `Vec<u8>`, `Json`, `ResourceContents` or a `ReadResourceResult`",
    note = "a resource that does not exist is `None`, or the error `HandlerError::not_found()`",
    note = "a handler that fails returns a `Result` with `HandlerError`: write `Ok(function()?)` for a function with another error type"
)]
pub trait ResourceOutput {
    /// Converts the value into the result of `resources/read`.
    ///
    /// # Errors
    ///
    /// The reason why the handler has no result.
    fn into_result(self, read: &ResourceRead) -> Result<ReadResourceResult, HandlerError>;
}

impl ResourceOutput for ReadResourceResult {
    fn into_result(self, _: &ResourceRead) -> Result<ReadResourceResult, HandlerError> {
        Ok(self)
    }
}

impl ResourceOutput for String {
    fn into_result(self, read: &ResourceRead) -> Result<ReadResourceResult, HandlerError> {
        Ok(read.typed(ResourceContents::text(read.uri(), self)))
    }
}

impl ResourceOutput for &str {
    fn into_result(self, read: &ResourceRead) -> Result<ReadResourceResult, HandlerError> {
        self.to_owned().into_result(read)
    }
}

impl ResourceOutput for Vec<u8> {
    fn into_result(self, read: &ResourceRead) -> Result<ReadResourceResult, HandlerError> {
        Ok(read.typed(ResourceContents::blob(read.uri(), &self)))
    }
}

impl<T: Serialize> ResourceOutput for Json<T> {
    fn into_result(self, read: &ResourceRead) -> Result<ReadResourceResult, HandlerError> {
        let text = serde_json::to_string(&self.0)?;
        // `serde_json` writes an infinite number and NaN as `null`.
        if text.contains("null")
            && let Some(found) = finite::unrepresentable(&self.0)
        {
            let text = format!("it has a number that JSON can't represent: {found}");
            return Err(HandlerError(Failure::Inner(text)));
        }
        let contents = ResourceContents::text(read.uri(), text).mime_type("application/json");
        Ok(read.typed(contents))
    }
}

impl ResourceOutput for ResourceContents {
    fn into_result(self, _: &ResourceRead) -> Result<ReadResourceResult, HandlerError> {
        Ok(ReadResourceResult::new([self]))
    }
}

impl ResourceOutput for Vec<ResourceContents> {
    fn into_result(self, _: &ResourceRead) -> Result<ReadResourceResult, HandlerError> {
        Ok(ReadResourceResult::new(self))
    }
}

impl<T: ResourceOutput> ResourceOutput for Option<T> {
    fn into_result(self, read: &ResourceRead) -> Result<ReadResourceResult, HandlerError> {
        self.ok_or_else(HandlerError::not_found)?.into_result(read)
    }
}

impl<T: ResourceOutput> ResourceOutput for Result<T, HandlerError> {
    fn into_result(self, read: &ResourceRead) -> Result<ReadResourceResult, HandlerError> {
        self?.into_result(read)
    }
}

/// The contents of a resource with a cache hint. The hint says how long and for which users clients
/// may cache the contents.
///
/// Clients of revisions before 2026-07-28 do not get the hint. Without a hint nothing is cached.
/// **Public means public**: a shared cache may give a public result to other users without a
/// request to this server. The hint is no access control: check the principal in the handler.
///
/// Spec: Server Features, Utilities, "Caching" (2026-07-28).
///
/// # Examples
///
/// ```
/// use std::time::Duration;
///
/// use mcplink::schema::{CacheHint, CacheScope, Resource};
/// use mcplink::server::{Cached, Server};
///
/// let an_hour = CacheHint::new(Duration::from_secs(3600), CacheScope::Public);
/// let server = Server::builder("docs", "1.0")
///     .resource(Resource::new("docs://terms", "terms"), move |_, _| {
///         Cached("Be kind.", an_hour.clone())
///     })
///     .build()?;
/// # Ok::<(), mcplink::Error>(())
/// ```
#[derive(Clone, Debug)]
#[expect(
    clippy::exhaustive_structs,
    reason = "it pairs a value with a hint and never holds anything else"
)]
pub struct Cached<T>(pub T, pub CacheHint);

impl<T: ResourceOutput> ResourceOutput for Cached<T> {
    fn into_result(self, read: &ResourceRead) -> Result<ReadResourceResult, HandlerError> {
        Ok(self.0.into_result(read)?.cached(self.1))
    }
}

/// A pending call to read a resource, which can be answered from any thread.
///
/// If the call is dropped without an answer, the client gets the input requests that the handler
/// [made](Context::ask). If the handler made no input request, or panicked, the client gets an
/// internal error.
pub struct ResourceCall {
    call: Unanswered,
    reading: Arc<Reading>,
}

impl ResourceCall {
    /// Returns the context of the call.
    pub fn context(&self) -> &Context {
        self.call.context()
    }

    /// Returns the request to read the resource: its URI and the values of its variables.
    pub fn read(&self) -> &ResourceRead {
        &self.reading.read
    }

    /// Answers the call.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Cancelled`](crate::ErrorKind::Cancelled) or
    /// [`ErrorKind::Closed`](crate::ErrorKind::Closed) when the client no longer waits.
    pub fn respond(self, output: impl ResourceOutput) -> Result<()> {
        let Self { call, reading } = self;
        let (read, context) = (&reading.read, call.into_context());
        let result = output.into_result(read).map(|mut result| {
            context.release(GuardedResult::Resource(&mut result));
            context.mark(&mut result.meta);
            result.fit_to(context.client().revision);
            result
        });
        let answer = result.map_err(|error| match error.0 {
            Failure::NotFound => resource_not_found(read.uri()),
            _ => context.reveal(error, "resource", read.uri()),
        });
        context.conclude(answer)
    }

    /// Answers the call with a result that another server gave, as
    /// [`ToolCall::respond_raw`](super::ToolCall::respond_raw) does for tools. The result of a
    /// server before 2026-07-28 is also parsed for a client since 2026-07-28, and gets the cache
    /// hint that this client requires: do not cache.
    ///
    /// # Errors
    ///
    /// The errors of [`respond`](Self::respond).
    pub fn respond_raw(self, result: RawResult, revision: ProtocolVersion) -> Result<()> {
        if !self.context().may_stay_raw(&result, revision, true) {
            let result = raw_result::parse(&result, revision, |result: &mut ReadResourceResult| {
                result.result_type = None;
                (result.ttl_ms, result.cache_scope) = (None, None);
            });
            return self.respond(result.map_err(HandlerError::from));
        }
        self.call.into_context().conclude_raw(result)
    }

    /// Answers that the resource does not exist, with the error code of the client's revision.
    ///
    /// # Errors
    ///
    /// The errors of [`respond`](Self::respond).
    pub fn not_found(self) -> Result<()> {
        self.respond(Err::<ReadResourceResult, _>(HandlerError::not_found()))
    }

    /// Answers the call with an error.
    ///
    /// # Errors
    ///
    /// The errors of [`respond`](Self::respond).
    pub fn refuse(self, error: &RpcError) -> Result<()> {
        self.call.refuse(error)
    }
}

impl fmt::Debug for ResourceCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResourceCall")
            .field("context", self.context())
            .field("read", self.read())
            .finish()
    }
}

/// Returns a resource handler that runs `handler` and answers the call with the return value.
pub(super) fn reading<R: ResourceOutput>(
    handler: impl Fn(&ResourceRead, &Context) -> R + Send + Sync + 'static,
) -> ReadHandler {
    Arc::new(move |call: ResourceCall| {
        let output = handler(call.read(), call.context());
        // Answering fails when the client no longer waits, which is not the handler's fault.
        _ = call.respond(output);
    })
}

/// Checks that a text is a URI.
pub(super) fn check_uri(uri: &str) -> Result<(), RpcError> {
    if is_uri(uri) {
        return Ok(());
    }
    let (uri, why) = (Excerpt(uri), why_no_uri(uri));
    let text = format!("uri '{uri}' is not the address of a resource: {why}");
    Err(RpcError::invalid_params(text))
}

/// A handler of a resource and the read request that is its input.
pub(super) struct Reading {
    pub(super) handler: ReadHandler,
    pub(super) read: ResourceRead,
}

impl Rerun for Reading {
    fn run(self: Arc<Self>, context: Context) {
        let reading = Arc::clone(&self);
        let call = Unanswered::new(context);
        (self.handler)(ResourceCall { call, reading });
    }
}
