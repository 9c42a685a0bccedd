//! Log messages of a server.
//!
//! Spec: Server Features, Utilities, "Logging" (every revision; deprecated in 2026-07-28).

use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::value::RawValue;

use super::json::raw;
use super::member::Form;
use super::meta::{NotificationMetaObject, RequestMetaObject};
use crate::error::Result;

open_enum! {
    /// The severity of a log message (RFC 5424).
    pub enum LoggingLevel {
        /// Details for debugging.
        Debug = "debug",
        /// General information.
        Info = "info",
        /// A normal but significant condition.
        Notice = "notice",
        /// A warning condition.
        Warning = "warning",
        /// An error condition.
        Error = "error",
        /// A critical condition.
        Critical = "critical",
        /// A condition that requires action at once.
        Alert = "alert",
        /// A condition that makes the system unusable.
        Emergency = "emergency",
    }
}

impl LoggingLevel {
    /// Returns the severity as a number, from 0 for debug to 7 for emergency. Returns `None` for an
    /// unknown level.
    pub fn severity(&self) -> Option<u8> {
        Some(match self {
            Self::Debug => 0,
            Self::Info => 1,
            Self::Notice => 2,
            Self::Warning => 3,
            Self::Error => 4,
            Self::Critical => 5,
            Self::Alert => 6,
            Self::Emergency => 7,
            Self::Other(_) => return None,
        })
    }

    /// Whether a message of this level is sent to a client that requested the level `minimum` and
    /// more severe levels. True for unknown levels.
    pub fn is_at_least(&self, minimum: &Self) -> bool {
        match (self.severity(), minimum.severity()) {
            (Some(level), Some(minimum)) => level >= minimum,
            _ => true,
        }
    }
}

/// Reads the level that a request names. An unknown level is an error, because the set of levels is
/// closed. Only the level of a notification is read leniently.
pub(super) fn known_level<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<LoggingLevel>, D::Error> {
    match Option::<LoggingLevel>::deserialize(deserializer)? {
        Some(LoggingLevel::Other(text)) => Err(de::Error::custom(format_args!(
            "log level \"{}\" does not exist",
            crate::error::Excerpt(&text)
        ))),
        level => Ok(level),
    }
}

/// The serialization of a member that is a known level. See [`known_level`].
pub(super) struct KnownLevel;

impl Form<Option<LoggingLevel>> for KnownLevel {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<LoggingLevel>, D::Error> {
        known_level(deserializer)
    }
}

impl Form<LoggingLevel> for KnownLevel {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<LoggingLevel, D::Error> {
        known_level(deserializer)?.ok_or_else(|| de::Error::custom("log level is null"))
    }
}

object! {
    /// The params of `logging/setLevel`. Up to 2025-11-25.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::protocol::{Peer, RequestOptions};
    /// use mcplink::schema::{LoggingLevel, SetLevelRequestParams};
    ///
    /// // By hand, for legacy servers. `Client::set_log_level` does this in every revision.
    /// fn log_warnings(peer: &Peer) -> mcplink::Result<()> {
    ///     let params = SetLevelRequestParams::new(LoggingLevel::Warning);
    ///     peer.request("logging/setLevel", &params, RequestOptions::new())?;
    ///     Ok(())
    /// }
    /// ```
    #[derive(Clone, Debug, PartialEq)]
    pub struct SetLevelRequestParams {
        /// The minimum severity of the log messages that are sent.
        pub level: LoggingLevel as KnownLevel,
        /// Metadata of the request (`_meta`).
        pub meta: Option<RequestMetaObject> = "_meta",
    }

    /// Makes params that request log messages of `level` and of more severe levels.
    pub fn new(level: LoggingLevel);
}

object! {
    /// The params of `notifications/message`.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::protocol::Peer;
    /// use mcplink::schema::{LoggingLevel, LoggingMessageNotificationParams};
    ///
    /// // By hand. `Context::log` and `Server::log` respect the level of the client.
    /// fn log(peer: &Peer, text: &str) -> mcplink::Result<()> {
    ///     let params = LoggingMessageNotificationParams::new(LoggingLevel::Warning, text)?;
    ///     peer.notify("notifications/message", &params.logger("storage"))
    /// }
    /// ```
    #[derive(Clone, Debug)]
    pub struct LoggingMessageNotificationParams {
        /// The severity of the log message.
        pub level: LoggingLevel,
        /// The name of the logger, which is the part of the server that logs.
        pub logger?: String,
        /// The content of the log message: any JSON, often a string.
        pub data: Box<RawValue>,
        /// Metadata of the notification (`_meta`).
        pub meta?: NotificationMetaObject = "_meta",
    }

    fn of_fields(level: LoggingLevel, data: Box<RawValue>);
}

impl LoggingMessageNotificationParams {
    /// Makes a log message.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) when `data` can't be written as JSON.
    pub fn new(level: LoggingLevel, data: &(impl Serialize + ?Sized)) -> Result<Self> {
        raw("log data", data).map(|data| Self::of_fields(level, data))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_ordered_by_severity() {
        let names = [
            "debug",
            "info",
            "notice",
            "warning",
            "error",
            "critical",
            "alert",
            "emergency",
        ];
        for (index, name) in names.iter().enumerate() {
            let level = LoggingLevel::from(*name);
            assert_eq!(level.severity(), u8::try_from(index).ok(), "{name}");
            assert_eq!(level.is_at_least(&LoggingLevel::Warning), index >= 3);
        }
        assert!(LoggingLevel::from("loud").is_at_least(&LoggingLevel::Emergency));
    }

    // An unknown level is an error in a request, and is kept as text in a notification.
    #[test]
    fn unknown_levels_fail_requests_only() {
        assert!(serde_json::from_str::<SetLevelRequestParams>(r#"{"level":"loud"}"#).is_err());
        let text = r#"{"level":"loud","data":null}"#;
        let message: LoggingMessageNotificationParams =
            serde_json::from_str(text).expect("decodes");
        assert_eq!(serde_json::to_string(&message).expect("JSON"), text);
    }
}
