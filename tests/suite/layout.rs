//! The layers of `src`: which may name which.

use std::fs;
use std::path::{Path, PathBuf};

/// Lowest first: a layer may name those before it.
const LAYERS: [&str; 10] = [
    "error",
    "jsonrpc",
    "schema",
    "validation",
    "transport",
    "auth",
    "protocol",
    "client",
    "server",
    "cffi",
];
/// Not layers: fallible allocation, shares of tables, memory that is used again, and locks.
const TOOLS: [&str; 4] = ["fallible", "shares", "spare", "sync"];

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let nested = entries.flat_map(|path| {
        if path.is_dir() {
            sources(&path)
        } else {
            vec![path]
        }
    });
    nested
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect()
}

fn layer(name: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| *layer == name)
}

/// The part of a file before its tests, which may use what they like.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    text.split("#[cfg(test)]")
        .next()
        .unwrap()
        .split("#[cfg(all(test")
        .next()
        .unwrap()
        .to_owned()
}

/// The modules that `crate::` paths of a text begin with.
fn named(text: &str) -> impl Iterator<Item = &str> {
    let paths = text.split("crate::").skip(1);
    paths.map(|path| {
        path.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .next()
            .unwrap_or_default()
    })
}

#[test]
fn lower_layers_never_name_higher_ones() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut looked_at = 0;
    for path in sources(&root) {
        let inside = path.strip_prefix(&root).unwrap();
        let first = inside
            .iter()
            .next()
            .unwrap()
            .to_str()
            .unwrap()
            .trim_end_matches(".rs");
        let Some(own) = layer(first) else { continue };
        let code = code(&path);
        // Links in comments name whatever helps the reader.
        let code: String = code
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"))
            .collect::<Vec<_>>()
            .join("\n");
        for name in named(&code).filter(|name| !TOOLS.contains(name)) {
            // Types that the crate re-exports at its root belong to `error`.
            let Some(other) =
                layer(name).or_else(|| name.starts_with(char::is_uppercase).then_some(0))
            else {
                assert!(
                    name == "error" || name.is_empty(),
                    "{} names {name}, which is no layer",
                    inside.display()
                );
                continue;
            };
            let sideways = (LAYERS[own], LAYERS[other]) == ("server", "client");
            assert!(
                other <= own && !sideways,
                "{} names the higher layer {name}",
                inside.display()
            );
            looked_at += 1;
        }
    }
    assert!(looked_at > 50, "the test no longer sees the code");
}

/// Pure parts neither reach out nor look at the clock: time is an argument.
#[test]
fn pure_parts_do_no_input_and_output() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = sources(&root.join("jsonrpc"));
    files.extend(sources(&root.join("schema")));
    files.push(root.join("protocol/incoming.rs"));
    files.push(root.join("protocol/deadline.rs"));
    files.push(root.join("server/progress.rs"));
    files.push(root.join("server/paging.rs"));
    files.push(root.join("server/uri.rs"));
    files.push(root.join("client/cache/store.rs"));
    files.push(root.join("client/era.rs"));
    files.push(root.join("auth/challenge.rs"));
    files.push(root.join("auth/metadata.rs"));
    for path in files {
        let code = code(&path);
        for forbidden in [
            "std::net",
            "std::process",
            "std::thread",
            "std::fs",
            "Instant::now",
            "SystemTime",
        ] {
            assert!(
                !code.contains(forbidden),
                "{} uses {forbidden}",
                path.display()
            );
        }
    }
}
