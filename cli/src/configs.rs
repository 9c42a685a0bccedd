//! Configuration files: where they are, which servers they have, and the action `servers`.

use std::collections::BTreeSet;
use std::env;
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap_complete::engine::CompletionCandidate;
use mcplink::client::{Config, ConfigInput, ServerConfig};
use mcplink::{Error, ErrorKind};
use serde_json::{Value, json};

use crate::args::{Options, Place};
use crate::failure::Failure;
use crate::input::{self, NoLine};
use crate::interrupt;
use crate::print::{self, note};

/// A file that may have servers, and the host that it belongs to.
struct Source {
    host: &'static str,
    path: PathBuf,
}

/// Returns the usual places, those of the project first.
fn usual_places() -> Vec<Source> {
    let mut places = Vec::new();
    let mut add = |host, path| places.push(Source { host, path });
    for (host, path) in [
        ("project", ".mcp.json"),
        ("VS Code, project", ".vscode/mcp.json"),
        ("Cursor, project", ".cursor/mcp.json"),
    ] {
        add(host, PathBuf::from(path));
    }
    let variable = |name: &str| {
        let value = env::var_os(name).filter(|value| !value.is_empty());
        value.map(PathBuf::from)
    };
    let home = variable(if cfg!(windows) { "USERPROFILE" } else { "HOME" });
    if let Some(home) = &home {
        add("Claude Code", home.join(".claude.json"));
        add("Cursor", home.join(".cursor/mcp.json"));
    }
    // The folder of applications' settings.
    let settings = if cfg!(windows) {
        variable("APPDATA")
    } else if cfg!(target_os = "macos") {
        home.map(|home| home.join("Library/Application Support"))
    } else {
        variable("XDG_CONFIG_HOME").or_else(|| home.map(|home| home.join(".config")))
    };
    if let Some(settings) = settings {
        let claude = settings.join("Claude/claude_desktop_config.json");
        add("Claude Desktop", claude);
        add("VS Code", settings.join("Code/User/mcp.json"));
    }
    places
}

/// Returns the file of a host.
pub(crate) fn place_of(host: &str) -> Option<PathBuf> {
    let mut places = usual_places().into_iter();
    Some(places.find(|source| source.host == host)?.path)
}

/// Reads the configuration files: the given one, or the usual ones that are there.
fn read_all(place: &Place) -> Result<Vec<(&'static str, Config)>, Failure> {
    if let Some(path) = &place.config {
        let config = Config::read(path).map_err(|error| Failure::usage(error.to_string()))?;
        return Ok(vec![("--config", config)]);
    }
    Ok(read_usual(|error| note(&format!("mcplink: {error}"))))
}

/// Reads the usual configuration files that are there. Those that can't be read are told of.
fn read_usual(unreadable: impl Fn(&Error)) -> Vec<(&'static str, Config)> {
    let mut configs = Vec::new();
    for Source { host, path } in usual_places() {
        // The servers that Claude Code has for a project are those of this folder.
        let read = match (host, env::current_dir()) {
            ("Claude Code", Ok(folder)) => Config::read_in(&path, folder),
            _ => Config::read(&path),
        };
        match read {
            Ok(config) => configs.push((host, config)),
            Err(error) if error.kind() == ErrorKind::Io && !path.exists() => {}
            Err(error) => unreadable(&error),
        }
    }
    configs
}

/// Returns the names that complete `--server` in a shell. A shell takes them as they are, so names
/// with characters that mean something to a shell are left out.
pub(crate) fn candidates() -> Vec<CompletionCandidate> {
    let is_plain = |name: &&str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.@/+".contains(c);
        !name.starts_with('-') && name.chars().all(plain)
    };
    let configs: Vec<Config> = match given_config() {
        Some(path) => Config::read(path).into_iter().collect(),
        None => read_usual(|_| ()).into_iter().map(|(_, it)| it).collect(),
    };
    let servers = configs.iter().flat_map(Config::servers);
    let names: BTreeSet<&str> = servers.map(ServerConfig::name).filter(is_plain).collect();
    names.into_iter().map(CompletionCandidate::new).collect()
}

/// Returns the file that `--config` names on the command line that is completed.
fn given_config() -> Option<PathBuf> {
    let mut words = env::args_os();
    while let Some(word) = words.next() {
        if word == "--config" {
            return words.next().map(PathBuf::from);
        }
        if let Some(path) = word.to_str().and_then(|it| it.strip_prefix("--config=")) {
            return Some(PathBuf::from(path));
        }
    }
    None
}

/// Returns the names of the enabled servers of the configuration files. If two files have a server
/// of the same name, the first one counts, even if it is disabled there.
pub(crate) fn names(place: &Place) -> Result<Vec<String>, Failure> {
    let configs = read_all(place)?;
    let (mut names, mut seen) = (Vec::new(), BTreeSet::new());
    for server in configs.iter().flat_map(|(_, config)| config.servers()) {
        if seen.insert(server.name()) && !server.is_disabled() {
            names.push(server.name().to_owned());
        }
    }
    Ok(names)
}

