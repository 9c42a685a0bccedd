//! Writing messages as JSON text, without the newline at the end.

use serde::Serialize;

use super::id::RequestId;
use crate::error::RpcError;

/// Writes a request.
///
/// # Errors
///
/// Fails if `params` can't be written as JSON.
pub fn write_request(
    id: &RequestId,
    method: &str,
    params: &impl Serialize,
) -> Result<Vec<u8>, serde_json::Error> {
    #[derive(Serialize)]
    struct Out<'a, P> {
        jsonrpc: &'static str,
        id: &'a RequestId,
        method: &'a str,
        params: &'a P,
    }
    write(&Out {
        jsonrpc: "2.0",
        id,
        method,
        params,
    })
}

/// Writes a notification.
///
/// # Errors
///
/// Fails if `params` can't be written as JSON.
pub fn write_notification(
    method: &str,
    params: &impl Serialize,
) -> Result<Vec<u8>, serde_json::Error> {
    #[derive(Serialize)]
    struct Out<'a, P> {
        jsonrpc: &'static str,
        method: &'a str,
        params: &'a P,
    }
    write(&Out {
        jsonrpc: "2.0",
        method,
        params,
    })
}

/// Writes the response to a request that succeeded.
///
/// # Errors
///
/// Fails if `result` can't be written as JSON.
pub fn write_result(id: &RequestId, result: &impl Serialize) -> Result<Vec<u8>, serde_json::Error> {
    let buffer = Vec::with_capacity(256);
    write_result_with(buffer, id, |buffer| serde_json::to_writer(buffer, result))
}

/// Replaces the content of `buffer` by the response to a request that succeeded. The function
/// `append` writes the result itself.
pub(crate) fn write_result_with(
    mut buffer: Vec<u8>,
    id: &RequestId,
    append: impl FnOnce(&mut Vec<u8>) -> serde_json::Result<()>,
) -> serde_json::Result<Vec<u8>> {
    buffer.clear();
    begin_result(&mut buffer, id)?;
    append(&mut buffer)?;
    buffer.push(b'}');
    Ok(buffer)
}

/// Returns the beginning of the response to a request that succeeded, up to the result.
pub(super) fn result_head(id: &RequestId) -> Vec<u8> {
    let mut head = Vec::with_capacity(64);
    begin_result(&mut head, id).expect("an id can be written");
    head
}

fn begin_result(buffer: &mut Vec<u8>, id: &RequestId) -> serde_json::Result<()> {
    buffer.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    serde_json::to_writer(&mut *buffer, id)?;
    buffer.extend_from_slice(br#","result":"#);
    Ok(())
}

/// Writes the response to a request that failed. If `id` is `None`, the response has no `id`.
pub fn write_error(id: Option<&RequestId>, error: &RpcError) -> Vec<u8> {
    #[derive(Serialize)]
    struct Out<'a> {
        jsonrpc: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a RequestId>,
        error: &'a RpcError,
    }
    write(&Out {
        jsonrpc: "2.0",
        id,
        error,
    })
    .expect("strings, integers and raw JSON can be written")
}

fn write(message: &impl Serialize) -> Result<Vec<u8>, serde_json::Error> {
    let mut buffer = Vec::with_capacity(256);
    serde_json::to_writer(&mut buffer, message)?;
    Ok(buffer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jsonrpc::{Message, Parsed};

    #[test]
    fn what_is_written_reads_back() {
        let id = RequestId::from("1");
        let written =
            write_request(&id, "m", &serde_json::json!({"a": "\u{2028}\n"})).expect("JSON");
        assert!(!written.contains(&b'\n'));
        let Parsed::Single(Ok(Message::Request(request))) = Parsed::read(written, 8) else {
            panic!("a request")
        };
        assert_eq!((request.id(), request.method()), (&id, "m"));
        let written = write_error(None, &RpcError::internal("m"));
        assert_eq!(
            written,
            br#"{"jsonrpc":"2.0","error":{"code":-32603,"message":"m"}}"#
        );
    }
}
