//! Finding out who authorizes a server, and what is not believed.

use std::time::Duration;

use mcplink::auth::OAuth;
use mcplink::transport::http::Http;
use mcplink::{Error, ErrorKind};
use serde_json::json;

use crate::authworld::{MOVED, Rules, STEPS, World};
use crate::proxied::socks_proxy;
use crate::stub::{Stub, asker, call};

/// Connecting fails as it should: before anybody is asked to log in.
fn refused(world: &World, part: &str) -> Error {
    let error = world.connect(world.login()).unwrap_err();
    let said = error.to_string();
    assert!(said.contains(part), "{said}");
    assert_eq!(error.http_status(), Some(401), "{said}");
    let record = world.record();
    assert!(record.authorizations.is_empty(), "{said}");
    assert!(record.tokens.is_empty(), "{said}");
    error
}

fn refused_with(set: impl FnOnce(&mut Rules), part: &str) {
    let error = refused(&World::with(set), part);
    assert_eq!(error.kind(), ErrorKind::Auth, "{error}");
}

/// What a server that wants no token but has odd metadata was asked.
fn metadata_asked(world: &World) -> Vec<String> {
    let seen = world.mcp.seen_by("GET");
    seen.iter().map(|seen| seen.target.clone()).collect()
}

// M-AUTH-C-07, M-AUTH-B-10, M-ASD-C-05, M-ASD-C-07, L-AUTH-C-07, L-AUTH-C-12
#[test]
fn the_place_in_the_challenge_is_the_one() {
    let world = World::with(|rules| rules.resource_place = "/odd/place.json");
    let client = world.connect(world.login()).unwrap();
    assert_eq!(call(&client, "x").unwrap(), "done");
    assert_eq!(metadata_asked(&world), ["/odd/place.json"]);
}

// M-ASD-C-05, M-ASD-C-06, L-AUTH-C-13
#[test]
fn without_one_the_usual_places_are_tried_in_order() {
    let inserted = "/.well-known/oauth-protected-resource/mcp";
    let root = "/.well-known/oauth-protected-resource";
    for (place, expected) in [(inserted, vec![inserted]), (root, vec![inserted, root])] {
        let world = World::with(|rules| {
            rules.says_place = false;
            rules.resource_place = place;
        });
        world.connect(world.login()).unwrap();
        assert_eq!(metadata_asked(&world), expected);
    }
}

// M-AUTH-C-09, M-ASD-C-08, M-ASD-C-09, M-ASD-C-10, M-ASD-C-11, L-AUTH-C-09, L-AUTH-C-20, L-AUTH-C-21, L-AUTH-C-22
#[test]
fn the_authorization_server_is_looked_for_in_order() {
    let oauth = "/.well-known/oauth-authorization-server";
    let openid = "/.well-known/openid-configuration";
    for (path, places) in [
        ("", vec![oauth.to_owned(), openid.to_owned()]),
        (
            "/p",
            vec![
                format!("{oauth}/p"),
                format!("{openid}/p"),
                format!("/p{openid}"),
            ],
        ),
    ] {
        for (number, only) in places.iter().enumerate() {
            let only = only.clone();
            let own = World::start();
            let issuer = format!("{}{path}", own.issuer());
            let endpoints = own.issuer().to_owned();
            let document = json!({
                "issuer": issuer, "authorization_endpoint": format!("{endpoints}/authorize"),
                "token_endpoint": format!("{endpoints}/token"),
                "registration_endpoint": format!("{endpoints}/register"),
                "code_challenge_methods_supported": ["S256"],
            });
            own.set(|rules| {
                rules.resource = json!({ "authorization_servers": [issuer] });
                rules.places = vec![(only, document)];
            });
            own.connect(own.login()).unwrap();
            assert_eq!(own.paths()[..=number], places[..=number]);
            assert_eq!(own.paths()[number + 1], "/register");
        }
    }
}

// M-ASD-C-13, M-ASD-C-14
#[test]
fn metadata_of_another_issuer_is_not_used() {
    refused_with(
        |rules| rules.metadata = json!({ "issuer": "https://honest.example" }),
        "another issuer",
    );
    refused_with(
        |rules| rules.metadata = json!({ "issuer": null }),
        "another issuer",
    );
}

