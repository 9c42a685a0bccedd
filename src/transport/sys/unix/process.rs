//! A child process and the process group that it leads: detecting the end, signalling, reaping.
//!
//! **Invariant:** no signal is sent to a number that may belong to another process. The leader's
//! number is valid until the leader is reaped, and signals and reaping are under one lock. After
//! reaping, the rest of the group is signalled through the pidfd (Linux 6.9), which always refers
//! to this group. On other systems the rest of the group is killed before the leader is reaped.
//!
//! Nothing in this module relies on SIGCHLD, which belongs to the host. The host may ignore SIGCHLD
//! (the system then reaps by itself) or reap every child in a handler. In both cases `waitpid`
//! reports that no such child exists, which means "ended, status unknown".

use std::fmt;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr;
use std::thread;
use std::time::{Duration, Instant};

use super::origin::Origin;
use super::{fd, signal};
use crate::sync::Mutex;

/// A child process that leads its own process group.
#[derive(Debug)]
pub(crate) struct Process {
    pid: libc::pid_t,
    pidfd: Option<OwnedFd>,
    /// Whether the group can be signalled through the pidfd, even after the leader has ended.
    group_by_pidfd: bool,
    /// The process that started this child. A fork of that process must neither signal nor reap the
    /// child.
    origin: Origin,
    /// The way in which the process ended, if the process has been reaped. After that, the
    /// process's number may belong to another process. A thread that reaps the process or sends a
    /// signal holds the lock, so no signal goes to a reused number.
    exit: Mutex<Option<Exit>>,
}

/// The way in which a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Status(i32),
    Signal(i32),
    /// The status is unknown, because other code reaped the process.
    Unknown,
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Status(status) => write!(f, "exited with status {status}"),
            Self::Signal(number) => match signal::name(number) {
                Some(name) => write!(f, "was killed by signal {number} ({name})"),
                None => write!(f, "was killed by signal {number}"),
            },
            Self::Unknown => f.write_str(
                "ended (status unknown: this process ignores SIGCHLD or reaps children elsewhere)",
            ),
        }
    }
}

/// A signal to a process group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Signal {
    /// SIGTERM: requests an orderly end. Stopped processes are continued, so that they can end.
    Terminate,
    Kill,
}

impl Process {
    /// Takes ownership of a child that was just started as the leader of its own group.
    pub(super) fn new(pid: libc::pid_t) -> Self {
        let pidfd = pidfd::open(pid).ok();
        let group_by_pidfd = pidfd.as_ref().is_some_and(pidfd::reaches_group);
        Self {
            pid,
            pidfd,
            group_by_pidfd,
            origin: Origin::here(),
            exit: Mutex::new(None),
        }
    }

    pub(crate) fn id(&self) -> libc::pid_t {
        self.pid
    }

    /// Whether the current process started this child. Returns false in a fork of the process that
    /// started the child.
    pub(crate) fn is_ours(&self) -> bool {
        self.origin.is_here()
    }

