//! Stubs of the functions of the `http` module, for builds without HTTP servers. A stub does
//! nothing, or fails with MCPLINK_E_UNSUPPORTED.

use std::ffi::{c_char, c_void};

use super::mcplink_server_t;
use crate::cffi::arg;
use crate::cffi::entry::{Outcome, ffi, giving, plain};
use crate::cffi::error::{Failure, mcplink_error_t};
use crate::cffi::status::mcplink_status_t;
use crate::cffi::text::mcplink_str_t;
use crate::cffi::user::{UserData, mcplink_destroy_fn};
use crate::error::{Error, ErrorKind};

/// The type of HTTP options in the signatures of the stubs. No value of this type exists.
pub struct mcplink_http_options_t(());

/// The type of HTTP requests in the signatures of the stubs. No value of this type exists.
pub struct mcplink_http_request_t(());

/// The type of HTTP listeners in the signatures of the stubs. No value of this type exists.
pub struct mcplink_listener_t(());

/// The type of HTTP endpoints in the signatures of the stubs. No value of this type exists.
pub struct mcplink_http_t(());

/// The type of HTTP exchanges in the signatures of the stubs. No value of this type exists.
pub struct mcplink_exchange_t(());

/// The type of response heads in the signatures of the stubs. No value of this type exists.
pub struct mcplink_http_head_t(());

/// The type of resource servers in the signatures of the stubs. No value of this type exists.
pub struct mcplink_resource_server_t(());

type Callback = Option<unsafe extern "C-unwind" fn()>;

fn unsupported() -> Failure {
    let text = "this build of the library can't serve HTTP: build it with the feature http-server";
    Error::new(ErrorKind::Unsupported, text).into()
}

fn refuse<T>() -> Outcome<T> {
    Err(unsupported())
}

/// Returns NULL in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn mcplink_http_options_new() -> *mut mcplink_http_options_t {
    std::ptr::null_mut()
}

/// Does nothing in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_options_free(_options: *mut mcplink_http_options_t) {}

/// Returns MCPLINK_E_UNSUPPORTED in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_options_set_path(
    _options: *mut mcplink_http_options_t,
    _path: *const c_char,
) -> mcplink_status_t {
    plain(refuse)
}

/// Returns MCPLINK_E_UNSUPPORTED in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_options_add_host(
    _options: *mut mcplink_http_options_t,
    _host: *const c_char,
) -> mcplink_status_t {
    plain(refuse)
}

/// Returns MCPLINK_E_UNSUPPORTED in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_options_add_origin(
    _options: *mut mcplink_http_options_t,
    _origin: *const c_char,
) -> mcplink_status_t {
    plain(refuse)
}

/// Returns MCPLINK_E_UNSUPPORTED in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_options_add_trusted_proxy(
    _options: *mut mcplink_http_options_t,
    _network: *const c_char,
) -> mcplink_status_t {
    plain(refuse)
}

/// Returns MCPLINK_E_UNSUPPORTED in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_options_set_sessions(
    _options: *mut mcplink_http_options_t,
    _sessions: bool,
) -> mcplink_status_t {
    plain(refuse)
}

/// Returns MCPLINK_E_UNSUPPORTED in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_options_set_session_idle_ms(
    _options: *mut mcplink_http_options_t,
    _idle_ms: u32,
) -> mcplink_status_t {
    plain(refuse)
}

/// Returns MCPLINK_E_UNSUPPORTED in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_options_set_old_paths(
    _options: *mut mcplink_http_options_t,
    _stream: *const c_char,
    _post: *const c_char,
) -> mcplink_status_t {
    plain(refuse)
}

/// Returns MCPLINK_E_UNSUPPORTED in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_options_set_health(
    _options: *mut mcplink_http_options_t,
    _path: *const c_char,
) -> mcplink_status_t {
    plain(refuse)
}

/// Returns MCPLINK_E_UNSUPPORTED in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_options_add_page(
    _options: *mut mcplink_http_options_t,
    _path: *const c_char,
    _media_type: *const c_char,
    _body: *const c_char,
    _len: usize,
    _cache_control: *const c_char,
) -> mcplink_status_t {
    plain(refuse)
}

/// Returns MCPLINK_E_UNSUPPORTED in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_options_set_kept_events(
    _options: *mut mcplink_http_options_t,
    _events: usize,
    _bytes: usize,
) -> mcplink_status_t {
    plain(refuse)
}

/// Returns MCPLINK_E_UNSUPPORTED in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_options_set_keep_alive_ms(
    _options: *mut mcplink_http_options_t,
    _interval_ms: u32,
) -> mcplink_status_t {
    plain(refuse)
}

