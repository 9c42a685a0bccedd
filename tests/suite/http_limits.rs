//! Limits of a server over HTTP that depend on one another.

use std::sync::{Arc, Mutex};

use mcplink::server::Server;
use mcplink::server::http::HttpOptions;
use mcplink::transport::http::HttpLimits;

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
