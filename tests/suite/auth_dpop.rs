//! Servers that take tokens bound to a key of the client: what has to come with one, and what is refused.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use mcplink::ErrorKind;
use mcplink::schema::{ProtocolVersion, Tool};
use mcplink::server::http::{Denied, Dpop, Grant, HttpOptions, ResourceServer};
use mcplink::server::{Context, Primitive, Principal, Server, StateKey};
use ring::digest::{SHA256, digest};
use ring::signature::{
    RSA_PKCS1_SHA256, RSA_PKCS1_SHA384, RSA_PKCS1_SHA512, RSA_PSS_SHA256, RSA_PSS_SHA384,
    RSA_PSS_SHA512,
};
use serde_json::{Value, json};

use crate::auth_jwt::{Signer, now, text};
use crate::web::{Answer, Web, field, initialize, modern};

const RESOURCE: &str = "https://files.example/mcp";
const ISSUER: &str = "https://login.example";
const METADATA: &str = "https://files.example/.well-known/oauth-protected-resource/mcp";
const ALGORITHMS: &str = "ES256 ES384 EdDSA Ed25519 PS256 PS384 PS512 RS256 RS384 RS512";

fn hash(data: &str) -> String {
    text(digest(&SHA256, data.as_bytes()).as_ref())
}

/// The thumbprint of a key (RFC 7638).
fn thumbprint(jwk: &Value) -> String {
    let names: &[&str] = match jwk["kty"].as_str().unwrap() {
        "EC" => &["crv", "kty", "x", "y"],
        "OKP" => &["crv", "kty", "x"],
        _ => &["e", "kty", "n"],
    };
    let members = names.iter().map(|name| format!("\"{name}\":{}", jwk[name]));
    hash(&format!("{{{}}}", members.collect::<Vec<_>>().join(",")))
}

/// `bound~THUMBPRINT`: a token of ada's for this server that is bound to a key; `foreign~…` is one for another server, `free` is not bound.
/// `bound~THUMBPRINT~bob` is one of bob's.
fn verify(token: &str) -> Result<Grant, Denied> {
    let (kind, key) = token.split_once('~').unwrap_or((token, ""));
    let (key, name) = key.split_once('~').unwrap_or((key, "ada"));
    let audience = match kind {
        "foreign" => "https://other.example/mcp",
        _ => RESOURCE,
    };
    let grant = Grant::new(Principal::new(name).scopes(["read"]), [audience]);
    Ok(match kind {
        "free" => grant,
        _ => grant.bound_to(key),
    })
}

fn server() -> Server {
    Server::builder("files", "1")
        .tool_with(Tool::new("who"), |_: Value, context: &Context| {
            context.principal().unwrap_or_default().to_owned()
        })
        .tool_with(Tool::new("write"), |_: Value, _: &Context| "written")
        .require_scopes(Primitive::Tool("write"), ["write"])
        .build()
        .unwrap()
}

/// A server that remembers so many proofs.
pub(crate) fn guarded(max_proofs: usize) -> Web {
    Web::with(&server(), options(Dpop::new().max_proofs(max_proofs)))
}

fn options(dpop: Dpop) -> HttpOptions {
    let guarded = ResourceServer::new(RESOURCE, [ISSUER], verify).unwrap();
    HttpOptions::new().authorization(guarded.dpop(dpop))
}

/// A client with a key.
pub(crate) struct Holder {
    signer: Signer,
    algorithm: &'static str,
    token: String,
}

impl Holder {
    fn new() -> Self {
        Self::with("ES256", Signer::p256())
    }

    /// A client whose token is of this principal.
    pub(crate) fn of(name: &str) -> Self {
        let mut holder = Self::new();
        holder.token = format!("{}~{name}", holder.token);
        holder
    }

    fn with(algorithm: &'static str, signer: Signer) -> Self {
        let token = format!("bound~{}", thumbprint(&signer.jwk("k")));
        Self {
            signer,
            algorithm,
            token,
        }
    }

    fn jwk(&self) -> Value {
        let mut jwk = self.signer.jwk("k");
        jwk.as_object_mut().unwrap().remove("kid");
        jwk
    }

