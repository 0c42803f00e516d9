//! Literals, and parameters.

use super::{Binder, Typed, unsupported};
use crate::plan::expr::Expr;
use scaledb_types::cast::Context;
use scaledb_types::{Result, SqlError, SqlState, Type, Value};
use sqlparser::ast::{self, Value as Literal};

impl Binder<'_> {
    pub(super) fn literal(&mut self, literal: &Literal) -> Result<Typed> {
        Ok(match literal {
            Literal::Null => Typed::constant(Value::Null, Type::UNKNOWN),
            Literal::Boolean(v) => Typed::constant(Value::Bool(*v), Type::BOOL),
            Literal::Number(text, _) => self.number(text)?,
            Literal::Placeholder(name) => self.placeholder(name)?,
            Literal::HexStringLiteral(digits) => self.bits('x', digits)?,
            Literal::SingleQuotedByteStringLiteral(digits) => self.bits('b', digits)?,
            other => match literal_text(other) {
                Some(text) => Typed::constant(Value::text(text), Type::UNKNOWN),
                None => return Err(unsupported("this literal")),
            },
        })
    }

    /// `B'101'` or `X'1F'`.
    fn bits(&self, kind: char, digits: &str) -> Result<Typed> {
        Ok(Typed::constant(Value::parse(&format!("{kind}{digits}"), Type::BIT, self.env)?, Type::BIT))
    }

    /// An integer of the least type that holds it, or a numeric.
    pub fn number(&self, text: &str) -> Result<Typed> {
        if let Ok(v) = text.parse::<i32>() {
            return Ok(Typed::constant(Value::Int4(v), Type::INT4));
        }
        if let Ok(v) = text.parse::<i64>() {
            return Ok(Typed::constant(Value::Int8(v), Type::INT8));
        }
        Ok(Typed::constant(Value::parse(text, Type::NUMERIC, self.env)?, Type::NUMERIC))
    }

    /// The most parameters that the protocol can number.
    const MAX_PARAMS: usize = 65_535;

    fn placeholder(&mut self, name: &str) -> Result<Typed> {
        let number: Option<usize> = name.strip_prefix('$').and_then(|n| n.parse().ok());
        let number = number.filter(|n| (1..=Self::MAX_PARAMS).contains(n)).ok_or_else(|| {
            SqlError::new(SqlState::UNDEFINED_PARAMETER, format!("there is no parameter {name}"))
        })?;
        if !self.has_parameter(number) {
            let what = format!("there is no parameter {name}");
            return Err(SqlError::new(SqlState::UNDEFINED_PARAMETER, what));
        }
        if self.params.len() < number {
            self.params.resize(number, None);
        }
        let ty = self.params[number - 1].unwrap_or(Type::UNKNOWN);
        // those of a routine have been looked at when they were given
        if ty.domain.is_some() && self.variables.is_none() {
            return self.parameter_of_domain(number - 1, ty);
        }
        Ok(Typed::new(Expr::Param(number - 1), ty))
    }

    pub(super) fn interval(&mut self, interval: &ast::Interval) -> Result<Typed> {
        let mut name = "interval".to_owned();
        if let Some(field) = &interval.leading_field {
            name.push_str(&format!(" {field}").to_lowercase());
            if let Some(last) = &interval.last_field {
                name.push_str(&format!(" to {last}").to_lowercase());
            }
        }
        let precision = interval.fractional_seconds_precision.or(interval.leading_precision);
        if let Some(precision) = precision {
            name.push_str(&format!("({precision})"));
        }
        let ty = Type::parse(&name)?;
        let value = self.expr(&interval.value)?;
        self.coerce(value, ty, Context::Explicit)
    }
}

/// The text of a literal that is one.
pub fn literal_text(literal: &Literal) -> Option<&str> {
    match literal {
        Literal::SingleQuotedString(text)
        | Literal::EscapedStringLiteral(text)
        | Literal::UnicodeStringLiteral(text)
        | Literal::NationalStringLiteral(text) => Some(text),
        Literal::DollarQuotedString(text) => Some(&text.value),
        _ => None,
    }
}
