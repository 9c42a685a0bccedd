//! Asking the client during a call: one handler source, every revision.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use mcplink::client::CallOptions;
use mcplink::client::{Client, ClientBuilder};
use mcplink::protocol::{CancelToken, Connection};
use mcplink::schema::{
    CallToolResult, CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams,
    ElicitResult, ElicitSchema, JsonSchema, Prompt, ProtocolVersion, Resource, Root,
    SamplingMessage, Tool,
};
use mcplink::server::{AskError, Context, HandlerError, Server, ServerBuilder, StateKey};
use mcplink::transport::{Limits, memory};
use mcplink::{ErrorCode, ErrorKind};
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_secs(10);
const SINCE_ELICITATION: &[ProtocolVersion] = &[
    ProtocolVersion::V2025_06_18,
    ProtocolVersion::V2025_11_25,
    ProtocolVersion::V2026_07_28,
];

fn form(message: &str) -> ElicitRequestParams {
    let schema =
        r#"{"type":"object","properties":{"value":{"type":"string"}},"required":["value"]}"#;
    ElicitRequestParams::form(message, JsonSchema::parse(schema).unwrap())
}

/// Asks for one text.
fn text_of(context: &Context, key: &str, message: &str) -> Result<String, AskError> {
    let answer = context.elicit(key, form(message))?;
    let content: Option<Value> = answer.read()?;
    Ok(content.map_or_else(
        || "nothing".to_owned(),
        |content| content["value"].as_str().unwrap().to_owned(),
    ))
}

fn server() -> ServerBuilder {
    Server::builder("asking", "1.0")
}

fn client() -> ClientBuilder {
    Client::builder("asked", "1.0")
}

/// Answers each form with "the answer to <message>", and notes what it showed.
fn answering(shown: &Arc<Mutex<Vec<String>>>) -> ClientBuilder {
    let shown = Arc::clone(shown);
    client().on_elicit(move |params, _| {
        shown.lock().unwrap().push(params.message.clone());
        ElicitResult::accept(&json!({ "value": format!("the answer to {}", params.message) }))
            .unwrap()
    })
}

fn connect(
    server: &Server,
    client: ClientBuilder,
    revision: ProtocolVersion,
) -> (Connection, Client) {
    let (here, there) = memory::pair();
    let serving = server.open(there).unwrap();
    (
        serving,
        client.revisions(&[revision]).connect(here).unwrap(),
    )
}

fn call(client: &Client, tool: &str) -> mcplink::Result<CallToolResult> {
    client.call_tool_with(tool, &json!({}), CallOptions::new().timeout(PATIENCE))
}

fn text(result: &CallToolResult) -> &str {
    result.content[0].as_text().unwrap()
}

// Seen in other SDKs: a handler must branch on the protocol revision to ask the user; code before a question runs twice, a payment too.
// Must not happen: answers of earlier rounds are lost.
// M-MRTR-S-01, M-MRTR-C-16, M-MRTR-C-23
#[test]
fn two_dependent_questions_give_the_same_conversation_in_every_revision() {
    let payments = Arc::new(AtomicUsize::new(0));
    let runs = Arc::new(AtomicUsize::new(0));
    let (paid, ran) = (Arc::clone(&payments), Arc::clone(&runs));
    let server = server()
        .tool_with(
            Tool::new("book"),
            move |_: Value, context: &Context| -> Result<String, HandlerError> {
                ran.fetch_add(1, Ordering::SeqCst);
                let receipt = context.once("pay", || paid.fetch_add(1, Ordering::SeqCst))?;
                let name = text_of(context, "name", "name?")?;
                let date = text_of(context, "date", &format!("date for {name}?"))?;
                Ok(format!("{receipt}: {date}"))
            },
        )
        .build()
        .unwrap();
    for (number, &revision) in SINCE_ELICITATION.iter().enumerate() {
        let shown = Arc::new(Mutex::new(Vec::new()));
        let (_serving, client) = connect(&server, answering(&shown), revision);
        let result = call(&client, "book").unwrap();
        let expected = format!("{number}: the answer to date for the answer to name??");
        assert_eq!(text(&result), expected, "{revision}");
        assert_eq!(
            *shown.lock().unwrap(),
            ["name?", "date for the answer to name??"],
            "{revision}"
        );
        assert_eq!(payments.load(Ordering::SeqCst), number + 1, "{revision}");
        assert_eq!(runs.load(Ordering::SeqCst), 3 * (number + 1), "{revision}");
    }
}

