//! Conditions that are decided by the bytes of rows.

use crate::common::{code, ok, session, text};
use scaledb_engine::Engine;
use scaledb_sql::Database;

/// Conditions that are compiled, in part or as a whole.
const CONDITIONS: &[&str] = &[
    "i = 3",
    "i <> 3",
    "3 < i",
    "i <= 3 and b",
    "i > 2::bigint",
    "i in (1, 2, null)",
    "i not in (1, 2)",
    "s < 3",
    "l >= 4000000000",
    "l = i",
    "s < i",
    "b = false",
    "b is null",
    "i is not null and (n is null or n > 2)",
    "n < 2.5",
    "n <= 2.505",
    "n = 2.505",
    "n <> 2.505",
    "n > 2.499999999",
    "n >= -1",
    "n in (1, 2.50, 7.001)",
    "n = 'nan'",
    "n > 3 and n <> 'nan'",
    "n < m",
    "n = n",
    "k < 249.9",
    "k >= 200",
    "k = 250",
    "k in (100, 150, 300.00)",
    "n < 9223372036854775807",
    "n > -99999999999999999999999",
    "w > 1.5",
    "w in (1.5, 1.500)",
    "d < date '2020-01-03'",
    "d >= timestamp '2020-01-02 12:00'",
    "d < timestamp '2020-01-02 12:00'",
    "d = timestamp '2020-01-02 00:00'",
    "timestamp '2020-01-02 12:00' > d",
    "d <> timestamp '2020-01-02 12:00'",
    "d < timestamp 'infinity'",
    "d <= date '2020-01-01' + interval '2 days'",
    "d = 'infinity'",
    "d between date '2020-01-01' and date '2020-01-02'",
    "t > time '10:00'",
    "z > timestamp '2020-01-01 10:00'",
    "z = d",
    "y < timestamptz '2020-01-02 00:00+00'",
    "y <> timestamptz 'infinity'",
    "d > y",
    "c = 'ab'",
    "c = 'ab  '",
    "c < 'b'",
    "c in ('ab', 'zz')",
    "v >= 'Größe'",
    "v = ''",
    "v in ('', 'x')",
    "v > c",
    "v = v",
    "v like 'x%' and i > 1",
    "v like '%'",
    "v like ''",
    "v like 'x'",
    "v like '%r'",
    "v like '%öß%'",
    "v not like '%ö%e%'",
    "v like 'G%ß%r'",
    "v like 'Gr_ße'",
    "v not like '_' and v like 'x\\y' or v is null",
    "v like null",
    "v not like null or b",
    "v ilike 'X%'",
    "c like 'ab%'",
    "c like 'ab'",
    "c like 'ab  '",
    "v like s::text || '%'",
    "i > 2 and i < 4 and v like '%e%'",
    "i >= 2 and i <= 1",
    "i > 0 and 3 >= i and i <> 2 and n < 2 and n >= 0",
    "i between 1 and 3 and i in (2, 3) or i = 0",
    "l > 9223372036854775807",
    "l < -9223372036854775808 or l >= 4000000100",
    "s <= 32767 and s > -32768",
    "(i = 1 and v = 'x') or (i = 2 and n > 0) or b",
    "i > 1 and length(v) > 0 and d > date '2020-01-01'",
    "i = null",
    "(n > 1) is not true",
    "not (i > 2)",
    "i > null::int or b",
    "i in (null, null)",
    "v in (null, 'x')",
    "(i > 2) = b",
];

/// A condition that is compiled holds for the rows for which it holds in an expression.
fn a_compiled_condition_passes_other_rows<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(
        s,
        "create table r (id int primary key, b bool, s smallint, i int, l bigint, n numeric(6,2),
        m numeric(8,2), w numeric, k numeric(5,-2), d date, t time, z timestamp, y timestamptz, c char(4),
        v varchar(20))",
    );
    ok(
        s,
        "insert into r select g, case g % 3 when 0 then true when 1 then false end, g % 5, nullif(g % 6, 5),
        case when g % 2 = 0 then g % 6 else 4000000000 + g end, nullif(g % 8, 7) * 0.5 - 1, (g % 7) * 0.5,
        g % 4 * 0.500, g % 5 * 100, date '2020-01-01' + g % 4, time '08:00' + g % 5 * interval '1 hour',
        timestamp '2020-01-01 00:00' + g % 9 * interval '6 hours',
        timestamptz '2020-01-01 00:00+00' + g % 7 * interval '6 hours',
        nullif(substr('abzz', g % 4, 2), 'zz'), (array['', 'x', 'xy', 'Größe', 'Größer', null])[g % 6 + 1]
        from generate_series(1, 200) g",
    );
    ok(
        s,
        "insert into r (id, n, m, d, z, y) values (201, 'nan', 'nan', 'infinity', 'infinity', 'infinity'),
        (202, 2.50, 'nan', '-infinity', '-infinity', '-infinity'), (203, null, 1, null, null, null)",
    );
    ok(s, "create index on r (i)");
    for condition in CONDITIONS {
        let whole = text(s, &format!("select id from r where {condition} order by id"));
        let evaluated = text(
            s,
            &format!("select id from r where case when {condition} then true else false end order by id"),
        );
        assert_eq!(whole, evaluated, "{condition}");
        // rows come in batches where something else is read between them
        let beside = "(select count(*) from r o where o.i = r.i) >= 0";
        let in_batches = text(s, &format!("select id from r where {condition} and {beside} order by id"));
        assert_eq!(whole, in_batches, "{condition}");
        // and many times over where there is a row outside
        let inside = format!(
            "select count(*) from r x, lateral (select id from r where {condition} offset 0) y
            where x.id <= 3"
        );
        let rows = whole.split_whitespace().count();
        assert_eq!(text(s, &inside), (3 * rows).to_string(), "{condition}");
    }
}

