//! PostgreSQL's dialect, with a bound on how often the parser may try.
//!
//! The parser goes back where an expression may be one of several things, and tries again. Nested, that doubles with
//! each level: `abs(abs(...))`, or a mistake inside of thirty casts, takes minutes. A statement that is taken as it
//! seems calls [`Dialect::parse_prefix`] about once for each operand; one that needs much more is refused.

use super::{alter_table, create_as, elements, merge, sequence, unique};
use sqlparser::ast::{
    BinaryOperator, ColumnOption, DataType, Expr, Ident, Interval, ObjectNamePart, Statement, TrimWhereField,
    TypedString, UnaryOperator, Value,
};
use sqlparser::dialect::{Dialect, PostgreSqlDialect, Precedence};
use sqlparser::keywords::{Keyword, RESERVED_FOR_COLUMN_ALIAS};
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Span, Token};
use std::any::TypeId;
use std::cell::Cell;

const POSTGRES: PostgreSqlDialect = PostgreSqlDialect {};

/// PostgreSQL's words that are not names of output columns without AS, as far as the parser knows them.
#[rustfmt::skip]
const NAMES_BEHIND_AS: &[Keyword] = &[
    Keyword::ARRAY, Keyword::AS, Keyword::CHAR, Keyword::CHARACTER, Keyword::CREATE, Keyword::DAY, Keyword::EXCEPT,
    Keyword::FETCH, Keyword::FILTER, Keyword::FOR, Keyword::FROM, Keyword::GRANT, Keyword::GROUP, Keyword::HAVING,
    Keyword::HOUR, Keyword::INTERSECT, Keyword::INTO, Keyword::LIMIT, Keyword::MINUTE,
    Keyword::MONTH, Keyword::OFFSET, Keyword::ON, Keyword::ORDER, Keyword::OVER, Keyword::OVERLAPS,
    Keyword::PRECISION, Keyword::RETURNING, Keyword::SECOND, Keyword::TO, Keyword::UNION, Keyword::VARYING,
    Keyword::WHERE, Keyword::WINDOW, Keyword::WITH, Keyword::WITHIN, Keyword::WITHOUT, Keyword::YEAR,
];

/// The dialect of one parse.
#[derive(Debug)]
pub(super) struct Bounded {
    /// How many expressions may still be begun.
    left: Cell<u64>,
}

impl Bounded {
    pub(super) fn new(text: &str) -> Self {
        const FOR_ALL: u64 = 10_000;
        const PER_BYTE: u64 = 16;
        Self { left: Cell::new(FOR_ALL + PER_BYTE * text.len() as u64) }
    }
}

/// What stands before an argument that is an array with the arguments.
pub const VARIADIC: &str = "VARIADIC";

/// What stands before the lower bound of `BETWEEN SYMMETRIC`: the parser does not know it.
pub const SYMMETRIC: &str = "SYMMETRIC";

impl Bounded {
    /// `a IS DISTINCT FROM b` ends where `b` does: the parser would take all that follows, `OR c` as well.
    fn distinct_from(&self, parser: &mut Parser<'_>, left: &Expr) -> Option<Result<Expr, ParserError>> {
        use Keyword::{DISTINCT, FROM, IS, NOT};
        let first = parser.peek_token();
        let equal = parser.parse_keywords(&[IS, NOT, DISTINCT, FROM]);
        if !equal && !parser.parse_keywords(&[IS, DISTINCT, FROM]) {
            return None;
        }
        // tests do not chain; were they to, each would copy all before it
        if is_test(left) {
            return Some(parser.expected("an operand in parentheses", first));
        }
        let right = match parser.parse_subexpr(self.prec_value(Precedence::Is)) {
            Ok(right) => Box::new(right),
            Err(error) => return Some(Err(error)),
        };
        let left = Box::new(left.clone());
        Some(Ok(match equal {
            true => Expr::IsNotDistinctFrom(left, right),
            false => Expr::IsDistinctFrom(left, right),
        }))
    }

