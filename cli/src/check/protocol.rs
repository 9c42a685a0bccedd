//! Checks of messages and their answers.

use serde_json::{Value, json};

use super::wire::{code_of, initialize_params, refusal, result_of};
use super::{Check, Seen, Server, Verdict, excerpt_of, passed, skip};
use crate::args::Level;

pub(super) const CHECKS: &[Check] = &[
    Check {
        name: "protocol/initialize",
        level: Level::Must,
        requirements: &["L-INIT-S-03"],
        remedy: "answer initialize with protocolVersion, capabilities and serverInfo (name, version)",
        run: initialize,
    },
    Check {
        name: "protocol/initialize-version",
        level: Level::Must,
        requirements: &["L-INIT-S-09", "L-INIT-S-10"],
        remedy: "answer initialize with the requested revision if it is supported, else with another one",
        run: initialize_version,
    },
    Check {
        name: "protocol/ping",
        level: Level::Must,
        requirements: &["L-PING-B-01"],
        remedy: "answer ping with an empty result at any time",
        run: ping,
    },
    Check {
        name: "protocol/discover",
        level: Level::Must,
        requirements: &["M-VER-S-03", "M-DISC-S-01"],
        remedy: "answer server/discover with supportedVersions and capabilities",
        run: discover,
    },
    Check {
        name: "protocol/unknown-version",
        level: Level::Must,
        requirements: &["M-VER-S-01", "M-ERR-S-11"],
        remedy: "refuse an unknown revision in _meta with error -32022, whose data has supported and requested",
        run: unknown_version,
    },
    Check {
        name: "protocol/result-type",
        level: Level::Must,
        requirements: &["M-BASE-S-08"],
        remedy: "give each result a resultType; of a finished request it is 'complete'",
        run: result_type,
    },
    Check {
        name: "protocol/request-id",
        level: Level::Must,
        requirements: &["M-BASE-S-06", "L-BASE-B-06"],
        remedy: "copy the id of a request into its response: same value, same JSON type",
        run: request_id,
    },
    Check {
        name: "protocol/message-form",
        level: Level::Must,
        requirements: &["M-BASE-B-02", "M-BASE-S-13", "L-BASE-B-02", "L-BASE-B-10"],
        remedy: "a response has jsonrpc \"2.0\", and either result or error; error has an integer code and a message",
        run: message_form,
    },
    Check {
        name: "protocol/unknown-method",
        level: Level::Must,
        requirements: &["M-BASE-S-19", "L-BASE-B-16"],
        remedy: "answer a request with an unknown method with error -32601",
        run: unknown_method,
    },
    Check {
        name: "protocol/unknown-notification",
        level: Level::Must,
        requirements: &["M-BASE-B-15", "L-BASE-B-12"],
        remedy: "send no response to a notification, even if it is unknown",
        run: unknown_notification,
    },
    Check {
        name: "protocol/invalid-json",
        level: Level::Must,
        requirements: &["M-BASE-S-18"],
        remedy: "answer invalid JSON with error -32700, and go on",
        run: invalid_json,
    },
    Check {
        name: "protocol/lists",
        level: Level::Must,
        requirements: &["M-TOOL-S-04", "L-TOOL-S-03"],
        remedy: "answer the list of each declared capability; declare no capability that is not there",
        run: lists,
    },
    Check {
        name: "protocol/same-list",
        level: Level::Should,
        requirements: &["M-TOOL-S-06"],
        remedy: "keep the order of a list while nothing changes",
        run: same_list,
    },
    Check {
        name: "protocol/unknown-cursor",
        // A recommendation, but no host suffers from a server that does not follow it.
        level: Level::Hosts,
        requirements: &["M-PAGE-S-03", "L-PAGE-S-05"],
        remedy: "refuse an unknown cursor with error -32602",
        run: unknown_cursor,
    },
    Check {
        name: "protocol/unknown-tool",
        level: Level::Must,
        requirements: &["M-TOOL-S-23", "L-TOOL-S-20"],
        remedy: "refuse a call of an unknown tool with error -32602",
        run: unknown_tool,
    },
    Check {
        name: "protocol/unknown-resource",
        level: Level::Should,
        requirements: &["M-ERR-S-06"],
        remedy: "refuse to read an unknown resource: with -32602, or -32002 up to 2025-11-25",
        run: unknown_resource,
    },
    Check {
        name: "protocol/requests-of-server",
        level: Level::Must,
        requirements: &["M-STDIO-S-07", "M-HTTP-S-16", "L-INIT-B-16"],
        remedy: "send the client no request that it has declared no capability for; since 2026-07-28, none at all",
        run: requests_of_server,
    },
];

