//! Peers that connect: who they are, and what they send.

use super::hello::{self, Hello, Welcome};
use super::tls;
use super::{Carried, MAX_INCOMING, Out, Peer, TcpShared, Wire};
use crate::codec::{self, MAX_FRAME};
use crate::network::Packet;
use rustls::{ServerConnection, StreamOwned};
use scaledb_sync::Arc;
use scaledb_sync::atomic::Ordering;
use scaledb_sync::thread::{sleep, try_spawn};
use std::io;
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

/// After an error of accepting: too many files are open, which passes.
const BREATH: Duration = Duration::from_millis(50);

pub(super) fn accept(shared: &Arc<TcpShared>, listener: &TcpListener) {
    while !shared.stopping() {
        let Ok((socket, _)) = listener.accept() else {
            sleep(BREATH);
            continue;
        };
        if shared.stopping() {
            return;
        }
        let number = shared.next.fetch_add(1, Ordering::SeqCst);
        let Ok(clone) = socket.try_clone() else { continue };
        {
            let mut incoming = shared.incoming.lock();
            if incoming.len() >= MAX_INCOMING {
                // dropped: closed
                continue;
            }
            incoming.insert(number, clone);
        }
        let reads = shared.clone();
        let thread = try_spawn("scaledb-reader", move || {
            if let Err(error) = serve(&reads, number, socket)
                && !reads.stopping()
            {
                reads.note(format!("a connection from a peer: {error}"));
            }
            reads.shut(number);
        });
        match thread {
            Ok(thread) => shared.remember(thread),
            Err(_) => shared.shut(number),
        }
    }
}

fn serve(shared: &TcpShared, number: u64, socket: TcpStream) -> io::Result<()> {
    let settings = &shared.config.settings;
    socket.set_nodelay(true)?;
    socket.set_read_timeout(Some(settings.handshake))?;
    socket.set_write_timeout(Some(settings.handshake))?;
    let connection = ServerConnection::new(shared.config.tls.server.clone()).map_err(io::Error::other)?;
    let mut stream = StreamOwned::new(connection, socket);
    let hello: Hello = match hello::read(&mut stream) {
        Ok(hello) => hello,
        Err(error) => {
            // an older or newer node learns why, one without a certificate nothing
            if !stream.conn.is_handshaking() {
                let _ = hello::write(&mut stream, &Welcome::Refused(error.to_string()));
            }
            return Err(error);
        }
    };
    let peer = match admit(shared, &hello) {
        Ok(peer) if tls::names(stream.conn.peer_certificates(), &peer.life.name) => peer,
        refused => {
            let why = refused.err().unwrap_or_else(|| "the certificate is for another node".to_owned());
            // whoever comes with a valid certificate and too early comes again
            hello::write(&mut stream, &Welcome::Refused(why.clone()))?;
            return Err(io::Error::other(format!("node {} was refused: {why}", hello.from.0.0)));
        }
    };
    hello::write(&mut stream, &Welcome::Come)?;
    stream.sock.set_read_timeout(Some(settings.connection_silence))?;
    // the one before is dead, though this end may not have noticed
    let before = peer.out.lock().incoming.replace(number);
    if let Some(before) = before {
        shared.shut(before);
    }
    let mut buffer = Vec::new();
    while !shared.stopping() && !peer.gone.load(Ordering::SeqCst) {
        codec::read_frame(&mut stream, MAX_FRAME, &mut buffer)?;
        let handled = match codec::decode(&buffer) {
            Ok(wire) => handle(shared, &peer, wire),
            Err(malformed) => Err(malformed.to_string()),
        };
        if let Err(why) = handled {
            shared.give_up(&peer, &why);
        }
        // a huge message must not keep its memory
        buffer.shrink_to(1 << 20);
    }
    Ok(())
}

/// The peer that it is, if it may come.
fn admit(shared: &TcpShared, hello: &Hello) -> Result<Arc<Peer>, String> {
    let config = &shared.config;
    if hello.cluster != config.cluster {
        return Err(format!("this is a node of the cluster {}", config.cluster));
    }
    if hello.to != (config.me, config.life) {
        return Err("this is another node, or another life of it".to_owned());
    }
    let (node, life) = hello.from;
    let Some(peer) = shared.peer(node) else { return Err("it is not a member of the view".to_owned()) };
    if life != peer.life.incarnation {
        return Err("it is another life than the view names".to_owned());
    }
    if peer.gone.load(Ordering::SeqCst) {
        return Err("it was given up".to_owned());
    }
    Ok(peer)
}

fn handle(shared: &TcpShared, peer: &Peer, wire: Wire) -> Result<(), String> {
    let Some(entrance) = shared.entrance() else { return Ok(()) };
    let packet = match wire {
        Wire::Heartbeat => Packet::Heartbeat,
        Wire::Busy => Packet::Busy,
        Wire::NewView => Packet::NewView,
        Wire::Ask(number, asked) => Packet::Ask(number, asked),
        Wire::Told(number, told) => Packet::Told(number, told),
        Wire::Linked(frame) => {
            let arrived = {
                let mut guard = peer.out.lock();
                let Out { link, frames, .. } = &mut *guard;
                let arrived = link.receive(frame, frames).map_err(|failure| failure.to_string())?;
                if !frames.is_empty() {
                    peer.wake.notify_all();
                }
                arrived
            };
            let Some(bytes) = arrived else { return Ok(()) };
            Carried::decode(&bytes.0).map_err(|malformed| malformed.to_string())?
        }
    };
    entrance.deliver(peer.node, packet);
    Ok(())
}
