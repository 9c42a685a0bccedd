//! Requests about prompts.

use std::sync::Arc;

use super::super::asking::AdmittedRequest;
use super::super::event_bus::Change;
use super::super::inner::{Inner, Row, ServerConnection};
use super::super::mrtr::{InputRequester, TextSpan};
use super::super::paging::List;
use super::super::primitive::Primitive;
use super::super::prompts::{self, PromptHandler};
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
        match self.find_prompt(&request, &responder) {
            Ok(call) => call.begin(self.conversation(), request, responder),
            Err(error) => send::<()>(Err(error), responder),
        }
    }

    fn find_prompt(
        &self,
        request: &Request,
        responder: &Responder,
    ) -> Result<AdmittedRequest, RpcError> {
        let mut params: GetPromptRequestParams = read(request)?;
        let terms = self.terms(responder, params.meta.as_mut())?;
        let prompt = Primitive::Prompt(&params.name);
        self.admit(&self.access(
            request,
            responder,
            Some(prompt),
            &terms,
            params.meta.as_ref(),
        ))?;
        let entry = self.server.prompts.find(&params.name);
        let entry = entry.ok_or_else(|| prompt.unknown())?;
        let arguments = params.arguments.unwrap_or_default();
        prompts::check(&entry.item, &arguments)?;
        let arguments = serde_json::to_string(&arguments);
        let arguments = arguments.map_err(|_| RpcError::internal("internal error"))?;
        Ok(AdmittedRequest {
            asker: InputRequester {
                target: TextSpan::Written(params.name.into()),
                arguments: Some(TextSpan::Written(arguments.into())),
                again: entry,
            },
            terms,
            meta: params.meta.map(Arc::new),
            request_state: params.request_state,
            input_responses: params.input_responses,
            start: None,
        })
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
        self.subscriptions.publish(Change::Prompts);
        Ok(())
    }

    /// Declares the capability.
    pub(in crate::server) fn declare_prompts(&self) {
        self.declared.prompts.get_or_init(|| &METHODS);
    }
}
