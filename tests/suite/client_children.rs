//! Clients and real child processes, most of which take the probe badly. Each child notes its starts in a file.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use mcplink::client::{Client, ClientBuilder, Era, EraMemory};
use mcplink::schema::ProtocolVersion;
use mcplink::transport::Child;
use mcplink::{Error, ErrorKind};
use serde_json::json;

use crate::common::{Witness, wait_until};
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

// Seen in other SDKs: an old server that dies, hangs or babbles at the era probe is lost.
// M-VER-C-14
#[test]
fn a_child_that_leaves_on_the_probe_is_started_once_more() {
    let script = r#"read_one; case "$line" in *discover*) exit 1 ;; *) agree ;; esac; serve"#;
    assert_eq!(starts_of(quick(), script), 2);
}

// Seen in other SDKs: an old server that dies, hangs or babbles at the era probe is lost.
// M-VER-C-14
#[test]
fn a_child_that_leaves_some_time_after_the_probe_is_started_once_more() {
    let script =
        r#"read_one; case "$line" in *discover*) refuse; exit 1 ;; *) agree ;; esac; serve"#;
    assert_eq!(starts_of(quick(), script), 2);
    // `initialize` has been sent by then, and is not read.
    let script = r#"
        read_one; case "$line" in *discover*) sleep 0.5; exit 1 ;; *) agree ;; esac; serve"#;
    let client = quick().probe_timeout(Duration::from_millis(50));
    assert_eq!(starts_of(client, script), 2);
}

// Seen in other SDKs: an old server that dies, hangs or babbles at the era probe is lost.
// M-VER-C-14, M-STDIO-C-14
#[test]
fn a_child_that_does_not_answer_the_probe_is_initialized() {
    assert_eq!(starts_of(quick(), "read_one; serve"), 1);
}

// Seen in other SDKs: an old server that dies, hangs or babbles at the era probe is lost.
// M-VER-C-14
#[test]
fn a_child_that_answers_garbage_is_initialized() {
    let script = r#"read_one; echo '<html>what?</html>'; echo '{"jsonrpc":"2.0","oops'; serve"#;
    assert_eq!(starts_of(quick(), script), 1);
}

// Seen in other SDKs: an old server that dies, hangs or babbles at the era probe is lost.
// Must not happen: connecting, probing, closing and token requests have no deadline.
// M-STDIO-C-14
#[test]
fn a_child_that_hangs_after_the_probe_is_started_once_more() {
    let script = r#"read_one; case "$line" in *discover*) exec sleep 1000 ;; esac; agree; serve"#;
    let client = quick().connect_timeout(Duration::from_secs(4));
    assert_eq!(starts_of(client, script), 2);
}

