//! Clients over HTTPS: who is trusted, what goes wrong, and that nothing else is different.

use std::net::TcpListener;
use std::sync::{Mutex, mpsc};
use std::time::Duration;

use mcplink::client::CallOptions;
use mcplink::client::Event;
use mcplink::protocol::CancelToken;
use mcplink::schema::{ProtocolVersion, SubscriptionFilter, Tool};
use mcplink::server::http::{HttpOptions, HttpServer};
use mcplink::server::{Context, Server};
use mcplink::transport::http::Http;
use mcplink::{Error, ErrorKind};
use serde_json::{Value, json};

use crate::common::{LONG, Witness};
#[cfg(any(target_os = "linux", windows))]
use crate::common::{run_alone, system, wait_until};
use crate::front::{CLIENT, ELSEWHERE, EXPIRED, Front, OTHER_ROOT, ROOT, SERVER};
use crate::stub::{asker, call, call_with};

const REVISIONS: [ProtocolVersion; 2] = [ProtocolVersion::V2025_11_25, ProtocolVersion::LATEST];

struct Served {
    server: Server,
    http: HttpServer,
    /// Tells when the handler of the tool that waits has begun, and when it was cancelled.
    waits: mpsc::Receiver<&'static str>,
}

fn serve() -> Served {
    let (told, waits) = mpsc::channel();
    let told = Mutex::new(told);
    let server = Server::builder("s", "1")
        .tool_with(Tool::new("echo"), |args: Value, _: &Context| {
            args.to_string()
        })
        .tool_with(Tool::new("steps"), |_: Value, context: &Context| {
            for step in 1..=3 {
                context.progress(f64::from(step), Some(3.0), None);
            }
            "done"
        })
        .tool_with(Tool::new("wait"), move |_: Value, context: &Context| {
            let told = told.lock().unwrap();
            told.send("begun").unwrap();
            if context.cancel_token().wait(LONG) {
                told.send("cancelled").unwrap();
            }
            "late"
        })
        .build()
        .unwrap();
    let http = server
        .listen_http("127.0.0.1:0", HttpOptions::default())
        .unwrap();
    Served {
        server,
        http,
        waits,
    }
}

/// The error of a client that can't get through: nothing of a request reached the server.
fn refused(http: Http, front: &Front) -> Error {
    let error = asker().connect(http).unwrap_err();
    assert!(!error.was_sent(), "{error}");
    let said = error.to_string();
    assert!(
        said.contains(&front.url()) && !said.contains("unknown"),
        "{said}"
    );
    assert_eq!(front.handed_on(), 0, "{said}");
    error
}

#[test]
fn calls_come_through() {
    let served = serve();
    let front = Front::new(SERVER, served.http.local_addr().unwrap());
    for revision in REVISIONS {
        let client = asker()
            .revisions(&[revision])
            .connect(front.http())
            .unwrap();
        for _ in 0..3 {
            assert_eq!(call(&client, "echo").unwrap(), "{}", "{revision}");
        }
        let text = "ä".repeat(200_000);
        let result = client.call_tool("echo", &json!({ "text": text })).unwrap();
        let echoed: Value = serde_json::from_str(result.content[0].as_text().unwrap()).unwrap();
        assert_eq!(echoed["text"], *text);
        let mut steps = Vec::new();
        let options = CallOptions::new().on_progress(|step| steps.push(step.progress));
        assert_eq!(call_with(&client, "steps", options).unwrap(), "done");
        assert_eq!(steps, [1.0, 2.0, 3.0], "{revision}");
        client.close();
    }
    assert_eq!(served.http.sessions(), 0, "the session was ended");
    // A connection is kept for the next call.
    assert!(front.connections() <= 6, "{}", front.connections());
}

#[test]
fn a_server_by_its_name_is_trusted_as_well() {
    let served = serve();
    let front = Front::new(SERVER, served.http.local_addr().unwrap());
    let url = front.url().replace("127.0.0.1", "localhost");
    let http = Http::new(&url).unwrap();
    // Several roots, in one text or one after the other.
    for http in [
        http.root_certificates([OTHER_ROOT, ROOT].concat()),
        front.http().root_certificates(OTHER_ROOT),
    ] {
        let client = asker().connect(http).unwrap();
        assert_eq!(call(&client, "echo").unwrap(), "{}");
    }
}

#[test]
fn who_is_not_trusted_is_sent_nothing() {
    let served = serve();
    let target = served.http.local_addr().unwrap();
    let check = |identity: &[u8], roots: Option<&[u8]>, text: &str| {
        let front = Front::new(identity, target);
        let http = Http::new(&front.url()).unwrap().bearer("t0k3n-value");
        let http = match roots {
            Some(roots) => http.root_certificates(roots),
            None => http,
        };
        let error = refused(http, &front);
        assert_eq!(error.kind(), ErrorKind::Io);
        let said = error.to_string();
        assert!(said.contains(text), "{said}");
    };
    check(SERVER, None, "root_certificates");
    check(SERVER, Some(OTHER_ROOT), "root_certificates");
    check(ELSEWHERE, Some(ROOT), "not valid for name");
    check(EXPIRED, Some(ROOT), "expired");
}

