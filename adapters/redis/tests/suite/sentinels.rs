//! A master that sentinels know.

use std::fs;
use std::net::TcpListener;
use std::time::Duration;

use mcplink::server::StateStore as _;
use mcplink_redis::{Redis, RedisStateStore};

use crate::server::RedisServer;
use crate::{DEADLINE, eventually};

/// Starts a sentinel of the master at a port. Returns its URL, too.
fn sentinel(master: u16) -> (RedisServer, String) {
    let (sentinel, port) = RedisServer::on_tcp(|server| {
        let path = server.path("sentinel.conf");
        let text = format!("sentinel monitor The-Master 127.0.0.1 {master} 1\n");
        fs::write(&path, text).unwrap();
        vec![path.to_str().unwrap().to_owned(), "--sentinel".to_owned()]
    });
    (sentinel, format!("redis://127.0.0.1:{port}"))
}

/// A store in the database 3 of the master with this name.
fn store(name: &str, timeout: Duration, sentinels: &[&str]) -> RedisStateStore {
    let redis = Redis::new(&format!("redis://{name}/3"))
        .unwrap()
        .timeout(timeout);
    RedisStateStore::new(&redis.sentinels(sentinels).unwrap())
}

const MINUTE: Duration = Duration::from_secs(60);

#[test]
fn the_master_is_found_through_a_sentinel() {
    let (_master, port) = RedisServer::on_tcp(|_| Vec::new());
    let (_sentinel, url) = sentinel(port);
    // The first one refuses connections.
    let store = |name| store(name, DEADLINE, &["unix:///nowhere", &url]);
    assert!(store("The-Master").claim("a", MINUTE).unwrap());
    assert!(!store("The-Master").claim("a", MINUTE).unwrap());
    let error = store("other").claim("a", MINUTE).unwrap_err();
    assert!(
        error.to_string().contains("not found by sentinel"),
        "{error}"
    );
}

// Must not happen: a sentinel that hangs makes the master unreachable. The connection comes too
// late for the call that needed it, and serves the next one.
#[test]
fn a_silent_sentinel_delays_only_the_first_connection() {
    let (_master, port) = RedisServer::on_tcp(|_| Vec::new());
    let (_sentinel, url) = sentinel(port);
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = format!("redis://{}", silent.local_addr().unwrap());
    let store = store("The-Master", Duration::from_millis(250), &[&silent, &url]);
    assert!(eventually(|| store.claim("a", MINUTE).ok()));
}
