//! Servers that write beside the letter of the specification: what can mean one thing only is understood, and what does not fit costs nothing but
//! itself.

use std::sync::{Arc, Mutex};

use mcplink::client::CallOptions;
use mcplink::client::{Client, ClientBuilder};
use mcplink::schema::{ContentBlock, Misfit, ProtocolVersion, method};
use mcplink::transport::memory;
use mcplink::{ErrorKind, Result};
use serde_json::{Value, json};

use crate::rawserver::{RawServer, connect, connect_over, connect_with};

const MODERN: ProtocolVersion = ProtocolVersion::V2026_07_28;
const LEGACY: ProtocolVersion = ProtocolVersion::V2025_11_25;
const BOTH: [ProtocolVersion; 2] = [LEGACY, MODERN];

fn everything() -> Value {
    json!({ "tools": {}, "resources": {}, "prompts": {}, "completions": {} })
}

fn builder() -> ClientBuilder {
    Client::builder("test", "1")
}

fn result(mut members: Value) -> Value {
    members["resultType"] = json!("complete");
    members
}

/// Calls, and lets the server answer with a result.
fn answered<T>(
    client: &Client,
    server: &mut RawServer,
    method: &str,
    members: Value,
    call: impl Fn(&Client) -> Result<T>,
) -> Result<T> {
    server.serve(
        || call(client),
        |server| {
            let request = server.asked(method);
            server.answer(&request, result(members));
        },
    )
}

/// The same with a server of its own, in both eras. Read to the letter, the result is an error that keeps it.
fn read<T>(
    method: &str,
    members: Value,
    call: impl Fn(&Client) -> Result<T>,
    check: impl Fn(T, &str),
) {
    for revision in BOTH {
        let (client, mut server) = connect(revision, &everything());
        let read = answered(&client, &mut server, method, members.clone(), &call);
        check(read.unwrap(), revision.as_str());
        let (client, mut server) = connect_with(builder().strict(true), revision, &everything());
        let refused = answered(&client, &mut server, method, members.clone(), &call);
        let Err(error) = refused else {
            panic!("{members} is not what {method} gives");
        };
        assert_eq!(error.kind(), ErrorKind::Protocol, "{error}");
        let kept: Value = serde_json::from_str(error.result().unwrap()).unwrap();
        assert_eq!(kept, result(members.clone()));
    }
}

/// What was left out: the place, the name and the path.
fn told(misfits: &[Misfit]) -> Vec<(Option<usize>, Option<&str>, &str)> {
    let parts = misfits.iter().inspect(|it| assert!(!it.reason.is_empty()));
    parts
        .map(|it| (it.index, it.name.as_deref(), &*it.path))
        .collect()
}

fn tool(name: &str, member: &str, value: Value) -> Value {
    json!({ "name": name, "inputSchema": { "type": "object" }, member: value })
}

fn tools_page(client: &Client) -> Result<mcplink::schema::ListToolsResult> {
    client.tool_pages(CallOptions::new()).next().unwrap()
}

