//! The rules that a mutation can break, and the variants of the protocol that a case can choose.

/// One rule broken. The comment says what the mutant does; everything else stays as it should be.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Mutation {
    // ---- C1 pin, splits
    /// The pin is published after the leaf's partition was looked up.
    PinLate,
    /// A helper that empties a lane takes its pin away although the owner is in flight.
    HelperUnpinsInFlight,
    /// What is on a table's lists does not hold back the oldest generation that its scans and splits go by.
    NoGenerationOfLists,
    /// (fine steps) The lists' generations are read before those of the commits in flight.
    ListsBeforeFlights,
    /// A split's new sibling inherits nothing.
    NoInherit,
    /// A leaf that absorbs its right sibling inherits nothing.
    NoInheritOnCoalesce,
    /// Scans look only at the leaf's own partition.
    ScanIgnoresInherited,
    // ---- C2 lock, inserts
    /// An update locks a record that changed since it was read, and validation trusts the lock.
    LockIgnoresWord,
    /// A claim in the indexlet is not followed by a tree look-up.
    NoTreeCheckAfterIndexletClaim,
    /// A claim in the tree is not followed by an indexlet look-up.
    NoIndexletCheckAfterTreeClaim,
    /// After locking an absent record found in the tree the indexlet is not probed again (redundant: whoever claims
    /// in the indexlet looks into the tree, finds that record and backs out).
    NoReprobeAfterTreeLock,
    /// Locks that were not read are waited for without bound (there is no lock order).
    LockWaits,
    /// A blind add computes its new value from what it sees before it locks.
    AddBeforeLock,
    // ---- C3 post
    /// Posts after taking the timestamp.
    PostAfterTs,
    /// Posts after validation.
    PostAfterValidation,
    /// The item enters the pending list after the cell has counted it.
    ListAfterPost,
    /// The owner bit is set after the cell has counted the item.
    BitAfterPost,
    /// (fine steps) The cell's seq is advanced before its count.
    SeqBeforeCount,
    /// Posts nothing.
    NoPost,
    /// Inserts into the tree under no lane lock: a helper may merge the lane between C3 and C6.
    NoLaneLock,
    // ---- C4 timestamp
    /// Takes the timestamp before the locks.
    TsBeforeLocks,
    /// Takes the timestamp after validation.
    TsAfterValidation,
    // ---- C5 validate
    /// Records are not validated.
    NoReadValidation,
    /// Validation does not mind records locked by another.
    IgnoreLock,
    /// Validation waits for records locked by another.
    ValidationWaits,
    /// Absent reads are not validated.
    NoAbsentValidation,
    /// Absent reads take an absent record for the same nothing.
    NaiveAbsent,
    /// Cells are not validated.
    NoCellValidation,
    /// The leaf is not validated.
    NoLeafVersionCheck,
    /// The leaf is validated before the cells.
    LeafBeforeCells,
    /// A cell with an own post is not validated.
    OwnWholesale,
    /// A changed cell is not refined (the items are not read; it passes).
    NoRefine,
    /// A changed leaf is checked by the content of the leaves that cover the interval now, not by their cells.
    RecheckContentOnly,
    /// A key that the scan has not seen is excused if the transaction has locked its record, though another made it.
    OwnLocksExcused,
    /// A changed leaf is checked without minding absent (and so also locked) records.
    RecheckIgnoresAbsent,
    // ---- reads
    /// (fine steps) A reader does not check the word again after copying the row.
    NoWordRecheck,
    /// Scans do not read pending lists.
    NoConsult,
    /// Scans do not look into the own lane's pending list.
    NoOwnPending,
    /// A scan that meets an obsolete record counts its key as seen instead of looking it up again.
    ObsoleteCountsAsSeen,
    /// A scan over the secondary index does not put the entry records into the read_set.
    EntryNotValidated,
    /// As above for live entries only (redundant: their base record's word is validated and says as much).
    LiveEntryNotValidated,
    /// Moving a row between secondary keys leaves the old entry record as it is.
    NoEntryDelete,
    // ---- merge
    /// Count and owner bit are taken back before the tree insert.
    DecBeforeMerge,
    /// Count is taken back before the item leaves the list.
    DecBeforeRemove,
    /// The key leaves the indexlet before it enters the tree.
    EvictBeforeTreeInsert,
    /// A merge that meets a placeholder claimed in the tree replaces it.
    MergeOverwritesPlaceholder,
    // ---- clean-up
    /// No grace period at all.
    NoGrace,
    /// Active read-write transactions do not hold clean-up back.
    CleanupIgnoresActive,
    /// Active snapshots do not hold clean-up back.
    CleanupIgnoresSnapshots,
    /// The snapshot horizon, so neither the snapshot that may begin next nor pins, does not hold clean-up back.
    CleanupIgnoresHorizon,
    /// Clean-up takes records that are on a pending list.
    CleanupIgnoresLists,
    /// Clean-up reads the actives before the horizon.
    CleanupActivesFirst,
    /// Clean-up does not check that the record is still the same delete.
    CleanupNoRecheck,
    /// Clean-up does not mark the record obsolete.
    CleanupNoObsolete,
    // ---- snapshots
    /// No row versions are kept.
    NoRetention,
    /// An absent version is not kept when the row is inserted again.
    NoAbsentVersion,
    /// Old versions are dropped although a snapshot in use needs them.
    PruneIgnoresSnapshots,
    /// Readers take versions with ts <= S although versions are retained for ts < S.
    BoundaryIncluded,
    /// A boundary is used although the clock has passed it before it was announced to all.
    NoConfirm,
    /// A commit looks for announced boundaries before it takes its timestamp.
    AnnouncedBeforeTs,
    /// The horizon ignores pins.
    HorizonIgnoresPins,
    /// The clock is read after the pins.
    HorizonClockLast,
    /// The horizon is whatever boundary was reached last, though it has been higher.
    HorizonGoesBack,
    /// The snapshot_ts is published only when it is known.
    SnapshotPublishedLate,
}