fn initialize(server: &Server) -> Seen {
    server.with(server.legacy()?, |conn| {
        let opening = &conn.opening;
        if !opening["capabilities"].is_object() {
            return Err("the result has no object 'capabilities'".into());
        }
        for member in ["name", "version"] {
            if !opening["serverInfo"][member].is_string() {
                return Err(format!("serverInfo has no text '{member}'").into());
            }
        }
        let info = &opening["serverInfo"];
        let name = info["name"].as_str().unwrap_or_default();
        let version = info["version"].as_str().unwrap_or_default();
        Ok(format!("{name} {version}"))
    })
}

fn initialize_version(server: &Server) -> Seen {
    let revision = server.legacy()?;
    let mut conn = server.connect(revision)?;
    let response = conn.request("initialize", initialize_params(revision.as_str()))?;
    let spoken = result_of("initialize", &response)?["protocolVersion"].clone();
    conn.close();
    if spoken != revision.as_str() {
        let spoken = excerpt_of(&spoken);
        return Err(format!("{revision} is supported, but answered with {spoken}").into());
    }
    let mut conn = server.connect(revision)?;
    let response = conn.request("initialize", initialize_params("1999-01-01"))?;
    let result = result_of("initialize with an unknown revision", &response)?;
    let spoken = result["protocolVersion"].as_str().unwrap_or_default();
    let is_known = spoken.parse::<mcplink::schema::ProtocolVersion>().is_ok();
    conn.close();
    match is_known {
        true => Ok(format!("an unknown revision is answered with {spoken}")),
        false => {
            let spoken = excerpt_of(&json!(spoken));
            Err(format!("an unknown revision is answered with {spoken}").into())
        }
    }
}

fn ping(server: &Server) -> Seen {
    server.with(server.legacy()?, |conn| {
        let response = conn.request("ping", json!({}))?;
        let result = result_of("ping", &response)?;
        let has_members = result.as_object().is_some_and(|result| {
            let mut members = result.keys();
            members.any(|name| name != "_meta")
        });
        match has_members {
            true => Err("the result of ping is not empty".into()),
            false => passed(),
        }
    })
}

fn discover(server: &Server) -> Seen {
    let revision = server.modern()?;
    server.with(revision, |conn| {
        let result = conn.discover()?;
        let versions = result["supportedVersions"].as_array();
        let versions = versions.ok_or("the result has no array 'supportedVersions'")?;
        if !versions.iter().any(|version| version == revision.as_str()) {
            return Err(format!("supportedVersions does not have {revision}").into());
        }
        if !result["capabilities"].is_object() {
            return Err("the result has no object 'capabilities'".into());
        }
        passed()
    })
}

fn unknown_version(server: &Server) -> Seen {
    let mut conn = server.connect(server.modern()?)?;
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2099-01-01",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let message = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": { "_meta": meta },
    });
    let response = match conn.is_web() {
        true => {
            let version = ("MCP-Protocol-Version", "2099-01-01");
            let answer = conn.post(&message, &[version])?;
            if answer.status != 400 {
                let status = answer.status;
                return Err(format!("an unknown revision has status {status}, not 400").into());
            }
            answer.messages.into_iter().next().unwrap_or_default()
        }
        false => conn.request_as(json!(1), "tools/list", json!({ "_meta": meta }))?,
    };
    conn.close();
    if code_of(&response) != Some(-32022) {
        let seen = excerpt_of(response.get("error").unwrap_or(&response));
        return Err(format!("expected error -32022: {seen}").into());
    }
    let data = &response["error"]["data"];
    match data["supported"].is_array() && data["requested"].is_string() {
        true => passed(),
        false => Err(format!("its data is {}", excerpt_of(data)).into()),
    }
}

