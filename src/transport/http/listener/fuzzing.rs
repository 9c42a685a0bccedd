//! Access of the fuzz targets to the parser of requests.
#![cfg(fuzzing)]

use super::HttpLimits;
use super::request_parser::{ParseStep, RequestParser};

/// A request or a fault that a parser found in the input of a connection.
#[derive(Debug, PartialEq, Eq)]
pub enum HttpInput {
    /// A complete request.
    Request {
        /// The method.
        method: String,
        /// The path and the query of the target.
        target: String,
        /// The names and values of the header fields.
        fields: Vec<(String, Vec<u8>)>,
        /// The body without its transfer coding.
        body: Vec<u8>,
    },
    /// The parser refused the rest of the input, with this status.
    Refused(u16),
}

/// Parses the input of a connection that arrives in pieces, as a worker does.
pub fn requests<'a>(pieces: impl Iterator<Item = &'a [u8]>, limits: &HttpLimits) -> Vec<HttpInput> {
    let mut parser = RequestParser::default();
    let mut found = Vec::new();
    for mut piece in pieces {
        while !piece.is_empty() {
            let (buffer, max) = parser.room();
            let (read, rest) = piece.split_at(max.min(piece.len()));
            buffer.extend_from_slice(read);
            piece = rest;
            if let Err(status) = take_requests(&mut parser, limits, &mut found) {
                found.push(HttpInput::Refused(status));
                return found;
            }
        }
    }
    found
}

/// Takes the complete requests out of the parser. The error is the status of a refusal.
fn take_requests(
    parser: &mut RequestParser,
    limits: &HttpLimits,
    found: &mut Vec<HttpInput>,
) -> Result<(), u16> {
    while !parser.is_empty() {
        let step = parser.next(limits).map_err(|refusal| refusal.status)?;
        if step != ParseStep::Request {
            break;
        }
        let (head, bytes, body) = parser.request().expect("the request is complete");
        let fields = head.fields(bytes).into_iter();
        found.push(HttpInput::Request {
            method: head.method(bytes).to_owned(),
            target: head.target(bytes).to_owned(),
            fields: fields
                .map(|(name, value)| (name.to_owned(), value.to_vec()))
                .collect(),
            body: body.bytes,
        });
        parser.forget();
    }
    Ok(())
}