// M-ASD-C-13
#[test]
fn metadata_of_another_issuer_hides_none_that_is_elsewhere() {
    let world = World::start();
    let (own, issuer) = (world.issuer(), format!("{}/p", world.issuer()));
    let document = |issuer: &str| {
        json!({
            "issuer": issuer, "authorization_endpoint": format!("{own}/authorize"),
            "token_endpoint": format!("{own}/token"),
            "registration_endpoint": format!("{own}/register"),
            "code_challenge_methods_supported": ["S256"],
        })
    };
    let first = "/.well-known/oauth-authorization-server/p".to_owned();
    let last = "/p/.well-known/openid-configuration".to_owned();
    world.set(|rules| {
        rules.resource = json!({ "authorization_servers": [issuer] });
        rules.places = vec![(first.clone(), document(own)), (last, document(&issuer))];
    });
    world.connect(world.login()).unwrap();
    // When it is all that there is, it is told.
    world.set(|rules| rules.places = vec![(first, document(own))]);
    let error = world.connect(world.login()).unwrap_err();
    assert!(error.to_string().contains("another issuer"), "{error}");
}

// M-ASD-C-15, M-AUTH-C-27, AMB-40
#[test]
fn metadata_of_another_resource_is_not_used() {
    for other in [
        "https://evil.example/mcp",
        "http://127.0.0.1:1/mcp",
        "javascript:alert(1)",
        "",
    ] {
        let world = World::with(|rules| rules.resource = json!({ "resource": other }));
        refused(&world, "resource");
        assert!(world.issuer.seen().is_empty());
    }
}

// M-ASD-S-01
#[test]
fn metadata_names_an_authorization_server_or_is_of_no_use() {
    for none in [json!([]), json!(null)] {
        refused_with(
            |rules| rules.resource = json!({ "authorization_servers": none }),
            "names no authorization server",
        );
    }
}

// M-ASEC-C-10, M-ASEC-C-12, M-ASEC-C-13, M-ASEC-C-14, M-ASEC-C-15, L-AUTH-C-67, L-AUTH-C-69, L-AUTH-C-70, L-AUTH-C-71
#[test]
fn without_pkce_nobody_is_asked_to_log_in() {
    for none in [json!(null), json!([]), json!(["plain"])] {
        refused_with(
            |rules| rules.metadata = json!({ "code_challenge_methods_supported": none }),
            "PKCE",
        );
    }
}

// M-AUTH-B-61, M-ASEC-B-06, M-ASEC-C-07, M-SEC-C-09, M-SEC-C-21, M-SEC-C-22, L-SEC-C-08, M-SEC-C-24, M-SEC-C-25, M-SEC-C-30, L-SEC-C-05, L-AUTH-B-65, E-EMA-B-12, E-WIF-C-13
#[test]
fn endpoints_are_https_or_on_this_machine() {
    for bad in [
        "http://as.example/x",
        "javascript:alert(1)",
        "file:///etc/passwd",
        "https://user:secret@as.example/x",
        "odd:x",
        "/relative",
    ] {
        for name in ["authorization_endpoint", "registration_endpoint"] {
            let world = World::with(|rules| rules.metadata = json!({ name: bad }));
            let error = world.connect(world.login()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Auth, "{error}");
            assert!(
                error.to_string().contains(name.split('_').next().unwrap()),
                "{error}"
            );
            assert!(!error.to_string().contains("secret"), "{error}");
        }
        let world = World::with(|rules| rules.metadata = json!({ "token_endpoint": bad }));
        let error = world.connect(world.login()).unwrap_err();
        assert!(error.to_string().contains("token_endpoint"), "{error}");
        assert!(world.record().tokens.is_empty());
        refused_with(
            |rules| rules.resource = json!({ "authorization_servers": [bad] }),
            "authorization server",
        );
    }
}

// M-SEC-C-08, M-SEC-C-10, L-SEC-C-04, L-SEC-C-05
#[test]
fn a_server_opens_no_doors_into_private_networks() {
    for inside in [
        "https://10.0.0.1/x",
        "https://192.168.0.1/x",
        "https://169.254.169.254/latest/meta-data",
        "https://[fd00::1]/x",
        "https://[::ffff:10.0.0.1]/x",
        "https://0.0.0.0/x",
    ] {
        let challenged = format!(", resource_metadata=\"{inside}\"");
        refused_with(
            |rules| {
                rules.says_place = false;
                rules.challenge = challenged;
            },
            "allow_private_addresses",
        );
        refused_with(
            |rules| rules.resource = json!({ "authorization_servers": [inside] }),
            "allow_private_addresses",
        );
        let world = World::with(|rules| rules.metadata = json!({ "token_endpoint": inside }));
        let error = world.connect(world.login()).unwrap_err();
        assert!(
            error.to_string().contains("allow_private_addresses"),
            "{error}"
        );
    }
}

