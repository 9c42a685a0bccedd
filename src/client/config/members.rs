//! The members of a configuration file.

use std::fmt;
use std::path::Path;

use serde_json::{Map, Value};

use crate::error::Excerpt;
use crate::schema::JsonObject;

/// Members of a server's entry in a configuration file that only matter to the user interface of a
/// host, and restrict nothing.
const IGNORED: [&str; 8] = [
    "alwaysAllow",
    "autoApprove",
    "description",
    "dev",
    "gallery",
    "icon",
    "source",
    "version",
];
/// The names that hosts use for the member `url`.
const URLS: [&str; 3] = ["url", "serverUrl", "httpUrl"];

/// How a server is reached. The texts may contain variables.
#[derive(Clone)]
pub(super) enum Endpoint {
    Command(Command),
    Url {
        url: String,
        headers: Vec<(String, String)>,
    },
    /// The server can't be reached, for this reason.
    Unusable(String),
}

#[derive(Clone)]
pub(super) struct Command {
    pub(super) program: String,
    pub(super) args: Vec<String>,
    /// The environment variables to set. A variable whose value is `None` is removed from the
    /// environment.
    pub(super) env: Vec<(String, Option<String>)>,
    pub(super) env_file: Option<String>,
    pub(super) cwd: Option<String>,
}

/// A value that the user enters, and that texts use as `${input:ID}` (`inputs` of Visual Studio
/// Code).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConfigInput {
    /// The id of the input.
    pub id: String,
    /// The text to show to the user.
    pub description: Option<String>,
    /// Whether the value is a secret, which is not shown while the user types it.
    pub is_password: bool,
    /// The default value, which the host offers to the user.
    pub default: Option<String>,
    /// The values to choose from. Empty if the user may enter any text.
    pub options: Vec<String>,
}

/// A warning about a member of a configuration file that is not applied.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConfigWarning {
    /// The name of the server; `None` if the member belongs to no server.
    pub server: Option<String>,
    /// The name of the member.
    pub member: String,
    /// The reason why the member is not applied. The text contains no value of the file.
    pub reason: String,
}

impl fmt::Display for ConfigWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(server) = &self.server {
            write!(f, "server '{}', ", Excerpt(server))?;
        }
        write!(f, "member '{}': {}", Excerpt(&self.member), self.reason)
    }
}

/// The content of a configuration file.
pub(super) struct Members<'a> {
    workspace: &'a Path,
    pub(super) servers: Vec<Server>,
    pub(super) inputs: Vec<ConfigInput>,
    pub(super) warnings: Vec<ConfigWarning>,
}

pub(super) struct Server {
    pub(super) name: String,
    pub(super) is_disabled: bool,
    pub(super) endpoint: Endpoint,
    /// The members that the library does not apply.
    pub(super) extra: JsonObject,
}

