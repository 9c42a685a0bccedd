//! Logins through an HTTP client of the host.

use std::sync::{Arc, mpsc};
use std::time::Duration;

use mcplink::ErrorKind;
use mcplink::auth::{CallbackUserAgent, Login, OAuth};
use mcplink::transport::http::{Http, HttpClient};
use mcplink::{Error, Result};
use serde_json::json;

use crate::authworld::{REDIRECT, World};
use crate::common::LONG;
use crate::hostclient::{HostClient, by_function};
use crate::stub::{Stub, asker, call};

#[test]
fn metadata_and_tokens_come_through_it() {
    let world = World::start();
    let host = HostClient::default();
    let oauth = world.login().http_client(host.clone()).build().unwrap();
    // The server is reached by the library itself.
    let client = world.connect_to(&oauth).unwrap();
    assert_eq!(call(&client, "x").unwrap(), "done");
    let base = world.mcp_url().strip_suffix("/mcp").unwrap();
    let issuer = world.issuer();
    assert_eq!(
        host.sent(),
        [
            format!("GET {base}/.well-known/oauth-protected-resource/mcp"),
            format!("GET {issuer}/.well-known/oauth-authorization-server"),
            format!("POST {issuer}/register"),
            format!("POST {issuer}/token"),
        ]
    );
    let record = world.record();
    assert_eq!((record.registrations.len(), record.tokens.len()), (1, 1));
    // Renewal, and the server, too: one client for all.
    world.revoke_tokens();
    let shared: Arc<dyn HttpClient> = Arc::new(host.clone());
    let http = world.mcp.http().authorizer(oauth).http_client(shared);
    let client = asker().connect(http).unwrap();
    assert_eq!(call(&client, "x").unwrap(), "done");
    let last = world.record().tokens.pop().unwrap();
    assert_eq!(last["grant_type"], "refresh_token");
    assert_eq!(
        host.sent().pop().unwrap(),
        format!("POST {}", world.mcp_url())
    );
    assert_eq!(host.cancelled(), 0);
}

#[test]
fn redirects_of_metadata_are_followed_by_the_library() {
    let world = World::with(|rules| {
        rules.resource_redirect = Some(("302 Found", crate::authworld::MOVED.to_owned()));
    });
    let host = HostClient::default();
    world
        .connect(world.login().http_client(host.clone()))
        .unwrap();
    let moved = format!(
        "GET {}",
        world.mcp_url().replace("/mcp", crate::authworld::MOVED)
    );
    assert_eq!(host.sent()[1], moved);
}

#[test]
fn a_server_that_says_nothing_is_given_up_in_time() {
    let timeout = Duration::from_millis(1500);
    let world = World::with(|rules| rules.is_silent = true);
    let host = HostClient::default();
    let builder = world.login().step_timeout(timeout);
    let error = world
        .connect(builder.http_client(host.clone()))
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    assert!(error.to_string().contains("step_timeout"), "{error}");
    assert_eq!(host.cancelled(), 1);
    // A request for a token ends in time, too.
    let world = World::with(|rules| {
        rules.on_token = Some(Arc::new(|_, out| {
            out.expect_close();
            true
        }));
    });
    let host = HostClient::default();
    let builder = world.login().step_timeout(timeout);
    let error = world
        .connect(builder.http_client(host.clone()))
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    assert!(
        error.to_string().contains("the token did not come"),
        "{error}"
    );
    assert_eq!(host.cancelled(), 1);
}

#[test]
fn a_request_that_nobody_waits_for_is_ended() {
    let (ended, has_ended) = mpsc::channel();
    let client = by_function(move |request| {
        let (cancel, is_cancelled) = mpsc::channel();
        request.on_cancel(move || cancel.send(()).unwrap());
        is_cancelled.recv_timeout(LONG).unwrap();
        ended.send(request.is_cancelled()).unwrap();
        Err(Error::new(ErrorKind::State, "it was given up"))
    });
    let world = World::start();
    let oauth = world.login().step_timeout(10 * LONG).http_client(client);
    let http = world.mcp.http().authorizer(oauth.build().unwrap());
    let hurried = asker().connect_timeout(Duration::from_millis(200));
    let error = hurried.connect(http).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    assert!(has_ended.recv_timeout(LONG).unwrap());
}

