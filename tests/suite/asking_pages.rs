//! Pages that a server sends the user to: ids, completion, and who it is that comes back.

use std::collections::HashMap;
use std::net::TcpListener;
use std::sync::{Arc, Mutex, mpsc};

use mcplink::client::CallOptions;
use mcplink::client::{Client, ClientBuilder};
use mcplink::schema::{
    ElicitRequestURLParams, ElicitResult, ProtocolVersion, Tool, URLElicitationRequiredError,
};
use mcplink::server::{Context, HandlerError, Server};
use mcplink::transport::{Tap, memory};
use mcplink::{ErrorCode, RpcError};
use serde_json::{Value, json};

use crate::common::{LONG, Script};
use crate::played::{play_client, play_on};

const LEGACY: ProtocolVersion = ProtocolVersion::V2025_11_25;
const MODERN: ProtocolVersion = ProtocolVersion::V2026_07_28;

fn pages() -> Value {
    json!({ "elicitation": { "url": {} } })
}

fn page(url: &str) -> ElicitRequestURLParams {
    ElicitRequestURLParams::new("Sign in", url)
}

/// A server whose tool `sign_in` asks for a page, under an id of its own or none.
fn signing_in(id: Option<&'static str>) -> Server {
    let tool = move |_: Value, context: &Context| -> Result<String, HandlerError> {
        let mut page = page("https://example.com/");
        page.elicitation_id = id.map(str::to_owned);
        Ok(format!("{:?}", context.elicit("page", page.into())?.action))
    };
    let server = Server::builder("pages", "1.0").tool_with(Tool::new("sign_in"), tool);
    server.build().unwrap()
}

// L-ELIC-S-11
#[test]
fn every_page_of_2025_11_25_has_an_id_of_its_own() {
    let server = signing_in(None);
    let mut ids = Vec::new();
    for _ in 0..2 {
        let mut client = play_client(&server, LEGACY, pages());
        for _ in 0..2 {
            let question = client.call("sign_in");
            assert_eq!(question["method"], "elicitation/create", "{question}");
            let mut params = question["params"].clone();
            let id = params.as_object_mut().unwrap().remove("elicitationId");
            ids.push(id.unwrap().as_str().unwrap().to_owned());
            assert_eq!(
                params,
                json!({ "mode": "url", "message": "Sign in", "url": "https://example.com/" })
            );
        }
    }
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 4, "{ids:?}");
    assert!(ids.iter().all(|id| id.len() >= 20), "{ids:?}");
}

// L-ELIC-S-14, L-ELIC-S-15
#[test]
fn only_the_client_that_was_sent_to_a_page_is_told_that_it_is_done() {
    let server = signing_in(Some("page 1"));
    let mut other = play_client(&server, LEGACY, pages());
    let mut client = play_client(&server, LEGACY, pages());
    let question = client.call("sign_in");
    client
        .script
        .answer(&question, &json!({ "action": "accept" }));
    assert_eq!(
        client.script.receive()["result"]["content"][0]["text"],
        "Accept"
    );
    assert!(!server.elicitation_complete("page 2").unwrap());
    assert!(server.elicitation_complete("page 1").unwrap());
    let told = client.script.receive();
    assert_eq!(told["method"], "notifications/elicitation/complete");
    assert_eq!(told["params"], json!({ "elicitationId": "page 1" }));
    assert!(told.get("id").is_none());
    assert!(
        !server.elicitation_complete("page 1").unwrap(),
        "told twice"
    );
    client.script.expect_silence();
    other.script.expect_silence();

    // A modern client asks again by itself, and one that has gone is not told.
    let mut modern = play_client(&server, MODERN, pages());
    modern.call("sign_in");
    assert!(!server.elicitation_complete("page 1").unwrap());
    modern.script.expect_silence();
    let mut leaving = play_client(&server, LEGACY, pages());
    leaving.call("sign_in");
    leaving.serving.close();
    assert!(!server.elicitation_complete("page 1").unwrap());
}

/// A server whose tool ends the call with an error.
fn demanding(error: impl Fn() -> RpcError + Send + Sync + 'static) -> Server {
    let tool = move |_: Value, _: &Context| -> Result<String, HandlerError> { Err(error().into()) };
    let server = Server::builder("pages", "1.0").tool_with(Tool::new("sign_in"), tool);
    server.build().unwrap()
}

fn demand() -> RpcError {
    let page = page("https://example.com/").elicitation_id("page 1");
    let error = URLElicitationRequiredError::new([page]).unwrap();
    error.to_rpc_error().unwrap()
}

