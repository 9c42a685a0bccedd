//! Percent-encoding, against the crate `percent-encoding`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mcplink::fuzzing::url;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// All bytes but the unreserved characters of RFC 3986.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let encoded = url::percent_encoded(text);
    assert_eq!(encoded, utf8_percent_encode(text, RESERVED).to_string());
    assert_eq!(url::percent_decoded(&encoded).as_deref(), Some(text));
    let decoded: Vec<u8> = percent_decode_str(text).collect();
    assert_eq!(url::percent_decoded_bytes(text), decoded);
    if let Some(strict) = url::percent_decoded(text) {
        assert_eq!(strict.as_bytes(), decoded);
    }
});
