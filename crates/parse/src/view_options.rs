//! `CREATE VIEW v WITH (security_invoker) AS ..`: an option without a value, which the parser does not know, is one
//! that is true. `WITH CHECK OPTION` behind the query, which it does not know either, is an option before it.

use super::marked::is;
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
    let (tokens, mut check) = take_check_option(tokens);
    let mut tokens = tokens.into_iter();
    let mut has_options = false;
    // the last token that is no space, and whether the options are at hand
    let (mut last, mut within): (Option<Token>, bool) = (None, false);
    for token in tokens.by_ref() {
        match &token.token {
            Token::Whitespace(_) => {
                rewritten.push(token);
                continue;
            }
            Token::LParen if last.as_ref().and_then(keyword) == Some(Keyword::WITH) => {
                (within, has_options) = (true, true);
            }
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
                if let Some(check) = check.take_if(|_| !within) {
                    let mut option = vec![Token::Comma];
                    option.extend(check);
                    rewritten
                        .extend(option.into_iter().map(|new| TokenWithSpan { token: new, span: token.span }));
                }
            }
            other if keyword(other) == Some(Keyword::AS) => {
                if let Some(check) = check.take_if(|_| !has_options) {
                    let mut option = vec![word("WITH", Keyword::WITH), Token::LParen];
                    option.extend(check);
                    option.push(Token::RParen);
                    rewritten
                        .extend(option.into_iter().map(|new| TokenWithSpan { token: new, span: token.span }));
                }
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

fn word(value: &str, keyword: Keyword) -> Token {
    Token::Word(Word { value: value.to_owned(), quote_style: None, keyword })
}

/// Takes `WITH [LOCAL | CASCADED] CHECK OPTION` from the end: the tokens of the option that it is.
fn take_check_option(mut tokens: Vec<TokenWithSpan>) -> (Vec<TokenWithSpan>, Option<Vec<Token>>) {
    let ends = |token: &Token| matches!(token, Token::Whitespace(_) | Token::SemiColon | Token::EOF);
    let mut words: Vec<usize> = Vec::with_capacity(4);
    let behind = tokens.iter().enumerate().rev().skip_while(|(_, token)| ends(&token.token));
    words.extend(
        behind.filter(|(_, token)| !matches!(token.token, Token::Whitespace(_))).map(|(at, _)| at).take(4),
    );
    let [option, check, third, ..] = words[..] else { return (tokens, None) };
    if !is(&tokens, option, "OPTION") || !is(&tokens, check, "CHECK") {
        return (tokens, None);
    }
    let local = is(&tokens, third, "LOCAL");
    let with = match local || is(&tokens, third, "CASCADED") {
        true => words.get(3).copied().unwrap_or(third),
        false => third,
    };
    if !is(&tokens, with, "WITH") {
        return (tokens, None);
    }
    tokens.drain(with..=option);
    let how = Token::SingleQuotedString(if local { "local" } else { "cascaded" }.to_owned());
    (tokens, Some(vec![word("check_option", Keyword::NoKeyword), Token::Eq, how]))
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
