//! Answers that deviate from the specification, but can have only one meaning.

use std::sync::{Mutex, mpsc};

use mcplink::ErrorKind;
use mcplink::client::{CallOptions, Client};
use mcplink::schema::{CallToolResult, ElicitResult, ProtocolVersion};
use serde_json::{Value, json};

use crate::rawserver::{RawServer, connect, connect_with};
use crate::stub::{Stub, asker, call, initialized, text};

const BOTH: [ProtocolVersion; 2] = [ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28];

fn called(client: &Client) -> mcplink::Result<CallToolResult> {
    client.call_tool("t", &())
}

/// Reads the result of a tool leniently in both eras, and checks that a strict client refuses it.
fn read(members: Value, check: impl Fn(&CallToolResult)) {
    let mut members = members;
    members["resultType"] = json!("complete");
    for revision in BOTH {
        let (client, mut server) = connect(revision, &json!({ "tools": {} }));
        let read = server.serve(
            || called(&client),
            |server| {
                let request = server.asked("tools/call");
                server.answer(&request, members.clone());
            },
        );
        check(&read.unwrap());
        let strict = asker().strict(true);
        let (client, mut server) = connect_with(strict, revision, &json!({ "tools": {} }));
        let refused = server.serve(
            || called(&client),
            |server| {
                let request = server.asked("tools/call");
                server.answer(&request, members.clone());
            },
        );
        assert_eq!(
            refused.unwrap_err().kind(),
            ErrorKind::Protocol,
            "{members}"
        );
    }
}

fn texts(result: &CallToolResult) -> Vec<&str> {
    let blocks = result.content.iter();
    blocks.map(|block| block.as_text().unwrap()).collect()
}

#[test]
fn content_without_its_brackets_or_blocks_is_content() {
    let block = json!({ "type": "text", "text": "a" });
    for (content, expected) in [
        (block.clone(), vec!["a"]),
        (json!("a"), vec!["a"]),
        (json!(["a", block, "b"]), vec!["a", "a", "b"]),
    ] {
        read(json!({ "content": content }), |result| {
            assert_eq!(texts(result), expected);
            assert_eq!(result.misfits(), []);
        });
    }
    // What is none stays a misfit, or an error that keeps it.
    read(json!({ "content": ["a", 7] }), |result| {
        assert_eq!(texts(result), ["a"]);
        assert_eq!(result.misfits()[0].path, "/content/1");
    });
    for content in [json!(7), json!({ "text": "a" })] {
        let (client, mut server) = connect(BOTH[0], &json!({ "tools": {} }));
        let refused = server.serve(
            || called(&client),
            |server| {
                let request = server.asked("tools/call");
                server.answer(&request, json!({ "content": content }));
            },
        );
        let refused = refused.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Protocol);
        assert!(refused.result().unwrap().contains("content"));
    }
}

#[test]
fn a_failure_that_is_written_as_text_or_number_is_a_failure() {
    for (flag, expected) in [
        (json!("true"), true),
        (json!("True"), true),
        (json!(1), true),
        (json!("false"), false),
        (json!(0), false),
    ] {
        read(json!({ "content": [], "isError": flag }), |result| {
            assert_eq!(result.is_error(), expected, "{flag}");
            assert_eq!(result.misfits(), []);
        });
    }
    read(json!({ "content": [], "isError": "perhaps" }), |result| {
        assert_eq!(result.misfits()[0].path, "/isError");
    });
}

#[test]
fn the_clients_own_id_may_be_written_as_a_text() {
    for revision in BOTH {
        let (client, mut server) = connect(revision, &json!({ "tools": {} }));
        let progress = Mutex::new(Vec::new());
        let done = server.serve(
            || {
                let options = CallOptions::new()
                    .on_progress(|progressed| progress.lock().unwrap().push(progressed.progress));
                client.call_tool_with("t", &(), options)
            },
            |server| {
                let request = server.asked("tools/call");
                let token = request["params"]["_meta"]["progressToken"].to_string();
                let id = request["id"].to_string();
                // The first one is no spelling of the id.
                let result = json!({ "content": [], "resultType": "complete", "isError": true });
                let odd = format!("0{id}");
                server.send(&json!({ "jsonrpc": "2.0", "id": odd, "result": result }));
                server.notify(
                    "notifications/progress",
                    json!({ "progressToken": token, "progress": 3 }),
                );
                let result = json!({ "content": ["done"], "resultType": "complete" });
                server.send(&json!({ "jsonrpc": "2.0", "id": id, "result": result }));
            },
        );
        assert_eq!(texts(&done.unwrap()), ["done"], "{revision}");
        assert_eq!(*progress.lock().unwrap(), [3.0], "{revision}");
        let (client, mut server) = connect(revision, &json!({ "tools": {} }));
        let refused = server.serve(
            || called(&client),
            |server| {
                let request = server.asked("tools/call");
                let id = request["id"].to_string();
                let error = json!({ "code": "-32602", "message": "no" });
                server.send(&json!({ "jsonrpc": "2.0", "id": id, "error": error }));
            },
        );
        let refused = refused.unwrap_err();
        assert_eq!(refused.rpc().unwrap().code.value(), -32602, "{refused}");
    }
}

