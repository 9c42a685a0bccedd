//! Modern clients over HTTP, through the service that a host mounts in its own web server.

use std::sync::mpsc;

use mcplink::schema::{
    ElicitRequestParams, ElicitSchema, JsonSchema, LoggingLevel, ProtocolVersion, TaskSupport,
    Tool, ToolExecution,
};
use mcplink::server::http::HttpOptions;
use mcplink::server::{Context, HandlerError, Server, TaskOptions};
use serde_json::{Value, json};

use crate::common::LONG;
use crate::web::{Web, field, initialize, modern};

fn server() -> Server {
    let region = json!({"type": "object", "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "place": {"type": "object", "properties": {"depth": {"type": "integer", "x-mcp-header": "Depth"}}},
    }});
    Server::builder("s", "1")
        .logging(true)
        .tool_with(Tool::new("echo"), |args: Value, _: &Context| {
            args.to_string()
        })
        .tool_with(Tool::new("steps"), |_: Value, context: &Context| {
            for step in 1..=3 {
                context.progress(f64::from(step), Some(3.0), None);
            }
            context.log(LoggingLevel::Info, None, "half way");
            "done"
        })
        .tool_with(
            Tool::new("where").input_schema(JsonSchema::new(&region).unwrap()),
            |args: Value, _: &Context| args.to_string(),
        )
        .build()
        .unwrap()
}

fn call(web: &Web, name: &str) -> crate::web::Answer {
    web.modern("tools/call", json!({"name": name, "arguments": {}}))
}

// M-HTTP-S-01, M-HTTP-S-13, M-HTTP-S-27
#[test]
fn a_call_is_answered_with_one_json_object() {
    let web = Web::new(&server());
    let answer = call(&web, "echo");
    assert_eq!(answer.status(), 200);
    assert_eq!(
        field(&answer.head(), "Content-Type"),
        Some("application/json")
    );
    assert_eq!(answer.result()["content"][0]["text"], "{}");
    let (message, right) = modern(7, "tools/list", json!({}), json!({}));
    let right: Vec<_> = right
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    let with_session: Vec<_> = right
        .iter()
        .copied()
        .chain([("Mcp-Session-Id", "x")])
        .collect();
    let answer = web.post(&with_session, &message);
    assert_eq!(
        (answer.status(), answer.message()["id"].clone()),
        (200, json!(7))
    );
    assert_eq!(field(&answer.head(), "Mcp-Session-Id"), None);
    assert_eq!(
        web.send("POST", "/other", &right, message.to_string())
            .status(),
        404
    );
}

// M-HTTP-S-13, M-HTTP-S-15, M-HTTP-S-16, M-HTTP-S-17, M-HTTP-S-18, M-HTTP-S-21
#[test]
fn what_is_said_before_the_answer_makes_it_a_stream() {
    let web = Web::new(&server());
    let params = json!({"name": "steps", "_meta": {"progressToken": "p", "io.modelcontextprotocol/logLevel": "info"}});
    let answer = web.modern("tools/call", params);
    let head = answer.head();
    assert_eq!(head.status, 200);
    assert_eq!(field(&head, "Content-Type"), Some("text/event-stream"));
    assert_eq!(field(&head, "X-Accel-Buffering"), Some("no"));
    let mut methods = Vec::new();
    while let Some(event) = answer.event() {
        assert_eq!(event.id, None, "modern streams can't be resumed");
        let message = event.message();
        methods.push(message["method"].as_str().unwrap_or("result").to_owned());
    }
    let progress = "notifications/progress";
    assert_eq!(
        methods,
        [
            progress,
            progress,
            progress,
            "notifications/message",
            "result"
        ]
    );
}

