//! Binary data in JSON: base64 text, kept as received and decoded on demand.

use std::collections::TryReserveError;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::general_purpose::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::{DecodeError, decoded_len_estimate};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::member::Form;
use super::misfit;
use crate::error::{Error, ErrorKind, Result};
use crate::fallible;

/// The base64 engine. It encodes with padding, and decodes with or without padding, since some
/// peers omit the padding.
const ENGINE: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

pub(super) fn encode(bytes: &[u8]) -> String {
    ENGINE.encode(bytes)
}

pub(super) fn decode(what: &str, text: &str) -> Result<Vec<u8>> {
    decode_text(text).map_err(|error| match error {
        Undecoded::Invalid(error) => {
            let text = format!("{what} is not base64: {error}");
            Error::new(ErrorKind::Invalid, text)
        }
        Undecoded::NoMemory => fallible::no_memory(format_args!(
            "{what}, which is base64 of {} characters",
            text.len()
        )),
    })
}

/// The reason why a text could not be decoded as base64.
#[derive(Debug)]
pub(crate) enum Undecoded {
    Invalid(DecodeError),
    NoMemory,
}

impl From<TryReserveError> for Undecoded {
    fn from(_: TryReserveError) -> Self {
        Self::NoMemory
    }
}

impl From<DecodeError> for Undecoded {
    fn from(error: DecodeError) -> Self {
        Self::Invalid(error)
    }
}

/// Decodes base64 (RFC 4648, section 4). Also accepts line breaks, as in MIME, and the base64
/// alphabet for URLs and file names (section 5).
pub(crate) fn decode_text(text: &str) -> std::result::Result<Vec<u8>, Undecoded> {
    // One byte more, since the C interface appends a zero byte.
    let mut bytes = fallible::with_capacity(decoded_len_estimate(text.len()) + 1)?;
    let Err(error) = ENGINE.decode_vec(text, &mut bytes) else {
        return Ok(bytes);
    };
    let mut plain = fallible::with_capacity(text.len())?;
    let kept = text.bytes().filter(|byte| !byte.is_ascii_whitespace());
    plain.extend(kept.map(|byte| match byte {
        b'-' => b'+',
        b'_' => b'/',
        other => other,
    }));
    bytes.clear();
    match ENGINE.decode_vec(plain, &mut bytes) {
        Ok(()) => Ok(bytes),
        Err(_) => Err(error.into()),
    }
}

/// The serialization of a member that is base64 text. The text is validated only in strict reading.
pub(super) struct Base64;

impl Form<String> for Base64 {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<String, D::Error> {
        let text = String::deserialize(deserializer)?;
        if misfit::is_strict() {
            let decoded = STANDARD.decode(&text);
            decoded.map_err(|error| D::Error::custom(format_args!("no base64: {error}")))?;
        }
        Ok(text)
    }
}

impl Form<Option<String>> for Base64 {
    fn read<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> std::result::Result<Option<String>, D::Error> {
        <Self as Form<String>>::read(deserializer).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_the_alphabet_of_urls_are_decoded() {
        fn check(text: &str, expected: &[u8]) {
            assert_eq!(decode("it", text).expect(text), expected, "{text:?}");
        }
        let bytes = [0xfb, 0xef, 0xff, 0x3e];
        for text in [
            "++//Pg==",
            "++//Pg",
            "--__Pg==",
            "--__Pg",
            "++//\r\nPg==\r\n",
            "--__\nPg",
            " +\t+ //Pg=\n=",
            "-+_/Pg",
        ] {
            check(text, &bytes);
        }
        check("", b"");
        check("\n", b"");
        for text in ["*", "++//P", "++//Pg=a", "++//P\u{a0}g", "=", "P=g="] {
            assert!(decode("it", text).is_err(), "{text:?}");
        }
    }
}
