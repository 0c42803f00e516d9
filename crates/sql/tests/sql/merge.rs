//! MERGE beside what its answers alone do not show: how it is prepared and explained, other sessions, and bounds.

use crate::common::steps::Client;
use crate::common::{code, failure, hears_of_conflicts, ok, run, session, text};
use scaledb_engine::Engine;
use scaledb_sql::{Database, Executed};
use scaledb_sync::thread;
use scaledb_types::Type;

const UPSERT: &str = "merge into t using (select $1::int as id, $2::int as v) s on t.id = s.id \
    when matched then update set v = t.v + s.v when not matched then insert values (s.id, s.v)";

fn it_is_prepared_and_has_no_columns<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(s, "create table t (id int primary key, v int, w varchar(10))");
    s.parse("m", UPSERT, &[]).unwrap();
    let described = s.describe_statement("m").unwrap();
    assert_eq!(described.parameters, [Type::INT4, Type::INT4]);
    assert!(described.columns.is_none());
    let mut sink = crate::common::Rows::default();
    for wanted in ["1|5|NULL", "1|10|NULL"] {
        s.bind("", "m", &[], &[Some(b"1"), Some(b"5")]).unwrap();
        let Executed::Complete(tag) = s.execute("", 0, true, &mut sink).unwrap() else { panic!() };
        assert_eq!(tag.to_string(), "MERGE 1");
        s.sync().unwrap();
        assert_eq!(text(s, "select * from t"), wanted);
    }
    // columns decide what their values are
    let insert =
        "merge into t using (values (1)) x(id) on false when not matched then insert values ($1, $2, $3)";
    s.parse("i", insert, &[]).unwrap();
    let types = s.describe_statement("i").unwrap().parameters;
    assert_eq!(types, [Type::INT4, Type::INT4, Type::VARCHAR]);
    assert_eq!(ok(s, "merge into t using t x on t.id = x.id when matched then delete").tags, ["MERGE 1"]);
    // a plan that is kept goes on behind a change of its table
    ok(s, "alter table t add n int default 7");
    s.bind("", "m", &[], &[Some(b"2"), Some(b"3")]).unwrap();
    s.execute("", 0, true, &mut sink).unwrap();
    s.sync().unwrap();
    assert_eq!(text(s, "select * from t"), "2|3|NULL|7");
}

fn a_key_is_looked_up<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(
        s,
        "create table t (id int primary key, v int); insert into t select g, 0 from generate_series(1, 500) g",
    );
    let plan = "explain (costs off) merge into t using (values (1), (900)) x(id) on t.id = x.id \
                when matched then update set v = 1 when not matched then insert values (x.id, 1)";
    let lines = text(s, plan);
    assert!(lines.starts_with("Merge on t ") && lines.contains("Index Scan using t_pkey on t"), "{lines}");
    assert!(lines.contains("Left Join"), "{lines}");
    let lines = text(s, &plan.replace("costs off", "analyze, costs off, timing off, summary off"));
    assert!(lines.contains("Tuples: inserted=1 updated=1"), "{lines}");
    // without INSERT, rows that match nothing are not asked for
    let lines = text(s, "explain (costs off) merge into t using t x on t.id = x.id when matched then delete");
    assert!(!lines.contains("Left"), "{lines}");
    let sql = "explain (format json) merge into t using t x on t.id = x.id when matched then delete";
    let json = text(s, sql);
    assert!(json.contains("\"Operation\": \"Merge\""), "{json}");
}