    /// Returns a descriptor that is readable once the process has ended. Returns `None` where the
    /// system has no such descriptor.
    pub(crate) fn end_signal(&self) -> Option<BorrowedFd<'_>> {
        self.pidfd.as_ref().map(OwnedFd::as_fd)
    }

    /// Waits until the process has ended, or until `deadline`. Does not reap the process. Returns
    /// whether the process has ended.
    pub(crate) fn wait(&self, deadline: Instant) -> bool {
        if self.exit.lock().is_some() {
            return true;
        }
        if let Some(pidfd) = &self.pidfd {
            let mut end = [fd::entry(pidfd.as_raw_fd(), libc::POLLIN)];
            if let Ok(ended) = fd::poll(&mut end, Some(deadline)) {
                return ended;
            }
        }
        let mut pause = Duration::from_micros(200);
        while !self.has_ended() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            thread::sleep(pause.min(left));
            pause = (pause * 2).min(Duration::from_millis(10));
        }
        true
    }

    fn has_ended(&self) -> bool {
        match self.peek() {
            Ok(ended) => ended,
            Err(error) => error.raw_os_error() == Some(libc::ECHILD),
        }
    }

    /// Whether the process has ended and can be reaped.
    fn peek(&self) -> io::Result<bool> {
        let (pid, flags) = (
            self.pid as libc::id_t,
            libc::WEXITED | libc::WNOHANG | libc::WNOWAIT,
        );
        let mut info = std::mem::MaybeUninit::<libc::siginfo_t>::zeroed();
        // SAFETY: there is room for the result.
        fd::check(unsafe { libc::waitid(libc::P_PID, pid, info.as_mut_ptr(), flags) })?;
        // SAFETY: all zeroes is a valid siginfo_t. waitid fills in the child's number, or leaves
        // the zero when the child has not ended.
        Ok(unsafe { info.assume_init().si_pid() } != 0)
    }

    /// Reaps the process if it has ended. If the group can't be signalled through a pidfd, the
    /// process stays a zombie until [`finish`](Self::finish).
    pub(crate) fn reap_early(&self) {
        if self.group_by_pidfd {
            self.reap();
        }
    }

    /// If the leader has ended, kills the other processes of the group, reaps the leader, and
    /// returns how the leader ended. Returns `None` while the leader runs.
    pub(crate) fn finish(&self) -> Option<Exit> {
        if !self.group_by_pidfd && self.wait(Instant::now()) {
            self.signal_group(Signal::Kill);
        }
        self.reap()
    }

    /// Ends the other processes of the group after the leader has ended. Sends SIGTERM, and SIGKILL
    /// after `grace`.
    pub(crate) fn end_rest_of_group(&self, grace: Duration) {
        if !self.group_by_pidfd {
            self.finish();
            return;
        }
        self.reap();
        if self.group_is_gone() {
            return;
        }
        self.signal_group(Signal::Terminate);
        if !self.wait_for_group(Instant::now() + grace) {
            self.signal_group(Signal::Kill);
            self.wait_for_group(Instant::now() + Duration::from_millis(100));
        }
    }

    fn wait_for_group(&self, deadline: Instant) -> bool {
        let mut pause = Duration::from_micros(200);
        loop {
            if self.group_is_gone() {
                return true;
            }
            if Instant::now() >= deadline {
                return false;
            }
            thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(10));
        }
    }

    fn group_is_gone(&self) -> bool {
        // A member whose parent died becomes a child of the container's first process, which may be
        // this one. While such a member is not reaped, the number still belongs to this group.
        let Some(pidfd) = &self.pidfd else {
            return true;
        };
        if pidfd::signal_group(pidfd, 0).is_err() {
            return true;
        }
        // SAFETY: no status is requested.
        unsafe { libc::waitpid(-self.pid, ptr::null_mut(), libc::WNOHANG) };
        false
    }

    fn reap(&self) -> Option<Exit> {
        let mut exit = self.exit.lock();
        if exit.is_none() {
            *exit = self.wait_no_hang();
        }
        *exit
    }

    fn wait_no_hang(&self) -> Option<Exit> {
        let mut status = 0;
        loop {
            // SAFETY: there is room for the status.
            let result = unsafe { libc::waitpid(self.pid, &raw mut status, libc::WNOHANG) };
            return match fd::check(result) {
                Ok(0) => None,
                Ok(_) if libc::WIFSIGNALED(status) => Some(Exit::Signal(libc::WTERMSIG(status))),
                Ok(_) => Some(Exit::Status(libc::WEXITSTATUS(status))),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                // Other code has reaped the process. If the process still ran, then `waitpid` would
                // not fail.
                Err(_) => Some(Exit::Unknown),
            };
        }
    }

    /// Requests an orderly end of every process of the group (SIGTERM). Returns whether the system
    /// has such a request.
    pub(crate) fn request_end(&self) -> bool {
        self.signal_group(Signal::Terminate);
        true
    }

    /// Kills every process of the group (SIGKILL).
    pub(crate) fn kill(&self) {
        self.signal_group(Signal::Kill);
    }

    /// Sends a signal to every process of the group.
    fn signal_group(&self, signal: Signal) {
        let numbers: &[i32] = match signal {
            Signal::Terminate => &[libc::SIGTERM, libc::SIGCONT],
            Signal::Kill => &[libc::SIGKILL],
        };
        let exit = self.exit.lock();
        for &number in numbers {
            match &self.pidfd {
                Some(pidfd) if self.group_by_pidfd => drop(pidfd::signal_group(pidfd, number)),
                // `peek` fails if other code has reaped the leader. Then the leader's number may be
                // reused.
                _ if exit.is_none() && self.peek().is_ok() => {
                    // SAFETY: no pointers. The number is ours, since the leader is not reaped.
                    unsafe { libc::kill(-self.pid, number) };
                }
                _ => {}
            }
        }
    }
}

#[cfg(target_os = "linux")]
mod pidfd {
    use std::io;
    use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
    use std::ptr;

