//! The server that a client connects to, and how its transport is made.

use std::ffi::OsString;
use std::sync::Arc;
#[cfg(feature = "http-client")]
use std::sync::Weak;
use std::time::Duration;

use super::events::Lines;
use super::shared::Shared;
use crate::cffi::arg::set_given;
#[cfg(feature = "http-client")]
use crate::cffi::auth::Made;
use crate::cffi::entry::Outcome;
#[cfg(feature = "http-client")]
use crate::cffi::fetch::HostClient;
#[cfg(feature = "http-client")]
use crate::cffi::output::mcplink_output_t;
#[cfg(feature = "http-client")]
use crate::cffi::user::call_back;
use crate::client::ServerConfig;
use crate::error::{Error, ErrorKind, Result};
#[cfg(feature = "http-client")]
use crate::transport::http::Http;
use crate::transport::sys::fd;
use crate::transport::{Child, Stderr, StderrTail, Transport};

enumeration! {
    /// The destination of the standard error of a child process.
    #[repr(C)]
    #[derive(Default)]
    pub enum mcplink_stderr {
        /// The standard error is captured, and its last 64 KiB are stored: see
        /// mcplink_client_stderr_tail and mcplink_error_peer_stderr. This is the default.
        #[default]
        MCPLINK_STDERR_CAPTURE = 1500,
        /// The standard error of the child is written to the standard error of this process.
        MCPLINK_STDERR_INHERIT = 1501,
        /// The standard error is discarded.
        MCPLINK_STDERR_DISCARD = 1502,
    }
}

/// The endpoint options of a client.
#[derive(Clone, Default)]
pub(super) struct Endpoint {
    /// The endpoints that were set, with the names of their setters. Exactly one endpoint must be
    /// set when the client is opened.
    ways: Vec<(&'static str, Arc<Way>)>,
    pub(super) env: Vec<(OsString, Variable)>,
    pub(super) inherits: Inherits,
    pub(super) directory: Option<OsString>,
    pub(super) stderr: mcplink_stderr,
    pub(super) pipes: bool,
    pub(super) dies_with_parent: bool,
    pub(super) headers: Vec<(String, String)>,
    pub(super) bearer: Option<String>,
    pub(super) proxy: Option<String>,
    pub(super) proxy_from_environment: bool,
    /// The trusted certificate authorities for servers over HTTPS, as PEM text.
    pub(super) roots: Option<Vec<u8>>,
    /// The PEM text of the client certificate, its chain and its private key.
    pub(super) certificate: Option<Vec<u8>>,
    pub(super) follows_redirects: Option<bool>,
    /// The function that adds OAuth authorization to requests. The function is set with the OAuth
    /// settings, so that a program without OAuth is linked without the OAuth code.
    #[cfg(feature = "http-client")]
    pub(super) authorize: Option<Authorize>,
    /// The function that sets the HTTP client of the host. The function is set with that client, so
    /// that a program without one is linked without its code.
    #[cfg(feature = "http-client")]
    pub(super) fetches: Option<Fetches>,
    pub(super) close: Option<Duration>,
}

/// Which environment variables of this process a child process inherits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Inherits {
    #[default]
    Usual,
    All,
    Nothing,
}

/// The setting of one environment variable of a child process.
#[derive(Clone)]
pub(super) enum Variable {
    Set(OsString),
    Passed,
    Removed,
}

#[cfg(feature = "http-client")]
type Fetches = fn(&Shared, Http) -> Http;

#[cfg(feature = "http-client")]
type Authorize = fn(&Made, Http, u64) -> Result<Http>;

/// A function that makes a transport. The setter of an endpoint stores this function, so that a
/// program is linked only with the transports that the program uses.
type Way = dyn Fn(&Endpoint, &Arc<Shared>) -> Outcome<Ready>;

/// A transport that is ready to be opened.
pub(super) struct Ready {
    pub(super) transport: Box<dyn Transport>,
    pub(super) tail: Option<StderrTail>,
}

impl<T: Transport + 'static> From<T> for Ready {
    fn from(transport: T) -> Self {
        Self {
            transport: Box::new(transport),
            tail: None,
        }
    }
}

/// Returns the transport of a child process, with the end of its standard error.
fn started(child: Child) -> Ready {
    let tail = Some(child.stderr_tail());
    let transport = Box::new(child);
    Ready { transport, tail }
}

