//! Reading the log of earlier incarnations, in the order of commit timestamps.
//!
//! Groups come in the order of their horizons, and what is in a group lies at or above the horizon of the
//! group before it. So when the transactions below a group's horizon are delivered, and the others are carried
//! on, the batches have disjoint ascending ranges:
//!
//! ```text
//!   horizons        H1             H2             H3
//!   group 1   ██████│███           │              │
//!   group 2         │  ███████████ │█             │
//!   group 3         │              │  ████████████│██   dropped, if it is the last group
//!   batches     1   │      2       │       3      │
//! ```

use crate::disk::Disk;
use crate::error::{LogError, Result};
use crate::layout::{GroupHeader, PAGE, blocks};
use crate::manifest::Manifest;
use crate::record::{LoggedTransaction, RecordPosition, Records};
use crate::rules::Rule;
use crate::scan::{OpenSegment, Scan};
use scaledb_base::Timestamp;
use scaledb_sync::Arc;
use std::ops::Range;

/// Groups are joined until a batch has so many bytes.
const BATCH_BYTES: u64 = if cfg!(debug_assertions) { 64 << 10 } else { 4 << 20 };

/// A whole group as it was read.
#[derive(Debug)]
struct Group {
    bytes: Vec<u8>,
    place: RecordPosition,
}

/// Where a transaction lies.
#[derive(Debug, Clone)]
struct Entry {
    ts: Timestamp,
    group: u32,
    ops: Range<usize>,
}

/// Transactions in the order of their timestamps. It owns its bytes: several threads may each take a part.
#[derive(Debug, Default)]
pub struct Batch {
    groups: Vec<Arc<Group>>,
    entries: Vec<Entry>,
}

impl Batch {
    /// The transactions.
    pub fn transactions(&self) -> impl ExactSizeIterator<Item = LoggedTransaction<'_>> + Clone {
        self.entries.iter().map(|entry| {
            let group = &self.groups[entry.group as usize];
            LoggedTransaction { ts: entry.ts, ops: &group.bytes[entry.ops.clone()], place: group.place }
        })
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Bytes of what they did.
    pub fn bytes(&self) -> u64 {
        self.entries.iter().map(|entry| entry.ops.len() as u64).sum()
    }

    /// Splits off what is at or above a horizon.
    fn carry(&mut self, horizon: Timestamp) -> Self {
        let mut rest = Self::default();
        let mut moved: Vec<Option<u32>> = vec![None; self.groups.len()];
        let (entries, carried) =
            std::mem::take(&mut self.entries).into_iter().partition(|entry| entry.ts < horizon);
        self.entries = entries;
        rest.entries = carried;
        for entry in &mut rest.entries {
            let group = entry.group as usize;
            entry.group = *moved[group].get_or_insert_with(|| {
                rest.groups.push(self.groups[group].clone());
                (rest.groups.len() - 1) as u32
            });
        }
        rest
    }
}

/// The log from the checkpoint on, up to its horizon.
#[derive(Debug)]
pub struct Replay {
    disk: Arc<dyn Disk>,
    manifest: Manifest,
    pub(crate) scan: Scan,
    begin: Timestamp,
    /// Of the next group: the index of its segment, and where in it.
    segment: usize,
    offset: u64,
    open: Option<OpenSegment>,
    /// Transactions of groups that were read, above the horizon of the last of them.
    carried: Batch,
    /// The horizon of the last group that was read.
    horizon: Timestamp,
}

impl Replay {
    pub(crate) fn new(disk: Arc<dyn Disk>, manifest: Manifest, scan: Scan) -> Self {
        let begin = manifest.checkpoint.as_ref().map_or(Timestamp::ZERO, |checkpoint| checkpoint.begin);
        Self {
            disk,
            manifest,
            scan,
            begin,
            segment: 0,
            offset: PAGE as u64,
            open: None,
            carried: Batch::default(),
            horizon: Timestamp::ZERO,
        }
    }

    /// Everything that was committed before it is here, or in the checkpoint. What was committed later is gone.
    pub fn horizon(&self) -> Timestamp {
        self.scan.horizon
    }

