//! A server that wants a token, and the authorization server that gives it: both check what they are sent, and show it to the test.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use mcplink::auth::{CallbackUserAgent, Login, OAuth, OAuthBuilder, Secret};
use mcplink::client::Client;
use serde_json::{Value, json};

use crate::common::LONG;
use crate::front::{Front, SERVER};
use crate::stub::{Out, Seen, Stub, asker, discovered, text};

/// Where logins lead; nobody listens there.
pub(crate) const REDIRECT: &str = "http://127.0.0.1:33418/callback";

/// The pairs of a form or query.
pub(crate) type Pairs = BTreeMap<String, String>;

type TokenHook = dyn Fn(&Pairs, &mut Out) -> bool + Send + Sync;

/// What a test sets, and what came.
pub(crate) struct World {
    pub(crate) mcp: Stub,
    pub(crate) issuer: Stub,
    pub(crate) state: Arc<State>,
    /// What stands before the two, if anything does.
    _fronts: Option<[Front; 2]>,
}

#[derive(Default)]
pub(crate) struct State {
    mcp_url: OnceLock<String>,
    issuer_url: OnceLock<String>,
    rules: Mutex<Rules>,
    seen: Mutex<Record>,
    codes: Mutex<HashMap<String, Pairs>>,
    tokens: Mutex<HashMap<String, BTreeSet<String>>>,
    refreshes: Mutex<BTreeSet<String>>,
    number: Mutex<u32>,
}

