//! The rules of the keeper's protocol, each of which a test can switch off.

/// A rule. Without it something goes wrong: `tests/keeper.rs` shows what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The keeper of a view grants nothing before all members have said what their sessions keep.
    WaitForAll,
    /// A member says what its sessions keep.
    SayWhatIsKept,
    /// The keeper of a view begins with nothing, also if it was the one before.
    BeginAnew,
    /// A letter of another view than the receiver's does not count.
    OnlyThisView,
    /// A letter is taken once, and in its turn.
    InOrder,
    /// Whoever stops waiting gives back what it was granted meanwhile.
    StopGivesBack,
    /// An answer to a question that nobody waits for does not count.
    OnlyWhatWasAsked,
    /// Who waits when the view changes is told.
    TellWaiters,
    /// A wait that closes a cycle is refused.
    FindCycles,
    /// A lock that others must look out for is granted when they do.
    HintsFirst,
    /// A session that ends leaves nothing.
    EndReleases,
    /// A transaction whose locks are of an earlier view does not commit.
    LostDoNotCommit,
}

impl Rule {
    /// All rules.
    pub const ALL: [Self; 12] = [
        Self::WaitForAll,
        Self::SayWhatIsKept,
        Self::BeginAnew,
        Self::OnlyThisView,
        Self::InOrder,
        Self::StopGivesBack,
        Self::OnlyWhatWasAsked,
        Self::TellWaiters,
        Self::FindCycles,
        Self::HintsFirst,
        Self::EndReleases,
        Self::LostDoNotCommit,
    ];
}

/// The rules in force.
pub trait Rules: Copy {
    /// Whether a rule is in force.
    fn on(self, rule: Rule) -> bool;
}

/// All rules, always.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ours;

impl Rules for Ours {
    #[inline(always)]
    fn on(self, _: Rule) -> bool {
        true
    }
}
