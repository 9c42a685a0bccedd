//! Log messages of a server.
//!
//! Spec: Server Features, Utilities, "Logging" (every revision; deprecated in 2026-07-28).

use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::value::RawValue;

use super::json::raw;
use super::meta::{NotificationMetaObject, RequestMetaObject};
use super::object::Form;
use crate::error::Result;

open_enum! {
    /// How severe a log message is, after RFC 5424.
    pub enum LoggingLevel {
        /// Details for debugging.
        Debug = "debug",
        /// General information.
        Info = "info",
        /// Normal but significant.
        Notice = "notice",
        /// Warning conditions.
        Warning = "warning",
        /// Error conditions.
        Error = "error",
        /// Critical conditions.
        Critical = "critical",
        /// Action must be taken at once.
        Alert = "alert",
        /// The system is unusable.
        Emergency = "emergency",
    }
}

impl LoggingLevel {
    /// 0 for debug to 7 for emergency; `None` for a level that this library doesn't know.
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

    /// Whether a message of this level is wanted by who asked for `minimum` and more severe ones. Unknown levels are.
    pub fn is_at_least(&self, minimum: &Self) -> bool {
        match (self.severity(), minimum.severity()) {
            (Some(level), Some(minimum)) => level >= minimum,
            _ => true,
        }
    }
}

/// Reads a level that a request names, where an unknown one is an error (the set is closed; only notifications are read leniently).
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

/// A level that exists, see [`known_level`].
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

/// The params of `logging/setLevel`. Up to 2025-11-25.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SetLevelRequestParams {
    /// The least severe level wanted.
    pub level: LoggingLevel,
    /// What travels beside the params.
    pub meta: Option<RequestMetaObject>,
}

members!(SetLevelRequestParams { level as KnownLevel, meta = "_meta" });

impl SetLevelRequestParams {
    /// Asks for messages of `level` and more severe ones.
    pub fn new(level: LoggingLevel) -> Self {
        Self { level, meta: None }
    }
}

/// The params of `notifications/message`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LoggingMessageNotificationParams {
    /// How severe it is.
    pub level: LoggingLevel,
    /// Which part of the server it comes from.
    pub logger: Option<String>,
    /// What is to be logged: any JSON, often a string.
    pub data: Box<RawValue>,
    /// What travels beside the params.
    pub meta: Option<NotificationMetaObject>,
}

members!(LoggingMessageNotificationParams { level, logger, data, meta = "_meta" });

impl LoggingMessageNotificationParams {
    /// Makes a log message.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) when `data` can't be written as JSON.
    pub fn new(level: LoggingLevel, data: &(impl Serialize + ?Sized)) -> Result<Self> {
        Ok(Self {
            level,
            logger: None,
            data: raw("log data", data)?,
            meta: None,
        })
    }

    setters! {
        /// Names the part of the server that it comes from.
        logger: String,
        /// Sets what travels beside the params.
        meta: NotificationMetaObject,
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

    // An unknown level is an error in a request and only a text in a notification.
    #[test]
    fn unknown_levels_fail_requests_only() {
        assert!(serde_json::from_str::<SetLevelRequestParams>(r#"{"level":"loud"}"#).is_err());
        let text = r#"{"level":"loud","data":null}"#;
        let message: LoggingMessageNotificationParams =
            serde_json::from_str(text).expect("decodes");
        assert_eq!(serde_json::to_string(&message).expect("JSON"), text);
    }
}
