//! The action `replay`: plays a recorded conversation, as its server or as its client.

mod compare;
mod driver;
mod trace;

use std::fs;
use std::time::Duration;

use mcplink::schema::read_json;
use mcplink::transport::Stdio;
use mcplink_testing::trace::Replay;
use serde_json::{Value, json};

use self::compare::{compare_messages, shortened};
use self::driver::{Difference, Driver, Report};
use crate::args::{Options, ReplayRequest};
use crate::failure::{Failure, LOST, TOOL_FAILED};
use crate::print::{self, note};
use crate::reach::{self, Reached};
use crate::record;

/// How long the played server goes on after the end of its input, while it has something to say.
const LAST: Duration = Duration::from_secs(1);

pub(crate) fn run(request: &ReplayRequest, options: &Options) -> Result<(), Failure> {
    let path = request.file.display();
    let text = fs::read_to_string(&request.file)
        .map_err(|error| Failure::usage(format!("{path}: {error}")))?;
    let place = &options.place;
    if place.command.is_empty() && place.server.is_none() && place.url.is_none() {
        return serve(&text, &request.ignore);
    }
    let steps = trace::read(&text).map_err(|error| Failure::usage(format!("{path}: {error}")))?;
    let Reached::Child(child) = reach::reach(place)? else {
        let text = "replay takes a server that is started: for a URL, start 'mcplink proxy --url'";
        return Err(Failure::usage(text.to_owned()));
    };
    let parts = record::open(child, &record::limits())
        .map_err(|error| Failure::of_connecting(&error, None, false))?;
    let report = Driver::new(parts, &request.ignore, options.timeout)?.play(&steps);
    show(&report, options)
}

/// Plays the server of the conversation, over standard input and output.
fn serve(text: &str, ignore: &[String]) -> Result<(), Failure> {
    let replay = Replay::read(text).map_err(|error| Failure::usage(error.to_string()))?;
    let ignore = ignore.to_vec();
    let replay = replay.compare(move |recorded, sent| difference(recorded, sent, &ignore));
    let played = replay.played();
    let limits = record::limits();
    let server = record::open(replay, &limits)?;
    let host = record::open(Stdio::new(), &limits)?;
    // What is still to be answered is answered before the end.
    let last = played.clone();
    let ended = record::pump(host, server, move || _ = last.wait(LAST));
    played
        .finish()
        .map_err(|error| Failure::new(TOOL_FAILED, error.to_string()))?;
    ended.host.map_err(Failure::from)
}

/// Returns the difference of a message of the client from a recorded one. Messages that are no JSON
/// are not compared.
fn difference(recorded: &str, sent: &str, ignore: &[String]) -> Option<String> {
    let message = |text: &str| read_json::<Value>(text).ok();
    let changes = compare_messages(&message(recorded)?, &message(sent)?, ignore);
    if changes.is_empty() {
        return None;
    }
    let shown = |value: &Option<Value>| {
        value
            .as_ref()
            .map_or_else(|| "nothing".to_owned(), shortened)
    };
    let changes = changes.iter().map(|change| {
        let (recorded, sent) = (shown(&change.recorded), shown(&change.actual));
        format!("{} {recorded}, not {sent}", change.path)
    });
    Some(changes.collect::<Vec<_>>().join("; "))
}

/// Shows what differs. The exit code is 1 if something does.
fn show(report: &Report, options: &Options) -> Result<(), Failure> {
    if options.json {
        let differences = report.differences.iter();
        let differences: Vec<_> = differences.map(Difference::to_json).collect();
        print::json(&json!({
            "compared": report.compared,
            "differences": differences,
            "error": report.error,
        }))?;
    } else {
        for difference in &report.differences {
            print::text(&difference.to_string())?;
        }
    }
    if let Some(error) = &report.error {
        return Err(Failure::new(LOST, error));
    }
    let (compared, differ) = (report.compared, report.differing());
    if differ > 0 {
        return Err(Failure::new(
            TOOL_FAILED,
            format!("{differ} of {compared} messages of the server differ"),
        ));
    }
    note(&format!(
        "mcplink: {compared} messages of the server are as recorded"
    ));
    Ok(())
}
