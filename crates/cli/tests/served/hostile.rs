//! Messages that are wrong, in every place, and statements that are meant to do harm: each is answered with a typed
//! error, the session goes on where the protocol allows it, and the server does not swell.

use crate::process::Server;
use crate::raw::{Raw, assert_well, bind, execute, frame, login, outcome, parse, query, sync};
use std::net::Shutdown;

const SSL: &[u8] = b"\0\0\0\x08\x04\xd2\x16\x2f";
const GSS: &[u8] = b"\0\0\0\x08\x04\xd2\x16\x30";
/// Not UTF-8: a byte that never occurs, a sequence cut short, an overlong one, a surrogate.
const NO_TEXT: [&[u8]; 4] = [b"\xff", b"\xe2\x82", b"\xc0\xaf", b"\xed\xa0\x80"];

/// Sends a first packet, and says what comes back.
fn first(server: &Server, bytes: &[u8]) -> String {
    let mut client = Raw::connect(server.address());
    client.try_send(bytes);
    // a server that waits for more has enough now
    let _ = client.stream.shutdown(Shutdown::Write);
    outcome(&client.batch())
}

#[test]
fn first_packets_that_are_none_are_refused() {
    let server = Server::configured("");
    let before = server.status("VmRSS");
    let long = [&b"\0\x03\0\0user\0ann\0options\0"[..], &[b'x'; 10_100], b"\0\0"].concat();
    let packet = |body: &[u8]| [&(body.len() as u32 + 4).to_be_bytes()[..], body].concat();
    let stuffed = [SSL, &login()].concat();
    for _ in 0..20 {
        for (bytes, answer) in [
            (&packet(&long)[..], "08P01"),
            (b"\x7f\xff\xff\xff\0\x03\0\0", "08P01"),
            (b"\xff\xff\xff\xff\0\x03\0\0", "08P01"),
            (&packet(b"\0\x03\0\0user\0\xff\xfe\0\0"), "22021"),
            (&packet(b"\0\x03\0\0user\0ann\0client_encoding\0\xc0\x80\0\0"), "22021"),
            (&packet(b"\0\x03\0\0user\0ann"), "08P01"),
            (&packet(b"\0\x03\0\0user\0ann\0\0behind"), "08P01"),
            (&packet(b"\0\x03\0\0\0"), "28000"),
            (&packet(b"\0\x02\0\0user\0ann\0\0"), "0A000"),
            (&packet(b"\0\x03\0\0user\0ann\0statement_timeout\0-1 parsec\0\0"), "22023"),
            (&stuffed, "08P01"),
            (&[GSS, SSL].concat(), "08P01"),
            (&packet(b"\x04\xd2\x16\x2e\0\0\0\x01"), "08P01"),
            (b"GET / HTTP/1.1\r\n\r\n", "08P01"),
        ] {
            assert_eq!(first(&server, bytes), answer, "{}", String::from_utf8_lossy(bytes));
        }
    }
    assert_well(&server, before, 32);
}

#[test]
fn values_and_names_that_are_no_text_are_refused_everywhere() {
    let server = Server::configured("");
    let before = server.status("VmRSS");
    let mut client = Raw::login(&server);
    assert_eq!(client.run("create table t (x text, b bytea)"), "CZ");
    for bad in NO_TEXT.into_iter().chain([&b"a\0b"[..]]) {
        let sql = [b"select '", bad, b"'\0"].concat();
        client.send(&frame(b'Q', &sql));
        assert!(["22021", "08P01"].contains(&&*outcome(&client.batch())));
        let name = [bad, b"\0"].concat();
        let cases = [
            frame(b'P', &[&name[..], b"select 1\0\0\0"].concat()),
            frame(b'P', &[b"\0", &sql[..], b"\0\0"].concat()),
            frame(b'B', &[&name[..], b"\0\0\0\0\0\0\0"].concat()),
            frame(b'B', &[b"\0", &name[..], b"\0\0\0\0\0\0"].concat()),
            frame(b'D', &[b"S", &name[..]].concat()),
            frame(b'D', &[b"P", &name[..]].concat()),
            frame(b'C', &[b"S", &name[..]].concat()),
            frame(b'E', &[&name[..], b"\0\0\0\0"].concat()),
        ];
        for case in cases {
            client.send(&[case, sync()].concat());
            let code = outcome(&client.batch());
            assert!(["22021", "08P01", "26000", "34000"].contains(&&*code), "{code} {bad:?}");
        }
        // as a value, in both formats, and of types that have texts within
        let length = (bad.len() as u32).to_be_bytes();
        for sql in
            ["select $1::text", "select $1::varchar(9)", "select $1::jsonb", "insert into t values ($1)"]
        {
            for format in [b"\0\x01\0\0", b"\0\x01\0\x01"] {
                if sql.contains("jsonb") && format[3] == 1 {
                    // begins with a version
                    continue;
                }
                let body = [b"\0\0", &format[..], b"\0\x01", &length, bad, b"\0\0"].concat();
                client.send(&[parse("", sql), frame(b'B', &body), execute(), sync()].concat());
                let code = outcome(&client.batch());
                assert!(["22021", "22P02", "22P03"].contains(&&*code), "{sql} {code} {bad:?}");
            }
        }
        for copy in ["copy t from stdin", "copy t from stdin (format csv)"] {
            client.send(&query(copy));
            assert_eq!(client.message().map(|message| message.tag), Some('G'));
            let line = [bad, b"\n"].concat();
            client.send(&[frame(b'd', &line), frame(b'c', b"")].concat());
            let code = outcome(&client.batch());
            assert!(["22021", "22P04"].contains(&&*code), "{copy} {code} {bad:?}");
        }
        client.send(&query("copy t from stdin"));
        assert_eq!(client.message().map(|message| message.tag), Some('G'));
        client.send(&frame(b'f', &name));
        assert_eq!(outcome(&client.batch()), "57014");
    }
    assert_eq!(client.run("select 1 from t"), "TCZ");
    assert_well(&server, before, 32);
}

