//! Tokens without a person: client credentials, workloads, organisations; and tokens that are bound to a key.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use mcplink::auth::{
    DpopUse, IdentityProvider, MemoryStore, OAuth, RegisteredClient, Secret, Signer, SigningKey,
    SubjectToken,
};
use mcplink::{ErrorKind, Result};
use serde_json::{Value, json};

use crate::authworld::{World, basic, check_es256, jwt, proven, refuse};
use crate::common::wait_until;
use crate::proxied::socks_proxy;
use crate::stub::{Out, Seen, Stub, asker, call, discovered, text};

/// A key for tests, on P-256.
const KEY: &str = include_str!("../data/keys/p256.pem");

fn key() -> SigningKey {
    SigningKey::from_pem(&Secret::new(KEY)).unwrap()
}

fn token_request(world: &World) -> Seen {
    let seen = world.issuer.seen();
    seen.into_iter()
        .find(|seen| seen.target == "/token")
        .unwrap()
}

// E-CC-B-01, E-CC-C-02, E-CC-C-06, E-CC-C-08, E-CC-C-09, E-CC-X-04, AMB-86
#[test]
fn a_machine_shows_its_secret() {
    for (methods, is_basic) in [
        (json!(["client_secret_basic"]), true),
        (json!(["client_secret_post"]), false),
    ] {
        let world = World::with(|rules| {
            rules.challenge = ", scope=\"read\"".to_owned();
            rules.metadata = json!({ "token_endpoint_auth_methods_supported": methods });
        });
        let client = RegisteredClient::new(world.issuer(), "m").secret("m4chine");
        let client = world.connect(OAuth::client_credentials(client)).unwrap();
        assert_eq!(call(&client, "x").unwrap(), "done");
        let record = world.record();
        let form = &record.tokens[0];
        assert_eq!(form["grant_type"], "client_credentials");
        assert_eq!(
            (&*form["resource"], &*form["scope"]),
            (&*world.mcp.url(), "read")
        );
        let pair = ("m".to_owned(), "m4chine".to_owned());
        assert_eq!(basic(&token_request(&world)), is_basic.then_some(pair));
        assert_eq!(form.contains_key("client_secret"), !is_basic);
        assert!(record.registrations.is_empty() && record.authorizations.is_empty());
    }
    let world = World::with(|rules| {
        rules.metadata = json!({ "token_endpoint_auth_methods_supported": ["tls_client_auth"] });
    });
    let client = RegisteredClient::new(world.issuer(), "m").secret("m4chine");
    let error = world
        .connect(OAuth::client_credentials(client))
        .unwrap_err();
    assert!(error.to_string().contains("tls_client_auth"), "{error}");
    let unproven = OAuth::client_credentials(RegisteredClient::new("https://as.example", "m"));
    assert_eq!(unproven.build().unwrap_err().kind(), ErrorKind::Invalid);
}

#[test]
fn metadata_and_tokens_are_asked_for_through_the_proxy() {
    let world = World::start();
    let (proxy, asked) = socks_proxy("socks5h", |host, port| {
        SocketAddr::new(host.parse().unwrap(), port)
    });
    let client = RegisteredClient::new(world.issuer(), "m").secret("m4chine");
    let oauth = OAuth::client_credentials(client).proxy(&proxy);
    let client = world.connect(oauth).unwrap();
    assert_eq!(call(&client, "x").unwrap(), "done");
    let ports: BTreeSet<u16> = asked.try_iter().map(|(_, port)| port).collect();
    let expected = [world.mcp.address().port(), world.issuer.address().port()];
    assert_eq!(ports, expected.into());
}

