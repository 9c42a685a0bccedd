//! A conversation with a child, and what is told when it ends by itself.

use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use mcplink::ErrorKind;
use mcplink::transport::{Child, Stderr, TransportParts};

use crate::common::{Witness, run_alone};

use super::{
    LONG, has_ended, is_reaped, open, receive, receive_end, send, send_within, try_open, wait_until,
};

fn shell(script: &str) -> Child {
    Child::new("sh").args(["-c", script])
}

// L-STDIO-C-02
#[test]
fn messages_reach_a_child_and_come_back() {
    for pipes in [false, true] {
        let mut halves = open(Child::new("cat").pipes(pipes));
        for text in ["one", "two"] {
            send(&mut halves, text).unwrap();
            assert_eq!(receive(&mut halves), text);
        }
    }
}

#[test]
fn a_large_message_goes_through_while_it_comes_back() {
    for pipes in [false, true] {
        let mut halves = open(Child::new("cat").pipes(pipes));
        let large = "x".repeat(10 << 20);
        let TransportParts {
            mut sender,
            mut receiver,
            control,
            ..
        } = halves;
        let text = large.clone();
        let sending = thread::spawn(move || {
            let mut queue = [mcplink::transport::SessionMessage::new(text.into())].into();
            sender
                .send(&mut queue, Instant::now() + LONG)
                .map(|()| sender)
        });
        let received = receiver.receive(Some(LONG)).unwrap();
        halves = TransportParts::new(receiver, sending.join().unwrap().unwrap(), control);
        let mcplink::transport::Received::Message(message) = received else {
            panic!("expected a message: {received:?}");
        };
        assert!(message.text == large.as_bytes());
        drop(halves);
    }
}

#[test]
fn pipes_serve_a_child_that_opens_dev_stdin() {
    let mut halves = open(shell("exec cat /dev/stdin").pipes(true));
    send(&mut halves, "x").unwrap();
    assert_eq!(receive(&mut halves), "x");
}

// M-AUTH-B-02, L-AUTH-B-02
#[test]
fn environment_arguments_and_directory_reach_the_child() {
    let child = shell("echo \"$1 $SET ${HOME-none} $PWD\"")
        .args(["sh", "an 'argument'"])
        .env("SET", "value")
        .env_remove("HOME")
        .current_dir("/");
    assert_eq!(receive(&mut open(child)), "an 'argument' value none /");
    let child = Child::new("/usr/bin/env").env_clear().env("ONLY", "one");
    let mut halves = open(child);
    assert_eq!(receive(&mut halves), "ONLY=one");
    assert!(receive_end(&mut halves).to_string().contains("exited"));
}

#[test]
fn the_program_is_looked_for_in_the_path_it_is_given() {
    let error = try_open(Child::new("cat").env("PATH", "/nowhere")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Spawn);
    assert!(error.to_string().contains("/nowhere"), "{error}");
}

#[test]
fn a_relative_directory_in_the_path_counts_from_ours() {
    let here = std::env::current_dir().unwrap();
    let root: PathBuf = here.components().skip(1).map(|_| "..").collect();
    let child = Child::new("cat")
        .env("PATH", root.join("bin"))
        .current_dir(env!("CARGO_TARGET_TMPDIR"));
    let mut halves = open(child);
    send(&mut halves, "x").unwrap();
    assert_eq!(receive(&mut halves), "x");
}

#[test]
fn what_cannot_be_started_says_why() {
    let cases = [
        (
            Child::new("no-such-program"),
            ErrorKind::Spawn,
            "'no-such-program'",
        ),
        (
            Child::new("/no/such/program"),
            ErrorKind::Spawn,
            "/no/such/program",
        ),
        (
            Child::new("/etc/passwd"),
            ErrorKind::Spawn,
            "execute permission",
        ),
        (
            Child::new("cat").current_dir("/no/such"),
            ErrorKind::Spawn,
            "/no/such",
        ),
        (
            Child::new("cat").arg("a\0b"),
            ErrorKind::Invalid,
            "argument 1",
        ),
        (Child::new("cat").env("A=B", "c"), ErrorKind::Invalid, "A=B"),
    ];
    for (child, kind, says) in cases {
        let error = try_open(child).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(says), "{error}");
    }
}

