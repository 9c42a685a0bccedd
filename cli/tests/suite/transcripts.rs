//! Sessions as a new user sees them, in pipes and at a terminal.

use std::fs;
#[cfg(unix)]
use std::{env, path::Path, process::Command};

use serde_json::{Value, json};

use crate::failures::{Folder, run};
use crate::runs::{LinesInTime, Terminal, example, program};

fn configured(name: &str) -> Folder {
    let folder = Folder::new(name);
    let server = example("everything_server");
    let config = json!({ "mcpServers": {
        "every": { "command": server, "args": ["stdio"] },
        "web": { "url": "https://example.com/mcp?key=s3cr3t", "disabled": true, "timeout": 5 },
        "keys": { "command": "npx", "args": ["-y", "pkg", "--api-key", "s3cr3t", "--token=s3cr3t"] },
    } });
    folder.write(".mcp.json", &config.to_string());
    folder
}

/// Runs a command line that succeeds without a word on standard error.
fn shows(folder: &Folder, line: &str) -> String {
    let (code, out, err) = run(folder, line);
    assert_eq!((code, &*err), (0, ""), "{line}");
    out
}

#[test]
fn servers_of_configuration_files_are_listed_without_secrets() {
    let folder = configured("servers");
    let (code, out, err) = run(&folder, "servers");
    assert_eq!(code, 0, "{err}");
    assert!(
        !out.contains("s3cr3t") && !err.contains("s3cr3t"),
        "{out}{err}"
    );
    let rows: Vec<&str> = out.lines().collect();
    assert!(rows[1].starts_with("every "), "{out}");
    assert!(
        rows[2].contains("npx -y pkg --api-key … --token=…"),
        "{out}"
    );
    assert!(
        rows[3].starts_with("web (disabled)  https://example.com/mcp?…"),
        "{out}"
    );
    assert!(out.contains(".mcp.json (project)"), "{out}");
    assert!(
        err.contains("server 'web', member 'timeout': not known, and not applied"),
        "{err}"
    );
    // The files of the user are found, too.
    fs::create_dir_all(folder.0.join(".config/Claude")).unwrap();
    let other = r#"{"mcpServers": {"desktop": {"command": "x"}}}"#;
    folder.write(".config/Claude/claude_desktop_config.json", other);
    let (_, out, _) = run(&folder, "servers --json");
    let list: Value = serde_json::from_str(&out).unwrap();
    if cfg!(target_os = "linux") {
        let names = list["servers"].as_array().unwrap().iter();
        let names: Vec<&Value> = names.map(|server| &server["name"]).collect();
        assert_eq!(names, ["every", "keys", "web", "desktop"]);
    }
    let empty = Folder::new("no-servers");
    let (code, _, err) = run(&empty, "servers");
    assert!(code == 0 && err.contains("looked for .mcp.json"), "{err}");
}

