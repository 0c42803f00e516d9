//! Tables and indexes, as the transactions of a workload name them.

use scaledb_base::{Result, TableId};
use scaledb_engine::{Access, Engine, IndexDef, TableDef, TableInfo};
use scaledb_row::{Column, KeyPart, Projection, Schema};
use scaledb_sync::Arc;

/// A table, or one of its indexes.
#[derive(Clone, Debug)]
pub struct WorkloadTable {
    /// Its id.
    pub id: TableId,
    /// The definition of the table.
    pub info: Arc<TableInfo>,
}

impl WorkloadTable {
    /// The columns `columns`.
    pub fn project(&self, columns: &[usize]) -> Projection {
        Projection::new(&self.info.schema, columns.iter().copied())
    }

    /// Its schema.
    #[inline]
    pub fn schema(&self) -> &Schema {
        &self.info.schema
    }

    /// Its secondary index of this number.
    pub(crate) fn index(&self, number: usize) -> Self {
        Self { id: self.info.indexes[number].id, info: self.info.clone() }
    }
}

/// An index to be made: its name, its columns, whether it is unique.
pub(crate) type Index<'a> = (&'a str, &'a [usize], bool);

/// Creates a table. Unique indexes are probed and scanned, others scanned.
pub(crate) fn create<E: Engine>(
    engine: &E,
    name: &str,
    columns: Vec<Column>,
    key: &[usize],
    access: Access,
    indexes: &[Index<'_>],
    synchronous: bool,
) -> Result<WorkloadTable> {
    let parts = |key: &[usize]| key.iter().map(|&column| KeyPart::asc(column)).collect::<Vec<_>>();
    let schema = Schema::new(columns, &parts(key))?;
    let mut def = TableDef::new(name, schema).options(crate::table_options(access, synchronous));
    for &(name, key, unique) in indexes {
        let access = if unique { Access::Hashed } else { Access::Ordered };
        let options = crate::table_options(access, synchronous);
        def.indexes.push(IndexDef { unique, options, ..IndexDef::new(name, parts(key)) });
    }
    let info = engine.create_table(def)?;
    Ok(WorkloadTable { id: info.id, info })
}

/// Text that can be seen to be whole: letters that say a number, over and over.
pub(crate) fn stamp(to: &mut [u8], number: u64) {
    for (i, letter) in to.iter_mut().enumerate() {
        *letter = b'a' + (number >> (4 * (i % 16))) as u8 % 16;
    }
}

/// Whether text is what [`stamp`] makes of some number.
pub(crate) fn is_whole(text: &[u8]) -> bool {
    text.iter().zip(text.iter().skip(16)).all(|(a, b)| a == b) && text.iter().all(u8::is_ascii_lowercase)
}