impl<'a> Members<'a> {
    pub(super) fn new(workspace: &'a Path) -> Self {
        Self {
            workspace,
            servers: Vec::new(),
            inputs: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Reads all servers and inputs of the file. Returns whether the file has an object with
    /// servers.
    pub(super) fn read(&mut self, file: &Value) -> bool {
        // The servers of the project first: they take precedence over those of the user.
        let projects = file["projects"].as_object();
        let own = projects.and_then(|projects| projects.get(self.workspace.to_str()?));
        let places = [
            own.and_then(|own| own.get("mcpServers")),
            file.get("mcpServers"),
            file.get("servers"),
            file.get("mcp").and_then(|mcp| mcp.get("servers")),
            file.get("context_servers"),
        ];
        let mut has_servers = projects.is_some();
        for servers in places.into_iter().flatten() {
            match servers {
                Value::Object(servers) => {
                    has_servers = true;
                    for (name, server) in servers {
                        self.add(name, server);
                    }
                }
                _ => self.warn(None, "servers", "expected an object"),
            }
        }
        self.servers.sort_by(|one, other| one.name.cmp(&other.name));
        for inputs in [&file["inputs"], &file["mcp"]["inputs"]] {
            self.add_inputs(inputs);
        }
        has_servers
    }

    fn warn(&mut self, server: Option<&str>, member: &str, reason: &str) {
        self.warnings.push(ConfigWarning {
            server: server.map(str::to_owned),
            member: member.to_owned(),
            reason: reason.to_owned(),
        });
    }

    fn add(&mut self, name: &str, server: &Value) {
        if self.servers.iter().any(|other| other.name == name) {
            return self.warn(
                Some(name),
                name,
                "another server has this name; this one is ignored",
            );
        }
        let Some(members) = server.as_object() else {
            return self.warn(Some(name), name, "expected an object");
        };
        let mut reader = Reader {
            members: members.clone(),
            warnings: Vec::new(),
        };
        let is_disabled = reader.flag("disabled", false) || !reader.flag("enabled", true);
        let endpoint = reader.endpoint();
        reader.refuse_rest();
        let extra = reader.members.into_iter().collect();
        for (member, reason) in reader.warnings {
            self.warn(Some(name), &member, &reason);
        }
        self.servers.push(Server {
            name: name.to_owned(),
            is_disabled,
            endpoint,
            extra,
        });
    }

    fn add_inputs(&mut self, inputs: &Value) {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        for input in inputs.as_array().into_iter().flatten() {
            let Some(id) = text(&input["id"]) else {
                self.warn(None, "inputs", "an input has no id");
                continue;
            };
            match input["type"].as_str() {
                Some("promptString" | "pickString") => {}
                _ => {
                    let reason = "expected the type promptString or pickString; the value has to be \
                                  given by other means";
                    self.warn(None, &format!("inputs.{id}"), reason);
                }
            }
            let options = input["options"].as_array().into_iter().flatten();
            self.inputs.push(ConfigInput {
                id,
                description: text(&input["description"]),
                is_password: input["password"] == true,
                default: text(&input["default"]),
                // An option may have a label.
                options: options
                    .filter_map(|option| text(option).or_else(|| text(&option["value"])))
                    .collect(),
            });
        }
    }
}

/// A reader of the members of one server. Collects a warning for each member that is unknown or
/// invalid.
struct Reader {
    members: Map<String, Value>,
    warnings: Vec<(String, String)>,
}

impl Reader {
    fn warn(&mut self, member: &str, reason: impl Into<String>) {
        self.warnings.push((member.to_owned(), reason.into()));
    }

    fn flag(&mut self, member: &str, default: bool) -> bool {
        match self.members.remove(member) {
            None => default,
            Some(Value::Bool(flag)) => flag,
            Some(_) => {
                self.warn(member, "expected true or false");
                default
            }
        }
    }

    fn text(&mut self, member: &str) -> Option<String> {
        match self.members.remove(member)? {
            Value::String(text) => Some(text),
            _ => {
                self.warn(member, "expected a string");
                None
            }
        }
    }

    fn texts(&mut self, member: &str) -> Vec<String> {
        let Some(value) = self.members.remove(member) else {
            return Vec::new();
        };
        let texts = value
            .as_array()
            .and_then(|all| all.iter().map(as_text).collect());
        texts.unwrap_or_else(|| {
            self.warn(member, "expected an array of strings");
            Vec::new()
        })
    }

    /// Reads an object of strings, or of `null`.
    fn pairs(&mut self, member: &str) -> Vec<(String, Option<String>)> {
        let mut pairs = Vec::new();
        match self.members.remove(member) {
            None => {}
            Some(Value::Object(object)) => {
                for (name, value) in object {
                    match (as_text(&value), value.is_null()) {
                        (None, false) => {
                            self.warn(&format!("{member}.{name}"), "expected a string");
                        }
                        (text, _) => pairs.push((name, text)),
                    }
                }
            }
            Some(_) => self.warn(member, "expected an object of strings"),
        }
        pairs
    }

    fn endpoint(&mut self) -> Endpoint {
        let kind = self.text("type").or_else(|| self.text("transport"));
        // Zed had an object with these members.
        if let Some(Value::Object(inner)) = self.members.get("command").cloned() {
            self.members.remove("command");
            for (name, value) in inner {
                let name = if name == "path" {
                    "command".to_owned()
                } else {
                    name
                };
                self.members.entry(name).or_insert(value);
            }
        }
        let program = self.text("command");
        let urls: Vec<String> = URLS.iter().filter_map(|url| self.text(url)).collect();
        let url = urls.into_iter().next();
        let wants_url = match kind.as_deref() {
            None => url.is_some() && program.is_none(),
            Some("stdio" | "local") => false,
            Some("http" | "sse" | "streamable-http" | "streamableHttp" | "streamable_http")
            | Some("remote") => true,
            Some(_) => {
                let why = "its type is not supported: expected stdio, http, streamable-http or sse";
                self.warn("type", why);
                return Endpoint::Unusable(why.to_owned());
            }
        };
        let endpoint = match (wants_url, program, url) {
            (true, program, Some(url)) => {
                if program.is_some() {
                    self.warn("command", "not applied, since the server has a URL");
                }
                let headers = self.pairs("headers").into_iter();
                let headers = headers.filter_map(|(name, value)| Some((name, value?)));
                return Endpoint::Url {
                    url,
                    headers: headers.collect(),
                };
            }
            (false, Some(program), url) => {
                if url.is_some() {
                    self.warn("url", "not applied, since the server has a command");
                }
                Endpoint::Command(Command {
                    program,
                    args: self.texts("args"),
                    env: self.pairs("env"),
                    env_file: self.text("envFile"),
                    cwd: self.text("cwd"),
                })
            }
            (true, _, None) => Endpoint::Unusable("it has no 'url'".to_owned()),
            (false, None, _) => Endpoint::Unusable("it has no 'command' and no 'url'".to_owned()),
        };
        if let Endpoint::Unusable(why) = &endpoint {
            self.warn("command", why.clone());
        }
        endpoint
    }

    fn refuse_rest(&mut self) {
        let rest: Vec<String> = self.members.keys().cloned().collect();
        for member in rest {
            if !IGNORED.contains(&&*member) {
                self.warn(&member, "not known, and not applied");
            }
        }
    }
}

/// Returns the text of a string or a number: hosts accept a port without quotes, for example.
fn as_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    }
}
