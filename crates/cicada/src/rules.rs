//! Switches for single rules of the protocol, in test builds: a check that never fails says nothing, so
//! tests turn each rule off and see the histories go wrong.

/// A rule of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// A transaction that has read a version raises its read timestamp.
    RaiseReads,
    /// What was read must be what is visible at the commit.
    CheckReads,
    /// What is overwritten was not read by a later transaction.
    CheckWrites,
    /// A version that is installed below aborted ones is aborted if a later one has come above them.
    LookUp,
    /// A reader waits for a pending version.
    HonourPending,
    /// A key that was not found must not be found at the commit.
    CheckAbsent,
    /// A key that was read as absent keeps its read timestamp although it has no record.
    GuardAbsent,
    /// A scanned leaf must hold no key that was not seen.
    CheckLeaves,
    /// A scanned leaf keeps its read timestamp.
    GuardLeaves,
    /// A leaf inherits the read timestamps of those that it came out of.
    InheritGuards,
    /// Versions are reclaimed only when no timestamp can see them.
    ReclaimByTimestamp,
    /// Versions are reclaimed only when all who may be reading them have ended.
    ReclaimAfterQuiescence,
    /// A record that goes leaves its read timestamp behind.
    KeepReadsOfRecords,
    /// A snapshot lies before every transaction that may still commit.
    SnapshotBeforeWriters,
    /// A commit is announced only when every later transaction gets a larger timestamp.
    WaitForClock,
    /// What was read by a write that was rolled back to a savepoint is still read.
    UndoneReads,
    /// Clean-up leaves records whose delete is not durable.
    GraceOfDurability,
    /// A transaction that only reads depends on the commits that it has read.
    DependOnReads,
}

#[cfg(feature = "mutations")]
impl Rule {
    /// Those of what is promised to be durable; no history without a log shows them.
    pub const OF_DURABILITY: [Self; 2] = [Self::GraceOfDurability, Self::DependOnReads];

    /// The others.
    pub const ALL: [Self; 16] = [
        Self::RaiseReads,
        Self::CheckReads,
        Self::CheckWrites,
        Self::LookUp,
        Self::HonourPending,
        Self::CheckAbsent,
        Self::GuardAbsent,
        Self::CheckLeaves,
        Self::GuardLeaves,
        Self::InheritGuards,
        Self::ReclaimByTimestamp,
        Self::ReclaimAfterQuiescence,
        Self::KeepReadsOfRecords,
        Self::SnapshotBeforeWriters,
        Self::WaitForClock,
        Self::UndoneReads,
    ];
}

/// The rules in force.
pub type Rules = scaledb_kit::Rules<Rule>;