#[test]
fn a_tool_is_looked_at_and_called() {
    let folder = configured("tools");
    assert_eq!(
        shows(&folder, "tool add -s every"),
        "add\n  Adds two numbers\n\nParameters\n  a: number, required\n  b: number, required\n\n\
         Example\n  mcplink call add a=1 b=1 --server every\n"
    );
    // The example can be pasted.
    assert_eq!(shows(&folder, "call add a=1 b=1 --server every"), "2\n");
    let tool: Value = serde_json::from_str(&shows(&folder, "tool add --json -s every")).unwrap();
    assert_eq!(tool["name"], "add");
    let shown = shows(&folder, "tool json_schema_2020_12_tool -s every");
    assert!(shown.contains("  address: object\n"), "{shown}");
    assert!(
        shown.contains("contactMethod: string, one of phone, email"),
        "{shown}"
    );
    folder.write("text", "a text: é\n");
    folder.write("arguments", r#"{"message": "from a file"}"#);
    assert_eq!(
        shows(&folder, "call echo message=@text -s every"),
        "a text: é\n\n"
    );
    assert_eq!(
        shows(&folder, "call echo @arguments -s every"),
        "from a file\n"
    );
    assert_eq!(shows(&folder, "call echo message:=\"x\" -s every"), "x\n");
    let raw = shows(&folder, "call echo message=x --raw -s every");
    let raw: Value = serde_json::from_str(&raw).unwrap();
    assert_eq!(raw["content"][0]["text"], "x");
    // Options of the program may stand before the action, too.
    let out = shows(&folder, "-s every --json ping");
    assert_eq!(out, "{}\n");
}

#[test]
fn binary_content_is_saved_and_nothing_replaced() {
    let folder = configured("save");
    for name in ["image-1.png", "image-1-2.png"] {
        let (code, out, err) = run(&folder, "call image --save out -s every");
        assert_eq!((code, &*out), (0, ""), "{err}");
        assert!(
            err.contains(&format!("saved out/{name} (image/png")),
            "{err}"
        );
        let bytes = fs::read(folder.0.join("out").join(name)).unwrap();
        assert!(bytes.starts_with(b"\x89PNG"));
    }
    let (code, _, err) = run(&folder, "read fixture://hello --save out -s every");
    assert!(code == 0 && err.contains("saved out/hello.txt"), "{err}");
}

#[test]
fn a_script_goes_on_or_stops() {
    let folder = configured("script");
    folder.write(
        "try",
        "# a comment\n\ncall echo message:=\"a b\"\nhelp ping\ncall fail\nping --json\n",
    );
    let (code, out, err) = run(&folder, "shell --script try -s every");
    assert_eq!(code, 1, "{err}");
    assert!(out.starts_with("a b\n") && out.ends_with("{}\n"), "{out}");
    assert!(out.contains("See whether the server answers"), "{out}");
    let (code, out, _) = run(&folder, "shell --script try --stop -s every");
    assert!(code == 1 && !out.contains("{}"), "{out}");
}

#[test]
fn a_task_is_started_and_an_unknown_one_refused() {
    let folder = configured("tasks");
    let id = shows(
        &folder,
        "call slow_compute label=x seconds=1 --task -s every",
    );
    assert!(id.trim().len() > 10, "{id}");
    // An id may begin with a dash.
    for id in ["no-such-task", "-w-no-such-task"] {
        let line = format!("tasks show {id} --era modern -s every");
        assert_eq!(run(&folder, &line).0, 3, "{id}");
    }
    // On one connection, the task is waited for: the shell knows no ids, so a program reads them.
    let mut shell = program();
    shell
        .args(["shell", "-s", "every"])
        .current_dir(&folder.0)
        .env("HOME", &folder.0);
    let shell = shell
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped());
    let mut shell = shell.spawn().unwrap();
    let mut stdin = shell.stdin.take().unwrap();
    let mut lines = LinesInTime::of(shell.stdout.take().unwrap());
    let mut line = || lines.next().unwrap().unwrap();
    let mut say = |text: &str| std::io::Write::write_all(&mut stdin, text.as_bytes()).unwrap();
    say("call slow_compute label=x seconds=0 --task\n");
    let id = line();
    say(&format!("tasks wait {id}\n"));
    assert!(!line().is_empty());
    say(&format!("tasks show {id}\n"));
    assert_eq!(line(), "completed");
    say("quit\n");
    assert_eq!(shell.wait().unwrap().code(), Some(0));
}

/// What bash puts behind this command line when the user presses Tab.
#[cfg(unix)]
fn completed(folder: &Folder, line: &str) -> Vec<String> {
    let script = r#"
source /dev/stdin <<<"$("$MCPLINK" completions bash)"
COMP_WORDS=($LINE) COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
if [[ $LINE == *' ' ]]; then COMP_WORDS+=('') COMP_CWORD=$((COMP_CWORD + 1)); fi
_clap_complete_mcplink mcplink "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\n' "${COMPREPLY[@]}""#;
    let tool = program();
    let tool = Path::new(tool.get_program());
    let mut paths = vec![tool.parent().unwrap().to_owned()];
    paths.extend(env::split_paths(&env::var_os("PATH").unwrap()));
    let mut bash = Command::new("bash");
    bash.args(["-c", script]).current_dir(&folder.0);
    bash.env("PATH", env::join_paths(paths).unwrap());
    bash.env("MCPLINK", tool).env("LINE", line);
    bash.env("HOME", &folder.0).env_remove("XDG_CONFIG_HOME");
    let output = bash.output().unwrap();
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{output:?}"
    );
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(str::to_owned).collect()
}

// A shell takes what it is given as it is.
#[cfg(unix)]
#[test]
fn a_shell_completes_actions_options_and_the_names_of_servers() {
    let folder = Folder::new("completed");
    let server = r#"{"command":"true"}"#;
    let hostile = "x; rm -rf ~";
    let names = ["github", "gitlab", "notes", hostile].map(|name| format!("\"{name}\":{server}"));
    let servers = format!("{{\"mcpServers\":{{{}}}}}", names.join(","));
    folder.write(".mcp.json", &servers);
    let other = r#"{"mcpServers":{"elsewhere":{"command":"true"}}}"#;
    folder.write("other.json", other);
    assert_eq!(completed(&folder, "mcplink instal"), ["install"]);
    assert_eq!(
        completed(&folder, "mcplink tools --inherit"),
        ["--inherit-env"]
    );
    let both = ["github", "gitlab"];
    assert_eq!(completed(&folder, "mcplink tools --server git"), both);
    assert_eq!(completed(&folder, "mcplink --server git"), both);
    assert_eq!(completed(&folder, "mcplink proxy n"), ["notes"]);
    let all = completed(&folder, "mcplink tools -s ");
    assert_eq!(all, ["github", "gitlab", "notes"]);
    let line = "mcplink tools --config other.json --server ";
    assert_eq!(completed(&folder, line), ["elsewhere"]);
    folder.write(".mcp.json", "{");
    assert!(
        completed(&folder, "mcplink tools --server x")
            .concat()
            .is_empty()
    );
}

