//! What a host is told of those whom its server serves: who comes and goes, and what goes wrong with them.

use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use mcplink::client::Client;
use mcplink::protocol::Connection;
use mcplink::schema::{ProtocolVersion, Resource, Tool};
use mcplink::server::{
    Context, HandlerError, Server, ServerBuilder, ServerEvent, ServerEventKind, Session,
    SessionEvent, SessionTransport,
};
use mcplink::transport::{Limits, Transport, memory};
use mcplink::{Error, ErrorKind};
use serde_json::{Value, json};

use crate::common::{Gate, LONG, Script};

type Sessions = Receiver<SessionEvent>;

fn watched() -> (ServerBuilder, Sessions) {
    let (tell, told) = mpsc::channel();
    let builder = Server::builder("s", "1")
        .tool_with(Tool::new("which"), |_: Value, context: &Context| {
            context.connection().to_string()
        })
        .on_session(move |event| _ = tell.send(event));
    (builder, told)
}

fn began(told: &Sessions) -> Session {
    match told.recv_timeout(LONG).unwrap() {
        SessionEvent::Began { session, .. } => (*session).clone(),
        other => panic!("{other:?}"),
    }
}

/// Why the session ended that this one is.
fn ended(told: &Sessions, session: &Session) -> Option<Error> {
    match told.recv_timeout(LONG).unwrap() {
        SessionEvent::Ended {
            session: same,
            error,
            ..
        } => {
            assert_eq!(same.connection, session.connection);
            error
        }
        other => panic!("{other:?}"),
    }
}

/// Nobody is left to tell anything.
fn told_no_more(told: &Sessions) {
    let more = told.recv_timeout(LONG);
    assert_eq!(more.unwrap_err(), mpsc::RecvTimeoutError::Disconnected);
}

fn client(revision: ProtocolVersion, transport: impl Transport + 'static) -> Client {
    let builder = Client::builder("visitor", "7").revisions(&[revision]);
    builder.connect(transport).unwrap()
}

#[test]
fn a_client_comes_and_goes_in_every_revision() {
    for revision in ProtocolVersion::ALL {
        let (builder, told) = watched();
        let server = builder.build().unwrap();
        let (here, there) = memory::pair();
        let connection = server.open_for("ada", there).unwrap();
        let client = client(*revision, here);
        let session = began(&told);
        assert_eq!(session.transport, SessionTransport::Stream);
        assert_eq!(session.revision, *revision);
        assert_eq!(session.peer, connection.peer().name());
        let info = session.client.clone().unwrap();
        assert_eq!((&*info.name, &*info.version), ("visitor", "7"));
        assert_eq!(session.principal.as_ref().unwrap().name(), "ada");
        let result = client.call_tool("which", &json!({})).unwrap();
        let said = serde_json::to_value(&result.content).unwrap();
        assert_eq!(said[0]["text"], session.connection.to_string());
        client.close();
        let error = ended(&told, &session).expect("the client left");
        assert_eq!(error.kind(), ErrorKind::Closed, "{error}");
        drop((connection, server));
        told_no_more(&told);
    }
}

#[test]
fn a_connection_that_is_closed_here_ends_without_a_reason() {
    let (builder, told) = watched();
    let server = builder.build().unwrap();
    let (here, there) = memory::pair();
    let connection = server.open(there).unwrap();
    let _client = client(ProtocolVersion::LATEST, here);
    let session = began(&told);
    assert!(session.principal.is_none());
    assert_eq!(server.number_of(&connection), Some(session.connection));
    let another = Server::builder("another", "1").build().unwrap();
    assert_eq!(another.number_of(&connection), None);
    connection.close();
    // Before closing returns.
    match told.try_recv().unwrap() {
        SessionEvent::Ended { error: None, .. } => {}
        other => panic!("{other:?}"),
    }
    drop((connection, server));
    told_no_more(&told);
}

#[test]
fn who_says_nothing_of_use_never_came() {
    let (builder, told) = watched();
    let server = builder.build().unwrap();
    let (here, there) = memory::pair();
    let connection = server.open(there).unwrap();
    let mut script = Script::open(here);
    script.request(1, "tools/list");
    assert!(script.receive()["error"].is_object());
    script.request(2, "ping");
    script.receive();
    script.request_with(3, "initialize", &json!({}));
    assert!(script.receive()["error"].is_object());
    script.leave();
    connection.wait();
    drop((connection, server));
    told_no_more(&told);
}

