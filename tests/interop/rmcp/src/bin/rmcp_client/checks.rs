//! Checks, each with its name, a deadline and what it found wrong.

use std::fmt::Display;
use std::time::Duration;

use rmcp::service::{RoleClient, RunningService};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, from_value, json};
use tokio::time::timeout;

use crate::told::Told;

const CHECK: Duration = Duration::from_secs(15);

pub(crate) type Outcome<T = ()> = Result<T, String>;
pub(crate) type Service = RunningService<RoleClient, Told>;

pub(crate) fn said(error: impl Display) -> String {
    error.to_string()
}

pub(crate) fn params<T: DeserializeOwned>(wire: Value) -> Outcome<T> {
    from_value(wire).map_err(said)
}

pub(crate) fn same(what: &str, got: impl Serialize, expected: Value) -> Outcome {
    let got = json!(got);
    if got == expected {
        Ok(())
    } else {
        Err(format!("{what}: {}, not {}", short(&got), short(&expected)))
    }
}

pub(crate) fn short(value: &Value) -> String {
    let text = value.to_string();
    if text.len() < 500 {
        text
    } else {
        format!("{}…", text.chars().take(500).collect::<String>())
    }
}

/// The running checks: what a result brought, by name.
pub(crate) struct Checks {
    pub(crate) service: Service,
    pub(crate) told: Told,
    pub(crate) is_legacy: bool,
    pub(crate) report: Value,
}

impl Checks {
    pub(crate) async fn check(&mut self, name: &str, body: impl AsyncFnOnce(&Checks) -> Outcome) {
        let why = match timeout(CHECK, body(self)).await {
            Ok(Ok(())) => None,
            Ok(Err(why)) => Some(why),
            Err(_) => Some(format!("no end within {} s", CHECK.as_secs())),
        };
        match why {
            None => self.note("passed", json!(name)),
            Some(why) => self.note("failed", json!({ "check": name, "why": why })),
        }
    }

    pub(crate) fn note(&mut self, list: &str, what: Value) {
        if let Some(list) = self.report[list].as_array_mut() {
            list.push(what);
        }
    }

    pub(crate) async fn call(&self, name: &str, arguments: Value) -> Outcome<Value> {
        let result = self
            .service
            .call_tool(params(json!({ "name": name, "arguments": arguments }))?)
            .await;
        result.map(|it| json!(it)).map_err(said)
    }

    pub(crate) async fn text(&self, name: &str, arguments: Value) -> Outcome<String> {
        let result = self.call(name, arguments).await?;
        if result["isError"] == json!(true) {
            return Err(format!("{name} failed: {}", short(&result)));
        }
        let blocks = result["content"].as_array().into_iter().flatten();
        Ok(blocks.filter_map(|block| block["text"].as_str()).collect())
    }

    pub(crate) async fn prompt(&self, name: &str, arguments: Value) -> Outcome<Value> {
        let asked = params(json!({ "name": name, "arguments": arguments }))?;
        let result = self.service.get_prompt(asked).await.map_err(said)?;
        Ok(json!(result)["messages"][0]["content"]["text"].clone())
    }

    /// A result with `isError` is as good as a JSON-RPC error.
    pub(crate) async fn refused(&self, name: &str, arguments: Value) -> Outcome {
        match self.call(name, arguments).await {
            Ok(result) if result["isError"] == json!(true) => Ok(()),
            Ok(result) => Err(format!("{name} answered {}", short(&result))),
            Err(_) => Ok(()),
        }
    }
}
