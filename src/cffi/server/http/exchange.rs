//! HTTP exchanges: a request that the host's own web server received, and the path of its response.

use std::ffi::{c_char, c_void};
use std::net::SocketAddr;
use std::sync::Arc;

use super::channel::{
    Channel, Writer, mcplink_http_begin_fn, mcplink_http_end_fn, mcplink_http_write_fn,
};
use crate::cffi::callback_executor::CallbackExecutor;
use crate::cffi::entry::{Outcome, plain};
use crate::cffi::handle::{Gate, Handled, enter, entering, free_handle, into_raw};
use crate::cffi::refusal::{Refusal, Settings, constructed, refused};
use crate::cffi::status::mcplink_status_t;
use crate::cffi::text::{measured, missing, name, optional};
use crate::cffi::user::{UserData, mcplink_destroy_fn};
use crate::error::{Error, ErrorKind, Result};
use crate::sync::Mutex;
use crate::transport::http::{HttpRequest, ResponseWriter};

/// An HTTP exchange: a request that the host's own web server received, and the functions that send
/// its response.
pub struct mcplink_exchange_t {
    gate: Gate,
    asked: Mutex<Option<Asked>>,
    served: Mutex<bool>,
    channel: Arc<Channel>,
    refusal: Refusal,
}

handle!(mcplink_exchange_t is Exchange);

/// The HTTP request of an exchange, as described by the host.
pub(super) struct Asked {
    method: String,
    target: String,
    headers: Vec<(String, Vec<u8>)>,
    body: Vec<u8>,
    local: Option<SocketAddr>,
    remote: Option<SocketAddr>,
}

impl Asked {
    pub(super) fn headers(&self) -> Vec<(&str, &[u8])> {
        let headers = self.headers.iter();
        headers.map(|(name, value)| (&**name, &**value)).collect()
    }

    pub(super) fn request<'a>(&'a self, headers: &'a [(&'a str, &'a [u8])]) -> HttpRequest<'a> {
        HttpRequest::new(&self.method, &self.target)
            .headers(headers)
            .body(self.body.clone())
            .addresses(self.local, self.remote)
    }
}

impl Handled for mcplink_exchange_t {
    fn begin_close(&self) {
        self.channel.abandon();
    }

    /// Records that the client has disconnected, and waits until no function of the host runs.
    fn close(&self) {
        self.channel.leave();
    }
}

impl Settings for mcplink_exchange_t {
    const TARGET: &'static str = "http";

    fn refusal(&self) -> &Refusal {
        &self.refusal
    }
}

impl mcplink_exchange_t {
    /// Removes the HTTP request from the exchange, and returns the request. Later calls return
    /// `None`.
    pub(super) fn take_request(&self) -> Outcome<Option<Asked>> {
        if std::mem::replace(&mut *self.served.lock(), true) {
            return Ok(None);
        }
        Ok(self.asked.lock().take())
    }

    pub(super) fn writer(&self, stage: &Arc<CallbackExecutor>) -> impl ResponseWriter + use<> {
        let stage = stage.is_pumped().then(|| Arc::clone(stage));
        Writer::new(Arc::clone(&self.channel), stage)
    }

    fn change(&self, change: impl FnOnce(&mut Asked)) -> Outcome<()> {
        match &mut *self.asked.lock() {
            Some(asked) => {
                change(asked);
                Ok(())
            }
            None => {
                let text = "the exchange has served its request already";
                Err(Error::new(ErrorKind::State, text).into())
            }
        }
    }
}

/// Runs a setter of an exchange, and returns the status for C. If the setter fails,
/// mcplink_http_serve fails later with the same error.
///
/// # Safety
///
/// `exchange` is NULL or a live exchange.
unsafe fn run_setter(
    exchange: *mut mcplink_exchange_t,
    setter: &str,
    change: impl FnOnce(&mcplink_exchange_t) -> Outcome<()>,
) -> mcplink_status_t {
    // SAFETY: the safety contract of this function.
    match unsafe { enter(exchange, "exchange") } {
        Ok(exchange) => plain(|| exchange.attempt(setter, || change(&exchange))),
        Err(failure) => refused(mcplink_exchange_t::TARGET, setter, failure),
    }
}