// M-HDR-B-42, M-HDR-B-43, M-HDR-S-03, M-HDR-S-04, M-HDR-S-07, M-HDR-S-40, M-HDR-S-41, M-HDR-S-52, M-HTTP-S-23, M-HTTP-S-24, AMB-01
#[test]
fn fields_and_body_have_to_agree() {
    let web = Web::new(&server());
    let call = |fields: &[(&str, &str)]| {
        let answer = web.modern_as("tools/call", json!({"name": "echo"}), json!({}), fields);
        let status = answer.status();
        (status, answer.message()["error"]["code"].clone(), answer)
    };
    assert_eq!(call(&[]).0, 200);
    for wrong in [
        ("MCP-Protocol-Version", ""),
        ("MCP-Protocol-Version", "2025-11-25"),
        ("MCP-Protocol-Version", "2099-01-01"),
        ("Mcp-Method", ""),
        ("Mcp-Method", "tools/list"),
        ("Mcp-Method", "TOOLS/CALL"),
        ("Mcp-Name", ""),
        ("Mcp-Name", "other"),
        ("Mcp-Name", "=?base64?!?="),
    ] {
        let (status, code, answer) = call(&[wrong]);
        assert_eq!((status, code), (400, json!(-32020)), "{wrong:?}");
        assert!(answer.message()["id"].is_i64(), "{wrong:?}");
    }
    for right in [("mcp-name", "=?base64?ZWNobw==?="), ("MCP-NAME", "  echo ")] {
        assert_eq!(call(&[right]).0, 200, "{right:?}");
    }
}

// M-HTTP-S-23, M-HTTP-S-24, M-META-S-09, M-META-S-14, M-HTTP-S-33
#[test]
fn the_status_says_what_kind_of_error_it_is() {
    let web = Web::new(&server());
    let (mut message, _) = modern(1, "server/discover", json!({}), json!({}));
    message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("v999.0.0");
    let fields = [
        ("MCP-Protocol-Version", "v999.0.0"),
        ("Mcp-Method", "server/discover"),
    ];
    let answer = web.post(&fields, &message);
    assert_eq!((answer.status(), answer.error_code()), (400, -32022));
    assert_eq!(answer.message()["error"]["data"]["requested"], "v999.0.0");
    for member in ["protocolVersion", "clientCapabilities"] {
        let (mut message, _) = modern(1, "server/discover", json!({}), json!({}));
        let meta = message["params"]["_meta"].as_object_mut().unwrap();
        meta.remove(&format!("io.modelcontextprotocol/{member}"));
        let fields = [
            ("MCP-Protocol-Version", "2026-07-28"),
            ("Mcp-Method", "server/discover"),
        ];
        let answer = web.post(&fields, &message);
        assert_eq!(
            (answer.status(), answer.error_code()),
            (400, -32602),
            "{member}"
        );
    }
    for method in [
        "foo/bar",
        "ping",
        "initialize",
        "logging/setLevel",
        "resources/subscribe",
    ] {
        let answer = web.modern(method, json!({}));
        assert_eq!(
            (answer.status(), answer.error_code()),
            (404, -32601),
            "{method}"
        );
    }
    let answer = web.modern("tools/call", json!({"name": "unknown"}));
    assert_eq!((answer.status(), answer.error_code()), (200, -32602));
    let (message, fields) = modern(1, "server/discover", json!({}), json!({}));
    let fields: Vec<_> = fields
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    assert_eq!(web.post(&fields, &json!([message])).status(), 400);
    assert_eq!(web.send("POST", "/mcp", &fields, "{").status(), 400);
    let broken = web.send(
        "POST",
        "/mcp",
        &fields,
        r#"{"jsonrpc":"2.0","id":3,"method":4}"#,
    );
    assert_eq!(
        (broken.status(), broken.message()["id"].clone()),
        (400, json!(3))
    );
}

