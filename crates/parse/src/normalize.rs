//! Literals become parameters, so that a statement that comes with other values every time is compiled once.
//!
//! Only literals that stand where any expression may stand: behind an operator, in a list in parentheses of
//! VALUES or IN, behind BETWEEN, AND, LIMIT, OFFSET. Others mean more than their value (`ORDER BY 1`, `varchar(10)`,
//! `interval '1 day'`) and stay.

use super::lex::{Kind, Lexer, Token, text_of};
use scaledb_types::{Env, Type, Value};

/// A statement with its literals taken out.
#[derive(Debug, Default)]
pub struct Normalized {
    /// The text, with `$1`, `$2` for literals.
    pub text: String,
    pub values: Vec<Value>,
    /// The type of each; unknown for text.
    pub types: Vec<Type>,
}

/// Literals in one statement that are worth it.
const MAX_LITERALS: usize = 64;
/// Longer statements are compiled as they are.
const MAX_TEXT: usize = 4_096;

/// What stands in a query, and in no list of values outside of its parentheses.
const QUERY: [&str; 9] =
    ["select", "with", "values", "table", "union", "intersect", "except", "order", "group"];

/// Takes the literals out of a statement; `None` if it is not one that profits.
pub fn normalize(text: &str, env: &Env) -> Option<Normalized> {
    if text.len() > MAX_TEXT {
        return None;
    }
    let mut tokens = Lexer::new(text);
    let first = tokens.next()?;
    let dml = ["select", "insert", "update", "delete", "merge"].iter().any(|word| first.is(text, word));
    if !dml {
        return None;
    }
    let mut found = Normalized::default();
    found.text.reserve(text.len());
    let mut copied = 0;
    let mut before = first;
    // whether a sign that stands before the token begins an item of a list that may have numbers of columns
    let mut begins = false;
    let mut signed = false;
    // what each open parenthesis is: a list of values or not
    let mut lists: Vec<bool> = Vec::new();
    let mut in_values = false;
    for token in tokens {
        match token.kind {
            Kind::Open | Kind::Param => return None,
            // SELECT INTO makes a table
            Kind::Word if token.is(text, "into") && first.is(text, "select") => return None,
            Kind::Word => {
                if token.is(text, "values") {
                    in_values = true;
                } else if lists.is_empty() {
                    in_values = false;
                }
                // IN has a query, which may have numbers of columns
                if let Some(list) = lists.last_mut()
                    && *list
                    && QUERY.iter().any(|word| token.is(text, word))
                {
                    *list = false;
                }
            }
            Kind::Punct if token.is_sign(text, "(") => {
                let list = before.is(text, "in")
                    || in_values
                        && lists.is_empty()
                        && (before.is(text, "values") || before.is_sign(text, ","));
                lists.push(list);
            }
            Kind::Punct if token.is_sign(text, ")") => {
                lists.pop();
            }
            // a sign or a cast behind an operator belongs to the literal's surroundings
            Kind::Number | Kind::Text
                if stands_free(before, text, lists.last().copied().unwrap_or(false))
                    && !signed
                    && !(before.is_sign(text, "-") && is_magnitude_of_smallest(token.of(text))) =>
            {
                if found.values.len() >= MAX_LITERALS {
                    return None;
                }
                let (value, ty) = value_of(token, text, env)?;
                found.values.push(value);
                found.types.push(ty);
                found.text.push_str(&text[copied..token.start]);
                found.text.push('$');
                found.text.push_str(&found.values.len().to_string());
                copied = token.end;
            }
            _ => {}
        }
        let in_list = lists.last().copied().unwrap_or(false);
        signed = (begins || signed) && token.is_sign(text, "-");
        begins = token.is(text, "by")
            || !in_list && (token.is_sign(text, ",") || token.is_sign(text, "(") || signed);
        before = token;
    }
    if found.values.is_empty() {
        return None;
    }
    found.text.push_str(&text[copied..]);
    Some(found)
}

/// Whether the number has a smaller type with a minus than without.
fn is_magnitude_of_smallest(number: &str) -> bool {
    matches!(number, "2147483648" | "9223372036854775808")
}

fn stands_free(before: Token, text: &str, in_list: bool) -> bool {
    match before.kind {
        Kind::Operator => {
            matches!(before.of(text), "=" | "<" | ">" | "<=" | ">=" | "<>" | "!=" | "+" | "-" | "*" | "/")
        }
        Kind::Punct => in_list && matches!(before.of(text), "(" | ","),
        Kind::Word => {
            ["between", "and", "limit", "offset", "like", "ilike"].iter().any(|word| before.is(text, word))
        }
        _ => false,
    }
}

fn value_of(token: Token, text: &str, env: &Env) -> Option<(Value, Type)> {
    if token.kind == Kind::Text {
        return Some((Value::text(text_of(token, text)?), Type::UNKNOWN));
    }
    let number = token.of(text);
    // letters right behind it are a mistake, which is to be told as it was written
    if text[token.end..].starts_with(|c: char| c.is_ascii_alphabetic() || c == '_' || !c.is_ascii()) {
        return None;
    }
    if let Ok(v) = number.parse::<i32>() {
        return Some((Value::Int4(v), Type::INT4));
    }
    if let Ok(v) = number.parse::<i64>() {
        return Some((Value::Int8(v), Type::INT8));
    }
    Value::parse(number, Type::NUMERIC, env).ok().map(|value| (value, Type::NUMERIC))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normalized(text: &str) -> Option<String> {
        normalize(text, &Env::default()).map(|found| found.text)
    }

    #[test]
    fn literals_behind_operators_and_in_lists_are_taken() {
        let text = "select a from t where b = 12 and c in (1, 'x') and d between 1 and 2 limit 3";
        let wanted = "select a from t where b = $1 and c in ($2, $3) and d between $4 and $5 limit $6";
        assert_eq!(normalized(text).as_deref(), Some(wanted));
        let text = "select a from t where b in (select b from u where c in (1, 2) order by 1, 2 limit 3)";
        let wanted =
            "select a from t where b in (select b from u where c in ($1, $2) order by 1, 2 limit $3)";
        assert_eq!(normalized(text).as_deref(), Some(wanted));
        let wanted = "insert into t values ($1, $2), ($3, f(4))";
        assert_eq!(normalized("insert into t values (1, 'a'), (3, f(4))").as_deref(), Some(wanted));
    }

    #[test]
    fn literals_that_mean_more_than_their_value_stay() {
        for text in [
            "select a from t order by 1",
            "select a, count(*) from t group by 1 order by 2",
            "select a::varchar(10) from t",
            "select interval '1 day'",
            "select cast(a as numeric(10, 2)) from t",
            "select a from t order by -1",
            "select a from t order by a, - (-1)",
            "select a from t where (a, b) in (select a, b from t order by 1, 2)",
            "select a from t where (a, b) in ((select a, b from t) order by a, 2)",
            "select a from t where (a, b) in (select a, count(*) from t group by a, 1)",
            "select a from t where (a, b) in (with w as (table t) table w order by b, 1)",
        ] {
            assert_eq!(normalized(text), None, "{text}");
        }
    }
}
