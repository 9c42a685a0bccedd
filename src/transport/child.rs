//! A server run as a child process, and its orderly end.
//!
//! ```text
//!              close                 2 s, or ended         2 s, or ended
//!  running ──────────▶ stdin closed ───────────▶ SIGTERM ───────────▶ SIGKILL
//!     │                                 │            │                   │
//!     └── ended by itself ──────────────┴────────────┴───────────────────┴──▶ rest of the group ended, reaped
//! ```
//!
//! The child leads a process group of its own, and the signals go to the whole group: behind a shell or a package runner it is the
//! grandchild that serves. Who starts a session or group of its own leaves it and is not followed.
//!
//! Its standard input and output are socket pairs: they can be ended from any thread even when a grandchild holds the other end, and
//! writing to one raises no SIGPIPE.
//!
//! **Threads.** One, `mcplink-stderr`, while standard error is captured; closing joins it. Reading and writing happen on the thread that
//! receives or sends; the one that receives also reaps a child that ended by itself. One more, `mcplink-parent`, of a child that
//! [dies with its parent](Child::die_with_parent): it starts the child and stays until that has ended.

mod parent;
mod stderr;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::framing::{self, Input, LineReceiver, LineSender, Output, Piece, closed_here, failure};
use super::sys::process::{Process, Signal};
use super::sys::read::{Read, ReadEnd};
use super::sys::write::WriteEnd;
use super::sys::{fd, spawn};
use super::{Control, Halves, Limits, Threads, Transport, lock};
use crate::error::{Error, ErrorKind, Result};
use parent::Parent;
use stderr::Drainer;
pub use stderr::{Stderr, StderrLines, StderrTail};

/// How long the end of its output waits for the rest of the story: its exit status and last words.
const FAREWELL: Duration = Duration::from_millis(300);
/// The same for a failed write, which has a deadline of its own.
const REFUSAL: Duration = Duration::from_millis(100);
/// What a child gets, twice, with which no conversation came about.
const HURRY: Duration = Duration::from_millis(50);
/// What a leader left behind gets between being asked and being killed.
const REST_OF_GROUP: Duration = Duration::from_millis(500);

/// The transport to a server that is started as a child process: messages on its standard input and output, one a line.
///
/// The child starts in a process group of its own, with every signal unblocked and at its default, with descriptors 0, 1 and 2 only, and
/// with few environment variables of this process: see [`inherit_env`](Self::inherit_env). It is ended by closing the connection or dropping
/// it: see [`grace`](Self::grace). When the program that was started ends, the connection ends, whatever that has left running.
///
/// Spec: Transports, "stdio" (every revision); Lifecycle, "Shutdown".
///
/// # Examples
///
/// ```
/// use mcplink::transport::{Child, Stderr};
///
/// let server = Child::new("weather-server")
///     .args(["--units", "metric"])
///     .env("WEATHER_KEY", "secret")
///     .stderr(Stderr::Inherit);
/// ```
#[derive(Clone)]
pub struct Child {
    program: OsString,
    args: Vec<OsString>,
    inherits: Inherits,
    env: BTreeMap<OsString, Variable>,
    directory: Option<PathBuf>,
    stderr: Stderr,
    tail: StderrTail,
    pipes: bool,
    dies_with_parent: bool,
    grace: Duration,
}

/// Which environment variables of this process a child gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Inherits {
    /// Those that say where and for whom it runs.
    Usual,
    All,
    Nothing,
}

/// What is said of one environment variable.
#[derive(Clone)]
enum Variable {
    Set(OsString),
    /// As this process has it.
    Passed,
    Removed,
}

/// The environment variables that are inherited by default, besides those whose names begin with `LC_`.
const USUAL: [&str; 8] = [
    "HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER",
];

impl fmt::Debug for Child {
    /// Without arguments and environment, which may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Child")
            .field("program", &self.program)
            .finish_non_exhaustive()
    }
}

