//! Select lists without columns, as in `SELECT WHERE a` and `EXISTS (SELECT)`: the parser knows them before FROM only.
//! A mark stands in such a list, in which the planner finds no column: see `marked`.

use super::marked::{self, NOTHING};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace};

/// What stands behind a select list, and begins no expression.
#[rustfmt::skip]
const BEHIND: &[Keyword] = &[
    Keyword::WHERE, Keyword::GROUP, Keyword::HAVING, Keyword::WINDOW, Keyword::ORDER, Keyword::LIMIT, Keyword::OFFSET,
    Keyword::FETCH, Keyword::FOR, Keyword::UNION, Keyword::INTERSECT, Keyword::EXCEPT, Keyword::INTO, Keyword::ON,
    Keyword::RETURNING,
];

/// Puts a mark into the empty lists of a statement.
pub(super) fn rewrite(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let creates = tokens.iter().find_map(|token| word_of(&token.token)) == Some(Keyword::CREATE);
    let mut before = None;
    let mut at = 0;
    while at < tokens.len() {
        let word = word_of(&tokens[at].token);
        // behind a point any word is a name, and behind AS, unless that is the one of CREATE TABLE and its like
        let is_name = match &before {
            Some(Token::Period) => true,
            Some(token) => word_of(token) == Some(Keyword::AS) && !creates,
            None => false,
        };
        if word == Some(Keyword::SELECT) && !is_name && ends_list(&tokens, at + 1) {
            let span = tokens[at].span;
            let own = std::iter::once(Token::Whitespace(Whitespace::Space)).chain(marked::mark(NOTHING));
            tokens.splice(at + 1..at + 1, own.map(|token| TokenWithSpan { token, span }));
            at += 4;
        }
        if !matches!(tokens[at].token, Token::Whitespace(_)) {
            before = Some(tokens[at].token.clone());
        }
        at += 1;
    }
    tokens
}

fn word_of(token: &Token) -> Option<Keyword> {
    match token {
        Token::Word(word) if word.quote_style.is_none() => Some(word.keyword),
        _ => None,
    }
}

/// Whether what comes is behind a select list.
fn ends_list(tokens: &[TokenWithSpan], from: usize) -> bool {
    let next = tokens[from..].iter().map(|token| &token.token);
    match next.clone().find(|token| !matches!(token, Token::Whitespace(_))) {
        None | Some(Token::EOF | Token::SemiColon | Token::RParen) => true,
        Some(token) => word_of(token).is_some_and(|word| BEHIND.contains(&word)),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_list_without_columns_is_one() {
        for (text, columns) in [
            ("select", 1),
            ("select where true", 1),
            ("select from t", 0),
            ("create table t as select", 1),
            ("select 1 as select", 1),
        ] {
            let tree = crate::statement(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            if let sqlparser::ast::Statement::Query(query) = tree {
                let select = query.body.as_select().unwrap();
                assert_eq!(select.projection.len(), columns, "{text}");
            }
        }
        for text in ["select 1, (select), exists (select)", "select union all select", "insert into t select"]
        {
            assert!(crate::statement(text).is_ok(), "{text}");
        }
        assert!(crate::statement("select distinct").is_err());
    }
}
