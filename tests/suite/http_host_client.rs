//! An HTTP client of the host in place of the library's own connections.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use mcplink::client::{CallOptions, Client};
use mcplink::protocol::CancelToken;
use mcplink::transport::http::{
    Authorizer, AuthorizerDecision, CredentialWait, Credentials, Http, HttpClient,
    HttpClientRequest, HttpClientResponse, OutgoingRequest, ResponseFields,
};
use mcplink::{Error, ErrorKind, Result};
use serde_json::json;

use crate::common::LONG;
use crate::hostclient::{HostClient, by_function, read_with};
use crate::stub::{Out, Seen, Stub, asker, call, call_with, discovered, progress, text};

/// Answers tools by what their names say.
fn answer(seen: &Seen, out: &mut Out) {
    match seen.body()["params"]["name"].as_str() {
        Some("json") => out.result(seen, text("done")),
        Some("stream") => {
            out.stream();
            out.event(&progress(seen, 1));
            out.event_result(seen, text("done"));
            out.end();
        }
        Some("head") => out.expect_close(),
        Some("body") => {
            out.raw(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{",
            );
            out.expect_close();
        }
        Some("endless") => {
            out.stream();
            out.event(&progress(seen, 1));
            out.expect_close();
        }
        _ if seen.method == "DELETE" => out.respond("200 OK", &[], ""),
        _ => out.respond("405 Method Not Allowed", &[], ""),
    }
}

/// A client of the server, and its progress of the calls of both kinds.
fn calls_both(stub: &Stub) {
    let host = HostClient::default();
    let http = stub.http().header("X-Tenant", "s3cret-blue");
    let shown = format!("{:?}", http.clone().http_client(host.clone()));
    assert!(shown.contains("has_http_client: true"), "{shown}");
    let client = asker().connect(http.http_client(host.clone())).unwrap();
    for tool in ["json", "stream", "json"] {
        let mut steps = Vec::new();
        let options = CallOptions::new().on_progress(|progress| steps.push(progress.progress));
        assert_eq!(call_with(&client, tool, options).unwrap(), "done");
        let expected: &[f64] = if tool == "stream" { &[1.0] } else { &[] };
        assert_eq!(steps, expected);
    }
    client.close();
    // Every request went through it, and came once.
    let seen = stub.seen();
    let seen_lines = seen.iter();
    let mut seen_lines: Vec<String> = seen_lines
        .map(|seen| format!("{} {}", seen.method, stub.url()))
        .collect();
    let mut sent = host.sent();
    seen_lines.sort();
    sent.sort();
    assert_eq!(seen_lines, sent);
    for seen in &seen {
        assert_eq!(seen.header("x-tenant"), Some("s3cret-blue"));
        assert_eq!(seen.header("accept-encoding"), Some("identity"));
        assert!(seen.header("user-agent").unwrap().starts_with("mcplink/"));
        let length = seen.header("content-length").is_some();
        assert_eq!(length, seen.method == "POST", "{seen:?}");
    }
}

#[test]
fn a_modern_server_is_called_through_it() {
    let stub = Stub::modern(answer);
    calls_both(&stub);
    for seen in stub.seen_asking("tools/call") {
        assert_eq!(seen.header("mcp-method"), Some("tools/call"));
        assert_eq!(seen.header("mcp-protocol-version"), Some("2026-07-28"));
    }
}

#[test]
fn a_session_is_carried_through_it() {
    let stub = Stub::legacy("2025-11-25", answer);
    calls_both(&stub);
    let mut in_session = stub.seen_asking("tools/call");
    assert_eq!(in_session.len(), 3);
    // The session is ended through it, too.
    let ended = stub.seen_by("DELETE");
    assert_eq!(ended.len(), 1);
    in_session.extend(ended);
    for seen in in_session {
        assert_eq!(seen.header("mcp-session-id"), Some("session-1"));
    }
}

#[test]
fn a_deadline_ends_sending_and_reading() {
    let stub = Stub::modern(answer);
    let host = HostClient::default();
    let client = asker().connect(stub.http().http_client(host.clone()));
    let client = client.unwrap();
    for (number, tool) in ["head", "body", "endless"].into_iter().enumerate() {
        let timeout = Duration::from_millis(150);
        let started = Instant::now();
        let error = call_with(&client, tool, CallOptions::new().timeout(timeout)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Timeout, "{tool}: {error}");
        assert!(error.was_sent(), "{tool}");
        assert!(started.elapsed() >= timeout, "{tool}");
        assert_eq!(host.cancelled(), number + 1, "{tool}");
    }
    assert_eq!(call(&client, "json").unwrap(), "done");
    assert_eq!(host.cancelled(), 3, "a finished request is not cancelled");
}

#[test]
fn cancelling_ends_sending_and_reading() {
    let (reached, is_reached) = mpsc::channel();
    let stub = Stub::modern(move |seen, out| {
        _ = reached.send(());
        answer(seen, out);
    });
    let host = HostClient::default();
    let client = asker().connect(stub.http().http_client(host.clone()));
    let client = client.unwrap();
    for (number, tool) in ["head", "body", "endless"].into_iter().enumerate() {
        let token = CancelToken::new();
        let options = || CallOptions::new().timeout(LONG).cancel_with(&token);
        let error = std::thread::scope(|scope| {
            let calling = scope.spawn(|| call_with(&client, tool, options()).unwrap_err());
            is_reached.recv_timeout(LONG).unwrap();
            token.cancel();
            calling.join().unwrap()
        });
        assert_eq!(error.kind(), ErrorKind::Cancelled, "{tool}: {error}");
        assert_eq!(host.cancelled(), number + 1, "{tool}");
    }
    // Closing ends a call, too.
    let options = || CallOptions::new().timeout(LONG);
    std::thread::scope(|scope| {
        let calling = scope.spawn(|| call_with(&client, "endless", options()).unwrap_err());
        is_reached.recv_timeout(LONG).unwrap();
        client.close();
        assert_eq!(calling.join().unwrap().kind(), ErrorKind::Closed);
    });
    assert_eq!(host.cancelled(), 4);
}

/// The response to a request in JSON: to `server/discover`, or else the result of a tool.
fn answered(request: &HttpClientRequest<'_>) -> Result<HttpClientResponse> {
    let asked: serde_json::Value = serde_json::from_slice(request.body()).unwrap();
    let result = match asked["method"].as_str() {
        Some("server/discover") => discovered(),
        _ => text("done"),
    };
    let body = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result }).to_string();
    HttpClientResponse::new(200, io::Cursor::new(body)).header("Content-Type", "application/json")
}

