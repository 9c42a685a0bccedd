//! Functions that add, remove and restrict tools, resources, resource templates and prompts.

use std::ffi::c_char;
use std::sync::Arc;

use serde_json::{Map, json};

use super::handler::{Handler, given};
use super::mcplink_server_t;
use super::prompt::mcplink_prompt_t;
use super::resource::mcplink_resource_t;
use super::template::mcplink_template_t;
use super::tool::mcplink_tool_t;
use crate::cffi::answer::mcplink_handler_fn;
use crate::cffi::arg;
use crate::cffi::arg::invalid;
use crate::cffi::entry::{Outcome, ffi};
use crate::cffi::error::mcplink_error_t;
use crate::cffi::handle::{enter, entering};
use crate::cffi::json::Document;
use crate::cffi::pending_request::Call;
use crate::cffi::refusal::{Settings as _, taken};
use crate::cffi::status::mcplink_status_t;
use crate::cffi::text::{self, filled, name};
use crate::cffi::user::UserData;
use crate::error::{Error, ErrorKind, Result};
use crate::schema::CompletionReference;
use crate::server::Primitive;

impl mcplink_server_t {
    fn handler(&self, callback: mcplink_handler_fn, user: UserData) -> Outcome<Arc<Handler>> {
        let (callback, user) = (given(callback)?, Arc::new(user));
        let owner = self.gate.number();
        Ok(self.handlers.adopt(owner, &self.stage, callback, user))
    }
}

fallible! {
    enter(server: *mut mcplink_server_t);

    /// Adds a tool.
    ///
    /// tool: the definition, which is copied. If a setter of the definition failed, this function
    /// fails with the error of that setter.
    /// callback: the handler; see mcplink_handler_fn. Without a pump, the handler runs on threads
    /// of the library, on several at once. With a pump, the handler runs on the thread that
    /// dispatches the pump.
    /// user, destroy: passed to callback; destroy runs when the tool is removed and its last
    /// request has ended, or when the server ends.
    /// Returns: MCPLINK_OK, or MCPLINK_E_INVALID when the name is invalid or in use, or a schema is
    /// invalid.
    /// Threads: any, also while the server serves: clients are notified.
    fn mcplink_server_add_tool(tool: *const mcplink_tool_t, callback: mcplink_handler_fn; user) {
        let definition = taken(tool, "tool")?.0.clone();
        let handler = server.handler(callback, user)?;
        // Without a tree, the functions that read an argument know no defaults.
        let schema = Document::parse(definition.input_schema.as_str());
        let schema = schema.ok().map(Arc::new);
        let take = move |call| handler.take_declared(Call::of_tool(call), &schema);
        server.server.add_deferred_tool(definition, take)?;
    }

    /// Adds a resource.
    ///
    /// resource: the definition, which is copied. If a setter of the definition failed, this
    /// function fails with the error of that setter.
    /// callback: the handler; see mcplink_handler_fn. Without a pump, the handler runs on threads
    /// of the library, on several at once. With a pump, the handler runs on the thread that
    /// dispatches the pump.
    /// user, destroy: passed to callback; destroy runs when the resource is removed and its last
    /// request has ended, or when the server ends.
    /// Returns: MCPLINK_OK, or MCPLINK_E_INVALID when the URI is invalid or in use.
    /// Threads: any, also while the server serves: clients are notified.
    fn mcplink_server_add_resource(
        resource: *const mcplink_resource_t,
        callback: mcplink_handler_fn; user
    ) {
        let definition = taken(resource, "resource")?.0.clone();
        let handler = server.handler(callback, user)?;
        server
            .server
            .add_deferred_resource(definition, move |call| {
                handler.take(Call::of_resource(call))
            })?;
    }

    /// Adds a resource template: resources whose URIs follow a pattern. The handler reads the
    /// values of the variables with mcplink_request_args.
    ///
    /// resource_template: the definition, which is copied. If a setter of the definition failed,
    /// this function fails with the error of that setter.
    /// callback: the handler; see mcplink_handler_fn. Without a pump, the handler runs on threads
    /// of the library, on several at once. With a pump, the handler runs on the thread that
    /// dispatches the pump.
    /// user, destroy: passed to callback; destroy runs when the template is removed and its last
    /// request has ended, or when the server ends.
    /// Returns: MCPLINK_OK, or MCPLINK_E_INVALID when the template is invalid or was added before.
    /// Threads: any, also while the server serves: clients are notified.
    fn mcplink_server_add_template(
        resource_template: *const mcplink_template_t,
        callback: mcplink_handler_fn; user
    ) {
        let definition = taken(resource_template, "resource_template")?.0.clone();
        let handler = server.handler(callback, user)?;
        server
            .server
            .add_deferred_template(definition, move |call| {
                handler.take(Call::of_resource(call))
            })?;
    }

    /// Adds a prompt.
    ///
    /// prompt: the definition, which is copied. If a setter of the definition failed, this function
    /// fails with the error of that setter.
    /// callback: the handler; see mcplink_handler_fn. Without a pump, the handler runs on threads
    /// of the library, on several at once. With a pump, the handler runs on the thread that
    /// dispatches the pump.
    /// user, destroy: passed to callback; destroy runs when the prompt is removed and its last
    /// request has ended, or when the server ends.
    /// Returns: MCPLINK_OK, or MCPLINK_E_INVALID when the name is empty or in use, or two arguments
    /// have equal names.
    /// Threads: any, also while the server serves: clients are notified.
    fn mcplink_server_add_prompt(
        prompt: *const mcplink_prompt_t,
        callback: mcplink_handler_fn; user
    ) {
        let definition = taken(prompt, "prompt")?.0.clone();
        let handler = server.handler(callback, user)?;
        let names = definition.arguments.iter().flatten();
        let properties: Map<_, _> = names.map(|of| (of.name.clone(), json!({}))).collect();
        let schema = Document::parse(&json!({ "properties": properties }).to_string());
        let schema = schema.ok().map(Arc::new);
        server.server.add_deferred_prompt(definition, move |call| {
            handler.take_declared(Call::of_prompt(call), &schema)
        })?;
    }

    /// Adds a completer: a handler that completes an argument of a prompt, or a variable of a
    /// template, while the user types. The prompt or template may be added later.
    ///
    /// The handler reads the name of the argument with mcplink_request_name, and the typed text
    /// with mcplink_request_value. mcplink_request_args returns the known values of the other
    /// arguments. The handler answers with mcplink_responder_values.
    ///
    /// primitive: MCPLINK_PRIMITIVE_PROMPT or MCPLINK_PRIMITIVE_TEMPLATE.
    /// target: the name of the prompt, or the URI template.
    /// argument: the name of the argument or variable.
    /// callback: the handler; see mcplink_handler_fn. It runs on the same threads as other
    /// handlers.
    /// user, destroy: passed to callback; destroy runs when the server ends.
    /// Returns: MCPLINK_OK, or MCPLINK_E_INVALID when the argument has a completer already.
    fn mcplink_server_add_completer(
        primitive: arg::mcplink_primitive,
        target: *const c_char,
        argument: *const c_char,
        callback: mcplink_handler_fn; user
    ) {
        let (target, argument) = (name(target, "target")?, name(argument, "argument")?);
        let reference = mcplink_primitive::reference(primitive, target)?;
        let handler = server.handler(callback, user)?;
        let take = move |call| handler.take(Call::of_completion(call));
        server
            .server
            .add_deferred_completer(&reference, argument, take)?;
    }
}

