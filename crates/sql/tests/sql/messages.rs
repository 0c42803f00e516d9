//! What errors say, and where they point.

use crate::common::{acc, code, failure, ok, run, session, text};
use scaledb_types::{SqlError, SqlState};

fn error(sql: &str) -> SqlError {
    let db = acc();
    let mut session = session(&db);
    ok(&mut session, "create table t (id int primary key, a int not null, b text, c int check (c > 0))");
    ok(&mut session, "insert into t values (1, 2, 'x', 3)");
    run(&mut session, sql).expect_err(sql)
}

/// The part of the text that the error points at.
fn place(sql: &str) -> String {
    let position = error(sql).fields().position.unwrap_or_else(|| panic!("{sql}: no position")) as usize;
    sql.chars().skip(position - 1).take_while(|c| c.is_alphanumeric() || "_.".contains(*c)).collect()
}

#[test]
fn errors_point_at_what_they_are_about() {
    for (sql, wanted) in [
        ("select id, wrong from t", "wrong"),
        ("select 'ä', t.wrong from t", "t.wrong"),
        ("select x.id from t", "x.id"),
        ("select id\nfrom t\nwhere nowhere = 4", "nowhere"),
        ("select id from absent where id = 4", "absent"),
        ("select nofunction(id) from t", "nofunction"),
        ("insert into t (id, wrong) values (1, 2)", "wrong"),
        ("insert into absent values (1)", "absent"),
        ("insert into t values (1, 2) on conflict (wrong) do nothing", "wrong"),
        ("update t set wrong = 1", "wrong"),
        ("delete from t where wrong = 1", "wrong"),
        ("select 1; select 'ä'; select wrong", "wrong"),
        ("select 1; selec 1", "selec"),
    ] {
        assert_eq!(place(sql), wanted, "{sql}");
    }
}

/// A literal says what it is when it meets what it is compared with, or becomes a value of: the error still knows where
/// it stood.
#[test]
fn errors_point_at_literals_that_are_not_of_their_type() {
    for (sql, wanted) in [
        ("select 'ä', 'x'::int", "'x'::int"),
        ("select 1,\n  '2020-99-01'::date", "'2020-99-01'::date"),
        ("select cast('x' as numeric)", "'x' as numeric)"),
        ("select date 'x'", "'x'"),
        ("select interval '1 foo'", "'1 foo'"),
        ("select '{1,x}'::int[]", "'{1,x}'::int[]"),
        ("select array['1', 'x']::int[]", "'x']::int[]"),
        ("select 1 + 'x'", "'x'"),
        ("select id from t where 'x' = id", "'x' = id"),
        ("select id from t where id in (1, 'x')", "'x')"),
        ("select coalesce(1, 'x')", "'x')"),
        ("select case when true then 1 else 'x' end", "'x' end"),
        ("select abs(int '1'), power(2, 'x')", "'x')"),
        ("select id from t where 'x'", "'x'"),
        ("insert into t values (2, 'x')", "'x')"),
        ("insert into t values (2, 1), (3, 'x')", "'x')"),
        ("update t set a = 'x'", "'x'"),
        ("select 'asd'::jsonb", "'asd'::jsonb"),
        ("select b'12'", "b'12'"),
        // what is of another type is pointed at, too, where it is given to a column
        ("insert into t values (2, true)", "true)"),
        ("update t set a = b", "b"),
    ] {
        let position = error(sql).fields().position.unwrap_or_else(|| panic!("{sql}: no position")) as usize;
        assert_eq!(sql.chars().skip(position - 1).collect::<String>(), wanted, "{sql}");
    }
    // too long for its column is only what a value may be
    let db = acc();
    let mut session = session(&db);
    ok(&mut session, "create table v (a varchar(2))");
    let long = run(&mut session, "insert into v values ('abc')").expect_err("too long");
    assert_eq!(long.fields().position, None);
}

/// Drivers know by the name of this routine that the type of a column may have changed since they prepared the
/// statement.
#[test]
fn a_value_of_another_type_than_its_column_has_the_routine_that_drivers_look_for() {
    let refused = error("insert into t values (2, true)");
    assert_eq!(refused.code(), SqlState::DATATYPE_MISMATCH);
    assert_eq!(refused.fields().routine, Some("transformAssignedExpr"));
}

