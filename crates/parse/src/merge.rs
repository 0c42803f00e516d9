//! MERGE: the general parser takes no joins as its source, no DO NOTHING, no DEFAULT VALUES, and clauses of other
//! databases.
//!
//! ```text
//!  THEN DO NOTHING                an UPDATE that sets nothing
//!  THEN INSERT DEFAULT VALUES     the INSERT that other databases write as INSERT ROW
//!  USING a JOIN b ON .. ON ..     the join in parentheses
//! ```

use sqlparser::ast::helpers::attached_token::AttachedToken;
use sqlparser::ast::{
    Merge, MergeAction, MergeClause, MergeClauseKind, MergeInsertExpr, MergeInsertKind, MergeUpdateExpr,
    Query, SetExpr, Statement, TableFactor, Values, With,
};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{IsOptional, Parser, ParserError};
use sqlparser::tokenizer::Token;

/// MERGE, perhaps behind WITH, if the parser is at one.
pub(super) fn statement(parser: &mut Parser<'_>) -> Option<Result<Statement, ParserError>> {
    if parser.parse_keyword(Keyword::MERGE) {
        return Some(merge(parser));
    }
    (parser.peek_keyword(Keyword::WITH) && merges_behind_with(parser)).then(|| with(parser))
}

/// Whether what stands behind the queries of WITH is MERGE.
fn merges_behind_with(parser: &Parser<'_>) -> bool {
    let (mut open, mut behind_query) = (0_usize, false);
    // one that skips spaces would look at all tokens before it each time
    for at in 0.. {
        let token = parser.peek_nth_token_no_skip(at).token;
        match &token {
            Token::EOF => break,
            Token::Whitespace(_) => continue,
            Token::LParen => open += 1,
            Token::RParen => open = open.saturating_sub(1),
            Token::Word(word) if open == 0 && behind_query => match word.keyword {
                Keyword::MERGE if word.quote_style.is_none() => return true,
                // the statement, behind the last query
                Keyword::SELECT | Keyword::INSERT | Keyword::UPDATE | Keyword::DELETE | Keyword::VALUES => {
                    break;
                }
                _ => {}
            },
            _ => {}
        }
        behind_query = token == Token::RParen && open == 0;
    }
    false
}

fn with(parser: &mut Parser<'_>) -> Result<Statement, ParserError> {
    parser.expect_keyword_is(Keyword::WITH)?;
    let with_token = AttachedToken(parser.get_current_token().clone());
    let recursive = parser.parse_keyword(Keyword::RECURSIVE);
    let cte_tables = parser.parse_comma_separated(Parser::parse_cte)?;
    parser.expect_keyword_is(Keyword::MERGE)?;
    let body = Box::new(SetExpr::Merge(merge(parser)?));
    Ok(Statement::Query(Box::new(Query {
        with: Some(With { with_token, recursive, cte_tables }),
        body,
        order_by: None,
        limit_clause: None,
        fetch: None,
        locks: Vec::new(),
        for_clause: None,
        settings: None,
        format_clause: None,
        pipe_operators: Vec::new(),
    })))
}

/// What stands behind MERGE.
fn merge(parser: &mut Parser<'_>) -> Result<Statement, ParserError> {
    let merge_token = AttachedToken(parser.get_current_token().clone());
    parser.expect_keyword_is(Keyword::INTO)?;
    let table = target(parser)?;
    parser.expect_keyword_is(Keyword::USING)?;
    let from = parser.parse_table_and_joins()?;
    let source = match from.joins.is_empty() {
        true => from.relation,
        false => TableFactor::NestedJoin { table_with_joins: Box::new(from), alias: None },
    };
    parser.expect_keyword_is(Keyword::ON)?;
    let on = Box::new(parser.parse_expr()?);
    let mut clauses = Vec::new();
    while clauses.is_empty() || parser.peek_keyword(Keyword::WHEN) {
        clauses.push(clause(parser)?);
    }
    let optimizer_hints = Vec::new();
    Ok(Statement::Merge(Merge {
        merge_token,
        optimizer_hints,
        into: true,
        table,
        source,
        on,
        clauses,
        output: None,
    }))
}

