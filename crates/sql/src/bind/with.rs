//! WITH, recursive or not.

use super::names::fold;
use super::query::{Tail, tail_of, unequal};
use super::scope::{Scope, ScopeColumn};
use super::{Binder, CteDef, Typed, unsupported};
use crate::plan::{Cte, Recursive, Slot};
use scaledb_types::cast::Context;
use scaledb_types::{Result, Type};
use sqlparser::ast::{self, Query, SetExpr, SetOperator, SetQuantifier};
use std::sync::Arc;

/// The columns of a WITH query, under the names that it gives them.
fn named(columns: Vec<ScopeColumn>, aliases: &[String]) -> Vec<(String, Type)> {
    let renamed = columns.into_iter().enumerate();
    renamed.map(|(at, column)| (aliases.get(at).cloned().unwrap_or(column.name), column.ty)).collect()
}

/// The clause behind a query that says something of all its rows.
fn clause_of(query: &Query) -> Result<Option<&'static str>> {
    let tail = tail_of(query)?;
    Ok(match () {
        () if !tail.order.is_empty() => Some("ORDER BY"),
        () if tail.offset.is_some() => Some("OFFSET"),
        () if tail.limit.is_some() => Some("LIMIT"),
        () if !tail.locks.is_empty() => Some("FOR UPDATE/SHARE"),
        () => None,
    })
}

impl Binder<'_> {
    pub(super) fn with(&mut self, with: &ast::With, may_write: bool) -> Result<Vec<Cte>> {
        let mut ctes = Vec::new();
        for cte in &with.cte_tables {
            let name = fold(&cte.alias.name);
            let aliases: Vec<String> = cte.alias.columns.iter().map(|column| fold(&column.name)).collect();
            let number = self.keep();
            let recursive = with.recursive
                && matches!(&*cte.query.body, SetExpr::SetOperation { op: SetOperator::Union, .. });
            if recursive && let SetExpr::SetOperation { set_quantifier, left, right, .. } = &*cte.query.body {
                let distinct = !matches!(set_quantifier, SetQuantifier::All);
                self.scopes.push(Scope::default());
                let first = self.set_expr(left, Tail::default());
                self.scopes.pop();
                let (node, columns) = self.slots_of(first?, &[]);
                let slots: Vec<Slot> = columns.iter().map(|column| column.slot).collect();
                let columns = named(columns, &aliases);
                self.ctes.push(CteDef {
                    name: name.clone(),
                    number,
                    columns: columns.clone(),
                    recursive: false,
                });
                self.scopes.push(Scope::default());
                let next = self.set_expr(right, Tail::default());
                self.scopes.pop();
                let mut next = next?;
                if next.output.len() != columns.len() {
                    return Err(unequal("UNION"));
                }
                for (output, (_, ty)) in next.output.iter_mut().zip(&columns) {
                    let typed = Typed::new(output.expr.clone(), output.ty);
                    output.expr = self.coerce(typed, *ty, Context::Implicit)?.expr;
                    output.ty = *ty;
                }
                if let Some(clause) = clause_of(&cte.query)? {
                    if self.read_ctes.contains(&number) {
                        return Err(unsupported(format!("{clause} in a recursive query")));
                    }
                    // it does not refer to itself
                    self.ctes.pop();
                    ctes.push(self.plain_cte(cte, number, name, &aliases, may_write)?);
                    continue;
                }
                if let Some(own) = self.ctes.last_mut() {
                    own.recursive = true;
                }
                let (next, next_columns) = self.slots_of(next, &[]);
                let next_slots = next_columns.iter().map(|column| column.slot).collect();
                let recursive = Recursive { node: next, slots: next_slots, distinct };
                let (node, recursive) = (Arc::new(node), Some(Arc::new(recursive)));
                ctes.push(Cte { name, number, node, slots, read: true, recursive });
                continue;
            }
            ctes.push(self.plain_cte(cte, number, name, &aliases, may_write)?);
        }
        Ok(ctes)
    }

    /// A WITH query that does not refer to itself.
    fn plain_cte(
        &mut self,
        cte: &ast::Cte,
        number: usize,
        name: String,
        aliases: &[String],
        may_write: bool,
    ) -> Result<Cte> {
        self.may_write = may_write;
        let bound = self.deeper(|binder| binder.query(&cte.query))?;
        self.may_write = false;
        let (node, columns) = self.slots_of(bound, &[]);
        let slots = columns.iter().map(|column| column.slot).collect();
        let columns = named(columns, aliases);
        self.ctes.push(CteDef { name: name.clone(), number, columns, recursive: false });
        Ok(Cte { name, number, node: Arc::new(node), slots, read: true, recursive: None })
    }
}
