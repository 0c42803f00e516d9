//! Times and cancel requests.

use crate::naps::{cancel, connect, eventually, message, plain, send, start, with_key};
use scaledb_sync::thread;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

#[test]
fn a_cancel_request_stops_what_runs_and_nothing_else() {
    let server = start(|_| {});
    let (mut client, key) = with_key(&server);
    // nothing runs: nothing happens
    cancel(&server, &key);
    send(&mut client, "nap 50");
    assert_eq!(message(&mut client).unwrap().0, 'C');
    assert_eq!(message(&mut client).unwrap().0, 'Z');
    send(&mut client, "nap 120000");
    let begun = Instant::now();
    // a request may come before the statement has begun
    client.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    while client.peek(&mut [0]).is_err() {
        cancel(&server, &key);
    }
    let (tag, text) = message(&mut client).unwrap();
    assert!(tag == 'E' && text.contains("57014") && text.contains("user request"), "{text}");
    assert!(begun.elapsed() < Duration::from_secs(60));
    assert_eq!(message(&mut client).unwrap().0, 'Z');
    send(&mut client, "echo");
    assert_eq!(message(&mut client).unwrap().0, 'T');
    server.stop();
}

#[test]
fn a_wrong_key_cancels_nothing_and_a_flood_of_them_costs_nothing() {
    let server = start(|_| {});
    let mut client = connect(&server);
    let address = server.addresses()[0];
    let flood = thread::spawn(move || {
        for key in 0..500_u32 {
            // the first session has number 1
            let mut stream = TcpStream::connect(address).unwrap();
            let request = [&[0, 0, 0, 16, 4, 210, 22, 46, 0, 0, 0, 1][..], &key.to_be_bytes()].concat();
            stream.write_all(&request).unwrap();
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).unwrap();
            assert!(answer.is_empty());
        }
    });
    client.simple_query("nap 500").unwrap();
    flood.join().unwrap();
    client.simple_query("nap 10").unwrap();
    eventually(|| server.connections() == 1);
    server.stop();
}

#[test]
fn statements_end_in_time() {
    let server = start(|config| config.statement_timeout = Duration::from_millis(100));
    let mut client = connect(&server);
    let begun = Instant::now();
    let error = client.simple_query("nap 120000").unwrap_err();
    assert_eq!(error.as_db_error().unwrap().message(), "canceling statement due to statement timeout");
    assert!(begun.elapsed() < Duration::from_secs(60));
    // a session may have a time of its own
    client.simple_query("set 0").unwrap();
    client.simple_query("nap 300").unwrap();
    server.stop();
}

#[test]
fn transactions_are_not_left_open() {
    let server = start(|config| config.idle_in_transaction_timeout = Duration::from_millis(100));
    let mut patient = connect(&server);
    let mut client = plain(&server);
    send(&mut client, "begin");
    assert_eq!(message(&mut client).unwrap().0, 'C');
    assert_eq!(message(&mut client).unwrap().0, 'Z');
    let (tag, text) = message(&mut client).unwrap();
    assert!(tag == 'E' && text.contains("25P03"), "{text}");
    assert_eq!(message(&mut client), None);
    patient.simple_query("echo").unwrap();
    server.stop();
}

#[test]
fn who_does_not_say_who_it_is_is_cut_off() {
    let server = start(|config| config.authentication_timeout = Duration::from_millis(200));
    let silent = TcpStream::connect(server.addresses()[0]).unwrap();
    // and one that sends a byte now and then
    let mut slow = TcpStream::connect(server.addresses()[0]).unwrap();
    for byte in [0_u8; 1_000] {
        if slow.write_all(&[byte]).is_err() {
            break;
        }
        thread::sleep(Duration::from_millis(20));
    }
    eventually(|| server.connections() == 0);
    drop(silent);
    server.stop();
}

#[test]
fn what_nobody_waits_for_is_not_run_to_its_end() {
    let server = start(|_| {});
    let mut client = plain(&server);
    send(&mut client, "nap 60000");
    thread::sleep(Duration::from_millis(50));
    drop(client);
    eventually(|| server.connections() == 0);
    server.stop();
}