// E-CC-C-02, E-CC-C-03, E-CC-C-06, E-CC-C-07, E-EMA-B-22, AMB-87
#[test]
fn a_machine_signs_with_its_key() {
    let world = World::start();
    let client = RegisteredClient::new(world.issuer(), "m").key(key().id("k1"));
    world.connect(OAuth::client_credentials(client)).unwrap();
    let form = &world.record().tokens[0];
    assert!(!form.contains_key("client_id") && !form.contains_key("client_secret"));
    let kind = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
    assert_eq!(form["client_assertion_type"], kind);
    let assertion = &form["client_assertion"];
    let (header, claims) = jwt(assertion);
    assert_eq!(
        (&header["alg"], &header["kid"]),
        (&json!("ES256"), &json!("k1"))
    );
    let jwk: Value = serde_json::from_str(&key().public_jwk()).unwrap();
    check_es256(assertion, &jwk);
    assert_eq!((&claims["iss"], &claims["sub"]), (&json!("m"), &json!("m")));
    assert_eq!(claims["aud"], world.issuer());
    let life = claims["exp"].as_u64().unwrap() - claims["iat"].as_u64().unwrap();
    assert!(life <= 300 && claims["jti"].as_str().unwrap().len() > 20);
    let world = World::start();
    let client = RegisteredClient::new(world.issuer(), "m").key(key());
    let audience = format!("{}/token", world.issuer());
    let builder = OAuth::client_credentials(client.audience(&*audience));
    world.connect(builder).unwrap();
    let (_, claims) = jwt(&world.record().tokens[0]["client_assertion"]);
    assert_eq!(claims["aud"], audience);
    let world = World::with(|rules| {
        let algorithms = json!(["RS256"]);
        rules.metadata = json!({ "token_endpoint_auth_signing_alg_values_supported": algorithms });
    });
    let client = RegisteredClient::new(world.issuer(), "m").key(key());
    let error = world
        .connect(OAuth::client_credentials(client))
        .unwrap_err();
    assert!(error.to_string().contains("ES256"), "{error}");
}

// E-CC-C-09
#[test]
fn a_machine_gets_the_next_token_by_itself() {
    let world = World::with(|rules| rules.token = json!({ "refresh_token": null }));
    let client = RegisteredClient::of_first_issuer("m").secret("m4chine");
    let client = world.connect(OAuth::client_credentials(client)).unwrap();
    world.revoke_all();
    call(&client, "x").unwrap();
    assert_eq!(world.record().tokens.len(), 2);
    // The one that was named first is the one, for ever.
    let next = World::start();
    let other = next.issuer().to_owned();
    world.revoke_all();
    world.set(|rules| rules.resource = json!({ "authorization_servers": [other] }));
    let error = call(&client, "x").unwrap_err();
    assert!(error.to_string().contains("is registered with"), "{error}");
    assert!(next.record().tokens.is_empty());
}

#[test]
fn keys_of_all_kinds_are_read_and_no_others() {
    for bad in [
        "",
        "nonsense",
        "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----",
    ] {
        let error = SigningKey::from_pem(&Secret::new(bad)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(!error.to_string().contains("AAAA"), "{error}");
    }
    for (text, algorithm, kind) in [
        (KEY, "ES256", "EC"),
        (include_str!("../data/keys/p384.pem"), "ES384", "EC"),
        (include_str!("../data/keys/ed25519.pem"), "EdDSA", "OKP"),
        (include_str!("../data/keys/rsa.pem"), "RS256", "RSA"),
        (include_str!("../data/keys/rsa-pkcs1.pem"), "RS256", "RSA"),
    ] {
        let key = SigningKey::from_pem(&Secret::new(text)).unwrap();
        assert_eq!(key.algorithm(), algorithm);
        let jwk: Value = serde_json::from_str(&key.public_jwk()).unwrap();
        assert_eq!(jwk["kty"], kind);
        assert!(!key.sign(b"text").unwrap().is_empty());
        let wanted = if kind == "RSA" { "PS256" } else { algorithm };
        assert_eq!(key.pss().algorithm(), wanted);
    }
    assert_eq!(
        format!("{:?}", key()),
        "SigningKey { algorithm: \"ES256\", .. }"
    );
}

/// A statement of a platform, unsigned: only the authorization server checks that.
fn statement(claims: &Value) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}.c2ln", part(&json!({ "alg": "ES256" })), part(claims))
}

fn claims(audience: &str) -> Value {
    json!({ "iss": "https://cloud.example", "sub": "pod", "aud": audience, "exp": 1, "iat": 0, "jti": "1" })
}

