//! Verification of signed access tokens (JWT) with the keys of their issuer.
//!
//! Spec: RFC 7519; RFC 9068; RFC 8725.

mod claims;
mod discovery;
mod dpop;
#[cfg(fuzzing)]
pub mod fuzzing;
mod jwk;
mod keys;
mod known;
mod proof;
mod seen;

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Deserialize;
use serde::de::IgnoredAny;
use ureq::Proxy;

use self::claims::{Claims, Many, Parts};
use self::discovery::Way;
pub use self::dpop::Dpop;
use self::jwk::Key;
use self::keys::{KeyLookup, Keys, Source};
use self::known::{Good, Known, mark};
use super::denied::Denied;
use super::verifier::{Grant, LEEWAY, TokenVerifier, has_passed};
use crate::error::{Error, Result};
use crate::protocol::principal::{Principal, scope_set};
use crate::schema::JsonObject;
use crate::server::debug_fields::debug_fields;
use crate::transport::http::proxies::Proxies;

/// The maximum length of a token, in bytes.
const MAX_TOKEN: usize = 16 << 10;

/// A [`TokenVerifier`] for access tokens that are JWTs, as most authorization servers issue them.
///
/// A token is valid when a key of the issuer has signed it (`RS256` to `RS512`, `PS256` to `PS512`,
/// `ES256`, `ES384`, `EdDSA`). `iss` must be exactly the name of the issuer, and the time must be
/// between `nbf` and `exp`, with a tolerance of a minute. The principal is `sub`; the scopes are
/// those of `scope` or `scp`.
///
/// Issuers are compared exactly. RFC 9068, section 4, requires this for `iss`, and RFC 8414,
/// section 3.3, requires it for the issuer in metadata. So `https://login.example` and
/// `https://login.example/` are two issuers. Pass the issuer exactly as your authorization server
/// writes it in its tokens.
///
/// A token that is bound to a key of the client (`cnf.jkt`) is valid only with a proof of the key,
/// and only if the server accepts bound tokens
/// ([`ResourceServer::dpop`](super::ResourceServer::dpop)). Tokens that are bound in another way
/// are refused.
///
/// **Keys.** The issuer's keys are fetched at the first use and again after an hour. The keys are
/// also fetched when a token names an unknown key, and when a token names no key and no known key
/// has signed it. One request at a time fetches the keys, and waits for at most 5 s for each
/// document. Other requests that need the new keys wait for at most a second, and then get status
/// 503. Requests whose key is known are served meanwhile. If a fetch fails, the old keys are used
/// for up to a day. The next try is after [`min_interval`](Self::min_interval).
///
/// **Cache.** The signature of a token is checked at its first use, and again after new keys were
/// fetched. The times in a token are checked with each request. To make this cheap, the digests and
/// claims of the latest 512 to 1,024 tokens are cached, except claims longer than 4 KiB.
///
/// # Examples
///
/// ```
/// use mcplink::server::http::{HttpOptions, JwtVerifier, ResourceServer};
///
/// let issuer = "https://login.example";
/// let verifier = JwtVerifier::new(issuer);
/// let server = ResourceServer::new("https://files.example/mcp", [issuer], verifier)?;
/// let options = HttpOptions::new().authorization(server);
/// # Ok::<(), mcplink::Error>(())
/// ```
pub struct JwtVerifier {
    issuer: String,
    keys: Keys,
    known: Known,
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    typ: Option<String>,
    crit: Option<IgnoredAny>,
}

impl JwtVerifier {
    /// Creates a verifier that accepts the tokens of `issuer`. The issuer's metadata names the URL
    /// of the issuer's keys.
    pub fn new(issuer: impl Into<String>) -> Self {
        let issuer = issuer.into();
        let own = issuer.clone();
        let source = move |way: &Way| discovery::discover(&own, way);
        Self::with(issuer, Box::new(source))
    }

    /// Creates a verifier that accepts the tokens of `issuer`, whose keys are at `url`. The URL
    /// must be `https`, except on this machine.
    pub fn with_jwks_url(issuer: impl Into<String>, url: impl Into<String>) -> Self {
        let url = url.into();
        let source = move |way: &Way| discovery::fetch(&url, way);
        Self::with(issuer.into(), Box::new(source))
    }

    /// Creates a verifier that accepts the tokens of `issuer`. The issuer's keys come from the
    /// function `source`.
    ///
    /// `source` returns the text of the issuer's key set (RFC 7517), and is called repeatedly. This
    /// suits keys from a file, or another way of fetching.
    pub fn with_keys(
        issuer: impl Into<String>,
        source: impl Fn() -> Result<String> + Send + Sync + 'static,
    ) -> Self {
        Self::with(issuer.into(), Box::new(move |_| source()))
    }

