//! What may stand for a table and the parser does not know: `ONLY t`, `ONLY (t)` and `t *`, which are `t`, for tables
//! have no heirs; functions that are no calls, `FROM CAST(a AS int) AS c`, which are put in a query of their own; and
//! `f() AS (a int)`, which has no name.

use super::fetch::{is, next};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Span, Token, TokenWithSpan, Whitespace, Word};

/// Functions without parentheses.
#[rustfmt::skip]
const WORDS: &[Keyword] = &[
    Keyword::CURRENT_DATE, Keyword::CURRENT_TIME, Keyword::CURRENT_TIMESTAMP, Keyword::LOCALTIME,
    Keyword::LOCALTIMESTAMP, Keyword::CURRENT_ROLE, Keyword::CURRENT_USER, Keyword::SESSION_USER, Keyword::USER,
    Keyword::CURRENT_CATALOG, Keyword::CURRENT_SCHEMA,
];

/// Functions whose arguments have a form of their own.
#[rustfmt::skip]
const FORMS: &[Keyword] = &[
    Keyword::CAST, Keyword::EXTRACT, Keyword::SUBSTRING, Keyword::POSITION, Keyword::TRIM, Keyword::OVERLAY,
];

/// What a query begins with.
const QUERIES: &[Keyword] = &[Keyword::SELECT, Keyword::VALUES, Keyword::WITH, Keyword::TABLE];

/// What ends a list of tables.
#[rustfmt::skip]
const ENDS: &[Keyword] = &[
    Keyword::SELECT, Keyword::WHERE, Keyword::GROUP, Keyword::HAVING, Keyword::ORDER, Keyword::LIMIT, Keyword::OFFSET,
    Keyword::FETCH, Keyword::FOR, Keyword::UNION, Keyword::INTERSECT, Keyword::EXCEPT, Keyword::WINDOW,
    Keyword::RETURNING, Keyword::SET,
];

/// Where the reading is, in parentheses or in none.
#[derive(Clone, Copy, Default)]
struct Level {
    /// A statement has begun whose FROM has tables: that of `extract(day FROM a)` has none.
    begun: bool,
    /// It is in a list of tables.
    tables: bool,
}

/// What stands before a token.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// A word, and no name in quotes or behind a point.
    Word(Keyword),
    /// `,` or `(`.
    Sign,
    Period,
    Other,
}

/// Puts the tables of a statement in the parser's form.
pub(super) fn rewrite(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let (mut outside, mut level): (Vec<Level>, Level) = (Vec::new(), Level::default());
    let mut inserts: Vec<(usize, Vec<Token>)> = Vec::new();
    let mut before = Before::Other;
    let mut at = 0;
    while at < tokens.len() {
        if let Token::Whitespace(_) = tokens[at].token {
            at += 1;
            continue;
        }
        let names_table = match before {
            Before::Sign | Before::Word(Keyword::FROM) => level.tables,
            Before::Word(Keyword::USING) => level.begun,
            Before::Word(Keyword::JOIN | Keyword::UPDATE | Keyword::INTO) => true,
            _ => false,
        };
        if names_table && !is(&tokens, at, QUERIES) {
            if is(&tokens, at, &[Keyword::ONLY]) {
                blank(&mut tokens[at]);
                at = next(&tokens, at + 1);
                unwrap(&mut tokens, at);
                at = next(&tokens, at);
            }
            function(&tokens, at, &mut inserts);
            definitions(&tokens, at, &mut inserts);
            unstar(&mut tokens, at);
        }
        let Some(token) = tokens.get(at).map(|token| &token.token) else { break };
        let this = match token {
            Token::LParen => {
                outside.push(std::mem::replace(&mut level, Level { begun: false, tables: names_table }));
                Before::Sign
            }
            Token::RParen => {
                level = outside.pop().unwrap_or_default();
                Before::Other
            }
            Token::Comma => Before::Sign,
            Token::Period => Before::Period,
            Token::Word(word) if word.quote_style.is_none() && before != Before::Period => {
                Before::Word(word.keyword)
            }
            _ => Before::Other,
        };
        if let Before::Word(word) = this {
            match word {
                Keyword::FROM => {
                    level.tables = level.begun && before != Before::Word(Keyword::DISTINCT);
                }
                word if ENDS.contains(&word) => level.tables = false,
                _ => {}
            }
            level.begun |=
                matches!(word, Keyword::SELECT | Keyword::DELETE | Keyword::UPDATE | Keyword::MERGE);
        }
        before = this;
        at += 1;
    }
    if inserts.is_empty() {
        return tokens;
    }
    inserts.sort_by_key(|(at, _)| *at);
    let mut inserts = inserts.into_iter().peekable();
    let mut rewritten = Vec::with_capacity(tokens.len() + 8);
    for (at, token) in tokens.into_iter().enumerate() {
        while let Some((_, own)) = inserts.next_if(|(place, _)| *place == at) {
            let span = token.span;
            rewritten.extend(own.into_iter().map(|token| TokenWithSpan { token, span }));
        }
        rewritten.push(token);
    }
    let span = rewritten.last().map_or_else(Span::empty, |token| token.span);
    let rest = inserts.flat_map(|(_, own)| own);
    rewritten.extend(rest.map(|token| TokenWithSpan { token, span }));
    rewritten
}

