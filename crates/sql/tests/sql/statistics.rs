//! What was run, how long it took, and what was done with tables: the views of it.

use crate::common::{self, Rows, code, hears_of_conflicts, ok, run, text};
use scaledb_engine::Engine;
use scaledb_sql::{Database, Session};

/// A session whose statements are counted, as those of a server are.
fn session<E: Engine>(db: &Database<E>) -> Session<E> {
    let mut session = common::session(db);
    ok(&mut session, "set track_statements = on");
    session
}

/// The counts of one statement.
fn counts<E: Engine>(s: &mut Session<E>, query: &str) -> String {
    let columns = "calls, rows, errors, conflicts, retries";
    text(s, &format!("select {columns} from scaledb_stat_statements where query = '{query}'"))
}

fn statements_are_counted_without_their_constants<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(s, "create table t (id int primary key, n int)");
    for id in 1..=3 {
        ok(s, &format!("insert into t values ({id}, 7)"));
    }
    ok(s, "insert into t values (10, 1), (11, 2)");
    assert_eq!(code(s, "insert into t values (1, 8)"), "23505");
    for _ in 0..4 {
        ok(s, "select n from t where n = 7");
    }
    // interval literals stay in the plan, and are no less left out here
    ok(s, "select interval '1 day'");
    ok(s, "select interval '2 days'");
    // another session sees it while this one is open, and when it has gone
    let other = &mut session(&db);
    assert_eq!(counts(other, "insert into t values ($1, $2)"), "4|3|1|0|0");
    assert_eq!(counts(other, "insert into t values ($1, $2), ($3, $4)"), "1|2|0|0|0");
    assert_eq!(counts(other, "select n from t where n = $1"), "4|12|0|0|0");
    assert_eq!(counts(other, "select interval $1"), "2|2|0|0|0");
    let kind = "select distinct kind from scaledb_stat_statements where query like 'insert%'";
    assert_eq!(text(other, kind), "insert");
    let times = "select bool_and(min_exec_time > 0 and min_exec_time <= mean_exec_time and mean_exec_time <= max_exec_time \
                 and max_exec_time <= total_exec_time and stddev_exec_time >= 0) from scaledb_stat_statements";
    assert_eq!(text(other, times), "t");
    ok(s, "select n from t where n = 8");
    assert_eq!(counts(other, "select n from t where n = $1"), "5|12|0|0|0");
}

fn what_a_session_has_counted_stays_when_it_ends<E: Engine>(db: Database<E>) {
    let other = &mut session(&db);
    for _ in 0..2 {
        let s = &mut session(&db);
        // more than a session counts at a time, so that slots change hands
        for round in 0..3 {
            for number in 0..100 {
                ok(s, &format!("select {round} as c{number}"));
            }
        }
    }
    let sums = "select count(*), sum(calls), min(calls), max(calls), sum(rows) from scaledb_stat_statements where query like 'select $1 as c%'";
    assert_eq!(text(other, sums), "100|600|6|6|600");
    ok(other, "select scaledb_stat_statements_reset()");
    assert_eq!(text(other, sums), "0|NULL|NULL|NULL|NULL");
    assert_eq!(counts(other, "select scaledb_stat_statements_reset()"), "1|1|0|0|0");
    ok(other, "select 1 as c1");
    assert_eq!(text(other, sums), "1|1|1|1|1");
}

fn statements_that_are_kept_are_bounded_and_the_common_ones_stay<E: Engine>(db: Database<E>) {
    let (s, busy) = (&mut session(&db), &mut session(&db));
    for number in 0..6_000 {
        ok(s, &format!("set x.c{number} = 1"));
        if number % 10 == 0 {
            ok(busy, "select 1 as busy");
        }
    }
    let info = "select statements <= 5000, evicted >= 1000, not_counted from scaledb_stat_statements_info";
    assert_eq!(text(s, info), "t|t|0");
    assert_eq!(counts(s, "select $1 as busy"), "600|600|0|0|0");
}

fn a_setting_switches_it_off<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(s, "set track_statements = off");
    ok(s, "select 1 as hidden");
    ok(s, "set track_statements = on");
    assert_eq!(text(s, "select count(*) from scaledb_stat_statements where query like '%hidden'"), "0");
}