/// How the two behave.
pub(crate) struct Rules {
    /// Members that the metadata of the server has besides; `null` takes one away.
    pub(crate) resource: Value,
    /// The same of the authorization server.
    pub(crate) metadata: Value,
    /// Where the metadata of the server is.
    pub(crate) resource_place: &'static str,
    /// Whether the challenge says so.
    pub(crate) says_place: bool,
    /// What the challenge says besides.
    pub(crate) challenge: String,
    /// The scope that a tool needs.
    pub(crate) needs: HashMap<String, String>,
    /// Parameters of the redirect; `None` leaves one out.
    pub(crate) redirect: Vec<(&'static str, Option<String>)>,
    /// Members that token responses have besides.
    pub(crate) token: Value,
    /// Answers token requests, if it says so.
    pub(crate) on_token: Option<Arc<TokenHook>>,
    /// Answers registrations with this status.
    pub(crate) registration: (&'static str, Value),
    /// Where metadata of authorization servers is, if not at the usual place, and what it is.
    pub(crate) places: Vec<(String, Value)>,
    /// Where the metadata of the server is said to have gone, and by which status. It is at
    /// [`MOVED`], too.
    pub(crate) resource_redirect: Option<(&'static str, String)>,
    /// And where that of the authorization server, and by which status.
    pub(crate) metadata_redirect: Option<(&'static str, String)>,
    /// What stands in the place of the server's metadata.
    pub(crate) resource_body: Option<String>,
    /// The status that comes in the place of the server's metadata.
    pub(crate) resource_status: Option<&'static str>,
    /// The server's metadata never comes.
    pub(crate) is_silent: bool,
    /// How long lists may be kept, in milliseconds.
    pub(crate) ttl: u64,
    /// Tokens are bound to keys, and the two want these nonces in proofs.
    pub(crate) dpop: Option<(&'static str, &'static str)>,
    /// The server is one of 2025-03-26, with metadata or without.
    pub(crate) is_old: Option<bool>,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            resource: json!({}),
            metadata: json!({}),
            resource_place: "/.well-known/oauth-protected-resource/mcp",
            says_place: true,
            challenge: String::new(),
            needs: HashMap::new(),
            redirect: Vec::new(),
            token: json!({}),
            on_token: None,
            registration: ("201 Created", json!({})),
            places: Vec::new(),
            resource_redirect: None,
            metadata_redirect: None,
            resource_body: None,
            resource_status: None,
            is_silent: false,
            ttl: 0,
            dpop: None,
            is_old: None,
        }
    }
}

/// Where metadata is that has moved.
pub(crate) const MOVED: &str = "/moved.json";

/// Before the number of redirects from there to [`MOVED`].
pub(crate) const STEPS: &str = "/steps/";

/// Redirects what is some steps away from [`MOVED`]. Returns whether it is.
fn step_on(seen: &Seen, out: &mut Out) -> bool {
    let Some(left) = path(seen).strip_prefix(STEPS) else {
        return false;
    };
    let target = match left.parse::<u32>().unwrap() - 1 {
        0 => MOVED.to_owned(),
        left => format!("{STEPS}{left}"),
    };
    out.respond("302 Found", &[("location", &target)], "");
    true
}

/// What came, in order.
#[derive(Clone, Default)]
pub(crate) struct Record {
    pub(crate) authorizations: Vec<Pairs>,
    pub(crate) tokens: Vec<Pairs>,
    pub(crate) registrations: Vec<Value>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl World {
    pub(crate) fn start() -> Self {
        Self::with(|_| {})
    }

    pub(crate) fn with(set: impl FnOnce(&mut Rules)) -> Self {
        Self::reached(false, set)
    }

    /// Both are reached over HTTPS, with certificates of an authority of their own.
    pub(crate) fn over_tls() -> Self {
        Self::reached(true, |_| {})
    }

    fn reached(is_secure: bool, set: impl FnOnce(&mut Rules)) -> Self {
        let state = Arc::new(State::default());
        set(&mut lock(&state.rules));
        let (one, other) = (Arc::clone(&state), Arc::clone(&state));
        let mcp = Stub::start(move |seen, out| one.serve_mcp(seen, out));
        let issuer = Stub::start(move |seen, out| other.serve_issuer(seen, out));
        let fronts = is_secure.then(|| [&mcp, &issuer].map(|to| Front::new(SERVER, to.address())));
        let (mcp_url, issuer_url) = match &fronts {
            Some([mcp, issuer]) => (mcp.url(), issuer.url().replace("/mcp", "")),
            None => (mcp.url(), format!("http://{}", issuer.address())),
        };
        state.mcp_url.set(mcp_url).unwrap();
        state.issuer_url.set(issuer_url).unwrap();
        Self {
            mcp,
            issuer,
            state,
            _fronts: fronts,
        }
    }

    pub(crate) fn mcp_url(&self) -> &str {
        self.state.mcp_url.get().unwrap()
    }

    pub(crate) fn set(&self, set: impl FnOnce(&mut Rules)) {
        set(&mut lock(&self.state.rules));
    }

    pub(crate) fn issuer(&self) -> &str {
        self.state.issuer_url.get().unwrap()
    }

    pub(crate) fn record(&self) -> Record {
        lock(&self.state.seen).clone()
    }

    /// No token that was given out is good any more.
    pub(crate) fn revoke_tokens(&self) {
        lock(&self.state.tokens).clear();
    }

    /// No refresh token either.
    pub(crate) fn revoke_all(&self) {
        self.revoke_tokens();
        lock(&self.state.refreshes).clear();
    }

    /// A client of a person who logs in at once.
    pub(crate) fn login(&self) -> OAuthBuilder {
        OAuth::login(CallbackUserAgent::new(REDIRECT, |login: &Login<'_>| {
            Ok(Secret::new(follow(login.url())))
        }))
        .client_name("asker")
    }

    pub(crate) fn connect(&self, builder: OAuthBuilder) -> mcplink::Result<Client> {
        self.connect_to(&builder.build()?)
    }

    pub(crate) fn connect_to(&self, oauth: &OAuth) -> mcplink::Result<Client> {
        asker().connect(self.mcp.http().authorizer(oauth.clone()))
    }

    /// What was asked for at the authorization server, by path.
    pub(crate) fn paths(&self) -> Vec<String> {
        let seen = self.issuer.seen();
        seen.iter().map(|seen| path(seen).to_owned()).collect()
    }
}

/// Where the page of a login leads at once.
pub(crate) fn follow(url: &str) -> String {
    let rest = url.strip_prefix("http://").unwrap();
    let (place, path) = rest.split_once('/').unwrap();
    let answer = get(place, &format!("/{path}"));
    let location = value(&answer, "location");
    location
        .unwrap_or_else(|| panic!("no redirect: {answer}"))
        .to_owned()
}

/// The value of a field in the head of an answer.
fn value<'a>(answer: &'a str, name: &str) -> Option<&'a str> {
    let mut fields = answer.lines().filter_map(|line| line.split_once(':'));
    let found = fields.find(|(other, _)| other.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value.trim())
}

