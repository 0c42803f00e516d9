//! Calls that have a syntax of their own: `extract(year from t)`, `substring(s from 2 for 3)`, `trim(leading from s)`.

use super::expr::no_such_expression;
use super::{Binder, Typed};
use scaledb_types::{Result, Type, Value};
use sqlparser::ast::{self, CeilFloorKind, DateTimeField, Expr as Ast};

impl Binder<'_> {
    /// One of these calls.
    pub(super) fn special_call(&mut self, ast: &Ast) -> Result<Typed> {
        match ast {
            Ast::Extract { field, expr, .. } => {
                let field = Typed::constant(Value::text(field.to_string().to_lowercase()), Type::TEXT);
                let value = self.expr(expr)?;
                self.call_typed("extract", vec![field, value])
            }
            Ast::Ceil { expr, field: CeilFloorKind::DateTimeField(DateTimeField::NoDateTime) } => {
                let value = self.expr(expr)?;
                self.call_typed("ceil", vec![value])
            }
            Ast::Floor { expr, field: CeilFloorKind::DateTimeField(DateTimeField::NoDateTime) } => {
                let value = self.expr(expr)?;
                self.call_typed("floor", vec![value])
            }
            Ast::Position { expr, r#in } => {
                let (what, within) = (self.expr(expr)?, self.expr(r#in)?);
                self.call_typed("position", vec![within, what])
            }
            Ast::Substring { expr, substring_from, substring_for, shorthand, .. } => {
                // of the two only this one takes patterns
                let name = if *shorthand { "substr" } else { "substring" };
                self.substring(name, expr, substring_from.as_deref(), substring_for.as_deref())
            }
            Ast::Trim { trim_where, trim_what, expr, trim_characters } => {
                let name = match trim_where {
                    Some(ast::TrimWhereField::Leading) => "ltrim",
                    Some(ast::TrimWhereField::Trailing) => "rtrim",
                    _ => "btrim",
                };
                let mut args = vec![self.expr(expr)?];
                for what in trim_characters.iter().flatten() {
                    args.push(self.expr(what)?);
                }
                if let Some(what) = trim_what {
                    args.push(self.expr(what)?);
                }
                self.call_typed(name, args)
            }
            Ast::Overlay { expr, overlay_what, overlay_from, overlay_for } => {
                let mut args = vec![self.expr(expr)?, self.expr(overlay_what)?, self.expr(overlay_from)?];
                if let Some(count) = overlay_for {
                    args.push(self.expr(count)?);
                }
                self.call_typed("overlay", args)
            }
            Ast::AtTimeZone { timestamp, time_zone } => {
                let (value, zone) = (self.expr(timestamp)?, self.expr(time_zone)?);
                self.call_typed("timezone", vec![zone, value])
            }
            other => Err(no_such_expression(other)),
        }
    }

    fn substring(
        &mut self,
        name: &str,
        expr: &Ast,
        from: Option<&Ast>,
        count: Option<&Ast>,
    ) -> Result<Typed> {
        let mut args = vec![self.expr(expr)?];
        match (from, count) {
            (Some(from), Some(count)) => {
                args.push(self.expr(from)?);
                args.push(self.expr(count)?);
            }
            (Some(from), None) => args.push(self.expr(from)?),
            (None, Some(count)) => {
                args.push(Typed::constant(Value::Int4(1), Type::INT4));
                args.push(self.expr(count)?);
            }
            (None, None) => {}
        }
        self.call_typed(name, args)
    }
}
