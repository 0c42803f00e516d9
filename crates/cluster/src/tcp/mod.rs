//! The network between processes: TCP with TLS in both directions, each direction a connection of its own.
//!
//! ```text
//!   send ──► queue ──► Link: number, keep ──► frames ──TLS──► Link: known? ──► deliver
//!            bounded   bounded; repeats after a reconnect        acknowledgements go with the frames of the other direction
//! ```
//!
//! One thread for each peer dials and writes; one for each connection of a peer reads. A peer that falls behind the
//! bounds, breaks the rules, or has restarted is reported as failed, and heard no more: the next view is without it.

mod hello;
mod incoming;
mod outgoing;
mod tls;

pub use tls::{PeerTls, TlsError};

use super::asking::{Asked, Told};
use super::codec::{self, Bytes, Malformed};
use super::locks::MAX_LETTER;
use super::network::{Network, Packet};
use super::rows::Rows;
use super::settings::Settings;
use super::state::Entrance;
use super::store::{ClusterView, Life};
use scaledb_locks::keeper::Letter;
use scaledb_scar::link::{Frame, Incarnation, Limits, Link};
use scaledb_scar::{Message, NodeId};
use scaledb_sync::Arc;
use scaledb_sync::atomic::{AtomicBool, AtomicU64, Ordering};
use scaledb_sync::lock::{Condvar, Mutex};
use scaledb_sync::thread::{JoinHandle, try_spawn};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};

/// What may wait for a peer: in the queue, and as much again without an acknowledgement.
const LIMITS: Limits = Limits { messages: 1 << 16, bytes: 256 << 20, patience: None };

/// Connections of peers at once, those included that have not said yet who they are.
const MAX_INCOMING: usize = 256;

/// What a node needs to know of itself.
#[derive(Clone, Debug)]
pub struct TcpConfig {
    /// The name of the cluster: who has another is refused.
    pub cluster: String,
    /// Which node this is.
    pub me: NodeId,
    /// And which life of it.
    pub life: Incarnation,
    /// The certificates.
    pub tls: PeerTls,
    /// The times.
    pub settings: Settings,
}

/// What goes over a connection.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
enum Wire {
    /// A message, encoded once, or an acknowledgement.
    Linked(Frame<Bytes>),
    Heartbeat,
    Busy,
    NewView,
    Ask(u64, Asked),
    Told(u64, Told),
}

/// What a link carries: it comes once, and in order, also behind a reconnect.
#[derive(Serialize, Deserialize)]
enum Carried {
    Message(Message<Rows>),
    Lock(Letter),
}

impl Carried {
    /// What the bytes of a letter begin with: the number of its variant.
    const LOCK: u8 = 1;

    /// What the bytes are. A letter has few, as it becomes more than it was: a name of a lock takes more than its
    /// bytes.
    fn decode(bytes: &[u8]) -> Result<Packet, Malformed> {
        if bytes.first() == Some(&Self::LOCK) && bytes.len() > MAX_LETTER {
            return Err(Malformed::new("a letter about locks that is too long"));
        }
        Ok(match codec::decode(bytes)? {
            Self::Message(message) => Packet::Message(message),
            Self::Lock(letter) => Packet::Lock(letter),
        })
    }
}

/// Connections to and from the other members.
pub struct Tcp {
    shared: Arc<TcpShared>,
    listener: Mutex<Option<TcpListener>>,
    address: SocketAddr,
}

struct TcpShared {
    config: TcpConfig,
    peers: Mutex<BTreeMap<NodeId, Arc<Peer>>>,
    entrance: Mutex<Option<Entrance>>,
    /// Sockets of peers that have connected, to shut them, by a number of their own.
    incoming: Mutex<BTreeMap<u64, TcpStream>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    next: AtomicU64,
    stop: AtomicBool,
    /// Bytes of frames, before they are encrypted.
    written: AtomicU64,
    last_error: Mutex<Option<String>>,
}

/// A life of another member.
struct Peer {
    node: NodeId,
    life: Life,
    out: Mutex<Out>,
    wake: Condvar,
    /// It is no member any more, or has failed.
    gone: AtomicBool,
}

struct Out {
    link: Link<Bytes>,
    /// Not given to the link yet.
    packets: VecDeque<Packet>,
    bytes: usize,
    frames: Vec<Frame<Bytes>>,
    /// The connection to the peer, to shut it.
    socket: Option<TcpStream>,
    /// The number of its connection to here.
    incoming: Option<u64>,
}