// Must not happen: the error of a lost child tells neither its last words nor its exit status.
// M-STDIO-C-10
#[test]
fn the_end_is_told_with_status_and_last_words() {
    let mut halves = open(shell("echo last; echo 'no api key' >&2; exit 7"));
    assert_eq!(receive(&mut halves), "last");
    let end = receive_end(&mut halves);
    assert_eq!(end.kind(), ErrorKind::Closed);
    assert!(end.to_string().contains("exited with status 7"), "{end}");
    assert_eq!(end.stderr_tail(), Some("no api key"));
}

#[test]
fn a_signal_that_killed_it_is_named() {
    let mut halves = open(shell("kill -KILL $$"));
    let end = receive_end(&mut halves).to_string();
    assert!(end.contains("was killed by signal 9 (SIGKILL)"), "{end}");
}

#[test]
fn an_output_closed_while_running_is_told_as_such() {
    let mut halves = open(shell("exec sleep 1000 >&-"));
    let end = receive_end(&mut halves).to_string();
    assert!(end.contains("while still running"), "{end}");
}

// Seen in other SDKs: a child that writes much to standard error blocks, since nobody reads it.
// M-STDIO-C-03, L-STDIO-C-04
#[test]
fn ten_megabytes_of_standard_error_block_nothing() {
    let script =
        "head -c 10000000 /dev/zero | tr '\\0' x >&2; echo; echo >&2; echo end >&2; exec cat";
    let child = shell(script);
    let tail = child.stderr_tail();
    let mut halves = open(child);
    send(&mut halves, "answer").unwrap();
    assert_eq!(receive(&mut halves), "answer");
    wait_until("the tail is whole", || tail.text().ends_with("xx\nend\n"));
    assert_eq!(tail.text().len(), 64 << 10);
}

#[test]
fn lines_of_standard_error_reach_the_callback() {
    let (sender, lines) = mpsc::channel();
    let stderr = Stderr::lines(move |line| sender.send(line.to_owned()).unwrap());
    let mut halves = open(shell("printf 'one\\ntwo' >&2").stderr(stderr));
    receive_end(&mut halves);
    drop(halves);
    assert_eq!(lines.try_iter().collect::<Vec<_>>(), ["one", "two"]);
}

#[test]
fn discarded_standard_error_leaves_no_words() {
    let mut halves = open(shell("echo words >&2").stderr(Stderr::Discard));
    assert_eq!(receive_end(&mut halves).stderr_tail(), None);
}

// Must not happen: a child that died by itself stays a zombie.
#[test]
fn a_child_that_ended_by_itself_is_reaped_without_close() {
    let mut halves = open(shell("echo $$"));
    let pid = receive(&mut halves);
    receive_end(&mut halves);
    assert!(is_reaped(&pid));
}

// Must not happen: a child that died by itself stays a zombie.
#[test]
fn a_child_that_has_ended_is_noticed_at_once_although_its_output_lives_on() {
    for pipes in [false, true] {
        let mut halves = open(shell("sleep 1000 & echo $$; echo last; exit 5").pipes(pipes));
        let pid = receive(&mut halves);
        assert_eq!(receive(&mut halves), "last");
        let end = receive_end(&mut halves).to_string();
        assert!(end.contains("exited with status 5"), "{end}");
        assert!(is_reaped(&pid));
    }
}

// Must not happen: a call hangs in writing, since the deadline covers only the wait for the answer.
#[test]
fn a_stopped_child_costs_no_more_than_the_deadline_and_gets_the_rest_later() {
    for pipes in [false, true] {
        let mut halves = open(shell("echo $$; exec cat").pipes(pipes));
        let pid: i32 = receive(&mut halves).parse().unwrap();
        // SAFETY: no pointers; the child is ours and not reaped.
        unsafe { libc::kill(pid, libc::SIGSTOP) };
        let large = "x".repeat(2 << 20);
        let time = Duration::from_millis(200);
        let witness = Witness::start();
        let error = send_within(&mut halves, &large, time).unwrap_err();
        witness.expect_within(time);
        assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
        // SAFETY: as above.
        unsafe { libc::kill(pid, libc::SIGCONT) };
        let TransportParts {
            mut sender,
            mut receiver,
            control,
            ..
        } = halves;
        let rest = thread::spawn(move || {
            sender.send(&mut [].into(), Instant::now() + LONG).unwrap();
            sender
        });
        let received = receiver.receive(Some(LONG)).unwrap();
        let mcplink::transport::Received::Message(message) = received else {
            panic!("expected a message: {received:?}");
        };
        assert!(message.text == large.as_bytes());
        drop((rest.join().unwrap(), control));
    }
}

