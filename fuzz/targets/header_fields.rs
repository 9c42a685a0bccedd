//! Encoded header fields and authentication challenges.
#![no_main]

use std::collections::BTreeSet;

use libfuzzer_sys::fuzz_target;
use mcplink::fuzzing::{auth, field};

fuzz_target!(|data: &[u8]| {
    if let Some(text) = field::decode(data) {
        // A value may be written in base64 without need, so only the text stays the same.
        let again = field::encode(&text);
        assert_eq!(field::decode(again.as_bytes()).as_deref(), Some(&*text));
    }
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let encoded = field::encode(text);
    assert!(
        encoded
            .bytes()
            .all(|byte| matches!(byte, b' '..=b'~' | b'\t'))
    );
    assert_eq!(field::decode(encoded.as_bytes()).as_deref(), Some(text));
    auth::demand(text.split('\n'));
    check_challenge(text);
});

/// What is written into a challenge is read out of it.
fn check_challenge(text: &str) {
    let mut lines = text.splitn(3, '\n');
    let mut next = || lines.next().unwrap_or_default();
    let (metadata, error, scopes) = (next(), next(), next());
    let quote = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
    let challenge = format!(
        "Negotiate YII=, Basic realm=\"a, Bearer b=c\",BEARER Error = \"{}\" ,\
         resource_metadata=\"{}\", scope=\"{}\"",
        quote(error),
        quote(metadata),
        quote(scopes)
    );
    let scopes: BTreeSet<String> = scopes.split_ascii_whitespace().map(str::to_owned).collect();
    let expected = (
        Some(metadata.to_owned()),
        Some(scopes.into_iter().collect()),
        Some(error.to_owned()),
        true,
    );
    assert_eq!(auth::demand(std::iter::once(&*challenge)), expected);
}
