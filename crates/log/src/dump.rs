//! Looking at a log from outside: what `scaledb log dump` prints.

use crate::checkpoint::Checkpoint;
use crate::disk::Disk;
use crate::error::{LogError, Result};
use crate::layout::{BlockAt, DatabaseId, GroupHeader, PAGE, blocks};
use crate::manifest::Manifest;
use crate::name;
use crate::record::{LoggedTransaction, RecordPosition, Records};
use crate::scan::{OpenSegment, Scan, Segment, scan};
use scaledb_base::{Timestamp, WorkerId};
use scaledb_sync::Arc;

/// The log of a directory, as it is now. Nothing is started, locked or changed.
#[derive(Debug)]
pub struct LogDump {
    disk: Arc<dyn Disk>,
    manifest: Manifest,
    pub(crate) scan: Scan,
}

impl LogDump {
    /// Reads what the log consists of.
    ///
    /// # Errors
    /// [`LogError::NoDatabase`], [`LogError::Damaged`], [`LogError::NewerFormat`], [`LogError::OlderFormat`],
    /// [`LogError::Io`].
    pub fn open(disk: Arc<dyn Disk>) -> Result<Self> {
        let manifest = Manifest::read(&*disk)?;
        let manifest = manifest.ok_or_else(|| LogError::NoDatabase { directory: disk.describe() })?;
        let scan = scan(&*disk, &manifest)?;
        Ok(Self { disk, manifest, scan })
    }

    /// The random name of the database.
    pub fn database_id(&self) -> DatabaseId {
        self.manifest.database
    }

    /// The engine that writes it.
    pub fn engine(&self) -> &str {
        &self.manifest.engine
    }

    /// How often the database was opened.
    pub fn incarnation(&self) -> u64 {
        self.scan.incarnation
    }

    /// Everything before it is in the log, or in the checkpoint.
    pub fn horizon(&self) -> Timestamp {
        self.scan.horizon
    }

    /// At or above every timestamp in the directory.
    pub fn newest(&self) -> Timestamp {
        self.scan.newest
    }

    /// The checkpoint that is in force.
    pub fn checkpoint(&self) -> Option<Checkpoint> {
        let entry = self.manifest.checkpoint.clone()?;
        Some(Checkpoint::new(self.disk.clone(), self.manifest.database, entry))
    }

    /// The segments with groups, in their order.
    pub fn segments(&self) -> impl ExactSizeIterator<Item = SegmentDump<'_>> {
        self.scan.segments.iter().map(|segment| SegmentDump { dump: self, segment })
    }
}

/// A segment.
#[derive(Debug, Clone, Copy)]
pub struct SegmentDump<'a> {
    dump: &'a LogDump,
    segment: &'a Segment,
}

impl<'a> SegmentDump<'a> {
    /// The name of its file.
    pub fn file(&self) -> String {
        name::segment(self.segment.number)
    }

    /// The opening of the database that wrote it.
    pub fn incarnation(&self) -> u64 {
        self.segment.incarnation
    }

    /// How many groups there are.
    pub fn count(&self) -> u64 {
        self.segment.groups
    }

    /// The number of its first group.
    pub fn first_group(&self) -> u64 {
        self.segment.first_group
    }

    /// Where the last group ends.
    pub fn end(&self) -> u64 {
        self.segment.end
    }

    /// Transactions at or above it were not acknowledged, and are never replayed.
    pub fn cut(&self) -> Timestamp {
        self.segment.cut
    }

    /// Its groups, each of them checked. The first error is the last item.
    ///
    /// # Errors
    /// [`LogError::Io`].
    pub fn groups(&self) -> Result<Groups<'a>> {
        let open = OpenSegment::open(&*self.dump.disk, &self.dump.manifest, self.segment.number)?;
        Ok(Groups { open, segment: self.segment, offset: PAGE as u64 })
    }
}

/// The groups of a segment. [`SegmentDump::groups`] makes it.
#[derive(Debug)]
pub struct Groups<'a> {
    open: OpenSegment,
    segment: &'a Segment,
    offset: u64,
}

impl Iterator for Groups<'_> {
    type Item = Result<GroupDump>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.offset >= self.segment.end {
            return None;
        }
        let group = self.read();
        self.offset = group.as_ref().map_or(u64::MAX, |group| group.place.offset + group.header.length);
        Some(group)
    }
}

impl Groups<'_> {
    fn read(&self) -> Result<GroupDump> {
        let place = RecordPosition { segment: self.segment.number, offset: self.offset };
        let header = self.open.group(self.offset)?;
        let Some(header) = header.filter(|header| header.incarnation == self.segment.incarnation) else {
            return Err(place.damaged("a group has changed since the log was scanned"));
        };
        let bytes = self.open.bytes(self.offset, &header)?;
        let blocks = blocks(&header, self.open.seed, &bytes).map_err(|what| place.damaged(what))?;
        Ok(GroupDump { place, header, bytes, blocks })
    }
}

/// A group.
#[derive(Debug)]
pub struct GroupDump {
    place: RecordPosition,
    header: GroupHeader,
    bytes: Vec<u8>,
    blocks: Vec<BlockAt>,
}

impl GroupDump {
    /// Its number: consecutive from the first one of an opening of the database.
    pub fn number(&self) -> u64 {
        self.header.number
    }

    /// Where it starts in the segment.
    pub fn offset(&self) -> u64 {
        self.place.offset
    }

    /// Its length, padding included.
    pub fn length(&self) -> u64 {
        self.header.length
    }

    /// Everything before it was on disk when this group was.
    pub fn horizon(&self) -> Timestamp {
        self.header.horizon
    }

    /// The largest timestamp in it; zero if it has no transactions.
    pub fn newest(&self) -> Timestamp {
        self.header.newest
    }

    /// What each worker wrote.
    pub fn blocks(&self) -> impl ExactSizeIterator<Item = BlockDump<'_>> {
        self.blocks.iter().map(|block| BlockDump { group: self, block })
    }
}

/// What a worker wrote to a group.
#[derive(Debug, Clone, Copy)]
pub struct BlockDump<'a> {
    group: &'a GroupDump,
    block: &'a BlockAt,
}

impl<'a> BlockDump<'a> {
    /// The worker.
    pub fn worker(&self) -> WorkerId {
        WorkerId(self.block.worker)
    }

    /// The length of its records.
    pub fn length(&self) -> usize {
        self.block.records.len()
    }

    /// Its transactions, as they stand there: also those that are never replayed. The first error is the last
    /// item.
    pub fn transactions(&self) -> impl Iterator<Item = Result<LoggedTransaction<'a>>> + use<'a> {
        let (place, bytes) = (self.group.place, &self.group.bytes[self.block.records.clone()]);
        Records::new(bytes).map(move |record| {
            let (ts, ops) = record.ok_or_else(|| place.damaged("a transaction is cut off"))?;
            Ok(LoggedTransaction { ts, ops: &bytes[ops], place })
        })
    }
}
