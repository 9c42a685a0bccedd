//! Client registration in one of three ways: beforehand, by a client ID metadata document, or
//! dynamically.
//!
//! Spec: Authorization, "Client Registration" (2025-11-25 and later); RFC 7591.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::client::{Identity, Proof};
use super::discovered::Discovered;
use super::dpop::now_seconds;
use super::fetch::Patience;
use super::flow_context::FlowContext;
use super::http_url::HttpUrl;
use super::metadata::ServerMetadata;
use super::secret::{Secret, revealed_option};
use super::token::refusal;
use super::tolerant;
use crate::error::{Error, ErrorKind, Excerpt, Result};

/// The maximum number of registrations with one authorization server that are stored.
const MAX_KEPT: usize = 16;

/// The result of a dynamic registration. The registration is used only with its authorization
/// server.
#[derive(Clone, Serialize, Deserialize)]
struct Registration {
    client_id: String,
    #[serde(with = "revealed_option", default)]
    client_secret: Option<Secret>,
    /// The expiry of the client secret, in seconds since 1970; 0 means never.
    #[serde(default, deserialize_with = "tolerant::seconds")]
    client_secret_expires_at: Option<u64>,
    #[serde(default, deserialize_with = "tolerant::text")]
    token_endpoint_auth_method: Option<String>,
    #[serde(default, deserialize_with = "tolerant::words")]
    redirect_uris: Option<Vec<String>>,
    /// Whether a login with this registration was started and has not yet returned tokens. The
    /// authorization server may have deleted such a registration. No new login uses it, but tokens
    /// that were issued to it are still renewed with it.
    #[serde(default)]
    is_in_doubt: bool,
}

impl Registration {
    fn is_good(&self) -> bool {
        let expiry = self.client_secret_expires_at.unwrap_or(0);
        expiry == 0 || expiry > now_seconds()
    }

    fn redirects(&self) -> impl Iterator<Item = &String> {
        self.redirect_uris.iter().flatten()
    }

    fn identity(&self) -> Identity {
        Identity {
            proof: self
                .client_secret
                .clone()
                .map_or(Proof::None, Proof::Secret),
            method: self.token_endpoint_auth_method.clone(),
            ..Identity::public(&self.client_id)
        }
    }
}

/// The registrations with one authorization server, the newest one first. Stored tokens may belong
/// to an older registration.
#[derive(Default, Serialize, Deserialize)]
struct Registrations {
    clients: Vec<Registration>,
}

fn name_of(issuer: &str) -> String {
    format!("client {issuer}")
}

