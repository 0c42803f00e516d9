//! The bytes of segments and groups. `docs/log-format.md` draws them.

use crate::bytes::{Bytes, timestamp};
use crate::disk::Buffer;
use crate::error::{LogError, Result};
use crate::rules::Rule;
use scaledb_base::Timestamp;
use std::cmp::Ordering;
use std::fmt;

/// What is written is a multiple of it, so that no sector is ever written twice.
pub(crate) const PAGE: usize = 4096;
/// The format that is written, and the only one that is read.
pub(crate) const FORMAT: u32 = 2;

pub(crate) const GROUP_HEADER: usize = 64;
pub(crate) const BLOCK_HEADER: usize = 16;

const SEGMENT_MAGIC: &[u8; 8] = b"SDB-LOG\n";
const GROUP_MAGIC: &[u8; 4] = b"GRP\n";

/// # Errors
/// [`LogError::NewerFormat`], [`LogError::OlderFormat`].
pub(crate) fn check_format(found: u32, file: &str) -> Result<()> {
    match found.cmp(&FORMAT) {
        Ordering::Equal => Ok(()),
        Ordering::Greater => Err(LogError::NewerFormat { file: file.to_owned(), found, known: FORMAT }),
        Ordering::Less => Err(LogError::OlderFormat { file: file.to_owned(), found, known: FORMAT }),
    }
}

/// The random name of a database, in each of its files.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct DatabaseId(pub [u8; 16]);

impl fmt::Display for DatabaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for DatabaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl DatabaseId {
    pub(crate) fn parse(hex: &str) -> Option<Self> {
        let mut id = [0; 16];
        if hex.len() != 32 || !hex.is_ascii() {
            return None;
        }
        for (byte, pair) in id.iter_mut().zip(hex.as_bytes().chunks(2)) {
            *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
        }
        Some(Self(id))
    }
}

/// Where the log of the incarnations before ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Cut {
    /// Their last segment; 0: there is none.
    pub(crate) segment: u64,
    /// Where in it the last group ended.
    pub(crate) offset: u64,
    /// The horizon of that group. What is at or above it was never acknowledged, and is gone.
    pub(crate) horizon: Timestamp,
}

/// The first page of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SegmentHeader {
    pub(crate) database: DatabaseId,
    pub(crate) number: u64,
    /// Counts the openings of the database.
    pub(crate) incarnation: u64,
    /// The number of the incarnation's first segment.
    pub(crate) first: u64,
    pub(crate) cut: Cut,
    /// The length that the file was given before it got its name: from then on it is never shorter, as long as the
    /// log may end in it. 0: not said.
    pub(crate) length: u64,
}

impl SegmentHeader {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(PAGE);
        out.extend_from_slice(SEGMENT_MAGIC);
        out.extend_from_slice(&FORMAT.to_le_bytes());
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&self.database.0);
        for word in [
            self.number,
            self.incarnation,
            self.first,
            self.cut.segment,
            self.cut.offset,
            self.cut.horizon.raw(),
            self.length,
        ] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        out.resize(PAGE, 0);
        let crc = page_crc(&out);
        out[12..16].copy_from_slice(&crc.to_le_bytes());
        out
    }

    /// # Errors
    /// [`LogError::Damaged`], [`LogError::NewerFormat`], [`LogError::OlderFormat`].
    pub(crate) fn decode(page: &[u8], file: &str, database: DatabaseId, number: u64) -> Result<Self> {
        let damaged = |what: &str| LogError::damaged(file, 0, what);
        let mut from = Bytes(page);
        let short = || damaged("the file is shorter than its header");
        let magic = from.take(8).ok_or_else(short)?;
        let format = from.u32().ok_or_else(short)?;
        let crc = from.u32().ok_or_else(short)?;
        if page.len() != PAGE {
            return Err(short());
        }
        // the places of these three are those of every format
        if magic != SEGMENT_MAGIC || crc != page_crc(page) {
            return Err(damaged("the header of the segment does not have its checksum"));
        }
        check_format(format, file)?;
        let mut fields = || {
            let database = DatabaseId(from.id()?);
            let (number, incarnation, first) = (from.u64()?, from.u64()?, from.u64()?);
            let cut = Cut { segment: from.u64()?, offset: from.u64()?, horizon: from.timestamp()? };
            let length = from.u64()?;
            Some(Self { database, number, incarnation, first, cut, length })
        };
        let header = fields().ok_or_else(|| damaged("the header of the segment has no sense"))?;
        if header.database != database {
            return Err(damaged("the segment belongs to another database"));
        }
        if header.number != number || header.first > number || header.cut.segment >= header.first {
            return Err(damaged("the segment belongs to another place of the log"));
        }
        Ok(header)
    }
}

