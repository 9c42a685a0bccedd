//! Connecting, closing, freeing.

use std::sync::Arc;
use std::time::Instant;

use super::calling::contained;
use super::endpoint::Ready;
use super::options::{mcplink_client_options_t, span};
use super::{Shared, mcplink_client_t};
use super::{events, questions};
use crate::cffi::callers::Callers;
use crate::cffi::entry::{Outcome, ffi, giving};
use crate::cffi::error::mcplink_error_t;
use crate::cffi::handle::{Gate, Handled as _, enter, free_handle, hand_out};
use crate::cffi::refusal::taken;
use crate::cffi::stage::Stage;
use crate::cffi::status::{mcplink_status, mcplink_status_t};
use crate::client::ClientBuilder;
use crate::error::Result;
use crate::transport::Transport;

/// A client that is to be connected.
struct Prepared {
    client: mcplink_client_t,
    builder: ClientBuilder,
    transport: Box<dyn Transport>,
}

fn prepare(options: &mcplink_client_options_t) -> Outcome<Prepared> {
    let gate = Gate::new();
    let threads = options.threads.of(gate.number());
    let stage = Stage::new(gate.number(), options.pump.clone(), threads.clone());
    let hooks = options.hooks.clone();
    let shared = Arc::new(Shared::new(
        gate.number(),
        stage,
        hooks,
        options.timeouts,
        threads.clone(),
    ));
    let Ready { transport, tail } = options.endpoint.transport(&shared)?;
    if let Some(tail) = tail {
        _ = shared.tail.set(tail);
    }
    let builder = events::attach(options.builder().threads(&threads), &shared);
    let builder = questions::attach(builder, &shared);
    let callers = Callers::new(gate.number(), options.max_started, threads);
    Ok(Prepared {
        client: mcplink_client_t {
            gate,
            shared,
            callers,
        },
        builder,
        transport,
    })
}

/// Connects. `is_told`: the host learns the outcome by an event.
fn connect(
    shared: &Shared,
    builder: ClientBuilder,
    transport: Box<dyn Transport>,
    is_told: bool,
) -> Result<()> {
    let connected = builder.connect(transport);
    let done = connected.and_then(|client| shared.connected(client, is_told));
    done.inspect_err(|error| shared.failed(error, is_told))
}

/// Opens a client: starts or reaches its server, and agrees on a revision of the protocol with it.
///
/// options: copied; they stay the caller's. Exactly one of command, url, fds and transport is set.
/// out: receives the client, NULL after a failure. The caller's to free.
/// err: receives what went wrong; NULL is fine.
/// Returns: MCPLINK_OK; MCPLINK_E_INVALID when options are missing or contradict each other, MCPLINK_E_SPAWN when the child can't be started,
/// MCPLINK_E_CLOSED when the server left (see mcplink_error_peer_stderr), MCPLINK_E_TIMEOUT when it said nothing, MCPLINK_E_UNSUPPORTED when there
/// is no common revision, MCPLINK_E_PEER or MCPLINK_E_PROTOCOL when it refuses or answers nonsense, MCPLINK_E_CANCELLED when the token of the
/// options was triggered; over HTTP MCPLINK_E_IO, MCPLINK_E_AUTH and MCPLINK_E_HTTP. Threads: any. Blocks: until there is an outcome, at most
/// for the time of mcplink_client_options_set_connect_timeout_ms. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_open(
    options: *const mcplink_client_options_t,
    out: *mut *mut mcplink_client_t,
    err: *mut *mut mcplink_error_t,
) -> mcplink_status_t {
    // SAFETY: the header says what they are.
    unsafe {
        giving(out, err, || {
            let options = taken(options, "options")?;
            let Prepared {
                client,
                mut builder,
                transport,
            } = prepare(options)?;
            if let Some(cancel) = &options.cancel {
                builder = builder.cancel_connecting_with(cancel);
            }
            if let Err(error) = connect(&client.shared, builder, transport, false) {
                client.close();
                return Err(error.into());
            }
            Ok(hand_out(client))
        })
    }
}

/// Starts to open a client: as mcplink_client_open, without waiting. The outcome is an event: MCPLINK_EVENT_CONNECTED or MCPLINK_EVENT_FAILED. Calls
/// fail with MCPLINK_E_STATE before.
///
/// options: copied; they stay the caller's. See mcplink_client_options_on_event.
/// out: receives the client, NULL after a failure. The caller's to free, at any time: that ends the connecting.
/// err: receives what went wrong; NULL is fine.
/// Returns: MCPLINK_OK when connecting was started; MCPLINK_E_INVALID when options are missing or contradict each other. Threads: any. Blocks: no.
/// Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_start(
    options: *const mcplink_client_options_t,
    out: *mut *mut mcplink_client_t,
    err: *mut *mut mcplink_error_t,
) -> mcplink_status_t {
    // SAFETY: the header says what they are.
    unsafe {
        giving(out, err, || {
            let options = taken(options, "options")?;
            let Prepared {
                client,
                builder,
                transport,
            } = prepare(options)?;
            let builder = builder.cancel_connecting_with(&client.shared.connecting);
            let (shared, cancel) = (Arc::clone(&client.shared), options.cancel.clone());
            let started = client.callers.start(move || {
                let connecting = shared.connecting.clone();
                let _tied = cancel.map(|cancel| cancel.on_trigger(move || connecting.trigger()));
                // What went wrong is told by the event.
                _ = contained(|| Ok(connect(&shared, builder, transport, true)?));
            });
            if let Err(error) = started {
                client.close();
                return Err(error.into());
            }
            Ok(hand_out(client))
        })
    }
}

/// Closes the connection, and ends the server if it is a child process. Calls that wait fail with MCPLINK_E_CLOSED. What is known of the server
/// stays readable. Freeing closes too.
///
/// client: the client.
/// timeout_ms: for how long to wait at most, in milliseconds; MCPLINK_FOREVER for no end of its own: closing has its own, see
/// mcplink_client_options_set_close_ms.
/// err: receives what went wrong; NULL is fine.
/// Returns: MCPLINK_OK, when it was closed before too; MCPLINK_E_TIMEOUT when it is still being closed, which goes on, and at once in the function
/// that its transport is told of the end with. Threads: any, in callbacks too. Blocks: for that long. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_close(
    client: *mut mcplink_client_t,
    timeout_ms: u32,
    err: *mut *mut mcplink_error_t,
) -> mcplink_status_t {
    // SAFETY: the header says what they are.
    unsafe {
        ffi(err, || {
            let client = enter(client, "client")?;
            let deadline = Instant::now().checked_add(span(timeout_ms));
            client.shared.close_until(deadline)?;
            Ok(mcplink_status::MCPLINK_OK)
        })
    }
}

/// Closes a client and frees it. Started calls get their outcome before this returns, and no callback of the client runs after it. Within a callback
/// of the client it returns at once, and the rest happens when that returns.
///
/// In a fork of the process that made it this does nothing: its memory and its descriptors, which are close-on-exec, stay until the process ends
/// or becomes another program. See MCPLINK_E_FORKED.
///
/// client: NULL is fine. Other threads may be in functions of it: they return MCPLINK_E_CLOSED. None may begin to use it. Threads: any. Blocks:
/// until the connection is closed, see mcplink_client_options_set_close_ms, and callbacks that run have returned. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_free(client: *mut mcplink_client_t) {
    // SAFETY: the header says that it is a client of ours, freed once.
    unsafe { free_handle(client) }
}
