//! Folders of skills on the disk, and skills made in code, for tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use mcplink::schema::JsonObject;
use mcplink::server::skills::{PublishedSkill, SkillFolder, SkillOptions};
use mcplink::server::{Server, ServerBuilder};
use mcplink::skills::FrontMatterParser;
use mcplink::{Error, ErrorKind};
use serde_json::{Value, json};

use crate::raw::Raw;

/// A folder of the test's own, which is removed at its end.
pub(crate) struct Tree(PathBuf);

impl Tree {
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let place = format!("skills-{}-{number}", std::process::id());
        let tree = Self(PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(place));
        fs::create_dir_all(&tree.0).unwrap();
        tree
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.0.join(path)
    }

    pub(crate) fn file(&self, path: &str, content: impl AsRef<[u8]>) -> &Self {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    /// Adds the `SKILL.md` of a skill in this folder.
    pub(crate) fn skill(&self, folder: &str) -> &Self {
        let name = Path::new(folder).file_name().unwrap().to_str().unwrap();
        self.file(&format!("{folder}/SKILL.md"), skill_md(name, "An example."))
    }

    pub(crate) fn folder(&self) -> SkillFolder {
        SkillFolder::new(&self.0)
    }

    /// A builder with the skills of this folder.
    pub(crate) fn builder(&self) -> ServerBuilder {
        builder().skills(self.folder())
    }

    pub(crate) fn server(&self) -> Server {
        self.builder().build().unwrap()
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}

/// A `SKILL.md` whose front matter is written as JSON, which is YAML too.
pub(crate) fn skill_md(name: &str, description: &str) -> String {
    let front_matter = json!({ "name": name, "description": description });
    format!("---\n{front_matter}\n---\n# {name}\n")
}

pub(crate) fn front_matter(name: &str, description: &str) -> JsonObject {
    let value = json!({ "name": name, "description": description });
    value.as_object().unwrap().clone()
}

/// A parser for front matter that is written as JSON: these tests also run without the feature
/// `skills`.
pub(crate) fn json_parser() -> FrontMatterParser {
    FrontMatterParser::new(|text| {
        serde_json::from_str(text)
            .map_err(|error| Error::new(ErrorKind::Invalid, error.to_string()))
    })
}

pub(crate) fn options() -> SkillOptions {
    SkillOptions::default().front_matter_parser(json_parser())
}

pub(crate) fn builder() -> ServerBuilder {
    Server::builder("skills", "1").skill_options(options())
}

/// A skill made in code, with a `SKILL.md`.
pub(crate) fn made(path: &str) -> PublishedSkill {
    let name = path.rsplit('/').next().unwrap();
    PublishedSkill::new(path).file("SKILL.md", skill_md(name, "An example."))
}

/// The items of all pages, and how many there were on each.
pub(crate) fn pages(
    client: &mut Raw,
    method: &str,
    member: &str,
    params: &Value,
) -> (Vec<Value>, Vec<usize>) {
    let (mut items, mut sizes) = (Vec::new(), Vec::new());
    let mut asked = params.clone();
    loop {
        let page = client.result(method, asked);
        let shown = page[member].as_array().unwrap();
        sizes.push(shown.len());
        items.extend(shown.iter().cloned());
        let Some(cursor) = page.get("nextCursor") else {
            return (items, sizes);
        };
        asked = params.clone();
        asked["cursor"] = cursor.clone();
    }
}

pub(crate) fn listed(client: &mut Raw) -> Vec<Value> {
    pages(client, "skills/list", "skills", &json!({})).0
}

pub(crate) fn uris(items: &[Value]) -> Vec<&str> {
    items.iter().map(|it| it["uri"].as_str().unwrap()).collect()
}

/// The bytes of a file, as a client gets them.
pub(crate) fn read(client: &mut Raw, uri: &str) -> Vec<u8> {
    use base64::Engine as _;
    let read = client.result("resources/read", json!({ "uri": uri }));
    let contents = &read["contents"][0];
    match contents.get("text") {
        Some(text) => text.as_str().unwrap().as_bytes().to_vec(),
        None => base64::engine::general_purpose::STANDARD
            .decode(contents["blob"].as_str().unwrap())
            .unwrap(),
    }
}
