//! A server with one fault, for tests of `mcplink check`: `cli_bad_server FAULT` serves standard
//! input and output. A fault that is JSON has the results of methods, such as
//! `{"tools/call": {"content": 1}}`; U+FFFE in it is sent as half of a surrogate pair. Its member
//! `errors` has the errors of methods. `cli_bad_server FAULT http` serves HTTP and prints its URL first.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a program that can't go on fails its test"
)]

use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;
use std::{env, thread};

use serde_json::{Value, json};

fn main() {
    let mut words = env::args().skip(1);
    let fault = words.next().unwrap_or_default();
    match words.next() {
        Some(_) => serve_http(&fault),
        None => serve_stdio(&fault),
    }
}

fn serve_stdio(fault: &str) {
    let (mut is_first, mut has_roots, mut called) = (true, false, Value::Null);
    for line in std::io::stdin().lines() {
        let Ok(message) = serde_json::from_str::<Value>(&line.unwrap()) else {
            match fault {
                "dies of bad JSON" => std::process::exit(1),
                _ => println!("{}", error(&Value::Null, -32700)),
            }
            continue;
        };
        if fault == "prints" && is_first {
            println!("Server is running!");
        }
        is_first = false;
        if fault == "dies of large messages" && message.to_string().len() > 1 << 20 {
            std::process::exit(1);
        }
        if fault == "talks while it asks" && talk(&message, &mut called) {
            continue;
        }
        if fault == "awaits roots" && message["method"] == "tools/call" {
            let content = json!([{ "type": "text", "text": format!("roots: {has_roots}") }]);
            let result = json!({ "content": content });
            println!(
                "{}",
                json!({ "jsonrpc": "2.0", "id": message["id"], "result": result })
            );
        } else if let Some(response) = respond(fault, &message) {
            println!("{}", response.to_string().replace('\u{fffe}', "\\ud83d"));
        }
        if fault == "dies" && message["method"] == "notifications/initialized" {
            std::process::exit(3);
        }
        if fault == "talks" && message["method"] == "notifications/initialized" {
            println!(
                "{}",
                json!({ "jsonrpc": "2.0", "method": "notifications/hello" })
            );
        }
        if fault == "adds tools" && message["method"] == "notifications/initialized" {
            let method = "notifications/tools/list_changed";
            for _ in 0..2 {
                println!("{}", json!({ "jsonrpc": "2.0", "method": method }));
            }
        }
        let is_of_tools = message["method"]
            .as_str()
            .is_some_and(|name| name.starts_with("tools/"));
        if fault == "changes" && is_of_tools {
            let method = "notifications/tools/list_changed";
            println!("{}", json!({ "jsonrpc": "2.0", "method": method }));
        }
        if fault == "awaits roots" && message["method"] == "notifications/initialized" {
            let ask = json!({ "jsonrpc": "2.0", "id": "roots", "method": "roots/list" });
            println!("{ask}");
        }
        has_roots |= message["id"] == "roots" && message.get("result").is_some();
        if fault == "asks" && message["method"] == "tools/list" {
            println!(
                "{}",
                json!({ "jsonrpc": "2.0", "id": 1, "method": "roots/list" })
            );
        }
    }
    if fault == "stays" {
        thread::sleep(Duration::from_secs(60));
    }
}

/// Asks the client during a call, and sends log messages and progress before the answer has come.
/// `called` is the call. Returns whether the message belongs to a call.
fn talk(message: &Value, called: &mut Value) -> bool {
    if message["method"] == "tools/call" {
        *called = message.clone();
        let form = json!({ "type": "object", "properties": {} });
        let params = json!({ "message": "Go on?", "requestedSchema": form });
        let ask = json!({ "jsonrpc": "2.0", "id": "ask", "method": "elicitation/create", "params": params });
        println!("{ask}");
        let token = &message["params"]["_meta"]["progressToken"];
        for number in 1..=20 {
            let params = json!({ "level": "info", "data": format!("word {number}") });
            let log =
                json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": params });
            println!("{log}");
            let params = json!({ "progressToken": token, "progress": number, "message": format!("word {number}") });
            println!(
                "{}",
                json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params })
            );
        }
        return true;
    }
    let is_answer = message["id"] == "ask";
    if is_answer {
        let result = json!({ "content": [{ "type": "text", "text": "word" }] });
        println!(
            "{}",
            json!({ "jsonrpc": "2.0", "id": called["id"], "result": result })
        );
    }
    is_answer
}

