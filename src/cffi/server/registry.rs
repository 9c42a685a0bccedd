//! What a server has: adding, and taking away.

use std::ffi::{c_char, c_void};
use std::sync::Arc;

use super::handler::{Handler, given};
use super::mcplink_server_t;
use super::prompt::mcplink_prompt_t;
use super::resource::mcplink_resource_t;
use super::template::mcplink_template_t;
use super::tool::mcplink_tool_t;
use crate::cffi::answer::mcplink_handler_fn;
use crate::cffi::entry::{Outcome, ffi, plain};
use crate::cffi::error::mcplink_error_t;
use crate::cffi::handle::enter;
use crate::cffi::refusal::{Settings as _, taken};
use crate::cffi::served::Call;
use crate::cffi::status::{mcplink_status, mcplink_status_t};
use crate::cffi::text::{filled, name};
use crate::cffi::user::{UserData, mcplink_destroy_fn};
use crate::error::{Error, ErrorKind};
use crate::schema::CompletionReference;
use crate::server::Primitive;

impl mcplink_server_t {
    fn handler(&self, callback: mcplink_handler_fn, user: UserData) -> Outcome<Arc<Handler>> {
        let (callback, user) = (given(callback)?, Arc::new(user));
        let owner = self.gate.number();
        Ok(self.handlers.adopt(owner, &self.stage, callback, user))
    }
}

/// Adds a tool.
///
/// server: the server.
/// tool: the definition, which is copied. One of which a setter was refused is refused, with its reason in err.
/// callback: answers; see mcplink_handler_fn. It runs on a thread of the library, several at once, or where the pump of the server is
/// dispatched.
/// user, destroy: passed to callback; ended when the tool is taken away and no request for it is left, or with the server.
/// err: receives what went wrong; NULL is fine.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID when the name is taken or no name, or a schema can't be used. Threads: any, also while the server serves: clients are told. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_server_add_tool(
    server: *mut mcplink_server_t,
    tool: *const mcplink_tool_t,
    callback: mcplink_handler_fn,
    user: *mut c_void,
    destroy: mcplink_destroy_fn,
    err: *mut *mut mcplink_error_t,
) -> mcplink_status_t {
    let user = UserData::new(user, destroy);
    // SAFETY: the header says that they are a server and a definition of ours and a place that can be written to.
    unsafe {
        ffi(err, || {
            let server = enter(server, "server")?;
            let definition = taken(tool, "tool")?.0.clone();
            let handler = server.handler(callback, user)?;
            server
                .server
                .add_deferred_tool(definition, move |call| handler.take(Call::of_tool(call)))?;
            Ok(mcplink_status::MCPLINK_OK)
        })
    }
}

/// Takes a tool away. Requests for it that are in hand go on.
///
/// server: the server.
/// tool: its name.
/// Returns: MCPLINK_OK; MCPLINK_E_INVALID when there is none like this. Threads: any, also while the server serves: clients are told. Blocks: no. Since
/// 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_server_remove_tool(
    server: *mut mcplink_server_t,
    tool: *const c_char,
) -> mcplink_status_t {
    // SAFETY: the header says that they are a server of ours and text that ends in NUL.
    unsafe {
        removing(server, tool, "tool", |server, tool| {
            server.server.remove_tool(tool)
        })
    }
}

