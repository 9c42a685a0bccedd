//! Checks of the source and the pages of this repository. They read files only, and need nothing of
//! the library.
#![allow(
    clippy::unwrap_used,
    reason = "a test that can't go on is a test that fails"
)]

mod bounds_on_time;
mod dependencies;
mod guides;
mod layout;
mod limits_page;
mod requirements;

use std::fs;
use std::path::Path;

/// The root of the repository.
fn root() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.ancestors().nth(2).unwrap()
}

/// The text of a file of the repository.
fn read(path: &str) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
