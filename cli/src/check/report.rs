//! Reports of checks: text, JSON and JUnit.

use std::io;
use std::time::Duration;

use serde_json::json;

use super::{Check, Place, Seen, Server, Verdict, level_name};
use crate::args::{Format, Level};
use crate::print;

/// How a check ended.
pub(super) struct Outcome {
    pub(super) check: &'static Check,
    pub(super) seen: Seen,
    pub(super) elapsed: Duration,
}

#[derive(Clone, Copy, PartialEq)]
enum Status {
    Passed,
    Failed,
    /// Failed above the level.
    Noted,
    Skipped,
}

impl Status {
    fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Noted => "noted",
            Self::Skipped => "skipped",
        }
    }
}

pub(super) struct Report {
    format: Format,
    level: Level,
    revisions: Vec<String>,
    outcomes: Vec<Outcome>,
}

impl Report {
    pub(super) fn new(format: Format, level: Level, server: &Server) -> io::Result<Self> {
        let revisions = server.revisions.iter().map(ToString::to_string);
        let report = Self {
            format,
            level,
            revisions: revisions.collect(),
            outcomes: Vec::new(),
        };
        if format == Format::Text {
            let place = match &server.place {
                Place::Child(_) => "a command",
                Place::Url(_) => "a URL",
            };
            let revisions = report.revisions.join(" and ");
            print::line(&format!("The server, {place}, speaks {revisions}."))?;
        }
        Ok(report)
    }

    pub(super) fn add(&mut self, outcome: Outcome) -> io::Result<()> {
        if self.format == Format::Text {
            self.show(&outcome)?;
        }
        self.outcomes.push(outcome);
        Ok(())
    }

    fn status(&self, outcome: &Outcome) -> Status {
        match &outcome.seen {
            Ok(_) => Status::Passed,
            Err(Verdict::Skipped(_)) => Status::Skipped,
            Err(Verdict::Failed(_)) if outcome.check.level > self.level => Status::Noted,
            Err(Verdict::Failed(_)) => Status::Failed,
        }
    }

    fn show(&self, outcome: &Outcome) -> io::Result<()> {
        let sign = match self.status(outcome) {
            Status::Passed => "ok",
            Status::Failed => "FAILED",
            Status::Noted => "note",
            Status::Skipped => "-",
        };
        let name = outcome.check.name;
        let text = text(outcome).replace('\n', " ");
        print::line(format!("{sign:6} {name:28} {text}").trim_end())?;
        if outcome.seen.is_ok() || matches!(outcome.seen, Err(Verdict::Skipped(_))) {
            return Ok(());
        }
        let ids = outcome.check.requirements.join(", ");
        let level = level_name(outcome.check.level);
        if !ids.is_empty() {
            print::line(&format!(
                "       requirement: {ids} ({level}), see docs/requirements"
            ))?;
        }
        print::line(&format!("       remedy: {}", outcome.check.remedy))
    }

    /// Prints the rest, and returns how many checks failed.
    pub(super) fn end(self) -> io::Result<usize> {
        let count = |status| {
            let outcomes = self.outcomes.iter();
            outcomes
                .filter(|outcome| self.status(outcome) == status)
                .count()
        };
        let failed = count(Status::Failed);
        let (passed, noted, skipped) = (
            count(Status::Passed),
            count(Status::Noted),
            count(Status::Skipped),
        );
        match self.format {
            Format::Text => {
                print::line(&format!(
                    "{passed} passed, {failed} failed, {noted} noted, {skipped} skipped"
                ))?;
            }
            Format::Json => print::json(&json!({
                "revisions": self.revisions,
                "level": level_name(self.level),
                "passed": passed,
                "failed": failed,
                "noted": noted,
                "skipped": skipped,
                "checks": self.outcomes.iter().map(|outcome| json!({
                    "name": outcome.check.name,
                    "level": level_name(outcome.check.level),
                    "status": self.status(outcome).name(),
                    "text": text(outcome),
                    "requirements": outcome.check.requirements,
                    "remedy": outcome.check.remedy,
                    "seconds": outcome.elapsed.as_secs_f64(),
                })).collect::<Vec<_>>(),
            }))?,
            Format::Junit => print::out(&self.junit(failed, skipped))?,
        }
        Ok(failed)
    }

    fn junit(&self, failed: usize, skipped: usize) -> String {
        let seconds: f64 = self
            .outcomes
            .iter()
            .map(|outcome| outcome.elapsed.as_secs_f64())
            .sum();
        let mut xml = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"mcplink check\" \
             tests=\"{}\" failures=\"{failed}\" skipped=\"{skipped}\" time=\"{seconds:.3}\">\n",
            self.outcomes.len()
        );
        for outcome in &self.outcomes {
            let (class, name) = outcome.check.name.split_once('/').unwrap_or_default();
            let time = outcome.elapsed.as_secs_f64();
            let head =
                format!("  <testcase classname=\"{class}\" name=\"{name}\" time=\"{time:.3}\"");
            let message = escaped(text(outcome));
            let ids = outcome.check.requirements.join(" ");
            let remedy = escaped(outcome.check.remedy);
            xml += &match self.status(outcome) {
                Status::Passed => format!("{head}/>\n"),
                Status::Failed => format!(
                    "{head}>\n    <failure message=\"{message}\">{ids}\n{remedy}</failure>\n  \
                     </testcase>\n"
                ),
                Status::Noted => {
                    format!(
                        "{head}>\n    <system-out>{message}\n{remedy}</system-out>\n  </testcase>\n"
                    )
                }
                Status::Skipped => {
                    format!("{head}>\n    <skipped message=\"{message}\"/>\n  </testcase>\n")
                }
            };
        }
        xml + "</testsuite>\n"
    }
}

fn text(outcome: &Outcome) -> &str {
    match &outcome.seen {
        Ok(text) | Err(Verdict::Failed(text) | Verdict::Skipped(text)) => text,
    }
}

/// Escapes a text for XML, which allows few control characters.
fn escaped(text: &str) -> String {
    let mut xml = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => xml.push_str("&amp;"),
            '<' => xml.push_str("&lt;"),
            '>' => xml.push_str("&gt;"),
            '"' => xml.push_str("&quot;"),
            '\n' => xml.push_str("&#10;"),
            c if print::steers(c) || matches!(c, '\u{fffe}' | '\u{ffff}') => {
                xml.extend(c.escape_unicode());
            }
            c => xml.push(c),
        }
    }
    xml
}
