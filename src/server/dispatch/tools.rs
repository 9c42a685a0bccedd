//! Requests about tools.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Deserialize;

use super::super::asking::AdmittedRequest;
use super::super::call::ToolCall;
use super::super::context::Context;
use super::super::event_bus::Change;
use super::super::inner::{Inner, Row, ServerConnection};
use super::super::mrtr::{InputRequester, Rerun, TextSpan};
use super::super::output_check::OutputCheck;
use super::super::paging::List;
use super::super::primitive::Primitive;
use super::super::tools::{self, Entry, NewTool, Work};
use super::{send, unfit};
use crate::error::{Error, Excerpt, Result, RpcError};
use crate::jsonrpc::raw_object::read_beside;
use crate::jsonrpc::text::read_string;
use crate::jsonrpc::{Request, is_empty_array};
use crate::protocol::Responder;
use crate::schema::tree;
use crate::schema::{InputResponses, TaskMetadata, TaskSupport, method};

/// The params of `tools/call`, apart from `arguments` and `_meta`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CallParams<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(default, deserialize_with = "tree::optional")]
    input_responses: Option<InputResponses>,
    request_state: Option<String>,
    task: Option<TaskMetadata>,
}

/// The parsed params of `tools/call`, and the texts of `arguments` and `_meta`. The two texts are
/// not parsed here, since they may be large. Also, the parsed form of an equal `_meta` may be
/// cached.
type Call<'a> = (CallParams<'a>, [Option<&'a str>; 2]);

fn read_call(request: &Request) -> Result<Call<'_>, RpcError> {
    if let Some(call) = plain_call(request) {
        return Ok(call);
    }
    let read = tree::read_with(|| read_beside(request.members(), ["arguments", "_meta"]));
    read.map_err(|error| unfit(request, &error))
}

/// Reads a call that has only a name, arguments and `_meta`. This is the fast path for nearly every
/// call. Returns `None` for any other call.
fn plain_call(request: &Request) -> Option<Call<'_>> {
    let [mut name, mut arguments, mut meta] = [None; 3];
    for (key, value) in request.members() {
        let slot = match &*key {
            "name" => &mut name,
            "arguments" => &mut arguments,
            "_meta" => &mut meta,
            _ => return None,
        };
        if slot.replace(value).is_some() {
            return None;
        }
    }
    let params = CallParams {
        name: read_string(name?)?,
        input_responses: None,
        request_state: None,
        task: None,
    };
    Some((params, [arguments, meta]))
}

const METHODS: [Row; 2] = [
    (method::TOOLS_LIST, |this, request, responder| {
        this.list(&request, responder, List::Tools, &this.server.tools);
    }),
    (method::TOOLS_CALL, ServerConnection::call_tool),
];

impl ServerConnection {
    fn call_tool(self: Arc<Self>, request: Request, responder: Responder) {
        let (call, fit) = match self.find_tool(&request, &responder) {
            Ok(found) => found,
            Err(error) => return send::<()>(Err(error), responder),
        };
        let Err(error) = fit else {
            return call.begin(self.conversation(), request, responder);
        };
        let (terms, start) = (call.terms, call.start);
        let context = Context::new(self.conversation(), request, responder, terms, call.meta);
        let Some(context) = context else { return };
        let fail = move |context| {
            ToolCall::new(context, OutputCheck::Nothing).fail_arguments(&error);
        };
        // In the legacy era, a client that requests a task must get a task.
        match start {
            Some(start) if context.client().revision.is_legacy() => start.begin(context, fail),
            _ => fail(context),
        }
    }

    /// Returns the admitted call of a tool, and whether its arguments fit the tool's schema.
    fn find_tool(
        &self,
        request: &Request,
        responder: &Responder,
    ) -> Result<(AdmittedRequest, Result<()>), RpcError> {
        let (params, aside) = read_call(request)?;
        let says_nothing = |text: &&str| *text == "null" || is_empty_array(text);
        let [arguments, meta] = aside.map(|text| text.filter(|text| !says_nothing(text)));
        let (meta, terms) = match meta {
            None => (None, self.terms(responder, None)?),
            Some(text) => {
                let state = &self.conversation().state;
                let read = state.read_terms(text, &self.server.revisions);
                let (meta, terms) = read.map_err(|error| unfit(request, &error))??;
                self.attend(responder, &terms);
                (Some(meta), terms)
            }
        };
        if arguments.is_some_and(|arguments| !arguments.starts_with('{')) {
            return Err(RpcError::invalid_params("arguments must be an object"));
        }
        let tool = Primitive::Tool(&params.name);
        self.admit(&self.access(request, responder, Some(tool), &terms, meta.as_deref()))?;
        let Some(entry) = self.server.tools.find(&params.name) else {
            return Err(tool.unknown());
        };
        if let Some(objection) = responder.objection() {
            return Err(objection.clone());
        }
        let start = match &self.server.tasks {
            Some(tasks) => tasks.decide(&entry.item, &terms, params.task.as_ref())?,
            None => None,
        };
        let fit = entry.handler.check_arguments(arguments.unwrap_or("{}"));
        let asker = InputRequester {
            target: match params.name {
                Cow::Borrowed(name) => TextSpan::of(request, name),
                Cow::Owned(name) => TextSpan::Written(name.into()),
            },
            arguments: arguments.map(|text| TextSpan::of(request, text)),
            again: entry,
        };
        let call = AdmittedRequest {
            asker,
            terms,
            meta,
            request_state: params.request_state,
            input_responses: params.input_responses,
            start,
        };
        Ok((call, fit))
    }
}

impl Rerun for Entry {
    fn run(self: Arc<Self>, context: Context) {
        let Work {
            handler,
            output_check,
            ..
        } = &self.handler;
        handler(ToolCall::new(context, output_check.clone()));
    }
}

impl Inner {
    /// Adds a tool, and notifies the clients of the change. Fails if the tool's name or a schema is
    /// invalid or missing, or if the tool may run as a task but the server has no tasks.
    pub(in crate::server) fn add_tool(&self, new: NewTool) -> Result<()> {
        let execution = new.tool.execution.as_ref();
        let support = execution.and_then(|execution| execution.task_support.as_ref());
        if self.tasks.is_none() && support.is_some_and(|it| *it != TaskSupport::Forbidden) {
            return Err(Error::invalid(format!(
                "tool '{}' is to be run as a task: switch tasks on with ServerBuilder::tasks",
                Excerpt(&new.tool.name)
            )));
        }
        tools::add(&self.tools, new, self.validator.as_ref())?;
        self.declare_tools();
        self.subscriptions.publish(Change::Tools);
        Ok(())
    }

    /// Declares the capability.
    pub(in crate::server) fn declare_tools(&self) {
        self.declared.tools.get_or_init(|| &METHODS);
    }
}
