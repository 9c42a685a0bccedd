//! Authorization with servers that differ from the letter: what is read all the same, and what a
//! login that failed leaves behind.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mcplink::auth::{
    CallbackUserAgent, Login, MemoryStore, OAuth, OAuthBuilder, RegisteredClient, Secret,
};
use mcplink::{Error, ErrorKind};
use serde_json::json;

use crate::authworld::{REDIRECT, World, follow, refuse};
use crate::stub::{Stub, call};

/// Grants asked for at the token endpoint.
fn grants(world: &World) -> Vec<String> {
    let tokens = world.record().tokens;
    tokens.iter().map(|it| it["grant_type"].clone()).collect()
}

/// The address of an authorization server that can't be reached.
fn dead() -> String {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}", closed.local_addr().unwrap())
}

// M-ASD-C-11, M-ASD-C-13: RFC 3986, section 6.2.3
#[test]
fn an_issuer_with_an_empty_path_is_the_one_with_a_slash() {
    for (named, own) in [("/", ""), ("", "/")] {
        let world = World::start();
        let issuer = world.issuer().to_owned();
        world.set(|rules| {
            rules.resource = json!({ "authorization_servers": [format!("{issuer}{named}")] });
            rules.metadata = json!({ "issuer": format!("{issuer}{own}") });
        });
        let client = world.connect(world.login()).unwrap();
        assert_eq!(call(&client, "x").unwrap(), "done");
        world.revoke_tokens();
        assert_eq!(call(&client, "x").unwrap(), "done");
        assert_eq!(grants(&world), ["authorization_code", "refresh_token"]);
        // A client that was registered beforehand may be spelled in either way.
        for spelled in ["", "/"] {
            let known = RegisteredClient::new(format!("{issuer}{spelled}"), "known");
            world.connect(world.login().registered(known)).unwrap();
            let last = world.record().authorizations.pop().unwrap();
            assert_eq!(last["client_id"], "known");
        }
    }
}

// M-ASD-C-13, M-ASD-C-14
#[test]
fn nothing_else_of_an_issuer_is_put_right() {
    for (named, own) in [("/p", "/p/"), ("/p/", "/p"), ("//", ""), ("", "/.")] {
        let world = World::start();
        let issuer = world.issuer().to_owned();
        world.set(|rules| {
            rules.resource = json!({ "authorization_servers": [format!("{issuer}{named}")] });
            let document = json!({
                "issuer": format!("{issuer}{own}"),
                "authorization_endpoint": format!("{issuer}/authorize"),
                "token_endpoint": format!("{issuer}/token"),
                "registration_endpoint": format!("{issuer}/register"),
                "code_challenge_methods_supported": ["S256"],
            });
            let oauth = "/.well-known/oauth-authorization-server";
            let places = [oauth.to_owned(), format!("{oauth}/p")];
            rules.places = places.map(|place| (place, document.clone())).into();
        });
        let error = world.connect(world.login()).unwrap_err();
        assert!(error.to_string().contains("another issuer"), "{error}");
        assert!(world.record().authorizations.is_empty());
    }
}

// M-AUTH-C-22, M-AUTH-C-23: the answer to a login is compared with the metadata to the letter,
// whatever the server calls its issuer.
#[test]
fn the_issuer_of_an_answer_is_compared_to_the_letter() {
    for (spelled, is_taken) in [("", true), ("/", false)] {
        let world = World::start();
        let issuer = world.issuer().to_owned();
        world.set(|rules| {
            rules.resource = json!({ "authorization_servers": [format!("{issuer}/")] });
            rules.redirect = vec![("iss", Some(format!("{issuer}{spelled}")))];
        });
        let connected = world.connect(world.login());
        assert_eq!(connected.is_ok(), is_taken, "{spelled}");
        assert_eq!(world.record().tokens.len(), usize::from(is_taken));
    }
}

