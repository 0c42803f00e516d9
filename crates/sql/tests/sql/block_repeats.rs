//! Transaction blocks that have met a conflict, and are run again by their session: their clients hear of it only where
//! they have seen something else than that run has.

use crate::common::steps::Client;
use crate::common::{Rows, code, ok, run, session, text};
use crate::notifications::{heard, listener};
use scaledb_engine::Engine;
use scaledb_sql::{Database, Session};

fn filled<E: Engine>(db: &Database<E>) -> [Session<E>; 2] {
    let mut a = session(db);
    ok(&mut a, "create table t (id int primary key, n int not null, check (n < 1000))");
    ok(&mut a, "insert into t select i, 0 from generate_series(1, 5) i");
    ok(&mut a, "create table log (id serial primary key, what text, n int)");
    [a, session(db)]
}

const HOT: &str = "update t set n = n + 1 where id = 1";

/// A block of these statements beside one that commits a change of a row that it writes, before its COMMIT: the code
/// of the error of that, if there is one.
fn beside_a_writer<E: Engine>([a, b]: &mut [Session<E>; 2], statements: &[&str]) -> Result<(), String> {
    ok(a, "begin");
    statements.iter().for_each(|sql| drop(ok(a, sql)));
    ok(a, HOT);
    ok(b, HOT);
    let committed = run(a, "commit").map(|_| ()).map_err(|error| error.code().as_str().to_owned());
    let _ = run(a, "rollback");
    committed
}

fn blind_writes_to_one_row_commit<E: Engine>(db: Database<E>) {
    let [mut a, mut b] = filled(&db);
    for session in [&mut a, &mut b] {
        ok(session, "begin");
        ok(session, HOT);
        ok(session, "insert into log (what) values ('x')");
    }
    ok(&mut a, "commit");
    ok(&mut b, "commit");
    assert_eq!(text(&mut a, "select n from t where id = 1"), "2");
    assert_eq!(text(&mut a, "select count(*) from log"), "2");
    // in a batch, too, and where the other one commits before the write
    ok(&mut a, "begin");
    ok(&mut a, "select 1 from t where id = 2");
    ok(&mut b, HOT);
    ok(&mut a, &format!("{HOT}; update t set n = n - 3 where id = 1; commit"));
    assert_eq!(text(&mut a, "select n from t where id = 1"), "1");
}

fn a_block_whose_client_would_see_something_else_fails<E: Engine>(db: Database<E>) {
    let mut both = filled(&db);
    for seen in [
        "select n from t where id = 1",
        "select sum(n) from t",
        "update t set n = n + 1 where id = 1 returning n",
        "with w as (update t set n = n + 1 where id = 1 returning n) select n from w",
        "insert into log (what, n) select 'copy', n from t where id = 1 returning n",
        "update t set n = 0 where id = 2 and (select n from t where id = 1) % 2 = 0",
    ] {
        assert_eq!(beside_a_writer(&mut both, &[seen]), Err("40001".to_owned()), "{seen}");
    }
    // rows that are not the client's to see do not matter
    for unseen in [
        "select 1 from t where id = 1",
        "select n from t where id = 2",
        "select count(*) from t",
        "insert into log (what, n) select 'copy', n from t where id = 1",
        "insert into t select 1, 0 on conflict (id) do update set n = t.n",
        "merge into t using (select 1 as id) s on s.id = t.id when matched then update set n = t.n",
    ] {
        assert_eq!(beside_a_writer(&mut both, &[unseen]), Ok(()), "{unseen}");
    }
    let n = text(&mut both[0], "select n from t where id = 1");
    let copied = text(&mut both[0], "select n + 2 from log where what = 'copy'");
    // the copy is of the run that has committed: behind it were its own increment, and those of three blocks and others
    assert!(copied.parse::<i32>().unwrap() <= n.parse().unwrap());
}