#[test]
fn counts_and_lengths_of_bind_that_are_wrong_are_refused() {
    let server = Server::configured("");
    let before = server.status("VmRSS");
    let mut client = Raw::login(&server);
    client.send(&[parse("s", "select $1::int, $2::text"), sync()].concat());
    assert_eq!(outcome(&client.batch()), "1Z");
    let bodies: &[&[u8]] = &[
        b"\0s\0\xff\xff",                                                     // -1 formats
        b"\0s\0\x7f\xff\0\0",         // 32767 formats, of which some bytes come
        b"\0s\0\0\0\xff\xff",         // -1 values
        b"\0s\0\0\0\x7f\xff\0\0\0\0", // 32767 values
        b"\0s\0\0\0\0\x02\xff\xff\xff\xfe\xff\xff\xff\xff\0\0", // a length of -2
        b"\0s\0\0\0\0\x02\x80\0\0\0\xff\xff\xff\xff\0\0", // the smallest length
        b"\0s\0\0\0\0\x02\x7f\xff\xff\xff\xff\xff\xff\xff\0\0", // two gigabytes
        b"\0s\0\0\0\0\x02\xff\xff\xff\xff\xff\xff\xff\xff\0\x03\0\0\0\0\0\0", // three formats for two columns
        b"\0s\0\0\0\0\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", // -1 formats of results
        b"\0s\0\0\x01\0\x07\0\x02\xff\xff\xff\xff\xff\xff\xff\xff\0\0", // a format 7
        b"\0s\0\0\x03\0\0\0\0\0\0\0\x02\xff\xff\xff\xff\xff\xff\xff\xff\0\0", // three formats for two values
        b"\0s\0\0\0\0\0\0\0",         // no values
        b"\0s\0\0\0\0\x01\xff\xff\xff\xff\0\0", // one value
        b"\0s\0\0\x01\0\x01\0\x02\0\0\0\x03\x01\x02\x03\xff\xff\xff\xff\0\0", // an int of three bytes
        b"\0s\0\0\0\0\x02\xff\xff\xff\xff\xff\xff\xff\xff\0\0behind",
        b"\0s",
        b"",
    ];
    for body in bodies {
        client.send(&[frame(b'B', body), execute(), sync()].concat());
        let code = outcome(&client.batch());
        assert!(["08P01", "22P03", "22023", "0A000"].contains(&&*code), "{code} {body:?}");
    }
    // types that a Parse declares, and does not bring
    for body in
        [&b"\0select 1\0\xff\xff"[..], b"\0select 1\0\x7f\xff\0\0\0\x17", b"\0select 1\0", b"\0select 1"]
    {
        client.send(&[frame(b'P', body), sync()].concat());
        assert_eq!(outcome(&client.batch()), "08P01");
    }
    client.send(&[frame(b'P', b"\0select $1\0\0\x01\xff\xff\xff\xff"), sync()].concat());
    assert_eq!(outcome(&client.batch()), "42704");
    assert_eq!(client.run("select 1"), "TDCZ");
    assert_well(&server, before, 32);
}

