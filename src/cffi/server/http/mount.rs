//! The HTTP endpoint of a server, mounted in a web server of the host.

use std::sync::Arc;

use serde_json::{Value, json};

use super::super::mcplink_server_t;
use super::super::serving::{Served, Serving};
use super::exchange::mcplink_exchange_t;
use super::options::mcplink_http_options_t;
use crate::cffi::callback_executor::CallbackExecutor;
use crate::cffi::entry::{ffi, optional};
use crate::cffi::error::mcplink_error_t;
use crate::cffi::handle::{Gate, Handled, enter, entering, free_handle, into_raw};
use crate::cffi::refusal::Settings as _;
use crate::cffi::status::{mcplink_status, mcplink_status_t};
use crate::error::{Error, ErrorKind};
use crate::server::http::HttpService;
use crate::transport::http::Service;

/// The HTTP endpoint of a server, to be mounted in a web server of the host.
pub struct mcplink_http_t {
    gate: Gate,
    service: HttpService,
    stage: Arc<CallbackExecutor>,
    serving: Arc<Serving>,
    /// The number that [`Serving::enter`] returned for the endpoint.
    number: u64,
}

impl Served for HttpService {
    fn close(&self) {
        self.close();
    }

    fn stats(&self) -> Value {
        json!({ "kind": "http", "sessions": self.sessions() })
    }
}

handle!(mcplink_http_t is Http);

impl Handled for mcplink_http_t {
    fn close(&self) {
        let _inside = self.serving.inside();
        self.service.close();
        self.serving.leave(self.number);
    }
}

fallible! {
    enter(server: *mut mcplink_server_t);

    /// Makes an endpoint that the host mounts in its own web server. The host passes each request
    /// to mcplink_http_serve.
    ///
    /// options: the options, which are copied. NULL for the defaults, which accept all clients
    /// without authentication. If a setter of the options failed, this function fails with the
    /// error of that setter. The host itself has to limit the number of connections.
    /// out: receives the endpoint, NULL on failure. The caller owns it and frees it with
    /// mcplink_http_free, before or after the server.
    /// Returns: MCPLINK_OK; MCPLINK_E_INVALID for invalid options; MCPLINK_E_CLOSED when the server
    /// was stopped.
    fn mcplink_server_http(options: *const mcplink_http_options_t) -> out: mcplink_http_t {
        server.check_open()?;
        let options = match optional(options, "options")? {
            Some(options) => options.for_server(&server)?,
            None => mcplink_http_options_t::default().for_server(&server)?,
        };
        let service = server.server.http_service(options);
        let number = server.serving.enter(Arc::new(service.clone()))?;
        into_raw(mcplink_http_t {
            gate: Gate::new(),
            service,
            stage: Arc::clone(&server.stage),
            serving: Arc::clone(&server.serving),
            number,
        })
    }
}

/// Serves an HTTP request. The functions of the exchange send the response, during this call or
/// after it.
///
/// exchange: the request, and the functions for its response. An exchange can be served once. The
/// exchange remains the caller's.
/// Returns: MCPLINK_OK when a response was or will be sent, whatever its HTTP status;
/// MCPLINK_E_STATE when the exchange was served before; the status of a failed setter of the
/// exchange.
/// Threads: any, several at once. Blocks: without a pump the handler runs on this thread, and the
/// function blocks until the handler returns.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_serve(
    http: *mut mcplink_http_t,
    exchange: *mut mcplink_exchange_t,
    err: *mut *mut mcplink_error_t,
) -> mcplink_status_t {
    // SAFETY: the header requires an endpoint and an exchange of this library and a pointer that
    // can be written to.
    unsafe {
        ffi(err, || {
            let (http, exchange) = (enter(http, "http")?, enter(exchange, "exchange")?);
            exchange.refusal().check()?;
            let Some(asked) = exchange.take_request()? else {
                let text = "an exchange serves one request: make one for each";
                return Err(Error::new(ErrorKind::State, text).into());
            };
            let headers = asked.headers();
            let writer = exchange.writer(&http.stage);
            http.service
                .serve(asked.request(&headers), Box::new(writer));
            Ok(mcplink_status::MCPLINK_OK)
        })
    }
}

actions! {
    entering(http: mcplink_http_t);

    /// Closes an endpoint, and ends the sessions, streams and requests of the endpoint.
    ///
    /// Returns: MCPLINK_OK, also when the endpoint is closed already.
    /// Blocks: a few seconds at most.
    fn mcplink_http_close() {
        http.close();
    }
}

/// Closes an endpoint and frees it.
///
/// Blocks: as mcplink_http_close.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_free(http: *mut mcplink_http_t) {
    // SAFETY: the header requires an endpoint of this library, freed once.
    unsafe { free_handle(http) }
}
