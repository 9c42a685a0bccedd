//! Requests about prompts.

use std::sync::Arc;

use super::super::context::Context;
use super::super::inner::{Inner, Row, ServerConnection};
use super::super::mrtr::{InputRequester, TextSpan};
use super::super::paging::List;
use super::super::primitive::Primitive;
use super::super::prompts::{self, Arguments, PromptEntry, PromptHandler};
use super::super::subscriptions::Event;
use super::{read, send};
use crate::error::{Result, RpcError};
use crate::jsonrpc::Request;
use crate::protocol::Responder;
use crate::schema::{GetPromptRequestParams, Prompt, method};

const METHODS: [Row; 2] = [
    (method::PROMPTS_LIST, |this, request, responder| {
        this.list(&request, responder, List::Prompts, &this.server.prompts);
    }),
    (method::PROMPTS_GET, ServerConnection::get_prompt),
];

impl ServerConnection {
    fn get_prompt(self: Arc<Self>, request: Request, responder: Responder) {
        let opened = read(&request).and_then(|mut params: GetPromptRequestParams| {
            let terms = self.terms(&responder, params.meta.as_mut())?;
            Ok((params, terms))
        });
        let (params, terms) = match opened {
            Ok(opened) => opened,
            Err(error) => return send::<()>(Err(error), responder),
        };
        let arguments = params.arguments.unwrap_or_default();
        let wanted = Primitive::Prompt(&params.name);
        let meta = params.meta.as_ref();
        let found = self
            .admit(&self.access(&request, &responder, Some(wanted), &terms, meta))
            .and_then(|()| self.find_prompt(&params.name, &arguments))
            .and_then(|entry| {
                let text = serde_json::to_string(&arguments);
                Ok((
                    entry,
                    text.map_err(|_| RpcError::internal("internal error"))?,
                ))
            });
        let (entry, text) = match found {
            Ok(found) => found,
            Err(error) => return send::<()>(Err(error), responder),
        };
        let meta = params.meta.map(Arc::new);
        let Some(context) = Context::new(self.conversation(), request, responder, terms, meta)
        else {
            return;
        };
        let asker = InputRequester {
            target: TextSpan::Written(params.name.into()),
            arguments: Some(TextSpan::Written(text.into())),
            again: entry,
        };
        asker.begin(
            context,
            params.request_state.as_deref(),
            params.input_responses,
            None,
        );
    }

    fn find_prompt(&self, name: &str, arguments: &Arguments) -> Result<Arc<PromptEntry>, RpcError> {
        let entry = self.server.prompts.find(name);
        let entry = entry.ok_or_else(|| Primitive::Prompt(name).unknown())?;
        prompts::check(&entry.item, arguments)?;
        Ok(entry)
    }
}

impl Inner {
    /// Adds a prompt, declares the capability, and notifies the clients of the change.
    pub(in crate::server) fn add_prompt(
        &self,
        prompt: Prompt,
        handler: PromptHandler,
    ) -> Result<()> {
        prompts::add(&self.prompts, prompt, handler)?;
        self.declare_prompts();
        self.subscriptions.publish(Event::PromptsChanged);
        Ok(())
    }

    /// Declares the capability.
    pub(in crate::server) fn declare_prompts(&self) {
        self.declared.prompts.get_or_init(|| &METHODS);
    }
}
