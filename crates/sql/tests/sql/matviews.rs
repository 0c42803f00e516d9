//! Materialized views: who reads and writes beside a REFRESH, what CONCURRENTLY writes, and messages. What statements
//! answer is in `slt/matviews.sql`.

use crate::common::{code, failure, ok, run, session, text};
use scaledb_engine::Engine;
use scaledb_sql::{Database, Session};
use scaledb_sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use scaledb_sync::thread;
use std::sync::Arc;

/// Rows that are more than REFRESH deletes one by one.
const MANY: usize = 500;

fn fill<E: Engine>(s: &mut Session<E>, rows: usize) {
    ok(s, "create table t (id int primary key, v int not null)");
    ok(s, &format!("insert into t select i, 0 from generate_series(1, {rows}) i"));
    ok(s, "create materialized view m as select id, v from t; create unique index m_id on m (id)");
}

fn readers_beside_a_refresh_see_all_old_rows_or_all_new_ones<E: Engine>(db: Database<E>) {
    for (rows, refresh) in [
        (20, "refresh materialized view m"),
        (MANY, "refresh materialized view m"),
        (20, "refresh materialized view concurrently m"),
    ] {
        let s = &mut session(&db);
        fill(s, rows);
        let (ends, seen) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let readers: Vec<_> = (0..2)
            .map(|number| {
                let (mut s, ends, seen) = (session(&db), ends.clone(), seen.clone());
                thread::spawn(move || {
                    let mut last = 0;
                    if number == 1 {
                        ok(&mut s, "set default_transaction_read_only = on");
                    }
                    while !ends.load(Ordering::SeqCst) {
                        let found = text(&mut s, "select count(*), min(v), max(v) from m");
                        let parts: Vec<usize> =
                            found.split('|').map(|part| part.parse().expect("a number")).collect();
                        assert_eq!((parts[0], parts[1]), (rows, parts[2]), "{refresh}");
                        assert!(parts[1] >= last, "{refresh} goes back from {last}: {found}");
                        seen.fetch_add(usize::from(parts[1] > last), Ordering::SeqCst);
                        last = parts[1];
                    }
                })
            })
            .collect();
        let mut done = 0;
        while done < 15 || seen.load(Ordering::SeqCst) < 3 {
            ok(s, "update t set v = v + 1");
            ok(s, refresh);
            done += 1;
            assert!(done < 100_000, "nobody has read beside {refresh}");
        }
        ends.store(true, Ordering::SeqCst);
        readers.into_iter().for_each(|reader| reader.join().expect("no panic"));
        ok(s, "drop table t cascade");
    }
}

fn a_refresh_and_a_write_that_it_has_not_read_conflict<E: Engine>(db: Database<E>) {
    for rows in [20, MANY] {
        let (a, b) = (&mut session(&db), &mut session(&db));
        fill(a, rows);
        for refresh in ["refresh materialized view m", "refresh materialized view concurrently m"] {
            ok(a, "begin");
            ok(a, refresh);
            ok(b, "update t set v = v + 1 where id = 7");
            ok(a, "insert into t values (1000, 1)");
            match run(a, "commit") {
                Err(error) => assert_eq!(error.code().as_str(), "40001", "{refresh} of {rows} rows"),
                // it comes before the write
                Ok(_) => {
                    assert_eq!(text(b, "select t.v - m.v from t join m using (id) where id = 7"), "1");
                    ok(a, "delete from t where id = 1000");
                }
            }
            assert_eq!(text(b, "select count(*) from m"), rows.to_string());
            assert_eq!(text(b, "select count(*) from t"), rows.to_string());
            // by itself it is run again
            ok(a, refresh);
            let same = "select count(*) from t join m using (id, v)";
            assert_eq!(text(b, same), rows.to_string());
        }
        ok(a, "drop table t cascade");
    }
}

