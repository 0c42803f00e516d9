//! Elements of columns that a statement gives values, as the general parser can take them: it knows names alone there.
//!
//! ```text
//!  UPDATE t SET a[1] = 5                   UPDATE t SET a.""(a[1]) = 5
//!  INSERT INTO t (a[1], b) VALUES ..       INSERT INTO t (a.""(a[1]), b) VALUES ..
//! ```
//!
//! No name is empty, so that no statement has such a part of a name.

use sqlparser::ast::{AccessExpr, Expr, FunctionArg, FunctionArgExpr, Ident, ObjectName, ObjectNamePart};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

/// Whether a part of a name holds the subscripts of an element.
pub(super) fn is_mark(part: &Ident, before: &[ObjectNamePart]) -> bool {
    part.value.is_empty() && part.quote_style.is_some() && !before.is_empty()
}

/// The name of a column, and the subscripts of the element of it that a target is.
pub fn element(target: &ObjectName) -> Option<(&Ident, &[AccessExpr])> {
    let [ObjectNamePart::Identifier(column), ObjectNamePart::Function(mark)] = &target.0[..] else {
        return None;
    };
    match &mark.args[..] {
        [FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::CompoundFieldAccess { access_chain, .. }))] => {
            Some((column, access_chain))
        }
        _ => None,
    }
}

/// Puts the elements of a statement in the parser's form.
pub(super) fn rewrite(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    if !tokens.iter().any(|token| token.token == Token::LBracket) {
        return tokens;
    }
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        match keyword(&tokens[at].token) {
            Keyword::SET => assigned(&tokens, behind(&tokens, at), &mut found),
            Keyword::INSERT => {
                if let Some(open) = columns_of_insert(&tokens, at) {
                    listed(&tokens, open, &mut found);
                }
            }
            _ => {}
        }
        at += 1;
    }
    found.sort_unstable();
    found.dedup();
    let mut found = found.into_iter().peekable();
    let mut ends = Vec::new();
    let mut out = Vec::with_capacity(tokens.len() + 5 * found.len());
    for (at, token) in tokens.into_iter().enumerate() {
        let span = token.span;
        let sign = |token: Token| TokenWithSpan { token, span };
        let name = found.next_if(|(name, _)| *name == at);
        let column = name.map(|_| token.clone());
        out.push(token);
        if let (Some(column), Some((_, end))) = (column, name) {
            let none = Word { value: String::new(), quote_style: Some('"'), keyword: Keyword::NoKeyword };
            out.extend([sign(Token::Period), sign(Token::Word(none)), sign(Token::LParen), column]);
            ends.push(end);
        }
        while ends.pop_if(|end| *end == at).is_some() {
            out.push(sign(Token::RParen));
        }
    }
    out
}

fn keyword(token: &Token) -> Keyword {
    match token {
        Token::Word(word) if word.quote_style.is_none() => word.keyword,
        _ => Keyword::NoKeyword,
    }
}

fn is(tokens: &[TokenWithSpan], at: usize, wanted: &Token) -> bool {
    tokens.get(at).is_some_and(|token| token.token == *wanted)
}

/// The next token behind one that is no space.
fn behind(tokens: &[TokenWithSpan], at: usize) -> usize {
    let spaces = tokens.iter().skip(at + 1).take_while(|token| matches!(token.token, Token::Whitespace(_)));
    at + 1 + spaces.count()
}

/// The token that closes what one opens.
fn closing(tokens: &[TokenWithSpan], open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    (open..tokens.len()).find(|&at| {
        match tokens[at].token {
            Token::LParen | Token::LBracket => depth += 1,
            Token::RParen | Token::RBracket => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0
    })
}

/// What stands at a place: a name, and behind it no subscripts, or some and perhaps fields of these.
struct Item {
    /// The last word of the name.
    name: usize,
    /// The last token of what follows it.
    end: usize,
}

impl Item {
    fn at(tokens: &[TokenWithSpan], first: usize) -> Option<Self> {
        let is_word = |at: usize| matches!(tokens.get(at).map(|token| &token.token), Some(Token::Word(_)));
        let (mut name, mut end) = (first, first);
        if !is_word(first) {
            return None;
        }
        loop {
            let next = behind(tokens, end);
            if is(tokens, next, &Token::Period) && is_word(behind(tokens, next)) {
                let word = behind(tokens, next);
                if end == name {
                    name = word;
                }
                end = word;
            } else if is(tokens, next, &Token::LBracket) {
                end = closing(tokens, next)?;
            } else {
                return Some(Self { name, end });
            }
        }
    }

    fn is_element(&self) -> bool {
        self.end != self.name
    }
}

/// The elements that a list behind SET gives values, which ends with the parentheses that it stands in or with
/// RETURNING.
fn assigned(tokens: &[TokenWithSpan], first: usize, found: &mut Vec<(usize, usize)>) {
    let (mut at, mut begins) = (first, true);
    while at < tokens.len() {
        if begins {
            let item = Item::at(tokens, at).filter(Item::is_element);
            let item = item.filter(|item| is(tokens, behind(tokens, item.end), &Token::Eq));
            found.extend(item.map(|item| (item.name, item.end)));
            let close = is(tokens, at, &Token::LParen).then(|| closing(tokens, at)).flatten();
            if close.is_some_and(|close| is(tokens, behind(tokens, close), &Token::Eq)) {
                listed(tokens, at, found);
            }
        }
        begins = tokens[at].token == Token::Comma;
        match tokens[at].token {
            Token::LParen | Token::LBracket => match closing(tokens, at) {
                Some(close) => at = close,
                None => return,
            },
            Token::RParen | Token::RBracket | Token::SemiColon => return,
            _ if keyword(&tokens[at].token) == Keyword::RETURNING => return,
            // another list, which is looked at by itself
            _ if keyword(&tokens[at].token) == Keyword::SET => return,
            _ => {}
        }
        at = behind(tokens, at);
    }
}

/// The elements in a list in parentheses.
fn listed(tokens: &[TokenWithSpan], open: usize, found: &mut Vec<(usize, usize)>) {
    let mut at = open;
    while let Some(item) = Item::at(tokens, behind(tokens, at)) {
        if item.is_element() {
            found.push((item.name, item.end));
        }
        at = behind(tokens, item.end);
        if !is(tokens, at, &Token::Comma) {
            return;
        }
    }
}

/// Where the list of columns of an INSERT opens, which may be one of MERGE.
fn columns_of_insert(tokens: &[TokenWithSpan], insert: usize) -> Option<usize> {
    let mut at = behind(tokens, insert);
    if keyword(&tokens.get(at)?.token) == Keyword::INTO {
        at = behind(tokens, behind(tokens, at));
        while is(tokens, at, &Token::Period) {
            at = behind(tokens, behind(tokens, at));
        }
        if keyword(&tokens.get(at)?.token) == Keyword::AS {
            at = behind(tokens, behind(tokens, at));
        }
    }
    is(tokens, at, &Token::LParen).then_some(at)
}