/// What a run reads is what the other one has committed, and what it writes follows from that.
fn what_was_derived_is_derived_again<E: Engine>(db: Database<E>) {
    let [mut a, mut b] = filled(&db);
    ok(&mut a, "begin");
    ok(&mut a, "insert into log (what, n) select 'balance', n from t where id = 1");
    ok(&mut a, "update t set n = n + 10 where id = 1");
    ok(&mut b, "update t set n = 70 where id = 1");
    ok(&mut a, "commit");
    assert_eq!(text(&mut a, "select n from log"), "70");
    assert_eq!(text(&mut a, "select n from t where id = 1"), "80");
    // what would break a constraint now did not when the client was told that it is done
    ok(&mut a, "begin");
    ok(&mut a, "update t set n = n + 10 where id = 1");
    ok(&mut b, "update t set n = 995 where id = 1");
    assert_eq!(code(&mut a, "commit"), "40001");
    assert_eq!(text(&mut a, "select n from t where id = 1"), "995");
}

fn times_and_numbers_are_those_that_the_client_has<E: Engine>(db: Database<E>) {
    let mut both = filled(&db);
    ok(&mut both[0], "alter table log add at timestamptz, add statement timestamptz");
    ok(&mut both[0], "begin");
    let inserted = text(
        &mut both[0],
        "insert into log (what, at, statement) values ('x', now(), statement_timestamp()) \
         returning id, at, statement, pg_current_xact_id()",
    );
    // taken in between, and by a statement that is not run again
    assert_eq!(text(&mut both[0], "select nextval('log_id_seq')"), "2");
    let second = text(&mut both[0], "insert into log (what) values ('y') returning id");
    assert_eq!(second, "3");
    ok(&mut both[0], HOT);
    ok(&mut both[1], "insert into log (what) values ('z')");
    ok(&mut both[1], HOT);
    ok(&mut both[0], "insert into log (what) values ('last')");
    ok(&mut both[0], "commit");
    assert_eq!(text(&mut both[0], "select lastval()"), "5");
    let rows = ok(&mut both[0], "select id, what from log order by id").rows;
    let rows: Vec<String> =
        rows.into_iter().map(|row| row.into_iter().flatten().collect::<Vec<_>>().join("|")).collect();
    assert_eq!(rows, ["1|x", "3|y", "4|z", "5|last"]);
    let now = text(&mut both[0], "select id, at, statement from log where id = 1");
    assert!(inserted.starts_with(&now), "{inserted}, {now}");
    // random values are others, unless the client has seen them
    assert_eq!(beside_a_writer(&mut both, &["insert into log (n) values (random() * 1e9)"]), Ok(()));
    assert_eq!(
        beside_a_writer(&mut both, &["insert into log (n) values (random() * 1e9) returning n"]),
        Err("40001".to_owned())
    );
    assert_eq!(text(&mut both[0], "select currval('log_id_seq')"), "7");
}

/// What functions say of the catalog is seen by the client, too, though they name no table.
fn what_was_not_there_is_compared<E: Engine>(db: Database<E>) {
    let [mut a, mut b] = filled(&db);
    for (look, comes, goes, same) in [
        ("select to_regclass('late') is null", "create table late (id int)", "drop table late", false),
        ("select to_regnamespace('late') is null", "create schema late", "drop schema late", false),
        ("select to_regclass('t') is null", "create table late (id int)", "drop table late", true),
        ("select 1", "create table late (id int)", "drop table late", true),
    ] {
        ok(&mut a, "begin");
        ok(&mut a, look);
        ok(&mut a, HOT);
        ok(&mut b, HOT);
        ok(&mut b, comes);
        let committed = run(&mut a, "commit");
        assert_eq!(committed.is_ok(), same, "{look}: {committed:?}");
        ok(&mut b, goes);
    }
    // what the session has taken of a sequence last is a result, and the same in each run
    ok(&mut a, "begin");
    ok(&mut a, "insert into log (what) values ('x')");
    let taken = text(&mut a, "select lastval()");
    ok(&mut a, HOT);
    ok(&mut b, HOT);
    ok(&mut a, "commit");
    assert_eq!(text(&mut a, "select id from log"), taken);
    // one that is taken beside rows, too
    ok(&mut a, "begin");
    ok(&mut a, "insert into log (what) values ('y')");
    let next = text(&mut a, "select nextval('log_id_seq')");
    assert_eq!(text(&mut a, "select currval('log_id_seq')"), next);
    ok(&mut a, HOT);
    ok(&mut b, "insert into log (what) values ('z')");
    ok(&mut b, HOT);
    ok(&mut a, "commit");
    assert_eq!(text(&mut a, "select currval('log_id_seq')"), next);
    assert_eq!(text(&mut a, &format!("select count(*) from log where id = {next}")), "0");
}

