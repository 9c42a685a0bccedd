//! The configuration files of hosts: which servers there are, and how to reach them.

mod env_file;
#[cfg(fuzzing)]
pub mod fuzzing;
mod jsonc;
mod members;
mod variables;

use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use self::members::{Command, Endpoint, Members};
pub use self::members::{ConfigInput, ConfigWarning};
use self::variables::Scope;
use super::{Client, ClientBuilder};
use crate::error::{Error, ErrorKind, Excerpt, Result};
use crate::schema::JsonObject;
#[cfg(feature = "http-client")]
use crate::transport::http::Http;
use crate::transport::{Child, Transport};

/// The maximum size of a configuration file, and of a file of environment variables, in bytes.
const MAX_BYTES: u64 = 16 << 20;

/// The servers of a configuration file, as hosts write it.
///
/// These formats are read:
///
/// | format | object with the servers |
/// |---|---|
/// | Claude Desktop, Claude Code, Cursor (`.mcp.json` and others) | `mcpServers` |
/// | Claude Code (`~/.claude.json`), for one workspace | `projects`, the workspace, `mcpServers` |
/// | Visual Studio Code (`.vscode/mcp.json`) | `servers` |
/// | Visual Studio Code (`settings.json`) | `mcp`, `servers` |
/// | Zed (`settings.json`) | `context_servers` |
///
/// Comments and trailing commas are allowed. A server has a `command` with `args`, `env`, `envFile`
/// and `cwd`, or a `url` with `headers`. Texts may contain variables: `${NAME}`,
/// `${NAME:-default}`, `${env:NAME}`, `${input:ID}`, `${workspaceFolder}`,
/// `${workspaceFolderBasename}`, `${userHome}`, `${cwd}` and `${pathSeparator}`. Variables are
/// replaced when a transport is made, so that one server without a value does not affect the
/// others.
///
/// Reading a configuration starts no program. Neither `Debug` nor any error shows a value of the
/// file, because values may be secrets. Errors name the file, the server and the member.
///
/// # Examples
///
/// ```no_run
/// use mcplink::client::{Client, Config};
///
/// # fn main() -> mcplink::Result<()> {
/// let config = Config::read(".mcp.json")?;
/// for warning in config.warnings() {
///     eprintln!("{warning}");
/// }
/// for server in config.servers() {
///     let client = server.connect(Client::builder("my-host", "1.0"))?;
///     println!("{}: {} tools", server.name(), client.list_tools()?.len());
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Config {
    path: PathBuf,
    servers: Vec<ServerConfig>,
    inputs: Vec<ConfigInput>,
    warnings: Vec<ConfigWarning>,
}

/// One server of a [`Config`].
#[derive(Clone)]
pub struct ServerConfig {
    name: String,
    file: PathBuf,
    is_disabled: bool,
    endpoint: Endpoint,
    extra: JsonObject,
    scope: Scope,
}

impl Config {
    /// Reads a configuration file.
    ///
    /// The workspace folder is the folder of the file, or the folder above it if the file is in a
    /// folder whose name begins with a dot, such as `.vscode`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`] when the file can't be read. [`ErrorKind::Limit`] when the file is larger
    /// than 16 MiB. [`ErrorKind::Invalid`] when the file contains no JSON object, or no object with
    /// servers.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let absolute = std::path::absolute(path);
        let absolute =
            absolute.map_err(|error| Error::io(format_args!("'{}'", shown(path)), error))?;
        let mut folder = absolute.parent().unwrap_or(&absolute);
        let is_hidden = |folder: &Path| {
            let name = folder.file_name().unwrap_or_default();
            name.as_encoded_bytes().starts_with(b".")
        };
        if is_hidden(folder)
            && let Some(above) = folder.parent()
        {
            folder = above;
        }
        Self::read_in(path, folder)
    }

    /// Reads a configuration file, and sets the workspace folder.
    ///
    /// # Errors
    ///
    /// The errors of [`read`](Self::read).
    pub fn read_in(path: impl AsRef<Path>, workspace: impl AsRef<Path>) -> Result<Self> {
        let (path, workspace) = (path.as_ref(), workspace.as_ref());
        let text = read_file(path)?;
        let invalid = |why: &dyn fmt::Display| {
            let text = format!("the configuration '{}' {why}", shown(path));
            Error::new(ErrorKind::Invalid, text)
        };
        let json = jsonc::to_json(text.trim_start_matches('\u{feff}'));
        let json = serde_json::from_str(&json)
            .map_err(|error| invalid(&format_args!("is not JSON: {error}")))?;
        let mut members = Members::new(workspace);
        if !members.read(&json) {
            return Err(invalid(
                &"has no servers: expected an object 'mcpServers', 'servers' or 'context_servers'",
            ));
        }
        let scope = Scope {
            workspace: workspace.to_owned(),
            inputs: std::collections::BTreeMap::new(),
        };
        let servers = members.servers.into_iter().map(|server| ServerConfig {
            name: server.name,
            file: path.to_owned(),
            is_disabled: server.is_disabled,
            endpoint: server.endpoint,
            extra: server.extra,
            scope: scope.clone(),
        });
        Ok(Self {
            path: path.to_owned(),
            servers: servers.collect(),
            inputs: members.inputs,
            warnings: members.warnings,
        })
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the servers, sorted by name.
    pub fn servers(&self) -> &[ServerConfig] {
        &self.servers
    }

    /// Returns the server with this name.
    pub fn server(&self, name: &str) -> Option<&ServerConfig> {
        self.servers.iter().find(|server| server.name == name)
    }

    /// Returns the descriptions of the values that the user has to enter. Each server names the
    /// [inputs](ServerConfig::inputs) that it needs.
    pub fn inputs(&self) -> &[ConfigInput] {
        &self.inputs
    }

    /// Sets the value of an input.
    pub fn input(mut self, id: impl Into<String>, value: impl Into<String>) -> Self {
        let (id, value) = (id.into(), value.into());
        for server in &mut self.servers {
            server.scope.inputs.insert(id.clone(), value.clone());
        }
        self
    }

    /// Returns warnings about the members of the file that are not applied, such as unknown
    /// members.
    pub fn warnings(&self) -> &[ConfigWarning] {
        &self.warnings
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("path", &self.path)
            .field("servers", &self.servers)
            .finish_non_exhaustive()
    }
}

