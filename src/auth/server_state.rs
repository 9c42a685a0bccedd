//! The state of one MCP server, and its authorization flow in progress. All calls that need tokens
//! share the flow.
//!
//! ```text
//!  call ─▶ has tokens? ─▶ sent ─▶ 401/403 ─▶ newer tokens? ─▶ sent again
//!                                                │ no
//!                                                ▼
//!                              join the flow, or start one ─▶ wait ─▶ tokens or error
//! ```
//!
//! A call joins the flow in progress if the flow obtains the tokens that the call needs. Otherwise
//! the call waits for the end of the flow, since one flow runs at a time, and then checks again.
//!
//! **Threads.** Each flow has a thread, `mcplink-login`, which the first call that needs the flow
//! starts. The flow is cancelled when the last waiting call has left. A token request in flight is
//! still completed, so that no token is lost. The thread is not joined: each of its steps has a
//! deadline, except the host application's own code.
//!
//! **Locks.** A server's `state` is locked before a flow's `progress`. Both locks are held only
//! briefly, and never while code of the host application runs, or during file or network
//! operations.
//!
//! **Invariant** (no lost wakeup): the data that waiters check changes only while `state` is
//! locked. This data is the flow, the outcome and the `asks_person` of the flow, and a flag of each
//! call (whether the call's wait is over). `changed` is notified before the lock of `state` is
//! released. A waiter checks all of the data under the lock before it waits on `changed`.

use std::collections::{BTreeSet, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::fetch::nobody_waits;
use super::http_url::HttpUrl;
use super::random;
use super::secret::Secret;
use super::token::Tokens;
use crate::error::{Error, ErrorKind, Result, Span};
use crate::sync::{Condvar, Mutex, MutexGuard};
use crate::transport::exchange_transport::CancelHandle;
use crate::transport::http::CredentialWait;
use crate::transport::{Stack, Threads};

/// The maximum timeout of a login or of one request. A longer setting is reduced to one day.
pub(super) const DAY: Duration = Duration::from_secs(86_400);
/// The maximum number of consecutive logins whose tokens the server then refuses. At the limit, no
/// login is started.
const MAX_VAIN: u32 = 3;
/// The maximum number of unsuccessful requests for more scopes, for one operation. At the limit, no
/// more scopes are requested.
const MAX_STEP_UPS: u32 = 2;
/// The time after which unsuccessful attempts no longer count.
const FORGIVEN_AFTER: Duration = Duration::from_secs(600);
/// The pause after a failed renewal of valid tokens, before the next renewal. Also the pause after
/// refused client credentials, before they are used again.
const REST: Duration = Duration::from_secs(10);
/// The maximum number of operations whose step-ups are counted.
const MAX_OPERATIONS: usize = 1024;

/// The authorization state of one MCP server.
pub(super) struct ServerState {
    pub(super) url: HttpUrl,
    /// Guards the tokens, the counters and the flow in progress. Locked before a flow's `progress`.
    state: Mutex<State>,
    /// Notified when the flow changes, and when other data changes that waiters check. `state` is
    /// locked during the notification.
    changed: Condvar,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) tokens: Option<Arc<Tokens>>,
    /// The version number of the tokens: incremented when they change, and 0 until the first
    /// change. A request carries the number of its tokens, which distinguishes them from newer
    /// tokens.
    pub(super) number: u64,
    /// The number of logins and deletions: incremented when the tokens change in another way than
    /// by a refresh.
    pub(super) logins: u64,
    /// Whether the tokens were loaded from the store.
    pub(super) was_loaded: bool,
    /// The access token that was last seen in the store. If the store has a different token now,
    /// another process stored it.
    stored: Option<Secret>,
    /// Whether the tokens come from a login or another grant, and the server has not accepted them
    /// yet.
    pub(super) is_untried: bool,
    /// Whether the tokens come from a refresh, and the server has not accepted them yet.
    pub(super) is_refreshed: bool,
    /// The end of the pause after a failed renewal. No renewal is attempted before this time.
    rests_until: Option<Instant>,
    /// The last refusal of the client's credentials. The credentials are not used again before the
    /// time in the first field.
    refused: Option<(Instant, Error)>,
    vain: Budget,
    step_ups: HashMap<String, Budget>,
    flow: Option<Arc<Flow>>,
}

