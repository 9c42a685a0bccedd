//! Compares the public API of the library, all features on, with `tests/api/public-api.txt`.
//!
//! ```text
//! cargo run -p api-check             compares
//! cargo run -p api-check -- write    writes the list, after a change that is meant
//! ```
//!
//! rustdoc describes the API as JSON, and the crate `public-api` makes one line of each item. The
//! list has no derived implementations, and none of the traits that types have automatically. The
//! JSON is an unstable output of rustdoc, which another version of Rust writes in another way. So
//! the first line of the list names the version and the target. With any other, nothing is
//! compared, and a line that begins with `NOT HERE` says so.
#![allow(clippy::print_stdout, reason = "a program of its own")]

use std::collections::BTreeSet;
use std::error::Error;
use std::path::Path;
use std::process::Command;
use std::{env, fs};

const WRITE: &str = "cargo run -p api-check -- write";
/// Set for the program when cargo runs it in place of rustdoc. It has the path of rustdoc.
const RUSTDOC: &str = "MCPLINK_API_RUSTDOC";

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    if let Ok(rustdoc) = env::var(RUSTDOC) {
        return document(&rustdoc);
    }
    // Set by cargo at run time too. The program may have been built in another working copy.
    let package = env::var("CARGO_MANIFEST_DIR")?;
    let package = Path::new(&package);
    let list = package.join("public-api.txt");
    let toolchain = toolchain()?;
    if env::args().nth(1).as_deref() == Some("write") {
        let lines = public_items(package)?.join("\n");
        fs::write(list, format!("# {toolchain}\n{lines}\n"))?;
        return Ok(());
    }
    let text = fs::read_to_string(list)?;
    let (head, committed) = text.split_once('\n').unwrap_or_default();
    let wanted = head.trim_start_matches("# ");
    if wanted != toolchain {
        println!("NOT HERE: the public API is compared with {wanted} only; this is {toolchain}");
        return Ok(());
    }
    let items = public_items(package)?;
    let [items, committed]: [BTreeSet<&str>; 2] = [
        items.iter().map(String::as_str).collect(),
        committed.lines().collect(),
    ];
    for line in committed.difference(&items) {
        println!("- {line}");
    }
    for line in items.difference(&committed) {
        println!("+ {line}");
    }
    if items != committed {
        return Err(format!("the public API has changed; if that is meant: {WRITE}").into());
    }
    println!("{} lines describe the public API", items.len());
    Ok(())
}

/// Runs rustdoc, which takes options for its unstable output only if this variable is set. It is
/// set for rustdoc alone: dependencies whose build scripts read it are not built again.
fn document(rustdoc: &str) -> Result<()> {
    let mut command = Command::new(rustdoc);
    let status = command
        .args(env::args_os().skip(1))
        .env("RUSTC_BOOTSTRAP", "1")
        .status()?;
    std::process::exit(status.code().unwrap_or(1));
}

/// Returns the minor version of the compiler and its target.
fn toolchain() -> Result<String> {
    let output = Command::new("rustc").arg("-vV").output()?;
    let text = String::from_utf8(output.stdout)?;
    let value = |name: &str| {
        let value = text.lines().find_map(|line| line.strip_prefix(name));
        value.ok_or_else(|| format!("rustc -vV names no {name}"))
    };
    let release = value("release: ")?;
    let minor = release.rsplit_once('.').map_or(release, |(minor, _)| minor);
    Ok(format!("Rust {minor} on {}", value("host: ")?))
}

/// Returns one line for each public item, sorted.
fn public_items(package: &Path) -> Result<Vec<String>> {
    let root = package.ancestors().nth(2).unwrap_or(package);
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root);
    cargo.args(["rustdoc", "--locked", "-p", "mcplink", "--lib"]);
    cargo.args(["--all-features", "--", "-Z", "unstable-options"]);
    cargo.args(["--output-format", "json", "--cap-lints", "allow"]);
    // `cargo run` sets these for this program. Build scripts that read them would run again.
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            cargo.env_remove(&name);
        }
    }
    cargo.env("RUSTDOC", env::current_exe()?);
    cargo.env(
        RUSTDOC,
        env::var_os("RUSTDOC").unwrap_or_else(|| "rustdoc".into()),
    );
    if !cargo.status()?.success() {
        return Err("rustdoc failed".into());
    }
    let target = env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    let api = public_api::Builder::from_rustdoc_json(root.join(target).join("doc/mcplink.json"))
        .sorted(true)
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .omit_auto_derived_impls(true)
        .build()?;
    let mut lines: Vec<_> = api.items().map(ToString::to_string).collect();
    lines.sort();
    lines.dedup();
    Ok(lines)
}
