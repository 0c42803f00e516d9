//! Row-level security: how secured tables are read, and what a commit compares of policies.

use crate::common::{code, failure, hears_of_conflicts, ok, session, text};
use scaledb_engine::Engine;
use scaledb_sql::{Database, Session};

/// A table of tenants, and a role that sees the rows of one.
fn with_tenants<E: Engine>(db: &Database<E>) -> (Session<E>, Session<E>) {
    let mut owner = session(db);
    ok(
        &mut owner,
        "create role ann login;
         create table t (id int primary key, tenant int, v text);
         create index t_tenant on t (tenant, v);
         insert into t select g, g % 10, 'v' || g from generate_series(1, 300) g;
         alter table t enable row level security;
         create policy own on t using (tenant = current_setting('app.tenant')::int);
         grant all on t to ann;
         analyze",
    );
    let mut ann = db.session("ann", "postgres");
    ok(&mut ann, "set app.tenant = '3'");
    (owner, ann)
}

fn plan<E: Engine>(s: &mut Session<E>, sql: &str) -> String {
    let rows = ok(s, &format!("explain (costs off) {sql}"));
    rows.rows.into_iter().map(|mut row| row.remove(0).expect("a line")).collect::<Vec<_>>().join("\n")
}

/// Policies are checked in front of all that the statement says, and indexes serve both.
fn indexes_find_rows_of_secured_tables<E: Engine>(db: Database<E>) {
    let (mut owner, mut ann) = with_tenants(&db);
    let tenant = "(tenant = (current_setting('app.tenant'::text))::integer)";
    let point = plan(&mut ann, "select v from t where id = 13");
    assert_eq!(point, format!("Index Scan using t_pkey on t\n  Index Cond: (id = 13)\n  Filter: {tenant}"));
    let all = plan(&mut ann, "select v from t");
    assert_eq!(all, format!("Index Scan using t_tenant on t\n  Index Cond: {tenant}"));
    let both = plan(&mut ann, "select id from t where v = 'v13'");
    assert!(both.starts_with("Index Scan using t_tenant on t\n  Index Cond: "), "{both}");
    let update = plan(&mut ann, "update t set v = 'x' where id = 13");
    assert!(
        update.contains("Index Scan using t_pkey on t\n        Index Cond: (id = 13)\n        Filter:"),
        "{update}"
    );
    let leaky = plan(&mut ann, "select id from t where length(v) > 2 and id = 13");
    assert!(leaky.ends_with(&format!("Filter: ({tenant} AND (length(v) > 2))")), "{leaky}");
    let join = plan(&mut ann, "select a.v from t a join t b on b.id = a.id where a.id = 13");
    assert!(!join.contains("Seq Scan"), "{join}");
    // the owner's plan has nothing of policies
    assert_eq!(
        plan(&mut owner, "select v from t where id = 13"),
        "Index Scan using t_pkey on t\n  Index Cond: (id = 13)"
    );
    assert_eq!(text(&mut ann, "select v from t where id = 13"), "v13");
    assert_eq!(text(&mut ann, "select v from t where id = 14"), "");
}

/// A policy that changes beside a transaction makes it fail; it is never passed by.
fn a_transaction_does_not_commit_beside_a_change_of_a_policy<E: Engine>(db: Database<E>) {
    let (mut owner, mut ann) = with_tenants(&db);
    hears_of_conflicts(&mut owner);
    hears_of_conflicts(&mut ann);
    ok(
        &mut owner,
        "create table log (n bigint); grant all on log to ann; create role bob login; grant all on t to bob",
    );
    let changes = [
        "alter policy own on t using (tenant = 4)",
        "create policy more on t as restrictive using (id > 100)",
        "drop policy more on t",
        "alter table t disable row level security",
        "alter table t enable row level security",
        "alter table t owner to ann",
        "alter table t force row level security",
        "alter table t owner to current_user; grant all on t to ann",
        "alter role ann bypassrls",
        "alter role ann nobypassrls",
        "alter policy own on t to bob",
        "grant bob to ann",
        "revoke bob from ann",
    ];
    for change in changes {
        ok(&mut ann, "begin; insert into log values (1); select count(*) from t");
        ok(&mut owner, change);
        assert_eq!(code(&mut ann, "commit"), "40001", "{change}");
        // of policies of other tables it is independent
        ok(&mut ann, "begin; update t set v = v where id = 13");
        ok(&mut owner, "create policy x on log using (true); drop policy x on log");
        ok(&mut ann, "commit");
    }
}

