//! The ids of requirements: each has a row in `docs/requirements`, each `MUST` row has a test or a reason, and no user has to read ids.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use crate::root;

/// Folders and files in which ids are looked for.
const PLACES: [&str; 14] = [
    "src",
    "adapters",
    "cli",
    "testing",
    "tests",
    "docs",
    "include",
    "examples",
    "benches",
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "VERSIONING.md",
    "ROADMAP.md",
];
/// Folders with code of others, or with the output of builds.
const FOREIGN: [&str; 4] = ["target", "node_modules", "venv", "__pycache__"];
const TABLES: &str = "docs/requirements";
const UNTESTED: &str = "docs/requirements/untested.md";

/// A file of text: its path from the root of the repository, and its content.
type Source = (String, String);

fn collect(path: &Path, files: &mut Vec<PathBuf>) {
    let name = path.file_name().unwrap().to_string_lossy();
    if FOREIGN.contains(&&*name) || name.starts_with('.') {
        return;
    }
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            collect(&entry.unwrap().path(), files);
        }
    } else {
        files.push(path.to_owned());
    }
}

/// Reads the tree once for all tests.
fn tree() -> &'static [Source] {
    static TREE: LazyLock<Vec<Source>> = LazyLock::new(read_tree);
    &TREE
}

fn read_tree() -> Vec<Source> {
    let mut files = Vec::new();
    for place in PLACES.map(|place| root().join(place)) {
        collect(&place, &mut files);
    }
    files.sort();
    let sources = files.into_iter().filter_map(|path| {
        // A file that is no text, such as a key, names no requirement.
        let text = String::from_utf8(fs::read(&path).unwrap()).ok()?;
        let inside = path.strip_prefix(root()).unwrap().to_str()?;
        Some((inside.replace('\\', "/"), text))
    });
    sources.collect()
}

fn of<'a>(tree: &'a [Source], path: &str) -> &'a str {
    let found = tree.iter().find(|(name, _)| name == path);
    &found.unwrap_or_else(|| panic!("{path} is missing")).1
}

// Such as M-HDR-S-07, or AMB-07.
fn is_id(text: &str) -> bool {
    let number = |part: &str, lengths: [usize; 2]| {
        lengths.contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    let parts: Vec<&str> = text.split('-').collect();
    match parts[..] {
        ["AMB", count] => number(count, [2, 2]),
        ["M" | "L" | "E", area, "C" | "S" | "B" | "X", count] => {
            let is_area = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit();
            !area.is_empty() && area.bytes().all(is_area) && number(count, [2, 3])
        }
        _ => false,
    }
}

fn ids(text: &str) -> impl Iterator<Item = &str> {
    // Most lines are passed over quickly.
    let lines = text.lines().filter(|line| {
        let marks = ["-C-", "-S-", "-B-", "-X-", "AMB-"];
        marks.iter().any(|mark| line.contains(mark))
    });
    let words = lines.flat_map(|line| line.split(|c: char| !c.is_ascii_alphanumeric() && c != '-'));
    words
        .map(|word| word.trim_matches('-'))
        .filter(|word| is_id(word))
}

/// The cells of the rows of a Markdown table that begin with an id.
fn rows(text: &str) -> impl Iterator<Item = Vec<&str>> {
    let cells = text
        .lines()
        .filter_map(|line| line.strip_prefix("| "))
        .map(|line| line.split(" | ").collect::<Vec<_>>());
    cells.filter(|cells| is_id(cells[0]))
}

fn is_table(path: &str) -> bool {
    path.starts_with(TABLES) && path != UNTESTED && !path.ends_with("README.md")
}

/// All rows by their ids, with their level; that of a decided ambiguity is empty.
fn table(tree: &[Source]) -> BTreeMap<&str, &str> {
    let mut table = BTreeMap::new();
    for (path, text) in tree.iter().filter(|(path, _)| is_table(path)) {
        let file = path.rsplit('/').next().unwrap().trim_end_matches(".md");
        for cells in rows(text) {
            let mut parts = cells[0].split('-');
            let (area, level) = match parts.next() {
                Some("AMB") => ("ambiguities".to_owned(), ""),
                _ => (parts.next().unwrap().to_lowercase(), cells[2]),
            };
            assert_eq!(area, file, "{} stands in {path}", cells[0]);
            assert!(
                [
                    "MUST",
                    "MUST NOT",
                    "SHOULD",
                    "SHOULD NOT",
                    "MAY",
                    "derived",
                    ""
                ]
                .contains(&level),
                "{} has the level {level}",
                cells[0]
            );
            assert!(
                table.insert(cells[0], level).is_none(),
                "{} has two rows",
                cells[0]
            );
        }
    }
    assert!(table.len() > 1500, "the test no longer sees the tables");
    table
}

/// The part of a file that is tests: all of `tests` and of the folders `tests` in `adapters`, and the
/// modules of unit tests.
fn tests_of((path, text): &Source) -> &str {
    // This file names ids as examples.
    let is_adapter = path.starts_with("adapters/");
    let is_test = path.starts_with("tests/") || (is_adapter && path.contains("/tests/"));
    if is_test && !path.ends_with("/requirements.rs") {
        return text;
    }
    if !is_adapter && !path.starts_with("src/") {
        return "";
    }
    text.find("\nmod tests {")
        .map_or("", |begin| &text[begin..])
}

#[track_caller]
fn assert_none(faults: &[String], remedy: &str) {
    assert!(faults.is_empty(), "{remedy}:\n{}", faults.join("\n"));
}

#[test]
fn every_id_has_a_row() {
    let tree = tree();
    let table = table(tree);
    let mut named = 0;
    let mut faults = Vec::new();
    for (path, text) in tree {
        for id in ids(text) {
            named += 1;
            if !table.contains_key(id) {
                faults.push(format!("{path}: {id}"));
            }
        }
    }
    assert!(named > 4000, "the test no longer sees the tree");
    assert_none(&faults, "ids without a row in docs/requirements");
}

#[test]
fn every_must_row_has_a_test_or_a_reason() {
    let tree = tree();
    let table = table(tree);
    let tested: BTreeSet<&str> = tree.iter().flat_map(|file| ids(tests_of(file))).collect();
    let mut excused = BTreeMap::new();
    for cells in rows(of(tree, UNTESTED)) {
        let reason = cells[1].trim_end_matches(" |");
        assert!(
            excused.insert(cells[0], reason).is_none(),
            "{} stands twice in {UNTESTED}",
            cells[0]
        );
    }
    let musts = table
        .iter()
        .filter(|(_, level)| level.starts_with("MUST"))
        .map(|(id, _)| *id);
    let musts: BTreeSet<&str> = musts.collect();

    let mut faults = Vec::new();
    for id in &musts {
        match (tested.contains(id), excused.get(id)) {
            (false, None) => faults.push(format!("{id}: no test names it")),
            (true, Some(_)) => faults.push(format!("{id}: a test names it, take it off the list")),
            _ => {}
        }
    }
    for (id, reason) in &excused {
        if !musts.contains(id) {
            faults.push(format!("{id}: no MUST row"));
        }
        if !["not testable: ", "no test yet: "]
            .iter()
            .any(|begin| reason.starts_with(begin))
        {
            faults.push(format!("{id}: an unknown kind of reason, {reason}"));
        }
        let is_page = |word: &&str| {
            let places = ["docs/", "src/", "adapters/"];
            places.iter().any(|place| word.starts_with(place))
        };
        let pages = reason.split(' ').filter(is_page);
        for page in pages {
            if !ids(of(tree, page)).any(|named| named == *id) {
                faults.push(format!("{id}: {page} does not name it"));
            }
        }
    }
    assert_none(
        &faults,
        "the tests and docs/requirements/untested.md differ",
    );
}

/// The text without the comments that Markdown does not show.
fn shown(text: &str) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some((before, comment)) = rest.split_once("<!--") {
        shown.push_str(before);
        // Lines are counted on.
        let (hidden, after) = comment.split_once("-->").unwrap_or((comment, ""));
        shown.extend(hidden.chars().filter(|c| *c == '\n'));
        rest = after;
    }
    shown + rest
}