fn result_type(server: &Server) -> Seen {
    server.with(server.modern()?, |conn| {
        let mut methods = vec!["server/discover"];
        if conn.capabilities().contains_key("tools") {
            methods.push("tools/list");
        }
        for method in methods {
            let response = conn.request(method, json!({}))?;
            let kind = &result_of(method, &response)?["resultType"];
            if kind != "complete" {
                let kind = excerpt_of(kind);
                return Err(format!("the resultType of {method} is {kind}").into());
            }
        }
        passed()
    })
}

/// Returns a request that every server of the conversation's revision answers.
fn harmless(conn: &super::Conn) -> &'static str {
    match conn.revision.is_modern() {
        true => "server/discover",
        false => "ping",
    }
}

fn request_id(server: &Server) -> Seen {
    server.each(|conn| {
        let method = harmless(conn);
        for id in [
            json!("an id: é 😀"),
            json!(9_007_199_254_740_991_u64),
            // The check numbers its own requests from 1.
            json!("70007"),
            json!(70007),
        ] {
            let response = conn.request_as(id.clone(), method, json!({}))?;
            if response["id"] != id {
                return Err(format!("id {id} is answered with id {}", response["id"]).into());
            }
        }
        passed()
    })
}

fn message_form(server: &Server) -> Seen {
    server.each(|conn| {
        let method = harmless(conn);
        let good = conn.request(method, json!({}))?;
        let bad = conn.request("tests/no-such-method", json!({}))?;
        for response in [&good, &bad] {
            let (result, error) = (response.get("result"), response.get("error"));
            if response["jsonrpc"] != "2.0" {
                return Err("a response has no jsonrpc \"2.0\"".into());
            }
            if result.is_some() == error.is_some() {
                let seen = excerpt_of(response);
                return Err(format!("expected either result or error: {seen}").into());
            }
            if error.is_some() {
                refusal(response)?;
            }
        }
        passed()
    })
}

fn unknown_method(server: &Server) -> Seen {
    server.each(|conn| {
        let response = conn.request("tests/no-such-method", json!({}))?;
        match code_of(&response) {
            Some(-32601) => passed(),
            _ => {
                let seen = excerpt_of(response.get("error").unwrap_or(&response));
                Err(format!("expected error -32601: {seen}").into())
            }
        }
    })
}

fn unknown_notification(server: &Server) -> Seen {
    server.each(|conn| {
        if conn.is_web() {
            // The status may refuse a notification, but no message may answer it.
            let message = json!({ "jsonrpc": "2.0", "method": "notifications/no-such-thing" });
            let answer = conn.post(&message, &[])?;
            let answers = answer.messages.iter();
            let mut answers = answers.filter(|message| message.get("result").is_some());
            if answers.next().is_some() {
                return Err("a notification is answered with a result".into());
            }
        } else {
            conn.notify("notifications/no-such-thing", json!({ "a": 1 }))?;
        }
        let method = harmless(conn);
        conn.request(method, json!({}))?;
        let is_response = |message: &&Value| message.get("method").is_none();
        match conn.others.iter().find(is_response) {
            Some(answer) => {
                let answer = excerpt_of(answer);
                Err(format!("a notification is answered: {answer}").into())
            }
            None => passed(),
        }
    })
}

fn invalid_json(server: &Server) -> Seen {
    server.each(|conn| {
        let remark = match conn.as_web() {
            Some(web) => {
                let fields = [(
                    "MCP-Protocol-Version".to_owned(),
                    conn.revision.as_str().to_owned(),
                )];
                let patience = server.patience;
                let answer = web.send("POST", Some("{ not JSON"), &fields, None, patience)?;
                if answer.status < 400 {
                    let status = answer.status;
                    return Err(format!("invalid JSON has status {status}").into());
                }
                format!("status {}", answer.status)
            }
            None => {
                conn.send_text("{ not JSON")?;
                String::new()
            }
        };
        let method = harmless(conn);
        let response = conn.request(method, json!({}))?;
        result_of(method, &response)?;
        if conn.is_web() {
            return Ok(remark);
        }
        let codes: Vec<Option<i64>> = conn.others.iter().map(code_of).collect();
        Ok(match codes.contains(&Some(-32700)) {
            true => String::new(),
            // A response without an id can't be matched, so clients lose nothing.
            false => "it is ignored".to_owned(),
        })
    })
}

