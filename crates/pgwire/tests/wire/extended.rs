//! Extended queries: names, pipelines, portals, errors.

use crate::raw::{Batch, Client, Message};
use scaledb_sync::atomic::Ordering;

fn run(client: &mut Client, encode: impl FnOnce(&mut Batch)) -> (String, Vec<Message>) {
    client.write(encode);
    let found = client.batch();
    (found.iter().map(|message| message.tag).collect(), found)
}

fn code(messages: &[Message]) -> String {
    messages.iter().find(|message| message.tag == 'E').expect("an error").code()
}

#[test]
fn a_statement_runs_with_its_parameters() {
    let (mut client, _server) = Client::ready();
    let (tags, found) = run(&mut client, |b| {
        b.run("echo $1 x $2", &[Some("a"), None]);
        b.sync();
    });
    assert_eq!(tags, "12TDCZ");
    assert_eq!(found[3].body, b"\0\x03\0\0\0\x01a\0\0\0\x01x\xff\xff\xff\xff");
}

#[test]
fn batches_in_flight_are_answered_in_order() {
    let (mut client, _server) = Client::ready();
    client.write(|b| {
        for n in 0..100 {
            b.run("echo $1", &[Some(&n.to_string())]);
            b.sync();
        }
    });
    for n in 0..100 {
        let batch = client.batch();
        assert!(batch[3].body.ends_with(n.to_string().as_bytes()));
    }
}

#[test]
fn an_error_skips_to_the_next_sync_and_no_further() {
    let (mut client, _server) = Client::ready();
    client.write(|b| {
        b.run("echo a", &[]);
        b.run("fail", &[]);
        b.run("echo lost", &[]);
        b.query("echo lost, too");
        b.sync();
        b.run("echo b", &[]);
        b.sync();
    });
    assert_eq!(client.tags(), "12TDC12nEZ");
    assert_eq!(client.tags(), "12TDCZ");
}

#[test]
fn an_error_is_told_without_a_sync() {
    let (mut client, _server) = Client::ready();
    client.write(|b| {
        b.parse("", "nonsense");
        b.flush();
    });
    assert_eq!(client.read().unwrap().code(), "42601");
    client.write(Batch::sync);
    assert_eq!(client.tags(), "Z");
}

#[test]
fn flush_sends_what_there_is() {
    let (mut client, _server) = Client::ready();
    client.write(|b| {
        b.parse("s", "echo $1");
        b.describe(b'S', "s");
        b.flush();
    });
    let tags: String = (0..3).map(|_| client.read().unwrap().tag).collect();
    assert_eq!(tags, "1tT");
    client.write(Batch::sync);
    assert_eq!(client.tags(), "Z");
}

#[test]
fn portals_are_read_in_parts() {
    let (mut client, _server) = Client::ready();
    let (tags, found) = run(&mut client, |b| {
        b.parse("", "rows 5");
        b.bind("p", "", &[]);
        b.execute("p", 2);
        b.execute("p", 2);
        b.execute("p", 2);
        b.sync();
    });
    assert_eq!(tags, "12DDsDDsDCZ");
    assert!(found[9].text().starts_with("SELECT 1"));
}

#[test]
fn portals_end_with_their_transaction() {
    let (mut client, _server) = Client::ready();
    let open = |b: &mut Batch| {
        b.parse("", "rows 5");
        b.bind("p", "", &[]);
        b.bind("", "", &[]);
        b.execute("p", 1);
        b.sync();
    };
    let (tags, _) = run(&mut client, open);
    assert_eq!(tags, "122DsZ");
    for name in ["p", ""] {
        let (_, found) = run(&mut client, |b| {
            b.execute(name, 1);
            b.sync();
        });
        assert_eq!(code(&found), "34000");
    }
    client.query("begin");
    run(&mut client, open);
    let (tags, _) = run(&mut client, |b| {
        b.execute("p", 1);
        b.sync();
    });
    assert_eq!(tags, "DsZ");
    client.query("commit");
    let (_, found) = run(&mut client, |b| {
        b.describe(b'P', "p");
        b.sync();
    });
    assert_eq!(code(&found), "34000");
}

#[test]
fn what_is_closed_is_gone() {
    let (mut client, _server) = Client::ready();
    let parse = |b: &mut Batch| {
        b.parse("s", "echo $1");
        b.sync();
    };
    assert_eq!(run(&mut client, parse).0, "1Z");
    assert_eq!(code(&run(&mut client, parse).1), "42P05");
    let (tags, _) = run(&mut client, |b| {
        b.close(b'S', "s");
        b.close(b'S', "never there");
        b.close(b'P', "never there");
        parse(b);
    });
    assert_eq!(tags, "3331Z");
    let (_, found) = run(&mut client, |b| {
        b.bind("p", "s", &[None]);
        b.close(b'P', "p");
        b.execute("p", 0);
        b.sync();
    });
    assert_eq!(code(&found), "34000");
}

#[test]
fn a_session_knows_which_execution_is_the_last() {
    let (mut client, server) = Client::ready();
    let last = || server.host.last.load(Ordering::SeqCst);
    run(&mut client, |b| {
        b.run("echo a", &[]);
        b.run("echo b", &[]);
        b.sync();
    });
    assert_eq!(last(), 1);
    client.write(|b| b.run("echo a", &[]));
    client.write(|b| {
        b.flush();
        b.sync();
    });
    client.batch();
    assert_eq!(last(), 1);
}

#[test]
fn what_cannot_be_committed_fails_the_last_statement() {
    let (mut client, _server) = Client::ready();
    let (tags, found) = run(&mut client, |b| {
        b.run("echo a", &[]);
        b.run("conflict", &[]);
        b.sync();
    });
    assert_eq!(tags, "12TDC12nEZ");
    assert_eq!(code(&found), "40001");
}

#[test]
fn errors_of_the_protocol_fail_the_transaction() {
    let (mut client, _server) = Client::ready();
    client.query("begin");
    let (_, found) = run(&mut client, |b| {
        b.bind("", "unknown", &[]);
        b.sync();
    });
    assert_eq!((code(&found).as_str(), found.last().unwrap().body.as_slice()), ("26000", &b"E"[..]));
    client.query("rollback");
    client.query("begin");
    client.send(b"D\0\0\0\x06Xa"); // neither statement nor portal
    client.write(Batch::sync);
    let found = client.batch();
    assert_eq!((code(&found).as_str(), found.last().unwrap().body.as_slice()), ("08P01", &b"E"[..]));
}

#[test]
fn an_empty_statement_is_no_error() {
    let (mut client, _server) = Client::ready();
    let (tags, _) = run(&mut client, |b| {
        b.run("", &[]);
        b.sync();
    });
    assert_eq!(tags, "12nIZ");
}