impl Child {
    /// Will start `program` when the connection is opened.
    ///
    /// A name without a slash is looked for in the child's own `PATH` (this process's, unless [`env`](Self::env) sets another). A
    /// relative path counts from this process's working directory.
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        Self {
            program: program.as_ref().to_owned(),
            args: Vec::new(),
            inherits: Inherits::Usual,
            env: BTreeMap::new(),
            directory: None,
            stderr: Stderr::default(),
            tail: StderrTail::default(),
            pipes: false,
            dies_with_parent: false,
            grace: Duration::from_secs(2),
        }
    }

    /// Adds an argument. It reaches the program as it is: no shell is involved.
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    /// Adds arguments.
    pub fn args<S: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        let args = args.into_iter().map(|arg| arg.as_ref().to_owned());
        self.args.extend(args);
        self
    }

    /// Sets an environment variable, beside those that are inherited: see [`inherit_env`](Self::inherit_env).
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        let value = Variable::Set(value.as_ref().to_owned());
        self.env.insert(name.as_ref().to_owned(), value);
        self
    }

    /// Passes an environment variable of this process on, as it is when the child is started. One that is not set then is left out.
    pub fn pass_env(mut self, name: impl AsRef<OsStr>) -> Self {
        self.env.insert(name.as_ref().to_owned(), Variable::Passed);
        self
    }

    /// Inherits every environment variable of this process. Defaults to the usual ones only: `HOME`, `LANG`, `LC_*`, `LOGNAME`, `PATH`,
    /// `SHELL`, `TERM`, `TMPDIR` and `USER`. The others may be secrets of this process, such as keys, which are none of a server's business.
    pub fn inherit_env(mut self) -> Self {
        self.inherits = Inherits::All;
        self
    }

    /// Keeps an environment variable from being inherited.
    pub fn env_remove(mut self, name: impl AsRef<OsStr>) -> Self {
        self.env.insert(name.as_ref().to_owned(), Variable::Removed);
        self
    }

    /// Inherits no environment variable, and forgets those set so far.
    pub fn env_clear(mut self) -> Self {
        self.inherits = Inherits::Nothing;
        self.env.clear();
        self
    }

    /// Whether the system kills the child (SIGKILL) when this process ends, however it ends: a host that is killed leaves no child then.
    /// Defaults to false: a child finds the end of its standard input, and may go on all the same.
    ///
    /// The child is killed only; what it has started finds the end of its standard input. The system binds a child to the thread that
    /// starts it, so a thread of its own does that and stays until the child has ended. It costs a `fork` of this process. A program that is
    /// set-user-ID or has capabilities of its own is not bound. Linux only (`PR_SET_PDEATHSIG`): elsewhere opening fails with
    /// [`ErrorKind::Unsupported`].
    pub fn die_with_parent(mut self, dies: bool) -> Self {
        self.dies_with_parent = dies;
        self
    }

    /// Starts it in `directory`. Defaults to the working directory of this process.
    pub fn current_dir(mut self, directory: impl AsRef<Path>) -> Self {
        self.directory = Some(directory.as_ref().to_owned());
        self
    }

    /// Says what becomes of its standard error. Defaults to [`Stderr::Capture`].
    pub fn stderr(mut self, stderr: Stderr) -> Self {
        self.stderr = stderr;
        self
    }

    /// What is kept of its standard error, for reading while it runs and after.
    pub fn stderr_tail(&self) -> StderrTail {
        self.tail.clone()
    }

    /// Whether its standard input and output are pipes. Defaults to false: they are sockets.
    ///
    /// Only a program that opens `/dev/stdin` or `/dev/stdout` by name needs pipes.
    pub fn pipes(mut self, pipes: bool) -> Self {
        self.pipes = pipes;
        self
    }

    /// How long it may take to leave after its standard input was closed, and once more after it was asked with SIGTERM. Defaults to
    /// 2 seconds, so closing is over after little more than 4; at most an hour. A child that leaves sooner is waited for no longer.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace.min(Duration::from_secs(3600));
        self
    }

    fn environment(&self) -> Vec<(OsString, OsString)> {
        let mut env = BTreeMap::new();
        match self.inherits {
            Inherits::Usual => env.extend(std::env::vars_os().filter(is_usual)),
            Inherits::All => env.extend(std::env::vars_os()),
            Inherits::Nothing => {}
        }
        for (name, variable) in &self.env {
            let value = match variable {
                Variable::Set(value) => Some(value.clone()),
                Variable::Passed => std::env::var_os(name),
                Variable::Removed => None,
            };
            match value {
                Some(value) => env.insert(name.clone(), value),
                None => env.remove(name),
            };
        }
        env.into_iter().collect()
    }

    fn start(self, threads: &Threads) -> Result<Shared> {
        let env = self.environment();
        let name = Path::new(&self.program);
        let name = name
            .file_name()
            .unwrap_or(&self.program)
            .display()
            .to_string();
        let (ends, stdin, stdout) = self
            .streams()
            .map_err(|error| Error::io(format_args!("making streams for '{name}'"), error))?;
        // Another child of the same description has words of its own.
        let tail = StderrTail::default();
        let (stderr, drainer) = match self.stderr {
            Stderr::Inherit => (spawn::Stderr::Inherit, None),
            Stderr::Discard => (spawn::Stderr::Discard, None),
            Stderr::Capture => captured(&tail, &self.tail, None, threads)?,
            Stderr::Lines(lines) => captured(&tail, &self.tail, Some(lines), threads)?,
        };
        let (program, args, directory) = (self.program, self.args, self.directory);
        let dies_with_parent = self.dies_with_parent;
        let spawn = move || {
            spawn::spawn(spawn::Command {
                program: &program,
                args: &args,
                env: &env,
                directory: directory.as_deref(),
                stdin,
                stdout,
                stderr,
                dies_with_parent,
            })
        };
        let (process, parent) = match dies_with_parent {
            true => Parent::start(spawn, threads).map(|(process, it)| (process, Some(it)))?,
            false => (spawn()?, None),
        };
        Ok(Shared {
            peer: format!("{name} (process {})", process.id()),
            process,
            stdin: ends.0,
            stdout: ends.1,
            drainer,
            tail,
            sent_since_answer: AtomicBool::new(false),
            parent,
            grace: self.grace,
            closing: AtomicBool::new(false),
            ladder: Mutex::new(false),
        })
    }

    /// Our ends, and the child's standard input and output.
    fn streams(&self) -> io::Result<((WriteEnd, ReadEnd), OwnedFd, OwnedFd)> {
        if self.pipes {
            let (stdin, to_child) = fd::pipe()?;
            let (from_child, stdout) = fd::pipe()?;
            let ours = (
                WriteEnd::own_pipe(to_child)?,
                ReadEnd::own_pipe(from_child)?,
            );
            Ok((ours, stdin, stdout))
        } else {
            let (stdin, to_child) = fd::socket_pair()?;
            let (from_child, stdout) = fd::socket_pair()?;
            let ours = (WriteEnd::socket(to_child)?, ReadEnd::socket(from_child)?);
            Ok((ours, stdin, stdout))
        }
    }
}

