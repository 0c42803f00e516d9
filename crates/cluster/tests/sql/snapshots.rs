//! Queries that read much beside writers: they read the end of an epoch, wherever its rows are kept, and conflict with
//! nobody.

use super::{Three, code, ok, run, text};
use scaledb_sync::atomic::{AtomicBool, AtomicU64, Ordering};
use scaledb_sync::thread;

/// Accounts, in pairs of rows that come and go, and whose sum stays.
const ACCOUNTS: i32 = 1_500;
const SUM: i64 = 1_500 * 100;

fn fill(three: &Three) {
    let [mut a, ..] = three.sessions();
    ok(&mut a, "create table account (id int primary key, n bigint, branch int)");
    ok(&mut a, "create index account_branch on account (branch)");
    for first in (0..ACCOUNTS).step_by(500) {
        let sql = format!(
            "insert into account select i, 100, i % 10 from generate_series({first}, {first} + 499) i"
        );
        ok(&mut a, &sql);
    }
}

/// Tells the writers that it is done.
struct Done<'d>(&'d AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Runs `read` beside writers at all nodes, which move money between rows, delete rows, and insert them again.
fn beside_writers(three: &Three, read: impl FnOnce()) -> u64 {
    let (done, written) = (AtomicBool::new(false), AtomicU64::new(0));
    let (done, written) = (&done, &written);
    thread::scope(|scope| {
        for node in 0..3_u64 {
            let mut session = three.databases[node as usize].session("postgres", "postgres");
            scope.spawn(move || {
                let mut random = node + 1;
                while !done.load(Ordering::SeqCst) {
                    random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    let (from, to) = ((random >> 33) % ACCOUNTS as u64, (random >> 43) % ACCOUNTS as u64);
                    if from == to {
                        continue;
                    }
                    let sql = match random >> 60 {
                        // all that one has becomes another's, and it is gone; and comes back
                        0..=3 => format!(
                            "begin; with gone as (delete from account where id = {from} returning n) \
                             insert into account select {to}, n, 3 from gone \
                             on conflict (id) do update set n = account.n + excluded.n; \
                             insert into account values ({from}, 0, 7) on conflict (id) do nothing; commit"
                        ),
                        4..=6 => format!(
                            "with gone as (delete from account where id = {from} returning n) \
                             insert into account select {to}, n, 3 from gone \
                             on conflict (id) do update set n = account.n + excluded.n"
                        ),
                        _ => format!(
                            "begin; insert into account values ({from}, 0, 1) on conflict (id) do nothing; \
                             update account set n = n - 1 where id = {from}; \
                             insert into account values ({to}, 1, 2) on conflict (id) do update set n = account.n + 1; \
                             commit"
                        ),
                    };
                    match run(&mut session, &sql) {
                        Ok(_) => drop(written.fetch_add(1, Ordering::SeqCst)),
                        Err(error) => {
                            assert_eq!(error.code().as_str(), "40001", "{error:?}");
                            let _ = run(&mut session, "rollback");
                        }
                    }
                }
            });
        }
        // also if it fails
        let _done = Done(done);
        read();
    });
    written.load(Ordering::SeqCst)
}

#[test]
fn long_queries_get_through_beside_writers_at_every_node() {
    let three = Three::start();
    fill(&three);
    let sum = SUM.to_string();
    let written = beside_writers(&three, || {
        for mut session in three.sessions() {
            for _ in 0..4 {
                assert_eq!(text(&mut session, "select sum(n) from account"), sum);
                assert_eq!(text(&mut session, "select sum(n) from account where branch >= 0"), sum);
                assert_eq!(
                    text(&mut session, "select sum(n) from (select n from account order by id desc) s"),
                    sum
                );
                ok(&mut session, "copy account to stdout");
                // all statements of a block read one state
                ok(&mut session, "begin read only");
                let count = text(&mut session, "select count(*) from account");
                assert_eq!(text(&mut session, "select sum(n) from account"), sum);
                assert_eq!(
                    text(&mut session, "select count(*) from (select * from account order by branch) s"),
                    count
                );
                assert_eq!(
                    text(&mut session, "select sum(b.n) from account a join account b using (id)"),
                    sum
                );
                ok(&mut session, "commit");
            }
        }
    });
    assert!(written > 20, "{written}");
    for mut session in three.sessions() {
        assert_eq!(text(&mut session, "select sum(n) from account"), sum);
    }
}

