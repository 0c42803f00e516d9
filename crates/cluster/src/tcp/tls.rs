//! Who may speak with whom: each node shows a certificate of the cluster's authority, for the node's own name.

use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::version::TLS13;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use std::path::Path;
use std::sync::Arc;
use webpki::EndEntityCert;

/// Why there is no encryption.
#[derive(Debug, thiserror::Error)]
#[error("the certificates of the cluster: {0}")]
pub struct TlsError(String);

/// A node's certificate and key, and the authority that the others' must be of.
#[derive(Clone, Debug)]
pub struct PeerTls {
    pub(super) client: Arc<ClientConfig>,
    pub(super) server: Arc<ServerConfig>,
}

fn wrong(error: impl std::fmt::Display) -> TlsError {
    TlsError(error.to_string())
}

impl PeerTls {
    /// Reads PEM files: the authority's certificates, the node's with those between, its key.
    ///
    /// # Errors
    /// A file is not there, or not what it should be.
    pub fn load(authority: &Path, certificate: &Path, key: &Path) -> Result<Self, TlsError> {
        let certificates = |path: &Path| -> Result<Vec<CertificateDer<'static>>, TlsError> {
            CertificateDer::pem_file_iter(path)
                .and_then(Iterator::collect)
                .map_err(|error| wrong(format!("{}: {error}", path.display())))
        };
        let (authorities, chain) = (certificates(authority)?, certificates(certificate)?);
        let key = PrivateKeyDer::from_pem_file(key)
            .map_err(|error| wrong(format!("{}: {error}", key.display())))?;
        Self::new(authorities, chain, key)
    }

    /// From certificates that were read.
    ///
    /// # Errors
    /// They do not fit each other.
    pub fn new(
        authorities: Vec<CertificateDer<'static>>,
        chain: Vec<CertificateDer<'static>>,
        key: PrivateKeyDer<'static>,
    ) -> Result<Self, TlsError> {
        let mut roots = RootCertStore::empty();
        for authority in authorities {
            roots.add(authority).map_err(wrong)?;
        }
        if roots.is_empty() {
            return Err(wrong("there is no certificate of the authority"));
        }
        let (roots, provider) = (Arc::new(roots), Arc::new(default_provider()));
        let client = ClientConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&[&TLS13])
            .map_err(wrong)?
            .with_root_certificates(roots.clone())
            .with_client_auth_cert(chain.clone(), key.clone_key())
            .map_err(wrong)?;
        let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider.clone()).build();
        let server = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&TLS13])
            .map_err(wrong)?
            .with_client_cert_verifier(verifier.map_err(wrong)?)
            .with_single_cert(chain, key)
            .map_err(wrong)?;
        Ok(Self { client: Arc::new(client), server: Arc::new(server) })
    }
}

/// Whether the certificates that a peer has shown, which are of the authority, are for a node's name.
pub(super) fn names(shown: Option<&[CertificateDer<'_>]>, name: &str) -> bool {
    let Some(first) = shown.and_then(<[_]>::first) else { return false };
    let Ok(name) = ServerName::try_from(name) else { return false };
    EndEntityCert::try_from(first).is_ok_and(|cert| cert.verify_is_valid_for_subject_name(&name).is_ok())
}
