//! SHA-256 digests of skill files.
//!
//! Spec: Extensions, Skills, "Resources"; FIPS 180-4.

use std::fmt;
use std::str::FromStr;

use orion::hazardous::hash::sha2::sha256::Sha256;

use crate::error::{Error, ErrorKind, Excerpt};

/// The text before the hexadecimal digits of a digest.
const PREFIX: &str = "sha256:";

/// The SHA-256 digest of the raw bytes of a file.
///
/// Its text form, which messages contain, is `sha256:` and 64 lower-case hexadecimal digits.
///
/// # Examples
///
/// ```
/// use mcplink::skills::Digest;
///
/// let digest = Digest::of(b"");
/// let text = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
/// assert_eq!(digest.to_string(), text);
/// assert_eq!(text.parse::<Digest>()?, digest);
/// # Ok::<(), mcplink::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Returns the digest of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        let mut writer = DigestWriter::new();
        writer.update(bytes);
        writer.finish().0
    }

    /// Returns the 32 bytes of the digest.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(PREFIX)?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Implements `FromStr`: parses the text form of a digest. Fails with [`ErrorKind::Invalid`] for
/// any other text, and also for upper-case digits.
impl FromStr for Digest {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        parse(text).map(Self).ok_or_else(|| {
            let text = format!(
                "the digest \"{}\" is not {PREFIX} and 64 lower-case hexadecimal digits",
                Excerpt(text)
            );
            Error::new(ErrorKind::Invalid, text)
        })
    }
}

fn parse(text: &str) -> Option<[u8; 32]> {
    let digits = text.strip_prefix(PREFIX)?.as_bytes();
    if digits.len() != 64 {
        return None;
    }
    let value = |digit: u8| match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    };
    let mut bytes = [0; 32];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = value(pair[0])? << 4 | value(pair[1])?;
    }
    Some(bytes)
}

/// A writer that computes the digest and the size of a file that is read in pieces.
///
/// # Examples
///
/// ```
/// use mcplink::skills::{Digest, DigestWriter};
///
/// let mut writer = DigestWriter::new();
/// writer.update(b"ab");
/// writer.update(b"c");
/// assert_eq!(writer.finish(), (Digest::of(b"abc"), 3));
/// ```
#[derive(Debug)]
pub struct DigestWriter {
    hash: Sha256,
    size: u64,
}

impl Default for DigestWriter {
    fn default() -> Self {
        Self::new()
    }
}

impl DigestWriter {
    /// Creates a writer to which no bytes were added yet.
    pub fn new() -> Self {
        Self {
            hash: Sha256::new(),
            size: 0,
        }
    }

    /// Adds the next bytes of the file.
    pub fn update(&mut self, bytes: &[u8]) {
        let added = self.hash.update(bytes);
        added.expect("files are shorter than 2 EiB, and the writer is not finished");
        self.size += bytes.len() as u64;
    }

    /// Returns the digest of all added bytes, and the number of these bytes.
    pub fn finish(mut self) -> (Digest, u64) {
        let digest = self.hash.finalize().expect("the writer finishes once");
        let mut bytes = [0; 32];
        bytes.copy_from_slice(digest.as_ref());
        (Digest(bytes), self.size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // E-SKILL-S-36
    #[test]
    fn digests_are_those_of_the_standard() {
        fn check(bytes: &[u8], digits: &str) {
            let digest = Digest::of(bytes);
            assert_eq!(digest.to_string(), format!("sha256:{digits}"));
            assert_eq!(digest.to_string().parse::<Digest>().expect("ours"), digest);
        }
        check(
            b"",
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        );
        check(
            b"\0",
            "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        );
        check(
            b"abc",
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        );
        check(
            &[b'a'; 1_000_000],
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
        );
    }

    #[test]
    fn only_the_form_of_messages_is_a_digest() {
        let good = Digest::of(b"").to_string();
        for bad in [
            String::new(),
            good.to_uppercase(),
            good.replace("sha256:", "SHA256:"),
            good.replace("sha256:", ""),
            good.replace("sha256:", "sha512:"),
            good.replace('e', "E"),
            good.replace('e', "g"),
            good[..good.len() - 1].to_owned(),
            format!("{good}0"),
            format!(" {good}"),
            format!("{good}\n"),
            format!("{}é", &good[..good.len() - 2]),
        ] {
            let error = bad.parse::<Digest>().expect_err(&bad);
            assert_eq!(error.kind(), ErrorKind::Invalid, "{bad}");
        }
    }
}
