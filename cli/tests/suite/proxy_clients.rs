//! `mcplink proxy`: servers see what its clients can do.

use mcplink::client::{CallOptions, Client, ClientBuilder};
use mcplink::schema::{CreateMessageResult, ElicitResult, Root};
use mcplink::transport::http::Http;
use serde_json::{Value, json};

use crate::common::wait_until;
use crate::proxy::{ERAS, builder, call, file, proxy};
use crate::runs::{Running, example, program};

/// A server whose tool `may` returns the capabilities of the client.
fn list_server() -> String {
    format!("list='{}' list", example("list_server").display())
}

/// The capabilities of the client, as the server sees them. Which extensions it has is left out: the
/// proxy awaits tasks itself.
fn seen(client: &Client) -> Value {
    let text = call(client, "may", json!({}));
    let mut seen: Value = serde_json::from_str(&text).expect(&text);
    seen.as_object_mut().unwrap().remove("extensions");
    seen
}

fn with_forms(builder: ClientBuilder) -> ClientBuilder {
    builder.on_elicit(|_, _| ElicitResult::decline())
}

fn with_pages(builder: ClientBuilder) -> ClientBuilder {
    builder.on_elicit_url(|_, _| ElicitResult::decline())
}

fn with_model(builder: ClientBuilder) -> ClientBuilder {
    builder.on_sample(|_, _| Ok(CreateMessageResult::new("model", "text")))
}

fn with_roots(builder: ClientBuilder) -> ClientBuilder {
    builder.on_list_roots(|_| Ok(vec![Root::new("file:///work")]))
}

/// Clients with all kinds of capabilities.
fn clients() -> Vec<fn(ClientBuilder) -> ClientBuilder> {
    vec![
        |builder| builder,
        with_forms,
        with_pages,
        |builder| with_pages(with_forms(builder)),
        with_model,
        |builder| with_model(builder).sampling_tools(true),
        |builder| with_model(builder).sampling_context(true),
        with_roots,
        |builder| {
            let all = with_roots(with_pages(with_forms(builder)));
            with_model(all).sampling_tools(true).sampling_context(true)
        },
    ]
}

#[test]
fn a_server_sees_the_capabilities_of_the_client() {
    let list = list_server();
    for theirs in ERAS {
        for ours in ERAS {
            for (number, make) in clients().into_iter().enumerate() {
                let direct = mcplink::transport::Child::new(example("list_server")).arg("direct");
                let direct = make(builder(ours)).connect(direct).unwrap();
                let mut expected = seen(&direct);
                // A modern client does not report changes of its roots.
                if theirs == "legacy" && ours == "modern" && expected.get("roots").is_some() {
                    expected["roots"] = json!({"listChanged": false});
                }
                if theirs == "modern" && expected.get("roots").is_some() {
                    expected["roots"] = json!({});
                }
                let client = make(builder(ours))
                    .connect(proxy(&["--era", theirs, &list]))
                    .unwrap();
                let during = format!("{theirs} server, {ours} client {number}");
                assert_eq!(seen(&client), expected, "{during}");
            }
        }
    }
}

#[test]
fn roots_of_the_command_line_need_no_capability() {
    let list = list_server();
    for theirs in ERAS {
        for ours in ERAS {
            let client = builder(ours)
                .connect(proxy(&["--era", theirs, "--root", "file:///work", &list]))
                .unwrap();
            let roots = match theirs {
                "legacy" => json!({"listChanged": false}),
                _ => json!({}),
            };
            assert_eq!(seen(&client), json!({"roots": roots}), "{theirs} {ours}");
        }
    }
}