fn prepared_statements_cursors_and_copies_are_counted_once<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(s, "create table t (id int primary key)");
    ok(s, "prepare p as select * from t where id < $1");
    ok(s, "execute p(5)");
    ok(s, "execute p(6)");
    assert_eq!(counts(s, "select * from t where id < $1"), "2|0|0|0|0");
    assert_eq!(text(s, "select count(*) from scaledb_stat_statements where query like 'execute%'"), "0");
    let mut rows = Rows::default();
    s.simple("copy t from stdin", &mut rows).unwrap();
    s.copy_data(b"1\n2\n").unwrap();
    s.copy_data(b"3").unwrap();
    s.copy_done(&mut rows).unwrap();
    assert_eq!(counts(s, "copy t from stdin"), "1|3|0|0|0");
    s.simple("copy t from stdin", &mut rows).unwrap();
    s.copy_fail("enough");
    s.simple("copy t from stdin", &mut rows).unwrap();
    s.copy_data(b"x\n").unwrap_err();
    assert_eq!(counts(s, "copy t from stdin"), "3|3|2|0|0");
    // a portal that is read in parts
    s.parse("", "select id from t", &[]).unwrap();
    s.bind("", "", &[], &[]).unwrap();
    s.execute("", 2, false, &mut rows).unwrap();
    s.execute("", 2, true, &mut rows).unwrap();
    s.sync().unwrap();
    assert_eq!(counts(s, "select id from t"), "1|3|0|0|0");
}

fn times_are_kept_by_kind<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(s, "create table t (id int primary key)");
    ok(s, "begin; insert into t values (1); update t set id = 2; delete from t; commit");
    let calls = "select kind, sum(calls), max(calls_up_to) from scaledb_stat_latency where kind <> 'select' \
                 group by kind order by kind";
    let wanted = "copy|0|0 ddl|1|1 delete|1|1 insert|1|1 merge|0|0 other|0|0 transaction|2|2 update|1|1";
    assert_eq!(text(s, calls), wanted);
    assert_eq!(
        text(s, "select count(*), max(up_to_ms) from scaledb_stat_latency where kind = 'ddl'"),
        "20|Infinity"
    );
    ok(s, "select pg_sleep(0.03)");
    let slow = "select sum(calls) from scaledb_stat_latency where kind = 'select' and up_to_ms > 25";
    assert!(text(s, slow).parse::<u32>().unwrap() >= 1);
    let latencies = db.latencies();
    let insert = latencies.iter().find(|latency| latency.kind == "insert").unwrap();
    assert!(insert.calls == 1 && insert.seconds > 0.0);
}

fn tables_and_indexes_count_rows_and_scans<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(s, "create table t (id int primary key, n int); create index t_n on t (n)");
    ok(s, "create table child (id int primary key, t int references t on delete cascade)");
    ok(s, "insert into t select i, i from generate_series(1, 100) i");
    ok(s, "insert into child values (1, 1), (2, 1), (3, 2)");
    ok(s, "update t set n = 0 where id <= 10");
    ok(s, "delete from t where id = 1");
    ok(s, "with w as (insert into t values (1000, 1) returning id) select * from w");
    let table = "select rows_inserted, rows_updated, rows_deleted from scaledb_stat_tables where relname = ";
    assert_eq!(text(s, &format!("{table}'t'")), "101|10|1");
    assert_eq!(text(s, &format!("{table}'child'")), "3|0|2");
    let scans = "select t.seq_scans, t.index_scans, i.scans from scaledb_stat_tables t, scaledb_stat_indexes i \
                 where t.relname = 't' and i.indexrelname = 't_n'";
    let before = text(s, scans);
    ok(s, "select id from t where n = 50");
    ok(s, "select count(*) from t");
    ok(s, "select n from t where id = 50");
    let number = |text: &str| text.split('|').map(|n| n.parse::<i64>().unwrap()).collect::<Vec<_>>();
    let (before, after) = (number(&before), number(&text(s, scans)));
    let grown: Vec<i64> = after.iter().zip(&before).map(|(after, before)| after - before).collect();
    assert_eq!(grown, [1, 2, 1]);
    let sizes = "select bool_and(entries > 0 and bytes > 0) from scaledb_stat_indexes where relname = 't'";
    assert_eq!(text(s, sizes), "t");
    let rows: i64 = text(s, "select rows from scaledb_stat_tables where relname = 't'").parse().unwrap();
    assert!((100..=101).contains(&rows), "{rows}");
}

