//! Being a good guest of a host with unusual signal settings. They are process-wide, so each test runs in a process of its own.

use std::thread;

use mcplink::ErrorKind;
use mcplink::transport::{Child, Stream};

use super::{is_reaped, open, receive, receive_end, send, wait_until};
use crate::common::run_alone;

fn set_disposition(signal: i32, disposition: libc::sighandler_t) {
    // SAFETY: default and ignore run no code; this process is the test's own.
    unsafe { libc::signal(signal, disposition) };
}

#[test]
fn writing_to_the_dead_does_not_kill_a_host_with_default_sigpipe() {
    run_alone("transport::guest::host_with_default_sigpipe");
}

#[test]
#[ignore = "changes the process: run by the test above"]
fn host_with_default_sigpipe() {
    set_disposition(libc::SIGPIPE, libc::SIG_DFL);
    for pipes in [false, true] {
        let mut halves = open(Child::new("sh").args(["-c", "echo $$"]).pipes(pipes));
        let pid = receive(&mut halves);
        receive_end(&mut halves);
        wait_until("it is gone", || is_reaped(&pid));
        let error = send(&mut halves, "x").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Closed);
        assert!(
            error.to_string().contains("exited with status 0"),
            "{error}"
        );
    }
    let (reader, _writer) = std::io::pipe().unwrap();
    let (theirs, writer) = std::io::pipe().unwrap();
    let mut halves = open(Stream::fds(reader.into(), writer.into()));
    drop(theirs);
    let error = send(&mut halves, "x").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Closed, "{error}");
    // The mask is as it was, and no signal is left over.
    // SAFETY: both sets are initialised before they are read.
    unsafe {
        let (mut mask, mut pending) = (std::mem::zeroed(), std::mem::zeroed());
        libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), &raw mut mask);
        libc::sigpending(&raw mut pending);
        assert_eq!(libc::sigismember(&raw const mask, libc::SIGPIPE), 0);
        assert_eq!(libc::sigismember(&raw const pending, libc::SIGPIPE), 0);
    }
}

#[test]
fn a_host_that_ignores_sigchld_learns_of_the_end() {
    run_alone("transport::guest::host_that_ignores_sigchld");
}

#[test]
#[ignore = "changes the process: run by the test above"]
fn host_that_ignores_sigchld() {
    set_disposition(libc::SIGCHLD, libc::SIG_IGN);
    let mut halves = open(Child::new("sh").args(["-c", "echo x; exit 1"]));
    receive(&mut halves);
    let end = receive_end(&mut halves);
    assert_eq!(end.kind(), ErrorKind::Closed);
    assert!(end.to_string().contains("status unknown"), "{end}");
    let mut halves = open(Child::new("sh").args(["-c", "echo $$; exec cat"]));
    let pid = receive(&mut halves);
    halves.control.close();
    assert!(is_reaped(&pid));
}

#[cfg(target_env = "gnu")]
#[test]
fn an_odd_variable_that_was_handed_down_keeps_no_child_from_starting() {
    run_alone("transport::guest::host_with_an_odd_variable");
}

#[cfg(target_env = "gnu")]
#[test]
#[ignore = "changes the process: run by the test above"]
fn host_with_an_odd_variable() {
    // SAFETY: the text lives for ever, and no other thread looks at the environment now.
    assert_eq!(unsafe { libc::putenv(c"=X:=y".as_ptr().cast_mut()) }, 0);
    let mut halves = open(Child::new("/usr/bin/env").inherit_env().env("LAST", "z"));
    while receive(&mut halves) != "=X:=y" {}
}

#[test]
fn a_child_of_a_thread_that_blocks_all_signals_can_be_terminated() {
    let spawning = thread::spawn(|| {
        // SAFETY: the set is initialised; only this thread's mask changes.
        unsafe {
            let mut all = std::mem::zeroed();
            libc::sigfillset(&raw mut all);
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, std::ptr::null_mut());
        }
        open(Child::new("sh").args(["-c", "echo $$; exec sleep 1000"]))
    });
    let mut halves = spawning.join().unwrap();
    let pid = receive(&mut halves).parse().unwrap();
    // SAFETY: no pointers; the child is ours and not reaped.
    unsafe { libc::kill(pid, libc::SIGTERM) };
    let end = receive_end(&mut halves).to_string();
    assert!(end.contains("SIGTERM"), "{end}");
}

#[test]
fn threads_of_the_library_take_no_signal_of_the_host() {
    let (sender, mask) = std::sync::mpsc::channel();
    let stderr = mcplink::transport::Stderr::lines(move |_| {
        // SAFETY: the set is initialised before it is read.
        let is_blocked = unsafe {
            let mut mask = std::mem::zeroed();
            libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), &raw mut mask);
            [libc::SIGPIPE, libc::SIGTERM, libc::SIGUSR1, libc::SIGCHLD]
                .map(|signal| libc::sigismember(&raw const mask, signal) == 1)
        };
        let name = thread::current().name().map(str::to_owned);
        sender.send((is_blocked, name)).unwrap();
    });
    let mut halves = open(Child::new("sh").args(["-c", "echo x >&2"]).stderr(stderr));
    receive_end(&mut halves);
    drop(halves);
    let (is_blocked, name) = mask.recv().unwrap();
    assert_eq!(is_blocked, [true; 4]);
    assert_eq!(name.as_deref(), Some("mcplink-stderr"));
}
