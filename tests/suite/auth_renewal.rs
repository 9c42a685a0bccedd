//! What becomes of a refresh token: kept while it may be good, used by whoever has the newest, and spent only when it is worthless.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, Mutex, mpsc};

use mcplink::ErrorKind;
use mcplink::auth::{
    CallbackUserAgent, FileStore, Login, MemoryStore, OAuth, OAuthBuilder, RegisteredClient,
    Secret, Store,
};
use mcplink::transport::http::CredentialWait;
use serde_json::{Value, json};

use crate::auth_tokens::{Folder, slow_person};
use crate::authworld::{REDIRECT, World, follow, refuse};
use crate::common::{LONG, wait_until};
use crate::stub::{Stub, asker, call};

fn grants(world: &World) -> Vec<String> {
    let tokens = world.record().tokens;
    let grants = tokens.iter().map(|form| form["grant_type"].clone());
    grants.collect()
}

/// Has refreshes answered with this, and nothing else.
fn answer_refreshes(world: &World, status: &'static str, body: &'static str) {
    world.set(|rules| {
        rules.on_token = Some(Arc::new(move |form, out| {
            let is_refresh = form["grant_type"] == "refresh_token";
            if is_refresh {
                out.respond(status, &[("content-type", "application/json")], body);
            }
            is_refresh
        }));
    });
}

fn kept(store: &MemoryStore, world: &World) -> Value {
    let name = format!("tokens {}", world.mcp.url());
    let kept = store.load(&name).unwrap().unwrap();
    serde_json::from_str(kept.reveal()).unwrap()
}