// Seen in other SDKs: a server spins at full CPU on a closed pipe.
#[test]
fn an_idle_connection_uses_no_processor_time() {
    for pipes in [false, true] {
        let TransportParts {
            mut receiver,
            control,
            sender,
            ..
        } = open(Child::new("cat").pipes(pipes));
        let reading = thread::spawn(move || {
            drop(receiver.receive(Some(Duration::from_secs(2))));
            thread_time()
        });
        let used = reading.join().unwrap();
        assert!(used < Duration::from_millis(20), "{used:?}");
        drop((sender, control));
    }
}

/// The processor time that the current thread has used.
fn thread_time() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: there is room for the answer.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

// Must not happen: a later child inherits the pipes of an earlier one and keeps them open.
#[test]
fn a_second_child_gets_three_descriptors_only() {
    let mut first = open(Child::new("cat"));
    let file = std::fs::File::open("/dev/null").unwrap();
    // A descriptor of the host that is not close-on-exec.
    // SAFETY: the descriptor is open.
    let careless = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_DUPFD, 3) };
    let mut second = open(shell("echo $$; exec cat"));
    let pid = receive(&mut second);
    send(&mut second, "the shell has become cat").unwrap();
    receive(&mut second);
    let fds = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
    let mut fds: Vec<_> = fds.map(|entry| entry.unwrap().file_name()).collect();
    fds.sort();
    assert_eq!(fds, ["0", "1", "2"]);
    // SAFETY: made above, known to nobody else.
    unsafe { libc::close(careless) };
    send(&mut first, "x").unwrap();
    assert_eq!(receive(&mut first), "x");
}

// M-AUTH-B-02, L-AUTH-B-02: what is secret in a host's environment is none of a server's business.
#[test]
fn a_child_inherits_few_variables() {
    run_alone("transport::child::host_with_secrets");
}

#[test]
#[ignore = "changes the process: run by the test above"]
fn host_with_secrets() {
    let given = [
        ("HOME", "/"),
        ("LANG", "C"),
        ("LC_TIME", "C"),
        ("LOGNAME", "l"),
        ("SHELL", "() { echo a function; }"),
        ("TERM", "dumb"),
        ("TMPDIR", "/tmp"),
        ("USER", "u"),
        ("API_KEY", "secret"),
        ("PATHS", "x"),
    ];
    // The machine may set other variables that children inherit, such as LC_ALL.
    for (name, _) in std::env::vars_os().filter(|(name, _)| name != "PATH") {
        // SAFETY: no other thread looks at the environment now.
        unsafe { std::env::remove_var(name) };
    }
    for (name, value) in given {
        // SAFETY: no other thread looks at the environment now.
        unsafe { std::env::set_var(name, value) };
    }
    let variables = |child: Child| {
        let mut halves = open(child);
        let mut lines = Vec::new();
        while let Ok(mcplink::transport::Received::Message(line)) =
            halves.receiver.receive(Some(LONG))
        {
            lines.push(String::from_utf8(line.text).unwrap());
        }
        lines.sort();
        lines
    };
    let env = || Child::new("/usr/bin/env");
    let path = format!("PATH={}", std::env::var("PATH").unwrap());
    let usual: Vec<&str> = [
        "HOME=/",
        "LANG=C",
        "LC_TIME=C",
        "LOGNAME=l",
        &path,
        "TERM=dumb",
        "TMPDIR=/tmp",
        "USER=u",
    ]
    .to_vec();
    assert_eq!(variables(env()), usual);
    let mut more = usual.clone();
    more.extend(["API_KEY=secret", "OTHER=x"]);
    more.sort_unstable();
    let child = env()
        .pass_env("API_KEY")
        .pass_env("NOT_SET")
        .env("OTHER", "x");
    assert_eq!(variables(child), more);
    let all = variables(env().inherit_env().env_remove("PATHS"));
    assert!(all.contains(&"API_KEY=secret".to_owned()), "{all:?}");
    assert!(all.iter().any(|line| line.starts_with("SHELL=()")));
    assert!(!all.iter().any(|line| line.starts_with("PATHS=")));
    assert_eq!(
        variables(env().inherit_env().env_clear().pass_env("TERM")),
        ["TERM=dumb"]
    );
}

