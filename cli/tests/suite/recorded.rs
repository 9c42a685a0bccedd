//! `mcplink record` and `mcplink replay`.

use std::fs;
use std::path::PathBuf;

use mcplink::client::{CallOptions, Client, ClientBuilder};
use mcplink::schema::{ElicitResult, ProtocolVersion};
use mcplink::transport::Child;
use serde_json::{Value, json};

use crate::common::LONG;
use crate::runs::{MCPLINK, Ran, example, program};

const ERAS: [ProtocolVersion; 2] = [ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28];

fn file(name: &str) -> PathBuf {
    let folder = std::env::temp_dir();
    folder.join(format!("mcplink-{}-{name}", std::process::id()))
}

fn client(revision: ProtocolVersion) -> ClientBuilder {
    Client::builder("test", "1.0")
        .revisions(&[revision])
        .on_elicit(|form, _| {
            let content = json!({"username": "Ada", "email": form.message});
            ElicitResult::accept(&content).unwrap()
        })
}

/// Uses the server in one way.
fn converse(client: &Client) -> Vec<Value> {
    let calls = [
        ("echo", json!({"message": "Hello"})),
        ("test_elicitation", json!({"message": "Who?"})),
    ];
    let mut answers = Vec::new();
    for (name, arguments) in calls {
        let options = CallOptions::new().timeout(LONG);
        let result = client.call_tool_raw(name, &arguments, options).unwrap();
        answers.push(serde_json::from_str(&result).unwrap());
    }
    answers
}

