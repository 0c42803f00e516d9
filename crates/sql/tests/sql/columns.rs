//! Columns that come and go without a change of the rows.

use crate::common::{code, hears_of_conflicts, ok, run, session, text};
use scaledb_acc::{Acc, Config, Durability};
use scaledb_engine::Engine;
use scaledb_log::LogOptions;
use scaledb_log::disk::Disk;
use scaledb_sql::Database;
use scaledb_verify::disk::SimDisk;
use std::sync::Arc;

/// The tables of the engine, and the commits so far.
fn counted<E: Engine>(db: &Database<E>) -> (usize, u64) {
    let stats = db.engine().stats();
    (stats.tables.len(), stats.commits)
}

/// A column with one value for all rows, or with none, costs as much on a large table as on a small one; so does one
/// that goes.
fn a_column_comes_and_goes_without_a_copy<E: Engine>(db: Database<E>) {
    const MOST: u64 = 3;
    let s = &mut session(&db);
    ok(s, "create table t (id int primary key, n int, note text)");
    ok(s, "insert into t select i, i, 'note ' || i from generate_series(1, 6000) i");
    for change in [
        "add column a int",
        "add column b text default 'constant' not null",
        "add column c timestamptz default now()",
        "add column d int default 7, add column e numeric default 1.50",
        "drop column n",
        "drop column b, drop column d",
        "add column n int default 5",
        "drop column note",
    ] {
        let before = counted(&db);
        ok(s, &format!("alter table t {change}"));
        let after = counted(&db);
        assert_eq!(after.0, before.0, "{change} made a table");
        assert!(after.1 <= before.1 + MOST, "{change}: {} commits", after.1 - before.1);
    }
    assert_eq!(
        text(s, "select count(*), sum(n), sum(e), count(a), count(distinct c) from t"),
        "6000|30000|9000.00|0|1"
    );
    // what has another value for each row does copy
    let before = counted(&db);
    ok(s, "create sequence q; alter table t add column f int default nextval('q')");
    assert!(counted(&db).1 > before.1 + MOST);
    assert_eq!(text(s, "select count(distinct f), sum(n) from t"), "6000|30000");
    // and so does an index; what was added is in it
    ok(
        s,
        "alter table t add column g int default 3; update t set g = id where id < 10; create index on t (g)",
    );
    assert_eq!(text(s, "select count(*) from t where g = 3"), "5992");
    assert_eq!(text(s, "select id, n, g from t where g = 9"), "9|5|9");
}

/// Transactions that have begun with other columns do not commit, and statements that are prepared find the new ones.
fn who_has_other_columns_begins_anew<E: Engine>(db: Database<E>) {
    let (a, b) = (&mut session(&db), &mut session(&db));
    hears_of_conflicts(a);
    hears_of_conflicts(b);
    ok(a, "create table t (id int primary key, n int); insert into t values (1, 1), (2, 2)");
    ok(b, "prepare p as insert into t values ($1, $2); execute p (3, 3)");
    ok(b, "begin; update t set n = 10 where id = 1");
    ok(a, "alter table t add column x int default 5 not null");
    assert_eq!(code(b, "commit"), "40001");
    ok(b, "rollback; execute p (4, 4)");
    assert_eq!(text(b, "select * from t order by id"), "1|1|5 2|2|5 3|3|5 4|4|5");
    ok(b, "begin; insert into t values (5, 5, 50)");
    ok(a, "alter table t drop column n");
    assert_eq!(code(b, "commit"), "40001");
    ok(b, "rollback");
    assert_eq!(text(b, "select * from t order by id"), "1|5 2|5 3|5 4|5");
    // a snapshot keeps the columns of its begin
    ok(b, "begin read only deferrable");
    assert_eq!(text(b, "select count(*) from t"), "4");
    ok(a, "alter table t drop column x, add column y text default 'y'; insert into t values (6, 'six')");
    assert_eq!(text(b, "select sum(x), count(*) from t"), "20|4");
    ok(b, "commit");
    assert_eq!(text(b, "select * from t where id > 3 order by id"), "4|y 6|six");
}

/// Statistics are of the columns that there are: those of another one would be compared with values of another type.
fn statistics_follow_the_columns<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(s, "create table t (id int primary key, a text, b int); create table u (id int primary key, b int)");
    ok(s, "insert into t select i, 'a' || i, i from generate_series(1, 500) i");
    ok(s, "insert into u select i, i from generate_series(1, 500) i");
    let join = "select count(*) from t join u on t.b = u.b where t.b > 100 and u.id < 400";
    ok(s, "analyze t; analyze u");
    assert_eq!(text(s, join), "299");
    ok(s, "alter table t drop column a");
    assert_eq!(text(s, join), "299");
    ok(s, "alter table t add column c text default 'c'");
    assert_eq!(text(s, &format!("{join} and c = 'c'")), "299");
}