/// What is not undone with a transaction is not done twice.
fn a_block_that_has_done_something_else_fails<E: Engine>(db: Database<E>) {
    let mut both = filled(&db);
    ok(&mut both[0], "create table one (id int); insert into one values (1)");
    ok(
        &mut both[0],
        "create function said(n int) returns int language plpgsql as $$ begin raise notice 'n'; return n; end $$; \
         create function told() returns trigger language plpgsql as \
         $$ begin perform pg_notify('c', 'x'); return new; end $$; \
         create table tells (id int); create trigger t before insert on tells for each row execute function told(); \
         create function notified() returns trigger language plpgsql as $$ begin notify c; return new; end $$; \
         create table notifies (id int); \
         create trigger t before insert on notifies for each row execute function notified(); \
         create procedure nothing() language plpgsql as $$ begin null; end $$; \
         create function opens() returns void language plpgsql as \
         $$ declare c cursor for select id from one; begin open c; end $$",
    );
    for act in [
        "select setval('log_id_seq', 100) from one",
        "select set_config('a.b', 'c', true) from one",
        "select pg_notify('c', 'x') from one",
        "select pg_advisory_lock(1) from one",
        "select pg_advisory_xact_lock(id) from one",
        "select pg_sleep(0) from one",
        "select said(id) from one",
        "select opens() from one",
        "insert into tells values (1)",
        "insert into notifies values (1)",
        "create table more (id int)",
        "truncate one",
        "do $$ begin null; end $$",
        "call nothing()",
        "copy one to stdout",
        "explain analyze select * from one",
        "set constraints all deferred",
    ] {
        assert_eq!(beside_a_writer(&mut both, &[act]), Err("40001".to_owned()), "{act}");
    }
    ok(&mut both[0], "select pg_advisory_unlock_all()");
    // nor where a statement has run with other settings, or was undone
    for statements in [
        &["select id from one", "set timezone = 'Asia/Tokyo'"][..],
        &["select id from one", "select set_config('a.b', 'd', true)"],
        &["savepoint s", "select id from one", "rollback to s"],
    ] {
        assert_eq!(beside_a_writer(&mut both, statements), Err("40001".to_owned()), "{statements:?}");
    }
    // what the session keeps all the same is no reason
    for statements in [
        &["set local timezone = 'Asia/Tokyo'", "select id from one"][..],
        &["select set_config('a.b', 'd', true)", "select id from one"],
        &["select pg_advisory_lock(1)", "select pg_advisory_xact_lock(2)", "select id from one"],
        &["lock table one", "select id from one"],
        &["notify c", "select pg_notify('c', 'x')", "select id from one"],
        &["show timezone", "select id from one", "select 1"],
        &["prepare p as select id from one", "execute p", "deallocate p"],
        &["declare c cursor for select id from one", "fetch 1 from c", "move 1 in c"],
        &["savepoint s", "select id from one", "release s", "savepoint s"],
    ] {
        assert_eq!(beside_a_writer(&mut both, statements), Ok(()), "{statements:?}");
    }
    let locks = "select count(*) from pg_locks where locktype = 'advisory'";
    assert_eq!(text(&mut both[0], locks), "1");
}

/// What another run tells and does, and the one that the client knows of has not, would be lost, or be of a run that
/// was given up.
fn a_run_that_tells_more_has_other_results<E: Engine>(db: Database<E>) {
    let mut both = filled(&db);
    ok(&mut both[0], "create table done (n int)");
    let (mut ears, _bell) = listener(&db, &["c"]);
    for act in [
        "perform pg_notify('c', 'x')",
        "notify c",
        "raise notice 'x'",
        "perform set_config('a.b', 'd', false)",
        "perform setval('log_id_seq', 100)",
        "perform pg_advisory_lock(1)",
        "perform pg_try_advisory_xact_lock(1)",
    ] {
        ok(&mut both[0], "update t set n = 0");
        ok(
            &mut both[0],
            &format!(
                "create or replace function act() returns trigger language plpgsql as \
                 $$ begin if new.n >= 2 then {act}; end if; return new; end $$; \
                 create or replace trigger acts before update on t for each row execute function act()"
            ),
        );
        assert_eq!(
            beside_a_writer(&mut both, &["insert into done values (1)"]),
            Err("40001".to_owned()),
            "{act}"
        );
        assert_eq!(heard(&mut ears), "", "{act}");
        assert!(both[0].take_notices().iter().all(|notice| notice.fields.to_string() != "x"), "{act}");
        ok(&mut both[0], "select pg_advisory_unlock_all()");
        // where it stays silent it is the same
        ok(&mut both[0], "update t set n = -5");
        assert_eq!(beside_a_writer(&mut both, &["insert into done values (2)"]), Ok(()), "{act}");
    }
    assert_eq!(text(&mut both[0], "select current_setting('a.b', true)"), "NULL");
    assert_eq!(text(&mut both[0], "select count(*) from done where n = 1"), "0");
}

