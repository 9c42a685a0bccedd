//! What a client says first, and how it opens the conversation once it knows the era.

use std::time::Duration;

use mcplink::ErrorKind;
use mcplink::client::CallOptions;
use mcplink::client::Era;
use mcplink::schema::{
    ClientCapabilities, ElicitationCapability, ElicitationMode, ProtocolVersion,
};
use mcplink::transport::memory;
use serde_json::{Value, json};

use crate::scripted::{asker, connect, discovered, greeter, initialized, script};

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const INFO: &str = "io.modelcontextprotocol/clientInfo";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

fn form() -> ClientCapabilities {
    let elicitation = ElicitationCapability::default().with(ElicitationMode::Form);
    ClientCapabilities::default().elicitation(elicitation)
}

// M-DISC-C-06, M-META-C-07, M-META-C-10, M-DISC-S-02, M-VER-C-12
#[test]
fn the_first_message_is_a_probe_in_the_preferred_revision() {
    for revisions in [ProtocolVersion::ALL, &[ProtocolVersion::LATEST]] {
        let (transport, script) = script(|server| {
            let probe = server.open_modern();
            server.expect_end();
            probe
        });
        let client = connect(asker().capabilities(form()).revisions(revisions), transport).unwrap();
        assert_eq!(client.revision(), ProtocolVersion::LATEST);
        assert_eq!(client.era(), Era::Modern);
        assert_eq!(client.server_info().unwrap().name, "scripted");
        drop(client);
        let meta = script.end()["params"]["_meta"].clone();
        assert_eq!(meta[VERSION], "2026-07-28");
        assert_eq!(meta[INFO], json!({ "name": "asker", "version": "1.0" }));
        assert_eq!(meta[CAPABILITIES], json!({ "elicitation": { "form": {} } }));
    }
}

// M-META-C-07, M-META-C-10, M-PROG-C-01, M-PROG-C-02, M-BASE-C-05, L-BASE-B-05
#[test]
fn every_modern_request_says_who_asks_for_what() {
    for named in [true, false] {
        let (transport, script) = script(|server| {
            let mut seen = vec![server.open_modern()];
            while let Some(request) = server.next() {
                let method = request["method"].as_str().unwrap();
                let result = match method {
                    "server/discover" => discovered(&["2026-07-28"]),
                    "tools/list" => json!({ "resultType": "complete", "tools": [], "ttlMs": 0 }),
                    _ => json!({ "resultType": "complete", "content": [] }),
                };
                server.answer(&request, result);
                seen.push(request);
            }
            seen
        });
        let client = connect(asker().send_client_info(named), transport).unwrap();
        client.list_tools().unwrap();
        client.call_tool("a", &json!({ "b": 1 })).unwrap();
        client.ping(CallOptions::new()).unwrap();
        let own = json!({ "_meta": { "com.example/a": 1, VERSION: "overruled" } });
        client.request("x/y", &own, CallOptions::new()).unwrap();
        client.request("x/y", &(), CallOptions::new()).unwrap();
        drop(client);
        let seen = script.end();
        assert_eq!(seen.len(), 6);
        let mut tokens = Vec::new();
        for request in &seen {
            // M-META-C-07 is what the script checks of each.
            let meta = &request["params"]["_meta"];
            assert_eq!(meta.get(INFO).is_some(), named, "{request}");
            let token = &meta["progressToken"];
            assert!(token.is_i64() || token.is_string(), "{token}");
            tokens.push((token.to_string(), request["id"].to_string()));
        }
        assert_eq!(seen[4]["params"]["_meta"]["com.example/a"], 1);
        tokens.sort();
        tokens.dedup();
        assert_eq!(tokens.len(), 6, "{tokens:?}");
    }
}

// L-INIT-C-02, L-INIT-C-04, L-INIT-C-05, L-INIT-C-07, L-INIT-C-08, L-BASE-B-01, L-BASE-B-15
#[test]
fn the_legacy_opening_is_one_request_and_one_notification() {
    for &revision in ProtocolVersion::LEGACY {
        let (transport, script) = script(move |server| {
            let request = server.agree(revision);
            server.expect("notifications/initialized");
            let call = server.expect("tools/call");
            server.answer(&call, json!({ "content": [] }));
            server.expect_end();
            (request, call)
        });
        let client = connect(
            asker()
                .revisions(ProtocolVersion::LEGACY)
                .capabilities(form())
                // The legacy era knows no namelessness.
                .send_client_info(false),
            transport,
        )
        .unwrap();
        assert_eq!((client.revision(), client.era()), (revision, Era::Legacy));
        client.call_tool("a", &json!({})).unwrap();
        drop(client);
        let (request, call) = script.end();
        let params = &request["params"];
        assert_eq!(params["protocolVersion"], "2025-11-25");
        assert_eq!(
            params["clientInfo"],
            json!({ "name": "asker", "version": "1.0" })
        );
        assert_eq!(
            params["capabilities"],
            json!({ "elicitation": { "form": {} } })
        );
        assert!(
            !call.to_string().contains("io.modelcontextprotocol"),
            "{call}"
        );
    }
}

// L-INIT-C-07, L-INIT-C-08
#[test]
fn the_newest_legacy_revision_that_is_allowed_is_offered() {
    let (transport, script) = script(|server| {
        let request = server.agree(ProtocolVersion::V2024_11_05);
        server.expect("notifications/initialized");
        request
    });
    let allowed = [ProtocolVersion::V2024_11_05, ProtocolVersion::V2025_03_26];
    let client = connect(asker().revisions(&allowed), transport).unwrap();
    assert_eq!(client.revision(), ProtocolVersion::V2024_11_05);
    let request = script.end();
    assert_eq!(request["params"]["protocolVersion"], "2025-03-26");
}

