//! Writing through views beside changes of them, after a restart, and messages. What statements answer otherwise is in
//! `slt/updatable_views.sql`, `slt/view_triggers.sql` and `slt/updatable_views_privileges.sql`.

use crate::common::{code, failure, hears_of_conflicts, ok, run, session, text};
use scaledb_acc::{Acc, Config, Durability};
use scaledb_engine::Engine;
use scaledb_sql::Database;
use scaledb_sync::atomic::{AtomicBool, Ordering};
use scaledb_sync::thread;
use scaledb_verify::disk::SimDisk;
use std::sync::Arc;

const INSTEAD: &str = "create function f() returns trigger language plpgsql as $$ begin \
     insert into t values (new.a, -1); return new; end $$";

fn setup<E: Engine>(db: &Database<E>) {
    let s = &mut session(db);
    ok(s, "create table t (a int primary key, b int)");
    ok(s, "insert into t values (1, 1), (2, 2), (30, 30)");
    ok(s, "create view v as select a, b from t where a < 10");
    ok(s, INSTEAD);
}

/// What a transaction has written through a view does not commit once the view is another one.
fn a_view_that_changes_beside_a_write_ends_it<E: Engine>(db: Database<E>) {
    setup(&db);
    for change in [
        "create or replace view v as select a, b from t where a < 2",
        "alter view v set (check_option = local)",
        "alter view v alter column b set default 7",
        "create trigger x instead of insert on v for each row execute function f()",
        "drop trigger x on v",
        "alter view v rename column b to c",
        "drop view v",
    ] {
        let (a, b) = (&mut session(&db), &mut session(&db));
        hears_of_conflicts(a);
        ok(a, "begin");
        let write = match change.starts_with("drop trigger") {
            true => "insert into v values (3, 3)",
            false => "update v set a = a + 0",
        };
        ok(a, write);
        ok(b, change);
        assert_eq!(code(a, "commit"), "40001", "{change}");
        assert_eq!(text(b, "select count(*), sum(b) from t"), "3|33", "{change}");
    }
}

/// A statement outside of a block is run again with the view that is there then: no row gets in that the view of its
/// commit refuses.
fn statements_run_again_with_the_view_of_their_commit<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(s, "create table t (a int, strict bool)");
    ok(s, "create view v as select a, strict from t where not strict with check option");
    let stop = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = [false, true]
        .into_iter()
        .map(|strict| {
            let (mut s, stop) = (session(&db), stop.clone());
            thread::spawn(move || {
                let mut done = 0;
                while !stop.load(Ordering::SeqCst) || done < 3 {
                    match run(&mut s, &format!("insert into v values (1, {strict})")) {
                        Ok(_) => done += 1,
                        Err(error) => assert_eq!(error.code().as_str(), "44000", "{error:?}"),
                    }
                    if stop.load(Ordering::SeqCst) {
                        break;
                    }
                }
            })
        })
        .collect();
    for round in 0..40 {
        let strict = round % 2 == 0;
        // what each view does not take is not there behind its change
        ok(s, "begin");
        ok(s, "delete from t");
        let not = if strict { "" } else { "not" };
        ok(
            s,
            &format!(
                "create or replace view v as select a, strict from t where {not} strict with check option"
            ),
        );
        if run(s, "commit").is_ok() {
            assert_eq!(
                text(s, &format!("select count(*) from t where strict is distinct from {strict}")),
                "0"
            );
        }
    }
    stop.store(true, Ordering::SeqCst);
    writers.into_iter().for_each(|writer| writer.join().expect("no panic"));
}

fn prepared_statements_write_through_the_view_of_now<E: Engine>(db: Database<E>) {
    setup(&db);
    let (a, b) = (&mut session(&db), &mut session(&db));
    ok(a, "prepare p (int, int) as insert into v values ($1, $2)");
    ok(a, "prepare q (int) as update v set b = $1");
    ok(a, "execute p (3, 3)");
    ok(b, "create or replace view v as select a, b from t where a < 2 with check option");
    assert_eq!(code(a, "execute p (4, 4)"), "44000");
    assert_eq!(ok(a, "execute q (9)").tags, ["UPDATE 1"]);
    ok(b, "create trigger x instead of insert on v for each row execute function f()");
    assert_eq!(ok(a, "execute p (5, 5)").tags, ["INSERT 0 1"]);
    assert_eq!(text(a, "select b from t where a = 5"), "-1");
}