/// The table that rows are merged into: `ONLY t`, `t *`, `t AS a`.
fn target(parser: &mut Parser<'_>) -> Result<TableFactor, ParserError> {
    // tables have no heirs
    let only = parser.parse_keyword(Keyword::ONLY);
    let parens = only && parser.consume_token(&Token::LParen);
    let name = parser.parse_object_name(false)?;
    if parens {
        parser.expect_token(&Token::RParen)?;
    } else if !only {
        let _ = parser.consume_token(&Token::Mul);
    }
    let next = parser.peek_token();
    let alias = parser.maybe_parse_table_alias()?;
    if alias.as_ref().is_some_and(|alias| !alias.columns.is_empty()) {
        return parser.expected("an alias without columns", next);
    }
    Ok(TableFactor::Table {
        name,
        alias,
        args: None,
        with_hints: Vec::new(),
        version: None,
        with_ordinality: false,
        partitions: Vec::new(),
        json_path: None,
        sample: None,
        index_hints: Vec::new(),
    })
}

/// `WHEN [NOT] MATCHED [AND ..] THEN ..`.
fn clause(parser: &mut Parser<'_>) -> Result<MergeClause, ParserError> {
    parser.expect_keyword_is(Keyword::WHEN)?;
    let when_token = AttachedToken(parser.get_current_token().clone());
    let matched = !parser.parse_keyword(Keyword::NOT);
    parser.expect_keyword_is(Keyword::MATCHED)?;
    let predicate = parser.parse_keyword(Keyword::AND).then(|| parser.parse_expr()).transpose()?;
    parser.expect_keyword_is(Keyword::THEN)?;
    let word = parser.next_token();
    let keyword = match &word.token {
        Token::Word(word) if word.quote_style.is_none() => word.keyword,
        _ => Keyword::NoKeyword,
    };
    let action = match (keyword, matched) {
        (Keyword::DO, _) => {
            parser.expect_keyword_is(Keyword::NOTHING)?;
            update(AttachedToken(word), Vec::new())
        }
        (Keyword::UPDATE, true) => {
            parser.expect_keyword_is(Keyword::SET)?;
            update(AttachedToken(word), parser.parse_comma_separated(Parser::parse_assignment)?)
        }
        (Keyword::DELETE, true) => MergeAction::Delete { delete_token: AttachedToken(word) },
        (Keyword::INSERT, false) => insert(parser, AttachedToken(word))?,
        (_, true) => return parser.expected("UPDATE, DELETE or DO NOTHING", word),
        (_, false) => return parser.expected("INSERT or DO NOTHING", word),
    };
    let clause_kind = if matched { MergeClauseKind::Matched } else { MergeClauseKind::NotMatched };
    Ok(MergeClause { when_token, clause_kind, predicate, action })
}

fn update(update_token: AttachedToken, assignments: Vec<sqlparser::ast::Assignment>) -> MergeAction {
    MergeAction::Update(MergeUpdateExpr {
        update_token,
        assignments,
        update_predicate: None,
        delete_predicate: None,
    })
}

/// `(a, b) VALUES (1, 2)` or `DEFAULT VALUES`; OVERRIDING stands among the columns: see `marked`.
fn insert(parser: &mut Parser<'_>, insert_token: AttachedToken) -> Result<MergeAction, ParserError> {
    let mut columns = Vec::new();
    let kind = if parser.parse_keywords(&[Keyword::DEFAULT, Keyword::VALUES]) {
        MergeInsertKind::Row
    } else {
        columns = parser.parse_parenthesized_qualified_column_list(IsOptional::Optional, false)?;
        parser.expect_keyword_is(Keyword::VALUES)?;
        let open = parser.expect_token(&Token::LParen)?;
        let content = parser.parse_comma_separated(Parser::parse_expr)?;
        let close = parser.expect_token(&Token::RParen)?;
        let row = sqlparser::ast::Parens { opening_token: open.into(), content, closing_token: close.into() };
        MergeInsertKind::Values(Values { explicit_row: false, value_keyword: false, rows: vec![row] })
    };
    let kind_token = AttachedToken(parser.get_current_token().clone());
    Ok(MergeAction::Insert(MergeInsertExpr {
        insert_token,
        columns,
        kind_token,
        kind,
        insert_predicate: None,
    }))
}

/// Whether an action is DO NOTHING.
pub fn is_nothing(action: &MergeAction) -> bool {
    matches!(action, MergeAction::Update(update) if update.assignments.is_empty())
}
