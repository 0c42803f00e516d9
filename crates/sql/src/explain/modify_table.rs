//! INSERT, UPDATE, DELETE and MERGE.

use super::nodes::{Describer, relation, text};
use super::{Detail, Shown};
use scaledb_parse::lex::quoted;
use scaledb_planner::plan::{Insert, Modify};

impl<'p> Describer<'p> {
    pub(super) fn modify(&mut self, modify: &'p Modify) -> Shown {
        let (word, table, source, scan) = match modify {
            Modify::Insert(insert) => ("Insert", &insert.table, &insert.source, None),
            Modify::Update(update) => ("Update", &update.table, &update.source, Some(update.target)),
            Modify::Delete(delete) => ("Delete", &delete.table, &delete.source, Some(delete.target)),
            Modify::Merge(merge) => ("Merge", &merge.table, &merge.source, Some(merge.target)),
        };
        let desc = &table.desc;
        let alias = scan.and_then(|scan| self.names.scan(scan)).map(|at| self.names.alias(at).to_owned());
        let alias = alias.unwrap_or_else(|| desc.name.clone());
        let mut shown = Shown::new("ModifyTable");
        shown.manner.push(("Operation", text(word)));
        relation(&format!("{word} on"), (&desc.schema, &desc.name), &alias, self.verbose, &mut shown);
        let returning = match modify {
            Modify::Insert(insert) => {
                self.conflict(insert, &mut shown);
                insert.values.iter().for_each(|expr| self.place(expr));
                &insert.returning
            }
            Modify::Update(update) => {
                update.set.iter().for_each(|(_, expr)| self.place(expr));
                &update.returning
            }
            Modify::Delete(delete) => &delete.returning,
            Modify::Merge(merge) => {
                for clause in &merge.clauses {
                    clause.condition.iter().chain(clause.action.exprs()).for_each(|expr| self.place(expr));
                }
                &None
            }
        };
        returning.iter().flatten().for_each(|expr| self.place(expr));
        shown.details.extend(self.primaries(table));
        self.finish(shown, &[("Outer", source)])
    }

    /// ON CONFLICT.
    pub(super) fn conflict(&mut self, insert: &'p Insert, shown: &mut Shown) {
        let Some(conflict) = &insert.conflict else { return };
        let resolution = if conflict.update.is_some() { "UPDATE" } else { "NOTHING" };
        shown.details.push(Detail::text("Conflict Resolution", resolution.to_owned()));
        if let Some(index) = conflict.index {
            let name = quoted(insert.table.index_name(index));
            shown.details.push(Detail::list("Conflict Arbiter Indexes", vec![name]));
        }
        if let Some(update) = &conflict.update {
            update.set.iter().for_each(|(_, expr)| self.place(expr));
            self.condition("Conflict Filter", update.filter.as_ref(), None, shown);
        }
    }
}