fn blank(token: &mut TokenWithSpan) {
    token.token = Token::Whitespace(Whitespace::Space);
}

/// The end of the name that begins here: words with points between them.
fn name_end(tokens: &[TokenWithSpan], at: usize) -> Option<usize> {
    let is_word = |at: usize| matches!(tokens.get(at).map(|token| &token.token), Some(Token::Word(_)));
    let mut at = at;
    loop {
        if !is_word(at) {
            return None;
        }
        let dot = next(tokens, at + 1);
        match tokens.get(dot).map(|token| &token.token) {
            Some(Token::Period) => at = next(tokens, dot + 1),
            _ => return Some(at + 1),
        }
    }
}

/// `(t)` behind ONLY.
fn unwrap(tokens: &mut [TokenWithSpan], at: usize) {
    if tokens.get(at).is_none_or(|token| token.token != Token::LParen) {
        return;
    }
    let Some(end) = name_end(tokens, next(tokens, at + 1)) else { return };
    let close = next(tokens, end);
    if tokens.get(close).is_some_and(|token| token.token == Token::RParen) {
        blank(&mut tokens[at]);
        blank(&mut tokens[close]);
    }
}

/// The star behind the name of a table.
fn unstar(tokens: &mut [TokenWithSpan], at: usize) {
    let Some(end) = name_end(tokens, at) else { return };
    let star = next(tokens, end);
    if tokens.get(star).is_some_and(|token| token.token == Token::Mul) {
        blank(&mut tokens[star]);
    }
}

/// `f(..) AS (a int, b text)`: a list of definitions without a name before it, which is that of the function.
fn definitions(tokens: &[TokenWithSpan], at: usize, inserts: &mut Vec<(usize, Vec<Token>)>) {
    let at = if is(tokens, at, &[Keyword::LATERAL]) { next(tokens, at + 1) } else { at };
    let Some(end) = name_end(tokens, at) else { return };
    let Some(close) = closing(tokens, next(tokens, end)) else { return };
    let word = next(tokens, close + 1);
    let list = next(tokens, word + 1);
    if is(tokens, word, &[Keyword::AS]) && tokens.get(list).is_some_and(|token| token.token == Token::LParen)
    {
        inserts.push((list, vec![tokens[end - 1].token.clone()]));
    }
}

/// Where the parenthesis is closed that opens here.
fn closing(tokens: &[TokenWithSpan], open: usize) -> Option<usize> {
    tokens.get(open).filter(|token| token.token == Token::LParen)?;
    let mut depth = 0_usize;
    let close = tokens[open..].iter().position(|token| {
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth -= 1,
            _ => {}
        }
        depth == 0
    });
    close.map(|close| open + close)
}

