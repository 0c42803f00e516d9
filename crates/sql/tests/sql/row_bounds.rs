//! Comparisons of rows, `(a, b) > (1, 2)`, as bounds of ranges of indexes.

use crate::common::{code, ok, session, text};
use scaledb_engine::Engine;
use scaledb_sql::{Database, Session};

/// The lines of a plan.
fn shape<E: Engine>(s: &mut Session<E>, sql: &str) -> String {
    text(s, &format!("explain (costs off) {sql}"))
}

const TABLES: &str = "
    create table p (a int, b bigint, c text, d int, n numeric(6,2), f int, primary key (a, b, c));
    create index p_desc on p (d desc, b desc, a desc);
    create index p_mixed on p (f, b desc);
    insert into p select g % 10, g % 7, 'c' || g % 5, nullif(g % 9, 8), g % 6, g % 4
    from generate_series(1, 300) g on conflict do nothing";

/// Queries of the table, and the condition of the index and the filter in their plans.
const PLANS: &[(&str, &str, &str)] = &[
    ("(a, b) > (1, 2)", "(ROW(a, b) > ROW(1, '2'::bigint))", ""),
    ("(a, b, c) >= (1, 2, 'c3')", "(ROW(a, b, c) >= ROW(1, '2'::bigint, 'c3'::text))", ""),
    ("(a, b, c) < (1, 2, 'c3')", "(ROW(a, b, c) < ROW(1, '2'::bigint, 'c3'::text))", ""),
    ("(4, 2) >= (a, b)", "(ROW(a, b) <= ROW(4, '2'::bigint))", ""),
    ("a = 1 and (b, c) > (2, 'x')", "((a = 1) AND (ROW(b, c) > ROW('2'::bigint, 'x'::text)))", ""),
    (
        "(a, b) > (1, 2) and (a, b) <= (5, 0)",
        "((ROW(a, b) > ROW(1, '2'::bigint)) AND (ROW(a, b) <= ROW(5, '0'::bigint)))",
        "",
    ),
    (
        "a >= 1 and (a, b) > (1, 2) and a < 7",
        "((a >= 1) AND (ROW(a, b) > ROW(1, '2'::bigint)) AND (a < 7))",
        "",
    ),
    // the index bounds the rows; which of them fit, it does not say
    ("(a, c) > (1, 'c2')", "(a >= 1)", "((a > 1) OR ((a = 1) AND (c > 'c2'::text)))"),
    ("(d, b) < (3, 4) and d > 0", "((d > 0) AND (ROW(d, b) < ROW(3, '4'::bigint)))", ""),
    ("(f, b) > (1, 2)", "(f >= 1)", "((f > 1) OR ((f = 1) AND (b > 2)))"),
    // what is computed behind the first field may fail: it is not, where the fields before it decide
    ("(a, b) > (1, 7 / d)", "(a >= 1)", "CASE WHEN (a = 1) THEN (b > (7 / d)) ELSE (a > 1) END"),
    // a column that is not the index's
    ("(a, n) >= (1, 2)", "(a >= 1)", "((a > 1) OR ((a = 1) AND (n >= "),
    // forms that people write for it
    ("(a > 1 or (a = 1 and b > 2))", "(ROW(a, b) > ROW(1, '2'::bigint))", ""),
    ("(a > 1 or (a = 1 and b < 2))", "(a >= 1)", "((a > 1) OR ((a = 1) AND (b < 2)))"),
];

fn a_comparison_of_rows_bounds_a_range<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(s, TABLES);
    for (condition, index, filter) in PLANS {
        let plan = shape(s, &format!("select * from p where {condition}"));
        assert!(plan.contains(&format!("Index Cond: {index}")), "{condition}:\n{plan}");
        match *filter {
            "" => assert!(!plan.contains("Filter"), "{condition}:\n{plan}"),
            filter => assert!(plan.contains(&format!("Filter: {filter}")), "{condition}:\n{plan}"),
        }
    }
    // a page: the rows behind the last one, in order
    for (order, op, backward) in [("a, b", ">", ""), ("a desc, b desc", "<", " Backward")] {
        let plan = shape(s, &format!("select * from p where (a, b) {op} (4, 2) order by {order} limit 3"));
        let wanted = format!("Index Scan{backward} using p_pkey on p");
        assert!(plan.contains(&wanted) && !plan.contains("Sort"), "{plan}");
    }
    let plan =
        shape(s, "select * from p where (d, b, a) < (4, 2, 1) order by d desc, b desc, a desc limit 3");
    assert!(plan.contains("Index Scan using p_desc") && !plan.contains("Sort"), "{plan}");
    // prepared, where a parameter may be NULL
    ok(s, "prepare page (int, bigint) as select count(*) from p where (a, b) > ($1, $2)");
    let plan = text(s, "explain (costs off) execute page (4, 2)");
    assert!(plan.contains("Index Cond: (ROW(a, b) > ROW("), "{plan}");
    for (values, wanted) in [
        ("4, 2", "a > 4 or a = 4 and b > 2"),
        ("4, null", "a > 4"),
        ("null, 2", "false"),
        ("4, 9223372036854775807", "a > 4"),
        ("-1, 0", "true"),
    ] {
        let wanted = text(s, &format!("select count(*) from p where {wanted}"));
        assert_eq!(text(s, &format!("execute page ({values})")), wanted, "{values}");
    }
    // rows outside of the bounds are not read
    let page = "select * from p where (a, b) > (9, 5) order by a, b, c limit 2";
    let plan = text(s, &format!("explain (analyze, costs off, timing off, summary off) {page}"));
    assert!(!plan.contains("Removed"), "{plan}");
    // no value at all, and values of other types
    assert_eq!(text(s, "select count(*) from p where (a, b) > (null, 1)"), "0");
    assert_eq!(code(s, "select * from p where (a, b) > (1, 'x')"), "22P02");
}

