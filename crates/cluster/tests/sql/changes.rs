//! Changes of tables at one node, while others write at all of them: they get through, and no row is lost or left out
//! of an index.

use super::{Three, code, ok, run, text};
use scaledb_cluster::engine::Cluster;
use scaledb_scar::NodeId;
use scaledb_sql::Session;
use scaledb_sync::atomic::{AtomicBool, AtomicU64, Ordering};
use scaledb_sync::thread;
use std::time::Duration;

const ROWS: i64 = 3_000;

/// Moves money until it is told to stop; counts what it has moved, and how often a block failed.
struct Writers {
    stop: AtomicBool,
    moved: AtomicU64,
    failed: AtomicU64,
}

impl Writers {
    fn move_some(&self, session: &mut Session<Cluster>, mut seed: u64) {
        while !self.stop.load(Ordering::SeqCst) {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let (from, to) = ((seed >> 33) as i64 % ROWS, (seed >> 13 & 0xf_ffff) as i64 % ROWS);
            let updates = [(from, -1), (to, 1)]
                .map(|(id, n)| format!("update account set n = n + {n}, tag = tag || 'x' where id = {id};"));
            // a row comes and another goes, so that keys change as well
            let fresh = ROWS + (seed >> 3 & 0x3ff) as i64;
            let moves = format!(
                "insert into account values ({fresh}, 0, 'new') on conflict (id) do update set tag = 'again';
                delete from account where id = {}",
                fresh ^ 1
            );
            match run(session, &format!("begin; {} {moves}; commit", updates.concat())) {
                Ok(_) => self.moved.fetch_add(1, Ordering::SeqCst),
                Err(error) => {
                    let _ = run(session, "rollback");
                    assert!(matches!(error.code().as_str(), "40001" | "40P01"), "{error:?}");
                    self.failed.fetch_add(1, Ordering::SeqCst)
                }
            };
        }
    }
}

fn fill(session: &mut Session<Cluster>) {
    ok(session, "create table account (id int primary key, n bigint, tag text)");
    ok(session, &format!("insert into account select i, 100, 'a' from generate_series(0, {}) i", ROWS - 1));
}

/// Every row is found by each way.
fn check(session: &mut Session<Cluster>, indexes: &[&str]) {
    assert_eq!(text(session, "select sum(n) from account"), (100 * ROWS).to_string());
    let all = text(session, "select count(*) from account");
    for column in indexes {
        let by_index = format!(
            "select count(*) from account a where exists (select from account b where b.{column} = a.{column} and b.id = a.id)"
        );
        assert_eq!(text(session, &by_index), all, "{column}");
        let ordered =
            format!("select count(*) from (select {column} from account order by {column} offset 0) s");
        assert_eq!(text(session, &ordered), all, "{column}");
    }
}

#[test]
fn changes_get_through_beside_writers_at_all_nodes() {
    let three = Three::start();
    let mut sessions = three.sessions();
    fill(&mut sessions[0]);
    let writers =
        Writers { stop: AtomicBool::new(false), moved: AtomicU64::new(0), failed: AtomicU64::new(0) };
    thread::scope(|scope| {
        for (number, mut session) in three.sessions().into_iter().enumerate() {
            let writers = &writers;
            scope.spawn(move || writers.move_some(&mut session, number as u64 * 77 + 1));
        }
        let after = |moved: u64| {
            while writers.moved.load(Ordering::SeqCst) < moved {
                thread::sleep(Duration::from_millis(1));
            }
        };
        // all at once, each as one statement, which meets no conflict that its client would hear of
        for (node, change) in [
            (0, "create index account_n on account (n)"),
            (1, "create unique index concurrently account_tag on account (tag, id)"),
            (2, "alter table account add column more int default 7"),
            (0, "alter table account add constraint small check (n < 1000000)"),
            (1, "alter table account alter column n set not null"),
            (2, "alter table account alter column n type numeric"),
            (0, "create table other (id int primary key, account int)"),
            (0, "insert into other select i, i from generate_series(1, 500) i"),
            (1, "alter table other add foreign key (account) references account"),
            (2, "create table copied as select * from account"),
            (0, "create materialized view total as select sum(n) from account"),
            (1, "refresh materialized view total"),
            (2, "drop index concurrently account_tag"),
            (0, "update account set more = 8"),
            (1, "truncate other"),
            (2, "alter table account drop column more"),
        ] {
            let moved = writers.moved.load(Ordering::SeqCst);
            ok(&mut sessions[node], change);
            // nobody is kept out behind it
            after(moved + 5);
        }
        writers.stop.store(true, Ordering::SeqCst);
    });
    let [mut a, mut b, mut c] = sessions;
    check(&mut c, &["n", "id"]);
    assert_eq!(text(&mut b, "select sum(n) from copied"), (100 * ROWS).to_string());
    assert_eq!(text(&mut a, "select * from total"), (100 * ROWS).to_string());
    let explained = text(&mut b, "explain select * from account where n = 5");
    assert!(explained.contains("account_n"), "{explained}");
}

