//! The status and header fields of a response, as the host sees them.

use crate::cffi::entry::get;
use crate::cffi::text::{Text, mcplink_str_t};
use crate::transport::http::ResponseHead;

/// The status and header fields of a response. The host itself adds the header fields for length,
/// connection and date. The head is borrowed until the function that receives it returns.
pub struct mcplink_http_head_t {
    status: u16,
    headers: Vec<(Text, Text)>,
    while_quiet: Option<(u32, Text)>,
}

object!(mcplink_http_head_t is HttpHead);

impl mcplink_http_head_t {
    pub(super) fn of(head: &ResponseHead) -> Self {
        let headers = head.headers.iter();
        Self {
            status: head.status,
            headers: headers
                .map(|(name, value)| (Text::from(*name), Text::from(&**value)))
                .collect(),
            while_quiet: head.while_quiet.map(|(interval, bytes)| {
                let interval = interval.as_millis().try_into().unwrap_or(u32::MAX);
                (interval, String::from_utf8_lossy(bytes).into_owned().into())
            }),
        }
    }
}

getters! {
    get(head: mcplink_http_head_t);

    /// Returns the status of a response.
    ///
    /// Returns: the status, for example 200.
    fn mcplink_http_head_status() -> i32 {
        head.status.into()
    }

    /// Returns the number of header fields of a response.
    ///
    /// Returns: the number.
    fn mcplink_http_head_count() -> usize {
        head.headers.len()
    }

    /// Returns the name of a header field of a response.
    ///
    /// index: the index of the field, from 0.
    /// Returns: text that is valid as long as the head; empty when the index is out of range.
    fn mcplink_http_head_name(index: usize) -> mcplink_str_t {
        head.headers.get(index)?.0.view()
    }

    /// Returns the value of a header field of a response.
    ///
    /// index: the index of the field, from 0.
    /// Returns: text that is valid as long as the head; empty when the index is out of range.
    fn mcplink_http_head_value(index: usize) -> mcplink_str_t {
        head.headers.get(index)?.1.view()
    }

    /// Returns the keep-alive interval of a streamed response. After this time without data the
    /// host should write the text that mcplink_http_head_keep_alive_text returns, so that proxies
    /// do not drop the idle connection.
    ///
    /// Returns: the interval in milliseconds; 0 if no keep-alive is needed.
    fn mcplink_http_head_keep_alive_ms() -> u32 {
        head.while_quiet.as_ref()?.0
    }

    /// Returns the keep-alive text that the host writes to an idle stream: see
    /// mcplink_http_head_keep_alive_ms.
    ///
    /// Returns: text that is valid as long as the head; empty if no keep-alive is needed.
    fn mcplink_http_head_keep_alive_text() -> mcplink_str_t {
        head.while_quiet.as_ref()?.1.view()
    }
}