// E-WIF-B-01, E-WIF-C-02, E-WIF-C-03, E-WIF-C-04, E-WIF-X-09, E-WIF-B-12, E-WIF-C-16
#[test]
fn a_workload_shows_what_its_platform_says() {
    let world = World::start();
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let builder = OAuth::workload(None, move |audience| {
        count.fetch_add(1, Ordering::SeqCst);
        Ok(Secret::new(statement(&claims(audience))))
    });
    let client = world
        .connect(builder.on_log(|line| panic!("{line}")))
        .unwrap();
    world.revoke_all();
    world.set(|rules| rules.token = json!({ "refresh_token": null }));
    call(&client, "x").unwrap();
    let record = world.record();
    let form = &record.tokens[0];
    assert_eq!(
        form["grant_type"],
        "urn:ietf:params:oauth:grant-type:jwt-bearer"
    );
    assert_eq!(form["resource"], world.mcp.url());
    assert!(!form.contains_key("client_id") && record.registrations.is_empty());
    let audience = format!("{}/token", world.issuer());
    assert_eq!(form["assertion"], statement(&claims(&audience)));
    // What another server is to read is told, and what lacks a claim never leaves.
    let world = World::start();
    let (told, lines) = std::sync::mpsc::channel();
    let builder = OAuth::workload(Some("w"), |_| {
        Ok(Secret::new(statement(&claims("https://x"))))
    });
    let builder = builder.on_log(move |line| told.send(line.to_owned()).unwrap());
    world.connect(builder).unwrap();
    assert!(lines.try_iter().any(|line| line.contains("(aud)")));
    assert_eq!(world.record().tokens[0]["client_id"], "w");
    for name in ["iss", "sub", "aud", "exp", "iat", "jti"] {
        let world = World::start();
        let builder = OAuth::workload(None, move |audience| {
            let mut claims = claims(audience);
            claims.as_object_mut().unwrap().remove(name);
            Ok(Secret::new(statement(&claims)))
        });
        let error = world.connect(builder).unwrap_err();
        assert!(error.to_string().contains(&format!("'{name}'")), "{error}");
        assert!(world.record().tokens.is_empty());
    }
    // A refusal is told, and nothing else tried.
    let world = World::with(|rules| {
        rules.on_token = Some(Arc::new(|_, out| {
            refuse(out, "unauthorized_client", "not you");
            true
        }));
    });
    let builder = OAuth::workload(None, |audience| {
        Ok(Secret::new(statement(&claims(audience))))
    });
    let error = world.connect(builder).unwrap_err();
    assert!(
        error.to_string().contains("unauthorized_client: not you"),
        "{error}"
    );
    assert_eq!(world.record().tokens.len(), 1);
    let world = World::with(|rules| {
        rules.metadata = json!({ "grant_types_supported": ["authorization_code"] });
    });
    let builder = OAuth::workload(None, |_| unreachable!("nobody would take it"));
    let error = world.connect(builder).unwrap_err();
    assert!(
        error.to_string().contains("grant_types_supported"),
        "{error}"
    );
}

/// An organisation's provider, played by the same authorization server.
fn organisation(world: &World) -> mcplink::auth::OAuthBuilder {
    let endpoint = format!("{}/exchange", world.issuer());
    let known = RegisteredClient::new("https://idp.example", "at-idp").secret("1dp-secret");
    let provider = IdentityProvider::new(endpoint, known, || {
        Ok(SubjectToken::IdToken(Secret::new("the-1d-token")))
    });
    OAuth::enterprise(
        provider,
        RegisteredClient::new(world.issuer(), "at-as").secret("4s-secret"),
    )
}

