//! Two or three sessions in turns: what must not happen, and which of them hears of it.

use crate::common::{code, failure, hears_of_conflicts, ok, session, text};
use scaledb_engine::{Engine, SerializationPoint};
use scaledb_sql::Database;

fn write_skew_is_refused<E: Engine>(db: Database<E>) {
    let (a, b) = (&mut session(&db), &mut session(&db));
    ok(
        a,
        "create table duty (name text primary key, on_call bool); insert into duty values ('x', true), ('y', true)",
    );
    ok(a, "begin");
    ok(b, "begin");
    assert_eq!(text(a, "select count(*) from duty where on_call"), "2");
    assert_eq!(text(b, "select count(*) from duty where on_call"), "2");
    ok(a, "update duty set on_call = false where name = 'x'");
    ok(b, "update duty set on_call = false where name = 'y'");
    ok(a, "commit");
    assert_eq!(code(b, "commit"), "40001");
    assert_eq!(text(a, "select count(*) from duty where on_call"), "1");
}

fn a_lost_update_is_refused_and_says_where<E: Engine>(db: Database<E>) {
    let (a, b) = (&mut session(&db), &mut session(&db));
    ok(a, "create table t (id int primary key, n int); insert into t values (7, 0)");
    ok(a, "begin");
    ok(b, "begin");
    assert_eq!(text(a, "select n from t where id = 7"), text(b, "select n from t where id = 7"));
    ok(a, "update t set n = 1 where id = 7; commit");
    ok(b, "update t set n = 2 where id = 7");
    let error = failure(b, "commit");
    assert_eq!(error.code().as_str(), "40001");
    let detail = error.fields().detail.clone().unwrap_or_default();
    assert!(detail.contains("table \"t\"") && detail.contains("(id)=(7)"), "{detail}");
    assert!(error.fields().hint.is_some());
}

/// The line of an error's detail that begins with these words.
fn line_of(error: &scaledb_types::SqlError, words: &str) -> String {
    let detail = error.fields().detail.clone().unwrap_or_default();
    let line = detail.lines().find(|line| line.starts_with(words));
    line.unwrap_or_else(|| panic!("{words} is not in {detail}")).to_owned()
}

fn a_conflict_names_both_statements<E: Engine>(db: Database<E>) {
    let (a, b) = (&mut session(&db), &mut session(&db));
    hears_of_conflicts(a);
    hears_of_conflicts(b);
    ok(a, "create table t (id int primary key, kind int); create index by_kind on t (kind)");
    ok(a, "create table u (id int primary key); insert into t values (1, 1), (2, 1)");
    // a row, in a transaction of several statements
    ok(b, "begin; update t set kind = 3 where id = 1; insert into u values (1)");
    ok(a, "begin; insert into u values (2); update t set kind = 2 where id = 1; commit");
    let error = failure(b, "commit");
    assert!(line_of(&error, "In table \"t\"").contains("key (id)=(1)"));
    let own = line_of(&error, "This transaction's statement: ");
    assert_eq!(own, "This transaction's statement: update t set kind = $1 where id = $2");
    let other = line_of(&error, "The other transaction's last statement: ");
    assert_eq!(other, "The other transaction's last statement: update t set kind = $1 where id = $2");
    if db.engine().serialization_point() == SerializationPoint::Begin {
        // what only reads comes before what begins later, and is not in its way
        return;
    }
    // a phantom in an index
    ok(b, "begin; insert into u values (1)");
    assert_eq!(text(b, "select count(*) from t where kind = 7"), "0");
    ok(a, "insert into t select 100, 7");
    let error = failure(b, "commit");
    assert!(line_of(&error, "In table \"t\", index \"by_kind\"").contains("(kind"));
    assert!(line_of(&error, "This transaction's").ends_with("select count(*) from t where kind = $1"));
    assert!(line_of(&error, "The other transaction's last").contains("insert into t select"));
    // what was not there
    ok(b, "begin; insert into u values (1)");
    assert_eq!(text(b, "select kind from t where id = 50"), "");
    ok(a, "insert into t values (50, 5)");
    let error = failure(b, "commit");
    assert!(line_of(&error, "In table \"t\", key (id)=(50)").contains("missing"));
    assert!(line_of(&error, "The other transaction's last").contains("insert into t values ("));
}

fn what_was_run_again_is_counted<E: Engine>(db: Database<E>) {
    statements_alone_are_run_again_after_a_conflict(db.clone());
    let s = &mut session(&db);
    let sql = "select sum(value) from scaledb_counters where name like 'conflicts: %'";
    let conflicts: u64 = text(s, sql).parse().expect("a number");
    let again: u64 = text(s, "select value from scaledb_counters where name = 'statements run again'")
        .parse()
        .expect("a number");
    assert_eq!(again, db.retries());
    assert!(again <= conflicts, "{again} {conflicts}");
    assert_eq!(text(s, "select count(*) from scaledb_counters where value < 0"), "0");
}

