//! A server of skills at the other end of a client in memory, which answers from tables and records
//! what it is asked.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mcplink::client::Client;
use mcplink::schema::{ProtocolVersion, SKILLS_EXTENSION};
use mcplink::skills::Digest;
use mcplink::transport::memory;
use serde_json::{Value, json};

use crate::rawserver::RawServer;

pub(crate) const MODERN: ProtocolVersion = ProtocolVersion::V2026_07_28;
pub(crate) const LEGACY: ProtocolVersion = ProtocolVersion::V2025_11_25;

/// What the server answers with. A test changes it at any time.
#[derive(Default)]
pub(crate) struct Tables {
    /// The pages of `skills/list`: entries, and the cursor of the next page.
    pub(crate) pages: Vec<(Vec<Value>, Option<&'static str>)>,
    /// The entries of `skills/get`, by URI.
    pub(crate) entries: BTreeMap<String, Value>,
    /// The content items of `resources/read`, by URI.
    pub(crate) files: BTreeMap<String, Value>,
    /// The children of directories, by URI.
    pub(crate) directories: BTreeMap<String, Vec<Value>>,
    /// The lifetime of all results, in milliseconds.
    pub(crate) ttl_ms: u64,
    /// Method and URI, or cursor, of each request.
    pub(crate) asked: Vec<String>,
    /// Sends these notifications before the next answer.
    pub(crate) notifications: Vec<&'static str>,
}

impl Tables {
    /// Publishes a file, and returns its line of a manifest.
    pub(crate) fn put(&mut self, uri: &str, bytes: &[u8]) -> Value {
        let item = match str::from_utf8(bytes) {
            Ok(text) => json!({ "uri": uri, "text": text }),
            Err(_) => json!({ "uri": uri, "blob": STANDARD.encode(bytes) }),
        };
        self.files.insert(uri.to_owned(), item);
        file(uri, bytes)
    }

    /// Publishes a skill with its `SKILL.md` and other files, in the list and for `skills/get`.
    pub(crate) fn publish(&mut self, directory: &str, files: &[(&str, &[u8])]) -> Value {
        let name = directory.rsplit('/').next().unwrap();
        let uri = format!("{directory}/SKILL.md");
        let mut manifest = vec![self.put(&uri, skill_md(name).as_bytes())];
        for (path, bytes) in files {
            manifest.push(self.put(&format!("{directory}/{path}"), bytes));
        }
        let entry = entry(directory, json!(manifest));
        self.list(entry.clone());
        entry
    }

    /// Publishes an entry.
    pub(crate) fn list(&mut self, entry: Value) {
        let uri = entry["uri"].as_str().unwrap().to_owned();
        if self.pages.is_empty() {
            self.pages.push((Vec::new(), None));
        }
        self.pages[0].0.push(entry.clone());
        self.entries.insert(uri, entry);
    }

    fn answer(&mut self, method: &str, params: &Value) -> Result<Value, i64> {
        let text = |member: &str| params[member].as_str().unwrap_or_default().to_owned();
        let uri = text("uri");
        match method {
            "skills/list" => {
                let index = match params["cursor"].as_str() {
                    None => 0,
                    Some(cursor) => {
                        let is_before = |(_, next): &(_, Option<&str>)| *next == Some(cursor);
                        self.pages.iter().position(is_before).unwrap() + 1
                    }
                };
                let (skills, next) = self.pages.get(index).cloned().unwrap_or_default();
                let mut result = json!({ "skills": skills });
                if let Some(next) = next {
                    result["nextCursor"] = json!(next);
                }
                Ok(result)
            }
            "skills/get" => {
                let entry = self.entries.get(&uri).ok_or(-32602)?;
                Ok(json!({ "skill": entry }))
            }
            "resources/read" => {
                let item = self.files.get(&uri).ok_or(-32602)?;
                Ok(json!({ "contents": [item] }))
            }
            "resources/directory/read" => {
                let children = self.directories.get(&uri).ok_or(-32602)?;
                Ok(json!({ "resources": children }))
            }
            "resources/list" => Ok(json!({ "resources": [] })),
            _ => Err(-32601),
        }
    }
}

pub(crate) struct SkillServer {
    tables: Arc<Mutex<Tables>>,
    _playing: JoinHandle<()>,
}

impl SkillServer {
    /// Connects a client to a server that declares the extension with these settings.
    pub(crate) fn connect(revision: ProtocolVersion, settings: Value) -> (Client, Self) {
        Self::connect_as(Client::builder("test", "1"), revision, settings)
    }

