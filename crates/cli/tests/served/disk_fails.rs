//! A server whose disk fails: system calls that a preloaded library (`tests/crash/iofault.c`) lets fail.

use crate::process::Server;
use postgres::Client;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The library, built with the C compiler that also links this test.
fn library(directory: &Path) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/crash/iofault.c");
    let library = directory.join("iofault.so");
    let mut command = Command::new("cc");
    command.args(["-O2", "-shared", "-fPIC", "-o"]).arg(&library).arg(source).arg("-ldl");
    assert!(command.status().expect("a C compiler").success());
    library
}

fn code(client: &mut Client, sql: &str) -> String {
    let error = client.batch_execute(sql).expect_err(sql);
    error.code().unwrap_or_else(|| panic!("{sql}: {error:?}")).code().to_owned()
}

fn count(client: &mut Client, sql: &str) -> i64 {
    client.query_one(sql, &[]).expect(sql).get(0)
}

fn a_failed_disk(fault: (&str, &str)) {
    let directory = tempfile::tempdir().expect("a directory");
    let library = library(directory.path());
    let data = directory.path().join("data");
    let preload = library.to_str().expect("a plain path");
    // the library sees system calls, and io_uring makes none
    let environment = [("LD_PRELOAD", preload), ("SCALEDB_IO", "cached"), ("IOFAULT_PATH", "/log-"), fault];
    let mut server = Server::start(&data, &environment);
    let mut client = server.client();
    client.batch_execute("create table t (id int primary key, n int)").expect("a table");
    client.batch_execute("insert into t values (0, 0)").expect("a row");
    let mut told = 0;
    let failed = loop {
        match client.execute("insert into t values ($1, 1)", &[&(told + 1)]) {
            Ok(_) => told += 1,
            Err(error) => break error,
        }
        assert!(told < 10_000, "the disk never failed");
    };
    assert_eq!(failed.code().map(|code| code.code()), Some("58030"), "{failed:?}");
    let said = failed.as_db_error().expect("the server's").hint().unwrap_or_default();
    assert!(said.contains("started again"), "{said}");
    // writes are refused, to others and in blocks as well; reads go on
    let mut other = server.client();
    for sql in ["update t set n = 2 where id = 0", "create table u (id int primary key)", "checkpoint"] {
        assert_eq!(code(&mut other, sql), "58030", "{sql}");
    }
    other.batch_execute("begin; delete from t where id = 0").expect("nothing is written yet");
    assert_eq!(code(&mut other, "commit"), "58030");
    assert_eq!(count(&mut other, "select n::bigint from t where id = 0"), 0);
    other.batch_execute("set synchronous_commit = off").expect("a setting");
    assert!(count(&mut other, "select count(*) from t") > i64::from(told));
    let state: String =
        other.query_one("select value from scaledb_status where name = 'log'", &[]).expect("a row").get(0);
    assert!(state.starts_with("failed"), "{state}");
    assert!(server.is_up());
    assert_eq!(server.end(), Some(3), "an exit code of its own");
    // the disk works again
    let server = Server::start(&data, &[]);
    let mut client = server.client();
    let sql = format!("select count(*) from t where id <= {told}");
    assert_eq!(count(&mut client, &sql), i64::from(told) + 1);
    assert!(count(&mut client, "select count(*) from t") <= i64::from(told) + 2);
    client.batch_execute("insert into t values (-1, 0)").expect("writes go on");
}

#[test]
fn a_disk_whose_syncs_fail_stops_writes_alone() {
    a_failed_disk(("IOFAULT_SYNC", "-25"));
}

#[test]
fn a_full_disk_stops_writes_alone() {
    a_failed_disk(("IOFAULT_FULL", "200"));
}