    /// Whether what comes is the first part of a set operation in parentheses, `(SELECT ..) UNION ..` behind `(`: the
    /// parser would take the part as a value, and stumble over what follows. What is looked through counts.
    fn begins_set_operation(&self, parser: &Parser<'_>) -> bool {
        if parser.get_current_token().token != Token::LParen || parser.peek_token_ref().token != Token::LParen
        {
            return false;
        }
        let (mut open, mut at, mut queried) = (0_usize, 0, false);
        let begins = loop {
            match parser.peek_nth_token_no_skip(at).token {
                Token::LParen => open += 1,
                Token::RParen if open > 0 => open -= 1,
                Token::Whitespace(_) => {}
                Token::Word(word) if open == 0 => {
                    break matches!(word.keyword, Keyword::UNION | Keyword::INTERSECT | Keyword::EXCEPT);
                }
                Token::Word(word) if !queried => {
                    queried = matches!(word.keyword, Keyword::SELECT | Keyword::VALUES | Keyword::WITH);
                    if !queried {
                        break false;
                    }
                }
                Token::EOF => break false,
                _ if open == 0 || !queried => break false,
                _ => {}
            }
            at += 1;
        };
        self.left.set(self.left.get().saturating_sub(at as u64));
        begins
    }

    /// `a BETWEEN [SYMMETRIC | ASYMMETRIC] b AND c`.
    fn between_symmetric(&self, parser: &mut Parser<'_>, left: &Expr) -> Option<Result<Expr, ParserError>> {
        use Keyword::{AND, BETWEEN, NOT};
        let words = if parser.peek_keyword(NOT) { 2 } else { 1 };
        let word = parser.peek_nth_token(words);
        let named =
            |name: &str| matches!(&word.token, Token::Word(word) if word.value.eq_ignore_ascii_case(name));
        let symmetric = named(SYMMETRIC);
        if !symmetric && !named("ASYMMETRIC") {
            return None;
        }
        let negated = parser.parse_keywords(&[NOT, BETWEEN]);
        if !negated && !parser.parse_keyword(BETWEEN) {
            return None;
        }
        // a bound is copied for each side that it may be: nested ones would double with each level
        if matches!(left, Expr::Between { .. }) {
            return Some(parser.expected("an operand in parentheses", word));
        }
        parser.advance_token();
        let precedence = self.prec_value(Precedence::Between);
        let bounds = parser.parse_subexpr(precedence).and_then(|low| {
            parser.expect_keyword_is(AND)?;
            Ok((low, parser.parse_subexpr(precedence)?))
        });
        Some(bounds.map(|(low, high)| {
            let prefix = Ident::new(SYMMETRIC);
            let low = if symmetric { Expr::Prefixed { prefix, value: Box::new(low) } } else { low };
            Expr::Between { expr: Box::new(left.clone()), negated, low: Box::new(low), high: Box::new(high) }
        }))
    }
}

/// `a IN ((SELECT ..), b)`: the parser would take the first value as the query, and stumble over the next.
fn in_list(parser: &mut Parser<'_>, left: &Expr) -> Option<Result<Expr, ParserError>> {
    let negated = parser.peek_keyword(Keyword::NOT);
    let at = usize::from(negated);
    let word = |n: usize| parser.peek_nth_token_ref(n).token.clone();
    let is_in = matches!(word(at), Token::Word(word) if word.keyword == Keyword::IN);
    if !is_in || word(at + 1) != Token::LParen || word(at + 2) != Token::LParen {
        return None;
    }
    // it would be copied for each of them
    if matches!(left, Expr::InList { .. } | Expr::InSubquery { .. }) {
        let first = parser.peek_token();
        return Some(parser.expected("an operand in parentheses", first));
    }
    (0..at + 2).for_each(|_| parser.advance_token());
    let expr = Box::new(left.clone());
    let query = parser.maybe_parse(|parser| {
        let query = parser.parse_query()?;
        parser.expect_token(&Token::RParen).map(|_| query)
    });
    Some(query.and_then(|query| match query {
        Some(subquery) => Ok(Expr::InSubquery { expr, subquery, negated }),
        None => {
            let list = parser.parse_comma_separated(Parser::parse_expr)?;
            parser.expect_token(&Token::RParen)?;
            Ok(Expr::InList { expr, list, negated })
        }
    }))
}

