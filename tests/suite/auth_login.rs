//! A person logs in: what is sent, what comes back, and whom it is taken from.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};

use mcplink::ErrorKind;
use mcplink::auth::{CallbackUserAgent, Login, OAuth, RegisteredClient, Secret};
use serde_json::json;

use crate::authworld::{REDIRECT, World, basic, follow, refuse};
use crate::common::{LONG, wait_until};
use crate::stub::{Stub, asker, call};

// M-AUTH-B-01, M-AUTH-C-11, M-AUTH-C-25, M-AUTH-C-26, M-AUTH-C-27, M-AUTH-C-28, M-AUTH-C-29, M-AUTH-C-32, M-AUTH-B-33, M-AUTH-C-34,
// M-AUTH-C-35, M-AUTH-C-36, M-ASEC-C-09, M-ASEC-C-11, M-ASEC-C-17, M-REG-C-16, M-REG-C-17, M-AUTH-C-45, L-AUTH-B-01, L-AUTH-C-36,
// L-AUTH-C-37, L-AUTH-C-38, L-AUTH-C-39, L-AUTH-C-40, L-AUTH-C-43, L-AUTH-B-44, L-AUTH-C-45, L-AUTH-C-66, L-AUTH-C-68, L-AUTH-C-73,
// L-AUTH-B-33
#[test]
fn a_login_gives_a_token_that_goes_with_every_request() {
    let world = World::start();
    let client = world.connect(world.login()).unwrap();
    assert_eq!(call(&client, "x").unwrap(), "done");
    assert_eq!(call(&client, "x").unwrap(), "done");
    let record = world.record();
    let [registration] = &record.registrations[..] else {
        panic!("one registration: {:?}", record.registrations);
    };
    assert_eq!(registration["redirect_uris"], json!([REDIRECT]));
    assert_eq!(registration["application_type"], "native");
    assert_eq!(registration["client_name"], "asker");
    let grants = json!(["authorization_code", "refresh_token"]);
    assert_eq!(registration["grant_types"], grants);
    let ([asked], [redeemed]) = (&record.authorizations[..], &record.tokens[..]) else {
        panic!("one login");
    };
    assert_eq!(asked["response_type"], "code");
    assert_eq!(asked["redirect_uri"], REDIRECT);
    assert_eq!(asked["code_challenge_method"], "S256");
    assert_eq!(asked["code_challenge"].len(), 43);
    assert!(asked["state"].len() >= 43, "{asked:?}");
    assert_eq!(asked["resource"], world.mcp.url());
    assert!(!asked.contains_key("scope"), "{asked:?}");
    assert_eq!(redeemed["grant_type"], "authorization_code");
    assert_eq!(redeemed["resource"], world.mcp.url());
    assert_eq!(redeemed["client_id"], asked["client_id"]);
    assert!((43..=128).contains(&redeemed["code_verifier"].len()));
    let seen = world.mcp.seen_by("POST");
    assert_eq!(seen.len(), 4, "discover twice, two calls");
    assert_eq!(seen[0].header("authorization"), None);
    for seen in &seen[1..] {
        let field = seen.header("authorization").unwrap();
        assert!(field.starts_with("Bearer access-"), "{field}");
        assert!(!seen.target.contains("access"), "{}", seen.target);
    }
}

// M-AUTH-C-35, L-AUTH-C-46, L-AUTH-C-47
#[test]
fn the_token_goes_with_every_request_of_a_session() {
    let issuer = World::start();
    let place = issuer.issuer().to_owned();
    let stub = Arc::new(Mutex::new(String::new()));
    let own = Arc::clone(&stub);
    let server = Stub::start(move |seen, out| {
        let url = own.lock().unwrap().clone();
        if seen.target.starts_with("/.well-known") {
            return out.json(&json!({ "resource": url, "authorization_servers": [place] }));
        }
        match (&*seen.method, seen.header("authorization"), &*seen.asks()) {
            (_, None, _) => out.respond("401 Unauthorized", &[], ""),
            ("POST", _, "initialize") => out.json_with(
                &[("mcp-session-id", "session-1")],
                &json!({
                    "jsonrpc": "2.0", "id": seen.id(),
                    "result": crate::stub::initialized("2025-11-25"),
                }),
            ),
            ("POST", _, "tools/call") => out.result(seen, crate::stub::text("done")),
            ("POST", ..) => out.accept(),
            _ => out.respond("405 Method Not Allowed", &[], ""),
        }
    });
    *stub.lock().unwrap() = server.url();
    let oauth = issuer.login().build().unwrap();
    let legacy = ["2025-11-25".parse().unwrap()];
    let client = asker()
        .revisions(&legacy)
        .connect(server.http().authorizer(oauth))
        .unwrap();
    call(&client, "x").unwrap();
    client.close();
    let seen = server.seen();
    let seen: Vec<_> = seen.iter().filter(|seen| seen.target == "/mcp").collect();
    let methods: Vec<_> = seen.iter().map(|seen| &*seen.method).collect();
    assert!(
        methods.contains(&"GET") && methods.contains(&"DELETE"),
        "{methods:?}"
    );
    let without = seen
        .iter()
        .filter(|seen| seen.header("authorization").is_none());
    assert_eq!(without.count(), 1, "the first one only");
}

