//! SEARCH and CYCLE of recursive WITH queries. The columns that they set go along with the rows:
//!
//! ```text
//!                       the first term            the recursive term, of a row r that comes of q
//!  SEARCH DEPTH         ARRAY[ROW(a)]             q.o || ROW(r.a)
//!  SEARCH BREADTH       ROW(0, a)                 ROW((q.o).f1 + 1, r.a)
//!  CYCLE, the mark      default                   CASE WHEN ROW(r.a) = ANY(q.path) THEN value ELSE default END
//!  CYCLE, the path      ARRAY[ROW(a)]             q.path || ROW(r.a)
//! ```
//!
//! and no row comes of one that is marked. The recursive term sees the columns of q under names that nobody writes.

use super::names::fold;
use super::{Binder, Bound, Output, Typed, unsupported};
use crate::functions::{RowForm, ScalarFn};
use crate::plan::expr::{Compare, Expr};
use scaledb_parse::search_cycle::{Clauses, Cycle, Search};
use scaledb_types::cast::Context;
use scaledb_types::{Fields, Result, SqlError, SqlState, Type, Value, common_type};
use sqlparser::ast::{BinaryOperator, Expr as Ast, Ident, SelectItem, SetExpr, Value as Literal};

/// What the recursive term sees the sequence of SEARCH as.
const SEQUENCE: &str = "*SEARCH*";
/// As [`SEQUENCE`], of the mark of CYCLE.
const MARK: &str = "*CYCLE*";
/// As [`SEQUENCE`], of the path of CYCLE.
const PATH: &str = "*PATH*";

/// What SEARCH and CYCLE make of a query, with the numbers of the columns that they name.
#[derive(Debug)]
pub(super) struct Following {
    search: Option<(bool, Vec<usize>, String)>,
    cycle: Option<Marking>,
    /// The types of the columns, in their order.
    types: Vec<Type>,
}

#[derive(Debug)]
struct Marking {
    columns: Vec<usize>,
    mark: String,
    path: String,
    value: Expr,
    default: Expr,
    /// The type of the mark.
    ty: Type,
    /// The value as it was written.
    written: Ast,
}

/// 42601 for clauses behind what is not recursive.
#[cold]
pub(super) fn not_recursive() -> SqlError {
    SqlError::new(SqlState::SYNTAX_ERROR, "WITH query is not recursive")
}

/// 42601 for clauses that are none.
#[cold]
pub(super) fn misspelt() -> SqlError {
    SqlError::new(SqlState::SYNTAX_ERROR, "syntax error in the SEARCH or CYCLE clause")
}

/// Refuses terms that the clauses cannot add to.
///
/// # Errors
/// 0A000, 42601.
pub(super) fn check_terms(left: &SetExpr, right: &SetExpr) -> Result<()> {
    fn inside(mut term: &SetExpr) -> &SetExpr {
        while let SetExpr::Query(query) = term {
            term = &query.body;
        }
        term
    }
    // with PostgreSQL's two codes for it
    let (code, wrong) = match (inside(left), right) {
        (SetExpr::SetOperation { .. }, _) => (SqlState::FEATURE_NOT_SUPPORTED, "left"),
        (_, SetExpr::Select(_)) => return Ok(()),
        _ => (SqlState::SYNTAX_ERROR, "right"),
    };
    let what = format!("with a SEARCH or CYCLE clause, the {wrong} side of the UNION must be a SELECT");
    Err(SqlError::new(code, what))
}

fn refused(what: String) -> SqlError {
    SqlError::new(SqlState::SYNTAX_ERROR, what)
}

/// The numbers of the columns that a clause names.
fn numbers(clause: &str, names: &[Ident], columns: &[(String, Type)]) -> Result<Vec<usize>> {
    let mut numbers = Vec::with_capacity(names.len());
    for name in names.iter().map(fold) {
        let number = columns.iter().position(|(known, _)| *known == name);
        let number = number
            .ok_or_else(|| refused(format!("{clause} column \"{name}\" not in WITH query column list")))?;
        if numbers.contains(&number) {
            let what = format!("{clause} column \"{name}\" specified more than once");
            return Err(SqlError::new(SqlState::DUPLICATE_COLUMN, what));
        }
        numbers.push(number);
    }
    Ok(numbers)
}

