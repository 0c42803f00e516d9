//! Changes of a table's indexes alone: the engine makes them in place, and no row is copied.

use super::super::Session;
use crate::adopted::{PREFIX, in_order};
use crate::exec::context::Host;
use crate::session::transaction::Added;
use scaledb_base::TableId;
use scaledb_base::limits::MAX_TABLES;
use scaledb_catalog::{Relation, TableDesc};
use scaledb_engine::{Engine, IndexDef, IndexInfo, Order, Range, TableInfo, Worker};
use scaledb_keys::{Direction, Nulls};
use scaledb_planner::plan::BoundTable;
use scaledb_planner::plan::expr::Expr;
use scaledb_row::{KeyPart, Projection};
use scaledb_types::{Result, SqlError, SqlState};
use std::cell::RefCell;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Tables of at most so many rows are copied: that is as fast, and the ids of what was there serve others. The engine
/// does not give an index's id twice. (Fewer in tests, whose tables are small.)
const FEW: usize = if cfg!(debug_assertions) { 20 } else { 1_000 };

/// Of the engine's ids, this many are left to new tables.
const LEFT: usize = MAX_TABLES / 2;

impl<E: Engine> Session<E> {
    /// Makes a change in place, if it is one of indexes alone. Others do not write to the table.
    ///
    /// # Errors
    /// 23505 for rows that a new index does not take, and the engine's: nothing has changed.
    pub(super) fn reindex(
        &mut self,
        old: &Arc<BoundTable>,
        desc: &TableDesc,
        values: &[Expr],
    ) -> Result<bool> {
        if !is_of_indexes(old, desc, values)
            || !self.can_copy_beside(old)
            // in a cluster the engine would close it to writers
            || self.state.is_local(&old.desc.schema)
            || self.has_at_most(FEW, old)?
        {
            return Ok(false);
        }
        let mut desc = desc.clone();
        let mut gone = Vec::new();
        for (index, info) in old.desc.indexes.iter().zip(&old.info.indexes) {
            match desc.indexes.iter_mut().find(|kept| kept.oid == index.oid) {
                Some(kept) => kept.engine.clone_from(&info.name),
                None => gone.push(info.id),
            }
        }
        let is_new =
            |index: &scaledb_catalog::IndexDesc| !old.desc.indexes.iter().any(|i| i.oid == index.oid);
        let added: Vec<usize> = (0..desc.indexes.len()).filter(|&n| is_new(&desc.indexes[n])).collect();
        for &number in &added {
            desc.indexes[number].engine = index_name(desc.indexes[number].oid);
        }
        if added.is_empty() && gone.is_empty() {
            // the rows are to be written anew
            return Ok(false);
        }
        if self.with_fake(old, &desc, desc.indexes.len())?.key_columns != old.key_columns {
            // rows have other columns for keys
            return Ok(false);
        }
        let mut defs = Vec::new();
        for &number in &added {
            match self.index_def(old, &desc, number)? {
                Some(def) => defs.push(def),
                None => return Ok(false),
            }
        }
        let before = self.transaction.added.len();
        for (mut def, &number) in defs.into_iter().zip(&added) {
            let stopped = RefCell::new(None);
            let made = loop {
                let context = self.context();
                // a cancellation is heard of once
                let go_on = || match context.check_cancel() {
                    Ok(()) => true,
                    Err(error) => {
                        stopped.replace(Some(error));
                        false
                    }
                };
                match self.state.shared.add_index(old.info.id, &def, &go_on) {
                    // a table that is kept for another one has had an index of this number in an earlier run
                    Err(scaledb_base::Error::TableExists(_)) => {
                        def.name = index_name(self.state.shared.new_oid());
                        desc.indexes[number].engine.clone_from(&def.name);
                    }
                    made => break made,
                }
            };
            let error = match made {
                Ok(info) => {
                    let id = info.index(&def.name).map_or(TableId(0), |index| index.id);
                    self.transaction.added.push(Added {
                        table: old.info.id,
                        index: id,
                        name: def.name.clone(),
                    });
                    continue;
                }
                Err(error) => error,
            };
            // those before it go with the transaction, or at its end
            return match error {
                scaledb_base::Error::TooManyTables { .. } if before == self.transaction.added.len() => {
                    Ok(false)
                }
                scaledb_base::Error::DuplicateKey { key, .. } => {
                    Err(self.not_unique(old, &desc, number, &key))
                }
                error => Err(stopped.take().unwrap_or_else(|| crate::error::plain(error))),
            };
        }
        self.begin_behind()?;
        self.transaction.touch(&[(old.desc.oid, old.info.id)], 0);
        self.transaction.gone.extend(gone);
        self.put(Relation::Table(Arc::new(desc)))?;
        Ok(true)
    }

