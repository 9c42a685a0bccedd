//! What is known for one server, and the one authorization that may be on its way: all calls that need it wait for the same.
//!
//! ```text
//!  call ─▶ tokens there? ─▶ sent ─▶ 401/403 ─▶ newer tokens there? ─▶ sent again
//!                                                 │ no
//!                                                 ▼
//!                              join the flow, or start one ─▶ wait ─▶ tokens, or why there are none
//! ```
//!
//! A flow is joined by those that need what it is for. Others wait for its end, since there is one at a time, and go on by themselves.
//!
//! **Threads.** `mcplink-login`, one for a flow: started by the first call that needs it. It is told to end when the last call that waits
//! has gone; a request for tokens on its way is still brought to its end, so that none are lost. Nobody joins it: each step has a deadline,
//! and what can't be ended is the host's own code.
//!
//! **Locks:** a site's state before a flow's; both are held for moments, never over user code, files or the network.

use std::collections::{BTreeSet, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::fetch::nobody_waits;
use super::secret::Secret;
use super::token::Tokens;
use super::url::Url;
use crate::error::{Error, ErrorKind, Result, Span};
use crate::sync::{Condvar, Mutex, MutexGuard};
use crate::transport::carrier::Ticket;
use crate::transport::http::Waiting;
use crate::transport::{Stack, Threads};

/// So many logins in a row whose tokens the server then refuses.
const MAX_VAIN: u32 = 3;
/// So often more scopes are asked for in vain for one operation.
const MAX_STEP_UPS: u32 = 2;
/// After so long what was in vain is tried again.
const FORGIVEN_AFTER: Duration = Duration::from_secs(600);
/// So long nobody tries again to renew tokens that are still good, or shows credentials again that were refused.
const REST: Duration = Duration::from_secs(10);
/// So many operations' failures are remembered.
const MAX_OPERATIONS: usize = 1024;

/// One server.
pub(super) struct Site {
    pub(super) url: Url,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) tokens: Option<Arc<Tokens>>,
    /// Counts tokens: those of a request are told from newer ones by it. 0 while there never were any.
    pub(super) number: u64,
    /// Counts those that were not come by with a refresh.
    pub(super) logins: u64,
    /// The store was asked.
    pub(super) was_loaded: bool,
    /// The access token that was in the store when it was last seen: with another one, another process has been there.
    stored: Option<Secret>,
    /// These tokens come from a login or a grant, not from a refresh or the store, and the server has not taken them yet.
    pub(super) is_untried: bool,
    /// Refreshed, and the server has not taken them yet.
    pub(super) is_refreshed: bool,
    /// The tokens can't be renewed at the moment: their authorization server is left alone until then.
    rests_until: Option<Instant>,
    /// The credentials of the client were refused: nobody shows them again until then, and this is why there are no tokens.
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

    /// The server knows the tokens with this number; whether these are the ones that are held.
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
    /// Whether one of so many is left.
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

/// What an authorization is for: calls that need the same wait for one.
#[derive(Clone, Debug)]
pub(super) enum Aim {
    /// Other tokens than there are.
    Others,
    /// More scopes: these, if the server said which.
    More(Option<BTreeSet<String>>),
}

impl Aim {
    /// Whether what comes of it is what `other` wants.
    fn serves(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::More(Some(own)), Self::More(Some(other))) => other.is_subset(own),
            (Self::Others, Self::Others) | (Self::More(None), Self::More(None)) => true,
            _ => false,
        }
    }
}

/// The lock of a login in the store, which goes with its flow: a host that does not end a login keeps no other one waiting.
#[derive(Clone, Default)]
pub(super) struct Turn(Arc<Mutex<Option<Box<dyn Send>>>>);

impl Turn {
    /// Holds the lock until what is returned is dropped, or the flow is let go.
    pub(super) fn hold(&self, locked: Box<dyn Send>) -> Held<'_> {
        *self.0.lock() = Some(locked);
        Held(self)
    }

    fn end(&self) {
        let locked = self.0.lock().take();
        // It is the host's: dropped outside of the lock.
        drop(locked);
    }
}

/// Holds the lock of a login.
pub(super) struct Held<'a>(&'a Turn);

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// An authorization on its way.
struct Flow {
    aim: Aim,
    turn: Turn,
    ticket: Arc<Ticket>,
    progress: Mutex<FlowState>,
}

