//! What a server may ask of which client, and how it says so, message by message.

use std::sync::{Arc, Mutex};

use mcplink::schema::{
    CreateMessageRequestParams, ElicitAction, ElicitRequestParams, ElicitRequestURLParams,
    ElicitSchema, EnumOption, IncludeContext, InputRequest, JsonSchema, ProtocolVersion,
    SamplingMessage, StringSchema, TitledSingleSelectEnumSchema, Tool, ToolChoice, ToolUseContent,
    UntitledMultiSelectEnumSchema,
};
use mcplink::server::{AskError, Context, HandlerError, Server, ServerBuilder};
use serde_json::{Value, json};

use crate::played::play_client;

const OLD: ProtocolVersion = ProtocolVersion::V2025_06_18;
const LEGACY: ProtocolVersion = ProtocolVersion::V2025_11_25;
const MODERN: ProtocolVersion = ProtocolVersion::V2026_07_28;

type Notes = Arc<Mutex<Vec<String>>>;

/// A server with a tool that asks one thing and says what came of it, and what its host is told.
fn asking(question: impl Into<InputRequest>) -> (Server, Notes) {
    let question = question.into();
    let notes = Notes::default();
    let noted = Arc::clone(&notes);
    let server = builder(move |context| {
        let answer = context.ask("k", question.clone())?;
        Ok(answer.as_str().to_owned())
    });
    let server = server.on_log(move |record| noted.lock().unwrap().push(record.text.to_owned()));
    (server.build().unwrap(), notes)
}

fn builder(
    tool: impl Fn(&Context) -> Result<String, AskError> + Send + Sync + 'static,
) -> ServerBuilder {
    Server::builder("asking", "1.0").tool_with(
        Tool::new("ask"),
        move |_: Value, context: &Context| -> Result<String, HandlerError> { Ok(tool(context)?) },
    )
}

fn schema() -> JsonSchema {
    let form = ElicitSchema::default().required("name", StringSchema::new());
    form.to_schema().unwrap()
}

fn form() -> ElicitRequestParams {
    ElicitRequestParams::form("Your name?", schema())
}

fn page() -> ElicitRequestParams {
    ElicitRequestParams::url("Sign in", "https://example.com/")
}

fn sampling() -> CreateMessageRequestParams {
    CreateMessageRequestParams::new([SamplingMessage::user("Which one?")], 10)
}

/// Checks that nothing is asked of a client, and that it is told what it would have to declare.
fn check_refused(question: InputRequest, declared: Value, missing: Value) {
    for revision in [LEGACY, MODERN] {
        let (server, _) = asking(question.clone());
        let mut client = play_client(&server, revision, declared.clone());
        let answer = client.call("ask");
        if revision.is_modern() {
            assert_eq!(answer["error"]["code"], -32021, "{answer}");
            let data = &answer["error"]["data"]["requiredCapabilities"];
            assert_eq!(*data, missing, "{declared}");
        } else {
            assert_eq!(answer["result"]["isError"], true, "{answer}");
            let name = missing.as_object().unwrap().keys().next().unwrap();
            let text = answer["result"]["content"][0]["text"].as_str().unwrap();
            assert!(text.contains(name), "{text}");
        }
        client.script.expect_silence();
    }
}

/// Checks that a question is sent to a client of this revision, and gives its params.
fn check_asked(
    question: impl Into<InputRequest>,
    revision: ProtocolVersion,
    declared: Value,
) -> Value {
    let question = question.into();
    let (server, _) = asking(question.clone());
    let asked = play_client(&server, revision, declared).question_of("ask");
    assert_eq!(asked["method"], question.method());
    asked["params"].clone()
}

/// Checks that the handler's mistake reaches its host and nobody else.
fn check_forbidden(question: impl Into<InputRequest>, why: &str) {
    let question = question.into();
    for revision in [LEGACY, MODERN] {
        let (server, notes) = asking(question.clone());
        let all = json!({ "elicitation": { "form": {}, "url": {} }, "sampling": { "tools": {} } });
        let mut client = play_client(&server, revision, all);
        let answer = client.call("ask");
        let error = json!({ "code": -32603, "message": "internal error" });
        assert_eq!(answer["error"], error, "{answer}");
        client.script.expect_silence();
        let notes = notes.lock().unwrap();
        assert!(notes.iter().any(|note| note.contains(why)), "{notes:?}");
    }
}