/// The checksum of a page, without the field that holds it.
fn page_crc(page: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&page[..12]), &page[16..])
}

/// What the checksums of a segment's groups start from: groups that an earlier use of the file has left, or
/// that come from elsewhere, are none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seed(u32);

impl Seed {
    pub(crate) fn new(database: DatabaseId, segment: u64) -> Self {
        if !Rule::Seeds.holds() {
            return Self(0);
        }
        Self(crc32c::crc32c_append(crc32c::crc32c(&database.0), &segment.to_le_bytes()))
    }

    fn block(self, group: u64, block: u32) -> u32 {
        let seed = crc32c::crc32c_append(self.0, &group.to_le_bytes());
        crc32c::crc32c_append(seed, &block.to_le_bytes())
    }
}

/// The first bytes of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GroupHeader {
    /// Consecutive in an incarnation, from 1.
    pub(crate) number: u64,
    pub(crate) incarnation: u64,
    /// Of the whole group: a multiple of [`PAGE`].
    pub(crate) length: u64,
    /// All commits before it are in this group, or in earlier ones.
    pub(crate) horizon: Timestamp,
    /// The largest commit_ts in the group; zero if it has none.
    pub(crate) newest: Timestamp,
    pub(crate) blocks: u32,
}

impl GroupHeader {
    /// The header of a group, if there is one at the front of `from`, and it ends at or before `limit`
    /// bytes from there.
    pub(crate) fn decode(from: &[u8], seed: Seed, limit: u64) -> Option<Self> {
        let bytes = from.get(..GROUP_HEADER)?;
        let mut from = Bytes(bytes);
        if from.take(4)? != GROUP_MAGIC {
            return None;
        }
        if from.u32()? != crc32c::crc32c_append(seed.0, &bytes[8..]) && Rule::Checksums.holds() {
            return None;
        }
        let (number, incarnation, length) = (from.u64()?, from.u64()?, from.u64()?);
        let (horizon, newest) = (timestamp(from.u64()?)?, timestamp(from.u64()?)?);
        let blocks = from.u32()?;
        let fits = length >= PAGE as u64 && length.is_multiple_of(PAGE as u64) && length <= limit;
        let room = length / BLOCK_HEADER as u64 >= u64::from(blocks);
        (fits && room && number > 0).then_some(Self { number, incarnation, length, horizon, newest, blocks })
    }

    /// Puts the header in front of a group whose blocks are there.
    fn write(&self, seed: Seed, group: &mut [u8]) {
        let mut header = Vec::with_capacity(GROUP_HEADER);
        header.extend_from_slice(GROUP_MAGIC);
        header.extend_from_slice(&[0; 4]);
        for word in [self.number, self.incarnation, self.length, self.horizon.raw(), self.newest.raw()] {
            header.extend_from_slice(&word.to_le_bytes());
        }
        header.extend_from_slice(&self.blocks.to_le_bytes());
        header.resize(GROUP_HEADER, 0);
        let crc = crc32c::crc32c_append(seed.0, &header[8..]);
        header[4..8].copy_from_slice(&crc.to_le_bytes());
        group[..GROUP_HEADER].copy_from_slice(&header);
    }
}

/// A group in the making. The buffer is used again.
#[derive(Debug, Default)]
pub(crate) struct GroupBuilder {
    bytes: Buffer,
    blocks: u32,
    newest: Timestamp,
    /// Of each block: where its header starts.
    starts: Vec<usize>,
}

impl GroupBuilder {
    /// Starts anew.
    pub(crate) fn clear(&mut self) {
        /// What a buffer may keep.
        const KEPT: usize = 16 << 20;
        self.bytes.clear(KEPT);
        self.bytes.resize(GROUP_HEADER);
        self.starts.clear();
        self.blocks = 0;
        self.newest = Timestamp::ZERO;
    }

    /// Adds what one worker has appended.
    pub(crate) fn block(&mut self, worker: u8, newest: Timestamp, records: &[u8]) {
        self.starts.push(self.bytes.len());
        self.bytes.extend_from_slice(&[0; 4]);
        self.bytes.extend_from_slice(&u32::from(worker).to_le_bytes());
        self.bytes.extend_from_slice(&(records.len() as u64).to_le_bytes());
        self.bytes.extend_from_slice(records);
        self.blocks += 1;
        self.newest = self.newest.max(newest);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.blocks == 0
    }

    /// Of how many workers there are transactions in it.
    pub(crate) fn workers(&self) -> u64 {
        u64::from(self.blocks)
    }

