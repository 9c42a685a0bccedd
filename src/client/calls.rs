//! Typed calls.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::envelope::params_text;
use super::{Client, Inner};
use crate::error::{Error, ErrorKind, Excerpt, Result};
use crate::jsonrpc::RawResult;
use crate::protocol::CallOptions;
use crate::schema::{
    CallToolRequestParams, CallToolResult, EmptyResult, ListToolsResult, PaginatedRequestParams,
    Tool, method,
};

/// More pages than this no honest list has.
const MAX_PAGES: usize = 10_000;

impl Client {
    pub(super) fn new(inner: Inner) -> Self {
        Self(std::sync::Arc::new(inner))
    }

    /// Lists the tools, all pages of them.
    ///
    /// Blocks for each page at most as long as a call does by default.
    ///
    /// # Errors
    ///
    /// As [`call_tool`](Self::call_tool); [`ErrorKind::Protocol`] when the pages don't end.
    pub fn list_tools(&self) -> Result<Vec<Tool>> {
        self.need(
            self.capabilities().tools.is_some(),
            "tools",
            method::TOOLS_LIST,
        )?;
        let mut tools = Vec::new();
        let mut cursor: Option<String> = None;
        for _ in 0..MAX_PAGES {
            let mut params = PaginatedRequestParams::default();
            params.cursor.clone_from(&cursor);
            let page: ListToolsResult =
                self.call(method::TOOLS_LIST, &params, CallOptions::new())?;
            tools.extend(page.tools);
            match page.next_cursor {
                None => return Ok(tools),
                next if next == cursor => break,
                next => cursor = next,
            }
        }
        let text = format!(
            "the pages of {} of '{}' don't end: cursor {cursor:?}",
            method::TOOLS_LIST,
            self.server_name()
        );
        Err(Error::new(ErrorKind::Protocol, text).sent(true))
    }

    /// Calls a tool and waits for its result.
    ///
    /// Blocks the calling thread until the result arrives, 60 s pass without a sign of life, or the connection closes. That the tool ran
    /// and failed is no error: see [`CallToolResult::is_error`].
    ///
    /// Spec: Server Features, Tools, "Calling Tools" (every revision).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`] when the server has no tools (nothing is sent), [`ErrorKind::Peer`] when it refuses,
    /// [`ErrorKind::Timeout`] (the server is told), [`ErrorKind::Closed`] when it has gone, [`ErrorKind::Protocol`] when its answer is no
    /// result of a tool, [`ErrorKind::Invalid`] when the arguments are written neither as a JSON object nor as nothing.
    pub fn call_tool(&self, name: &str, arguments: &impl Serialize) -> Result<CallToolResult> {
        self.call_tool_with(name, arguments, CallOptions::new())
    }

    /// The same with a timeout, progress or a cancel token of one's own.
    ///
    /// # Errors
    ///
    /// As [`call_tool`](Self::call_tool); [`ErrorKind::Cancelled`] when its token was triggered (the server is told).
    pub fn call_tool_with(
        &self,
        name: &str,
        arguments: &impl Serialize,
        options: CallOptions<'_>,
    ) -> Result<CallToolResult> {
        self.need(
            self.capabilities().tools.is_some(),
            "tools",
            method::TOOLS_CALL,
        )?;
        let mut params = CallToolRequestParams::new(name).arguments(arguments)?;
        match params.arguments.as_deref().map(RawValue::get) {
            Some("null") => params.arguments = None,
            Some(arguments) if !arguments.starts_with('{') => {
                let text = format!("arguments of tool '{}' have to be an object", Excerpt(name));
                return Err(Error::new(ErrorKind::Invalid, text));
            }
            _ => {}
        }
        self.call(method::TOOLS_CALL, &params, options)
    }

    /// Asks whether the server is there. Only the legacy era knows this; a modern server is asked with `server/discover`.
    ///
    /// # Errors
    ///
    /// As other calls.
    pub fn ping(&self, options: CallOptions<'_>) -> Result<()> {
        let method = if self.revision().is_modern() {
            method::SERVER_DISCOVER
        } else {
            method::PING
        };
        self.call::<EmptyResult>(method, &(), options).map(drop)
    }

    /// Sends a request of any method, with what every request carries, and gives its result as raw JSON.
    ///
    /// `params` has to be written as an object, or as nothing.
    ///
    /// # Errors
    ///
    /// As [`call_tool`](Self::call_tool), but for capabilities: those are the caller's business.
    pub fn request(
        &self,
        method: &str,
        params: &impl Serialize,
        mut options: CallOptions<'_>,
    ) -> Result<RawResult> {
        self.request_text(method, &params_text(method, params)?, &mut options)
    }

    /// Sends a notification of any method.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Closed`] when the server has gone, [`ErrorKind::Timeout`] when it does not read.
    pub fn notify(&self, method: &str, params: &impl Serialize) -> Result<()> {
        self.0.connection.peer().notify(method, params)
    }

    /// A call whose result is decoded as that of its method, never by its shape.
    fn call<R: DeserializeOwned>(
        &self,
        method: &str,
        params: &impl Serialize,
        mut options: CallOptions<'_>,
    ) -> Result<R> {
        let text = self.complete(method, params_text(method, params)?, &mut options)?;
        serde_json::from_str(&text).map_err(|error| {
            let text = format!(
                "the result of {method} of '{}' can't be read: {error}",
                self.server_name()
            );
            Error::new(ErrorKind::Protocol, text).sent(true)
        })
    }

    /// Fails at once when the server did not advertise what a method needs.
    fn need(&self, has: bool, capability: &str, method: &str) -> Result<()> {
        if has {
            return Ok(());
        }
        let text = format!(
            "'{}' did not advertise the capability '{capability}', which {method} needs",
            self.server_name()
        );
        Err(Error::new(ErrorKind::Unsupported, text))
    }
}
