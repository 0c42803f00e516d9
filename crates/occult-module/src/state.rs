//! What the module keeps besides the keys.
//!
//! The server calls modules in its main thread only, but for the freeing of values. So the state is of that thread:
//! another one would find nothing, and is refused, instead of racing. A child that the server forks to save has a
//! copy.

use scaledb_occult::{Micros, Server, Shard, Slot, Timestamp, Value};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;

/// Counters since the start, as `INFO occult` shows them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counters {
    pub(crate) commands: u64,
    pub(crate) effects: u64,
    pub(crate) applied: u64,
    pub(crate) refused_locked: u64,
    pub(crate) refused_lost: u64,
    pub(crate) refused_other: u64,
    pub(crate) plain_deletions: u64,
}

/// The state of the module.
#[derive(Debug)]
pub(crate) struct Module {
    pub(crate) server: Server,
    /// Between two beats, in milliseconds; zero sends none.
    pub(crate) beat_ms: u64,
    /// States of slots whose keys a plain command has removed (FLUSHALL, DEL of the key, eviction): stamps must not
    /// start again. A slot is taken from here when it is needed next.
    pub(crate) put_aside: HashMap<Slot, Shard>,
    pub(crate) counters: Counters,
}

/// A stamped key that a plain command, an expiry or an eviction has removed, and that is not stamped yet.
#[derive(Clone, Debug)]
pub(crate) struct Unlinked {
    pub(crate) key: Value,
    pub(crate) deps: Timestamp,
}

thread_local! {
    static MODULE: RefCell<Option<Module>> = const { RefCell::new(None) };
    static UNLINKED: RefCell<Vec<Unlinked>> = const { RefCell::new(Vec::new()) };
    static OWN: Cell<bool> = const { Cell::new(false) };
    static BUSY: Cell<bool> = const { Cell::new(false) };
    static SAVING: Cell<bool> = const { Cell::new(false) };
    static MIGRATING: Cell<bool> = const { Cell::new(false) };
}

/// Sets the state when the module is loaded.
pub(crate) fn begin(module: Module) {
    MODULE.with_borrow_mut(|state| *state = Some(module));
}

/// Runs with the state, unless this is another thread than the server's, or the state is in use.
pub(crate) fn with<R>(run: impl FnOnce(&mut Module) -> R) -> Option<R> {
    MODULE.with(|state| state.try_borrow_mut().ok()?.as_mut().map(run))
}

/// Runs `run` as what changes keys in the module's own name: what is unlinked meanwhile was not a plain command's.
pub(crate) fn own<R>(run: impl FnOnce() -> R) -> R {
    flagged(|own| OWN.replace(own), run)
}

/// Whether the module itself removes a key now.
pub(crate) fn is_own() -> bool {
    OWN.get()
}

/// Runs `run` while shards are borrowed: stamps for plain commands have to wait.
pub(crate) fn busy<R>(run: impl FnOnce() -> R) -> R {
    flagged(|busy| BUSY.replace(busy), run)
}

/// Whether shards are borrowed.
pub(crate) fn is_busy() -> bool {
    BUSY.get()
}

/// Notes whether the server writes a file, or a stream to a replica, of all it has.
pub(crate) fn set_saving(saving: bool) {
    SAVING.set(saving);
}

/// Whether what is serialized now goes into a file or to a replica; otherwise it goes to another master, by DUMP or
/// MIGRATE.
pub(crate) fn is_saving() -> bool {
    SAVING.get()
}

/// Notes whether the command that begins is MIGRATE.
pub(crate) fn set_migrating(migrating: bool) {
    MIGRATING.set(migrating);
}

/// Whether MIGRATE runs: it removes keys because they are elsewhere now.
pub(crate) fn is_migrating() -> bool {
    MIGRATING.get()
}

/// Notes a key that somebody else has removed.
pub(crate) fn note_unlinked(unlinked: Unlinked) {
    UNLINKED.with_borrow_mut(|list| list.push(unlinked));
}

/// Takes what was noted.
pub(crate) fn take_unlinked() -> Vec<Unlinked> {
    UNLINKED.with_borrow_mut(std::mem::take)
}

/// Whether something was noted.
pub(crate) fn has_unlinked() -> bool {
    UNLINKED.with_borrow(|list| !list.is_empty())
}

/// Sets a flag for as long as `run` runs, even if it panics. `swap` sets it, and returns what it was.
fn flagged<R>(swap: fn(bool) -> bool, run: impl FnOnce() -> R) -> R {
    struct Reset(fn(bool) -> bool, bool);
    impl Drop for Reset {
        fn drop(&mut self) {
            self.0(self.1);
        }
    }
    let _reset = Reset(swap, swap(true));
    run()
}

/// The clock of this server.
pub(crate) fn now() -> Micros {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    Micros(since.map_or(0, |since| u64::try_from(since.as_micros()).unwrap_or(u64::MAX)))
}
