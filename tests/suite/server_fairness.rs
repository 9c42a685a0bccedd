//! One client that takes what it can get, and another one beside it.

use std::sync::{Arc, Mutex};

use mcplink::schema::Tool;
use mcplink::server::http::{Denied, HttpOptions};
use mcplink::server::{Principal, Server, ToolCall};
use serde_json::{Value, json};

use crate::common::{LONG, wait_until, within};
use crate::web::Web;

/// Whoever sends the field is this principal.
fn by_name() -> HttpOptions {
    HttpOptions::new().authenticate(|request| match request.value("X-Name") {
        Some(name) => Ok(Principal::new(String::from_utf8_lossy(name).into_owned())),
        None => Err(Denied::invalid_token("say who you are")),
    })
}

// Promise 11: all modern clients over HTTP share one connection of the server.
#[test]
fn calls_that_a_handler_keeps_leave_places_to_other_principals() {
    within(LONG, || {
        let kept: Arc<Mutex<Vec<ToolCall>>> = Arc::default();
        let server = Server::builder("s", "1")
            .tool_with(Tool::new("echo"), |_: Value, _| "echo")
            .build()
            .unwrap();
        let keep = Arc::clone(&kept);
        server
            .add_deferred_tool(Tool::new("keep"), move |call: ToolCall| {
                keep.lock().unwrap().push(call);
            })
            .unwrap();
        let web = Web::with(&server, by_name().max_requests(16));
        let call = |who: &str, tool: &str| {
            let params = json!({ "name": tool, "arguments": {} });
            web.modern_as("tools/call", params, json!({}), &[("X-Name", who)])
        };
        let mut waiting = Vec::new();
        for _ in 0..14 {
            let begun = kept.lock().unwrap().len();
            waiting.push(call("greedy", "keep"));
            wait_until("the call is kept", || kept.lock().unwrap().len() > begun);
        }
        let refused = call("greedy", "keep").message();
        assert_eq!(refused["error"]["data"]["busy"], true, "{refused}");
        for _ in 0..20 {
            let answer = call("other", "echo").message();
            assert_eq!(answer["result"]["content"][0]["text"], "echo", "{answer}");
        }
        for call in kept.lock().unwrap().drain(..) {
            call.respond("done").unwrap();
        }
        for answer in &waiting {
            assert_eq!(answer.message()["result"]["content"][0]["text"], "done");
        }
        let again = call("greedy", "echo").message();
        assert_eq!(again["result"]["content"][0]["text"], "echo", "{again}");
    });
}
