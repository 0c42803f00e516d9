//! A TCP proxy that delays what passes, in both directions, and that can be cut.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// The bytes that are read at once.
const CHUNK: usize = 64 * 1024;
/// How many chunks may be under way in one direction of a connection; then the sender has to wait, as on a long wire.
const UNDER_WAY: usize = 1024;

/// What a link does to what passes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Weather {
    /// The delay in each direction: half of a round trip.
    pub one_way: Duration,
    /// Connections are dropped, and new ones too.
    pub cut: bool,
}

/// A proxy in front of one port.
#[derive(Debug)]
pub struct Link {
    /// Where it listens.
    pub address: SocketAddr,
    weather: watch::Sender<Weather>,
    accepting: JoinHandle<()>,
}

impl Link {
    /// Listens at a free port of the loopback device for connections to `target`.
    ///
    /// # Errors
    /// No port can be had.
    pub async fn start(target: SocketAddr, weather: Weather) -> std::io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let (weather, watching) = watch::channel(weather);
        let accepting = Handle::current().spawn(accept(listener, target, watching));
        Ok(Self { address, weather, accepting })
    }

    /// Changes what the link does, from now on.
    pub fn set(&self, weather: Weather) {
        self.weather.send_replace(weather);
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.accepting.abort();
        self.weather.send_replace(Weather { one_way: Duration::ZERO, cut: true });
    }
}

async fn accept(listener: TcpListener, target: SocketAddr, weather: watch::Receiver<Weather>) {
    loop {
        let Ok((near, _)) = listener.accept().await else { return };
        if weather.borrow().cut {
            continue;
        }
        tokio::spawn(connection(near, target, weather.clone()));
    }
}

async fn connection(near: TcpStream, target: SocketAddr, mut weather: watch::Receiver<Weather>) {
    let Ok(far) = TcpStream::connect(target).await else { return };
    let _ = (near.set_nodelay(true), far.set_nodelay(true));
    let ((near_reads, near_writes), (far_reads, far_writes)) = (near.into_split(), far.into_split());
    let there = direction(near_reads, far_writes, weather.clone());
    let back = direction(far_reads, near_writes, weather.clone());
    let cut = async {
        // the sender outlives the link's connections, or dropped them all by ending: both end this connection
        let _ = weather.wait_for(|weather| weather.cut).await;
    };
    tokio::select! {
        () = async { tokio::join!(there, back); } => {}
        () = cut => {}
    }
}

/// Carries the bytes of one direction: each chunk leaves as much later as the weather said when it came.
async fn direction(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, weather: watch::Receiver<Weather>) {
    let (queue, mut waiting) = mpsc::channel::<(Instant, Vec<u8>)>(UNDER_WAY);
    let reads = async move {
        let mut buffer = vec![0; CHUNK];
        while let Ok(read @ 1..) = from.read(&mut buffer).await {
            let due = Instant::now() + weather.borrow().one_way;
            if queue.send((due, buffer[..read].to_vec())).await.is_err() {
                break;
            }
        }
    };
    let writes = async move {
        while let Some((due, bytes)) = waiting.recv().await {
            tokio::time::sleep_until(due).await;
            if to.write_all(&bytes).await.is_err() {
                break;
            }
        }
        let _ = to.shutdown().await;
    };
    tokio::join!(reads, writes);
}