/// `a [NOT] LIKE ANY (b)`, and ILIKE, ALL and SOME: the parser knows ANY only, and takes it as a pattern of other
/// databases. It is `a ~~ ANY (b)`.
fn like_any(parser: &mut Parser<'_>, left: &Expr) -> Option<Result<Expr, ParserError>> {
    let negated = parser.peek_keyword(Keyword::NOT);
    let at = usize::from(negated);
    let keyword = |n: usize| match &parser.peek_nth_token_ref(n).token {
        Token::Word(word) => word.keyword,
        _ => Keyword::NoKeyword,
    };
    let compare_op = match (keyword(at), negated) {
        (Keyword::LIKE, false) => BinaryOperator::PGLikeMatch,
        (Keyword::LIKE, true) => BinaryOperator::PGNotLikeMatch,
        (Keyword::ILIKE, false) => BinaryOperator::PGILikeMatch,
        (Keyword::ILIKE, true) => BinaryOperator::PGNotILikeMatch,
        _ => return None,
    };
    let quantifier = keyword(at + 1);
    if !matches!(quantifier, Keyword::ANY | Keyword::ALL | Keyword::SOME) {
        return None;
    }
    // it would be copied for each of them
    if matches!(left, Expr::AnyOp { .. } | Expr::AllOp { .. }) {
        let first = parser.peek_token();
        return Some(parser.expected("an operand in parentheses", first));
    }
    (0..at + 2).for_each(|_| parser.advance_token());
    let right = parser.expect_token(&Token::LParen).and_then(|_| {
        let right = match parser.peek_nth_token_ref(0).token {
            Token::Word(ref word)
                if matches!(word.keyword, Keyword::SELECT | Keyword::WITH | Keyword::VALUES) =>
            {
                Expr::Subquery(parser.parse_query()?)
            }
            _ => parser.parse_expr()?,
        };
        parser.expect_token(&Token::RParen).map(|_| Box::new(right))
    });
    Some(right.map(|right| match quantifier {
        Keyword::ALL => Expr::AllOp { left: Box::new(left.clone()), compare_op, right },
        _ => {
            let is_some = quantifier == Keyword::SOME;
            Expr::AnyOp { left: Box::new(left.clone()), compare_op, right, is_some }
        }
    }))
}

/// As PostgreSQL's.
macro_rules! same {
    ($($name:ident),* $(,)?) => {
        $(fn $name(&self) -> bool {
            POSTGRES.$name()
        })*
    };
}

impl Dialect for Bounded {
    fn dialect(&self) -> TypeId {
        POSTGRES.dialect()
    }

    fn parse_prefix(&self, parser: &mut Parser<'_>) -> Option<Result<Expr, ParserError>> {
        let left = self.left.get();
        self.left.set(left.saturating_sub(1));
        if left == 0 {
            return Some(Err(ParserError::RecursionLimitExceeded));
        }
        // `(VALUES (1))` is a query; the parser would take it as a call
        if parser.peek_keyword(Keyword::VALUES) {
            return Some(parser.parse_query().map(Expr::Subquery));
        }
        // no column has this name
        if parser.parse_keyword(Keyword::VARIADIC) {
            let value = parser.parse_expr();
            let prefix = Ident::new(VARIADIC);
            return Some(value.map(|value| Expr::Prefixed { prefix, value: Box::new(value) }));
        }
        if self.begins_set_operation(parser) {
            return Some(parser.parse_query().map(Expr::Subquery));
        }
        if let Some(parsed) = sign(parser) {
            return Some(parsed);
        }
        if let Some(parsed) = row(parser).or_else(|| trim(parser)).or_else(|| grouping(parser)) {
            return Some(parsed);
        }
        if let Some(parsed) = typed_literal(parser) {
            return Some(parsed);
        }
        // the parser forgets the digits that stand before the text
        let precise = matches!(&parser.peek_token_ref().token, Token::Word(word) if word.keyword == Keyword::INTERVAL)
            && parser.peek_nth_token_ref(1).token == Token::LParen;
        precise.then(|| interval(parser)).flatten()
    }