#[test]
fn a_block_that_changes_a_table_keeps_writers_out_until_its_end() {
    let three = Three::start();
    let [mut a, mut b, mut c] = three.sessions();
    fill(&mut a);
    ok(&mut a, "begin");
    ok(&mut a, "create index account_n on account (n)");
    ok(&mut a, "update account set tag = 'b' where id = 1");
    // who waits hears of a timeout: a writer, and another change of the table
    for (timeout, wanted) in [("lock_timeout", "55P03"), ("statement_timeout", "57014")] {
        for session in [&mut b, &mut c] {
            ok(session, &format!("set {timeout} = '100ms'"));
        }
        assert_eq!(code(&mut b, "update account set tag = 'b' where id = 2"), wanted);
        assert_eq!(code(&mut c, "create index account_tag on account (tag)"), wanted);
        for session in [&mut b, &mut c] {
            ok(session, &format!("reset {timeout}"));
        }
    }
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            ok(&mut b, "update account set tag = 'b' where id = 2");
            assert!(done.load(Ordering::SeqCst), "a write to a closed table");
        });
        // who only reads does not wait, and of other tables nobody does
        assert_eq!(text(&mut c, "select count(*) from account"), ROWS.to_string());
        ok(&mut c, "create table free (id int primary key)");
        ok(&mut c, "insert into free values (1)");
        thread::sleep(Duration::from_millis(100));
        done.store(true, Ordering::SeqCst);
        // behind the other change of the catalog
        assert_eq!(code(&mut a, "commit"), "40001");
    });
    check(&mut c, &["id"]);
    ok(&mut a, "begin");
    ok(&mut a, "alter table account add constraint small check (n < 100000)");
    ok(&mut a, "savepoint s");
    assert_eq!(code(&mut a, "alter table account add constraint none check (n < 0)"), "23514");
    ok(&mut a, "rollback to s");
    ok(&mut a, "create unique index account_id_n on account (n, id)");
    ok(&mut a, "commit");
    ok(&mut a, "begin");
    ok(&mut a, "alter table account add column more int default 7");
    ok(&mut a, "create index account_more on account (more)");
    ok(&mut a, "create index account_more_n on account (more, n)");
    ok(&mut a, "drop index account_more");
    ok(&mut a, "alter table account alter column more set not null");
    ok(&mut a, "commit");
    check(&mut c, &["n", "id", "more"]);
    ok(&mut b, "update account set n = n + 1 where id = 3");
    ok(&mut c, "update account set n = n - 1 where id = 4");
    check(&mut c, &["n", "id"]);
    // whoever has written to it finds it as it is
    ok(&mut b, "begin");
    ok(&mut b, "insert into account values (-1, 0, 'own')");
    ok(&mut b, "create index account_tag on account (tag)");
    ok(&mut b, "commit");
    assert_eq!(text(&mut a, "select id from account where tag = 'own'"), "-1");
}

#[test]
fn an_index_that_cannot_be_built_leaves_nothing() {
    let three = Three::start();
    let [mut a, mut b, mut c] = three.sessions();
    fill(&mut a);
    assert_eq!(code(&mut a, "create unique index one on account (n)"), "23505");
    ok(&mut b, "set statement_timeout = '1ms'");
    assert_eq!(code(&mut b, "create index two on account (n)"), "57014");
    ok(&mut b, "reset statement_timeout");
    // nobody is kept out
    ok(&mut c, "update account set n = id");
    ok(&mut a, "create unique index one on account (n)");
    assert_eq!(code(&mut b, "update account set n = 5 where id = 6"), "23505");
    assert_eq!(text(&mut c, "select id from account where n = 2000"), "2000");
}

#[test]
fn tables_are_open_when_the_closers_node_is_no_member_any_more() {
    let mut three = Three::start_with(Duration::from_millis(500), Duration::from_millis(20));
    let [mut a, mut b, mut c] = three.sessions();
    fill(&mut a);
    ok(&mut b, "update account set tag = id");
    ok(&mut c, "begin");
    ok(&mut c, "create index account_n on account (n)");
    ok(&mut c, "create unique index account_tag on account (tag)");
    assert_eq!(code(&mut c, "update account set tag = '2' where id = 1"), "23505");
    ok(&mut c, "rollback");
    ok(&mut a, "update account set tag = '2' where id = 1");
    ok(&mut a, "update account set tag = '1' where id = 1");
    ok(&mut c, "begin");
    ok(&mut c, "create index account_n on account (n)");
    ok(&mut c, "create unique index account_tag on account (tag)");
    three.cluster.kill(NodeId(2));
    // it waits, and is run again behind the change of members
    ok(&mut a, "update account set n = n - 1 where id = 1");
    ok(&mut b, "update account set n = n + 1 where id = 2");
    check(&mut b, &["id"]);
    // nobody has the index that it has built
    ok(&mut a, "update account set tag = '2' where id = 1");
    assert_eq!(code(&mut a, "create unique index account_tag on account (tag)"), "23505");
    ok(&mut b, "update account set tag = '1' where id = 1");
    ok(&mut a, "create unique index account_tag on account (tag)");
    assert_eq!(code(&mut b, "update account set tag = '2' where id = 1"), "23505");
    ok(&mut a, "create unique index account_n on account (n, id)");
    check(&mut b, &["n", "id", "tag"]);
    assert!(run(&mut c, "commit").is_err());
}
