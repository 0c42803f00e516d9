//! One session, one statement at a time.

use crate::common::{code, ok, session, text};
use scaledb_engine::Engine;
use scaledb_sql::{Database, Executed, Session, Status};
use scaledb_types::Type;

fn rows_are_written_read_changed_and_deleted<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(s, "create table t (id int primary key, name text, n bigint default 7)");
    assert_eq!(ok(s, "insert into t values (1, 'ann', 1), (2, 'bob', 2)").tags, ["INSERT 0 2"]);
    ok(s, "insert into t (id) values (3)");
    assert_eq!(text(s, "select * from t where id = 1"), "1|ann|1");
    assert_eq!(text(s, "select name, n from t where id = 3"), "NULL|7");
    assert_eq!(text(s, "select id from t order by id desc"), "3 2 1");
    assert_eq!(ok(s, "update t set n = n + 10 where id = 2").tags, ["UPDATE 1"]);
    assert_eq!(text(s, "select n from t where id = 2"), "12");
    assert_eq!(ok(s, "delete from t where id > 1").tags, ["DELETE 2"]);
    assert_eq!(text(s, "select count(*) from t"), "1");
    assert_eq!(code(s, "insert into t values (1)"), "23505");
    assert_eq!(code(s, "select nothing from t"), "42703");
    assert_eq!(code(s, "select * from nowhere"), "42P01");
    assert_eq!(code(s, "selec 1"), "42601");
}

fn a_block_commits_or_not_and_fails_as_a_whole<E: Engine>(db: Database<E>) {
    let (s, other) = (&mut session(&db), &mut session(&db));
    ok(s, "create table t (id int primary key)");
    ok(s, "begin");
    assert_eq!(s.status(), Status::InTransaction);
    ok(s, "insert into t values (1)");
    assert_eq!(text(other, "select count(*) from t"), "0");
    if let Err(error) = crate::common::run(s, "commit") {
        // Cicada has ordered the insert before the count, which did not see it
        assert_eq!(error.code().as_str(), "40001");
        ok(s, "insert into t values (1)");
    }
    assert_eq!(text(other, "select count(*) from t"), "1");
    ok(s, "begin; insert into t values (2)");
    assert_eq!(code(s, "insert into t values (1)"), "23505");
    assert_eq!(s.status(), Status::Failed);
    assert_eq!(code(s, "select 1"), "25P02");
    assert_eq!(ok(s, "commit").tags, ["ROLLBACK"]);
    assert_eq!(text(s, "select count(*) from t"), "1");
}

fn savepoints_bring_a_failed_block_back<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(s, "create table t (id int primary key)");
    ok(s, "begin; insert into t values (1); savepoint a; insert into t values (2)");
    assert_eq!(code(s, "insert into t values (1)"), "23505");
    ok(s, "rollback to a");
    ok(s, "insert into t values (3); release a; commit");
    assert_eq!(text(s, "select id from t order by id"), "1 3");
}

fn statements_that_arrive_together_commit_together<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(s, "create table t (id int primary key)");
    assert_eq!(code(s, "insert into t values (1); insert into t values (1)"), "23505");
    assert_eq!(text(s, "select count(*) from t"), "0");
    ok(s, "insert into t values (1); insert into t values (2)");
    assert_eq!(text(s, "select count(*) from t"), "2");
}

fn prepared_statements_infer_their_parameters<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(s, "create table t (id int primary key, name varchar(10), at timestamptz)");
    s.parse("i", "insert into t values ($1, $2, $3)", &[]).unwrap();
    let d = s.describe_statement("i").unwrap();
    let wanted = [Type::INT4, Type::VARCHAR, Type::TIMESTAMPTZ];
    assert_eq!(d.parameters, wanted);
    assert!(d.columns.is_none());
    let mut sink = crate::common::Rows::default();
    let one = 1i32.to_be_bytes();
    s.bind("", "i", &[1, 0, 0], &[Some(&one), Some(b"ann"), None]).unwrap();
    let Executed::Complete(tag) = s.execute("", 0, true, &mut sink).unwrap() else { panic!() };
    assert_eq!(tag.to_string(), "INSERT 0 1");
    s.parse("q", "select name from t where id = $1", &[20]).unwrap();
    let big = 1i64.to_be_bytes();
    s.bind("", "q", &[1], &[Some(&big)]).unwrap();
    s.execute("", 0, true, &mut sink).unwrap();
    s.sync().unwrap();
    assert_eq!(sink.rows, [[Some("ann".to_owned())]]);
    assert_eq!(s.status(), Status::Idle);
}

