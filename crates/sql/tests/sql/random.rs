//! Whatever text arrives, a session answers and goes on.

use crate::common::{acc, ok, run, session};
use proptest::prelude::*;

const WORDS: &[&str] = &[
    "select",
    "from",
    "where",
    "t",
    "u",
    "id",
    "n",
    "(",
    ")",
    ",",
    "*",
    "1",
    "'x'",
    "null",
    "=",
    "<",
    "+",
    "-",
    "::int",
    "and",
    "or",
    "not",
    "in",
    "exists",
    "group by",
    "order by",
    "limit",
    "insert into",
    "values",
    "update",
    "set",
    "delete",
    "merge into",
    "using",
    "matched",
    "do nothing",
    "into",
    "[",
    "join",
    "left join",
    "on",
    "union",
    "with",
    "as",
    "case",
    "when",
    "then",
    "else",
    "end",
    "count(*)",
    "max(",
    "begin",
    "commit",
    "rollback",
    "savepoint a",
    "returning",
    "array[",
    "]",
    "$1",
    ";",
    "--",
    "/*",
    "\"",
    "$$",
    "create table v",
    "int",
    "primary key",
    "drop table",
    "copy t to stdout",
    "explain",
    "is",
    "distinct",
    "between",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_stops_a_session(words in proptest::collection::vec(0..WORDS.len(), 1..25), noise in ".{0,12}") {
        let db = acc();
        let s = &mut session(&db);
        ok(s, "create table t (id int primary key, n int); create table u (id int primary key, t int references t)");
        ok(s, "insert into t values (1, 1), (2, 2); insert into u values (1, 1)");
        let text: Vec<&str> = words.iter().map(|&word| WORDS[word]).collect();
        let _ = run(s, &text.join(" "));
        let _ = run(s, &format!("select {noise} from t"));
        let _ = run(s, "rollback");
        prop_assert_eq!(crate::common::text(s, "select 1"), "1");
    }
}