fn a_phantom_is_refused<E: Engine>(db: Database<E>) {
    let (a, b) = (&mut session(&db), &mut session(&db));
    ok(a, "create table t (id int primary key, kind int); create index by_kind on t (kind)");
    for s in [&mut *a, &mut *b] {
        ok(s, "begin");
        assert_eq!(text(s, "select count(*) from t where kind = 1"), "0");
    }
    ok(a, "insert into t values (1, 1); commit");
    ok(b, "insert into t values (2, 1)");
    assert_eq!(code(b, "commit"), "40001");
}

fn a_read_only_transaction_sees_one_state<E: Engine>(db: Database<E>) {
    let (a, b) = (&mut session(&db), &mut session(&db));
    ok(a, "create table t (id int primary key, n int); insert into t values (1, 0), (2, 0)");
    ok(b, "begin read only");
    assert_eq!(text(b, "select n from t where id = 1"), "0");
    ok(a, "update t set n = 1");
    // the second row is of another state: either it is refused at once, or the commit is
    let second = crate::common::run(b, "select n from t where id = 2").map(|rows| rows.rows[0][0].clone());
    match second {
        Ok(n) if n.as_deref() == Some("0") => {}
        Ok(_) => assert_eq!(code(b, "commit"), "40001"),
        Err(error) => assert_eq!(error.code().as_str(), "40001"),
    }
    ok(b, "rollback");
    ok(b, "begin read only deferrable");
    assert_eq!(text(b, "select n from t where id = 1"), "1");
    ok(a, "update t set n = 2");
    assert_eq!(text(b, "select n from t where id = 2"), "1");
    assert_eq!(code(b, "update t set n = 3"), "25006");
    ok(b, "rollback");
}

fn two_upserts_of_a_new_key_do_not_both_insert<E: Engine>(db: Database<E>) {
    let (a, b) = (&mut session(&db), &mut session(&db));
    hears_of_conflicts(a);
    hears_of_conflicts(b);
    ok(a, "create table t (id int primary key, n int)");
    let upsert = "insert into t values (1, 1) on conflict (id) do update set n = t.n + 1";
    ok(a, "begin");
    ok(b, "begin");
    ok(a, upsert);
    ok(b, upsert);
    ok(a, "commit");
    assert_eq!(code(b, "commit"), "40001");
    ok(b, upsert);
    assert_eq!(text(a, "select n from t"), "2");
}

fn a_row_that_is_referred_to_cannot_vanish<E: Engine>(db: Database<E>) {
    let (a, b) = (&mut session(&db), &mut session(&db));
    ok(a, "create table p (id int primary key); create table c (id int primary key, p int references p)");
    ok(a, "insert into p values (1)");
    ok(a, "begin; insert into c values (1, 1)");
    ok(b, "begin; delete from p where id = 1");
    ok(a, "commit");
    assert_eq!(code(b, "commit"), "40001");
    ok(b, "begin; delete from c; delete from p; commit");
    ok(a, "insert into p values (2)");
    ok(a, "begin; delete from p where id = 2");
    ok(b, "begin; insert into c values (2, 2)");
    ok(a, "commit");
    assert_eq!(code(b, "commit"), "40001");
    assert_eq!(code(b, "insert into c values (2, 2)"), "23503");
}

/// What a transaction hears of its last statement and its commit: `ok`, or the first failure.
fn heard<E: Engine>(session: &mut scaledb_sql::Session<E>, statement: &str) -> String {
    let result = crate::common::run(session, statement).and_then(|_| crate::common::run(session, "commit"));
    ok(session, "rollback");
    result.map_or_else(|error| error.code().as_str().to_owned(), |_| "ok".to_owned())
}