/// Makes an exchange: an HTTP request that the host's own web server received, and the functions
/// that send its response.
///
/// method: the method of the request, in capitals, as received.
/// target: the path and query, as received.
/// begin, write, end: the functions that send the response. They run one at a time: on threads of
/// the library, on the thread that calls mcplink_http_serve, or on the thread that dispatches the
/// pump of the server.
/// user, destroy: passed to begin, write and end; destroy runs when the exchange is freed.
/// Returns: the exchange. The caller owns it and frees it with mcplink_exchange_free after end was
/// called, or earlier to abandon the response. NULL for an invalid argument.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_exchange_new(
    method: *const c_char,
    target: *const c_char,
    begin: mcplink_http_begin_fn,
    write: mcplink_http_write_fn,
    end: mcplink_http_end_fn,
    user: *mut c_void,
    destroy: mcplink_destroy_fn,
) -> *mut mcplink_exchange_t {
    let user = UserData::new(user, destroy);
    constructed("mcplink_exchange_new", "http", || {
        // SAFETY: the header requires texts that end in NUL.
        let (method, target) = unsafe { (name(method, "method")?, name(target, "target")?) };
        let begin = begin.ok_or_else(|| missing("begin"))?;
        let write = write.ok_or_else(|| missing("write"))?;
        let end = end.ok_or_else(|| missing("end"))?;
        let gate = Gate::new();
        let channel = Channel::new(gate.number(), begin, write, end, user);
        Ok(into_raw(mcplink_exchange_t {
            gate,
            asked: Mutex::new(Some(Asked {
                method: method.to_owned(),
                target: target.to_owned(),
                headers: Vec::new(),
                body: Vec::new(),
                local: None,
                remote: None,
            })),
            served: Mutex::default(),
            channel,
            refusal: Refusal::default(),
        }))
    })
}

/// Adds a header field to the request.
///
/// field: the name of the field; case-insensitive.
/// value, len: the value of the field, without surrounding white space; len may be MCPLINK_NUL for
/// text that ends in NUL.
/// Returns: MCPLINK_OK, MCPLINK_E_INVALID, or MCPLINK_E_STATE when the request was served already.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_exchange_add_header(
    exchange: *mut mcplink_exchange_t,
    field: *const c_char,
    value: *const c_char,
    len: usize,
) -> mcplink_status_t {
    // SAFETY: the header requires an exchange of this library, text that ends in NUL, and bytes
    // with their length.
    unsafe {
        run_setter(exchange, "mcplink_exchange_add_header", |exchange| {
            let field = name(field, "field")?.to_owned();
            let header = (field, measured(value, len, "value")?.to_owned());
            exchange.change(|asked| asked.headers.push(header))
        })
    }
}

/// Sets the body of the request.
///
/// body, len: the whole body, without a transfer coding; len may be MCPLINK_NUL for text that ends
/// in NUL. The host has to limit the length of the body.
/// Returns: MCPLINK_OK, MCPLINK_E_INVALID, or MCPLINK_E_STATE when the request was served already.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_exchange_set_body(
    exchange: *mut mcplink_exchange_t,
    body: *const c_void,
    len: usize,
) -> mcplink_status_t {
    // SAFETY: the header requires an exchange of this library and bytes with their length.
    unsafe {
        run_setter(exchange, "mcplink_exchange_set_body", |exchange| {
            let body = measured(body.cast(), len, "body")?.to_owned();
            exchange.change(|asked| asked.body = body)
        })
    }
}

/// Sets the local and the remote address of the request. The local address decides which values of
/// the header field Host are accepted.
///
/// local: address and port, for example "127.0.0.1:8080". NULL is refused, because a server without
/// allowed host names (mcplink_http_options_add_host) would then accept all host names.
/// remote: address and port of the client; NULL when they are unknown.
/// Returns: MCPLINK_OK, MCPLINK_E_INVALID, or MCPLINK_E_STATE when the request was served already.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_exchange_set_addresses(
    exchange: *mut mcplink_exchange_t,
    local: *const c_char,
    remote: *const c_char,
) -> mcplink_status_t {
    fn address(text: &str) -> Result<SocketAddr> {
        text.parse().map_err(|_| {
            let text = format!("'{text}' is no address and port, such as 127.0.0.1:8080");
            Error::new(ErrorKind::Invalid, text)
        })
    }
    // SAFETY: the header requires an exchange of this library and texts that end in NUL.
    unsafe {
        run_setter(exchange, "mcplink_exchange_set_addresses", |exchange| {
            let local = address(name(local, "local")?)?;
            let remote = optional(remote, "remote")?.map(address).transpose()?;
            exchange.change(|asked| (asked.local, asked.remote) = (Some(local), remote))
        })
    }
}

actions! {
    entering(exchange: mcplink_exchange_t);

    /// Reports that the client has disconnected: the rest of the response is not sent. If the
    /// response has not ended, the function end is still called.
    fn mcplink_exchange_disconnected() {
        exchange.channel.lose();
    }

    /// Begins the response as an event stream, so that proxies do not drop the idle connection.
    /// Call the function when the response has not begun after the interval that was set with
    /// mcplink_http_options_set_keep_alive_ms. The function does nothing when the client does not
    /// accept event streams, or the response has begun.
    ///
    /// Threads: any; the functions begin and write may run on this thread. Blocks: only while these
    /// functions run.
    fn mcplink_exchange_begin_stream() {
        exchange.channel.break_silence();
    }
}

/// Frees an exchange: none of its functions runs afterwards. A response that has not ended is
/// aborted, as after mcplink_exchange_disconnected. If a function of the exchange calls
/// mcplink_exchange_free, the call returns at once, and no other function of the exchange starts.
///
/// Blocks: while one of its functions runs on another thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_exchange_free(exchange: *mut mcplink_exchange_t) {
    // SAFETY: the header requires an exchange of this library, freed once.
    unsafe { free_handle(exchange) }
}
