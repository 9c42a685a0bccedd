//! Options of a client: identity, protocol revisions and callbacks.

use std::ffi::c_char;
use std::sync::Arc;

use super::endpoint::Endpoint;
use super::shared::{Hooks, Timeouts, set_by_method};
use crate::cffi::arg;
use crate::cffi::arg::{invalid, set_given};
use crate::cffi::cancel::{mcplink_cancel_t, optional_token};
use crate::cffi::entry::{free, own, value};
use crate::cffi::event::mcplink_event_fn;
use crate::cffi::handle::enter;
use crate::cffi::json::typed;
use crate::cffi::log::{self, mcplink_log_fn};
use crate::cffi::pump::mcplink_pump_t;
use crate::cffi::queue::Queue;
use crate::cffi::refusal::{Refusal, Settings, set};
use crate::cffi::tap::Wrap;
use crate::cffi::text::{self, name, optional, payload};
use crate::cffi::threads::ThreadOptions;
use crate::cffi::user::Hook;
use crate::client::{Client, ClientBuilder, Era, ResponseCache, Restart};
use crate::protocol::CancelToken;
use crate::schema::{Implementation, ProtocolVersion};
use crate::transport::Limits;
use crate::validation::Validator;

/// Options of a client. Opening a client copies the options. The options remain the caller's, and
/// may be used to open several clients.
pub struct mcplink_client_options_t {
    info: Implementation,
    pub(super) endpoint: Endpoint,
    pub(super) hooks: Hooks,
    pub(super) timeouts: Timeouts,
    pub(super) limits: Limits,
    pub(super) threads: ThreadOptions,
    pub(super) pump: Option<Arc<Queue>>,
    pub(super) cancel: Option<CancelToken>,
    pub(super) max_started: usize,
    pub(super) restart: Option<Restart>,
    pub(super) resends: bool,
    /// Wraps the transport in a tap, if the host sees the messages.
    pub(super) tap: Option<Wrap>,
    /// Makes the validator of the host for the client with this number. Only its setter has the
    /// code, so that a program without a validator is linked without it.
    pub(super) validator: Option<Box<dyn Fn(u64) -> Validator>>,
    takes_tasks: bool,
    pub(super) cache: Option<ResponseCache>,
    /// The builder of the Rust API. `None` only while a setter changes the builder.
    builder: Option<ClientBuilder>,
    refusal: Refusal,
}

object!(mcplink_client_options_t is ClientOptions);

use mcplink_client_options_t as Options;

enumeration! {
    /// The era of a server: the era of the protocol revision that the client and the server use.
    #[repr(C)]
    pub enum mcplink_era {
        /// The era is unknown, or has to be detected.
        MCPLINK_ERA_UNKNOWN = 0,
        /// The legacy era: revisions up to 2025-11-25.
        MCPLINK_ERA_LEGACY = 501,
        /// The modern era: revision 2026-07-28 and later revisions.
        MCPLINK_ERA_MODERN = 502,
    }
}

impl From<Era> for mcplink_era {
    fn from(era: Era) -> Self {
        match era {
            Era::Legacy => Self::MCPLINK_ERA_LEGACY,
            Era::Modern => Self::MCPLINK_ERA_MODERN,
        }
    }
}

impl mcplink_era {
    /// Reads an era that C passes. Returns `None` for an unknown era.
    pub(super) fn known(era: i32) -> crate::error::Result<Option<Era>> {
        Ok(match Self::read(era, "era")? {
            Self::MCPLINK_ERA_UNKNOWN => None,
            Self::MCPLINK_ERA_LEGACY => Some(Era::Legacy),
            Self::MCPLINK_ERA_MODERN => Some(Era::Modern),
        })
    }
}

impl Settings for Options {
    const TARGET: &'static str = "client";

    fn refusal(&self) -> &Refusal {
        &self.refusal
    }

    fn log(&self) -> Option<Arc<log::Hook>> {
        self.hooks.log.clone()
    }
}