/// A client of the host that does something with tool calls of the name "x"; it answers the rest.
fn connect(
    act: impl Fn(&HttpClientRequest<'_>) -> Result<HttpClientResponse> + Send + Sync + 'static,
) -> Client {
    let client = by_function(move |request| {
        match request.headers().any(|field| field == ("mcp-name", "x")) {
            true => act(request),
            false => answered(request),
        }
    });
    let http = Http::new("https://mcp.example/mcp?key=s3cret").unwrap();
    asker().connect(http.http_client(client)).unwrap()
}

/// The call of "x" fails, and others go on.
fn fails(
    act: impl Fn(&HttpClientRequest<'_>) -> Result<HttpClientResponse> + Send + Sync + 'static,
) -> Error {
    let client = connect(act);
    let options = CallOptions::new().timeout(LONG);
    let error = call_with(&client, "x", options).unwrap_err();
    assert_eq!(call(&client, "other").unwrap(), "done");
    assert!(!error.to_string().contains("s3cret"), "{error}");
    error
}

#[test]
fn a_url_with_tls_needs_no_tls_of_the_library() {
    let client = connect(answered);
    assert_eq!(call(&client, "x").unwrap(), "done");
    #[cfg(not(feature = "tls"))]
    {
        let http = Http::new("https://mcp.example/mcp").unwrap();
        let error = asker().connect(http).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    }
}

#[test]
fn what_a_request_says_of_its_end() {
    let client = connect(|request| {
        // Other threads may look at it.
        let url = std::thread::scope(|scope| scope.spawn(|| request.url()).join().unwrap());
        assert!(url.starts_with("https://mcp.example/mcp?key="), "{url}");
        assert!(!request.is_cancelled());
        assert!(request.allows_address([10, 0, 0, 1].into()));
        assert!(request.deadline().is_some_and(|at| at > Instant::now()));
        // The later function replaces the earlier one.
        request.on_cancel(|| panic!("never called"));
        let (cancel, is_cancelled) = mpsc::channel();
        let here = std::thread::current().id();
        request.on_cancel(move || {
            assert_ne!(std::thread::current().id(), here);
            cancel.send(()).unwrap();
            // A panic of it harms nobody.
            panic!("on purpose");
        });
        is_cancelled.recv_timeout(LONG).unwrap();
        assert!(request.is_cancelled());
        let at_once = Arc::new(AtomicBool::new(false));
        let was_run = Arc::clone(&at_once);
        request.on_cancel(move || was_run.store(true, Ordering::SeqCst));
        assert!(at_once.load(Ordering::SeqCst));
        Err(Error::new(ErrorKind::State, "it was given up"))
    });
    // The deadline thread has survived the panic.
    for _ in 0..2 {
        let options = CallOptions::new().timeout(Duration::from_millis(100));
        let error = call_with(&client, "x", options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    }
    assert_eq!(call(&client, "other").unwrap(), "done");
}

#[test]
fn its_error_is_that_of_the_call() {
    let refuse = || Error::new(ErrorKind::State, "the sandbox forbids it");
    // Nobody says whether it was sent: it may have been.
    for (make, was_sent) in [
        (
            Box::new(refuse) as Box<dyn Fn() -> Error + Send + Sync>,
            true,
        ),
        (Box::new(move || refuse().sent(true)), true),
        (Box::new(move || refuse().sent(false)), false),
    ] {
        let error = fails(move |_| Err(make()));
        assert_eq!(error.kind(), ErrorKind::State);
        let said = error.to_string();
        assert!(said.contains("the sandbox forbids it"), "{said}");
        assert!(said.contains("https://mcp.example/mcp"), "{said}");
        assert_eq!(error.was_sent(), was_sent, "{said}");
    }
    let body = |error: fn() -> io::Error| {
        fails(move |_| {
            HttpClientResponse::new(200, read_with(move |_| Err(error())))
                .header("content-type", "application/json")
        })
    };
    let error = body(|| io::Error::other(Error::new(ErrorKind::Limit, "the quota is used up")));
    assert_eq!(error.kind(), ErrorKind::Limit);
    assert!(error.to_string().contains("the quota is used up"));
    assert!(error.was_sent());
    let error = body(|| io::ErrorKind::ConnectionReset.into());
    assert_eq!(error.kind(), ErrorKind::Closed, "{error}");
    assert!(error.was_sent());
}

#[test]
fn what_it_does_wrong_harms_one_call() {
    let error = fails(|_| panic!("on purpose"));
    assert_eq!((error.kind(), error.was_sent()), (ErrorKind::Io, true));
    assert!(error.to_string().contains("panicked"), "{error}");
    let typed = |response: HttpClientResponse| response.header("content-type", "application/json");
    let error = fails(move |_| {
        typed(HttpClientResponse::new(
            200,
            read_with(|_| panic!("on purpose")),
        ))
    });
    assert_eq!((error.kind(), error.was_sent()), (ErrorKind::Io, true));
    assert!(error.to_string().contains("panicked"), "{error}");
    for status in [0, 99, 1000] {
        let error = fails(move |_| Ok(HttpClientResponse::new(status, io::empty())));
        assert_eq!(error.kind(), ErrorKind::Protocol, "{error}");
        assert!(error.to_string().contains("status"), "{error}");
    }
    // More than it was asked for, again and again: an answer without end.
    let error = fails(move |_| {
        typed(HttpClientResponse::new(
            200,
            read_with(|into| Ok(into.len() + 9)),
        ))
    });
    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
    for (name, value) in [("a b", "x"), ("x", "s3cret\n")] {
        let error = fails(move |_| HttpClientResponse::new(200, io::empty()).header(name, value));
        assert_eq!(
            (error.kind(), error.was_sent()),
            (ErrorKind::Protocol, true)
        );
    }
    let error = fails(|_| {
        let mut response = HttpClientResponse::new(200, io::empty());
        loop {
            response = response.header("x", "y".repeat(1000))?;
        }
    });
    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
    let response = HttpClientResponse::new(200, io::empty()).header("x-key", "s3cret");
    let shown = format!("{:?}", response.unwrap());
    assert!(
        shown.contains("x-key") && !shown.contains("s3cret"),
        "{shown}"
    );
}

/// Offers another token when the first one is refused.
struct Two;

impl Authorizer for Two {
    fn authorize(&self, request: &OutgoingRequest<'_>, _: &CredentialWait) -> Result<Credentials> {
        Credentials::bearer(&format!("s3cret-{}", request.attempt))
    }

    fn refused(
        &self,
        _: &OutgoingRequest<'_>,
        response: &ResponseFields<'_>,
        _: &CredentialWait,
    ) -> Result<AuthorizerDecision> {
        assert_eq!(response.status(), 401);
        assert!(response.values("www-authenticate").eq(["Bearer"]));
        Ok(AuthorizerDecision::Again)
    }
}

#[test]
fn the_library_sees_to_refusals_redirects_and_cookies() {
    let elsewhere = Stub::start(|_, out| out.respond("200 OK", &[], ""));
    let target = elsewhere.url();
    let stub = Stub::modern(move |seen, out| {
        let name = seen.body()["params"]["name"].as_str().unwrap().to_owned();
        match (&*name, &*seen.target) {
            ("401", _) if seen.header("authorization") != Some("Bearer s3cret-1") => {
                out.respond("401 Unauthorized", &[("www-authenticate", "Bearer")], "");
            }
            ("404", _) => out.respond("404 Not Found", &[], "s3cret-0 was it"),
            ("307", "/mcp") => {
                let fields = [("location", "/there"), ("set-cookie", "a=s3cret; path=/")];
                out.respond("307 Temporary Redirect", &fields, "moved");
            }
            ("307", target) => {
                assert_eq!(
                    (target, seen.header("cookie")),
                    ("/there", Some("a=s3cret"))
                );
                out.result(seen, text("done"));
            }
            ("302", _) => out.respond("302 Found", &[("location", &target)], ""),
            _ => out.result(seen, text("done")),
        }
    });
    let host = HostClient::default();
    let http = stub.http().authorizer(Two).http_client(host.clone());
    let client = asker().connect(http).unwrap();
    for tool in ["401", "307"] {
        assert_eq!(call(&client, tool).unwrap(), "done");
    }
    for status in [404, 302] {
        let error = call(&client, &status.to_string()).unwrap_err();
        assert_eq!(error.http_status(), Some(status), "{error}");
        assert!(!error.to_string().contains("s3cret"), "{error}");
    }
    assert_eq!(stub.seen().len(), host.sent().len());
    assert!(elsewhere.seen().is_empty());
}

#[test]
fn settings_that_it_would_ignore_are_refused() {
    let http = || Http::new("http://127.0.0.1:9/mcp").unwrap();
    let refused = |http: Http, setting: &str| {
        let client: Arc<dyn HttpClient> = Arc::new(by_function(|_| panic!("nothing is sent")));
        let error = asker().connect(http.http_client(client)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        assert!(error.to_string().contains(setting), "{error}");
    };
    refused(http().proxy("http://127.0.0.1:8"), "proxy");
    refused(http().proxy_from_environment(), "proxy");
    #[cfg(feature = "tls")]
    {
        let root = include_bytes!("../data/tls/root.pem");
        let own = include_bytes!("../data/tls/client.pem");
        refused(http().root_certificates(root), "root_certificates");
        refused(http().client_certificate(own, own), "client_certificate");
    }
}