#[test]
fn the_hook_may_close_what_it_is_told_of_and_panic() {
    let (tell, told) = mpsc::channel::<Connection>();
    let told = std::sync::Mutex::new(told);
    let server = Server::builder("s", "1")
        .on_session(move |event| {
            if let SessionEvent::Began { .. } = event {
                let connection = told.lock().unwrap().recv_timeout(LONG).unwrap();
                connection.close();
            }
            panic!("a test panics");
        })
        .build()
        .unwrap();
    for _ in 0..3 {
        let (here, there) = memory::pair();
        tell.send(server.open(there).unwrap()).unwrap();
        let mut script = Script::open(here);
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}});
        script.request_with(1, "initialize", &params);
        while script.next().is_some() {}
    }
}

#[cfg(feature = "http-server")]
mod over_http {
    use super::*;
    use crate::web::{Web, initialize};
    use mcplink::server::Principal;
    use mcplink::server::http::{Denied, HttpOptions};

    const LEGACY: ProtocolVersion = ProtocolVersion::V2025_11_25;

    #[test]
    fn sessions_come_and_go_and_requests_without_one_do_not() {
        let (builder, told) = watched();
        let server = builder.build().unwrap();
        let options = HttpOptions::new().authenticate(|request| match request.value("User") {
            Some(user) => Ok(Principal::new(String::from_utf8_lossy(user))),
            None => Err(Denied::forbidden()),
        });
        let web = Web::with(&server, options);
        let ada = [("User", "ada")];
        web.modern_as("tools/list", json!({}), json!({}), &ada)
            .result();
        let first = web.session_with(LEGACY, json!({}), &ada);
        let session = began(&told);
        assert_eq!(session.transport, SessionTransport::Http);
        assert_eq!(session.revision, LEGACY);
        assert_eq!(session.principal.as_ref().unwrap().name(), "ada");
        assert!(session.peer.starts_with("HTTP client"), "{}", session.peer);
        assert_eq!(first.delete().status(), 200);
        let error = ended(&told, &session).expect("the client ended it");
        assert_eq!(error.to_string(), "the client has ended its session");

        _ = web.session_with(LEGACY, json!({}), &ada);
        let session = began(&told);
        drop(web);
        assert!(ended(&told, &session).is_none());
        drop(server);
        told_no_more(&told);
    }

    #[test]
    fn a_session_that_nobody_uses_ends_for_that_reason() {
        let (builder, told) = watched();
        let server = builder.build().unwrap();
        let options = HttpOptions::new().max_sessions(1);
        let web = Web::with(&server, options.session_idle(Duration::ZERO));
        let opening = initialize(1, LEGACY, json!({}));
        assert_eq!(web.post(&[], &opening).status(), 200);
        let session = began(&told);
        let until = Instant::now() + LONG;
        // A session whose answer has just been read may still be busy with having sent it.
        while web.post(&[], &opening).status() != 200 {
            assert!(Instant::now() < until, "an idle session makes room");
        }
        let error = ended(&told, &session).expect("a reason");
        assert!(error.to_string().contains("session_idle"), "{error}");
    }

    #[test]
    fn who_is_not_let_in_is_told_without_a_connection() {
        let (builder, events) = troubled();
        let server = builder.build().unwrap();
        let options = HttpOptions::new().authenticate(|request| {
            let user = request.value("User").ok_or_else(Denied::forbidden)?;
            Ok(Principal::new(String::from_utf8_lossy(user)))
        });
        let web = Web::with(&server, options);
        let tried = [
            web.modern_as(
                "tools/list",
                json!({}),
                json!({}),
                &[("Host", "evil.example")],
            ),
            web.modern_as(
                "tools/list",
                json!({}),
                json!({}),
                &[("Origin", "https://evil.example"), ("User", "ada")],
            ),
            web.modern_as("tools/list", json!({}), json!({}), &[]),
        ];
        for answer in tried {
            assert_eq!(answer.status(), 403);
            let event = next(&events, ServerEventKind::Denied);
            assert_eq!(event.connection, None);
            assert!(event.peer.starts_with("HTTP client"), "{}", event.peer);
        }
        let answer = web.send("POST", "/mcp", &[("User", "ada")], "no JSON");
        assert_eq!(answer.status(), 400);
        next(&events, ServerEventKind::Malformed);
        drop((web, server));
        assert!(events.recv_timeout(LONG).is_err(), "told of nothing else");
    }

