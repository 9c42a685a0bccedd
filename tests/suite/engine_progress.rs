//! Progress and notifications: in order, on the right thread, bounded.

use std::cell::RefCell;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use mcplink::ErrorKind;
use mcplink::protocol::{CancelToken, Connection, Handlers, RequestOptions};
use mcplink::transport::Limits;
use serde_json::{Value, json};

use crate::common::{Gate, LONG, Script, at_once, play, within};

const SHORT: Duration = Duration::from_millis(100);

/// Plays the peer on a thread of its own, from the first request on.
fn aside(
    mut script: Script,
    part: impl FnOnce(&mut Script, Value) + Send + 'static,
) -> thread::JoinHandle<Script> {
    thread::spawn(move || {
        let request = script.receive();
        part(&mut script, request);
        script
    })
}

fn limits(change: impl FnOnce(&mut Limits)) -> Limits {
    let mut limits = Limits::default();
    change(&mut limits);
    limits
}

// Seen in other SDKs: progress comes out of order, or after the result; callbacks of a call come after it returned.
// M-PROG-B-06, M-PROG-B-09, L-PROG-B-09
#[test]
fn progress_is_delivered_in_order_on_the_calling_thread_before_the_call_returns() {
    const COUNT: u64 = 10_000;
    let roomy = limits(|limits| limits.max_call_events = 20_000);
    let (connection, script) = play(Connection::client().limits(roomy));
    let playing = aside(script, |script, request| {
        for step in 1..=COUNT {
            script.progress(request["id"].clone(), step);
        }
        script.progress(format!("0{}", request["id"]), 1);
        script.progress(4711, 1);
        script.answer(&request, &json!({}));
        script.progress(request["id"].clone(), COUNT + 1);
        script.expect_silence();
    });
    // A value that is not `Sync`: the callback runs here or the test does not compile.
    let seen = RefCell::new(Vec::new());
    let options =
        RequestOptions::new().on_progress(|progress| seen.borrow_mut().push(progress.progress));
    connection
        .peer()
        .request("work", &json!({}), options)
        .unwrap();
    let delivered = seen.borrow().len();
    playing.join().unwrap();
    assert_eq!(seen.borrow().len(), delivered, "after the call returned");
    assert!(
        seen.into_inner()
            .into_iter()
            .eq((1..=10_000).map(f64::from))
    );
    assert_eq!(connection.peer().stats().merged_progress, 0);
}

// M-PROG-B-09, L-PROG-B-04
#[test]
fn progress_keeps_its_total_and_its_message() {
    let (connection, script) = play(Connection::client());
    let playing = aside(script, |script, request| {
        let params = json!({"progressToken": request["id"], "progress": 0.25, "total": 1.5, "message": "Half of it"});
        script.notify("notifications/progress", &params);
        script.notify(
            "notifications/progress",
            &json!({"progressToken": request["id"]}),
        );
        script.answer(&request, &json!({}));
    });
    let mut seen = Vec::new();
    let options = RequestOptions::new().on_progress(|progress| seen.push(progress));
    connection
        .peer()
        .request("work", &json!({}), options)
        .unwrap();
    playing.join().unwrap();
    let [progress] = &seen[..] else {
        panic!("{seen:?}")
    };
    assert_eq!((progress.progress, progress.total), (0.25, Some(1.5)));
    assert_eq!(progress.message.as_deref(), Some("Half of it"));
    assert_eq!(connection.peer().stats().malformed, 1);
}

// Must not happen: a slow progress callback makes memory grow.
// L-PROG-B-10
#[test]
fn progress_that_is_faster_than_its_callback_is_merged_and_counted() {
    let few = limits(|limits| limits.max_call_events = 8);
    let (connection, script) = play(Connection::client().limits(few));
    let (sent, all_sent) = mpsc::channel();
    let playing = aside(script, move |script, request| {
        for step in 1..=1000 {
            script.progress(request["id"].clone(), step);
        }
        script.answer(&request, &json!({}));
        // What is answered now was read after all of it.
        script.expect_silence();
        sent.send(()).unwrap();
    });
    let mut seen = Vec::new();
    let options = RequestOptions::new().on_progress(|progress| {
        if seen.is_empty() {
            all_sent.recv_timeout(LONG).unwrap();
        }
        seen.push(progress.progress);
    });
    connection
        .peer()
        .request("work", &json!({}), options)
        .unwrap();
    playing.join().unwrap();
    assert!(seen.len() <= 9 && seen.is_sorted(), "{seen:?}");
    assert_eq!(seen.last(), Some(&1000.0), "the newest wins");
    let merged = connection.peer().stats().merged_progress;
    assert_eq!(usize::try_from(merged).unwrap() + seen.len(), 1000);
}

// Seen in other SDKs: a long tool that reports progress runs into the time-out.
// M-CANC-B-21
#[test]
fn progress_extends_a_timeout_but_not_for_ever() {
    let (connection, script) = play(Connection::client());
    let (beat, beats) = mpsc::channel::<()>();
    let playing = aside(script, move |script, request| {
        for step in 1.. {
            script.progress(request["id"].clone(), step);
            // The pace of the peer, until the call has ended.
            if beats.recv_timeout(SHORT / 2) == Err(mpsc::RecvTimeoutError::Disconnected) {
                return;
            }
        }
    });
    let started = Instant::now();
    let cap = Duration::from_millis(600);
    let options = RequestOptions::new().timeout(SHORT * 3).max_timeout(cap);
    let error = connection
        .peer()
        .request("work", &json!({}), options)
        .unwrap_err();
    let took = started.elapsed();
    drop(beat);
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert!(
        error.to_string().contains("max_timeout is 600 ms)"),
        "{error}"
    );
    assert!(took >= cap, "{took:?}");
    let cancelled = playing
        .join()
        .unwrap()
        .receive_request("notifications/cancelled");
    assert_eq!(cancelled["params"]["reason"], "timed out");
}

