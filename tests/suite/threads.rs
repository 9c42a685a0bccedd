//! What the host says of the threads: their stack, their names, and what it does first and last on each.

use std::hint::black_box;
use std::sync::{Arc, Mutex, MutexGuard, mpsc};
use std::thread::{self, ThreadId};
use std::time::Duration;

use mcplink::client::{Client, ConnectionEvent, Restart};
use mcplink::protocol::{CancelToken, Connection};
use mcplink::schema::Tool;
use mcplink::server::{Context, Server, ServerBuilder};
#[cfg(unix)]
use mcplink::transport::{Child, Stderr};
use mcplink::transport::{Limits, Threads, Transport, TransportParts, memory};
use mcplink::{ErrorKind, Result};
use serde_json::{Value, json};

#[cfg(unix)]
use crate::common::Script;
use crate::common::{LONG, wait_until};

/// What happened on which thread, in order.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<(ThreadId, String)>>>);

impl Log {
    fn note(&self, what: &str) {
        let mut entries = self.entries();
        entries.push((thread::current().id(), what.to_owned()));
    }

    fn entries(&self) -> MutexGuard<'_, Vec<(ThreadId, String)>> {
        self.0.lock().unwrap()
    }

    fn threads(&self, prefix: &str) -> Threads {
        let (starts, stops) = (self.clone(), self.clone());
        Threads::new()
            .name_prefix(prefix)
            .unwrap()
            .on_start(move |name| {
                assert_eq!(thread::current().name(), Some(name));
                starts.note(&format!("start {name}"));
            })
            .on_stop(move |name| stops.note(&format!("stop {name}")))
    }

    /// The names of the threads that there were. Each has started before anything else happened on it, and stopped behind that.
    fn finished(&self) -> Vec<String> {
        let entries = self.entries();
        let mut names = Vec::new();
        for (id, what) in entries.iter() {
            let Some(name) = what.strip_prefix("start ") else {
                continue;
            };
            let of_it = entries.iter().filter(|(other, _)| other == id);
            let of_it: Vec<&str> = of_it.map(|(_, what)| &**what).collect();
            assert_eq!(of_it[0], what, "{entries:?}");
            assert_eq!(
                of_it.last().unwrap(),
                &format!("stop {name}"),
                "{entries:?}"
            );
            let ends = of_it.iter().filter(|what| what.starts_with("st"));
            assert_eq!(ends.count(), 2, "{entries:?}");
            names.push(name.to_owned());
        }
        names.sort();
        names.dedup();
        names
    }
}

/// The names that begin with this, as the system shows them.
#[cfg(target_os = "linux")]
fn shown(prefix: &str) -> Vec<String> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let names = tasks.filter_map(|task| {
        // One that ends meanwhile has no name any more.
        std::fs::read_to_string(task.ok()?.path().join("comm")).ok()
    });
    let names = names.map(|name| name.trim_end().to_owned());
    let mut names: Vec<_> = names.filter(|name| name.starts_with(prefix)).collect();
    names.sort();
    names.dedup();
    names
}

/// Goes down the stack until so many bytes are used.
fn dig(top: *const u8, bytes: usize) -> usize {
    let here = [1_u8; 1024];
    let depth = top.addr() - black_box(&here).as_ptr().addr();
    let reached = if depth < bytes {
        dig(top, bytes)
    } else {
        depth
    };
    // Behind the call, so that this is still there meanwhile.
    black_box(&here);
    reached
}

fn digger(bytes: usize) -> usize {
    let top = 0_u8;
    dig(&raw const top, bytes)
}

/// A server whose tool `work` notes where it runs.
fn worker(log: &Log) -> ServerBuilder {
    let log = log.clone();
    Server::builder("worker", "1").tool_with(Tool::new("work"), move |_: Value, _: &Context| {
        log.note("work");
        "worked"
    })
}

fn work(client: &Client) {
    client.call_tool("work", &json!({})).unwrap();
}

#[test]
fn hooks_enclose_everything_on_each_thread_of_a_server_and_a_client() {
    let (server_log, client_log) = (Log::default(), Log::default());
    let server = worker(&server_log)
        .threads(&server_log.threads("ours"))
        .build()
        .unwrap();
    let (here, there) = memory::pair();
    let serving = server.open(there).unwrap();
    let builder = Client::builder("c", "1").threads(&client_log.threads("theirs"));
    let cancel = CancelToken::new();
    let client = builder
        .cancel_connecting_with(&cancel)
        .connect(here)
        .unwrap();
    for _ in 0..10 {
        work(&client);
    }
    #[cfg(target_os = "linux")]
    assert_eq!(shown("ours-"), ["ours-worker"]);
    client.close();
    serving.close();
    let worked = |log: &Log| {
        log.entries()
            .iter()
            .filter(|(_, what)| what == "work")
            .count()
    };
    assert_eq!((worked(&server_log), worked(&client_log)), (10, 0));
    assert_eq!(server_log.finished(), ["ours-worker"]);
    assert_eq!(client_log.finished(), ["theirs-connect", "theirs-worker"]);
}