/// Returns MCPLINK_E_UNSUPPORTED in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_options_set_limit(
    _options: *mut mcplink_http_options_t,
    _which: arg::mcplink_http_limit,
    _bound: usize,
) -> mcplink_status_t {
    plain(refuse)
}

/// Releases the user data and returns MCPLINK_E_UNSUPPORTED in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_options_on_authenticate(
    _options: *mut mcplink_http_options_t,
    _callback: Callback,
    user: *mut c_void,
    destroy: mcplink_destroy_fn,
) -> mcplink_status_t {
    drop(UserData::new(user, destroy));
    plain(refuse)
}

/// Returns MCPLINK_E_UNSUPPORTED in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_options_add_token(
    _options: *mut mcplink_http_options_t,
    _token: *const c_char,
    _principal: *const c_char,
) -> mcplink_status_t {
    plain(refuse)
}

/// Returns empty text in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_request_method(
    _request: *const mcplink_http_request_t,
) -> mcplink_str_t {
    mcplink_str_t::EMPTY
}

/// Returns empty text in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_request_target(
    _request: *const mcplink_http_request_t,
) -> mcplink_str_t {
    mcplink_str_t::EMPTY
}

/// Returns empty text in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_request_header(
    _request: *const mcplink_http_request_t,
    _field: *const c_char,
) -> mcplink_str_t {
    mcplink_str_t::EMPTY
}

/// Returns empty text in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_request_remote(
    _request: *const mcplink_http_request_t,
) -> mcplink_str_t {
    mcplink_str_t::EMPTY
}

/// Returns MCPLINK_E_UNSUPPORTED in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_request_admit(
    _request: *mut mcplink_http_request_t,
    _principal: *const c_char,
) -> mcplink_status_t {
    plain(refuse)
}

/// Returns MCPLINK_E_UNSUPPORTED in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_request_challenge(
    _request: *mut mcplink_http_request_t,
    _challenge: *const c_char,
) -> mcplink_status_t {
    plain(refuse)
}

/// Sets `*listener` to NULL and returns MCPLINK_E_UNSUPPORTED in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_server_listen_http(
    _server: *mut mcplink_server_t,
    _options: *const mcplink_http_options_t,
    _bind: *const c_char,
    listener: *mut *mut mcplink_listener_t,
    err: *mut *mut mcplink_error_t,
) -> mcplink_status_t {
    // SAFETY: the header requires that both pointers are NULL or can be written to.
    unsafe { giving(listener, err, refuse) }
}

/// Returns 0 in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_listener_port(_listener: *const mcplink_listener_t) -> u16 {
    0
}

/// Returns empty text in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_listener_url(
    _listener: *const mcplink_listener_t,
) -> mcplink_str_t {
    mcplink_str_t::EMPTY
}

/// Returns 0 in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_listener_sessions(_listener: *const mcplink_listener_t) -> usize {
    0
}

/// Returns MCPLINK_E_UNSUPPORTED in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_listener_fail_health(
    _listener: *mut mcplink_listener_t,
) -> mcplink_status_t {
    plain(refuse)
}

/// Returns MCPLINK_E_UNSUPPORTED in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_listener_close(
    _listener: *mut mcplink_listener_t,
) -> mcplink_status_t {
    plain(refuse)
}

/// Does nothing in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_listener_free(_listener: *mut mcplink_listener_t) {}

/// Returns 0 in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_head_status(_head: *const mcplink_http_head_t) -> i32 {
    0
}

/// Returns 0 in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_head_count(_head: *const mcplink_http_head_t) -> usize {
    0
}

/// Returns empty text in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_head_name(
    _head: *const mcplink_http_head_t,
    _index: usize,
) -> mcplink_str_t {
    mcplink_str_t::EMPTY
}

/// Returns empty text in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_head_value(
    _head: *const mcplink_http_head_t,
    _index: usize,
) -> mcplink_str_t {
    mcplink_str_t::EMPTY
}

/// Returns 0 in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_head_quiet_ms(_head: *const mcplink_http_head_t) -> u32 {
    0
}

/// Returns empty text in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_head_quiet_text(
    _head: *const mcplink_http_head_t,
) -> mcplink_str_t {
    mcplink_str_t::EMPTY
}

/// Releases the user data and returns NULL in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_exchange_new(
    _method: *const c_char,
    _target: *const c_char,
    _begin: Callback,
    _write: Callback,
    _end: Callback,
    user: *mut c_void,
    destroy: mcplink_destroy_fn,
) -> *mut mcplink_exchange_t {
    drop(UserData::new(user, destroy));
    std::ptr::null_mut()
}

