//! Switches for single rules of the protocol, so that an explorer can show that each is needed.

use super::protocol::Protocol;

/// A rule. `a` to `k` are the holes of the published protocol that the rule closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Rule {
    /// A lock fails if what was read has changed.
    LockChecks,
    /// The reads must be valid at the commit's time.
    ValidateReads,
    /// The commit's time is above what was promised of each written record.
    AbovePromises,
    /// The commit's time is not below what was read.
    AtOrAfterReads,
    /// An extension of a read is a promise: it raises the record's rts.
    ExtensionPromises,
    /// The backups are told of an extension (an optimization: correct without).
    TellExtensions,
    /// A record that another has locked is not extended (d).
    LockStopsExtension,
    /// A lock knows its transaction, whose own read of the record passes (d).
    OwnLockPasses,
    /// A backup applies a write only if it is newer than what it has.
    Thomas,
    /// A node is prepared only when the replicas have acknowledged its transactions' writes.
    WaitForWrites,
    /// A lock ends with its epoch, even if the message that unlocks it was lost (c).
    LocksEndWithEpoch,
    /// From the barrier to the next epoch no commit begins (b).
    NoCommitAtBarrier,
    /// Writes above the epoch that the cluster goes back to are undone.
    Undo,
    /// A change of view frees the locks (c).
    ClearLocks,
    /// Messages of other views are dropped (c).
    DropOldViews,
    /// A change of view promises anew up to the largest time that committed transactions may have used (a).
    Floor,
    /// Also where the primary stays the same: undoing a write brings back a version whose promises are lost (a).
    FloorEverywhere,
    /// A change of view drops later promises: some replicas do not know them, perhaps the next primary (a).
    PromisesEnd,
    /// Members learn that the epoch is whole before it is committed (b).
    TellWhole,
    /// f + 1 members have acknowledged that before the epoch commits (b, k).
    Quorum,
    /// After a change of view no epoch gets a number that one had before.
    EpochsAreNew,
    /// Survivors commit an epoch that one of them knows to be whole (b).
    CommitWhole,
    /// What a change of view commits is answered when all members have installed it, not before.
    AnswerAtGo,
    /// Results leave when the epoch has committed (g).
    AnswerAtEpoch,
    /// A tombstone stays until its epoch has committed (e).
    KeepTombstones,
    /// Gaps that were read must be empty at the commit's time (f).
    ValidateAbsent,
    /// A key that comes splits its gap; both halves keep the gap's times (f).
    SplitKeepsTimes,
    /// The primary that removes a tombstone keeps the promises made of it (f).
    RemovalKeepsPromises,
    /// A change of view ends every open transaction (h).
    EndOpen,
    /// No transaction begins before all members have installed the view: it could read writes that are about to be
    /// undone.
    WaitForView,
    /// A commit's time is not below that of the session's last one (i).
    SessionOrder,
    /// A message of the next epoch proves that this one has committed: the receiver goes on first (j).
    GoOnFirst,
    /// What was read in an earlier epoch must not have changed since.
    Rebase,
    /// The answers of a snapshot leave when the epoch in which it began has committed.
    SnapshotWaits,
    /// No snapshot begins while a node is prepared.
    SnapshotBeforePrepared,
    /// A replica refuses to read the end of an epoch of which it has dropped versions.
    RefuseTooOld,
    /// A check asks the primaries for what its replicas do not know to be valid.
    CheckValidates,
    /// A check is confirmed only when the epoch in which it was valid has committed.
    CheckWaits,
    /// Learners get the writes of their view, and the epoch waits for them.
    LearnersGetWrites,
    /// A learner answers no reads, its own coordinator's neither.
    LearnersAnswerNothing,
    /// A learner keeps tombstones: a chunk may be older than they are.
    LearnersKeepTombstones,
    /// What is copied does not replace what is newer.
    CopyKeepsNewer,
    /// The last version before the epoch of the current one is copied, too.
    CopyKeepsVersions,
    /// A learner is promoted only when it has copied all.
    CopyBeforePromotion,
    /// A member of a durable cluster acknowledges a whole epoch when it is on its disk.
    AckWhenOnDisk,
    /// It says that it has installed a view when that is on its disk.
    InstalledWhenOnDisk,
    /// An epoch of a durable cluster has committed when all members have it on disk, not a quorum.
    OnAllDisks,
    /// A change of view goes back to an epoch that members which restart with their disks have.
    NotBeyondDisks,
    /// Tombstones of the epoch that a change of view goes back to stay until all have installed it: another may go back
    /// further.
    CleanAtGo,
    /// Gaps begin anew with each view: replicas, also those that were copied, have the same.
    GapsBeginAnew,
    /// A learner is promoted only when all that it has copied is on its disk, before a mark.
    CopyOnDisk,
    /// A checkpoint begins between two epochs, so that the log behind it has either all writes of an epoch or none.
    CheckpointBeginsWithEpoch,
    /// A checkpoint says how far a learner had come when it began: what it learns later is in the log, and
    /// may be dropped there.
    CheckpointKeepsBehind,
    /// Under snapshot isolation the reads are valid at a time that is not before the overwritten versions: else updates
    /// in between would be lost.
    FirstCommitterWins,
    /// A node drops partitions that a view does not place at it: they would be out of date when they are placed there
    /// again.
    DroppedIsForgotten,
    /// A member that is removed on purpose keeps its state until all others have installed that view, and becomes a
    /// member again if too many of them fail before.
    LeaverWaits,
    /// A view that takes members out on purpose begins when the metadata store knows that all have installed it: as
    /// long as it does not, those may be members again, and must have missed nothing.
    NoteOpened,
    /// A primary adds no record that a backup without memory would have to keep.
    RoomAtBackups,
    /// What was announced in an epoch that a change of view undoes is handed out to nobody.
    UndoAnnounced,
    /// What was announced in the epoch that a change of view goes back to is handed out when all have installed it.
    AnnounceAtGo,
    /// Who announces something has a later time than all that it has seen.
    AnnounceBehindReads,
    /// A member that has installed a view holds no more than that goes back to, until the view has begun: it has undone
    /// the rest, whoever was the reason for it and is lost since.
    HeldUntilBegun,
    /// What a change of view undoes is answered as aborted when all members have installed it: before, the next view
    /// may be led by members that have not, and keep it.
    AbortAtGo,
}

