//! The configuration files of hosts.

use std::fs;
#[cfg(unix)]
use std::path::Path;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use mcplink::ErrorKind;
use mcplink::client::{Client, Config};
use serde_json::{Value, json};

const SECRET: &str = "s3cr3t-value";

/// A folder of one test, which is removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("mcplink-config-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).unwrap();
        // A temporary folder may be reached through a symbolic link.
        Self(fs::canonicalize(folder).unwrap())
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn config(&self, name: &str, content: &Value) -> Config {
        Config::read(self.write(name, &content.to_string())).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}

fn names(config: &Config) -> Vec<&str> {
    let servers = config.servers().iter();
    servers.map(|server| server.name()).collect()
}

fn warnings(config: &Config) -> Vec<String> {
    let warnings = config.warnings().iter();
    warnings.map(ToString::to_string).collect()
}

#[test]
fn the_formats_of_hosts_are_read() {
    let folder = Folder::new();
    let servers = json!({
        "local": { "command": "server", "args": ["--port", 8080] },
        "remote": { "type": "http", "url": "https://example.com/mcp" },
    });
    for (name, content) in [
        (".mcp.json", json!({ "mcpServers": servers })),
        (
            ".vscode/mcp.json",
            json!({ "servers": servers, "inputs": [] }),
        ),
        (
            "settings.json",
            json!({ "editor": 1, "mcp": { "servers": servers } }),
        ),
        ("zed.json", json!({ "context_servers": servers })),
        (
            ".claude.json",
            json!({ "projects": {
                folder.0.to_str().unwrap(): { "mcpServers": servers },
                "/elsewhere": { "mcpServers": { "other": { "command": "x" } } },
            } }),
        ),
    ] {
        let config = folder.config(name, &content);
        assert_eq!(names(&config), ["local", "remote"], "{name}");
        assert_eq!(warnings(&config), [""; 0], "{name}");
        let (program, args) = config.server("local").unwrap().command().unwrap();
        assert_eq!(
            (program, args),
            ("server", &["--port".to_owned(), "8080".to_owned()][..])
        );
        let remote = config.server("remote").unwrap();
        assert_eq!(remote.url(), Some("https://example.com/mcp"));
        assert!(remote.command().is_none() && config.server("third").is_none());
    }
}

#[test]
fn comments_and_trailing_commas_are_read() {
    let folder = Folder::new();
    let text = "\u{feff}// Servers\n{\n \"servers\": { /* one */ \"a\": { \"command\": \"//x\", }, },\n}\n";
    let config = Config::read(folder.write("mcp.json", text)).unwrap();
    assert_eq!(config.server("a").unwrap().command().unwrap().0, "//x");
}

#[test]
fn the_spellings_of_other_hosts_are_read() {
    let folder = Folder::new();
    let config = folder.config(
        "mcp.json",
        &json!({ "mcpServers": {
            "windsurf": { "serverUrl": "https://a/" },
            "gemini": { "httpUrl": "https://b/" },
            "zed": { "command": { "path": "c", "args": ["d"], "env": {} } },
            "roo": { "type": "streamable-http", "url": "https://e/", "alwaysAllow": ["x"] },
            "old": { "type": "sse", "url": "https://f/", "disabled": true },
            "off": { "command": "g", "enabled": false },
        } }),
    );
    assert_eq!(warnings(&config), [""; 0]);
    let url = |name| config.server(name).unwrap().url();
    assert_eq!(
        [url("windsurf"), url("gemini"), url("roo"), url("old")],
        [
            Some("https://a/"),
            Some("https://b/"),
            Some("https://e/"),
            Some("https://f/")
        ]
    );
    assert_eq!(config.server("zed").unwrap().command().unwrap().0, "c");
    let disabled = config
        .servers()
        .iter()
        .filter(|server| server.is_disabled());
    assert_eq!(disabled.count(), 2);
}

