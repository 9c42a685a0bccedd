//! The authorizer that is built from OAuth settings.
//!
//! **Threads.** The callbacks of the token store run on the login thread and on threads that make
//! calls. The callbacks that obtain credentials run on the login thread. A callback keeps the
//! settings alive only while it runs.

use std::sync::Arc;

use super::running_callbacks::Inside;
use super::settings::Settings;
use crate::cffi::fetch::HostClient;
use crate::cffi::handle::Gate;
use crate::error::Result;
#[cfg(not(feature = "auth"))]
use crate::error::{Error, ErrorKind};
use crate::transport::Threads;
#[cfg(feature = "http-client")]
use crate::transport::http::Http;

/// OAuth settings, with the authorizer that is shared by all clients that use these settings.
pub(in crate::cffi) struct Made {
    settings: Arc<Settings>,
    inside: Arc<Inside>,
    /// The HTTP client of the host, if the settings have one.
    fetches: Option<HostClient>,
    /// The authorizer, built when a client first needs it.
    #[cfg(feature = "auth")]
    oauth: crate::sync::Mutex<Option<crate::auth::OAuth>>,
}

impl Made {
    pub(super) fn of(settings: Settings) -> Arc<Self> {
        let settings = Arc::new(settings);
        let inside = Inside::new(Gate::next_number(), &settings);
        let fetches = settings.fetch.as_ref();
        Arc::new(Self {
            fetches: fetches.map(|hook| HostClient::new(hook, inside.number(), Threads::new())),
            inside,
            settings,
            #[cfg(feature = "auth")]
            oauth: crate::sync::Mutex::default(),
        })
    }

    pub(super) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Adds OAuth authorization to `http`, the transport of the client with the number `client`.
    #[cfg(feature = "http-client")]
    pub(in crate::cffi) fn authorize(&self, http: Http, client: u64) -> Result<Http> {
        #[cfg(feature = "auth")]
        return Ok(http.authorizer(with::Of {
            oauth: self.oauth()?,
            client,
        }));
        #[cfg(not(feature = "auth"))]
        {
            _ = (http, client);
            Err(unsupported())
        }
    }

    /// Removes the tokens for a server from memory and from the token store.
    pub(super) fn forget(&self, server: &str) -> Result<()> {
        #[cfg(feature = "auth")]
        return self.oauth()?.forget(server);
        #[cfg(not(feature = "auth"))]
        {
            _ = server;
            Err(unsupported())
        }
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        if let Some(fetches) = &self.fetches {
            fetches.close();
        }
        self.inside.end();
    }
}

#[cfg(not(feature = "auth"))]
fn unsupported() -> Error {
    let text = "this library was built without OAuth (feature 'auth')";
    Error::new(ErrorKind::Unsupported, text)
}

/// The implementation of the authorizer in builds with OAuth.
#[cfg(feature = "auth")]
mod with {
    use std::ffi::c_void;
    use std::sync::{Arc, Weak};

    use zeroize::Zeroizing;

    use super::Made;
    use crate::auth::{
        Browser, CallbackUserAgent, DpopUse, FileStore, IdentityProvider, Login, LoginAttempt,
        OAuth, OAuthBuilder, RegisteredClient, Secret, Signer, SigningKey, Store, SubjectToken,
        UserAgent,
    };
    use crate::cffi::arg::{invalid, set_given};
    use crate::cffi::auth::grant_type::{VisitFn, Way, mcplink_subject};
    use crate::cffi::auth::login::{Check, LoginAttempt as Answer, Shown, mcplink_login_t};
    use crate::cffi::auth::registered::{Proof, Registered};
    use crate::cffi::auth::running_callbacks::{Entered, Inside};
    use crate::cffi::auth::settings::{Settings, mcplink_dpop};
    use crate::cffi::auth::signer::{HostKey, mcplink_sign_fn};
    use crate::cffi::auth::token_store::{Functions, TokenStore};
    use crate::cffi::handle::Lent;
    use crate::cffi::log;
    use crate::cffi::output::mcplink_output_t;
    use crate::cffi::text::{Text, mcplink_str_t};
    use crate::cffi::user::{Callback, Hook, call_back};
    use crate::error::{Error, ErrorKind, Result};
    use crate::protocol::{LogLevel, LogRecord};
    use crate::transport::http::{
        Authorizer, AuthorizerDecision, CredentialWait, Credentials, OutgoingRequest,
        ResponseFields,
    };