// E-EMA-C-01, E-EMA-C-02, E-EMA-C-03, E-EMA-C-04, E-EMA-C-06, E-EMA-C-07, E-EMA-C-09, E-EMA-C-35
#[test]
fn an_organisation_vouches_for_its_user() {
    let jag = "urn:ietf:params:oauth:token-type:id-jag";
    let exchange = |kind: &'static str, token_type: &'static str| {
        let world = World::with(|rules| rules.challenge = ", scope=\"read\"".to_owned());
        world.set(|rules| {
            let profile = "urn:ietf:params:oauth:grant-profile:id-jag";
            rules.metadata = json!({ "authorization_grant_profiles_supported": [profile] });
            rules.on_token = Some(Arc::new(move |form, out| {
                let is_exchange = form.contains_key("subject_token");
                if is_exchange {
                    out.json(&json!({
                        "access_token": "the-jag", "issued_token_type": kind, "token_type": token_type,
                    }));
                }
                is_exchange
            }));
        });
        let connected = world.connect(organisation(&world));
        (world, connected)
    };
    let (world, connected) = exchange(jag, "N_A");
    assert_eq!(call(&connected.unwrap(), "x").unwrap(), "done");
    let record = world.record();
    assert!(record.authorizations.is_empty() && record.registrations.is_empty());
    let [first, second] = &record.tokens[..] else {
        panic!("two requests: {}", record.tokens.len());
    };
    assert_eq!(
        first["grant_type"],
        "urn:ietf:params:oauth:grant-type:token-exchange"
    );
    assert_eq!(first["requested_token_type"], jag);
    assert_eq!(
        (&*first["audience"], &*first["resource"]),
        (world.issuer(), &*world.mcp.url())
    );
    assert_eq!(first["subject_token"], "the-1d-token");
    let id_token = "urn:ietf:params:oauth:token-type:id_token";
    assert_eq!(
        (&*first["subject_token_type"], &*first["scope"]),
        (id_token, "read")
    );
    assert_eq!(
        second["grant_type"],
        "urn:ietf:params:oauth:grant-type:jwt-bearer"
    );
    assert_eq!(second["assertion"], "the-jag");
    let seen = world.issuer.seen();
    let pairs: Vec<_> = seen.iter().filter_map(basic).map(|(id, _)| id).collect();
    assert_eq!(pairs, ["at-idp", "at-as"]);
    for (kind, token_type) in [(jag, "Bearer"), (id_token, "N_A"), ("", "N_A")] {
        let (world, connected) = exchange(kind, token_type);
        let error = connected.unwrap_err();
        assert!(error.to_string().contains("another thing"), "{error}");
        assert_eq!(world.record().tokens.len(), 1);
    }
    let world = World::with(|rules| {
        rules.metadata = json!({ "authorization_grant_profiles_supported": [] });
    });
    let error = world.connect(organisation(&world)).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("authorization_grant_profiles_supported"),
        "{error}"
    );
    assert!(world.record().tokens.is_empty());
}

// E-DPOP-B-01, E-DPOP-C-02, E-DPOP-C-03, E-DPOP-C-04, E-DPOP-C-05, E-DPOP-C-06, E-DPOP-B-13, AMB-88
#[test]
fn bound_tokens_come_with_a_fresh_proof_each_time() {
    for nonces in [("", ""), ("as-nonce", "mcp-nonce")] {
        let world = World::with(|rules| {
            rules.dpop = Some(nonces);
            rules.token = json!({ "token_type": "DPoP" });
            rules.metadata = json!({ "dpop_signing_alg_values_supported": ["ES256"] });
        });
        let client = world.connect(world.login()).unwrap();
        for _ in 0..2 {
            assert_eq!(call(&client, "x").unwrap(), "done");
        }
        world.revoke_tokens();
        call(&client, "x").unwrap();
        let mut ids = BTreeSet::new();
        let mut proofs = 0;
        for seen in world
            .issuer
            .seen()
            .iter()
            .filter(|seen| seen.target == "/token")
        {
            let claims = proven(seen);
            assert_eq!(claims["htm"], "POST");
            assert_eq!(claims["htu"], format!("{}/token", world.issuer()));
            assert!(claims.get("ath").is_none());
            ids.insert(claims["jti"].as_str().unwrap().to_owned());
            proofs += 1;
        }
        let mut keys = BTreeSet::new();
        for seen in world.mcp.seen_by("POST").iter().skip(1) {
            let field = seen.header("authorization").unwrap();
            let token = field.strip_prefix("DPoP ").unwrap();
            let claims = proven(seen);
            let hash = ring::digest::digest(&ring::digest::SHA256, token.as_bytes());
            assert_eq!(claims["ath"], URL_SAFE_NO_PAD.encode(hash));
            assert_eq!(claims["htu"], world.mcp.url());
            keys.insert(jwt(seen.header("dpop").unwrap()).0["jwk"].to_string());
            ids.insert(claims["jti"].as_str().unwrap().to_owned());
            proofs += 1;
        }
        assert_eq!(
            (ids.len(), keys.len()),
            (proofs, 1),
            "each proof is good once, by one key"
        );
        let grants = world.record().tokens;
        assert_eq!(grants.last().unwrap()["grant_type"], "refresh_token");
    }
}