impl Following {
    /// The columns that are added, under their names.
    pub(super) fn columns(&self) -> Vec<(String, Type)> {
        let search = self.search.iter().map(|(.., set)| set);
        let cycle = self.cycle.iter().flat_map(|cycle| [&cycle.mark, &cycle.path]);
        search.chain(cycle).cloned().zip(self.types.iter().copied()).collect()
    }

    /// Refuses names that columns of the query have.
    ///
    /// # Errors
    /// 42601.
    pub(super) fn check_names(&self, columns: &[(String, Type)]) -> Result<()> {
        let search = self.search.iter().map(|(.., set)| ("search sequence", set));
        let cycle = self.cycle.iter().flat_map(|of| [("cycle mark", &of.mark), ("cycle path", &of.path)]);
        for (what, name) in search.chain(cycle) {
            if columns.iter().any(|(known, _)| known == name) {
                let what = format!("{what} column name \"{name}\" already used in WITH query column list");
                return Err(refused(what));
            }
        }
        Ok(())
    }

    /// The names that the recursive term knows the added columns by besides their own, in their order.
    fn own_names(&self) -> impl Iterator<Item = &'static str> {
        let search = self.search.iter().map(|_| SEQUENCE);
        search.chain(self.cycle.iter().flat_map(|_| [MARK, PATH]))
    }

    /// How many columns the recursive term passes on.
    pub(super) fn passed(&self) -> usize {
        usize::from(self.search.is_some()) + usize::from(self.cycle.is_some())
    }

    /// The recursive term, which passes on what has been set of the row that it reads.
    pub(super) fn passed_on(&self, right: &SetExpr) -> SetExpr {
        let mut term = right.clone();
        let SetExpr::Select(select) = &mut term else { return term };
        let own = |name: &str| Ast::Identifier(Ident::with_quote('"', name));
        let names = self.search.iter().map(|_| SEQUENCE).chain(self.cycle.iter().map(|_| PATH));
        select.projection.extend(names.map(|name| SelectItem::UnnamedExpr(own(name))));
        if let Some(cycle) = &self.cycle {
            let goes_on = Ast::BinaryOp {
                left: Box::new(own(MARK)),
                op: BinaryOperator::NotEq,
                right: Box::new(Ast::Nested(Box::new(cycle.written.clone()))),
            };
            select.selection = Some(match select.selection.take() {
                Some(condition) => Ast::BinaryOp {
                    left: Box::new(Ast::Nested(Box::new(condition))),
                    op: BinaryOperator::And,
                    right: Box::new(goes_on),
                },
                None => goes_on,
            });
        }
        term
    }
}