fn the_unnamed_portal_is_bound_again_and_again<E: Engine>(db: Database<E>) {
    /// Binds and runs; at most `most` rows, all if that is zero.
    fn answer<E: Engine>(s: &mut Session<E>, statement: &str, values: &[&str], most: u64) -> String {
        let values: Vec<_> = values.iter().map(|value| Some(value.as_bytes())).collect();
        let mut sink = crate::common::Rows::default();
        let done =
            s.bind("", statement, &[], &values).and_then(|()| s.execute("", most, most == 0, &mut sink));
        s.sync().unwrap();
        if let Err(error) = done {
            return error.code().as_str().to_owned();
        }
        let row = |row: Vec<Option<String>>| row.into_iter().flatten().collect::<Vec<_>>().join("|");
        sink.rows.into_iter().map(row).collect::<Vec<_>>().join(" ")
    }
    let s = &mut session(&db);
    ok(s, "create table t (id int primary key, name text); insert into t values (1, 'one'), (2, 'two')");
    s.parse("name", "select name from t where id = $1", &[]).unwrap();
    s.parse("key", "select id, id * 10 from t where id = $1 and name <> $2", &[]).unwrap();
    s.parse("there", "select 'yes' from t where id = $1", &[]).unwrap();
    s.parse("all", "select id from t order by id", &[]).unwrap();
    s.sync().unwrap();
    for round in 0..3 {
        assert_eq!(answer(s, "name", &["1"], 0), "one");
        assert_eq!(answer(s, "name", &["2"], 0), "two");
        assert_eq!(answer(s, "key", &["2", "one"], 0), "2|20");
        assert_eq!(answer(s, "key", &["2", "two"], 0), "");
        assert_eq!(answer(s, "there", &["2"], 0), "yes");
        assert_eq!(answer(s, "there", &["3"], 0), "");
        // its rows are not those of the next one
        assert_eq!(answer(s, "all", &[], 1), "1");
        assert_eq!(answer(s, "all", &[], 0), "1 2");
        // values and statements that are none
        assert_eq!(answer(s, "key", &["2", "one"], 0), "2|20");
        assert_eq!(answer(s, "key", &["x", "one"], 0), "22P02");
        assert_eq!(answer(s, "key", &["2"], 0), "08P01");
        assert_eq!(answer(s, "none", &[], 0), "26000");
        assert_eq!(answer(s, "key", &["1", "two"], 0), "1|10");
        // compiled anew
        ok(s, &format!("alter table t add column c{round} int default 7"));
    }
    // a refused Bind leaves the one before
    ok(s, "begin");
    let mut sink = crate::common::Rows::default();
    s.bind("", "name", &[], &[Some(b"1")]).unwrap();
    assert_eq!(s.bind("", "name", &[], &[]).unwrap_err().code().as_str(), "08P01");
    assert_eq!(s.execute("", 0, false, &mut sink).unwrap_err().code().as_str(), "25P02");
    s.sync().unwrap();
    ok(s, "rollback");
}

fn a_portal_hands_its_rows_out_in_parts<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    s.parse("", "select * from generate_series(1, 5) g", &[]).unwrap();
    s.bind("p", "", &[], &[]).unwrap();
    let mut sink = crate::common::Rows::default();
    assert_eq!(s.execute("p", 2, false, &mut sink).unwrap(), Executed::Suspended);
    assert_eq!(s.execute("p", 2, false, &mut sink).unwrap(), Executed::Suspended);
    assert!(matches!(s.execute("p", 2, false, &mut sink).unwrap(), Executed::Complete(_)));
    assert_eq!(sink.rows.len(), 5);
    s.sync().unwrap();
}

fn statements_and_messages_move_the_same_portal<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(s, "begin");
    s.parse("five", "select * from generate_series(1, 5) g", &[]).unwrap();
    // one that was bound and not executed yet
    s.bind("p", "five", &[], &[]).unwrap();
    s.sync().unwrap();
    assert_eq!(ok(s, "move 2 in p").tags, ["MOVE 2"]);
    assert_eq!(text(s, "fetch 1 from p"), "3");
    assert_eq!(text(s, "fetch all from p"), "4 5");
    // behind the last row
    let mut sink = crate::common::Rows::default();
    assert!(matches!(s.execute("p", 0, false, &mut sink).unwrap(), Executed::Complete(_)));
    s.sync().unwrap();
    assert!(sink.rows.is_empty());
    assert_eq!(text(s, "fetch backward 2 from p"), "5 4");
    assert!(matches!(s.execute("p", 0, false, &mut sink).unwrap(), Executed::Complete(_)));
    s.sync().unwrap();
    assert_eq!(sink.rows, [[Some("5".to_owned())]]);
    ok(s, "commit");
    assert_eq!(code(s, "fetch 1 from p"), "34000");
}

