//! COPY in both directions.

use crate::raw::{Batch, Client};

#[test]
fn data_go_in() {
    let (mut client, _server) = Client::ready();
    client.write(|b| b.query("copy in; echo behind"));
    let started = client.read().unwrap();
    assert_eq!((started.tag, started.body.as_slice()), ('G', &b"\0\0\x02\0\0\0\0"[..]));
    client.write(|b| {
        b.copy_data(b"abc");
        b.flush();
        b.copy_data(b"de");
        b.copy_done();
    });
    let found = client.batch();
    assert_eq!(found[0].text(), "COPY 5");
    assert_eq!(found.iter().map(|message| message.tag).collect::<String>(), "CTDCZ");
}

#[test]
fn data_go_out() {
    let (mut client, _server) = Client::ready();
    let found = client.query("copy out 3");
    assert_eq!(found.iter().map(|message| message.tag).collect::<String>(), "HdddcCZ");
    assert_eq!((found[1].body.as_slice(), found[5].text().as_str()), (&b"0\n"[..], "COPY 3"));
}

#[test]
fn a_client_changes_its_mind() {
    let (mut client, _server) = Client::ready();
    client.write(|b| b.query("copy in"));
    assert_eq!(client.read().unwrap().tag, 'G');
    client.write(|b| b.copy_fail("no more"));
    let found = client.batch();
    assert_eq!((found[0].code().as_str(), found[1].tag), ("57014", 'Z'));
    assert!(found[0].field(b'M').unwrap().contains("no more"));
}

#[test]
fn bad_data_end_the_copy_and_what_follows_is_ignored() {
    let (mut client, _server) = Client::ready();
    client.write(|b| b.query("copy in; echo never"));
    client.write(|b| {
        b.copy_data(b"bad");
        b.copy_data(b"more");
        b.copy_done();
        b.query("echo a");
    });
    assert_eq!(client.tags(), "GEZ");
    assert_eq!(client.tags(), "TDCZ");
}

#[test]
fn copies_of_extended_queries_sent_at_once() {
    let (mut client, _server) = Client::ready();
    // as libpq does: Sync goes along, and again behind the data
    client.write(|b| {
        b.run("copy in", &[]);
        b.sync();
    });
    let tags: String = (0..4).map(|_| client.read().unwrap().tag).collect();
    assert_eq!(tags, "12nG");
    client.write(|b| {
        b.copy_data(b"abc");
        b.copy_done();
        b.sync();
    });
    assert_eq!(client.tags(), "CZ");
    // and one that fails
    client.write(|b| {
        b.run("copy in", &[]);
        b.sync();
        b.copy_data(b"bad");
        b.copy_done();
        b.sync();
    });
    assert_eq!(client.tags(), "12nGEZ");
    client.write(Batch::sync);
    assert_eq!(client.tags(), "Z");
}

#[test]
fn another_message_ends_a_copy() {
    let (mut client, _server) = Client::ready();
    client.write(|b| b.query("copy in"));
    client.write(|b| b.query("echo a"));
    let found = client.batch();
    assert_eq!((found[1].code().as_str(), found[2].tag), ("08P01", 'Z'));
    client.write(|b| b.query("copy in"));
    assert_eq!(client.read().unwrap().tag, 'G');
    client.hang_up();
    assert_eq!(client.read(), None);
}
