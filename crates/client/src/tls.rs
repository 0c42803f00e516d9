//! Encryption of the connection: asked for before anything else is said.
//!
//! As `psql` does, `prefer` and `require` encrypt without checking the server's identity: that keeps listeners out.
//! With certificates to believe in, the server's must be one of theirs, for the name that was connected to: that keeps
//! impostors out, too.

use crate::error::Error;
use crate::socket::Stream;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring::default_provider;
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, RootCertStore, SignatureScheme, StreamOwned,
};
use scaledb_sync::Arc;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use tokio_postgres::config::SslMode;

const REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];

/// Whether and how connections are encrypted.
#[derive(Clone, Debug)]
pub struct Encryption {
    mode: SslMode,
    config: Arc<ClientConfig>,
}

impl Encryption {
    /// As the mode asks for it; always, and verified, if there is a file of certificates to believe in.
    ///
    /// # Errors
    /// [`Error::Parameters`]: the file cannot be read.
    pub fn new(mode: SslMode, authorities: Option<&Path>) -> Result<Self, Error> {
        let provider = Arc::new(default_provider());
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(|error| Error::Parameters(error.to_string()))?;
        let Some(path) = authorities else {
            let any = Arc::new(Anybody(provider));
            let config = builder.dangerous().with_custom_certificate_verifier(any).with_no_client_auth();
            return Ok(Self { mode, config: Arc::new(config) });
        };
        let wrong = |error: &dyn std::fmt::Display| Error::Parameters(format!("{}: {error}", path.display()));
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_file_iter(path).map_err(|error| wrong(&error))? {
            roots.add(certificate.map_err(|error| wrong(&error))?).map_err(|error| wrong(&error))?;
        }
        if roots.is_empty() {
            return Err(wrong(&"there is no certificate in it"));
        }
        let config = builder.with_root_certificates(roots).with_no_client_auth();
        Ok(Self { mode: SslMode::Require, config: Arc::new(config) })
    }

    /// The connection, encrypted if that is wanted and the server is able to.
    pub(crate) fn of(&self, mut stream: TcpStream, host: &str) -> io::Result<Stream> {
        if self.mode == SslMode::Disable {
            return Ok(Stream::Tcp(stream));
        }
        stream.write_all(&REQUEST)?;
        // one byte and no more: what comes in the clear behind it is not taken for what was encrypted
        let mut answer = [0];
        stream.read_exact(&mut answer)?;
        match answer[0] {
            b'S' => {}
            b'N' if self.mode == SslMode::Require => {
                return Err(io::Error::other("the server does not encrypt, and that is asked for"));
            }
            b'N' => return Ok(Stream::Tcp(stream)),
            _ => return Err(io::Error::other("the server does not know what encryption is")),
        }
        let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
        let connection = ClientConnection::new(self.config.clone(), name).map_err(io::Error::other)?;
        let mut stream = StreamOwned::new(connection, stream);
        // a certificate that is refused is an error of connecting
        while stream.conn.is_handshaking() {
            stream.conn.complete_io(&mut stream.sock)?;
        }
        Ok(Stream::Tls(Box::new(stream)))
    }
}

/// Takes any certificate; the server must have its key.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
