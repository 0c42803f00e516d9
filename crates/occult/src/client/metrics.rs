//! What a session counts.

use std::ops::AddAssign;

use super::Conflict;

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Counters of a session. They only grow.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct Metrics {
            $($(#[$doc])* pub $name: u64,)*
        }

        impl Metrics {
            /// Each counter with its name.
            pub fn each(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$((stringify!($name), self.$name),)*].into_iter()
            }
        }

        impl AddAssign for Metrics {
            fn add_assign(&mut self, other: Self) {
                $(self.$name += other.$name;)*
            }
        }
    };
}

counters! {
    /// Reads, each of some keys of a shard.
    reads,
    /// Reads whose first answer was behind what the session knew.
    stale_reads,
    /// Questions that were put again to the same copy, because it was behind.
    local_retries,
    /// Reads that went on to the master.
    fallbacks,
    /// Writes and deletions.
    writes,
    /// Pauses because of somebody's lock.
    lock_waits,
    /// Locks of silent or unfinished transactions whose home was asked.
    homes_asked,
    /// Transactions of others that were finished at a shard after their home had committed them.
    helped_commits,
    /// Transactions of others whose locks were removed after their home had aborted them.
    helped_aborts,
    /// Pauses because a server was out of reach, or a slot was moving.
    unreachable_waits,
    /// Lost writes that were reported.
    lost_writes,
    /// Transactions that committed, those that wrote nothing among them.
    commits,
    /// Transactions whose reads were of no one moment.
    aborts_reads,
    /// Transactions that would have overwritten what depends on something they have missed.
    aborts_overwrites,
    /// Transactions that found a shard locked.
    aborts_locked,
    /// Transactions that took longer than their lease.
    aborts_lease,
    /// Commits whose outcome the session does not know.
    commits_unknown,
}

impl Metrics {
    pub(super) fn count(&mut self, conflict: Conflict) {
        *match conflict {
            Conflict::Reads => &mut self.aborts_reads,
            Conflict::Overwrites => &mut self.aborts_overwrites,
            Conflict::Locked => &mut self.aborts_locked,
            Conflict::LeaseExpired => &mut self.aborts_lease,
        } += 1;
    }

    /// Transactions that aborted, for whatever reason.
    pub fn aborts(&self) -> u64 {
        self.aborts_reads + self.aborts_overwrites + self.aborts_locked + self.aborts_lease
    }
}