fn a_cursor_takes_parameters<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(s, "begin");
    let declare = "declare c cursor for select i, $2::text t from generate_series(1, $1) i where i > $3";
    s.parse("d", declare, &[0, 0, 20]).unwrap();
    assert_eq!(s.describe_statement("d").unwrap().parameters, [Type::INT4, Type::TEXT, Type::INT8]);
    s.bind("", "d", &[], &[Some(b"4"), Some(b"x"), Some(b"2")]).unwrap();
    let mut sink = crate::common::Rows::default();
    let Executed::Complete(tag) = s.execute("", 0, true, &mut sink).unwrap() else { panic!() };
    assert_eq!(tag.to_string(), "DECLARE CURSOR");
    s.sync().unwrap();
    assert_eq!(text(s, "fetch all from c"), "3|x 4|x");
    ok(s, "commit");
    assert_eq!(code(s, "begin; declare c cursor for select $1"), "42P02");
    ok(s, "rollback");
}

fn deep_expressions_answer_an_error_and_do_not_overflow_the_stack<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    for (open, middle, close) in [("(", "1", ")"), ("- ", "1", ""), ("not ", "true", ""), ("1 + ", "1", "")] {
        let sql = format!("select {}{middle}{}", open.repeat(50_000), close.repeat(50_000));
        let result = crate::common::run(s, &sql);
        let code = result.map(|_| ()).map_err(|error| error.code().as_str().to_owned());
        let code = code.expect_err("too deep");
        assert!(code == "54001" || code == "42601", "{open}: {code}");
    }
    let ors = vec!["1 = 2"; 20_000].join(" or ");
    assert_eq!(text(s, &format!("select {ors}")), "f");
}

fn copy_goes_in_and_out<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(s, "create table t (id int primary key, a text, b numeric(6,2))");
    ok(s, "copy t from stdin");
    s.copy_data(b"1\tx\\ty\t1.50\n2\t\\N\t").unwrap();
    s.copy_data(b"2\n\\.\n").unwrap();
    let mut sink = crate::common::Rows::default();
    s.copy_done(&mut sink).unwrap();
    assert_eq!(sink.tags, ["COPY 2"]);
    assert_eq!(text(s, "select a, b from t order by id"), "x\ty|1.50 NULL|2.00");
    let out = ok(s, "copy t to stdout (format csv, header)").copied;
    assert_eq!(String::from_utf8(out).unwrap(), "id,a,b\n1,x\ty,1.50\n2,,2.00\n");
    let binary = ok(s, "copy t to stdout (format binary)").copied;
    ok(s, "delete from t");
    ok(s, "copy t from stdin (format binary)");
    for piece in binary.chunks(5) {
        s.copy_data(piece).unwrap();
    }
    s.copy_done(&mut sink).unwrap();
    assert_eq!(text(s, "select sum(b) from t"), "3.50");
}

fn copy_ends_at_its_mark_wherever_that_stands<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(s, "create table t (a text)");
    let copy = |s: &mut _, data: &str| -> Result<String, String> {
        ok(s, "copy t from stdin");
        let mut sink = crate::common::Rows::default();
        let done = s.copy_data(data.as_bytes()).and_then(|()| s.copy_done(&mut sink));
        done.map(|_| sink.tags.concat()).map_err(|error| error.code().as_str().to_owned())
    };
    assert_eq!(copy(s, "a\nfoo\\.\nb\n"), Ok("COPY 2".to_owned()));
    assert_eq!(copy(s, "c\n\\.\nd\n"), Ok("COPY 1".to_owned()));
    assert_eq!(copy(s, "e\\."), Ok("COPY 1".to_owned()));
    assert_eq!(copy(s, "\\.foo\n"), Err("22P04".to_owned()));
    assert_eq!(copy(s, "f\\.foo\n"), Err("22P04".to_owned()));
    assert_eq!(copy(s, "g\\\\.h\n"), Ok("COPY 1".to_owned()));
    assert_eq!(text(s, "select a from t order by a"), "a c e foo g\\.h");
}

