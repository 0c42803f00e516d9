//! EXPLAIN: plans as PostgreSQL prints them.

use crate::common::{code, ok, session};
use scaledb_engine::Engine;
use scaledb_sql::{Database, Session};

const TABLES: &str = "
    create table a (id int primary key, name text, n bigint, d date, f float8, v numeric);
    create table b (id int primary key, aid int, x int, note varchar(20));
    create index b_aid on b (aid);
    create index b_x on b (x, id);
    insert into a select g, 'n' || g, g, '2020-01-01', g, g from generate_series(1, 100) g;
    insert into b select g, g % 100, g % 7, 'x' from generate_series(1, 500) g;
    analyze";

/// The lines of a plan.
fn plan<E: Engine>(s: &mut Session<E>, sql: &str) -> Vec<String> {
    let rows = ok(s, sql);
    assert_eq!(rows.columns[0].name, "QUERY PLAN");
    rows.rows.into_iter().map(|mut row| row.remove(0).expect("a line")).collect()
}

fn shape<E: Engine>(s: &mut Session<E>, sql: &str) -> String {
    plan(s, &format!("explain (costs off) {sql}")).join("\n")
}

/// Statements, and what PostgreSQL 15 prints for them.
const SAME: &[(&str, &str)] = &[
    ("select * from a where id = 5", "Index Scan using a_pkey on a\n  Index Cond: (id = 5)"),
    (
        "select * from a where n = 5 and name = 'x'",
        "Seq Scan on a\n  Filter: ((n = 5) AND (name = 'x'::text))",
    ),
    (
        "select * from a x where name like 'a%' or n is null",
        "Seq Scan on a x\n  Filter: ((name ~~ 'a%'::text) OR (n IS NULL))",
    ),
    (
        "select * from b where x = 1 and id > 10 and id <= 20",
        "Index Scan using b_x on b\n  Index Cond: ((x = 1) AND (id > 10) AND (id <= 20))",
    ),
    (
        "select * from a where id = any (array[1, 2, 3])",
        "Index Scan using a_pkey on a\n  Index Cond: (id = ANY ('{1,2,3}'::integer[]))",
    ),
    ("select * from a order by id desc limit 3", "Limit\n  ->  Index Scan Backward using a_pkey on a"),
    (
        "select x, count(*) c from b group by x having count(*) > 3 order by c desc",
        "Sort\n  Sort Key: (count(*)) DESC\n  ->  HashAggregate\n        Group Key: x\n        \
         Filter: (count(*) > 3)\n        ->  Seq Scan on b",
    ),
    ("select count(*) from b", "Aggregate\n  ->  Seq Scan on b"),
    ("select distinct x from b", "HashAggregate\n  Group Key: x\n  ->  Seq Scan on b"),
    (
        "select distinct on (x) x, id from b order by x, note",
        "Unique\n  ->  Sort\n        Sort Key: x, note\n        ->  Seq Scan on b",
    ),
    (
        "select * from a where n > (select avg(x) from b)",
        "Seq Scan on a\n  Filter: ((n)::numeric > $0)\n  InitPlan 1 (returns $0)\n    ->  Aggregate\n          \
         ->  Seq Scan on b",
    ),
    ("select id from a union all select id from b", "Append\n  ->  Seq Scan on a\n  ->  Seq Scan on b"),
    (
        "select id from a union select id from b",
        "HashAggregate\n  Group Key: a.id\n  ->  Append\n        ->  Seq Scan on a\n        ->  Seq Scan on b",
    ),
    (
        "with w as (select id, n from a where n < 5) select * from w w1, w w2 where w1.id = w2.n",
        "Hash Join\n  Hash Cond: (w1.id = w2.n)\n  CTE w\n    ->  Seq Scan on a\n          Filter: (n < 5)\n  \
         ->  CTE Scan on w w1\n  ->  Hash\n        ->  CTE Scan on w w2",
    ),
    (
        "with recursive r(n) as (select 1 union all select n + 1 from r where n < 5) select * from r",
        "CTE Scan on r\n  CTE r\n    ->  Recursive Union\n          ->  Result\n          \
         ->  WorkTable Scan on r r_1\n                Filter: (n < 5)",
    ),
    (
        "select * from generate_series(1, 3) g where g > 1",
        "Function Scan on generate_series g\n  Filter: (g > 1)",
    ),
    ("select unnest(array[1, 2])", "ProjectSet\n  ->  Result"),
    ("values (1), (2)", "Values Scan on \"*VALUES*\""),
    ("select 1 where now() is null", "Result\n  One-Time Filter: (now() IS NULL)"),
    ("select * from a for update", "LockRows\n  ->  Seq Scan on a"),
    ("insert into a values (1001, 'x')", "Insert on a\n  ->  Result"),
    (
        "insert into a values (1) on conflict (id) do update set n = excluded.n where a.n < excluded.n",
        "Insert on a\n  Conflict Resolution: UPDATE\n  Conflict Arbiter Indexes: a_pkey\n  \
         Conflict Filter: (a.n < excluded.n)\n  ->  Result",
    ),
    (
        "update a set n = n + 1 where id = 3",
        "Update on a\n  ->  Index Scan using a_pkey on a\n        Index Cond: (id = 3)",
    ),
    (
        "select * from a, lateral (select * from b where b.aid = a.id limit 2) l",
        "Nested Loop\n  ->  Seq Scan on a\n  ->  Limit\n        ->  Index Scan using b_aid on b\n              \
         Index Cond: (aid = a.id)",
    ),
];

