//! Everything at once, on one connection that is closed in the middle: every call returns, and no thread is left.
//!
//! `MCPLINK_STRESS` says how many connections are put through it, `MCPLINK_STRESS_SEED` where the numbers begin.

use std::panic;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;

use mcplink::ErrorKind;
use mcplink::client::CallOptions;
use mcplink::client::{Client, Event};
use mcplink::protocol::{CancelToken, Connection};
use mcplink::schema::{
    ElicitRequestParams, ElicitResult, ElicitSchema, JsonSchema, ProtocolVersion, Resource,
    SubscriptionFilter, Tool,
};
use mcplink::server::{Context, HandlerError, ResourceRead, Server, ToolCall};
use mcplink::transport::{Limits, memory};
use serde_json::{Value, json};

use crate::common::{Random, Witness, rounds, run_alone, wait_until};

const THREADS: usize = 8;
const CALLS: usize = 20;
/// Says of a panic that the test wants it.
const WANTED: &str = "wanted by the test";
/// How long a call waits that never ends by itself.
const BOUND: Duration = Duration::from_secs(20);

fn ask(context: &Context) -> Result<String, HandlerError> {
    let question =
        |text: &str| ElicitRequestParams::form(text, ElicitSchema::default().to_schema().unwrap());
    let first = context.elicit("first", question("first?"));
    context.progress(1.0, None, None);
    let second = context.elicit("second", question("second?"));
    let (first, second) = (first?, second?);
    let third = context.elicit("third", question("third?"))?;
    Ok(format!(
        "{:?} {:?} {:?}",
        first.action, second.action, third.action
    ))
}

fn server(max_workers: usize) -> Server {
    let mut limits = Limits::default();
    limits.max_workers = max_workers;
    Server::builder("s", "1")
        .limits(limits)
        .drain(Duration::from_millis(500))
        .resource(
            Resource::new("a:b", "b"),
            |_: &ResourceRead, _: &Context| "",
        )
        .tool_with(Tool::new("ask"), |_: Value, context: &Context| ask(context))
        .tool_with(Tool::new("progress"), |_: Value, context: &Context| {
            for step in 1..50 {
                context.progress(f64::from(step), Some(50.0), None);
            }
            "done"
        })
        .tool_with(Tool::new("wait"), |_: Value, context: &Context| {
            context.cancel_token().wait(BOUND);
            "done"
        })
        .tool_with(Tool::new("panic"), |_: Value, context: &Context| {
            let ready = ask(context).is_ok();
            assert!(!ready, "{WANTED}");
            "asks"
        })
        .deferred_tool(
            Tool::new("later").input_schema(JsonSchema::any_object()),
            |call: ToolCall| {
                std::thread::spawn(move || {
                    if let Ok(text) = ask(call.context()) {
                        // It fails when nobody waits any more.
                        _ = call.respond(text);
                    }
                });
            },
        )
        .build()
        .unwrap()
}

fn client(limits: Limits) -> mcplink::client::ClientBuilder {
    let asked = AtomicUsize::new(0);
    Client::builder("c", "1")
        .limits(limits)
        .on_elicit(move |_, _| match asked.fetch_add(1, Ordering::SeqCst) % 7 {
            0 => ElicitResult::cancel(),
            1 => {
                CancelToken::new().wait(Duration::from_millis(2));
                ElicitResult::decline()
            }
            _ => ElicitResult::accept(&json!({})).unwrap(),
        })
}

/// One call of some tool, in some way. How it ends is its own business, but it ends.
fn call(client: &Client, random: &mut Random) {
    const TOOLS: [&str; 7] = ["ask", "progress", "wait", "panic", "later", "extra", "ask"];
    let tool = TOOLS[random.below(TOOLS.len())];
    let cancel = CancelToken::new();
    let short = Duration::from_millis(1 + random.below(20) as u64);
    let options = CallOptions::new().timeout(BOUND).on_progress(|_| {});
    let (options, canceller) = match (random.below(3), tool) {
        (0, _) | (_, "wait") if random.below(2) == 0 => (options.timeout(short), None),
        (0, _) | (_, "wait") => {
            let token = cancel.clone();
            let canceller = std::thread::spawn(move || {
                CancelToken::new().wait(short);
                token.cancel();
            });
            (options.cancel_with(&cancel), Some(canceller))
        }
        _ => (options, None),
    };
    let ended = client.call_tool_with(tool, &json!({}), options);
    if let Err(error) = ended {
        let kinds = [
            ErrorKind::Cancelled,
            ErrorKind::Timeout,
            ErrorKind::Closed,
            ErrorKind::Peer,
        ];
        assert!(kinds.contains(&error.kind()), "{tool}: {error}");
    }
    if let Some(canceller) = canceller {
        canceller.join().unwrap();
    }
}

