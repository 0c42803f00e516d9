//! What the module keeps besides the keys.
//!
//! The server calls modules in its main thread only, but for the freeing of values. So the state is of that thread:
//! another one would find nothing, and is refused, instead of racing. A child that the server forks to save has a
//! copy.

use scaledb_occult::{Incarnation, Micros, Role, Server, Shard, Slot, Timestamp, Value};
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};

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
    /// By MIGRATE: it lives on elsewhere.
    pub(crate) moved: bool,
}

/// How many keys that a queued MIGRATE has named are remembered. With more, each that a command serializes and then
/// removes is taken for one of them.
const MAX_NAMED: usize = 65_536;

/// What is known of keys that MIGRATE takes away.
#[derive(Debug, Default)]
struct Moving {
    /// Keys that a MIGRATE has named.
    named: HashSet<Value>,
    /// There were too many.
    any: bool,
    /// Those of them that the command that runs, or the commands of one MULTI, have serialized.
    dumped: HashSet<Value>,
}

thread_local! {
    static MODULE: RefCell<Option<Module>> = const { RefCell::new(None) };
    static UNLINKED: RefCell<Vec<Unlinked>> = const { RefCell::new(Vec::new()) };
    static OWN: Cell<bool> = const { Cell::new(false) };
    static BUSY: Cell<bool> = const { Cell::new(false) };
    static SAVING: Cell<bool> = const { Cell::new(false) };
    static LOADING: Cell<bool> = const { Cell::new(false) };
    static MOVING: RefCell<Moving> = RefCell::default();
    static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// A larger buffer is not kept.
const MAX_KEPT: usize = 65_536;

/// An empty buffer: the one that was given back last.
pub(crate) fn buffer() -> Vec<u8> {
    BUFFER.take()
}

/// Keeps a buffer for the next one who needs one.
pub(crate) fn give_back(mut buffer: Vec<u8>) {
    if buffer.capacity() <= MAX_KEPT {
        buffer.clear();
        BUFFER.set(buffer);
    }
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

/// A command begins, or is queued in a MULTI; `migrate` are the keys that it takes away, if it is MIGRATE.
pub(crate) fn begin_command(migrate: Option<&[&[u8]]>) {
    MOVING.with_borrow_mut(|moving| {
        moving.dumped.clear();
        let Some(keys) = migrate else { return };
        if moving.named.len() + keys.len() > MAX_NAMED {
            (moving.any, moving.named) = (true, HashSet::new());
        } else {
            moving.named.extend(keys.iter().map(|key| Value::from(*key)));
        }
    });
}

/// Notes that a key is serialized for another server.
pub(crate) fn note_dumped(key: &[u8]) {
    MOVING.with_borrow_mut(|moving| {
        if moving.any || moving.named.contains(key) {
            moving.dumped.insert(key.into());
        }
    });
}

/// Whether MIGRATE removes the key, because it is elsewhere now: the command that runs has serialized it before, and a
/// MIGRATE has named it.
pub(crate) fn takes(key: &[u8]) -> bool {
    MOVING.with_borrow_mut(|moving| {
        let taken = moving.dumped.remove(key);
        if taken {
            moving.named.remove(key);
        }
        taken
    })
}

/// Notes whether the server reads a file, or all that its master has.
pub(crate) fn set_loading(loading: bool) {
    LOADING.set(loading);
}

/// Whether it does.
pub(crate) fn is_loading() -> bool {
    LOADING.get()
}

/// The term of the master whose changes this server sees: its own. A replica knows the life whose beat came last, which
/// is of no term of its own, should it be the next master. What a file says is of a term that is over.
pub(crate) fn term_of_stream(server: &Server) -> Incarnation {
    match server.role {
        _ if is_loading() => Incarnation::NONE,
        Role::Master => server.term,
        Role::Replica => server.beat.incarnation(),
    }
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
