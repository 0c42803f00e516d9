//! Databases that survive: what was answered is there after a loss of power at any operation of the disk, and nothing
//! is answered before.

use crate::common::{code, failure, ok, run, session, text};
use crate::notifications::{heard, listener};
use scaledb_acc::{Acc, Config, Durability};
use scaledb_engine::Engine;
use scaledb_log::LogOptions;
use scaledb_log::disk::{Disk, File};
use scaledb_sql::Database;
use scaledb_sync::lock::{Condvar, Mutex};
use scaledb_sync::thread;
use scaledb_verify::disk::{Call, Fault, SimDisk, When};
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

fn open(disk: impl Disk) -> Database<Acc> {
    let log = LogOptions { segment_bytes: 64 << 10, ..LogOptions::default() };
    let durability =
        Durability { log, recovery_threads: 1, checkpoint_bytes: 0, ..Durability::new(Arc::new(disk)) };
    let config =
        Config { indexlet_slots: 64, phantomlet_cells: 4, durability: Some(durability), ..Config::default() };
    Database::open(Acc::open(config).expect("the directory opens")).expect("the catalog is read")
}

/// A life of a database: each line is answered before the next is sent.
const STORY: &[&str] = &[
    "create table owners (id int primary key, name text not null)",
    "create table accounts (id serial primary key, owner int references owners on delete cascade, \
     balance numeric(12, 2) default 10 check (balance >= 0), note text)",
    "create index by_owner on accounts (owner, balance desc)",
    "insert into owners values (1, 'ann'), (2, 'bob')",
    "insert into accounts (owner) values (1), (2), (2)",
    "begin; update accounts set balance = balance - 3 where id = 1; update accounts set balance = balance + 3 \
     where id = 2; commit",
    "create view rich as select owner, sum(balance) as sum from accounts group by owner",
    "create sequence tickets increment 5 start 100",
    "create materialized view sums as select owner, sum(balance) as sum from accounts group by owner",
    "create unique index sums_owner on sums (owner)",
    "create materialized view later as select owner from sums with no data",
    "alter table accounts add column opened date default '2024-02-29'",
    "insert into accounts (owner, note) values (1, 'later')",
    "create unique index one_note on accounts (note)",
    "create table gone (id int primary key, rest text)",
    "insert into gone select i, repeat('x', 100) from generate_series(1, 50) i",
    "checkpoint",
    "drop table gone",
    "delete from owners where id = 2",
    "create table again (id int primary key, rest text)",
    "insert into again values (1, 'new')",
    "alter table accounts rename column note to remark",
    "truncate again",
    "insert into again select i, 'many' from generate_series(1, 120) i",
    "refresh materialized view concurrently sums",
    "refresh materialized view later",
    "truncate again",
    "insert into again values (2, 'few')",
    "insert into accounts (owner, remark) values (1, 'last')",
    "create role clerk login password 'secret' in role pg_monitor",
    "grant select (id), update (balance) on accounts to clerk with grant option",
    "alter default privileges in schema public grant select on tables to clerk",
    "create table theirs (a int primary key)",
    "alter table theirs owner to clerk",
    "alter role clerk set work_mem = '1MB'",
    "drop table theirs",
];

/// What of a database can be seen.
const LOOK: &[&str] = &[
    "select rolname, rolcanlogin, rolpassword, rolconfig from pg_authid where rolname = 'clerk'",
    "select count(*) from pg_auth_members",
    "select relname, relacl::text, pg_get_userbyid(relowner) from pg_class where relacl is not null or relowner <> 10 order by 1",
    "select attname, attacl::text from pg_attribute where attacl is not null order by 1",
    "select defaclacl::text from pg_default_acl",
    "select table_name, column_name, data_type, is_nullable from information_schema.columns where table_schema = \
     'public' order by 1, 2",
    "select relname, relkind from pg_class where relnamespace = 'public'::regnamespace order by 1",
    "select conname, contype from pg_constraint order by 1",
    "select * from owners order by id",
    "select * from accounts order by id",
    "select id from accounts where owner = 1 order by owner, balance desc, id",
    "select * from rich order by owner",
    "select * from sums order by owner",
    "select * from later order by owner",
    "select matviewname, ispopulated, hasindexes, definition from pg_matviews order by 1",
    "select count(*), min(rest) from gone",
    "select * from again",
];

