//! Requests about resources.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::super::asking::AdmittedRequest;
use super::super::catalogue::{Entry, Listed};
use super::super::error_map::{for_revision, resource_not_found};
use super::super::event_bus::Change;
use super::super::guard::GuardedRequest;
use super::super::inner::{Inner, Row, ServerConnection};
use super::super::mrtr::{InputRequester, TextSpan};
use super::super::paging::List;
use super::super::primitive::Primitive;
use super::super::resources::{self, Pattern, ReadHandler, Reading, ResourceRead, check_uri};
use super::super::uri::{UriTemplate, Values};
use super::{read, send};
use crate::error::{Error, Result, RpcError};
use crate::jsonrpc::Request;
use crate::protocol::Responder;
use crate::schema::url::{normalized, percent_decoded};
use crate::schema::{ReadResourceRequestParams, Resource, ResourceTemplate, method};

const METHODS: [Row; 5] = [
    (method::RESOURCES_LIST, |this, request, responder| {
        this.list(&request, responder, List::Resources, &this.server.resources);
    }),
    (
        method::RESOURCES_TEMPLATES_LIST,
        |this, request, responder| {
            let list = List::ResourceTemplates;
            this.list(&request, responder, list, &this.server.templates);
        },
    ),
    (method::RESOURCES_READ, ServerConnection::read_resource),
    (method::RESOURCES_SUBSCRIBE, |this, request, responder| {
        send(this.subscribe(&request, &responder), responder);
    }),
    (method::RESOURCES_UNSUBSCRIBE, |this, request, responder| {
        send(this.unsubscribe(&request, &responder), responder);
    }),
];

impl ServerConnection {
    fn read_resource(self: Arc<Self>, request: Request, responder: Responder) {
        match self.find_reading(&request, &responder) {
            Ok(call) => call.begin(self.conversation(), request, responder),
            Err(error) => send::<()>(Err(error), responder),
        }
    }

    fn find_reading(
        &self,
        request: &Request,
        responder: &Responder,
    ) -> Result<AdmittedRequest, RpcError> {
        let mut params: ReadResourceRequestParams = read(request)?;
        let terms = self.terms(responder, params.meta.as_mut())?;
        let found = self.server.find_resource(&params.uri);
        // Guards and scopes apply to the URI of the registered resource, however the client spells
        // it.
        let uri = found.as_ref().map_or(&params.uri, |entry| &entry.item.uri);
        let (resource, meta) = (Primitive::Resource(uri), params.meta.as_ref());
        let access = self.access(request, responder, Some(resource), &terms, meta);
        let reading = self.reader_of(&params.uri, found.as_deref(), &access);
        let reading = reading.map_err(|error| for_revision(error, terms.revision))?;
        Ok(AdmittedRequest {
            asker: InputRequester {
                target: TextSpan::Written(params.uri.into()),
                arguments: None,
                again: Arc::new(reading),
            },
            terms,
            meta: params.meta.map(Arc::new),
            request_state: params.request_state,
            input_responses: params.input_responses,
            start: None,
        })
    }

    /// Returns the handler of the resource `found`, or else of the first template that matches the
    /// URI. Also returns the input of the handler.
    fn reader_of(
        &self,
        uri: &str,
        found: Option<&Entry<Resource, ReadHandler>>,
        access: &GuardedRequest<'_>,
    ) -> Result<Reading, RpcError> {
        check_uri(uri)?;
        self.admit(access)?;
        let read = |mime_type: &Option<String>| ResourceRead {
            uri: uri.to_owned(),
            mime_type: mime_type.clone(),
            declared: None,
            variables: BTreeMap::new(),
        };
        let (handler, read) = if let Some(entry) = found {
            (&entry.handler, read(&entry.item.mime_type))
        } else if let Some((entry, variables)) = self.server.find_template(uri)
            && self.shows(&access.about(entry.item.primitive()))
        {
            let pattern = &entry.handler;
            let read = ResourceRead {
                declared: Some(Arc::clone(pattern.addresses.names())),
                variables,
                ..read(&entry.item.mime_type)
            };
            let handler = Arc::clone(&pattern.handler);
            return Ok(Reading { handler, read });
        } else if let Some(handler) = &self.server.unlisted_resources {
            (handler, read(&None))
        } else {
            return Err(resource_not_found(uri));
        };
        let handler = Arc::clone(handler);
        Ok(Reading { handler, read })
    }
}

