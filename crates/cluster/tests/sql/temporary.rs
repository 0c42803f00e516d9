//! Temporary relations: known to the node of their session only, and in nobody's way.

use super::{Three, code, ok, run, text};
use scaledb_cluster::engine::{Answers, Cluster};
use scaledb_engine::Engine;
use scaledb_scar::NodeId;
use scaledb_sql::{Database, Session};
use scaledb_sync::thread;

/// Names of the temporary relations that a session is told of.
fn temporary(session: &mut Session<Cluster>) -> String {
    text(
        session,
        "select relname from pg_class where relpersistence = 't' and relkind <> 'i' order by relname",
    )
}

#[test]
fn sessions_of_all_nodes_have_temporary_relations_of_their_own() {
    let three = Three::start();
    let mut sessions = three.sessions();
    ok(
        &mut sessions[0],
        "create table kept (id int primary key, n int); insert into kept values (1, 10), (2, 20)",
    );
    for (node, session) in sessions.iter_mut().enumerate() {
        ok(session, "create temp table t (id serial primary key, n int unique, note text default 'none')");
        ok(session, "create temp sequence s start 5");
        ok(session, "create temp view v as select t.id, kept.n from t join kept using (id)");
        ok(session, &format!("insert into t (n) select {node} * 100 + i from generate_series(1, 40) i"));
        assert_eq!(text(session, "select count(*), min(id), max(id), max(note) from t"), "40|1|40|none");
        assert_eq!(text(session, "select nextval('s'), nextval('s')"), "5|6");
        assert_eq!(text(session, "select * from v order by id"), "1|10 2|20");
    }
    for (node, session) in sessions.iter_mut().enumerate() {
        assert_eq!(text(session, "select min(n) from t"), (node * 100 + 1).to_string(), "its own rows");
        assert_eq!(temporary(session), "s t t_id_seq v");
        assert_eq!(code(session, &format!("insert into t (n) values ({})", node * 100 + 7)), "23505");
        ok(session, "create index t_note on t (note); alter table t add column m int default 3");
        ok(session, "update t set note = 'x' || id where id > 30");
        assert_eq!(text(session, "select id, m from t where note = 'x33'"), "33|3");
        ok(session, "begin; savepoint a; delete from t; rollback to a; commit");
        assert_eq!(text(session, "select count(*) from t"), "40");
        ok(session, "truncate t restart identity; insert into t (n) values (1)");
        assert_eq!(text(session, "select id from t"), "1");
        ok(session, "alter table t alter column n type text; comment on table t is 'mine'");
        assert_eq!(text(session, "select obj_description('t'::regclass), n from t"), "mine|1");
        let another = &mut three.databases[node].session("postgres", "postgres");
        assert_eq!(code(another, "select * from t"), "42P01", "another session has none");
    }
    ok(&mut sessions[1], "discard temp");
    assert_eq!(code(&mut sessions[1], "select * from t"), "42P01");
    assert_eq!(temporary(&mut sessions[0]), "s t t_id_seq v", "of its own node only");
    drop(sessions);
    let mut sessions = three.sessions();
    assert_eq!(sessions.each_mut().map(temporary), ["", "", ""], "gone with their sessions");
    assert_eq!(text(&mut sessions[2], "select * from kept order by id"), "1|10 2|20");
}

#[test]
fn what_a_commit_does_to_temporary_tables() {
    let three = Three::start();
    let [mut a, mut b, _] = three.sessions();
    ok(&mut a, "create temp table e (id int primary key) on commit delete rows");
    assert_eq!(text(&mut a, "begin; insert into e values (1), (2); select count(*) from e; commit"), "2");
    assert_eq!(text(&mut a, "select count(*) from e"), "0");
    ok(&mut a, "begin; create temp table d (id int) on commit drop; insert into d values (1); commit");
    assert_eq!(code(&mut a, "select * from d"), "42P01");
    // rolled back as a whole, with what is not temporary
    ok(&mut a, "begin; create temp table g (id int); create table h (id int); rollback");
    assert_eq!(code(&mut a, "select * from g"), "42P01");
    assert_eq!(code(&mut a, "select * from h"), "42P01");
    // and committed as a whole
    ok(
        &mut a,
        "begin; create temp table g as select 7 as n; create table h as select n + 1 as n from g; commit",
    );
    assert_eq!(text(&mut a, "select g.n, h.n from g, h"), "7|8");
    assert_eq!(text(&mut b, "select n from h"), "8");
    assert_eq!(code(&mut b, "select n from g"), "42P01");
    assert_eq!(text(&mut a, "select n into temp x from h; select n from x"), "8");
    // what is left of the database is not named by what goes with a session
    assert_eq!(code(&mut a, "create table r (id int references g (n))"), "42P16");
    ok(&mut a, "create view w as select * from g");
    assert_eq!(temporary(&mut a), "e g w x", "it is temporary, too");
}

