//! The pages of `docs` that rustdoc shows as modules of `mcplink::guide`: their links lead somewhere,
//! on the repository's page and in rustdoc, and each page has code. `docs/README.md` lists them all.

use std::fs;

use crate::{read, root};

/// A page of `src/guide.rs`.
struct Guide {
    /// Relative to the root.
    path: String,
    /// The labels of links that `src/guide.rs` defines.
    labels: Vec<String>,
}

fn guides() -> Vec<Guide> {
    let mut guides = Vec::new();
    let mut labels = Vec::new();
    for line in read("src/guide.rs").lines() {
        if let Some((label, _)) = line.strip_prefix("/// ").and_then(definition) {
            labels.push(label.to_owned());
        } else if let Some((_, file)) = line.split_once("include_str!(\"../") {
            let path = file.split('"').next().unwrap().to_owned();
            let labels = std::mem::take(&mut labels);
            guides.push(Guide { path, labels });
        }
    }
    assert!(guides.len() > 8, "the test no longer sees the guides");
    guides
}

/// The label and the target of a line that defines a link.
fn definition(line: &str) -> Option<(&str, &str)> {
    line.strip_prefix('[')?.split_once("]: ")
}

fn is_outside(target: &str) -> bool {
    target.starts_with("https://") || target.starts_with("http://")
}

#[test]
fn links_of_guides_lead_somewhere() {
    let mut seen = 0;
    for guide in guides() {
        let (path, text) = (&guide.path, read(&guide.path));
        for (at, _) in text.match_indices("](") {
            let link = &text[at + 2..];
            assert!(
                is_outside(link) || link.starts_with('#'),
                "{path}: write a link to a file as [text][label], define the label at the end of \
                 the page, and in src/guide.rs: {}",
                link.split(')').next().unwrap()
            );
        }
        let defined: Vec<_> = text.lines().filter_map(definition).collect();
        for (label, target) in &defined {
            seen += 1;
            let file = target.split('#').next().unwrap();
            assert!(
                root().join("docs").join(file).exists(),
                "{path}: {target} is no file"
            );
            assert!(
                guide.labels.iter().any(|own| own == label),
                "src/guide.rs has no definition of [{label}] of {path}"
            );
        }
        for own in &guide.labels {
            assert!(
                defined.iter().any(|(label, _)| label == own),
                "{path} does not define [{own}], which src/guide.rs has"
            );
        }
    }
    assert!(seen > 15, "the test no longer sees the links: {seen}");
}

/// Each block of Rust compiles: no block is left out of the documentation tests.
#[test]
fn guides_have_code() {
    for Guide { path, .. } in guides() {
        let text = read(&path);
        let blocks: Vec<_> = text
            .lines()
            .filter(|line| line.starts_with("```rust"))
            .collect();
        assert!(!blocks.is_empty(), "{path} has no block of Rust");
        for block in blocks {
            let is_tested = ["```rust", "```rust,no_run"].contains(&block);
            assert!(is_tested, "{path}: '{block}' is not compiled");
        }
    }
}

/// `docs/README.md` is the way into the folder.
#[test]
fn the_list_of_pages_is_complete() {
    let list = read("docs/README.md");
    for (at, _) in list.match_indices("](") {
        let target = list[at + 2..].split(')').next().unwrap();
        assert!(
            root().join("docs").join(target).exists(),
            "docs/README.md: {target} is no file"
        );
    }
    for entry in fs::read_dir(root().join("docs")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let is_there = list.contains(&format!("]({name})"));
        assert!(
            is_there || name == "README.md" || !name.ends_with(".md"),
            "docs/README.md does not list {name}"
        );
    }
    for Guide { path, .. } in guides() {
        let name = path.trim_start_matches("docs/");
        assert!(
            list.contains(&format!("]({name}) (R)")),
            "docs/README.md does not say that {name} is in the documentation of the crate"
        );
    }
}
