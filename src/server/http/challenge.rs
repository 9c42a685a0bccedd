//! The responses to denied requests: the HTTP status and the challenge for the client.
//!
//! This module also decides the HTTP status of JSON-RPC errors, for legacy and modern requests.
//!
//! Spec: Base Protocol, Authorization, "Error Handling" (2025-03-26 and later); RFC 6750, section
//! 3; RFC 9449, section 7.1.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use super::denied::{BEARER, DPOP, Denied, Why};
use super::options::Access;
use super::refusal::{Refusal, json_head};
use super::resource_server::ResourceServer;
use crate::error::ErrorCode;
use crate::protocol::Answer;
use crate::server::error_map::missing_scopes;
use crate::sync::Mutex;
use crate::transport::http::ResponseHead;

/// A factory for the responses to denied requests. The responses have the challenges of the
/// configured authentication.
pub(super) struct Challenger(Access);

impl Challenger {
    pub(super) fn new(access: Access) -> Self {
        Self(access)
    }

    pub(super) fn refusal(&self, denied: Denied) -> Refusal {
        let challenged = |status, text: &str, challenge| {
            Refusal::text(status, text).header("WWW-Authenticate", challenge)
        };
        match denied.0 {
            Why::NoToken => {
                let scheme = self.schemes()[0];
                let text =
                    format!("an access token is missing: send it as Authorization: {scheme}");
                challenged(401, &text, self.challenge(None, None))
            }
            Why::Proof(why) => {
                let error = ("invalid_dpop_proof", Some(&*why));
                let text = format!("the proof of the token's key is not good: {why}");
                challenged(401, &text, self.challenge_of(DPOP, Some(error), None))
            }
            Why::Nonce(nonce) => {
                let text = "the proof of the token's key has to have the nonce that comes with this answer";
                let challenge = self.challenge_of(DPOP, Some(("use_dpop_nonce", Some(text))), None);
                challenged(401, text, challenge).header("DPoP-Nonce", nonce)
            }
            Why::Malformed(why) => {
                let challenge = self.challenge(Some(("invalid_request", Some(&why))), None);
                challenged(400, &why, challenge)
            }
            Why::InvalidToken(why) => {
                let challenge = self.challenge(Some(("invalid_token", Some(&why))), None);
                challenged(
                    401,
                    &format!("the access token is not good: {why}"),
                    challenge,
                )
            }
            Why::Scopes(scopes) => {
                let error = missing_scopes(&scopes);
                Refusal::new(403, &error)
                    .header("WWW-Authenticate", self.insufficient_scope(&scopes))
            }
            Why::Challenge(challenge) => {
                challenged(401, "the request is not authorized", challenge)
            }
            Why::Forbidden => Refusal::text(403, "the request is not authorized"),
            Why::Unavailable(_) => {
                let text = "access can't be checked at the moment; try again later";
                Refusal::text(503, text).header("Retry-After", "5")
            }
        }
    }

    fn insufficient_scope(&self, scopes: &BTreeSet<String>) -> String {
        self.challenge(Some(("insufficient_scope", None)), Some(scopes))
    }

    fn server(&self) -> Option<&ResourceServer> {
        match &self.0 {
            Access::Tokens(server) => Some(server),
            _ => None,
        }
    }

    /// Returns the accepted authentication schemes, the preferred one first.
    fn schemes(&self) -> &'static [&'static str] {
        match self.server().and_then(ResourceServer::proofs) {
            Some(proofs) if proofs.is_required() => &[DPOP],
            Some(_) => &[BEARER, DPOP],
            None => &[BEARER],
        }
    }

    /// Returns the value of `WWW-Authenticate`: a challenge for each accepted scheme.
    fn challenge(
        &self,
        error: Option<(&str, Option<&str>)>,
        scopes: Option<&BTreeSet<String>>,
    ) -> String {
        let schemes = self.schemes().iter();
        let all: Vec<String> = schemes
            .map(|scheme| self.challenge_of(scheme, error, scopes))
            .collect();
        all.join(", ")
    }

    /// Returns the challenge for one scheme. The challenge lists the given scopes and the scopes
    /// that every request needs.
    fn challenge_of(
        &self,
        scheme: &str,
        error: Option<(&str, Option<&str>)>,
        scopes: Option<&BTreeSet<String>>,
    ) -> String {
        let mut challenge = scheme.to_owned();
        let mut add = |name: &str, value: &str| {
            let comma = if challenge.contains('=') { "," } else { "" };
            // Writing to a string can't fail.
            _ = write!(challenge, "{comma} {name}=\"{}\"", quotable(value));
        };
        if let Some((error, description)) = error {
            add("error", error);
            if let Some(description) = description {
                add("error_description", description);
            }
        }
        let server = self.server();
        let general = server.map(|server| server.required()).into_iter().flatten();
        let all: BTreeSet<&str> = general
            .chain(scopes.into_iter().flatten())
            .map(String::as_str)
            .collect();
        if !all.is_empty() {
            let all: Vec<&str> = all.into_iter().collect();
            add("scope", &all.join(" "));
        }
        if let Some(server) = server {
            add("resource_metadata", server.metadata_url());
        }
        if let (DPOP, Some(proofs)) = (scheme, server.and_then(ResourceServer::proofs)) {
            add("algs", &proofs.algorithms().join(" "));
        }
        challenge
    }
}

