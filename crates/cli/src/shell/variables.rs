//! Variables in statements: `:name`, `:'name'`, `:"name"`.

use scaledb_sql::lex::{Kind, Lexer};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A statement with the variables that are set put in; others stay as they are.
pub(crate) fn expand<'a>(sql: &'a str, variables: &BTreeMap<String, String>) -> Cow<'a, str> {
    if variables.is_empty() || !sql.contains(':') {
        return sql.into();
    }
    let mut out = String::with_capacity(sql.len());
    let mut copied = 0;
    let mut tokens = Lexer::new(sql).peekable();
    while let Some(token) = tokens.next() {
        // a colon alone, or behind other signs, but no cast
        let sign = token.of(sql);
        let colon = token.kind == Kind::Operator && sign.ends_with(':') && !sign.ends_with("::");
        let Some(name) = tokens.next_if(|next| colon && next.start == token.end) else { continue };
        let text = name.of(sql);
        let value = match name.kind {
            Kind::Word => variables.get(text).cloned(),
            Kind::Text => variables.get(&text[1..text.len() - 1]).map(|value| literal(value)),
            Kind::Quoted => variables.get(&text[1..text.len() - 1]).map(|value| quoted(value)),
            _ => None,
        };
        if let Some(value) = value {
            out.push_str(&sql[copied..token.end - 1]);
            out.push_str(&value);
            copied = name.end;
        }
    }
    out.push_str(&sql[copied..]);
    out.into()
}

/// A text as a literal.
pub(crate) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// A text as a quoted name.
pub(crate) fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_put_in_where_no_quote_or_cast_is() {
        let variables =
            BTreeMap::from([("a".to_owned(), "x'y".to_owned()), ("n".to_owned(), "1".to_owned())]);
        let cases = [
            ("select :n+:n", "select 1+1"),
            ("select :'a', :\"a\", :a", "select 'x''y', \"x'y\", x'y"),
            ("select ':n', 1::n, \":n\", $$:n$$ -- :n", "select ':n', 1::n, \":n\", $$:n$$ -- :n"),
            ("select :unset, a[1:2]", "select :unset, a[1:2]"),
            ("select 1=:n", "select 1=1"),
        ];
        for (sql, expected) in cases {
            assert_eq!(expand(sql, &variables), expected);
        }
    }
}
