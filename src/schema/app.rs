//! The extension `io.modelcontextprotocol/ui` (MCP Apps): tools with an HTML page that the host
//! displays.
//!
//! Spec: Extensions, "MCP Apps", "Resource Discovery" and "Visibility".

use serde_json::Value;

use super::tool::Tool;

/// The id of the MCP Apps extension. A host declares it with the `mimeTypes` that it can display.
pub const APPS_EXTENSION: &str = "io.modelcontextprotocol/ui";

/// The MIME type of an app's page: an HTML5 document that runs in a sandbox of the host.
pub const APP_MIME_TYPE: &str = "text/html;profile=mcp-app";

impl Tool {
    /// Returns the URI of the page that displays the tool's work, for `resources/read`. Returns
    /// `None` if the tool has no page, or if the URI does not begin with `ui://`.
    pub fn app_uri(&self) -> Option<&str> {
        let of_old = || self.meta.as_ref()?.get("ui/resourceUri");
        let uri = self.ui("resourceUri").or_else(of_old)?.as_str()?;
        uri.starts_with("ui://").then_some(uri)
    }

    /// Whether the tool may be offered to the model. Other tools are only for pages of apps.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # fn f(client: &mcplink::client::Client) -> mcplink::Result<()> {
    /// use mcplink::schema::Tool;
    ///
    /// let mut tools = client.list_tools()?;
    /// tools.retain(Tool::is_for_model);
    /// # Ok(())
    /// # }
    /// ```
    pub fn is_for_model(&self) -> bool {
        self.is_visible_to("model")
    }

    /// Whether an HTML page of the same server may call the tool. If the result is false, a host
    /// refuses the page's call.
    pub fn is_for_app(&self) -> bool {
        self.is_visible_to("app")
    }

    /// Whether the tool is visible to `whom`, which is `model` or `app`. A tool without a valid
    /// `visibility` is visible to both.
    fn is_visible_to(&self, whom: &str) -> bool {
        match self.ui("visibility") {
            Some(Value::Array(visible)) => visible.iter().any(|to| to == whom),
            _ => true,
        }
    }

    fn ui(&self, member: &str) -> Option<&Value> {
        self.meta.as_ref()?.get("ui")?.get(member)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(meta: &str) -> Tool {
        let text = format!(r#"{{"name":"a","inputSchema":{{"type":"object"}},"_meta":{meta}}}"#);
        serde_json::from_str(&text).expect("a tool")
    }

    // E-APP-C-14, E-APP-C-15, E-APP-B-13, E-EXT-B-09
    #[test]
    fn tools_are_for_whom_they_say() {
        fn check(meta: &str, model: bool, app: bool) {
            let tool = tool(meta);
            assert_eq!(
                (tool.is_for_model(), tool.is_for_app()),
                (model, app),
                "{meta}"
            );
        }
        assert!(Tool::new("a").is_for_model() && Tool::new("a").is_for_app());
        check("{}", true, true);
        check(r#"{"ui":{}}"#, true, true);
        check(r#"{"ui":{"visibility":["model","app"]}}"#, true, true);
        check(r#"{"ui":{"visibility":["model"]}}"#, true, false);
        check(r#"{"ui":{"visibility":["app"]}}"#, false, true);
        check(r#"{"ui":{"visibility":["app",7,"others"]}}"#, false, true);
        check(r#"{"ui":{"visibility":[]}}"#, false, false);
        for odd in [
            r#"{"ui":7}"#,
            r#"{"ui":{"visibility":"app"}}"#,
            r#"{"ui":{"visibility":null}}"#,
        ] {
            check(odd, true, true);
        }
    }

    // E-APP-B-12, E-APP-S-05
    #[test]
    fn the_page_of_a_tool_is_found() {
        fn check(meta: &str, expected: Option<&str>) {
            assert_eq!(tool(meta).app_uri(), expected, "{meta}");
        }
        assert_eq!(Tool::new("a").app_uri(), None);
        check(r#"{"ui":{"resourceUri":"ui://a/b"}}"#, Some("ui://a/b"));
        check(r#"{"ui/resourceUri":"ui://a/b"}"#, Some("ui://a/b"));
        check(
            r#"{"ui":{"resourceUri":"ui://new"},"ui/resourceUri":"ui://old"}"#,
            Some("ui://new"),
        );
        check(r#"{"ui":{"resourceUri":"https://a/b"}}"#, None);
        check(r#"{"ui":{"resourceUri":7}}"#, None);
    }
}