    fn parse_infix(&self, parser: &mut Parser<'_>, left: &Expr, _: u8) -> Option<Result<Expr, ParserError>> {
        if matches!(&parser.peek_token_ref().token, Token::Word(word) if word.keyword == Keyword::COLLATE) {
            // the parser takes it right behind an operand only, and not behind a cast
            let word = parser.next_token();
            return Some(match left {
                Expr::Collate { .. } => parser.expected("an operand in parentheses", word),
                _ => parser
                    .parse_object_name(false)
                    .map(|collation| Expr::Collate { expr: Box::new(left.clone()), collation }),
            });
        }
        if is_null_word(&parser.peek_token_ref().token) {
            let word = parser.next_token();
            // tests do not chain
            return Some(match is_test(left) {
                true => parser.expected("an operand in parentheses", word),
                false => Ok(Expr::IsNull(Box::new(left.clone()))),
            });
        }
        self.distinct_from(parser, left)
            .or_else(|| self.between_symmetric(parser, left))
            .or_else(|| in_list(parser, left))
            .or_else(|| like_any(parser, left))
    }

    fn parse_statement(&self, parser: &mut Parser<'_>) -> Option<Result<Statement, ParserError>> {
        sequence::create(parser)
            .or_else(|| alter_table::statement(parser))
            .or_else(|| create_as::statement(parser))
            .or_else(|| merge::statement(parser))
    }

    fn parse_column_option(
        &self,
        parser: &mut Parser<'_>,
    ) -> Result<Option<Result<Option<ColumnOption>, ParserError>>, ParserError> {
        Ok(sequence::identity(parser).or_else(|| unique::of_column(parser)).map(|option| option.map(Some)))
    }

    fn identifier_quote_style(&self, identifier: &str) -> Option<char> {
        POSTGRES.identifier_quote_style(identifier)
    }

    fn is_delimited_identifier_start(&self, ch: char) -> bool {
        POSTGRES.is_delimited_identifier_start(ch)
    }

    fn is_identifier_start(&self, ch: char) -> bool {
        POSTGRES.is_identifier_start(ch)
    }

    fn is_identifier_part(&self, ch: char) -> bool {
        POSTGRES.is_identifier_part(ch)
    }

    // a word that PostgreSQL takes for the name of an output column only behind AS: `SELECT 1 ON CONFLICT ..`
    fn is_column_alias(&self, kw: &Keyword, _: &mut Parser<'_>) -> bool {
        !RESERVED_FOR_COLUMN_ALIAS.contains(kw) && !NAMES_BEHIND_AS.contains(kw)
    }

    fn is_reserved_for_identifier(&self, kw: Keyword) -> bool {
        POSTGRES.is_reserved_for_identifier(kw)
    }

    fn is_custom_operator_part(&self, ch: char) -> bool {
        POSTGRES.is_custom_operator_part(ch)
    }

    /// Elements of columns that get values: see `elements`.
    fn is_identifier_generating_function_name(&self, ident: &Ident, parts: &[ObjectNamePart]) -> bool {
        elements::is_mark(ident, parts)
    }

    fn get_next_precedence(&self, parser: &Parser<'_>) -> Option<Result<u8, ParserError>> {
        if is_null_word(&parser.peek_token_ref().token) {
            return Some(Ok(self.prec_value(Precedence::Is)));
        }
        POSTGRES.get_next_precedence(parser)
    }

    fn prec_value(&self, prec: Precedence) -> u8 {
        match prec {
            // between the bounds of a slice it is no operator: they are whole expressions
            Precedence::Colon => 0,
            other => POSTGRES.prec_value(other),
        }
    }

