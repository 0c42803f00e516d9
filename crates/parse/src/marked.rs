//! Forms that the parser does not know, put as names that no statement can contain, as no name is empty:
//!
//! ```text
//!  INSERT INTO t (a, b) OVERRIDING SYSTEM VALUE ..   INSERT INTO t (""."SYSTEM", a, b) ..
//!  ROWS FROM (f(x), g(y))                            ""."ROWS"(f(x), g(y))
//!  ALTER TABLE t ALTER a DROP EXPRESSION             ALTER TABLE t ALTER a SET DEFAULT ""."EXPRESSION"
//!  CREATE TABLE t (a int, LIKE s INCLUDING ALL)      CREATE TABLE t (a int, "" INT DEFAULT 's INCLUDING ALL')
//!  DROP INDEX CONCURRENTLY IF EXISTS i               DROP INDEX IF EXISTS ""."CONCURRENTLY", i
//!  ON CONFLICT (a) WHERE b DO UPDATE SET a = 1       ON CONFLICT (a) DO UPDATE SET "" = (b), a = 1
//!  ON CONFLICT (a) WHERE b DO NOTHING                ON CONFLICT (a) DO UPDATE SET "" = (b)
//!  ON CONFLICT (a, f(b)) DO UPDATE SET a = 1         ON CONFLICT ("") DO UPDATE SET ""."TARGET" = (a), ""."TARGET" = (f(b)), a = 1
//!  SELECT (f(x)).*                                   SELECT (f(x)).""
//!  the query of m, and m as a target of REFRESH      ""."MATERIALIZED"."s"."m", see `materialized`
//!  SELECT WHERE a                                    SELECT ""."NOTHING" WHERE a, see `empty_lists`
//!  JOIN b USING (a) AS j                             JOIN b USING (a, ""."ALIAS"."j"), see `join_alias`
//!  FETCH FIRST (a + 1) ROWS WITH TIES                LIMIT ""."TIES"((a + 1)), see `fetch`
//!  UPDATE t SET a = 1 WHERE CURRENT OF c             UPDATE t SET a = 1 WHERE ""."CURRENT"."c"
//!  EXCLUDE (a WITH =)                                CHECK (""."EXCLUDE"(..)), see `exclude`
//!  FOREIGN KEY (a, b) .. ON DELETE SET NULL (b)      FOREIGN KEY "ON DELETE SET b" (a, b) .. ON DELETE SET NULL
//! ```
//!
//! `int ARRAY`, which is no name, becomes `int []`; `WITHOUT OIDS`, `USING heap`, and `NO INHERIT` of a CHECK are left
//! out.

use super::exclude::exclude_at;
use sqlparser::ast::{
    AccessExpr, Assignment, AssignmentTarget, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Ident,
    ObjectName, ObjectNamePart, OnConflictAction,
};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace, Word};

/// What the name of an expression that ON CONFLICT names ends with.
const TARGET: &str = "TARGET";

/// What the name of ROWS FROM ends with.
pub const ROWS: &str = "ROWS";

/// What the list of columns of an INSERT begins with where it is OVERRIDING SYSTEM VALUE.
pub const SYSTEM: &str = "SYSTEM";

/// As [`SYSTEM`], of OVERRIDING USER VALUE.
pub const USER: &str = "USER";

/// What stands in a select list that has no columns.
pub const NOTHING: &str = "NOTHING";

/// What stands before the name of a join, among the columns of its USING.
pub const ALIAS: &str = "ALIAS";

/// What the name ends with of a call around the count of FETCH .. WITH TIES.
pub const TIES: &str = "TIES";

/// What stands before the name of a cursor behind WHERE CURRENT OF.
const CURRENT: &str = "CURRENT";

/// What the names of DROP INDEX CONCURRENTLY begin with.
pub const CONCURRENTLY: &str = "CONCURRENTLY";

/// What the name of a materialized view has before its schema where REFRESH reads its query, and writes to it.
pub const MATERIALIZED: &str = "MATERIALIZED";

/// What stands for the default of DROP EXPRESSION.
const EXPRESSION: &str = "EXPRESSION";

/// As [`EXPRESSION`], of DROP EXPRESSION IF EXISTS.
const IF_EXPRESSION: &str = "IF EXPRESSION";

