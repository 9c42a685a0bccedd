//! Pagination cursors: opaque positions in a list.
//!
//! A cursor contains the number of the last item on the previous page. Each new item gets a larger
//! number than all earlier items. The number of an item never changes. So if an item is added or
//! removed between two pages, no other item is missing or on both pages. A cursor stays valid after
//! a restart if items are added in the same order.
//!
//! Spec: Server Features, Utilities, "Pagination" (every revision).

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::error::RpcError;
use crate::schema::CacheHint;

/// A list that a server offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum List {
    /// The list of tools (`tools/list`).
    Tools,
    /// The list of prompts (`prompts/list`).
    Prompts,
    /// The list of resources (`resources/list`).
    Resources,
    /// The list of resource templates (`resources/templates/list`).
    ResourceTemplates,
    /// The list of skills (`skills/list`). A cache hint for this list also applies to `skills/get`
    /// and `resources/directory/read`.
    Skills,
}

/// The cache hint of a list for which the host has set no hint: no caching.
pub(super) const UNCACHED: CacheHint = CacheHint {
    ttl_ms: None,
    cache_scope: None,
};

/// The version of the cursor format. A cursor of another format version is refused.
const FORM: u8 = 2;

/// The list that a cursor belongs to. Don't change the numbers of the variants, since the cursors
/// that clients have contain these numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Paged {
    Tools = 1,
    Prompts = 2,
    Resources = 3,
    ResourceTemplates = 4,
    Tasks = 5,
    Skills = 6,
}

impl From<List> for Paged {
    fn from(list: List) -> Self {
        match list {
            List::Tools => Self::Tools,
            List::Prompts => Self::Prompts,
            List::Resources => Self::Resources,
            List::ResourceTemplates => Self::ResourceTemplates,
            List::Skills => Self::Skills,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cursor {
    list: Paged,
    pub(super) last_shown: u64,
}

impl Cursor {
    pub(super) fn after(list: Paged, last_shown: u64) -> Self {
        Self { list, last_shown }
    }

    /// Parses a client's cursor. An empty text counts as no cursor, because some clients send an
    /// empty text to request the first page.
    pub(super) fn read(list: Paged, text: Option<&str>) -> Result<Option<Self>, RpcError> {
        let Some(text) = text.filter(|text| !text.is_empty()) else {
            return Ok(None);
        };
        let mut bytes = [0; 10];
        let len = URL_SAFE_NO_PAD.decode_slice(text, &mut bytes);
        match len.map(|len| (len, bytes)) {
            Ok((10, [FORM, of, number @ ..])) if of == list as u8 => {
                Ok(Some(Self::after(list, u64::from_be_bytes(number))))
            }
            _ => Err(Self::invalid()),
        }
    }

    pub(super) fn invalid() -> RpcError {
        RpcError::invalid_params("cursor is not one of this list: start again without one")
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = vec![FORM, self.list as u8];
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
            let cursor = Cursor::after(Paged::Tools, number);
            let read = Cursor::read(Paged::Tools, Some(&cursor.to_string()));
            assert_eq!(read.expect("ours"), Some(cursor));
        }
    }

    #[test]
    fn an_empty_cursor_is_none() {
        for nothing in [None, Some("")] {
            let read = Cursor::read(Paged::Tools, nothing);
            assert_eq!(read.expect("the first page"), None);
        }
    }

    // M-PAGE-S-03, L-PAGE-S-05
    #[test]
    fn a_cursor_of_another_list_is_refused() {
        use Paged::{Prompts, ResourceTemplates, Resources, Skills, Tasks, Tools};
        let all = [Tools, Prompts, Resources, ResourceTemplates, Tasks, Skills];
        for given in all {
            let text = Cursor::after(given, 1).to_string();
            for asked in all {
                let read = Cursor::read(asked, Some(&text));
                assert_eq!(read.is_ok(), asked == given, "{given:?} for {asked:?}");
            }
        }
    }

    // M-PAGE-S-03, L-PAGE-S-05
    #[test]
    fn anything_else_is_no_cursor() {
        let ours = Cursor::after(Paged::Tools, 7).to_string();
        let other_form = URL_SAFE_NO_PAD.encode([1, 0, 0, 0, 0, 0, 0, 0, 7]);
        for text in [
            " ",
            "7",
            "AQ",
            "ä",
            "\0",
            &format!("{ours}="),
            &ours[1..],
            &other_form,
        ] {
            let error = Cursor::read(Paged::Tools, Some(text)).expect_err(text);
            assert_eq!(error.code, ErrorCode::INVALID_PARAMS, "{text}");
        }
    }
}