/// Users of the library read sentences: ids stand beside them, in comments.
#[test]
fn users_read_no_ids() {
    let tree = tree();
    let mut faults = Vec::new();
    let mut looked_at = 0;
    for (path, text) in tree {
        let is_guide = path.ends_with(".md")
            && !path.starts_with(TABLES)
            && !path.starts_with("tests/")
            && path != "CONTRIBUTING.md";
        let text = match path.rsplit('.').next() {
            _ if is_guide => shown(text),
            Some("rs") => text
                .lines()
                .map(|line| {
                    let line = line.trim_start();
                    let is_doc = line.starts_with("///") || line.starts_with("//!");
                    if is_doc { line } else { "" }
                })
                .collect::<Vec<_>>()
                .join("\n"),
            _ if path.starts_with("include/") => text.clone(),
            _ => continue,
        };
        looked_at += 1;
        for (number, line) in text.lines().enumerate() {
            for id in ids(line) {
                faults.push(format!("{path}:{}: {id}", number + 1));
            }
        }
    }
    assert!(looked_at > 400, "the test no longer sees the tree");
    assert_none(&faults, "ids in what users read");
}

/// The number that follows a word, such as the 4 of "Promise 4".
fn numbers<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = &'a str> {
    text.split(word).skip(1).filter_map(|rest| {
        let digits = rest.find(|c: char| !c.is_ascii_digit());
        let number = &rest[..digits.unwrap_or(rest.len())];
        (!number.is_empty()).then_some(number)
    })
}

#[test]
fn lists_that_comments_name_are_here() {
    let tree = tree();
    let page = of(tree, "docs/ARCHITECTURE.md");
    let mut named = 0;
    let mut faults = Vec::new();
    for (path, text) in tree {
        for number in numbers(text, "Promise ") {
            named += 1;
            if !page.contains(&format!("\n{number}. **")) {
                faults.push(format!("{path}: promise {number}"));
            }
        }
        // Lessons are numbered on a page that is not in the repository.
        for number in numbers(text, "esson ").chain(numbers(text, "essons ")) {
            faults.push(format!("{path}: lesson {number}"));
        }
    }
    assert!(named > 5, "the test no longer sees the tree");
    assert_none(
        &faults,
        "numbers of lists that docs/ARCHITECTURE.md does not have",
    );
}