// L-ELIC-S-18, L-ELIC-S-19, L-ELIC-S-20
#[test]
fn pages_are_demanded_by_an_error_only_where_a_client_can_take_it() {
    let server = demanding(demand);
    let mut client = play_client(&server, LEGACY, pages());
    let answer = client.call("sign_in");
    assert_eq!(answer["error"]["code"], -32042);
    let page = json!({
        "mode": "url", "message": "Sign in", "url": "https://example.com/", "elicitationId": "page 1",
    });
    assert_eq!(answer["error"]["data"], json!({ "elicitations": [page] }));
    assert!(server.elicitation_complete("page 1").unwrap());
    let told = client.script.receive();
    assert_eq!(told["params"], json!({ "elicitationId": "page 1" }));

    for (revision, declared) in [
        (LEGACY, json!({ "elicitation": {} })),
        (ProtocolVersion::V2025_06_18, pages()),
        (MODERN, pages()),
    ] {
        let answer = play_client(&server, revision, declared).call("sign_in");
        assert_eq!(answer["error"]["code"], -32600, "{revision}: {answer}");
        assert!(answer["error"].get("data").is_none(), "{answer}");
    }
    // Without pages it is not that error, whatever its code.
    let server = demanding(|| RpcError::new(ErrorCode::URL_ELICITATION_REQUIRED, "pages!"));
    let answer = play_client(&server, LEGACY, pages()).call("sign_in");
    assert_eq!(answer["error"]["code"], -32603, "{answer}");
    // A page that is merely asked for does not end the request.
    let question = play_client(&signing_in(None), LEGACY, pages()).call("sign_in");
    assert_eq!(question["method"], "elicitation/create", "{question}");
}

fn connect(
    server: &Server,
    client: ClientBuilder,
    revision: ProtocolVersion,
) -> (mcplink::protocol::Connection, Client) {
    let (here, there) = memory::pair();
    let serving = server.open(there).unwrap();
    (
        serving,
        client.revisions(&[revision]).connect(here).unwrap(),
    )
}

// L-ELIC-C-13, L-ELIC-C-16: the client's side, with a demanded page and one that was asked for.
#[test]
fn a_client_hears_once_of_pages_that_it_was_sent_to_and_of_no_others() {
    let odd = "{\"not\": \"for me\"} \u{1f980}";
    let (told, heard) = mpsc::channel();
    let hears = || {
        let told = told.clone();
        Client::builder("c", "1")
            .on_elicitation_complete(move |id| told.send(id.to_owned()).unwrap())
    };
    let asked = signing_in(Some("{\"not\": \"for me\"} \u{1f980}"));
    let client = hears().on_elicit_url(move |page, _| {
        assert_eq!(page.elicitation_id.as_deref(), Some(odd));
        ElicitResult::new(mcplink::schema::ElicitAction::Accept)
    });
    let (serving, client) = connect(&asked, client, LEGACY);
    client.call_tool("sign_in", &json!({})).unwrap();
    let complete = |id: &str| {
        let params = json!({ "elicitationId": id });
        let peer = serving.peer();
        peer.notify("notifications/elicitation/complete", &params)
            .unwrap();
    };
    complete("unknown");
    complete(odd);
    complete(odd);
    serving
        .peer()
        .notify(
            "notifications/elicitation/complete",
            &json!({ "elicitationId": 7 }),
        )
        .unwrap();
    complete("unknown");
    assert_eq!(heard.recv_timeout(LONG).unwrap(), odd);
    // What was read before the answer has been handed out, or never will be.
    client.list_tools().unwrap();

    let server = demanding(demand);
    let sees = hears().on_elicit_url(|_, _| ElicitResult::decline());
    let (_serving, client) = connect(&server, sees, LEGACY);
    let error = client.call_tool("sign_in", &json!({})).unwrap_err();
    let demanded = URLElicitationRequiredError::of(error.rpc().unwrap()).unwrap();
    assert_eq!(demanded.elicitations[0].host(), Some("example.com"));
    server.elicitation_complete("page 1").unwrap();
    assert_eq!(heard.recv_timeout(LONG).unwrap(), "page 1");
    assert!(heard.try_recv().is_err(), "an unknown page, or one twice");
}

