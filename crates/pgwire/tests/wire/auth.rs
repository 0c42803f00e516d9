//! Who may come in.

use crate::backend::{Server, Users};
use crate::raw::{Client, Message, read};
use postgres_protocol::authentication::sasl::{ChannelBinding, ScramSha256};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, StreamOwned};
use scaledb_pgwire::Tls;
use scaledb_sync::Arc;
use std::io::{Read, Write};

const SCRAM: &str = "SCRAM-SHA-256";
const PLUS: &str = "SCRAM-SHA-256-PLUS";

fn send(to: &mut impl Write, tag: u8, body: &[u8]) {
    let length = body.len() as u32 + 4;
    to.write_all(&[&[tag][..], &length.to_be_bytes(), body].concat()).unwrap();
}

/// Runs the exchange; returns the first message behind it, or the error that ended it.
fn scram(
    stream: &mut (impl Read + Write),
    password: &str,
    mechanism: &str,
    binding: ChannelBinding,
) -> Message {
    let offer = read(stream).unwrap();
    assert_eq!((offer.tag, &offer.body[..4]), ('R', &[0, 0, 0, 10][..]));
    let mut exchange = ScramSha256::new(password.as_bytes(), binding);
    let first = exchange.message();
    let body = [mechanism.as_bytes(), &[0], &(first.len() as u32).to_be_bytes(), first].concat();
    send(stream, b'p', &body);
    let answer = read(stream).unwrap();
    if answer.tag == 'E' {
        return answer;
    }
    assert_eq!(&answer.body[..4], &[0, 0, 0, 11]);
    exchange.update(&answer.body[4..]).unwrap();
    send(stream, b'p', exchange.message());
    let answer = read(stream).unwrap();
    if answer.tag == 'E' {
        return answer;
    }
    assert_eq!(&answer.body[..4], &[0, 0, 0, 12]);
    exchange.finish(&answer.body[4..]).unwrap();
    read(stream).unwrap()
}

fn try_password(user: &str, password: &str) -> Message {
    let server = Server::start(Users::default());
    let mut client = Client::connect(&server);
    client.startup(3 << 16, &[("user", user)]);
    scram(&mut client.stream, password, SCRAM, ChannelBinding::unsupported())
}

#[test]
fn the_right_password_opens() {
    let ok = try_password("bob", "secret");
    assert_eq!((ok.tag, ok.body.as_slice()), ('R', &[0, 0, 0, 0][..]));
}

#[test]
fn a_wrong_password_and_an_unknown_user_look_alike() {
    let wrong = try_password("bob", "Secret");
    let unknown = try_password("nobody", "secret");
    assert_eq!((wrong.code(), unknown.code()), ("28P01".to_owned(), "28P01".to_owned()));
    let alike = wrong.field(b'M').unwrap().replace("bob", "nobody");
    assert_eq!(Some(alike), unknown.field(b'M'));
}

#[test]
fn passwords_in_the_clear_are_checked_too() {
    for (password, right) in [("secret", true), ("Secret", false), ("", false), ("sec\0ret", false)] {
        let server = Server::start(Users::default());
        let mut client = Client::connect(&server);
        client.startup(3 << 16, &[("user", "eve")]);
        assert_eq!(client.read().unwrap().body, [0, 0, 0, 3]);
        send(&mut client.stream, b'p', format!("{password}\0").as_bytes());
        assert_eq!(client.read().unwrap().tag == 'R', right, "{password:?}");
    }
}

#[test]
fn some_are_not_even_asked() {
    let server = Server::start(Users::default());
    let mut client = Client::connect(&server);
    client.startup(3 << 16, &[("user", "max")]);
    assert_eq!(client.read().unwrap().code(), "28000");
    assert_eq!(client.read(), None);
}

#[test]
fn nothing_is_run_before_the_proof() {
    let server = Server::start(Users::default());
    let bodies: [&[u8]; 6] = [
        b"",
        b"\0",
        b"SCRAM-SHA-256\0",
        b"SCRAM-SHA-256\0\0\0\0\x09n,,n=,r=",
        b"SCRAM-SHA-1\0\0\0\0\x00",
        b"x",
    ];
    for body in bodies {
        let mut client = Client::connect(&server);
        client.startup(3 << 16, &[("user", "bob")]);
        assert_eq!(client.read().unwrap().tag, 'R');
        send(&mut client.stream, b'p', body);
        assert_eq!(client.read().unwrap().code(), "08P01", "{body:?}");
        assert_eq!(client.read(), None);
    }
    let mut client = Client::connect(&server);
    client.startup(3 << 16, &[("user", "bob")]);
    assert_eq!(client.read().unwrap().tag, 'R');
    client.write(|b| b.query("echo a"));
    assert_eq!(client.read().unwrap().code(), "08P01");
    assert_eq!(client.read(), None);
}

