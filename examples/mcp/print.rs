//! What people see.

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use mcplink::protocol::Progress;
use mcplink::schema::{ContentBlock, JsonSchema, ResourceContents};
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// Writes to standard output.
pub(crate) fn out(text: &str) -> io::Result<()> {
    bytes(text.as_bytes())
}

pub(crate) fn bytes(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}

/// A line of JSON.
pub(crate) fn json(value: &impl Serialize) -> io::Result<()> {
    let mut text = serde_json::to_string(value)?;
    text.push('\n');
    out(&text)
}

/// A line of text for people.
pub(crate) fn line(text: &str) -> io::Result<()> {
    out(&format!("{}\n", shown(text)))
}

/// A line beside the result, on standard error. It takes the place of a bar.
pub(crate) fn note(text: &str) {
    let start = if io::stderr().is_terminal() {
        CLEAR
    } else {
        ""
    };
    eprintln!("{start}{}", clean(text));
}

/// Empties the line of a terminal.
const CLEAR: &str = "\r\x1b[K";

/// Text as it came, but for what would steer a terminal.
fn shown(text: &str) -> String {
    if io::stdout().is_terminal() {
        clean(text)
    } else {
        text.to_owned()
    }
}

/// Text without what steers a terminal: a server's words must not move the cursor.
pub(crate) fn clean(text: &str) -> String {
    let keep = |c: char| !c.is_control() || matches!(c, '\n' | '\t');
    text.chars()
        .map(|c| if keep(c) { c } else { '\u{fffd}' })
        .collect()
}

/// Columns as wide as what is in them; on a terminal the last one is cut at its edge.
pub(crate) fn table(heads: &[&str], rows: &[Vec<String>]) -> io::Result<()> {
    let is_shown = io::stdout().is_terminal();
    let one_line = |(column, cell): (usize, &String)| {
        let first = cell.trim().lines().next().unwrap_or_default();
        let text = clean(first).replace('\t', " ");
        // On a terminal the columns between leave room for the last one.
        let is_between = column > 0 && column + 1 < heads.len();
        if is_shown && is_between {
            shortened(&text, WIDEST_BETWEEN)
        } else {
            text
        }
    };
    let rows: Vec<Vec<String>> = rows
        .iter()
        .map(|row| row.iter().enumerate().map(one_line).collect())
        .collect();
    let width_of = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([heads[column].len()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..heads.len()).map(width_of).collect();
    let heads: Vec<String> = heads.iter().map(|head| (*head).to_owned()).collect();
    let mut text = String::new();
    for row in std::iter::once(&heads).chain(&rows) {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            line.push_str(&format!("{cell:width$}  "));
        }
        text.push_str(&cut(line.trim_end()));
        text.push('\n');
    }
    out(&text)
}

const WIDEST_BETWEEN: usize = 24;

fn cut(line: &str) -> String {
    if io::stdout().is_terminal() {
        shortened(line, columns())
    } else {
        line.to_owned()
    }
}

fn shortened(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    format!("{kept}…")
}

/// How wide the terminal is. It is asked once.
fn columns() -> usize {
    static COLUMNS: OnceLock<usize> = OnceLock::new();
    *COLUMNS.get_or_init(|| {
        let told = std::env::var("COLUMNS").ok();
        let told = told.and_then(|text| text.parse().ok());
        told.or_else(columns_of_terminal).unwrap_or(80)
    })
}

fn columns_of_terminal() -> Option<usize> {
    let mut stty = Command::new("stty");
    let stty = stty.arg("size").stdin(Stdio::inherit());
    let size = stty.stderr(Stdio::null()).output().ok()?.stdout;
    let columns = std::str::from_utf8(&size).ok()?.split_whitespace().nth(1)?;
    columns.parse().ok().filter(|columns| *columns > 0)
}

/// What a table shows of a schema, in the order of its text.
#[derive(Deserialize)]
struct Arguments {
    #[serde(default)]
    properties: Keys,
    #[serde(default)]
    required: Vec<String>,
}

#[derive(Default)]
struct Keys(Vec<String>);

impl<'de> Deserialize<'de> for Keys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Keys;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Keys, A::Error> {
                let mut keys = Keys::default();
                while let Some((key, _)) = map.next_entry::<String, IgnoredAny>()? {
                    keys.0.push(key);
                }
                Ok(keys)
            }
        }
        deserializer.deserialize_map(Collect)
    }
}

/// The arguments of a tool: those that may be missing in brackets.
pub(crate) fn arguments(schema: &JsonSchema) -> String {
    let Ok(schema) = schema.read::<Arguments>() else {
        return String::new();
    };
    let names: Vec<String> = schema
        .properties
        .0
        .iter()
        .map(|name| {
            if schema.required.contains(name) {
                name.clone()
            } else {
                format!("[{name}]")
            }
        })
        .collect();
    names.join(" ")
}

/// Content as text.
pub(crate) fn content(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(image) => media("image", &image.mime_type, image.bytes()),
        ContentBlock::Audio(audio) => media("audio", &audio.mime_type, audio.bytes()),
        ContentBlock::ResourceLink(link) => format!("[{}: {}]", link.name, link.uri),
        ContentBlock::Resource(embedded) => resource(&embedded.resource),
        other => format!("[{}]", other.kind()),
    }
}

fn media(what: &str, kind: &str, bytes: mcplink::Result<Vec<u8>>) -> String {
    match bytes {
        Ok(bytes) => format!("[{what}: {kind}, {} bytes]", bytes.len()),
        Err(_) => format!("[{what}: {kind}, not readable]"),
    }
}

pub(crate) fn resource(contents: &ResourceContents) -> String {
    match contents {
        ResourceContents::Text(text) => text.text.clone(),
        ResourceContents::Blob(blob) => {
            let kind = blob.mime_type.as_deref().unwrap_or("binary");
            let size = blob.bytes().map_or(0, |bytes| bytes.len());
            format!("[{}: {kind}, {size} bytes]", blob.uri)
        }
        other => format!("[{}]", other.uri()),
    }
}

/// How far a call is, in one line of the terminal.
pub(crate) struct Bar {
    is_shown: bool,
    is_drawn: bool,
}

impl Bar {
    pub(crate) fn new() -> Self {
        Self {
            is_shown: io::stderr().is_terminal(),
            is_drawn: false,
        }
    }

    pub(crate) fn draw(&mut self, progress: &Progress) {
        const WIDTH: f64 = 30.0;
        if !self.is_shown {
            return;
        }
        let bar = match progress.total {
            Some(total) if total > 0.0 => {
                let part = (progress.progress / total).clamp(0.0, 1.0);
                let done = "#".repeat((part * WIDTH).round() as usize);
                format!("[{done:30}] {:3.0} %", part * 100.0)
            }
            _ => format!("{}", progress.progress),
        };
        let message = clean(progress.message.as_deref().unwrap_or_default()).replace('\n', " ");
        let room = columns().saturating_sub(bar.len() + 2);
        let message: String = message.chars().take(room).collect();
        eprint!("{CLEAR}{bar} {message}");
        self.is_drawn = true;
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if self.is_drawn {
            eprint!("{CLEAR}");
        }
    }
}
