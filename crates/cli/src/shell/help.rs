//! `\?` and `\h`.

use std::fmt::Write;

/// The backslash commands and what they do.
#[rustfmt::skip]
const COMMANDS: &[(&str, &[(&str, &str)])] = &[
    ("General", &[
        ("\\?", "this list"),
        ("\\h [NAME]", "the syntax of SQL statements"),
        ("\\conninfo", "what the shell is connected to"),
        ("\\timing [on|off]", "show how long statements take"),
        ("\\! [COMMAND]", "run a command of the system"),
        ("\\cd [DIR]", "change the directory"),
        ("\\q", "end the shell"),
    ]),
    ("Statements", &[
        ("\\g [FILE]", "run the statement at hand; results go to FILE"),
        ("\\gx [FILE]", "the same, expanded"),
        ("\\e [FILE]", "edit the statement at hand, or FILE, with $EDITOR"),
        ("\\p", "print the statement at hand"),
        ("\\r", "forget the statement at hand"),
    ]),
    ("Input and output", &[
        ("\\i FILE", "run a file"),
        ("\\ir FILE", "the same, relative to the file that says so"),
        ("\\o [FILE]", "send results to FILE, or back to the terminal"),
        ("\\copy ...", "COPY with a file of this side: \\copy t from 'f.csv' csv header"),
        ("\\echo [-n] ...", "print words (\\qecho, \\warn: where results or errors go)"),
    ]),
    ("Relations (NAME may have * and ?)", &[
        ("\\d", "list tables, views and sequences"),
        ("\\d NAME", "describe a table, view, index or sequence"),
        ("\\dt, \\di, \\ds, \\dv [NAME]", "list tables, indexes, sequences, views"),
        ("\\dn [NAME]", "list schemas"),
        ("\\l", "list databases"),
    ]),
    ("Formats and variables", &[
        ("\\x [on|off|auto]", "each value on a line of its own; auto: where it is too wide"),
        ("\\a", "aligned or not"),
        ("\\t [on|off]", "rows only"),
        ("\\pset [NAME [VALUE]]", "columns, expanded, fieldsep, format, null, tuples_only"),
        ("\\set [NAME [VALUE]]", "set a variable, or list them; ON_ERROR_STOP ends scripts at an error"),
        ("\\unset NAME", "forget a variable"),
    ]),
];

/// The text of `\?`.
pub(crate) fn commands() -> String {
    let mut out = String::new();
    for (part, commands) in COMMANDS {
        if !out.is_empty() {
            out.push('\n');
        }
        // writing to a string does not fail
        let _ = writeln!(out, "{part}");
        for (name, what) in *commands {
            let _ = writeln!(out, "  {name:<27} {what}");
        }
    }
    out
}