// M-SEC-C-08, M-SEC-C-10
#[test]
fn a_name_is_no_way_round() {
    // The system looks these up as addresses of this machine or of nobody, whatever stands in their place elsewhere: a server that is
    // not on this machine could not have them asked. Here it is, so the neighbour is asked, and simply isn't one.
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = closed.local_addr().unwrap().port();
    drop(closed);
    let place = format!("http://localhost:{port}/x");
    let world = World::with(|rules| {
        rules.says_place = false;
        rules.challenge = format!(", resource_metadata=\"{place}\"");
    });
    let error = world.connect(world.login()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io, "{error}");
    // Spelled as a number it is an address still, and one of another kind than the server's.
    let world = World::with(|rules| {
        rules.says_place = false;
        rules.challenge = ", resource_metadata=\"https://167772161/x\"".to_owned();
    });
    let error = world.connect(world.login()).unwrap_err();
    assert!(
        error.to_string().contains("allow_private_addresses"),
        "{error}"
    );
}

// M-SEC-C-11, L-SEC-C-05
#[test]
fn redirects_elsewhere_are_not_followed() {
    let target = Stub::start(|_, out| out.json(&json!({})));
    for status in REDIRECTS {
        let place = target.url();
        let world = World::start();
        world.set(|rules| rules.resource_redirect = Some((status, place.clone())));
        let error = refused(&world, "redirect, which is not followed");
        assert_eq!(error.kind(), ErrorKind::Auth);
        let world = World::start();
        world.set(|rules| rules.metadata_redirect = Some((status, place)));
        let error = refused(&world, "has no metadata");
        assert_eq!(error.kind(), ErrorKind::Auth);
        assert!(target.seen().is_empty());
    }
    // A choice is no redirect.
    let choice = ("300 Multiple Choices", MOVED.to_owned());
    let world = World::with(|rules| rules.resource_redirect = Some(choice));
    refused(&world, "redirect, which is not followed");
    // One that leads to itself ends soon.
    let world = World::start();
    let own = format!("{}/.well-known/oauth-authorization-server", world.issuer());
    world.set(|rules| rules.metadata_redirect = Some((REDIRECTS[0], own)));
    refused(&world, "has no metadata");
}

const REDIRECTS: [&str; 5] = [
    "301 Moved Permanently",
    "302 Found",
    "303 See Other",
    "307 Temporary Redirect",
    "308 Permanent Redirect",
];

#[test]
fn documents_that_have_moved_within_their_origin_are_found() {
    for status in REDIRECTS {
        let world = World::with(|rules| {
            let target = "../../moved.json?x=http://y/#part".to_owned();
            rules.resource_redirect = Some((status, target));
            rules.metadata_redirect = Some((status, MOVED.to_owned()));
        });
        let client = world.connect(world.login()).unwrap();
        drop(client);
        for stub in [&world.mcp, &world.issuer] {
            let mut moved = stub.seen_by("GET");
            moved.retain(|seen| seen.target.starts_with(MOVED));
            assert!(!moved.is_empty());
            for seen in moved {
                assert_eq!(seen.header("accept-encoding"), Some("identity"));
            }
        }
    }
}

#[test]
fn documents_that_have_moved_several_times_are_found() {
    for steps in [1, 2, 4] {
        let world = World::with(|rules| {
            let target = format!("{STEPS}{steps}");
            rules.resource_redirect = Some(("302 Found", target.clone()));
            rules.metadata_redirect = Some(("302 Found", target));
        });
        drop(world.connect(world.login()).unwrap());
    }
    // Five redirects are followed, and no more.
    let world = World::with(|rules| {
        rules.resource_redirect = Some(("302 Found", format!("{STEPS}5")));
    });
    refused(&world, "redirect, which is not followed");
    assert!(world.mcp.seen().iter().all(|seen| seen.target != MOVED));
}

#[test]
fn what_is_no_metadata_is_told() {
    let long = format!("{{\"x\":\"{}\"}}", "x".repeat(10 << 20));
    for (body, kind, part) in [
        (&*long, ErrorKind::Limit, "exceeds 262144 bytes"),
        (
            "{\"resource\":\"http://n0body",
            ErrorKind::Auth,
            "it breaks off",
        ),
        ("{\"resource\":7}", ErrorKind::Auth, "of another type"),
        ("not json at all", ErrorKind::Auth, "no JSON"),
    ] {
        let body = body.to_owned();
        let world = World::with(move |rules| rules.resource_body = Some(body));
        let error = refused(&world, part);
        assert_eq!(error.kind(), kind, "{error}");
        assert!(!error.to_string().contains("n0body"), "{error}");
    }
}

/// It has no time, which is not to say that it has no metadata: nothing is looked for elsewhere.
#[test]
fn what_can_not_be_had_at_the_moment_is_told() {
    for status in [
        "408 Request Timeout",
        "429 Too Many Requests",
        "503 Service Unavailable",
    ] {
        let world = World::with(|rules| {
            rules.says_place = false;
            rules.resource_place = "/.well-known/oauth-protected-resource/mcp";
            rules.resource_status = Some(status);
        });
        let error = refused(&world, &status[..3]);
        assert_eq!(error.kind(), ErrorKind::Auth, "{error}");
        assert_eq!(metadata_asked(&world).len(), 1, "{status}");
    }
}

