//! The store of records.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use mcplink::server::{Record, RecordStore as _};
use mcplink_redis::RedisRecordStore;

use crate::server::RedisServer;
use crate::{eventually, patient};

const MINUTE: Duration = Duration::from_secs(60);

fn record(version: u64, bytes: &[u8]) -> Option<Record> {
    let bytes = bytes.to_vec();
    Some(Record { version, bytes })
}

#[test]
fn a_version_is_stored_only_after_the_one_before() {
    let server = RedisServer::start();
    let store = RedisRecordStore::new(&patient(&server.url()));
    assert_eq!(store.read("a").unwrap(), None);
    for version in [0, 2, u64::MAX] {
        assert!(!store.write("a", version, b"x", MINUTE).unwrap());
    }
    let bytes = b"\x00\xff\r\n";
    assert!(store.write("a", 1, bytes, MINUTE).unwrap());
    for version in [0, 1, 3] {
        assert!(!store.write("a", version, b"x", MINUTE).unwrap());
    }
    assert_eq!(store.read("a").unwrap(), record(1, bytes));
    assert!(store.write("a", 2, b"", Duration::MAX).unwrap());
    assert_eq!(store.read("a").unwrap(), record(2, b""));
    assert_eq!(store.read("b").unwrap(), None);
    store.remove("a").unwrap();
    store.remove("a").unwrap();
    assert_eq!(store.read("a").unwrap(), None);
    assert!(store.write("a", 1, b"again", MINUTE).unwrap());
}

// Must not happen: numbers beyond 2^53 are rounded, so that two versions count as one.
#[test]
fn large_versions_are_told_apart() {
    let server = RedisServer::start();
    let store = RedisRecordStore::new(&patient(&server.url()));
    let last = u64::MAX - 1;
    let command = format!("HSET mcplink:record:a version {last} bytes x");
    let _: usize = server.admin().run(&command);
    assert!(!store.write("a", last, b"y", MINUTE).unwrap());
    assert!(store.write("a", u64::MAX, b"y", MINUTE).unwrap());
    assert_eq!(store.read("a").unwrap(), record(u64::MAX, b"y"));
}

#[test]
fn a_record_ends_with_its_lifetime() {
    let server = RedisServer::start();
    let store = RedisRecordStore::new(&patient(&server.url()));
    assert!(store.write("a", 1, b"x", MINUTE).unwrap());
    let left: u64 = server.admin().run("PTTL mcplink:record:a");
    assert!((1..=60_000).contains(&left), "{left}");
    let short = Duration::from_millis(1);
    assert!(store.write("a", 2, b"x", short).unwrap());
    eventually(|| store.read("a").unwrap().is_none().then_some(()));
    assert!(store.write("a", 1, b"x", MINUTE).unwrap());
    assert!(store.write("a", 2, b"x", Duration::ZERO).unwrap());
    assert_eq!(store.read("a").unwrap(), None);
}

// Must not happen: two processes store the same version, and one change is lost.
#[test]
fn of_many_threads_in_two_processes_one_stores_a_version() {
    const VERSIONS: u64 = 500;
    let server = RedisServer::start();
    let stores = [(); 2].map(|()| RedisRecordStore::new(&patient(&server.url())));
    let stored = AtomicU64::new(0);
    thread::scope(|scope| {
        for worker in 0..8 {
            let (store, stored) = (&stores[worker % 2], &stored);
            scope.spawn(move || {
                loop {
                    let record = store.read("a").unwrap();
                    let version = record.map_or(0, |record| record.version);
                    if version == VERSIONS {
                        return;
                    }
                    let is_stored = store.write("a", version + 1, b"x", MINUTE).unwrap();
                    stored.fetch_add(u64::from(is_stored), Ordering::SeqCst);
                }
            });
        }
    });
    assert_eq!(stored.into_inner(), VERSIONS);
}