// Every revision has sampling and roots. A handler asks for both in one round.
#[test]
fn the_model_and_the_roots_are_asked_in_one_round_in_every_revision() {
    let runs = Arc::new(AtomicUsize::new(0));
    let ran = Arc::clone(&runs);
    let server = server()
        .tool_with(
            Tool::new("look"),
            move |_: Value, context: &Context| -> Result<String, HandlerError> {
                ran.fetch_add(1, Ordering::SeqCst);
                let question =
                    CreateMessageRequestParams::new([SamplingMessage::user("Which one?")], 10);
                let (model, roots) = (
                    context.sample("model", question),
                    context.list_roots("roots"),
                );
                let (model, roots) = (model?, roots?);
                Ok(format!("{} in {}", model.model, roots.roots[0].uri))
            },
        )
        .build()
        .unwrap();
    for (number, &revision) in ProtocolVersion::ALL.iter().enumerate() {
        let client = client()
            .on_sample(|_, _| {
                Ok(CreateMessageResult::new(
                    "a model",
                    SamplingMessage::user("that one").content,
                ))
            })
            .on_list_roots(|_| Ok(vec![Root::new("file:///here")]));
        let (_serving, client) = connect(&server, client, revision);
        assert_eq!(
            text(&call(&client, "look").unwrap()),
            "a model in file:///here",
            "{revision}"
        );
        assert_eq!(runs.load(Ordering::SeqCst), 2 * (number + 1), "{revision}");
    }
}

// One handler serves all five revisions. Its second question depends on the answer to the first.
#[test]
fn dependent_questions_of_every_kind_give_the_same_conversation_in_every_revision() {
    let effects = Arc::new(AtomicUsize::new(0));
    let ran = Arc::clone(&effects);
    let server = server()
        .tool_with(
            Tool::new("look"),
            move |_: Value, context: &Context| -> Result<String, HandlerError> {
                let number = context.once("effect", || ran.fetch_add(1, Ordering::SeqCst))?;
                let root = context.list_roots("roots")?.roots.remove(0).uri;
                let question = format!("What is in {root}?");
                let messages = [SamplingMessage::user(question)];
                let question = CreateMessageRequestParams::new(messages, 10);
                let said = context.sample("model", question)?;
                let said = said.content.blocks()[0].as_text().unwrap().to_owned();
                Ok(format!("{number}: {said}"))
            },
        )
        .build()
        .unwrap();
    for (number, &revision) in ProtocolVersion::ALL.iter().enumerate() {
        let shown = Arc::new(Mutex::new(Vec::new()));
        let (roots, model) = (Arc::clone(&shown), Arc::clone(&shown));
        let client = client()
            .on_list_roots(move |_| {
                roots.lock().unwrap().push("roots?".to_owned());
                Ok(vec![Root::new("file:///here")])
            })
            .on_sample(move |asked, _| {
                let asked = asked.messages[0].content.blocks()[0].as_text().unwrap();
                model.lock().unwrap().push(asked.to_owned());
                let said = SamplingMessage::assistant(format!("the answer to {asked}"));
                Ok(CreateMessageResult::new("a model", said.content))
            });
        let (_serving, client) = connect(&server, client, revision);
        let result = call(&client, "look").unwrap();
        let expected = format!("{number}: the answer to What is in file:///here?");
        assert_eq!(text(&result), expected, "{revision}");
        assert_eq!(
            *shown.lock().unwrap(),
            ["roots?", "What is in file:///here?"],
            "{revision}"
        );
        assert_eq!(effects.load(Ordering::SeqCst), number + 1, "{revision}");
    }
}

