//! First packets.

use crate::backend::{Server, Users};
use crate::raw::Client;
use scaledb_pgwire::End;
use scaledb_sync::atomic::Ordering;
use std::io::Read;
use std::net::Shutdown;

const SSL: u32 = 80_877_103;
const GSS: u32 = 80_877_104;
const CANCEL: u32 = 80_877_102;

fn answer(client: &mut Client) -> u8 {
    let mut byte = [0];
    client.stream.read_exact(&mut byte).unwrap();
    byte[0]
}

#[test]
fn encryption_that_is_not_there_is_declined_once() {
    let server = Server::start(Users::default());
    let mut client = Client::connect(&server);
    client.packet(&SSL.to_be_bytes());
    assert_eq!(answer(&mut client), b'N');
    client.packet(&GSS.to_be_bytes());
    assert_eq!(answer(&mut client), b'N');
    client.startup(3 << 16, &[("user", "ann")]);
    assert_eq!(client.tags(), "RSSKZ");

    let mut client = Client::connect(&server);
    client.packet(&SSL.to_be_bytes());
    assert_eq!(answer(&mut client), b'N');
    client.packet(&SSL.to_be_bytes());
    assert_eq!(client.read().unwrap().code(), "0A000");
    assert_eq!(client.read(), None);
}

#[test]
fn what_follows_a_request_for_encryption_in_the_clear_is_refused() {
    let server = Server::start(Users::default());
    for request in [SSL, GSS] {
        let mut client = Client::connect(&server);
        let mut bytes = vec![0, 0, 0, 8];
        bytes.extend_from_slice(&request.to_be_bytes());
        bytes.extend_from_slice(b"\0\0\0\x12\0\x03\0\0user\0ann\0\0");
        client.send(&bytes);
        let error = client.read().unwrap();
        assert_eq!(error.code(), "08P01");
        assert!(error.field(b'M').unwrap().contains("unencrypted data"));
        assert_eq!(client.read(), None);
    }
}

#[test]
fn protocols_of_the_future_are_negotiated() {
    let server = Server::start(Users::default());
    let mut client = Client::connect(&server);
    client.startup(3 << 16 | 9, &[("user", "ann"), ("_pq_.new", "1")]);
    let found = client.batch();
    assert_eq!((found[0].tag, &found[0].body[..4]), ('v', &[0, 3, 0, 2][..]));
    let key = found.iter().find(|message| message.tag == 'K').unwrap();
    assert_eq!(key.body.len(), 4 + 32);
    for version in [2 << 16, 4 << 16, 0] {
        let mut client = Client::connect(&server);
        client.startup(version, &[("user", "ann")]);
        assert_eq!(client.read().unwrap().code(), "0A000");
        assert_eq!(client.read(), None);
    }
}

#[test]
fn lengths_of_first_packets_are_limited() {
    let server = Server::start(Users::default());
    for length in [0_u32, 7, 10_001, 0x7fff_ffff, 0xffff_ffff, u32::from_be_bytes(*b"GET ")] {
        let mut client = Client::connect(&server);
        client.send(&length.to_be_bytes());
        assert_eq!(client.read().unwrap().code(), "08P01", "{length}");
        assert_eq!(client.read(), None);
    }
    let mut client = Client::connect(&server);
    client.startup(3 << 16, &[("user", "ann"), ("x", &"y".repeat(9_900))]);
    assert_eq!(client.tags(), "RSSKZ");
}

#[test]
fn a_cancel_request_is_passed_on_and_not_answered() {
    let server = Server::start(Users::default());
    let mut client = Client::connect(&server);
    let body = [&CANCEL.to_be_bytes()[..], &42_u32.to_be_bytes(), &[7; 32]].concat();
    client.packet(&body);
    assert_eq!(client.read(), None);
    assert_eq!(*server.host.cancelled.lock(), [(42, vec![7; 32])]);
    for body in [&body[..8], &body[..9]] {
        let mut client = Client::connect(&server);
        client.packet(body);
        client.read();
    }
    assert_eq!(server.host.cancelled.lock().len(), 1);
}

#[test]
fn a_connection_ends_when_the_server_wants_it_to() {
    let (mut client, server) = Client::ready();
    server.host.stop.store(true, Ordering::SeqCst);
    client.write(|b| b.query("echo a"));
    // the query that made it look up may be run, the next one is not
    let last = std::iter::from_fn(|| client.read()).last().unwrap();
    assert_eq!((last.tag, last.code().as_str()), ('E', "57P01"));
    assert_eq!(client.read(), None);
}

#[test]
fn clients_that_go_leave_no_thread_behind() {
    let server = Server::start(Users::default());
    let mut hanging_up = Client::login(&server);
    hanging_up.write(|b| b.query("begin"));
    assert_eq!(hanging_up.tags(), "CZ");
    hanging_up.stream.shutdown(Shutdown::Both).unwrap();
    let mut polite = Client::login(&server);
    polite.send(b"X\0\0\0\x04");
    assert_eq!(polite.read(), None);
    let half = Client::connect(&server);
    half.hang_up();
    let ends = server.ends(3);
    assert!(matches!(ends[..], [End::Closed, End::Terminated, End::Closed]), "{ends:?}");
}