/// Whether a default is what stands for DROP EXPRESSION; and whether it says IF EXISTS.
pub fn dropped(default: &Expr) -> Option<bool> {
    let Expr::CompoundIdentifier(parts) = default else { return None };
    match &parts[..] {
        [none, mark] if none.value.is_empty() => match mark.value.as_str() {
            EXPRESSION => Some(false),
            IF_EXPRESSION => Some(true),
            _ => None,
        },
        _ => None,
    }
}

/// Assignments, and the condition of DO UPDATE.
pub type ConflictSet<'a> = (&'a [Assignment], Option<&'a Expr>);

/// What ON CONFLICT says.
#[derive(Default)]
pub struct Conflict<'a> {
    /// What its index is on, if not all of that are names of columns.
    pub targets: Vec<&'a Expr>,
    /// Which rows are in its index.
    pub predicate: Option<&'a Expr>,
    /// What it does, if it does not do nothing.
    pub set: Option<ConflictSet<'a>>,
}

/// What ON CONFLICT says that is written as its action.
pub fn conflict(action: &OnConflictAction) -> Conflict<'_> {
    let mut conflict = Conflict::default();
    let OnConflictAction::DoUpdate(update) = action else { return conflict };
    let (mut assignments, selection) = (&update.assignments[..], update.selection.as_ref());
    while let [Assignment { target: AssignmentTarget::ColumnName(name), value }, rest @ ..] = assignments {
        match &name.0[..] {
            [ObjectNamePart::Identifier(none)] if none.value.is_empty() => conflict.predicate = Some(value),
            _ if mark_of(name) == Some(TARGET) => conflict.targets.push(value),
            _ => break,
        }
        assignments = rest;
    }
    conflict.set = (!assignments.is_empty()).then_some((assignments, selection));
    conflict
}

/// What a name stands for, if it is one that was made here.
pub fn mark_of(name: &ObjectName) -> Option<&str> {
    match &name.0[..] {
        [ObjectNamePart::Identifier(none), ObjectNamePart::Identifier(mark)] if none.value.is_empty() => {
            Some(&mark.value)
        }
        _ => None,
    }
}

/// Whether an item of a select list stands for there being none.
pub fn is_nothing(item: &Expr) -> bool {
    match item {
        Expr::CompoundIdentifier(parts) => match &parts[..] {
            [none, mark] => none.value.is_empty() && mark.value == NOTHING,
            _ => false,
        },
        _ => false,
    }
}

/// The cursor whose row a condition means.
pub fn current_of(condition: &Expr) -> Option<&Ident> {
    match condition {
        Expr::CompoundIdentifier(parts) => match &parts[..] {
            [none, mark, cursor] if none.value.is_empty() && mark.value == CURRENT => Some(cursor),
            _ => None,
        },
        _ => None,
    }
}

/// The count of FETCH .. WITH TIES, if a limit is one.
pub fn count_with_ties(limit: &Expr) -> Option<&Expr> {
    let Expr::Function(call) = limit else { return None };
    let FunctionArguments::List(list) = &call.args else { return None };
    match &list.args[..] {
        [FunctionArg::Unnamed(FunctionArgExpr::Expr(count))] if mark_of(&call.name) == Some(TIES) => {
            Some(count)
        }
        _ => None,
    }
}

/// Whether a name is that of a materialized view in a statement of REFRESH.
pub fn is_materialized(name: &ObjectName) -> bool {
    match &name.0[..] {
        [ObjectNamePart::Identifier(none), ObjectNamePart::Identifier(mark), _, _] => {
            none.value.is_empty() && mark.value == MATERIALIZED
        }
        _ => false,
    }
}