fn copy_has_the_names_of_things<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(s, "create table t (a regclass[], b regtype, c regclass)");
    let mut sink = crate::common::Rows::default();
    ok(s, "copy t from stdin");
    s.copy_data(b"{t,pg_class}\tint4\tt\n\\N\ttext[]\t\\N\n").unwrap();
    s.copy_done(&mut sink).unwrap();
    let shown = "{t,pg_class}\tinteger\tt\n\\N\ttext[]\t\\N\n";
    assert_eq!(String::from_utf8(ok(s, "copy t to stdout").copied).unwrap(), shown);
    let binary = ok(s, "copy t to stdout (format binary)").copied;
    ok(s, "delete from t");
    ok(s, "copy t from stdin (format binary)");
    s.copy_data(&binary).unwrap();
    s.copy_done(&mut sink).unwrap();
    assert_eq!(String::from_utf8(ok(s, "copy t to stdout").copied).unwrap(), shown);
    ok(s, "copy t from stdin");
    let error = s.copy_data(b"{nosuch}\tint4\tt\n").and_then(|()| s.copy_done(&mut sink).map(drop));
    assert_eq!(error.unwrap_err().code().as_str(), "42P01");
}

fn copy_looks_at_its_header_and_its_rows<E: Engine>(db: Database<E>) {
    let s = &mut session(&db);
    ok(s, "create table t (id int primary key, a text, b int default 5)");
    let copy = |s: &mut _, sql: &str, data: &str| -> Result<String, String> {
        ok(s, sql);
        let mut sink = crate::common::Rows::default();
        let done = s.copy_data(data.as_bytes()).and_then(|()| s.copy_done(&mut sink));
        done.map(|_| sink.tags.concat()).map_err(|error| error.message().to_owned())
    };
    let csv = "copy t (id, a) from stdin (format csv, header match)";
    assert_eq!(copy(s, csv, "id,a\n1,x\n"), Ok("COPY 1".to_owned()));
    let mismatch = "column name mismatch in header line field 2: got \"b\", expected \"a\"";
    assert_eq!(copy(s, csv, "id,\"b\"\n2,x\n"), Err(mismatch.to_owned()));
    let few = "wrong number of fields in header line: field count is 1, expected 2";
    assert_eq!(copy(s, "copy t (id, a) from stdin (header match)", "id\n2\tx\n"), Err(few.to_owned()));
    let some = "copy t (id, a) from stdin with (header match) where id > 2 and a <> 'no' -- some";
    assert_eq!(copy(s, some, "id\ta\n2\tx\n3\ty\n4\tno\n"), Ok("COPY 1".to_owned()));
    assert_eq!(copy(s, "copy t (id, a) from stdin csv where a>'x'", "5,z\n6,a\n"), Ok("COPY 1".to_owned()));
    assert_eq!(text(s, "select id, a, b from t order by id"), "1|x|5 3|y|5 5|z|5");
    for (sql, wanted) in [
        ("copy t from stdin where (select true)", "0A000"),
        ("copy t from stdin where nosuch > 1", "42703"),
        ("copy t from stdin where a", "42804"),
        ("copy t from stdin where true) or (true", "42601"),
        ("copy t from stdin (format csv, format csv)", "42601"),
        ("copy t to stdout (header match)", "0A000"),
        ("copy t (id) from stdin (format csv, force_not_null (a))", "42P10"),
        ("copy t (id) from stdin (format csv, force_null (nosuch))", "42703"),
        ("copy t to stdout where id > 1", "42601"),
        ("create view v as select 1; copy v to stdout", "42809"),
    ] {
        assert_eq!(code(s, sql), wanted, "{sql}");
    }
}

fn a_restart_of_a_sequence_is_rolled_back<E: Engine>(db: Database<E>) {
    let mut s = session(&db);
    ok(&mut s, "create table t (id serial primary key, n int); insert into t (n) values (1), (2), (0)");
    ok(&mut s, "begin; truncate t restart identity; insert into t (n) values (3)");
    assert_eq!(text(&mut s, "select id, n from t"), "1|3");
    ok(&mut s, "savepoint a; truncate t restart identity; insert into t (n) values (4); rollback to a");
    ok(&mut s, "insert into t (n) values (5)");
    assert_eq!(text(&mut s, "select id, n from t order by id"), "1|3 2|5");
    ok(&mut s, "rollback");
    ok(&mut s, "insert into t (n) values (6)");
    assert_eq!(text(&mut s, "select id, n from t order by id"), "1|1 2|2 3|0 4|6");
    ok(&mut s, "begin; truncate t restart identity; insert into t (n) values (7); commit");
    ok(&mut s, "insert into t (n) values (8)");
    assert_eq!(text(&mut s, "select id, n from t order by id"), "1|7 2|8");
}

