//! Servers in two processes, with clients that listen.

use std::env;
use std::process::{Command, Stdio};

use mcplink::client::{CallOptions, Client};
use mcplink::schema::{SubscriptionFilter, Tool};
use mcplink::server::{Context, List, Server};
use mcplink::transport::memory;
use mcplink_redis::{Redis, RedisEventBus};
use serde_json::Value;

use crate::server::RedisServer;
use crate::{DEADLINE, patient};

const URL: &str = "MCPLINK_REDIS_TEST_URL";

fn server(redis: &Redis) -> Server {
    Server::builder("s", "1")
        .tool_with(Tool::new("t"), |_: Value, _: &Context| "done")
        .declare_capability(List::Resources)
        .event_bus(RedisEventBus::new(redis))
        .build()
        .unwrap()
}

/// The other process: it makes changes and ends.
#[test]
fn the_other_process() {
    let Ok(url) = env::var(URL) else {
        return;
    };
    let server = server(&patient(&url));
    server.resource_updated("a:b");
    let tool = Tool::new("new");
    server.add_tool(tool, |_: Value, _: &Context| "").unwrap();
}

#[test]
fn clients_are_notified_of_the_changes_of_another_process() {
    let redis = RedisServer::start();
    let server = server(&patient(&redis.url()));
    let (here, there) = memory::pair();
    let _serving = server.open(there).unwrap();
    let client = Client::connect(here).unwrap();
    let mut filter = SubscriptionFilter::default();
    filter.resource_subscriptions = Some(vec!["a:b".to_owned()]);
    filter.tools_list_changed = Some(true);
    let (_subscription, events) = client
        .subscribe_channel(filter, CallOptions::new())
        .unwrap();
    let mut other = Command::new(env::current_exe().unwrap())
        .args(["--exact", "processes::the_other_process"])
        .env(URL, redis.url())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut seen = String::new();
    while !(seen.contains("a:b") && seen.contains("Tools")) {
        let event = events
            .recv_timeout(DEADLINE)
            .unwrap_or_else(|_| panic!("only {seen}"));
        seen += &format!("{event:?} ");
    }
    assert!(other.wait().unwrap().success());
}
