//! CREATE TABLE AS with names of columns, WITH NO DATA and EXECUTE, which the parser does not know. What the syntax
//! tree has no place for is kept where no other statement has anything.

use scaledb_types::{SqlError, SqlState};
use sqlparser::ast::helpers::stmt_create_table::CreateTableBuilder;
use sqlparser::ast::{
    ColumnDef, CreateTable, CreateTableOptions, DataType, Ident, ObjectName, ObjectNamePart, OnCommit,
    Statement,
};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

/// What stands before AS.
struct Head {
    temporary: bool,
    if_not_exists: bool,
    name: ObjectName,
    columns: Vec<ColumnDef>,
    options: CreateTableOptions,
    on_commit: Option<OnCommit>,
}

/// CREATE TABLE AS, if the parser is at one.
pub(super) fn statement(parser: &mut Parser<'_>) -> Option<Result<Statement, ParserError>> {
    if !parser.peek_keyword(Keyword::CREATE) {
        return None;
    }
    let head = match parser.maybe_parse(head) {
        Ok(head) => head?,
        Err(error) => return Some(Err(error)),
    };
    Some(rest(parser, head))
}

fn head(parser: &mut Parser<'_>) -> Result<Head, ParserError> {
    use Keyword::{AS, CREATE, EXISTS, GLOBAL, IF, LOCAL, NOT, TABLE, TEMP, TEMPORARY, USING};
    parser.expect_keyword_is(CREATE)?;
    let scoped = parser.parse_one_of_keywords(&[LOCAL, GLOBAL]).is_some();
    let temporary = parser.parse_one_of_keywords(&[TEMP, TEMPORARY]).is_some();
    if scoped && !temporary {
        return parser.expected_ref("TEMPORARY", parser.peek_token_ref());
    }
    parser.expect_keyword_is(TABLE)?;
    let if_not_exists = parser.parse_keywords(&[IF, NOT, EXISTS]);
    let name = parser.parse_object_name(false)?;
    let mut columns = Vec::new();
    if parser.consume_token(&Token::LParen) {
        columns = parser.parse_comma_separated(Parser::parse_identifier)?;
        parser.expect_token(&Token::RParen)?;
    }
    if parser.parse_keyword(USING) {
        parser.parse_identifier()?;
    }
    let options = parser.parse_options(Keyword::WITH)?;
    let on_commit = on_commit(parser)?;
    parser.expect_keyword_is(AS)?;
    let columns = columns.into_iter().map(|name| ColumnDef {
        name,
        data_type: DataType::Unspecified,
        options: Vec::new(),
    });
    let options = match options.is_empty() {
        true => CreateTableOptions::None,
        false => CreateTableOptions::With(options),
    };
    Ok(Head { temporary, if_not_exists, name, columns: columns.collect(), options, on_commit })
}

fn on_commit(parser: &mut Parser<'_>) -> Result<Option<OnCommit>, ParserError> {
    use Keyword::{COMMIT, DELETE, DROP, ON, PRESERVE, ROWS};
    if !parser.parse_keywords(&[ON, COMMIT]) {
        return Ok(None);
    }
    Ok(Some(if parser.parse_keywords(&[DELETE, ROWS]) {
        OnCommit::DeleteRows
    } else if parser.parse_keywords(&[PRESERVE, ROWS]) {
        OnCommit::PreserveRows
    } else {
        parser.expect_keyword_is(DROP)?;
        OnCommit::Drop
    }))
}

fn rest(parser: &mut Parser<'_>, head: Head) -> Result<Statement, ParserError> {
    let mut builder = CreateTableBuilder::new(head.name)
        .temporary(head.temporary)
        .if_not_exists(head.if_not_exists)
        .columns(head.columns)
        .table_options(head.options)
        .on_commit(head.on_commit);
    if parser.parse_keyword(Keyword::EXECUTE) {
        builder = builder.clone_clause(Some(execute(parser)?));
    } else {
        builder = builder.query(Some(parser.parse_query()?));
    }
    if parser.parse_keyword(Keyword::WITH) {
        let without = parser.parse_keyword(Keyword::NO);
        parser.expect_keyword_is(Keyword::DATA)?;
        // no text has a name like this: it is empty, and has no quotes
        builder = builder.on_cluster(without.then(|| Ident::new("")));
    }
    Ok(Statement::CreateTable(builder.build()))
}

/// The name of a prepared statement, and the texts of its parameters, as the parts of a name that begins with nothing.
fn execute(parser: &mut Parser<'_>) -> Result<ObjectName, ParserError> {
    let mut parts = vec![Ident::new(""), parser.parse_identifier()?];
    if parser.consume_token(&Token::LParen) {
        let values = parser.parse_comma_separated(Parser::parse_expr)?;
        parts.extend(values.iter().map(|value| Ident::new(value.to_string())));
        parser.expect_token(&Token::RParen)?;
    }
    Ok(ObjectName::from(parts))
}

/// Refuses columns with types, and constraints, of a table that is made of a query.
///
/// # Errors
/// 42601.
pub(super) fn check(create: &CreateTable) -> scaledb_types::Result<()> {
    let typed = |column: &ColumnDef| column.data_type != DataType::Unspecified;
    let defines = create.columns.iter().any(typed) || !create.constraints.is_empty();
    if !defines || create.query.is_none() {
        return Ok(());
    }
    Err(SqlError::new(SqlState::SYNTAX_ERROR, "syntax error at or near \"AS\""))
}

/// Whether a CREATE TABLE AS is WITH NO DATA.
pub fn is_without_data(create: &CreateTable) -> bool {
    create.on_cluster.as_ref().is_some_and(|name| name.value.is_empty() && name.quote_style.is_none())
}

/// The prepared statement whose rows a table is made of, and the texts of its parameters.
pub fn executed(create: &CreateTable) -> Option<(&Ident, Vec<String>)> {
    let mut parts = create.clone.as_ref()?.0.iter().filter_map(ObjectNamePart::as_ident);
    parts.next().filter(|first| first.value.is_empty() && first.quote_style.is_none())?;
    Some((parts.next()?, parts.map(|part| part.value.clone()).collect()))
}
