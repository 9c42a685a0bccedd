//! The HTTP client of the host: requests that a function of the host sends, and their responses.
//!
//! The function runs on a thread of its own. It writes the response, which the thread that needs
//! the response reads at the same time.
//!
//! **Invariant:** a fetch ends once: by its end, by a failure, or when its last reference is
//! dropped. Nobody waits longer than that, or than until the request is cancelled.

use std::collections::VecDeque;
use std::ffi::{c_char, c_void};
use std::io::{self, Read};
use std::net::IpAddr;
use std::sync::{Arc, Weak};
use std::time::Instant;

use super::entry::{find, keep, needing, release};
use super::handle::{Lent, Process};
use super::status::{mcplink_status, mcplink_status_t};
use super::text::{Text, mcplink_str_t, measured, name, optional};
use super::user::{Callback, Hook, UserData, call_back, mcplink_notify_fn};
use crate::error::{Error, ErrorKind, Excerpt, Result};
use crate::protocol::{CancelToken, OnCancel};
use crate::sync::{Condvar, Mutex};
#[cfg(feature = "http-client")]
use crate::transport::http::{HttpClient, HttpClientRequest, HttpClientResponse};
use crate::transport::{ThreadPool, Threads};

/// How many bytes of a body wait to be read before writing more of it blocks.
const MAX_UNREAD: usize = 256 << 10;

/// An HTTP request that the host sends, and its response.
///
/// The function that receives a fetch borrows it until the function returns. To write the response
/// later, keep the fetch with mcplink_fetch_keep. A fetch whose last reference is released before
/// the response has ended fails. Any thread may use a fetch.
pub struct mcplink_fetch_t {
    method: Text,
    url: Text,
    headers: Vec<(Text, Text)>,
    body: Text,
    deadline: Option<Instant>,
    allows: Box<dyn Fn(IpAddr) -> bool + Send + Sync>,
    /// The number of the handle or authorizer whose callback received the fetch.
    owner: u64,
    process: Process,
    response: Arc<Response>,
    /// The function that ends the request, with its user data. The data lives as long as the fetch,
    /// so that it can hold the socket from which the host reads.
    on_cancel: Mutex<Option<(OnCancel, Arc<UserData>)>>,
}

object!(mcplink_fetch_t is Fetch);

impl Drop for mcplink_fetch_t {
    fn drop(&mut self) {
        let text = "the HTTP client of the host released the fetch before its response had ended";
        self.response.finish(Err(io_error(text)));
    }
}

/// Sends an HTTP request, and writes its response with the functions of the fetch:
/// mcplink_fetch_add_header for each header field, mcplink_fetch_begin for the status,
/// mcplink_fetch_write for each part of the body as it arrives, and mcplink_fetch_end. Or
/// mcplink_fetch_fail.
///
/// Send the request once, as it is. Follow no redirect, add no cookies and no credentials, and
/// decode no content encoding: the library does the rest, and expects each response as it is.
/// Before you connect to an address that you resolved, ask mcplink_fetch_allows_address.
///
/// Each request has a thread of the library, on which the function may block until the response has
/// ended, also with a pump. Several requests run at once. End the request when it is cancelled: see
/// mcplink_fetch_on_cancel. Freeing the client, or the last object that uses the OAuth settings,
/// waits for the function.
///
/// Returns: MCPLINK_OK. With any other status the request has failed.
pub type mcplink_fetch_fn = Option<
    unsafe extern "C-unwind" fn(user: *mut c_void, fetch: *mut mcplink_fetch_t) -> mcplink_status_t,
>;

pub(super) type FetchFn = Callback<mcplink_fetch_fn>;

/// The response of a fetch: written by the host, read by the thread that needs it.
struct Response {
    /// Each change is made under the lock, before [`changed`](Self::changed) is notified.
    state: Mutex<State>,
    changed: Condvar,
    over: CancelToken,
}

/// The header fields of a response.
type Headers = Vec<(String, Vec<u8>)>;

