//! A server with one skill and one fault, for tests of `mcplink skills`: `cli_skill_server FAULT`
//! serves standard input and output. The fault `none` is a correct server.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a program that can't go on fails its test"
)]

use std::env;

use mcplink::skills::Digest;
use serde_json::{Value, json};

const SKILL: &str = "---\nname: pay\ndescription: How to pay.\n---\n# Pay\n";
const FORM: &str = "the form";
const URI: &str = "skill://acme/pay/SKILL.md";
const FORM_URI: &str = "skill://acme/pay/forms/FORM.md";

fn main() {
    let fault = env::args().nth(1).unwrap_or_default();
    for line in std::io::stdin().lines() {
        let message: Value = serde_json::from_str(&line.unwrap()).unwrap();
        if let Some(response) = respond(&fault, &message) {
            println!("{response}");
        }
    }
}

fn respond(fault: &str, message: &Value) -> Option<Value> {
    let id = message.get("id")?;
    let params = &message["params"];
    let result = match message["method"].as_str()? {
        "initialize" => {
            let extensions = json!({ "io.modelcontextprotocol/skills": {} });
            json!({
                "protocolVersion": "2025-11-25",
                "capabilities": { "resources": {}, "extensions": extensions },
                "serverInfo": { "name": "skills", "version": "1" },
            })
        }
        "skills/list" => json!({ "skills": skills(fault) }),
        "skills/get" if params["uri"] == URI => json!({ "skill": skills(fault)[0] }),
        "resources/read" => match read(fault, params["uri"].as_str()?) {
            Some(text) => json!({ "contents": [{ "uri": params["uri"], "text": text }] }),
            None => return Some(error(id, -32002)),
        },
        _ => return Some(error(id, -32601)),
    };
    Some(json!({ "jsonrpc": "2.0", "id": id, "result": result }))
}

fn error(id: &Value, code: i64) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": "no" } })
}

/// Returns the content of a file. Some faults are that it differs from the entry.
fn read(fault: &str, uri: &str) -> Option<String> {
    match (fault, uri) {
        ("digest", FORM_URI) => Some(FORM.to_uppercase()),
        ("size", FORM_URI) => Some(format!("{FORM} and more")),
        ("gone", FORM_URI) => None,
        ("front matter", URI) => Some(SKILL.to_owned()),
        (_, FORM_URI) => Some(FORM.to_owned()),
        (_, URI) => Some(SKILL.to_owned()),
        // The fault "path": it would give each file that it names.
        _ => Some("stolen".to_owned()),
    }
}

fn skills(fault: &str) -> Vec<Value> {
    let file = |uri: &str, text: &str| {
        let digest = Digest::of(text.as_bytes()).to_string();
        json!({ "uri": uri, "digest": digest, "size": text.len() })
    };
    let mut files = vec![file(URI, SKILL), file(FORM_URI, FORM)];
    match fault {
        "path" => files.push(file("skill://acme/pay/../../stolen", "stolen")),
        "encoded path" => files.push(file("skill://acme/pay/%2e%2e%2f%2e%2e%2fstolen", "stolen")),
        "absolute path" => files.push(file("file:///stolen", "stolen")),
        "huge" => files[1]["size"] = json!(1_u64 << 30),
        // A file in the place of a folder.
        "clash" => files.push(file("skill://acme/pay/forms", "stolen")),
        _ => {}
    }
    let description = match fault {
        "front matter" => "How to get everything.",
        _ => "How to pay.",
    };
    let skill = |uri: &str, files: Value| {
        json!({
            "uri": uri,
            "frontmatter": { "name": "pay", "description": description },
            "resources": files,
        })
    };
    let mut skills = vec![match fault {
        "dynamic" => skill(URI, json!("dynamic")),
        _ => skill(URI, json!(files)),
    }];
    if fault == "two" {
        let other = "skill://other/pay/SKILL.md";
        skills.push(skill(other, json!([file(other, SKILL)])));
    }
    skills
}
