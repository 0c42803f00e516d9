//! Options of sequences: PostgreSQL takes them in any order, the general parser in one.

use sqlparser::ast::{
    ColumnOption, Expr, GeneratedAs, Ident, ObjectName, SequenceOptions, Statement, UnaryOperator,
};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

/// CREATE SEQUENCE, if the parser is at one.
pub(super) fn create(parser: &mut Parser<'_>) -> Option<Result<Statement, ParserError>> {
    let temporary = parser.parse_keywords(&[Keyword::CREATE, Keyword::TEMPORARY, Keyword::SEQUENCE])
        || parser.parse_keywords(&[Keyword::CREATE, Keyword::TEMP, Keyword::SEQUENCE]);
    if !temporary && !parser.parse_keywords(&[Keyword::CREATE, Keyword::SEQUENCE]) {
        return None;
    }
    Some(rest(parser, temporary))
}

fn rest(parser: &mut Parser<'_>, temporary: bool) -> Result<Statement, ParserError> {
    let if_not_exists = parser.parse_keywords(&[Keyword::IF, Keyword::NOT, Keyword::EXISTS]);
    let name = parser.parse_object_name(false)?;
    let (mut sequence_options, mut data_type, mut owned_by) = (Vec::new(), None, None);
    loop {
        if parser.parse_keyword(Keyword::AS) {
            data_type = Some(parser.parse_data_type()?);
        } else if parser.parse_keywords(&[Keyword::OWNED, Keyword::BY]) {
            owned_by = Some(match parser.parse_keyword(Keyword::NONE) {
                true => ObjectName::from(vec![Ident::new("NONE")]),
                false => parser.parse_object_name(false)?,
            });
        } else if let Some(option) = option(parser)? {
            sequence_options.push(option);
        } else {
            break;
        }
    }
    Ok(Statement::CreateSequence { temporary, if_not_exists, name, data_type, sequence_options, owned_by })
}

/// GENERATED .. AS IDENTITY, if the parser is at it.
pub(super) fn identity(parser: &mut Parser<'_>) -> Option<Result<ColumnOption, ParserError>> {
    use Keyword::{ALWAYS, AS, BY, DEFAULT, GENERATED, IDENTITY};
    let generated_as = if parser.parse_keywords(&[GENERATED, ALWAYS, AS, IDENTITY]) {
        GeneratedAs::Always
    } else if parser.parse_keywords(&[GENERATED, BY, DEFAULT, AS, IDENTITY]) {
        GeneratedAs::ByDefault
    } else {
        return None;
    };
    Some(in_parentheses(parser).map(|options| ColumnOption::Generated {
        generated_as,
        sequence_options: Some(options),
        generation_expr: None,
        generation_expr_mode: None,
        generated_keyword: true,
    }))
}

fn in_parentheses(parser: &mut Parser<'_>) -> Result<Vec<SequenceOptions>, ParserError> {
    let mut options = Vec::new();
    if parser.consume_token(&Token::LParen) {
        while let Some(option) = option(parser)? {
            options.push(option);
        }
        parser.expect_token(&Token::RParen)?;
    }
    Ok(options)
}

fn option(parser: &mut Parser<'_>) -> Result<Option<SequenceOptions>, ParserError> {
    use Keyword::{BY, CACHE, CYCLE, INCREMENT, MAXVALUE, MINVALUE, NO, START, WITH};
    Ok(Some(if parser.parse_keyword(INCREMENT) {
        let by = parser.parse_keyword(BY);
        SequenceOptions::IncrementBy(number(parser)?, by)
    } else if parser.parse_keyword(START) {
        let with = parser.parse_keyword(WITH);
        SequenceOptions::StartWith(number(parser)?, with)
    } else if parser.parse_keyword(MINVALUE) {
        SequenceOptions::MinValue(Some(number(parser)?))
    } else if parser.parse_keywords(&[NO, MINVALUE]) {
        SequenceOptions::MinValue(None)
    } else if parser.parse_keyword(MAXVALUE) {
        SequenceOptions::MaxValue(Some(number(parser)?))
    } else if parser.parse_keywords(&[NO, MAXVALUE]) {
        SequenceOptions::MaxValue(None)
    } else if parser.parse_keyword(CACHE) {
        SequenceOptions::Cache(number(parser)?)
    } else if parser.parse_keywords(&[NO, CYCLE]) {
        SequenceOptions::Cycle(true)
    } else if parser.parse_keyword(CYCLE) {
        SequenceOptions::Cycle(false)
    } else {
        return Ok(None);
    }))
}

/// A number, perhaps with a sign.
fn number(parser: &mut Parser<'_>) -> Result<Expr, ParserError> {
    let minus = parser.consume_token(&Token::Minus);
    let _ = !minus && parser.consume_token(&Token::Plus);
    let value = Expr::Value(parser.parse_number_value()?);
    Ok(if minus { Expr::UnaryOp { op: UnaryOperator::Minus, expr: Box::new(value) } } else { value })
}
