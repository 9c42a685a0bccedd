//! The tools of a server, and what a list of them looks like.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use serde_json::value::RawValue;

use super::context::ToolCall;
use crate::error::{Error, ErrorKind, Excerpt, Result};
use crate::schema::{
    FitTo, Implementation, ListToolsResult, ProtocolVersion, ResultMetaObject, Tool,
};
use crate::sync::Mutex;

pub(super) type ToolHandler = Arc<dyn Fn(ToolCall) + Send + Sync>;

/// A tool and what it does.
pub(super) struct Entry {
    pub(super) tool: Tool,
    pub(super) handler: ToolHandler,
}

/// All tools, in the order in which they were added.
#[derive(Default)]
pub(super) struct Registry(Mutex<Tools>);

#[derive(Default)]
struct Tools {
    entries: Vec<Arc<Entry>>,
    by_name: HashMap<String, Arc<Entry>>,
    /// There has been a tool: what was advertised to a client once stays served, with an empty list if need be.
    offered: bool,
    /// The list as each revision sees it, made when it is first asked for, dropped when the tools change.
    listings: HashMap<ProtocolVersion, Arc<RawValue>>,
}

impl Registry {
    pub(super) fn add(&self, tool: Tool, handler: ToolHandler) -> Result<()> {
        check_name(&tool.name)?;
        tool.input_schema
            .check_input()
            .map_err(|error| error.context(format_args!("tool '{}'", tool.name)))?;
        let mut tools = self.0.lock();
        if tools.by_name.contains_key(&tool.name) {
            let name = &tool.name;
            let text = format!(
                "a tool named '{name}' is there already: remove it first or choose another name"
            );
            return Err(Error::new(ErrorKind::Invalid, text));
        }
        let entry = Arc::new(Entry { tool, handler });
        tools
            .by_name
            .insert(entry.tool.name.clone(), Arc::clone(&entry));
        tools.entries.push(entry);
        tools.offered = true;
        tools.listings.clear();
        Ok(())
    }

    pub(super) fn remove(&self, name: &str) -> bool {
        let mut tools = self.0.lock();
        let removed = tools.by_name.remove(name);
        if removed.is_some() {
            tools.entries.retain(|entry| entry.tool.name != name);
            tools.listings.clear();
        }
        // The handler may own anything: it is dropped outside of the lock.
        drop(tools);
        removed.is_some()
    }

    pub(super) fn find(&self, name: &str) -> Option<Arc<Entry>> {
        self.0.lock().by_name.get(name).cloned()
    }

    /// Whether the server has tools, be it none at the moment.
    pub(super) fn is_offered(&self) -> bool {
        self.0.lock().offered
    }

    /// The whole result of `tools/list`, equal for everyone who speaks the revision.
    pub(super) fn listing(
        &self,
        revision: ProtocolVersion,
        server_info: Option<&Implementation>,
    ) -> Result<Arc<RawValue>> {
        let mut tools = self.0.lock();
        if let Some(listing) = tools.listings.get(&revision) {
            return Ok(Arc::clone(listing));
        }
        let listed: Vec<Tool> = tools
            .entries
            .iter()
            .map(|entry| entry.tool.clone())
            .collect();
        let mut result = ListToolsResult::new(listed);
        result.meta = server_info.map(|info| ResultMetaObject::default().server_info(info.clone()));
        result.fit_to(revision);
        let listing = serde_json::value::to_raw_value(&result).map_err(|error| {
            Error::new(
                ErrorKind::Invalid,
                format!("the tools can't be written as JSON: {error}"),
            )
        })?;
        let listing = Arc::<RawValue>::from(listing);
        tools.listings.insert(revision, Arc::clone(&listing));
        Ok(listing)
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.0.lock().entries.iter().map(|entry| &entry.tool.name))
            .finish()
    }
}

/// Spec: Server Features, Tools, "Tool Names" (2025-11-25 and later).
fn check_name(name: &str) -> Result<()> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    if (1..=128).contains(&name.len()) && name.bytes().all(allowed) {
        return Ok(());
    }
    let text = format!(
        "'{}' is not a tool name: use 1 to 128 of the characters A-Z a-z 0-9 _ - .",
        Excerpt(name)
    );
    Err(Error::new(ErrorKind::Invalid, text))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::schema::JsonSchema;

    fn add(registry: &Registry, name: &str) -> Result<()> {
        registry.add(Tool::new(name), Arc::new(|_| {}))
    }

    // M-TOOL-S-12, M-TOOL-S-14, M-TOOL-S-15, L-TOOL-S-07, L-TOOL-S-09, L-TOOL-S-10
    #[test]
    fn odd_names_are_refused() {
        let registry = Registry::default();
        for name in ["a", "get_User-2.x", &"x".repeat(128)] {
            add(&registry, name).expect(name);
        }
        for name in ["", "a b", "a,b", "ä", "a/b", &"x".repeat(129)] {
            assert_eq!(
                add(&registry, name).expect_err(name).kind(),
                ErrorKind::Invalid
            );
        }
    }

    // M-TOOL-S-16, L-TOOL-S-11, M-TOOL-B-13, L-TOOL-B-08
    #[test]
    fn names_are_unique_and_case_sensitive() {
        let registry = Registry::default();
        add(&registry, "get").expect("free");
        add(&registry, "Get").expect("another one");
        assert!(add(&registry, "get").is_err());
        assert!(registry.remove("get"));
        assert!(!registry.remove("get"));
        add(&registry, "get").expect("free again");
    }

    // M-TOOL-S-08, M-TOOL-S-09, L-TOOL-S-05
    #[test]
    fn arguments_are_objects() {
        let registry = Registry::default();
        for schema in [r#"{"type":"array"}"#, "{}", "true"] {
            let tool = Tool::new("t").input_schema(JsonSchema::parse(schema).expect("a schema"));
            let error = registry.add(tool, Arc::new(|_| {})).expect_err(schema);
            assert!(error.to_string().starts_with("tool 't': "), "{error}");
        }
    }

    // M-TOOL-S-06
    #[test]
    fn the_list_is_made_once_and_anew_after_a_change() {
        let registry = Registry::default();
        add(&registry, "b").expect("free");
        add(&registry, "a").expect("free");
        let list = |registry: &Registry| {
            registry
                .listing(ProtocolVersion::LATEST, None)
                .expect("JSON")
        };
        let first = list(&registry);
        assert!(Arc::ptr_eq(&first, &list(&registry)));
        assert!(
            first.get().find("\"b\"") < first.get().find("\"a\""),
            "{first}"
        );
        registry.remove("b");
        assert!(!list(&registry).get().contains("\"b\""));
    }
}
