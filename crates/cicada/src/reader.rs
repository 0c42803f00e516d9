//! A snapshot's reader that is no worker: checkpoints and reports walk tables with it.
//!
//! Each leaf is read as a snapshot, at a boundary of its own, so that clean-up is held back for the time of a leaf
//! only, and not, as by one snapshot, for that of the checkpoint.

use crate::record::Record;
use crate::shared::CicadaShared;
use crate::table::CicadaTable;
use crate::version::Version;
use scaledb_base::{Result, Timestamp};
use scaledb_kit::Reader;
use scaledb_memory::Local;
use scaledb_sync::thread;

/// Between [`Reader::enter`] and [`Reader::exit`] it holds clean-up back, as a transaction does: the records and the
/// versions that it reaches stay where they are.
pub struct SnapshotReader<'a> {
    shared: &'a CicadaShared,
    local: Local,
    /// Where it reads: it sees all before.
    boundary: u64,
}

impl<'a> SnapshotReader<'a> {
    /// # Errors
    /// Too many workers.
    pub(crate) fn new(shared: &'a CicadaShared) -> Result<Self> {
        let local = shared.domain.register()?;
        shared.horizon.register(local.id());
        Ok(Self { shared, local, boundary: 0 })
    }
}

impl CicadaShared {
    /// The boundary of a snapshot that begins now: all before it is settled and in the trees.
    pub(crate) fn snapshot_boundary(&self) -> Result<Timestamp> {
        let now = self.clock.now_fenced();
        self.lead(now, now);
        let mut reader = SnapshotReader::new(self)?;
        reader.enter();
        reader.exit();
        Ok(Timestamp::from_raw(reader.boundary))
    }
}

impl Reader<CicadaTable> for SnapshotReader<'_> {
    fn enter(&mut self) {
        let id = self.local.id();
        self.shared.horizon.announce_snapshot(id);
        self.local.enter();
        self.boundary = self.shared.horizon.settle_snapshot(id);
    }

    fn exit(&mut self) {
        self.shared.horizon.end(self.local.id());
        self.local.exit();
    }

    fn local(&self) -> &Local {
        &self.local
    }

    fn collect(&mut self) {
        self.local.collect();
    }

    fn read(
        &mut self,
        _: &CicadaTable,
        record: Record,
        f: impl FnOnce(&[u64], Option<&[u64]>) -> Result<()>,
    ) -> Result<()> {
        // every version before the boundary is committed or aborted: there is no pending one to wait for
        let visible = loop {
            match record.visible::<true>(self.boundary, 0) {
                Ok(visible) => break visible,
                Err(_) => thread::yield_now(),
            }
        };
        // SAFETY: visible in this snapshot.
        let wts = unsafe { record.wts_of(visible.version) };
        // SAFETY: as above.
        let row = visible.live.then(|| unsafe { Version::from_raw(visible.version).row() });
        f(&[wts], row)
    }
}
