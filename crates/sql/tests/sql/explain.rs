//! EXPLAIN: plans as PostgreSQL prints them.

use crate::common::{Rows, code, ok, session};
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
    (
        "select lag(n) over (partition by name order by d desc, id),
           sum(n) over (partition by name order by d desc, id rows 1 preceding) from a",
        "WindowAgg\n  ->  WindowAgg\n        ->  Sort\n              Sort Key: name, d DESC, id\n              ->  Seq Scan on a",
    ),
    (
        "select sum(n) over w, lead(n) over w from a window w as (partition by n + 1, d order by n + 1, f nulls first)",
        "WindowAgg\n  ->  Sort\n        Sort Key: ((n + 1)), d, f NULLS FIRST\n        ->  Seq Scan on a",
    ),
    ("select count(*) over (order by 1) from a", "WindowAgg\n  ->  Seq Scan on a"),
    (
        "select n from a order by lag(n) over (order by id + 1 desc)",
        "Sort\n  Sort Key: (lag(n) OVER (?))\n  ->  WindowAgg\n        ->  Sort\n              \
         Sort Key: ((id + 1)) DESC\n              ->  Seq Scan on a",
    ),
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
    // conditions go into queries in FROM, where indexes serve them
    (
        "select * from (select id, name || 'x' as y from a where n > 3) q where q.id = 5 and q.y <> 'z'",
        "Index Scan using a_pkey on a\n  Index Cond: (id = 5)\n  Filter: ((n > 3) AND ((name || 'x'::text) <> 'z'::text))",
    ),
    (
        "select * from (select id, count(*) from b group by id) q where id = 5",
        "HashAggregate\n  Group Key: id\n  ->  Index Scan using b_pkey on b\n        Index Cond: (id = 5)",
    ),
    (
        "select * from (select id from a union all select id from b) q where id = 5",
        "Append\n  ->  Index Scan using a_pkey on a\n        Index Cond: (id = 5)\n  \
         ->  Index Scan using b_pkey on b\n        Index Cond: (id = 5)",
    ),
    // and into WITH queries that are read once
    (
        "with c as (select id, name || 'x' as y from a where n > 3) select * from c where id = 5",
        "Index Scan using a_pkey on a\n  Index Cond: (id = 5)\n  Filter: (n > 3)",
    ),
    (
        "with c as (select id, count(*) as k from b group by id), d as (select id, k + 1 from c) select * from d where id = 5",
        "HashAggregate\n  Group Key: id\n  ->  Index Scan using b_pkey on b\n        Index Cond: (id = 5)",
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

/// Joins and groups that few rows of others ask for.
const WITHIN: &[(&str, &str)] = &[
    (
        "select * from a left join (b join c on c.bid = b.id) on b.aid = a.n where a.id = 5",
        "Nested Loop Left Join\n  ->  Index Scan using a_pkey on a\n        Index Cond: (id = 5)\n  \
         ->  Nested Loop\n        ->  Index Scan using b_aid on b\n              Index Cond: (aid = a.n)\n        \
         ->  Index Scan using c_bid on c\n              Index Cond: (bid = b.id)",
    ),
    (
        "select * from a left join (select aid, count(*) from b group by aid) q on q.aid = a.n where a.id = 5",
        "Nested Loop Left Join\n  ->  Index Scan using a_pkey on a\n        Index Cond: (id = 5)\n  \
         ->  HashAggregate\n        Group Key: b.aid\n        \
         ->  Index Scan using b_aid on b\n              Index Cond: (aid = a.n)",
    ),
    (
        "select * from a join (select aid, row_number() over (partition by aid) as r from b) q on q.aid = a.n \
         where a.id = 5",
        "Nested Loop\n  ->  Index Scan using a_pkey on a\n        Index Cond: (id = 5)\n  \
         ->  WindowAgg\n        ->  Sort\n              Sort Key: b.aid\n              \
         ->  Index Scan using b_aid on b\n                    Index Cond: (aid = a.n)",
    ),
    (
        "select count(*) from a left join (select aid, count(*) from b group by aid) q on q.aid = a.n",
        "Aggregate\n  ->  Hash Left Join\n        Hash Cond: (a.n = b.aid)\n        \
         ->  Seq Scan on a\n        ->  Hash\n              ->  HashAggregate\n                    \
         Group Key: b.aid\n                    ->  Seq Scan on b",
    ),
];

fn few_rows_ask_indexes_within_joins_and_groups<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(
        s,
        "create table a (id int primary key, n int); create table b (id int primary key, aid int); \
         create table c (id int primary key, bid int); \
         insert into a select i, i from generate_series(1, 3000) i; insert into b select * from a; \
         insert into c select * from a; create index b_aid on b (aid); create index c_bid on c (bid)",
    );
    ok(s, "analyze");
    for (sql, wanted) in WITHIN {
        assert_eq!(shape(s, sql), *wanted, "{sql}");
    }
}