fn look(db: &Database<Acc>) -> String {
    let s = &mut session(db);
    ok(s, "set synchronous_commit = off");
    let answer = |sql: &&str| match run(s, sql) {
        Ok(rows) => format!("{:?}", rows.rows),
        Err(error) => error.code().as_str().to_owned(),
    };
    LOOK.iter().map(answer).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_loss_of_power_at_any_operation_loses_nothing_that_was_answered() {
    let disk = SimDisk::new(7);
    let db = open(disk.clone());
    let (mut states, mut answered) = (vec![look(&db)], vec![disk.operations()]);
    let s = &mut session(&db);
    for sql in STORY {
        ok(s, sql);
        // first: what is looked at may be written later
        answered.push(disk.operations());
        states.push(look(&db));
    }
    assert!(states.last().is_some_and(|last| last.contains("2024-02-29") && last.contains("last")));
    let end = answered[answered.len() - 1];
    for at in answered[0]..=end {
        for image in [disk.image(at, at as u64), disk.killed(at)] {
            let db = open(image);
            let found = look(&db);
            let least = answered.iter().filter(|&&operations| operations <= at).count() - 1;
            assert!(
                states[least..].contains(&found),
                "after operation {at}, {least} statements were answered, and found was\n{found}\ninstead of\n{}",
                states[least]
            );
            // it goes on: keys are checked, and no serial number comes twice
            let s = &mut session(&db);
            if found.contains("accounts") {
                ok(s, "insert into accounts (owner) select id from owners");
                assert_eq!(code(s, "insert into accounts (owner) values (77)"), "23503");
            }
            ok(s, "create table fresh (id serial primary key); insert into fresh default values");
            assert_eq!(text(s, "select id from fresh"), "1");
        }
    }
}

/// What of all databases can be seen.
fn look_everywhere(db: &Database<Acc>) -> String {
    let first = &mut session(db);
    let names = text(first, "select string_agg(datname, ',' order by datname) from pg_database");
    let one = |name: &str| {
        let s = &mut db.session_in("root", name).expect("it is let in");
        ok(s, "set synchronous_commit = off");
        let looks = [
            "select count(*), sum(n) from t",
            "select string_agg(rolname, ',' order by rolname) from pg_roles where rolname in ('ann', 'bob')",
            "select m from own.t",
            "select datname, datconnlimit, datacl::text from pg_database order by 1",
        ];
        let answer = |sql: &&str| match run(s, sql) {
            Ok(rows) => format!("{:?}", rows.rows),
            Err(error) => error.code().as_str().to_owned(),
        };
        format!("{name}: {}", looks.iter().map(answer).collect::<Vec<_>>().join(" "))
    };
    names.split(',').map(one).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_loss_of_power_leaves_databases_whole_or_away() {
    let disk = SimDisk::new(15);
    let db = open(disk.clone());
    let story = [
        ("postgres", "create table t (id serial primary key, n int); insert into t (n) values (1)"),
        ("postgres", "create database shop connection limit 7"),
        ("shop", "create table t (id serial primary key, n int); insert into t (n) values (10), (20)"),
        ("shop", "create role ann superuser login; create schema own"),
        ("shop", "create type mood as enum ('low', 'high'); create table own.t (m mood)"),
        ("postgres", "create database bank"),
        ("shop", "insert into own.t values ('high')"),
        ("bank", "create table t (n int); insert into t select generate_series(1, 50)"),
        ("bank", "create role bob; grant connect on database shop to bob"),
        ("postgres", "checkpoint"),
        ("postgres", "revoke connect on database shop from bob; drop role bob"),
        ("postgres", "drop database shop"),
        ("bank", "create database shop"),
        ("shop", "create table t (n int); insert into t values (1000)"),
        ("postgres", "alter database bank rename to store"),
    ];
    let (mut states, mut answered) = (vec![look_everywhere(&db)], vec![disk.operations()]);
    for (name, sql) in story {
        ok(&mut db.session_in("root", name).expect("it is let in"), sql);
        answered.push(disk.operations());
        states.push(look_everywhere(&db));
    }
    for at in answered[0]..=answered[answered.len() - 1] {
        for image in [disk.image(at, at as u64), disk.killed(at)] {
            let db = open(image);
            let found = look_everywhere(&db);
            let least = answered.iter().filter(|&&operations| operations <= at).count() - 1;
            // several statements of one line commit one by one
            let between = || {
                found.split('\n').all(|line| states[least..].iter().any(|state| state.contains(line)))
                    || least + 1 < states.len()
            };
            assert!(
                states[least..].contains(&found) || between(),
                "after operation {at}, {least} lines were answered, and found was\n{found}\ninstead of\n{}",
                states[least]
            );
            // no oid and no table of the engine is given twice
            let s = &mut session(&db);
            ok(s, "create database fresh");
            let s = &mut db.session_in("root", "fresh").expect("it is let in");
            assert_eq!(code(s, "select * from t"), "42P01");
            ok(s, "create table t (id serial primary key); insert into t default values");
            assert_eq!(text(s, "select id from t"), "1");
            assert!(look_everywhere(&db).contains(&found.lines().last().expect("one")[..4]));
        }
    }
}

#[test]
fn a_sequence_gives_no_value_twice_whatever_becomes_of_who_asked() {
    let disk = SimDisk::new(8);
    let db = open(disk.clone());
    let s = &mut session(&db);
    ok(s, "create sequence s");
    ok(s, "set synchronous_commit = off");
    let mut given = Vec::new();
    for round in 0..120 {
        // the value has left the server before its transaction ends, and that rolls back
        ok(s, "begin");
        let value: i64 = text(s, "select nextval('s')").parse().expect("a number");
        given.push((disk.operations(), value));
        ok(s, if round % 2 == 0 { "rollback" } else { "commit" });
    }
    ok(s, "select setval('s', 5000)");
    given.push((disk.operations(), 5000));
    for at in given.iter().map(|(operations, _)| *operations) {
        let db = open(disk.image(at, at as u64));
        let next: i64 = text(&mut session(&db), "select nextval('s')").parse().expect("a number");
        let before = given.iter().filter(|(operations, _)| *operations <= at);
        let last = before.map(|(_, value)| *value).max().expect("one at least");
        assert!(next > last, "{next} was given after {last}");
    }
}

/// A restart is part of its transaction: after a crash before the commit the sequence goes on where it was, or it would
/// give the numbers of rows that are there.
#[test]
fn a_restart_is_lost_in_a_crash_with_its_transaction() {
    let restarts = ["truncate t restart identity", "alter sequence t_id_seq restart"];
    for (number, restart) in restarts.into_iter().enumerate() {
        let disk = SimDisk::new(12);
        let db = open(disk.clone());
        let s = &mut session(&db);
        ok(s, "create table t (id serial primary key, n int); insert into t (n) values (1), (2)");
        ok(s, "begin");
        ok(s, restart);
        let restarted = disk.operations();
        assert_eq!(text(s, "select nextval('t_id_seq')"), "1");
        let taken = disk.operations();
        ok(s, "commit");
        for before_commit in [restarted, taken] {
            let db = open(disk.image(before_commit, number as u64));
            let other = &mut session(&db);
            ok(other, "insert into t (n) values (3)");
            assert_eq!(text(other, "select count(*) from t where id > 2"), "1");
        }
        let db = open(disk.killed(disk.operations()));
        let next: i64 = text(&mut session(&db), "select nextval('t_id_seq')").parse().expect("a number");
        assert!((2..40).contains(&next), "{next} behind a restart that was committed");
    }
}

/// What was noted ahead in steps of one says nothing about steps of a thousand.
#[test]
fn a_sequence_with_another_increment_gives_no_value_twice_after_a_crash() {
    let disk = SimDisk::new(13);
    let db = open(disk.clone());
    let s = &mut session(&db);
    ok(s, "create sequence s");
    assert_eq!(text(s, "select nextval('s')"), "1");
    ok(s, "alter sequence s increment by 1000");
    let mut last = 1;
    for _ in 0..5 {
        last = text(s, "select nextval('s')").parse().expect("a number");
    }
    assert_eq!(last, 5001);
    let db = open(disk.killed(disk.operations()));
    let next: i64 = text(&mut session(&db), "select nextval('s')").parse().expect("a number");
    assert!(next > last, "{next} was given after {last}");
}

#[test]
fn a_new_sequence_does_not_go_on_where_a_dropped_one_was() {
    let disk = SimDisk::new(9);
    let db = open(disk.clone());
    let s = &mut session(&db);
    ok(s, "create sequence old; select nextval('old')");
    assert_eq!(text(s, "select nextval('old')"), "2");
    ok(s, "drop sequence old");
    let db = open(disk.killed(disk.operations()));
    let s = &mut session(&db);
    ok(s, "create sequence new");
    assert_eq!(text(s, "select nextval('new')"), "1");
}

#[test]
fn tables_of_transactions_that_were_cut_short_are_used_again() {
    let disk = SimDisk::new(10);
    let db = open(disk.clone());
    let s = &mut session(&db);
    ok(s, "create table kept (id int primary key); insert into kept values (1)");
    ok(s, "begin; create table lost (id int primary key, n int); insert into lost values (1, 1)");
    let db = open(disk.killed(disk.operations()));
    let tables = |db: &Database<Acc>| {
        use scaledb_engine::Engine;
        db.engine().stats().tables.len()
    };
    let before = tables(&db);
    let s = &mut session(&db);
    assert_eq!(code(s, "select * from lost"), "42P01");
    ok(s, "create table found (a int primary key, b int)");
    assert_eq!(text(s, "select count(*) from found"), "0");
    assert_eq!(tables(&db), before);
}

/// The copies of a change are committed before it is: what is left of them is nobody's, and what is answered has all of
/// them.
#[test]
fn a_loss_of_power_in_a_change_of_a_table_keeps_the_old_or_the_new() {
    const ROWS: usize = 1_050;
    let disk = SimDisk::new(11);
    let db = open(disk.clone());
    let s = &mut session(&db);
    ok(s, "create table t (id int primary key, n int)");
    ok(s, &format!("insert into t select i, i % 7 from generate_series(1, {ROWS}) i"));
    let mut answered = vec![(disk.operations(), "id n", "0")];
    for (sql, columns, indexes) in [
        ("create index t_n on t (n)", "id n", "1"),
        ("alter table t add column x int default 5 not null", "id n x", "1"),
        ("begin; alter table t drop column n; create unique index on t (id, x); commit", "id x", "1"),
    ] {
        ok(s, sql);
        answered.push((disk.operations(), columns, indexes));
    }
    let mut found = [0; 4];
    // those of the answers, too: each state is there at one of them
    let answers = answered.iter().map(|state| state.0);
    for at in (answered[0].0..=answered[3].0).step_by(2).chain(answers) {
        let db = open(if at % 4 < 2 { disk.image(at, at as u64) } else { disk.killed(at) });
        let s = &mut session(&db);
        let columns =
            text(s, "select column_name from information_schema.columns where table_name = 't' order by 1");
        let indexes = text(s, "select count(*) - 1 from pg_indexes where tablename = 't'");
        let state = answered.iter().position(|state| (state.1, state.2) == (&columns, &indexes));
        let state = state.unwrap_or_else(|| panic!("{columns} with {indexes} at {at}"));
        let least = answered.iter().filter(|state| state.0 <= at).count() - 1;
        assert!(state >= least, "{least} changes were answered at {at}, and {state} are there");
        found[state] += 1;
        let sum = ROWS * (ROWS + 1) / 2;
        assert_eq!(text(s, "select count(*), sum(id) from t"), format!("{ROWS}|{sum}"), "at {at}");
        if indexes == "1" {
            let by = if columns.contains('n') { "n >= 0 order by n" } else { "x = 5 order by id, x" };
            let by_index = format!("select count(*), sum(id) from (select id from t where {by}) x");
            assert_eq!(text(s, &by_index), format!("{ROWS}|{sum}"), "at {at}");
        }
        // what was cut short is used again, and is empty
        ok(s, "create index again on t (id desc)");
        assert_eq!(text(s, "select count(*) from t where id > 0"), ROWS.to_string());
    }
    assert!(found.iter().all(|&times| times > 0), "{found:?}");
}

/// Something that is so, or not yet.
#[derive(Clone)]
struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    fn new(open: bool) -> Self {
        Self(Arc::new((Mutex::new(open), Condvar::new())))
    }

    fn set(&self, open: bool) {
        *self.0.0.lock() = open;
        self.0.1.notify_all();
    }

    /// Waits until it is open, or for so long. Whether it is.
    fn wait(&self, time: Duration) -> bool {
        let deadline = Instant::now() + time;
        let mut open = self.0.0.lock();
        while !*open && Instant::now() < deadline {
            open = self.0.1.wait_timeout(open, Duration::from_millis(10));
        }
        *open
    }
}

impl std::fmt::Debug for Gate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Gate")
    }
}