    /// Above every timestamp in the directory. The clock has to continue after it.
    pub fn newest(&self) -> Timestamp {
        Timestamp::start_of(self.scan.newest.ticks() + 1)
    }

    /// How many bytes there are to read.
    pub fn bytes(&self) -> u64 {
        self.scan.segments.iter().map(|segment| segment.end - PAGE as u64).sum()
    }

    /// Whether all was read.
    pub fn is_done(&self) -> bool {
        self.segment >= self.scan.segments.len() && self.carried.is_empty()
    }

    /// The next transactions, later than all before; `None` at the end.
    ///
    /// # Errors
    /// [`LogError::Damaged`], [`LogError::Io`].
    pub fn next_batch(&mut self) -> Result<Option<Batch>> {
        let mut batch = std::mem::take(&mut self.carried);
        let mut bytes = 0;
        loop {
            let more = self.next_group(&mut batch, &mut bytes)?;
            let end = !more || bytes >= BATCH_BYTES;
            if !end {
                continue;
            }
            let mut carried = batch.carry(self.horizon);
            if !more {
                debug_assert!(carried.is_empty(), "what is above the last horizon was dropped");
                carried = Batch::default();
            }
            if batch.is_empty() && more {
                (batch, bytes) = (carried, 0);
                continue;
            }
            self.carried = carried;
            // stable: the parts of a long transaction stay in their order
            batch.entries.sort_by_key(|entry| entry.ts);
            return Ok((!batch.is_empty()).then_some(batch));
        }
    }

    /// Reads a group. False: there is none any more.
    fn next_group(&mut self, batch: &mut Batch, bytes: &mut u64) -> Result<bool> {
        let segment = loop {
            match self.scan.segments.get(self.segment) {
                Some(segment) if self.offset < segment.end => break segment,
                Some(_) => {
                    self.segment += 1;
                    (self.offset, self.open) = (PAGE as u64, None);
                }
                None => return Ok(false),
            }
        };
        if self.open.is_none() {
            self.open = Some(OpenSegment::open(&*self.disk, &self.manifest, segment.number)?);
        }
        let Some(open) = &self.open else { return Ok(false) };
        let place = RecordPosition { segment: segment.number, offset: self.offset };
        let header = open.group(self.offset)?;
        let Some(header) = header.filter(|header| header.incarnation == segment.incarnation) else {
            return Err(place.damaged("a group has changed since the log was scanned"));
        };
        self.offset += header.length;
        let to = if Rule::Cut.holds() { segment.cut } else { Timestamp::MAX };
        let from = self.horizon;
        self.horizon = header.horizon;
        // all of it is in the checkpoint
        if header.newest < self.begin {
            return Ok(true);
        }
        let group = Group { bytes: open.bytes(place.offset, &header)?, place };
        *bytes += header.length;
        let blocks = blocks(&header, open.seed, &group.bytes).map_err(|what| place.damaged(what))?;
        let index = batch.groups.len() as u32;
        let range = self.begin.max(from)..to;
        for block in blocks {
            read_block(&header, &group, index, block.records, from, &range, &mut batch.entries)?;
        }
        batch.groups.push(Arc::new(group));
        Ok(true)
    }
}

/// Takes what is in range of a block.
fn read_block(
    header: &GroupHeader,
    group: &Group,
    index: u32,
    block: Range<usize>,
    from: Timestamp,
    range: &Range<Timestamp>,
    entries: &mut Vec<Entry>,
) -> Result<()> {
    let start = block.start;
    for record in Records::new(&group.bytes[block]) {
        let Some((ts, ops)) = record else {
            return Err(group.place.damaged("a transaction is cut off"));
        };
        if ts < from || ts > header.newest {
            let what = format!("a transaction at {ts:?} is not between the horizons of its group");
            return Err(group.place.damaged(what));
        }
        if range.contains(&ts) {
            entries.push(Entry { ts, group: index, ops: start + ops.start..start + ops.end });
        }
    }
    Ok(())
}

impl std::fmt::Debug for OpenSegment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenSegment").field("name", &self.name).finish()
    }
}

const _: () = {
    const fn shared<T: Send + Sync>() {}
    shared::<Batch>();
    shared::<LogError>();
};