/// How a login ends without tokens.
enum End {
    /// Nobody comes back from the page.
    Nowhere,
    /// The page sends the person back with an error.
    Page(&'static str),
    /// The token endpoint refuses the code.
    Token(&'static str),
}

#[test]
fn a_registration_whose_login_gave_no_tokens_is_not_used_for_the_next() {
    // How many clients are registered by the time of the failure, and of the next login.
    for (end, then, next) in [
        (End::Nowhere, 1, 2),
        (End::Page("invalid_request"), 1, 2),
        (End::Token("invalid_request"), 1, 2),
        // The client is refused: it registers once more at once, and not again and again.
        (End::Page("invalid_client"), 2, 3),
        (End::Page("unauthorized_client"), 2, 3),
        (End::Token("unauthorized_client"), 2, 3),
        (End::Token("invalid_client"), 2, 3),
        // The page knows the client: a person refused, or the server has a fault.
        (End::Page("access_denied"), 1, 1),
        (End::Page("server_error"), 1, 1),
        (End::Page("temporarily_unavailable"), 1, 1),
    ] {
        let world = World::start();
        let store = Arc::new(MemoryStore::new());
        let goes_nowhere = Arc::new(AtomicBool::new(false));
        let login = || -> OAuthBuilder {
            let goes_nowhere = Arc::clone(&goes_nowhere);
            let agent = CallbackUserAgent::new(REDIRECT, move |login: &Login<'_>| {
                if goes_nowhere.load(Ordering::SeqCst) {
                    return Err(Error::new(ErrorKind::Timeout, "nobody came back"));
                }
                Ok(Secret::new(follow(login.url())))
            });
            OAuth::login(agent).store(Arc::clone(&store))
        };
        world.connect(login()).unwrap();
        world.revoke_all();
        match end {
            End::Nowhere => goes_nowhere.store(true, Ordering::SeqCst),
            End::Page(code) => world.set(|rules| {
                rules.redirect = vec![("error", Some(code.to_owned())), ("code", None)];
            }),
            End::Token(code) => world.set(|rules| {
                rules.on_token = Some(Arc::new(move |form, out| {
                    let is_code = form["grant_type"] == "authorization_code";
                    if is_code {
                        refuse(out, code, "never heard of it");
                    }
                    is_code
                }));
            }),
        }
        world.connect(login()).unwrap_err();
        assert_eq!(world.record().registrations.len(), then);
        goes_nowhere.store(false, Ordering::SeqCst);
        world.set(|rules| {
            rules.redirect = Vec::new();
            rules.on_token = None;
        });
        // In settings made anew, too.
        world.connect(login()).unwrap();
        let record = world.record();
        assert_eq!(record.registrations.len(), next);
        let last = record.authorizations.last().unwrap();
        let is_first = last["client_id"] == record.authorizations[0]["client_id"];
        assert_eq!(is_first, next == 1);
        // That one is good from now on.
        world.revoke_all();
        world.connect(login()).unwrap();
        let record = world.record();
        assert_eq!(record.registrations.len(), next);
        let again = record.authorizations.last().unwrap();
        assert_eq!(again["client_id"], last["client_id"]);
    }
}

#[test]
fn a_registration_that_the_server_forgot_is_replaced_in_the_login_that_finds_out() {
    for code in ["invalid_client", "unauthorized_client"] {
        let world = World::start();
        let client = world.connect(world.login()).unwrap();
        let known = world.record().authorizations[0]["client_id"].clone();
        world.revoke_tokens();
        world.set(|rules| {
            rules.on_token = Some(Arc::new(move |form, out| {
                let is_refresh = form["grant_type"] == "refresh_token";
                if is_refresh {
                    out.respond("404 Not Found", &[], "");
                } else if form["client_id"] == known {
                    refuse(out, code, "never heard of it");
                }
                is_refresh || form["client_id"] == known
            }));
        });
        assert_eq!(call(&client, "x").unwrap(), "done");
        let record = world.record();
        assert_eq!(record.registrations.len(), 2, "{code}");
        let ids: Vec<&str> = record
            .authorizations
            .iter()
            .map(|asked| &*asked["client_id"])
            .collect();
        assert!(ids[0] == ids[1] && ids[1] != ids[2], "{ids:?}");
    }
}

#[test]
fn a_login_that_gave_no_tokens_costs_those_of_other_servers_nothing() {
    let (world, other) = (World::start(), World::start());
    let store = Arc::new(MemoryStore::new());
    let issuer = world.issuer().to_owned();
    other.set(|rules| rules.resource = json!({ "authorization_servers": [issuer] }));
    let client = world
        .connect(world.login().store(Arc::clone(&store)))
        .unwrap();
    let leaves = CallbackUserAgent::new(REDIRECT, |_: &Login<'_>| {
        Err(Error::new(ErrorKind::Timeout, "nobody came back"))
    });
    let leaving = OAuth::login(leaves).store(Arc::clone(&store));
    other.connect(leaving).unwrap_err();
    world.revoke_tokens();
    assert_eq!(call(&client, "x").unwrap(), "done");
    assert_eq!(grants(&world), ["authorization_code", "refresh_token"]);
}

