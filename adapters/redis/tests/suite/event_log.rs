//! The store of the events of legacy streams.

use std::ops::ControlFlow;
use std::time::Duration;

use mcplink::server::http::{EventLog, EventStore as _};
use mcplink_redis::{Redis, RedisEventStore};

use crate::patient;
use crate::server::RedisServer;

/// Returns the stored events after a number.
fn stored(log: &mut dyn EventLog, after: u64) -> Vec<(u64, usize)> {
    let mut seen = Vec::new();
    let send = &mut |number, event: &[u8]| {
        seen.push((number, event.len()));
        ControlFlow::Continue(())
    };
    log.replay_after(after, send).unwrap();
    seen
}

#[test]
fn the_last_events_of_a_stream_are_stored_within_both_bounds() {
    let server = RedisServer::start();
    let store = RedisEventStore::new(&patient(&server.url()));
    let check = |max_events, max_bytes, after, expected: &[u64]| {
        let store = store.clone().max_events(max_events).max_bytes(max_bytes);
        let mut log = store.open("session", 7);
        for size in 1..=6_u8 {
            log.append(size.into(), &vec![b'x'; size.into()]).unwrap();
        }
        let numbers = expected.iter().map(|number| (*number, *number as usize));
        assert_eq!(stored(&mut *log, after), numbers.collect::<Vec<_>>());
    };
    check(3, 1000, 0, &[4, 5, 6]);
    check(3, 1000, 4, &[5, 6]);
    check(3, 1000, 6, &[]);
    check(3, 1000, u64::MAX, &[]);
    check(100, 11, 0, &[5, 6]);
    check(100, 10, 0, &[6]);
    check(0, 0, 0, &[6]);
}

#[test]
fn many_events_are_replayed_in_order_until_the_reader_has_enough() {
    let server = RedisServer::start();
    let mut log = RedisEventStore::new(&patient(&server.url())).open("s", 0);
    for number in 1..=100 {
        let event = format!("\u{0}{number}\n");
        let event = if number % 5 == 0 { "" } else { &event };
        log.append(number, event.as_bytes()).unwrap();
    }
    assert_eq!(stored(&mut *log, 0).len(), 100);
    let mut seen = Vec::new();
    let send = &mut |number, event: &[u8]| {
        assert!(number % 5 == 0 || event == format!("\u{0}{number}\n").as_bytes());
        seen.push(number);
        match number < 60 {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    };
    log.replay_after(10, send).unwrap();
    assert_eq!(seen, (11..=60).collect::<Vec<_>>());
}

#[test]
fn the_events_of_a_stream_go_with_its_log_or_expire() {
    let server = RedisServer::start();
    let minute = Duration::from_secs(60);
    let store = RedisEventStore::new(&patient(&server.url())).lifetime(minute);
    let mut logs = [1, 2].map(|stream| store.open("s", stream));
    for log in &mut logs {
        log.append(1, b"a").unwrap();
    }
    let [first, second] = logs;
    drop(first);
    let mut admin = server.admin();
    assert_eq!(admin.run::<Vec<String>>("KEYS *"), ["mcplink:stream:s:2"]);
    let left: u64 = admin.run("PTTL mcplink:stream:s:2");
    assert!((1..=60_000).contains(&left), "{left}");
    drop(second);
    assert_eq!(admin.run::<usize>("DBSIZE"), 0);
}

#[test]
fn an_event_that_could_not_be_stored_is_an_error_and_the_log_goes_on() {
    let mut server = RedisServer::start();
    let redis = Redis::new(&server.url()).unwrap().timeout(crate::DEADLINE);
    let mut log = RedisEventStore::new(&redis).open("s", 0);
    log.append(1, b"a").unwrap();
    server.kill();
    log.append(2, b"b").unwrap_err();
    log.replay_after(0, &mut |_, _| ControlFlow::Continue(()))
        .unwrap_err();
    server.restart();
    let mut number = 3;
    crate::eventually(|| {
        let appended = log.append(number, b"c").ok();
        number += u64::from(appended.is_none());
        appended
    });
    assert_eq!(stored(&mut *log, 0), [(number, 1)]);
}