fn conflicts_are_counted_by_table_and_key<E: Engine>(db: Database<E>) {
    let (one, two) = (&mut session(&db), &mut session(&db));
    hears_of_conflicts(one);
    hears_of_conflicts(two);
    ok(one, "create table hot (id int primary key, n int); insert into hot values (1, 0), (2, 0)");
    for _ in 0..3 {
        for s in [&mut *one, &mut *two] {
            ok(s, "begin; select n from hot where id = 2");
        }
        ok(one, "update hot set n = n + 1 where id = 2");
        ok(one, "commit");
        let failed = run(two, "update hot set n = n + 1 where id = 2").and_then(|_| run(two, "commit"));
        assert_eq!(failed.unwrap_err().code().as_str(), "40001");
        ok(two, "rollback");
    }
    assert_eq!(text(one, "select conflicts from scaledb_stat_tables where relname = 'hot'"), "3");
    let keys = "select relname, key, conflicts, at_least from scaledb_stat_hot_keys";
    assert_eq!(text(one, keys), "hot|(id)=(2)|3|3");
    let failed = "select sum(conflicts), sum(errors) from scaledb_stat_statements";
    assert_eq!(text(one, failed), "3|3");
    ok(one, "drop table hot");
    assert_eq!(text(one, "select count(*) from scaledb_stat_hot_keys"), "0");
}

fn sizes_are_those_of_memory<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(
        s,
        "create table t (id int primary key, n int, s text); create index t_n on t (n); create view v as select 1",
    );
    let number = |s: &mut Session<E>, sql: &str| text(s, sql).parse::<i64>().unwrap();
    assert_eq!(number(s, "select pg_relation_size('t')"), 0);
    let before = number(s, "select pg_database_size(current_database())");
    ok(s, "insert into t select i, i, repeat('x', 400) from generate_series(1, 20000) i");
    ok(s, "select count(*) from t where n > 0");
    let rows = number(s, "select pg_relation_size('t')");
    // 400 bytes of text, and a record around it
    assert!((20_000 * 420..20_000 * 700).contains(&rows), "{rows}");
    let all = number(s, "select pg_database_size(current_database())");
    assert!(all >= before + rows, "{before} {all} {rows}");
    let (primary, secondary) =
        (number(s, "select pg_relation_size('t_pkey')"), number(s, "select pg_relation_size('t_n', 'main')"));
    // a word that leads to each row, and an entry of its own for each in the other index
    assert!((20_000 * 8..20_000 * 200).contains(&primary), "{primary}");
    assert!((20_000 * 24..20_000 * 300).contains(&secondary), "{secondary}");
    let sums = "select pg_table_size('t') = pg_relation_size('t'), pg_indexes_size('t') = pg_relation_size('t_pkey') + pg_relation_size('t_n'), \
                pg_total_relation_size('t') = pg_table_size('t') + pg_indexes_size('t'), pg_relation_size('v'), \
                pg_relation_size('pg_class'), pg_relation_size(1::oid::regclass), pg_relation_size('t', 'vm')";
    assert_eq!(text(s, sums), "t|t|t|0|0|NULL|0");
    assert_eq!(
        text(
            s,
            "select pg_size_pretty(pg_total_relation_size('t')) like '% MB' or pg_size_pretty(pg_total_relation_size('t')) like '% kB'"
        ),
        "t"
    );
    assert_eq!(code(s, "select pg_relation_size('nowhere')"), "42P01");
    assert_eq!(code(s, "select pg_relation_size('t', 'x')"), "22023");
    assert_eq!(code(s, "select pg_database_size('nowhere')"), "3D000");
    let view = "select bytes = pg_relation_size(relid) from scaledb_stat_tables where relname = 't'";
    assert_eq!(text(s, view), "t");
    ok(s, "delete from t");
    ok(s, "select count(*) from t");
}

