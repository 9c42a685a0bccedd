//! Requests, as handlers of the host read them.

use std::ffi::c_char;
use std::sync::{Arc, OnceLock};
use std::time::UNIX_EPOCH;

use serde::Serialize;

use super::handle::slots;
use super::json::{Document, JsonNode, mcplink_json_t};
use super::log;
use super::pending_request::Call;
use super::text::{Text, mcplink_str_t, name};
use crate::error::Error;
use crate::schema::method;
use crate::server::{ClientContext, Principal};

/// A request that a handler of the host answers. The request is valid as long as its responder:
/// until the handler returns, or, if the responder was kept, until the last mcplink_responder_free
/// for that responder. Any thread may read the request.
pub struct mcplink_request_t {
    method: Text,
    name: Text,
    /// The text that the user has typed so far, in a completion request.
    typed: Text,
    /// The params of the request as JSON text, as received.
    params: Box<str>,
    tree: OnceLock<Option<Document>>,
    /// The variables of the URI template, as JSON, in a resource request.
    variables: Option<Box<str>>,
    variables_tree: OnceLock<Option<Document>>,
    /// The path of the arguments in the params. `None` for a resource, whose arguments are the
    /// variables.
    arguments: Option<&'static [&'static str]>,
    /// The input schema of the tool, or a schema of the prompt's arguments; `None` for requests of
    /// other kinds.
    schema: Option<Arc<Document>>,
    session: u64,
    tag: Option<u64>,
    principal: Option<Text>,
    identity: Option<Principal>,
    scopes: OnceLock<Text>,
    terms: Option<Arc<ClientContext>>,
    revision: OnceLock<Text>,
    client_info: OnceLock<Option<Document>>,
    capabilities: OnceLock<Option<Document>>,
}

object!(mcplink_request_t is Request);

impl mcplink_request_t {
    /// Makes a request from its method and the JSON text of its params.
    pub(super) fn new(method: &str, params: &str) -> Self {
        Self {
            method: method.into(),
            name: "".into(),
            typed: "".into(),
            params: params.into(),
            tree: OnceLock::new(),
            variables: None,
            variables_tree: OnceLock::new(),
            arguments: Some(&[]),
            schema: None,
            session: 0,
            tag: None,
            principal: None,
            identity: None,
            scopes: OnceLock::new(),
            terms: None,
            revision: OnceLock::new(),
            client_info: OnceLock::new(),
            capabilities: OnceLock::new(),
        }
    }

    /// Makes the request object for a handler, with the data of the pending request `call`. Returns
    /// `None` for requests of a server to a client, and for requests of custom methods, which are
    /// made with [`new`](Self::new) and [`from`](Self::from).
    pub(super) fn of(call: &Call) -> Option<Self> {
        let context = call.context()?;
        let mut request = Self::new(context.method(), context.params());
        request.name = match call {
            Call::Tool(call, _) => call.name().into(),
            Call::Resource(call, _) => call.read().uri().into(),
            Call::Prompt(call, _) => call.name().into(),
            Call::Completion(call, _) => call.completing().argument().into(),
            Call::Method(_) | Call::Question(_) => "".into(),
        };
        request.arguments = match call {
            Call::Resource(..) => None,
            Call::Completion(..) => Some(&["context", "arguments"]),
            _ => Some(&["arguments"]),
        };
        if let Call::Completion(call, _) = call {
            request.typed = call.completing().value().into();
        }
        if let Call::Resource(call, _) = call {
            let variables = serde_json::to_string(call.read().variables());
            request.variables = variables.ok().map(String::into_boxed_str);
        }
        request.terms = Some(Arc::clone(context.shared_terms()));
        Some(request.from(context.connection(), context.identity().cloned()))
    }

    /// Adds the number of the server's connection on which the request came, and the principal.
    pub(super) fn from(mut self, connection: u64, identity: Option<Principal>) -> Self {
        self.session = connection + 1;
        self.principal = identity.as_ref().map(|who| who.name().into());
        self.identity = identity;
        self
    }

    /// Adds the tag of the client's call that needs the input.
    pub(super) fn with_tag(mut self, tag: Option<u64>) -> Self {
        self.tag = tag;
        self
    }

    /// Adds the schema that declares the arguments.
    pub(super) fn with_schema(mut self, schema: Option<Arc<Document>>) -> Self {
        self.schema = schema;
        self
    }

    /// Parses the arguments before the handler runs. Returns an error if the arguments have no C
    /// representation, for example because a string contains a lone surrogate. Without this check
    /// the arguments would look missing.
    pub(super) fn fault(&self) -> Option<Error> {
        self.arguments?;
        match Document::parse(&self.params) {
            Ok(tree) => {
                // The tree is not set yet: the handler has not run.
                _ = self.tree.set(Some(tree));
                None
            }
            Err(error) => Some(error.context("the params can't be read")),
        }
    }