impl Options {
    fn new() -> Self {
        let (name, version) = (env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));
        Self {
            info: Implementation::new(name, version),
            endpoint: Endpoint::default(),
            hooks: Hooks::default(),
            timeouts: Timeouts::default(),
            limits: Limits::default(),
            threads: ThreadOptions::default(),
            pump: None,
            cancel: None,
            max_started: 256,
            restart: None,
            resends: false,
            tap: None,
            validator: None,
            takes_tasks: false,
            cache: None,
            // A blocking call on the pump's thread is the only one that can run handlers there.
            builder: Some(Client::builder(name, version).max_concurrent_inputs(1)),
            refusal: Refusal::default(),
        }
    }

    /// Changes the builder of the Rust API with `change`.
    pub(super) fn build(&mut self, change: impl FnOnce(ClientBuilder) -> ClientBuilder) {
        self.builder = self.builder.take().map(change);
    }

    /// Returns a copy of the builder of the Rust API, without callbacks.
    pub(super) fn builder(&self) -> ClientBuilder {
        let builder = self.builder.clone().expect("setters give it back");
        let mut builder = builder.info(self.info.clone()).limits(self.limits.clone());
        if self.takes_tasks {
            builder = builder.tasks();
        }
        builder = set_given(builder, self.cache.as_ref(), ClientBuilder::cache);
        match self.restart.clone() {
            Some(restart) => builder.restart(restart.retry_idempotent_calls(self.resends)),
            None => builder,
        }
    }
}

/// Makes client options with the default values. An endpoint must be set: a command, a URL, two
/// descriptors or a transport.
///
/// Returns: the options. The caller owns them and frees them with mcplink_client_options_free.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn mcplink_client_options_new() -> *mut mcplink_client_options_t {
    value(std::ptr::null_mut(), || own(Options::new()))
}

/// Frees client options. Clients that were opened with them continue.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mcplink_client_options_free(options: *mut mcplink_client_options_t) {
    // SAFETY: the header requires options of this library, freed once.
    unsafe { free(options) }
}

actions! {
    set(options: mcplink_client_options_t);

    /// Sets the name and version of the client. Default: the name and version of this library.
    ///
    /// name: the name, for programs.
    /// version: the version, any text.
    fn mcplink_client_options_set_info(name: *const c_char, version: *const c_char) {
        let (name, version) = (text::name(name, "name")?, text::name(version, "version")?);
        options.info.name = name.to_owned();
        options.info.version = version.to_owned();
    }

    /// Sets the display name of the client, for people who look after servers.
    ///
    /// title: the title; NULL for no title.
    fn mcplink_client_options_set_title(title: *const c_char) {
        options.info.title = optional(title, "title")?.map(str::to_owned);
    }

    /// Sets the description of the client.
    ///
    /// description: the description; NULL for no description.
    fn mcplink_client_options_set_description(description: *const c_char) {
        options.info.description = optional(description, "description")?.map(str::to_owned);
    }

    /// Sets the URL of the client's website.
    ///
    /// website: the URL; NULL for no URL.
    fn mcplink_client_options_set_website(website: *const c_char) {
        options.info.website_url = optional(website, "website")?.map(str::to_owned);
    }

    /// Sets the icons of the client.
    ///
    /// icons, len: a JSON array of objects with "src"; len may be MCPLINK_NUL for text that ends in
    /// NUL. NULL for no icons.
    fn mcplink_client_options_set_icons(icons: *const c_char, len: usize) {
        options.info.icons = typed(icons, len, "icons")?;
    }

    /// Sets the protocol revisions that may be used. Default: all revisions that the library
    /// supports. The client uses the newest revision that the server supports too. One revision
    /// alone is for tests, and for servers that misbehave with a newer one.
    ///
    /// revisions: the dates of the revisions, separated by spaces: "2025-11-25 2026-07-28".
    /// Returns: MCPLINK_OK; MCPLINK_E_INVALID for an empty list, MCPLINK_E_UNSUPPORTED for a
    /// revision that this library does not know.
    fn mcplink_client_options_set_revisions(revisions: *const c_char) {
        let dates = name(revisions, "revisions")?.split_ascii_whitespace();
        let revisions = dates.map(str::parse::<ProtocolVersion>);
        let revisions = revisions.collect::<Result<Vec<_>, _>>()?;
        if revisions.is_empty() {
            return Err(invalid("a client needs at least one revision").into());
        }
        options.build(|builder| builder.revisions(&revisions));
    }
}