// A question that has to be put in other words for an older client, or needs an id, is answered all the same.
#[test]
fn what_an_answer_answers_is_the_question_as_the_handler_asked_it() {
    let server = server()
        .tool_with(
            Tool::new("ask"),
            |_: Value, context: &Context| -> Result<String, HandlerError> {
                let page = ElicitRequestParams::url("sign in", "https://example.com/");
                let options = [mcplink::schema::EnumOption::new("r", "Red")];
                let options = mcplink::schema::TitledSingleSelectEnumSchema::new(options);
                let form = ElicitSchema::default().required("value", options);
                let form = ElicitRequestParams::form("which?", form.to_schema()?);
                let blocks =
                    json!([{ "type": "text", "text": "a" }, { "type": "text", "text": "b" }]);
                let blocks: mcplink::schema::SamplingContent = serde_json::from_value(blocks)?;
                let message = SamplingMessage::new(mcplink::schema::Role::User, blocks);
                let sampled =
                    context.sample("model", CreateMessageRequestParams::new([message], 1));
                let form = context.elicit("form", form);
                if context.client().revision >= ProtocolVersion::V2025_11_25 {
                    context.elicit("page", page)?;
                }
                Ok(format!("{:?} {}", form?.action, sampled?.model))
            },
        )
        .build()
        .unwrap();
    for &revision in SINCE_ELICITATION {
        let asked = Arc::new(AtomicUsize::new(0));
        let counting = Arc::clone(&asked);
        let client = client()
            .on_elicit(move |_, _| {
                counting.fetch_add(1, Ordering::SeqCst);
                ElicitResult::accept(&json!({ "value": "r" })).unwrap()
            })
            .on_elicit_url(|_, _| ElicitResult::decline())
            .on_sample(|_, _| {
                Ok(CreateMessageResult::new(
                    "m",
                    SamplingMessage::assistant("x").content,
                ))
            });
        let (_serving, client) = connect(&server, client, revision);
        assert_eq!(
            text(&call(&client, "ask").unwrap()),
            "Accept m",
            "{revision}"
        );
        assert_eq!(asked.load(Ordering::SeqCst), 1, "{revision}");
    }
}

// M-MRTR-S-02: prompts and resources may ask too, and nothing else.
#[test]
fn prompts_and_resources_ask_like_tools() {
    let server = server()
        .prompt(
            Prompt::new("letter"),
            |_: Value, context: &Context| -> Result<String, HandlerError> {
                Ok(format!("Dear {}", text_of(context, "name", "name?")?))
            },
        )
        .resource(
            Resource::new("test://diary", "diary"),
            |_, context: &Context| -> Result<String, HandlerError> {
                Ok(format!("Secret of {}", text_of(context, "name", "whose?")?))
            },
        )
        .build()
        .unwrap();
    for &revision in SINCE_ELICITATION {
        let (_serving, client) = connect(&server, answering(&Arc::default()), revision);
        let prompt = client.get_prompt("letter", &[]).unwrap();
        assert_eq!(
            prompt.messages[0].content.as_text(),
            Some("Dear the answer to name?"),
            "{revision}"
        );
        let read = client.read_resource("test://diary").unwrap();
        let json = serde_json::to_value(&read.contents).unwrap();
        assert_eq!(
            json[0]["text"], "Secret of the answer to whose?",
            "{revision}"
        );
    }
}

// Seen in other SDKs: a handler that wraps the error of a question loses the question.
#[test]
fn a_handler_that_swallows_the_error_still_asks() {
    let server = server()
        .tool_with(Tool::new("careless"), |_: Value, context: &Context| {
            text_of(context, "name", "name?").unwrap_or_else(|_| "I did not ask".to_owned())
        })
        .build()
        .unwrap();
    for &revision in SINCE_ELICITATION {
        let (_serving, client) = connect(&server, answering(&Arc::default()), revision);
        assert_eq!(
            text(&call(&client, "careless").unwrap()),
            "the answer to name?",
            "{revision}"
        );
    }
}

