//! A server: how one is made, stopped and freed.

use std::ffi::c_char;
use std::sync::Arc;

use super::handler::Handlers;
use super::serving::Serving;
use super::settings::mcplink_server_options_t;
use crate::cffi::dump;
use crate::cffi::entry::{Outcome, giving};
use crate::cffi::error::mcplink_error_t;
use crate::cffi::handle::{Gate, Handled, free_handle, hand_out};
use crate::cffi::log::Hook;
use crate::cffi::refusal::{Refusal, Settings, constructed, taken};
use crate::cffi::stage::Stage;
use crate::cffi::status::{mcplink_status, mcplink_status_t};
use crate::cffi::text::name;
use crate::server::Server;
use crate::transport::Threads;

/// A server: tools, resources and prompts, served to any number of clients at once. What it has can change meanwhile, and clients are told.
///
/// Without a pump its handlers run on threads of the library, several at once; with one, where the host dispatches it, one at a time.
pub struct mcplink_server_t {
    pub(super) gate: Gate,
    pub(super) server: Server,
    pub(super) stage: Arc<Stage>,
    pub(super) handlers: Arc<Handlers>,
    pub(super) serving: Arc<Serving>,
    pub(super) claims_stdio: bool,
    /// What takes what there is to say, instead of the hook of the process.
    pub(super) log: Option<Arc<Hook>>,
    /// A restriction of its own that was refused: nobody is served then.
    pub(super) refusal: Refusal,
}

impl Handled for mcplink_server_t {
    fn gate(&self) -> &Gate {
        &self.gate
    }

    fn threads(&self) -> Threads {
        self.serving.threads().clone()
    }

    /// No callback comes behind the end of what is served; those that wait in a pump are brought to their end.
    fn close(&self) {
        self.serving.end();
        self.stage.finish();
        self.handlers.end();
    }
}

impl Settings for mcplink_server_t {
    const NAME: &'static str = "server";
    const TARGET: &'static str = "server";

    fn refusal(&self) -> &Refusal {
        &self.refusal
    }

    fn log(&self) -> Option<Arc<Hook>> {
        self.log.clone()
    }
}

impl mcplink_server_t {
    fn new(options: &mcplink_server_options_t) -> Outcome<*mut Self> {
        let gate = Gate::new();
        let threads = options.threads.of(gate.number());
        let stage = Stage::new(gate.number(), options.pump(), threads.clone());
        let stage = Arc::new(stage);
        let handlers = Arc::new(Handlers::default());
        let server = options.build(gate.number(), &stage, &handlers, &threads)?;
        let serving = Arc::new(Serving::new(gate.number(), threads));
        let shown = Arc::downgrade(&serving);
        dump::show(shown);
        Ok(hand_out(Self {
            gate,
            server,
            stage,
            handlers,
            serving,
            claims_stdio: options.claims_stdio(),
            log: options.log.clone(),
            refusal: Refusal::default(),
        }))
    }
}

/// Makes a server with the usual settings.
///
/// name: its name, for programs.
/// version: its version.
/// Returns: the server, the caller's to free; NULL for a bad argument, which the functions that take it refuse in turn. Threads: any. Blocks:
/// no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_server_new(
    name: *const c_char,
    version: *const c_char,
) -> *mut mcplink_server_t {
    constructed("mcplink_server_new", "server", || {
        // SAFETY: the header says that they are texts that end in NUL.
        let options = unsafe { described(name, version) };
        options.and_then(|options| mcplink_server_t::new(&options))
    })
}

/// # Safety
///
/// Both are NULL or end in NUL.
unsafe fn described(
    server: *const c_char,
    version: *const c_char,
) -> Outcome<mcplink_server_options_t> {
    // SAFETY: the caller promises the same.
    let (server, version) = unsafe { (name(server, "name")?, name(version, "version")?) };
    Ok(mcplink_server_options_t::new(server, version))
}

/// Makes a server with settings.
///
/// options: the settings, which are copied.
/// out: receives the server, NULL after a failure. The caller's to free.
/// err: receives what went wrong; NULL is fine.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID for settings that contradict each other. Threads: any. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_server_new_with(
    options: *const mcplink_server_options_t,
    out: *mut *mut mcplink_server_t,
    err: *mut *mut mcplink_error_t,
) -> mcplink_status_t {
    // SAFETY: the header says that they are options of ours and places that can be written to.
    unsafe {
        giving(out, err, || {
            mcplink_server_t::new(taken(options, "options")?)
        })
    }
}

/// Frees a server: ends all that it serves, as mcplink_server_stop does, and waits for that. After it no callback of the server runs. Called
/// in one of its own callbacks, or in one of a transport that ends with a session of it, it returns at once, and the rest happens when the
/// callback has returned.
///
/// In a fork of the process that made it this does nothing: its memory and its descriptors, which are close-on-exec, stay until the process ends
/// or becomes another program. See MCPLINK_E_FORKED.
///
/// server: NULL is fine. Threads: any; nobody may begin to use the server meanwhile, and those who use it are woken with MCPLINK_E_CLOSED.
/// Blocks: until handlers have returned, a few seconds at most. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_server_free(server: *mut mcplink_server_t) {
    // SAFETY: the header says that it is a server of ours, freed once.
    unsafe { free_handle(server) }
}

/// Ends all that the server serves: blocking calls such as mcplink_server_serve_stdio return MCPLINK_OK, sessions and listeners close, and
/// nothing is served any more. What the server has stays, until it is freed.
///
/// server: NULL is fine.
/// Returns: MCPLINK_OK; MCPLINK_E_INVALID for NULL; MCPLINK_E_FORKED in a fork, where it does nothing. Threads: any, and signal handlers too.
/// Blocks: no: a thread of the library does it. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_server_stop(server: *mut mcplink_server_t) -> mcplink_status_t {
    // In a signal handler nothing may be allocated or locked, so this looks at the server without entering it.
    // SAFETY: the header says that it is NULL or a server of ours, which lives.
    match unsafe { server.as_ref() } {
        // Its descriptors may be other files' by now.
        Some(server) if server.gate.is_foreign() => mcplink_status::MCPLINK_E_FORKED.code(),
        Some(server) => {
            server.serving.ask_to_stop();
            mcplink_status::MCPLINK_OK.code()
        }
        None => mcplink_status::MCPLINK_E_INVALID.code(),
    }
}
