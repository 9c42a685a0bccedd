//! Functions that connect, close and free clients.

use std::sync::Arc;
use std::time::Instant;

use super::call::{mcplink_done_fn, start_close};
use super::endpoint::Ready;
use super::options::mcplink_client_options_t;
use super::shared::{Shared, mcplink_client_t};
use super::{events, questions};
use crate::cffi::arg::{set_given, span};
use crate::cffi::callback_executor::CallbackExecutor;
use crate::cffi::callers::Callers;
use crate::cffi::entry::{Outcome, caught, ffi};
use crate::cffi::error::mcplink_error_t;
use crate::cffi::handle::{Gate, Handled as _, enter, free_handle, into_raw};
use crate::cffi::refusal::taken;
use crate::cffi::status::{mcplink_status, mcplink_status_t};
use crate::cffi::user::Hook;
use crate::client::ClientBuilder;
use crate::error::Result;
use crate::transport::Transport;

/// Makes a client that is ready to be connected, with its builder and its transport.
fn prepare(
    options: &mcplink_client_options_t,
) -> Outcome<(mcplink_client_t, ClientBuilder, Box<dyn Transport>)> {
    let gate = Gate::new();
    let threads = options.threads.of(gate.number());
    let stage = CallbackExecutor::new(gate.number(), options.pump.clone(), threads.clone());
    let hooks = options.hooks.clone();
    let shared = Arc::new(Shared::new(
        gate.number(),
        stage,
        hooks,
        options.timeouts,
        threads.clone(),
    ));
    let Ready { transport, tail } = options.endpoint.transport(&shared)?;
    let transport = match &options.tap {
        Some(wrap) => wrap(transport, gate.number()),
        None => transport,
    };
    if let Some(tail) = tail {
        _ = shared.tail.set(tail);
    }
    let builder = options
        .builder()
        .threads(&threads)
        .call_timeout(options.timeouts.timeout)
        .max_call_timeout(options.timeouts.max_timeout);
    let builder = match &options.validator {
        Some(validator) => builder.validator(validator(gate.number())),
        None => builder,
    };
    let builder = events::attach(builder, &shared);
    let builder = questions::attach(builder, &shared);
    let callers = Callers::new(gate.number(), options.max_started, threads);
    let client = mcplink_client_t {
        gate,
        shared,
        callers,
    };
    Ok((client, builder, transport))
}

/// Connects the client. If `posts_event` is true, the host receives the outcome as an event.
fn connect(
    shared: &Shared,
    builder: ClientBuilder,
    transport: Box<dyn Transport>,
    posts_event: bool,
) -> Result<()> {
    let connected = builder.connect(transport);
    let done = connected.and_then(|client| shared.connected(client, posts_event));
    done.inspect_err(|error| shared.failed(error, posts_event))
}

fallible! {
    taken(options: *const mcplink_client_options_t);

    /// Opens a client: starts the server or connects to the server, and negotiates a protocol
    /// revision.
    ///
    /// options: the options, which are copied and remain the caller's. Exactly one of command, url,
    /// fds and transport must be set.
    /// out: receives the client, NULL on failure. The caller owns it and frees it with
    /// mcplink_client_free.
    /// Returns: MCPLINK_OK; MCPLINK_E_INVALID when options are missing or contradict each other,
    /// MCPLINK_E_SPAWN when the child can't be started, MCPLINK_E_CLOSED when the server
    /// disconnected (see mcplink_error_peer_stderr), MCPLINK_E_TIMEOUT when the server did not
    /// answer, MCPLINK_E_UNSUPPORTED when there is no common revision, MCPLINK_E_PEER when the
    /// server refuses, MCPLINK_E_PROTOCOL when the server's answer is invalid, MCPLINK_E_CANCELLED
    /// when the token of the options was triggered; over HTTP also MCPLINK_E_IO, MCPLINK_E_AUTH and
    /// MCPLINK_E_HTTP.
    /// Blocks: until the client is connected or has failed, at most for the timeout that was set
    /// with mcplink_client_options_set_connect_timeout_ms.
    fn mcplink_client_open() -> out: mcplink_client_t {
        let (client, mut builder, transport) = prepare(options)?;
        let cancel = options.cancel.as_ref();
        builder = set_given(builder, cancel, ClientBuilder::cancel_connecting_with);
        if let Err(error) = connect(&client.shared, builder, transport, false) {
            client.close();
            return Err(error.into());
        }
        into_raw(client)
    }

    /// Starts to open a client without waiting: the non-blocking form of mcplink_client_open. An
    /// event reports the outcome: MCPLINK_EVENT_CONNECTED or MCPLINK_EVENT_FAILED. Calls may be
    /// made before: each waits for the outcome, and its timeouts include this wait. A blocking call
    /// in a callback of the client or of its transport fails with MCPLINK_E_STATE until the client
    /// is connected.
    ///
    /// options: the options, which are copied and remain the caller's. For the event function see
    /// mcplink_client_options_on_event.
    /// out: receives the client, NULL on failure. The caller owns it and may free it with
    /// mcplink_client_free at any time, which cancels connecting.
    /// Returns: MCPLINK_OK when connecting was started; MCPLINK_E_INVALID when options are missing
    /// or contradict each other.
    fn mcplink_client_start() -> out: mcplink_client_t {
        let (client, builder, transport) = prepare(options)?;
        let builder = builder.cancel_connecting_with(&client.shared.connecting);
        let (shared, cancel) = (Arc::clone(&client.shared), options.cancel.clone());
        let started = client.callers.start(move || {
            let connecting = shared.connecting.clone();
            let _tied = cancel.map(|cancel| cancel.on_trigger(move || connecting.cancel()));
            // The error is reported by the event.
            _ = caught(|| Ok(connect(&shared, builder, transport, true)?));
        });
        if let Err(error) = started {
            client.close();
            return Err(error.into());
        }
        into_raw(client)
    }
}

