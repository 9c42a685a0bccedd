//! A partial scanner: reads the id and the kind of a message that can't be parsed.
//!
//! The sender of a broken or too long message still waits for an answer. [`PartialScanner`] scans
//! any bytes, in pieces of any size and in constant memory. It records the `id` and the kind of
//! message, if the outermost object shows them.

use super::id::RequestId;

/// The maximum length of a stored `id`, in bytes. A longer id counts as unreadable.
const MAX_ID_BYTES: usize = 1024;
/// The maximum length of a stored key, in bytes. All keys of JSON-RPC messages are shorter.
const MAX_KEY_BYTES: usize = 8;

/// A scanner that extracts the id and the kind of a message from bytes that may not be valid JSON.
#[derive(Debug, Default)]
pub(crate) struct PartialScanner {
    depth: usize,
    in_string: bool,
    escaped: bool,
    position: Position,
    key: Vec<u8>,
    value: Vec<u8>,
    id: Option<Vec<u8>>,
    repeated_id: bool,
    has_method: bool,
    has_outcome: bool,
}

/// The part of the outermost object to which the next byte belongs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Position {
    #[default]
    Outside,
    BeforeKey,
    Key,
    AfterKey,
    Value,
}

impl PartialScanner {
    /// Scans a whole text.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let mut scanner = Self::default();
        scanner.push(bytes);
        scanner
    }

    /// Scans the next piece of the message.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.step(byte);
        }
    }

    fn step(&mut self, byte: u8) {
        if self.in_string {
            self.keep(byte);
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => {
                    self.in_string = false;
                    if self.depth == 1 && self.position == Position::Key {
                        self.position = Position::AfterKey;
                    }
                }
                _ => {}
            }
            return;
        }
        match byte {
            b'"' => {
                self.in_string = true;
                if self.depth == 1 && self.position == Position::BeforeKey {
                    self.position = Position::Key;
                    self.key.clear();
                } else {
                    self.keep(byte);
                }
            }
            b'{' | b'[' => {
                self.keep(byte);
                self.depth += 1;
                if self.depth == 1 && byte == b'{' {
                    self.position = Position::BeforeKey;
                }
            }
            b'}' | b']' => {
                if self.depth == 1 {
                    self.end_value();
                    self.position = Position::Outside;
                }
                self.depth = self.depth.saturating_sub(1);
                self.keep(byte);
            }
            b',' if self.depth == 1 => {
                self.end_value();
                self.position = Position::BeforeKey;
            }
            b':' if self.depth == 1 && self.position == Position::AfterKey => {
                self.begin_value();
            }
            _ => self.keep(byte),
        }
    }

    fn keep(&mut self, byte: u8) {
        match self.position {
            Position::Key if byte != b'"' && self.key.len() <= MAX_KEY_BYTES => self.key.push(byte),
            Position::Value if self.key == b"id" && self.value.len() <= MAX_ID_BYTES => {
                self.value.push(byte)
            }
            _ => {}
        }
    }

    fn begin_value(&mut self) {
        self.value.clear();
        self.position = Position::Value;
        match &*self.key {
            b"method" => self.has_method = true,
            b"result" | b"error" => self.has_outcome = true,
            _ => {}
        }
    }

    fn end_value(&mut self) {
        if self.position != Position::Value {
            return;
        }
        if self.key == b"id" {
            self.repeated_id |= self.id.is_some();
            self.id = Some(std::mem::take(&mut self.value));
        }
    }

    /// Returns the `id` of the outermost object, if the id is complete, valid and not repeated.
    pub(crate) fn id(&self) -> Option<RequestId> {
        let text = std::str::from_utf8(self.id.as_ref().filter(|_| !self.repeated_id)?).ok()?;
        RequestId::from_json(text.trim_ascii())
    }

    /// Whether the message looks like a response: it has `result` or `error`, and no `method`.
    pub(crate) fn looks_like_response(&self) -> bool {
        self.has_outcome && !self.has_method
    }

    /// Whether the message looks like a notification: it has a `method` and no `id`.
    pub(crate) fn looks_like_notification(&self) -> bool {
        self.has_method && self.id.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<&str>) {
        let id = expected.and_then(RequestId::from_json);
        assert_eq!(PartialScanner::of(text.as_bytes()).id(), id, "{text}");
        let mut bytewise = PartialScanner::default();
        for byte in text.as_bytes() {
            bytewise.push(std::slice::from_ref(byte));
        }
        assert_eq!(bytewise.id(), id, "byte by byte: {text}");
    }

    #[test]
    fn the_id_is_found_in_broken_messages() {
        check(
            r#"{"jsonrpc":"2.0","id":7,"method":"x","params":{"a":"#,
            Some("7"),
        );
        check(
            r#"{"params":{"id":1},"id" : "a\"b" ,"method":tru"#,
            Some(r#""a\"b""#),
        );
        check(r#"{"params":["}",{"id":3}],"id":-4}"#, Some("-4"));
        check(r#"{"id":7"#, None);
        check(r#"{"id":7,"id":8}"#, None);
        check(r#"{"id":null,"method":"x"}"#, None);
        check(r#"["id",5]"#, None);
        check("id: 5", None);
        check(r#"}}}{"id":9,"#, Some("9"));
    }

    #[test]
    fn requests_and_responses_are_told_apart() {
        assert!(PartialScanner::of(br#"{"id":7,"result":{"#).looks_like_response());
        assert!(!PartialScanner::of(br#"{"id":7,"params":{"result":{}}"#).looks_like_response());
        assert!(!PartialScanner::of(br#"{"id":7,"method":"x","result":{}}"#).looks_like_response());
    }
}
