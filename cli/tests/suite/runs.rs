//! Runs of the program: to their end, watched while they go on, and at a terminal.

use std::io::{self, BufRead as _, BufReader, Read, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;

use serde_json::Value;

use crate::common::{LONG, wait_until};

pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// The program under test.
pub(crate) const MCPLINK: &str = env!("CARGO_BIN_EXE_mcplink");

/// The variables of the machine that change how the program runs.
const CLEARED: [&str; 17] = [
    "ALL_PROXY",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "COLUMNS",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "LINES",
    "NO_COLOR",
    "NO_PROXY",
    "REQUEST_METHOD",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
    "all_proxy",
    "http_proxy",
    "https_proxy",
    "no_proxy",
];

/// Returns the command of the program under test, which takes nothing from the machine: its home
/// has no files, no proxy is set, and signals have their default dispositions.
pub(crate) fn program() -> Command {
    let mut command = Command::new(MCPLINK);
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("no-home");
    command.env("HOME", home);
    for name in CLEARED {
        command.env_remove(name);
    }
    reset_signals(&mut command);
    command
}

/// Gives the child the default dispositions of signals. A child inherits the signals that its
/// parent ignores, and a job of `nohup` or in the background of a script ignores some.
pub(crate) fn reset_signals(command: &mut Command) {
    let signals = [
        libc::SIGHUP,
        libc::SIGINT,
        libc::SIGQUIT,
        libc::SIGPIPE,
        libc::SIGTERM,
    ];
    let reset = move || {
        for signal in signals {
            // SAFETY: the default disposition runs no code of this process.
            if unsafe { libc::signal(signal, libc::SIG_DFL) } == libc::SIG_ERR {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(())
    };
    // SAFETY: signal() is async-signal-safe, and the closure neither allocates nor takes a lock.
    unsafe { command.pre_exec(reset) };
}

/// A server of the tests, which is built beside them as an example.
pub(crate) fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let folder = test.parent().and_then(Path::parent).unwrap();
    let path = folder.join("examples").join(format!("cli_{name}"));
    assert!(
        path.exists(),
        "{} is missing: cargo test -p mcplink-cli builds it",
        path.display()
    );
    path
}

/// Runs a command that is split at spaces, against the server.
pub(crate) fn mcp(line: &str) -> Ran {
    mcp_with(&line.split_whitespace().collect::<Vec<_>>(), "")
}

pub(crate) fn mcp_with(words: &[&str], input: &str) -> Ran {
    let server = example("interop_server");
    mcp_against(words, &[server.to_str().unwrap()], input)
}

pub(crate) fn mcp_against(words: &[&str], server: &[&str], input: &str) -> Ran {
    let mut child = program()
        .args(words)
        .arg("--")
        .args(server)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // Not all actions read it, and then it is closed early.
    _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    Ran {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// The one line of JSON that is all there is on standard output.
pub(crate) fn json_of(line: &str) -> (i32, Value) {
    let ran = mcp(line);
    assert_eq!(ran.out.lines().count(), 1, "{line}: {}", ran.out);
    (ran.code, serde_json::from_str(&ran.out).unwrap())
}

/// A run that is watched while it goes on.
pub(crate) struct Running {
    pub(crate) child: Child,
    pub(crate) said: LinesInTime,
    pub(crate) heard: LinesInTime,
}

/// The lines of a stream, each of which has to come in time.
pub(crate) struct LinesInTime(mpsc::Receiver<io::Result<String>>);

impl LinesInTime {
    pub(crate) fn of(stream: impl Read + Send + 'static) -> Self {
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || {
            let lines = BufReader::new(stream).lines();
            lines
                .map_while(|line| sender.send(line).ok())
                .for_each(drop);
        });
        Self(receiver)
    }
}

impl Iterator for LinesInTime {
    type Item = io::Result<String>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.0.recv_timeout(LONG) {
            Ok(line) => Some(line),
            Err(mpsc::RecvTimeoutError::Disconnected) => None,
            Err(mpsc::RecvTimeoutError::Timeout) => panic!("no line came in time"),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A test that failed leaves no process.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

impl Running {
    pub(crate) fn start(words: &[&str], server: &[&str]) -> Self {
        let mut command = program();
        command.args(words).arg("--").args(server);
        Self::of(command)
    }

    /// A run against a server over HTTP.
    pub(crate) fn start_to(url: &str, words: &[&str]) -> Self {
        let mut command = program();
        command.args(["--url", url]).args(words);
        Self::of(command)
    }

    pub(crate) fn of(mut command: Command) -> Self {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        Self {
            said: LinesInTime::of(child.stderr.take().unwrap()),
            heard: LinesInTime::of(child.stdout.take().unwrap()),
            child,
        }
    }

    /// Reads what it says on standard error until a line has all of these in it.
    pub(crate) fn wait_for(&mut self, parts: &[&str]) {
        let found = self.said.find(|line| {
            let line = line.as_ref().unwrap();
            parts.iter().all(|part| line.contains(part))
        });
        assert!(found.is_some(), "{parts:?} was not said");
    }

    pub(crate) fn write(&mut self, line: &str) {
        let stdin = self.child.stdin.as_mut().unwrap();
        stdin.write_all(line.as_bytes()).unwrap();
    }

    pub(crate) fn signal(&self, signal: &str) {
        kill(signal, self.child.id());
    }

    /// The exit code, which has to come in time.
    pub(crate) fn code(&mut self) -> i32 {
        let mut code = None;
        wait_until("the command line has ended", || {
            code = self.child.try_wait().unwrap();
            code.is_some()
        });
        code.unwrap().code().expect("it was not killed")
    }
}

pub(crate) fn kill(signal: &str, process: u32) -> bool {
    let mut command = Command::new("kill");
    let command = command.args([format!("-{signal}"), process.to_string()]);
    command.stderr(Stdio::null()).status().unwrap().success()
}

/// Opens a pseudo-terminal: the end of the test, and the end of the program.
fn pseudo_terminal() -> (std::os::fd::OwnedFd, std::os::fd::OwnedFd) {
    use std::os::fd::{FromRawFd as _, OwnedFd};
    let (mut own, mut its) = (0, 0);
    let null = std::ptr::null_mut();
    // SAFETY: the two descriptors are new and nobody else's; the other pointers may be null.
    unsafe {
        let opened = libc::openpty(&mut own, &mut its, null, null.cast(), null.cast());
        assert_eq!(opened, 0);
        // A program that inherits an end keeps the terminal open: the program under test this end,
        // and one that another test starts the other end.
        libc::fcntl(own, libc::F_SETFD, libc::FD_CLOEXEC);
        libc::fcntl(its, libc::F_SETFD, libc::FD_CLOEXEC);
        (OwnedFd::from_raw_fd(own), OwnedFd::from_raw_fd(its))
    }
}

/// Runs it at a terminal; gives what is shown there.
pub(crate) fn shown_at_a_terminal(words: &[&str]) -> String {
    let (own, its) = pseudo_terminal();
    let mut command = program();
    command.args(words).env("COLUMNS", "60");
    command.stdin(Stdio::null());
    command.stdout(its.try_clone().unwrap()).stderr(its);
    let mut child = command.spawn().unwrap();
    // It has the last descriptors of the other end.
    drop(command);
    let mut shown = Vec::new();
    // That the other end is closed is an error at a terminal.
    _ = std::fs::File::from(own).read_to_end(&mut shown);
    child.wait().unwrap();
    String::from_utf8(shown).unwrap().replace("\r\n", "\n")
}

/// A run at a terminal of its own.
pub(crate) struct Terminal {
    child: Child,
    own: std::fs::File,
    shown: mpsc::Receiver<Vec<u8>>,
    /// What was shown and not yet waited for.
    rest: String,
}

impl Terminal {
    pub(crate) fn start(mut command: Command) -> Self {
        let (own, its) = pseudo_terminal();
        command.stdin(its.try_clone().unwrap());
        command.stdout(its.try_clone().unwrap()).stderr(its);
        // The terminal is the controlling one of a session of its own, so that Ctrl-C is a signal.
        // SAFETY: the calls are async-signal-safe.
        unsafe {
            command.pre_exec(|| {
                if libc::setsid() < 0 || libc::ioctl(0, libc::TIOCSCTTY as _, 0) < 0 {
                    return Err(io::Error::last_os_error());
                }
                Ok(())
            });
        }
        let child = command.spawn().unwrap();
        let own = std::fs::File::from(own);
        let mut reader = own.try_clone().unwrap();
        let (sender, shown) = mpsc::channel();
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            // That the other end is closed is an error at a terminal.
            while let Ok(count @ 1..) = reader.read(&mut bytes) {
                if sender.send(bytes[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self {
            child,
            own,
            shown,
            rest: String::new(),
        }
    }

    /// Waits until a text is shown, and skips what was shown up to its end.
    pub(crate) fn wait_for(&mut self, text: &str) {
        loop {
            if let Some(at) = self.rest.find(text) {
                self.rest.drain(..at + text.len());
                return;
            }
            let Ok(more) = self.shown.recv_timeout(LONG) else {
                panic!("{text:?} was not shown; this was: {:?}", self.rest);
            };
            self.rest.push_str(&String::from_utf8_lossy(&more));
        }
    }

    pub(crate) fn write(&mut self, text: &str) {
        self.own.write_all(text.as_bytes()).unwrap();
    }

    pub(crate) fn signal(&self, signal: &str) {
        kill(signal, self.child.id());
    }

    /// The exit code, which has to come in time.
    pub(crate) fn code(&mut self) -> i32 {
        let mut code = None;
        wait_until("the program has ended", || {
            code = self.child.try_wait().unwrap();
            code.is_some()
        });
        code.unwrap().code().expect("it was not killed")
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}