/// A statement that was compiled for one role is compiled again for another, by whatever way it is kept.
fn what_is_kept_for_one_role_is_not_run_by_another<E: Engine>(db: Database<E>) {
    let (mut owner, mut ann) = with_tenants(&db);
    ok(&mut owner, "grant usage on schema public to ann; set app.tenant = '3'");
    ok(
        &mut owner,
        "create function count_t() returns bigint language plpgsql as $$ begin return (select count(*) from t); end $$;
         create function count_sql() returns bigint language sql as 'select count(*) from t';
         create function through() returns bigint language plpgsql security definer as
             $$ begin return count_t() * 1000 + count_sql(); end $$",
    );
    for _ in 0..3 {
        assert_eq!(text(&mut owner, "select count(*) from t"), "300");
        assert_eq!(text(&mut ann, "select count(*) from t"), "30");
        assert_eq!(text(&mut owner, "select count_t(), count_sql(), through()"), "300|300|300300");
        assert_eq!(text(&mut ann, "select count_t(), count_sql(), through(), count_t()"), "30|30|300300|30");
        ok(&mut owner, "set role ann");
        assert_eq!(text(&mut owner, "select count(*) from t"), "30");
        assert_eq!(text(&mut owner, "select count_t(), count_sql(), through()"), "30|30|300300");
        ok(&mut owner, "reset role");
    }
    // in the middle of a function
    ok(
        &mut owner,
        "create procedure turns() language plpgsql as $$
         declare n bigint; begin
         for i in 1..3 loop
             set local role ann; select count(*) into n from t;
             if n <> 30 then raise 'ann sees %', n; end if;
             reset role; select count(*) into n from t;
             if n <> 300 then raise 'the owner sees %', n; end if;
         end loop; end $$",
    );
    ok(&mut owner, "call turns()");
    ok(&mut ann, "set row_security = off");
    let error = failure(&mut ann, "select count(*) from t");
    assert_eq!(error.message(), "query would be affected by row-level security policy for table \"t\"");
    assert_eq!(code(&mut ann, "select count_t()"), "42501");
    ok(&mut ann, "reset row_security");
    assert_eq!(text(&mut ann, "select count_t()"), "30");
}

/// Errors of the statement are not those of rows that are hidden, by whatever way these are found.
fn hidden_rows_raise_no_errors<E: Engine>(db: Database<E>) {
    let mut owner = session(&db);
    ok(
        &mut owner,
        "create role ann login;
         create table t (id int primary key, k int, own boolean, n int);
         create index on t (k);
         insert into t values (1, 1, true, 1), (2, 1, false, 0), (3, 1, null, 0), (4, 2, null, 0);
         alter table t enable row level security;
         create policy own on t using (own);
         grant all on t to ann",
    );
    let mut ann = db.session("ann", "postgres");
    let reads = [
        "select id from t where 1 / n = 1",
        "select id from t where id = 1 and 1 / n = 1",
        "select id from t where k = 1 and 1 / n = 1",
        "select id from t where id in (1, 2, 3) and 1 / n = 1",
        "select id from t where id > 0 and 1 / n = 1",
        "select 1 from t group by 1 / n",
        "select id from t order by 1 / n",
        "select a.id from t a join t b on 1 / a.n = b.n",
        "select id from (select id, 1 / n as x from t) q where x = 1",
        "select id from t where case when n = 0 then 1 / n = 1 else true end",
        "select (select 1 / n from t where id = v.i limit 1) from (values (1)) v(i)",
        "update t set n = n where 1 / n = 1 returning id",
        "update t a set n = a.n from t b where 1 / b.n = a.n returning a.id",
        "select id from t where 1 / n = 1 for update",
        "select id from t where 1 / n = 1 for update skip locked",
        "select id from t where 1 / n = 1 limit 1",
        "select max(1 / n) from t",
        "with x as (select * from t) select id from x where 1 / n = 1",
        "select id from t where exists (select from t u where u.k = t.k and 1 / u.n = 1)",
        "select id from t where 1 / n in (select 1 / n from t)",
    ];
    for sql in reads {
        assert_eq!(text(&mut ann, sql), "1", "{sql}");
    }
    for id in [2, 3, 4] {
        for sql in [
            "select id from t where id = {} and 1 / n = 1",
            "delete from t where id = {} and 1 / n = 1 returning id",
        ] {
            assert_eq!(text(&mut ann, &sql.replace("{}", &id.to_string())), "", "{sql}");
        }
    }
    assert_eq!(text(&mut owner, "select count(*) from t"), "4");
}

on_each_engine!(
    indexes_find_rows_of_secured_tables,
    a_transaction_does_not_commit_beside_a_change_of_a_policy,
    what_is_kept_for_one_role_is_not_run_by_another,
    hidden_rows_raise_no_errors,
);
