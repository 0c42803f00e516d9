//! Indexes on expressions: CREATE INDEX .. (lower(email)).
//!
//! The values are in a hidden column, which is generated; indexes on the same expression share it.

use super::super::Session;
use super::create::{directed, key_column};
use super::generated::unqualified;
use scaledb_catalog::{ColumnDesc, KeyColumn, TableDesc};
use scaledb_engine::Engine;
use scaledb_parse::is_call;
use scaledb_planner::bind::Typed;
use scaledb_planner::bind::labels::{FirstNames, name_of};
use scaledb_planner::plan::BoundTable;
use scaledb_planner::plan::expr::Expr;
use scaledb_types::{Base, Result, SqlError, SqlState, Type};
use sqlparser::ast::{Expr as Ast, OrderByExpr};

impl<E: Engine> Session<E> {
    /// A column of a new index. Where it is an expression, the table gets a hidden column for it, unless it has one.
    ///
    /// # Errors
    /// 42P17 and 0A000 for an expression that may not always have the same value, and what is wrong with it by itself.
    pub(super) fn index_column(
        &self,
        desc: &mut TableDesc,
        column: &OrderByExpr,
        condition: Option<&Ast>,
    ) -> Result<KeyColumn> {
        let mut expr = &column.expr;
        let mut enclosed = false;
        while let Ast::Nested(inner) | Ast::Collate { expr: inner, .. } = expr {
            enclosed |= matches!(expr, Ast::Nested(_));
            expr = inner;
        }
        if matches!(expr, Ast::Identifier(_)) {
            return key_column(desc, column);
        }
        if !enclosed && !is_call(expr) && !is_cast_call(expr) {
            let what = format!("syntax error at \"{expr}\": an expression of an index is in parentheses");
            return Err(SqlError::new(SqlState::SYNTAX_ERROR, what));
        }
        let table = self.unmade(desc)?;
        let typed = self.key_expression(&table, expr)?;
        if let Expr::Slot(at) = typed.expr {
            return Ok(directed(desc.columns[at].attnum, column));
        }
        let name = name_of_key(expr);
        let ty = match typed.ty.base {
            Base::Unknown => Type::TEXT,
            Base::Void | Base::Record | Base::Polymorphic(_) => {
                let what = format!("column \"{name}\" has pseudo-type {}", typed.ty.sql_name());
                return Err(SqlError::new(SqlState::INVALID_TABLE_DEFINITION, what));
            }
            _ => typed.ty.plain(),
        };
        let text = self.kept_expression(&unqualified(expr, desc));
        // it may fail in rows that the index is not for
        let part = condition.map(|condition| self.kept_expression(&unqualified(condition, desc)));
        let generated = match &part {
            Some(part) => format!("CASE WHEN {part} THEN {text} END"),
            None => text.clone(),
        };
        for other in desc.columns.iter().filter(|other| other.type_oid == ty.oid()) {
            let (Some(known), Some(computed)) = (&other.key, &other.generated) else { continue };
            let same = match part {
                Some(_) => *computed == generated,
                None if computed == known => {
                    let ast = scaledb_parse::expression(known)?;
                    let known = self.bind_kept_over(&table, |binder| binder.key_expression(&ast))?;
                    known.expr.same(&typed.expr)
                }
                None => false,
            };
            if same {
                return Ok(directed(other.attnum, column));
            }
        }
        let attnum = desc.next_attnum;
        desc.next_attnum += 1;
        desc.columns.push(ColumnDesc {
            name,
            attnum,
            type_oid: ty.oid(),
            typmod: -1,
            not_null: false,
            default: None,
            identity: None,
            generated: Some(generated),
            hidden: true,
            key: Some(text),
        });
        Ok(directed(attnum, column))
    }

    /// An expression of an index over the columns of a table.
    fn key_expression(&self, table: &BoundTable, ast: &Ast) -> Result<Typed> {
        let typed = self.bind_over(table, |binder| binder.in_index(ast))?;
        if typed.expr.has_subquery() {
            return Err(SqlError::unsupported("cannot use subquery in index expression"));
        }
        if !typed.expr.is_fixed() {
            let what = "functions in index expression must be marked IMMUTABLE";
            return Err(SqlError::new(SqlState::INVALID_OBJECT_DEFINITION, what));
        }
        self.refuse_settings(&typed.expr, || {
            self.bind_over(table, |binder| Ok(binder.key_expression(ast)?.expr))
        })?;
        Ok(typed)
    }

    /// Gives the hidden columns of indexes the types that their expressions have, after a column has got another type.
    ///
    /// # Errors
    /// What is wrong with an expression of a column of this type.
    pub(super) fn retype_expressions(&self, desc: &mut TableDesc) -> Result<()> {
        for at in 0..desc.columns.len() {
            let Some(text) = &desc.columns[at].key else { continue };
            let ast = scaledb_parse::expression(text)?;
            let typed = self.key_expression(&self.unmade(desc)?, &ast)?;
            let ty = if typed.ty.base == Base::Unknown { Type::TEXT } else { typed.ty.plain() };
            desc.columns[at].type_oid = ty.oid();
        }
        Ok(())
    }
}

/// Whether it is written as CAST (.. AS ..).
fn is_cast_call(expr: &Ast) -> bool {
    matches!(expr, Ast::Cast { kind: sqlparser::ast::CastKind::Cast, .. })
}

/// What an expression of an index is called in the name of the index.
pub(super) fn name_of_key(expr: &Ast) -> String {
    match name_of(expr, &FirstNames::new()) {
        name if name == "?column?" => "expr".to_owned(),
        name => name,
    }
}
