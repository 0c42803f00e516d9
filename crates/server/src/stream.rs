//! A client's socket, of either kind. It is shared: the thread that serves it reads and writes, the watch
//! closes it.

use crate::rules::Peer;
use rustix::event::{PollFd, PollFlags, poll};
use scaledb_sync::Arc;
use socket2::SockRef;
use std::io::{self, Read, Write};
use std::mem::MaybeUninit;
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// Seconds of silence after which the system asks whether the other side is still there.
const KEEPALIVE: Duration = Duration::from_secs(60);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);
const KEEPALIVE_RETRIES: u32 = 6;

#[derive(Debug)]
pub(crate) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Socket {
    /// Sets what holds for the life of the connection.
    ///
    /// # Errors
    ///
    /// The client is gone already.
    pub(crate) fn prepare(&self, write_timeout: Duration) -> io::Result<()> {
        let write_timeout = Some(write_timeout).filter(|timeout| !timeout.is_zero());
        match self {
            Self::Tcp(stream) => {
                stream.set_nodelay(true)?;
                stream.set_write_timeout(write_timeout)?;
                let keepalive = socket2::TcpKeepalive::new()
                    .with_time(KEEPALIVE)
                    .with_interval(KEEPALIVE_INTERVAL)
                    .with_retries(KEEPALIVE_RETRIES);
                SockRef::from(stream).set_tcp_keepalive(&keepalive)
            }
            Self::Unix(stream) => stream.set_write_timeout(write_timeout),
        }
    }

    pub(crate) fn peer(&self) -> io::Result<Peer> {
        match self {
            Self::Tcp(stream) => stream.peer_addr().map(Peer::Tcp),
            Self::Unix(_) => Ok(Peer::Local),
        }
    }

    /// Whether the client has hung up and nothing that it sent waits to be read.
    pub(crate) fn is_gone(&self) -> bool {
        let mut byte = [MaybeUninit::uninit()];
        let flags = libc::MSG_PEEK | libc::MSG_DONTWAIT;
        let peeked = match self {
            Self::Tcp(stream) => SockRef::from(stream).recv_with_flags(&mut byte, flags),
            Self::Unix(stream) => SockRef::from(stream).recv_with_flags(&mut byte, flags),
        };
        match peeked {
            Ok(n) => n == 0,
            Err(error) => !matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted),
        }
    }

    /// Ends one direction or both. A client that is gone already needs no more.
    pub(crate) fn close(&self, how: Shutdown) {
        let _ = match self {
            Self::Tcp(stream) => stream.shutdown(how),
            Self::Unix(stream) => stream.shutdown(how),
        };
    }
}

/// The socket, as the thread that serves it holds it.
#[derive(Debug)]
pub(crate) struct Stream(pub(crate) Arc<Socket>);

impl Read for Stream {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        match &*self.0 {
            Socket::Tcp(stream) => (&mut &*stream).read(to),
            Socket::Unix(stream) => {
                // A thread that sleeps in a read of such a socket wakes for nothing whenever the other side takes what
                // was written. One that sleeps in poll does not: this call saves two switches between threads per round
                // trip.
                poll(&mut [PollFd::new(stream, PollFlags::IN)], None)?;
                (&mut &*stream).read(to)
            }
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &*self.0 {
            Socket::Tcp(stream) => (&mut &*stream).write(bytes),
            Socket::Unix(stream) => (&mut &*stream).write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