// M-HDR-S-28, M-HDR-S-29, M-HDR-S-34, M-HDR-S-35, M-HDR-S-36, M-HDR-S-37, M-HDR-S-38, M-HDR-S-39, M-HDR-S-44, M-HDR-S-46, M-HDR-B-16
#[test]
fn parameters_are_repeated_in_fields() {
    let web = Web::new(&server());
    let call = |arguments: Value, fields: &[(&str, &str)]| {
        let params = json!({"name": "where", "arguments": arguments});
        let answer = web.modern_as("tools/call", params, json!({}), fields);
        let code = answer.message()["error"]["code"].clone();
        assert_eq!(answer.status() == 400, code == -32020, "{code}");
        answer.status()
    };
    let region = json!({"region": "süd"});
    assert_eq!(
        call(
            region.clone(),
            &[("Mcp-Param-Region", "=?base64?c8O8ZA==?=")]
        ),
        200
    );
    assert_eq!(call(region.clone(), &[]), 400);
    assert_eq!(call(region.clone(), &[("Mcp-Param-Region", "sud")]), 400);
    assert_eq!(
        call(region, &[("Mcp-Param-Region", "=?base64?c8O8ZA?=")]),
        400
    );
    assert_eq!(call(json!({}), &[("Mcp-Param-Other", "ignored")]), 200);
    assert_eq!(call(json!({"region": null}), &[]), 200);
    // Who looks at it on the way would believe it.
    for arguments in [json!({}), json!({"region": null})] {
        assert_eq!(call(arguments, &[("Mcp-Param-Region", "north")]), 400);
    }
    let twice = [("Mcp-Param-Region", "a"), ("mcp-param-region", "b")];
    assert_eq!(call(json!({"region": "a"}), &twice), 400);
    assert_eq!(call(json!({"region": "a"}), &twice[..1]), 200);
    let names = [("Mcp-Name", "other")];
    assert_eq!(call(json!({}), &names), 400);
    for (depth, field, status) in [
        (json!(42), "42", 200),
        (json!(42), "42.0", 200),
        (json!(42), "43", 400),
        (json!(9_007_199_254_740_992_i64), "9007199254740992", 400),
    ] {
        let arguments = json!({"place": {"depth": depth}});
        assert_eq!(
            call(arguments, &[("mcp-param-DEPTH", field)]),
            status,
            "{field}"
        );
    }
}

// M-HDR-S-11, M-HDR-S-12, M-HDR-S-13, M-HDR-S-14, M-HDR-S-15, M-HDR-S-17, M-HDR-S-18
#[test]
fn a_tool_whose_fields_can_not_be_written_is_refused() {
    let refused = |properties: Value| {
        let schema = json!({"type": "object", "properties": properties});
        let tool = Tool::new("t").input_schema(JsonSchema::new(&schema).unwrap());
        server().add_tool(tool, |_: Value, _: &Context| "").is_err()
    };
    let named = |name: &str| json!({"p": {"type": "string", "x-mcp-header": name}});
    assert!(!refused(named("Fine")));
    for name in ["", "a b", "a:b", "ü", "a\r\nX: y"] {
        assert!(refused(named(name)), "{name:?}");
    }
    for kind in [
        json!("number"),
        json!("object"),
        json!("array"),
        json!(["string", "null"]),
        Value::Null,
    ] {
        assert!(
            refused(json!({"p": {"type": kind, "x-mcp-header": "P"}})),
            "{kind}"
        );
    }
    let twice = json!({"type": "string", "x-mcp-header": "region"});
    let nested = json!({"type": "object", "properties": {"q": {"type": "string", "x-mcp-header": "Region"}}});
    assert!(refused(json!({"p": twice, "o": nested})));
    let inner = json!({"type": "string", "x-mcp-header": "P"});
    for keyword in ["items", "not", "if", "then", "else"] {
        assert!(
            refused(json!({"p": {"type": "array", (keyword): inner}})),
            "{keyword}"
        );
    }
    for keyword in ["oneOf", "anyOf", "allOf"] {
        assert!(refused(json!({"p": {(keyword): [inner]}})), "{keyword}");
    }
}

