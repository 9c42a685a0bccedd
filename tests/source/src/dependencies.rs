//! The crates that the library is built from: `docs/dependencies.md` and `deny.toml`, held against
//! `Cargo.lock`. `tests/dependencies.py` looks at the whole tree, with its licences.

use std::collections::BTreeSet;

use crate::read;

/// The text of a string in quotes, such as the `serde` of `name = "serde"`.
fn quoted(text: &str) -> Option<&str> {
    text.split('"').nth(1)
}

/// A package of `Cargo.lock`: its name, its source if it is not a folder, and its dependencies.
struct Package<'a> {
    name: &'a str,
    source: Option<&'a str>,
    dependencies: Vec<&'a str>,
}

fn packages(lock: &str) -> Vec<Package<'_>> {
    let blocks = lock.split("[[package]]").skip(1);
    let packages: Vec<Package<'_>> = blocks
        .map(|block| {
            let value = |name| {
                let line = block.lines().find(|line| line.starts_with(name));
                line.and_then(quoted)
            };
            let list = block
                .split_once("dependencies = [")
                .map_or("", |found| found.1);
            let lines = list.lines().take_while(|line| *line != "]");
            // A dependency of which there are two versions names its own: "syn 2.0.119".
            let names = lines.filter_map(quoted);
            let names = names.filter_map(|name| name.split(' ').next());
            Package {
                name: value("name = ").unwrap(),
                source: value("source = "),
                dependencies: names.collect(),
            }
        })
        .collect();
    assert!(packages.len() > 50, "the test no longer sees Cargo.lock");
    packages
}

/// The crates that rows of the page begin with.
fn rows(page: &str) -> BTreeSet<&str> {
    let cells = page.lines().filter_map(|line| line.strip_prefix("| `"));
    let cells = cells.filter_map(|line| line.split(" | ").next());
    // A row may describe several crates; a version stands behind the name of a crate.
    let names = cells.flat_map(|cell| cell.split(", "));
    let names = names.filter_map(|name| name.trim_matches('`').split(' ').next());
    names.collect()
}

/// The values of `key = "value"` in a section of `deny.toml`.
fn values<'a>(rules: &'a str, section: &str, key: &str) -> Vec<&'a str> {
    let begin = rules.find(&format!("[{section}]")).unwrap();
    let section = rules[begin..].split("\n[").next().unwrap_or_default();
    let lines = section
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'));
    let found = lines.filter_map(|line| line.split_once(&format!("{key} = ")));
    let values: Vec<&str> = found.filter_map(|(_, rest)| quoted(rest)).collect();
    assert!(!values.is_empty(), "deny.toml has no {key} in {section}");
    values
}

/// The packages of the workspace.
const OWN: [&str; 8] = [
    "api-check",
    "mcplink",
    "mcplink-cli",
    "mcplink-redis",
    "mcplink-skills",
    "mcplink-testing",
    "source-checks",
    "sqlite_server",
];

#[test]
fn every_direct_dependency_has_a_row() {
    let (lock, page) = (read("Cargo.lock"), read("docs/dependencies.md"));
    let (packages, all) = (packages(&lock), rows(&page));
    let (direct, _) = page.split_once("\n## Every crate").unwrap();
    let direct = rows(direct);
    // The page has the crates of the checks, too.
    let dependencies = |name: &str| {
        let own = packages.iter().find(|package| package.name == name);
        own.unwrap().dependencies.iter()
    };
    let library = dependencies("mcplink");
    assert!(
        library.len() > 20,
        "the test no longer sees the dependencies"
    );
    let checks = dependencies("source-checks").chain(dependencies("api-check"));
    let all_direct = library.chain(checks);
    let is_missing = |name: &&&str| !direct.contains(**name) && !OWN.contains(*name);
    let missing: Vec<_> = all_direct.filter(is_missing).collect();
    assert!(
        missing.is_empty(),
        "docs/dependencies.md names no {missing:?}"
    );

    let known: BTreeSet<&str> = packages.iter().map(|package| package.name).collect();
    // The first table names checks.
    let gone = all
        .iter()
        .filter(|name| !known.contains(*name) && !name.starts_with("cargo"));
    let gone: Vec<_> = gone.filter(|name| **name != "python3").collect();
    assert!(
        gone.is_empty(),
        "docs/dependencies.md names {gone:?}, which Cargo.lock has not"
    );
}

#[test]
fn no_async_runtime_and_no_other_source_is_there() {
    let (lock, rules) = (read("Cargo.lock"), read("deny.toml"));
    let packages = packages(&lock);
    let banned = values(&rules, "bans", "{ crate");
    for runtime in ["tokio", "async-std", "smol"] {
        assert!(
            banned.contains(&runtime),
            "deny.toml no longer bans {runtime}"
        );
    }
    assert_eq!(values(&rules, "sources", "unknown-registry"), ["deny"]);
    let mut registry = None;
    for package in packages {
        assert!(
            !banned.contains(&package.name),
            "{} is banned",
            package.name
        );
        // One registry, and neither git nor a second one.
        if let Some(source) = package.source {
            assert!(
                source.starts_with("registry+") && *registry.get_or_insert(source) == source,
                "{} comes from {source}",
                package.name
            );
        }
        assert!(
            package.source.is_some() || OWN.contains(&package.name),
            "{} is a folder",
            package.name
        );
    }
}