/// A server with a certificate of its own, the roots that know it, and the certificate's hash.
fn encrypted() -> (Server, RootCertStore, Vec<u8>) {
    let issued = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let certificate: CertificateDer<'static> = issued.cert.der().clone();
    let key = PrivateKeyDer::try_from(issued.signing_key.serialize_der()).unwrap();
    let hash = ring::digest::digest(&ring::digest::SHA256, &certificate).as_ref().to_vec();
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone()).unwrap();
    let config =
        ServerConfig::builder().with_no_client_auth().with_single_cert(vec![certificate], key).unwrap();
    let tls = Tls { config: config.into(), end_point: Some(hash.as_slice().into()) };
    (Server::start(Users { tls: Some(tls), ..Users::default() }), roots, hash)
}

fn encrypt(mut client: Client, roots: RootCertStore) -> StreamOwned<ClientConnection, std::net::TcpStream> {
    client.packet(&80_877_103_u32.to_be_bytes());
    let mut byte = [0];
    client.stream.read_exact(&mut byte).unwrap();
    assert_eq!(byte, *b"S");
    let config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    let name = ServerName::try_from("localhost").unwrap();
    StreamOwned::new(ClientConnection::new(Arc::new(config), name).unwrap(), client.stream)
}

fn startup_packet(user: &str) -> Vec<u8> {
    let body = format!("\0\x03\0\0user\0{user}\0\0");
    [&(body.len() as u32 + 4).to_be_bytes(), body.as_bytes()].concat()
}

#[test]
fn encrypted_clients_bind_their_proof_to_the_channel() {
    let (server, roots, hash) = encrypted();
    let mut stream = encrypt(Client::connect(&server), roots.clone());
    stream.write_all(&startup_packet("bob")).unwrap();
    let ok = scram(&mut stream, "secret", PLUS, ChannelBinding::tls_server_end_point(hash.clone()));
    assert_eq!((ok.tag, ok.body.as_slice()), ('R', &[0, 0, 0, 0][..]));

    // somebody between us has another certificate
    let mut stream = encrypt(Client::connect(&server), roots.clone());
    stream.write_all(&startup_packet("bob")).unwrap();
    let other = ChannelBinding::tls_server_end_point(vec![1; 32]);
    assert_eq!(scram(&mut stream, "secret", PLUS, other).code(), "28000");

    // somebody between us hides that we could
    let mut stream = encrypt(Client::connect(&server), roots);
    stream.write_all(&startup_packet("bob")).unwrap();
    let hidden = scram(&mut stream, "secret", SCRAM, ChannelBinding::unrequested());
    assert_eq!(hidden.code(), "28000");
}

#[test]
fn encrypted_clients_run_queries() {
    let (server, roots, _) = encrypted();
    let mut stream = encrypt(Client::connect(&server), roots);
    stream.write_all(&startup_packet("ann")).unwrap();
    while read(&mut stream).unwrap().tag != 'Z' {}
    stream.write_all(b"Q\0\0\0\x0frows 10000\0").unwrap();
    let mut tags = String::new();
    while !tags.ends_with('Z') {
        tags.push(read(&mut stream).unwrap().tag);
    }
    assert_eq!(tags.len(), 10_003);
    stream.write_all(b"X\0\0\0\x04").unwrap();
    assert_eq!(read(&mut stream), None);
    assert!(matches!(server.ends(1)[..], [scaledb_pgwire::End::Terminated]));
}

#[test]
fn a_handshake_that_is_none_ends_the_connection() {
    let (server, _, _) = encrypted();
    let mut client = Client::connect(&server);
    client.packet(&80_877_103_u32.to_be_bytes());
    let mut byte = [0];
    client.stream.read_exact(&mut byte).unwrap();
    assert_eq!(byte, *b"S");
    client.send(&startup_packet("ann"));
    let mut rest = Vec::new();
    let _ = client.stream.read_to_end(&mut rest);
    // an alert of TLS at most, no message of ours
    assert!(!rest.contains(&b'R'), "{rest:?}");
}