#[test]
fn changes_of_roots_reach_a_legacy_server() {
    let (list, record) = (list_server(), file("roots.jsonl"));
    let words = [
        "--era",
        "legacy",
        "--record",
        record.to_str().unwrap(),
        &list,
    ];
    let client = with_roots(builder("legacy"))
        .connect(proxy(&words))
        .unwrap();
    client.roots_changed().unwrap();
    wait_until("the server was told", || {
        let lines = std::fs::read_to_string(&record).unwrap();
        let mut lines = lines.lines();
        lines.any(|line| line.contains("roots/list_changed") && line.contains(r#""peer":"list""#))
    });
    client.close();
    std::fs::remove_file(record).unwrap();
}

/// The proxy over HTTP, and its URL.
pub(crate) fn served(words: &[&str]) -> (Running, String) {
    let mut command = program();
    command.args(["proxy", "--listen", "0"]).args(words);
    let mut running = Running::of(command);
    let line = running
        .said
        .find(|line| line.as_ref().unwrap().contains("serving at"));
    let line = line.unwrap().unwrap();
    (running, line.rsplit(' ').next().unwrap().to_owned())
}

#[test]
fn a_shared_legacy_server_sees_what_all_clients_have() {
    let list = list_server();
    for ours in ERAS {
        let (_running, url) = served(&["--era", "legacy", &list]);
        let connect = |builder: ClientBuilder| builder.connect(Http::new(&url).unwrap()).unwrap();
        let forms = json!({"form": {}});
        let first = connect(with_model(with_forms(builder(ours))));
        let expected = json!({"elicitation": forms, "sampling": {}});
        assert_eq!(seen(&first), expected, "{ours}");
        // A client with fewer capabilities, and others.
        let second = connect(with_roots(with_pages(with_forms(builder(ours)))));
        assert_eq!(seen(&second), json!({"elicitation": forms}), "{ours}");
        assert_eq!(seen(&first), json!({"elicitation": forms}), "{ours}");
        // The server that was opened anew tells its changes.
        let (_changes, events) = first
            .subscribe_channel(
                mcplink::schema::SubscriptionFilter::default().tools_list_changed(true),
                CallOptions::new(),
            )
            .unwrap();
        call(&first, "grow", json!({}));
        let event = events.recv_timeout(crate::common::LONG).unwrap();
        assert_eq!(event, mcplink::client::Event::ToolsChanged, "{ours}");
    }
}

#[test]
fn a_shared_modern_server_sees_the_capabilities_of_each_client() {
    let list = list_server();
    for ours in ERAS {
        let (_running, url) = served(&["--era", "modern", &list]);
        let connect = |builder: ClientBuilder| builder.connect(Http::new(&url).unwrap()).unwrap();
        let first = connect(with_forms(builder(ours)));
        let second = connect(with_model(builder(ours)).sampling_tools(true));
        for _ in 0..2 {
            let forms = json!({"elicitation": {"form": {}}});
            assert_eq!(seen(&first), forms, "{ours}");
            let model = json!({"sampling": {"tools": {}}});
            assert_eq!(seen(&second), model, "{ours}");
        }
    }
}

/// A call that runs is not disturbed when its server is opened anew for another client.
#[test]
fn a_call_goes_on_while_its_server_is_opened_anew() {
    let path = example("everything_server");
    let server = format!("e='{}' stdio", path.display());
    let (_running, url) = served(&["--era", "legacy", &server]);
    let (asked, questions) = std::sync::mpsc::channel();
    let (answer, answers) = std::sync::mpsc::channel::<()>();
    let answers = std::sync::Mutex::new(answers);
    let first = builder("legacy").on_elicit(move |_, _| {
        asked.send(()).unwrap();
        let answers = answers.lock().unwrap();
        answers.recv_timeout(crate::common::LONG).unwrap();
        ElicitResult::decline()
    });
    let first = first.connect(Http::new(&url).unwrap()).unwrap();
    let message = json!({"message": "Who?"});
    let pending = first
        .start_tool("test_elicitation", &message, CallOptions::new())
        .unwrap();
    questions.recv_timeout(crate::common::LONG).unwrap();
    let second = builder("legacy").connect(Http::new(&url).unwrap()).unwrap();
    call(&second, "echo", json!({"message": "x"}));
    answer.send(()).unwrap();
    let result = serde_json::to_string(&pending.wait().unwrap()).unwrap();
    assert!(result.contains("decline"), "{result}");
}