    impl Made {
        pub(super) fn oauth(&self) -> Result<OAuth> {
            let mut made = self.oauth.lock();
            if let Some(oauth) = &*made {
                return Ok(oauth.clone());
            }
            let mut builder = builder(&self.settings, &self.inside)?;
            builder = set_given(builder, self.fetches.clone(), OAuthBuilder::http_client);
            let oauth = builder.build()?;
            *made = Some(oauth.clone());
            Ok(oauth)
        }
    }

    /// The authorizer of one client. While the authorizer runs, the current thread is marked as
    /// running a callback of this client.
    pub(super) struct Of {
        pub(super) oauth: OAuth,
        pub(super) client: u64,
    }

    impl Of {
        fn within<R>(&self, run: impl FnOnce() -> Result<R>) -> Result<R> {
            let done = call_back(self.client, run);
            done.unwrap_or_else(|| {
                let text = "the authorization panicked: this library has a bug, please report it";
                Err(Error::new(ErrorKind::Auth, text))
            })
        }
    }

    impl Authorizer for Of {
        fn authorize(
            &self,
            request: &OutgoingRequest<'_>,
            waiting: &CredentialWait,
        ) -> Result<Credentials> {
            self.within(|| self.oauth.authorize(request, waiting))
        }

        fn refused(
            &self,
            request: &OutgoingRequest<'_>,
            response: &ResponseFields<'_>,
            waiting: &CredentialWait,
        ) -> Result<AuthorizerDecision> {
            self.within(|| self.oauth.refused(request, response, waiting))
        }

        fn generation(&self, server: &str) -> u64 {
            self.oauth.generation(server)
        }

        fn accepted(&self, request: &OutgoingRequest<'_>, response: &ResponseFields<'_>) {
            self.oauth.accepted(request, response);
        }
    }

    /// A key of the host that signs by its callback.
    struct HostSigner {
        key: Unowned,
        inside: Arc<Inside>,
    }

    /// The parts of a [`HostKey`]. The settings own the callback: so the user data is destroyed
    /// when the settings are released, and not when the last abandoned login has ended.
    struct Unowned {
        algorithm: String,
        public_jwk: String,
        id: Option<String>,
        hook: Weak<Hook<SignFn>>,
    }

    type SignFn = Callback<mcplink_sign_fn>;

    impl HostSigner {
        fn new(key: &HostKey, inside: &Arc<Inside>) -> Self {
            let HostKey {
                algorithm,
                public_jwk,
                id,
                hook,
            } = key;
            Self {
                key: Unowned {
                    algorithm: algorithm.clone(),
                    public_jwk: public_jwk.clone(),
                    id: id.clone(),
                    hook: Arc::downgrade(hook),
                },
                inside: Arc::clone(inside),
            }
        }
    }

    impl Signer for HostSigner {
        fn algorithm(&self) -> &str {
            &self.key.algorithm
        }

        fn public_jwk(&self) -> String {
            self.key.public_jwk.clone()
        }

        fn sign(&self, data: &[u8]) -> Result<Vec<u8>> {
            let entered = self.inside.enter()?;
            let hook = self.key.hook.upgrade().expect("the settings own it");
            let mut signature = mcplink_output_t::bytes();
            let out = signature.as_mut_ptr();
            // SAFETY: the header requires valid arguments; data and signature outlive the call.
            entered.ask("that signs", || unsafe {
                (hook.callback)(hook.user.ptr(), data.as_ptr().cast(), data.len(), out)
            })?;
            let made = signature.take_bytes().filter(|bytes| !bytes.is_empty());
            made.ok_or_else(|| {
                let text = "the function that signs gave no signature (mcplink_output_set)";
                Error::new(ErrorKind::Auth, text)
            })
        }

        fn key_id(&self) -> Option<&str> {
            self.key.id.as_deref()
        }
    }

