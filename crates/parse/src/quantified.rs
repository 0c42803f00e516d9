//! `a OPERATOR(pg_catalog.=) ANY (..)`: the parser knows ANY and ALL behind plain operators only. The operators of the
//! system are those that such a one means anyway.

use super::fetch::{is, next};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace};

/// Puts operators in front of ANY, SOME and ALL in the parser's form.
pub(super) fn rewrite(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    for at in 0..tokens.len() {
        if is(&tokens, at, &[Keyword::OPERATOR])
            && let Some((operator, end)) = operator(&tokens, at)
        {
            for (place, token) in tokens[at..end].iter_mut().enumerate() {
                if at + place != operator {
                    token.token = Token::Whitespace(Whitespace::Space);
                }
            }
        }
    }
    tokens
}

/// Where the operator itself stands, and the end of `OPERATOR(..)`, if it is one of the system and ANY follows.
fn operator(tokens: &[TokenWithSpan], at: usize) -> Option<(usize, usize)> {
    let open = next(tokens, at + 1);
    if tokens.get(open)?.token != Token::LParen {
        return None;
    }
    let mut operator = next(tokens, open + 1);
    if matches!(&tokens.get(operator)?.token, Token::Word(word) if word.value == "pg_catalog") {
        let dot = next(tokens, operator + 1);
        if tokens.get(dot)?.token != Token::Period {
            return None;
        }
        operator = next(tokens, dot + 1);
    }
    let close = next(tokens, operator + 1);
    if tokens.get(close)?.token != Token::RParen {
        return None;
    }
    let behind = next(tokens, close + 1);
    is(tokens, behind, &[Keyword::ANY, Keyword::SOME, Keyword::ALL]).then_some((operator, close + 1))
}
