//! Servers whose lists never change.

use mcplink::schema::{Prompt, ProtocolVersion, Resource, Tool};
use mcplink::server::{Context, ResourceRead, Server, ServerBuilder, TaskOptions};
use serde_json::{Value, json};

use crate::web::{Answer, Web};

// L-TOOL-S-04, M-SUB-S-02
#[test]
fn a_server_whose_lists_never_change_says_so() {
    let server = Server::builder("s", "1")
        .tool_with(Tool::new("t"), |_: Value, _: &Context| "")
        .prompt(Prompt::new("p"), |_: Value, _: &Context| "")
        .resource(
            Resource::new("r:x", "x"),
            |_: &ResourceRead, _: &Context| "",
        )
        .list_changes(false)
        .build()
        .unwrap();
    let web = Web::new(&server);
    let session = web.session(ProtocolVersion::V2025_11_25);
    let discovered = web.modern("server/discover", json!({})).result();
    for capabilities in [
        &session.greeting["result"]["capabilities"],
        &discovered["capabilities"],
    ] {
        for kind in ["tools", "prompts", "resources"] {
            let changed = &capabilities[kind]["listChanged"];
            assert!(capabilities[kind].is_object(), "{capabilities}");
            assert!(*changed == false || changed.is_null(), "{capabilities}");
        }
        assert_eq!(capabilities["resources"]["subscribe"], true);
    }
    let stream = session.get(None);
    let wanted = json!({"toolsListChanged": true, "resourceSubscriptions": ["r:x"]});
    let listen = web.modern("subscriptions/listen", json!({"notifications": wanted}));
    let granted = listen.event().expect("an event").message();
    let granted = &granted["params"]["notifications"];
    assert_eq!(*granted, json!({"resourceSubscriptions": ["r:x"]}));
    let subscribe = session.request("resources/subscribe", json!({"uri": "r:x"}));
    assert_eq!(subscribe.status(), 200);
    // A change of a list is told to nobody; what comes next is.
    let tool = Tool::new("new");
    server.add_tool(tool, |_: Value, _: &Context| "").unwrap();
    server.resource_updated("r:x");
    for told in [&stream, &listen] {
        let message = told.event().expect("an event").message();
        assert_eq!(message["method"], "notifications/resources/updated");
    }
}

#[test]
fn a_server_that_never_tells_a_change_ends_subscriptions_at_once() {
    let builder = || {
        Server::builder("s", "1")
            .tool_with(Tool::new("t"), |_: Value, _: &Context| "")
            .list_changes(false)
    };
    let resource = |builder: ServerBuilder| {
        let read = |_: &ResourceRead, _: &Context| "";
        builder.resource(Resource::new("r:x", "x"), read)
    };
    let listen = |web: &Web| {
        let wanted = json!({ "notifications": { "toolsListChanged": true } });
        web.modern("subscriptions/listen", wanted)
    };
    let acknowledged = |stream: &Answer| {
        let first = stream.event().expect("an event").message();
        assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
        assert_eq!(first["params"]["notifications"], json!({}));
    };
    for silent in [builder(), resource(builder()).resource_updates(false)] {
        let web = Web::new(&silent.build().unwrap());
        let stream = listen(&web);
        acknowledged(&stream);
        let last = stream.event().expect("the result").message();
        assert_eq!(last["result"]["resultType"], "complete", "{last}");
        assert!(stream.event().is_none());
    }
    for telling in [resource(builder()), builder().tasks(TaskOptions::default())] {
        let web = Web::new(&telling.build().unwrap());
        acknowledged(&listen(&web));
    }
}
