//! Grant types: how a client obtains access tokens.

use std::ffi::c_void;
use std::sync::Arc;

use super::bearer::mcplink_bearer_fn;
use super::login::mcplink_login_t;
use super::registered::Registered;
use crate::cffi::output::mcplink_output_t;
use crate::cffi::status::mcplink_status_t;
use crate::cffi::text::mcplink_str_t;
use crate::cffi::user::{Callback, Hook};

/// Lets a person log in: opens the URL that mcplink_login_url returns, and passes the redirect URL
/// to mcplink_login_answer. The callback may answer the login before it returns. A callback that
/// keeps the login with mcplink_login_keep may answer later. The callback runs on a thread of the
/// library, even if the client has a pump, and may block.
///
/// login: the login, valid until the callback returns.
pub type mcplink_login_fn =
    Option<unsafe extern "C-unwind" fn(user: *mut c_void, login: *mut mcplink_login_t)>;

/// Provides a signed statement (JWT) about this workload for an audience.
/// The callback runs whenever an access token has to be obtained, on a thread of the library.
///
/// audience: the URL of the token endpoint, valid until the callback returns.
/// token: receives the statement by mcplink_output_set.
/// Returns: MCPLINK_OK; any other status fails the waiting calls with MCPLINK_E_AUTH.
pub type mcplink_statement_fn = Option<
    unsafe extern "C-unwind" fn(
        user: *mut c_void,
        audience: mcplink_str_t,
        token: *mut mcplink_output_t,
    ) -> mcplink_status_t,
>;

pub(super) type VisitFn = Callback<mcplink_login_fn>;
pub(super) type StatementFn = Callback<mcplink_statement_fn>;
pub(super) type SubjectFn = Callback<mcplink_bearer_fn>;

/// The grant type: how the client obtains access tokens.
#[derive(Clone)]
pub(super) enum Way {
    /// A person logs in with a browser.
    Browser {
        port: u16,
        program: Option<String>,
        page: Option<String>,
        show: Option<Arc<Hook<VisitFn>>>,
    },
    /// A person logs in through a function of the host.
    UserAgent {
        redirect: String,
        hook: Arc<Hook<VisitFn>>,
    },
    /// The client credentials grant: a machine authenticates as the first of the settings'
    /// registered clients.
    Machine,
    Workload {
        client_id: Option<String>,
        hook: Arc<Hook<StatementFn>>,
    },
    Enterprise {
        endpoint: String,
        client: Box<Registered>,
        kind: mcplink_subject,
        hook: Arc<Hook<SubjectFn>>,
    },
}

impl Default for Way {
    fn default() -> Self {
        Self::Browser {
            port: 0,
            program: None,
            page: None,
            show: None,
        }
    }
}

enumeration! {
    /// The kind of a credential that an identity provider issued when the user signed on.
    #[repr(C)]
    pub enum mcplink_subject {
        /// An OpenID Connect ID token.
        MCPLINK_SUBJECT_ID_TOKEN = 1601,
        /// A refresh token of the identity provider.
        MCPLINK_SUBJECT_REFRESH_TOKEN = 1602,
        /// A SAML 2.0 assertion.
        MCPLINK_SUBJECT_SAML2 = 1603,
    }
}
