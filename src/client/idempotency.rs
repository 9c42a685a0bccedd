//! Retry safety: which requests are idempotent. These are requests that only read, requests that
//! set a value (`logging/setLevel`), and calls of tools that declare themselves idempotent or
//! read-only.
//!
//! Spec: Server Features, Tools, "Tool Annotations" (since 2025-03-26). The annotations are hints,
//! and only the host can decide to trust them.

use std::collections::HashMap;

use serde::Deserialize;

use crate::schema::{Tool, method};
use crate::sync::Mutex;

/// The tools that the server listed as idempotent. The key of an entry is the name of the tool, and
/// the value is the number of the connection on which the tool was listed.
#[derive(Debug, Default)]
pub(super) struct HarmlessTools(Mutex<HashMap<String, u64>>);

impl HarmlessTools {
    /// Records the idempotent tools of a page of the tool list. At most `max` tools are recorded.
    pub(super) fn note(&self, tools: &[Tool], max: usize, number: u64) {
        let mut known = self.0.lock();
        for tool in tools {
            if !claims_idempotent(tool) {
                known.remove(&tool.name);
            } else if known.len() < max || known.contains_key(&tool.name) {
                known.insert(tool.name.clone(), number);
            }
        }
    }

    /// Forgets all idempotent tools, because the server's list of tools has changed.
    pub(super) fn forget(&self) {
        self.0.lock().clear();
    }

    /// Whether a request is idempotent. A tool call is idempotent if the server listed the tool as
    /// idempotent or read-only on the connection `number`.
    pub(super) fn is_harmless(&self, number: u64, method: &str, params: &str) -> bool {
        #[derive(Deserialize)]
        struct Call {
            name: String,
        }
        method::IDEMPOTENT.contains(&method)
            || (method == method::TOOLS_CALL
                && serde_json::from_str::<Call>(params)
                    .is_ok_and(|call| self.contains(&call.name, number)))
    }

    fn contains(&self, name: &str, number: u64) -> bool {
        self.0.lock().get(name) == Some(&number)
    }
}

fn claims_idempotent(tool: &Tool) -> bool {
    tool.annotations.as_ref().is_some_and(|annotations| {
        annotations.read_only_hint == Some(true) || annotations.idempotent_hint == Some(true)
    })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn tool(name: &str, annotations: &str) -> Tool {
        let text = format!(
            r#"{{"name":"{name}","inputSchema":{{"type":"object"}},"annotations":{annotations}}}"#
        );
        serde_json::from_str(&text).expect("a tool")
    }

    // Seen in other SDKs: an automatic retry runs a side effect twice.
    #[test]
    fn only_what_a_tool_says_of_itself_counts() {
        let tools = HarmlessTools::default();
        let listed = [
            tool("reads", r#"{"readOnlyHint":true}"#),
            tool("sets", r#"{"readOnlyHint":false,"idempotentHint":true}"#),
            tool("pays", r#"{"destructiveHint":false}"#),
            tool("denies", r#"{"readOnlyHint":false,"idempotentHint":false}"#),
            Tool::new("silent"),
        ];
        tools.note(&listed, 100, 1);
        let harmless = |name: &&str| tools.contains(name, 1);
        let names = ["reads", "sets", "pays", "denies", "silent", "unknown"];
        assert!(
            names
                .iter()
                .filter(|name| harmless(name))
                .eq(&["reads", "sets"])
        );
        // The tool changed its annotations.
        tools.note(&[tool("reads", "{}")], 100, 1);
        assert!(!tools.contains("reads", 1));
        tools.note(&[tool("more", r#"{"readOnlyHint":true}"#)], 1, 1);
        assert!(!tools.contains("more", 1));
        tools.forget();
        assert!(!tools.contains("sets", 1));
    }
}