const TEMPORARY: [(&str, &str); 9] = [
    ("302 Found", ""),
    ("307 Temporary Redirect", ""),
    ("408 Request Timeout", ""),
    ("425 Too Early", ""),
    ("429 Too Many Requests", "<html>Slow down</html>"),
    // Some say it with a code of OAuth.
    ("429 Too Many Requests", r#"{"error":"access_denied"}"#),
    ("500 Internal Server Error", r#"{"error":"server_error"}"#),
    ("503 Service Unavailable", ""),
    ("400 Bad Request", r#"{"error":"use_dpop_nonce"}"#),
];

const FOR_GOOD: [(&str, &str); 10] = [
    ("400 Bad Request", ""),
    ("400 Bad Request", r#"{"error":"invalid_grant"}"#),
    ("401 Unauthorized", "<html>Who?</html>"),
    ("403 Forbidden", "<html>Blocked</html>"),
    ("403 Forbidden", r#"{"error":"Forbidden"}"#),
    ("404 Not Found", r#"{"error":"not_found"}"#),
    ("410 Gone", ""),
    ("418 I'm a teapot", r#"{"error":{"code":418}}"#),
    ("422 Unprocessable Entity", r#"{"message":"bad token"}"#),
    ("499 Odd", ""),
];

// RFC 6749, section 5.2
#[test]
fn temporary_failures_cost_no_refresh_token() {
    for (status, body) in TEMPORARY {
        let world = World::start();
        let client = world.connect(world.login()).unwrap();
        world.revoke_tokens();
        answer_refreshes(&world, status, body);
        for _ in 0..2 {
            let error = call(&client, "x").unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Auth, "{error}");
            assert!(error.to_string().contains(&status[..3]), "{error}");
        }
        world.set(|rules| rules.on_token = None);
        assert_eq!(call(&client, "x").unwrap(), "done");
        let refresh = "refresh_token";
        assert_eq!(
            grants(&world),
            ["authorization_code", refresh, refresh, refresh],
            "{status} {body}"
        );
        assert_eq!(world.record().authorizations.len(), 1);
    }
}

#[test]
fn tokens_that_expire_keep_their_refresh_token_through_such_answers() {
    for (status, body) in TEMPORARY {
        let world = World::with(|rules| rules.token = json!({ "expires_in": 0 }));
        let store = Arc::new(MemoryStore::new());
        let builder = world.login().store(Arc::clone(&store));
        let client = world.connect(builder).unwrap();
        answer_refreshes(&world, status, body);
        // The server has another clock.
        assert_eq!(call(&client, "x").unwrap(), "done", "{status} {body}");
        let refresh = kept(&store, &world)["refresh"].clone();
        assert!(refresh.is_string(), "{status} {body}: {refresh}");
    }
}

// RFC 6749, section 5.2
#[test]
fn a_refresh_token_that_is_refused_leads_to_one_login() {
    for (status, body) in FOR_GOOD {
        let world = World::start();
        let store = Arc::new(MemoryStore::new());
        let leaves = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&leaves);
        let person = CallbackUserAgent::new(REDIRECT, move |login: &Login<'_>| {
            if flag.load(Ordering::SeqCst) {
                return Err(mcplink::Error::new(ErrorKind::State, "not now"));
            }
            Ok(Secret::new(follow(login.url())))
        });
        let oauth = OAuth::login(person).store(Arc::clone(&store));
        let client = world.connect(oauth).unwrap();
        let access = kept(&store, &world)["access"].clone();
        world.revoke_tokens();
        answer_refreshes(&world, status, body);
        // Nobody logs in: the refresh token is not sent again for that.
        leaves.store(true, Ordering::SeqCst);
        for _ in 0..2 {
            let error = call(&client, "x").unwrap_err();
            assert!(error.to_string().contains("not now"), "{error}");
            let kept = kept(&store, &world);
            assert!(kept["refresh"].is_null(), "{status} {body}");
            assert_eq!(kept["access"], access);
        }
        let (code, refresh) = ("authorization_code", "refresh_token");
        assert_eq!(grants(&world), [code, refresh], "{status} {body}");
        leaves.store(false, Ordering::SeqCst);
        assert_eq!(call(&client, "x").unwrap(), "done", "{status} {body}");
        assert_eq!(grants(&world), [code, refresh, code], "{status} {body}");
        assert!(kept(&store, &world)["refresh"].is_string());
    }
}

#[test]
fn the_login_after_a_refused_refresh_uses_the_registration() {
    for (status, body) in FOR_GOOD {
        let world = World::start();
        let client = world.connect(world.login()).unwrap();
        world.revoke_tokens();
        answer_refreshes(&world, status, body);
        assert_eq!(call(&client, "x").unwrap(), "done", "{status} {body}");
        let record = world.record();
        assert_eq!(record.registrations.len(), 1, "{status} {body}");
        assert_eq!(record.authorizations.len(), 2, "{status} {body}");
    }
}

#[test]
fn tokens_that_expire_are_used_to_their_end_without_a_refused_refresh_token() {
    for (status, body) in FOR_GOOD {
        let world = World::with(|rules| rules.token = json!({ "expires_in": 0 }));
        let store = Arc::new(MemoryStore::new());
        let builder = world.login().store(Arc::clone(&store));
        let client = world.connect(builder).unwrap();
        let before = grants(&world).len();
        answer_refreshes(&world, status, body);
        // The server has another clock.
        for _ in 0..2 {
            assert_eq!(call(&client, "x").unwrap(), "done", "{status} {body}");
        }
        assert!(kept(&store, &world)["refresh"].is_null());
        let (code, refresh) = ("authorization_code", "refresh_token");
        assert_eq!(grants(&world)[before..], [refresh], "{status} {body}");
        world.revoke_tokens();
        assert_eq!(call(&client, "x").unwrap(), "done", "{status} {body}");
        assert_eq!(grants(&world)[before..before + 2], [refresh, code]);
    }
}

// RFC 9110, section 10.2.3
#[test]
fn a_busy_authorization_server_says_when_to_try_again() {
    const NOW: (&str, &str) = ("date", "Sun, 06 Nov 1994 08:49:37 GMT");
    for (status, after, told) in [
        ("503 Service Unavailable", "30", Some("30 s")),
        ("429 Too Many Requests", "3600", Some("3600 s")),
        (
            "503 Service Unavailable",
            "Sun, 06 Nov 1994 08:50:39 GMT",
            Some("62 s"),
        ),
        (
            "408 Request Timeout",
            "Sunday, 06-Nov-94 08:49:42 GMT",
            Some("5 s"),
        ),
        ("425 Too Early", "Sun Nov  6 09:49:37 1994", Some("3600 s")),
        // There is nothing to wait for, or it can't be read.
        ("429 Too Many Requests", "0", None),
        ("429 Too Many Requests", "-1", None),
        ("503 Service Unavailable", "later", None),
        ("503 Service Unavailable", "99999999999999999999999", None),
        ("503 Service Unavailable", NOW.1, None),
        (
            "503 Service Unavailable",
            "Sat, 05 Nov 1994 08:49:37 GMT",
            None,
        ),
    ] {
        let world = World::start();
        let client = world.connect(world.login()).unwrap();
        world.revoke_tokens();
        world.set(|rules| {
            rules.on_token = Some(Arc::new(move |_, out| {
                out.respond(status, &[NOW, ("retry-after", after)], "");
                true
            }));
        });
        let said = call(&client, "x").unwrap_err().to_string();
        assert!(said.contains(&status[..3]), "{said}");
        match told {
            Some(span) => {
                let text = format!("; try again in {span}");
                assert!(said.ends_with(&text), "{after}: {said}");
            }
            None => assert!(!said.contains("try again"), "{after}: {said}"),
        }
    }
}

#[test]
fn a_busy_server_of_metadata_says_when_to_try_again() {
    let busy = Stub::start(|_, out| {
        out.respond("503 Service Unavailable", &[("retry-after", "30")], "");
    });
    let issuer = format!("http://{}", busy.address());
    let world = World::with(|rules| {
        rules.resource = json!({ "authorization_servers": [issuer] });
    });
    let said = world.connect(world.login()).unwrap_err().to_string();
    assert!(said.ends_with("; try again in 30 s"), "{said}");
}

#[test]
fn wrong_credentials_of_a_registered_client_cost_no_refresh_token() {
    const NO_CLIENT: &str = r#"{"error":"invalid_client","error_description":"bad secret"}"#;
    let world = World::with(|rules| rules.token = json!({ "expires_in": 0 }));
    let store = Arc::new(MemoryStore::new());
    let lines = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&lines);
    let me = RegisteredClient::new(world.issuer(), "me").secret("s3cret");
    let builder = world.login().registered(me).store(Arc::clone(&store));
    let builder = builder.on_log(move |line| log.lock().unwrap().push(line.to_owned()));
    let client = world.connect(builder).unwrap();
    answer_refreshes(&world, "401 Unauthorized", NO_CLIENT);
    // The server has another clock, and takes the old one still.
    assert_eq!(call(&client, "x").unwrap(), "done");
    assert!(kept(&store, &world)["refresh"].is_string());
    let said = lines.lock().unwrap().join("\n");
    assert!(said.contains("credentials are refused"), "{said}");
    // Nobody is asked to log in for nothing.
    world.revoke_tokens();
    let error = call(&client, "x").unwrap_err();
    let said = error.to_string();
    assert_eq!(error.kind(), ErrorKind::Auth, "{said}");
    assert_eq!(error.oauth_code(), Some("invalid_client"));
    assert!(
        said.contains("bad secret") && said.contains("credentials are refused"),
        "{said}"
    );
    assert_eq!(world.record().authorizations.len(), 1);
    assert!(kept(&store, &world)["refresh"].is_string());
    // With the right ones the refresh token goes on.
    world.set(|rules| rules.on_token = None);
    let me = RegisteredClient::new(world.issuer(), "me").secret("right");
    let builder = world.login().registered(me).store(store);
    assert_eq!(call(&world.connect(builder).unwrap(), "x").unwrap(), "done");
    assert_eq!(world.record().authorizations.len(), 1);
}

/// Requests for tokens and for metadata.
fn asked(world: &World) -> (usize, usize) {
    (world.record().tokens.len(), world.issuer.seen().len())
}

#[test]
fn wrong_credentials_are_shown_once_and_then_not_for_a_while() {
    let me =
        |world: &World, secret: &str| RegisteredClient::new(world.issuer(), "me").secret(secret);
    let person = |world: &World| world.login().registered(me(world, "wrong"));
    let machine = |world: &World| OAuth::client_credentials(me(world, "wrong"));
    let builders: [&dyn Fn(&World) -> OAuthBuilder; 2] = [&person, &machine];
    for builder in builders {
        let world = World::with(|rules| rules.token = json!({ "expires_in": 0 }));
        let store = Arc::new(MemoryStore::new());
        let oauth = builder(&world).store(Arc::clone(&store)).build().unwrap();
        let client = world.connect_to(&oauth).unwrap();
        world.set(|rules| {
            rules.on_token = Some(Arc::new(|_, out| {
                refuse(out, "invalid_client", "bad secret");
                true
            }));
        });
        world.revoke_tokens();
        let (before, _) = asked(&world);
        call(&client, "x").unwrap_err();
        let once = asked(&world);
        assert_eq!(once.0, before + 1, "one refused request");
        for _ in 0..3 {
            let error = call(&client, "x").unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Auth, "{error}");
            assert_eq!(error.oauth_code(), Some("invalid_client"));
            let said = error.to_string();
            for part in ["bad secret", "RegisteredClient", "OAuth::forget"] {
                assert!(said.contains(part), "{said}");
            }
        }
        assert_eq!(asked(&world), once, "and then none");
        // What is right works at once: other settings here or in another process, and a new beginning.
        let corrected = world
            .login()
            .registered(me(&world, "right"))
            .store(Arc::clone(&store));
        world.set(|rules| {
            rules.on_token = None;
            rules.token = json!({ "expires_in": 3600 });
        });
        assert!(call(&client, "x").is_err(), "it rests");
        assert_eq!(
            call(&world.connect(corrected).unwrap(), "x").unwrap(),
            "done"
        );
        assert_eq!(
            call(&client, "x").unwrap(),
            "done",
            "with what the other got"
        );
        let before = world.record().tokens.len();
        world.revoke_all();
        world.set(|rules| {
            rules.on_token = Some(Arc::new(|_, out| {
                refuse(out, "invalid_client", "bad secret");
                true
            }));
        });
        call(&client, "x").unwrap_err();
        world.set(|rules| rules.on_token = None);
        call(&client, "x").unwrap_err();
        oauth.forget(&world.mcp.url()).unwrap();
        assert_eq!(call(&client, "x").unwrap(), "done");
        assert_eq!(world.record().tokens.len(), before + 2);
    }
}

// It is tried again by itself, so this takes as long as the rest.
#[test]
fn credentials_that_are_set_right_elsewhere_are_tried_again_after_the_rest() {
    let world = World::start();
    let me = RegisteredClient::new(world.issuer(), "me").secret("late");
    let client = world.connect(OAuth::client_credentials(me)).unwrap();
    world.revoke_tokens();
    world.set(|rules| {
        rules.on_token = Some(Arc::new(|_, out| {
            refuse(out, "invalid_client", "not known yet");
            true
        }));
    });
    call(&client, "x").unwrap_err();
    world.set(|rules| rules.on_token = None);
    let pause = std::time::Duration::from_millis(100);
    wait_until("it is tried again", || {
        std::thread::sleep(pause);
        call(&client, "x").is_ok()
    });
}

#[test]
fn what_an_authorization_server_says_of_a_refresh_token_counts_with_any_status() {
    for (status, body) in [
        ("400 Bad Request", r#"{"error":"invalid_grant"}"#),
        ("400 Bad Request", r#"{"error":"refresh_token_expired"}"#),
        ("401 Unauthorized", r#"{"error":"invalid_client"}"#),
        ("403 Forbidden", r#"{"error":"invalid_grant"}"#),
        ("403 Forbidden", r#"{"error":"unauthorized_client"}"#),
        // Some say everything with a status that means success.
        ("200 OK", r#"{"error":"bad_refresh_token"}"#),
    ] {
        let world = World::start();
        let client = world.connect(world.login()).unwrap();
        world.revoke_tokens();
        answer_refreshes(&world, status, body);
        assert_eq!(call(&client, "x").unwrap(), "done", "{status} {body}");
        let (code, refresh) = ("authorization_code", "refresh_token");
        assert_eq!(grants(&world), [code, refresh, code], "{status} {body}");
    }
}

#[test]
fn a_refusal_that_looks_like_success_says_why() {
    let world = World::with(|rules| {
        rules.on_token = Some(Arc::new(|_, out| {
            let body =
                json!({ "error": "bad_verification_code", "error_description": "it is old" });
            out.json(&body);
            true
        }));
    });
    let error = world.connect(world.login()).unwrap_err();
    let said = error.to_string();
    assert!(said.contains("bad_verification_code: it is old"), "{said}");
}

#[test]
fn an_empty_refresh_token_is_none() {
    let world = World::start();
    let client = world.connect(world.login()).unwrap();
    world.set(|rules| rules.token = json!({ "refresh_token": "" }));
    let state = Arc::clone(&world.state);
    world.set(|rules| {
        rules.on_token = Some(Arc::new(move |form, out| {
            assert_eq!(form["grant_type"], "refresh_token");
            assert!(form["refresh_token"].starts_with("refresh-"));
            state.give(out, &std::collections::BTreeSet::new());
            true
        }));
    });
    for _ in 0..2 {
        world.revoke_tokens();
        assert_eq!(call(&client, "x").unwrap(), "done");
    }
}

// RFC 6749, section 6
#[test]
fn what_is_kept_does_not_grow_with_each_renewal() {
    let world = World::with(|rules| rules.token = json!({ "scope": "granted" }));
    let store = Arc::new(MemoryStore::new());
    let builder = world.login().store(Arc::clone(&store));
    let client = world.connect(builder).unwrap();
    for number in 0..3 {
        world.set(|rules| rules.token = json!({ "scope": format!("more-{number}") }));
        world.revoke_tokens();
        assert_eq!(call(&client, "x").unwrap(), "done");
    }
    assert_eq!(kept(&store, &world)["scopes"], json!(["granted"]));
}

// OAuth 2.1, section 4.3.1: one that is used again may cost all tokens of its login.
#[test]
fn a_refresh_token_that_another_process_has_used_is_not_used_again() {
    for expiring in [false, true] {
        let world = World::start();
        let store = Arc::new(MemoryStore::new());
        if expiring {
            world.set(|rules| rules.token = json!({ "expires_in": 0 }));
        }
        let open = || {
            let builder = world.login().store(Arc::clone(&store));
            world.connect(builder).unwrap()
        };
        let (one, other) = (open(), open());
        world.revoke_tokens();
        // What the other gets has expired by the time the first one looks.
        world.set(|rules| rules.token = json!({ "expires_in": 0 }));
        assert_eq!(call(&other, "x").unwrap(), "done");
        let newest = kept(&store, &world)["refresh"].clone();
        let before = world.record().tokens.len();
        world.revoke_tokens();
        assert_eq!(call(&one, "x").unwrap(), "done");
        let record = world.record();
        assert_eq!(record.authorizations.len(), 1, "expiring: {expiring}");
        let used = &record.tokens[before];
        assert_eq!(used["refresh_token"], newest.as_str().unwrap());
    }
}

/// Keeps nothing from some time on.
struct Full {
    inner: MemoryStore,
    is_full: AtomicBool,
}

impl Store for Full {
    fn load(&self, name: &str) -> mcplink::Result<Option<Secret>> {
        self.inner.load(name)
    }

    fn save(&self, name: &str, content: &Secret) -> mcplink::Result<()> {
        if self.is_full.load(Ordering::SeqCst) {
            return Err(mcplink::Error::new(ErrorKind::Io, "there is no room"));
        }
        self.inner.save(name, content)
    }

    fn remove(&self, name: &str) -> mcplink::Result<()> {
        self.inner.remove(name)
    }
}

#[test]
fn what_could_not_be_kept_is_not_given_up_for_what_was_kept_before() {
    let world = World::start();
    let store = Arc::new(Full {
        inner: MemoryStore::new(),
        is_full: false.into(),
    });
    let builder = world.login().store(Arc::clone(&store));
    let client = world.connect(builder).unwrap();
    store.is_full.store(true, Ordering::SeqCst);
    for _ in 0..3 {
        world.revoke_tokens();
        assert_eq!(call(&client, "x").unwrap(), "done");
    }
    let (code, refresh) = ("authorization_code", "refresh_token");
    assert_eq!(grants(&world), [code, refresh, refresh, refresh]);
}

fn login_to(redirect: &str, store: &Arc<MemoryStore>) -> OAuthBuilder {
    let visitor = CallbackUserAgent::new(redirect, |login: &Login<'_>| {
        Ok(Secret::new(follow(login.url())))
    });
    OAuth::login(visitor).store(Arc::clone(store))
}

#[test]
fn a_registration_for_another_place_costs_earlier_tokens_nothing() {
    let world = World::start();
    let store = Arc::new(MemoryStore::new());
    let one = world
        .connect(login_to("http://127.0.0.1:33418/callback", &store))
        .unwrap();
    // Another server of the same authorization server, while the port was taken.
    let place = format!("{}?tenant=1", world.mcp.url());
    let open_other = || {
        let oauth = login_to("http://127.0.0.1:33419/callback", &store);
        let http = mcplink::transport::http::Http::new(&place).unwrap();
        asker().connect(http.authorizer(oauth.build().unwrap()))
    };
    let other = open_other().unwrap();
    assert_eq!(world.record().registrations.len(), 2);
    world.revoke_tokens();
    for client in [&one, &other] {
        assert_eq!(call(client, "x").unwrap(), "done");
    }
    let record = world.record();
    assert_eq!(record.authorizations.len(), 2);
    let ids: Vec<&str> = record.tokens[2..]
        .iter()
        .map(|form| &*form["client_id"])
        .collect();
    assert_ne!(ids[0], ids[1]);
    // And who logs in again at either place is known there.
    world.revoke_all();
    for client in [&one, &other] {
        assert_eq!(call(client, "x").unwrap(), "done");
    }
    assert_eq!(world.record().registrations.len(), 2);
}

#[test]
fn a_login_keeps_no_other_process_from_renewing_its_tokens() {
    let world = World::with(|rules| {
        rules.needs.insert("write".to_owned(), "write".to_owned());
    });
    let folder = Folder::new("login");
    let other = world.connect(world.login().store(folder.store())).unwrap();
    let (visitor, is_asked) = slow_person();
    let oauth = OAuth::login(visitor).store(folder.store());
    let one = world.connect(oauth).unwrap();
    let (done, is_done) = mpsc::channel();
    std::thread::scope(|scope| {
        let write = scope.spawn(|| call(&one, "write"));
        let go = is_asked.recv_timeout(LONG).unwrap();
        world.revoke_tokens();
        scope.spawn(|| done.send(call(&other, "x")));
        let came = is_done.recv_timeout(LONG);
        go.send(()).unwrap();
        assert_eq!(came.unwrap().unwrap(), "done");
        assert_eq!(write.join().unwrap().unwrap(), "done");
    });
    let (code, refresh) = ("authorization_code", "refresh_token");
    assert_eq!(grants(&world), [code, refresh, code]);
}

#[test]
fn processes_that_need_a_login_at_once_share_it() {
    let world = World::start();
    let folder = Folder::new("shared-login");
    let clients = [(); 3].map(|()| {
        let oauth = world.login().store(folder.store());
        world.connect(oauth).unwrap()
    });
    world.revoke_all();
    let barrier = Barrier::new(clients.len());
    std::thread::scope(|scope| {
        for client in &clients {
            scope.spawn(|| {
                barrier.wait();
                assert_eq!(call(client, "x").unwrap(), "done");
            });
        }
    });
    assert_eq!(world.record().authorizations.len(), 2);
}

type StepHook = dyn Fn(Step, &str) + Send + Sync;

/// A folder's store, in which the test sees to it who comes when.
struct Ordered {
    inner: FileStore,
    /// Before something is locked, before it is kept, and behind that.
    on: Box<StepHook>,
}

#[derive(PartialEq)]
enum Step {
    Lock,
    Save,
    Saved,
}

impl Store for Ordered {
    fn load(&self, name: &str) -> mcplink::Result<Option<Secret>> {
        self.inner.load(name)
    }

    fn save(&self, name: &str, content: &Secret) -> mcplink::Result<()> {
        (self.on)(Step::Save, name);
        self.inner.save(name, content)?;
        (self.on)(Step::Saved, name);
        Ok(())
    }

    fn remove(&self, name: &str) -> mcplink::Result<()> {
        self.inner.remove(name)
    }

    fn lock(&self, name: &str, waiting: &CredentialWait) -> mcplink::Result<Box<dyn Send>> {
        (self.on)(Step::Lock, name);
        self.inner.lock(name, waiting)
    }
}

#[test]
fn a_login_is_not_lost_to_a_renewal_in_another_process() {
    let world = World::with(|rules| {
        rules.needs.insert("write".to_owned(), "write".to_owned());
    });
    let folder = Folder::new("login-and-renewal");
    let name = format!("tokens {}", world.mcp.url());
    let was_asked = Arc::new(AtomicBool::new(false));
    let (come, has_come) = mpsc::channel();
    let (reach, is_reached) = mpsc::channel();
    // The one renews, and is about to keep what it got until the other one has kept its own, or waits for its turn.
    let (flag, own) = (Arc::clone(&was_asked), name.clone());
    let has_come = Mutex::new(has_come);
    let renewing = Ordered {
        inner: folder.store(),
        on: Box::new(move |step, what| {
            if step == Step::Save && what == own && flag.load(Ordering::SeqCst) {
                reach.send(()).unwrap();
                has_come.lock().unwrap().recv_timeout(LONG).unwrap();
            }
        }),
    };
    let was_answered = Arc::new(AtomicBool::new(false));
    let (flag, own) = (Arc::clone(&was_answered), name.clone());
    let logging_in = Ordered {
        inner: folder.store(),
        on: Box::new(move |step, what| {
            let is_there = matches!(step, Step::Lock | Step::Saved);
            if is_there && what == own && flag.load(Ordering::SeqCst) {
                // It may not be waited for any more.
                _ = come.send(());
            }
        }),
    };
    let one = world.connect(world.login().store(renewing)).unwrap();
    let (visitor, is_asked) = slow_person();
    let other = OAuth::login(visitor).store(logging_in);
    let other = world.connect(other).unwrap();
    std::thread::scope(|scope| {
        let write = scope.spawn(|| call(&other, "write"));
        let go = is_asked.recv_timeout(LONG).unwrap();
        was_asked.store(true, Ordering::SeqCst);
        world.revoke_tokens();
        let renewed = scope.spawn(|| call(&one, "x"));
        is_reached.recv_timeout(LONG).unwrap();
        was_answered.store(true, Ordering::SeqCst);
        go.send(()).unwrap();
        assert_eq!(renewed.join().unwrap().unwrap(), "done");
        assert_eq!(write.join().unwrap().unwrap(), "done");
    });
    // The next process may do what the person allowed.
    let next = world.connect(world.login().store(folder.store())).unwrap();
    assert_eq!(call(&next, "write").unwrap(), "done");
    assert_eq!(world.record().authorizations.len(), 2);
}