impl Tcp {
    /// Others will be let in where the listener listens; nobody before a member is attached.
    ///
    /// # Errors
    /// The listener has no address.
    pub fn new(config: TcpConfig, listener: TcpListener) -> io::Result<Arc<Self>> {
        let address = listener.local_addr()?;
        let shared = Arc::new(TcpShared {
            config,
            peers: Mutex::new(BTreeMap::new()),
            entrance: Mutex::new(None),
            incoming: Mutex::new(BTreeMap::new()),
            threads: Mutex::new(Vec::new()),
            next: AtomicU64::new(1),
            stop: AtomicBool::new(false),
            written: AtomicU64::new(0),
            last_error: Mutex::new(None),
        });
        Ok(Arc::new(Self { shared, listener: Mutex::new(Some(listener)), address }))
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Why a connection was last refused or lost, here or there.
    pub fn last_error(&self) -> Option<String> {
        self.shared.last_error.lock().clone()
    }
}

impl TcpShared {
    fn stopping(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    fn entrance(&self) -> Option<Entrance> {
        self.entrance.lock().clone()
    }

    fn note(&self, what: String) {
        *self.last_error.lock() = Some(what);
    }

    fn peer(&self, node: NodeId) -> Option<Arc<Peer>> {
        self.peers.lock().get(&node).cloned()
    }

    /// A life of a member is given up.
    fn give_up(&self, peer: &Peer, why: &str) {
        if peer.gone.swap(true, Ordering::SeqCst) {
            return;
        }
        self.note(format!("node {} was given up: {why}", peer.life.name));
        if let Some(entrance) = self.entrance() {
            entrance.failed(peer.node, peer.life.incarnation);
        }
    }

    /// Takes what has ended out of the list, and remembers a thread to wait for.
    fn remember(&self, thread: JoinHandle<()>) {
        let mut threads = self.threads.lock();
        threads.retain(|thread| !thread.is_finished());
        threads.push(thread);
    }

    /// Ends the connections of a peer that is gone.
    fn drop_peer(&self, peer: &Peer) {
        peer.gone.store(true, Ordering::SeqCst);
        let mut out = peer.out.lock();
        out.packets = VecDeque::new();
        // one that is shut already needs no more
        let _ = out.socket.take().map(|socket| socket.shutdown(Shutdown::Both));
        if let Some(number) = out.incoming.take() {
            self.shut(number);
        }
        peer.wake.notify_all();
    }

    fn shut(&self, number: u64) {
        if let Some(socket) = self.incoming.lock().remove(&number) {
            let _ = socket.shutdown(Shutdown::Both);
        }
    }
}

impl Network for Tcp {
    fn attach(&self, entrance: Entrance) -> io::Result<()> {
        *self.shared.entrance.lock() = Some(entrance);
        if let Some(listener) = self.listener.lock().take() {
            let shared = self.shared.clone();
            let thread = try_spawn("scaledb-accept", move || incoming::accept(&shared, &listener))?;
            self.shared.remember(thread);
        }
        Ok(())
    }

    fn follow(&self, view: &ClusterView) {
        let mut new = Vec::new();
        let mut old = Vec::new();
        {
            let mut peers = self.shared.peers.lock();
            // who was taken out on purpose may be a member again: its end of the link knows what has come
            let stays = |peer: &Peer| {
                let life = view.lives.get(&peer.node).or_else(|| view.leaving.get(&peer.node));
                life == Some(&peer.life)
            };
            old.extend(peers.values().filter(|peer| !stays(peer)).cloned());
            peers.retain(|_, peer| stays(peer));
            for (&node, life) in &view.lives {
                let other = node != self.shared.config.me && view.view.members.has(node);
                if other && !peers.contains_key(&node) {
                    let link = Link::new(self.shared.config.life, Some(life.incarnation), LIMITS);
                    let out = Out {
                        link,
                        packets: VecDeque::new(),
                        bytes: 0,
                        frames: Vec::new(),
                        socket: None,
                        incoming: None,
                    };
                    let peer = Arc::new(Peer {
                        node,
                        life: life.clone(),
                        out: Mutex::new(out),
                        wake: Condvar::new(),
                        gone: AtomicBool::new(false),
                    });
                    peers.insert(node, peer.clone());
                    new.push(peer);
                }
            }
        }
        old.iter().for_each(|peer| self.shared.drop_peer(peer));
        for peer in new {
            let (shared, writes) = (self.shared.clone(), peer.clone());
            match try_spawn("scaledb-peer", move || outgoing::run(&shared, &writes)) {
                Ok(thread) => self.shared.remember(thread),
                // without its thread it is silent, which the others notice
                Err(error) => self.shared.give_up(&peer, &error.to_string()),
            }
        }
    }

    fn send(&self, to: NodeId, packet: Packet) {
        let Some(peer) = self.shared.peer(to) else { return };
        if peer.gone.load(Ordering::SeqCst) {
            return;
        }
        let full = {
            let mut out = peer.out.lock();
            let bytes = out.bytes.saturating_add(packet.weight());
            let full = out.packets.len() >= LIMITS.messages || bytes > LIMITS.bytes;
            if !full {
                out.bytes = bytes;
                out.packets.push_back(packet);
                peer.wake.notify_all();
            }
            full
        };
        if full {
            self.shared.give_up(&peer, "too much waits to be sent");
        }
    }

    fn written(&self) -> u64 {
        self.shared.written.load(Ordering::Relaxed) // a statistic
    }

    fn close(&self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        // the thread that accepts looks up when somebody comes
        let mut address = self.address;
        if address.ip().is_unspecified() {
            match address {
                SocketAddr::V4(_) => address.set_ip(Ipv4Addr::LOCALHOST.into()),
                SocketAddr::V6(_) => address.set_ip(Ipv6Addr::LOCALHOST.into()),
            }
        }
        drop(TcpStream::connect_timeout(&address, self.shared.config.settings.handshake));
        let peers = std::mem::take(&mut *self.shared.peers.lock());
        peers.values().for_each(|peer| self.shared.drop_peer(peer));
        loop {
            let numbers: Vec<u64> = self.shared.incoming.lock().keys().copied().collect();
            numbers.into_iter().for_each(|number| self.shared.shut(number));
            let Some(thread) = self.shared.threads.lock().pop() else { break };
            // one that has panicked has said so
            let _ = thread.join();
        }
        *self.shared.entrance.lock() = None;
    }
}
