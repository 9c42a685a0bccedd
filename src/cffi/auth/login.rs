//! Pending logins of a person, which the host answers at once or later, from any thread.
//!
//! **Invariant:** a login is answered once. Dropping the last reference refuses an unanswered
//! login.

use std::ffi::c_char;
use std::sync::Arc;

use super::Hidden;
use crate::cffi::entry::{Outcome, find, keep, need, needing, release, told};
use crate::cffi::handle::Process;
use crate::cffi::log;
use crate::cffi::status::{mcplink_status, mcplink_status_t};
use crate::cffi::text::{Text, mcplink_str_t, optional, payload};
use crate::cffi::user::{call_back, mcplink_notify_fn};
use crate::error::{Error, ErrorKind, Excerpt, Result};
use crate::protocol::{CancelToken, LogLevel, OnCancel};
use crate::schema::url::Url;
use crate::sync::{Condvar, Mutex};

/// A pending login: a server requires that a person logs in.
///
/// The callback that receives the login borrows the login until the callback returns. To answer
/// later, keep the login with mcplink_login_keep. A login that is neither answered nor kept is
/// refused. Any thread may use a login.
pub struct mcplink_login_t {
    url: Text,
    server: Text,
    authorization_server: Text,
    scopes: Text,
    /// The number of the handle or authorizer whose callback received the login.
    owner: u64,
    process: Process,
    /// Checks whether a URL is the answer to the login; `None` if the library itself listens for
    /// the answer.
    is_answer: Option<Check>,
    visit: Arc<LoginAttempt>,
    on_over: Mutex<Option<OnCancel>>,
}

object!(mcplink_login_t is Login);

/// A function that checks whether a URL is the answer to a login.
pub(super) type Check = Box<dyn Fn(&str) -> bool + Send + Sync>;

/// The properties of a login that the host can read.
pub(super) struct Shown<'a> {
    pub(super) url: &'a str,
    pub(super) server: &'a str,
    pub(super) authorization_server: &'a str,
    pub(super) scopes: &'a str,
}

/// The state shared by a login and the thread that waits for the answer to the login.
pub(super) struct LoginAttempt {
    /// The first answer to the login; `None` until the host answers. Later answers are refused.
    answer: Mutex<Option<Result<Hidden>>>,
    /// Notified, under the lock of `answer`, when the answer to the login is stored.
    answered: Condvar,
    over: CancelToken,
}

impl mcplink_login_t {
    pub(super) fn new(
        shown: &Shown<'_>,
        owner: u64,
        is_answer: Option<Check>,
        visit: &Arc<LoginAttempt>,
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

impl LoginAttempt {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            answer: Mutex::new(None),
            answered: Condvar::new(),
            over: CancelToken::new(),
        })
    }

    /// Stores the answer if the login has no answer yet. Returns whether the answer was stored. The
    /// answer is set once under the lock, so a later answer can't replace an earlier answer.
    fn settle(&self, answer: Result<Hidden>) -> bool {
        let mut stored = self.answer.lock();
        if stored.is_some() {
            return false;
        }
        *stored = Some(answer);
        self.answered.notify_all();
        true
    }

    /// Ends the login. If the login has no answer yet, stores an error as its answer. Runs the
    /// host's `on_over` callback on this thread.
    pub(super) fn end(&self) {
        let text = "nobody waits for the login any more";
        self.settle(Err(Error::new(ErrorKind::Cancelled, text)));
        self.over.cancel();
    }

    /// Blocks until the login is answered or the deadline passes. The deadline may change, so
    /// `deadline` is called before each wait. The lock is not held while `deadline` runs.
    pub(super) fn wait(&self, deadline: impl Fn() -> Option<std::time::Instant>) -> Result<Hidden> {
        loop {
            let until = deadline();
            let mut stored = self.answer.lock();
            if let Some(answer) = &*stored {
                return answer.clone();
            }
            if until.is_some_and(|until| std::time::Instant::now() >= until) {
                *stored = Some(Err(Error::new(ErrorKind::Timeout, "nobody logged in")));
                continue;
            }
            drop(self.answered.wait_until(stored, until));
        }
    }
}

getters! {
    find(login: mcplink_login_t);

    /// Returns the URL to open in a browser: an https URL, or an http URL of this machine. Pass the
    /// URL to the browser unchanged, never through a shell.
    ///
    /// Returns: text that is valid as long as the login.
    fn mcplink_login_url() -> mcplink_str_t {
        login.url.view()
    }

    /// Returns the URL, without the query, of the server that requires the login.
    ///
    /// Returns: text that is valid as long as the login.
    fn mcplink_login_server() -> mcplink_str_t {
        login.server.view()
    }

    /// Returns the scheme, host and port of the authorization server. Show them to the person
    /// before a browser is opened.
    ///
    /// Returns: text that is valid as long as the login.
    fn mcplink_login_authorization_server() -> mcplink_str_t {
        login.authorization_server.view()
    }

    /// Returns the scopes that the person is asked to grant, separated by spaces.
    ///
    /// Returns: text that is valid as long as the login.
    fn mcplink_login_scopes() -> mcplink_str_t {
        login.scopes.view()
    }

    /// Checks whether the login is over. A login is over when it was answered, when it timed out,
    /// or when all calls that need the login were cancelled or closed. The host can then close its
    /// dialog. The check is cheap, so a callback that waits for the person can call this function
    /// repeatedly.
    ///
    /// Returns: true if the login is over.
    fn mcplink_login_is_done() -> bool {
        login.visit.over.is_triggered()
    }
}

