//! The revisions of MCP, and the adaptation of values to peers with an older revision.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::error::{Error, ErrorKind, Excerpt};

/// A revision of the Model Context Protocol, named by its date. Later revisions compare greater.
///
/// In messages, a revision is its date as text. Fields whose value comes from a peer are plain
/// text, because the peer may name a revision that this library doesn't know. Parse this text where
/// the revision matters.
///
/// Spec: Base Protocol, "Versioning" (every revision).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ProtocolVersion {
    /// Revision 2024-11-05, the first revision.
    V2024_11_05,
    /// Revision 2025-03-26: adds audio, tool annotations and the capability `completions`. Only
    /// this revision has batches.
    V2025_03_26,
    /// Revision 2025-06-18: adds elicitation, structured output, resource links and titles.
    V2025_06_18,
    /// Revision 2025-11-25: adds icons, tools in sampling, URL mode elicitation and tasks.
    V2025_11_25,
    /// Revision 2026-07-28: has no handshake. Each request names the revision and the client's
    /// capabilities.
    V2026_07_28,
}

impl ProtocolVersion {
    /// All revisions, the oldest first.
    pub const ALL: &'static [Self] = &[
        Self::V2024_11_05,
        Self::V2025_03_26,
        Self::V2025_06_18,
        Self::V2025_11_25,
        Self::V2026_07_28,
    ];

    /// The revisions whose connections begin with `initialize`, the oldest first.
    pub const LEGACY: &'static [Self] = &[
        Self::V2024_11_05,
        Self::V2025_03_26,
        Self::V2025_06_18,
        Self::V2025_11_25,
    ];

    /// The newest revision.
    pub const LATEST: Self = Self::V2026_07_28;

    /// The newest revision whose connections begin with `initialize`.
    pub const LATEST_LEGACY: Self = Self::V2025_11_25;

    /// Returns the date of the revision, as in messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// Whether each request names the revision and the client's capabilities: 2026-07-28 and later.
    pub fn is_modern(self) -> bool {
        self >= Self::V2026_07_28
    }

    /// Whether a connection begins with `initialize`: before 2026-07-28.
    pub fn is_legacy(self) -> bool {
        !self.is_modern()
    }

    /// Whether one JSON array may contain several messages (batch): 2025-03-26 only.
    pub fn has_batches(self) -> bool {
        self == Self::V2025_03_26
    }

    /// Whether the core protocol has tasks: 2025-11-25 only.
    pub fn has_core_tasks(self) -> bool {
        self == Self::V2025_11_25
    }
}

impl fmt::Display for ProtocolVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Parses the date of a revision.
///
/// # Errors
///
/// [`ErrorKind::Unsupported`] for a revision that this library doesn't know.
impl FromStr for ProtocolVersion {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let known = Self::ALL.iter().find(|version| version.as_str() == text);
        known.copied().ok_or_else(|| {
            Error::new(
                ErrorKind::Unsupported,
                format!("protocol version '{}' is not known", Excerpt(text)),
            )
        })
    }
}

impl Serialize for ProtocolVersion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for ProtocolVersion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

/// The adaptation of a value to a peer that speaks a given revision.
///
/// Members that the revision does not know are removed, or replaced by the nearest equivalent that
/// it knows. Required members with a known value (`resultType`, `ttlMs`, `cacheScope`) are added.
/// Members that no revision knows are kept, since objects are open in every revision.
pub trait FitTo {
    /// Adapts the value to `revision`.
    fn fit_to(&mut self, revision: ProtocolVersion);
}

impl<T: FitTo> FitTo for Option<T> {
    fn fit_to(&mut self, revision: ProtocolVersion) {
        if let Some(value) = self {
            value.fit_to(revision);
        }
    }
}

impl<T: FitTo> FitTo for Vec<T> {
    fn fit_to(&mut self, revision: ProtocolVersion) {
        for value in self {
            value.fit_to(revision);
        }
    }
}

impl<T: FitTo> FitTo for Box<T> {
    fn fit_to(&mut self, revision: ProtocolVersion) {
        (**self).fit_to(revision);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn revisions_are_their_dates() {
        for version in ProtocolVersion::ALL {
            let text = version.to_string();
            assert_eq!(text.parse::<ProtocolVersion>().expect("known"), *version);
            let json = serde_json::to_string(version).expect("text");
            assert_eq!(json, format!("\"{text}\""));
            assert_eq!(
                serde_json::from_str::<ProtocolVersion>(&json).expect("known"),
                *version
            );
        }
        let error = "2099-01-01".parse::<ProtocolVersion>().expect_err("future");
        assert_eq!(error.kind(), ErrorKind::Unsupported);
    }

    #[test]
    fn revisions_are_ordered_by_date_and_split_into_eras() {
        assert!(ProtocolVersion::ALL.is_sorted());
        assert!(ProtocolVersion::LEGACY.iter().all(|v| v.is_legacy()));
        assert!(ProtocolVersion::LATEST.is_modern());
        let with_batches = ProtocolVersion::ALL.iter().filter(|v| v.has_batches());
        assert_eq!(
            with_batches.collect::<Vec<_>>(),
            [&ProtocolVersion::V2025_03_26]
        );
    }
}