// M-CANC-S-04, AMB-34
#[test]
fn a_client_that_goes_away_cancels_its_call() {
    let (entered, has_entered) = mpsc::channel();
    let (seen, was_seen) = mpsc::channel();
    let server = Server::builder("s", "1")
        .tool_with(Tool::new("wait"), move |_: Value, context: &Context| {
            entered.send(()).unwrap();
            seen.send(context.cancel_token().wait(LONG)).unwrap();
            "late"
        })
        .build()
        .unwrap();
    let web = Web::new(&server);
    let answer = call(&web, "wait");
    has_entered.recv_timeout(LONG).unwrap();
    answer.leave();
    assert!(was_seen.recv_timeout(LONG).unwrap(), "cancelled");
}

// M-HTTP-S-20, M-SUB-S-05, M-SUB-S-15, M-PROG-S-10, AMB-04, 17.1, 17.2
#[test]
fn a_subscription_is_a_stream_until_the_server_ends_it() {
    let server = server();
    let web = Web::new(&server);
    let tools = web.modern(
        "subscriptions/listen",
        json!({"notifications": {"toolsListChanged": true}}),
    );
    let prompts = web.modern(
        "subscriptions/listen",
        json!({"notifications": {"promptsListChanged": true}}),
    );
    let ack = tools.event().expect("an event").message();
    assert_eq!(ack["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(
        field(&tools.head(), "Content-Type"),
        Some("text/event-stream")
    );
    assert!(
        tools.head().while_quiet.is_some(),
        "a quiet stream is kept open"
    );
    assert!(prompts.event().is_some());
    server
        .add_tool(Tool::new("new"), |_: Value, _: &Context| "")
        .unwrap();
    let told = tools.event().expect("an event").message();
    assert_eq!(told["method"], "notifications/tools/list_changed");
    let params = json!({"name": "steps", "_meta": {"progressToken": "p"}});
    let call = web.modern("tools/call", params);
    assert_eq!(call.messages().len(), 4, "progress is told to the caller");
    server.end_subscriptions();
    let rest = tools.messages();
    assert_eq!(rest.len(), 1, "{rest:?}");
    assert_eq!(rest[0]["result"]["resultType"], "complete");
    assert_eq!(prompts.messages().len(), 1);
}

#[test]
fn streams_above_the_bound_are_refused_until_one_ends() {
    let server = server();
    let web = Web::with(&server, HttpOptions::new().max_streams(1));
    let listen = || {
        web.modern(
            "subscriptions/listen",
            json!({"notifications": {"toolsListChanged": true}}),
        )
    };
    let first = listen();
    assert!(first.event().is_some());
    let error = listen().message()["error"]["message"].to_string();
    assert!(error.contains("as many subscriptions as it may"), "{error}");
    server.end_subscriptions();
    assert_eq!(first.messages().len(), 1);
    assert!(listen().event().is_some());
}

// 15.4, 17.1
#[test]
fn a_subscriber_that_does_not_read_delays_nobody_and_is_told_later() {
    let server = server();
    let web = Web::new(&server);
    let listen = || {
        web.modern(
            "subscriptions/listen",
            json!({"notifications": {"toolsListChanged": true}}),
        )
    };
    let (stalled, other) = (listen(), listen());
    assert!(stalled.event().is_some() && other.event().is_some());
    stalled.stall();
    for n in 0..5 {
        server
            .add_tool(Tool::new(format!("new{n}")), |_: Value, _: &Context| "")
            .unwrap();
        assert!(other.event().is_some());
    }
    stalled.go_on();
    assert!(stalled.event().is_some());
    server.end_subscriptions();
    // Five changes were one: behind it comes the result.
    let rest = stalled.messages();
    assert_eq!(rest.len(), 1, "{rest:?}");
    assert_eq!(rest[0]["result"]["resultType"], "complete");
}

// M-HTTP-S-11, M-HTTP-S-12, AMB-06
#[test]
fn notifications_are_accepted_without_an_answer() {
    let web = Web::new(&server());
    let fields = [("MCP-Protocol-Version", "2026-07-28")];
    let answer = web.post(
        &fields,
        &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}),
    );
    assert_eq!((answer.status(), answer.body()), (202, String::new()));
    let broken = web.post(&fields, &json!({"jsonrpc": "2.0", "method": 4}));
    assert_eq!(broken.status(), 400);
}

