//! Parameters of tools that header fields repeat.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use mcplink::ErrorKind;
use serde_json::{Value, json};

use crate::scripted::{connect, discovered, script};
use crate::stub::{Seen, Stub, asker, text};

fn list(tools: Value) -> Value {
    json!({ "resultType": "complete", "tools": tools, "ttlMs": 0, "cacheScope": "private" })
}

fn tool(name: &str, properties: Value) -> Value {
    json!({ "name": name, "inputSchema": { "type": "object", "properties": properties } })
}

fn annotated(kind: &str, name: &str) -> Value {
    json!({ "type": kind, "x-mcp-header": name })
}

fn params(seen: &Seen) -> Vec<(&str, &str)> {
    let fields = seen.headers.iter();
    let fields = fields.map(|(name, value)| (&**name, &**value));
    fields
        .filter(|(name, _)| name.starts_with("mcp-param-"))
        .collect()
}

// M-HDR-C-09, M-HDR-C-10, M-HDR-C-23, M-HDR-C-24, M-HDR-C-25, M-HDR-C-30, M-HDR-C-31, M-HDR-C-32, M-HDR-C-33, AMB-09
#[test]
fn annotated_parameters_are_repeated_in_the_header() {
    let stub = Stub::modern(|seen, out| {
        match &*seen.asks() {
        "tools/list" => out.result(
            seen,
            list(json!([tool(
                "weather",
                json!({
                    "region": annotated("string", "Region"),
                    "count": annotated("integer", "Count"),
                    "all": annotated("boolean", "All"),
                    "empty": annotated("string", "Empty"),
                    "place": { "type": "object", "properties": { "zone": annotated("string", "Zone") } },
                    "plain": { "type": "string" },
                    "method": annotated("string", "Method"),
                })
            )])),
        ),
        _ => out.result(seen, text("done")),
    }
    });
    let client = stub.connect();
    client.list_tools().unwrap();
    let call = |arguments: Value| {
        client.call_tool("weather", &arguments).unwrap();
        stub.seen_asking("tools/call").pop().unwrap()
    };
    let seen = call(json!({
        "region": "us-west1", "count": -42.0, "all": false, "empty": "", "place": { "zone": "a\r\nX: y" },
        "plain": "p", "method": "m",
    }));
    let mut found = params(&seen);
    found.sort_unstable();
    let expected = [
        ("mcp-param-all", "false"),
        ("mcp-param-count", "-42"),
        ("mcp-param-empty", ""),
        ("mcp-param-method", "m"),
        ("mcp-param-region", "us-west1"),
        ("mcp-param-zone", "=?base64?YQ0KWDogeQ==?="),
    ];
    assert_eq!(found, expected);
    assert_eq!(seen.header("mcp-method"), Some("tools/call"));
    assert_eq!(seen.header("mcp-name"), Some("weather"));
    // The body is what it would have been.
    assert_eq!(seen.body()["params"]["arguments"]["count"], json!(-42.0));
    let seen = call(json!({ "region": null, "place": {}, "plain": "p" }));
    assert_eq!(params(&seen), []);
    let seen = call(json!({ "place": null }));
    assert_eq!(params(&seen), []);
}

// M-HDR-B-16
#[test]
fn integers_that_not_everybody_can_keep_are_refused_before_sending() {
    let stub = Stub::modern(|seen, out| match &*seen.asks() {
        "tools/list" => out.result(
            seen,
            list(json!([tool(
                "t",
                json!({ "n": annotated("integer", "N") })
            )])),
        ),
        _ => out.result(seen, text("done")),
    });
    let client = stub.connect();
    client.list_tools().unwrap();
    let edge = 9_007_199_254_740_991_i64;
    for n in [edge, -edge] {
        client.call_tool("t", &json!({ "n": n })).unwrap();
    }
    for n in [edge + 1, -edge - 1] {
        let error = client.call_tool("t", &json!({ "n": n })).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(!error.was_sent());
        let said = error.to_string();
        assert!(said.contains("'n'") && said.contains("'t'"), "{said}");
    }
    assert_eq!(stub.seen_asking("tools/call").len(), 2);
}