const FOREVER: Duration = Duration::from_secs(600);

/// A disk whose syncs wait while it is shut.
#[derive(Clone, Debug)]
struct Valve(SimDisk, Gate);

impl Valve {
    fn new(disk: SimDisk) -> Self {
        Self(disk, Gate::new(true))
    }

    fn shut(&self, shut: bool) {
        self.1.set(!shut);
    }
}

#[derive(Debug)]
struct ValveFile(Box<dyn File>, Gate);

impl Disk for Valve {
    fn create(&self, name: &str) -> io::Result<Box<dyn File>> {
        Ok(Box::new(ValveFile(self.0.create(name)?, self.1.clone())))
    }
    fn open(&self, name: &str) -> io::Result<Box<dyn File>> {
        Ok(Box::new(ValveFile(self.0.open(name)?, self.1.clone())))
    }
    fn list(&self) -> io::Result<Vec<String>> {
        self.0.list()
    }
    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.0.rename(from, to)
    }
    fn remove(&self, name: &str) -> io::Result<()> {
        self.0.remove(name)
    }
    fn sync_names(&self) -> io::Result<()> {
        self.0.sync_names()
    }
    fn lock(&self, name: &str) -> io::Result<Box<dyn Send + Sync>> {
        self.0.lock(name)
    }
    fn describe(&self) -> String {
        self.0.describe()
    }
}