#[derive(Default)]
struct State {
    headers: Headers,
    status: Option<u16>,
    /// The unread part of the body, at most [`MAX_UNREAD`] bytes.
    unread: VecDeque<u8>,
    end: Option<Result<()>>,
    is_cancelled: bool,
}

impl Response {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::default(),
            changed: Condvar::new(),
            over: CancelToken::new(),
        })
    }

    /// Ends the response, unless it has ended. Returns whether it ended now.
    fn finish(&self, end: Result<()>) -> bool {
        let mut state = self.state.lock();
        if state.end.is_some() {
            return false;
        }
        state.end = Some(end);
        self.changed.notify_all();
        true
    }

    /// Ends the wait for the response, and tells the host.
    fn cancel(&self) {
        let mut state = self.state.lock();
        state.is_cancelled = true;
        self.changed.notify_all();
        drop(state);
        self.over.cancel();
    }

    /// Changes the response. Fails if it has ended or nobody needs it.
    fn change(&self, change: impl FnOnce(&mut State) -> Result<()>) -> Result<()> {
        let mut state = self.state.lock();
        state.check_open()?;
        change(&mut state)?;
        self.changed.notify_all();
        Ok(())
    }

    /// Appends a part of the body. Blocks while too much of the body is unread.
    fn write(&self, mut bytes: &[u8]) -> Result<()> {
        let mut state = self.state.lock();
        loop {
            state.check_open()?;
            state.check_begun()?;
            let room = MAX_UNREAD - state.unread.len();
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            if !now.is_empty() {
                state.unread.extend(now);
                self.changed.notify_all();
            }
            if later.is_empty() {
                return Ok(());
            }
            bytes = later;
            state = self.changed.wait(state);
        }
    }

    /// Blocks until the status and the header fields have arrived.
    fn head(&self) -> Result<(u16, Headers)> {
        let mut state = self.state.lock();
        loop {
            if state.is_cancelled {
                return Err(io_error("the request was cancelled"));
            }
            if let Some(status) = state.status {
                return Ok((status, std::mem::take(&mut state.headers)));
            }
            match &state.end {
                Some(Err(error)) => return Err(error.clone()),
                Some(Ok(())) => unreachable!("a response ends after it has begun"),
                None => state = self.changed.wait(state),
            }
        }
    }
}

impl State {
    fn check_open(&self) -> Result<()> {
        let text = match (&self.end, self.is_cancelled) {
            (None, false) => return Ok(()),
            (_, true) => {
                let text = "nobody needs the response any more";
                return Err(Error::new(ErrorKind::Closed, text));
            }
            (Some(_), false) => "the response has ended",
        };
        Err(Error::new(ErrorKind::State, text))
    }

    fn check_not_begun(&self) -> Result<()> {
        match self.status {
            None => Ok(()),
            Some(_) => Err(Error::new(ErrorKind::State, "the response has begun")),
        }
    }

    fn check_begun(&self) -> Result<()> {
        match self.status {
            Some(_) => Ok(()),
            None => {
                let text = "the response has not begun (mcplink_fetch_begin)";
                Err(Error::new(ErrorKind::State, text))
            }
        }
    }
}

/// The body of a response. Dropping it cancels a request whose response has not ended.
struct Body(Arc<Response>);

impl Read for Body {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut state = self.0.state.lock();
        loop {
            if state.is_cancelled {
                return Err(io::ErrorKind::NotConnected.into());
            }
            if !state.unread.is_empty() {
                let read = state.unread.read(into);
                self.0.changed.notify_all();
                return read;
            }
            match &state.end {
                Some(Ok(())) => return Ok(0),
                Some(Err(error)) => return Err(io::Error::other(error.clone())),
                None => state = self.0.changed.wait(state),
            }
        }
    }
}

impl Drop for Body {
    fn drop(&mut self) {
        if self.0.state.lock().end.is_none() {
            self.0.cancel();
        }
    }
}

