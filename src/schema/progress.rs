//! Progress of a request.
//!
//! Spec: Base Protocol, Utilities, "Progress" (every revision).

use super::json::Number;
use super::meta::NotificationMetaObject;
use super::version::{FitTo, ProtocolVersion, keep_since};
use crate::jsonrpc::RequestId;

/// The token by which progress notifications refer to their request. It is a string or an integer,
/// and is echoed exactly.
pub type ProgressToken = RequestId;

/// The params of `notifications/progress`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ProgressNotificationParams {
    /// The progress token of the request.
    pub progress_token: ProgressToken,
    /// The amount of work done so far. It grows with each notification.
    pub progress: f64,
    /// The total amount of work, if the total is known.
    pub total: Option<f64>,
    /// A message about the current step, for users. Since 2025-03-26.
    pub message: Option<String>,
    /// Metadata of the notification (`_meta`).
    pub meta: Option<NotificationMetaObject>,
}

members!(ProgressNotificationParams {
    progress_token = "progressToken",
    progress as Number,
    total as Number,
    message,
    meta = "_meta",
});

impl ProgressNotificationParams {
    /// Makes params for the request with this progress token. `progress` is the amount of work done
    /// so far.
    pub fn new(progress_token: impl Into<ProgressToken>, progress: f64) -> Self {
        Self {
            progress_token: progress_token.into(),
            progress,
            total: None,
            message: None,
            meta: None,
        }
    }

    setters! {
        /// Sets the total amount of work.
        total: f64,
        /// Sets a message about the current step, for users. Since 2025-03-26.
        message: String,
    }
}

impl FitTo for ProgressNotificationParams {
    fn fit_to(&mut self, revision: ProtocolVersion) {
        keep_since(&mut self.message, ProtocolVersion::V2025_03_26, revision);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_and_numbers_come_back_as_they_were() {
        for text in [
            r#"{"progressToken":123456789012345678901,"progress":50,"total":100}"#,
            r#"{"progressToken":"1","progress":0.5,"message":"half"}"#,
        ] {
            let params: ProgressNotificationParams = serde_json::from_str(text).expect("decodes");
            assert_eq!(serde_json::to_string(&params).expect("JSON"), text);
        }
    }
}