impl Endpoint {
    /// Sets the endpoint with this name, and replaces an earlier endpoint with the same name.
    /// `None` removes the endpoint.
    pub(super) fn reach(
        &mut self,
        name: &'static str,
        way: Option<impl Fn(&Self, &Arc<Shared>) -> Outcome<Ready> + 'static>,
    ) {
        self.ways.retain(|(known, _)| *known != name);
        if let Some(way) = way {
            self.ways.push((name, Arc::new(way)));
        }
    }

    /// Makes the transport of the client. Fails unless exactly one endpoint is set. `shared` is the
    /// state of the future client.
    pub(super) fn transport(&self, shared: &Arc<Shared>) -> Outcome<Ready> {
        let found = match self.ways.as_slice() {
            [(_, way)] => return way(self, shared),
            [] => "none is set".to_owned(),
            several => {
                let names: Vec<&str> = several.iter().map(|(name, _)| *name).collect();
                format!("set are {}", names.join(" and "))
            }
        };
        let text = format!(
            "a client connects to exactly one of command, url, fds, transport, configured and instance (mcplink_client_options_set_...): {found}"
        );
        Err(Error::new(ErrorKind::Invalid, text).into())
    }

    /// Makes the transport to a child process that runs this command.
    pub(super) fn command(&self, command: &[OsString], shared: &Arc<Shared>) -> Outcome<Ready> {
        Ok(started(self.child(command, shared)))
    }

    /// Returns the transport to a server of a configuration file, with the settings of the host.
    pub(super) fn configured(&self, server: &ServerConfig, shared: &Arc<Shared>) -> Outcome<Ready> {
        if server.command().is_some() {
            return Ok(started(self.settled(server.child()?, shared)));
        }
        #[cfg(feature = "http-client")]
        if server.url().is_some() {
            return self.reached(server.http()?, shared);
        }
        // The error says what the file lacks.
        let transport = server.transport()?;
        Ok(Ready {
            transport,
            tail: None,
        })
    }

    fn child(&self, command: &[OsString], shared: &Arc<Shared>) -> Child {
        let (program, args) = command.split_first().expect("a command has a program");
        self.settled(Child::new(program).args(args), shared)
    }

    /// Applies the settings for commands to a child process.
    fn settled(&self, child: Child, shared: &Arc<Shared>) -> Child {
        let mut child = child
            .pipes(self.pipes)
            .die_with_parent(self.dies_with_parent);
        child = match self.inherits {
            Inherits::Usual => child,
            Inherits::All => child.inherit_env(),
            Inherits::Nothing => child.inherit_nothing(),
        };
        for (name, variable) in &self.env {
            child = match variable {
                Variable::Set(value) => child.env(name, value),
                Variable::Passed => child.pass_env(name),
                Variable::Removed => child.env_remove(name),
            };
        }
        child = set_given(child, self.directory.as_ref(), Child::current_dir);
        child = set_given(child, self.close, Child::grace);
        child.stderr(match self.stderr {
            mcplink_stderr::MCPLINK_STDERR_INHERIT => Stderr::Inherit,
            mcplink_stderr::MCPLINK_STDERR_DISCARD => Stderr::Discard,
            mcplink_stderr::MCPLINK_STDERR_CAPTURE if shared.hooks.stderr.is_some() => {
                Stderr::lines(Lines::taker(Arc::downgrade(shared)))
            }
            mcplink_stderr::MCPLINK_STDERR_CAPTURE => Stderr::Capture,
        })
    }

    #[cfg(feature = "http-client")]
    pub(super) fn http(&self, url: &str, shared: &Arc<Shared>) -> Outcome<Ready> {
        self.reached(Http::new(url)?, shared)
    }