/// Statements that PostgreSQL plans in another way, and how they are run here.
const OWN: &[(&str, &str)] = &[
    (
        "select id, (select count(*) from b where b.aid = a.id) from a",
        "Seq Scan on a\n  SubPlan 1\n    ->  Aggregate\n          ->  Index Scan using b_aid on b\n                \
         Index Cond: (aid = a.id)",
    ),
    (
        "select a.name, b.x from a left join b on b.aid = a.id",
        "Hash Left Join\n  Hash Cond: (a.id = b.aid)\n  ->  Seq Scan on a\n  ->  Hash\n        ->  Seq Scan on b",
    ),
    (
        "select * from a left join b on a.n > b.x",
        "Nested Loop Left Join\n  Join Filter: (a.n > b.x)\n  ->  Seq Scan on a\n  ->  Materialize\n        \
         ->  Seq Scan on b",
    ),
    (
        "select z from (select n + 1 as z, id from a) s where z > 7 and id::text = '5'",
        "Seq Scan on a\n  Filter: (((n + 1) > 7) AND ((id)::text = '5'::text))",
    ),
    (
        "select * from b where x in (1, 2) and note = 'it''s' and not (aid = -1)",
        "Index Scan using b_x on b\n  Index Cond: (x = ANY ('{1,2}'::integer[]))\n  \
         Filter: ((note = 'it''s'::text) AND (NOT (aid = '-1'::integer)))",
    ),
    (
        "delete from b where aid = 3 and note = 'x'",
        "Delete on b\n  ->  Index Scan using b_aid on b\n        Index Cond: (aid = 3)\n        \
         Filter: (note = 'x'::text)",
    ),
    (
        "select case when n > 1 then name else 'b' end from a \
         where coalesce(n, 0) = 1 and d = '2020-01-01' and v > 1.5 and name is distinct from 'x'",
        "Seq Scan on a\n  Filter: ((COALESCE(n, '0'::bigint) = 1) AND (d = '2020-01-01'::date) AND (v > 1.5) AND \
         (name IS DISTINCT FROM 'x'::text))",
    ),
    (
        "select a1.id from a a1, a a2 where a1.id = a2.n and exists (select from a where a.id = a1.id)",
        "Hash Join\n  Hash Cond: (a2.n = a1.id)\n  Filter: (SubPlan 1)\n  ->  Seq Scan on a a2\n  ->  Hash\n        \
         ->  Seq Scan on a a1\n  SubPlan 1\n    ->  Index Scan using a_pkey on a\n          Index Cond: (id = a1.id)",
    ),
];

fn plans_are_printed_as_postgresql_prints_them<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(s, TABLES);
    for (sql, wanted) in SAME.iter().chain(OWN) {
        assert_eq!(shape(s, sql), *wanted, "{sql}");
    }
}

