//! Sealed `requestState`: the state of a call, which the client sends back with its answers. The
//! client can neither read nor change the state.
//!
//! ```text
//!  base64url( version 1 │ key id 4 │ nonce 24 │ sealed( expiry 8 │ content ) + tag 16 )
//! ```
//!
//! State is sealed with XChaCha20-Poly1305 and a random nonce. The server, method, target,
//! arguments and principal of the request are authenticated together with the state. So the state
//! can be opened only for an equal request.
//!
//! Spec: Base Protocol, Patterns, "Multi Round-Trip Requests" (2026-07-28).

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use orion::hazardous::aead::xchacha20poly1305::{Nonce, SecretKey, XChaCha20Poly1305};

use crate::error::{Error, ErrorKind, Result};
use crate::skills::Digest;
use crate::transport::sys::random;

const VERSION: u8 = 1;
const KEY_ID: usize = 4;
const NONCE: usize = 24;
const TAG: usize = 16;
const EXPIRY: usize = 8;
const HEAD: usize = 1 + KEY_ID + NONCE;

/// A secret key that encrypts and authenticates the state of calls while clients answer input
/// requests. Replicas that serve the same clients must share their keys.
///
/// # Examples
///
/// ```
/// use mcplink::server::{Server, StateKey};
///
/// // The first key seals states. Every key opens states, so the key can be changed.
/// # let (new, old) = ([1; 32], [2; 32]);
/// let server = Server::builder("shop", "1.0")
///     .state_keys(&[StateKey::new(new), StateKey::new(old)])
///     .build()?;
/// # Ok::<(), mcplink::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct StateKey([u8; 32]);