impl Rule {
    /// All rules.
    pub const ALL: [Self; 63] = [
        Self::LockChecks,
        Self::ValidateReads,
        Self::AbovePromises,
        Self::AtOrAfterReads,
        Self::ExtensionPromises,
        Self::TellExtensions,
        Self::LockStopsExtension,
        Self::OwnLockPasses,
        Self::Thomas,
        Self::WaitForWrites,
        Self::LocksEndWithEpoch,
        Self::NoCommitAtBarrier,
        Self::Undo,
        Self::ClearLocks,
        Self::DropOldViews,
        Self::Floor,
        Self::FloorEverywhere,
        Self::PromisesEnd,
        Self::TellWhole,
        Self::Quorum,
        Self::EpochsAreNew,
        Self::CommitWhole,
        Self::AnswerAtGo,
        Self::AnswerAtEpoch,
        Self::KeepTombstones,
        Self::ValidateAbsent,
        Self::SplitKeepsTimes,
        Self::RemovalKeepsPromises,
        Self::EndOpen,
        Self::WaitForView,
        Self::SessionOrder,
        Self::GoOnFirst,
        Self::Rebase,
        Self::SnapshotWaits,
        Self::SnapshotBeforePrepared,
        Self::RefuseTooOld,
        Self::CheckValidates,
        Self::CheckWaits,
        Self::LearnersGetWrites,
        Self::LearnersAnswerNothing,
        Self::LearnersKeepTombstones,
        Self::CopyKeepsNewer,
        Self::CopyKeepsVersions,
        Self::CopyBeforePromotion,
        Self::AckWhenOnDisk,
        Self::InstalledWhenOnDisk,
        Self::OnAllDisks,
        Self::NotBeyondDisks,
        Self::CleanAtGo,
        Self::GapsBeginAnew,
        Self::CopyOnDisk,
        Self::CheckpointBeginsWithEpoch,
        Self::CheckpointKeepsBehind,
        Self::FirstCommitterWins,
        Self::DroppedIsForgotten,
        Self::LeaverWaits,
        Self::NoteOpened,
        Self::RoomAtBackups,
        Self::UndoAnnounced,
        Self::AnnounceAtGo,
        Self::AnnounceBehindReads,
        Self::HeldUntilBegun,
        Self::AbortAtGo,
    ];

    /// Those that the published protocol does not have.
    pub const NOT_PUBLISHED: [Self; 24] = [
        Self::LocksEndWithEpoch,
        Self::ClearLocks,
        Self::DropOldViews,
        Self::Floor,
        Self::FloorEverywhere,
        Self::PromisesEnd,
        Self::TellWhole,
        Self::Quorum,
        Self::EpochsAreNew,
        Self::CommitWhole,
        Self::AnswerAtGo,
        Self::KeepTombstones,
        Self::ValidateAbsent,
        Self::SplitKeepsTimes,
        Self::EndOpen,
        Self::WaitForView,
        Self::SessionOrder,
        Self::GoOnFirst,
        Self::Rebase,
        Self::SnapshotWaits,
        Self::SnapshotBeforePrepared,
        Self::RefuseTooOld,
        Self::CheckValidates,
        Self::CheckWaits,
    ];
}

/// The rules in force. A node is generic over them, so that asking [`Ours`] costs nothing.
pub trait Rules: Copy {
    /// Whether a rule is in force.
    fn on(self, rule: Rule) -> bool;

    /// The protocol of transactions.
    #[inline(always)]
    fn protocol(self) -> Protocol {
        Protocol::SCAR
    }

    /// Whether backups are told of every extension; else of what is extended again. Fewer is never wrong, as the
    /// message may be late; so models tell all.
    #[inline(always)]
    fn tells_all(self) -> bool {
        false
    }
}

/// All rules, always.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Ours;

impl Rules for Ours {
    #[inline(always)]
    fn on(self, _: Rule) -> bool {
        true
    }
}

const _: () = assert!(Rule::ALL.len() < 127);

/// Some of the rules, for models and tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Switched(u128);

impl Switched {
    /// All rules.
    pub fn ours() -> Self {
        Self(u128::MAX)
    }

    /// Those of the published protocol.
    pub fn published() -> Self {
        Rule::NOT_PUBLISHED.into_iter().fold(Self::ours(), Self::without)
    }

    /// All rules, and backups are told what a database tells them: see [`Rules::tells_all`].
    pub fn as_run() -> Self {
        Self(!Self::TELLS_ALL)
    }

    /// The bit behind those of the rules.
    const TELLS_ALL: u128 = 1 << 127;

    /// Without a rule.
    #[must_use]
    pub fn without(self, rule: Rule) -> Self {
        Self(self.0 & !(1 << rule as u8))
    }

    /// With a rule.
    #[must_use]
    pub fn with(self, rule: Rule) -> Self {
        Self(self.0 | 1 << rule as u8)
    }
}

impl Rules for Switched {
    fn on(self, rule: Rule) -> bool {
        self.0 & (1 << rule as u8) != 0
    }

    fn tells_all(self) -> bool {
        self.0 & Self::TELLS_ALL != 0
    }
}