// E-DPOP-X-24, E-DPOP-X-11
#[test]
fn a_token_that_is_not_bound_is_not_taken_for_one() {
    let world = World::start();
    let error = world
        .connect(world.login().dpop(DpopUse::Always))
        .unwrap_err();
    assert!(error.to_string().contains("expected DPoP"), "{error}");
    let world = World::with(|rules| rules.token = json!({ "token_type": "DPoP" }));
    let error = world.connect(world.login()).unwrap_err();
    assert!(error.to_string().contains("expected Bearer"), "{error}");
    let world = World::with(|rules| {
        rules.metadata = json!({ "dpop_signing_alg_values_supported": ["RS256"] });
    });
    let error = world
        .connect(world.login().dpop(DpopUse::Always))
        .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("dpop_signing_alg_values_supported"),
        "{error}"
    );
    assert!(world.record().authorizations.is_empty());
}

/// A key of a device's.
struct Device(&'static str, Arc<AtomicUsize>);

impl Signer for Device {
    fn algorithm(&self) -> &str {
        self.0
    }

    fn public_jwk(&self) -> String {
        key().public_jwk()
    }

    fn sign(&self, data: &[u8]) -> Result<Vec<u8>> {
        self.1.fetch_add(1, Ordering::SeqCst);
        key().sign(data)
    }
}

// E-DPOP-X-12, E-DPOP-C-17, E-DPOP-C-18, E-DPOP-B-19, E-DPOP-B-20
#[test]
fn a_device_can_keep_the_key() {
    let world = World::with(|rules| {
        rules.dpop = Some(("", ""));
        rules.token = json!({ "token_type": "DPoP" });
    });
    let signed = Arc::new(AtomicUsize::new(0));
    let device = Device("ES256", Arc::clone(&signed));
    let client = world.connect(world.login().dpop_key(device)).unwrap();
    call(&client, "x").unwrap();
    assert!(signed.load(Ordering::SeqCst) >= 3);
    for bad in ["HS256", "none", ""] {
        let device = Device(bad, Arc::clone(&signed));
        let refused = World::start().login().dpop_key(device).build();
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::Invalid, "{bad}");
    }
}

/// A server that takes any token of an authorization server, and says that of itself.
fn neighbour(issuer: &str, answer: impl Fn(&Seen, &mut Out) + Send + Sync + 'static) -> Stub {
    let issuer = issuer.to_owned();
    Stub::start(move |seen, out| {
        let url = format!("http://{}/mcp", seen.header("host").unwrap());
        let is_known = seen.header("authorization").is_some();
        match (&*seen.target, &*seen.asks()) {
            ("/mcp", _) if !is_known => out.respond("401 Unauthorized", &[], ""),
            ("/mcp", "server/discover") => out.result(seen, discovered()),
            ("/mcp", _) => answer(seen, out),
            _ => out.json(&json!({ "resource": url, "authorization_servers": [issuer] })),
        }
    })
}

// E-DPOP-C-06
#[test]
fn a_nonce_that_changes_costs_no_call_of_many_its_tokens() {
    let world = World::with(|rules| {
        rules.dpop = Some(("", ""));
        rules.token = json!({ "token_type": "DPoP" });
    });
    let late = AtomicUsize::new(0);
    let server = neighbour(world.issuer(), move |seen, out| {
        if proven(seen)["nonce"] == "new" {
            return out.result(seen, text("done"));
        }
        // Both are on their way before either learns of the new one.
        late.fetch_add(1, Ordering::SeqCst);
        wait_until("both are there", || late.load(Ordering::SeqCst) == 2);
        let fields = [
            ("dpop-nonce", "new"),
            ("www-authenticate", "DPoP error=\"use_dpop_nonce\""),
        ];
        out.respond("401 Unauthorized", &fields, "");
    });
    let oauth = world.login().dpop(DpopUse::Always).build().unwrap();
    let client = asker().connect(server.http().authorizer(oauth)).unwrap();
    std::thread::scope(|scope| {
        let calls = [(); 2].map(|()| scope.spawn(|| call(&client, "x")));
        for call in calls {
            assert_eq!(call.join().unwrap().unwrap(), "done");
        }
    });
    let grants = world.record().tokens;
    assert_eq!(
        grants.len(),
        1,
        "{:?}",
        grants.last().unwrap()["grant_type"]
    );
}