/// A prepared statement's conditions are compiled with the parameters of each run, which may be NULL.
fn a_compiled_condition_keeps_an_earlier_parameter<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(s, "create table r (id int primary key, i int, v text, n numeric(6,2))");
    ok(
        s,
        "insert into r select g, nullif(g % 10, 9), 'v' || g % 4, g % 8 * 0.25
        from generate_series(1, 100) g",
    );
    ok(
        s,
        "prepare p (int, text, numeric) as
        select count(*), count(*) filter (where id > 50) from r where i >= $1 and v <> $2 and n < $3 + 0.01",
    );
    ok(
        s,
        "prepare q (int, text, numeric) as
        select count(*) from r where i in ($1, $1 + 1) or v = $2 or n between $3 and $3 + 0.3",
    );
    for _ in 0..8 {
        for (i, v, n) in [
            ("2", "'v1'", "1"),
            ("null", "'v1'", "1"),
            ("5", "null", "1.5"),
            ("0", "''", "null"),
            ("0", "''", "'nan'"),
            ("8", "'v3'", "1.749"),
        ] {
            let expected = text(
                s,
                &format!(
                    "select count(*), count(*) filter (where id > 50) from r
                where case when i >= {i} and v <> {v} and n < {n}::numeric + 0.01 then true end"
                ),
            );
            assert_eq!(text(s, &format!("execute p ({i}, {v}, {n})")), expected, "{i}, {v}, {n}");
            let expected = text(
                s,
                &format!(
                    "select count(*) from r where case
                when i in ({i}, {i} + 1) or v = {v}
                    or n between {n}::numeric and {n}::numeric + 0.3 then true end"
                ),
            );
            assert_eq!(text(s, &format!("execute q ({i}, {v}, {n})")), expected, "{i}, {v}, {n}");
        }
    }
}

/// A condition that may fail is evaluated after those before it, and before those behind it.
fn a_compiled_condition_hides_an_error<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(s, "create table r (id int primary key, i int not null)");
    ok(s, "insert into r select g, g % 10 from generate_series(1, 100) g");
    assert_eq!(code(s, "select count(*) from r where 10 / i > 1 and i + 0 + 0 > 0"), "22012");
    assert_eq!(text(s, "select count(*) from r where i > 0 and 10 / i > 1"), "50");
    // the cheaper one comes first
    assert_eq!(text(s, "select count(*) from r where 10 / i > 1 and i > 0"), "50");
    assert_eq!(code(s, "select count(*) from r where i >= 0 and 10 / i > 1 and i + 0 + 0 > 0"), "22012");
    // a constant that fails does so for the first row that needs it, or never
    assert_eq!(code(s, "select count(*) from r where i < 5 and i < 1 / (id * 0)"), "22012");
    assert_eq!(text(s, "select count(*) from r where i > 10 and i < 1 / (id * 0)"), "0");
}

/// Patterns that are matched part by part match what those do that are compiled.
fn a_pattern_without_placeholders_matches_otherwise<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    for (of, pattern, matches) in [
        ("abcabc", "abc", false),
        ("abc", "abc", true),
        ("", "", true),
        ("", "%", true),
        ("a", "", false),
        ("abcabc", "%abc", true),
        ("abcabc", "abc%", true),
        ("aba", "ab%ba", false),
        ("abba", "ab%ba", true),
        ("xxabxxabyy", "%ab%aby%", true),
        ("xxabxxabyy", "%aby%ab%", false),
        ("aab", "%ab%", true),
        ("special requests", "%special%requests%", true),
        ("requests special", "%special%requests%", false),
        ("größe", "%ö%", true),
        ("größe", "gr%ß%e", true),
        ("a%b", "a\\%b", true),
        ("axb", "a_b", true),
    ] {
        let answer = text(s, &format!("select '{of}' like '{pattern}', '{of}' not like '{pattern}'"));
        assert_eq!(answer, if matches { "t|f" } else { "f|t" }, "{of} like {pattern}");
    }
}

/// Sums of numbers that begin short are the sums of long ones, whatever their scales.
fn a_sum_of_short_numbers_is_another<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    let sums = |from: &str| {
        format!("select sum(x), avg(x), sum(x * (1 - x)), sum(x + 1.5 - x) from (values {from}) v (x)")
    };
    for (from, expected) in [
        ("(1.50), (2.25)", "3.75|1.8750000000000000|-3.5625|3.00"),
        ("(1.5), (2.250), (null)", "3.750|1.8750000000000000|-3.562500|3.000"),
        (
            "(9223372036854775807), (9223372036854775807.0)",
            "18446744073709551614.0|9223372036854775807.0|-170141183460469231676347071494755450884.00|3.0",
        ),
        ("('nan'::numeric), (1.0)", "NaN|NaN|NaN|NaN"),
        ("(1.0), ('infinity'::numeric)", "Infinity|Infinity|-Infinity|NaN"),
    ] {
        assert_eq!(text(s, &sums(from)), expected, "{from}");
    }
    // operators within each other, more of them than are computed at once, of short numbers and of long ones
    let chain = format!("x{}", " + x".repeat(40));
    let chains = format!("select sum({chain}) from (values (1.5), (10.0 ^ 30)) v (x)");
    assert_eq!(text(s, &chains), "41000000000000000000000000000061.5000000000000000");
}

on_each_engine!(
    a_compiled_condition_passes_other_rows,
    a_compiled_condition_keeps_an_earlier_parameter,
    a_compiled_condition_hides_an_error,
    a_pattern_without_placeholders_matches_otherwise,
    a_sum_of_short_numbers_is_another,
);
