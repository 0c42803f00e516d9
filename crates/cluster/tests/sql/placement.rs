//! Where rows are: what CREATE TABLE says of it, what EXPLAIN tells, how many messages reading takes, and what a
//! conflict names.

use super::{Rows, Three, code, ok, run, text};
use scaledb_cluster::engine::Cluster;
use scaledb_sql::Session;
use scaledb_types::SqlError;
use std::time::Duration;

/// The lines of a plan that say where something is.
fn sites(session: &mut Session<Cluster>, sql: &str) -> Vec<String> {
    let plan = ok(session, &format!("explain {sql}")).0;
    let lines = plan.iter().map(|row| row[0].trim().to_owned());
    lines.filter(|line| line.starts_with("Partition") || line.starts_with("Primar")).collect()
}

fn one(session: &mut Session<Cluster>, sql: &str) -> String {
    let [line] = &sites(session, sql)[..] else { panic!("{sql}") };
    line.clone()
}

#[test]
fn rows_that_agree_in_the_columns_of_partition_by_are_in_one_place() {
    let three = Three::start();
    let [mut a, mut b, mut c] = three.sessions();
    ok(
        &mut a,
        "create table stock (w int, i int, q int, primary key (w, i)) partition by hash (w);
         create index on stock (w, q); create index on stock (q);
         create table item (i int primary key, name text) with (replicate = everywhere);
         create table plain (w int, i int, q int, primary key (w, i))",
    );
    ok(&mut b, "insert into stock select w, i, i from generate_series(1, 9) w, generate_series(1, 20) i");
    ok(&mut c, "insert into item select i, 'item ' || i from generate_series(1, 20) i");
    for session in [&mut a, &mut b, &mut c] {
        assert_eq!(text(session, "select count(*), sum(q) from stock where w = 4"), "20|210");
        assert_eq!(text(session, "select count(*) from stock where w = 4 and q > 15"), "5");
        assert_eq!(text(session, "select count(*) from stock where q = 3"), "9");
        assert_eq!(text(session, "select count(*) from stock join item using (i)"), "180");
        // by one warehouse: one partition; the nodes agree on which
        let line = one(session, "select * from stock where w = 4");
        assert!(line.starts_with("Partition: ") && line.contains(", read at "), "{line}");
        let by_index = one(session, "select * from stock where w = 4 and q > 15");
        assert_eq!(by_index, line);
        assert!(one(session, "select * from stock where i = 4").starts_with("Partitions: all 6, read "));
        assert!(one(session, "select * from plain where w = 4").starts_with("Partitions: all 6, read "));
        assert_eq!(one(session, "select * from item"), "Partition: 0, read at this node's replica");
        ok(session, "prepare p as select * from plain where w = $1 and i = $2");
        let whole = one(session, "execute p (1, 2)");
        assert!(whole.starts_with("Partition"), "{whole}");
    }
    let lines = sites(&mut a, "select * from stock where w = (select max(w) from stock)");
    assert!(
        lines.iter().any(|line| line.starts_with("Partitions: one of 6, by the key, read 4 at")),
        "{lines:?}"
    );
    let lines = sites(&mut a, "select * from stock where w in (1, 2)");
    assert!(
        lines[0].starts_with("Partitions: those of the keys, of 6, read 4 at this node, 2 at node-"),
        "{lines:?}"
    );
    let lines = sites(&mut a, "update stock set q = 0 where w = 1");
    assert!(lines.len() == 2 && lines[0].starts_with("Primaries: 2 at this node, "), "{lines:?}");
    assert_eq!(
        text(
            &mut b,
            "select relname, reloptions from pg_class where reloptions is not null order by relname"
        ),
        "item|{replicate=everywhere} stock|{partition_by=w}"
    );
}

#[test]
fn a_table_that_is_made_anew_is_where_it_was_and_another_one_is_not() {
    let three = Three::start();
    let [mut a, mut b, _] = three.sessions();
    let create = "create table t (w int, i int, q int, primary key (w, i))";
    ok(
        &mut a,
        &format!(
            "{create} with (partition_by = 'w'); insert into t select 1, i, i from generate_series(1, 9) i"
        ),
    );
    let before = one(&mut b, "select * from t where w = 1");
    ok(&mut b, "alter table t add column more text default 'x'; alter table t rename column w to warehouse");
    ok(&mut b, "alter table t alter column q type bigint; create index on t (q)");
    assert_eq!(one(&mut b, "select * from t where warehouse = 1"), before);
    assert_eq!(text(&mut a, "select count(*), sum(q) from t"), "9|45");
    assert_eq!(code(&mut a, "alter table t drop constraint t_pkey"), "42P16");
    // the emptied table of the engine does not serve a table of the same columns that is kept otherwise
    ok(&mut b, "drop table t");
    ok(&mut b, create);
    assert!(one(&mut b, "select * from t where w = 1").starts_with("Partitions: all 6"));
}

