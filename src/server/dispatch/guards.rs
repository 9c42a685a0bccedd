//! Admission of requests: the host's guards, and the scopes that items require.

use std::collections::BTreeSet;

use super::super::error_map::{Failure, HandlerError, reveal};
use super::super::guard::GuardedRequest;
use super::super::inner::{Inner, ServerConnection};
use super::super::primitive::Primitive;
use super::super::session_state::ClientContext;
use crate::error::{Error, Excerpt, Result, RpcError};
use crate::jsonrpc::Request;
use crate::protocol::Responder;
use crate::schema::RequestMetaObject;
use crate::schema::url::normalized;

impl ServerConnection {
    /// Checks the required scopes, then calls the guards until one refuses.
    pub(in crate::server) fn ask_guards(
        &self,
        access: &GuardedRequest<'_>,
    ) -> Result<(), HandlerError> {
        let mut guards = self.server.services.guards.iter();
        let admitted = self.check_scopes(access);
        let admitted = admitted.and_then(|()| guards.try_for_each(|guard| guard.admit(access)));
        match &admitted {
            Err(HandlerError(Failure::Scopes(scopes))) => access.responder.demand(scopes),
            Err(HandlerError(Failure::Protocol(_))) => access.responder.refused_by_guard(),
            _ => {}
        }
        admitted
    }

    /// Checks whether a request may continue. If a guard refuses the request, returns the error for
    /// the client.
    pub(in crate::server) fn admit(&self, access: &GuardedRequest<'_>) -> Result<(), RpcError> {
        self.admit_as(access, access.primitive)
    }

    /// Checks whether a request may continue. If a guard refuses the request, returns the error for
    /// the client. The error "not found" names the item `named`.
    pub(in crate::server) fn admit_as(
        &self,
        access: &GuardedRequest<'_>,
        named: Option<Primitive<'_>>,
    ) -> Result<(), RpcError> {
        self.admit_or(access, || match named {
            Some(primitive) => primitive.unknown(),
            None => RpcError::method_not_found(access.method),
        })
    }

    /// Checks whether a request about an item may continue. If a guard hides the item, returns the
    /// error `unknown`, as for an item that does not exist.
    pub(in crate::server) fn admit_or(
        &self,
        access: &GuardedRequest<'_>,
        unknown: impl FnOnce() -> RpcError,
    ) -> Result<(), RpcError> {
        self.ask_guards(access).map_err(|error| match error.0 {
            Failure::NotFound => unknown(),
            other => {
                let peer = access.responder.peer();
                reveal(&peer, access.method, other, ("guard of", access.method))
            }
        })
    }

    /// Returns whether all guards allow an item to be on a list.
    pub(in crate::server) fn shows(&self, item: &GuardedRequest<'_>) -> bool {
        let mut guards = self.server.services.guards.iter();
        guards.all(|guard| guard.shows(item))
    }

    /// Refuses a request if its client lacks a scope that its item requires.
    fn check_scopes(&self, access: &GuardedRequest<'_>) -> Result<(), HandlerError> {
        let primitive = access.primitive();
        let Some(primitive) = primitive.filter(|_| !self.server.requirements.is_empty()) else {
            return Ok(());
        };
        let needed = self.server.scopes_of(primitive);
        if self.conversation().grants(access.responder, &needed) {
            return Ok(());
        }
        Err(HandlerError(Failure::Scopes(needed)))
    }

    /// Returns the [`GuardedRequest`] that describes a request to the guards.
    pub(in crate::server) fn access<'a>(
        &'a self,
        request: &'a Request,
        responder: &'a Responder,
        primitive: Option<Primitive<'a>>,
        terms: &'a ClientContext,
        meta: Option<&'a RequestMetaObject>,
    ) -> GuardedRequest<'a> {
        GuardedRequest {
            method: request.method(),
            params: request.params(),
            primitive,
            terms,
            meta,
            conversation: self.conversation(),
            responder,
        }
    }
}

impl Inner {
    /// Checks that the server has every item for which scopes are required.
    pub(in crate::server) fn check_requirements(&self) -> Result<()> {
        self.requirements.try_for_each(|of| self.check_known(of))
    }

    /// Checks that the server has the item for which scopes are required.
    pub(in crate::server) fn check_known(&self, of: Primitive<'_>) -> Result<()> {
        let (is_there, noun, name) = match of {
            Primitive::Tool(name) => (self.tools.find(name).is_some(), "tool", name),
            Primitive::Prompt(name) => (self.prompts.find(name).is_some(), "prompt", name),
            Primitive::Resource(uri) => {
                let is_there = self.find_resource(uri).is_some() || self.template_of(uri).is_some();
                (is_there, "resource", uri)
            }
            Primitive::ResourceTemplate(template) => {
                let is_there = self.templates.find(template).is_some();
                (is_there, "resource template", template)
            }
        };
        if is_there {
            return Ok(());
        }
        Err(Error::invalid(format!(
            "scopes are required for the {noun} '{}', which is not there: add it before, or write a guard",
            Excerpt(name)
        )))
    }

    /// Returns the scopes that an item requires.
    fn scopes_of(&self, primitive: Primitive<'_>) -> BTreeSet<String> {
        let Primitive::Resource(uri) = primitive else {
            return self.requirements.needed(primitive, None, |_| false);
        };
        let template = match self.find_resource(uri) {
            None => self.template_of(uri),
            Some(_) => None,
        };
        let own = normalized(uri);
        self.requirements
            .needed(primitive, template.as_deref(), |named| match &template {
                Some(_) => self.reads_alike(named, uri),
                None => normalized(named) == own,
            })
    }
}
