//! The program that the tool is attached to: which of its instances is in use, and waiting for it.

use std::collections::BTreeSet;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::{Duration, Instant};

use mcplink::RpcError;
use mcplink::protocol::CancelToken;
use mcplink::server::{Guard, GuardedRequest, HandlerError, Primitive};
use mcplink::transport::local::Instance;

use super::super::gate::Gate;
use super::super::upstream::Change;
use super::choice::Choice;
use super::launch::{Launch, Launcher};
use crate::instances::Found;

/// How long a call waits for a program that was started, without `--timeout`.
const PATIENCE: Duration = Duration::from_secs(30);

pub(in crate::proxy) struct Program {
    pub(super) name: String,
    pub(super) launcher: Option<Launcher>,
    /// The threads on which the tools of `attach` itself run.
    pub(super) gate: Gate,
    patience: Duration,
    state: Mutex<State>,
    /// Notified, under the lock of `state`, when something of it changes.
    changed: Condvar,
    /// The lock is never held together with that of `state`.
    names: Mutex<Names>,
    /// Wakes the thread that connects.
    wake: mpsc::Sender<Change>,
}

#[derive(Default)]
struct State {
    choice: Choice,
    /// The published instances.
    instances: Vec<Instance>,
    /// Whether the instances are known.
    is_listed: bool,
    /// Whether the tools that are shown are those of a running instance.
    is_open: bool,
    /// The id of the instance that is connected, and whose tools are shown.
    connected: Option<String>,
    /// The id of an instance that can't be connected, and the reason.
    failure: Option<(String, String)>,
    launch: Launch,
    launches: u64,
}

impl State {
    fn is_ready(&self) -> bool {
        let current = self.choice.current();
        current.is_some_and(|current| self.connected.as_ref() == Some(&current.id))
    }

    /// Returns why the instance in use can't be used, if it can't.
    fn failure(&self) -> Option<&str> {
        let current = self.choice.current()?;
        let (id, text) = self.failure.as_ref()?;
        (*id == current.id).then_some(&**text)
    }
}

/// The names of tools.
#[derive(Default)]
struct Names {
    /// Those of the tool itself, such as `choose`.
    own: BTreeSet<String>,
    /// Those of the program, also of an instance that has ended.
    known: BTreeSet<String>,
}