impl File for ValveFile {
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }
    fn read_at(&self, to: &mut [u8], offset: u64) -> io::Result<()> {
        self.0.read_at(to, offset)
    }
    fn write_at(&self, from: &[u8], offset: u64) -> io::Result<()> {
        self.0.write_at(from, offset)
    }
    fn sync(&self) -> io::Result<()> {
        assert!(self.1.wait(FOREVER), "the valve is opened again");
        self.0.sync()
    }
    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }
}

/// Each of these is answered when it is durable, and not before.
const WAITING: &[&[&str]] = &[
    &["insert into t values (10, 0)"],
    &["begin; update t set n = n + 1 where id = 1; commit"],
    &["begin", "delete from t where id = 2", "commit"],
    &["create table u (id int primary key)"],
    &["select nextval('s')"],
    &[
        "set synchronous_commit = off",
        "begin; set local synchronous_commit = on; insert into t values (11, 0); commit",
    ],
    // what it reads was committed and is not durable yet
    &["select * from t"],
    &["begin read only", "select n from t where id = 3", "commit"],
];

#[test]
fn nothing_is_answered_before_it_is_durable() {
    for steps in WAITING {
        let valve = Valve::new(SimDisk::new(11));
        let db = open(valve.clone());
        let s = &mut session(&db);
        ok(s, "create table t (id int primary key, n int); insert into t values (1, 0), (2, 0), (3, 0)");
        ok(s, "create sequence s");
        valve.shut(true);
        // does not wait, and is what the readers read
        ok(s, "set synchronous_commit = off");
        ok(s, "update t set n = 5 where id = 3");
        assert_eq!(text(s, "select n from t where id = 3"), "5");
        let done = Gate::new(false);
        thread::scope(|scope| {
            let (db, answered) = (&db, done.clone());
            scope.spawn(move || {
                let s = &mut session(db);
                for step in *steps {
                    ok(s, step);
                }
                answered.set(true);
            });
            let early = done.wait(Duration::from_millis(100));
            valve.shut(false);
            assert!(!early, "answered before it was durable: {steps:?}");
        });
        assert!(done.wait(Duration::ZERO), "no answer: {steps:?}");
    }
}