#[test]
fn a_tool_that_does_not_fit_costs_no_other() {
    let tools = json!([
        tool("good", "title", json!("Good")),
        { "inputSchema": { "type": "object" } },
        tool("hinted", "annotations", json!({ "readOnlyHint": "yes", "idempotentHint": true, "title": "H" })),
        tool("drawn", "icons", json!([{ "mimeType": "image/png" }, { "src": "data:,", "sizes": "48x48" }])),
        { "name": null, "inputSchema": { "type": "object" } },
        { "name": "bare" },
        tool("titled", "title", json!(7)),
        "tool",
        null,
        tool("a/b~c", "_meta", json!("x")),
        { "name": "schemaless", "inputSchema": "any" },
        tool("last", "description", json!("d")),
    ]);
    let page = json!({ "tools": tools, "nextCursor": null });
    read(method::TOOLS_LIST, page, tools_page, |page, revision| {
        let names: Vec<&str> = page.tools.iter().map(|tool| &*tool.name).collect();
        assert_eq!(
            names,
            ["good", "hinted", "drawn", "titled", "a/b~c", "last"],
            "{revision}"
        );
        assert_eq!(
            told(page.misfits()),
            [
                (Some(1), None, "/tools/1"),
                (Some(2), Some("hinted"), "/tools/2/annotations/readOnlyHint"),
                (Some(3), Some("drawn"), "/tools/3/icons/0"),
                (Some(3), Some("drawn"), "/tools/3/icons/1/sizes"),
                (Some(4), None, "/tools/4"),
                (Some(5), Some("bare"), "/tools/5"),
                (Some(6), Some("titled"), "/tools/6/title"),
                (Some(7), None, "/tools/7"),
                (Some(8), None, "/tools/8"),
                (Some(9), Some("a/b~c"), "/tools/9/_meta"),
                (Some(10), Some("schemaless"), "/tools/10"),
            ],
            "{revision}"
        );
        assert!(page.misfits()[0].reason.contains("missing field `name`"));
        let hints = page.tools[1].annotations.as_ref().unwrap();
        assert_eq!(
            (hints.read_only_hint, hints.idempotent_hint),
            (None, Some(true))
        );
        assert_eq!(hints.title.as_deref(), Some("H"));
        assert_eq!(page.tools[2].icons.as_ref().unwrap()[0].src, "data:,");
    });
}

#[test]
fn every_list_is_read_entry_by_entry() {
    fn check<P>(
        method: &str,
        key: &str,
        good: Value,
        misfit: Value,
        call: impl Fn(&Client) -> Result<P>,
        look: impl Fn(&P) -> (usize, &[Misfit]),
    ) {
        let page = json!({ key: [good, misfit, good], "nextCursor": 5 });
        read(method, page, call, |page, _| {
            let (count, misfits) = look(&page);
            assert_eq!(count, 2, "{method}");
            let entry = format!("/{key}/1");
            let mut found = told(misfits);
            found.sort_unstable();
            let expected = [(None, None, "/nextCursor"), (Some(1), Some("n"), &*entry)];
            assert_eq!(found, expected, "{method}");
        });
    }
    check(
        method::RESOURCES_LIST,
        "resources",
        json!({ "uri": "a:b", "name": "a" }),
        json!({ "name": "n" }),
        |client| client.resource_pages(CallOptions::new()).next().unwrap(),
        |page| (page.resources.len(), page.misfits()),
    );
    check(
        method::RESOURCES_TEMPLATES_LIST,
        "resourceTemplates",
        json!({ "uriTemplate": "a:{b}", "name": "a" }),
        json!({ "name": "n", "uriTemplate": null }),
        |client| {
            client
                .resource_template_pages(CallOptions::new())
                .next()
                .unwrap()
        },
        |page| (page.resource_templates.len(), page.misfits()),
    );
    check(
        method::PROMPTS_LIST,
        "prompts",
        json!({ "name": "p", "arguments": [] }),
        json!({ "name": null, "uri": "n" }),
        |client| client.prompt_pages(CallOptions::new()).next().unwrap(),
        |page| (page.prompts.len(), page.misfits()),
    );
}

#[test]
fn a_block_that_does_not_fit_costs_no_other() {
    let content = json!([
        { "type": "text", "text": "one", "annotations": { "audience": "user", "priority": 0.5 } },
        { "type": "text", "text": null },
        { "type": "resource_link", "uri": "a:b" },
        { "type": "resource", "resource": { "uri": "a:c", "text": null } },
        { "type": "image", "mimeType": "image/png" },
        { "type": "hologram", "depth": 3 },
        { "text": "no type" },
        { "text": "two", "type": "text", "_meta": 7 },
    ]);
    let answer = json!({ "content": content, "isError": null });
    read(
        method::TOOLS_CALL,
        answer,
        |client| client.call_tool("t", &json!({})),
        |result, revision| {
            let kinds: Vec<&str> = result.content.iter().map(ContentBlock::kind).collect();
            assert_eq!(kinds, ["text", "hologram", "text"], "{revision}");
            assert_eq!(
                told(result.misfits()),
                [
                    (Some(0), None, "/content/0/annotations/audience"),
                    (Some(1), None, "/content/1"),
                    (Some(2), Some("a:b"), "/content/2"),
                    (Some(3), None, "/content/3"),
                    (Some(4), None, "/content/4"),
                    (Some(6), None, "/content/6"),
                    (Some(7), None, "/content/7/_meta"),
                ],
            );
            let ContentBlock::Text(text) = &result.content[0] else {
                panic!("text")
            };
            assert_eq!(text.annotations.as_ref().unwrap().priority, Some(0.5));
        },
    );
}