/// Removes the characters that are not allowed in a quoted value of `WWW-Authenticate` (RFC 6750,
/// section 3).
fn quotable(text: &str) -> String {
    let allowed = |c: &char| matches!(c, ' '..='~') && !matches!(c, '"' | '\\');
    text.chars().filter(allowed).collect()
}

/// A handle that chooses the response head for the answer to one request. The reason of a refusal
/// is recorded first, and is used when the answer is known.
pub(super) struct Demand {
    challenger: Arc<Challenger>,
    era: Era,
    /// The recorded reason of a refusal. `None` while there is none, as for most requests.
    note: Mutex<Option<Box<Note>>>,
}

/// The era of a request: legacy (revisions up to 2025-11-25) or modern. The era decides the HTTP
/// status of errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Era {
    Legacy,
    Modern,
}

/// The recorded reason why a request is refused. The reason decides the response head.
enum Note {
    /// The scopes that the request needs, of which the client lacks at least one.
    Scopes(BTreeSet<String>),
    /// A guard of the host refused the request with a protocol error.
    OfGuard,
}

impl Demand {
    pub(super) fn new(challenger: &Arc<Challenger>, era: Era) -> Self {
        Self {
            challenger: Arc::clone(challenger),
            era,
            note: Mutex::default(),
        }
    }

    pub(super) fn note_scopes(&self, scopes: &BTreeSet<String>) {
        *self.note.lock() = Some(Box::new(Note::Scopes(scopes.clone())));
    }

    pub(super) fn note_guard(&self) {
        *self.note.lock() = Some(Box::new(Note::OfGuard));
    }

    /// Returns the response head for an answer that is a single message.
    pub(super) fn head(&self, answer: Answer) -> ResponseHead {
        if answer == Answer::Result {
            return json_head(200);
        }
        match (self.note.lock().as_deref(), answer) {
            (Some(Note::Scopes(scopes)), _) => {
                let challenge = self.challenger.insufficient_scope(scopes);
                json_head(403).header("WWW-Authenticate", challenge)
            }
            (Some(Note::OfGuard), Answer::Refused(code)) => {
                json_head(self.era.status(Answer::Failed(code)))
            }
            _ => json_head(self.era.status(answer)),
        }
    }
}

impl Era {
    /// Returns the HTTP status of an answer.
    ///
    /// In the legacy era, an answer to a parsed request has status 200, even if the answer is an
    /// error. In the modern era, some errors of this library have status 400 or 404. Of the errors
    /// of handlers, only a missing client capability has another status than 200.
    ///
    /// Spec: Transports, "Streamable HTTP" (2026-07-28).
    // M-HTTP-S-24, M-HTTP-S-33, M-META-S-14, AMB-05
    fn status(self, answer: Answer) -> u16 {
        let code = match answer {
            Answer::Result => return 200,
            Answer::Failed(code) | Answer::Refused(code) => code,
        };
        let is_refused = matches!(answer, Answer::Refused(_));
        match code {
            _ if self == Self::Legacy => 200,
            ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY => 400,
            ErrorCode::METHOD_NOT_FOUND if is_refused => 404,
            ErrorCode::PARSE_ERROR
            | ErrorCode::INVALID_REQUEST
            | ErrorCode::HEADER_MISMATCH
            | ErrorCode::UNSUPPORTED_PROTOCOL_VERSION
                if is_refused =>
            {
                400
            }
            _ => 200,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::principal::scope_set;

    // The name of a scope, or a verifier's reason, must not end the quotes or the line.
    #[test]
    fn challenges_hold_only_what_may_stand_in_them() {
        let challenger = Challenger::new(Access::Open);
        let scopes = scope_set(["b a", "a\"x\\", "c\r\nEvil: yes", "ü"]);
        assert_eq!(
            challenger.insufficient_scope(&scopes),
            r#"Bearer error="insufficient_scope", scope="Evil: a ax b c yes ""#
        );
        assert_eq!(challenger.challenge(None, None), "Bearer");
    }
}
