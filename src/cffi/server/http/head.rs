//! The status and header fields of a response, as the host sees them.

use crate::cffi::entry::get;
use crate::cffi::handle::{Kind as ObjectKind, Object};
use crate::cffi::text::{Text, mcplink_str_t, view_or_empty};
use crate::transport::http::ResponseHead;

/// The status and header fields of a response. The host itself adds the header fields for length,
/// connection and date. The head is borrowed until the function that receives it returns.
pub struct mcplink_http_head_t {
    status: u16,
    headers: Vec<(Text, Text)>,
    while_quiet: Option<(u32, Text)>,
}

impl Object for mcplink_http_head_t {
    const KIND: ObjectKind = ObjectKind::HttpHead;
}

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

/// Returns the status of a response.
///
/// head: the head; for NULL the function returns 0.
/// Returns: the status, for example 200. Threads: any. Since 0.1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_head_status(head: *const mcplink_http_head_t) -> i32 {
    // SAFETY: the header requires a head of this library.
    unsafe { get(head) }.map_or(0, |head| head.status.into())
}

/// Returns the number of header fields of a response.
///
/// head: the head; for NULL the function returns 0.
/// Returns: the number. Threads: any. Since 0.1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_head_count(head: *const mcplink_http_head_t) -> usize {
    // SAFETY: the header requires a head of this library.
    unsafe { get(head) }.map_or(0, |head| head.headers.len())
}

/// Returns the name of a header field of a response.
///
/// head: the head; for NULL the function returns "".
/// index: the index of the field, from 0.
/// Returns: text that is valid as long as the head; empty when the index is out of range. Threads:
/// any. Since 0.1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_head_name(
    head: *const mcplink_http_head_t,
    index: usize,
) -> mcplink_str_t {
    // SAFETY: the header requires a head of this library.
    let field = unsafe { get(head) }.and_then(|head| head.headers.get(index));
    view_or_empty(field.map(|(name, _)| name))
}

/// Returns the value of a header field of a response.
///
/// head: the head; for NULL the function returns "".
/// index: the index of the field, from 0.
/// Returns: text that is valid as long as the head; empty when the index is out of range. Threads:
/// any. Since 0.1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_head_value(
    head: *const mcplink_http_head_t,
    index: usize,
) -> mcplink_str_t {
    // SAFETY: the header requires a head of this library.
    let field = unsafe { get(head) }.and_then(|head| head.headers.get(index));
    view_or_empty(field.map(|(_, value)| value))
}

/// Returns the keep-alive interval of a streamed response. After this time without data the host
/// should write the text that mcplink_http_head_quiet_text returns, so that proxies do not drop the
/// idle connection.
///
/// head: the head; for NULL the function returns 0.
/// Returns: the interval in milliseconds; 0 if no keep-alive is needed. Threads: any. Since 0.1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_head_quiet_ms(head: *const mcplink_http_head_t) -> u32 {
    // SAFETY: the header requires a head of this library.
    let quiet = unsafe { get(head) }.and_then(|head| head.while_quiet.as_ref());
    quiet.map_or(0, |(interval, _)| *interval)
}

/// Returns the keep-alive text that the host writes to an idle stream: see
/// mcplink_http_head_quiet_ms.
///
/// head: the head; for NULL the function returns "".
/// Returns: text that is valid as long as the head; empty if no keep-alive is needed. Threads: any.
/// Since 0.1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_http_head_quiet_text(
    head: *const mcplink_http_head_t,
) -> mcplink_str_t {
    // SAFETY: the header requires a head of this library.
    let quiet = unsafe { get(head) }.and_then(|head| head.while_quiet.as_ref());
    view_or_empty(quiet.map(|(_, text)| text))
}