/// The whole answer to a request.
pub(crate) fn get(place: &str, target: &str) -> String {
    let mut stream = TcpStream::connect(place).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    let request = format!("GET {target} HTTP/1.1\r\nhost: {place}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut reader = BufReader::new(stream);
    let mut answer = String::new();
    while !answer.ends_with("\r\n\r\n") {
        assert!(reader.read_line(&mut answer).unwrap() > 0, "{answer}");
    }
    let length = value(&answer, "content-length").unwrap();
    let mut body = vec![0; length.parse().unwrap()];
    reader.read_exact(&mut body).unwrap();
    answer + &String::from_utf8(body).unwrap()
}

fn path(seen: &Seen) -> &str {
    seen.target.split('?').next().unwrap()
}

pub(crate) fn pairs(text: &str) -> Pairs {
    let pairs = text.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
        let (name, value) = pair.split_once('=').unwrap();
        (decode(name), decode(value))
    });
    let mut read = Pairs::new();
    for (name, value) in pairs {
        assert!(read.insert(name, value).is_none(), "twice in {text}");
    }
    read
}

fn decode(text: &str) -> String {
    percent_encoding::percent_decode_str(text)
        .decode_utf8()
        .unwrap()
        .into_owned()
}

fn encode(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
}

/// The challenge that belongs to a verifier.
fn challenge_of(verifier: &str) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, verifier.as_bytes());
    URL_SAFE_NO_PAD.encode(digest)
}

/// The credentials of `Authorization: Basic`.
pub(crate) fn basic(seen: &Seen) -> Option<(String, String)> {
    let packed = seen.header("authorization")?.strip_prefix("Basic ")?;
    let pair = String::from_utf8(STANDARD.decode(packed).unwrap()).unwrap();
    let (id, secret) = pair.split_once(':').unwrap();
    Some((decode(id), decode(secret)))
}

/// Header and claims of a JWT, unverified.
pub(crate) fn jwt(text: &str) -> (Value, Value) {
    let mut parts = text.split('.').map(|part| {
        let bytes = URL_SAFE_NO_PAD.decode(part).unwrap();
        serde_json::from_slice(&bytes).unwrap_or_default()
    });
    (parts.next().unwrap(), parts.next().unwrap())
}

fn merged(mut base: Value, more: &Value) -> Value {
    for (name, value) in more.as_object().unwrap() {
        if value.is_null() {
            base.as_object_mut().unwrap().remove(name);
        } else {
            base[name] = value.clone();
        }
    }
    base
}

fn scopes(text: &str) -> BTreeSet<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

impl State {
    fn next(&self, what: &str) -> String {
        let mut number = lock(&self.number);
        *number += 1;
        format!("{what}-s3cret-{number}")
    }

    fn serve_mcp(&self, seen: &Seen, out: &mut Out) {
        let mcp_url = self.mcp_url.get().unwrap();
        let issuer = self.issuer_url.get().unwrap();
        if step_on(seen, out) {
            return;
        }
        let rules = lock(&self.rules);
        if path(seen) == rules.resource_place || path(seen) == MOVED {
            if rules.is_silent {
                drop(rules);
                return out.expect_close();
            }
            if let Some((status, target)) = &rules.resource_redirect
                && path(seen) != MOVED
            {
                return out.respond(status, &[("location", target)], "");
            }
            if let Some(status) = rules.resource_status {
                return out.respond(status, &[], "");
            }
            if let Some(body) = &rules.resource_body {
                return out.respond("200 OK", &[("content-type", "application/json")], body);
            }
            let document = json!({ "resource": mcp_url, "authorization_servers": [issuer] });
            return out.json(&merged(document, &rules.resource));
        }
        if let Some(has_metadata) = rules.is_old {
            let base = mcp_url.strip_suffix("/mcp").unwrap();
            let inside = path(seen).strip_prefix("/as").unwrap_or_else(|| path(seen));
            match inside {
                "/.well-known/oauth-authorization-server" if has_metadata => {
                    return out.json(&json!({
                        "issuer": base, "authorization_endpoint": format!("{base}/as/authorize"),
                        "token_endpoint": format!("{base}/as/token"),
                        "registration_endpoint": format!("{base}/as/register"),
                    }));
                }
                "/authorize" | "/register" | "/token" => {
                    drop(rules);
                    return self.serve_issuer_at(inside, seen, out);
                }
                _ => {}
            }
        }
        if path(seen) != "/mcp" {
            return out.respond("404 Not Found", &[], "");
        }
        let origin = mcp_url.strip_suffix("/mcp").unwrap();
        let place = match rules.says_place {
            true => format!(", resource_metadata=\"{origin}{}\"", rules.resource_place),
            false => String::new(),
        };
        let refuse = |out: &mut Out, status: &str, error: &str| {
            let scheme = if rules.dpop.is_some() {
                "DPoP"
            } else {
                "Bearer"
            };
            let challenge = format!("{scheme} error=\"{error}\"{place}{}", rules.challenge);
            out.respond(status, &[("www-authenticate", &challenge)], "");
        };
        let field = seen.header("authorization").unwrap_or_default();
        let token = field
            .strip_prefix("Bearer ")
            .or_else(|| field.strip_prefix("DPoP "));
        let allowed = token.and_then(|token| lock(&self.tokens).get(token).cloned());
        let Some(allowed) = allowed else {
            return refuse(out, "401 Unauthorized", "invalid_token");
        };
        if let Some((_, nonce)) = rules.dpop
            && field.starts_with("DPoP ")
            && proven(seen)["nonce"].as_str().unwrap_or_default() != nonce
        {
            let fields = [
                ("dpop-nonce", nonce),
                ("www-authenticate", "DPoP error=\"use_dpop_nonce\""),
            ];
            return out.respond("401 Unauthorized", &fields, "");
        }
        let body = seen.body();
        let tool = body["params"]["name"].as_str().unwrap_or_default();
        if let Some(needed) = rules.needs.get(tool)
            && !scopes(needed).is_subset(&allowed)
        {
            let challenge =
                format!("Bearer error=\"insufficient_scope\", scope=\"{needed}\"{place}");
            return out.respond("403 Forbidden", &[("www-authenticate", &challenge)], "");
        }
        let ttl = rules.ttl;
        drop(rules);
        match &*seen.asks() {
            "server/discover" => out.result(seen, discovered()),
            "tools/list" => out.result(
                seen,
                json!({
                    "resultType": "complete", "ttlMs": ttl, "cacheScope": "private",
                    "tools": [{ "name": "x", "inputSchema": { "type": "object" } }],
                }),
            ),
            _ => out.result(seen, text("done")),
        }
    }

