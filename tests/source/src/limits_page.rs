//! `docs/limits.md` names every limit with its default, and the defaults fit each other.

use std::collections::BTreeMap;
use std::fs;

use crate::layout::{root, rust_files};
use crate::read;

/// The fields and setters of the library and of the crates in `adapters` whose names begin with `max_`, as `Type::name`, with
/// their default values where these are numbers.
fn settings() -> BTreeMap<String, Option<u64>> {
    let mut names = BTreeMap::new();
    let (mut defaults, mut constants) = (BTreeMap::new(), BTreeMap::new());
    let source = root();
    let adapters = rust_files(&crate::root().join("adapters"));
    for file in rust_files(&source).into_iter().chain(adapters) {
        // The C interface repeats the settings; `max_tokens` is a member of a message.
        if file.starts_with(source.join("cffi")) || file.ends_with("schema/sampling.rs") {
            continue;
        }
        let text = fs::read_to_string(&file).unwrap();
        // The type that the lines are about, and whether they are its defaults.
        let (mut owner, mut is_default) = (String::new(), false);
        for line in text.lines() {
            if let Some(name) = declared(line, "pub struct ") {
                (owner, is_default) = (name, false);
            } else if let Some(name) = declared(line, "impl Default for ") {
                (owner, is_default) = (name, true);
            } else if line.starts_with("impl") {
                let of = line.rsplit(" for ").next().unwrap_or(line);
                let of = of.trim_start_matches("impl");
                // Behind the lifetimes of the block.
                let of = match of.strip_prefix('<') {
                    Some(of) => of.split_once('>').map_or(of, |(_, of)| of),
                    None => of,
                };
                (owner, is_default) = (word(of.trim_start()), false);
            }
            let line = line.trim_start();
            if let Some((_, constant)) = line.split_once("const ")
                && let Some((name, value)) = constant.split_once(": usize = ")
                && let Some(value) = number(value)
            {
                constants.insert(word(name), value);
            }
            let name = ["pub max_", "pub fn max_", "max_"]
                .iter()
                .find_map(|start| Some(word(&format!("max_{}", line.strip_prefix(start)?))));
            let Some(name) = name.map(|name| format!("{owner}::{name}")) else {
                continue;
            };
            if is_default {
                if let Some((_, value)) = line.split_once(": ") {
                    defaults.insert(name, value.to_owned());
                }
            } else if line.starts_with("pub") {
                names.insert(name, None);
            }
        }
    }
    for (name, default) in &mut names {
        let Some(value) = defaults.get(name) else {
            continue;
        };
        let named = value.rsplit("::").next().map(word);
        let constant = named.and_then(|name| constants.get(&name).copied());
        *default = number(value).or(constant);
    }
    names
}

fn declared(line: &str, start: &str) -> Option<String> {
    line.strip_prefix(start).map(word)
}

/// The name at the beginning of a text.
fn word(text: &str) -> String {
    let is_part = |letter: &char| letter.is_alphanumeric() || *letter == '_';
    text.chars().take_while(is_part).collect()
}

/// The value of `10_000,` or `16 << 20,`.
fn number(text: &str) -> Option<u64> {
    let text = text.trim_end_matches([',', ';']).replace('_', "");
    match text.split_once(" << ") {
        Some((number, shift)) => Some(number.parse::<u64>().ok()? << shift.parse::<u32>().ok()?),
        None => text.parse().ok(),
    }
}

/// A number as the page writes it.
fn written(number: u64, is_bytes: bool) -> String {
    if is_bytes && number.is_multiple_of(1 << 20) {
        return format!("{} MiB", number >> 20);
    }
    if is_bytes && number.is_multiple_of(1 << 10) {
        return format!("{} KiB", number >> 10);
    }
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// One row of a table of the page.
struct Row {
    /// The settings in its first cell, as `Type::name`.
    names: Vec<String>,
    cells: Vec<String>,
    /// The names in C of its last cell.
    in_c: Vec<String>,
}

fn rows() -> Vec<Row> {
    let page = read("docs/limits.md");
    // A section says of which type its settings are, and how their names in C begin.
    let (mut of, mut prefix) = (String::new(), String::new());
    let mut rows = Vec::new();
    for line in page.lines() {
        if line.starts_with("## ") {
            (of, prefix) = (String::new(), String::new());
        }
        if let Some(name) = line.strip_prefix("Settings of `") {
            of = word(name);
        }
        if let Some((_, name)) = line.split_once("behind `") {
            prefix = word(name);
        }
        if let Some(line) = line.strip_prefix("| ") {
            let cells = line.trim_end_matches(" |").split(" | ");
            let cells: Vec<String> = cells.map(str::to_owned).collect();
            let qualified = |name: String| match name.contains("::") {
                true => name,
                false => format!("{of}::{name}"),
            };
            let in_c = quoted(cells.last().expect("a cell")).into_iter();
            rows.push(Row {
                names: quoted(&cells[0]).into_iter().map(qualified).collect(),
                in_c: in_c
                    .map(|name| match name.starts_with("MCPLINK_") {
                        true => name,
                        false => format!("{prefix}{name}"),
                    })
                    .collect(),
                cells,
            });
        }
    }
    rows
}

/// The texts between backticks.
fn quoted(text: &str) -> Vec<String> {
    let pieces = text.split('`').skip(1).step_by(2);
    pieces.map(str::to_owned).collect()
}

#[test]
fn every_limit_has_a_row_with_its_default() {
    let (settings, rows) = (settings(), rows());
    assert!(settings.len() > 40, "{settings:?}");
    for (name, default) in &settings {
        let mut own = rows.iter().filter(|row| row.names.contains(name));
        let row = own
            .next()
            .unwrap_or_else(|| panic!("docs/limits.md has no row for {name}"));
        if let Some(default) = default {
            let said = &row.cells[1];
            let written = [true, false].map(|is_bytes| written(*default, is_bytes));
            assert!(
                written.iter().any(|number| said.contains(number)),
                "docs/limits.md says {said} for {name}, which is {default}"
            );
        }
    }
}

#[test]
fn every_limit_of_the_c_interface_has_a_row() {
    let rows = rows();
    let header = read("include/mcplink.h");
    let mut found = 0;
    for line in header.lines().map(str::trim_start) {
        let is_limit = ["MCPLINK_LIMIT_", "MCPLINK_HTTP_LIMIT_"]
            .iter()
            .any(|prefix| line.starts_with(prefix) && line.contains(" = "));
        if is_limit {
            let name = word(line);
            found += 1;
            let is_there = rows.iter().any(|row| row.in_c.contains(&name));
            assert!(is_there, "docs/limits.md has no row for {name}");
        }
    }
    assert!(found > 30, "{found}");
}

// Connections are what each stream and session needs one of.
#[test]
fn the_defaults_fit_each_other() {
    let settings = settings();
    let default = |name: &str| settings[name].unwrap_or_else(|| panic!("{name} has no default"));
    let streams = default("HttpOptions::max_streams");
    let sessions = default("HttpOptions::max_sessions");
    let connections = default("HttpLimits::max_connections");
    let threads = default("HttpLimits::max_workers") + default("HttpLimits::max_waiting");
    let requests = default("HttpOptions::max_requests");
    assert!(connections >= streams + sessions + requests + threads);
    assert_eq!((default("Limits::max_requests"), requests), (1024, 1024));
    assert_eq!(
        default("Limits::max_workers"),
        default("HttpLimits::max_workers")
    );
    assert_eq!(
        default("Limits::max_message_bytes"),
        default("HttpLimits::max_body_bytes")
    );
}
