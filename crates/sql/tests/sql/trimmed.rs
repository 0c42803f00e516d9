//! Columns that joins do not keep and scans do not load, because nothing seems to read them.

use crate::common::{ok, session, text};
use scaledb_engine::Engine;
use scaledb_sql::Database;

/// Queries that read columns of `x`, `y` and `z` in places that a plan's operators reach in different ways.
const QUERIES: &[&str] = &[
    "select x.id, y.b from x join y on x.a = y.a where y.c > 2 and x.c < 8",
    "select count(*) from x join y on x.a = y.a where y.b <> x.b and y.t like '%1%'",
    "select x.id from x left join y on x.a = y.a and y.b > x.b where y.t is null",
    "select x.id, x.t, y.id from x left join y on x.a = y.a and y.b > x.b where x.id < 9",
    "select x.t, count(y.id), min(y.t) from (select * from x where x.id < 6) x left join y on x.a = y.a group by x.t",
    "select x.id, (select count(z.c) from y left join z on z.c = y.c and z.b = x.b where y.a = x.a and y.id < 9) from x",
    "select x.t, y.t from x full join y on x.a = y.a and x.b = y.b",
    "select y.a, sum(x.b) filter (where y.c > x.c) from x join y on x.a = y.a group by y.a having max(y.b) > 1",
    "select x.id from x join y on x.a = y.a join z on z.a = y.b order by z.t, x.id, y.id limit 7",
    "select (select max(z.b) from z where z.a = y.a and z.c > x.c) from x join y on x.a = y.a",
    "select x.id from x where exists (select 1 from y join z on y.a = z.a where y.b = x.b and z.c > x.c)",
    "select x.id from x where x.a in (select y.a from y join z on z.b = y.b where z.t like 'z%' and y.c > 1)",
    "select x.id, v.m from x join y on x.a = y.a, lateral (select y.b + z.b m from z where z.a = x.a) v",
    "select distinct on (x.a) x.a, y.t from x join y on x.a = y.a order by x.a, y.c desc, y.id, x.id",
    "select x.id, row_number() over (partition by y.a order by y.c, y.id, x.id) from x join y on x.a = y.a",
    "select sum(x.c) over (partition by y.c order by y.b, y.id, x.id) from y join x on y.a = x.a where x.id < 9",
    "select x.a from x join y on x.a = y.a union select z.b from z join y on z.a = y.a where y.t > 'y2'",
    "select x.b from x join y on x.a = y.a union all select z.b from z join y on z.a = y.a where y.t > 'y2'",
    "with w as (select x.a, y.t, y.c from x join y on x.a = y.a) select p.t, q.c from w p join w q on p.a = q.a",
    "with recursive r (n, t) as (select x.a, x.t from x where x.id = 1 union
        select y.b, z.t from r join y on y.a = r.n join z on z.b = y.b) select * from r",
    "select y from x join y on x.a = y.a where x.c = 3",
    "select generate_series(1, y.b), x.t from x join y on x.a = y.a where y.c < 3",
    "select x.id, z.t from x join z on z.id = x.a where z.b > 0",
    "select x.id, z.t from x join y on x.a = y.a left join z on z.id = y.b + 1 and z.c = x.c",
    "select x.id from x join z on (z.a, z.b) = (x.a, x.b) where z.c in (1, 2, 3) and x.t is not null",
    "select string_agg(y.t, ',' order by y.b, y.id, x.id) from x join y on x.a = y.a group by x.c",
    "select x.a, grouping(x.a), count(y.t) from x join y on x.a = y.a where y.c <> 4 group by rollup (x.a)",
    "select case when y.b > 1 then x.t else y.t end from x join y on x.a = y.a and y.c between 1 and 5",
    "select x.id from x join (select a, max(b) m, min(t) n from y group by a) g on g.a = x.a where g.m > x.b",
];

/// What is read is there: each query answers as it does over rows that were kept with all of their columns.
fn a_column_that_is_read_somewhere_is_not_missing<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    for name in ["x", "y", "z"] {
        ok(s, &format!("create table {name} (id int primary key, a int, b int, c int, t text)"));
        ok(
            s,
            &format!(
                "insert into {name} select g, nullif(g % 7, 5), g % 4, g % 9, '{name}' || g % 6
                from generate_series(1, 40) g"
            ),
        );
    }
    ok(s, "create index on z (a, b)");
    ok(s, "create index on y (b)");
    let kept = "with recursive x as materialized (select * from kx), y as materialized (select * from ky),
        z as materialized (select * from kz)";
    for name in ["x", "y", "z"] {
        ok(s, &format!("create view k{name} as select * from {name} offset 0"));
    }
    for analyzed in [false, true] {
        for query in QUERIES {
            let sorted = |text: String| {
                let mut lines: Vec<String> = text.split(' ').map(str::to_owned).collect();
                lines.sort();
                lines
            };
            let of_kept = match query.strip_prefix("with recursive ").or_else(|| query.strip_prefix("with "))
            {
                Some(rest) => format!("{kept}, {rest}"),
                None => format!("{kept} {query}"),
            };
            assert_eq!(sorted(text(s, query)), sorted(text(s, &of_kept)), "{query}, analyzed: {analyzed}");
        }
        ok(s, "analyze");
    }
}

on_each_engine!(a_column_that_is_read_somewhere_is_not_missing);