#[test]
fn messages_contents_and_values_are_read_one_by_one() {
    let said = |text: Value| json!({ "type": "text", "text": text });
    read(
        method::PROMPTS_GET,
        json!({ "description": 7, "messages": [
            { "role": "user", "content": said(json!("a")) },
            { "role": "system", "content": said(json!("b")) },
            { "role": "assistant", "content": said(json!(1)) },
        ] }),
        |client| client.get_prompt("p", &[]),
        |result, _| {
            assert_eq!(result.messages.len(), 1);
            let expected = [
                (None, None, "/description"),
                (Some(1), None, "/messages/1"),
                (Some(2), None, "/messages/2"),
            ];
            let mut found = told(result.misfits());
            found.sort_unstable();
            assert_eq!(found, expected);
        },
    );
    read(
        method::RESOURCES_READ,
        json!({ "contents": [
            { "uri": "a:1", "text": "a", "mimeType": 1 },
            { "uri": "a:2" },
            { "uri": "a:3", "text": "a", "blob": "AA==" },
            { "text": "a" },
        ] }),
        |client| client.read_resource("a:1"),
        |result, _| {
            assert_eq!(result.contents.len(), 1);
            let expected = [
                (Some(0), Some("a:1"), "/contents/0/mimeType"),
                (Some(1), Some("a:2"), "/contents/1"),
                (Some(2), Some("a:3"), "/contents/2"),
                (Some(3), None, "/contents/3"),
            ];
            assert_eq!(told(result.misfits()), expected);
        },
    );
    read(
        method::COMPLETION_COMPLETE,
        json!({ "completion": { "values": ["a", 1, "b"], "hasMore": "no" } }),
        |client| {
            let prompt = mcplink::schema::CompletionReference::prompt("p");
            client.complete(mcplink::schema::CompleteRequestParams::new(prompt, "x", ""))
        },
        |result, _| {
            assert_eq!(result.completion.values, ["a", "b"]);
            let mut found = told(result.misfits());
            found.sort_unstable();
            let expected = [
                (None, None, "/completion/hasMore"),
                (Some(1), None, "/completion/values/1"),
            ];
            assert_eq!(found, expected);
        },
    );
}

#[test]
fn a_result_that_is_none_is_an_error_that_keeps_it() {
    for members in [
        json!({}),
        json!({ "tools": "many" }),
        json!({ "tools": { "a": 1 } }),
    ] {
        let (client, mut server) = connect(LEGACY, &everything());
        let error = answered(
            &client,
            &mut server,
            method::TOOLS_LIST,
            members.clone(),
            tools_page,
        );
        let error = error.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Protocol, "{error}");
        let kept: Value = serde_json::from_str(error.result().unwrap()).unwrap();
        assert_eq!(kept, result(members));
    }
}

#[test]
fn what_fits_has_no_misfits_to_the_letter_either() {
    for revision in BOTH {
        let (client, mut server) = connect_with(builder().strict(true), revision, &everything());
        let page = json!({ "tools": [tool("a", "annotations", json!({ "readOnlyHint": true }))] });
        let page = answered(&client, &mut server, method::TOOLS_LIST, page, tools_page).unwrap();
        assert_eq!((page.tools.len(), page.misfits().len()), (1, 0));
        let content = json!({ "content": [
            { "type": "text", "text": "a", "annotations": { "audience": ["user"] } },
            { "type": "image", "data": "++//Pg==", "mimeType": "image/png" },
        ] });
        let call = |client: &Client| client.call_tool("t", &());
        let called = answered(&client, &mut server, method::TOOLS_CALL, content, call).unwrap();
        assert_eq!(called.content.len(), 2);
    }
}

