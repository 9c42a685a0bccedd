//! The handlers of the proxy's tools, prompts, resources and completers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use mcplink::client::{CallOptions, Client, Requester};
use mcplink::protocol::CancelToken;
use mcplink::schema::{
    CompleteRequestParams, CompletionReference, CreateMessageRequestParams, CreateMessageResult,
    ElicitRequestParams, ElicitResult, ElicitationMode, LoggingLevel,
    LoggingMessageNotificationParams, Prompt, Root, Tool,
};
use mcplink::server::{CompletionCall, Context, PromptCall, ResourceCall, Server, ToolCall};
use mcplink::{ErrorKind, RpcError};
use serde_json::Value;
use serde_json::value::RawValue;

use super::exchange::{Call, Exchange, Outcome, error_for_client};
use super::inputs::{Inputs, with_tasks};
use super::shown::Shown;
use super::upstream::Upstream;
use super::{Proxy, attach};
use crate::print::note;

/// How long a server that may have a resource gets for reading it, while other servers may have it
/// too.
const GUESS: Duration = Duration::from_secs(30);

/// How long an answer of a server waits until the log messages that came before it are passed on.
/// They take that long only if a client does not read.
const PASSING_ON: Duration = Duration::from_secs(5);

/// The part of a call's `_meta` that the server gets too.
struct Passed {
    wants_progress: bool,
    log_level: Option<LoggingLevel>,
    client: Inputs,
    /// The inputs that the server may ask for.
    inputs: Inputs,
    members: Vec<(String, Value)>,
}

impl Passed {
    fn of(context: &Context, proxy: &Proxy) -> Self {
        let (meta, log) = (context.meta(), proxy.options.log.as_ref());
        let client = Inputs::of(&context.client().capabilities);
        let members = meta.extra.iter();
        Self {
            wants_progress: meta.progress_token.is_some(),
            log_level: meta.log_level.as_ref().or(log).cloned(),
            client,
            inputs: proxy.answered(client),
            members: members
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect(),
        }
    }

    /// Returns the options of a request of an exchange.
    fn options(&self, exchange: &Arc<Exchange>, timeout: Option<Duration>) -> CallOptions<'static> {
        let mut options = CallOptions::new()
            .no_timeout()
            .tag(exchange.id)
            .client_capabilities(with_tasks(self.inputs.capabilities()))
            .cancel_with(&exchange.cancel);
        if let Some(timeout) = timeout {
            options = options.timeout(timeout);
        }
        if let Some(level) = &self.log_level {
            options = options.log_level(level.clone());
        }
        for (key, value) in &self.members {
            options = options.meta(key, value.clone());
        }
        if self.wants_progress {
            let exchange = Arc::clone(exchange);
            options = options.on_progress(move |progress| exchange.progress(progress));
        }
        options
    }
}

/// Returns the error for a call to a server whose connection is lost.
pub(super) fn is_gone(server: &str, error: &str) -> RpcError {
    RpcError::internal(format!("server '{server}' is not connected: {error}"))
}

/// Returns the error for a call that runs when its program ends.
fn has_ended(program: &str) -> RpcError {
    RpcError::internal(format!(
        "the program '{program}' has ended before it answered the call"
    ))
}

impl Proxy {
    /// Waits for the program that the tool is attached to, if it is.
    fn ready(&self, cancel: &CancelToken) -> Result<(), RpcError> {
        let ready = |program: &Arc<_>| attach::Program::ready(program, cancel);
        self.program.as_ref().map_or(Ok(()), ready)
    }

