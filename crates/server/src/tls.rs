//! The certificate, as the configuration names it.

use crate::config::{StartError, TlsFiles};
use ring::digest;
use rustls::ServerConfig;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use scaledb_pgwire::Tls;
use scaledb_sync::Arc;
use x509_cert::Certificate;
use x509_cert::der::Decode;

/// Reads a certificate and its key.
///
/// # Errors
///
/// [`StartError::Tls`].
pub(crate) fn load(files: &TlsFiles) -> Result<Tls, StartError> {
    let wrong = |what: String| StartError::Tls(what);
    let certificates: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(&files.certificate)
        .and_then(Iterator::collect)
        .map_err(|error| wrong(format!("{}: {error}", files.certificate.display())))?;
    let key = PrivateKeyDer::from_pem_file(&files.key)
        .map_err(|error| wrong(format!("{}: {error}", files.key.display())))?;
    let end_point = certificates.first().and_then(|certificate| end_point(certificate));
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(certificates, key))
        .map_err(|error| wrong(error.to_string()))?;
    Ok(Tls { config: Arc::new(config), end_point })
}

/// The hash that a proof is bound to (RFC 5929): that of the certificate's signature, at least SHA-256. A
/// signature without a hash of its own, as Ed25519's, has none.
fn end_point(certificate: &CertificateDer<'_>) -> Option<Arc<[u8]>> {
    let parsed = Certificate::from_der(certificate).ok()?;
    let algorithm = match parsed.signature_algorithm().oid.to_string().as_str() {
        // RSA with MD5, SHA-1, SHA-256; ECDSA with SHA-1, SHA-256
        "1.2.840.113549.1.1.4"
        | "1.2.840.113549.1.1.5"
        | "1.2.840.113549.1.1.11"
        | "1.2.840.10045.4.1"
        | "1.2.840.10045.4.3.2" => &digest::SHA256,
        "1.2.840.113549.1.1.12" | "1.2.840.10045.4.3.3" => &digest::SHA384,
        "1.2.840.113549.1.1.13" | "1.2.840.10045.4.3.4" => &digest::SHA512,
        _ => return None,
    };
    Some(digest::digest(algorithm, certificate).as_ref().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_that_of_the_signature() {
        let names = vec!["localhost".to_owned()];
        for (kind, size) in [
            (&rcgen::PKCS_ECDSA_P256_SHA256, Some(32)),
            (&rcgen::PKCS_ECDSA_P384_SHA384, Some(48)),
            (&rcgen::PKCS_ED25519, None),
        ] {
            let key = rcgen::KeyPair::generate_for(kind).unwrap();
            let certificate =
                rcgen::CertificateParams::new(names.clone()).unwrap().self_signed(&key).unwrap();
            assert_eq!(end_point(certificate.der()).map(|hash| hash.len()), size);
        }
    }

    #[test]
    fn a_file_that_is_no_certificate_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let (certificate, key) = (directory.path().join("crt"), directory.path().join("key"));
        std::fs::write(&certificate, "no").unwrap();
        std::fs::write(&key, "no").unwrap();
        let error = load(&TlsFiles { certificate, key: key.clone() }).unwrap_err();
        assert!(error.to_string().contains("key"), "{error}");
    }
}
