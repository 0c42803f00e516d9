//! Switches for single rules of the protocol, so that models and tests can show that each is needed.

/// A rule. The letters are the holes of the published protocol that the rule closes; docs/occult/protocol.md
/// explains them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Rule {
    /// A read at a master is checked as one at a replica is: a prepared shard may be behind what the client knows
    /// (a).
    MasterReadsAreChecked,
    /// A lock knows its transaction, which may prepare more at the same shard (b).
    LockKnowsTransaction,
    /// A commit sets the shard's stamp to the one that it was prepared with, not to the greatest of its timestamp
    /// (c).
    CommitTakesItsStamp,
    /// The decision is one write, at the transaction's first shard; who meets a lock of a silent client asks there
    /// (d).
    DecisionAtHome,
    /// The home is prepared before the others: what it does not know there, it has aborted (d).
    HomeFirst,
    /// A commit that its home has aborted is refused (d).
    LateCommitRefused,
    /// The decision is about the lock that the client got, not about one of a PREPARE that came late (d).
    CommitNamesItsLock,
    /// A home decides only about locks of its present life: a failover may have lost the end of older ones (d, e).
    DecisionInOneLife,
    /// A shard remembers what has ended there, and does not prepare it again (d).
    EndedIsRemembered,
    /// A lock is freed only by its home's word, not because its lease is over (d).
    LeaseAsksHome,
    /// Stamps carry the shard's incarnation, and who has seen a write that a failover lost is told (e).
    IncarnationsTell,
    /// The state of a slot that has moved is not trusted before its new master has adopted it (f).
    MovedSlotsWait,
    /// After an abort a session keeps what its single operations have shown (g).
    AbortKeepsSession,
    /// Stamps are from a clock that what the client knows pulls forward.
    StampAboveDeps,
    /// Stamps too far before a server's clock are refused.
    SanityBound,
    /// A read that is behind what the client knows is not accepted.
    StaleReadsAreRetried,
    /// A read adds what its value depends on to what the client knows.
    ReadsMergeDeps,
    /// A write carries what its client knows.
    WritesCarryDeps,
    /// What an erased key depended on stays with its shard.
    ErasedLeavesDeps,
    /// What overwrites a version depends on what the version depended on (h).
    OverwriteInherits,
    /// What a transaction read is checked against itself.
    ValidateReads,
    /// What a transaction read is checked against what it overwrites.
    ValidateOverwrites,
    /// All that a transaction writes depends on all else that it writes.
    WritesDependOnEachOther,
    /// A shard under a lock accepts no other write.
    LocksExclude,
    /// A beat does not speak for a shard beyond its lock.
    BeatStopsAtLock,
    /// A master gives no stamp at or below its last beat.
    StampAboveBeat,
    /// What a beat has promised goes with the state of a slot that moves.
    BeatGoesWithState,
    /// A session's next transaction knows what its last one did.
    SessionOrder,
    /// A home remembers a transaction that it has committed for as long as it may hold a lock elsewhere (d).
    OpenRecordsStay,
    /// A failover in the middle of a move: the next master of the slot's old group waits until somebody says where its
    /// keys are, and that of its new group claims nothing of what came before it (f).
    MovesEndInOneTerm,
    /// A shard that begins anew, since a failover has lost all of it, belongs to the same datacenter as before (e).
    GroupKeepsDatacenter,
    /// A slot that returns to a master with another history than it had there begins another life of that master: who
    /// has seen it there before asks what has become of it (f).
    ReturnsInAnotherLife,
    /// The copy of a state that has left holds no lock any more when an operator settles the slot: the transaction may
    /// have ended where the state was, and its write may have been overwritten there (f).
    LockLeavesWithState,
    /// The life that a master begins because of one slot ends no move of the others: nothing is lost by it (f).
    MovesOutliveLives,
    /// What is known of a slot in the vector of another datacenter counts as well: the slot has been there, before it
    /// began anew since a failover had lost all of it, or it is there now, and the copy that speaks is old (e).
    OtherDatacentersCount,
    /// A copy that has not got what the session has seen itself is behind, also for a transaction that began before the
    /// session saw it: otherwise it would not hear of the loss (e, g).
    SeenCounts,
    /// A home that has lost the lock that it is asked to decide about, or may have lost its end, says so: whoever has
    /// asked before, and got no answer, does not know the outcome (d, e).
    LostDecisionsTell,
}