/// A batch is read to its end before its first statement runs: a COMMIT in it would keep what a client takes for
/// undone.
#[test]
fn a_batch_with_a_syntax_error_is_not_begun() {
    let db = acc();
    let s = &mut session(&db);
    ok(s, "create table t (id int primary key); insert into t values (1)");
    for batch in [
        "insert into t values (2); selec 1",
        "begin; insert into t values (2); commit; selec 1",
        "insert into t values (2); commit; insert into t values (3",
        "insert into t values (2); commit; set",
        "insert into t values (2); commit; select \"\"",
        // one whose first statement would fail by itself
        "insert into absent values (1); selec 1",
        "insert into t values (1); selec 1",
    ] {
        assert_eq!(code(s, batch), "42601", "{batch}");
        assert_eq!(text(s, "select count(*) from t"), "1", "{batch}");
    }
    // what is only not supported, or names what is not there, comes when it is its turn
    assert_eq!(code(s, "insert into t values (2); commit; create unlogged table u (a int)"), "0A000");
    assert_eq!(code(s, "insert into t values (3); commit; select * from absent"), "42P01");
    assert_eq!(text(s, "select count(*) from t"), "3");
    // within a transaction it fails as any other statement does
    ok(s, "begin; insert into t values (4)");
    assert_eq!(code(s, "insert into t values (5); selec 1"), "42601");
    assert_eq!(code(s, "select 1; select 2"), "25P02");
    ok(s, "rollback");
    let wrong = failure(s, "select 'ä'; select 1; selec 1");
    assert_eq!(wrong.fields().position, Some(23));
    ok(s, "insert into t values (6); insert into t values (7); insert into t values (8)");
    assert_eq!(text(s, "select count(*) from t"), "6");
}

#[test]
fn a_row_that_fails_a_check_is_shown_as_a_whole() {
    for sql in
        ["update t set c = -1 where id = 1", "update t set c = -1", "update t set c = -1 where b = 'x'"]
    {
        let error = error(sql);
        assert_eq!(error.fields().detail.as_deref(), Some("Failing row contains (1, 2, x, -1)."), "{sql}");
    }
    let error = error("update t set a = null");
    assert_eq!(error.fields().detail.as_deref(), Some("Failing row contains (1, null, x, 3)."));
}

#[test]
fn a_statement_that_is_not_supported_is_named() {
    let message = error("create table u (a int) inherits (t)").to_string();
    assert!(message.contains("inheritance is not supported"), "{message}");
}

#[test]
fn statements_that_the_parser_does_not_know_are_named() {
    for (sql, wanted) in [
        ("create unlogged table u (a int)", "CREATE UNLOGGED TABLE is not supported"),
        ("create aggregate p (int) (sfunc = f, stype = int)", "CREATE AGGREGATE is not supported"),
        ("create index on t using gin (b)", "indexes of type gin are not supported"),
        (
            "create index on t (a, b, a desc)",
            "an index with a column or an expression twice is not supported",
        ),
        (
            "create index on t ((a+1), (a + 1))",
            "an index with a column or an expression twice is not supported",
        ),
        ("select * from t tablesample bernoulli (10)", "TABLESAMPLE is not supported"),
    ] {
        let error = error(sql);
        assert_eq!((error.code().as_str(), error.message()), ("0A000", wanted), "{sql}");
    }
}

#[test]
fn a_sleep_ends_at_the_statement_timeout() {
    let db = acc();
    let mut session = session(&db);
    ok(&mut session, "select pg_sleep(0.001)");
    ok(&mut session, "set statement_timeout = 30");
    let error = run(&mut session, "select pg_sleep(1000)").unwrap_err();
    assert_eq!(error.code().to_string(), "57014");
}

/// What a statement says beside its result: the severity and the message.
fn notices(session: &mut scaledb_sql::Session<scaledb_acc::Acc>, sql: &str) -> Vec<String> {
    ok(session, sql);
    let notices = session.take_notices();
    notices.iter().map(|notice| format!("{:?}: {}", notice.severity, notice.fields.message())).collect()
}

#[test]
fn what_is_accepted_and_does_nothing_says_so() {
    let db = acc();
    let mut s = session(&db);
    ok(&mut s, "create table t (id int)");
    for sql in [
        "vacuum t",
        "reindex table t",
        "cluster",
        "comment on schema public is 'x'",
        "set enable_seqscan = off",
        "set geqo to off",
    ] {
        assert_eq!(notices(&mut s, sql).len(), 1, "{sql}");
    }
    for sql in [
        "set enable_seqscan = on",
        "set work_mem = '1MB'",
        "set application_name = 'x'",
        "reset jit",
        "set row_security to off",
        "set check_function_bodies = off",
    ] {
        assert_eq!(notices(&mut s, sql), [""; 0], "{sql}");
    }
    ok(&mut s, "set client_min_messages = warning");
    assert_eq!(notices(&mut s, "vacuum t"), [""; 0]);
    assert_eq!(notices(&mut s, "comment on schema public is 'x'").len(), 1);
    ok(&mut s, "set client_min_messages = error");
    assert_eq!(notices(&mut s, "comment on schema public is 'x'"), [""; 0]);
}