impl Inner {
    /// Adds a resource, declares the capability, and notifies the clients of the change. Fails if a
    /// skill has a file with the URI.
    pub(in crate::server) fn add_resource(
        &self,
        resource: Resource,
        handler: ReadHandler,
    ) -> Result<()> {
        let of_skills = self.skills.as_ref();
        if of_skills.is_some_and(|skills| skills.find(&resource.uri).is_some()) {
            let text = "a skill has a file with the URI of the resource";
            return Err(Error::invalid(text));
        }
        resources::add(&self.resources, resource, handler)?;
        self.declare_resources();
        self.subscriptions.publish(Change::Resources);
        Ok(())
    }

    /// Adds a resource template, and declares the capability.
    pub(in crate::server) fn add_template(
        &self,
        template: ResourceTemplate,
        handler: ReadHandler,
    ) -> Result<()> {
        resources::add_template(&self.templates, template, handler)?;
        self.declare_resources();
        self.subscriptions.publish(Change::Resources);
        Ok(())
    }

    /// Declares the capability, which covers single resources and templates.
    pub(in crate::server) fn declare_resources(&self) {
        self.declared.resources.get_or_init(|| &METHODS);
        self.services.may_embed.store(true, Ordering::Relaxed);
    }

    /// Returns the resource with this URI or with another spelling of this URI.
    pub(in crate::server) fn find_resource(
        &self,
        uri: &str,
    ) -> Option<Arc<Entry<Resource, ReadHandler>>> {
        let of_skills = self.skills.as_ref().and_then(|skills| skills.find(uri));
        of_skills.or_else(|| self.resources.find_alike(uri, normalized))
    }

    /// Returns the first template that matches a URI, with the values of its variables. A match of
    /// the exact URI is preferred to a match of the normalized URI.
    fn find_template(&self, uri: &str) -> Option<(Arc<Entry<ResourceTemplate, Pattern>>, Values)> {
        let templates = self.templates.entries();
        let first = |values_of: &dyn Fn(&UriTemplate) -> Option<Values>| {
            templates.iter().find_map(|entry| {
                let values = values_of(&entry.handler.addresses)?;
                Some((Arc::clone(entry), values))
            })
        };
        first(&|template| template.matches(uri)).or_else(|| {
            if templates.is_empty() {
                return None;
            }
            let uri = normalized(uri);
            first(&|template| template.matches_normalized(&uri))
        })
    }

    /// Returns the text of the first template that matches a URI. The function is meant for URIs
    /// without a resource of their own.
    pub(in crate::server) fn template_of(&self, uri: &str) -> Option<String> {
        let (entry, _) = self.find_template(uri)?;
        Some(entry.item.uri_template.clone())
    }

    /// Returns whether two URIs read the same resource through the template that `other` matches.
    /// The variables of the template must have equal values in both URIs.
    pub(in crate::server) fn reads_alike(&self, one: &str, other: &str) -> bool {
        let Some((entry, other)) = self.find_template(other) else {
            return false;
        };
        let addresses = &entry.handler.addresses;
        let one = addresses
            .matches(one)
            .or_else(|| addresses.matches_normalized(&normalized(one)));
        let Some(one) = one else { return false };
        let plain = |value: &String| percent_decoded(value).unwrap_or_else(|| value.clone());
        one.keys().eq(other.keys()) && one.values().map(plain).eq(other.values().map(plain))
    }
}