actions! {
    set(options: mcplink_client_options_t);

    /// Sets the expected era of the server, so that the detection is skipped. Use the value of
    /// mcplink_client_era from an earlier connection. If the server proves to be of the other era,
    /// the client uses that era.
    ///
    /// era: the era; MCPLINK_ERA_UNKNOWN changes nothing.
    fn mcplink_client_options_set_era(era: arg::mcplink_era) {
        if let Some(era) = mcplink_era::known(era)? {
            options.build(|builder| builder.era(era));
        }
    }

    /// Sets the pump of the client. The callbacks of the client then run on the thread that
    /// dispatches the pump. Without a pump they run on a thread of the client.
    ///
    /// pump: the pump. The pump must not be freed before the client. NULL for no pump.
    fn mcplink_client_options_set_pump(pump: *mut mcplink_pump_t) {
        options.pump = if pump.is_null() {
            None
        } else {
            Some(Arc::clone(enter(pump, "pump")?.queue()))
        };
    }

    /// Sets a token that can cancel connecting from another thread. When connecting is cancelled,
    /// opening fails with MCPLINK_E_CANCELLED.
    ///
    /// cancel: the token. The token may be freed before the options. NULL for no token.
    fn mcplink_client_options_set_cancel(cancel: *mut mcplink_cancel_t) {
        options.cancel = optional_token(cancel)?;
    }

    /// Sets whether servers may answer tool calls with tasks. If so, the client declares the tasks
    /// extension to servers, and follows each task until its result arrives. Default: false.
    ///
    /// enabled: true to accept tasks.
    fn mcplink_client_options_set_tasks(enabled: bool) {
        options.takes_tasks = enabled
    }

    /// Adds an extension of the protocol, which the client declares to servers.
    ///
    /// id: the id of the extension, for example "com.example/thing".
    /// settings, len: a JSON object; empty for no settings. len may be MCPLINK_NUL for text that
    /// ends in NUL.
    /// Returns: MCPLINK_OK, or MCPLINK_E_INVALID. An invalid id is reported when the client is
    /// opened.
    fn mcplink_client_options_add_extension(
        id: *const c_char,
        settings: *const c_char,
        len: usize,
    ) {
        let id = name(id, "id")?;
        let text = if settings.is_null() {
            ""
        } else {
            payload(settings, len, "settings")?
        };
        let settings = if text.is_empty() { "{}" } else { text };
        let settings = serde_json::from_str(settings)
            .map_err(|error| invalid(format!("settings are no JSON object: {error}")))?;
        options.build(|builder| builder.extension(id, settings));
    }

    /// Sets the function that receives the events of the client: connection state, changes on the
    /// server, and log messages of the server.
    ///
    /// callback: the function; NULL for no function. The function runs on the thread that runs the
    /// client's callbacks, one event at a time and in order. At most 1024 changes and log messages
    /// wait. Further changes and log messages are dropped.
    /// user, destroy: passed to callback; destroy runs when another function is set, or when the
    /// options and all clients that use callback are freed.
    fn mcplink_client_options_on_event(callback: mcplink_event_fn; user) {
        options.hooks.event = Hook::new(callback, user);
    }

    /// Sets the function that receives the notifications of one method, for extensions of the
    /// protocol.
    ///
    /// method: the method, for example "notifications/com.example/thing".
    /// callback: receives MCPLINK_EVENT_NOTIFICATION and the params. NULL for no function. The
    /// function runs on the same thread as the function of mcplink_client_options_on_event.
    /// user, destroy: passed to callback; destroy runs when another function is set for the method,
    /// or when the options and all clients that use callback are freed.
    fn mcplink_client_options_on_notification(
        method: *const c_char,
        callback: mcplink_event_fn; user
    ) {
        let method = name(method, "method")?;
        set_by_method(
            &mut options.hooks.notifications,
            method,
            Hook::new(callback, user),
        );
    }

    /// Sets the log hook of the client. For this client, the log hook replaces the process-wide
    /// hook that was set with mcplink_set_log.
    ///
    /// level: the least severe level to report.
    /// callback: the log hook; NULL for no hook. It runs on any thread, also with a pump, and must
    /// be quick.
    /// user, destroy: passed to callback; destroy runs when another function is set, or when the
    /// options and all clients that use callback are freed.
    fn mcplink_client_options_on_log(
        level: arg::mcplink_log_level,
        callback: mcplink_log_fn; user
    ) {
        options.hooks.log = log::Hook::new(level, callback, user)?;
    }
}
