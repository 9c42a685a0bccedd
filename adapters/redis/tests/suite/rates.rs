//! The store of token buckets.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use mcplink::server::RateStore as _;
use mcplink_redis::RedisRateStore;

use crate::patient;
use crate::server::{Admin, RedisServer};

const HOUR: Duration = Duration::from_secs(3600);

fn number(number: u32) -> NonZeroU32 {
    NonZeroU32::new(number).unwrap()
}

/// Redis's clock in microseconds.
fn now(admin: &mut Admin) -> u64 {
    let (seconds, micros): (u64, u64) = admin.run("TIME");
    seconds * 1_000_000 + micros
}

// Redis's clock decides, so it does not matter how fast the machine is.
#[test]
fn three_processes_together_admit_what_one_would() {
    const REQUESTS: u32 = 6_000;
    const PER: Duration = Duration::from_secs(60);
    let server = RedisServer::start();
    let mut admin = server.admin();
    let stores = [(); 3].map(|()| RedisRateStore::new(&patient(&server.url()), "all"));
    let take = |worker: usize| {
        let store = &stores[worker % 3];
        store.take("principal ada", number(REQUESTS), PER).unwrap()
    };
    let before = now(&mut admin);
    assert_eq!(take(0), None);
    let start = now(&mut admin);
    let (admitted, refused_at) = (AtomicU64::new(1), AtomicU64::new(0));
    thread::scope(|scope| {
        for worker in 0..6 {
            let (take, admitted, refused_at) = (&take, &admitted, &refused_at);
            let mut admin = server.admin();
            scope.spawn(move || {
                // Until the time is over and the bucket is empty.
                loop {
                    let at = now(&mut admin);
                    match take(worker) {
                        None => _ = admitted.fetch_add(1, Ordering::SeqCst),
                        Some(_) if at > start + 5_000_000 => {
                            refused_at.fetch_max(at, Ordering::SeqCst);
                            return;
                        }
                        Some(_) => {}
                    }
                }
            });
        }
    });
    let after = now(&mut admin);
    // The tokens of a full bucket, and those that came in the meantime.
    let tokens = |micros| u64::from(REQUESTS) + micros * u64::from(REQUESTS) / 60_000_000;
    let (least, most) = (
        tokens(refused_at.into_inner() - start),
        tokens(after - before),
    );
    let admitted = admitted.into_inner();
    let text = format!("{admitted} were admitted, of {least} to {most}");
    assert!(
        admitted * 100 >= least * 99 && admitted * 100 <= most * 101,
        "{text}"
    );
}

#[test]
fn a_bucket_is_emptied_at_once_and_each_caller_and_limit_has_its_own() {
    let server = RedisServer::start();
    let redis = patient(&server.url());
    let (calls, reads) = (
        RedisRateStore::new(&redis, "calls"),
        RedisRateStore::new(&redis, "reads"),
    );
    for (store, caller) in [(&calls, "a"), (&calls, "b"), (&reads, "a")] {
        for _ in 0..7 {
            assert_eq!(store.take(caller, number(7), HOUR).unwrap(), None);
        }
        let wait = store.take(caller, number(7), HOUR).unwrap().unwrap();
        assert!(wait > Duration::from_secs(60), "{wait:?}");
    }
    let left: u64 = server.admin().run("PTTL mcplink:rate:calls:a");
    assert!((1..=3_600_000).contains(&left), "{left}");
}

#[test]
fn unusual_limits_and_a_forgotten_script_are_no_errors() {
    let server = RedisServer::start();
    let store = RedisRateStore::new(&patient(&server.url()), "all");
    let century = HOUR * 24 * 36_500;
    for (caller, requests, per) in [
        ("a", u32::MAX, Duration::from_nanos(1)),
        ("b", u32::MAX, century),
        ("c", 1, century),
        ("d", 1, Duration::ZERO),
    ] {
        assert_eq!(store.take(caller, number(requests), per).unwrap(), None);
    }
    assert!(store.take("c", number(1), century).unwrap().is_some());
    let _: () = server.admin().run("SCRIPT FLUSH");
    assert_eq!(store.take("e", number(1), HOUR).unwrap(), None);
}
