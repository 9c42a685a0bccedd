//! Parses the command line.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use mcplink::schema::{LoggingLevel, ProtocolVersion, Root};

pub(crate) const HELP: &str = "\
usage: mcplink [OPTION ...] ACTION ... -- SERVER [ARGUMENT ...]
       mcplink [OPTION ...] ACTION ... --url URL

  mcplink tools -- npx -y @modelcontextprotocol/server-everything
  mcplink call echo message=hello -- npx -y @modelcontextprotocol/server-everything

actions
  info                              who the server is and what it can do
  tools                             list the tools
  call NAME '{JSON}'                call a tool
  call NAME KEY=VALUE ...           the same; a value is JSON, or text where it is none or the tool
                                    wants text
  resources                         list the resources
  templates                         list the resource templates
  read URI                          read a resource
  prompts                           list the prompts
  prompt NAME '{JSON}'              get a prompt
  prompt NAME KEY=VALUE ...
  complete prompt NAME ARGUMENT [TEXT [KEY=VALUE ...]]
  complete resource TEMPLATE ARGUMENT [TEXT [KEY=VALUE ...]]
                                    how an argument can be completed; KEY=VALUE are other arguments
  listen [URI ...]                  tell what changes: lists, and these resources
  ping                              see whether the server answers
  shell                             the same actions, line by line

options, anywhere before --
  --url URL           the server is reached over HTTP, and not started
  --header NAME:VALUE send this header field with every request; may be given again
  --cacert FILE       trust the servers that the authorities in this PEM file vouch for, and no others
  --login             log in, in the browser, when the server wants it
  --tokens FOLDER     keep logins there, not in ~/.local/state/mcplink
  --json              print the bare result as JSON
  --era ERA           legacy, modern or auto (the default)
  --revision DATE     speak this revision only
  --timeout SECONDS   for connecting, and for each call
  --root PLACE        a directory or URI that the server may work in; may be given again
  --log LEVEL         have the server send log messages from this level on
  --env NAME          give the server this environment variable of ours; may be given again
  --env NAME=VALUE    give it this one
  --inherit-env       give it all of ours, not just PATH, HOME, LANG and the like
  --trace             show the messages on standard error: seconds, > sent or < received, text
  --help, --version

What a server asks is asked at the terminal, if there is one.
Proxies are those of HTTP_PROXY, HTTPS_PROXY and ALL_PROXY, less what NO_PROXY lists.

exit code: 0 done, 1 the tool said error, 2 usage, 3 the server refused,
4 connection or protocol failure, 5 timed out, 130 interrupted

INT (Ctrl-C), TERM and HUP cancel what is going on and close the connection; a second one ends
at once. In the shell they cancel the action that runs, or end the shell where none does.
";

#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) json: bool,
    pub(crate) revisions: Vec<ProtocolVersion>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) roots: Vec<Root>,
    pub(crate) log: Option<LoggingLevel>,
    pub(crate) trace: bool,
    pub(crate) url: Option<String>,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) authorities: Option<PathBuf>,
    pub(crate) login: bool,
    pub(crate) tokens: Option<PathBuf>,
    /// Environment variables for the server. One without a value is passed on from this process.
    pub(crate) env: Vec<(String, Option<String>)>,
    pub(crate) inherits_env: bool,
    pub(crate) server: Vec<OsString>,
}

#[derive(Debug)]
pub(crate) enum Action {
    Info,
    Tools,
    Call(String, Vec<String>),
    Resources,
    Templates,
    Read(String),
    Prompts,
    Prompt(String, Vec<String>),
    Complete(CompletionRequest),
    Listen(Vec<String>),
    Ping,
    Shell,
}

#[derive(Debug)]
pub(crate) struct CompletionRequest {
    pub(crate) of_prompt: bool,
    pub(crate) name: String,
    pub(crate) argument: String,
    pub(crate) text: String,
    pub(crate) known: Vec<String>,
}

pub(crate) enum Asked {
    Help,
    Version,
    Run(Box<Options>, Action),
}