fn error(id: &Value, code: i64) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": "no" } })
}

/// Answers as a correct server of 2025-11-25 does, but for the fault.
fn respond(fault: &str, message: &Value) -> Option<Value> {
    let method = message["method"].as_str().unwrap_or_default();
    let Some(id) = message.get("id") else {
        let answers = fault == "answers notifications" && !method.ends_with("initialized");
        return answers.then(|| error(&Value::Null, -32601));
    };
    if fault == "forgets requests" && id == "many-63" {
        return None;
    }
    let params = &message["params"];
    let own = serde_json::from_str::<Value>(fault).unwrap_or_default();
    if let Some(error) = own["errors"].get(method) {
        return Some(json!({ "jsonrpc": "2.0", "id": id, "error": error }));
    }
    if let Some(result) = own.get(method) {
        return Some(json!({ "jsonrpc": "2.0", "id": id, "result": result }));
    }
    let result = match method {
        "initialize" => initialize(fault, params),
        "ping" if fault == "no ping" => return Some(error(id, -32601)),
        "ping" => json!({}),
        "tools/list" if fault == "no list" => return Some(error(id, -32603)),
        "tools/list" if params.get("cursor").is_some() && fault != "any cursor" => {
            return Some(error(id, -32602));
        }
        "tools/list" => json!({ "tools": tools(fault) }),
        "tools/call" if fault == "any tool" => json!({ "content": [] }),
        "tools/call" => return Some(error(id, -32602)),
        _ if fault == "any method" => json!({}),
        _ => return Some(error(id, -32601)),
    };
    let id = match (fault, id) {
        ("ids are text", Value::Number(number)) if method == "ping" => json!(number.to_string()),
        (_, id) => id.clone(),
    };
    let version = if fault == "no jsonrpc" && method == "ping" {
        "1.0"
    } else {
        "2.0"
    };
    Some(json!({ "jsonrpc": version, "id": id, "result": result }))
}

fn initialize(fault: &str, params: &Value) -> Value {
    let version = match (fault, &params["protocolVersion"]) {
        ("any version", version) => version.clone(),
        (fault, version) if fault.starts_with('{') => version.clone(),
        _ => json!("2025-11-25"),
    };
    let info = match fault {
        "no name" => json!({ "version": "1" }),
        _ => json!({ "name": "bad", "version": "1" }),
    };
    let has_changes = matches!(fault, "changes" | "adds tools");
    let tools = json!({ "listChanged": has_changes });
    json!({ "protocolVersion": version, "capabilities": { "tools": tools }, "serverInfo": info })
}

