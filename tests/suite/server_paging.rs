//! Lists in pages.

use mcplink::schema::*;
use mcplink::server::{Context, ResourceRead, Server, TaskOptions};
use serde_json::{Value, json};

use crate::raw::Raw;
use crate::tasks_server::{Player, tool};

const LISTS: [(&str, &str, &str); 4] = [
    ("tools/list", "tools", "name"),
    ("prompts/list", "prompts", "name"),
    ("resources/list", "resources", "uri"),
    (
        "resources/templates/list",
        "resourceTemplates",
        "uriTemplate",
    ),
];

fn server(items: usize, page_size: Option<usize>) -> Server {
    let mut builder = Server::builder("lists", "1");
    for n in 0..items {
        builder = builder
            .tool_with(Tool::new(format!("t{n}")), |_: Value, _: &Context| "")
            .prompt(Prompt::new(format!("p{n}")), |(): (), _: &Context| "")
            .resource(
                Resource::new(format!("r:{n}"), "r"),
                |_: &ResourceRead, _: &Context| "",
            )
            .template(
                ResourceTemplate::new(format!("t:{n}{{x}}"), "t"),
                |_: &ResourceRead, _: &Context| "",
            );
    }
    if let Some(size) = page_size {
        builder = builder.page_size(size.try_into().unwrap());
    }
    builder.build().unwrap()
}

/// The pages of a list.
fn pages(client: &mut Raw, method: &str, member: &str) -> Vec<Vec<Value>> {
    let mut pages = Vec::new();
    let mut params = json!({});
    loop {
        let page = client.result(method, params);
        pages.push(page[member].as_array().unwrap().clone());
        match page.get("nextCursor") {
            Some(cursor) => params = json!({ "cursor": cursor }),
            None => return pages,
        }
    }
}

// M-PAGE-S-09, L-PAGE-C-01
#[test]
fn every_list_is_paged_without_loss() {
    let server = server(7, Some(3));
    for &revision in ProtocolVersion::ALL {
        let mut client = Raw::open(&server, revision);
        for (method, member, key) in LISTS {
            let pages = pages(&mut client, method, member);
            let sizes: Vec<usize> = pages.iter().map(Vec::len).collect();
            assert_eq!(sizes, [3, 3, 1], "{method}");
            let mut keys: Vec<String> = pages
                .concat()
                .iter()
                .map(|item| item[key].to_string())
                .collect();
            assert!(keys.is_sorted(), "{keys:?}");
            keys.dedup();
            assert_eq!(keys.len(), 7, "{method}");
        }
    }
}

#[test]
fn one_page_is_the_default_and_a_full_last_page_ends_the_list() {
    for (page_size, sizes) in [(None, vec![6]), (Some(3), vec![3, 3]), (Some(100), vec![6])] {
        let mut client = Raw::open(&server(6, page_size), ProtocolVersion::LATEST);
        for (method, member, _) in LISTS {
            let pages = pages(&mut client, method, member);
            assert_eq!(
                pages.iter().map(Vec::len).collect::<Vec<_>>(),
                sizes,
                "{method}"
            );
        }
    }
}

// M-PAGE-S-02, L-PAGE-S-02
#[test]
fn a_cursor_gives_the_same_page_again() {
    let server = server(4, Some(2));
    let mut client = Raw::open(&server, ProtocolVersion::LATEST);
    for (method, _, _) in LISTS {
        let cursor = client.result(method, json!({}))["nextCursor"].clone();
        let first = client.result(method, json!({ "cursor": cursor }));
        let mut other = Raw::open(&server, ProtocolVersion::LATEST);
        assert_eq!(other.result(method, json!({ "cursor": cursor })), first);
    }
}

#[test]
fn an_empty_cursor_is_none() {
    let server = server(4, Some(2));
    for &revision in ProtocolVersion::ALL {
        let mut client = Raw::open(&server, revision);
        for (method, _, _) in LISTS {
            let first = client.result(method, json!({}));
            assert_eq!(client.result(method, json!({ "cursor": "" })), first);
        }
    }
}

// M-PAGE-S-03, L-PAGE-S-05
#[test]
fn a_cursor_of_another_list_is_refused() {
    let server = server(4, Some(2));
    let mut client = Raw::open(&server, ProtocolVersion::LATEST);
    for (given, _, _) in LISTS {
        let cursor = client.result(given, json!({}))["nextCursor"].take();
        for (asked, _, _) in LISTS.iter().filter(|(asked, _, _)| *asked != given) {
            let code = client.code(asked, json!({ "cursor": cursor }));
            assert_eq!(code, -32602, "a cursor of {given} for {asked}");
        }
    }
}

// L-TASK-B-18, L-TASK-B-21, L-PAGE-S-05
#[test]
fn the_list_of_tasks_has_cursors_of_its_own() {
    let server = Server::builder("lists", "1")
        .tasks(TaskOptions::default())
        .page_size(2.try_into().unwrap());
    let server = (0..3).fold(server, |server, n| {
        let name = format!("t{n}");
        server.tool_with(tool(&name, TaskSupport::Optional), |_: Value, _| "")
    });
    let server = server.build().unwrap();
    let open = |theirs| server.open_for("ann", theirs).unwrap();
    let mut client = Player::initialized(Raw::silent_on(ProtocolVersion::V2025_11_25, open));
    // A page of tasks has 50 of them.
    let mut started: Vec<Value> = (0..52).map(|_| json!(client.start("t0"))).collect();
    let ids = |page: &Value| -> Vec<Value> {
        let tasks = page["tasks"].as_array().unwrap().iter();
        tasks.map(|task| task["taskId"].clone()).collect()
    };
    let first = client.result("tasks/list", json!({}));
    let empty = client.result("tasks/list", json!({ "cursor": "" }));
    assert_eq!((ids(&first), ids(&empty).len()), (ids(&empty), 50));
    let rest = json!({ "cursor": first["nextCursor"] });
    let rest = client.result("tasks/list", rest);
    assert!(rest.get("nextCursor").is_none(), "{rest}");
    let mut listed = [ids(&first), ids(&rest)].concat();
    for ids in [&mut started, &mut listed] {
        ids.sort_by_key(Value::to_string);
    }
    assert_eq!(listed, started);
    let tools = client.result("tools/list", json!({}));
    for (method, cursor) in [
        ("tasks/list", &tools["nextCursor"]),
        ("tools/list", &first["nextCursor"]),
    ] {
        assert!(cursor.is_string());
        let error = client.error(method, json!({ "cursor": cursor }));
        assert_eq!(error["code"], -32602, "{method}: {error}");
    }
}

// M-PAGE-S-03, L-PAGE-S-05
#[test]
fn cursors_of_nobody_are_refused() {
    let server = server(4, Some(2));
    for &revision in ProtocolVersion::ALL {
        let mut client = Raw::open(&server, revision);
        for (method, _, _) in LISTS {
            for cursor in [
                json!(" "),
                json!("2"),
                json!("AQAAAAAAAAD_"),
                json!("\u{0}"),
                json!(2),
                json!({}),
            ] {
                assert_eq!(
                    client.code(method, json!({ "cursor": cursor })),
                    -32602,
                    "{method} {cursor}"
                );
            }
        }
    }
}