// E-DPOP-C-06
#[test]
fn a_nonce_of_the_authorization_server_is_used_whoever_learnt_it_first() {
    let world = World::with(|rules| rules.token = json!({ "token_type": "DPoP" }));
    let first = AtomicUsize::new(0);
    world.set(|rules| {
        rules.on_token = Some(Arc::new(move |_, out| {
            let number = first.fetch_add(1, Ordering::SeqCst);
            if number >= 2 {
                return false;
            }
            wait_until("both are there", || first.load(Ordering::SeqCst) >= 2);
            let fields = [("dpop-nonce", "n"), ("content-type", "application/json")];
            let body = json!({ "error": "use_dpop_nonce" }).to_string();
            out.respond("400 Bad Request", &fields, &body);
            true
        }));
    });
    let machine = RegisteredClient::new(world.issuer(), "m").secret("m4chine");
    let oauth = OAuth::client_credentials(machine).dpop(DpopUse::Always);
    let oauth = oauth.build().unwrap();
    let servers =
        [(); 2].map(|()| neighbour(world.issuer(), |seen, out| out.result(seen, text("done"))));
    std::thread::scope(|scope| {
        let connecting = servers.each_ref().map(|server| {
            let http = server.http().authorizer(oauth.clone());
            scope.spawn(|| asker().connect(http))
        });
        for connected in connecting {
            connected.join().unwrap().unwrap();
        }
    });
}

// E-DPOP-C-06
#[test]
fn nonces_of_a_server_and_of_its_own_authorization_server_are_kept_apart() {
    let world = World::with(|rules| {
        rules.says_place = false;
        rules.resource_place = "/nowhere";
        rules.is_old = Some(true);
        rules.dpop = Some(("as-nonce", "mcp-nonce"));
        rules.token = json!({ "token_type": "DPoP" });
    });
    let oauth = world.login().dpop(DpopUse::Always);
    let client = world.connect(oauth).unwrap();
    assert_eq!(call(&client, "x").unwrap(), "done");
    assert_eq!(world.record().tokens.len(), 2, "the nonce is learnt");
    world.revoke_tokens();
    assert_eq!(call(&client, "x").unwrap(), "done");
    let tokens = world.record().tokens;
    assert_eq!(tokens.len(), 3);
    assert_eq!(tokens[2]["grant_type"], "refresh_token");
}

// E-DPOP-X-24
#[test]
fn tokens_that_were_kept_unbound_are_not_used_where_all_are_to_be_bound() {
    let world = World::start();
    let store = Arc::new(MemoryStore::new());
    world
        .connect(world.login().store(Arc::clone(&store)))
        .unwrap();
    world.set(|rules| {
        rules.dpop = Some(("", ""));
        rules.token = json!({ "token_type": "DPoP" });
    });
    // As in the next version of the application.
    let before = world.mcp.seen_by("POST").len();
    let builder = world.login().store(store).dpop(DpopUse::Always);
    let client = world.connect(builder).unwrap();
    assert_eq!(call(&client, "x").unwrap(), "done");
    for seen in &world.mcp.seen_by("POST")[before..] {
        let field = seen.header("authorization").unwrap_or_default();
        assert!(!field.starts_with("Bearer "), "{field}");
    }
    let grants = world.record().tokens;
    assert!(
        grants
            .iter()
            .all(|form| form["grant_type"] == "authorization_code")
    );
}

// E-DPOP-X-24
#[test]
fn what_is_no_access_token_is_not_taken_for_one() {
    for dpop in [DpopUse::Never, DpopUse::Always] {
        let world = World::with(|rules| rules.token = json!({ "token_type": "N_A" }));
        let error = world.connect(world.login().dpop(dpop)).unwrap_err();
        assert!(error.to_string().contains("of type 'N_A'"), "{error}");
    }
}