/// Programs find the fields of PostgreSQL.
fn json_and_yaml_have_the_fields_of_postgresql<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(s, TABLES);
    let sql = "with w as (select x, count(*) c from b group by x) \
               select * from a left join w on a.id = w.x and a.name <> 'a\"b\\' \
               where a.id in (select id from b where note = 'x') order by a.n desc, a.id";
    let json = ok(s, &format!("explain (format json) {sql}"));
    assert_eq!(json.columns[0].ty, scaledb_types::Type::JSON);
    let json = json.rows[0][0].clone().expect("a text");
    let parsed: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let sort = &parsed[0]["Plan"];
    assert_eq!(sort["Node Type"], "Sort", "{json}");
    assert_eq!(sort["Sort Key"], serde_json::json!(["a.n DESC", "a.id"]));
    let cte = &sort["Plans"][0];
    assert_eq!((&cte["Parent Relationship"], &cte["Subplan Name"]), (&"InitPlan".into(), &"CTE w".into()));
    assert_eq!((&cte["Node Type"], &cte["Strategy"]), (&"Aggregate".into(), &"Hashed".into()));
    let join = sort["Plans"].as_array().and_then(|plans| plans.last()).expect("a join");
    assert_eq!((&join["Node Type"], &join["Join Type"]), (&"Hash Join".into(), &"Left".into()), "{json}");
    assert_eq!(join["Join Filter"], "(a.name <> 'a\"b\\'::text)");
    let scan = &join["Plans"][0];
    assert_eq!((&scan["Relation Name"], &scan["Alias"]), (&"a".into(), &"a".into()));
    assert_eq!((&scan["Index Name"], &scan["Scan Direction"]), (&"a_pkey".into(), &"Forward".into()));
    assert_eq!(join["Plans"][1]["Node Type"], "Hash");
    assert_eq!(join["Plans"][1]["Plans"][0]["CTE Name"], "w");
    let yaml =
        ok(s, "explain (format yaml) select * from a where n = 1 order by name, id").rows[0][0].clone();
    let wanted = "- Plan: \n    Node Type: \"Sort\"\n    Parallel Aware: false\n    Async Capable: false\n    \
                  Sort Key: \n      - \"name\"\n      - \"id\"\n    Plans: \n      - Node Type: \"Seq Scan\"\n        \
                  Parent Relationship: \"Outer\"\n        Parallel Aware: false\n        Async Capable: false\n        \
                  Relation Name: \"a\"\n        Alias: \"a\"\n        Filter: \"(n = 1)\"";
    assert_eq!(yaml.as_deref(), Some(wanted));
}

fn what_is_executed_declared_or_created_has_the_plan_of_its_query<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(s, TABLES);
    ok(s, "prepare p (int) as select * from a where id = $1");
    let point = "Index Scan using a_pkey on a\n  Index Cond: (id = $1)";
    assert_eq!(shape(s, "execute p (3)"), point);
    let whole = "Seq Scan on a\n  Filter: (n > 5)";
    assert_eq!(shape(s, "create table c as select * from a where n > 5"), whole);
    assert_eq!(shape(s, "declare c cursor for select * from a where n > 5"), whole);
    assert_eq!(code(s, "select * from c"), "42P01");
    assert_eq!(code(s, "explain execute p"), "42601");
    assert_eq!(code(s, "explain create table c (id int)"), "0A000");
}

fn options_are_those_of_postgresql<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(s, TABLES);
    let verbose = plan(s, "explain (costs off, verbose) select * from a x where n = 1").join("\n");
    assert!(verbose.starts_with("Seq Scan on public.a x\n"), "{verbose}");
    assert!(verbose.contains("Filter: (x.n = 1)"), "{verbose}");
    ok(s, "explain (analyze off, buffers off, timing off, summary off) select 1");
    for (options, wanted) in [
        ("nothing", "42601"),
        ("costs maybe", "42601"),
        ("format", "42601"),
        ("format pictures", "22023"),
        ("format xml", "0A000"),
        ("timing", "22023"),
        ("analyze, buffers", "0A000"),
        ("analyze, wal", "0A000"),
        ("settings", "0A000"),
    ] {
        assert_eq!(code(s, &format!("explain ({options}) select 1")), wanted, "{options}");
    }
}

/// Each level doubles what the next one would print.
fn what_is_computed_from_what_is_computed_has_an_end<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(s, TABLES);
    let mut query = "select name as x from a".to_owned();
    for _ in 0..40 {
        query = format!("select x || x as x from ({query}) s");
    }
    let text = shape(s, &format!("select * from ({query}) s order by x"));
    assert!(text.contains("...") && text.len() < 1 << 20, "{}", text.len());
}

on_each_engine!(
    plans_are_printed_as_postgresql_prints_them,
    json_and_yaml_have_the_fields_of_postgresql,
    what_is_executed_declared_or_created_has_the_plan_of_its_query,
    options_are_those_of_postgresql,
    what_is_computed_from_what_is_computed_has_an_end,
);
