//! Indexes of some rows: CREATE INDEX .. WHERE.

use super::super::Session;
use super::generated::unqualified;
use scaledb_catalog::{ColumnDesc, IndexDesc, PredicateDesc, TableDesc};
use scaledb_engine::Engine;
use scaledb_planner::bind::generated::reads;
use scaledb_planner::plan::BoundTable;
use scaledb_types::{Result, SqlError, SqlState, Type};
use sqlparser::ast::Expr as Ast;
use std::sync::Arc;

impl<E: Engine> Session<E> {
    /// Gives a table the hidden column of an index of the rows that fulfil a condition.
    ///
    /// # Errors
    /// 42P17 and 0A000 for a condition that may not always hold for the same rows, and what is wrong with it by itself.
    pub(super) fn index_predicate(&self, desc: &mut TableDesc, condition: &Ast) -> Result<PredicateDesc> {
        let table = self.unmade(desc)?;
        let own = self.bind_over(&table, |binder| binder.condition(condition, "WHERE"))?;
        if own.has_subquery() {
            return Err(SqlError::unsupported("cannot use subquery in index predicate"));
        }
        if !own.is_fixed() {
            let what = "functions in index predicate must be marked IMMUTABLE";
            return Err(SqlError::new(SqlState::INVALID_OBJECT_DEFINITION, what));
        }
        self.refuse_settings(&own, || self.bind_over(&table, |binder| binder.predicate(condition)))?;
        let (text, marker) = (self.kept_expression(&unqualified(condition, desc)), desc.next_attnum);
        desc.next_attnum += 1;
        desc.columns.push(ColumnDesc {
            name: String::new(),
            attnum: marker,
            type_oid: Type::BOOL.oid(),
            typmod: -1,
            not_null: false,
            default: None,
            identity: None,
            generated: Some(format!("CASE WHEN {text} THEN true END")),
            hidden: true,
            key: None,
        });
        Ok(PredicateDesc { text, marker })
    }

    /// Drops an index of a table, and the hidden columns that go with it.
    pub(super) fn drop_index_of(&mut self, table: &Arc<BoundTable>, oid: u32) -> Result<()> {
        let mut desc = (*table.desc).clone();
        desc.indexes.retain(|index| index.oid != oid);
        self.rebuild(table, desc, Self::identity(table))?;
        let table = self.table(table.desc.oid)?;
        let mut desc = (*table.desc).clone();
        desc.drop_unused();
        if desc.columns.len() == table.desc.columns.len() {
            return Ok(());
        }
        let mut placement = table.desc.placement();
        placement.added.retain(|added| desc.position(added.attnum).is_some());
        desc.placement = Some(placement);
        self.replace(&table, desc)
    }

    /// An index with hidden columns that a column is in, or that is computed from it: it goes with the column.
    pub(super) fn computed_index_over(&self, table: &BoundTable, at: usize) -> Result<Option<u32>> {
        let attnum = table.desc.columns[at].attnum;
        let row: Vec<usize> = (0..table.types.len()).collect();
        let generated = self.generated_of(table)?;
        let decides = |hidden: i16| {
            let of = |position: usize| table.desc.columns[position].attnum == hidden;
            generated.iter().any(|(position, expr)| of(*position) && reads(expr, &row, &[at]))
        };
        let is_hidden = |attnum: i16| table.desc.columns.iter().any(|own| own.hidden && own.attnum == attnum);
        let over = |index: &&IndexDesc| {
            let has = |of: &dyn Fn(i16) -> bool| index.key().any(|column| of(column.attnum));
            has(&is_hidden) && (has(&|own| own == attnum) || has(&|own| is_hidden(own) && decides(own)))
        };
        Ok(table.desc.indexes.iter().find(over).map(|index| index.oid))
    }
}

/// 42809 for an index that cannot be one of a constraint.
pub(super) fn refuse_for_constraint(desc: &TableDesc, index: &IndexDesc) -> Result<()> {
    // a dump of a constraint does not say how its index is sorted
    let sorted = index.columns.iter().position(|column| column.descending || column.nulls_first);
    let what = match () {
        () if !index.unique => format!("\"{}\" is not a unique index", index.name),
        () if desc.has_expressions(index) => format!("index \"{}\" contains expressions", index.name),
        () if index.predicate.is_some() => format!("\"{}\" is a partial index", index.name),
        () => match sorted {
            Some(at) => {
                let (name, number) = (&index.name, at + 1);
                format!("index \"{name}\" column number {number} does not have default sorting behavior")
            }
            None => return Ok(()),
        },
    };
    Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, what)
        .detail("Cannot create a primary key or unique constraint using such an index."))
}
