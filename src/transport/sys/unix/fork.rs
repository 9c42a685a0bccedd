//! Starts a child that is killed when the thread that started it ends.
//!
//! `posix_spawn` has no option for this. The child itself has to request it (`PR_SET_PDEATHSIG`),
//! between fork and exec. All code between fork and exec is async-signal-safe. It allocates no
//! memory and takes no lock, because another thread may have held a lock at the fork (deadlock).

use std::ffi::{CStr, CString, c_char};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};

use super::command::{c_string, inheritable, pointers, refusal};
use super::fd;
use super::process::Process;
use super::signal::{self, Set};
use crate::error::{Error, ErrorKind, Result};
use crate::transport::sys::child_command::{Command, Stderr};

/// The data that the child needs before it executes the program.
struct Plan {
    parent: libc::pid_t,
    path: *const c_char,
    argv: *const *mut c_char,
    envp: *const *mut c_char,
    stdin: libc::c_int,
    stdout: libc::c_int,
    /// The descriptor of the child's standard error. With `None`, the child inherits the standard
    /// error of this process.
    stderr: Option<libc::c_int>,
    directory: Option<*const c_char>,
    inheritable: *const [libc::c_int],
    no_signals: Set,
    /// The pipe to which the child writes the error number if the start fails.
    failure: libc::c_int,
}

/// Starts the program at `path`, bound to the current thread.
pub(super) fn spawn(
    command: &Command<'_>,
    path: &CStr,
    words: &[CString],
    env: &[CString],
) -> Result<Process> {
    let failed = |error| refusal(command.program, error);
    let null;
    let stderr = match &command.stderr {
        Stderr::To(fd) => Some(fd.as_raw_fd()),
        Stderr::Inherit => None,
        Stderr::Discard => {
            let file = File::options().write(true).open("/dev/null");
            null = file
                .and_then(|file| fd::private(file.into()))
                .map_err(failed)?;
            Some(null.as_raw_fd())
        }
    };
    let directory = command
        .directory
        .map(|directory| c_string("working directory", directory.as_os_str()))
        .transpose()?;
    let (failures, failure) = fd::pipe().map_err(failed)?;
    let (argv, envp, inheritable) = (pointers(words), pointers(env), inheritable());
    let plan = Plan {
        // SAFETY: the call only returns a number.
        parent: unsafe { libc::getpid() },
        path: path.as_ptr(),
        argv: argv.as_ptr(),
        envp: envp.as_ptr(),
        stdin: command.stdin.as_raw_fd(),
        stdout: command.stdout.as_raw_fd(),
        stderr,
        directory: directory.as_ref().map(|directory| directory.as_ptr()),
        inheritable: inheritable.as_slice(),
        no_signals: Set::empty(),
        failure: failure.as_raw_fd(),
    };
    // A signal handler of the host must not run in the child.
    let unblocked = signal::block_all();
    // SAFETY: the child runs only async-signal-safe code until it executes the program or ends.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        // SAFETY: this is the child; the plan's pointers are valid in its copy of the memory.
        unsafe { become_program(&plan) };
    }
    let pid = fd::check(pid).map_err(failed)?;
    drop((unblocked, failure));
    match failure_of(failures) {
        None => Ok(Process::new(pid)),
        Some(error) => {
            // SAFETY: no status is requested. The child has ended or is about to end, and no other
            // code reaps it.
            while unsafe { libc::waitpid(pid, std::ptr::null_mut(), 0) } == -1
                && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
            {}
            Err(match error.raw_os_error() {
                Some(0) => Error::new(ErrorKind::Spawn, "this process is ending"),
                _ => failed(error),
            })
        }
    }
}

/// Returns the error that the child reported. Returns `None` if the child has executed the program.
fn failure_of(failures: OwnedFd) -> Option<io::Error> {
    let mut number = [0; size_of::<libc::c_int>()];
    let read = File::from(failures).read_exact(&mut number);
    read.is_ok()
        .then(|| io::Error::from_raw_os_error(libc::c_int::from_ne_bytes(number)))
}

/// Turns this forked child into the program. Never returns.
///
/// # Safety
///
/// Call this only in a child that was just forked, with a plan whose pointers are valid in the
/// child.
unsafe fn become_program(plan: &Plan) -> ! {
    // SAFETY: every function here is async-signal-safe. The caller guarantees that the plan is
    // valid.
    unsafe {
        let done = follow(plan);
        let number: libc::c_int = match done {
            Some(()) => 0,
            None => errno(),
        };
        libc::write(
            plan.failure,
            (&raw const number).cast(),
            size_of::<libc::c_int>(),
        );
        libc::_exit(127)
    }
}

/// Prepares the child and executes the program. Returns only if the program was not executed:
/// `Some` if the parent has gone, or `None` with the reason in `errno`.
///
/// # Safety
///
/// Call this only in a child that was just forked, with a plan whose pointers are valid in the
/// child.
unsafe fn follow(plan: &Plan) -> Option<()> {
    let ok = |result: libc::c_int| (result != -1).then_some(());
    // SAFETY: every function here is async-signal-safe. The caller guarantees that the plan is
    // valid.
    unsafe {
        ok(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL))?;
        // If the parent ended between the fork and this call, no signal arrives any more. The
        // number 0 is a parent outside of a new PID namespace.
        let parent = libc::getppid();
        if parent != plan.parent && parent != 0 {
            return Some(());
        }
        ok(libc::setpgid(0, 0))?;
        // Signals whose action can't be set are refused without effect.
        for number in 1..=64 {
            libc::signal(number, libc::SIG_DFL);
        }
        ok(libc::dup2(plan.stdin, 0))?;
        ok(libc::dup2(plan.stdout, 1))?;
        if let Some(stderr) = plan.stderr {
            ok(libc::dup2(stderr, 2))?;
        }
        if let Some(directory) = plan.directory {
            ok(libc::chdir(directory))?;
        }
        // Before Linux 5.11, only those descriptors become close-on-exec that were open before the
        // fork.
        let flags = libc::CLOSE_RANGE_CLOEXEC;
        if libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, flags) == -1 {
            for number in &*plan.inheritable {
                libc::fcntl(*number, libc::F_SETFD, libc::FD_CLOEXEC);
            }
        }
        ok(libc::sigprocmask(
            libc::SIG_SETMASK,
            plan.no_signals.as_ptr(),
            std::ptr::null_mut(),
        ))?;
        libc::execve(plan.path, plan.argv.cast(), plan.envp.cast());
        None
    }
}

/// Returns the error number of the last failed system call.
fn errno() -> libc::c_int {
    // SAFETY: `errno` is this thread's own, and readable.
    unsafe { *libc::__errno_location() }
}