    /// Names of arguments are identifiers: an expression there would be parsed twice, on each level of nested calls.
    fn supports_named_fn_args_with_expr_name(&self) -> bool {
        false
    }

    /// `make_interval(days := 3)`, the old form of `days => 3`.
    fn supports_named_fn_args_with_assignment_operator(&self) -> bool {
        true
    }

    /// GROUPING SETS, ROLLUP and CUBE are expressions here: the parser would end an item of theirs behind its first
    /// parentheses.
    fn supports_group_by_expr(&self) -> bool {
        false
    }

    /// A name behind a WITH query, which stands for what `search_cycle` makes it of.
    fn supports_from_first_insert(&self) -> bool {
        true
    }

    same! {
        supports_unicode_string_literal,
        supports_filter_during_aggregation,
        allow_extract_custom,
        allow_extract_single_quotes,
        supports_create_index_with_clause,
        supports_explain_with_utility_options,
        supports_listen_notify,
        supports_factorial_operator,
        supports_bitwise_shift_operators,
        supports_comment_on,
        supports_load_extension,
        supports_named_fn_args_with_colon_operator,
        supports_empty_projections,
        supports_nested_comments,
        supports_string_escape_constant,
        supports_numeric_literal_underscores,
        supports_array_typedef_with_brackets,
        supports_geometric_types,
        supports_set_names,
        supports_alter_column_type_using,
        supports_notnull_operator,
        supports_interval_options,
        supports_insert_table_alias,
        supports_create_table_like_parenthesized,
        supports_select_wildcard_with_alias,
        supports_comma_separated_trim,
        supports_xml_expressions,
        supports_comment_optimizer_hint,
    }
}

/// A sign before an operand, which binds as in PostgreSQL: `-2 ^ 2` is `(-2) ^ 2`, and `@ a + b` is `@ (a + b)`.
///
/// Trees are printed without a blank between two signs, which would be a comment or another operator, so that `- -a`
/// becomes `-(-a)`.
fn sign(parser: &mut Parser<'_>) -> Option<Result<Expr, ParserError>> {
    let op = sign_of(&parser.peek_token_ref().token)?;
    let doubled = sign_of(&parser.peek_nth_token_ref(1).token).is_some();
    let binds = match op {
        UnaryOperator::Minus | UnaryOperator::Plus => COLLATE_BINDS,
        _ => POSTGRES.prec_value(Precedence::PgOther),
    };
    parser.advance_token();
    let inner = parser.parse_subexpr(binds).map(Box::new);
    Some(inner.map(|inner| {
        let expr = if doubled { Box::new(Expr::Nested(inner)) } else { inner };
        Expr::UnaryOp { op, expr }
    }))
}

/// How much COLLATE binds, which binds as signs do.
const COLLATE_BINDS: u8 = 120;

fn sign_of(token: &Token) -> Option<UnaryOperator> {
    Some(match token {
        Token::Minus => UnaryOperator::Minus,
        Token::Plus => UnaryOperator::Plus,
        Token::Tilde => UnaryOperator::BitwiseNot,
        Token::AtSign => UnaryOperator::PGAbs,
        Token::PGSquareRoot => UnaryOperator::PGSquareRoot,
        Token::PGCubeRoot => UnaryOperator::PGCubeRoot,
        _ => return None,
    })
}

/// `interval(3) '1.23456 seconds'`; `None` if it is something else.
fn interval(parser: &mut Parser<'_>) -> Option<Result<Expr, ParserError>> {
    let (Token::Number(digits, _), Token::RParen, Token::SingleQuotedString(text)) = (
        &parser.peek_nth_token_ref(2).token,
        &parser.peek_nth_token_ref(3).token,
        &parser.peek_nth_token_ref(4).token,
    ) else {
        return None;
    };
    let (digits, text) = (digits.parse().ok()?, Value::SingleQuotedString(text.clone()));
    for _ in 0..5 {
        parser.next_token();
    }
    Some(Ok(Expr::Interval(Interval {
        value: Box::new(Expr::value(text)),
        leading_field: None,
        leading_precision: None,
        last_field: None,
        fractional_seconds_precision: Some(digits),
    })))
}

