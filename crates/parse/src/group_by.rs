//! GROUP BY DISTINCT, which the parser does not know: it becomes `GROUP BY ""."DISTINCT", ..`, as no name is empty. ALL
//! says nothing there.

use super::marked::{is, mark};
use sqlparser::ast::Expr;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// What stands for DISTINCT.
pub(super) const DISTINCT: &str = "DISTINCT";

/// Puts the lists of a statement in the parser's form.
pub(super) fn rewrite(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let said = |at: usize| is(&tokens, at, "DISTINCT") || is(&tokens, at, "ALL");
    let by = |at: usize| {
        let mut words =
            tokens[..at].iter().rev().filter(|token| !matches!(token.token, Token::Whitespace(_)));
        let mut word =
            |wanted: &str| words.next().is_some_and(|token| is(std::slice::from_ref(token), 0, wanted));
        word("BY") && word("GROUP")
    };
    let found: Vec<usize> = (0..tokens.len()).filter(|&at| said(at) && by(at)).collect();
    if found.is_empty() {
        return tokens;
    }
    let mut out = Vec::with_capacity(tokens.len() + 3 * found.len());
    let mut found = found.into_iter().peekable();
    for (at, token) in tokens.into_iter().enumerate() {
        if found.next_if_eq(&at).is_none() {
            out.push(token);
            continue;
        }
        if is(std::slice::from_ref(&token), 0, "DISTINCT") {
            let own = mark(DISTINCT).into_iter().chain([Token::Comma]);
            out.extend(own.map(|own| TokenWithSpan { token: own, span: token.span }));
        }
    }
    out
}

/// The list of a GROUP BY, and whether DISTINCT stands before it.
pub fn list_of(list: &[Expr]) -> (bool, &[Expr]) {
    match list {
        [Expr::CompoundIdentifier(parts), rest @ ..] if matches!(&parts[..], [none, mark] if none.value.is_empty() && mark.value == DISTINCT) => {
            (true, rest)
        }
        list => (false, list),
    }
}
