//! The checks before a request is served: its host, its origin and its credentials.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;

use super::super::denied::Denied;
use super::super::options::{Access, HttpOptions};
use super::super::pages::HttpPage;
use super::super::refusal::{DECIDING, Refusal, contradicted, contradiction, is_at};
use super::super::{guard, pages, paths};
use super::Served;
use crate::protocol::LogLevel;
use crate::protocol::principal::Principal;
use crate::server::events::ServerEventKind;
use crate::transport::http::HttpRequest;

impl Served {
    /// Checks the path, host, origin and authorization of a request, before its body is parsed.
    /// Returns the principal of the request.
    pub(super) fn let_in(&self, request: &HttpRequest<'_>) -> Result<Option<Principal>, Refusal> {
        let old = self.options.old_paths.as_ref();
        let is_old =
            old.is_some_and(|(stream, post)| is_at(request, stream) || is_at(request, post));
        if !is_at(request, &self.options.path) && !is_old {
            let text = format!(
                "nothing is served at this path; the endpoint is {}",
                self.options.path
            );
            return Err(Refusal::text(404, text));
        }
        self.check_host(request, guard::check)?;
        // Browsers send no credentials with a preflight request.
        if request.method == "OPTIONS" {
            return Ok(None);
        }
        let access = || match &self.options.access {
            Access::Open => Ok(None),
            Access::Checked(authenticate) => authenticate(request).map(Some),
            Access::Tokens(server) => server.admit(&self.options.path, request).map(Some),
        };
        // The check is the host's code, and may panic.
        let admitted = catch_unwind(AssertUnwindSafe(access));
        let panicked = |_| Err(Denied::unavailable("what checks it panicked"));
        admitted.unwrap_or_else(panicked).map_err(|denied| {
            if let Some((level, text)) = denied.for_host() {
                self.trouble(ServerEventKind::Denied, request, &text);
                self.log(level, || text);
            }
            self.challenger.refusal(denied)
        })
    }

    /// Refuses and reports a request that fails a check of its host.
    fn check_host(
        &self,
        request: &HttpRequest<'_>,
        check: impl FnOnce(&HttpOptions, &HttpRequest<'_>) -> Result<(), String>,
    ) -> Result<(), Refusal> {
        check(&self.options, request).map_err(|why| {
            let text = format!("a request was refused: {why}");
            self.trouble(ServerEventKind::Denied, request, &text);
            self.log(LogLevel::Warning, || text);
            Refusal::text(403, why)
        })
    }

    /// Returns the response to a request that is answered for everybody, also for pages of other
    /// sites: the health page, the metadata and the server card. While the server is closing, and
    /// for a contradictory head, every request is answered here.
    pub(super) fn public_answer(&self, request: &HttpRequest<'_>) -> Option<Refusal> {
        if let Some(name) = contradicted(request, &DECIDING) {
            return Some(Refusal::text(400, contradiction(name)));
        }
        if paths::is_health(&self.options, request) {
            return Some(self.health(request));
        }
        if self.closing.load(Ordering::SeqCst) {
            let refusal = Refusal::text(503, "the server is closing");
            return Some(refusal.header("Retry-After", "1"));
        }
        if let Access::Tokens(server) = &self.options.access
            && let Some(answer) = server.serve_metadata(&self.options.path, request)
        {
            return Some(answer);
        }
        let (path, card) = self.card.as_ref()?;
        // AMB-75
        is_at(request, path).then(|| self.page(card, request))
    }

    /// Returns the response to a request for a page.
    pub(super) fn page(&self, page: &HttpPage, request: &HttpRequest<'_>) -> Refusal {
        let checked = self.check_host(request, guard::check_host);
        checked.map_or_else(|refusal| refusal, |()| page.respond(request))
    }

    /// Returns the response to a request for the health page.
    fn health(&self, request: &HttpRequest<'_>) -> Refusal {
        if let Err(refusal) = self.check_host(request, guard::check_probe) {
            return refusal;
        }
        let flags = [&self.closing, &self.is_draining];
        let is_healthy = !flags.iter().any(|flag| flag.load(Ordering::SeqCst));
        pages::health(request, is_healthy)
    }
}