/// Puts the forms of a statement in names.
pub(super) fn rewrite(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut at = 0;
    while at < tokens.len() {
        if is(&tokens, at, "OVERRIDING") {
            override_at(&mut tokens, at);
        } else if is(&tokens, at, "ROWS") {
            rows_from_at(&mut tokens, at);
        } else if is(&tokens, at, "CONFLICT") {
            conflict_at(&mut tokens, at);
        } else if is(&tokens, at, "EXPRESSION") {
            expression_at(&mut tokens, at);
        } else if is(&tokens, at, "CONCURRENTLY") {
            drop_concurrently_at(&mut tokens, at);
        } else if is(&tokens, at, "LIKE") {
            like_at(&mut tokens, at);
        } else if is(&tokens, at, "EXCLUDE") {
            exclude_at(&mut tokens, at);
        } else if is(&tokens, at, "ARRAY") {
            array_type_at(&mut tokens, at);
        } else if is(&tokens, at, "CURRENT") {
            current_of_at(&mut tokens, at);
        } else if is(&tokens, at, "DELETE") {
            on_delete_at(&mut tokens, at);
        } else if ["OIDS", "INHERIT", "HEAP"].iter().any(|word| is(&tokens, at, word)) {
            leave_out_at(&mut tokens, at);
        } else if tokens[at].token == Token::Mul {
            all_fields_at(&mut tokens, at);
        }
        at += 1;
    }
    tokens
}

pub(super) fn is(tokens: &[TokenWithSpan], at: usize, wanted: &str) -> bool {
    matches!(tokens.get(at).map(|token| &token.token),
        Some(Token::Word(word)) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(wanted))
}

/// The next token behind one that is no space.
pub(super) fn behind(tokens: &[TokenWithSpan], at: usize) -> usize {
    let spaces = tokens.iter().skip(at + 1).take_while(|token| matches!(token.token, Token::Whitespace(_)));
    at + 1 + spaces.count()
}

pub(super) fn mark(mark: &str) -> [Token; 3] {
    let name = |value: &str| {
        Token::Word(Word { value: value.to_owned(), quote_style: Some('"'), keyword: Keyword::NoKeyword })
    };
    [name(""), Token::Period, name(mark)]
}

/// What the columns begin with that ON DELETE sets: they stand for the name of an index, which a foreign key has in
/// other databases.
const SETS: &str = "ON DELETE SET ";

/// How far the parts of a foreign key are from each other, in tokens.
const NEAR: usize = 4_096;

/// `FOREIGN KEY (..) .. ON DELETE SET NULL (a, b)`.
fn on_delete_at(tokens: &mut Vec<TokenWithSpan>, at: usize) {
    let set = behind(tokens, at);
    let to = behind(tokens, set);
    let open = behind(tokens, to);
    let opens = tokens.get(open).is_some_and(|token| token.token == Token::LParen);
    if !is(tokens, set, "SET") || !(is(tokens, to, "NULL") || is(tokens, to, "DEFAULT")) || !opens {
        return;
    }
    let Some(close) = tokens[open..].iter().take(NEAR).position(|token| token.token == Token::RParen) else {
        return;
    };
    let close = open + close;
    let mut sets = SETS.to_owned();
    for token in &tokens[open + 1..close] {
        match &token.token {
            Token::Word(_) | Token::Comma => sets.push_str(&token.token.to_string()),
            Token::Whitespace(_) => {}
            _ => return,
        }
    }
    // of a column it can be that column only, as without it
    let mut depth = 0_usize;
    let begin = at.saturating_sub(NEAR);
    let key = tokens[begin..at].iter().rposition(|token| match &token.token {
        Token::RParen => {
            depth += 1;
            false
        }
        Token::LParen if depth > 0 => {
            depth -= 1;
            false
        }
        Token::LParen | Token::Comma => depth == 0,
        Token::Word(word) => depth == 0 && word.keyword == Keyword::FOREIGN,
        _ => false,
    });
    let key = key.map(|key| begin + key).filter(|&key| is(tokens, key, "FOREIGN"));
    let key = key.map(|key| behind(tokens, key));
    for token in &mut tokens[open..=close] {
        token.token = Token::Whitespace(Whitespace::Space);
    }
    if let Some(key) = key.filter(|&key| is(tokens, key, "KEY")) {
        let name = Word { value: sets, quote_style: Some('"'), keyword: Keyword::NoKeyword };
        let span = tokens[key].span;
        tokens.insert(key + 1, TokenWithSpan { token: Token::Word(name), span });
    }
}

/// The columns that ON DELETE sets, by what stands for the name of an index.
pub fn sets_columns(name: &sqlparser::ast::Ident) -> Vec<String> {
    name.value.strip_prefix(SETS).and_then(super::lex::names_of).unwrap_or_default()
}

