//! YCSB: workloads A to F, and the variants that papers on transactions use.
//!
//! One table: a key, and fields of 100 bytes, or another number. A field is one 8-byte number, repeated, so that a torn
//! read shows; a read-modify-write adds 1 to it, so that lost and doubled updates show in the sum.

pub mod check;
pub mod client;

pub use check::check;
pub use client::{Session, Ycsb};

use crate::load::{in_batches, in_parallel};
use scaledb_base::{Result, TableId};
use scaledb_engine::{Access, Engine, TableDef, TableInfo, Worker};
use scaledb_row::{Column, ColumnType, KeyPart, Projection, RowBuf, Schema};
use scaledb_sync::Arc;
use serde::{Deserialize, Serialize};

/// Bytes of a field, unless a workload says otherwise.
pub const FIELD_BYTES: usize = 100;
/// Records of one unit of loading.
const RECORDS_PER_UNIT: u64 = 50_000;
/// How the table is kept: probed, and scanned by workload E.
const ACCESS: Access = Access::Hashed;

/// Which keys are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Keys {
    /// Zipf-distributed, the frequent ones scattered over the key space.
    Scrambled,
    /// Zipf-distributed by age, the latest inserts most often.
    Latest,
}

/// A workload's parameters. The four shares and the reads make 100 %.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Config {
    /// Records loaded.
    pub records: u64,
    /// Fields of a record.
    pub fields: usize,
    /// Bytes of a field, 8 at the least.
    pub field_bytes: usize,
    /// Requests of a transaction.
    pub requests: usize,
    /// Skew: 0 is uniform.
    pub theta: f64,
    /// Percentage of requests that overwrite a field.
    pub update: u32,
    /// Percentage of requests that read a field and write it.
    pub read_modify_write: u32,
    /// Percentage of requests that insert a record.
    pub insert: u32,
    /// Percentage of requests that scan 1 to 100 records.
    pub scan: u32,
    /// Which keys are chosen.
    pub keys: Keys,
    /// Transactions that only read see a recent snapshot instead of the current state.
    pub snapshot_reads: bool,
}

impl Config {
    /// Single reads of 1 M records of one field.
    pub fn reads() -> Self {
        Self {
            records: 1_000_000,
            fields: 1,
            field_bytes: FIELD_BYTES,
            requests: 1,
            theta: 0.99,
            update: 0,
            read_modify_write: 0,
            insert: 0,
            scan: 0,
            keys: Keys::Scrambled,
            snapshot_reads: false,
        }
    }

    /// Workload `A` to `F`, in lower case.
    pub fn letter(letter: char) -> Option<Self> {
        let reads = Self::reads();
        Some(match letter {
            'a' => Self { update: 50, ..reads },
            'b' => Self { update: 5, ..reads },
            'c' => reads,
            'd' => Self { insert: 5, keys: Keys::Latest, ..reads },
            'e' => Self { scan: 95, insert: 5, ..reads },
            'f' => Self { read_modify_write: 50, ..reads },
            _ => return None,
        })
    }

    /// `requests` per transaction, of which so many of 100 read and the others read and write (Cicada,
    /// section 4.2).
    pub fn transactions(requests: usize, read_percent: u32) -> Self {
        Self { requests, read_modify_write: 100 - read_percent, ..Self::reads() }
    }

    /// Single reads and inserts, of which so many of 100 read, on records of ten fields (ScaleDB, section
    /// 6.1). Each thread inserts in sequence in a key interval of its own.
    pub fn read_insert(read_percent: u32) -> Self {
        Self { insert: 100 - read_percent, fields: 10, ..Self::reads() }
    }

    /// Percentage of requests that read a record; `None` if the others make more than 100.
    pub fn read(&self) -> Option<u32> {
        100u32.checked_sub(self.update + self.read_modify_write + self.insert + self.scan)
    }
}

/// The table.
#[derive(Clone, Debug)]
pub struct UserTable {
    /// Its id.
    pub id: TableId,
    /// Its definition.
    pub info: Arc<TableInfo>,
}

impl UserTable {
    /// Creates it.
    ///
    /// # Errors
    /// Those of [`Engine::create_table`].
    pub fn create<E: Engine>(engine: &E, config: &Config, synchronous: bool) -> Result<Self> {
        let bytes = config.field_bytes.max(8) as u16;
        let field = |i| Column::new(&format!("field{i}"), ColumnType::Fixed(bytes));
        let mut columns = vec![Column::new("ycsb_key", ColumnType::Int8)];
        columns.extend((0..config.fields).map(field));
        let options = crate::table_options(ACCESS, synchronous);
        let def = TableDef::new("usertable", Schema::new(columns, &[KeyPart::asc(0)])?).options(options);
        let info = engine.create_table(def)?;
        Ok(Self { id: info.id, info })
    }

    /// Inserts `records` records on `threads` workers.
    ///
    /// # Errors
    /// What the engine returns.
    pub fn load<E: Engine>(&self, engine: &E, records: u64, threads: usize) -> Result<()> {
        let units: Vec<_> = (0..records.div_ceil(RECORDS_PER_UNIT)).collect();
        in_parallel(
            engine,
            threads,
            0,
            &units,
            |i, _| i,
            |worker, rng, unit| {
                let mut row = RowBuf::new(&self.info.schema);
                let first = unit * RECORDS_PER_UNIT;
                in_batches(
                    worker,
                    rng,
                    first..(first + RECORDS_PER_UNIT).min(records),
                    1,
                    |worker, _, record| {
                        row.edit(&self.info.schema).set_i64(0, record as i64);
                        worker.insert(self.id, &row).map(drop)
                    },
                )
            },
        )
    }

    /// All fields, or one.
    pub(crate) fn project(&self, field: Option<usize>) -> Projection {
        let columns = 1..self.info.schema.columns().len();
        match field {
            Some(field) => Projection::new(&self.info.schema, [1 + field]),
            None => Projection::new(&self.info.schema, columns),
        }
    }
}

/// The encoded key of a record.
#[inline]
pub(crate) fn key(record: u64) -> [u8; 8] {
    (record ^ 1 << 63).to_be_bytes()
}

/// Makes a field hold `value`.
#[inline]
pub(crate) fn fill(field: &mut [u8], value: u64) {
    field.chunks_mut(8).for_each(|chunk| chunk.copy_from_slice(&value.to_le_bytes()[..chunk.len()]));
}

/// The value of a field; `None` if it is torn.
#[inline]
pub(crate) fn value_of(field: &[u8]) -> Option<u64> {
    let word = |at: usize| u64::from_le_bytes(field[at..at + 8].try_into().expect("8 bytes"));
    (word(0) == word(field.len() / 8 * 8 - 8)).then(|| word(0))
}