impl FlowContext<'_> {
    /// Loads the stored registrations with an issuer. Omits registrations that have expired.
    fn kept_registrations(&self, issuer: &str) -> Result<Vec<Registration>> {
        let kept = self.settings.store.load(&name_of(issuer))?;
        let kept = kept.and_then(|kept| serde_json::from_str(kept.reveal()).ok());
        let Registrations { mut clients } = kept.unwrap_or_default();
        clients.retain(Registration::is_good);
        Ok(clients)
    }

    /// Changes the stored registrations. No other thread of this process changes them at the same
    /// time.
    fn change_registrations(
        &self,
        issuer: &str,
        change: impl FnOnce(&mut Vec<Registration>),
    ) -> Result<()> {
        let (name, store) = (name_of(issuer), &self.settings.store);
        let _held = self.settings.registering.lock();
        let mut clients = self.kept_registrations(issuer)?;
        change(&mut clients);
        if clients.is_empty() {
            return store.remove(&name);
        }
        store.save(&name, &Secret::of_json(&Registrations { clients }))
    }

    /// Returns the redirect URI of the newest stored registration.
    pub(super) fn last_redirect(&self, found: &Discovered) -> Result<Option<String>> {
        let kept = self.kept_registrations(found.issuer())?;
        Ok(kept
            .first()
            .and_then(|last| last.redirects().next())
            .cloned())
    }

    /// Stores whether a registration is in doubt: a login with it was started and has not yet
    /// returned tokens. This is stored before the login, so that it is known even if the process is
    /// killed during the login.
    pub(super) fn doubt_registration(&self, issuer: &str, client_id: &str, is_in_doubt: bool) {
        let is_other =
            |kept: &Registration| kept.client_id == client_id && kept.is_in_doubt != is_in_doubt;
        let noted = self.kept_registrations(issuer).and_then(|kept| {
            if !kept.iter().any(is_other) {
                return Ok(());
            }
            self.change_registrations(issuer, |clients| {
                let own = clients
                    .iter_mut()
                    .filter(|kept| kept.client_id == client_id);
                own.for_each(|kept| kept.is_in_doubt = is_in_doubt);
            })
        });
        if let Err(error) = noted {
            self.log(&format!("how a login ended is not kept: {error}"));
        }
    }

    /// Removes a registration that the authorization server no longer accepts.
    pub(super) fn forget_registration(&self, issuer: &str, client_id: &str) -> Result<()> {
        let kept = self.kept_registrations(issuer)?;
        if kept.iter().all(|kept| kept.client_id != client_id) {
            return Ok(());
        }
        self.change_registrations(issuer, |clients| {
            clients.retain(|kept| kept.client_id != client_id);
        })
    }

    fn document(&self, metadata: &ServerMetadata) -> Option<&str> {
        let supported = metadata.client_id_metadata_document_supported == Some(true);
        self.settings.document.as_deref().filter(|_| supported)
    }

    /// Returns the identity of the client for a login that starts now, with this redirect URI. A
    /// dynamic registration is marked as in doubt until the login has returned tokens.
    pub(super) fn identity(&self, found: &Discovered, redirect: &HttpUrl) -> Result<Identity> {
        let metadata = &found.metadata;
        if let Some(client) = self.registered_client(found.issuer())? {
            return Ok(client.identity());
        }
        if let Some(document) = self.document(metadata) {
            return Ok(Identity::public(document));
        }
        let Some(endpoint) = &metadata.registration_endpoint else {
            let text = format!(
                "the authorization server '{}' has to know this client beforehand: register it there, and give its id \
                 (OAuthBuilder::registered)",
                Excerpt(found.issuer())
            );
            return Err(Error::new(ErrorKind::Auth, text));
        };
        let is_meant = |uri: &String| uri == redirect.text();
        let kept = self.kept_registrations(found.issuer())?;
        let kept = kept
            .iter()
            .find(|kept| !kept.is_in_doubt && kept.redirects().any(is_meant));
        if let Some(kept) = kept {
            self.doubt_registration(found.issuer(), &kept.client_id, true);
            return Ok(Identity {
                is_reused: true,
                ..kept.identity()
            });
        }
        let endpoint = HttpUrl::read_secure("the registration_endpoint", endpoint)?;
        self.register(found, &endpoint, redirect)
            .map(|registration| registration.identity())
    }

    /// Returns the identity of the client to which tokens were issued. Returns `None` if the client
    /// is unknown.
    pub(super) fn identity_of(
        &self,
        found: &Discovered,
        client_id: &str,
    ) -> Result<Option<Identity>> {
        if let Some(client) = self.registered_client(found.issuer())? {
            return Ok((client.id == client_id).then(|| client.identity()));
        }
        if self.settings.document.as_deref() == Some(client_id) {
            return Ok(Some(Identity::public(client_id)));
        }
        let kept = self.kept_registrations(found.issuer())?;
        let kept = kept.iter().find(|kept| kept.client_id == client_id);
        Ok(kept.map(Registration::identity))
    }

    fn register(
        &self,
        found: &Discovered,
        endpoint: &HttpUrl,
        redirect: &HttpUrl,
    ) -> Result<Registration> {
        let offered = found
            .metadata
            .token_endpoint_auth_methods_supported
            .as_ref();
        let methods = ["none", "client_secret_basic", "client_secret_post"];
        let method = methods
            .into_iter()
            .find(|method| ServerMetadata::lists(offered, method, true))
            .unwrap_or("none");
        let kind = if redirect.is_loopback() {
            "native"
        } else {
            "web"
        };
        let mut body = json!({
            "client_name": self.settings.client_name, "redirect_uris": [redirect.text()],
            "grant_types": ["authorization_code", "refresh_token"], "response_types": ["code"],
            "token_endpoint_auth_method": method, "application_type": kind,
        });
        if let Some(uri) = &self.settings.client_uri {
            body["client_uri"] = uri.as_str().into();
        }
        let answer = self.fetcher.post(
            "the registration",
            endpoint,
            "application/json",
            &[],
            body.to_string().as_bytes(),
            Patience::WhileAwaited,
        )?;
        if !answer.is_success() {
            let refusal = refusal(
                &answer,
                "does not register this client",
                endpoint,
                str::to_owned,
            );
            let text = "it may have to be registered there by hand (OAuthBuilder::registered)";
            return Err(refusal.error.remark(text));
        }
        let mut registration: Registration = answer.json("the registration", endpoint)?;
        // Codes are sent only to the requested redirect URI, whatever the response lists.
        registration.redirect_uris = Some(vec![redirect.text().to_owned()]);
        registration.is_in_doubt = true;
        let saved = self.change_registrations(found.issuer(), |clients| {
            clients.retain(|kept| kept.client_id != registration.client_id);
            clients.insert(0, registration.clone());
            while clients.len() > MAX_KEPT {
                // Registrations that are not in doubt are kept longest, since tokens may belong to
                // them.
                let oldest = clients.iter().rposition(|kept| kept.is_in_doubt);
                let oldest = oldest.filter(|at| *at > 0).unwrap_or(MAX_KEPT);
                clients.remove(oldest);
            }
        });
        if let Err(error) = saved {
            self.log(&format!("a registration is not kept: {error}"));
        }
        Ok(registration)
    }
}