#[test]
fn a_server_that_says_nothing_is_given_up_in_time() {
    let world = World::with(|rules| rules.is_silent = true);
    let builder = world.login().step_timeout(Duration::from_millis(200));
    let error = world.connect(builder).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    assert!(error.to_string().contains("step_timeout"), "{error}");
}

// L-AUTH3-B-01, L-AUTH3-B-02, L-AUTH3-C-04, L-AUTH3-C-08, L-AUTH3-C-09, L-AUTH3-B-10, L-AUTH3-C-11, L-AUTH3-C-12, L-AUTH3-C-20
#[test]
fn servers_of_the_first_revision_authorize_by_themselves() {
    for has_metadata in [true, false] {
        let world = World::with(|rules| {
            rules.says_place = false;
            rules.resource_place = "/nowhere";
            rules.is_old = Some(has_metadata);
        });
        let client = world.connect(world.login()).unwrap();
        assert_eq!(call(&client, "x").unwrap(), "done");
        let asked: Vec<String> = metadata_asked(&world);
        let authorizing = if has_metadata {
            "/as/authorize"
        } else {
            "/authorize"
        };
        assert_eq!(
            asked[..3],
            [
                "/.well-known/oauth-protected-resource/mcp",
                "/.well-known/oauth-protected-resource",
                "/.well-known/oauth-authorization-server",
            ]
        );
        assert!(asked[3].starts_with(authorizing), "{asked:?}");
        let metadata = world.mcp.seen_by("GET").swap_remove(2);
        assert_eq!(metadata.header("mcp-protocol-version"), Some("2025-03-26"));
        assert!(world.issuer.seen().is_empty());
    }
}

#[test]
fn a_server_that_knows_nothing_of_all_this_is_told_apart() {
    let stub = Stub::start(|seen, out| match &*seen.target {
        "/mcp" => out.respond("401 Unauthorized", &[], "an API key is missing"),
        _ => out.respond("404 Not Found", &[], ""),
    });
    let oauth = World::start().login().build().unwrap();
    let error = asker().connect(stub.http().authorizer(oauth)).unwrap_err();
    let said = error.to_string();
    assert_eq!(
        (error.kind(), error.http_status()),
        (ErrorKind::Auth, Some(401))
    );
    assert!(
        said.contains("has no metadata (oauth-protected-resource)"),
        "{said}"
    );
}

#[test]
fn another_scheme_is_none_of_its_business() {
    let stub = Stub::start(|_, out| {
        let fields = [("www-authenticate", "Basic realm=\"x\"")];
        out.respond("401 Unauthorized", &fields, "");
    });
    let oauth: OAuth = World::start().login().build().unwrap();
    let error = asker().connect(stub.http().authorizer(oauth)).unwrap_err();
    assert_eq!(error.http_challenge(), Some("Basic realm=\"x\""));
    assert_eq!(stub.seen().len(), 1);
}

// M-ASD-C-05, M-ASD-C-07
#[test]
fn a_challenge_counts_in_whatever_language_it_gives_its_reason() {
    let world = World::with(|rules| {
        rules.resource_place = "/elsewhere";
        rules.challenge = ", error_description=\"das Token ist ungültig\"".to_owned();
    });
    let client = world.connect(world.login()).unwrap();
    assert_eq!(call(&client, "x").unwrap(), "done");
}

#[test]
fn a_challenge_counts_without_the_quotes_that_belong_there() {
    let world = World::start();
    let origin = format!("http://{}", world.mcp.address());
    world.set(|rules| {
        rules.resource_place = "/elsewhere";
        rules.says_place = false;
        rules.challenge = format!(", scope=files:read, resource_metadata={origin}/elsewhere");
    });
    world.connect(world.login()).unwrap();
    assert_eq!(world.record().authorizations[0]["scope"], "files:read");
}

// M-ASEC-B-06, E-EMA-B-13
#[test]
fn no_token_goes_over_the_net_in_the_clear() {
    let world = World::with(|rules| {
        rules.resource = json!({ "resource": "http://mcp.example/mcp" });
    });
    let address = world.mcp.address();
    let (proxy, _asked) = socks_proxy("socks5h", move |_, _| address);
    let builder = world.login().allow_private_addresses(true);
    let http = Http::new("http://mcp.example/mcp").unwrap().proxy(&proxy);
    let http = http.authorizer(builder.build().unwrap());
    let error = asker().connect(http).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Auth, "{error}");
    assert!(error.to_string().contains("is not https"), "{error}");
    assert!(world.record().authorizations.is_empty());
    let seen = world.mcp.seen();
    assert!(
        seen.iter()
            .all(|seen| seen.header("authorization").is_none())
    );
}