fn lists(server: &Server) -> Seen {
    server.each(|conn| {
        let capabilities = conn.capabilities();
        let mut counts = Vec::new();
        for name in ["tools", "prompts", "resources"] {
            if capabilities.contains_key(name) {
                let items = conn.list(name)?;
                let member = if name == "resources" { "uri" } else { "name" };
                if let Some(item) = items.iter().find(|item| !item[member].is_string()) {
                    let item = excerpt_of(item);
                    return Err(format!("{name}/list has an item without {member}: {item}").into());
                }
                counts.push(format!("{} {name}", items.len()));
            }
        }
        match counts.is_empty() {
            true => skip("the server has neither tools nor prompts nor resources"),
            false => Ok(counts.join(", ")),
        }
    })
}

fn same_list(server: &Server) -> Seen {
    server.each(|conn| {
        if !conn.capabilities().contains_key("tools") {
            return skip("the server has no tools");
        }
        let names = |tools: Vec<Value>| -> Vec<Value> {
            tools.into_iter().map(|tool| tool["name"].clone()).collect()
        };
        let first = names(conn.list("tools")?);
        match first == names(conn.list("tools")?) {
            true => passed(),
            false => Err("two calls of tools/list give different orders".into()),
        }
    })
}

fn unknown_cursor(server: &Server) -> Seen {
    server.each(|conn| {
        if !conn.capabilities().contains_key("tools") {
            return skip("the server has no tools");
        }
        let params = json!({ "cursor": "no-such-cursor-é" });
        let response = conn.request("tools/list", params)?;
        match code_of(&response) {
            Some(-32602) => passed(),
            Some(code) => Err(format!("refused with {code}, not with -32602").into()),
            None => Err("an unknown cursor is accepted".into()),
        }
    })
}

fn unknown_tool(server: &Server) -> Seen {
    server.each(|conn| {
        if !conn.capabilities().contains_key("tools") {
            return skip("the server has no tools");
        }
        let params = json!({ "name": "no-such-tool-of-this-server", "arguments": {} });
        let response = conn.request("tools/call", params)?;
        match (code_of(&response), &response["result"]["isError"]) {
            (Some(-32602), _) => passed(),
            // Servers of several SDKs answer so.
            (None, Value::Bool(true)) => Ok("answered with isError".to_owned()),
            (Some(code), _) => Err(format!("refused with {code}, not with -32602").into()),
            (None, _) => Err("the call of an unknown tool succeeds".into()),
        }
    })
}

fn unknown_resource(server: &Server) -> Seen {
    server.each(|conn| {
        if !conn.capabilities().contains_key("resources") {
            return skip("the server has no resources");
        }
        let params = json!({ "uri": "no-such-scheme://no/such/resource" });
        let response = conn.request("resources/read", params)?;
        match (code_of(&response), conn.revision.is_modern()) {
            (None, _) => Err("an unknown resource can be read".into()),
            (Some(-32602), _) | (Some(-32002), false) => passed(),
            (Some(code), _) => Err(format!("refused with {code}").into()),
        }
    })
}

fn requests_of_server(server: &Server) -> Seen {
    server.each_anew(|conn| {
        let capabilities = conn.capabilities();
        for name in ["tools", "prompts", "resources"] {
            if capabilities.contains_key(name) {
                // A check of its own reports a list that fails.
                _ = conn.list(name);
            }
        }
        // What the server sent behind the last list is read with this answer.
        let method = harmless(conn);
        conn.request(method, json!({}))?;
        let is_legacy = conn.revision.is_legacy();
        let wrong = conn.others.iter().find(|message| {
            let is_request = message.get("method").is_some() && message.get("id").is_some();
            is_request && !(is_legacy && message["method"] == "ping")
        });
        match wrong {
            Some(message) => {
                let method = excerpt_of(&message["method"]);
                Err(Verdict::Failed(format!(
                    "the server sends the request {method}"
                )))
            }
            None => passed(),
        }
    })
}