/// Closes the connection, and ends the server if the server is a child process. Pending calls fail
/// with MCPLINK_E_CLOSED. Information about the server remains readable. mcplink_client_free also
/// closes the connection.
///
/// timeout_ms: the maximum time to wait, in milliseconds. With MCPLINK_FOREVER the function waits
/// until the client is closed, which takes a limited time: see
/// mcplink_client_options_set_close_timeout_ms.
/// Returns: MCPLINK_OK, also when the client was closed before; MCPLINK_E_TIMEOUT when closing
/// takes longer and continues in the background. If the close function of the client's transport
/// calls mcplink_client_close, the call returns MCPLINK_E_TIMEOUT at once.
/// Blocks: until the client is closed, for at most timeout_ms.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_close(
    client: *mut mcplink_client_t,
    timeout_ms: u32,
    err: *mut *mut mcplink_error_t,
) -> mcplink_status_t {
    // SAFETY: the header requires valid arguments.
    unsafe {
        ffi(err, || {
            let client = enter(client, "client")?;
            let deadline = Instant::now().checked_add(span(timeout_ms));
            client.shared.close_until(deadline)?;
            Ok(mcplink_status::MCPLINK_OK)
        })
    }
}

fallible! {
    enter(client: *mut mcplink_client_t);

    /// Starts to close the connection without waiting: the non-blocking form of
    /// mcplink_client_close.
    ///
    /// callback: called once, with MCPLINK_OK and an empty result, and with NULL for the call. It
    /// is the last callback of the client: started calls have had their outcome.
    /// mcplink_client_free then takes no time, in this callback too. The callback runs on the
    /// thread that runs the client's callbacks, or in mcplink_client_free if that comes first. May
    /// be NULL.
    /// user, destroy: passed to callback; destroy runs after callback, or at once when closing
    /// can't be started.
    /// Returns: MCPLINK_OK, also when the client was closed before; MCPLINK_E_CLOSED when another
    /// thread frees the client: the callback then never runs; MCPLINK_E_IO when the system can't
    /// start a thread.
    fn mcplink_client_close_start(callback: mcplink_done_fn; user) {
        start_close(&client, Hook::new(callback, user))?;
    }
}

/// Closes a client and frees it. Started calls get their outcome before this function returns, and
/// no callback of the client runs afterwards. If the function is called inside a callback of the
/// client, it returns at once, and the client is freed when the callback returns.
///
/// In a forked process the function does nothing: memory and descriptors, which are close-on-exec,
/// remain until the process exits or executes another program. See MCPLINK_E_FORKED.
///
/// client: the client; may be NULL. Other threads may be inside functions of the client: these
/// functions return MCPLINK_E_CLOSED. No thread may use the client afterwards.
/// Blocks: until the connection is closed, see mcplink_client_options_set_close_timeout_ms, and
/// running callbacks have returned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_free(client: *mut mcplink_client_t) {
    // SAFETY: the header requires a client of this library, freed once.
    unsafe { free_handle(client) }
}