/// What operators have done, without times and sizes.
fn done<E: Engine>(s: &mut Session<E>, sql: &str) -> String {
    let lines = plan(s, &format!("explain (analyze, costs off, timing off, summary off) {sql}"));
    let sized = |line: &&String| !line.contains("kB");
    lines.iter().filter(sized).map(String::as_str).collect::<Vec<_>>().join("\n")
}

/// Statements, and what PostgreSQL 15 says that their operators have done where it plans alike.
const DONE: &[(&str, &str)] = &[
    (
        "select * from a where n > 90 limit 5",
        "Limit (actual rows=5 loops=1)\n  ->  Seq Scan on a (actual rows=5 loops=1)\n        Filter: (n > 90)\n        \
         Rows Removed by Filter: 90",
    ),
    (
        "select x, count(*) from b group by x having count(*) > 71",
        "HashAggregate (actual rows=3 loops=1)\n  Group Key: x\n  Filter: (count(*) > 71)\n  \
         Rows Removed by Filter: 4\n  ->  Seq Scan on b (actual rows=500 loops=1)",
    ),
    (
        "select a.id from a left join b on a.id = b.aid and b.id > 250 where a.id < 10",
        "Hash Left Join (actual rows=18 loops=1)\n  Hash Cond: (a.id = b.aid)\n  \
         ->  Index Scan using a_pkey on a (actual rows=9 loops=1)\n        Index Cond: (id < 10)\n  \
         ->  Hash (actual rows=250 loops=1)\n        \
         ->  Index Scan using b_pkey on b (actual rows=250 loops=1)\n              \
         Index Cond: (id > 250)",
    ),
    (
        "select a.id from a, b where a.id < 3 and b.id < 5 and a.n > b.x",
        "Nested Loop (actual rows=1 loops=1)\n  Join Filter: (a.n > b.x)\n  \
         Rows Removed by Join Filter: 7\n  ->  Index Scan using a_pkey on a (actual rows=2 loops=1)\n        \
         Index Cond: (id < 3)\n  ->  Materialize (actual rows=4 loops=2)\n        \
         ->  Index Scan using b_pkey on b (actual rows=4 loops=1)\n              Index Cond: (id < 5)",
    ),
    (
        "select id, (select count(*) from b where b.aid = a.id) from a where id < 11",
        "Index Scan using a_pkey on a (actual rows=10 loops=1)\n  Index Cond: (id < 11)\n  SubPlan 1\n    \
         ->  Aggregate (actual rows=1 loops=10)\n          \
         ->  Index Scan using b_aid on b (actual rows=5 loops=10)\n                \
         Index Cond: (aid = a.id)",
    ),
    (
        "select id, (select max(x) from b where b.note = a.name) from a",
        "Seq Scan on a (actual rows=100 loops=1)\n  SubPlan 1\n    \
         ->  Aggregate (actual rows=1 loops=3)\n          ->  Limit (actual rows=0 loops=3)\n                \
         ->  Index Scan Backward using b_x on b (actual rows=0 loops=3)\n                      \
         Filter: ((x IS NOT NULL) AND (note = a.name))\n                      \
         Rows Removed by Filter: 500\n  SubPlan 1 (all rows, kept by their keys)\n    \
         ->  HashAggregate (actual rows=1 loops=1)\n          Group Key: b.note\n          Lookups: 97\n          \
         ->  Seq Scan on b (actual rows=500 loops=1)",
    ),
    (
        "select id from a where n < (select avg(x) from b) order by n desc limit 2",
        "Limit (actual rows=2 loops=1)\n  InitPlan 1 (returns $0)\n    \
         ->  Aggregate (actual rows=1 loops=1)\n          ->  Seq Scan on b (actual rows=500 loops=1)\n  \
         ->  Sort (actual rows=2 loops=1)\n        Sort Key: a.n DESC\n        \
         ->  Seq Scan on a (actual rows=2 loops=1)\n              Filter: ((n)::numeric < $0)\n              \
         Rows Removed by Filter: 98",
    ),
    (
        "select id from a union select id from b where x = 1",
        "HashAggregate (actual rows=157 loops=1)\n  Group Key: a.id\n  \
         ->  Append (actual rows=172 loops=1)\n        ->  Seq Scan on a (actual rows=100 loops=1)\n        \
         ->  Index Scan using b_x on b (actual rows=72 loops=1)\n              Index Cond: (x = 1)",
    ),
    (
        "with recursive r(n) as (select 1 union all select n + 1 from r where n < 5) select * from r where n > 2",
        "CTE Scan on r (actual rows=3 loops=1)\n  Filter: (n > 2)\n  Rows Removed by Filter: 2\n  \
         CTE r\n    ->  Recursive Union (actual rows=5 loops=1)\n          \
         ->  Result (actual rows=1 loops=1)\n          \
         ->  WorkTable Scan on r r_1 (actual rows=1 loops=5)\n                Filter: (n < 5)\n                \
         Rows Removed by Filter: 0",
    ),
    ("select 1 where now() is null", "Result (actual rows=0 loops=1)\n  One-Time Filter: (now() IS NULL)"),
    (
        "select * from a, b where a.id = b.aid and a.n < 0",
        "Hash Join (actual rows=0 loops=1)\n  Hash Cond: (b.aid = a.id)\n  \
         ->  Seq Scan on b (actual rows=500 loops=1)\n  ->  Hash (actual rows=0 loops=1)\n        \
         ->  Seq Scan on a (actual rows=0 loops=1)\n              Filter: (n < 0)\n              \
         Rows Removed by Filter: 100",
    ),
    (
        "update a set n = n + 1 where id < 4 returning n",
        "Update on a (actual rows=3 loops=1)\n  \
         ->  Index Scan using a_pkey on a (actual rows=3 loops=1)\n        Index Cond: (id < 4)",
    ),
    (
        "insert into a (id) select 1000 + id from b where x = 1",
        "Insert on a (actual rows=0 loops=1)\n  ->  Index Scan using b_x on b (actual rows=72 loops=1)\n        \
         Index Cond: (x = 1)",
    ),
    (
        "insert into a (id, n) values (1, 1), (2, 2) on conflict (id) do nothing",
        "Insert on a (actual rows=0 loops=1)\n  Conflict Resolution: NOTHING\n  \
         Conflict Arbiter Indexes: a_pkey\n  ->  Values Scan on \"*VALUES*\" (actual rows=2 loops=1)",
    ),
    (
        "create table c as with w as materialized (select * from b where x = 2) select * from w",
        "CTE Scan on w (actual rows=72 loops=1)\n  CTE w\n    \
         ->  Index Scan using b_x on b (actual rows=72 loops=1)\n          Index Cond: (x = 2)",
    ),
    (
        "select count(*) from c",
        "Aggregate (actual rows=1 loops=1)\n  ->  Seq Scan on c (actual rows=72 loops=1)",
    ),
    (
        "delete from b where x = 3",
        "Delete on b (actual rows=0 loops=1)\n  ->  Index Scan using b_x on b (actual rows=72 loops=1)\n        \
         Index Cond: (x = 3)",
    ),
    (
        "select distinct x from b",
        "HashAggregate (actual rows=6 loops=1)\n  Group Key: x\n  \
         ->  Seq Scan on b (actual rows=428 loops=1)",
    ),
    (
        "select id from a for update",
        "LockRows (actual rows=172 loops=1)\n  ->  Seq Scan on a (actual rows=172 loops=1)",
    ),
    (
        "select rank() over (order by n), unnest(array[1, 2]) from a where id < 4",
        "ProjectSet (actual rows=6 loops=1)\n  ->  WindowAgg (actual rows=3 loops=1)\n        \
         ->  Sort (actual rows=3 loops=1)\n              Sort Key: n\n              \
         ->  Index Scan using a_pkey on a (actual rows=3 loops=1)\n                    Index Cond: (id < 4)",
    ),
];