fn transactions_that_hold_memory_back_are_shown<E: Engine>(db: Database<E>) {
    let (s, idle) = (&mut session(&db), &mut session(&db));
    ok(
        s,
        "create table t (id int primary key, n int); insert into t select i, 0 from generate_series(1, 50) i",
    );
    let pid = text(idle, "select pg_backend_pid()");
    let held = format!(
        "select state, seconds > 0, xact_start is not null, usename, query from scaledb_stat_transactions where pid = {pid}"
    );
    let count = format!("select count(*) from scaledb_stat_transactions where pid = {pid}");
    ok(idle, "begin");
    assert_eq!(text(s, &count), "0", "it has not read anything yet");
    ok(idle, "select n from t where id = 7");
    assert_eq!(text(s, &held), "idle in transaction|t|t|postgres|select n from t where id = $1");
    for _ in 0..5 {
        ok(
            s,
            "update t set n = n + 1; delete from t; insert into t select i, 0 from generate_series(1, 50) i",
        );
    }
    // ACC uses the records of rows that come again
    ok(s, "delete from t");
    let waiting = "select value::int8 >= 50 from scaledb_status where name = 'reclamation waiting'";
    assert_eq!(text(s, waiting), "t");
    let reclamation = db.reclamation();
    assert!(
        reclamation
            .transactions
            .iter()
            .any(|held| held.session.map(|id| id.to_string()) == Some(pid.clone()))
    );
    ok(idle, "rollback");
    assert_eq!(text(s, &count), "0");
    // who asks is one as well
    assert_eq!(text(s, "select count(*) from scaledb_stat_transactions where pid = pg_backend_pid()"), "1");
}

/// How long ago rows were written that scans find: by each index, and by table; a sample.
fn how_long_after_a_write_a_scan_needs_it_is_sampled<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(s, "create table w (id int primary key, k int, n int); create index w_k on w (k)");
    ok(s, "create table quiet (id int primary key)");
    ok(s, "insert into w select i, i % 4, 0 from generate_series(1, 20) i");
    let found = |s: &mut Session<E>, of: &str| -> Vec<f64> {
        let times = "sampled_rows, coalesce(write_to_scan_ms_p5, -1), coalesce(write_to_scan_ms_p50, -1), \
                     coalesce(write_to_scan_ms_p95, -1)";
        let row = text(s, &format!("select {times} from {of}"));
        row.split('|').map(|value| value.parse().expect("a number")).collect()
    };
    let (table, by_k) =
        ("scaledb_stat_tables where relname = 'w'", "scaledb_stat_indexes where indexrelname = 'w_k'");
    scaledb_sync::thread::sleep(std::time::Duration::from_millis(70));
    // each is a transaction, of which one in 64 is looked at
    let scan = |s: &mut Session<E>| {
        for _ in 0..640 {
            assert_eq!(text(s, "select count(n) from w where k = 2"), "5");
        }
    };
    scan(s);
    let old = found(s, by_k);
    assert!((25.0..=100.0).contains(&old[0]), "{old:?}");
    assert!(old[1] > 70.0 && old[1] <= old[2] && old[2] <= old[3], "{old:?}");
    for _ in 0..640 {
        ok(s, "begin; update w set n = n + 1 where id = 2; commit");
        ok(s, "select count(n) from w where k = 2 and n >= 0");
    }
    let new = found(s, by_k);
    assert!(new[0] > old[0] && new[1] < old[1], "{old:?} {new:?}");
    // by the primary key, which the table has the rows of; those of the index are counted with them
    for _ in 0..640 {
        assert_eq!(text(s, "select count(*) from w where id between 3 and 5"), "3");
    }
    let (all, by_id) = (found(s, table), found(s, "scaledb_stat_indexes where indexrelname = 'w_pkey'"));
    assert!(by_id[0] >= 15.0 && all[0] >= by_id[0] + new[0], "{all:?} {by_id:?} {new:?}");
    assert_eq!(found(s, "scaledb_stat_tables where relname = 'quiet'"), [0.0, -1.0, -1.0, -1.0]);
}

on_each_engine!(
    how_long_after_a_write_a_scan_needs_it_is_sampled,
    statements_are_counted_without_their_constants,
    what_a_session_has_counted_stays_when_it_ends,
    statements_that_are_kept_are_bounded_and_the_common_ones_stay,
    a_setting_switches_it_off,
    prepared_statements_cursors_and_copies_are_counted_once,
    times_are_kept_by_kind,
    tables_and_indexes_count_rows_and_scans,
    conflicts_are_counted_by_table_and_key,
    sizes_are_those_of_memory,
    transactions_that_hold_memory_back_are_shown,
);
