//! Indexes of some rows: CREATE INDEX .. WHERE.

use super::super::Session;
use super::generated::unqualified;
use crate::bind::generated::reads;
use crate::plan::BoundTable;
use scaledb_catalog::{ColumnDesc, IndexDesc, PredicateDesc, TableDesc};
use scaledb_engine::Engine;
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
        let (text, marker) = (unqualified(condition, desc), desc.next_attnum);
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
        });
        Ok(PredicateDesc { text, marker })
    }

    /// Drops an index of a table, and the hidden column that goes with it.
    pub(super) fn drop_index_of(&mut self, table: &Arc<BoundTable>, oid: u32) -> Result<()> {
        let mut desc = (*table.desc).clone();
        let mut gone = desc.indexes.iter().filter(|index| index.oid == oid);
        let marker = gone.next().and_then(|index| index.predicate.as_ref()).map(|predicate| predicate.marker);
        desc.indexes.retain(|index| index.oid != oid);
        self.rebuild(table, desc, Self::identity(table))?;
        let Some(marker) = marker else { return Ok(()) };
        let table = self.table(table.desc.oid)?;
        let (mut desc, mut placement) = ((*table.desc).clone(), table.desc.placement());
        desc.columns.retain(|column| column.attnum != marker);
        placement.added.retain(|added| added.attnum != marker);
        desc.placement = Some(placement);
        self.replace(&table, desc)
    }

    /// The indexes of some rows that a column is in, or decides which rows these are: they go with it.
    pub(super) fn partial_over(&self, table: &BoundTable, at: usize) -> Result<Option<u32>> {
        let attnum = table.desc.columns[at].attnum;
        let row: Vec<usize> = (0..table.types.len()).collect();
        let generated = self.generated_of(table)?;
        let decides = |marker: i16| {
            let of = |position: usize| table.desc.columns[position].attnum == marker;
            generated.iter().any(|(position, expr)| of(*position) && reads(expr, &row, &[at]))
        };
        let over = |index: &&IndexDesc| {
            let predicate = index.predicate.as_ref();
            predicate.is_some_and(|predicate| {
                decides(predicate.marker) || index.columns.iter().any(|column| column.attnum == attnum)
            })
        };
        Ok(table.desc.indexes.iter().find(over).map(|index| index.oid))
    }
}

/// 42809 for an index that cannot be one of a constraint.
pub(super) fn refuse_partial(index: &IndexDesc) -> Result<()> {
    if index.predicate.is_none() {
        return Ok(());
    }
    let what = format!("\"{}\" is a partial index", index.name);
    Err(SqlError::new(SqlState::WRONG_OBJECT_TYPE, what)
        .detail("Cannot create a primary key or unique constraint using such an index."))
}
