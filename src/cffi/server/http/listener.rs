//! HTTP listeners of the library.

use std::ffi::c_char;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::super::mcplink_server_t;
use super::super::serving::{Served, Serving};
use super::options::mcplink_http_options_t;
use crate::cffi::entry::{find, optional, value};
use crate::cffi::handle::{Gate, Handled, enter, entering, free_handle, into_raw, visit};
use crate::cffi::text::{self, Text, mcplink_str_t};
use crate::cffi::user::is_inside;
use crate::server::http::HttpServer;

/// A listener, which accepts HTTP clients for a server.
pub struct mcplink_listener_t {
    gate: Gate,
    listener: Arc<HttpServer>,
    url: Text,
    serving: Arc<Serving>,
    /// The number that [`Serving::enter`] returned for the listener.
    number: u64,
}

impl Served for HttpServer {
    fn close(&self) {
        self.close();
    }

    fn stats(&self) -> Value {
        let stats = self.stats();
        json!({
            "kind": "listener",
            "url": self.url(),
            "sessions": self.sessions(),
            "connections": stats.connections,
            "requestsInHand": stats.in_hand,
            "streams": stats.streams,
            "waiting": stats.waiting,
            "threads": stats.workers,
            "accepted": stats.accepted,
            "refused": stats.refused,
        })
    }
}

handle!(mcplink_listener_t is Listener);

impl Handled for mcplink_listener_t {
    /// Returns whether this thread is inside the listener or its server. A handler of the server
    /// counts as inside, because closing the listener would wait for the handler's call.
    fn is_inside(&self) -> bool {
        self.serving.is_inside() || is_inside(self.gate.number())
    }

    fn close(&self) {
        let _inside = self.serving.inside();
        self.listener.close();
        self.serving.leave(self.number);
    }
}

fallible! {
    enter(server: *mut mcplink_server_t);

    /// Listens for HTTP clients. Threads of the library accept and serve them.
    ///
    /// Any client that can reach an address can send requests. If no other machine needs access,
    /// pass only a port: then only this machine has access. Authenticate clients of other machines
    /// with mcplink_http_options_on_authenticate. To a Unix socket only processes of the same user
    /// can connect, if other users can't replace files in its folder. A socket on which no process
    /// listens is replaced; closing the listener removes the socket.
    ///
    /// options: the options, which are copied. NULL for the defaults, which accept all clients
    /// without authentication. If a setter of the options failed, this function fails with the
    /// error of that setter.
    /// bind: an address such as "192.0.2.1:8080", only a port of the loopback address, such as
    /// "8080", or a Unix socket, such as "unix:/run/shop.sock". With port 0 the system chooses a
    /// port.
    /// out: receives the listener, NULL on failure. The caller owns it and frees it with
    /// mcplink_listener_free, before or after the server.
    /// Returns: MCPLINK_OK; MCPLINK_E_IO when the address is not available; MCPLINK_E_INVALID for
    /// invalid options, or when bind has neither a port nor "unix:"; MCPLINK_E_UNSUPPORTED for a
    /// Unix socket on Windows; MCPLINK_E_CLOSED when the server was stopped.
    fn mcplink_server_listen_http(
        options: *const mcplink_http_options_t,
        bind: *const c_char,
    ) -> out: mcplink_listener_t {
        let bind = text::name(bind, "bind")?;
        server.check_open()?;
        let options = match optional(options, "options")? {
            Some(options) => options.for_server(&server)?,
            None => mcplink_http_options_t::default().for_server(&server)?,
        };
        let listener = Arc::new(server.server.listen_http(bind, options)?);
        let number = server.serving.enter(Arc::clone(&listener) as _)?;
        into_raw(mcplink_listener_t {
            gate: Gate::new(),
            url: listener.url().into(),
            listener,
            serving: Arc::clone(&server.serving),
            number,
        })
    }
}

getters! {
    find(listener: mcplink_listener_t);

    /// Returns the port on which a listener accepts connections, also if the system chose the port.
    ///
    /// Returns: the port; 0 for a Unix socket.
    fn mcplink_listener_port() -> u16 {
        listener
            .listener
            .local_addr()
            .map_or(0, |address| address.port())
    }

    /// Returns the URL of the endpoint of a listener, for clients on this machine.
    ///
    /// Returns: text that is valid as long as the listener.
    fn mcplink_listener_url() -> mcplink_str_t {
        listener.url.view()
    }
}

/// Returns the number of open sessions of a listener. Only clients of revisions before 2026-07-28
/// have sessions.
///
/// Returns: the number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_listener_sessions(listener: *const mcplink_listener_t) -> usize {
    value(0, || {
        // SAFETY: the header requires a listener of this library.
        let listener = unsafe { visit(listener, "mcplink_listener_sessions") };
        listener.map_or(0, |listener| listener.listener.sessions())
    })
}

actions! {
    entering(listener: mcplink_listener_t);

    /// Moves the clients of a listener to other replicas; then call mcplink_listener_close. The
    /// health page answers with status 503 from now on, so a load balancer sends no new requests.
    /// The open subscriptions/listen streams end one after the other, each with its result, so that
    /// their clients do not reconnect all at once. Everything else is served as before. Sessions of
    /// clients of revisions before 2026-07-28 end when the listener is closed.
    ///
    /// milliseconds: how long the listener drains: several times as long as the interval at which
    /// the load balancer requests the health page.
    /// Returns: MCPLINK_OK.
    /// Blocks: for this time, or until another thread closes the listener.
    fn mcplink_listener_drain(milliseconds: u32) {
        listener
            .listener
            .drain(Duration::from_millis(milliseconds.into()));
    }

    /// Closes a listener: it accepts no more requests, calls in flight may continue for the drain
    /// time of the server, and sessions end. A handler should not call this function, because the
    /// function would wait for the handler's own call. A handler can free the listener or stop the
    /// server instead.
    ///
    /// Returns: MCPLINK_OK, also when the listener is closed already.
    /// Blocks: for the drain time and a few seconds at most.
    fn mcplink_listener_close() {
        listener.close();
    }
}

/// Closes a listener and frees it. If a callback of the server calls this function, the function
/// returns at once, and another thread closes the listener. So a handler that frees the listener
/// can still answer.
///
/// Blocks: as mcplink_listener_close.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_listener_free(listener: *mut mcplink_listener_t) {
    // SAFETY: the header requires a listener of this library, freed once.
    unsafe { free_handle(listener) }
}