impl Program {
    pub(super) fn new(
        name: String,
        selector: Option<String>,
        launcher: Option<Launcher>,
        timeout: Option<Duration>,
        wake: mpsc::Sender<Change>,
    ) -> Self {
        let state = State {
            choice: Choice::new(selector),
            ..State::default()
        };
        Self {
            name,
            launcher,
            gate: Gate::default(),
            patience: timeout.unwrap_or(PATIENCE),
            state: Mutex::new(state),
            changed: Condvar::new(),
            names: Mutex::default(),
            wake,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn names(&self) -> MutexGuard<'_, Names> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state, and wakes all that wait for it.
    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.state();
        let result = change(&mut state);
        self.changed.notify_all();
        result
    }

    fn wake(&self) {
        // The thread that connects runs as long as the program.
        _ = self.wake.send(Change::Instances);
    }

    /// Takes the list of the instances that are published now.
    pub(super) fn update(&self, instances: &[Instance]) {
        self.change(|state| {
            state.instances = instances.to_vec();
            state
                .choice
                .update(instances.iter().map(Found::of).collect());
            state.is_listed = true;
        });
        self.wake();
    }

    /// Returns the instance that is to be connected, and the id of the one that is.
    pub(super) fn wanted(&self) -> (Option<Instance>, Option<String>) {
        let state = self.state();
        let current = state.choice.current();
        let wanted = current.and_then(|current| {
            let mut all = state.instances.iter();
            all.find(|one| one.id == current.id).cloned()
        });
        (wanted, state.connected.clone())
    }

    /// Notes that the tools of an instance are shown from now on.
    pub(super) fn open(&self) {
        self.change(|state| state.is_open = true);
    }

    /// Notes that an instance is connected, and that its lists were read.
    pub(super) fn connected(&self, id: &str) {
        self.change(|state| {
            state.connected = Some(id.to_owned());
            state.failure = None;
            state.launch = Launch::None;
        });
    }

    /// Notes that no instance is connected. `kept` are the names of the tools that stay registered.
    pub(super) fn disconnected(&self, kept: BTreeSet<String>) {
        self.change(|state| {
            state.connected = None;
            state.is_open = false;
        });
        // Set before tools are removed: a call of a tool that is known finds it.
        self.names().known = kept;
    }

    /// Notes that an instance can't be connected at the moment.
    pub(super) fn failed(&self, id: &str, text: String) {
        self.change(|state| state.failure = Some((id.to_owned(), text)));
    }

    /// Returns the instances that may be used, and the id of the one that is in use.
    pub(super) fn candidates(&self) -> (Vec<Found>, Option<String>) {
        let state = self.state();
        let current = state.choice.current().map(|one| one.id.clone());
        (state.choice.candidates().to_vec(), current)
    }

    /// Whether somebody has to choose an instance, or can choose another one.
    pub(super) fn has_choice(&self) -> bool {
        self.state().choice.is_open()
    }

    /// Whether a call can start the program.
    pub(super) fn can_start(&self) -> bool {
        self.launcher.is_some() && self.state().choice.candidates().is_empty()
    }

    /// Returns why no instance can be called, and what to do.
    pub(in crate::proxy) fn absence(&self) -> String {
        self.absence_in(&self.state())
    }

    fn absence_in(&self, state: &State) -> String {
        if let Some(failure) = state.failure() {
            return failure.to_owned();
        }
        let start = match &self.launcher {
            Some(_) => "the tool 'start' starts it",
            None => "its tools appear when it is started",
        };
        match state.choice.current() {
            Some(current) => format!(
                "the program '{}' ({current}) is not connected at the moment: try again",
                self.name
            ),
            None => state.choice.absence(&self.name, start),
        }
    }

    /// Sets the names of the tools that are registered.
    pub(super) fn set_names(&self, own: BTreeSet<String>, known: BTreeSet<String>) {
        *self.names() = Names { own, known };
    }

    /// Waits until the instance in use is connected. Starts the program if no instance runs and
    /// there is a command for it. Fails at once if neither helps.
    pub(in crate::proxy) fn ready(self: &Arc<Self>, cancel: &CancelToken) -> Result<(), RpcError> {
        if self.state().is_ready() {
            return Ok(());
        }
        // The start that this call waits for.
        let mut launch = None;
        let ready = self.wait(Some(cancel), self.patience, |state| {
            if state.is_ready() {
                return Some(Ok(()));
            }
            if let Some(failure) = state.failure() {
                return Some(Err(failure.to_owned()));
            }
            if state.choice.current().is_some() {
                return None;
            }
            match &self.launcher {
                Some(launcher) if state.choice.candidates().is_empty() => {
                    self.launch(launcher, state, &mut launch).map(Err)
                }
                _ => Some(Err(self.absence_in(state))),
            }
        });
        let seconds = self.patience.as_secs_f64();
        let late = || match launch {
            Some(_) => format!(
                "'{}' was started, but has not published a server within {seconds} s",
                self.name
            ),
            None => format!("'{}' does not answer within {seconds} s", self.name),
        };
        let ready = ready.unwrap_or_else(|| Err(late()));
        ready.map_err(RpcError::internal)
    }

    /// Starts the program, unless it is being started. `awaited` is the start that the caller waits
    /// for. Returns an error if the wait has to end.
    ///
    /// The state is locked meanwhile, so that only one of several calls starts the program.
    fn launch(
        self: &Arc<Self>,
        launcher: &Launcher,
        state: &mut State,
        awaited: &mut Option<u64>,
    ) -> Option<String> {
        match &state.launch {
            Launch::Failed(number, text) if *awaited == Some(*number) => return Some(text.clone()),
            Launch::Running(number) => {
                awaited.get_or_insert(*number);
                return None;
            }
            Launch::Left(number, until) if Instant::now() < *until => {
                awaited.get_or_insert(*number);
                return None;
            }
            // The deadline of the wait is near.
            Launch::Left(..) if awaited.is_some() => return None,
            _ => {}
        }
        state.launches += 1;
        let number = state.launches;
        let this = Arc::clone(self);
        let on_end = move |ended: std::io::Result<std::process::ExitStatus>| {
            this.change(|state| {
                if !matches!(state.launch, Launch::Running(running) if running == number) {
                    return;
                }
                let name = &this.name;
                state.launch = match ended {
                    Ok(status) if status.success() => {
                        Launch::Left(number, Instant::now() + this.patience)
                    }
                    Ok(status) => {
                        let text = format!("'{name}' was started, and has ended: {status}");
                        Launch::Failed(number, text)
                    }
                    Err(error) => Launch::Failed(number, format!("'{name}': {error}")),
                };
            });
        };
        if let Err(error) = launcher.start(on_end) {
            return Some(format!("'{}' can't be started: {error}", self.name));
        }
        state.launch = Launch::Running(number);
        *awaited = Some(number);
        None
    }

    /// Uses the instance that a word names, and waits until its tools are shown.
    pub(super) fn choose(
        self: &Arc<Self>,
        word: &str,
        cancel: &CancelToken,
    ) -> Result<Found, String> {
        let chosen = self.change(|state| {
            let chosen = state.choice.find(word)?;
            state.choice.choose(chosen.clone());
            state.failure = None;
            Ok::<_, String>(chosen)
        })?;
        self.wake();
        let outcome = self.wait(Some(cancel), self.patience, |state| {
            let current = state.choice.current();
            if current.is_none_or(|current| current.id != chosen.id) {
                return Some(Err(format!("the instance ({chosen}) has ended")));
            }
            match state.failure() {
                Some(failure) => Some(Err(failure.to_owned())),
                None => state.is_ready().then_some(Ok(())),
            }
        });
        let late = || Err(format!("the instance ({chosen}) does not answer"));
        outcome.unwrap_or_else(late).map(|()| chosen)
    }

    /// Waits until it is known which instances run, and until the instance in use, if there is one,
    /// is connected or has failed.
    pub(super) fn await_first(self: &Arc<Self>, timeout: Duration) {
        self.wait(None, timeout, |state| {
            let is_settled = state.choice.current().is_none() || state.failure().is_some();
            (state.is_listed && (is_settled || state.is_ready())).then_some(())
        });
    }

    /// Waits until the instance in use is connected. Fails at once if none is in use.
    fn await_connected(self: &Arc<Self>) -> Result<(), RpcError> {
        let connected = self.wait(None, self.patience, |state| {
            if state.is_ready() {
                return Some(Ok(()));
            }
            let is_settled = state.choice.current().is_none() || state.failure().is_some();
            is_settled.then(|| Err(self.absence_in(state)))
        });
        let connected = connected.unwrap_or_else(|| Err(self.absence()));
        connected.map_err(RpcError::internal)
    }

    /// Waits until `check` returns a value. Returns `None` when the time is over, or when the wait
    /// is cancelled.
    fn wait<T>(
        self: &Arc<Self>,
        cancel: Option<&CancelToken>,
        timeout: Duration,
        mut check: impl FnMut(&mut State) -> Option<T>,
    ) -> Option<T> {
        // No lost wakeup: a trigger sets the token's flag first, then notifies under the lock.
        let woken = cancel.map(|token| {
            let this = Arc::clone(self);
            token.on_trigger(move || this.change(|_| ()))
        });
        let deadline = Instant::now() + timeout;
        let mut state = self.state();
        let value = loop {
            if let Some(value) = check(&mut state) {
                break Some(value);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || cancel.is_some_and(CancelToken::is_triggered) {
                break None;
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        };
        drop(state);
        drop(woken);
        value
    }
}

/// Refuses calls of tools and prompts that nobody knows while no instance is in use, and hides tools
/// that were kept from an earlier instance. A call that comes while an instance is being connected
/// waits: its tool may be known then.
pub(super) struct Presence(pub(super) Arc<Program>);

impl Guard for Presence {
    fn admit(&self, access: &GuardedRequest<'_>) -> Result<(), HandlerError> {
        let program = &self.0;
        let is_known = match (access.method(), access.primitive()) {
            ("tools/call", Some(Primitive::Tool(name))) => {
                let names = program.names();
                names.own.contains(name) || names.known.contains(name)
            }
            ("prompts/get", Some(Primitive::Prompt(_))) => false,
            _ => true,
        };
        match is_known {
            true => Ok(()),
            false => Ok(program.await_connected()?),
        }
    }

    fn shows(&self, item: &GuardedRequest<'_>) -> bool {
        match item.primitive() {
            Some(Primitive::Tool(name)) => {
                let is_open = self.0.state().is_open;
                is_open || self.0.names().own.contains(name)
            }
            _ => true,
        }
    }

    fn changes_results(&self) -> bool {
        false
    }
}
