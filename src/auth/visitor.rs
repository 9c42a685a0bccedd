//! A login by a function of the host's.

use std::fmt;
use std::sync::Arc;

use super::login::{Login, UserAgent, Visit};
use super::secret::Secret;
use crate::error::Result;

/// What the host does about one login.
type VisitHook = Arc<dyn Fn(&Login<'_>) -> Result<Secret> + Send + Sync>;

/// A [`UserAgent`] that is a function: for hosts that have a way of their own to show a page and see where it leads.
///
/// # Examples
///
/// ```no_run
/// use mcplink::auth::{OAuth, Secret, Visitor};
///
/// # fn main() -> mcplink::Result<()> {
/// let visitor = Visitor::new("http://127.0.0.1:33418/callback", |login| {
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
pub struct Visitor {
    redirect: String,
    visit: VisitHook,
}

impl Visitor {
    /// Names where the authorization server sends the browser back to, and gives what happens: has [`Login::url`] opened, and returns the
    /// URL that the browser then came to. It runs on a thread of its own.
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

impl UserAgent for Visitor {
    fn prepare(&self, _: Option<&str>) -> Result<Box<dyn Visit>> {
        Ok(Box::new(self.clone()))
    }
}

impl Visit for Visitor {
    fn redirect_uri(&self) -> &str {
        &self.redirect
    }

    fn visit(self: Box<Self>, login: &Login<'_>) -> Result<Secret> {
        (self.visit)(login)
    }
}

impl fmt::Debug for Visitor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Visitor")
            .field("redirect_uri", &self.redirect)
            .finish_non_exhaustive()
    }
}
