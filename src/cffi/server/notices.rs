//! Notifications that a server sends by itself, and the callback that sees its messages.

use std::ffi::c_char;

use super::mcplink_server_t;
use super::session::mcplink_session_t;
use super::settings::mcplink_server_options_t;
use crate::cffi::entry::ffi;
use crate::cffi::error::mcplink_error_t;
use crate::cffi::extensions::object;
use crate::cffi::handle::{enter, entering};
use crate::cffi::refusal::set;
use crate::cffi::status::{mcplink_status, mcplink_status_t};
use crate::cffi::tap::{mcplink_message_fn, wrap};
use crate::cffi::text::filled;
use crate::cffi::user::Hook;
use crate::error::{Error, ErrorKind};

/// Notifies a client that an elicitation of mode "url" is complete: the user has done what the page
/// asked for. The handler set the "elicitationId" of the elicitation. Only the client that got the
/// elicitation is notified, and only once.
///
/// Only revision 2025-11-25 has this notification. In other revisions nothing is sent, and the
/// client repeats its call by itself.
///
/// elicitation_id: the id of the elicitation.
/// sent: receives whether a notification was sent. May be NULL.
/// Returns: MCPLINK_OK, also when nothing is sent; MCPLINK_E_INVALID; MCPLINK_E_CLOSED when the
/// client has gone, MCPLINK_E_TIMEOUT when it does not read.
/// Threads: any, for example that of a web server. Blocks: only while the client does not read.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_server_elicitation_complete(
    server: *mut mcplink_server_t,
    elicitation_id: *const c_char,
    sent: *mut bool,
    err: *mut *mut mcplink_error_t,
) -> mcplink_status_t {
    // SAFETY: the header requires a server of this library, text that ends in NUL, and pointers
    // that can be written to.
    unsafe {
        ffi(err, || {
            if !sent.is_null() {
                sent.write(false);
            }
            let server = enter(server, "server")?;
            let elicitation_id = filled(elicitation_id, "elicitation_id")?;
            let was_sent = server.server.elicitation_complete(elicitation_id)?;
            if !sent.is_null() {
                sent.write(was_sent);
            }
            Ok(mcplink_status::MCPLINK_OK)
        })
    }
}

actions! {
    entering(server: mcplink_server_t);

    /// Ends all subscriptions of clients of revisions since 2026-07-28 with their results, so that
    /// clients know that the end is intended. Connections and calls continue.
    fn mcplink_server_end_subscriptions() {
        server.server.end_subscriptions();
    }
}

fallible! {
    enter(session: *mut mcplink_session_t);

    /// Sends the client of a session a notification of the host's own method. Notifications that
    /// belong to a request are sent with mcplink_responder_notify, which also works over HTTP.
    ///
    /// method: the method, for example "notifications/com.example/moved".
    /// params, len: a JSON object; len may be MCPLINK_NUL for text that ends in NUL. NULL for none.
    /// Returns: MCPLINK_OK; MCPLINK_E_INVALID; MCPLINK_E_CLOSED when the session has ended,
    /// MCPLINK_E_TIMEOUT when the client does not read.
    /// Blocks: only while the client does not read.
    fn mcplink_session_notify(method: *const c_char, params: *const c_char, len: usize) {
        let method = filled(method, "method")?;
        let params = object(params, len)?;
        let Some(connection) = session.line.connection() else {
            return Err(Error::new(ErrorKind::Closed, "the session has ended").into());
        };
        connection.peer().notify(method, &params)?;
    }
}

actions! {
    set(options: mcplink_server_options_t);

    /// Sets the function that sees each message of the server's sessions, unchanged: for logs and
    /// traces. Sessions are served over standard streams, descriptors and transports; messages over
    /// HTTP are not shown.
    ///
    /// callback: see mcplink_message_fn. NULL for no function.
    /// user, destroy: passed to callback; destroy runs when another function is set, or when the
    /// options and all servers made with them are freed.
    fn mcplink_server_options_on_message(callback: mcplink_message_fn; user) {
        options.tap = Hook::new(callback, user).map(wrap);
    }
}
