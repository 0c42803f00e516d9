//! Rapid garbage collection (section 3.8).
//!
//! A commit leaves an item for each version that superseded another. When the item is old enough
//! (`horizon.rs` says when), whoever has it cuts the chain behind that version, and reuses what was cut off
//! at once. A record whose newest version says that there is no row leaves the indexes with its last item.
//!
//! ```text
//!  items of a record  =  installed versions that replaced one, or that were an insert over an absent
//!                        row and were aborted, and are not cleaned yet;
//!                        transactions that insert over a deleted row, or did until lately
//! ```
//! So an item's record is there as long as the item is. Its version may not be, if another item has cut the
//! chain behind a later one: the record remembers where it was cut last (the paper's `record.min_wts`).

use crate::garbage::{Item, Queue, UNSTAMPED};
use crate::guard::raise;
use crate::record::{FROZEN, Record};
use crate::rules::Rule;
use crate::shared::CicadaShared;
use crate::version::{Status, Version};
use scaledb_base::TableId;
use scaledb_memory::Local;
use scaledb_sync::atomic::Ordering;

/// Items of one queue that one call cleans at the most, or the part of a long queue.
const AT_ONCE: usize = 256;
const BACKLOG: usize = 4;

/// Cleans what is old enough in a queue. Returns whether there is more. `local` is active.
pub(crate) fn clean(shared: &CicadaShared, local: &mut Local, queue: &mut Queue) -> bool {
    if queue.back().is_some_and(|item| item.epoch == UNSTAMPED) {
        let epoch = shared.horizon.epoch();
        queue.iter_mut().rev().take_while(|i| i.epoch == UNSTAMPED).for_each(|i| i.epoch = epoch);
    }
    let (min_rts, min_epoch) = (shared.horizon.min_rts(), shared.horizon.min_epoch());
    for _ in 0..AT_ONCE.max(queue.len() / BACKLOG) {
        if queue.front().is_none_or(|item| item.wts >= min_rts || item.epoch >= min_epoch) {
            return false;
        }
        let item = queue.pop_front().expect("just looked at");
        if let Some(later) = clean_item(shared, local, item, min_rts) {
            queue.push_back(later);
        }
    }
    true
}

/// Returns the item if it must wait.
fn clean_item(shared: &CicadaShared, local: &mut Local, item: Item, min_rts: u64) -> Option<Item> {
    let record = item.record;
    if !record.try_lock_items() {
        return Some(item);
    }
    // SAFETY: the lock was taken above.
    unsafe { cut(&item, local) };
    if !record.is_last_item() {
        record.unlock_items(true);
        return None;
    }
    // SAFETY: the lock was taken above.
    match unsafe { absent_since(record) } {
        // a live row, or a version whose transaction has an item of its own
        None => {
            record.unlock_items(true);
            None
        }
        // who finds no record waits for no delete to be durable, so that it must be before the record goes
        Some((newest, wts)) if wts < min_rts && is_durable(shared, wts) => {
            if !record.close() {
                record.unlock_items(true);
                return None;
            }
            if record.make_obsolete(newest) {
                // SAFETY: the lock was taken above, and nobody makes versions of an obsolete record.
                unsafe { remove(shared, local, record, item.table, newest) };
                return None;
            }
            record.reopen();
            record.unlock_items(false);
            Some(item)
        }
        Some(_) => {
            record.unlock_items(false);
            Some(item)
        }
    }
}

/// Whether a commit with this timestamp is on disk, if there is one.
fn is_durable(shared: &CicadaShared, wts: u64) -> bool {
    let log = shared.log().filter(|_| shared.config.rules.on(Rule::GraceOfDurability));
    log.is_none_or(|log| wts < log.durable().raw())
}

/// Frees what lies behind an item's version, if that is there still.
///
/// # Safety
/// The caller has the clean-up lock.
unsafe fn cut(item: &Item, local: &mut Local) {
    let Some(version) = item.version else { return };
    if !item.record.note_cut(item.wts) {
        return;
    }
    let mut rest = version.next().swap(Record::NOTHING, Ordering::SeqCst);
    while rest > Record::OBSOLETE {
        // SAFETY: unreachable now; by the horizon, nobody who runs has come this far.
        unsafe {
            let version = Version::from_raw(rest);
            rest = version.next().load(Ordering::SeqCst);
            version.free(local);
        }
    }
}

/// If a record has no row and none is coming: its newest version, and that one's timestamp.
///
/// # Safety
/// The caller has the clean-up lock.
unsafe fn absent_since(record: Record) -> Option<(u64, u64)> {
    let newest = record.latest().load(Ordering::SeqCst);
    debug_assert_ne!(newest, Record::OBSOLETE, "gone, with an item");
    let (mut at, mut since) = (newest, None);
    while at > Record::OBSOLETE {
        // SAFETY: the clean-up lock, which the caller has, keeps the chain.
        let version = unsafe { Version::from_raw(at) };
        since.get_or_insert(version.wts());
        match version.status() {
            Status::Pending | Status::Committed => return None,
            Status::Deleted => break,
            Status::Aborted => at = version.next().load(Ordering::SeqCst),
        }
    }
    Some((newest, since.unwrap_or(0)))
}

/// Takes an obsolete record out of the indexes. Who has read that it has no row is remembered by the guard
/// of its key; who scanned its leaf, by that of the leaf.
///
/// # Safety
/// The record is obsolete, `newest` is the last version of its chain, and nobody frees versions of the chain meanwhile.
pub(crate) unsafe fn remove(
    shared: &CicadaShared,
    local: &mut Local,
    record: Record,
    table: TableId,
    newest: u64,
) {
    let Ok(table) = shared.tables.get(table) else { return };
    let key = record.key();
    let hash = shared.hasher.hash(key);
    let mut at = newest;
    loop {
        // SAFETY: the last of the chain, or a version in it, says the caller.
        let rts = unsafe { record.rts_of(at) }.swap(FROZEN, Ordering::SeqCst);
        if rts != FROZEN
            && rts >= shared.horizon.min_wts()
            && shared.config.rules.on(Rule::KeepReadsOfRecords)
        {
            raise(table.absent.cell(hash), rts);
        }
        if at == Record::NOTHING {
            break;
        }
        // SAFETY: as above.
        at = unsafe { Version::from_raw(at) }.next().load(Ordering::SeqCst);
    }
    if let Some(tree) = &table.tree {
        tree.remove(local, shared.needed_after(), key, record.raw());
    }
    if let Some(index) = &table.hash {
        index.remove(local, hash, record.raw());
    }
    table.cleaned.fetch_add(1, Ordering::Relaxed); // a statistic
    at = newest;
    while at > Record::OBSOLETE {
        // SAFETY: obsolete and out of the indexes; readers of now are waited for.
        unsafe {
            let version = Version::from_raw(at);
            at = version.next().load(Ordering::SeqCst);
            version.retire(local);
        }
    }
    // SAFETY: as above; this was the last item.
    unsafe { record.retire(local) };
}
