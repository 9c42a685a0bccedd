//! Output for people: lines, tables, JSON and progress bars.

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use mcplink::protocol::Progress;
use mcplink::schema::{ContentBlock, JsonSchema, ResourceContents};
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Writes to standard output.
pub(crate) fn out(text: &str) -> io::Result<()> {
    bytes(text.as_bytes())?;
    if !text.is_empty() {
        ends_a_line(text.ends_with('\n'));
    }
    Ok(())
}

pub(crate) fn bytes(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}

/// True while the last output did not end its line.
static IS_WITHIN_A_LINE: AtomicBool = AtomicBool::new(false);

/// Records whether the next output begins a line. A line that the user types ends one too.
pub(crate) fn ends_a_line(ends: bool) {
    IS_WITHIN_A_LINE.store(!ends, Ordering::Relaxed);
}

/// Ends the current line, if it is not empty.
pub(crate) fn fresh_line() -> io::Result<()> {
    match IS_WITHIN_A_LINE.load(Ordering::Relaxed) {
        true => out("\n"),
        false => Ok(()),
    }
}

/// Prints JSON: on one line, or indented on a terminal. Characters that control a terminal are
/// escaped, which does not change the JSON value.
pub(crate) fn json(value: &impl Serialize) -> io::Result<()> {
    let text = serde_json::to_string(value)?;
    let text = match io::stdout().is_terminal() {
        true => indented(&text),
        false => on_one_line(&text),
    };
    out(&(text + "\n"))
}

/// Replaces white space between tokens by spaces: raw JSON of a server may have several lines.
fn on_one_line(json: &str) -> String {
    let mut line = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '\n' | '\r' | '\t' => line.push(' '),
            c => push_escaped(&mut line, c),
        }
    }
    line
}

fn push_escaped(text: &mut String, c: char) {
    match steers(c) {
        true => text.push_str(&format!("\\u{:04x}", u32::from(c))),
        false => text.push(c),
    }
}

