//! A snapshot's reader that is no worker: checkpoints and reports walk tables with it.

use crate::shared::CicadaShared;
use scaledb_base::Result;
use scaledb_memory::Local;

/// Between [`Reader::enter`] and [`Reader::exit`] it holds clean-up back, as a transaction does: the records and the
/// versions that it reaches stay where they are.
pub(crate) struct Reader<'a> {
    shared: &'a CicadaShared,
    local: Local,
}

impl<'a> Reader<'a> {
    /// # Errors
    /// Too many workers.
    pub(crate) fn new(shared: &'a CicadaShared) -> Result<Self> {
        let local = shared.domain.register()?;
        shared.horizon.register(local.id());
        Ok(Self { shared, local })
    }

    /// Begins to read. Returns the boundary, before which all is seen.
    pub(crate) fn enter(&mut self) -> u64 {
        let id = self.local.id();
        self.shared.horizon.announce_snapshot(id);
        self.local.enter_at(self.shared.clock.now());
        self.shared.horizon.settle_snapshot(id)
    }

    /// Ends it: what was reached may go away.
    pub(crate) fn exit(&mut self) {
        self.shared.horizon.end(self.local.id());
        self.local.exit();
    }

    /// Its place among the workers; active while it reads.
    pub(crate) fn local(&self) -> &Local {
        &self.local
    }

    /// Frees what it has waiting.
    pub(crate) fn collect(&mut self) {
        self.local.collect();
    }
}
