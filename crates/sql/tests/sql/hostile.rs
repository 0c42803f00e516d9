//! Statements that are meant to do harm: too deep, too long, too large. Each ends with a typed error or a result; the
//! session goes on, and memory does not grow beyond the limits.

use crate::common::{acc, code, ok, run, session, text};
use scaledb_acc::Acc;
use scaledb_sql::Session;

const DEPTH: usize = 50_000;

/// What has been answered, if it is an error; the session goes on.
fn outcome(session: &mut Session<Acc>, sql: &str) -> String {
    let code = match run(session, sql) {
        Ok(_) => "ok".to_owned(),
        Err(error) => error.code().as_str().to_owned(),
    };
    assert_eq!(text(session, "select 1"), "1", "after {}", &sql[..sql.len().min(60)]);
    code
}

/// `sql`, run on a thread with the stack that a client's thread has.
fn on_a_clients_thread(sql: String) -> String {
    let thread = scaledb_sync::thread::spawn(move || outcome(&mut session(&acc()), &sql));
    thread.join().expect("it neither panics nor overflows its stack")
}

fn nested(open: &str, inner: &str, close: &str) -> String {
    format!("select {}{inner}{}", open.repeat(DEPTH), close.repeat(DEPTH))
}

#[test]
fn deep_nesting_is_refused_in_order() {
    let cases = [
        ("parentheses", nested("(", "1", ")")),
        ("unary minus", nested("- ", "1", "")),
        ("NOT", nested("not ", "true", "")),
        ("CASE", nested("case when true then ", "1", " end")),
        ("subselects", nested("(select ", "1", ")")),
        ("arrays", nested("array[", "1", "]")),
        ("casts", nested("cast(", "1", " as int)")),
        ("calls", nested("abs(", "1", ")")),
        ("EXISTS", nested("exists (select ", "1", ")")),
        ("joins", format!("select * from {}(select 1) a{}", "(".repeat(DEPTH), ")".repeat(DEPTH))),
        ("from", format!("{}select 1{}", "select * from (".repeat(DEPTH), ") q".repeat(DEPTH))),
        ("with", format!("{}select 1{}", "with a as (".repeat(DEPTH), ") select 1".repeat(DEPTH))),
        ("open", format!("select {}", "(".repeat(DEPTH))),
        ("open brackets", format!("select {}", "array[".repeat(DEPTH))),
        ("types", format!("select null::int{}", "[]".repeat(DEPTH))),
        ("explain", format!("{}select 1", "explain ".repeat(DEPTH))),
        ("comments", format!("select {}1{}", "/*".repeat(DEPTH), "*/".repeat(DEPTH))),
    ];
    for (what, sql) in cases {
        let code = on_a_clients_thread(sql);
        assert!(["54001", "42601", "0A000", "ok"].contains(&code.as_str()), "{what}: {code}");
    }
}

/// The parser tries again what it has misread: with each level of nesting that must not double.
#[test]
fn nested_calls_are_answered_and_nested_mistakes_refused() {
    let nested = |open: &str, inner: &str, close: &str| {
        format!("select {}{inner}{}", open.repeat(100), close.repeat(100))
    };
    assert_eq!(on_a_clients_thread(nested("abs(", "1", ")")), "ok");
    assert_eq!(on_a_clients_thread(nested("coalesce(null, ", "1", ")")), "ok");
    for sql in [
        nested("array[", "1", ""),
        nested("cast(", "1 2", " as int)"),
        nested("case when true then ", "1 2", " end"),
        nested("abs(", "1 2", ")"),
    ] {
        let code = on_a_clients_thread(sql);
        assert!(["42601", "54001"].contains(&code.as_str()), "{code}");
    }
}

/// Each reads the one before it, so that a row of the last one takes all of them.
#[test]
fn chains_of_with_queries_are_answered_or_refused() {
    let chain = |count: usize, form: &str| {
        let each = (1..count).map(|n| format!("c{n} as {form} (select a + 1 as a from c{} limit 5)", n - 1));
        let each: Vec<String> = each.collect();
        format!("with c0 as (select 1 as a), {} select a from c{}", each.join(", "), count - 1)
    };
    for form in ["", "materialized", "not materialized"] {
        assert_eq!(on_a_clients_thread(chain(200, form)), "ok", "{form}");
        assert_eq!(on_a_clients_thread(chain(1_200, form)), "54001", "{form}");
    }
    let recursive = chain(1_200, "").replacen("with ", "with recursive ", 1);
    assert_eq!(on_a_clients_thread(recursive), "54001");
}