#[cfg(all(feature = "http-server", feature = "http-client"))]
#[test]
fn the_same_goes_for_http() {
    use mcplink::server::http::HttpOptions;
    use mcplink::transport::http::Http;

    let (server_log, client_log) = (Log::default(), Log::default());
    let server = worker(&server_log)
        .threads(&server_log.threads("web"))
        .build()
        .unwrap();
    for _ in 0..20 {
        let http = server.listen_http("0", HttpOptions::new()).unwrap();
        let client = Client::builder("c", "1")
            .threads(&client_log.threads("surfer"))
            .connect(Http::new(&http.url()).unwrap())
            .unwrap();
        work(&client);
        client.close();
        assert_eq!(client_log.finished(), ["surfer-watch"]);
        http.close();
        // The one that serves is joined, not only told to leave.
        assert_eq!(server_log.finished(), ["web-http", "web-poller"]);
        server_log.entries().clear();
        client_log.entries().clear();
    }
}

#[cfg(feature = "auth")]
#[test]
fn the_thread_of_a_login_is_one_of_the_client_that_wants_it() {
    use crate::authworld::World;
    use crate::stub::{asker, call};

    let log = Log::default();
    let world = World::start();
    let oauth = world.login().build().unwrap();
    let builder = asker().threads(&log.threads("guest"));
    let client = builder.connect(world.mcp.http().authorizer(oauth)).unwrap();
    call(&client, "x").unwrap();
    client.close();
    let has = |what: &str| log.entries().iter().any(|(_, entry)| entry == what);
    assert!(has("start guest-login"), "{:?}", log.entries());
    wait_until("it has ended", || has("stop guest-login"));
    assert!(log.finished().contains(&"guest-login".to_owned()));
}

#[cfg(unix)] // The child is a shell.
#[test]
fn the_thread_that_reads_standard_error_is_one_of_its_connection() {
    let log = Log::default();
    let (said, lines) = mpsc::channel();
    let (noting, threads) = (log.clone(), log.threads("host"));
    let child = Child::new("sh").args(["-c", "echo said >&2; cat"]);
    let child = child.stderr(Stderr::lines(move |line: &str| {
        noting.note("line");
        _ = said.send(line.to_owned());
    }));
    let connection = Connection::client().threads(&threads).open(child).unwrap();
    assert_eq!(lines.recv_timeout(LONG).unwrap(), "said");
    connection.close();
    assert_eq!(log.finished(), ["host-stderr", "host-worker"]);
}

// On other systems, a stream needs no thread.
#[cfg(windows)]
#[test]
fn the_threads_of_a_stream_of_handles_are_ones_of_its_connection() {
    let log = Log::default();
    let (reader, _their_writer) = std::io::pipe().unwrap();
    let (_their_reader, writer) = std::io::pipe().unwrap();
    let connection = Connection::client()
        .threads(&log.threads("host"))
        .open(crate::common::over_pipes(reader, writer))
        .unwrap();
    connection.close();
    assert_eq!(log.finished(), ["host-stream", "host-worker"]);
}

/// A server that is there anew each time.
#[derive(Clone, Debug)]
struct Respawning {
    server: Server,
    served: Arc<Mutex<Vec<Connection>>>,
}

impl Transport for Respawning {
    fn open(self: Box<Self>, limits: &Limits) -> Result<TransportParts> {
        let (here, there) = memory::pair();
        self.served.lock().unwrap().push(self.server.open(there)?);
        Box::new(here).open(limits)
    }

    fn again(&self) -> Option<Box<dyn Transport>> {
        Some(Box::new(self.clone()))
    }
}

#[test]
fn the_thread_that_restarts_is_one_of_the_client() {
    let log = Log::default();
    let (tell, events) = mpsc::channel();
    let noting = log.clone();
    let transport = Respawning {
        server: worker(&Log::default()).build().unwrap(),
        served: Arc::default(),
    };
    let client = Client::builder("c", "1")
        .threads(&log.threads("keeper"))
        .restart(Restart::new().first_delay(Duration::from_millis(1)))
        .on_connection_event(move |event| {
            noting.note("told");
            _ = tell.send(event);
        })
        .connect(transport.clone())
        .unwrap();
    let first = transport.served.lock().unwrap()[0].clone();
    first.close();
    loop {
        if let ConnectionEvent::Restored { .. } = events.recv_timeout(LONG).unwrap() {
            break;
        }
    }
    work(&client);
    client.close();
    assert_eq!(log.finished(), ["keeper-restart", "keeper-worker"]);
}