/// `WITHOUT OIDS` and `USING heap` of CREATE TABLE, and `NO INHERIT` of a CHECK, which say nothing here: rows have no
/// oids, and tables no heirs.
fn leave_out_at(tokens: &mut [TokenWithSpan], at: usize) {
    let first = super::fetch::next(tokens, 0);
    let before =
        |at: usize| tokens[..at].iter().rposition(|token| !matches!(token.token, Token::Whitespace(_)));
    let Some(word) = before(at) else { return };
    let creates = is(tokens, first, "CREATE");
    let closed = before(word).is_some_and(|before| tokens[before].token == Token::RParen);
    let leaves_out = match () {
        () if is(tokens, at, "OIDS") => is(tokens, word, "WITHOUT") && creates,
        () if is(tokens, at, "HEAP") => is(tokens, word, "USING") && closed && creates,
        () => is(tokens, word, "NO") && closed && (creates || is(tokens, first, "ALTER")),
    };
    if leaves_out {
        for at in [word, at] {
            tokens[at].token = Token::Whitespace(Whitespace::Space);
        }
    }
}

/// `WHERE CURRENT OF c`.
fn current_of_at(tokens: &mut Vec<TokenWithSpan>, at: usize) {
    let of = behind(tokens, at);
    let cursor = behind(tokens, of);
    let before = tokens[..at].iter().rposition(|token| !is_space(token));
    let is_name = matches!(tokens.get(cursor).map(|token| &token.token), Some(Token::Word(_)));
    // only what writes has it
    let writes = (0..at).any(|at| is(tokens, at, "UPDATE") || is(tokens, at, "DELETE"));
    if !is(tokens, of, "OF")
        || !is_name
        || !writes
        || !before.is_some_and(|before| is(tokens, before, "WHERE"))
    {
        return;
    }
    let span = tokens[at].span;
    let own = mark(CURRENT).into_iter().chain([Token::Period]);
    tokens.splice(at..cursor, own.map(|token| TokenWithSpan { token, span }));
}

/// The star behind `(..).` or `[..].`, which is all fields of a record.
fn all_fields_at(tokens: &mut [TokenWithSpan], at: usize) {
    let before =
        |at: usize| tokens[..at].iter().rposition(|token| !matches!(token.token, Token::Whitespace(_)));
    let Some(dot) = before(at).filter(|&dot| tokens[dot].token == Token::Period) else { return };
    let record = before(dot).map(|at| &tokens[at].token);
    if matches!(record, Some(Token::RParen | Token::RBracket)) {
        let [name, ..] = mark("");
        tokens[at].token = name;
    }
}

/// The record all fields of which an item of a select list is.
pub fn all_fields(item: &Expr) -> Option<Expr> {
    let Expr::CompoundFieldAccess { root, access_chain } = item else { return None };
    let (AccessExpr::Dot(Expr::Identifier(none)), chain) = access_chain.split_last()? else { return None };
    if !none.value.is_empty() {
        return None;
    }
    if chain.is_empty() {
        return Some((**root).clone());
    }
    Some(Expr::CompoundFieldAccess { root: root.clone(), access_chain: chain.to_vec() })
}

fn override_at(tokens: &mut Vec<TokenWithSpan>, at: usize) {
    let who = behind(tokens, at);
    let value = behind(tokens, who);
    let Some(which) = [SYSTEM, USER].into_iter().find(|which| is(tokens, who, which)) else { return };
    if !is(tokens, value, "VALUE") {
        return;
    }
    let span = tokens[at].span;
    for token in &mut tokens[at..=value] {
        token.token = Token::Whitespace(Whitespace::Space);
    }
    let before = tokens[..at].iter().rposition(|token| !matches!(token.token, Token::Whitespace(_)));
    let listed = before.is_some_and(|before| tokens[before].token == Token::RParen);
    let open = tokens[..at].iter().rposition(|token| token.token == Token::LParen).filter(|_| listed);
    let mut own = mark(which).to_vec();
    let to = match open {
        Some(open) => {
            own.push(Token::Comma);
            open + 1
        }
        None => {
            own.insert(0, Token::LParen);
            own.push(Token::RParen);
            at
        }
    };
    tokens.splice(to..to, own.into_iter().map(|token| TokenWithSpan { token, span }));
}

