//! The way to the client: plain, or encrypted by TLS.

use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::{self, Read, Write};
use std::sync::Arc;

/// Bytes to and from a client. Reads and writes may block; the server ends them by closing the socket.
pub trait Transport: Read + Write {}

impl<T: Read + Write> Transport for T {}

/// The error of a transport's read that somebody has woken up before anything came: the backend may have something to
/// say ([`Backend::woken`](crate::Backend::woken)), and the read is then made again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("woken up")]
pub struct Woken;

impl Woken {
    /// Whether it is the reason of an error.
    pub(crate) fn is_reason(error: &io::Error) -> bool {
        error.get_ref().is_some_and(|inner| inner.is::<Self>())
    }
}

/// The server's side of TLS.
#[derive(Clone, Debug)]
pub struct Tls {
    /// Certificates, keys and versions.
    pub config: Arc<ServerConfig>,
    /// The hash of the certificate for channel binding `tls-server-end-point` (RFC 5929), if it has one.
    pub end_point: Option<Arc<[u8]>>,
}

/// Plain at first; encrypted once the client has asked for it.
#[expect(clippy::large_enum_variant, reason = "one per connection, and it lives on its thread's stack")]
pub(crate) enum Channel<T: Transport> {
    Plain(T),
    Tls(StreamOwned<ServerConnection, T>),
    /// Between the two.
    Gone,
}

impl<T: Transport> Channel<T> {
    pub(crate) fn is_encrypted(&self) -> bool {
        matches!(self, Self::Tls(_))
    }

    /// Shakes hands.
    ///
    /// # Errors
    ///
    /// What the client sends is no TLS, or none that the configuration allows.
    pub(crate) fn encrypt(&mut self, tls: &Tls) -> io::Result<()> {
        let connection = ServerConnection::new(tls.config.clone()).map_err(io::Error::other)?;
        match std::mem::replace(self, Self::Gone) {
            Self::Plain(transport) => {
                let mut stream = StreamOwned::new(connection, transport);
                while stream.conn.is_handshaking() {
                    stream.conn.complete_io(&mut stream.sock)?;
                }
                *self = Self::Tls(stream);
                Ok(())
            }
            _ => Err(io::Error::other("encrypted already")),
        }
    }

    /// Says goodbye in the way of TLS; plain connections just end.
    pub(crate) fn close(&mut self) {
        if let Self::Tls(stream) = self {
            stream.conn.send_close_notify();
            // the client may be gone already
            let _ = stream.conn.complete_io(&mut stream.sock);
        }
    }
}

impl<T: Transport> Read for Channel<T> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(transport) => transport.read(to),
            // clients that just go, without a close_notify, are common
            Self::Tls(stream) => match stream.read(to) {
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(0),
                read => read,
            },
            Self::Gone => Ok(0),
        }
    }
}

impl<T: Transport> Write for Channel<T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(transport) => transport.write(bytes),
            Self::Tls(stream) => stream.write(bytes),
            Self::Gone => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(transport) => transport.flush(),
            Self::Tls(stream) => stream.flush(),
            Self::Gone => Ok(()),
        }
    }
}
