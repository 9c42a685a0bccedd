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

/// A trace file, and the replays of it as a server.
struct Trace(PathBuf);

impl Trace {
    fn of(name: &str, lines: &[(&str, Value)]) -> Self {
        let line = |(dir, message): &(&str, Value)| {
            json!({"t": 0, "dir": dir, "message": message}).to_string() + "\n"
        };
        let path = file(name);
        fs::write(&path, lines.iter().map(line).collect::<String>()).unwrap();
        Self(path)
    }

    fn play(&self, options: &[&str], messages: &[Value]) -> Ran {
        let mut child = program()
            .arg("replay")
            .arg(&self.0)
            .args(options)
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input: String = messages
            .iter()
            .map(|message| format!("{message}\n"))
            .collect();
        // A replay that has ended no longer reads.
        _ = std::io::Write::write_all(&mut stdin, input.as_bytes());
        drop(stdin);
        let output = child.wait_with_output().unwrap();
        Ran {
            code: output.status.code().unwrap(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        _ = fs::remove_file(&self.0);
    }
}

fn request(id: i64, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

fn result(id: i64, result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

#[test]
fn requests_of_the_client_are_compared_with_the_recorded_ones() {
    let call = |id, text: &str, at: &str| {
        let arguments = json!({"text": text, "at": at});
        let meta = json!({"progressToken": id});
        let params = json!({"name": "echo", "arguments": arguments, "_meta": meta});
        request(id, "tools/call", params)
    };
    let noon = "2026-01-01T12:00:00Z";
    let trace = Trace::of(
        "compared.jsonl",
        &[
            ("out", call(1, "Hello", noon)),
            ("in", result(1, json!({"content": []}))),
        ],
    );
    // Ids and times differ from run to run.
    let same = trace.play(&[], &[call(7, "Hello", "2027-02-03T04:05:06Z")]);
    assert_eq!((same.code, &*same.err), (0, ""));
    assert!(same.out.contains(r#""id":7"#), "{}", same.out);

    let other = trace.play(&[], &[call(7, "Goodbye", noon)]);
    assert_eq!(other.code, 1, "{}", other.err);
    assert_eq!(other.out, "");
    let shown = r#"line 1 expects the request tools/call with params.arguments.text "Hello", not "Goodbye""#;
    assert!(other.err.contains(shown), "{}", other.err);
    let ignored = trace.play(&["--ignore", "text"], &[call(7, "Goodbye", noon)]);
    assert_eq!((ignored.code, &*ignored.err), (0, ""));
    let without = trace.play(&[], &[request(7, "tools/call", json!({"name": "echo"}))]);
    assert_eq!(without.code, 1, "{}", without.err);
    assert!(without.err.contains("params.arguments"), "{}", without.err);
}

#[test]
fn requests_at_once_get_the_answers_to_their_params() {
    let call = |id, name: &str| request(id, "tools/call", json!({"name": name}));
    let trace = Trace::of(
        "at-once.jsonl",
        &[
            ("out", call(1, "first")),
            ("out", call(2, "second")),
            ("in", result(1, json!({"of": "first"}))),
            ("in", result(2, json!({"of": "second"}))),
        ],
    );
    let ran = trace.play(&[], &[call(5, "second"), call(6, "first")]);
    assert_eq!((ran.code, &*ran.err), (0, ""));
    let answers = ran.out.lines().map(|line| {
        let answer: Value = serde_json::from_str(line).unwrap();
        (answer["id"].clone(), answer["result"]["of"].clone())
    });
    let answers: Vec<_> = answers.collect();
    assert_eq!(
        answers,
        [(json!(6), json!("first")), (json!(5), json!("second"))]
    );
}

#[test]
fn answers_of_the_client_are_compared_with_the_recorded_ones() {
    let trace = Trace::of(
        "answers.jsonl",
        &[
            ("out", request(1, "tools/call", json!({"name": "ask"}))),
            (
                "in",
                request(1, "elicitation/create", json!({"message": "Who?"})),
            ),
            ("out", result(1, json!({"action": "decline"}))),
            ("in", result(1, json!({"content": []}))),
        ],
    );
    let call = request(1, "tools/call", json!({"name": "ask"}));
    let same = trace.play(
        &[],
        &[call.clone(), result(1, json!({"action": "decline"}))],
    );
    assert_eq!((same.code, &*same.err), (0, ""));
    let other = trace.play(&[], &[call, result(1, json!({"action": "cancel"}))]);
    assert_eq!(other.code, 1, "{}", other.err);
    let shown = "line 3 expects the response to request 1";
    assert!(other.err.contains(shown), "{}", other.err);
    assert!(other.err.contains("result.action"), "{}", other.err);
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