// M-ELIC-C-39, M-ELIC-C-40, L-ELIC-C-38, L-ELIC-C-39
#[test]
fn nobody_visits_a_page_for_the_user() {
    let web = TcpListener::bind("127.0.0.1:0").unwrap();
    web.set_nonblocking(true).unwrap();
    let url = format!("http://{}/sign-in", web.local_addr().unwrap());
    let asked = url.clone();
    let tool = move |_: Value, context: &Context| -> Result<String, HandlerError> {
        let page = page(&asked).elicitation_id("1");
        Ok(format!("{:?}", context.elicit("page", page.into())?.action))
    };
    let server = Server::builder("pages", "1.0").tool_with(Tool::new("sign_in"), tool);
    let server = server.build().unwrap();
    for revision in [LEGACY, MODERN] {
        for answer in [
            ElicitResult::decline(),
            ElicitResult::new(mcplink::schema::ElicitAction::Accept),
        ] {
            let expected = format!("{:?}", answer.action);
            let url = url.clone();
            // M-ELIC-C-06, M-ELIC-C-41, L-ELIC-C-40: it is the handler that gets the whole address and its host, and decides.
            let client = Client::builder("c", "1").on_elicit_url(move |page, by| {
                assert_eq!(
                    (page.url.as_str(), page.host()),
                    (url.as_str(), Some("127.0.0.1"))
                );
                assert_eq!(
                    (page.message.as_str(), by.server_name()),
                    ("Sign in", "pages")
                );
                answer.clone()
            });
            let (_serving, client) = connect(&server, client, revision);
            let result = client.call_tool("sign_in", &json!({})).unwrap();
            assert_eq!(result.content[0].as_text(), Some(&*expected));
        }
    }
    let visit = web.accept().map(drop).unwrap_err();
    assert_eq!(visit.kind(), std::io::ErrorKind::WouldBlock);
}

/// A web page on which users sign in with a third party, as a server's author would write it.
#[derive(Default)]
struct SignIn {
    /// Whose sign-in a page is, by its id.
    started: HashMap<String, String>,
    /// What the third party gave, by user.
    tokens: HashMap<String, String>,
}

impl SignIn {
    /// `user` is who the web page knows the visitor to be, by its own means. Returns the id of what is done.
    fn visit(&mut self, url: &str, user: &str) -> Option<String> {
        let (_, id) = url.split_once("?id=")?;
        if self.started.get(id)? != user {
            return None;
        }
        self.started.remove(id);
        self.tokens
            .insert(user.to_owned(), "t0ken of the third party".to_owned());
        Some(id.to_owned())
    }
}

