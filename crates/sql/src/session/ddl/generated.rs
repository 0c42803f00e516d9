//! Generated columns in changes of tables.

use super::super::Session;
use scaledb_catalog::{IndexDesc, Relation, TableDesc};
use scaledb_engine::Engine;
use scaledb_parse::lex::{Kind, Lexer, name_of, quoted};
use scaledb_planner::bind::generated::{Generated, reads};
use scaledb_planner::bind::names::fold;
use scaledb_planner::plan::BoundTable;
use scaledb_planner::plan::expr::Expr;
use scaledb_types::{Result, SqlError, SqlState};
use sqlparser::ast::Expr as Ast;
use std::sync::Arc;

impl<E: Engine> Session<E> {
    /// What computes the generated columns of a table, over slots that are the positions of its columns.
    pub(super) fn generated_of(&self, table: &BoundTable) -> Result<Generated> {
        if !table.desc.generates() {
            return Ok(Vec::new());
        }
        let row: Vec<usize> = (0..table.types.len()).collect();
        self.bind_kept_over(table, |binder| binder.generated(table, &row, None))
    }

    /// The generated columns that are computed from the column at a position, hidden ones left out.
    pub(super) fn computed_from(&self, table: &BoundTable, at: usize) -> Result<Vec<usize>> {
        let row: Vec<usize> = (0..table.types.len()).collect();
        let generated = self.generated_of(table)?;
        let visible = |own: usize| !table.desc.columns[own].hidden;
        let computed = generated.into_iter().filter(|(own, expr)| visible(*own) && reads(expr, &row, &[at]));
        Ok(computed.map(|(own, _)| own).collect())
    }

    /// Refuses what generated columns cannot be computed by.
    ///
    /// # Errors
    /// 42P17, 0A000, and what is wrong with an expression by itself.
    pub(super) fn check_generated(&self, table: &BoundTable) -> Result<()> {
        for (position, column) in table.desc.columns.iter().enumerate() {
            let Some(text) = &column.generated else { continue };
            let (ast, ty) = (scaledb_parse::expression(text)?, table.types[position]);
            let own = self.bind_kept_over(table, |binder| {
                let typed = if column.hidden { binder.expr(&ast) } else { binder.in_generated(&ast) }?;
                binder.assign(typed, ty, &column.name)
            })?;
            if own.has_subquery() {
                let what = match column.hidden {
                    true => "cannot use subquery in index expression",
                    false => "cannot use subquery in column generation expression",
                };
                return Err(SqlError::unsupported(what));
            }
            let mut nested = None;
            own.slots(&mut |slot| {
                let other = table.desc.columns.get(slot).filter(|other| other.generated.is_some());
                nested = nested.or(other);
            });
            if let Some(nested) = nested.filter(|_| !column.hidden) {
                let what = format!(
                    "cannot use generated column \"{}\" in column generation expression",
                    nested.name
                );
                return Err(SqlError::new(SqlState::INVALID_OBJECT_DEFINITION, what)
                    .detail("A generated column cannot reference another generated column."));
            }
            if !own.is_fixed() {
                let what = match column.hidden {
                    true if table.desc.indexes.iter().any(|index| marks(index, column.attnum)) => {
                        "functions in index predicate must be marked IMMUTABLE"
                    }
                    true => "functions in index expression must be marked IMMUTABLE",
                    false => "generation expression is not immutable",
                };
                return Err(SqlError::new(SqlState::INVALID_OBJECT_DEFINITION, what));
            }
            self.refuse_settings(&own, || {
                self.bind_kept_over(table, |binder| binder.generation(&ast, ty, &column.name))
            })?;
        }
        Ok(())
    }

    /// Refuses an expression that means something else with other settings: the catalog keeps its text.
    pub(super) fn refuse_settings(&self, own: &Expr, fixed: impl FnOnce() -> Result<Expr>) -> Result<()> {
        if fixed().is_ok_and(|fixed| fixed.same(own)) {
            return Ok(());
        }
        Err(SqlError::unsupported(
            "a date or time in this expression means another one in sessions of other time zones or at other times",
        )
        .hint("Write the date in full, with its offset: '2024-02-29 12:00:00+00'."))
    }

    /// Gives a column another name in what is computed from it and in CHECK constraints, which are kept as text.
    ///
    /// # Errors
    /// 0A000 for a text that would not mean the same.
    pub(super) fn rename_in_texts(
        &self,
        table: &BoundTable,
        desc: &mut TableDesc,
        old: &str,
        new: &str,
    ) -> Result<()> {
        for column in &mut desc.columns {
            let texts = column.generated.iter_mut().chain(&mut column.key);
            texts.for_each(|text| *text = renamed(text, old, new));
        }
        let predicates = desc.indexes.iter_mut().filter_map(|index| index.predicate.as_mut());
        predicates.for_each(|predicate| predicate.text = renamed(&predicate.text, old, new));
        desc.checks.iter_mut().for_each(|check| check.expression = renamed(&check.expression, old, new));
        let fresh = self.unmade(desc)?;
        let means = |table: &BoundTable, text: &str| {
            let ast = scaledb_parse::expression(text)?;
            self.bind_kept_over(table, |binder| Ok(binder.expr(&ast)?.expr))
        };
        let same = |before: &str, after: &str| {
            before == after
                || matches!((means(table, before), means(&fresh, after)), (Ok(a), Ok(b)) if a.same(&b))
        };
        let generated = table.desc.columns.iter().zip(&desc.columns);
        let generated = generated.filter_map(|(a, b)| a.generated.as_deref().zip(b.generated.as_deref()));
        let checks = table.desc.checks.iter().zip(&desc.checks);
        let checks = checks.map(|(a, b)| (a.expression.as_str(), b.expression.as_str()));
        if generated.chain(checks).all(|(before, after)| same(before, after)) {
            return Ok(());
        }
        let what = format!(
            "column \"{old}\" is used by a CHECK constraint, a generated column or an expression of an index"
        );
        Err(SqlError::unsupported(what)
            .hint("Drop what uses it, rename the column, and make the other one again."))
    }

