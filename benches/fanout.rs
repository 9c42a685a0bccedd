//! Measures change notifications: publishing a change, a call that publishes, opening and closing a
//! stream, notifying all streams, and the memory of each stream.
//!
//! `cargo bench --bench fanout` prints all figures; `cargo bench --bench fanout -- publish memory`
//! prints some of them. The server runs in this process and the clients in another one, so the
//! times and the memory are the server's. Each process needs a descriptor for each of 10,000
//! streams, and the server leaves a quarter unused: `ulimit -n 14000`. With fewer descriptors there are fewer streams, and the figures show
//! how many.
#![allow(clippy::print_stdout, reason = "a program of its own")]
#![allow(missing_docs, reason = "a program of its own")]

use std::error::Error;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use mcplink::client::Client;
use mcplink::schema::Tool;
use mcplink::server::http::{HttpOptions, HttpServer};
use mcplink::server::{Context, List, Server};
use mcplink::transport::http::{Http, HttpLimits};
use serde_json::{Value, json};

type Outcome<T> = Result<T, Box<dyn Error>>;
type Part = fn(usize) -> Outcome<()>;

/// The number of rounds for each measurement.
const ROUNDS: usize = 15;
/// The URI of a resource that all streams subscribe to.
const SHARED: &str = "bench:shared";
/// The pause between rounds, longer than the time in which changes are merged.
const APART: Duration = Duration::from_millis(25);
/// A pause after which the thread that notifies is asleep.
const QUIET: Duration = Duration::from_millis(200);

fn main() -> Outcome<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [word, address] = words.as_slice()
        && word == "clients"
    {
        return Clients::serve(address.parse()?);
    }
    if let [word, era, most] = words.as_slice()
        && word == "memory-of"
    {
        return memory_of(era, most.parse()?);
    }
    let parts: [(&str, Part); 5] = [
        ("publish", publish),
        ("answer", answer),
        ("open", open),
        ("all", tell_all),
        ("memory", memory),
    ];
    // `cargo bench` adds the argument `--bench`.
    let words: Vec<&String> = words
        .iter()
        .filter(|word| !word.starts_with("--"))
        .collect();
    // A server uses seven eighths of the descriptors for connections, and one client gets seven
    // eighths of these.
    let most = (descriptors()? / 4 * 3).saturating_sub(100).min(10_000);
    let wanted = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(*word));
    parts
        .iter()
        .filter(|(name, _)| wanted(name))
        .try_for_each(|(_, part)| part(most))
}

/// Returns the limit of open descriptors for this process.
fn descriptors() -> Outcome<usize> {
    let limits = fs::read_to_string("/proc/self/limits")?;
    let line = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"));
    let soft = line.and_then(|line| line.split_whitespace().next());
    Ok(soft.ok_or("no limit of descriptors")?.parse()?)
}

/// A server in this process, and the child process with its clients.
struct World {
    server: Server,
    http: HttpServer,
    child: Child,
    commands: ChildStdin,
    replies: BufReader<ChildStdout>,
}