// Must not happen: half of a round is shown before the missing capability is found.
// M-META-S-13, M-ERR-S-12, M-MRTR-S-06, M-MRTR-S-07, M-META-S-12, L-INIT-B-16
#[test]
fn nothing_is_asked_of_a_client_that_did_not_declare_it() {
    let server = server()
        .tool_with(
            Tool::new("ask"),
            |_: Value, context: &Context| -> Result<String, HandlerError> {
                let (name, roots) = (
                    text_of(context, "name", "name?"),
                    context.list_roots("roots"),
                );
                drop(roots?);
                Ok(name?)
            },
        )
        .build()
        .unwrap();
    let roots_only = || client().on_list_roots(|_| panic!("a round is asked whole or not at all"));
    let (_serving, modern) = connect(&server, roots_only(), ProtocolVersion::V2026_07_28);
    let error = call(&modern, "ask").unwrap_err();
    let rpc = error.rpc().unwrap();
    assert_eq!(rpc.code, ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY);
    assert_eq!(
        rpc.data.as_ref().unwrap().get(),
        r#"{"requiredCapabilities":{"elicitation":{}}}"#
    );
    for &revision in ProtocolVersion::LEGACY {
        let (_serving, legacy) = connect(&server, roots_only(), revision);
        let result = call(&legacy, "ask").unwrap();
        assert!(
            result.is_error() && text(&result).contains("elicitation"),
            "{revision}: {}",
            text(&result)
        );
    }
}

// Must not happen: handlers that wait for people occupy all workers.
#[test]
fn calls_that_wait_for_people_occupy_no_worker() {
    let server = server()
        .limits({
            let mut limits = Limits::default();
            limits.max_workers = 2;
            limits
        })
        .tool_with(Tool::new("ask"), |_: Value, context: &Context| {
            text_of(context, "name", "name?").map_err(HandlerError::from)
        })
        .tool_with(Tool::new("quick"), |_: Value, _: &Context| "quick")
        .build()
        .unwrap();
    for revision in [ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28] {
        let (asked, questions) = mpsc::channel();
        let open = CancelToken::new();
        let door = open.clone();
        let people = client().on_elicit(move |_, _| {
            asked.send(()).unwrap();
            assert!(door.wait(PATIENCE), "nobody answered");
            ElicitResult::accept(&json!({ "value": "me" })).unwrap()
        });
        let (_serving, client) = connect(&server, people, revision);
        std::thread::scope(|scope| {
            let waiting: Vec<_> = (0..10)
                .map(|_| scope.spawn(|| call(&client, "ask").unwrap()))
                .collect();
            for _ in 0..10 {
                questions.recv_timeout(PATIENCE).unwrap();
            }
            assert_eq!(
                text(&call(&client, "quick").unwrap()),
                "quick",
                "{revision}"
            );
            open.cancel();
            for call in waiting {
                assert_eq!(text(&call.join().unwrap()), "me");
            }
        });
    }
}

// Seen in other SDKs: rounds of questions never end, or follow without a pause.
// M-MRTR-C-29
#[test]
fn a_handler_that_asks_for_ever_is_stopped() {
    let server = server()
        .tool_with(
            Tool::new("endless"),
            |_: Value, context: &Context| -> Result<String, HandlerError> {
                for number in 0.. {
                    text_of(context, &number.to_string(), "more?")?;
                }
                Ok("never".to_owned())
            },
        )
        .build()
        .unwrap();
    for &revision in SINCE_ELICITATION {
        let shown = Arc::new(Mutex::new(Vec::new()));
        let (_serving, client) = connect(&server, answering(&shown), revision);
        match call(&client, "endless") {
            Ok(result) => assert!(
                result.is_error() && text(&result).contains("10 rounds"),
                "{revision}"
            ),
            Err(error) => assert_eq!(error.kind(), ErrorKind::Limit, "{revision}: {error}"),
        }
        assert_eq!(shown.lock().unwrap().len(), 10, "{revision}");
    }
}

/// Calls `ask` without the client's own fulfilment, and gives the raw result.
fn raw_call(client: &Client, params: &Value) -> mcplink::Result<Value> {
    let result = client.request("tools/call", params, CallOptions::new().timeout(PATIENCE))?;
    Ok(serde_json::from_str(&result).unwrap())
}

