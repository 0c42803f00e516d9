//! `CREATE VIEW v WITH (security_invoker) AS ..`: an option without a value, which the parser does not know, is one
//! that is true.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

/// Gives the options of a view their values.
pub(super) fn rewrite(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let words = tokens.iter().filter_map(|token| keyword(&token.token)).take(5);
    let mut words = words.skip_while(|word| {
        matches!(word, Keyword::OR | Keyword::REPLACE | Keyword::TEMP | Keyword::TEMPORARY | Keyword::CREATE)
    });
    if words.next() != Some(Keyword::VIEW) {
        return tokens;
    }
    let mut rewritten: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    let mut tokens = tokens.into_iter();
    // the last token that is no space, and whether the options are at hand
    let (mut last, mut within): (Option<Token>, bool) = (None, false);
    for token in tokens.by_ref() {
        match &token.token {
            Token::Whitespace(_) => {
                rewritten.push(token);
                continue;
            }
            Token::LParen => within |= last.as_ref().and_then(keyword) == Some(Keyword::WITH),
            Token::Comma | Token::RParen if within => {
                if let Some(Token::Word(_)) = last
                    && !has_value(&rewritten)
                {
                    let value = Word { value: "true".to_owned(), quote_style: None, keyword: Keyword::TRUE };
                    for new in [Token::Eq, Token::Word(value)] {
                        rewritten.push(TokenWithSpan { token: new, span: token.span });
                    }
                }
                within = token.token == Token::Comma;
            }
            other if keyword(other) == Some(Keyword::AS) => {
                rewritten.push(token);
                break;
            }
            _ => {}
        }
        last = Some(token.token.clone());
        rewritten.push(token);
    }
    rewritten.extend(tokens);
    rewritten
}

fn keyword(token: &Token) -> Option<Keyword> {
    match token {
        Token::Word(word) if word.quote_style.is_none() => Some(word.keyword),
        _ => None,
    }
}

/// Whether the word at the end is a value: `=` stands before it.
fn has_value(tokens: &[TokenWithSpan]) -> bool {
    let mut before = tokens.iter().rev().filter(|token| !matches!(token.token, Token::Whitespace(_)));
    before.nth(1).is_some_and(|token| token.token == Token::Eq)
}