/// Adds a resource.
///
/// server: the server.
/// resource: the definition, which is copied. One of which a setter was refused is refused, with its reason in err.
/// callback: answers; see mcplink_handler_fn. It runs on a thread of the library, several at once, or where the pump of the server is
/// dispatched.
/// user, destroy: passed to callback; ended when the resource is taken away and no request for it is left, or with the server.
/// err: receives what went wrong; NULL is fine.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID when the address is taken or no address. Threads: any, also while the server serves: clients are told. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_server_add_resource(
    server: *mut mcplink_server_t,
    resource: *const mcplink_resource_t,
    callback: mcplink_handler_fn,
    user: *mut c_void,
    destroy: mcplink_destroy_fn,
    err: *mut *mut mcplink_error_t,
) -> mcplink_status_t {
    let user = UserData::new(user, destroy);
    // SAFETY: the header says that they are a server and a definition of ours and a place that can be written to.
    unsafe {
        ffi(err, || {
            let server = enter(server, "server")?;
            let definition = taken(resource, "resource")?.0.clone();
            let handler = server.handler(callback, user)?;
            server
                .server
                .add_deferred_resource(definition, move |call| {
                    handler.take(Call::of_resource(call))
                })?;
            Ok(mcplink_status::MCPLINK_OK)
        })
    }
}

/// Takes a resource away. Requests for it that are in hand go on.
///
/// server: the server.
/// uri: its address.
/// Returns: MCPLINK_OK; MCPLINK_E_INVALID when there is none like this. Threads: any, also while the server serves: clients are told. Blocks: no. Since
/// 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_server_remove_resource(
    server: *mut mcplink_server_t,
    uri: *const c_char,
) -> mcplink_status_t {
    // SAFETY: the header says that they are a server of ours and text that ends in NUL.
    unsafe {
        removing(server, uri, "uri", |server, uri| {
            server.server.remove_resource(uri)
        })
    }
}

/// Adds resources whose addresses follow a template. mcplink_request_args shows what the variables are in the address that is read.
///
/// server: the server.
/// template: the definition, which is copied. One of which a setter was refused is refused, with its reason in err.
/// callback: answers; see mcplink_handler_fn. It runs on a thread of the library, several at once, or where the pump of the server is
/// dispatched.
/// user, destroy: passed to callback; ended when the template is taken away and no request for it is left, or with the server.
/// err: receives what went wrong; NULL is fine.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID when the template is there already, or is none. Threads: any, also while the server serves: clients are told. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_server_add_template(
    server: *mut mcplink_server_t,
    template: *const mcplink_template_t,
    callback: mcplink_handler_fn,
    user: *mut c_void,
    destroy: mcplink_destroy_fn,
    err: *mut *mut mcplink_error_t,
) -> mcplink_status_t {
    let user = UserData::new(user, destroy);
    // SAFETY: the header says that they are a server and a definition of ours and a place that can be written to.
    unsafe {
        ffi(err, || {
            let server = enter(server, "server")?;
            let definition = taken(template, "template")?.0.clone();
            let handler = server.handler(callback, user)?;
            server
                .server
                .add_deferred_template(definition, move |call| {
                    handler.take(Call::of_resource(call))
                })?;
            Ok(mcplink_status::MCPLINK_OK)
        })
    }
}

/// Takes a template away. Requests for it that are in hand go on.
///
/// server: the server.
/// uri_template: the template, as it was written.
/// Returns: MCPLINK_OK; MCPLINK_E_INVALID when there is none like this. Threads: any, also while the server serves: clients are told. Blocks: no. Since
/// 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_server_remove_template(
    server: *mut mcplink_server_t,
    uri_template: *const c_char,
) -> mcplink_status_t {
    // SAFETY: the header says that they are a server of ours and text that ends in NUL.
    unsafe {
        removing(
            server,
            uri_template,
            "uri_template",
            |server, uri_template| server.server.remove_template(uri_template),
        )
    }
}

