//! What authorization servers, and what names them, are asked for.

use mcplink::ErrorKind;
use mcplink::auth::{OAuth, RegisteredClient};
use mcplink::client::Client;
use mcplink::transport::http::Http;
use serde_json::json;

use crate::web::{Answer, Asked, Web, json_answer, opening};
use crate::{Alone, as_host};

/// The buffers of the connections by which documents come are smaller; they have a size of their own.
const LARGE: usize = 200 << 10;

/// A server that wants a token, and the authorization server that gives it.
fn answer(origin: &str, asked: &Asked) -> Answer {
    let document = match &*asked.path {
        "/.well-known/oauth-protected-resource/mcp" => {
            json!({ "resource": format!("{origin}/mcp"), "authorization_servers": [origin] })
        }
        "/.well-known/oauth-authorization-server" => json!({
            "issuer": origin, "token_endpoint": format!("{origin}/token"),
            "authorization_endpoint": format!("{origin}/authorize"),
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["client_secret_basic"],
        }),
        "/token" => json!({ "access_token": "t0ken", "token_type": "Bearer", "expires_in": 600 }),
        "/mcp" if asked.head.contains("authorization: bearer t0ken") => {
            return json_answer(opening(&asked.body).unwrap_or_default().to_string());
        }
        "/mcp" => {
            let place = format!("{origin}/.well-known/oauth-protected-resource/mcp");
            let field = format!("www-authenticate: Bearer resource_metadata=\"{place}\"\r\n");
            return (401, field, String::new());
        }
        _ => return (404, String::new(), String::new()),
    };
    json_answer(document.to_string())
}

/// Metadata of the server, metadata of its authorization server, and a token: one after the other
/// finds no memory. The login fails, and the next one succeeds.
#[test]
fn a_login_without_memory_for_a_document_says_so() {
    let alone = Alone::begin(LARGE);
    let web = Web::start(answer);
    let connect = |oauth: &OAuth| {
        let http = Http::new(&web.url())?.authorizer(oauth.clone());
        Client::connect(http).map(|client| client.close())
    };
    alone.fail_each(
        "a login",
        || {
            let client = RegisteredClient::new(web.origin(), "m").secret("m4chine");
            OAuth::client_credentials(client).build().unwrap()
        },
        |oauth| as_host(|| connect(oauth)),
        |oauth, outcome, has_failed| {
            match outcome {
                Ok(()) => assert!(!has_failed),
                Err(error) => {
                    assert!(has_failed, "{error}");
                    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
                    assert!(error.to_string().contains("no memory for"), "{error}");
                }
            }
            as_host(|| connect(&oauth)).unwrap();
        },
    );
}
