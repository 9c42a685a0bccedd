//! What tests of a connection share: a peer played by hand, handlers that wait for a word, and bounds on time.
//!
//! Nothing here sleeps to let another thread get somewhere: a test waits for what it wants to see, for at most [`LONG`].

#[cfg(any(target_os = "linux", windows))]
pub(crate) mod system;
mod witness;

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use mcplink::protocol::{Connection, ConnectionBuilder};
use mcplink::transport::{
    Limits, Received, SessionMessage, Stream, Transport, TransportParts, memory,
};
use mcplink::{ErrorKind, Result};
use serde_json::{Value, json};

pub(crate) use witness::Witness;

/// Bounds every wait that is expected to be short, on a machine that is busy with other tests.
pub(crate) const LONG: Duration = Duration::from_secs(30);

/// A socket of a local connection: a Unix socket where there are any, else TCP.
#[cfg(unix)]
pub(crate) type Socket = std::os::unix::net::UnixStream;
#[cfg(windows)]
pub(crate) type Socket = std::net::TcpStream;

/// Two sockets that are each other's peer.
#[cfg(unix)]
pub(crate) fn socket_pair() -> (Socket, Socket) {
    Socket::pair().unwrap()
}

/// Two sockets that are each other's peer.
#[cfg(windows)]
pub(crate) fn socket_pair() -> (Socket, Socket) {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let one = Socket::connect(listener.local_addr().unwrap()).unwrap();
    (one, listener.accept().unwrap().0)
}

/// A transport over a socket of [`socket_pair`].
pub(crate) fn over(socket: Socket) -> Stream {
    #[cfg(unix)]
    return Stream::unix(socket);
    #[cfg(windows)]
    return Stream::tcp(socket).unwrap();
}

/// A transport over pipes.
pub(crate) fn over_pipes(reader: std::io::PipeReader, writer: std::io::PipeWriter) -> Stream {
    #[cfg(unix)]
    return Stream::fds(reader.into(), writer.into());
    #[cfg(windows)]
    return Stream::handles(reader.into(), writer.into());
}

/// A peer played by hand: the raw end of a transport, whose other end is a connection under test.
#[derive(Debug)]
pub(crate) struct Script {
    halves: Option<TransportParts>,
    asked: u32,
}

/// Opens a connection and plays its peer, in memory.
pub(crate) fn play(connection: ConnectionBuilder) -> (Connection, Script) {
    let (ours, theirs) = memory::pair();
    (connection.open(ours).unwrap(), Script::open(theirs))
}

impl Script {
    pub(crate) fn open(transport: impl Transport) -> Self {
        Self {
            halves: Some(Box::new(transport).open(&Limits::default()).unwrap()),
            asked: 0,
        }
    }

    fn halves(&mut self) -> &mut TransportParts {
        self.halves.as_mut().unwrap()
    }

    /// Sends any bytes as a message.
    pub(crate) fn send_bytes(&mut self, bytes: Vec<u8>) {
        let mut queue = VecDeque::from([SessionMessage::new(bytes)]);
        let deadline = Instant::now() + LONG;
        self.halves().sender.send(&mut queue, deadline).unwrap();
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.send_bytes(message.to_string().into_bytes());
    }

    pub(crate) fn request(&mut self, id: impl Into<Value>, method: &str) {
        self.request_with(id, method, &json!({}));
    }

    pub(crate) fn request_with(&mut self, id: impl Into<Value>, method: &str, params: &Value) {
        let id = id.into();
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
    }

    pub(crate) fn notify(&mut self, method: &str, params: &Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    pub(crate) fn answer(&mut self, request: &Value, result: &Value) {
        self.send(&json!({"jsonrpc": "2.0", "id": request["id"], "result": result}));
    }

    pub(crate) fn cancel(&mut self, id: impl Into<Value>) {
        let id = id.into();
        self.notify(
            "notifications/cancelled",
            &json!({"requestId": id, "reason": "enough"}),
        );
    }

    pub(crate) fn progress(&mut self, token: impl Into<Value>, progress: u64) {
        let token = token.into();
        self.notify(
            "notifications/progress",
            &json!({"progressToken": token, "progress": progress}),
        );
    }

    /// The next message; fails when none comes.
    pub(crate) fn receive(&mut self) -> Value {
        self.next().expect("the connection goes on")
    }

    /// The next message; `None` when the connection has ended.
    pub(crate) fn next(&mut self) -> Option<Value> {
        match self.halves().receiver.receive(Some(LONG)) {
            Ok(Received::Message(message)) => Some(serde_json::from_slice(&message.text).unwrap()),
            Ok(other) => panic!("expected a message: {other:?}"),
            Err(error) if error.kind() == ErrorKind::Closed => None,
            Err(error) => panic!("{error}"),
        }
    }

    /// Receives a request and checks its method.
    pub(crate) fn receive_request(&mut self, method: &str) -> Value {
        let request = self.receive();
        assert_eq!(request["method"], method, "{request}");
        request
    }

    /// Receives everything that is on its way to us. What the connection has to say by now stands before the answer to a request that
    /// the reading thread answers by itself.
    pub(crate) fn receive_all(&mut self) -> Vec<Value> {
        self.asked += 1;
        let id = format!("anything else? {}", self.asked);
        self.request(id.as_str(), "tests/unknown");
        let mut received = Vec::new();
        loop {
            let message = self.receive();
            if message["id"] == *id {
                assert_eq!(message["error"]["code"], -32601, "{message}");
                return received;
            }
            received.push(message);
        }
    }

    /// Checks that nothing is on its way to us.
    pub(crate) fn expect_silence(&mut self) {
        assert_eq!(self.receive_all(), Vec::<Value>::new());
    }

    /// Checks that a good call is served.
    pub(crate) fn expect_service(&mut self, id: impl Into<Value>) {
        let id = id.into();
        self.request(id.clone(), "echo");
        assert_eq!(
            self.receive(),
            json!({"jsonrpc": "2.0", "id": id, "result": {}})
        );
    }

    /// Leaves, as seen from the other side.
    pub(crate) fn leave(&mut self) {
        self.halves = None;
    }
}

/// Runs `work` on a thread of its own and fails when it takes much longer than `bound`, in the time of a [`Witness`].
#[track_caller]
pub(crate) fn within<T: Send + 'static>(
    bound: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    let (sender, receiver) = mpsc::channel();
    let witness = Witness::start();
    let thread = thread::spawn(move || sender.send(work()).unwrap());
    match receiver.recv_timeout(bound.max(LONG)) {
        Ok(result) => {
            witness.expect_within(bound);
            result
        }
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("does not return"),
        Err(mpsc::RecvTimeoutError::Disconnected) => match thread.join() {
            Err(panic) => std::panic::resume_unwind(panic),
            Ok(()) => unreachable!("it sends before it ends"),
        },
    }
}

