//! The command-line client, `examples/mcp`, against `examples/interop_server`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

struct Ran {
    code: i32,
    out: String,
    err: String,
}

/// An example, which is built beside this test.
fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let folder = test.parent().and_then(Path::parent).unwrap();
    let path = folder.join("examples").join(name);
    assert!(
        path.exists(),
        "{} is missing: cargo build --examples",
        path.display()
    );
    path
}

/// Runs a command that is split at spaces, against the server.
fn mcp(line: &str) -> Ran {
    mcp_with(&line.split_whitespace().collect::<Vec<_>>(), "")
}

fn mcp_with(words: &[&str], input: &str) -> Ran {
    let server = example("interop_server");
    mcp_against(words, &[server.to_str().unwrap()], input)
}

fn mcp_against(words: &[&str], server: &[&str], input: &str) -> Ran {
    let mut child = Command::new(example("mcp"))
        .args(words)
        .arg("--")
        .args(server)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // Not all actions read it, and then it is closed early.
    _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    Ran {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// The one line of JSON that is all there is on standard output.
fn json_of(line: &str) -> (i32, Value) {
    let ran = mcp(line);
    assert_eq!(ran.out.lines().count(), 1, "{line}: {}", ran.out);
    (ran.code, serde_json::from_str(&ran.out).unwrap())
}

#[test]
fn it_tells_who_the_server_is() {
    for (era, revision) in [
        ("legacy", "2025-11-25"),
        ("modern", "2026-07-28"),
        ("auto", "2026-07-28"),
    ] {
        let (code, info) = json_of(&format!("info --json --era {era}"));
        assert_eq!(code, 0);
        assert_eq!(
            (&info["name"], &info["version"]),
            (&json!("interop"), &json!("1.0"))
        );
        assert_eq!(info["protocolVersion"], revision);
        assert!(info["capabilities"]["tools"].is_object());
        assert!(info.as_object().unwrap().contains_key("instructions"));
    }
    let (_, info) = json_of("--revision=2025-03-26 info --json");
    assert_eq!(info["protocolVersion"], "2025-03-26");
    let ran = mcp("info");
    assert!(ran.out.contains("interop 1.0"), "{}", ran.out);
}

#[test]
fn it_lists_tools() {
    let ran = mcp("tools");
    let first = ran.out.lines().next().unwrap();
    assert_eq!(
        first.split_whitespace().collect::<Vec<_>>(),
        ["NAME", "ARGUMENTS", "DESCRIPTION"]
    );
    assert!(ran.out.contains("Greets someone by name"), "{}", ran.out);
    let (code, list) = json_of("tools --json");
    assert_eq!(code, 0);
    assert_eq!(list["tools"][0]["name"], "greet");
    assert_eq!(list.as_object().unwrap().len(), 1);
}

#[test]
fn it_calls_a_tool() {
    assert_eq!(mcp("call greet name=world").out, "Hello, world!\n");
    // The schema says that a name is text.
    assert_eq!(mcp("call greet name=42").out, "Hello, 42!\n");
    let ran = mcp_with(&["call", "greet", r#"{"name": "you two"}"#], "");
    assert_eq!(ran.out, "Hello, you two!\n");
    let (code, result) = json_of("--json call add a=1 b=2.5");
    assert_eq!(
        (code, &result["structuredContent"]),
        (0, &json!({ "sum": 3.5 }))
    );
}

#[test]
fn the_exit_code_tells_who_failed() {
    fn check(line: &str, code: i32, said: &str) {
        let ran = mcp(line);
        assert_eq!(ran.code, code, "{line}: {}", ran.err);
        assert!(ran.out.is_empty(), "{line}: {}", ran.out);
        assert!(ran.err.contains(said), "{line}: {}", ran.err);
    }
    check("call fail", 1, "it failed on purpose");
    check("call greet world", 2, "KEY=VALUE");
    check("call greet name=a name=b", 2, "given twice");
    check("dance", 2, "dance");
    check("tools --loud", 2, "--loud");
    check("--era modern --revision 2025-06-18 tools", 2, "contradict");
    check("--timeout never tools", 2, "--timeout");
    check("--root /does/not/exist tools", 2, "--root");
    check("--url http://127.0.0.1:9/mcp tools", 2, "either started");
    check("--header a:b tools", 2, "--url");
    check("--cacert x tools", 2, "--url");
    check("call nothing", 3, "-32602");
    check("--timeout 0.2 call slow steps=50 delay_ms=100", 5, "200 ms");
    let (code, result) = json_of("--json call fail");
    assert_eq!((code, &result["isError"]), (1, &json!(true)));
    for (server, code) in [
        (["/does/not/exist"].as_slice(), 4),
        (&["false"], 4),
        // It says everything back, so that its answer is a refusal of ours.
        (&["cat"], 4),
        (&["sleep", "60"], 5),
    ] {
        let ran = mcp_against(&["--timeout", "1", "tools"], server, "");
        assert_eq!(ran.code, code, "{server:?}: {}", ran.err);
        assert!(
            ran.out.is_empty() && !ran.err.contains("after 0 s"),
            "{}",
            ran.err
        );
    }
    let ran = mcp_against(&["tools"], &[], "");
    assert_eq!(ran.code, 2, "{}", ran.err);
}

#[test]
fn a_server_gets_few_variables_and_those_that_it_is_given() {
    let script = "echo \"${KEY-none} ${OTHER-none} ${HOME:+home}\" >&2; exit 3";
    let said = |options: &[&str]| {
        let ran = Command::new(example("mcp"))
            .args(["tools", "--timeout=20"])
            .args(options)
            .args(["--", "sh", "-c", script])
            .env("KEY", "secret")
            .env("HOME", "/")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert_eq!(ran.status.code(), Some(4));
        let said = String::from_utf8(ran.stderr).unwrap();
        said.lines().last().unwrap().to_owned()
    };
    assert_eq!(said(&[]), "none none home");
    assert_eq!(said(&["--env", "KEY"]), "secret none home");
    assert_eq!(said(&["--env=OTHER=a=b"]), "none a=b home");
    assert_eq!(
        said(&["--env", "KEY=own", "--env", "NOT_SET"]),
        "own none home"
    );
    assert_eq!(said(&["--inherit-env", "--env", "OTHER="]), "secret  home");
    for wrong in [&["--env", "=x"][..], &["--env"]] {
        let ran = mcp_with(&[&["tools"], wrong].concat(), "");
        assert_eq!(ran.code, 2, "{}", ran.err);
    }
    let ran = Command::new(example("mcp"))
        .args(["tools", "--inherit-env", "--url", "http://127.0.0.1:1"])
        .output()
        .unwrap();
    assert_eq!(ran.status.code(), Some(2));
}

#[test]
fn a_shell_runs_actions_line_by_line() {
    let script =
        "call greet name=\"a b\"\n\ncall add {\"a\": 1, \"b\": 2}\ndance\nping\nquit\ntools\n";
    let ran = mcp_with(&["shell"], script);
    let lines: Vec<&str> = ran.out.lines().collect();
    assert_eq!(lines[..2], ["Hello, a b!", r#"{"sum":3.0}"#]);
    assert!(
        lines[2].starts_with("it answered") && lines.len() == 3,
        "{}",
        ran.out
    );
    // A script goes on after a failure, and tells it at its end.
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("there is no action dance"), "{}", ran.err);
    assert!(ran.err.contains("try 'help'"), "{}", ran.err);
}

/// Where nobody can be asked, the server is not led to believe so.
#[test]
fn without_a_terminal_only_the_roots_that_are_given_can_be_asked_for() {
    let server = example("everything_server");
    let server = [server.to_str().unwrap(), "stdio"];
    for (era, code) in [("legacy", 1), ("modern", 3)] {
        let words = ["--era", era, "call", "test_elicitation", "message=Who?"];
        let ran = mcp_against(&words, &server, "Ada\n");
        assert_eq!(ran.code, code, "{}", ran.err);
        assert!(ran.err.contains("elicitation"), "{}", ran.err);
        let call = "test_input_required_result_list_roots";
        let ran = mcp_against(
            &["--era", era, "--root", "file:///home/ada", "call", call],
            &server,
            "",
        );
        assert_eq!(ran.out, "Roots: file:///home/ada\n", "{}", ran.err);
    }
}

#[test]
fn a_table_has_the_arguments_in_the_order_of_the_schema() {
    let server = example("everything_server");
    let ran = mcp_against(&["tools"], &[server.to_str().unwrap(), "stdio"], "");
    let arguments = " [name] [address] [contactMethod] [phone] [email] ";
    assert!(ran.out.contains(arguments), "{}", ran.out);
}

#[test]
fn help_names_every_action() {
    let help = mcp("--help").out;
    for action in [
        "info",
        "tools",
        "call",
        "resources",
        "templates",
        "read",
        "prompts",
        "prompt",
        "complete",
        "listen",
        "ping",
        "shell",
    ] {
        assert!(help.contains(&format!("\n  {action} ")), "{action}");
    }
}

#[test]
fn a_trace_shows_the_messages_on_standard_error() {
    let ran = mcp("ping --trace --era legacy");
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(!ran.out.contains("jsonrpc"), "{}", ran.out);
    let shown = |sign: &str, what: &str| {
        let mut lines = ran.err.lines();
        lines.any(|line| {
            let mut parts = line.trim_start().splitn(3, ' ');
            let seconds = parts.next().and_then(|text| text.parse::<f64>().ok());
            seconds.is_some()
                && parts.next() == Some(sign)
                && parts.next().is_some_and(|text| text.contains(what))
        })
    };
    assert!(shown(">", r#""method":"initialize""#), "{}", ran.err);
    assert!(shown("<", r#""protocolVersion""#), "{}", ran.err);
    assert!(shown(">", r#""method":"ping""#), "{}", ran.err);
}

#[cfg(feature = "http-client")]
#[test]
fn it_reaches_servers_over_http() {
    let stub = crate::stub::Stub::modern(|seen, out| {
        assert_eq!(seen.header("x-key"), Some("a b:c"));
        out.result(seen, crate::stub::text("hello over HTTP"));
    });
    let run = |words: &[&str]| {
        let output = Command::new(example("mcp")).args(words).output().unwrap();
        let code = output.status.code().unwrap();
        (code, output)
    };
    let (code, output) = run(&["--url", &stub.url(), "--header=X-Key: a b:c", "call", "x"]);
    assert_eq!(code, 0, "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.stdout, b"hello over HTTP\n");
    drop(stub);
    let (code, output) = run(&["--url", "http://127.0.0.1:1/mcp", "tools"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(code == 4 && said.contains("can't be reached"), "{said}");
    assert_eq!(run(&["--url", "ftp://x", "tools"]).0, 2);
}

#[cfg(feature = "http-client")]
#[test]
fn the_proxy_of_the_environment_is_used() {
    let stub = crate::stub::Stub::modern(|seen, out| out.result(seen, crate::stub::text("done")));
    let target = stub.address();
    let (proxy, asked) = crate::proxied::socks_proxy("socks5h", move |_, _| target);
    let run = |variables: &[(&str, &str)]| {
        let mut command = Command::new(example("mcp"));
        for name in ["http_proxy", "https_proxy", "all_proxy", "no_proxy"] {
            command.env_remove(name).env_remove(name.to_uppercase());
        }
        let words = ["--url", "http://unknown.invalid:7777/mcp", "call", "x"];
        let output = command.envs(variables.iter().copied()).args(words).output();
        let output = output.unwrap();
        let said = [output.stdout, output.stderr].concat();
        (
            output.status.code().unwrap(),
            String::from_utf8(said).unwrap(),
        )
    };
    let was_asked = || asked.try_iter().collect::<Vec<_>>();
    let place = ("unknown.invalid".to_owned(), 7777);
    for name in ["HTTP_PROXY", "http_proxy", "ALL_PROXY"] {
        assert_eq!(run(&[(name, &proxy)]), (0, "done\n".to_owned()));
        assert_eq!(was_asked(), std::slice::from_ref(&place));
    }
    for variables in [
        vec![("HTTP_PROXY", &*proxy), ("NO_PROXY", "b.test, .invalid")],
        vec![("HTTPS_PROXY", &*proxy)],
    ] {
        let (code, said) = run(&variables);
        assert!(code == 4 && said.contains("can't be reached"), "{said}");
    }
    let (code, said) = run(&[("HTTP_PROXY", "http://user:s3cret@[")]);
    assert!(code != 0 && said.contains("HTTP_PROXY"), "{said}");
    assert!(!said.contains("s3cret"), "{said}");
    assert_eq!(was_asked(), []);
}

#[test]
#[cfg(all(feature = "tls", feature = "http-server"))]
fn it_trusts_whom_it_is_told_to() {
    use crate::front::{Front, SERVER};
    use crate::stub::{Stub, text};
    let stub = Stub::modern(|seen, out| match &*seen.asks() {
        "tools/list" => out.result(
            seen,
            json!({ "resultType": "complete", "tools": [], "ttlMs": 0, "cacheScope": "private" }),
        ),
        _ => out.result(seen, text("done")),
    });
    let front = Front::new(SERVER, stub.address());
    let run = |words: &[&str]| {
        let output = Command::new(example("mcp")).args(words).output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        (
            output.status.code().unwrap(),
            String::from_utf8(said).unwrap(),
        )
    };
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/tls/root.pem");
    let (code, said) = run(&["--url", &front.url(), "--cacert", root, "call", "x"]);
    assert_eq!((code, &*said), (0, "done\n"));
    let (code, said) = run(&["--url", &front.url(), "call", "x"]);
    assert_eq!(code, 4);
    assert!(said.contains("nobody who is trusted"), "{said}");
    let (code, said) = run(&["--url", &front.url(), "--cacert", "/none", "call", "x"]);
    assert_eq!(code, 2);
    assert!(said.contains("--cacert /none"), "{said}");
    // One that is none is an error too.
    let none = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let (code, said) = run(&["--url", &front.url(), "--cacert", none, "call", "x"]);
    assert_eq!(code, 4);
    assert!(said.contains("expected PEM"), "{said}");
}

#[cfg(feature = "auth")]
#[test]
fn it_logs_in_when_the_server_wants_it_and_remembers_that() {
    use std::io::{BufRead, BufReader, Read};

    use crate::authworld::{World, follow, get};

    let world = World::start();
    let folder = std::env::temp_dir().join(format!("mcplink-cli-{}", std::process::id()));
    _ = std::fs::remove_dir_all(&folder);
    let url = world.mcp.url();
    let tokens = folder.display().to_string();
    let run = |words: &[&str]| {
        let mut command = Command::new(example("mcp"));
        // No browser is to come up.
        command
            .args(words)
            .args(["--url", &url])
            .env("PATH", "/nowhere");
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    let output = run(&["tools"]).wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(4));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--login logs in"));
    let mut child = run(&["tools", "--login", "--tokens", &tokens]);
    let mut shown = BufReader::new(child.stderr.take().unwrap()).lines();
    let place = shown.find_map(|line| {
        let line = line.unwrap();
        line.split_once("open ").map(|(_, place)| place.to_owned())
    });
    let answer = follow(&place.unwrap());
    let rest = answer.strip_prefix("http://").unwrap();
    let (place, target) = rest.split_at(rest.find('/').unwrap());
    get(place, target);
    let mut out = String::new();
    child
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut out)
        .unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{out}");
    assert!(out.contains('x'), "{out}");
    let output = run(&["tools", "--login", "--tokens", &tokens])
        .wait_with_output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(
        output.stderr.is_empty(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    // Processes that share a login take turns in renewing it.
    world.revoke_tokens();
    let many = ["tools", "--login", "--tokens", &tokens];
    let children: Vec<_> = (0..4).map(|_| run(&many)).collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{said}");
    }
    let record = world.record();
    let grants: Vec<&str> = record
        .tokens
        .iter()
        .map(|form| &*form["grant_type"])
        .collect();
    assert_eq!(grants, ["authorization_code", "refresh_token"]);
    assert_eq!(record.authorizations.len(), 1);
    std::fs::remove_dir_all(&folder).unwrap();
}