    /// Drops the CHECK constraints that name a column which the table no longer has. Words that look like its name, a
    /// function's say, do not count.
    pub(super) fn drop_checks_without_column(&self, desc: &mut TableDesc) -> Result<()> {
        if desc.checks.is_empty() {
            return Ok(());
        }
        let fresh = self.unmade(desc)?;
        desc.checks.retain(|check| {
            let ast = scaledb_parse::expression(&check.expression);
            ast.is_ok_and(|ast| self.bind_kept_over(&fresh, |binder| binder.expr(&ast)).is_ok())
        });
        Ok(())
    }

    /// DROP EXPRESSION: the column keeps its values, and takes others from now on.
    pub(super) fn drop_expression(&mut self, mut desc: TableDesc, at: usize, if_exists: bool) -> Result<()> {
        if desc.columns[at].generated.take().is_none() {
            let (column, table) = (&desc.columns[at].name, &desc.name);
            let what =
                format!("column \"{column}\" of relation \"{table}\" is not a stored generated column");
            if if_exists {
                self.skip(&format!("{what}, skipping"), SqlState::SUCCESSFUL_COMPLETION);
                return Ok(());
            }
            return Err(SqlError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, what));
        }
        self.put(Relation::Table(Arc::new(desc)))
    }
}

/// Whether a column marks the rows that an index is for.
fn marks(index: &IndexDesc, attnum: i16) -> bool {
    index.predicate.as_ref().is_some_and(|predicate| predicate.marker == attnum)
}

/// 42601 for a change that a generated column has no use for.
pub(super) fn refuse_generated(desc: &TableDesc, at: usize, hint: Option<&'static str>) -> Result<()> {
    let column = &desc.columns[at];
    if column.generated.is_none() {
        return Ok(());
    }
    let what = format!("column \"{}\" of relation \"{}\" is a generated column", column.name, desc.name);
    let error = SqlError::new(SqlState::SYNTAX_ERROR, what);
    Err(hint.map_or(error.clone(), |hint| error.hint(hint)))
}

/// An expression over columns of a table, as the catalog keeps it: without the table's name, which may change.
pub(super) fn unqualified(expr: &Ast, desc: &TableDesc) -> String {
    let text = expr.to_string();
    let tokens: Vec<_> = Lexer::new(&text).collect();
    let is = |at: usize, name: &str| {
        let token = tokens.get(at).filter(|token| token.kind != Kind::Text);
        token.is_some_and(|&token| name_of(token, &text).as_deref() == Some(name))
    };
    let dot = |at: usize| tokens.get(at).is_some_and(|token| token.is_sign(&text, "."));
    let (mut out, mut copied) = (String::with_capacity(text.len()), 0);
    let mut at = 0;
    while at < tokens.len() {
        let first = at == 0 || !dot(at - 1);
        let schema = first && is(at, &desc.schema) && dot(at + 1) && is(at + 2, &desc.name) && dot(at + 3);
        let table = first && is(at, &desc.name) && dot(at + 1);
        let length = if schema { 4 } else { 2 * usize::from(table) };
        if length > 0 {
            out.push_str(&text[copied..tokens[at].start]);
            copied = tokens[at + length - 1].end;
        }
        at += length.max(1);
    }
    out.push_str(&text[copied..]);
    out
}

/// A text with another name for a column, where the name can be one of a column.
fn renamed(text: &str, old: &str, new: &str) -> String {
    let plain = quoted(new);
    let reads_back =
        matches!(scaledb_parse::expression(&plain), Ok(Ast::Identifier(ident)) if fold(&ident) == new);
    let name = if reads_back { plain } else { format!("\"{}\"", new.replace('"', "\"\"")) };
    let tokens: Vec<_> = Lexer::new(text).collect();
    let (mut out, mut copied) = (String::with_capacity(text.len()), 0);
    for (number, &token) in tokens.iter().enumerate() {
        let is_call = tokens.get(number + 1).is_some_and(|next| next.is_sign(text, "("));
        let is_type = number > 0 && tokens[number - 1].of(text) == "::";
        if !is_call && !is_type && token.kind != Kind::Text && name_of(token, text).as_deref() == Some(old) {
            out.push_str(&text[copied..token.start]);
            out.push_str(&name);
            copied = token.end;
        }
    }
    out.push_str(&text[copied..]);
    out
}
