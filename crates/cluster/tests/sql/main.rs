//! SQL on three members in this process: sessions at different nodes, of one database.

mod changes;
mod conflicts;
mod copies;
mod cut_off;
mod databases;
mod generated;
mod locks;
mod matviews;
mod merge;
mod notifications;
mod placement;
mod repeats;
mod roles;
mod snapshots;
mod temporary;
mod turns;

use scaledb_cluster::engine::{Answers, Cluster};
use scaledb_cluster::{LocalCluster, Settings};
use scaledb_scar::NodeId;
use scaledb_sql::{Column, CopyInfo, Database, RowSink, Session, Tag};
use scaledb_types::{Env, Result, Type, Value};
use std::time::Duration;

/// What a statement has answered, as text.
#[derive(Default)]
struct Rows(Vec<Vec<String>>, usize);

impl RowSink for Rows {
    fn describe(&mut self, _: &[Column]) -> Result<()> {
        Ok(())
    }

    fn begin_row(&mut self, _: usize) {
        self.0.push(Vec::new());
    }

    fn value(&mut self, env: &Env, ty: Type, value: &Value) -> Result<()> {
        let text = value.to_text(ty, env).map_or("NULL".to_owned(), |text| text.to_string());
        self.0.last_mut().expect("a row has begun").push(text);
        Ok(())
    }

    fn end_row(&mut self) -> Result<()> {
        Ok(())
    }

    fn complete(&mut self, _: &Tag) {}

    fn empty(&mut self) {}

    fn copy_out(&mut self, _: CopyInfo) -> Result<()> {
        Ok(())
    }

    fn copy_data(&mut self, _: &[u8]) -> Result<()> {
        Ok(())
    }

    fn mark(&mut self) {
        self.1 = self.0.len();
    }

    fn rewind(&mut self) -> bool {
        self.0.truncate(self.1);
        true
    }
}

/// A cluster, and a database at each of its nodes.
struct Three {
    databases: Vec<Database<Cluster>>,
    cluster: LocalCluster,
}

impl Three {
    fn start() -> Self {
        Self::start_with(Duration::from_secs(5), Duration::from_millis(20))
    }

    /// How long silence lasts until it counts as death, and an epoch in which nothing is committed.
    fn start_with(suspect_after: Duration, idle_epoch: Duration) -> Self {
        let settings =
            Settings { epoch: Duration::from_millis(1), idle_epoch, suspect_after, ..Settings::default() };
        Self::start_as(settings)
    }

    fn start_as(settings: Settings) -> Self {
        Self::start_answering(settings, Answers::WithTheEpoch)
    }

    fn start_answering(settings: Settings, answers: Answers) -> Self {
        let cluster = LocalCluster::start(settings, 3, 7, 1).expect("threads");
        let open = |member: &scaledb_sync::Arc<scaledb_cluster::Member>| {
            Database::open(Cluster::new(member.clone(), answers)).expect("a database")
        };
        Self { databases: cluster.members().map(open).collect(), cluster }
    }

    fn sessions(&self) -> [Session<Cluster>; 3] {
        [0, 1, 2].map(|node| self.databases[node].session("postgres", "postgres"))
    }
}

fn run(session: &mut Session<Cluster>, sql: &str) -> Result<Rows> {
    let mut rows = Rows::default();
    session.simple(sql, &mut rows)?;
    Ok(rows)
}

fn ok(session: &mut Session<Cluster>, sql: &str) -> Rows {
    run(session, sql).unwrap_or_else(|error| panic!("{sql}: {error:?}"))
}

/// Columns by `|`, rows by spaces.
fn text(session: &mut Session<Cluster>, sql: &str) -> String {
    let rows = ok(session, sql).0;
    rows.iter().map(|row| row.join("|")).collect::<Vec<_>>().join(" ")
}

fn code(session: &mut Session<Cluster>, sql: &str) -> String {
    match run(session, sql) {
        Ok(rows) => panic!("{sql}: succeeded with {:?}", rows.0),
        Err(error) => error.code().as_str().to_owned(),
    }
}

