//! Authorization with certificates of a company's own authority.

use mcplink::ErrorKind;
use mcplink::auth::{OAuth, OAuthBuilder, RegisteredClient};
use mcplink::client::Client;
use mcplink::transport::http::Http;

use crate::authworld::World;
use crate::front::{OTHER_ROOT, ROOT};
use crate::stub::{asker, call};

fn machine(world: &World) -> OAuthBuilder {
    OAuth::client_credentials(RegisteredClient::new(world.issuer(), "me").secret("s3cret"))
}

/// A client that trusts the authority on the way to the server.
fn connect(world: &World, oauth: OAuthBuilder) -> mcplink::Result<Client> {
    let http = Http::new(world.mcp_url())?.root_certificates(ROOT);
    asker().connect(http.authorizer(oauth.build()?))
}

#[test]
fn tokens_are_asked_for_where_a_named_authority_vouches() {
    let world = World::over_tls();
    let oauth = machine(&world)
        .root_certificates(OTHER_ROOT)
        .root_certificates(ROOT);
    let client = connect(&world, oauth).unwrap();
    assert_eq!(call(&client, "x").unwrap(), "done");
    assert_eq!(world.record().tokens.len(), 1);
}

#[test]
fn nothing_is_asked_where_no_named_authority_vouches() {
    let world = World::over_tls();
    for oauth in [
        machine(&world),
        machine(&world).root_certificates(OTHER_ROOT),
    ] {
        let error = connect(&world, oauth).unwrap_err();
        let said = error.to_string();
        assert_eq!(error.kind(), ErrorKind::Io, "{said}");
        assert!(said.contains("OAuthBuilder::root_certificates"), "{said}");
    }
    assert_eq!(
        world.paths(),
        [""; 0],
        "the authorization server is not gone to"
    );
}

#[test]
fn certificates_of_authorities_that_can_not_be_used_are_refused() {
    let world = World::start();
    let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    for (pem, why) in [
        ("", "expected PEM"),
        ("/etc/ca.pem", "expected PEM"),
        ("-----BEGIN CERTIFICATE-----\n!", "can't be read as PEM"),
        (broken, "can't be read"),
    ] {
        let made = machine(&world).root_certificates(pem).build();
        let error = made.unwrap_err();
        let said = error.to_string();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{said}");
        assert!(
            said.contains(why) && said.contains("root_certificates"),
            "{said}"
        );
    }
}