// M-ASD-C-08
#[test]
fn of_two_authorization_servers_the_one_that_is_there_is_asked() {
    let world = World::start();
    let broken = Stub::start(|_, out| out.respond("503 Service Unavailable", &[], ""));
    let broken = format!("http://{}", broken.address());
    let empty = Stub::start(|_, out| out.respond("404 Not Found", &[], ""));
    let empty = format!("http://{}", empty.address());
    let issuer = world.issuer().to_owned();
    for first in [dead(), broken, empty, "odd:address".to_owned()] {
        let named = json!({ "authorization_servers": [first, issuer] });
        world.set(|rules| rules.resource = named);
        let client = world.connect(world.login()).unwrap();
        assert_eq!(call(&client, "x").unwrap(), "done", "{first}");
    }
    // When none is there, the error tells of each.
    let (one, other) = (dead(), dead());
    world.set(|rules| rules.resource = json!({ "authorization_servers": [one, other] }));
    let error = world.connect(world.login()).unwrap_err();
    let said = error.to_string();
    assert!(said.contains(&one) && said.contains(&other), "{said}");
}

// M-AUTH-C-41, M-REG-C-22: while the issuer of tokens is out of reach, nobody has to log in at
// another one.
#[test]
fn tokens_are_renewed_where_they_come_from() {
    let (world, other) = (World::start(), World::start());
    let (own, second) = (world.issuer().to_owned(), other.issuer().to_owned());
    let (own_list, both) = (json!([own]), json!([second, own]));
    world.set(|rules| rules.resource = json!({ "authorization_servers": own_list }));
    let client = world.connect(world.login()).unwrap();
    // The other one is named first from now on.
    world.set(|rules| rules.resource = json!({ "authorization_servers": both }));
    world.revoke_tokens();
    assert_eq!(call(&client, "x").unwrap(), "done");
    assert_eq!(grants(&world), ["authorization_code", "refresh_token"]);
    let place = "/.well-known/nowhere".to_owned();
    world.set(|rules| rules.places = vec![(place, json!({}))]);
    world.revoke_tokens();
    let error = call(&client, "x").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Auth, "{error}");
    assert!(other.issuer.seen().is_empty());
}

// M-REG-C-22, M-REG-C-24
#[test]
fn credentials_are_for_their_issuer_even_if_another_one_is_there() {
    let (world, other) = (World::start(), World::start());
    let (gone, second) = (dead(), other.issuer().to_owned());
    world.set(|rules| rules.resource = json!({ "authorization_servers": [gone, second] }));
    let known = RegisteredClient::new(&*gone, "known").secret("s3cret");
    let error = world.connect(world.login().registered(known)).unwrap_err();
    assert!(error.to_string().contains(&gone), "{error}");
    assert!(other.issuer.seen().is_empty());
    // One of no fixed issuer belongs to the first one that it met.
    let store = Arc::new(MemoryStore::new());
    let login = || {
        let known = RegisteredClient::of_first_issuer("known");
        let login = world.login().store(Arc::clone(&store));
        login.registered(known).build().unwrap()
    };
    let own = world.issuer().to_owned();
    world.set(|rules| rules.resource = json!({ "authorization_servers": [own] }));
    world.connect_to(&login()).unwrap();
    world.revoke_all();
    let again = login();
    again.forget(world.mcp_url()).unwrap();
    world.set(|rules| rules.resource = json!({ "authorization_servers": [second, own] }));
    world.connect_to(&again).unwrap();
    assert!(other.issuer.seen().is_empty());
}

#[test]
fn members_are_read_in_the_ways_in_which_servers_write_them() {
    let world = World::with(|rules| {
        rules.metadata = json!({
            "scopes_supported": "a b offline_access", "grant_types_supported": null,
            "code_challenge_methods_supported": "S256",
            "client_id_metadata_document_supported": "false",
        });
        rules.token = json!({ "expires_in": "3600", "scope": ["read", "write"] });
        let secret = json!({
            "client_secret": "s3cret", "client_secret_expires_at": "0", "redirect_uris": "x",
            "token_endpoint_auth_method": ["client_secret_basic"],
        });
        rules.registration = ("201 Created", secret);
        rules.needs.insert("write".to_owned(), "write".to_owned());
    });
    let issuer = world.issuer().to_owned();
    world.set(|rules| {
        rules.resource = json!({
            "authorization_servers": issuer, "scopes_supported": "read write",
            "dpop_bound_access_tokens_required": "false",
        });
    });
    let client = world.connect(world.login()).unwrap();
    assert_eq!(call(&client, "x").unwrap(), "done");
    assert_eq!(call(&client, "write").unwrap(), "done");
    let asked = &world.record().authorizations[0];
    assert_eq!(asked["scope"], "offline_access read write");
    // The secret that does not expire is still good, and the tokens are not renewed for each call.
    assert_eq!(grants(&world), ["authorization_code"]);
    world.revoke_all();
    call(&client, "x").unwrap();
    assert_eq!(world.record().registrations.len(), 1);
}

