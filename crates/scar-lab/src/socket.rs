//! Sockets between the nodes of a run, which deliver what arrives after a delay.
//!
//! ```text
//!   length: u32 │ when it was sent: u64, nanoseconds since the run began │ message, in postcard's format
//! ```
//!
//! All nodes of a run have the same clock: whoever reads a message knows when it may be seen.

use scaledb_scar::NodeId;
use scaledb_sync::Arc;
use scaledb_sync::lock::{Condvar, Mutex};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// A frame is not longer: one that says so is none of ours.
const MAX_FRAME: usize = 64 << 20;

/// What has arrived: when it may be seen, from whom, and what.
pub(crate) type Arrived<M> = (Instant, NodeId, M);

/// Where messages for a node wait.
pub(crate) struct Inbox<M> {
    queue: Mutex<Vec<Arrived<M>>>,
    wake: Condvar,
}

impl<M> Inbox<M> {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { queue: Mutex::new(Vec::new()), wake: Condvar::new() })
    }

    fn push(&self, arrived: Vec<Arrived<M>>) {
        self.queue.lock().extend(arrived);
        self.wake.notify_one();
    }

    /// All that is there; if nothing is, after so long.
    pub(crate) fn take(&self, wait: Duration) -> Vec<Arrived<M>> {
        let mut queue = self.queue.lock();
        if queue.is_empty() && !wait.is_zero() {
            queue = self.wake.wait_timeout(queue, wait);
        }
        std::mem::take(&mut queue)
    }
}

/// The way to another node.
pub(crate) struct Link {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Link {
    /// Adds a message; its bytes.
    pub(crate) fn push<M: Serialize>(&mut self, message: &M, since: Instant) -> io::Result<usize> {
        let bytes = postcard::to_stdvec(message).map_err(io::Error::other)?;
        self.buffer.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        self.buffer.extend_from_slice(&(since.elapsed().as_nanos() as u64).to_le_bytes());
        self.buffer.extend_from_slice(&bytes);
        Ok(bytes.len() + 12)
    }

    /// Sends all that was added.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        if !self.buffer.is_empty() {
            self.stream.write_all(&self.buffer)?;
            self.buffer.clear();
        }
        Ok(())
    }
}

/// Two ends of a connection on this machine.
pub(crate) fn pair() -> io::Result<(Link, TcpStream)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let stream = TcpStream::connect(listener.local_addr()?)?;
    let (other, _) = listener.accept()?;
    stream.set_nodelay(true)?;
    Ok((Link { stream, buffer: Vec::new() }, other))
}

/// Reads messages of a node until the connection ends.
pub(crate) fn read<M: DeserializeOwned>(
    mut stream: TcpStream,
    from: NodeId,
    since: Instant,
    delay: Duration,
    inbox: &Inbox<M>,
) -> io::Result<()> {
    let mut bytes = Vec::new();
    let mut chunk = vec![0; 64 << 10];
    loop {
        let count = stream.read(&mut chunk)?;
        if count == 0 {
            return Ok(());
        }
        bytes.extend_from_slice(&chunk[..count]);
        let (mut at, mut arrived) = (0, Vec::new());
        while let Some(head) = bytes.get(at..at + 12) {
            let (length, sent) = head.split_at(4);
            let length = u32::from_le_bytes(length.try_into().map_err(io::Error::other)?) as usize;
            let sent = u64::from_le_bytes(sent.try_into().map_err(io::Error::other)?);
            if length > MAX_FRAME {
                return Err(io::ErrorKind::InvalidData.into());
            }
            let Some(body) = bytes.get(at + 12..at + 12 + length) else { break };
            let message = postcard::from_bytes(body).map_err(io::Error::other)?;
            arrived.push((since + Duration::from_nanos(sent) + delay, from, message));
            at += 12 + length;
        }
        bytes.drain(..at);
        if !arrived.is_empty() {
            inbox.push(arrived);
        }
    }
}
