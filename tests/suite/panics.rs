//! Code of a host that panics: the one call that needed it fails, and everything else goes on.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use mcplink::ErrorKind;
use mcplink::client::CallOptions;
use mcplink::client::{Client, ClientBuilder, Era};
use mcplink::schema::{
    BooleanSchema, CallToolResult, CompleteRequestParams, CompletionReference,
    CreateMessageRequestParams, ElicitRequestParams, ElicitSchema, LoggingLevel, Prompt,
    ProtocolVersion, Resource, SamplingMessage, Tool,
};
use mcplink::server::{
    CompletionRequest, Context, Guard, GuardedRequest, GuardedResult, HandlerError, Primitive,
    ResourceRead, Server, ServerBuilder, StateStore, ToolOutput,
};
use mcplink::transport::memory;
use mcplink::validation::Validator;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::common::LONG;

const ERAS: [ProtocolVersion; 2] = [ProtocolVersion::V2026_07_28, ProtocolVersion::V2025_11_25];

fn on_purpose() -> ! {
    panic!("on purpose")
}

/// What panics when it is written.
struct Unwritable;

impl Serialize for Unwritable {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        on_purpose()
    }
}

fn say(_: Value, _: &Context) -> &'static str {
    "said"
}

fn with_say(server: ServerBuilder) -> ServerBuilder {
    server.tool_with(Tool::new("say"), say)
}

fn new_server() -> ServerBuilder {
    with_say(Server::builder("s", "1"))
}

fn new_client() -> ClientBuilder {
    Client::builder("c", "1")
}

/// The same client goes on.
fn goes_on(client: &Client) {
    let options = CallOptions::new().timeout(LONG);
    let told = client.call_tool_with("say", &json!({}), options).unwrap();
    assert_eq!(told.content[0].as_text(), Some("said"));
}

/// In both eras: does something that meets a panic, calls a tool on the same connection, and ends it in order.
fn meets(
    server: impl Fn() -> ServerBuilder,
    client: impl Fn() -> ClientBuilder,
    does: impl Fn(&Client),
) {
    for revision in ERAS {
        let server = server().build().unwrap();
        let (ours, theirs) = memory::pair();
        thread::scope(|scope| {
            let served = scope.spawn(|| server.serve(theirs));
            let client = client().revisions(&[revision]).connect(ours).unwrap();
            does(&client);
            goes_on(&client);
            client.close();
            served.join().unwrap().unwrap();
        });
    }
}

fn fails(client: &Client, tool: &str) {
    fails_with(client, tool, &json!({}));
}

fn fails_with(client: &Client, tool: &str, arguments: &Value) {
    let options = CallOptions::new().timeout(LONG);
    let error = client.call_tool_with(tool, arguments, options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Peer, "{error}");
    assert!(!error.to_string().contains("purpose"), "{error}");
}

/// Panics at one of its doors.
struct Trap(&'static str);

impl Guard for Trap {
    fn admit(&self, access: &GuardedRequest<'_>) -> Result<(), HandlerError> {
        match access.primitive() {
            Some(Primitive::Tool("say")) | None => Ok(()),
            Some(_) if self.0 == "admit" => on_purpose(),
            Some(_) => Ok(()),
        }
    }

    fn shows(&self, item: &GuardedRequest<'_>) -> bool {
        match item.primitive() {
            Some(Primitive::Tool("other")) if self.0 == "shows" => on_purpose(),
            _ => true,
        }
    }

    fn release(&self, _: &mut GuardedResult<'_>, context: &Context) {
        if self.0 == "release" && context.params().contains("other") {
            on_purpose()
        }
    }
}

#[test]
fn guards() {
    for door in ["admit", "shows", "release"] {
        let server = || {
            new_server()
                .tool_with(Tool::new("other"), say)
                .guard(Trap(door))
        };
        meets(server, new_client, |client| match door {
            "shows" => drop(client.list_tools().unwrap_err()),
            _ => fails(client, "other"),
        });
    }
}

#[test]
fn prompts_resources_and_completers() {
    let server = || {
        let prompt = CompletionReference::prompt("p");
        new_server()
            .prompt(Prompt::new("p"), |_: Value, _: &Context| -> &str {
                on_purpose()
            })
            .resource(
                Resource::new("a:b", "b"),
                |_: &ResourceRead, _: &Context| -> &str { on_purpose() },
            )
            .completer(
                &prompt,
                "a",
                |_: &CompletionRequest, _: &Context| -> Vec<String> { on_purpose() },
            )
    };
    meets(server, new_client, |client| {
        assert!(client.get_prompt("p", &[]).is_err());
        assert!(client.read_resource("a:b").is_err());
        let reference = CompletionReference::prompt("p");
        assert!(
            client
                .complete(CompleteRequestParams::new(reference, "a", "x"))
                .is_err()
        );
    });
}

#[test]
fn what_handlers_give() {
    struct Sudden;
    impl ToolOutput for Sudden {
        fn into_result(self) -> Result<CallToolResult, HandlerError> {
            on_purpose()
        }
    }
    let server = || {
        new_server()
            .tool_with(Tool::new("result"), |_: Value, _: &Context| Sudden)
            .tool_with(Tool::new("log"), |_: Value, context: &Context| {
                context.log(LoggingLevel::Error, None, Unwritable);
                "nobody wants it"
            })
            .logging(true)
    };
    meets(server, new_client, |client| {
        fails(client, "result");
        // A client of the modern era says with each call what it wants to hear.
        if client.era() == Era::Legacy {
            fails(client, "log");
        }
    });
}

fn asks(_: Value, context: &Context) -> Result<&'static str, HandlerError> {
    let schema = ElicitSchema::default().required("sure", BooleanSchema::new());
    let form = ElicitRequestParams::form("Sure?", schema.to_schema()?);
    let page = ElicitRequestParams::url("See", "https://example.com/");
    let message = CreateMessageRequestParams::new([SamplingMessage::user("Which?")], 10);
    let answer = match context.params() {
        params if params.contains("form") => context.elicit("q", form).map(drop),
        params if params.contains("page") => context.elicit("q", page).map(drop),
        params if params.contains("model") => context.sample("q", message).map(drop),
        _ => context.list_roots("q").map(drop),
    };
    answer?;
    Ok("answered")
}