/// A generator of numbers.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or(0) % n
    }

    fn of<'t>(&mut self, list: &[&'t str]) -> &'t str {
        list[self.below(list.len())]
    }
}

/// A condition with comparisons of rows.
fn condition(dice: &mut Dice) -> String {
    let mut parts = Vec::new();
    for _ in 0..1 + dice.below(2) {
        let length = 1 + dice.below(4);
        let columns: Vec<&str> = match dice.below(3) {
            0 => ["x", "y", "z", "id"][..length].to_vec(),
            1 => ["y", "z", "x", "w"][..length].to_vec(),
            _ => (0..length).map(|_| dice.of(&["x", "y", "z", "w", "id"])).collect(),
        };
        let values = columns.iter().map(|&column| match (column, dice.below(12)) {
            (_, 0) => "null".to_owned(),
            (_, 1) => "w + 1".to_owned(),
            ("z", _) => format!("'{}'", dice.of(&["", "a", "b", "bb", "c"])),
            (_, 2) => "2147483647".to_owned(),
            _ => dice.below(5).to_string(),
        });
        let mut values: Vec<String> = values.collect();
        for (column, value) in columns.iter().zip(&mut values) {
            if *column == "z" && !value.starts_with('\'') {
                *value = "'b'".to_owned();
            }
        }
        let op = dice.of(&["<", "<=", ">", ">="]);
        let (columns, values) = (columns.join(", "), values.join(", "));
        let row = if length == 1 { "row" } else { "" };
        parts.push(match dice.below(4) {
            0 => format!("{row}({values}) {op} {row}({columns})"),
            _ => format!("{row}({columns}) {op} {row}({values})"),
        });
    }
    if dice.below(3) == 0 {
        parts.push(format!("{} {} {}", dice.of(&["x", "y"]), dice.of(&["=", "<", ">="]), dice.below(4)));
    }
    if dice.below(6) == 0 {
        parts.push("y in (1, 3)".to_owned());
    }
    parts.join(" and ")
}

/// The rows with each index are those without.
fn bounds_leave_out_no_row_and_let_none_through<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    for name in ["plain", "ascending", "descending", "mixed"] {
        ok(s, &format!("create table {name} (id int, x int, y int, z text, w int not null)"));
        ok(
            s,
            &format!(
                "insert into {name} select g, nullif(g % 5, 4), nullif(g * 7 % 6, 5),
                (array['', 'a', 'b', 'bb', null])[g * 11 % 5 + 1], g % 4 from generate_series(1, 400) g"
            ),
        );
    }
    ok(s, "create index on ascending (x, y, z, id)");
    ok(s, "create index on ascending (y, z, x, w)");
    ok(s, "create unique index on descending (x desc, y desc, z desc, id desc)");
    ok(s, "create index on descending (y desc nulls last, z desc nulls last)");
    ok(s, "create index on mixed (x nulls first, y nulls first, z desc)");
    ok(s, "create index on mixed (y, z desc nulls last)");
    let mut dice = Dice(20_261_126);
    let mut used = 0;
    for _ in 0..500 {
        let condition = condition(&mut dice);
        let wanted = text(s, &format!("select id from plain where {condition} order by id"));
        for name in ["ascending", "descending", "mixed"] {
            let got = text(s, &format!("select id from {name} where {condition} order by id"));
            assert_eq!(got, wanted, "{name}: {condition}");
            let page = "order by x nulls first, y nulls first, z, id limit 7";
            let got = text(s, &format!("select id from {name} where {condition} {page}"));
            let page = text(s, &format!("select id from plain where {condition} {page}"));
            assert_eq!(got, page, "{name}: {condition}");
        }
        used +=
            usize::from(shape(s, &format!("select id from ascending where {condition}")).contains("ROW("));
    }
    assert!(used > 100, "{used} bounds of several columns");
}

on_each_engine!(a_comparison_of_rows_bounds_a_range, bounds_leave_out_no_row_and_let_none_through);