#[test]
fn what_makes_no_sense_is_refused() {
    let three = Three::start();
    let [mut a, ..] = three.sessions();
    for (sql, expected) in [
        ("create table t (a int primary key, b int) partition by range (a)", "0A000"),
        ("create table t (a int primary key, b int) partition by hash (a + 1)", "0A000"),
        ("create table t (a int primary key, b int) partition by hash (c)", "42703"),
        ("create table t (a int, b int, primary key (a, b)) partition by hash (a, a)", "42701"),
        ("create table t (a int primary key, b int) partition by hash (b)", "42P16"),
        ("create table t (a int, b int) partition by hash (a)", "42P16"),
        ("create table t (a int, b int, primary key (a, b)) with (partition_by = 'b')", "42P16"),
        ("create table t (a int primary key) with (replicate = sometimes)", "22023"),
        ("create table t (a int primary key) with (replicate = everywhere, partition_by = 'a')", "42601"),
        ("create table t (a int primary key) with (colour = red)", "22023"),
    ] {
        assert_eq!(code(&mut a, sql), expected, "{sql}");
    }
    ok(
        &mut a,
        "create table t (a int, b int, primary key (a, b)) with (fillfactor = 70, partition_by = 'b, a')",
    );
    for parameter in ["replicate = 'everywhere'", "partition_by = 'a'"] {
        assert_eq!(code(&mut a, &format!("alter table t set ({parameter})")), "0A000", "{parameter}");
    }
    ok(&mut a, "create table u with (replicate = 'everywhere') as select 1 as one");
    assert_eq!(one(&mut a, "select * from u"), "Partition: 0, read at this node's replica");
}

/// One by one, a third of the rows and more are a message each.
#[test]
fn rows_at_other_nodes_are_read_many_at_a_time() {
    const ROWS: u64 = 1_200;
    let three = Three::start();
    let [mut a, _, mut c] = three.sessions();
    ok(&mut a, "create table t (id int primary key, k int, n int); create index on t (k)");
    ok(&mut a, &format!("insert into t select i, i % 7, 1 from generate_series(1, {ROWS}) i"));
    let list: Vec<String> = (1..=ROWS).map(|id| id.to_string()).collect();
    let list = format!("select sum(n) from t where id in ({})", list.join(", "));
    let member = three.cluster.members().nth(2).expect("three members").clone();
    for sql in ["select sum(n) from t where k >= 0", "select sum(n) from t", &list] {
        let before = member.numbers().waits;
        assert_eq!(text(&mut c, sql), ROWS.to_string(), "{sql}");
        let waits = member.numbers().waits - before;
        assert!(waits < ROWS / 12, "{sql:.40}: {waits} waits");
    }
    assert!(sites(&mut c, "select sum(n) from t where k >= 0")[0].contains("all 6"));
}

#[test]
fn rows_that_a_statement_has_found_are_not_read_again_to_be_written() {
    const ROWS: u64 = 1_200;
    let three = Three::start();
    let [mut a, _, mut c] = three.sessions();
    ok(&mut a, "create table t (id int primary key, k int, n int); create index on t (k)");
    ok(&mut a, &format!("insert into t select i, i % 7, 1 from generate_series(1, {ROWS}) i"));
    let member = three.cluster.members().nth(2).expect("three members").clone();
    for sql in [
        "update t set n = n + 1",
        "update t set n = n + 1, k = k + 7 where k >= 0",
        "begin; update t set n = n - 1; update t set n = n + 1; commit",
        "delete from t where n = 3",
    ] {
        let before = member.numbers().waits;
        ok(&mut c, sql);
        let waits = member.numbers().waits - before;
        assert!(waits < ROWS / 12, "{sql}: {waits} waits");
    }
    assert_eq!(text(&mut a, "select count(*) from t"), "0");
}

