//! The tools of a server.

use std::sync::Arc;

use super::catalogue::{self, Catalogue, Listed};
use super::context::ToolCall;
use crate::error::{Error, ErrorKind, Excerpt, Result};
use crate::schema::{ListToolsResult, ResultMetaObject, Tool};

pub(super) type ToolHandler = Arc<dyn Fn(ToolCall) + Send + Sync>;
pub(super) type Tools = Catalogue<Tool, ToolHandler>;
/// A tool and what it does.
pub(super) type Entry = catalogue::Entry<Tool, ToolHandler>;

impl Listed for Tool {
    type Page = ListToolsResult;

    const NOUN: &'static str = "tool";

    fn key(&self) -> &str {
        &self.name
    }

    fn page(items: Vec<Self>, meta: Option<ResultMetaObject>) -> ListToolsResult {
        let mut page = ListToolsResult::new(items);
        page.meta = meta;
        page
    }
}

/// Adds a tool if it is well described.
pub(super) fn add(tools: &Tools, tool: Tool, handler: ToolHandler) -> Result<()> {
    check_name(&tool.name)?;
    tool.input_schema
        .check_input()
        .map_err(|error| error.context(format_args!("tool '{}'", tool.name)))?;
    tools.add(tool, handler)
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
    use crate::schema::{JsonSchema, ProtocolVersion};

    fn add(tools: &Tools, name: &str) -> Result<()> {
        super::add(tools, Tool::new(name), Arc::new(|_| {}))
    }

    // M-TOOL-S-12, M-TOOL-S-14, M-TOOL-S-15, L-TOOL-S-07, L-TOOL-S-09, L-TOOL-S-10
    #[test]
    fn odd_names_are_refused() {
        let tools = Tools::default();
        for name in ["a", "get_User-2.x", &"x".repeat(128)] {
            add(&tools, name).expect(name);
        }
        for name in ["", "a b", "a,b", "ä", "a/b", &"x".repeat(129)] {
            assert_eq!(
                add(&tools, name).expect_err(name).kind(),
                ErrorKind::Invalid
            );
        }
    }

    // M-TOOL-S-16, L-TOOL-S-11, M-TOOL-B-13, L-TOOL-B-08
    #[test]
    fn names_are_unique_and_case_sensitive() {
        let tools = Tools::default();
        add(&tools, "get").expect("free");
        add(&tools, "Get").expect("another one");
        assert!(add(&tools, "get").is_err());
        assert!(tools.remove("get"));
        assert!(!tools.remove("get"));
        add(&tools, "get").expect("free again");
    }

    // M-TOOL-S-08, M-TOOL-S-09, L-TOOL-S-05
    #[test]
    fn arguments_are_objects() {
        let tools = Tools::default();
        for schema in [r#"{"type":"array"}"#, "{}", "true"] {
            let tool = Tool::new("t").input_schema(JsonSchema::parse(schema).expect("a schema"));
            let error = super::add(&tools, tool, Arc::new(|_| {})).expect_err(schema);
            assert!(error.to_string().starts_with("tool 't': "), "{error}");
        }
    }

    // M-TOOL-S-06
    #[test]
    fn the_list_is_made_once_and_anew_after_a_change() {
        let tools = Tools::default();
        add(&tools, "b").expect("free");
        add(&tools, "a").expect("free");
        let list = |tools: &Tools| tools.listing(ProtocolVersion::LATEST, None).expect("JSON");
        let first = list(&tools);
        assert!(Arc::ptr_eq(&first, &list(&tools)));
        assert!(
            first.get().find("\"b\"") < first.get().find("\"a\""),
            "{first}"
        );
        tools.remove("b");
        assert!(!list(&tools).get().contains("\"b\""));
    }
}
