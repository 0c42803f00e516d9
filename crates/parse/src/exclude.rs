//! EXCLUDE constraints, which the parser does not know: they are written as a CHECK of a call that no statement can
//! contain, and read again here.
//!
//! ```text
//!  EXCLUDE USING gist (room WITH =, during WITH &&) WHERE (paid) INITIALLY DEFERRED
//!  CHECK (""."EXCLUDE"('gist', 'deferred', ('=', room), ('&&', during), ('WHERE', paid)))
//! ```

use super::marked::{behind, is, mark, mark_of};
use scaledb_catalog::Initially;
use sqlparser::ast::{Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Value};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

/// What the name of the call ends with.
const EXCLUDE: &str = "EXCLUDE";
const IMMEDIATE: &str = "immediate";
const DEFERRED: &str = "deferred";
const WHERE: &str = "WHERE";

/// What an EXCLUDE constraint says.
#[derive(Debug)]
pub struct Exclusion<'a> {
    /// The access method, in lower case.
    pub method: &'a str,
    /// When it is checked, if it is deferrable.
    pub deferrable: Option<Initially>,
    /// Each element, and the operator that compares it.
    pub elements: Vec<(&'a Expr, &'a str)>,
    /// Which rows it is for, if not for all.
    pub predicate: Option<&'a Expr>,
}

/// The constraint that the expression of a CHECK stands for, if it stands for one.
pub fn exclusion_of(expr: &Expr) -> Option<Exclusion<'_>> {
    let Expr::Function(call) = expr else { return None };
    if mark_of(&call.name) != Some(EXCLUDE) {
        return None;
    }
    let FunctionArguments::List(list) = &call.args else { return None };
    let mut args = list.args.iter().map(|arg| match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
        _ => None,
    });
    let method = literal(args.next()??)?;
    let deferrable = match literal(args.next()??)? {
        IMMEDIATE => Some(Initially::Immediate),
        DEFERRED => Some(Initially::Deferred),
        _ => None,
    };
    let (mut elements, mut predicate) = (Vec::new(), None);
    for arg in args {
        let Some(Expr::Tuple(pair)) = arg else { return None };
        let [what, expr] = &pair[..] else { return None };
        match literal(what)? {
            WHERE => predicate = Some(expr),
            operator => elements.push((expr, operator)),
        }
    }
    Some(Exclusion { method, deferrable, elements, predicate })
}

fn literal(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => Some(text),
            _ => None,
        },
        _ => None,
    }
}

/// Writes the constraint that begins at EXCLUDE as a CHECK, if one begins there. What is none is left to the parser,
/// which refuses it.
pub(super) fn exclude_at(tokens: &mut Vec<TokenWithSpan>, at: usize) {
    let first = tokens.iter().position(|token| !matches!(token.token, Token::Whitespace(_))).unwrap_or(0);
    if !is(tokens, first, "CREATE") && !is(tokens, first, "ALTER") {
        return;
    }
    let Some((end, call)) = read(tokens, at) else { return };
    let span = tokens[at].span;
    tokens.splice(at..end, call.into_iter().map(|token| TokenWithSpan { token, span }));
}