/// Fails if the entry with this key was not removed, because the server does not have it.
fn removed(was_there: bool, key: &str) -> Outcome<()> {
    if was_there {
        return Ok(());
    }
    let text = format!("the server has nothing called '{key}'");
    Err(Error::new(ErrorKind::Invalid, text).into())
}

enumeration! {
    /// The kind of an entry of a server: a tool, prompt, resource or resource template.
    #[repr(C)]
    pub enum mcplink_primitive {
        /// No entry.
        MCPLINK_PRIMITIVE_NONE = 0,
        /// A tool, identified by its name.
        MCPLINK_PRIMITIVE_TOOL = 1301,
        /// A prompt, identified by its name.
        MCPLINK_PRIMITIVE_PROMPT = 1302,
        /// A resource, identified by its URI.
        MCPLINK_PRIMITIVE_RESOURCE = 1303,
        /// A resource template, identified by its URI template as written. The scopes of the
        /// template apply to each resource that is read through the template.
        MCPLINK_PRIMITIVE_TEMPLATE = 1304,
    }
}

/// Restricts a tool, prompt, resource or template to principals with the given scopes. The scopes
/// are checked before the handler runs; lists still contain the entry. Repeated calls for one entry
/// add scopes: all scopes are required.
///
/// Over HTTP a client that lacks a scope gets status 403, and can ask its user to grant the scope.
/// If the scopes of a principal are unknown, the request is refused over HTTP. On other transports
/// scopes are always unknown, and requests are not refused.
///
/// primitive: the kind of the entry.
/// target: the name, URI or URI template of the entry. The entry must exist, so that a typing error
/// leaves nothing unprotected. The restriction remains when the entry is removed, and applies to a
/// new entry with this name.
/// scopes: the names of the scopes, separated by spaces.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID when the entry does not exist or scopes contains no
/// name. After a failure the server accepts no further clients: functions that serve clients fail
/// with the same error.
/// Threads: any. Call the function before the first client is served, so that no request is served
/// without the restriction.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_server_require_scopes(
    server: *mut mcplink_server_t,
    primitive: arg::mcplink_primitive,
    target: *const c_char,
    scopes: *const c_char,
    err: *mut *mut mcplink_error_t,
) -> mcplink_status_t {
    use mcplink_primitive as Of;
    // SAFETY: the header requires a server of this library, texts that end in NUL, and a
    // pointer that can be written to.
    unsafe {
        ffi(err, || {
            let server = enter(server, "server")?;
            server.attempt("mcplink_server_require_scopes", || {
                let (target, scopes) = (name(target, "target")?, filled(scopes, "scopes")?);
                let primitive = match mcplink_primitive::read(primitive, "primitive")? {
                    Of::MCPLINK_PRIMITIVE_NONE => {
                        return Err(invalid("MCPLINK_PRIMITIVE_NONE is no entry").into());
                    }
                    Of::MCPLINK_PRIMITIVE_TOOL => Primitive::Tool(target),
                    Of::MCPLINK_PRIMITIVE_PROMPT => Primitive::Prompt(target),
                    Of::MCPLINK_PRIMITIVE_RESOURCE => Primitive::Resource(target),
                    Of::MCPLINK_PRIMITIVE_TEMPLATE => Primitive::ResourceTemplate(target),
                };
                Ok(server.server.require_scopes(primitive, [scopes])?)
            })
        })
    }
}