actions! {
    needing(login: mcplink_login_t);

    /// Sets a function that is called once when the login is over: see mcplink_login_is_done.
    ///
    /// callback: called at once, on this thread, if the login is over already. Otherwise the
    /// callback runs later, on a thread of the library or on a thread that ends a call. The
    /// callback must be quick. NULL for no callback.
    /// user, destroy: passed to callback; destroy runs after the callback, when another function is
    /// set, or when the login is freed.
    fn mcplink_login_on_done(callback: mcplink_notify_fn; user) {
        login.process.check()?;
        let before = login.on_over.lock().take();
        drop(before);
        let Some(callback) = callback else {
            return Ok(());
        };
        let owner = login.owner;
        let guard = login.visit.over.on_trigger(move || {
            _ = call_back(owner, || callback(user.ptr()));
        });
        let before = login.on_over.lock().replace(guard);
        drop(before);
    }

    /// Refuses a login: the person declined, or can't be asked. Calls that wait for the login then
    /// fail with MCPLINK_E_AUTH.
    ///
    /// reason: a reason for the error message of these calls; NULL for no reason.
    /// Returns: MCPLINK_OK; MCPLINK_E_INVALID; MCPLINK_E_STATE when the login is over or was
    /// answered, or when the library itself listens for the answer.
    fn mcplink_login_refuse(reason: *const c_char) {
        let reason = optional(reason, "reason")?;
        login.process.check()?;
        if login.is_answer.is_none() {
            return answered(false);
        }
        let reason = reason.map(|reason| format!(": {}", Excerpt(reason)));
        let text = format!("the host gave the login up{}", reason.unwrap_or_default());
        answered(login.visit.settle(Err(Error::new(ErrorKind::Auth, text))))?;
    }
}

fn answered(first: bool) -> Outcome<()> {
    if first {
        return Ok(());
    }
    let text = "the login is over, or was answered already";
    Err(Error::new(ErrorKind::State, text).into())
}

/// Answers a login with the complete URL, including the query, to which the authorization server
/// redirected the browser. Other URLs that the browser visits may be passed too: the function
/// recognizes and refuses them. They are logged at MCPLINK_LOG_DEBUG, without their query.
///
/// url, len: the URL; len may be MCPLINK_NUL for text that ends in NUL.
/// Returns: MCPLINK_OK; MCPLINK_E_INVALID when the URL is not the answer to this login: the login
/// then continues; MCPLINK_E_STATE when the login is over or was answered, or when the library
/// itself listens for the answer.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_login_answer(
    login: *mut mcplink_login_t,
    url: *const c_char,
    len: usize,
) -> mcplink_status_t {
    told("mcplink_login_answer", || {
        // SAFETY: the header requires a login of this library and text with its length.
        let (login, url) = unsafe { (need(login, "login")?, payload(url, len, "url")?) };
        login.process.check()?;
        let Some(is_answer) = &login.is_answer else {
            answered(false)?;
            return Ok(mcplink_status::MCPLINK_OK);
        };
        if !is_answer(url) {
            // Not a mistake of the host: browsers also request other URLs, such as an icon.
            log::tell_process(LogLevel::Debug, "auth", &foreign(url));
            return Ok(mcplink_status::MCPLINK_E_INVALID);
        }
        answered(login.visit.settle(Ok(url.into())))?;
        Ok(mcplink_status::MCPLINK_OK)
    })
}

/// Returns the log text for a URL that is not the answer to a login. The text has no query, no
/// fragment and no user information, which may be secret.
fn foreign(url: &str) -> String {
    let Some(parts) = Url::read(url) else {
        return "mcplink_login_answer: this is no URL".to_owned();
    };
    let path = parts.path.split(['?', '#']).next().unwrap_or_default();
    format!(
        "mcplink_login_answer: {}://{}{} is not the answer to this login",
        parts.scheme,
        Excerpt(parts.host),
        Excerpt(path)
    )
}

/// Adds a reference to a login, so that the login can be answered after the callback that received
/// the login has returned. So no thread of the host has to wait for the answer.
///
/// Returns: the same login. The caller now owns a reference, and frees it with mcplink_login_free,
/// once for each mcplink_login_keep. The reference may outlive the client.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_login_keep(login: *mut mcplink_login_t) -> *mut mcplink_login_t {
    // SAFETY: the header requires a login of this library.
    unsafe { keep(login) }
}

/// Releases a reference to a login. If the login is unanswered, releasing the last reference
/// refuses the login. In a forked process the function does nothing; see MCPLINK_E_FORKED.
///
/// login: a login that mcplink_login_keep returned; may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_login_free(login: *mut mcplink_login_t) {
    // SAFETY: the header requires that the login was kept, and is released once for each
    // mcplink_login_keep.
    unsafe { release(login, |login| login.process.is_foreign()) }
}