// M-MRTR-S-06, M-MRTR-S-07, M-ELIC-B-09, M-ELIC-S-10, L-ELIC-S-06
#[test]
fn only_modes_that_were_declared_are_asked_for() {
    let both = json!({ "elicitation": { "form": {}, "url": {} } });
    for declared in [
        json!({}),
        json!({ "elicitation": {} }),
        json!({ "elicitation": { "form": {} } }),
    ] {
        check_refused(
            page().into(),
            declared,
            json!({ "elicitation": { "url": {} } }),
        );
    }
    let only_pages = json!({ "elicitation": { "url": {} } });
    check_refused(
        form().into(),
        only_pages.clone(),
        json!({ "elicitation": {} }),
    );
    for revision in [LEGACY, MODERN] {
        check_asked(form(), revision, json!({ "elicitation": {} }));
        check_asked(form(), revision, both.clone());
        check_asked(page(), revision, only_pages.clone());
    }
    // A revision without pages, whatever the client says.
    let (server, _) = asking(page());
    let answer = play_client(&server, OLD, both).call("ask");
    assert_eq!(answer["result"]["isError"], true, "{answer}");
}

// M-ELIC-S-11, M-ELIC-S-13, L-ELIC-S-07, L-ELIC-S-09, M-MRTR-B-24
#[test]
fn a_form_goes_out_with_its_message_and_schema() {
    let declared = json!({ "elicitation": {} });
    let fields: Value = schema().read().unwrap();
    for revision in [OLD, LEGACY, MODERN] {
        let params = check_asked(form(), revision, declared.clone());
        let expected = json!({ "message": "Your name?", "requestedSchema": fields });
        assert_eq!(params, expected, "{revision}");
    }
}

// M-ELIC-S-17: an id only where the revision has one.
#[test]
fn a_page_goes_out_with_its_message_and_address() {
    let named = ElicitRequestURLParams::new("Sign in", "https://example.com/");
    let named = ElicitRequestParams::from(named.elicitation_id("mine"));
    for question in [page(), named] {
        let params = check_asked(question, MODERN, json!({ "elicitation": { "url": {} } }));
        let expected =
            json!({ "mode": "url", "message": "Sign in", "url": "https://example.com/" });
        assert_eq!(params, expected);
    }
}

// M-ELIC-S-18, L-ELIC-S-12
#[test]
fn a_page_without_an_address_is_not_asked_for() {
    for url in [
        "",
        "not a url",
        "/sign-in",
        "https://",
        "https://exa mple.com/",
    ] {
        check_forbidden(ElicitRequestParams::url("Sign in", url), "absolute address");
    }
}

// M-ELIC-S-01, L-ELIC-S-01, M-ELIC-S-14, M-ELIC-S-15
#[test]
fn a_form_that_must_not_be_shown_is_not_asked_for() {
    let form = |name: &str, field: StringSchema| {
        let form = ElicitSchema::default().required(name, field);
        ElicitRequestParams::form("?", form.to_schema().unwrap())
    };
    check_forbidden(form("password", StringSchema::new()), "secrets");
    check_forbidden(form("a", StringSchema::new().title("API Key")), "secrets");
    check_forbidden(form("a", StringSchema::new().format("password")), "format");
    let nested = r#"{"type":"object","properties":{"a":{"type":"object","properties":{}}}}"#;
    let nested = JsonSchema::parse(nested).unwrap();
    check_forbidden(ElicitRequestParams::form("?", nested), "requestedSchema");
}

// M-ELIC-S-36, M-ELIC-S-37, L-ELIC-S-35, L-ELIC-S-36
#[test]
fn the_host_is_warned_of_addresses_in_forms_and_of_pages_in_plain_text() {
    let clickable = ElicitRequestParams::form("Look at https://example.com", schema());
    let plain = ElicitRequestParams::url("Sign in", "http://example.com");
    for (question, warning) in [
        (clickable, Some("address in it")),
        (plain, Some("not of https")),
        (form(), None),
        (page(), None),
    ] {
        for revision in [LEGACY, MODERN] {
            let (server, notes) = asking(question.clone());
            let declared = json!({ "elicitation": { "form": {}, "url": {} } });
            let mut client = play_client(&server, revision, declared);
            client.question_of("ask");
            let notes = notes.lock().unwrap();
            let warned = notes
                .iter()
                .any(|note| note.contains(warning.unwrap_or("'k'")));
            assert_eq!(warned, warning.is_some(), "{notes:?}");
        }
    }
}

