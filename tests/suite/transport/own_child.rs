//! Children that are this test binary, started again: they are the same on every system.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a child says what it is asked to"
)]

use std::io::{BufRead as _, Write as _};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use mcplink::ErrorKind;
use mcplink::transport::{Child, Control, Stderr, TransportParts};

use super::{LONG, open, receive, receive_end, send, send_within, wait_until};
use crate::common::{Witness, helper, rounds, system};

/// A child that does these steps, one a line, and then leaves with the status 0.
///
/// | step | effect |
/// |---|---|
/// | `say TEXT`, `err TEXT` | a line on standard output, standard error |
/// | `flood COUNT` | so many bytes on standard error, and a line end |
/// | `pid`, `variables` | its process id; names and values of its variables, a line each |
/// | `place` | its working directory |
/// | `cat` | sends lines back until the end of its input |
/// | `stay` | neither leaves nor reads |
/// | `helper` | starts a child that stays, and says its process id |
/// | `exit STATUS` | leaves |
fn child(steps: &[&str]) -> Child {
    let command = helper("transport::own_child::does_steps");
    Child::new(command.get_program())
        .args(command.get_args())
        .env("MCPLINK_STEPS", steps.join("\n"))
        .grace(Duration::from_millis(300))
}

/// Opens a child, and takes the line of the test harness.
fn opened(child: Child) -> TransportParts {
    let mut halves = open(child);
    assert_eq!(receive(&mut halves), "running 1 test");
    halves
}

#[test]
#[ignore = "a child of the tests below"]
fn does_steps() {
    let Ok(steps) = std::env::var("MCPLINK_STEPS") else {
        return;
    };
    for step in steps.lines() {
        let (what, with) = step.split_once(' ').unwrap_or((step, ""));
        match what {
            "say" => println!("{with}"),
            "err" => eprintln!("{with}"),
            "flood" => eprintln!("{}", "x".repeat(with.parse().unwrap())),
            "pid" => println!("{}", std::process::id()),
            "variables" => std::env::vars().for_each(|(name, value)| println!("{name}={value}")),
            "place" => println!("{}", std::env::current_dir().unwrap().display()),
            "cat" => {
                for line in std::io::stdin().lock().lines() {
                    println!("{}", line.unwrap());
                }
            }
            "stay" => thread::sleep(LONG * 10),
            "helper" => {
                let mut command = helper("transport::own_child::does_steps");
                command.env("MCPLINK_STEPS", "stay");
                command.stdout(std::process::Stdio::null());
                println!("{}", command.spawn().unwrap().id());
            }
            "exit" => std::process::exit(with.parse().unwrap()),
            _ => panic!("no such step: {step}"),
        }
    }
    std::io::stdout().flush().unwrap();
    std::process::exit(0);
}

#[test]
fn lines_go_to_a_child_and_come_back() {
    let mut halves = opened(child(&["cat"]));
    for text in ["one", "zwei \u{1f600}", "three"] {
        send(&mut halves, text).unwrap();
        assert_eq!(receive(&mut halves), text);
    }
    let large = "x".repeat(1 << 20);
    send(&mut halves, &large).unwrap();
    assert!(receive(&mut halves) == large);
}

