//! Reading a checkpoint.

use super::format::{BLOCK_HEADER, BlockHeader, FOOTER, FOOTER_BODY, MAX_BLOCK_BYTES, PART_HEADER, Seed};
use super::format::{ROW_HEADER, check_header};
use crate::bytes::Bytes;
use crate::disk::{Disk, File};
use crate::error::{IoContext, LogError, Result};
use crate::layout::DatabaseId;
use crate::manifest::{CheckpointEntry, PartEntry};
use crate::name;
use scaledb_base::limits::MAX_GROUPS;
use scaledb_base::{TableId, Timestamp};
use scaledb_sync::Arc;

/// The checkpoint that is in force.
#[derive(Debug, Clone)]
pub struct Checkpoint {
    disk: Arc<dyn Disk>,
    database: DatabaseId,
    entry: CheckpointEntry,
}

impl Checkpoint {
    pub(crate) fn new(disk: Arc<dyn Disk>, database: DatabaseId, entry: CheckpointEntry) -> Self {
        Self { disk, database, entry }
    }

    /// Everything that was committed before it is in the rows.
    pub fn begin(&self) -> Timestamp {
        self.entry.begin
    }

    /// The largest timestamp in the rows.
    pub fn newest(&self) -> Timestamp {
        self.entry.newest
    }

    /// The engine's catalog.
    pub fn catalog(&self) -> &[u8] {
        self.entry.catalog.bytes()
    }

    /// How many rows there are.
    pub fn rows(&self) -> u64 {
        self.entry.parts.iter().map(|part| part.rows).sum()
    }

    /// How many bytes the files have.
    pub fn bytes(&self) -> u64 {
        self.entry.parts.iter().map(|part| part.bytes).sum()
    }

    /// How many parts there are.
    pub fn parts(&self) -> usize {
        self.entry.parts.len()
    }

    /// Opens part `n`, below [`Checkpoint::parts`].
    ///
    /// # Errors
    /// [`LogError::Damaged`], [`LogError::NewerFormat`], [`LogError::OlderFormat`], [`LogError::Io`].
    pub fn part(&self, n: usize) -> Result<PartReader> {
        let part = u16::try_from(n).unwrap_or(u16::MAX);
        let name = name::checkpoint(self.entry.id, part);
        let missing = || LogError::damaged(&name, 0, "the manifest names no such part");
        let entry = self.entry.parts.get(n).ok_or_else(missing)?.clone();
        let file = self.disk.open(&name).context("open", &name)?;
        let len = file.len().context("read", &name)?;
        if len != entry.bytes || len < (PART_HEADER + BLOCK_HEADER + FOOTER_BODY) as u64 {
            let what = format!("it has {len} bytes, and had {}", entry.bytes);
            return Err(LogError::damaged(name, len.min(entry.bytes), what));
        }
        let mut header = [0; PART_HEADER];
        file.read_at(&mut header, 0).context("read", &name)?;
        check_header(&header, &name, self.database, self.entry.id, part)?;
        let seed = Seed::new(self.database, self.entry.id, part);
        Ok(PartReader { name, file, seed, entry, offset: PART_HEADER as u64, crc: 0, rows: 0, done: false })
    }
}

/// Reads the blocks of a part, one after the other.
#[derive(Debug)]
pub struct PartReader {
    name: String,
    file: Box<dyn File>,
    seed: Seed,
    entry: PartEntry,
    offset: u64,
    /// Over the checksums of the blocks that were read.
    crc: u32,
    rows: u64,
    done: bool,
}

impl PartReader {
    /// The next block, in `buffer`; `None` when all blocks that the manifest names have been read.
    ///
    /// # Errors
    /// [`LogError::Damaged`], [`LogError::Io`].
    pub fn next_block<'b>(&mut self, buffer: &'b mut Vec<u8>) -> Result<Option<Block<'b>>> {
        if self.done {
            return Ok(None);
        }
        let damaged = |what: &str| LogError::damaged(&self.name, self.offset, what);
        let left = self.entry.bytes - self.offset;
        let mut header = [0; BLOCK_HEADER];
        if left < BLOCK_HEADER as u64 {
            return Err(damaged("the end is missing"));
        }
        self.file.read_at(&mut header, self.offset).context("read", &self.name)?;
        let Some((crc, block)) = BlockHeader::decode(&header) else {
            return Err(damaged("a block is cut off"));
        };
        let footer = block.length == FOOTER;
        let len = if footer { FOOTER_BODY } else { block.length as usize };
        if len > MAX_BLOCK_BYTES || (BLOCK_HEADER + len) as u64 > left {
            return Err(damaged("a block has a length that none has"));
        }
        buffer.clear();
        buffer.resize(len, 0);
        self.file.read_at(buffer, self.offset + BLOCK_HEADER as u64).context("read", &self.name)?;
        if crc != self.seed.block(self.offset, &header, buffer) {
            return Err(damaged("a block does not have its checksum"));
        }
        let offset = self.offset;
        if footer {
            let mut from = Bytes(buffer);
            let whole = (from.u64(), from.u32()) == (Some(self.rows), Some(self.crc))
                && (self.rows, self.crc) == (self.entry.rows, self.entry.crc32c)
                && left == (BLOCK_HEADER + FOOTER_BODY) as u64;
            if !whole {
                return Err(damaged("the blocks are not those that were written"));
            }
            self.done = true;
            return Ok(None);
        }
        self.crc = crc32c::crc32c_append(self.crc, &crc.to_le_bytes());
        self.rows += u64::from(block.rows);
        self.offset += (BLOCK_HEADER + len) as u64;
        Ok(Some(Block {
            table: TableId(block.table),
            count: block.rows,
            bytes: buffer,
            place: BlockPlace { name: self.name.clone(), offset },
        }))
    }
}