/// ON CONFLICT (..) WHERE .. DO .., and ON CONFLICT of expressions.
fn conflict_at(tokens: &mut Vec<TokenWithSpan>, at: usize) {
    let open = behind(tokens, at);
    if tokens.get(open).is_none_or(|token| token.token != Token::LParen) {
        return;
    }
    // the end of what an open parenthesis begins, or the first DO that is in none
    let end_of = |from: usize, close: bool| {
        let mut depth = 0_usize;
        (from..tokens.len()).find(|&at| {
            match tokens[at].token {
                Token::LParen => depth += 1,
                Token::RParen => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth == 0 && if close { tokens[at].token == Token::RParen } else { is(tokens, at, "DO") }
        })
    };
    let Some(close) = end_of(open, true) else { return };
    let items = items(&tokens[open + 1..close]);
    let names = items.iter().all(|item| {
        let mut words = item.iter().filter(|token| !matches!(token.token, Token::Whitespace(_)));
        matches!((words.next().map(|token| &token.token), words.next()), (Some(Token::Word(_)) | None, None))
    });
    let behind_targets = behind(tokens, close);
    let has_where = is(tokens, behind_targets, "WHERE");
    if names && !has_where {
        return;
    }
    let start = if names { behind_targets } else { open };
    let Some(do_word) = end_of(behind_targets, false) else { return };
    if !has_where && do_word != behind_targets {
        return;
    }
    let action = behind(tokens, do_word);
    let end = match () {
        () if is(tokens, action, "NOTHING") => action,
        () if is(tokens, action, "UPDATE") && is(tokens, behind(tokens, action), "SET") => {
            behind(tokens, action)
        }
        () => return,
    };
    let does = end > action;
    let span = tokens[start].span;
    let word = |value: &str, quote_style: Option<char>, keyword: Keyword| {
        Token::Word(Word { value: value.to_owned(), quote_style, keyword })
    };
    let space = || Token::Whitespace(Whitespace::Space);
    let (none, set) = (Keyword::NoKeyword, Keyword::SET);
    let mut own =
        vec![word("DO", None, Keyword::DO), space(), word("UPDATE", None, Keyword::UPDATE), space()];
    own.extend([word("SET", None, set), space()]);
    if !names {
        own.splice(..0, [Token::LParen, word("", Some('"'), none), Token::RParen]);
    }
    let mut own: Vec<TokenWithSpan> = own.into_iter().map(|token| TokenWithSpan { token, span }).collect();
    let targets = items.iter().filter(|_| !names).map(|item| (mark(TARGET).to_vec(), *item));
    let condition = &tokens[behind_targets + usize::from(has_where)..do_word];
    let predicate = has_where.then(|| (vec![word("", Some('"'), none)], condition));
    for (number, (name, value)) in targets.chain(predicate).enumerate() {
        let before = (number > 0).then_some(Token::Comma).into_iter().chain(name);
        let before = before.chain([Token::Eq, Token::LParen]);
        own.extend(before.map(|token| TokenWithSpan { token, span }));
        own.extend_from_slice(value);
        own.push(TokenWithSpan { token: Token::RParen, span });
    }
    if does {
        own.push(TokenWithSpan { token: Token::Comma, span });
    }
    tokens.splice(start..=end, own);
}

/// What stands between the commas of a list.
fn items(tokens: &[TokenWithSpan]) -> Vec<&[TokenWithSpan]> {
    let mut depth = 0_usize;
    let between = tokens.split(|token| {
        match token.token {
            Token::LParen | Token::LBracket => depth += 1,
            Token::RParen | Token::RBracket => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && token.token == Token::Comma
    });
    between.collect()
}

/// DROP EXPRESSION behind `ALTER a` or `ALTER COLUMN a`.
fn expression_at(tokens: &mut Vec<TokenWithSpan>, at: usize) {
    let before =
        |at: usize| tokens[..at].iter().rposition(|token| !matches!(token.token, Token::Whitespace(_)));
    let Some(drop) = before(at).filter(|&drop| is(tokens, drop, "DROP")) else { return };
    let column = before(drop);
    let alters = |at: usize| ["ALTER", "COLUMN"].iter().any(|word| is(tokens, at, word));
    // DROP of a column of this name, else
    if !column.and_then(before).is_some_and(alters) {
        return;
    }
    let (if_word, exists) = (behind(tokens, at), behind(tokens, behind(tokens, at)));
    let (end, which) = match is(tokens, if_word, "IF") && is(tokens, exists, "EXISTS") {
        true => (exists, IF_EXPRESSION),
        false => (at, EXPRESSION),
    };
    let span = tokens[at].span;
    let word = |value: &str, keyword: Keyword| {
        Token::Word(Word { value: value.to_owned(), quote_style: None, keyword })
    };
    let space = || Token::Whitespace(Whitespace::Space);
    let set = [word("SET", Keyword::SET), space(), word("DEFAULT", Keyword::DEFAULT), space()];
    let own = set.into_iter().chain(mark(which));
    tokens.splice(drop..=end, own.map(|token| TokenWithSpan { token, span }));
}

/// ARRAY behind the name of a type, perhaps with its modifiers.
fn array_type_at(tokens: &mut Vec<TokenWithSpan>, at: usize) {
    let before = tokens[..at].iter().rfind(|token| !matches!(token.token, Token::Whitespace(_)));
    let of_type = before.is_some_and(|token| matches!(token.token, Token::Word(_) | Token::RParen));
    let open = behind(tokens, at);
    let next = tokens.get(open).map(|token| &token.token);
    // `integer ARRAY[4]`: the length says nothing
    let length = behind(tokens, open);
    let end = behind(tokens, length);
    let is_length = matches!(next, Some(Token::LBracket))
        && matches!(tokens.get(length).map(|token| &token.token), Some(Token::Number(..)))
        && matches!(tokens.get(end).map(|token| &token.token), Some(Token::RBracket));
    let of_known_type = before.is_some_and(|token| match &token.token {
        Token::Word(word) => TYPES.contains(&word.keyword) && word.quote_style.is_none(),
        other => *other == Token::RParen,
    });
    if is_length && of_known_type {
        tokens[at].token = Token::Whitespace(Whitespace::Space);
        return;
    }
    // a column may have this name behind AS
    let named = before.is_some_and(|token| is(std::slice::from_ref(token), 0, "AS"));
    // ARRAY[..] and ARRAY(..) are values
    if of_type && !named && !matches!(next, Some(Token::LBracket | Token::LParen)) {
        let span = tokens[at].span;
        let brackets = [Token::LBracket, Token::RBracket];
        tokens.splice(at..=at, brackets.map(|token| TokenWithSpan { token, span }));
    }
}

/// Types that ARRAY with a length may stand behind, where it could be a value behind other words.
#[rustfmt::skip]
const TYPES: &[Keyword] = &[
    Keyword::INT, Keyword::INT2, Keyword::INT4, Keyword::INT8, Keyword::INTEGER, Keyword::SMALLINT, Keyword::BIGINT,
    Keyword::TEXT, Keyword::VARCHAR, Keyword::CHAR, Keyword::CHARACTER, Keyword::VARYING, Keyword::BOOL,
    Keyword::BOOLEAN, Keyword::NUMERIC, Keyword::DECIMAL, Keyword::REAL, Keyword::PRECISION, Keyword::FLOAT,
    Keyword::FLOAT4, Keyword::FLOAT8, Keyword::DATE, Keyword::TIME, Keyword::TIMESTAMP, Keyword::TIMESTAMPTZ,
    Keyword::ZONE, Keyword::INTERVAL, Keyword::UUID, Keyword::BYTEA, Keyword::JSON, Keyword::JSONB,
];

/// LIKE among the columns of CREATE TABLE.
fn like_at(tokens: &mut Vec<TokenWithSpan>, at: usize) {
    let words = |from: usize| (from..tokens.len()).filter(|&at| !is_space(&tokens[at]));
    let mut first = words(0);
    let mut next_is =
        |wanted: &[&str]| first.next().is_some_and(|at| wanted.iter().any(|word| is(tokens, at, word)));
    if !next_is(&["CREATE"]) || !next_is(&["TABLE", "TEMP", "TEMPORARY", "LOCAL", "GLOBAL", "UNLOGGED"]) {
        return;
    }
    // between the parentheses of the columns, and not within others
    let depth = tokens[..at].iter().fold(0_i32, |depth, token| match token.token {
        Token::LParen => depth + 1,
        Token::RParen => depth - 1,
        _ => depth,
    });
    let before = tokens[..at].iter().rposition(|token| !is_space(token));
    let begins = before.is_some_and(|before| matches!(tokens[before].token, Token::LParen | Token::Comma));
    let name = behind(tokens, at);
    if depth != 1 || !begins || !matches!(tokens.get(name).map(|token| &token.token), Some(Token::Word(_))) {
        return;
    }
    let end = (name..tokens.len()).find(|&at| matches!(tokens[at].token, Token::Comma | Token::RParen));
    let Some(end) = end else { return };
    // a column may have this name, and a type behind it
    let after_name = {
        let dot = behind(tokens, name);
        if tokens.get(dot).is_some_and(|token| token.token == Token::Period) {
            behind(tokens, behind(tokens, dot))
        } else {
            dot
        }
    };
    if after_name < end && !["INCLUDING", "EXCLUDING"].iter().any(|word| is(tokens, after_name, word)) {
        return;
    }
    let text: String = tokens[name..end].iter().map(|token| token.token.to_string()).collect();
    let span = tokens[at].span;
    let word = |value: &str, quote_style: Option<char>, keyword: Keyword| {
        Token::Word(Word { value: value.to_owned(), quote_style, keyword })
    };
    let space = || Token::Whitespace(Whitespace::Space);
    let own = [
        word("", Some('"'), Keyword::NoKeyword),
        space(),
        word("INT", None, Keyword::INT),
        space(),
        word("DEFAULT", None, Keyword::DEFAULT),
        space(),
        Token::SingleQuotedString(text),
    ];
    tokens.splice(at..end, own.map(|token| TokenWithSpan { token, span }));
}

fn is_space(token: &TokenWithSpan) -> bool {
    matches!(token.token, Token::Whitespace(_))
}

fn drop_concurrently_at(tokens: &mut Vec<TokenWithSpan>, at: usize) {
    let mut words = tokens[..at].iter().filter(|token| !matches!(token.token, Token::Whitespace(_)));
    let mut is_next =
        |wanted: &str| words.next().is_some_and(|token| is(std::slice::from_ref(token), 0, wanted));
    let names = behind(tokens, at);
    // an index may have this name
    let named = matches!(tokens.get(names).map(|token| &token.token), Some(Token::Word(_)))
        && !["CASCADE", "RESTRICT"].iter().any(|word| is(tokens, names, word));
    if !is_next("DROP") || !is_next("INDEX") || words.next().is_some() || !named {
        return;
    }
    let (if_word, exists) = (names, behind(tokens, names));
    let first = if is(tokens, if_word, "IF") && is(tokens, exists, "EXISTS") {
        behind(tokens, exists)
    } else {
        names
    };
    let span = tokens[at].span;
    let own = mark(CONCURRENTLY).into_iter().chain([Token::Comma]);
    tokens.splice(first..first, own.map(|token| TokenWithSpan { token, span }));
    tokens[at].token = Token::Whitespace(Whitespace::Space);
}

fn rows_from_at(tokens: &mut Vec<TokenWithSpan>, at: usize) {
    let from = behind(tokens, at);
    let open = behind(tokens, from);
    if !is(tokens, from, "FROM") || tokens.get(open).is_none_or(|token| token.token != Token::LParen) {
        return;
    }
    // a column may have this name: `SELECT rows FROM (SELECT ..)`
    let before = tokens[..at].iter().rposition(|token| !matches!(token.token, Token::Whitespace(_)));
    let is_item = before.is_some_and(|before| {
        matches!(tokens[before].token, Token::Comma | Token::LParen)
            || ["FROM", "JOIN", "LATERAL", "USING"].iter().any(|word| is(tokens, before, word))
    });
    let inside = behind(tokens, open);
    let is_query = ["SELECT", "WITH", "VALUES", "TABLE"].iter().any(|word| is(tokens, inside, word));
    if !is_item || is_query {
        return;
    }
    let span = tokens[at].span;
    tokens.splice(at..open, mark(ROWS).into_iter().map(|token| TokenWithSpan { token, span }));
}
