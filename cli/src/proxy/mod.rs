//! The action `proxy`: several servers, served as one over stdio or HTTP. The action [`attach`] is a
//! proxy of one server that comes and goes.
//!
//! Both sides are the library's: a client of each server, and one server for the clients. So both
//! eras and all transports work on both sides. Results pass as raw JSON.
//!
//! **Threads.** `upstream`, one for each server, started by [`run`]: it connects, and reads the
//! lists again when they change. It runs until the process ends; no thread joins it. Calls wait for
//! their servers on the threads of [`gate`].
//!
//! **Capabilities.** A server sees the inputs of the clients ([`inputs`]): a modern server with each
//! call, a legacy server when it is opened. A legacy server that saw more than a new client has is
//! opened anew before its next call ([`Proxy::connection`]).

pub(crate) mod attach;
mod exchange;
mod follower;
mod gate;
mod host;
mod inputs;
mod names;
mod patterns;
mod readings;
mod routes;
mod shown;
mod targets;
mod upstream;

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use mcplink::client::{Client, ClientBuilder, ConnectionEvent, Restart};
use mcplink::schema::{ElicitRequestParams, method};
use mcplink::server::http::HttpOptions;
use mcplink::server::{GuardedRequest, List, Primitive, Server, ServerBuilder};
use mcplink::transport::{Direction, Tap, Tapped, Transport};
use mcplink::{Error, RpcError};
use mcplink_testing::trace::Recorder;

use self::exchange::{Exchanges, error_for_client};
use self::follower::Follower;
use self::host::Host;
use self::inputs::Inputs;
use self::patterns::Filter;
use self::routes::is_gone;
use self::shown::Shown;
use self::targets::Target;
use self::upstream::{Change, Connection, Link, Upstream};
use crate::args::{Options, ProxyRequest};
use crate::failure::{Failure, LOST};
use crate::print::note;
use crate::{interrupt, reach, record};

/// How long clients wait for servers that are slow to start. Servers that come later are added
/// then.
const START: Duration = Duration::from_secs(10);
/// How much longer than `--timeout` the start takes, so that a timeout is seen as a failure.
const GRACE: Duration = Duration::from_secs(1);
/// The pauses between attempts to reach a server that was never reached: the first and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// How long connecting to a published program takes at most.
const CONNECT: Duration = Duration::from_secs(10);

/// The longest pause between attempts to reach a server whose connection was lost. Calls that wait
/// for it are given up after an attempt.
const MAX_DELAY: Duration = Duration::from_secs(5);

struct Proxy {
    exchanges: Exchanges,
    /// The inputs of the first client: all if it is not known.
    expected: Inputs,
    /// The connected servers, and what is shown of them. The lock is held while `server` is set and
    /// while items are shown, so that what is shown is always what was listed last.
    shown: Mutex<Shown>,
    /// The server for the clients. It is made when all servers are connected or have failed.
    server: OnceLock<Server>,
    filter: Filter,
    /// Whether there is one server only, without a prefix.
    is_single: bool,
    /// The number of servers on the command line.
    count: usize,
    options: Options,
    /// The program that the tool is attached to, with the action `attach`.
    program: Option<Arc<attach::Program>>,
}

impl Proxy {
    fn shown(&self) -> MutexGuard<'_, Shown> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn upstreams(&self) -> Vec<Arc<Upstream>> {
        self.shown().upstreams()
    }

    /// Returns the inputs that servers may ask of clients with these inputs.
    fn answered(&self, clients: Inputs) -> Inputs {
        // The roots of the command line never change. Over HTTP, the proxy does not see that those
        // of a client have changed.
        let has_roots = !self.options.roots.is_empty();
        match (has_roots, self.exchanges.is_http()) {
            (true, _) => clients.with(Inputs::ROOTS).without(Inputs::ROOT_CHANGES),
            (false, true) => clients.without(Inputs::ROOT_CHANGES),
            (false, false) => clients,
        }
    }

    /// Returns the connection of a server for a call of a client with these inputs. A legacy server
    /// that saw more inputs is opened anew first. Calls that run go on at the earlier connection.
    fn connection(
        self: &Arc<Self>,
        upstream: &Upstream,
        client: Inputs,
    ) -> Result<Arc<Connection>, RpcError> {
        let again = upstream.again.lock();
        let again = again.unwrap_or_else(PoisonError::into_inner);
        let common = upstream.common.meet(client);
        let Some(current) = upstream.connection() else {
            return Err(self.absent(upstream));
        };
        let is_right =
            current.client.revision().is_modern() || self.answered(common).has(current.inputs);
        let transport = again.as_ref().filter(|_| !is_right);
        let Some(transport) = transport.and_then(|transport| transport.again()) else {
            return Ok(current);
        };
        let name = &*upstream.name;
        let new = connect(self, name, &upstream.changed, common, transport);
        let new = Arc::new(new.map_err(|error| error_for_client(name, &error))?);
        upstream.replace(Some(Arc::clone(&new)));
        upstream.note(Change::Opened);
        Ok(new)
    }

    /// Returns the error for a call to a server that is not connected.
    fn absent(&self, upstream: &Upstream) -> RpcError {
        match &self.program {
            Some(program) => RpcError::internal(program.absence()),
            None => is_gone(&upstream.name, "it was never reached"),
        }
    }
}

