//! TLS: trusted certificates, the client certificate, and the reasons of failures.

use std::fmt;
use std::io;
use std::sync::Arc;

use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{AlertDescription, CertificateError, InvalidMessage, RootCertStore};
use ureq::tls::{Certificate, ClientCert, PrivateKey, RootCerts, TlsConfig};

/// The certificate authorities that the client trusts instead of the default authorities. Empty if
/// the default authorities are trusted.
#[derive(Clone, Default)]
pub(crate) struct Roots(Vec<Certificate<'static>>);

impl Roots {
    /// Adds trusted certificate authorities from PEM text. The error is a text about the invalid
    /// certificates.
    pub(crate) fn trust(&mut self, pem: &[u8]) -> Result<(), String> {
        for certificate in certificates(pem)? {
            // Without this check, unusable certificates would be ignored silently.
            RootCertStore::empty()
                .add(certificate.clone())
                .map_err(|error| format!("hold one that can't be read: {error}"))?;
            self.0.push(Certificate::from_der(&certificate).to_owned());
        }
        Ok(())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the TLS settings for a client without a certificate of its own.
    #[cfg(any(feature = "auth", feature = "jwt"))]
    pub(crate) fn config(&self) -> TlsConfig {
        self.config_with(None)
    }

    fn config_with(&self, own: Option<ClientCert>) -> TlsConfig {
        let config = TlsConfig::builder().client_cert(own);
        match self.0.is_empty() {
            true => config.build(),
            false => config
                .root_certs(RootCerts::new_with_certs(&self.0))
                .build(),
        }
    }
}

/// The TLS settings of a client transport.
#[derive(Clone, Default)]
pub(super) struct Tls {
    pub(super) roots: Roots,
    own: Option<ClientCert>,
}

impl Tls {
    /// Sets the client certificate, its chain and its key. The error is a text about the invalid
    /// certificate or key.
    pub(super) fn present(&mut self, chain: &[u8], key: &[u8]) -> Result<(), String> {
        let certificates = certificates(chain)?;
        let own: Vec<_> = certificates
            .iter()
            .map(|certificate| Certificate::from_der(certificate).to_owned())
            .collect();
        let no_key = |why: &dyn fmt::Display| format!("come with a key that can't be used: {why}");
        let shown = PrivateKey::from_pem(key).map_err(|error| no_key(&error))?;
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| no_key(&error))?;
        // A key that doesn't fit the certificate would cause a panic later.
        let provider = CryptoProvider::get_default().cloned();
        let provider = provider.unwrap_or_else(|| Arc::new(ring::default_provider()));
        rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .and_then(|config| {
                config
                    .with_root_certificates(RootCertStore::empty())
                    .with_client_auth_cert(certificates, key)
            })
            .map_err(|error| no_key(&error))?;
        self.own = Some(ClientCert::new_with_certs(&own, shown));
        Ok(())
    }

    /// Returns a setting that differs from the defaults, if there is one.
    pub(super) fn setting(&self) -> Option<&'static str> {
        let has_own = self.own.is_some().then_some("Http::client_certificate");
        has_own.or_else(|| (!self.roots.is_empty()).then_some("Http::root_certificates"))
    }

    pub(super) fn config(&self) -> TlsConfig {
        self.roots.config_with(self.own.clone())
    }
}

/// Parses all certificates in PEM text. Fails if the text contains no certificate.
fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match all {
        Ok(all) if all.is_empty() => {
            Err("have no '-----BEGIN CERTIFICATE-----' in them: expected PEM".to_owned())
        }
        Ok(all) => Ok(all),
        Err(error) => Err(format!("can't be read as PEM: {error}")),
    }
}

/// A connection failure that TLS caused.
pub(super) enum Fault {
    /// The client could not make a trusted TLS connection. The text is the reason.
    NoneSuch(String),
    /// The server refused the client's certificate, or requires a certificate and the client has
    /// none. With TLS 1.3 the server refuses after the handshake, but before it reads a request.
    Refused(String),
}

/// Returns the error text if the server's certificate has an untrusted issuer. Returns `None` for
/// other errors. `setting` is the name of the setting for trusted issuers.
pub(crate) fn untrusted(error: &io::Error, setting: &str) -> Option<String> {
    let is_unknown = matches!(
        of_tls(error)?,
        rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer)
    );
    is_unknown.then(|| {
        format!("its certificate was issued by nobody who is trusted ({setting} says who is)")
    })
}

fn of_tls(error: &io::Error) -> Option<&rustls::Error> {
    error.get_ref()?.downcast_ref()
}

pub(super) fn fault(error: &io::Error) -> Option<Fault> {
    use AlertDescription as Alert;
    if let Some(why) = untrusted(error, "Http::root_certificates") {
        return Some(Fault::NoneSuch(why));
    }
    Some(match of_tls(error)? {
        rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType) => Fault::NoneSuch(
            "its answer is not TLS: use http:// for a server without TLS".to_owned(),
        ),
        rustls::Error::AlertReceived(
            Alert::CertificateRequired
            | Alert::BadCertificate
            | Alert::UnsupportedCertificate
            | Alert::CertificateRevoked
            | Alert::CertificateExpired
            | Alert::CertificateUnknown
            | Alert::UnknownCA
            | Alert::AccessDenied,
        ) => Fault::Refused(format!(
            "it requires a client certificate, or refuses ours (Http::client_certificate): {error}"
        )),
        error => Fault::NoneSuch(error.to_string()),
    })
}