    pub(crate) fn newest(&self) -> Timestamp {
        self.newest
    }

    /// The length that [`GroupBuilder::finish`] gives.
    pub(crate) fn padded(&self) -> u64 {
        self.bytes.len().next_multiple_of(PAGE) as u64
    }

    /// The bytes to write. The checksums are made here, when the place of the group is known.
    pub(crate) fn finish(&mut self, seed: Seed, incarnation: u64, number: u64, horizon: Timestamp) -> &[u8] {
        let ends = self.starts.iter().skip(1).copied().chain([self.bytes.len()]);
        let ends: Vec<usize> = ends.collect();
        for (block, (&start, end)) in self.starts.iter().zip(ends).enumerate() {
            let crc = crc32c::crc32c_append(seed.block(number, block as u32), &self.bytes[start + 4..end]);
            self.bytes[start..start + 4].copy_from_slice(&crc.to_le_bytes());
        }
        let length = self.padded();
        self.bytes.resize(length as usize);
        let header =
            GroupHeader { number, incarnation, length, horizon, newest: self.newest, blocks: self.blocks };
        header.write(seed, &mut self.bytes);
        &self.bytes
    }
}

/// A block of a group whose checksum is right: the worker, and where its records lie in the group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BlockAt {
    pub(crate) worker: u8,
    pub(crate) records: std::ops::Range<usize>,
}