impl State {
    fn is_on(&self, flow: &Flow) -> bool {
        let on = self.flow.as_ref();
        on.is_some_and(|on| std::ptr::eq(&**on, flow))
    }

    fn take(&mut self, tokens: Tokens) {
        self.tokens = Some(Arc::new(tokens));
        self.number += 1;
        self.was_loaded = true;
        self.is_refreshed = false;
        self.is_untried = false;
        self.refused = None;
    }

    /// Records that the server accepted the tokens with this version number as valid. Returns
    /// whether the current tokens have this number.
    fn note_known(&mut self, number: u64) -> bool {
        if self.number != number {
            return false;
        }
        self.is_untried = false;
        self.is_refreshed = false;
        self.vain = Budget::default();
        true
    }
}

#[derive(Clone, Copy, Default)]
struct Budget {
    spent: u32,
    since: Option<Instant>,
}

impl Budget {
    /// Whether fewer than `max` unsuccessful attempts were made recently.
    fn has_left(&self, max: u32) -> bool {
        self.is_old() || self.spent < max
    }

    fn spend(&mut self) {
        if self.is_old() {
            *self = Self {
                spent: 0,
                since: Some(Instant::now()),
            };
        }
        self.spent += 1;
    }

    fn is_old(&self) -> bool {
        self.since
            .is_none_or(|since| since.elapsed() > FORGIVEN_AFTER)
    }
}

/// The tokens that a flow has to obtain. A call joins a flow that obtains the tokens that the call
/// needs.
#[derive(Clone, Debug)]
pub(super) enum TokenNeed {
    /// Tokens other than the current ones.
    Others,
    /// Tokens with more scopes. The field contains these scopes, if the server named them.
    More(Option<BTreeSet<String>>),
}

impl TokenNeed {
    /// Whether a flow for this need also satisfies the need `other`.
    fn serves(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::More(Some(own)), Self::More(Some(other))) => other.is_subset(own),
            (Self::Others, Self::Others) | (Self::More(None), Self::More(None)) => true,
            _ => false,
        }
    }
}

/// The store's login lock. The flow that acquired the lock owns it. If the flow is abandoned, the
/// lock is released even while the host's login code still runs. Therefore host code that hangs
/// does not block other logins.
#[derive(Clone, Default)]
pub(super) struct LoginLock(Arc<Mutex<Option<Box<dyn Send>>>>);

impl LoginLock {
    /// Holds the login lock until the returned guard is dropped, or the flow is abandoned.
    pub(super) fn hold(&self, locked: Box<dyn Send>) -> Held<'_> {
        *self.0.lock() = Some(locked);
        Held(self)
    }

    fn end(&self) {
        let locked = self.0.lock().take();
        // The guard is an object of the host, whose `drop` may block: it runs without our lock.
        drop(locked);
    }
}

/// The guard of the login lock. Dropping the guard releases the lock.
pub(super) struct Held<'a>(&'a LoginLock);

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// An authorization flow in progress.
struct Flow {
    aim: TokenNeed,
    turn: LoginLock,
    cancel_handle: Arc<CancelHandle>,
    /// The progress of the flow. Invariant: it is written only while the server's `state` is locked
    /// too. Waiters wait on `changed` with the lock of `state`, and would miss a change that is
    /// made without this lock.
    progress: Mutex<FlowState>,
}

#[derive(Default)]
struct FlowState {
    /// The number of calls that wait for the flow. The last call to leave cancels the flow.
    waiting: usize,
    /// Whether the last call has left. After that no call joins the flow.
    is_ending: bool,
    /// Whether the flow is asking the user to log in.
    asks_person: bool,
    /// The outcome of the flow. `None` while the flow runs.
    outcome: Option<Result<()>>,
}

