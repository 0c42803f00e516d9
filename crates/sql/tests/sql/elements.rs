//! Assignment to elements of columns beside what its answers show: types of parameters, bounds, and what looks alike.

use crate::common::{code as code_of, failure, ok, session, text};
use scaledb_engine::Engine;
use scaledb_sql::Database;
use scaledb_types::{Base, Type};

fn parameters_have_the_types_of_elements<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(
        s,
        "create table t (id int primary key, a bigint[], b text[], j jsonb); insert into t values (1, '{1}')",
    );
    for (sql, wanted) in [
        ("update t set a[$1] = $2", vec![Type::INT4, Type::INT8]),
        ("update t set a[$1:$2] = $3", vec![Type::INT4, Type::INT4, Type::array_of(Base::Int8)]),
        ("update t set j[$1] = $2", vec![Type::TEXT, Type::of(Base::Jsonb)]),
        ("insert into t (id, a[1], b[2]) values ($1, $2, $3)", vec![Type::INT4, Type::INT8, Type::TEXT]),
    ] {
        s.parse("p", sql, &[]).unwrap();
        assert_eq!(s.describe_statement("p").unwrap().parameters, wanted, "{sql}");
        s.close_statement("p");
    }
}

fn what_they_make_has_a_limit<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(
        s,
        "create table t (id int primary key, a int[], j jsonb); insert into t values (1, '{1}', '{}'), (2, null, null)",
    );
    ok(s, "set work_mem = '4MB'");
    for sql in [
        "update t set a[100000000] = 1 where id = 1",
        "update t set a[-100000000] = 1 where id = 1",
        "update t set a[2:100000000] = a where id = 1",
        "update t set j['a'][100000000] = '1'",
        "update t set j[100000000][100000000] = '1' where id = 2",
    ] {
        let code = code_of(s, sql);
        assert!(["53200", "2202E"].contains(&code.as_str()), "{sql}: {code}");
    }
    for sql in [
        "update t set a[2147483647] = 1",
        "update t set a[-2147483648] = 1 where id = 1",
        "update t set a[-2147483648:2147483647] = a where id = 1",
        "insert into t (id, a[-2147483648:2147483647]) values (3, '{1}')",
    ] {
        let code = code_of(s, sql);
        assert!(["54000", "53200"].contains(&code.as_str()), "{sql}: {code}");
    }
    assert_eq!(text(s, "select * from t order by id"), "1|{1}|{} 2|NULL|NULL");
    // a path is as deep as jsonb may be
    let path = "['a']".repeat(2_000);
    assert_eq!(code_of(s, &format!("update t set j{path} = '1'")), "54001");
    let path = "['a']".repeat(200);
    ok(s, &format!("update t set j{path} = '1' where id = 1"));
    assert_eq!(text(s, "select length(j::text) from t where id = 1"), "1401");
    // 500 levels are the most, of the value, too
    let deep = format!("{}1{}", "[".repeat(400), "]".repeat(400));
    let code =
        failure(s, &format!("update t set j{path} = '{deep}' where id = 1")).code().as_str().to_owned();
    assert_eq!(code, "54001");
    // each is a value that the next one changes
    let many = |count: usize| (1..count).map(|n| format!("a[{n}] = {n}")).collect::<Vec<_>>().join(", ");
    assert_eq!(code_of(s, &format!("update t set {} where id = 1", many(20_000))), "54001");
    ok(s, &format!("update t set {} where id = 1", many(900)));
    assert_eq!(text(s, "select array_length(a, 1) from t where id = 1"), "899");
    let columns = (1..20_000).map(|n| format!("a[{n}]")).collect::<Vec<_>>().join(", ");
    let values = vec!["1"; 20_000].join(", ");
    assert_eq!(code_of(s, &format!("insert into t (id, {columns}) values ({values})")), "54001");
}

fn messages_say_what_postgresql_says<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(
        s,
        "create table t (id int primary key, a int[], j jsonb); insert into t values (1, '{1}', '5'), (2, null, null)",
    );
    for (sql, message) in [
        ("update t set a[null] = 1", "array subscript in assignment must not be null"),
        ("update t set j[null] = '1'", "jsonb subscript in assignment must not be null"),
        ("update t set a[1] = default", "cannot set an array element to DEFAULT"),
        (
            "update t set a[1] = true",
            "subscripted assignment to \"a\" requires type integer but expression is of type boolean",
        ),
        ("update t set id[1] = 1", "cannot subscript type integer because it does not support subscripting"),
        ("update t set a[1][1] = 1", "wrong number of array subscripts"),
        ("update t set a[1:2] = array[1] where id = 1", "source array too small"),
        ("update t set a[2:1] = array[1] where id = 1", "upper bound cannot be less than lower bound"),
        ("update t set a[:1] = array[1] where id = 2", "array slice subscript must provide both boundaries"),
        ("update t set j['a'] = '1' where id = 1", "cannot replace existing key"),
        ("update t set j[-1] = '1' where id = 2", "path element at position 1 is out of range: -1"),
        ("update t set a = '{}', a[1] = 1", "multiple assignments to same column \"a\""),
    ] {
        assert_eq!(failure(s, sql).message(), message, "{sql}");
    }
}

on_each_engine! {
    parameters_have_the_types_of_elements,
    what_they_make_has_a_limit,
    messages_say_what_postgresql_says,
}