fn a_key_is_set_to_an_equal_one_that_is_not_the_same<E: Engine>(db: Database<E>) {
    let mut s = session(&db);
    ok(&mut s, "create table n (k numeric primary key, x int); insert into n values (1.0, 1), (2, 2)");
    ok(&mut s, "update n set k = 1.00, x = 3 where k = 1");
    ok(&mut s, "update n set k = k");
    assert_eq!(text(&mut s, "select k, x from n order by k"), "1.00|3 2|2");
    ok(&mut s, "create table f (k float8 primary key); insert into f values ('-0')");
    ok(&mut s, "create table r (k float8 references f on update cascade); insert into r values ('-0')");
    ok(&mut s, "update f set k = 0");
    assert_eq!(text(&mut s, "select k from f"), "0");
}

/// Columns of variable length lie one behind the other in a row: whichever of them grows or shrinks, a key among them
/// moves within the row, and is the same key all the same.
fn a_text_key_that_moves_within_its_row_is_no_other_key<E: Engine>(db: Database<E>) {
    let mut s = session(&db);
    let wide: Vec<String> = (0..70).map(|n| format!("c{n} int")).collect();
    for columns in ["n int".to_owned(), wide.join(", ")] {
        ok(
            &mut s,
            &format!("create table t (a text, k text, {columns}, l text, b text, primary key (k, l))"),
        );
        ok(&mut s, "insert into t (a, k, l, b) values ('a', 'k1', 'l1', 'b'), ('a', 'k2', 'l2', 'b')");
        // by its key, and found by a scan
        ok(&mut s, "update t set a = repeat('x', 50) where k = 'k1' and l = 'l1'");
        ok(&mut s, "update t set a = '', b = repeat('y', 9) where b = 'b'");
        ok(&mut s, "update t set a = a || 'z', k = k, l = l");
        ok(
            &mut s,
            "insert into t (a, k, l) values ('c', 'k1', 'l1') on conflict (k, l) do update set a = 'longer'",
        );
        assert_eq!(
            text(&mut s, "select a, k, l, b from t order by k"),
            "longer|k1|l1|yyyyyyyyy z|k2|l2|yyyyyyyyy"
        );
        // and as another key it is moved
        ok(&mut s, "update t set l = 'other', a = 'd' where k = 'k2'");
        assert_eq!(text(&mut s, "select a from t where k = 'k2' and l = 'other'"), "d");
        assert_eq!(text(&mut s, "select count(*) from t where k = 'k2' and l = 'l2'"), "0");
        ok(&mut s, "drop table t");
    }
}

on_each_engine! {
    a_key_is_set_to_an_equal_one_that_is_not_the_same,
    a_text_key_that_moves_within_its_row_is_no_other_key,
    a_restart_of_a_sequence_is_rolled_back,
    rows_are_written_read_changed_and_deleted,
    a_block_commits_or_not_and_fails_as_a_whole,
    savepoints_bring_a_failed_block_back,
    statements_that_arrive_together_commit_together,
    prepared_statements_infer_their_parameters,
    the_unnamed_portal_is_bound_again_and_again,
    a_portal_hands_its_rows_out_in_parts,
    statements_and_messages_move_the_same_portal,
    a_cursor_takes_parameters,
    deep_expressions_answer_an_error_and_do_not_overflow_the_stack,
    copy_goes_in_and_out,
    copy_ends_at_its_mark_wherever_that_stands,
    copy_has_the_names_of_things,
    copy_looks_at_its_header_and_its_rows,
}

#[test]
fn sessions_see_each_other() {
    let db = crate::common::acc();
    let one = &mut session(&db);
    let two = session(&db);
    ok(one, "set application_name = 'counter'");
    let sql = "select pid, application_name, state from pg_stat_activity order by pid";
    assert_eq!(text(one, sql), format!("{}|counter|active {}||idle", one.id(), two.id()));
    drop(two);
    assert_eq!(text(one, sql), format!("{}|counter|active", one.id()));
}