#[test]
fn long_chains_are_answered_or_refused() {
    let chain = |link: &str| format!("select 1 {}", link.repeat(DEPTH));
    let cases = [
        ("AND", format!("select true {}", "and true ".repeat(DEPTH))),
        ("OR", format!("select false {}", "or false ".repeat(DEPTH))),
        ("mixed", format!("select true {}", "and false or true ".repeat(DEPTH / 2))),
        ("plus", chain("+ 1 ")),
        ("concatenation", format!("select 'a' {}", "|| 'b' ".repeat(DEPTH))),
        ("casts", chain("::int")),
        ("comparisons", format!("select 1 {}", "= 1 ".repeat(DEPTH))),
        ("unions", chain("union all select 1 ")),
        ("intersects", chain("intersect select 1 ")),
        ("subscripts", format!("select array[1]{}", "[1]".repeat(DEPTH))),
        ("joins", format!("select 1 from (select 1) a {}", "cross join (select 1) b ".repeat(2_000))),
        ("collate", format!("select 'a' {}", "collate \"C\" ".repeat(DEPTH))),
        ("is null", chain("is null ")),
        ("json", format!("select '[]'::jsonb {}", "-> 0 ".repeat(DEPTH))),
    ];
    for (what, sql) in cases {
        let code = on_a_clients_thread(sql);
        let known = ["54001", "42601", "0A000", "ok", "42804", "42883", "54011", "42712", "42846", "54000"];
        assert!(known.contains(&code.as_str()), "{what}: {code}");
    }
}

#[test]
fn long_lists_are_answered() {
    let db = acc();
    let s = &mut session(&db);
    ok(s, "create table t (id int primary key); insert into t values (7)");
    let list = (0..100_000).map(|n| n.to_string()).collect::<Vec<_>>().join(",");
    assert_eq!(text(s, &format!("select id from t where id in ({list})")), "7");
    assert_eq!(text(s, &format!("select id from t where id not in ({list}) or id = 7")), "7");
    assert_eq!(text(s, &format!("select array_length(array[{list}], 1)")), "100000");
    assert_eq!(text(s, &format!("select id from t where id = any (array[{list}])")), "7");
    assert_eq!(text(s, &format!("select 7 = any ('{{{list}}}'::int[])")), "t");
    let values = (0..20_000).map(|n| format!("({n})")).collect::<Vec<_>>().join(",");
    assert_eq!(text(s, &format!("select count(*) from (values {values}) v")), "20000");
}

