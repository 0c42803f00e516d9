//! Window functions, beside what `slt/windows.sql` compares with PostgreSQL.

use crate::common::{code, ok, session, text};
use scaledb_engine::Engine;
use scaledb_sql::Database;

fn a_long_frame_is_not_read_again_for_each_row<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    // read again for each row, these would be some thousand million rows
    ok(s, "set statement_timeout = '60s'");
    let frame = "order by g rows between 25000 preceding and 5 preceding";
    let sql = format!(
        "select count(*), sum(n), sum(s), sum(a), min(i), max(x) from (select g,
           count(*) over w n, sum(g) over w s, (avg(g) over w)::int8 a, min(g) over w i, max(-g) over w x from generate_series(1, 50000) g window w as ({frame})) q where g > 25005"
    );
    let rows = 50_000_i64 - 25_005;
    let (length, middle) = (24_996, |g: i64| 2 * g - 25_005);
    let sums: i64 = (25_006..=50_000).map(|g| middle(g) * length / 2).sum();
    // half away from zero
    let averages: i64 = (25_006..=50_000).map(|g| (middle(g) + 1).div_euclid(2)).sum();
    assert_eq!(text(s, &sql), format!("{rows}|{}|{sums}|{averages}|6|-6", rows * length));
    let sql = "select sum(c), sum(t), max(m) from (select sum(g) over w c, count(*) over (order by g / 10
        groups between 1000 preceding and 1000 following exclude ties) t, max(g) over w m from generate_series(1, 50000) g
        window w as (order by g rows between unbounded preceding and unbounded following exclude current row)) q";
    let all = 50_000_i64 * 50_001 / 2;
    let mut ties = 0_i64;
    for group in 0..=5_000_i64 {
        let size = |group: i64| match group {
            0 => 9,
            5_000 => 1,
            _ => 10,
        };
        let near: i64 = ((group - 1_000).max(0)..=(group + 1_000).min(5_000)).map(size).sum();
        ties += size(group) * (near - size(group) + 1);
    }
    assert_eq!(text(s, sql), format!("{}|{ties}|50000", all * 49_999));
}

fn frames_take_parameters<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(s, "create table t (id int primary key, d date)");
    ok(s, "insert into t select g, date '2020-01-01' + g from generate_series(1, 6) g");
    ok(
        s,
        "prepare p as select string_agg(n::text, ' ' order by id) from
        (select id, sum(id) over (order by id rows between $1 preceding and $2 following) n from t) q",
    );
    assert_eq!(text(s, "execute p(1, 0)"), "1 3 5 7 9 11");
    assert_eq!(text(s, "execute p(0, 2)"), "6 9 12 15 11 6");
    assert_eq!(code(s, "execute p(-1, 0)"), "22013");
    assert_eq!(code(s, "execute p(1, null)"), "22004");
    ok(s, "prepare q as select string_agg(n::text, ' ' order by id) from
        (select id, count(*) over (order by d range $1 preceding) n, lag(id, $2) over (order by id) from t) q");
    assert_eq!(text(s, "execute q('2 days', 1)"), "1 2 3 3 3 3");
}

fn a_view_keeps_its_frames<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(s, "create table t (id int primary key, g int)");
    ok(s, "insert into t values (1, 1), (2, 1), (3, 2)");
    ok(s, "create view v as select id, sum(id) over (w rows between unbounded preceding and unbounded following exclude
        current row) a, count(*) over (order by g groups current row exclude ties) b from t window w as (partition by g)");
    // the session that reads it parses its text
    let other = &mut session(&db);
    let rows = ok(other, "select * from v order by id").rows;
    let rows: Vec<Vec<&str>> =
        rows.iter().map(|row| row.iter().map(|value| value.as_deref().unwrap_or("-")).collect()).collect();
    assert_eq!(rows, [["1", "2", "1"], ["2", "1", "1"], ["3", "-", "1"]]);
}

fn what_is_computed_above_a_window_is_not_read_below_it<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(s, "create table t (id int primary key)");
    ok(s, "insert into t values (1), (2), (3)");
    for (computed, wanted) in [
        ("distinct (select max(x.id) from t x where x.id < y.id), max(y.id) over ()", "3"),
        ("generate_series(1, 2), max(y.id) over ()", "6"),
        ("distinct random(), max(y.id) over ()", "3"),
    ] {
        let sql = format!("select id, (select count(*) from (select {computed} from t y) q) from t");
        // the subquery depends on nothing, and is run once
        let plan = ok(s, &format!("explain {sql}")).rows;
        let lines = plan.iter().filter_map(|row| row[0].as_deref());
        assert!(lines.clone().any(|line| line.contains("InitPlan")), "{plan:?}");
        let answer = text(s, &format!("{sql} order by id limit 1"));
        assert_eq!(answer, format!("1|{wanted}"), "{sql}");
    }
    let sql = "select t.id, q.* from t, lateral (select distinct (select max(x.id) from t x where x.id < t.id) m,
        max(y.id) over (order by y.id) n from t y where y.id <= t.id) q where exists (select from (select distinct
        (select max(x.id) from t x where x.id < t.id), max(y.id) over () from t y) r) order by 1, 3";
    assert_eq!(ok(s, sql).rows.len(), 6);
}

on_each_engine!(
    a_long_frame_is_not_read_again_for_each_row,
    frames_take_parameters,
    a_view_keeps_its_frames,
    what_is_computed_above_a_window_is_not_read_below_it,
);
