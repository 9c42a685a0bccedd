//! Servers that check signed tokens by themselves, with the keys of an issuer that is played here.

use std::io::Write as _;
use std::net::{SocketAddr, TcpListener};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, OnceLock, mpsc};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use mcplink::schema::Tool;
use mcplink::server::http::{HttpOptions, JwtVerifier, ResourceServer, TokenVerifier};
use mcplink::server::{Context, Server};
use mcplink::transport::http::{HttpLimits, HttpListener, ResponseHead};
use mcplink::{Error, ErrorKind};
use ring::rand::SystemRandom;
use ring::rsa::PublicKeyComponents;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair,
    KeyPair, RSA_PKCS1_SHA256, RSA_PKCS1_SHA384, RSA_PKCS1_SHA512, RSA_PSS_SHA256, RSA_PSS_SHA384,
    RSA_PSS_SHA512, RsaEncoding, RsaKeyPair,
};
use serde_json::{Value, json};

use crate::common::{Gate, LONG};
use crate::front::{Front, OTHER_ROOT, ROOT, SERVER};
use crate::listening::service;
use crate::proxied::socks_proxy;
use crate::stub::{Stub, asker};
use crate::web::{Web, field};

const RESOURCE: &str = "https://files.example/mcp";
const ISSUER: &str = "https://login.example/realm";

pub(crate) fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs()
}