/// What says where a cluster keeps rows would do nothing here.
#[test]
fn what_is_of_a_cluster_is_refused_where_there_is_none() {
    let db = acc();
    let mut s = session(&db);
    let table = "create table t (id int primary key)";
    for (clause, code, words) in [
        ("partition by hash (id)", "0A000", "PARTITION BY is for tables of a cluster"),
        ("partition by range (id)", "0A000", "PARTITION BY HASH"),
        ("with (replicate = everywhere)", "0A000", "replicate is for tables of a cluster"),
        ("with (partition_by = 'id')", "0A000", "PARTITION BY is for tables of a cluster"),
        ("with (replicate = here)", "22023", "invalid value"),
        ("with (colour = red)", "22023", "unrecognized parameter \"colour\""),
    ] {
        let sql = format!("{table} {clause}");
        let error = run(&mut s, &sql).expect_err(&sql);
        assert_eq!(error.code().as_str(), code, "{sql}");
        assert!(error.message().contains(words), "{sql}: {}", error.message());
    }
    let what = "create table u partition of t for values with (modulus 4, remainder 0)";
    assert_eq!(run(&mut s, what).expect_err(what).code().as_str(), "0A000");
    ok(&mut s, "create table t (id int primary key) with (fillfactor = 70, autovacuum_enabled = off)");
    let kept = "select reloptions from pg_class where relname = 't'";
    assert_eq!(crate::common::text(&mut s, kept), "{fillfactor=70,autovacuum_enabled=off}");
}

#[test]
fn what_goes_with_what_was_dropped_is_told() {
    let db = acc();
    let mut s = session(&db);
    ok(&mut s, "create table p (id int primary key, n int)");
    ok(&mut s, "create table c (id int references p, constraint same foreign key (id) references p)");
    ok(&mut s, "create view v1 as select id from p; create view v2 as select id from v1");
    ok(&mut s, "create view v3 as select id from v2");
    let told = |s: &mut scaledb_sql::Session<scaledb_acc::Acc>, sql: &str| {
        ok(s, sql);
        let notices = s.take_notices();
        let each = notices.iter().map(|notice| {
            let detail = notice.fields.fields().detail.as_deref().unwrap_or_default().to_owned();
            format!("{}/{detail}", notice.fields.message())
        });
        each.collect::<Vec<_>>()
    };
    assert_eq!(told(&mut s, "drop view v3 cascade"), [""; 0]);
    ok(&mut s, "create view v3 as select id from v2");
    assert_eq!(
        told(&mut s, "drop view v1 cascade"),
        ["drop cascades to 2 other objects/drop cascades to view v2\ndrop cascades to view v3"]
    );
    ok(&mut s, "create view v1 as select id from p; create view v2 as select id from v1");
    assert_eq!(told(&mut s, "drop view v1, v2 cascade"), [""; 0]);
    ok(&mut s, "create view v1 as select n from p");
    assert_eq!(told(&mut s, "alter table p drop column n cascade"), ["drop cascades to view v1/"]);
    ok(&mut s, "alter table c drop constraint c_id_fkey");
    assert_eq!(told(&mut s, "drop table p cascade"), ["drop cascades to constraint same on table c/"]);
}

#[test]
fn what_is_raised_is_heard_from_its_level_on() {
    let db = acc();
    let mut s = session(&db);
    let raise = "do $$ begin raise debug 'd'; raise log 'l'; raise info 'i'; raise notice 'n'; raise warning 'w'; end $$";
    for (least, heard) in [
        ("debug1", &["Debug: d", "Log: l", "Info: i", "Notice: n", "Warning: w"][..]),
        ("log", &["Log: l", "Info: i", "Notice: n", "Warning: w"]),
        ("notice", &["Info: i", "Notice: n", "Warning: w"]),
        ("warning", &["Info: i", "Warning: w"]),
        ("error", &["Info: i"]),
    ] {
        ok(&mut s, &format!("set client_min_messages = {least}"));
        assert_eq!(notices(&mut s, raise), heard, "{least}");
    }
}
