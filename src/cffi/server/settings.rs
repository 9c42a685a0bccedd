//! The options object of a server, and the code that builds a server with these options.

use std::ffi::c_char;
use std::sync::Arc;

use super::events::EventHooks;
use super::handler::{HandlerFn, Handlers, given};
use crate::cffi::answer::mcplink_handler_fn;
use crate::cffi::callback_executor::CallbackExecutor;
use crate::cffi::event::mcplink_server_event_fn;
use crate::cffi::log::{self, Hook};
use crate::cffi::queue::Queue;
use crate::cffi::refusal::{Refusal, Settings, set};
use crate::cffi::tap::Wrap;
use crate::cffi::text::name;
use crate::cffi::threads::ThreadOptions;
use crate::cffi::user::{self, UserData};
use crate::error::Result;
use crate::schema::Implementation;
use crate::server::{Server, ServerBuilder, StateKey};
use crate::transport::{Limits, Threads};

/// The options of a server. One thread at a time may use the options. A server copies the options
/// with which it is made.
pub struct mcplink_server_options_t {
    pub(super) info: Implementation,
    pub(super) pump: Option<Arc<Queue>>,
    pub(super) limits: Limits,
    pub(super) threads: ThreadOptions,
    pub(super) events: EventHooks,
    pub(super) state_keys: Vec<StateKey>,
    pub(super) claims_stdio: bool,
    pub(super) log: Option<Arc<Hook>>,
    /// Wraps the transport of each session in a tap, if the host sees the messages.
    pub(super) tap: Option<Wrap>,
    methods: Vec<Method>,
    /// Settings that differ from the default, each with a name and a function. The function applies
    /// the setting when the server is built. So defaults are those of the Rust API, and a program
    /// that never calls a setter is linked without the code of the setter's feature.
    more: Vec<(&'static str, Setting)>,
    refusal: Refusal,
}

object!(mcplink_server_options_t is ServerOptions);

/// A function that applies a setting when the server is built. The number is that of the server's
/// handle.
type Setting = Box<dyn Fn(ServerBuilder, u64) -> ServerBuilder>;

/// A custom method of the host, with its handler.
struct Method {
    name: String,
    callback: HandlerFn,
    user: Arc<UserData>,
}

impl Settings for mcplink_server_options_t {
    const TARGET: &'static str = "server";
    const CONSTRUCTOR: Option<&'static str> = Some("mcplink_server_options_new");

    fn refusal(&self) -> &Refusal {
        &self.refusal
    }

    fn log(&self) -> Option<Arc<Hook>> {
        self.log.clone()
    }
}

impl mcplink_server_options_t {
    pub(super) fn new(name: &str, version: &str) -> Self {
        Self {
            info: Implementation::new(name, version),
            pump: None,
            limits: Limits::default(),
            threads: ThreadOptions::default(),
            events: EventHooks::default(),
            state_keys: Vec::new(),
            claims_stdio: true,
            log: None,
            tap: None,
            methods: Vec::new(),
            more: Vec::new(),
            refusal: Refusal::default(),
        }
    }

    /// Replaces a setting. `None` restores the default.
    pub(super) fn set<T: Clone + 'static>(
        &mut self,
        name: &'static str,
        value: Option<T>,
        apply: impl Fn(ServerBuilder, T) -> ServerBuilder + 'static,
    ) {
        self.unset(name);
        if let Some(value) = value {
            self.add(name, move |builder| apply(builder, value.clone()));
        }
    }

    /// Adds a setting under a name. Earlier settings with this name remain.
    pub(super) fn add(
        &mut self,
        name: &'static str,
        setting: impl Fn(ServerBuilder) -> ServerBuilder + 'static,
    ) {
        self.add_for(name, move |builder, _| setting(builder));
    }

    /// Adds a setting under a name, as [`add`](Self::add) does. The setting gets the number of the
    /// server's handle.
    pub(super) fn add_for(
        &mut self,
        name: &'static str,
        setting: impl Fn(ServerBuilder, u64) -> ServerBuilder + 'static,
    ) {
        self.more.push((name, Box::new(setting)));
    }

