//! Indexes of some rows, where more than one session, the planner or the disk is part of it.

use crate::common::{code, failure, hears_of_conflicts, ok, one_of_two_commits, run, session, text};
use scaledb_acc::{Acc, Config, Durability};
use scaledb_engine::Engine;
use scaledb_log::LogOptions;
use scaledb_log::disk::Disk;
use scaledb_sql::Database;
use scaledb_verify::disk::SimDisk;
use std::sync::Arc;

const USERS: &str = "create table u (id int primary key, email text, gone timestamp, state text default 'new', n int); \
     create unique index u_email on u (email) where gone is null";

/// Of two transactions that take one key, one commits; a key that only a row outside of the index has is free.
fn one_of_two_takes_a_key<E: Engine>(db: Database<E>) {
    let (a, b) = (&mut session(&db), &mut session(&db));
    ok(a, USERS);
    ok(a, "insert into u values (1, 'x', '2024-01-01'), (2, 'x', '2024-01-02'), (3, 'y', null)");
    // rows that become live, one that is inserted, one whose key changes
    one_of_two_commits(
        a,
        b,
        "update u set gone = null where id = 1",
        "update u set gone = null where id = 2",
    );
    one_of_two_commits(a, b, "insert into u values (4, 'z')", "update u set email = 'z' where id = 3");
    one_of_two_commits(a, b, "insert into u values (5, 'q')", "insert into u values (6, 'q')");
    assert_eq!(text(a, "select id from u where gone is null order by id"), "1 3 4 5");
    // rows outside of the index do not meet
    ok(a, "begin; insert into u values (7, 'w', '2024-01-01')");
    ok(
        b,
        "begin; insert into u values (8, 'w', '2024-01-01'); update u set gone = '2024-01-01' where id = 5",
    );
    ok(a, "commit");
    ok(b, "commit");
    // who has read that a key is free does not commit once it is taken
    ok(b, "begin");
    assert_eq!(text(b, "select count(*) from u where email = 'q' and gone is null"), "0");
    ok(b, "insert into u values (10, 'other')");
    ok(a, "update u set gone = null where id = 5");
    ok(a, "select 1");
    ok(a, "begin; update u set n = 1 where id = 10");
    ok(a, "rollback");
    assert_eq!(text(a, "select count(*) from u where email = 'q' and gone is null"), "1");
    ok(b, "rollback");
}

/// A conflict of ON CONFLICT is with rows of the index only, whoever made them.
fn on_conflict_sees_live_rows_only<E: Engine>(db: Database<E>) {
    let (a, b) = (&mut session(&db), &mut session(&db));
    ok(a, USERS);
    ok(a, "insert into u values (1, 'x', '2024-01-01')");
    let insert = |id: i32| {
        format!(
            "insert into u values ({id}, 'x') on conflict (email) where gone is null do update set n = excluded.id \
             returning id, n"
        )
    };
    assert_eq!(text(a, &insert(2)), "2|NULL");
    assert_eq!(text(b, &insert(3)), "2|3");
    ok(a, "update u set gone = '2024-01-01' where email = 'x'");
    assert_eq!(text(b, &insert(4)), "4|NULL");
    ok(b, "prepare i as insert into u values ($1, $2) on conflict (email) where gone is null do nothing");
    ok(b, "execute i (5, 'x'); execute i (6, 'y')");
    assert_eq!(text(b, "select id, email from u where gone is null order by id"), "4|x 6|y");
    // a text of the condition with a literal in it
    ok(a, "create unique index u_state on u (n) where state = 'busy'");
    for (id, wanted) in [(20, "20"), (21, "20")] {
        let sql = format!(
            "insert into u values ({id}, 'b{id}', null, 'busy', 7) on conflict (n) where state = 'busy' do update set \
             email = 'again' returning id"
        );
        assert_eq!(text(a, &sql), wanted);
    }
    assert_eq!(
        code(a, "insert into u values (22, 'c', null, 'busy', 7) on conflict (n) do nothing"),
        "42P10"
    );
    let refused = failure(a, "insert into u values (22, 'c', null, 'busy', 7)");
    assert_eq!(refused.message(), "duplicate key value violates unique constraint \"u_state\"");
    assert_eq!(refused.fields().detail.as_deref(), Some("Key (n)=(7) already exists."));
}

