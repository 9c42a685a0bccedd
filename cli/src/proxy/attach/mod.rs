//! The action `attach`: a program that a person starts and ends, served to a host at all times.
//!
//! The program publishes its server. The tool is a proxy of this one server, whose connection comes
//! and goes: the host is answered also while the program does not run.
//!
//! **Threads.** `attach`, started by [`run`]: it connects to the instance in use, and reads its lists
//! again when they change. It runs until the process ends; no thread joins it. The thread of the
//! library's watcher notes which instances are published.

mod choice;
mod launch;
mod program;
mod tools;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use mcplink::schema::CompletionReference;
use mcplink::server::{List, Server};
use mcplink::transport::Transport as _;
use mcplink::transport::local::{self, Instance};

use self::launch::Launcher;
use self::program::Presence;
pub(super) use self::program::Program;
pub(super) use self::tools::show as show_tools;
use super::exchange::Exchanges;
use super::follower::{self, Follower, follow_again};
use super::host::Host;
use super::patterns::Filter;
use super::upstream::{Change, Items, Upstream};
use super::{Proxy, close_all, connect, refresh, serve_stdio, server_builder, show, traced};
use crate::args::{AttachRequest, Options};
use crate::failure::Failure;
use crate::interrupt;
use crate::print::note;

/// How long the first answer to the host waits for an instance that runs already, so that the host
/// gets its instructions and tools at once.
const START: Duration = Duration::from_millis(500);
/// The pauses between attempts to connect to an instance that runs: the first and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(5));

/// Runs until the host closes its side, or a signal arrives.
pub(crate) fn run(request: &AttachRequest, options: &Options) -> Result<(), Failure> {
    let place = &options.place;
    if place.url.is_some() || place.server.is_some() {
        let text = "attach takes the name of a published program, and no server".to_owned();
        return Err(Failure::usage(text));
    }
    if !request.launch && !place.command.is_empty() {
        let text = "the command that starts the program stands behind --launch".to_owned();
        return Err(Failure::usage(text));
    }
    let launcher = Launcher::new(place);
    if request.launch && launcher.is_none() {
        let text = "--launch takes the command that starts the program".to_owned();
        return Err(Failure::usage(text));
    }
    let (name, selector) = request.program();
    // A wrong name, and a system without published servers, are told before the host is answered.
    local::instances(name)?;
    let host = Host::open()?;
    if interrupt::has_come() {
        return Err(Failure::interrupted());
    }
    let (changed, changes) = mpsc::channel();
    let program = Arc::new(Program::new(
        name.to_owned(),
        selector.map(str::to_owned),
        launcher,
        options.timeout,
        changed.clone(),
    ));
    let proxy = Arc::new(Proxy {
        exchanges: Exchanges::new(false),
        expected: host.inputs(),
        shown: Mutex::default(),
        server: OnceLock::new(),
        filter: Filter::new(&[], &[]),
        count: 1,
        is_single: true,
        options: options.clone(),
        program: Some(Arc::clone(&program)),
    });
    let upstream = Upstream::new(
        name.into(),
        String::new(),
        None,
        None,
        proxy.expected,
        changed,
    );
    let upstream = Arc::new(upstream);
    proxy.shown().add(0, Arc::clone(&upstream));
    let attachment = Attachment {
        proxy: Arc::clone(&proxy),
        upstream,
        program: Arc::clone(&program),
        follower: None,
        again: None,
        pause: PAUSES.0,
    };
    let thread = thread::Builder::new().name("attach".to_owned());
    thread.spawn(move || attachment.run(&changes))?;
    let watched = Arc::clone(&program);
    let _watcher = local::watch(name, move |instances| watched.update(instances))?;
    program.await_first(START);
    let server = serve(&proxy, &program)?;
    let served = serve_stdio(&proxy, &server, host, None);
    close_all(&proxy);
    served
}

/// Makes the server for the host, and shows what the program has. The server declares all lists,
/// because a host sees the capabilities only once.
fn serve(proxy: &Arc<Proxy>, program: &Arc<Program>) -> Result<Server, Failure> {
    let mut shown = proxy.shown();
    let client = shown.upstreams().first().and_then(|one| one.client());
    let info = client.as_ref().and_then(|client| client.server_info());
    let instructions = client.as_ref().and_then(|client| client.instructions());
    let name = &program.name;
    let mut builder = server_builder(proxy, name)
        .guard(Presence(Arc::clone(program)))
        .declare_capability(List::Tools)
        .declare_capability(List::Prompts)
        .declare_capability(List::Resources)
        // Declares completions. No prompt has an empty name, so it never runs.
        .completer(&CompletionReference::prompt(""), "", |_: &_, _: &_| {
            Vec::<String>::new()
        });
    if let Some(info) = info {
        builder = builder.info(info.clone());
    }
    builder = match (client.is_some(), instructions) {
        (false, _) => builder.instructions(sentence(&program.absence())),
        (true, Some(text)) => builder.instructions(text),
        (true, None) => builder,
    };
    let server = builder.build().map_err(Failure::from)?;
    proxy.show(&server, &mut shown);
    // It is set once, here.
    _ = proxy.server.set(server.clone());
    Ok(server)
}

