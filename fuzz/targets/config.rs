//! Configuration files of hosts.
#![no_main]

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use mcplink::client::Config;
use mcplink::fuzzing::config;
use serde_json::Value;

static FILE: LazyLock<PathBuf> = LazyLock::new(|| {
    std::env::temp_dir().join(format!("mcplink-fuzz-{}.json", std::process::id()))
});

fuzz_target!(|data: &[u8]| {
    if let Ok(text) = std::str::from_utf8(data) {
        check_comments(text);
    }
    fs::write(&*FILE, data).expect("a file for the test");
    let Ok(config) = Config::read(&*FILE) else {
        return;
    };
    for server in config.servers() {
        // A server is a command or a URL, never both.
        assert!(server.command().is_none() || server.url().is_none());
        assert!(config.server(server.name()).is_some());
        let _ = (server.child(), server.http(), server.expanded_url());
    }
});

/// Comments are replaced by blanks, and JSON without comments does not change.
fn check_comments(text: &str) {
    let json = config::to_json(text);
    assert_eq!(json.len(), text.len());
    let lines = |text: &str| text.matches('\n').count();
    assert_eq!(lines(&json), lines(text));
    if serde_json::from_str::<Value>(text).is_ok() {
        assert_eq!(json, text);
    }
    assert_eq!(config::to_json(&json), json);
}