fn run(words: &[&str]) -> Ran {
    let output = program()
        .args(words)
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    Ran {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn a_recorded_conversation_is_replayed_as_server_and_as_client() {
    let every = example("everything_server");
    let every = every.to_str().unwrap();
    for revision in ERAS {
        let trace = file(&format!("{revision}.jsonl"));
        let path = trace.to_str().unwrap();
        let recorder = Child::new(MCPLINK).args(["record", path, "--", every, "stdio"]);
        let recording = client(revision).connect(recorder).unwrap();
        let answers = converse(&recording);
        recording.close();

        // As the server: a client that does the same gets the same.
        let replay = Child::new(MCPLINK).args(["replay", path]);
        let replayed = client(revision).connect(replay).unwrap();
        assert_eq!(converse(&replayed), answers, "{revision}");
        replayed.close();

        // As the client, to the server itself.
        let same = run(&["replay", path, "--timeout", "30", "--", every, "stdio"]);
        assert_eq!(same.code, 0, "{revision}: {} {}", same.out, same.err);
        assert!(same.err.contains("are as recorded"), "{}", same.err);

        // Against a record in which an answer is another one.
        let text = fs::read_to_string(&trace).unwrap();
        let recorded = r#""text":"Hello""#;
        assert!(text.contains(recorded), "{text}");
        fs::write(&trace, text.replace(recorded, r#""text":"Goodbye""#)).unwrap();
        let words = ["replay", path, "--", every, "stdio"];
        let other = run(&words);
        assert_eq!(other.code, 1, "{revision}: {} {}", other.out, other.err);
        for part in [
            "the response to tools/call (id",
            "  result.content[0].text\n    - \"Goodbye\"\n    + \"Hello\"\n",
        ] {
            assert!(other.out.contains(part), "{}", other.out);
        }
        let json = run(&["--json", "replay", path, "--", every, "stdio"]);
        let json: Value = serde_json::from_str(&json.out).unwrap();
        let change = &json["differences"][0]["changes"][0];
        assert_eq!(change["path"], "result.content[0].text");
        assert_eq!(change["recorded"], "Goodbye");
        let ignored = run(&["replay", path, "--ignore", "text", "--", every, "stdio"]);
        assert_eq!(ignored.code, 0, "{} {}", ignored.out, ignored.err);
        fs::remove_file(trace).unwrap();
    }
}

#[test]
fn a_server_that_ends_before_its_host_is_a_failure() {
    let trace = file("crashed.jsonl");
    fs::write(&trace, "earlier").unwrap();
    let mut child = program()
        .args([
            "record",
            trace.to_str().unwrap(),
            "--",
            "sh",
            "-c",
            "exit 7",
        ])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    // The host does not close its side: waiting would do that.
    let stdin = child.stdin.take();
    let output = child.wait_with_output().unwrap();
    drop(stdin);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.contains("the server has ended"), "{said}");
    // The file had something else, and everybody could read it.
    assert!(said.contains("crashed.jsonl is replaced"), "{said}");
    let mode =
        std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&trace).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    fs::remove_file(trace).unwrap();
}

#[test]
fn a_client_that_sends_something_else_is_told_the_line() {
    let trace = file("mismatch.jsonl");
    fs::write(
        &trace,
        "{\"t\":0,\"dir\":\"out\",\"message\":{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}}\n\
         {\"t\":1,\"dir\":\"in\",\"message\":{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}}\n",
    )
    .unwrap();
    let path = trace.to_str().unwrap();
    let play = |input: &str| {
        let mut child = program()
            .args(["replay", path])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        std::io::Write::write_all(&mut stdin, input.as_bytes()).unwrap();
        drop(stdin);
        let output = child.wait_with_output().unwrap();
        (
            output.status.code().unwrap(),
            String::from_utf8(output.stdout).unwrap(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let (code, out, err) = play("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}\n");
    assert_eq!((code, &*err), (0, ""));
    assert_eq!(out, "{\"id\":7,\"jsonrpc\":\"2.0\",\"result\":{}}\n");
    let (code, _, err) = play("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/list\"}\n");
    assert_eq!(code, 1, "{err}");
    assert!(
        err.contains("line 1") && err.contains("tools/list"),
        "{err}"
    );
    // The client ends too early.
    let (code, _, err) = play("");
    assert_eq!(code, 1, "{err}");
    assert!(err.contains("line 1"), "{err}");
    fs::remove_file(trace).unwrap();
}

/// The requests and the answers are larger than pipes, and the server writes before it reads on.
#[test]
fn requests_without_a_pause_block_no_server() {
    let trace = file("pipelined.jsonl");
    let large = "x".repeat(1 << 17);
    let line = |dir: &str, message: Value| json!({"t": 0, "dir": dir, "message": message});
    let count = 20;
    let request = |id| {
        let params = json!({ "text": large });
        line(
            "out",
            json!({"jsonrpc": "2.0", "id": id, "method": "ping", "params": params}),
        )
    };
    let answer = |id| {
        let result = json!({ "text": large });
        line("in", json!({"jsonrpc": "2.0", "id": id, "result": result}))
    };
    // sed may look at the next line before it prints one, so the last answer is not awaited.
    let lines = (0..count).map(request).chain((0..count - 1).map(answer));
    let lines: Vec<String> = lines.map(|line| line.to_string()).collect();
    fs::write(&trace, lines.join("\n") + "\n").unwrap();
    // It answers with the text of the request.
    let echo = r#"s/^.*"id":\([0-9]*\).*"text":"\(x*\)".*$/{"jsonrpc":"2.0","id":\1,"result":{"text":"\2"}}/"#;
    let words = [
        "replay",
        trace.to_str().unwrap(),
        "--timeout",
        "30",
        "--",
        "sed",
        "-u",
        echo,
    ];
    let ran = run(&words);
    assert_eq!(ran.code, 0, "{} {}", ran.out, ran.err);
    fs::remove_file(trace).unwrap();
}

#[test]
fn files_and_servers_that_can_not_be_used_are_named() {
    let trace = file("broken.jsonl");
    fs::write(&trace, "no trace\n").unwrap();
    let path = trace.to_str().unwrap();
    for (words, part) in [
        (vec!["replay", "/no/such/file"], "/no/such/file"),
        (vec!["replay", path], "line 1"),
        (vec!["replay", path, "--", "true"], "line 1"),
        (
            vec!["record", "/no/such/folder/f", "--", "true"],
            "/no/such/folder/f",
        ),
        (vec!["record", path], "the server is missing"),
        (
            vec!["record", path, "--url", "http://127.0.0.1:1/"],
            "proxy --record",
        ),
    ] {
        let ran = run(&words);
        assert_eq!(ran.code, 2, "{words:?}: {}", ran.err);
        assert!(ran.err.contains(part), "{words:?}: {}", ran.err);
    }
    // A server that ends does not answer.
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    let line = |dir: &str, message: &Value| json!({"t": 0, "dir": dir, "message": message});
    let answer = json!({"jsonrpc": "2.0", "id": 1, "result": {}});
    fs::write(
        &trace,
        format!("{}\n{}\n", line("out", &message), line("in", &answer)),
    )
    .unwrap();
    let ran = run(&["replay", path, "--", "true"]);
    assert_eq!(ran.code, 4, "{} {}", ran.out, ran.err);
    fs::remove_file(trace).unwrap();
}