/// Runs `work` on a thread of its own and fails when it waits for something.
#[track_caller]
pub(crate) fn at_once<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    within(Duration::ZERO, work)
}

/// Asks again and again, because nothing tells; fails when it takes too long.
pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + LONG;
    while !holds() {
        assert!(Instant::now() < deadline, "waited too long until {what}");
        thread::sleep(Duration::from_millis(1));
    }
}

/// A gate that handlers wait at until the test opens it; it counts who has come.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gate(Arc<(Mutex<GateState>, Condvar)>);

#[derive(Debug, Default)]
struct GateState {
    arrived: usize,
    open: bool,
}

impl Gate {
    pub(crate) fn pass(&self) {
        let (state, changed) = &*self.0;
        let mut state = state.lock().unwrap();
        state.arrived += 1;
        changed.notify_all();
        let (state, result) = changed
            .wait_timeout_while(state, LONG * 2, |state| !state.open)
            .unwrap();
        drop(state);
        assert!(!result.timed_out(), "the gate stays closed");
    }

    pub(crate) fn open(&self) {
        self.0.0.lock().unwrap().open = true;
        self.0.1.notify_all();
    }

    pub(crate) fn wait_for(&self, count: usize) {
        let (state, changed) = &*self.0;
        let state = state.lock().unwrap();
        let (state, result) = changed
            .wait_timeout_while(state, LONG, |state| state.arrived < count)
            .unwrap();
        let arrived = state.arrived;
        drop(state);
        assert!(!result.timed_out(), "{arrived} of {count} have come");
    }
}

/// Opens the gate when a test ends, so that a failed one does not wait for its handlers.
impl Drop for Gate {
    fn drop(&mut self) {
        if thread::panicking() {
            self.open();
        }
    }
}

/// Handlers that every test may need: `echo` answers with its params, `block` does when the gate opens.
pub(crate) fn handlers(gate: &Gate) -> mcplink::protocol::Handlers {
    let gate = gate.clone();
    mcplink::protocol::Handlers::new()
        .request("echo", |request, responder| {
            // A number that is out of range is JSON, but no value.
            let params: Value = serde_json::from_str(request.params()).unwrap_or_default();
            // It fails when nobody waits any more.
            _ = responder.respond(&params);
        })
        .request("block", move |_, responder| {
            gate.pass();
            _ = responder.respond(&json!({"blocked": true}));
        })
}

/// A serving connection with [`handlers`], and its peer.
pub(crate) fn serve() -> (Connection, Script, Gate) {
    let gate = Gate::default();
    let (connection, script) = play(Connection::server().handlers(handlers(&gate)));
    (connection, script, gate)
}

/// Calls from a thread of its own.
pub(crate) fn call_aside(
    connection: &Connection,
    method: &'static str,
    timeout: Duration,
) -> thread::JoinHandle<Result<String>> {
    let peer = connection.peer();
    thread::spawn(move || {
        let options = mcplink::protocol::RequestOptions::new().timeout(timeout);
        let result = peer.request(method, &json!({}), options)?;
        Ok(result.as_str().to_owned())
    })
}

/// How often a stress test does its thing: `usual`, unless the environment asks for more.
pub(crate) fn rounds(variable: &str, usual: u64) -> u64 {
    std::env::var(variable).map_or(usual, |number| number.parse().unwrap())
}

/// Numbers that look random and are the same in each run (xorshift64*).
#[derive(Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.max(1))
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let number = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
        usize::try_from(number).unwrap() % end
    }
}

/// The path of an example, which cargo builds beside this test.
pub(crate) fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let folder = test.parent().and_then(Path::parent).unwrap();
    let name = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    let path = folder.join("examples").join(name);
    assert!(
        path.exists(),
        "{} is missing: cargo build --examples",
        path.display()
    );
    path
}

/// A command that runs an ignored test of this binary in a process of its own.
pub(crate) fn helper(name: &str) -> std::process::Command {
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args([
        "--exact",
        name,
        "--ignored",
        "--quiet",
        "--nocapture",
        "--test-threads=1",
    ]);
    command
}

/// Runs an ignored test of this binary in a process of its own, which is all its own: threads, signals, streams.
pub(crate) fn run_alone(name: &str) {
    let output = helper(name)
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    let (stdout, stderr) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success(), "{stdout}\n{stderr}");
    assert!(stdout.contains("1 passed"), "{stdout}");
}
