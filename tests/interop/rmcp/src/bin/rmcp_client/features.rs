//! All that our `everything_server` has.

use rmcp::model::*;
use rmcp::service::ServiceError;
use serde_json::{Value, json};

use crate::checks::{Checks, Outcome, params, said, same};

const WATCHED: &str = "test://watched-resource";

/// What a server can do beside tools, against our `everything_server`.
pub(crate) async fn check(checks: &mut Checks) {
    checks
        .check("lists", async |it| {
            let resources = it.service.list_all_resources().await.map_err(said)?;
            same(
                "first resource",
                resources.first().map(|it| &it.uri),
                json!("test://static-text"),
            )?;
            same(
                "watched resource",
                resources.iter().any(|it| it.uri == WATCHED),
                json!(true),
            )?;
            let templates = it
                .service
                .list_all_resource_templates()
                .await
                .map_err(said)?;
            let templates: Vec<_> = templates.into_iter().map(|it| it.uri_template).collect();
            same(
                "templates",
                templates,
                json!(["test://template/{id}/data", "fixture://item/{id}"]),
            )?;
            let prompts = it.service.list_all_prompts().await.map_err(said)?;
            let prompts: Vec<_> = prompts.into_iter().map(|it| it.name).take(3).collect();
            same("prompts", prompts, json!(["hello", "greet", "third"]))
        })
        .await;
    checks
        .check("read", async |it| {
            for (uri, text) in [
                ("fixture://hello", "hello, resource"),
                ("fixture://unicode", "Grüße, 世界 🌍\u{2028} end"),
                ("fixture://item/7", "item 7"),
            ] {
                let read = it
                    .service
                    .read_resource(params(json!({ "uri": uri }))?)
                    .await
                    .map_err(said)?;
                same(uri, &json!(read)["contents"][0]["text"], json!(text))?;
            }
            let read = it
                .service
                .read_resource(params(json!({ "uri": "fixture://blob" }))?)
                .await
                .map_err(said)?;
            let blob = json!(read)["contents"][0]["blob"].clone();
            same(
                "start of fixture://blob",
                blob.as_str().and_then(|it| it.get(..12)),
                json!("AAECAwQFBgcI"),
            )
        })
        .await;
    checks
        .check("unknown resource", async |it| {
            let asked = params(json!({ "uri": "fixture://nothing" }))?;
            match it.service.read_resource(asked).await {
                Err(ServiceError::McpError(error)) => {
                    let code = if it.is_legacy { -32002 } else { -32602 };
                    same("code", error.code.0, json!(code))?;
                    same("data", error.data, json!({ "uri": "fixture://nothing" }))
                }
                other => Err(format!("a resource that does not exist: {other:?}")),
            }
        })
        .await;
    checks
        .check("prompts", async |it| {
            same(
                "greet",
                it.prompt("greet", json!({ "name": "Ada" })).await?,
                json!("Please greet Ada."),
            )?;
            let got = it
                .prompt(
                    "test_prompt_with_arguments",
                    json!({ "arg1": "é", "arg2": "2" }),
                )
                .await?;
            same(
                "two arguments",
                got,
                json!("Prompt with arguments: arg1='é', arg2='2'"),
            )
        })
        .await;
    checks
        .check("completion", async |it| {
            let names = it
                .service
                .complete_prompt_simple("greet", "name", "al")
                .await
                .map_err(said)?;
            same(
                "completion of a prompt's argument",
                names,
                json!(["alice", "albert"]),
            )?;
            let ids = it
                .service
                .complete_resource_simple("fixture://item/{id}", "id", "7")
                .await
                .map_err(said)?;
            same(
                "completion of a template's variable",
                ids,
                json!(["7", "700"]),
            )
        })
        .await;
    checks
        .check("content", async |it| {
            let got = it.call("test_multiple_content_types", json!({})).await?;
            let kinds: Vec<&Value> = got["content"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|it| &it["type"])
                .collect();
            same("content", kinds, json!(["text", "image", "resource"]))?;
            let got = it.call("structured", json!({})).await?;
            same(
                "structured content",
                &got["structuredContent"],
                json!({ "temperature": 22.5, "ok": true }),
            )
        })
        .await;
    checks
        .check("questions", async |it| {
            for (tool, arguments, text) in [
                (
                    "test_elicitation",
                    json!({ "message": "Who are you?" }),
                    r#"User response: accept {"email":"Ada","username":"Ada"}"#,
                ),
                (
                    "test_sampling",
                    json!({ "prompt": "The capital of France?" }),
                    "LLM response: Paris",
                ),
                (
                    "test_input_required_result_list_roots",
                    json!({}),
                    "Roots: file:///home/ada",
                ),
                (
                    "test_input_required_result_multiple_inputs",
                    json!({}),
                    "Ada: Paris (file:///home/ada)",
                ),
                (
                    "test_input_required_result_multi_round",
                    json!({}),
                    "Ada likes Ada.",
                ),
            ] {
                same(tool, it.text(tool, arguments).await?, json!(text))?;
            }
            Ok(())
        })
        .await;
    checks
        .check("question of a prompt", async |it| {
            let got = it
                .prompt("test_input_required_result_prompt", json!({}))
                .await?;
            same("the prompt", got, json!("Write about Ada."))
        })
        .await;
    checks.check("log messages", logs).await;
    checks
        .check("subscription", async |it| {
            if it.is_legacy {
                subscribes(it).await
            } else {
                listens(it).await
            }
        })
        .await;
}