impl World {
    fn start() -> Outcome<Self> {
        let server = Server::builder("fanout", "1.0")
            .tool_with(Tool::new("nothing"), |_: Value, _: &Context| "")
            .declare_capability(List::Resources)
            .build()?;
        let changed = server.clone();
        server.add_tool(Tool::new("touch"), move |_: Value, _: &Context| {
            changed.resource_updated(SHARED);
            ""
        })?;
        let mut limits = HttpLimits::default();
        limits.max_connections = 20_000;
        let options = HttpOptions::new()
            .max_streams(100_000)
            .max_sessions(20_000)
            .keep_alive(Duration::from_secs(3600))
            .limits(limits);
        let http = server.listen_http("0", options)?;
        let mut child = Command::new(std::env::current_exe()?)
            .arg("clients")
            .arg(http.local_addr().expect("it is a TCP socket").to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let commands = child.stdin.take().ok_or("no input")?;
        let replies = BufReader::new(child.stdout.take().ok_or("no output")?);
        Ok(Self {
            server,
            http,
            child,
            commands,
            replies,
        })
    }

    /// Sends a command to the client process, and returns the microseconds per repetition.
    fn ask(&mut self, what: &str, count: usize) -> Outcome<f64> {
        writeln!(self.commands, "{what} {count}")?;
        let mut reply = String::new();
        self.replies.read_line(&mut reply)?;
        Ok(reply.trim().parse()?)
    }

    fn end(mut self) -> Outcome<()> {
        self.http.close();
        drop(self.commands);
        self.child.wait()?;
        Ok(())
    }
}

/// Prints one figure.
fn show(what: &str, streams: usize, cost: f64, unit: &str) {
    println!("{what:<44} {streams:>6} streams {cost:>9.2} {unit}");
}

fn sizes(most: usize) -> [usize; 3] {
    [1, 1_000.min(most), most]
}

/// Returns the fastest of [`ROUNDS`] rounds: other load can only make a round slower.
fn quickest(mut round: impl FnMut() -> Outcome<f64>) -> Outcome<f64> {
    let mut quickest = f64::MAX;
    for _ in 0..ROUNDS {
        quickest = quickest.min(round()?);
    }
    Ok(quickest)
}

/// Measures the time of a publisher, on its own thread.
fn publish(most: usize) -> Outcome<()> {
    const CALLS: usize = 10_000;
    show("a bare wake of a sleeping thread", 0, wake()?, "µs");
    for streams in sizes(most) {
        let mut world = World::start()?;
        world.ask("modern", streams)?;
        for (what, uri) in [
            ("publish: everybody wants it", SHARED),
            ("publish: one stream wants it", "bench:0"),
            ("publish: nobody wants it", "bench:none"),
        ] {
            let cost = quickest(|| {
                let began = Instant::now();
                (0..CALLS).for_each(|_| world.server.resource_updated(uri));
                let took = began.elapsed();
                thread::sleep(APART);
                Ok(took.as_secs_f64() * 1e6 / CALLS as f64)
            })?;
            show(what, streams, cost, "µs a call");
        }
        // Soon after a change the notifying thread polls. Later it is asleep, and is woken.
        for (what, uri, apart) in [
            ("publish: alone, nobody wants it", "bench:none", APART),
            ("publish: alone, soon after another one", "bench:0", APART),
            ("publish: alone, after a long quiet", "bench:0", QUIET),
        ] {
            let cost = quickest(|| {
                thread::sleep(apart);
                let began = Instant::now();
                world.server.resource_updated(uri);
                Ok(began.elapsed().as_secs_f64() * 1e6)
            })?;
            show(what, streams, cost, "µs");
        }
        world.end()?;
    }
    Ok(())
}

/// Measures the time of a call whose handler publishes a change that all streams want.
fn answer(most: usize) -> Outcome<()> {
    for streams in sizes(most) {
        let mut world = World::start()?;
        world.ask("modern", streams)?;
        let client = Client::connect(Http::new(&world.http.url())?)?;
        let cost = quickest(|| {
            thread::sleep(QUIET);
            let began = Instant::now();
            client.call_tool("touch", &json!({}))?;
            Ok(began.elapsed().as_secs_f64() * 1e6)
        })?;
        show("a call that publishes", streams, cost, "µs");
        client.close();
        world.end()?;
    }
    Ok(())
}

/// Measures the least that a publisher pays which has to wake a thread: the wake of a thread that
/// has waited for [`QUIET`] on a condition variable.
fn wake() -> Outcome<f64> {
    let pair = Arc::new((Mutex::new(0), Condvar::new()));
    let other = Arc::clone(&pair);
    let sleeper = thread::spawn(move || {
        let woken = other.0.lock().ok();
        let woken = woken.and_then(|woken| other.1.wait_while(woken, |it| *it < ROUNDS).ok());
        drop(woken);
    });
    let cost = quickest(|| {
        thread::sleep(QUIET);
        let began = Instant::now();
        *pair.0.lock().map_err(|_| "a thread panicked")? += 1;
        pair.1.notify_all();
        Ok(began.elapsed().as_secs_f64() * 1e6)
    })?;
    sleeper.join().map_err(|_| "a thread panicked")?;
    Ok(cost)
}

/// Measures opening and closing a stream while many others are open.
fn open(most: usize) -> Outcome<()> {
    const STREAMS: usize = 50;
    for streams in sizes(most.saturating_sub(STREAMS)) {
        let mut world = World::start()?;
        world.ask("modern", streams)?;
        let cost = quickest(|| world.ask("open-and-close", STREAMS))?;
        show("open and close, client included", streams, cost, "µs");
        world.end()?;
    }
    Ok(())
}

/// Measures the processor time of the notifying thread per stream, for one change sent to all.
fn tell_all(most: usize) -> Outcome<()> {
    for streams in sizes(most) {
        let mut world = World::start()?;
        world.ask("modern", streams)?;
        let round = || {
            let before = time_of("fanout")?;
            world.server.resource_updated(SHARED);
            // The work is over when the processor time no longer grows.
            let mut last = before;
            loop {
                thread::sleep(APART * 4);
                let now = time_of("fanout")?;
                if now == last && now > before {
                    let took = now.saturating_sub(before);
                    return Ok(took.as_secs_f64() * 1e6 / streams as f64);
                }
                last = now;
            }
        };
        round()?;
        let cost = quickest(round)?;
        show(
            "one change to all: processor time",
            streams,
            cost,
            "µs a stream",
        );
        world.end()?;
    }
    Ok(())
}

/// Returns the processor time of the thread of this process whose name ends with `name`.
fn time_of(name: &str) -> Outcome<Duration> {
    for task in fs::read_dir("/proc/self/task")? {
        let task = task?.path();
        let is_it = fs::read_to_string(task.join("comm"))?
            .trim()
            .ends_with(name);
        if is_it {
            let times = fs::read_to_string(task.join("schedstat"))?;
            let nanos = times.split_whitespace().next().ok_or("no time")?;
            return Ok(Duration::from_nanos(nanos.parse()?));
        }
    }
    Ok(Duration::ZERO)
}

/// Measures the memory of the streams of each era, in a process of its own. Otherwise the streams of
/// the second era would reuse memory that the first era has freed.
fn memory(most: usize) -> Outcome<()> {
    for era in ["plain", "legacy"] {
        let mut process = Command::new(std::env::current_exe()?);
        let status = process
            .args(["memory-of", era, &most.to_string()])
            .status()?;
        if !status.success() {
            return Err(format!("{era}: {status}").into());
        }
    }
    Ok(())
}

/// Measures the growth of the server's resident memory per stream.
fn memory_of(era: &str, most: usize) -> Outcome<()> {
    let what = match era {
        "plain" => "memory of a modern stream",
        _ => "memory of a legacy stream and its session",
    };
    let mut world = World::start()?;
    world.ask(era, 100)?;
    let before = resident_kib()?;
    let more = most - 100;
    world.ask(era, more)?;
    let grown = resident_kib()?.saturating_sub(before);
    show(what, more, grown as f64 / more as f64, "KiB");
    world.end()
}

fn resident_kib() -> Outcome<usize> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let line = line.ok_or("no resident set")?;
    Ok(line.trim_end_matches("kB").trim().parse()?)
}

