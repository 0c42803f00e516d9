//! CREATE RECURSIVE VIEW, which the parser does not know: a view of a query of its own name.
//!
//! ```text
//!  CREATE RECURSIVE VIEW s.v (a, b) AS q
//!  CREATE VIEW s.v AS WITH RECURSIVE v (a, b) AS (q) SELECT a, b FROM v
//! ```

use super::marked::{behind, is};
use sqlparser::keywords::{ALL_KEYWORDS, ALL_KEYWORDS_INDEX, Keyword};
use sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace, Word};

/// Puts such a statement in the parser's form.
pub(super) fn rewrite(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    match parts(&tokens) {
        Some(parts) => parts.written(tokens),
        None => tokens,
    }
}

/// Where the parts of such a statement stand.
struct Parts {
    recursive: usize,
    /// The last word of the name.
    name: usize,
    /// The parentheses around the names of the columns.
    columns: (usize, usize),
    /// The word before the query.
    query: usize,
}

fn parts(tokens: &[TokenWithSpan]) -> Option<Parts> {
    let first = tokens.iter().position(|token| !matches!(token.token, Token::Whitespace(_)))?;
    if !is(tokens, first, "CREATE") {
        return None;
    }
    let mut recursive = behind(tokens, first);
    while ["OR", "REPLACE", "TEMP", "TEMPORARY", "LOCAL"].iter().any(|word| is(tokens, recursive, word)) {
        recursive = behind(tokens, recursive);
    }
    let view = behind(tokens, recursive);
    if !is(tokens, recursive, "RECURSIVE") || !is(tokens, view, "VIEW") {
        return None;
    }
    let is_sign = |at: usize, sign: &Token| tokens.get(at).is_some_and(|token| token.token == *sign);
    let mut name = behind(tokens, view);
    while is_sign(behind(tokens, name), &Token::Period) {
        name = behind(tokens, behind(tokens, name));
    }
    let open = behind(tokens, name);
    if !is_sign(open, &Token::LParen) || !matches!(tokens[name].token, Token::Word(_)) {
        return None;
    }
    let close = (open..tokens.len()).find(|&at| is_sign(at, &Token::RParen))?;
    // WITH (..) may stand in between
    let query = (close..tokens.len()).find(|&at| is(tokens, at, "AS"))?;
    Some(Parts { recursive, name, columns: (open, close), query })
}

impl Parts {
    fn written(&self, mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
        let (open, close) = self.columns;
        let (name, span) = (tokens[self.name].clone(), tokens[self.recursive].span);
        let columns: Vec<TokenWithSpan> = tokens[open + 1..close].to_vec();
        let sign = |token: Token| TokenWithSpan { token, span };
        let word = |text: &str| {
            let keyword =
                ALL_KEYWORDS.binary_search(&text).map_or(Keyword::NoKeyword, |at| ALL_KEYWORDS_INDEX[at]);
            sign(Token::Word(Word { value: text.to_owned(), quote_style: None, keyword }))
        };
        let mut query = tokens.split_off(self.query + 1);
        let ends = |token: &Token| matches!(token, Token::Whitespace(_) | Token::SemiColon | Token::EOF);
        let end = query.iter().rposition(|token| !ends(&token.token)).map_or(0, |at| at + 1);
        let tail = query.split_off(end);
        tokens[self.recursive].token = Token::Whitespace(Whitespace::Space);
        for token in &mut tokens[open..=close] {
            token.token = Token::Whitespace(Whitespace::Space);
        }
        tokens.extend([word("WITH"), word("RECURSIVE"), name.clone(), sign(Token::LParen)]);
        tokens.extend(columns.iter().cloned());
        tokens.extend([sign(Token::RParen), word("AS"), sign(Token::LParen)]);
        tokens.extend(query);
        tokens.extend([sign(Token::RParen), word("SELECT")]);
        tokens.extend(columns);
        tokens.extend([word("FROM"), name]);
        tokens.extend(tail);
        tokens
    }
}