    #[test]
    fn sessions_that_are_too_many_are_told() {
        let (builder, events) = troubled();
        let server = builder.build().unwrap();
        let web = Web::with(&server, HttpOptions::new().max_sessions(1));
        let session = web.session(LEGACY);
        // It does not give way.
        assert_eq!(session.get(None).status(), 200);
        let one_more = initialize(9, LEGACY, json!({}));
        assert_eq!(web.post(&[], &one_more).status(), 503);
        let event = next(&events, ServerEventKind::Busy);
        assert!(event.text.contains("max_sessions"), "{}", event.text);
    }
}

fn troubled() -> (ServerBuilder, Receiver<ServerEvent>) {
    let (tell, told) = mpsc::channel();
    let builder = Server::builder("s", "1").on_event(move |event| _ = tell.send(event.clone()));
    (builder, told)
}

fn next(events: &Receiver<ServerEvent>, kind: ServerEventKind) -> ServerEvent {
    let event = events.recv_timeout(LONG).unwrap();
    assert_eq!(event.kind, kind, "{event:?}");
    event
}

#[test]
fn trouble_on_a_connection_is_told_by_its_kind() {
    let gate = Gate::default();
    let (builder, events) = troubled();
    let waiting = gate.clone();
    let mut limits = Limits::default();
    (limits.max_requests, limits.max_message_bytes) = (1, 10_000);
    let server = builder
        .limits(limits)
        .tool_with(Tool::new("wait"), move |_: Value, _: &Context| {
            waiting.pass();
            "done"
        })
        .tool_with(Tool::new("panic"), |_: Value, _: &Context| -> String {
            panic!("a test panics")
        })
        .resource(Resource::new("a:b", "b"), |_, _| {
            Err::<String, _>(HandlerError::from(Error::new(
                ErrorKind::Io,
                "the disk is full",
            )))
        })
        .build()
        .unwrap();
    let (here, there) = memory::pair();
    let connection = server.open(there).unwrap();
    let mut script = Script::open(here);
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}});
    script.request_with(1, "initialize", &params);
    script.receive();

    script.send_bytes(b"no JSON".to_vec());
    script.receive();
    let event = next(&events, ServerEventKind::Malformed);
    assert_eq!((event.connection, event.method), (Some(0), None));
    assert_eq!(event.peer, connection.peer().name());

    script.request_with(
        2,
        "tools/call",
        &json!({"name": "wait", "filler": "x".repeat(10_000)}),
    );
    script.receive();
    let event = next(&events, ServerEventKind::TooLong);
    assert!(event.text.contains("max_message_bytes"), "{}", event.text);

    script.request_with(3, "tools/call", &json!({"name": "wait"}));
    gate.wait_for(1);
    script.request_with(4, "tools/call", &json!({"name": "wait"}));
    script.receive();
    let event = next(&events, ServerEventKind::Busy);
    assert_eq!(event.method.as_deref(), Some("tools/call"));
    gate.open();
    script.receive();

    script.request_with(5, "tools/call", &json!({"name": "panic"}));
    script.receive();
    let event = next(&events, ServerEventKind::HandlerFailed);
    assert_eq!(event.method.as_deref(), Some("tools/call"));
    assert!(
        event.text.contains("its handler panicked"),
        "{}",
        event.text
    );

    script.request_with(6, "resources/read", &json!({"uri": "a:b"}));
    script.receive();
    let event = next(&events, ServerEventKind::HandlerFailed);
    assert!(event.text.contains("the disk is full"), "{}", event.text);

    script.request_with(7, "tools/call", &json!({"name": "unknown"}));
    script.receive();
    drop((connection, server));
    assert!(
        events.recv_timeout(LONG).is_err(),
        "a client's own mistake is none"
    );
}

#[test]
fn a_hook_for_trouble_that_panics_harms_nothing() {
    let builder = Server::builder("s", "1").on_event(|_| panic!("a test panics"));
    let server = builder.build().unwrap();
    let (here, there) = memory::pair();
    let _connection = server.open(there).unwrap();
    let mut script = Script::open(here);
    script.send_bytes(b"no JSON".to_vec());
    assert_eq!(script.receive()["error"]["code"], -32700);
    script.expect_silence();
    script.request(1, "ping");
    assert_eq!(script.receive()["id"], 1);
}
