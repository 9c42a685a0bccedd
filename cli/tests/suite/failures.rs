//! Failures, each with its text and its exit code.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

use crate::runs::{example, program};

/// A folder of one test, which is removed at its end.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let folder = format!("mcplink-tool-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).unwrap();
        Self(folder)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.0.join(name), text).unwrap();
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}

/// Runs a command line in a folder; `SERVER`, `BAD` and `SKILLS` are the
/// commands of servers.
pub(crate) fn run(folder: &Folder, line: &str) -> (i32, String, String) {
    let everything = example("everything_server");
    let bad = example("bad_server");
    let skills = example("skill_server");
    let words = line.split_whitespace().flat_map(|word| match word {
        "SERVER" => vec![everything.display().to_string(), "stdio".to_owned()],
        "BAD" => vec![bad.display().to_string()],
        "SKILLS" => vec![skills.display().to_string()],
        word => vec![word.replace('~', " ")],
    });
    let output = program()
        .args(words)
        .current_dir(&folder.0)
        .env("HOME", &folder.0)
        .env_remove("XDG_CONFIG_HOME")
        .env_remove("XDG_STATE_HOME")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (
        output.status.code().unwrap(),
        text(output.stdout),
        text(output.stderr),
    )
}

#[test]
fn each_failure_has_a_text_and_an_exit_code() {
    let folder = Folder::new("failures");
    folder.write(
        ".mcp.json",
        r#"{"mcpServers": {"a": {"command": "x", "args": ["${MCPLINK_NONE}"]}, "b": {"url": "ftp://x"},
            "c": {"command": "${input:key}"}, "d": {}}, "inputs": [{"id": "key", "type": "promptString"}]}"#,
    );
    folder.write("broken.json", "{\"mcpServers\": {\n \"a\" 1}}");
    folder.write("headers", "no colon\n");
    folder.write("latin", "not an object");
    folder.write("script", "call no_such_tool\ncall echo message=x\n");
    folder.write("file", "");
    let mut faults = Vec::new();
    for (line, code, said) in [
        // The command line.
        ("", 2, "there is nothing to do"),
        ("tools", 2, "the server is missing"),
        ("dance -- SERVER", 2, "there is no action dance"),
        ("tool -- SERVER", 2, "<NAME>"),
        ("call -- SERVER", 2, "try 'mcplink call --help'"),
        ("tools --loud -- SERVER", 2, "unexpected argument '--loud'"),
        ("tools --timeout soon -- SERVER", 2, "'soon' for '--timeout"),
        ("tools --era old -- SERVER", 2, "'old' for '--era"),
        (
            "tools --revision 2020-01-01 -- SERVER",
            2,
            "expected one of 2024-11-05",
        ),
        ("tools --log loud -- SERVER", 2, "expected a level"),
        (
            "tools --url http://x --server a",
            2,
            "a server is either started",
        ),
        (
            "tools --cwd / --url http://x",
            2,
            "--cwd is for servers that are started",
        ),
        (
            "tools --header A:b -- SERVER",
            2,
            "--header is for servers that are reached",
        ),
        (
            "tools --header A --url http://127.0.0.1:1",
            2,
            "--header takes NAME:VALUE",
        ),
        (
            "tools --header @headers --url http://127.0.0.1:1",
            2,
            "line 1 is not NAME:VALUE",
        ),
        (
            "tools --header @none --url http://127.0.0.1:1",
            2,
            "--header @none: No such file",
        ),
        (
            "tools --input a=b -- SERVER",
            2,
            "--input is for servers that are named",
        ),
        ("tasks show -- SERVER", 2, "<ID>"),
        ("completions tcsh", 2, "'tcsh' for '<SHELL>'"),
        // Configuration files.
        (
            "tools -s nothing",
            2,
            "no configuration file has a server 'nothing': there are a, b, c, d",
        ),
        (
            "tools -s a",
            2,
            "the environment variable MCPLINK_NONE is not set",
        ),
        (
            "tools -s b",
            2,
            "begins neither with http:// nor with https://",
        ),
        ("tools -s c", 2, "give it one with --input key=VALUE"),
        ("tools -s d", 2, "has no command"),
        (
            "tools -s a --config broken.json",
            2,
            "is not JSON: expected `:` at line 2",
        ),
        ("servers --config none.json", 2, "'none.json' can't be read"),
        // Servers that are not there.
        ("tools -- /does/not/exist", 4, "No such file or directory"),
        (
            "tools -- no-such-program-of-this-machine",
            4,
            "there is no such program in PATH",
        ),
        (
            "tools --cwd /does/not/exist -- SERVER",
            4,
            "/does/not/exist",
        ),
        (
            "tools -- sh -c echo~sorry>&2;exit~7",
            4,
            "exited with status 7; its last words on standard error:\nsorry",
        ),
        ("tools --url http://127.0.0.1:1/mcp", 4, "can't be reached"),
        (
            "tools --url http://no-such-host.invalid/mcp",
            4,
            "can't be reached",
        ),
        ("tools --url file:///x", 2, "the URL can't be read"),
        (
            "tools --timeout 0.5 -- sleep 60",
            5,
            "no connection within the 0.5 s of --timeout",
        ),
        ("tools -- BAD dies", 4, "exited with status 3"),
        // Tools, resources and prompts.
        (
            "tool no_such_tool -- SERVER",
            3,
            "the server has no tool 'no_such_tool'",
        ),
        ("tool ech -- SERVER", 3, "it has echo"),
        ("call ecko message=x -- SERVER", 3, "it has echo"),
        ("call echo -- SERVER", 1, "the tool requires message"),
        (
            "call echo messag=x -- SERVER",
            1,
            "the tool's description does not name messag",
        ),
        (
            "call add a=x b=1 -- SERVER",
            1,
            "the tool failed: invalid arguments",
        ),
        (
            "call echo message -- SERVER",
            2,
            "'message' is neither KEY=VALUE nor a JSON object",
        ),
        ("call echo =x -- SERVER", 2, "'=x' is neither KEY=VALUE"),
        ("call echo message:=x -- SERVER", 2, "'message' is not JSON"),
        (
            "call echo message=@none -- SERVER",
            2,
            "@none: No such file",
        ),
        (
            "call echo @latin -- SERVER",
            2,
            "the arguments are not a JSON object",
        ),
        (
            "call echo {\"message\": -- SERVER",
            2,
            "the arguments are not a JSON object",
        ),
        ("call fail -- SERVER", 1, "it failed on purpose"),
        ("call image --save file/x -- SERVER", 2, "--save file/x"),
        (
            "call echo message=x --task --era legacy -- BAD none",
            3,
            "can't be called as a task",
        ),
        (
            "call slow --timeout 0.3 steps=9 delay_ms=200 -- SERVER",
            5,
            "300 ms",
        ),
        ("read no://such -- SERVER", 3, "refused resources/read"),
        ("prompt nothing -- SERVER", 3, "refused prompts/get"),
        ("tasks list -- SERVER", 3, "tasks/list"),
        // The shell.
        (
            "shell --script none -- SERVER",
            2,
            "--script none: No such file",
        ),
        ("shell --script script --stop -- SERVER", 3, "unknown tool"),
        // Checks and logins.
        ("check", 2, "the server is missing"),
        ("check --only nothing -- SERVER", 2, "no check has a name"),
        ("check --level all -- SERVER", 2, "'all' for '--level"),
        ("check -- false", 4, "there is no server to check"),
        ("check --login --url http://x", 2, "check does not log in"),
        ("logout", 2, "logout takes the server"),
        (
            "logout --url http://127.0.0.1:1/mcp",
            3,
            "no login to http://127.0.0.1:1/mcp is kept",
        ),
    ] {
        let (seen, out, err) = run(&folder, line);
        let is_right = err.contains(said) && seen == code && out.is_empty();
        if !is_right || err.contains("panicked") {
            faults.push(format!("{line}: {seen}, {out}{err}"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