    /// The flag `PIDFD_SIGNAL_PROCESS_GROUP` (Linux 6.9): the signal goes to every member of the
    /// group whose leader the pidfd refers to. The leader may have ended.
    const PROCESS_GROUP: libc::c_uint = 4;

    pub(super) fn open(pid: libc::pid_t) -> io::Result<OwnedFd> {
        // SAFETY: no pointers. The kernel makes it close-on-exec.
        let raw = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
        let raw = i32::try_from(raw).unwrap_or(-1);
        super::fd::check(raw)?;
        // SAFETY: the kernel just made it, and no other code knows it.
        super::fd::private(unsafe { OwnedFd::from_raw_fd(raw) })
    }

    pub(super) fn reaches_group(pidfd: &OwnedFd) -> bool {
        match signal_group(pidfd, 0) {
            Ok(()) => true,
            Err(error) => matches!(error.raw_os_error(), Some(libc::ESRCH)),
        }
    }

    pub(super) fn signal_group(pidfd: &OwnedFd, signal: i32) -> io::Result<()> {
        // SAFETY: the descriptor is open; without a siginfo the kernel makes one.
        let result = unsafe {
            libc::syscall(
                libc::SYS_pidfd_send_signal,
                pidfd.as_raw_fd(),
                signal,
                ptr::null::<libc::siginfo_t>(),
                PROCESS_GROUP,
            )
        };
        if result == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod pidfd {
    use std::io;
    use std::os::fd::OwnedFd;

    pub(super) fn open(_: libc::pid_t) -> io::Result<OwnedFd> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn reaches_group(_: &OwnedFd) -> bool {
        false
    }

    pub(super) fn signal_group(_: &OwnedFd, _: i32) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::io::{BufRead, BufReader};

    use super::super::spawn::spawn;
    use super::*;
    use crate::transport::sys::child_command::{Command, Stderr};

    /// Starts a shell that runs `script`. Returns the process, and the number that the script
    /// printed first.
    fn start(script: &str) -> (Process, libc::pid_t) {
        let (stdin, _closed) = fd::pipe().expect("there are descriptors");
        let (output, stdout) = fd::pipe().expect("there are descriptors");
        let command = Command {
            program: "sh".as_ref(),
            args: &["-c", script].map(OsString::from),
            env: &std::env::vars_os().collect::<Vec<_>>(),
            directory: None,
            stdin,
            stdout,
            stderr: Stderr::Inherit,
            dies_with_parent: false,
        };
        let process = spawn(command).expect("there is a shell");
        let mut line = String::new();
        let mut output = BufReader::new(std::fs::File::from(output));
        output.read_line(&mut line).expect("a pipe can be read");
        (process, line.trim().parse().expect("it prints a number"))
    }

    fn has_gone(pid: libc::pid_t) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
        stat.map_or(true, |stat| stat.contains(") Z "))
    }

    /// Returns functions that each disable features of a process handle, as on older kernels and
    /// other systems.
    fn variants() -> [fn(&mut Process); 3] {
        [
            |_as_it_is| {},
            |process| process.group_by_pidfd = false,
            |process| (process.pidfd, process.group_by_pidfd) = (None, false),
        ]
    }

    #[test]
    fn what_a_leader_leaves_behind_is_ended_before_its_number_is_free() {
        for change in variants() {
            let (mut process, rest) = start("sleep 1000 & echo $!; exit 3");
            change(&mut process);
            let soon = Instant::now() + Duration::from_secs(20);
            assert!(process.wait(soon));
            process.reap_early();
            assert!(!has_gone(rest));
            process.end_rest_of_group(Duration::from_secs(1));
            assert_eq!(process.finish(), Some(Exit::Status(3)));
            while !has_gone(rest) {
                assert!(Instant::now() < soon);
                thread::sleep(Duration::from_millis(1));
            }
        }
    }

    #[test]
    fn a_running_child_is_not_reaped_and_a_signal_reaches_it() {
        for change in variants() {
            let (mut process, _) = start("echo $$; exec sleep 1000");
            change(&mut process);
            assert!(!process.wait(Instant::now() + Duration::from_millis(5)));
            assert_eq!(process.finish(), None);
            process.signal_group(Signal::Terminate);
            assert!(process.wait(Instant::now() + Duration::from_secs(20)));
            assert_eq!(process.finish(), Some(Exit::Signal(libc::SIGTERM)));
            // The number may belong to another process, so no signal is sent.
            process.signal_group(Signal::Kill);
        }
    }
}