#[test]
fn a_certificate_of_the_clients_own_is_shown() {
    let served = serve();
    let front = Front::for_known_clients(SERVER, served.http.local_addr().unwrap());
    let error = refused(front.http(), &front);
    assert_eq!(error.kind(), ErrorKind::Auth, "{error}");
    assert!(error.to_string().contains("client_certificate"), "{error}");
    let client = asker()
        .connect(front.http().client_certificate(CLIENT, CLIENT))
        .unwrap();
    assert_eq!(call(&client, "echo").unwrap(), "{}");
}

#[test]
fn certificates_that_can_not_be_used_are_refused() {
    let url = "https://127.0.0.1:9/mcp";
    let broken = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    let refused = |set: &dyn Fn(Http) -> Http, text: &str| {
        let error = asker().connect(set(Http::new(url).unwrap())).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        assert!(error.to_string().contains(text), "{error}");
    };
    refused(
        &|http| http.root_certificates(""),
        "root certificates have no",
    );
    refused(
        &|http| http.root_certificates("/etc/ca.pem"),
        "expected PEM",
    );
    refused(
        &|http| http.root_certificates("-----BEGIN CERTIFICATE-----\n!"),
        "PEM",
    );
    refused(&|http| http.root_certificates(broken), "can't be read");
    refused(
        &|http| http.client_certificate("", CLIENT),
        "client's certificates have no",
    );
    refused(
        &|http| http.client_certificate(CLIENT, ""),
        "a key that can't be used",
    );
    refused(
        &|http| http.client_certificate(CLIENT, SERVER),
        "a key that can't be used",
    );
    let http = Http::new(url).unwrap().client_certificate(CLIENT, CLIENT);
    let key = String::from_utf8_lossy(CLIENT);
    let line = key.lines().rev().nth(2).unwrap();
    assert!(!format!("{http:?}").contains(line));
}

#[test]
fn a_server_without_tls_is_told_from_others() {
    let served = serve();
    let url = served.http.url().replace("http://", "https://");
    let error = asker().connect(Http::new(&url).unwrap()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    assert!(!error.was_sent());
    assert!(error.to_string().contains("not TLS"), "{error}");
}

// Must not happen: connecting, probing, closing and token requests have no deadline.
#[test]
fn a_handshake_that_gets_no_answer_ends_in_time() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}/mcp", listener.local_addr().unwrap());
    let timeout = Duration::from_millis(300);
    let http = || Http::new(&url).unwrap().connect_timeout(timeout);
    let error = asker().connect(http()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    assert!(!error.was_sent(), "{error}");
    assert!(error.to_string().contains("connect_timeout"), "{error}");
    // A server that hangs up in the middle of it.
    let (taken, _) = listener.accept().unwrap();
    drop(taken);
    std::thread::scope(|scope| {
        scope.spawn(|| drop(listener.accept().unwrap()));
        let error = asker().connect(http()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io, "{error}");
        assert!(!error.was_sent(), "{error}");
    });
}

#[test]
fn changes_are_told_and_silent_calls_cancelled_at_once() {
    let served = serve();
    let front = Front::new(SERVER, served.http.local_addr().unwrap());
    for revision in REVISIONS {
        let client = asker()
            .revisions(&[revision])
            .connect(front.http())
            .unwrap();
        let (told, events) = mpsc::channel();
        let told = Mutex::new(told);
        let filter = SubscriptionFilter::default().tools_list_changed(true);
        let on_event = move |event| _ = told.lock().unwrap().send(event);
        let subscription = client.subscribe(filter, on_event).unwrap();
        served
            .server
            .add_tool(Tool::new("more"), |_: Value, _: &Context| "more")
            .unwrap();
        let event = events.recv_timeout(LONG);
        assert_eq!(event, Ok(Event::ToolsChanged), "{revision}");
        served.server.remove_tool("more");
        let token = CancelToken::new();
        std::thread::scope(|scope| {
            let call =
                scope.spawn(|| call_with(&client, "wait", CallOptions::new().cancel_with(&token)));
            assert_eq!(served.waits.recv_timeout(LONG), Ok("begun"));
            token.cancel();
            let error = call.join().unwrap().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Cancelled);
            let heard = served.waits.recv_timeout(LONG);
            assert_eq!(heard, Ok("cancelled"), "{revision}");
        });
        assert_eq!(call(&client, "echo").unwrap(), "{}");
        drop(subscription);
        let witness = Witness::start();
        client.close();
        witness.expect_at_once();
    }
}

#[test]
#[cfg(any(target_os = "linux", windows))]
fn closing_leaves_no_thread() {
    run_alone("http_client_tls::threads_of_a_client");
}

#[test]
#[ignore = "looks at the threads of its process: run by the test above"]
#[cfg(any(target_os = "linux", windows))]
fn threads_of_a_client() {
    let ours = || system::threads("mcplink");
    let served = serve();
    let front = Front::new(SERVER, served.http.local_addr().unwrap());
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}/mcp", silent.local_addr().unwrap());
    for revision in REVISIONS {
        let client = asker()
            .revisions(&[revision])
            .connect(front.http())
            .unwrap();
        let filter = SubscriptionFilter::default().tools_list_changed(true);
        let subscription = client.subscribe(filter, |_| ()).unwrap();
        assert_eq!(call(&client, "echo").unwrap(), "{}");
        assert!(ours() > 0);
        drop(subscription);
        client.close();
    }
    let http = Http::new(&url).unwrap();
    let http = http.connect_timeout(Duration::from_millis(50));
    asker().connect(http).unwrap_err();
    served.http.close();
    wait_until("no thread is left", || ours() == 0);
}