    /// A proof with changes; `null` takes a member away.
    pub(crate) fn proof(&self, header: Value, claims: Value) -> String {
        let mut good = [
            json!({ "typ": "dpop+jwt", "alg": self.algorithm, "jwk": self.jwk() }),
            json!({
                "jti": unique(), "htm": "POST", "htu": RESOURCE, "iat": now(), "ath": hash(&self.token),
            }),
        ];
        for (part, changes) in good.iter_mut().zip([header, claims]) {
            for (name, value) in changes.as_object().unwrap() {
                match value {
                    Value::Null => drop(part.as_object_mut().unwrap().remove(name)),
                    value => part[name] = value.clone(),
                }
            }
        }
        self.signer.token(&good[0], &good[1])
    }

    fn good(&self) -> String {
        self.proof(json!({}), json!({}))
    }

    pub(crate) fn call(&self, web: &Web, proof: &str) -> Answer {
        call(web, &format!("DPoP {}", self.token), proof)
    }
}

/// Tells one proof from the next.
fn unique() -> String {
    let mut bytes = [0; 16];
    ring::rand::SecureRandom::fill(&ring::rand::SystemRandom::new(), &mut bytes).unwrap();
    text(&bytes)
}

fn call(web: &Web, authorization: &str, proof: &str) -> Answer {
    call_tool(web, "who", authorization, proof)
}

fn call_tool(web: &Web, name: &str, authorization: &str, proof: &str) -> Answer {
    let fields = [("Authorization", authorization), ("DPoP", proof)];
    web.modern_as("tools/call", json!({ "name": name }), json!({}), &fields)
}

#[track_caller]
fn is_served(answer: &Answer) {
    assert_eq!(answer.result()["content"][0]["text"], "ada");
}

/// The challenge of a request that is not let in.
#[track_caller]
fn challenge(answer: &Answer) -> String {
    let head = answer.head();
    assert_eq!(head.status, 401, "{}", answer.body());
    field(&head, "WWW-Authenticate").unwrap().to_owned()
}