/// Sends progress without a pause until the peer tells it to stop, or goes.
fn flood(script: &mut Script, request: &Value) {
    for step in 1.. {
        script.progress(request["id"].clone(), step);
        if step % 64 == 0 && !script.receive_all().is_empty() {
            return;
        }
    }
}

// Seen in other SDKs: a long tool that reports progress runs into the time-out.
// M-CANC-B-21
#[test]
fn progress_faster_than_its_callback_holds_up_neither_the_cap_nor_a_cancel() {
    for cancels in [false, true] {
        let (connection, script) = play(Connection::client());
        let playing = aside(script, |script, request| flood(script, &request));
        let (token, trigger) = (CancelToken::new(), CancelToken::new());
        let cap = if cancels { LONG } else { SHORT };
        let mut count = 0;
        let options = RequestOptions::new()
            .max_timeout(cap)
            .cancel_with(&token)
            .on_progress(|_| {
                // Slower than the peer.
                trigger.wait(Duration::from_millis(2));
                count += 1;
                if cancels && count == 10 {
                    token.cancel();
                }
            });
        let error = connection
            .peer()
            .request("work", &json!({}), options)
            .unwrap_err();
        let kind = if cancels {
            ErrorKind::Cancelled
        } else {
            ErrorKind::Timeout
        };
        assert_eq!(error.kind(), kind, "{error}");
        playing.join().unwrap();
    }
}

/// Calls that get progress while others get their answers hand the reading to each other, and none of them may spin or starve.
#[test]
fn calls_with_progress_do_not_keep_each_other_from_reading() {
    const CALLERS: u64 = 4;
    const CALLS: u64 = 200;
    let (connection, mut script) = play(Connection::client());
    let playing = thread::spawn(move || {
        for _ in 0..CALLERS * CALLS {
            let request = script.receive();
            assert_eq!(request["method"], "work", "{request}");
            for step in 1..=3 {
                script.progress(request["id"].clone(), step);
            }
            script.answer(&request, &json!({}));
        }
    });
    let callers: Vec<_> = (0..CALLERS)
        .map(|_| {
            let peer = connection.peer();
            thread::spawn(move || {
                for _ in 0..CALLS {
                    let mut steps = 0;
                    let options = RequestOptions::new()
                        .timeout(LONG)
                        .on_progress(|_| steps += 1);
                    peer.request("work", &json!({}), options).unwrap();
                    assert_eq!(steps, 3);
                }
            })
        })
        .collect();
    within(LONG, || {
        callers
            .into_iter()
            .for_each(|caller| caller.join().unwrap())
    });
    playing.join().unwrap();
}

// Must not happen: notifications run on the reading thread, or several at once.
#[test]
fn notifications_come_in_order_one_at_a_time_while_reading_goes_on() {
    const LIMIT: usize = 1024;
    for connection in [Connection::server(), Connection::client()] {
        let (gate, (sender, seen)) = (Gate::default(), mpsc::channel());
        let entered = gate.clone();
        let handlers = crate::common::handlers(&gate).notification("note", move |_, note| {
            let number: Value = serde_json::from_str(note.params()).unwrap();
            if number["n"] == 0 {
                entered.pass();
            }
            let thread = thread::current().name().map(str::to_owned);
            sender.send((number["n"].clone(), thread)).unwrap();
        });
        let (connection, mut script) = play(connection.handlers(handlers));
        for number in 0..=LIMIT {
            script.notify("note", &json!({"n": number}));
            if number == 0 {
                gate.wait_for(1);
            }
        }
        // The first one blocks its handler, and yet is read what comes behind it.
        script.expect_silence();
        assert_eq!(connection.peer().stats().dropped_notifications, 0);
        script.notify("note", &json!({"n": "one too many"}));
        script.notify("note", &json!({"n": "two too many"}));
        script.expect_service("x");
        assert_eq!(connection.peer().stats().dropped_notifications, 2);
        gate.open();
        for number in 0..=LIMIT {
            let (seen, thread) = seen.recv_timeout(LONG).unwrap();
            assert_eq!(seen, json!(number));
            assert_eq!(thread.as_deref(), Some("mcplink-worker"));
        }
        script.expect_service("y");
        assert!(seen.try_recv().is_err(), "a dropped one came");
        at_once(move || connection.close());
    }
}

// Must not happen: notifications run on the reading thread, or several at once.
#[test]
fn what_cancelled_handlers_want_to_run_is_not_dropped_with_notifications() {
    let (gate, (sender, ran)) = (Gate::default(), mpsc::channel());
    let entered = gate.clone();
    let handlers = Handlers::new()
        .notification("note", move |_, _| entered.pass())
        .request("work", move |_, responder| {
            let sender = sender.clone();
            let guard = responder
                .cancel_token()
                .on_trigger(move || sender.send(()).unwrap());
            assert!(responder.cancel_token().wait(LONG));
            // Dropping the guard would forget a callback that has not run.
            std::mem::forget(guard);
        });
    let few = limits(|limits| limits.max_notifications = 1);
    let (connection, mut script) = play(Connection::server().handlers(handlers).limits(few));
    script.notify("note", &json!({}));
    gate.wait_for(1);
    for _ in 0..3 {
        script.notify("note", &json!({}));
    }
    script.request(1, "work");
    script.cancel(1);
    script.expect_silence();
    gate.open();
    ran.recv_timeout(LONG).unwrap();
    assert_eq!(connection.peer().stats().dropped_notifications, 2);
}