#[derive(Default)]
struct FlowState {
    waiting: usize,
    is_ending: bool,
    asks_person: bool,
    outcome: Option<Result<()>>,
}

impl Site {
    pub(super) fn new(url: Url) -> Self {
        Self {
            url,
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Takes new tokens into use.
    pub(super) fn adopt(&self, tokens: Tokens, is_from_store: bool) {
        let mut state = self.state();
        if is_from_store {
            state.stored = Some(tokens.access.clone());
        } else if state.is_untried && state.tokens.is_some() {
            // The login before was in vain: once, however many calls were refused with its tokens.
            state.vain.spend();
        }
        state.take(tokens);
        state.logins += 1;
        state.is_untried = !is_from_store;
    }

    /// These are in the store now.
    pub(super) fn note_stored(&self, tokens: &Tokens) {
        self.state().stored = Some(tokens.access.clone());
    }

    /// Whether tokens that are in the store are those of another process, which got them after what is held here. What is held here may not
    /// have found its way into the store.
    pub(super) fn is_news(&self, kept: &Tokens) -> bool {
        let state = self.state();
        let held = state.tokens.as_ref().map(|held| &held.access);
        held != Some(&kept.access) && state.stored.as_ref() != Some(&kept.access)
    }

    /// Takes tokens into use in the place of those that they were made of; false when these were forgotten meanwhile.
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

    /// There are no tokens any more.
    pub(super) fn forget(&self) {
        let mut state = self.state();
        state.tokens = None;
        state.refused = None;
        state.number += 1;
        state.logins += 1;
        state.was_loaded = true;
    }

    /// The server knows whose the tokens with this number are, though they may allow too little.
    pub(super) fn recognize(&self, number: u64) {
        self.state().note_known(number);
    }

    /// The server took the tokens with this number.
    pub(super) fn accept(&self, number: u64, operation: impl FnOnce() -> String) {
        let mut state = self.state();
        if state.note_known(number) && !state.step_ups.is_empty() {
            state.step_ups.remove(&operation());
        }
    }

    /// Tokens that are still good could not be renewed.
    pub(super) fn rest(&self) {
        self.state().rests_until = Some(Instant::now() + REST);
    }

    pub(super) fn rests(&self) -> bool {
        let until = self.state().rests_until;
        until.is_some_and(|until| Instant::now() < until)
    }

    /// The authorization server refused the client's credentials.
    pub(super) fn note_refused(&self, error: &Error) {
        self.state().refused = Some((Instant::now() + REST, error.clone()));
    }

    /// Why the authorization server is left alone at the moment, with the client's credentials.
    pub(super) fn refused(&self) -> Option<Error> {
        let (until, error) = self.state().refused.clone()?;
        let left = until.checked_duration_since(Instant::now())?;
        let left = Span(left);
        let text = format!("they are shown there again in {left}, or after OAuth::forget");
        Some(error.remark(text))
    }

    /// Whether a person is being asked, for whatever call.
    pub(super) fn asks_person(&self) -> bool {
        let state = self.state();
        let flow = state.flow.as_ref();
        flow.is_some_and(|flow| flow.progress.lock().asks_person)
    }

    /// Whether one more login may be tried, with a server that refused the tokens of the ones before.
    pub(super) fn may_log_in(&self) -> bool {
        self.state().vain.has_left(MAX_VAIN)
    }

    /// Whether more scopes may be asked for, for this operation.
    pub(super) fn may_step_up(&self, operation: &str) -> bool {
        let state = self.state();
        let budget = state.step_ups.get(operation);
        budget.is_none_or(|budget| budget.has_left(MAX_STEP_UPS))
    }

    /// More scopes are asked for: once, however many calls wait for it.
    pub(super) fn note_step_up(&self, operation: &str) {
        let mut state = self.state();
        if state.step_ups.len() >= MAX_OPERATIONS {
            state.step_ups.clear();
        }
        let budget = state.step_ups.entry(operation.to_owned()).or_default();
        budget.spend();
    }

    /// Waits for the flow that is on its way for the same, or starts one with `work`, which ends at `ends_at` at the latest, unless the
    /// tokens are newer than `number` already. `work` is given what ends it, who holds its lock, and what
    /// tells that a person is asked.
    ///
    /// # Errors
    ///
    /// What the flow came to, and [`ErrorKind::Cancelled`] when `waiting` is over first.
    pub(super) fn run(
        self: &Arc<Self>,
        number: u64,
        aim: &Aim,
        waiting: &Waiting,
        ends_at: Instant,
        work: impl FnOnce(Waiting, &Turn, &dyn Fn(bool)) -> Result<()> + Send + 'static,
    ) -> Result<()> {
        let woken = Arc::new(AtomicBool::new(false));
        let (site, flag) = (Arc::clone(self), Arc::clone(&woken));
        // What looks at the wait may end it, which runs this: so nobody looks while holding the lock.
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
                    // Its end is near, and two at once could get into each other's way.
                    work = again;
                    drop(self.changed.wait_until(state, deadline));
                    continue;
                }
                (Some(flow), again) if !flow.aim.serves(aim) => {
                    // What becomes of it is another operation's affair.
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
        aim: &Aim,
        ends_at: Instant,
        threads: &Threads,
        work: impl FnOnce(Waiting, &Turn, &dyn Fn(bool)) -> Result<()> + Send + 'static,
    ) -> Result<Arc<Flow>> {
        let flow = Arc::new(Flow {
            aim: aim.clone(),
            turn: Turn::default(),
            ticket: Ticket::until(Some(ends_at)),
            progress: Mutex::default(),
        });
        let (site, own) = (Arc::clone(self), Arc::clone(&flow));
        let further = threads.clone();
        threads.start("login", Stack::Large, move || {
            let waiting = Waiting::new(Arc::clone(&own.ticket), further);
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

    /// Waits for what a flow comes to.
    fn wait(&self, flow: &Flow, waiting: &Waiting, woken: &AtomicBool) -> Result<()> {
        let outcome = self.watch(flow, waiting, woken, |_, progress| progress.outcome.clone());
        outcome.unwrap_or_else(|| {
            self.leave(flow);
            Err(nobody_waits())
        })
    }

    /// Waits until a flow is on its way no more, whatever it comes to.
    fn outlast(&self, flow: &Flow, waiting: &Waiting, woken: &AtomicBool) -> Result<()> {
        let over = self.watch(flow, waiting, woken, |state, _| {
            (!state.is_on(flow)).then_some(())
        });
        over.ok_or_else(nobody_waits)
    }

    /// Waits until there is what is looked for; in vain when `waiting` is over first.
    fn watch<T>(
        &self,
        flow: &Flow,
        waiting: &Waiting,
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
            // That it is otherwise by now was told before anybody waited for it.
            let is_news = progress.asks_person != asks_person;
            drop(progress);
            if !is_news {
                drop(self.changed.wait_until(state, deadline));
            }
        }
    }

    /// One call less waits for what a flow comes to.
    fn leave(&self, flow: &Flow) {
        let mut state = self.state();
        let mut progress = flow.progress.lock();
        progress.waiting -= 1;
        let is_last = progress.waiting == 0;
        progress.is_ending |= is_last;
        // The host shows a page to a person, and may take its time to end that: nothing else is on its way then.
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
            flow.ticket.end();
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::Mutex;
    use std::sync::mpsc;

    use super::*;
    use crate::transport::carrier::Look;

    const LONG: Duration = Duration::from_secs(10);

    #[test]
    fn a_person_who_is_asked_before_a_call_waits_is_seen() {
        let (go, going) = mpsc::channel();
        let (asked, was_asked) = mpsc::channel();
        let (held, was_held) = mpsc::channel();
        let (looks, was_asked) = (Mutex::new(0), Mutex::new(was_asked));
        let ticket = Ticket::new(move |now, is_held| {
            let mut looks = looks.lock().expect("no panics");
            *looks += 1;
            match *looks {
                1 => {}
                // The call is about to wait, and has seen that nobody is asked.
                2 => {
                    go.send(()).expect("the flow listens");
                    let was_asked = was_asked.lock().expect("no panics");
                    was_asked.recv_timeout(LONG).expect("a person is asked");
                }
                _ if is_held => _ = held.send(()),
                _ => {}
            }
            Look::At(now + 3 * LONG)
        });
        let waiting = Waiting::new(ticket, Threads::default());
        let url = Url::read("the server", "https://h/mcp").expect("a URL");
        let site = Arc::new(Site::new(url));
        let ends_at = Instant::now() + 3 * LONG;
        let outcome = site.run(
            0,
            &Aim::Others,
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
