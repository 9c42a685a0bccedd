//! Validators of the host: functions that check values against JSON Schemas.

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use super::output::mcplink_output_t;
use super::status::{mcplink_status, mcplink_status_t};
use super::text::{Text, mcplink_str_t, missing};
use super::user::{Callback, Hook, UserData, call_back};
use crate::error::{Error, ErrorKind, Result};
use crate::schema::JsonSchema;
use crate::validation::Validator;

/// Compiles a JSON Schema, so that mcplink_schema_check_fn can check values with it.
///
/// A server compiles the schemas of a tool on the thread that adds the tool. A client compiles the
/// output schema of a tool on the thread that calls the tool. The function may run on several
/// threads at once. It must bound its own cost, because a client gets schemas from servers. It must
/// not call functions of the client or server.
///
/// schema: the schema, as JSON text; valid until the callback returns.
/// compiled: receives a pointer for the compiled schema, which the other functions get. Without a
/// pointer they get NULL.
/// reason: receives by mcplink_output_set why the schema can't be used, in one sentence.
/// Returns: MCPLINK_OK. MCPLINK_E_UNSUPPORTED means that the validator does not know the dialect of
/// the schema, and any other status that the schema is invalid. A schema with a reason is invalid
/// too, so that a function may return what mcplink_output_set returned. An unsupported or invalid
/// schema is not used, and compiled is ignored.
pub type mcplink_schema_compile_fn = Option<
    unsafe extern "C-unwind" fn(
        user: *mut c_void,
        schema: mcplink_str_t,
        compiled: *mut *mut c_void,
        reason: *mut mcplink_output_t,
    ) -> mcplink_status_t,
>;

/// Checks a value against a compiled schema. The function runs on the threads that serve or make
/// calls, on several at once, also for one schema, and also with a pump. It must bound its own
/// cost, because the value comes from a peer.
///
/// compiled: the pointer that mcplink_schema_compile_fn gave.
/// json: the value, as JSON text; valid until the callback returns.
/// fault: receives by mcplink_output_set where the value is wrong and what was expected, in one
/// sentence, for example "/count: expected an integer". The peer, and a model behind it, may read
/// the sentence.
/// Returns: MCPLINK_OK if the value fits the schema; MCPLINK_E_INVALID if not. Any other status
/// means that the function can't tell: the value is then refused too. A value with a fault is
/// refused with any status.
pub type mcplink_schema_check_fn = Option<
    unsafe extern "C-unwind" fn(
        user: *mut c_void,
        compiled: *mut c_void,
        json: mcplink_str_t,
        fault: *mut mcplink_output_t,
    ) -> mcplink_status_t,
>;

/// Frees a compiled schema. The function runs once for each schema for which
/// mcplink_schema_compile_fn returned MCPLINK_OK, on any thread, and before destroy. It must be
/// quick, and must not call functions of the client or server.
///
/// compiled: the pointer that mcplink_schema_compile_fn gave.
pub type mcplink_schema_free_fn =
    Option<unsafe extern "C-unwind" fn(user: *mut c_void, compiled: *mut c_void)>;

/// The functions of a validator.
#[derive(Clone, Copy)]
pub(super) struct Functions {
    compile: Callback<mcplink_schema_compile_fn>,
    check: Callback<mcplink_schema_check_fn>,
    free: Callback<mcplink_schema_free_fn>,
}

/// Makes the hook of a validator. Fails if a function is missing, because a missing function would
/// let every value pass.
pub(super) fn hook(
    compile: mcplink_schema_compile_fn,
    check: mcplink_schema_check_fn,
    free: mcplink_schema_free_fn,
    user: UserData,
) -> Result<Arc<Hook<Functions>>> {
    let functions = Functions {
        compile: compile.ok_or_else(|| missing("compile"))?,
        check: check.ok_or_else(|| missing("check"))?,
        free: free.ok_or_else(|| missing("free"))?,
    };
    Ok(Arc::new(Hook {
        callback: functions,
        user,
    }))
}

/// Makes the validator of the Rust API from the functions of the host. `owner` is the number of the
/// handle of the client or server.
pub(super) fn validator(hook: &Arc<Hook<Functions>>, owner: u64) -> Validator {
    let hook = Arc::clone(hook);
    Validator::custom(move |schema| {
        let compiled = Compiled::new(&hook, owner, schema)?;
        Ok(move |json: &str| compiled.check(json))
    })
}

/// A schema that the host has compiled.
struct Compiled {
    hook: Arc<Hook<Functions>>,
    owner: u64,
    ptr: *mut c_void,
}

// SAFETY: this library only passes the pointer on. The header requires that all threads that run
// callbacks may use it.
unsafe impl Send for Compiled {}
// SAFETY: this library only passes the pointer on. The header requires that all threads that run
// callbacks may use it.
unsafe impl Sync for Compiled {}

impl Compiled {
    fn new(hook: &Arc<Hook<Functions>>, owner: u64, schema: &JsonSchema) -> Result<Self> {
        let text = Text::from(schema.as_str());
        let mut ptr = ptr::null_mut();
        asked(owner, "the schema can't be used", |reason| {
            // SAFETY: the header requires a function that accepts these arguments, which outlive
            // the call.
            unsafe { (hook.callback.compile)(hook.user.ptr(), text.view(), &raw mut ptr, reason) }
        })?;
        Ok(Self {
            hook: Arc::clone(hook),
            owner,
            ptr,
        })
    }

    fn check(&self, json: &str) -> Result<()> {
        let text = Text::from(json);
        asked(
            self.owner,
            "expected a value that fits the schema",
            |fault| {
                let (hook, compiled) = (&self.hook, self.ptr);
                // SAFETY: the header requires a function that accepts these arguments, which
                // outlive the call.
                unsafe { (hook.callback.check)(hook.user.ptr(), compiled, text.view(), fault) }
            },
        )
    }
}

impl Drop for Compiled {
    fn drop(&mut self) {
        let (hook, compiled) = (&self.hook, self.ptr);
        // SAFETY: the header requires a function that accepts the pointer that `compile` gave. The
        // function runs only here.
        let free = || unsafe { (hook.callback.free)(hook.user.ptr(), compiled) };
        // A panic in `free` can't be reported to a caller.
        _ = call_back(self.owner, free);
    }
}

/// Runs a callback of the validator. Fails if the callback gave a text or returned another status
/// than [`MCPLINK_OK`](mcplink_status::MCPLINK_OK). `otherwise` is the text of the error if the
/// callback gave none.
fn asked(
    owner: u64,
    otherwise: &str,
    callback: impl FnOnce(*mut mcplink_output_t) -> mcplink_status_t,
) -> Result<()> {
    use mcplink_status as Status;
    let mut output = mcplink_output_t::text();
    let out = output.as_mut_ptr();
    let Some(status) = call_back(owner, || callback(out)) else {
        let text = "the validator of the host panicked";
        return Err(Error::new(ErrorKind::Unsupported, text));
    };
    let text = output.take_text();
    if status == Status::MCPLINK_OK.code() && text.is_none() {
        return Ok(());
    }
    let kind = match status == Status::MCPLINK_E_UNSUPPORTED.code() {
        true => ErrorKind::Unsupported,
        false => ErrorKind::Invalid,
    };
    let text = match text.as_deref().unwrap_or_default().trim() {
        "" => otherwise,
        text => text,
    };
    Err(Error::new(kind, text))
}