/// Indents JSON. Tokens stay as they are, so numbers keep their digits.
pub(crate) fn indented(json: &str) -> String {
    let mut text = String::with_capacity(json.len() * 2);
    let mut depth: usize = 0;
    let mut chars = json
        .chars()
        .filter(|c| !matches!(c, '\n' | '\r' | '\t'))
        .peekable();
    let new_line = |text: &mut String, depth: usize| {
        text.push('\n');
        text.push_str(&"  ".repeat(depth));
    };
    while let Some(c) = chars.next() {
        match c {
            '"' => {
                text.push('"');
                let mut is_escaped = false;
                for c in chars.by_ref() {
                    push_escaped(&mut text, c);
                    match (is_escaped, c) {
                        (false, '"') => break,
                        (false, '\\') => is_escaped = true,
                        _ => is_escaped = false,
                    }
                }
            }
            ' ' => {}
            '{' | '[' => {
                text.push(c);
                while chars.next_if_eq(&' ').is_some() {}
                if let Some(end) = chars.next_if(|c| matches!(c, '}' | ']')) {
                    text.push(end);
                } else {
                    depth += 1;
                    new_line(&mut text, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                new_line(&mut text, depth);
                text.push(c);
            }
            ',' => {
                text.push(',');
                new_line(&mut text, depth);
            }
            ':' => text.push_str(": "),
            c => push_escaped(&mut text, c),
        }
    }
    text
}

/// Prints a line of text for people.
pub(crate) fn line(text: &str) -> io::Result<()> {
    out(&format!("{}\n", shown(text)))
}

/// Prints a text that is the whole result, without additions.
pub(crate) fn text(text: &str) -> io::Result<()> {
    out(&shown(text))
}

/// Prints a line on standard error, in place of a progress bar.
pub(crate) fn note(text: &str) {
    let start = if io::stderr().is_terminal() {
        CLEAR
    } else {
        ""
    };
    beside(&format!("{start}{}\n", clean(text)));
}

/// Writes to standard error. A failure is ignored, since there is no place left to report it.
pub(crate) fn beside(text: &str) {
    _ = io::stderr().write_all(text.as_bytes());
}

/// Clears the current line of a terminal.
const CLEAR: &str = "\r\x1b[K";

/// Returns the text; on a terminal, with control characters escaped.
fn shown(text: &str) -> String {
    if io::stdout().is_terminal() {
        clean(text)
    } else {
        text.to_owned()
    }
}

/// Escapes characters that control a terminal: a server's text must not move the cursor or reverse
/// the direction of writing.
pub(crate) fn clean(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    let mut clean = String::with_capacity(text.len());
    for c in text.chars() {
        match steers(c) && !matches!(c, '\n' | '\t') {
            true => clean.extend(c.escape_unicode()),
            false => clean.push(c),
        }
    }
    clean
}

/// Whether a character is a control (C0, DEL, C1) or changes the direction of the text after it.
pub(crate) fn steers(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Prints a table with columns as wide as their longest cell; on a terminal the last column is cut
/// at the edge.
pub(crate) fn table(heads: &[&str], rows: &[Vec<String>]) -> io::Result<()> {
    let is_shown = io::stdout().is_terminal();
    let one_line = |(column, cell): (usize, &String)| {
        let first = cell.trim().lines().next().unwrap_or_default();
        let text = clean(first).replace('\t', " ");
        // On a terminal the middle columns leave space for the last one.
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
        let cells = rows.iter().map(|row| row[column].width());
        let fitting = cells.filter(|width| *width <= WIDEST_ALIGNED);
        fitting.chain([heads[column].len()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..heads.len()).map(width_of).collect();
    let heads: Vec<String> = heads.iter().map(|head| (*head).to_owned()).collect();
    let mut text = String::new();
    for row in std::iter::once(&heads).chain(&rows) {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            line.push_str(cell);
            line.push_str(&" ".repeat(width.saturating_sub(cell.width()) + 2));
        }
        text.push_str(&cut(line.trim_end()));
        text.push('\n');
    }
    out(&text)
}

const WIDEST_BETWEEN: usize = 24;
/// The width above which a cell does not widen its column.
const WIDEST_ALIGNED: usize = 200;

fn cut(line: &str) -> String {
    if io::stdout().is_terminal() {
        shortened(line, columns())
    } else {
        line.to_owned()
    }
}

fn shortened(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    format!("{}…", start_of(text, width.saturating_sub(1)))
}

/// Returns the beginning of a text that fits into `columns` columns.
fn start_of(text: &str, columns: usize) -> &str {
    let mut left = columns;
    let mut fits = |c: char| {
        let fitting = left.checked_sub(c.width().unwrap_or(0));
        left = fitting.unwrap_or(0);
        fitting.is_some()
    };
    let end = text.char_indices().find(|(_, c)| !fits(*c));
    &text[..end.map_or(text.len(), |(at, _)| at)]
}

/// Returns the width of the terminal. It is determined once.
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

/// The properties of a schema that a table shows, in the order of the text.
#[derive(Deserialize)]
struct Arguments {
    #[serde(default)]
    properties: Members,
    #[serde(default)]
    required: Vec<String>,
}

/// The members of a JSON object, in the order of the text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Members(pub(crate) Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Members::default();
                while let Some(member) = map.next_entry()? {
                    members.0.push(member);
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(Collect)
    }
}

/// Returns the arguments of a tool; optional ones are in brackets.
pub(crate) fn arguments(schema: &JsonSchema) -> String {
    let Ok(schema) = schema.read::<Arguments>() else {
        return String::new();
    };
    let names: Vec<String> = schema
        .properties
        .0
        .iter()
        .map(|(name, _)| {
            if schema.required.contains(name) {
                name.clone()
            } else {
                format!("[{name}]")
            }
        })
        .collect();
    names.join(" ")
}

/// Returns a content block as text.
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

/// A progress bar, on one line of the terminal.
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
        let message = start_of(&message, room);
        beside(&format!("{CLEAR}{bar} {message}"));
        self.is_drawn = true;
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if self.is_drawn {
            beside(CLEAR);
        }
    }
}