#[test]
fn a_handler_may_use_the_stack_that_the_host_asked_for() {
    const DEPTH: usize = 24 << 20;
    let threads = Threads::new().stack_size(32 << 20).unwrap();
    let tool = |_: Value, _: &Context| digger(DEPTH).to_string();
    let server = Server::builder("deep", "1")
        .threads(&threads)
        .tool_with(Tool::new("work"), tool)
        .build()
        .unwrap();
    let (here, there) = memory::pair();
    let _serving = server.open(there).unwrap();
    let client = Client::builder("c", "1").connect(here).unwrap();
    work(&client);
    #[cfg(all(feature = "http-server", feature = "http-client"))]
    {
        use mcplink::server::http::HttpOptions;
        use mcplink::transport::http::Http;
        let http = server.listen_http("0", HttpOptions::new()).unwrap();
        let client = Client::builder("c", "1");
        work(&client.connect(Http::new(&http.url()).unwrap()).unwrap());
    }
}

#[cfg(feature = "http-server")]
#[test]
fn hooks_have_room_on_threads_that_run_no_code_of_the_host_otherwise() {
    use mcplink::server::http::HttpOptions;

    let (tell, told) = mpsc::channel();
    let threads = Threads::new().on_start(move |name| {
        _ = tell.send((name.to_owned(), digger(1 << 20)));
    });
    let server = Server::builder("s", "1").threads(&threads).build().unwrap();
    let http = server.listen_http("0", HttpOptions::new()).unwrap();
    let (name, depth) = told.recv_timeout(LONG).unwrap();
    assert_eq!(name, "mcplink-poller");
    assert!(depth >= 1 << 20);
    http.close();
}

#[test]
fn a_hook_that_panics_harms_nothing_but_itself() {
    for at_start in [true, false] {
        let stops = Log::default();
        let stopping = stops.clone();
        let threads = Threads::new()
            .on_start(move |_| assert!(!at_start, "a test panics at the start"))
            .on_stop(move |name| {
                stopping.note(name);
                panic!("a test panics at the end");
            });
        let server = worker(&Log::default()).threads(&threads).build().unwrap();
        let (here, there) = memory::pair();
        let serving = server.open(there).unwrap();
        let client = Client::builder("c", "1").connect(here).unwrap();
        work(&client);
        client.close();
        serving.close();
        // What has not begun does not end either.
        assert_eq!(stops.entries().is_empty(), at_start);
    }
}

#[test]
fn what_hooks_hold_is_let_go_of_with_the_last_handle() {
    let held = Arc::new(());
    let (first, last) = (Arc::clone(&held), Arc::clone(&held));
    let threads = Threads::new()
        .on_start(move |_| _ = &first)
        .on_stop(move |_| _ = &last);
    let server = worker(&Log::default()).threads(&threads).build().unwrap();
    let (here, there) = memory::pair();
    let serving = server.open(there).unwrap();
    let client = Client::builder("c", "1")
        .threads(&threads)
        .connect(here)
        .unwrap();
    work(&client);
    drop((client, serving, server));
    assert!(Arc::strong_count(&held) > 1);
    drop(threads);
    assert_eq!(Arc::strong_count(&held), 1);
}

#[cfg(target_os = "linux")]
#[test]
fn a_name_that_is_too_long_for_the_system_is_shown_as_far_as_it_goes() {
    let threads = Threads::new().name_prefix("just fifteen by").unwrap();
    let (ours, theirs) = memory::pair();
    let connection = Connection::server().threads(&threads).open(ours).unwrap();
    let mut script = Script::open(theirs);
    script.request(1, "any");
    script.receive();
    assert_eq!(shown("just"), ["just fifteen by"]);
    connection.close();
}

#[test]
fn sizes_and_names_that_no_thread_can_have_are_refused() {
    for bytes in [0, (256 << 10) - 1, (1 << 30) + 1, usize::MAX] {
        let error = Threads::new().stack_size(bytes).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().contains(&bytes.to_string()), "{error}");
    }
    for bytes in [256 << 10, (256 << 10) + 1, 1 << 30] {
        Threads::new().stack_size(bytes).unwrap();
    }
    for (prefix, fault) in [
        ("", "is empty"),
        ("a\0b", "has control characters"),
        ("a\nb", "has control characters"),
        ("sixteen bytes ..", "has more than 15 bytes"),
        ("ääääääää", "has more than 15 bytes"),
    ] {
        let error = Threads::new().name_prefix(prefix).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        let text = error.to_string();
        assert!(
            text.contains("thread names") && text.contains(fault),
            "{text}"
        );
    }
    for prefix in ["a", "fifteen bytes..", "ääääääa"] {
        Threads::new().name_prefix(prefix).unwrap();
    }
}