    /// Begins the builder: the way to a token, and the clients that were registered beforehand.
    fn begin(settings: &Settings, inside: &Arc<Inside>) -> Result<OAuthBuilder> {
        let Settings {
            way,
            redirect_host,
            redirect_path,
            clients,
            ..
        } = settings;
        let mut others = clients.iter().map(|client| registered(client, inside));
        let mut first = |who: &str| {
            others.next().unwrap_or_else(|| {
                let text = format!(
                    "{who} needs a client that was registered beforehand (mcplink_oauth_add_client)"
                );
                Err(invalid(text))
            })
        };
        let browser = || {
            let browser = browser(way);
            let browser = match redirect_host {
                Some(host) => browser.host(host)?,
                None => browser,
            };
            match redirect_path {
                Some(path) => browser.path(path),
                None => Ok(browser),
            }
        };
        let mut builder = match way {
            Way::Browser { show: None, .. } => OAuth::login(browser()?),
            Way::Browser { show: Some(_), .. } => OAuth::login(Watched {
                browser: browser()?.show(|_| {}),
                inside: Arc::clone(inside),
            }),
            Way::UserAgent { redirect, .. } => {
                let inside = Arc::clone(inside);
                OAuth::login(CallbackUserAgent::new(redirect, move |login| {
                    ask(&inside, login)
                }))
            }
            Way::Machine => OAuth::client_credentials(first("a machine")?),
            Way::Workload { client_id, .. } => {
                let inside = Arc::clone(inside);
                OAuth::workload(client_id.as_deref(), move |audience| {
                    statement(&inside, audience)
                })
            }
            Way::Enterprise {
                endpoint, client, ..
            } => {
                let client = registered(client, inside)?;
                let inside = Arc::clone(inside);
                let provider = IdentityProvider::new(endpoint, client, move || subject(&inside));
                OAuth::enterprise(provider, first("the organisation's way")?)
            }
        };
        for client in others {
            builder = builder.registered(client?);
        }
        Ok(builder)
    }

    /// Returns the Rust API's builder of an authorizer, with all settings applied.
    fn builder(settings: &Settings, inside: &Arc<Inside>) -> Result<OAuthBuilder> {
        let Settings {
            client_name,
            client_uri,
            document,
            scopes,
            asks_offline,
            params,
            store,
            step_timeout,
            login_timeout,
            everywhere,
            proxy,
            roots,
            // The others are read by `begin` and `bound`, and the log hook for each log record.
            ..
        } = settings;
        let mut builder = bound(begin(settings, inside)?, settings, inside);
        builder = set_given(builder, client_name.as_ref(), OAuthBuilder::client_name);
        builder = set_given(builder, client_uri.as_ref(), OAuthBuilder::client_uri);
        builder = set_given(builder, document.as_deref(), OAuthBuilder::client_document);
        builder = set_given(builder, scopes.clone(), OAuthBuilder::scopes);
        builder = set_given(builder, *asks_offline, OAuthBuilder::ask_offline_access);
        for (name, value) in params {
            builder = builder.authorization_param(name, value);
        }
        builder = set_given(builder, *step_timeout, OAuthBuilder::step_timeout);
        builder = set_given(builder, *login_timeout, OAuthBuilder::login_timeout);
        builder = match proxy.as_deref() {
            None => builder,
            Some("environment") => builder.proxy_from_environment(),
            Some(url) => builder.proxy(url),
        };
        builder = set_given(builder, roots.as_ref(), OAuthBuilder::root_certificates);
        builder = match store {
            TokenStore::Memory => builder,
            TokenStore::Folder(folder) => builder.store(FileStore::new(folder)?),
            TokenStore::Host(_) => builder.store(HostStore(Arc::clone(inside))),
        };
        let inside = Arc::clone(inside);
        Ok(builder
            .allow_private_addresses(*everywhere)
            .on_log(move |line| tell(&inside, line)))
    }

    /// Sets whether tokens are bound to a key, and to which key.
    fn bound(builder: OAuthBuilder, settings: &Settings, inside: &Arc<Inside>) -> OAuthBuilder {
        let builder = builder.dpop(match settings.dpop {
            mcplink_dpop::MCPLINK_DPOP_WHEN_ASKED => DpopUse::WhenAsked,
            mcplink_dpop::MCPLINK_DPOP_NEVER => DpopUse::Never,
            mcplink_dpop::MCPLINK_DPOP_ALWAYS => DpopUse::Always,
        });
        match &settings.dpop_key {
            Some(key) => builder.dpop_key(HostSigner::new(key, inside)),
            None => builder,
        }
    }

