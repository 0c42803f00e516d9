//! The select list: the columns that a query returns.

use super::labels::name_of;
use super::names::fold;
use super::scope::Shown;
use super::{Binder, Output, Typed, unsupported};
use crate::functions::RowForm;
use scaledb_parse::marked;
use scaledb_parse::reserved::not_a_name;
use scaledb_types::{Base, Context, Result, SqlError, SqlState, Type};
use sqlparser::ast::{Expr as Ast, SelectItem, SelectItemQualifiedWildcardKind};

/// Columns of a row that a query makes.
const MAX_COLUMNS: usize = 1_664;

/// 54011 for a row that is too wide.
pub(super) fn check_width(columns: usize) -> Result<()> {
    if columns <= MAX_COLUMNS {
        return Ok(());
    }
    let what = format!("target lists can have at most {MAX_COLUMNS} entries");
    Err(SqlError::new(SqlState::TOO_MANY_COLUMNS, what))
}

impl Binder<'_> {
    /// Binds a select list. What has no type of its own is text if that is to be `decided`.
    pub fn projection(&mut self, items: &[SelectItem], decided: bool) -> Result<Vec<Output>> {
        let bind = |binder: &mut Self, ast: &Ast| match binder.row_value(ast, RowForm::Record)? {
            Some(row) => Ok(row),
            None => binder.expr(ast),
        };
        let mut output = Vec::new();
        for item in items {
            match item {
                SelectItem::Wildcard(options) => {
                    let tables = self.scope().tables.len();
                    if tables == 0 {
                        return Err(SqlError::new(
                            SqlState::SYNTAX_ERROR,
                            "SELECT * with no tables specified is not valid",
                        ));
                    }
                    let shown = self.scope().shown(0..tables);
                    self.note_star(options.wildcard_token.0.span, None, &shown);
                    self.expand(shown, &mut output);
                }
                SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(object), _) => {
                    output.extend(self.star(object)?);
                }
                SelectItem::UnnamedExpr(ast) if marked::is_nothing(ast) => {}
                SelectItem::UnnamedExpr(ast) if let Some(record) = marked::all_fields(ast) => {
                    let record = bind(self, &record)?;
                    for (name, field) in self.fields_of_record(&record)? {
                        output.push(self.output(name, field));
                    }
                }
                SelectItem::UnnamedExpr(ast) => {
                    let typed = bind(self, ast)?;
                    self.note_item(ast);
                    let name = name_of(ast, &self.first_names);
                    output.push(self.output(name, typed));
                }
                SelectItem::ExprWithAlias { expr, alias } => {
                    if alias.quote_style == Some('\'') {
                        return Err(not_a_name(alias));
                    }
                    let typed = bind(self, expr)?;
                    output.push(self.output(fold(alias), typed));
                }
                _ => return Err(unsupported("this item of a select list")),
            }
        }
        // a parameter may have got its type by what stands behind it
        for output in output.iter_mut().filter(|output| decided && is_open(output)) {
            self.decide(output)?;
        }
        Ok(output)
    }

    /// Makes text of what has no type of its own.
    pub(super) fn decide(&mut self, output: &mut Output) -> Result<()> {
        let open = Typed::new(output.expr.clone(), output.ty);
        let Typed { expr, ty, .. } = self.coerce(open, Type::TEXT, Context::Implicit)?;
        (output.expr, output.ty) = (expr, ty);
        Ok(())
    }

    fn output(&self, name: String, typed: Typed) -> Output {
        let origin = self.origin(&typed.expr);
        Output { name, expr: typed.expr, ty: typed.ty, origin }
    }

    fn expand(&mut self, columns: Vec<Shown>, output: &mut Vec<Output>) {
        for Shown { name, expr, ty, origin } in columns {
            if self.is_later(origin) {
                continue;
            }
            self.mark(&expr);
            expr.slots(&mut |slot| self.names_slot(slot));
            output.push(Output { name, expr, ty, origin });
        }
    }
}

/// Whether something has no type of its own.
pub(super) fn is_open(output: &Output) -> bool {
    output.ty.base == Base::Unknown && !output.ty.array
}
