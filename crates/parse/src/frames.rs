//! What the parser does not know of a window's frame: `EXCLUDE TIES` and its like at its end, and bounds that begin
//! with a literal and go on, `'1 day'::interval PRECEDING`, which are put in parentheses.
//!
//! What is excluded becomes the first expression of PARTITION BY: `""."TIES"`, which no statement can contain, as no
//! name is empty. So it is kept where the text of a view is printed from its tree.

use sqlparser::ast::{Expr, Ident, WindowSpec};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace, Word};

/// What a frame may leave out.
const FORMS: [&[&str]; 4] = [&["CURRENT", "ROW"], &["GROUP"], &["TIES"], &["NO", "OTHERS"]];

/// What the frame of a window leaves out, if it says so, and what it is partitioned by.
pub fn exclusion(spec: &WindowSpec) -> (Option<&str>, &[Expr]) {
    if let Some((Expr::CompoundIdentifier(parts), rest)) = spec.partition_by.split_first()
        && let [Ident { value: none, .. }, Ident { value, .. }] = &parts[..]
        && none.is_empty()
    {
        return (Some(value), rest);
    }
    (None, &spec.partition_by)
}

/// Whether a text is what a frame may leave out.
pub(super) fn is_form(text: &str) -> bool {
    FORMS.iter().any(|form| form.join(" ") == text)
}

/// Puts the frames of a statement in the parser's form.
pub(super) fn rewrite(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut at = 0;
    while at < tokens.len() {
        if matches!(tokens[at].token, Token::SingleQuotedString(_))
            && let Some(end) = bound_at(&tokens, at)
        {
            let span = tokens[at].span;
            tokens.insert(end, TokenWithSpan { token: Token::RParen, span });
            tokens.insert(at, TokenWithSpan { token: Token::LParen, span });
            at = end + 2;
            continue;
        }
        if is(&tokens[at], "EXCLUDE")
            && let Some((form, end)) = form_at(&tokens, at)
            && let Some(open) = opening(&tokens, at)
        {
            let place = tokens[at].span;
            for token in &mut tokens[at..end] {
                token.token = Token::Whitespace(Whitespace::Space);
            }
            let (to, own) = partition(&tokens, open, form);
            let own: Vec<_> = own.into_iter().map(|token| TokenWithSpan { token, span: place }).collect();
            at = end + own.len();
            tokens.splice(to..to, own);
            continue;
        }
        at += 1;
    }
    tokens
}

fn is(token: &TokenWithSpan, wanted: &str) -> bool {
    matches!(&token.token, Token::Word(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(wanted))
}

fn is_space(token: &TokenWithSpan) -> bool {
    matches!(token.token, Token::Whitespace(_))
}

/// The next token that is no space.
fn next(tokens: &[TokenWithSpan], from: usize) -> usize {
    from + tokens[from.min(tokens.len())..].iter().take_while(|token| is_space(token)).count()
}

/// Where the bound of a frame ends that begins with this literal, if there is more of it.
fn bound_at(tokens: &[TokenWithSpan], literal: usize) -> Option<usize> {
    let before = tokens[..literal].iter().rev().find(|token| !is_space(token))?;
    let begins = ["BETWEEN", "AND", "ROWS", "RANGE", "GROUPS"].iter().any(|word| is(before, word));
    let more = tokens.get(next(tokens, literal + 1))?;
    if !begins || is(more, "PRECEDING") || is(more, "FOLLOWING") {
        return None;
    }
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(literal) {
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen | Token::SemiColon if depth == 0 => return None,
            Token::RParen => depth -= 1,
            _ if depth > 0 => {}
            _ if is(token, "PRECEDING") || is(token, "FOLLOWING") => return Some(at),
            // of another condition, or another bound: each literal is looked behind no further than to the next
            _ if is(token, "AND") || is(token, "BETWEEN") => return None,
            _ => {}
        }
    }
    None
}

