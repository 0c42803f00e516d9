//! Bytes to and from a server, cut into messages.

use crate::client::Failure;
use rustix::event::{PollFd, PollFlags, poll};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;

/// Bytes that are read at once.
const CHUNK: usize = 64 << 10;

/// What bytes run over.
pub(super) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// Messages to and from a server.
pub(super) struct Socket {
    stream: Stream,
    /// What is not sent yet.
    pub(super) out: Vec<u8>,
    /// What has arrived and is not used yet: `incoming[start..end]`.
    incoming: Vec<u8>,
    start: usize,
    end: usize,
}

/// The connection does not work.
#[cold]
pub(super) fn lost(why: impl ToString) -> Failure {
    Failure::Connection(why.to_string())
}

impl Socket {
    pub(super) fn new(stream: Stream) -> Self {
        Self { stream, out: Vec::new(), incoming: vec![0; CHUNK], start: 0, end: 0 }
    }

    /// Sends what waits.
    pub(super) fn send(&mut self) -> Result<(), Failure> {
        let sent = match &mut self.stream {
            Stream::Tcp(stream) => stream.write_all(&self.out),
            Stream::Unix(stream) => stream.write_all(&self.out),
        };
        self.out.clear();
        sent.map_err(lost)
    }

    /// The next message: its tag and body.
    pub(super) fn message(&mut self) -> Result<(u8, &[u8]), Failure> {
        self.fill(5)?;
        let head = &self.incoming[self.start..];
        let tag = head[0];
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
        if length < 4 {
            return Err(lost("a message has no length"));
        }
        self.fill(1 + length)?;
        let body = self.start + 5;
        self.start += 1 + length;
        Ok((tag, &self.incoming[body..self.start]))
    }

    /// Reads until there are so many bytes.
    fn fill(&mut self, need: usize) -> Result<(), Failure> {
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
            let free = &mut self.incoming[self.end..];
            let read = match &mut self.stream {
                Stream::Tcp(stream) => stream.read(free),
                // as libpq does; who sleeps in the read itself is woken in vain when the server takes what was sent
                Stream::Unix(stream) => {
                    let ready = poll(&mut [PollFd::new(stream, PollFlags::IN)], None);
                    ready.map_err(io::Error::from).and_then(|_| stream.read(free))
                }
            };
            match read {
                Ok(0) => return Err(lost("the server has closed it")),
                Ok(count) => self.end += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(lost(error)),
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
}
