//! Sessions of several roles beside each other: what one may do changes while another works, and what a commit
//! compares.

use crate::common::{code, failure, hears_of_conflicts, ok, run, session, text};
use scaledb_engine::Engine;
use scaledb_sql::{Database, Session};

/// A database with a table, and a role that may read it.
fn with_ann<E: Engine>(db: &Database<E>) -> (Session<E>, Session<E>) {
    let mut owner = session(db);
    ok(
        &mut owner,
        "create role ann login; create role bob login; create table t (id int primary key, n int)",
    );
    ok(&mut owner, "insert into t values (1, 10); grant select on t to ann");
    let ann = db.session("ann", "postgres");
    (owner, ann)
}

fn a_session_is_the_role_of_its_user<E: Engine>(db: Database<E>) {
    let (mut owner, mut ann) = with_ann(&db);
    assert_eq!(text(&mut ann, "select current_user, session_user, n from t"), "ann|ann|10");
    assert_eq!(text(&mut ann, "show is_superuser"), "off");
    let refused = [
        "insert into t values (2, 20)",
        "update t set n = 1",
        "delete from t",
        "truncate t",
        "drop table t",
        "alter table t add column x int",
        "create index on t (n)",
        "create table own (a int)",
        "create role eve",
        "set role bob",
        "set session authorization bob",
        "checkpoint",
        "set log_statement = 'none'",
        "select rolpassword from pg_authid",
        "lock table t",
        "select * from t for update",
        "copy t from stdin",
    ];
    for sql in refused {
        // LOCK stands in a block
        let sql = if sql.starts_with("lock") { format!("begin; {sql}") } else { sql.to_owned() };
        assert_eq!(code(&mut ann, &sql), "42501", "{sql}");
        ok(&mut ann, "rollback");
    }
    // who logs in without a role may do everything, and so may a superuser
    ok(&mut owner, "create role root superuser login");
    for user in ["somebody", "root"] {
        let mut s = db.session(user, "postgres");
        ok(&mut s, "insert into t values (3, 30); delete from t where id = 3");
        assert_eq!(
            text(&mut s, "select current_user::text, current_setting('is_superuser')"),
            format!("{user}|on")
        );
    }
}

fn what_is_prepared_asks_again_each_time<E: Engine>(db: Database<E>) {
    let (mut owner, mut ann) = with_ann(&db);
    ok(&mut ann, "prepare p as select n from t");
    assert_eq!(text(&mut ann, "execute p"), "10");
    ok(&mut owner, "revoke select on t from ann");
    assert_eq!(code(&mut ann, "execute p"), "42501");
    ok(&mut owner, "grant select (n) on t to ann");
    assert_eq!(text(&mut ann, "execute p"), "10");
    assert_eq!(code(&mut ann, "select id from t"), "42501");
    // plans are shared by sessions, what is allowed is not
    assert_eq!(text(&mut owner, "select id from t"), "1");
    assert_eq!(code(&mut ann, "select id from t"), "42501");
    // by membership
    ok(&mut owner, "create role readers; grant select on t to readers; grant readers to ann");
    assert_eq!(text(&mut ann, "select id from t"), "1");
    ok(&mut owner, "alter role ann noinherit");
    assert_eq!(code(&mut ann, "select id from t"), "42501");
    ok(&mut ann, "set role readers");
    assert_eq!(text(&mut ann, "select id from t"), "1");
}

/// A password is in no text that another may read.
fn passwords_are_not_shown<E: Engine>(db: Database<E>) {
    let mut owner = session(&db);
    ok(&mut owner, "set track_statements = on");
    ok(&mut owner, "create role ann login password 'very secret'; alter role ann password 'more secret'");
    for view in ["pg_stat_activity", "scaledb_stat_statements"] {
        let shown =
            text(&mut session(&db), &format!("select query from {view} where query like '%role ann%'"));
        assert!(shown.contains("password") && !shown.contains("secret"), "{view}: {shown}");
    }
}

/// What a statement was allowed to do belongs to what its commit compares.
fn a_transaction_does_not_commit_beside_a_change_of_what_it_may<E: Engine>(db: Database<E>) {
    let (mut owner, mut ann) = with_ann(&db);
    hears_of_conflicts(&mut owner);
    hears_of_conflicts(&mut ann);
    ok(&mut owner, "grant insert on t to ann; create table secrets (x int); create role readers");
    ok(&mut owner, "grant select on t to readers");
    let changes = [
        ("revoke insert on t from ann", "grant insert on t to ann"),
        ("alter role ann noinherit", "alter role ann inherit"),
        ("grant readers to ann", "revoke readers from ann"),
    ];
    for (change, back) in changes {
        ok(&mut ann, "begin; insert into t values (5, 50)");
        ok(&mut owner, change);
        assert_eq!(code(&mut ann, "commit"), "40001", "{change}");
        ok(&mut owner, back);
        ok(&mut ann, "begin; insert into t values (5, 50)");
        // of other tables, and of other roles' objects, it is independent
        ok(&mut owner, "grant select on secrets to bob; revoke select on secrets from bob");
        ok(&mut ann, "commit");
        ok(&mut owner, "delete from t where id = 5");
    }
}

