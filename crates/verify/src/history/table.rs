//! The tables of a history.

use crate::history::event::{Bounds, Row};
use scaledb_base::{Result, TableId};
use scaledb_engine::{Access, Engine, IndexDef, TableDef, TableInfo, TableOptions};
use scaledb_keys::KeyBuf;
use scaledb_row::{Column, ColumnType, Datum, KeyPart, Projection, RowBuf, RowRef, Schema};
use std::sync::Arc;
use std::time::Duration;

/// How a table of a history is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// How rows are found.
    pub access: Access,
    /// Entries left unmerged; 0: synchronous.
    pub merge_batch: Option<u32>,
    /// The merge epoch in microseconds, if not the database's.
    pub epoch_us: Option<u64>,
    /// Whether there are a secondary index and a unique one.
    pub indexes: bool,
}

impl Kind {
    /// A table with both indexes, kept as `access` says, with this merge batch.
    pub const fn new(access: Access, merge_batch: Option<u32>) -> Self {
        Self { access, merge_batch, epoch_us: None, indexes: true }
    }

    /// The table without indexes.
    #[must_use]
    pub const fn plain(self) -> Self {
        Self { indexes: false, ..self }
    }

    /// What the engine is told of it. What an engine does not have it need not be told.
    pub fn options<E: Engine>(self, engine: &E) -> TableOptions {
        let has = |name: &str| engine.table_options().iter().any(|option| option.name == name);
        let mut options = TableOptions::new(self.access);
        if let Some(batch) = self.merge_batch.filter(|_| has("merge_batch")) {
            options = options.with("merge_batch", u64::from(batch));
        }
        if let Some(us) = self.epoch_us.filter(|_| has("merge_epoch")) {
            options = options.with("merge_epoch", Duration::from_micros(us));
        }
        options
    }

    /// The table with this merge epoch.
    #[must_use]
    pub const fn epoch_us(self, us: u64) -> Self {
        Self { epoch_us: Some(us), ..self }
    }
}

const ID: usize = 0;
const A: usize = 1;
const U: usize = 2;
const TEXT: usize = 3;
const W: usize = 4;
const G: usize = 5;

/// Which columns a transaction asked for, beside the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Columns(pub u8);

impl Columns {
    /// The column of the secondary index.
    pub const A: u8 = 1;
    /// The column of the unique index.
    pub const U: u8 = 2;
    /// The column of variable length.
    pub const TEXT: u8 = 4;
    /// The writer's mark in the first conflict group.
    pub const W: u8 = 8;
    /// The writer's mark in the second conflict group.
    pub const G: u8 = 16;
    /// All.
    pub const ALL: Self = Self(31);
    /// The sets that histories ask for.
    pub const SETS: [Self; 7] = [
        Self::ALL,
        Self(Self::W),
        Self(Self::G),
        Self(Self::A | Self::W),
        Self(Self::TEXT),
        Self(Self::U | Self::G),
        Self(0),
    ];

    /// Whether the set has the column.
    pub fn has(self, column: u8) -> bool {
        self.0 & column != 0
    }
}

/// A table of a history.
pub struct HistoryTable {
    /// How it is kept.
    pub kind: Kind,
    /// The table, as the engine knows it.
    pub info: Arc<TableInfo>,
    /// By set of columns; those from 32 on have the primary key as well.
    projections: Vec<Projection>,
}

/// The text that a number stands for: numbers name both length and content, so that a torn row shows.
pub fn text_of(number: u64) -> String {
    let length = (number % 97) as usize * if number.is_multiple_of(31) { 24 } else { 1 };
    let mut text = number.to_string();
    text.truncate(length);
    while text.len() < length {
        text.push((b'a' + (number as usize + text.len()) as u8 % 26) as char);
    }
    text
}

/// A digest of a text.
pub fn hash_text(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325 ^ text.len() as u64, |h, b| {
        (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3)
    })
}

impl HistoryTable {
    /// Creates the table called `name`.
    ///
    /// # Errors
    /// The engine's.
    pub fn create<E: Engine>(engine: &E, name: &str, kind: Kind) -> Result<Self> {
        let schema = Schema::new(
            vec![
                Column::new("id", ColumnType::Int4),
                Column::new("a", ColumnType::Int4),
                Column::new("u", ColumnType::Int4).nullable(),
                Column::new("text", ColumnType::Text(4096)),
                Column::new("w", ColumnType::Int8),
                Column::new("g", ColumnType::Int8).group(1),
            ],
            &[KeyPart::asc(ID)],
        )?;
        let options = kind.options(engine);
        let mut def = TableDef::new(name, schema).options(options.clone());
        if kind.indexes {
            let index = |n: &str, column, unique| IndexDef {
                unique,
                options: options.clone(),
                ..IndexDef::new(&format!("{name}_{n}"), vec![KeyPart::asc(column)])
            };
            def = def.index(index("a", A, false)).index(index("u", U, true));
        }
        Ok(Self::of(engine.create_table(def)?, kind))
    }

    /// The table called `name`, which [`HistoryTable::create`] made of this kind, maybe before a crash.
    pub fn open<E: Engine>(engine: &E, name: &str, kind: Kind) -> Option<Self> {
        engine.table(name).map(|info| Self::of(info, kind))
    }