#[test]
fn they_are_in_nobodys_way() {
    let three = Three::start();
    let [mut a, mut b, mut c] = three.sessions();
    let mut beside = three.databases[0].session("postgres", "postgres");
    ok(&mut a, "create table t (id int primary key, n int); insert into t values (1, 0), (2, 0), (3, 0)");
    for (id, session) in [(1, &mut b), (2, &mut c), (3, &mut beside)] {
        // the first conflict is the client's
        ok(session, &format!("set repeat_blocks = off; begin; update t set n = 1 where id = {id}"));
    }
    for _ in 0..3 {
        ok(&mut a, "create temp table x (id serial primary key, n int); create index on x (n)");
        ok(&mut a, "insert into x (n) select n from t; alter table x add column m int; drop table x");
    }
    ok(&mut b, "commit");
    ok(&mut c, "commit");
    ok(&mut beside, "commit");
    assert_eq!(text(&mut a, "select id, n from t order by id"), "1|1 2|1 3|1");
    // nor in each other's, at one node
    ok(&mut a, "begin; create temp table x (id int)");
    ok(&mut beside, "begin; create temp table x (id int); insert into x values (2); commit");
    ok(&mut a, "insert into x values (1); commit");
    assert_eq!([text(&mut a, "select id from x"), text(&mut beside, "select id from x")], ["1", "2"]);
}

#[test]
fn sessions_make_and_drop_them_at_once() {
    let three = Three::start();
    ok(&mut three.sessions()[0], "create table log (id int, node int)");
    thread::scope(|scope| {
        for number in 0..6 {
            let mut session = three.databases[number % 3].session("postgres", "postgres");
            scope.spawn(move || {
                for round in 0..6 {
                    // a statement by itself is run again where a new table's gap ends in another's
                    ok(&mut session, "create temp table x (id serial primary key, n int unique)");
                    let filled = format!("insert into x (n) select {round} + i from generate_series(1, 9) i");
                    ok(&mut session, &filled);
                    ok(&mut session, "insert into log select count(*), count(distinct n) from x");
                    assert_eq!(
                        text(&mut session, "select count(*), min(n) from x"),
                        format!("9|{}", round + 1)
                    );
                    ok(&mut session, "drop table x");
                }
            });
        }
    });
    let all =
        text(&mut three.sessions()[1], "select count(*), min(id), max(id), min(node), max(node) from log");
    assert_eq!(all, "36|9|9|9|9");
}

#[test]
fn what_other_nodes_change_goes_on_beside_them() {
    let three = Three::start();
    let [mut a, mut b, mut c] = three.sessions();
    ok(&mut b, "create table t (id int primary key, n int); create type mood as enum ('good', 'bad')");
    ok(&mut b, "create table u (id int); insert into t values (1, 2)");
    ok(&mut a, "create temp table plain (id serial primary key); insert into plain default values");
    ok(&mut a, "create temp table moods (m mood); insert into moods values ('bad')");
    ok(&mut a, "create temp view of_t as select n from t");
    ok(&mut a, "create temp view of_u as select id from u");
    ok(&mut a, "create temp view of_both as select of_t.n, of_u.id from of_t, of_u");
    ok(&mut b, "alter table t add column m int; create table w (id serial primary key)");
    assert_eq!(temporary(&mut a), "moods of_both of_t of_u plain plain_id_seq");
    assert_eq!(text(&mut a, "select n from of_t"), "2");
    // nobody there knows what is of it here
    ok(&mut b, "drop table u");
    assert_eq!(code(&mut a, "select * from of_both"), "42P01");
    assert_eq!(temporary(&mut a), "moods of_t plain plain_id_seq");
    ok(&mut c, "drop type mood");
    assert_eq!(code(&mut a, "select * from moods"), "42P01");
    assert_eq!(text(&mut a, "insert into plain default values returning id"), "2");
    // here they are known
    assert_eq!(code(&mut a, "drop table t"), "2BP01");
    ok(&mut a, "drop table t cascade");
    assert_eq!(temporary(&mut a), "plain plain_id_seq");
    assert_eq!(code(&mut b, "select * from t"), "42P01");
}