impl StateKey {
    /// Creates a key from 32 secret bytes. The bytes must come from a cryptographic random source,
    /// as in [`random`](Self::random).
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Creates a random key.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`] when the system's random source fails.
    pub fn random() -> Result<Self> {
        let mut bytes = [0; 32];
        random::fill(&mut bytes)?;
        Ok(Self(bytes))
    }

    /// Returns the id of the key: the beginning of its hash. The id does not reveal the key.
    fn id(&self) -> [u8; KEY_ID] {
        let digest = Digest::of(&self.0);
        *digest.as_bytes().first_chunk().expect("it has 32 bytes")
    }

    fn secret(&self) -> SecretKey {
        SecretKey::try_from(&self.0[..]).expect("the key is as long as it has to be")
    }
}

impl fmt::Debug for StateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StateKey")
    }
}

/// The decrypted form of a sealed state.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Opened {
    pub(super) content: Vec<u8>,
    /// The unique id of the state. It consists of the id of the key and the nonce.
    pub(super) id: String,
    /// The expiry of the state, in milliseconds since 1970.
    pub(super) expiry: u64,
}

/// The reason why a sealed state was refused. The reason is only logged for the host. The client
/// gets the same text for all reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    Malformed,
    UnknownKey,
    /// The state was altered, or made for another request, server or principal.
    NotGenuine,
    Expired,
    /// The state was used before, and the server accepts each state only once.
    Used,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed => "it is not one of this library's",
            Self::UnknownKey => "its key is not in the ring (any more)",
            Self::NotGenuine => "it was altered, or made for another request, server or principal",
            Self::Expired => "it has expired",
            Self::Used => "it was presented before",
        })
    }
}

/// The state keys of a server, the newest first. The newest key seals states. Every key can open
/// states.
#[derive(Clone, Debug)]
pub(super) struct KeyRing(Vec<StateKey>);

impl KeyRing {
    /// Creates a key ring. Returns `None` when there are no keys.
    pub(super) fn new(keys: Vec<StateKey>) -> Option<Self> {
        (!keys.is_empty()).then_some(Self(keys))
    }

    /// Seals `content` for the request that `binding` describes. `expiry` is in milliseconds since
    /// 1970.
    pub(super) fn seal(&self, content: &[u8], binding: &[u8], expiry: u64) -> Result<String> {
        let sealed = self.seal_bytes(&[&expiry.to_be_bytes(), content].concat(), binding)?;
        Ok(URL_SAFE_NO_PAD.encode(sealed))
    }

    /// Seals bytes together with `binding`.
    pub(super) fn seal_bytes(&self, plain: &[u8], binding: &[u8]) -> Result<Vec<u8>> {
        let key = &self.0[0];
        let mut nonce = [0; NONCE];
        random::fill(&mut nonce)?;
        let mut sealed = vec![0; HEAD + plain.len() + TAG];
        sealed[0] = VERSION;
        sealed[1..=KEY_ID].copy_from_slice(&key.id());
        sealed[1 + KEY_ID..HEAD].copy_from_slice(&nonce);
        let nonce = Nonce::try_from(&nonce[..]).map_err(|_| unsealable())?;
        XChaCha20Poly1305::seal(
            &key.secret(),
            &nonce,
            plain,
            Some(binding),
            &mut sealed[HEAD..],
        )
        .map_err(|_| unsealable())?;
        Ok(sealed)
    }

    /// Opens a state that was sealed with an equal binding. `now` is in milliseconds since 1970.
    pub(super) fn open(&self, state: &str, binding: &[u8], now: u64) -> Result<Opened, Refused> {
        let sealed = URL_SAFE_NO_PAD
            .decode(state)
            .map_err(|_| Refused::Malformed)?;
        let mut plain = self.open_bytes(&sealed, binding)?;
        let expiry = plain.first_chunk().ok_or(Refused::Malformed)?;
        let expiry = u64::from_be_bytes(*expiry);
        if now >= expiry {
            return Err(Refused::Expired);
        }
        Ok(Opened {
            content: plain.split_off(EXPIRY),
            id: URL_SAFE_NO_PAD.encode(&sealed[1 + KEY_ID..HEAD]),
            expiry,
        })
    }

    /// Opens bytes that [`seal_bytes`](Self::seal_bytes) sealed with an equal binding.
    pub(super) fn open_bytes(&self, sealed: &[u8], binding: &[u8]) -> Result<Vec<u8>, Refused> {
        if sealed.len() < HEAD + TAG || sealed[0] != VERSION {
            return Err(Refused::Malformed);
        }
        let mut keys = self.0.iter();
        let key = keys.find(|key| sealed[1..=KEY_ID] == key.id());
        let key = key.ok_or(Refused::UnknownKey)?;
        let nonce = Nonce::try_from(&sealed[1 + KEY_ID..HEAD]).map_err(|_| Refused::Malformed)?;
        let mut plain = vec![0; sealed.len() - HEAD - TAG];
        XChaCha20Poly1305::open(
            &key.secret(),
            &nonce,
            &sealed[HEAD..],
            Some(binding),
            &mut plain,
        )
        .map_err(|_| Refused::NotGenuine)?;
        Ok(plain)
    }
}

fn unsealable() -> Error {
    Error::new(
        ErrorKind::Limit,
        "the state of the call is too large to be sealed",
    )
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn ring(keys: &[u8]) -> KeyRing {
        KeyRing::new(keys.iter().map(|&key| StateKey::new([key; 32])).collect()).expect("keys")
    }

    // Seen in other SDKs: a `requestState` can be forged, or replayed elsewhere.
    // M-MRTR-S-09, M-MRTR-S-10
    #[test]
    fn a_state_that_was_altered_in_any_bit_is_refused() {
        let state = ring(&[1])
            .seal(b"content", b"binding", 100)
            .expect("sealed");
        let opened = ring(&[1]).open(&state, b"binding", 99).expect("opened");
        assert_eq!((&*opened.content, opened.expiry), (&b"content"[..], 100));
        assert_eq!(opened.id.len(), 32);
        let sealed = URL_SAFE_NO_PAD.decode(&state).expect("base64");
        for bit in 0..sealed.len() * 8 {
            let mut altered = sealed.clone();
            altered[bit / 8] ^= 1 << (bit % 8);
            let altered = URL_SAFE_NO_PAD.encode(altered);
            assert!(
                ring(&[1]).open(&altered, b"binding", 99).is_err(),
                "bit {bit}"
            );
        }
        for short in 0..state.len() {
            assert!(
                ring(&[1]).open(&state[..short], b"binding", 99).is_err(),
                "{short} characters"
            );
        }
    }

    // Seen in other SDKs: a `requestState` can be forged, or replayed elsewhere.
    // M-MRTR-S-11, M-MRTR-S-12, M-MRTR-S-13
    #[test]
    fn a_state_is_good_for_its_time_its_request_and_its_keys() {
        let state = ring(&[1])
            .seal(b"content", b"binding", 100)
            .expect("sealed");
        let open = |keys: &[u8], binding: &[u8], now| ring(keys).open(&state, binding, now);
        assert_eq!(open(&[1], b"binding", 100), Err(Refused::Expired));
        assert_eq!(open(&[1], b"another", 99), Err(Refused::NotGenuine));
        assert_eq!(open(&[2], b"binding", 99), Err(Refused::UnknownKey));
        assert!(
            open(&[2, 1], b"binding", 99).is_ok(),
            "the previous key of the ring"
        );
        assert!(KeyRing::new(Vec::new()).is_none());
    }

    // Seen in other SDKs: clients can read the state of a server.
    #[test]
    fn the_content_can_not_be_read_and_never_looks_the_same() {
        let seal = || {
            ring(&[1])
                .seal(b"a secret answer", b"", 100)
                .expect("sealed")
        };
        let (one, other) = (seal(), seal());
        assert_ne!(one, other);
        let bytes = URL_SAFE_NO_PAD.decode(&one).expect("base64");
        assert!(!bytes.windows(6).any(|window| window == b"secret"));
        assert_ne!(
            StateKey::random().expect("random"),
            StateKey::random().expect("random")
        );
    }
}
