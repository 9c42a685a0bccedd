//! The callbacks of a client, as set in its options.

use std::sync::Arc;

use super::Shared;
use crate::cffi::answer::mcplink_handler_fn;
use crate::cffi::auth::Made;
use crate::cffi::client::endpoint_options::mcplink_bearer_fn;
use crate::cffi::client::endpoint_options::mcplink_line_fn;
use crate::cffi::event::mcplink_event_fn;
use crate::cffi::log;
use crate::cffi::user::Callback;
use crate::cffi::user::Hook;
use crate::client::ClientBuilder;

pub(super) type EventFn = Callback<mcplink_event_fn>;
pub(super) type LineFn = Callback<mcplink_line_fn>;
pub(super) type BearerFn = Callback<mcplink_bearer_fn>;

pub(super) type HandlerFn = Callback<mcplink_handler_fn>;

/// The callbacks of one client. Copies share the callbacks; the user data is released with the last
/// copy.
#[derive(Clone, Default)]
pub(super) struct Hooks {
    pub(super) event: Option<Arc<Hook<EventFn>>>,
    pub(super) log: Option<Arc<log::Hook>>,
    pub(super) stderr: Option<Arc<Hook<LineFn>>>,
    pub(super) bearer: Option<Arc<Hook<BearerFn>>>,
    pub(super) oauth: Option<Arc<Made>>,
    /// The host's functions for notifications, each with its method.
    pub(super) notifications: Vec<(String, Arc<Hook<EventFn>>)>,
    pub(super) elicit: Option<Arc<Hook<HandlerFn>>>,
    pub(super) elicit_url: Option<Arc<Hook<HandlerFn>>>,
    pub(super) sample: Option<Arc<Hook<HandlerFn>>>,
    pub(super) roots: Option<Arc<Hook<HandlerFn>>>,
    /// The host's handlers for requests of custom methods, each with its method.
    pub(super) requests: Vec<(String, Arc<Hook<HandlerFn>>)>,
    /// The functions that register handlers with the builder of the client, each with the name of
    /// its setter. Each setter stores its function, so that a program without handlers is linked
    /// without these functions.
    pub(super) askers: Vec<(&'static str, Asker)>,
}

/// A function that registers a handler of the host with the builder of a client, if the handler is
/// set.
pub(super) type Asker = fn(ClientBuilder, &Arc<Shared>) -> ClientBuilder;

impl Hooks {
    pub(super) fn ask_by(&mut self, asker: (&'static str, Asker)) {
        self.askers.retain(|(known, _)| *known != asker.0);
        self.askers.push(asker);
    }

    /// Returns whether the client has handlers for requests from the server.
    pub(super) fn has_questions(&self) -> bool {
        let named = [&self.elicit, &self.elicit_url, &self.sample, &self.roots];
        !self.requests.is_empty() || named.into_iter().any(Option::is_some)
    }
}

/// Sets the hook of a method, or removes it if `hook` is `None`.
pub(super) fn set_by_method<F>(
    hooks: &mut Vec<(String, Arc<Hook<F>>)>,
    method: &str,
    hook: Option<Arc<Hook<F>>>,
) {
    hooks.retain(|(known, _)| known != method);
    hooks.extend(hook.map(|hook| (method.to_owned(), hook)));
}