    fn with(issuer: String, source: Source) -> Self {
        Self {
            issuer,
            keys: Keys::new(source),
            known: Known::default(),
        }
    }

    /// Sets the proxy through which metadata and keys are fetched: `http://`, `https://`,
    /// `socks4://`, `socks4a://`, `socks5://` or `socks5h://` with host and port. By default no
    /// proxy is used, even if the environment names proxies.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) when the URL can't be parsed.
    pub fn proxy(mut self, url: &str) -> Result<Self> {
        let proxy = Proxy::new(url).map_err(|_| {
            Error::invalid("the URL of the proxy can't be read (JwtVerifier::proxy)")
        })?;
        self.keys.way.proxy = Proxies::One(proxy);
        Ok(self)
    }

    /// Sets that metadata and keys are fetched through the proxies that environment variables name.
    ///
    /// The variables are `HTTPS_PROXY` for `https` URLs, `HTTP_PROXY` for `http` URLs and
    /// `ALL_PROXY` for both, except for the hosts in `NO_PROXY`. If a proxy URL can't be parsed,
    /// the fetch fails.
    pub fn proxy_from_environment(mut self) -> Self {
        self.keys.way.proxy = Proxies::Environment;
        self
    }

    /// Sets the certificate authorities that are trusted for connections to the issuer. They
    /// replace Mozilla's list. Repeated calls add authorities. `pem` is PEM text with one or more
    /// certificates; other PEM items are ignored.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) when there is no certificate, or one can't
    /// be parsed.
    pub fn root_certificates(mut self, pem: impl AsRef<[u8]>) -> Result<Self> {
        self.keys.way.roots.trust(pem.as_ref()).map_err(|why| {
            Error::invalid(format!(
                "the root certificates of the issuer {why} (JwtVerifier::root_certificates)"
            ))
        })?;
        Ok(self)
    }

    /// Sets the age after which the issuer's keys are fetched again. Defaults to 1 h.
    pub fn max_age(mut self, age: Duration) -> Self {
        self.keys.max_age = age;
        self
    }

    /// Sets the minimum time between two fetches of the issuer's keys, so that made-up tokens can't
    /// cause endless fetches. Defaults to 10 s.
    pub fn min_interval(mut self, interval: Duration) -> Self {
        self.keys.min_interval = interval;
        self
    }

    /// Returns all claims of a valid token. Use this in a verifier of your own that checks more
    /// claims.
    ///
    /// The audience (`aud`) is not checked here. Tokens that are bound to a key are refused, so
    /// that no bound token is accepted without a proof.
    ///
    /// # Errors
    ///
    /// [`Denied::invalid_token`] when the token is invalid, [`Denied::unavailable`] when the
    /// issuer's keys can't be fetched.
    pub fn claims(&self, token: &str) -> Result<JsonObject, Denied> {
        let good = self.check(token)?;
        if good.claims.cnf.is_some() {
            return Err(Denied::invalid_token("it is bound to a key"));
        }
        serde_json::from_slice(&good.text).map_err(|_| malformed())
    }

    fn check(&self, token: &str) -> Result<Arc<Good>, Denied> {
        if token.len() > MAX_TOKEN {
            return Err(malformed());
        }
        let mark = mark(token);
        let known = self.known.find(&mark);
        if let Some(good) = known.filter(|good| self.has_still(good)) {
            self.check_claims(&good.claims)?;
            return Ok(good);
        }
        let good = Arc::new(self.read(token)?);
        self.check_claims(&good.claims)?;
        self.known.note(mark, &good);
        Ok(good)
    }

    /// Returns whether the issuer's current keys are those with which the signature of a token was
    /// verified.
    fn has_still(&self, good: &Good) -> bool {
        match self.keys.find(good.key.as_deref()) {
            KeyLookup::Keys(keys) => Arc::ptr_eq(&keys, &good.keys),
            KeyLookup::Unknown | KeyLookup::Unavailable(_) => false,
        }
    }

    fn read(&self, token: &str) -> Result<Good, Denied> {
        let parts = Parts::of(token).ok_or_else(malformed)?;
        let header: Header = serde_json::from_slice(&parts.header).map_err(|_| malformed())?;
        let keys = self.check_signature(&header, parts.signed, &parts.signature)?;
        let claims = serde_json::from_slice(&parts.claims).map_err(|_| malformed())?;
        Ok(Good {
            key: header.kid,
            keys,
            claims,
            text: parts.claims,
        })
    }