impl ServerState {
    pub(super) fn new(url: HttpUrl) -> Self {
        Self {
            url,
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Starts to use new tokens.
    pub(super) fn adopt(&self, tokens: Tokens, is_from_store: bool) {
        let mut state = self.state();
        if is_from_store {
            state.stored = Some(tokens.access.clone());
        } else if state.is_untried && state.tokens.is_some() {
            // The server never accepted the tokens of the previous login. The login counts as one
            // failure, however many calls were refused.
            state.vain.spend();
        }
        state.take(tokens);
        state.logins += 1;
        state.is_untried = !is_from_store;
    }

    /// Records that these tokens are in the store.
    pub(super) fn note_stored(&self, tokens: &Tokens) {
        self.state().stored = Some(tokens.access.clone());
    }

    /// Whether another process has stored the tokens `kept`. Returns false if `kept` are the
    /// current tokens, or the tokens that this process last saw in the store.
    pub(super) fn is_from_other_process(&self, kept: &Tokens) -> bool {
        let state = self.state();
        let held = state.tokens.as_ref().map(|held| &held.access);
        held != Some(&kept.access) && state.stored.as_ref() != Some(&kept.access)
    }

    /// Replaces the tokens `held` by `next`. Returns false if `held` are not the current tokens any
    /// more, for example because the tokens were deleted.
    pub(super) fn replace(&self, held: &Tokens, next: Tokens, is_from_refresh: bool) -> bool {
        let mut state = self.state();
        let current = state.tokens.as_ref();
        if current.is_none_or(|current| current.access != held.access) {
            return false;
        }
        state.take(next);
        state.logins += u64::from(!is_from_refresh);
        state.is_refreshed = is_from_refresh;
        true
    }

    /// Deletes the tokens in memory.
    pub(super) fn forget(&self) {
        let mut state = self.state();
        state.tokens = None;
        state.refused = None;
        state.number += 1;
        state.logins += 1;
        state.was_loaded = true;
    }

    /// Records that the server accepted the tokens with this version number as valid. The scopes of
    /// the tokens may still be insufficient.
    pub(super) fn recognize(&self, number: u64) {
        self.state().note_known(number);
    }

    /// Records that the server accepted the tokens with this version number for an operation.
    pub(super) fn accept(&self, number: u64, operation: impl FnOnce() -> String) {
        let mut state = self.state();
        if state.note_known(number) && !state.step_ups.is_empty() {
            state.step_ups.remove(&operation());
        }
    }

    /// Records that valid tokens could not be renewed, and starts the pause before the next
    /// renewal.
    pub(super) fn rest(&self) {
        self.state().rests_until = Some(Instant::now() + REST);
    }

    pub(super) fn rests(&self) -> bool {
        let until = self.state().rests_until;
        until.is_some_and(|until| Instant::now() < until)
    }

    /// Records that the authorization server refused the client's credentials.
    pub(super) fn note_refused(&self, error: &Error) {
        self.state().refused = Some((Instant::now() + REST, error.clone()));
    }

    /// Returns the last refusal of the client's credentials. Returns `None` once the credentials
    /// may be used again.
    pub(super) fn refused(&self) -> Option<Error> {
        let (until, error) = self.state().refused.clone()?;
        let left = until.checked_duration_since(Instant::now())?;
        let left = Span(left);
        let text = format!("they are shown there again in {left}, or after OAuth::forget");
        Some(error.remark(text))
    }

    /// Whether a flow is asking the user to log in.
    pub(super) fn asks_person(&self) -> bool {
        let state = self.state();
        let flow = state.flow.as_ref();
        flow.is_some_and(|flow| flow.progress.lock().asks_person)
    }

    /// Whether another login is allowed. Returns false if the server refused the tokens of too many
    /// logins.
    pub(super) fn may_log_in(&self) -> bool {
        self.state().vain.has_left(MAX_VAIN)
    }

    /// Whether more scopes may be requested for this operation.
    pub(super) fn may_step_up(&self, operation: &str) -> bool {
        let state = self.state();
        let budget = state.step_ups.get(operation);
        budget.is_none_or(|budget| budget.has_left(MAX_STEP_UPS))
    }

    /// Counts one request for more scopes, however many calls wait for the request.
    pub(super) fn note_step_up(&self, operation: &str) {
        let mut state = self.state();
        if state.step_ups.len() >= MAX_OPERATIONS {
            state.step_ups.clear();
        }
        let budget = state.step_ups.entry(operation.to_owned()).or_default();
        budget.spend();
    }

    /// Joins the flow in progress, or starts a flow with `work`, and blocks until the flow ends. If
    /// the flow in progress does not obtain the tokens of `aim`, first waits for the end of that
    /// flow. Returns at once if the tokens are newer than `number`. A new flow ends at `ends_at` at
    /// the latest.
    ///
    /// `work` has three arguments: the wait that cancels the flow, the holder of the store's login
    /// lock, and a function. `work` calls this function with true before it asks the user, and with
    /// false afterwards.
    ///
    /// # Errors
    ///
    /// The error of the flow, or [`ErrorKind::Cancelled`] when `waiting` is over before the flow
    /// ends.
    pub(super) fn run(
        self: &Arc<Self>,
        number: u64,
        aim: &TokenNeed,
        waiting: &CredentialWait,
        ends_at: Instant,
        work: impl FnOnce(CredentialWait, &LoginLock, &dyn Fn(bool)) -> Result<()> + Send + 'static,
    ) -> Result<()> {
        let woken = Arc::new(AtomicBool::new(false));
        let (site, flag) = (Arc::clone(self), Arc::clone(&woken));
        // Order: `waiting` is never read while `state` is locked. Reading it may end it, and then
        // this callback runs on the same thread and locks `state`: a deadlock.
        let _woken = waiting.on_over(move || {
            let _state = site.state();
            flag.store(true, Ordering::SeqCst);
            site.changed.notify_all();
        });
        let mut work = Some(work);
        loop {
            let deadline = waiting.deadline();
            let mut state = self.state();
            if state.number != number {
                return Ok(());
            }
            if woken.load(Ordering::SeqCst) {
                return Err(nobody_waits());
            }
            let flow = match (state.flow.clone(), work.take()) {
                (Some(flow), again) if flow.progress.lock().is_ending => {
                    // The flow is being cancelled. The call waits for its end, because two flows at
                    // once could interfere.
                    work = again;
                    drop(self.changed.wait_until(state, deadline));
                    continue;
                }
                (Some(flow), again) if !flow.aim.serves(aim) => {
                    // The flow serves another need. Its outcome does not matter to this call.
                    work = again;
                    drop(state);
                    self.outlast(&flow, waiting, &woken)?;
                    continue;
                }
                (Some(flow), _) => flow,
                (None, Some(work)) => {
                    let flow = self.start(aim, ends_at, waiting.threads(), work)?;
                    state.flow = Some(Arc::clone(&flow));
                    flow
                }
                (None, None) => {
                    unreachable!("the work is given away once, to a flow that is waited for")
                }
            };
            flow.progress.lock().waiting += 1;
            drop(state);
            return self.wait(&flow, waiting, &woken);
        }
    }

    fn start(
        self: &Arc<Self>,
        aim: &TokenNeed,
        ends_at: Instant,
        threads: &Threads,
        work: impl FnOnce(CredentialWait, &LoginLock, &dyn Fn(bool)) -> Result<()> + Send + 'static,
    ) -> Result<Arc<Flow>> {
        let flow = Arc::new(Flow {
            aim: aim.clone(),
            turn: LoginLock::default(),
            cancel_handle: CancelHandle::until(Some(ends_at)),
            progress: Mutex::default(),
        });
        let (site, own) = (Arc::clone(self), Arc::clone(&flow));
        let further = threads.clone();
        threads.start("login", Stack::Large, move || {
            let waiting = CredentialWait::new(Arc::clone(&own.cancel_handle), further);
            let on_person = |is_asked| {
                let _state = site.state();
                own.progress.lock().asks_person = is_asked;
                site.changed.notify_all();
            };
            let outcome = catch_unwind(AssertUnwindSafe(|| work(waiting, &own.turn, &on_person)));
            let outcome = outcome.unwrap_or_else(|_| {
                let text = "code of the host's that takes part in the authorization panicked";
                Err(Error::new(ErrorKind::Auth, text))
            });
            let mut state = site.state();
            own.progress.lock().outcome = Some(outcome);
            if state.is_on(&own) {
                state.flow = None;
            }
            site.changed.notify_all();
        })?;
        Ok(flow)
    }

    /// Blocks until a flow has ended. Returns the outcome of the flow. Fails when `waiting` is
    /// over.
    fn wait(&self, flow: &Flow, waiting: &CredentialWait, woken: &AtomicBool) -> Result<()> {
        let outcome = self.watch(flow, waiting, woken, |_, progress| progress.outcome.clone());
        outcome.unwrap_or_else(|| {
            self.leave(flow);
            Err(nobody_waits())
        })
    }

    /// Blocks until a flow has ended. Ignores the outcome of the flow. Fails when `waiting` is
    /// over.
    fn outlast(&self, flow: &Flow, waiting: &CredentialWait, woken: &AtomicBool) -> Result<()> {
        let over = self.watch(flow, waiting, woken, |state, _| {
            (!state.is_on(flow)).then_some(())
        });
        over.ok_or_else(nobody_waits)
    }

    /// Blocks until the function `look` returns a value. Returns `None` if `waiting` is over before
    /// that.
    fn watch<T>(
        &self,
        flow: &Flow,
        waiting: &CredentialWait,
        woken: &AtomicBool,
        look: impl Fn(&State, &FlowState) -> Option<T>,
    ) -> Option<T> {
        loop {
            let asks_person = flow.progress.lock().asks_person;
            waiting.while_person_is_asked(asks_person);
            let deadline = waiting.deadline();
            let state = self.state();
            let progress = flow.progress.lock();
            if let Some(found) = look(&state, &progress) {
                drop(progress);
                drop(state);
                waiting.while_person_is_asked(false);
                return Some(found);
            }
            if woken.load(Ordering::SeqCst) {
                return None;
            }
            // `asks_person` has changed since it was read above, and the notification of the change
            // has passed. Waiting now could miss the change.
            let has_changed = progress.asks_person != asks_person;
            drop(progress);
            if !has_changed {
                drop(self.changed.wait_until(state, deadline));
            }
        }
    }

    /// Ends the wait of one call for a flow. The last call that leaves cancels the flow.
    fn leave(&self, flow: &Flow) {
        let mut state = self.state();
        let mut progress = flow.progress.lock();
        progress.waiting -= 1;
        let is_last = progress.waiting == 0;
        progress.is_ending |= is_last;
        // While the host asks the user, its code may take long to return. No token request is in
        // flight then, so the flow can be abandoned at once.
        let is_let_go = is_last && progress.asks_person;
        drop(progress);
        if is_let_go && state.is_on(flow) {
            state.flow = None;
            self.changed.notify_all();
        }
        drop(state);
        if is_let_go {
            flow.turn.end();
        }
        if is_last {
            flow.cancel_handle.end();
        }
    }
}

/// Returns the name under which the tokens for a server are stored.
pub(super) fn name_of(server: &HttpUrl) -> String {
    // The query distinguishes servers, but may contain a secret. Therefore its hash is used.
    let query = server.query().map(random::digest);
    let query = query.map(|digest| format!("?{digest}"));
    format!("tokens {}{}", server.canonical(), query.unwrap_or_default())
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::transport::exchange_transport::NextCheck;

    const LONG: Duration = Duration::from_secs(10);

    #[test]
    fn a_person_who_is_asked_before_a_call_waits_is_seen() {
        let (go, going) = mpsc::channel();
        let (asked, was_asked) = mpsc::channel();
        let (held, was_held) = mpsc::channel();
        let (looks, was_asked) = (Mutex::new(0), Mutex::new(was_asked));
        let cancel_handle = CancelHandle::new(move |now, is_held| {
            let mut looks = looks.lock();
            *looks += 1;
            match *looks {
                1 => {}
                // The call is about to wait, and has read `asks_person` as false.
                2 => {
                    go.send(()).expect("the flow listens");
                    let was_asked = was_asked.lock();
                    was_asked.recv_timeout(LONG).expect("a person is asked");
                }
                _ if is_held => _ = held.send(()),
                _ => {}
            }
            NextCheck::At(now + 3 * LONG)
        });
        let waiting = CredentialWait::new(cancel_handle, Threads::default());
        let url = HttpUrl::read("the server", "https://h/mcp").expect("a URL");
        let site = Arc::new(ServerState::new(url));
        let ends_at = Instant::now() + 3 * LONG;
        let outcome = site.run(
            0,
            &TokenNeed::Others,
            &waiting,
            ends_at,
            move |_, _, on_person| {
                going.recv_timeout(LONG).expect("the call goes on");
                on_person(true);
                asked.send(()).expect("the call listens");
                let seen = was_held.recv_timeout(LONG);
                seen.map_err(|_| Error::new(ErrorKind::Timeout, "the time of the call still runs"))
            },
        );
        outcome.expect("it is seen");
    }
}
