//! The columns of its table that a text of the catalog names.

use scaledb_catalog::TableDesc;
use scaledb_parse::lex::{Kind, Lexer, name_of};

/// The numbers of the columns that an expression names, in the order in which it does. Columns stand there without the
/// name of their table; the names of functions and types do not count.
pub fn mentioned(desc: &TableDesc, expression: &str) -> Vec<i16> {
    let tokens: Vec<_> = Lexer::new(expression).collect();
    let mut found = Vec::new();
    for (number, &token) in tokens.iter().enumerate() {
        let is_call = tokens.get(number + 1).is_some_and(|next| next.is_sign(expression, "("));
        let is_type = number > 0 && tokens[number - 1].of(expression) == "::";
        if is_call || is_type || token.kind == Kind::Text {
            continue;
        }
        let Some(at) = name_of(token, expression).and_then(|name| desc.column(&name)) else { continue };
        let attnum = desc.columns[at].attnum;
        if !found.contains(&attnum) {
            found.push(attnum);
        }
    }
    found
}