/// What is left out, and where the words end, if they stand at the end of a frame.
fn form_at(tokens: &[TokenWithSpan], exclude: usize) -> Option<(String, usize)> {
    let before = tokens[..exclude].iter().rev().find(|token| !is_space(token))?;
    if !["PRECEDING", "FOLLOWING", "ROW"].iter().any(|word| is(before, word)) {
        return None;
    }
    FORMS.iter().find_map(|form| {
        let mut at = exclude + 1;
        for word in *form {
            at = next(tokens, at);
            if !is(tokens.get(at)?, word) {
                return None;
            }
            at += 1;
        }
        let closes = tokens.get(next(tokens, at))?.token == Token::RParen;
        closes.then(|| (form.join(" "), at))
    })
}

/// The parenthesis that a token stands in.
fn opening(tokens: &[TokenWithSpan], inside: usize) -> Option<usize> {
    let mut depth = 0_usize;
    tokens[..inside].iter().rposition(|token| match token.token {
        Token::RParen => {
            depth += 1;
            false
        }
        Token::LParen if depth == 0 => true,
        Token::LParen => {
            depth -= 1;
            false
        }
        _ => false,
    })
}

/// Where the expression goes, and the tokens that it takes there.
fn partition(tokens: &[TokenWithSpan], open: usize, form: String) -> (usize, Vec<Token>) {
    let name =
        |value: String| Token::Word(Word { value, quote_style: Some('"'), keyword: Keyword::NoKeyword });
    let word =
        |value: &str, keyword| Token::Word(Word { value: value.to_owned(), quote_style: None, keyword });
    let own = vec![name(String::new()), Token::Period, name(form)];
    let mut at = next(tokens, open + 1);
    // the window that it is made from
    let begins = ["PARTITION", "ORDER", "ROWS", "RANGE", "GROUPS"];
    if !begins.iter().any(|word| is(&tokens[at], word)) {
        at = next(tokens, at + 1);
    }
    if is(&tokens[at], "PARTITION") {
        let by = next(tokens, at + 1);
        return (by + 1, [own, vec![Token::Comma]].concat());
    }
    let by = vec![word("PARTITION", Keyword::PARTITION), word("BY", Keyword::BY)];
    (at, [by, own].concat())
}

#[cfg(test)]
mod tests {
    use sqlparser::ast::Statement;

    fn shown(text: &str) -> String {
        let Statement::Query(query) = crate::statement(text).unwrap() else { panic!("a query") };
        query.to_string()
    }

    #[test]
    fn bounds_may_begin_with_a_literal() {
        for (bounds, wanted) in [
            (
                "between '1 day'::interval preceding and '2'::text::interval following",
                "BETWEEN ('1 day'::INTERVAL) PRECEDING AND ('2'::TEXT::INTERVAL) FOLLOWING",
            ),
            ("'1 day'::interval preceding", "('1 day'::INTERVAL) PRECEDING"),
            (
                "between '1 day' preceding and current row",
                "BETWEEN INTERVAL '1 day' PRECEDING AND CURRENT ROW",
            ),
        ] {
            let once = shown(&format!(
                "select sum(a) over (order by b range {bounds}) from t where a between 'a' || 'b' and 'c' || 'd'"
            ));
            assert!(once.contains(wanted), "{once}");
            assert!(once.ends_with("BETWEEN 'a' || 'b' AND 'c' || 'd'"), "{once}");
        }
    }

    #[test]
    fn an_exclusion_is_kept_when_its_text_is_printed() {
        for (text, wanted) in [
            (
                "select sum(a) over (rows 1 preceding exclude ties)",
                "PARTITION BY \"\".\"TIES\" ROWS 1 PRECEDING",
            ),
            (
                "select sum(a) over (w order by b groups between current row and 1 following exclude /* x */ no others)",
                "(w PARTITION BY \"\".\"NO OTHERS\" ORDER BY b GROUPS",
            ),
            (
                "select 1 from t window w as (partition by (a), b rows between 1 preceding and current row exclude current row)",
                "(PARTITION BY \"\".\"CURRENT ROW\", (a), b ROWS",
            ),
        ] {
            let once = shown(text);
            assert!(once.contains(wanted), "{once}");
            assert_eq!(shown(&once), once);
        }
        // elsewhere it is a name like others
        assert_eq!(shown("select exclude from exclude"), "SELECT exclude FROM exclude");
        for text in [
            "select sum(a) over (order by a exclude ties)",
            "select sum(a) over (exclude ties)",
            "exclude ties )",
        ] {
            assert!(crate::statement(text).is_err(), "{text}");
        }
    }
}
