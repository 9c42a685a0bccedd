//! The timeouts that a client gives to its calls.

use std::time::{Duration, Instant};

use mcplink::ErrorKind;
use mcplink::client::{CallOptions, CancelToken, Client, ClientBuilder};
use mcplink::schema::{LoggingLevel, ProtocolVersion, SubscriptionFilter};
use serde_json::{Value, json};

use crate::common::{LONG, within};
use crate::rawserver::{RawServer, connect_with};

const ERAS: [ProtocolVersion; 2] = [ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28];
const SHORT: Duration = Duration::from_millis(200);

/// A client of a server that answers nothing.
fn silent(builder: ClientBuilder, revision: ProtocolVersion) -> (Client, RawServer) {
    let capabilities = json!({
        "tools": { "listChanged": true }, "prompts": {}, "resources": { "subscribe": true },
        "logging": {},
    });
    connect_with(builder, revision, &capabilities)
}

fn kind<T>(result: mcplink::Result<T>) -> Option<ErrorKind> {
    result.err().map(|error| error.kind())
}

#[test]
fn a_client_gives_its_timeout_to_every_kind_of_call() {
    for revision in ERAS {
        let builder = Client::builder("test", "1").call_timeout(SHORT);
        let (client, _server) = silent(builder, revision);
        within(LONG, move || {
            let none = CallOptions::new;
            let check = |what: &str, kind: Option<ErrorKind>, began: Instant| {
                assert_eq!(kind, Some(ErrorKind::Timeout), "{what} in {revision}");
                assert!(began.elapsed() >= SHORT, "{what} in {revision}");
            };
            let now = Instant::now;
            let began = now();
            check("list", kind(client.list_tools()), began);
            let began = now();
            check("call", kind(client.call_tool("x", &json!({}))), began);
            let began = now();
            check(
                "raw",
                kind(client.call_tool_raw("x", &json!({}), none())),
                began,
            );
            let began = now();
            let started = client.start_tool("x", &json!({}), none()).unwrap();
            check("start", kind(started.wait()), began);
            let began = now();
            check("prompt", kind(client.get_prompt("x", &[])), began);
            let began = now();
            check("resource", kind(client.read_resource("x:y")), began);
            let began = now();
            check(
                "request",
                kind(client.request("x/y", &Value::Null, none())),
                began,
            );
            let began = now();
            let filter = SubscriptionFilter::default().resource_subscriptions(vec!["x:y".into()]);
            check("subscribe", kind(client.subscribe(filter, |_| {})), began);
            if revision.is_legacy() {
                let began = now();
                check(
                    "level",
                    kind(client.set_log_level(LoggingLevel::Error)),
                    began,
                );
                let began = now();
                check("ping", kind(client.ping(none())), began);
            }
        });
    }
}

#[test]
fn options_of_a_call_go_before_the_timeouts_of_the_client() {
    for revision in ERAS {
        let builder = Client::builder("test", "1")
            .call_timeout(LONG)
            .max_call_timeout(LONG);
        let (client, _server) = silent(builder, revision);
        let failed = within(LONG / 2, move || {
            let options = CallOptions::new().timeout(SHORT);
            let first = kind(client.call_tool_with("x", &json!({}), options));
            let options = CallOptions::new().max_timeout(SHORT);
            [first, kind(client.call_tool_with("x", &json!({}), options))]
        });
        assert_eq!(failed, [Some(ErrorKind::Timeout); 2]);
    }
    // Without a timeout, only the token ends the call.
    let builder = Client::builder("test", "1")
        .call_timeout(SHORT)
        .max_call_timeout(SHORT);
    let (client, mut server) = silent(builder, ERAS[1]);
    let (token, began) = (CancelToken::new(), Instant::now());
    let failed = server.serve(
        || {
            let options = CallOptions::new().no_timeout().cancel_with(&token);
            kind(client.call_tool_with("x", &json!({}), options))
        },
        |server| {
            server.asked("tools/call");
            assert!(!token.wait(SHORT * 2));
            token.cancel();
        },
    );
    assert_eq!(failed, Some(ErrorKind::Cancelled));
    assert!(began.elapsed() >= SHORT * 2);
}

#[test]
fn a_client_gives_its_maximum_timeout_to_its_calls() {
    for revision in ERAS {
        let builder = Client::builder("test", "1")
            .call_timeout(LONG)
            .max_call_timeout(SHORT);
        let (client, _server) = silent(builder, revision);
        let error = within(LONG / 2, move || client.call_tool("x", &json!({})));
        let error = error.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Timeout);
        assert!(
            error.to_string().contains("max_timeout is 200 ms"),
            "{error}"
        );
    }
}