impl mcplink_primitive {
    /// Reads the prompt or the resource template whose arguments are completed.
    pub(in crate::cffi) fn reference(primitive: i32, target: &str) -> Result<CompletionReference> {
        match Self::read(primitive, "primitive")? {
            Self::MCPLINK_PRIMITIVE_PROMPT => Ok(CompletionReference::prompt(target)),
            Self::MCPLINK_PRIMITIVE_TEMPLATE => Ok(CompletionReference::resource(target)),
            _ => Err(invalid(
                "only the arguments of prompts and resource templates can be completed",
            )),
        }
    }
}

actions! {
    entering(server: mcplink_server_t);

    /// Notifies all subscribers of a resource that the resource has changed. Successive changes are
    /// merged: clients are notified at most every 10 ms.
    ///
    /// uri: the URI of the resource, in any spelling. Each subscriber gets the spelling of its
    /// subscription.
    /// Returns: MCPLINK_OK, also when the resource has no subscribers.
    fn mcplink_server_resource_updated(uri: *const c_char) {
        server.server.resource_updated(name(uri, "uri")?);
    }

    /// Removes a tool. Requests for the tool continue if they are in flight.
    ///
    /// name: the name of the tool.
    /// Returns: MCPLINK_OK; MCPLINK_E_INVALID when the tool does not exist.
    /// Threads: any, also while the server serves: clients are notified.
    fn mcplink_server_remove_tool(name: *const c_char) {
        let name = text::name(name, "name")?;
        removed(server.server.remove_tool(name), name)?;
    }

    /// Removes a resource. Requests for the resource continue if they are in flight.
    ///
    /// uri: the URI of the resource.
    /// Returns: MCPLINK_OK; MCPLINK_E_INVALID when the resource does not exist.
    /// Threads: any, also while the server serves: clients are notified.
    fn mcplink_server_remove_resource(uri: *const c_char) {
        let uri = name(uri, "uri")?;
        removed(server.server.remove_resource(uri), uri)?;
    }

    /// Removes a resource template. Requests for the template continue if they are in flight.
    ///
    /// uri_template: the URI template, as it was written in the definition.
    /// Returns: MCPLINK_OK; MCPLINK_E_INVALID when the template does not exist.
    /// Threads: any, also while the server serves: clients are notified.
    fn mcplink_server_remove_template(uri_template: *const c_char) {
        let uri_template = name(uri_template, "uri_template")?;
        removed(server.server.remove_template(uri_template), uri_template)?;
    }

    /// Removes a prompt. Requests for the prompt continue if they are in flight.
    ///
    /// name: the name of the prompt.
    /// Returns: MCPLINK_OK; MCPLINK_E_INVALID when the prompt does not exist.
    /// Threads: any, also while the server serves: clients are notified.
    fn mcplink_server_remove_prompt(name: *const c_char) {
        let name = text::name(name, "name")?;
        removed(server.server.remove_prompt(name), name)?;
    }
}