// L-INIT-C-12, L-INIT-C-13, L-INIT-B-22, AMB-61
#[test]
fn a_revision_that_is_not_allowed_ends_the_connection() {
    for (version, revisions) in [
        ("1999-01-01", ProtocolVersion::LEGACY),
        ("2026-07-28", ProtocolVersion::LEGACY),
        ("2024-11-05", &[ProtocolVersion::V2025_11_25]),
    ] {
        let (transport, script) = script(move |server| {
            let request = server.expect("initialize");
            server.answer(&request, initialized(version));
            server.expect_end();
        });
        let error = connect(asker().revisions(revisions), transport).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        let text = error.to_string();
        assert!(
            text.contains(version) && text.contains("2025-11-25"),
            "{text}"
        );
        script.end();
    }
}

// Must not happen: connecting, probing, closing and token requests have no deadline.
// L-CANC-C-02, L-INIT-B-18, L-INIT-B-22
#[test]
fn initialize_is_bounded_and_never_cancelled() {
    let (transport, script) = script(|server| {
        server.expect("initialize");
        server.expect_end();
    });
    let client = asker()
        .revisions(ProtocolVersion::LEGACY)
        .connect_timeout(Duration::from_millis(50));
    let error = connect(client, transport).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    let text = error.to_string();
    for part in ["initialize", "the in-memory peer", "timeout is"] {
        assert!(text.contains(part), "{text}");
    }
    script.end();
}

// AMB-60, L-INIT-B-22
#[test]
fn a_refused_initialize_says_who_refused_and_why() {
    let (transport, script) = script(|server| {
        let request = server.expect("initialize");
        let error = json!({ "code": -32602, "message": "Unsupported protocol version" });
        server.refuse(&request, error);
        server.expect_end();
    });
    let client = asker().revisions(ProtocolVersion::LEGACY);
    let error = connect(client, transport).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Peer);
    assert_eq!(error.rpc().unwrap().code.value(), -32602);
    let text = error.to_string();
    for part in [
        "connecting to",
        "initialize",
        "Unsupported protocol version",
    ] {
        assert!(text.contains(part), "{text}");
    }
    script.end();
}

#[test]
fn an_answer_to_initialize_that_is_none_is_an_error_of_the_protocol() {
    for result in [
        json!({}),
        json!({ "protocolVersion": 7 }),
        json!([]),
        Value::Null,
    ] {
        let (transport, script) = script(move |server| {
            let request = server.expect("initialize");
            server.answer(&request, result);
            server.expect_end();
        });
        let client = asker().revisions(ProtocolVersion::LEGACY);
        let error = connect(client, transport).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Protocol, "{error}");
        script.end();
    }
}

// M-VER-B-17
#[test]
fn whoever_has_an_era_in_common_understands_each_other() {
    let modern: &[_] = &[ProtocolVersion::LATEST];
    let (legacy, both) = (ProtocolVersion::LEGACY, ProtocolVersion::ALL);
    for (ours, theirs, expected) in [
        (modern, modern, Some("2026-07-28")),
        (modern, both, Some("2026-07-28")),
        (modern, legacy, None),
        (both, modern, Some("2026-07-28")),
        (both, both, Some("2026-07-28")),
        (both, legacy, Some("2025-11-25")),
        (legacy, modern, None),
        (legacy, both, Some("2025-11-25")),
        (legacy, legacy, Some("2025-11-25")),
    ] {
        let server = greeter().revisions(theirs).build().unwrap();
        let (here, there) = memory::pair();
        let serving = server.open(there).unwrap();
        let connected = connect(asker().revisions(ours), here);
        match (connected, expected) {
            (Ok(client), Some(expected)) => {
                assert_eq!(client.revision().as_str(), expected);
                assert_eq!(client.list_tools().unwrap()[0].name, "greet");
                let result = client.call_tool("greet", &json!({ "name": "you" }));
                assert_eq!(result.unwrap().content[0].as_text(), Some("Hello, you!"));
                client.ping(CallOptions::new()).unwrap();
            }
            (Err(error), None) => {
                let text = error.to_string();
                assert!(
                    text.contains("revisions") || text.contains("2026-07-28"),
                    "{text}"
                );
            }
            (connected, expected) => panic!("{connected:?} instead of {expected:?}"),
        }
        drop(serving);
    }
}

// M-VER-B-08, M-BASE-B-20
#[test]
fn what_a_server_says_of_itself_can_be_read() {
    let (transport, script) = script(|server| {
        let probe = server.expect("server/discover");
        let mut result = discovered(&["2026-07-28"]);
        result["instructions"] = json!("Be polite.");
        result["capabilities"]["extensions"] = json!({ "a.b/on": {}, "a.b/set": { "x": [null] } });
        result["capabilities"]["later"] = json!(true);
        server.answer(&probe, result);
        server.expect_end();
    });
    let client = connect(asker(), transport).unwrap();
    assert_eq!(client.instructions(), Some("Be polite."));
    let capabilities = client.capabilities();
    assert!(capabilities.tools.is_some() && capabilities.prompts.is_none());
    assert_eq!(capabilities.extension("a.b/on"), Some(&json!({})));
    assert_eq!(
        capabilities.extension("a.b/set"),
        Some(&json!({ "x": [null] }))
    );
    assert_eq!(capabilities.extension("a.b/off"), None);
    drop(client);
    script.end();
}

#[test]
fn a_client_needs_a_revision() {
    let (here, _there) = memory::pair();
    let error = asker().revisions(&[]).connect(here).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
}