/// The planner takes the index where the query's conditions imply the index's, and there only.
fn the_planner_takes_it_where_conditions_imply_its_own<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(s, USERS);
    ok(s, "create index u_busy on u (n) where state = 'busy'; create index u_high on u (n) where n > 100");
    ok(
        s,
        "create table d (id int primary key, done bool not null, k int); create index d_open on d (k) where not done",
    );
    ok(s, "create index d_known on d (k) where k is not null");
    ok(s, "insert into d select i, i % 2 = 0, i from generate_series(1, 50) i");
    ok(s, "insert into u select i, 'e' || i, null, 'new', i * 10 from generate_series(1, 50) i");
    let uses = |s: &mut _, sql: &str, index: &str| {
        let plan = text(s, &format!("explain {sql}"));
        assert!(plan.contains(index), "{sql}: {plan}");
    };
    let avoids = |s: &mut _, sql: &str, index: &str| {
        let plan = text(s, &format!("explain {sql}"));
        assert!(!plan.contains(index), "{sql}: {plan}");
    };
    uses(s, "select * from u where email = 'e7' and gone is null", "Index Cond: (email = 'e7'::text)");
    uses(s, "select * from u where gone is null and email > 'e7' order by email", "u_email");
    uses(s, "update u set n = 1 where email = 'e7' and gone is null", "u_email");
    avoids(s, "select * from u where email = 'e7'", "u_email");
    avoids(s, "select * from u where email = 'e7' and gone is not null", "u_email");
    avoids(s, "select * from u where email = 'e7' or gone is null", "u_email");
    avoids(s, "select * from u order by email", "u_email");
    avoids(s, "select * from u where id = 7 and gone is null", "u_email");
    uses(s, "select * from u where state = 'busy' and n = 3", "u_busy");
    avoids(s, "select * from u where state <> 'busy' and n = 3", "u_busy");
    avoids(s, "select * from u where n = 3", "u_busy");
    uses(s, "select * from u where n > 100", "u_high");
    uses(s, "select * from u where n = 200", "u_high");
    uses(s, "select * from u where n in (200, 300)", "u_high");
    avoids(s, "select * from u where n in (20, 300)", "u_high");
    avoids(s, "select * from u where n >= 100", "u_high");
    uses(s, "select * from d where k = 3 and not done", "d_open");
    uses(s, "select * from d where k = 3 and done = false", "d_open");
    uses(s, "select * from d where k = 3 and done is false", "d_open");
    uses(s, "select * from d where k = 3", "d_known");
    uses(
        s,
        "select x.id from u x join d on d.k = x.id and not d.done where x.email = 'e9' and x.gone is null",
        "d_open",
    );
    // what each of them answers
    assert_eq!(text(s, "select id from u where email = 'e7' and gone is null"), "7");
    assert_eq!(text(s, "select count(*) from u where n > 100"), "40");
    assert_eq!(text(s, "select id from u where n in (200, 300) order by 1"), "20 30");
    assert_eq!(text(s, "select id from u where n in (20, 300) order by 1"), "2 30");
    assert_eq!(text(s, "select count(*), min(k) from d where not done"), "25|1");
    // a parameter may be any value
    ok(s, "prepare p as select count(*) from u where state = $1 and n >= 0");
    assert_eq!(text(s, "execute p ('new')"), "50");
    assert_eq!(text(s, "execute p ('busy')"), "0");
    ok(s, "prepare q as select id from u where n > $1 and email = $2 and gone is null");
    assert_eq!(text(s, "execute q (10, 'e5')"), "5");
}