/// What may be lost is not heard, and what commits behind it waits for it.
#[test]
fn nothing_is_heard_before_it_is_durable() {
    let valve = Valve::new(SimDisk::new(15));
    let db = open(valve.clone());
    ok(&mut session(&db), "create table t (id int primary key)");
    let (mut a, bell) = listener(&db, &["c"]);
    valve.shut(true);
    thread::scope(|scope| {
        for (number, quick) in [(1, false), (2, true)] {
            let db = &db;
            let says = scope.spawn(move || {
                let s = &mut session(db);
                if quick {
                    ok(s, "set synchronous_commit = off");
                }
                ok(s, &format!("begin; insert into t values ({number}); notify c, '{number}'; commit"));
            });
            // the second is answered, and is not heard before the first
            if quick {
                says.join().unwrap();
            } else {
                thread::sleep(Duration::from_millis(100));
            }
        }
        assert_eq!((heard(&mut a), bell.rung()), (String::new(), 0));
        valve.shut(false);
    });
    assert_eq!(heard(&mut a), "c:1 c:2");
}

#[test]
fn what_a_failed_disk_may_lose_is_not_heard() {
    let disk = SimDisk::new(16);
    let db = open(disk.clone());
    let s = &mut session(&db);
    ok(s, "create table t (id int primary key)");
    let (mut a, _) = listener(&db, &["c"]);
    ok(s, "insert into t values (1); notify c, 'kept'");
    disk.inject(When::Always(Call::Sync), Fault::Error);
    assert_eq!(code(s, "begin; insert into t values (2); notify c, 'lost'; commit"), "58030");
    ok(s, "notify c, 'nothing is written'");
    assert_eq!(heard(&mut a), "c:kept c:nothing is written");
}