    /// Verifies the signature of a token. Returns the key set that contains the signing key.
    fn check_signature(
        &self,
        header: &Header,
        signed: &[u8],
        signature: &[u8],
    ) -> Result<Arc<Vec<Key>>, Denied> {
        if !jwk::is_known(&header.alg) || header.crit.is_some() || !is_of_token(header) {
            return Err(Denied::invalid_token(
                "it is signed in a way that is not taken here",
            ));
        }
        let id = header.kid.as_deref();
        let keys = match self.keys.find(id) {
            KeyLookup::Keys(keys) => keys,
            KeyLookup::Unknown => {
                return Err(Denied::invalid_token("its key is none of the issuer's"));
            }
            KeyLookup::Unavailable(why) => return Err(Denied::unavailable(why)),
        };
        let is_named = |key: &&Key| id.is_none() || key.id.is_none() || key.id.as_deref() == id;
        let confirm = |keys: &[Key]| {
            let mut named = keys.iter().filter(is_named);
            named.any(|key| key.confirms(&header.alg, signed, signature))
        };
        if confirm(&keys) {
            return Ok(keys);
        }
        // If the token names no key, its key may be newer than the cached keys.
        let newer = id.is_none().then(|| self.keys.find_newer(&keys));
        let newer = newer.flatten().filter(|keys| confirm(keys));
        newer.ok_or_else(|| Denied::invalid_token("its signature is wrong"))
    }

    fn check_claims(&self, claims: &Claims) -> Result<(), Denied> {
        if claims.iss.as_deref() != Some(&self.issuer) {
            return Err(Denied::invalid_token("it is of another issuer"));
        }
        let Some(expiry) = claims.exp.and_then(time_of) else {
            return Err(Denied::invalid_token(
                "it does not say until when it is good",
            ));
        };
        if has_passed(expiry) {
            return Err(Denied::invalid_token("it has expired"));
        }
        let begins = claims.nbf.map(time_of);
        let is_early = begins.is_some_and(|begins| {
            begins.is_none_or(|begins| {
                begins
                    .duration_since(SystemTime::now())
                    .is_ok_and(|ahead| ahead > LEEWAY)
            })
        });
        if is_early {
            return Err(Denied::invalid_token("it is not good yet"));
        }
        Ok(())
    }
}

impl TokenVerifier for JwtVerifier {
    fn verify(&self, token: &str) -> Result<Grant, Denied> {
        let good = self.check(token)?;
        let claims = &good.claims;
        let name = claims.sub.as_deref().filter(|name| !name.is_empty());
        let Some(name) = name else {
            return Err(Denied::invalid_token("it does not say whose it is (sub)"));
        };
        let scopes = match (&claims.scope, &claims.scp) {
            (Many::None, scp) => scp,
            (scope, _) => scope,
        };
        let mut principal = Principal::new(name).scopes(scope_set(scopes.all()));
        if let Some(expiry) = claims.exp.and_then(time_of) {
            principal = principal.expires_at(expiry);
        }
        let grant = Grant::new(principal, claims.aud.all());
        match &claims.cnf {
            None => Ok(grant),
            Some(cnf) => Ok(grant.bound_to(thumbprint_in(cnf)?)),
        }
    }
}

/// Implements [`TokenVerifier`] for an `Arc`, so that several servers can share one verifier and
/// its cache.
impl TokenVerifier for Arc<JwtVerifier> {
    fn verify(&self, token: &str) -> Result<Grant, Denied> {
        (**self).verify(token)
    }
}

debug_fields!(JwtVerifier, issuer);

/// Returns whether a JWT header may belong to an access token. Other kinds of JWTs must be refused,
/// because an issuer may sign them with the same keys.
fn is_of_token(header: &Header) -> bool {
    header.typ.as_deref().is_none_or(|typ| {
        let typ = typ.to_ascii_lowercase();
        let typ = typ.strip_prefix("application/").unwrap_or(&typ);
        matches!(typ, "jwt" | "at+jwt")
    })
}

/// Returns the thumbprint of the key that a token is bound to (`jkt`; RFC 9449, section 6.1).
/// Refuses a token whose `cnf` has other members too, since the other members would not be checked.
fn thumbprint_in(cnf: &JsonObject) -> Result<&str, Denied> {
    let thumbprint = cnf.get("jkt").and_then(|value| value.as_str());
    thumbprint.filter(|_| cnf.len() == 1).ok_or_else(|| {
        Denied::invalid_token("it is bound to a key in a way that is not taken here (cnf)")
    })
}

/// Converts seconds since 1970 to a time.
fn time_of(seconds: f64) -> Option<SystemTime> {
    let since = Duration::try_from_secs_f64(seconds).ok()?;
    UNIX_EPOCH.checked_add(since)
}

fn malformed() -> Denied {
    Denied::invalid_token("it is no JWT of an access token")
}