fn tools(fault: &str) -> Value {
    let tool = |name: &str, schema: Value| json!({ "name": name, "description": "Does it", "inputSchema": schema });
    let object = json!({ "type": "object" });
    let mut tools = vec![tool("good", object.clone())];
    match fault {
        "bad name" => tools.push(tool("a tool, with spaces", object)),
        "same name" => tools.push(tool("good", object)),
        "no object" => tools.push(tool("bad", json!({ "type": "string" }))),
        "bad type" => {
            let properties = json!({ "a": { "type": "text" } });
            tools.push(tool(
                "bad",
                json!({ "type": "object", "properties": properties }),
            ));
        }
        "foreign reference" => {
            let properties = json!({ "a": { "$ref": "https://example.com/schema" } });
            tools.push(tool(
                "bad",
                json!({ "type": "object", "properties": properties }),
            ));
        }
        "dangling reference" => {
            let properties = json!({ "a": { "$ref": "#/$defs/None" } });
            tools.push(tool(
                "bad",
                json!({ "type": "object", "properties": properties }),
            ));
        }
        "unknown required" => {
            tools.push(tool("bad", json!({ "type": "object", "required": ["a"] })));
        }
        "output" => tools[0]["outputSchema"] = json!({ "type": "array" }),
        "no description" => tools[0]["description"] = json!(""),
        "long name" => tools.push(tool(&"x".repeat(65), object)),
        "combined root" => tools.push(tool("bad", json!({ "type": "object", "anyOf": [{}] }))),
        "array" => {
            let properties = json!({ "a": { "type": "array" } });
            tools.push(tool(
                "bad",
                json!({ "type": "object", "properties": properties }),
            ));
        }
        "many tools" => {
            tools.extend((0..200).map(|number| tool(&format!("t{number}"), object.clone())));
        }
        _ => {}
    }
    json!(tools)
}

/// Serves one request for each connection.
fn serve_http(fault: &str) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    println!("http://{}/mcp", listener.local_addr().unwrap());
    let mut sessions = 0_u64;
    for stream in listener.incoming() {
        _ = serve_request(fault, stream.unwrap(), &mut sessions);
    }
}

fn serve_request(fault: &str, mut stream: TcpStream, sessions: &mut u64) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut start = String::new();
    reader.read_line(&mut start)?;
    let mut fields = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        match line.trim().split_once(':') {
            Some((name, value)) => {
                fields.push((name.to_ascii_lowercase(), value.trim().to_owned()));
            }
            None => break,
        }
    }
    let field = |wanted: &str| {
        let found = fields.iter().find(|(name, _)| name == wanted);
        found.map(|(_, value)| value.as_str())
    };
    let length = field("content-length").and_then(|text| text.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body)?;
    let (status, session, body) = answer(fault, &start, &field, &body, sessions);
    let session = session.map(|id| format!("Mcp-Session-Id: {id}\r\n"));
    let kind = if fault == "text" {
        "text/plain"
    } else {
        "application/json"
    };
    write!(
        stream,
        "HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n{}Connection: \
         close\r\n\r\n{body}",
        body.len(),
        session.unwrap_or_default()
    )
}

fn answer<'a>(
    fault: &str,
    start: &str,
    field: &dyn Fn(&str) -> Option<&'a str>,
    body: &[u8],
    sessions: &mut u64,
) -> (u16, Option<String>, String) {
    let refused = |status| (status, None, String::new());
    if field("origin").is_some() && fault != "any origin" {
        return refused(403);
    }
    if field("host").is_some_and(|host| !host.starts_with("127.")) && fault != "any host" {
        return refused(403);
    }
    if !start.starts_with("POST") {
        let is_wrong = fault == "get" && start.starts_with("GET");
        return refused(if is_wrong { 200 } else { 405 });
    }
    let Ok(message) = serde_json::from_slice::<Value>(body) else {
        return refused(400);
    };
    let mut session = None;
    if message["method"] == "initialize" {
        *sessions += 1;
        // A number that is spread over the whole id, for a test.
        let id = u128::from(*sessions).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
        session = Some(match fault {
            "numbered sessions" => format!("session-{sessions}"),
            "odd sessions" => format!("{id:032x} ").replace(' ', "\u{e9}"),
            _ => format!("{id:032x}"),
        });
    } else {
        match field("mcp-session-id") {
            None if fault != "no session needed" => return refused(400),
            // The id of an unknown session has only these digits.
            Some(id)
                if id.bytes().all(|byte| matches!(byte, b'0' | b'1')) && fault != "any session" =>
            {
                return refused(404);
            }
            _ => {}
        }
    }
    match respond(fault, &message) {
        Some(response) => (200, session, response.to_string()),
        None if fault == "status 200" => (200, session, String::new()),
        None => (202, session, String::new()),
    }
}