#[test]
fn arguments_variables_and_the_folder_reach_a_child() {
    let folder = std::fs::canonicalize(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let server = child(&["place", "variables"])
        .env("SET", "a value")
        .env("LC_TIME", "C")
        .env_remove("LC_TIME")
        .current_dir(env!("CARGO_TARGET_TMPDIR"));
    let mut halves = opened(server);
    assert_eq!(std::fs::canonicalize(receive(&mut halves)).unwrap(), folder);
    let mut seen = Vec::new();
    while let Ok(mcplink::transport::Received::Message(line)) = halves.receiver.receive(Some(LONG))
    {
        seen.push(String::from_utf8(line.text).unwrap());
    }
    assert!(seen.contains(&"SET=a value".to_owned()), "{seen:?}");
    assert!(!seen.iter().any(|line| line.starts_with("LC_TIME=")));
    // Cargo sets it for tests, and it is none of the usual ones.
    assert!(
        !seen.iter().any(|line| line.starts_with("CARGO")),
        "{seen:?}"
    );
}

// M-STDIO-C-10
#[test]
fn status_and_last_words_of_a_child_are_told() {
    let mut halves = opened(child(&["say last", "err no api key", "exit 7"]));
    assert_eq!(receive(&mut halves), "last");
    let end = receive_end(&mut halves);
    assert_eq!(end.kind(), ErrorKind::Closed);
    assert!(end.to_string().contains("exited with status 7"), "{end}");
    assert_eq!(end.stderr_tail(), Some("no api key"));
}

// M-STDIO-C-03, L-STDIO-C-04
#[test]
fn much_standard_error_blocks_no_child() {
    let server = child(&["flood 10000000", "err end", "cat"]);
    let tail = server.stderr_tail();
    let mut halves = opened(server);
    send(&mut halves, "answer").unwrap();
    assert_eq!(receive(&mut halves), "answer");
    wait_until("the tail is whole", || {
        tail.text().trim_end().ends_with("end")
    });
    assert_eq!(tail.text().len(), 64 << 10);
}

#[test]
fn standard_error_comes_in_lines_or_is_discarded() {
    let (sender, lines) = mpsc::channel();
    let stderr = Stderr::lines(move |line| sender.send(line.to_owned()).unwrap());
    let mut halves = opened(child(&["err one", "err two"]).stderr(stderr));
    receive_end(&mut halves);
    drop(halves);
    assert_eq!(lines.try_iter().collect::<Vec<_>>(), ["one", "two"]);
    let mut halves = opened(child(&["err words"]).stderr(Stderr::Discard));
    assert_eq!(receive_end(&mut halves).stderr_tail(), None);
}

// Must not happen: a callback that calls or closes its own client deadlocks.
#[test]
fn a_line_of_standard_error_may_close_the_connection() {
    let (sender, control) = mpsc::channel::<std::sync::Arc<dyn Control>>();
    let stderr = Stderr::lines(move |_| control.recv().unwrap().close());
    let mut halves = opened(child(&["err x", "cat"]).stderr(stderr));
    sender.send(halves.control.clone()).unwrap();
    assert_eq!(receive_end(&mut halves).kind(), ErrorKind::Closed);
}

// Seen in other SDKs: children and grandchildren of the server stay behind after close.
// M-STDIO-C-08, L-INIT-C-17
#[test]
fn a_child_and_what_it_started_are_ended_in_each_way() {
    for steps in [
        &["pid", "say -", "cat"][..],
        &["pid", "helper", "cat"],
        &["pid", "helper"],
        &["pid", "helper", "stay"],
    ] {
        for closes in [true, false] {
            let mut halves = opened(child(steps));
            let pids = [(); 2].map(|()| receive(&mut halves));
            if closes {
                halves.control.close();
                assert_eq!(receive_end(&mut halves).kind(), ErrorKind::Closed);
            } else {
                drop(halves);
            }
            for pid in pids.iter().filter_map(|pid| pid.parse().ok()) {
                wait_until("it has ended", || !system::runs(pid));
            }
        }
    }
}

// Must not happen: a call hangs in writing, since the deadline covers only the wait for the answer.
#[test]
fn a_child_that_does_not_read_costs_no_more_than_the_deadline() {
    let mut halves = opened(child(&["stay"]));
    let time = Duration::from_millis(200);
    let witness = Witness::start();
    let error = send_within(&mut halves, &"x".repeat(2 << 20), time).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    witness.expect_within(time);
}

// Seen in other SDKs: memory grows with every use.
#[test]
fn restarts_leave_no_descriptor_and_no_thread() {
    crate::common::run_alone("transport::own_child::restarts");
}

#[test]
#[ignore = "counts what its process has: run by the test above"]
fn restarts() {
    let once = || {
        let mut halves = opened(child(&["cat"]));
        send(&mut halves, "x").unwrap();
        assert_eq!(receive(&mut halves), "x");
        halves.control.close();
    };
    // What is made once and kept, is made now.
    (0..3).for_each(|_| once());
    let before = system::open_descriptors();
    let count = rounds("MCPLINK_RESTARTS", 20);
    (0..count).for_each(|_| once());
    let after = system::open_descriptors();
    eprintln!("{count} restarts: {before} open before, {after} after");
    wait_until("no thread is left", || system::threads("mcplink-") == 0);
    // The system closes some a moment later.
    wait_until("all are closed", || system::open_descriptors() <= before);
}