#[test]
fn what_one_node_creates_and_another_fills_a_third_reads() {
    let three = Three::start();
    let [mut a, mut b, mut c] = three.sessions();
    ok(&mut a, "create table t (id int primary key, name text not null, n int check (n > 0))");
    ok(&mut b, "insert into t values (1, 'one', 10), (2, 'two', 20), (3, 'three', 30)");
    assert_eq!(text(&mut c, "select * from t order by id"), "1|one|10 2|two|20 3|three|30");
    ok(&mut c, "create index t_name on t (name)");
    ok(&mut a, "update t set name = 'zwei' where id = 2");
    assert_eq!(text(&mut b, "select id from t where name = 'zwei'"), "2");
    assert_eq!(text(&mut b, "select id from t where name = 'two'"), "");
    ok(&mut b, "create unique index t_n on t (n)");
    assert_eq!(code(&mut c, "insert into t values (4, 'four', 30)"), "23505");
    assert_eq!(code(&mut a, "insert into t values (1, 'again', 99)"), "23505");
    assert_eq!(code(&mut a, "insert into t values (5, 'five', 0)"), "23514");
    ok(&mut a, "alter table t add column more text default 'x'");
    assert_eq!(text(&mut c, "select more from t where id = 3"), "x");
    ok(&mut b, "delete from t where n >= 20");
    assert_eq!(text(&mut a, "select count(*), sum(n) from t"), "1|10");
    ok(&mut b, "drop table t");
    assert_eq!(code(&mut a, "select * from t"), "42P01");
    ok(&mut c, "create table t (other text)");
    ok(&mut a, "insert into t values ('new')");
    assert_eq!(text(&mut b, "select * from t"), "new");
}

#[test]
fn two_transactions_at_two_nodes_that_exclude_each_other_do_not_both_commit() {
    let three = Three::start();
    let [mut a, mut b, mut c] = three.sessions();
    ok(&mut a, "create table t (id int primary key, n int); insert into t values (1, 1), (2, 1)");
    ok(&mut a, "begin; select n from t where id = 2; update t set n = 0 where id = 1");
    ok(&mut b, "begin; select n from t where id = 1; update t set n = 0 where id = 2");
    ok(&mut a, "commit");
    assert_eq!(code(&mut b, "commit"), "40001");
    assert_eq!(text(&mut c, "select * from t order by id"), "1|0 2|1");
    // a statement alone is run again by itself
    for _ in 0..10 {
        ok(&mut a, "update t set n = n + 1 where id = 1");
        ok(&mut b, "update t set n = n + 1 where id = 1");
        ok(&mut c, "update t set n = n + 1 where id = 1");
    }
    assert_eq!(text(&mut b, "select n from t where id = 1"), "30");
}

#[test]
fn a_change_of_a_table_ends_transactions_that_use_it_at_other_nodes() {
    let three = Three::start();
    let [mut a, mut b, mut c] = three.sessions();
    ok(&mut a, "create table t (id int primary key, n int); insert into t values (1, 1)");
    ok(&mut b, "set repeat_blocks = off; begin; insert into t values (2, 2)");
    ok(&mut c, "alter table t add column m int not null default 7");
    assert_eq!(code(&mut b, "commit"), "40001");
    ok(&mut b, "insert into t values (2, 2)");
    assert_eq!(text(&mut a, "select * from t order by id"), "1|1|7 2|2|7");
    // two changes at once: one of them
    ok(&mut a, "begin; create table u (id int)");
    ok(&mut b, "begin; create table u (name text)");
    ok(&mut a, "commit");
    assert_eq!(code(&mut b, "commit"), "40001");
    assert_eq!(text(&mut c, "select count(*) from u where id is null"), "0");
}

#[test]
fn foreign_keys_hold_across_nodes() {
    let three = Three::start();
    let [mut a, mut b, mut c] = three.sessions();
    ok(
        &mut a,
        "create table p (id int primary key); create table f (id int primary key, p int references p on delete cascade)",
    );
    ok(&mut b, "insert into p values (1), (2)");
    assert_eq!(code(&mut c, "insert into f values (1, 3)"), "23503");
    ok(&mut c, "insert into f values (1, 1), (2, 2)");
    // the row that one refers to goes at another node
    ok(&mut b, "begin; insert into f values (3, 2)");
    ok(&mut a, "delete from p where id = 2");
    assert_eq!(code(&mut b, "commit"), "40001");
    assert_eq!(text(&mut b, "select * from f"), "1|1");
}

