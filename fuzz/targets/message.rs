//! Messages and their members, against `serde_json`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mcplink::fuzzing::jsonrpc;
use mcplink::jsonrpc::{
    Message, Parsed, RequestId, write_error, write_notification, write_request, write_result,
};
use mcplink_fuzz::{Members, choice};
use serde_json::Value;
use serde_json::value::RawValue;

fuzz_target!(|data: &[u8]| {
    let (first, data) = choice(data);
    let max_depth = usize::from(first) % 80;
    let strict = Parsed::read_strictly(data.to_vec(), max_depth);
    let lenient = Parsed::read(data.to_vec(), max_depth);
    if let Ok(text) = std::str::from_utf8(data) {
        jsonrpc::check_scanner(text, max_depth);
        jsonrpc::members(text);
    }
    if let Parsed::Single(Ok(message)) = &lenient {
        check_rewritten(message);
    }
    match (strict, lenient) {
        (Parsed::Single(Ok(strict)), Parsed::Single(Ok(lenient))) => {
            assert_eq!(show(&strict), show(&lenient));
            check(&strict, data, max_depth);
        }
        (Parsed::Single(Ok(_)), _) => panic!("lenient reading refuses more than strict reading"),
        (Parsed::Single(Err(_)), _) => assert!(!is_plain_request(data, max_depth)),
        (Parsed::Batch(strict), Parsed::Batch(lenient)) => {
            let members: Vec<&RawValue> = serde_json::from_slice(data).expect("a batch is JSON");
            assert_eq!(
                (strict.len(), lenient.len()),
                (members.len(), members.len())
            );
            for (message, text) in strict.iter().zip(members) {
                if let Ok(message) = message {
                    check(message, text.get().as_bytes(), max_depth);
                }
            }
        }
        (Parsed::Batch(_), _) => panic!("lenient reading refuses more than strict reading"),
    }
});

/// The parts of a message, for comparison.
fn show(message: &Message) -> (Option<String>, String, String) {
    match message {
        Message::Request(it) => (
            Some(it.id().to_string()),
            it.method().into(),
            it.params().into(),
        ),
        Message::Notification(it) => (None, it.method().into(), it.params().into()),
        Message::Response(it) => {
            let outcome = it.outcome();
            let text = outcome.map_or_else(|error| format!("{error:?}"), str::to_owned);
            (it.id().map(RequestId::to_string), "a response".into(), text)
        }
    }
}

fn depth(text: &[u8]) -> usize {
    let (mut depth, mut deepest, mut in_string, mut escaped) = (0usize, 0, false, false);
    for byte in text {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => depth += 1,
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

/// Checks a message against what `serde_json` finds in its text.
fn check(message: &Message, text: &[u8], max_depth: usize) {
    assert!(depth(text) <= max_depth);
    let Members(members) = serde_json::from_slice(text).expect("a message is a JSON object");
    let get = |name: &str| {
        let mut found = members.iter().filter(|(key, _)| key == name);
        let value = found.next().map(|(_, value)| value.get());
        assert!(found.next().is_none(), "{name} is repeated");
        value
    };
    assert_eq!(get("jsonrpc"), Some("\"2.0\""));
    let id = get("id").filter(|id| *id != "null");
    let method =
        || -> String { serde_json::from_str(get("method").expect("a method")).expect("a string") };
    let params = get("params").unwrap_or("{}");
    match message {
        Message::Request(request) => {
            assert_eq!(
                Some(&*request.id().to_string()),
                id.map(respelled).as_deref()
            );
            assert_eq!((request.method(), request.params()), (&*method(), params));
        }
        Message::Notification(it) => {
            assert_eq!((it.method(), it.params()), (&*method(), params));
            assert!(id.is_none());
        }
        Message::Response(response) => {
            let read = response.id().map(RequestId::to_string);
            assert_eq!(read, id.map(respelled));
            match response.outcome() {
                Ok(result) => assert_eq!(Some(result), get("result")),
                Err(_) => assert!(get("error").is_some()),
            }
        }
    }
    assert!(params.starts_with('{'));
    let Members(expected) = serde_json::from_str(params).expect("params are an object");
    let found = jsonrpc::members(params);
    let expected = expected.iter().map(|(name, value)| (&**name, value.get()));
    assert!(expected.eq(found.iter().map(|(name, value)| (&**name, *value))));
}

/// An id as it is written: strings may have other escapes, numbers are unchanged.
fn respelled(id: &str) -> String {
    match serde_json::from_str::<String>(id) {
        Ok(text) => Value::from(text).to_string(),
        Err(_) => id.to_owned(),
    }
}

/// Whether a text is a request that every implementation has to read.
fn is_plain_request(text: &[u8], max_depth: usize) -> bool {
    let Ok(Members(members)) = serde_json::from_slice(text) else {
        return false;
    };
    let mut names: Vec<&str> = members.iter().map(|(name, _)| &**name).collect();
    names.sort_unstable();
    if names != ["id", "jsonrpc", "method", "params"] || depth(text) > max_depth {
        return false;
    }
    members
        .iter()
        .all(|(name, value)| match (&**name, value.get()) {
            ("jsonrpc", version) => version == "\"2.0\"",
            ("id", id) => serde_json::from_str::<i64>(id).is_ok(),
            ("method", method) => serde_json::from_str::<String>(method).is_ok(),
            (_, params) => params.starts_with('{'),
        })
}

/// Writes a message anew, and checks that it is read as before.
fn check_rewritten(message: &Message) {
    let raw = |text: &str| RawValue::from_string(text.to_owned()).expect("it was read as JSON");
    let written = match message {
        Message::Request(it) => write_request(it.id(), it.method(), &raw(it.params())),
        Message::Notification(it) => write_notification(it.method(), &raw(it.params())),
        Message::Response(it) => match (it.outcome(), it.id()) {
            (Ok(result), Some(id)) => write_result(id, &raw(result)),
            (Ok(_), None) => panic!("a result has an id"),
            (Err(error), id) => Ok(write_error(id, error)),
        },
    };
    let written = written.expect("it can be written");
    match Parsed::read(written, usize::MAX) {
        Parsed::Single(Ok(again)) => assert_eq!(show(message), show(&again)),
        other => panic!("{other:?}"),
    }
}