/// Adds a prompt.
///
/// server: the server.
/// prompt: the definition, which is copied. One of which a setter was refused is refused, with its reason in err.
/// callback: answers; see mcplink_handler_fn. It runs on a thread of the library, several at once, or where the pump of the server is
/// dispatched.
/// user, destroy: passed to callback; ended when the prompt is taken away and no request for it is left, or with the server.
/// err: receives what went wrong; NULL is fine.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID when the name is taken or empty, or two arguments have the same one. Threads: any, also while the server serves: clients are told. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_server_add_prompt(
    server: *mut mcplink_server_t,
    prompt: *const mcplink_prompt_t,
    callback: mcplink_handler_fn,
    user: *mut c_void,
    destroy: mcplink_destroy_fn,
    err: *mut *mut mcplink_error_t,
) -> mcplink_status_t {
    let user = UserData::new(user, destroy);
    // SAFETY: the header says that they are a server and a definition of ours and a place that can be written to.
    unsafe {
        ffi(err, || {
            let server = enter(server, "server")?;
            let definition = taken(prompt, "prompt")?.0.clone();
            let handler = server.handler(callback, user)?;
            server
                .server
                .add_deferred_prompt(definition, move |call| handler.take(Call::of_prompt(call)))?;
            Ok(mcplink_status::MCPLINK_OK)
        })
    }
}

/// Takes a prompt away. Requests for it that are in hand go on.
///
/// server: the server.
/// prompt: its name.
/// Returns: MCPLINK_OK; MCPLINK_E_INVALID when there is none like this. Threads: any, also while the server serves: clients are told. Blocks: no. Since
/// 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_server_remove_prompt(
    server: *mut mcplink_server_t,
    prompt: *const c_char,
) -> mcplink_status_t {
    // SAFETY: the header says that they are a server of ours and text that ends in NUL.
    unsafe {
        removing(server, prompt, "prompt", |server, prompt| {
            server.server.remove_prompt(prompt)
        })
    }
}

/// # Safety
///
/// `server` is NULL or a server of ours, `key` NULL or text that ends in NUL.
unsafe fn removing(
    server: *mut mcplink_server_t,
    key: *const c_char,
    what: &str,
    remove: impl FnOnce(&mcplink_server_t, &str) -> bool,
) -> mcplink_status_t {
    plain(|| {
        // SAFETY: the caller promises the same.
        let (server, key) = unsafe { (enter(server, "server")?, name(key, what)?) };
        if remove(&server, key) {
            return Ok(mcplink_status::MCPLINK_OK);
        }
        let text = format!("the server has nothing called '{key}'");
        Err(Error::new(ErrorKind::Invalid, text).into())
    })
}

/// Something that a server has.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum mcplink_primitive {
    /// A tool, by its name.
    MCPLINK_PRIMITIVE_TOOL = 1,
    /// A prompt, by its name.
    MCPLINK_PRIMITIVE_PROMPT = 2,
    /// A resource, by its address.
    MCPLINK_PRIMITIVE_RESOURCE = 3,
    /// A template of resources, as it was written: what it needs is needed for each resource that is read through it.
    MCPLINK_PRIMITIVE_TEMPLATE = 4,
}

/// Lets only those use something who were granted scopes, which is checked before its handler runs; it stands on lists all the same. Over HTTP a
/// client that lacks one is told with status 403, and can have its user grant them; one of whose scopes nothing is known has none. Elsewhere
/// nothing is known of scopes, and everybody is let through. Said twice, all of them are needed.
///
/// server: the server.
/// of: one of enum mcplink_primitive.
/// target: which one; it was added before, so that nothing stays open for a slip of the pen. What is said stays when it is taken away, and holds
/// for what is added in its place.
/// scopes: their names, a blank between two.
/// err: receives what went wrong; NULL is fine.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID when the server has no such thing or scopes names none: then the server serves nobody who comes
/// later, and what would serve fails with this reason. Threads: any; say it before anybody is served, so that no request
/// comes in between. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_server_require_scopes(
    server: *mut mcplink_server_t,
    of: i32,
    target: *const c_char,
    scopes: *const c_char,
    err: *mut *mut mcplink_error_t,
) -> mcplink_status_t {
    use mcplink_primitive as Of;
    // SAFETY: the header says that they are a server of ours, texts that end in NUL, and a place that can be written to.
    unsafe {
        ffi(err, || {
            let server = enter(server, "server")?;
            server.attempt("mcplink_server_require_scopes", || {
                let (target, scopes) = (name(target, "target")?, filled(scopes, "scopes")?);
                let of = match of {
                    _ if of == Of::MCPLINK_PRIMITIVE_TOOL as i32 => Primitive::Tool(target),
                    _ if of == Of::MCPLINK_PRIMITIVE_PROMPT as i32 => Primitive::Prompt(target),
                    _ if of == Of::MCPLINK_PRIMITIVE_RESOURCE as i32 => Primitive::Resource(target),
                    _ if of == Of::MCPLINK_PRIMITIVE_TEMPLATE as i32 => {
                        Primitive::ResourceTemplate(target)
                    }
                    _ => {
                        let text =
                            format!("nothing is called {of}: use one of enum mcplink_primitive");
                        return Err(Error::new(ErrorKind::Invalid, text).into());
                    }
                };
                Ok(server.server.require_scopes(of, [scopes])?)
            })
        })
    }
}