/// Finds the server that `--server` names, with the values of its inputs.
pub(crate) fn find(name: &str, place: &Place) -> Result<ServerConfig, Failure> {
    let configs = read_all(place)?;
    let found = configs
        .iter()
        .find(|(_, config)| config.server(name).is_some());
    let Some((_, config)) = found else {
        let known: Vec<&str> = configs
            .iter()
            .flat_map(|(_, config)| config.servers())
            .map(ServerConfig::name)
            .collect();
        let known = match known.is_empty() {
            true => "there are none".to_owned(),
            false => format!("there are {}", known.join(", ")),
        };
        return Err(Failure::usage(format!(
            "no configuration file has a server '{name}': {known}"
        )));
    };
    let mut config = config.clone();
    for (id, value) in &place.inputs {
        config = config.input(id, value);
    }
    let needed = config.server(name).map(ServerConfig::inputs);
    let needed: Vec<String> = needed.iter().flatten().map(|id| (*id).to_owned()).collect();
    for id in needed {
        if !place.inputs.iter().any(|(given, _)| *given == id) {
            let value = ask(&id, config.inputs().iter().find(|input| input.id == id))?;
            config = config.input(id, value);
        }
    }
    let server = config.server(name).cloned();
    server.ok_or_else(|| Failure::usage(format!("the server '{name}' has gone")))
}

/// Asks the user for an input.
fn ask(id: &str, input: Option<&ConfigInput>) -> Result<String, Failure> {
    let default = input.and_then(|input| input.default.clone());
    if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
        return default.ok_or_else(|| {
            Failure::usage(format!(
                "the input '{id}' has no value: give it one with --input {id}=VALUE"
            ))
        });
    }
    let about = input.and_then(|input| input.description.as_deref());
    let mut prompt = about.unwrap_or(id).to_owned();
    let options = input.map(|input| &*input.options).unwrap_or_default();
    if !options.is_empty() {
        prompt.push_str(&format!(" ({})", options.join(", ")));
    }
    if let Some(default) = &default {
        prompt.push_str(&format!(" [{default}]"));
    }
    print::beside(&print::clean(&format!("{prompt}: ")));
    let is_hidden = input.is_some_and(|input| input.is_password);
    let hidden = is_hidden.then(Hidden::new);
    let line = input::line(&[&interrupt::token()]);
    if hidden.is_some() {
        print::beside("\n");
    }
    match line {
        Ok(line) if line.trim().is_empty() => Ok(default.unwrap_or_default()),
        Ok(line) => Ok(line.trim_end_matches(['\r', '\n']).to_owned()),
        Err(NoLine::NotText) => Err(Failure::usage("that is no UTF-8".to_owned())),
        Err(NoLine::Ended | NoLine::Cancelled) => Err(Failure::interrupted()),
    }
}

/// While this value exists, the terminal does not show what is typed.
struct Hidden;

impl Hidden {
    fn new() -> Self {
        stty(&["-echo"]);
        Self
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        stty(&["echo"]);
    }
}

fn stty(words: &[&str]) {
    let mut stty = Command::new("stty");
    stty.args(words).stdin(Stdio::inherit());
    // Without the program, the text is shown, which is no reason not to go on.
    _ = stty.stderr(Stdio::null()).status();
}

/// The action `servers`.
pub(crate) fn list(options: &Options) -> Result<(), Failure> {
    let configs = read_all(&options.place)?;
    let mut rows = Vec::new();
    let mut servers = Vec::new();
    for (host, config) in &configs {
        for server in config.servers() {
            let file = config.path().display().to_string();
            servers.push(as_json(server, &file));
            let mut name = server.name().to_owned();
            if server.is_disabled() {
                name.push_str(" (disabled)");
            }
            rows.push(vec![name, reached_by(server), format!("{file} ({host})")]);
        }
        for warning in config.warnings() {
            note(&format!("mcplink: {}: {warning}", config.path().display()));
        }
    }
    if options.json {
        return Ok(print::json(&json!({ "servers": servers }))?);
    }
    if rows.is_empty() {
        note("mcplink: no configuration file with servers was found");
        for place in usual_places() {
            note(&format!("  looked for {}", place.path.display()));
        }
    }
    Ok(print::table(&["NAME", "REACHED BY", "FILE"], &rows)?)
}

fn as_json(server: &ServerConfig, file: &str) -> Value {
    json!({
        "name": server.name(),
        "type": if server.url().is_some() { "http" } else { "stdio" },
        "reachedBy": reached_by(server),
        "disabled": server.is_disabled(),
        "file": file,
    })
}

/// Returns the command or the URL of a server, without parts that may be secrets.
fn reached_by(server: &ServerConfig) -> String {
    if let Some(url) = server.url() {
        return match url.split_once('?') {
            Some((url, _)) => format!("{url}?…"),
            None => url.to_owned(),
        };
    }
    let Some((program, args)) = server.command() else {
        return "(nothing)".to_owned();
    };
    let mut words = vec![program.to_owned()];
    let mut hides_next = false;
    for arg in args {
        let (name, value) = match arg.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (&**arg, None),
        };
        words.push(match (hides_next, is_secret(name), value) {
            (true, ..) if !is_variable(arg) => "…".to_owned(),
            (false, true, Some(value)) if !is_variable(value) => format!("{name}=…"),
            _ if looks_random(arg) => "…".to_owned(),
            _ => arg.clone(),
        });
        hides_next = value.is_none() && arg.starts_with('-') && is_secret(name);
    }
    words.join(" ")
}

fn is_variable(text: &str) -> bool {
    text.starts_with("${") && text.ends_with('}')
}

/// Whether a name says that its value is a secret.
fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let words = [
        "key",
        "token",
        "secret",
        "password",
        "passwd",
        "auth",
        "credential",
        "header",
    ];
    words.iter().any(|word| name.contains(word))
}

/// Whether an argument looks like a key: a long word of letters and digits.
fn looks_random(arg: &str) -> bool {
    let has = |kind: fn(&char) -> bool| arg.chars().any(|c| kind(&c));
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '+' | '=');
    let is_uniform = arg.chars().all(is_word);
    arg.len() >= 24
        && is_uniform
        && has(char::is_ascii_digit)
        && has(char::is_ascii_alphabetic)
        && !Path::new(arg).exists()
}