impl ServerConfig {
    /// Returns the name of the server in the file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the file disables the server. The client can still connect to a disabled server.
    pub fn is_disabled(&self) -> bool {
        self.is_disabled
    }

    /// Returns the program and its arguments as written in the file; `None` for a server with a
    /// URL. The arguments may contain secrets.
    pub fn command(&self) -> Option<(&str, &[String])> {
        match &self.endpoint {
            Endpoint::Command(command) => Some((&command.program, &command.args)),
            _ => None,
        }
    }

    /// Returns the URL as written in the file; `None` for a server with a command. The query may
    /// contain secrets.
    pub fn url(&self) -> Option<&str> {
        match &self.endpoint {
            Endpoint::Url { url, .. } => Some(url),
            _ => None,
        }
    }

    /// Returns the members of the server that this library does not apply, as written in the file.
    /// Their values may be secrets.
    ///
    /// An example is `timeout`: Claude Code counts it in milliseconds, other hosts count it in
    /// seconds. A host that knows whose file it is can pass the time to [`ClientBuilder`].
    pub fn extra(&self) -> &JsonObject {
        &self.extra
    }

    /// Returns the ids of the inputs that the server uses, in the order of their first use.
    pub fn inputs(&self) -> Vec<&str> {
        let mut texts = Vec::new();
        match &self.endpoint {
            Endpoint::Command(command) => {
                texts.push(&command.program);
                texts.extend(&command.args);
                texts.extend(command.env.iter().filter_map(|(_, value)| value.as_ref()));
                texts.extend(&command.env_file);
                texts.extend(&command.cwd);
            }
            Endpoint::Url { url, headers } => {
                texts.push(url);
                texts.extend(headers.iter().map(|(_, value)| value));
            }
            Endpoint::Unusable(_) => {}
        }
        let mut ids = Vec::new();
        for id in texts.into_iter().flat_map(|text| variables::inputs(text)) {
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        ids
    }

    /// Connects to the server, with the settings of a builder.
    ///
    /// # Errors
    ///
    /// The errors of [`transport`](Self::transport) and of [`ClientBuilder::connect`].
    pub fn connect(&self, builder: ClientBuilder) -> Result<Client> {
        builder.connect(self.transport()?)
    }

    /// Returns a transport to the server: a [`Child`], or an `Http`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] when a variable has no value, when a member has a wrong value, or if
    /// the server has neither a command nor a URL. [`ErrorKind::Io`] when the `envFile` can't be
    /// read, and [`ErrorKind::Limit`] when the `envFile` is larger than 16 MiB.
    /// [`ErrorKind::Unsupported`] for a URL in a build without the feature `http-client`.
    pub fn transport(&self) -> Result<Box<dyn Transport>> {
        match &self.endpoint {
            Endpoint::Command(_) => Ok(Box::new(self.child()?)),
            #[cfg(feature = "http-client")]
            Endpoint::Url { .. } => Ok(Box::new(self.http()?)),
            #[cfg(not(feature = "http-client"))]
            Endpoint::Url { .. } => Err(Error::new(
                ErrorKind::Unsupported,
                format!("{}: a URL needs the feature 'http-client'", self.place()),
            )),
            Endpoint::Unusable(why) => Err(self.invalid(why)),
        }
    }

    /// Returns the transport of a server with a command. The caller may change the returned
    /// [`Child`] before connecting: for example, [`Child::env`] takes precedence over the file.
    ///
    /// The working directory is `cwd`. Without `cwd`, it is the workspace folder for the file of a
    /// project (`.mcp.json`, or a file in a folder such as `.vscode`), otherwise the working
    /// directory of this process. A relative program with a slash is relative to that directory.
    ///
    /// # Errors
    ///
    /// The errors of [`transport`](Self::transport). [`ErrorKind::Invalid`] for a server with a
    /// URL.
    pub fn child(&self) -> Result<Child> {
        let Endpoint::Command(command) = &self.endpoint else {
            return Err(self.invalid("it has no command"));
        };
        let program = self.expand("command", &command.program)?;
        let folder = match &command.cwd {
            Some(cwd) => Some(self.scope.workspace.join(self.expand("cwd", cwd)?)),
            None => self.is_of_project().then(|| self.scope.workspace.clone()),
        };
        let program = match &folder {
            Some(folder) if program.contains('/') => folder.join(&program),
            _ => PathBuf::from(&program),
        };
        let mut child = Child::new(program);
        for (number, arg) in command.args.iter().enumerate() {
            child = child.arg(self.expand(&format!("args[{number}]"), arg)?);
        }
        if let Some(folder) = folder {
            child = child.current_dir(folder);
        }
        for (name, value) in self.env_of_file(command)? {
            child = child.env(name, value);
        }
        for (name, value) in &command.env {
            child = match value {
                Some(value) => child.env(name, self.expand(&format!("env.{name}"), value)?),
                None => child.env_remove(name),
            };
        }
        Ok(child)
    }

    /// Returns the HTTP transport of a server with a URL. The caller may change the returned
    /// [`Http`] before connecting, for example to log in.
    ///
    /// # Errors
    ///
    /// The errors of [`transport`](Self::transport). [`ErrorKind::Invalid`] for a server with a
    /// command.
    #[cfg(feature = "http-client")]
    pub fn http(&self) -> Result<Http> {
        let (url, headers) = self.expanded_url()?;
        let http = Http::new(&url).map_err(|error| error.context(self.place()))?;
        let headers = headers.iter();
        Ok(headers.fold(http, |http, (name, value)| http.header(name, value)))
    }

    /// Returns the URL of the server and the header fields of its requests, with variables
    /// replaced. Both may contain secrets.
    ///
    /// # Errors
    ///
    /// The errors of [`transport`](Self::transport). [`ErrorKind::Invalid`] for a server with a
    /// command.
    pub fn expanded_url(&self) -> Result<(String, Vec<(String, String)>)> {
        let Endpoint::Url { url, headers } = &self.endpoint else {
            return Err(self.invalid("it has no URL"));
        };
        let header = |(name, value): &(String, String)| {
            let value = self.expand(&format!("headers.{name}"), value)?;
            Ok((name.clone(), value))
        };
        let headers: Result<Vec<_>> = headers.iter().map(header).collect();
        Ok((self.expand("url", url)?, headers?))
    }

    fn env_of_file(&self, command: &Command) -> Result<Vec<(String, String)>> {
        let Some(file) = &command.env_file else {
            return Ok(Vec::new());
        };
        let path = self.scope.workspace.join(self.expand("envFile", file)?);
        let text = read_file(&path).map_err(|error| error.context(self.place()))?;
        env_file::read(&text).map_err(|line| {
            let path = shown(&path);
            self.invalid(&format!(
                "line {line} of the envFile '{path}' is not NAME=VALUE"
            ))
        })
    }

    /// Whether the file belongs to a project, and not to the user.
    fn is_of_project(&self) -> bool {
        let is_hidden = |name: &std::ffi::OsStr| name.as_encoded_bytes().starts_with(b".");
        let folder = self.file.parent().and_then(Path::file_name);
        self.file
            .file_name()
            .is_some_and(|name| name == ".mcp.json")
            || folder.is_some_and(is_hidden)
    }

    fn expand(&self, member: &str, text: &str) -> Result<String> {
        let expanded = self.scope.expand(text);
        expanded.map_err(|why| self.invalid(&format!("member '{}': {why}", Excerpt(member))))
    }

    fn place(&self) -> String {
        let (name, file) = (Excerpt(&self.name), shown(&self.file));
        format!("server '{name}' of '{file}'")
    }

    fn invalid(&self, why: &str) -> Error {
        Error::new(ErrorKind::Invalid, format!("{}: {why}", self.place()))
    }
}

impl fmt::Debug for ServerConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match &self.endpoint {
            Endpoint::Command(_) => "stdio",
            Endpoint::Url { .. } => "http",
            Endpoint::Unusable(_) => "unusable",
        };
        f.debug_struct("ServerConfig")
            .field("name", &self.name)
            .field("kind", &kind)
            .field("is_disabled", &self.is_disabled)
            .finish_non_exhaustive()
    }
}

fn shown(path: &Path) -> String {
    Excerpt(&path.display().to_string()).to_string()
}

fn read_file(path: &Path) -> Result<String> {
    let failed = |error| Error::io(format_args!("'{}' can't be read", shown(path)), error);
    let mut text = Vec::new();
    let file = File::open(path).map_err(failed)?;
    file.take(MAX_BYTES + 1)
        .read_to_end(&mut text)
        .map_err(failed)?;
    if text.len() as u64 > MAX_BYTES {
        let text = format!("'{}' is larger than 16 MiB", shown(path));
        return Err(Error::new(ErrorKind::Limit, text));
    }
    String::from_utf8(text).map_err(|_| {
        Error::new(
            ErrorKind::Invalid,
            format!("'{}' is not UTF-8", shown(path)),
        )
    })
}
