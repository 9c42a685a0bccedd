//! Where a list goes on: text that means something to this server only.
//!
//! A cursor holds the number of the last item that was shown. Numbers only grow and items never change theirs, so what is added or removed
//! between two pages neither hides an item that stayed nor shows it twice; and a cursor outlives the process if items are added in the
//! same order.
//!
//! Spec: Server Features, Utilities, "Pagination" (every revision).

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::error::RpcError;
use crate::schema::CacheHint;

/// A list that a server gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum List {
    /// `tools/list`.
    Tools,
    /// `prompts/list`.
    Prompts,
    /// `resources/list`.
    Resources,
    /// `resources/templates/list`.
    ResourceTemplates,
}

/// What is said of a list of which nothing was said.
pub(super) const UNCACHED: CacheHint = CacheHint {
    ttl_ms: None,
    cache_scope: None,
};

/// Tells cursors of this form from others, past and to come.
const FORM: u8 = 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cursor {
    pub(super) last_shown: u64,
}

impl Cursor {
    pub(super) fn after(last_shown: u64) -> Self {
        Self { last_shown }
    }

    pub(super) fn read(text: &str) -> Result<Self, RpcError> {
        let bytes = URL_SAFE_NO_PAD.decode(text).unwrap_or_default();
        match <[u8; 9]>::try_from(bytes) {
            Ok([FORM, number @ ..]) => Ok(Self::after(u64::from_be_bytes(number))),
            _ => Err(Self::invalid()),
        }
    }

    pub(super) fn invalid() -> RpcError {
        RpcError::invalid_params("cursor is not one of this list: start again without one")
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = vec![FORM];
        bytes.extend(self.last_shown.to_be_bytes());
        f.write_str(&URL_SAFE_NO_PAD.encode(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorCode;

    #[test]
    fn cursors_are_read_as_they_were_written() {
        for number in [0, 1, 255, 256, u64::MAX] {
            let cursor = Cursor::after(number);
            assert_eq!(Cursor::read(&cursor.to_string()).expect("ours"), cursor);
        }
    }

    // M-PAGE-S-03, L-PAGE-S-05
    #[test]
    fn anything_else_is_no_cursor() {
        let ours = Cursor::after(7).to_string();
        let other_form = URL_SAFE_NO_PAD.encode([2, 0, 0, 0, 0, 0, 0, 0, 7]);
        for text in [
            "",
            "7",
            "AQ",
            "ä",
            "\0",
            &format!("{ours}="),
            &ours[1..],
            &other_form,
        ] {
            let error = Cursor::read(text).expect_err(text);
            assert_eq!(error.code, ErrorCode::INVALID_PARAMS, "{text}");
        }
    }
}
