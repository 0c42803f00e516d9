//! The headers of parts and blocks.

use crate::bytes::Bytes;
use crate::error::{LogError, Result};
use crate::layout::{DatabaseId, FORMAT, check_format};
use scaledb_base::limits::{MAX_GROUPS, MAX_KEY_BYTES, MAX_ROW_BYTES};

pub(crate) const PART_HEADER: usize = 64;
pub(crate) const BLOCK_HEADER: usize = 16;
pub(crate) const ROW_HEADER: usize = 7;
/// What a block grows to before it is written. One row may exceed it.
pub(crate) const BLOCK_BYTES: usize = 256 << 10;
/// More than any block has. Rows are as long as their encodings, which may be longer than the rows.
pub(crate) const MAX_BLOCK_BYTES: usize =
    BLOCK_BYTES + ROW_HEADER + 8 * MAX_GROUPS + MAX_KEY_BYTES + 2 * MAX_ROW_BYTES;
/// In place of a length: what follows is the end of the part.
pub(crate) const FOOTER: u32 = u32::MAX;
/// After the footer's block header: the rows of the part, and its checksum.
pub(crate) const FOOTER_BODY: usize = 16;

const MAGIC: &[u8; 8] = b"SDB-CHK\n";

/// What the checksums of a part's blocks start from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seed(u32);

impl Seed {
    pub(crate) fn new(database: DatabaseId, id: u64, part: u16) -> Self {
        let seed = crc32c::crc32c_append(crc32c::crc32c(&database.0), &id.to_le_bytes());
        Self(crc32c::crc32c_append(seed, &part.to_le_bytes()))
    }

    /// The checksum of a block at `offset`: of all but its first four bytes.
    pub(crate) fn block(self, offset: u64, header: &[u8], rows: &[u8]) -> u32 {
        let crc = crc32c::crc32c_append(self.0, &offset.to_le_bytes());
        crc32c::crc32c_append(crc32c::crc32c_append(crc, &header[4..]), rows)
    }
}

pub(crate) fn encode_header(database: DatabaseId, id: u64, part: u16) -> Vec<u8> {
    let mut out = Vec::with_capacity(PART_HEADER);
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&FORMAT.to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&database.0);
    out.extend_from_slice(&id.to_le_bytes());
    out.extend_from_slice(&part.to_le_bytes());
    out.resize(PART_HEADER, 0);
    let crc = header_crc(&out);
    out[12..16].copy_from_slice(&crc.to_le_bytes());
    out
}

fn header_crc(header: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&header[..12]), &header[16..])
}

/// # Errors
/// [`LogError::Damaged`], [`LogError::NewerFormat`], [`LogError::OlderFormat`].
pub(crate) fn check_header(bytes: &[u8], file: &str, database: DatabaseId, id: u64, part: u16) -> Result<()> {
    let damaged = |what: &str| LogError::damaged(file, 0, what);
    let mut from = Bytes(bytes);
    let mut start = || Some((from.take(8)?, from.u32()?, from.u32()?));
    let Some((magic, format, crc)) = start() else { return Err(damaged("the header is cut off")) };
    if bytes.len() != PART_HEADER || magic != MAGIC || crc != header_crc(bytes) {
        return Err(damaged("the header does not have its checksum"));
    }
    check_format(format, file)?;
    if bytes == encode_header(database, id, part) {
        Ok(())
    } else {
        Err(damaged("the file belongs to another checkpoint"))
    }
}

/// The header of a block, its checksum aside.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BlockHeader {
    pub(crate) length: u32,
    pub(crate) table: u32,
    pub(crate) rows: u32,
}

impl BlockHeader {
    /// With four bytes for the checksum in front.
    pub(crate) fn encode(self) -> [u8; BLOCK_HEADER] {
        let mut out = [0; BLOCK_HEADER];
        out[4..8].copy_from_slice(&self.length.to_le_bytes());
        out[8..12].copy_from_slice(&self.table.to_le_bytes());
        out[12..].copy_from_slice(&self.rows.to_le_bytes());
        out
    }

    /// With the checksum.
    pub(crate) fn decode(bytes: &[u8]) -> Option<(u32, Self)> {
        let mut from = Bytes(bytes);
        Some((from.u32()?, Self { length: from.u32()?, table: from.u32()?, rows: from.u32()? }))
    }
}