/// Runs the proxy until the client closes its side, or a signal arrives.
pub(crate) fn run(request: &ProxyRequest, options: &Options) -> Result<(), Failure> {
    let targets = targets::read(request, options)?;
    let filter = Filter::new(&request.allow, &request.deny);
    let recorder = request.record.as_ref().map(|path| {
        let file = record::create(path)
            .map_err(|error| Failure::usage(format!("--record {}: {error}", path.display())))?;
        Ok::<_, Failure>(Recorder::new(file))
    });
    let recorder = recorder.transpose()?;
    let count = targets.len();
    let is_single = count == 1 && !request.prefix;
    let (sender, first) = mpsc::channel();
    let reached = reach_all(targets, is_single, options, recorder.as_ref(), &sender)?;
    let host = match request.listen {
        Some(_) => None,
        None => Some(Host::open()?),
    };
    if interrupt::has_come() {
        return Err(Failure::interrupted());
    }
    let proxy = Arc::new(Proxy {
        exchanges: Exchanges::new(request.listen.is_some()),
        expected: host.as_ref().map_or(Inputs::ALL, Host::inputs),
        shown: Mutex::default(),
        server: OnceLock::new(),
        filter,
        count,
        is_single,
        options: options.clone(),
        program: None,
    });
    start(&proxy, reached, sender)?;
    await_first(count, &first, options)?;
    let server = serve_all(&proxy, count)?;
    let served = match (host, &request.listen) {
        (Some(host), _) => serve_stdio(&proxy, &server, host, recorder.as_ref()),
        (None, address) => serve_http(&server, address.as_deref().unwrap_or_default()),
    };
    close_all(&proxy);
    let recorded = recorder.map_or(Ok(()), |recorder| recorder.finish());
    served?;
    recorded.map_err(|error| Failure::new(LOST, format!("the record is incomplete: {error}")))
}

/// Closes the connections to all servers.
fn close_all(proxy: &Proxy) {
    thread::scope(|all| {
        for upstream in proxy.upstreams() {
            all.spawn(move || {
                if let Some(client) = upstream.client() {
                    client.close();
                }
            });
        }
    });
}

/// The outcome of the first attempt to connect to a server.
type First = Result<(), Failure>;

/// A server that can be connected.
struct Reached {
    /// The position on the command line.
    index: usize,
    name: String,
    /// The prefix of the names of its tools and prompts. Empty if it is the only server.
    prefix: String,
    transport: Box<dyn Transport>,
}

/// Finds out how each server is reached. A server that can't be reached is noted and has failed.
fn reach_all(
    targets: Vec<Target>,
    is_single: bool,
    options: &Options,
    recorder: Option<&Recorder>,
    failed: &mpsc::Sender<First>,
) -> Result<Vec<Reached>, Failure> {
    let mut all = Vec::new();
    let servers: Vec<&str> = targets.iter().map(|target| &*target.name).collect();
    let prefixes = match is_single {
        true => vec![String::new()],
        false => names::prefixes(&servers),
    };
    for (index, (Target { name, place }, prefix)) in targets.into_iter().zip(prefixes).enumerate() {
        let mut transport = match reach::transport(&place) {
            Ok(transport) => transport,
            Err(failure) if interrupt::has_come() => return Err(failure),
            Err(failure) => {
                note(&format!("mcplink: {name}: {failure}"));
                // The caller has the receiver.
                _ = failed.send(Err(failure));
                continue;
            }
        };
        if let Some(recorder) = recorder {
            transport = Box::new(recorder.for_peer(&name).tap(transport));
        }
        transport = traced(options, &name, transport);
        all.push(Reached {
            index,
            name,
            prefix,
            transport,
        });
    }
    Ok(all)
}