/// An index that comes while others write, and goes again: no row is lost to it, and none is kept out.
fn it_comes_and_goes_beside_others<E: Engine>(db: Database<E>) {
    let (a, b) = (&mut session(&db), &mut session(&db));
    hears_of_conflicts(a);
    hears_of_conflicts(b);
    ok(a, "create table t (id int primary key, k int, live bool default true)");
    ok(a, "insert into t select i, i, i % 2 = 0 from generate_series(1, 300) i");
    ok(b, "begin; update t set k = 4 where id = 2");
    ok(a, "create unique index t_k on t (k) where live");
    assert_eq!(code(b, "commit"), "40001");
    ok(b, "rollback");
    assert_eq!(code(b, "update t set k = 4 where id = 2"), "23505");
    ok(b, "update t set k = 5 where id = 2");
    ok(b, "begin; insert into t values (1000, 6, false)");
    ok(a, "create index t_other on t (live, k)");
    assert_eq!(code(b, "commit"), "40001");
    ok(b, "rollback; insert into t values (1000, 6, false)");
    ok(a, "begin; drop index t_k; rollback");
    assert_eq!(code(b, "update t set live = true where id = 1000"), "23505");
    ok(a, "drop index t_k");
    ok(b, "update t set live = true where id = 1000");
    assert_eq!(text(b, "select * from t where k = 6 order by id"), "6|6|t 1000|6|t");
    let refused = failure(a, "create unique index t_k on t (k) where live");
    assert_eq!(refused.fields().detail.as_deref(), Some("Key (k)=(6) is duplicated."));
    ok(a, "delete from t where id = 6; create unique index t_k on t (k) where live");
    ok(a, "alter table t add column more text default 'm', drop column live");
    ok(b, "insert into t values (6, 6)");
    assert_eq!(text(b, "select * from t where k = 6 order by id"), "6|6|m 1000|6|m");
}

/// A condition that means something else in other settings is refused, as what computes a column.
fn settings_do_not_change_which_rows_it_has<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(s, "create table t (id int primary key, at timestamptz, d date)");
    ok(s, "set timezone = 'America/New_York'");
    assert_eq!(code(s, "create index on t (id) where at > '2024-01-01'"), "0A000");
    assert_eq!(code(s, "create index on t (id) where at > now()"), "42P17");
    assert_eq!(code(s, "create index on t (id) where extract(hour from at) > 3"), "42P17");
    ok(s, "create index t_at on t (id) where at > '2024-01-01 00:00+00'");
    ok(s, "set datestyle = 'iso, dmy'");
    assert_eq!(code(s, "create index on t (id) where d > '01/02/2024'"), "0A000");
    ok(s, "insert into t values (1, '2023-12-31 23:30+00'), (2, '2024-01-01 00:30+00')");
    // midnight in New York is five hours later
    assert_eq!(text(s, "select id from t where id > 0 and at > '2024-01-01' order by id"), "");
    assert_eq!(text(s, "select id from t where id > 0 and at > '2024-01-01 00:00+00' order by id"), "2");
    ok(s, "set timezone = 'Asia/Tokyo'");
    assert_eq!(text(s, "select id from t where id > 0 and at > '2024-01-01' order by id"), "1 2");
}