fn views_and_functions_act_for_their_owners<E: Engine>(db: Database<E>) {
    let (mut owner, mut ann) = with_ann(&db);
    ok(
        &mut owner,
        "create table ledger (who text, amount int); insert into ledger values ('ann', 5), ('bob', 7)",
    );
    ok(
        &mut owner,
        "create view own as select amount from ledger where who = current_user; grant select on own to ann",
    );
    ok(
        &mut owner,
        "create function pay(to_whom text, much int) returns text language plpgsql security definer as $$ begin \
         insert into ledger values (to_whom, much); return current_user; end $$",
    );
    assert_eq!(text(&mut ann, "select * from own"), "5");
    assert_eq!(text(&mut ann, "select pay('ann', 9)"), "postgres");
    assert_eq!(text(&mut ann, "select * from own order by 1"), "5 9");
    assert_eq!(code(&mut ann, "select * from ledger"), "42501");
    // an error within leaves nothing behind
    assert_eq!(code(&mut ann, "select pay('ann', 1 / 0)"), "22012");
    assert_eq!(text(&mut ann, "select current_user::text"), "ann");
    ok(
        &mut owner,
        "create function fails() returns int language plpgsql security definer as $$ begin return 1 / 0; end $$",
    );
    ok(
        &mut owner,
        "create procedure moves() language plpgsql security definer as $$ begin delete from ledger; raise exception 'no'; end $$",
    );
    for sql in ["select fails()", "call moves()"] {
        run(&mut ann, sql).expect_err("it fails");
        assert_eq!(code(&mut ann, "select * from ledger"), "42501", "{sql}");
    }
    ok(&mut owner, "revoke execute on function pay(text, int) from public");
    let error = failure(&mut ann, "select pay('ann', 9)");
    assert_eq!((error.code().as_str(), error.message()), ("42501", "permission denied for function pay"));
}

fn what_is_made_belongs_to_who_made_it<E: Engine>(db: Database<E>) {
    let (mut owner, mut ann) = with_ann(&db);
    ok(
        &mut owner,
        "grant create on schema public to ann; alter default privileges for role ann grant select on tables to bob",
    );
    ok(&mut ann, "create table mine (id serial primary key, x int); insert into mine (x) values (1)");
    let mut bob = db.session("bob", "postgres");
    assert_eq!(text(&mut bob, "select x from mine"), "1");
    assert_eq!(code(&mut bob, "insert into mine (x) values (2)"), "42501");
    ok(&mut ann, "grant insert on mine to bob");
    // the default takes values of a sequence
    assert_eq!(code(&mut bob, "insert into mine (x) values (2)"), "42501");
    ok(&mut ann, "grant usage on sequence mine_id_seq to bob");
    ok(&mut bob, "insert into mine (x) values (2)");
    assert_eq!(code(&mut owner, "drop role ann"), "2BP01");
    ok(&mut owner, "reassign owned by ann to bob; drop owned by ann; drop role ann");
    ok(&mut bob, "alter table mine add column y int; drop table mine");
    assert_eq!(text(&mut owner, "select count(*) from pg_default_acl"), "0");
}

/// Sessions go on as who they were when roles come, go and change.
fn roles_change_under_sessions<E: Engine>(db: Database<E>) {
    let mut early = db.session("ann", "postgres");
    ok(&mut early, "create table t (a int)");
    let mut owner = session(&db);
    // the name of a user who has logged in without a role becomes that of a role
    ok(&mut owner, "create role ann login");
    let mut late = db.session("ann", "postgres");
    ok(&mut early, "insert into t values (1)");
    assert_eq!(code(&mut late, "select * from t"), "42501");
    ok(&mut owner, "alter role ann rename to eve");
    assert_eq!(text(&mut late, "select current_user::text"), "eve");
    // its old name is another's now, who may do everything
    ok(&mut owner, "create role ann superuser login; create role x; grant x to eve");
    assert_eq!(code(&mut late, "select * from t"), "42501");
    ok(&mut late, "set role x");
    ok(&mut owner, "alter role x rename to y; create role x superuser");
    ok(&mut late, "set work_mem = '1MB'");
    assert_eq!(text(&mut late, "select current_user::text"), "y");
    assert_eq!(code(&mut late, "select * from t"), "42501");
    ok(&mut late, "reset role");
    ok(&mut owner, "alter role eve superuser");
    assert_eq!(text(&mut late, "select a, current_setting('is_superuser') from t"), "1|on");
    ok(&mut owner, "alter role eve nosuperuser");
    assert_eq!(code(&mut late, "select * from t"), "42501");
    ok(&mut owner, "drop role eve; create role eve superuser");
    ok(&mut late, "set work_mem = '2MB'");
    assert_eq!(code(&mut late, "select * from t"), "42501");
}

on_each_engine!(
    a_session_is_the_role_of_its_user,
    what_is_prepared_asks_again_each_time,
    passwords_are_not_shown,
    a_transaction_does_not_commit_beside_a_change_of_what_it_may,
    views_and_functions_act_for_their_owners,
    what_is_made_belongs_to_who_made_it,
    roles_change_under_sessions,
);
