//! Clients that are none: they must not end, hang or swell the server.

use crate::naps::{connect, eventually, start};
use scaledb_sync::thread;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

const LOGIN: &[u8] = b"\0\0\0\x12\0\x03\0\0user\0ann\0\0";
const SSL: &[u8] = b"\0\0\0\x08\x04\xd2\x16\x2f";

/// Numbers that look random, the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn bytes(&mut self, n: u64) -> Vec<u8> {
        (0..self.roll() % n).map(|_| self.roll() as u8).collect()
    }
}

/// Sends bytes, and reads what comes until the server has enough.
fn send(address: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut answer = Vec::new();
    // it may have enough before it has read all
    if stream.write_all(bytes).is_ok() && stream.shutdown(Shutdown::Write).is_ok() {
        let _ = stream.read_to_end(&mut answer);
    }
    answer
}

#[cfg(target_os = "linux")]
fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap();
    status.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 4_096
}

#[test]
fn garbage_ends_no_server() {
    let server = start(|_| {});
    let address = server.addresses()[0];
    let clients: Vec<_> = (1..=4_u64)
        .map(|seed| {
            thread::spawn(move || {
                let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
                for _ in 0..100 {
                    let garbage = dice.bytes(2_000);
                    send(address, &garbage);
                    send(address, &[LOGIN, &garbage].concat());
                    send(address, &[SSL, &garbage].concat());
                }
            })
        })
        .collect();
    for client in clients {
        client.join().unwrap();
    }
    eventually(|| server.connections() == 0);
    connect(&server).simple_query("echo").unwrap();
    server.stop();
}

#[test]
#[cfg(target_os = "linux")]
fn announced_messages_swell_no_server() {
    let server = start(|config| config.max_message_bytes = 1 << 30);
    let address = server.addresses()[0];
    let open = |bytes: &[u8]| {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(&[LOGIN, bytes].concat()).unwrap();
        stream
    };
    // the threads and buffers of clients that announce nothing
    let quiet: Vec<_> = (0..100).map(|_| open(b"")).collect();
    eventually(|| server.connections() == 100);
    let before = resident_bytes();
    drop(quiet);
    eventually(|| server.connections() == 0);
    // a hundred messages of a gigabyte, of which some bytes come
    let greedy: Vec<_> = (0..100).map(|_| open(b"Q\x3f\xff\xff\xffselect")).collect();
    eventually(|| server.connections() == 100);
    connect(&server).simple_query("echo").unwrap();
    let grown = resident_bytes().saturating_sub(before);
    assert!(grown < 64 << 20, "{grown} bytes");
    drop(greedy);
    eventually(|| server.connections() == 0);
    server.stop();
}

#[test]
fn requests_for_encryption_again_and_again_are_refused() {
    let server = start(|_| {});
    let answer = send(server.addresses()[0], SSL);
    assert_eq!(answer, b"N");
    for _ in 0..50 {
        let mut stream = TcpStream::connect(server.addresses()[0]).unwrap();
        stream.write_all(SSL).unwrap();
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        assert_eq!(byte, *b"N");
        stream.write_all(SSL).unwrap();
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).unwrap();
        assert_eq!(rest.first(), Some(&b'E'));
    }
    eventually(|| server.connections() == 0);
    server.stop();
}