// Promise 6
#[test]
fn what_is_kept_of_misfits_is_bounded() {
    let (client, mut server) = connect(LEGACY, &everything());
    let page = json!({ "tools": vec![json!(1); 3000] });
    let page = answered(&client, &mut server, method::TOOLS_LIST, page, tools_page).unwrap();
    assert_eq!((page.tools.len(), page.misfits().len()), (0, 1000));
}

#[test]
fn the_log_is_told_of_each_misfit_once() {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&lines);
    let builder = builder().on_log(move |record| {
        if record.text.contains("left out") {
            kept.lock().unwrap().push(record.text.to_owned());
        }
    });
    let (client, mut server) = connect_with(builder, MODERN, &everything());
    let odd = |name: &str| tool(name, "annotations", json!({ "readOnlyHint": "yes" }));
    for tools in [
        json!([odd("a")]),
        json!([{}, odd("a")]),
        json!([odd("b"), odd("a")]),
    ] {
        let page = json!({ "tools": tools });
        answered(
            &client,
            &mut server,
            method::TOOLS_LIST,
            page,
            Client::list_tools,
        )
        .unwrap();
    }
    let lines = lines.lock().unwrap();
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert!(lines[0].contains("tools/list of 'raw'"), "{lines:?}");
    assert!(
        lines[0].contains("/tools/0/annotations/readOnlyHint of 'a'"),
        "{lines:?}"
    );
    assert!(lines[1].contains("/tools/0 was left out"), "{lines:?}");
    assert!(!lines[1].contains("'a'"), "{lines:?}");
    assert!(
        lines[2].contains("'b'") && !lines[2].contains("'a'"),
        "{lines:?}"
    );
}

#[test]
fn half_of_a_character_is_told_of_and_costs_no_entry() {
    let (client, mut server) = connect(MODERN, &everything());
    let page = server.serve(
        || tools_page(&client).unwrap(),
        |server| {
            let request = server.asked(method::TOOLS_LIST);
            let tools = r#"[
                {"name":"a","description":"\ud800","inputSchema":{"type":"object"}},
                {"name":"\udc00","inputSchema":{"type":"object"}},
                {"name":"b","description":"\ud83d\ude00","inputSchema":{"type":"object"}}
            ]"#;
            let id = &request["id"];
            server.send_text(&format!(
                r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete","tools":{tools}}}}}"#
            ));
        },
    );
    let names: Vec<&str> = page.tools.iter().map(|tool| &*tool.name).collect();
    assert_eq!(names, ["a", "\u{fffd}", "b"]);
    let description = page.tools[0].description.as_deref();
    assert_eq!(description, Some("\u{fffd}"));
    let expected = [(Some(0), None, "/tools/0/description")];
    assert_eq!(told(page.misfits()), expected);
}

#[test]
fn an_empty_array_is_an_empty_object_where_one_is_expected() {
    let tools = json!([{
        "name": "t", "inputSchema": [], "annotations": [], "_meta": [], "execution": [],
    }]);
    let page = json!({ "tools": tools, "_meta": [] });
    read(method::TOOLS_LIST, page, tools_page, |page, _| {
        assert_eq!(page.misfits(), []);
        assert_eq!(page.tools[0].input_schema.as_str(), "{}");
        assert!(page.tools[0].annotations.is_some() && page.meta.is_some());
    });
    let content = json!([{ "type": "text", "text": "a", "annotations": [], "_meta": [] }]);
    let answer = json!({ "content": content, "_meta": [] });
    let call = |client: &Client| client.call_tool("t", &());
    read(method::TOOLS_CALL, answer, call, |result, _| {
        assert_eq!(result.misfits(), []);
        assert!(result.meta.is_some());
    });
    // The result itself.
    let (client, mut server) = connect(LEGACY, &everything());
    server.serve(
        || client.ping(CallOptions::new()).unwrap(),
        |server| {
            let request = server.asked("ping");
            server.answer(&request, json!([]));
        },
    );
}