impl Binder<'_> {
    /// What clauses make of a query with these columns.
    ///
    /// # Errors
    /// 42601 and 42701 for names that do not fit, and what is wrong with the values of the mark.
    pub(super) fn following(&mut self, clauses: &Clauses, columns: &[(String, Type)]) -> Result<Following> {
        let mut types = Vec::new();
        let paths = Type::RECORD.to_array().ok_or_else(|| unsupported("an array of rows"))?;
        let search = match &clauses.search {
            Some(Search { depth, by, set }) => {
                let (by, set) = (numbers("search", by, columns)?, fold(set));
                types.push(if *depth { paths } else { Type::RECORD });
                Some((*depth, by, set))
            }
            None => None,
        };
        let cycle = match &clauses.cycle {
            Some(Cycle { columns: names, mark, values, path }) => {
                let numbers = numbers("cycle", names, columns)?;
                let (mark, path) = (fold(mark), fold(path));
                if mark == path {
                    let what = "cycle mark column name and cycle path column name are the same";
                    return Err(refused(what.to_owned()));
                }
                for (name, what) in [(&mark, "mark"), (&path, "path")] {
                    if search.as_ref().is_some_and(|(.., set)| set == name) {
                        return Err(refused(format!(
                            "search sequence column name and cycle {what} column name are the same"
                        )));
                    }
                }
                let boolean = |value: bool| Ast::value(Literal::Boolean(value));
                let (value, default) = values.clone().unwrap_or_else(|| (boolean(true), boolean(false)));
                let written = value.clone();
                let (value, default) = (self.expr(&value)?, self.expr(&default)?);
                let ty = common_type(&[value.ty, default.ty], "CYCLE")?;
                let value = self.coerce(value, ty, Context::Implicit)?.expr;
                let default = self.coerce(default, ty, Context::Implicit)?.expr;
                types.extend([ty, paths]);
                Some(Marking { columns: numbers, mark, path, value, default, ty, written })
            }
            None => None,
        };
        Ok(Following { search, cycle, types })
    }

    /// The first term with the columns of its rows, which the recursive term sees from now on.
    ///
    /// # Errors
    /// What cannot be made of them.
    pub(super) fn begin_following(&mut self, first: Bound, of: &Following, own: usize) -> Result<Bound> {
        let (node, mut output) = self.computed_columns(first);
        let mut added = Vec::new();
        if let Some((depth, by, _)) = &of.search {
            let sequence = if *depth {
                let row = row_of(&output, by, None);
                self.array_of(vec![row])?
            } else {
                row_of(&output, by, Some(Expr::Const(Value::Int8(0))))
            };
            if let Some(fields) = self.fields_of(&sequence.expr) {
                self.ctes[own].records.push((output.len(), fields));
            }
            added.push(sequence);
        }
        if let Some(cycle) = &of.cycle {
            let row = row_of(&output, &cycle.columns, None);
            let path = self.array_of(vec![row])?;
            added.extend([Typed::new(cycle.default.clone(), cycle.ty), path]);
        }
        let names = of.columns().into_iter().zip(of.own_names());
        self.ctes[own].hidden = names.map(|((name, ty), own)| (name, own, ty)).collect();
        output.extend(added.into_iter().map(unnamed));
        Ok(Bound::new(node, output))
    }

    /// The recursive term, which has the columns that it passes on at its end, with those of its rows.
    ///
    /// # Errors
    /// What cannot be made of them.
    pub(super) fn follow(&mut self, next: Bound, of: &Following) -> Result<Bound> {
        let (node, mut output) = self.computed_columns(next);
        let passed = output.split_off(output.len() - of.passed());
        let mut passed = passed.into_iter().map(|output| Typed::new(output.expr, output.ty));
        let mut before = || passed.next().ok_or_else(|| SqlError::internal("a column that is passed on"));
        let mut added = Vec::new();
        if let Some((depth, by, _)) = &of.search {
            let before = before()?;
            added.push(if *depth {
                let row = row_of(&output, by, None);
                self.operator("||", Some(before), row)?
            } else {
                let depth = Expr::Call(Box::new((ScalarFn::field(0), vec![before.expr])));
                let one = Typed::constant(Value::Int8(1), Type::INT8);
                let depth = self.operator("+", Some(Typed::new(depth, Type::INT8)), one)?;
                row_of(&output, by, Some(depth.expr))
            });
        }
        if let Some(cycle) = &of.cycle {
            let path = before()?;
            let row = row_of(&output, &cycle.columns, None);
            let pair = Box::new((row.expr.clone(), path.expr.clone()));
            let met = Expr::Quantified(false, Compare::Eq, pair);
            let mark = Expr::Case(vec![(met, cycle.value.clone())], Box::new(cycle.default.clone()));
            added.push(Typed::new(mark, cycle.ty));
            added.push(self.operator("||", Some(path), row)?);
        }
        output.extend(added.into_iter().map(unnamed));
        Ok(Bound::new(node, output))
    }

    /// The columns of a term in slots, so that each is computed once.
    fn computed_columns(&mut self, bound: Bound) -> (crate::plan::Node, Vec<Output>) {
        let (node, columns) = self.slots_of(bound, &[]);
        let columns = columns.into_iter();
        let output = columns.map(|column| Output {
            name: column.name,
            expr: Expr::Slot(column.slot),
            ty: column.ty,
            origin: column.origin,
        });
        (node, output.collect())
    }
}

fn unnamed(typed: Typed) -> Output {
    Output { name: String::new(), expr: typed.expr, ty: typed.ty, origin: (0, 0) }
}

/// A row of columns, behind a number if there is one.
fn row_of(columns: &[Output], numbers: &[usize], first: Option<Expr>) -> Typed {
    let numbered = first.into_iter().map(|first| (first, Type::INT8));
    let parts = numbers.iter().map(|&number| (columns[number].expr.clone(), columns[number].ty));
    let (exprs, types): (Vec<Expr>, Vec<Type>) = numbered.chain(parts).unzip();
    let names = (1..=types.len()).map(|number| format!("f{number}")).collect();
    let function = ScalarFn::row(RowForm::Record, Fields { names, types }, None);
    Typed::new(Expr::Call(Box::new((function, exprs))), Type::RECORD)
}
