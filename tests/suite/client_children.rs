//! Clients and real child processes, most of which take the probe badly. Each child notes its starts in a file.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use mcplink::client::{Client, ClientBuilder, Era, EraMemory};
use mcplink::schema::ProtocolVersion;
use mcplink::transport::Child;
use mcplink::{Error, ErrorKind};
use serde_json::json;

use crate::scripted::{asker, connect};

/// A file that is named by nobody else, and removed in the end.
struct Starts(PathBuf);

impl Starts {
    fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!(
            "mcplink-starts-{}-{}",
            std::process::id(),
            NUMBER.fetch_add(1, Ordering::Relaxed)
        );
        Self(std::env::temp_dir().join(name))
    }

    fn count(&self) -> usize {
        let text = std::fs::read_to_string(&self.0).unwrap_or_default();
        text.lines().count()
    }
}

impl Drop for Starts {
    fn drop(&mut self) {
        drop(std::fs::remove_file(&self.0));
    }
}

/// What the scripts have in common: reading a message, and answering as a legacy server does.
const SHELL: &str = r#"
echo started >> "$STARTS"
read_one() { IFS= read -r line || exit 0; }
id() { printf '%s' "$line" | sed 's/.*"id":\([0-9]*\).*/\1/'; }
refuse() { printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$(id)"; }
agree() {
    printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}}\n' "$(id)"
}
discovered() {
    printf '{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}}\n' "$(id)"
}
serve() {
    while read_one; do
        case "$line" in
            *'"method":"server/discover"'*) refuse ;;
            *'"method":"initialize"'*) agree ;;
            *'"method":"tools/call"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"called"}]}}\n' "$(id)" ;;
        esac
    done
}
"#;

fn child(starts: &Starts, script: &str) -> Child {
    Child::new("sh")
        .args(["-c", &format!("{SHELL}{script}")])
        .env("STARTS", &starts.0)
        .grace(Duration::from_millis(100))
}

fn quick() -> ClientBuilder {
    asker()
        .probe_timeout(Duration::from_millis(300))
        .connect_timeout(Duration::from_secs(10))
}

/// Connects to a child of the legacy era, and tells how often it was started.
fn starts_of(client: ClientBuilder, script: &str) -> usize {
    let starts = Starts::new();
    let client = connect(client, child(&starts, script)).unwrap();
    assert_eq!(client.revision(), ProtocolVersion::V2025_06_18);
    let result = client.call_tool("t", &json!({})).unwrap();
    assert_eq!(result.content[0].as_text(), Some("called"));
    starts.count()
}

/// Fails to connect, and tells how often the child was started.
fn failure_of(client: ClientBuilder, script: &str) -> (Error, usize) {
    let starts = Starts::new();
    let error = connect(client, child(&starts, script)).unwrap_err();
    (error, starts.count())
}

// M-VER-C-14, M-VER-B-17, M-STDIO-C-13
#[test]
fn a_child_that_refuses_the_probe_is_started_once() {
    assert_eq!(starts_of(quick(), "serve"), 1);
}

// M-VER-C-14; lesson 14.1
#[test]
fn a_child_that_leaves_on_the_probe_is_started_once_more() {
    let script = r#"read_one; case "$line" in *discover*) exit 1 ;; *) agree ;; esac; serve"#;
    assert_eq!(starts_of(quick(), script), 2);
}

// M-VER-C-14, M-STDIO-C-14; lesson 14.1
#[test]
fn a_child_that_does_not_answer_the_probe_is_initialized() {
    assert_eq!(starts_of(quick(), "read_one; serve"), 1);
}

// M-VER-C-14; lesson 14.1
#[test]
fn a_child_that_answers_garbage_is_initialized() {
    let script = r#"read_one; echo '<html>what?</html>'; echo '{"jsonrpc":"2.0","oops'; serve"#;
    assert_eq!(starts_of(quick(), script), 1);
}

// M-STDIO-C-14; lessons 1.6, 14.1
#[test]
fn a_child_that_hangs_after_the_probe_is_started_once_more() {
    let script = r#"read_one; case "$line" in *discover*) exec sleep 1000 ;; esac; agree; serve"#;
    let client = quick().connect_timeout(Duration::from_secs(4));
    assert_eq!(starts_of(client, script), 2);
}