    fn registered(client: &Registered, inside: &Arc<Inside>) -> Result<RegisteredClient> {
        let Registered {
            issuer,
            id,
            proof,
            audience,
        } = client;
        let mut made = match issuer {
            Some(issuer) => RegisteredClient::new(issuer, id),
            None => RegisteredClient::of_first_issuer(id),
        };
        made = set_given(made, audience.as_deref(), RegisteredClient::audience);
        Ok(match proof {
            Proof::None => made,
            Proof::Secret(secret) => made.secret(secret.clone()),
            Proof::Signer(key) => made.key(HostSigner::new(key, inside)),
            Proof::Key { pem, id, pss } => {
                let mut key = SigningKey::from_pem(pem)?;
                if let Some(id) = id {
                    key = key.id(id);
                }
                made.key(if *pss { key.pss() } else { key })
            }
        })
    }

    fn browser(way: &Way) -> Browser {
        let Way::Browser {
            port,
            program,
            page,
            ..
        } = way
        else {
            unreachable!("it was looked at before")
        };
        let mut browser = Browser::new().port(*port);
        browser = set_given(browser, page.as_deref(), Browser::page);
        match program.as_deref() {
            None => browser,
            Some("") => browser.without_opening(),
            Some(program) => browser.program(program),
        }
    }

    fn tell(inside: &Inside, line: &str) {
        // After the settings are freed, log records have no receiver.
        if let Ok(entered) = inside.enter() {
            let record = LogRecord {
                level: LogLevel::Warning,
                target: "auth",
                text: line,
            };
            log::tell(entered.settings().log.as_ref(), inside.number(), &record);
        }
    }

    /// A user agent that logs in with a browser, and shows the login to the person through a
    /// callback of the host.
    struct Watched {
        browser: Browser,
        inside: Arc<Inside>,
    }

    impl UserAgent for Watched {
        fn prepare(&self, last: Option<&str>) -> Result<Box<dyn LoginAttempt>> {
            Ok(Box::new(WatchedVisit {
                visit: self.browser.prepare(last)?,
                inside: Arc::clone(&self.inside),
            }))
        }
    }

    struct WatchedVisit {
        visit: Box<dyn LoginAttempt>,
        inside: Arc<Inside>,
    }

    impl LoginAttempt for WatchedVisit {
        fn redirect_uri(&self) -> &str {
            self.visit.redirect_uri()
        }

        fn visit(self: Box<Self>, login: &Login<'_>) -> Result<Secret> {
            let entered = self.inside.enter()?;
            let Way::Browser {
                show: Some(hook), ..
            } = &entered.settings().way
            else {
                unreachable!("it was made of these settings")
            };
            let answer = Answer::new();
            let ending = Ending(&answer);
            show(&entered, self.inside.number(), hook, login, None, &answer)?;
            let came = self.visit.visit(login);
            drop(ending);
            came
        }
    }