/// The keys of the rows that come, and what they refer to, are asked for many at a time.
#[test]
fn rows_of_copy_are_inserted_without_a_wait_for_each() {
    const ROWS: u64 = 1_200;
    let three = Three::start();
    let [mut a, _, mut c] = three.sessions();
    ok(&mut a, "create table u (id int primary key); insert into u select generate_series(1, 100)");
    ok(
        &mut a,
        "create table t (n int default 7, id int primary key, k bigint unique, u int references u,
         above int references t)",
    );
    let member = three.cluster.members().nth(2).expect("three members").clone();
    let mut copy = |table: &str, line: &dyn Fn(u64) -> String| {
        let before = member.numbers().waits;
        ok(&mut c, &format!("copy {table} from stdin csv header"));
        let mut data = "header\n".to_owned();
        (1..=ROWS).for_each(|id| data.push_str(&line(id)));
        // pieces end anywhere
        for piece in data.as_bytes().chunks(4_000) {
            c.copy_data(piece)?;
        }
        c.copy_done(&mut Rows::default())?;
        Ok::<u64, SqlError>(member.numbers().waits - before)
    };
    // a row refers to the one before it
    let line = |id: u64| {
        let above = if id == 1 { String::new() } else { format!("\"{}\"", id - 1) };
        format!("{id},{},{},{above}\n", id + 5_000, 1 + id % 100)
    };
    let waits = copy("t (id, k, u, above)", &line).unwrap();
    assert!(waits < ROWS / 5, "{waits} waits");
    assert_eq!(text(&mut a, "select sum(n) + count(above) from t"), (8 * ROWS - 1).to_string());
    ok(&mut a, &format!("delete from t where id = {ROWS}"));
    // what fails is the row that fails alone
    let error = copy("t (id, k, u)", &|id| match id {
        20 => "40,20,9\n".to_owned(),
        25 => "41,41,9\n".to_owned(),
        id => format!("{},{id},9\n", id + 9_000),
    });
    let error = error.unwrap_err();
    assert_eq!(error.code().as_str(), "23505");
    assert_eq!(error.fields().context.as_deref(), Some("COPY t, line 21"));
    let error =
        copy("t (id, k, u)", &|id| format!("{},{id},{}\n", id + 9_000, if id == 33 { 101 } else { 1 }));
    assert_eq!(error.unwrap_err().code().as_str(), "23503");
    let error = copy("t (id, k)", &|id| format!("{},{}\n", id + 9_000, if id == 33 { "x" } else { "1" }));
    assert_eq!(error.unwrap_err().fields().context.as_deref(), Some("COPY t, line 3"));
    assert_eq!(text(&mut a, "select count(*) from t"), (ROWS - 1).to_string());
    // what was asked for is not what the statement's own trigger makes of it
    ok(
        &mut a,
        "create function clears() returns trigger language plpgsql as
             $$ begin delete from t where id > 1150; update t set k = id where id < 600; return null; end $$;
         create trigger clears before insert on t for each statement execute function clears()",
    );
    copy("t (id, k)", &|id| format!("{},{}\n", id + 1150, id + 1150)).unwrap();
    assert_eq!(text(&mut a, "select count(*), count(k = id or null) from t"), "2350|1799");
}

#[test]
fn what_was_found_before_a_wait_for_a_lock_is_read_again() {
    let three = Three::start();
    let [mut a, _, mut c] = three.sessions();
    ok(
        &mut a,
        "create table t (id int primary key, n int); insert into t select i, 0 from generate_series(1, 30) i",
    );
    for round in 1..4 {
        ok(&mut a, "begin; select * from t for update; update t set n = n + 1");
        let waits = scaledb_sync::thread::spawn(move || {
            ok(&mut c, "update t set n = n + 10");
            ok(&mut c, "begin; select * from t for update; update t set n = n + 100; commit");
            c
        });
        scaledb_sync::thread::sleep(Duration::from_millis(30));
        ok(&mut a, "commit");
        c = waits.join().expect("it ends");
        assert_eq!(
            text(&mut a, "select count(*), min(n), max(n) from t"),
            format!("30|{0}|{0}", round * 111)
        );
    }
}

#[test]
fn a_conflict_names_the_table_and_the_key() {
    let three = Three::start();
    let [mut a, mut b, _] = three.sessions();
    ok(
        &mut a,
        "create table t (w int, name text, n int, primary key (w, name)); insert into t values (7, 'x', 1)",
    );
    ok(&mut a, "begin; select * from t where w = 7 and name = 'x'; insert into t values (1, 'mine', 1)");
    ok(&mut b, "update t set n = n + 1");
    let error = run(&mut a, "commit").err().expect("a conflict");
    let detail = error.fields().detail.clone().unwrap_or_default();
    assert_eq!(error.code().as_str(), "40001");
    assert!(detail.contains("table \"t\", key (w, name)=(7, x)"), "{detail}");
    assert!(detail.contains("This transaction's statement: insert into t"), "{detail}");
}

/// A limit that a transaction passes ends it; a function that it is passed in says so, too.
#[test]
fn a_transaction_that_is_too_large_is_told_so_in_functions() {
    let three = Three::start();
    let [mut a, _, _] = three.sessions();
    // each deleted row looks through all of them for what refers to it
    ok(&mut a, "create table t (id int primary key, above int references t)");
    ok(&mut a, "insert into t select i, case when i > 1 then i - 1 end from generate_series(1, 1200) i");
    ok(
        &mut a,
        "create function f() returns int language plpgsql as
             $$ begin delete from t where id > 600; return 1; end $$",
    );
    let statement = "delete from t where id > 600";
    for sql in [statement, &format!("do $$ begin {statement}; end $$"), "select f()", "select f() + 1"] {
        assert_eq!(code(&mut a, sql), "54000", "{sql}");
        assert_eq!(code(&mut a, &format!("begin; {sql}")), "54000", "{sql}");
        ok(&mut a, "rollback");
    }
}