pub(crate) fn read(words: impl Iterator<Item = OsString>) -> Result<Asked, String> {
    let mut words = words.peekable();
    let mut action = Vec::new();
    let (mut era, mut revision) = (ProtocolVersion::ALL.to_vec(), None);
    let mut options = Options {
        json: false,
        revisions: Vec::new(),
        timeout: None,
        roots: Vec::new(),
        log: None,
        trace: false,
        url: None,
        headers: Vec::new(),
        authorities: None,
        login: false,
        tokens: None,
        env: Vec::new(),
        inherits_env: false,
        server: Vec::new(),
    };
    if words.peek().is_none() {
        return Err("there is nothing to do".to_owned());
    }
    while let Some(word) = words.next() {
        let word = text(word)?;
        let (name, given) = match word.split_once('=') {
            Some((name, value)) if name.starts_with("--") => (name, Some(value.to_owned())),
            _ => (&*word, None),
        };
        let mut value_in_bytes = || {
            let value = given.clone().map(OsString::from).or_else(|| words.next());
            value.ok_or_else(|| format!("{name} takes a value"))
        };
        let mut value = || text(value_in_bytes()?);
        match name {
            "--help" | "-h" => return Ok(Asked::Help),
            "--version" | "-V" => return Ok(Asked::Version),
            "--json" => options.json = true,
            "--trace" => options.trace = true,
            "--era" => era = read_era(&value()?)?,
            "--revision" => revision = Some(read_revision(&value()?)?),
            "--timeout" => options.timeout = Some(read_timeout(&value()?)?),
            "--root" => options.roots.push(read_root(&value()?)?),
            "--url" => options.url = Some(value()?),
            "--header" => options.headers.push(read_header(&value()?)?),
            "--cacert" => options.authorities = Some(value_in_bytes()?.into()),
            "--login" => options.login = true,
            "--tokens" => options.tokens = Some(value_in_bytes()?.into()),
            "--env" => options.env.push(read_variable(&value()?)?),
            "--inherit-env" => options.inherits_env = true,
            "--log" => options.log = Some(read_level(&value()?)?),
            "--" => options.server = words.by_ref().collect(),
            name if name.starts_with('-') && name.len() > 1 => {
                return Err(format!("there is no option {name}"));
            }
            _ => action.push(word),
        }
    }
    era.retain(|known| revision.is_none_or(|revision| *known == revision));
    if era.is_empty() {
        return Err("--era and --revision contradict each other".to_owned());
    }
    options.revisions = era;
    if options.url.is_some() && !options.server.is_empty() {
        return Err("a server is either started, behind --, or reached, with --url".to_owned());
    }
    let is_for_url = [
        ("--header", !options.headers.is_empty()),
        ("--login", options.login),
        ("--tokens", options.tokens.is_some()),
    ];
    let given = is_for_url.iter().find(|(_, is_given)| *is_given);
    if let (None, Some((name, _))) = (&options.url, given) {
        return Err(format!("{name} is for servers that are reached with --url"));
    }
    let is_for_command = [
        ("--env", !options.env.is_empty()),
        ("--inherit-env", options.inherits_env),
    ];
    let given = is_for_command.iter().find(|(_, is_given)| *is_given);
    if let (Some(_), Some((name, _))) = (&options.url, given) {
        return Err(format!("{name} is for servers that are started, behind --"));
    }
    if options.tokens.is_some() && !options.login {
        return Err("--tokens says where logins are kept: it goes with --login".to_owned());
    }
    let is_secure = |url: &String| url.starts_with("https:");
    if options.authorities.is_some() && !options.url.as_ref().is_some_and(is_secure) {
        return Err("--cacert is for servers that are reached with --url https://…".to_owned());
    }
    let has_server = options.url.is_some() || !options.server.is_empty();
    let action = read_action(action).map_err(|text| {
        if has_server {
            text
        } else {
            format!("{text}; the server's command stands behind --")
        }
    })?;
    Ok(Asked::Run(Box::new(options), action))
}