#[test]
fn a_session_says_what_it_does() {
    let db = crate::common::acc();
    let (one, two) = (&mut session(&db), &mut session(&db));
    ok(one, "create table t (id int primary key)");
    let sql = format!(
        "select state, query, xact_start is null, query_start <= now(), xact_start <= query_start \
         from pg_stat_activity where pid = {}",
        two.id()
    );
    assert_eq!(text(one, &sql), "idle|NULL|t|NULL|NULL");
    ok(two, "insert into t values (7)");
    assert_eq!(text(one, &sql), "idle|insert into t values ($1)|t|t|NULL");
    ok(two, "begin");
    assert_eq!(text(one, &sql), "idle in transaction|begin|f|t|t");
    ok(two, "select 1");
    assert_eq!(text(one, &sql), "idle in transaction|select 1|f|t|t");
    assert_eq!(code(two, "select 1 / 0"), "22012");
    assert_eq!(text(one, &sql), "idle in transaction (aborted)|select 1 / $1|f|t|t");
    ok(two, "rollback");
    assert_eq!(text(one, &sql), "idle|rollback|t|t|NULL");
    // a message of the extended protocol that fails
    two.parse("", "begin", &[]).unwrap();
    two.bind("", "", &[], &[]).unwrap();
    two.execute("", 0, false, &mut crate::common::Rows::default()).unwrap();
    two.sync().unwrap();
    assert!(two.parse("", "select nothing", &[]).is_err());
    two.sync().unwrap();
    assert!(text(one, &sql).starts_with("idle in transaction (aborted)|"));
}

#[test]
fn a_client_starts_with_settings_that_there_are() {
    let db = crate::common::acc();
    let mut s = session(&db);
    let mut set = |name: &str, value: &str| match s.set_initial(name, value) {
        Ok(()) => "ok".to_owned(),
        Err(error) => error.code().as_str().to_owned(),
    };
    assert_eq!(set("extra_float_digits", "2"), "ok");
    assert_eq!(set("TimeZone", "UTC"), "ok");
    assert_eq!(set("my.own", "x"), "ok");
    assert_eq!(set("no_such_setting", "1"), "42704");
    assert_eq!(set("server_version", "9"), "55P02");
    assert_eq!(set("extra_float_digits", "x"), "22023");
    assert_eq!(text(&mut s, "show extra_float_digits"), "2");
}

/// In a block that has failed a prepared statement is refused, but what is no statement at all is told as such.
#[test]
fn a_failed_block_tells_what_is_no_statement() {
    let db = crate::common::acc();
    let s = &mut session(&db);
    assert_eq!(code(s, "begin; select 1 / 0"), "22012");
    let mut parsed = |text: &str| {
        let result = s.parse("", text, &[]);
        // the batch ends, the block goes on
        s.sync().unwrap();
        result.map_or_else(|error| error.code().as_str().to_owned(), |_| "ok".to_owned())
    };
    assert_eq!(
        ["select 1", "select 1 over ()", "set x y z", "", "rollback"].map(&mut parsed),
        ["25P02", "42601", "42601", "ok", "ok"]
    );
}

/// A query of several statements is one transaction; behind a COMMIT or ROLLBACK in it another one begins.
#[test]
fn what_stands_behind_a_commit_in_a_query_is_one_transaction() {
    let db = crate::common::acc();
    let s = &mut session(&db);
    ok(s, "create table t (i int)");
    for query in [
        "insert into t values (7); commit; insert into t values (8); select 1/0",
        "begin; insert into t values (11); commit; insert into t values (12); select 1/0; select 1",
        "insert into t values (9); rollback; insert into t values (10); select 1/0",
    ] {
        assert_eq!(code(s, query), "22012", "{query}");
        assert_eq!(s.status(), Status::Idle);
    }
    assert_eq!(
        code(s, "insert into t values (1); commit; insert into t values (2); commit and chain"),
        "25P01"
    );
    assert_eq!(text(s, "select string_agg(i::text, ',' order by i) from t"), "1,7,11");
    ok(s, "insert into t values (20); commit; insert into t values (21); insert into t values (22)");
    assert_eq!(text(s, "select count(*) from t where i >= 20"), "3");
    s.take_notices();
    ok(s, "select 1; commit");
    let told: Vec<String> = s.take_notices().iter().map(|n| n.fields.code().to_string()).collect();
    assert_eq!(told, ["25P01"]);
}