/// A value that begins like this is a function of a shell, which a child might run.
fn is_usual((name, value): &(OsString, OsString)) -> bool {
    let is_usual = USUAL.iter().any(|usual| name == usual) || name.as_bytes().starts_with(b"LC_");
    is_usual && !value.as_bytes().starts_with(b"()")
}

fn captured(
    tail: &StderrTail,
    shown: &StderrTail,
    lines: Option<StderrLines>,
    threads: &Threads,
) -> Result<(spawn::Stderr, Option<Drainer>)> {
    let (drainer, theirs) = Drainer::start(tail.clone(), shown.clone(), lines, threads)?;
    Ok((spawn::Stderr::To(theirs), Some(drainer)))
}

impl Transport for Child {
    /// Starts the child.
    ///
    /// Fails with [`ErrorKind::Spawn`] when it can't be started and [`ErrorKind::Invalid`] when an argument or variable holds a NUL.
    fn open(self: Box<Self>, limits: &Limits) -> Result<Halves> {
        let shared = Arc::new(self.start(&limits.threads)?);
        let input = ChildOutput {
            shared: Arc::clone(&shared),
            has_ended: false,
        };
        let output = ChildInput(Arc::clone(&shared));
        Ok(Halves::new(
            Box::new(LineReceiver::new(input, limits)),
            Box::new(LineSender::new(output)),
            Arc::new(ChildControl(shared)),
        ))
    }

    fn again(&self) -> Option<Box<dyn Transport>> {
        Some(Box::new(self.clone()))
    }

    /// The command line, and the directory if one was set.
    fn address(&self) -> Option<String> {
        let words = std::iter::once(&self.program).chain(&self.args);
        let words: Vec<String> = words.map(|word| format!("{word:?}")).collect();
        let mut address = words.join(" ");
        if let Some(directory) = &self.directory {
            address += &format!(" in {directory:?}");
        }
        Some(address)
    }
}

/// What the halves share. When the last of them goes, the child is ended.
#[derive(Debug)]
struct Shared {
    process: Process,
    stdin: WriteEnd,
    stdout: ReadEnd,
    drainer: Option<Drainer>,
    tail: StderrTail,
    /// Something was sent since the child last answered.
    sent_since_answer: AtomicBool,
    /// The thread that started the child, if the system binds the child to it.
    parent: Option<Parent>,
    peer: String,
    grace: Duration,
    /// Set before anything is ended, so that an end that we made is told from one that the child made.
    closing: AtomicBool,
    /// Whether the ladder has been climbed. Held meanwhile, so that whoever closes too returns when it is over.
    ladder: Mutex<bool>,
}

impl Shared {
    fn close(&self, grace: Duration) {
        // After a fork the child is the other process's; here there are only descriptors to close, by dropping.
        if !self.process.is_ours() {
            return;
        }
        self.closing.store(true, Ordering::SeqCst);
        {
            let mut climbed = lock(&self.ladder);
            if !*climbed {
                self.climb(grace);
                *climbed = true;
            }
        }
        if let Some(parent) = &self.parent {
            parent.finish();
        }
        // Not under the lock: the callback of the drainer may be closing too.
        if let Some(drainer) = &self.drainer {
            drainer.finish();
        }
    }

