//! What a person is asked, and the answer of the host: at once or later, from any thread.
//!
//! **Invariant:** a login is answered once. One that nobody can answer any more is given up.

use std::ffi::{c_char, c_void};
use std::sync::Arc;

use super::Hidden;
use crate::cffi::entry::{Outcome, get, keep, let_go, need, plain, value};
use crate::cffi::handle::Process;
use crate::cffi::responder::mcplink_cancelled_fn;
use crate::cffi::status::{mcplink_status, mcplink_status_t};
use crate::cffi::text::{Text, mcplink_str_t, optional, payload, view_or_empty};
use crate::cffi::user::{UserData, call_back, mcplink_destroy_fn};
use crate::error::{Error, ErrorKind, Excerpt, Result};
use crate::protocol::{CancelToken, OnTrigger};
use crate::sync::{Condvar, Mutex};

/// A login of a person that a server wants.
///
/// The function that got it borrows it until it returns; to answer later, keep it with mcplink_login_keep. One that is neither answered nor kept
/// is given up. Any thread may use it.
pub struct mcplink_login_t {
    url: Text,
    server: Text,
    authorization_server: Text,
    scopes: Text,
    /// Whose callback got it.
    owner: u64,
    process: Process,
    /// Whether a URL is the answer; nothing is, where a listener of ours waits for it.
    is_answer: Option<Check>,
    visit: Arc<Visit>,
    on_over: Mutex<Option<OnTrigger>>,
}

/// Whether a URL is the answer to a login.
pub(super) type Check = Box<dyn Fn(&str) -> bool + Send + Sync>;

/// What is shown of it.
pub(super) struct Shown<'a> {
    pub(super) url: &'a str,
    pub(super) server: &'a str,
    pub(super) authorization_server: &'a str,
    pub(super) scopes: &'a str,
}

/// What the login and the thread that waits for its answer share.
pub(super) struct Visit {
    answer: Mutex<Option<Result<Hidden>>>,
    answered: Condvar,
    over: CancelToken,
}

impl mcplink_login_t {
    pub(super) fn new(
        shown: &Shown<'_>,
        owner: u64,
        is_answer: Option<Check>,
        visit: &Arc<Visit>,
    ) -> Arc<Self> {
        Arc::new(Self {
            url: shown.url.into(),
            server: shown.server.into(),
            authorization_server: shown.authorization_server.into(),
            scopes: shown.scopes.into(),
            owner,
            process: Process::this(),
            is_answer,
            visit: Arc::clone(visit),
            on_over: Mutex::default(),
        })
    }
}

impl Drop for mcplink_login_t {
    fn drop(&mut self) {
        let text = "the host neither answered the login nor kept it";
        self.visit.settle(Err(Error::new(ErrorKind::Auth, text)));
    }
}

impl Visit {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            answer: Mutex::new(None),
            answered: Condvar::new(),
            over: CancelToken::new(),
        })
    }

    /// Takes the answer, if it is the first; whether it is.
    fn settle(&self, answer: Result<Hidden>) -> bool {
        let mut place = self.answer.lock();
        if place.is_some() {
            return false;
        }
        *place = Some(answer);
        self.answered.notify_all();
        true
    }

    /// Nobody waits any more. What the host was told to call then is called here.
    pub(super) fn end(&self) {
        let text = "nobody waits for the login any more";
        self.settle(Err(Error::new(ErrorKind::Cancelled, text)));
        self.over.trigger();
    }

    /// Waits for the answer. `deadline` is asked again and again, and outside of the lock.
    pub(super) fn wait(&self, deadline: impl Fn() -> Option<std::time::Instant>) -> Result<Hidden> {
        loop {
            let until = deadline();
            let mut place = self.answer.lock();
            if let Some(answer) = &*place {
                return answer.clone();
            }
            if until.is_some_and(|until| std::time::Instant::now() >= until) {
                *place = Some(Err(Error::new(ErrorKind::Timeout, "nobody logged in")));
                continue;
            }
            drop(self.answered.wait_until(place, until));
        }
    }
}

/// The URL to open in a browser: https, or on this machine. Give it to a browser as it is, never through a shell.
///
/// login: NULL for "".
/// Returns: valid as long as the login. Threads: any. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_login_url(login: *const mcplink_login_t) -> mcplink_str_t {
    // SAFETY: the header says that it is a login of ours.
    view_or_empty(unsafe { get(login) }.map(|login| &login.url))
}

/// The server that wants the login, without its query.
///
/// login: NULL for "".
/// Returns: valid as long as the login. Threads: any. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_login_server(login: *const mcplink_login_t) -> mcplink_str_t {
    // SAFETY: the header says that it is a login of ours.
    view_or_empty(unsafe { get(login) }.map(|login| &login.server))
}

/// Scheme, host and port of the authorization server that asks the person: what to show before a browser is opened.
///
/// login: NULL for "".
/// Returns: valid as long as the login. Threads: any. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_login_authorization_server(
    login: *const mcplink_login_t,
) -> mcplink_str_t {
    // SAFETY: the header says that it is a login of ours.
    view_or_empty(unsafe { get(login) }.map(|login| &login.authorization_server))
}

/// What the person is asked to allow: names of scopes, a blank between two.
///
/// login: NULL for "".
/// Returns: valid as long as the login. Threads: any. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_login_scopes(login: *const mcplink_login_t) -> mcplink_str_t {
    // SAFETY: the header says that it is a login of ours.
    view_or_empty(unsafe { get(login) }.map(|login| &login.scopes))
}