/// `inet '10.0.0.1'`: a literal behind the name of a type that the parser does not know. Nothing else is a name before
/// a text where an expression begins.
fn typed_literal(parser: &mut Parser<'_>) -> Option<Result<Expr, ParserError>> {
    let name = match &parser.peek_token_ref().token {
        Token::Word(word) if matches!(word.keyword, Keyword::NoKeyword | Keyword::NAME) => word.clone(),
        _ => return None,
    };
    let text = matches!(
        parser.peek_nth_token_ref(1).token,
        Token::SingleQuotedString(_) | Token::EscapedStringLiteral(_) | Token::DollarQuotedString(_)
    );
    if !text {
        return None;
    }
    parser.next_token();
    Some(parser.parse_value().map(|value| {
        let data_type = DataType::Custom(vec![name.into_ident(Span::empty())].into(), Vec::new());
        Expr::TypedString(TypedString { data_type, value, uses_odbc_syntax: false })
    }))
}

/// `trim(leading from a)`, `trim(both a, b)`: the parser wants an expression before FROM, and forgets the side where
/// there is no FROM. `None` if it is something else.
fn trim(parser: &mut Parser<'_>) -> Option<Result<Expr, ParserError>> {
    let keyword = |n: usize| match &parser.peek_nth_token_ref(n).token {
        Token::Word(word) if word.quote_style.is_none() => word.keyword,
        _ => Keyword::NoKeyword,
    };
    let trim_where = match keyword(2) {
        Keyword::BOTH => Some(TrimWhereField::Both),
        Keyword::LEADING => Some(TrimWhereField::Leading),
        Keyword::TRAILING => Some(TrimWhereField::Trailing),
        Keyword::FROM => None,
        _ => return None,
    };
    if keyword(0) != Keyword::TRIM || parser.peek_nth_token_ref(1).token != Token::LParen {
        return None;
    }
    (0..2 + usize::from(trim_where.is_some())).for_each(|_| parser.advance_token());
    Some(trimmed(parser, trim_where))
}

/// What stands behind `trim(leading`.
fn trimmed(parser: &mut Parser<'_>, trim_where: Option<TrimWhereField>) -> Result<Expr, ParserError> {
    let mut trim_what = None;
    if !parser.parse_keyword(Keyword::FROM) {
        let first = parser.parse_expr()?;
        if parser.parse_keyword(Keyword::FROM) {
            trim_what = Some(Box::new(first));
        } else {
            return trimmed_list(parser, trim_where, None, first);
        }
    }
    let first = parser.parse_expr()?;
    trimmed_list(parser, trim_where, trim_what, first)
}

/// The list of arguments that ends a call of trim, behind its first one.
fn trimmed_list(
    parser: &mut Parser<'_>,
    trim_where: Option<TrimWhereField>,
    trim_what: Option<Box<Expr>>,
    first: Expr,
) -> Result<Expr, ParserError> {
    let mut trim_characters = None;
    if parser.consume_token(&Token::Comma) {
        trim_characters = Some(parser.parse_comma_separated(Parser::parse_expr)?);
    }
    parser.expect_token(&Token::RParen)?;
    Ok(Expr::Trim { trim_where, trim_what, expr: Box::new(first), trim_characters })
}

/// What stands before the parts of a row constructor that has not several.
const ROW: &str = "ROW";

