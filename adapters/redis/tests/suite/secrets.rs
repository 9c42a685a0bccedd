//! Nothing that has to stay secret gets into a text.

use std::time::Duration;

use mcplink::ErrorKind;
use mcplink::Result;
use mcplink::server::http::EventStore as _;
use mcplink::server::{EventBus as _, RateStore as _, StateStore as _};
use mcplink_redis::{Redis, RedisEventBus, RedisEventStore, RedisRateStore, RedisStateStore};

use crate::server::RedisServer;
use crate::{DEADLINE, eventually};

const SECRET: &str = "pa55w0rd";

fn is_clean(text: &str) {
    assert!(!text.contains(SECRET), "{text}");
    assert!(!text.contains("://") && !text.contains("/tmp"), "{text}");
}

/// Checks the texts of everything that may fail, and returns the error of a claim.
fn check(redis: &Redis) -> mcplink::Error {
    let states = RedisStateStore::new(redis);
    let events = RedisEventStore::new(redis);
    let rates = RedisRateStore::new(redis, "all");
    let bus = RedisEventBus::new(redis);
    for text in [
        format!("{redis:?}"),
        format!("{states:?} {events:?}"),
        format!("{rates:?} {bus:?}"),
    ] {
        is_clean(&text);
    }
    let minute = Duration::from_secs(60);
    let failed = states.claim("a", minute).unwrap_err();
    for error in [
        failed.clone(),
        events.open("s", 1).append(1, b"").unwrap_err(),
        rates.take("a", 1.try_into().unwrap(), minute).unwrap_err(),
        eventually(|| bus.publish("a").err()),
    ] {
        is_clean(&format!("{error} {error:?} {error:#?}"));
        assert!(std::error::Error::source(&error).is_none());
    }
    failed
}

fn redis(url: &str) -> Redis {
    Redis::new(url).unwrap().timeout(DEADLINE)
}

#[test]
fn a_password_is_in_no_text_when_redis_refuses_it() {
    let mut server = RedisServer::stopped(&["--requirepass", "other"]);
    server.restart();
    let url = server.url();
    for url in [
        format!("{url}?pass={SECRET}"),
        format!("{url}?user={SECRET}&pass={SECRET}"),
        format!("{url}?user={SECRET}&pass={SECRET}&protocol=resp3"),
    ] {
        assert_eq!(check(&redis(&url)).kind(), ErrorKind::Auth);
    }
    let error = check(&redis(&url));
    assert!(error.to_string().contains("NOAUTH"), "{error}");
}

// Must not happen: Redis repeats a command that it does not know, with its arguments.
#[test]
fn a_password_is_in_no_text_when_redis_repeats_it() {
    let mut server = RedisServer::stopped(&["--rename-command", "AUTH", "other"]);
    server.restart();
    check(&redis(&format!(
        "{}?user={SECRET}&pass={SECRET}",
        server.url()
    )));
}

#[test]
fn a_url_is_in_no_text_when_redis_is_not_there() {
    check(&redis(&format!("unix:///tmp/{SECRET}?pass={SECRET}")));
    let name = format!("redis://{SECRET}:{SECRET}@{SECRET}.invalid:1/0");
    check(&redis(&name));
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = port.local_addr().unwrap();
    drop(port);
    check(&redis(&format!("redis://{SECRET}:{SECRET}@{address}")));
}

#[test]
fn a_url_that_cant_be_used_is_in_no_text() {
    let refused = |redis: Result<Redis>| {
        let error = redis.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        is_clean(&format!("{error} {error:?}"));
    };
    for url in [
        "pa55w0rd",
        "http://u:pa55w0rd@host",
        "redis://u:pa55w0rd@",
        "redis://u:pa55w0rd@host:pa55w0rd",
        "redis://u:pa55w0rd@host/pa55w0rd",
        "redis://u:pa55w0rd@host?protocol=pa55w0rd",
        "redis://pa55w0rd%ff@host",
        "redis://u:pa55w0rd%ff@host",
        "redis://u:pa55w0rd@[::pa55w0rd]",
        "rediss://u:pa55w0rd@host#pa55w0rd",
        "unix:pa55w0rd",
        "unix:///tmp/s?db=pa55w0rd",
    ] {
        refused(Redis::new(url));
        refused(Redis::new("redis://m").unwrap().sentinels(&[url]));
    }
}
