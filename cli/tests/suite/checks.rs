//! The action `check`: a correct server passes, and each planted fault is found.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::thread;

use serde_json::Value;

use crate::runs::{example, program};

/// A server over HTTP, which ends with its value.
struct Listening {
    child: Child,
    url: String,
}

impl Listening {
    fn start(program: &str, words: &[&str]) -> Self {
        let mut command = Command::new(example(program));
        let command = command
            .args(words)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // One tells its URL on standard output, the other one on standard error.
        let url = match program {
            "bad_server" => line_with_url(child.stdout.take().unwrap()),
            _ => line_with_url(child.stderr.take().unwrap()),
        };
        Self { child, url }
    }
}

fn line_with_url(stream: impl std::io::Read) -> String {
    let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
    let line = lines.find(|line| line.contains("http://")).unwrap();
    line[line.find("http://").unwrap()..].trim().to_owned()
}

impl Drop for Listening {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// Runs checks, and returns the exit code and the report.
pub(crate) fn check(words: &[&str]) -> (i32, Value) {
    let mut command = program();
    let output = command
        .args(["check", "--format", "json"])
        .args(words)
        .output()
        .unwrap();
    let report = serde_json::from_slice(&output.stdout);
    let said = String::from_utf8_lossy(&output.stderr);
    let report = report.unwrap_or_else(|error| panic!("{words:?}: {error}: {said}"));
    (output.status.code().unwrap(), report)
}

pub(crate) fn names(report: &Value, status: &str) -> Vec<String> {
    let checks = report["checks"].as_array().unwrap().iter();
    let checks = checks.filter(|check| check["status"] == status);
    checks
        .map(|check| check["name"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_server_on_a_unix_socket_can_not_be_checked() {
    let url = "HTTP+unix://%2Frun%2Fshop.sock/mcp";
    let run = program().args(["check", "--url", url]).output().unwrap();
    let said = String::from_utf8(run.stderr).unwrap();
    assert_eq!(run.status.code(), Some(2), "{said}");
    assert!(said.contains("listen on a port"), "{said}");
}

#[test]
fn a_correct_server_passes_everything() {
    let server = example("everything_server");
    let server = server.to_str().unwrap();
    let (code, report) = check(&[
        "--call",
        "echo",
        "--arguments",
        r#"{"message":"x"}"#,
        "--",
        server,
        "stdio",
    ]);
    assert_eq!((code, names(&report, "failed")), (0, vec![]), "{report:#}");
    assert_eq!(names(&report, "noted"), ["schemas/host-root"]);
    assert!(
        names(&report, "skipped")
            .iter()
            .all(|name| name.starts_with("http/"))
    );
    assert_eq!(
        report["revisions"],
        serde_json::json!(["2026-07-28", "2025-11-25"])
    );
    let listening = Listening::start("everything_server", &["http", "127.0.0.1:0"]);
    let (code, report) = check(&["--url", &listening.url]);
    assert_eq!((code, names(&report, "failed")), (0, vec![]), "{report:#}");
    assert!(
        names(&report, "skipped")
            .iter()
            .all(|name| name.starts_with("manners/") || name == "results/call")
    );
}

/// Runs each fault, four at once.
fn find_each(faults: &[(&str, &str)], words: impl Fn(&str) -> Vec<String> + Sync) {
    let left = Mutex::new(faults.iter());
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let Some((fault, expected)) = left.lock().unwrap().next() else {
                        return;
                    };
                    // A correct server passes every check.
                    let mut words = words(fault);
                    words.splice(0..0, ["--only".to_owned(), (*expected).to_owned()]);
                    let words: Vec<&str> = words.iter().map(|word| &**word).collect();
                    let (code, report) = check(&words);
                    let failed = names(&report, "failed");
                    let wanted = [*expected].into_iter().filter(|name| !name.is_empty());
                    let wanted: Vec<&str> = wanted.collect();
                    assert_eq!(failed, wanted, "{fault}: {}", report["checks"][0]["text"]);
                    assert_eq!(code, i32::from(!expected.is_empty()), "{fault}");
                }
            });
        }
    });
}

