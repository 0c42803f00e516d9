//! `UNIQUE NULLS NOT DISTINCT` of a column, which the parser knows of tables only.

use sqlparser::ast::{ColumnOption, KeyOrIndexDisplay, NullsDistinctOption, UniqueConstraint};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};

/// The constraint of a column that says how NULLs compare, if the parser is at one.
pub(super) fn of_column(parser: &mut Parser<'_>) -> Option<Result<ColumnOption, ParserError>> {
    parser.parse_keywords(&[Keyword::UNIQUE, Keyword::NULLS]).then(|| rest(parser))
}

fn rest(parser: &mut Parser<'_>) -> Result<ColumnOption, ParserError> {
    let nulls_distinct = match parser.parse_keyword(Keyword::NOT) {
        true => NullsDistinctOption::NotDistinct,
        false => NullsDistinctOption::Distinct,
    };
    parser.expect_keyword_is(Keyword::DISTINCT)?;
    let constraint = UniqueConstraint {
        name: None,
        index_name: None,
        index_type_display: KeyOrIndexDisplay::None,
        index_type: None,
        columns: Vec::new(),
        index_options: Vec::new(),
        characteristics: parser.parse_constraint_characteristics()?,
        nulls_distinct,
    };
    Ok(ColumnOption::Unique(constraint))
}
