//! The queries of views and materialized views: how they are kept, and whether they mean what they meant.

use super::super::Session;
use crate::compiled::Action;
use scaledb_catalog::{Relation, ViewDesc};
use scaledb_engine::Engine;
use scaledb_parse::with_stack;
use scaledb_planner::bind::Binder;
use scaledb_planner::bind::names::{Naming, is_temporary};
use scaledb_planner::bind::noted::Noted;
use scaledb_planner::plan::Plan;
use scaledb_types::{Base, Result, Type};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A query as it is kept.
pub(super) struct Definition {
    pub(super) query: String,
    /// The relations, types and routines that it names.
    pub(super) uses: Vec<u32>,
    /// The schemas that names without one were looked up in.
    pub(super) path: Vec<String>,
    /// What a `*` in it means, as [`ViewDesc::known`] has it.
    pub(super) known: Vec<(u32, i16)>,
}

/// What a query means.
pub(super) struct Meaning {
    /// The oids and type modifiers of its columns.
    pub(super) columns: Vec<(u32, i32)>,
    /// The relations, types and routines that it names, and those that they name.
    pub(super) named: BTreeSet<u32>,
    /// What the names in its own text mean.
    pub(super) noted: Vec<Noted>,
}

impl<E: Engine> Session<E> {
    /// A query of this plan, as a view in a schema keeps it.
    pub(super) fn definition(&self, text: &str, plan: &Plan, schema: &str) -> Definition {
        let catalog = &self.state.catalog;
        // those that policies name are none of the query's
        let (tables, relations) = (&plan.tables[..plan.named.0], &plan.relations[..plan.named.1]);
        let uses = tables.iter().map(|(oid, _)| *oid).chain(relations.iter().copied()).collect();
        let tables = tables.iter().filter_map(|(oid, _)| catalog.table(*oid));
        let views = relations.iter().filter_map(|&oid| match catalog.get(oid) {
            // as if its columns had numbers from 1
            Some(Relation::View(view)) => Some((oid, i16::try_from(view.columns.len() + 1).ok()?)),
            _ => None,
        });
        let hidden = |known: &String| known == "pg_catalog" || is_temporary(known) && !is_temporary(schema);
        Definition {
            query: self.kept_query(text),
            uses,
            path: self.state.path.iter().filter(|known| !hidden(known)).cloned().collect(),
            known: tables.map(|table| (table.oid, table.next_attnum)).chain(views).collect(),
        }
    }

    /// Whether a plan reads what is temporary.
    pub(super) fn is_of_temporary(&self, plan: &Plan) -> bool {
        let uses = plan.tables.iter().map(|(oid, _)| *oid).chain(plan.relations.iter().copied());
        let mut relations = uses.filter_map(|oid| self.state.catalog.get(oid));
        relations.any(|relation| is_temporary(relation.schema()))
    }

    /// Puts another definition in the place of what a view or a materialized view has.
    pub(super) fn put_definition(&mut self, view: &ViewDesc) -> Result<()> {
        match self.state.catalog.get(view.oid) {
            Some(relation) => self.put(relation.defined_by(view)),
            None => Ok(()),
        }
    }

    /// What a view or a materialized view is called in messages.
    pub(super) fn kind_and_name(&self, view: &ViewDesc) -> String {
        let kind = self.state.catalog.get(view.oid).map_or("view", Relation::kind);
        format!("{kind} {}", view.name)
    }

    /// Whether the query of a view still has the columns that it had, and from the same relations.
    pub(super) fn means_the_same(&mut self, view: &Arc<ViewDesc>) -> bool {
        let meaning = match self.state.catalog.get(view.oid) {
            // its rows say nothing of its query
            Some(Relation::Table(_)) => self.meaning_of_query(view),
            _ => self.meaning_of_view(view),
        };
        let Some(Meaning { columns, named, .. }) = meaning else { return false };
        // types and routines are among them that expressions of tables name, as the condition of an index does
        let catalog = &self.state.catalog;
        let other = |oid: u32| catalog.own_type(oid).is_some() || catalog.routine(oid).is_some();
        let named: BTreeSet<u32> = named.into_iter().filter(|oid| *oid != view.oid && !other(*oid)).collect();
        columns.into_iter().eq(view.columns.iter().map(|(_, oid, typmod)| (*oid, *typmod)))
            && named == view.uses.iter().copied().filter(|oid| !other(*oid)).collect()
    }

    fn meaning_of_view(&mut self, view: &ViewDesc) -> Option<Meaning> {
        let quoted = |name: &str| name.replace('"', "\"\"");
        let text = format!("SELECT * FROM \"{}\".\"{}\"", quoted(&view.schema), quoted(&view.name));
        self.state.defines.set(true);
        let compiled = self.compile(&text, &[]);
        self.state.defines.set(false);
        let compiled = compiled.ok()?;
        let Action::Plan(plan) = &compiled.action else { return None };
        let (tables, relations) = (&plan.tables[..plan.named.0], &plan.relations[..plan.named.1]);
        let named = tables.iter().map(|(oid, _)| *oid).chain(relations.iter().copied());
        let columns = compiled.columns.iter().flatten().map(|column| (column.ty.oid(), column.ty.modifier()));
        Some(Meaning { columns: columns.collect(), named: named.collect(), noted: Vec::new() })
    }

    pub(super) fn meaning_of_query(&self, view: &Arc<ViewDesc>) -> Option<Meaning> {
        with_stack(&view.query, || {
            let query = scaledb_parse::query(&view.query).ok()?;
            let mut binder = Binder::new(&self.state.catalog, &self.state, &self.env, Vec::new());
            binder.known_columns.clone_from(&view.known);
            binder.noted = Some(Vec::new());
            binder.policies.off = true;
            let bound = binder.apart(Naming::View(view.clone()), |binder| binder.query(&query)).ok()?;
            let noted = binder.noted.take().unwrap_or_default();
            let named = binder.tables.iter().map(|(oid, _)| *oid).chain(binder.relations.iter().copied());
            let columns = bound.output.iter().map(|output| match output.ty {
                ty if ty.base == Base::Unknown => Type::TEXT,
                ty => ty,
            });
            let columns = columns.map(|ty| (ty.oid(), ty.modifier())).collect();
            Some(Meaning { columns, named: named.collect(), noted })
        })
    }
}