fn operators_say_what_they_have_done<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(s, TABLES);
    for (sql, wanted) in DONE {
        assert_eq!(done(s, sql), *wanted, "{sql}");
    }
}

/// The line that begins with a word, blanks before it left out.
fn line<E: Engine>(s: &mut Session<E>, sql: &str, word: &str) -> String {
    let lines = plan(s, sql);
    let found = lines.iter().map(|line| line.trim_start()).find(|line| line.starts_with(word));
    found.unwrap_or_else(|| panic!("no {word} in {lines:#?}")).to_owned()
}

fn what_is_analyzed_is_done_and_timed<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(s, TABLES);
    ok(s, "explain update a set n = -1 where id = 1");
    assert_eq!(ok(s, "select n from a where id = 1").rows[0][0].as_deref(), Some("1"));
    ok(s, "explain analyze update a set n = -1 where id = 1");
    ok(s, "begin; explain analyze update a set n = -2 where id = 1; rollback");
    assert_eq!(ok(s, "select n from a where id = 1").rows[0][0].as_deref(), Some("-1"));
    ok(s, "begin read only");
    assert_eq!(code(s, "explain analyze delete from a"), "25006");
    ok(s, "rollback");
    ok(s, "prepare p (int) as delete from a where id = $1");
    ok(s, "explain analyze execute p (2)");
    assert_eq!(ok(s, "select count(*) from a where id = 2").rows[0][0].as_deref(), Some("0"));
    assert_eq!(ok(s, "explain analyze create table c as select * from a").tags, ["EXPLAIN"]);
    assert_eq!(code(s, "explain analyze create table c as select * from a"), "42P07");
    // what is slow is seen where it is slow
    let join = "explain analyze select pg_sleep(0.02) from b join a on a.id = b.aid where b.id = 5 and pg_sleep(0.03) is not null";
    let time = |line: &str| -> f64 {
        let (_, rest) = line.split_once("..").expect("a time");
        rest.split_once(' ').expect("a blank").0.parse().expect("a number")
    };
    let scan = line(s, join, "->  Index Scan using b_pkey");
    assert!(time(&scan) >= 30.0, "{scan}");
    for word in ["Planning Time: ", "Execution Time: ", "Conflicts: 0"] {
        line(s, "explain analyze select 1", word);
    }
    line(s, "explain (summary) select 1", "Planning Time: ");
    let json = ok(s, "explain (analyze, format json) select * from a where n > 50").rows[0][0]
        .clone()
        .expect("a text");
    let parsed: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(parsed[0]["Plan"]["Actual Rows"], 50, "{json}");
    assert_eq!(parsed[0]["Plan"]["Actual Loops"], 1);
    assert_eq!(parsed[0]["Plan"]["Rows Removed by Filter"], 49);
    for field in ["Actual Startup Time", "Actual Total Time"] {
        assert!(parsed[0]["Plan"][field].is_number(), "{json}");
    }
    assert!(parsed[0]["Execution Time"].is_number() && parsed[0]["Triggers"].is_array());
    assert_eq!(parsed[0]["Conflicts"], 0);
}