/// The answer to a login as the authorization server gives it, and what comes of it.
fn answered(
    metadata: serde_json::Value,
    redirect: &[(&'static str, Option<&str>)],
) -> Result<(), String> {
    let world = World::start();
    let own = world.issuer().to_owned();
    world.set(|rules| {
        rules.metadata = metadata;
        rules.redirect = redirect
            .iter()
            .map(|(name, value)| (*name, value.map(|value| value.replace("{issuer}", &own))))
            .collect();
    });
    let connected = world.connect(world.login());
    let record = world.record();
    assert_eq!(record.authorizations.len(), 1);
    match connected {
        Ok(_) => {
            assert_eq!(record.tokens.len(), 1);
            Ok(())
        }
        Err(error) => {
            assert!(record.tokens.is_empty(), "the code went out: {error}");
            assert_eq!(error.kind(), ErrorKind::Auth, "{error}");
            Err(error.to_string())
        }
    }
}

// M-AUTH-C-19, M-AUTH-C-22, M-AUTH-C-23
#[test]
fn answers_are_taken_from_whom_was_asked_only() {
    let advertised = || json!({ "authorization_response_iss_parameter_supported": true });
    let silent = || json!({});
    let own = ("iss", Some("{issuer}"));
    assert_eq!(answered(advertised(), &[own]), Ok(()));
    assert_eq!(answered(silent(), &[own]), Ok(()));
    assert_eq!(answered(silent(), &[]), Ok(()));
    let missing = answered(advertised(), &[]).unwrap_err();
    assert!(
        missing.contains("does not say whom it is from"),
        "{missing}"
    );
    for other in [
        "https://evil.example",
        "{issuer}/",
        "HTTP{issuer}",
        "{issuer}%2F",
        "",
    ] {
        for metadata in [advertised(), silent()] {
            let error = answered(metadata, &[("iss", Some(other))]).unwrap_err();
            assert!(error.contains("another authorization server"), "{error}");
        }
    }
}

// M-AUTH-C-24
#[test]
fn what_somebody_else_says_is_not_shown() {
    let said = [
        ("iss", Some("https://evil.example")),
        ("error", Some("call_this_number")),
        ("error_description", Some("to be helped")),
    ];
    let error = answered(json!({}), &said).unwrap_err();
    assert!(
        !error.contains("number") && !error.contains("helped"),
        "{error}"
    );
    let said = [
        ("error", Some("access_denied")),
        ("error_description", Some("the user said no")),
        ("code", None),
    ];
    let error = answered(json!({}), &said).unwrap_err();
    assert!(error.contains("access_denied: the user said no"), "{error}");
}

// M-ASEC-C-19, L-AUTH-C-75
#[test]
fn answers_to_another_login_are_not_taken() {
    for state in [None, Some(""), Some("another")] {
        let error = answered(json!({}), &[("state", state)]).unwrap_err();
        assert!(error.contains("'state'"), "{error}");
    }
    let world = World::start();
    let twice = OAuth::login(CallbackUserAgent::new(REDIRECT, |login: &Login<'_>| {
        let answer = follow(login.url());
        assert!(login.is_answer(&answer));
        assert!(!login.is_answer(&answer.replace("state=", "state=x")));
        assert!(!login.is_answer(&answer.replace("/callback", "/other")));
        assert!(!login.is_answer("not a URL"));
        let state = answer.split("state=").nth(1).unwrap().to_owned();
        Ok(Secret::new(format!("{answer}&state={state}")))
    }));
    let error = world.connect(twice).unwrap_err();
    assert!(error.to_string().contains("'state'"), "{error}");
    let error = answered(json!({}), &[("code", None)]).unwrap_err();
    assert!(error.contains("neither a code nor an error"), "{error}");
}

// M-AUTH-C-13, M-AUTH-C-14, M-AUTH-C-17, M-AUTH-C-18, M-AUTH-C-46, L-AUTH-C-15, L-AUTH-C-16, L-AUTH-C-19, L-AUTH-C-34, L-AUTH-C-35
#[test]
fn scopes_are_those_of_the_challenge_or_else_all_or_none() {
    let check = |challenge: &str,
                 supported: serde_json::Value,
                 issuers: serde_json::Value,
                 expected: Option<&str>| {
        let world = World::with(|rules| {
            rules.challenge = challenge.to_owned();
            rules.resource = json!({ "scopes_supported": supported });
            rules.metadata = json!({ "scopes_supported": issuers });
        });
        world.connect(world.login()).unwrap();
        let asked = &world.record().authorizations[0];
        assert_eq!(asked.get("scope").map(|scope| &**scope), expected);
        // OpenID providers give no leave to act while the user is away unless the user is asked (OpenID Connect Core 1.0, section 11).
        let is_offline = expected.is_some_and(|scope| scope.contains("offline_access"));
        let prompt = is_offline.then_some("consent");
        assert_eq!(asked.get("prompt").map(|prompt| &**prompt), prompt);
    };
    let none = json!(null);
    check(
        ", scope=\"odd b\"",
        json!(["a", "b"]),
        json!(["x"]),
        Some("b odd"),
    );
    check("", json!(["b", "a"]), none.clone(), Some("a b"));
    check("", none.clone(), none.clone(), None);
    check("", none.clone(), json!(["x", "y"]), None);
    let offline = json!(["offline_access", "x"]);
    check("", json!(["a"]), offline.clone(), Some("a offline_access"));
    check(
        ", scope=\"b\"",
        json!(["a"]),
        offline,
        Some("b offline_access"),
    );
    let world = World::with(|rules| {
        rules.metadata = json!({ "scopes_supported": ["offline_access"] });
        rules.resource = json!({ "scopes_supported": ["a"] });
    });
    let builder = world.login().scopes(["mine"]).ask_offline_access(false);
    world.connect(builder).unwrap();
    assert_eq!(world.record().authorizations[0]["scope"], "mine");
}

// M-AUTH-C-15, M-AUTH-C-55, M-AUTH-C-56, M-AUTH-C-59, L-AUTH-C-59, AMB-68
#[test]
fn more_scopes_are_asked_for_beside_those_there_are() {
    let world = World::with(|rules| {
        rules.challenge = ", scope=\"basic\"".to_owned();
        rules.needs.insert("write".to_owned(), "write".to_owned());
        rules.needs.insert("admin".to_owned(), "admin".to_owned());
    });
    let client = world.connect(world.login()).unwrap();
    assert_eq!(call(&client, "write").unwrap(), "done");
    assert_eq!(call(&client, "admin").unwrap(), "done");
    assert_eq!(call(&client, "write").unwrap(), "done");
    let asked = world.record().authorizations;
    let asked: Vec<&str> = asked.iter().map(|asked| &*asked["scope"]).collect();
    assert_eq!(asked, ["basic", "basic write", "admin basic write"]);
}

// M-AUTH-C-57, M-AUTH-C-58, L-AUTH-C-60, L-AUTH-C-61
#[test]
fn asking_for_more_in_vain_ends() {
    let world = World::with(|rules| {
        rules.needs.insert("never".to_owned(), "never".to_owned());
        rules.needs.insert("nor".to_owned(), "nor".to_owned());
        // Whatever is asked for, it is not granted.
        rules.on_token = None;
    });
    let client = world.connect(world.login()).unwrap();
    let state = Arc::clone(&world.state);
    world.set(|rules| {
        rules.on_token = Some(Arc::new(move |_, out| {
            state.give(out, &std::collections::BTreeSet::new());
            true
        }));
    });
    let error = call(&client, "never").unwrap_err();
    assert_eq!(
        (error.kind(), error.http_status()),
        (ErrorKind::Auth, Some(403))
    );
    assert_eq!(
        world.record().authorizations.len(),
        3,
        "one login, two attempts"
    );
    call(&client, "never").unwrap_err();
    assert_eq!(
        world.record().authorizations.len(),
        3,
        "it was tried enough"
    );
    call(&client, "nor").unwrap_err();
    assert_eq!(world.record().authorizations.len(), 5, "another operation");
}

// M-AUTH-C-55, M-AUTH-C-58
#[test]
fn calls_of_many_threads_share_one_question_for_more() {
    let world = Arc::new(World::with(|rules| {
        rules.needs.insert("write".to_owned(), "write".to_owned());
    }));
    let (own, calls) = (Arc::clone(&world), 6);
    let oauth = OAuth::login(CallbackUserAgent::new(
        REDIRECT,
        move |login: &Login<'_>| {
            if login.scopes().any(|scope| scope == "write") {
                wait_until("all are refused", || {
                    own.mcp.seen_asking("tools/call").len() >= calls
                });
            }
            Ok(Secret::new(follow(login.url())))
        },
    ));
    let client = world.connect(oauth).unwrap();
    std::thread::scope(|scope| {
        let calls: Vec<_> = (0..calls)
            .map(|_| scope.spawn(|| call(&client, "write")))
            .collect();
        for call in calls {
            assert_eq!(call.join().unwrap().unwrap(), "done");
        }
    });
    assert_eq!(world.record().authorizations.len(), 2);
}