/// Legacy servers are told once, modern ones with the call.
async fn logs(it: &Checks) -> Outcome {
    let mut call = json!({ "name": "test_tool_with_logging" });
    if it.is_legacy {
        it.service
            .set_level(SetLevelRequestParams::new(LoggingLevel::Debug))
            .await
            .map_err(said)?;
    } else {
        call["_meta"] = json!({ "io.modelcontextprotocol/logLevel": "debug" });
    }
    it.told.seen().logs.clear();
    it.service.call_tool(params(call)?).await.map_err(said)?;
    it.told.until(|seen| seen.logs.len() >= 3).await;
    let expected = json!([
        "Tool execution started",
        "Tool processing data",
        "Tool execution completed"
    ]);
    same("log messages", &it.told.seen().logs, expected)
}

async fn make_events(it: &Checks) -> Outcome {
    it.text("touch", json!({ "uri": "fixture://hello" }))
        .await?;
    it.text("touch", json!({ "uri": WATCHED })).await?;
    it.text("test_trigger_tool_change", json!({})).await?;
    Ok(())
}

async fn subscribes(it: &Checks) -> Outcome {
    it.service
        .subscribe(SubscribeRequestParams::new(WATCHED))
        .await
        .map_err(said)?;
    it.told.seen().events.clear();
    make_events(it).await?;
    it.told.until(|seen| seen.events.len() >= 2).await;
    same(
        "events",
        &it.told.seen().events[..2],
        json!([WATCHED, "tools"]),
    )?;
    it.service
        .unsubscribe(UnsubscribeRequestParams::new(WATCHED))
        .await
        .map_err(said)
}

async fn listens(it: &Checks) -> Outcome {
    let filter = SubscriptionFilter::builder()
        .tools_list_changed()
        .resource_subscription(WATCHED);
    let mut stream = it.service.listen(filter.build()).await.map_err(said)?;
    let granted = json!({ "toolsListChanged": true, "resourceSubscriptions": [WATCHED] });
    same("granted", stream.acknowledged(), granted)?;
    make_events(it).await?;
    for expected in [WATCHED, "tools"] {
        let event = match stream.next().await.map_err(said)? {
            Some(ServerNotification::ResourceUpdatedNotification(updated)) => updated.params.uri,
            Some(ServerNotification::ToolListChangedNotification(_)) => "tools".to_owned(),
            other => return Err(format!("{other:?} on the stream, not {expected}")),
        };
        same("event", event, json!(expected))?;
    }
    stream.cancel().await.map_err(said)
}
