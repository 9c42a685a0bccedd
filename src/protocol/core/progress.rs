//! The parser for progress notifications. A call may get very many progress notifications, so each
//! one is parsed in a single pass, without building a [`Message`](crate::jsonrpc::Message).

use super::super::call_channel::Progress;
use super::PROGRESS;
use crate::jsonrpc::raw_object::RawObject;
use crate::jsonrpc::{RequestId, find_params, short_number};
use crate::schema::tree;

/// The params of a progress notification.
#[derive(Default)]
pub(super) struct ProgressParams {
    token: Option<RequestId>,
    progress: Option<f64>,
    total: Option<f64>,
    message: Option<String>,
}

impl ProgressParams {
    /// Reads one member of the params. `value` is the JSON text of the member. Returns `None` if
    /// the value is invalid.
    fn read(&mut self, key: &[u8], value: &[u8]) -> Option<()> {
        match key {
            b"progressToken" => self.token = RequestId::from_json(str::from_utf8(value).ok()?),
            b"progress" => self.progress = Some(read_number(value)?),
            b"total" if value == b"null" => self.total = None,
            b"total" => self.total = Some(read_number(value)?),
            b"message" => self.message = tree::read(str::from_utf8(value).ok()?).ok()?,
            _ => {}
        }
        Some(())
    }

    fn into_progress(self) -> Option<(RequestId, Progress)> {
        let mut progress = Progress::new(self.progress?);
        (progress.total, progress.message) = (self.total, self.message);
        Some((self.token?, progress))
    }

    /// Parses a whole progress notification in its usual form. Returns `None` if the text has any
    /// other form. Then the generic parser decides whether the message is valid.
    pub(super) fn of_message(text: &[u8], max_depth: usize) -> Option<(RequestId, Progress)> {
        let mut params = Self::default();
        let read = |key, value| params.read(key, value);
        find_params(text, PROGRESS, max_depth, read)?;
        str::from_utf8(text).ok()?;
        params.into_progress()
    }

    /// Reads the params of a progress notification whose message is already parsed.
    pub(super) fn of_params(members: RawObject<'_>) -> Option<(RequestId, Progress)> {
        let mut params = Self::default();
        for (key, value) in members {
            params.read(key.as_bytes(), value.as_bytes())?;
        }
        params.into_progress()
    }
}

/// Parses a JSON number. Small integers, the usual case, are parsed fast.
fn read_number(text: &[u8]) -> Option<f64> {
    match short_number(text) {
        Some(count) if count < 1 << 53 => Some(count as f64),
        _ => serde_json::from_str(str::from_utf8(text).ok()?).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jsonrpc::{Message, variants};

    /// Checks that the one-pass parser returns the same params as the generic parser. Returns
    /// whether the one-pass parser accepted the text.
    fn check(text: &str) -> bool {
        let quick = ProgressParams::of_message(text.as_bytes(), 128);
        let Some(quick) = quick else {
            return false;
        };
        let message = Message::read(text.to_owned());
        let Ok(Message::Notification(notification)) = message else {
            panic!("{text} is {message:?}");
        };
        assert_eq!(notification.method(), PROGRESS, "{text}");
        let read = ProgressParams::of_params(notification.members());
        assert_eq!(Some(quick), read, "{text}");
        true
    }

    const USUAL: [&str; 5] = [
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":1,"total":100}}"#,
        r#"{"method":"notifications/progress","params":{"progress":0.5,"progressToken":"a\"b","message":"é\n"},"jsonrpc":"2.0"}"#,
        r#" { "jsonrpc" : "2.0" , "method" : "notifications/progress" , "params" : { "progressToken" : 7 , "progress" : -1e2 , "total" : null } } "#,
        r#"{"x":[{}],"jsonrpc":"2.0","method":"notifications/progress","params":{"_meta":{"y":{}},"progressToken":0,"progress":9007199254740993,"message":null}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progressToken":2,"progress":3,"progress":4}}"#,
    ];

    // M-PROG-B-09
    #[test]
    fn usual_notifications_are_read_in_one_pass() {
        for text in USUAL {
            assert!(check(text), "{text}");
        }
    }

    #[test]
    fn what_is_read_in_one_pass_is_read_of_the_message_too() {
        for text in USUAL {
            for changed in variants(text) {
                check(&changed);
            }
        }
    }

    #[test]
    fn what_is_no_usual_notification_is_left_to_others() {
        let usual = USUAL[0];
        for text in [
            usual.replace("2.0", "1.0"),
            usual.replace("\"jsonrpc\":\"2.0\",", ""),
            usual.replace("progress\"", "progres\""),
            usual.replace("/progress", "/progress2"),
            usual.replace("{\"jsonrpc", "{\"id\":1,\"jsonrpc"),
            usual.replace("}}", "},\"id\":1}"),
            usual.replace("}}", "},\"params\":{}}"),
            usual.replace("}}", "},\"result\":{}}"),
            usual
                .replace("\"params\":{", "\"params\":[{")
                .replace("}}", "}]}"),
            usual.replace("7", "null"),
            usual.replace("7", "1.5"),
            usual.replace("100", "\"100\""),
            usual.replace("100", "1,\"message\":5"),
            usual.replace("\"progressToken\":7,", ""),
            usual.replace("params", "parans"),
            format!("[{usual}]"),
            format!("{usual}{usual}"),
        ] {
            assert!(!check(&text), "{text}");
        }
        let mut text = usual.replace("100", "1,\"x\":\"?\"").into_bytes();
        assert!(ProgressParams::of_message(&text, 2).is_some());
        assert!(ProgressParams::of_message(&text, 1).is_none());
        let place = text
            .iter()
            .position(|byte| *byte == b'?')
            .expect("it is there");
        text[place] = 0xff;
        assert!(ProgressParams::of_message(&text, 2).is_none());
    }
}