    /// Returns the name of the tool or prompt.
    pub(super) fn name(&self) -> &str {
        self.name.as_str()
    }

    /// Returns whether the request is a tool call. The model sees the errors of tool calls.
    pub(super) fn is_of_tool(&self) -> bool {
        self.method.as_str() == method::TOOLS_CALL
    }

    fn tree(&self) -> Option<&JsonNode> {
        parsed(&self.tree, || Some((*self.params).to_owned()))
    }

    fn arguments(&self) -> Option<&JsonNode> {
        match self.arguments {
            Some(path) => path
                .iter()
                .try_fold(self.tree()?, |node, step| node.member(step)),
            None => parsed(&self.variables_tree, || {
                self.variables.as_deref().map(str::to_owned)
            }),
        }
    }

    /// Returns an argument of the call, or the default of the argument.
    pub(super) fn argument(&self, name: &str) -> Argument<'_> {
        if let Some(given) = self.arguments().and_then(|all| all.member(name)) {
            return Argument::Given(given);
        }
        let Some(schema) = self.schema.as_deref() else {
            return Argument::Optional;
        };
        let declared = schema.member("properties").and_then(|all| all.member(name));
        let Some(declared) = declared else {
            return match takes_other_names(schema) {
                true => Argument::Optional,
                false => Argument::Undeclared,
            };
        };
        if let Some(default) = declared.member("default") {
            return Argument::Given(default);
        }
        let required = schema.member("required");
        let mut names = (0..).map_while(|at| required?.item(at));
        if names.any(|required| required.as_str() == Some(name)) {
            return Argument::Missing;
        }
        Argument::Optional
    }

    /// Returns the granted scopes; `None` if the scopes are unknown.
    fn scopes(&self) -> Option<&Text> {
        let granted = self.identity.as_ref()?.granted()?;
        Some(self.scopes.get_or_init(|| {
            let all: Vec<&str> = granted.iter().map(String::as_str).collect();
            all.join(" ").into()
        }))
    }

    fn revision(&self) -> Option<&Text> {
        let terms = self.terms.as_ref()?;
        let revision = self.revision.get_or_init(|| terms.revision.as_str().into());
        Some(revision)
    }
}

/// The result of a look-up of an argument.
pub(super) enum Argument<'a> {
    /// The value of the argument, or its default.
    Given(&'a JsonNode),
    /// The call omits an optional argument that has no default.
    Optional,
    /// The call omits an argument that the tool requires.
    Missing,
    /// The tool or prompt has no argument of this name.
    Undeclared,
}

/// Whether a schema says in other ways than by `properties` that there are arguments.
fn takes_other_names(schema: &JsonNode) -> bool {
    const OTHERS: [&str; 8] = [
        "$dynamicRef",
        "$ref",
        "allOf",
        "anyOf",
        "dependentSchemas",
        "if",
        "oneOf",
        "patternProperties",
    ];
    let additional = schema.member("additionalProperties");
    additional.is_some_and(|rule| rule.as_bool() != Some(false))
        || OTHERS
            .iter()
            .any(|keyword| schema.member(keyword).is_some())
}

/// Returns a JSON tree. The tree is parsed on first use.
fn parsed(
    tree: &OnceLock<Option<Document>>,
    text: impl FnOnce() -> Option<String>,
) -> Option<&JsonNode> {
    // A message is valid JSON, but may contain a value that C can't represent. Then the message has
    // no tree.
    tree.get_or_init(|| Document::parse(&text()?).ok())
        .as_deref()
}

fn written(value: &impl Serialize) -> Option<String> {
    serde_json::to_string(value).ok()
}

/// Returns the request that C passes. Returns `None` for NULL, for an object of another kind and
/// for a stale handle. The last two are logged, with the name of the C function.
///
/// # Safety
///
/// `request` is NULL, or an object of this library, of any kind.
unsafe fn find(
    request: *const mcplink_request_t,
    function: &str,
) -> Option<slots::Part<mcplink_request_t>> {
    // SAFETY: the safety contract of this function.
    let found = unsafe { slots::find_part(request) };
    found
        .inspect_err(|fault| log::fault::<mcplink_request_t>(*fault, function))
        .ok()
}