    fn climb(&self, grace: Duration) {
        let leaves = || self.process.wait(Instant::now() + grace);
        self.stdin.end();
        if !leaves() {
            self.process.signal_group(Signal::Terminate);
            if !leaves() {
                self.process.signal_group(Signal::Kill);
                // Only a process that hangs in the kernel outlasts this.
                self.process.wait(Instant::now() + Duration::from_secs(1));
            }
        }
        self.process.end_rest_of_group(grace.min(REST_OF_GROUP));
        self.stdout.end();
    }

    /// Tells in words how it ended, and quotes its last ones; or, when it still runs, says that it `closed` what.
    fn obituary(&self, closed: &str, patience: Duration) -> Error {
        let deadline = Instant::now() + patience;
        let ended = self.process.wait(deadline);
        if let Some(drainer) = &self.drainer
            && ended
        {
            drainer.wait(deadline);
        }
        let peer = &self.peer;
        let text = match self.process.finish().filter(|_| ended) {
            Some(exit) => format!("'{peer}' {exit}"),
            None => format!("'{peer}' closed its {closed} while still running"),
        };
        Error::new(ErrorKind::Closed, text).with_stderr_tail(self.last_words())
    }

    fn last_words(&self) -> Option<String> {
        let sent = self.sent_since_answer.load(Ordering::Relaxed);
        self.tail
            .quote(sent && self.stdin.has_unread() == Some(false))
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if self.process.is_ours() {
            // Nobody will read: a child that writes had better know.
            self.stdout.end();
            self.close(self.grace);
        }
    }
}

/// Standard output of the child: what we read.
#[derive(Debug)]
struct ChildOutput {
    shared: Arc<Shared>,
    /// The child is there no more. Its end wakes the reader, which reaps it, and reads what it has written. Others may hold its output, but
    /// nothing is expected of them.
    has_ended: bool,
}

impl Input for ChildOutput {
    fn read(&mut self, room: &mut [u8], patience: Option<Duration>) -> io::Result<Piece> {
        let (stdout, process) = (&self.shared.stdout, &self.shared.process);
        if !self.has_ended {
            match stdout.read(room, patience, process.end_signal())? {
                Read::Watched => {
                    process.reap_early();
                    self.has_ended = true;
                }
                read => return Ok(read.into()),
            }
        }
        match stdout.read(room, Some(Duration::ZERO), None)? {
            Read::Nothing => Ok(Piece::End),
            read => Ok(read.into()),
        }
    }

    fn is_patient(&self) -> bool {
        true
    }

    fn farewell(&mut self, mut failure: Option<io::Error>) -> Error {
        if self.shared.closing.load(Ordering::SeqCst) {
            return closed_here(&self.shared.peer);
        }
        if let Some(error) = failure.take_if(|error| error.kind() == io::ErrorKind::OutOfMemory) {
            return framing::failure(&self.shared.peer, "receiving from", error);
        }
        let obituary = self.shared.obituary("output", FAREWELL);
        match failure {
            Some(failure) => obituary.with_source(failure),
            None => obituary,
        }
    }
}

/// Standard input of the child: what we write.
#[derive(Debug)]
struct ChildInput(Arc<Shared>);

impl Output for ChildInput {
    fn write(&mut self, bytes: &[u8], deadline: Instant) -> io::Result<usize> {
        let written = self.0.stdin.write(bytes, deadline)?;
        self.0.sent_since_answer.store(true, Ordering::Relaxed);
        Ok(written)
    }

    fn refusal(&self, error: io::Error) -> Error {
        let shared = &self.0;
        if shared.stdin.has_ended() {
            return closed_here(&shared.peer);
        }
        match failure(&shared.peer, "sending to", error) {
            gone if gone.kind() == ErrorKind::Closed => {
                shared.obituary("input", REFUSAL).with_source(gone)
            }
            other => other,
        }
    }

    fn peer(&self) -> String {
        self.0.peer.clone()
    }
}

#[derive(Debug)]
struct ChildControl(Arc<Shared>);

impl Control for ChildControl {
    fn peer(&self) -> String {
        self.0.peer.clone()
    }

    fn close(&self) {
        self.0.close(self.0.grace);
    }

    fn close_at_once(&self) {
        self.0.close(self.0.grace.min(HURRY));
    }

    fn note_answer(&self) {
        if let Some(drainer) = &self.0.drainer {
            drainer.note_answer();
            self.0.sent_since_answer.store(false, Ordering::Relaxed);
        }
    }

    fn last_words(&self) -> Option<String> {
        self.0.last_words()
    }

    fn has_unread(&self) -> Option<bool> {
        self.0.stdin.has_unread()
    }
}
