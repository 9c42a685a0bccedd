//! A transport to a server that runs as a child process, and the child's orderly end.
//!
//! ```text
//!              close                 2 s, or ended         2 s, or ended
//!  running ──────────▶ stdin closed ───────────▶ SIGTERM ───────────▶ SIGKILL
//!     │                                 │            │                   │
//!     ╰── ended by itself ──────────────┴────────────┴───────────────────┴──▶ rest of the group
//!                                                                             ended, reaped
//! ```
//!
//! The child leads a process group of its own. Signals go to the whole group, since behind a shell
//! or a package runner the server is a grandchild. A process that starts its own session or group
//! leaves the child's group, and gets no signal.
//!
//! On Windows, the child is in a job of its own instead of a group. The job contains each process
//! that the child starts. There is no SIGTERM: if the child has not ended 2 seconds after its
//! standard input was closed, the job is ended.
//!
//! The child's standard input and output are socket pairs, and pipes on Windows. Any thread can end
//! a socket, even when a grandchild holds the other end. A write to a socket raises no SIGPIPE.
//!
//! **Threads.** The thread `mcplink-stderr` runs while standard error is captured; closing joins
//! it. For a child that [dies with its parent](Child::die_with_parent), the thread `mcplink-parent`
//! starts the child and runs until the child has ended; Windows needs no such thread. Reading and
//! writing happen on the thread that receives or sends. The thread that receives also reaps a child
//! that ended by itself.

mod parent;
mod stderr;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::framing::{self, Input, LineReceiver, LineSender, Output, Piece, closed_here, failure};
use super::sys::command::{self, VariableName};
use super::sys::process::Process;
use super::sys::read::{Read, ReadEnd};
use super::sys::write::WriteEnd;
use super::sys::{self, spawn};
use super::{Control, Limits, Threads, Transport, TransportParts};
use crate::error::{Error, ErrorKind, Result};
use crate::sync::Mutex;
use parent::Parent;
use stderr::Drainer;
pub use stderr::{Stderr, StderrLines, StderrTail};

/// The maximum time that the receiver waits for the child's exit status and for the rest of its
/// standard error. The wait begins at the end of the child's standard output.
const FAREWELL: Duration = Duration::from_millis(300);
/// The maximum time that the sender waits, after a failed write, for the child's exit status and
/// for the rest of its standard error. The write has a deadline of its own.
const REFUSAL: Duration = Duration::from_millis(100);
/// The grace time of a child with which no conversation was established. The child gets this time
/// twice: before SIGTERM and before SIGKILL.
const HURRY: Duration = Duration::from_millis(50);
/// The maximum time between SIGTERM and SIGKILL for processes of the group that outlive the child.
const REST_OF_GROUP: Duration = Duration::from_millis(500);

/// The transport to a server that is started as a child process. Each line on the child's standard
/// input and output is a message.
///
/// The child starts in a process group of its own. In the child, every signal is unblocked and has
/// its default action. The child gets the descriptors 0, 1 and 2 only, and few environment
/// variables of this process: see [`inherit_env`](Self::inherit_env).
///
/// On Windows, the child starts in a job of its own, and without a window. It gets the three
/// standard streams and no other handle.
///
/// Closing or dropping the connection ends the child: see [`grace`](Self::grace). When the started
/// program ends, the connection ends, even if processes that it started still run.
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
    env: BTreeMap<VariableName, Variable>,
    directory: Option<PathBuf>,
    stderr: Stderr,
    tail: StderrTail,
    pipes: bool,
    dies_with_parent: bool,
    grace: Duration,
}

/// The environment variables of this process that a child inherits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Inherits {
    /// The variables for which [`command::is_usual`] is true.
    Usual,
    All,
    Nothing,
}

/// The setting of one environment variable.
#[derive(Clone)]
enum Variable {
    Set(OsString),
    /// The value that the variable has in this process.
    Passed,
    Removed,
}

impl fmt::Debug for Child {
    /// Formats the transport without arguments and environment, which may contain secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Child")
            .field("program", &self.program)
            .finish_non_exhaustive()
    }
}

impl Child {
    /// Creates a transport that starts `program` when the connection is opened.
    ///
    /// If `program` has no slash, it is searched for in the child's own `PATH`. The child inherits
    /// the `PATH` of this process, unless [`env`](Self::env) sets another one. A relative path is
    /// relative to this process's working directory.
    ///
    /// On Windows, the file name extension may be omitted (`npx` for `npx.cmd`): `.com`, `.exe`,
    /// `.bat` and `.cmd` are tried, in the order of the variable `PATHEXT`. A batch file is run by
    /// `cmd.exe`.
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