    fn of(info: Arc<TableInfo>, kind: Kind) -> Self {
        let projections = (0..64)
            .map(|set| {
                if set & 31 == Columns::ALL.0 {
                    return Projection::all(&info.schema);
                }
                let bits = [
                    (Columns::A, A),
                    (Columns::U, U),
                    (Columns::TEXT, TEXT),
                    (Columns::W, W),
                    (Columns::G, G),
                    (32, ID),
                ];
                Projection::new(&info.schema, bits.into_iter().filter(|b| set & b.0 != 0).map(|b| b.1))
            })
            .collect();
        Self { kind, info, projections }
    }

    /// Whether the table can be scanned.
    pub fn is_ordered(&self) -> bool {
        self.kind.access != Access::HashOnly
    }

    /// The id of the table (0), the secondary index (1) or the unique index (2).
    pub fn id_of(&self, index: u8) -> TableId {
        match index {
            0 => self.info.id,
            i => self.info.indexes[usize::from(i) - 1].id,
        }
    }

    /// The projection for a set of columns.
    pub fn projection(&self, columns: Columns) -> &Projection {
        &self.projections[usize::from(columns.0)]
    }

    /// The projection for a set of columns and the primary key.
    pub fn projection_with_id(&self, columns: Columns) -> &Projection {
        &self.projections[32 + usize::from(columns.0)]
    }

    /// The primary key of a row, and the row, as a scan of an index shows them: by its key, where the key
    /// has it. A key that does not belong to its row shows as a row that nobody wrote.
    pub fn see_in(&self, index: u8, key: &[u8], row: RowRef<'_>, columns: Columns) -> (i32, Row) {
        let int = |bytes: &[u8]| i32::from_be_bytes(bytes.try_into().unwrap_or_default()) ^ i32::MIN;
        let mut seen = self.see(row, columns);
        match index {
            0 => (int(key), seen),
            1 => {
                if columns.has(Columns::A) && seen.a != int(&key[..4]) {
                    seen.w = i64::MIN;
                }
                (int(&key[4..]), seen)
            }
            _ => {
                let u = (key[0] == 1).then(|| int(&key[1..]));
                if columns.has(Columns::U) && seen.u != u {
                    seen.w = i64::MIN;
                }
                (row.i32(ID), seen)
            }
        }
    }

    /// The primary key of a row that was read with [`HistoryTable::projection_with_id`].
    pub fn id_of_row(&self, row: RowRef<'_>) -> i32 {
        row.i32(ID)
    }

    /// The primary key.
    pub fn key(&self, id: i32) -> KeyBuf {
        KeyBuf::new().i32(id)
    }

    /// The key of the unique index.
    pub fn unique_key(&self, u: i32) -> KeyBuf {
        self.info.indexes[1].key.encode_values(&self.info.schema, &[Datum::Int4(u)]).expect("an integer")
    }

    /// The encoded bounds of a scan.
    pub fn bounds(&self, index: u8, bounds: Bounds) -> (KeyBuf, Option<KeyBuf>) {
        let encode = |(lead, id): (i32, Option<i32>)| match index {
            0 => self.key(lead),
            1 => id.iter().fold(KeyBuf::new().i32(lead), |k, &id| k.i32(id)),
            _ => self.unique_key(lead),
        };
        (bounds.low.map(encode).unwrap_or_default(), bounds.high.map(encode))
    }

    /// The row to be inserted.
    pub fn row(&self, id: i32, row: &Row, text: &str) -> RowBuf {
        let values = [
            Datum::Int4(id),
            Datum::Int4(row.a),
            row.u.map_or(Datum::Null, Datum::Int4),
            Datum::Text(text),
            Datum::Int8(row.w),
            Datum::Int8(row.g),
        ];
        RowBuf::from_values(&self.info.schema, &values).expect("values of the schema's types")
    }

    /// What a row shows in the columns that were asked for.
    pub fn see(&self, row: RowRef<'_>, columns: Columns) -> Row {
        let mut seen = Row::default();
        if columns.has(Columns::A) {
            seen.a = row.i32(A);
        }
        if columns.has(Columns::U) {
            seen.u = (!row.is_null(U)).then(|| row.i32(U));
        }
        if columns.has(Columns::TEXT) {
            seen.text = hash_text(row.text(TEXT));
        }
        if columns.has(Columns::W) {
            seen.w = row.i64(W);
        }
        if columns.has(Columns::G) {
            seen.g = row.i64(G);
        }
        seen
    }

    /// Applies a change to a row.
    ///
    /// # Errors
    /// The row's.
    pub fn apply(
        &self,
        row: &mut scaledb_row::RowMut<'_>,
        change: &crate::history::event::Change,
    ) -> Result<()> {
        let schema = &self.info.schema;
        if let Some(a) = change.a {
            row.set(schema, A, Datum::Int4(a))?;
        }
        if let Some(u) = change.u {
            row.set(schema, U, u.map_or(Datum::Null, Datum::Int4))?;
        }
        if let Some(text) = change.text {
            row.set(schema, TEXT, Datum::Text(&text_of(text)))?;
        }
        if let Some(w) = change.w {
            row.set(schema, W, Datum::Int8(w))?;
        }
        if let Some(g) = change.g {
            row.set(schema, G, Datum::Int8(g))?;
        }
        Ok(())
    }
}