#[test]
fn values_that_are_too_large_are_refused() {
    let db = acc();
    let s = &mut session(&db);
    for (sql, expected) in [
        ("select repeat('x', 2147483647)", &["54000"][..]),
        ("select lpad('', 2147483647, 'xy')", &["54000"]),
        ("select rpad('', 2147483647, 'xy')", &["54000"]),
        ("select repeat(repeat('x', 30000), 30000)", &["54000"]),
        ("select repeat('x', 200000000) || repeat('x', 200000000)", &["54000", "53200"]),
        ("select concat(repeat('x', 200000000), repeat('x', 200000000))", &["54000", "53200"]),
        ("select replace(repeat('x', 100000), 'x', repeat('y', 100000))", &["54000", "53200"]),
        ("select regexp_replace(repeat('x', 100000), 'x', repeat('y', 100000), 'g')", &["54000", "53200"]),
        ("select translate('a', 'a', repeat('x', -5))", &["ok"]),
        ("select format('%2147483647s', 'x')", &["54000", "22003", "22023"]),
        ("select array_fill(1, array[2147483647])", &["54000", "53200", "42883"]),
        ("select array_fill(1, array[50000, 50000])", &["54000", "53200", "42883"]),
        ("select 9.9::numeric ^ 999999", &["22003"]),
        ("select 1e131071::numeric * 10", &["22003"]),
        ("select power(10::numeric, 200000)", &["22003"]),
        ("select factorial(100000)", &["22003"]),
        ("select exp(1000000::numeric)", &["22003"]),
        ("select 9223372036854775807 + 1", &["22003"]),
        ("select (-9223372036854775807 - 1) / -1", &["22003"]),
        ("select (-9223372036854775807 - 1) % -1", &["ok"]),
        ("select abs(-9223372036854775807 - 1)", &["22003"]),
        ("select '1e1000000000'::numeric", &["22003"]),
        ("select round(1.5, 2147483647)", &["ok", "22003"]),
        ("select timestamp '294276-12-31' + interval '2147483647 days'", &["22008"]),
        ("select date '5874897-12-31' + 2147483647", &["22008"]),
        ("select interval '2147483647 years'", &["22015", "22008"]),
        ("select to_char(1, repeat('9', 100000))", &["22023", "ok", "42601"]),
        ("select array_agg(repeat('x', 100000)) from generate_series(1, 10000)", &["53200"]),
        ("select string_agg(repeat('x', 100000), '') from generate_series(1, 10000)", &["53200", "54000"]),
        ("select jsonb_agg(repeat('x', 100000)) from generate_series(1, 10000)", &["53200", "54000"]),
        ("select decode(repeat('ab', 300000000), 'hex')", &["54000"]),
    ] {
        let code = outcome(s, sql);
        assert!(expected.contains(&code.as_str()), "{sql}: {code}");
    }
}

#[test]
fn results_that_are_too_large_to_keep_are_refused() {
    let db = acc();
    db.set_max_query_memory(16 << 20);
    let s = &mut session(&db);
    ok(s, "set work_mem = '4MB'");
    for sql in [
        "select * from generate_series(1, 9000000000) g order by g desc",
        "select count(*) from (select distinct g from generate_series(1, 10000000) g) x",
        "select g, count(*) from generate_series(1, 10000000) g group by g",
        "select * from generate_series(1, 10000000) a join generate_series(1, 10000000) b on a = b",
        "select array(select g from generate_series(1, 10000000) g)",
        "select row_number() over (partition by g) from generate_series(1, 10000000) g",
        "select g from generate_series(1, 10000000) g union select 0",
        "with x as materialized (select * from generate_series(1, 10000000)) select count(*) from x a, x b",
        "select array_agg(g) from generate_series(1, 10000000) g",
        "select count(distinct g) from generate_series(1, 10000000) g",
        "begin; declare c cursor for select * from generate_series(1, 10000000)",
        "with recursive r(n) as (select 1 union all select n + 1 from r) select count(*) from r",
    ] {
        assert_eq!(code(s, sql), "53200", "{sql}");
        ok(s, "rollback");
    }
    // what is not kept has no limit
    assert_eq!(text(s, "select count(*) from generate_series(1, 300000)"), "300000");
    assert_eq!(text(s, "select g from generate_series(1, 9000000000000) g limit 2"), "1 2");
    assert_eq!(text(s, "select 1 limit 9223372036854775807 offset 0"), "1");
    assert_eq!(text(s, "select 1 limit 1 offset 9223372036854775807"), "");
    assert_eq!(
        text(s, "select g from generate_series(1, 100) g order by g limit 2 offset 9223372036854775807"),
        ""
    );
}

#[test]
fn files_and_programs_of_the_server_are_out_of_reach() {
    let db = acc();
    let s = &mut session(&db);
    ok(s, "create table t (x text)");
    for sql in [
        "copy t from '/etc/passwd'",
        "copy t to '/tmp/out'",
        "copy t from program 'id'",
        "copy t to program 'cat > /tmp/out'",
        "copy (select 1) to program 'id'",
        "copy (select 1) to '/tmp/out' with (format csv)",
    ] {
        assert_eq!(code(s, sql), "42501", "{sql}");
    }
    for sql in [
        "select pg_read_file('/etc/passwd')",
        "select pg_ls_dir('/')",
        "select lo_import('/etc/passwd')",
        "load '/tmp/x.so'",
        "create function f() returns int language c as '/lib/x.so', 'system'",
        "create extension dblink",
    ] {
        let code = outcome(s, sql);
        assert!(["42883", "42501", "0A000", "42601"].contains(&code.as_str()), "{sql}: {code}");
    }
}