// M-ASD-C-06
#[test]
fn a_word_at_the_first_place_is_no_metadata() {
    for (kind, body, is_there) in [
        ("text/plain", "OK", true),
        ("application/json", "\"not found\"", true),
        ("application/json", "null", true),
        ("application/json", "{\"error\":\"not found\"}", true),
        ("application/json", "{\"resource\":", true),
        ("text/html", "<p>Welcome</p>", true),
        ("application/json", "{\"error\":\"not found\"}", false),
    ] {
        let world = World::start();
        let url = world.mcp.url();
        let server = {
            let (issuer, origin) = (world.issuer().to_owned(), url.clone());
            Stub::start(move |seen, out| {
                let place = "/.well-known/oauth-protected-resource";
                let own = format!("http://{}/mcp", seen.header("host").unwrap());
                let metadata = json!({ "resource": own, "authorization_servers": [issuer] });
                match &*seen.target {
                    "/mcp" => out.respond("401 Unauthorized", &[], &origin),
                    target if target == place && is_there => out.json(&metadata),
                    target if target == place => out.respond("404 Not Found", &[], ""),
                    _ => out.respond("200 OK", &[("content-type", kind)], body),
                }
            })
        };
        let oauth = world.login().build().unwrap();
        let error = crate::stub::asker()
            .connect(server.http().authorizer(oauth))
            .unwrap_err();
        let record = world.record();
        if is_there {
            // The server takes no token at all: what counts is that somebody could log in.
            assert!(!record.tokens.is_empty(), "{kind} {body}: {error}");
        } else {
            assert!(error.to_string().contains("can't be read"), "{error}");
            assert!(record.authorizations.is_empty());
        }
    }
}

#[test]
fn metadata_that_is_sent_as_a_page_or_with_a_byte_order_mark_is_read() {
    let world = World::start();
    let document =
        json!({ "resource": world.mcp.url(), "authorization_servers": [world.issuer()] });
    world.set(|rules| rules.resource_body = Some(format!("\u{feff} {document}")));
    world.connect(world.login()).unwrap();
}

// M-ASD-C-05: RFC 3986, section 5.2
#[test]
fn a_relative_place_is_read_beside_the_address_of_the_server() {
    for (reference, place) in [
        ("/odd/place.json", "/odd/place.json"),
        ("place.json", "/place.json"),
        ("./a/../place.json", "/place.json"),
        ("//HOST/place.json", "/place.json"),
        ("", "/.well-known/oauth-protected-resource/mcp"),
    ] {
        let world = World::start();
        let host = world.mcp.address().to_string();
        world.set(|rules| {
            rules.says_place = false;
            rules.resource_place = place;
            let reference = reference.replace("HOST", &host);
            rules.challenge = format!(", resource_metadata=\"{reference}\"");
        });
        let client = world.connect(world.login()).unwrap();
        assert_eq!(call(&client, "x").unwrap(), "done", "{reference}");
    }
    // It leads no further than a whole address does.
    let world = World::with(|rules| {
        rules.says_place = false;
        rules.challenge = ", resource_metadata=\"//10.0.0.1/x\"".to_owned();
    });
    let error = world.connect(world.login()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Auth, "{error}");
    assert!(world.record().authorizations.is_empty());
}

// M-AUTH-C-57, L-AUTH-C-60
#[test]
fn a_server_that_wants_what_was_granted_leads_to_no_further_login() {
    for scope in [", scope=\"write\"", ", scope=\"\"", ""] {
        let issuer = World::start();
        let place = issuer.issuer().to_owned();
        let server = Stub::start(move |seen, out| {
            let url = format!("http://{}/mcp", seen.header("host").unwrap());
            if seen.target.starts_with("/.well-known") {
                return out.json(&json!({
                    "resource": url, "authorization_servers": [place],
                    "scopes_supported": ["read", "write"],
                }));
            }
            match (seen.header("authorization"), &*seen.asks()) {
                (None, _) => out.respond("401 Unauthorized", &[], ""),
                (_, "server/discover") => out.result(seen, crate::stub::discovered()),
                _ => {
                    let challenge = format!("Bearer error=\"insufficient_scope\"{scope}");
                    let fields = [("www-authenticate", &*challenge)];
                    out.respond("403 Forbidden", &fields, "")
                }
            }
        });
        let oauth = issuer.login().build().unwrap();
        let client = crate::stub::asker()
            .connect(server.http().authorizer(oauth))
            .unwrap();
        for _ in 0..2 {
            let error = call(&client, "x").unwrap_err();
            assert_eq!(error.http_status(), Some(403), "{error}");
        }
        assert_eq!(issuer.record().authorizations.len(), 1, "{scope}");
    }
}
