//! How it ends, and where it listens.

use crate::naps::{WORKING, connect, eventually, message, plain, send, start, try_connect};
use scaledb_server::StartError;
use scaledb_sync::atomic::Ordering;
use scaledb_sync::thread;
use std::time::{Duration, Instant};

#[test]
fn statements_that_run_may_end_and_idle_sessions_are_told() {
    let server = start(|_| {});
    let address = server.addresses()[0];
    let (mut idle, mut busy) = (plain(&server), plain(&server));
    // nobody else works
    send(&mut busy, "work 600");
    eventually(|| WORKING.load(Ordering::SeqCst) > 0);
    server.stop();
    let tags: Vec<_> = std::iter::from_fn(|| message(&mut busy)).collect();
    assert_eq!(tags.iter().map(|message| message.0).collect::<String>(), "CZE");
    assert!(tags[2].1.contains("57P01"), "{tags:?}");
    let (tag, text) = message(&mut idle).unwrap();
    assert!(tag == 'E' && text.contains("57P01"), "{text}");
    assert_eq!(message(&mut idle), None);
    assert!(std::net::TcpStream::connect(address).is_err());
}

#[test]
fn what_does_not_end_is_cancelled() {
    let server = start(|config| config.shutdown_grace = Duration::from_millis(100));
    let mut client = plain(&server);
    send(&mut client, "nap 120000");
    thread::sleep(Duration::from_millis(200));
    let begun = Instant::now();
    server.stop();
    let (tag, text) = message(&mut client).unwrap();
    assert!(tag == 'E' && text.contains("57P01"), "{text}");
    assert_eq!(message(&mut client), None);
    assert!(begun.elapsed() < Duration::from_secs(60));
}

#[test]
fn unix_sockets_are_taken_over_from_the_dead_only() {
    let directory = tempfile::tempdir().unwrap();
    let listen = |port: u16| {
        let config = scaledb_server::Config {
            listen: vec![format!("127.0.0.1:{port}").parse().unwrap()],
            socket: Some(directory.path().to_owned()),
            ..scaledb_server::Config::default()
        };
        scaledb_server::Server::start(config, crate::naps::Naps(1.into()))
    };
    // a file that nobody listens at
    let first = start(|_| {});
    let port = first.addresses()[0].port();
    first.stop();
    let path = directory.path().join(format!(".s.PGSQL.{port}"));
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    assert!(path.exists());
    let server = listen(port).unwrap();
    let mut config = postgres::Client::configure();
    config.host_path(directory.path()).port(port).user("ann");
    config.connect(postgres::NoTls).unwrap().simple_query("echo").unwrap();
    // one that somebody listens at
    let error = listen(0).err();
    assert!(error.is_none());
    assert!(matches!(listen(port), Err(StartError::Listen { .. })));
    server.stop();
    assert!(!path.exists());
}

#[test]
fn databases_that_are_not_there_are_named() {
    let server = start(|_| {});
    let mut config = postgres::Client::configure();
    config.host("127.0.0.1").port(server.addresses()[0].port()).user("ann").dbname("nowhere");
    let error = config.connect(postgres::NoTls).err().unwrap();
    assert_eq!(error.code().unwrap().code(), "3D000");
    eventually(|| server.connections() == 0);
    connect(&server);
    server.stop();
}

#[test]
fn rules_and_passwords_hold() {
    let config: scaledb_server::Config = {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("scaledb.toml");
        let verifier = scaledb_pgwire::Verifier::of("secret").unwrap();
        let text = format!(
            "listen = ['127.0.0.1:0']\n[users]\nann = '{verifier}'\n\
             [[rule]]\nusers = ['eve']\nmethod = 'reject'\n[[rule]]\nmethod = 'scram'\n"
        );
        std::fs::write(&path, text).unwrap();
        scaledb_server::Config::read(&path).unwrap()
    };
    let server = scaledb_server::Server::start(config, crate::naps::Naps(1.into())).unwrap();
    let login = |user: &str, password: &str| {
        let mut config = postgres::Client::configure();
        config.host("127.0.0.1").port(server.addresses()[0].port()).user(user).password(password);
        config.connect(postgres::NoTls).map_err(|error| error.code().unwrap().code().to_owned()).map(|_| ())
    };
    assert_eq!(login("ann", "secret"), Ok(()));
    assert_eq!(login("ann", "Secret"), Err("28P01".to_owned()));
    assert_eq!(login("bob", "secret"), Err("28P01".to_owned()));
    assert_eq!(login("eve", "secret"), Err("28000".to_owned()));
    assert!(try_connect(&server).is_err());
    server.stop();
}
