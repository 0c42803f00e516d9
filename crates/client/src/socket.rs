//! Bytes to and from a server, cut into messages.

use rustix::event::{PollFd, PollFlags, poll};
use rustls::{ClientConnection, StreamOwned};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;

/// Bytes that are read at once.
const CHUNK: usize = 64 << 10;
/// The longest message that is believed, in bytes: a server's own limit of a value is a gigabyte.
const MAX_MESSAGE: usize = 1 << 30;

/// What bytes run over.
pub(crate) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

/// Messages to and from a server.
pub struct Socket {
    stream: Stream,
    /// What is not sent yet.
    pub out: Vec<u8>,
    /// What has arrived and is not used yet: `incoming[start..end]`.
    incoming: Vec<u8>,
    start: usize,
    end: usize,
}

impl Stream {
    pub(crate) fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.write_all(bytes),
            Self::Unix(stream) => stream.write_all(bytes),
            Self::Tls(stream) => stream.write_all(bytes).and_then(|()| stream.flush()),
        }
    }

    pub(crate) fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(into),
            // as libpq does; a thread that sleeps in the read itself is woken in vain when the server takes what was
            // sent
            Self::Unix(stream) => {
                let ready = poll(&mut [PollFd::new(stream, PollFlags::IN)], None);
                ready.map_err(io::Error::from).and_then(|_| stream.read(into))
            }
            Self::Tls(stream) => stream.read(into),
        }
    }
}

impl Socket {
    pub(crate) fn new(stream: Stream) -> Self {
        Self { stream, out: Vec::new(), incoming: vec![0; CHUNK], start: 0, end: 0 }
    }

    /// Sends what waits.
    ///
    /// # Errors
    /// The connection's.
    pub fn send(&mut self) -> io::Result<()> {
        let sent = self.stream.write_all(&self.out);
        self.out.clear();
        sent
    }

    /// The next message: its tag and body.
    ///
    /// # Errors
    /// The connection's; the message is longer than a server's may be.
    pub fn message(&mut self) -> io::Result<(u8, &[u8])> {
        self.fill(5)?;
        let head = &self.incoming[self.start..];
        let tag = head[0];
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
        if !(4..=MAX_MESSAGE).contains(&length) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a message has an impossible length"));
        }
        self.fill(1 + length)?;
        let body = self.start + 5;
        self.start += 1 + length;
        Ok((tag, &self.incoming[body..self.start]))
    }

    /// Reads until there are so many bytes.
    fn fill(&mut self, need: usize) -> io::Result<()> {
        while self.end - self.start < need {
            if self.start == self.end {
                (self.start, self.end) = (0, 0);
            }
            if self.start + need > self.incoming.len() {
                self.incoming.copy_within(self.start..self.end, 0);
                (self.start, self.end) = (0, self.end - self.start);
            }
            if self.end == self.incoming.len() {
                // twice what has come, whatever a length announces
                self.incoming.resize(2 * self.end, 0);
            }
            match self.stream.read(&mut self.incoming[self.end..]) {
                Ok(0) => {
                    let what = "the server has closed the connection";
                    return Err(io::Error::new(io::ErrorKind::UnexpectedEof, what));
                }
                Ok(count) => self.end += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scaledb_sync::thread;

    #[test]
    fn messages_are_whole_however_they_arrive() {
        let (near, mut far) = UnixStream::pair().unwrap();
        let sizes = [0, 1, 5_000, CHUNK, 3 * CHUNK + 7, 2];
        thread::scope(|scope| {
            scope.spawn(move || {
                for size in sizes {
                    let body: Vec<u8> = (0..size).map(|at| at as u8).collect();
                    let length = (size as u32 + 4).to_be_bytes();
                    let message = [&b"D"[..], &length, &body].concat();
                    message.chunks(7_001).for_each(|piece| far.write_all(piece).unwrap());
                }
            });
            let mut socket = Socket::new(Stream::Unix(near));
            for size in sizes {
                let (tag, body) = socket.message().unwrap();
                assert_eq!((tag, body.len()), (b'D', size));
                assert!(body.iter().zip(0_usize..).all(|(&byte, at)| byte == at as u8));
            }
            assert!(socket.message().is_err());
        });
    }

    #[test]
    fn impossible_lengths_are_refused_and_reserve_nothing() {
        for length in [0_u32, 3, MAX_MESSAGE as u32 + 1, u32::MAX] {
            let (near, mut far) = UnixStream::pair().unwrap();
            far.write_all(&[&b"D"[..], &length.to_be_bytes()].concat()).unwrap();
            let mut socket = Socket::new(Stream::Unix(near));
            assert_eq!(socket.message().unwrap_err().kind(), io::ErrorKind::InvalidData);
        }
        let (near, mut far) = UnixStream::pair().unwrap();
        far.write_all(&[&b"D"[..], &(MAX_MESSAGE as u32).to_be_bytes()].concat()).unwrap();
        drop(far);
        let mut socket = Socket::new(Stream::Unix(near));
        assert_eq!(socket.message().unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        assert!(socket.incoming.len() <= 2 * CHUNK);
    }
}