pub(crate) fn text(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// A private key that is good for this test only.
pub(crate) enum Signer {
    P256(EcdsaKeyPair),
    P384(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
    Rsa(Box<RsaKeyPair>, &'static dyn RsaEncoding),
}

impl Signer {
    pub(crate) fn p256() -> Self {
        let random = SystemRandom::new();
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
        Self::P256(EcdsaKeyPair::from_pkcs8(algorithm, pkcs8.as_ref(), &random).unwrap())
    }

    pub(crate) fn p384() -> Self {
        let random = SystemRandom::new();
        let algorithm = &ECDSA_P384_SHA384_FIXED_SIGNING;
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
        Self::P384(EcdsaKeyPair::from_pkcs8(algorithm, pkcs8.as_ref(), &random).unwrap())
    }

    pub(crate) fn ed25519() -> Self {
        let pkcs8 = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        Self::Ed25519(Ed25519KeyPair::from_pkcs8(pkcs8.as_ref()).unwrap())
    }

    pub(crate) fn rsa(encoding: &'static dyn RsaEncoding) -> Self {
        let packed: String = include_str!("../data/jwt/rsa.pkcs8.base64")
            .split_ascii_whitespace()
            .collect();
        let der = STANDARD.decode(packed).unwrap();
        Self::Rsa(Box::new(RsaKeyPair::from_pkcs8(&der).unwrap()), encoding)
    }

    pub(crate) fn jwk(&self, id: &str) -> Value {
        let curve = |name: &str, point: &[u8]| {
            let (x, y) = point[1..].split_at((point.len() - 1) / 2);
            json!({"kty": "EC", "crv": name, "x": text(x), "y": text(y), "kid": id})
        };
        match self {
            Self::P256(pair) => curve("P-256", pair.public_key().as_ref()),
            Self::P384(pair) => curve("P-384", pair.public_key().as_ref()),
            Self::Ed25519(pair) => {
                let x = text(pair.public_key().as_ref());
                json!({"kty": "OKP", "crv": "Ed25519", "x": x, "kid": id, "use": "sig"})
            }
            Self::Rsa(pair, _) => {
                let parts = PublicKeyComponents::<Vec<u8>>::from(pair.public());
                json!({"kty": "RSA", "n": text(&parts.n), "e": text(&parts.e), "kid": id})
            }
        }
    }

    pub(crate) fn sign(&self, data: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match self {
            Self::P256(pair) | Self::P384(pair) => {
                pair.sign(&random, data).unwrap().as_ref().to_vec()
            }
            Self::Ed25519(pair) => pair.sign(data).as_ref().to_vec(),
            Self::Rsa(pair, encoding) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(*encoding, &random, data, &mut signature).unwrap();
                signature
            }
        }
    }

    pub(crate) fn token(&self, header: &Value, claims: &Value) -> String {
        self.token_of(&header.to_string(), &claims.to_string())
    }

    pub(crate) fn token_of(&self, header: &str, claims: &str) -> String {
        let signed = format!("{}.{}", text(header.as_bytes()), text(claims.as_bytes()));
        format!("{signed}.{}", text(&self.sign(signed.as_bytes())))
    }
}

fn key_set(keys: &[Value]) -> String {
    json!({ "keys": keys }).to_string()
}

/// What a good token says, with changes; `null` takes a claim away.
fn claims(changes: Value) -> Value {
    let mut claims = json!({
        "iss": ISSUER, "sub": "ada", "aud": RESOURCE, "exp": now() + 600, "nbf": now() - 5,
        "scope": "files:read files:write",
    });
    for (name, value) in changes.as_object().unwrap() {
        if value.is_null() {
            claims.as_object_mut().unwrap().remove(name);
        } else {
            claims[name] = value.clone();
        }
    }
    claims
}

fn refusal<T: std::fmt::Debug, E: std::fmt::Debug>(outcome: Result<T, E>) -> String {
    format!("{:?}", outcome.expect_err("refused"))
}

// M-AUTH-S-37, L-AUTH-S-48, E-EMA-S-30, E-WIF-S-10
#[test]
fn signatures_of_every_kind_are_checked() {
    let table: [(&str, Signer); 9] = [
        ("ES256", Signer::p256()),
        ("ES384", Signer::p384()),
        ("EdDSA", Signer::ed25519()),
        ("RS256", Signer::rsa(&RSA_PKCS1_SHA256)),
        ("RS384", Signer::rsa(&RSA_PKCS1_SHA384)),
        ("RS512", Signer::rsa(&RSA_PKCS1_SHA512)),
        ("PS256", Signer::rsa(&RSA_PSS_SHA256)),
        ("PS384", Signer::rsa(&RSA_PSS_SHA384)),
        ("PS512", Signer::rsa(&RSA_PSS_SHA512)),
    ];
    for (algorithm, signer) in &table {
        let keys = key_set(&[Signer::p256().jwk("other"), signer.jwk("k")]);
        let verifier = JwtVerifier::with_keys(ISSUER, move || Ok(keys.clone()));
        for header in [
            json!({"alg": algorithm, "kid": "k"}),
            json!({"alg": algorithm}),
        ] {
            let token = signer.token(&header, &claims(json!({})));
            let grant = verifier.verify(&token).expect(algorithm);
            assert_eq!(grant.principal().name(), "ada");
            assert_eq!(grant.audience(), [RESOURCE]);
            assert!(grant.principal().has_scope("files:write"));
            assert!(grant.principal().expiry().unwrap() > SystemTime::now());
            // One bit of it, anywhere.
            let bytes = token.as_bytes();
            for at in [1, bytes.len() / 2, bytes.len() - 40] {
                let mut other = bytes.to_vec();
                other[at] = if other[at] == b'A' { b'B' } else { b'A' };
                let other = String::from_utf8(other).unwrap();
                assert!(verifier.verify(&other).is_err(), "{algorithm} {at}");
            }
        }
        // The key does not change hands with the name of an algorithm.
        for (other, _) in table.iter().filter(|(other, _)| other != algorithm) {
            let token = signer.token(&json!({"alg": other, "kid": "k"}), &claims(json!({})));
            assert!(verifier.verify(&token).is_err(), "{algorithm} as {other}");
        }
    }
}

// M-AUTH-S-37, M-AUTH-S-40, E-DPOP-B-20, L-AUTH-S-51
#[test]
fn what_is_no_good_token_is_refused() {
    let signer = Signer::p256();
    let mut for_encryption = Signer::ed25519().jwk("enc");
    for_encryption["use"] = json!("enc");
    let mut bound = signer.jwk("bound");
    bound["alg"] = json!("ES384");
    let secret = json!({"kty": "oct", "k": text(b"secret"), "kid": "oct"});
    let odd = json!({"kty": 5});
    let keys = key_set(&[for_encryption, bound, secret, odd, signer.jwk("k")]);
    let verifier = JwtVerifier::with_keys(ISSUER, move || Ok(keys.clone()));
    let good = json!({"alg": "ES256", "kid": "k", "typ": "at+jwt"});
    let verify =
        |header: &Value, changes: Value| verifier.verify(&signer.token(header, &claims(changes)));
    verify(&good, json!({})).unwrap();
    for (changes, why) in [
        (json!({"exp": now() - 120}), "expired"),
        (json!({"exp": null}), "until when"),
        (json!({"exp": "soon"}), "no JWT"),
        (json!({"exp": -1}), "until when"),
        (json!({"nbf": now() + 120}), "not good yet"),
        (json!({"nbf": 1e300}), "not good yet"),
        (
            json!({"iss": "https://login.example/realm/"}),
            "another issuer",
        ),
        (json!({"iss": null}), "another issuer"),
        (json!({"sub": null}), "whose it is"),
        (json!({"sub": ""}), "whose it is"),
        (json!({"cnf": {}}), "not taken here (cnf)"),
        (json!({"cnf": {"jkt": 5}}), "not taken here (cnf)"),
        (json!({"cnf": {"x5t#S256": "x"}}), "not taken here (cnf)"),
        (
            json!({"cnf": {"jkt": "x", "x5t#S256": "x"}}),
            "not taken here (cnf)",
        ),
        (json!({"cnf": "x"}), "no JWT"),
    ] {
        let told = refusal(verify(&good, changes.clone()));
        assert!(
            told.contains("InvalidToken") && told.contains(why),
            "{changes}: {told}"
        );
    }
    for header in [
        json!({"alg": "none"}),
        json!({"alg": "HS256", "kid": "oct"}),
        json!({"alg": "ES256", "kid": "oct"}),
        json!({"alg": "ES256", "kid": "bound"}),
        json!({"alg": "EdDSA", "kid": "enc"}),
        json!({"alg": "ES256", "kid": "k", "crit": ["exp"]}),
        json!({"alg": "ES256", "kid": "k", "typ": "dpop+jwt"}),
        json!({"kid": "k"}),
    ] {
        let told = refusal(verify(&header, json!({})));
        assert!(told.contains("InvalidToken"), "{header}: {told}");
    }
    for changes in [
        json!({"exp": now() - 30}),
        json!({"exp": now() as f64 + 0.5}),
        json!({"nbf": now() + 30}),
        json!({"nbf": null}),
        json!({"aud": ["a", RESOURCE]}),
        json!({"more": {"deep": [1, 2]}}),
    ] {
        verify(&good, changes.clone()).unwrap_or_else(|why| panic!("{changes}: {why:?}"));
    }
    let scopes = |changes: Value| {
        let grant = verify(&good, changes).unwrap();
        let scopes = grant.principal().granted().unwrap().iter().cloned();
        scopes.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(scopes(json!({"scope": null, "scp": ["b", "a"]})), "a b");
    assert_eq!(scopes(json!({"scope": null, "scp": "b a"})), "a b");
    assert_eq!(scopes(json!({"scope": ["b", "a"]})), "a b");
    assert_eq!(scopes(json!({"scope": null})), "");
    let twice = signer.token_of(&good.to_string(), r#"{"iss":"a","iss":"b"}"#);
    for token in [
        "",
        ".",
        "..",
        "a.b",
        "a.b.c",
        "a.b.c.d",
        "e30.e30.",
        &twice,
        &"a".repeat(20_000),
    ] {
        assert!(
            refusal(verifier.verify(token)).contains("InvalidToken"),
            "{token}"
        );
    }
    let said = verifier
        .claims(&signer.token(&good, &claims(json!({"tenant": "t"}))))
        .unwrap();
    assert_eq!(said["tenant"], "t");
    // What is made of these has to know that they are bound.
    let bound = signer.token(&good, &claims(json!({"cnf": {"jkt": "x"}})));
    assert_eq!(verifier.verify(&bound).unwrap().key(), Some("x"));
    assert!(refusal(verifier.claims(&bound)).contains("bound to a key"));
}

/// A source that counts, and gives what it is told to.
#[derive(Clone, Default)]
struct Source {
    keys: Arc<Mutex<String>>,
    asked: Arc<AtomicUsize>,
    fails: Arc<AtomicBool>,
}

impl Source {
    fn of(keys: &[Value]) -> Self {
        let source = Self::default();
        *source.keys.lock().unwrap() = key_set(keys);
        source
    }

    fn verifier(&self) -> JwtVerifier {
        let source = self.clone();
        JwtVerifier::with_keys(ISSUER, move || {
            source.asked.fetch_add(1, Ordering::SeqCst);
            if source.fails.load(Ordering::SeqCst) {
                return Err(Error::new(ErrorKind::Io, "no network"));
            }
            Ok(source.keys.lock().unwrap().clone())
        })
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

#[test]
fn keys_are_fetched_once_and_again_when_a_token_names_a_new_one() {
    let (old, new) = (Signer::p256(), Signer::p256());
    let source = Source::of(&[old.jwk("old")]);
    let token = |signer: &Signer, id: &str| {
        signer.token(&json!({"alg": "ES256", "kid": id}), &claims(json!({})))
    };
    let verifier = source.verifier().min_interval(Duration::ZERO);
    assert_eq!(source.asked(), 0, "not before it is needed");
    for _ in 0..3 {
        verifier.verify(&token(&old, "old")).unwrap();
    }
    assert_eq!(source.asked(), 1);
    *source.keys.lock().unwrap() = key_set(&[old.jwk("old"), new.jwk("new")]);
    verifier.verify(&token(&new, "new")).unwrap();
    assert_eq!(source.asked(), 2);
    // Made-up names have nothing fetched while there is a pause.
    let verifier = source.verifier().min_interval(Duration::from_secs(3600));
    verifier.verify(&token(&old, "old")).unwrap();
    let before = source.asked();
    for number in 0..5 {
        let made_up = token(&old, &format!("made-up-{number}"));
        assert!(refusal(verifier.verify(&made_up)).contains("none of the issuer's"));
    }
    assert_eq!(source.asked(), before);
}

#[test]
fn a_token_that_names_no_key_is_good_with_a_new_one_too() {
    let (old, new) = (Signer::p256(), Signer::p256());
    let nameless = |signer: &Signer| {
        let mut jwk = signer.jwk("none");
        jwk.as_object_mut().unwrap().remove("kid");
        jwk
    };
    let token = |signer: &Signer| signer.token(&json!({"alg": "ES256"}), &claims(json!({})));
    for (first, next) in [
        (nameless(&old), nameless(&new)),
        (old.jwk("1"), new.jwk("1")),
    ] {
        let source = Source::of(&[first]);
        let verifier = source.verifier().min_interval(Duration::ZERO);
        verifier.verify(&token(&old)).unwrap();
        *source.keys.lock().unwrap() = key_set(&[next]);
        verifier.verify(&token(&new)).unwrap();
        assert_eq!(source.asked(), 2);
        let told = refusal(verifier.verify(&token(&old)));
        assert!(told.contains("signature"), "{told}");
    }
    // Made-up ones have them fetched no more often than others.
    let source = Source::of(&[nameless(&old)]);
    let verifier = source.verifier();
    for _ in 0..3 {
        let told = refusal(verifier.verify(&token(&new)));
        assert!(told.contains("signature"), "{told}");
    }
    verifier.verify(&token(&old)).unwrap();
    assert_eq!(source.asked(), 1);
}

/// A token that was good is looked at anew when the issuer's keys are others.
#[test]
fn what_a_key_signed_that_was_taken_back_is_good_no_more() {
    let (old, new) = (Signer::p256(), Signer::p256());
    for id in [Some("k"), None] {
        let source = Source::of(&[old.jwk("k")]);
        let verifier = source
            .verifier()
            .max_age(Duration::ZERO)
            .min_interval(Duration::ZERO);
        let mut header = json!({"alg": "ES256"});
        if let Some(id) = id {
            header["kid"] = id.into();
        }
        let token = old.token(&header, &claims(json!({})));
        for _ in 0..3 {
            verifier.verify(&token).unwrap();
        }
        *source.keys.lock().unwrap() = key_set(&[new.jwk("k")]);
        for _ in 0..3 {
            assert!(refusal(verifier.verify(&token)).contains("signature is wrong"));
        }
        *source.keys.lock().unwrap() = key_set(&[old.jwk("k")]);
        assert_eq!(verifier.verify(&token).unwrap().principal().name(), "ada");
        // Tokens that are nearly the same are others.
        let other = old.token(&header, &claims(json!({"sub": "eve"})));
        assert_eq!(verifier.verify(&other).unwrap().principal().name(), "eve");
        assert!(verifier.verify(&token[..token.len() - 1]).is_err());
    }
}

#[test]
fn without_its_issuer_a_server_goes_on_with_the_keys_that_it_has() {
    let signer = Signer::p256();
    let source = Source::of(&[signer.jwk("k")]);
    let token = signer.token(&json!({"alg": "ES256", "kid": "k"}), &claims(json!({})));
    let verifier = source
        .verifier()
        .max_age(Duration::ZERO)
        .min_interval(Duration::ZERO);
    source.fails.store(true, Ordering::SeqCst);
    let told = refusal(verifier.verify(&token));
    assert!(
        told.contains("Unavailable") && told.contains("no network"),
        "{told}"
    );
    source.fails.store(false, Ordering::SeqCst);
    verifier.verify(&token).unwrap();
    source.fails.store(true, Ordering::SeqCst);
    verifier.verify(&token).unwrap();
    assert_eq!(source.asked(), 3, "it was tried");
    *source.keys.lock().unwrap() = "not a key set".to_owned();
    source.fails.store(false, Ordering::SeqCst);
    verifier.verify(&token).unwrap();
}

#[test]
fn keys_without_ids_are_used_without_their_issuer_too() {
    let signer = Signer::p256();
    let mut jwk = signer.jwk("none");
    jwk.as_object_mut().unwrap().remove("kid");
    let source = Source::of(&[jwk]);
    let verifier = source.verifier().min_interval(Duration::ZERO);
    let token = signer.token(&json!({"alg": "ES256", "kid": "k"}), &claims(json!({})));
    verifier.verify(&token).unwrap();
    source.fails.store(true, Ordering::SeqCst);
    verifier.verify(&token).unwrap();
}

#[test]
fn many_requests_at_once_fetch_the_keys_once() {
    let signer = Signer::p256();
    let source = Source::of(&[signer.jwk("k")]);
    let verifier = Arc::new(source.verifier());
    let token = signer.token(&json!({"alg": "ES256", "kid": "k"}), &claims(json!({})));
    let start = Arc::new(Barrier::new(8));
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let (verifier, token, start) =
                (Arc::clone(&verifier), token.clone(), Arc::clone(&start));
            thread::spawn(move || {
                start.wait();
                verifier.verify(&token).map(drop)
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap().unwrap();
    }
    assert_eq!(source.asked(), 1);
}

/// What each of several requests at once is told, whose tokens name keys that are not there.
fn made_up_at_once(verifier: &Arc<JwtVerifier>, signer: &Signer) -> mpsc::Receiver<String> {
    let (tell, told) = mpsc::channel();
    for number in 0..8 {
        let header = json!({"alg": "ES256", "kid": format!("made-up-{number}")});
        let token = signer.token(&header, &claims(json!({})));
        let (verifier, tell) = (Arc::clone(verifier), tell.clone());
        thread::spawn(move || {
            _ = tell.send(refusal(verifier.verify(&token)));
        });
    }
    told
}

#[test]
fn keys_that_do_not_come_hold_up_one_request_only() {
    let signer = Signer::p256();
    let token = signer.token(&json!({"alg": "ES256", "kid": "k"}), &claims(json!({})));
    let (keys, gate) = (key_set(&[signer.jwk("k")]), Gate::default());
    let (asked, at_gate) = (Arc::new(AtomicUsize::new(0)), gate.clone());
    let counter = Arc::clone(&asked);
    let verifier = JwtVerifier::with_keys(ISSUER, move || {
        if counter.fetch_add(1, Ordering::SeqCst) > 0 {
            at_gate.pass();
        }
        Ok(keys.clone())
    });
    let verifier = Arc::new(verifier.min_interval(Duration::ZERO));
    verifier.verify(&token).unwrap();
    let told = made_up_at_once(&verifier, &signer);
    // The one that fetches is at the gate still.
    for _ in 0..7 {
        let said = told.recv_timeout(LONG).unwrap();
        assert!(
            said.contains("Unavailable") && said.contains("not come yet"),
            "{said}"
        );
        verifier.verify(&token).unwrap();
    }
    assert_eq!(asked.load(Ordering::SeqCst), 2);
    // From now on nobody waits at all.
    let late = signer.token(&json!({"alg": "ES256", "kid": "late"}), &claims(json!({})));
    assert!(refusal(verifier.verify(&late)).contains("Unavailable"));
    gate.open();
    let said = told.recv_timeout(LONG).unwrap();
    assert!(said.contains("none of the issuer's"), "{said}");
}

#[test]
fn an_issuer_that_never_answers_is_left_alone_for_a_while() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let issuer = format!("http://{}/realm", silent.local_addr().unwrap());
    let signer = Signer::p256();
    let verifier = Arc::new(JwtVerifier::new(issuer));
    let told = made_up_at_once(&verifier, &signer);
    // One waits for the issuer, and the others do not wait until it is given up.
    for _ in 0..7 {
        let said = told.recv_timeout(LONG).unwrap();
        assert!(said.contains("not come yet"), "{said}");
    }
    let said = told.recv_timeout(LONG).unwrap();
    assert!(said.contains("timeout"), "{said}");
    let again = made_up_at_once(&verifier, &signer);
    for _ in 0..8 {
        let said = again.recv_timeout(LONG).unwrap();
        assert!(
            said.contains("Unavailable") && said.contains("timeout"),
            "{said}"
        );
    }
    silent.set_nonblocking(true).unwrap();
    assert_eq!(silent.incoming().map_while(Result::ok).count(), 1);
}

#[test]
fn a_source_that_panics_stops_nobody() {
    let signer = Signer::p256();
    let source = Source::of(&[signer.jwk("k")]);
    let (inner, first) = (source.clone(), AtomicBool::new(true));
    let verifier = JwtVerifier::with_keys(ISSUER, move || {
        assert!(
            !first.swap(false, Ordering::SeqCst),
            "the first time it panics"
        );
        Ok(inner.keys.lock().unwrap().clone())
    });
    let verifier = Arc::new(verifier.min_interval(Duration::ZERO));
    let token = signer.token(&json!({"alg": "ES256", "kid": "k"}), &claims(json!({})));
    let (same, its) = (Arc::clone(&verifier), token.clone());
    assert!(
        thread::spawn(move || same.verify(&its).is_ok())
            .join()
            .is_err()
    );
    verifier.verify(&token).unwrap();
}

/// An issuer with metadata at one of its places, over sockets. `{own}` is its own address.
fn issuer(places: &'static [(&'static str, &'static str)], keys: String) -> HttpListener {
    HttpListener::bind(
        "127.0.0.1:0",
        service(move |request, mut response| {
            let own = request.local.unwrap();
            let found = places.iter().find(|(place, _)| *place == request.target);
            let (status, text) = match found {
                Some((_, "{keys}")) => (200, keys.clone()),
                Some((_, text)) => (200, text.replace("{own}", &own.to_string())),
                None => (404, String::new()),
            };
            // The server may have given up.
            _ = response.respond(&ResponseHead::new(status), text.as_bytes());
        }),
        HttpLimits::default(),
    )
    .unwrap()
}

// M-AUTH-S-37, M-AUTH-S-38, M-AUTH-S-42, M-ASEC-S-29, L-AUTH-S-80, L-AUTH-S-81
#[test]
fn tokens_of_an_issuer_are_good_for_its_servers() {
    let signer = Signer::rsa(&RSA_PKCS1_SHA256);
    let listener = issuer(
        &[
            (
                "/realm/.well-known/openid-configuration",
                r#"{"issuer":"http://{own}/realm","jwks_uri":"http://{own}/keys"}"#,
            ),
            ("/keys", "{keys}"),
        ],
        key_set(&[signer.jwk("k")]),
    );
    let issuer = format!("http://{}/realm", listener.local_addr().unwrap());
    let server = Server::builder("s", "1")
        .tool_with(Tool::new("who"), |_: Value, context: &Context| {
            context.principal().unwrap_or_default().to_owned()
        })
        .build()
        .unwrap();
    let guarded = ResourceServer::new(RESOURCE, [&*issuer], JwtVerifier::new(&*issuer)).unwrap();
    let web = Web::with(&server, HttpOptions::new().authorization(guarded));
    let call = |changes: Value| {
        let mut said = claims(json!({"iss": issuer}));
        for (name, value) in changes.as_object().unwrap() {
            said[name] = value.clone();
        }
        let token = signer.token(&json!({"alg": "RS256", "kid": "k"}), &said);
        let authorization = format!("Bearer {token}");
        let fields = [("Authorization", &*authorization)];
        web.modern_as("tools/call", json!({"name": "who"}), json!({}), &fields)
    };
    assert_eq!(call(json!({})).result()["content"][0]["text"], "ada");
    for changes in [
        json!({"aud": "https://other.example/mcp"}),
        json!({"aud": []}),
        json!({"aud": null}),
        json!({"exp": now() - 120}),
        json!({"iss": ISSUER}),
    ] {
        let answer = call(changes.clone());
        let head = answer.head();
        assert_eq!(head.status, 401, "{changes}");
        let challenge = field(&head, "WWW-Authenticate").unwrap();
        assert!(
            challenge.starts_with(r#"Bearer error="invalid_token""#),
            "{challenge}"
        );
    }
}

// RFC 9068, section 4, and RFC 8414, section 3.3: an issuer is compared to the letter, unlike by a client that logs in (M-ASD-C-13).
#[test]
fn a_slash_at_the_end_makes_another_issuer() {
    let signer = Signer::p256();
    let keys = key_set(&[signer.jwk("k")]);
    let verify = |issuer: &str, said: &str| {
        let keys = keys.clone();
        let verifier = JwtVerifier::with_keys(issuer, move || Ok(keys.clone()));
        let header = json!({"alg": "ES256", "kid": "k"});
        verifier.verify(&signer.token(&header, &claims(json!({"iss": said}))))
    };
    const BARE: &str = "https://login.example";
    const ROOTED: &str = "https://login.example/";
    for issuer in [BARE, ROOTED] {
        verify(issuer, issuer).unwrap();
    }
    for (issuer, said) in [(BARE, ROOTED), (ROOTED, BARE)] {
        let told = refusal(verify(issuer, said));
        assert!(
            told.contains("InvalidToken") && told.contains("another issuer"),
            "{told}"
        );
    }

    // Metadata of the other one is none of this one's: its keys are not used.
    const METADATA: &str = r#"{"issuer":"http://{own}/","jwks_uri":"http://{own}/keys"}"#;
    let listener = issuer(
        &[
            ("/.well-known/oauth-authorization-server", METADATA),
            ("/.well-known/openid-configuration", METADATA),
            ("/keys", "{keys}"),
        ],
        key_set(&[signer.jwk("k")]),
    );
    let bare = format!("http://{}", listener.local_addr().unwrap());
    let verify = |issuer: &str| {
        let header = json!({"alg": "ES256", "kid": "k"});
        let token = signer.token(&header, &claims(json!({"iss": issuer})));
        JwtVerifier::new(issuer).verify(&token)
    };
    verify(&format!("{bare}/")).unwrap();
    let told = refusal(verify(&bare));
    assert!(
        told.contains("Unavailable") && told.contains("another issuer"),
        "{told}"
    );
}

#[test]
fn metadata_that_is_not_the_issuers_gives_no_keys() {
    const LONG_ONE: &str = "/long/.well-known/openid-configuration";
    let signer = Signer::p256();
    let listener = issuer(
        &[
            (
                "/.well-known/oauth-authorization-server/other",
                r#"{"issuer":"http://honest.example","jwks_uri":"http://{own}/keys"}"#,
            ),
            (
                "/.well-known/oauth-authorization-server/none",
                r#"{"issuer":"http://{own}/none"}"#,
            ),
            (
                "/.well-known/oauth-authorization-server/plain",
                r#"{"issuer":"http://{own}/plain","jwks_uri":"http://192.0.2.1/keys"}"#,
            ),
            (
                "/.well-known/oauth-authorization-server/cut",
                r#"{"issuer":"#,
            ),
            (LONG_ONE, "{keys}"),
        ],
        " ".repeat(300 << 10),
    );
    for (path, why) in [
        ("other", "another issuer"),
        ("none", "names no keys"),
        ("plain", "no https URL"),
        ("cut", "can't be read"),
        ("missing", "404"),
        ("long", "exceeds"),
    ] {
        let issuer = format!("http://{}/{path}", listener.local_addr().unwrap());
        let token = signer.token(&json!({"alg": "ES256"}), &claims(json!({"iss": issuer})));
        let told = refusal(JwtVerifier::new(issuer).verify(&token));
        assert!(
            told.contains("Unavailable") && told.contains(why),
            "{path}: {told}"
        );
    }
    let url = format!("http://{}/keys", listener.local_addr().unwrap());
    let token = signer.token(&json!({"alg": "ES256"}), &claims(json!({})));
    let told = refusal(JwtVerifier::with_jwks_url(ISSUER, url).verify(&token));
    assert!(told.contains("404"), "{told}");
}

#[test]
fn keys_are_found_by_whichever_metadata_names_them() {
    const METADATA: &str = r#"{"issuer":"http://{own}","jwks_uri":"http://{own}/keys"}"#;
    const OPENID: (&str, &str) = ("/.well-known/openid-configuration", METADATA);
    const OAUTH: &str = "/.well-known/oauth-authorization-server";
    const KEYS: (&str, &str) = ("/keys", "{keys}");
    for places in [
        // A page for people, as some sites have one at every address.
        &[
            (OAUTH, "<!doctype html><title>Welcome</title>"),
            OPENID,
            KEYS,
        ],
        // It need not name them (RFC 8414, section 2).
        &[(OAUTH, r#"{"issuer":"http://{own}"}"#), OPENID, KEYS],
    ] {
        let signer = Signer::p256();
        let listener = issuer(places, key_set(&[signer.jwk("k")]));
        let issuer = format!("http://{}", listener.local_addr().unwrap());
        let header = json!({"alg": "ES256", "kid": "k"});
        let token = signer.token(&header, &claims(json!({"iss": issuer})));
        JwtVerifier::new(issuer).verify(&token).unwrap();
    }
}

#[test]
fn an_issuer_that_stops_in_the_middle_is_not_asked_at_another_place() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let issuer = format!("http://{}/realm", listener.local_addr().unwrap());
    let (tell, asked) = mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let begun = b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{";
            stream.write_all(begun).unwrap();
            // It stays open.
            _ = tell.send(stream);
        }
    });
    let signer = Signer::p256();
    let token = signer.token(&json!({"alg": "ES256", "kid": "k"}), &claims(json!({})));
    let told = refusal(JwtVerifier::new(issuer).verify(&token));
    assert!(told.contains("timeout"), "{told}");
    assert_eq!(asked.try_iter().count(), 1);
}

#[test]
fn keys_are_fetched_from_whom_a_named_authority_vouches_for() {
    const METADATA: &str = r#"{"issuer":"{own}","jwks_uri":"{own}/keys"}"#;
    let signer = Signer::p256();
    let (keys, own) = (key_set(&[signer.jwk("k")]), Arc::new(OnceLock::new()));
    let its: Arc<OnceLock<String>> = Arc::clone(&own);
    let listener = HttpListener::bind(
        "127.0.0.1:0",
        service(move |request, mut response| {
            let text = match request.target {
                "/keys" => keys.clone(),
                _ => METADATA.replace("{own}", its.get().unwrap()),
            };
            response
                .respond(&ResponseHead::new(200), text.as_bytes())
                .unwrap();
        }),
        HttpLimits::default(),
    )
    .unwrap();
    let front = Front::new(SERVER, listener.local_addr().unwrap());
    let issuer = own.get_or_init(|| front.url().replace("/mcp", ""));
    let header = json!({"alg": "ES256", "kid": "k"});
    let token = signer.token(&header, &claims(json!({"iss": issuer})));
    let by_metadata = || JwtVerifier::new(issuer);
    let at_url = || JwtVerifier::with_jwks_url(issuer, format!("{issuer}/keys"));
    for verifier in [by_metadata(), at_url()] {
        let told = refusal(verifier.verify(&token));
        assert!(
            told.contains("Unavailable") && told.contains("JwtVerifier::root_certificates"),
            "{told}"
        );
    }
    let verifier = at_url().root_certificates(OTHER_ROOT).unwrap();
    let told = refusal(verifier.verify(&token));
    assert!(told.contains("JwtVerifier::root_certificates"), "{told}");
    assert_eq!(front.handed_on(), 0);
    for verifier in [by_metadata(), at_url()] {
        let verifier = verifier.root_certificates(OTHER_ROOT).unwrap();
        let verifier = verifier.root_certificates(ROOT).unwrap();
        verifier.verify(&token).unwrap();
    }
    for broken in ["", "-----BEGIN CERTIFICATE-----\n!"] {
        let error = by_metadata().root_certificates(broken).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().contains("PEM"), "{error}");
    }
}

#[test]
fn keys_are_fetched_through_the_proxy_that_is_set() {
    const METADATA: &str = r#"{"issuer":"http://{own}","jwks_uri":"http://{own}/keys"}"#;
    let signer = Signer::p256();
    let places = &[
        ("/.well-known/oauth-authorization-server", METADATA),
        ("/keys", "{keys}"),
    ];
    let listener = issuer(places, key_set(&[signer.jwk("k")]));
    let issuer = format!("http://{}", listener.local_addr().unwrap());
    let (proxy, asked) = socks_proxy("socks5h", |host, port| {
        SocketAddr::new(host.parse().unwrap(), port)
    });
    let header = json!({"alg": "ES256", "kid": "k"});
    let token = signer.token(&header, &claims(json!({"iss": issuer})));
    let verifier = JwtVerifier::new(issuer).proxy(&proxy).unwrap();
    verifier.verify(&token).unwrap();
    let ports: Vec<u16> = asked.try_iter().map(|(_, port)| port).collect();
    assert_eq!(ports, [listener.local_addr().unwrap().port(); 2]);
    let error = JwtVerifier::new(ISSUER).proxy("nonsense://").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
}

#[test]
#[ignore = "needs an environment of its own: run by the test below"]
fn with_a_proxy_in_the_environment() {
    let signer = Signer::p256();
    let listener = issuer(&[("/keys", "{keys}")], key_set(&[signer.jwk("k")]));
    let url = format!("http://{}/keys", listener.local_addr().unwrap());
    let header = json!({"alg": "ES256", "kid": "k"});
    let token = signer.token(&header, &claims(json!({})));
    let verifier = || JwtVerifier::with_jwks_url(ISSUER, &*url);
    verifier().verify(&token).unwrap();
    let asking = verifier().proxy_from_environment();
    let told = refusal(asking.verify(&token));
    assert!(told.contains("Unavailable"), "{told}");
    // As clients do.
    let server = Stub::modern(|_, _| {});
    server.connect().close();
    let http = server.http().proxy_from_environment();
    asker().connect(http).unwrap_err();
}

#[test]
fn a_proxy_in_the_environment_counts_for_those_that_ask_for_it() {
    let mut test = Command::new(std::env::current_exe().unwrap());
    test.args([
        "--exact",
        "auth_jwt::with_a_proxy_in_the_environment",
        "--ignored",
    ]);
    for name in ["ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY"] {
        test.env_remove(name).env_remove(name.to_ascii_lowercase());
    }
    // Nobody listens there.
    let ended = test.env("ALL_PROXY", "socks5h://127.0.0.1:1").output();
    let ended = ended.unwrap();
    let said = String::from_utf8_lossy(&ended.stdout);
    assert!(
        ended.status.success() && said.contains("1 passed"),
        "{said}"
    );
}