/// Returns a word as text. Names, values and URLs must be UTF-8; only file names need not be.
fn text(word: OsString) -> Result<String, String> {
    word.into_string()
        .map_err(|word| format!("'{}' is no UTF-8", word.to_string_lossy()))
}

pub(crate) fn read_action(words: Vec<String>) -> Result<Action, String> {
    let mut words = words.into_iter();
    let name = words
        .next()
        .ok_or("the action is missing, such as 'tools'")?;
    let mut take = |what: &str| words.next().ok_or_else(|| format!("{name} takes {what}"));
    let action = match &*name {
        "info" => Action::Info,
        "tools" => Action::Tools,
        "resources" => Action::Resources,
        "templates" => Action::Templates,
        "prompts" => Action::Prompts,
        "ping" => Action::Ping,
        "shell" => Action::Shell,
        "read" => Action::Read(take("the address of a resource")?),
        "call" => Action::Call(take("the name of a tool")?, words.by_ref().collect()),
        "prompt" => Action::Prompt(take("the name of a prompt")?, words.by_ref().collect()),
        "listen" => Action::Listen(words.by_ref().collect()),
        "complete" => {
            let of_prompt = match &*take("'prompt' or 'resource'")? {
                "prompt" => true,
                "resource" => false,
                other => return Err(format!("complete takes prompt or resource, not {other}")),
            };
            Action::Complete(CompletionRequest {
                of_prompt,
                name: take("the name of a prompt, or a template")?,
                argument: take("the name of an argument")?,
                text: words.next().unwrap_or_default(),
                known: words.by_ref().collect(),
            })
        }
        other => return Err(format!("there is no action {other}")),
    };
    match words.next() {
        Some(word) => Err(format!("{name} does not take '{word}'")),
        None => Ok(action),
    }
}

fn read_header(text: &str) -> Result<(String, String), String> {
    let parts = text.split_once(':');
    let (name, value) = parts.ok_or("--header takes NAME:VALUE")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

fn read_variable(text: &str) -> Result<(String, Option<String>), String> {
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => (text, None),
    };
    if name.is_empty() {
        return Err(format!("--env takes NAME or NAME=VALUE, not '{text}'"));
    }
    Ok((name.to_owned(), value))
}

fn read_era(text: &str) -> Result<Vec<ProtocolVersion>, String> {
    let all = ProtocolVersion::ALL.iter().copied();
    match text {
        "auto" => Ok(all.collect()),
        "legacy" => Ok(ProtocolVersion::LEGACY.to_vec()),
        "modern" => Ok(all.filter(|revision| revision.is_modern()).collect()),
        other => Err(format!("--era takes legacy, modern or auto, not {other}")),
    }
}

fn read_revision(text: &str) -> Result<ProtocolVersion, String> {
    text.parse().map_err(|_| {
        let known: Vec<&str> = ProtocolVersion::ALL
            .iter()
            .map(|revision| revision.as_str())
            .collect();
        format!("--revision takes one of {}, not {text}", known.join(", "))
    })
}

/// Parses a root: a URI, or a directory, which becomes a URI.
fn read_root(text: &str) -> Result<Root, String> {
    let root = if text.contains("://") {
        let root = Root::new(text);
        root.check().map(|()| root)
    } else {
        let path =
            std::fs::canonicalize(text).map_err(|error| format!("--root {text}: {error}"))?;
        Root::of_path(path)
    };
    root.map_err(|error| format!("--root {text}: {error}"))
}

fn read_timeout(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok();
    seconds
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .filter(|timeout| !timeout.is_zero())
        .ok_or_else(|| format!("--timeout takes seconds, not {text}"))
}

fn read_level(text: &str) -> Result<LoggingLevel, String> {
    match LoggingLevel::from(text) {
        LoggingLevel::Other(_) => Err(format!(
            "--log takes a level such as debug, info, warning or error, not {text}"
        )),
        level => Ok(level),
    }
}