fn asking_server(key: u8) -> Server {
    server()
        .state_keys(&[StateKey::new([key; 32])])
        .tool_with(Tool::new("ask"), |_: Value, context: &Context| {
            text_of(context, "name", "name?").map_err(HandlerError::from)
        })
        .tool_with(Tool::new("other"), |_: Value, context: &Context| {
            text_of(context, "name", "name?").map_err(HandlerError::from)
        })
        .build()
        .unwrap()
}

// Seen in other SDKs: a `requestState` can be forged, or replayed elsewhere.
// Must not happen: the refusal of a state tells an attacker the reason.
// M-MRTR-S-08, M-MRTR-S-09, M-MRTR-S-10, M-MRTR-S-13, M-MRTR-S-15, M-STATE-S-03
#[test]
fn a_state_is_good_for_its_request_on_every_replica_and_refused_elsewhere_with_one_message() {
    let elicits = || client().on_elicit(|_, _| ElicitResult::cancel());
    let modern = ProtocolVersion::V2026_07_28;
    let (_one, client) = connect(&asking_server(1), elicits(), modern);
    let asked = raw_call(
        &client,
        &json!({ "name": "ask", "arguments": { "a": 1, "b": 2 } }),
    )
    .unwrap();
    assert_eq!(asked["resultType"], "input_required");
    assert_eq!(asked["inputRequests"]["name"]["params"]["message"], "name?");
    let state = asked["requestState"].as_str().unwrap();
    let retry = |name: &str, arguments: Value, state: &str| {
        let responses = json!({ "name": { "action": "accept", "content": { "value": "Ada" } } });
        json!({ "name": name, "arguments": arguments, "inputResponses": responses, "requestState": state })
    };

    // Another server process with the same key goes on; the order of arguments does not matter.
    let (_replica, replica) = connect(&asking_server(1), elicits(), modern);
    let result = raw_call(&replica, &retry("ask", json!({ "b": 2, "a": 1 }), state)).unwrap();
    assert_eq!(result["content"][0]["text"], "Ada");

    let (_stranger, stranger) = connect(&asking_server(2), elicits(), modern);
    let other = if state.as_bytes()[60] == b'A' {
        "B"
    } else {
        "A"
    };
    let altered = format!("{}{other}{}", &state[..60], &state[61..]);
    let refused = [
        raw_call(&client, &retry("other", json!({ "a": 1, "b": 2 }), state)),
        raw_call(&client, &retry("ask", json!({ "a": 1, "b": 3 }), state)),
        raw_call(&client, &retry("ask", json!({ "a": 1, "b": 2 }), &altered)),
        raw_call(
            &client,
            &retry("ask", json!({ "a": 1, "b": 2 }), "nonsense"),
        ),
        raw_call(&stranger, &retry("ask", json!({ "a": 1, "b": 2 }), state)),
    ];
    let errors: Vec<_> = refused
        .into_iter()
        .map(|answer| answer.unwrap_err().rpc().unwrap().clone())
        .collect();
    for error in &errors {
        assert_eq!(
            (error.code, &error.message),
            (ErrorCode::INVALID_PARAMS, &errors[0].message)
        );
    }
}

// M-ERR-S-07, M-STATE-S-05
#[test]
fn a_page_is_asked_for_by_a_result_and_not_by_an_error() {
    let server = server()
        .state_keys(&[StateKey::new([1; 32])])
        .tool_with(Tool::new("ask"), |_: Value, context: &Context| {
            let page = ElicitRequestParams::url("sign in", "https://example.com/");
            context
                .elicit("page", page)
                .map(|answer| format!("{:?}", answer.action))
                .map_err(HandlerError::from)
        })
        .build()
        .unwrap();
    let opens = || client().on_elicit_url(|_, _| ElicitResult::cancel());
    let (_one, first) = connect(&server, opens(), ProtocolVersion::V2026_07_28);
    let (_other, second) = connect(&server, opens(), ProtocolVersion::V2026_07_28);
    let asked = raw_call(&first, &json!({ "name": "ask" })).unwrap();
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let question = &asked["inputRequests"]["page"]["params"];
    assert_eq!(
        (&question["mode"], &question["url"]),
        (&json!("url"), &json!("https://example.com/"))
    );
    // Nothing of the call is bound to its connection: the state that the client passes is all.
    let answered = json!({
        "name": "ask", "requestState": asked["requestState"],
        "inputResponses": { "page": { "action": "accept" } },
    });
    let result = raw_call(&second, &answered).unwrap();
    assert_eq!(result["content"][0]["text"], "Accept", "{result}");
}

