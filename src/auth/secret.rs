//! A wrapper type for secrets.

use std::fmt;

use serde::Serialize;
use zeroize::Zeroizing;

/// A secret, for example a token, a password or a key. `Debug` does not show the secret. When the
/// secret is dropped, its memory is wiped.
///
/// # Examples
///
/// ```
/// use mcplink::auth::Secret;
///
/// let secret = Secret::new("hunter2");
/// assert_eq!(format!("{secret:?}"), "Secret");
/// assert_eq!(secret.reveal(), "hunter2");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Wraps a secret text. Other copies of the text are not wiped.
    pub fn new(text: impl Into<String>) -> Self {
        Self(Zeroizing::new(text.into()))
    }

    /// Serializes data that contains secrets as JSON text.
    pub(super) fn of_json(data: &impl Serialize) -> Self {
        // The buffer is large enough for most data, because a growing buffer would leave copies
        // that are not wiped.
        let mut text = Vec::with_capacity(16 << 10);
        serde_json::to_writer(&mut text, data).expect("plain data is JSON");
        Self::new(String::from_utf8(text).expect("JSON is UTF-8"))
    }

    /// Returns the secret text.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// Serialization of a secret as a JSON string, with `#[serde(with = "secret::revealed")]`.
pub(super) mod revealed {
    use serde::{Deserialize, Deserializer, Serializer};

    use super::Secret;

    pub(in crate::auth) fn serialize<S: Serializer>(
        secret: &Secret,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(secret.reveal())
    }

    pub(in crate::auth) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Secret, D::Error> {
        String::deserialize(deserializer).map(Secret::new)
    }
}

/// Serialization of an optional secret, like [`revealed`].
pub(super) mod revealed_option {
    use serde::{Deserialize, Deserializer, Serializer};

    use super::Secret;

    pub(in crate::auth) fn serialize<S: Serializer>(
        secret: &Option<Secret>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match secret {
            Some(secret) => serializer.serialize_some(secret.reveal()),
            None => serializer.serialize_none(),
        }
    }

    pub(in crate::auth) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Secret>, D::Error> {
        Ok(Option::<String>::deserialize(deserializer)?.map(Secret::new))
    }
}