/// Over HTTP: answers that this function writes, of a server without sessions.
fn over_http(
    answer: impl Fn(&mut crate::stub::Out, String) + Send + Sync + 'static,
) -> mcplink::Result<String> {
    let stub = Stub::start(move |seen, out| {
        let result = match &*seen.asks() {
            "server/discover" => return out.respond("400 Bad Request", &[], ""),
            "initialize" => initialized("2025-11-25"),
            "tools/call" => text("done"),
            _ if seen.method == "POST" => return out.accept(),
            _ => return out.respond("405 Method Not Allowed", &[], ""),
        };
        let body = json!({ "jsonrpc": "2.0", "id": seen.id(), "result": result });
        answer(out, body.to_string());
    });
    let client = stub.connect_as(asker())?;
    call(&client, "x")
}

#[test]
fn answers_over_http_are_known_by_what_they_are() {
    let json = ("content-type", "application/json");
    let no_session = ("mcp-session-id", "");
    // Without a content type; with a byte order mark; with an empty session.
    assert_eq!(
        over_http(|out, body| out.respond("200 OK", &[], &body)).unwrap(),
        "done"
    );
    let marked = over_http(move |out, body| {
        out.respond("200 OK", &[json], &format!("\u{feff}{body}"));
    });
    assert_eq!(marked.unwrap(), "done");
    let empty = over_http(move |out, body| out.respond("200 OK", &[json, no_session], &body));
    assert_eq!(empty.unwrap(), "done");
    let stringly = over_http(move |out, body| {
        let mut body: Value = serde_json::from_str(&body).unwrap();
        body["id"] = json!(body["id"].to_string());
        out.respond("200 OK", &[json], &body.to_string());
    });
    assert_eq!(stringly.unwrap(), "done");
    // Nothing is no answer, whatever its type.
    for fields in [&[][..], &[json][..]] {
        let fields = fields.to_vec();
        let nothing = over_http(move |out, _| out.respond("200 OK", &fields, ""));
        let nothing = nothing.unwrap_err().to_string();
        assert!(nothing.contains("200 and nothing else"), "{nothing}");
    }
}

/// Sends a message in which `HALF` stands for half of a surrogate pair.
fn send_with_half(server: &mut RawServer, message: &Value) {
    server.send_text(&message.to_string().replace("HALF", "\\ud83d"));
}

/// Answers the next request with a result, in which `HALF` stands for half of a surrogate pair.
fn answer_with_half(server: &mut RawServer, method: &str, mut result: Value) {
    let request = server.asked(method);
    result["resultType"] = json!("complete");
    (result["ttlMs"], result["cacheScope"]) = (json!(0), json!("private"));
    let answer = json!({ "jsonrpc": "2.0", "id": request["id"], "result": result });
    send_with_half(server, &answer);
}