// M-AUTH-C-58
#[test]
fn operations_that_wait_for_the_scopes_of_others_still_get_their_own() {
    let tools = ["a", "b", "c", "d"];
    let world = World::with(|rules| {
        let needs = tools.map(|tool| (tool.to_owned(), tool.to_owned()));
        rules.needs = needs.into();
    });
    let client = world.connect(world.login()).unwrap();
    std::thread::scope(|scope| {
        let calls = tools.map(|tool| scope.spawn(|| call(&client, tool)));
        for call in calls {
            assert_eq!(call.join().unwrap().unwrap(), "done");
        }
    });
}

// M-AUTH-C-57, L-AUTH-C-60
#[test]
fn asking_for_more_in_vain_ends_for_the_stream_of_a_session_too() {
    let issuer = World::start();
    let place = issuer.issuer().to_owned();
    let server = Stub::start(move |seen, out| {
        let url = format!("http://{}/mcp", seen.header("host").unwrap());
        if seen.target.starts_with("/.well-known") {
            return out.json(&json!({ "resource": url, "authorization_servers": [place] }));
        }
        match (&*seen.method, seen.header("authorization"), &*seen.asks()) {
            (_, None, _) => out.respond("401 Unauthorized", &[], ""),
            ("POST", _, "initialize") => out.json_with(
                &[("mcp-session-id", "session-1")],
                &json!({
                    "jsonrpc": "2.0", "id": seen.id(),
                    "result": crate::stub::initialized("2025-11-25"),
                }),
            ),
            ("GET", ..) => {
                let challenge = "Bearer error=\"insufficient_scope\", scope=\"events\"";
                out.respond("403 Forbidden", &[("www-authenticate", challenge)], "")
            }
            _ => out.accept(),
        }
    });
    let legacy = ["2025-11-25".parse().unwrap()];
    let (log, said) = mpsc::channel();
    let oauth = issuer.login().build().unwrap();
    let client = asker()
        .revisions(&legacy)
        .on_log(move |record| _ = log.send(record.text.to_owned()))
        .connect(server.http().authorizer(oauth))
        .unwrap();
    let line = said.recv_timeout(LONG).unwrap();
    assert!(line.contains("nothing can be heard"), "{line}");
    let logins = issuer.record().authorizations.len();
    assert_eq!(
        logins, 2,
        "one login, one attempt: what was granted then is not asked for again"
    );
    client.close();
}

