//! What a client makes of the answer to its probe.

use std::time::Duration;

use mcplink::client::Era;
use mcplink::schema::ProtocolVersion;
use mcplink::{Error, ErrorKind};
use serde_json::{Value, json};

use crate::scripted::{Scripted, ScriptedServer, asker, connect, discovered, script};
use mcplink::transport::memory::Memory;

/// A server that does something with the probe and is then initialized.
fn legacy_after(
    answer: impl FnOnce(&mut ScriptedServer, &Value) + Send + 'static,
) -> (Memory, Scripted<()>) {
    script(|server| {
        let probe = server.expect("server/discover");
        answer(server, &probe);
        server.agree(ProtocolVersion::V2025_06_18);
        server.expect("notifications/initialized");
        server.expect_end();
    })
}

fn check_legacy((transport, script): (Memory, Scripted<()>)) {
    let client = asker().probe_timeout(Duration::from_millis(300));
    let client = connect(client, transport).unwrap();
    assert_eq!(client.revision(), ProtocolVersion::V2025_06_18);
    drop(client);
    script.end();
}

/// A server that does something with the probe and gets nothing more.
fn given_up(answer: impl FnOnce(&mut ScriptedServer, &Value) + Send + 'static) -> Error {
    let (transport, script) = script(|server| {
        let probe = server.expect("server/discover");
        answer(server, &probe);
        server.expect_end();
    });
    let error = connect(asker(), transport).unwrap_err();
    script.end();
    let text = error.to_string();
    assert!(
        text.contains("connecting to 'the in-memory peer' failed"),
        "{text}"
    );
    error
}

fn unsupported(data: Value) -> Value {
    json!({ "code": -32022, "message": "unsupported protocol version", "data": data })
}

// M-VER-C-14, M-STDIO-C-13, M-VER-B-17, M-ERR-B-03, AMB-43
#[test]
fn any_other_refusal_of_the_probe_means_legacy() {
    for code in [
        -32601, -32602, -32603, -32600, -32700, -32000, -32001, -32002, -32003, -32004, 0, 42,
    ] {
        for data in [
            None,
            Some(json!("")),
            Some(json!({ "supported": ["2026-07-28"] })),
        ] {
            check_legacy(legacy_after(move |server, probe| {
                let mut error = json!({ "code": code, "message": "no" });
                if let Some(data) = data {
                    error["data"] = data;
                }
                server.refuse(probe, error);
            }));
        }
    }
}

// Seen in other SDKs: an old server that dies, hangs or babbles at the era probe is lost.
// M-VER-C-14, M-STDIO-C-14, M-VER-C-18, M-BASE-C-22
#[test]
fn answers_that_are_no_discovery_mean_legacy() {
    for result in [
        json!({}),
        json!({ "tools": [] }),
        json!({ "supportedVersions": "2026-07-28", "capabilities": {} }),
        json!({ "supportedVersions": null, "capabilities": {} }),
        json!([]),
        json!(null),
        json!("ok"),
    ] {
        check_legacy(legacy_after(move |server, probe| {
            server.answer(probe, result)
        }));
    }
    check_legacy(legacy_after(|_, _| {}));
    for text in [
        "<html>no</html>",
        "",
        r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"x"}}"#,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}"#,
        r#"{"jsonrpc":"2.0","id":"other","result":{}}"#,
    ] {
        check_legacy(legacy_after(move |server, _| server.send_text(text)));
    }
    check_legacy(legacy_after(|server, probe| {
        let both = json!({ "code": 1, "message": "x" });
        server.send(&json!({ "jsonrpc": "2.0", "id": probe["id"], "result": {}, "error": both }));
    }));
}

// M-VER-C-13, M-ERR-B-05
#[test]
fn errors_that_only_the_modern_era_has_do_not_lead_to_initialize() {
    for code in [-32020, -32021] {
        let error = given_up(move |server, probe| {
            server.refuse(probe, json!({ "code": code, "message": "modern" }));
        });
        assert_eq!(error.kind(), ErrorKind::Peer);
        assert_eq!(error.rpc().unwrap().code.value(), code);
    }
}

// M-VER-C-14: the error of the modern era has a list.
#[test]
fn an_unsupported_version_without_the_supported_ones_means_legacy() {
    for data in [
        json!(null),
        json!({}),
        json!({ "supported": null }),
        json!({ "supported": "2026-07-28" }),
        json!([1]),
    ] {
        check_legacy(legacy_after(move |server, probe| {
            server.refuse(probe, unsupported(data))
        }));
    }
}

