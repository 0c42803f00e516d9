//! A client's socket, of either kind. It is shared: the thread that serves it reads and writes, the watch
//! closes it.

use crate::rules::Peer;
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use scaledb_pgwire::Woken;
use scaledb_sql::Bell;
use scaledb_sync::Arc;
use socket2::SockRef;
use std::io::{self, Read, Write};
use std::mem::MaybeUninit;
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::OnceLock;
use std::time::Duration;

/// Seconds of silence after which the system asks whether the other side is still there.
const KEEPALIVE: Duration = Duration::from_secs(60);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);
const KEEPALIVE_RETRIES: u32 = 6;

#[derive(Debug)]
pub(crate) enum Way {
    Tcp(TcpStream),
    Unix(UnixStream),
}

#[derive(Debug)]
pub(crate) struct Socket {
    way: Way,
    /// Wakes the thread that reads, once the session listens to others: until then nobody has to.
    wakes: OnceLock<OwnedFd>,
}

impl Socket {
    pub(crate) fn new(way: Way) -> Self {
        Self { way, wakes: OnceLock::new() }
    }

    /// Sets what holds for the life of the connection.
    ///
    /// # Errors
    ///
    /// The client is gone already.
    pub(crate) fn prepare(&self, write_timeout: Duration) -> io::Result<()> {
        let write_timeout = Some(write_timeout).filter(|timeout| !timeout.is_zero());
        match &self.way {
            Way::Tcp(stream) => {
                stream.set_nodelay(true)?;
                stream.set_write_timeout(write_timeout)?;
                let keepalive = socket2::TcpKeepalive::new()
                    .with_time(KEEPALIVE)
                    .with_interval(KEEPALIVE_INTERVAL)
                    .with_retries(KEEPALIVE_RETRIES);
                SockRef::from(stream).set_tcp_keepalive(&keepalive)
            }
            Way::Unix(stream) => stream.set_write_timeout(write_timeout),
        }
    }

    pub(crate) fn peer(&self) -> io::Result<Peer> {
        match &self.way {
            Way::Tcp(stream) => stream.peer_addr().map(Peer::Tcp),
            Way::Unix(_) => Ok(Peer::Local),
        }
    }

    /// Whether the client has hung up and nothing that it sent waits to be read.
    pub(crate) fn is_gone(&self) -> bool {
        let mut byte = [MaybeUninit::uninit()];
        let flags = libc::MSG_PEEK | libc::MSG_DONTWAIT;
        let peeked = match &self.way {
            Way::Tcp(stream) => SockRef::from(stream).recv_with_flags(&mut byte, flags),
            Way::Unix(stream) => SockRef::from(stream).recv_with_flags(&mut byte, flags),
        };
        match peeked {
            Ok(n) => n == 0,
            Err(error) => !matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted),
        }
    }

    /// Ends one direction or both. A client that is gone already needs no more.
    pub(crate) fn close(&self, how: Shutdown) {
        let _ = match &self.way {
            Way::Tcp(stream) => stream.shutdown(how),
            Way::Unix(stream) => stream.shutdown(how),
        };
    }
}

impl Bell for Socket {
    fn arm(&self) -> io::Result<()> {
        if self.wakes.get().is_none() {
            // only the thread of the session arms it
            let _ = self.wakes.set(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        }
        Ok(())
    }

    fn ring(&self) {
        if let Some(wakes) = self.wakes.get() {
            // it fails only if it is rung already
            let _ = rustix::io::write(wakes, &1_u64.to_ne_bytes());
        }
    }
}

/// The socket, as the thread that serves it holds it.
#[derive(Debug)]
pub(crate) struct Stream(pub(crate) Arc<Socket>);

impl Stream {
    /// Waits until there is something to read.
    ///
    /// # Errors
    ///
    /// [`Woken`], if others have something to say first.
    #[cold]
    fn wait(socket: BorrowedFd<'_>, wakes: &OwnedFd) -> io::Result<()> {
        let mut either = [PollFd::new(&socket, PollFlags::IN), PollFd::new(wakes, PollFlags::IN)];
        poll(&mut either, None)?;
        if either[0].revents().is_empty() && !either[1].revents().is_empty() {
            let _ = rustix::io::read(wakes, &mut [0; 8]);
            return Err(io::Error::other(Woken));
        }
        Ok(())
    }
}

impl Read for Stream {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let wakes = self.0.wakes.get();
        match &self.0.way {
            Way::Tcp(stream) => {
                if let Some(wakes) = wakes {
                    Self::wait(stream.as_fd(), wakes)?;
                }
                (&mut &*stream).read(to)
            }
            Way::Unix(stream) => {
                // A thread that sleeps in a read of such a socket wakes for nothing whenever the other side takes what
                // was written. One that sleeps in poll does not: this call saves two switches between threads per round
                // trip.
                match wakes {
                    Some(wakes) => Self::wait(stream.as_fd(), wakes)?,
                    None => drop(poll(&mut [PollFd::new(stream, PollFlags::IN)], None)?),
                }
                (&mut &*stream).read(to)
            }
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &self.0.way {
            Way::Tcp(stream) => (&mut &*stream).write(bytes),
            Way::Unix(stream) => (&mut &*stream).write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