/// What the session has taken of sequences last is what its client was told last, whatever other runs have taken again.
fn the_last_values_are_those_of_the_last_statement<E: Engine>(db: Database<E>) {
    let [mut a, mut b] = filled(&db);
    ok(&mut a, "prepare next as select nextval('log_id_seq')");
    ok(&mut a, "prepare next_of(regclass) as select nextval($1)");
    for next in ["execute next", "execute next_of('log_id_seq')"] {
        // one that commits, and one that does not
        for seen in ["select 1 from t where id = 1", "select n from t where id = 1"] {
            ok(&mut a, "begin");
            ok(&mut a, "insert into log (what) values ('x')");
            let value = text(&mut a, next);
            ok(&mut a, seen);
            ok(&mut a, HOT);
            ok(&mut b, HOT);
            assert_eq!(run(&mut a, "commit").is_ok(), seen == "select 1 from t where id = 1");
            assert_eq!(text(&mut a, "select currval('log_id_seq')"), value, "{next}, {seen}");
            assert_eq!(text(&mut a, "select lastval()"), value, "{next}, {seen}");
            assert_eq!(text(&mut a, &format!("select count(*) from log where id = {value}")), "0");
        }
    }
    // behind a restart others get the values that the first run has taken
    ok(&mut a, "create table u (id int generated always as identity, n int)");
    ok(&mut a, "begin");
    ok(&mut a, "insert into u (n) values (1)");
    ok(&mut a, HOT);
    ok(&mut b, HOT);
    ok(&mut b, "truncate u restart identity");
    ok(&mut b, "insert into u (n) values (2)");
    ok(&mut a, "commit");
    assert_eq!(text(&mut a, "select id, n from u order by id"), "1|2 2|1");
}

/// What a run of a statement has set that was given up is not set any more when it is run again.
fn a_statement_that_is_run_again_sets_once<E: Engine>(db: Database<E>) {
    let [mut other, _] = filled(&db);
    ok(
        &mut other,
        "create function counts() returns int language plpgsql as $$ begin \
         perform set_config('a.n', (current_setting('a.n')::int + 1)::text, false); \
         perform n from t where id = 1 for update; return 1; end $$",
    );
    let a = Client::new(&db);
    for before in ["begin", "begin; select n from t where id = 4"] {
        a.ok("set a.n = 0");
        ok(&mut other, "begin; select n from t where id = 1 for update");
        a.ok(before);
        a.waits("select counts()");
        ok(&mut other, HOT);
        ok(&mut other, "commit");
        a.done("counts");
        a.ok("commit");
        assert_eq!(a.ok("select current_setting('a.n')"), "1", "{before}");
    }
    a.end();
}

/// A block keeps the locks that its client has asked for, and hears of a deadlock.
fn locks_are_kept_in_a_deadlock<E: Engine>(db: Database<E>) {
    let _ = filled(&db);
    let (a, b) = (Client::new(&db), Client::new(&db));
    for lock in ["select id from t where id = 1 for update", "select pg_advisory_xact_lock(1)"] {
        a.ok("begin");
        a.ok(lock);
        b.ok("begin; select id from t where id = 2 for update");
        b.waits(&format!("{lock}; commit"));
        assert_eq!(a.code("update t set n = n + 1 where id = 2"), "40P01", "{lock}");
        b.done("commit");
        a.ok("rollback");
    }
    a.end();
    b.end();
}