/// What a transaction has read before its statement fails is not so any more: there is no order in which it reads
/// that and then fails.
fn an_error_over_stale_reads_is_a_conflict<E: Engine>(db: Database<E>) {
    let (a, b) = (&mut session(&db), &mut session(&db));
    ok(a, "create table p (id int primary key); create table c (id int primary key, p int references p)");
    ok(a, "create table d (p int references p deferrable initially deferred)");
    ok(
        a,
        "create table u (id int primary key, n int unique check (n > 0)); insert into u values (1, 1), (2, 2)",
    );
    // who reads what was there at its begin may be before the other one, and succeed
    let before = db.engine().serialization_point() == SerializationPoint::Begin;
    let meets_a_conflict = |b: &mut _, statement: &str| {
        let heard = heard(b, statement);
        assert!(heard == "40001" || before && heard == "ok", "{statement}: {heard}");
    };
    let begin = |b: &mut _, read: &str| {
        ok(b, "begin");
        ok(b, read);
    };
    // it has seen the row that it refers to
    for insert in ["insert into c values (1, 1)", "insert into d values (1)"] {
        ok(a, "insert into p values (1)");
        begin(b, "select id from p where id = 1");
        ok(a, "delete from p");
        meets_a_conflict(b, insert);
    }
    // it has seen that no row refers to what it deletes
    ok(a, "insert into p values (1)");
    begin(b, "select count(*) from c");
    ok(a, "insert into c values (1, 1)");
    meets_a_conflict(b, "delete from p");
    ok(a, "delete from c; delete from p");
    // it has seen that it is 2, and would see that it is 4
    let fails = [
        "insert into u values (3, 4)",
        "update u set n = 4 - n where id = 2",
        "select 1 / (n - 4) from u where id = 2",
        "insert into c select n, n from u where n = 4",
        "select (select id from u where n > 0 and (select n from u where id = 2) = 4)",
    ];
    for statement in fails {
        ok(a, "update u set n = id");
        begin(b, "select n from u where id = 2");
        ok(a, "update u set n = 4 where id = 2");
        meets_a_conflict(b, statement);
    }
    // and what follows from a state that there is, is an error
    ok(a, "update u set n = 4 where id = 2");
    for (statement, state) in fails.iter().zip(["23505", "23514", "22012", "23503", "21000"]) {
        begin(b, "select n from u where id = 2");
        ok(a, "insert into p values (100); delete from p");
        assert_eq!(code(b, statement), state, "{statement}");
        ok(b, "rollback");
        assert_eq!(code(b, statement), state, "{statement}");
    }
}

fn statements_alone_are_run_again_after_a_conflict<E: Engine>(db: Database<E>) {
    ok(&mut session(&db), "create table t (id int primary key, n int); insert into t values (1, 0)");
    scaledb_sync::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let s = &mut session(&db);
                for _ in 0..250 {
                    ok(s, "update t set n = n + 1 where id = 1");
                }
            });
        }
    });
    assert_eq!(text(&mut session(&db), "select n from t"), "1000");
}

fn a_write_to_a_table_that_is_being_changed_is_not_lost<E: Engine>(db: Database<E>) {
    let (a, b) = (&mut session(&db), &mut session(&db));
    hears_of_conflicts(a);
    hears_of_conflicts(b);
    ok(a, "create table t (id int primary key, n int); insert into t values (1, 1)");
    ok(b, "begin; insert into t values (2, 2)");
    ok(a, "create index t_n on t (n)");
    assert_eq!(code(b, "commit"), "40001");
    ok(b, "insert into t values (2, 2)");
    assert_eq!(text(b, "select id from t where n = 2"), "2");
    // the other way round: who writes waits for the change, and goes on with the table as it is then
    ok(a, "begin; alter table t add column x int default 0");
    scaledb_sync::thread::scope(|scope| {
        scope.spawn(|| ok(b, "insert into t values (3, 3)"));
        // who only reads does not wait
        assert_eq!(text(&mut session(&db), "select sum(n) from t"), "3");
        ok(a, "commit");
    });
    assert_eq!(text(a, "select * from t order by id"), "1|1|0 2|2|0 3|3|0");
    // unless it has no patience
    let b = &mut session(&db);
    ok(a, "begin; alter table t add column y int default 0");
    ok(b, "set lock_timeout = 1");
    assert_eq!(code(b, "insert into t values (4, 4)"), "55P03");
    assert_eq!(code(b, "begin; insert into t values (4, 4); commit"), "55P03");
    ok(b, "rollback");
    // a change that is rolled back, or cannot be committed any more, keeps nobody waiting
    assert_eq!(code(a, "select 1 / 0"), "22012");
    ok(b, "insert into t values (4, 4)");
    ok(a, "rollback");
    ok(a, "begin; alter table t drop column x; rollback");
    ok(b, "insert into t values (5, 5)");
    assert_eq!(text(a, "select * from t order by id"), "1|1|0 2|2|0 3|3|0 4|4|0 5|5|0");
}

fn more_sessions_than_workers_take_turns<E: Engine>(db: Database<E>) {
    let mut all: Vec<_> = (0..200).map(|_| session(&db)).collect();
    ok(&mut all[0], "create table t (id int primary key)");
    for (id, s) in all.iter_mut().enumerate() {
        ok(s, &format!("insert into t values ({id})"));
    }
    assert_eq!(text(&mut all[0], "select count(*) from t"), "200");
}

on_each_engine! {
    write_skew_is_refused,
    a_lost_update_is_refused_and_says_where,
    a_conflict_names_both_statements,
    what_was_run_again_is_counted,
    a_phantom_is_refused,
    a_read_only_transaction_sees_one_state,
    two_upserts_of_a_new_key_do_not_both_insert,
    a_row_that_is_referred_to_cannot_vanish,
    an_error_over_stale_reads_is_a_conflict,
    statements_alone_are_run_again_after_a_conflict,
    a_write_to_a_table_that_is_being_changed_is_not_lost,
    more_sessions_than_workers_take_turns,
}
