//! Parameters of the authorization request that a host sets.

use mcplink::ErrorKind;
use mcplink::auth::{OAuth, RegisteredClient};
use serde_json::json;

use crate::authworld::World;
use crate::stub::call;

#[test]
fn a_host_sets_further_parameters_of_the_authorization_request() {
    let offline = json!({ "scopes_supported": ["offline_access"] });
    // With the scope `offline_access` the library sends `prompt=consent` itself.
    for (prompt, sent) in [
        (Some("login"), Some("login")),
        (Some(""), None),
        (None, Some("consent")),
    ] {
        let world = World::with(|rules| rules.metadata = offline.clone());
        let mut builder = world
            .login()
            .authorization_param("access_type", "offline")
            .authorization_param("audience", "first")
            .authorization_param("audience", "https://api.example/?a=1&b=ü #x");
        if let Some(prompt) = prompt {
            builder = builder.authorization_param("prompt", prompt);
        }
        call(&world.connect(builder).unwrap(), "x").unwrap();
        let asked = world.record().authorizations.remove(0);
        let value = |name: &str| asked.get(name).map(String::as_str);
        assert_eq!(value("access_type"), Some("offline"));
        assert_eq!(value("audience"), Some("https://api.example/?a=1&b=ü #x"));
        assert_eq!(value("prompt"), sent);
        assert_eq!(value("response_type"), Some("code"));
        assert!(!world.record().tokens[0].contains_key("audience"));
    }
}

#[test]
fn parameters_of_the_library_can_not_be_replaced() {
    let world = World::start();
    for name in [
        "response_type",
        "client_id",
        "redirect_uri",
        "state",
        "code_challenge",
        "code_challenge_method",
        "resource",
        "scope",
        "response_mode",
        "request",
        "request_uri",
        "",
    ] {
        let builder = world.login().authorization_param(name, "x");
        let error = builder.authorization_param("a", "b").build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{name}");
        let said = error.to_string();
        assert!(
            said.contains(&format!("'{name}' is no parameter")),
            "{said}"
        );
    }
    let me = RegisteredClient::new(world.issuer(), "me").secret("x");
    let machine = OAuth::client_credentials(me).authorization_param("audience", "x");
    let error = machine.build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("only logins"), "{error}");
}
