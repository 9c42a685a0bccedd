//! A user agent that uses the system's browser. A loopback server of this library receives the
//! redirect.
//!
//! Spec: RFC 8252, sections 6, 7.3 and 8.3; Security Best Practices, "Opening URLs".

mod listener;
mod opener;
mod place;

use std::fmt;
use std::sync::Arc;

use self::listener::Listener;
use self::place::Place;
use super::login::{Login, LoginAttempt, UserAgent};
use super::secret::Secret;
use crate::error::Result;

/// A function of the host application that shows the login to the user.
type ShowHook = Arc<dyn Fn(&Login<'_>) + Send + Sync>;

/// A user agent that opens the system's browser, and receives the redirect with a loopback server.
///
/// The loopback server listens only while a login is in progress. If the port of the last login is
/// free and was registered, the server listens there. Otherwise it chooses a new port. The server
/// accepts one redirect: the one with the `state` of this login. Other requests get an error page.
///
/// The redirect URI is `http://127.0.0.1:PORT/callback`. Some authorization servers accept only one
/// spelling of this URI: [`host`](Self::host), [`port`](Self::port) and [`path`](Self::path) choose
/// the three parts. Whatever the URI, only this machine can reach the loopback server.
///
/// # Examples
///
/// ```
/// use mcplink::auth::{Browser, OAuth};
///
/// // A client that was registered with the redirect URI `http://127.0.0.1:3118/login`.
/// let browser = Browser::new()
///     .port(3118)
///     .path("/login")?
///     .show(|login| eprintln!("If no browser opens, visit {}", login.url()));
/// let oauth = OAuth::login(browser).build()?;
/// # Ok::<(), mcplink::Error>(())
/// ```
#[derive(Clone, Default)]
#[must_use]
pub struct Browser {
    place: Place,
    page: Option<Arc<str>>,
    show: Option<ShowHook>,
    opener: Opener,
}

/// The way in which the login's URL is opened.
#[derive(Clone, Debug, Default)]
enum Opener {
    #[default]
    System,
    Program(Arc<str>),
    None,
}

impl Browser {
    /// Makes a user agent for the system's browser, which is opened by `xdg-open` (`open` on
    /// macOS).
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a fixed port for the loopback server. Use it for clients that were registered with a
    /// fixed port. Defaults to any free port.
    pub fn port(mut self, port: u16) -> Self {
        self.place.port = port;
        self
    }

    /// Sets the host name of the redirect URI: `127.0.0.1` or `localhost`. Defaults to `127.0.0.1`,
    /// as RFC 8252, section 7.3, prefers. With `localhost` the loopback server listens at
    /// `127.0.0.1` and, where the system has IPv6, at `::1`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) for another host name.
    pub fn host(mut self, host: &str) -> Result<Self> {
        self.place.set_host(host)?;
        Ok(self)
    }

    /// Sets the path of the redirect URI, without a query. The path begins with `/`, or is empty.
    /// Defaults to `/callback`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Invalid`](crate::ErrorKind::Invalid) when the text is not the path of a URL.
    pub fn path(mut self, path: &str) -> Result<Self> {
        self.place.set_path(path)?;
        Ok(self)
    }

    /// Sets the page that the user sees at the end of the login: HTML without scripts. Defaults to
    /// a short text which says that the page can be closed.
    pub fn page(mut self, html: impl Into<String>) -> Self {
        self.page = Some(html.into().into());
        self
    }

    /// Sets a function that runs before the browser is opened. The host application can display the
    /// login's URL in the function. With this function, a failure to open the browser is not an
    /// error.
    pub fn show(mut self, show: impl Fn(&Login<'_>) + Send + Sync + 'static) -> Self {
        self.show = Some(Arc::new(show));
        self
    }

    /// Sets the program that opens URLs, instead of the system's program. The program gets the URL
    /// as its only argument, without a shell.
    pub fn program(mut self, program: impl Into<String>) -> Self {
        self.opener = Opener::Program(program.into().into());
        self
    }

    /// Sets that the user agent opens no browser. The function that the host application passes to
    /// [`show`](Self::show) then has to open the URL.
    pub fn without_opening(mut self) -> Self {
        self.opener = Opener::None;
        self
    }
}

impl fmt::Debug for Browser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Browser")
            .field("place", &self.place)
            .field("opener", &self.opener)
            .finish_non_exhaustive()
    }
}

impl UserAgent for Browser {
    fn prepare(&self, last: Option<&str>) -> Result<Box<dyn LoginAttempt>> {
        let listener = Listener::bind(&self.place, last)?;
        Ok(Box::new(Listening {
            redirect: listener.redirect_uri(),
            listener,
            browser: self.clone(),
        }))
    }
}

/// A login in progress, for which the loopback server waits for the redirect.
struct Listening {
    listener: Listener,
    redirect: String,
    browser: Browser,
}

impl LoginAttempt for Listening {
    fn redirect_uri(&self) -> &str {
        &self.redirect
    }

    fn visit(self: Box<Self>, login: &Login<'_>) -> Result<Secret> {
        let Browser {
            page, show, opener, ..
        } = &self.browser;
        if let Some(show) = show {
            show(login);
        }
        let opened = match opener {
            Opener::System => opener::open_system(login.url()),
            Opener::Program(program) => opener::open_with(program, login.url()),
            Opener::None => Ok(()),
        };
        if let (Err(error), None) = (opened, show) {
            return Err(error);
        }
        self.listener.wait(login, page.as_deref())
    }
}