#[test]
fn an_empty_array_of_structured_content_is_an_object_where_only_that_can_be_meant() {
    fn check(revision: ProtocolVersion, structured: Value, expected: &str) {
        let (client, mut server) = connect(revision, &everything());
        let answer = json!({ "content": [], "structuredContent": structured });
        let call = |client: &Client| client.call_tool("t", &());
        let result = answered(&client, &mut server, method::TOOLS_CALL, answer, call).unwrap();
        assert_eq!(
            result.structured_content.unwrap().get(),
            expected,
            "{revision}"
        );
    }
    check(LEGACY, json!([]), "{}");
    check(MODERN, json!([]), "[]");
    check(LEGACY, json!([1]), "[1]");
}

#[cfg(feature = "validation")]
#[test]
fn an_output_schema_with_an_empty_array_for_its_properties_is_used() {
    for revision in BOTH {
        let (client, mut server) = connect(revision, &everything());
        let schema = json!({ "type": "object", "properties": [], "required": [] });
        let page = json!({ "tools": [tool("t", "outputSchema", schema.clone())] });
        let page = answered(&client, &mut server, method::TOOLS_LIST, page, tools_page).unwrap();
        // What the server says is passed on as it came.
        let passed_on = page.tools[0].output_schema.as_ref().unwrap().as_str();
        assert_eq!(serde_json::from_str::<Value>(passed_on).unwrap(), schema);
        let call = |client: &Client| client.call_tool("t", &());
        let answer = json!({ "content": [], "structuredContent": [] });
        let result = answered(&client, &mut server, method::TOOLS_CALL, answer, call).unwrap();
        assert_eq!(result.structured_content.unwrap().get(), "{}");
        let answer = json!({ "content": [], "structuredContent": [1] });
        let error = answered(&client, &mut server, method::TOOLS_CALL, answer, call).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Protocol);
    }
}

#[test]
fn a_server_that_says_little_of_itself_is_accepted() {
    fn check(revision: ProtocolVersion, capabilities: Value, info: Value, expected: (&str, &str)) {
        let (here, there) = memory::pair();
        let (client, _server) =
            connect_over(here, there, builder(), revision, &capabilities, &info);
        let found = client.server_info().unwrap();
        assert_eq!((&*found.name, &*found.version), expected, "{revision}");
        assert_eq!(
            client.capabilities().tools.is_some(),
            capabilities.get("tools").is_some()
        );
    }
    for revision in BOTH {
        let tools = json!({ "tools": [] });
        check(revision, tools.clone(), json!({ "name": "n" }), ("n", ""));
        check(
            revision,
            tools.clone(),
            json!({ "version": "1" }),
            ("", "1"),
        );
        check(
            revision,
            tools,
            json!({ "name": "n", "version": 2 }),
            ("n", ""),
        );
        check(revision, json!({ "tools": true }), json!([]), ("", ""));
        check(
            revision,
            json!([]),
            json!({ "name": "n", "version": "1" }),
            ("n", "1"),
        );
        let odd = json!({ "tools": { "listChanged": "yes" }, "logging": 7, "experimental": [] });
        check(
            revision,
            odd,
            json!({ "name": "n", "version": "1", "icons": [{}] }),
            ("n", "1"),
        );
    }
    check(LEGACY, json!({}), Value::Null, ("", ""));
    let (client, mut server) = connect_over_unnamed();
    let error = answered(
        &client,
        &mut server,
        method::TOOLS_LIST,
        json!({}),
        tools_page,
    );
    assert!(!error.unwrap_err().to_string().contains("''"));
}

fn connect_over_unnamed() -> (Client, RawServer) {
    let (here, there) = memory::pair();
    connect_over(here, there, builder(), LEGACY, &everything(), &json!({}))
}