/// Returns MCPLINK_E_UNSUPPORTED in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_exchange_add_header(
    _exchange: *mut mcplink_exchange_t,
    _field: *const c_char,
    _content: *const c_char,
    _len: usize,
) -> mcplink_status_t {
    plain(refuse)
}

/// Returns MCPLINK_E_UNSUPPORTED in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_exchange_set_body(
    _exchange: *mut mcplink_exchange_t,
    _body: *const c_char,
    _len: usize,
) -> mcplink_status_t {
    plain(refuse)
}

/// Returns MCPLINK_E_UNSUPPORTED in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_exchange_set_addresses(
    _exchange: *mut mcplink_exchange_t,
    _local: *const c_char,
    _remote: *const c_char,
) -> mcplink_status_t {
    plain(refuse)
}

/// Returns MCPLINK_E_UNSUPPORTED in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_exchange_gone(
    _exchange: *mut mcplink_exchange_t,
) -> mcplink_status_t {
    plain(refuse)
}

/// Returns MCPLINK_E_UNSUPPORTED in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_exchange_silent(
    _exchange: *mut mcplink_exchange_t,
) -> mcplink_status_t {
    plain(refuse)
}

/// Does nothing in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_exchange_free(_exchange: *mut mcplink_exchange_t) {}

/// Sets `*http` to NULL and returns MCPLINK_E_UNSUPPORTED in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_server_http(
    _server: *mut mcplink_server_t,
    _options: *const mcplink_http_options_t,
    http: *mut *mut mcplink_http_t,
    err: *mut *mut mcplink_error_t,
) -> mcplink_status_t {
    // SAFETY: the header requires that both pointers are NULL or can be written to.
    unsafe { giving(http, err, refuse) }
}

/// Returns MCPLINK_E_UNSUPPORTED in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_serve(
    _http: *mut mcplink_http_t,
    _exchange: *mut mcplink_exchange_t,
    err: *mut *mut mcplink_error_t,
) -> mcplink_status_t {
    // SAFETY: the header requires that the pointer is NULL or can be written to.
    unsafe { ffi(err, refuse) }
}

/// Returns MCPLINK_E_UNSUPPORTED in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_close(_http: *mut mcplink_http_t) -> mcplink_status_t {
    plain(refuse)
}

/// Does nothing in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_free(_http: *mut mcplink_http_t) {}

/// Returns empty text in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_request_token(
    _request: *const mcplink_http_request_t,
) -> mcplink_str_t {
    mcplink_str_t::EMPTY
}

/// Returns MCPLINK_E_UNSUPPORTED in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_request_set_scopes(
    _request: *mut mcplink_http_request_t,
    _text: *const c_char,
) -> mcplink_status_t {
    plain(refuse)
}

/// Returns MCPLINK_E_UNSUPPORTED in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_request_add_audience(
    _request: *mut mcplink_http_request_t,
    _text: *const c_char,
) -> mcplink_status_t {
    plain(refuse)
}

/// Returns MCPLINK_E_UNSUPPORTED in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_request_refuse_token(
    _request: *mut mcplink_http_request_t,
    _text: *const c_char,
) -> mcplink_status_t {
    plain(refuse)
}

/// Returns MCPLINK_E_UNSUPPORTED in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_request_need_scopes(
    _request: *mut mcplink_http_request_t,
    _text: *const c_char,
) -> mcplink_status_t {
    plain(refuse)
}

/// Returns MCPLINK_E_UNSUPPORTED in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_request_put_off(
    _request: *mut mcplink_http_request_t,
    _text: *const c_char,
) -> mcplink_status_t {
    plain(refuse)
}

/// Returns MCPLINK_E_UNSUPPORTED in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_request_set_expiry(
    _request: *mut mcplink_http_request_t,
    _seconds: i64,
) -> mcplink_status_t {
    plain(refuse)
}

/// Returns NULL in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_resource_server_new(
    _resource: *const c_char,
    _issuer: *const c_char,
) -> *mut mcplink_resource_server_t {
    std::ptr::null_mut()
}

/// Does nothing in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_resource_server_free(_server: *mut mcplink_resource_server_t) {}

/// Returns MCPLINK_E_UNSUPPORTED in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_resource_server_add_issuer(
    _server: *mut mcplink_resource_server_t,
    _text: *const c_char,
) -> mcplink_status_t {
    plain(refuse)
}

/// Returns MCPLINK_E_UNSUPPORTED in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_resource_server_set_keys_url(
    _server: *mut mcplink_resource_server_t,
    _text: *const c_char,
) -> mcplink_status_t {
    plain(refuse)
}

/// Returns MCPLINK_E_UNSUPPORTED in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_resource_server_set_proxy(
    _server: *mut mcplink_resource_server_t,
    _text: *const c_char,
) -> mcplink_status_t {
    plain(refuse)
}

