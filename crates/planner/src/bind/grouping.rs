//! GROUP BY: keys, and the sets of them that GROUPING SETS, ROLLUP and CUBE ask for.

use super::{Binder, Output, Typed, unsupported};
use crate::functions::ScalarFn;
use crate::plan::expr::Expr;
use crate::plan::{Sets, Slot};
use scaledb_parse::group_by;
use scaledb_types::{Array, Result, SqlError, SqlState, Type, Value};
use sqlparser::ast::{Expr as Ast, GroupByExpr};
use std::collections::HashSet;
use std::sync::Arc;

/// What a query is grouped by.
#[derive(Debug, Default)]
pub(super) struct Groups {
    pub(super) keys: Vec<Expr>,
    /// For each set, which of the keys it has; `None` if there is but one, of all of them.
    pub(super) sets: Option<Vec<Vec<bool>>>,
    /// For each key, the slot that its column of the result reads, if another key is the same expression: they are NULL
    /// in different sets.
    pub(super) slots: Vec<Option<Slot>>,
}

/// The keys of GROUP BY as they are found.
struct Keys {
    exprs: Vec<Expr>,
    /// The column of the result that a key is, if it is one. With several grouping sets two columns are two keys,
    /// even if they are one expression.
    columns: Vec<Option<usize>>,
    several: bool,
}

/// A call of GROUPING.
#[derive(Clone, Debug)]
pub struct GroupingCall {
    args: Vec<Expr>,
    /// Where its result goes.
    slot: Slot,
}

/// Sets that a query may have.
const MAX_SETS: usize = 4_096;
/// Elements that CUBE may have.
const MAX_CUBE: usize = 12;

/// Keys by their numbers: a part of a grouping set.
type Part = Vec<usize>;