// M-MRTR-S-25, M-MRTR-S-27, M-MRTR-S-28
#[test]
fn missing_answers_are_asked_again_and_surplus_ones_ignored() {
    let (_serving, client) = connect(
        &asking_server(1),
        client().on_elicit(|_, _| ElicitResult::cancel()),
        ProtocolVersion::V2026_07_28,
    );
    let asked = raw_call(&client, &json!({ "name": "ask" })).unwrap();
    let surplus = json!({ "name": "ask", "requestState": asked["requestState"], "inputResponses": { "unasked": {} } });
    let again = raw_call(&client, &surplus).unwrap();
    assert_eq!(again["resultType"], "input_required");
    assert_eq!(again["inputRequests"], asked["inputRequests"]);
}

// M-ELIC-S-49, L-ELIC-S-46: what does not fit the form is asked for once more, in both eras.
#[test]
fn an_answer_that_does_not_fit_the_form_is_none() {
    let wrong = json!({ "action": "accept", "content": { "value": 5 } });
    let right = json!({ "action": "accept", "content": { "value": "Ada" } });
    let (_serving, client) = connect(
        &asking_server(1),
        client().on_elicit(|_, _| ElicitResult::cancel()),
        ProtocolVersion::V2026_07_28,
    );
    let mut asked = raw_call(&client, &json!({ "name": "ask" })).unwrap();
    for answer in [&wrong, &json!({ "action": "accept" }), &right] {
        let params = json!({
            "name": "ask", "requestState": asked["requestState"], "inputResponses": { "name": answer },
        });
        let again = raw_call(&client, &params).unwrap();
        if *answer == right {
            assert_eq!(again["content"][0]["text"], "Ada", "{again}");
        } else {
            assert_eq!(again["inputRequests"], asked["inputRequests"], "{again}");
            asked = again;
        }
    }
    let times = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&times);
    let people = self::client()
        .capabilities(serde_json::from_str(r#"{"elicitation":{}}"#).unwrap())
        .on_request("elicitation/create", move |_, responder| {
            let first = counted.fetch_add(1, Ordering::SeqCst) == 0;
            responder
                .respond(if first { &wrong } else { &right })
                .unwrap();
        });
    let (_serving, client) = connect(&asking_server(1), people, ProtocolVersion::V2025_11_25);
    assert_eq!(text(&call(&client, "ask").unwrap()), "Ada");
    assert_eq!(times.load(Ordering::SeqCst), 2);
}

#[test]
fn a_cancelled_call_withdraws_its_questions() {
    let (asked, questions) = mpsc::channel();
    let (withdrawn, told) = mpsc::channel();
    let people = client().on_request("elicitation/create", move |_, responder| {
        asked.send(()).unwrap();
        assert!(
            responder.cancel_token().wait(PATIENCE),
            "the question was not withdrawn"
        );
        withdrawn.send(()).unwrap();
    });
    let capabilities = mcplink::schema::ClientCapabilities::default()
        .elicitation(mcplink::schema::ElicitationCapability::default());
    let (_serving, client) = connect(
        &asking_server(1),
        people.capabilities(capabilities),
        ProtocolVersion::V2025_11_25,
    );
    let cancel = CancelToken::new();
    std::thread::scope(|scope| {
        let calling = scope.spawn(|| {
            let options = CallOptions::new().timeout(PATIENCE).cancel_with(&cancel);
            client.call_tool_with("ask", &json!({}), options)
        });
        questions.recv_timeout(PATIENCE).unwrap();
        cancel.cancel();
        assert_eq!(
            calling.join().unwrap().unwrap_err().kind(),
            ErrorKind::Cancelled
        );
        told.recv_timeout(PATIENCE).unwrap();
    });
}
