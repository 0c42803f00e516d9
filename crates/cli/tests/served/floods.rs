//! Too much of everything: messages without an end, statements, cancel requests, connections that are half open.

use crate::process::Server;
use crate::raw::{Raw, assert_well, bind, execute, frame, outcome, parse, query, sync};
use std::io::Read;
use std::net::Shutdown;
use std::thread;
use std::time::{Duration, Instant};

/// Messages of a pipeline.
const MANY: usize = 100_000;

/// Sends messages while the answers are read: how many of them have this tag, up to ReadyForQuery.
fn pipeline(client: &mut Raw, messages: &[u8], tag: char) -> usize {
    let mut sender = Raw { stream: client.stream.try_clone().expect("a socket"), key: Vec::new() };
    thread::scope(|scope| {
        scope.spawn(move || sender.send(messages));
        let mut count = 0;
        loop {
            let message = client.message().expect("the server goes on");
            count += usize::from(message.tag == tag);
            if message.tag == 'Z' {
                return count;
            }
        }
    })
}

#[test]
fn pipelines_of_many_messages_without_sync_are_answered() {
    let server = Server::configured("");
    let before = server.status("VmRSS");
    let mut client = Raw::login(&server);
    assert_eq!(client.run("create table t (id serial primary key, n int)"), "CZ");
    let mut messages = [parse("s", "select 1"), parse("i", "insert into t (n) values (1)")].concat();
    for number in 0..MANY / 2 {
        messages.extend(bind(if number % 10 == 0 { "i" } else { "s" }));
        messages.extend(execute());
    }
    messages.extend(sync());
    assert_eq!(pipeline(&mut client, &messages, 'C'), MANY / 2);
    assert_eq!(client.run("select 1 from t where id = 1"), "TDCZ");
    // behind an error nothing runs
    let mut messages = parse("s", "select 1");
    for _ in 0..MANY {
        messages.extend(execute());
    }
    messages.extend(sync());
    assert_eq!(pipeline(&mut client, &messages, 'E'), 1);
    assert_eq!(client.run("select 1"), "TDCZ");
    assert_well(&server, before, 128);
}

#[test]
fn statements_and_portals_that_pile_up_have_a_limit() {
    let server = Server::configured("max_query_memory = 67108864");
    let before = server.status("VmRSS");
    let mut client = Raw::login(&server);
    let mut messages = Vec::new();
    for number in 0..20_000 {
        messages.extend(parse(&format!("s{number}"), &format!("select {number}, $1::text")));
    }
    messages.extend(sync());
    let parsed = pipeline(&mut client, &messages, '1');
    assert!(parsed <= 10_000, "{parsed}");
    // long ones, by several clients: they share the memory
    let clients: Vec<_> = (0..4)
        .map(|_| {
            let mut client = Raw::login(&server);
            let long = format!("select '{}'", "x".repeat(1 << 20));
            for number in 0..20 {
                client.send(&[parse(&format!("l{number}"), &long), sync()].concat());
                let code = outcome(&client.batch());
                assert!(["1Z", "53200"].contains(&&*code), "{code}");
            }
            client
        })
        .collect();
    // texts that are never the same, of one client that names none of them
    let mut messages = Vec::new();
    for number in 0..10_000 {
        messages.extend(query(&format!("select {number} as c{number}")));
    }
    let mut other = Raw::login(&server);
    let mut sender = Raw { stream: other.stream.try_clone().expect("a socket"), key: Vec::new() };
    thread::scope(|scope| {
        scope.spawn(move || sender.send(&messages));
        for _ in 0..10_000 {
            assert_eq!(outcome(&other.batch()), "TDCZ");
        }
    });
    drop((client, clients, other));
    assert_well(&server, before, 256);
}