impl Mutation {
    /// Rules that no case needs; their comments say why. The engine may drop them.
    pub const REDUNDANT: &[Mutation] = &[Mutation::NoReprobeAfterTreeLock, Mutation::LiveEntryNotValidated];

    /// All of them.
    pub const ALL: &[Mutation] = &[
        Mutation::PinLate,
        Mutation::HelperUnpinsInFlight,
        Mutation::NoGenerationOfLists,
        Mutation::ListsBeforeFlights,
        Mutation::NoInherit,
        Mutation::NoInheritOnCoalesce,
        Mutation::ScanIgnoresInherited,
        Mutation::LockIgnoresWord,
        Mutation::NoTreeCheckAfterIndexletClaim,
        Mutation::NoIndexletCheckAfterTreeClaim,
        Mutation::NoReprobeAfterTreeLock,
        Mutation::LockWaits,
        Mutation::AddBeforeLock,
        Mutation::PostAfterTs,
        Mutation::PostAfterValidation,
        Mutation::ListAfterPost,
        Mutation::BitAfterPost,
        Mutation::SeqBeforeCount,
        Mutation::NoPost,
        Mutation::NoLaneLock,
        Mutation::TsBeforeLocks,
        Mutation::TsAfterValidation,
        Mutation::NoReadValidation,
        Mutation::IgnoreLock,
        Mutation::ValidationWaits,
        Mutation::NoAbsentValidation,
        Mutation::NaiveAbsent,
        Mutation::NoCellValidation,
        Mutation::NoLeafVersionCheck,
        Mutation::LeafBeforeCells,
        Mutation::OwnWholesale,
        Mutation::NoRefine,
        Mutation::RecheckContentOnly,
        Mutation::OwnLocksExcused,
        Mutation::RecheckIgnoresAbsent,
        Mutation::NoWordRecheck,
        Mutation::NoConsult,
        Mutation::NoOwnPending,
        Mutation::ObsoleteCountsAsSeen,
        Mutation::EntryNotValidated,
        Mutation::LiveEntryNotValidated,
        Mutation::NoEntryDelete,
        Mutation::DecBeforeMerge,
        Mutation::DecBeforeRemove,
        Mutation::EvictBeforeTreeInsert,
        Mutation::MergeOverwritesPlaceholder,
        Mutation::NoGrace,
        Mutation::CleanupIgnoresActive,
        Mutation::CleanupIgnoresSnapshots,
        Mutation::CleanupIgnoresHorizon,
        Mutation::CleanupIgnoresLists,
        Mutation::CleanupActivesFirst,
        Mutation::CleanupNoRecheck,
        Mutation::CleanupNoObsolete,
        Mutation::NoRetention,
        Mutation::NoAbsentVersion,
        Mutation::PruneIgnoresSnapshots,
        Mutation::BoundaryIncluded,
        Mutation::NoConfirm,
        Mutation::AnnouncedBeforeTs,
        Mutation::HorizonIgnoresPins,
        Mutation::HorizonClockLast,
        Mutation::HorizonGoesBack,
        Mutation::SnapshotPublishedLate,
    ];
}

/// The point index of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PointIndex {
    /// Keys not merged yet, at most so many; then new keys go straight to the tree.
    Bounded(usize),
    /// All keys, until clean-up removes them; with `sync`, new keys also go straight to the tree.
    Resident {
        /// Batch 0: nothing is pending, ever.
        sync: bool,
    },
    /// None: new keys go straight to the tree.
    TreeOnly,
}

/// How scans find out whose pending lists to read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Owners {
    /// If the cell's count exceeds the own items there: the lanes whose bits are set.
    CountAndBits,
    /// The lanes whose bits are set, no count.
    Bits,
    /// If the cell's count exceeds the own items there: every lane.
    CountAndAllLanes,
}

/// The variant of the protocol that a case runs.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// The broken rule, if any.
    pub mutation: Option<Mutation>,
    /// The point index of all tables.
    pub point_index: PointIndex,
    /// Is there a secondary index?
    pub secondary: bool,
    /// Keys per leaf.
    pub leaf_capacity: usize,
    /// Number of phantomlet cells.
    pub cells: u8,
    /// Whose pending lists scans read.
    pub owners: Owners,
    /// Boundaries are announced so far ahead of the clock.
    pub ahead: u8,
    /// Split what is coarse by default: pinning, reading rows, installing, posting, reading pins and cells.
    pub fine: bool,
}

impl Config {
    /// The usual case: bounded indexlet, no secondary index.
    pub const BASE: Config = Config {
        mutation: None,
        point_index: PointIndex::Bounded(8),
        secondary: false,
        leaf_capacity: 4,
        cells: 16,
        owners: Owners::CountAndBits,
        ahead: 0,
        fine: false,
    };

    /// Is this rule broken?
    pub fn breaks(&self, mutation: Mutation) -> bool {
        self.mutation == Some(mutation)
    }
}