fn sessions_that_merge_the_same_keys_lose_nothing<E: Engine>(db: Database<E>) {
    ok(&mut session(&db), "create table t (id int primary key, v int)");
    const EACH: usize = 50;
    let threads: Vec<_> = (0..3)
        .map(|_| {
            let mut s = session(&db);
            thread::spawn(move || {
                for number in 0..EACH {
                    let sql = UPSERT.replace("$1", &(number % 4).to_string()).replace("$2", "1");
                    ok(&mut s, &sql);
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
    let s = &mut session(&db);
    assert_eq!(text(s, "select count(*), sum(v) from t"), format!("4|{}", 3 * EACH));
}

fn a_key_that_another_inserts_meanwhile_is_a_conflict<E: Engine>(db: Database<E>) {
    let (a, b) = (&mut session(&db), &mut session(&db));
    hears_of_conflicts(a);
    hears_of_conflicts(b);
    ok(a, "create table t (id int primary key, v int)");
    let merge = UPSERT.replace("$1", "7").replace("$2", "1");
    ok(a, "begin");
    ok(a, &merge);
    ok(b, &merge);
    let failed = run(a, "commit").expect_err("a conflict").code().as_str().to_owned();
    assert!(["40001", "23505"].contains(&failed.as_str()), "{failed}");
    assert_eq!(text(b, "select * from t"), "7|1");
    // the row that it would have changed is another by then
    ok(a, "begin");
    ok(a, &merge);
    ok(b, "update t set v = 100");
    assert_eq!(code(a, "commit"), "40001");
    assert_eq!(text(b, "select * from t"), "7|100");
}

fn it_waits_for_rows_that_others_have_locked<E: Engine>(db: Database<E>) {
    let (a, b) = (Client::new(&db), Client::new(&db));
    a.ok("create table t (id int primary key, v int); insert into t values (1, 1), (2, 2)");
    a.ok("begin; select * from t where id = 1 for update");
    b.ok("merge into t using (values (2), (3)) x(id) on t.id = x.id \
          when matched then update set v = 20 when not matched then insert values (x.id, 30)");
    b.waits(
        "merge into t using (values (1), (2)) x(id) on t.id = x.id when matched then update set v = t.v + 1",
    );
    a.ok("update t set v = 10 where id = 1; commit");
    b.done("merge");
    assert_eq!(a.ok("select * from t order by id"), "1|11 2|21 3|30");
}

fn what_it_keeps_has_a_limit<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(s, "create table t (id int primary key, w text)");
    db.set_max_query_memory(1 << 20);
    ok(s, "set work_mem = '64kB'");
    let insert = "merge into t using generate_series(1, 20000) g on t.id = g \
                  when not matched then insert values (g, repeat('x', 200))";
    assert_eq!(code(s, insert), "53200");
    assert_eq!(text(s, "select count(*) from t"), "0");
    db.set_max_query_memory(1 << 30);
    ok(s, "set work_mem = '64MB'");
    assert_eq!(ok(s, insert).tags, ["MERGE 20000"]);
    db.set_max_query_memory(1 << 20);
    ok(s, "set work_mem = '64kB'");
    let update =
        "merge into t using generate_series(1, 20000) g on t.id = g when matched then update set w = w || g";
    assert_eq!(code(s, update), "53200");
    assert_eq!(text(s, "select count(*) from t where length(w) > 200"), "0");
}

fn triggers_beside_parts_that_write_are_refused<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(
        s,
        "create table t (id int primary key, v int); create table u (id int); \
         create function f() returns trigger language plpgsql as $$ begin return new; end $$; \
         create trigger g before update on t for each row execute function f(); insert into t values (1, 1)",
    );
    let merge = "merge into t using x on t.id = x.id when matched then update set v = 5";
    // a query in WITH that only reads is no such part
    ok(s, &format!("with x as (select 1 as id) {merge}"));
    assert_eq!(text(s, "select * from t"), "1|5");
    let writes = format!("with x as (insert into u values (1) returning id) {merge}");
    assert_eq!(code(s, &writes), "0A000");
}

fn messages_say_what_postgresql_says<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(s, "create table t (id int primary key, v int); create table s (id int); insert into t values (1, 1)");
    ok(s, "create view w as select * from t");
    let twice =
        failure(s, "merge into t using (values (1), (1)) x(id) on t.id = x.id when matched then delete");
    assert_eq!(twice.message(), "MERGE command cannot affect row a second time");
    let hint = "Ensure that not more than one source row matches any one target row.";
    assert_eq!(twice.fields().hint.as_deref(), Some(hint));
    let hidden = failure(s, "merge into t using s on t.id = s.id when not matched then insert values (t.id)");
    assert_eq!(hidden.message(), "invalid reference to FROM-clause entry for table \"t\"");
    let hint = "There is an entry for table \"t\", but it cannot be referenced from this part of the query.";
    assert_eq!(hidden.fields().hint.as_deref(), Some(hint));
    let view = failure(s, "merge into w using s on w.id = s.id when matched then delete");
    assert_eq!(view.message(), "cannot execute MERGE on relation \"w\"");
    assert_eq!(view.fields().detail.as_deref(), Some("This operation is not supported for views."));
    let read_only =
        failure(s, "begin read only; merge into t using s on t.id = s.id when matched then delete");
    assert_eq!(read_only.message(), "cannot execute MERGE in a read-only transaction");
    ok(s, "rollback");
    let many = "when matched and t.v = 2 then delete ".repeat(2_000);
    ok(s, &format!("merge into t using s on t.id = s.id {many}"));
    let deep = format!("{}t.v > 0{}", "(".repeat(5_000), ")".repeat(5_000));
    assert_eq!(code(s, &format!("merge into t using s on {deep} when matched then delete")), "54001");
}

on_each_engine! {
    it_is_prepared_and_has_no_columns,
    a_key_is_looked_up,
    sessions_that_merge_the_same_keys_lose_nothing,
    a_key_that_another_inserts_meanwhile_is_a_conflict,
    it_waits_for_rows_that_others_have_locked,
    what_it_keeps_has_a_limit,
    triggers_beside_parts_that_write_are_refused,
    messages_say_what_postgresql_says,
}