/// Shows the messages of a server, with `--trace`.
fn traced(options: &Options, name: &str, transport: Box<dyn Transport>) -> Box<dyn Transport> {
    if !options.trace {
        return transport;
    }
    let (start, name) = (Instant::now(), name.to_owned());
    Box::new(Tap::new(transport, move |message| {
        reach::show_traced(&format!("{name} "), start, message);
    }))
}

/// Starts a thread for each server, which connects to it.
fn start(
    proxy: &Arc<Proxy>,
    all: Vec<Reached>,
    sender: mpsc::Sender<First>,
) -> Result<(), Failure> {
    for reached in all {
        let (proxy, sender) = (Arc::clone(proxy), sender.clone());
        let thread = thread::Builder::new().name("upstream".to_owned());
        thread.spawn(move || keep(&proxy, reached, sender))?;
    }
    Ok(())
}

/// Waits until each server is connected or has failed, at most [`START`]. Fails if all of them have failed.
fn await_first(
    count: usize,
    first: &mpsc::Receiver<First>,
    options: &Options,
) -> Result<(), Failure> {
    // With --timeout, attempts fail by themselves: all of them may fail in that way.
    let wait = |timeout: Duration| timeout.saturating_add(GRACE).min(START);
    let deadline = Instant::now() + options.timeout.map_or(START, wait);
    let mut failures = Vec::new();
    for _ in 0..count {
        let left = deadline.saturating_duration_since(Instant::now());
        match first.recv_timeout(left) {
            Ok(Ok(())) => {}
            Ok(Err(failure)) => failures.push(failure),
            Err(_) => break,
        }
    }
    if interrupt::has_come() {
        return Err(Failure::interrupted());
    }
    let are_all = failures.len() == count;
    match failures.into_iter().next() {
        Some(failure) if are_all => Err(failure),
        _ => Ok(()),
    }
}

/// The body of the thread of a server: connects, and follows the changes of its lists.
fn keep(proxy: &Arc<Proxy>, reached: Reached, first: mpsc::Sender<First>) {
    let Reached {
        index,
        name,
        prefix,
        mut transport,
    } = reached;
    let (changed, changes) = mpsc::channel();
    let mut pause = PAUSES.0;
    // Each server reports its first attempt only, so that the outcomes are as many as the servers.
    let mut first = Some(first);
    let mut report = |outcome: Result<(), Error>| {
        if let Some(first) = first.take() {
            let timeout = proxy.options.timeout;
            let failure = |error| Failure::of_connecting(&error, timeout, false);
            // The receiver is gone when the proxy has not waited for this server.
            _ = first.send(outcome.map_err(failure));
        }
    };
    let (connection, again) = loop {
        let again = transport.again();
        let error = match connect(proxy, &name, &changed, proxy.expected, transport) {
            Ok(connection) => break (connection, again),
            Err(error) => error,
        };
        note(&format!("mcplink: {name}: {error:#}"));
        report(Err(error));
        let Some(next) = again else { return };
        if interrupt::token().wait(pause) {
            return;
        }
        (transport, pause) = (next, (pause * 2).min(PAUSES.1));
    };
    let upstream = Upstream::new(
        (&*name).into(),
        prefix,
        Some(connection),
        again,
        proxy.expected,
        changed,
    );
    let upstream = Arc::new(upstream);
    proxy.shown().add(index, Arc::clone(&upstream));
    let are_read = refresh(proxy, &upstream);
    report(Ok(()));
    watch(proxy, &upstream, &changes, are_read);
}

/// Connects to a server, which sees these inputs of its clients.
fn connect(
    proxy: &Arc<Proxy>,
    name: &str,
    changed: &mpsc::Sender<Change>,
    clients: Inputs,
    transport: Box<dyn Transport>,
) -> Result<Connection, Error> {
    let (link, inputs) = (Arc::new(Link::default()), proxy.answered(clients));
    let client = builder(proxy, name, &link, changed, inputs).connect(transport)?;
    if let Some(level) = &proxy.options.log
        && client.revision().is_legacy()
    {
        // A server without log messages refuses, and then there are none.
        _ = client.set_log_level(level.clone());
    }
    Ok(Connection {
        client,
        link,
        inputs,
    })
}