/// `ROW (a, b)` is `(a, b)`: the parser would take it as a call.
fn row(parser: &mut Parser<'_>) -> Option<Result<Expr, ParserError>> {
    let is_row = matches!(&parser.peek_token_ref().token,
        Token::Word(word) if word.keyword == Keyword::ROW && word.quote_style.is_none());
    if !is_row || parser.peek_nth_token_ref(1).token != Token::LParen {
        return None;
    }
    parser.advance_token();
    parser.advance_token();
    if parser.consume_token(&Token::RParen) {
        return Some(Ok(row_of(Vec::new())));
    }
    let parts = parser.parse_comma_separated(Parser::parse_expr);
    Some(parts.and_then(|parts| parser.expect_token(&Token::RParen).map(|_| row_of(parts))))
}

/// A row constructor. One that has not several parts keeps its word: `(a)` is a value, and the tree is printed.
fn row_of(parts: Vec<Expr>) -> Expr {
    let several = parts.len() > 1;
    let row = Expr::Tuple(parts);
    if several { row } else { Expr::Prefixed { prefix: Ident::new(ROW), value: Box::new(row) } }
}

/// The parts of a row constructor.
pub fn parts_of_row(ast: &Expr) -> Option<&[Expr]> {
    match ast {
        Expr::Tuple(parts) => Some(parts),
        Expr::Prefixed { prefix, value } if prefix.value == ROW => parts_of_row(value),
        _ => None,
    }
}

/// What makes an expression of grouping sets.
type Sets = fn(Vec<Vec<Expr>>) -> Expr;

/// `ROLLUP (a, (b, c))`, `CUBE (a)`, `GROUPING SETS (a, (b, c), ())`, and `()` behind `GROUP BY`.
fn grouping(parser: &mut Parser<'_>) -> Option<Result<Expr, ParserError>> {
    let word = |at: usize, wanted: Keyword| {
        matches!(&parser.peek_nth_token_ref(at).token,
            Token::Word(word) if word.keyword == wanted && word.quote_style.is_none())
    };
    let (words, sets, of): (_, _, Sets) = if word(0, Keyword::ROLLUP) {
        (1, false, Expr::Rollup)
    } else if word(0, Keyword::CUBE) {
        (1, false, Expr::Cube)
    } else if word(0, Keyword::GROUPING) && word(1, Keyword::SETS) {
        (2, true, Expr::GroupingSets)
    } else {
        let behind = matches!(&parser.get_current_token().token, Token::Comma)
            || matches!(&parser.get_current_token().token, Token::Word(word) if word.keyword == Keyword::BY);
        return (behind && takes_nothing(parser)).then(|| Ok(Expr::Tuple(Vec::new())));
    };
    if parser.peek_nth_token_ref(words).token != Token::LParen {
        return None;
    }
    (0..=words).for_each(|_| parser.advance_token());
    let parts = parser.parse_comma_separated(|parser| {
        if sets && takes_nothing(parser) {
            return Ok(Vec::new());
        }
        Ok(match parser.parse_expr()? {
            Expr::Tuple(parts) => parts,
            one => vec![one],
        })
    });
    Some(parts.and_then(|parts| parser.expect_token(&Token::RParen).map(|_| of(parts))))
}

/// Whether there is nothing in the parentheses that come, which are passed over then.
fn takes_nothing(parser: &mut Parser<'_>) -> bool {
    let nothing =
        parser.peek_token_ref().token == Token::LParen && parser.peek_nth_token_ref(1).token == Token::RParen;
    if nothing {
        parser.advance_token();
        parser.advance_token();
    }
    nothing
}

/// `ISNULL`, which the parser would take as the alias of what stands before it.
fn is_null_word(token: &Token) -> bool {
    matches!(token, Token::Word(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case("isnull"))
}

/// Whether an expression is `x IS ..`.
fn is_test(expr: &Expr) -> bool {
    matches!(
        expr,
        Expr::IsDistinctFrom(..)
            | Expr::IsNotDistinctFrom(..)
            | Expr::IsNull(_)
            | Expr::IsNotNull(_)
            | Expr::IsTrue(_)
            | Expr::IsNotTrue(_)
            | Expr::IsFalse(_)
            | Expr::IsNotFalse(_)
            | Expr::IsUnknown(_)
            | Expr::IsNotUnknown(_)
    )
}
