//! Servers that listen for HTTP clients by themselves.

use std::ffi::c_char;
use std::sync::Arc;

use super::super::mcplink_server_t;
use super::super::serving::{Served, Serving};
use super::options::mcplink_http_options_t;
use crate::cffi::entry::{get, giving, plain, value};
use crate::cffi::error::mcplink_error_t;
use crate::cffi::handle::{Gate, Handled, enter, free_handle, hand_out};
use crate::cffi::status::{mcplink_status, mcplink_status_t};
use crate::cffi::text::{self, Text, mcplink_str_t, view_or_empty};
use crate::cffi::user::is_inside;
use crate::server::http::HttpServer;

/// A server that listens for HTTP clients.
pub struct mcplink_listener_t {
    gate: Gate,
    listener: Arc<HttpServer>,
    url: Text,
    serving: Arc<Serving>,
    /// Among all that the server serves.
    number: u64,
}

impl Handled for mcplink_listener_t {
    fn gate(&self) -> &Gate {
        &self.gate
    }

    /// A handler runs for a call in hand, and those may finish.
    fn is_inside(&self) -> bool {
        self.serving.is_inside() || is_inside(self.gate.number())
    }

    fn close(&self) {
        let _inside = self.serving.inside();
        self.listener.close();
        self.serving.leave(self.number);
    }
}

/// Listens for HTTP clients, on threads of the library.
///
/// Whoever can reach the address can send requests: name a port only unless others are meant to, and find out who they are with
/// mcplink_http_options_on_authenticate then.
///
/// server: the server.
/// options: the settings, which are copied; NULL for the defaults, with which everybody is let in. Settings of which a setter was refused are
/// refused, with its reason in err.
/// bind: an address such as "192.0.2.1:8080", or a port of the loopback address such as "8080"; port 0 is one that the system chooses.
/// listener: receives the listener, NULL after a failure. The caller's to free, before or after the server.
/// err: receives what went wrong; NULL is fine.
/// Returns: MCPLINK_OK; MCPLINK_E_IO when the address can't be had; MCPLINK_E_INVALID when the settings are none; MCPLINK_E_CLOSED when the server was stopped; MCPLINK_E_UNSUPPORTED in a
/// build without HTTP. Threads: any. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_server_listen_http(
    server: *mut mcplink_server_t,
    options: *const mcplink_http_options_t,
    bind: *const c_char,
    listener: *mut *mut mcplink_listener_t,
    err: *mut *mut mcplink_error_t,
) -> mcplink_status_t {
    // SAFETY: the header says that they are a server and options of ours, text that ends in NUL, and places that can be written to.
    unsafe {
        giving(listener, err, || {
            let server = enter(server, "server")?;
            let bind = text::name(bind, "bind")?;
            server.check_open()?;
            let options = match get(options) {
                Some(options) => options.for_server(&server)?,
                None => mcplink_http_options_t::default().for_server(&server)?,
            };
            let listener = Arc::new(server.server.listen_http(bind, options)?);
            let served = Served::Listener(Arc::clone(&listener));
            let number = server.serving.enter(served)?;
            Ok(hand_out(mcplink_listener_t {
                gate: Gate::new(),
                url: listener.url().into(),
                listener,
                serving: Arc::clone(&server.serving),
                number,
            }))
        })
    }
}

/// The port that a listener has, which the system has chosen if it was asked to.
///
/// listener: NULL for 0.
/// Returns: the port. Threads: any. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_listener_port(listener: *const mcplink_listener_t) -> u16 {
    // SAFETY: the header says that it is a listener of ours, which lives.
    unsafe { get(listener) }.map_or(0, |listener| listener.listener.local_addr().port())
}

/// The address of the endpoint, for clients on the same machine.
///
/// listener: NULL for "".
/// Returns: valid as long as the listener. Threads: any. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_listener_url(
    listener: *const mcplink_listener_t,
) -> mcplink_str_t {
    // SAFETY: the header says that it is a listener of ours, which lives; the text never changes.
    view_or_empty(unsafe { get(listener) }.map(|listener| &listener.url))
}

/// How many sessions of clients of revisions before 2026-07-28 are open.
///
/// listener: NULL for 0.
/// Returns: the count. Threads: any. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_listener_sessions(listener: *const mcplink_listener_t) -> usize {
    value(0, || {
        // SAFETY: the header says that it is a listener of ours.
        let listener = unsafe { enter(listener, "listener") };
        listener.map_or(0, |listener| listener.listener.sessions())
    })
}

/// Closes a listener: nothing more is accepted, calls in hand may finish for as long as the server's drain time says, sessions end. A handler
/// that calls it is in hand too, and is waited for: better have it free the listener, or stop the server.
///
/// listener: the listener.
/// Returns: MCPLINK_OK, also when it is closed already. Threads: any. Blocks: for that time and a few seconds at most. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_listener_close(
    listener: *mut mcplink_listener_t,
) -> mcplink_status_t {
    plain(|| {
        // SAFETY: the header says that it is a listener of ours.
        let listener = unsafe { enter(listener, "listener") }?;
        listener.close();
        Ok(mcplink_status::MCPLINK_OK)
    })
}

/// Frees a listener, and closes it before. Called in a callback of the server it returns at once, and the rest happens beside it: a handler that
/// does so can still answer.
///
/// listener: NULL is fine. Threads: any. Blocks: as mcplink_listener_close. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_listener_free(listener: *mut mcplink_listener_t) {
    // SAFETY: the header says that it is a listener of ours, freed once.
    unsafe { free_handle(listener) }
}