/// Follows the changes of a server's lists until its connection has ended for good.
fn watch(
    proxy: &Arc<Proxy>,
    upstream: &Arc<Upstream>,
    changes: &mpsc::Receiver<Change>,
    are_read: bool,
) {
    let mut follower = Follower::new(upstream, are_read);
    loop {
        let Some(noted) = follower::next(changes, follower.wake()) else {
            return;
        };
        follower.handle(proxy, upstream, &noted);
        if upstream.has_ended() {
            return;
        }
    }
}

/// Reads the lists of a server again, and shows them once there is a server for the clients.
/// Returns whether all lists were read.
fn refresh(proxy: &Arc<Proxy>, upstream: &Arc<Upstream>) -> bool {
    let inputs = proxy.answered(upstream.common.get());
    let are_read = upstream.read(inputs, |name| proxy.filter.allows(name));
    show(proxy);
    are_read
}

/// Shows what the servers listed last, once there is a server for the clients.
fn show(proxy: &Arc<Proxy>) {
    let mut shown = proxy.shown();
    if let Some(server) = proxy.server.get() {
        proxy.show(server, &mut shown);
        drop(shown);
        proxy.follow_moved();
    }
}

/// Makes the server for the clients, and shows the servers that are connected.
fn serve_all(proxy: &Arc<Proxy>, count: usize) -> Result<Server, Failure> {
    let mut shown = proxy.shown();
    let server = build(proxy, &shown.upstreams(), count).map_err(Failure::from)?;
    proxy.show(&server, &mut shown);
    // It is set once, here.
    _ = proxy.server.set(server.clone());
    if shown.upstreams().len() == count {
        for pattern in proxy.filter.unused() {
            note(&format!("mcplink: {pattern} fits no tool"));
        }
    }
    Ok(server)
}

/// Builds the server for the clients. It declares what the servers have, or everything if some of
/// them are not connected yet.
fn build(proxy: &Arc<Proxy>, connected: &[Arc<Upstream>], count: usize) -> Result<Server, Error> {
    let mut builder = server_builder(proxy, "mcplink-proxy");
    let are_all_here = connected.len() == count;
    let has = |has: fn(&mcplink::schema::ServerCapabilities) -> bool| {
        !are_all_here
            || connected
                .iter()
                .any(|upstream| upstream.capabilities().is_some_and(|all| has(&all)))
    };
    for (list, is_declared) in [
        (List::Tools, has(|all| all.tools.is_some())),
        (List::Prompts, has(|all| all.prompts.is_some())),
        (List::Resources, has(|all| all.resources.is_some())),
    ] {
        if is_declared {
            builder = builder.declare_capability(list);
        }
    }
    if let ([only], true) = (connected, proxy.is_single)
        && let Some(client) = only.client()
        && let Some(info) = client.server_info()
    {
        builder = builder.info(info.clone());
    }
    let instructions = connected.iter().filter_map(|upstream| {
        let client = upstream.client()?;
        let text = client.instructions()?;
        Some(match proxy.is_single {
            true => text.to_owned(),
            false => format!("# {}\n\n{text}", upstream.name),
        })
    });
    let instructions: Vec<String> = instructions.collect();
    if !instructions.is_empty() {
        builder = builder.instructions(instructions.join("\n\n"));
    }
    builder.build()
}

/// Returns the builder of the server for the clients, without what it declares.
fn server_builder(proxy: &Arc<Proxy>, name: &str) -> ServerBuilder {
    let version = env!("CARGO_PKG_VERSION");
    let (this, unlisted) = (Arc::clone(proxy), Arc::clone(proxy));
    Server::builder(name, version)
        .logging(true)
        // The servers check arguments themselves.
        .validator(None)
        .deferred_unlisted_resources(move |call| {
            let upstreams = unlisted.candidates(call.read().uri());
            unlisted.read_resource(upstreams, call);
        })
        .guard(move |access: &GuardedRequest<'_>| {
            if matches!(
                access.method(),
                "resources/subscribe" | "subscriptions/listen"
            ) && let Some(Primitive::Resource(uri)) = access.primitive()
            {
                this.follow(uri);
            }
            Ok(())
        })
}