fn savepoints_are_points_of_the_last_run<E: Engine>(db: Database<E>) {
    let [mut a, mut b] = filled(&db);
    for behind in ["rollback to s", "rollback to r", "release s"] {
        ok(&mut a, "truncate log; update t set n = 0");
        ok(&mut a, "begin");
        ok(&mut a, "savepoint r");
        ok(&mut a, "insert into log (what) values ('first')");
        ok(&mut a, "savepoint gone; release gone");
        ok(&mut a, "select 1 from t where id = 1");
        ok(&mut a, "savepoint s");
        ok(&mut a, "insert into log (what) values ('second')");
        ok(&mut b, HOT);
        // here the engines find that a row which they have read is another one
        ok(&mut a, "update t set n = n + 10 where id = 1");
        ok(&mut a, behind);
        ok(&mut a, "insert into log (what) values ('third')");
        let committed = run(&mut a, "commit");
        let _ = run(&mut a, "rollback");
        let rows = text(&mut a, "select string_agg(what, ' ' order by id) from log");
        let n = text(&mut a, "select n from t where id = 1");
        match (behind, committed) {
            ("release s", committed) => {
                committed.unwrap();
                assert_eq!((&*rows, &*n), ("first second third", "11"));
            }
            ("rollback to s", Ok(_)) => assert_eq!((&*rows, &*n), ("first third", "1")),
            ("rollback to r", Ok(_)) => assert_eq!((&*rows, &*n), ("third", "1")),
            (_, Err(error)) => assert_eq!((error.code().as_str(), &*rows), ("40001", "NULL")),
            _ => unreachable!(),
        }
    }
}

/// A block outlives changes of the tables that it uses, if they do not change what it does.
fn blocks_outlive_changes_of_tables<E: Engine>(db: Database<E>) {
    let [mut a, mut b] = filled(&db);
    for (change, ends) in [
        ("alter table t add more int default 7", true),
        ("create index on t (n)", true),
        ("alter table t add check (n < 500)", true),
        ("alter table t drop column more", true),
        ("alter table t alter n type bigint", true),
        ("alter table t rename n to m", false),
    ] {
        ok(&mut a, "begin");
        ok(&mut a, HOT);
        ok(&mut b, change);
        let committed = run(&mut a, "commit");
        let _ = run(&mut a, "rollback");
        assert_eq!(committed.is_ok(), ends, "{change}: {committed:?}");
    }
}

/// A label that a statement has named, and that is gone, is an error in another run, not the value that it was.
fn labels_are_those_of_the_last_run<E: Engine>(db: Database<E>) {
    let [mut a, mut b] = filled(&db);
    ok(&mut a, "create type mood as enum ('sad', 'ok'); create table moods (m mood)");
    for (named, changed, same) in [
        ("select count(*) from moods where m = 'ok'", "alter type mood rename value 'ok' to 'good'", false),
        ("insert into moods values ('sad')", "alter type mood rename value 'sad' to 'bad'", false),
        ("select count(*) from moods", "alter type mood rename value 'good' to 'fine'", true),
    ] {
        ok(&mut a, "begin");
        ok(&mut a, named);
        ok(&mut a, HOT);
        ok(&mut b, HOT);
        ok(&mut b, changed);
        let committed = run(&mut a, "commit");
        assert_eq!(committed.is_ok(), same, "{named}: {committed:?}");
    }
    assert_eq!(text(&mut a, "select count(*) from moods"), "0");
}

fn a_setting_tells_clients_of_conflicts<E: Engine>(db: Database<E>) {
    let mut both = filled(&db);
    ok(&mut both[0], "set repeat_blocks = off");
    assert_eq!(beside_a_writer(&mut both, &[]), Err("40001".to_owned()));
    ok(&mut both[0], "reset repeat_blocks");
    assert_eq!(beside_a_writer(&mut both, &[]), Ok(()));
}

/// A block that is long, or whose queries return much, is not recorded.
fn long_blocks_fail<E: Engine>(db: Database<E>) {
    let mut both = filled(&db);
    let long = vec!["update t set n = 0 where id = 3"; 3_000];
    assert_eq!(beside_a_writer(&mut both, &long), Err("40001".to_owned()));
    let long = vec!["savepoint s; release s"; 3_000];
    assert_eq!(beside_a_writer(&mut both, &long), Err("40001".to_owned()));
    let long = format!("update t set n = 0 where id = 3 and n in ({}n)", "n, ".repeat(30_000));
    assert_eq!(beside_a_writer(&mut both, &[&long]), Err("40001".to_owned()));
    ok(&mut both[0], "insert into t select i, 0 from generate_series(10, 400) i");
    assert_eq!(beside_a_writer(&mut both, &["update t set n = 0 where id = 2 returning id"]), Ok(()));
    assert_eq!(
        beside_a_writer(&mut both, &["update t set n = 0 where id > 1 returning id"]),
        Err("40001".to_owned())
    );
}

