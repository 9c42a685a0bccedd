//! The states of a task, and the transitions between them.
//!
//! ```text
//!  working ◀──▶ input_required
//!     ╰──────┬───────╯
//!            ▼
//!  completed │ failed │ cancelled      (final states)
//! ```

use std::time::SystemTime;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::error::RpcError;
use crate::schema::json::from_bytes;
use crate::schema::{TaskStatus, date};

/// The state of a task.
#[derive(Clone, Debug)]
pub(super) enum Stage {
    Working,
    InputRequired,
    Ended(Outcome),
}

/// The outcome of a task.
#[derive(Clone, Debug)]
pub(super) enum Outcome {
    /// The call has a result, which may report a failure of the tool.
    Result {
        text: Box<RawValue>,
        failed: bool,
    },
    Error(RpcError),
    Cancelled,
}

impl Outcome {
    /// Parses a response, and returns it as the outcome of a task.
    pub(super) fn of(response: &[u8]) -> Self {
        #[derive(Deserialize)]
        struct Response {
            #[serde(default)]
            result: Option<Box<RawValue>>,
            #[serde(default)]
            error: Option<RpcError>,
        }
        #[derive(Default, Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct ToolOutcome {
            #[serde(default)]
            is_error: bool,
        }
        match from_bytes(response) {
            Ok(Response {
                result: Some(text), ..
            }) => {
                let outcome: ToolOutcome = serde_json::from_str(text.get()).unwrap_or_default();
                let failed = outcome.is_error;
                Self::Result { text, failed }
            }
            Ok(Response {
                error: Some(error), ..
            }) => Self::Error(error),
            _ => Self::Error(RpcError::internal("internal error")),
        }
    }
}

/// Formats a time in ISO 8601. Times before 1970 become the beginning of 1970.
pub(super) fn iso_8601(time: SystemTime) -> String {
    let since = time.duration_since(SystemTime::UNIX_EPOCH);
    date::iso_8601(since.unwrap_or_default())
}

impl Stage {
    /// Changes the state if the transition is legal. Returns whether the state has changed.
    pub(super) fn step(&mut self, to: Self) -> bool {
        let legal = match (&*self, &to) {
            (Self::Ended(_), _) => false,
            (Self::Working, Self::Working) | (Self::InputRequired, Self::InputRequired) => false,
            (Self::Working | Self::InputRequired, _) => true,
        };
        if legal {
            *self = to;
        }
        legal
    }

    pub(super) fn is_terminal(&self) -> bool {
        matches!(self, Self::Ended(_))
    }

    /// Returns the status that is sent to clients. If the tool failed, the status is `failed` only
    /// in 2025-11-25.
    // AMB-70
    pub(super) fn status(&self, modern: bool) -> TaskStatus {
        match self {
            Self::Working => TaskStatus::Working,
            Self::InputRequired => TaskStatus::InputRequired,
            Self::Ended(Outcome::Cancelled) => TaskStatus::Cancelled,
            Self::Ended(Outcome::Result { failed, .. }) if modern || !failed => {
                TaskStatus::Completed
            }
            Self::Ended(_) => TaskStatus::Failed,
        }
    }

    /// Returns a description of the status for users.
    pub(super) fn message(&self, modern: bool) -> Option<String> {
        match self {
            Self::Ended(Outcome::Error(error)) => Some(error.message.clone()),
            Self::Ended(Outcome::Result { failed: true, .. }) if !modern => {
                Some("the tool failed: its result says why".to_owned())
            }
            Self::Ended(Outcome::Cancelled) => Some("the client cancelled it".to_owned()),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(failed: bool) -> Stage {
        let text = RawValue::from_string("{}".to_owned()).expect("JSON");
        Stage::Ended(Outcome::Result { text, failed })
    }

    fn ends() -> [Stage; 4] {
        let error = Outcome::Error(RpcError::internal("why"));
        [
            result(false),
            result(true),
            Stage::Ended(error),
            Stage::Ended(Outcome::Cancelled),
        ]
    }

    // L-TASK-B-10, E-TASK-S-63
    #[test]
    fn only_legal_steps_are_made_and_ends_are_final() {
        assert!(Stage::Working.step(Stage::InputRequired));
        assert!(Stage::InputRequired.step(Stage::Working));
        assert!(!Stage::Working.step(Stage::Working));
        assert!(!Stage::InputRequired.step(Stage::InputRequired));
        for end in ends() {
            assert!(Stage::Working.step(end.clone()));
            assert!(Stage::InputRequired.step(end));
        }
        for end in ends() {
            for next in ends()
                .into_iter()
                .chain([Stage::Working, Stage::InputRequired])
            {
                let mut stage = end.clone();
                let before = stage.status(true);
                assert!(!stage.step(next));
                assert_eq!(stage.status(true), before);
            }
        }
    }

    // AMB-70, L-TASK-B-22, E-TASK-S-08
    #[test]
    fn a_failure_of_the_tool_is_one_of_the_task_in_the_legacy_era_only() {
        assert_eq!(result(true).status(false), TaskStatus::Failed);
        assert!(result(true).message(false).is_some());
        assert_eq!(result(true).status(true), TaskStatus::Completed);
        assert_eq!(result(false).status(false), TaskStatus::Completed);
        let error = Stage::Ended(Outcome::Error(RpcError::internal("why")));
        assert_eq!(error.status(true), TaskStatus::Failed);
        assert_eq!(error.message(true).as_deref(), Some("why"));
    }
}