/// The HTTP client of the host, for one client or for one authorizer.
#[derive(Clone)]
pub(super) struct HostClient {
    /// The owner of the client has the hook, so that the user data is destroyed with the owner.
    hook: Weak<Hook<FetchFn>>,
    /// The number of the handle or authorizer that owns the hook.
    owner: u64,
    pool: ThreadPool,
}

impl HostClient {
    pub(super) fn new(hook: &Arc<Hook<FetchFn>>, owner: u64, threads: Threads) -> Self {
        Self {
            hook: Arc::downgrade(hook),
            owner,
            pool: ThreadPool::new("fetch", None, threads),
        }
    }

    /// Refuses new requests, and blocks until the function of the host does not run any more.
    pub(super) fn close(&self) {
        self.pool.close(None);
    }

    fn run(&self, fetch: mcplink_fetch_t) {
        let Some(hook) = self.hook.upgrade() else {
            return;
        };
        let response = Arc::clone(&fetch.response);
        let lent = Lent::new(Arc::new(fetch));
        // SAFETY: the header requires a function that accepts the user data, and a fetch that lives
        // until the function returns.
        let status = call_back(self.owner, || unsafe {
            (hook.callback)(hook.user.ptr(), lent.handle())
        });
        let text = match status {
            Some(status) if status == mcplink_status::MCPLINK_OK.code() => return,
            Some(status) => format!("the function of the HTTP client returned {status}"),
            None => "the function of the HTTP client panicked".to_owned(),
        };
        response.finish(Err(io_error(text)));
    }
}

#[cfg(feature = "http-client")]
impl HttpClient for HostClient {
    fn send(&self, request: &HttpClientRequest<'_>) -> Result<HttpClientResponse> {
        let response = Response::new();
        // Dropping it cancels the request, if this function fails after the request was started.
        let body = Body(Arc::clone(&response));
        let headers = request.headers();
        let fetch = mcplink_fetch_t {
            method: request.method().into(),
            url: request.url().into(),
            headers: headers
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
            body: String::from_utf8_lossy(request.body()).into_owned().into(),
            deadline: request.deadline(),
            allows: Box::new(request.address_filter()),
            owner: self.owner,
            process: Process::this(),
            response: Arc::clone(&response),
            on_cancel: Mutex::default(),
        };
        let cancelled = Arc::clone(&response);
        request.on_cancel(move || cancelled.cancel());
        let me = self.clone();
        let started = self.pool.start(Box::new(move || me.run(fetch)));
        started.map_err(|(error, _work)| error.sent(false))?;
        let (status, headers) = response.head()?;
        let made = HttpClientResponse::new(status, body);
        let mut headers = headers.into_iter();
        headers.try_fold(made, |made, (name, value)| made.header(&name, value))
    }
}

fn io_error(text: impl Into<String>) -> Error {
    Error::new(ErrorKind::Io, text.into()).sent(true)
}

