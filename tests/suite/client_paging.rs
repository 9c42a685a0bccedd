//! Lists that come in pages.

use mcplink::ErrorKind;
use mcplink::client::CallOptions;
use mcplink::client::Client;
use mcplink::schema::{ProtocolVersion, Tool};
use serde_json::{Value, json};

use crate::rawserver::{RawServer, connect, connect_with};

const MODERN: ProtocolVersion = ProtocolVersion::V2026_07_28;
const LEGACY: ProtocolVersion = ProtocolVersion::V2025_11_25;

fn everything() -> Value {
    json!({ "tools": {}, "resources": {}, "prompts": {} })
}

fn tool(name: &str) -> Value {
    json!({ "name": name, "inputSchema": { "type": "object" } })
}

fn page(tools: &[&str], next: Value) -> Value {
    let tools: Vec<Value> = tools.iter().map(|name| tool(name)).collect();
    json!({ "resultType": "complete", "tools": tools, "nextCursor": next, "ttlMs": 0, "cacheScope": "private" })
}

fn give(server: &mut RawServer, cursor: Option<&str>, result: Value) {
    let request = server.asked("tools/list");
    assert_eq!(
        request["params"].get("cursor").and_then(Value::as_str),
        cursor,
        "{request}"
    );
    server.answer(&request, result);
}

fn names(tools: &[Tool]) -> Vec<&str> {
    tools.iter().map(|tool| &*tool.name).collect()
}

// M-PAGE-C-01, M-PAGE-C-04, M-PAGE-C-05, M-PAGE-C-06, M-PAGE-C-07, L-PAGE-C-01, L-PAGE-C-03, L-PAGE-C-04
#[test]
fn pages_of_any_size_are_followed_to_the_end() {
    for revision in [LEGACY, MODERN] {
        let (client, mut server) = connect(revision, &everything());
        let tools = server.serve(
            || client.list_tools().unwrap(),
            |server| {
                give(server, None, page(&["a"], json!(" x/\u{1}+")));
                give(server, Some(" x/\u{1}+"), page(&[], json!("")));
                give(server, Some(""), page(&["b", "c", "d"], Value::Null));
            },
        );
        assert_eq!(names(&tools), ["a", "b", "c", "d"]);
    }
}

// M-PROM-C-12, L-PROM-C-08, M-PAGE-C-05
#[test]
fn every_list_is_paged() {
    fn check<T>(
        method: &str,
        key: &str,
        item: Value,
        list: impl Fn(&Client) -> mcplink::Result<Vec<T>>,
    ) {
        let (client, mut server) = connect(LEGACY, &everything());
        let items = server.serve(
            || list(&client).unwrap(),
            |server| {
                for next in [json!("2"), json!("3"), Value::Null] {
                    let request = server.asked(method);
                    let mut result = json!({ key: [item.clone()] });
                    if !next.is_null() {
                        result["nextCursor"] = next;
                    }
                    server.answer(&request, result);
                }
            },
        );
        assert_eq!(items.len(), 3, "{method}");
    }
    check("tools/list", "tools", tool("a"), Client::list_tools);
    check(
        "resources/list",
        "resources",
        json!({ "uri": "a:b", "name": "a" }),
        Client::list_resources,
    );
    check(
        "resources/templates/list",
        "resourceTemplates",
        json!({ "uriTemplate": "a:{b}", "name": "a" }),
        Client::list_resource_templates,
    );
    check(
        "prompts/list",
        "prompts",
        json!({ "name": "a" }),
        Client::list_prompts,
    );
}

// M-PAGE-C-08
#[test]
fn a_cursor_that_comes_again_ends_the_list_with_an_error() {
    let (client, mut server) = connect(MODERN, &everything());
    let error = server.serve(
        || client.list_tools().unwrap_err(),
        |server| {
            give(server, None, page(&["a"], json!("x")));
            give(server, Some("x"), page(&["b"], json!("y")));
            give(server, Some("y"), page(&["c"], json!("x")));
        },
    );
    assert_eq!(error.kind(), ErrorKind::Protocol);
    assert_eq!(
        error.to_string(),
        r#"the pages of tools/list of 'raw' don't end: cursor "x" came before"#
    );
}

// M-PAGE-C-08
#[test]
fn a_list_is_bounded_by_pages_and_by_items() {
    let builder = Client::builder("test", "1")
        .max_list_pages(2)
        .max_list_items(3);
    let (client, mut server) = connect_with(builder, MODERN, &everything());
    let error = server.serve(
        || client.list_tools().unwrap_err(),
        |server| {
            give(server, None, page(&[], json!("1")));
            give(server, Some("1"), page(&[], json!("2")));
        },
    );
    assert_eq!(error.kind(), ErrorKind::Limit);
    assert!(error.to_string().contains("max_list_pages (2)"), "{error}");
    let error = server.serve(
        || client.list_tools().unwrap_err(),
        |server| give(server, None, page(&["a", "b", "c", "d"], Value::Null)),
    );
    assert_eq!(error.kind(), ErrorKind::Limit);
    assert!(error.to_string().contains("max_list_items (3)"), "{error}");
}

#[test]
fn pages_are_asked_for_when_they_are_come_to() {
    let (client, mut server) = connect(MODERN, &everything());
    let mut items = client.tool_pages(CallOptions::new()).items();
    let first = server.serve(
        || items.next().unwrap().unwrap(),
        |server| give(server, None, page(&["a"], json!("1"))),
    );
    assert_eq!(first.name, "a");
    server.has_heard_nothing(&client);
    drop(items);
    server.has_heard_nothing(&client);
}

#[test]
fn an_error_is_the_last_that_an_iterator_gives() {
    let (client, mut server) = connect(MODERN, &everything());
    let kinds = server.serve(
        || {
            let pages = client.tool_pages(CallOptions::new());
            pages
                .map(|page| page.map(drop).map_err(|error| error.kind()))
                .collect::<Vec<_>>()
        },
        |server| {
            give(server, None, page(&["a"], json!("1")));
            let request = server.asked("tools/list");
            server.refuse(&request, -32603, "no");
        },
    );
    assert_eq!(kinds, [Ok(()), Err(ErrorKind::Peer)]);
}

// L-PROM-B-09
#[test]
fn a_list_that_was_not_advertised_is_not_asked_for() {
    let (client, mut server) = connect(MODERN, &json!({}));
    for error in [
        client.list_tools().unwrap_err(),
        client.list_resources().unwrap_err(),
        client.list_resource_templates().unwrap_err(),
        client.list_prompts().unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        assert!(!error.was_sent());
    }
    server.has_heard_nothing(&client);
}