/// Returns a text with a large first letter and a full stop.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).chain(['.']).collect()
}

/// The connection to the instance in use, on the thread `attach`.
struct Attachment {
    proxy: Arc<Proxy>,
    upstream: Arc<Upstream>,
    program: Arc<Program>,
    /// `None` while no instance is connected.
    follower: Option<Follower>,
    /// When to connect again to an instance that could not be connected.
    again: Option<Instant>,
    pause: Duration,
}

impl Attachment {
    /// The body of the thread.
    fn run(mut self, changes: &mpsc::Receiver<Change>) {
        loop {
            let wake = self.follower.as_ref().and_then(Follower::wake);
            let wake = [wake, self.again].into_iter().flatten().min();
            let Some(noted) = follower::next(changes, wake) else {
                return;
            };
            self.settle(&noted);
            if let Some(follower) = &mut self.follower {
                follower.handle(&self.proxy, &self.upstream, &noted);
            }
        }
    }

    /// Connects to the instance in use, if it is not connected, and leaves one that has ended.
    fn settle(&mut self, noted: &[Change]) {
        let (wanted, connected) = self.program.wanted();
        let is_right = wanted.as_ref().map(|one| &one.id) == connected.as_ref();
        let is_lost = connected.is_some() && self.upstream.has_ended();
        if is_right && !is_lost {
            if noted.contains(&Change::Instances) {
                // The own tools depend on the instances.
                show(&self.proxy);
            }
            return;
        }
        if connected.is_some() {
            self.leave();
        }
        let Some(instance) = wanted else {
            self.again = None;
            return show(&self.proxy);
        };
        if is_right {
            // It has closed the connection, or its end is not known yet.
            self.again = Some(Instant::now() + self.pause);
            return;
        }
        let is_due = self.again.is_none_or(|at| at <= Instant::now());
        if is_due || noted.contains(&Change::Instances) {
            self.connect(&instance);
        }
    }

    /// Leaves the instance that is connected. Calls that run end with their connection.
    fn leave(&mut self) {
        self.follower = None;
        self.upstream.pause_followed();
        let again = self.upstream.again.lock();
        *again.unwrap_or_else(PoisonError::into_inner) = None;
        self.upstream.replace(None);
        // Tools that a call can start the program for stay registered, and are hidden.
        let tools = match self.program.launcher {
            Some(_) => self.upstream.listed().tools.clone(),
            None => BTreeMap::new(),
        };
        self.program.disconnected(tools.keys().cloned().collect());
        self.upstream.set_listed(Items {
            tools,
            ..Items::default()
        });
        show(&self.proxy);
    }

    fn connect(&mut self, instance: &Instance) {
        let (proxy, upstream) = (&self.proxy, &self.upstream);
        let transport = traced(&proxy.options, &upstream.name, Box::new(instance.clone()));
        let again = upstream.again.lock();
        *again.unwrap_or_else(PoisonError::into_inner) = transport.again();
        let inputs = upstream.common.get();
        match connect(proxy, &upstream.name, &upstream.changed, inputs, transport) {
            Ok(connection) => {
                upstream.replace(Some(Arc::new(connection)));
                // Subscribed first: so no change is missed.
                let mut follower = Follower::new(upstream, true);
                follow_again(proxy, upstream, upstream.all_followed());
                self.program.open();
                if !refresh(proxy, upstream) {
                    follower.try_later();
                }
                if upstream.has_ended() {
                    // Its lists may not have been read.
                    self.leave();
                    self.again = Some(Instant::now() + self.pause);
                    return;
                }
                self.program.connected(&instance.id);
                self.follower = Some(follower);
                (self.again, self.pause) = (None, PAUSES.0);
            }
            Err(error) => {
                let (name, process) = (&instance.name, instance.pid);
                let text = format!("'{name}' (process {process}) can't be connected: {error:#}");
                note(&format!("mcplink: {text}"));
                self.program.failed(&instance.id, text);
                self.again = Some(Instant::now() + self.pause);
                self.pause = (self.pause * 2).min(PAUSES.1);
            }
        }
    }
}
