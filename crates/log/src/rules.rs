//! Switches for single guards, so that tests can show that each is needed.

/// A guard that a build with the feature `mutations` can switch off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The horizon stays behind commits that are on their way.
    InFlight,
    /// A commit whose timestamp was drawn before it began is refused once a horizon beyond may be promised.
    Passed,
    /// A commit is in flight until its record is in the buffer.
    EndBehindAppend,
    /// After a failure nothing is written any more.
    FailForEver,
    /// Groups and blocks have their checksums.
    Checksums,
    /// An invalid group with valid ones behind it is damage.
    NothingFollows,
    /// A segment that is shorter than it was made is damage.
    Length,
    /// What an earlier opening has cut off stays away.
    Cut,
    /// An opening writes the last group again.
    WriteLastAgain,
    /// A checkpoint waits until the log has what its rows show.
    WaitForRows,
    /// A checkpoint leaves the segments that its begin needs.
    KeepNeeded,
    /// No file goes while a backup is at work.
    Hold,
    /// Checksums are seeded by database, segment and group: bytes from another place fail them.
    Seeds,
}

#[cfg(feature = "mutations")]
mod switch {
    use super::Rule;
    use std::cell::Cell;

    thread_local! {
        static OFF: Cell<Option<Rule>> = const { Cell::new(None) };
    }

    impl Rule {
        /// Guards against crashes and damage at any moment.
        pub const OF_CRASHES: [Self; 8] = [
            Self::InFlight,
            Self::FailForEver,
            Self::Checksums,
            Self::NothingFollows,
            Self::Cut,
            Self::WriteLastAgain,
            Self::WaitForRows,
            Self::KeepNeeded,
        ];

        /// Does something without this guard, as far as this thread does it.
        pub fn without<R>(self, something: impl FnOnce() -> R) -> R {
            let before = OFF.replace(Some(self));
            let result = something();
            OFF.set(before);
            result
        }

        pub(crate) fn holds(self) -> bool {
            OFF.get() != Some(self)
        }
    }
}

#[cfg(not(feature = "mutations"))]
impl Rule {
    /// Whether the guard stands: always, in a build without the feature.
    #[inline(always)]
    pub(crate) fn holds(self) -> bool {
        true
    }
}