/// Statements and their syntax.
#[rustfmt::skip]
const STATEMENTS: &[(&str, &str)] = &[
    ("ALTER TABLE", "ALTER TABLE [IF EXISTS] name\n    ADD [COLUMN] column type [constraint ...] | DROP [COLUMN] column [CASCADE]\n    | ALTER [COLUMN] column {TYPE type | SET DEFAULT value | DROP DEFAULT | SET NOT NULL | DROP NOT NULL}\n    | ADD constraint | DROP CONSTRAINT name | RENAME TO name | RENAME [COLUMN] column TO name"),
    ("BEGIN", "BEGIN [TRANSACTION] [READ ONLY | READ WRITE] [[NOT] DEFERRABLE]"),
    ("CLOSE", "CLOSE {name | ALL}"),
    ("COMMIT", "COMMIT [AND [NO] CHAIN]"),
    ("COPY", "COPY {table [(column, ...)] | (query)} {FROM STDIN | TO STDOUT}\n    [WITH (FORMAT {text | csv | binary}, HEADER, DELIMITER 'c', NULL 'text', QUOTE 'c', ESCAPE 'c', ...)]"),
    ("CREATE INDEX", "CREATE [UNIQUE] INDEX [[IF NOT EXISTS] name] ON table (column [ASC | DESC] [NULLS {FIRST | LAST}], ...)"),
    ("CREATE SCHEMA", "CREATE SCHEMA [IF NOT EXISTS] name"),
    ("CREATE SEQUENCE", "CREATE SEQUENCE [IF NOT EXISTS] name [INCREMENT [BY] n] [MINVALUE n] [MAXVALUE n] [START [WITH] n] [CYCLE]"),
    ("CREATE TABLE", "CREATE TABLE [IF NOT EXISTS] name (\n    {column type [NOT NULL] [DEFAULT value] [PRIMARY KEY] [UNIQUE] [CHECK (condition)] [REFERENCES table]\n    | PRIMARY KEY (column, ...) | UNIQUE (column, ...) | CHECK (condition)\n    | FOREIGN KEY (column, ...) REFERENCES table [(column, ...)] [ON DELETE action] [ON UPDATE action]}, ...)"),
    ("CREATE VIEW", "CREATE [OR REPLACE] VIEW name [(column, ...)] AS query"),
    ("DEALLOCATE", "DEALLOCATE {name | ALL}"),
    ("DECLARE", "DECLARE name [[NO] SCROLL] CURSOR [WITH HOLD] FOR query"),
    ("DELETE", "DELETE FROM table [[AS] alias] [USING table, ...] [WHERE condition] [RETURNING value, ...]"),
    ("DROP", "DROP {TABLE | INDEX | SEQUENCE | VIEW | SCHEMA} [IF EXISTS] name, ... [CASCADE | RESTRICT]"),
    ("EXECUTE", "EXECUTE name [(value, ...)]"),
    ("EXPLAIN", "EXPLAIN [ANALYZE] [VERBOSE] statement\n    EXPLAIN (option [value], ...) statement\n    options: ANALYZE, VERBOSE, COSTS, TIMING, SUMMARY, FORMAT {TEXT | JSON | YAML}"),
    ("FETCH", "FETCH [NEXT | PRIOR | FIRST | LAST | ABSOLUTE n | RELATIVE n | n | ALL | FORWARD n | BACKWARD n] [FROM] cursor"),
    ("INSERT", "INSERT INTO table [(column, ...)] {VALUES (value, ...), ... | query | DEFAULT VALUES}\n    [ON CONFLICT [(column, ...)] {DO NOTHING | DO UPDATE SET column = value, ... [WHERE condition]}] [RETURNING value, ...]"),
    ("MERGE", "[WITH name AS (query), ...] MERGE INTO table [[AS] alias] USING {table | (query)} [[AS] alias] ON condition\n    WHEN MATCHED [AND condition] THEN {UPDATE SET column = value, ... | DELETE | DO NOTHING} ...\n    WHEN NOT MATCHED [AND condition] THEN {INSERT [(column, ...)] {VALUES (value, ...) | DEFAULT VALUES} | DO NOTHING} ..."),
    ("PREPARE", "PREPARE name [(type, ...)] AS statement"),
    ("RELEASE SAVEPOINT", "RELEASE [SAVEPOINT] name"),
    ("RESET", "RESET {name | ALL}"),
    ("ROLLBACK", "ROLLBACK [AND [NO] CHAIN] | ROLLBACK TO [SAVEPOINT] name"),
    ("SAVEPOINT", "SAVEPOINT name"),
    ("SELECT", "[WITH name AS (query), ...] SELECT [DISTINCT] {* | value [[AS] name]}, ...\n    [FROM table [[AS] alias] [[LEFT | RIGHT | FULL | CROSS] JOIN table [ON condition | USING (column, ...)]] ...]\n    [WHERE condition] [GROUP BY value, ...] [HAVING condition]\n    [{UNION | INTERSECT | EXCEPT} [ALL] query] [ORDER BY value [ASC | DESC], ...] [LIMIT n] [OFFSET n]"),
    ("SET", "SET [SESSION | LOCAL] name {TO | =} {value | DEFAULT}"),
    ("SHOW", "SHOW {name | ALL}"),
    ("TRUNCATE", "TRUNCATE [TABLE] name, ..."),
    ("UPDATE", "UPDATE table [[AS] alias] SET column = value, ... [FROM table, ...] [WHERE condition] [RETURNING value, ...]"),
    ("VALUES", "VALUES (value, ...), ..."),
];

/// The names of statements that there is help on.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    STATEMENTS.iter().map(|(name, _)| *name)
}

/// The text of `\h`: the statements, or the syntax of those that begin so.
pub(crate) fn statements(topic: &str) -> String {
    let topic = topic.trim().trim_end_matches(';').to_uppercase();
    let mut out = String::new();
    if topic.is_empty() {
        out.push_str("Help on a statement: \\h NAME\n");
        for name in names() {
            let _ = writeln!(out, "  {name}");
        }
        return out;
    }
    let found = STATEMENTS.iter().filter(|(name, _)| topic == "*" || name.starts_with(&topic));
    for (name, syntax) in found {
        let _ = writeln!(out, "{name}\n\n{syntax}\n");
    }
    if out.is_empty() {
        let _ = writeln!(out, "No help on \"{topic}\"; \\h lists the statements.");
    }
    out
}
