//! Threads: few, on demand, and none is left. Each test counts in a process of its own.

use mcplink::protocol::{Connection, RequestOptions};
use mcplink::transport::memory;
use serde_json::json;

use crate::common::{Gate, Script, handlers, play, run_alone, system, wait_until};

/// The threads of the library in this process.
pub(crate) fn count() -> usize {
    system::threads("mcplink-")
}

#[test]
fn no_thread_is_there_before_opening_and_few_are_when_idle() {
    run_alone("engine_threads::idle_connections");
}

#[test]
#[ignore = "counts the threads of its process: run by the test above"]
fn idle_connections() {
    let (ours, theirs) = memory::pair();
    let builder = Connection::server().handlers(handlers(&Gate::default()));
    assert_eq!(count(), 0);
    let connection = builder.open(ours).unwrap();
    let mut script = Script::open(theirs);
    wait_until("it reads", || count() == 1);
    for id in 0..100 {
        script.expect_service(id);
    }
    assert!(count() <= 3, "{}", count());
    wait_until("those that are not needed have left", || count() <= 2);
    // They are still of use.
    script.expect_service("again");
    drop(connection);
    wait_until("all have ended", || count() == 0);
}

#[test]
fn no_thread_is_left_by_any_end_of_a_connection() {
    run_alone("engine_threads::ends");
}

#[test]
#[ignore = "counts the threads of its process: run by the test above"]
fn ends() {
    for end in 0..4 {
        for serving in [true, false] {
            let gate = Gate::default();
            let connection = if serving {
                Connection::server()
            } else {
                Connection::client()
            };
            let (connection, mut script) = play(connection.handlers(handlers(&gate)));
            for id in 0..5 {
                script.request(id, "block");
            }
            gate.wait_for(5);
            let calling = connection.peer();
            let call = std::thread::spawn(move || {
                let options = RequestOptions::new().no_timeout();
                calling
                    .request("question", &json!({}), options)
                    .unwrap_err()
            });
            script.receive_request("question");
            assert!(count() >= 5);
            gate.open();
            match end {
                0 => connection.close(),
                1 => drop(connection),
                2 => {
                    script.leave();
                    _ = connection.wait();
                }
                _ => {
                    script.leave();
                    wait_until("it has ended", || connection.peer().is_closed());
                }
            }
            call.join().unwrap();
            wait_until("all have ended", || count() == 0);
        }
    }
}

/// Many requests at once start many threads, which leave when they are not needed any more.
#[test]
fn threads_come_with_the_work_and_leave_after_it() {
    run_alone("engine_threads::come_and_go");
}

#[test]
#[ignore = "counts the threads of its process: run by the test above"]
fn come_and_go() {
    let gate = Gate::default();
    let (connection, mut script) = play(Connection::server().handlers(handlers(&gate)));
    for id in 0..200 {
        script.request(id, "block");
    }
    gate.wait_for(64);
    script.expect_silence();
    // One reads, one watches, one or two wait for more.
    assert!(count() <= 64 + 4, "{}", count());
    assert_eq!(connection.peer().stats().requests_in_flight, 200);
    gate.open();
    for _ in 0..200 {
        script.receive();
    }
    wait_until("most have left", || count() <= 2);
    script.expect_service("again");
}