    fn serve_issuer(&self, seen: &Seen, out: &mut Out) {
        if step_on(seen, out) {
            return;
        }
        let rules = lock(&self.rules);
        let mut places = rules.places.iter();
        if let Some((_, document)) = places.find(|(place, _)| path(seen) == place) {
            return out.json(document);
        }
        if !rules.places.is_empty() && path(seen).contains("/.well-known") {
            return out.respond("404 Not Found", &[], "");
        }
        if let Some((status, target)) = &rules.metadata_redirect
            && path(seen).contains("/.well-known")
        {
            return out.respond(status, &[("location", target)], "");
        }
        drop(rules);
        self.serve_issuer_at(path(seen), seen, out);
    }

    fn serve_issuer_at(&self, path: &str, seen: &Seen, out: &mut Out) {
        let issuer = self.issuer_url.get().unwrap();
        match path {
            "/.well-known/oauth-authorization-server" | MOVED => {
                let document = json!({
                    "issuer": issuer, "authorization_endpoint": format!("{issuer}/authorize"),
                    "token_endpoint": format!("{issuer}/token"),
                    "registration_endpoint": format!("{issuer}/register"),
                    "code_challenge_methods_supported": ["S256"],
                    "token_endpoint_auth_methods_supported":
                        ["none", "client_secret_basic", "client_secret_post", "private_key_jwt"],
                });
                out.json(&merged(document, &lock(&self.rules).metadata));
            }
            "/authorize" => self.authorize(seen, out),
            "/register" => self.register(seen, out),
            "/token" | "/exchange" => self.token(seen, out),
            _ => out.respond("404 Not Found", &[], ""),
        }
    }

    fn authorize(&self, seen: &Seen, out: &mut Out) {
        let query = seen.target.split_once('?').unwrap().1;
        let asked = pairs(query);
        lock(&self.seen).authorizations.push(asked.clone());
        let code = self.next("code");
        lock(&self.codes).insert(code.clone(), asked.clone());
        let mut given = BTreeMap::from([("code", code), ("state", asked["state"].clone())]);
        for (name, value) in &lock(&self.rules).redirect {
            match value {
                Some(value) => _ = given.insert(name, value.clone()),
                None => _ = given.remove(name),
            }
        }
        let given = given
            .iter()
            .map(|(name, value)| format!("{name}={}", encode(value)));
        let given: Vec<String> = given.collect();
        let target = format!("{}?{}", asked["redirect_uri"], given.join("&"));
        out.respond("302 Found", &[("location", &target)], "");
    }