#[test]
fn what_is_durable_already_is_read_while_the_disk_hangs() {
    let valve = Valve::new(SimDisk::new(12));
    let db = open(valve.clone());
    let s = &mut session(&db);
    ok(s, "create table t (id int primary key, n int); insert into t values (1, 0)");
    valve.shut(true);
    assert_eq!(text(s, "select n from t where id = 1"), "0");
    ok(s, "begin; insert into t values (2, 0); rollback");
    valve.shut(false);
}

/// The server's end is in order only if what nobody has waited for is on disk.
#[test]
fn what_nobody_has_waited_for_is_written_at_the_end_or_that_fails() {
    for fails in [false, true] {
        let disk = SimDisk::new(14).recording();
        let db = open(disk.clone());
        let s = &mut session(&db);
        ok(s, "create table t (id int primary key); set synchronous_commit = off");
        if fails {
            disk.inject(When::Always(Call::Sync), Fault::Error);
        }
        // refused, if the log has found out by itself
        let done = run(s, "insert into t values (1)");
        assert!(done.is_ok() || fails);
        assert_eq!(db.engine().close().is_err(), fails);
        assert_eq!(db.engine().log_failure().is_some(), fails);
        assert_eq!(code(s, "insert into t values (2)"), "58030");
        if !fails {
            // it may be closed twice
            db.engine().close().expect("nothing is left to do");
            let db = open(disk.image(disk.operations(), 1));
            assert_eq!(text(&mut session(&db), "select * from t"), "1");
        }
    }
}