/// Whether nobody waits any more, as all calls that need the login were cancelled or closed, its time is up, or it was answered: what is
/// shown can be taken away. Cheap: poll it in a function that asks by itself, and return when it is so.
///
/// login: NULL for false.
/// Returns: true if so. Threads: any. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_login_is_over(login: *const mcplink_login_t) -> bool {
    value(false, || {
        // SAFETY: the header says that it is a login of ours.
        unsafe { get(login) }.is_some_and(|login| login.visit.over.is_triggered())
    })
}

/// Has a function called, once, when the login is over: see mcplink_login_is_over.
///
/// login: the login.
/// callback: called at once, on this thread, if it is so already; otherwise on a thread of the library or one that ends a call, where it has to
/// be quick. NULL for none.
/// user, destroy: passed to callback, and ended after it, when another function is set, or with the login.
/// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. Threads: any. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_login_on_over(
    login: *mut mcplink_login_t,
    callback: mcplink_cancelled_fn,
    user: *mut c_void,
    destroy: mcplink_destroy_fn,
) -> mcplink_status_t {
    let user = UserData::new(user, destroy);
    plain(|| {
        // SAFETY: the header says that it is a login of ours.
        let login = unsafe { need(login, "login") }?;
        login.process.check()?;
        let before = login.on_over.lock().take();
        drop(before);
        let Some(callback) = callback else {
            return Ok(mcplink_status::MCPLINK_OK);
        };
        let owner = login.owner;
        let guard = login.visit.over.on_trigger(move || {
            // SAFETY: the header says what it is given.
            _ = call_back(owner, || unsafe { callback(user.ptr()) });
        });
        let before = login.on_over.lock().replace(guard);
        drop(before);
        Ok(mcplink_status::MCPLINK_OK)
    })
}

fn answered(first: bool) -> Outcome {
    if first {
        return Ok(mcplink_status::MCPLINK_OK);
    }
    let text = "the login is over, or was answered already";
    Err(Error::new(ErrorKind::State, text).into())
}

/// Answers a login with the URL that the authorization server sent the browser to, whole, with its query. Whatever else a browser came to may be
/// passed too: it is told from the answer.
///
/// login: the login.
/// url, len: the URL; MCPLINK_NUL measures it.
/// Returns: MCPLINK_OK; MCPLINK_E_INVALID when it is not the answer to this login, which goes on; MCPLINK_E_STATE when it is over or was answered,
/// or when the library listens for the answer by itself. Threads: any. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_login_answer(
    login: *mut mcplink_login_t,
    url: *const c_char,
    len: usize,
) -> mcplink_status_t {
    plain(|| {
        // SAFETY: the header says that they are a login of ours and text with its length.
        let (login, url) = unsafe { (need(login, "login")?, payload(url, len, "url")?) };
        login.process.check()?;
        let Some(is_answer) = &login.is_answer else {
            return answered(false);
        };
        if !is_answer(url) {
            let text = "the URL is not where this login leads";
            return Err(Error::new(ErrorKind::Invalid, text).into());
        }
        answered(login.visit.settle(Ok(url.into())))
    })
}

/// Gives a login up: the person would not, or nobody can be asked. The calls that wait for it fail with MCPLINK_E_AUTH.
///
/// login: the login.
/// why: goes into the text of their error; NULL for nothing in particular.
/// Returns: MCPLINK_OK; MCPLINK_E_INVALID; MCPLINK_E_STATE when it is over or was answered, or when the library listens for the answer by itself.
/// Threads: any. Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_login_refuse(
    login: *mut mcplink_login_t,
    why: *const c_char,
) -> mcplink_status_t {
    plain(|| {
        // SAFETY: the header says that they are a login of ours and text that ends in NUL.
        let (login, why) = unsafe { (need(login, "login")?, optional(why, "why")?) };
        login.process.check()?;
        if login.is_answer.is_none() {
            return answered(false);
        }
        let why = why.map(|why| format!(": {}", Excerpt(why)));
        let text = format!("the host gave the login up{}", why.unwrap_or_default());
        answered(login.visit.settle(Err(Error::new(ErrorKind::Auth, text))))
    })
}

/// Keeps a login beyond the end of the function that got it, to be answered later. It occupies no thread of the host's.
///
/// login: NULL for NULL.
/// Returns: the same login, which is the caller's to free now, once for each mcplink_login_keep; it may outlive the client. Threads: any.
/// Blocks: no. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_login_keep(login: *mut mcplink_login_t) -> *mut mcplink_login_t {
    // SAFETY: the header says that it is a login of ours, which lives; it came from an `Arc`.
    unsafe { keep(login) }
}

/// Lets go of a login that was kept. The last one to go gives up what was not answered. In a fork of the process that kept it this does
/// nothing. See MCPLINK_E_FORKED.
///
/// login: NULL is fine; never one that was not kept. Threads: any. Since 0.1.
// SAFETY: the name begins with the library's prefix, so no other symbol has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_login_free(login: *mut mcplink_login_t) {
    // SAFETY: the header says that it was kept, and is let go of once.
    unsafe {
        if get(login).is_some_and(|login| login.process.is_foreign()) {
            // It is the other process that waits for it.
            return;
        }
        let_go(login);
    }
}
