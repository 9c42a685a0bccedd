//! The scenarios about authorization.
//!
//! The suite's authorization server needs no person: it answers a login with a redirect at once.

use std::error::Error;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use mcplink::ErrorKind;
use mcplink::auth::{
    CallbackUserAgent, IdentityProvider, Login, OAuth, OAuthBuilder, RegisteredClient, Secret,
    SigningKey, SubjectToken,
};
use mcplink::transport::http::Http;
use serde_json::{Value, json};

use crate::{Done, builder};

/// The URL of this client's metadata document. The client does not serve it.
const DOCUMENT: &str = "https://conformance-test.local/client-metadata.json";
/// The redirect URI. No listener is needed: the client reads the redirect without following it.
const REDIRECT: &str = "http://127.0.0.1:33418/callback";

pub(crate) fn run(scenario: &str, url: &str) -> Done {
    let oauth = oauth(scenario)?
        .client_name("mcplink-conformance")
        .on_log(|line| eprintln!("{line}"))
        .build()?;
    let client = builder()?.connect(Http::new(url)?.authorizer(oauth))?;
    client.list_tools()?;
    client.call_tool("test-tool", &json!({}))?;
    client.close();
    Ok(())
}

fn oauth(scenario: &str) -> Result<OAuthBuilder, Box<dyn Error>> {
    let context: Value = match std::env::var("MCP_CONFORMANCE_CONTEXT") {
        Ok(text) => serde_json::from_str(&text)?,
        Err(_) => Value::Null,
    };
    let text = |name: &str| -> Result<String, Box<dyn Error>> {
        let value = context[name].as_str();
        Ok(value
            .ok_or_else(|| format!("the scenario gives no {name}"))?
            .to_owned())
    };
    let client = || -> Result<RegisteredClient, Box<dyn Error>> {
        let id = text("client_id")?;
        Ok(match context["issuer"].as_str() {
            Some(issuer) => RegisteredClient::new(issuer, id),
            None => RegisteredClient::of_first_issuer(id),
        })
    };
    let secret = || text("client_secret").map(Secret::new);
    let login = || OAuth::login(CallbackUserAgent::new(REDIRECT, visit));
    Ok(match scenario {
        "auth/pre-registration" => login().registered(client()?.secret(secret()?)),
        "auth/client-credentials-basic" => OAuth::client_credentials(client()?.secret(secret()?)),
        "auth/client-credentials-jwt" => {
            let key = SigningKey::from_pem(&Secret::new(text("private_key_pem")?))?;
            OAuth::client_credentials(client()?.key(key))
        }
        "auth/wif-jwt-bearer" => {
            let statement = text("valid_jwt")?;
            let id = text("client_id")?;
            OAuth::workload(Some(&id), move |_| Ok(Secret::new(&*statement)))
        }
        "auth/enterprise-managed-authorization" => {
            let idp = RegisteredClient::new(text("idp_issuer")?, text("idp_client_id")?);
            let token = text("idp_id_token")?;
            let provider = IdentityProvider::new(text("idp_token_endpoint")?, idp, move || {
                Ok(SubjectToken::IdToken(Secret::new(&*token)))
            });
            OAuth::enterprise(provider, client()?.secret(secret()?))
        }
        _ => login().client_document(DOCUMENT),
    })
}

/// Requests the page of the login, and returns the URL of its redirect.
fn visit(login: &Login<'_>) -> mcplink::Result<Secret> {
    let failed = |what: &dyn std::fmt::Display| {
        mcplink::Error::new(ErrorKind::Io, format!("the login failed: {what}"))
    };
    let rest = login.url().strip_prefix("http://").unwrap_or_default();
    let (place, path) = rest.split_once('/').unwrap_or((rest, ""));
    let answer = get(place, path).map_err(|error| failed(&error))?;
    let mut fields = answer.lines().filter_map(|line| line.split_once(':'));
    let location = fields.find(|(name, _)| name.eq_ignore_ascii_case("location"));
    match location {
        Some((_, target)) => Ok(Secret::new(target.trim())),
        None => Err(failed(&"no redirect")),
    }
}

fn get(place: &str, path: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(place)?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    let request = format!("GET /{path} HTTP/1.1\r\nhost: {place}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}
