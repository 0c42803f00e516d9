//! Which calls fail, and how.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::collections::BTreeMap;
use std::io;

/// The calls of a disk and its files that may fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Call {
    /// `Disk::create`
    Create,
    /// `Disk::open`
    Open,
    /// `Disk::list`
    List,
    /// `Disk::rename`
    Rename,
    /// `Disk::remove`
    Remove,
    /// `Disk::sync_names`
    SyncNames,
    /// `File::read_at`
    Read,
    /// `File::write_at`
    Write,
    /// `File::sync`
    Sync,
    /// `File::set_len`
    SetLen,
}

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// An error of the device (`EIO`). A write has then written some of its bytes or none; a failed sync has
    /// made some sectors durable, and the others are never written: the system forgets that they are dirty.
    Error,
    /// No space (`ENOSPC`), whatever the capacity.
    Full,
    /// A write stops after so many bytes, with an error.
    Short(usize),
    /// A sync (of a file or of names) reports success, and has done nothing.
    Lie,
}

/// When it goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// At the operation of this number, as [`SimDisk::operations`](super::SimDisk::operations) counts.
    Operation(usize),
    /// At the n-th call of a kind, from zero.
    Nth(Call, usize),
    /// At each call of a kind.
    Always(Call),
    /// At each call of a kind on a file whose name begins so; of a sync of names, the name that changed last.
    Of(Call, &'static str),
    /// At one of so many calls of a kind, drawn from the disk's seed.
    OneIn(Call, u32),
}

/// The faults to come.
#[derive(Debug)]
pub(super) struct Faults {
    plan: Vec<(When, Fault)>,
    calls: BTreeMap<Call, usize>,
    pub(super) rng: SmallRng,
}

impl Faults {
    pub(super) fn new(seed: u64) -> Self {
        Self { plan: Vec::new(), calls: BTreeMap::new(), rng: SmallRng::seed_from_u64(seed) }
    }

    pub(super) fn add(&mut self, when: When, fault: Fault) {
        self.plan.push((when, fault));
    }

    pub(super) fn clear(&mut self) {
        self.plan.clear();
    }

    pub(super) fn calls(&self, call: Call) -> usize {
        self.calls.get(&call).copied().unwrap_or(0)
    }

    /// Counts a call on a file; says what goes wrong with it. The first fault of the plan that applies is taken.
    pub(super) fn meet(&mut self, call: Call, name: &str, operation: Option<usize>) -> Option<Fault> {
        let count = self.calls.entry(call).or_default();
        let nth = *count;
        *count += 1;
        let rng = &mut self.rng;
        let mut met = self.plan.iter().filter(|(when, _)| match *when {
            When::Operation(number) => operation == Some(number),
            When::Nth(kind, number) => kind == call && number == nth,
            When::Always(kind) => kind == call,
            When::Of(kind, start) => kind == call && name.starts_with(start),
            When::OneIn(kind, of) => kind == call && rng.random_range(0..of.max(1)) == 0,
        });
        met.next().map(|(_, fault)| *fault)
    }
}

pub(super) fn device_error() -> io::Error {
    io::Error::other("the simulated device reports an error")
}

pub(super) fn no_space() -> io::Error {
    io::Error::new(io::ErrorKind::StorageFull, "the simulated disk is full")
}
