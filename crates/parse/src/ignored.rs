//! What says nothing here, and is left out: `COMPRESSION pglz` of a column, as no value is compressed; `ONLY` before
//! the table of a new index, as tables have no heirs.
//!
//! `UNIQUE (a) INCLUDE (b)` of a constraint, which the parser does not know, becomes `UNIQUE "INCLUDE b" (a)`, as if
//! its index had that name; that of EXCLUDE is left out.
//!
//! And `SIMILAR` and `ESCAPE` of `substring`, which are commas, and the type of what stands behind ESCAPE, which is
//! that of the pattern.

use super::marked::{behind, is};
use sqlparser::ast::Ident;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace, Word};

/// How far TABLE is from the first word, in tokens: `CREATE GLOBAL TEMPORARY TABLE`.
const WORDS: usize = 8;

/// Puts the tokens of a statement in the parser's form.
pub(super) fn rewrite(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let first = super::fetch::next(&tokens, 0);
    let (creates, alters) = (is(&tokens, first, "CREATE"), is(&tokens, first, "ALTER"));
    let of_table = (creates || alters) && (first..first + WORDS).any(|at| is(&tokens, at, "TABLE"));
    let mut names: Vec<(usize, TokenWithSpan)> = Vec::new();
    // the token before that is no space
    let mut before: Option<usize> = None;
    for at in 0..tokens.len() {
        if matches!(tokens[at].token, Token::Whitespace(_)) {
            continue;
        }
        let last = before.replace(at);
        if creates && is(&tokens, at, "ONLY") && last.is_some_and(|last| is(&tokens, last, "ON")) {
            blank(&mut tokens, at);
        } else if (creates || alters) && is(&tokens, at, "COMPRESSION") {
            let of_column = last.is_some_and(|last| match &tokens[last].token {
                Token::RParen | Token::RBracket => true,
                Token::Word(_) => {
                    !["ADD", "COLUMN", "EXISTS", "SET"].iter().any(|word| is(&tokens, last, word))
                }
                _ => false,
            });
            let method = behind(&tokens, at);
            if of_column && ["PGLZ", "LZ4", "DEFAULT"].iter().any(|word| is(&tokens, method, word)) {
                blank(&mut tokens, at);
                blank(&mut tokens, method);
            }
        } else if of_table && is(&tokens, at, "INCLUDE") {
            let closed = last.is_some_and(|last| tokens[last].token == Token::RParen);
            let open = behind(&tokens, at);
            if closed && tokens.get(open).is_some_and(|token| token.token == Token::LParen) {
                let list = &tokens[open..];
                let length = list.iter().position(|token| token.token == Token::RParen);
                if let (Some(length), Some(close)) = (length, last)
                    && let Some(key) = key_before(&tokens, close)
                {
                    let columns = list[1..length].iter().map(|token| token.token.to_string());
                    let value = format!("{INCLUDES}{}", columns.collect::<String>());
                    let name = Word { value, quote_style: Some('"'), keyword: Keyword::NoKeyword };
                    let span = tokens[at].span;
                    names.push((key, TokenWithSpan { token: Token::Word(name), span }));
                }
                (at..open + length.map_or(0, |length| length + 1)).for_each(|at| blank(&mut tokens, at));
                before = last;
            }
        } else if is(&tokens, at, "ESCAPE") {
            let text = behind(&tokens, at);
            let cast = behind(&tokens, text);
            let name = behind(&tokens, cast);
            let is_text =
                matches!(tokens.get(text).map(|token| &token.token), Some(Token::SingleQuotedString(_)));
            let is_cast = tokens.get(cast).is_some_and(|token| token.token == Token::DoubleColon);
            if is_text && is_cast && ["BYTEA", "TEXT"].iter().any(|word| is(&tokens, name, word)) {
                blank(&mut tokens, cast);
                blank(&mut tokens, name);
            }
        } else if is(&tokens, at, "SUBSTRING") {
            substring_at(&mut tokens, at);
        }
    }
    for (key, name) in names.into_iter().rev() {
        tokens.insert(key + 1, name);
    }
    tokens
}

/// What the columns begin with that the index of a constraint includes.
const INCLUDES: &str = "INCLUDE ";

/// How far the columns of a constraint are from each other, in tokens.
const NEAR: usize = 4_096;

/// UNIQUE, KEY or NULLS NOT DISTINCT before the columns of a constraint that end at a token.
fn key_before(tokens: &[TokenWithSpan], close: usize) -> Option<usize> {
    let begin = close.saturating_sub(NEAR);
    let open = begin + tokens[begin..close].iter().rposition(|token| token.token == Token::LParen)?;
    let key = tokens[..open].iter().rposition(|token| !matches!(token.token, Token::Whitespace(_)))?;
    ["UNIQUE", "KEY", "DISTINCT"].iter().any(|word| is(tokens, key, word)).then_some(key)
}

/// The columns that the index of a constraint includes, by what stands for its name.
pub fn included_columns(name: &Ident) -> Vec<String> {
    name.value.strip_prefix(INCLUDES).and_then(super::lex::names_of).unwrap_or_default()
}

fn blank(tokens: &mut [TokenWithSpan], at: usize) {
    tokens[at].token = Token::Whitespace(Whitespace::Space);
}

/// `substring(a SIMILAR b ESCAPE c)` is `substring(a, b, c)`.
fn substring_at(tokens: &mut [TokenWithSpan], at: usize) {
    let open = behind(tokens, at);
    if tokens.get(open).is_none_or(|token| token.token != Token::LParen) {
        return;
    }
    let (mut depth, mut similar) = (0_usize, None);
    for at in open + 1..tokens.len() {
        match tokens[at].token {
            Token::LParen => depth += 1,
            Token::RParen if depth == 0 => return,
            Token::RParen => depth -= 1,
            // a test, if it is not the word before ESCAPE
            Token::Comma if depth == 0 => return,
            Token::Word(_) if depth == 0 && is(tokens, at, "SIMILAR") => {
                if similar.is_some() || is(tokens, behind(tokens, at), "TO") {
                    return;
                }
                similar = Some(at);
            }
            Token::Word(_) if depth == 0 && is(tokens, at, "ESCAPE") => {
                if let Some(similar) = similar {
                    tokens[similar].token = Token::Comma;
                    tokens[at].token = Token::Comma;
                }
                return;
            }
            _ => {}
        }
    }
}