#[test]
fn who_is_asked() {
    let server = || {
        ["form", "page", "model", "roots"]
            .into_iter()
            .fold(new_server(), |server, name| {
                server.tool_with(Tool::new(name), asks)
            })
    };
    let client = || {
        new_client()
            .on_elicit(|_, _| on_purpose())
            .on_elicit_url(|_, _| on_purpose())
            .on_sample(|_, _| on_purpose())
            .on_list_roots(|_| on_purpose())
    };
    meets(server, client, |client| {
        for name in ["form", "page", "model", "roots"] {
            let options = CallOptions::new().timeout(LONG);
            let called = AssertUnwindSafe(|| client.call_tool_with(name, &json!({}), options));
            match catch_unwind(called) {
                // It was asked on a thread of the connection, and the server was told so.
                Ok(told) => {
                    assert_eq!(client.era(), Era::Legacy, "{name}");
                    assert!(told.unwrap().is_error.unwrap_or_default(), "{name}");
                }
                // On the thread that calls, which is the host's own.
                Err(_) => assert_eq!(client.era(), Era::Modern, "{name}"),
            }
        }
    });
}

#[test]
fn who_is_told_of_progress_and_changes() {
    let server = || {
        new_server()
            .tool_with(Tool::new("steps"), |_: Value, context: &Context| {
                context.progress(1.0, None, None);
                context.progress(2.0, None, None);
                context.log(LoggingLevel::Error, None, "text");
                "done"
            })
            .logging(true)
    };
    let client = || new_client().on_log_message(|_| on_purpose());
    meets(server, client, |client| {
        let options = CallOptions::new()
            .timeout(LONG)
            .on_progress(|_| on_purpose());
        let called = AssertUnwindSafe(|| client.call_tool_with("steps", &json!({}), options));
        // It panics on the thread that calls, which is the host's own.
        assert!(catch_unwind(called).is_err());
        // Beside other callers too, who may be waiting for what this one was reading.
        thread::scope(|scope| {
            for n in 0..8 {
                scope.spawn(move || {
                    for _ in 0..20 {
                        if n % 2 == 0 {
                            goes_on(client);
                        } else {
                            let options = CallOptions::new()
                                .timeout(LONG)
                                .on_progress(|_| on_purpose());
                            let called = AssertUnwindSafe(|| {
                                client.call_tool_with("steps", &json!({}), options)
                            });
                            assert!(catch_unwind(called).is_err());
                        }
                    }
                });
            }
        });
    });
}

#[test]
fn arguments_and_traces_of_a_call() {
    let armed = Arc::new(AtomicUsize::new(0));
    let trace = Arc::clone(&armed);
    let client = || {
        let trace = Arc::clone(&trace);
        new_client().trace_context(move || match trace.load(Ordering::SeqCst) {
            0 => Default::default(),
            _ => on_purpose(),
        })
    };
    meets(new_server, client, |client| {
        let called = || client.call_tool("say", &Unwritable);
        assert!(catch_unwind(AssertUnwindSafe(called)).is_err());
        goes_on(client);
        armed.store(1, Ordering::SeqCst);
        let called = || client.call_tool("say", &json!({}));
        assert!(catch_unwind(AssertUnwindSafe(called)).is_err());
        armed.store(0, Ordering::SeqCst);
    });
}

#[test]
fn stores_of_states() {
    struct Full;
    impl StateStore for Full {
        fn claim(&self, _: &str, _: std::time::Duration) -> mcplink::Result<bool> {
            on_purpose()
        }
    }
    let server = new_server()
        .tool_with(Tool::new("form"), asks)
        .state_store(Full);
    let server = server.build().unwrap();
    let (ours, theirs) = memory::pair();
    let _session = server.open(theirs).unwrap();
    let client = new_client()
        .on_elicit(|_, _| mcplink::schema::ElicitResult::accept(&json!({ "sure": true })).unwrap());
    let client = client.connect(ours).unwrap();
    fails(&client, "form");
    goes_on(&client);
}

