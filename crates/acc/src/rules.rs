//! Switches for single rules of the protocol, so that tests can show that each is needed.

/// A rule that a build with the feature `mutations` can switch off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// C1: pin the lane before the first lock.
    PinFirst,
    /// C3: post new keys at all.
    Post,
    /// C3: post before the timestamp.
    PostBeforeTimestamp,
    /// C4: take the timestamp after the locks.
    TimestampAfterLocks,
    /// C5: not before the clock has left the timestamp's tick.
    LeaveTick,
    /// C5: check the reads.
    ValidateReads,
    /// C5: a locked record fails the check.
    HonourLocks,
    /// C5: look again for what was absent.
    ValidateAbsent,
    /// C5: check the cells of scanned leaves.
    ValidateCells,
    /// C5: check the versions of scanned leaves.
    ValidateLeaves,
    /// Read (4): repair scans from pending lists.
    Repair,
    /// Read (2): follow inherited parts.
    Inherit,
    /// M3 after M2: evict from the indexlet only what is in the tree.
    EvictAfterInsert,
    /// Clean-up: wait for the grace period.
    Grace,
    /// Updates keep the version that a snapshot needs.
    Retain,
    /// A record's copy is checked against its words.
    Seqlock,
    /// C5: the second look at a range reads the pending lists again, not only the leaves.
    RecheckLists,
    /// The pin stays until the last entry is merged.
    PinUntilMerged,
    /// A table's inherited parts are looked at as long as an entry that may have been posted under one is on a list.
    GenerationOfLists,
    /// Clean-up leaves records that are on a pending list.
    GraceOfLists,
    /// Clean-up waits for the snapshots that run, and for the one that may begin next.
    GraceOfSnapshots,
    /// A snapshot's boundary lies before every pin.
    BoundaryBeforePins,
    /// A snapshot's boundary was announced before the clock came near it.
    ConfirmBoundary,
    /// A snapshot reads at no boundary that it looked up before it was announced.
    FloorBehindAnnouncement,
    /// C6: look for announced boundaries behind the timestamp.
    TimestampBeforeBoundaries,
    /// Whoever meets an obsolete record looks its key up again.
    LookAgain,
    /// A claim in the indexlet looks whether the tree has the key.
    LookInTree,
    /// What was read by a write that was rolled back to a savepoint is still read.
    UndoneReads,
    /// A row that is updated must still be as it was read.
    LockUnchanged,
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
    pub const ALL: [Self; 29] = [
        Self::PinFirst,
        Self::Post,
        Self::PostBeforeTimestamp,
        Self::TimestampAfterLocks,
        Self::LeaveTick,
        Self::ValidateReads,
        Self::HonourLocks,
        Self::ValidateAbsent,
        Self::ValidateCells,
        Self::ValidateLeaves,
        Self::Repair,
        Self::Inherit,
        Self::EvictAfterInsert,
        Self::Grace,
        Self::Retain,
        Self::Seqlock,
        Self::RecheckLists,
        Self::PinUntilMerged,
        Self::GenerationOfLists,
        Self::GraceOfLists,
        Self::GraceOfSnapshots,
        Self::BoundaryBeforePins,
        Self::ConfirmBoundary,
        Self::FloorBehindAnnouncement,
        Self::TimestampBeforeBoundaries,
        Self::LookAgain,
        Self::LookInTree,
        Self::UndoneReads,
        Self::LockUnchanged,
    ];
}

/// The rules in force.
pub type Rules = scaledb_kit::Rules<Rule>;