    /// Shows the items that the servers list: those that are new or differ are added, and those
    /// that are gone are removed.
    pub(super) fn show(self: &Arc<Self>, server: &Server, shown: &mut Shown) {
        let noted = |upstream: &Upstream, what: &str, name: &str, added: mcplink::Result<()>| {
            if let Err(error) = added {
                let server = &upstream.name;
                note(&format!(
                    "mcplink: {server}: {what} {name} is left out: {error}"
                ));
            }
        };
        shown.update(
            |name, tool| {
                server.remove_tool(name);
                if let Some((upstream, tool)) = tool {
                    let added = self.add_tool(server, upstream, name, tool);
                    noted(upstream, "tool", name, added);
                }
            },
            |name, prompt| {
                server.remove_prompt(name);
                if let Some((upstream, prompt)) = prompt {
                    let added = self.add_prompt(server, upstream, name, prompt);
                    noted(upstream, "prompt", name, added);
                }
            },
            |uri, resource| {
                server.remove_resource(uri);
                if let Some((upstream, resource)) = resource {
                    let reader = self.reader(upstream);
                    let added = server.add_deferred_resource(resource.clone(), reader);
                    noted(upstream, "resource", uri, added);
                }
            },
            |uri, template| {
                server.remove_template(uri);
                if let Some((upstream, template)) = template {
                    let reference = CompletionReference::resource(uri);
                    let both = (&reference, &reference);
                    self.complete_too(server, upstream, both, variables(uri));
                    let reader = self.reader(upstream);
                    let added = server.add_deferred_template(template.clone(), reader);
                    noted(upstream, "template", uri, added);
                }
            },
        );
        if let Some(program) = &self.program {
            attach::show_tools(program, server, shown);
        }
    }

    fn add_tool(
        self: &Arc<Self>,
        server: &Server,
        upstream: &Arc<Upstream>,
        name: &str,
        tool: &Tool,
    ) -> mcplink::Result<()> {
        let (this, upstream, own) = (Arc::clone(self), Arc::clone(upstream), tool.name.clone());
        let mut tool = tool.clone();
        name.clone_into(&mut tool.name);
        server.add_deferred_tool(tool, move |call| this.call_tool(&upstream, &own, call))
    }

    fn add_prompt(
        self: &Arc<Self>,
        server: &Server,
        upstream: &Arc<Upstream>,
        name: &str,
        prompt: &Prompt,
    ) -> mcplink::Result<()> {
        let arguments = prompt.arguments.iter().flatten();
        let arguments = arguments.map(|argument| argument.name.clone());
        let ours = CompletionReference::prompt(name);
        let theirs = CompletionReference::prompt(&*prompt.name);
        self.complete_too(server, upstream, (&ours, &theirs), arguments.collect());
        let (this, upstream, own) = (Arc::clone(self), Arc::clone(upstream), prompt.name.clone());
        let mut prompt = prompt.clone();
        name.clone_into(&mut prompt.name);
        server.add_deferred_prompt(prompt, move |call| this.get_prompt(&upstream, &own, call))
    }

    /// Returns the handler that reads resources of one server.
    fn reader(
        self: &Arc<Self>,
        upstream: &Arc<Upstream>,
    ) -> impl Fn(ResourceCall) + Send + Sync + use<> {
        let (this, upstream) = (Arc::clone(self), Arc::clone(upstream));
        move |call| this.read_resource(vec![Arc::clone(&upstream)], call)
    }

    fn call_tool(self: &Arc<Self>, upstream: &Arc<Upstream>, own: &str, call: ToolCall) {
        let arguments = RawValue::from_string(call.raw_arguments().to_owned());
        let own = own.to_owned();
        let arguments = match arguments {
            Ok(arguments) => arguments,
            Err(error) => {
                let error = RpcError::invalid_params(error.to_string());
                return Call::Tool(call).answer(Outcome::Failed(error));
            }
        };
        self.run(upstream, Call::Tool(call), move |client, options| {
            let result = client.call_tool_raw(&own, &arguments, options())?;
            Ok(Outcome::Done(result, client.revision()))
        });
    }

    fn get_prompt(self: &Arc<Self>, upstream: &Arc<Upstream>, own: &str, call: PromptCall) {
        let arguments = match call.arguments::<BTreeMap<String, String>>() {
            Ok(arguments) => arguments,
            Err(error) => return Call::Prompt(call).answer(Outcome::Failed(error)),
        };
        let own = own.to_owned();
        self.run(upstream, Call::Prompt(call), move |client, options| {
            let pairs: Vec<(&str, &str)> = arguments
                .iter()
                .map(|(key, value)| (&**key, &**value))
                .collect();
            let result = client.get_prompt_raw(&own, &pairs, options())?;
            Ok(Outcome::Done(result, client.revision()))
        });
    }