fn serve_stdio(
    proxy: &Arc<Proxy>,
    server: &Server,
    host: Host,
    recorder: Option<&Recorder>,
) -> Result<(), Failure> {
    let shutdown = server.shutdown_handle();
    let _shutdown = interrupt::token().on_trigger(move || shutdown.shutdown());
    let (proxy, recorder) = (Arc::clone(proxy), recorder.cloned());
    let tap = Tap::new(host, move |message| {
        if message.direction == Direction::Incoming && tells_new_roots(message) {
            for upstream in proxy.upstreams() {
                upstream.note(Change::Roots);
            }
        }
        if let Some(recorder) = &recorder {
            // In the record, both connections are seen from the client.
            let mut message = message.clone();
            message.direction = match message.direction {
                Direction::Incoming => Direction::Outgoing,
                Direction::Outgoing => Direction::Incoming,
            };
            recorder.record(&message);
        }
    });
    server.serve(tap).map_err(Failure::from)
}

/// Whether a message reports that the roots of the client have changed.
fn tells_new_roots(message: &Tapped<'_>) -> bool {
    #[derive(serde::Deserialize)]
    struct Head<'a> {
        #[serde(borrow)]
        method: Option<std::borrow::Cow<'a, str>>,
    }
    // Longer messages are others, and are not parsed.
    message.text.len() < 1024
        && serde_json::from_slice::<Head<'_>>(message.text).is_ok_and(|head| {
            head.method.as_deref() == Some(method::NOTIFICATIONS_ROOTS_LIST_CHANGED)
        })
}

fn serve_http(server: &Server, address: &str) -> Result<(), Failure> {
    let listening = server.listen_http(address, HttpOptions::new());
    let listening = listening.map_err(|error| Failure::usage(format!("--listen: {error}")))?;
    note(&format!("mcplink: serving at {}", listening.url()));
    let (stop, stopped) = mpsc::channel();
    let _stop = interrupt::token().on_trigger(move || _ = stop.send(()));
    // The sender lives as long as the callback, so this waits for the signal.
    _ = stopped.recv();
    listening.close();
    Ok(())
}

/// Returns the builder of the client of a server, which declares these inputs.
fn builder(
    proxy: &Arc<Proxy>,
    name: &str,
    link: &Arc<Link>,
    changed: &mpsc::Sender<Change>,
    inputs: Inputs,
) -> ClientBuilder {
    let clones = || (Arc::clone(proxy), Arc::<str>::from(name));
    let ((forms, a), (pages, b), (done, _), (models, c), (folders, d), (logs, e)) =
        (clones(), clones(), clones(), clones(), clones(), clones());
    let (lost, f) = clones();
    let (link, changed, options) = (Arc::clone(link), changed.clone(), &proxy.options);
    let builder = Client::builder("mcplink-proxy", env!("CARGO_PKG_VERSION"))
        .revisions(&options.revisions())
        .capabilities(inputs.capabilities())
        .declare_handlers(false)
        .tasks()
        .cancel_connecting_with(&interrupt::token())
        .max_concurrent_inputs(1)
        .on_elicit(move |form, by| forms.elicit(&a, &ElicitRequestParams::Form(form.clone()), by))
        .on_elicit_url(move |page, by| {
            pages.elicit(&b, &ElicitRequestParams::Url(page.clone()), by)
        })
        .on_elicitation_complete(move |id| {
            if let Some(server) = done.server.get() {
                // It fails only if the client has gone.
                _ = server.elicitation_complete(id);
            }
        })
        .on_sample(move |params, by| models.sample(&c, params, by))
        .on_list_roots(move |by| folders.list_roots(&d, by))
        .on_log_message(move |message| logs.log(&e, message))
        .on_connection_event(move |event| match event {
            ConnectionEvent::Restored { .. } => {
                note(&format!("mcplink: {f}: connected again"));
                link.is_restored();
                // The receiver is gone only if the server was refused.
                _ = changed.send(Change::Lists);
            }
            ConnectionEvent::Lost { error, .. } => {
                note(&format!("mcplink: {f}: the connection is lost: {error}"));
                if link.is_lost(&error) {
                    lost.exchanges.cancel_all(&f);
                }
            }
            // The receiver is gone only if the server was refused.
            ConnectionEvent::GivenUp { .. } => _ = changed.send(Change::Closed),
            _ => {}
        });
    // A program that a person ends is not connected again before it has published itself again.
    let builder = match proxy.program {
        Some(_) => builder.connect_timeout(CONNECT),
        None => builder.restart(Restart::new().max_attempts(u32::MAX).max_delay(MAX_DELAY)),
    };
    match options.timeout {
        Some(timeout) => builder.connect_timeout(timeout),
        None => builder,
    }
}