    /// Applies the settings for URLs to an HTTP transport.
    #[cfg(feature = "http-client")]
    fn reached(&self, mut http: Http, shared: &Arc<Shared>) -> Outcome<Ready> {
        http = set_given(http, self.follows_redirects, Http::follow_redirects);
        for (name, value) in &self.headers {
            http = http.header(name, value);
        }
        if let Some(token) = &self.bearer {
            http = http.bearer(token);
        } else if shared.hooks.bearer.is_some() {
            // The connection may briefly outlive the handle, which owns the hook. So the connection
            // holds a weak reference.
            let shared = Arc::downgrade(shared);
            http = http.bearer_with(move || asked(&shared));
        } else if let Some((authorize, oauth)) = self.authorize.zip(shared.hooks.oauth.as_ref()) {
            http = authorize(oauth, http, shared.number)?;
        }
        if let Some(proxy) = &self.proxy {
            http = http.proxy(proxy);
        } else if self.proxy_from_environment {
            http = http.proxy_from_environment();
        }
        if let Some(pem) = &self.roots {
            http = trusting(http, pem)?;
        }
        if let Some(pem) = &self.certificate {
            http = presenting(http, pem)?;
        }
        if let Some(fetches) = self.fetches {
            http = fetches(shared, http);
        }
        http = set_given(http, self.close, Http::close_timeout);
        Ok(http.into())
    }

    #[cfg(not(feature = "http-client"))]
    pub(super) fn http(&self, _: &str, _: &Arc<Shared>) -> Outcome<Ready> {
        let text = "this library was built without clients over HTTP (feature 'http-client')";
        Err(Error::new(ErrorKind::Unsupported, text).into())
    }
}

#[cfg(feature = "tls")]
#[expect(clippy::unnecessary_wraps, reason = "there are builds that can't")]
fn trusting(http: Http, pem: &[u8]) -> Result<Http> {
    Ok(http.root_certificates(pem))
}

#[cfg(feature = "tls")]
#[expect(clippy::unnecessary_wraps, reason = "there are builds that can't")]
fn presenting(http: Http, pem: &[u8]) -> Result<Http> {
    Ok(http.client_certificate(pem, pem))
}

#[cfg(all(feature = "http-client", not(feature = "tls")))]
fn presenting(_: Http, _: &[u8]) -> Result<Http> {
    let text = "this library was built without HTTPS (feature 'tls'), so a client certificate is of no use: leave out \
                mcplink_client_options_set_client_certificate";
    Err(Error::new(ErrorKind::Unsupported, text))
}

#[cfg(all(feature = "http-client", not(feature = "tls")))]
fn trusting(_: Http, _: &[u8]) -> Result<Http> {
    let text = "this library was built without HTTPS (feature 'tls'), so root certificates are of no use: leave out \
                mcplink_client_options_set_root_certificates";
    Err(Error::new(ErrorKind::Unsupported, text))
}

/// Sets the HTTP client of the host for a transport.
#[cfg(feature = "http-client")]
pub(super) fn fetched(shared: &Shared, http: Http) -> Http {
    let Some(hook) = &shared.hooks.fetch else {
        return http;
    };
    let client = HostClient::new(hook, shared.number, shared.threads.clone());
    let client = shared.http_client.get_or_init(|| client);
    http.http_client(client.clone())
}

/// Returns the token that the host's function provides.
#[cfg(feature = "http-client")]
fn asked(shared: &Weak<Shared>) -> Result<String> {
    let refused = |text: String| Error::new(ErrorKind::Auth, text);
    let shared = shared.upgrade();
    let Some((number, hook)) = shared
        .as_ref()
        .and_then(|shared| Some((shared.number, shared.hooks.bearer.as_ref()?)))
    else {
        return Err(Error::new(ErrorKind::Closed, "the client was freed"));
    };
    let mut token = mcplink_output_t::text();
    // SAFETY: the header requires valid arguments.
    let status = call_back(number, || unsafe {
        (hook.callback)(hook.user.ptr(), token.as_mut_ptr())
    });
    match (status, token.take_text()) {
        (Some(0), Some(text)) if !text.trim().is_empty() => Ok(text),
        (Some(0), _) => Err(refused(
            "the function for tokens gave none (mcplink_output_set)".to_owned(),
        )),
        (Some(status), _) => Err(refused(format!(
            "the function for tokens returned {status}"
        ))),
        (None, _) => Err(refused("the function for tokens panicked".to_owned())),
    }
}

/// Duplicates a descriptor of the host. The host keeps its own descriptor.
pub(super) fn duplicate(fd: fd::Raw) -> Result<fd::Owned> {
    fd::duplicate_raw(fd)
        .map_err(|error| Error::io(format_args!("duplicating descriptor {fd}"), error))
}
