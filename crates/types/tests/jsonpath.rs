//! Paths: what is printed is the same path, whatever it is made of, and nothing that is read makes more work than it
//! may.

use proptest::prelude::*;
use scaledb_types::func::{Interrupt, path_rows};
use scaledb_types::{Env, Json, JsonPath, SqlError, SqlState, Value};
use std::cell::Cell;
use std::ops::ControlFlow;
use std::sync::Arc;

fn key() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{1,3}".prop_map(|key| format!(".{key}")),
        prop::sample::select(vec![".last", ".type", ".\"a \\\"b\\u00e9\"", ".true", ".datetime", "._1"])
            .prop_map(str::to_owned),
    ]
}

/// A text that is an expression, and a predicate. In a filter there is a current item, in a subscript a last element.
fn texts(depth: u32, filtered: bool, subscript: bool) -> (BoxedStrategy<String>, BoxedStrategy<String>) {
    let mut heads = vec!["$", "$x", "$\"a b\"", "1", "-1", "1.50", "1e3", ".5", "\"a\\n\"", "null", "true"];
    heads.extend(filtered.then_some("@"));
    heads.extend(subscript.then_some("last"));
    let head = prop::sample::select(heads).prop_map(str::to_owned).boxed();
    if depth == 0 {
        let compare = (head.clone(), head.clone()).prop_map(|(a, b)| format!("{a} == {b}")).boxed();
        return (head, compare);
    }
    let (expr, predicate) = texts(depth - 1, filtered, subscript);
    let (of_filter, of_subscript) = (texts(depth - 1, true, subscript).1, texts(depth - 1, filtered, true).0);
    let methods =
        vec![".type()", ".size()", ".abs()", ".keyvalue()", ".double()", ".datetime()", ".datetime(\"a\")"];
    let levels = vec![".*", "[*]", ".**", ".**{2}", ".**{last}", ".**{1 to last}", ".**{last to 3}"];
    let step = prop_oneof![
        key(),
        prop::sample::select(methods).prop_map(str::to_owned),
        prop::sample::select(levels).prop_map(str::to_owned),
        of_subscript.clone().prop_map(|at| format!("[{at}]")),
        (of_subscript.clone(), of_subscript).prop_map(|(from, to)| format!("[{from} to {to}, 1]")),
        of_filter.prop_map(|filter| format!(" ? ({filter})")),
    ];
    let steps = prop::collection::vec(step, 0..3).prop_map(|steps| steps.concat()).boxed();
    let operator = prop::sample::select(vec!["+", "-", "*", "/", "%"]);
    let compare = prop::sample::select(vec!["==", "!=", "<>", "<", ">", "<=", ">="]);
    let exprs = prop_oneof![
        (head, steps.clone()).prop_map(|(head, steps)| match head.parse::<f64>() {
            Ok(_) => format!("({head}){steps}"),
            Err(_) => format!("{head}{steps}"),
        }),
        (expr.clone(), steps.clone()).prop_map(|(inner, steps)| format!("({inner}){steps}")),
        (predicate.clone(), key(), steps).prop_map(|(inner, key, steps)| format!("({inner}){key}{steps}")),
        (expr.clone(), operator, expr.clone()).prop_map(|(a, operator, b)| format!("{a} {operator} {b}")),
        (prop::sample::select(vec!["+", "-", "--"]), expr.clone())
            .prop_map(|(sign, a)| format!("{sign}({a})")),
    ];
    let predicates = prop_oneof![
        (expr.clone(), compare, expr.clone()).prop_map(|(a, compare, b)| format!("{a} {compare} {b}")),
        (predicate.clone(), predicate.clone()).prop_map(|(a, b)| format!("{a} && {b}")),
        (predicate.clone(), predicate.clone()).prop_map(|(a, b)| format!("({a}) || {b}")),
        predicate.clone().prop_map(|a| format!("!({a})")),
        predicate.prop_map(|a| format!("({a}) is unknown")),
        expr.clone().prop_map(|a| format!("exists ({a})")),
        expr.clone().prop_map(|a| format!("{a} starts with \"b\"")),
        expr.prop_map(|a| format!("{a} like_regex \"b.*\" flag \"mi\"")),
    ];
    (exprs.boxed(), predicates.boxed())
}

fn path() -> impl Strategy<Value = String> {
    let (expr, predicate) = texts(3, false, false);
    (prop::sample::select(vec!["", "lax ", "strict "]), prop_oneof![expr, predicate])
        .prop_map(|(mode, path)| format!("{mode}{path}"))
}

proptest! {
    #[test]
    fn a_path_that_is_printed_is_read_as_the_same(text in path()) {
        let path = JsonPath::parse(&text).unwrap();
        let again = JsonPath::parse(path.text()).unwrap();
        prop_assert_eq!(path.text(), again.text(), "{}", text);
        // what is printed could be the same for other trees
        let shape = |path: &JsonPath| format!("{path:?}");
        prop_assert_eq!(shape(&path), shape(&again), "{}", text);
    }

    #[test]
    fn any_text_is_a_path_or_refused(text in "[$@.*?(){}\\[\\]<=>!&|+/%,\"\\\\ a-z0-9\n-]{0,40}") {
        if let Ok(path) = JsonPath::parse(&text) {
            let again = JsonPath::parse(path.text()).unwrap();
            prop_assert_eq!(again.text(), path.text());
        }
    }

    #[test]
    fn every_path_comes_to_an_end(text in path(), json in "[\\[{]?|\\[1, \\[\"2\", null\\], \\{\"a\": \\{\"b\": 3\\}\\}\\]") {
        let Ok(json) = Json::parse(&json) else { return Ok(()) };
        let args = [
            Value::jsonb(json),
            Value::Jsonpath(Arc::new(JsonPath::parse(&text).unwrap())),
            Value::jsonb(Json::parse("{\"x\": [1, {\"a\": 2}], \"a b\": \"c\"}").unwrap()),
            Value::Bool(true),
        ];
        let left = Cell::new(1_000);
        let check = || match left.get() {
            0 => Err(SqlError::new(SqlState::QUERY_CANCELED, "enough")),
            more => {
                left.set(more - 1);
                Ok(())
            }
        };
        let interrupt = Interrupt::new(&check, 1 << 20);
        let _ = path_rows(&Env::default(), &args, false, interrupt, &mut |_| Ok(ControlFlow::Continue(())));
    }
}

