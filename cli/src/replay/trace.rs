//! The steps of a recorded conversation, as its client sees them.

use mcplink::schema::read_json;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// A recorded message.
#[derive(Debug)]
pub(super) struct Step {
    /// The number of its line in the file.
    pub(super) line: usize,
    pub(super) is_sent: bool,
    /// The message as JSON.
    pub(super) text: String,
    pub(super) message: Value,
}

impl Step {
    pub(super) fn method(&self) -> Option<&str> {
        self.message["method"].as_str()
    }

    pub(super) fn id(&self) -> Option<&Value> {
        self.message.get("id").filter(|id| !id.is_null())
    }
}

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(default)]
    peer: Option<String>,
    dir: String,
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
}

/// Reads a trace. Messages of named peers are skipped, and so is what is no JSON.
pub(super) fn read(text: &str) -> Result<Vec<Step>, String> {
    let mut steps = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim().is_empty() {
            continue;
        }
        let wrong = |error: String| format!("line {number}: {error}");
        let line: Line<'_> =
            serde_json::from_str(line).map_err(|error| wrong(error.to_string()))?;
        let is_sent = match &*line.dir {
            "out" => true,
            "in" => false,
            other => return Err(wrong(format!("dir is '{other}', not in or out"))),
        };
        let (Some(message), None) = (line.message, line.peer) else {
            continue;
        };
        steps.push(Step {
            line: number,
            is_sent,
            text: message.get().to_owned(),
            message: read_json(message.get()).map_err(|error| wrong(error.to_string()))?,
        });
    }
    match steps.iter().any(|step| step.is_sent) {
        true => Ok(steps),
        false => Err("it has no message of a client".to_owned()),
    }
}

#[cfg(test)]
#[allow(
    clippy::unwrap_used,
    reason = "a test that can't go on is a test that fails"
)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_other_connections_are_skipped() {
        let text = "\n{\"t\":0,\"dir\":\"out\",\"message\":{\"id\":1,\"method\":\"ping\"}}\n\
            {\"t\":0,\"peer\":\"a\",\"dir\":\"out\",\"message\":{}}\n\
            {\"t\":0,\"dir\":\"in\",\"text\":\"noise\"}\n";
        let steps = read(text).expect("a trace");
        assert_eq!(steps.len(), 1);
        assert_eq!((steps[0].line, steps[0].method()), (2, Some("ping")));
        // Half of a surrogate pair.
        let steps = read("{\"dir\":\"out\",\"message\":{\"method\":\"a\\ud83d\"}}").unwrap();
        assert_eq!(steps[0].method(), Some("a\u{fffd}"));
        assert!(read("{\"dir\":\"up\"}").unwrap_err().contains("line 1"));
        assert!(read("").is_err());
    }
}