#[test]
fn faults_of_servers_over_stdio_are_found() {
    let server = example("bad_server");
    let faults = [
        ("none", ""),
        ("no name", "protocol/initialize"),
        ("any version", "protocol/initialize-version"),
        ("no ping", "protocol/ping"),
        ("ids are text", "protocol/request-id"),
        ("no jsonrpc", "protocol/message-form"),
        ("any method", "protocol/unknown-method"),
        ("answers notifications", "protocol/unknown-notification"),
        ("dies of bad JSON", "protocol/invalid-json"),
        ("no list", "protocol/lists"),
        ("any cursor", "protocol/unknown-cursor"),
        ("any tool", "protocol/unknown-tool"),
        ("asks", "protocol/requests-of-server"),
        ("prints", "manners/stdout"),
        ("dies", "manners/silence"),
        ("stays", "manners/exit"),
        ("talks", "manners/silence"),
        ("adds tools", ""),
        ("forgets requests", "manners/many"),
        ("dies of large messages", "manners/large"),
        ("bad name", "schemas/tool-names"),
        ("same name", "schemas/tool-names"),
        ("no object", "schemas/input"),
        ("bad type", "schemas/valid"),
        ("foreign reference", "schemas/references"),
        ("dangling reference", "schemas/references"),
        ("unknown required", "schemas/required"),
        ("output", "schemas/output"),
        ("no description", "schemas/descriptions"),
        ("long name", "schemas/host-names"),
        ("combined root", "schemas/host-root"),
        ("array", "schemas/host-arrays"),
        ("many tools", "schemas/host-count"),
    ];
    find_each(&faults, |fault| {
        let words = [
            "--level",
            "hosts",
            "--timeout",
            "5",
            "--era",
            "legacy",
            "--",
        ];
        let server = [server.to_str().unwrap(), fault];
        words.into_iter().chain(server).map(str::to_owned).collect()
    });
}

#[test]
fn faults_of_servers_over_http_are_found() {
    for (fault, expected) in [
        ("none", ""),
        ("any origin", "http/origin"),
        ("any host", "http/host"),
        ("text", "http/content-type"),
        ("status 200", "http/notification"),
        ("get", "http/get"),
        ("numbered sessions", "http/session-id"),
        ("any session", "http/unknown-session"),
        ("no session needed", "http/missing-session"),
    ] {
        let listening = Listening::start("bad_server", &[fault, "http"]);
        find_each(&[(fault, expected)], |_| {
            let words = ["--era", "legacy", "--url", &listening.url];
            words.map(str::to_owned).to_vec()
        });
    }
}

#[test]
fn reports_name_the_requirement_and_the_remedy() {
    let server = example("bad_server");
    let run = |words: &[&str]| {
        let mut command = program();
        command
            .args(["check", "--era", "legacy", "--only", "manners/stdout"])
            .args(words);
        let output = command
            .arg("--")
            .arg(&server)
            .arg("prints")
            .output()
            .unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap(),
        )
    };
    let (code, text) = run(&[]);
    assert_eq!(code, Some(1));
    assert_eq!(
        text,
        "The server, a command, speaks 2025-11-25.\n\
         FAILED manners/stdout               in 2025-11-25: 1 lines are no messages; the first one: \"Server is running!\"\n       \
         requirement: M-STDIO-S-04, L-STDIO-S-05 (must), see docs/requirements\n       \
         remedy: write only messages to standard output; logs and prints belong to standard error\n\
         0 passed, 1 failed, 0 noted, 0 skipped\n"
    );
    let (code, xml) = run(&["--format", "junit"]);
    assert_eq!(code, Some(1));
    assert!(
        xml.contains("<testcase classname=\"manners\" name=\"stdout\""),
        "{xml}"
    );
    assert!(
        xml.contains("&quot;Server is running!&quot;\">M-STDIO-S-04 L-STDIO-S-05"),
        "{xml}"
    );
    let mut command = program();
    let list = command.args(["check", "--list"]).output().unwrap();
    assert!(String::from_utf8(list.stdout).unwrap().lines().count() > 40);
    // A failure above the level is only noted.
    let mut command = program();
    command.args(["check", "--only", "host-root", "--era", "legacy", "--"]);
    let output = command.arg(&server).arg("combined root").output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(
        String::from_utf8(output.stdout)
            .unwrap()
            .contains("note   schemas/host-root")
    );
}