#[test]
fn what_is_not_applied_is_named() {
    let folder = Folder::new();
    let config = folder.config(
        "mcp.json",
        &json!({
            "mcpServers": {
                "a": { "command": "x", "url": "https://a/", "timeout": SECRET, "env": [SECRET] },
                "b": { "type": "ws", "url": SECRET },
                "c": {},
                "d": 1,
                "e": { "url": "https://e/", "headers": { "X": { "y": SECRET } }, "excludeTools": [] },
                "f": { "type": "stdio", "args": ["x"] },
            },
            "servers": { "a": { "command": "y" } },
            "inputs": [{ "type": "command", "id": "i" }, {}],
        }),
    );
    let warnings = warnings(&config);
    for part in [
        "server 'a', member 'url'",
        "server 'a', member 'timeout'",
        "server 'a', member 'env': expected an object of strings",
        "server 'b', member 'type'",
        "server 'c', member 'command': it has no 'command' and no 'url'",
        "server 'd', member 'd': expected an object",
        "server 'e', member 'headers.X': expected a string",
        "server 'e', member 'excludeTools': not known, and not applied",
        "server 'f', member 'command'",
        "server 'a', member 'a': another server has this name",
        "member 'inputs.i': expected the type",
        "member 'inputs': an input has no id",
    ] {
        let found = warnings.iter().filter(|warning| warning.contains(part));
        assert_eq!(found.count(), 1, "{part}: {warnings:#?}");
    }
    assert!(!warnings.concat().contains(SECRET));
    let extra = |name: &str| json!(config.server(name).unwrap().extra());
    assert_eq!(extra("a"), json!({ "timeout": SECRET }));
    assert_eq!(extra("e"), json!({ "excludeTools": [] }));
    assert_eq!(extra("b"), json!({}));
    assert!(!format!("{config:?}").contains(SECRET));
    for name in ["b", "c", "f"] {
        let error = config.server(name).unwrap().transport().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        assert!(
            error.to_string().contains(&format!("server '{name}'")),
            "{error}"
        );
    }
}

#[test]
fn a_file_that_is_no_configuration_is_an_error() {
    let folder = Folder::new();
    for (text, said) in [
        ("", "is not JSON"),
        ("{\n\"mcpServers\": {\n\"a\" 1}}", "line 3"),
        ("[]", "has no servers"),
        ("{}", "has no servers"),
        ("{\"mcpServers\": []}", "has no servers"),
    ] {
        let error = Config::read(folder.write("mcp.json", text)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().contains(said), "{text}: {error}");
        assert!(error.to_string().contains("mcp.json"), "{error}");
    }
    fs::write(folder.0.join("latin"), b"{\"mcpServers\": \"\xe9\"}").unwrap();
    assert!(
        Config::read(folder.0.join("latin"))
            .unwrap_err()
            .to_string()
            .contains("UTF-8")
    );
    assert_eq!(
        Config::read(folder.0.join("none")).unwrap_err().kind(),
        ErrorKind::Io
    );
    let file = fs::File::create(folder.0.join("large")).unwrap();
    file.set_len(17 << 20).unwrap();
    assert_eq!(
        Config::read(folder.0.join("large")).unwrap_err().kind(),
        ErrorKind::Limit
    );
}

/// Starts a server that writes its surroundings into a file, and returns them.
#[cfg(unix)]
fn surroundings(folder: &Folder, config: &Config, name: &str) -> String {
    let error = config
        .server(name)
        .unwrap()
        .connect(Client::builder("test", "1"));
    assert_eq!(error.unwrap_err().kind(), ErrorKind::Closed);
    fs::read_to_string(folder.0.join("out")).unwrap()
}

#[cfg(unix)] // The server is a shell.
#[test]
fn a_server_starts_with_its_arguments_variables_and_folder() {
    let folder = Folder::new();
    let root = folder.0.display().to_string();
    folder.write("keys.env", "# keys\nFROM_FILE=\"a b\"\nOVER=file\n");
    let path = folder.write(
        "bin/server",
        &format!("#!/bin/sh\necho \"$1|$FROM_FILE|$OVER|$TERM|$PWD\" > '{root}/out'\n"),
    );
    let mut permissions = fs::metadata(&path).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o755);
    fs::set_permissions(&path, permissions).unwrap();
    let config = folder.config(
        ".vscode/mcp.json",
        &json!({
            "inputs": [
                { "id": "k", "type": "promptString", "description": "Key", "password": true },
                { "id": "p", "type": "pickString", "options": ["x", { "value": "y" }], "default": "x" },
            ],
            "servers": { "s": {
                "command": "./bin/server",
                "args": ["${input:k}-${workspaceFolderBasename}-${MCPLINK_NONE:-d}"],
                "envFile": "${workspaceFolder}/keys.env",
                "env": { "OVER": "${input:k}", "TERM": null },
            } },
        }),
    );
    let inputs = config.inputs();
    assert!(inputs[0].is_password && inputs[0].description.as_deref() == Some("Key"));
    assert_eq!(
        (&inputs[1].options, inputs[1].default.as_deref()),
        (&vec!["x".into(), "y".into()], Some("x"))
    );
    assert_eq!(config.server("s").unwrap().inputs(), ["k"]);
    let error = config.server("s").unwrap().child().unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("member 'args[0]': the input 'k' has no value"),
        "{error}"
    );
    let config = config.input("k", SECRET);
    let name = folder.0.file_name().unwrap().to_str().unwrap();
    assert_eq!(
        surroundings(&folder, &config, "s"),
        format!("{SECRET}-{name}-d|a b|{SECRET}||{root}\n")
    );
    let debug = format!(
        "{config:?} {:?}",
        config.server("s").unwrap().transport().unwrap()
    );
    assert!(!debug.contains(SECRET), "{debug}");
}