fn all_rows_of_a_subquery_are_not_read_where_that_takes_more_than_it_may<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(s, "create table big (k int primary key, v int)");
    ok(s, "insert into big select g, g from generate_series(1, 30000) g");
    ok(s, "analyze big");
    let asked = "select count(*) from generate_series(1, 1500) g where exists (select 1 from big where k = g and v <> 0)";
    let plan = done(s, asked);
    assert!(plan.contains("Index Scan using big_pkey on big (actual rows=1 loops=1500)"), "{plan}");
    assert!(!plan.contains("kept by their keys"), "{plan}");
    let all = "select count(*) from generate_series(1, 20000) g where exists (select 1 from big where k = g and v <> 0)";
    let plan = done(s, all);
    assert!(plan.contains("->  Seq Scan on big (actual rows=30000 loops=1)"), "{plan}");
}

fn sorts_and_hash_tables_say_what_memory_they_held<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(s, "create table t (id int primary key, n int)");
    ok(s, "insert into t select g, -g from generate_series(1, 5000) g");
    let kilobytes = |line: &str| -> u64 {
        let number = line.rsplit(' ').next().and_then(|last| last.strip_suffix("kB")).expect("a size");
        number.parse().expect("a number")
    };
    let whole = line(s, "explain analyze select * from t order by n", "Sort Method: merge sort  Memory: ");
    let first =
        line(s, "explain analyze select * from t order by n limit 3", "Sort Method: top-N sort  Memory: ");
    assert!(kilobytes(&first) * 10 < kilobytes(&whole), "{first} {whole}");
    let groups =
        line(s, "explain analyze select n, count(*) from t group by n", "Batches: 1  Memory Usage: ");
    let few =
        line(s, "explain analyze select n % 3, count(*) from t group by 1", "Batches: 1  Memory Usage: ");
    assert!(kilobytes(&few) * 10 < kilobytes(&groups), "{few} {groups}");
    line(s, "explain analyze select * from t a join t b on a.n = b.n", "Batches: 1  Memory Usage: ");
}

