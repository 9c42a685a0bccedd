//! The pool of connections.

use std::num::NonZeroUsize;
use std::thread;
use std::time::Duration;

use mcplink::server::StateStore as _;
use mcplink_redis::RedisStateStore;

use crate::server::RedisServer;
use crate::{eventually, patient};

const MINUTE: Duration = Duration::from_secs(60);

#[test]
fn commands_share_few_connections() {
    let server = RedisServer::start();
    let two = NonZeroUsize::new(2).unwrap();
    let redis = patient(&server.url()).max_connections(two);
    let stores = [(); 8].map(|()| RedisStateStore::new(&redis));
    thread::scope(|scope| {
        for (number, store) in stores.iter().enumerate() {
            scope.spawn(move || {
                for round in 0..100 {
                    assert!(store.claim(&format!("{number}-{round}"), MINUTE).unwrap());
                }
            });
        }
    });
    let stats: String = server.admin().run("INFO stats");
    let (_, made) = stats.split_once("total_connections_received:").unwrap();
    let made: usize = made.lines().next().unwrap().parse().unwrap();
    assert!(
        (2..=3).contains(&made),
        "{made}, of which one is of the test"
    );
}

// Must not happen: after a restart of Redis, each connection of the pool fails a call.
#[test]
fn a_restart_between_two_commands_is_not_noticed() {
    let mut server = RedisServer::start();
    let store = RedisStateStore::new(&patient(&server.url()));
    assert!(store.claim("a", MINUTE).unwrap());
    server.restart();
    assert!(store.claim("b", MINUTE).unwrap());
}

// Must not happen: an answer about one command counts as a failure of Redis.
#[test]
fn an_error_answer_leaves_the_connection_in_use() {
    let server = RedisServer::start();
    let store = RedisStateStore::new(&patient(&server.url()));
    let mut admin = server.admin();
    assert!(store.claim("a", MINUTE).unwrap());
    let _: () = admin.run("CONFIG SET maxmemory 1");
    let error = store.claim("b", MINUTE).unwrap_err();
    assert!(error.to_string().ends_with("it answered OOM"), "{error}");
    let _: () = admin.run("CONFIG SET maxmemory 0");
    assert!(store.claim("b", MINUTE).unwrap());
}

// Must not happen: after a failover, commands are sent to the former master for good.
#[test]
fn a_server_that_is_no_longer_the_master_is_left() {
    let server = RedisServer::start();
    let store = RedisStateStore::new(&patient(&server.url()));
    let mut admin = server.admin();
    assert!(store.claim("a", MINUTE).unwrap());
    let _: () = admin.run("REPLICAOF 127.0.0.1 1");
    let error = store.claim("b", MINUTE).unwrap_err();
    assert!(
        error.to_string().ends_with("it answered READONLY"),
        "{error}"
    );
    // Only the connection of the test is left.
    eventually(|| {
        let clients: String = admin.run("CLIENT LIST TYPE normal");
        (clients.lines().count() == 1).then_some(())
    });
    let _: () = admin.run("REPLICAOF NO ONE");
    assert!(eventually(|| store.claim("b", MINUTE).ok()));
}
