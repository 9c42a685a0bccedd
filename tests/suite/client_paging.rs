//! Lists that come in pages.

use std::sync::mpsc;

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
        mut item: Value,
        list: impl Fn(&Client) -> mcplink::Result<Vec<T>>,
    ) {
        let (client, mut server) = connect(LEGACY, &everything());
        let items = server.serve(
            || list(&client).unwrap(),
            |server| {
                for next in [json!("2"), json!("3"), Value::Null] {
                    let request = server.asked(method);
                    item["description"] = next.clone();
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

/// Lists the tools that come in these pages, each with its next cursor. Returns the names, and
/// after them the misfits of the pages, or the error.
fn listed(strict: bool, pages: &[(&[&str], Value)]) -> mcplink::Result<[Vec<String>; 2]> {
    let builder = Client::builder("test", "1").strict(strict);
    let (client, mut server) = connect_with(builder, MODERN, &everything());
    let listed = server.serve(
        || {
            let mut listed = [Vec::new(), Vec::new()];
            for page in client.tool_pages(CallOptions::new()) {
                let page = page?;
                listed[1].extend(page.misfits().iter().map(ToString::to_string));
                listed[0].extend(page.tools.into_iter().map(|tool| tool.name));
            }
            Ok(listed)
        },
        |server| {
            let mut cursor: Option<&str> = None;
            for (tools, next) in pages {
                give(server, cursor, page(tools, next.clone()));
                cursor = next.as_str();
            }
        },
    );
    server.has_heard_nothing(&client);
    listed
}

// M-PAGE-C-08
#[test]
fn a_list_without_end_ends_where_a_cursor_or_a_page_comes_again() {
    fn check(pages: &[(&[&str], Value)], names: &[&str], reason: Option<&str>) {
        let [read, misfits] = listed(false, pages).unwrap();
        assert_eq!(read, names, "{pages:?}");
        let expected = reason.map(|reason| {
            format!("/nextCursor was left out: {reason} came before: the list ends here")
        });
        assert_eq!(misfits, Vec::from_iter(expected), "{pages:?}");
        let Some(reason) = reason else { return };
        let error = listed(true, pages).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Protocol, "{pages:?}");
        assert_eq!(
            error.to_string(),
            format!("the pages of tools/list of 'raw' don't end: {reason} came before")
        );
    }
    let (x, y, z) = (json!("x"), json!("y"), json!("z"));
    let page = "the page";
    let cursor = r#"cursor "x""#;
    // The server takes no notice of the cursor.
    check(
        &[(&["a"], x.clone()), (&["a"], x.clone())],
        &["a"],
        Some(page),
    );
    check(
        &[(&["a"], x.clone()), (&["a"], y.clone())],
        &["a"],
        Some(page),
    );
    check(
        &[(&["a"], x.clone()), (&["a"], Value::Null)],
        &["a"],
        Some(page),
    );
    // It gives a cursor after the last page.
    check(
        &[(&["a"], x.clone()), (&["b"], x.clone())],
        &["a", "b"],
        Some(cursor),
    );
    // It begins again.
    check(
        &[
            (&["a"], x.clone()),
            (&["b"], y.clone()),
            (&["c"], x.clone()),
        ],
        &["a", "b", "c"],
        Some(cursor),
    );
    check(
        &[
            (&["a"], x.clone()),
            (&["b"], y.clone()),
            (&["a"], z.clone()),
        ],
        &["a", "b"],
        Some(page),
    );
    check(&[(&[], x.clone()), (&[], x.clone())], &[], Some(cursor));
    // Pages without an item may follow each other.
    check(
        &[(&[], x), (&[], y), (&["a"], z), (&[], Value::Null)],
        &["a"],
        None,
    );
}

#[test]
fn the_repetition_of_a_page_is_logged_once() {
    let (told, lines) = mpsc::channel();
    let builder = Client::builder("test", "1").on_log(move |record| {
        _ = told.send(record.text.to_owned());
    });
    let (client, mut server) = connect_with(builder, MODERN, &everything());
    for _ in 0..2 {
        let tools = server.serve(
            || client.list_tools().unwrap(),
            |server| {
                give(server, None, page(&["a"], json!("x")));
                give(server, Some("x"), page(&["a"], json!("x")));
            },
        );
        assert_eq!(names(&tools), ["a"]);
    }
    drop((client, server));
    let told: Vec<_> = lines
        .iter()
        .filter(|line| line.contains("/nextCursor"))
        .collect();
    assert_eq!(told.len(), 1, "{told:?}");
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