#[test]
fn cancel_requests_by_the_hundred_hit_what_they_name_only() {
    let server = Server::configured("");
    let before = server.status("VmRSS");
    let address = server.address();
    let (mut victim, mut other) = (Raw::login(&server), Raw::login(&server));
    let (right, mut wrong) = (victim.key.clone(), victim.key.clone());
    wrong[4] ^= 1;
    let flood = move |key: Vec<u8>, count: usize| {
        for _ in 0..count {
            let mut client = Raw::connect(address);
            client.send(&[b"\0\0\0\x10\x04\xd2\x16\x2e", &key[..]].concat());
            let mut rest = Vec::new();
            client.stream.read_to_end(&mut rest).expect("the server hangs up");
            assert!(rest.is_empty());
        }
    };
    const LONG: &str = "select count(*) from generate_series(1, 100000000000) g";
    victim.send(&query(LONG));
    thread::sleep(Duration::from_millis(50));
    flood(wrong, 300);
    victim.stream.set_read_timeout(Some(Duration::from_millis(1))).expect("a socket");
    assert!(victim.stream.peek(&mut [0]).is_err(), "it runs on");
    victim.stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a socket");
    flood(right.clone(), 1);
    assert_eq!(outcome(&victim.batch()), "57014");
    // while it runs short statements, and none
    let flooding = thread::spawn(move || flood(right, 300));
    let mut hits = 0;
    while !flooding.is_finished() {
        let code = victim.run("select 1");
        assert!(["TDCZ", "57014"].contains(&&*code), "{code}");
        hits += usize::from(code == "57014");
        assert_eq!(other.run("select 1"), "TDCZ");
    }
    flooding.join().expect("no request is answered");
    assert!(hits <= 300, "{hits}");
    // the last request may come late
    let well = (0..100).any(|_| victim.run("select 1") == "TDCZ");
    assert!(well);
    assert_well(&server, before, 64);
}

#[test]
fn connections_that_are_half_open_keep_nobody_out() {
    let server = Server::configured("authentication_timeout = 1\nmax_unauthenticated = 50");
    let before = server.status("VmRSS");
    // those who have said something, or all, and then nothing more
    let half: Vec<_> = (0..100)
        .map(|number| {
            let mut client = Raw::connect(server.address());
            client.try_send(&crate::raw::login()[..number % 4 * 8]);
            client
        })
        .collect();
    // their time is over
    let deadline = Instant::now() + Duration::from_secs(60);
    let mut newcomer = Raw::connect(server.address());
    while !newcomer.try_send(&crate::raw::login()) || newcomer.batch().is_empty() {
        assert!(Instant::now() < deadline, "nobody is let in");
        thread::sleep(Duration::from_millis(50));
        newcomer = Raw::connect(server.address());
    }
    drop(half);
    // who sends no more is answered all the same
    let mut client = Raw::login(&server);
    client.send(&query("select 1"));
    client.stream.shutdown(Shutdown::Write).expect("a socket");
    assert_eq!(outcome(&client.batch()), "TDCZ");
    assert!(client.message().is_none());
    assert_well(&server, before, 32);
}

#[test]
fn copies_of_garbage_and_lines_without_an_end_are_refused() {
    let server = Server::configured("");
    let before = server.status("VmRSS");
    let mut client = Raw::login(&server);
    assert_eq!(client.run("create table t (id int, x text)"), "CZ");
    // a line in small pieces: looking at all of it for each of them would take hours
    let piece = frame(b'd', &[b'x'; 200]);
    let pieces = piece.repeat(100_000);
    for (sql, head) in [
        ("copy t from stdin", &b""[..]),
        ("copy t from stdin (format csv)", b""),
        ("copy t from stdin (format csv)", b"\""),
        ("copy t from stdin (format binary)", b"PGCOPY\n\xff\r\n\0\0\0\0\0\x7f\xff\xff\xff"),
    ] {
        client.send(&query(sql));
        assert_eq!(client.message().map(|message| message.tag), Some('G'));
        client.send(&frame(b'd', head));
        client.send(&pieces);
        client.send(&frame(b'c', b""));
        let code = outcome(&client.batch());
        assert!(["22P04", "22P02"].contains(&&*code), "{sql}: {code}");
    }
    // numbers that look random, in every format
    let mut dice = 0x9e37_79b9_7f4a_7c15_u64;
    for round in 0..60 {
        let format = ["text", "csv", "binary"][round % 3];
        client.send(&query(&format!("copy t from stdin (format {format})")));
        assert_eq!(client.message().map(|message| message.tag), Some('G'));
        let mut garbage =
            if round % 2 == 0 { b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0\0\x02".to_vec() } else { Vec::new() };
        for _ in 0..2_000 {
            dice ^= dice << 13;
            dice ^= dice >> 7;
            dice ^= dice << 17;
            garbage.push(dice as u8);
        }
        for piece in garbage.chunks(1 + round) {
            client.send(&frame(b'd', piece));
        }
        client.send(&frame(b'c', b""));
        let code = outcome(&client.batch());
        assert_ne!(code, "XX000");
    }
    // a longer line than there may be
    client.send(&query("copy t from stdin"));
    assert_eq!(client.message().map(|message| message.tag), Some('G'));
    let megabyte = frame(b'd', &vec![b'x'; 1 << 20]);
    for _ in 0..100 {
        client.send(&megabyte);
    }
    client.send(&frame(b'c', b""));
    assert_eq!(outcome(&client.batch()), "22P04");
    assert_eq!(client.run("select 1 from t where id is not null limit 0"), "TCZ");
    assert_well(&server, before, 96);
}
