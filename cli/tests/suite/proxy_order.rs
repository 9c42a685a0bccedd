//! `mcplink proxy` and `mcplink attach`: the messages that a server sends before its answer reach
//! the client before the answer.

use std::sync::{Arc, Mutex};

use mcplink::client::{CallOptions, Client, ClientBuilder};
use mcplink::schema::ElicitResult;
use mcplink::transport::http::Http;
use mcplink::transport::{Direction, Tap, Transport};
use serde_json::{Value, json};

use crate::attach::World;
use crate::common::{LONG, wait_until};
use crate::proxy::{ERAS, builder, proxy};
use crate::proxy_clients::served;
use crate::runs::example;

/// The number of log messages of a call, which has as many progress messages.
const COUNT: usize = 20;

/// A client, and every message that it has received, in the order of arrival.
struct Observed {
    client: Client,
    received: Arc<Mutex<Vec<Value>>>,
}

impl Observed {
    fn connect(builder: ClientBuilder, transport: impl Transport + 'static) -> Self {
        let received = Arc::<Mutex<Vec<Value>>>::default();
        let seen = Arc::clone(&received);
        let tap = Tap::new(transport, move |message| {
            if message.direction == Direction::Incoming {
                let message = serde_json::from_slice(message.text).unwrap();
                seen.lock().unwrap().push(message);
            }
        });
        let client = builder.connect(tap).unwrap();
        Self { client, received }
    }

    /// Calls tools at the same time, each of which sends messages with its word.
    fn call(&self, calls: &[(&str, &str)], during: &str) {
        self.received.lock().unwrap().clear();
        let start = |(tool, word): &(&str, &str)| {
            let options = CallOptions::new().log_level("info".into()).timeout(LONG);
            let arguments = json!({ "word": word, "count": COUNT });
            let mut pending = self.client.start_tool(tool, &arguments, options).unwrap();
            // So the server gets a progress token.
            _ = pending.events();
            pending
        };
        let started: Vec<_> = calls.iter().map(start).collect();
        for pending in started {
            pending.wait().expect(during);
        }
        for (_, word) in calls {
            self.check(word, during);
        }
    }

    /// Checks that all messages of a call came in order, and before the answer of the call.
    fn check(&self, word: &str, during: &str) {
        let received = self.received.lock().unwrap();
        let answer = received
            .iter()
            .position(|message| message["result"]["content"][0]["text"] == *word);
        let before = &received[..answer.expect("the call was answered")];
        let expected: Vec<String> = (1..=COUNT)
            .map(|number| format!("{word} {number}"))
            .collect();
        for (method, member) in [
            ("notifications/message", "data"),
            ("notifications/progress", "message"),
        ] {
            let texts = before
                .iter()
                .filter(|message| message["method"] == method)
                .filter_map(|message| message["params"][member].as_str())
                .filter(|text| text.split(' ').next() == Some(word));
            let texts: Vec<&str> = texts.collect();
            assert_eq!(texts, expected, "{during}, {method} of {word}");
        }
    }
}

fn list_server(name: &str) -> String {
    format!("{name}='{}' {name}", example("list_server").display())
}

#[test]
fn messages_of_a_call_come_before_its_answer() {
    let (a, b) = (list_server("a"), list_server("b"));
    for theirs in ERAS {
        for ours in ERAS {
            let during = format!("{theirs} servers, {ours} client");
            let words = ["--era", theirs, "--log", "info", &a, &b];
            let host = Observed::connect(builder(ours), proxy(&words));
            for _ in 0..10 {
                host.call(&[("a__talk", "one")], &during);
                // At several servers, and several at one server.
                let calls = [
                    ("a__talk", "one"),
                    ("b__talk", "two"),
                    ("a__talk", "three"),
                    ("b__talk", "four"),
                ];
                host.call(&calls, &during);
            }
        }
    }
}

#[test]
fn messages_of_a_call_come_before_its_answer_over_http() {
    let a = list_server("a");
    for theirs in ERAS {
        for ours in ERAS {
            let during = format!("{theirs} server, {ours} client");
            let (_running, url) = served(&["--era", theirs, "--log", "info", &a]);
            let direct = Observed::connect(builder(ours), Http::new(&url).unwrap());
            // A proxy whose server is the proxy.
            let words = ["--era", ours, "--log", "info", "--url", &url];
            let chained = Observed::connect(builder(ours), proxy(&words));
            for _ in 0..10 {
                direct.call(&[("talk", "one")], &during);
                chained.call(&[("talk", "one")], &format!("{during}, chained"));
            }
        }
    }
}

#[test]
fn messages_of_a_program_come_before_its_answer() {
    for theirs in ERAS {
        for ours in ERAS {
            let during = format!("{theirs} program, {ours} host");
            let world = World::new(&format!("order-{theirs}-{ours}"));
            let _program = world.start(&["editor", "-", theirs]);
            let child = world.command(&["editor", "--log", "info"]);
            let host = Observed::connect(builder(ours), child);
            wait_until("the tools are listed", || {
                let options = CallOptions::new().bypass_cache();
                !host.client.list_tools_with(options).unwrap().is_empty()
            });
            for _ in 0..10 {
                host.call(&[("talk", "one")], &during);
            }
        }
    }
}

/// Messages that come while the client answers an input request are not lost.
#[test]
fn messages_during_an_input_request_come_before_the_answer() {
    let bad = format!(
        "bad='{}' 'talks while it asks'",
        example("bad_server").display()
    );
    for ours in ERAS {
        let builder = builder(ours).on_elicit(|_, _| ElicitResult::confirm());
        let host = Observed::connect(builder, proxy(&["--log", "info", &bad]));
        for _ in 0..10 {
            host.call(&[("good", "word")], &format!("{ours} client"));
        }
    }
}
