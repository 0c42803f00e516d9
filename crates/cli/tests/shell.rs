//! `scaledb shell` as a process, with scripts.

use std::io::Write;
use std::process::{Command, Output, Stdio};

fn scaledb(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_scaledb"));
    command.args(args).env("USER", "ann").env_remove("PGPASSWORD");
    command
}

/// Runs the shell with a script at its standard input.
fn pipe(args: &[&str], script: &str) -> Output {
    let mut command = scaledb(&["shell"]);
    let command = command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = command.spawn().unwrap();
    process.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    process.wait_with_output().unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// What a script prints, which must have no error.
fn prints(args: &[&str], script: &str) -> String {
    let output = pipe(args, script);
    assert_eq!((err(&output).as_str(), output.status.code()), ("", Some(0)), "{script}");
    out(&output)
}

const TABLE: &str = "create table t (id int primary key, name text, n numeric(5,1));
insert into t values (1, 'ann', 1.5), (20, '日本', null), (3, E'two\\nlines', 3);\n";

#[test]
fn tables_are_aligned_as_psql_does() {
    let printed = prints(&["-q"], &format!("{TABLE}select id, n, name from t order by id;\n"));
    let expected = " id |  n  | name  
----+-----+-------
  1 | 1.5 | ann
  3 | 3.0 | two  +
    |     | lines
 20 |     | 日本
(3 rows)

";
    assert_eq!(printed, expected);
}

#[test]
fn expanded_results_have_a_line_for_each_value() {
    let script = format!("{TABLE}\\pset null -\nselect * from t where id <> 3 order by id \\gx\n");
    let expected = "\
-[ RECORD 1 ]
id   | 1
name | ann
n    | 1.5
-[ RECORD 2 ]
id   | 20
name | 日本
n    | -

";
    assert_eq!(prints(&["-q"], &script), expected);
}

#[test]
fn a_table_that_is_too_wide_is_expanded() {
    let script = "\\x auto\n\\pset columns 20\nselect 'a' as short;\nselect repeat('x', 30) as long;\n";
    let expected = " short \n-------\n a\n(1 row)\n\n-[ RECORD 1 ]------------------------\nlong | xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n\n";
    assert_eq!(prints(&["-q"], script), expected);
}

#[test]
fn formats_for_programs_keep_values_apart() {
    let select = "select id, name, n, n is null as none from t order by id;";
    let script = format!("{TABLE}{select}");
    assert_eq!(prints(&["-qAt"], &script), "1|ann|1.5|f\n3|two\nlines|3.0|f\n20|日本||t\n");
    let csv = "id,name,n,none\n1,ann,1.5,f\n3,\"two\nlines\",3.0,f\n20,日本,,t\n";
    assert_eq!(prints(&["-q", "--csv"], &script), csv);
    let json = prints(&["--json"], &script);
    let rows: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(rows[1], serde_json::json!({"id": 3, "name": "two\nlines", "n": 3.0, "none": false}));
    assert_eq!(rows[2]["n"], serde_json::Value::Null);
    assert_eq!(prints(&["--json"], "select 1 where false"), "[]\n");
}

#[test]
fn statements_are_cut_where_sql_says() {
    let script =
        "select ';' as a, -- ; it's\n 'it''s;\n' /* ; ' /* */ */ as b, $$;'$$ as c; select 2; select 3";
    let expected = ";|it's;\n|;'\n2\n3\n";
    assert_eq!(prints(&["-qAt"], script), expected);
}

#[test]
fn tags_and_variables() {
    let script = "create table t (a int);\n\\set v 5\ninsert into t values (:v), (:v + 1);\n\
                  update t set a = 0 where a = :v returning a;\n\\echo done :v\n";
    let expected = "CREATE TABLE\nINSERT 0 2\n a \n---\n 0\n(1 row)\n\nUPDATE 1\ndone 5\n";
    assert_eq!(prints(&[], script), expected);
}

#[test]
fn relations_are_described() {
    let script =
        "create table t (id int primary key, name text not null default 'x', n numeric(10,2) check (n > 0));
create index t_name on t (name desc, n);
create table u (id serial primary key, t int references t (id), unique (t));
create view v as select id from t;
\\d
\\d t
\\d t_name
\\di t*
\\dv
\\ds
";
    let printed = prints(&["-q"], script);
    let expected = "          List of relations
 Schema |   Name   |   Type   | Owner 
--------+----------+----------+-------
 public | t        | table    | ann
 public | u        | table    | ann
 public | u_id_seq | sequence | ann
 public | v        | view     | ann
(4 rows)

                     Table \"public.t\"
 Column |     Type      | Collation | Nullable |  Default  
--------+---------------+-----------+----------+-----------
 id     | integer       |           | not null | 
 name   | text          |           | not null | 'x'::text
 n      | numeric(10,2) |           |          | 
Indexes:
    \"t_pkey\" PRIMARY KEY, btree (id)
    \"t_name\" btree (name DESC, n)
Check constraints:
    \"t_n_check\" CHECK (n > 0)
Referenced by:
    TABLE \"u\" CONSTRAINT \"u_t_fkey\" FOREIGN KEY (t) REFERENCES t(id)

";
    assert!(printed.starts_with(expected), "{printed}");
    for part in
        ["List of relations", "\"public.t_name\"", "btree, for table \"public.t\"", "| index | ann   | t\n"]
    {
        assert!(printed.contains(part), "{part} in {printed}");
    }
    let missing = pipe(&[], "\\d nope\n\\nope\n");
    assert!(err(&missing).contains("Did not find any relation named \"nope\"."), "{}", err(&missing));
    assert!(err(&missing).contains("invalid command \\nope"), "{}", err(&missing));
}

#[test]
fn errors_say_state_place_detail_and_hint() {
    let output = pipe(
        &[],
        "create table t (a int primary key);\n\n insert into t values (1);\ninsert into t values (1);\nselect *\n  form t;\n",
    );
    let text = err(&output);
    assert!(
        text.contains("ERROR:  23505: duplicate key value violates unique constraint \"t_pkey\"\n"),
        "{text}"
    );
    assert!(text.contains("DETAIL:  Key (a)=(1) already exists.\n"), "{text}");
    assert!(text.contains("ERROR:  42601: "), "{text}");
    assert!(text.contains("LINE 2:   form t"), "{text}");
    let lines: Vec<&str> = text.lines().collect();
    let line = lines.iter().position(|line| line.starts_with("LINE 2")).unwrap();
    assert!(lines[line + 1].trim_start().starts_with('^'), "{text}");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn exit_statuses_are_those_of_psql() {
    let bad = "select 1/0;\nselect 'reached';\n";
    let output = pipe(&["-At"], bad);
    assert_eq!((out(&output).as_str(), output.status.code()), ("reached\n", Some(0)));
    let output = pipe(&["-At", "-v", "ON_ERROR_STOP=1"], bad);
    assert_eq!((out(&output).as_str(), output.status.code()), ("", Some(3)));
    let output = pipe(&["-At"], &format!("\\set ON_ERROR_STOP on\n{bad}"));
    assert_eq!((out(&output).as_str(), output.status.code()), ("", Some(3)));
    let output = scaledb(&["shell", "-c", "select 1/0"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let output = scaledb(&["shell", "-qAt", "-c", "select 1", "-c", "\\echo 2"]).output().unwrap();
    assert_eq!((out(&output).as_str(), output.status.code()), ("1\n2\n", Some(0)));
    let output = scaledb(&["shell", "-f", "no/such/file"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let output = scaledb(&["shell", "--connect", "host=127.0.0.1 port=1 user=a"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn files_name_the_line_of_an_error_and_copy_both_ways() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    let (data, script, copied) = (path("data.csv"), path("script.sql"), path("out.csv"));
    std::fs::write(&data, "a,b\n1,\"x,y\"\n2,\n").unwrap();
    let text = format!(
        "create table t (a int, b text);\n\\copy t from '{data}' with (format csv, header)\n\
         copy t from stdin;\n3\tz;\n4\t\\N\n\\.\nselect count(*), count(b) from t;\n\
         \\copy (select * from t order by a) to '{copied}' csv\nselect nope;\n"
    );
    std::fs::write(&script, text).unwrap();
    let output = scaledb(&["shell", "-At", "-f", &script]).output().unwrap();
    let wrong = format!("{script}:9: ERROR:  42703: ");
    assert!(err(&output).starts_with(&wrong), "{}", err(&output));
    assert_eq!(out(&output), "CREATE TABLE\nCOPY 2\nCOPY 2\n4|2\nCOPY 4\n");
    assert_eq!(std::fs::read_to_string(copied).unwrap(), "1,\"x,y\"\n2,\n3,z;\n4,\n");
    let included = path("included.sql");
    std::fs::write(&included, "select 'included';\n").unwrap();
    assert_eq!(prints(&["-qAt"], &format!("\\i {included}\nselect 'behind';\n")), "included\nbehind\n");
}

#[test]
fn a_directory_keeps_what_was_committed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("data").display().to_string();
    prints(
        &[&path, "-q"],
        "create table t (a int primary key); insert into t values (1); begin; insert into t values (2);",
    );
    assert_eq!(prints(&[&path, "-qAt"], "select * from t"), "1\n");
}

#[test]
fn a_server_answers_as_the_database_in_process_does() {
    use std::io::{BufRead, BufReader};
    let mut server = scaledb(&["serve", "--port", "0", "--log", "error"]);
    let mut server = server.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    let mut lines = BufReader::new(server.stdout.take().unwrap());
    lines.read_line(&mut line).unwrap();
    let port = line.trim().rsplit(':').next().unwrap().to_owned();
    let conninfo = format!("postgresql://ann@127.0.0.1:{port}/postgres");
    let script = format!(
        "{TABLE}select * from t order by id;\n\\d t\ncopy t from stdin csv;\n7,seven,\n\\.\ncopy t to stdout;\n\
         begin;\nselect 1/0;\nselect 2;\nrollback;\ndrop table if exists none;\nselect x;\nselect id from t where id = 7;\n"
    );
    let (local, remote) = (pipe(&[], &script), pipe(&["--connect", &conninfo], &script));
    assert_eq!(out(&local), out(&remote));
    assert_eq!(err(&local), err(&remote));
    assert_eq!(local.status.code(), remote.status.code());
    assert!(out(&remote).ends_with(" id \n----\n  7\n(1 row)\n\n"), "{}", out(&remote));
    let killed = Command::new("kill").arg(server.id().to_string()).status().unwrap();
    assert!(killed.success());
    server.wait().unwrap();
}

#[test]
fn a_directory_has_room_for_rows_that_do_not_fit_the_memory() {
    let directory = std::env::temp_dir().join(format!("scaledb-shell-temporary-{}", std::process::id()));
    std::fs::remove_dir_all(&directory).ok();
    let script = "select value >= 0 from scaledb_counters where name = 'temporary files';\n";
    let printed = prints(&["-q", "-t", "-A", directory.to_str().unwrap()], script);
    assert_eq!(printed, "t\n");
    assert_eq!(std::fs::read_dir(directory.join("temporary")).unwrap().count(), 0);
    std::fs::remove_dir_all(&directory).unwrap();
}