#[test]
fn validators() {
    let validator = Validator::custom(|_| {
        Ok(|json: &str| match json.contains("bad") {
            true => on_purpose(),
            false => Ok(()),
        })
    });
    let server = || {
        new_server()
            .validator(validator.clone())
            .tool_with(Tool::new("checked"), say)
    };
    meets(server, new_client, |client| {
        fails_with(client, "checked", &json!({ "a": "bad" }))
    });
}

#[test]
fn whoever_hears_of_a_cancellation() {
    let (entered, inside) = mpsc::channel();
    let server = || {
        let entered = entered.clone();
        new_server().tool_with(Tool::new("wait"), move |_: Value, context: &Context| {
            let token = context.cancel_token();
            let _callback = token.on_trigger(|| on_purpose());
            entered.send(()).unwrap();
            assert!(token.wait(LONG));
            "over"
        })
    };
    meets(server, new_client, |client| {
        let cancel = mcplink::protocol::CancelToken::new();
        thread::scope(|scope| {
            let call = scope.spawn(|| {
                let options = CallOptions::new().timeout(LONG).cancel_with(&cancel);
                client.call_tool_with("wait", &json!({}), options)
            });
            inside.recv_timeout(LONG).unwrap();
            cancel.cancel();
            let error = call.join().unwrap().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Cancelled, "{error}");
        });
    });
}

#[cfg(all(feature = "http-client", feature = "http-server"))]
mod over_http {
    use std::sync::atomic::AtomicBool;

    use mcplink::server::Principal;
    use mcplink::server::http::{Denied, HttpOptions};
    use mcplink::transport::http::{
        Authorizer, AuthorizerDecision, CredentialWait, Credentials, Http, HttpRequest,
        OutgoingRequest, ResponseFields,
    };

    use super::*;

    fn listen(options: HttpOptions) -> mcplink::server::http::HttpServer {
        let server = new_server().build().unwrap();
        server.listen_http("127.0.0.1:0", options).unwrap()
    }

    #[test]
    fn who_lets_requests_in() {
        for revision in ERAS {
            let armed = Arc::new(AtomicBool::new(false));
            let trap = Arc::clone(&armed);
            let authenticate = move |_: &HttpRequest<'_>| match trap.load(Ordering::SeqCst) {
                true => on_purpose(),
                false => Ok::<_, Denied>(Principal::new("ada")),
            };
            let listening = listen(HttpOptions::new().authenticate(authenticate));
            let http = Http::new(&listening.url()).unwrap();
            let client = new_client().revisions(&[revision]).connect(http).unwrap();
            goes_on(&client);
            armed.store(true, Ordering::SeqCst);
            let options = CallOptions::new().timeout(LONG);
            let error = client
                .call_tool_with("say", &json!({}), options)
                .unwrap_err();
            assert!(
                error.http_status() == Some(503) && error.is_retryable(),
                "{error}"
            );
            armed.store(false, Ordering::SeqCst);
            goes_on(&client);
            client.close();
            listening.close();
        }
    }

    /// Panics at one of its doors, once it is armed.
    struct Trap(&'static str, Arc<AtomicBool>);

    impl Trap {
        fn meet(&self, door: &str) {
            if self.0 == door && self.1.swap(false, Ordering::SeqCst) {
                on_purpose()
            }
        }
    }

    impl Authorizer for Trap {
        fn authorize(
            &self,
            _: &OutgoingRequest<'_>,
            _: &CredentialWait,
        ) -> mcplink::Result<Credentials> {
            self.meet("authorize");
            Ok(Credentials::default())
        }

        fn refused(
            &self,
            _: &OutgoingRequest<'_>,
            _: &ResponseFields<'_>,
            _: &CredentialWait,
        ) -> mcplink::Result<AuthorizerDecision> {
            Ok(AuthorizerDecision::GiveUp)
        }

        fn generation(&self, _: &str) -> u64 {
            self.meet("generation");
            0
        }

        fn accepted(&self, _: &OutgoingRequest<'_>, _: &ResponseFields<'_>) {
            self.meet("accepted");
        }
    }

    #[test]
    fn who_has_the_credentials() {
        for revision in ERAS {
            for door in ["authorize", "generation", "accepted"] {
                let armed = Arc::new(AtomicBool::new(false));
                let listening = listen(HttpOptions::new());
                let http = Http::new(&listening.url()).unwrap();
                let http = http.authorizer(Trap(door, Arc::clone(&armed)));
                let client = new_client().revisions(&[revision]).connect(http).unwrap();
                goes_on(&client);
                for _ in 0..3 {
                    armed.store(true, Ordering::SeqCst);
                    let options = CallOptions::new().timeout(LONG);
                    let called =
                        AssertUnwindSafe(|| client.call_tool_with("say", &json!({}), options));
                    // On the thread that calls, unless another one meets it first: the stream of a session.
                    _ = catch_unwind(called);
                    armed.store(false, Ordering::SeqCst);
                    goes_on(&client);
                }
                client.close();
                listening.close();
            }
        }
    }
}
