//! The store of sealed states.

use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use mcplink::ErrorKind;
use mcplink::server::StateStore as _;
use mcplink_redis::{Redis, RedisStateStore};

use crate::server::RedisServer;
use crate::{eventually, patient};

const MINUTE: Duration = Duration::from_secs(60);

// Must not happen: a state is presented twice, and its effects happen twice.
// M-MRTR-S-14
#[test]
fn of_many_threads_in_two_processes_one_claims_a_state() {
    let server = RedisServer::start();
    let stores = [(); 2].map(|()| RedisStateStore::new(&patient(&server.url())));
    for round in 0..50 {
        let (claimed, barrier) = (AtomicUsize::new(0), Barrier::new(8));
        thread::scope(|scope| {
            for number in 0..8 {
                let (store, claimed, barrier) = (&stores[number % 2], &claimed, &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    let is_first = store.claim(&format!("id{round}"), MINUTE).unwrap();
                    claimed.fetch_add(usize::from(is_first), Ordering::SeqCst);
                });
            }
        });
        assert_eq!(claimed.into_inner(), 1);
    }
}

#[test]
fn a_state_is_forgotten_when_it_has_expired() {
    let server = RedisServer::start();
    let store = RedisStateStore::new(&patient(&server.url()));
    assert!(store.claim("a", MINUTE).unwrap());
    assert!(!store.claim("a", MINUTE).unwrap());
    let left: u64 = server.admin().run("PTTL mcplink:state:a");
    assert!((1..=60_000).contains(&left), "{left}");
    for lifetime in [Duration::ZERO, Duration::from_millis(1)] {
        eventually(|| store.claim("b", lifetime).unwrap().then_some(()));
    }
    assert!(store.claim("c", Duration::MAX).unwrap());
    assert!(!store.claim("c", Duration::MAX).unwrap());
}

#[test]
fn while_redis_is_gone_states_are_refused_and_the_breaker_makes_it_quick() {
    let mut server = RedisServer::start();
    let store = RedisStateStore::new(&Redis::new(&server.url()).unwrap());
    eventually(|| store.claim("a", MINUTE).ok());
    server.kill();
    eventually(|| store.claim("b", MINUTE).err());
    // The first attempts may be made when the breaker lets one command try.
    let error = eventually(|| {
        let error = store.claim("b", MINUTE).unwrap_err();
        error
            .to_string()
            .contains("was not tried again")
            .then_some(error)
    });
    assert_eq!(error.kind(), ErrorKind::Io);
    server.restart();
    assert!(
        eventually(|| store.claim("b", MINUTE).ok()),
        "it is used again"
    );
}

// Must not happen: a Redis that hangs holds calls.
#[test]
fn a_silent_redis_holds_no_call_beyond_the_timeout() {
    let server = RedisServer::start();
    let store = RedisStateStore::new(&Redis::new(&server.url()).unwrap());
    let fresh = RedisStateStore::new(&Redis::new(&server.url()).unwrap());
    eventually(|| store.claim("a", MINUTE).ok());
    server.signal("STOP");
    // With an idle connection, and with a new one, that is accepted and never answered.
    for store in [&store, &fresh] {
        let error = eventually(|| store.claim("b", MINUTE).err());
        assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
        eventually(|| {
            let error = store.claim("b", MINUTE).unwrap_err();
            error
                .to_string()
                .contains("was not tried again")
                .then_some(())
        });
    }
    server.signal("CONT");
    eventually(|| store.claim("c", MINUTE).ok());
}