#[test]
fn a_token_that_is_refused_at_once_is_no_reason_to_log_in_for_ever() {
    let world = World::with(|rules| {
        rules.on_token = Some(Arc::new(|_, out| {
            out.json(&json!({ "access_token": "nobody-knows-it", "token_type": "bearer" }));
            true
        }));
    });
    let oauth = world.login().build().unwrap();
    for _ in 0..6 {
        let error = world.connect_to(&oauth).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Auth);
        assert!(
            error.to_string().contains("issued for it just now"),
            "{error}"
        );
    }
    let logins = world.record().authorizations.len();
    assert!(logins <= 4, "{logins} logins");
}

// M-REG-C-01, M-REG-C-02, M-REG-B-03, M-REG-C-14, M-REG-C-15, M-AUTH-C-05, L-AUTH-B-05, L-AUTH-C-23, L-AUTH-B-24, L-AUTH-C-31, L-AUTH-C-32
#[test]
fn a_client_is_known_already_or_by_its_document_or_registers() {
    let document = "https://app.example/client.json";
    let check = |known: bool, reads: bool, registers: bool, expected: Result<&str, &str>| {
        let world = World::start();
        world.set(|rules| {
            rules.metadata = json!({ "client_id_metadata_document_supported": reads });
            if !registers {
                rules.metadata["registration_endpoint"] = json!(null);
            }
        });
        let mut builder = world.login().client_document(document);
        if known {
            builder = builder.registered(RegisteredClient::new(world.issuer(), "known"));
        }
        let connected = world.connect(builder);
        let record = world.record();
        match expected {
            Ok(id) => {
                connected.unwrap();
                let asked = &record.authorizations[0]["client_id"];
                assert!(asked.starts_with(id), "{asked}");
                let has_registered = !record.registrations.is_empty();
                assert_eq!(has_registered, id.starts_with("client-"));
            }
            Err(part) => {
                let error = connected.unwrap_err();
                assert!(error.to_string().contains(part), "{error}");
                assert!(record.authorizations.is_empty());
            }
        }
    };
    check(true, true, true, Ok("known"));
    check(false, true, true, Ok(document));
    check(false, false, true, Ok("client-"));
    check(false, false, false, Err("OAuthBuilder::registered"));
    check(false, true, false, Ok(document));
}