/// How many items a path finds.
fn count(json: &str, path: &str, interrupt: Interrupt<'_>) -> Result<usize, SqlError> {
    let args = [Value::jsonb(Json::parse(json)?), Value::Jsonpath(Arc::new(JsonPath::parse(path)?))];
    let mut found = 0;
    let count = &mut |_| {
        found += 1;
        Ok(ControlFlow::Continue(()))
    };
    path_rows(&Env::default(), &args, false, interrupt, count).map(|_| found)
}

#[test]
fn nesting_is_bounded_and_chains_of_steps_are_not() {
    let code = |text: &str| JsonPath::parse(text).map(|path| path.text().len()).map_err(|error| error.code());
    let times = |text: &str, times: usize| text.repeat(times);
    for (open, inside, close) in [
        ("(", "1", ")"),
        ("$[", "1", "]"),
        ("$ ? (@ == ", "1", ")"),
        ("!(", "1 == 1", ")"),
        ("exists ($.a + ", "1", ")"),
        ("-", "$", ""),
        ("1 + ", "1", ""),
        ("1 == 1 && ", "1 == 1", ""),
        ("(", "1 == 1", ") is unknown"),
        ("(1 == 1 || ", "1 == 1", ")"),
    ] {
        let text = |n: usize| match open {
            "exists ($.a + " => format!("$ ? {}", times("(exists (@ ? ", n) + "(@ == 1)" + &times("))", n)),
            "(" if close.len() > 1 => format!("{}{inside}{}", times(open, n), times(close, n)),
            _ => format!("{}{inside}{}", times(open, n), times(close, n)),
        };
        assert!(code(&text(100)).is_ok(), "{open} {:?}", code(&text(100)));
        assert_eq!(code(&text(100_000)), Err(SqlState::STATEMENT_TOO_COMPLEX), "{open}");
    }
    assert!(code(&format!("${}", times(".a", 100_000))).is_ok());
    assert_eq!(code(&times("1e131071+", 200)), Err(SqlState::PROGRAM_LIMIT_EXCEEDED));
    let patterns = times("@ like_regex \"a\" || ", 101);
    assert_eq!(code(&format!("$ ? ({patterns} 1 == 1)")), Err(SqlState::PROGRAM_LIMIT_EXCEEDED));
}

#[test]
fn long_chains_need_no_stack() {
    let never = Interrupt::never();
    assert_eq!(count("{\"a\": 1}", &format!("${}", ".a".repeat(100_000)), never), Ok(0));
    assert_eq!(count("1", &format!("${}", "[*]".repeat(100_000)), never), Ok(1));
    assert_eq!(count("1", &format!("${}", "[0]".repeat(100_000)), never), Ok(1));
    let deep = format!("{}1{}", "[".repeat(400), "]".repeat(400));
    assert_eq!(count(&deep, &format!("${}", "[*]".repeat(100_000)), never), Ok(1));
    let refused = count("1", &format!("${}", ".**".repeat(100_000)), never);
    assert_eq!(refused.map_err(|error| error.code()), Err(SqlState::STATEMENT_TOO_COMPLEX));
}

#[test]
fn work_without_end_is_interrupted_and_memory_bounded() {
    let deep = format!("{}1{}", "[".repeat(200), "]".repeat(200));
    let endless = format!("${} ? (@ == 2)", ".**".repeat(30));
    let left = Cell::new(100);
    let check = || {
        left.set(left.get() - 1);
        if left.get() == 0 { Err(SqlError::new(SqlState::QUERY_CANCELED, "enough")) } else { Ok(()) }
    };
    let canceled = count(&deep, &endless, Interrupt::new(&check, usize::MAX));
    assert_eq!(canceled.map_err(|error| error.code()), Err(SqlState::QUERY_CANCELED));
    let growing = format!("$ ? (@{} == 2)", ".**".repeat(30));
    let full = count(&deep, &growing, Interrupt::new(&|| Ok(()), 1 << 20));
    assert_eq!(full.map_err(|error| error.code()), Err(SqlState::OUT_OF_MEMORY));
}

#[test]
fn objects_are_told_apart_as_postgresql_does() {
    let ids = |json: &str, path: &str| {
        let args = [
            Value::jsonb(Json::parse(json).unwrap()),
            Value::Jsonpath(Arc::new(JsonPath::parse(path).unwrap())),
            Value::jsonb(Json::parse("{\"x\": [1.5, {\"a\": {\"b\": 2}}]}").unwrap()),
        ];
        let mut found = Vec::new();
        let take = &mut |item: Value| {
            found.push(item.to_text(scaledb_types::Type::JSONB, &Env::default()).unwrap().to_string());
            Ok(ControlFlow::Continue(()))
        };
        path_rows(&Env::default(), &args, false, Interrupt::never(), take).map(|_| found.join(" ")).unwrap()
    };
    assert_eq!(
        ids("[{\"a\": 1, \"b\": [1, 2]}, {\"c\": {\"a\": \"bbb\"}}]", "$[*].keyvalue().id"),
        "12 12 72"
    );
    assert_eq!(ids("{}", "$x[1].keyvalue().id"), "10000000040");
}
