//! Definitions of tables, as rows of the cluster's catalog: an ordinary transaction creates them, every node reads them
//! at its own replica, and a transaction depends on those that it has used.
//!
//! ```text
//!   c            the next id of a table or an index
//!   n name       the id of the table or index of that name
//!   p id         of an index that is being built: the definition that its table will have
//!   t id         the table's definition, and the ids of its indexes; or the table that an index belongs to
//!   w            which tables are closed to writers, and by whom
//! ```

use super::spread::Spread;
use crate::rows::{Key, Value};
use scaledb_base::{Error, Result, TableId, limits};
use scaledb_engine::{
    Access, Closure, IndexDef, IndexInfo, OptionSpec, OptionType, TableDef, TableInfo, TableOptions,
};
use scaledb_scar::PartitionId;
use scaledb_sync::Arc;
use serde::{Deserialize, Serialize};

/// The partition that every node keeps.
pub(super) const EVERYWHERE: PartitionId = PartitionId(0);

const PARTITION_BY: &str = "partition_by";
const REPLICATE: &str = "replicate";

/// What tables and indexes of a cluster may be told.
pub(super) const OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        name: PARTITION_BY,
        takes: OptionType::Integer,
        help: "Rows whose first so many key columns are equal are kept together. Default: all columns of the key.",
    },
    OptionSpec {
        name: REPLICATE,
        takes: OptionType::Word(&["everywhere"]),
        help: "Every node keeps all rows: for small tables that are read more often than written.",
    },
];

/// A row of the catalog.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Entry {
    /// A table.
    Table(Box<Stored>),
    /// An index of this table.
    IndexOf(TableId),
}

/// A table's definition.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Stored {
    pub(super) id: TableId,
    pub(super) def: TableDef,
    /// The ids of `def.indexes`.
    pub(super) indexes: Vec<TableId>,
    /// Indexes that only their builder's transaction has, until it commits.
    pub(super) unsettled: Vec<(TableId, ClosedTables)>,
}

/// Tables that are closed, and who has closed them.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct ClosedTables {
    /// The view in which they are closed: from 1 on.
    pub(super) view: u64,
    /// The closer's node.
    pub(super) node: u8,
    /// Names the closer among those of its node.
    pub(super) number: u64,
    pub(super) tables: Vec<TableId>,
}

impl ClosedTables {
    pub(super) fn has(&self, table: TableId) -> bool {
        self.tables.contains(&table)
    }

    /// Whether both are of one closer, which may have closed more tables since.
    pub(super) fn is_of(&self, other: &Self) -> bool {
        (self.view, self.node, self.number) == (other.view, other.node, other.number)
    }

    pub(super) fn name(&self) -> Closure {
        Closure(self.number)
    }

    /// The value of the row when no table is closed.
    pub(super) fn nobody() -> Value {
        Value([].into())
    }

    pub(super) fn to_value(&self) -> Result<Value> {
        let bytes = serde_json::to_vec(self).map_err(|error| Error::BadDefinition(error.to_string()))?;
        Ok(Value(bytes.into()))
    }

    pub(super) fn of_value(value: &Value) -> Result<Option<Self>> {
        if value.0.is_empty() {
            return Ok(None);
        }
        let closed = serde_json::from_slice(&value.0);
        closed
            .map(Some)
            .map_err(|error| Error::BadDefinition(format!("the closed tables cannot be read: {error}")))
    }
}

/// A table as transactions use it.
#[derive(Debug)]
pub(super) struct ClusterTable {
    pub(super) info: Arc<TableInfo>,
    pub(super) space: Space,
    /// As `info.indexes`.
    pub(super) indexes: Vec<Space>,
    /// As `info.indexes`: who alone has it.
    pub(super) unsettled: Vec<Option<ClosedTables>>,
}

/// Where the keys of a table or an index are.
#[derive(Debug)]
pub(super) struct Space {
    pub(super) id: TableId,
    pub(super) ordered: bool,
    pub(super) spread: Spread,
}

impl Space {
    /// Its number among the spaces of a partition: the first is the catalog's.
    pub(super) fn number(&self) -> u32 {
        self.id.0.saturating_add(1)
    }

    pub(super) fn key(&self, bytes: &[u8], partitions: usize) -> Key {
        Key::new(self.spread.partition(bytes, partitions), self.number(), bytes)
    }
}

impl Entry {
    pub(super) fn to_value(&self) -> Result<Value> {
        let bytes = serde_json::to_vec(self).map_err(|error| Error::BadDefinition(error.to_string()))?;
        Ok(Value(bytes.into()))
    }

    pub(super) fn from_value(value: &Value) -> Result<Self> {
        serde_json::from_slice(&value.0)
            .map_err(|error| Error::BadDefinition(format!("a definition cannot be read: {error}")))
    }
}

impl Stored {
    /// A new table, whose ids begin with `first`.
    pub(super) fn new(first: u32, def: TableDef) -> Self {
        let indexes = (0..def.indexes.len() as u32).map(|i| TableId(first + 1 + i)).collect();
        Self { id: TableId(first), def, indexes, unsettled: Vec::new() }
    }

    fn builder_of(&self, index: TableId) -> Option<&ClosedTables> {
        self.unsettled.iter().find(|(unsettled, _)| *unsettled == index).map(|(_, by)| by)
    }