#[cfg(target_os = "linux")]
mod bound {
    use std::io::{BufRead, BufReader, Write};
    use std::process::{Command, Stdio};

    use super::*;

    /// Neither the end of its input nor SIGTERM makes it leave.
    const STAYS: &str = "trap '' TERM HUP; echo $$; while :; do sleep 0.05; done";

    #[test]
    fn a_child_that_dies_with_its_parent_is_like_any_other() {
        let child = shell("echo \"$1 $SET $PWD\"; read line; echo \"$line\"; echo no >&2; exit 7")
            .args(["sh", "an 'argument'"])
            .env("SET", "value")
            .current_dir("/")
            .die_with_parent(true);
        let mut halves = open(child);
        assert_eq!(receive(&mut halves), "an 'argument' value /");
        send(&mut halves, "x").unwrap();
        assert_eq!(receive(&mut halves), "x");
        let end = receive_end(&mut halves);
        assert!(end.to_string().contains("exited with status 7"), "{end}");
        assert_eq!(end.stderr_tail(), Some("no"));
        for stderr in [Stderr::Discard, Stderr::Inherit] {
            let child = Child::new("cat").stderr(stderr).die_with_parent(true);
            let mut halves = open(child);
            send(&mut halves, "x").unwrap();
            assert_eq!(receive(&mut halves), "x");
        }
        let error = try_open(Child::new("/etc/passwd").die_with_parent(true)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Spawn, "{error}");
        assert!(error.to_string().contains("execute permission"), "{error}");
    }

    #[test]
    fn it_gets_three_descriptors_and_no_blocked_or_ignored_signal() {
        let file = std::fs::File::open("/dev/null").unwrap();
        // A descriptor of the host that is not close-on-exec.
        // SAFETY: the descriptor is open.
        let careless = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_DUPFD, 3) };
        let mut halves = open(shell("echo $$; exec cat").die_with_parent(true));
        let pid = receive(&mut halves);
        send(&mut halves, "the shell has become cat").unwrap();
        receive(&mut halves);
        let fds = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
        let mut fds: Vec<_> = fds.map(|entry| entry.unwrap().file_name()).collect();
        fds.sort();
        assert_eq!(fds, ["0", "1", "2"]);
        // SAFETY: made above, known to nobody else.
        unsafe { libc::close(careless) };
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        for name in ["SigBlk", "SigIgn", "SigCgt"] {
            let line = status.lines().find(|line| line.starts_with(name)).unwrap();
            let set = u64::from_str_radix(line.split_whitespace().last().unwrap(), 16).unwrap();
            // The C library's own two can't be set.
            assert_eq!(set & !0x1_8000_0000, 0, "{line}");
        }
        // SAFETY: no pointers.
        let group = unsafe { libc::getpgid(pid.parse().unwrap()) };
        assert_eq!(group.to_string(), pid);
    }

    #[test]
    fn it_outlives_the_thread_that_opened_it() {
        let opening = thread::spawn(|| open(Child::new("cat").die_with_parent(true)));
        let mut halves = opening.join().unwrap();
        for _ in 0..3 {
            send(&mut halves, "x").unwrap();
            assert_eq!(receive(&mut halves), "x");
        }
    }

    #[test]
    fn a_host_that_is_killed_leaves_no_child() {
        let mut host = crate::common::helper("transport::child::bound::host_with_a_child");
        let mut host: std::process::Child =
            Command::stdout(&mut host, Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(host.stdout.take().unwrap());
        let pid = output
            .lines()
            .map_while(Result::ok)
            .find_map(|line| line.rsplit("child ").next()?.parse::<u32>().ok())
            .unwrap()
            .to_string();
        assert!(!has_ended(&pid));
        host.kill().unwrap();
        host.wait().unwrap();
        wait_until("the child has gone, too", || has_ended(&pid));
    }

    #[test]
    #[ignore = "is killed: run by the test above"]
    fn host_with_a_child() {
        let opening = thread::spawn(|| open(shell(STAYS).die_with_parent(true)));
        let mut halves = opening.join().unwrap();
        let line = format!("child {}\n", receive(&mut halves));
        std::io::stdout().write_all(line.as_bytes()).unwrap();
        thread::sleep(LONG);
    }
}