    /// Adds an argument of the program. The argument is passed unchanged: no shell is involved. On
    /// Windows, a batch file can't be given an argument with a line break: opening fails.
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    /// Adds several arguments of the program.
    pub fn args<S: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        let args = args.into_iter().map(|arg| arg.as_ref().to_owned());
        self.args.extend(args);
        self
    }

    /// Sets an environment variable, in addition to the inherited ones: see
    /// [`inherit_env`](Self::inherit_env).
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        let value = Variable::Set(value.as_ref().to_owned());
        self.env.insert(command::variable_name(name), value);
        self
    }

    /// Passes an environment variable of this process on to the child. The child gets the value
    /// that the variable has when the child is started. If the variable is not set at that time, it
    /// is omitted.
    pub fn pass_env(mut self, name: impl AsRef<OsStr>) -> Self {
        self.env
            .insert(command::variable_name(name), Variable::Passed);
        self
    }

    /// Lets the child inherit every environment variable of this process. By default only these are
    /// inherited: `HOME`, `LANG`, `LC_*`, `LOGNAME`, `PATH`, `SHELL`, `TERM`, `TMPDIR` and `USER`.
    /// Other variables may be secrets, such as keys, that a server should not see. On Windows, the
    /// default is `LC_*` and the variables of the system and of the user's folders, such as
    /// `APPDATA`, `PATH`, `SYSTEMROOT`, `TEMP` and `USERPROFILE`.
    pub fn inherit_env(mut self) -> Self {
        self.inherits = Inherits::All;
        self
    }

    /// Removes an environment variable from the child's environment, whether the variable is
    /// inherited or was set.
    pub fn env_remove(mut self, name: impl AsRef<OsStr>) -> Self {
        self.env
            .insert(command::variable_name(name), Variable::Removed);
        self
    }

    /// Lets the child inherit no environment variable, and removes the variables set so far.
    pub fn env_clear(mut self) -> Self {
        self.inherits = Inherits::Nothing;
        self.env.clear();
        self
    }

    /// Lets the child inherit no environment variable. Variables that were set stay.
    #[cfg(feature = "cffi")]
    pub(crate) fn inherit_nothing(mut self) -> Self {
        self.inherits = Inherits::Nothing;
        self
    }

    /// Sets whether the system kills the child (SIGKILL) when this process ends, even if this
    /// process is killed. Defaults to false: then the child only sees the end of its standard
    /// input, and may go on.
    ///
    /// Only the child is killed; processes that the child started see the end of their standard
    /// input. The system binds a child to the thread that starts it. So a separate thread starts
    /// the child, and runs until the child has ended. Starting the child costs a `fork` of this
    /// process.
    ///
    /// The system does not kill a program that is set-user-ID or has Linux file capabilities. The
    /// setting needs Linux (`PR_SET_PDEATHSIG`) or Windows. On other systems, opening fails with
    /// [`ErrorKind::Unsupported`].
    ///
    /// On Windows, the system also ends the processes that the child has started, and no thread is
    /// needed.
    pub fn die_with_parent(mut self, dies: bool) -> Self {
        self.dies_with_parent = dies;
        self
    }

    /// Sets the child's working directory. Defaults to the working directory of this process.
    pub fn current_dir(mut self, directory: impl AsRef<Path>) -> Self {
        self.directory = Some(directory.as_ref().to_owned());
        self
    }

    /// Sets the destination of the child's standard error. Defaults to [`Stderr::Capture`].
    pub fn stderr(mut self, stderr: Stderr) -> Self {
        self.stderr = stderr;
        self
    }

    /// Returns the last part of the child's standard error. The text can be read while the child
    /// runs and after the child has ended.
    pub fn stderr_tail(&self) -> StderrTail {
        self.tail.clone()
    }

    /// Sets whether the child's standard input and output are pipes instead of sockets. Defaults to
    /// false.
    ///
    /// Only a program that opens `/dev/stdin` or `/dev/stdout` by name needs pipes. On Windows,
    /// they are always pipes.
    pub fn pipes(mut self, pipes: bool) -> Self {
        self.pipes = pipes;
        self
    }

    /// Sets how long the child may take to end after its standard input was closed, and again after
    /// SIGTERM (which Windows does not have). Defaults to 2 seconds, so closing takes little more
    /// than 4 seconds. The maximum is an hour. Closing returns as soon as the child has ended.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace.min(Duration::from_secs(3600));
        self
    }

    fn environment(&self) -> Vec<(VariableName, OsString)> {
        let mut env = BTreeMap::new();
        let own = std::env::vars_os().map(|(name, value)| (command::variable_name(name), value));
        match self.inherits {
            Inherits::Usual => {
                env.extend(own.filter(|(name, value)| command::is_usual(name, value)));
            }
            Inherits::All => env.extend(own),
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
        let (ends, stdin, stdout) = command::streams(self.pipes)
            .map_err(|error| Error::io(format_args!("making streams for '{name}'"), error))?;
        // Each child that is started from the same settings has its own tail.
        let tail = StderrTail::default();
        let (stderr, drainer) = match self.stderr {
            Stderr::Inherit => (sys::Stderr::Inherit, None),
            Stderr::Discard => (sys::Stderr::Discard, None),
            Stderr::Capture => captured(&tail, &self.tail, None, threads)?,
            Stderr::Lines(lines) => captured(&tail, &self.tail, Some(lines), threads)?,
        };
        let (program, args, directory) = (self.program, self.args, self.directory);
        let dies_with_parent = self.dies_with_parent;
        let spawn = move || {
            spawn::spawn(sys::Command {
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
        let (process, parent) = match dies_with_parent && cfg!(target_os = "linux") {
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
}

fn captured(
    tail: &StderrTail,
    shown: &StderrTail,
    lines: Option<StderrLines>,
    threads: &Threads,
) -> Result<(sys::Stderr, Option<Drainer>)> {
    let (drainer, theirs) = Drainer::start(tail.clone(), shown.clone(), lines, threads)?;
    Ok((sys::Stderr::To(theirs), Some(drainer)))
}

impl Transport for Child {
    /// Starts the child.
    ///
    /// Fails with [`ErrorKind::Spawn`] when the child can't be started, and with
    /// [`ErrorKind::Invalid`] when an argument or variable contains a NUL byte.
    fn open(self: Box<Self>, limits: &Limits) -> Result<TransportParts> {
        let shared = Arc::new(self.start(&limits.threads)?);
        let input = ChildOutput {
            shared: Arc::clone(&shared),
            has_ended: false,
        };
        let output = ChildInput(Arc::clone(&shared));
        Ok(TransportParts::new(
            Box::new(LineReceiver::new(input, limits)),
            Box::new(LineSender::new(output)),
            Arc::new(ChildControl(shared)),
        ))
    }

    fn again(&self) -> Option<Box<dyn Transport>> {
        Some(Box::new(self.clone()))
    }

    /// Returns the command line of the child, and its working directory if one was set.
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

/// The state that the parts of an open child transport share. When the last part is dropped, the
/// child is ended.
#[derive(Debug)]
struct Shared {
    process: Process,
    stdin: WriteEnd,
    stdout: ReadEnd,
    drainer: Option<Drainer>,
    tail: StderrTail,
    /// Whether a message was sent since the child's last answer. The value is only a hint for error
    /// texts.
    sent_since_answer: AtomicBool,
    /// The thread that started the child, on systems that end the child together with this thread.
    parent: Option<Parent>,
    peer: String,
    grace: Duration,
    /// Whether this side is closing the connection.
    ///
    /// Invariant: the flag is set before any stream or process is ended. So if this side has caused
    /// the end, the error never blames the child.
    closing: AtomicBool,
    /// Whether the steps that end the child (close stdin, SIGTERM, SIGKILL) are done. A thread that
    /// closes the connection holds the lock during these steps. So if several threads close the
    /// connection at once, none returns before the child has ended.
    ladder: Mutex<bool>,
}

impl Shared {
    fn close(&self, grace: Duration) {
        // After a fork the child belongs to the other process. Here only the descriptors are
        // closed, on drop.
        if !self.process.is_ours() {
            return;
        }
        self.closing.store(true, Ordering::SeqCst);
        {
            let mut climbed = self.ladder.lock();
            if !*climbed {
                self.climb(grace);
                *climbed = true;
            }
        }
        if let Some(parent) = &self.parent {
            parent.finish();
        }
        // Outside of the lock: the drainer's callback may close, too, and would deadlock.
        if let Some(drainer) = &self.drainer {
            drainer.finish();
        }
    }

    fn climb(&self, grace: Duration) {
        let leaves = || self.process.wait(Instant::now() + grace);
        self.stdin.end();
        let has_left = leaves() || (self.process.request_end() && leaves());
        if !has_left {
            self.process.kill();
            // Only a process that hangs in the kernel runs longer than a second.
            self.process.wait(Instant::now() + Duration::from_secs(1));
        }
        self.process.end_rest_of_group(grace.min(REST_OF_GROUP));
        self.stdout.end();
    }

    /// Returns an error that describes how the child ended, with the last lines of its standard
    /// error. Waits up to `patience` for the child's end. If the child still runs, the error says
    /// that the child closed the stream named `closed`.
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
            // No thread reads any more. So a child that writes gets an error instead of blocking.
            self.stdout.end();
            self.close(self.grace);
        }
    }
}

/// The standard output of the child, from which this process reads.
#[derive(Debug)]
struct ChildOutput {
    shared: Arc<Shared>,
    /// Whether the child has ended. The child's end wakes the reader, which reaps the child and
    /// reads the rest of its output. The reader does not wait for other processes that hold the
    /// output open.
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

/// The standard input of the child, to which this process writes.
#[derive(Debug)]
struct ChildInput(Arc<Shared>);

impl Output for ChildInput {
    fn write(&mut self, bytes: &[u8], deadline: Instant) -> io::Result<usize> {
        // Before the write: a child that reads the message may have died when the write returns.
        self.0.sent_since_answer.store(true, Ordering::Relaxed);
        self.0.stdin.write(bytes, deadline)
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
