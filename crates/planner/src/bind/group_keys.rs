//! What the expressions of a grouped query become: they read the keys of its groups and the results of aggregates, and
//! no other column.

use super::Binder;
use super::grouping::Groups;
use super::scope::ScopeColumn;
use crate::plan::expr::Expr;
use crate::plan::{Aggregate, Slot};
use scaledb_types::{Result, SqlError, SqlState, Value};
use std::collections::HashSet;

/// The keys of a grouped query, and what its expressions become.
pub(super) struct GroupKeys<'k> {
    pub(super) keys: Vec<(Expr, Slot)>,
    /// Slots that the groups do not have.
    lost: HashSet<Slot>,
    names: Vec<(Slot, String)>,
    aggregates: &'k [Aggregate],
}

impl<'k> GroupKeys<'k> {
    /// The keys `groups`, of rows with the slots `input`. Those that all sets have determine what the primary key of a
    /// table does.
    pub(super) fn new(
        binder: &mut Binder<'_>,
        groups: &Groups,
        aggregates: &'k [Aggregate],
        input: &HashSet<Slot>,
    ) -> Self {
        let mut lost = input.clone();
        let mut keys: Vec<(Expr, Slot)> = Vec::new();
        let mut in_all: HashSet<Slot> = HashSet::new();
        for (number, (expr, own)) in groups.keys.iter().zip(&groups.slots).enumerate() {
            // a column keeps its slot, so that expressions that read it still do
            let slot = match (own, expr) {
                (Some(own), _) => *own,
                (None, Expr::Slot(slot)) => *slot,
                _ => binder.slot(),
            };
            if groups.sets.iter().flatten().all(|set| set[number]) {
                in_all.insert(slot);
            }
            lost.remove(&slot);
            keys.push((expr.clone(), slot));
        }
        let mut names = Vec::new();
        for table in binder.scope().tables.clone() {
            for column in &table.columns {
                names.push((column.slot, format!("{}.{}", table.name, column.name)));
            }
            // the primary key determines the other columns of the same scan: a subquery may have columns of several
            let scan_of = |column: &ScopeColumn| {
                let (oid, attnum) = column.origin;
                let desc = binder.catalog.table(oid)?;
                Some((oid, column.slot.checked_sub(desc.position(attnum)?)?))
            };
            let mut scans: Vec<(u32, Slot)> = table.columns.iter().filter_map(scan_of).collect();
            scans.dedup();
            for scan in scans {
                let Some(desc) = binder.catalog.table(scan.0) else { continue };
                let Some(key) = &desc.primary_key else { continue };
                let own = || table.columns.iter().filter(|column| scan_of(column) == Some(scan));
                let grouped = key.columns.iter().all(|part| {
                    let mut parts = own().filter(|column| column.origin.1 == part.attnum);
                    parts.any(|column| in_all.contains(&column.slot))
                });
                if grouped {
                    for column in own().filter(|column| binder.used[column.slot]) {
                        if lost.remove(&column.slot) {
                            keys.push((Expr::Slot(column.slot), column.slot));
                        }
                    }
                }
            }
        }
        Self { keys, lost, names, aggregates }
    }

    /// Makes an expression one over groups.
    pub(super) fn rewrite_in(&self, expr: &mut Expr) -> Result<()> {
        *expr = self.rewrite(std::mem::replace(expr, Expr::Const(Value::Null)))?;
        Ok(())
    }

    /// The expression over groups.
    pub(super) fn rewrite(&self, expr: Expr) -> Result<Expr> {
        if let Some((_, slot)) = self.keys.iter().find(|(key, _)| key.alike(&expr)) {
            return Ok(Expr::Slot(*slot));
        }
        match &expr {
            Expr::Slot(slot) if self.aggregates.iter().any(|aggregate| aggregate.slot == *slot) => {
                return Ok(expr);
            }
            Expr::Slot(slot) if self.lost.contains(slot) => return Err(self.ungrouped(*slot)),
            Expr::Subquery(sub) => {
                if let Some(slot) = sub.depends.slots.iter().find(|slot| self.lost.contains(slot)) {
                    return Err(self.ungrouped(*slot));
                }
            }
            _ => {}
        }
        expr.map_children(&mut |child| self.rewrite(child))
    }

    fn ungrouped(&self, slot: Slot) -> SqlError {
        let name = self.names.iter().find(|(known, _)| *known == slot).map_or("?", |(_, name)| name.as_str());
        SqlError::new(
            SqlState::GROUPING_ERROR,
            format!(
                "column \"{name}\" must appear in the GROUP BY clause or be used in an aggregate function"
            ),
        )
    }
}