getters! {
    find(fetch: mcplink_fetch_t);

    /// Returns the method of the request.
    ///
    /// Returns: "POST", "GET" or "DELETE"; valid as long as the fetch.
    fn mcplink_fetch_method() -> mcplink_str_t {
        fetch.method.view()
    }

    /// Returns the absolute URL of the request: http or https, without credentials and fragment.
    /// The query may contain secrets.
    ///
    /// Returns: text that is valid as long as the fetch.
    fn mcplink_fetch_url() -> mcplink_str_t {
        fetch.url.view()
    }

    /// Returns the number of header fields of the request. The host adds those that belong to a
    /// connection, such as Host and Content-Length.
    ///
    /// Returns: the number.
    fn mcplink_fetch_header_count() -> usize {
        fetch.headers.len()
    }

    /// Returns the name of a header field of the request, in lower case.
    ///
    /// index: the index of the field, from 0.
    /// Returns: text that is valid as long as the fetch; empty when the index is out of range.
    fn mcplink_fetch_header_name(index: usize) -> mcplink_str_t {
        fetch.headers.get(index)?.0.view()
    }

    /// Returns the value of a header field of the request, which may be secret.
    ///
    /// index: the index of the field, from 0.
    /// Returns: text that is valid as long as the fetch; empty when the index is out of range.
    fn mcplink_fetch_header_value(index: usize) -> mcplink_str_t {
        fetch.headers.get(index)?.1.view()
    }

    /// Returns the body of the request, which may contain secrets.
    ///
    /// Returns: text that is valid as long as the fetch; empty without a body.
    fn mcplink_fetch_body() -> mcplink_str_t {
        fetch.body.view()
    }

    /// Returns the time in which the response has to begin. It does not limit the body.
    ///
    /// Returns: the rest of the time in milliseconds; MCPLINK_FOREVER without a limit.
    fn mcplink_fetch_timeout_ms() -> u32 {
        fetch.deadline.map_or(u32::MAX, |deadline| {
            let left = deadline.saturating_duration_since(Instant::now());
            u32::try_from(left.as_millis()).unwrap_or(u32::MAX)
        })
    }

    /// Checks whether the host may connect to an address, for hosts that resolve names themselves.
    /// The requests of a login must not lead to this machine or a private network: see
    /// mcplink_oauth_set_private_addresses. The function allows every address for requests to
    /// the MCP server. An address in the URL has been checked.
    ///
    /// address: an IPv4 or IPv6 address as text, without a port.
    /// Returns: true if the host may connect; false also for text that is no address.
    fn mcplink_fetch_allows_address(address: *const c_char) -> bool {
        let address = name(address, "address").ok()?.parse().ok()?;
        (fetch.allows)(address)
    }

    /// Checks whether the request was cancelled: nobody needs the response any more. The check is
    /// cheap, so a loop can call this function repeatedly.
    ///
    /// Returns: true if the request was cancelled.
    fn mcplink_fetch_is_cancelled() -> bool {
        fetch.response.over.is_triggered()
    }
}