    /// A guard that ends a login attempt when the guard is dropped. Ending the attempt runs the
    /// host's `on_over` callback.
    struct Ending<'a>(&'a Answer);

    impl Drop for Ending<'_> {
        fn drop(&mut self) {
            self.0.end();
        }
    }

    /// Calls the host's login callback with a new handle of the login.
    fn show(
        entered: &Entered<'_>,
        owner: u64,
        hook: &Hook<VisitFn>,
        login: &Login<'_>,
        is_answer: Option<Check>,
        answer: &Arc<Answer>,
    ) -> Result<()> {
        let scopes: Vec<&str> = login.scopes().collect();
        let shown = Shown {
            url: login.url(),
            server: login.server(),
            authorization_server: &login.authorization_server(),
            scopes: &scopes.join(" "),
        };
        let login = mcplink_login_t::new(&shown, owner, is_answer, answer);
        let lent = Lent::new(login);
        // SAFETY: the header requires valid arguments: the user data of the callback, and a login
        // that lives until the callback returns.
        entered.call(|| unsafe { (hook.callback)(hook.user.ptr(), lent.handle()) })
    }

    /// Passes the login to the host, and blocks until the login is answered or over.
    fn ask(inside: &Inside, login: &Login<'_>) -> Result<Secret> {
        let entered = inside.enter()?;
        let Way::UserAgent { hook, .. } = &entered.settings().way else {
            unreachable!("it was made of these settings")
        };
        let answer = Answer::new();
        let _ending = Ending(&answer);
        let over = Arc::clone(&answer);
        let _woken = login.waiting().on_over(move || over.end());
        let check: Check = Box::new(login.answer_check());
        show(&entered, inside.number(), hook, login, Some(check), &answer)?;
        answer.wait(|| login.waiting().deadline())
    }

    /// Runs a host callback that provides a secret, and returns the secret.
    fn given(
        entered: &Entered<'_>,
        what: &str,
        ask: impl FnOnce(*mut mcplink_output_t) -> i32,
    ) -> Result<Option<Secret>> {
        let mut token = mcplink_output_t::text();
        let token_ptr = token.as_mut_ptr();
        entered.ask(what, || ask(token_ptr))?;
        Ok(token.take_text().map(Secret::new))
    }

    fn required(what: &str, given: Option<Secret>) -> Result<Secret> {
        given.ok_or_else(|| {
            let text = format!("the function {what} gave nothing (mcplink_output_set)");
            Error::new(ErrorKind::Auth, text)
        })
    }

    fn statement(inside: &Inside, audience: &str) -> Result<Secret> {
        let entered = inside.enter()?;
        let Way::Workload { hook, .. } = &entered.settings().way else {
            unreachable!("it was made of these settings")
        };
        let (what, audience) = ("for statements about the workload", Text::from(audience));
        // SAFETY: the header requires valid arguments; text and token outlive the call.
        let given = given(&entered, what, |token| unsafe {
            (hook.callback)(hook.user.ptr(), audience.view(), token)
        })?;
        required(what, given)
    }

    fn subject(inside: &Inside) -> Result<SubjectToken> {
        let entered = inside.enter()?;
        let Way::Enterprise { hook, kind, .. } = &entered.settings().way else {
            unreachable!("it was made of these settings")
        };
        let what = "for what the user signed on with";
        // SAFETY: the header requires valid arguments; the token outlives the call.
        let given = given(&entered, what, |token| unsafe {
            (hook.callback)(hook.user.ptr(), token)
        })?;
        let token = required(what, given)?;
        Ok(match kind {
            mcplink_subject::MCPLINK_SUBJECT_ID_TOKEN => SubjectToken::IdToken(token),
            mcplink_subject::MCPLINK_SUBJECT_REFRESH_TOKEN => SubjectToken::RefreshToken(token),
            mcplink_subject::MCPLINK_SUBJECT_SAML2 => SubjectToken::Saml2(token),
        })
    }

    /// A token store that calls the functions of the host.
    struct HostStore(Arc<Inside>);

    impl HostStore {
        fn with<R>(
            &self,
            run: impl FnOnce(&Entered<'_>, Functions, *mut c_void) -> Result<R>,
        ) -> Result<R> {
            let entered = self.0.enter()?;
            let TokenStore::Host(hook) = &entered.settings().store else {
                unreachable!("it was made of these settings")
            };
            run(&entered, hook.callback, hook.user.ptr())
        }
    }

    impl Store for HostStore {
        fn load(&self, name: &str) -> Result<Option<Secret>> {
            let name = Text::from(name);
            self.with(|entered, functions, user| {
                // SAFETY: the header requires valid arguments; name and token outlive the call.
                given(entered, "that loads tokens", |token| unsafe {
                    (functions.load)(user, name.view(), token)
                })
            })
        }

        fn save(&self, name: &str, content: &Secret) -> Result<()> {
            let name = Text::from(name);
            let mut bytes = Zeroizing::new(Vec::with_capacity(content.reveal().len() + 1));
            bytes.extend_from_slice(content.reveal().as_bytes());
            bytes.push(0);
            let content = mcplink_str_t {
                ptr: bytes.as_ptr().cast(),
                len: bytes.len() - 1,
            };
            self.with(|entered, functions, user| {
                // SAFETY: the header requires valid arguments; both texts outlive the call.
                entered.ask("that saves tokens", || unsafe {
                    (functions.save)(user, name.view(), content)
                })
            })
        }

        fn remove(&self, name: &str) -> Result<()> {
            let name = Text::from(name);
            self.with(|entered, functions, user| {
                // SAFETY: the header requires valid arguments; the name outlives the call.
                entered.ask("that removes tokens", || unsafe {
                    (functions.remove)(user, name.view())
                })
            })
        }
    }
}