/// What has the argument that is completed.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum mcplink_completion_of {
    /// A prompt, by its name.
    MCPLINK_COMPLETION_OF_PROMPT = 1,
    /// A template of resources, as it was written: its arguments are its variables.
    MCPLINK_COMPLETION_OF_TEMPLATE = 2,
}

/// Completes an argument of a prompt, or a variable of a template, while the user types it. What has it may be added later.
///
/// The handler finds the argument in mcplink_request_name, what is typed in mcplink_request_typed and the other arguments, as far as they are
/// known, in mcplink_request_args; it answers with mcplink_responder_values.
///
/// server: the server.
/// of: one of enum mcplink_completion_of.
/// target: the name of the prompt, or the template.
/// argument: the name of the argument or variable.
/// callback: answers; see mcplink_handler_fn. It runs where other handlers do.
/// user, destroy: passed to callback; ended with the server.
/// err: receives what went wrong; NULL is fine.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID when the argument has a completer already. Threads: any. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_server_add_completer(
    server: *mut mcplink_server_t,
    of: i32,
    target: *const c_char,
    argument: *const c_char,
    callback: mcplink_handler_fn,
    user: *mut c_void,
    destroy: mcplink_destroy_fn,
    err: *mut *mut mcplink_error_t,
) -> mcplink_status_t {
    use mcplink_completion_of as Of;
    let user = UserData::new(user, destroy);
    // SAFETY: the header says that they are a server of ours, texts that end in NUL, and a place that can be written to.
    unsafe {
        ffi(err, || {
            let server = enter(server, "server")?;
            let (target, argument) = (name(target, "target")?, name(argument, "argument")?);
            let reference = match of {
                _ if of == Of::MCPLINK_COMPLETION_OF_PROMPT as i32 => {
                    CompletionReference::prompt(target)
                }
                _ if of == Of::MCPLINK_COMPLETION_OF_TEMPLATE as i32 => {
                    CompletionReference::resource(target)
                }
                _ => {
                    let text =
                        format!("nothing is called {of}: use one of enum mcplink_completion_of");
                    return Err(Error::new(ErrorKind::Invalid, text).into());
                }
            };
            let handler = server.handler(callback, user)?;
            let take = move |call| handler.take(Call::of_completion(call));
            server
                .server
                .add_deferred_completer(&reference, argument, take)?;
            Ok(mcplink_status::MCPLINK_OK)
        })
    }
}

/// Tells everybody who subscribed to a resource that it changed. Changes in a row merge: clients are told of them at most every 10 ms.
///
/// server: the server.
/// uri: the address of the resource.
/// Returns: MCPLINK_OK, also when nobody subscribed. Threads: any. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_server_resource_updated(
    server: *mut mcplink_server_t,
    uri: *const c_char,
) -> mcplink_status_t {
    plain(|| {
        // SAFETY: the header says that they are a server of ours and text that ends in NUL.
        let (server, uri) = unsafe { (enter(server, "server")?, name(uri, "uri")?) };
        server.server.resource_updated(uri);
        Ok(mcplink_status::MCPLINK_OK)
    })
}