// M-ELIC-S-02, M-ELIC-S-20, M-ELIC-S-22, M-ELIC-S-24, M-ELIC-S-27, M-ELIC-S-34, M-ELIC-S-35, M-ELIC-S-46, M-ELIC-S-50, M-ELIC-S-51,
// M-ELIC-S-52, L-ELIC-S-02, L-ELIC-S-21, L-ELIC-S-22, L-ELIC-S-24, L-ELIC-S-26, L-ELIC-S-34, L-ELIC-S-43, L-ELIC-S-47
#[test]
fn a_sign_in_is_finished_by_who_began_it_and_the_client_learns_nothing() {
    for revision in [LEGACY, MODERN] {
        let sign_in = Arc::new(Mutex::new(SignIn::default()));
        let service = Arc::clone(&sign_in);
        let tool = move |_: Value, context: &Context| -> Result<String, HandlerError> {
            let user = context.principal().expect("served for a user");
            if service.lock().unwrap().tokens.contains_key(user) {
                return Ok(format!("the files of {user}"));
            }
            let started = service.lock().unwrap().started.len();
            // A server takes a random text; its length and the look-up are what keeps others out.
            let id = context.once("id", || format!("{started}-4c8f0e21d7"))?;
            let url = format!("https://example.com/sign-in?id={id}");
            service
                .lock()
                .unwrap()
                .started
                .insert(id.clone(), user.to_owned());
            let page = page(&url).elicitation_id(id);
            let answer = context.elicit("sign in", page.into())?;
            Ok(format!(
                "{:?}: call again when you have signed in",
                answer.action
            ))
        };
        let server = Server::builder("files", "1.0").tool_with(Tool::new("files"), tool);
        let server = server.build().unwrap();

        let wire = Arc::new(Mutex::new(String::new()));
        let tapped = Arc::clone(&wire);
        let play = |user: &str| {
            let tapped = Arc::clone(&tapped);
            let (ours, theirs) = memory::pair();
            let ours = Tap::new(ours, move |message| {
                tapped.lock().unwrap().push_str(&message.text_lossy());
            });
            let serving = server.open_for(user, ours).unwrap();
            // Both clients call themselves the same.
            play_on(serving, Script::open(theirs), revision, pages())
        };
        let (mut ada, mut mallory) = (play("ada"), play("mallory"));
        let asked = ada.call("files");
        let question = match revision.is_modern() {
            true => &asked["result"]["inputRequests"]["sign in"],
            false => &asked,
        };
        let url = question["params"]["url"].as_str().unwrap();
        assert!(!url.contains("ada") && !url.contains("t0ken"), "{url}");

        let visit = |url: &str, user: &str| sign_in.lock().unwrap().visit(url, user);
        assert_eq!(visit(url, "mallory"), None, "another user");
        assert_eq!(visit(&format!("{url}0"), "ada"), None, "another address");
        if revision.is_modern() {
            // M-ELIC-S-30, M-MRTR-S-11: what ada's call knows is good for her only, on whatever connection.
            let stolen = mallory.retry(
                "files",
                &asked,
                json!({ "sign in": { "action": "accept" } }),
            );
            assert_eq!(stolen["error"]["code"], -32602, "{stolen}");
            let mut again = play("ada");
            let told = again.retry(
                "files",
                &asked,
                json!({ "sign in": { "action": "accept" } }),
            );
            assert!(
                told["result"]["content"][0]["text"]
                    .as_str()
                    .unwrap()
                    .contains("Accept"),
                "{told}"
            );
        } else {
            // L-ELIC-S-29: the question is the call's own, and another client's answer to it is none.
            mallory
                .script
                .answer(&asked, &json!({ "action": "accept" }));
            mallory.script.expect_silence();
            ada.script.expect_silence();
            ada.script.answer(&asked, &json!({ "action": "accept" }));
            let told = ada.script.receive();
            assert!(
                told["result"]["content"][0]["text"]
                    .as_str()
                    .unwrap()
                    .contains("Accept"),
                "{told}"
            );
        }
        assert!(
            mallory.call("files").get("error").is_none(),
            "she is asked herself"
        );
        let done = visit(url, "ada").expect("it is hers");
        server.elicitation_complete(&done).unwrap();
        if revision.is_legacy() {
            assert_eq!(ada.script.receive()["params"]["elicitationId"], *done);
        }
        let told = ada.call("files");
        assert_eq!(
            told["result"]["content"][0]["text"], "the files of ada",
            "{told}"
        );
        assert!(
            !wire.lock().unwrap().contains("t0ken"),
            "a secret on its way to the client"
        );
    }
}

// M-ELIC-S-24, L-ELIC-S-26, M-ELIC-B-53: an answer about a page has no room for what was done there.
#[test]
fn nothing_that_was_typed_on_a_page_goes_through_the_client() {
    for revision in [LEGACY, MODERN] {
        let (saw, seen) = mpsc::channel();
        let tool = move |_: Value, context: &Context| -> Result<&'static str, HandlerError> {
            let answer = context.elicit("page", page("https://example.com/").into())?;
            saw.send(answer.content.is_some()).unwrap();
            Ok("done")
        };
        let server = Server::builder("pages", "1.0").tool_with(Tool::new("sign_in"), tool);
        let server = server.build().unwrap();
        let leaking = || ElicitResult::accept(&json!({ "password": "hunter2" })).unwrap();
        let leaks = json!({ "action": "accept", "content": { "password": "hunter2" } });
        let mut client = play_client(&server, revision, pages());
        let asked = client.call("sign_in");
        let told = if revision.is_modern() {
            client.retry("sign_in", &asked, json!({ "page": leaks }))
        } else {
            client.script.answer(&asked, &leaks);
            client.script.receive()
        };
        assert_eq!(told["result"]["content"][0]["text"], "done", "{told}");
        assert!(!seen.recv_timeout(LONG).unwrap());

        // Our own client does not even send it.
        let wire = Arc::new(Mutex::new(String::new()));
        let tapped = Arc::clone(&wire);
        let (here, there) = memory::pair();
        let _serving = server.open(there).unwrap();
        let here = Tap::new(here, move |message| {
            tapped.lock().unwrap().push_str(&message.text_lossy())
        });
        let client = Client::builder("c", "1").on_elicit_url(move |_, _| leaking());
        let client = client.revisions(&[revision]).connect(here).unwrap();
        let options = CallOptions::new().timeout(LONG);
        client
            .call_tool_with("sign_in", &json!({}), options)
            .unwrap();
        assert!(!wire.lock().unwrap().contains("hunter2"));
    }
}