    /// Removes the settings that were added under this name.
    pub(super) fn unset(&mut self, name: &'static str) {
        self.more.retain(|(known, _)| *known != name);
    }

    /// Builds the server. `owner` is the number of the server's handle.
    pub(super) fn build(
        &self,
        owner: u64,
        stage: &Arc<CallbackExecutor>,
        handlers: &Handlers,
        threads: &Threads,
    ) -> Result<Server> {
        let info = self.info.clone();
        let hook = self.log.clone();
        let mut builder = Server::builder(&*info.name, &*info.version)
            .info(info)
            .limits(self.limits.clone())
            .threads(threads)
            .on_log(move |record| log::tell(hook.as_ref(), owner, record));
        if !self.state_keys.is_empty() {
            builder = builder.state_keys(&self.state_keys);
        }
        for (_, setting) in &self.more {
            builder = setting(builder, owner);
        }
        builder = self.events.attach(builder, owner, stage);
        for method in &self.methods {
            let handler = handlers.adopt(owner, stage, method.callback, Arc::clone(&method.user));
            builder = builder.method(&method.name, move |request, responder| {
                handler.take_own(request, responder);
            });
        }
        builder.build()
    }
}

actions! {
    set(options: mcplink_server_options_t);

    /// Sets the handler for a custom method. The library itself handles the methods that the
    /// protocol defines.
    ///
    /// The JSON text that the handler passes to mcplink_responder_json is sent unchanged. So for
    /// clients of revisions since 2026-07-28 the text must contain the member "resultType".
    ///
    /// method: the method, for example "com.example/reindex". An earlier handler is replaced.
    /// callback: the handler; see mcplink_handler_fn. It runs on the same threads as other
    /// handlers.
    /// user, destroy: passed to callback; destroy runs when the handler is replaced, or when the
    /// options and all servers made with them are freed.
    fn mcplink_server_options_on_method(method: *const c_char, callback: mcplink_handler_fn; user) {
        let method = name(method, "method")?;
        let callback = given(callback)?;
        options.methods.retain(|known| known.name != method);
        options.methods.push(Method {
            name: method.to_owned(),
            callback,
            user: Arc::new(user),
        });
    }

    /// Sets the function that is called when sessions begin and end. A session begins when a client
    /// identifies itself. Clients of revisions before 2026-07-28 do so with "initialize", and newer
    /// clients with their first request. The session ends when its connection or HTTP session ends.
    /// Clients over HTTP that have no session cause no events. Clients of revisions since
    /// 2026-07-28 have no session over HTTP.
    ///
    /// callback: receives MCPLINK_SERVER_SESSION_BEGAN and MCPLINK_SERVER_SESSION_ENDED. NULL for
    /// no function. Events are delivered one at a time and in order, on a thread of the server or
    /// on the thread that dispatches its pump. The first requests of a session may be handled
    /// before its first event is delivered. Session events are never dropped; mcplink_server_free
    /// delivers the last events.
    /// user, destroy: passed to callback; destroy runs when another function is set, or when the
    /// options and all servers made with them are freed.
    fn mcplink_server_options_on_session(callback: mcplink_server_event_fn; user) {
        options.events.session = user::Hook::new(callback, user);
    }

    /// Sets the function that is called for incidents with clients. The function can count
    /// incidents, raise an alarm or block a client. Incidents are messages that are malformed, too
    /// long, too many or denied, and handlers that fail. Each kind of incident has its own event.
    /// The log has a record for most incidents.
    ///
    /// callback: receives all events of enum mcplink_server_event except those about sessions. NULL
    /// for no function. Events are delivered one at a time and in order, on a thread of the server
    /// or on the thread that dispatches its pump. At most 1024 events wait; further events are
    /// dropped.
    /// user, destroy: passed to callback; destroy runs when another function is set, or when the
    /// options and all servers made with them are freed.
    fn mcplink_server_options_on_event(callback: mcplink_server_event_fn; user) {
        options.events.event = user::Hook::new(callback, user);
    }
}