#[test]
fn sequences_give_each_value_once() {
    let three = Three::start();
    let mut sessions = three.sessions();
    ok(
        &mut sessions[0],
        "create table t (id bigserial primary key, node int); create sequence s increment by -5 start 100 minvalue -100000 maxvalue 100",
    );
    let mut values = Vec::new();
    for _ in 0..50 {
        for (node, session) in sessions.iter_mut().enumerate() {
            ok(session, &format!("insert into t (node) values ({node})"));
            values.push(text(session, "select nextval('s')").parse::<i64>().expect("a number"));
        }
    }
    assert_eq!(text(&mut sessions[1], "select count(*), count(distinct id) from t"), "150|150");
    assert!(values.iter().all(|value| value % 5 == 0 && *value <= 100));
    values.sort_unstable();
    values.dedup();
    assert_eq!(values.len(), 150);
}

#[test]
fn many_rows_of_one_statement_go_into_one_gap_of_one_partition() {
    let three = Three::start();
    let [mut a, mut b, _] = three.sessions();
    ok(&mut a, "create table stock (w int, i int, q int, primary key (w, i)) with (partition_by = 'w')");
    ok(&mut a, "insert into stock select 1, i, 10 from generate_series(1, 5000) i");
    assert_eq!(text(&mut b, "select count(*), min(i), max(i) from stock where w = 1"), "5000|1|5000");
}

#[test]
fn what_was_answered_survives_a_node() {
    let mut three = Three::start();
    {
        let [mut a, mut b, mut c] = three.sessions();
        ok(&mut a, "create table t (id int primary key, n int)");
        for id in 0..30 {
            ok([&mut a, &mut b, &mut c][id % 3], &format!("insert into t values ({id}, {id})"));
        }
    }
    three.databases.remove(2);
    three.cluster.kill(NodeId(2));
    let mut sessions = [0, 1].map(|node| three.databases[node].session("postgres", "postgres"));
    for session in &mut sessions {
        assert_eq!(text(session, "select count(*), sum(n) from t"), "30|435");
    }
    ok(&mut sessions[0], "insert into t values (100, 1)");
    assert_eq!(text(&mut sessions[1], "select count(*) from t"), "31");
}

/// Run by hand, for figures: `cargo test -p scaledb-cluster --release --test sql transfers -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
fn transfers() {
    let three = Three::start();
    let [mut a, ..] = three.sessions();
    ok(&mut a, "create table account (id int primary key, n bigint)");
    ok(&mut a, "insert into account select i, 1000 from generate_series(0, 999) i");
    for sessions in [1, 3, 12, 48] {
        let begin = std::time::Instant::now();
        let done: u64 = scaledb_sync::thread::scope(|scope| {
            let threads: Vec<_> = (0..sessions).map(|number| {
                let mut session = three.databases[number % 3].session("postgres", "postgres");
                scope.spawn(move || {
                    let mut done = 0_u64;
                    let mut random = number as u64 + 1;
                    while begin.elapsed() < Duration::from_secs(3) {
                        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                        let (from, to) = (random >> 33, random >> 43);
                        let (from, to) = (from % 1000, to % 1000);
                        let sql = format!(
                            "begin; update account set n = n - 1 where id = {from}; update account set n = n + 1 where id = {to}; commit"
                        );
                        match run(&mut session, &sql) {
                            Ok(_) => done += 1,
                            Err(_) => drop(run(&mut session, "rollback")),
                        }
                    }
                    done
                })
            }).collect();
            threads.into_iter().map(|thread| thread.join().unwrap_or_default()).sum()
        });
        let seconds = begin.elapsed().as_secs_f64();
        println!(
            "{sessions} sessions: {:.0} transfers per second, {:.1} ms each",
            done as f64 / seconds,
            seconds * 1000.0 * sessions as f64 / done as f64
        );
    }
    assert_eq!(text(&mut a, "select sum(n) from account"), "1000000");
}
