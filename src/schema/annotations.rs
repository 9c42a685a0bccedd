//! Annotations of content and resources, and roles.
//!
//! Spec: Server Features, Resources, "Annotations" (every revision; `lastModified` since
//! 2025-06-18).

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::json::Number;
use super::member::Form;
use super::misfit;
use super::tree::Tree;
use crate::error::{Error, ErrorKind, Excerpt, Result};

/// The role of the sender of a message, or of the audience of content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Role {
    /// The user.
    User,
    /// The model.
    Assistant,
}

required!(Role);

object! {
    /// Hints about content for clients that display or use it.
    ///
    /// # Examples
    ///
    /// ```
    /// use mcplink::schema::{Annotations, Resource, Role};
    ///
    /// let annotations = Annotations::default()
    ///     .audience([Role::User])
    ///     .priority(0.8)
    ///     .last_modified("2026-05-04");
    /// annotations.check()?;
    /// let resource = Resource::new("file:///plan.md", "plan").annotations(annotations);
    /// # Ok::<(), mcplink::Error>(())
    /// ```
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct Annotations: FitTo {
        /// The roles for which the content is meant. Unknown roles are dropped when the annotations
        /// are read.
        pub audience?: Vec<Role> as KnownRoles,
        /// The importance of the content, from 0 to 1.
        pub priority?: f64 as Number,
        /// The time of the content's last change, in ISO 8601.
        pub last_modified?: String = "lastModified" [since V2025_06_18],
        ..extra
    }
}

impl Annotations {
    /// Checks that the specification allows the values. A server checks the annotations that it
    /// registers. Annotations from a peer are not checked.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`] when the priority is not from 0 to 1, or the time does not begin with
    /// a date in ISO 8601.
    pub fn check(&self) -> Result<()> {
        let problem = if let Some(priority) = self.priority.filter(|it| !(0.0..=1.0).contains(it)) {
            format!("priority {priority} is not from 0 to 1")
        } else if let Some(time) = self
            .last_modified
            .as_deref()
            .filter(|it| !begins_with_date(it))
        {
            format!("lastModified '{}' is not in ISO 8601", Excerpt(time))
        } else {
            return Ok(());
        };
        Err(Error::new(ErrorKind::Invalid, problem))
    }
}

/// Whether a text begins with `YYYY-MM-DD`, followed by nothing or by a time.
///
/// The time is not checked. The specification asks for ISO 8601, which has more forms of a time
/// than RFC 3339. [`is_date_time`](super::date::is_date_time) knows only RFC 3339.
fn begins_with_date(text: &str) -> bool {
    let (date, time) = text.split_at_checked(10).unwrap_or((text, ""));
    let has_form = date.len() == 10
        && date.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    has_form && (time.is_empty() || time.starts_with(['T', 't', ' ']))
}

struct KnownRoles;

impl Form<Option<Vec<Role>>> for KnownRoles {
    fn read<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> std::result::Result<Option<Vec<Role>>, D::Error> {
        let roles = Option::<Vec<Tree>>::deserialize(deserializer)?;
        if misfit::is_strict() {
            let role = |Tree(role): Tree| Role::deserialize(role).map_err(D::Error::custom);
            let roles = roles.map(|roles| roles.into_iter().map(role).collect());
            return roles.transpose();
        }
        let known = |Tree(role): &Tree| Role::deserialize(role).ok();
        Ok(roles.map(|roles| roles.iter().filter_map(known).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Seen in other SDKs: unknown members vanish in a round trip.
    // M-RES-B-18
    #[test]
    fn annotations_are_read_leniently_and_checked_strictly() {
        let text = r#"{"audience":["user","robot",7],"priority":1.1,"lastModified":"yesterday"}"#;
        let read: Annotations = serde_json::from_str(text).expect("decodes");
        assert_eq!(read.audience.as_deref(), Some(&[Role::User][..]));
        assert_eq!(read.priority, Some(1.1));
        for priority in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
            let checked = Annotations::default().priority(priority).check();
            assert!(checked.is_err(), "{priority}");
        }
        for time in ["yesterday", "", "2025-1-1", "20250101", "2025-01-01x", "ä"] {
            let checked = Annotations::default().last_modified(time).check();
            assert!(checked.is_err(), "{time}");
        }
        for time in [
            "2025-01-01",
            "2025-01-12T15:00:58Z",
            "2025-01-12T15:00:58.5+02:00",
        ] {
            let annotations = Annotations::default().last_modified(time);
            assert!(annotations.priority(0.0).check().is_ok(), "{time}");
        }
        assert!(Annotations::default().priority(1.0).check().is_ok());
    }
}
