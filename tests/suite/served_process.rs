//! Clients and servers in processes of their own: this test binary, started again as a server.

use std::io::{Read, Write};
use std::process::Stdio;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use mcplink::ErrorKind;
use mcplink::client::CallOptions;
use mcplink::client::Client;
use mcplink::schema::{JsonSchema, ProtocolVersion, Resource, Tool};
use mcplink::server::{Context, HandlerError, ResourceRead, Server, ServerBuilder, ToolCall};
use mcplink::transport::{Child, StderrTail};
use serde_json::{Value, json};

use crate::common::Witness;
#[cfg(unix)]
use crate::common::wait_until;
use crate::scripted::{LONG, asker, connect, greeter, in_time, modern, take};

/// The lines of the test harness that reach the wire before the server takes it.
const BANNER: u64 = 1;

fn arguments(name: &str) -> [&str; 6] {
    [
        "--exact",
        name,
        "--ignored",
        "--quiet",
        "--nocapture",
        "--test-threads=1",
    ]
}

fn process(name: &str) -> Child {
    Child::new(std::env::current_exe().unwrap())
        .args(arguments(name))
        .grace(Duration::from_secs(20))
}

fn server() -> ServerBuilder {
    greeter()
        .tool_with(Tool::new("pid"), |_: Value, _: &Context| {
            std::process::id().to_string()
        })
        .tool_with(Tool::new("noisy"), noisy)
        .tool_with(Tool::new("linger"), linger)
        .tool_with(Tool::new("stay"), |_: Value, context: &Context| {
            context.progress(1.0, None, None);
            // It never looks whether it is cancelled.
            loop {
                std::thread::park();
            }
            #[expect(unreachable_code, reason = "it gives the handler a type")]
            ()
        })
}

#[cfg(unix)]
use libc::{fflush, printf, write};
#[cfg(windows)]
// SAFETY: these are functions of the C library.
unsafe extern "C" {
    fn printf(format: *const std::ffi::c_char, ...) -> std::ffi::c_int;
    fn fflush(file: *mut std::ffi::c_void) -> std::ffi::c_int;
    #[link_name = "_write"]
    fn write(
        fd: std::ffi::c_int,
        bytes: *const std::ffi::c_void,
        len: std::ffi::c_uint,
    ) -> std::ffi::c_int;
}

/// Writes to standard output in every way there is.
fn noisy(_: Value, _: &Context) -> &'static str {
    let line = c"stray printf\n";
    let raw = b"stray write\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n";
    // SAFETY: the format ends in NUL and has no directives; the bytes are as many as said.
    unsafe {
        printf(line.as_ptr());
        fflush(std::ptr::null_mut());
        write(1, raw.as_ptr().cast(), raw.len() as _);
    }
    // On Unix, it ends at the end of its input.
    #[cfg(unix)]
    let mut command = std::process::Command::new("sh");
    #[cfg(unix)]
    command.args(["-c", "echo stray child; cat"]);
    #[cfg(windows)]
    let mut command = std::process::Command::new("cmd");
    #[cfg(windows)]
    command.args(["/d", "/c", "echo stray child"]);
    let echo = command.status();
    assert!(echo.unwrap().success());
    "quiet"
}

/// Tells that it runs, goes on until it is cancelled, and notes that in a file.
fn linger(arguments: Value, context: &Context) {
    context.progress(1.0, None, None);
    if context.cancel_token().wait(LONG) {
        std::fs::write(arguments["note"].as_str().unwrap(), "cancelled").unwrap();
    }
}

#[test]
#[ignore = "takes the standard streams: run by the tests below"]
fn serving() {
    server().serve_stdio().unwrap();
}

#[test]
#[ignore = "takes the standard streams: run by the tests below"]
fn serving_with_a_short_drain() {
    let drain = Duration::from_millis(300);
    server().drain(drain).serve_stdio().unwrap();
}

#[test]
#[ignore = "takes the standard streams: run by the tests below"]
fn serving_what_fails() {
    let broken = |_: &ResourceRead, _: &Context| {
        let error = std::io::Error::other("the disk is full");
        Err::<String, HandlerError>(error.into())
    };
    server()
        .resource(Resource::new("r:1", "r"), broken)
        .serve_stdio()
        .unwrap();
}

