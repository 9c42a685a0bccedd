//! In which trace a call happens, from the host of a client to the handler of a server and back to what it asks.

use std::sync::mpsc;

use mcplink::ErrorKind;
use mcplink::client::CallOptions;
use mcplink::client::Client;
use mcplink::schema::{
    ElicitRequestParams, ElicitResult, ElicitSchema, ProtocolVersion, SubscriptionFilter, Tool,
    TraceContext,
};
use mcplink::server::{Context, HandlerError, Server};
use mcplink::transport::memory;
use serde_json::{Value, json};

use crate::rawserver::{LONG, connect_with};

const HOOK: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const CALL: &str = "00-11111111111111111111111111111111-2222222222222222-00";

fn hook() -> TraceContext {
    let trace = TraceContext::new(HOOK).unwrap();
    let trace = trace.with_tracestate("vendor=1").unwrap();
    trace.with_baggage("user=alice").unwrap()
}

/// Tells the trace of the call; asks something first.
fn trace(_: Value, context: &Context) -> Result<String, HandlerError> {
    let form = ElicitSchema::default().to_schema()?;
    context.elicit("q", ElicitRequestParams::form("?", form))?;
    let trace = context.trace_context();
    Ok(format!(
        "{} {} {}",
        trace.traceparent().unwrap_or("none"),
        trace.tracestate().unwrap_or("none"),
        trace.baggage().unwrap_or("none")
    ))
}

// M-META-B-19
#[test]
fn it_reaches_the_handler_and_what_the_handler_asks() {
    for revision in [
        ProtocolVersion::V2025_06_18,
        ProtocolVersion::V2025_11_25,
        ProtocolVersion::V2026_07_28,
    ] {
        let server = Server::builder("traced", "1")
            .tool_with(Tool::new("trace"), trace)
            .build()
            .unwrap();
        let (here, there) = memory::pair();
        let _serving = server.open(there).unwrap();
        let (told, asked) = mpsc::channel();
        let client = Client::builder("tracing", "1")
            .revisions(&[revision])
            .trace_context(hook)
            .on_elicit(move |question, _| {
                let meta = question.meta.as_ref();
                let trace = meta.map(|meta| meta.trace_context()).unwrap_or_default();
                told.send(trace.traceparent().map(str::to_owned)).unwrap();
                ElicitResult::decline()
            })
            .connect(here)
            .unwrap();
        let call = |options| {
            let result = client.call_tool_with("trace", &json!({}), options).unwrap();
            result.content[0].as_text().unwrap().to_owned()
        };
        assert_eq!(
            call(CallOptions::new()),
            format!("{HOOK} vendor=1 user=alice")
        );
        // A question of a legacy server is a request of its own, and carries it; a modern one stands in the answer to the call.
        let expected = revision.is_legacy().then(|| HOOK.to_owned());
        assert_eq!(asked.recv().unwrap(), expected);
        let own = TraceContext::new(CALL).unwrap();
        let options = CallOptions::new().trace_context(&own);
        assert_eq!(call(options), format!("{CALL} vendor=1 user=alice"));
    }
}

// M-META-B-19
#[test]
fn every_request_carries_it_and_what_is_not_in_form_is_not_sent() {
    let builder = Client::builder("test", "1").trace_context(hook);
    let capabilities = json!({ "tools": { "listChanged": true } });
    let (client, mut server) = connect_with(builder, ProtocolVersion::LATEST, &capabilities);
    for key in ["traceparent", "tracestate", "baggage"] {
        for value in [json!("=="), json!(7)] {
            let options = CallOptions::new().meta(key, value).timeout(LONG);
            let error = client.request("test/any", &(), options).unwrap_err();
            assert_eq!(
                (error.kind(), error.was_sent()),
                (ErrorKind::Invalid, false)
            );
            assert!(error.to_string().contains(key), "{error}");
        }
    }
    let filter = SubscriptionFilter::default().tools_list_changed(true);
    let subscribing = client.clone();
    let subscribed = std::thread::spawn(move || subscribing.subscribe(filter, |_| {}).unwrap());
    let request = server.asked("subscriptions/listen");
    let meta = &request["params"]["_meta"];
    assert_eq!(
        (&meta["traceparent"], &meta["baggage"]),
        (&json!(HOOK), &json!("user=alice"))
    );
    let id = json!({ "io.modelcontextprotocol/subscriptionId": request["id"] });
    server.notify(
        "notifications/subscriptions/acknowledged",
        json!({ "notifications": {}, "_meta": id }),
    );
    drop(subscribed.join().unwrap());
}