#[test]
fn statements_that_are_meant_to_do_harm_are_refused() {
    let server = Server::configured("max_query_memory = 268435456");
    let before = server.status("VmRSS");
    let mut client = Raw::login(&server);
    assert_eq!(client.run("create table t (x text)"), "CZ");
    let deep = |open: &str, inner: &str, close: &str| {
        format!("select {}{inner}{}", open.repeat(50_000), close.repeat(50_000))
    };
    for sql in [
        deep("(", "1", ")"),
        deep("- ", "1", ""),
        deep("not ", "true", ""),
        deep("(select ", "1", ")"),
        deep("case when true then ", "1", " end"),
        deep("array[", "1", "]"),
        deep("", "1", " + 1"),
        deep("", "true", " and true"),
        deep("", "'a'", " || 'b'"),
        deep("(", "", ""),
    ] {
        let head = &sql[..40];
        let known = ["54001", "42601", "0A000", "TDCZ"];
        let code = client.run(&sql);
        assert!(known.contains(&&*code), "{head}: {code}");
        client.send(&[parse("", &sql), bind(""), execute(), sync()].concat());
        let code = outcome(&client.batch());
        assert!(known.contains(&&*code) || code == "12DCZ", "{head}: {code}");
    }
    for (sql, expected) in [
        ("select repeat('x', 2147483647)", "54000"),
        ("select repeat(repeat('x', 1000000), 1000000)", "54000"),
        ("select 9.9::numeric ^ 999999", "22003"),
        ("select 1e131071::numeric * 10", "22003"),
        ("select '1e1000000000'::numeric", "22003"),
        ("copy t from '/etc/passwd'", "42501"),
        ("copy t to '/tmp/out'", "42501"),
        ("copy t from program 'id'", "42501"),
        ("copy (select 1) to program 'id'", "42501"),
        ("select string_agg(repeat('x', 100000), '') from generate_series(1, 100000)", "53200"),
        ("select * from generate_series(1, 1000000000) g order by g desc", "53200"),
    ] {
        assert_eq!(client.run(sql), expected, "{sql}");
    }
    drop(client);
    // a gigabyte of stack would show
    assert_well(&server, before, 400);
}

#[test]
fn rows_that_are_very_long_are_sent_or_refused() {
    let server = Server::configured("");
    let before = server.status("VmRSS");
    let mut client = Raw::login(&server);
    // a short text is no long value: not even where a plan keeps what it stands for
    for megabytes in [1_usize, 10, 11, 12, 50] {
        client.send(&query(&format!("select repeat('x', {}), 1", megabytes << 20)));
        let batch = client.batch();
        assert_eq!(batch.iter().map(|message| message.tag).collect::<String>(), "TDCZ");
        assert_eq!(batch[1].body.len(), 2 + 4 + (megabytes << 20) + 4 + 1);
    }
    for long in ["repeat('x', 100000000)", "lpad('', 900000000, 'x')"] {
        let code = client.run(&format!("select {long}"));
        assert!(["53200", "54000"].contains(&&*code), "{code}");
    }
    assert_eq!(client.run("set work_mem = '400MB'"), "CZ");
    client.send(&query(&format!("select {}", ["repeat('x', 100000000)"; 3].join(", "))));
    assert_eq!(client.batch()[1].body.len(), 2 + 3 * 100_000_004);
    assert_eq!(client.run("select 1"), "TDCZ");
    assert_well(&server, before, 64);
}

#[test]
fn a_session_may_come_byte_by_byte() {
    let server = Server::configured("");
    let mut client = Raw::connect(server.address());
    let value = "ä".repeat(50);
    let session = [
        login(),
        query(&format!("select '{value}'")),
        parse("s", "select 1 union all select 2"),
        bind("s"),
        execute(),
        sync(),
        query("create table t (x text); copy t from stdin"),
        frame(b'd', value.as_bytes()),
        frame(b'd', b"\n"),
        frame(b'c', b""),
        query("select x from t"),
    ]
    .concat();
    for byte in session.chunks(1) {
        client.send(byte);
    }
    let tags = |client: &mut Raw| client.batch().iter().map(|message| message.tag).collect::<String>();
    assert!(tags(&mut client).ends_with("KZ"));
    assert_eq!(tags(&mut client), "TDCZ");
    assert_eq!(tags(&mut client), "12DDCZ");
    assert_eq!(tags(&mut client), "CGCZ");
    let batch = client.batch();
    assert_eq!(&batch[1].body[6..], value.as_bytes());
}