/// A unique index that a transaction drops is checked until its commit. What it does not take before is refused for
/// good: who is told to run the transaction again would do so for ever.
fn an_index_that_is_dropped_is_checked_until_the_commit<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(s, "create table t (id int primary key, k int, live bool)");
    ok(s, "insert into t select i, i, true from generate_series(1, 100) i");
    ok(s, "create unique index t_k on t (k)");
    ok(s, "begin; drop index t_k; insert into t values (101, 101, true)");
    let refused = failure(s, "insert into t values (102, 1, true)");
    assert_eq!(refused.code().as_str(), "0A000", "{refused:?}");
    ok(s, "rollback; begin; drop index t_k");
    assert_eq!(code(s, "update t set k = 2 where k = 1"), "0A000");
    ok(s, "rollback");
    assert_eq!(code(s, "update t set k = 2 where k = 1"), "23505");
    ok(s, "begin; drop index t_k; commit; insert into t values (102, 1, true); delete from t where id = 102");
    // a new row is in no partial index any more; those that are there leave it when it goes
    ok(s, "create unique index t_k on t (k) where live");
    ok(s, "begin; drop index t_k; insert into t values (102, 1, true)");
    assert_eq!(text(s, "select count(*) from t where k = 1"), "2");
    assert_eq!(code(s, "update t set k = 2 where id = 3"), "0A000");
    ok(s, "rollback");
    assert_eq!(code(s, "update t set k = 2 where k = 1"), "23505");
    ok(s, "begin; drop index t_k; commit; update t set k = 2 where id = 3");
    assert_eq!(text(s, "select count(*) from t where k = 2"), "2");
}

on_each_engine!(
    settings_do_not_change_which_rows_it_has,
    an_index_that_is_dropped_is_checked_until_the_commit,
    one_of_two_takes_a_key,
    on_conflict_sees_live_rows_only,
    the_planner_takes_it_where_conditions_imply_its_own,
    it_comes_and_goes_beside_others,
);

fn open(disk: impl Disk) -> Database<Acc> {
    let log = LogOptions { segment_bytes: 64 << 10, ..LogOptions::default() };
    let durability =
        Durability { log, recovery_threads: 1, checkpoint_bytes: 0, ..Durability::new(Arc::new(disk)) };
    let config =
        Config { indexlet_slots: 64, phantomlet_cells: 4, durability: Some(durability), ..Config::default() };
    Database::open(Acc::open(config).expect("the directory opens")).expect("the catalog is read")
}

/// Wherever the power goes off, live keys are checked and found, and others are not.
#[test]
fn its_rows_are_the_same_after_a_loss_of_power() {
    let story = [
        "create table u (id int primary key, email text, gone date)",
        "insert into u select i, 'e' || i % 20, case when i > 20 then date '2024-01-01' end from generate_series(1, 40) i",
        "create unique index u_email on u (email) where gone is null",
        "update u set gone = '2024-02-02' where id = 5",
        "checkpoint",
        "update u set gone = null where id = 25",
        "alter table u rename column gone to deleted_at",
        "delete from u where id = 25",
        "drop index u_email",
        "insert into u values (100, 'e1'), (101, 'e1')",
    ];
    let look = |db: &Database<Acc>| {
        let s = &mut session(db);
        ok(s, "set synchronous_commit = off");
        let rows = |s: &mut _, sql: &str| run(s, sql).map(|rows| rows.rows).ok();
        let indexes = "select indexdef from pg_indexes order by 1";
        format!("{:?} {:?}", rows(s, "select * from u order by id"), rows(s, indexes))
    };
    let disk = SimDisk::new(13);
    let db = open(disk.clone());
    let (mut states, mut answered) = (vec![look(&db)], vec![disk.operations()]);
    for sql in story {
        ok(&mut session(&db), sql);
        answered.push(disk.operations());
        states.push(look(&db));
    }
    for at in answered[0]..=answered[answered.len() - 1] {
        let db = open(disk.image(at, at as u64));
        let found = look(&db);
        let least = answered.iter().filter(|&&operations| operations <= at).count() - 1;
        assert!(states[least..].contains(&found), "after operation {at}: {found}");
        let s = &mut session(&db);
        if found.contains("WHERE") {
            let column = if found.contains("deleted_at") { "deleted_at" } else { "gone" };
            assert_eq!(code(s, "insert into u values (77, 'e7')"), "23505");
            ok(s, "insert into u values (77, 'e7', '2024-01-01'), (78, 'new', null)");
            assert_eq!(text(s, &format!("select id from u where email = 'new' and {column} is null")), "78");
            assert_eq!(text(s, &format!("select id from u where email = 'e7' and {column} is null")), "7");
        }
    }
}