/// Returns MCPLINK_E_UNSUPPORTED in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_resource_server_set_root_certificates(
    _server: *mut mcplink_resource_server_t,
    _text: *const c_char,
    _len: usize,
) -> mcplink_status_t {
    plain(refuse)
}

/// Returns MCPLINK_E_UNSUPPORTED in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_resource_server_set_required_scopes(
    _server: *mut mcplink_resource_server_t,
    _text: *const c_char,
) -> mcplink_status_t {
    plain(refuse)
}

/// Returns MCPLINK_E_UNSUPPORTED in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_resource_server_set_scopes_supported(
    _server: *mut mcplink_resource_server_t,
    _text: *const c_char,
) -> mcplink_status_t {
    plain(refuse)
}

/// Returns MCPLINK_E_UNSUPPORTED in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_resource_server_add_audience(
    _server: *mut mcplink_resource_server_t,
    _text: *const c_char,
) -> mcplink_status_t {
    plain(refuse)
}

/// Returns MCPLINK_E_UNSUPPORTED in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_resource_server_set_metadata_url(
    _server: *mut mcplink_resource_server_t,
    _text: *const c_char,
) -> mcplink_status_t {
    plain(refuse)
}

/// Returns MCPLINK_E_UNSUPPORTED in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_resource_server_set_dpop(
    _server: *mut mcplink_resource_server_t,
    _dpop: arg::mcplink_dpop,
) -> mcplink_status_t {
    plain(refuse)
}

/// Returns MCPLINK_E_UNSUPPORTED in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_resource_server_set_nonces(
    _server: *mut mcplink_resource_server_t,
    _keys: *const u8,
    _len: usize,
    _lifetime_ms: u32,
) -> mcplink_status_t {
    plain(refuse)
}

/// Returns MCPLINK_E_UNSUPPORTED in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_request_bind_key(
    _request: *mut mcplink_http_request_t,
    _text: *const c_char,
) -> mcplink_status_t {
    plain(refuse)
}

/// Returns MCPLINK_E_UNSUPPORTED in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_resource_server_add_implied(
    _server: *mut mcplink_resource_server_t,
    _one: *const c_char,
    _other: *const c_char,
) -> mcplink_status_t {
    plain(refuse)
}

/// Returns MCPLINK_E_UNSUPPORTED in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_resource_server_set_info(
    _server: *mut mcplink_resource_server_t,
    _one: *const c_char,
    _other: *const c_char,
) -> mcplink_status_t {
    plain(refuse)
}

/// Returns MCPLINK_E_UNSUPPORTED in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_resource_server_set_keys(
    _server: *mut mcplink_resource_server_t,
    _json: *const c_char,
    _len: usize,
) -> mcplink_status_t {
    plain(refuse)
}

/// Releases the user data and returns MCPLINK_E_UNSUPPORTED in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_resource_server_set_verifier(
    _server: *mut mcplink_resource_server_t,
    _callback: Callback,
    user: *mut c_void,
    destroy: mcplink_destroy_fn,
) -> mcplink_status_t {
    drop(UserData::new(user, destroy));
    plain(refuse)
}

/// Returns MCPLINK_E_UNSUPPORTED in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_options_set_resource_server(
    _options: *mut mcplink_http_options_t,
    _server: *const mcplink_resource_server_t,
) -> mcplink_status_t {
    plain(refuse)
}

/// Returns MCPLINK_E_UNSUPPORTED in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_options_clear_authenticate(
    _options: *mut mcplink_http_options_t,
) -> mcplink_status_t {
    plain(refuse)
}

/// Returns MCPLINK_E_UNSUPPORTED in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_options_clear_resource_server(
    _options: *mut mcplink_http_options_t,
) -> mcplink_status_t {
    plain(refuse)
}

/// Returns MCPLINK_E_UNSUPPORTED in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_resource_server_clear_proxy(
    _server: *mut mcplink_resource_server_t,
) -> mcplink_status_t {
    plain(refuse)
}

/// Returns MCPLINK_E_UNSUPPORTED in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_resource_server_use_default_roots(
    _server: *mut mcplink_resource_server_t,
) -> mcplink_status_t {
    plain(refuse)
}

/// Returns MCPLINK_E_UNSUPPORTED in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_resource_server_use_default_keys(
    _server: *mut mcplink_resource_server_t,
) -> mcplink_status_t {
    plain(refuse)
}

/// Returns MCPLINK_E_UNSUPPORTED in builds without HTTP servers.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_resource_server_clear_required_scopes(
    _server: *mut mcplink_resource_server_t,
) -> mcplink_status_t {
    plain(refuse)
}