    pub(crate) fn connect_as(
        builder: mcplink::client::ClientBuilder,
        revision: ProtocolVersion,
        settings: Value,
    ) -> (Client, Self) {
        let (here, there) = memory::pair();
        let tables = Arc::new(Mutex::new(Tables::default()));
        let shared = Arc::clone(&tables);
        // It ends when the client closes.
        let playing = thread::spawn(move || {
            let mut server = RawServer::open(there);
            let capabilities = json!({
                "resources": { "listChanged": true }, "extensions": { SKILLS_EXTENSION: settings },
            });
            server.open_as(revision, &capabilities);
            while let Some(request) = server.next() {
                if request.get("id").is_some() {
                    play(&mut server, &request, &shared, revision);
                }
            }
        });
        let client = builder.revisions(&[revision]).connect(here).unwrap();
        let server = Self {
            tables,
            _playing: playing,
        };
        (client, server)
    }

    /// Changes the tables.
    pub(crate) fn set<T>(&self, change: impl FnOnce(&mut Tables) -> T) -> T {
        change(&mut self.tables.lock().unwrap())
    }

    /// Returns what was asked since the last call.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.set(|tables| std::mem::take(&mut tables.asked))
    }
}

fn play(
    server: &mut RawServer,
    request: &Value,
    tables: &Mutex<Tables>,
    revision: ProtocolVersion,
) {
    let (method, params) = (request["method"].as_str().unwrap(), &request["params"]);
    let mut tables = tables.lock().unwrap();
    let about = params["uri"].as_str().or_else(|| params["cursor"].as_str());
    let asked = format!("{method} {}", about.unwrap_or_default());
    tables.asked.push(asked.trim_end().to_owned());
    for name in std::mem::take(&mut tables.notifications) {
        server.notify(name, json!({}));
    }
    match tables.answer(method, params) {
        Ok(mut result) => {
            if revision.is_modern() {
                result["resultType"] = json!("complete");
                result["ttlMs"] = json!(tables.ttl_ms);
                result["cacheScope"] = json!("private");
            }
            server.answer(request, result);
        }
        Err(code) => server.refuse(request, code, "no"),
    }
}

/// The capabilities of a server that declares the extension with these settings.
pub(crate) fn declared(settings: &Value) -> Value {
    json!({ "resources": {}, "extensions": { SKILLS_EXTENSION: settings } })
}

/// A line of a manifest.
pub(crate) fn file(uri: &str, bytes: &[u8]) -> Value {
    json!({ "uri": uri, "digest": Digest::of(bytes).to_string(), "size": bytes.len() })
}

/// The front matter of the skill with this name.
pub(crate) fn front_matter(name: &str) -> Value {
    json!({ "name": name, "description": "An example.", "metadata": { "version": 1.0 } })
}

/// A `SKILL.md` with that front matter. JSON is YAML, so each parser can read it.
pub(crate) fn skill_md(name: &str) -> String {
    format!("---\n{}\n---\n# {name}\n", front_matter(name))
}

pub(crate) fn entry(directory: &str, resources: Value) -> Value {
    let name = directory.rsplit('/').next().unwrap();
    json!({
        "uri": format!("{directory}/SKILL.md"),
        "frontmatter": front_matter(name),
        "resources": resources,
    })
}