// L-ELIC-B-48
#[test]
fn a_choice_is_asked_in_the_words_of_the_revision_or_not_at_all() {
    let options = [EnumOption::new("r", "Red"), EnumOption::new("g", "Green")];
    let one = ElicitSchema::default()
        .required("colour", TitledSingleSelectEnumSchema::new(options))
        .to_schema()
        .unwrap();
    let one = ElicitRequestParams::form("Which?", one);
    let declared = json!({ "elicitation": {} });
    let older = check_asked(one.clone(), OLD, declared.clone());
    let field = &older["requestedSchema"]["properties"]["colour"];
    assert_eq!(
        *field,
        json!({ "type": "string", "enum": ["r", "g"], "enumNames": ["Red", "Green"] })
    );
    let newer = check_asked(one, LEGACY, declared.clone());
    let field = &newer["requestedSchema"]["properties"]["colour"];
    assert_eq!(field["oneOf"][0], json!({ "const": "r", "title": "Red" }));

    let several = UntitledMultiSelectEnumSchema::new(["r", "g"]);
    let several = ElicitSchema::default().required("colours", several);
    let several = ElicitRequestParams::form("Which?", several.to_schema().unwrap());
    check_asked(several.clone(), LEGACY, declared.clone());
    let (server, notes) = asking(several);
    let answer = play_client(&server, OLD, declared).call("ask");
    assert_eq!(answer["error"]["code"], -32603, "{answer}");
    assert!(notes.lock().unwrap()[0].contains("2025-06-18"));
}

// M-SAMP-S-06, L-SAMP-S-04
#[test]
fn a_model_gets_tools_only_from_a_client_that_lets_it() {
    let missing = json!({ "sampling": { "tools": {} } });
    let choice = sampling().tool_choice(ToolChoice::default());
    for question in [sampling().tools([Tool::new("t")]), choice] {
        for declared in [
            json!({}),
            json!({ "sampling": {} }),
            json!({ "sampling": { "context": {} } }),
        ] {
            check_refused(question.clone().into(), declared, missing.clone());
        }
        for revision in [LEGACY, MODERN] {
            check_asked(question.clone(), revision, missing.clone());
        }
    }
    check_refused(sampling().into(), json!({}), json!({ "sampling": {} }));
}

// M-SAMP-S-08, M-SAMP-S-09, L-SAMP-S-06, L-SAMP-S-07
#[test]
fn context_of_the_client_is_asked_for_only_where_it_is_declared_or_implied() {
    for revision in [OLD, LEGACY, MODERN] {
        let params = check_asked(sampling(), revision, json!({ "sampling": {} }));
        assert!(params.get("includeContext").is_none(), "{params}");
    }
    let missing = json!({ "sampling": { "context": {} } });
    for context in [IncludeContext::ThisServer, IncludeContext::AllServers] {
        let question = sampling().include_context(context.clone());
        check_refused(
            question.clone().into(),
            json!({ "sampling": {} }),
            missing.clone(),
        );
        check_asked(question.clone(), OLD, json!({ "sampling": {} }));
        for revision in [LEGACY, MODERN] {
            let params = check_asked(question.clone(), revision, missing.clone());
            assert_eq!(params["includeContext"], context.as_str());
        }
    }
    let none = sampling().include_context(IncludeContext::None);
    check_asked(none, MODERN, json!({ "sampling": {} }));
}

// M-SAMP-B-10, M-SAMP-S-11, M-SAMP-S-22, M-SAMP-S-27, M-SAMP-B-18, L-SAMP-B-08, L-SAMP-S-09, L-SAMP-S-18, L-SAMP-S-23, L-SAMP-B-14
#[test]
fn a_conversation_with_a_use_of_a_tool_without_its_result_is_not_sent() {
    let wants = ToolUseContent::new("1", "t", &json!({})).unwrap();
    let wants = SamplingMessage::new(mcplink::schema::Role::Assistant, wants);
    let messages = [wants, SamplingMessage::user("and now?")];
    let question = CreateMessageRequestParams::new(messages, 10);
    check_forbidden(question, "the use '1' of a tool has no result");
}

// M-ROOT-S-13, L-ROOT-S-08
#[test]
fn roots_are_asked_for_only_of_clients_that_have_some() {
    let missing = json!({ "roots": {} });
    check_refused(
        InputRequest::list_roots(),
        json!({ "sampling": {} }),
        missing.clone(),
    );
    for &revision in ProtocolVersion::ALL {
        check_asked(InputRequest::list_roots(), revision, missing.clone());
    }
}