fn writers_beside_refreshes_lose_nothing<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    fill(s, 30);
    let writer = {
        let mut s = session(&db);
        thread::spawn(move || {
            for number in 0..200 {
                ok(&mut s, &format!("update t set v = v + 1 where id = {}", number % 30 + 1));
            }
        })
    };
    let refreshers: Vec<_> = ["refresh materialized view m", "refresh materialized view concurrently m"]
        .into_iter()
        .map(|refresh| {
            let mut s = session(&db);
            thread::spawn(move || {
                for _ in 0..15 {
                    match run(&mut s, refresh) {
                        Ok(_) => {}
                        // it has been overtaken as often as it is tried
                        Err(error) => assert_eq!(error.code().as_str(), "40001", "{error:?}"),
                    }
                }
            })
        })
        .collect();
    writer.join().expect("no panic");
    refreshers.into_iter().for_each(|thread| thread.join().expect("no panic"));
    ok(s, "refresh materialized view m");
    assert_eq!(text(s, "select sum(v), count(*) from m"), "200|30");
}

fn concurrently_writes_the_rows_that_differ_and_no_others<E: Engine>(db: Database<E>) {
    let (a, b) = (&mut session(&db), &mut session(&db));
    fill(a, 50);
    // a transaction that has read rows which stay does not hear of it
    ok(a, "create table other (n int)");
    ok(b, "begin; insert into other select v from m where id = 3");
    ok(
        a,
        "update t set v = 5 where id in (10, 20); delete from t where id = 30; insert into t values (60, 6)",
    );
    ok(a, "refresh materialized view concurrently m");
    ok(b, "commit");
    assert_eq!(text(a, "select count(*), sum(v) from m"), "50|16");
    // one that has read a row which changes does, unless it comes before or behind
    ok(b, "begin; insert into other select v from m where id = 10");
    ok(a, "update t set v = 7 where id = 10; refresh materialized view concurrently m");
    if let Err(error) = run(b, "commit") {
        assert_eq!(error.code().as_str(), "40001");
    }
    assert!(
        text(a, "select coalesce(sum(n), 0) from other")
            .parse::<i32>()
            .is_ok_and(|sum| [0, 5, 7].contains(&sum))
    );
    // values that two rows exchange
    ok(a, "create table x (id int, u int); insert into x values (1, 1), (2, 2), (3, 3)");
    ok(a, "create materialized view mx as select * from x");
    ok(a, "create unique index on mx (id); create unique index on mx (u)");
    ok(a, "update x set u = 3 - u where id < 3; refresh materialized view concurrently mx");
    assert_eq!(text(a, "select * from mx order by id"), "1|2 2|1 3|3");
}

fn plans_and_cursors_are_those_of_its_rows<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    fill(s, MANY);
    ok(s, "prepare q as select v from m where id = 5; prepare c as select count(*) from m");
    assert_eq!(text(s, "execute q"), "0");
    ok(s, "update t set v = 9; refresh materialized view m");
    assert_eq!((text(s, "execute q"), text(s, "execute c")), ("9".to_owned(), MANY.to_string()));
    ok(s, "begin; declare d cursor for select v from m order by id");
    ok(s, "delete from t; refresh materialized view m");
    assert_eq!(text(s, "fetch 1 from d"), "9");
    assert_eq!(text(s, "execute c"), "0");
    ok(s, "rollback");
    assert_eq!(text(s, "execute c"), MANY.to_string());
    ok(s, "refresh materialized view m with no data");
    assert_eq!(code(s, "execute q"), "55000");
    assert_eq!(code(s, "begin; declare d cursor for select * from m"), "55000");
    ok(s, "rollback; refresh materialized view m");
    assert_eq!(text(s, "execute q"), "9");
    // in functions, too
    ok(s, "create function f() returns bigint language sql as 'select count(*) from m'");
    assert_eq!(text(s, "select f()"), MANY.to_string());
    ok(s, "refresh materialized view m with no data");
    assert_eq!(code(s, "select f()"), "55000");
    assert_eq!(code(s, "copy (select * from m) to stdout"), "55000");
    assert_eq!(code(s, "copy m to stdout"), "42809");
    assert_eq!(code(s, "copy m from stdin"), "42809");
}