#[test]
fn to_the_letter_a_server_has_to_say_who_it_is() {
    let (here, there) = memory::pair();
    let mut server = RawServer::open(there);
    let error = server.serve(
        || {
            let builder = builder().strict(true).revisions(&[LEGACY]);
            builder.connect(here).unwrap_err()
        },
        |server| {
            let opening = server.asked("initialize");
            let info = json!({ "name": "n" });
            let result =
                json!({ "protocolVersion": LEGACY, "capabilities": {}, "serverInfo": info });
            server.answer(&opening, result);
        },
    );
    assert_eq!(error.kind(), ErrorKind::Protocol, "{error}");
    assert!(error.to_string().contains("version"), "{error}");
}

#[test]
fn capabilities_that_a_server_does_not_declare_can_be_assumed() {
    for revision in BOTH {
        let builder = builder().assume_capabilities(true);
        let (client, mut server) = connect_with(builder, revision, &json!({}));
        let page = json!({ "tools": [tool("t", "title", json!("T"))] });
        let tools = answered(
            &client,
            &mut server,
            method::TOOLS_LIST,
            page,
            Client::list_tools,
        );
        assert_eq!(tools.unwrap().len(), 1);
        let call = |client: &Client| client.call_tool("t", &());
        let answer = json!({ "content": [] });
        answered(&client, &mut server, method::TOOLS_CALL, answer, call).unwrap();
        let read = |client: &Client| client.read_resource("a:b");
        let answer = json!({ "contents": [] });
        answered(&client, &mut server, method::RESOURCES_READ, answer, read).unwrap();
        let error = server.serve(
            || client.list_prompts().unwrap_err(),
            |server| {
                let request = server.asked(method::PROMPTS_LIST);
                server.refuse(&request, -32601, "no");
            },
        );
        assert_eq!(error.kind(), ErrorKind::Peer);
    }
}

fn page_of(names: &[&str], next: &str) -> Value {
    let tools: Vec<Value> = names
        .iter()
        .map(|name| tool(name, "title", json!(name)))
        .collect();
    json!({ "tools": tools, "nextCursor": next })
}

// M-PAGE-C-07, M-PAGE-C-08
#[test]
fn an_empty_cursor_that_comes_again_ends_the_list() {
    fn check(strict: bool, pages: Vec<Value>, expected: Option<&[&str]>) {
        let (client, mut server) = connect_with(builder().strict(strict), MODERN, &everything());
        let listed = server.serve(
            || client.list_tools(),
            |server| {
                for (number, page) in pages.iter().enumerate() {
                    let request = server.asked(method::TOOLS_LIST);
                    let cursor = request["params"].get("cursor");
                    assert_eq!(cursor.is_some(), number % 2 == 1, "{request}");
                    match page {
                        Value::Null => server.refuse(&request, -32602, "no such cursor"),
                        page => server.answer(&request, result(page.clone())),
                    }
                }
            },
        );
        match (listed, expected) {
            (Ok(tools), Some(expected)) => {
                let names: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
                assert_eq!(names, expected);
                server.has_heard_nothing(&client);
            }
            (Err(error), None) => assert!(!error.to_string().is_empty()),
            (listed, _) => panic!("{strict} {pages:?}: {listed:?}"),
        }
    }
    let (first, second) = (page_of(&["a"], ""), page_of(&["b"], ""));
    // It takes no notice of the cursor.
    check(false, vec![first.clone(), first.clone()], Some(&["a"]));
    check(
        false,
        vec![first.clone(), second.clone()],
        Some(&["a", "b"]),
    );
    // It does not know its own cursor.
    check(false, vec![first.clone(), Value::Null], Some(&["a"]));
    let last = page_of(&["c"], "x");
    check(
        false,
        vec![page_of(&["a"], "x"), last.clone()],
        Some(&["a", "c"]),
    );
    check(true, vec![page_of(&["a"], "x"), last], None);
    check(true, vec![first.clone(), second], None);
    check(
        true,
        vec![first.clone(), Value::Null, first, Value::Null],
        None,
    );
}