#[cfg(unix)] // The server is a shell.
#[test]
fn the_working_directory_is_the_one_of_the_file() {
    let folder = Folder::new();
    fs::create_dir(folder.0.join("sub")).unwrap();
    let out = folder.0.join("out").display().to_string();
    let here = std::env::current_dir().unwrap();
    let server = json!({ "command": "sh", "args": ["-c", format!("pwd -P > '{out}'")] });
    let with_cwd = json!({ "command": "sh", "args": server["args"], "cwd": "sub" });
    for (file, server, expected) in [
        (".mcp.json", &server, &*folder.0),
        ("claude_desktop_config.json", &server, &*here),
        (
            "claude_desktop_config.json",
            &with_cwd,
            &folder.0.join("sub"),
        ),
    ] {
        let config = folder.config(file, &json!({ "mcpServers": { "s": server } }));
        let seen = surroundings(&folder, &config, "s");
        let expected = fs::canonicalize(expected).unwrap();
        assert_eq!(Path::new(seen.trim_end()), expected, "{file}");
    }
}

#[cfg(unix)] // The server is a shell.
#[test]
fn errors_show_no_values() {
    let folder = Folder::new();
    folder.write("bad.env", &format!("A=1\n{SECRET}\n"));
    let config = folder.config(
        ".mcp.json",
        &json!({ "mcpServers": {
            "variable": { "command": SECRET, "args": ["${MCPLINK_NONE}"], "env": { "A": SECRET } },
            "file": { "command": "x", "envFile": "bad.env" },
            "missing": { "command": "x", "envFile": "none.env" },
            "url": { "url": format!("ftp://{SECRET}/") },
            "folder": { "command": "true", "cwd": "nowhere", "args": [SECRET], "env": { "A": SECRET } },
        } }),
    );
    for (name, said) in [
        (
            "variable",
            "member 'args[0]': the environment variable MCPLINK_NONE is not set",
        ),
        ("file", "line 2 of the envFile"),
        ("missing", "none.env"),
        ("folder", "nowhere"),
    ] {
        let connected = config
            .server(name)
            .unwrap()
            .connect(Client::builder("test", "1"));
        let error = format!("{0:#} {0:?}", connected.unwrap_err());
        assert!(
            error.contains(said) && !error.contains(SECRET),
            "{name}: {error}"
        );
    }
    #[cfg(feature = "http-client")]
    {
        let error = config.server("url").unwrap().transport().unwrap_err();
        let error = format!("{error:#} {error:?}");
        assert!(
            error.contains("server 'url'") && !error.contains(SECRET),
            "{error}"
        );
    }
}

#[cfg(feature = "http-client")]
#[test]
fn a_url_is_reached_with_its_header_fields() {
    let stub = crate::stub::Stub::modern(|seen, out| {
        assert_eq!(seen.header("authorization"), Some("Bearer s3cr3t-value"));
        out.result(seen, crate::stub::text("done"));
    });
    let folder = Folder::new();
    let config = folder.config(
        ".mcp.json",
        &json!({
            "mcpServers": { "s": {
                "url": stub.url(), "headers": { "Authorization": "Bearer ${input:t}" },
            } },
            "inputs": [{ "id": "t", "type": "promptString" }],
        }),
    );
    let config = config.input("t", SECRET);
    let server = config.server("s").unwrap();
    assert!(server.child().is_err());
    let client = server.connect(Client::builder("test", "1")).unwrap();
    let result = client.call_tool("x", &json!({})).unwrap();
    assert_eq!(result.content[0].as_text(), Some("done"));
}