fn savepoints_take_back_what_was_written_through_views<E: Engine>(db: Database<E>) {
    setup(&db);
    let s = &mut session(&db);
    ok(s, "create view w as select * from v where b > 0 with check option");
    ok(s, "begin; update w set b = 5 where a = 1; savepoint x; delete from w");
    assert_eq!(code(s, "insert into w values (7, -1)"), "44000");
    ok(s, "rollback to x; commit");
    assert_eq!(text(s, "select a, b from t order by a"), "1|5 2|2 30|30");
}

fn rows_of_copy_go_to_triggers<E: Engine>(db: Database<E>) {
    setup(&db);
    let s = &mut session(&db);
    let refused = failure(s, "copy v from stdin");
    assert_eq!(refused.code().as_str(), "42809");
    assert_eq!(refused.message(), "cannot copy to view \"v\"");
}

fn messages_are_those_of_postgresql<E: Engine>(db: Database<E>) {
    setup(&db);
    let s = &mut session(&db);
    ok(s, "create view w as select a, b, a + b as c from t where a < 10 with check option");
    ok(s, "create view d as select distinct a from t");
    for (sql, code, message, detail, hint) in [
        (
            "insert into w (a, b) values (20, 5)",
            "44000",
            "new row violates check option for view \"w\"",
            "Failing row contains (20, 5).",
            "",
        ),
        (
            "update w set a = 20 where a = 1",
            "44000",
            "new row violates check option for view \"w\"",
            "Failing row contains (20, 1).",
            "",
        ),
        (
            "insert into w (c) values (1)",
            "0A000",
            "cannot insert into column \"c\" of view \"w\"",
            "View columns that are not columns of their base relation are not updatable.",
            "",
        ),
        (
            "update w set c = 1",
            "0A000",
            "cannot update column \"c\" of view \"w\"",
            "View columns that are not columns of their base relation are not updatable.",
            "",
        ),
        (
            "insert into d values (1)",
            "55000",
            "cannot insert into view \"d\"",
            "Views containing DISTINCT are not automatically updatable.",
            "To enable inserting into the view, provide an INSTEAD OF INSERT trigger or an unconditional ON INSERT DO INSTEAD rule.",
        ),
        (
            "delete from d",
            "55000",
            "cannot delete from view \"d\"",
            "Views containing DISTINCT are not automatically updatable.",
            "To enable deleting from the view, provide an INSTEAD OF DELETE trigger or an unconditional ON DELETE DO INSTEAD rule.",
        ),
        (
            "create view e as select distinct a from t with check option",
            "0A000",
            "WITH CHECK OPTION is supported only on automatically updatable views",
            "",
            "Views containing DISTINCT are not automatically updatable.",
        ),
    ] {
        let error = failure(s, sql);
        let fields = error.fields();
        assert_eq!((error.code().as_str(), error.message()), (code, message), "{sql}");
        assert_eq!(fields.detail.as_deref().unwrap_or_default(), detail, "{sql}");
        assert_eq!(fields.hint.as_deref().unwrap_or_default(), hint, "{sql}");
    }
}

on_each_engine!(
    a_view_that_changes_beside_a_write_ends_it,
    statements_run_again_with_the_view_of_their_commit,
    prepared_statements_write_through_the_view_of_now,
    savepoints_take_back_what_was_written_through_views,
    rows_of_copy_go_to_triggers,
    messages_are_those_of_postgresql,
);

#[test]
fn what_views_say_of_rows_is_there_after_a_restart() {
    let disk = SimDisk::new(1).recording();
    let open = || {
        let durability = Durability { recovery_threads: 1, ..Durability::new(Arc::new(disk.clone())) };
        let config = Config { durability: Some(durability), ..Config::default() };
        Database::open(Acc::open(config).expect("the directory opens")).expect("the catalog is read")
    };
    let db = open();
    setup(&db);
    let s = &mut session(&db);
    ok(s, "alter view v alter b set default 8");
    ok(s, "create view w as select * from v where b > 0 with check option");
    ok(
        s,
        "create view i as select a from t; create trigger x instead of insert on i for each row execute function f()",
    );
    db.engine().close().expect("it is closed");
    drop(db);
    let db = open();
    let s = &mut session(&db);
    assert_eq!(text(s, "insert into w (a) values (5) returning *"), "5|8");
    assert_eq!(code(s, "insert into w values (6, -1)"), "44000");
    assert_eq!(code(s, "insert into w values (60, 1)"), "44000");
    assert_eq!(text(s, "insert into i values (7) returning a"), "7");
    assert_eq!(text(s, "select b from t where a = 7"), "-1");
}