    pub(super) fn table(&self) -> Result<ClusterTable> {
        if self.def.indexes.len() != self.indexes.len() {
            return Err(Error::BadDefinition("a definition has ids for other indexes".into()));
        }
        let schema = &self.def.schema;
        let everywhere = |options: &TableOptions| options.engine.word(REPLICATE).is_some();
        let spread = |options: &TableOptions, parts: &[scaledb_row::KeyPart], default: usize| {
            if everywhere(options) || everywhere(&self.def.options) {
                return Ok::<_, Error>(Spread::Everywhere);
            }
            let columns = match options.engine.integer(PARTITION_BY) {
                None => default,
                Some(columns) => (usize::try_from(columns).ok())
                    .filter(|columns| (1..=parts.len()).contains(columns))
                    .ok_or_else(|| Error::BadOption {
                        name: PARTITION_BY.into(),
                        expected: format!("a number of key columns, from 1 to {}", parts.len()),
                    })?,
            };
            let columns = parts[..columns].iter().map(|part| (schema.columns()[part.column].clone(), *part));
            Ok(Spread::ByHash(columns.collect()))
        };
        let space = |id, options: &TableOptions, parts: &[scaledb_row::KeyPart], default| {
            let ordered = options.access != Access::HashOnly;
            Ok::<_, Error>(Space { id, ordered, spread: spread(options, parts, default)? })
        };
        let mut infos = Vec::new();
        let mut indexes = Vec::new();
        for (&id, def) in self.indexes.iter().zip(&self.def.indexes) {
            let key = schema.key(&def.key)?;
            indexes.push(space(id, &def.options, key.parts(), key.parts().len())?);
            infos.push(IndexInfo { id, name: def.name.clone(), key, unique: def.unique });
        }
        Ok(ClusterTable {
            space: space(self.id, &self.def.options, schema.primary_key().parts(), 0)?,
            info: Arc::new(TableInfo {
                id: self.id,
                name: self.def.name.clone(),
                schema: schema.clone(),
                indexes: infos,
            }),
            unsettled: self.indexes.iter().map(|id| self.builder_of(*id).cloned()).collect(),
            indexes,
        })
    }

    /// The builder's transaction commits: everybody has the indexes that it has built. Whether there are some.
    pub(super) fn settle(&mut self, closed: &ClosedTables) -> bool {
        let before = self.unsettled.len();
        self.unsettled.retain(|(_, by)| !by.is_of(closed));
        self.unsettled.len() < before
    }

    /// With one more index.
    pub(super) fn with_index(mut self, id: TableId, def: IndexDef) -> Self {
        self.indexes.push(id);
        self.def.indexes.push(def);
        self
    }

    /// Without an index; none if it has no such one.
    pub(super) fn without_index(mut self, id: TableId) -> Option<Self> {
        let at = self.indexes.iter().position(|&index| index == id)?;
        self.indexes.remove(at);
        self.def.indexes.remove(at);
        self.unsettled.retain(|(index, _)| *index != id);
        Some(self)
    }
}

/// How many ids from `next` on there are for a table with so many indexes, or an index.
pub(super) fn room_for(next: u32, ids: usize) -> Result<()> {
    match next as usize + ids > limits::MAX_TABLES {
        true => Err(Error::TooManyTables { limit: limits::MAX_TABLES }),
        false => Ok(()),
    }
}

fn catalog(kind: u8, bytes: &[u8]) -> Key {
    let bytes: Vec<u8> = std::iter::once(kind).chain(bytes.iter().copied()).collect();
    Key::new(EVERYWHERE, Key::CATALOG, &bytes)
}

/// The key of the next id.
pub(super) fn counter() -> Key {
    catalog(b'c', &[])
}

/// The key of a name.
pub(super) fn name(name: &str) -> Key {
    catalog(b'n', name.as_bytes())
}

/// The key of an entry.
pub(super) fn entry(id: TableId) -> Key {
    catalog(b't', &id.0.to_be_bytes())
}

/// Whether a key of the catalog is that of an entry.
pub(super) fn is_entry(key: &Key) -> bool {
    key.bytes.first() == Some(&b't')
}

/// The keys before the first entry, and behind the last.
pub(super) fn entries() -> (Key, Key) {
    (catalog(b't', &[]), catalog(b't' + 1, &[]))
}

/// The key of an index that is being built.
pub(super) fn unfinished(id: TableId) -> Key {
    catalog(b'p', &id.0.to_be_bytes())
}

/// The keys before the first of these, and behind the last.
pub(super) fn all_unfinished() -> (Key, Key) {
    (catalog(b'p', &[]), catalog(b'p' + 1, &[]))
}

/// The key of the tables that are closed.
pub(super) fn closed() -> Key {
    catalog(b'w', &[])
}

/// An id as a value.
pub(super) fn id_to_value(id: u32) -> Value {
    Value(id.to_be_bytes().as_slice().into())
}

/// The id that a value holds.
pub(super) fn id_of(value: &Value) -> Result<u32> {
    let bytes = value.0[..].try_into();
    bytes
        .map(u32::from_be_bytes)
        .map_err(|_| Error::BadDefinition("an id of the catalog cannot be read".into()))
}
