//! What is done for workers that run no transactions: their clean-up, and the horizon.

use crate::gc::clean;
use crate::shared::CicadaShared;
use scaledb_base::WorkerId;
use scaledb_memory::{IDLE, Local};

/// One round of the background thread. Returns whether there is more to do.
pub(crate) fn tend(shared: &CicadaShared, local: &mut Local, now: u64) -> bool {
    shared.lead(now, now);
    local.enter();
    let mut more = false;
    for (id, lane) in shared.lanes.iter().enumerate().take(shared.horizon.workers()) {
        // an owner that runs cleans by itself
        if shared.domain.active_since(WorkerId(id as u8)) == IDLE {
            more |= clean(shared, local, &mut lane.lock());
        }
    }
    local.exit();
    more
}
