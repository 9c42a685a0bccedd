//! Sessions: serving single clients over standard streams, descriptors and transports of the host.

use std::ffi::c_char;
use std::sync::Arc;

use super::events::session_number;
use super::mcplink_server_t;
use super::serving::{Line, Serving};
use crate::cffi::entry::{Outcome, descriptor, ffi, find, value};
use crate::cffi::error::mcplink_error_t;
use crate::cffi::handle::{Gate, Handled, enter, entering, free_handle, into_raw, visit};
use crate::cffi::status::{mcplink_status, mcplink_status_t};
use crate::cffi::text::{Text, mcplink_str_t, optional_filled};
use crate::cffi::transport::mcplink_transport_t;
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::Connection;
use crate::transport::sys::fd::duplicate_raw;
use crate::transport::{Stdio, Stream, Transport};

/// A session: the connection to one client of a server.
pub struct mcplink_session_t {
    gate: Gate,
    pub(super) line: Arc<Line>,
    principal: Option<Text>,
    serving: Arc<Serving>,
    /// The number that [`Serving::enter`] returned for the session.
    number: u64,
    /// The session number that C sees in requests and events.
    shown: u64,
}

handle!(mcplink_session_t is Session);

impl Handled for mcplink_session_t {
    fn close(&self) {
        let _inside = self.serving.inside();
        self.line.close();
        self.serving.leave(self.number);
    }
}

impl mcplink_server_t {
    fn open(
        &self,
        principal: Option<&str>,
        transport: impl Transport + 'static,
    ) -> Result<Connection> {
        match &self.tap {
            Some(wrap) => self.open_bare(principal, wrap(Box::new(transport), self.gate.number())),
            None => self.open_bare(principal, transport),
        }
    }

    fn open_bare(
        &self,
        principal: Option<&str>,
        transport: impl Transport + 'static,
    ) -> Result<Connection> {
        match principal {
            Some(principal) => self.server.open_for(principal, transport),
            None => self.server.open(transport),
        }
    }

    /// Serves a client, and blocks until the client has disconnected or the server was stopped.
    fn serve(&self, principal: Option<&str>, transport: impl Transport + 'static) -> Outcome {
        if self.stage.is_pumped() && self.stage.is_home() {
            let text = "this thread dispatches the pump of the server: serve on another one, or without waiting, with mcplink_server_serve_stdio_start";
            return Err(Error::new(ErrorKind::State, text).into());
        }
        if self.serving.is_stopped() {
            return self.served(None);
        }
        self.check_open()?;
        let line = Line::new(self.open(principal, transport)?);
        let number = match self.serving.enter(Arc::clone(&line) as _) {
            Ok(number) => number,
            Err(_) if self.serving.is_stopped() => return self.served(None),
            Err(error) => return Err(error.into()),
        };
        let error = line.wait();
        self.serving.leave(number);
        self.served(error)
    }

    /// Returns the outcome of serving a client. `error` is the error that ended the connection.
    fn served(&self, error: Option<Error>) -> Outcome {
        match error {
            _ if self.serving.has_ended() => {
                Err(Error::new(ErrorKind::Closed, "the server was freed").into())
            }
            Some(error) if error.kind() != ErrorKind::Closed && !self.serving.is_stopped() => {
                Err(error.into())
            }
            _ => Ok(mcplink_status::MCPLINK_OK),
        }
    }

    /// Fails if the server was stopped, or if mcplink_server_require_scopes failed before.
    pub(super) fn check_open(&self) -> Outcome<()> {
        self.refusal.check()?;
        if self.serving.is_stopped() {
            let text = "the server was stopped: make another one to serve again";
            return Err(Error::new(ErrorKind::Closed, text).into());
        }
        Ok(())
    }

    /// Starts to serve a client without blocking, and returns the session.
    pub(super) fn start(
        &self,
        principal: Option<&str>,
        transport: impl Transport + 'static,
    ) -> Outcome<*mut mcplink_session_t> {
        self.check_open()?;
        let connection = self.open(principal, transport)?;
        let shown = self.server.number_of(&connection).map_or(0, session_number);
        let line = Line::new(connection);
        let number = self.serving.enter(Arc::clone(&line) as _)?;
        Ok(into_raw(mcplink_session_t {
            gate: Gate::new(),
            line,
            principal: principal.map(Text::from),
            serving: Arc::clone(&self.serving),
            number,
            shown,
        }))
    }