#[test]
fn oids_of_what_others_make_are_not_theirs() {
    let three = Three::start();
    let [mut a, mut b, mut c] = three.sessions();
    for round in 0..4 {
        ok(
            &mut a,
            &format!("create temp table x{round} (id serial primary key, n int check (n > 0) unique)"),
        );
        ok(&mut b, &format!("create table b{round} (id serial primary key, n int unique)"));
        ok(&mut c, &format!("create temp table x{round} (id serial primary key)"));
        ok(&mut c, &format!("create table c{round} (id serial primary key)"));
        ok(&mut a, &format!("alter sequence x{round}_id_seq restart with 50"));
    }
    for session in [&mut a, &mut b, &mut c] {
        let all = "select count(*) = count(distinct oid), count(*) filter (where oid::int8 >= 2147483648) from pg_class";
        let own = text(session, &format!("{all} where oid::int8 >= 16384"));
        assert!(own.starts_with("true|") || own.starts_with("t|"), "{own}");
    }
    for (session, name) in [(&mut b, "b"), (&mut c, "c")] {
        for round in 0..4 {
            ok(session, &format!("insert into {name}{round} default values"));
            assert_eq!(
                text(session, &format!("select id from {name}{round}")),
                "1",
                "its values are its own"
            );
        }
    }
    ok(&mut a, "insert into x0 (n) values (1)");
    assert_eq!(text(&mut a, "select id from x0"), "50");
}

#[test]
fn what_a_process_has_left_behind_is_removed_when_it_begins_again() {
    let mut three = Three::start();
    let [mut a, _, c] = three.sessions();
    ok(&mut a, "create temp table here (id int); insert into here values (1)");
    let rows_of_last = |three: &Three| -> Vec<u64> {
        let member = three.cluster.member(NodeId(1)).expect("it lives");
        let engine = Cluster::new(member.clone(), Answers::WithTheEpoch);
        let tables = engine.tables().into_iter().filter(|info| info.name.ends_with("@2"));
        tables.filter_map(|info| engine.table_stats(info.id)).map(|stats| stats.entries).collect()
    };
    let mut c = c;
    ok(
        &mut c,
        "create temp table x (id serial primary key); insert into x select from generate_series(1, 300)",
    );
    let before = text(&mut c, "select 'x_id_seq'::regclass::oid");
    assert!(rows_of_last(&three).iter().any(|rows| *rows >= 200), "{:?}", rows_of_last(&three));
    // it has no time to drop them
    std::mem::forget(c);
    std::mem::forget(three.databases.remove(2));
    three.cluster.kill(NodeId(2));
    assert_eq!(text(&mut a, "select id from here"), "1");
    three.cluster.restart(NodeId(2), || true).expect("it is a member again");
    let member = three.cluster.member(NodeId(2)).expect("it lives").clone();
    three.databases.push(Database::open(Cluster::new(member, Answers::WithTheEpoch)).expect("a database"));
    assert!(rows_of_last(&three).iter().all(|rows| *rows == 0), "{:?}", rows_of_last(&three));
    let mut c = three.databases[2].session("postgres", "postgres");
    assert_eq!(temporary(&mut c), "");
    ok(&mut c, "create temp table x (id serial primary key); insert into x default values");
    assert_eq!(text(&mut c, "select id from x"), "1", "values are not those of the sequence before");
    assert_eq!(text(&mut c, "select 'x_id_seq'::regclass::oid"), before, "though it has its oid");
    assert_eq!(text(&mut a, "select id from here"), "1", "others have theirs");
    let _ = run(&mut a, "drop table here");
}
