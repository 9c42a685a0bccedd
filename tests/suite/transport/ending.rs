//! The ladder by which a child is ended, and that nothing of it is left.

use std::thread;
use std::time::Duration;

use mcplink::ErrorKind;
use mcplink::transport::{Child, Received, Stderr, TransportParts};

use crate::common::Witness;

use super::{has_ended, is_reaped, open, receive, receive_end, send, wait_until};

/// Short enough for a test, long enough for a child on a busy machine.
const GRACE: Duration = Duration::from_millis(300);

fn shell(script: &str) -> Child {
    Child::new("sh").args(["-c", script]).grace(GRACE)
}

/// Ends a child in each way there is, and looks that it and what it started have gone. The script prints its own id and then those of
/// others.
fn leaves_nothing(script: &str) {
    for pipes in [false, true] {
        for closes in [true, false] {
            let mut halves = open(shell(script).pipes(pipes));
            let pids = receive(&mut halves);
            if closes {
                halves.control.close();
                assert_eq!(receive_end(&mut halves).kind(), ErrorKind::Closed);
            } else {
                drop(halves);
            }
            let (child, others) = pids.split_once(' ').unwrap_or((&pids, ""));
            assert!(is_reaped(child), "{script}");
            for pid in others.split(' ').filter(|pid| !pid.is_empty()) {
                wait_until("the rest has ended", || has_ended(pid));
            }
        }
    }
}

// Seen in other SDKs: children and grandchildren of the server stay behind after close.
// M-STDIO-C-08, L-INIT-C-17
#[test]
fn a_child_that_leaves_at_the_end_of_its_input_leaves_nothing() {
    leaves_nothing("echo $$; exec cat");
}

// Seen in other SDKs: children and grandchildren of the server stay behind after close.
#[test]
fn a_server_behind_a_shell_wrapper_is_ended_too() {
    leaves_nothing("sh -c 'echo $PPID $$; exec cat'; true");
}

// Seen in other SDKs: children and grandchildren of the server stay behind after close.
#[test]
fn a_helper_that_a_child_leaves_behind_is_ended_too() {
    leaves_nothing("sleep 1000 & echo $$ $!; exec cat");
}

// Seen in other SDKs: children and grandchildren of the server stay behind after close.
#[test]
fn a_helper_of_a_child_that_ended_by_itself_is_ended_too() {
    leaves_nothing("sleep 1000 & echo $$ $!");
}

// M-STDIO-C-08
#[test]
fn a_child_that_ignores_the_end_of_its_input_is_terminated() {
    leaves_nothing("echo $$; exec sleep 1000");
}

// Seen in other SDKs: children and grandchildren of the server stay behind after close.
// M-STDIO-C-08, L-INIT-C-17
#[test]
fn a_child_that_ignores_termination_is_killed() {
    leaves_nothing("trap '' TERM; sleep 1000 & echo $$ $!; wait; wait");
}

#[test]
fn a_stopped_child_is_ended() {
    leaves_nothing("echo $$; kill -STOP $$");
}

#[test]
fn a_child_that_nobody_reads_from_is_ended() {
    leaves_nothing("echo $$; exec cat /dev/zero");
}

// Must not happen: ending a stubborn child takes for ever.
#[test]
fn a_well_behaved_child_is_closed_at_once() {
    let mut halves = open(Child::new("cat"));
    send(&mut halves, "x").unwrap();
    receive(&mut halves);
    let witness = Witness::start();
    halves.control.close();
    witness.expect_at_once();
}

// Must not happen: ending a stubborn child takes for ever.
#[test]
fn the_whole_ladder_has_a_bound() {
    let mut halves = open(shell("trap '' TERM; echo trapped; sleep 1000; true"));
    receive(&mut halves);
    let witness = Witness::start();
    halves.control.close();
    witness.expect_within(2 * GRACE);
    // Again: it has been done.
    let witness = Witness::start();
    halves.control.close();
    witness.expect_at_once();
}

#[test]
fn what_a_child_says_while_it_leaves_is_received() {
    let TransportParts {
        mut receiver,
        control,
        sender,
        ..
    } = open(shell("cat; echo goodbye"));
    let reading = thread::spawn(move || receiver.receive(None));
    control.close();
    let received = reading.join().unwrap();
    let Ok(Received::Message(message)) = received else {
        panic!("expected a message: {received:?}");
    };
    assert_eq!(message.text, b"goodbye");
    drop(sender);
}

#[test]
fn a_stranger_that_holds_all_streams_does_not_hold_up_closing() {
    // It leaves the group, so it is not followed.
    let mut halves = open(shell("setsid sleep 1000 & echo $!; exec cat"));
    let stranger: i32 = receive(&mut halves).parse().unwrap();
    let witness = Witness::start();
    halves.control.close();
    receive_end(&mut halves);
    witness.expect_within(GRACE);
    // SAFETY: no pointers. It still runs, so the number is still its own.
    unsafe { libc::kill(stranger, libc::SIGKILL) };
}

#[test]
fn several_threads_may_close_at_once() {
    let mut halves = open(shell("echo $$; exec cat"));
    let pid = receive(&mut halves);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                halves.control.close();
                assert!(is_reaped(&pid));
            });
        }
    });
}

// Must not happen: a callback that calls or closes its own client deadlocks.
#[test]
fn the_callback_of_standard_error_may_close() {
    let (sender, control) = std::sync::mpsc::channel::<std::sync::Arc<_>>();
    let stderr = Stderr::lines(move |_| {
        let control: std::sync::Arc<dyn mcplink::transport::Control> = control.recv().unwrap();
        control.close();
    });
    let mut halves = open(shell("echo x >&2; exec cat").stderr(stderr));
    sender.send(halves.control.clone()).unwrap();
    assert_eq!(receive_end(&mut halves).kind(), ErrorKind::Closed);
    halves.control.close();
}