    fn stdio(&self) -> Stdio {
        Stdio::new().claim(self.claims_stdio)
    }
}

/// Duplicates two descriptors of the host, and makes a stream of the duplicates.
fn descriptors(input: isize, output: isize) -> Result<Stream> {
    let own = |number: isize, what: &str| {
        let own = duplicate_raw(descriptor(number, what)?);
        own.map_err(|error| Error::io(format_args!("duplicating {what}"), error))
    };
    Ok(Stream::given(own(input, "input")?, own(output, "output")?))
}

/// Serves the process that started this process, over the standard streams. Serving ends when that
/// process closes the streams or mcplink_server_stop is called.
///
/// While the function runs, the standard streams are reserved for the protocol. Other output of
/// this process and its children goes to standard error. Other code that reads standard input gets
/// no data. Both streams are restored at the end. Call the function before anything reads standard
/// input.
///
/// Returns: MCPLINK_OK when the client has disconnected or the server was stopped; MCPLINK_E_STATE
/// when the standard streams are served already, or this thread dispatches the pump of the server;
/// MCPLINK_E_IO when a stream failed; MCPLINK_E_CLOSED when the server is freed.
/// Threads: any. With a pump another thread must dispatch the pump. Blocks: until serving ends;
/// calls in flight may finish first, for a few seconds.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_server_serve_stdio(
    server: *mut mcplink_server_t,
    err: *mut *mut mcplink_error_t,
) -> mcplink_status_t {
    // SAFETY: the header requires a server of this library and a pointer that can be written to.
    unsafe {
        ffi(err, || {
            let server = enter(server, "server")?;
            server.serve(None, server.stdio())
        })
    }
}

fallible! {
    enter(server: *mut mcplink_server_t);

    /// Starts to serve over the standard streams without waiting: the non-blocking form of
    /// mcplink_server_serve_stdio.
    ///
    /// out: receives the session, NULL on failure. The caller owns it and frees it with
    /// mcplink_session_free, before or after the server.
    /// Returns: as mcplink_server_serve_stdio; MCPLINK_E_CLOSED when the server was stopped.
    fn mcplink_server_serve_stdio_start() -> out: mcplink_session_t {
        server.start(None, server.stdio())?
    }

    /// Starts to serve over file descriptors without waiting: the non-blocking form of
    /// mcplink_server_serve_fds.
    ///
    /// input, output, principal: as for mcplink_server_serve_fds.
    /// out: receives the session, NULL on failure. The caller owns it and frees it with
    /// mcplink_session_free, before or after the server.
    /// Returns: as mcplink_server_serve_fds; MCPLINK_E_CLOSED when the server was stopped.
    fn mcplink_server_serve_fds_start(
        input: isize,
        output: isize,
        principal: *const c_char,
    ) -> out: mcplink_session_t {
        let principal = optional_filled(principal, "principal")?;
        server.start(principal, descriptors(input, output)?)?
    }

    /// Starts to serve a client over a transport of the host, without waiting.
    ///
    /// After the client has disconnected (mcplink_transport_feed_end), answers to calls in flight
    /// may still be sent. Sending ends after the drain time of the server, or when the host closes
    /// or frees the session. MCPLINK_SERVER_SESSION_ENDED and mcplink_session_is_closed report that
    /// the client has disconnected. mcplink_session_wait waits until the client has disconnected,
    /// and then closes the session.
    ///
    /// transport: the transport, with a send function. A transport serves one session. The
    /// transport remains the caller's; free it after the session.
    /// principal: the principal for which the client acts, as authenticated by the host; NULL when
    /// the principal is unknown.
    /// out: receives the session, NULL on failure. The caller owns it and frees it with
    /// mcplink_session_free, before or after the server.
    /// Returns: MCPLINK_OK; MCPLINK_E_STATE when the transport was used before or has no send
    /// function; MCPLINK_E_CLOSED when the server was stopped.
    fn mcplink_server_attach(
        transport: *mut mcplink_transport_t,
        principal: *const c_char,
    ) -> out: mcplink_session_t {
        let transport = enter(transport, "transport")?;
        let principal = optional_filled(principal, "principal")?;
        server.check_open()?;
        server.start(principal, transport.connector().connect()?)?
    }
}

