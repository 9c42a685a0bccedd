//! The action `instances`: programs that have published their servers.

use std::collections::BTreeSet;
use std::fmt;
use std::time::{Duration, UNIX_EPOCH};

use clap_complete::engine::CompletionCandidate;
use mcplink::transport::local::{self, Instance};
use serde::Serialize;

use crate::args::Options;
use crate::failure::Failure;
use crate::print::{self, note};

/// The last second of the year 9999, since 1970-01-01.
const LATEST: Duration = Duration::from_secs(253_402_300_799);

/// A published server, as it is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Found {
    pub(crate) id: String,
    pub(crate) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) folder: Option<String>,
    pub(crate) process: u32,
    pub(crate) started: String,
    pub(crate) version: String,
}

impl Found {
    pub(crate) fn of(instance: &Instance) -> Self {
        let latest = UNIX_EPOCH + LATEST;
        Self {
            id: instance.id.clone(),
            name: instance.name.clone(),
            title: instance.title.clone(),
            folder: instance.folder.clone(),
            process: instance.pid,
            // Another program has written the time. Later ones have no such form.
            started: humantime::format_rfc3339_seconds(instance.started.min(latest)).to_string(),
            version: instance.version.clone(),
        }
    }

    /// Whether a word is the title, the folder, the process number or the id.
    pub(crate) fn is(&self, word: &str) -> bool {
        let texts = [Some(&self.id), self.title.as_ref(), self.folder.as_ref()];
        texts.into_iter().flatten().any(|text| text == word) || self.process.to_string() == word
    }
}

/// The title or folder, the process and the id.
impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(text) = self.title.as_ref().or(self.folder.as_ref()) {
            write!(f, "'{text}', ")?;
        }
        write!(f, "process {}, id {}", self.process, self.id)
    }
}

/// Prints the instances of a program, or of all programs.
pub(crate) fn list(name: Option<&str>, options: &Options) -> Result<(), Failure> {
    let found = local::instances(name)?;
    let found: Vec<Found> = found.iter().map(Found::of).collect();
    if options.json {
        return Ok(print::json(&serde_json::json!({ "instances": found }))?);
    }
    if found.is_empty() {
        let of = name.map(|name| format!(" of '{name}'")).unwrap_or_default();
        note(&format!("mcplink: no instance{of} is published"));
        return Ok(());
    }
    let row = |one: Found| {
        vec![
            one.name,
            one.title.unwrap_or_default(),
            one.folder.unwrap_or_default(),
            one.process.to_string(),
            one.started,
            one.id,
        ]
    };
    let heads = ["NAME", "TITLE", "FOLDER", "PROCESS", "STARTED", "ID"];
    let rows: Vec<Vec<String>> = found.into_iter().map(row).collect();
    Ok(print::table(&heads, &rows)?)
}

/// Returns the names of the published programs, which complete a command line.
pub(crate) fn candidates() -> Vec<CompletionCandidate> {
    let all = local::instances(None).unwrap_or_default();
    let names: BTreeSet<String> = all.into_iter().map(|one| one.name).collect();
    names.into_iter().map(CompletionCandidate::new).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_that_another_program_has_written_is_shown() {
        let shown = |time| humantime::format_rfc3339_seconds(time).to_string();
        assert_eq!(shown(UNIX_EPOCH + LATEST), "9999-12-31T23:59:59Z");
    }
}
