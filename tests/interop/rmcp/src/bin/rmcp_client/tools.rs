//! The tools that all servers have.

use std::time::Duration;

use rmcp::model::*;
use rmcp::service::PeerRequestOptions;
use serde_json::json;
use tokio::time::sleep;

use crate::checks::{Checks, params, said, same};

/// Runs every check that the server's tools allow, one after the other.
pub(crate) async fn check(checks: &mut Checks, tools: &[String]) {
    let has = |name: &str| tools.iter().any(|tool| tool == name);
    checks
        .check("list", async |it| {
            let offered = it.service.list_all_tools().await.map_err(said)?;
            let missing = tools
                .iter()
                .filter(|tool| offered.iter().all(|it| it.name != **tool));
            same("tools not offered", missing.collect::<Vec<_>>(), json!([]))
        })
        .await;
    if checks.is_legacy {
        checks
            .check("ping", async |it| {
                let ping = ClientRequest::PingRequest(PingRequest::default());
                it.service.send_request(ping).await.map(drop).map_err(said)
            })
            .await;
    }
    if has("greet") {
        checks
            .check("greet", async |it| {
                same(
                    "greet",
                    it.text("greet", json!({ "name": "Ada" })).await?,
                    json!("Hello, Ada!"),
                )
            })
            .await;
        checks
            .check("long text", async |it| {
                let name = "é\n\"\\ 😀".repeat(20_000);
                let got = it.text("greet", json!({ "name": name })).await?;
                same(
                    "the answer to a long text is whole",
                    got == format!("Hello, {name}!"),
                    json!(true),
                )
            })
            .await;
        checks
            .check("eight at once", async |it| {
                let one = async |number: u8| {
                    it.text("greet", json!({ "name": number.to_string() }))
                        .await
                };
                let (a, b, c, d) = tokio::join!(one(0), one(1), one(2), one(3));
                let (e, f, g, h) = tokio::join!(one(4), one(5), one(6), one(7));
                for (number, got) in [a, b, c, d, e, f, g, h].into_iter().enumerate() {
                    same("greet", got?, json!(format!("Hello, {number}!")))?;
                }
                Ok(())
            })
            .await;
        checks
            .check("wrong arguments", async |it| {
                it.refused("greet", json!({ "nobody": 1 })).await
            })
            .await;
    }
    checks
        .check("unknown tool", async |it| {
            it.refused("no_such_tool", json!({})).await
        })
        .await;
    if has("add") {
        checks
            .check("structured", async |it| {
                let got = it.call("add", json!({ "a": 2, "b": 40 })).await?;
                same(
                    "structured content",
                    got["structuredContent"]["sum"].as_f64(),
                    json!(42.0),
                )
            })
            .await;
    }
    if has("fail") {
        checks
            .check("tool error", async |it| {
                let got = it.call("fail", json!({})).await?;
                same("isError", &got["isError"], json!(true))?;
                let text = &got["content"][0]["text"];
                same(
                    "the tool's own words",
                    text.as_str()
                        .is_some_and(|it| it.contains("it failed on purpose")),
                    json!(true),
                )
            })
            .await;
    }
    if has("slow") {
        slow(checks).await;
    }
}

async fn slow(checks: &mut Checks) {
    checks
        .check("progress", async |it| {
            it.told.seen().progress.clear();
            let got = it
                .text("slow", json!({ "steps": 5, "delay_ms": 20 }))
                .await?;
            same("slow", got, json!("done 5"))?;
            it.told.until(|seen| seen.progress.len() >= 5).await;
            same(
                "progress",
                &it.told.seen().progress,
                json!([1.0, 2.0, 3.0, 4.0, 5.0]),
            )
        })
        .await;
    checks
        .check("cancel", async |it| {
            it.told.seen().progress.clear();
            let call =
                params(json!({ "name": "slow", "arguments": { "steps": 100, "delay_ms": 50 } }))?;
            let request = ClientRequest::CallToolRequest(CallToolRequest::new(call));
            let sent = it
                .service
                .send_cancellable_request(request, PeerRequestOptions::no_options());
            let handle = sent.await.map_err(said)?;
            it.told.until(|seen| !seen.progress.is_empty()).await;
            handle
                .cancel(Some("enough".to_owned()))
                .await
                .map_err(said)?;
            same(
                "greet after a cancelled call",
                it.text("greet", json!({ "name": "Ada" })).await?,
                json!("Hello, Ada!"),
            )
        })
        .await;
    checks
        .check("cancel stops the tool", async |it| {
            sleep(Duration::from_millis(200)).await;
            let before = it.told.seen().progress.len();
            sleep(Duration::from_millis(400)).await;
            let late = it.told.seen().progress.len() - before;
            same(
                "at most one progress notification long after",
                late <= 1,
                json!(true),
            )
        })
        .await;
}