/// Calls, and lets the server answer with a text in which `ID` stands for the id.
fn sent(strict: bool, id: fn(&str) -> String, text: &str) -> Result<String> {
    let (client, mut server) = connect_with(builder().strict(strict), MODERN, &everything());
    server.serve(
        || {
            let result = client.request("test/any", &(), CallOptions::new())?;
            Ok(result.as_str().to_owned())
        },
        |server| {
            let request = server.asked("test/any");
            let answer = text.replace("ID", &id(&request["id"].to_string()));
            server.send_text(&answer);
            if strict {
                // Unless it was taken for the answer, it is dropped.
                server.refuse(&request, -32000, "the end");
            }
        },
    )
}

#[test]
fn answers_beside_the_letter_are_understood() {
    let plain = str::to_owned;
    for text in [
        r#"{"jsonrpc":"2.0","id":ID,"result":{"a":1},"error":null}"#,
        r#"{"error":null,"result":{"a":1},"id":ID,"jsonrpc":"2.0","method":null}"#,
    ] {
        assert_eq!(sent(false, plain, text).unwrap(), r#"{"a":1}"#);
        assert!(sent(true, plain, text).is_err(), "{text}");
    }
    let text = r#"{"jsonrpc":"2.0","id":ID,"result":null,"error":{"code":-7,"data":[1]}}"#;
    let error = sent(false, plain, text).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Peer, "{error}");
    let rpc = error.rpc().unwrap();
    assert_eq!(
        (rpc.code.value(), rpc.data.as_ref().unwrap().get()),
        (-7, "[1]")
    );
    let text = r#"{"jsonrpc":"2.0","id":ID,"error":"the disk is full"}"#;
    let error = sent(false, plain, text).unwrap_err();
    assert!(error.to_string().contains("the disk is full"), "{error}");
}

#[test]
fn the_clients_own_id_is_known_in_other_spellings() {
    let text = r#"{"jsonrpc":"2.0","id":ID,"result":{}}"#;
    for spell in [
        |id: &str| format!("{id}.0"),
        |id: &str| format!("{id}e0"),
        |id: &str| format!("{id}0e-1"),
    ] {
        assert_eq!(sent(false, spell, text).unwrap(), "{}");
        let error = sent(true, spell, text).unwrap_err();
        assert_eq!(
            error.rpc().map(|rpc| &*rpc.message),
            Some("the end"),
            "{error}"
        );
    }
}

#[test]
fn bytes_are_decoded_from_lines_and_from_the_alphabet_of_urls() {
    let (client, mut server) = connect(MODERN, &everything());
    let image = |data: &str| json!({ "type": "image", "data": data, "mimeType": "a/b" });
    let content = json!([image("++//\r\nPg=="), image("--__Pg")]);
    let call = |client: &Client| client.call_tool("t", &());
    let answer = json!({ "content": content });
    let result = answered(
        &client,
        &mut server,
        method::TOOLS_CALL,
        answer.clone(),
        call,
    )
    .unwrap();
    for block in &result.content {
        let ContentBlock::Image(image) = block else {
            panic!("an image")
        };
        assert_eq!(image.bytes().unwrap(), [0xfb, 0xef, 0xff, 0x3e]);
    }
    let (client, mut server) = connect_with(builder().strict(true), MODERN, &everything());
    let error = answered(&client, &mut server, method::TOOLS_CALL, answer, call).unwrap_err();
    assert!(error.to_string().contains("base64"), "{error}");
}

// The rest of a discovery result stands: the server is a modern one.
#[test]
fn a_discovery_result_with_one_odd_member_is_one() {
    let (here, there) = memory::pair();
    let mut server = RawServer::open(there);
    let client = server.serve(
        || builder().connect(here).unwrap(),
        |server| {
            let opening = server.asked("server/discover");
            let result = json!({
                "resultType": "complete", "supportedVersions": ["2026-07-28", 7],
                "capabilities": { "tools": {}, "extensions": "none" }, "instructions": ["a"],
                "ttlMs": "never", "cacheScope": 1, "_meta": { "io.modelcontextprotocol/serverInfo": "x" },
            });
            server.answer(&opening, result);
        },
    );
    assert_eq!(client.revision(), MODERN);
    assert!(client.capabilities().tools.is_some());
    assert_eq!(client.instructions(), None);
}
