//! The server handle: making, stopping and freeing a server.

use std::ffi::c_char;
use std::sync::Arc;

use super::handler::Handlers;
use super::serving::Serving;
use super::settings::mcplink_server_options_t;
use crate::cffi::callback_executor::CallbackExecutor;
use crate::cffi::dump;
use crate::cffi::entry::Outcome;
use crate::cffi::handle::{Fault, Gate, Handled, free_handle, into_raw, slots};
use crate::cffi::log::Hook;
use crate::cffi::refusal::{Refusal, Settings, constructed, taken};
use crate::cffi::status::{mcplink_status, mcplink_status_t};
use crate::cffi::tap::Wrap;
use crate::cffi::text::name;
use crate::server::Server;
use crate::transport::Threads;

/// A server, which offers tools, resources and prompts to any number of clients at once. A server
/// is thread-safe. Tools, resources and prompts can be changed while the server serves; clients are
/// notified.
///
/// Without a pump, the handlers run on threads of the library, several at once. With a pump, the
/// handlers run one at a time on the thread that dispatches the pump.
pub struct mcplink_server_t {
    pub(super) gate: Gate,
    pub(super) server: Server,
    pub(super) stage: Arc<CallbackExecutor>,
    pub(super) handlers: Arc<Handlers>,
    pub(super) serving: Arc<Serving>,
    pub(super) claims_stdio: bool,
    /// The log hook of the server; `None` for the process-wide log hook.
    pub(super) log: Option<Arc<Hook>>,
    /// Wraps the transport of each session in a tap, if the host sees the messages.
    pub(super) tap: Option<Wrap>,
    /// The first error that mcplink_server_require_scopes returned. After an error the server
    /// accepts no further clients.
    pub(super) refusal: Refusal,
}

handle!(mcplink_server_t is Server);

impl Handled for mcplink_server_t {
    fn threads(&self) -> Threads {
        self.serving.threads().clone()
    }

    /// Closes the server, and runs its queued callbacks on this thread. Afterwards no callback of
    /// the server runs.
    fn close(&self) {
        self.serving.end();
        self.stage.finish();
        self.handlers.end();
    }
}

impl Settings for mcplink_server_t {
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
        let stage = CallbackExecutor::new(gate.number(), options.pump.clone(), threads.clone());
        let stage = Arc::new(stage);
        let handlers = Arc::new(Handlers::default());
        let server = options.build(gate.number(), &stage, &handlers, &threads)?;
        let serving = Arc::new(Serving::new(gate.number(), threads));
        let shown = Arc::downgrade(&serving);
        dump::show(shown);
        Ok(into_raw(Self {
            gate,
            server,
            stage,
            handlers,
            serving,
            claims_stdio: options.claims_stdio,
            log: options.log.clone(),
            tap: options.tap.clone(),
            refusal: Refusal::default(),
        }))
    }
}

/// Makes a server with default options.
///
/// name: the name of the server, for programs.
/// version: the version of the server.
/// Returns: the server. The caller owns it and frees it with mcplink_server_free. NULL for an
/// invalid argument; functions that take a server refuse NULL.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_server_new(
    name: *const c_char,
    version: *const c_char,
) -> *mut mcplink_server_t {
    constructed("mcplink_server_new", "server", || {
        // SAFETY: the header requires texts that end in NUL.
        let options = unsafe { described(name, version) };
        options.and_then(|options| mcplink_server_t::new(&options))
    })
}

/// Makes the options of a server from the name and the version of the server.
///
/// # Safety
///
/// Both texts are NULL or end in NUL.
unsafe fn described(
    server: *const c_char,
    version: *const c_char,
) -> Outcome<mcplink_server_options_t> {
    // SAFETY: the safety contract of this function.
    let (server, version) = unsafe { (name(server, "name")?, name(version, "version")?) };
    Ok(mcplink_server_options_t::new(server, version))
}

fallible! {
    taken(options: *const mcplink_server_options_t);

    /// Makes a server with options.
    ///
    /// options: the options, which are copied.
    /// out: receives the server, NULL on failure. The caller owns it and frees it with
    /// mcplink_server_free.
    /// Returns: MCPLINK_OK; MCPLINK_E_INVALID for options that contradict each other; the status of
    /// a failed setter of the options.
    fn mcplink_server_new_with() -> out: mcplink_server_t {
        mcplink_server_t::new(options)?
    }
}

/// Stops a server, as mcplink_server_stop does, waits until the server has ended, and frees the
/// server. No callback of the server runs afterwards. If a callback of the server, or the close
/// function of a session's transport, calls this function, the function returns at once. The server
/// is then freed after that callback has returned.
///
/// In a forked process the function does nothing: memory and descriptors, which are close-on-exec,
/// remain until the process exits or executes another program. See MCPLINK_E_FORKED.
///
/// server: the server; may be NULL. Other threads may be inside functions of the server: these
/// functions return MCPLINK_E_CLOSED. No thread may use the server afterwards.
/// Blocks: until handlers have returned, a few seconds at most.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_server_free(server: *mut mcplink_server_t) {
    // SAFETY: the header requires a server of this library, freed once.
    unsafe { free_handle(server) }
}

/// Stops a server: blocking calls such as mcplink_server_serve_stdio return MCPLINK_OK, sessions,
/// listeners and publications close, and the server accepts no more clients. The tools and other
/// entries of the server remain until the server is freed.
///
/// Returns: MCPLINK_OK; MCPLINK_E_INVALID for NULL; MCPLINK_E_FORKED in a forked process, where the
/// function does nothing.
/// Threads: any, also in signal handlers. Blocks: no: a thread of the library does the work.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_server_stop(server: *mut mcplink_server_t) -> mcplink_status_t {
    let stop = |server: &mcplink_server_t| {
        // In a forked process the descriptor numbers may refer to other files.
        if server.gate.is_foreign() {
            return mcplink_status::MCPLINK_E_FORKED;
        }
        server.serving.ask_to_stop();
        mcplink_status::MCPLINK_OK
    };
    // A signal handler must not allocate or lock, so this code looks at the server without entering
    // the handle. SAFETY: the header requires a server of this library.
    let stopped = unsafe { slots::peek(server, stop) };
    stopped.unwrap_or_else(Fault::status).code()
}