    /// Whether a table has at most so many rows. What was read for it is not validated: either way is right.
    pub(super) fn has_at_most(&mut self, most: usize, table: &BoundTable) -> Result<bool> {
        let Some(worker) = self.worker.as_mut() else { return Err(SqlError::internal("no worker")) };
        let (mark, mut rows) = (worker.read_mark(), 0);
        let scanned =
            worker.scan(table.info.id, Range::ALL, Order::Forward, &Projection::existence(), |_, _, _| {
                rows += 1;
                if rows > most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
        scanned.map_err(|error| self.state.engine_error(error))?;
        if let Some(worker) = self.worker.as_mut() {
            worker.forget_reads(mark);
        }
        Ok(rows <= most)
    }

    /// What the engine is told of a new index. `None`: it cannot have it without new rows.
    fn index_def(&self, old: &BoundTable, desc: &TableDesc, number: usize) -> Result<Option<IndexDef>> {
        let table = self.with_fake(old, desc, number)?;
        let index = &desc.indexes[number];
        let columns = &table.secondary[number];
        if columns.len() != index.key().count()
            || index.is_checked_late()
            || index.unique && columns.iter().any(|column| column.separate)
            || self.state.shared.last_index().max(old.info.id).index() > LEFT
        {
            return Ok(None);
        }
        let part = |column: &scaledb_planner::plan::IndexColumn| KeyPart {
            column: column.engine,
            direction: if column.descending { Direction::Descending } else { Direction::Ascending },
            nulls: if column.nulls_first { Nulls::First } else { Nulls::Last },
        };
        let (key, name) = (columns.iter().map(part).collect(), index.engine.as_str());
        Ok(Some(if index.unique { IndexDef::unique(name, key) } else { IndexDef::new(name, key) }))
    }

    /// A table with the new indexes, which the engine has not made yet.
    fn with_fake(&self, old: &BoundTable, desc: &TableDesc, number: usize) -> Result<Arc<BoundTable>> {
        let mut info = TableInfo::clone(&old.info);
        for (at, index) in desc.indexes.iter().enumerate() {
            if info.index(&index.engine).is_none() {
                let id = if at == number { FAKE } else { TableId(u32::MAX - 1) };
                let key = info.schema.primary_key().clone();
                info.indexes.push(IndexInfo { id, name: index.engine.clone(), key, unique: index.unique });
            }
        }
        let info = in_order(desc, Arc::new(info)).ok_or_else(|| SqlError::internal("an index of no name"))?;
        self.state.table_with(&Arc::new(desc.clone()), info)
    }

    /// 23505 for two rows that share a key of a new index.
    fn not_unique(&self, old: &BoundTable, desc: &TableDesc, number: usize, key: &[u8]) -> SqlError {
        let name = &desc.indexes[number].name;
        let error =
            SqlError::new(SqlState::UNIQUE_VIOLATION, format!("could not create unique index \"{name}\""))
                .table(desc.schema.as_str(), desc.name.as_str())
                .constraint(name.as_str());
        let table = self.with_fake(old, desc, number);
        match table.ok().and_then(|table| crate::session::conflict::describe(&table, FAKE, key, &self.env)) {
            Some((_, shown)) => error.detail(format!("Key ({shown}) is duplicated.")),
            None => error,
        }
    }
}

/// The engine's name of an index.
fn index_name(number: u32) -> String {
    format!("{PREFIX}{number}.index")
}

/// An index that is described before it is made.
const FAKE: TableId = TableId(u32::MAX);

/// Whether nothing but the indexes of a table changes.
fn is_of_indexes(old: &BoundTable, desc: &TableDesc, values: &[Expr]) -> bool {
    let same = values.len() == old.types.len()
        && values.iter().enumerate().all(|(at, value)| matches!(value, Expr::Slot(slot) if *slot == at))
        && desc.columns == old.desc.columns
        && desc.placement == old.desc.placement
        && desc.primary_key.as_ref().map(|key| &key.columns)
            == old.desc.primary_key.as_ref().map(|key| &key.columns);
    // one that is there may get another name; whether it is unique is the engine's affair
    let kept = desc.indexes.iter().all(|index| {
        let before = old.desc.indexes.iter().find(|before| before.oid == index.oid);
        before.is_none_or(|before| {
            before.columns == index.columns && before.is_unique_at_once() == index.is_unique_at_once()
        })
    });
    same && kept
}