// Seen in other SDKs: a text that is cut inside of an emoji loses the whole block.
#[test]
fn half_of_a_surrogate_pair_costs_one_character() {
    let content = json!([{ "type": "text", "text": "before HALF after" }]);
    let result = json!({ "content": content, "structuredContent": { "a": "HALF" } });
    let both = json!({ "tools": {}, "resources": {} });
    for revision in BOTH {
        let (client, mut server) = connect(revision, &both);
        let called = server.serve(
            || called(&client),
            |server| answer_with_half(server, "tools/call", result.clone()),
        );
        let called = called.unwrap();
        assert_eq!(texts(&called), ["before \u{fffd} after"]);
        let structured = called.structured_content.as_ref().unwrap().get();
        let structured: Value = serde_json::from_str(structured).unwrap();
        assert_eq!(structured["a"], "\u{fffd}");
        let [misfit] = called.misfits() else {
            panic!("{:?}", called.misfits())
        };
        assert_eq!((&*misfit.path, misfit.index), ("/content/0/text", Some(0)));
        assert!(misfit.is_kept, "{misfit}");
        assert!(misfit.reason.starts_with("2 halves"), "{misfit}");

        let raw = server.serve(
            || client.request("tools/call", &json!({ "name": "t" }), CallOptions::new()),
            |server| answer_with_half(server, "tools/call", result.clone()),
        );
        assert!(raw.unwrap().as_str().contains(r"before \ud83d after"));

        let tool =
            json!({ "name": "t", "description": "HALF", "inputSchema": { "type": "object" } });
        let listed = server.serve(
            || client.list_tools(),
            |server| answer_with_half(server, "tools/list", json!({ "tools": [tool] })),
        );
        let listed = listed.unwrap();
        assert_eq!(listed[0].description.as_deref(), Some("\u{fffd}"));

        let contents = json!([{ "uri": "r:1", "text": "HALFHALF" }]);
        let read = server.serve(
            || client.read_resource("r:1"),
            |server| answer_with_half(server, "resources/read", json!({ "contents": contents })),
        );
        let read = serde_json::to_value(read.unwrap()).unwrap();
        assert_eq!(read["contents"][0]["text"], "\u{fffd}\u{fffd}");

        let (client, mut server) = connect_with(asker().strict(true), revision, &both);
        let refused = server.serve(
            || self::called(&client),
            |server| answer_with_half(server, "tools/call", result.clone()),
        );
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::Protocol);
    }
}

#[test]
fn questions_with_half_of_a_surrogate_pair_are_asked() {
    let form = json!({
        "message": "Whose HALF?",
        "requestedSchema": { "type": "object", "properties": {} },
    });
    for revision in BOTH {
        let (tell, told) = mpsc::channel();
        let (log, logged) = mpsc::channel();
        let client = asker().on_elicit(move |form, _| {
            tell.send(form.message.clone()).unwrap();
            ElicitResult::decline()
        });
        let client = client.on_log(move |record| drop(log.send(record.text.to_owned())));
        let (client, mut server) = connect_with(client, revision, &json!({ "tools": {} }));
        server.serve(
            || called(&client).unwrap(),
            |server| {
                let mut request = server.asked("tools/call");
                if revision.is_legacy() {
                    let question = json!({
                        "jsonrpc": "2.0", "id": 1, "method": "elicitation/create", "params": form,
                    });
                    send_with_half(server, &question);
                    server.receive();
                } else {
                    let asked = json!({ "k": { "method": "elicitation/create", "params": form } });
                    let result = json!({
                        "resultType": "input_required", "inputRequests": asked, "requestState": "s",
                    });
                    let answer = json!({ "jsonrpc": "2.0", "id": request["id"], "result": result });
                    send_with_half(server, &answer);
                    request = server.asked("tools/call");
                }
                server.answer(&request, json!({ "resultType": "complete", "content": [] }));
            },
        );
        assert_eq!(told.try_recv().unwrap(), "Whose \u{fffd}?", "{revision}");
        let about =
            "not all of the params of elicitation/create of 'the in-memory peer' fit: /message ";
        let logged: Vec<String> = logged.try_iter().collect();
        let lines = logged.iter().filter(|line| line.starts_with(about));
        assert_eq!(lines.count(), 1, "{revision}: {logged:?}");
    }
}

#[test]
fn progress_with_half_of_a_surrogate_pair_is_told() {
    for revision in BOTH {
        let (tell, told) = mpsc::channel();
        let (client, mut server) = connect(revision, &json!({ "tools": {} }));
        server.serve(
            || {
                let options = CallOptions::new()
                    .on_progress(move |progress| drop(tell.send(progress.message.clone())));
                client.call_tool_with("t", &json!({}), options).unwrap()
            },
            |server| {
                let request = server.asked("tools/call");
                let token = &request["params"]["_meta"]["progressToken"];
                let params = json!({ "progressToken": token, "progress": 1, "message": "HALF x" });
                let method = "notifications/progress";
                let notice = json!({ "jsonrpc": "2.0", "method": method, "params": params });
                send_with_half(server, &notice);
                server.answer(&request, json!({ "resultType": "complete", "content": [] }));
            },
        );
        let message = told.try_recv().unwrap();
        assert_eq!(message.as_deref(), Some("\u{fffd} x"), "{revision}");
    }
}