    /// Reads a resource of the first of these servers that has it.
    pub(super) fn read_resource(
        self: &Arc<Self>,
        mut upstreams: Vec<Arc<Upstream>>,
        call: ResourceCall,
    ) {
        if upstreams.is_empty() {
            _ = call.not_found();
            return;
        }
        let upstream = upstreams.remove(0);
        let uri = call.read().uri().to_owned();
        let send = move |client: &Client, options: &mut dyn FnMut() -> CallOptions<'static>| {
            let result = client.read_resource_raw(&uri, options())?;
            Ok(Outcome::Done(result, client.revision()))
        };
        if upstreams.is_empty() {
            return self.run(&upstream, Call::Resource(call), send);
        }
        let this = Arc::clone(self);
        let next = move |call| match call {
            Call::Resource(call) => this.read_resource(upstreams, call),
            other => other.answer(Outcome::Failed(RpcError::internal("internal error"))),
        };
        self.run_or(&upstream, Call::Resource(call), send, Some(Box::new(next)));
    }

    /// Sends a call to a server with `send`, and answers the call with the outcome. `send` gets the
    /// client of the server and the function that makes the options of a request.
    fn run(
        self: &Arc<Self>,
        upstream: &Arc<Upstream>,
        call: Call,
        send: impl FnOnce(&Client, &mut dyn FnMut() -> CallOptions<'static>) -> mcplink::Result<Outcome>
        + Send
        + 'static,
    ) {
        self.run_or(upstream, call, send, None);
    }

    /// As [`run`](Self::run). If the server does not have what the call asks for, `next` gets the
    /// call.
    fn run_or(
        self: &Arc<Self>,
        upstream: &Arc<Upstream>,
        call: Call,
        send: impl FnOnce(&Client, &mut dyn FnMut() -> CallOptions<'static>) -> mcplink::Result<Outcome>
        + Send
        + 'static,
        next: Option<Box<dyn FnOnce(Call) + Send>>,
    ) {
        let passed = Passed::of(call.context(), self);
        let Some(exchange) = self.exchanges.begin(&upstream.name, call) else {
            return;
        };
        let (this, server) = (Arc::clone(self), Arc::clone(upstream));
        let limit = next.as_ref().map(|_| GUESS);
        let timeout = self.options.timeout.or(limit);
        upstream.gate.run(move || {
            let mut options = || passed.options(&exchange, timeout);
            let mut link = None;
            let connection = this.ready(&exchange.cancel);
            let sent = match connection.and_then(|()| this.connection(&server, passed.client)) {
                _ if exchange.cancel.is_triggered() => {
                    // The client has cancelled the call while it waited for a thread.
                    Err(RpcError::internal("cancelled"))
                }
                Err(error) => Err(error),
                Ok(connection) => match connection.link.error() {
                    Some(error) => Err(is_gone(&server.name, &error)),
                    None => {
                        link = Some(Arc::clone(&connection.link));
                        let sent = send(&connection.client, &mut options);
                        // The client gets no message of a call that it has cancelled.
                        if !exchange.cancel.is_triggered() {
                            connection.client.wait_for_notifications(PASSING_ON);
                        }
                        Ok(sent)
                    }
                },
            };
            let (outcome, is_settled) = match sent {
                Err(error) => (Outcome::Failed(error), true),
                Ok(Ok(outcome)) => (outcome, true),
                Ok(Err(error)) => {
                    if error.is_not_found()
                        && let Some(next) = next
                        && let Some(call) = this.exchanges.withdraw(&exchange)
                    {
                        return next(call);
                    }
                    let is_settled = error.kind() == ErrorKind::Peer;
                    let error = match link.and_then(|link| link.error()) {
                        Some(lost) if !is_settled => is_gone(&server.name, &lost),
                        _ if this.program.is_some() && error.kind() == ErrorKind::Closed => {
                            has_ended(&server.name)
                        }
                        _ => error_for_client(&server.name, &error),
                    };
                    (Outcome::Failed(error), is_settled)
                }
            };
            this.exchanges.end(&exchange, outcome, is_settled);
        });
    }

    /// Has the arguments of a prompt or template completed by its server. `references` are the
    /// proxy's reference and the server's.
    fn complete_too(
        self: &Arc<Self>,
        server: &Server,
        upstream: &Arc<Upstream>,
        references: (&CompletionReference, &CompletionReference),
        arguments: Vec<String>,
    ) {
        let capabilities = upstream.capabilities();
        if capabilities.is_none_or(|all| all.completions.is_none()) {
            return;
        }
        let (ours, theirs) = references;
        for argument in arguments {
            let (this, upstream, theirs) = (Arc::clone(self), Arc::clone(upstream), theirs.clone());
            let handler = move |call| {
                let (this, server, theirs) =
                    (Arc::clone(&this), Arc::clone(&upstream), theirs.clone());
                // The connection of the client does not wait for the server.
                upstream
                    .gate
                    .run(move || this.complete(&server, &theirs, call));
            };
            // A completer that is there already is that of an earlier list.
            _ = server.add_deferred_completer(ours, &argument, handler);
        }
    }

    fn complete(&self, upstream: &Upstream, reference: &CompletionReference, call: CompletionCall) {
        let asked = call.completing();
        let mut params =
            CompleteRequestParams::new(reference.clone(), asked.argument(), asked.value());
        for (name, value) in asked.all_known() {
            params = params.known(name, value);
        }
        let inputs = self.answered(Inputs::of(&call.context().client().capabilities));
        let mut options = CallOptions::new()
            .client_capabilities(with_tasks(inputs.capabilities()))
            .cancel_with(call.context().cancel_token());
        if let Some(timeout) = self.options.timeout {
            options = options.timeout(timeout);
        }
        let completed = match upstream.client() {
            Some(client) => client
                .complete_with(params, options)
                .map_err(|error| error_for_client(&upstream.name, &error)),
            None => Err(self.absent(upstream)),
        };
        // Answering fails only when the client no longer waits.
        _ = match completed {
            Ok(result) => call.respond(result.completion),
            Err(error) => call.refuse(&error),
        };
    }

    /// Passes the form of a server on to the client of the call.
    pub(super) fn elicit(
        &self,
        server: &str,
        params: &ElicitRequestParams,
        by: &Requester,
    ) -> ElicitResult {
        let exchange = self.exchanges.of_request(server, by);
        let answer = exchange.and_then(|exchange| {
            let mode = match params {
                ElicitRequestParams::Url(_) => ElicitationMode::Url,
                _ => ElicitationMode::Form,
            };
            exchange.ask(
                by,
                |client| client.supports_elicitation(mode),
                |context, key| context.elicit(key, params.clone()),
            )
        });
        match answer {
            Some(Ok(result)) => result,
            Some(Err(error)) => {
                note(&format!(
                    "mcplink: {server}: its question has no answer: {error}"
                ));
                ElicitResult::cancel()
            }
            None => ElicitResult::cancel(),
        }
    }

    /// Passes a request for the client's model on to the client of the call.
    pub(super) fn sample(
        &self,
        server: &str,
        params: &CreateMessageRequestParams,
        by: &Requester,
    ) -> Result<CreateMessageResult, RpcError> {
        let exchange = self.exchanges.of_request(server, by);
        let answer = exchange.and_then(|exchange| {
            exchange.ask(
                by,
                |client| client.sampling.is_some(),
                |context, key| context.sample(key, params.clone()),
            )
        });
        self.answer_of(server, answer)
    }

    /// Returns the roots of the command line, else those of the client of the call.
    pub(super) fn list_roots(&self, server: &str, by: &Requester) -> Result<Vec<Root>, RpcError> {
        if !self.options.roots.is_empty() {
            return Ok(self.options.roots.clone());
        }
        let exchange = self.exchanges.of_request(server, by);
        let answer = exchange.and_then(|exchange| {
            exchange.ask(by, |client| client.roots.is_some(), Context::list_roots)
        });
        Ok(self.answer_of(server, answer)?.roots)
    }

    fn answer_of<T>(
        &self,
        server: &str,
        answer: Option<Result<T, mcplink::server::AskError>>,
    ) -> Result<T, RpcError> {
        let error = match answer {
            Some(Ok(answer)) => return Ok(answer),
            Some(Err(error)) => error,
            None => {
                return Err(RpcError::internal("no call of a client needs this input"));
            }
        };
        note(&format!(
            "mcplink: {server}: its question has no answer: {error}"
        ));
        Err(match error.refusal() {
            Some(refusal) => refusal.clone(),
            None => RpcError::internal(error.to_string()),
        })
    }

    /// Passes a log message of a server on: to the client of its latest call. If that is not clear,
    /// only a client that is alone gets it.
    pub(super) fn log(&self, upstream: &str, message: &LoggingMessageNotificationParams) {
        let logger = match (&message.logger, self.is_single) {
            (Some(logger), true) => logger.clone(),
            (Some(logger), false) => format!("{upstream}/{logger}"),
            (None, _) => upstream.to_owned(),
        };
        let Some(server) = self.server.get() else {
            return;
        };
        // The latest call may end meanwhile.
        while let Some(exchange) = self.exchanges.latest(upstream) {
            let (message, logger) = (message.clone(), logger.clone());
            let is_passed = exchange.pass_on(move |context| {
                context.log(message.level, Some(&logger), &message.data);
            });
            if is_passed {
                return;
            }
        }
        // With several clients, it could be about the call of another client.
        if !self.exchanges.is_http() {
            // A level that the specification does not define is the only error.
            _ = server.log(message.level.clone(), Some(&logger), &message.data);
        }
    }

    /// Follows a resource for a client that subscribes to it: at the server that lists it, else at
    /// those that may have it.
    pub(super) fn follow(self: &Arc<Self>, uri: &str) {
        let upstreams = self.upstreams();
        let owner = upstreams.iter().find(|upstream| upstream.lists(uri));
        let owners = match owner {
            Some(owner) => vec![Arc::clone(owner)],
            None => self.candidates(uri),
        };
        for upstream in owners {
            let this = Arc::clone(self);
            upstream.follow(uri, move |uri| {
                if let Some(server) = this.server.get() {
                    server.resource_updated(uri);
                }
            });
        }
    }

    /// Follows the resources again that another server lists first since the lists have changed.
    pub(super) fn follow_moved(self: &Arc<Self>) {
        let upstreams = self.upstreams();
        for upstream in &upstreams {
            for uri in upstream.all_followed() {
                let owner = upstreams.iter().find(|upstream| upstream.lists(&uri));
                if owner.is_some_and(|owner| !Arc::ptr_eq(owner, upstream)) {
                    upstream.unfollow(&uri);
                    self.follow(&uri);
                }
            }
        }
    }

    /// Returns the servers that may have a resource which no server lists: those that list others of
    /// the same scheme. A server that is alone may have any.
    pub(super) fn candidates(&self, uri: &str) -> Vec<Arc<Upstream>> {
        let mut upstreams = self.upstreams();
        let has_none = |upstream: &Arc<Upstream>| {
            let capabilities = upstream.capabilities();
            capabilities.is_some_and(|all| all.resources.is_none())
        };
        upstreams.retain(|upstream| !has_none(upstream));
        if self.count > 1 {
            upstreams.retain(|upstream| upstream.may_have(uri));
        }
        upstreams
    }
}

/// Returns the names of the variables of a URI template.
fn variables(template: &str) -> Vec<String> {
    let expressions = template.split('{').skip(1);
    let expressions = expressions.filter_map(|text| Some(text.split_once('}')?.0));
    let names = expressions.flat_map(|expression| {
        let names = expression.trim_start_matches(['+', '#', '.', '/', ';', '?', '&']);
        names.split(',').map(|name| {
            let name = name.split(':').next().unwrap_or_default();
            name.trim_end_matches('*').to_owned()
        })
    });
    names.filter(|name| !name.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variables_of_a_template_are_found() {
        assert_eq!(variables("file:///{path}"), ["path"]);
        assert_eq!(variables("x://{+a,b*}/{?c:3}{}"), ["a", "b", "c"]);
        assert!(variables("x://{open").is_empty());
    }
}
