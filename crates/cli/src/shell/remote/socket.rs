//! Messages over a socket.

use bytes::BytesMut;
use postgres_protocol::message::backend::{Header, Message};
use std::io::{self, Read, Write};

/// Bytes that are read at once.
const CHUNK: usize = 16 << 10;
/// The longest message that is believed: a server's own limit of a value is a gigabyte.
const MAX_MESSAGE: i32 = 1 << 30;

/// What bytes run over: TCP or a Unix socket.
pub(super) trait Stream: Read + Write {}

impl<S: Read + Write> Stream for S {}

/// Messages to and from a server.
pub(super) struct Socket {
    stream: Box<dyn Stream>,
    incoming: BytesMut,
    /// Messages that are not sent yet.
    pub(super) outgoing: BytesMut,
}

impl Socket {
    pub(super) fn new(stream: Box<dyn Stream>) -> Self {
        Self { stream, incoming: BytesMut::new(), outgoing: BytesMut::new() }
    }

    /// Sends what waits.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.stream.write_all(&self.outgoing)?;
        self.outgoing.clear();
        self.stream.flush()
    }

    /// The next message.
    pub(super) fn message(&mut self) -> io::Result<Message> {
        let mut chunk = [0; CHUNK];
        loop {
            if let Some(header) = Header::parse(&self.incoming)?
                && header.len() > MAX_MESSAGE
            {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "a message is too long"));
            }
            // nothing is reserved for what a header declares: the buffer grows with what has come
            if self.complete()?
                && let Some(message) = Message::parse(&mut self.incoming)?
            {
                return Ok(message);
            }
            match self.stream.read(&mut chunk) {
                Ok(0) => {
                    let what = "the server closed the connection";
                    return Err(io::Error::new(io::ErrorKind::UnexpectedEof, what));
                }
                Ok(count) => self.incoming.extend_from_slice(&chunk[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Whether a whole message has come.
    fn complete(&self) -> io::Result<bool> {
        let header = Header::parse(&self.incoming)?;
        Ok(header.is_some_and(|header| {
            usize::try_from(header.len()).is_ok_and(|length| self.incoming.len() > length)
        }))
    }
}