#[derive(Debug, Clone)]
struct BlockPlace {
    name: String,
    offset: u64,
}

/// Some rows of a table.
#[derive(Debug)]
pub struct Block<'a> {
    table: TableId,
    count: u32,
    bytes: &'a [u8],
    place: BlockPlace,
}

impl<'a> Block<'a> {
    /// The table.
    pub fn table(&self) -> TableId {
        self.table
    }

    /// How many rows there are.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The rows. The first error is the last item.
    pub fn rows(&self) -> Rows<'_, 'a> {
        Rows { rest: Bytes(self.bytes), left: self.count, place: &self.place }
    }
}

/// The rows of a block. [`Block::rows`] makes it.
#[derive(Debug)]
pub struct Rows<'b, 'a> {
    rest: Bytes<'a>,
    left: u32,
    place: &'b BlockPlace,
}

/// A row of a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckpointRow<'a> {
    /// Its key.
    pub key: &'a [u8],
    /// Its content.
    pub row: &'a [u8],
    stamps: [u64; MAX_GROUPS],
    groups: u8,
}

impl CheckpointRow<'_> {
    /// The timestamps of its conflict groups, raw: 1 to 4.
    pub fn stamps(&self) -> &[u64] {
        &self.stamps[..usize::from(self.groups)]
    }
}

impl<'a> Iterator for Rows<'_, 'a> {
    type Item = Result<CheckpointRow<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 && self.rest.0.is_empty() {
            return None;
        }
        let row = row(&mut self.rest).filter(|_| self.left > 0);
        self.left = if row.is_some() { self.left - 1 } else { 0 };
        if row.is_none() {
            self.rest = Bytes(&[]);
        }
        let what = "a row has no known form";
        Some(row.ok_or_else(|| LogError::damaged(&self.place.name, self.place.offset, what)))
    }
}

fn row<'a>(from: &mut Bytes<'a>) -> Option<CheckpointRow<'a>> {
    debug_assert_eq!(ROW_HEADER, 2 + 1 + 4);
    let (key, groups, row) = (from.u16()?, from.u8()?, from.u32()?);
    if !(1..=MAX_GROUPS).contains(&usize::from(groups)) {
        return None;
    }
    let mut stamps = [0; MAX_GROUPS];
    for stamp in &mut stamps[..usize::from(groups)] {
        *stamp = from.timestamp()?.raw();
    }
    let key = from.take(usize::from(key))?;
    let row = from.take(usize::try_from(row).ok()?)?;
    Some(CheckpointRow { key, row, stamps, groups })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_block_has_as_many_rows_as_it_says() {
        let mut bytes = vec![1, 0, 1, 1, 0, 0, 0];
        bytes.extend_from_slice(&[0; 8]);
        bytes.extend_from_slice(b"kr");
        let bytes = bytes.repeat(2);
        for count in 0..4 {
            let place = BlockPlace { name: "part".to_owned(), offset: 64 };
            let block = Block { table: TableId(1), count, bytes: &bytes, place };
            assert_eq!(block.count(), count);
            let rows: Vec<_> = block.rows().map(|row| row.is_ok()).collect();
            let expected: &[bool] =
                [&[false][..], &[true, false], &[true; 2], &[true, true, false]][count as usize];
            assert_eq!(rows, expected);
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_rows_or_an_error(
            bytes in prop::collection::vec(prop_oneof![0..6u8, any::<u8>()], 0..300),
            count in 0..30u32,
        ) {
            let place = BlockPlace { name: "part".to_owned(), offset: 64 };
            let block = Block { table: TableId(1), count, bytes: &bytes, place };
            let rows: Vec<_> = block.rows().collect();
            let errors = rows.iter().filter(|row| row.is_err()).count();
            prop_assert!(errors <= 1 && rows.len() - errors <= count as usize);
            prop_assert!(errors == 1 || rows.len() == count as usize);
        }
    }
}