// M-HTTP-S-26, M-HTTP-S-28, M-HDR-S-04, M-VER-S-11
#[test]
fn a_server_of_the_modern_era_only_has_no_sessions() {
    let server = Server::builder("s", "1")
        .revisions(&[ProtocolVersion::LATEST])
        .tool_with(Tool::new("echo"), |_: Value, _: &Context| "")
        .build()
        .unwrap();
    let web = Web::new(&server);
    for method in ["GET", "DELETE"] {
        let answer = web.send(method, "/mcp", &[("Last-Event-ID", "0-1")], "");
        assert_eq!(
            (answer.status(), field(&answer.head(), "Allow")),
            (405, Some("POST")),
            "{method}"
        );
    }
    let answer = web.post(&[], &initialize(1, ProtocolVersion::V2025_11_25, json!({})));
    assert_eq!((answer.status(), answer.error_code()), (400, -32022));
    assert_eq!(
        web.post(
            &[],
            &json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
        )
        .status(),
        400
    );
}

// M-HTTP-S-02, M-HTTP-S-03, M-HTTP-S-05, L-HTTP-S-02, L-HTTP-S-03, L-HTTP-S-05, 16.4
#[test]
fn strangers_are_not_let_in() {
    let web = Web::new(&server());
    for (name, value) in [("Host", "evil.example"), ("Origin", "http://evil.example")] {
        for method in ["POST", "GET", "DELETE"] {
            let answer = web.send(method, "/mcp", &[(name, value)], "{}");
            assert_eq!(answer.status(), 403);
            let body = answer.body();
            assert!(
                body.contains("evil.example") && body.contains("allowed"),
                "{body}"
            );
            assert!(answer.message().get("id").is_none());
        }
    }
    let options = HttpOptions::new().authenticate(|request| match request.value("Authorization") {
        Some(b"Bearer a") => Ok(mcplink::server::Principal::new("a")),
        Some(_) => Err(mcplink::server::http::Denied::forbidden()),
        None => Err(mcplink::server::http::Denied::unauthorized("Bearer")),
    });
    let server = Server::builder("s", "1")
        .tool_with(Tool::new("who"), |_: Value, context: &Context| {
            // M-ELIC-S-25: what the client authorizes itself with is not for handlers, who could hand it on.
            assert!(!format!("{context:?}").contains("Bearer"));
            context.principal().unwrap_or("nobody").to_owned()
        })
        .build()
        .unwrap();
    let web = Web::with(&server, options);
    let who = |fields: &[(&str, &str)]| {
        web.modern_as("tools/call", json!({"name": "who"}), json!({}), fields)
    };
    let answer = who(&[]);
    assert_eq!(
        (answer.status(), field(&answer.head(), "WWW-Authenticate")),
        (401, Some("Bearer"))
    );
    assert_eq!(who(&[("Authorization", "Bearer b")]).status(), 403);
    let result = who(&[("Authorization", "Bearer a")]).result();
    assert_eq!(result["content"][0]["text"], "a");
}