#[track_caller]
fn is_refused(answer: &Answer, why: &str) {
    let told = challenge(answer);
    let begin = r#"DPoP error="invalid_dpop_proof", error_description=""#;
    assert!(told.starts_with(begin) && told.contains(why), "{told}");
    let end = format!(r#"resource_metadata="{METADATA}", algs="{ALGORITHMS}""#);
    assert!(told.ends_with(&end), "{told}");
}

// E-DPOP-S-07, E-DPOP-B-13, E-DPOP-B-23, AMB-88
#[test]
fn a_bound_token_is_good_with_a_proof_of_its_key() {
    let web = Web::with(&server(), options(Dpop::new()));
    for (algorithm, signer) in [
        ("ES256", Signer::p256()),
        ("ES384", Signer::p384()),
        ("EdDSA", Signer::ed25519()),
        ("Ed25519", Signer::ed25519()),
        ("RS256", Signer::rsa(&RSA_PKCS1_SHA256)),
        ("RS384", Signer::rsa(&RSA_PKCS1_SHA384)),
        ("RS512", Signer::rsa(&RSA_PKCS1_SHA512)),
        ("PS256", Signer::rsa(&RSA_PSS_SHA256)),
        ("PS384", Signer::rsa(&RSA_PSS_SHA384)),
        ("PS512", Signer::rsa(&RSA_PSS_SHA512)),
    ] {
        let holder = Holder::with(algorithm, signer);
        is_served(&holder.call(&web, &holder.good()));
    }
    let holder = Holder::new();
    for (header, claims) in [
        (
            json!({}),
            json!({ "htu": "HTTPS://Files.Example:443/mcp?a=b#c" }),
        ),
        (json!({}), json!({ "iat": now() - 280 })),
        (json!({}), json!({ "iat": now() + 280 })),
        (json!({}), json!({ "iat": now() as f64 + 0.25 })),
        (
            json!({ "kid": "x" }),
            json!({ "content_digest": "sha-256=:x:", "nonce": "nobody asked" }),
        ),
    ] {
        is_served(&holder.call(&web, &holder.proof(header, claims)));
    }
    let lower = format!("dpop {}", holder.token);
    is_served(&call(&web, &lower, &holder.good()));
    // Who has a token that is not bound needs no key, unless the server wants one.
    is_served(&call(&web, "Bearer free", ""));
}

// E-DPOP-S-07, E-DPOP-S-08, E-DPOP-S-09, E-DPOP-S-10, E-DPOP-B-19, E-DPOP-B-20, M-SEC-S-13
#[test]
fn what_is_no_proof_for_this_request_is_refused() {
    let web = Web::with(&server(), options(Dpop::new()));
    let (holder, thief) = (Holder::new(), Holder::new());
    let mut private = holder.jwk();
    private["d"] = json!("c2VjcmV0");
    let symmetric = json!({ "kty": "oct", "k": text(b"secret") });
    let none = || json!({});
    for (header, claims, why) in [
        (json!({ "typ": "JWT" }), none(), "(typ)"),
        (json!({ "typ": null }), none(), "no JWT"),
        (json!({ "alg": "none" }), none(), "not taken here"),
        (json!({ "alg": "HS256" }), none(), "not taken here"),
        (
            json!({ "alg": "HS256", "jwk": symmetric }),
            none(),
            "not taken here",
        ),
        (json!({ "jwk": symmetric }), none(), "kind"),
        (json!({ "alg": "ES384" }), none(), "signature"),
        (json!({ "alg": null }), none(), "no JWT"),
        (json!({ "jwk": null }), none(), "no JWT"),
        (json!({ "jwk": "x" }), none(), "no JWT"),
        (json!({ "jwk": private }), none(), "private key"),
        (json!({ "jwk": thief.jwk() }), none(), "signature"),
        (json!({ "crit": ["b64"], "b64": false }), none(), "taken"),
        (none(), json!({ "htm": "GET" }), "(htm)"),
        (none(), json!({ "htm": "post" }), "(htm)"),
        (none(), json!({ "htm": null }), "no JWT"),
        (
            none(),
            json!({ "htu": "https://other.example/mcp" }),
            "(htu)",
        ),
        (
            none(),
            json!({ "htu": "http://files.example/mcp" }),
            "(htu)",
        ),
        (none(), json!({ "htu": "https://files.example/" }), "(htu)"),
        (none(), json!({ "htu": "/mcp" }), "(htu)"),
        (none(), json!({ "htu": null }), "no JWT"),
        (none(), json!({ "iat": now() - 360 }), "(iat)"),
        (none(), json!({ "iat": now() + 360 }), "(iat)"),
        (none(), json!({ "iat": -1 }), "(iat)"),
        (none(), json!({ "iat": 1e300 }), "(iat)"),
        (none(), json!({ "iat": "now" }), "no JWT"),
        (none(), json!({ "iat": null }), "no JWT"),
        (none(), json!({ "ath": hash("another") }), "(ath)"),
        (none(), json!({ "ath": holder.token }), "(ath)"),
        (none(), json!({ "ath": null }), "(ath)"),
        (none(), json!({ "jti": "" }), "(jti)"),
        (none(), json!({ "jti": null }), "no JWT"),
        (none(), json!({ "jti": 5 }), "no JWT"),
    ] {
        let proof = holder.proof(header, claims);
        is_refused(&holder.call(&web, &proof), why);
    }
    // The thief of a token has another key; the thief of a proof can't change it.
    let mut stolen = Holder::new();
    stolen.token.clone_from(&holder.token);
    is_refused(&stolen.call(&web, &stolen.good()), "another one");
    let good = holder.good();
    for at in [1, good.len() / 2, good.len() - 40] {
        let mut bytes = good.clone().into_bytes();
        bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
        let changed = String::from_utf8(bytes).unwrap();
        is_refused(&holder.call(&web, &changed), "it");
    }
    let twice = r#"{"typ":"dpop+jwt","typ":"dpop+jwt","alg":"ES256"}"#;
    for proof in [
        ".".to_owned(),
        "a.b.c".to_owned(),
        "e30.e30.".to_owned(),
        good.replace('.', ""),
        format!("{good}.{good}"),
        holder.signer.token_of(twice, "{}"),
        "a".repeat(9000),
    ] {
        is_refused(&holder.call(&web, &proof), "no JWT");
    }
    is_refused(&holder.call(&web, ""), "there has to be one");
    let (message, right) = modern(web.id(), "tools/call", json!({ "name": "who" }), json!({}));
    let own = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let mut fields: Vec<_> = right.iter().map(|(name, value)| own(name, value)).collect();
    fields.push(own("Host", "localhost"));
    fields.push(own("Authorization", &format!("DPoP {}", holder.token)));
    fields.push(own("DPoP", &holder.good()));
    fields.push(own("dpop", &holder.good()));
    let two = web.send_exactly("POST", "/mcp", fields, message.to_string());
    is_refused(&two, "no more");
    // After all of them a good one is good.
    is_served(&holder.call(&web, &good));
}

// E-DPOP-S-10, E-DPOP-S-21
#[test]
fn a_proof_is_taken_once() {
    let web = Web::with(&server(), options(Dpop::new()));
    let holder = Holder::new();
    let proof = holder.good();
    is_served(&holder.call(&web, &proof));
    is_refused(&holder.call(&web, &proof), "(jti)");
    let same_id = json!({ "jti": "once", "iat": now() - 10 });
    is_served(&holder.call(&web, &holder.proof(json!({}), same_id)));
    let again = json!({ "jti": "once" });
    is_refused(
        &holder.call(&web, &holder.proof(json!({}), again.clone())),
        "(jti)",
    );
    // Ids are each key's own.
    let other = Holder::new();
    is_served(&other.call(&web, &other.proof(json!({}), again)));

    // A small memory takes no proof twice either, but gives up old ones.
    let web = Web::with(&server(), options(Dpop::new().max_proofs(2)));
    let at = |age: u64| holder.proof(json!({}), json!({ "iat": now() - age }));
    let proofs = [at(90), at(60), at(30)];
    for proof in &proofs {
        is_served(&holder.call(&web, proof));
    }
    is_refused(&holder.call(&web, &proofs[0]), "older than all proofs");
    is_refused(&holder.call(&web, &at(120)), "older than all proofs");
    is_refused(&holder.call(&web, &proofs[2]), "(jti)");
    is_served(&holder.call(&web, &holder.good()));

    // And none is needed by who bears with replays.
    let web = Web::with(&server(), options(Dpop::new().max_proofs(0)));
    is_served(&holder.call(&web, &proof));
    is_served(&holder.call(&web, &proof));
}

// E-DPOP-S-08: it can be made shorter, and not longer.
#[test]
fn proofs_are_good_for_as_long_as_the_server_says() {
    let holder = Holder::new();
    let at = |iat: u64| holder.proof(json!({}), json!({ "iat": iat }));
    let short = Dpop::new().window(Duration::from_secs(20));
    let web = Web::with(&server(), options(short));
    is_served(&holder.call(&web, &at(now() - 10)));
    is_served(&holder.call(&web, &at(now() + 10)));
    is_refused(&holder.call(&web, &at(now() - 40)), "(iat)");
    is_refused(&holder.call(&web, &at(now() + 40)), "(iat)");
    let long = Dpop::new().window(Duration::from_secs(3600));
    let web = Web::with(&server(), options(long));
    is_refused(&holder.call(&web, &at(now() - 360)), "(iat)");
}

// E-DPOP-S-07, E-DPOP-S-22, M-AUTH-S-38
#[test]
fn a_bound_token_is_nothing_by_itself() {
    let holder = Holder::new();
    let required = Dpop::new().required();
    for (dpop, schemes) in [(Dpop::new(), "Bearer"), (required, "DPoP")] {
        let web = Web::with(&server(), options(dpop));
        let refused = |authorization: &str, proof: &str, why: &str| {
            let told = challenge(&call(&web, authorization, proof));
            let begin = format!(r#"{schemes} error="invalid_token""#);
            assert!(told.starts_with(&begin) && told.contains(why), "{told}");
            assert!(told.contains(r#"DPoP error="invalid_token""#), "{told}");
        };
        let bearer = format!("Bearer {}", holder.token);
        refused(&bearer, "", "without a proof");
        refused(&bearer, &holder.good(), "without a proof");
        refused("DPoP free", &holder.good(), "bound to no key");
        let mut foreign = Holder::new();
        foreign.token = foreign.token.replace("bound", "foreign");
        let authorization = format!("DPoP {}", foreign.token);
        refused(
            &authorization,
            &foreign.good(),
            "not issued for this server",
        );
        is_served(&holder.call(&web, &holder.good()));
    }
    // A server that knows no proofs takes none, and says nothing of them.
    let guarded = ResourceServer::new(RESOURCE, [ISSUER], verify).unwrap();
    let web = Web::with(&server(), HttpOptions::new().authorization(guarded));
    let told = challenge(&call(&web, &format!("Bearer {}", holder.token), ""));
    assert!(
        told.contains("bound to a key") && !told.contains("DPoP"),
        "{told}"
    );
    let told = challenge(&holder.call(&web, &holder.good()));
    assert_eq!(told, format!(r#"Bearer resource_metadata="{METADATA}""#));
}

// E-DPOP-S-09, RFC 9449, sections 5.1 and 7.1; RFC 9728, section 2
#[test]
fn clients_are_told_that_tokens_can_or_have_to_be_bound() {
    let metadata = |web: &Web| {
        let place = "/.well-known/oauth-protected-resource/mcp";
        web.send("GET", place, &[], "").message()
    };
    let web = Web::with(&server(), options(Dpop::new()));
    let known: Vec<&str> = ALGORITHMS.split(' ').collect();
    let said = metadata(&web);
    assert_eq!(said["dpop_signing_alg_values_supported"], json!(known));
    assert_eq!(said["dpop_bound_access_tokens_required"], false);
    let place = format!(r#"resource_metadata="{METADATA}""#);
    assert_eq!(
        challenge(&call(&web, "", "")),
        format!(r#"Bearer {place}, DPoP {place}, algs="{ALGORITHMS}""#)
    );
    let web = Web::with(&server(), options(Dpop::new().required()));
    assert_eq!(metadata(&web)["dpop_bound_access_tokens_required"], true);
    let only = format!(r#"DPoP {place}, algs="{ALGORITHMS}""#);
    assert_eq!(challenge(&call(&web, "", "")), only);
    let told = challenge(&call(&web, "Bearer free", ""));
    let begin = r#"DPoP error="invalid_token", error_description="it is bound to no key""#;
    assert!(told.starts_with(begin), "{told}");
    let holder = Holder::new();
    let authorization = format!("DPoP {}", holder.token);
    let answer = call_tool(&web, "write", &authorization, &holder.good());
    let head = answer.head();
    assert_eq!(head.status, 403);
    assert_eq!(
        field(&head, "WWW-Authenticate").unwrap(),
        format!(r#"DPoP error="insufficient_scope", scope="write", {place}, algs="{ALGORITHMS}""#)
    );
    // Nothing of it where there is none.
    let guarded = ResourceServer::new(RESOURCE, [ISSUER], verify).unwrap();
    let web = Web::with(&server(), HttpOptions::new().authorization(guarded));
    let said = metadata(&web).to_string();
    assert!(!said.contains("dpop"), "{said}");
}

// E-DPOP-S-16
#[test]
fn proofs_have_to_have_a_nonce_where_the_server_wants_one() {
    let holder = Holder::new();
    let keys = [StateKey::random().unwrap(), StateKey::random().unwrap()];
    let dpop = |keys: &[StateKey], life| Dpop::new().nonces(keys, life).unwrap();
    let hour = Duration::from_secs(3600);
    let web = Web::with(&server(), options(dpop(&keys, hour)));
    let asked = |web: &Web, proof: &str| {
        let answer = holder.call(web, proof);
        let told = challenge(&answer);
        assert!(told.starts_with(r#"DPoP error="use_dpop_nonce""#), "{told}");
        field(&answer.head(), "DPoP-Nonce").unwrap().to_owned()
    };
    let with = |nonce: &str| holder.proof(json!({}), json!({ "nonce": nonce }));
    let first = asked(&web, &holder.good());
    is_served(&holder.call(&web, &with(&first)));
    is_served(&holder.call(&web, &with(&first)));
    assert_ne!(asked(&web, &holder.good()), first);
    let mut bytes = first.clone().into_bytes();
    let last = bytes.len() - 5;
    bytes[last] = if bytes[last] == b'A' { b'B' } else { b'A' };
    for other in ["", "x", &String::from_utf8(bytes).unwrap()] {
        asked(&web, &with(other));
    }
    // It is not in place of anything else.
    let old = json!({ "nonce": first, "iat": now() - 360 });
    is_refused(&holder.call(&web, &holder.proof(json!({}), old)), "(iat)");
    // Another replica with one of the keys takes it, one without does not.
    let replica = Web::with(&server(), options(dpop(&keys[..1], hour)));
    is_served(&holder.call(&replica, &with(&first)));
    let other = Web::with(&server(), options(dpop(&keys[1..], hour)));
    asked(&other, &with(&first));
    let error = Dpop::new().nonces(&[], hour).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
}

// E-DPOP-S-07: whatever a request is, its proof was made for its own method and address.
#[test]
fn requests_of_legacy_clients_need_proofs_as_well() {
    let holder = Holder::new();
    let old = options(Dpop::new().required()).old_paths("/sse", "/messages");
    let web = Web::with(&server(), old);
    let authorization = format!("DPoP {}", holder.token);
    let send = |method: &str, path: &str, more: &[(&str, &str)], proof: &str, body: String| {
        let mut fields = vec![("Authorization", &*authorization), ("DPoP", proof)];
        fields.extend(more);
        web.send(method, path, &fields, body)
    };
    let made_for = |method: &str, path: &str| {
        let htu = format!("https://files.example{path}");
        holder.proof(json!({}), json!({ "htm": method, "htu": htu }))
    };
    let opening = || initialize(web.id(), ProtocolVersion::V2025_11_25, json!({})).to_string();
    let opened = send("POST", "/mcp", &[], &holder.good(), opening());
    let session = field(&opened.head(), "Mcp-Session-Id").unwrap().to_owned();
    let own = [("Mcp-Session-Id", &*session)];
    is_refused(
        &send("GET", "/mcp", &own, &holder.good(), String::new()),
        "(htm)",
    );
    let stream = send("GET", "/mcp", &own, &made_for("GET", "/mcp"), String::new());
    assert_eq!(stream.status(), 200);
    is_refused(
        &send("DELETE", "/mcp", &own, &holder.good(), String::new()),
        "(htm)",
    );
    let over = send(
        "DELETE",
        "/mcp",
        &own,
        &made_for("DELETE", "/mcp"),
        String::new(),
    );
    assert!(over.status() < 300);
    is_refused(
        &send("GET", "/sse", &[], &made_for("GET", "/mcp"), String::new()),
        "(htu)",
    );
    let stream = send("GET", "/sse", &[], &made_for("GET", "/sse"), String::new());
    assert_eq!(stream.status(), 200);
    let place = stream.event().unwrap().data;
    is_refused(
        &send("POST", &place, &[], &holder.good(), opening()),
        "(htu)",
    );
    let taken = send(
        "POST",
        &place,
        &[],
        &made_for("POST", "/messages"),
        opening(),
    );
    assert_eq!(taken.status(), 202);
}

/// With clients of ours, which find out by themselves that tokens have to be bound, and with what nonce.
#[cfg(feature = "auth")]
mod with_our_client {
    use std::sync::{Arc, Mutex, OnceLock};

    use mcplink::auth::{DpopUse, OAuth, OAuthBuilder, RegisteredClient};
    use mcplink::client::Client;
    use mcplink::server::http::{HttpService, JwtVerifier};
    use mcplink::transport::http::{
        Http, HttpLimits, HttpListener, HttpRequest, ResponseHead, Service as _,
    };

    use super::*;
    use crate::listening::service;

    /// A server over sockets, and the authorization server that binds tokens for it to the keys of clients.
    struct Place {
        server: HttpListener,
        issuer: HttpListener,
        proofs: Arc<Mutex<Vec<String>>>,
    }

    impl Place {
        fn new(dpop: Dpop) -> Self {
            let served: Arc<OnceLock<HttpService>> = Arc::default();
            let proofs: Arc<Mutex<Vec<String>>> = Arc::default();
            let (to, seen) = (Arc::clone(&served), Arc::clone(&proofs));
            let server = bind(service(move |request, response| {
                let proof = request.value("DPoP").unwrap_or_default();
                seen.lock()
                    .unwrap()
                    .push(String::from_utf8(proof.to_vec()).unwrap());
                to.get().unwrap().serve(request, response);
            }));
            let resource = format!("http://{}/mcp", server.local_addr().unwrap());
            let signer = Signer::p256();
            let keys = json!({ "keys": [signer.jwk("k")] }).to_string();
            let audience = resource.clone();
            let issuer = bind(service(move |request, mut response| {
                let answer = issue(&request, &signer, &audience);
                let (status, text) = answer.unwrap_or_default();
                // The client may have given up.
                _ = response.respond(&ResponseHead::new(status), text.as_bytes());
            }));
            let name = format!("http://{}", issuer.local_addr().unwrap());
            let verifier = JwtVerifier::with_keys(&*name, move || Ok(keys.clone()));
            let guarded = ResourceServer::new(&resource, [name], verifier).unwrap();
            let options = HttpOptions::new().authorization(guarded.dpop(dpop));
            assert!(served.set(super::server().http_service(options)).is_ok());
            Self {
                server,
                issuer,
                proofs,
            }
        }

        fn oauth(&self) -> OAuthBuilder {
            let issuer = format!("http://{}", self.issuer.local_addr().unwrap());
            OAuth::client_credentials(RegisteredClient::new(issuer, "machine").secret("s3cret"))
        }

        fn connect(&self, oauth: OAuthBuilder) -> mcplink::Result<Client> {
            let url = format!("http://{}/mcp", self.server.local_addr().unwrap());
            Client::connect(Http::new(&url)?.authorizer(oauth.build()?))
        }
    }

    fn bind(service: Arc<dyn mcplink::transport::http::Service>) -> HttpListener {
        HttpListener::bind("127.0.0.1:0", service, HttpLimits::default()).unwrap()
    }

    /// A token that is bound to the key in the proof, or to none.
    fn issue(request: &HttpRequest<'_>, signer: &Signer, audience: &str) -> Option<(u16, String)> {
        let own = format!("http://{}", request.local?);
        if request.target == "/.well-known/oauth-authorization-server" {
            let metadata = json!({
                "issuer": own, "token_endpoint": format!("{own}/token"), "grant_types_supported": ["client_credentials"],
                "dpop_signing_alg_values_supported": ["ES256"],
            });
            return Some((200, metadata.to_string()));
        }
        if request.target != "/token" {
            return Some((404, String::new()));
        }
        let mut said = json!({ "iss": own, "sub": "machine", "aud": audience, "exp": now() + 600 });
        let mut kind = "Bearer";
        if let Some(proof) = request.value("DPoP") {
            let header = std::str::from_utf8(proof).ok()?.split('.').next()?;
            let header: Value =
                serde_json::from_slice(&URL_SAFE_NO_PAD.decode(header).ok()?).ok()?;
            said["cnf"] = json!({ "jkt": thumbprint(&header["jwk"]) });
            kind = "DPoP";
        }
        let token = signer.token(&json!({ "alg": "ES256", "kid": "k" }), &said);
        Some((
            200,
            json!({ "access_token": token, "token_type": kind }).to_string(),
        ))
    }

    fn who(client: &Client) -> mcplink::Result<String> {
        let said = client.call_tool("who", &json!({}))?;
        Ok(said.content[0].as_text().unwrap_or_default().to_owned())
    }

    // E-DPOP-B-01, E-DPOP-C-02, E-DPOP-C-03, E-DPOP-S-07
    #[test]
    fn clients_bind_their_tokens_when_the_server_wants_it() {
        let key = StateKey::random().unwrap();
        let nonces = || {
            Dpop::new()
                .nonces(std::slice::from_ref(&key), Duration::from_secs(600))
                .unwrap()
        };
        for dpop in [Dpop::new().required(), nonces().required()] {
            let place = Place::new(dpop);
            let client = place.connect(place.oauth()).unwrap();
            for _ in 0..3 {
                assert_eq!(who(&client).unwrap(), "machine");
            }
            let proofs = place.proofs.lock().unwrap().clone();
            let sent: Vec<_> = proofs.iter().filter(|proof| !proof.is_empty()).collect();
            assert!(sent.len() >= 4, "{}", sent.len());
            let unbound = place.connect(place.oauth().dpop(DpopUse::Never));
            let error = unbound.map(drop).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Auth);
            assert!(error.to_string().contains("refuses the token"), "{error}");
        }
    }

    #[test]
    fn clients_may_bind_their_tokens_where_the_server_does_not_care() {
        let place = Place::new(Dpop::new());
        for (dpop, is_proved) in [(DpopUse::WhenAsked, false), (DpopUse::Always, true)] {
            let client = place.connect(place.oauth().dpop(dpop)).unwrap();
            assert_eq!(who(&client).unwrap(), "machine");
            let last = place.proofs.lock().unwrap().last().cloned().unwrap();
            assert_eq!(!last.is_empty(), is_proved);
        }
    }
}
