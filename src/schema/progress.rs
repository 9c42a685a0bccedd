//! Progress of a request.
//!
//! Spec: Base Protocol, Utilities, "Progress" (every revision).

use super::json::Number;
use super::meta::NotificationMetaObject;
use crate::jsonrpc::RequestId;

/// The token by which progress notifications refer to their request. It is a string or an integer,
/// and is echoed exactly.
pub type ProgressToken = RequestId;

object! {
    /// The params of `notifications/progress`.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::protocol::Responder;
    /// use mcplink::schema::{ProgressNotificationParams, ProgressToken};
    ///
    /// // By hand. `Context::progress` knows the token of the call.
    /// fn half_done(responder: &Responder, token: ProgressToken) -> mcplink::Result<()> {
    ///     let params = ProgressNotificationParams::new(token, 1.0).total(2.0).message("loaded");
    ///     responder.notify("notifications/progress", &params)
    /// }
    /// ```
    #[derive(Clone, Debug, PartialEq)]
    pub struct ProgressNotificationParams: FitTo {
        /// The progress token of the request.
        pub progress_token: ProgressToken = "progressToken",
        /// The amount of work done so far. It grows with each notification.
        pub progress: f64 as Number,
        /// The total amount of work, if the total is known.
        pub total?: f64 as Number,
        /// A message about the current step, for users.
        pub message?: String [since V2025_03_26],
        /// Metadata of the notification (`_meta`).
        pub meta: Option<NotificationMetaObject> = "_meta",
    }

    /// Makes params for the request with this progress token. `progress` is the amount of work done
    /// so far.
    pub fn new(progress_token: impl Into<ProgressToken>, progress: f64);
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