// M-MRTR-S-04
#[test]
fn nothing_else_can_be_asked() {
    let other: InputRequest =
        serde_json::from_str(r#"{"method":"tools/call","params":{}}"#).unwrap();
    check_forbidden(other, "nothing that a client can be asked");
}

// L-SAMP-B-29
#[test]
fn an_older_client_gets_messages_of_one_block() {
    let both = json!([{ "type": "text", "text": "a" }, { "type": "audio", "data": "AAAA", "mimeType": "audio/wav" }]);
    let params = json!({ "messages": [{ "role": "user", "content": both }], "maxTokens": 1 });
    let question: CreateMessageRequestParams = serde_json::from_value(params.clone()).unwrap();
    for &revision in ProtocolVersion::ALL {
        let asked = check_asked(question.clone(), revision, json!({ "sampling": {} }));
        let messages = asked["messages"].as_array().unwrap();
        if revision >= LEGACY {
            assert_eq!(asked, params, "{revision}");
            continue;
        }
        assert_eq!(messages.len(), 2, "{revision}");
        assert_eq!(messages[0]["content"]["text"], "a");
        let expected = match revision {
            ProtocolVersion::V2024_11_05 => "text",
            _ => "audio",
        };
        assert_eq!(messages[1]["content"]["type"], expected, "{revision}");
    }
}

// M-ELIC-S-28, M-ELIC-S-29
#[test]
fn a_handler_is_told_what_the_user_did_and_that_the_client_failed() {
    let server = builder(|context| {
        Ok(match context.elicit("k", form()) {
            Ok(answer) => match answer.action {
                ElicitAction::Accept => format!("{}", answer.content.unwrap()),
                other => format!("{other:?} {}", answer.content.is_some()),
            },
            Err(error) if error.is_pending() => return Err(error),
            Err(error) => format!("refused: {}", error.refusal().unwrap()),
        })
    });
    let server = server.build().unwrap();
    let declared = json!({ "elicitation": {} });
    for (answer, expected) in [
        (
            json!({ "action": "accept", "content": { "name": "Ada" } }),
            r#"{"name":"Ada"}"#,
        ),
        (json!({ "action": "decline" }), "Decline false"),
        (json!({ "action": "cancel" }), "Cancel false"),
        // M-ELIC-B-53: what comes along although nothing was accepted is not looked at.
        (
            json!({ "action": "decline", "content": { "name": "Ada" } }),
            "Decline false",
        ),
    ] {
        let mut modern = play_client(&server, MODERN, declared.clone());
        let asked = modern.call("ask");
        let told = modern.retry("ask", &asked, json!({ "k": answer }));
        assert_eq!(told["result"]["content"][0]["text"], expected);
        for revision in [OLD, LEGACY] {
            let mut legacy = play_client(&server, revision, declared.clone());
            let question = legacy.call("ask");
            legacy.script.answer(&question, &answer);
            let told = legacy.script.receive();
            assert_eq!(told["result"]["content"][0]["text"], expected);
        }
    }
    let mut legacy = play_client(&server, LEGACY, declared);
    let question = legacy.call("ask");
    let error = json!({ "code": -32603, "message": "no screen" });
    legacy
        .script
        .send(&json!({ "jsonrpc": "2.0", "id": question["id"], "error": error }));
    let told = legacy.script.receive();
    assert_eq!(
        told["result"]["content"][0]["text"],
        "refused: no screen (-32603)"
    );
}

// M-MRTR-S-25, M-ELIC-B-54
#[test]
fn an_answer_that_is_none_is_refused_and_the_handler_not_run_again() {
    let runs = Arc::new(Mutex::new(0));
    let ran = Arc::clone(&runs);
    let (question, notes) = (form(), Notes::default());
    let noted = Arc::clone(&notes);
    let server = builder(move |context| {
        *ran.lock().unwrap() += 1;
        context
            .elicit("k", question.clone())
            .map(|_| "answered".to_owned())
    });
    let server = server.on_log(move |record| noted.lock().unwrap().push(record.text.to_owned()));
    let server = server.build().unwrap();
    let declared = json!({ "elicitation": {} });
    let bad = [
        json!("Ada"),
        json!({ "action": "shrug" }),
        json!({ "content": {} }),
        json!({ "action": "accept", "content": { "name": { "first": "Ada" } } }),
    ];
    let mut modern = play_client(&server, MODERN, declared.clone());
    for answer in &bad {
        let asked = modern.call("ask");
        let refused = modern.retry("ask", &asked, json!({ "k": answer }));
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
        let text = refused["error"]["message"].as_str().unwrap();
        assert!(
            text.contains("'k'") && text.contains("elicitation/create"),
            "{text}"
        );
        // The state is still good for a proper answer.
        let good = modern.retry("ask", &asked, json!({ "k": { "action": "decline" } }));
        assert_eq!(good["result"]["content"][0]["text"], "answered");
    }
    assert_eq!(*runs.lock().unwrap(), 2 * bad.len());
    // In the legacy era the answer is a response, and what can't be read is between the handler and its host.
    for answer in &bad {
        let mut legacy = play_client(&server, LEGACY, declared.clone());
        let question = legacy.call("ask");
        legacy.script.answer(&question, answer);
        let told = legacy.script.receive();
        let internal = json!({ "code": -32603, "message": "internal error" });
        assert_eq!(told["error"], internal, "{told}");
        let notes = std::mem::take(&mut *notes.lock().unwrap());
        assert!(
            notes.iter().any(|note| note.contains("can't be read")),
            "{notes:?}"
        );
    }
}

// M-MRTR-S-26
#[test]
fn a_retry_that_can_not_be_read_is_refused() {
    let (server, _) = asking(form());
    let mut client = play_client(&server, MODERN, json!({ "elicitation": {} }));
    for params in [
        json!({ "name": "ask", "requestState": 7 }),
        json!({ "name": "ask", "requestState": "x", "inputResponses": [] }),
    ] {
        client.request("tools/call", params);
        assert_eq!(client.script.receive()["error"]["code"], -32602);
    }
}

// M-SAMP-B-23, L-SAMP-B-19
#[test]
fn a_model_that_wants_tools_for_ever_is_stopped() {
    let server = builder(|context| {
        let mut messages = vec![SamplingMessage::user("Go on")];
        for number in 0.. {
            let question = CreateMessageRequestParams::new(messages.clone(), 10);
            let said = context.sample(&number.to_string(), question.tools([Tool::new("t")]))?;
            let wants = said.content.blocks();
            let id = serde_json::to_value(&wants[0]).unwrap()["id"]
                .as_str()
                .unwrap()
                .to_owned();
            messages.push(SamplingMessage::new(said.role, said.content));
            let result = mcplink::schema::ToolResultContent::new(id, []);
            messages.push(SamplingMessage::new(mcplink::schema::Role::User, result));
        }
        unreachable!("it is stopped")
    });
    let server = server.build().unwrap();
    let says = json!({
        "role": "assistant", "model": "m", "stopReason": "toolUse",
        "content": { "type": "tool_use", "id": "1", "name": "t", "input": {} },
    });
    let declared = json!({ "sampling": { "tools": {} } });
    let mut legacy = play_client(&server, LEGACY, declared.clone());
    let mut message = legacy.call("ask");
    for _ in 0..10 {
        assert_eq!(message["method"], "sampling/createMessage", "{message}");
        legacy.script.answer(&message, &says);
        message = legacy.script.receive();
    }
    let told = message["result"]["content"][0]["text"].as_str().unwrap();
    assert!(told.contains("10 rounds"), "{told}");

    let mut modern = play_client(&server, MODERN, declared);
    let mut message = modern.call("ask");
    for round in 0..10 {
        assert_eq!(
            message["result"]["resultType"], "input_required",
            "{message}"
        );
        message = modern.retry("ask", &message.clone(), json!({ round.to_string(): says }));
    }
    let told = message["result"]["content"][0]["text"].as_str().unwrap();
    assert!(told.contains("10 rounds"), "{told}");
}

// M-ROOT-S-09, M-ROOT-S-14, L-ROOT-S-08: nothing is kept from call to call, so that what went away is not used.
#[test]
fn roots_are_asked_for_anew_by_each_call() {
    let (server, _) = asking(InputRequest::list_roots());
    let declared = json!({ "roots": { "listChanged": true } });
    let mut legacy = play_client(&server, LEGACY, declared.clone());
    let mut modern = play_client(&server, MODERN, declared);
    for root in ["file:///one", "file:///two"] {
        let roots = json!({ "roots": [{ "uri": root }] });
        let question = legacy.call("ask");
        assert_eq!(question["method"], "roots/list");
        legacy.script.answer(&question, &roots);
        let told = legacy.script.receive();
        assert_eq!(told["result"]["content"][0]["text"], roots.to_string());
        legacy
            .script
            .notify("notifications/roots/list_changed", &json!({}));
        let asked = modern.call("ask");
        let told = modern.retry("ask", &asked, json!({ "k": roots }));
        assert_eq!(told["result"]["content"][0]["text"], roots.to_string());
    }
}