#[test]
fn ids_are_told_from_other_words() {
    let text = "(M-HDR-S-07, AMB-10; e.g. `L-AUTH3-S-14`) UTF-16, M-HDR-S-7, XM-HDR-S-07, M-HDR-Q-07, SHA-256, --AMB-01";
    let found: Vec<&str> = ids(text).collect();
    assert_eq!(found, ["M-HDR-S-07", "AMB-10", "L-AUTH3-S-14", "AMB-01"]);
    assert_eq!(shown("a<!-- M-HDR-S-07\n -->b<!--c"), "a\nb");
    assert_eq!(
        numbers("Promise 4: Promises 5 Promise 12", "Promise ").collect::<Vec<_>>(),
        ["4", "12"]
    );
}

/// Whether code has a function or a constant of this name.
fn defines(code: &str, name: &str) -> bool {
    let is_end = |rest: &str| !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
    ["fn ", "const ", "macro_rules! "].iter().any(|kind| {
        code.match_indices(&format!("{kind}{name}"))
            .any(|(at, found)| is_end(&code[at + found.len()..]))
    })
}

/// Each file that the page names exists under `src`, and has the function behind it.
#[test]
fn the_architecture_names_what_exists() {
    let tree = tree();
    let page = of(tree, "docs/ARCHITECTURE.md");
    // Every second piece stood between backticks.
    let marked: Vec<&str> = page.split('`').collect();
    let mut named = 0;
    let mut faults = Vec::new();
    for (at, word) in marked.iter().enumerate().skip(1).step_by(2) {
        if !word.ends_with(".rs") || word.contains('*') || word.starts_with("tests/") {
            continue;
        }
        let path = format!("src/{word}");
        let Some((_, code)) = tree.iter().find(|(name, _)| *name == path) else {
            faults.push(format!("{path} is missing"));
            continue;
        };
        if marked.get(at + 1) == Some(&" ") {
            let function = marked[at + 2];
            named += 1;
            if !defines(code, function) {
                faults.push(format!("{path} has no {function}"));
            }
        }
    }
    assert!(named > 80, "the test no longer sees the page");
    assert_none(
        &faults,
        "docs/ARCHITECTURE.md names missing files or functions",
    );
}

/// The files that the page names behind "shown by", and the tests of each, exist.
#[test]
fn the_threat_model_names_what_exists() {
    let tree = tree();
    let page = of(tree, "docs/threat-model.md");
    let marked: Vec<&str> = page.split('`').collect();
    let mut named = 0;
    let mut faults = Vec::new();
    let mut file = None;
    for (at, word) in marked.iter().enumerate().skip(1).step_by(2) {
        // The tests of a file follow it, with a comma between two.
        let follows = matches!(marked[at - 1], " " | ", " | ",\n" | "\n");
        let is_file = ["src/", "cli/", "testing/", "tests/", "examples/"]
            .iter()
            .any(|folder| word.starts_with(folder));
        if is_file {
            file = tree.iter().find(|(path, _)| path == word);
            if file.is_none() {
                faults.push(format!("{word} is missing"));
            }
        } else if let (true, Some((path, text))) = (follows, file) {
            named += 1;
            let is_there = match path.ends_with(".rs") {
                true => defines(text, word),
                false => text.contains(&format!(" {word}(")),
            };
            if !is_there {
                faults.push(format!("{path} has no {word}"));
            }
        } else {
            file = None;
        }
    }
    assert!(named > 100, "the test no longer sees the page");
    assert_none(&faults, "docs/threat-model.md names missing files or tests");
}

/// The last column of the glossary: names of code that differ from the term.
#[test]
fn the_glossary_names_what_exists() {
    let tree = tree();
    let code: Vec<&Source> = tree
        .iter()
        .filter(|(path, _)| path.starts_with("src/"))
        .collect();
    let mut named = 0;
    let mut faults = Vec::new();
    for line in of(tree, "docs/GLOSSARY.md").lines() {
        // "| term | meaning | in code |"
        let Some(notes) = line.split('|').nth(3) else {
            continue;
        };
        for name in notes.split('`').skip(1).step_by(2) {
            named += 1;
            let exists = code.iter().any(|(path, text)| {
                path.ends_with(&format!("/{name}"))
                    || ["struct ", "enum ", "trait "]
                        .iter()
                        .any(|kind| text.contains(&format!("{kind}{name}")))
            });
            // Some terms name the module of a type, since its name stands for several types.
            if !exists && !of_module(&code, name) {
                faults.push(name.to_owned());
            }
        }
    }
    assert!(named > 15, "the test no longer sees the glossary");
    assert_none(
        &faults,
        "docs/GLOSSARY.md names types or files that the code no longer has",
    );
}

fn of_module(code: &[&Source], name: &str) -> bool {
    let folder = format!("src/{name}/");
    code.iter().any(|(path, _)| path.starts_with(&folder))
}