#[test]
fn its_error_is_told() {
    let world = World::start();
    let client = by_function(|_| Err(Error::new(ErrorKind::State, "the sandbox forbids it")));
    let error = world
        .connect(world.login().http_client(client))
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::State, "{error}");
    assert!(
        error.to_string().contains("the sandbox forbids it"),
        "{error}"
    );
    let client = by_function(|_| panic!("on purpose"));
    let error = world
        .connect(world.login().http_client(client))
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io, "{error}");
    assert!(error.to_string().contains("panicked"), "{error}");
    assert!(world.record().registrations.is_empty());
}

/// Connects to a remote server whose authorization server has a name. The host's client finds the two at these addresses.
/// Returns how often the authorization server was asked.
fn connect_remote(server: &str, issuer: &str, everywhere: bool) -> Result<usize> {
    let mcp = Stub::start(|seen, out| match &*seen.target {
        "/mcp" => {
            let place = "https://mcp.example/metadata";
            let challenge = format!("Bearer resource_metadata=\"{place}\"");
            out.respond("401 Unauthorized", &[("www-authenticate", &challenge)], "");
        }
        _ => out.json(&json!({
            "resource": "https://mcp.example/mcp", "authorization_servers": ["https://as.example"],
        })),
    });
    let asked = Stub::start(|_, out| out.respond("404 Not Found", &[], ""));
    let host = HostClient::knowing(&[
        ("mcp.example", server, mcp.address()),
        ("as.example", issuer, asked.address()),
    ]);
    let agent = CallbackUserAgent::new(REDIRECT, |_: &Login<'_>| panic!("nobody logs in"));
    let oauth = OAuth::login(agent).allow_private_addresses(everywhere);
    let oauth = oauth.http_client(host.clone()).build()?;
    let http = Http::new("https://mcp.example/mcp")?.http_client(host.clone());
    let error = asker().connect(http.authorizer(oauth)).unwrap_err();
    match error.to_string().contains("allow_private_addresses") {
        true => {
            assert!(asked.seen().is_empty());
            Err(error)
        }
        false => Ok(asked.seen().len()),
    }
}

// M-SEC-C-08, M-SEC-C-10
#[test]
fn it_is_told_to_which_addresses_a_server_must_not_lead_it() {
    for inside in ["10.0.0.1", "127.0.0.1", "169.254.169.254", "fd00::1"] {
        let error = connect_remote("93.184.216.34", inside, false).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Auth, "{error}");
        assert!(error.to_string().contains("https://as.example"), "{error}");
        let asked = connect_remote("93.184.216.34", inside, true).unwrap();
        assert!(asked > 0, "{inside}");
    }
    // The server's own name may lead there, but not on the local link.
    let asked = connect_remote("10.0.0.1", "93.184.216.34", false).unwrap();
    assert!(asked > 0);
    connect_remote("169.254.1.1", "93.184.216.34", false).unwrap_err();
}

#[test]
fn settings_that_it_would_ignore_are_refused() {
    let world = World::start();
    let root = include_bytes!("../data/tls/root.pem");
    for (builder, setting) in [
        (
            world.login().proxy("socks5://127.0.0.1:9"),
            "OAuthBuilder::proxy",
        ),
        (
            world.login().proxy_from_environment(),
            "OAuthBuilder::proxy",
        ),
        (
            world.login().root_certificates(root),
            "OAuthBuilder::root_certificates",
        ),
    ] {
        let error = builder
            .http_client(HostClient::default())
            .build()
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        assert!(error.to_string().contains(setting), "{error}");
    }
}