fn some_bad() -> Value {
    let mut tools = vec![tool("good", json!({ "p": annotated("string", "P") }))];
    let inside =
        |keyword: &str, schema: Value| json!({ "p": { "type": "object", keyword: schema } });
    let p = annotated("string", "P");
    let bad = [
        json!({ "p": annotated("string", "") }),
        json!({ "p": annotated("string", "a b") }),
        json!({ "p": annotated("string", "a:b") }),
        json!({ "p": annotated("string", "ü") }),
        json!({ "p": annotated("string", "a\r\nX: y") }),
        json!({ "p": annotated("number", "P") }),
        json!({ "p": annotated("object", "P") }),
        json!({ "p": annotated("array", "P") }),
        json!({ "p": annotated("null", "P") }),
        json!({ "p": { "x-mcp-header": "P" } }),
        json!({ "p": p, "q": annotated("string", "p") }),
        inside("items", p.clone()),
        inside("oneOf", json!([p])),
        inside("anyOf", json!([p])),
        inside("allOf", json!([p])),
        inside("not", p.clone()),
        inside("if", p.clone()),
        inside("then", p.clone()),
        inside("else", p.clone()),
        inside("$defs", json!({ "d": p })),
    ];
    for (number, properties) in bad.into_iter().enumerate() {
        tools.push(tool(&format!("bad-{number}"), properties));
    }
    tools.push(tool("plain", json!({})));
    list(Value::Array(tools))
}

// M-HDR-C-19, M-HDR-C-20, M-HDR-C-21, AMB-12
#[test]
fn tools_with_bad_annotations_are_left_out_and_told() {
    let stub = Stub::modern(|seen, out| match &*seen.asks() {
        "tools/list" => out.result(seen, some_bad()),
        _ => out.result(seen, text("done")),
    });
    let told: Arc<Mutex<Vec<String>>> = Arc::default();
    let log = Arc::clone(&told);
    let builder = asker().on_log(move |record| log.lock().unwrap().push(record.text.to_owned()));
    let client = stub.connect_as(builder).unwrap();
    let tools = client.list_tools().unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
    assert_eq!(names, ["good", "plain"]);
    let told = told.lock().unwrap();
    assert_eq!(told.len(), 20);
    assert!(
        told[0].contains("'bad-0'") && told[0].contains("is empty"),
        "{}",
        told[0]
    );
    // By its name it can still be called.
    client.call_tool("bad-5", &json!({ "p": 1 })).unwrap();
    let seen = stub.seen_asking("tools/call").pop().unwrap();
    assert_eq!(params(&seen), []);
}

// M-HDR-C-22
#[test]
fn on_other_transports_the_annotation_means_nothing() {
    let (transport, script) = script(|server| {
        let probe = server.expect("server/discover");
        server.answer(&probe, discovered(&["2026-07-28"]));
        let list = server.expect("tools/list");
        server.answer(&list, some_bad());
        server.expect_end();
    });
    let client = connect(asker(), transport).unwrap();
    assert_eq!(client.list_tools().unwrap().len(), 22);
    drop(client);
    script.end();
}

// M-HDR-C-45
#[test]
fn after_a_mismatch_tools_are_listed_again_and_the_call_is_made_once_more() {
    let lists = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&lists);
    let stub = Stub::modern(move |seen, out| {
        if seen.asks() == "tools/list" {
            // Another name each time.
            let name = format!("V{}", counted.fetch_add(1, Ordering::SeqCst));
            return out.result(
                seen,
                list(json!([tool(
                    "t",
                    json!({ "p": annotated("string", &name) })
                )])),
            );
        }
        let wanted = seen.body()["params"]["arguments"]["p"]
            .as_str()
            .unwrap()
            .to_owned();
        if seen.header(&format!("mcp-param-{wanted}")).is_some() {
            return out.result(seen, text("done"));
        }
        let error = json!({ "code": -32020, "message": "header mismatch" });
        let body = json!({ "jsonrpc": "2.0", "id": seen.id(), "error": error });
        out.respond(
            "400 Bad Request",
            &[("content-type", "application/json")],
            &body.to_string(),
        );
    });
    let client = stub.connect();
    // Never listed before: refused, listed, done.
    client.call_tool("t", &json!({ "p": "v0" })).unwrap();
    client.call_tool("t", &json!({ "p": "v1" })).unwrap();
    assert_eq!(lists.load(Ordering::SeqCst), 2);
    assert_eq!(stub.seen_asking("tools/call").len(), 4);
    // No loop.
    let error = client.call_tool("t", &json!({ "p": "v9" })).unwrap_err();
    assert_eq!(error.rpc().unwrap().code.value(), -32020);
    assert_eq!(lists.load(Ordering::SeqCst), 3);
    assert_eq!(stub.seen_asking("tools/call").len(), 6);
}
