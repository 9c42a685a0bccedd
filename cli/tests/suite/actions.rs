//! The actions of the program, against `interop_server`, `everything_server` and scripted ones.

use std::io::{self, Read as _, Write as _};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::common::wait_until;
use crate::runs::{
    LinesInTime, MCPLINK, Running, example, json_of, kill, mcp, mcp_against, mcp_with, program,
    shown_at_a_terminal,
};
use crate::{proxied, stub};

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
        let ran = program()
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
    let ran = program()
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

#[test]
fn it_reaches_servers_over_http() {
    let stub = stub::Stub::modern(|seen, out| {
        assert_eq!(seen.header("x-key"), Some("a b:c"));
        out.result(seen, stub::text("hello over HTTP"));
    });
    let run = |words: &[&str]| {
        let output = program().args(words).output().unwrap();
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

#[test]
fn the_proxy_of_the_environment_is_used() {
    let stub = stub::Stub::modern(|seen, out| out.result(seen, stub::text("done")));
    let target = stub.address();
    let (proxy, asked) = proxied::socks_proxy("socks5h", move |_, _| target);
    let run = |variables: &[(&str, &str)]| {
        let mut command = program();
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
        let output = program().args(words).output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        (
            output.status.code().unwrap(),
            String::from_utf8(said).unwrap(),
        )
    };
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/tls/root.pem");
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

#[test]
fn it_logs_in_when_the_server_wants_it_and_remembers_that() {
    use crate::authworld::{World, follow, get};

    let world = World::start();
    let folder = std::env::temp_dir().join(format!("mcplink-cli-{}", std::process::id()));
    _ = std::fs::remove_dir_all(&folder);
    let url = world.mcp.url();
    let tokens = folder.display().to_string();
    let run = |words: &[&str]| {
        let mut command = program();
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
    let mut shown = LinesInTime::of(child.stderr.take().unwrap());
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

const SLOWLY: &str = "call slow steps=1000 delay_ms=100";

#[test]
fn a_signal_cancels_the_call_and_closes_in_order() {
    let server = example("interop_server");
    for (era, signal) in [
        ("legacy", "INT"),
        ("modern", "INT"),
        ("auto", "TERM"),
        ("auto", "HUP"),
    ] {
        let words = ["--trace", "--era", era];
        let words: Vec<&str> = words.into_iter().chain(SLOWLY.split(' ')).collect();
        let mut running = Running::start(&words, &[server.to_str().unwrap()]);
        running.wait_for(&["<", "notifications/progress"]);
        running.signal(signal);
        running.wait_for(&[">", "notifications/cancelled", "interrupted"]);
        assert_eq!(running.code(), 130, "{era} {signal}");
        let rest: Vec<String> = running.said.by_ref().map(Result::unwrap).collect();
        assert!(
            rest.contains(&"mcplink: interrupted".to_owned()),
            "{rest:?}"
        );
        assert!(running.heard.next().is_none());
    }
}

#[test]
fn a_signal_ends_what_waits_for_a_server() {
    // Nobody answers.
    let mut connecting = Running::start(&["--trace", "tools"], &["sleep", "60"]);
    connecting.wait_for(&[">", "server/discover"]);
    connecting.signal("INT");
    assert_eq!(connecting.code(), 130);
    let server = example("everything_server");
    let server = [server.to_str().unwrap(), "stdio"];
    for era in ["legacy", "modern"] {
        let words = ["--trace", "--era", era, "listen", "test://static-text"];
        let mut listening = Running::start(&words, &server);
        let what = match era {
            "legacy" => "resources/subscribe",
            _ => "subscriptions/listen",
        };
        listening.wait_for(&[">", what]);
        listening.signal("TERM");
        assert_eq!(listening.code(), 130, "{era}");
    }
}

#[test]
fn a_second_signal_ends_at_once() {
    let folder = std::env::temp_dir().join(format!("mcplink-cli-twice-{}", std::process::id()));
    _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir(&folder).unwrap();
    let (pid, ended) = (folder.join("pid"), folder.join("ended"));
    // The server ends with its input; what started it stays, as long as it is let.
    let script = format!(
        "trap '' TERM; echo $$ > '{}'; '{}'; : > '{}'; exec sleep 60",
        pid.display(),
        example("interop_server").display(),
        ended.display()
    );
    let words: Vec<&str> = ["--trace"].into_iter().chain(SLOWLY.split(' ')).collect();
    let mut running = Running::start(&words, &["sh", "-c", &script]);
    running.wait_for(&["<", "notifications/progress"]);
    running.signal("INT");
    wait_until("the connection is being closed", || ended.exists());
    running.signal("INT");
    assert_eq!(running.code(), 130);
    let server = std::fs::read_to_string(&pid).unwrap();
    let server = server.trim().parse().unwrap();
    assert!(kill("0", server), "the server was waited for");
    kill("KILL", server);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn in_the_shell_a_signal_cancels_the_call_only() {
    let server = example("interop_server");
    let mut running = Running::start(&["--trace", "shell"], &[server.to_str().unwrap()]);
    running.write(&format!("{SLOWLY}\n"));
    running.wait_for(&["<", "notifications/progress"]);
    running.signal("INT");
    running.wait_for(&[">", "notifications/cancelled"]);
    running.write("call greet name=Ada\n");
    let heard = running.heard.next().unwrap().unwrap();
    assert_eq!(heard, "Hello, Ada!");
    // Where no action runs it ends the shell. It may come before the shell waits for the next line.
    wait_until("the shell has ended", || {
        running.signal("INT");
        running.child.try_wait().unwrap().is_some()
    });
    assert_eq!(running.code(), 130);
    // A script tells at its end that an action was interrupted.
    let mut running = Running::start(&["--trace", "shell"], &[server.to_str().unwrap()]);
    running.write(&format!("{SLOWLY}\nquit\n"));
    running.wait_for(&["<", "notifications/progress"]);
    running.signal("INT");
    assert_eq!(running.code(), 130);
}

#[cfg(target_os = "linux")]
#[test]
fn a_signal_that_is_ignored_from_the_start_stays_so() {
    let server = example("interop_server");
    let script = "trap '' HUP; exec \"$@\"";
    let mut child = Command::new("sh")
        .args(["-c", script, "sh"])
        .arg(MCPLINK)
        .args(["--trace", "shell", "--"])
        .arg(&server)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut running = Running {
        said: LinesInTime::of(child.stderr.take().unwrap()),
        heard: LinesInTime::of(child.stdout.take().unwrap()),
        child,
    };
    running.write("call slow steps=3 delay_ms=10\n");
    running.wait_for(&["<", "notifications/progress"]);
    running.signal("HUP");
    running.write("quit\n");
    assert_eq!(running.code(), 0);
}

/// Tools with one argument, or several, whose schemas are these.
pub(crate) fn with_tools(tools: Value, result: Value) -> stub::Stub {
    stub::Stub::modern(move |seen, out| match &*seen.asks() {
        "tools/list" => out.result(
            seen,
            json!({
                "resultType": "complete", "tools": tools, "ttlMs": 0, "cacheScope": "private",
            }),
        ),
        _ => out.result(seen, result.clone()),
    })
}

pub(crate) fn run_to(url: &str, words: &[&str]) -> (i32, String, String) {
    let mut command = program();
    let output = command.args(["--url", url]).args(words).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let code = output.status.code().expect("it was not killed");
    (code, text(output.stdout), text(output.stderr))
}

#[test]
fn the_schema_says_whether_a_text_or_the_json_in_it_is_meant() {
    let schema = json!({
        "type": "object",
        "$defs": {
            "Name": { "type": "string" },
            "odd/~name": { "$ref": "#/$defs/Name" },
            "Loop": { "anyOf": [{ "$ref": "#/$defs/Loop" }, { "$ref": "#/$defs/Loop" }] },
            "More": { "properties": { "deep": { "type": "string" } } },
        },
        "allOf": [{ "$ref": "#/$defs/More" }],
        "additionalProperties": { "type": "string" },
        "properties": {
            "text": { "type": "string" }, "number": { "type": "number" },
            "integer": { "type": "integer" }, "flag": { "type": "boolean" },
            "maybe": { "anyOf": [{ "type": "string" }, { "type": "null" }] },
            "either": { "oneOf": [{ "type": "string" }, { "type": "number" }] },
            "list": { "type": ["string", "null"] }, "wide": { "type": ["integer", "null"] },
            "ref": { "$ref": "#/$defs/Name" }, "odd": { "$ref": "#/$defs/odd~1~0name" },
            "escaped": { "$ref": "#/%24defs/Name" },
            "loop": { "$ref": "#/$defs/Loop" }, "nowhere": { "$ref": "https://h/x" },
            "one": { "enum": ["1", "2", null] }, "digit": { "enum": [1, 2] },
            "named": { "type": "string", "enum": ["a"] },
            "const": { "const": "5" }, "five": { "const": 5 },
            "all": { "allOf": [{ "type": "string" }, { "minLength": 1 }] },
            "mixed": {
                "allOf": [{ "type": ["string", "number"] }, { "type": ["string", "null"] }],
            },
            "nullable": { "type": "string", "nullable": true },
            "any": {}, "always": true, "object": { "type": "object" },
        },
    });
    let tools = json!([{ "name": "t", "inputSchema": schema }]);
    let stub = with_tools(tools, stub::text("done"));
    for (typed, sent) in [
        ("text=42", r#""42""#),
        ("text=null", r#""null""#),
        ("text={}", r#""{}""#),
        (r#"text="a""#, r#""\"a\"""#),
        ("text=a b", r#""a b""#),
        ("number=1.0", "1.0"),
        (
            "number=0.10000000000000000000001",
            "0.10000000000000000000001",
        ),
        (
            "integer=123456789012345678901234567890",
            "123456789012345678901234567890",
        ),
        ("integer=x", r#""x""#),
        ("flag=true", "true"),
        ("maybe=42", r#""42""#),
        ("maybe=null", "null"),
        ("maybe=true", r#""true""#),
        ("either=42", "42"),
        ("either=true", r#""true""#),
        ("list=42", r#""42""#),
        ("list=null", "null"),
        ("list=[1]", r#""[1]""#),
        ("wide=null", "null"),
        ("wide=7", "7"),
        ("ref=42", r#""42""#),
        ("odd=42", r#""42""#),
        ("escaped=42", r#""42""#),
        ("loop=42", "42"),
        ("nowhere=42", "42"),
        ("one=1", r#""1""#),
        ("one=null", "null"),
        ("one=3", r#""3""#),
        ("digit=1", "1"),
        ("digit=1.0", "1.0"),
        ("named=42", r#""42""#),
        ("const=5", r#""5""#),
        ("five=5", "5"),
        ("all=42", r#""42""#),
        ("mixed=42", r#""42""#),
        ("nullable=42", r#""42""#),
        ("nullable=null", "null"),
        ("any=42", "42"),
        (r#"any="a""#, r#""a""#),
        ("always=[1, 2]", "[1, 2]"),
        ("object={\"b\":1, \"a\":2.50}", "{\"b\":1, \"a\":2.50}"),
        ("deep=42", r#""42""#),
        ("unnamed=42", r#""42""#),
    ] {
        let (code, _, said) = run_to(&stub.url(), &["call", "t", typed]);
        assert_eq!(code, 0, "{typed}: {said}");
        let call = stub.seen_asking("tools/call").pop().unwrap();
        let name = typed.split_once('=').unwrap().0;
        let expected = format!("\"arguments\":{{\"{name}\":{sent}}}");
        assert!(call.text.contains(&expected), "{typed}: {}", call.text);
    }
    // What is given as JSON goes out as it came.
    let given = r#"{"b": 1.0, "a":12345678901234567890123, "text":42 ,"e":1E2}"#;
    assert_eq!(run_to(&stub.url(), &["call", "t", given]).0, 0);
    let call = stub.seen_asking("tools/call").pop().unwrap();
    assert!(
        call.text.contains(&format!("\"arguments\":{given}")),
        "{}",
        call.text
    );
}

#[test]
fn nothing_that_is_listed_or_typed_makes_it_panic() {
    use std::os::unix::ffi::OsStringExt as _;
    let long = "x".repeat(70_000);
    let tools = json!([
        { "name": long, "inputSchema": { "type": "object" }, "description": "long" },
        {
            "name": "\u{1f1e9}\u{200d}",
            "inputSchema": { "type": "object", "properties": { &*long: {} } },
        },
    ]);
    let stub = with_tools(tools, stub::text("done"));
    let (code, out, said) = run_to(&stub.url(), &["tools"]);
    assert_eq!((code, &*said), (0, ""));
    assert!(out.contains(&long));
    let shown = shown_at_a_terminal(&["--url", &stub.url(), "tools"]);
    assert!(
        shown.lines().all(|line| line.chars().count() <= 60),
        "{shown}"
    );
    assert_eq!(mcp_with(&["call", &long], "").code, 3);
    let word = |bytes: &[u8]| std::ffi::OsString::from_vec(bytes.to_vec());
    for words in [
        vec![word(b"call"), word(b"na\xffme")],
        vec![word(b"call"), word(b"t"), word(b"a=\xff")],
        vec![word(b"--\xff"), word(b"tools")],
        vec![word(b"--url"), word(b"http://\xff/")],
        vec![word(b"\xff")],
    ] {
        let output = program().args(&words).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
        assert!(said.contains("is no UTF-8"), "{said}");
    }
    // Files may be called so, and a line of the shell is one that fails.
    let words = [word(b"tools"), word(b"--"), word(b"/nowhere/\xff")];
    let output = program().args(words).output().unwrap();
    assert_eq!(output.status.code(), Some(4));
    let server = example("interop_server");
    let mut running = Running::start(&["shell"], &[server.to_str().unwrap()]);
    let stdin = running.child.stdin.as_mut().unwrap();
    stdin
        .write_all(b"call \xff\ncall greet name=Ada\nquit\n")
        .unwrap();
    assert_eq!(running.heard.next().unwrap().unwrap(), "Hello, Ada!");
    assert_eq!(running.code(), 2);
    // Where nobody reads what it says it says nothing.
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    let mut command = program();
    let status = command.arg("dance").stderr(writer).status().unwrap();
    assert_eq!(status.code(), Some(2));
}

#[test]
fn what_would_steer_a_terminal_is_escaped() {
    // Controls of each kind, and what shows letters in another order.
    let odd = "a\u{1b}[2J\u{7f}\u{9b}31m\u{85}\u{202e}cod\u{202c}\u{2066}x\u{2069}\r\nb\tc";
    let steers = |c: &char| {
        let overrides = '\u{202a}'..='\u{202e}';
        let isolates = '\u{2066}'..='\u{2069}';
        let control = c.is_control() && !matches!(c, '\n' | '\t');
        control || overrides.contains(c) || isolates.contains(c)
    };
    let tools = json!([
        { "name": odd, "inputSchema": { "type": "object" }, "description": odd },
    ]);
    let failed = json!({
        "resultType": "complete", "isError": true, "content": [{ "type": "text", "text": odd }],
        "structuredContent": { "odd": odd },
    });
    let stub = with_tools(tools, failed);
    let url = stub.url();
    for words in [
        vec!["tools"],
        vec!["--json", "tools"],
        vec!["--trace", "tools"],
        vec!["call", "x"],
        vec!["--json", "call", "x"],
    ] {
        let words: Vec<&str> = ["--url", &url].into_iter().chain(words).collect();
        let shown = shown_at_a_terminal(&words);
        // What is written beside the result empties its line first.
        let shown = shown.replace("\r\u{1b}[K", "");
        assert!(
            shown.contains("31m") && shown.contains("cod"),
            "{words:?}: {shown:?}"
        );
        let found = shown.chars().find(steers);
        assert_eq!(found, None, "{words:?}: {shown:?}");
    }
    let (_, out, said) = run_to(&url, &["call", "x"]);
    assert!(
        out.is_empty() && said.contains("a\\u{1b}[2J\\u{7f}\\u{9b}31m"),
        "{said:?}"
    );
    // To programs it is the same.
    let (_, out, _) = run_to(&url, &["--json", "call", "x"]);
    assert_eq!(out.chars().filter(steers).count(), 0);
    let result: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(result["content"][0]["text"], odd);
    assert_eq!(result["structuredContent"]["odd"], odd);
}

#[test]
fn a_text_is_read_as_it_is() {
    let server = example("everything_server");
    let server = [server.to_str().unwrap(), "stdio"];
    let ran = mcp_against(&["read", "fixture://hello"], &server, "");
    assert_eq!(ran.out, "hello, resource");
    // In the shell what comes next begins a line of its own.
    let script = "read fixture://hello\nread fixture://hello\ncall echo message=hej\n";
    let ran = mcp_against(&["shell"], &server, script);
    assert_eq!(ran.out, "hello, resource\nhello, resource\nhej\n");
}

#[test]
fn wide_letters_take_two_columns_and_marks_none() {
    let tool = |name: &str| {
        let schema = json!({ "type": "object" });
        json!({ "name": name, "inputSchema": schema, "description": "about" })
    };
    let tools = json!([tool("工具工具"), tool("e\u{301}te\u{301}"), tool("📁")]);
    let stub = with_tools(tools, stub::text("done"));
    let (_, out, _) = run_to(&stub.url(), &["tools"]);
    assert_eq!(
        out,
        "NAME      ARGUMENTS  DESCRIPTION\n\
         工具工具             about\n\
         e\u{301}te\u{301}                  about\n\
         📁                   about\n"
    );
}