getters! {
    find(request: mcplink_request_t);

    /// Returns the arguments of the request. For a tool or a prompt, these are the arguments of the
    /// call. For a resource, they are the variables of the URI template; for a completion, the
    /// known values of the other arguments; for a custom method, the params.
    ///
    /// Returns: a node that is valid as long as the request; NULL when the request has no
    /// arguments.
    fn mcplink_request_args() -> *const mcplink_json_t {
        request.arguments()?.as_ptr()
    }

    /// Returns all params of the request, as received.
    ///
    /// Returns: a node that is valid as long as the request; NULL when the params have no C
    /// representation. Only the handler of a resource can get NULL for this reason: other requests
    /// with such params are refused before the handler runs.
    fn mcplink_request_params() -> *const mcplink_json_t {
        request.tree()?.as_ptr()
    }

    /// Returns the metadata of the request: the member "_meta" of its params.
    ///
    /// Returns: a node that is valid as long as the request; NULL when the member is missing.
    fn mcplink_request_meta() -> *const mcplink_json_t {
        request.tree()?.member("_meta")?.as_ptr()
    }

    /// Returns the target of the request: the name of the tool or prompt, the URI of the resource,
    /// or the name of the completed argument.
    ///
    /// Returns: text that is valid as long as the request; empty for requests of other methods.
    fn mcplink_request_name() -> mcplink_str_t {
        request.name.view()
    }

    /// Returns the text that was typed so far for the argument to complete.
    ///
    /// Returns: text that is valid as long as the request; empty for other requests.
    fn mcplink_request_value() -> mcplink_str_t {
        request.typed.view()
    }

    /// Returns the method, for example "tools/call".
    ///
    /// Returns: text that is valid as long as the request.
    fn mcplink_request_method() -> mcplink_str_t {
        request.method.view()
    }

    /// Returns a number that identifies the server's connection on which the request came; see
    /// mcplink_session_number. Over HTTP, all clients of revisions since 2026-07-28 share one
    /// number.
    ///
    /// Returns: a number from 1 on a server; 0 on a client.
    fn mcplink_request_session() -> u64 {
        request.session
    }

    /// Returns the tag of the client's call that needs the input: see mcplink_call_options_set_tag.
    ///
    /// Returns: the tag; 0 for a call without a tag, in the legacy era, where an input request does
    /// not say to which call it belongs, and on a server.
    fn mcplink_request_tag() -> u64 {
        request.tag?
    }

    /// Returns the authenticated principal for which the client acts. Over HTTP, the authentication
    /// of the HTTP request sets the principal. Without HTTP, the principal is set when the session
    /// is made.
    ///
    /// Returns: text that is valid as long as the request; empty when the principal is unknown.
    fn mcplink_request_principal() -> mcplink_str_t {
        request.principal.as_ref()?.view()
    }

    /// Returns the scopes that were granted to the principal, including implied scopes. A space
    /// separates two names.
    ///
    /// Returns: text that is valid as long as the request; empty when no scope was granted, or the
    /// scopes are unknown.
    fn mcplink_request_scopes() -> mcplink_str_t {
        request.scopes()?.view()
    }

    /// Checks whether a scope was granted to the principal. A handler can then do more for a
    /// principal with this scope. To refuse the request, see mcplink_responder_require_scopes.
    ///
    /// scope: the name of the scope.
    /// Returns: true if the scope was granted; false also when the scopes are unknown.
    fn mcplink_request_has_scope(scope: *const c_char) -> bool {
        let identity = request.identity.as_ref()?;
        identity.has_scope(name(scope, "scope").ok()?)
    }

    /// Returns the time at which the authentication of the principal expires, for example the
    /// expiry of its access token.
    ///
    /// Returns: seconds since 1970-01-01 UTC; 0 when no expiry is known.
    fn mcplink_request_expiry() -> i64 {
        let expiry = request.identity.as_ref()?.expiry()?;
        let since = expiry.duration_since(UNIX_EPOCH).ok()?;
        i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
    }

    /// Returns the protocol revision of the request, for example "2026-07-28".
    ///
    /// Returns: text that is valid as long as the request; empty for custom methods, and on a
    /// client.
    fn mcplink_request_revision() -> mcplink_str_t {
        request.revision()?.view()
    }

    /// Returns the "name" and "version" that the client reports about itself. They are for display
    /// and logging only, because they are not authenticated.
    ///
    /// Returns: a node that is valid as long as the request; NULL when the client did not send
    /// them.
    fn mcplink_request_client_info() -> *const mcplink_json_t {
        let info = request.terms.as_ref()?.client_info.as_ref()?;
        parsed(&request.client_info, || written(info))?.as_ptr()
    }

    /// Returns the capabilities that the client declared, for example "elicitation".
    ///
    /// Returns: a node that is valid as long as the request; NULL for custom methods, and on a
    /// client.
    fn mcplink_request_capabilities() -> *const mcplink_json_t {
        let capabilities = &request.terms.as_ref()?.capabilities;
        parsed(&request.capabilities, || written(capabilities))?.as_ptr()
    }
}
