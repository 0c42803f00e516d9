//! `TABLE t` as a query: the parser takes the two words behind the name for parts of it, whatever they are. So it is
//! written as `SELECT * FROM t`.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

/// What a query stands behind, besides parentheses and the name of the table that is inserted into.
#[rustfmt::skip]
const BEFORE: &[Keyword] = &[
    Keyword::UNION, Keyword::INTERSECT, Keyword::EXCEPT, Keyword::ALL, Keyword::DISTINCT, Keyword::AS, Keyword::FOR,
    Keyword::EXPLAIN, Keyword::ANALYZE, Keyword::VERBOSE,
];

/// What may stand behind the name, besides parentheses and the end.
#[rustfmt::skip]
const BEHIND: &[Keyword] = &[
    Keyword::ORDER, Keyword::LIMIT, Keyword::OFFSET, Keyword::FETCH, Keyword::FOR, Keyword::UNION, Keyword::INTERSECT,
    Keyword::EXCEPT, Keyword::RETURNING, Keyword::ON, Keyword::WITH,
];

/// Puts the queries of a statement in the parser's form.
pub(super) fn rewrite(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let inserts = tokens.iter().find_map(|token| keyword(&token.token)) == Some(Keyword::INSERT);
    let mut before: Option<Token> = None;
    let mut at = 0;
    while at < tokens.len() {
        let token = &tokens[at].token;
        if let Token::Whitespace(_) = token {
            at += 1;
            continue;
        }
        let is_query = keyword(token) == Some(Keyword::TABLE)
            && begins_query(before.as_ref(), inserts)
            && ends_query(behind_name(&tokens, at + 1));
        before = Some(token.clone());
        if is_query {
            let span = tokens[at].span;
            let from = word("FROM", Keyword::FROM);
            before = Some(from.clone());
            let parts = [word("SELECT", Keyword::SELECT), Token::Mul, from];
            tokens.splice(at..=at, parts.map(|token| TokenWithSpan { token, span }));
            at += 2;
        }
        at += 1;
    }
    tokens
}

fn begins_query(before: Option<&Token>, inserts: bool) -> bool {
    match before {
        None | Some(Token::LParen | Token::RParen) => true,
        Some(token) => match keyword(token) {
            Some(Keyword::INTO) => false,
            Some(word) if BEFORE.contains(&word) => true,
            _ => inserts && matches!(token, Token::Word(_)),
        },
    }
}

fn ends_query(behind: Option<&Token>) -> bool {
    match behind {
        None | Some(Token::EOF | Token::RParen | Token::SemiColon) => true,
        Some(token) => keyword(token).is_some_and(|word| BEHIND.contains(&word)),
    }
}

/// What stands behind the name of a table, which may begin with a schema.
fn behind_name(tokens: &[TokenWithSpan], from: usize) -> Option<&Token> {
    let rest = tokens.get(from..).unwrap_or_default().iter().map(|token| &token.token);
    let mut rest = rest.filter(|token| !matches!(token, Token::Whitespace(_))).peekable();
    rest.next_if(|token| keyword(token) == Some(Keyword::ONLY));
    rest.next();
    while rest.next_if(|token| **token == Token::Period).is_some() {
        rest.next();
    }
    rest.next()
}

fn keyword(token: &Token) -> Option<Keyword> {
    match token {
        Token::Word(word) if word.quote_style.is_none() => Some(word.keyword),
        _ => None,
    }
}

fn word(value: &str, keyword: Keyword) -> Token {
    Token::Word(Word { value: value.to_owned(), quote_style: None, keyword })
}