#[test]
#[ignore = "takes the standard streams: run by the tests below"]
fn serving_what_misfits() {
    let promised = JsonSchema::parse(r#"{"type":"object","required":["n"]}"#).unwrap();
    let tool = Tool::new("promises").output_schema(promised);
    server()
        .tool_with(tool, |_: Value, _: &Context| "only a text")
        .serve_stdio()
        .unwrap();
}

#[test]
#[ignore = "takes the standard streams: run by the tests below"]
fn serving_slowly() {
    let (keep, kept) = mpsc::channel::<ToolCall>();
    std::thread::spawn(move || {
        // The answer is given while the connection drains.
        let call = kept.recv().unwrap();
        call.context().progress(1.0, None, None);
        let note = call.arguments::<Value>().unwrap()["note"].clone();
        let peer = call.context().peer();
        while !peer.is_closed() {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(!call.context().is_cancelled());
        std::fs::write(note.as_str().unwrap(), "finished").unwrap();
        call.respond("done").unwrap();
    });
    Server::builder("s", "1")
        .deferred_tool(
            Tool::new("linger").input_schema(JsonSchema::any_object()),
            move |call| drop(keep.send(call)),
        )
        .serve_stdio()
        .unwrap();
}

fn open(name: &str) -> (Client, StderrTail) {
    let child = process(name);
    let stderr = child.stderr_tail();
    (connect(asker(), child).unwrap(), stderr)
}

fn pid(client: &Client) -> String {
    let result = client.call_tool("pid", &json!({})).unwrap();
    result.content[0].as_text().unwrap().to_owned()
}

/// Starts a call and returns once its handler runs.
fn begin(
    client: &Client,
    tool: &'static str,
    arguments: Value,
) -> std::thread::JoinHandle<mcplink::Error> {
    let (running, runs) = mpsc::channel();
    let client = client.clone();
    let call = std::thread::spawn(move || {
        let options = CallOptions::new().on_progress(|_| _ = running.send(()));
        client
            .call_tool_with(tool, &arguments, options)
            .unwrap_err()
    });
    take(&runs);
    call
}

fn close(client: Client) {
    in_time(move || client.close());
}

// Seen in other SDKs: a stray print to standard output breaks the protocol.
// M-STDIO-S-04, M-STDIO-S-07, L-STDIO-S-05, M-VER-B-17, M-STDIO-B-01
#[test]
fn a_handler_that_prints_disturbs_nobody_in_any_era() {
    for revisions in [&[ProtocolVersion::LATEST][..], ProtocolVersion::LEGACY] {
        let child = process("served_process::serving");
        let stderr = child.stderr_tail();
        let client = connect(asker().revisions(revisions), child).unwrap();
        assert_eq!(client.revision(), *revisions.iter().max().unwrap());
        for _ in 0..3 {
            let quiet = client.call_tool("noisy", &json!({})).unwrap();
            assert_eq!(quiet.content[0].as_text(), Some("quiet"));
        }
        let lines = json!({ "name": "a\nb\r\nc\u{2028}" });
        let greeted = client.call_tool("greet", &lines).unwrap();
        assert_eq!(
            greeted.content[0].as_text(),
            Some("Hello, a\nb\r\nc\u{2028}!")
        );
        let stats = client.stats();
        assert_eq!(
            (stats.noise, stats.unknown_responses),
            (BANNER, 0),
            "{stats:?}"
        );
        close(client);
        let printed = stderr.text();
        for stray in ["stray printf", "stray write", "stray child"] {
            assert_eq!(printed.matches(stray).count(), 3, "{printed}");
        }
    }
}

#[test]
fn a_failure_that_no_hook_gets_is_told_once_on_standard_error() {
    let (client, stderr) = open("served_process::serving_what_fails");
    for _ in 0..3 {
        let error = client.read_resource("r:1").unwrap_err();
        assert!(error.to_string().contains("internal error"), "{error}");
    }
    close(client);
    let printed = stderr.text();
    let told = "mcplink: resource 'r:1' failed: the disk is full (";
    assert_eq!(printed.matches(told).count(), 1, "{printed}");
    assert_eq!(printed.matches("the disk is full").count(), 1, "{printed}");

    let (client, stderr) = open("served_process::serving_what_misfits");
    for _ in 0..2 {
        let error = client.call_tool("promises", &json!({})).unwrap_err();
        assert!(error.to_string().contains("internal error"), "{error}");
    }
    close(client);
    let printed = stderr.text();
    let told = "mcplink: the result of tool 'promises': it has no structured content";
    assert_eq!(printed.matches(told).count(), 1, "{printed}");
}

// Seen in other SDKs: a stdio server lives on after the end of its input.
// M-STDIO-S-09
#[test]
fn an_idle_server_leaves_at_once_when_its_input_ends() {
    let (client, _) = open("served_process::serving");
    let pid = pid(&client);
    let witness = Witness::start();
    close(client);
    witness.expect_at_once();
    #[cfg(unix)]
    assert!(!std::path::Path::new("/proc").join(pid).exists());
    #[cfg(windows)]
    drop(pid);
}

fn note() -> std::path::PathBuf {
    let name = format!(
        "mcplink-note-{}-{:?}",
        std::process::id(),
        std::thread::current().id()
    );
    let path = std::env::temp_dir().join(name);
    drop(std::fs::remove_file(&path));
    path
}

// Seen in other SDKs: a stdio server lives on after the end of its input.
// M-STDIO-S-09
#[test]
fn a_server_that_drains_cancels_what_takes_too_long() {
    let (client, _) = open("served_process::serving_with_a_short_drain");
    let note = note();
    let call = begin(&client, "linger", json!({ "note": note }));
    let begun = Instant::now();
    close(client);
    assert!(begun.elapsed() >= Duration::from_millis(300));
    assert_eq!(call.join().unwrap().kind(), ErrorKind::Closed);
    assert_eq!(std::fs::read_to_string(&note).unwrap(), "cancelled");
    std::fs::remove_file(note).unwrap();
}

// Seen in other SDKs: a stdio server lives on after the end of its input.
// M-STDIO-S-09
#[test]
fn a_handler_that_never_returns_does_not_keep_the_server() {
    let (client, _) = open("served_process::serving_with_a_short_drain");
    let call = begin(&client, "stay", json!({}));
    close(client);
    assert_eq!(call.join().unwrap().kind(), ErrorKind::Closed);
}

// As over HTTP: a client that only ends its input reads on.
#[test]
fn calls_that_are_cut_off_at_the_end_of_the_input_are_answered() {
    let mut server = std::process::Command::new(std::env::current_exe().unwrap())
        .args(arguments("served_process::serving_with_a_short_drain"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = server.stdin.take().unwrap();
    // More than there are workers: some run, and some wait for a worker.
    for id in 0..100 {
        let params = modern(json!({ "name": "stay", "arguments": {} }));
        let call = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
        writeln!(input, "{call}").unwrap();
    }
    drop(input);
    let mut output = server.stdout.take().unwrap();
    let text = in_time(move || {
        let mut text = String::new();
        output.read_to_string(&mut text).unwrap();
        text
    });
    let answers = text
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut answered: Vec<u64> = answers
        .filter(|message| message.get("id").is_some())
        .map(|answer| {
            let error = &answer["error"];
            assert_eq!(error["code"], -32603, "{answer}");
            let text = error["message"].as_str().unwrap();
            assert!(text.contains("cut off: standard input has ended"), "{text}");
            answer["id"].as_u64().unwrap()
        })
        .collect();
    answered.sort_unstable();
    assert_eq!(answered, Vec::from_iter(0..100));
    assert!(in_time(move || server.wait()).unwrap().success());
}

// Seen in other SDKs: a stdio server lives on after the end of its input.
#[test]
fn a_call_in_hand_may_finish_while_the_server_drains() {
    let (client, _) = open("served_process::serving_slowly");
    let note = note();
    let call = begin(&client, "linger", json!({ "note": note }));
    close(client);
    assert_eq!(call.join().unwrap().kind(), ErrorKind::Closed);
    assert_eq!(std::fs::read_to_string(&note).unwrap(), "finished");
    std::fs::remove_file(note).unwrap();
}

/// CPU time of a process so far.
#[cfg(unix)]
fn cpu(pid: &str) -> Duration {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let nanos = tasks.map(|task| {
        let text = std::fs::read_to_string(task.unwrap().path().join("schedstat")).unwrap();
        text.split(' ').next().unwrap().parse::<u64>().unwrap()
    });
    Duration::from_nanos(nanos.sum())
}

#[cfg(unix)]
fn library_threads(pid: &str) -> usize {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    tasks
        .filter(|task| {
            let name = task.as_ref().unwrap().path().join("comm");
            std::fs::read_to_string(name).is_ok_and(|name| name.starts_with("mcplink"))
        })
        .count()
}

// Seen in other SDKs: a server spins at full CPU on a closed pipe; the library brings a runtime and threads before it is used.
#[cfg(unix)] // Another process is looked at in `/proc`.
#[test]
fn an_idle_server_has_few_threads_and_uses_no_time() {
    let (client, _) = open("served_process::serving");
    let pid = pid(&client);
    // With the one that serves these are three. A worker that has nothing to do any more may stay for a while.
    wait_until("workers have left", || library_threads(&pid) <= 2);
    let before = cpu(&pid);
    std::thread::sleep(Duration::from_secs(1));
    let used = cpu(&pid).saturating_sub(before);
    assert!(used < Duration::from_millis(20), "{used:?}");
    close(client);
}