// M-REG-C-19, M-REG-C-20
#[test]
fn a_registration_that_is_refused_is_told() {
    let world = World::with(|rules| {
        let said = json!({
            "error": "invalid_redirect_uri", "error_description": "no loopback addresses here",
        });
        rules.registration = ("400 Bad Request", said);
    });
    let error = world.connect(world.login()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Auth);
    let said = error.to_string();
    assert!(
        said.contains("invalid_redirect_uri: no loopback addresses here"),
        "{said}"
    );
    assert!(world.record().authorizations.is_empty());
}

// RFC 7591, section 3.2.1; RFC 9728, section 3.2
#[test]
fn members_that_are_null_are_as_good_as_missing() {
    let registrar = Stub::start(|seen, out| {
        let redirects = &seen.body()["redirect_uris"];
        out.json(&json!({
            "client_id": "registered", "client_secret": null, "client_secret_expires_at": null,
            "redirect_uris": redirects, "token_endpoint_auth_method": null,
        }));
    });
    let world = World::start();
    let endpoint = format!("http://{}/register", registrar.address());
    let resource = json!({
        "resource": world.mcp.url(), "authorization_servers": [world.issuer()],
        "scopes_supported": null, "dpop_bound_access_tokens_required": null,
    });
    world.set(|rules| {
        rules.metadata = json!({ "registration_endpoint": endpoint });
        rules.resource_body = Some(resource.to_string());
    });
    let client = world.connect(world.login()).unwrap();
    assert_eq!(call(&client, "x").unwrap(), "done");
    assert_eq!(world.record().authorizations[0]["client_id"], "registered");
}

// M-REG-C-18
#[test]
fn a_client_on_the_web_says_so() {
    let world = World::start();
    let agent = CallbackUserAgent::new("https://app.example/callback", |login: &Login<'_>| {
        Ok(Secret::new(follow(login.url())))
    });
    world.connect(OAuth::login(agent)).unwrap();
    let registration = &world.record().registrations[0];
    assert_eq!(registration["application_type"], "web");
}

