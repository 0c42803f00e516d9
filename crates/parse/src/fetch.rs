//! `FETCH FIRST 3 ROWS ONLY OFFSET 1`: the parser knows FETCH behind OFFSET only. With OFFSET behind it, it becomes
//! LIMIT, which may stand on either side. `FETCH FIRST ROW ONLY` becomes LIMIT 1: the parser takes it as one without a
//! limit; and it knows no parentheses around the count. OFFSET behind WITH TIES is put before FETCH. With a count in
//! parentheses FETCH .. WITH TIES becomes a limit, too, around which stands a mark: see `marked`.

use super::MAX_NESTING;
use super::marked::{self, TIES};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace, Word};

/// Puts FETCH in the parser's form, where OFFSET follows, or the count is left out or in parentheses.
pub(super) fn rewrite(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut at = 0;
    while at < tokens.len() {
        if is(&tokens, at, &[Keyword::FETCH])
            && let Some((open, end)) = computed(&tokens, at)
        {
            let limit = Word { value: "LIMIT".to_owned(), quote_style: None, keyword: Keyword::LIMIT };
            tokens[at].token = Token::Word(limit);
            let close = tokens[..end].iter().rposition(|token| token.token == Token::RParen).unwrap_or(open);
            for token in (at + 1..open).chain(close + 1..end) {
                tokens[token].token = Token::Whitespace(Whitespace::Space);
            }
            // the count keeps its own parentheses, which a query needs
            let span = tokens[at].span;
            tokens.insert(close + 1, TokenWithSpan { token: Token::RParen, span });
            let own = marked::mark(TIES).into_iter().chain([Token::LParen]);
            tokens.splice(open..open, own.map(|token| TokenWithSpan { token, span }));
        } else if is(&tokens, at, &[Keyword::FETCH])
            && let Some((offset, end)) = ties(&tokens, at)
        {
            // the parser knows OFFSET before FETCH
            tokens[at..end].rotate_left(offset - at);
        } else if is(&tokens, at, &[Keyword::FETCH])
            && let Some((count, end)) = clause(&tokens, at)
        {
            tokens[at].token =
                Token::Word(Word { value: "LIMIT".to_owned(), quote_style: None, keyword: Keyword::LIMIT });
            for (place, token) in tokens[at + 1..end].iter_mut().enumerate() {
                if !count.contains(&(at + 1 + place)) {
                    token.token = Token::Whitespace(Whitespace::Space);
                }
            }
            if count.is_empty() {
                // one row, if it does not say how many: in place of ONLY
                tokens[end - 1].token = Token::Number("1".to_owned(), false);
            }
        }
        at += 1;
    }
    tokens
}

/// Whether a token is one of these words, and no name in quotes.
pub(super) fn is(tokens: &[TokenWithSpan], at: usize, wanted: &[Keyword]) -> bool {
    tokens.get(at).is_some_and(|token| {
        matches!(&token.token, Token::Word(word) if word.quote_style.is_none() && wanted.contains(&word.keyword))
    })
}

/// The next token that is no space, from here on.
pub(super) fn next(tokens: &[TokenWithSpan], from: usize) -> usize {
    let rest = tokens.get(from..).unwrap_or_default();
    from + rest.iter().take_while(|token| matches!(token.token, Token::Whitespace(_))).count()
}

/// Where the count of FETCH .. WITH TIES begins that is in parentheses, and where the clause ends.
fn computed(tokens: &[TokenWithSpan], fetch: usize) -> Option<(usize, usize)> {
    let first = next(tokens, fetch + 1);
    let open = next(tokens, first + 1);
    if !is(tokens, first, &[Keyword::FIRST, Keyword::NEXT]) || tokens.get(open)?.token != Token::LParen {
        return None;
    }
    let row = next(tokens, value(tokens, open)?);
    let with = next(tokens, row + 1);
    let ties = next(tokens, with + 1);
    let all = is(tokens, row, &[Keyword::ROW, Keyword::ROWS])
        && is(tokens, with, &[Keyword::WITH])
        && is(tokens, ties, &[Keyword::TIES]);
    all.then_some((open, ties + 1))
}

