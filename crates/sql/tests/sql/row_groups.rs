//! Rows that go to their groups by their bytes: slt/row_groups.sql has what PostgreSQL answers.

use crate::common::{code, ok, session, text};
use scaledb_engine::Engine;
use scaledb_sql::Database;

/// What rows are grouped by.
const KEYS: &[&str] = &[
    "b", "s", "i, c", "l", "n", "k", "n, m", "d", "z, y", "c", "v, b", "w", "t", "r.id", "i + 1", "lower(v)",
    "d, r.id",
];

/// What is computed of a group.
const AGGREGATES: &[&str] = &[
    "count(*), count(n), count(v), count(w)",
    "sum(n), avg(n), min(n), max(n), sum(n * (1 - m)), sum(n * (1 - m) * (1 + m)), count(n * m)",
    "sum(n + m), sum(n - k), sum(m - 0.0001), sum(3 * n * m), avg(n * null::numeric), max(n * n)",
    "sum(s), avg(i), sum(l), max(d), min(z), max(y), min(c), max(v), bool_or(b), sum(w), min(t)",
    "sum(n) filter (where i > 2), count(*) filter (where b), sum(m) filter (where v = 'x' or d is null)",
    "sum(n) filter (where i + 0 > 2), count(*) filter (where v like '%x%')",
    "array_agg(n), array_agg(i), json_agg(v)",
    "count(distinct n), sum(distinct i), array_agg(i order by r.id)",
    "stddev(n), variance(i), var_pop(m)",
    "sum(case when b then n else 0 end), sum(n), string_agg(v, ',')",
    "sum(n * 1e20), sum(n * m * n * m * n * m * n * m * n * m), sum(m + 1e-30)",
    "count(*) + 1",
];

/// Which rows there are.
const CONDITIONS: &[&str] = &["true", "i > 1 and v <> 'xy'", "length(v) > 0", "r.id > 9000", "r.id % 3 = 0"];

fn rows<E: Engine>(db: &Database<E>) {
    let s = &mut session(db);
    ok(
        s,
        "create table r (id int primary key, b bool, s smallint, i int, l bigint, n numeric(6,2),
        m numeric(8,2) not null, w numeric, k numeric(5,-2), d date, t time, z timestamp, y timestamptz, c char(4),
        v varchar(20))",
    );
    ok(
        s,
        "insert into r select g, case g % 3 when 0 then true when 1 then false end, g % 5, nullif(g % 6, 5),
        case when g % 2 = 0 then g % 6 else 4000000000 + g % 4 end, nullif(g % 8, 7) * 0.5 - 1, (g % 7) * 0.5,
        g % 4 * 0.500, g % 5 * 100, date '2020-01-01' + g % 4, time '08:00' + g % 5 * interval '1 hour',
        timestamp '2020-01-01 00:00' + g % 3 * interval '6 hours',
        timestamptz '2020-01-01 00:00+00' + g % 2 * interval '6 hours',
        nullif(substr('abzz', g % 4, 2), 'zz'), (array['', 'x', 'xy', repeat('Größe', 4), 'Größer', null])[g % 6 + 1]
        from generate_series(1, 200) g",
    );
    ok(
        s,
        "insert into r (id, n, m, d, z, y, v) values (201, 'nan', 'nan', 'infinity', 'infinity', 'infinity', 'x'),
        (202, 2.50, 'nan', '-infinity', '-infinity', '-infinity', null), (203, null, 1, null, null, null, ''),
        (204, 9999.99, 999999.99, null, null, null, 'x')",
    );
}

/// A group has what it has if each row is loaded, which it is where it comes from a join.
fn a_group_by_bytes_has_other_values<E: Engine>(db: Database<E>) {
    rows(&db);
    let s = &mut session(&db);
    for condition in CONDITIONS {
        for aggregates in AGGREGATES {
            for keys in KEYS {
                let rest = format!("where {condition} group by {keys} order by {keys}");
                let by_bytes = text(s, &format!("select {keys}, {aggregates} from r {rest}"));
                let loaded = text(
                    s,
                    &format!("select {keys}, {aggregates} from (values (1)) o (o) join r on o = 1 {rest}"),
                );
                assert_eq!(by_bytes, loaded, "{aggregates} {rest}");
            }
            let by_bytes = text(s, &format!("select {aggregates} from r where {condition}"));
            let from = "(values (1)) o (o) join r on o = 1";
            let loaded = text(s, &format!("select {aggregates} from {from} where {condition}"));
            assert_eq!(by_bytes, loaded, "{aggregates} where {condition}");
        }
    }
}

/// A row is counted once, whether it goes by its bytes or is loaded after that was tried.
fn a_row_is_counted_twice<E: Engine>(db: Database<E>) {
    rows(&db);
    let s = &mut session(&db);
    // NaN, and a product that is too long for a word, are found behind an aggregate that could take the row
    ok(s, "create table e (id int primary key, a numeric(18,0) not null, b numeric(18,0) not null)");
    ok(
        s,
        "insert into e select g, 1, case when g % 2 = 0 then 1 else 999999999999999999 end from generate_series(1, 40) g",
    );
    let sums = "select count(*), sum(a), sum(b * b * a) from e";
    assert_eq!(text(s, sums), "40|40|19999999999999999960000000000000000040");
    ok(s, "update e set b = 'nan' where id = 7");
    assert_eq!(text(s, sums), "40|40|NaN");
    let done = text(
        s,
        "explain (analyze, costs off, timing off, summary off) select b, sum(a) from e where id < 31 group by b",
    );
    assert!(done.contains("on e (actual rows=30 loops=1)"), "{done}");
}

/// An error of an aggregate is that of the statement, and an argument that would fail does so only where it counts.
fn an_error_is_lost<E: Engine>(db: Database<E>) {
    rows(&db);
    let s = &mut session(&db);
    assert_eq!(code(s, "select json_object_agg(v, 1) from r"), "22023");
    assert_eq!(code(s, "select sum(n / 0) from r group by i"), "22012");
    assert_eq!(text(s, "select sum(n / 0) filter (where i > 100) from r"), "NULL");
    assert_eq!(code(s, "select n, count(*) from r where 1 / (r.id - 50) < 9 group by n"), "22012");
}

on_each_engine!(a_group_by_bytes_has_other_values, a_row_is_counted_twice, an_error_is_lost);