// M-ASEC-C-08, E-EMA-B-25
#[test]
fn codes_are_sent_to_this_machine_or_by_https() {
    let world = World::start();
    for bad in [
        "http://app.example/callback",
        "app:callback",
        "javascript:x",
    ] {
        let agent = CallbackUserAgent::new(bad, |_: &Login<'_>| unreachable!("nobody is asked"));
        let error = world.connect(OAuth::login(agent)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    }
    assert!(world.record().registrations.is_empty());
}

// M-AUTH-C-41, M-ASD-C-02, M-ASD-C-03, M-REG-C-21, M-REG-C-22, M-REG-C-23, L-AUTH-C-52
#[test]
fn another_authorization_server_starts_from_nothing() {
    let (world, next) = (World::start(), World::start());
    let oauth = world.login().build().unwrap();
    let client = world.connect_to(&oauth).unwrap();
    call(&client, "x").unwrap();
    let before = world.record();
    // The server changes hands: the next one's tokens are the ones it takes.
    world.revoke_tokens();
    let (state, other) = (Arc::clone(&world.state), next.issuer().to_owned());
    next.set(|rules| {
        rules.on_token = Some(Arc::new(move |form, out| {
            assert!(!form["client_id"].is_empty());
            state.give(out, &std::collections::BTreeSet::new());
            true
        }));
    });
    world.set(|rules| rules.resource = json!({ "authorization_servers": [other] }));
    assert_eq!(call(&client, "x").unwrap(), "done");
    assert_eq!(
        world.record().tokens.len(),
        before.tokens.len(),
        "the old one is asked nothing"
    );
    let record = next.record();
    assert_eq!(record.registrations.len(), 1);
    assert_eq!(record.authorizations.len(), 1);
    let [old, new] = [&before.tokens[0], &record.tokens[0]];
    assert!(!new.values().any(|value| value.contains("refresh-s3cret")));
    assert_eq!(new["grant_type"], "authorization_code");
    assert_ne!(old["code"], "");
}

// M-REG-C-24, M-REG-C-25
#[test]
fn credentials_are_not_shown_to_another_authorization_server() {
    let (world, next) = (World::start(), World::start());
    let known = RegisteredClient::new(world.issuer(), "known").secret("kn0wn-secret");
    let oauth = world.login().registered(known).build().unwrap();
    let client = world.connect_to(&oauth).unwrap();
    world.revoke_all();
    let other = next.issuer().to_owned();
    world.set(|rules| rules.resource = json!({ "authorization_servers": [other] }));
    let error = call(&client, "x").unwrap_err();
    assert!(error.to_string().contains("is registered with"), "{error}");
    let record = next.record();
    assert!(record.authorizations.is_empty() && record.tokens.is_empty());
    // One that needs no registering goes on.
    let (world, next) = (World::start(), World::start());
    for one in [&world, &next] {
        one.set(|rules| {
            rules.metadata = json!({ "client_id_metadata_document_supported": true });
        });
    }
    let document = "https://app.example/client.json";
    let client = world
        .connect(world.login().client_document(document))
        .unwrap();
    world.revoke_all();
    let (state, other) = (Arc::clone(&world.state), next.issuer().to_owned());
    next.set(|rules| {
        rules.on_token = Some(Arc::new(move |_, out| {
            state.give(out, &std::collections::BTreeSet::new());
            true
        }));
    });
    world.set(|rules| rules.resource = json!({ "authorization_servers": [other] }));
    call(&client, "x").unwrap();
    assert_eq!(next.record().authorizations[0]["client_id"], document);
    assert!(next.record().registrations.is_empty());
}

#[test]
fn of_several_authorization_servers_the_one_that_knows_the_client_is_asked() {
    let (world, other) = (World::start(), World::start());
    let names = json!([other.issuer(), world.issuer()]);
    world.set(|rules| rules.resource = json!({ "authorization_servers": names }));
    let known = RegisteredClient::new(world.issuer(), "known");
    world.connect(world.login().registered(known)).unwrap();
    assert!(other.issuer.seen().is_empty());
}

// AMB-86
#[test]
fn a_client_proves_itself_as_the_authorization_server_wants_it() {
    for (methods, is_basic) in [(json!(null), true), (json!(["client_secret_post"]), false)] {
        let world = World::with(|rules| {
            rules.metadata = json!({ "token_endpoint_auth_methods_supported": methods });
        });
        let known = RegisteredClient::new(world.issuer(), "kn:own").secret("s3cret +ü");
        world.connect(world.login().registered(known)).unwrap();
        let seen = world.issuer.seen();
        let request = seen.iter().find(|seen| seen.target == "/token").unwrap();
        let form = &world.record().tokens[0];
        if is_basic {
            let pair = ("kn:own".to_owned(), "s3cret +ü".to_owned());
            assert_eq!(basic(request), Some(pair));
            assert!(!form.contains_key("client_secret") && !form.contains_key("client_id"));
        } else {
            assert_eq!(request.header("authorization"), None);
            assert_eq!(
                (&*form["client_id"], &*form["client_secret"]),
                ("kn:own", "s3cret +ü")
            );
        }
    }
}

#[test]
fn a_code_that_was_used_or_is_too_old_is_refused_with_its_reason() {
    let world = World::with(|rules| {
        rules.on_token = Some(Arc::new(|form, out| {
            let described = format!("code {} was redeemed before", form["code"]);
            refuse(out, "invalid_grant", &described);
            true
        }));
    });
    let error = world.connect(world.login()).unwrap_err();
    let said = error.to_string();
    assert!(
        said.contains("invalid_grant") && said.contains("was redeemed before"),
        "{said}"
    );
    assert!(!said.contains("s3cret"), "{said}");
    assert_eq!(error.oauth_code(), Some("invalid_grant"));
    assert_eq!(world.record().tokens.len(), 1, "it is not tried again");
}

// M-AUTH-C-24: a host that looks at URLs on another thread takes the answer, and nothing else.
#[test]
fn the_answer_can_be_told_from_other_urls_on_any_thread() {
    let world = World::start();
    let agent = CallbackUserAgent::new(REDIRECT, |login: &Login<'_>| {
        let (check, answer) = (login.answer_check(), follow(login.url()));
        let (path, query) = answer.split_once('?').unwrap();
        let others = [
            login.url().to_owned(),
            path.to_owned(),
            format!("{path}/x?{query}"),
            format!("{path}?{query}&state=x"),
            format!("https://evil.example/callback?{query}"),
        ];
        let looked = std::thread::scope(|scope| {
            let looking = scope.spawn(|| (others.iter().any(|url| check(url)), check(&answer)));
            looking.join().unwrap()
        });
        assert_eq!(looked, (false, true));
        Ok(Secret::new(answer))
    });
    world.connect(OAuth::login(agent)).unwrap();
}

// The code of a login that was refused can be told apart without reading the text.
#[test]
fn a_fragment_behind_the_answer_says_nothing() {
    for fragment in ["#", "#_=_", "#state=another"] {
        let world = World::start();
        let oauth = OAuth::login(CallbackUserAgent::new(
            REDIRECT,
            move |login: &Login<'_>| {
                let answer = format!("{}{fragment}", follow(login.url()));
                assert!(login.is_answer(&answer), "{answer}");
                Ok(Secret::new(answer))
            },
        ));
        let client = world.connect(oauth).unwrap();
        assert_eq!(call(&client, "x").unwrap(), "done");
    }
}