fn subscribe(
    client: &Client,
    random: &mut Random,
    kept: &Mutex<Vec<mcplink::client::Subscription>>,
) {
    let filter = SubscriptionFilter::default()
        .tools_list_changed(true)
        .resource_subscriptions(vec!["a:b".to_owned()]);
    let options = CallOptions::new().timeout(BOUND);
    let opened = client.subscribe_with(filter, options, |event: Event| drop(event));
    match opened {
        Ok(subscription) if random.below(2) == 0 => kept.lock().unwrap().push(subscription),
        Ok(subscription) => drop(subscription),
        Err(error) => {
            let is_late = error.to_string().contains("the connection is clos");
            let is_end = matches!(error.kind(), ErrorKind::Closed | ErrorKind::Protocol);
            assert!(is_end || is_late, "{error}");
        }
    }
}

fn change(server: &Server, random: &mut Random) {
    match random.below(4) {
        // It fails when another thread has added it.
        0 => _ = server.add_tool(Tool::new("extra"), |_: Value, _: &Context| "extra"),
        1 => _ = server.remove_tool("extra"),
        2 => server.resource_updated("a:b"),
        _ => server.end_subscriptions(),
    }
}

fn one_connection(seed: u64) {
    let mut random = Random::new(seed * 0x9e37_79b9 + 1);
    let revisions = [ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28];
    let revision = revisions[random.below(2)];
    let server = server([1, 2, 64][random.below(3)]);
    let (here, there) = memory::pair();
    let serving = server.open(there).unwrap();
    let mut limits = Limits::default();
    limits.max_workers = [1, 64][random.below(2)];
    let client = client(limits).revisions(&[revision]).connect(here).unwrap();
    let (kept, calls) = (Mutex::new(Vec::new()), AtomicUsize::new(0));
    let (way, at) = (random.below(4), random.below(THREADS * CALLS));
    let start = Barrier::new(THREADS + 1);
    let ending = std::thread::scope(|scope| {
        for number in 0..THREADS {
            let (server, client, kept, calls, start) = (&server, &client, &kept, &calls, &start);
            let mut random = Random::new(seed * 100 + number as u64 + 1);
            scope.spawn(move || {
                start.wait();
                for _ in 0..CALLS {
                    match random.below(6) {
                        0 => subscribe(client, &mut random, kept),
                        1 => change(server, &mut random),
                        _ => call(client, &mut random),
                    }
                    calls.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        start.wait();
        wait_until("it is time to end", || calls.load(Ordering::SeqCst) >= at);
        let witness = Witness::start();
        end(way, &client, serving);
        witness
    });
    ending.expect_within(BOUND / 2);
    drop(kept);
    client.close();
    let stats = client.stats();
    assert_eq!(stats.calls_in_flight, 0, "{seed}");
    drop(client);
}

/// Ends the connection, while it is used.
fn end(way: usize, client: &Client, serving: Connection) {
    let peer = serving.peer();
    match way {
        0 => {
            client.close();
            // Its handlers would be waited for until then.
            serving.close();
        }
        1 => serving.close(),
        2 => drop(serving),
        _ => {
            client.close();
            // It finds that the client has gone.
            _ = serving.wait();
        }
    }
    wait_until("both ends know", || client.is_closed() && peer.is_closed());
    wait_until("nothing is in hand", || {
        let stats = peer.stats();
        stats.requests_in_flight == 0 && stats.calls_in_flight == 0
    });
}

#[test]
fn everything_at_once_ends_in_order() {
    run_alone("stress::everything_at_once");
}

#[test]
#[ignore = "counts the threads of its process: run by the test above"]
fn everything_at_once() {
    let unwanted = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&unwanted);
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if !info.to_string().contains(WANTED) {
            noted.lock().unwrap().push(info.to_string());
            usual(info);
        }
    }));
    let first = rounds("MCPLINK_STRESS_SEED", 1);
    for seed in first..first + rounds("MCPLINK_STRESS", 4) {
        one_connection(seed);
        wait_until("all threads have ended", || {
            crate::engine_threads::count() == 0
        });
    }
    assert_eq!(*unwanted.lock().unwrap(), Vec::<String>::new());
}
