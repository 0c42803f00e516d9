//! The thread that dials a peer and writes to it.

use super::hello::{self, Hello, Welcome};
use super::{Carried, Out, Peer, TcpShared, Wire};
use crate::codec::{self, Bytes};
use crate::network::Packet;
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};
use scaledb_scar::link::Failure;
use scaledb_sync::atomic::Ordering;
use scaledb_sync::lock::MutexGuard;
use std::io::{self, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

/// How often a link acknowledges what nothing else has.
const LINK_TICK: Duration = Duration::from_millis(20);

pub(super) fn run(shared: &TcpShared, peer: &Peer) {
    while !done(shared, peer) {
        let failed = match connect(shared, peer) {
            Ok(stream) => serve(shared, peer, stream),
            Err(error) => Err(error),
        };
        if let Err(error) = failed
            && !done(shared, peer)
        {
            shared.note(format!("connection to node {} ({}): {error}", peer.life.name, peer.life.address));
        }
        // meanwhile what waits is bounded by the link
        let mut out = peer.out.lock();
        out.socket = None;
        let (filled, _) = fill(&mut out);
        out.frames.clear();
        if let Err(why) = filled {
            drop(out);
            shared.give_up(peer, &why);
        } else if !done(shared, peer) {
            drop(peer.wake.wait_timeout(out, shared.config.settings.reconnect));
        }
    }
}

fn done(shared: &TcpShared, peer: &Peer) -> bool {
    shared.stopping() || peer.gone.load(Ordering::SeqCst)
}

type Stream = StreamOwned<ClientConnection, TcpStream>;

fn connect(shared: &TcpShared, peer: &Peer) -> io::Result<Stream> {
    let config = &shared.config;
    let patience = config.settings.handshake;
    let mut last = io::Error::other("the name has no address");
    let mut socket = None;
    for address in peer.life.address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, patience) {
            Ok(connected) => {
                socket = Some(connected);
                break;
            }
            Err(error) => last = error,
        }
    }
    let socket = socket.ok_or(last)?;
    socket.set_nodelay(true)?;
    socket.set_read_timeout(Some(patience))?;
    socket.set_write_timeout(Some(patience))?;
    peer.out.lock().socket = Some(socket.try_clone()?);
    if done(shared, peer) {
        return Err(io::ErrorKind::Interrupted.into());
    }
    // the certificate must be for the node's name
    let name = ServerName::try_from(peer.life.name.clone()).map_err(io::Error::other)?;
    let connection = ClientConnection::new(config.tls.client.clone(), name).map_err(io::Error::other)?;
    let mut stream = StreamOwned::new(connection, socket);
    let to = (peer.node, peer.life.incarnation);
    hello::write(
        &mut stream,
        &Hello { cluster: config.cluster.clone(), from: (config.me, config.life), to },
    )?;
    match hello::read(&mut stream)? {
        Welcome::Come => {}
        Welcome::Refused(why) => {
            let why: String = why.chars().take(200).collect();
            return Err(io::Error::other(format!("refused: {why}")));
        }
    }
    stream.sock.set_write_timeout(Some(config.settings.connection_silence))?;
    Ok(stream)
}

/// Gives what waits to the link. What else is to be sent, if there is a connection.
fn fill(out: &mut Out) -> (Result<(), String>, Vec<Wire>) {
    let mut others = Vec::new();
    out.bytes = 0;
    while let Some(packet) = out.packets.pop_front() {
        let message = match packet {
            Packet::Message(message) => Carried::Message(message),
            Packet::Lock(letter) => Carried::Lock(letter),
            Packet::Heartbeat => {
                others.push(Wire::Heartbeat);
                continue;
            }
            Packet::Busy => {
                others.push(Wire::Busy);
                continue;
            }
            Packet::NewView => {
                others.push(Wire::NewView);
                continue;
            }
            Packet::Ask(number, asked) => {
                others.push(Wire::Ask(number, asked));
                continue;
            }
            Packet::Told(number, told) => {
                others.push(Wire::Told(number, told));
                continue;
            }
        };
        let sent = codec::encode(&message).map_err(|error| error.to_string()).and_then(|bytes| {
            let (size, bytes) = (bytes.len(), Bytes(bytes.into()));
            let Out { link, frames, .. } = &mut *out;
            link.send(bytes, size, frames).map_err(|failure: Failure| failure.to_string())
        });
        if sent.is_err() {
            return (sent, others);
        }
    }
    (Ok(()), others)
}

fn serve(shared: &TcpShared, peer: &Peer, mut stream: Stream) -> io::Result<()> {
    let mut buffer = Vec::new();
    {
        let mut guard = peer.out.lock();
        let Out { link, frames, .. } = &mut *guard;
        frames.clear();
        link.reconnect(frames);
    }
    while !done(shared, peer) {
        let (filled, wires) = next(peer, peer.out.lock());
        if let Err(why) = filled {
            shared.give_up(peer, &why);
            return Ok(());
        }
        buffer.clear();
        for wire in &wires {
            codec::push_frame(wire, &mut buffer).map_err(io::Error::other)?;
        }
        stream.write_all(&buffer)?;
        shared.written.fetch_add(buffer.len() as u64, Ordering::Relaxed); // a statistic
        stream.flush()?;
        // a huge message must not keep its memory
        buffer.shrink_to(1 << 20);
    }
    Ok(())
}

/// What is to be written next, if there is anything within a tick.
fn next(peer: &Peer, mut out: MutexGuard<'_, Out>) -> (Result<(), String>, Vec<Wire>) {
    if out.packets.is_empty() && out.frames.is_empty() {
        out = peer.wake.wait_timeout(out, LINK_TICK);
        if out.packets.is_empty() && out.frames.is_empty() {
            let Out { link, frames, .. } = &mut *out;
            link.tick(frames);
        }
    }
    let (filled, others) = fill(&mut out);
    let mut wires: Vec<Wire> = out.frames.drain(..).map(Wire::Linked).collect();
    wires.extend(others);
    (filled, wires)
}