// lesson 14.1
#[test]
fn a_child_that_leaves_on_everything_is_started_no_more_than_twice() {
    let script = "read_one; echo 'cannot open the display' >&2; exit 3";
    let (error, starts) = failure_of(quick(), script);
    assert_eq!((error.kind(), starts), (ErrorKind::Closed, 2));
    let text = error.to_string();
    for part in [
        "connecting to 'sh",
        "initialize",
        "exited with status 3",
        "cannot open the display",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(
        error
            .stderr_tail()
            .unwrap()
            .contains("cannot open the display")
    );
    // A pinned era, or a known one, is no reason to start again.
    let legacy = quick().revisions(ProtocolVersion::LEGACY);
    assert_eq!(failure_of(legacy, script).1, 1);
    let modern = quick().revisions(&[ProtocolVersion::LATEST]);
    assert_eq!(failure_of(modern, script).1, 1);
}

// L-CANC-C-02; lessons 1.6, 2.2
#[test]
fn a_child_that_never_says_anything_is_given_up_in_time() {
    let begun = Instant::now();
    let client = asker()
        .probe_timeout(Duration::from_millis(100))
        .connect_timeout(Duration::from_secs(1));
    let (error, starts) = failure_of(client, "echo 'waiting for a lock' >&2; exec sleep 1000");
    assert!(
        begun.elapsed() < Duration::from_secs(5),
        "{:?}",
        begun.elapsed()
    );
    assert_eq!((error.kind(), starts), (ErrorKind::Timeout, 2));
    let text = error.to_string();
    for part in ["connecting to 'sh", "initialize", "waiting for a lock"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

// M-VER-C-09, M-VER-C-10; lesson 14.1
#[test]
fn what_was_found_out_is_remembered_for_the_command_line() {
    let memory = EraMemory::new();
    let starts = Starts::new();
    let script = r#"read_one; case "$line" in *discover*) exit 1 ;; *) agree ;; esac; serve"#;
    for expected in [2, 3, 4] {
        let client = quick().era_memory(&memory);
        let client = connect(client, child(&starts, script)).unwrap();
        assert_eq!(client.era(), Era::Legacy);
        assert_eq!(starts.count(), expected);
    }
    // Another command line is another server.
    let other = child(&starts, &format!("{script} # other"));
    drop(connect(quick().era_memory(&memory), other).unwrap());
    assert_eq!(starts.count(), 6);
    assert_eq!(memory.entries().len(), 2);
}

// M-VER-C-10; lesson 14.4
#[test]
fn a_memory_that_misleads_is_forgotten() {
    let memory = EraMemory::new();
    let starts = Starts::new();
    let upgraded = starts.0.with_extension("upgraded");
    let script = r#"
        if [ -e "$UPGRADED" ]; then
            read_one; case "$line" in *discover*) discovered ;; *) refuse ;; esac
        fi
        serve"#;
    let server = || child(&starts, script).env("UPGRADED", &upgraded);
    let open = || connect(quick().era_memory(&memory), server());
    assert_eq!(open().unwrap().era(), Era::Legacy);
    std::fs::write(&upgraded, "").unwrap();
    let failed = open();
    let then = open();
    std::fs::remove_file(&upgraded).unwrap();
    assert_eq!(failed.unwrap_err().kind(), ErrorKind::Peer);
    assert_eq!(then.unwrap().era(), Era::Modern);
}

// AMB-32; lesson 4.3
#[test]
fn banners_blank_lines_byte_order_marks_and_line_ends_do_no_harm() {
    let script = r#"
        printf '\357\273\277\n\r\n  \nWelcome to the server v1.0\n\n'
        read_one; refuse | sed 's/$/\r/'
        echo 'now initializing'
        read_one; agree | sed 's/$/\r/'
        serve"#;
    let starts = Starts::new();
    let client = connect(quick(), child(&starts, script)).unwrap();
    let result = client.call_tool("t", &json!({})).unwrap();
    assert_eq!(result.content[0].as_text(), Some("called"));
    assert_eq!(client.stats().noise, 2, "{:?}", client.stats());
}

// lesson 4.3
#[test]
fn the_first_stray_line_is_quoted_when_connecting_fails() {
    let script = "read_one; echo 'Usage: server --port N'; echo 'second line'; exit 2";
    let (error, _) = failure_of(quick(), script);
    let text = error.to_string();
    for part in [
        "Usage: server --port N",
        "exited with status 2",
        "connecting to 'sh",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("second line"), "{text}");
}

// M-STDIO-C-03, L-STDIO-C-04; lesson 3.1
#[test]
fn a_child_that_fills_its_standard_error_during_the_probe_is_connected() {
    let script = r#"
        read_one
        yes 'a line of a log that nobody asked for' | head -c 10000000 >&2
        refuse
        serve"#;
    let client = asker().probe_timeout(Duration::from_secs(20));
    assert_eq!(starts_of(client, script), 1);
}

// M-STDIO-C-10; lessons 1.2, 3.2
#[test]
fn a_child_that_dies_in_a_call_fails_it_with_its_last_words() {
    let script = r#"
        read_one; refuse; read_one; agree; read_one; read_one
        echo 'segmentation fault (not really)' >&2; exit 139"#;
    let starts = Starts::new();
    let client = connect(quick(), child(&starts, script)).unwrap();
    let error = client.call_tool("t", &json!({})).unwrap_err();
    assert_eq!((error.kind(), error.was_sent()), (ErrorKind::Closed, true));
    let text = error.to_string();
    for part in ["tools/call", "exited with status 139", "not really"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(starts.count(), 1);
}

#[test]
fn what_cannot_be_started_is_not_tried_again() {
    let error = connect(quick(), Child::new("no-such-program-anywhere")).unwrap_err();
    assert_eq!((error.kind(), error.was_sent()), (ErrorKind::Spawn, false));
    assert!(
        error.to_string().contains("no-such-program-anywhere"),
        "{error}"
    );
}

// Lesson 1.6: the deadline holds for ending a server, too, with which no conversation came about.
#[test]
fn connecting_to_a_child_that_neither_answers_nor_leaves_ends_with_its_deadline() {
    let started = Instant::now();
    let error = Client::builder("test", "1")
        .connect_timeout(Duration::from_millis(300))
        .connect(Child::new("sh").args(["-c", "trap '' TERM; while :; do sleep 1; done"]))
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    let took = started.elapsed();
    assert!(took < Duration::from_millis(1500), "{took:?}");
}