/// Programs find the fields of PostgreSQL.
fn json_and_yaml_have_the_fields_of_postgresql<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(s, TABLES);
    let sql = "with w as materialized (select x, count(*) c from b group by x) \
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

/// What drivers ask about statements that they have parsed.
fn what_has_no_plan_says_so<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(s, "create procedure forty_two(inout n int) language plpgsql as 'begin n := 42; end'");
    for (name, text) in
        [("c", "call forty_two(null)"), ("s", "show server_version"), ("t", "truncate pg_temp.t")]
    {
        ok(s, "create temp table if not exists t (n int)");
        s.parse(name, text, &[]).unwrap();
        s.sync().unwrap();
        let json = ok(s, &format!("explain (verbose, format json) execute {name}")).rows[0][0].clone();
        assert_eq!(json.as_deref(), Some("[\n  \"Utility Statement\"\n]"), "{text}");
        assert_eq!(
            plan(s, &format!("explain execute {name}")),
            ["Utility statements have no plan structure"],
            "{text}"
        );
        let yaml = ok(s, &format!("explain (format yaml) execute {name}")).rows[0][0].clone();
        assert_eq!(yaml.as_deref(), Some("- \"Utility Statement\""));
    }
}

/// Drivers infer from it which columns an outer join may leave out.
fn what_operators_hand_on_is_said_if_asked_for<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(s, TABLES);
    let lines = |s: &mut Session<E>, sql: &str| plan(s, &format!("explain (costs off, verbose) {sql}"));
    assert_eq!(
        lines(s, "select a.id, b.note from a left join b on b.aid = a.id and b.id > 3 where a.n > 5"),
        [
            "Hash Left Join",
            "  Output: a.id, b.note",
            "  Hash Cond: (a.id = b.aid)",
            "  ->  Seq Scan on public.a",
            "        Output: a.id, a.n",
            "        Filter: (a.n > 5)",
            "  ->  Hash",
            "        Output: b.aid, b.note",
            "        ->  Index Scan using b_pkey on public.b",
            "              Output: b.aid, b.note",
            "              Index Cond: (b.id > 3)",
        ]
    );
    let group = "select name, count(*) from a group by name";
    assert_eq!(
        lines(s, group),
        [
            "HashAggregate",
            "  Output: name, count(*)",
            "  Group Key: a.name",
            "  ->  Seq Scan on public.a",
            "        Output: name",
        ]
    );
    assert_eq!(lines(s, "delete from a where id = 1")[0], "Delete on public.a");
    let sql = "select a.id, s.c from b right join (select aid, count(*) as c from b group by aid) s on s.aid = b.x \
               left join a on false";
    let json = ok(s, &format!("explain (verbose, format json) {sql}")).rows[0][0].clone().expect("a text");
    let parsed: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let join = &parsed[0]["Plan"];
    assert_eq!(join["Output"][0], "a.id", "{json}");
    let inner = join["Plans"].as_array().and_then(|plans| plans.last()).expect("an inner side");
    assert_eq!(
        (&inner["Parent Relationship"], &inner["Output"][0]),
        (&"Inner".into(), &"a.id".into()),
        "{json}"
    );
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

fn parameters_are_those_of_the_statement<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(s, TABLES);
    s.parse("", "explain (analyze, costs off, timing off, summary off) select * from a where id = $1", &[])
        .unwrap();
    s.bind("", "", &[], &[Some(b"7")]).unwrap();
    let mut rows = Rows::default();
    s.execute("", 0, true, &mut rows).unwrap();
    s.sync().unwrap();
    let lines: Vec<_> = rows.rows.iter().flatten().flatten().collect();
    assert_eq!(lines, ["Index Scan using a_pkey on a (actual rows=1 loops=1)", "  Index Cond: (id = $1)"]);
    assert_eq!(code(s, "explain analyze select * from a where id = $1"), "42P02");
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
    few_rows_ask_indexes_within_joins_and_groups,
    plans_are_printed_as_postgresql_prints_them,
    json_and_yaml_have_the_fields_of_postgresql,
    operators_say_what_they_have_done,
    what_is_analyzed_is_done_and_timed,
    all_rows_of_a_subquery_are_not_read_where_that_takes_more_than_it_may,
    sorts_and_hash_tables_say_what_memory_they_held,
    what_is_executed_declared_or_created_has_the_plan_of_its_query,
    what_has_no_plan_says_so,
    what_operators_hand_on_is_said_if_asked_for,
    options_are_those_of_postgresql,
    parameters_are_those_of_the_statement,
    what_is_computed_from_what_is_computed_has_an_end,
);