// Seen in other SDKs: a `requestState` can be forged, or replayed elsewhere.
// M-MRTR-S-11, M-ELIC-S-22, M-ELIC-S-30
#[test]
fn what_a_call_knows_is_good_for_its_principal_only() {
    let options = HttpOptions::new().authenticate(|request| {
        let token = request.value("Authorization").unwrap_or_default();
        let user = String::from_utf8_lossy(token).into_owned();
        Ok(mcplink::server::Principal::new(user))
    });
    let ask = |_: Value, context: &Context| -> Result<String, HandlerError> {
        let form = ElicitRequestParams::form("Sure?", ElicitSchema::default().to_schema()?);
        let answer = context.elicit("sure", form)?;
        let user = context.principal().unwrap_or("nobody");
        Ok(format!("{user}: {:?}", answer.action))
    };
    let server = Server::builder("s", "1").tool_with(Tool::new("ask"), ask);
    let web = Web::with(&server.build().unwrap(), options);
    let call = |user: &str, params: Value| {
        let forms = json!({"elicitation": {}});
        web.modern_as("tools/call", params, forms, &[("Authorization", user)])
    };
    let asked = call("ada", json!({"name": "ask"})).result();
    let retry = json!({
        "name": "ask", "requestState": asked["requestState"],
        "inputResponses": {"sure": {"action": "decline"}},
    });
    assert_eq!(call("mallory", retry.clone()).error_code(), -32602);
    let told = call("ada", retry).result();
    assert_eq!(told["content"][0]["text"], "ada: Decline");
}

// AMB-07
#[test]
fn media_types_are_looked_at() {
    let web = Web::new(&server());
    let status = |fields: &[(&str, &str)]| {
        web.modern_as("tools/list", json!({}), json!({}), fields)
            .status()
    };
    assert_eq!(status(&[("Content-Type", "text/plain")]), 415);
    assert_eq!(
        status(&[("Content-Type", "Application/JSON; charset=utf-8")]),
        200
    );
    assert_eq!(status(&[("Accept", "text/html")]), 406);
    for accept in ["", "*/*", "application/*;q=0.5", "text/event-stream"] {
        assert_eq!(status(&[("Accept", accept)]), 200, "{accept}");
    }
}

#[test]
fn pages_of_allowed_sites_may_read_the_answers() {
    let options = HttpOptions::new().allowed_origins(["https://app.example"]);
    let web = Web::with(&server(), options);
    let page = [("Origin", "https://app.example")];
    let asked = [
        page[0],
        ("Access-Control-Request-Headers", "content-type, mcp-method"),
    ];
    let answer = web.send("OPTIONS", "/mcp", &asked, "");
    let head = answer.head();
    assert_eq!(head.status, 204);
    assert_eq!(
        field(&head, "Access-Control-Allow-Origin"),
        Some("https://app.example")
    );
    assert_eq!(
        field(&head, "Access-Control-Allow-Headers"),
        Some("content-type, mcp-method")
    );
    let answer = web.modern_as("tools/list", json!({}), json!({}), &page);
    assert_eq!(
        field(&answer.head(), "Access-Control-Allow-Origin"),
        Some("https://app.example")
    );
    assert_eq!(web.send("OPTIONS", "/mcp", &[], "").status(), 405);
}

// E-TASK-S-65, E-TASK-S-10
#[test]
fn requests_about_tasks_repeat_the_tasks_id_in_their_header() {
    let server = Server::builder("s", "1").tasks(TaskOptions::default());
    let execution = ToolExecution::default().task_support(TaskSupport::Required);
    let tool = Tool::new("must").execution(execution);
    let server = server.tool_with(tool, |_: Value, _: &Context| "done");
    let web = Web::new(&server.build().unwrap());
    let able = || json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    let created = web.modern_as("tools/call", json!({"name": "must"}), able(), &[]);
    let created = created.result();
    assert_eq!(created["resultType"], "task");
    let id = created["taskId"].as_str().unwrap();
    let about = |method: &str, name: &str| {
        let params = json!({"taskId": id, "inputResponses": {}});
        web.modern_as(method, params, able(), &[("Mcp-Name", name)])
    };
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        assert_eq!(about(method, id).result()["resultType"], "complete");
        for wrong in ["other", ""] {
            let answer = about(method, wrong);
            assert_eq!(answer.status(), 400);
            assert_eq!(answer.message()["error"]["code"], -32020);
        }
    }
    // E-TASK-S-56
    assert_eq!(about("tasks/result", id).status(), 404);
}