impl Rule {
    /// All of them.
    pub const ALL: [Self; 37] = [
        Self::MasterReadsAreChecked,
        Self::LockKnowsTransaction,
        Self::CommitTakesItsStamp,
        Self::DecisionAtHome,
        Self::HomeFirst,
        Self::LateCommitRefused,
        Self::CommitNamesItsLock,
        Self::DecisionInOneLife,
        Self::EndedIsRemembered,
        Self::LeaseAsksHome,
        Self::IncarnationsTell,
        Self::MovedSlotsWait,
        Self::AbortKeepsSession,
        Self::StampAboveDeps,
        Self::SanityBound,
        Self::StaleReadsAreRetried,
        Self::ReadsMergeDeps,
        Self::WritesCarryDeps,
        Self::ErasedLeavesDeps,
        Self::OverwriteInherits,
        Self::ValidateReads,
        Self::ValidateOverwrites,
        Self::WritesDependOnEachOther,
        Self::LocksExclude,
        Self::BeatStopsAtLock,
        Self::StampAboveBeat,
        Self::BeatGoesWithState,
        Self::SessionOrder,
        Self::OpenRecordsStay,
        Self::MovesEndInOneTerm,
        Self::GroupKeepsDatacenter,
        Self::ReturnsInAnotherLife,
        Self::LockLeavesWithState,
        Self::MovesOutliveLives,
        Self::OtherDatacentersCount,
        Self::SeenCounts,
        Self::LostDecisionsTell,
    ];

    /// Those that the published protocol does not have.
    pub const NOT_PUBLISHED: [Self; 24] = [
        Self::MasterReadsAreChecked,
        Self::LockKnowsTransaction,
        Self::CommitTakesItsStamp,
        Self::DecisionAtHome,
        Self::HomeFirst,
        Self::LateCommitRefused,
        Self::CommitNamesItsLock,
        Self::DecisionInOneLife,
        Self::EndedIsRemembered,
        Self::LeaseAsksHome,
        Self::IncarnationsTell,
        Self::MovedSlotsWait,
        Self::AbortKeepsSession,
        Self::ErasedLeavesDeps,
        Self::OverwriteInherits,
        Self::OpenRecordsStay,
        Self::MovesEndInOneTerm,
        Self::GroupKeepsDatacenter,
        Self::ReturnsInAnotherLife,
        Self::LockLeavesWithState,
        Self::MovesOutliveLives,
        Self::OtherDatacentersCount,
        Self::SeenCounts,
        Self::LostDecisionsTell,
    ];
}

/// The rules in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rules(u64);

impl Default for Rules {
    fn default() -> Self {
        Self::ours()
    }
}

impl Rules {
    /// All of them, as in every server and client that is not a test.
    pub const fn ours() -> Self {
        Self(u64::MAX)
    }

    /// What the paper says.
    pub fn published() -> Self {
        Rule::NOT_PUBLISHED.into_iter().fold(Self::ours(), Self::without)
    }

    /// One less.
    #[must_use]
    pub const fn without(self, rule: Rule) -> Self {
        Self(self.0 & !(1 << rule as u8))
    }

    /// One more.
    #[must_use]
    pub const fn with(self, rule: Rule) -> Self {
        Self(self.0 | 1 << rule as u8)
    }

    /// Whether a rule is in force.
    #[inline]
    pub const fn on(self, rule: Rule) -> bool {
        self.0 & (1 << rule as u8) != 0
    }
}