#[test]
fn completions_and_the_manual_name_every_action() {
    let folder = Folder::new("completions");
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = shows(&folder, &format!("completions {shell}"));
        assert!(script.contains("MCPLINK_COMPLETE"), "{shell}: {script}");
    }
    let manual = shows(&folder, "man");
    assert!(
        manual.contains(".TH mcplink 1") && manual.contains("Exit code"),
        "{manual}"
    );
}

#[test]
fn the_help_of_each_action_fits_a_screen_and_has_an_example() {
    let folder = Folder::new("help");
    let help = shows(&folder, "--help");
    let actions = help.lines().skip_while(|line| *line != "Actions:").skip(1);
    let actions: Vec<&str> = actions
        .take_while(|line| !line.is_empty())
        .map(|line| line.split_whitespace().next().unwrap())
        .collect();
    assert!(actions.len() >= 20, "{actions:?}");
    for action in actions {
        let help = shows(&folder, &format!("{action} --help"));
        assert!(help.contains("Example: mcplink "), "{action}: {help}");
        assert!(help.lines().count() <= 30, "{action}: {help}");
        assert!(
            help.lines().all(|line| line.chars().count() <= 100),
            "{action}: {help}"
        );
    }
}

/// Starts the shell at a terminal.
fn shell_at_a_terminal(folder: &Folder) -> Terminal {
    let mut command = program();
    command
        .args(["shell", "-s", "every"])
        .current_dir(&folder.0);
    command
        .env("HOME", &folder.0)
        .env("TERM", "xterm")
        .env_remove("XDG_STATE_HOME");
    Terminal::start(command)
}

#[test]
fn the_shell_at_a_terminal_completes_and_remembers() {
    let folder = configured("terminal");
    let mut terminal = shell_at_a_terminal(&folder);
    terminal.wait_for("mcplink> ");
    // The name of a tool, and that of its argument.
    terminal.write("call ech\tmess\tx\r");
    terminal.wait_for("call echo message=");
    terminal.wait_for("\nx");
    terminal.wait_for("mcplink> ");
    // The server's own completion.
    terminal.write("prompt greet name=ali\t\r");
    terminal.wait_for("Please greet alice.");
    terminal.wait_for("mcplink> ");
    // Results are tables at a terminal.
    terminal.write("call structured\r");
    terminal.wait_for("temperature  22.5");
    terminal.wait_for("mcplink> ");
    // The history: one line up is the last call.
    terminal.write("\u{1b}[A\r");
    terminal.wait_for("temperature  22.5");
    terminal.wait_for("mcplink> ");
    terminal.write("quit\r");
    assert_eq!(terminal.code(), 0);
    let history = fs::read_to_string(folder.0.join(".local/state/mcplink/history")).unwrap();
    assert!(history.contains("call echo message=x"), "{history}");
}

#[test]
fn control_c_at_a_terminal_cancels_the_call_and_not_the_shell() {
    let folder = configured("cancel");
    let mut terminal = shell_at_a_terminal(&folder);
    terminal.wait_for("mcplink> ");
    terminal.write("call slow steps=1000 delay_ms=100\r");
    terminal.wait_for("%");
    terminal.write("\u{3}");
    terminal.wait_for("mcplink: interrupted");
    terminal.wait_for("mcplink> ");
    // At the prompt it drops the line.
    terminal.write("call fail\u{3}");
    terminal.wait_for("mcplink> ");
    terminal.write("call echo message=again\r");
    terminal.wait_for("\nagain");
    // The end of the input ends the shell.
    terminal.wait_for("mcplink> ");
    terminal.write("\u{4}");
    assert_eq!(terminal.code(), 0);
    // A signal at the prompt ends it, too.
    let mut terminal = shell_at_a_terminal(&folder);
    terminal.wait_for("mcplink> ");
    terminal.signal("TERM");
    assert_eq!(terminal.code(), 130);
}