/// Where OFFSET begins behind FETCH .. WITH TIES, and where it ends.
fn ties(tokens: &[TokenWithSpan], fetch: usize) -> Option<(usize, usize)> {
    let first = next(tokens, fetch + 1);
    if !is(tokens, first, &[Keyword::FIRST, Keyword::NEXT]) {
        return None;
    }
    let row = next(tokens, value(tokens, next(tokens, first + 1))?);
    let with = next(tokens, row + 1);
    let ties = next(tokens, with + 1);
    let offset = next(tokens, ties + 1);
    let all = is(tokens, row, &[Keyword::ROW, Keyword::ROWS])
        && is(tokens, with, &[Keyword::WITH])
        && is(tokens, ties, &[Keyword::TIES])
        && is(tokens, offset, &[Keyword::OFFSET]);
    if !all {
        return None;
    }
    let from = next(tokens, offset + 1);
    let end = value(tokens, from).filter(|end| *end > from)?;
    let rows = next(tokens, end);
    Some((offset, if is(tokens, rows, &[Keyword::ROW, Keyword::ROWS]) { rows + 1 } else { end }))
}

/// The end of a number, a parameter, or what is in parentheses; the place itself if there is none of them.
fn value(tokens: &[TokenWithSpan], from: usize) -> Option<usize> {
    let mut to = from;
    match tokens.get(from)?.token {
        Token::LParen => {
            let mut depth = 0_usize;
            loop {
                match tokens.get(to)?.token {
                    // the parser refuses what is deeper; else a text of nothing but such clauses takes quadratic time
                    Token::LParen if depth == MAX_NESTING => return None,
                    Token::LParen => depth += 1,
                    Token::RParen => depth -= 1,
                    _ => {}
                }
                to += 1;
                if depth == 0 {
                    break;
                }
            }
        }
        Token::Number(..) | Token::Placeholder(_) => to += 1,
        _ => {}
    }
    Some(to)
}

/// Where the count stands, and the end of the clause, if OFFSET follows it, or there is no count, or one in
/// parentheses.
fn clause(tokens: &[TokenWithSpan], fetch: usize) -> Option<(std::ops::Range<usize>, usize)> {
    let first = next(tokens, fetch + 1);
    if !is(tokens, first, &[Keyword::FIRST, Keyword::NEXT]) {
        return None;
    }
    let from = next(tokens, first + 1);
    let to = value(tokens, from)?;
    let row = next(tokens, to);
    let only = next(tokens, row + 1);
    let behind = next(tokens, only + 1);
    let all = is(tokens, row, &[Keyword::ROW, Keyword::ROWS])
        && is(tokens, only, &[Keyword::ONLY])
        && (from == to || tokens[from].token == Token::LParen || is(tokens, behind, &[Keyword::OFFSET]));
    all.then_some((from..to, only + 1))
}

#[cfg(test)]
mod tests {
    #[test]
    fn fetch_before_offset_is_a_limit() {
        for (text, wanted) in [
            ("select 1 fetch first 3 rows only offset 1", "SELECT 1 LIMIT 3 OFFSET 1"),
            ("select 1 fetch /* x */ next row only offset 2", "SELECT 1 LIMIT 1 OFFSET 2"),
            ("select 1 fetch first ((1) + 1) rows only offset 2", "SELECT 1 LIMIT ((1) + 1) OFFSET 2"),
            ("select 1 fetch first $1 rows only offset $2 rows", "SELECT 1 LIMIT $1 OFFSET $2 ROWS"),
            ("select 1 fetch first row only", "SELECT 1 LIMIT 1"),
            ("select 1 fetch first (1 + 2) rows only", "SELECT 1 LIMIT (1 + 2)"),
            (
                "select 1 fetch first 2 rows with ties offset $1 rows",
                "SELECT 1 OFFSET $1 ROWS FETCH FIRST 2 ROWS WITH TIES",
            ),
            (
                "select 1 offset 3 fetch first (1 + (2)) rows with ties",
                "SELECT 1 LIMIT \"\".\"TIES\"((1 + (2))) OFFSET 3",
            ),
            ("select 1 offset 2 fetch next rows only", "SELECT 1 LIMIT 1 OFFSET 2"),
            ("select 1 offset 1 fetch first 3 rows only", "SELECT 1 OFFSET 1 FETCH FIRST 3 ROWS ONLY"),
        ] {
            assert_eq!(crate::statement(text).unwrap().to_string(), wanted);
        }
        for text in [
            "select 1 fetch first ((1 rows only offset 1",
            "select 1 fetch",
            "select 1 fetch first only offset 1",
        ] {
            assert!(crate::statement(text).is_err(), "{text}");
        }
    }
}
