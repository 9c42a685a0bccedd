//! `mcplink attach`: everything of the protocol passes, between hosts and programs of both eras.

use std::sync::mpsc;

use mcplink::ErrorKind;
use mcplink::client::{CallEvent, CallOptions, Event};
use mcplink::schema::{
    CompleteRequestParams, CompletionReference, CreateMessageResult, ElicitResult, Root,
    SubscriptionFilter,
};
use serde_json::{Value, json};

use crate::attach::World;
use crate::common::LONG;
use crate::proxy::{ERAS, builder};

#[test]
fn input_requests_of_the_program_reach_the_host() {
    for theirs in ERAS {
        for ours in ERAS {
            let world = World::new(&format!("asks-{theirs}-{ours}"));
            let builder = builder(ours)
                .on_elicit(|_, _| ElicitResult::confirm())
                .on_sample(|params, _| {
                    let asked = params.messages[0].content.blocks()[0].as_text();
                    let text = format!("about {}", asked.unwrap());
                    Ok(CreateMessageResult::new("model", text))
                })
                .on_list_roots(|_| Ok(vec![Root::new("file:///work")]));
            let host = world.attach(&["editor"], builder);
            let during = format!("{theirs} program, {ours} host");
            // Also after the program was started again.
            for _ in 0..2 {
                let program = world.start(&["editor", "-", theirs]);
                host.wait_for_tools();
                assert_eq!(host.call("ask", json!({})), "sure: true", "{during}");
                let model = host.call("sample", json!({}));
                assert_eq!(model, "model: about cats", "{during}");
                assert_eq!(host.call("roots", json!({})), "file:///work", "{during}");
                drop(program);
                host.wait_for_none();
            }
        }
    }
}

#[test]
fn the_program_sees_the_capabilities_of_the_host() {
    for theirs in ERAS {
        for ours in ERAS {
            let world = World::new(&format!("may-{theirs}-{ours}"));
            let _program = world.start(&["editor", "-", theirs]);
            let forms = builder(ours).on_elicit(|_, _| ElicitResult::decline());
            let host = world.attach(&["editor"], forms);
            host.wait_for_tools();
            let seen: Value = serde_json::from_str(&host.call("may", json!({}))).unwrap();
            let during = format!("{theirs} program, {ours} host: {seen}");
            assert!(seen.get("elicitation").is_some(), "{during}");
            assert!(seen.get("sampling").is_none(), "{during}");
            assert!(seen.get("roots").is_none(), "{during}");
        }
    }
}

#[test]
fn progress_and_cancellation_pass_to_the_program() {
    for theirs in ERAS {
        for ours in ERAS {
            let world = World::new(&format!("slow-{theirs}-{ours}"));
            let mut program = world.start(&["editor", "-", theirs]);
            let host = world.attach(&["editor"], builder(ours));
            host.wait_for_tools();
            let slow = host
                .client
                .start_tool("slow", &json!({}), CallOptions::new());
            let mut slow = slow.unwrap();
            let event = slow.events().recv_timeout(LONG).unwrap();
            assert!(matches!(event, CallEvent::Progress(_)), "{event:?}");
            slow.cancel();
            let said = program.said.next().unwrap().unwrap();
            assert_eq!(said, "cancelled", "{theirs} program, {ours} host");
            let error = slow.wait().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Cancelled);
        }
    }
}

#[test]
fn completion_logs_tasks_and_prompts_pass() {
    for theirs in ERAS {
        for ours in ERAS {
            let world = World::new(&format!("rest-{theirs}-{ours}"));
            let (sender, logs) = mpsc::channel();
            let builder = builder(ours).on_log_message(move |message| {
                sender.send(message.data.get().to_owned()).unwrap();
            });
            // The host sees the capabilities before the program runs.
            let host = world.attach(&["editor", "--log", "info"], builder);
            let _program = world.start(&["editor", "-", theirs]);
            host.wait_for_tools();
            let during = format!("{theirs} program, {ours} host");
            let reference = CompletionReference::prompt("greet");
            let params = CompleteRequestParams::new(reference, "name", "A");
            let completed = host.client.complete(params).unwrap();
            assert_eq!(completed.completion.values, ["Ada"], "{during}");
            let prompt = host.client.get_prompt("greet", &[("name", "Ada")]).unwrap();
            assert_eq!(prompt.messages.len(), 1, "{during}");
            assert_eq!(host.call("task", json!({})), "task done", "{during}");
            let options = CallOptions::new().log_level("info".into());
            let called = host.client.call_tool_with("log", &json!({}), options);
            called.unwrap();
            let log = logs.recv_timeout(LONG).expect(&during);
            assert_eq!(log, r#""it is hot""#, "{during}");
        }
    }
}

#[test]
fn a_subscription_to_a_resource_outlives_the_program() {
    for theirs in ERAS {
        for ours in ERAS {
            let world = World::new(&format!("touch-{theirs}-{ours}"));
            let host = world.attach(&["editor"], builder(ours));
            let mut subscription = None;
            for round in 0..2 {
                let mut program = world.start(&["editor", "one", theirs]);
                host.wait_for_tools();
                let (_, events) = subscription.get_or_insert_with(|| {
                    let uris = vec!["x:state".to_owned()];
                    let filter = SubscriptionFilter::default().resource_subscriptions(uris);
                    let (sender, events) = mpsc::channel();
                    let on_event = move |event| _ = sender.send(event);
                    (host.client.subscribe(filter, on_event).unwrap(), events)
                });
                program.tell("touch");
                let event = events.recv_timeout(LONG).unwrap();
                let updated = Event::ResourceUpdated("x:state".to_owned());
                assert_eq!(event, updated, "{theirs} program, {ours} host, {round}");
                drop(program);
                host.wait_for_none();
            }
        }
    }
}
