//! Limits of a server over HTTP: limits that depend on each other, and limits for each client.

use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcplink::schema::{ProtocolVersion, Tool};
use mcplink::server::http::HttpOptions;
use mcplink::server::{Context, RateLimit, Server};
use mcplink::transport::http::HttpLimits;
use serde_json::{Value, json};

use crate::web::{Answer, Web};

/// What a server with these options logs when it begins to listen.
fn logged(options: HttpOptions) -> Vec<String> {
    let lines: Arc<Mutex<Vec<String>>> = Arc::default();
    let log = Arc::clone(&lines);
    let server = Server::builder("s", "1")
        .on_log(move |record| log.lock().unwrap().push(record.text.to_owned()))
        .build()
        .unwrap();
    let http = server.listen_http("0", options).unwrap();
    http.close();
    let lines = lines.lock().unwrap();
    let is_it = |line: &&String| line.contains("max_connections");
    lines.iter().filter(is_it).cloned().collect()
}

#[test]
fn too_few_connections_for_the_streams_and_sessions_are_logged() {
    let with = |max_connections| {
        let mut limits = HttpLimits::default();
        limits.max_connections = max_connections;
        HttpOptions::new().limits(limits)
    };
    let few = with(1_000).max_streams(900).max_sessions(200);
    let lines = logged(few.clone());
    assert_eq!(lines.len(), 1, "{lines:?}");
    for part in ["is 1000", "max_streams (900)", "max_sessions (200)"] {
        assert!(lines[0].contains(part), "{lines:?}");
    }
    // Without sessions there is no word of them.
    let lines = logged(with(800).max_streams(900).max_sessions(200).sessions(false));
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].contains("max_streams (900)"), "{lines:?}");
    assert!(!lines[0].contains("max_sessions"), "{lines:?}");
    let enough = HttpLimits::default().max_connections;
    for options in [
        HttpOptions::new(),
        // The default of connections rises with the streams and sessions.
        HttpOptions::new().max_streams(50_000).max_sessions(50_000),
        with(enough).max_streams(50_000),
        // Only one of the numbers was set.
        with(100),
        few.sessions(false),
        with(1_100).max_streams(900).max_sessions(200),
    ] {
        assert_eq!(logged(options), [""; 0]);
    }
}

// M-TOOL-S-29; must not happen: the rate limit of one modern client is that of all of them.
#[test]
fn clients_without_a_principal_have_their_own_rates() {
    let three = NonZeroU32::new(3).unwrap();
    let day = Duration::from_secs(24 * 60 * 60);
    let server = Server::builder("s", "1")
        .tool_with(Tool::new("t"), |_: Value, _: &Context| "done")
        .guard(RateLimit::new(three, day).on(&["tools/call"]))
        .build()
        .unwrap();
    let web = Web::new(&server);
    let call = json!({ "name": "t", "arguments": {} });
    let take = |call: &dyn Fn() -> Answer| {
        for _ in 0..3 {
            assert_eq!(call().result()["content"][0]["text"], "done");
        }
        let refusal = call().message();
        assert_eq!(refusal["error"]["data"]["busy"], true, "{refusal}");
    };
    for address in ["192.0.2.1:7", "192.0.2.2:7", "[2001:db8::1]:7"] {
        web.come_from(address);
        take(&|| web.modern("tools/call", call.clone()));
    }
    // An address counts once, whatever the port and the last bits.
    for address in ["192.0.2.1:8", "[2001:db8::ffff]:7"] {
        web.come_from(address);
        let refusal = web.modern("tools/call", call.clone()).message();
        assert_eq!(refusal["error"]["data"]["busy"], true, "{refusal}");
    }
    // Each session counts, as a connection does elsewhere.
    for _ in 0..2 {
        let session = web.session(ProtocolVersion::V2025_11_25);
        take(&|| session.request("tools/call", call.clone()));
    }
}
