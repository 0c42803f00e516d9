//! Simple queries.

use crate::raw::Client;

fn tags(messages: &[crate::raw::Message]) -> String {
    messages.iter().map(|message| message.tag).collect()
}

#[test]
fn every_statement_of_a_query_is_answered() {
    let (mut client, _server) = Client::ready();
    let found = client.query("echo a b; rows 2; begin");
    assert_eq!(tags(&found), "TDCTDDCCZ");
    assert_eq!(found[1].body, b"\0\x02\0\0\0\x01a\0\0\0\x01b");
    assert_eq!(found[6].text(), "SELECT 2");
    assert_eq!(found[8].body, b"T");
    assert_eq!(client.query("commit").last().unwrap().body, b"I");
}

#[test]
fn an_empty_query_is_not_silence() {
    let (mut client, _server) = Client::ready();
    assert_eq!(tags(&client.query("")), "IZ");
    assert_eq!(tags(&client.query("  ")), "IZ");
}

#[test]
fn an_error_ends_the_query_and_not_the_session() {
    let (mut client, _server) = Client::ready();
    let found = client.query("echo a; fail; echo b");
    assert_eq!(tags(&found), "TDCEZ");
    let error = &found[3];
    let fields: Vec<_> = b"SVCMDHPt".iter().map(|name| error.field(*name).unwrap()).collect();
    let expected = ["ERROR", "ERROR", "22012", "division by zero", "by nothing", "do not", "8", "t"];
    assert_eq!(fields, expected);
    assert_eq!(found[4].body, b"I");
    assert_eq!(tags(&client.query("echo c")), "TDCZ");
}

#[test]
fn a_failed_transaction_says_so_until_it_ends() {
    let (mut client, _server) = Client::ready();
    client.query("begin");
    assert_eq!(client.query("fail").last().unwrap().body, b"E");
    let found = client.query("echo a");
    assert_eq!(found[1].code(), "25P02");
    let found = client.query("commit");
    assert_eq!((found[0].text().as_str(), found[1].body.as_slice()), ("ROLLBACK", &b"I"[..]));
}

#[test]
fn what_cannot_be_committed_is_not_reported_as_done() {
    let (mut client, _server) = Client::ready();
    let found = client.query("conflict");
    assert_eq!(tags(&found), "EZ");
    assert_eq!(found[0].code(), "40001");
}

#[test]
fn a_statement_that_is_run_again_answers_once() {
    let (mut client, _server) = Client::ready();
    let found = client.query("retry");
    assert_eq!(tags(&found), "TDCZ");
    assert!(found[1].body.ends_with(b"right"));
}

#[test]
fn notices_and_settings_come_along() {
    let (mut client, _server) = Client::ready();
    let found = client.query("notice");
    assert_eq!(tags(&found), "NSCZ");
    assert_eq!(found[0].field(b'S').unwrap(), "NOTICE");
    assert_eq!(found[1].body, b"TimeZone\0UTC\0");
}

#[test]
fn bad_text_fails_the_query_only() {
    let (mut client, _server) = Client::ready();
    client.send(b"Q\0\0\0\x09ab\xff\xfe\0");
    let found = client.batch();
    assert_eq!((tags(&found).as_str(), found[0].code().as_str()), ("EZ", "22021"));
    client.send(b"Q\0\0\0\x08a\0b\0");
    let found = client.batch();
    assert_eq!((tags(&found).as_str(), found[0].code().as_str()), ("EZ", "08P01"));
    assert_eq!(tags(&client.query("echo a")), "TDCZ");
}

#[test]
fn function_calls_are_refused_politely() {
    let (mut client, _server) = Client::ready();
    client.send(b"F\0\0\0\x06ab");
    let found = client.batch();
    assert_eq!((tags(&found).as_str(), found[0].code().as_str()), ("EZ", "0A000"));
}

#[test]
fn a_long_result_arrives_whole() {
    let (mut client, _server) = Client::ready();
    let found = client.query("rows 50000");
    assert_eq!(found.len(), 50_003);
    assert!(found[50_000].body.ends_with(b"49999"));
    let found = client.query("bytes 3000000");
    assert_eq!(found[1].body.len(), 3_000_006);
}
