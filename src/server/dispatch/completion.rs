//! Requests for completion.

use std::sync::Arc;

use super::super::call::Unanswered;
use super::super::completion::{
    CompletionCall, CompletionHandler, CompletionRequest, give, target,
};
use super::super::context::Context;
use super::super::inner::{Inner, Row, ServerConnection};
use super::super::primitive::Primitive;
use super::{read, send};
use crate::error::{Excerpt, Result, RpcError};
use crate::jsonrpc::Request;
use crate::protocol::Responder;
use crate::schema::{CompleteRequestParams, Completion, CompletionReference, method};

const METHODS: [Row; 1] = [(method::COMPLETION_COMPLETE, ServerConnection::complete)];

impl ServerConnection {
    fn complete(self: Arc<Self>, request: Request, responder: Responder) {
        let admitted = read(&request).and_then(|mut params: CompleteRequestParams| {
            let terms = self.terms(&responder, params.meta.as_mut())?;
            let (has, meta) = (self.has(&params.reference), params.meta.as_ref());
            let access = self.access(&request, &responder, Some(has), &terms, meta);
            self.admit_as(&access, Some(target(&params.reference)))?;
            self.check_argument(&params.reference, &params.argument.name)?;
            Ok((params, terms))
        });
        let (params, terms) = match admitted {
            Ok(admitted) => admitted,
            Err(error) => return send::<()>(Err(error), responder),
        };
        let (reference, argument) = (params.reference, params.argument);
        let handler = self.server.completers.find(&reference, &argument.name);
        let meta = params.meta.map(Arc::new);
        let Some(context) = Context::new(self.conversation(), request, responder, terms, meta)
        else {
            return;
        };
        let Some(handler) = handler else {
            // Answering fails when the client no longer waits. Then nothing is left to do.
            _ = give(context, Ok(Completion::default()));
            return;
        };
        let known = params.context.and_then(|context| context.arguments);
        handler(CompletionCall {
            call: Unanswered::new(context),
            completing: CompletionRequest {
                reference,
                argument: argument.name,
                value: argument.value,
                known: known.unwrap_or_default(),
            },
        });
    }

    /// Returns the item that a reference names: a prompt or a template. If the referenced URI is
    /// not a template but the URI of a single resource, returns the resource.
    fn has<'a>(&self, reference: &'a CompletionReference) -> Primitive<'a> {
        match target(reference) {
            Primitive::ResourceTemplate(uri)
                if self.server.templates.find(uri).is_none()
                    && self.server.resources.find(uri).is_some() =>
            {
                Primitive::Resource(uri)
            }
            target => target,
        }
    }

    /// Checks that the prompt or template exists and has this argument.
    fn check_argument(
        &self,
        reference: &CompletionReference,
        argument: &str,
    ) -> Result<(), RpcError> {
        let known = match reference {
            CompletionReference::Prompt(prompt) => {
                let entry = self.server.prompts.find(&prompt.name);
                let entry = entry.ok_or_else(|| target(reference).unknown())?;
                let arguments = entry.item.arguments.as_ref();
                arguments.is_none_or(|declared| declared.iter().any(|it| it.name == argument))
            }
            CompletionReference::Resource(template) => {
                match self.server.templates.find(&template.uri) {
                    Some(entry) => {
                        let names = entry.handler.addresses.names();
                        names.iter().any(|name| name == argument)
                    }
                    // A single resource has nothing to complete, but a client may name it.
                    None if self.server.resources.find(&template.uri).is_some() => true,
                    None => return Err(target(reference).unknown()),
                }
            }
        };
        if known {
            return Ok(());
        }
        let text = format!("there is no argument '{}'", Excerpt(argument));
        Err(RpcError::invalid_params(text))
    }
}

impl Inner {
    /// Adds a completer, and declares the capability.
    pub(in crate::server) fn add_completer(
        &self,
        reference: &CompletionReference,
        argument: &str,
        handler: CompletionHandler,
    ) -> Result<()> {
        self.completers.add(reference, argument, handler)?;
        self.declared.completions.get_or_init(|| &METHODS);
        Ok(())
    }
}