// Seen in other SDKs: an old server that dies, hangs or babbles at the era probe is lost.
#[test]
fn a_child_that_leaves_on_everything_is_started_no_more_than_twice() {
    let script = "read_one; echo 'cannot open the display' >&2; exit 3";
    let (error, starts) = failure_of(quick(), script);
    assert_eq!((error.kind(), starts), (ErrorKind::Closed, 2));
    let text = error.to_string();
    for part in ["connecting to 'sh", "initialize", "exited with status 3"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // The text is one line; the last words follow when they are asked for.
    assert!(!text.contains("cannot open the display"), "{text}");
    assert_eq!(error.stderr_tail(), Some("cannot open the display"));
    let whole = format!("{error:#}");
    assert!(whole.starts_with(&text) && whole.contains("cannot open the display"));
    // A pinned era, or a known one, is no reason to start again.
    let legacy = quick().revisions(ProtocolVersion::LEGACY);
    assert_eq!(failure_of(legacy, script).1, 1);
    let modern = quick().revisions(&[ProtocolVersion::LATEST]);
    assert_eq!(failure_of(modern, script).1, 1);
}

// Must not happen: connecting, probing, closing and token requests have no deadline; ending a stubborn child takes for ever.
// L-CANC-C-02
#[test]
fn a_child_that_never_says_anything_is_given_up_in_time() {
    let client = asker()
        .probe_timeout(Duration::from_millis(100))
        .connect_timeout(Duration::from_secs(1));
    let (error, starts) = failure_of(client, "echo 'waiting for a lock' >&2; exec sleep 1000");
    // Its silence says nothing: it has read nothing.
    assert_eq!((error.kind(), starts), (ErrorKind::Timeout, 1));
    let text = error.to_string();
    for part in [
        "connecting to 'sh",
        "server/discover was not read",
        "connect_timeout is 1 s",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(error.stderr_tail(), Some("waiting for a lock"));
}

/// Opens a gate for a child that waits for it, after a while.
fn open_later(gate: &Starts, span: Duration) -> thread::JoinHandle<()> {
    let gate = gate.0.clone();
    thread::spawn(move || {
        thread::sleep(span);
        std::fs::write(gate, "").unwrap();
    })
}

// M-STDIO-C-14, M-VER-C-09: silence before a server has read anything is no verdict.
#[test]
fn a_child_that_needs_time_to_start_is_waited_for() {
    let modern = r#"read_one; discovered; while read_one; do :; done"#;
    let starting = |script: &str, era, pipes| {
        let (starts, gate, memory) = (Starts::new(), Starts::new(), EraMemory::new());
        let script = format!(r#"while [ ! -e "$GATE" ]; do sleep 0.02; done; {script}"#);
        let child = child(&starts, &script).env("GATE", &gate.0).pipes(pipes);
        let client = asker()
            .era_memory(&memory)
            .probe_timeout(Duration::from_millis(50))
            .connect_timeout(Duration::from_secs(4));
        // Longer than a probe may take, and than half of the time.
        let opening = open_later(&gate, Duration::from_millis(2300));
        let client = connect(client, child).unwrap();
        opening.join().unwrap();
        assert_eq!((client.era(), starts.count()), (era, 1));
        assert_eq!(memory.entries().len(), 1);
    };
    thread::scope(|threads| {
        for (script, era) in [(modern, Era::Modern), ("serve", Era::Legacy)] {
            for pipes in [false, true] {
                threads.spawn(move || starting(script, era, pipes));
            }
        }
    });
}

// It reads for a server that is slow to start: `docker run -i`, `ssh`.
#[test]
fn a_late_answer_of_a_child_counts_when_initialize_was_sent_meanwhile() {
    let (starts, memory) = (Starts::new(), EraMemory::new());
    let script = r#"
        read_one; probe=$line; read_one; line=$probe; discovered
        while read_one; do printf '{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","content":[]}}\n' "$(id)"; done"#;
    let client = quick()
        .era_memory(&memory)
        .probe_timeout(Duration::from_millis(50));
    let client = connect(client, child(&starts, script)).unwrap();
    client.call_tool("t", &json!({})).unwrap();
    assert_eq!((client.era(), starts.count()), (Era::Modern, 1));
    assert_eq!(memory.entries()[0].1, Era::Modern);
    // A late refusal proves the other era.
    let (starts, memory) = (Starts::new(), EraMemory::new());
    let script = r#"
        read_one; probe=$line; read_one; first=$line
        line=$probe; refuse; line=$first; agree; serve"#;
    let client = quick()
        .era_memory(&memory)
        .probe_timeout(Duration::from_millis(50));
    let client = connect(client, child(&starts, script)).unwrap();
    assert_eq!((client.era(), starts.count()), (Era::Legacy, 1));
    assert_eq!(memory.entries()[0].1, Era::Legacy);
}

// M-VER-C-09
#[test]
fn what_came_of_silence_is_not_remembered() {
    let (starts, memory) = (Starts::new(), EraMemory::new());
    for _ in 0..2 {
        let client = quick()
            .era_memory(&memory)
            .probe_timeout(Duration::from_millis(50));
        let client = connect(client, child(&starts, "read_one; serve")).unwrap();
        assert_eq!(client.era(), Era::Legacy);
        assert_eq!(memory.entries(), []);
    }
    assert_eq!(starts.count(), 2);
}

#[test]
fn a_child_that_leaves_without_having_read_anything_is_started_once() {
    for script in ["exit 3", "sleep 0.2; exit 3", "exec <&-; sleep 0.1; exit 3"] {
        let (error, starts) = failure_of(quick(), script);
        assert_eq!((error.kind(), starts), (ErrorKind::Closed, 1), "{script}");
        let text = error.to_string();
        assert!(text.contains("exited with status 3"), "{text}");
    }
}

/// A bridge that opens its own session at the first message, whatever it is.
const BRIDGE: &str = r#"
    already() { printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32600,"message":"already initialized"}}\n' "$(id)"; }
    read_one
    case "$line" in
        *'"method":"initialize"'*) agree; serve ;;
        *) refuse; while read_one; do already; done ;;
    esac"#;

// M-VER-C-14, M-VER-C-09
#[test]
fn a_child_that_the_probe_spoils_is_opened_afresh_with_initialize_first() {
    let (starts, memory) = (Starts::new(), EraMemory::new());
    for expected in [2, 3] {
        let client = quick().era_memory(&memory);
        let client = connect(client, child(&starts, BRIDGE)).unwrap();
        client.call_tool("t", &json!({})).unwrap();
        assert_eq!((client.era(), starts.count()), (Era::Legacy, expected));
    }
    assert_eq!(memory.entries()[0].1, Era::Legacy);
}