/// Where the parenthesis that opens at a token is closed.
fn closing(tokens: &[TokenWithSpan], open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

fn is_open(tokens: &[TokenWithSpan], at: usize) -> bool {
    tokens.get(at).is_some_and(|token| token.token == Token::LParen)
}

/// The tokens of a range, spaces left out.
fn solid(tokens: &[TokenWithSpan]) -> Vec<&Token> {
    tokens.iter().map(|token| &token.token).filter(|token| !matches!(token, Token::Whitespace(_))).collect()
}

/// Where the constraint that begins at a token ends, and the CHECK that stands for it.
fn read(tokens: &[TokenWithSpan], at: usize) -> Option<(usize, Vec<Token>)> {
    let mut next = behind(tokens, at);
    let mut method = "btree".to_owned();
    if is(tokens, next, "USING") {
        next = behind(tokens, next);
        let Token::Word(word) = &tokens.get(next)?.token else { return None };
        method = word.value.to_lowercase();
        next = behind(tokens, next);
    }
    if !is_open(tokens, next) {
        return None;
    }
    let end = closing(tokens, next)?;
    let mut pairs = Vec::new();
    for element in elements(&tokens[next + 1..end]) {
        pairs.push(pair(element)?);
    }
    next = behind(tokens, end);
    let mut behind_all = end + 1;
    if is(tokens, next, "WITH") && is_open(tokens, behind(tokens, next)) {
        behind_all = closing(tokens, behind(tokens, next))? + 1;
        next = behind(tokens, behind_all - 1);
    }
    if is(tokens, next, WHERE) {
        let open = behind(tokens, next);
        if !is_open(tokens, open) {
            return None;
        }
        let close = closing(tokens, open)?;
        pairs.push((WHERE.to_owned(), tokens[open + 1..close].iter().map(|t| t.token.clone()).collect()));
        behind_all = close + 1;
        next = behind(tokens, close);
    }
    let mut when = "";
    loop {
        let second = behind(tokens, next);
        let words = match () {
            () if is(tokens, next, "DEFERRABLE") => {
                when = if when == DEFERRED { DEFERRED } else { IMMEDIATE };
                1
            }
            () if is(tokens, next, "NOT") && is(tokens, second, "DEFERRABLE") => 2,
            () if is(tokens, next, "INITIALLY") && is(tokens, second, "DEFERRED") => {
                when = DEFERRED;
                2
            }
            () if is(tokens, next, "INITIALLY") && is(tokens, second, "IMMEDIATE") => 2,
            () => break,
        };
        let last = if words == 1 { next } else { second };
        behind_all = last + 1;
        next = behind(tokens, last);
    }
    let word = Word { value: "CHECK".to_owned(), quote_style: None, keyword: Keyword::CHECK };
    let mut call = vec![Token::Word(word), Token::LParen];
    call.extend(mark(EXCLUDE));
    call.push(Token::LParen);
    call.push(Token::SingleQuotedString(method));
    call.extend([Token::Comma, Token::SingleQuotedString(when.to_owned())]);
    for (operator, expr) in pairs {
        call.extend([Token::Comma, Token::LParen, Token::SingleQuotedString(operator), Token::Comma]);
        call.extend(expr);
        call.push(Token::RParen);
    }
    call.extend([Token::RParen, Token::RParen]);
    Some((behind_all, call))
}

/// What stands between the commas of a list.
fn elements(tokens: &[TokenWithSpan]) -> Vec<&[TokenWithSpan]> {
    let (mut depth, mut from, mut found) = (0_usize, 0, Vec::new());
    for (at, token) in tokens.iter().enumerate() {
        match token.token {
            Token::LParen | Token::LBracket => depth += 1,
            Token::RParen | Token::RBracket => depth = depth.saturating_sub(1),
            Token::Comma if depth == 0 => {
                found.push(&tokens[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    found.push(&tokens[from..]);
    found
}

/// `element WITH operator`: the operator and the element, without its operator class and direction.
fn pair(element: &[TokenWithSpan]) -> Option<(String, Vec<Token>)> {
    let with = (0..element.len()).rev().find(|&at| is(element, at, "WITH"))?;
    let mut operator = solid(&element[with + 1..]);
    // OPERATOR(pg_catalog.=)
    if let [Token::Word(word), Token::LParen, .., last, Token::RParen] = &operator[..]
        && word.value.eq_ignore_ascii_case("operator")
    {
        operator = vec![last];
    }
    let [operator] = operator[..] else { return None };
    let mut expr = solid(&element[..with]);
    while let [.., before, Token::Word(word)] = &expr[..]
        && word.quote_style.is_none()
        && matches!(before, Token::RParen | Token::Word(_))
    {
        expr.pop();
    }
    if expr.is_empty() {
        return None;
    }
    // words in an expression need the spaces between them
    let space = || Token::Whitespace(sqlparser::tokenizer::Whitespace::Space);
    let expr = expr.into_iter().flat_map(|token| [token.clone(), space()]).collect();
    Some((operator.to_string(), expr))
}
