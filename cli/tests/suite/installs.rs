//! `mcplink install` and `mcplink bench`.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::runs::{MCPLINK, Ran, example, mcp, mcp_against, program};

/// A home directory of its own, which is removed at the end.
struct Home(PathBuf);

impl Home {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("mcplink-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn run(&self, words: &[&str]) -> Ran {
        let output = program()
            .args(words)
            .env("HOME", &self.0)
            .env("XDG_CONFIG_HOME", self.0.join("settings"))
            .current_dir(&self.0)
            .stdin(std::process::Stdio::null())
            .output()
            .unwrap();
        Ran {
            code: output.status.code().unwrap(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    fn json(&self, file: &str) -> Value {
        let text = fs::read_to_string(self.0.join(file)).unwrap();
        serde_json::from_str(&text).unwrap()
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn each_host_reads_what_is_written() {
    let home = Home::new("hosts");
    for (host, project, file, section) in [
        ("claude", false, ".claude.json", "mcpServers"),
        ("claude-code", true, ".mcp.json", "mcpServers"),
        (
            "claude-desktop",
            false,
            "settings/Claude/claude_desktop_config.json",
            "mcpServers",
        ),
        ("cursor", false, ".cursor/mcp.json", "mcpServers"),
        ("vscode", false, "settings/Code/User/mcp.json", "servers"),
        ("vscode", true, ".vscode/mcp.json", "servers"),
    ] {
        let mut words = vec!["install", "every one", "--host", host, "--env", "KEY=a b"];
        words.extend(project.then_some("--project"));
        words.extend(["--", "server", "--port", "1"]);
        let ran = home.run(&words);
        assert_eq!(ran.code, 0, "{host}: {}", ran.err);
        let entry = &home.json(file)[section]["every one"];
        assert_eq!(entry["command"], "server", "{host}");
        assert_eq!(entry["args"], json!(["--port", "1"]), "{host}");
        assert_eq!(entry["env"]["KEY"], "a b", "{host}");
        // The tool itself reads it, as the host does.
        let listed = home.run(&["--json", "servers", "--config", file]);
        assert!(
            listed.out.contains("every one"),
            "{host}: {} {}",
            listed.out,
            listed.err
        );
        assert!(
            !home.0.join(format!("{file}.bak")).exists(),
            "there was no file to keep"
        );
    }
}

#[test]
fn a_relative_path_is_noted() {
    let home = Home::new("relative");
    fs::create_dir(home.0.join("data")).unwrap();
    let words = [
        "install",
        "files",
        "--host",
        "cursor",
        "--replace",
        "--",
        "x",
    ];
    for (argument, is_noted) in [
        (".", true),
        ("data", true),
        ("./data", true),
        (home.0.to_str().unwrap(), false),
        ("none", false),
        ("--data", false),
    ] {
        let ran = home.run(&[&words[..], &[argument]].concat());
        assert_eq!(ran.code, 0, "{argument}: {}", ran.err);
        let note = format!("'{argument}' is a relative path");
        assert_eq!(ran.err.contains(&note), is_noted, "{argument}: {}", ran.err);
    }
}

#[test]
fn what_stands_in_the_file_stays() {
    let home = Home::new("stays");
    let file = home.0.join(".cursor/mcp.json");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    let text = "{\n  // mine\n  \"z\": [1, 2],\n  \"mcpServers\": {\n    \"old\": { \"command\": \
        \"x\" } // keep\n  },\n  \"a\": null\n}\n";
    fs::write(&file, text).unwrap();
    let words = [
        "install",
        "new",
        "--host",
        "cursor",
        "--url",
        "https://example.com/mcp",
    ];
    let shown = home.run(&[&words[..], &["--dry-run", "--header", "A: b"]].concat());
    assert_eq!(shown.code, 0, "{}", shown.err);
    assert!(shown.out.contains("+     \"new\": {"), "{}", shown.out);
    assert!(
        shown.out.contains("\"A\": \"b\"") && !shown.out.contains("mine"),
        "{}",
        shown.out
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), text);

    assert_eq!(home.run(&words).code, 0);
    let changed = fs::read_to_string(&file).unwrap();
    assert!(changed.contains("// mine\n  \"z\": [1, 2],"), "{changed}");
    assert!(
        changed.contains("{ \"command\": \"x\" }, // keep\n"),
        "{changed}"
    );
    assert_eq!(
        fs::read_to_string(home.0.join(".cursor/mcp.json.bak")).unwrap(),
        text
    );

    let again = home.run(&words);
    assert_eq!(again.code, 2, "{}", again.err);
    assert!(again.err.contains("--replace"), "{}", again.err);
    let same = home.run(&[&words[..], &["--replace"]].concat());
    assert_eq!(same.code, 0, "{}", same.err);
    assert!(same.err.contains("already"), "{}", same.err);
    let removed = home.run(&["install", "new", "--host", "cursor", "--remove"]);
    assert_eq!(removed.code, 0, "{}", removed.err);
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
}

#[test]
fn the_name_of_a_link_counts() {
    let home = Home::new("links");
    let (file, link) = (home.0.join("real.json"), home.0.join(".mcp.json"));
    std::os::unix::fs::symlink(&file, &link).unwrap();
    let words = [
        "install",
        "one",
        "--host",
        "vscode",
        "--config",
        ".mcp.json",
        "--",
        "x",
    ];
    let dangling = home.run(&words);
    assert_eq!(dangling.code, 2, "{}", dangling.err);
    assert!(
        dangling.err.contains("leads to no file"),
        "{}",
        dangling.err
    );
    fs::write(&file, "{}").unwrap();
    let ran = home.run(&words);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(link.is_symlink());
    assert_eq!(home.json("real.json")["mcpServers"]["one"]["command"], "x");
}

#[test]
fn what_can_not_be_installed_changes_nothing() {
    let home = Home::new("refused");
    let file = home.0.join("odd.json");
    let path = file.to_str().unwrap();
    for (text, words, part) in [
        ("[1]", vec!["--", "x"], "no JSON object"),
        (
            "{\"mcpServers\": 1}",
            vec!["--", "x"],
            "'mcpServers' is no JSON object",
        ),
        ("{", vec!["--", "x"], "no JSON"),
        ("{}", vec![], "the server is missing"),
        ("{}", vec!["--remove"], "no server 'new'"),
        ("{}", vec!["--remove", "--", "x"], "without a server"),
        ("{}", vec!["--cwd", "/", "--", "x"], "--cwd"),
    ] {
        fs::write(&file, text).unwrap();
        let ran = home.run(
            &[
                &["install", "new", "--host", "cursor", "--config", path],
                &*words,
            ]
            .concat(),
        );
        assert_eq!(ran.code, 2, "{text} {words:?}: {}", ran.err);
        assert!(ran.err.contains(part), "{text} {words:?}: {}", ran.err);
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
    }
    let url = ["--url", "https://example.com/mcp"];
    let ran = home.run(&[&["install", "new", "--host", "claude-desktop"], &url[..]].concat());
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("mcplink proxy --url"), "{}", ran.err);
    let ran = home.run(&["install", "new", "--host", "emacs", "--", "x"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
}

#[test]
fn a_tool_is_called_many_times() {
    let ran = mcp("--json bench greet name=Ada --calls 50 --concurrency 4 --warmup 2");
    assert_eq!(ran.code, 0, "{}", ran.err);
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(report["calls"], 50);
    assert_eq!(report["errors"], json!([]));
    let times = &report["milliseconds"];
    let (least, most) = (
        times["min"].as_f64().unwrap(),
        times["max"].as_f64().unwrap(),
    );
    let median = times["percentiles"]["50"].as_f64().unwrap();
    assert!(0.0 < least && least <= median && median <= most, "{times}");
    assert!(report["callsPerSecond"].as_f64().unwrap() > 0.0);

    let ran = mcp("bench greet name=Ada --calls 5");
    assert!(
        ran.out.starts_with("5 calls of greet, 1 at once, in "),
        "{}",
        ran.out
    );
    assert!(
        ran.out.contains("calls a second") && ran.out.contains("99.9 %"),
        "{}",
        ran.out
    );

    // Failures are counted by their text.
    let ran = mcp("bench fail --calls 5 --warmup 0");
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert!(
        ran.out.contains("5 failed: the tool reported an error"),
        "{}",
        ran.out
    );
    let ran = mcp("bench none --calls 3");
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert!(
        ran.out.contains("3 failed: ") && ran.out.contains("unknown tool"),
        "{}",
        ran.out
    );
    assert_eq!(mcp("bench greet --calls 0").code, 2);
    let server = example("interop_server");
    let through = ["proxy", "--", server.to_str().unwrap()];
    let ran = mcp_against(
        &[
            "bench",
            "greet",
            "name=Ada",
            "--calls",
            "20",
            "--concurrency",
            "3",
        ],
        &[&[MCPLINK], &through[..]].concat(),
        "",
    );
    assert_eq!(ran.code, 0, "{} {}", ran.out, ran.err);
}