/// Takes a whole group apart, and checks all of it. An error says what is wrong.
pub(crate) fn blocks(header: &GroupHeader, seed: Seed, group: &[u8]) -> Result<Vec<BlockAt>, &'static str> {
    let mut blocks = Vec::with_capacity(header.blocks as usize);
    let mut at = GROUP_HEADER;
    for block in 0..header.blocks {
        let Some(bytes) = group.get(at..) else { return Err("a block is cut off") };
        let mut from = Bytes(bytes);
        let (Some(crc), Some(worker), Some(len)) = (from.u32(), from.u32(), from.u64()) else {
            return Err("a block is cut off");
        };
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        if from.take(len).is_none() {
            return Err("a block is cut off");
        }
        let end = at + BLOCK_HEADER + len;
        let expected = crc32c::crc32c_append(seed.block(header.number, block), &group[at + 4..end]);
        if crc != expected && Rule::Checksums.holds() {
            return Err("a block does not have its checksum");
        }
        let Ok(worker) = u8::try_from(worker) else { return Err("a block is of no worker") };
        blocks.push(BlockAt { worker, records: at + BLOCK_HEADER..end });
        at = end;
    }
    match group.get(at..) {
        Some(padding) if padding.len() < PAGE && padding.iter().all(|&byte| byte == 0) => Ok(blocks),
        _ => Err("the padding behind the blocks is not zero"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_database_id_is_parsed_from_all_its_digits_and_no_others() {
        let id = DatabaseId(std::array::from_fn(|i| (17 * i) as u8));
        let hex = id.to_string();
        assert_eq!(DatabaseId::parse(&hex), Some(id));
        for wrong in
            [&hex[1..], &hex[2..], &format!("{hex}0"), &format!("{hex}00"), &format!("é{}", &hex[2..])]
        {
            assert_eq!(DatabaseId::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_segment_whose_header_tells_of_another_place_is_damaged() {
        let database = DatabaseId([1; 16]);
        let cut = Cut { segment: 3, offset: 8192, horizon: Timestamp::start_of(5) };
        let header = SegmentHeader { database, number: 7, incarnation: 2, first: 4, cut, length: 1 << 20 };
        let decode = |header: &SegmentHeader| SegmentHeader::decode(&header.encode(), "f", database, 7);
        assert_eq!(decode(&header).unwrap(), header);
        let first = SegmentHeader { number: 7, first: 7, ..header };
        assert_eq!(decode(&first).unwrap(), first, "the first one of an opening");
        for wrong in [
            SegmentHeader { number: 6, ..header },
            SegmentHeader { first: 8, ..header },
            SegmentHeader { cut: Cut { segment: 4, ..cut }, ..header },
            SegmentHeader { database: DatabaseId([2; 16]), ..header },
        ] {
            assert!(matches!(decode(&wrong), Err(LogError::Damaged { .. })), "{wrong:?}");
        }
    }

    #[test]
    fn a_group_has_a_number_and_less_than_a_page_of_padding() {
        let seed = Seed::new(DatabaseId([1; 16]), 7);
        let built = |number, records: &[u8]| {
            let mut builder = GroupBuilder::default();
            builder.clear();
            builder.block(3, Timestamp::start_of(1), records);
            builder.finish(seed, 1, number, Timestamp::start_of(2)).to_vec()
        };
        assert_eq!(GroupHeader::decode(&built(0, b"records"), seed, u64::MAX), None);
        let mut group = built(1, b"records");
        let header = GroupHeader::decode(&group, seed, PAGE as u64).unwrap();
        assert_eq!(
            GroupHeader::decode(&group, seed, PAGE as u64 - 1),
            None,
            "it is longer than what is there"
        );
        group[PAGE - 1] = 1;
        assert!(blocks(&header, seed, &group).is_err(), "padding is zero");
        // a block that fills its page, and behind it a page of zeros
        let mut group = built(1, &[7; PAGE - GROUP_HEADER - BLOCK_HEADER]);
        assert_eq!(group.len(), PAGE);
        assert_eq!(blocks(&header, seed, &group).map(|blocks| blocks.len()), Ok(1));
        group.resize(2 * PAGE, 0);
        let longer = GroupHeader { length: 2 * PAGE as u64, ..header };
        longer.write(seed, &mut group);
        assert!(blocks(&longer, seed, &group).is_err());
    }

    #[test]
    fn a_block_from_another_place_or_another_group_fails_its_checksum() {
        const LEN: usize = BLOCK_HEADER + 100;
        let seed = Seed::new(DatabaseId([1; 16]), 7);
        let built = |number| {
            let mut builder = GroupBuilder::default();
            builder.clear();
            (0..2).for_each(|n| builder.block(3, Timestamp::start_of(1), &[number as u8 + n; 100]));
            builder.finish(seed, 1, number, Timestamp::start_of(2)).to_vec()
        };
        let (mine, other) = (built(1), built(8));
        let header = GroupHeader::decode(&mine, seed, PAGE as u64).unwrap();
        let block = |number: usize| GROUP_HEADER + number * LEN..GROUP_HEADER + (number + 1) * LEN;
        for (from, number) in [(&mine, 1), (&other, 0)] {
            let mut group = mine.clone();
            assert!(blocks(&header, seed, &group).is_ok());
            group[block(0)].copy_from_slice(&from[block(number)]);
            assert!(blocks(&header, seed, &group).is_err(), "{number}");
        }
    }

    proptest! {
        #[test]
        fn a_group_with_any_content_and_right_checksums_is_taken_apart_or_refused(
            length in prop_oneof![Just(4096u64), any::<u64>()],
            blocks_in_it in prop_oneof![0..5u32, any::<u32>()],
            horizon: u64,
            content in prop::collection::vec(any::<u8>(), PAGE - GROUP_HEADER),
        ) {
            let seed = Seed::new(DatabaseId([1; 16]), 7);
            let mut page = vec![0; GROUP_HEADER];
            let horizon = Timestamp::from_raw(horizon >> 3);
            let header = GroupHeader {
                number: 1, incarnation: 1, length, horizon, newest: horizon, blocks: blocks_in_it,
            };
            header.write(seed, &mut page);
            page.extend_from_slice(&content);
            match GroupHeader::decode(&page, seed, PAGE as u64) {
                None => prop_assert!(length != PAGE as u64 || blocks_in_it > 256),
                Some(decoded) => {
                    prop_assert_eq!(decoded, header);
                    prop_assert!(blocks(&decoded, seed, &page).is_err() || blocks_in_it == 0);
                }
            }
        }

        #[test]
        fn what_is_built_is_taken_apart(
            contents in prop::collection::vec((0..128u8, prop::collection::vec(any::<u8>(), 0..3000)), 0..6)
        ) {
            let seed = Seed::new(DatabaseId([1; 16]), 7);
            let mut builder = GroupBuilder::default();
            builder.clear();
            for (worker, records) in &contents {
                builder.block(*worker, Timestamp::start_of(u64::from(*worker)), records);
            }
            let group = builder.finish(seed, 3, 9, Timestamp::start_of(500)).to_vec();
            let header = GroupHeader::decode(&group, seed, group.len() as u64).unwrap();
            prop_assert_eq!(header.length as usize, group.len());
            let got = blocks(&header, seed, &group).unwrap();
            let got: Vec<_> = got.into_iter().map(|b| (b.worker, group[b.records].to_vec())).collect();
            prop_assert_eq!(got, contents);
            prop_assert!(GroupHeader::decode(&group, Seed::new(DatabaseId([1; 16]), 8), u64::MAX).is_none());
            prop_assert!(GroupHeader::decode(&group, Seed::new(DatabaseId([2; 16]), 7), u64::MAX).is_none());
        }
    }
}
