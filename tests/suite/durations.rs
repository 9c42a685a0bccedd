//! Every duration that a host can set, at its ends: none at all, the shortest one, and the longest one, which is how programs say "forever".

use std::num::NonZeroU32;
use std::thread;
use std::time::Duration;

use mcplink::ErrorKind;
use mcplink::client::CallOptions;
use mcplink::client::{Client, ClientBuilder};
use mcplink::protocol::{CancelToken, KeepAlive};
use mcplink::schema::{
    BooleanSchema, CacheHint, CacheScope, ElicitRequestParams, ElicitResult, ElicitSchema,
    ProtocolVersion, Tool,
};
use mcplink::server::{
    Context, HandlerError, List, MemoryStateStore, RateLimit, Server, ServerBuilder, TaskOptions,
};
use mcplink::transport::memory;
use serde_json::{Value, json};

use crate::common::LONG;

const ENDS: [Duration; 3] = [Duration::ZERO, Duration::from_nanos(1), Duration::MAX];
const ERAS: [ProtocolVersion; 2] = [ProtocolVersion::V2026_07_28, ProtocolVersion::V2025_11_25];

/// Pings at such times; an answer may be late.
fn pings(span: Duration) -> KeepAlive {
    KeepAlive::every(span).timeout(span.max(LONG))
}

fn server_with(span: Duration) -> ServerBuilder {
    let thousand = NonZeroU32::new(1000).unwrap();
    let tasks = TaskOptions::default()
        .lifetime(span)
        .max_lifetime(span)
        .poll_interval(span);
    let ask = |_: Value, context: &Context| -> Result<&'static str, HandlerError> {
        let schema = ElicitSchema::default().required("sure", BooleanSchema::new());
        let form = ElicitRequestParams::form("Sure?", schema.to_schema()?);
        let answer = context.elicit("sure", form)?;
        Ok(if answer.is_accepted() {
            "sure"
        } else {
            "not sure"
        })
    };
    Server::builder("ends", "1")
        .drain(span)
        .slow_handler(span)
        .tasks(tasks)
        .keep_alive(pings(span))
        .cache_list(List::Tools, CacheHint::new(span, CacheScope::Public))
        .guard(RateLimit::new(thousand, span))
        .tool_with(Tool::new("say"), |_: Value, _: &Context| "said")
        .tool_with(Tool::new("ask"), ask)
}

fn client_with(span: Duration, revision: ProtocolVersion) -> ClientBuilder {
    Client::builder("ends", "1")
        .revisions(&[revision])
        .slow_handler(span)
        .on_elicit(|_, _| ElicitResult::accept(&json!({ "sure": true })).unwrap())
}

fn talk(server: &Server, client: ClientBuilder) {
    let (ours, theirs) = memory::pair();
    thread::scope(|scope| {
        let served = scope.spawn(|| server.serve(theirs));
        let client = client.connect(ours).unwrap();
        for (tool, says) in [("say", "said"), ("ask", "sure"), ("say", "said")] {
            let told = client.call_tool(tool, &json!({})).unwrap();
            assert_eq!(told.content[0].as_text(), Some(says));
            assert_eq!(client.list_tools().unwrap().len(), 2);
        }
        client.close();
        served.join().unwrap().unwrap();
    });
}

#[test]
fn servers_and_clients_take_them() {
    for span in ENDS {
        let server = server_with(span).build().unwrap();
        for revision in ERAS {
            talk(&server, client_with(span, revision).keep_alive(pings(span)));
        }
    }
}

#[test]
fn a_state_is_good_for_its_time_to_the_millisecond() {
    for span in [Duration::from_millis(900), Duration::MAX] {
        let server = server_with(span).state_lifetime(span);
        let server = server.state_store(MemoryStateStore::default());
        talk(
            &server.build().unwrap(),
            client_with(span, ProtocolVersion::V2026_07_28),
        );
    }
    let server = server_with(LONG).state_lifetime(Duration::from_nanos(1));
    let server = server.build().unwrap();
    let (ours, theirs) = memory::pair();
    let _session = server.open(theirs).unwrap();
    let client = client_with(LONG, ProtocolVersion::V2026_07_28);
    let client = client.connect(ours).unwrap();
    let error = client.call_tool("ask", &json!({})).unwrap_err();
    assert!(error.to_string().contains("requestState"), "{error}");
    let error = server_with(LONG).state_lifetime(Duration::ZERO).build();
    let error = error.unwrap_err().to_string();
    assert!(error.contains("state_lifetime"), "{error}");
}

#[test]
fn times_on_the_wire_are_numbers_that_every_reader_can_hold() {
    let server = server_with(Duration::MAX).build().unwrap();
    let (ours, theirs) = memory::pair();
    let _session = server.open(theirs).unwrap();
    let client = client_with(Duration::MAX, ProtocolVersion::V2026_07_28);
    let client = client.connect(ours).unwrap();
    let list = client
        .tool_pages(CallOptions::new())
        .next()
        .unwrap()
        .unwrap();
    assert_eq!(list.ttl_ms, Some((1 << 53) - 1));
}

#[test]
fn a_call_waits_as_long_as_it_is_told_to() {
    let server = server_with(LONG).build().unwrap();
    let (ours, theirs) = memory::pair();
    let _session = server.open(theirs).unwrap();
    let client = client_with(LONG, ProtocolVersion::V2026_07_28);
    let client = client
        .connect_timeout(Duration::MAX)
        .probe_timeout(Duration::MAX);
    let client = client.connect(ours).unwrap();
    for max in ENDS {
        for span in ENDS {
            let options = CallOptions::new().timeout(span).max_timeout(max);
            let called = client.call_tool_with("say", &json!({}), options);
            match called.map_err(|error| error.kind()) {
                // A call without any time may find its answer there when it looks.
                Err(ErrorKind::Timeout) => assert!(span.min(max) < LONG, "{span:?} {max:?}"),
                told => assert_eq!(told.unwrap().content[0].as_text(), Some("said")),
            }
        }
    }
    let token = CancelToken::new();
    assert!(!token.wait(Duration::ZERO) && !token.wait(Duration::from_nanos(1)));
    token.cancel();
    assert!(token.wait(Duration::MAX));
}

#[cfg(all(feature = "http-client", feature = "http-server"))]
#[test]
fn http_takes_them() {
    use mcplink::server::http::HttpOptions;
    use mcplink::transport::http::{Http, HttpLimits};

    for span in [Duration::from_nanos(1), Duration::MAX] {
        let mut limits = HttpLimits::default();
        // Without any time no request could come.
        let patient = span.max(LONG);
        (limits.head_timeout, limits.body_timeout) = (patient, patient);
        (limits.write_timeout, limits.keep_alive) = (patient, span);
        let options = HttpOptions::new().limits(limits).keep_alive(span);
        let server = server_with(span).build().unwrap();
        let listening = server
            .listen_http("127.0.0.1:0", options.session_idle(patient))
            .unwrap();
        for revision in ERAS {
            let http = Http::new(&listening.url()).unwrap();
            let http = http
                .connect_timeout(patient)
                .stall_timeout(patient)
                .close_timeout(patient);
            let client = client_with(span, revision).connect(http).unwrap();
            for (tool, says) in [("say", "said"), ("ask", "sure"), ("say", "said")] {
                let told = client.call_tool(tool, &json!({})).unwrap();
                assert_eq!(told.content[0].as_text(), Some(says));
            }
            client.close();
        }
        listening.close();
    }
}