fn tags_and_messages_are_those_of_postgresql<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(s, "create table t (a int, b text); insert into t values (1, 'x'), (2, 'y')");
    let tags = |s: &mut Session<E>, sql: &str| ok(s, sql).tags.join(", ");
    assert_eq!(tags(s, "create materialized view m as select * from t"), "SELECT 2");
    let empty = "create materialized view e as select * from t with no data";
    assert_eq!(tags(s, empty), "CREATE MATERIALIZED VIEW");
    assert_eq!(tags(s, "refresh materialized view m"), "REFRESH MATERIALIZED VIEW");
    assert_eq!(tags(s, "alter materialized view m rename to n"), "ALTER MATERIALIZED VIEW");
    assert_eq!(tags(s, "alter materialized view n rename to m"), "ALTER MATERIALIZED VIEW");
    assert_eq!(tags(s, "create materialized view if not exists m as select 1"), "CREATE MATERIALIZED VIEW");
    let told = |s: &mut Session<E>, sql: &str| {
        let error = failure(s, sql);
        let fields = error.fields();
        let more = |text: &Option<String>| text.clone().unwrap_or_default();
        format!("{}|{}|{}", error.message(), more(&fields.detail), more(&fields.hint))
    };
    for (sql, wanted) in [
        (
            "select * from e",
            "materialized view \"e\" has not been populated||Use the REFRESH MATERIALIZED VIEW command.",
        ),
        ("delete from m", "cannot change materialized view \"m\"||"),
        ("select * from m for update", "cannot lock rows in materialized view \"m\"||"),
        (
            "merge into m using t on m.a = t.a when matched then delete",
            "cannot execute MERGE on relation \"m\"|This operation is not supported for materialized views.|",
        ),
        ("copy m from stdin", "cannot copy to materialized view \"m\"||"),
        (
            "copy m to stdout",
            "cannot copy from materialized view \"m\"||Try the COPY (SELECT ...) TO variant.",
        ),
        ("truncate m", "\"m\" is not a table||"),
        ("drop table m", "\"m\" is not a table||Use DROP MATERIALIZED VIEW to remove a materialized view."),
        ("drop materialized view t", "\"t\" is not a materialized view||Use DROP TABLE to remove a table."),
        (
            "drop table t",
            "cannot drop table t because other objects depend on it|materialized view m depends on table t|Use \
             DROP ... CASCADE to drop the dependent objects too.",
        ),
        (
            "alter table m alter b type varchar",
            "ALTER action ALTER COLUMN ... SET DATA TYPE cannot be performed on relation \"m\"|This operation is not \
             supported for materialized views.|",
        ),
        ("refresh materialized view t", "\"t\" is not a materialized view||"),
        (
            "refresh materialized view concurrently m",
            "cannot refresh materialized view \"public.m\" concurrently||Create a unique index with no WHERE clause \
             on one or more columns of the materialized view.",
        ),
        (
            "refresh materialized view concurrently e",
            "CONCURRENTLY cannot be used when the materialized view is not populated||",
        ),
        (
            "create trigger x after insert on m execute function y()",
            "relation \"m\" cannot have triggers|This operation is not supported for materialized views.|",
        ),
    ] {
        assert_eq!(told(s, sql), wanted, "{sql}");
    }
    ok(s, "create unique index m_a on m (a); insert into t values (1, 'x'), (3, null), (3, null)");
    assert_eq!(
        told(s, "refresh materialized view concurrently m"),
        "new data for materialized view \"m\" contains duplicate rows without any null columns|Row: (1,x)|"
    );
    ok(s, "delete from t where a = 3");
    assert_eq!(
        told(s, "refresh materialized view m"),
        "could not create unique index \"m_a\"|Key (a)=(1) is duplicated.|"
    );
    assert_eq!(text(s, "select count(*) from m"), "2");
    ok(s, "begin; lock table t");
    assert_eq!(
        told(s, "lock table m"),
        "cannot lock relation \"m\"|This operation is not supported for materialized views.|"
    );
    ok(s, "rollback");
}

on_each_engine! {
    readers_beside_a_refresh_see_all_old_rows_or_all_new_ones,
    a_refresh_and_a_write_that_it_has_not_read_conflict,
    writers_beside_refreshes_lose_nothing,
    concurrently_writes_the_rows_that_differ_and_no_others,
    plans_and_cursors_are_those_of_its_rows,
    tags_and_messages_are_those_of_postgresql,
}