/// The clients, in the child process.
struct Clients {
    address: SocketAddr,
    streams: Vec<TcpStream>,
}

impl Clients {
    fn serve(address: SocketAddr) -> Outcome<()> {
        let mut clients = Self {
            address,
            streams: Vec::new(),
        };
        for line in std::io::stdin().lines() {
            let line = line?;
            let (what, count) = line.split_once(' ').ok_or("a word and a number")?;
            let count: usize = count.parse()?;
            let began = Instant::now();
            for _ in 0..count {
                match what {
                    "modern" => clients.keep_modern()?,
                    "plain" => clients.keep_plain()?,
                    "legacy" => clients.keep_legacy()?,
                    _ => drop(clients.modern()?),
                }
            }
            println!("{}", began.elapsed().as_secs_f64() * 1e6 / count as f64);
        }
        Ok(())
    }

    fn keep_modern(&mut self) -> Outcome<()> {
        let stream = self.modern()?;
        self.streams.push(stream);
        Ok(())
    }

    /// Opens a stream that subscribes to the list of tools only, as most clients do.
    fn keep_plain(&mut self) -> Outcome<()> {
        let stream = self.listen(&json!({ "toolsListChanged": true }))?;
        self.streams.push(stream);
        Ok(())
    }

    fn modern(&self) -> Outcome<TcpStream> {
        let own = format!("bench:{}", self.streams.len());
        self.listen(&json!({ "toolsListChanged": true, "resourceSubscriptions": [SHARED, own] }))
    }

    fn listen(&self, filter: &Value) -> Outcome<TcpStream> {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let mut stream = TcpStream::connect(self.address)?;
        let listen = json!({
            "jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen",
            "params": { "notifications": filter, "_meta": meta },
        });
        let fields = "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: subscriptions/listen\r\n";
        post(&mut stream, fields, &listen)?;
        read_to(&mut stream, "\n\n")?;
        Ok(stream)
    }

    fn keep_legacy(&mut self) -> Outcome<()> {
        let mut stream = TcpStream::connect(self.address)?;
        let client = json!({ "name": "bench", "version": "1" });
        let params =
            json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
        let opening =
            json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
        post(&mut stream, "", &opening)?;
        let answer = read_to(&mut stream, "}}")?;
        let head = answer.to_ascii_lowercase();
        let at = head.find("mcp-session-id: ").ok_or("no session")? + "mcp-session-id: ".len();
        let id = answer[at..].lines().next().ok_or("no session")?;
        let fields = format!("Mcp-Session-Id: {id}\r\nMCP-Protocol-Version: 2025-11-25\r\n");
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        post(&mut stream, &fields, &ready)?;
        read_to(&mut stream, "\r\n\r\n")?;
        let get = format!(
            "GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n{fields}\r\n"
        );
        stream.write_all(get.as_bytes())?;
        read_to(&mut stream, "\r\n\r\n")?;
        self.streams.push(stream);
        Ok(())
    }
}

fn post(stream: &mut TcpStream, fields: &str, message: &Value) -> Outcome<()> {
    let body = message.to_string();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json, \
         text/event-stream\r\nContent-Length: {}\r\n{fields}\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes())?;
    Ok(())
}

/// Reads until the text contains `end`.
fn read_to(stream: &mut TcpStream, end: &str) -> Outcome<String> {
    let (mut text, mut piece) = (String::new(), [0; 4096]);
    while !text.contains(end) {
        match stream.read(&mut piece)? {
            0 => return Err(format!("the stream has ended: {text}").into()),
            count => text.push_str(std::str::from_utf8(&piece[..count])?),
        }
    }
    Ok(text)
}
