//! Binary data inside JSON: base64 text, kept as it came and decoded on demand.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use crate::error::{Error, ErrorKind, Result};

/// Written with padding; read with or without it, since some peers leave it out.
const ENGINE: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

pub(super) fn encode(bytes: &[u8]) -> String {
    ENGINE.encode(bytes)
}

pub(super) fn decode(what: &str, text: &str) -> Result<Vec<u8>> {
    ENGINE
        .decode(text)
        .map_err(|error| Error::new(ErrorKind::Invalid, format!("{what} is not base64: {error}")))
}