actions! {
    needing(fetch: mcplink_fetch_t);

    /// Sets a function that is called once when the request is cancelled: the host then ends the
    /// request, for example by closing its socket.
    ///
    /// callback: called at once, on this thread, if the request is cancelled already. Otherwise the
    /// callback runs on a thread of the library or on a thread that ends a call. The callback must
    /// not block. NULL for no callback.
    /// user, destroy: passed to callback; destroy runs when another function is set, or when the
    /// last reference to the fetch is released, but not while callback runs. So user can own the
    /// socket.
    fn mcplink_fetch_on_cancel(callback: mcplink_notify_fn; user) {
        fetch.process.check()?;
        let before = fetch.on_cancel.lock().take();
        drop(before);
        let Some(callback) = callback else {
            return Ok(());
        };
        let (owner, user) = (fetch.owner, Arc::new(user));
        let kept = Arc::clone(&user);
        let guard = fetch.response.over.on_trigger(move || {
            _ = call_back(owner, || callback(user.ptr()));
        });
        let before = fetch.on_cancel.lock().replace((guard, kept));
        drop(before);
    }

    /// Adds a header field to the response, before mcplink_fetch_begin. Fields with the same name
    /// stay separate.
    ///
    /// field: the name of the field.
    /// value, len: the value of the field; len may be MCPLINK_NUL for text that ends in NUL.
    /// Returns: MCPLINK_OK; MCPLINK_E_INVALID; MCPLINK_E_CLOSED when nobody needs the response any
    /// more, MCPLINK_E_STATE when the response has begun.
    fn mcplink_fetch_add_header(field: *const c_char, value: *const c_char, len: usize) {
        let field = name(field, "field")?.to_owned();
        let value = measured(value, len, "value")?.to_owned();
        fetch.process.check()?;
        fetch.response.change(|state| {
            state.check_not_begun()?;
            state.headers.push((field, value));
            Ok(())
        })?;
    }

    /// Begins the response: the host has received its status and all its header fields.
    ///
    /// status: the status code, also that of an error.
    /// Returns: MCPLINK_OK; MCPLINK_E_INVALID for a number that is no status; MCPLINK_E_CLOSED when
    /// nobody needs the response any more, MCPLINK_E_STATE when the response has begun.
    fn mcplink_fetch_begin(status: i32) {
        let status = u16::try_from(status)
            .ok()
            .filter(|it| (200..=999).contains(it));
        let status = status.ok_or_else(|| {
            Error::new(
                ErrorKind::Invalid,
                "status is no status of a response: 200 to 999",
            )
        })?;
        fetch.process.check()?;
        fetch.response.change(|state| {
            state.check_not_begun()?;
            state.status = Some(status);
            Ok(())
        })?;
    }

    /// Passes on a part of the body, as soon as it has arrived: an event stream must be readable
    /// while it goes on.
    ///
    /// bytes, len: the bytes, which are copied, without a transfer coding; len may be MCPLINK_NUL
    /// for text that ends in NUL.
    /// Returns: MCPLINK_OK; MCPLINK_E_INVALID; MCPLINK_E_CLOSED when nobody needs the rest: end the
    /// request then; MCPLINK_E_STATE before mcplink_fetch_begin or after the end.
    /// Blocks: while 256 KiB of the body are unread.
    fn mcplink_fetch_write(bytes: *const c_void, len: usize) {
        let bytes = measured(bytes.cast(), len, "bytes")?;
        fetch.process.check()?;
        fetch.response.write(bytes)?;
    }

    /// Ends the response: the whole body was written.
    ///
    /// Returns: MCPLINK_OK; MCPLINK_E_CLOSED when nobody needs the response any more,
    /// MCPLINK_E_STATE before mcplink_fetch_begin or after the end.
    fn mcplink_fetch_end() {
        fetch.process.check()?;
        fetch.response.change(|state| {
            state.check_begun()?;
            state.end = Some(Ok(()));
            Ok(())
        })?;
    }

    /// Fails the request: there is no response, or its body breaks off.
    ///
    /// reason: a reason for the error message of the call; NULL for no reason.
    /// was_sent: whether the server may have received the request. If not, the library may send the
    /// request once more. Ignored after mcplink_fetch_begin.
    /// Returns: MCPLINK_OK; MCPLINK_E_INVALID; MCPLINK_E_STATE after the end.
    fn mcplink_fetch_fail(reason: *const c_char, was_sent: bool) {
        let reason = optional(reason, "reason")?.map(|reason| format!(": {}", Excerpt(reason)));
        fetch.process.check()?;
        let text = format!("the HTTP client failed{}", reason.unwrap_or_default());
        if !fetch.response.finish(Err(io_error(text).sent(was_sent))) {
            return Err(Error::new(ErrorKind::State, "the response has ended").into());
        }
    }
}

/// Adds a reference to a fetch, so that the response can be written after the function that
/// received the fetch has returned, on any thread.
///
/// Returns: the same fetch. The caller now owns a reference, and frees it with mcplink_fetch_free,
/// once for each mcplink_fetch_keep. The reference may outlive the client.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_fetch_keep(fetch: *mut mcplink_fetch_t) -> *mut mcplink_fetch_t {
    // SAFETY: the header requires a fetch of this library.
    unsafe { keep(fetch) }
}

/// Releases a reference to a fetch. If the response has not ended, releasing the last reference
/// fails the request. In a forked process the function does nothing; see MCPLINK_E_FORKED.
///
/// fetch: a fetch that mcplink_fetch_keep returned; may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_fetch_free(fetch: *mut mcplink_fetch_t) {
    // SAFETY: the header requires that the fetch was kept, and is released once for each
    // mcplink_fetch_keep.
    unsafe { release(fetch, |fetch| fetch.process.is_foreign()) }
}