#[test]
fn a_refused_login_has_the_code_of_oauth() {
    let world = World::with(|rules| {
        let refused = Some("access_denied".to_owned());
        rules.redirect = vec![("error", refused), ("code", None)];
    });
    let error = world.connect(world.login()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Auth);
    assert_eq!(error.oauth_code(), Some("access_denied"), "{error}");
    world.set(|rules| rules.redirect[0].1 = Some("odd\u{7}\"".to_owned()));
    let error = world.connect(world.login()).unwrap_err();
    assert_eq!(
        error.oauth_code(),
        None,
        "it has characters that no code has"
    );
}

#[test]
fn a_host_that_fails_or_panics_fails_the_call_only() {
    let world = World::start();
    let number = Arc::new(AtomicUsize::new(0));
    let agent = CallbackUserAgent::new(REDIRECT, move |login: &Login<'_>| {
        match number.fetch_add(1, Ordering::SeqCst) {
            0 => Err(mcplink::Error::new(ErrorKind::State, "the user went away")),
            1 => panic!("on purpose"),
            2 => Ok(Secret::new("nonsense")),
            _ => Ok(Secret::new(follow(login.url()))),
        }
    });
    let oauth = OAuth::login(agent).build().unwrap();
    let error = world.connect_to(&oauth).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::State);
    assert!(error.to_string().contains("the user went away"), "{error}");
    let error = world.connect_to(&oauth).unwrap_err();
    assert!(error.to_string().contains("panicked"), "{error}");
    let error = world.connect_to(&oauth).unwrap_err();
    assert!(error.to_string().contains("is no URL"), "{error}");
    call(&world.connect_to(&oauth).unwrap(), "x").unwrap();
}