/// A snapshot that is open for long reads what was there when it began, in every table and at every node, also what is
/// deleted, changed and inserted again since.
#[test]
fn a_snapshot_stays_what_it_was() {
    let three = Three::start();
    fill(&three);
    let [mut a, mut b, mut c] = three.sessions();
    ok(&mut b, "create table other (id int primary key, what text) with (replicate = everywhere)");
    ok(&mut b, "insert into other values (1, 'before'), (2, 'before')");
    ok(&mut a, "begin isolation level serializable, read only, deferrable");
    assert_eq!(text(&mut a, "select count(*) from account where id < 10"), "10");
    for round in 0..5 {
        ok(&mut b, "delete from account where id % 3 = 0");
        ok(&mut c, "update account set n = n + 1, branch = 99 where id % 3 = 1");
        ok(&mut c, &format!("update other set what = 'round {round}'; delete from other where id = 2"));
        ok(&mut b, "insert into account select i * 3, 1, 5 from generate_series(0, 499) i");
        ok(&mut b, "insert into other values (2, 'again'); update other set id = id + 10");
        ok(&mut b, "update other set id = id - 10");
    }
    assert_eq!(
        text(&mut a, "select count(*), sum(n), min(branch), max(branch) from account"),
        format!("1500|{SUM}|0|9")
    );
    assert_eq!(text(&mut a, "select count(*) from account where branch = 3"), "150");
    assert_eq!(text(&mut a, "select n from account where id = 999"), "100");
    assert_eq!(text(&mut a, "select id, what from other order by id"), "1|before 2|before");
    // its place is before what others have announced since
    assert_eq!(code(&mut a, "notify news; commit"), "25006");
    ok(&mut a, "rollback");
    // the next one reads the present
    assert_eq!(text(&mut a, "select count(*), max(branch) from account"), "1500|99");
    assert_eq!(text(&mut a, "select id, what from other order by id"), "1|round 4 2|again");
}

#[test]
fn a_snapshot_writes_nothing_and_sees_what_its_session_has_written() {
    let three = Three::start();
    fill(&three);
    let [mut a, ..] = three.sessions();
    for i in 0..20 {
        ok(&mut a, &format!("update account set n = {i} where id = 7"));
        ok(&mut a, "begin read only");
        assert_eq!(text(&mut a, "select n from account where id = 7"), i.to_string());
        assert_eq!(text(&mut a, "select count(*) from account"), ACCOUNTS.to_string());
        assert_eq!(code(&mut a, "delete from account"), "25006");
        ok(&mut a, "rollback");
    }
}

/// Definitions are of the snapshot, too.
#[test]
fn a_snapshot_has_the_tables_of_its_time() {
    let three = Three::start();
    fill(&three);
    let [mut a, mut b, _] = three.sessions();
    for i in 0..10 {
        ok(&mut b, &format!("create table t{i} (id int primary key); insert into t{i} values ({i})"));
        ok(&mut a, "begin read only");
        assert_eq!(text(&mut a, &format!("select id from t{i}")), i.to_string());
        assert_eq!(text(&mut a, "select count(*) from account"), ACCOUNTS.to_string());
        ok(&mut a, "commit");
        ok(&mut b, &format!("alter table t{i} add column n int default 5"));
        ok(&mut a, "begin read only");
        assert_eq!(text(&mut a, &format!("select n from t{i}")), "5");
        ok(&mut a, "commit");
    }
}
