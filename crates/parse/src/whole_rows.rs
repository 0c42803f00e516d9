//! `t.*` with an operator behind it, which the parser takes for an item of a select list that ends there. In
//! parentheses it is an operand: `(t.*) IS NULL`.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// Puts parentheses around the whole rows of a statement that are operands.
pub(super) fn rewrite(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let is_star =
        |at: usize| tokens[at].token == Token::Mul && at > 0 && tokens[at - 1].token == Token::Period;
    if !(0..tokens.len()).any(is_star) {
        return tokens;
    }
    let mut out: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len() + 2);
    // a star that may be an operand, and where its name begins
    let mut star: Option<(usize, usize)> = None;
    for token in tokens {
        if let Some((name, at)) = star.filter(|_| !matches!(token.token, Token::Whitespace(_))) {
            if is_operator(&token.token) {
                let (first, last) = (out[name].span, out[at].span);
                out.insert(at + 1, TokenWithSpan { token: Token::RParen, span: last });
                out.insert(name, TokenWithSpan { token: Token::LParen, span: first });
            }
            star = None;
        }
        out.push(token);
        if let Some(name) = name_of_star(&out) {
            star = Some((name, out.len() - 1));
        }
    }
    out
}

/// Where the name begins that stands before the star at the end.
fn name_of_star(tokens: &[TokenWithSpan]) -> Option<usize> {
    let (star, mut before) = tokens.split_last()?;
    if star.token != Token::Mul {
        return None;
    }
    let mut name = None;
    while let [rest @ .., word, dot] = before
        && dot.token == Token::Period
        && matches!(word.token, Token::Word(_))
    {
        name = Some(rest.len());
        before = rest;
    }
    name.filter(|&name| begins_item(&tokens[..name]))
}

/// Whether an item of a select list may begin behind these tokens: elsewhere the parser knows what it is.
fn begins_item(before: &[TokenWithSpan]) -> bool {
    let last = before.iter().rfind(|token| !matches!(token.token, Token::Whitespace(_)));
    match last.map(|token| &token.token) {
        Some(Token::Word(word)) => {
            matches!(word.keyword, Keyword::SELECT | Keyword::DISTINCT | Keyword::ALL | Keyword::RETURNING)
        }
        Some(Token::Comma | Token::RParen) => true,
        _ => false,
    }
}

fn is_operator(token: &Token) -> bool {
    match token {
        Token::Word(word) if word.quote_style.is_none() => {
            matches!(word.keyword, Keyword::IS | Keyword::NOT | Keyword::IN)
        }
        Token::Eq | Token::Neq | Token::Lt | Token::Gt | Token::LtEq | Token::GtEq => true,
        Token::DoubleColon => true,
        _ => false,
    }
}
