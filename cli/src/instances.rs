//! The action `instances`: programs that have published their servers.

use std::collections::BTreeSet;
use std::fmt;
use std::time::SystemTime;

use clap_complete::engine::CompletionCandidate;
use mcplink::transport::local::{self, Instance};
use serde::Serialize;

use crate::args::Options;
use crate::failure::Failure;
use crate::print::{self, note};

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
        Self {
            id: instance.id.clone(),
            name: instance.name.clone(),
            title: instance.title.clone(),
            folder: instance.folder.clone(),
            process: instance.pid,
            started: date(instance.started),
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

/// Returns a time as text (RFC 3339, UTC).
fn date(time: SystemTime) -> String {
    let since = time.duration_since(SystemTime::UNIX_EPOCH);
    let seconds = since.map_or(0, |since| since.as_secs());
    let (day, second) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil(day);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Returns year, month and day of a day that is counted from 1970-01-01.
fn civil(days: u64) -> (u64, u64, u64) {
    // Years begin in March here, so that the leap day is the last day of a year. A cycle of the
    // calendar has 400 years, which are 146097 days.
    let days = days + 719_468;
    let (cycle, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day_of_month = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + cycle * 400 + u64::from(month <= 2);
    (year, month, day_of_month)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn times_are_dates() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_785_196_800, "2026-07-28T00:00:00Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
            assert_eq!(date(time), text);
        }
    }
}