/// A block waits no longer for the locks of others than its settings and its patience have it.
fn a_block_does_not_wait_for_long<E: Engine>(db: Database<E>) {
    let [mut a, mut b] = filled(&db);
    let mut c = session(&db);
    ok(&mut a, "set lock_timeout = '20ms'");
    ok(&mut a, "begin");
    ok(&mut a, HOT);
    ok(&mut b, HOT);
    ok(&mut c, "begin");
    ok(&mut c, "select n from t where id = 1 for update");
    assert_eq!(code(&mut a, "commit"), "40001");
    ok(&mut c, "commit");
    // and ends with its timeout
    ok(&mut a, "set lock_timeout = 0");
    ok(&mut a, "begin");
    ok(&mut a, HOT);
    ok(&mut b, HOT);
    ok(&mut c, "begin");
    ok(&mut c, "select n from t where id = 1 for update");
    ok(&mut a, "set local statement_timeout = '50ms'");
    // the setting is another one than that of the statements before
    assert_eq!(code(&mut a, "commit"), "40001");
    ok(&mut c, "rollback");
    ok(&mut a, "set statement_timeout = '50ms'");
    ok(&mut a, "begin");
    ok(&mut a, HOT);
    ok(&mut b, HOT);
    ok(&mut c, "begin");
    ok(&mut c, "select n from t where id = 1 for update");
    assert_eq!(code(&mut a, "commit"), "57014");
    ok(&mut c, "rollback");
    // no lock is left
    assert_eq!(text(&mut a, "select count(*) from pg_locks"), "0");
}

/// Checks that wait for the commit are made in the run that commits.
fn deferred_checks_are_of_the_last_run<E: Engine>(db: Database<E>) {
    let [mut a, mut b] = filled(&db);
    ok(&mut a, "create table child (id int, t int references t deferrable initially deferred)");
    ok(&mut a, "begin");
    ok(&mut a, "insert into child values (1, 2), (2, 9)");
    ok(&mut a, HOT);
    ok(&mut b, HOT);
    assert_eq!(code(&mut a, "commit"), "23503");
    ok(&mut a, "begin");
    ok(&mut a, "insert into child values (1, 2), (2, 5)");
    ok(&mut a, HOT);
    ok(&mut b, HOT);
    ok(&mut a, "commit");
    assert_eq!(text(&mut a, "select count(*) from child"), "2");
    // what it refers to is gone when it is run again
    ok(&mut a, "begin");
    ok(&mut a, "insert into child values (3, 3)");
    ok(&mut a, HOT);
    ok(&mut b, "delete from t where id = 3");
    ok(&mut b, HOT);
    let refused = code(&mut a, "commit");
    assert!(["40001", "23503"].contains(&&*refused), "{refused}");
    assert_eq!(text(&mut a, "select count(*) from child"), "2");
}