/// Serves a client over file descriptors, such as pipes, sockets or files. Serving ends when the
/// client disconnects or mcplink_server_stop is called. Each message is a line.
///
/// input, output: the descriptors to read from and to write to; for a socket they may be equal.
/// Both descriptors are duplicated. The originals remain the caller's, and may be closed at any
/// time.
/// principal: the principal for which the client acts, as authenticated by the host: see
/// mcplink_request_principal. NULL when the principal is unknown.
/// Returns: MCPLINK_OK when the client has disconnected or the server was stopped;
/// MCPLINK_E_INVALID or MCPLINK_E_IO for invalid descriptors; MCPLINK_E_STATE when this thread
/// dispatches the pump of the server; MCPLINK_E_CLOSED when the server is freed.
/// Blocks: until serving ends.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_server_serve_fds(
    server: *mut mcplink_server_t,
    input: isize,
    output: isize,
    principal: *const c_char,
    err: *mut *mut mcplink_error_t,
) -> mcplink_status_t {
    // SAFETY: the header requires a server of this library, text that ends in NUL, and a pointer
    // that can be written to.
    unsafe {
        ffi(err, || {
            let server = enter(server, "server")?;
            let principal = optional_filled(principal, "principal")?;
            server.serve(principal, descriptors(input, output)?)
        })
    }
}

/// Waits until the client has disconnected or the session is closed, and then closes the session.
///
/// Returns: MCPLINK_OK when the client has disconnected or the session was closed; another status
/// when the transport failed.
/// Blocks: until the session has ended; calls in flight may finish first, for a few seconds.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_session_wait(
    session: *mut mcplink_session_t,
    err: *mut *mut mcplink_error_t,
) -> mcplink_status_t {
    // SAFETY: the header requires a session of this library and a pointer that can be written to.
    unsafe {
        ffi(err, || {
            let session = enter(session, "session")?;
            let _inside = session.serving.inside();
            let error = session.line.wait();
            session.serving.leave(session.number);
            match error.filter(|error| error.kind() != ErrorKind::Closed) {
                Some(error) => Err(error.into()),
                None => Ok(mcplink_status::MCPLINK_OK),
            }
        })
    }
}

actions! {
    entering(session: mcplink_session_t);

    /// Closes a session: its calls are cancelled, and its transport is closed. If the close
    /// function of the session's transport calls this function or mcplink_session_wait, the call
    /// returns at once. The close in progress then continues.
    ///
    /// Returns: MCPLINK_OK, also when the session is closed already.
    /// Blocks: a few seconds at most, for handlers that don't return.
    fn mcplink_session_close() {
        session.close();
    }
}

/// Checks whether the client has disconnected, or the session was closed.
///
/// Returns: true if the session has ended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_session_is_closed(session: *const mcplink_session_t) -> bool {
    value(true, || {
        // SAFETY: the header requires a session of this library.
        let session = unsafe { visit(session, "mcplink_session_is_closed") };
        let line = session.and_then(|session| session.line.connection());
        line.is_none_or(|line| line.peer().is_closed())
    })
}

getters! {
    find(session: mcplink_session_t);

    /// Returns a number that identifies the session in the server. mcplink_request_session returns
    /// the same number for requests of the session, and events contain it as "session".
    ///
    /// Returns: the number, from 1.
    fn mcplink_session_number() -> u64 {
        session.shown
    }

    /// Returns the principal for which the client acts.
    ///
    /// Returns: the principal that was set when the session was made, valid as long as the session;
    /// empty when the principal is unknown.
    fn mcplink_session_principal() -> mcplink_str_t {
        session.principal.as_ref()?.view()
    }
}

/// Closes a session and frees it.
///
/// Blocks: as mcplink_session_close.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_session_free(session: *mut mcplink_session_t) {
    // SAFETY: the header requires a session of this library, freed once.
    unsafe { free_handle(session) }
}
