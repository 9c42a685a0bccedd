//! A user agent made from a function of the host application, for logins.

use std::fmt;
use std::sync::Arc;

use super::login::{Login, LoginAttempt, UserAgent};
use super::secret::Secret;
use crate::error::Result;

/// The host application's function that runs one login.
type VisitHook = Arc<dyn Fn(&Login<'_>) -> Result<Secret> + Send + Sync>;

/// A [`UserAgent`] made from a function, for applications that show the login page and receive the
/// redirect in their own way.
///
/// # Examples
///
/// ```no_run
/// use mcplink::auth::{OAuth, Secret, CallbackUserAgent};
///
/// # fn main() -> mcplink::Result<()> {
/// let visitor = CallbackUserAgent::new("http://127.0.0.1:33418/callback", |login| {
///     eprintln!("open {} and paste where it led:", login.url());
///     let mut line = String::new();
///     std::io::stdin().read_line(&mut line).map_err(|_| {
///         mcplink::Error::new(mcplink::ErrorKind::Io, "nobody types")
///     })?;
///     Ok(Secret::new(line.trim()))
/// });
/// let oauth = OAuth::login(visitor).build()?;
/// # drop(oauth);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct CallbackUserAgent {
    redirect: String,
    visit: VisitHook,
}

impl CallbackUserAgent {
    /// Makes a user agent from a redirect URI and a function. The function makes the user open
    /// [`Login::url`], and returns the URL to which the browser was redirected. The function runs
    /// on a thread of its own.
    pub fn new(
        redirect_uri: impl Into<String>,
        visit: impl Fn(&Login<'_>) -> Result<Secret> + Send + Sync + 'static,
    ) -> Self {
        Self {
            redirect: redirect_uri.into(),
            visit: Arc::new(visit),
        }
    }
}

impl UserAgent for CallbackUserAgent {
    fn prepare(&self, _: Option<&str>) -> Result<Box<dyn LoginAttempt>> {
        Ok(Box::new(self.clone()))
    }
}

impl LoginAttempt for CallbackUserAgent {
    fn redirect_uri(&self) -> &str {
        &self.redirect
    }

    fn visit(self: Box<Self>, login: &Login<'_>) -> Result<Secret> {
        (self.visit)(login)
    }
}

impl fmt::Debug for CallbackUserAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallbackUserAgent")
            .field("redirect_uri", &self.redirect)
            .finish_non_exhaustive()
    }
}