/// A function that is no call: what is to stand before and behind it.
fn function(tokens: &[TokenWithSpan], at: usize, inserts: &mut Vec<(usize, Vec<Token>)>) {
    let open = next(tokens, at + 1);
    let has_parentheses = tokens.get(open).is_some_and(|token| token.token == Token::LParen);
    let (form, plain) = (is(tokens, at, FORMS) && has_parentheses, is(tokens, at, WORDS));
    if !form && !plain {
        return;
    }
    let mut end = at + 1;
    if has_parentheses {
        let Some(close) = closing(tokens, open) else { return };
        end = close + 1;
    }
    let own = match &tokens[at].token {
        Token::Word(word) if plain => Some(word.value.to_lowercase()),
        _ => None,
    };
    let mut named = next(tokens, end);
    let explicit = is(tokens, named, &[Keyword::AS]);
    if explicit {
        named = next(tokens, named + 1);
    }
    let alias = match tokens.get(named).map(|token| &token.token) {
        Some(Token::Word(word))
            if explicit || word.quote_style.is_some() || word.keyword == Keyword::NoKeyword =>
        {
            Some(word.clone())
        }
        _ => None,
    };
    let word = |value: &str, keyword: Keyword| {
        Token::Word(Word { value: value.to_owned(), quote_style: None, keyword })
    };
    let quoted =
        |value: String| Token::Word(Word { value, quote_style: Some('"'), keyword: Keyword::NoKeyword });
    let (name, more) = match (alias, own) {
        (Some(alias), _) => (Token::Word(alias), None),
        (None, Some(own)) => (quoted(own.clone()), Some(quoted(own))),
        (None, None) => return,
    };
    let select = word("SELECT", Keyword::SELECT);
    inserts.push((at, vec![word("LATERAL", Keyword::LATERAL), Token::LParen, select]));
    let mut behind = vec![word("AS", Keyword::AS), name, Token::RParen];
    behind.extend(more);
    inserts.push((end, behind));
}

#[cfg(test)]
mod tests {
    #[test]
    fn only_and_stars_say_nothing() {
        for (text, wanted) in [
            ("select * from only t", "SELECT * FROM t"),
            ("select * from only (s.t) x, only u", "SELECT * FROM s.t x, u"),
            ("select a * 2 from t * join only (u) on true", "SELECT a * 2 FROM t JOIN u ON true"),
            ("update only t * set a = 1", "UPDATE t SET a = 1"),
            ("delete from only (t) using u *", "DELETE FROM t USING u"),
            ("select extract(day from t * 2)", "SELECT EXTRACT(DAY FROM t * 2)"),
            ("select x.a from (select * from t *) x", "SELECT x.a FROM (SELECT * FROM t) x"),
            (
                "merge into only t using only u on a = b when matched then delete",
                "MERGE INTO t USING u ON a = b WHEN MATCHED THEN DELETE",
            ),
            ("select a is distinct from t * 2, b", "SELECT a IS DISTINCT FROM t * 2, b"),
        ] {
            assert_eq!(crate::statement(text).unwrap().to_string(), wanted);
        }
    }

    #[test]
    fn functions_without_calls_are_queries() {
        for (text, wanted) in [
            ("current_date as d", "LATERAL (SELECT current_date AS d) AS d"),
            ("current_user", "LATERAL (SELECT current_user AS \"current_user\") \"current_user\""),
            ("t, cast(t.a as int) c", "t, LATERAL (SELECT CAST(t.a AS INT) AS c) c"),
        ] {
            let parsed = crate::statement(&format!("select * from {text}")).unwrap();
            assert_eq!(parsed.to_string(), format!("SELECT * FROM {wanted}"));
        }
        let text = "select extract(day from current_date), current_date from t";
        assert!(!crate::statement(text).unwrap().to_string().contains("LATERAL"));
    }
}