    fn register(&self, seen: &Seen, out: &mut Out) {
        let body = seen.body();
        lock(&self.seen).registrations.push(body.clone());
        let (status, more) = lock(&self.rules).registration.clone();
        let mut answer = merged(body, &more);
        if answer.get("client_id").is_none() {
            answer["client_id"] = json!(self.next("client"));
        }
        out.respond(
            status,
            &[("content-type", "application/json")],
            &answer.to_string(),
        );
    }

    fn token(&self, seen: &Seen, out: &mut Out) {
        let form = pairs(&seen.text);
        lock(&self.seen).tokens.push(form.clone());
        let dpop = lock(&self.rules).dpop;
        if let Some((nonce, _)) = dpop
            && proven(seen)["nonce"].as_str().unwrap_or_default() != nonce
        {
            let fields = [("dpop-nonce", nonce), ("content-type", "application/json")];
            let body = json!({ "error": "use_dpop_nonce" }).to_string();
            return out.respond("400 Bad Request", &fields, &body);
        }
        let hook = lock(&self.rules).on_token.clone();
        if hook.is_some_and(|hook| hook(&form, out)) {
            return;
        }
        match self.grant(&form) {
            Ok(granted) => self.give(out, &granted),
            Err(why) => refuse(out, why, "that was not it"),
        }
    }

    /// Gives a token that allows some scopes, and a refresh token.
    pub(crate) fn give(&self, out: &mut Out, granted: &BTreeSet<String>) {
        let (access, refresh) = (self.next("access"), self.next("refresh"));
        lock(&self.tokens).insert(access.clone(), granted.clone());
        lock(&self.refreshes).insert(refresh.clone());
        let granted: Vec<&str> = granted.iter().map(String::as_str).collect();
        let answer = json!({
            "access_token": access, "token_type": "Bearer", "expires_in": 3600,
            "refresh_token": refresh, "scope": granted.join(" "),
        });
        out.json(&merged(answer, &lock(&self.rules).token));
    }

    /// What a request for a token is granted.
    fn grant(&self, form: &Pairs) -> Result<BTreeSet<String>, &'static str> {
        match &*form["grant_type"] {
            "authorization_code" => {
                // Good once.
                let asked = lock(&self.codes)
                    .remove(&form["code"])
                    .ok_or("invalid_grant")?;
                let fits = challenge_of(&form["code_verifier"]) == asked["code_challenge"]
                    && form["redirect_uri"] == asked["redirect_uri"]
                    && form["resource"] == asked["resource"];
                let scope = asked.get("scope").map(String::as_str);
                fits.then(|| scopes(scope.unwrap_or_default()))
                    .ok_or("invalid_grant")
            }
            "refresh_token" => {
                // Rotated: good once.
                let known = lock(&self.refreshes).remove(&form["refresh_token"]);
                known.then(BTreeSet::new).ok_or("invalid_grant")
            }
            _ => Ok(scopes(
                form.get("scope").map(String::as_str).unwrap_or_default(),
            )),
        }
    }
}

/// The claims of the proof that goes with a request, whose signature is checked with the key that it brings.
pub(crate) fn proven(seen: &Seen) -> Value {
    let proof = seen.header("dpop").expect("a proof");
    let (header, claims) = jwt(proof);
    assert_eq!(
        (&header["typ"], &header["alg"]),
        (&json!("dpop+jwt"), &json!("ES256"))
    );
    check_es256(proof, &header["jwk"]);
    claims
}

/// Checks a signature of ES256 with a public key.
pub(crate) fn check_es256(token: &str, jwk: &Value) {
    let part = |name: &str| URL_SAFE_NO_PAD.decode(jwk[name].as_str().unwrap()).unwrap();
    assert_eq!((&jwk["kty"], &jwk["crv"]), (&json!("EC"), &json!("P-256")));
    assert!(jwk.get("d").is_none(), "the private key is in it");
    let point = [vec![4], part("x"), part("y")].concat();
    let (signed, signature) = token.rsplit_once('.').unwrap();
    let algorithm = &ring::signature::ECDSA_P256_SHA256_FIXED;
    ring::signature::UnparsedPublicKey::new(algorithm, point)
        .verify(
            signed.as_bytes(),
            &URL_SAFE_NO_PAD.decode(signature).unwrap(),
        )
        .unwrap();
}

/// An error of a token endpoint.
pub(crate) fn refuse(out: &mut Out, code: &str, description: &str) {
    let body = json!({ "error": code, "error_description": description });
    let fields = [("content-type", "application/json")];
    out.respond("400 Bad Request", &fields, &body.to_string());
}