#[test]
fn a_discovery_without_capabilities_has_none() {
    for capabilities in [None, Some(json!(null)), Some(json!([])), Some(json!({}))] {
        let (transport, script) = script(move |server| {
            let probe = server.expect("server/discover");
            let mut result = discovered(&["2026-07-28"]);
            match capabilities {
                Some(capabilities) => result["capabilities"] = capabilities,
                None => drop(result.as_object_mut().unwrap().remove("capabilities")),
            }
            server.answer(&probe, result);
            server.expect_end();
        });
        let client = connect(asker(), transport).unwrap();
        assert_eq!(client.era(), Era::Modern);
        assert!(client.capabilities().tools.is_none());
        drop(client);
        script.end();
    }
}

// M-VER-C-02, M-VER-C-13, AMB-45
#[test]
fn a_server_that_shares_no_revision_is_left_with_a_clear_error() {
    for supported in [json!([]), json!(["2099-01-01"]), json!(["nonsense", ""])] {
        let named = supported.to_string();
        let data = json!({ "supported": supported.clone(), "requested": "2026-07-28" });
        let refused = given_up(move |server, probe| server.refuse(probe, unsupported(data)));
        let discovered_others = given_up(move |server, probe| {
            let mut result = discovered(&[]);
            result["supportedVersions"] = supported;
            server.answer(probe, result);
        });
        for error in [refused, discovered_others] {
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{named}");
            let text = error.to_string();
            assert!(text.contains("no common protocol version"), "{text}");
            assert!(text.contains("2026-07-28"), "{text}");
        }
    }
}

// M-VER-C-02, AMB-45
#[test]
fn a_server_that_refuses_what_it_names_is_not_asked_for_ever() {
    // One that refused for no good reason may take it the second time.
    let error = given_up(|server, probe| {
        let data = json!({ "supported": ["2026-07-28"], "requested": "2026-07-28" });
        server.refuse(probe, unsupported(data.clone()));
        let again = server.expect("server/discover");
        server.refuse(&again, unsupported(data));
    });
    assert_eq!(error.kind(), ErrorKind::Protocol);
    assert!(error.to_string().contains("2026-07-28"), "{error}");
}

// M-VER-C-02, M-DISC-C-04, AMB-03
#[test]
fn a_server_that_names_only_legacy_revisions_is_initialized() {
    check_legacy(legacy_after(|server, probe| {
        let data = json!({ "supported": ["2025-06-18", "1999-01-01"], "requested": "2026-07-28" });
        server.refuse(probe, unsupported(data));
    }));
    check_legacy(legacy_after(|server, probe| {
        server.answer(probe, discovered(&["2025-06-18"]));
    }));
}

// AMB-03, M-DISC-C-04
#[test]
fn of_both_kinds_of_revisions_the_modern_one_is_taken() {
    let (transport, script) = script(|server| {
        let probe = server.expect("server/discover");
        server.answer(
            &probe,
            discovered(&["2024-11-05", "2099-01-01", "2026-07-28"]),
        );
        server.expect_end();
    });
    let client = connect(asker(), transport).unwrap();
    assert_eq!(client.revision(), ProtocolVersion::LATEST);
    drop(client);
    script.end();
}

// M-VER-C-12, M-VER-B-17
#[test]
fn a_modern_client_fails_at_a_legacy_server_before_anything_else() {
    let (transport, script) = script(|server| {
        let probe = server.expect("server/discover");
        server.refuse(
            &probe,
            json!({ "code": -32601, "message": "method not found" }),
        );
        server.expect_end();
    });
    let client = asker().revisions(&[ProtocolVersion::LATEST]);
    let error = connect(client, transport).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    let text = error.to_string();
    assert!(
        text.contains("legacy") && text.contains("revisions"),
        "{text}"
    );
    script.end();
}

// M-VER-C-12; promise 10: silence proves nothing of what a server speaks, nor does its end.
#[test]
fn a_modern_client_says_of_a_silent_server_that_it_is_silent() {
    let modern = || asker().revisions(&[ProtocolVersion::LATEST]);
    let (transport, silent) = script(|server| {
        server.expect("server/discover");
        server.expect_end();
    });
    let client = modern().probe_timeout(Duration::from_millis(50));
    let error = connect(client, transport).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    silent.end();
    let (transport, leaving) = script(|server| drop(server.expect("server/discover")));
    let error = connect(modern(), transport).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Closed, "{error}");
    leaving.end();
}

// Must not happen: a modern server that refuses `initialize` is given up; the verdict on a server outlives its upgrade.
// M-VER-C-10
#[test]
fn a_server_that_was_taken_for_legacy_may_prove_modern() {
    let refuse = |server: &mut ScriptedServer| {
        let request = server.expect("initialize");
        let data = json!({ "supported": ["2026-07-28"], "requested": "2025-11-25" });
        server.refuse(&request, unsupported(data));
        server.open_modern();
        server.expect_end();
    };
    let (transport, known) = script(move |server| refuse(server));
    let client = connect(asker().era(Era::Legacy), transport).unwrap();
    assert_eq!(client.era(), Era::Modern);
    drop(client);
    known.end();
}