impl Binder<'_> {
    /// Binds GROUP BY.
    ///
    /// # Errors
    /// What is wrong with it; 54001 for too many sets.
    pub(super) fn group_by(&mut self, group_by: &GroupByExpr, output: &mut [Output]) -> Result<Groups> {
        let GroupByExpr::Expressions(list, modifiers) = group_by else {
            return Err(unsupported("GROUP BY ALL"));
        };
        if !modifiers.is_empty() {
            return Err(unsupported("grouping sets behind WITH"));
        }
        let (distinct, list) = group_by::list_of(list);
        // a key is what the select list has in the same words, whatever it answers the next time
        for known in self.scope().subqueries.iter_mut().flatten() {
            known.volatile = false;
        }
        let of_sets = |ast: &Ast| match ast {
            Ast::Tuple(parts) => parts.is_empty(),
            _ => matches!(ast, Ast::GroupingSets(_) | Ast::Rollup(_) | Ast::Cube(_)),
        };
        let several = list.iter().any(of_sets);
        let mut keys = Keys { exprs: Vec::new(), columns: Vec::new(), several };
        let mut sets: Vec<Part> = vec![Vec::new()];
        for ast in list {
            let choices = self.choices(ast, output, &mut keys)?;
            check_sets(sets.len().saturating_mul(choices.len()))?;
            let both = |set: &Part| choices.iter().map(|part| [set.as_slice(), part].concat()).collect();
            sets = sets.iter().flat_map(|set| -> Vec<Part> { both(set) }).collect();
        }
        let Keys { exprs: keys, columns, .. } = keys;
        let has = |set: &Part| (0..keys.len()).map(|key| set.contains(&key)).collect::<Vec<bool>>();
        let mut sets: Option<Vec<Vec<bool>>> = several.then(|| sets.iter().map(has).collect());
        if let Some(sets) = sets.as_mut().filter(|_| distinct) {
            let mut known = HashSet::new();
            sets.retain(|set| known.insert(set.clone()));
        }
        let mut slots = vec![None; keys.len()];
        for (number, key) in keys.iter().enumerate() {
            let Some(column) =
                columns[number].filter(|_| keys[..number].iter().any(|known| known.alike(key)))
            else {
                continue;
            };
            let slot = self.slot();
            self.used[slot] = true;
            self.mark(key);
            output[column].expr = Expr::Slot(slot);
            slots[number] = Some(slot);
        }
        Ok(Groups { keys, sets, slots })
    }

    /// The sets that an item of GROUP BY, or of GROUPING SETS, stands for.
    fn choices(&mut self, ast: &Ast, output: &[Output], keys: &mut Keys) -> Result<Vec<Part>> {
        Ok(match ast {
            Ast::GroupingSets(parts) => {
                let mut sets = Vec::new();
                for part in parts {
                    match &part[..] {
                        [inner @ (Ast::GroupingSets(_) | Ast::Rollup(_) | Ast::Cube(_))] => {
                            sets.extend(self.deeper(|binder| binder.choices(inner, output, keys))?);
                        }
                        part => sets.push(self.group_part(part, output, keys)?),
                    }
                    check_sets(sets.len())?;
                }
                sets
            }
            Ast::Rollup(parts) => {
                let parts = self.group_parts(parts, output, keys)?;
                (0..=parts.len()).rev().map(|len| parts[..len].concat()).collect()
            }
            Ast::Cube(parts) => {
                if parts.len() > MAX_CUBE {
                    let what = format!("CUBE is limited to {MAX_CUBE} elements");
                    return Err(SqlError::new(SqlState::TOO_MANY_COLUMNS, what));
                }
                let parts = self.group_parts(parts, output, keys)?;
                let whole = 1_usize << parts.len();
                let has = |set: usize, part: usize| set >> (parts.len() - 1 - part) & 1 == 0;
                let of = |set| (0..parts.len()).filter(move |part| has(set, *part));
                (0..whole).map(|set| of(set).flat_map(|part| parts[part].clone()).collect()).collect()
            }
            Ast::Tuple(parts) => vec![self.group_part(parts, output, keys)?],
            one => vec![self.group_part(std::slice::from_ref(one), output, keys)?],
        })
    }

    fn group_parts(&mut self, parts: &[Vec<Ast>], output: &[Output], keys: &mut Keys) -> Result<Vec<Part>> {
        parts.iter().map(|part| self.group_part(part, output, keys)).collect()
    }

    /// The numbers of keys, which are added if they are new.
    fn group_part(&mut self, part: &[Ast], output: &[Output], keys: &mut Keys) -> Result<Part> {
        let mut numbers = Vec::new();
        for ast in part {
            let ast = super::tail::without_parentheses(ast);
            // a name means a column of the input first
            let by_number = super::tail::constant_of(ast).is_some();
            let expr = if by_number { None } else { self.expr_decided(ast).ok() };
            let (expr, column) = match expr {
                Some(typed) => (typed.expr, None),
                None => match self.output_number(ast, output, "GROUP BY")? {
                    Some(number) => (output[number].expr.clone(), Some(number)),
                    None => (self.expr_decided(ast)?.expr, None),
                },
            };
            let known = keys.number(&expr, column, output);
            numbers.push(known);
        }
        Ok(numbers)
    }

    /// `GROUPING(a, b)`: what it answers is known when GROUP BY is.
    ///
    /// # Errors
    /// 42803 where it must not be, 54023.
    pub(super) fn grouping(&mut self, args: Vec<Typed>) -> Result<Typed> {
        const MAX_ARGS: usize = 31;
        if args.len() > MAX_ARGS {
            let what = "GROUPING must have fewer than 32 arguments";
            return Err(SqlError::new(SqlState::TOO_MANY_ARGUMENTS, what));
        }
        let args: Vec<Expr> = args.into_iter().map(|arg| arg.expr).collect();
        // it is that of the query whose columns it names
        let level = self.level_of(args.iter(), None);
        let clause = self.scopes[level].clause;
        let allowed = clause.is_empty() || clause == "HAVING";
        let slot = self.slot();
        let grouping = self.scopes[level].grouping.as_mut().filter(|grouping| !grouping.inside && allowed);
        let Some(grouping) = grouping else {
            let clause = if clause.is_empty() { "this clause" } else { clause };
            let what = format!("grouping operations are not allowed in {clause}");
            return Err(SqlError::new(SqlState::GROUPING_ERROR, what));
        };
        let same = |known: &GroupingCall| {
            known.args.len() == args.len() && known.args.iter().zip(&args).all(|(a, b)| a.same(b))
        };
        let known = grouping.calls.iter().find(|known| same(known)).map(|known| known.slot);
        let slot = known.unwrap_or_else(|| {
            grouping.calls.push(GroupingCall { args, slot });
            slot
        });
        self.note_outer(level, slot);
        Ok(Typed::new(Expr::Slot(slot), Type::INT4))
    }

    /// What calls of GROUPING answer, by the number of the set in the slot of `sets`.
    ///
    /// # Errors
    /// 42803 for an argument that is no key.
    pub(super) fn grouping_results(
        calls: Vec<GroupingCall>,
        keys: &[(Expr, Slot)],
        sets: Option<&Sets>,
    ) -> Result<Vec<(Expr, Slot)>> {
        let mut results = Vec::with_capacity(calls.len());
        for GroupingCall { args, slot } in calls {
            let mut numbers = Vec::with_capacity(args.len());
            for arg in &args {
                let known = keys.iter().position(|(key, _)| key.alike(arg));
                numbers.push(known.ok_or_else(|| {
                    let what =
                        "arguments to GROUPING must be grouping expressions of the associated query level";
                    SqlError::new(SqlState::GROUPING_ERROR, what)
                })?);
            }
            let Some(Sets { sets, slot: number }) = sets else {
                results.push((Expr::Const(Value::Int4(0)), slot));
                continue;
            };
            let mask = |set: &Vec<bool>| {
                let lacks = numbers.iter().map(|&key| i32::from(!set.get(key).copied().unwrap_or(true)));
                Value::Int4(lacks.fold(0, |mask, lacks| mask << 1 | lacks))
            };
            let masks = Array::new(Type::INT4, sets.iter().map(mask).collect());
            let masks = Expr::Const(Value::Array(Arc::new(masks)));
            let call = Box::new((ScalarFn::subscript(), vec![masks, Expr::Slot(*number)]));
            results.push((Expr::Call(call), slot));
        }
        Ok(results)
    }
}

impl Keys {
    /// The number of a key, which is added if it is new: of an expression, or of a column of the result.
    fn number(&mut self, expr: &Expr, column: Option<usize>, output: &[Output]) -> usize {
        let column = match column {
            _ if !self.several => None,
            None => output.iter().position(|output| output.expr.alike(expr)),
            some => some,
        };
        let mut known = self.exprs.iter().zip(&self.columns);
        let known = known.position(|(known, of)| match (of, column) {
            (Some(of), Some(column)) => *of == column,
            _ => known.alike(expr),
        });
        known.unwrap_or_else(|| {
            self.exprs.push(expr.clone());
            self.columns.push(column);
            self.exprs.len() - 1
        })
    }
}

/// 54001 for too many sets.
fn check_sets(sets: usize) -> Result<()> {
    if sets <= MAX_SETS {
        return Ok(());
    }
    let what = format!("too many grouping sets present (maximum {MAX_SETS})");
    Err(SqlError::new(SqlState::STATEMENT_TOO_COMPLEX, what))
}

/// Says of an error what its expression was.
#[cold]
pub(super) fn direct_refused(error: SqlError) -> SqlError {
    error.detail("Direct arguments of an ordered-set aggregate must use only grouped columns.")
}