#[test]
fn a_failed_opening_tells_of_each_start() {
    let script = r#"
        already() { printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32600,"message":"already initialized"}}\n' "$(id)"; }
        echo "$$" >> "$PIDS"; read_one
        case "$line" in *discover*) refuse; read_one; already ;; *) echo 'no display' >&2; exit 4 ;; esac
        read_one"#;
    let (starts, pids) = (Starts::new(), Starts::new());
    let child = child(&starts, script).env("PIDS", &pids.0);
    let error = connect(quick(), child).unwrap_err();
    assert_eq!(starts.count(), 2);
    let text = error.to_string();
    let pids = std::fs::read_to_string(&pids.0).unwrap();
    for pid in pids.lines() {
        assert!(text.contains(&format!("(process {pid})")), "{text}");
    }
    for part in [
        "exited with status 4",
        "refused initialize: already initialized",
        "refused server/discover",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains('\n'), "{text}");
    assert_eq!(error.stderr_tail(), Some("no display"));
}

// Seen in other SDKs: an old server that dies, hangs or babbles at the era probe is lost.
// M-VER-C-09, M-VER-C-10
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

// Must not happen: the verdict on a server outlives its upgrade.
// M-VER-C-10
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

// Seen in other SDKs: a banner on standard output makes connecting fail.
// AMB-32
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

// Seen in other SDKs: a banner on standard output makes connecting fail.
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

// Seen in other SDKs: a child that writes much to standard error blocks, since nobody reads it.
// M-STDIO-C-03, L-STDIO-C-04
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

// Seen in other SDKs: waiting calls sleep on after the end of file.
// Must not happen: the error of a lost child tells neither its last words nor its exit status.
// M-STDIO-C-10
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
    for part in ["tools/call", "exited with status 139"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let last = error.stderr_tail().unwrap();
    assert!(last.contains("not really"), "{last}");
    assert_eq!(starts.count(), 1);
}

/// The answer to a call of a tool.
const CALLED: &str = r#"called() { printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"called"}]}}\n' "$(id)"; }"#;

// Must not happen: the error of a lost child tells neither its last words nor its exit status.
#[test]
fn only_what_a_child_says_after_its_last_answer_are_its_last_words() {
    for (death, expected) in [
        ("read_one; exit 3", None),
        ("read_one; echo 'no memory' >&2; exit 3", Some("no memory")),
    ] {
        let script = format!(
            "{CALLED}
            echo starting >&2; read_one; echo probed >&2; refuse
            read_one; echo initializing >&2; agree; read_one
            read_one; call=$line; echo calling >&2; read_one; line=$call; called; {death}"
        );
        let starts = Starts::new();
        let server = child(&starts, &script);
        let everything = server.stderr_tail();
        let client = connect(quick(), server).unwrap();
        thread::scope(|scope| {
            let call = scope.spawn(|| client.call_tool("t", &json!({})));
            // Two pipes have no order: the child answers when its line has been read.
            wait_until("the line has been read", || {
                everything.text().contains("calling")
            });
            client.notify("notifications/read", &json!({})).unwrap();
            call.join().unwrap().unwrap();
        });
        let error = client.call_tool("t", &json!({})).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Closed);
        assert_eq!(error.stderr_tail(), expected, "{error:?}");
        assert!(everything.text().starts_with("starting\n"));
    }
    // One that dies of its answer may have said so before that was read.
    let script = format!(
        "{CALLED}
        read_one; refuse; read_one; agree; read_one
        read_one; called; echo 'no memory' >&2; exit 3"
    );
    let starts = Starts::new();
    let client = connect(quick(), child(&starts, &script)).unwrap();
    client.call_tool("t", &json!({})).unwrap();
    let error = client.call_tool("t", &json!({})).unwrap_err();
    let last = error.stderr_tail().unwrap_or_default();
    assert!(last.ends_with("no memory"), "{error:?}");
}

// The end of a child shows in the process, not in its pipes, which other processes may hold.
#[test]
fn a_server_that_has_died_is_noticed_although_others_hold_its_pipes() {
    let script =
        r#"sleep 1000 & read_one; refuse; read_one; agree; read_one; read_one; kill -KILL $$"#;
    let starts = Starts::new();
    let client = connect(quick(), child(&starts, script)).unwrap();
    let witness = Witness::start();
    let error = client.call_tool("t", &json!({})).unwrap_err();
    witness.expect_at_once();
    assert_eq!(error.kind(), ErrorKind::Closed);
    assert!(error.to_string().contains("SIGKILL"), "{error}");
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

// The deadline also covers ending a server after a failed connection.
#[test]
fn connecting_to_a_child_that_neither_answers_nor_leaves_ends_with_its_deadline() {
    let witness = Witness::start();
    let time = Duration::from_millis(300);
    let error = Client::builder("test", "1")
        .connect_timeout(time)
        .connect(Child::new("sh").args(["-c", "trap '' TERM; while :; do sleep 1; done"]))
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    witness.expect_within(2 * time);
}
