//! Compares with what PostgreSQL 15 answered: `data/*.tsv`, written by `data/regenerate.sh` from `data/cases/*.txt`.
//!
//! A line is an expression, its type, and its text; or the SQLSTATE with a `!` before it, and the message. `\N` is
//! NULL.

mod eval;
mod lexer;
mod parser;

use scaledb_types::{DateOrder, Env, Zone};

/// The session that the answers are from.
fn env() -> Env {
    Env { zone: Zone::named("America/New_York").unwrap(), date_order: DateOrder::Mdy, ..Env::default() }
}

fn unescape(text: &str) -> String {
    if text == "\\N" {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, c == '\\') {
            (_, true) => match chars.next() {
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                other => out.extend(other),
            },
            (c, _) => out.push(c),
        }
    }
    out
}

/// What we answer, in the form of the file.
fn answer(expression: &str, env: &Env) -> (String, String) {
    match eval::evaluate(expression, env) {
        Ok((ty, value)) => {
            let mut out = Vec::new();
            value.write_text(ty, env, &mut out);
            let text = if value.is_null() { "\\N".to_owned() } else { String::from_utf8(out).unwrap() };
            // what is still unknown becomes text
            let name = if ty == scaledb_types::Type::UNKNOWN { "text".to_owned() } else { ty.sql_name() };
            (name, text)
        }
        Err(error) => (format!("!{}", error.code()), error.message().to_owned()),
    }
}

/// Expressions whose answer differs, with the reason; the list only shrinks.
fn known(family: &str) -> Vec<String> {
    let path = format!("{}/tests/data/known/{family}.txt", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).map(str::to_owned).collect()
}

fn check(family: &str) {
    let path = format!("{}/tests/data/{family}.tsv", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap();
    let (mut failed, mut count, env) = (Vec::new(), 0, env());
    let known = known(family);
    for line in text.lines() {
        let mut columns = line.split('\t');
        let mut next = || columns.next().unwrap_or_default();
        let (expression, ty, wanted) = (next(), next(), unescape(next()));
        count += 1;
        let (has_ty, has) = answer(expression, &env);
        let same = has_ty == ty && (has == wanted || wanted == "\\N" && has == "\\N");
        let expected_to_differ = known.iter().any(|known| known == expression);
        if same == expected_to_differ {
            let what = if same { " (is listed as known, and is right)" } else { "" };
            failed
                .push(format!("{expression}\n    wanted {ty} {wanted:?}\n    got    {has_ty} {has:?}{what}"));
        }
    }
    assert!(count > 0);
    assert!(failed.is_empty(), "{} of {count} differ:\n{}", failed.len(), failed.join("\n"));
}

macro_rules! families {
    ($($name:ident),*) => {
        $(#[test]
        fn $name() {
            check(stringify!($name));
        })*
    };
}

families!(
    input,
    numbers,
    numerics,
    times,
    texts,
    jsons,
    formats,
    number_formats,
    arrays,
    resolution,
    aggregates
);

/// `encode(int4send('1'::int4), 'hex')`: what we send is that, and is received again.
#[test]
fn binary() {
    let path = format!("{}/tests/data/binary.tsv", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let env = env();
    for line in text.lines() {
        let mut columns = line.split('\t');
        let expression = columns.next().unwrap();
        let wanted = columns.nth(1).unwrap();
        let inner = expression.strip_prefix("encode(").unwrap().strip_suffix(", 'hex')").unwrap();
        let (_, literal) = inner.split_once('(').unwrap();
        let literal = literal.strip_suffix(')').unwrap();
        let (ty, value) = eval::evaluate(literal, &env).unwrap();
        let mut sent = Vec::new();
        value.write_binary(ty, &mut sent);
        let hex: String = sent.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, wanted, "{expression}");
        let received = scaledb_types::Value::from_binary(&sent, ty).unwrap();
        assert_eq!(received.to_text(ty, &env), value.to_text(ty, &env), "{expression}");
    }
}