/// Blocks of several threads that change the same few rows all commit, and none of their changes is lost.
fn no_client_hears_of_hot_rows<E: Engine>(db: Database<E>) {
    const THREADS: usize = 4;
    const BLOCKS: usize = 150;
    let [mut a, _] = filled(&db);
    let failed: usize = scaledb_sync::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let db = &db;
                scope.spawn(move || {
                    let mut session = session(db);
                    let mut failed = 0;
                    for block in 0..BLOCKS {
                        let (from, to) = ((thread + block) % 2 + 1, block % 3 + 1);
                        let statements = [
                            "begin".to_owned(),
                            format!("update t set n = n + 1 where id = {to}"),
                            "select count(*) from t".to_owned(),
                            format!("update t set n = n - 1 where id = {from}"),
                            format!(
                                "insert into log (what, n) select '{thread}', n from t where id = {to} returning id"
                            ),
                            "select lastval()".to_owned(),
                            "commit".to_owned(),
                        ];
                        let ended: Result<Vec<Rows>, _> =
                            statements.iter().map(|sql| run(&mut session, sql)).collect();
                        match ended {
                            // the rows that it was told of are those that are there
                            Ok(rows) => {
                                let id = rows[4].rows[0][0].clone().unwrap();
                                assert_eq!(rows[5].rows, rows[4].rows);
                                let own = format!("select what from log where id = {id}");
                                assert_eq!(text(&mut session, &own), thread.to_string());
                            }
                            Err(error) => {
                                assert_eq!(error.code().as_str(), "40001");
                                failed += 1;
                                let _ = run(&mut session, "rollback");
                            }
                        }
                    }
                    failed
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(text(&mut a, "select sum(n) from t"), "0");
    assert_eq!(text(&mut a, "select count(*) from log"), (THREADS * BLOCKS - failed).to_string());
    assert_eq!(failed, 0);
}

/// Memory that runs out at any allocation while a block is run again, once or from there on: it commits, or fails as a
/// whole, and the database goes on.
fn fails_as_a_whole<E: Engine>(db: &Database<E>, fail: impl Fn(u64, u64), stop: impl Fn() -> bool) {
    let [mut a, mut b] = filled(db);
    let mut counts = [0, 0];
    for fails in [1, u64::MAX] {
        let mut after = 0;
        loop {
            let (before, logged) = (text(&mut b, "select n from t where id = 1"), count(&mut b));
            ok(&mut a, "begin");
            ok(&mut a, HOT);
            ok(&mut a, "savepoint s");
            ok(&mut a, "insert into log (what, n) select repeat('x', 3000), i from generate_series(1, 40) i");
            ok(&mut a, "update t set n = n + 1 where id in (2, 3)");
            ok(&mut b, HOT);
            fail(after, fails);
            let committed = run(&mut a, "commit");
            let failed = stop();
            let (of_block, rows) = match committed {
                Ok(_) => (1, 40),
                Err(error) => {
                    assert!(failed, "{error:?}");
                    let code = error.code();
                    assert!(["53200", "40001"].contains(&code.as_str()), "{error:?}");
                    (0, 0)
                }
            };
            counts[of_block] += 1;
            let now = text(&mut b, "select n from t where id = 1");
            let number = |text: &str| text.parse::<i64>().unwrap();
            assert_eq!(number(&now), number(&before) + 1 + of_block as i64, "{fails} after {after}");
            assert_eq!(count(&mut b), logged + rows, "{fails} after {after}");
            // the session that has met it goes on, too
            ok(&mut a, "update t set n = 0 where id < 4; delete from log where n < 0");
            if !failed {
                break;
            }
            after += 1;
        }
        assert!(after > 5, "{after} allocations");
    }
    assert!(counts[0] > 5 && counts[1] >= 2, "{counts:?}");
}

fn count<E: Engine>(session: &mut Session<E>) -> usize {
    text(session, "select count(*) from log").parse().unwrap()
}

#[test]
fn memory_runs_out_in_a_repeated_block_on_acc() {
    let db = crate::common::acc();
    fails_as_a_whole(
        &db,
        |after, fails| db.engine().memory().fail_allocations(after, fails),
        || db.engine().memory().stop_failing(),
    );
}

#[test]
fn memory_runs_out_in_a_repeated_block_on_cicada() {
    let db = crate::common::cicada();
    fails_as_a_whole(
        &db,
        |after, fails| db.engine().memory().fail_allocations(after, fails),
        || db.engine().memory().stop_failing(),
    );
}

on_each_engine! {
    blind_writes_to_one_row_commit,
    a_block_whose_client_would_see_something_else_fails,
    what_was_derived_is_derived_again,
    times_and_numbers_are_those_that_the_client_has,
    what_was_not_there_is_compared,
    a_block_that_has_done_something_else_fails,
    a_run_that_tells_more_has_other_results,
    the_last_values_are_those_of_the_last_statement,
    a_statement_that_is_run_again_sets_once,
    locks_are_kept_in_a_deadlock,
    savepoints_are_points_of_the_last_run,
    blocks_outlive_changes_of_tables,
    labels_are_those_of_the_last_run,
    a_setting_tells_clients_of_conflicts,
    long_blocks_fail,
    a_block_does_not_wait_for_long,
    deferred_checks_are_of_the_last_run,
    no_client_hears_of_hot_rows,
}
