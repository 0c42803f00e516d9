//! Clean-up: deleted records leave the indexes, and versions their chains, when nobody can need them.

use crate::lane::{Deleted, LaneGuard, count};
use crate::rules::Rule;
use crate::shared::Shared;
use scaledb_memory::Local;
use scaledb_storage::Word;

/// Records of one lane that one call cleans at the most, so that the lane is soon free again; more if more
/// wait, or a worker whose transactions delete much would fall behind for ever.
const AT_ONCE: usize = 256;
/// The part of a long queue that one call cleans: one in so many.
const BACKLOG: usize = 8;

/// What lies before all that runs and all that may begin.
pub(crate) struct Horizon {
    /// A record deleted before this raw timestamp may go.
    records: u64,
    /// A version superseded before this raw timestamp may go.
    versions: u64,
}

impl Horizon {
    /// Looks at the snapshots' floor, then at every worker's activity and every pin. The floor never goes
    /// back, whatever stale pin is published meanwhile, and every later snapshot reads at it or above.
    pub(crate) fn now(shared: &Shared) -> Self {
        let versions = shared.snapshots.advance(shared);
        let actives = shared.domain.horizon();
        let pins = shared.min_pin();
        let records = scaledb_base::Timestamp::start_of(actives.min(pins)).raw();
        // a reader that finds no record waits for no delete: so the delete must be durable before
        let records = shared.log().map_or(records, |log| records.min(log.durable().raw()));
        let records =
            if shared.config.rules.on(Rule::GraceOfSnapshots) { records.min(versions) } else { records };
        if !shared.config.rules.on(Rule::Grace) {
            return Self { records: u64::MAX, versions };
        }
        Self { records, versions }
    }
}

/// Cleans what a lane has waiting. `local` is active.
pub(crate) fn clean(shared: &Shared, local: &mut Local, lane: &mut LaneGuard<'_>, horizon: &Horizon) {
    while lane.versions.front().is_some_and(|v| v.0 < horizon.versions) {
        let (_, version) = lane.versions.pop_front().expect("just looked at");
        // SAFETY: every snapshot, running or to come, reads after the commit that superseded it.
        unsafe { version.free(local) };
    }
    for _ in 0..AT_ONCE.max(lane.deleted.len() / BACKLOG) {
        if lane.deleted.front().is_none_or(|d| d.ts >= horizon.records) {
            return;
        }
        let deleted = lane.deleted.pop_front().expect("just looked at");
        if let Some(later) = clean_record(shared, local, deleted) {
            lane.deleted.push_back(later);
        }
    }
}

/// Removes a record that is still the same delete. Returns it if its lock is taken.
fn clean_record(shared: &Shared, local: &mut Local, deleted: Deleted) -> Option<Deleted> {
    let Deleted { table, record, ts } = deleted;
    let table = shared.tables.get(table).ok()?;
    let absent = Word::absent(scaledb_base::Timestamp::from_raw(ts));
    let groups = table.existence.groups();
    for group in groups.iter() {
        if record.try_lock(group, absent) {
            continue;
        }
        let now = record.word(group);
        for locked in groups.iter().take_while(|&g| g < group) {
            record.unlock(locked, absent);
        }
        // locked by an insert that may yet abort; or inserted again, and none of our business any more
        return (now == absent.locked()).then_some(Deleted { table: table.id, record, ts });
    }
    if let Some(tree) = &table.tree {
        tree.remove(local, shared.needed_after(), record.key(), record.raw());
    }
    table.remove_point(local, shared.hasher.hash(record.key()), record);
    for group in groups.iter() {
        record.unlock(group, absent.obsolete());
    }
    if let Some(mine) = table.of_worker(local.id()) {
        count(&mine.counters.cleaned, 1);
    }
    // SAFETY: obsolete, out of the indexes, and out of the lists: its lane was merged since.
    unsafe { record.retire(local) };
    None
}