#[test]
fn a_failed_disk_refuses_writes_and_lets_reads_go_on() {
    let disk = SimDisk::new(13);
    let db = open(disk.clone());
    let s = &mut session(&db);
    ok(s, "create table t (id int primary key, n int); insert into t values (1, 0), (2, 0)");
    ok(s, "create sequence s");
    // what the log writes by itself behind the last commit: if that fails, the next one is refused before it begins
    let calls = || (disk.calls(Call::Write), disk.calls(Call::Sync));
    let (mut before, mut rests) = (calls(), 0);
    while rests < 20 {
        thread::sleep(Duration::from_millis(50));
        let now = calls();
        rests = if std::mem::replace(&mut before, now) == now { rests + 1 } else { 0 };
    }
    disk.inject(When::Always(Call::Sync), Fault::Error);
    disk.inject(When::Always(Call::Write), Fault::Error);
    let unknown = failure(s, "update t set n = 1 where id = 2");
    assert_eq!(unknown.code().as_str(), "58030");
    assert!(unknown.fields().detail.as_deref().is_some_and(|detail| detail.contains("whether it is kept")));
    // refused before anything has happened
    for sql in ["insert into t values (3, 0)", "create table u (id int primary key)", "select nextval('s')"] {
        assert_eq!(code(s, sql), "58030", "{sql}");
    }
    ok(s, "begin; insert into t values (4, 0)");
    assert_eq!(code(s, "commit"), "58030");
    assert_eq!(code(s, "checkpoint"), "58030");
    // reads: of what is durable, and with the risk known, of all
    assert_eq!(text(s, "select n from t where id = 1"), "0");
    assert_eq!(code(s, "select n from t where id = 2"), "58030");
    ok(s, "set synchronous_commit = off");
    assert_eq!(text(s, "select n from t where id = 2"), "1");
    assert_eq!(text(s, "select id from t order by id"), "1 2");
    drop(db);
    disk.heal();
    let db = open(disk.killed(disk.operations()));
    let s = &mut session(&db);
    assert_eq!(text(s, "select count(*) from t"), "2");
    ok(s, "insert into t values (3, 0)");
}

/// A table that is gone keeps the indexes that it was given, and their names, for the next run.
#[test]
fn an_index_gets_a_name_whatever_an_earlier_run_has_left() {
    let disk = SimDisk::new(3);
    let rows = "insert into t select i, i from generate_series(1, 100) i";
    for _ in 0..3 {
        let db = open(disk.clone());
        let s = &mut session(&db);
        ok(s, &format!("create table t (id int primary key, a int); {rows}"));
        ok(s, "create index t_a on t (a); create unique index t_ia on t (id, a)");
        assert_eq!(text(s, "select id from t where a = 17"), "17");
        // the first has a table of its own, and the next one takes over none with other indexes
        ok(s, "drop table t; create table t (id bigint primary key, a int)");
        ok(s, &format!("{rows}; create index t_a on t (a)"));
        assert_eq!(text(s, "select id from t where a = 17"), "17");
        ok(s, "drop table t");
    }
}

/// A row at a time would be 10 bytes each, and more.
#[test]
fn dropping_many_rows_costs_the_log_as_much_as_few() {
    const ROWS: u64 = 4_000;
    let disk = SimDisk::new(10);
    let db = open(disk.clone());
    let s = &mut session(&db);
    let logged = |s: &mut scaledb_sql::Session<Acc>, sql: &str| {
        let bytes = || db.engine().stats().log.map_or(0, |log| log.bytes);
        let before = bytes();
        ok(s, sql);
        // what comes behind it, too
        ok(s, "create table if not exists last (id int); drop table last");
        bytes() - before
    };
    for (round, sql) in ["drop table t", "truncate t", "drop table t"].into_iter().enumerate() {
        ok(s, "create table if not exists t (id int primary key, a int unique, b int)");
        ok(s, "create index if not exists t_b on t (b)");
        let filled =
            logged(s, &format!("insert into t select i, i, i % 7 from generate_series(1, {ROWS}) i"));
        let emptied = logged(s, sql);
        assert!(filled > ROWS * 15 && emptied < ROWS * 4, "{sql} in round {round}: {filled}, {emptied}");
    }
    ok(s, "create table t (id int primary key, a int unique, b int); create index t_b on t (b)");
    ok(s, "insert into t values (1, 1, 1)");
    drop(db);
    let db = open(disk.killed(disk.operations()));
    assert_eq!(text(&mut session(&db), "select id, (select count(*) from t where b = 1) from t"), "1|1");
}