fn refused(server: &mut ScriptedServer, request: &Value) {
    server.refuse(request, json!({ "code": -32601, "message": "no" }));
}

// M-STDIO-C-14, M-VER-C-10
#[test]
fn a_late_answer_to_the_probe_counts() {
    let open = |answer: fn(&mut ScriptedServer, &Value, &Value)| {
        let (transport, slow) = script(move |server| {
            let probe = server.expect("server/discover");
            let request = server.expect("initialize");
            answer(server, &probe, &request);
            server.expect_end();
        });
        let client = asker().probe_timeout(Duration::from_millis(50));
        let client = connect(client, transport).unwrap();
        let era = client.era();
        drop(client);
        slow.end();
        era
    };
    let era = open(|server, probe, _| server.answer(probe, discovered(&["2026-07-28"])));
    assert_eq!(era, Era::Modern);
    let era = open(|server, probe, request| {
        server.answer(probe, discovered(&["2026-07-28"]));
        refused(server, request);
    });
    assert_eq!(era, Era::Modern);
    // In the other order, too.
    let era = open(|server, probe, request| {
        refused(server, request);
        server.answer(probe, discovered(&["2026-07-28"]));
    });
    assert_eq!(era, Era::Modern);
    // It asks for another probe in the revision that it names.
    let era = open(|server, probe, request| {
        let data = json!({ "supported": ["2026-07-28"], "requested": "2026-07-28" });
        server.refuse(probe, unsupported(data));
        refused(server, request);
        server.open_modern();
    });
    assert_eq!(era, Era::Modern);
}

/// A server that refuses everything, but the probe in its own way.
fn refused_after(answer: impl FnOnce(&mut ScriptedServer, &Value) + Send + 'static) -> Error {
    let (transport, script) = script(|server| {
        let probe = server.expect("server/discover");
        answer(server, &probe);
        let request = server.expect("initialize");
        server.refuse(&request, json!({ "code": -32601, "message": "unheard of" }));
        server.expect_end();
    });
    let error = connect(asker(), transport).unwrap_err();
    script.end();
    error
}

// Promise 9: a discovery that can't be read is why, not that a modern server knows no `initialize`.
#[test]
fn a_failed_opening_tells_what_came_of_the_probe_too() {
    let error = refused_after(|server, probe| {
        let mut result = discovered(&["2026-07-28"]);
        result["supportedVersions"] = json!({ "odd": true });
        server.answer(probe, result);
    });
    assert_eq!(error.kind(), ErrorKind::Protocol, "{error}");
    let text = error.to_string();
    let parts = [
        "server/discover can't be read",
        "invalid type",
        "initialize",
        "-32601",
    ];
    for part in parts {
        assert!(text.contains(part), "{part}: {text}");
    }
    let error = refused_after(|server, probe| {
        server.refuse(probe, json!({ "code": -32000, "message": "not today" }));
    });
    assert_eq!(error.rpc().unwrap().code.value(), -32601);
    let text = error.to_string();
    for part in [
        "refused initialize",
        "unheard of",
        "refused server/discover",
        "not today",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

// Must not happen: a modern server that refuses `initialize` is given up.
#[test]
fn going_back_to_modern_happens_once() {
    let (transport, script) = script(|server| {
        let request = server.expect("initialize");
        let data = json!({ "supported": ["2026-07-28"], "requested": "2025-11-25" });
        server.refuse(&request, unsupported(data));
        let probe = server.expect("server/discover");
        server.refuse(&probe, json!({ "code": -32601, "message": "no" }));
        server.expect_end();
    });
    let error = connect(asker().era(Era::Legacy), transport).unwrap_err();
    assert_eq!(error.rpc().unwrap().code.value(), -32022);
    script.end();
}

// M-VER-C-09
#[test]
fn a_server_known_to_be_legacy_is_not_probed() {
    let (transport, script) = script(|server| {
        server.agree(ProtocolVersion::V2025_11_25);
        server.expect("notifications/initialized");
        server.expect_end();
    });
    drop(connect(asker().era(Era::Legacy), transport).unwrap());
    script.end();
}

// Seen in other SDKs: an old server that dies, hangs or babbles at the era probe is lost.
// L-CANC-C-02, M-STDIO-C-14
#[test]
fn a_probe_takes_no_more_than_half_of_the_time() {
    let (transport, script) = script(|server| {
        server.expect("server/discover");
        server.agree(ProtocolVersion::V2025_06_18);
        server.expect("notifications/initialized");
    });
    let client = asker()
        .probe_timeout(Duration::from_secs(3600))
        .connect_timeout(Duration::from_secs(2));
    assert_eq!(connect(client, transport).unwrap().era(), Era::Legacy);
    script.end();
}