#[test]
fn a_parameter_without_a_value_is_an_error() {
    let db = acc();
    let s = &mut session(&db);
    ok(s, "create table t (id int primary key)");
    for sql in [
        "select $1 || 'x'",
        "select id from t order by 1, $2",
        "insert into t values ($1)",
        "copy (select $1) to stdout",
        "begin; declare c cursor for select $1",
        "explain analyze select $1",
        "create table u as select $1",
    ] {
        let code = code(s, sql);
        assert!(["42P02", "0A000"].contains(&code.as_str()), "{sql}: {code}");
        let _ = run(s, "rollback");
    }
}

#[test]
fn a_session_hoards_no_statements_and_portals() {
    let db = acc();
    let s = &mut session(&db);
    let mut prepared = 0;
    let error = loop {
        match s.parse(&format!("s{prepared}"), "select 1", &[]) {
            Ok(()) => prepared += 1,
            Err(error) => break error,
        }
    };
    assert_eq!((error.code().as_str(), prepared), ("53400", 10_000));
    ok(s, "begin");
    let mut bound = 0;
    let error = loop {
        match s.bind(&format!("p{bound}"), "s0", &[], &[]) {
            Ok(()) => bound += 1,
            Err(error) => break error,
        }
    };
    assert_eq!((error.code().as_str(), bound), ("53400", 1_000));
    ok(s, "rollback; deallocate all");
    s.parse("again", "select 1", &[]).expect("there is room again");
}

#[test]
fn what_sessions_keep_has_a_limit_together() {
    let db = acc();
    db.set_max_query_memory(64 << 20);
    {
        let (a, b) = (&mut session(&db), &mut session(&db));
        // values that are bound
        a.parse("s", "select length($1)", &[25]).expect("a statement");
        ok(a, "begin");
        let value = vec![b'x'; 10 << 20];
        let bound = (0..20).take_while(|n| a.bind(&format!("p{n}"), "s", &[], &[Some(&value)]).is_ok());
        assert_eq!(bound.count(), 6);
        // there is nothing left for others, until the first is done
        assert_eq!(
            code(b, "select count(*) from (select distinct g from generate_series(1, 100000) g) x"),
            "53200"
        );
        ok(a, "rollback");
        assert_eq!(
            text(b, "select count(*) from (select distinct g from generate_series(1, 100000) g) x"),
            "100000"
        );
        // rows of cursors
        ok(b, "begin");
        let declare = |n: usize| {
            format!("declare c{n} cursor for select repeat('x', 1000) from generate_series(1, 10000)")
        };
        let error = (0..20).find_map(|n| run(b, &declare(n)).err()).expect("a limit");
        assert_eq!(error.code().as_str(), "53200");
        ok(b, "rollback");
        // texts of statements
        let long = format!("select '{}'", "x".repeat(1 << 20));
        let error = (0..20).find_map(|n| a.parse(&format!("l{n}"), &long, &[]).err()).expect("a limit");
        assert_eq!(error.code().as_str(), "53200");
    }
    assert_eq!(db.query_memory(), 0, "all is given back");
}

#[test]
fn a_search_in_one_long_text_ends_when_it_is_cancelled() {
    let db = acc();
    let s = &mut session(&db);
    let long = "repeat('ab', 1000000)";
    for sql in [
        // many matches, and many steps for one
        format!("select length(regexp_replace({long}, '(a|b|ab)*?', 'x', 'g'))"),
        format!("select regexp_count({long}, '(a|ab)(b|)+?')"),
        format!("select regexp_match({long}, '(a|ab)*(b|ba)*?$')"),
        format!("select regexp_split_to_array({long}, 'b')"),
    ] {
        ok(s, "set statement_timeout = 20");
        assert_eq!(code(s, &sql), "57014", "{sql}");
        ok(s, "reset statement_timeout");
        assert_eq!(text(s, "select 1"), "1");
    }
}
