//! What people see.

use std::io::{self, IsTerminal, Write};

use mcplink::protocol::Progress;
use mcplink::schema::{ContentBlock, JsonSchema, ResourceContents};
use serde::Serialize;
use serde_json::Value;

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
    let one_line = |cell: &String| {
        let first = cell.trim().lines().next().unwrap_or_default();
        clean(first).replace('\t', " ")
    };
    let rows: Vec<Vec<String>> = rows
        .iter()
        .map(|row| row.iter().map(one_line).collect())
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

fn cut(line: &str) -> String {
    if !io::stdout().is_terminal() || line.chars().count() <= columns() {
        return line.to_owned();
    }
    let kept: String = line.chars().take(columns().saturating_sub(1)).collect();
    format!("{kept}…")
}

fn columns() -> usize {
    let told = std::env::var("COLUMNS").ok();
    told.and_then(|text| text.parse().ok()).unwrap_or(100)
}

/// The arguments of a tool: those that may be missing in brackets.
pub(crate) fn arguments(schema: &JsonSchema) -> String {
    let Ok(schema) = schema.read::<Value>() else {
        return String::new();
    };
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return String::new();
    };
    let is_required = |name: &String| {
        let required = schema.get("required").and_then(Value::as_array);
        required.is_some_and(|required| required.iter().any(|other| other == name.as_str()))
    };
    let names: Vec<String> = properties
        .keys()
        .map(|name| {
            if is_required(name) {
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
        ContentBlock::Image(image) => format!("[image, {}]", image.mime_type),
        ContentBlock::Audio(audio) => format!("[audio, {}]", audio.mime_type),
        ContentBlock::ResourceLink(link) => format!("[{}: {}]", link.name, link.uri),
        ContentBlock::Resource(embedded) => resource(&embedded.resource),
        other => format!("[{}]", other.kind()),
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
        eprint!("\r{bar} {message}\x1b[K");
        self.is_drawn = true;
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if self.is_drawn {
            eprint!("\r\x1b[K");
        }
    }
}