on_each_engine!(
    views_mean_what_they_meant,
    a_column_comes_and_goes_without_a_copy,
    who_has_other_columns_begins_anew,
    statistics_follow_the_columns,
);

fn open(disk: impl Disk) -> Database<Acc> {
    let log = LogOptions { segment_bytes: 64 << 10, ..LogOptions::default() };
    let durability =
        Durability { log, recovery_threads: 1, checkpoint_bytes: 0, ..Durability::new(Arc::new(disk)) };
    let config =
        Config { indexlet_slots: 64, phantomlet_cells: 4, durability: Some(durability), ..Config::default() };
    Database::open(Acc::open(config).expect("the directory opens")).expect("the catalog is read")
}

/// Rows from before and behind each change, in checkpoints and in the log, are those that were answered, wherever the
/// power goes off.
#[test]
fn rows_of_all_ages_survive_a_loss_of_power() {
    let story = [
        "create table t (id int primary key, note text, n int not null)",
        "insert into t select i, 'note ' || i, i from generate_series(1, 20) i",
        "alter table t add column x int default 5 not null",
        "update t set x = id where id % 3 = 0",
        "insert into t values (21, 'new', 21, 210)",
        "alter table t drop column n",
        "update t set note = note || ' and more of it', x = 0 where id % 4 = 0",
        "checkpoint",
        "alter table t add column n text default 'n'",
        "begin; update t set n = 'changed' where id < 5; alter table t add column y numeric default 1.50; \
         update t set y = null, note = null where id = 2; commit",
        "delete from t where id = 3",
        "insert into t values (22, 'last', 22, null, 2)",
        "checkpoint",
        "update t set note = '' where id = 7",
        "create index on t (n, x)",
        "alter table t drop column y, add column z date default '2024-02-29'",
        "insert into t values (23, 'z', 23, 'n')",
    ];
    let look = |db: &Database<Acc>| {
        let s = &mut session(db);
        ok(s, "set synchronous_commit = off");
        run(s, "select * from t order by id")
            .map_or_else(|error| error.code().as_str().to_owned(), |rows| format!("{:?}", rows.rows))
    };
    let disk = SimDisk::new(12);
    let db = open(disk.clone());
    let (mut states, mut answered) = (vec![look(&db)], vec![disk.operations()]);
    let s = &mut session(&db);
    for sql in story {
        ok(s, sql);
        answered.push(disk.operations());
        states.push(look(&db));
    }
    for at in answered[0]..=answered[answered.len() - 1] {
        for image in [disk.image(at, at as u64), disk.killed(at)] {
            let found = look(&open(image));
            let least = answered.iter().filter(|&&operations| operations <= at).count() - 1;
            assert!(
                states[least..].contains(&found),
                "after operation {at}, {least} statements were answered, and found was\n{found}\ninstead of\n{}",
                states[least]
            );
        }
    }
}

/// Views are kept as text: they show what they showed, or the change is refused.
fn views_mean_what_they_meant<E: Engine>(db: Database<E>) {
    let mut s = session(&db);
    ok(&mut s, "create table a (id int primary key, x text); insert into a values (1, 'one')");
    ok(&mut s, "create table b (id int primary key, y text); insert into b values (1, 'eins')");
    ok(&mut s, "create view every as select * from a join b using (id)");
    ok(&mut s, "create view own as select a.* from a");
    ok(&mut s, "create view y as select y from b");
    ok(&mut s, "alter table a add column later int default 7");
    assert_eq!(text(&mut s, "select * from every"), "1|one|eins");
    assert_eq!(text(&mut s, "select * from own"), "1|one");
    assert_eq!(text(&mut s, "select * from a"), "1|one|7");
    // what no view shows may go, what one shows not
    ok(&mut s, "alter table a drop column later");
    assert_eq!(code(&mut s, "alter table a drop column x"), "2BP01");
    assert_eq!(code(&mut s, "alter table b alter column y type varchar(9)"), "0A000");
    // names are followed, but for those that USING compares
    assert_eq!(code(&mut s, "alter table b rename column id to k"), "0A000");
    ok(&mut s, "alter table b rename column y to z; alter table a rename to c");
    assert_eq!(text(&mut s, "select * from every"), "1|one|eins");
    assert_eq!(text(&mut s, "select y from y"), "eins");
    ok(&mut s, "alter table c rename to a");
    ok(&mut s, "alter table a drop column x cascade");
    assert_eq!(code(&mut s, "select * from every"), "42P01");
    assert_eq!(code(&mut s, "select * from own"), "42P01");
    assert_eq!(text(&mut s, "select * from y"), "eins");
}
